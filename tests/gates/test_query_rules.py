"""Queries that must pass and queries that may be lost: checks without statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from msgspec.structs import replace
from tests.gate_rows import scores_of
from tests.gates.deciding import decide
from tests.gates.test_decide import gate

from rankgate.criteria import Gate
from rankgate.errors import RankgateError
from rankgate.gates.segments import refuse_unknown, with_hard_checks
from rankgate.metrics.names import parse_metric
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import sentences
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, ReasonKind, Sample, Verdict

PASS, WARN, FAIL = Verdict.PASS, Verdict.WARN, Verdict.FAIL
GOLD = Gold(
    samples={
        "q0": Sample(query_id="q0", gains={"a": 1.0}, tags=("critical",)),
        "q1": Sample(query_id="q1", gains={"a": 1.0}, tags=("topic:law",)),
        "q2": Sample(query_id="q2", gains={"a": 1.0}, tags=("topic:law",)),
        "q3": Sample(query_id="q3", gains={"a": 1.0}),
    },
    name="gold.yaml",
    format="yaml",
)


def scores(values: Sequence[float | None]) -> Scores:
    return scores_of(GOLD.samples, {"recall@5": values})


def judged(
    now: Sequence[float | None],
    before: Sequence[float | None] | None = None,
    *,
    must: tuple[str, ...] = (),
    most: int | None = None,
    floor: float | None = 0.0,
    severity: Literal["error", "warning"] = "error",
) -> GateResult:
    gate = Gate(
        name="the gate",
        metric=parse_metric("recall@5"),
        threshold=floor,
        regression_max=None,
        severity=severity,
        must_pass=must,
        max_lost_queries=most,
        line=2,
    )
    candidate, baseline = scores(now), None if before is None else scores(before)
    return with_hard_checks(decide(gate, candidate, baseline), gate, GOLD, candidate, baseline)


@pytest.mark.parametrize(
    ("must", "now", "failed"),
    [
        pytest.param(("q0",), [1.0, 0.0, 0.0, 0.0], [], id="it passes, others fail"),
        pytest.param(("q0",), [0.0, 1.0, 1.0, 1.0], ["q0"], id="it fails"),
        pytest.param(("q0",), [0.5, 1.0, 1.0, 1.0], [], id="half is not nothing"),
        pytest.param(("topic:law",), [0.0, 0.0, 1.0, 0.0], ["q1"], id="by a tag with a value"),
        pytest.param(("critical", "topic:law"), [0.0, 0.0, 0.0, 0.0], ["q0", "q1", "q2"], id="by several tags"),
        pytest.param(("q3", "critical"), [0.0, 1.0, 1.0, 0.0], ["q0", "q3"], id="by id and tag"),
    ],
)
def test_must_pass(must: tuple[str, ...], now: list[float | None], failed: list[str]) -> None:
    result = judged(now, must=must)
    assert (result.verdict, result.decision.queries) == (FAIL if failed else PASS, failed)
    if failed:
        count = "1 must-pass question fails" if len(failed) == 1 else f"{len(failed)} must-pass questions fail"
        assert sentences(result) == [f"{count}: recall@5 is at its worst there"]


@pytest.mark.parametrize(
    ("most", "now", "before", "lost"),
    [
        pytest.param(0, [0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], ["q0"], id="one, and none may be"),
        pytest.param(1, [0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [], id="as many as may be"),
        pytest.param(1, [0.0, 0.0, 1.0, 1.0], [0.5, 1.0, 1.0, 1.0], ["q0", "q1"], id="one too many"),
        pytest.param(0, [0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [], id="it was lost before"),
        pytest.param(0, [0.5, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [], id="worse is not lost"),
        pytest.param(0, [0.0, 1.0, 1.0, 1.0], [None, 1.0, 1.0, 1.0], [], id="undefined before"),
    ],
)
def test_max_lost_queries(most: int, now: list[float | None], before: list[float | None], lost: list[str]) -> None:
    result = judged(now, before, most=most)
    count = "1 question was" if len(lost) == 1 else f"{len(lost)} questions were"
    said = f"{count} lost in recall@5; at most {most} allowed"
    assert result.verdict is (FAIL if lost else PASS)
    assert (sentences(result) == [said]) is bool(lost)
    assert result.decision.queries == []
    assert result.decision.hard_check_failed is bool(lost)


def test_lost_queries_cannot_be_counted_without_a_baseline() -> None:
    result = judged([0.0, 1.0, 1.0, 1.0], most=0)
    assert (result.verdict, [each.kind for each in result.decision.reasons]) == (WARN, [ReasonKind.NO_BASELINE])
    other_questions = judged([0.0, 1.0, 1.0, 1.0], [None] * 4, most=0)
    kinds = [each.kind for each in other_questions.decision.reasons]
    assert (other_questions.verdict, kinds) == (Verdict.NOT_JUDGED, [ReasonKind.NOT_IN_BASELINE])


@pytest.mark.parametrize(
    ("metric", "before", "sample", "counts"),
    [
        pytest.param("faithfulness", 1.0, {}, True, id="the baseline answered"),
        pytest.param("faithfulness", None, {}, True, id="by the gold there is an answer"),
        pytest.param("faithfulness", 1.0, {"no_answer": True}, False, id="by the gold there is none"),
        pytest.param("unfaithful_rate", 0.0, {}, True, id="lower is better"),
        pytest.param("noise_sensitivity", 0.0, {}, True, id="undefined for the gold alone, the baseline has a value"),
        pytest.param("claim_recall", None, {}, False, id="the gold has no claims"),
        pytest.param("source_coverage", None, {"source": "kb"}, True, id="the run names no source, the gold does"),
        pytest.param("recall@5", None, {}, False, id="nothing relevant"),
        pytest.param("latency", 1.0, {}, False, id="no value is the worst"),
    ],
)
def test_a_question_without_a_value_is_no_better_than_a_wrong_answer(
    metric: str, before: float | None, sample: dict[str, Any], *, counts: bool
) -> None:
    """Such as an empty answer or a refusal."""
    gold = replace(GOLD, samples={**GOLD.samples, "q0": Sample(query_id="q0", gains={}, **sample)})
    limits = {"must_pass": ("q0",), "max_lost_queries": 0, "threshold": None}
    rules = gate(metric, floor=0.0).model_copy(update=limits)
    good = 1.0 - (parse_metric(metric).worst or 0.0)
    now, then = (
        replace(scores([value, *[good] * 3]), values={rules.metric.name: [value, *[good] * 3]})
        for value in (None, before)
    )
    result = with_hard_checks(decide(rules, now, then), rules, gold, now, then)
    must, lost = f"1 must-pass question fails: {metric} has no value there", f"1 question was lost in {metric}"
    expected = [*([must] if counts else []), *([lost] if counts and before is not None else [])]
    assert [each.partition(";")[0] for each in sentences(result)] == expected
    assert (result.verdict, result.decision.queries) == ((FAIL, ["q0"]) if counts else (PASS, []))


def test_without_a_limit_any_number_may_be_lost() -> None:
    assert judged([0.0] * 4, [1.0] * 4, must=()).verdict is PASS


def test_a_gate_that_fails_already_keeps_its_reasons() -> None:
    result = judged([0.0, 0.0, 1.0, 1.0], must=("q0",), floor=0.9)
    assert (result.verdict, len(result.decision.reasons), result.decision.queries) == (FAIL, 2, ["q0"])


def test_what_could_not_be_judged_stays_so() -> None:
    result = judged([None] * 4, must=("q0",))
    assert result.verdict is Verdict.NOT_JUDGED


def test_a_hard_check_stands_before_other_reasons_and_keeps_the_severity() -> None:
    result = judged([0.0, 0.0, 1.0, 1.0], [1.0] * 4, must=("q0",), most=1, floor=0.9, severity="warning")
    assert result.verdict is WARN
    assert [reason.partition(",")[0] for reason in sentences(result)] == [
        "1 must-pass question fails: recall@5 is at its worst there",
        "2 questions were lost in recall@5; at most 1 allowed",
        "recall@5 is 50.0%",
    ]
    assert result.decision.queries == ["q0"]
    assert not result.evidence.only_inconclusive


def test_what_must_pass_must_be_there() -> None:
    gate = Gate(
        name="the gate",
        metric=parse_metric("recall@5"),
        threshold=None,
        regression_max=None,
        must_pass=("q0", "topic:lw", "critical"),
        line=2,
    )
    with pytest.raises(RankgateError) as caught:
        refuse_unknown([gate], GOLD, "ship-criteria.yaml")
    assert str(caught.value) == (
        "ship-criteria.yaml:2: gate the gate: must_pass: 'topic:lw' is neither a query nor a tag of gold.yaml; "
        "did you mean 'topic:law'?"
    )


@pytest.mark.parametrize(
    ("metric", "refused"),
    [
        pytest.param("recall@5", ["'open'", "'kind:open'"], id="nothing is relevant"),
        pytest.param("false_evidence_rate", ["'q0'"], id="there is an answer"),
        pytest.param("claim_recall", ["'q0'", "'open'", "'kind:open'"], id="no claims"),
        pytest.param("faithfulness", [], id="known only with an answer"),
        pytest.param("distinct_docs@5", [], id="needs no judgments"),
    ],
)
def test_what_must_pass_can_have_a_value(metric: str, refused: list[str]) -> None:
    """A rule that checks nothing protects nobody, such as one of a question that has lost its answer since."""
    opened = Sample(query_id="open", gains={}, no_answer=True, tags=("kind:open", "topic:law"))
    gold = replace(GOLD, samples={**GOLD.samples, "open": opened})
    must = ("q0", "open", "kind:open")
    gate = Gate(name="g", metric=parse_metric(metric), threshold=None, regression_max=None, must_pass=must, line=2)
    if not refused:
        refuse_unknown([gate], gold, "c.yaml")
        return
    with pytest.raises(RankgateError) as caught:
        refuse_unknown([gate], gold, "c.yaml")
    words = f"can have no value of {metric} by gold.yaml; leave it out"
    assert str(caught.value).splitlines() == [f"c.yaml:2: gate g: must_pass: {each} {words}" for each in refused]
