"""What labels leave of the change of a question: by brute force over all that the missing ones could be."""

from __future__ import annotations

from itertools import product

import pytest

from rankgate.collecting.traffic import bounds_of, known_labels
from rankgate.model.traffic_lists import TrafficLabel, TrafficPair, TrafficQuestion

DOCUMENTS = "abcd"


def pair(before: str, now: str) -> TrafficPair:
    question = TrafficQuestion(query_id="q", question="Why?")
    return TrafficPair(question=question, before=tuple(before), now=tuple(now), changed=True)


def value(documents: str, relevant: dict[str, bool], *, hit: bool) -> float:
    hits = sum(relevant[document] for document in documents)
    return float(hits > 0) if hit else hits / 3


@pytest.mark.parametrize("hit", [True, False], ids=["hit", "precision"])
@pytest.mark.parametrize(("before", "now"), [("ab", "cd"), ("abc", "abd"), ("ab", ""), ("a", "abc"), ("abc", "cb")])
def test_bounds_are_the_ends_of_all_completions(before: str, now: str, hit: bool) -> None:  # noqa: FBT001
    for known_values in product((True, False, None), repeat=len(DOCUMENTS)):
        known = {doc: each for doc, each in zip(DOCUMENTS, known_values, strict=True) if each is not None}
        changes: list[float] = []
        for rest in product((True, False), repeat=len(DOCUMENTS)):
            relevant = {**dict(zip(DOCUMENTS, rest, strict=True)), **known}
            changes.append(value(now, relevant, hit=hit) - value(before, relevant, hit=hit))
        assert bounds_of(pair(before, now), [known], k=3, hit=hit) == pytest.approx((min(changes), max(changes)))


def test_nobody_has_labelled_it() -> None:
    assert bounds_of(pair("ab", "bc"), [], k=2, hit=False) == (-0.5, 0.5)


def test_what_one_person_leaves_open_another_fills() -> None:
    said = [("a", True, "ana"), ("b", False, "ana"), ("a", False, "ben"), ("c", True, "cyd")]
    labels = [TrafficLabel(query_id="q", document=doc, relevant=each, labeller=who) for doc, each, who in said]
    assert known_labels(labels) == {
        "q": [
            {"a": True, "b": False, "c": True},
            {"a": False, "b": False, "c": True},
            {"a": True, "b": False, "c": True},
        ]
    }
