"""One gate's decision as tables: floors, drops, both directions, and what happens with nothing to judge by."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Literal

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.gate_rows import changed, gate_result, scores_of
from tests.gates.deciding import decide
from tests.rows import each_row

from rankgate.criteria import Gate
from rankgate.metrics.names import parse_metric
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.scores import Scores
from rankgate.model.values import (
    SEVERITY_ORDER,
    Direction,
    Evidence,
    EvidenceState,
    ReasonKind,
    RunField,
    Unit,
    Verdict,
)

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED
Column = Sequence[float | None]
Severity = Literal["error", "warning"]
SEVERITIES: Sequence[Severity] = ("error", "warning")


def gate(
    metric: str = "recall@5", *, floor: float | None = None, drop: float | None = None, severity: Severity = "error"
) -> Gate:
    return Gate(
        name=f"the gate of {metric}",
        metric=parse_metric(metric),
        threshold=floor,
        regression_max=drop,
        severity=severity,
        line=4,
    )


def scores(values: Column, metric: str = "recall@5", *, missing: Collection[int] = ()) -> Scores:
    """A run's scores; `missing` are the positions of the questions that it lacks, all of them new to a baseline."""
    ids = tuple(f"q{position}" for position in range(len(values)))
    lacking = frozenset(ids[position] for position in missing)
    return scores_of(ids, {parse_metric(metric).name: values}, missing=lacking, new_queries=lacking)


TOO_FEW = ", with too few questions to tell it from noise"
NOISE = ", within noise (95%: {})"


def said(reason: str) -> EvidenceState:
    """What a reason says of the evidence; the field must say the same."""
    if "within noise" in reason:
        return EvidenceState.INCONCLUSIVE
    return EvidenceState.NO_INTERVAL if "too few questions" in reason else EvidenceState.CLEAR


def judged(result: GateResult) -> tuple[Verdict, list[str]]:
    return result.verdict, sentences(result)


@each_row(
    ("metric", "values", "limit", "verdict", "reason"),
    [
        pytest.param(
            *("recall@5", [1.0, 1.0, 1.0, 1.0, 0.0], 0.75, PASS),
            "recall@5 is 80.0%, above the floor of 75.0%",
            id="above the floor",
        ),
        pytest.param(
            *("recall@5", [1.0, 1.0, 1.0, 1.0, 0.0], 0.8, PASS),
            "recall@5 is 80.0%, exactly at the floor of 80.0%",
            id="exactly at the floor passes",
        ),
        pytest.param(
            *("recall@5", [1.0, 1.0, 1.0, 1.0, 0.0], 0.85, FAIL),
            "recall@5 is 80.0%, below the floor of 85.0%" + NOISE.format("28.4 to 99.5%"),
            id="below the floor",
        ),
        pytest.param(
            *("recall@5", [0.84996], 0.85, FAIL),
            "recall@5 is 84.996%, below the floor of 85.000%" + TOO_FEW,
            id="just below: rounding does not hide it",
        ),
        pytest.param(
            *("recall@5", [0.85 - 2e-9], 0.85, FAIL),
            "recall@5 is 84.9999998%, below the floor of 85.0000000%" + TOO_FEW,
            id="below by more than the tolerance of 1e-9",
        ),
        pytest.param(
            *("recall@5", [0.85 - 5e-10], 0.85, PASS),
            "recall@5 is 85.0%, exactly at the floor of 85.0%",
            id="below by less than the tolerance is at the floor",
        ),
        pytest.param(
            *("recall@5", [0.1, 0.2, 0.3], 0.2, PASS),
            "recall@5 is 20.0%, exactly at the floor of 20.0%",
            id="a mean that is at the floor but for binary fractions",
        ),
        pytest.param(
            *("recall@5", [1.0, None, 0.5], 0.75, PASS),
            "recall@5 is 75.0%, exactly at the floor of 75.0%",
            id="undefined queries are left out of the mean",
        ),
        pytest.param(
            *("recall@5", [0.0, 0.0], 0.0, PASS),
            "recall@5 is 0.0%, exactly at the floor of 0.0%",
            id="a floor of nothing",
        ),
        pytest.param(
            *("mrr", [1.0, 0.0], 0.62, FAIL),
            "mrr is 0.500, below the floor of 0.620" + NOISE.format("0.013 to 0.987"),
            id="a score reads as a number",
        ),
        pytest.param(
            *("mrr", [0.6199], 0.62, FAIL),
            "mrr is 0.6199, below the floor of 0.6200" + TOO_FEW,
            id="a score just below",
        ),
        pytest.param(
            *("latency", [30.0, 38.0], 35.0, PASS),
            "latency is 34.0 ms, below the ceiling of 35.0 ms",
            id="lower is better: below the ceiling",
        ),
        pytest.param(
            *("latency", [30.0, 40.0], 35.0, PASS),
            "latency is 35.0 ms, exactly at the ceiling of 35.0 ms",
            id="lower is better: exactly at the ceiling passes",
        ),
        pytest.param(
            *("latency", [30.0, 50.0], 35.0, FAIL),
            "latency is 40.0 ms, above the ceiling of 35.0 ms" + NOISE.format("2.7 to 50.0 ms"),
            id="lower is better: above the ceiling",
        ),
        pytest.param(
            *("latency", [35.04], 35.0, FAIL),
            "latency is 35.04 ms, above the ceiling of 35.00 ms" + TOO_FEW,
            id="lower is better: just above",
        ),
        pytest.param(
            *("latency(quantile=0.9)", [float(ms) for ms in range(1, 11)], 9.0, PASS),
            "latency(quantile=0.9) is 9.0 ms, exactly at the ceiling of 9.0 ms",
            id="a quantile: nine of ten within nine milliseconds",
        ),
    ],
)
def test_a_floor(metric: str, values: list[float | None], limit: float, verdict: Verdict, reason: str) -> None:
    result = decide(gate(metric, floor=limit), scores(values, metric), None)
    assert judged(result) == (verdict, [reason])
    assert result.evidence.evidence_state is said(sentences(result)[0])


@pytest.mark.parametrize(
    ("metric", "before", "now", "allowed", "verdict", "reason"),
    [
        pytest.param(
            *("recall@5", [0.5, 0.7], [0.5, 0.7], 0.03, PASS),
            "recall@5 stayed at 60.0% (±0.0 pp; allowed drop: 3.0 pp)",
            id="unchanged",
        ),
        pytest.param(
            *("recall@5", [0.9], [0.88], 0.03, PASS),
            "recall@5 dropped from 90.0% to 88.0% (−2.0 pp; allowed drop: 3.0 pp)",
            id="a drop within what is allowed",
        ),
        pytest.param(
            *("recall@5", [0.78], [0.75], 0.03, PASS),
            "recall@5 dropped from 78.0% to 75.0% (−3.0 pp; allowed drop: 3.0 pp)",
            id="exactly what is allowed: 0.78 - 0.75 is not above 0.03",
        ),
        pytest.param(
            *("recall@5", [0.78], [0.749], 0.03, FAIL),
            "recall@5 dropped from 78.0% to 74.9% (−3.1 pp; allowed drop: 3.0 pp)" + TOO_FEW,
            id="more than is allowed",
        ),
        pytest.param(
            *("recall@5", [0.78], [0.7499], 0.03, FAIL),
            "recall@5 dropped from 78.00% to 74.99% (−3.01 pp; allowed drop: 3.00 pp)" + TOO_FEW,
            id="a shade more than is allowed: rounding does not hide it",
        ),
        pytest.param(
            *("recall@5", [0.78], [0.75 - 2e-9], 0.03, FAIL),
            "recall@5 dropped from 78.0000000% to 74.9999998% (−3.0000002 pp; allowed drop: 3.0000000 pp)" + TOO_FEW,
            id="more by more than the tolerance of 1e-9",
        ),
        pytest.param(
            *("recall@5", [0.1, 0.2, 0.3], [0.3, 0.2, 0.1], 0.03, PASS),
            "recall@5 stayed at 20.0% (±0.0 pp; allowed drop: 3.0 pp)",
            id="a loss and a win of the same size are no change, whatever binary fractions say",
        ),
        pytest.param(
            *("mrr", [1.0, 0.5], [0.5, 0.5], 0.05, FAIL),
            "mrr dropped from 0.750 to 0.500 (−0.250; allowed drop: 0.050)" + NOISE.format("−0.958 to +0.910"),
            id="a score",
        ),
        pytest.param(
            *("latency", [30.0, 40.0], [40.0, 50.0], 5.0, FAIL),
            "latency rose from 35.0 ms to 45.0 ms (+10.0 ms; allowed rise: 5.0 ms)" + NOISE.format("−8.4 to +10.0 ms"),
            id="lower is better: a rise of more than is allowed",
        ),
        pytest.param(
            *("latency", [30.0, 40.0], [35.0, 45.0], 5.0, PASS),
            "latency rose from 35.0 ms to 40.0 ms (+5.0 ms; allowed rise: 5.0 ms)",
            id="lower is better: exactly what is allowed",
        ),
        pytest.param(
            *("latency(quantile=0.5)", [1.0, 2.0, 9.0], [1.0, 3.0, 4.0], 0.5, FAIL),
            "latency(quantile=0.5) rose from 2.0 ms to 3.0 ms (+1.0 ms; allowed rise: 0.5 ms)" + TOO_FEW,
            id="a quantile is compared as a quantile: the median rose though the mean fell",
        ),
    ],
)
def test_a_drop(metric: str, before: Column, now: Column, allowed: float, verdict: Verdict, reason: str) -> None:
    result = decide(gate(metric, drop=allowed), scores(now, metric), scores(before, metric))
    assert judged(result) == (verdict, [reason])
    assert result.evidence.evidence_state is said(sentences(result)[0])


@pytest.mark.parametrize(
    ("metric", "before", "now", "allowed", "verdict"),
    [
        pytest.param("recall@5", 0.5, 0.9, 0.0, PASS, id="a rise is no drop"),
        pytest.param("recall@5", 0.5, 0.499, 0.0, FAIL, id="no drop allowed: any drop"),
        pytest.param("recall@5", 0.5, 0.5, 0.0, PASS, id="no drop allowed: unchanged"),
        pytest.param("latency", 50.0, 10.0, 0.0, PASS, id="lower is better: a fall is no rise"),
        pytest.param("latency", 50.0, 50.1, 0.0, FAIL, id="lower is better: any rise"),
    ],
)
def test_a_change_for_the_better_never_violates(
    metric: str, before: float, now: float, allowed: float, verdict: Verdict
) -> None:
    assert decide(gate(metric, drop=allowed), scores([now], metric), scores([before], metric)).verdict is verdict


def test_a_drop_is_named_before_the_floor_since_it_says_more() -> None:
    result = decide(gate(floor=0.85, drop=0.03), scores([1.0, 0.6]), scores([1.0, 0.8]))
    assert judged(result) == (
        FAIL,
        [
            "recall@5 dropped from 90.0% to 80.0% (−10.0 pp; allowed drop: 3.0 pp)" + NOISE.format("−92.9 to +91.2 pp"),
            "recall@5 is 80.0%, below the floor of 85.0%" + NOISE.format("5.3 to 100.0%"),
        ],
    )


def test_a_passed_gate_gives_the_reasons_why() -> None:
    result = decide(gate(floor=0.75, drop=0.03), scores([1.0, 0.6]), scores([1.0, 0.62]))
    assert judged(result) == (
        PASS,
        [
            "recall@5 dropped from 81.0% to 80.0% (−1.0 pp; allowed drop: 3.0 pp)",
            "recall@5 is 80.0%, above the floor of 75.0%",
        ],
    )


def test_only_what_is_wrong_is_said_of_a_failed_gate() -> None:
    result = decide(gate(floor=0.75, drop=0.03), scores([1.0, 0.6]), scores([1.0, 0.8]))
    assert judged(result) == (
        FAIL,
        ["recall@5 dropped from 90.0% to 80.0% (−10.0 pp; allowed drop: 3.0 pp)" + NOISE.format("−92.9 to +91.2 pp")],
    )


@pytest.mark.parametrize(
    ("severity", "floor", "verdict"),
    [
        pytest.param("error", 0.9, FAIL, id="error violated blocks"),
        pytest.param("warning", 0.9, WARN, id="warning violated only warns"),
        pytest.param("error", 0.5, PASS, id="error held"),
        pytest.param("warning", 0.5, PASS, id="warning held"),
    ],
)
def test_severity_decides_what_a_violation_does(severity: Severity, floor: float, verdict: Verdict) -> None:
    result = decide(gate(floor=floor, severity=severity), scores([0.8]), None)
    assert (result.verdict, result.severity) == (verdict, severity)


@pytest.mark.parametrize(
    ("floor", "drop", "verdict", "reasons", "state"),
    [
        pytest.param(
            *(None, 0.03, WARN),
            ["no baseline: whether recall@5 got worse could not be checked"],
            "no_baseline",
            id="a drop cannot be judged",
        ),
        pytest.param(
            *(0.75, None, PASS), ["recall@5 is 80.0%, above the floor of 75.0%"], "clear", id="a floor alone needs none"
        ),
        pytest.param(
            *(0.75, 0.03, WARN),
            ["no baseline: whether recall@5 got worse could not be checked"],
            "no_baseline",
            id="the floor holds, the drop cannot be judged",
        ),
        pytest.param(
            *(0.85, 0.03, FAIL),
            [
                "recall@5 is 80.0%, below the floor of 85.0%" + NOISE.format("5.3 to 100.0%"),
                "no baseline: whether recall@5 got worse could not be checked",
            ],
            "no_baseline",
            id="the floor does not hold: that comes first",
        ),
    ],
)
def test_no_baseline_is_a_state_of_its_own(
    floor: float | None, drop: float | None, verdict: Verdict, reasons: list[str], state: str
) -> None:
    result = decide(gate(floor=floor, drop=drop), scores([1.0, 0.6]), None)
    assert judged(result) == (verdict, reasons)
    assert result.decision.doubts == sum(reason.startswith("no baseline") for reason in reasons), (
        "the last ones, which warn"
    )
    assert result.evidence.evidence_state.value == state
    assert (
        result.change.baseline,
        result.change.paired_value,
        result.change.delta,
        result.change.delta_ci,
        result.change.n_pairs,
    ) == (None,) * 4 + (0,)


@pytest.mark.parametrize(
    ("floor", "drop", "baseline"),
    [
        pytest.param(0.0, None, None, id="a floor, even of zero"),
        pytest.param(None, 1.0, None, id="a drop without a baseline"),
        pytest.param(0.0, 1.0, scores([1.0, 1.0, 1.0]), id="a drop with a baseline"),
    ],
)
def test_a_metric_that_is_undefined_everywhere_is_not_judged(
    floor: float | None, drop: float | None, baseline: Scores | None
) -> None:
    result = decide(gate(floor=floor, drop=drop), scores([None, None, None]), baseline)
    assert result.verdict is NOT_JUDGED
    assert sentences(result)[0] == "recall@5 is defined for none of the 3 questions"
    assert (result.measured.value, result.measured.ci, result.measured.n) == (None, None, 0)


@pytest.mark.parametrize(
    ("before", "missing"),
    [
        pytest.param([0.0, 0.0, None], {0, 1, 2}, id="it has no question of the gold"),
        pytest.param([0.0, 0.0, 1.0], {0, 1}, id="it has only a question that is undefined now"),
        pytest.param([None, None, 1.0], set(), id="it is defined only where the candidate is not"),
    ],
)
def test_a_baseline_without_a_common_query_is_not_judged(before: Column, missing: set[int]) -> None:
    result = decide(gate(floor=0.95, drop=0.03), scores([1.0, 0.8, None]), scores(before, missing=missing))
    assert result.verdict is NOT_JUDGED
    assert sentences(result)[:2] == [
        "the baseline has recall@5 for none of the questions that are scored now; accept a run that has it",
        "recall@5 is 90.0%, below the floor of 95.0%" + NOISE.format("7.1 to 100.0%"),
    ]
    assert (result.measured.value, result.change.baseline, result.change.delta, result.change.n_pairs) == (
        0.9,
        None,
        None,
        0,
    )


def test_a_baseline_without_latencies_warns_since_not_every_run_states_them() -> None:
    result = decide(gate("latency", drop=5.0), scores([30.0, 40.0], "latency"), scores([None, None], "latency"))
    why = "the baseline has latency for none of the questions that are scored now; accept a run that has it"
    assert judged(result) == (WARN, [why])
    assert result.evidence.evidence_state is EvidenceState.NO_BASELINE


@pytest.mark.parametrize(
    ("now", "before", "floor", "drop"),
    [
        pytest.param([math.nan], None, 0.0, None, id="alone, against a floor of nothing"),
        pytest.param([1.0, math.nan, 1.0], None, 0.5, None, id="among numbers, against a floor"),
        pytest.param([1.0, math.nan], [1.0, 1.0], None, 1.0, id="against a baseline"),
        pytest.param([1.0, 1.0], [math.nan, 1.0], None, 1.0, id="in the baseline"),
        pytest.param([1.0, math.inf], [1.0, 1.0], 0.5, 1.0, id="infinite is no number either"),
    ],
)
def test_nan_never_passes(now: Column, before: Column | None, floor: float | None, drop: float | None) -> None:
    """It is a decision with a reason, at any severity, and no crash that blames rankgate."""
    verdicts: list[Verdict] = []
    for severity in SEVERITIES:
        judge = gate(floor=floor, drop=drop, severity=severity)
        result = decide(judge, scores(now), scores(before) if before else None)
        verdicts.append(result.verdict)
        assert "recall@5" in sentences(result)[0]
        assert not result.evidence.only_inconclusive
    assert verdicts == [NOT_JUDGED, WARN]


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        pytest.param("latency(quantile=0.9)", [1.0, math.nan, 3.0], id="NaN has no rank"),
        pytest.param("recall@5", [math.inf, -math.inf], id="infinities that cancel"),
        pytest.param("latency", [1e308, 1e308], id="a sum that overflows"),
    ],
)
def test_values_that_cannot_be_summed_up_are_not_judged(metric: str, values: list[float | None]) -> None:
    """As a faulty metric of a package could return them."""
    assert decide(gate(metric, floor=1.0), scores(values, metric), None).verdict is NOT_JUDGED


def test_queries_that_are_new_since_the_baseline_are_not_compared() -> None:
    """The third query joined the gold later: it counts in the value and the floor, not in the change."""
    result = decide(gate(floor=0.6, drop=0.0), scores([1.0, 1.0, 0.1]), scores([1.0, 1.0, 0.0], missing={2}))
    assert judged(result) == (
        PASS,
        [
            "recall@5 stayed at 100.0% on the 2 questions of both runs (±0.0 pp; no drop allowed)",
            "recall@5 is 70.0%, above the floor of 60.0%",
        ],
    )
    assert result.measured.value == pytest.approx(0.7)
    assert result.measured.n == 3
    assert (result.change.paired_value, result.change.baseline, result.change.delta, result.change.n_pairs) == (
        1.0,
        1.0,
        0.0,
        2,
    )


def test_one_common_query_is_named_as_one() -> None:
    result = decide(gate(drop=0.03), scores([0.5, 1.0]), scores([1.0, 0.0], missing={1}))
    dropped = "recall@5 dropped from 100.0% to 50.0% on the 1 question of both runs (−50.0 pp; allowed drop: 3.0 pp)"
    assert sentences(result) == [dropped + TOO_FEW]


def test_queries_that_the_candidate_lacks_count_as_worst_in_the_pairs() -> None:
    """`score` gave the absent query the worst value, 0: leaving the hard queries out cannot pass."""
    result = decide(gate(drop=0.03), scores([1.0, 0.0], missing={1}), scores([1.0, 1.0]))
    assert judged(result) == (
        FAIL,
        ["recall@5 dropped from 100.0% to 50.0% (−50.0 pp; allowed drop: 3.0 pp)" + NOISE.format("−100.0 to +91.6 pp")],
    )
    assert result.change.n_pairs == 2


def many(count: int, holes: Collection[int] = ()) -> list[float | None]:
    return [None if position in holes else 30.0 for position in range(count)]


@pytest.mark.parametrize(
    ("now", "before", "absent", "new", "verdict", "reasons"),
    [
        pytest.param(many(100), many(100), (), (), PASS, None, id="every query on both sides"),
        pytest.param(many(100, {3}), many(100), (), (), PASS, None, id="1 % on one side only is not more than 1 %"),
        pytest.param(
            *(many(100, {3, 4}), many(100), (), (), WARN),
            ["2 questions have latency in only one of the two runs"],
            id="2 % undefined in the candidate only",
        ),
        pytest.param(
            *(many(100), many(100, {3, 4}), (), (), WARN),
            ["2 questions have latency in only one of the two runs"],
            id="2 % undefined in the baseline only",
        ),
        pytest.param(
            *(many(100, {3}), many(100, {4}), (), (), WARN),
            ["2 questions have latency in only one of the two runs"],
            id="both sides are counted together",
        ),
        pytest.param(
            *(many(50, {3}), many(50), (), (), WARN),
            ["1 question has latency in only one of the two runs"],
            id="1 of 50 is more than 1 %",
        ),
        pytest.param(many(50, {3, 4}), many(50, {3, 4}), (), (), PASS, None, id="undefined on both sides is no matter"),
        pytest.param(many(50), many(50, {3, 4}), (), {3, 4}, PASS, None, id="new queries are no matter"),
        pytest.param(
            *(many(200, {3}), many(200), {3}, (), WARN),
            ["1 question is absent from the run and not counted in latency"],
            id="an absent query has no worst latency",
        ),
        pytest.param(
            *(many(200, {3, 4}), many(200), {3, 4}, (), WARN),
            ["2 questions are absent from the run and not counted in latency"],
            id="absent queries have no worst latency",
        ),
    ],
)
def test_queries_on_one_side_only_are_a_reason_to_look_twice(
    now: Column,
    before: Column,
    absent: Collection[int],
    new: Collection[int],
    verdict: Verdict,
    reasons: list[str] | None,
) -> None:
    candidate, baseline = scores(now, "latency", missing=absent), scores(before, "latency", missing=new)
    result = decide(gate("latency", floor=50.0, drop=5.0), candidate, baseline)
    assert result.verdict is verdict
    if reasons is not None:
        assert sentences(result) == reasons


def test_a_doubt_stands_behind_a_violation() -> None:
    result = decide(gate("latency", floor=10.0), scores(many(5, {3}), "latency", missing={3}), None)
    assert judged(result) == (
        FAIL,
        [
            "latency is 30.0 ms, above the ceiling of 10.0 ms, with too few questions to tell it from noise",
            "1 question is absent from the run and not counted in latency",
        ],
    )


@each_row(
    ("judged_gate", "now", "before", "violation"),
    [
        pytest.param(gate(floor=0.8), [1.0, 0.0], None, 0.3, id="so far below the floor"),
        pytest.param(gate(floor=0.5), [1.0, 0.0], None, None, id="on the floor"),
        pytest.param(gate(drop=0.1), [1.0, 0.0], [1.0, 1.0], 0.4, id="so much more than the drop allowed"),
        pytest.param(gate(drop=0.5), [1.0, 0.0], [1.0, 1.0], None, id="the drop allowed"),
        pytest.param(gate(floor=0.6, drop=0.1), [1.0, 0.0], [1.0, 1.0], 0.4, id="the larger of both: the drop"),
        pytest.param(gate(floor=1.0, drop=0.1), [1.0, 0.0], [1.0, 1.0], 0.5, id="the larger of both: the floor"),
        pytest.param(gate(floor=0.2, drop=0.1), [1.0, 0.0], [1.0, 1.0], 0.4, id="only what is violated counts"),
        pytest.param(gate(floor=0.8, severity="warning"), [1.0, 0.0], None, 0.3, id="also where it only warns"),
        pytest.param(gate(drop=0.1), [1.0, 0.0], None, None, id="nothing to compare with"),
        pytest.param(gate(floor=0.5), [math.nan, 1.0], None, None, id="not judged"),
        pytest.param(
            gate(floor=0.5).model_copy(update={"evidence": Evidence.PROVEN_SAFE}),
            [1.0, 0.0, 1.0],
            None,
            0.0,
            id="above the floor and not proven to be",
        ),
        pytest.param(
            gate(floor=0.8).model_copy(update={"evidence": Evidence.PROVEN_HARM}),
            [1.0, 0.0, 1.0],
            None,
            None,
            id="below the floor within noise, where harm has to be proven",
        ),
    ],
)
def test_how_far_a_gate_is_violated(
    judged_gate: Gate, now: Column, before: Column | None, violation: float | None
) -> None:
    found = decide(judged_gate, scores(now), scores(before) if before else None)
    assert found.decision.violation == (None if violation is None else pytest.approx(violation))


@pytest.mark.parametrize(
    ("ceiling", "violation"),
    [pytest.param(60, 30, id="the rise is the larger"), pytest.param(45, 35, id="the ceiling is")],
)
def test_where_lower_is_better_a_ceiling_and_a_rise_are_violated(ceiling: float, violation: float) -> None:
    slow = gate("latency", floor=ceiling, drop=10)
    now, before = ([value] * 9 for value in (80.0, 40.0))
    assert decide(slow, scores(now, "latency"), scores(before, "latency")).decision.violation == violation


def test_the_result_carries_all_that_a_renderer_needs() -> None:
    result = decide(gate(floor=0.5, drop=0.1), scores([1.0, 0.5, None]), scores([1.0, 1.0, None]))
    bare = changed(result, reasons=[], ci=None, delta_ci=None, detectable=None)
    assert bare == gate_result(
        name="the gate of recall@5",
        metric="recall@5",
        meaning="share of the relevant documents found in the first 5 results",
        unit=Unit.SHARE,
        direction=Direction.HIGHER,
        segment=None,
        severity="error",
        value=0.75,
        ci=None,
        threshold=0.5,
        baseline=1.0,
        paired_value=0.75,
        delta=-0.25,
        delta_ci=None,
        regression_max=0.1,
        violation=0.25 - 0.1,
        evidence_state=EvidenceState.INCONCLUSIVE,
        verdict=FAIL,
        reasons=[],
        n=2,
        n_pairs=2,
        line=4,
    )


def test_intervals_stand_around_value_and_change() -> None:
    now, before = [1.0] * 20 + [0.0] * 20, [1.0] * 30 + [0.0] * 10
    result = decide(gate(floor=0.5, drop=0.3), scores(now), scores(before))
    assert result.measured.ci is not None
    assert result.change.delta_ci is not None
    for (low, high), middle in (
        (result.measured.ci, result.measured.value),
        (result.change.delta_ci, result.change.delta),
    ):
        assert low is not None
        assert high is not None
        assert middle is not None
        assert low < middle < high


shares = st.integers(0, 16).map(
    lambda sixteenths: sixteenths / 16
)  # exact in binary, so that a limit can be met exactly
columns = st.lists(st.tuples(st.none() | shares, st.none() | shares, st.booleans()), min_size=1, max_size=12)
limits = st.tuples(st.none() | shares, st.none() | shares).filter(lambda pair: pair != (None, None))
severities = st.sampled_from(SEVERITIES)
RANK = SEVERITY_ORDER.index


def pair_of(rows: list[tuple[float | None, float | None, bool]], metric: str = "recall@5") -> tuple[Scores, Scores]:
    new = {position for position, row in enumerate(rows) if row[2]}
    return scores([row[0] for row in rows], metric), scores([row[1] for row in rows], metric, missing=new)


@pytest.mark.full
@given(columns, limits, severities, st.data())
def test_a_better_value_never_worsens_the_verdict(
    rows: list[tuple[float | None, float | None, bool]],
    limit: tuple[float | None, float | None],
    severity: Severity,
    data: st.DataObject,
) -> None:
    """Raising any query of the candidate where higher is better, lowering any where lower is better."""
    position = data.draw(st.integers(0, len(rows) - 1))
    other = data.draw(shares)
    for metric, better in (("recall@5", max), ("latency", min)):
        candidate, baseline = pair_of(rows, metric)
        judge = gate(metric, floor=limit[0], drop=limit[1], severity=severity)
        before = decide(judge, candidate, baseline).verdict
        value = candidate.values[metric][position]
        if value is not None:
            column = [*candidate.values[metric]]
            column[position] = better(value, other)
            changed = msgspec.structs.replace(candidate, values={**candidate.values, metric: column})
            assert RANK(decide(judge, changed, baseline).verdict) <= RANK(before)


@pytest.mark.full
@pytest.mark.parametrize("metric", ["latency", "entity_f1", "faithfulness"])
@given(st.sampled_from(Evidence), columns, shares, st.lists(shares, min_size=12, max_size=12))
def test_what_the_baseline_has_no_value_for_saves_no_drop(
    metric: str, evidence: Evidence, rows: list[tuple[float | None, float | None, bool]], drop: float, more: list[float]
) -> None:
    """Whoever answers what the baseline refused, well or not, makes no drop on the others milder."""
    judge = gate(metric, drop=drop).model_copy(update={"evidence": evidence})
    _, baseline = pair_of(rows, metric)
    few, many = (
        [add if row[1] is None else row[0] for row, add in zip(rows, adds, strict=False)]
        for adds in ([None] * len(rows), more)
    )
    lenient, strict = (decide(judge, scores(each, metric), baseline) for each in (few, many))
    assume(lenient.change.n_pairs)
    assert RANK(strict.verdict) >= RANK(lenient.verdict)
    # Unproven safety violates by nothing; an answer can be the worst observed value, and so what leaves it unproven.
    assert (strict.decision.violation or 0.0, strict.change.delta) == (
        lenient.decision.violation or 0.0,
        lenient.change.delta,
    )
    assert lenient.decision.violation is None or strict.decision.violation is not None


@pytest.mark.full
@given(columns, limits, severities)
def test_the_decision_is_pure(
    rows: list[tuple[float | None, float | None, bool]], limit: tuple[float | None, float | None], severity: Severity
) -> None:
    candidate, baseline = pair_of(rows)
    judge = gate(floor=limit[0], drop=limit[1], severity=severity)
    first = decide(judge, candidate, baseline)
    assert (candidate, baseline) == pair_of(rows)
    assert decide(judge, candidate, baseline) == first


@pytest.mark.full
@given(columns, limits)
def test_value_minus_baseline_is_the_change_on_the_pairs(
    rows: list[tuple[float | None, float | None, bool]], limit: tuple[float | None, float | None]
) -> None:
    candidate, baseline = pair_of(rows)
    result = decide(gate(floor=limit[0], drop=limit[1]), candidate, baseline)
    pairs = [(now, before) for now, before, new in rows if now is not None and before is not None and not new]
    assert result.change.n_pairs == len(pairs)
    if pairs:
        assert result.change.paired_value is not None
        assert result.change.baseline is not None
        assert result.change.delta == result.change.paired_value - result.change.baseline
        assert result.change.paired_value == pytest.approx(sum(now for now, _ in pairs) / len(pairs))
        assert result.change.baseline == pytest.approx(sum(before for _, before in pairs) / len(pairs))
    else:
        assert (result.change.paired_value, result.change.baseline, result.change.delta) == (None, None, None)


@pytest.mark.full
@given(columns, limits, severities)
def test_the_verdict_is_that_of_exact_arithmetic(
    rows: list[tuple[float | None, float | None, bool]], limit: tuple[float | None, float | None], severity: Severity
) -> None:
    """The slow oracle: the same rules in fractions, without a tolerance."""
    floor, drop = (None if value is None else Fraction(value) for value in limit)
    own = [Fraction(now) for now, _, _ in rows if now is not None]
    pairs = [
        (Fraction(now), Fraction(old)) for now, old, new in rows if now is not None and old is not None and not new
    ]
    fell = Fraction(sum(old - now for now, old in pairs), len(pairs)) if pairs else None
    baselines = [old for _, old, new in rows if old is not None and not new]
    lonely = sum((now is None) != (old is None) for now, old, new in rows if not new)
    if not own or (drop is not None and not pairs):
        expected = NOT_JUDGED if severity == "error" else WARN
    elif (drop is not None and fell is not None and fell > drop) or (
        floor is not None and Fraction(sum(own), len(own)) < floor
    ):
        expected = FAIL if severity == "error" else WARN
    else:
        expected = WARN if drop is not None and baselines and 100 * lonely > len(rows) else PASS
    candidate, baseline = pair_of(rows)
    judge = gate(floor=limit[0], drop=limit[1], severity=severity)
    assert decide(judge, candidate, baseline).verdict is expected


@pytest.mark.parametrize("severity", SEVERITIES)
def test_drift_without_a_baseline_warns_and_never_passes(severity: Severity) -> None:
    result = decide(gate("overlap@5", floor=0.5, severity=severity), scores([None, None], "overlap@5"), None)
    assert judged(result) == (WARN, ["no baseline: overlap@5 compares with it"])
    assert result.evidence.evidence_state is EvidenceState.NO_BASELINE


def test_a_baseline_that_was_stored_without_texts_is_not_one_without_answers() -> None:
    before = msgspec.structs.replace(scores([0.0, 0.0], "containment@5"), unstated={RunField.TEXTS: "q0"})
    result = decide(gate("containment@5", floor=0.5, drop=0.1), scores([1.0, 0.5], "containment@5"), before)
    assert judged(result) == (WARN, ["the baseline states no `text`, which containment@5 reads; accept its run again"])
    assert (result.evidence.evidence_state, result.change.baseline) == (EvidenceState.NO_BASELINE, None)


def test_drift_is_judged_by_its_floor_alone() -> None:
    drifted = scores([1.0, 0.2], "overlap@5")
    result = decide(gate("overlap@5", floor=0.7), drifted, scores([None, None], "overlap@5"))
    assert judged(result) == (FAIL, ["overlap@5 is 60.0%, below the floor of 70.0%" + NOISE.format("1.3 to 100.0%")])
    assert (result.evidence.evidence_state, result.change.baseline) == (EvidenceState.INCONCLUSIVE, None)


def test_a_query_of_one_run_only_raises_no_doubt_where_nothing_is_compared() -> None:
    result = decide(
        gate("redundancy@5", floor=0.5), scores([0.1, 0.2], "redundancy@5"), scores([0.1, None], "redundancy@5")
    )
    assert result.verdict is PASS


@pytest.mark.parametrize(("old", "counted"), [(1.0, 1), (None, 0)], ids=["the baseline has it", "neither has it"])
def test_a_missing_value_counts_against_a_drop_where_the_baseline_has_it(old: float | None, counted: int) -> None:
    now, before = (scores([1.0] * 39 + [last], "latency") for last in (None, old))
    now = msgspec.structs.replace(now, givers={"latency": {"q39": None}})
    (reason,) = decide(gate("latency", drop=5.0), now, before).decision.reasons
    assert (reason.kind, reason.count) == (ReasonKind.REGRESSION, counted)


def test_a_missing_time_counts_as_the_slowest_of_a_drop() -> None:
    """99 answers are slower by 1.0 ms in the mean, and by 2.0 where the hundredth took 200 ms as well."""
    now = scores([200.0, *[100.0] * 98, None], "latency")
    now = msgspec.structs.replace(now, givers={"latency": {"q99": None}})
    result = decide(gate("latency", drop=1.5), now, scores([100.0] * 100, "latency"))
    (reason,) = result.decision.reasons
    assert (result.verdict, reason.at_worst) == (WARN, 2.0)
