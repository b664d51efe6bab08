"""Scoring a run: what absent queries, strangers, duplicates and the depth do to the values, and what is counted."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.rows import each_row

from rankgate.errors import Problem, RankgateError
from rankgate.metrics.base import Metric, RelevanceMetric, sees_hits_alone
from rankgate.metrics.estimates import Estimate, distribution, estimate
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.metrics.plan import Plan, require_gold_queries
from rankgate.metrics.registry import families
from rankgate.metrics.scoring import score
from rankgate.model.scores import MatchedQuery, RankSummary, Scores
from rankgate.model.values import Details, Direction, Gold, Ranking, RunField, Sample
from rankgate.readers.base import deduplicated
from rankgate.statistics.quantiles import quantile

FAMILIES = tuple(families())

RANKING = {
    "hit",
    "recall",
    "recall_all",
    "capped_recall",
    "weighted_recall",
    "precision",
    "mrr",
    "ap",
    "dcg",
    "ndcg",
    "f",
}


class MissRate(RelevanceMetric, frozen=True, kw_only=True):
    """Lower is better and 1 is worst: share of the relevant documents that the first k lack."""

    key: ClassVar[str] = "miss_rate"
    formula: ClassVar[str] = "1 − |R_k ∩ G| / n"
    direction: ClassVar[Direction] = Direction.LOWER
    worst: ClassVar[float | None] = 1.0
    plain: ClassVar[str] = "share of the relevant documents that {first} lack"

    def per_query(self, query: MatchedQuery) -> float | None:
        relevant = self.relevant(query)
        return 1 - len(self.ranks(query)) / relevant if relevant else None


def gold(samples: Mapping[str, Sequence[str]], *, k: int | None = None) -> Gold:
    made = {
        query_id: Sample(query_id=query_id, gains=dict.fromkeys(relevant, 1.0), k=k)
        for query_id, relevant in samples.items()
    }
    return Gold(samples=made, name="gold.yaml", format="yaml", fingerprint="")


def run(lists: Mapping[str, str]) -> list[Ranking]:
    """Rankings from words: `{"q1": "a b c"}`; repeated ids are removed as the readers do."""
    return [Ranking(query_id, *deduplicated(ids.split())) for query_id, ids in lists.items()]


GOLD = gold({"q1": ["a"], "q2": ["b", "c"], "q3": ["d"], "unanswerable": []})


def values(metric: str | Metric, lists: Mapping[str, str], *, depth: int | None = None) -> list[float | None]:
    wanted = parse_metric(metric) if isinstance(metric, str) else metric
    return [*score(GOLD, run(lists), Plan(metrics=[wanted], depth=depth)).values[wanted.name]]


@pytest.mark.parametrize(
    ("metric", "lists", "expected"),
    [
        pytest.param(
            *("recall@5", {"q1": "a", "q2": "b x c", "q3": "d", "unanswerable": "x"}, [1.0, 1.0, 1.0, None]),
            id="every query in the run",
        ),
        pytest.param(
            *("recall@5", {"q3": "d", "q2": "b", "q1": "x"}, [0.0, 0.5, 1.0, None]),
            id="values stand in the order of the gold, not of the run",
        ),
        pytest.param("recall@5", {"q2": "b"}, [0.0, 0.5, 0.0, None], id="an absent query scores worst: 0"),
        pytest.param("mrr", {"q2": "x b"}, [0.0, 0.5, 0.0, None], id="whichever the metric"),
        pytest.param(MissRate(cutoff=5), {"q2": "b"}, [1.0, 0.5, 1.0, None], id="or 1 where lower is better"),
        pytest.param("latency", {"q1": "a"}, [None, None, None, None], id="latency has no worst value: undefined"),
        pytest.param("recall@5", {"q1": "", "q2": "b"}, [0.0, 0.5, 0.0, None], id="an empty list finds nothing"),
        pytest.param("recall@5", {"q1": "x a a y"}, [1.0, 0.0, 0.0, None], id="duplicates are gone before scoring"),
        pytest.param("mrr", {"q1": "x x a"}, [0.5, 0.0, 0.0, None], id="and later items moved up"),
    ],
)
def test_values_of_a_run(metric: str | Metric, lists: Mapping[str, str], expected: list[float | None]) -> None:
    assert values(metric, lists) == expected


@pytest.mark.parametrize(
    ("lists", "missing"),
    [
        pytest.param({"q1": "a", "q2": "b", "q3": "d", "unanswerable": ""}, set(), id="none"),
        pytest.param({"q1": "a", "q3": "d", "unanswerable": ""}, {"q2"}, id="one"),
        pytest.param({"q1": "", "q2": "", "q3": "", "unanswerable": ""}, set(), id="an empty list is not absent"),
        pytest.param({"q1": "a", "q2": "b", "q3": "d"}, {"unanswerable"}, id="one that no metric counts"),
        pytest.param({"other": "a"}, {"q1", "q2", "q3", "unanswerable"}, id="all"),
    ],
)
def test_absent_queries_are_named(lists: Mapping[str, str], missing: set[str]) -> None:
    assert score(GOLD, run(lists), Plan(metrics=parse_metrics("recall@5"))).missing == missing


def test_strangers_are_named_in_the_order_of_the_run_and_count_for_nothing() -> None:
    with_strangers = {"z": "a a a", "q1": "a", "b": "b", "q2": "b", "q3": "d", "unanswerable": "x"}
    without = {query: ids for query, ids in with_strangers.items() if query not in {"z", "b"}}
    metrics = parse_metrics("recall@5,mrr,precision@3")
    found = score(GOLD, run(with_strangers), Plan(metrics=metrics, depth=2, keep_matched=True))
    assert found.unknown_queries == ("z", "b")
    assert found == score(
        GOLD, [*run({"z": "", "b": ""}), *run(without)], Plan(metrics=metrics, depth=2, keep_matched=True)
    )


def test_duplicates_are_counted_over_all_lists() -> None:
    assert (
        score(GOLD, run({"q1": "a a", "q2": "x y x y", "q3": "d"}), Plan(metrics=parse_metrics("hit@5"))).duplicates
        == 3
    )


@pytest.mark.parametrize(
    ("metric", "depth", "expected", "cut"),
    [
        pytest.param("mrr", None, 0.25, 0, id="without a depth the whole list counts"),
        pytest.param("mrr", 4, 0.25, 1, id="cut right below the hit"),
        pytest.param("mrr", 3, 0.0, 1, id="cut right above the hit"),
        pytest.param("mrr", 6, 0.25, 0, id="as deep as the list: nothing is cut"),
        pytest.param("mrr", 100, 0.25, 0, id="deeper than the list: nothing is cut"),
        pytest.param("recall@5", 3, 0.0, 1, id="a cut-off below the depth sees no more than the depth"),
        pytest.param("precision@all", 4, 0.25, 1, id="the length of the list is that of the cut list"),
    ],
)
def test_the_depth_cuts_the_lists(metric: str, depth: int | None, expected: float, cut: int) -> None:
    lists = {"q1": "v w x a y z", "q2": "b", "q3": "d"}
    wanted = parse_metric(metric)
    found = score(GOLD, run(lists), Plan(metrics=[wanted], depth=depth))
    assert found.values[wanted.name][0] == expected
    assert found.cut == cut


@pytest.mark.parametrize(
    ("sample_k", "default_k", "expected"),
    [
        pytest.param(None, None, 1.0, id="neither: the first 5"),
        pytest.param(None, 2, 0.0, id="the default of the criteria"),
        pytest.param(3, None, 1.0, id="the sample's own k"),
        pytest.param(2, 10, 0.0, id="the sample's own k wins"),
    ],
)
def test_a_metric_without_a_number_takes_the_samples_k(
    sample_k: int | None, default_k: int | None, expected: float
) -> None:
    asked = gold({"q1": ["a"]}, k=sample_k)
    lists, metrics = run({"q1": "x y a"}), parse_metrics("recall")
    found = (
        score(asked, lists, Plan(metrics=metrics))
        if default_k is None
        else score(asked, lists, Plan(metrics=metrics, default_k=default_k))
    )
    assert found.values == {"recall@k": [expected]}


def test_what_is_kept_of_queries_is_what_is_asked_for() -> None:
    lists, plan = {"q2": "x c b", "other": "a"}, Plan(metrics=parse_metrics("mrr"), keep_matched=True)
    neither = score(GOLD, run(lists), Plan(metrics=plan.metrics))
    rank_summaries = score(GOLD, run(lists), plan)
    whole = score(GOLD, run(lists), replace(plan, also=frozenset({RunField.LATENCY})))
    assert (neither.rank_summaries, neither.matched, rank_summaries.matched) == ({}, {}, {})
    assert rank_summaries.rank_summaries == whole.rank_summaries == {"q2": RankSummary((3, 2), retrieved=3, k=5)}, (
        "in the order of the gold"
    )
    assert whole.matched == {
        "q2": MatchedQuery(
            query_id="q2",
            hits=((2, 1.0), (3, 1.0)),
            found=("c", "b"),
            ideal=(1.0, 1.0),
            retrieved=3,
            k=5,
            sample=GOLD.samples["q2"],
        )
    }


stages = st.dictionaries(st.sampled_from(["retrieve", "rerank", "total"]), st.none() | st.floats(0, 9))


@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3", "other"]), stages))
def test_times_are_kept_flat_and_without_their_queries(times: dict[str, dict[str, float | None]]) -> None:
    lists = [Ranking(query, ["a"], details=Details(latency_ms=stated)) for query, stated in times.items()]
    plan = Plan(metrics=parse_metrics("latency"), keep_matched=True)
    found = score(GOLD, lists, plan)
    expected: dict[str, dict[int, float]] = {}
    for query, stated in times.items():
        for stage, time in stated.items():
            if time is not None and query in GOLD.samples:
                expected.setdefault(stage, {})[found.query_ids.index(query)] = time
    assert {stage: each.by_row for stage, each in found.kept.stage_times.items()} == expected
    assert found.matched == {}
    assert (
        score(GOLD, lists, replace(plan, also=frozenset({RunField.LATENCY}))).kept.stage_times == found.kept.stage_times
    )


def test_a_run_is_read_once_as_a_stream() -> None:
    def stream() -> Iterator[Ranking]:
        yield from run({"q1": "a", "q2": "b", "q3": "d"})

    found = score(GOLD, stream(), Plan(metrics=parse_metrics("recall@1,3,mrr,ndcg@5")))
    assert list(found.values) == ["recall@1", "recall@3", "mrr", "ndcg@5"]
    assert found.query_ids == ("q1", "q2", "q3", "unanswerable")


documents = st.sampled_from("abcdefg")
rankings = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "other"]), st.lists(documents, max_size=7))


@given(rankings, st.none() | st.integers(1, 8))
def test_scores_agree_with_an_obvious_oracle(lists: dict[str, list[str]], depth: int | None) -> None:
    found = score(
        GOLD,
        run({query: " ".join(ids) for query, ids in lists.items()}),
        Plan(metrics=parse_metrics("recall@3"), depth=depth),
    )
    expected: list[float | None] = []
    for query_id, sample in GOLD.samples.items():
        relevant = set(sample.gains)
        unique = list(dict.fromkeys(lists.get(query_id, [])))[:depth][:3]
        expected.append(len(relevant.intersection(unique)) / len(relevant) if relevant else None)
    assert found.values == {"recall@3": expected}


@given(rankings, st.randoms(use_true_random=False))
def test_the_order_of_a_run_does_not_matter(lists: dict[str, list[str]], shuffler: random.Random) -> None:
    there = run({query: " ".join(ids) for query, ids in lists.items()})
    back = list(there)
    shuffler.shuffle(back)
    metrics: Sequence[Metric] = parse_metrics("recall@3,ndcg")
    assert score(GOLD, there, Plan(metrics=metrics)).values == score(GOLD, back, Plan(metrics=metrics)).values


def stranger_scores(asked: Gold, lists: Mapping[str, str]) -> Scores:
    return score(asked, run(lists), Plan(metrics=parse_metrics("recall@5")))


def refusal(asked: Gold, lists: Mapping[str, str]) -> Problem | None:
    try:
        require_gold_queries(stranger_scores(asked, lists), "run.jsonl", asked)
    except RankgateError as error:
        (problem,) = error.problems
        return problem
    return None


@pytest.mark.parametrize(
    ("asked", "lists", "message"),
    [
        pytest.param(
            {"q1": ["a"], "q2": ["b"]},
            {"Q1": "a", "Q2": "b"},
            "the run has none of the 2 gold questions: gold.yaml has 'q1', 'q2', the run has 'Q1', 'Q2'; "
            "do both use the same question ids?",
            id="other ids",
        ),
        pytest.param(
            {f"q{number}": ["a"] for number in range(1000)},
            {f"faq-{number}": "a" for number in range(1000)},
            "the run has none of the 1,000 gold questions: gold.yaml has 'q0', 'q1', 'q2', "
            "the run has 'faq-0', 'faq-1', 'faq-2'; do both use the same question ids?",
            id="three of many are named",
        ),
        pytest.param(
            {"q1": ["a"], "q2": ["b"]},
            {},
            "the run has none of the 2 gold questions: gold.yaml has 'q1', 'q2', the run has no query at all; "
            "do both use the same question ids?",
            id="an empty run",
        ),
        pytest.param(
            {"q1": ["a"], "a\u202eb": ["b"]},
            {"é\n": "a"},
            "the run has none of the 2 gold questions: gold.yaml has 'q1', 'a\\u202eb', the run has 'é\\n'; "
            "do both use the same question ids?",
            id="what is hidden in ids is shown",
        ),
    ],
)
def test_a_run_without_a_gold_query_is_refused(
    asked: dict[str, list[str]], lists: dict[str, str], message: str
) -> None:
    assert refusal(gold(asked), lists) == Problem(message, "run.jsonl")


@pytest.mark.parametrize(
    "lists",
    [
        pytest.param({"q1": "a", "other": "b"}, id="one common query is enough"),
        pytest.param({"q2": ""}, id="even without a result"),
    ],
)
def test_a_run_with_a_gold_query_is_not_refused(lists: dict[str, str]) -> None:
    assert refusal(GOLD, lists) is None


@pytest.mark.parametrize(
    ("metric", "column", "expected"),
    [
        pytest.param("recall@5", [1.0, 0.5, 0.0, 0.5], (0.5, 4, 0), id="the mean"),
        pytest.param("recall@5", [1.0, None, 0.5], (0.75, 2, 1), id="undefined queries are left out and counted"),
        pytest.param("recall@5", [0.25], (0.25, 1, 0), id="a single query"),
        pytest.param("latency", [10.0, 30.0, None], (20.0, 2, 1), id="mean latency"),
        pytest.param("latency(quantile=0.5)", [1.0, 9.0, 2.0], (2.0, 3, 0), id="a quantile is a value that occurred"),
    ],
)
def test_the_value_of_a_run(metric: str, column: list[float | None], expected: tuple[float, int, int]) -> None:
    found = estimate(column, parse_metric(metric))
    assert found is not None
    assert (found.value, found.n, found.undefined) == expected


@pytest.mark.parametrize("column", [pytest.param([], id="no query"), pytest.param([None, None], id="all undefined")])
def test_a_metric_that_is_defined_nowhere_has_no_value(column: list[float | None]) -> None:
    assert estimate(column, parse_metric("recall@5")) is None


def bounds(found: Estimate | None) -> tuple[float | None, float | None] | None:
    assert found is not None
    return found.ci


def test_intervals_of_a_value() -> None:
    recall, slow = parse_metric("recall@5"), parse_metric("latency(quantile=0.9)")
    assert bounds(estimate([0.5], recall)) is None, "one query does not tell how much others would differ"
    low, high = bounds(estimate([1.0] * 30 + [0.0] * 10, recall)) or (None, None)
    assert low is not None
    assert high is not None
    assert 0.5 < low < 0.75 < high < 0.9
    assert bounds(estimate([float(ms) for ms in range(1, 21)], slow)) == (15.0, None), "p90 of 20 has no upper bound"


def test_values_that_are_all_the_same_do_not_tell_how_bad_another_could_be() -> None:
    """Of a metric with a range they do; one of a range to one side keeps the other bound, from ten values on."""
    latency, gained = parse_metric("latency"), parse_metric("dcg@5")
    assert [bounds(estimate([2.0] * 9, metric)) for metric in (latency, gained)] == [None, None]
    assert bounds(estimate([2.0] * 10, gained)) == (None, 2.0)
    low, high = bounds(estimate([2.0] * 10, latency)) or (None, None)
    assert high is None
    assert low is not None
    assert low < 2.0


@given(st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), min_size=1, max_size=50))
def test_how_a_rate_is_spread(values: list[float]) -> None:
    found, count = distribution(values), len(values)
    assert found.quartiles == tuple(quantile(values, share) for share in (0.25, 0.5, 0.75))
    assert (found.zero, found.one) == (values.count(0.0) / count, values.count(1.0) / count)
    assert found.zero + found.between + found.one == pytest.approx(1)


@pytest.mark.full
@given(st.lists(st.tuples(st.lists(documents, unique=True), st.lists(documents, unique=True, min_size=1)), max_size=9))
def test_queries_alike_have_the_values_that_each_would_have_alone(queries: list[tuple[list[str], list[str]]]) -> None:
    """Values are remembered by what ranking metrics see; here few queries differ in more."""
    metrics = [
        *parse_metrics("hit@1,2,recall@1,2,5,precision@2,precision(of=retrieved)@5,f1@3,mrr,map,ndcg@2,5,dcg,recall"),
        MissRate(cutoff=2),
    ]
    asked = Gold(
        samples={
            f"q{number}": Sample(query_id=f"q{number}", gains=dict.fromkeys(relevant, 1.0), k=number % 3 + 1)
            for number, (_, relevant) in enumerate(queries)
        },
        name="gold.yaml",
        format="yaml",
        fingerprint="",
    )
    lists = [Ranking(f"q{number}", ids) for number, (ids, _) in enumerate(queries)]
    found = score(asked, lists, Plan(metrics=metrics)).values
    for number, ranking in enumerate(lists):
        query = match(asked.samples[ranking.query_id], ranking)
        assert [found[metric.name][number] for metric in metrics] == [metric.per_query(query) for metric in metrics]


@each_row(
    ("family", "alone"),
    [
        *(pytest.param(family(), family.ranking, id=family.key) for family in FAMILIES if family.key in RANKING),
        pytest.param(MissRate(cutoff=5), False, id="of a package, which may look at anything"),
        pytest.param(parse_metric("recall(stage=raw)@5"), False, id="of another list"),
        pytest.param(parse_metric("latency"), False, id="of what the line says"),
    ],
)
def test_which_metrics_see_hits_alone(family: Metric, alone: bool) -> None:  # noqa: FBT001
    assert sees_hits_alone(family) is alone


def test_the_value_does_not_depend_on_the_order_of_the_gold() -> None:
    """Gold sets come as YAML, JSONL or qrels, in any order: the same judgments, the same value to the last bit."""
    metric = parse_metric("recall@5")
    column: list[float | None] = [1 / 3, 2 / 3, 1 / 3, 1.0, 0.5, 1 / 6, 1 / 7, 3 / 7, 0.2, 0.6]
    found = [estimate([*column[start:], *column[:start]], metric) for start in range(len(column))]
    assert len({each.value for each in found if each}) == 1
