"""Samples for people: a simple draw by content, and nothing in them that tells a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge.cases import some_judge

from rankgate.judge.label_files import sample_text
from rankgate.judge.model import Answer, Inputs, Passage
from rankgate.judge.records import Record, Slot
from rankgate.judge.sample import LEAST, AnswerKey, Design, Item, draw
from rankgate.judge.tasks import Split
from rankgate.model.answers import Entailment, UnjudgedKind
from rankgate.model.verdicts import Support, Unjudged


class Kind(Enum):
    """What the judge says of an answer."""

    UNSUPPORTED = "a claim at least is not supported"
    SUPPORTED = "all claims are"
    ABSTAINED = "it asserts nothing"


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
    found = [record(Inputs("split", answer.question, answer.answer or ""), Split(bool(texts), texts))]
    if texts:
        passages = tuple(each.text for each in answer.context)
        found.append(record(Inputs("entail", passages=passages, statements=texts), tuple(support)))
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


@settings(max_examples=25)
@given(KINDS, st.integers(LEAST, 130))
def test_the_first_of_all_answers_are_drawn(kinds: list[Kind], number: int) -> None:
    items, design = drawn(kinds, number)
    assert sorted(unit.query_id for unit in design.units) == sorted(f"q{n}" for n in range(len(kinds)))
    assert design.sampled == len(items) == min(number, len(kinds))
    assert [item.key for item in items] == [unit.key for unit in design.units[: design.sampled]]


@pytest.mark.full
def test_each_answer_is_as_likely_whatever_the_judge_says() -> None:
    """Over many contents 15 of 20 are drawn, each three times in four."""
    drawn_first = {U: 0, S: 0}
    kinds = [U] * 2 + [S] * 18
    for round_ in range(100):
        answers, known = project(kinds, f"Wording {round_}")
        _, design = draw(answers, JUDGE, known, number=15, run="run.jsonl")
        chosen = {unit.query_id for unit in design.units[:15]}
        drawn_first[U] += "q0" in chosen
        drawn_first[S] += "q9" in chosen
    assert all(62 <= count <= 88 for count in drawn_first.values())  # 75 expected, SD 4.3: three of them


def test_a_larger_sample_keeps_the_smaller() -> None:
    kinds = [U] * 30 + [S] * 150 + [A] * 20
    samples = [[item.key for item in drawn(kinds, number)[0]] for number in (40, 55, 100, 160, 200)]
    assert all(small == large[: len(small)] for small, large in pairwise(samples))


# What counts of the labels

UNITS = tuple(AnswerKey(f"q{n}", "" if n in {2, 5} else f"k{n}") for n in range(8))  # two of them empty


@pytest.mark.parametrize(
    ("labelled", "skipped", "count"),
    [
        pytest.param("", None, 0, id="none"),
        pytest.param("0", None, 1, id="the first"),
        pytest.param("01", None, 3, id="an empty one needs no label"),
        pytest.param("0134", None, 6, id="two empty ones"),
        pytest.param("013467", None, 8, id="all"),
        pytest.param("1", "q0", 0, id="the first is skipped"),
        pytest.param("013 7", "q4", 4, id="a hole"),
        pytest.param("7", "q0", 0, id="the last alone"),
    ],
)
def test_labels_count_in_the_order_of_the_draw(labelled: str, skipped: str | None, count: int) -> None:
    """Else who labels could pick answers that are easy, and a judge would look better than it is."""
    design = Design("", JUDGE.id, "model", "run.jsonl", len(UNITS), UNITS, 0)
    keys = {f"k{n}" for n in labelled}
    hole = design.skipped(keys)
    assert (hole.query_id if hole else None) == skipped
    assert len(design.drawn(keys)) == count


# Blindness


@pytest.mark.full
@settings(max_examples=12)
@given(st.permutations([U] * 20 + [S] * 30))
def test_other_verdicts_on_the_same_claims_leave_the_sample_as_it_is(kinds: list[Kind]) -> None:
    """Where all are drawn the file is the same byte for byte, whatever the verdicts are."""
    assert sample_text(drawn(kinds, 50)[0]) == sample_text(drawn([U] * 20 + [S] * 30, 50)[0])


@pytest.mark.full
@settings(max_examples=12)
@given(st.permutations([U] * 30 + [S] * 70), st.permutations([U] * 50 + [S] * 50))
def test_the_order_of_two_answers_does_not_depend_on_verdicts(one: list[Kind], other: list[Kind]) -> None:
    first, second = ([item.key for item in drawn(kinds, 60)[0]] for kinds in (one, other))
    assert [key for key in first if key in second] == [key for key in second if key in first]


def test_the_sample_holds_the_content_and_nothing_else() -> None:
    (item,), design = drawn([U], 40)
    assert item == Item("q0", "What of 0?", "An answer 0.", ("A passage.",), ("An answer 0. 0", "An answer 0. 1"))
    assert sample_text([item]).startswith(b'{"answer":')
    assert design.units[0].key == item.key


# What is drawn again


def test_an_answer_has_the_same_luck_in_every_run_and_with_every_judge() -> None:
    kinds = [S] * 100
    answers, known = project(kinds)
    every = draw(answers, JUDGE, known, number=50, run="a")[1].units
    fewer = draw(answers[::-2], JUDGE, known, number=40, run="b")[1].units
    assert [unit for unit in every if unit in fewer] == list(fewer)
    merged = {s: r for each in answers for s, r in judged(each, S, claims=1).items()}
    again = draw(answers, JUDGE, merged, number=50, run="a")[1].units
    assert [unit.query_id for unit in again] == [unit.query_id for unit in every]


def test_empty_and_lacking_answers_are_drawn_and_need_no_label() -> None:
    """They are a part of the run's value; who labels has nothing to say of them."""
    answers, known = project([S, S])
    answers += [answer(7), Answer(query_id="q8", question="?", answer=" \n"), Answer(query_id="q9", question="?")]
    items, design = draw(answers, JUDGE, known, number=40, run="run.jsonl", lacking=["q10", "q11"])
    assert {item.query_id for item in items} == {"q0", "q1"}
    assert {unit.query_id for unit in design.units if not unit.key} == {"q8", "q9", "q10", "q11"}
    assert (design.sampled, design.unjudged) == (6, 1)
