"""Traffic from logs to the second line of a check, as it is typed: recorded, accepted, compared, published."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.json_lines import read_lines

from rankgate.cli import main
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict
from rankgate.renderers.github import check_run_output

WORD = "Zanzibar"
OUTPUTS = ("report.json", "comment.md", "report.html", "junit.xml")
SEARCH = """\
broken = False
stop = None
seen = []

def retrieve(question):
    seen.append(question)
    if question == stop:
        raise KeyboardInterrupt
    first = sum(map(ord, question)) % 50
    shift = 3 if broken and "thai" in question else 0
    return [f"d{first + place + shift}" for place in range(8)]
"""
CRITERIA = """\
retriever: {function: engine:retrieve}
inputs: {gold: gold.jsonl, run: run.jsonl, baseline: baseline, traffic: traffic.jsonl}
gates: [{name: precision@5, regression_max: 0.03, evidence: proven_harm}]
"""


def lines(path: str, records: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(f"{json.dumps(record)}\n" for record in records))


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ten questions of a gold set, and forty of the traffic, a quarter of them in a language that it lacks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("engine.py").write_text(SEARCH)
    Path("ship-criteria.yaml").write_text(CRITERIA)
    golden = [f"gold question {at}" for at in range(10)]
    found = [f"d{sum(map(ord, text)) % 50}" for text in golden]
    samples = [{"id": f"q{at}", "input": text, "expected_output": [found[at]]} for at, text in enumerate(golden)]
    lines("gold.jsonl", samples)
    languages = ["thai" if at % 4 == 0 else "english" for at in range(40)]
    questions = [f"{WORD} in {language} {at}" for at, language in enumerate(languages)]
    tags = [[f"lang:{language[:2]}"] for language in languages]
    asked = zip(questions, tags, strict=True)
    lines("traffic.jsonl", [{"query_id": f"t{at}", "question": q, "tags": t} for at, (q, t) in enumerate(asked)])
    yield
    sys.modules.pop("engine", None)


def engine() -> Any:
    return sys.modules["engine"]


def record(*more: str) -> int:
    return main(["record", *more])


def checked(*more: str) -> Report:
    assert main(["check", "--date", "2026-01-31", *(word for name in OUTPUTS for word in ("-o", name)), *more]) == 0
    return decode_report(Path("report.json").read_bytes(), "report.json")


def accept() -> None:
    assert record() == 0
    assert main(["baseline", "accept", "--date", "2026-01-30", "--reason", "first", "--to", "baseline"]) == 0


def broken() -> None:
    accept()
    engine().broken = True
    assert record() == 0


def test_traffic_is_asked_after_the_gold_set_and_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert record() == 0
    assert [(line["query_id"][0], line.get("traffic", False)) for line in read_lines()] == (
        [("q", False)] * 10 + [("t", True)] * 40
    )
    assert "recorded 50 of 50 questions, 40 of them traffic, in run.jsonl" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("limit", "asked"), [("0", 0), ("15", 15), ("4000", 40)], ids=["none", "some", "more than there are"]
)
def test_a_limit(limit: str, asked: int) -> None:
    assert record("--traffic-limit", limit) == 0
    ids = [line["query_id"] for line in read_lines() if line.get("traffic")]
    assert len(ids) == asked
    assert ids != [f"t{at}" for at in range(15)], "not the first of the file"


@pytest.mark.full
def test_a_limit_for_a_check_that_records(capsys: pytest.CaptureFixture[str]) -> None:
    accept()
    assert main(["check", "--record", "--traffic-limit", "15"]) == 0
    assert sum(line.get("traffic", False) for line in read_lines()) == 15
    assert "the run has no line for 25 of 40 traffic questions of the accepted run" in capsys.readouterr().out
    assert main(["check", "--traffic-limit", "15"]) == 2
    assert "--traffic-limit goes with --record" in capsys.readouterr().err


def test_a_fork_says_what_its_traffic_gets_and_no_text_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    broken()
    capsys.readouterr()
    report = checked("--run", "run.jsonl", "--untrusted-run")
    assert report.measured.traffic
    assert (report.measured.traffic.changed, report.measured.traffic.asked) == (10, 40)
    assert all(WORD not in Path(name).read_text() for name in OUTPUTS)


def test_a_limit_below_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert record("--traffic-limit", "-1") == 2
    assert "--traffic-limit: must be at least 0, not -1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gate", "verdict"),
    [("", Verdict.PASS), ("- {name: precision@2, over: traffic, regression_max: 0.03}\n", Verdict.WARN)],
    ids=["a note", "a gate that could not be judged warns"],
)
def test_a_fork_whose_job_lacks_the_questions(gate: str, verdict: Verdict) -> None:
    accept()
    Path("traffic.jsonl").unlink()
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("gates: [{", "gates:\n- {").replace("}]\n", "}\n") + gate)
    report = checked("--run", "run.jsonl", "--untrusted-run")
    said = report.remarks.warnings if gate else report.remarks.notes
    assert any("questions of `inputs.traffic` are not here" in each for each in said)
    assert report.verdict is verdict


def test_an_interrupted_recording_goes_on_within_the_traffic() -> None:
    assert record("--only", "q1") == 0  # which imports the engine
    engine().stop = f"{WORD} in english 21"
    assert record() == 130
    engine().stop = None
    engine().seen.clear()
    assert record() == 0
    assert engine().seen == [f"{WORD} in {'thai' if at % 4 == 0 else 'english'} {at}" for at in range(21, 40)]
    assert len(read_lines()) == 50


def test_an_accepted_run_keeps_no_text() -> None:
    accept()
    stored = b"".join(gzip.decompress(path.read_bytes()) for path in Path("baseline").rglob("run-*"))
    kept = [json.loads(line) for line in stored.splitlines()]
    assert [set(line) for line in kept if line.get("traffic")] == [
        {"query_id", "retrieved", "question_sha256", "traffic"}
    ] * 40
    assert WORD.encode() not in stored
    assert all(WORD not in path.read_text(errors="replace") for path in Path("baseline").rglob("*") if path.is_file())


def test_the_second_line_stands_in_every_output_and_decides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    broken()
    capsys.readouterr()
    report = checked()
    line = "25.0% of 40 traffic questions get other results, 100% of them {}: unlabelled."
    assert report.verdict is Verdict.PASS
    assert report.conclusion.traffic
    assert (report.conclusion.traffic.changed, report.conclusion.traffic.asked) == (0.25, 40)
    assert line.format("lang:th") in capsys.readouterr().out
    comment = Path("comment.md").read_text()
    assert line.format("`lang:th`") in comment.partition("<details>")[0]
    assert line.format("`lang:th`") in check_run_output(report).summary
    page = Path("report.html").read_text()
    assert "25.0% of 40 traffic questions get other results" in page
    assert "10 of 40 questions get other results among the first 5: 25.0%, 95% interval 12.7% to 41.2%" in page
    assert "<bdi>t0</bdi>" in page
    assert len(comment.partition("<details>")[0].split()) <= 120


@pytest.mark.full
def test_values_of_the_gold_set_are_those_without_traffic() -> None:
    broken()
    with_traffic = checked()
    text = Path("ship-criteria.yaml").read_text()
    Path("ship-criteria.yaml").write_text(text.replace(", traffic: traffic.jsonl", ""))
    named = [line for line in read_lines() if not line.get("traffic")]
    without = checked()
    assert (without.gates, without.measured.metrics, without.remarks.notes) == (
        with_traffic.gates,
        with_traffic.measured.metrics,
        with_traffic.remarks.notes,
    )
    lines("run.jsonl", named)
    assert checked().gates == with_traffic.gates


def test_an_id_that_both_have_is_two_questions() -> None:
    text = Path("traffic.jsonl").read_text()
    Path("traffic.jsonl").write_text(text.replace('"t0"', '"q0"'))
    broken()
    report = checked()
    assert report.measured.traffic
    assert (report.measured.traffic.repeated, report.measured.traffic.changed) == (["q0"], 10)
    assert report.gates[0].measured.value == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("publish", "word", "gold_text"),
    [
        pytest.param("", False, True, id="unset"),
        pytest.param("publish: {texts: full}\n", True, True, id="full"),
        pytest.param("publish: {texts: ids}\n", False, False, id="ids"),
    ],
)
def test_texts_of_the_traffic_leave_only_where_the_criteria_say_so(publish: str, word: bool, gold_text: bool) -> None:  # noqa: FBT001 -- a table
    Path("ship-criteria.yaml").write_text(publish + CRITERIA)
    broken()
    report = checked()
    texts = {name: Path(name).read_text() for name in OUTPUTS} | {"check": str(check_run_output(report))}
    assert {name for name, text in texts.items() if WORD in text} == ({"report.json", "report.html"} if word else set())
    assert ("gold question" in texts["report.html"]) is gold_text


@pytest.mark.parametrize(
    ("act", "message"),
    [
        pytest.param(lambda: Path("traffic.jsonl").unlink(), "traffic.jsonl", id="no-file"),
        pytest.param(
            lambda: Path("traffic.jsonl").write_text('{"query_id": "t1", "question": ""}'),
            "traffic.jsonl:1: question: no text; write the question here",
            id="no-text",
        ),
    ],
)
@pytest.mark.parametrize("command", ["record", "check", "validate"])
def test_traffic_that_cannot_be_read(act: Any, message: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert record() == 0
    act()
    assert main([command]) == 2
    said = capsys.readouterr()
    assert message in said.err + said.out


def test_validate_names_questions_of_the_gold_set(capsys: pytest.CaptureFixture[str]) -> None:
    lines("traffic.jsonl", [{"query_id": "t1", "question": "GOLD question 3"}])
    assert record() == 0
    assert main(["validate"]) == 0
    assert "1 traffic question ('t1') is in the gold set, too, by id or text" in capsys.readouterr().out
