"""What is judged, what a judge is asked, and what it said: frozen values, with a reason in place of what is missing.

A verdict is kept under the hash of what was asked, so that equal inputs of a baseline and a candidate share it.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec.structs import asdict, force_setattr

from rankgate.model.answers import GoldClaim
from rankgate.model.verdicts import Supports, Unjudged

Mode = Literal["json_schema", "json_object", "prompt"]
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "prompt")  # how the form of an answer is requested, best first


class Task(Enum):
    """What a model is asked in one call."""

    SPLIT = "split"
    ENTAIL = "entail"
    RELEVANCE = "relevance"
    ADDRESS = "address"
    RUBRIC = "rubric"


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


class Inputs(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one call is about: texts in NFC, half of a surrogate pair replaced by `?`. A task has those that it needs.

    split: question, answer. entail: statements and passages, both numbered from 1. relevance: question, passages.
    address: question, answer. rubric: question, answer, and the criterion as the only statement.
    """

    task: Task
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

    def tokens(self, prompts: Mapping[str, str]) -> tuple[int, int]:
        """About how many tokens one request sends and receives that is answered well."""
        texts = (self.question, self.answer, *self.passages, *self.statements)
        content = sum(rough_tokens(text) + 40 for text in texts if text)  # for its label and its fence
        instructions = rough_tokens(prompts.get(f"{self.task.value}.j2", "")) + rough_tokens(prompts.get("data.j2", ""))
        claims = rough_tokens(self.answer) if self.task is Task.SPLIT else 0
        grades = 14 * len(self.passages) if self.task is Task.RELEVANCE else 0
        return content + instructions + 120, claims + grades + 60 * len(self.statements) + 90


class Split(msgspec.Struct, frozen=True):
    """The claims of an answer; one that asserts nothing, such as a refusal, has none."""

    asserts: bool
    claims: tuple[str, ...]


class Addressed(msgspec.Struct, frozen=True):
    """How far an answer addresses its question, and whether it evades."""

    addresses: Literal["fully", "partly", "no"]
    noncommittal: bool


# What a task ends in; of relevance a grade from 0 to 3 a passage.
VERDICTS: Mapping[Task, Any] = {
    Task.SPLIT: Split,
    Task.ENTAIL: Supports,
    Task.RELEVANCE: tuple[int, ...],
    Task.ADDRESS: Addressed,
    Task.RUBRIC: Supports,
}


class Slot(NamedTuple):
    """The place of a verdict: whose, on what, and the how-manieth of equal questions."""

    judge: str
    task: Task
    key: str
    repeat: int


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a judge said of one slot: a line of `verdicts.jsonl`. Either `verdicts` or `unjudged` is there.

    `model` and `fingerprint` are those that the server named; `tokens` are sent and received, all attempts together.
    With `replaces` a line takes the place of whatever its slot had before.
    """

    judge: str
    task: Task
    key: str
    repeat: int
    verdicts: Any = None
    unjudged: Unjudged | None = None
    model: str = ""
    fingerprint: str | None = None
    tokens: tuple[int, int] = (0, 0)
    replaces: bool = False

    def __post_init__(self) -> None:
        if (self.verdicts is None) == (self.unjudged is None):
            raise ValueError("needs verdicts or unjudged, and not both")
        if not self.judge or not self.key or min(self.repeat, *self.tokens) < 0:
            raise ValueError("judge or key is empty, or a number below 0")
        if self.unjudged is None:
            force_setattr(self, "verdicts", msgspec.convert(self.verdicts, VERDICTS[self.task]))

    @property
    def slot(self) -> Slot:
        """Where it is looked up."""
        return Slot(self.judge, self.task, self.key, self.repeat)


class Known(Protocol):
    """Where verdicts are looked up: a store, or a dict of what a file holds."""

    def get(self, slot: Slot, /) -> Record | None: ...  # noqa: D102


class Keeper(Known, Protocol):
    """A store of verdicts while a judge works."""

    def put(self, *records: Record) -> None: ...  # noqa: D102


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
