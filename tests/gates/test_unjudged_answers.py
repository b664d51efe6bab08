"""Answers that a judge gave no verdict on: whoever writes an answer can make it one, so it never pays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gates.deciding import decide
from tests.gates.test_decide import gate, scores

from rankgate.criteria import SegmentRule
from rankgate.gates.segments import decide_segments, with_hard_checks
from rankgate.metrics.names import parse_metric
from rankgate.model.answers import UnjudgedKind
from rankgate.model.reasons import sentences
from rankgate.model.scores import KeptQueries, MatchedQuery, Scores
from rankgate.model.values import Details, Direction, Evidence, Generated, Gold, ReasonKind, Sample, Verdict
from rankgate.model.verdicts import NO_VERDICT, AnswerVerdicts, Unjudged

COUNT, MOST = 60, 0.05  # of 60 answers three may lack a verdict
ORDER = {Verdict.PASS: 0, Verdict.WARN: 1, Verdict.FAIL: 2, Verdict.NOT_JUDGED: 2}  # the last two stop the merge
METRICS = {"faithfulness": [0.0, 0.5, 0.75, 1.0, 1.0, 1.0], "answered_rate": [0.0, 1.0], "unfaithful_rate": [0.0, 1.0]}
Column = Sequence[float | None]


def with_gaps(values: Column, metric: str, unjudged: Collection[int]) -> Scores:
    """Scores of a run of which these answers have no verdict."""
    found = scores([None if row in unjudged else value for row, value in enumerate(values)], metric)
    return replace(found, givers={metric: {found.query_ids[row]: None for row in unjudged}})


class Case:
    """Two columns, a gate whose limits lie near what they say, and what lacks a verdict beside the first row."""

    def __init__(self, metric: str, evidence: Evidence, seed: int) -> None:
        random = Random(seed)  # noqa: S311
        values, self.metric = METRICS[metric], metric
        good = random.choice([0.3, 0.6, 0.9])
        best = max if parse_metric(metric).direction is Direction.HIGHER else min
        self.before = [best(values) if random.random() < good else random.choice(values) for _ in range(COUNT)]
        moved = random.choice([0.05, 0.2, 0.6])
        self.now = [random.choice(values) if random.random() < moved else value for value in self.before]
        self.others = set(random.sample(range(1, COUNT), random.choice([0, 0, 1, 2])))
        now, before = sum(self.now) / COUNT, sum(self.before) / COUNT
        near = random.choice([-0.02, -0.01, 0.0, 0.005, 0.01, 0.02, 0.05])
        floor = random.choice([None, min(1.0, max(0.0, now + near))])
        drop = random.choice([min(1.0, max(0.0, abs(now - before) + near)), 0.03])
        made = gate(metric, floor=floor, drop=drop)
        self.gate = made.model_copy(update={"max_unjudged": MOST, "evidence": evidence})

    def verdict(
        self, value: float | None, unjudged_before: Collection[int] = (), before: float | None = None
    ) -> Verdict:
        """With this verdict on the first answer, or none."""
        missing = {*self.others, *([0] if value is None else [])}
        old = self.before if before is None else [before, *self.before[1:]]
        now = with_gaps([value, *self.now[1:]], self.metric, missing)
        return decide(self.gate, now, with_gaps(old, self.metric, unjudged_before)).verdict


@pytest.mark.full
@pytest.mark.parametrize("metric", METRICS)
@given(evidence=st.sampled_from(Evidence), seed=st.integers(0, 10**6))
def test_no_answer_fares_better_unjudged_than_wrong(metric: str, evidence: Evidence, seed: int) -> None:
    """And where the gate fails with the verdict that it would get, it fails without one."""
    case, worst = Case(metric, evidence, seed), parse_metric(metric).worst
    without = ORDER[case.verdict(None)]
    assert without >= ORDER[case.verdict(worst)]
    assert without == ORDER[Verdict.FAIL] or case.verdict(case.now[0]) is not Verdict.FAIL


@pytest.mark.full
@pytest.mark.parametrize("metric", METRICS)
@given(evidence=st.sampled_from(Evidence), seed=st.integers(0, 10**6))
def test_a_gap_of_the_baseline_fails_nothing_that_could_pass(metric: str, evidence: Evidence, seed: int) -> None:
    case = Case(metric, evidence, seed)
    if case.verdict(case.now[0], unjudged_before=[0]) is Verdict.FAIL:
        assert {case.verdict(case.now[0], before=end) for end in (0.0, 1.0)} == {Verdict.FAIL}


@pytest.mark.parametrize(("before", "verdict"), [(1.0, Verdict.FAIL), (None, Verdict.WARN), (0.0, Verdict.PASS)])
def test_a_drop_that_rests_on_a_gap_of_the_baseline_is_in_doubt(before: float | None, verdict: Verdict) -> None:
    """Two of 60 answers are wrong now: a drop of 3.3 points or of 1.7, as the first was right before or not."""
    unjudged = [] if before is not None else [0]
    now = with_gaps([0.0, 0.0, *[1.0] * 58], "faithfulness", [])
    old = with_gaps([before or 0.0, *[1.0] * 59], "faithfulness", unjudged)
    limited = gate("faithfulness", drop=0.03).model_copy(update={"max_unjudged": MOST})
    assert decide(limited, now, old).verdict is verdict


LASTING, UNASKED = Unjudged(UnjudgedKind.LENGTH), NO_VERDICT


def with_details(found: Scores, why: Unjudged, *, answered: bool = True) -> Scores:
    """The same with what the judge said of the answers without a verdict."""
    said = AnswerVerdicts(query_id="", context=(), citations=(), no_answer=False, support=why)
    details = Details(generated=Generated(answer="Yes.") if answered else None, verdicts=(said,))
    query = MatchedQuery(query_id="", hits=(), found=(), ideal=(), retrieved=0, k=5, details=details)
    return replace(found, kept=KeptQueries(matched=dict.fromkeys(found.givers["faithfulness"], query)))


@pytest.mark.parametrize(
    ("why", "answered", "allowed", "severity", "verdict"),
    [
        pytest.param(UNASKED, True, False, "error", Verdict.NOT_JUDGED, id="nobody asked"),
        pytest.param(UNASKED, True, True, "error", Verdict.WARN, id="nobody asked, which is allowed"),
        pytest.param(LASTING, True, True, "error", Verdict.NOT_JUDGED, id="the answer cannot be judged"),
        pytest.param(UNASKED, False, True, "error", Verdict.NOT_JUDGED, id="there is no answer"),
        pytest.param(LASTING, True, False, "warning", Verdict.WARN, id="a gate that only warns"),
    ],
)
@pytest.mark.parametrize("segment", [False, True])
def test_more_than_allowed(
    why: Unjudged, severity: Any, verdict: Verdict, *, answered: bool, allowed: bool, segment: bool
) -> None:
    """`allow_unjudged` is for a provider that is down, and not for answers that nobody can judge."""
    limits = {"max_unjudged": MOST, "allow_unjudged": allowed, "must_pass": ("q0",)}
    judged = gate("faithfulness", floor=0.5, drop=0.03, severity=severity).model_copy(update=limits)
    now = with_details(with_gaps([1.0] * COUNT, "faithfulness", range(4)), why, answered=answered)
    samples = {each: Sample(query_id=each, gains={}, tags=("lang:en",)) for each in now.query_ids}
    gold = Gold(samples=samples, name="gold.jsonl", format="jsonl")
    if segment:
        ruled = judged.model_copy(update={"segments": (SegmentRule(by=("lang",), threshold=0.5),)})
        (result,) = decide_segments(ruled, gold, now, None)
    else:
        result = with_hard_checks(decide(judged, now, now), judged, gold, now, now)
    assert result.verdict is verdict
    assert result.decision.reasons[0].kind is ReasonKind.NO_VERDICT


@pytest.mark.parametrize(
    ("share", "unjudged", "verdict"),
    [
        *((0.0, 0, Verdict.PASS), (0.0, 1, Verdict.NOT_JUDGED)),
        *((0.01, 1, Verdict.PASS), (0.01, 2, Verdict.NOT_JUDGED)),
        *((0.05, 3, Verdict.PASS), (0.05, 4, Verdict.NOT_JUDGED)),
    ],
)
def test_how_many_may_lack_a_verdict(share: float, unjudged: int, verdict: Verdict) -> None:
    judged = gate("faithfulness", floor=0.5).model_copy(update={"max_unjudged": share})
    assert decide(judged, with_gaps([1.0] * COUNT, "faithfulness", range(unjudged)), None).verdict is verdict


def test_the_share_is_one_of_the_questions_that_the_metric_counts() -> None:
    judged = gate("claim_recall", floor=0.5)
    few: list[float | None] = [1.0] * COUNT + [None] * 1000  # most have no claims in the gold
    assert decide(judged, with_gaps(few, "claim_recall", range(2)), None).verdict is Verdict.NOT_JUDGED


def test_what_counts_as_wrong_is_said() -> None:
    judged = gate("faithfulness", floor=0.99)
    found = decide(judged, with_gaps([1.0] * COUNT, "faithfulness", [7]), None)
    assert found.verdict is Verdict.FAIL
    assert found.decision.violation == pytest.approx(0.99 - 59 / 60)
    (text,) = sentences(found)
    assert text == (
        "faithfulness is 100.0%, above the floor of 99.0%; "
        "1 answer could not be judged, which counts as wrong: so it is 98.3%"
    )


def test_a_segment_that_the_baseline_has_no_verdicts_on_does_not_pass() -> None:
    now = with_gaps([0.9] * COUNT, "faithfulness", [])
    gold = Gold(
        samples={each: Sample(query_id=each, gains={}, tags=("lang:en",)) for each in now.query_ids},
        name="gold.jsonl",
        format="jsonl",
    )
    rule = SegmentRule(by=("lang",), regression_max=0.03)
    judged = gate("faithfulness", drop=0.03).model_copy(update={"segments": (rule,)})
    before = with_gaps([1.0] * COUNT, "faithfulness", range(9))
    (result,) = decide_segments(judged, gold, now, before)
    assert result.verdict is Verdict.NOT_JUDGED
