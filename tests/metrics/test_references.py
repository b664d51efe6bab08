"""Answers against the gold's reference: by SQuAD's evaluation, in other scripts, and where there is no answer."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan, require_fields
from rankgate.metrics.scoring import score
from rankgate.model.values import Details, Generated, Gold, Ranking, Sample

NAMES = ("answer_contains", "exact_match", "token_f1", "squad_em", "squad_f1")


def value(
    metric: str, answer: str | None, *references: str, no_answer: bool = False, said: bool = True
) -> float | None:
    generated = Generated(answer=answer) if said else None
    sample = Sample(query_id="q", gains={"a": 1.0}, answers=references, no_answer=no_answer)
    parsed = parse_metric(metric)
    return parsed.per_query(match(sample, Ranking("q", ["a"], 0, Details(generated=generated)), needs=parsed.needs))


# SQuAD's evaluate-v2.0.py, its definitions once more.


def squad_normal(text: str) -> str:
    text = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad_em(answer: str, reference: str) -> float:
    return float(squad_normal(answer) == squad_normal(reference))


def squad_f1(answer: str, reference: str) -> float:
    own, other = squad_normal(answer).split(), squad_normal(reference).split()
    if not own or not other:
        return float(own == other)
    same = sum((Counter(own) & Counter(other)).values())
    if not same:
        return 0.0
    precision, recall = same / len(own), same / len(other)
    return 2 * precision * recall / (precision + recall)


WORDS = ["The", "a", "an", "cat", "Cat's", "sat,", "on-the", "30.5", "$30", "(U.S.)", "café", "Да", "x=y", "theory"]
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@given(answer=PHRASES, references=st.lists(PHRASES, min_size=1, max_size=3))
@example(answer="The cat sat.", references=["cat", "a cat  sat"])
@example(answer="Cat's 30.5", references=["cats 305"])
def test_agrees_with_squads_evaluation(answer: str, references: list[str]) -> None:
    """But where nothing is left of a text: there all of it counts, so that nothing equals nothing no longer."""
    for name, theirs in {"squad_em": squad_em, "squad_f1": squad_f1}.items():
        if all(map(squad_normal, (answer, *references))):
            assert value(name, answer, *references) == pytest.approx(max(theirs(answer, each) for each in references))


@pytest.mark.full
@given(answer=st.text(max_size=20), reference=st.text(min_size=1, max_size=20), other=st.text(min_size=1, max_size=20))
@example(answer="\u0130", reference="i\u0307", other="\ufdfa")
def test_of_any_texts(answer: str, reference: str, other: str) -> None:
    """From 0 to 1; a text is what it is, however Unicode writes it; further references never cost; F1 is symmetric."""
    for name in NAMES:
        found = value(name, answer, reference)
        assert found is not None
        assert 0 <= found <= 1
        assert (value(name, answer, reference, other) or 0) >= found
        own = value(name, reference, reference)
        if reference.strip() and own:  # of signs without width nothing is left
            assert own == value(name, unicodedata.normalize("NFD", reference), reference) == 1
    if answer.strip() and value("token_f1", reference, answer):
        assert value("token_f1", answer, reference) == value("token_f1", reference, answer)


@each_row(
    ("metric", "answer", "reference", "expected"),
    [
        ("exact_match", "30 Days!", "30 days", 1),
        ("exact_match", "the cat", "cat", 0),
        ("squad_em", "the cat", "cat", 1),
        ("exact_match", "Stra\u00dfe", "STRASSE", 1),
        ("exact_match", "\uff13\uff10", "30", 1),
        ("exact_match", "\u300c\u6771\u4eac\u300d\u3002", "\u6771\u4eac", 1),
        ("exact_match", "+", "-", 0),
        ("exact_match", "+", "+", 1),
        ("squad_em", "The The", "the  the", 1),
        ("squad_em", "A", "the", 0),
        ("token_f1", "the cat sat", "cat sat", 4 / 5),
        ("token_f1", "cat cat", "cat", 2 / 3),
        ("token_f1", "\u6771\u4eac\u90fd", "\u6771\u4eac", 4 / 5),
        ("token_f1", "\uc11c\uc6b8\uc740", "\uc11c\uc6b8", 4 / 5),
        ("token_f1", "\u0e01\u0e02", "\u0e01", 2 / 3),
        ("token_f1", "Tokyo\u6771\u4eac", "tokyo", 1 / 2),
        ("token_f1", "\u043a\u043e\u0442 \u0441\u043f\u0438\u0442", "\u043a\u043e\u0442", 2 / 3),
        ("token_f1", "dog", "cat", 0),
        ("answer_contains", "It is 30 days.", "30 Days", 1),
        ("answer_contains", "It is 30.5 days", "30", 0),
        ("answer_contains", "a party", "art", 0),
        ("answer_contains", "\u9867\u5ba2\u306f\u6771\u4eac\u3067", "\u6771\u4eac", 1),
    ],
)
def test_by_hand(metric: str, answer: str, reference: str, expected: float) -> None:
    assert value(metric, answer, reference) == pytest.approx(expected)


@pytest.mark.parametrize("metric", NAMES)
def test_where_there_is_nothing_to_compare(metric: str) -> None:
    assert value(metric, "30") is None  # no reference
    assert value(metric, "30", "30", no_answer=True) is None
    assert [value(metric, answer, "30") for answer in (None, "", " \u200b\n")] == [0, 0, 0]
    assert value(metric, None, "30", said=False) == 0
    assert value(metric, "thirty", "30", "Thirty") == 1


def test_over_a_run() -> None:
    """Absent queries and lines without an answer are 0 where there is a reference; a run without any is an error."""
    samples = {
        each: Sample(query_id=each, gains={"a": 1.0}, answers=() if each == "none" else ("x",))
        for each in ("right", "silent", "absent", "none")
    }
    gold, plan = Gold(samples=samples, name="gold", format="python"), Plan(metrics=[parse_metric("exact_match")])
    silent = Ranking("silent", ["a"])
    run = [Ranking("right", ["a"], 0, Details(generated=Generated(answer="X."))), silent, Ranking("none", ["a"])]
    assert score(gold, run, plan).values == {"exact_match": [1, 0, 0, None]}
    with pytest.raises(RankgateError, match="exact_match reads `answer`, which the run states nowhere"):
        require_fields(score(gold, [silent], plan), plan, "run.jsonl")
