"""overlap and rbo against the baseline's list, worked by hand and against published values; and which lists differ."""

from collections.abc import Sequence
from itertools import permutations
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.rows import each_row

from rankgate.metrics.comparison import on_rows
from rankgate.metrics.drift import extrapolated, same_lists
from rankgate.metrics.matching import By, Matching, match
from rankgate.metrics.names import parse_metric, parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import Scores
from rankgate.model.values import Details, Generated, Gold, Item, Ranking, Sample


def value(metric: str, new: str, old: str | None) -> float | None:
    """Of two lists of ids with one letter each."""
    wanted, sample = parse_metric(metric), Sample(query_id="q", gains={})
    baseline = None if old is None else list(old)
    return wanted.per_query(match(sample, Ranking("q", list(new)), needs=wanted.needs, baseline_ids=baseline))


@each_row(
    ("metric", "new", "old", "expected"),
    [
        pytest.param("overlap@5", "abcde", "abcde", 1, id="the same list"),
        pytest.param("overlap@5", "abcde", "edcba", 1, id="in another order"),
        pytest.param("overlap@5", "abcde", "vwxyz", 0, id="nothing in common"),
        pytest.param("overlap@5", "abcde", "xbyda", 3 / 5, id="three of five"),
        pytest.param("overlap@2", "abcde", "bacde", 1, id="only the first two"),
        pytest.param("overlap@2", "abcde", "cdeab", 0, id="common ids below the cut-off"),
        pytest.param("overlap@5", "ab", "abcde", 2 / 5, id="the candidate's list is short"),
        pytest.param("overlap@5", "abcde", "ab", 2 / 5, id="the baseline's list is short"),
        pytest.param("overlap@5", "abc", "cab", 1, id="both are short and equal"),
        pytest.param("overlap@5", "abc", "ab", 2 / 3, id="both are short: by the longer one"),
        pytest.param("overlap@all", "abcdefgh", "abcd", 4 / 8, id="whole lists"),
        pytest.param("overlap", "abcdefgh", "abcdezzz", 1, id="without a number: the first 5"),
        pytest.param("overlap@5", "", "abc", 0, id="nothing any more"),
        pytest.param("overlap@5", "abc", "", 0, id="nothing before"),
        pytest.param("overlap@5", "", "", 1, id="nothing before and after"),
        pytest.param("overlap@5", "abc", None, None, id="the baseline lacks the query: undefined"),
    ],
)
def test_overlap(metric: str, new: str, old: str | None, expected: float | None) -> None:
    assert value(metric, new, old) == expected


@each_row(
    ("metric", "new", "old", "expected"),
    [
        pytest.param("rbo", "abcdefg", "abcdefg", 1, id="the same list"),
        pytest.param("rbo", "abc", "xyz", 0, id="nothing in common"),
        pytest.param("rbo", "a", "a", 1, id="one and the same"),
        pytest.param("rbo", "a", "b", 0, id="one and another"),
        pytest.param("rbo", "ab", "ba", 0.9, id="two that changed places: p, all but the first rank agrees"),
        pytest.param("rbo(p=0.5)", "ab", "ba", 0.5, id="two that changed places, p = 0.5"),
        pytest.param(
            "rbo", "abx", "aby", (0.1 / 0.9) * (0.9 + 0.81 + 2 / 3 * 0.729) + 2 / 3 * 0.729, id="two of three"
        ),
        pytest.param("rbo", "a", "abcdef", 1, id="a beginning of the other: alike as far as one can see"),
        pytest.param("rbo", "abcdef", "a", 1, id="whichever is longer"),
        pytest.param("rbo", "a", "ba", 0.45, id="found at rank 2 of the longer: p / 2"),
        pytest.param(
            *("rbo", "ab", "axyb"),  # in common up to each rank: 1 1 1 2; of them 1 up to the end of the shorter list
            (0.1 / 0.9) * (0.9 + 0.81 / 2 + (1 / 3 + 1 / 6) * 0.729 + (2 / 4 + 2 / 8) * 0.6561)
            + (1 / 4 + 1 / 2) * 0.6561,
            id="the shorter list's overlap is carried on",
        ),
        pytest.param("rbo@2", "abxyz", "abuvw", 1, id="the first two"),
        pytest.param("rbo(p=0.5)@1", "ab", "ba", 0, id="the first"),
        pytest.param("rbo", "", "abc", 0, id="nothing any more"),
        pytest.param("rbo", "abc", "", 0, id="nothing before"),
        pytest.param("rbo", "", "", 1, id="nothing before and after"),
        pytest.param("rbo", "abc", None, None, id="the baseline lacks the query: undefined"),
    ],
)
def test_rbo(metric: str, new: str, old: str | None, expected: float | None) -> None:
    assert value(metric, new, old) == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_rbo_of_equal_lists_is_1_and_not_what_rounding_makes_of_it() -> None:
    assert value("rbo", "abcdefghijkl", "abcdefghijkl") == 1  # the sum is the next number above 1


def test_rbo_as_another_implementation_has_it() -> None:
    """The README of rankmeasures (Scala), after R. Agrawal's Python."""
    assert value("rbo(p=0.9)", "12345", "23415") == pytest.approx(0.828, abs=5e-4)


def test_the_weight_of_the_first_ten_ranks() -> None:
    """Lists that agree in the first ranks and nowhere else have the weight of these ranks.

    Webber, Moffat & Zobel (2010), equation 21: 86 % for ten ranks at p = 0.9.
    """
    p, depth = 0.9, 10
    series = sum(p**i / i for i in range(1, depth))
    weight = 1 - p ** (depth - 1) + (1 - p) / p * depth * (log(1 / (1 - p)) - series)
    common = [f"c{rank}" for rank in range(depth)]
    one, other = ([*common, *(f"{name}{rank}" for rank in range(500))] for name in "xy")
    assert weight == pytest.approx(0.86, abs=5e-3)
    assert extrapolated(one, other, p) == pytest.approx(weight, abs=1e-9)


LISTS = st.lists(st.sampled_from("abcdefghij"), unique=True)


@given(one=LISTS, other=LISTS, p=st.floats(0.01, 0.99))
def test_rbo_is_symmetric_and_in_its_range(one: Sequence[str], other: Sequence[str], p: float) -> None:
    agreement = extrapolated(one, other, p)
    assert agreement == extrapolated(other, one, p)
    assert 0 <= agreement <= 1
    assert extrapolated(one, one, p) == pytest.approx(1, abs=1e-12)
    if one and other and not set(one) & set(other):
        assert agreement == 0


GOLD = Gold(samples={name: Sample(query_id=name, gains={"a": 1}) for name in "pqrs"}, name="gold", format="jsonl")
PLAN = Plan(metrics=parse_metrics("recall@2,mrr,recall(stage=raw)@2,hit@k"), depth=4, default_k=3, compared=True)
ALL = {metric.name for metric in PLAN.metrics}


def line(query_id: str, ids: str, raw: str = "a") -> Ranking:
    return Ranking(query_id, list(ids), details=Details(raw=Ranking(query_id, list(raw))))


BEFORE = [line("p", "abcd"), line("q", "abcd"), line("r", "abcd"), line("s", "abcd")]


def differing(now: Scores, before: Scores) -> set[str]:
    return {metric.name for metric in PLAN.metrics if not same_lists(metric, now, before)}


@pytest.mark.parametrize(
    ("now", "differ"),
    [
        pytest.param(BEFORE, set(), id="the same"),
        pytest.param([*BEFORE[:3], line("s", "abdc")], {"mrr", "hit@k"}, id="below a cut-off"),
        pytest.param([*BEFORE[:3], line("s", "bacd")], ALL, id="within it"),
        pytest.param([*BEFORE[:3], line("s", "abcde")], set(), id="below the depth"),
        pytest.param([*BEFORE[:3], line("s", "abcd", "ab")], {"recall(stage=raw)@2"}, id="another list of the line"),
        pytest.param(BEFORE[:3], ALL, id="a question that the run lacks"),
        pytest.param([*BEFORE, line("x", "abcd")], set(), id="one that the gold set lacks"),
    ],
)
def test_metrics_whose_lists_differ(now: list[Ranking], differ: set[str]) -> None:
    before = score(GOLD, BEFORE, PLAN)
    for one in permutations(now):
        assert differing(score(GOLD, one, PLAN), before) == differ


def test_of_some_questions_their_lists_count_alone() -> None:
    now, before = score(GOLD, [*BEFORE[:3], line("s", "bacd")], PLAN), score(GOLD, BEFORE, PLAN)
    assert differing(on_rows(now, [0, 1]), on_rows(before, [0, 1])) == set()
    assert differing(on_rows(now, [2, 3]), on_rows(before, [2, 3])) == ALL


def test_lists_that_are_not_known_are_not_the_same() -> None:
    scores = score(GOLD, BEFORE, PLAN)
    assert differing(scores, replace(scores, lists={})) == differing(replace(scores, lists={}), scores) == ALL


def test_the_same_ids_of_other_texts_are_not_the_same() -> None:
    gold = Gold(samples={"p": Sample(query_id="p", gains={"Open daily.": 1, "Closed.": 1})}, name="", format="jsonl")
    plan = Plan(metrics=parse_metrics("recall@2"), how=Matching(by=By.TEXT), keep_matched=True, compared=True)

    def scored(*texts: str) -> Scores:
        return score(gold, [Ranking("p", ["a"], details=Details(items=[Item(text=text) for text in texts]))], plan)

    assert same_lists(plan.metrics[0], scored("Open daily."), scored("Open daily."))
    assert not same_lists(plan.metrics[0], scored("Closed."), scored("Open daily."))


def test_the_same_lists_of_other_answers_are_not_the_same() -> None:
    gold = Gold(samples={"p": Sample(query_id="p", gains={"a": 1}, answers=("Yes.",))}, name="", format="jsonl")
    plan = Plan(metrics=parse_metrics("token_f1,recall@2"), compared=True)

    def scored(answer: str | None) -> Scores:
        return score(gold, [Ranking("p", ["a"], details=Details(generated=Generated(answer=answer)))], plan)

    same = {
        metric.name: [same_lists(metric, scored(answer), scored("Yes.")) for answer in ("Yes.", "No.", None)]
        for metric in plan.metrics
    }
    assert same == {"token_f1": [True, False, False], "recall@2": [True, True, True]}
