"""What a gold set can see of the drop that a gate forbids, and how it is said."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rankgate.criteria import Gate
from rankgate.detectable import blind_spot, detectable, power_notes
from rankgate.gates import decide
from rankgate.metrics.names import parse_metric
from rankgate.model import Evidence, Scores
from rankgate.report import Detectable, GateResult

HARM, SAFE, ESTIMATE = Evidence.PROVEN_HARM, Evidence.PROVEN_SAFE, Evidence.ESTIMATE


def gate(metric: str = "recall@5", drop: float | None = 0.03, evidence: Evidence = ESTIMATE, **known: Any) -> Gate:
    return Gate(
        **{"name": metric, "metric": parse_metric(metric), "threshold": None, "blocks": True, "line": 1, **known},
        regression_max=drop,
        evidence=evidence,
    )


def seen(made: Gate, queries: int, differences: list[float] | None = None) -> Detectable:
    found = detectable(made, queries=queries, differences=differences or [])
    assert found is not None
    return found


# By hand, with the assumed spread of 0.3: 900 questions have a standard error of one point.
@pytest.mark.parametrize(
    ("evidence", "queries", "drop", "caught", "sees"),
    [
        pytest.param(ESTIMATE, 900, 0.03, 0.03 + 0.008416, True, id="estimate: the limit and 0.84 errors"),
        pytest.param(HARM, 900, 0.03, 0.03 + 0.008416, True, id="harm: the limit, where it is beyond noise"),
        pytest.param(HARM, 900, 0.01, 0.0196 + 0.008416, False, id="harm: noise, where that is beyond the limit"),
        pytest.param(SAFE, 900, 0.03, 0.03 - 0.0196 + 0.008416, True, id="safe: caught well before the limit"),
        pytest.param(SAFE, 900, 0.0281, 0.0281 - 0.0196 + 0.008416, True, id="just over the margin"),
        pytest.param(SAFE, 900, 0.028, 0.028 - 0.0196 + 0.008416, False, id="just under the margin"),
        pytest.param(ESTIMATE, 784, 0.03, 0.03 + 0.8416 * 0.3 / 28, False, id="one question too few"),
        pytest.param(ESTIMATE, 785, 0.03, 0.03 + 0.8416 * 0.3 / math.sqrt(785), True, id="just enough"),
    ],
)
def test_what_is_caught_and_whether_the_limit_is_seen(
    evidence: Evidence,
    queries: int,
    drop: float,
    caught: float,
    sees: bool,  # noqa: FBT001
) -> None:
    found = seen(gate(drop=drop, evidence=evidence), queries)
    assert found.detectable == pytest.approx(caught)
    assert found.margin == pytest.approx(2.8016 * 0.3 / math.sqrt(queries))
    assert (found.sees, found.assumed, found.spread, found.queries) == (sees, True, 0.3, queries)


def test_what_is_seen_follows_the_confidence_of_the_gate() -> None:
    for confidence, errors in ((0.9, 1.6449), (0.99, 2.5758)):
        found = seen(gate(drop=0.0, evidence=HARM, confidence=confidence), 900)
        assert found.margin == pytest.approx((errors + 0.8416) * 0.01)
        assert found.detectable == pytest.approx((errors + 0.8416) * 0.01)
    needed = [seen(gate(confidence=confidence), 100).queries_needed for confidence in (0.9, 0.95, 0.99)]
    assert needed == [619, 785, 1168]


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


ASSUMED = " (spread of 0.3 assumed)"


@pytest.mark.parametrize(
    ("made", "queries", "said"),
    [
        pytest.param(gate(), 785, None, id="it sees"),
        pytest.param(
            gate(),
            192,
            "192 questions cannot tell a drop of 3.0 pp from noise (about 785 could); drops from 4.8 pp on are caught "
            "four times in five",
            id="estimate",
        ),
        pytest.param(
            gate(evidence=HARM),
            192,
            "192 questions cannot tell a drop of 3.0 pp from noise (about 785 could); drops from 6.1 pp on are caught "
            "four times in five",
            id="proven harm",
        ),
        pytest.param(
            gate(evidence=SAFE),
            192,
            "over 192 questions a harmless change is proven safe within 3.0 pp less than four times in five; about 785 "
            "questions would do, or allowing 6.1 pp",
            id="proven safe",
        ),
        pytest.param(
            gate("mrr", drop=0.0125, evidence=HARM),
            1,
            "1 question cannot tell a drop of 0.0125 from noise (about 4,530 could); drops from 0.840 on are caught "
            "four times in five",
            id="one question; a score; a limit with more digits; a count rounded up",
        ),
        pytest.param(
            gate("false_evidence_rate"),
            100,
            "100 questions cannot tell a rise of 3.0 pp from noise (about 785 could); rises from 5.5 pp on are caught "
            "four times in five",
            id="lower is better",
        ),
        pytest.param(gate(drop=0.0), 192, None, id="no drop at all: no size is promised"),
        pytest.param(
            gate(drop=0.0, evidence=SAFE),
            192,
            "no number of questions proves that nothing at all was lost; allow a drop of 6.1 pp",
            id="no drop at all, proven safe",
        ),
    ],
)
def test_how_a_blind_spot_is_said(made: Gate, queries: int, said: str | None) -> None:
    assert blind_spot(made, seen(made, queries)) == (said and said + ASSUMED)


def test_a_measured_spread_is_not_called_assumed() -> None:
    said = blind_spot(gate(), seen(gate(), 100, [-1.0, 1.0] * 10 + [0.0] * 80))
    assert said is not None
    assert "assumed" not in said


def scores(values: list[float], name: str = "recall@5") -> Scores:
    ids = tuple(f"q{number}" for number in range(len(values)))
    return Scores(
        query_ids=ids,
        values={name: list(values)},
        matched={},
        missing=frozenset(),
        strangers=(),
        duplicates=0,
        cut=0,
        relisted=lambda: {"": frozenset()},
    )


def judged(made: Gate, now: list[float], before: list[float] | None) -> GateResult:
    return decide(made, scores(now, made.metric.name), None if before is None else scores(before, made.metric.name))


def test_a_gate_reports_what_its_pairs_can_see() -> None:
    before, now = [1.0] * 100, [0.0] * 10 + [1.0] * 90
    assert judged(gate(), now, before).detectable == detectable(
        gate(), queries=100, differences=[-1.0] * 10 + [0.0] * 90
    )
    assert judged(gate(), now, None).detectable == detectable(gate(), queries=100)
    assert judged(gate(drop=None, threshold=0.5), now, before).detectable is None


SAME = [1.0] * 100
MOVED = [0.0, *SAME[1:]], [*SAME[1:], 0.0]  # one lost, another won


@pytest.mark.parametrize(
    ("evidence", "now", "before", "noted"),
    [
        pytest.param(ESTIMATE, *MOVED, True, id="passes: perhaps for want of questions"),
        pytest.param(HARM, SAME, SAME, False, id="nothing moved"),
        pytest.param(ESTIMATE, [0.0] * 4 + [1.0] * 96, SAME, True, id="fails within noise"),
        pytest.param(ESTIMATE, [0.0] * 40 + [1.0] * 60, SAME, False, id="fails beyond noise"),
        pytest.param(HARM, [0.0] * 4 + [1.0] * 96, SAME, True, id="within noise"),
        pytest.param(HARM, [0.0] * 40 + [1.0] * 60, SAME, False, id="proven harm"),
        pytest.param(SAFE, SAME, SAME, False, id="proven safe"),
        pytest.param(SAFE, *MOVED, True, id="not proven safe"),
        pytest.param(SAFE, [0.0] * 40 + [1.0] * 60, SAME, False, id="safe is asked for and harm is proven"),
        pytest.param(ESTIMATE, SAME, None, False, id="no baseline: nothing was compared"),
    ],
)
def test_a_report_notes_what_its_outcome_rests_on(
    evidence: Evidence,
    now: list[float],
    before: list[float] | None,
    noted: bool,  # noqa: FBT001
) -> None:
    made = gate(evidence=evidence)
    assert bool(power_notes([made], [judged(made, now, before)])) is noted


def test_one_note_names_the_gates_that_block_first() -> None:
    gates = [
        gate("mrr", blocks=False),
        gate("recall@5"),
        gate("recall@5", name="again", drop=0.02),
        gate("hit@5"),
        gate("ndcg@10", drop=0.4),
        gate("map", blocks=False),
    ]
    results = [judged(each, *MOVED) for each in gates]
    [note] = power_notes(gates, results)
    assert note == (
        "recall@5: 100 questions cannot tell a drop of 3.0 pp from noise (about 785 could); drops from 5.5 pp on are "
        "caught four times in five (spread of 0.3 assumed). Likewise hit@5, mrr and map."
    )
    [crowded] = power_notes([*gates, gate("hit@1")], [*results, judged(gate("hit@1"), *MOVED)])
    assert crowded.endswith(" Likewise hit@5, hit@1, mrr and 1 more.")


def test_segments_have_no_note_of_their_own() -> None:
    part = replace(judged(gate(), *MOVED), segment="lang:en")
    assert power_notes([gate()], [part]) == []
