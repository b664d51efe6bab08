"""When the gold set speaks of other ids than the lists: stale, partly stale, and all that only looks like it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pytest

from rankgate.diagnosis.gold_set import refuse_stale, with_foreign
from rankgate.errors import RankgateError
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.matching import BY_CHUNK, By, Matching
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import score
from rankgate.model.scores import Scores
from rankgate.model.values import Details, Gold, Item, Ranking, Sample, Span
from rankgate.readers.base import Run

BY_DOC, BY_TEXT = Matching(by=By.DOC), Matching(by=By.TEXT)
NONE_FOUND = {"q1": "x1 x2 x3", "q2": "x4 x5 x6", "q3": "x7 x8 x9"}
RELEVANT = {"q1": "a#1", "q2": "b#1 b#2", "q3": "c#1"}
ACCEPTED = {"q1": "a#1 d#1", "q2": "b#1 b#2", "q3": "d#1 c#1"}


def gold(relevant: Mapping[str, str] = RELEVANT, others: str = "", negatives: str = "") -> Gold:
    judged = dict.fromkeys(others.split(), 0.0)
    samples = {
        query_id: Sample(
            query_id=query_id, gains={**dict.fromkeys(ids.split(), 1.0), **judged}, negatives=tuple(negatives.split())
        )
        for query_id, ids in relevant.items()
    }
    return Gold(samples=samples, name="gold.yaml", format="yaml", fingerprint="")


def rankings(lists: Mapping[str, str], details: Mapping[str, Details] | None = None) -> list[Ranking]:
    return [Ranking(query_id, ids.split(), 0, (details or {}).get(query_id)) for query_id, ids in lists.items()]


def plan(how: Matching = BY_CHUNK, metrics: str = "recall@5", *, keep: bool = True) -> Plan:
    return Plan(metrics=parse_metrics(metrics), how=how, keep_matched=keep)


def scored(asked: Gold, lists: Iterable[Ranking], how: Matching = BY_CHUNK, *, keep: bool = True) -> Scores:
    return score(asked, lists, plan(how, keep=keep))


def kept(scores: Scores, lists: Sequence[Ranking]) -> ScoredRun:
    """A scored run whose lists are these."""
    return ScoredRun(Run(name="run.jsonl", format="jsonl", rankings=iter(())), scores, kept=lists)


def stale(
    now: Mapping[str, str],
    *,
    before: Mapping[str, str] | None = None,
    asked: Gold | None = None,
    how: Matching = BY_CHUNK,
) -> str:
    """What is said, or nothing."""
    known, lists = asked or gold(), rankings(now)
    baseline = None if before is None else scored(known, rankings(before), how)
    try:
        refuse_stale(known, plan(how), kept(scored(known, lists, how), lists), baseline)
    except RankgateError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(NONE_FOUND, True, id="ids that the gold does not know"),
        pytest.param({**NONE_FOUND, "q1": "a#1 x2 x3"}, False, id="one relevant id is found: an ordinary FAIL"),
        pytest.param({**NONE_FOUND, "q1": "c#1 x2 x3"}, False, id="found for another question"),
        pytest.param({"q1": "", "q2": "", "q3": ""}, False, id="empty lists: a broken search"),
        pytest.param({"q1": "x1 x2", "q2": "x3 x4", "q3": ""}, True, id="two of three as long as most"),
        pytest.param({"q1": "x1 x2", "q2": "", "q3": ""}, True, id="most lists are empty, but not nearly all"),
        pytest.param({"q1": "x1 x2 x3", "q2": "x4", "q3": "x5 x6"}, True, id="lists of any length"),
        pytest.param({"q1": "x1 x2"}, True, id="of the queries that the run has"),
    ],
)
def test_gold_stale(now: Mapping[str, str], *, expected: bool) -> None:
    assert bool(stale(now)) is expected


HALF_EMPTY = {"q1": "x1 x2 x3", "q2": "x4", "q3": ""}
NEARLY_EMPTY = {f"q{number}": "x1 x2" if number == 1 else "" for number in range(1, 11)}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(HALF_EMPTY, HALF_EMPTY, True, id="nothing found on either side: no loss could show"),
        pytest.param(ACCEPTED, HALF_EMPTY, False, id="the baseline found it: a search that broke, and a loss"),
        pytest.param(NEARLY_EMPTY, NEARLY_EMPTY, False, id="nearly all lists are empty: that is what is said"),
    ],
)
def test_beside_a_baseline_that_finds_something_lists_have_to_be_full(
    before: Mapping[str, str], now: Mapping[str, str], *, expected: bool
) -> None:
    told = stale(now, before=before, asked=gold({**RELEVANT, **dict.fromkeys(now, "a#1 b#1 c#1")}))
    assert bool(told) is expected
    assert told == "" or "2 of 3 lists hold results" in told


@pytest.mark.parametrize(
    ("asked", "now"),
    [
        pytest.param(gold(others="x1"), NONE_FOUND, id="judged and not relevant"),
        pytest.param(gold(negatives="x1"), NONE_FOUND, id="a hard negative"),
    ],
)
def test_whatever_the_gold_names_is_of_its_ids(asked: Gold, now: Mapping[str, str]) -> None:
    assert stale(now, asked=asked) == ""


def test_the_message_has_the_numbers_and_what_to_do() -> None:
    many = {f"q{index}": f"g{index}" for index in range(236)} | {"q0": " ".join(f"h{index}" for index in range(110))}
    run = {query_id: f"n{query_id} m{query_id}" for query_id in many} | {"q7": "nq7 h3", "q8": "h5 nq8"}
    assert stale(run, asked=gold(many)) == (
        "gold.yaml: gold stale: 2 of 345 relevant ids occur in any ranking, 236 of 236 lists are full; did the chunk "
        "ids change, or is another corpus indexed? Map the gold set to the new ids, or gate by document with "
        "`match: doc`; the gold set has 'h0', 'h1', 'h2', the run 'nq0', 'mq0', 'nq1'"
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [pytest.param(1, True, id="just below 1 %"), pytest.param(2, False, id="1 % is enough to judge")],
)
def test_the_border_of_one_percent(found: int, *, expected: bool) -> None:
    asked = gold({f"q{index}": f"g{index}" for index in range(200)})
    run = {f"q{index}": f"g{index}" if index < found else f"x{index}" for index in range(200)}
    assert bool(stale(run, asked=asked)) is expected


def test_by_document_the_documents_count() -> None:
    asked = gold({"q1": "a", "q2": "b c"})
    assert stale({"q1": "z#1 y#2", "q2": "y#1 a#9"}, asked=asked, how=BY_DOC) == "", "a is there, for another question"
    told = stale({"q1": "z#1 y#2", "q2": "y#1 z#9"}, asked=asked, how=BY_DOC)
    assert "did the document ids change" in told
    assert "match: doc" not in told, "it is matched by document already"


def test_where_texts_are_matched_ids_say_nothing() -> None:
    asked = gold({"q1": "passage"})
    item = Details(items=[Item(text="something else")])
    lists = [Ranking("q1", ["x"], 0, item)]
    refuse_stale(asked, plan(BY_TEXT), kept(scored(asked, lists, BY_TEXT), lists))


def test_where_no_metric_looks_for_documents_ids_say_nothing() -> None:
    lists, others = rankings(NONE_FOUND), plan(metrics="latency,containment@5")
    refuse_stale(gold(), others, kept(scored(gold(), lists), lists))


def test_of_two_relevant_ids_nobody_can_tell() -> None:
    few = gold({"q1": "a", "q2": "b"})
    assert stale({"q1": "x1 x2", "q2": "x3 x4"}, asked=few) == ""


def test_a_run_that_finds_anything_is_not_read_again() -> None:
    class Unread(list[Ranking]):
        def __iter__(self) -> Iterator[Ranking]:
            raise AssertionError("read again")

    refuse_stale(gold(), plan(), kept(scored(gold(), rankings(ACCEPTED)), Unread()))


def test_lists_that_cannot_be_read_again_are_no_proof() -> None:
    refuse_stale(gold(), plan(), kept(scored(gold(), rankings(NONE_FOUND)), ()))


def test_without_the_matched_queries_nothing_is_claimed() -> None:
    lists = rankings(NONE_FOUND)
    refuse_stale(gold(), plan(), kept(scored(gold(), lists, keep=False), lists))


RECALL, TIME = "recall@5", "latency"


@pytest.mark.parametrize(
    ("stored", "foreign"),
    [
        pytest.param(NONE_FOUND, {RECALL}, id="other ids: its recall is no number to compare with, its times are"),
        pytest.param(HALF_EMPTY, {RECALL}, id="other ids in lists of any length"),
        pytest.param(ACCEPTED, set(), id="ids of the gold"),
        pytest.param({"q1": "", "q2": "", "q3": ""}, set(), id="empty lists: a search that was broken"),
    ],
)
def test_a_baseline_of_other_ids_is_compared_in_nothing_that_reads_them(
    stored: Mapping[str, str], foreign: set[str]
) -> None:
    asked, both = gold(), plan(metrics=f"{RECALL},{TIME}")
    lists = [Ranking(query_id, ids.split(), 0, Details(latency_ms={"total": 5.0})) for query_id, ids in stored.items()]
    found = with_foreign(asked, both, kept(score(asked, lists, both), lists)).scores
    assert found.foreign == foreign
    columns = {metric.name: baseline_column(metric, found) for metric in both.metrics}
    assert {name for name, column in columns.items() if column.count(None) == len(column)} == foreign


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param("other", True, id="texts of other documents"),
        pytest.param("handbook", False, id="other texts of the same document"),
        pytest.param(None, False, id="texts of no document by name"),
    ],
)
def test_texts_of_other_documents(document: str | None, *, expected: bool) -> None:
    span = Matching(by=By.SPAN)
    passages = {query: Span("handbook" + query, 0, 14, "thirty days no") for query in RELEVANT}
    samples = {
        query: Sample(query_id=query, gains={each.id: 1.0}, spans={each.id: each}) for query, each in passages.items()
    }
    known = Gold(samples=samples, name="gold.yaml", format="yaml", fingerprint="")
    lists = [
        Ranking(
            query, [f"c{query}"], 0, Details(items=[Item(doc_id=document and document + query, text="nothing like it")])
        )
        for query in RELEVANT
    ]
    scores = scored(known, lists, span)
    if not expected:
        refuse_stale(known, plan(span), kept(scores, lists))
        return
    with pytest.raises(RankgateError, match="gold stale: 0 of 3 relevant ids occur in any ranking, 3 of 3 lists are"):
        refuse_stale(known, plan(span), kept(scores, lists))
