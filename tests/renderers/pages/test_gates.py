"""The table of gates: what a row says, and where the bar's marks lie."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.renderers.reports import HOLDS, LATENCY, RECALL

from rankgate.model.report import GateResult, Provenance, Report
from rankgate.model.values import Direction, Verdict
from rankgate.model.waiver_use import Waived
from rankgate.renderers.pages.gates import BAR_WIDTH, MAX_GATES, Bar, bar_of, drift_lines, gate_lines, more_gates


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # 128 points from 6 to 134 for −0.12 to 0: 1066.7 a unit
        pytest.param({}, Bar(zero=134.0, change=27.3, low=6.0, high=48.7, limit=102.0), id="fell beyond its limit"),
        pytest.param(
            {"delta_ci": None}, Bar(zero=134.0, change=6.0, low=6.0, high=6.0, limit=95.6), id="no interval: a dot"
        ),
        pytest.param(
            {"delta_ci": (None, -0.08)},
            Bar(zero=134.0, change=6.0, low=0.0, high=31.6, limit=95.6),
            id="an unknown bound lies at the edge",
        ),
        pytest.param(
            {"direction": Direction.LOWER, "delta": 0.1, "delta_ci": (0.0, 0.2), "regression_max": 0.1},
            Bar(zero=6.0, change=70.0, low=6.0, high=134.0, limit=70.0),
            id="where lower is better the limit lies above",
        ),
        pytest.param(
            {"delta": 0.0, "delta_ci": (0.0, 0.0), "regression_max": None},
            Bar(zero=BAR_WIDTH / 2, change=BAR_WIDTH / 2, low=BAR_WIDTH / 2, high=BAR_WIDTH / 2, limit=None),
            id="nothing changed and nothing is forbidden",
        ),
        pytest.param({"delta": None}, None, id="nothing to compare with"),
    ],
)
def test_a_bar_holds_change_interval_and_limit_beside_zero(change: dict[str, object], expected: Bar | None) -> None:
    assert bar_of(replace(RECALL, **change)) == expected


def report(*gates: GateResult) -> Report:
    return Report(
        verdict=Verdict.FAIL, summary="", gates=list(gates), provenance=Provenance(rankgate="0", date="2026-01-31")
    )


def test_a_row_says_what_the_comment_says() -> None:
    line = gate_lines(report(RECALL))[0]
    assert (line.baseline, line.now, line.change, line.limit, line.status) == (
        *("90.0%", "80.0%", "−10.0 pp", "at least 85.0%, drop at most 3.0 pp", "fail"),
    )
    assert (line.now_interval, line.change_interval) == ("95%: 75.0 to 85.0%", "95%: −12.0 to −8.0 pp")
    assert line.about == ()


def test_a_row_says_what_it_is_about_where_a_metric_has_several() -> None:
    about = [
        line.about
        for line in gate_lines(
            report(
                RECALL,
                replace(RECALL, name="other"),
                replace(RECALL, segment="lang:\u2066es"),
                replace(RECALL, since="launch"),
                LATENCY,
            )
        )
    ]
    assert about == [
        (("gate", "retrieval_recall_at_5"),),
        (("gate", "other"),),
        (("only", "lang:\\u2066es"),),
        (("since", "launch"),),
        (),
    ]


def test_an_anchor_alone_does_not_make_a_gate_need_its_name() -> None:
    lines = gate_lines(report(RECALL, replace(RECALL, since="launch")))
    assert [line.about for line in lines] == [(), (("since", "launch"),)]
    assert [line.about for line in drift_lines(report(RECALL, replace(RECALL, since="launch")))] == [lines[1].about]


def test_a_segment_that_holds_has_no_row() -> None:
    assert len(gate_lines(report(RECALL, replace(HOLDS, segment="lang:en")))) == 1


def test_questions_of_a_hard_check_and_who_waived_it_are_named_within_bounds() -> None:
    waived = Waived(by="ana", reason="new\nindex", issue="https://example.org/1", expires="2026-12-31", up_to=0.1)
    (line,) = gate_lines(report(replace(RECALL, queries=[f"q{n}" for n in range(12)], waived=waived)))
    assert (line.queries[:2], len(line.queries), line.more_queries) == (("q0", "q1"), 10, 2)
    assert line.waived == ("ana", "new index", "https://example.org/1")
    assert line.status == "waived"


@pytest.mark.parametrize(("gates", "more"), [(1, 0), (MAX_GATES, 0), (MAX_GATES + 3, 3)])
def test_gates_without_a_row_are_counted(gates: int, more: int) -> None:
    found = report(*[RECALL] * gates)
    assert (len(gate_lines(found)), more_gates(found)) == (gates - more, more)
