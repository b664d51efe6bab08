"""What is judged, what a judge is asked about it, and who that is: frozen values.

A verdict is kept under the hash of what was asked, so that equal inputs of a baseline and a candidate share it.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import asdict, force_setattr

from rankgate.model.answers import GoldClaim, says_nothing

Mode = Literal["json_schema", "json_object", "prompt"]
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "prompt")  # how the form of an answer is requested, best first


class Passage(msgspec.Struct, frozen=True):
    """A text that the generator was shown, under the id by which the run and citations name it."""

    id: str
    text: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says of a query, and what the gold says of it.

    `answer` is None where the line has none. `context` is what the prompt held, in its order; `citations` are ids.
    `abstained` is what the line states. `reference` and `claims` are the gold's.
    """

    query_id: str
    question: str
    answer: str | None = None
    context: tuple[Passage, ...] = ()
    citations: tuple[str, ...] = ()
    abstained: bool = False
    reference: str | None = None
    claims: tuple[GoldClaim, ...] = ()
    no_answer: bool = False

    @property
    def text(self) -> str:
        """What it says; empty where it says nothing."""
        return "" if self.answer is None or says_nothing(self.answer) else self.answer

    @property
    def passages(self) -> tuple[str, ...]:
        """The texts of the context."""
        return tuple(passage.text for passage in self.context)


class Inputs(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one call is about, by the name of its task: texts in NFC, half of a surrogate pair replaced by `?`."""

    task: str
    question: str = ""
    answer: str = ""
    passages: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("question", "answer"):
            force_setattr(self, name, _normal(getattr(self, name)))
        for name in ("passages", "statements"):
            force_setattr(self, name, tuple(map(_normal, getattr(self, name))))

    @property
    def key(self) -> str:
        """SHA-256 of the canonical JSON of the task and the texts."""
        return hashlib.sha256(msgspec.json.encode(asdict(self), order="sorted")).hexdigest()


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """A judge that can be asked: `id` is the hash of the rest but for the last two, see `identity.judge_of`.

    `rubrics` are criteria in words, by their names; each is a part of what is asked, and so of the key of its verdicts.
    """

    id: str
    model: str
    parameters: Mapping[str, Any]
    mode: Mode
    prompts: Mapping[str, str]
    context_tokens: int | None = None
    rubrics: Mapping[str, str] = {}

    @property
    def short(self) -> str:
        """The eight digits by which people know it."""
        return self.id[:8]


def canonical(value: Any) -> bytes:
    """JSON in which equal values are equal bytes: keys sorted, nothing escaped that need not be."""
    return _CANONICAL.encode(value).encode("utf-8", "replace")


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def rough_tokens(text: str) -> int:
    """A token for 3.5 characters of ASCII, and one for each other character: rather too many than too few."""
    ascii_only = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return int(ascii_only / 3.5) + len(text) - ascii_only + 1


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
