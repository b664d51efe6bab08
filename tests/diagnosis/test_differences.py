"""What differs between a run and its baseline beside the rankings, from what each says of itself."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.rows import each_row

from rankgate.diagnosis.differences import gold_differences, run_differences
from rankgate.diagnosis.gold_set import mark_of
from rankgate.model.lineage import COMPONENTS, KNOWN_KEYS, Difference, GoldMark, text_of
from rankgate.model.values import Gold, Sample

Told = tuple[str, str | None, str | None, str | None]


def told(found: list[Difference]) -> list[Told]:
    return [(each.what, each.key, each.before, each.after) for each in found]


@each_row(
    ("before", "after", "expected"),
    [
        pytest.param({}, {}, [], id="nothing said: nothing differs"),
        pytest.param({"index_version": "v1"}, {"index_version": "v1"}, [], id="the same"),
        pytest.param({"index_version": "v1"}, {"index_version": "v2"}, [("index", None, "v1", "v2")], id="another"),
        pytest.param({}, {"reranker": "r"}, [("reranker", None, None, "r")], id="not stated before"),
        pytest.param({"reranker": "r"}, {}, [("reranker", None, "r", None)], id="no longer stated"),
        pytest.param({"reranker": None}, {}, [], id="null is not stated"),
        pytest.param({"index_version": "7"}, {"index_version": 7}, [], id="a number and its digits"),
        pytest.param({"k_raw": 50.0}, {"k_raw": 50}, [], id="a whole number, written as a fraction"),
        pytest.param({"k1": True}, {"k1": 1}, [("other", "k1", "true", "1")], id="yes is not one"),
        pytest.param({"index": "v  1\n"}, {"index": "v 1"}, [], id="white space alone"),
        pytest.param(
            {"chunker": {"algo": "h", "target_tokens": 600, "overlap": 80}},
            {"chunker": {"overlap": 80, "target_tokens": 400, "algo": "h"}},
            [("chunker", "target_tokens", "600", "400")],
            id="a component key by key",
        ),
        pytest.param(
            {"chunker": {"a": {"b": {"c": 1, "d": 2}}}},
            {"chunker": {"a": {"b": {"c": 3, "e": 4}}}},
            [("chunker", "a.b.c", "1", "3"), ("chunker", "a.b.d", "2", None), ("chunker", "a.b.e", None, "4")],
            id="nested mappings",
        ),
        pytest.param(
            {"chunker": "fixed"},
            {"chunker": {"size": 600, "algo": "h"}},
            [("chunker", None, "fixed", '{"algo":"h","size":600}')],
            id="a text that became a mapping",
        ),
        pytest.param({"chunker": {}}, {"chunker": {}}, [], id="nothing within"),
        pytest.param({"embedder": "e5"}, {"embedding_model": "e5"}, [], id="one thing under two names"),
        pytest.param(
            {"embedder": "e5"},
            {"embedding_model": "bge"},
            [("embedder", None, "e5", "bge")],
            id="two things under two names of one component",
        ),
        pytest.param(
            {"chunker": "h", "chunker_version": "1"},
            {"chunker": "h", "chunker_version": "2"},
            [("chunker", "chunker_version", "1", "2")],
            id="a component stated by two keys, each by itself",
        ),
        pytest.param(
            {"commit": "abc"},
            {"commit": "abc", "code_version": "7"},
            [("code", "code_version", None, "7")],
            id="a key more for the same component",
        ),
        pytest.param(
            {"filters": ["a", 1, True]},
            {"filters": ["a", 2]},
            [("other", "filters", "a, 1, true", "a, 2")],
            id="a list, with commas",
        ),
        pytest.param(
            {"legs": [{"b": 1.0, "a": "x"}]},
            {"legs": []},
            [("other", "legs", '[{"a":"x","b":1}]', "[]")],
            id="a list of more than plain values",
        ),
        pytest.param(
            {"accepted": "2026-01-01", "system": "s"}, {"system": "s"}, [], id="the day of acceptance is the store's"
        ),
        pytest.param(
            {"zeta": 1, "alpha": 1, "code_version": "c1", "system": "s1", "corpus_version": "d1", "dataset_version": 1},
            {"zeta": 2, "alpha": 2, "code_version": "c2", "system": "s2", "corpus_version": "d2", "dataset_version": 2},
            [
                ("system", None, "s1", "s2"),
                ("corpus", None, "d1", "d2"),
                ("dataset", None, "1", "2"),
                ("code", None, "c1", "c2"),
                ("other", "alpha", "1", "2"),
                ("other", "zeta", "1", "2"),
            ],
            id="components in their order, other keys after them",
        ),
    ],
)
def test_what_differs(before: Mapping[str, Any], after: Mapping[str, Any], expected: list[Told]) -> None:
    assert told(run_differences(before, after)) == expected


def test_mappings_within_mappings_are_looked_into_eight_deep_and_then_compared_as_a_whole() -> None:
    def nested(leaf: int, deep: int) -> Any:
        return {"a": nested(leaf, deep - 1)} if deep else leaf

    eight, nine = (run_differences({"x": nested(1, deep)}, {"x": nested(2, deep)}) for deep in (8, 9))
    assert told(eight) == [("other", "x.a.a.a.a.a.a.a.a", "1", "2")]
    assert told(nine) == [("other", "x.a.a.a.a.a.a.a.a", '{"a":1}', '{"a":2}')]


def test_no_key_states_two_components() -> None:
    assert len(KNOWN_KEYS) == sum(map(len, COMPONENTS.values()))


def test_the_page_on_formats_has_the_table_of_keys() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    for what, keys in COMPONENTS.items():
        assert f"- **{what}**: {', '.join(f'`{key}`' for key in keys)}\n" in page


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
SAID = st.dictionaries(st.sampled_from([*sorted(KNOWN_KEYS), "k1", "filters", "z"]), JSON, max_size=6)


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(each, chance) for each in value] if isinstance(value, list) else value


@pytest.mark.full
@given(SAID)
def test_what_says_the_same_differs_in_nothing(said: dict[str, Any]) -> None:
    assert run_differences(said, said) == []


@pytest.mark.full
@given(SAID, SAID)
def test_the_other_way_round_before_and_after_change_places(one: dict[str, Any], other: dict[str, Any]) -> None:
    turned = [replace(each, before=each.after, after=each.before) for each in run_differences(other, one)]
    assert run_differences(one, other) == turned


@pytest.mark.full
@given(SAID, SAID, st.randoms(use_true_random=False))
def test_the_order_of_keys_changes_nothing(one: dict[str, Any], other: dict[str, Any], chance: random.Random) -> None:
    assert run_differences(shuffled(one, chance), shuffled(other, chance)) == run_differences(one, other)


@pytest.mark.full
@given(SAID, SAID)
def test_every_difference_is_one_and_has_its_place(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = run_differences(one, other)
    order = [*COMPONENTS, "other"]
    assert [each.what for each in found] == sorted((each.what for each in found), key=order.index)
    assert all(each.before != each.after for each in found)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(600, "600", id="a whole number"),
        pytest.param(-0.5, "-0.5", id="a fraction"),
        pytest.param(1e300, "1e300", id="a number beyond what is exact"),
        pytest.param(False, "false", id="no"),
        pytest.param("  two\twords ", "two words", id="a text on one line"),
        pytest.param({"b": [1.0], "a": None}, '{"a":null,"b":[1]}', id="a mapping in order"),
    ],
)
def test_a_value_as_text(value: object, expected: str) -> None:
    assert text_of(value) == expected


def gold(*samples: Sample) -> Gold:
    return Gold(samples={sample.query_id: sample for sample in samples}, name="gold.yaml", format="yaml")


def marked(judgments: str, *samples: Sample) -> GoldMark:
    return mark_of(gold(*samples), judgments)


Q1 = Sample(query_id="q1", gains={"a": 1.0}, question="Where?", as_of="2025-03-01")
Q2 = Sample(query_id="q2", gains={"b": 1.0}, question="When?", as_of="2025-06-01")
Q3 = Sample(query_id="q3", gains={"c": 1.0}, question="Why?")


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        pytest.param(None, marked("f", Q1), {}, id="a baseline that remembers none"),
        pytest.param(marked("f", Q1, Q2), marked("f", Q2, Q1), {}, id="another order"),
        pytest.param(marked("f", Q1), marked("g", Q1), {"labels": ("f", "g")}, id="other labels"),
        pytest.param(
            marked("f", Q1, Q3),
            marked("f", Q1, Q2, Q3),
            {"as_of": ("2025-03-01", "2025-03-01 to 2025-06-01")},
            id="later days",
        ),
        pytest.param(marked("f", Q3), marked("f", Q3, Q1), {"as_of": (None, "2025-03-01")}, id="the first day"),
    ],
)
def test_what_differs_of_the_gold_set(
    then: GoldMark | None, now: GoldMark, expected: dict[str, tuple[str | None, str | None]]
) -> None:
    found = gold_differences(then, now)
    assert {each.what for each in found} <= {"gold"}
    assert {each.key: (each.before, each.after) for each in found if each.key != "questions"} == expected


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param(replace(Q1, question="Where to?"), False, id="another question"),
        pytest.param(replace(Q1, query_id="q9"), False, id="another id"),
        pytest.param(replace(Q1, question=None), False, id="no question"),
        pytest.param(replace(Q1, gains={"z": 3.0}, tags=("t",), as_of="2025-03-01"), True, id="other labels and tags"),
    ],
)
def test_the_fingerprint_of_queries_is_of_ids_and_questions_alone(other: Sample, same: bool) -> None:  # noqa: FBT001
    then, now = marked("f", Q1), marked("f", other)
    assert (then.queries_fingerprint == now.queries_fingerprint) is same
    assert ([each.key for each in gold_differences(then, now)] == []) is same


def test_ids_and_questions_cannot_run_into_each_other() -> None:
    one, other = Sample(query_id="q", gains={}, question="1"), Sample(query_id="q1", gains={}, question="")
    assert marked("f", one).queries_fingerprint != marked("f", other).queries_fingerprint


def test_the_fingerprint_of_a_large_gold_set_is_of_all_its_queries_in_any_order() -> None:
    many = [Sample(query_id=f"q{n:04}", gains={}, question=f"What is {n}?") for n in range(2_001)]
    whole = marked("f", *many).queries_fingerprint
    said = ", ".join(json.dumps([each.query_id, each.question]) for each in many)
    assert whole == hashlib.sha256(said.encode()).hexdigest()
    assert whole == marked("f", *reversed(many)).queries_fingerprint
    assert len({whole, *(marked("f", *many[:n]).queries_fingerprint for n in (0, 999, 1_000, 1_001, 2_000))}) == 6
