"""`rankgate demo`: the whole story on the embedded example, in a directory where every printed command works."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from rankgate.cli import main

Capture = pytest.CaptureFixture[str]
DATE = ["--date", "2026-01-31"]
FILES = {
    *("ship-criteria.yaml", "gold.yaml", "articles.jsonl", "baseline/accepted.jsonl", "baseline/manifest.json"),
    *(f"runs/{name}.jsonl" for name in ("accepted", "harmless", "harmful")),
    *(f"out/{run}/{file}" for run in ("accepted", "harmless", "harmful") for file in ("report.json", "comment.md")),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_in(directory: str) -> dict[str, bytes]:
    found = (path for path in Path(directory).rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def demo(capsys: Capture, *words: str) -> str:
    assert main(["demo", *words, *DATE]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def verdicts_in(out: str) -> list[str]:
    return re.findall(r"^(PASS|WARN|FAIL|NOT JUDGED)  ", out, re.MULTILINE)


def test_it_shows_the_three_verdicts_and_exits_0(capsys: Capture) -> None:
    out = demo(capsys)
    assert verdicts_in(out) == ["WARN", "PASS", "FAIL"]
    assert re.findall(r"^\(exit code (\d)\)$", out, re.MULTILINE) == ["0", "0", "1"]
    assert re.findall(r"^(\d)\. ", out, re.MULTILINE) == ["1", "2", "3", "4"]


def test_it_leaves_everything_to_explore(capsys: Capture) -> None:
    demo(capsys)
    left = files_in("rankgate-demo")
    [run] = [name for name in left if name.startswith("baseline/run-")]
    assert set(left) == FILES | {run}
    verdicts = {
        name: json.loads(left[f"out/{name}/report.json"])["verdict"] for name in ("accepted", "harmless", "harmful")
    }
    assert verdicts == {"accepted": "warn", "harmless": "pass", "harmful": "fail"}
    assert left["out/harmful/comment.md"].decode().startswith("**❌ FAIL. ")


def test_it_says_what_it_did_in_the_directory_that_was_named(capsys: Capture) -> None:
    out = demo(capsys, "some/where")
    assert "  $ cd some/where\n" in out
    assert set(files_in("some/where")) >= FILES
    assert Path("rankgate-demo").exists() is False


def test_it_ends_where_it_began(elsewhere: Path, capsys: Capture) -> None:
    demo(capsys)
    assert Path.cwd() == elsewhere


def test_a_second_time_in_the_same_directory_tells_the_same_story(capsys: Capture) -> None:
    first, left = demo(capsys), files_in("rankgate-demo")
    assert demo(capsys) == first
    assert files_in("rankgate-demo") == left


def test_an_empty_directory_will_do(capsys: Capture) -> None:
    Path("empty").mkdir()
    assert verdicts_in(demo(capsys, "empty")) == ["WARN", "PASS", "FAIL"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"thesis.txt": b"mine"}, id="other files"),
        pytest.param({"ship-criteria.yaml": b"gates: []\n"}, id="somebody's own criteria"),
        pytest.param({"baseline/manifest.json": b"{}"}, id="a baseline"),
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


def test_changed_files_of_an_earlier_demo_are_not_overwritten(capsys: Capture) -> None:
    assert main(["demo", "here"]) == 0
    Path("here/gold.yaml").write_text("mine\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["demo", "here"]) == 2
    assert capsys.readouterr() == (
        "",
        "error: here: holds changed files of an earlier demo (gold.yaml); name another directory, or remove it\n",
    )
    assert Path("here/gold.yaml").read_text(encoding="utf-8") == "mine\n"


def test_a_directory_within_the_baseline_is_left_alone(capsys: Capture) -> None:
    assert main(["demo", "here"]) == 0
    Path("here/out/notes").mkdir()
    assert main(["demo", "here"]) == 0
    assert Path("here/out/notes").is_dir()


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
            words = shlex.split(line.removeprefix("  $ "), comments=True)
            comment = re.search(r"# exits (\d)", line)
            found.append((words, int(comment[1]) if comment else 0))
        elif stated:
            found[-1] = (found[-1][0], int(stated[1]))
    return found


@pytest.mark.full
@pytest.mark.parametrize("directory", ["rankgate-demo", "a directory of mine"])
def test_every_command_that_it_prints_works_by_hand(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, directory: str
) -> None:
    commands = printed_commands(demo(capsys, directory))
    assert [words[1] for words, _ in commands if words[0] == "rankgate"] == [
        *("check", "baseline", "check", "check"),
        *("check", "explain", "validate", "compare"),
    ]
    [entering] = [words for words, _ in commands if words[0] == "cd"]
    monkeypatch.chdir(entering[1])
    codes = [(words, main(words[1:])) for words, _ in commands if words[0] == "rankgate"]
    assert codes == [(words, code) for words, code in commands if words[0] == "rankgate"]


@pytest.mark.full
def test_by_hand_in_a_fresh_directory_it_is_the_same_story(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    told = demo(capsys, "told")
    demo(capsys, "by-hand")
    for path in Path("by-hand/baseline").iterdir():
        path.unlink()
    monkeypatch.chdir("by-hand")
    for words, _ in printed_commands(told)[:4]:
        main([*words[1:], *DATE])
    assert verdicts_in(capsys.readouterr().out) == verdicts_in(told)
    monkeypatch.chdir(os.pardir)
    assert files_in("by-hand") == files_in("told")
