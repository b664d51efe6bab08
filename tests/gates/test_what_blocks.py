"""What a verdict rests on, and that every output names it: 30 questions of which some are lost and some are won."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from msgspec.structs import replace
from tests.gates.deciding import decide
from tests.gates.test_decide import scores

from rankgate.criteria import Gate
from rankgate.criteria.model import parse_criteria
from rankgate.gates.conclude import concluded
from rankgate.gates.segments import with_hard_checks
from rankgate.gates.sights import BlockedByChance, power_facts
from rankgate.metrics.names import parse_metric
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.report import Provenance, Report
from rankgate.model.values import Evidence, Gold, ReasonKind, Sample, Verdict
from rankgate.renderers.badge import render_badge
from rankgate.renderers.escape import Text
from rankgate.renderers.junit import render_junit
from rankgate.renderers.terminal import render_terminal
from rankgate.renderers.view.numbers import row_of
from rankgate.renderers.view.reasons import if_meant

PASS, WARN, FAIL = Verdict.PASS, Verdict.WARN, Verdict.FAIL
QUESTIONS = 30
CRITERIA_PAGE = Path(__file__).parents[2] / "docs" / "criteria.md"
QUESTIONS_PAGE = CRITERIA_PAGE.with_name("questions.md")
RUN = Provenance(rankgate="0.1.0", date="2026-11-27", criteria="ship-criteria.yaml")
GOLD = Gold(
    samples={f"q{row}": Sample(query_id=f"q{row}", gains={"a": 1.0}) for row in range(QUESTIONS)},
    name="gold.yaml",
    format="yaml",
)
NO_NOISE = "noise alone does so in less than 8% of checks"


def result(
    lost: int,
    won: int = 0,
    *,
    floor: float | None = None,
    drop: float | None = 0.05,
    severity: Literal["error", "warning"] = "error",
    name: str = "hit@5",
    **checks: Any,
) -> GateResult:
    """Of 30 questions so many are lost and so many won, under `proven_harm`."""
    metric = parse_metric("hit@5")
    gate = Gate(
        name=name,
        metric=metric,
        threshold=floor,
        regression_max=drop,
        evidence=Evidence.PROVEN_HARM,
        severity=severity,
        line=2,
        **checks,
    )
    now = scores([0.0] * lost + [1.0] * (QUESTIONS - lost), metric.name)
    before = scores([1.0] * lost + [0.0] * won + [1.0] * (QUESTIONS - lost - won), metric.name)
    return with_hard_checks(decide(gate, now, before), gate, GOLD, now, before)


def report(*gates: GateResult) -> Report:
    return concluded(Report(verdict=PASS, summary="", gates=list(gates), provenance=RUN))


def test_the_page_says_when_a_loss_blocks_warns_and_passes() -> None:
    """Every row of the table, as `decide` has it."""
    page = CRITERIA_PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\d+) \| −([\d.]+) \| (\w+)(, unproven)? \|", page, re.MULTILINE)
    assert {verdict for _, _, _, verdict, _ in rows} == {"PASS", "WARN", "FAIL"}
    for lost, won, change, verdict, unproven in rows:
        found = result(int(lost), int(won))
        assert (found.verdict.name, found.is_unproven) == (verdict, bool(unproven)), (lost, won)
        assert f"{-100 * (found.change.delta or 0.0):.1f}" == change


def test_what_few_questions_are_advised_to_write_is_no_complaint_of_validate() -> None:
    block = re.search(r"```yaml\n(gates:\n.*?)```", QUESTIONS_PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    advised = parse_criteria({**yaml.safe_load(block[1]), "evidence": "proven_harm"})
    assert advised.gates[0].max_lost_queries
    assert not [fact for fact in power_facts(advised, GOLD, []) if isinstance(fact, BlockedByChance)]


@pytest.mark.parametrize(
    ("gate", "headline", "limit"),
    [
        pytest.param(
            result(4, max_lost_queries=1), "4 questions were lost in hit@5", "4 lost, 1 allowed", id="beside a warning"
        ),
        pytest.param(
            result(2, max_lost_queries=1), "2 questions were lost in hit@5", "2 lost, 1 allowed", id="beside noise"
        ),
        pytest.param(
            result(4, max_lost_queries=1, floor=0.95),
            "4 questions were lost in hit@5",
            "4 lost, 1 allowed",
            id="beside a floor within noise",
        ),
        pytest.param(
            result(9, max_lost_queries=1),
            "hit@5 lost 30.0 points",
            "−5.0 pp; 9 lost, 1 allowed",
            id="beside a proven drop",
        ),
        pytest.param(
            result(9, max_lost_queries=1, floor=0.1),
            "hit@5 lost 30.0 points",
            "−5.0 pp; 9 lost, 1 allowed",
            id="beside a floor that holds",
        ),
        pytest.param(result(4, must_pass=("q0",)), "q0 must pass and does not", "must pass", id="must pass"),
        pytest.param(
            result(4, drop=None, max_lost_queries=1), "4 questions were lost", "4 lost, 1 allowed", id="no other limit"
        ),
    ],
)
def test_the_headline_and_the_row_name_what_blocks(gate: GateResult, headline: str, limit: str) -> None:
    judged = report(gate)
    assert judged.verdict is FAIL
    assert judged.summary.startswith(f"Do not merge: {headline}")
    assert row_of(judged.gates[0], judged, alone=False).limit == limit
    assert headline in render_junit(judged).partition("</properties>")[0]
    if headline.startswith("4 questions"):
        assert "hit@5 lost" not in render_terminal(judged)
        assert "points" not in render_badge(judged)


@pytest.mark.parametrize(
    ("lost", "won", "beyond_noise"), [(3, 0, False), (5, 1, False), (4, 0, True), (6, 1, True), (8, 2, True)]
)
def test_a_warning_says_why_it_is_no_noise(lost: int, won: int, beyond_noise: bool) -> None:  # noqa: FBT001
    judged = report(result(lost, won))
    assert judged.verdict is (WARN if beyond_noise else PASS)
    assert (NO_NOISE in judged.summary) is beyond_noise
    assert ("within noise" in sentences(judged.gates[0])[0]) is not beyond_noise


def test_of_two_limits_in_doubt_the_one_beyond_noise_is_named() -> None:
    """The floor is missed by one question, which is noise; the drop is not."""
    judged = report(result(4, 0, floor=0.88))
    kinds = [(reason.kind, reason.beyond_noise) for reason in judged.gates[0].decision.reasons]
    assert kinds == [(ReasonKind.REGRESSION, True), (ReasonKind.THRESHOLD, False)]
    assert judged.conclusion.rule == "drop"


def test_a_gate_that_only_warns_needs_the_proof() -> None:
    assert result(4, severity="warning").verdict is PASS
    assert result(6, severity="warning").verdict is WARN


@pytest.mark.parametrize(
    ("gates", "sentence"),
    [
        pytest.param(
            [result(4, floor=0.9, drop=None)],
            "Floors only: hit@5 is 86.7%, below its floor of 90.0%, within noise (30 questions); no gate that blocks "
            "limits a drop of all questions.",
            id="the only limit",
        ),
        pytest.param(
            [result(0, floor=0.9, drop=None)],
            "Floors only: hit@5 is 100.0%, floor 90.0% (30 questions); ",
            id="it holds",
        ),
        pytest.param(
            [result(2, floor=0.95)], " Not held, within noise: hit@5 (93.3%, floor 95.0%).", id="beside a drop"
        ),
        pytest.param(
            [result(0), result(2, floor=0.95, drop=None, name="other")],
            " Not held, within noise: hit@5 (93.3%, floor 95.0%).",
            id="of another gate",
        ),
    ],
)
def test_a_value_below_its_floor_within_noise_is_said(gates: list[GateResult], sentence: str) -> None:
    judged = report(*gates)
    assert judged.verdict is PASS
    assert sentence in judged.summary
    below = [gate for gate in judged.gates if gate.is_unproven]
    notes = [note for gate in below for note in row_of(gate, judged, alone=False).notes]
    assert (("below its floor, within noise",) in notes) is bool(below)


WAIVER = "If it is meant: a waiver; `rankgate validate` prints its lines."


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param([result(9)], WAIVER, id="a drop"),
        pytest.param(
            [result(9, max_lost_queries=1)], "`max_lost_queries` of the gate hit@5", id="a drop and lost questions"
        ),
        pytest.param([result(4, max_lost_queries=1)], "`max_lost_queries` of the gate hit@5", id="lost questions"),
        pytest.param([result(4, must_pass=("q0",))], "`must_pass` of the gate hit@5", id="a question that must pass"),
        pytest.param(
            [result(9), result(2, must_pass=("q0",), name="other")],
            "`must_pass` of the gate other",
            id="of another gate",
        ),
    ],
)
def test_a_remedy_is_offered_only_where_it_helps(gates: list[GateResult], expected: str) -> None:
    """The baseline is a file here, so that nothing can be accepted."""
    text = "".join(part if isinstance(part, str) else part.raw for part in if_meant(report(*gates)))
    assert expected in text
    assert ("no waiver covers" in text) is (expected != WAIVER)


def test_the_lines_of_a_waiver_are_printed_by_the_same_criteria() -> None:
    judged = report(result(9))
    conclusion = replace(judged.conclusion, next=["rankgate", "explain", "q0", "--criteria", "conf/ship.yaml"])
    command = if_meant(replace(judged, conclusion=conclusion))[1]
    assert isinstance(command, Text)
    assert command.raw == "rankgate validate --criteria conf/ship.yaml"
