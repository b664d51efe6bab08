"""Two gold sets: what counts as a change, and what is left of the base's to judge by."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rankgate.base_ref.changes import common, fitting, query_changes
from rankgate.criteria import Criteria, Gate, Limits, SegmentRule
from rankgate.metrics.names import parse_metric
from rankgate.model.base_ref import BaseSide, Commit, GateChange, KeyChange, QueryChanges
from rankgate.model.values import Gold, Sample, Span, Verdict

Q1 = Sample(query_id="q1", gains={"a": 1.0}, question="which?", tags=("lang:en", "urgent"))
Q2 = Sample(query_id="q2", gains={"b": 1.0})
UNANSWERABLE = Sample(query_id="q3", gains={}, no_answer=True)


def gold(*samples: Sample) -> Gold:
    return Gold(samples={sample.query_id: sample for sample in samples}, name="gold.yaml", format="yaml")


def spans(written: str, text: str | None = None) -> Sample:
    """Q1 by spans such as `d:0-5`, which all quote this text."""
    found = []
    for each in written.split():
        doc, _, place = each.partition(":")
        start, end = map(int, place.split("-"))
        found.append(Span(doc, start, end, text))
    return replace(Q1, gains={span.id: 1.0 for span in found}, spans={span.id: span for span in found})


def changed(before: Gold, after: Gold) -> dict[str, list[str]] | None:
    found = query_changes(before, after)
    if found is None:
        return None
    named = {
        "added": found.added_ids,
        "removed": found.removed_ids,
        "relabelled": found.relabelled_ids,
        "edited": found.edited_ids,
    }
    assert [found.added, found.removed, found.relabelled, found.edited] == list(map(len, named.values()))
    return {what: ids for what, ids in named.items() if ids}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(Q1, None, id="nothing"),
        pytest.param(replace(Q1, line=7), None, id="its line"),
        pytest.param(replace(Q1, tags=("urgent", "lang:en", "new")), None, id="a tag more, in another order"),
        pytest.param(
            replace(Q1, judge_gains={"b": 1.0}), {"relabelled": ["q1"]}, id="a judge's label, which can end a doubt"
        ),
        pytest.param(replace(Q1, tags=("lang:en",)), {"edited": ["q1"]}, id="a tag less"),
        pytest.param(replace(Q1, question="what?"), {"edited": ["q1"]}, id="another question"),
        pytest.param(replace(Q1, k=3), {"edited": ["q1"]}, id="another cut-off"),
        pytest.param(replace(Q1, negatives=("x",)), {"edited": ["q1"]}, id="a known wrong document"),
        pytest.param(replace(Q1, gains={"a": 2.0}), {"relabelled": ["q1"]}, id="another gain"),
        pytest.param(replace(Q1, gains={"a": 1.0, "b": 0.0}), {"relabelled": ["q1"]}, id="looked at and not right"),
        pytest.param(replace(Q1, gains={"b": 1.0}, question="what?"), {"relabelled": ["q1"]}, id="label and question"),
        pytest.param(spans("d:0-5 e:2-4", text="was"), {"relabelled": ["q1"]}, id="spans in place of ids"),
        pytest.param(replace(Q1, query_id="q9"), {"added": ["q9"], "removed": ["q1"]}, id="another id"),
    ],
)
def test_what_counts_as_a_change(now: Sample, expected: dict[str, list[str]] | None) -> None:
    assert changed(gold(Q1, Q2), gold(now, Q2)) == expected
    assert changed(gold(Q1, Q2), gold(Q2, now)) == expected, "the order is none"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(spans("e:2-4 d:0-5", text="was"), {}, id="another order"),
        pytest.param(spans("d:0-5 e:2-4", text="is"), {"relabelled": ["q1"]}, id="another text"),
        pytest.param(spans("d:0-5 e:2-4"), {"relabelled": ["q1"]}, id="no text"),
        pytest.param(spans("d:0-5", text="was"), {"relabelled": ["q1"]}, id="a span less"),
        pytest.param(spans("d:0-6 e:2-4", text="was"), {"relabelled": ["q1"]}, id="another end"),
        pytest.param(
            replace(spans("d:0-5 e:2-4", text="is"), question="what?"), {"relabelled": ["q1"]}, id="text and question"
        ),
        pytest.param(
            replace(spans("d:0-5 e:2-4", text="was"), question="what?"), {"edited": ["q1"]}, id="the question alone"
        ),
    ],
)
def test_changed_spans_are_relabelled_as_the_baseline_counts_them(now: Sample, expected: dict[str, list[str]]) -> None:
    was = spans("d:0-5 e:2-4", text="was")
    assert (changed(gold(was), gold(now)) or {}) == expected
    assert (now.judgments() != was.judgments()) is ("relabelled" in expected)


def test_the_common_queries_have_the_labels_of_the_base() -> None:
    before = gold(Q1, Q2, UNANSWERABLE)
    found = common(before, gold(replace(Q1, gains={"x": 1.0}), UNANSWERABLE))
    assert found is not None
    assert list(found.samples.values()) == [Q1, UNANSWERABLE]


def test_a_gold_set_with_all_queries_is_common_as_it_is() -> None:
    """So that one look tells that there is nothing else to judge."""
    before = gold(Q1, Q2)
    assert common(before, gold(Q2, Q1, UNANSWERABLE)) is before


def test_nothing_to_score_is_nothing_in_common() -> None:
    assert common(gold(Q1, UNANSWERABLE), gold(Q2, UNANSWERABLE)) is None


HALF = Limits(threshold=0.5)


def criteria(*rules: SegmentRule, must_pass: tuple[str, ...] = ()) -> Criteria:
    gate = Gate(
        name="mrr",
        metric=parse_metric("mrr"),
        threshold=0.5,
        regression_max=None,
        segments=rules,
        must_pass=must_pass,
        line=1,
    )
    return Criteria(name="c", gates=(gate,), default_k=5)


def fitted(*rules: SegmentRule) -> tuple[SegmentRule, ...]:
    return fitting(criteria(*rules), gold(Q1, Q2)).gates[0].segments


def test_must_pass_entries_that_nothing_has_are_left_out() -> None:
    found = fitting(criteria(must_pass=("q1", "urgent", "gone", "q2")), gold(Q1, Q2))
    assert found.gates[0].must_pass == ("q1", "urgent", "q2")


def test_segments_that_nothing_has_are_left_out() -> None:
    here = SegmentRule(by=("lang",), threshold=0.5, min_queries=2)
    assert fitted(here, SegmentRule(by=("topic",), threshold=0.5, min_queries=1)) == (here,)
    assert fitted(here.model_copy(update={"min_queries": 3})) == (), (
        "more than there are queries: no segment could be judged"
    )
    both = here.model_copy(update={"only": {"en": HALF, "de": HALF}})
    assert fitted(both) == (here.model_copy(update={"only": {"en": HALF}}),)
    only = {"lang:en × lang:en": HALF, "lang:en × lang:de": HALF}
    crossed = SegmentRule(by=("lang", "lang"), threshold=0.5, only=only, min_queries=2)
    assert fitted(crossed)[0].only == {"lang:en × lang:en": HALF}


QUERIES = QueryChanges(
    queries=2,
    added=0,
    removed=1,
    relabelled=0,
    edited=0,
    added_ids=[],
    removed_ids=["q1"],
    relabelled_ids=[],
    edited_ids=[],
)
BOTH = "the criteria and the questions of the base, of which this pull request removes 1"
LOWERED = GateChange(name="a", change="weakened")
RENAMED = GateChange(name="a", change="renamed", new_name="b")
MOVED = KeyChange(key="inputs.gold", before="a", after="b", weakens=False)
MATCH = KeyChange(key="match", before="chunk", after="doc", weakens=True)


@pytest.mark.parametrize(
    ("gates", "keys", "queries", "expected"),
    [
        pytest.param([LOWERED], [], None, "the criteria of the base", id="criteria"),
        pytest.param([], [MATCH], None, "the criteria of the base", id="matching"),
        pytest.param(
            [RENAMED],
            [MOVED],
            QUERIES,
            "the questions of the base, of which this pull request removes 1",
            id="gold set",
        ),
        pytest.param([LOWERED], [], QUERIES, BOTH, id="both"),
    ],
)
def test_who_judges_has_a_name(
    gates: list[GateChange], keys: list[KeyChange], queries: QueryChanges | None, expected: str
) -> None:
    base = BaseSide(ref="main", sha="1", head_verdict=Verdict.PASS, gates=gates, keys=keys, queries=queries)
    assert base.judges == expected


@pytest.mark.parametrize(
    ("ref", "expected"),
    [("main", "main (1a2b3c4)"), ("1a2b3c4d5e", "1a2b3c4"), ("1a2b", "1a2b3c4"), ("1a2b3c4d5e6f", "1a2b3c4")],
)
def test_a_commit_reads_by_name_and_sha(ref: str, expected: str) -> None:
    assert Commit(ref=ref, sha="1a2b3c4d5e6f").shown == expected
