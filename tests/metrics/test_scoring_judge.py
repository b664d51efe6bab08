"""Scoring where more than ids counts: a judge's labels beside the gold, the spread of a rate, what a run keeps silent
about, and what an absent query scores.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.errors import Problem, RankgateError
from rankgate.metrics.estimates import distribution, estimate
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.metrics.plan import Plan, require_fields
from rankgate.metrics.registry import families
from rankgate.metrics.scoring import score, with_judge
from rankgate.model.scores import Scores
from rankgate.model.values import Details, Gold, Item, Ranking, RunField, Sample

FAMILIES = tuple(families())


def gold(*samples: Sample) -> Gold:
    return Gold(samples={each.query_id: each for each in samples}, name="gold.yaml", format="yaml", fingerprint="")


def listed(query_id: str, ids: str, **details: Any) -> Ranking:
    return Ranking(query_id, ids.split(), 0, Details(**details) if details else None)


# A judge's labels.


@pytest.mark.parametrize(
    ("gains", "labels", "both"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="what the gold does not judge is added"),
        pytest.param({"a": 0}, {"a": 1}, {"a": 0}, id="the gold wins on the same id, also where it says no"),
        pytest.param({"a": 1}, {"a": 0}, {"a": 1}, id="and where it says yes"),
        pytest.param({}, {"b": 1}, {"b": 1}, id="labels alone"),
        pytest.param({"a": 1}, {}, {"a": 1}, id="gold alone"),
    ],
)
def test_labels_beside_the_gold(
    gains: Mapping[str, float], labels: Mapping[str, float], both: Mapping[str, float]
) -> None:
    sample = Sample(query_id="q", gains=gains, judge_gains=labels, negatives=("n",), k=3, answers=("x",))
    added = with_judge(sample)
    assert added.gains == both
    assert (added.negatives, added.k, added.answers, added.judge_gains) == (("n",), 3, ("x",), labels)
    assert sample.gains == gains


TWO = gold(
    Sample(query_id="labelled", gains={"a": 1.0, "no": 0.0}, judge_gains={"b": 1.0, "c": 0.0}),
    Sample(query_id="plain", gains={"a": 1.0}),
)


@pytest.mark.parametrize(
    ("metric", "alone", "judged"),
    [
        pytest.param("hit@1", [0, 0], [1, 0], id="hit: the label is a hit"),
        pytest.param("mrr", [1 / 3, 1 / 2], [1, 1 / 2], id="mrr: the label stands first"),
        pytest.param("precision@5", [1 / 5, 1 / 5], [2 / 5, 1 / 5], id="precision: one more"),
        pytest.param("recall@1", [0, 0], [1 / 2, 0], id="recall: one of now two"),
        pytest.param("recall@3", [1, 1], [1, 1], id="recall: both of now two"),
        pytest.param("judged@5", [2 / 3, 1 / 2], [1, 1 / 2], id="judged: the label is a judgment"),
    ],
)
def test_a_column_with_a_judges_labels(metric: str, alone: list[float], judged: list[float]) -> None:
    wanted = parse_metric(metric)
    found = score(TWO, [listed("plain", "b a"), listed("labelled", "b no a")], Plan(metrics=[wanted]))
    assert found.values == {wanted.name: pytest.approx(alone)}
    assert found.with_judge == {wanted.name: pytest.approx(judged)}


def test_recall_may_move_either_way_and_is_no_bound() -> None:
    found = score(TWO, [listed("labelled", "a"), listed("plain", "a")], Plan(metrics=parse_metrics("recall@5")))
    assert (found.values, found.with_judge) == ({"recall@5": [1, 1]}, {"recall@5": [1 / 2, 1]})


@each_row(
    ("metric", "bounds"),
    [
        *(pytest.param(name, True, id=name) for name in ("hit@5", "mrr", "mrr@10", "precision@5", "hit(stage=raw)@5")),
        *(pytest.param(name, True, id=name) for name in ("rbp", "rbp@5", "err@20")),
        *(
            pytest.param(name, False, id=name)
            for name in (
                "recall@5",
                "recall_all@5",
                "f@5",
                "map",
                "ndcg@5",
                "judged@5",
                "rprec",
                "bpref",
                "rbp_residual",
                "map(of=retrieved)",
                "mrr(judged_only=true)",
                "rerank_gain(hit@5)",
                "latency",
            )
        ),
    ],
)
def test_labels_give_an_upper_bound_to_five_metrics(metric: str, bounds: bool) -> None:  # noqa: FBT001 -- a table
    assert parse_metric(metric).judge_bounds is bounds


def test_without_labels_there_is_no_second_column() -> None:
    plain = gold(Sample(query_id="q", gains={"a": 1.0}))
    assert score(plain, [listed("q", "a")], Plan(metrics=parse_metrics("mrr"))).with_judge == {}


def test_an_absent_query_is_worst_with_labels_too() -> None:
    lacking = gold(
        Sample(query_id="there", gains={"a": 1.0}),
        Sample(query_id="gone", gains={"a": 1.0}, judge_gains={"b": 1.0}),
        Sample(query_id="judged alone", gains={}, judge_gains={"b": 1.0}),
    )
    found = score(lacking, [listed("there", "a")], Plan(metrics=parse_metrics("mrr,holes@5")))
    assert found.values == {"mrr": [1, 0, None], "holes@5": [0, 1, 1]}
    assert found.with_judge == {"mrr": [1, 0, None], "holes@5": [0, 1, 1]}


def test_a_judge_alone_does_not_bring_a_query_into_the_mean() -> None:
    """Else the mean with its labels, over more queries, could fall below the mean without."""
    found = score(
        gold(Sample(query_id="q", gains={"a": 1.0}), Sample(query_id="r", gains={}, judge_gains={"b": 1.0})),
        [listed("q", "a"), listed("r", "x")],
        Plan(metrics=parse_metrics("hit@5,recall@5,precision@1")),
    )
    assert all(column == [1, None] for column in found.values.values())
    assert found.with_judge == found.values


BOUNDED = parse_metrics(
    "hit@1,hit@3,hit(rel=2)@3,mrr,mrr@2,mrr(rel=2),precision@1,precision@3,precision(rel=2)@3,precision@all,"
    "precision(of=retrieved)@3,rbp,rbp(p=0.5)@2,err,err(max=3)@2"
)
GAINS = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0]), max_size=4)
CHUNKS = st.lists(st.sampled_from([f"{doc}{part}" for doc in "abcdefx" for part in ("", "#1", "#2")]), unique=True)


@pytest.mark.full
@pytest.mark.parametrize("by", [By.CHUNK, By.DOC])
@given(
    samples=st.lists(st.tuples(GAINS, GAINS, st.none() | CHUNKS), min_size=1, max_size=3),
    more=st.just(Sample(query_id="more", gains={"a": 1.0}, judge_gains={"b": 1.0})),
)
def test_with_labels_a_bounded_metric_is_never_lower(
    by: By, samples: list[tuple[Mapping[str, float], Mapping[str, float], list[str] | None]], more: Sample
) -> None:
    """For no query, and so not for the run."""
    judged = gold(
        more,
        *(
            Sample(query_id=str(number), gains=gains, judge_gains=labels)
            for number, (gains, labels, _) in enumerate(samples)
        ),
    )
    rankings = [Ranking(str(number), ids) for number, (_, _, ids) in enumerate(samples) if ids is not None]
    found = score(judged, rankings, Plan(metrics=BOUNDED, how=Matching(by=by)))
    for metric in BOUNDED:
        assert metric.judge_bounds
        alone, both = found.values[metric.name], found.with_judge[metric.name]
        for lower, upper in zip(alone, both, strict=True):
            assert (lower is None) == (upper is None), metric.name
            assert lower is None or upper is None or upper >= lower, metric.name


@given(gains=GAINS, labels=GAINS, ids=CHUNKS)
def test_where_the_gold_judges_everything_labels_change_nothing(
    gains: Mapping[str, float], labels: Mapping[str, float], ids: list[str]
) -> None:
    agreed = {doc: gain for doc, gain in labels.items() if doc in gains}
    judged = gold(
        Sample(query_id="q", gains=gains, judge_gains=agreed), Sample(query_id="r", gains={}, judge_gains={"a": 1.0})
    )
    metrics = parse_metrics("hit@3,recall@3,precision@3,mrr,map,ndcg,judged@3")
    found = score(judged, [Ranking("q", ids)], Plan(metrics=metrics))
    assert [column[0] for column in found.with_judge.values()] == [column[0] for column in found.values.values()]


# How a rate is spread.


@pytest.mark.parametrize(
    ("column", "shares", "quartiles"),
    [
        pytest.param([0.5], (0, 1, 0), (0.5, 0.5, 0.5), id="one query"),
        pytest.param([1, 1, 0, 0], (0.5, 0, 0.5), (0, 0, 1), id="all or nothing"),
        pytest.param([0.5, 0.5, 0.5, 0.5], (0, 1, 0), (0.5, 0.5, 0.5), id="half for each: the same mean"),
        pytest.param([0.75, 0, 0.25, 1, 0.5], (1 / 5, 3 / 5, 1 / 5), (0.25, 0.5, 0.75), id="five in steps"),
        pytest.param([1, 1, 1], (0, 0, 1), (1, 1, 1), id="all right"),
        pytest.param([0, 0], (1, 0, 0), (0, 0, 0), id="all wrong"),
    ],
)
def test_distribution(
    column: list[float], shares: tuple[float, float, float], quartiles: tuple[float, float, float]
) -> None:
    found = distribution(column)
    assert (found.zero, found.between, found.one) == pytest.approx(shares)
    assert found.quartiles == quartiles


@given(column=st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=1, max_size=60))
def test_shares_sum_to_one_and_quartiles_are_in_order(column: list[float]) -> None:
    found = distribution(column)
    shares = (found.zero, found.between, found.one)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0
    assert (found.between == 0) == (not any(0 < value < 1 for value in column))
    assert min(column) <= found.quartiles[0] <= found.quartiles[1] <= found.quartiles[2] <= max(column)
    assert set(found.quartiles) <= set(column)


@pytest.mark.parametrize(
    ("metric", "has_one"),
    [
        *(pytest.param(name, True, id=name) for name in ("recall@5", "ndcg", "misroute_rate", "rbo", "mrr(stage=raw)")),
        *(
            pytest.param(name, False, id=name)
            for name in ("dcg", "distinct_docs@5", "latency", "score(cost)", "rerank_gain(mrr)")
        ),
    ],
)
def test_a_distribution_goes_with_every_rate(metric: str, has_one: bool) -> None:  # noqa: FBT001 -- a table
    found = estimate([0.0, None, 1.0], parse_metric(metric))
    assert found is not None
    assert (found.distribution is not None) is has_one


# What a run keeps silent about.

SILENT = gold(*(Sample(query_id=query_id, gains={"a": 1.0}, no_answer=False) for query_id in ("q1", "q2", "q3")))
TEXT = Matching(by=By.TEXT)


def plan(metrics: str, how: Matching = Matching()) -> Plan:  # noqa: B008 -- frozen
    return Plan(metrics=parse_metrics(metrics), how=how)


def refusal(asked: Plan, *rankings: Ranking) -> Problem | None:
    scores = score(SILENT, rankings, asked)
    try:
        require_fields(scores, asked, "run.jsonl")
    except RankgateError as error:
        (problem,) = error.problems
        return problem
    return None


def said_of(reader: str, need: str, where: str = "not for query 'q1', nor for any other") -> Problem:
    return Problem(
        f"{reader} reads `{need}`, which the run states nowhere ({where}). Write it into the run, or leave out what "
        "reads it",
        "run.jsonl",
    )


NEEDS = {
    "containment@5": RunField.TEXTS,
    "novelty@5": RunField.TEXTS,
    "freshness@5": RunField.VERSIONS,
    "false_evidence_rate(min_score=1)": RunField.ITEM_SCORES,
    "recall(stage=raw)@5": RunField.RAW,
    "rerank_gain(recall@5)": RunField.RAW,
    "recall(rewrite=1)@5": RunField.REWRITES,
    "rewrite_gain(recall@5)": RunField.REWRITES,
    "latency": RunField.LATENCY,
    "source_coverage": RunField.SOURCE,
    "misroute_rate": RunField.SOURCE,
    "source_share(kb)": RunField.SOURCE,
    "entity_f1": RunField.ENTITIES,
    "score(cost)": RunField.SCORES,
}
SAID: dict[RunField, dict[str, Any]] = {
    RunField.TEXTS: {"items": [Item(), Item(text="")]},
    RunField.VERSIONS: {"items": [Item(), Item(version="2025-06-01")]},
    RunField.ITEM_SCORES: {"items": [Item(), Item(score=0.0)]},
    RunField.RAW: {"raw": Ranking("q2", [])},
    RunField.REWRITES: {"rewrites": [Ranking("q2", ["a"])]},
    RunField.LATENCY: {"latency_ms": {"retrieve": 0.0}},
    RunField.SOURCE: {"source": "kb"},
    RunField.ENTITIES: {"entities": []},
    RunField.SCORES: {"scores": {"cost": 0.0}},
}


@each_row(("metric", "need"), [pytest.param(*row, id=row[0]) for row in NEEDS.items()])
def test_a_metric_that_reads_what_the_run_never_states_is_refused(metric: str, need: RunField) -> None:
    silent = [listed("q1", "a b"), listed("q2", "c d")]
    assert refusal(plan(f"recall@5,{metric}"), *silent) == said_of(f"the metric {metric}", need.value)


@each_row(("metric", "need"), [pytest.param(*row, id=row[0]) for row in NEEDS.items()])
def test_one_query_that_states_it_is_enough(metric: str, need: RunField) -> None:
    assert refusal(plan(metric), listed("q1", "a b"), listed("q2", "c d", **SAID[need])) is None


@pytest.mark.parametrize(
    ("asked", "rankings", "expected"),
    [
        pytest.param(
            *(plan("recall@5", TEXT), [listed("q1", "a"), listed("q2", "b")]),
            said_of("`match: text`", "text"),
            id="matching by text",
        ),
        pytest.param(
            plan("recall@5", Matching(by=By.DOC)),
            [listed("q1", "a")],
            None,
            id="matching by document reads ids instead",
        ),
        pytest.param(plan("recall@5,distinct_docs@5,overlap@5"), [listed("q1", "a")], None, id="metrics of ids alone"),
        pytest.param(
            plan("false_evidence_rate"), [listed("q1", "a")], None, id="false evidence without a lowest score"
        ),
        pytest.param(
            *(plan("latency"), [listed("q2", "a")]),
            said_of("the metric latency", "latency_ms", "not for query 'q2'"),
            id="a run with one query of the gold",
        ),
        pytest.param(
            *(plan("containment@5"), [listed("q1", ""), listed("q2", "a")]),
            said_of("the metric containment@5", "text", "not for query 'q2', nor for any other"),
            id="an empty list has no item that could state it",
        ),
        pytest.param(plan("containment@5"), [listed("q1", ""), listed("q2", "")], None, id="empty lists alone"),
        pytest.param(
            *(plan("latency"), [listed("stranger", "a", latency_ms={"retrieve": 1.0}), listed("q1", "a")]),
            said_of("the metric latency", "latency_ms", "not for query 'q1'"),
            id="what a stranger states does not count",
        ),
        pytest.param(plan("latency"), [], None, id="a run without any query has another problem"),
    ],
)
def test_silence(asked: Plan, rankings: Sequence[Ranking], expected: Problem | None) -> None:
    assert refusal(asked, *rankings) == expected


# What an absent query scores.

FULL = {
    "gains": {"a": 1.0},
    "negatives": ("n",),
    "answers": ("30 days",),
    "as_of": "2025-06-01",
    "source": "kb",
    "entities": ("Porto",),
}
WORST: dict[str, float | None] = {
    **dict.fromkeys(("hit@5", "recall@5", "recall_all@5", "capped_recall@5", "weighted_recall@5", "recall_auc"), 0.0),
    **dict.fromkeys(("precision@5", "f@5", "mrr", "ap@5", "dcg@5", "ndcg@5", "judged@5", "containment@5"), 0.0),
    **dict.fromkeys(("distinct_docs@5", "novelty@5", "freshness@5", "source_coverage", "entity_f1"), 0.0),
    **dict.fromkeys(("recall(stage=raw)@5", "recall(rewrite=1)@5", "recall(source=kb)@5", "overlap@5", "rbo"), 0.0),
    **dict.fromkeys(("negatives_above@5", "holes@5", "redundancy@5", "misroute_rate", "rbp_residual"), 1.0),
    **dict.fromkeys(("rprec", "rbp", "bpref", "err@20", "map(of=retrieved)", "mrr(judged_only=true)"), 0.0),
    **dict.fromkeys(("answer_contains", "exact_match", "token_f1"), 0.0),
    **dict.fromkeys(("latency", "latency(quantile=0.9)", "score(cost)", "source_share(kb)"), None),
    **dict.fromkeys(("given_rate", "answered_rate", "claim_recall", "vital_claim_recall", "factual_correctness"), 0.0),
    **dict.fromkeys(("context_recall", "context_precision", "answer_relevancy", "rubric(cites)"), 0.0),
    **dict.fromkeys(("faithfulness", "unfaithful_rate", "abstained_rate", "context_utilization"), None),
    **dict.fromkeys(("noise_sensitivity", "citation_precision", "citation_recall"), None),
    **dict.fromkeys(("rerank_gain(recall@5)", "rewrite_gain(recall@5)", "recall(source=web)@5"), None),
}


def absent(metric: str, sample: Sample, baseline: list[str] | None = None) -> float | None:
    wanted = parse_metric(metric)
    everything = Plan(metrics=[wanted], baseline_ids={} if baseline is None else {sample.query_id: baseline})
    found: Scores = score(gold(sample, Sample(query_id="other", gains={"a": 1.0})), [listed("other", "a")], everything)
    assert found.missing == {sample.query_id}
    return found.values[wanted.name][0]


@each_row(("metric", "worst"), [pytest.param(*row, id=row[0]) for row in WORST.items()])
def test_an_absent_query_scores_worst(metric: str, worst: float | None) -> None:
    assert absent(metric, Sample(query_id="q", **FULL), ["a"]) == worst  # type: ignore[arg-type]


def test_an_absent_unanswerable_query_is_not_an_empty_list() -> None:
    unanswerable = Sample(query_id="q", gains={}, no_answer=True)
    metric = parse_metric("false_evidence_rate")
    assert absent(metric.name, unanswerable) == 1
    assert absent("false_evidence_rate(min_score=0.5)", unanswerable) == 1
    found = score(gold(unanswerable), [listed("q", "")], Plan(metrics=[metric]))
    assert found.values == {"false_evidence_rate": [0]}


NEEDS_NO_GOLD = {"judged@5": 0.0, "holes@5": 1.0, "distinct_docs@5": 0.0, "redundancy@5": 1.0, "novelty@5": 0.0}
NEEDS_NO_GOLD |= dict.fromkeys(
    ("given_rate", "answered_rate", "answer_relevancy", "rubric(cites)", "context_precision"), 0.0
)


@each_row("metric", [*WORST, "false_evidence_rate"])
def test_an_absent_query_is_undefined_where_the_gold_says_nothing(metric: str) -> None:
    assert absent(metric, Sample(query_id="q", gains={})) == NEEDS_NO_GOLD.get(metric)


def test_every_family_says_what_an_absent_query_scores() -> None:
    families = {type(parse_metric(name)) for name in [*WORST, "false_evidence_rate"]}
    of_passages = {family for family in FAMILIES if RunField.PASSAGES in family.reads}  # see test_placing.py
    assert set(FAMILIES) - of_passages <= families
