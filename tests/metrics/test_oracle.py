"""Every metric against a slow second implementation, and what must hold of it whatever the gold and the list."""

import random
import runpy
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rankgate.matching import match
from rankgate.metrics.base import BaseMetric
from rankgate.metrics.names import parse_metric
from rankgate.model import Details, MatchedQuery, Need, Ranking, Sample
from rankgate.readers.base import once

if TYPE_CHECKING:
    from tests.metrics import oracle
else:  # a module beside this one, found whatever pytest's import mode
    oracle = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("oracle.py"))))

SAMPLE_K = 4  # what @k means here

Oracle = Callable[[oracle.Gold, oracle.Ranked], float | None]

CUTOFFS: dict[str, int | None] = {"@1": 1, "@3": 3, "@10": 10, "@k": SAMPLE_K, "@all": None}
OF_RELEVANCE = {
    "hit": oracle.hit,
    "recall": oracle.recall,
    "recall_all": oracle.recall_all,
    "precision": oracle.precision,
    "mrr": oracle.mrr,
    "ap": oracle.ap,
}
OF_GAINS = {"dcg": oracle.dcg, "ndcg": oracle.ndcg}

# Every family with its parameters and cut-offs: the metric, and the function that it must agree with.
VARIANTS: dict[str, dict[str, tuple[BaseMetric, Oracle]]] = {
    **{
        family: {
            f"{rel}{suffix}": (parse_metric(f"{family}{rel}{suffix}"), partial(function, k=k, rel=level))
            for rel, level in {"": 0, "(rel=2)": 2}.items()
            for suffix, k in CUTOFFS.items()
        }
        for family, function in OF_RELEVANCE.items()
    },
    **{
        family: {
            f"{gain}{suffix}": (parse_metric(f"{family}(gain={gain}){suffix}"), partial(function, k=k, gain=gain))
            for gain in ("linear", "exponential", "binary")
            for suffix, k in CUTOFFS.items()
        }
        for family, function in OF_GAINS.items()
    },
}
each_family = pytest.mark.parametrize("family", VARIANTS)
examples = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])

# Few ids, so that the list meets the gold often; grades as people write them.
DOCS = [f"d{number}" for number in range(12)]
STRANGERS = [f"x{number}" for number in range(5)]
GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
GOLD = st.dictionaries(st.sampled_from(DOCS), GRADES, max_size=10)
RANKED = st.lists(st.sampled_from(DOCS + STRANGERS), max_size=20)


def seen(gold: Mapping[str, float], ranked: list[str]) -> MatchedQuery:
    return match(Sample(query_id="q", gains=gold, k=SAMPLE_K), Ranking("q", *once(ranked)))


def values(family: str, gold: Mapping[str, float], ranked: list[str]) -> dict[str, float | None]:
    """The value of every variant of a family."""
    query = seen(gold, ranked)
    return {variant: metric.per_query(query) for variant, (metric, _) in VARIANTS[family].items()}


@each_family
@examples
@given(gold=GOLD, ranked=RANKED)
@example(gold={}, ranked=["d0"])
@example(gold={"d0": 1.0}, ranked=[])
@example(gold={"d0": 1.0, "d1": 3.0}, ranked=["d0", "d0", "d1"])
def test_agrees_with_the_slow_implementation(family: str, gold: Mapping[str, float], ranked: list[str]) -> None:
    for variant, value in values(family, gold, ranked).items():
        expected = VARIANTS[family][variant][1](gold, ranked)
        assert value == (None if expected is None else pytest.approx(expected, rel=1e-12, abs=1e-12)), variant


@each_family
@examples
@given(gold=GOLD, ranked=RANKED)
def test_lies_in_its_range(family: str, gold: Mapping[str, float], ranked: list[str]) -> None:
    query = seen(gold, ranked)
    for metric, _ in VARIANTS[family].values():
        value = metric.per_query(query)
        assert value is None or (
            metric.low is not None and value >= metric.low and (metric.high is None or value <= metric.high)
        ), metric.name


@each_family
@examples
@given(gold=GOLD, ranked=RANKED, names=st.permutations(DOCS + STRANGERS))
def test_does_not_depend_on_what_the_ids_are(
    family: str, gold: Mapping[str, float], ranked: list[str], names: list[str]
) -> None:
    renamed = dict(zip(DOCS + STRANGERS, names, strict=True))
    gold_renamed = {renamed[doc]: gain for doc, gain in gold.items()}
    assert values(family, gold_renamed, [renamed[doc] for doc in ranked]) == values(family, gold, ranked)


@each_family
@examples
@given(gold=GOLD, ranked=RANKED, chance=st.randoms(use_true_random=False))
def test_does_not_depend_on_the_order_of_the_gold(
    family: str, gold: Mapping[str, float], ranked: list[str], chance: random.Random
) -> None:
    shuffled = list(gold.items())
    chance.shuffle(shuffled)
    assert values(family, dict(shuffled), ranked) == values(family, gold, ranked)


@each_family
@examples
@given(gold=GOLD, ranked=RANKED, data=st.data())
def test_one_more_relevant_document_never_lowers_it(
    family: str, gold: Mapping[str, float], ranked: list[str], data: st.DataObject
) -> None:
    ranked = list(dict.fromkeys(ranked))
    useless = [place for place, doc in enumerate(ranked) if gold.get(doc, 0) <= 0]
    unfound = [doc for doc, gain in gold.items() if gain > 0 and doc not in ranked]
    if not useless or not unfound:
        return
    place, doc = data.draw(st.sampled_from(useless)), data.draw(st.sampled_from(unfound))
    before = values(family, gold, ranked)
    after = values(family, gold, [*ranked[:place], doc, *ranked[place + 1 :]])
    for variant, value in before.items():
        improved = after[variant]
        assert (value is None) == (improved is None), variant
        assert value is None or improved is None or improved >= value, variant


@each_family
@examples
@given(gold=GOLD, ranked=RANKED, more=st.lists(st.sampled_from(STRANGERS), max_size=5))
def test_useless_documents_at_the_end_change_nothing(
    family: str, gold: Mapping[str, float], ranked: list[str], more: list[str]
) -> None:
    before, after = values(family, gold, ranked), values(family, gold, ranked + more)
    if family == "precision":  # over the whole list it divides by the list's length
        before, after = (
            {name: value for name, value in side.items() if "@all" not in name} for side in (before, after)
        )
    assert after == before


@examples
@given(gold=GOLD, ranked=RANKED)
def test_only_the_best_order_of_all_relevant_documents_has_ndcg_1(gold: Mapping[str, float], ranked: list[str]) -> None:
    best = sorted((gain for gain in gold.values() if gain > 0), reverse=True)
    found = [gold.get(doc, 0) for doc in dict.fromkeys(ranked)]
    if best:
        assert (values("ndcg", gold, ranked)["linear@all"] == 1) == (found[: len(best)] == best)


@examples
@given(gold=GOLD, ranked=RANKED, depth=st.integers(0, 25))
def test_a_depth_is_a_shorter_list(gold: Mapping[str, float], ranked: list[str], depth: int) -> None:
    sample, ids = Sample(query_id="q", gains=gold), once(ranked)[0]
    assert match(sample, Ranking("q", ids), depth=depth) == match(sample, Ranking("q", ids[:depth]))


STAGES = st.none() | st.dictionaries(st.sampled_from(["retrieve", "rerank"]), st.floats(0, 1e6))


@pytest.mark.parametrize("stage", ["total", "retrieve", "rerank"])
@examples
@given(stages=STAGES)
def test_latency_of_a_query(stage: str, stages: Mapping[str, float] | None) -> None:
    query = match(
        Sample(query_id="q", gains={}), Ranking("q", [], 0, Details(latency_ms=stages)), needs=frozenset({Need.LATENCY})
    )
    assert parse_metric(f"latency(stage={stage})").per_query(query) == oracle.latency(stages, stage)


@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.95, 0.99])
@examples
@given(times=st.lists(st.integers(0, 50).map(float), min_size=1, max_size=120))
def test_latency_at_a_quantile(q: float, times: list[float]) -> None:
    assert parse_metric(f"latency(quantile={q})").aggregate(times) == oracle.at_quantile(times, q)


@examples
@given(gold=GOLD, ranked=RANKED)
def test_a_matched_query_is_what_it_says(gold: Mapping[str, float], ranked: list[str]) -> None:
    ids, removed = once(ranked)
    query = match(Sample(query_id="q", gains=gold), Ranking("q", ids, removed))
    wanted = oracle.relevant_ids(gold, 0)
    places = [(rank, doc) for rank, doc in enumerate(oracle.first_k(ranked, None), start=1) if doc in wanted]
    assert msgspec.structs.asdict(query) == {
        "query_id": "q",
        "hits": tuple((rank, gold[doc]) for rank, doc in places),
        "found": tuple(doc for _, doc in places),
        "ideal": tuple(sorted((gold[doc] for doc in wanted), reverse=True)),
        "retrieved": len(set(ranked)),
        "k": 5,
        "repeats": (),
        "sample": query.sample,
        "judged": (),
        "negatives": (),
        "ids": (),
        "baseline_ids": None,
        "details": None,
        "raw": None,
        "rewrites": (),
    }
    assert removed == len(ranked) - len(set(ranked))
