"""An address that is refused, not found, or names a wrong file shows no secret in anything that the gate writes.

Every option of every command that takes a value is given such an address, and so is every input of the criteria: what
an option is for does not matter to somebody who has pasted a signed address into the wrong one.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest
from tests.repositories import commit, git

from rankgate.cli import COMMANDS, main
from rankgate.cli.action import main as run_phase
from rankgate.cli.options import ReadFile
from rankgate.model.report_text import decode_report
from rankgate.renderers import RENDERERS
from rankgate.renderers.github import check_run_output

pytestmark = pytest.mark.full  # every option of every command; tests/test_redaction.py has the tables

PASSWORD = "hunter"  # noqa: S105 -- of nobody
ADDRESSES = [
    "https://ana:hunter@127.0.0.1:9/run.jsonl?X-Amz-Signature=hunter",
    "https://127.0.0.1:9/run.jsonl?X-Amz-Signature=hunter#hunter",
    "s3://hunter:hunter@bucket/folder",
    "s3://ana:hunter/folder",
    "ftpx://ana:hun/ter@hunter@127.0.0.1:9/folder",
    "memory://ana:hunter@elsewhere/here",
    "file://ana:hunter@host/folder",
    "file:///nowhere/run.jsonl?sig=hunter&x=1",
    "simplecache::s3://ana:hunter@bucket/folder",
    "git+branch:https://ana:hunter@127.0.0.1:9/x.git",
    "git+branch:runs@https://ana:hunter@127.0.0.1:9/x.git",
    "ana:hunter@bucket/folder",
    "run.jsonl?X-Amz-Signature=hunter",
]
# Where a case takes long: a user and a signature, and no scheme at all.
SOME = [ADDRESSES[0], "ana:hunter@bucket/folder"]
GOLD = (
    '{"id": "q1", "input": "what", "expected_output": ["a"]}\n{"id": "q2", "input": "why", "expected_output": ["b"]}\n'
)
RUN = '{"query_id": "q1", "retrieved": ["a"], "answer": "A."}\n{"query_id": "q2", "retrieved": ["b"]}\n'
CRITERIA = (
    "gates:\n  - {name: recall@2, threshold: 0.9}\njudge: {endpoint: 'http://127.0.0.1:9/v1', model: m-2026-01-01}\n"
)
USUAL = {"--gold": "gold.jsonl", "--run": "run.jsonl"}


def some_of(number: int) -> list[str]:
    """Two or three addresses, so that any five places in a row are given every one."""
    return ADDRESSES[number % 5 :: 5]


# What makes each command get as far as its inputs.
WORDS: dict[str, Sequence[str]] = {
    "init": ["--to", "new.yaml"],
    "record": ["--retriever", "app:retrieve", "-o", "new.jsonl"],
    "check": ["-o", "report.json", "-o", "r.html", "-o", "c.md"],
    "judge": ["--metric", "answered_rate", "--dry-run"],
    "explain": ["q1"],
    "compare": ["run.jsonl", "run.jsonl"],
    "baseline accept": ["--to", "kept"],
    "baseline record": ["--baseline", "kept"],
    "baseline prune": ["--baseline", "kept", "--keep", "1"],
    "baseline show": ["--baseline", "kept"],
    "baseline history": ["--baseline", "kept"],
    "baseline verify": ["--baseline", "kept"],
    "dashboard": ["site", "--baseline", "kept"],
    "gold pool": ["run.jsonl"],
    "gold merge": ["gold.jsonl", "labels.jsonl"],
    "comment": ["good.json", "--repository", "o/n", "--pull", "1", "--max-wait", "0"],
    "demo": ["elsewhere"],
}


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command and every action of one, with its options."""
    for name, (module, _) in COMMANDS.items():
        parser = import_module(module).parser()
        nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not nested:
            yield name, parser
        for action in nested:
            yield from ((f"{name} {word}", each) for word, each in action.choices.items())


PARSERS = dict(parsers())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with an accepted run and a report."""
    place = tmp_path_factory.mktemp("made")
    for name, text in {
        "gold.jsonl": GOLD,
        "run.jsonl": RUN,
        "other.jsonl": RUN.replace('["a"]', "[]"),
        "ship-criteria.yaml": CRITERIA,
        "app.py": "def retrieve(question):\n    return ['a']\n",
        "labels.jsonl": '{"query_id": "q1", "doc_id": "b", "gain": 1}\n',
    }.items():
        (place / name).write_text(text, encoding="utf-8")
    with contextlib.chdir(place):
        git("init", "--quiet")
        commit()
        said(["check", *words_of(USUAL), "-o", "good.json"])
        said(["baseline", "accept", *words_of(USUAL), "--to", "kept", "--reason", "first"])
    return place


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(place)
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place / "summary.md"))
    # A bucket's own client tries again and again where nobody refuses the connection.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    return place


def words_of(options: dict[str, str]) -> list[str]:
    return [word for pair in options.items() for word in pair]


def said(words: Sequence[str]) -> str:
    """What a command prints, on both streams."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
        main(list(words))
    return out.getvalue()


def written(place: Path) -> dict[str, str]:
    """The text of every file that may be published."""
    files = [place / name for name in ("report.json", "r.html", "summary.md")]
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.is_file()}


def rendered(place: Path) -> dict[str, str]:
    """All that can be made of the report, the check on GitHub too."""
    file = place / "report.json"
    if not file.is_file():
        return {}
    report = decode_report(file.read_bytes(), "report.json")
    found = {f"--format {name}": str(render(report)) for name, render in RENDERERS.items() if name != "html"}
    return found | {"check": repr(check_run_output(report))}


def leaks(place: Path, words: Sequence[str]) -> list[str]:
    shown = {"output": said(words), **written(place), **rendered(place)}
    for name in shown:
        (place / name).unlink(missing_ok=True)
    return [f"{' '.join(words)}: {name}: {around(text)}" for name, text in shown.items() if PASSWORD in text]


def around(text: str) -> str:
    at = text.index(PASSWORD)
    return text[max(0, at - 80) : at + 40]


def with_value(command: str, action: argparse.Action, address: str) -> list[str]:
    """The command with an address as this option, or in place of this argument."""
    parser, words = PARSERS[command], list(WORDS.get(command, []))
    if action.option_strings:
        usual = {flag: value for flag, value in USUAL.items() if flag in parser._option_string_actions}
        flag = action.option_strings[-1]
        return [*command.split(), *words, *words_of(usual | {flag: address})]
    positions = [each for each in parser._actions if not each.option_strings]
    words = words or [""] * len(positions)
    place = min(positions.index(action), len(words) - 1)
    return [*command.split(), *words[:place], address, *words[place + 1 :]]


def opened(action: argparse.Action) -> bool:
    return isinstance(action, ReadFile) or action.dest in ("base", "url")


@pytest.mark.parametrize("command", PARSERS)
def test_no_option_shows_one(command: str, project: Path) -> None:
    valued = [action for action in PARSERS[command]._actions if action.nargs != 0]
    cases = (
        with_value(command, action, address)
        for number, action in enumerate(valued)
        # What names no file is not opened, so that one address is like another; in each folder the whole demo is run.
        for address in (some_of(number) if opened(action) and command != "demo" else SOME[:1])
    )
    assert [leak for case in cases for leak in leaks(project, case)] == []


def test_no_report_that_is_worded_again_shows_one(project: Path) -> None:
    assert [leak for address in ADDRESSES for leak in leaks(project, ["check", "--from", address])] == []


def a_folder(file: Path) -> None:
    file.mkdir()


def holding(data: bytes) -> Callable[[Path], None]:
    return lambda file: void(file.write_bytes(data))


def void(_: object) -> None:
    """Nothing."""


# A name that reads like an address can be a path, too: what lies there has its own ways to be wrong.
STATES = {
    "a folder": a_folder,
    "empty": holding(b""),
    "nothing known": holding(b"a b c\n"),
    "no UTF-8": holding(b'{"id": "\xff"}\n'),
    "half of a gzip": holding(gzip.compress(RUN.encode())[:-9]),
    "broken JSON": holding(b'{"query_id": "q1"\n'),
    "a query twice": holding((RUN + RUN).encode()),
    "other questions": holding(b'{"query_id": "q9", "retrieved": ["a"]}\n'),
    "a run": holding(RUN.encode()),
    "a gold set": holding(GOLD.encode()),
    "criteria": holding(CRITERIA.encode()),
    "wrong criteria": holding(b"gates: [{name: recall@2, threshold: '0.9', oops: 1}]\n"),
}
PATHS = [ADDRESSES[0], "ana:hunter@bucket/folder"]
READING = ["check", "validate", "compare", "baseline accept", "gold merge"]


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("state", STATES)
def test_no_file_with_such_a_name_shows_one(state: str, command: str, project: Path) -> None:
    for address in PATHS:
        (project / address).parent.mkdir(parents=True, exist_ok=True)
        STATES[state](project / address)
    names = {"criteria", "gold", "run", "baseline", "runs", "a", "b", "labels"}
    read = [action for action in PARSERS[command]._actions if action.dest in names]
    first = [*STATES].index(state)  # so that every argument has both names, in one state or the next
    cases = [with_value(command, action, PATHS[(first + n) % len(PATHS)]) for n, action in enumerate(read)]
    if command == "check":  # in other ways: as a stranger's, and beside the base
        cases += [[*case, more] for case in cases for more in ("--untrusted-run", "--base=HEAD")]
    assert [leak for case in cases for leak in leaks(project, case)] == []


KEYS = {
    "inputs.gold": "inputs: {{gold: '{}'}}",
    "inputs.run": "inputs: {{run: '{}'}}",
    "inputs.run with a format": "inputs: {{run: {{path: '{}', format: '{}'}}}}",
    "inputs.run with a map": "inputs: {{run: {{path: '{}', map: {{query_id: '{}', items: x, chunk_id: y}}}}}}",
    "inputs.gold with a map": "inputs: {{gold: {{path: '{}', map: {{query_id: '{}', items: x}}}}}}",
    "inputs.scores": "inputs: {{scores: '{}'}}",
    "inputs.baseline": "inputs: {{baseline: '{}'}}",
    "inputs.baseline with a map": "inputs: {{baseline: {{path: '{}', map: {{query_id: x, items: y, chunk_id: z}}}}}}",
    "inputs.waivers": "inputs: {{waivers: '{}'}}",
    "a key that there is not": "inputs: {{'{}': 1}}",
    "a value of another kind": "default_k: '{}'",
}


@pytest.mark.parametrize("base", [[], ["--base", "HEAD"]], ids=["alone", "beside a base without it"])
@pytest.mark.parametrize("key", KEYS)
def test_no_key_of_the_criteria_shows_one(key: str, base: Sequence[str], project: Path) -> None:
    cases = []
    for number, address in enumerate(SOME if base else some_of(list(KEYS).index(key))):
        name = f"criteria{number}.yaml"
        (project / name).write_text(CRITERIA + KEYS[key].format(address, address) + "\n", encoding="utf-8")
        usual = {flag: path for flag, path in USUAL.items() if flag[2:] not in key}
        cases.append(["check", *WORDS["check"], *words_of(usual), "--criteria", name, *base])
        cases.append(["validate", *words_of(usual), "--criteria", name])
    assert [leak for case in cases for leak in leaks(project, case)] == []


def test_what_a_pull_request_changes_in_the_criteria_shows_none(project: Path) -> None:
    for address in SOME:
        (project / "ship-criteria.yaml").write_text(
            CRITERIA + f"inputs: {{baseline: '{address}', waivers: '{address}'}}\n"
        )
        commit()
        (project / "ship-criteria.yaml").write_text(CRITERIA + f"inputs: {{baseline: '{address}2'}}\n")
        for base in ("HEAD", "HEAD~1"):
            assert leaks(project, ["check", *WORDS["check"], *words_of(USUAL), "--base", base]) == []


def test_a_report_of_another_version_that_shows_one_is_published_without(project: Path) -> None:
    good = json.loads((project / "good.json").read_text(encoding="utf-8"))
    good["provenance"]["gold"]["path"] = good["provenance"]["criteria"] = ADDRESSES[0]
    good["problems"] = [{"message": f"see {ADDRESSES[0]}", "file": ADDRESSES[0]}]
    (project / "report.json").write_text(json.dumps(good), encoding="utf-8")
    assert {name: text for name, text in rendered(project).items() if PASSWORD in text} == {}


INPUTS = ["CRITERIA", "GOLD", "RUN", "BASELINE", "BASE", "REPORT", "GATE_ID", "FAIL_ON", "BOT_LOGIN"]


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("event", ["push", "pull_request"])
def test_no_input_of_the_action_shows_one(
    given: str, event: str, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    payload: dict[str, object] = {"repository": {"id": 1, "full_name": "o/n"}}
    if event == "pull_request":  # of a fork, whose token can only read
        head, base = ({"sha": sha * 40, "ref": "x", "repo": {"id": number}} for sha, number in (("a", 2), ("b", 1)))
        payload |= {
            "action": "opened",
            "pull_request": {"number": 1, "head": head, "base": base, "user": {"login": "x"}},
        }
    (project / "event.json").write_text(json.dumps(payload), encoding="utf-8")
    settings = {
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": "event.json",
        "GITHUB_REPOSITORY": "o/n",
        "GITHUB_SHA": "a" * 40,
        "GITHUB_RUN_ID": "7",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_ACTOR": "dependabot[bot]",
        "GITHUB_OUTPUT": str(project / "outputs"),
        "RUNNER_TEMP": str(project / "temp"),
        "RANKGATE_GOLD": "gold.jsonl",
        "RANKGATE_RUN": "run.jsonl",
        "RANKGATE_BASE": "none",
        "RANKGATE_DIRECTORY": str(project / "temp" / "rankgate" / "gate-default"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    for address in SOME:
        monkeypatch.setenv(f"RANKGATE_{given}", address)
        for phase in ("begin", "judge", "publish", "verdict"):
            run_phase([phase])
        out, err = capfd.readouterr()
        upload = project / "temp" / "rankgate" / "gate-default" / "upload"
        shown = [out, err, *written(project).values(), *(file.read_text() for file in upload.glob("*"))]
        assert [around(text) for text in shown if PASSWORD in text] == []
