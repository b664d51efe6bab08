"""Every metric against a slow second implementation, and what must hold of it whatever the gold and the run say."""

import random
import runpy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankgate.metrics.base import BaseMetric, Kind, Metric, Together
from rankgate.metrics.matching import BY_CHUNK, By, Matching, match
from rankgate.metrics.names import parse_metric
from rankgate.metrics.registry import families
from rankgate.metrics.views import ListGain, View
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Item, Ranking, RunField, Sample
from rankgate.readers.base import deduplicated

# Those of passages have theirs in test_placing.py, those of answers in test_answers.py.
FAMILIES = tuple(
    family for family in families() if family.kind is not Kind.ANSWER and RunField.PASSAGES not in family.reads
)

if TYPE_CHECKING:
    from tests.metrics import oracle
else:  # a module beside this one, found whatever pytest's import mode
    oracle = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("oracle.py"))))

SAMPLE_K = 4  # what @k means here

OfList = Callable[["oracle.Gold", "oracle.Ranked"], float | None]
OfNames = Callable[["oracle.Question", "oracle.Ranked"], float | None]
OfLine = Callable[["oracle.Question", "oracle.Line"], float | None]

CUTOFFS: dict[str, int | None] = {"@1": 1, "@3": 3, "@10": 10, "@k": SAMPLE_K, "@all": None}
LEVELS = {"": 0, "(rel=2)": 2}
OF_RELEVANCE = {
    "hit": oracle.hit,
    "recall": oracle.recall,
    "recall_all": oracle.recall_all,
    "capped_recall": oracle.capped_recall,
    "precision": oracle.precision,
    "mrr": oracle.mrr,
    "ap": oracle.ap,
    "rbp": oracle.rbp,
}
GRIDS = {"": (1, 3, 5, 10, 20), "grid=2/4": (2, 4), "grid=1/2/3/30": (1, 2, 3, 30)}


def metric(name: str) -> BaseMetric:
    parsed = parse_metric(name)
    assert isinstance(parsed, BaseMetric)
    return parsed


# Every family with its parameters and cut-offs: the metric, and the function that it must agree with. Those of a list
# are told what each item is called and what that is worth; see `oracle`.
OF_LISTS: dict[str, dict[str, tuple[BaseMetric, OfList]]] = {
    **{
        family: {
            f"{rel}{suffix}": (metric(f"{family}{rel}{suffix}"), partial(function, k=k, rel=level))
            for rel, level in LEVELS.items()
            for suffix, k in CUTOFFS.items()
        }
        for family, function in OF_RELEVANCE.items()
    },
    "f": {
        f"{beta}{rel}{suffix}": (
            metric(f"f(beta={beta},rel={rel}){suffix}"),
            partial(oracle.f, k=k, rel=rel, beta=beta),
        )
        for beta in (0.5, 1, 2)
        for rel in (0, 2)
        for suffix, k in CUTOFFS.items()
    },
    **{
        family: {f"rel={rel}": (metric(f"{family}(rel={rel})"), partial(function, rel=rel)) for rel in (-1, 0, 0.5)}
        for family, function in {"rprec": oracle.rprec, "bpref": oracle.bpref}.items()
    },
    "err": {
        f"{top}{suffix}": (metric(f"err(max={top}){suffix}"), partial(oracle.err, k=k, top=top))
        for top in (4, 5.5)
        for suffix, k in CUTOFFS.items()
    },
    "weighted_recall": {
        suffix: (metric(f"weighted_recall{suffix}"), partial(oracle.weighted_recall, k=k))
        for suffix, k in CUTOFFS.items()
    },
    "recall_auc": {
        f"{grid}{rel}": (
            metric(f"recall_auc({grid or 'rel=0'},rel={rel})"),
            partial(oracle.recall_auc, grid=points, rel=rel),
        )
        if grid
        else (metric(f"recall_auc(rel={rel})"), partial(oracle.recall_auc, grid=points, rel=rel))
        for grid, points in GRIDS.items()
        for rel in (0, 2)
    },
    **{
        family: {
            f"{gain},{kind}{suffix}": (
                metric(f"{family}(gain={gain},discount={kind}){suffix}"),
                partial(function, k=k, gain=gain, kind=kind),
            )
            for gain in ("linear", "exponential", "binary")
            for kind in ("log2", "jarvelin")
            for suffix, k in CUTOFFS.items()
        }
        for family, function in {"dcg": oracle.dcg, "ndcg": oracle.ndcg}.items()
    },
}
# Parameters with which a metric divides by what was retrieved, so that a longer list may lower it.
OF_RETRIEVED: dict[str, dict[str, tuple[BaseMetric, OfList]]] = {
    "precision": {
        suffix: (metric(f"precision(of=retrieved){suffix}"), partial(oracle.precision, k=k, of="retrieved"))
        for suffix, k in CUTOFFS.items()
    },
    "f": {
        suffix: (metric(f"f(of=retrieved,beta=2){suffix}"), partial(oracle.f, k=k, of="retrieved", beta=2))
        for suffix, k in CUTOFFS.items()
    },
    "ap": {
        f"retrieved,{rel}{suffix}": (
            metric(f"ap(of=retrieved,rel={rel}){suffix}"),
            partial(oracle.ap, k=k, rel=rel, of="retrieved"),
        )
        for rel in (0, 2)
        for suffix, k in CUTOFFS.items()
    },
    # A document below the level is judged not relevant.
    "bpref": {f"rel={rel}": (metric(f"bpref(rel={rel})"), partial(oracle.bpref, rel=rel)) for rel in (1, 2)},
    # Lower is better, and the end of the list is a part of it.
    "rbp_residual": {
        f"{p}{suffix}": (metric(f"rbp_residual(p={p},rel=1){suffix}"), partial(oracle.rbp_residual, k=k, p=p, rel=1))
        for p in (0.5, 0.8)
        for suffix, k in CUTOFFS.items()
    },
    "rbp": {
        f"0.5{suffix}": (metric(f"rbp(p=0.5){suffix}"), partial(oracle.rbp, k=k, p=0.5))
        for suffix, k in CUTOFFS.items()
    },
    "ndcg": {
        f"{gain},{kind}{suffix}": (
            metric(f"ndcg(gain={gain},discount={kind},ideal=retrieved){suffix}"),
            partial(oracle.ndcg, k=k, gain=gain, kind=kind, ideal="retrieved"),
        )
        for gain in ("linear", "binary")
        for kind in ("log2", "jarvelin")
        for suffix, k in CUTOFFS.items()
    },
}
EVERY_LIST = {family: OF_LISTS.get(family, {}) | OF_RETRIEVED.get(family, {}) for family in OF_LISTS | OF_RETRIEVED}
OF_NAMES: dict[str, dict[str, tuple[BaseMetric, OfNames]]] = {
    family: {suffix: (metric(f"{family}{suffix}"), partial(function, k=k)) for suffix, k in CUTOFFS.items()}
    for family, function in {
        "judged": oracle.judged,
        "holes": oracle.holes,
        "negatives_above": oracle.negatives_above,
    }.items()
}


def of_line(function: Callable[..., float | None], **fixed: object) -> OfLine:
    """A function of the oracle that does not look at the question."""
    return lambda question, line: function(line, **fixed)


def of_times(line: "oracle.Line", stage: str) -> float | None:
    return oracle.latency(line.latency, stage)


OF_LINES: dict[str, dict[str, tuple[BaseMetric, OfLine]]] = {
    "containment": {
        suffix: (metric(f"containment{suffix}"), partial(oracle.containment, k=k)) for suffix, k in CUTOFFS.items()
    },
    "distinct_docs": {
        suffix: (metric(f"distinct_docs{suffix}"), of_line(oracle.distinct_docs, k=k)) for suffix, k in CUTOFFS.items()
    },
    "redundancy": {
        suffix: (metric(f"redundancy{suffix}"), of_line(oracle.redundancy, k=k)) for suffix, k in CUTOFFS.items()
    },
    "novelty": {
        f"{threshold}{suffix}": (
            metric(f"novelty(threshold={threshold}){suffix}"),
            of_line(oracle.novelty, k=k, threshold=threshold),
        )
        for threshold in (0.25, 0.5, 0.8, 1)
        for suffix, k in CUTOFFS.items()
    },
    "freshness": {
        suffix: (metric(f"freshness{suffix}"), partial(oracle.freshness, k=k)) for suffix, k in CUTOFFS.items()
    },
    "false_evidence_rate": {
        "": (metric("false_evidence_rate"), oracle.false_evidence_rate),
        "0.5": (metric("false_evidence_rate(min_score=0.5)"), partial(oracle.false_evidence_rate, min_score=0.5)),
        "-1": (metric("false_evidence_rate(min_score=-1)"), partial(oracle.false_evidence_rate, min_score=-1)),
    },
    "source_coverage": {"": (metric("source_coverage"), oracle.source_coverage)},
    "misroute_rate": {"": (metric("misroute_rate"), oracle.misroute_rate)},
    "source_share": {
        source: (metric(f"source_share({source})"), of_line(oracle.source_share, source=source))
        for source in ("kb", "KB")
    },
    "entity_f1": {"": (metric("entity_f1"), oracle.entity_f1)},
    "score": {
        **{name: (metric(f"score({name})"), of_line(oracle.score, name=name)) for name in ("cost", "Faith")},
        "drop": (metric("score(cost,drop_from=Faith)"), of_line(oracle.score, name="cost", before="Faith")),
    },
    "latency": {
        stage: (metric(f"latency(stage={stage})"), of_line(of_times, stage=stage))
        for stage in ("total", "retrieve", "rerank")
    },
    "overlap": {suffix: (metric(f"overlap{suffix}"), of_line(oracle.overlap, k=k)) for suffix, k in CUTOFFS.items()},
    "rbo": {
        f"{p}{suffix}": (metric(f"rbo(p={p}){suffix}"), of_line(oracle.rbo, p=p, k=k))
        for p in (0.5, 0.9)
        for suffix, k in CUTOFFS.items()
    },
}

# Of the aggregate, and of a gate.
NOT_OF_ONE_QUERY = {("latency", "quantile"), ("score", "quantile"), ("score", "better")}


def test_every_family_and_every_parameter_has_an_oracle() -> None:
    tables = (EVERY_LIST, OF_NAMES, OF_LINES)
    variants = {family: [each for each, _ in rows.values()] for table in tables for family, rows in table.items()}
    assert variants.keys() == {family.key for family in FAMILIES}
    assert {family.key for family in FAMILIES if family.ranking} == EVERY_LIST.keys()
    idle = {
        (family.key, field.name)
        for family in FAMILIES
        for field in msgspec.structs.fields(family)
        if all(getattr(each, field.name) == field.default for each in variants[family.key])
    }
    assert idle - {(family.key, "cutoff") for family in FAMILIES} == NOT_OF_ONE_QUERY


examples = settings(max_examples=40)

# Few ids, so that the list meets the gold often; grades as people write them.
DOCS = [f"d{number}" for number in range(12)]
STRANGERS = [f"x{number}" for number in range(5)]
GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
GOLD = st.dictionaries(st.sampled_from(DOCS), GRADES, max_size=12)
RANKED = st.lists(st.sampled_from(DOCS + STRANGERS), max_size=20)

close = partial(pytest.approx, rel=1e-12, abs=1e-12)


def seen(gold: Mapping[str, float], ranked: list[str]) -> MatchedQuery:
    needs = frozenset({RunField.JUDGED})
    return match(Sample(query_id="q", gains=gold, k=SAMPLE_K), Ranking("q", *deduplicated(ranked)), needs=needs)


def values(gold: Mapping[str, float], ranked: list[str]) -> dict[tuple[str, str], float | None]:
    """By family and variant the values of all metrics of lists, but those that divide by what was retrieved."""
    query = seen(gold, ranked)
    return {
        (family, variant): each.per_query(query)
        for family, variants in OF_LISTS.items()
        for variant, (each, _) in variants.items()
    }


@pytest.mark.full
@examples
@given(gold=GOLD, ranked=RANKED)
@example(gold={}, ranked=["d0"])
@example(gold={"d0": 1.0}, ranked=[])
@example(gold={"d0": 1.0, "d1": 3.0}, ranked=["d0", "d0", "d1"])
def test_agrees_with_the_slow_implementation(gold: Mapping[str, float], ranked: list[str]) -> None:
    query = seen(gold, ranked)
    names = oracle.by_chunk(oracle.Question(gains=gold), [oracle.Item(id=each) for each in ranked])
    for family, variants in EVERY_LIST.items():
        for variant, (each, slow) in variants.items():
            value, expected = each.per_query(query), slow(gold, names)
            assert value == (None if expected is None else close(expected)), (family, variant)
            assert in_range(each, value), (family, variant)


def in_range(of: Metric, value: float | None) -> bool:
    return value is None or ((of.low is None or value >= of.low) and (of.high is None or value <= of.high))


@examples
@given(gold=GOLD, ranked=RANKED, names=st.permutations(DOCS + STRANGERS))
def test_does_not_depend_on_what_the_ids_are(gold: Mapping[str, float], ranked: list[str], names: list[str]) -> None:
    renamed = dict(zip(DOCS + STRANGERS, names, strict=True))
    gold_renamed = {renamed[doc]: gain for doc, gain in gold.items()}
    assert values(gold_renamed, [renamed[doc] for doc in ranked]) == values(gold, ranked)


@examples
@given(gold=GOLD, ranked=RANKED, chance=st.randoms(use_true_random=False))
def test_does_not_depend_on_the_order_of_the_gold(
    gold: Mapping[str, float], ranked: list[str], chance: random.Random
) -> None:
    shuffled = list(gold.items())
    chance.shuffle(shuffled)
    assert values(dict(shuffled), ranked) == values(gold, ranked)


@examples
@given(gold=GOLD, ranked=RANKED, data=st.data())
def test_one_more_relevant_document_never_lowers_it(
    gold: Mapping[str, float], ranked: list[str], data: st.DataObject
) -> None:
    ranked = list(dict.fromkeys(ranked))
    useless = [place for place, doc in enumerate(ranked) if gold.get(doc, 0) <= 0]
    unfound = [doc for doc, gain in gold.items() if gain > 0 and doc not in ranked]
    if not useless or not unfound:
        return
    place, doc = data.draw(st.sampled_from(useless)), data.draw(st.sampled_from(unfound))
    before = values(gold, ranked)
    after = values(gold, [*ranked[:place], doc, *ranked[place + 1 :]])
    for place_of, value in before.items():
        improved, rounding = after[place_of], 1e-12 if place_of[0] in {"f", "err"} else 0
        assert (value is None) == (improved is None), place_of
        assert value is None or improved is None or improved >= value - rounding, place_of


@examples
@given(gold=GOLD, ranked=RANKED, more=st.lists(st.sampled_from(STRANGERS), max_size=5))
def test_useless_documents_at_the_end_change_nothing(
    gold: Mapping[str, float], ranked: list[str], more: list[str]
) -> None:
    before, after = (
        # Over the whole list precision divides by the list's length.
        {name: value for name, value in found.items() if name[0] not in {"precision", "f"} or "@all" not in name[1]}
        for found in (values(gold, ranked), values(gold, ranked + more))
    )
    assert after == before


@examples
@given(gold=GOLD, ranked=RANKED)
def test_only_the_best_order_of_all_relevant_documents_has_ndcg_1(gold: Mapping[str, float], ranked: list[str]) -> None:
    best = sorted((gain for gain in gold.values() if gain > 0), reverse=True)
    found = [gold.get(doc, 0) for doc in dict.fromkeys(ranked)]
    if best:
        assert (values(gold, ranked)["ndcg", "linear,log2@all"] == 1) == (found[: len(best)] == best)


@examples
@given(gold=GOLD, ranked=RANKED)
def test_recall_never_exceeds_its_cousins(gold: Mapping[str, float], ranked: list[str]) -> None:
    found = values(gold, ranked)
    for suffix in CUTOFFS:
        whole, recall, capped, hit = (
            found[family, suffix] for family in ("recall_all", "recall", "capped_recall", "hit")
        )
        if None not in (whole, recall, capped, hit):
            assert 0 <= (whole or 0) <= (recall or 0) <= (capped or 0) <= (hit or 0) <= 1, suffix


@examples
@given(gold=GOLD, ranked=RANKED, depth=st.integers(0, 25))
def test_a_depth_is_a_shorter_list(gold: Mapping[str, float], ranked: list[str], depth: int) -> None:
    sample, ids = Sample(query_id="q", gains=gold), deduplicated(ranked)[0]
    assert match(sample, Ranking("q", ids), depth=depth) == match(sample, Ranking("q", ids[:depth]))


# What lines say: items with documents, days, texts and scores, other lists, routes, entities and scores of other tools.

PHRASES = ["the refund window", "is 30 days", "from the day", "of purchase", "Ask support", "no refund"]
PASSAGES = ["The refund window is 30 days\nfrom the day of purchase", "the refund window", "no refund", "of purchase"]
TEXTS = (
    st.none()
    | st.just("")
    | st.lists(st.sampled_from(PHRASES), min_size=1, max_size=3).map(" ".join)
    | st.builds(
        lambda head, said, joint: head + joint.join(said),
        st.sampled_from(["", "Date: 2025-01-01\n", "Date: 2025-01-01\\n", "user: ", "Date: today\nassistant: "]),
        st.lists(st.sampled_from(PHRASES), max_size=3),
        st.sampled_from(["\n", "\\n", "\nuser: ", "  "]),
    )
)
DAYS = ["2024-12-31", "2025-01-01", "2025-06-01"]
ITEM_IDS = ["a#1", "a#2", "b#1", "b", "c", "#1", "d#1#2"]
DOC_IDS = ["a", "b", "c", "#1", "d"]
ITEMS = st.lists(
    st.builds(
        oracle.Item,
        id=st.sampled_from(ITEM_IDS),
        doc_id=st.none() | st.sampled_from(DOC_IDS),
        version=st.none() | st.sampled_from(DAYS),
        text=TEXTS,
        score=st.none() | st.sampled_from([-1.5, 0.0, 0.5, 2.0]),
        source=st.none() | st.sampled_from(["kb", "web"]),
    ),
    max_size=7,
)
LABELS = st.lists(st.sampled_from(["Porto", "porto", "Lisbon", "BR"]), max_size=4)
SOURCES = st.lists(st.sampled_from(["kb", "KB", "web"]), max_size=3, unique=True).map(tuple)
QUESTIONS = st.builds(
    oracle.Question,
    gains=st.dictionaries(st.sampled_from(ITEM_IDS + DOC_IDS + PASSAGES), GRADES, max_size=6)
    | st.dictionaries(st.sampled_from(ITEM_IDS + DOC_IDS + PASSAGES), GRADES, min_size=9, max_size=14),
    negatives=st.lists(st.sampled_from(ITEM_IDS + DOC_IDS + PASSAGES), max_size=3, unique=True),
    answers=st.lists(st.sampled_from(["30 DAYS", "Refund  window", "never", "STRASSE", "0 day", "fund"]), max_size=2),
    as_of=st.none() | st.sampled_from(DAYS),
    source=SOURCES,
    entities=st.none() | LABELS,
    no_answer=st.booleans(),
)
LINES = st.builds(
    oracle.Line,
    items=ITEMS,
    raw=st.none() | ITEMS,
    rewrites=st.none() | st.lists(ITEMS, max_size=3),
    latency=st.none() | st.dictionaries(st.sampled_from(["retrieve", "rerank", "total"]), st.floats(0, 1e6)),
    source=st.none() | SOURCES,
    entities=st.none() | LABELS,
    scores=st.none() | st.dictionaries(st.sampled_from(["cost", "Faith", "faith"]), st.floats(-1e3, 1e3)),
    baseline=st.none() | st.lists(st.sampled_from(ITEM_IDS), max_size=7, unique=True),
)


def ranking(items: Sequence["oracle.Item"], **said: object) -> Ranking:
    """The list as readers give it, with all that is said of it."""
    kept = oracle.once(items)
    told = [
        Item(doc_id=each.doc_id, version=each.version, text=each.text, score=each.score, source=each.source)
        for each in kept
    ]
    details = msgspec.structs.replace(Details(items=told), **said)
    return Ranking("q", [each.id for each in kept], len(items) - len(kept), details)


def matched(
    question: "oracle.Question",
    line: "oracle.Line",
    how: Matching = BY_CHUNK,
    needs: frozenset[RunField] = frozenset(RunField),
) -> MatchedQuery:
    sample = Sample(
        query_id="q",
        gains=question.gains,
        negatives=tuple(question.negatives),
        k=SAMPLE_K,
        answers=tuple(question.answers),
        as_of=question.as_of,
        source=tuple(question.source),
        entities=None if question.entities is None else tuple(question.entities),
        no_answer=question.no_answer,
    )
    full = ranking(
        line.items,
        raw=None if line.raw is None else ranking(line.raw),
        rewrites=None if line.rewrites is None else [ranking(each) for each in line.rewrites],
        latency_ms=line.latency,
        source=line.source,
        entities=line.entities,
        scores=line.scores,
    )
    return match(sample, full, how=how, needs=needs, baseline_ids=line.baseline)


@pytest.mark.full
@examples
@given(question=QUESTIONS, line=LINES)
@example(question=oracle.Question(), line=oracle.Line())
@example(question=oracle.Question(), line=oracle.Line(scores={"cost": 1.0, "Faith": 5e-324}))
def test_what_a_line_says_agrees_with_the_slow_implementation(question: "oracle.Question", line: "oracle.Line") -> None:
    queries: dict[frozenset[RunField], MatchedQuery] = {}
    for family, variants in OF_LINES.items():
        for variant, (each, slow) in variants.items():
            if each.needs not in queries:
                queries[each.needs] = matched(question, line, needs=each.needs)
            value, expected = each.per_query(queries[each.needs]), slow(question, line)
            assert value == (None if expected is None else close(expected)), (family, variant)
            assert in_range(each, value), (family, variant)


# How items are told: the matching, and what it calls them.
WAYS = [
    pytest.param(Matching(), oracle.by_chunk, id="chunk"),
    pytest.param(Matching(by=By.DOC), oracle.by_doc, id="doc"),
    pytest.param(Matching(by=By.DOC, separator="#1"), partial(oracle.by_doc, separator="#1"), id="doc, separator"),
    pytest.param(Matching(by=By.TEXT), oracle.by_text, id="text"),
    pytest.param(Matching(by=By.TEXT, similarity=0.6), partial(oracle.by_text, similarity=0.6), id="text, similar"),
]
Named = Callable[["oracle.Question", Sequence["oracle.Item"]], list[str]]


@pytest.mark.full
@pytest.mark.parametrize(("how", "named"), WAYS)
@settings(examples, max_examples=15)  # each with every metric of lists, by five ways
@given(question=QUESTIONS, line=LINES)
def test_matching_agrees_with_the_slow_implementation(
    how: Matching, named: Named, question: "oracle.Question", line: "oracle.Line"
) -> None:
    query, names = matched(question, line, how), named(question, line.items)
    gains = oracle.judgments(question)
    for family, variants in EVERY_LIST.items():
        for variant, (each, slow) in variants.items():
            value, expected = each.per_query(query), slow(gains, names)
            assert value == (None if expected is None else close(expected)), (family, variant)
            assert in_range(each, value), (family, variant)
    for family, of_names in OF_NAMES.items():
        for variant, (each, slow_too) in of_names.items():
            value, expected = each.per_query(query), slow_too(question, names)
            assert value == (None if expected is None else close(expected)), (family, variant)
            assert in_range(each, value), (family, variant)


ALL_OF_LISTS = {
    (family, variant): found for family, variants in EVERY_LIST.items() for variant, found in variants.items()
}


@pytest.mark.full
@settings(examples, max_examples=30)  # each with every metric of lists
@given(question=QUESTIONS, line=LINES, way=st.sampled_from([way.values for way in WAYS]))
def test_other_lists_of_the_line_agree_with_the_slow_implementation(
    question: "oracle.Question", line: "oracle.Line", way: tuple[Matching, Named]
) -> None:
    how, named = way
    query = matched(question, line, how)
    lists = [line.items, line.raw, *[*(line.rewrites or ()), None, None][:2]]
    gold, names = oracle.judgments(question), [None if each is None else named(question, each) for each in lists]
    shorter = [None if each is None else oracle.condensed(gold, each) for each in names]
    for variant, (each, slow) in ALL_OF_LISTS.items():
        final, raw, first, second = (None if each is None else slow(gold, each) for each in names)
        of_judged = [None if each is None else slow(gold, each) for each in shorter]
        expected: list[tuple[View | ListGain, float | None]] = [
            (View(metric=each, stage="raw"), raw),
            (View(metric=each, rewrite=1), first),
            (View(metric=each, rewrite=2), second),
            (View(metric=each, judged_only=True), of_judged[0]),
            (View(metric=each, judged_only=True, stage="raw"), of_judged[1]),
            (View(metric=each, judged_only=True, rewrite=1), of_judged[2]),
            (View(metric=each, source="kb"), final if "kb" in question.source else None),
            (View(metric=each, source="kb", stage="raw"), raw if "kb" in question.source else None),
            (ListGain(metric=each), None if raw is None or final is None else final - raw),
            (ListGain(metric=each, rewrite=1), None if first is None or final is None else first - final),
            (ListGain(metric=each, rewrite=2), None if second is None or final is None else second - final),
        ]
        for view, value in expected:
            assert view.per_query(query) == (None if value is None else close(value)), (variant, view.name)


@pytest.mark.full
@settings(examples, max_examples=30)  # each with every metric of lists
@given(question=QUESTIONS, line=LINES)
def test_documents_of_one_source_agree_with_the_slow_implementation(
    question: "oracle.Question", line: "oracle.Line"
) -> None:
    query = matched(question, line)
    names = oracle.only_from(line, "kb")
    for variant, (each, slow) in ALL_OF_LISTS.items():
        if RunField.JUDGED in each.needs:
            continue  # what comes from elsewhere stays judged, which the blank names hide
        value = slow(question.gains, names)
        found = View(metric=each, item_source="kb").per_query(query)
        assert found == (None if value is None else close(value)), variant


EVERY_METRIC: list[Metric] = [
    each for table in (EVERY_LIST, OF_NAMES, OF_LINES) for variants in table.values() for each, _ in variants.values()
]
SOME_VIEWS: list[Metric] = [
    parse_metric(name)
    for name in ("recall(stage=raw)@3", "mrr(source=kb)", "rerank_gain(mrr)", "p(judged_only=true)@3")
]


@pytest.mark.full
@pytest.mark.parametrize("how", [BY_CHUNK, Matching(by=By.DOC)])
@settings(examples, max_examples=20)
@given(asked=st.lists(st.tuples(QUESTIONS, LINES), min_size=1, max_size=5))
def test_values_of_several_metrics_and_queries_are_those_of_each_alone(
    how: Matching, asked: list[tuple["oracle.Question", "oracle.Line"]]
) -> None:
    metrics = EVERY_METRIC + SOME_VIEWS
    together = Together(metrics)
    for question, line in asked:
        query = matched(question, line, how)
        assert list(together.values(query)) == [each.per_query(query) for each in metrics]


@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.95, 0.99])
@examples
@given(times=st.lists(st.integers(0, 50).map(float), min_size=1, max_size=120))
def test_latency_at_a_quantile(q: float, times: list[float]) -> None:
    assert parse_metric(f"latency(quantile={q})").aggregate(times) == oracle.at_quantile(times, q)


@examples
@given(gold=GOLD, ranked=RANKED)
def test_a_matched_query_is_what_it_says(gold: Mapping[str, float], ranked: list[str]) -> None:
    ids, removed = deduplicated(ranked)
    query = match(Sample(query_id="q", gains=gold), Ranking("q", ids, removed))
    wanted = oracle.relevant_ids(gold, 0)
    places = [(rank, doc) for rank, doc in enumerate(dict.fromkeys(ranked), start=1) if doc in wanted]
    assert msgspec.structs.asdict(query) == {
        "query_id": "q",
        "hits": tuple((rank, gold[doc]) for rank, doc in places),
        "found": tuple(doc for _, doc in places),
        "ideal": tuple(sorted((gold[doc] for doc in wanted), reverse=True)),
        "retrieved": len(set(ranked)),
        "k": 5,
        "repeats": (),
        "sample": query.sample,
        "unfit": None,
        "placed": None,
        "judged": (),
        "negatives": (),
        "ids": (),
        "documents": (),
        "baseline_ids": None,
        "details": None,
        "raw": None,
        "rewrites": (),
    }
    assert removed == len(ranked) - len(set(ranked))
