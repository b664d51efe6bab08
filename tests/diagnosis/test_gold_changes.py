"""What changed in the gold set since a baseline was accepted, by what its manifest remembers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from rankgate.diagnosis.differences import gold_note
from rankgate.diagnosis.gold_set import MAX_MARKED, gold_changes, mark_of, queries_fingerprint
from rankgate.model.lineage import MAX_IDS, GoldChanges, GoldMark
from rankgate.model.values import Gold, Sample
from rankgate.readers.formats import fingerprint_of

THEN: dict[str, dict[str, float]] = {"q1": {"a": 1.0}, "q2": {"b": 2.0, "c": 1.0}, "q3": {}}


def gold(samples: Mapping[str, Mapping[str, float]]) -> Gold:
    made = {query_id: Sample(query_id=query_id, gains=gains) for query_id, gains in samples.items()}
    return Gold(samples=made, name="gold.yaml", format="yaml")


def mark(samples: Mapping[str, Mapping[str, float]] = THEN) -> GoldMark:
    return mark_of(gold(samples), fingerprint_of(gold(samples)))


def changes(now: Mapping[str, Mapping[str, float]], then: GoldMark | None) -> GoldChanges | None:
    return gold_changes(gold(now), fingerprint_of(gold(now)), then)


def counted(
    added: tuple[str, ...] = (), removed: tuple[str, ...] = (), relabelled: tuple[str, ...] = ()
) -> GoldChanges:
    return GoldChanges(
        queries=3,
        added=len(added),
        removed=len(removed),
        relabelled=len(relabelled),
        added_ids=list(added),
        removed_ids=list(removed),
        relabelled_ids=list(relabelled),
    )


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(THEN, None, id="nothing"),
        pytest.param({"q3": {}, "q2": {"c": 1.0, "b": 2.0}, "q1": {"a": 1.0}}, None, id="another order"),
        pytest.param({**THEN, "q4": {"d": 1.0}}, counted(added=("q4",)), id="a query more"),
        pytest.param({"q1": THEN["q1"], "q3": {}}, counted(removed=("q2",)), id="a query fewer"),
        pytest.param({**THEN, "q1": {"a": 2.0}}, counted(relabelled=("q1",)), id="another gain"),
        pytest.param({**THEN, "q3": {"e": 0.0}}, counted(relabelled=("q3",)), id="judged, not relevant"),
        pytest.param(
            {"q2": {"b": 2.0}, "q3": {}, "q9": {"a": 1.0}},
            counted(added=("q9",), removed=("q1",), relabelled=("q2",)),
            id="all at once; a renamed query is a new one",
        ),
    ],
)
def test_what_changed(now: Mapping[str, Mapping[str, float]], expected: GoldChanges | None) -> None:
    assert changes(now, mark()) == expected


def test_a_mark_without_its_judgments_tells_only_that_something_changed() -> None:
    whole = replace(mark(), judged=None)
    assert changes(THEN, whole) is None
    assert changes({**THEN, "q4": {"d": 1.0}}, whole) == GoldChanges(queries=3)


def test_without_a_mark_nothing_is_known() -> None:
    assert changes(THEN, None) is None


def test_the_first_ids_are_named() -> None:
    many = {f"q{index}": {"a": 1.0} for index in range(30)}
    found = changes(many, mark({"q0": {"a": 1.0}}))
    assert found is not None
    assert (found.added, found.added_ids) == (29, [f"q{index}" for index in range(1, MAX_IDS + 1)])


def test_a_very_large_gold_set_is_remembered_as_a_whole() -> None:
    sample = Sample(query_id="", gains={})
    few, many = (
        Gold(samples=dict.fromkeys(map(str, range(count)), sample), name="g", format="trec")
        for count in (2, MAX_MARKED + 1)
    )
    assert mark_of(few, "f").judged is not None
    asked = queries_fingerprint(many)
    assert mark_of(many, "f") == GoldMark(path="g", queries=MAX_MARKED + 1, fingerprint="f", queries_fingerprint=asked)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        pytest.param(
            counted(added=("q4",) * 2, relabelled=("q1",)),
            "The gold set changed since the baseline was accepted (2 added, 1 relabelled); both runs are scored with "
            "today's.",
            id="counts that are not 0",
        ),
        pytest.param(
            GoldChanges(queries=3),
            "The gold set changed since the baseline was accepted; both runs are scored with today's.",
            id="unknown counts",
        ),
    ],
)
def test_the_sentence(found: GoldChanges, sentence: str) -> None:
    assert gold_note(found) == sentence
