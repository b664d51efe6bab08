"""Two runs paired query by query: which pairs count, who won, and how sure the change is."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import scores_of
from tests.gates.test_decide import scores
from tests.rows import each_row

from rankgate.gates.decision_rule import rule_on_drop
from rankgate.metrics.comparison import Comparison, Pairs, compare, paired
from rankgate.metrics.gaps import baseline_column, gaps
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Direction, Evidence, Interval, Ruling

Column = list[float | None]


def compared(metric: str, candidate: Column, baseline: Column) -> Comparison:
    found = compare(parse_metric(metric), candidate, baseline)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("metric", "candidate", "baseline", "value", "before", "pairs", "better", "worse"),
    [
        pytest.param("recall@5", [0.5, 1.0], [0.5, 1.0], 0.75, 0.75, 2, 0, 0, id="the same twice"),
        pytest.param("recall@5", [1.0, 0.0, 0.5], [0.0, 0.5, 0.5], 0.5, 1 / 3, 3, 1, 1, id="one better, one worse"),
        pytest.param("recall@5", [1.0, None, 0.0], [0.5, 1.0, 0.0], 0.5, 0.25, 2, 1, 0, id="undefined now: no pair"),
        pytest.param("recall@5", [1.0, 1.0, 0.0], [0.5, None, 0.0], 0.5, 0.25, 2, 1, 0, id="undefined before: no pair"),
        pytest.param("latency", [40.0, 20.0, 10.0], [30.0, 30.0, 30.0], 70 / 3, 30.0, 3, 2, 1, id="lower is better"),
        pytest.param(
            *("latency(quantile=0.5)", [1.0, 3.0, 4.0], [1.0, 2.0, 9.0], 3.0, 2.0, 3, 1, 1),
            id="a quantile of each side, not of the differences",
        ),
    ],
)
def test_pairs(
    metric: str, candidate: Column, baseline: Column, value: float, before: float, pairs: int, better: int, worse: int
) -> None:
    found = compared(metric, candidate, baseline)
    assert (found.n_pairs, found.better, found.worse) == (pairs, better, worse)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.baseline == pytest.approx(before, abs=1e-12)
    assert found.delta == found.value - found.baseline


@pytest.mark.parametrize(
    ("metric", "candidate", "baseline", "counts"),
    [
        pytest.param("recall@5", [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], (2, 1), id="all or nothing"),
        pytest.param("hit@5", [1.0, None, 1.0], [0.0, 1.0, 1.0], (1, 2), id="of the pairs alone"),
        pytest.param("recall@5", [1.0, 0.5], [1.0, 1.0], None, id="half of it now"),
        pytest.param("recall@5", [1.0, 1.0], [0.5, 1.0], None, id="half of it before"),
        pytest.param("mrr", [1.0, 0.0], [1.0, 1.0], None, id="no share"),
        pytest.param("latency", [1.0, 0.0], [1.0, 1.0], None, id="milliseconds"),
    ],
)
def test_questions_are_counted_where_each_has_all_or_nothing(
    metric: str, candidate: Column, baseline: Column, counts: tuple[int, int] | None
) -> None:
    assert compared(metric, candidate, baseline).counts == counts


@pytest.mark.parametrize(
    ("candidate", "baseline"),
    [
        pytest.param([], [], id="no query"),
        pytest.param([None, None], [None, None], id="undefined on both sides"),
        pytest.param([1.0, None], [None, 1.0], id="never defined on both sides at once"),
    ],
)
def test_without_a_pair_there_is_nothing_to_compare(candidate: Column, baseline: Column) -> None:
    assert compare(parse_metric("recall@5"), candidate, baseline) is None


def test_columns_of_different_gold_sets_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        compare(parse_metric("recall@5"), [1.0], [1.0, 0.5])


# What the sign test says of the same counts: six of six is proof at 5 %, five of five is not.
@pytest.mark.parametrize(
    ("lost", "won", "proven"),
    [
        pytest.param(0, 0, False, id="nothing changed"),
        pytest.param(5, 0, False, id="5 lost, 0 won"),
        pytest.param(6, 0, True, id="6 lost, 0 won"),
        pytest.param(6, 6, False, id="as many won as lost"),
        pytest.param(30, 5, True, id="30 lost, 5 won"),
    ],
)
def test_the_interval_of_a_mean_change(lost: int, won: int, *, proven: bool) -> None:
    same: Column = [0.5] * 60
    found = compared("recall@5", [*[0.0] * lost, *[1.0] * won, *same], [*[1.0] * lost, *[0.0] * won, *same])
    assert found.ci is not None
    low, high = found.ci
    assert low is not None
    assert high is not None
    assert low <= found.delta <= high
    assert (high < 0) == proven


def test_a_single_changed_query_has_no_interval() -> None:
    assert compared("recall@5", [1.0], [0.5]).ci is None
    assert compared("recall@5", [0.5], [0.5]).ci is None


@pytest.mark.parametrize(
    ("count", "known"),
    [
        pytest.param(20, (False, False), id="20 queries: a 0.9-quantile has no upper bound, so the change has neither"),
        pytest.param(40, (True, True), id="40 queries: both bounds"),
    ],
)
def test_the_interval_of_a_change_between_quantiles(count: int, known: tuple[bool, bool]) -> None:
    baseline: Column = [float(ms) for ms in range(count)]
    candidate: Column = [None if ms is None else ms + 5 for ms in baseline]
    found = compared("latency(quantile=0.9)", candidate, baseline)
    assert found.delta == 5.0
    assert found.ci is not None
    assert tuple(bound is not None for bound in found.ci) == known


def test_the_baselines_column_leaves_out_what_is_new_to_it() -> None:
    """A query that it was not asked holds the worst value in its own scores, as one that it only lacks."""
    scores = scores_of(
        ("q1", "new", "lacking", "unanswerable"),
        {"recall@5": [1.0, 0.0, 0.0, None]},
        missing=frozenset({"new", "lacking"}),
        new_queries=frozenset({"new"}),
    )
    assert baseline_column(parse_metric("recall@5"), scores) == [1.0, None, 0.0, None]


shares = st.none() | st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
columns = st.lists(st.tuples(shares, shares), max_size=25)


@given(columns)
def test_comparing_the_other_way_round_is_the_mirror_image(rows: list[tuple[float | None, float | None]]) -> None:
    metric = parse_metric("recall@5")
    there = compare(metric, [new for new, _ in rows], [old for _, old in rows])
    back = compare(metric, [old for _, old in rows], [new for new, _ in rows])
    if there is None or back is None:
        assert there is back
        return
    assert there.delta == -back.delta
    assert (there.better, there.worse) == (back.worse, back.better)
    assert (there.ci is None) == (back.ci is None)
    if there.ci and back.ci:
        assert there.ci == pytest.approx((-(back.ci[1] or 0.0), -(back.ci[0] or 0.0)), abs=1e-6)


@given(columns)
def test_pairs_agree_with_an_obvious_oracle(rows: list[tuple[float | None, float | None]]) -> None:
    found = compare(parse_metric("recall@5"), [new for new, _ in rows], [old for _, old in rows])
    pairs = [(new, old) for new, old in rows if new is not None and old is not None]
    assert (found is None) == (not pairs)
    if found:
        assert found.n_pairs == len(pairs)
        assert found.better == sum(new > old for new, old in pairs)
        assert found.worse == sum(new < old for new, old in pairs)
        assert found.delta == pytest.approx(sum(new - old for new, old in pairs) / len(pairs), abs=1e-12)


# --- what the pairs prove: the same numbers another way round, in another order, with more lost

CLUSTERS = st.lists(st.sampled_from("abcdefghijkl"), min_size=24, max_size=24)
SIDES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=24, max_size=24)
KINDS = ["recall@5", "false_evidence_rate", "latency(quantile=0.9)"]


def pairs_of(metric: str, new: Sequence[float], old: Sequence[float], clusters: Sequence[str] = ()) -> Pairs:
    found = paired(parse_metric(metric), new, old, clusters=clusters)
    assert found is not None
    return found


def close(one: Interval | None, other: Interval | None) -> bool:
    return one == other or [*(one or ())] == pytest.approx([*(other or ())], abs=1e-7)


@settings(max_examples=25)
@given(SIDES, SIDES, st.none() | CLUSTERS)
def test_lower_is_better_is_the_mirror(new: list[float], old: list[float], clusters: list[str] | None) -> None:
    rate = pairs_of("recall@5", new, old, clusters or ())
    error = pairs_of("false_evidence_rate", [1 - x for x in new], [1 - x for x in old], clusters or ())
    assert error.level() == pytest.approx(rate.level(), rel=1e-6)
    assert error.exact(None) == rate.exact(None)
    low, high = rate.interval(0.95) or (None, None)
    mirrored = None if low is None or high is None else (-high, -low)
    assert close(error.interval(0.95), mirrored)


@pytest.mark.full
@pytest.mark.parametrize("metric", KINDS)
@settings(max_examples=25)
@given(new=SIDES, old=SIDES, clusters=st.none() | CLUSTERS, source=st.randoms(use_true_random=False))
def test_the_order_of_the_queries_means_nothing(
    metric: str, new: list[float], old: list[float], clusters: list[str] | None, source: random.Random
) -> None:
    rows = list(zip(new, old, clusters or new, strict=True))
    there = pairs_of(metric, new, old, clusters or ())
    source.shuffle(rows)
    again = pairs_of(
        metric, [x for x, _, _ in rows], [x for _, x, _ in rows], [str(x) for *_, x in rows] if clusters else ()
    )
    assert again.level() == pytest.approx(there.level(), rel=1e-6)
    assert close(again.interval(0.95), there.interval(0.95))


@pytest.mark.parametrize("metric", ["recall@5", "latency(quantile=0.9)"])
@settings(max_examples=25)
@given(new=SIDES, old=SIDES, clusters=st.none() | CLUSTERS, level=st.sampled_from([0.001, 0.025, 0.2]))
def test_harm_is_proven_at_a_level_exactly_where_it_lies_above_the_pairs_own(
    metric: str, new: list[float], old: list[float], clusters: list[str] | None, level: float
) -> None:
    found = pairs_of(metric, new, old, clusters or ())
    own = found.level()
    assume(not 0.999 < own / level < 1.001)
    assert found.proven(level) == (own < level)


@settings(max_examples=25)
@given(SIDES, st.none() | CLUSTERS, st.integers(0, 23))
def test_of_losses_alone_one_more_is_no_weaker_proof(old: list[float], clusters: list[str] | None, row: int) -> None:
    lost = [0.0 if place < row else before for place, before in enumerate(old)]
    more = [0.0 if place <= row else before for place, before in enumerate(old)]
    fewer = pairs_of("recall@5", lost, old, clusters or ()).exact(None)
    further = pairs_of("recall@5", more, old, clusters or ()).exact(None)
    assert (fewer is None) == (further is None)
    if fewer and further:
        assert further.p <= fewer.p + 1e-12


@pytest.mark.parametrize(
    ("allowed", "ruling"), [(0.1, Ruling.HOLDS), (0.1 - 2e-9, Ruling.VIOLATED), (0.1 + 2e-9, Ruling.HOLDS)]
)
def test_what_an_exact_test_proves_still_has_to_pass_the_limit(allowed: float, ruling: Ruling) -> None:
    """One of ten lost in each of nine clusters: a drop of exactly ten points is not more than ten points."""
    old, new = [1.0] * 90, [0.0 if row % 10 == 0 else 1.0 for row in range(90)]
    found = pairs_of("recall@5", new, old, [f"{row // 10}" for row in range(90)]).compared()
    ruled = rule_on_drop(Evidence.PROVEN_HARM, found.delta, found.ci, allowed, Direction.HIGHER, found.exact, 0.95)
    assert ruled.ruling is ruling


@each_row(
    ("now", "before", "others"),
    [
        pytest.param("aaaa", "aaaa", 0, id="one model"),
        pytest.param("aabb", "aaaa", 2, id="another one since"),
        pytest.param("a1 a2 a1 a1", "a1 a1 a2 a2", 0, id="two machines that both runs have met"),
        pytest.param("a1 a2 a3 a3", "a1 a2 a1 a2", 2, id="other machines, where values were not taken over"),
        pytest.param("a1 a3 a1 a1", "a1 a1 a3 a1", 0, id="each machine was met by both"),
        pytest.param("a1 b1 a1 a1", "a1 a1 a1 a1", 1, id="another model, whose machine has a known name"),
        pytest.param("a1+a2 a2 a1 a1", "a1 a1+a2 a1 a1", 0, id="an answer judged by two machines"),
        pytest.param("a1+a3 a1 a1 a1", "a2 a1 a1 a1", 1, id="by two that the baseline has not met"),
        pytest.param("a1+b1 a1 a1 a1", "a1 a1 a1 a1", 1, id="by a model and another one"),
        pytest.param("aaa-", "aaaa", 0, id="a value that is missing is no other judge's"),
        pytest.param("a*a*", "aaaa", 0, id="an empty answer takes nobody's word"),
        pytest.param("b1 * b2", "a1 a2 *", 1, id="nor does one of the baseline"),
    ],
)
def test_who_gave_the_values_of_both_runs(now: str, before: str, others: int) -> None:
    """A letter is a model, a digit its fingerprint, `+` joins two of an answer.

    `-` is no verdict, and `*` takes no model's word.
    """

    def names_in(text: str) -> list[str]:
        return text.split() if " " in text else list(text)

    def giver(name: str) -> str | None:
        return None if name == "-" else "\n".join("\t".join(one) for one in name.split("+"))

    runs = []
    for text in (now, before):
        names = names_in(text)
        given = {f"q{row}": giver(name) for row, name in enumerate(names) if name != "*"}
        values = [None if name == "-" else 1.0 for name in names]
        runs.append(replace(scores(values, "faithfulness"), givers={"faithfulness": given}))
    assert len(gaps(parse_metric("faithfulness"), *runs).other_judge) == others
