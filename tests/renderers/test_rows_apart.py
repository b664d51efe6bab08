"""Rows that a reader can tell apart: two gates on one metric, parts by several tags, and what is unproven."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.gates.test_conclude import FAIL, PASS, WARN, gate, report

from rankgate.model.gate_result import GateResult
from rankgate.model.report import Report
from rankgate.model.values import EvidenceState, Reason, ReasonKind, Ruling
from rankgate.renderers.escape import plain
from rankgate.renderers.junit import render_junit
from rankgate.renderers.terminal import render_terminal
from rankgate.renderers.view.decided import first_rows

UNPROVEN: dict[str, Any] = {
    "evidence_state": EvidenceState.INCONCLUSIVE,
    "reasons": [Reason(ReasonKind.REGRESSION, ruling=Ruling.INCONCLUSIVE, state=EvidenceState.INCONCLUSIVE)],
}
WHOLE = gate(now=0.9)
GERMAN = gate(FAIL, name="languages", segment="lang:de", metric="recall@5", before=0.9, now=0.6, drop=0.1, n=12)
OF_PARTS = [gate(name="languages", metric="recall@5", drop=None, reasons=[]), GERMAN]


def topics(*now: float, **more: Any) -> list[GateResult]:
    """A row for each of as many topics."""
    return [
        gate(name="languages", metric="recall@5", segment=f"topic:{place}", now=each, drop=0.1, n=10, **more)
        for place, each in enumerate(now)
    ]


def rows(judged: Report) -> list[str]:
    return [line.strip() for line in render_terminal(judged).splitlines() if line.startswith("  ")]


def test_two_gates_on_one_metric_are_told_apart() -> None:
    judged = report(WHOLE, *OF_PARTS)
    named = [row.split("  ")[0] for row in rows(judged)]
    assert named == [
        "metric",
        "recall@5 (languages) · lang:de",
        "1 other gate",
        "recall@5 (languages) · all 300 questions",
    ]
    assert "by segment" in rows(judged)[-1]
    cases = ET.fromstring(render_junit(judged)).iter("testcase")  # noqa: S314 -- our own
    names = [case.attrib["name"] for case in cases]
    assert names[1:] == ["recall@5", "recall@5 (languages)", "recall@5 (languages) in lang:de"]
    assert "PASS  recall@5 is 90.0%, judged by segment alone." in render_junit(judged)


def test_a_gate_alone_on_its_metric_needs_no_name() -> None:
    assert "(languages)" not in render_terminal(report(*OF_PARTS))


def test_a_gate_of_single_questions_alone_says_so() -> None:
    judged = report(gate(drop=None, reasons=[]), gate(FAIL, name="mrr", now=0.7))
    assert "judged by question alone" in render_junit(judged)


@pytest.mark.parametrize(
    ("others", "rest", "counted"),
    [
        pytest.param(topics(0.9, 0.9), "", [("2 parts by other tags", "pass")], id="topics are no languages"),
        pytest.param(
            [gate(name="languages", metric="recall@5", segment="lang:en", drop=0.1), *topics(0.9)],
            " The other language holds.",
            [("1 other language", "pass"), ("1 part by other tags", "pass")],
            id="beside a language",
        ),
        pytest.param(
            topics(0.7, **UNPROVEN), "", [("1 part by other tags", "unproven")], id="one that is unproven holds nothing"
        ),
        pytest.param(
            topics(0.7, **UNPROVEN) + topics(0.9, 0.9)[1:],
            "",
            [("2 parts by other tags, 1 unproven", "unproven")],
            id="one of two is unproven",
        ),
    ],
)
def test_parts_are_counted_by_their_tag(others: list[GateResult], rest: str, counted: list[tuple[str, str]]) -> None:
    judged = report(*OF_PARTS, *others)
    assert judged.summary == f"Do not merge: lang:de lost 30.0 points of recall@5: 90.0% → 60.0%, 10.0 allowed.{rest}"
    assert [(plain(row.name), row.status) for row in first_rows(judged, 9).rows if row.kind == "rest"] == counted


def test_failing_parts_of_other_tags_are_no_languages() -> None:
    french = gate(FAIL, name="languages", segment="lang:fr", metric="recall@5", before=0.9, now=0.7, drop=0.1, n=12)
    failing = [
        gate(FAIL, name="languages", segment="topic:visa", metric="recall@5", before=0.9, now=0.7, drop=0.1, n=12)
    ]
    judged = report(*OF_PARTS, french, *failing)
    assert "; 1 more language and 1 part by another tag fail." in judged.summary


def test_other_gates_that_are_unproven_do_not_hold() -> None:
    judged = report(gate(FAIL, name="recall@5", now=0.7), gate(name="mrr", now=0.8, **UNPROVEN), gate(name="hit@5"))
    [rest] = [row for row in first_rows(judged, 3).rows if row.kind == "rest"]
    assert (plain(rest.name), rest.status) == ("2 other gates, 1 unproven", "unproven")


def test_beside_a_warning_of_all_questions_the_worst_unproven_part_has_a_row() -> None:
    overall = gate(WARN, name="languages", metric="recall@5", now=0.8)
    parts = topics(0.85, 0.6, 0.7, **UNPROVEN)
    shown = first_rows(report(overall, *parts), 2)
    assert [row.part.raw for row in shown.rows if row.part is not None] == ["topic:1"]
    assert shown.more == "2 more parts are unproven"
    assert report(overall).verdict is not PASS
