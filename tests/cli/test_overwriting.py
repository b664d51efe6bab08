"""No output of any command takes the place of an input: refused before anything is read, whatever name the file has."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import rankgate
from rankgate.cli import COMMANDS, main
from rankgate.cli.options import ReadFile, WriteFile
from rankgate.errors import RankgateError

Capture = pytest.CaptureFixture[str]
FILES = {"FILE", "FILE.html", "DIR", "SPEC", "RUN", "BASE", "GOLD", "CORPUS", "SAMPLE", "LABELS", "LABELLED"}
PROJECT = {
    "gold.jsonl": '{"id": "q1", "input": "what?", "expected_output": ["a"]}\n',
    "run.jsonl": '{"query_id": "q1", "retrieved": ["a"]}\n',
    "pool.jsonl": '{"query_id": "q1", "id": "b", "gain": 1}\n',
    "labels.jsonl": '{"query_id": "q1", "id": "b", "gain": 1}\n',
    "run.verdicts.jsonl": "",
    "report.json": "{}",
    "template.md": "{{ report.summary }}",
    "my_search.py": "def retrieve(question):\n    raise SystemExit('nothing may run')\n",
    "waivers.yaml": "waivers: []\n",
    "ship-criteria.yaml": (
        "gates:\n  - {name: mrr, threshold: 0.5}\n"
        "inputs: {gold: gold.jsonl, run: run.jsonl, baseline: baseline, waivers: waivers.yaml}\n"
        "judge: {endpoint: 'http://localhost/v1', model: m, calibration: {file: people.json}, prompts: prompts}\n"
    ),
    "baseline/accepted/00000001.json": "{}",
}
RECORD = ["record", "--retriever", "my_search:retrieve"]
CRITERIA = "inputs.{} of ship-criteria.yaml"

# Command and attribute of each output → calls with the option and an input's file, and the names of both options.
CASES: dict[tuple[str, str], list[tuple[list[str], str, str]]] = {
    ("check", "output"): [
        (["check", "--gold", "gold.json", "-o", "gold.json"], "-o", "--gold"),
        (["check", "--run", "run.json", "-o", "run.json"], "-o", "--run"),
        (["check", "--criteria", "criteria.json", "-o", "criteria.json"], "-o", "--criteria"),
        (["check", "--baseline", "old.json", "-o", "old.json"], "-o", "--baseline"),
        (["check", "-o", "baseline/accepted/00000002.json"], "-o", CRITERIA.format("baseline")),
        (["check", "-o", "baseline/deeper/report.json"], "-o", CRITERIA.format("baseline")),
        (["check", "--baseline", "not-yet", "-o", "not-yet/report.json"], "-o", "--baseline"),
        (["check", "-o", "run.verdicts.jsonl"], "-o", f"{CRITERIA.format('run')} with its verdicts"),
        (["check", "-o", "people.json"], "-o", "judge.calibration of ship-criteria.yaml"),
        (["check", "--corpus", "docs.html", "-o", "docs.html"], "-o", "--corpus"),
        (["check", "--from", "report.json", "-o", "report.json"], "-o", "--from"),
        (["check", "--template", "template.md", "-o", "template.md"], "-o", "--template"),
        (["check", "--run", "per_query:now.json", "-o", "now.json"], "-o", "--run"),
        (["check", "--baseline", "per_query:old.json", "-o", "old.json"], "-o", "--baseline"),
    ],
    ("compare", "output"): [
        (["compare", "old.html", "run.jsonl", "-o", "old.html"], "-o", "BASE"),
        (["compare", "run.jsonl", "new.html", "-o", "new.html"], "-o", "RUN"),
        (["compare", "run.jsonl", "run.jsonl", "--gold", "gold.html", "-o", "gold.html"], "-o", "--gold"),
        (["compare", "baseline", "run.jsonl", "-o", "baseline/diff.html"], "-o", "BASE"),
    ],
    ("score", "per_query"): [
        (["score", "--per-query", "gold.jsonl"], "--per-query", CRITERIA.format("gold")),
        (["score", "--per-query", "run.jsonl"], "--per-query", CRITERIA.format("run")),
        (["score", "--per-query", "ship-criteria.yaml"], "--per-query", "--criteria"),
        (["score", "--per-query", "waivers.yaml"], "--per-query", CRITERIA.format("waivers")),
        (
            ["score", "--run", "run.jsonl", "--per-query", "run.verdicts.jsonl"],
            "--per-query",
            "--run with its verdicts",
        ),
        (["score", "--gold", "other.jsonl", "--per-query", "other.jsonl"], "--per-query", "--gold"),
    ],
    ("record", "output"): [
        ([*RECORD, "-o", "gold.jsonl"], "-o", CRITERIA.format("gold")),
        ([*RECORD, "--gold", "x.partial", "-o", "x"], "-o", "--gold"),
        ([*RECORD, "-o", "ship-criteria.yaml"], "-o", "--criteria"),
        ([*RECORD, "-o", "waivers.yaml"], "-o", CRITERIA.format("waivers")),
        ([*RECORD, "-o", "baseline/history/00000001.json"], "-o", CRITERIA.format("baseline")),
        ([*RECORD, "-o", "my_search.py"], "-o", "--retriever"),
    ],
    ("judge", "output"): [
        (["judge", "-o", "run.jsonl"], "-o", CRITERIA.format("run")),
        (["judge", "--gold", "other.jsonl", "-o", "other.jsonl"], "-o", "--gold"),
        (["judge", "-o", "people.json"], "-o", "judge.calibration of ship-criteria.yaml"),
        (["judge", "-o", "prompts/entail.txt"], "-o", "judge.prompts of ship-criteria.yaml"),
    ],
    ("judge", "store"): [
        (["judge", "--store", "ship-criteria.yaml"], "--store", "--criteria"),
        (["judge", "--baseline", "old", "--store", "old/verdicts.jsonl"], "--store", "--baseline"),
    ],
    ("judge sample", "output"): [
        (["judge", "sample", "-o", "run.jsonl"], "-o", CRITERIA.format("run")),
        (["judge", "sample", "--gold", "other.jsonl", "-o", "other.jsonl"], "-o", "--gold"),
        (["judge", "--gold", "other.jsonl", "sample", "-o", "other.jsonl"], "-o", "--gold"),
    ],
    ("judge calibrate", "output"): [
        (["judge", "calibrate", "s.jsonl", "-o", "s.jsonl"], "-o", "SAMPLE"),
        (["judge", "calibrate", "s.jsonl", "l.jsonl", "-o", "l.jsonl"], "-o", "LABELS"),
        (
            ["judge", "calibrate", "s.jsonl", "-o", "run.verdicts.jsonl"],
            "-o",
            f"{CRITERIA.format('run')} with its verdicts",
        ),
        (["judge", "calibrate", "s.jsonl", "-o", "run.jsonl"], "-o", CRITERIA.format("run")),
    ],
    ("judge label", "output"): [
        (["judge", "label", "s.jsonl", "--by", "a", "-o", "s.jsonl"], "-o", "SAMPLE"),
        (["judge", "label", "s.jsonl", "--by", "a", "--import", "x.csv", "-o", "x.csv"], "-o", "--import"),
    ],
    ("gold pool", "output"): [
        (["gold", "pool", "run.jsonl", "-o", "gold.jsonl", "--force"], "-o", CRITERIA.format("gold")),
        (["gold", "pool", "run.jsonl", "-o", "run.jsonl", "--force"], "-o", "RUN"),
        (["gold", "pool", "baseline", "-o", "baseline/pool.csv"], "-o", "RUN"),
    ],
    ("gold merge", "output"): [
        (["gold", "merge", "gold.jsonl", "labels.jsonl", "-o", "labels.jsonl", "--force"], "-o", "LABELLED")
    ],
    ("gold anchor", "output"): [
        (
            ["gold", "anchor", "gold.jsonl", "--corpus", "docs.jsonl", "--chunks", "docs.jsonl", "-o", f"{name}.jsonl"],
            "-o",
            source,
        )
        for name, source in (("gold", "GOLD"), ("docs", "--corpus"))
    ],
    ("gold negatives", "output"): [
        (["gold", "negatives", "gold.jsonl", "--from", "x.jsonl", "-o", "x.jsonl", "--force"], "-o", "--from"),
        (["gold", "negatives", "gold.jsonl", "--run", "run.jsonl", "-o", "run.jsonl", "--force"], "-o", "--run"),
    ],
    ("init", "to"): [
        (["init", "--gold", "gold.jsonl", "--to", "gold.jsonl", "--force"], "--to", "--gold"),
        (["init", "--gold", "gold.jsonl", "--run", "run.jsonl", "--to", "run.jsonl", "--force"], "--to", "--run"),
    ],
    ("dashboard", "directory"): [
        (["dashboard", "baseline"], "DIR", CRITERIA.format("baseline")),
        (["dashboard", "baseline/site", "--criteria", "ship-criteria.yaml"], "DIR", CRITERIA.format("baseline")),
    ],
    ("demo", "directory"): [],  # reads nothing, and writes over nothing that is not the demo's
}

pytestmark = pytest.mark.usefixtures("project")


def content(folder: Path) -> dict[str, bytes]:
    return {path.as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refusal(words: list[str], capsys: Capture) -> str:
    before = content(Path())
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert content(Path()) == before
    return err


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for command, (module, _) in COMMANDS.items():
        parser = import_module(module).parser()
        below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        for each in below:
            yield from ((f"{command} {name}", sub) for name, sub in each.choices.items())
        yield command, parser


def test_every_option_that_names_a_file_is_an_output_or_an_input() -> None:
    """An option whose value is called a file reads or writes one, and an output has a case in this file."""
    actions = [(command, action) for command, parser in parsers() for action in parser._actions]
    assert not [action for _, action in actions if action.metavar in FILES and not isinstance(action, ReadFile)]
    assert {(command, action.dest) for command, action in actions if isinstance(action, WriteFile)} == set(CASES)


@pytest.mark.parametrize(
    ("words", "output", "source"),
    [pytest.param(*case, id=" ".join(case[0])) for cases in CASES.values() for case in cases],
)
def test_an_output_over_an_input_is_refused(words: list[str], output: str, source: str, capsys: Capture) -> None:
    err = refusal(words, capsys)
    assert f": {output} would write over what {source} names (" in err


def link(_: Path) -> str:
    Path("same.json").symlink_to("run.json")
    return "same.json"


def hard_link(_: Path) -> str:
    os.link("run.json", "same.json")
    return "same.json"


def through_a_linked_directory(folder: Path) -> str:
    Path("elsewhere").symlink_to(folder)
    return "elsewhere/run.json"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(lambda _: "./run.json", id="a dot"),
        pytest.param(lambda folder: f"../{folder.name}/run.json", id="up and down"),
        pytest.param(lambda folder: str(folder / "run.json"), id="absolute"),
        pytest.param(lambda _: "baseline/..//run.json", id="through another directory"),
        pytest.param(link, id="a link"),
        pytest.param(hard_link, id="a hard link"),
        pytest.param(through_a_linked_directory, id="through a linked directory"),
    ],
)
def test_another_name_of_the_same_file_is_the_same_file(name: object, project: Path, capsys: Capture) -> None:
    Path("run.json").write_text("{}")
    assert callable(name)
    assert "-o would write over what --run names" in refusal(
        ["check", "--run", "run.json", "-o", name(project)], capsys
    )


@pytest.mark.full
def test_a_file_that_is_standard_input_is_an_input(project: Path) -> None:
    words = [sys.executable, "-m", "rankgate", "score", "--run", "-", "--per-query", "run.jsonl"]
    environment = {**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1])}
    with Path("run.jsonl").open() as file:
        ended = subprocess.run(words, stdin=file, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "error: run.jsonl: --per-query would write over what --run names (-); name another\n"
    assert content(project)[str(project / "run.jsonl")] == PROJECT["run.jsonl"].encode()


def test_a_store_by_its_address_is_an_input(project: Path, capsys: Capture) -> None:
    words = ["check", "--baseline", f"file://{project}/store", "-o", "store/report.json"]
    assert "-o would write over what --baseline names (file://" in refusal(words, capsys)


def test_two_outputs_are_two_files(capsys: Capture) -> None:
    err = refusal(["check", "-o", "a.json", "-o", "./a.json"], capsys)
    assert err == "error: ./a.json: -o and -o name the same file; name another for one of them\n"


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("gates:\n  - {name: no_such_metric}\ninputs: {gold: gold.json}\n", id="a gate"),
        pytest.param("inputs: {gold: {path: gold.json, formt: json}}\n", id="a key"),
    ],
)
def test_inputs_of_broken_criteria_are_inputs(broken: str, capsys: Capture) -> None:
    """Such a check could not judge, and writes a report that says so."""
    Path("ship-criteria.yaml").write_text(broken)
    Path("gold.json").write_text(PROJECT["gold.jsonl"])
    assert "-o would write over what inputs.gold of" in refusal(["check", "-o", "gold.json"], capsys)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        pytest.param(["score", "--per-query", "scores.jsonl"], "scores.jsonl", id="a new file"),
        pytest.param(["score", "--per-query", "/dev/null"], None, id="a device"),
        pytest.param(["gold", "merge", "gold.jsonl", "labels.jsonl", "-o", "gold.jsonl", "--force"], None, id="GOLD"),
        pytest.param(["gold", "merge", "gold.jsonl", "labels.jsonl", "-o", "-"], None, id="standard output"),
        pytest.param(
            ["record", "--retriever", "json:dumps", "-o", "run.jsonl", "--allow-errors", "1"], None, id="the run, anew"
        ),
    ],
)
def test_what_is_no_input_is_written(words: list[str], written: str | None, capsys: Capture) -> None:
    main(words)
    assert "would write over" not in capsys.readouterr().err
    assert written is None or Path(written).is_file()


def test_a_run_file_that_is_the_baseline_may_be_recorded_again(capsys: Capture) -> None:
    Path("ship-criteria.yaml").write_text(
        "gates:\n  - {name: mrr, threshold: 0.5}\ninputs: {gold: gold.jsonl, baseline: main.jsonl}\n"
    )
    Path("listing.py").write_text("def retrieve(question):\n    return ['a']\n")
    assert main(["record", "--retriever", "listing:retrieve", "-o", "main.jsonl"]) == 0
    sys.modules.pop("listing", None)


def retrieve(question: str) -> list[str]:
    return [question]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        pytest.param("gold.jsonl", "gold", id="the gold set"),
        pytest.param(__file__, "retrieve", id="the module of the function"),
        pytest.param("baseline/../gold.jsonl", "gold", id="another name"),
    ],
)
def test_in_python_too(path: str, source: str) -> None:
    before = Path(path).read_bytes()
    with pytest.raises(RankgateError, match=f"path would write over what {source} names"):
        rankgate.record("gold.jsonl", retrieve, path)
    assert Path(path).read_bytes() == before
