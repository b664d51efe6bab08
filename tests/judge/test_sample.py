"""Samples for people: exact chances, a place for the rarer verdict, and nothing in them that tells a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge.cases import some_judge

from rankgate.judge.label_files import sample_text
from rankgate.judge.model import Answer, Inputs, Passage, Record, Slot, Split, Task
from rankgate.judge.sample import LEAST, Design, Item, Kind, draw, shared_out
from rankgate.model.answers import Entailment, Support, Unjudged, UnjudgedKind

JUDGE = some_judge()
PASSAGE = Passage("p", "A passage.")
U, S, A = Kind.UNSUPPORTED, Kind.SUPPORTED, Kind.ABSTAINED
Known = dict[Slot, Record]


def record(inputs: Inputs, verdicts: Any) -> Record:
    unjudged = Unjudged(UnjudgedKind.LENGTH) if verdicts is None else None
    return Record(judge=JUDGE.id, task=inputs.task, key=inputs.key, repeat=0, verdicts=verdicts, unjudged=unjudged)


def judged(answer: Answer, kind: Kind, claims: int = 2) -> Known:
    """A judge that finds so many claims in an answer, and says of it what the kind says."""
    texts = tuple(f"{answer.answer} {n}" for n in range(claims)) if kind is not A else ()
    support = [
        Support(n, Entailment.ABSENT if kind is U and n == 1 else Entailment.SUPPORTED, (1,))
        for n in range(1, len(texts) + 1)
    ]
    found = [record(Inputs(Task.SPLIT, answer.question, answer.answer or ""), Split(bool(texts), texts))]
    if texts:
        passages = tuple(each.text for each in answer.context)
        found.append(record(Inputs(Task.ENTAIL, passages=passages, statements=texts), tuple(support)))
    return {each.slot: each for each in found}


def answer(number: int, text: str | None = "An answer") -> Answer:
    return Answer(query_id=f"q{number}", question=f"What of {number}?", answer=f"{text} {number}.", context=(PASSAGE,))


def project(kinds: Sequence[Kind], text: str = "An answer") -> tuple[list[Answer], Known]:
    answers = [answer(number, text) for number in range(len(kinds))]
    known = {s: r for each, kind in zip(answers, kinds, strict=True) for s, r in judged(each, kind).items()}
    return answers, known


def drawn(kinds: Sequence[Kind], number: int, **values: Any) -> tuple[tuple[Item, ...], Design]:
    answers, known = project(kinds)
    return draw(answers, JUDGE, known, number=number, run="run.jsonl", **values)


KINDS = st.lists(st.sampled_from([U, S, A]), min_size=1, max_size=120)


@settings(max_examples=25, deadline=None)
@given(KINDS, st.integers(LEAST, 130), st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=120, max_size=120))
def test_each_stratum_stands_for_its_population_exactly(kinds: list[Kind], number: int, tags: list[str]) -> None:
    segments = {f"q{n}": tag for n, tag in enumerate(tags) if tag}
    items, design = drawn(kinds, number, segments=segments)
    placed = [(unit.query_id, stratum.kind) for stratum in design.strata for unit in stratum.units]
    assert sorted(placed) == sorted((f"q{n}", kind) for n, kind in enumerate(kinds)), "each in one stratum"
    for stratum in design.strata:
        assert stratum.sampled >= 1, "a stratum without a chance would bias every estimate"
        weight = Fraction(len(stratum.units), stratum.sampled)
        assert sum(weight for _ in stratum.units[: stratum.sampled]) == len(stratum.units)
        of_segment = {segments.get(unit.query_id) for unit in stratum.units}
        assert stratum.segment is None or of_segment == {stratum.segment}
    chosen = {unit.key for stratum in design.strata for unit in stratum.units[: stratum.sampled]}
    assert {item.key for item in items} == chosen
    assert min(number, len(kinds)) <= len(items) <= min(number + len(design.strata), len(kinds))


def test_the_chance_is_the_share_drawn_whatever_the_judge_says() -> None:
    """Over many contents every unit of a stratum is drawn as often as the design says: 15 of 20 three times in four."""
    drawn_first = 0
    for round_ in range(100):
        answers, known = project([S] * 20, f"Wording {round_}")
        _, design = draw(answers, JUDGE, known, number=15, run="run.jsonl")
        (stratum,) = design.strata
        assert (stratum.sampled, len(stratum.units)) == (15, 20)
        drawn_first += "q0" in {unit.query_id for unit in stratum.units[:15]}
    assert 62 <= drawn_first <= 88  # 75 expected, SD 4.3: three of them


@pytest.mark.parametrize(
    ("sizes", "number", "expected"),
    [
        pytest.param({U: 500, S: 500, A: 500}, 200, {U: 80, S: 80, A: 40}, id="enough of each"),
        pytest.param({U: 5, S: 900, A: 95}, 200, {U: 5, S: 130, A: 65}, id="all of what is rare"),
        pytest.param({U: 60, S: 900}, 200, {U: 60, S: 140}, id="no abstention"),
        pytest.param({U: 1, S: 2, A: 3}, 200, {U: 1, S: 2, A: 3}, id="fewer than asked"),
        pytest.param({Kind.UNJUDGED: 9}, 40, {}, id="nothing judged"),
    ],
)
def test_the_rarer_verdict_has_its_place(sizes: dict[Kind, int], number: int, expected: dict[Kind, int]) -> None:
    assert shared_out(sizes, number) == expected


def test_a_larger_sample_keeps_the_smaller() -> None:
    kinds = [U] * 30 + [S] * 150 + [A] * 20
    samples = [{item.key for item in drawn(kinds, number)[0]} for number in (40, 55, 100, 160, 200)]
    assert all(small < large for small, large in pairwise(samples))


def test_segments_that_are_too_small_share_a_stratum() -> None:
    segments = {f"q{n}": "large" if n < 80 else f"small {n % 7}" for n in range(98)}
    _, design = drawn([S] * 100, 50, segments=segments)
    assert [(each.segment, each.sampled, len(each.units)) for each in design.strata] == [
        (None, 10, 20),
        ("large", 40, 80),
    ]


# Blindness


@settings(max_examples=12, deadline=None)
@given(st.permutations([U] * 20 + [S] * 30))
def test_other_verdicts_on_the_same_claims_leave_the_sample_as_it_is(kinds: list[Kind]) -> None:
    """Where all are drawn the file is the same byte for byte, whatever the verdicts are."""
    assert sample_text(drawn(kinds, 50)[0]) == sample_text(drawn([U] * 20 + [S] * 30, 50)[0])


@settings(max_examples=12, deadline=None)
@given(st.permutations([U] * 30 + [S] * 70), st.permutations([U] * 50 + [S] * 50))
def test_the_order_of_two_answers_does_not_depend_on_verdicts(one: list[Kind], other: list[Kind]) -> None:
    first, second = ([item.key for item in drawn(kinds, 60)[0]] for kinds in (one, other))
    assert [key for key in first if key in second] == [key for key in second if key in first]


def test_the_place_of_an_answer_says_nothing_of_its_stratum() -> None:
    """In the order of the draw all that is late would be of the stratum of which more is taken."""
    kinds = [U] * 60 + [S] * 940
    items, _ = drawn(kinds, 120)
    late = items[60:]
    unsupported = {f"q{n}" for n in range(60)}
    assert sum(item.query_id in unsupported for item in items) == 60
    assert 18 <= sum(item.query_id in unsupported for item in late) <= 42  # 30 expected, SD 2.8


def test_the_sample_holds_the_content_and_nothing_else() -> None:
    (item,), design = drawn([U], 40)
    assert item == Item("q0", "What of 0?", "An answer 0.", ("A passage.",), ("An answer 0. 0", "An answer 0. 1"))
    assert sample_text([item]).startswith(b'{"answer":')
    assert design.strata[0].units[0].key == item.key


# What is drawn again


def test_an_answer_has_the_same_luck_in_every_run_and_with_every_judge() -> None:
    kinds = [S] * 100
    answers, known = project(kinds)
    every = draw(answers, JUDGE, known, number=50, run="a")[1].strata[0].units
    fewer = draw(answers[::-2], JUDGE, known, number=40, run="b")[1].strata[0].units
    assert [unit for unit in every if unit in fewer] == list(fewer)
    merged = {s: r for each in answers for s, r in judged(each, S, claims=1).items()}
    again = draw(answers, JUDGE, merged, number=50, run="a")[1].strata[0].units
    assert [unit.query_id for unit in again] == [unit.query_id for unit in every]


def test_what_cannot_be_drawn_is_counted() -> None:
    answers, known = project([S, S])
    answers += [answer(7), Answer(query_id="q8", question="?", answer=" \n"), Answer(query_id="q9", question="?")]
    items, design = draw(answers, JUDGE, known, number=40, run="run.jsonl")
    assert (len(items), design.left) == (2, {Kind.UNJUDGED: 1, Kind.EMPTY: 2})
