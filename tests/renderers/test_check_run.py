"""A check run from a report: the title says what matters, annotations are plain data in files of the repository."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import ABSENT, HOLDS, LATENCY, NOT_JUDGED, RECALL, REPORT
from tests.report_keys import with_keys
from tests.rows import each_row

from rankgate.errors import Problem
from rankgate.gates.conclude import with_conclusion
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Report
from rankgate.model.values import Direction, Reason, ReasonKind, Ruling, Unit, Verdict
from rankgate.renderers.escape import one_line
from rankgate.renderers.github import LONGEST_MESSAGE, LONGEST_TITLE, Annotation, check_run_output, conclusion_of
from rankgate.renderers.markdown import SUMMARY_BYTES, render_markdown

DROP = changed(RECALL, reasons=[Reason(ReasonKind.REGRESSION, ruling=Ruling.VIOLATED)])
LOST_TEN = "recall@5 lost 10.0 points: 90.0% → 80.0%, 3.0 allowed"
FLOOR = changed(RECALL, name="floor", reasons=[Reason(ReasonKind.THRESHOLD, ruling=Ruling.VIOLATED)])
SLOWER = changed(
    DROP,
    name="fast",
    metric="latency",
    unit=Unit.MILLISECONDS,
    direction=Direction.LOWER,
    baseline=90.0,
    paired_value=97.26,
    delta=7.26,
    regression_max=5.0,
)
PASSES = replace(REPORT, verdict=Verdict.PASS, gates=[HOLDS] * 3)
FEW_LOST = Reason(ReasonKind.LOST, count=3, limit=1)
LOST = changed(LATENCY, metric="mrr", reasons=[FEW_LOST])
WARNS = replace(REPORT, verdict=Verdict.WARN, gates=[LOST])
FAILS = replace(REPORT, gates=[DROP])
ABSENT_TEXT = "3 questions are absent from the run and not counted in recall@5"
UNCHANGED = "Pass: no list changed in the first 5: hit@5 stays at 90.0% (40 questions)"


def failing(*gates: GateResult) -> Report:
    return replace(FAILS, gates=list(gates))


@each_row(
    ("report", "title"),
    [
        pytest.param(FAILS, f"Fail: {LOST_TEN}", id="a drop"),
        pytest.param(
            failing(SLOWER),
            "Fail: latency rose by 7.3 ms: 90.0 ms → 97.3 ms, 5.0 allowed",
            id="a rise where lower is better",
        ),
        pytest.param(
            failing(FLOOR),
            "Fail: recall@5 is 80.0%, below the floor of 85.0%; the baseline held it (90.0%)",
            id="a floor",
        ),
        pytest.param(failing(changed(RECALL, reasons=[ABSENT])), f"Fail: {ABSENT_TEXT}", id="another rule"),
        pytest.param(failing(HOLDS, LATENCY, DROP, SLOWER), f"Fail: {LOST_TEN}; 1 more gate fails", id="two gates"),
        pytest.param(failing(DROP, SLOWER, FLOOR), f"Fail: {LOST_TEN}; 2 more gates fail", id="three gates"),
        pytest.param(
            failing(replace(DROP, segment="lang:\u202e@all")),
            "Fail: one part of the questions lost 10.0 points of recall@5: 90.0% → 80.0%, 3.0 allowed",
            id="a segment, whose name is not ours",
        ),
        pytest.param(PASSES, UNCHANGED, id="pass"),
        pytest.param(WARNS, "Warn: 3 questions were lost in mrr; at most 1 allowed", id="warn"),
        pytest.param(
            replace(WARNS, gates=[changed(LATENCY, threshold=None)]),
            "Warn: nothing to compare with yet: latency is 35.0 ms",
            id="no baseline",
        ),
        pytest.param(
            replace(WARNS, gates=[LATENCY]),
            "Warn: nothing to compare with yet: latency is 35.0 ms, ceiling 50.0 ms",
            id="no baseline, with a limit",
        ),
        pytest.param(NOT_JUDGED, "Not judged: run.jsonl:3: broken JSON", id="not judged"),
        pytest.param(
            with_keys(PASSES, untrusted_run=True),
            f"{UNCHANGED} (rankings supplied by the pull request)",
            id="an untrusted pass",
        ),
        pytest.param(
            with_keys(PASSES, untrusted_run=True, fork_runs="trusted"),
            f"{UNCHANGED} (rankings supplied by the pull request)",
            id="one that the criteria trust",
        ),
    ],
)
def test_the_title_is_the_verdict_and_what_decided(report: Report, title: str) -> None:
    assert check_run_output(with_conclusion(report)).title == title


def test_a_long_title_is_cut_and_still_says_whose_rankings_they_are() -> None:
    report = with_conclusion(with_keys(WARNS, warnings=["x" * 800], gates=[HOLDS], untrusted_run=True))
    title = check_run_output(report).title
    assert len(title) == LONGEST_TITLE
    assert title.endswith("… (rankings supplied by the pull request)")
    assert "\n" not in title


@pytest.mark.parametrize(
    ("verdict", "untrusted", "fork_runs", "conclusion"),
    [
        pytest.param(Verdict.PASS, False, "untrusted", "success", id="pass"),
        pytest.param(Verdict.WARN, False, "untrusted", "success", id="warn"),
        pytest.param(Verdict.FAIL, False, "untrusted", "failure", id="fail"),
        pytest.param(Verdict.NOT_JUDGED, False, "untrusted", "failure", id="not judged"),
        pytest.param(Verdict.PASS, True, "untrusted", "action_required", id="untrusted pass"),
        pytest.param(Verdict.WARN, True, "untrusted", "action_required", id="untrusted warn"),
        pytest.param(Verdict.FAIL, True, "untrusted", "failure", id="untrusted fail"),
        pytest.param(Verdict.NOT_JUDGED, True, "untrusted", "failure", id="untrusted and not judged"),
        pytest.param(Verdict.PASS, True, "trusted", "success", id="pass that the criteria trust"),
        pytest.param(Verdict.WARN, True, "trusted", "success", id="warn that the criteria trust"),
        pytest.param(Verdict.FAIL, True, "trusted", "failure", id="fail all the same"),
    ],
)
def test_the_conclusion(verdict: Verdict, untrusted: bool, fork_runs: str, conclusion: str) -> None:  # noqa: FBT001
    report = with_keys(REPORT, verdict=verdict, untrusted_run=untrusted, fork_runs=fork_runs)
    assert conclusion_of(report) == conclusion


def test_the_summary_is_the_comment() -> None:
    assert check_run_output(REPORT).summary == render_markdown(REPORT)


@pytest.mark.full
def test_a_long_summary_is_fitted_in_bytes() -> None:
    gates = [changed(DROP, name=f"{number}" + "漢" * 500, queries=["漢" * 500] * 9) for number in range(300)]
    summary = check_run_output(replace(REPORT, gates=gates)).summary
    assert len(summary.encode()) <= SUMMARY_BYTES
    assert "Left out to fit: the table by tag" in summary


def test_each_gate_is_an_annotation_at_its_line_with_its_segments_the_worst_first() -> None:
    warns = changed(LATENCY, name="slow", line=7, reasons=[ABSENT])
    parts = [
        changed(RECALL, segment=f"lang:{lang}", violation=beyond, delta=-beyond)
        for lang, beyond in (("en", 0.1), ("de", 0.3), ("es", 0.2), ("fr", 0.15), ("it", 0.12))
    ]
    report = replace(FAILS, gates=[warns, HOLDS, changed(RECALL, reasons=[ABSENT, FEW_LOST]), *parts])
    assert check_run_output(report).annotations == [
        annotation(
            2,
            "failure",
            f"{ABSENT_TEXT}; 3 questions were lost in recall@5; at most 1 allowed; "
            "also in lang:de (−30.0 pp), lang:es (−20.0 pp), lang:fr (−15.0 pp) and 2 more.",
        ),
        annotation(7, "warning", "3 questions are absent from the run and not counted in latency."),
    ]
    alone = replace(FAILS, gates=parts[:2])
    [found] = check_run_output(alone).annotations
    assert found.message.startswith("in lang:de, recall@5 dropped")
    assert found.message.endswith("; also in lang:en (−10.0 pp).")


def test_a_reason_that_only_warns_is_not_in_what_fails() -> None:
    report = replace(FAILS, gates=[changed(RECALL, reasons=[ABSENT, FEW_LOST], doubts=1)])
    assert [each.message for each in check_run_output(report).annotations] == [f"{ABSENT_TEXT}."]


def annotation(line: int, level: str, message: str) -> Annotation:
    return Annotation(
        path="ship-criteria.yaml",
        start_line=line,
        end_line=line,
        annotation_level="failure" if level == "failure" else "warning",
        message=message,
        title="rankgate",
    )


def test_all_of_them_are_there_however_many() -> None:
    assert (
        len(check_run_output(replace(FAILS, gates=[replace(RECALL, name=str(n)) for n in range(120)])).annotations)
        == 120
    )


def test_problems_and_warnings_without_a_gate_are_none() -> None:
    report = with_keys(NOT_JUDGED, problems=[Problem("broken", "run.jsonl", 3)], warnings=["stale"])
    assert check_run_output(report).annotations == []


@pytest.mark.parametrize(
    ("criteria", "path"),
    [
        pytest.param("ship-criteria.yaml", "ship-criteria.yaml", id="at the root"),
        pytest.param("./config/criteria.yaml", "config/criteria.yaml", id="from here"),
        pytest.param("a/../b.yaml", None, id="up and down"),
        pytest.param("../b.yaml", None, id="outside"),
        pytest.param("/etc/b.yaml", None, id="absolute"),
        pytest.param("C:/b.yaml", None, id="absolute on Windows"),
        pytest.param("a\nb.yaml", None, id="a name that no reader recognises"),
        pytest.param("a\u202eb.yaml", None, id="a name that reads otherwise"),
        pytest.param(".", None, id="a directory"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="unknown"),
    ],
)
def test_an_annotation_lies_in_a_file_of_the_repository(criteria: str | None, path: str | None) -> None:
    report = replace(FAILS, provenance=replace(REPORT.provenance, criteria=criteria))
    assert {found.path for found in check_run_output(report).annotations} == ({path} if path else set())


@pytest.mark.parametrize("line", [None, 0, -1])
def test_a_gate_without_a_line_has_no_annotation(line: int | None) -> None:
    assert check_run_output(replace(FAILS, gates=[replace(RECALL, line=line)])).annotations == []


@pytest.mark.full
@given(st.text(max_size=30))
def test_an_annotation_is_one_line_in_which_nothing_is_hidden(text: str) -> None:
    report = replace(FAILS, gates=[changed(RECALL, segment=text, metric="a\r\nb", reasons=[ABSENT])])
    [found] = check_run_output(report).annotations
    assert found.message == one_line(f"in {text}, {ABSENT_TEXT.replace('recall@5', 'a b')}.")


@pytest.mark.full
@pytest.mark.parametrize("word", ["a", "é", "漢", "👩"])
def test_a_message_is_cut_to_bytes_at_a_whole_character(word: str) -> None:
    name = word * (70_000 // len(word.encode()))
    report = replace(FAILS, gates=[changed(RECALL, segment=None, metric=name, reasons=[ABSENT])])
    message = check_run_output(report).annotations[0].message
    assert LONGEST_MESSAGE - 4 < len(message.encode()) <= LONGEST_MESSAGE
    assert message.endswith(f"{word}…")
