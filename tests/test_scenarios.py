"""Every folder under scenarios/ is one call of the command line with golden output; see the README there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import msgspec
import pytest

from rankgate.cli import main
from rankgate.cli.schema import output_schema
from rankgate.metrics import scoring
from rankgate.readers import gold_text, qrels
from rankgate.readers.yaml_text import load_yaml

SCENARIOS = Path(__file__).parent / "scenarios"
DATE = "2026-01-31"
FOLDERS = sorted(path.name for path in SCENARIOS.iterdir() if (path / "scenario.yaml").is_file())
WRITTEN = ("report.json", "comment.md", "junit.xml", "rankgate.badge.json")
# Of these the whole report.json is kept: together they hold most of its keys. The others keep what it decides.
WHOLE = ("beyond_ids", "lower_is_better", "what_differs")


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    shows: str
    arguments: list[str]
    exit_code: int


def test_every_kind_of_outcome_has_a_scenario() -> None:
    assert set(FOLDERS) >= {
        *("pass", "warn", "fail", "not_judged", "no_baseline", "lower_is_better"),
        *("missing_queries", "user_template", "bad_data"),
        *("stale_gold", "partly_stale", "gold_changed", "what_differs", "reranker", "one_language"),
        *("waiver", "waiver_expired", "waiver_expiring", "waiver_too_small", "waiver_unused", "waiver_wrong_gate"),
        *("what_differs", "trend", "given_up"),
        *(
            "inconclusive",
            "proven_harm",
            "proven_safe",
            "beyond_ids",
            "segments",
            "simpson",
            "must_pass",
            "no_interval",
            "re_chunked",
        ),
    }


def decision(report: str) -> str:
    """The verdict, the summary and a line for each gate, without what is empty there."""
    whole = json.loads(report)
    gates = [{key: value for key, value in gate.items() if value not in (None, [], False)} for gate in whole["gates"]]
    lines = ",\n".join(f"    {json.dumps(gate, ensure_ascii=False)}" for gate in gates)
    verdict, summary = (json.dumps(whole[key], ensure_ascii=False) for key in ("verdict", "summary"))
    return f'{{\n  "verdict": {verdict},\n  "summary": {summary},\n  "gates": [\n{lines}\n  ]\n}}\n'


@pytest.mark.parametrize("questions", ["few", "many"])
@pytest.mark.parametrize("name", FOLDERS)
def test_scenario(
    name: str,
    questions: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    folder = SCENARIOS / name
    scenario = msgspec.convert(load_yaml((folder / "scenario.yaml").read_text(), name).value, Scenario)
    work = tmp_path / "work"
    shutil.copytree(SCENARIOS / "_inputs", work)
    shutil.copytree(folder, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("expected", "scenario.yaml"))
    monkeypatch.chdir(work)
    if questions == "many":  # what takes less memory says the same
        monkeypatch.setattr(scoring, "MANY", 0)
        for module in (gold_text, qrels):
            monkeypatch.setattr(module, "MANY", 0)

    date = ["--date", DATE] if scenario.arguments[0] == "check" else []
    code = main([*scenario.arguments, *date])

    printed = capsys.readouterr()
    found = {"stdout.txt": printed.out}
    found |= {written: (work / written).read_text() for written in WRITTEN if (work / written).exists()}
    if "report.json" in found:
        jsonschema.Draft202012Validator(output_schema("report")).validate(json.loads(found["report.json"]))
    if name not in WHOLE and "report.json" in found:
        found["decision.json"] = decision(found.pop("report.json"))
    assert printed.err == ""
    expected = folder / "expected"
    if request.config.getoption("--refresh") and questions == "few":
        shutil.rmtree(expected, ignore_errors=True)
        expected.mkdir()
        for file, text in found.items():
            (expected / file).write_text(text)
    assert code == scenario.exit_code
    assert found == {path.name: path.read_text() for path in expected.iterdir()}
