"""`rankgate schema --of NAME`: what `--format json` prints is as the schema says, and nothing else is.

`conftest.py` checks whatever JSON the other tests of commands print, those of judges among it; tests/test_scenarios.py
checks the report.json of every scenario.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.cli.conftest import PRINTED, validator

from rankgate.cli import COMMANDS, main
from rankgate.cli.schema import OUTPUTS

RUNS = ["runs/accepted.jsonl", "runs/harmless.jsonl", "runs/harmful.jsonl"]
HARMFUL = ["--run", RUNS[2]]
STORE = ["--baseline", "memory", "--date", "2026-01-31"]
CALLS = [
    ("report", ["check", *HARMFUL, "--format", "json"]),
    ("report", ["check", "--run", "runs/nowhere.jsonl", "--format", "json"]),
    ("report", ["check", "--from", "out/harmful/report.json", "--format", "json"]),
    ("explain", ["explain", "q-pt-006", *HARMFUL, "--format", "json"]),
    ("explain", ["explain", *HARMFUL, "--format", "json"]),
    ("score", ["score", *HARMFUL, "--format", "json"]),
    ("compare", ["compare", *RUNS[:2], "--format", "json"]),
    ("metrics", ["metrics", "--format", "json"]),
    ("metrics", ["metrics", "rerank_gain", "--format", "json"]),
    ("metrics", ["metrics", "recall(stage=raw)@50", "--format", "json"]),
]


@pytest.fixture
def demo(demo_left: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo's directory, which a test may change."""
    monkeypatch.chdir(shutil.copytree(demo_left / "rankgate-demo", tmp_path / "demo"))
    return tmp_path / "demo"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """All objects within a value, the outer first."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


@pytest.mark.parametrize("name", OUTPUTS)
def test_it_is_a_schema_that_refuses_unknown_keys(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--of", name]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"rankgate {name}"
    shapes = [part for part in objects(schema) if part.get("type") == "object" and "properties" in part]
    assert shapes
    assert all(part["additionalProperties"] is False for part in shapes)
    patterns = [part["pattern"] for part in objects(schema) if isinstance(part.get("pattern"), str)]
    assert not [pattern for pattern in patterns if "\\A" in pattern or "\\Z" in pattern], "JavaScript has no such"
    used = {part["$ref"].removeprefix("#/$defs/") for part in objects(schema) if "$ref" in part}
    assert used <= set(schema["$defs"])


def test_every_command_with_json_has_a_schema() -> None:
    def named(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[str]:
        for action in parser._actions:
            if action.dest == "format" and "json" in (action.choices or ()):
                yield "-".join(words)
            if isinstance(action, argparse._SubParsersAction):
                for word, inner in action.choices.items():
                    yield from named(inner, (*words, word))

    parsers = [(name, import_module(module).parser()) for name, (module, _) in COMMANDS.items()]
    found = {each for name, parser in parsers for each in named(parser, (name,))}
    assert found - {"check"} | {"report"} == set(OUTPUTS)
    assert {name for names in PRINTED.values() for name in names} == set(OUTPUTS) - {"report", "baseline-record"}


@pytest.mark.full
@pytest.mark.parametrize(("name", "words"), CALLS, ids=lambda each: each if isinstance(each, str) else " ".join(each))
def test_what_a_command_prints_of_the_demo_is_valid_and_with_another_key_it_is_not(
    name: str, words: list[str], demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(words)
    printed = json.loads(capsys.readouterr().out)
    validator(name).validate(printed)
    (printed[0] if isinstance(printed, list) else printed)["stranger"] = 1
    assert not validator(name).is_valid(printed)


@pytest.mark.full
def test_what_the_commands_of_a_store_print_is_valid_from_empty_to_pruned(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["show"],
        ["history"],
        ["record", "--run", RUNS[0], *STORE[2:]],
        ["history"],
        ["accept", "--run", RUNS[0], *STORE[2:]],
        ["show"],
        ["verify"],
        ["prune", "--keep", "0"],
        ["prune", "--keep", "0", "--yes"],
    ):
        main(["baseline", words[0], *words[1:], *STORE[:2], "--format", "json"])
        printed = capsys.readouterr()
        assert printed.out, (words, printed.err)
        validator(f"baseline-{words[0]}").validate(json.loads(printed.out))


@pytest.mark.full
def test_a_report_without_a_gate_is_valid_and_one_with_an_unknown_key_is_refused_but_read(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = json.loads((demo / "out/harmful/report.json").read_text(encoding="utf-8"))
    validator("report").validate(report)
    for part in (report, report["gates"][0], report["gates"][0]["reasons"][0], report["provenance"]["gold"]):
        part["later"] = 1
        assert not validator("report").is_valid(report)
        (demo / "later.json").write_text(json.dumps(report), encoding="utf-8")
        assert main(["check", "--from", "later.json", "--format", "json"]) == 1
        validator("report").validate(json.loads(capsys.readouterr().out))
        del part["later"]
    validator("report").validate(report)
