"""Metrics on cases small enough to work out by hand: the worked case and the traps of other tools."""

from collections.abc import Mapping, Sequence
from math import inf, log2, nan
from typing import Any

import pytest
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.metrics.estimates import estimate
from rankgate.metrics.intervals import interval
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.values import Details, Gold, Ranking, RunField, Sample, Unit
from rankgate.readers.base import deduplicated

Gains = Mapping[str, float]

RANKING_METRICS = (
    *("hit@5", "recall@5", "recall_all@5", "capped_recall@5", "weighted_recall@5", "recall_auc"),
    *("precision@5", "precision@all", "precision(of=retrieved)@5", "f@5", "f(beta=2,of=retrieved)@5"),
    *("rprec", "rbp", "rbp@5", "bpref", "err", "err@5", "map(of=retrieved)", "ndcg(judged_only=true)@5"),
    *("mrr", "mrr@5", "map", "ap@5", "dcg", "dcg@5", "ndcg", "ndcg@5", "ndcg(ideal=retrieved)@5"),
)


def binary(ids: str) -> Gains:
    """Ids separated by spaces, each with gain 1."""
    return dict.fromkeys(ids.split(), 1.0)


def per_query(metric: str, gold: Gains, ranked: str, k: int | None = None) -> float | None:
    sample = Sample(query_id="q", gains=gold, k=k)
    parsed = parse_metric(metric)
    return parsed.per_query(match(sample, Ranking("q", *deduplicated(ranked.split())), needs=parsed.needs))


# Ranks of the relevant ones: 2 and 4.
WORKED_GOLD = binary("doc-3 doc-9")
WORKED_LIST = "doc-7 doc-3 doc-1 doc-9 doc-2"


@each_row(
    ("metric", "expected"),
    [
        pytest.param("hit@5", 1, id="hit@5"),
        pytest.param("hit@1", 0, id="hit@1: the first is not relevant"),
        pytest.param("recall@5", 1, id="recall@5"),
        pytest.param("recall@3", 1 / 2, id="recall@3: one of two"),
        pytest.param("recall@1", 0, id="recall@1: none"),
        pytest.param("recall_all@5", 1, id="recall_all@5: both"),
        pytest.param("recall_all@3", 0, id="recall_all@3: one is not all"),
        pytest.param("capped_recall@5", 1, id="capped_recall@5"),
        pytest.param("capped_recall@3", 1 / 2, id="capped_recall@3: room for both, one found"),
        pytest.param("capped_recall@1", 0, id="capped_recall@1"),
        pytest.param("weighted_recall@5", 1, id="weighted_recall@5"),
        pytest.param("weighted_recall@3", 1 / 2, id="weighted_recall@3: equal gains are plain recall"),
        pytest.param("precision@5", 2 / 5, id="precision@5"),
        pytest.param("precision@3", 1 / 3, id="precision@3"),
        pytest.param("precision(of=retrieved)@5", 2 / 5, id="precision of retrieved: the list is full"),
        pytest.param("f1@5", 2 * (2 / 5) / (2 / 5 + 1), id="f1@5: of precision 2/5 and recall 1"),
        pytest.param("f(beta=2)@5", 5 * (2 / 5) / (4 * 2 / 5 + 1), id="f(beta=2)@5: recall counts four times"),
        pytest.param("f(beta=0.5)@3", 1.25 * (1 / 3) * (1 / 2) / (1 / 12 + 1 / 2), id="f(beta=0.5)@3"),
        pytest.param("f1@1", 0, id="f1@1: 0 where both are 0"),
        pytest.param("mrr", 1 / 2, id="mrr"),
        pytest.param("mrr@2", 1 / 2, id="mrr@2: just within"),
        pytest.param("mrr@1", 0, id="mrr@1: beyond"),
        pytest.param("map", (1 / 2 + 2 / 4) / 2, id="map"),
        pytest.param("ap@3", (1 / 2) / 2, id="ap@3: the one not found counts 0"),
        pytest.param("ap@1", 0, id="ap@1"),
        pytest.param("map(of=retrieved)", (1 / 2 + 2 / 4) / 2, id="map of retrieved: both are found"),
        pytest.param("ap(of=retrieved)@3", 1 / 2, id="ap@3 of retrieved: the one found, at rank 2"),
        pytest.param("ap(of=retrieved)@1", 0, id="ap@1 of retrieved: none"),
        pytest.param("rprec", 1 / 2, id="rprec: one of two in two places"),
        pytest.param("rbp", 0.2 * (0.8 + 0.8**3), id="rbp: ranks 2 and 4"),
        pytest.param("rbp(p=0.5)@3", 1 / 4, id="rbp(p=0.5)@3: rank 2"),
        pytest.param("rbp_residual", 1 - 0.2 * (0.8 + 0.8**3), id="rbp_residual: all but ranks 2 and 4 is unjudged"),
        pytest.param("rbp_residual(p=0.5)@3", 1 / 2 + 1 / 8 + 1 / 8, id="rbp_residual@3: ranks 1 and 3, and below"),
        pytest.param("bpref", 1, id="bpref: nothing is judged not relevant"),
        pytest.param("err", 1 / 16 / 2 + 15 / 16 * 1 / 16 / 4, id="err: satisfied by 1/16 at ranks 2 and 4"),
        pytest.param("err(max=1)@3", 1 / 2 / 2, id="err(max=1)@3: by 1/2 at rank 2"),
        pytest.param("recall(judged_only=true)@1", 1 / 2, id="judged only: the list is doc-3 doc-9"),
        pytest.param("mrr(judged_only=true)", 1, id="judged only: the first is relevant"),
        pytest.param("precision(judged_only=true)@all", 1, id="judged only: two of two"),
        pytest.param("rbp_residual(judged_only=true)", 0.8**2, id="judged only: what is below"),
        pytest.param("dcg", 1 / log2(3) + 1 / log2(5), id="dcg"),
        pytest.param("dcg@3", 1 / log2(3), id="dcg@3"),
        pytest.param("dcg@1", 0, id="dcg@1"),
        pytest.param("ndcg@5", (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)), id="ndcg@5"),
        pytest.param("ndcg@2", (1 / log2(3)) / (1 + 1 / log2(3)), id="ndcg@2"),
        pytest.param("ndcg@1", 0, id="ndcg@1"),
        pytest.param("dcg(discount=jarvelin)", 1 + 1 / 2, id="dcg, jarvelin: rank 2 whole, rank 4 by log2(4) = 2"),
        pytest.param("ndcg(discount=jarvelin)", (1 + 1 / 2) / 2, id="ndcg, jarvelin: the ideal is 1 + 1"),
        pytest.param(
            "ndcg(ideal=retrieved)@3", 1 / log2(3), id="ndcg of retrieved: the ideal has the one that was found"
        ),
        pytest.param("ndcg(ideal=retrieved)@1", 0, id="ndcg of retrieved: nothing found is 0"),
        pytest.param(
            *("ndcg(gain=binary,discount=jarvelin,ideal=retrieved)@3", 1),
            id="all three, as one toolkit has it: rank 2 is as good as rank 1",
        ),
    ],
)
def test_worked_case(metric: str, expected: float) -> None:
    assert per_query(metric, WORKED_GOLD, WORKED_LIST) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("negatives", "expected"),
    [
        # Relevant: b, d, e; judged not: a (gain 0), c (gain -1); x is unjudged. R = 3, so min(2, 3) = 2 count.
        pytest.param((), (1 / 2 + 0 + 0) / 3, id="one of two above b, both above d; e is not found"),
        pytest.param(
            ("x",), (1 - 2 / 3 + 0 + 0) / 3, id="a hard negative is judged: two of three above b, all above d"
        ),
    ],
)
def test_bpref_and_condensed_lists_of_what_is_judged(negatives: tuple[str, ...], expected: float) -> None:
    gains = {"a": 0.0, "b": 1.0, "c": -1.0, "d": 2.0, "e": 1.0}
    bpref, precision, judged = (parse_metric(each) for each in ("bpref", "precision(judged_only=true)@2", "judged@3"))
    sample = Sample(query_id="q", gains=gains, negatives=negatives)
    query = match(sample, Ranking("q", ["a", "x", "b", "c", "d"]), needs=bpref.needs)
    assert bpref.per_query(query) == pytest.approx(expected)
    assert precision.per_query(query) == (0 if negatives else 1 / 2)
    assert judged.per_query(query) == pytest.approx(1 if negatives else 2 / 3)


def test_a_gain_above_the_scale_of_err_is_an_error_whatever_is_found() -> None:
    with pytest.raises(RankgateError) as caught:
        per_query("err@5", {"a": 5.0, "b": 1.0}, "b")
    what = "err@5: query 'q' of the gold set has the gain 5, above the highest grade, 4; write err(max=5)"
    assert str(caught.value) == what
    assert per_query("err(max=5)@5", {"a": 5.0, "b": 1.0}, "b") == pytest.approx(1 / 32)


def test_worked_case_in_four_decimals() -> None:
    names = ("hit@5", "recall@5", "mrr", "ndcg@5")
    values = [per_query(metric, WORKED_GOLD, WORKED_LIST) for metric in names]
    assert values == pytest.approx([1, 1, 0.5, 0.6509], abs=5e-5)


# The better document stands second.
GRADED_GOLD = {"good": 1.0, "perfect": 3.0}


@each_row(
    ("metric", "expected", "four_decimals"),
    [
        pytest.param("dcg", 1 + 3 / log2(3), 2.8928, id="dcg"),
        pytest.param("dcg(gain=exponential)", 1 + 7 / log2(3), 5.4165, id="dcg, exponential: 2^3 - 1 = 7"),
        pytest.param("dcg(gain=binary)", 1 + 1 / log2(3), 1.6309, id="dcg, binary"),
        pytest.param("ndcg", (1 + 3 / log2(3)) / (3 + 1 / log2(3)), 0.7967, id="ndcg, linear"),
        pytest.param("ndcg(gain=linear)", (1 + 3 / log2(3)) / (3 + 1 / log2(3)), 0.7967, id="ndcg, linear by name"),
        pytest.param("ndcg(gain=exponential)", (1 + 7 / log2(3)) / (7 + 1 / log2(3)), 0.7098, id="ndcg, exponential"),
        pytest.param("ndcg(gain=binary)", 1, 1, id="ndcg, binary: the grades are alike"),
        pytest.param("NDCG_any@5", 1, 1, id="NDCG_any is binary"),
        pytest.param("ndcg@1", 1 / 3, 0.3333, id="ndcg@1, linear"),
        pytest.param("ndcg(gain=exponential)@1", 1 / 7, 0.1429, id="ndcg@1, exponential"),
        pytest.param("dcg(discount=jarvelin)", 1 + 3, 4, id="dcg, jarvelin: ranks 1 and 2 undiscounted"),
        pytest.param("ndcg(discount=jarvelin)", 1, 1, id="ndcg, jarvelin: their order does not matter"),
        pytest.param("ndcg(discount=jarvelin,gain=exponential)@1", 1 / 7, 0.1429, id="ndcg@1, jarvelin, exponential"),
        pytest.param(
            "ndcg(ideal=retrieved)@1", 1, 1, id="ndcg@1 of retrieved: good alone is the best of what was found"
        ),
        pytest.param("err", 1 / 16 + 15 / 16 * 7 / 16 / 2, 0.2676, id="err: satisfied by 1/16, else by 7/16"),
        pytest.param("err(max=3)", 1 / 8 + 7 / 8 * 7 / 8 / 2, 0.5078, id="err(max=3): by 1/8, else by 7/8"),
        pytest.param("bpref(rel=2)", 0, 0, id="bpref(rel=2): good is judged and not relevant, above the only one"),
        pytest.param("weighted_recall@1", 1 / 4, 0.25, id="weighted_recall@1: 1 of 1 + 3"),
        pytest.param("weighted_recall@2", 1, 1, id="weighted_recall@2"),
    ],
)
def test_grades_one_and_three_at_ranks_one_and_two(metric: str, expected: float, four_decimals: float) -> None:
    value = per_query(metric, GRADED_GOLD, "good perfect")
    assert value == pytest.approx(expected, abs=1e-12)
    assert value == pytest.approx(four_decimals, abs=5e-5)


EIGHT = binary("a b c d e f g h")
FIVE = binary("a b c d e")


@each_row(
    ("metric", "gold", "ranked", "expected"),
    [
        # More relevant documents than places.
        pytest.param("recall@5", EIGHT, "a b c d e f g h", 0.625, id="eight relevant, k = 5: recall tops out at 5/8"),
        pytest.param("precision@5", EIGHT, "a b c d e f g h", 1, id="eight relevant, k = 5: precision is 1"),
        pytest.param("ndcg@5", EIGHT, "a b c d e f g h", 1, id="eight relevant, k = 5: the ideal list is cut at 5 too"),
        pytest.param("ap@5", EIGHT, "a b c d e f g h", 5 / 8, id="eight relevant, k = 5: ap still divides by 8"),
        pytest.param("recall_all@5", EIGHT, "a b c d e f g h", 0, id="eight relevant, k = 5: not all of them"),
        pytest.param("recall@8", EIGHT, "a b c d e f g h", 1, id="eight relevant, k = 8"),
        pytest.param("capped_recall@5", EIGHT, "a b c d e f g h", 1, id="eight relevant, k = 5: capped recall is 1"),
        pytest.param(
            "capped_recall@5", EIGHT, "a x b y z c", 2 / 5, id="eight relevant, k = 5, two found: capped at 5"
        ),
        pytest.param(
            "capped_recall@all", EIGHT, "a b", 2 / 8, id="capped_recall@all: no cap, the list's length is none"
        ),
        pytest.param("capped_recall@10", EIGHT, "a b", 2 / 8, id="k beyond the relevant: plain recall"),
        pytest.param("weighted_recall@5", EIGHT, "a b c d e f g h", 5 / 8, id="eight relevant, k = 5: weighted recall"),
        pytest.param("f1@5", EIGHT, "a b c d e", 2 * 0.625 / 1.625, id="eight relevant, k = 5: f1 of 1 and 0.625"),
        # Fewer results than k.
        pytest.param("precision@5", binary("a"), "a x", 1 / 5, id="short list: precision divides by k"),
        pytest.param("precision@all", binary("a"), "a x", 1 / 2, id="precision@all divides by the list's length"),
        pytest.param(
            "precision(of=retrieved)@5", binary("a"), "a x", 1 / 2, id="precision of retrieved: by the length"
        ),
        pytest.param(
            "precision(of=retrieved)@1", binary("a"), "a x", 1, id="precision of retrieved: by no more than k"
        ),
        pytest.param("f1@5", binary("a"), "a x", 2 * (1 / 5) / (6 / 5), id="short list: f1 of precision by k"),
        pytest.param("f1(of=retrieved)@5", binary("a"), "a x", 2 * (1 / 2) / (3 / 2), id="f1 of what was retrieved"),
        pytest.param("f1@all", binary("a"), "a x", 2 * (1 / 2) / (3 / 2), id="f1@all likewise"),
        pytest.param("recall@5", binary("a"), "a x", 1, id="short list: recall"),
        pytest.param("weighted_recall@5", {"a": 3, "b": 1}, "a x", 3 / 4, id="short list: weighted recall"),
        pytest.param("ndcg@5", binary("a b"), "a", 1 / (1 + 1 / log2(3)), id="short list: the ideal is not shortened"),
        # Nothing retrieved is not the same as nothing to retrieve.
        *(pytest.param(metric, binary("a"), "", 0, id=f"empty list: {metric} is 0") for metric in RANKING_METRICS),
        # A document listed twice.
        pytest.param("recall@3", binary("a b"), "a a b", 1, id="duplicates: recall does not exceed 1"),
        pytest.param("recall@2", binary("a b"), "a a b", 1, id="duplicates: later items move up"),
        pytest.param("precision@2", binary("a"), "a a", 1 / 2, id="duplicates: the repeat is not a second hit"),
        pytest.param("mrr", binary("a"), "x x a", 1 / 2, id="duplicates: ranks are counted without them"),
        pytest.param("map", binary("a b"), "a a b b", 1, id="duplicates: map does not exceed 1"),
        pytest.param("ndcg@5", binary("a"), "a a a", 1, id="duplicates: ndcg does not exceed 1"),
        pytest.param("weighted_recall@5", {"a": 3}, "a a a", 1, id="duplicates: weighted recall does not exceed 1"),
        # The ideal comes from the gold, not from what was found.
        pytest.param(
            "ndcg",
            FIVE,
            "a",
            1 / (1 + 1 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6)),
            id="one of five found, at the top: ndcg is not 1",
        ),
        pytest.param("ndcg@10", {"a": 1, "b": 3}, "a", 1 / (3 + 1 / log2(3)), id="the best document was not found"),
        # Gains below and at zero are judged and not relevant.
        pytest.param("mrr", {"bad": -1, "good": 2}, "bad good", 1 / 2, id="negative gain: not relevant"),
        pytest.param("recall@5", {"bad": -1, "good": 2}, "bad good", 1, id="negative gain: not to be found"),
        pytest.param("recall@1", {"bad": -1, "good": 2}, "bad good", 0, id="negative gain: not a hit"),
        pytest.param("dcg", {"bad": -1, "good": 2}, "bad good", 2 / log2(3), id="negative gain: dcg is not lowered"),
        pytest.param("ndcg", {"bad": -1, "good": 2}, "bad good", 1 / log2(3), id="negative gain: ideal without it"),
        pytest.param("precision@2", {"known": 0, "good": 2}, "known good", 1 / 2, id="gain 0: judged, not relevant"),
        pytest.param("hit@1", {"known": 0, "good": 2}, "known good", 0, id="gain 0: not a hit"),
        pytest.param("recall@1", {"good": 0.5}, "good", 1, id="a gain between 0 and 1 is relevant"),
        pytest.param("weighted_recall@1", {"bad": -3, "good": 2}, "bad good", 0, id="negative gain: no worth to find"),
        pytest.param("weighted_recall@2", {"bad": -3, "good": 2}, "bad good", 1, id="negative gain: takes none away"),
        # Average precision by hand.
        pytest.param("map", binary("a b c"), "a x b y c", (1 / 1 + 2 / 3 + 3 / 5) / 3, id="map: hits at 1, 3, 5"),
        pytest.param("ap@3", binary("a b c"), "a x b y c", (1 / 1 + 2 / 3) / 3, id="ap@3: hits at 1, 3"),
        pytest.param("map", binary("a b c"), "x y", 0, id="map: nothing found"),
        pytest.param("map", {"a": 3, "b": 1}, "b a", 1, id="map: grades do not matter"),
    ],
)
def test_trap(metric: str, gold: Gains, ranked: str, expected: float) -> None:
    assert per_query(metric, gold, ranked) == pytest.approx(expected, abs=1e-12)


THREE_GRADES = {"fair": 1.0, "good": 2.0, "perfect": 3.0}


@each_row(
    ("metric", "expected"),
    [
        pytest.param("recall@2", 2 / 3, id="every positive gain without rel"),
        pytest.param("recall(rel=1)@2", 2 / 3, id="rel=1"),
        pytest.param("recall(rel=2)@2", 1 / 2, id="rel=2: good of good and perfect"),
        pytest.param("recall(rel=3)@2", 0, id="rel=3: perfect stands third"),
        pytest.param("recall(rel=1.5)@2", 1 / 2, id="a level between two grades"),
        pytest.param("recall_all(rel=3)@3", 1, id="recall_all"),
        pytest.param("recall_all(rel=2)@2", 0, id="recall_all, one missing"),
        pytest.param("hit(rel=2)@1", 0, id="hit: the first is only fair"),
        pytest.param("hit(rel=2)@2", 1, id="hit"),
        pytest.param("precision(rel=2)@3", 2 / 3, id="precision"),
        pytest.param("precision(rel=3,of=retrieved)@2", 0, id="precision of retrieved"),
        pytest.param("capped_recall(rel=2)@2", 1 / 2, id="capped_recall"),
        pytest.param("f(rel=2)@3", 2 * (2 / 3) / (5 / 3), id="f: precision 2/3, recall 1"),
        pytest.param("mrr(rel=2)", 1 / 2, id="mrr"),
        pytest.param("mrr(rel=3)@2", 0, id="mrr with a cut-off"),
        pytest.param("map(rel=2)", (1 / 2 + 2 / 3) / 2, id="map"),
        pytest.param("ap(rel=2)@2", (1 / 2) / 2, id="ap with a cut-off"),
        pytest.param("recall(rel=4)@3", None, id="no document is that relevant: undefined"),
        pytest.param("capped_recall(rel=4)@3", None, id="capped_recall likewise"),
        pytest.param("f(rel=4)@3", None, id="f likewise"),
        pytest.param("recall_auc(rel=4)", None, id="recall_auc likewise"),
    ],
)
def test_relevance_level(metric: str, expected: float | None) -> None:
    assert per_query(metric, THREE_GRADES, "fair good perfect") == pytest.approx(expected)


@each_row(
    "gold",
    [
        pytest.param({}, id="no judgment"),
        pytest.param({"a": 0.0}, id="only gain 0"),
        pytest.param({"a": -1.0, "b": 0.0}, id="only gains below and at 0"),
    ],
)
@each_row("metric", RANKING_METRICS)
def test_undefined_where_nothing_is_relevant(metric: str, gold: Gains) -> None:
    assert per_query(metric, gold, "a b") is None
    assert per_query(metric, gold, "") is None


@each_row(
    ("metric", "k", "expected"),
    [
        pytest.param("recall@k", 2, 1 / 4, id="@k is the sample's"),
        pytest.param("recall", 2, 1 / 4, id="no number is @k"),
        pytest.param("recall", None, 2 / 4, id="without metadata.k the default of 5"),
        pytest.param("recall@7", 2, 3 / 4, id="an explicit number beats metadata.k"),
        pytest.param("precision", 2, 1 / 2, id="precision divides by the sample's k"),
        pytest.param("precision@k", None, 2 / 5, id="precision divides by the default k"),
        pytest.param("precision(of=retrieved)", 2, 1 / 2, id="precision of retrieved at the sample's k"),
        pytest.param("capped_recall", 2, 1 / 2, id="capped_recall"),
        pytest.param("weighted_recall", 4, 2 / 4, id="weighted_recall"),
        pytest.param("f1", 2, 2 * (1 / 2) * (1 / 4) / (3 / 4), id="f1"),
        pytest.param("hit", 1, 0, id="hit"),
        pytest.param("recall_all", 8, 1, id="recall_all"),
        pytest.param("mrr", 1, 1 / 2, id="mrr without a number is the whole list, whatever metadata.k"),
        pytest.param("mrr@k", 1, 0, id="mrr@k is the sample's"),
        pytest.param("map", 2, (1 / 2 + 2 / 4 + 3 / 6 + 4 / 8) / 4, id="map without a number is the whole list"),
        pytest.param("ap@k", 2, (1 / 2) / 4, id="ap@k is the sample's"),
        pytest.param("dcg@k", 2, 1 / log2(3), id="dcg@k"),
        pytest.param("ndcg@k", 2, (1 / log2(3)) / (1 + 1 / log2(3)), id="ndcg@k cuts the ideal list too"),
        pytest.param("recall@all", 2, 1, id="@all is the whole list"),
        pytest.param("precision@all", 2, 4 / 8, id="precision@all"),
        pytest.param("hit@all", 1, 1, id="hit@all"),
        pytest.param("recall@1000000", 2, 1, id="a cut-off beyond the list"),
    ],
)
def test_cut_off(metric: str, k: int | None, expected: float) -> None:
    every_second = per_query(metric, binary("b d f h"), "a b c d e f g h", k)
    assert every_second == pytest.approx(expected, abs=1e-12)


def test_default_k_can_be_set() -> None:
    sample = Sample(query_id="q", gains=binary("a b"))
    query = match(sample, Ranking("q", ["a", "b"]), default_k=1)
    assert parse_metric("recall").per_query(query) == 1 / 2


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param("recall@all", 1 / 2, id="the whole list ends at the depth"),
        pytest.param("precision@all", 1 / 2, id="and is no longer than the depth"),
        pytest.param("mrr", 1 / 2, id="a hit above stays"),
        pytest.param("recall@1", 0, id="a smaller cut-off still cuts"),
    ],
)
def test_lists_are_cut_at_the_depth_of_the_baseline(metric: str, expected: float) -> None:
    query = match(Sample(query_id="q", gains=binary("b d")), Ranking("q", ["a", "b", "c", "d"]), depth=2)
    assert parse_metric(metric).per_query(query) == expected


@pytest.mark.parametrize(
    ("metric", "gold", "ranked"),
    [
        pytest.param(
            "weighted_recall@5", {"a": 0.1, "b": 0.2, "c": 0.3}, "a b c", id="0.1 + 0.2 + 0.3 > 0.3 + 0.2 + 0.1"
        ),
        pytest.param(
            *("ndcg", {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0000000000000002, "e": 1.0}, "a b c d e"),
            id="nDCG of grades that differ in the last digit",
        ),
    ],
)
def test_rounding_does_not_lift_a_value_above_1(metric: str, gold: Gains, ranked: str) -> None:
    assert per_query(metric, gold, ranked) == 1


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param("recall@5", 1 / 2, id="every positive grade"),
        pytest.param("recall(rel=0.5)@5", 1 / 2, id="from the lowest grade on"),
        pytest.param("recall(rel=1)@5", 1, id="from 1 on: a grade between 0 and 1 is not enough"),
        pytest.param("recall(rel=2)@5", None, id="from above the highest on: undefined"),
    ],
)
def test_grades_below_1(metric: str, expected: float | None) -> None:
    assert per_query(metric, {"a": 1.0, "b": 0.5}, "a x") == expected


@pytest.mark.parametrize(
    ("metric", "meaning"),
    [
        pytest.param("recall@3", "share of the relevant documents found in the first 3 results", id="a number"),
        pytest.param("recall@k", "share of the relevant documents found in the first k results", id="the sample's"),
        pytest.param("recall@all", "share of the relevant documents found in the whole list", id="none"),
        pytest.param("recall@1", "share of the relevant documents found at rank 1", id="one"),
        pytest.param("precision@5", "share of the first 5 results that are relevant", id="several, as a subject"),
        pytest.param("precision@1", "share of the first result that is relevant", id="one, as a subject"),
        pytest.param("precision@all", "share of the whole list that is relevant", id="none, as a subject"),
    ],
)
def test_a_meaning_says_how_far_the_list_counts(metric: str, meaning: str) -> None:
    assert parse_metric(metric).meaning == meaning


def test_exponential_gain_of_a_tiny_grade_is_not_lost_in_rounding() -> None:
    assert per_query("ndcg(gain=exponential)", {"a": 1e-17}, "a") == 1


# Latency.


@each_row(
    ("metric", "latency_ms", "expected"),
    [
        pytest.param("latency", {"retrieve": 35, "rerank": 22}, 57, id="total is the sum of the stages"),
        pytest.param("latency(stage=total)", {"retrieve": 35, "rerank": 22}, 57, id="total by name"),
        pytest.param("latency(stage=embed)", {"embed": 4, "retrieve": 35}, 4, id="a stage of any name"),
        pytest.param("latency(stage=Rerank)", {"rerank": 5}, 5, id="known stages in any case"),
        pytest.param("latency(stage=retrieve)", {"retrieve": 35, "rerank": 22}, 35, id="retrieve"),
        pytest.param("latency(stage=rerank)", {"retrieve": 35, "rerank": 22}, 22, id="rerank"),
        pytest.param("latency(quantile=0.9)", {"retrieve": 35, "rerank": 22}, 57, id="a quantile is of the total too"),
        pytest.param("latency", {"retrieve": 35}, 35, id="total of one stage"),
        pytest.param(
            "latency", {"retrieve": 35, "rerank": 22, "total": 60}, 60, id="a total that is stated counts once"
        ),
        pytest.param("latency(stage=rerank)", {"retrieve": 35}, None, id="a stage that is not stated"),
        pytest.param("latency", {"retrieve": 0}, 0, id="0 ms is a time"),
        pytest.param("latency", {}, None, id="no stage stated"),
        pytest.param("latency", None, None, id="no latency stated"),
    ],
)
def test_latency_of_a_query(metric: str, latency_ms: Mapping[str, float] | None, expected: float | None) -> None:
    sample = Sample(query_id="q", gains={})  # latency does not ask for relevance
    query = match(sample, Ranking("q", [], 0, Details(latency_ms=latency_ms)), needs=frozenset({RunField.LATENCY}))
    assert parse_metric(metric).per_query(query) == expected


ONE_TO_HUNDRED = [float(x) for x in range(1, 101)]


@pytest.mark.parametrize(
    ("metric", "values", "expected"),
    [
        pytest.param("latency", [10, 20, 60], 30, id="mean"),
        pytest.param("latency(quantile=0.5)", [10, 20, 60], 20, id="median of three"),
        pytest.param("latency(quantile=0.5)", [1, 2, 3, 4], 2, id="median of four: a value that was observed"),
        pytest.param("latency(quantile=0.9)", [60, 10, 20], 60, id="p90 of three is the largest"),
        pytest.param("latency(quantile=0.5)", ONE_TO_HUNDRED, 50, id="p50"),
        pytest.param("latency(quantile=0.9)", ONE_TO_HUNDRED, 90, id="p90"),
        pytest.param("latency(quantile=0.95)", ONE_TO_HUNDRED, 95, id="p95"),
        pytest.param("latency(quantile=0.99)", ONE_TO_HUNDRED, 99, id="p99"),
        pytest.param("latency(stage=rerank,quantile=0.9)", [7], 7, id="p90 of one value"),
        pytest.param("recall@5", [0, 1, 0.5], 0.5, id="ranking metrics take the mean"),
    ],
)
def test_aggregate(metric: str, values: Sequence[float], expected: float) -> None:
    assert parse_metric(metric).aggregate(values) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "meaning"),
    [
        pytest.param("latency", "milliseconds that a question takes on average", id="mean"),
        pytest.param(
            "latency(quantile=0.9)", "milliseconds within which 90% of the questions are answered", id="a quantile"
        ),
        pytest.param(
            "latency(quantile=p5)", "milliseconds within which 5% of the questions are answered", id="a low percentile"
        ),
        pytest.param(
            "latency(quantile=0.999)",
            "milliseconds within which 99.9% of the questions are answered",
            id="finer than a percentile",
        ),
        pytest.param("source_share(kb)", "share of questions that went to this source", id="of a source"),
        pytest.param("score(cost)", "what another tool scored on average", id="of another tool"),
        pytest.param(
            *("score(cost,quantile=0.9)", "what another tool scored at most for 90% of the questions"),
            id="of another tool, a quantile",
        ),
    ],
)
def test_meanings_without_a_list(metric: str, meaning: str) -> None:
    assert parse_metric(metric).meaning == meaning


@pytest.mark.parametrize(
    ("unit", "metrics"),
    [
        pytest.param(
            *(Unit.SHARE, "hit,recall,recall_all,capped_recall,weighted_recall,precision,judged,holes,negatives_above"),
            id="shares of documents or of questions",
        ),
        pytest.param(
            *(Unit.SHARE, "containment,redundancy,novelty,freshness,source_coverage,misroute_rate,source_share(kb)"),
            id="shares of items or of lines",
        ),
        pytest.param(Unit.SHARE, "overlap,false_evidence_rate", id="shares of what was or should not be there"),
        pytest.param(Unit.SCORE, "mrr,map,ndcg,f,recall_auc,rbo,entity_f1", id="scores from 0 to 1"),
        pytest.param(Unit.NUMBER, "dcg,distinct_docs,score(cost)", id="plain numbers"),
        pytest.param(Unit.MILLISECONDS, "latency", id="times"),
    ],
)
def test_how_people_read_values(unit: Unit, metrics: str) -> None:
    assert {metric.unit for metric in parse_metrics(metrics)} == {unit}


@pytest.mark.parametrize("value", [pytest.param(nan, id="no number"), pytest.param(inf, id="infinite")])
@pytest.mark.parametrize("metric", ["recall@5", "latency(quantile=0.5)"])
def test_a_value_that_is_not_finite_leaves_no_interval(metric: str, value: float) -> None:
    """As a faulty metric of a package could make it."""
    assert interval([0.5, 0.25, value], parse_metric(metric)) is None


# A run: absent, empty and undefined queries.

RIGHT = {"gains": {"a": 1.0}}
FOUR_QUERIES = Gold(
    samples={
        "found": Sample(query_id="found", gains=binary("a")),
        "empty": Sample(query_id="empty", gains=binary("a")),
        "absent": Sample(query_id="absent", gains=binary("a")),
        "nothing relevant": Sample(query_id="nothing relevant", gains={}),
    },
    name="gold.yaml",
    format="yaml",
    fingerprint="",
)
THREE_RANKINGS = [
    Ranking("found", ["a", "b"], 1, Details(latency_ms={"retrieve": 10.0})),
    Ranking("empty", [], 0, Details(latency_ms={"retrieve": 30.0})),
    Ranking("nothing relevant", ["c"], 0, Details(latency_ms={"retrieve": 5.0})),
    Ranking("stranger", ["a"], 7),
]


@each_row(
    ("metric", "gold", "expected"),
    [
        pytest.param("recall@5", RIGHT, 0, id="recall: the worst"),
        pytest.param("recall@5", {}, None, id="recall: undefined where nothing is relevant"),
        pytest.param("recall(stage=raw)@5", RIGHT, 0, id="recall of another list"),
        pytest.param("recall(source=kb)@5", {**RIGHT, "source": ("kb",)}, 0, id="recall of a source's questions"),
        pytest.param("recall(source=kb)@5", {**RIGHT, "source": ("web",)}, None, id="undefined for another's"),
        pytest.param("rerank_gain(recall@5)", RIGHT, None, id="what reranking adds: nothing to compare"),
        pytest.param("negatives_above@5", {**RIGHT, "negatives": ("n",)}, 1, id="negatives_above: the worst is 1"),
        pytest.param("negatives_above@5", RIGHT, None, id="negatives_above: undefined without negatives"),
        pytest.param("judged@5", RIGHT, 0, id="judged, although an empty list is undefined"),
        pytest.param("holes@5", RIGHT, 1, id="holes, although an empty list is undefined"),
        pytest.param("containment@5", {"answers": ("30 days",)}, 0, id="containment"),
        pytest.param("containment@5", {}, None, id="containment: undefined without an answer"),
        pytest.param("distinct_docs@5", {}, 0, id="distinct_docs, although an empty list is undefined"),
        pytest.param("redundancy@5", {}, 1, id="redundancy, although an empty list is undefined"),
        pytest.param("novelty@5", {}, 0, id="novelty, although an empty list is undefined"),
        pytest.param("freshness@5", {"as_of": "2025-06-01"}, 0, id="freshness"),
        pytest.param("freshness@5", {}, None, id="freshness: undefined without a day"),
        pytest.param("source_coverage", {"source": ("kb",)}, 0, id="source_coverage"),
        pytest.param("source_coverage", {}, None, id="source_coverage: undefined without a source"),
        pytest.param("misroute_rate", {"source": ("kb",)}, 1, id="misroute_rate"),
        pytest.param("misroute_rate", {}, None, id="misroute_rate: undefined without a source"),
        pytest.param("entity_f1", {"entities": ()}, 0, id="entity_f1, also where there are none to find"),
        pytest.param("entity_f1", {}, None, id="entity_f1: undefined without entities"),
        pytest.param("false_evidence_rate", {"no_answer": True}, 1, id="false_evidence_rate"),
        pytest.param("false_evidence_rate", RIGHT, None, id="false_evidence_rate: undefined for what has an answer"),
        pytest.param("source_share(kb)", {"source": ("kb",)}, None, id="source_share: no line, no source"),
        pytest.param("score(cost)", {}, None, id="score: no line, no score"),
        pytest.param("latency", {}, None, id="latency: no line, no time"),
        pytest.param("overlap@5", RIGHT, None, id="overlap: no list to compare"),
    ],
)
def test_a_query_that_the_run_lacks(metric: str, gold: Mapping[str, Any], expected: float | None) -> None:
    wanted = parse_metric(metric)
    sample = Sample(query_id="q", **{"gains": {}, **gold})
    assert wanted.absent(match(sample, Ranking("q", []), needs=wanted.needs)) == expected


@pytest.mark.parametrize(
    ("metric", "column", "value_and_undefined"),
    [
        pytest.param("recall@5", [1, 0, 0, None], (1 / 3, 1), id="recall: absent is worst, no relevant is undefined"),
        pytest.param("mrr", [1, 0, 0, None], (1 / 3, 1), id="mrr"),
        pytest.param("ndcg@10", [1, 0, 0, None], (1 / 3, 1), id="ndcg"),
        pytest.param("latency", [10, 30, None, 5], (15, 1), id="latency: absent is undefined, not 0 ms"),
        pytest.param("latency(quantile=0.5)", [10, 30, None, 5], (10, 1), id="a quantile likewise"),
        pytest.param("latency(stage=rerank)", [None] * 4, None, id="defined nowhere: no value at all"),
    ],
)
def test_run(metric: str, column: list[float | None], value_and_undefined: tuple[float, int] | None) -> None:
    parsed = parse_metric(metric)
    scores = score(FOUR_QUERIES, THREE_RANKINGS, Plan(metrics=[parsed]))
    assert scores.values[metric] == column
    found = estimate(scores.values[metric], parsed)
    assert (found and pytest.approx((found.value, found.undefined))) == value_and_undefined


def test_run_counts_what_was_absent_foreign_and_removed() -> None:
    scores = score(FOUR_QUERIES, THREE_RANKINGS, Plan(metrics=[parse_metric("mrr")]))
    assert scores.missing == {"absent"}  # an empty list is not absent
    assert scores.unknown_queries == ("stranger",)
    assert scores.duplicates == 1  # the stranger's do not count
