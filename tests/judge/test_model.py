"""Keys: what is the same question, and what is another one."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.judge.model import Inputs, canonical, digest, rough_tokens
from rankgate.judge.records import Record, Slot
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Support

BASE = Inputs("entail", passages=("A passage.", "Another."), statements=("A statement.",))


def test_a_key_is_the_hash_of_canonical_json() -> None:
    """Written out, so that a change of it is seen: every verdict there is would have to be paid for again."""
    text = (
        '{"answer":"","passages":["A passage.","Another."],"question":"","statements":["A statement."],"task":"entail"}'
    )
    assert BASE.key == digest(json.loads(text))
    assert canonical(json.loads(text)) == text.encode()
    assert BASE.key == "7c9085e04df7b4a094048d0714137c4bf6ae8415bac50bf8d14096f714b13d50"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"task": "relevance"}, id="task"),
        pytest.param({"question": "?"}, id="question"),
        pytest.param({"answer": "!"}, id="answer"),
        pytest.param({"passages": ("Another.", "A passage.")}, id="order of passages"),
        pytest.param({"passages": ("A passage.Another.",)}, id="passages joined"),
        pytest.param({"statements": ("A statement. ",)}, id="white space"),
    ],
)
def test_another_question_has_another_key(other: dict[str, Any]) -> None:
    assert msgspec.structs.replace(BASE, **other).key != BASE.key


def test_lists_move_neither_text_nor_key_between_fields() -> None:
    assert (
        Inputs("entail", passages=("a",), statements=("b",)).key
        != Inputs("entail", passages=("b",), statements=("a",)).key
    )


@given(st.text())
def test_a_key_is_the_same_in_every_normal_form(text: str) -> None:
    keys = {Inputs("split", unicodedata.normalize(form, text), "x").key for form in ("NFC", "NFD")}
    assert len(keys) == 1


def test_half_of_a_surrogate_pair_is_no_error() -> None:
    assert Inputs("split", "a\ud800").question == "a?"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(each) for key, each in reversed(value.items())}
    return [reversed_keys(each) for each in value] if isinstance(value, list) else value


@given(JSON)
def test_a_hash_does_not_depend_on_the_order_of_keys(value: Any) -> None:
    assert digest(reversed_keys(value)) == digest(value)


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_has_no_fewer_tokens(text: str, more: str) -> None:
    assert 1 <= rough_tokens(text) <= rough_tokens(text + more) <= len(text + more) + 1


def test_reasons_that_last_are_those_of_the_question() -> None:
    """The order of the enum says it; here it is spelled out."""
    assert {kind for kind in UnjudgedKind if not kind.lasts} == {
        UnjudgedKind.NO_VERDICT,
        UnjudgedKind.HTTP_STATUS,
        UnjudgedKind.ENVELOPE,
        UnjudgedKind.UNREACHABLE,
        UnjudgedKind.BUDGET,
        UnjudgedKind.INTERRUPTED,
    }


def test_a_record_knows_its_slot_and_types() -> None:
    record = Record(judge="j", task="entail", key="k", repeat=1, verdicts=[{"n": 1, "verdict": "absent"}])
    assert record.slot == Slot("j", "entail", "k", 1)
    assert isinstance(record.verdicts[0], Support)
