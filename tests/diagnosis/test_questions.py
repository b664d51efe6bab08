"""What became of a question: one cause each, told from the ranks of its relevant documents; and what is listed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.diagnosis.runs import with_new
from tests.rows import each_row

from rankgate.diagnosis.details import QuestionsOf, cause_of
from rankgate.diagnosis.sweeps import columns_of
from rankgate.metrics.matching import match
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.metrics.sets import Recall
from rankgate.model.details import Cause, Expected
from rankgate.model.scores import MatchedQuery, Scores
from rankgate.model.values import Gold, Ranking, RunField, Sample

K = 3


def ids(text: str | None) -> list[str] | None:
    return None if text is None else text.split()


def matched(sample: Sample, listed: list[str] | None) -> MatchedQuery | None:
    return None if listed is None else match(sample, Ranking(sample.query_id, listed), needs=frozenset({RunField.IDS}))


def expected(relevant: list[str], before: list[str] | None, now: list[str] | None) -> list[Expected]:
    def rank(doc: str, listed: list[str] | None) -> int | None:
        return listed.index(doc) + 1 if listed and doc in listed else None

    return [Expected(id=doc, gain=1.0, before=rank(doc, before), after=rank(doc, now)) for doc in relevant]


def cause(
    relevant: list[str], before: list[str] | None, now: list[str] | None, *, compared: bool = True, is_new: bool = False
) -> Cause:
    sample = Sample(query_id="q", gains=dict.fromkeys(relevant, 1.0))
    found = expected(relevant, before, now)
    return cause_of(found, K, matched(sample, now), compared=compared, is_new=is_new)


@each_row(
    ("relevant", "before", "now", "wanted"),
    [
        pytest.param("", "x y", "x y", Cause.NOTHING_RELEVANT, id="the gold names nothing"),
        pytest.param("", "x y", None, Cause.NOTHING_RELEVANT, id="nor does it matter that the run lacks it"),
        pytest.param("a", "a x", None, Cause.NO_RESULT, id="the run lacks the question"),
        pytest.param("a", "a x", "", Cause.NO_RESULT, id="the run's list is empty"),
        pytest.param("a", None, "", Cause.NO_RESULT, id="an empty list of a new question"),
        pytest.param("a", None, "x a", Cause.BETTER, id="the baseline lacks a question that it was asked"),
        pytest.param("a", None, "x y", Cause.NEVER_FOUND, id="which is not answered now either"),
        pytest.param("a", "a x", "x y", Cause.GONE, id="nowhere in the list now"),
        pytest.param("a b", "a b", "x y z b", Cause.GONE, id="one gone, one lower: gone"),
        pytest.param("a", "x y a", "x y z a", Cause.LOWER, id="from the third to the fourth place"),
        pytest.param("a b", "a x", "b x y a", Cause.LOWER, id="one left, another came: lower"),
        pytest.param("a", "x y z a", "x y z w", Cause.NEVER_FOUND, id="gone from below the first three"),
        pytest.param("a", "x y", "x y z a", Cause.NEVER_FOUND, id="came in below the first three"),
        pytest.param("a b", "a x", "a x", Cause.NEVER_FOUND, id="one is found, one never was"),
        pytest.param("a", "x y z a", "x y a", Cause.BETTER, id="from the fourth to the third place"),
        pytest.param("a b", "x y", "a y", Cause.BETTER, id="one came, one is still not found"),
        pytest.param("a", "x y a", "a x y", Cause.FINE, id="up within the first three"),
        pytest.param("a", "a x y", "x y a", Cause.FINE, id="down within the first three"),
    ],
)
def test_cause(relevant: str, before: str | None, now: str | None, wanted: Cause) -> None:
    assert cause(relevant.split(), ids(before), ids(now)) is wanted


@pytest.mark.parametrize("now", ["x y", "a x"])
def test_a_question_that_is_new_to_the_baseline(now: str) -> None:
    assert cause(["a"], None, now.split(), is_new=True) is Cause.NEW


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        pytest.param("x a", Cause.FINE, id="found"),
        pytest.param("x y z a", Cause.NEVER_FOUND, id="not in the first three"),
        pytest.param("", Cause.NO_RESULT, id="an empty list"),
        pytest.param(None, Cause.NO_RESULT, id="no list"),
    ],
)
def test_cause_without_a_baseline(now: str | None, wanted: Cause) -> None:
    assert cause(["a"], None, ids(now), compared=False) is wanted


DOCS = ["a", "b", "c", "x", "y", "z"]
LISTS = st.none() | st.lists(st.sampled_from(DOCS), unique=True)


@given(relevant=st.lists(st.sampled_from("abc"), unique=True), before=LISTS, now=LISTS, compared=st.booleans())
def test_a_cause_says_what_the_ranks_say(
    relevant: list[str], before: list[str] | None, now: list[str] | None, *, compared: bool
) -> None:
    before = before if compared else None
    found = cause(relevant, before, now, compared=compared, is_new=compared and before is None)
    had, has = (set((listed or [])[:K]) & set(relevant) for listed in (before, now))
    left, came = had - has, has - had
    assert (found is Cause.NOTHING_RELEVANT) is (not relevant)
    assert (found is Cause.NO_RESULT) is (bool(relevant) and not now)
    if relevant and now:
        assert (found is Cause.NEW) is (compared and before is None)
    if relevant and now and before is not None:
        assert (found is Cause.GONE) is bool(left - set(now))
        assert (found is Cause.LOWER) is (bool(left) and left <= set(now))
        assert (found is Cause.BETTER) is (bool(came) and not left)
        assert (found is Cause.NEVER_FOUND) is (not left and not came and has != set(relevant))
        assert (found is Cause.FINE) is (not left and not came and has == set(relevant))


def scores(gold: Gold, lists: dict[str, list[str]]) -> Scores:
    plan = Plan(metrics=[], keep_matched=True, also=frozenset({RunField.IDS}))
    return score(gold, [Ranking(query, listed) for query, listed in lists.items()], plan)


def test_a_question_has_both_rankings_with_the_gold_marked_down_to_the_depth() -> None:
    sample = Sample(query_id="q", gains={"a": 2.0, "b": 1.0, "w": 0.0}, question="which?", tags=("lang:en",))
    gold = Gold(samples={"q": sample, "new": Sample(query_id="new", gains={"a": 1.0})}, name="gold", format="jsonl")
    now, before = scores(gold, {"q": ["x", "w", "a", "b"], "new": ["a"]}), with_new(scores(gold, {"q": ["a", "b"]}))
    columns = columns_of([Recall(cutoff=K)], gold, now, before)
    first, second = QuestionsOf([*gold.samples.values()], columns, dict.fromkeys(gold.samples, K), 3, now, before)

    assert (first.query_id, first.question, first.tags) == ("q", "which?", ("lang:en",))
    assert first.cause is Cause.LOWER
    assert [(each.id, each.gain, each.before, each.after) for each in first.expected] == [
        ("a", 2, 1, 3),
        ("b", 1, 2, 4),
    ]
    assert first.now is not None
    assert [(item.id, item.gain) for item in first.now] == [("x", None), ("w", 0.0), ("a", 2.0)]
    assert first.before is not None
    assert [item.id for item in first.before] == ["a", "b"]
    assert first.values == {"recall@3": (1.0, 0.5)}
    assert (second.cause, second.before, second.values) == (Cause.NEW, None, {"recall@3": (None, 1.0)})
