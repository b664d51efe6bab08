"""`rankgate demo`: the whole story on the embedded example, in a directory where every printed command works."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import demo as demo_command
from rankgate.cli import judge as judge_command
from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.judge.client import Endpoint

Capture = pytest.CaptureFixture[str]
DATE = ["--date", "2026-01-31"]
RUNS = ("accepted", "harmless", "harmful", "generator")
FILES = {
    *("ship-criteria.yaml", "gold.yaml", "articles.jsonl", "baseline/accepted/00000001.json"),
    *(f"search/{name}" for name in ("ship-criteria.yaml", "search.py", "search.py.bak")),
    *(f"runs/{name}{end}" for name in RUNS for end in (".jsonl", ".verdicts.jsonl")),
    *(f"out/{run}/{file}" for run in RUNS for file in ("report.json", "comment.md")),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


STORY = ["WARN", "PASS", "FAIL", "WARN", "PASS", "FAIL", "WARN"]
MEASURED = re.compile(r"search/(baseline/|run\.jsonl|report\.html|__pycache__/)")  # holds how long each call took


def files_in(directory: str) -> dict[str, bytes]:
    paths = {path.relative_to(directory).as_posix(): path for path in Path(directory).rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if not MEASURED.match(name)}


@pytest.fixture(scope="module")
def once(demo_left: Path) -> tuple[str, Path]:
    """What the demo says, and the directory that it leaves, for tests that change neither."""
    return (demo_left / "printed.txt").read_text(encoding="utf-8"), demo_left / "rankgate-demo"


@pytest.fixture
def left_behind(once: tuple[str, Path], elsewhere: Path) -> str:
    """What the demo said, whose directory a test may change."""
    shutil.copytree(once[1], elsewhere / "rankgate-demo")
    return once[0]


def verdicts_in(out: str) -> list[str]:
    return re.findall(r"^(PASS|WARN|FAIL|NOT JUDGED)  ", out, re.MULTILINE)


@pytest.mark.full
def test_it_shows_the_three_verdicts_and_exits_0(once: tuple[str, Path]) -> None:
    out, _ = once
    assert verdicts_in(out) == STORY
    assert re.findall(r"^\(exit code (\d)\)$", out, re.MULTILINE) == ["0", "0", "1", "0", "0", "1", "0"]
    assert re.findall(r"^(\d)\. ", out, re.MULTILINE) == [*"123456789"]


@pytest.mark.full
def test_without_answers_it_is_a_screen_or_two_and_ends_in_an_acceptance(elsewhere: Path, lists_left: Path) -> None:
    out = (lists_left / "printed.txt").read_text(encoding="utf-8")
    assert {each.name for each in lists_left.iterdir()} == {"some", "printed.txt", "lock"}
    shutil.copytree(lists_left / "some", "some")
    codes, stated, _ = typed(out.partition("All of it lies in ")[2], elsewhere)
    assert (codes, len(codes)) == (stated, 2)
    assert verdicts_in(out) == STORY[:3]
    assert len(out.splitlines()) <= 60
    [page] = re.findall(r"^The page of the change that failed: (.+)$", out, re.MULTILINE)
    assert "q-es-042" in Path(page).read_text(encoding="utf-8")
    assert "allowed: reason given: a smaller index, agreed in #12\n" in out
    assert "judge" not in re.sub("judged", "", out)


def test_it_begins_with_check_record_and_the_harmful_change_is_named(once: tuple[str, Path]) -> None:
    out, left = once
    assert printed_commands(out)[1][0] == ["rankgate", "check", "--record", "-q"]
    assert "FAIL  Do not merge: lang:es-AR lost 25.0 points of recall@5: " in out
    assert len((left / "search" / "run.jsonl").read_text(encoding="utf-8").splitlines()) == 192


def test_it_says_that_its_judge_is_a_replay_and_judges_every_answer(once: tuple[str, Path]) -> None:
    out, _ = once
    assert "No model is called here." in out
    assert len(re.findall(r"^judge \w{8} \(replay-of-hand-labels-", out, re.MULTILINE)) == len(RUNS)
    assert out.count("\n192 answers: 192 judged\n") == len(RUNS)
    assert set(re.findall(r"^[\d,]+ calls, (.+) tokens; verdicts by ([a-z-]+)", out, re.MULTILINE)) == {
        ("0", "replay-of-hand-labels-")
    }


def test_it_leaves_everything_to_explore(once: tuple[str, Path]) -> None:
    left = files_in(str(once[1]))
    rankings = {name for name in left if name.startswith("baseline/rankings/")}
    assert set(left) == FILES | rankings
    assert len(rankings) == 2, "the run, and the digests of its gold set"
    verdicts = {name: json.loads(left[f"out/{name}/report.json"])["verdict"] for name in RUNS}
    assert verdicts == {"accepted": "warn", "harmless": "pass", "harmful": "fail", "generator": "warn"}
    assert left["out/harmful/comment.md"].decode().startswith("**❌ FAIL. ")


@pytest.mark.full
def test_a_second_time_in_the_same_directory_tells_the_same_story(
    left_behind: str, lists_left: Path, capsys: Capture
) -> None:
    """From the beginning: what is left of the judge's verdicts goes, so that a judge is asked again."""
    left = files_in("rankgate-demo")
    Path("rankgate-demo/out/notes").mkdir()
    assert main(["demo", *DATE]) == 0
    before = (lists_left / "printed.txt").read_text(encoding="utf-8")
    assert capsys.readouterr() == (re.sub("'?some/directory of mine'?", "rankgate-demo", before), "")
    assert left_behind.startswith(before.partition("All of it lies in ")[0])
    gone = {"baseline/", *(f"runs/{name}.verdicts.jsonl" for name in RUNS)}
    assert files_in("rankgate-demo") == {name: data for name, data in left.items() if not name.startswith((*gone,))}
    assert Path("rankgate-demo/out/notes").is_dir()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"thesis.txt": b"mine"}, id="other files"),
        pytest.param({"ship-criteria.yaml": b"gates: []\n"}, id="somebody's own criteria"),
        pytest.param({"baseline/accepted/00000001.json": b"{}"}, id="a baseline"),
    ],
)
def test_a_foreign_directory_is_refused_and_left_alone(capsys: Capture, content: dict[str, bytes]) -> None:
    for name, data in content.items():
        path = Path("mine", name)
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    assert main(["demo", "mine"]) == 2
    message = "mine: is not an empty directory, nor one of an earlier demo; name another"
    assert capsys.readouterr() == ("", f"error: {message}\n")
    assert files_in("mine") == content


def test_changed_files_of_an_earlier_demo_are_not_overwritten(left_behind: str, capsys: Capture) -> None:
    assert left_behind
    Path("rankgate-demo/gold.yaml").write_text("mine\n", encoding="utf-8")
    assert main(["demo"]) == 2
    advice = "holds changed files of an earlier demo (gold.yaml); name another directory, or remove it"
    assert capsys.readouterr() == ("", f"error: rankgate-demo: {advice}\n")
    assert Path("rankgate-demo/gold.yaml").read_text(encoding="utf-8") == "mine\n"


def test_a_file_is_refused(capsys: Capture) -> None:
    Path("mine").write_text("mine", encoding="utf-8")
    assert main(["demo", "mine"]) == 2
    assert capsys.readouterr().err.startswith("error: mine: is not an empty directory")
    assert Path("mine").read_text(encoding="utf-8") == "mine"


def printed_commands(out: str) -> list[tuple[list[str], int]]:
    """Each command with the exit code that the text states for it, 0 where it states none."""
    found: list[tuple[list[str], int]] = []
    for line in out.splitlines():
        stated = re.fullmatch(r"\(exit code (\d)\)", line)
        if line.startswith("  $ "):
            written = line.removeprefix("  $ ").partition("   # ")[0]
            words = ["bash", "-c", written] if written.startswith("(") else shlex.split(written)
            comment = re.search(r"# exits (\d)", line)
            found.append((words, int(comment[1]) if comment else 0))
        elif stated:
            found[-1] = (found[-1][0], int(stated[1]))
    return found


def typed(out: str, folder: Path, *, last: int | None = None) -> tuple[list[int], list[int], str]:
    """The exit codes of the commands typed in a folder, those that the text states, and what they print."""
    codes, stated, printed = [], [], ""
    for line, code in printed_commands(out)[:last]:
        if line[0] == "cd":
            folder /= line[1]
            continue
        dated = line[1:2] == ["check"] or line[1:3] == ["baseline", "accept"]
        ended, output = run_in(folder, [*line, *(DATE if dated and last else ())])
        codes.append(ended)
        stated.append(code)
        printed += output
    return codes, stated, printed


def run_in(folder: Path, words: list[str]) -> tuple[int, str]:
    """The exit code and output of a command; what needs a shell is a process, whose rankgate is the one under test."""
    if words[0] == "rankgate":
        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            return main(words[1:]), printed.getvalue()
    around = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(words, cwd=folder, env=around, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.full
def test_every_command_that_it_prints_works_by_hand(left_behind: str, elsewhere: Path) -> None:
    during, _, after = left_behind.partition("All of it lies in ")
    codes, stated, _ = typed(after, elsewhere)
    assert codes == stated
    assert len(codes) == 9
    assert during.count("  $ rankgate check --record") == 3


@pytest.mark.full
def test_by_hand_in_a_fresh_directory_it_is_the_same_story(
    once: tuple[str, Path], elsewhere: Path, capsys: Capture
) -> None:
    demo_command._copy_example(elsewhere / "rankgate-demo")
    steps, _, _ = once[0].partition("All of it lies in ")
    # No judge answers there any more, so its verdicts are those that the demo left.
    for beside in (once[1] / "runs").glob("*.verdicts.jsonl"):
        shutil.copy(beside, elsewhere / "rankgate-demo" / "runs")
    codes, stated, printed = typed(steps, elsewhere / "rankgate-demo", last=99)
    assert codes == stated
    assert verdicts_in(printed) == STORY
    assert capsys.readouterr().err == ""


def gates_of(demo_folder: Path, run: str) -> dict[str, Any]:
    report = json.loads((demo_folder / f"out/{run}/report.json").read_text(encoding="utf-8"))
    return {gate["name"]: gate for gate in report["gates"]}


def test_of_the_worse_generator_the_answers_alone_warn(once: tuple[str, Path]) -> None:
    gates = gates_of(once[1], "generator")
    assert {name: gate["verdict"] for name, gate in gates.items() if gate["verdict"] != "pass"} == {
        "faithfulness": "warn"
    }
    assert gates_of(once[1], "harmful")["retrieval_recall_at_5"]["verdict"] == "fail"
    assert gates_of(once[1], "harmful")["faithfulness"]["verdict"] != "fail"


def asked(port: int, body: bytes) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("POST", "/v1/chat/completions", body)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_the_replay_makes_nothing_up_and_outlives_requests_that_are_none(capsys: Capture) -> None:
    with demo_command._replay() as endpoint:
        port = int(endpoint.address.removesuffix("/v1").rpartition(":")[2])
        unknown = {"model": "m", "messages": [{"role": "system"}, {"role": "user", "content": "is it raining?"}]}
        assert asked(port, json.dumps(unknown).encode()) == (422, b'{"error": {"message": "this was not recorded"}}')
        for broken in (b"", b"{", b"[]", b'{"messages": []}', b"\xff"):
            with pytest.raises(OSError, match=r"closed|reset"):
                asked(port, broken)
        assert asked(port, json.dumps(unknown).encode())[0] == 422
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=300)


def without_search(date: str) -> None:
    """In place of the demo's first part, where the second is what is tried."""


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RankgateError])
def test_the_replay_ends_with_the_command_and_the_environment_is_as_before(
    monkeypatch: pytest.MonkeyPatch, trouble: type[BaseException]
) -> None:
    monkeypatch.setenv("no_proxy", "elsewhere.example")
    seen: list[Endpoint] = []

    def fails(arguments: object, endpoint: Endpoint) -> int:
        seen.append(endpoint)
        raise trouble([]) if trouble is RankgateError else trouble

    monkeypatch.setattr(judge_command, "run", fails)
    monkeypatch.setattr(demo_command, "_record", without_search)
    threads = {*threading.enumerate()}
    with pytest.raises(trouble):
        demo_command.run(demo_command.parser().parse_args(["here", "--answers"]))
    assert {*threading.enumerate()} <= threads
    assert os.environ["no_proxy"] == "elsewhere.example"
    port = int(seen[0].address.removesuffix("/v1").rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=300)


def test_an_interrupted_judge_ends_the_demo_with_its_code(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(judge_command, "run", lambda *_: 130)
    monkeypatch.setattr(demo_command, "_record", without_search)
    assert main(["demo", "--answers", *DATE]) == 130
    assert "rankgate check --run" not in capsys.readouterr().out
