"""What a gold set can see of the drop that a gate forbids, and how it is said."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import scores_of
from tests.gates.deciding import decide

from rankgate.criteria import Gate
from rankgate.gates.power import detectable, is_blind
from rankgate.gates.sights import Sight
from rankgate.metrics.evaluation import score
from rankgate.metrics.names import parse_metric
from rankgate.model.gate_result import Detectable, GateResult
from rankgate.model.scores import Scores
from rankgate.model.values import Evidence
from rankgate.readers.formats import read_gold
from rankgate.renderers.warnings import blind_text

HARM, SAFE, ESTIMATE = Evidence.PROVEN_HARM, Evidence.PROVEN_SAFE, Evidence.ESTIMATE


def gate(metric: str = "recall@5", drop: float | None = 0.03, evidence: Evidence = ESTIMATE, **known: Any) -> Gate:
    return Gate(
        **{"name": metric, "metric": parse_metric(metric), "threshold": None, "line": 1, **known},
        regression_max=drop,
        evidence=evidence,
    )


def seen(made: Gate, queries: int, differences: list[float] | None = None) -> Detectable:
    found = detectable(made, queries=queries, differences=differences or [])
    assert found is not None
    return found


ONE = 1 / 900  # what is appended, over 900 questions
PROOF = 1.5 * ONE + 1.96 * math.hypot(0.01, ONE)


# By hand, with a usual spread of 0.3: 900 questions have a standard error of one point.
def blind_spot(made: Gate, found: Detectable | None) -> str | None:
    return blind_text(Sight(made, found)) if found and is_blind(made, found) else None


@pytest.mark.parametrize(
    ("evidence", "drop", "caught", "sees"),
    [
        pytest.param(ESTIMATE, 0.03, 0.03 + 0.008416, True, id="estimate: the limit and 0.84 errors"),
        pytest.param(ESTIMATE, 0.0085, 0.0085 + 0.008416, True, id="estimate: just less than twice the limit"),
        pytest.param(ESTIMATE, 0.0084, 0.0084 + 0.008416, False, id="estimate: just more"),
        pytest.param(HARM, 0.03, 0.03 + 0.008416, True, id="harm: the limit, where it is beyond noise"),
        pytest.param(HARM, 0.01, PROOF + 0.008416, False, id="harm: noise, where that is beyond the limit"),
        pytest.param(SAFE, 0.0299, 0.0299 - PROOF + 0.008416, True, id="safe: just over the margin"),
        pytest.param(SAFE, 0.0296, 0.0296 - PROOF + 0.008416, False, id="safe: just under the margin"),
    ],
)
def test_what_is_caught_and_whether_the_limit_is_seen(
    evidence: Evidence,
    drop: float,
    caught: float,
    sees: bool,  # noqa: FBT001
) -> None:
    found = seen(gate("containment@5", drop=drop, evidence=evidence), 900)
    assert found.detectable == pytest.approx(caught)
    assert found.margin == pytest.approx(PROOF + 0.008416)
    assert (found.sees, found.assumed, found.spread, found.queries) == (sees, True, 0.3, 900)


def test_what_is_seen_follows_the_confidence_of_the_gate() -> None:
    for confidence, errors in ((0.9, 1.6449), (0.99, 2.5758)):
        found = seen(gate("containment@5", drop=0.0, evidence=HARM, confidence=confidence), 900)
        assert found.margin == pytest.approx(1.5 * ONE + errors * math.hypot(0.01, ONE) + 0.008416)
        assert found.detectable == found.margin
    needed = [seen(gate(confidence=confidence, evidence=HARM), 100).queries_needed for confidence in (0.9, 0.95, 0.99)]
    assert needed == [369, 456, 653]


@pytest.mark.parametrize(
    ("metric", "relevant", "spread"),
    [
        ("hit@5", 9.0, 0.43),
        ("mrr", 9.0, 0.37),
        ("ndcg(gain=binary)@10", 1.0, 0.23),
        ("map", 1.0, 0.23),
        ("precision@5", 1.0, 0.2),
        ("recall@5", 1.0, 0.43),
        ("recall@5", 2.0, 0.354),
        ("recall(rel=2)@5", 9.0, 0.167),
        ("capped_recall@5", 100.0, 0.1),
        ("false_evidence_rate", 1.0, 0.3),
    ],
)
def test_before_anything_is_compared_each_family_has_its_usual_spread(
    metric: str, relevant: float, spread: float
) -> None:
    found = detectable(gate(metric), queries=100, relevant=relevant)
    assert found is not None
    assert found.assumed
    assert found.spread == pytest.approx(spread, abs=5e-4)


COLLECTIONS = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.skipif(not COLLECTIONS.is_dir(), reason="the real collections are not here")
@pytest.mark.parametrize(
    ("collection", "other"),
    [
        ("cranfield", "bm25_nostem"),
        ("cranfield", "minilm"),
        ("cranfield", "bm25_trunc30"),
        ("cranfield", "bm25_minilm_rerank"),
        ("hotpotqa_sample", "minilm"),
        ("hotpotqa_sample", "bm25_trunc30"),
    ],
)
def test_usual_spreads_are_about_those_of_real_systems(collection: str, other: str) -> None:
    metrics = "hit@5,recall@5,recall@10,precision@5,mrr,map,ndcg@10"
    gold = read_gold(str(COLLECTIONS / collection / "gold.jsonl"))
    sides = [
        score(gold, str(COLLECTIONS / collection / "runs" / f"{run}.jsonl"), metrics=metrics) for run in ("bm25", other)
    ]
    relevant = sum(len(sample.relevant()) for sample in gold.samples.values()) / len(gold.samples)
    for name in sides[0].columns:
        changes = [a - b for a, b in zip(*(side.columns[name] for side in sides), strict=True) if None not in (a, b)]
        measured = seen(gate(name), len(changes), changes)
        planned = detectable(gate(name), queries=len(changes), relevant=relevant)
        assert planned is not None
        assert measured.assumed or 0.75 < planned.spread / measured.spread < 2.6


def test_the_spread_is_measured_where_enough_moved() -> None:
    nine, ten = ([-1.0] * count + [0.0] * (100 - count) for count in (9, 10))
    assert seen(gate(), 100, nine).assumed
    found = seen(gate(), 100, ten)
    assert not found.assumed
    assert found.spread == pytest.approx(math.sqrt(100 * 0.1 * 0.9 / 99))


@pytest.mark.parametrize(
    ("made", "queries", "differences"),
    [
        pytest.param(gate(drop=None, threshold=0.5), 100, [], id="no drop is forbidden"),
        pytest.param(gate(), 0, [], id="no questions"),
        pytest.param(gate("latency(quantile=0.9)"), 100, [1.0] * 50 + [-1.0] * 50, id="a quantile"),
        pytest.param(gate("latency"), 100, [1.0] * 9 + [0.0] * 91, id="no rate, and too few moved"),
        pytest.param(gate("latency"), 100, [1e200] * 50 + [-1e200] * 50, id="numbers without a square"),
    ],
)
def test_where_nothing_can_be_said(made: Gate, queries: int, differences: list[float]) -> None:
    assert detectable(made, queries=queries, differences=differences) is None


LIMITS = st.floats(0.001, 0.3)
EVIDENCE = st.sampled_from(Evidence)
CHANGES = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=12, max_size=60)


@pytest.mark.full
@given(LIMITS, EVIDENCE, st.integers(1, 100_000))
def test_more_questions_see_smaller_drops(drop: float, evidence: Evidence, queries: int) -> None:
    few, many = (seen(gate(drop=drop, evidence=evidence), size) for size in (queries, 2 * queries))
    assert many.margin < few.margin
    assert many.sees or not few.sees
    if evidence is not SAFE:  # which catches more than it forbids, and the less the surer it is
        assert drop < many.detectable < few.detectable


@given(LIMITS, EVIDENCE)
def test_as_many_as_are_needed_see_and_one_fewer_does_not(drop: float, evidence: Evidence) -> None:
    needed = seen(gate(drop=drop, evidence=evidence), 1).queries_needed
    assert needed is not None
    assert seen(gate(drop=drop, evidence=evidence), needed).sees
    assert needed == 1 or not seen(gate(drop=drop, evidence=evidence), needed - 1).sees


@pytest.mark.full
@given(LIMITS, LIMITS, EVIDENCE, CHANGES)
def test_who_sees_a_drop_sees_a_larger_one(one: float, other: float, evidence: Evidence, changes: list[float]) -> None:
    smaller, larger = sorted((one, other))
    found = [
        detectable(gate(drop=drop, evidence=evidence), queries=60, differences=changes) for drop in (smaller, larger)
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert found[1].sees or not found[0].sees


@given(CHANGES, EVIDENCE)
def test_the_direction_of_the_changes_is_all_one(changes: list[float], evidence: Evidence) -> None:
    there, back = (seen(gate(evidence=evidence), 60, [sign * x for x in changes]) for sign in (1, -1))
    assert there.spread == pytest.approx(back.spread)
    assert there.sees == back.sees


@pytest.mark.parametrize(
    ("made", "queries", "said"),
    [
        pytest.param(gate(), 146, None, id="it sees"),
        pytest.param(
            gate(),
            145,
            "145 questions detect a drop of 6.0 points or more in 4 of 5 runs (3.0 points allowed); to detect 6.0 "
            "points take about 146",
            id="estimate",
        ),
        pytest.param(
            gate(evidence=HARM),
            192,
            "192 questions detect a drop of 9.6 points or more in 4 of 5 runs (3.0 points allowed); to detect 6.0 "
            "points take about 456",
            id="proven harm",
        ),
        pytest.param(
            gate(evidence=SAFE),
            192,
            "with 192 questions a change without effect is proven safe within 3.0 pp in less than 4 of 5 runs; about "
            "1,720 questions would do, or allowing 9.6 pp (spread of 0.43 assumed)",
            id="proven safe; a count rounded up",
        ),
        pytest.param(
            gate("mrr", drop=0.0125, evidence=HARM),
            1,
            "1 question detects no drop (0.0125 allowed); to detect 0.025 take about 1,850",
            id="one question; a score; a limit with more digits",
        ),
        pytest.param(
            gate("false_evidence_rate"),
            50,
            "50 questions detect a rise of 6.6 points or more in 4 of 5 runs (3.0 points allowed); to detect 6.0 "
            "points take about 71",
            id="lower is better",
        ),
        pytest.param(gate(drop=0.0), 192, None, id="no drop at all: no size is promised"),
        pytest.param(
            gate(drop=0.0, evidence=SAFE),
            192,
            "no number of questions proves that nothing at all was lost; allow a drop of 9.6 pp "
            "(spread of 0.43 assumed)",
            id="no drop at all, proven safe",
        ),
    ],
)
def test_how_a_blind_spot_is_said(made: Gate, queries: int, said: str | None) -> None:
    assert blind_spot(made, seen(made, queries)) == said


def test_a_measured_spread_is_not_called_assumed() -> None:
    said = blind_spot(gate(evidence=HARM), seen(gate(evidence=HARM), 100, [-1.0, 1.0] * 10 + [0.0] * 80))
    assert said is not None
    assert "assumed" not in said


def scores(values: list[float], name: str = "recall@5") -> Scores:
    ids = tuple(f"q{number}" for number in range(len(values)))
    return scores_of(ids, {name: values}, lists={name: [0] * len(values)})


def judged(made: Gate, now: list[float], before: list[float] | None) -> GateResult:
    return decide(made, scores(now, made.metric.name), None if before is None else scores(before, made.metric.name))


def test_a_gate_reports_what_its_pairs_can_see() -> None:
    before, now = [1.0] * 100, [0.0] * 10 + [1.0] * 90
    assert judged(gate(), now, before).evidence.detectable == detectable(
        gate(), queries=100, differences=[-1.0] * 10 + [0.0] * 90
    )
    assert judged(gate(), now, None).evidence.detectable == detectable(gate(), queries=100)
    assert judged(gate(drop=None, threshold=0.5), now, before).evidence.detectable is None


SAME = [1.0] * 100
MOVED = [0.0] * 2 + SAME[2:], SAME[:-2] + [0.0] * 2  # two lost, two others won
LOST = [0.0] * 40 + [1.0] * 60


def test_clusters_are_what_the_gold_set_sees_by() -> None:
    """Thirty conversations of twelve questions, ten of them lost as a whole, are thirty observations."""
    labels = tuple(f"c{number // 12}" for number in range(360))
    now, before = ([float(number // 12 >= lost) for number in range(360)] for lost in (10, 0))
    made = gate(evidence=HARM)
    alone, clustered = (
        decide(made, replace(scores(now), clusters=names), replace(scores(before), clusters=names)).evidence.detectable
        for names in ((), labels)
    )
    assert alone is not None
    assert clustered is not None
    assert clustered.detectable > 3 * alone.detectable
    assert clustered.queries == 360


@pytest.mark.parametrize("drop", [0.03, 0.0])
def test_no_limit_beyond_the_range_is_advised(drop: float) -> None:
    made = gate(drop=drop, evidence=SAFE)
    found = detectable(made, queries=2)
    assert found is not None
    assert found.margin > 1  # beyond what recall can lose
    told = blind_spot(made, found) or ""
    assert told.endswith(" (spread of 0.43 assumed)")
    assert "allow" not in told
