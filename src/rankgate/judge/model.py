"""What is judged, what a judge is asked, and what it said: frozen values, with a reason in place of what is missing.

A verdict is kept under the hash of what was asked, so that equal inputs of a baseline and a candidate share it.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec.structs import asdict, force_setattr

Mode = Literal["json_schema", "json_object", "prompt"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "prompt")  # how the form of an answer is requested, best first


class Task(Enum):
    """What a model is asked in one call. All but the last have a prompt; that one goes to `/embeddings`."""

    SPLIT = "split"
    ENTAIL = "entail"
    RELEVANCE = "relevance"
    ADDRESS = "address"
    REVERSE = "reverse"
    SIMILARITY = "similarity"


class UnjudgedKind(Enum):
    """Why there is no verdict."""

    # The question cannot be answered, or not by this model: kept in the store.
    NO_JSON = "no_json"
    SCHEMA = "schema"
    NUMBERING = "numbering"  # `number` verdicts, which are not numbered from 1 to `limit`
    UNKNOWN_PASSAGE = "unknown_passage"  # passage `number` of `limit`
    CONTRADICTION = "contradiction"  # claims of an answer that asserts nothing, or the reverse
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    EMPTY = "empty"
    CONTEXT_TOO_LONG = "context_too_long"  # about `number` tokens, of at most `limit`, where these are known
    # Something was in the way: tried again another time.
    NO_VERDICT = "no_verdict"  # nobody has asked the judge
    NO_EMBEDDING_MODEL = "no_embedding_model"  # the settings name none
    HTTP_STATUS = "http_status"  # `number` is the status
    ENVELOPE = "envelope"  # an answer that no such endpoint gives, as a proxy's page
    UNREACHABLE = "unreachable"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"

    @property
    def lasts(self) -> bool:
        """Whether it is kept: asking the same again would cost the same and hardly help."""
        return list(UnjudgedKind).index(self) < list(UnjudgedKind).index(UnjudgedKind.NO_VERDICT)


class Unjudged(msgspec.Struct, frozen=True, omit_defaults=True):
    """Stands where a verdict is missing; what the numbers mean depends on the kind."""

    kind: UnjudgedKind
    number: int | None = None
    limit: int | None = None


NO_VERDICT = Unjudged(UnjudgedKind.NO_VERDICT)


class Inputs(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one call is about: texts in NFC, half of a surrogate pair replaced by `?`. A task has those that it needs.

    split: question, answer. entail: statements and passages, both numbered from 1. relevance: question, passages.
    address: question, answer. reverse: answer. similarity: answer, and as passages the texts to compare it with.
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
        return digest({**asdict(self), "task": self.task.value})

    def tokens(self, prompts: Mapping[str, str]) -> tuple[int, int]:
        """About how many tokens one request sends and receives that is answered well."""
        texts = (self.question, self.answer, *self.passages, *self.statements)
        content = sum(rough_tokens(text) + 40 for text in texts if text)  # for its label and its fence
        if self.task is Task.SIMILARITY:
            return content, 0
        instructions = rough_tokens(prompts.get(f"{self.task.value}.j2", "")) + rough_tokens(prompts.get("data.j2", ""))
        claims = rough_tokens(self.answer) if self.task is Task.SPLIT else 0
        grades = 14 * len(self.passages) if self.task is Task.RELEVANCE else 0
        return content + instructions + 120, claims + grades + 60 * len(self.statements) + 90


class Entailment(Enum):
    """What passages say of a statement. `UNVERIFIED`: called supported, by a quote that they do not have."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    ABSENT = "absent"
    UNVERIFIED = "unverified"


class Split(msgspec.Struct, frozen=True):
    """The claims of an answer; one that asserts nothing, such as a refusal, has none."""

    asserts: bool
    claims: tuple[str, ...]


class Support(msgspec.Struct, frozen=True):
    """The verdict on statement `n`, with the numbers of the passages that it rests on and a quote from them."""

    n: int
    verdict: Entailment
    passages: tuple[int, ...] = ()
    quote: str = ""


Supports: TypeAlias = tuple[Support, ...]


class Addressed(msgspec.Struct, frozen=True):
    """How far an answer addresses its question, and whether it evades."""

    addresses: Literal["fully", "partly", "no"]
    noncommittal: bool


# What a task ends in; per passage a grade from 0 to 3, three questions, a cosine a text.
VERDICTS: Mapping[Task, Any] = {
    Task.SPLIT: Split,
    Task.ENTAIL: Supports,
    Task.RELEVANCE: tuple[int, ...],
    Task.ADDRESS: Addressed,
    Task.REVERSE: tuple[str, ...],
    Task.SIMILARITY: tuple[float, ...],
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


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """A judge that can be asked: `id` is the hash of the rest but for `context_tokens`, see `identity.judge_of`."""

    id: str
    model: str
    parameters: Mapping[str, Any]
    mode: Mode
    prompts: Mapping[str, str]
    embedding_model: str | None = None
    context_tokens: int | None = None

    @property
    def short(self) -> str:
        """The eight digits by which people know it."""
        return self.id[:8]


def canonical(value: Any) -> bytes:
    """JSON in which equal values are equal bytes: keys sorted, nothing escaped that need not be."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def rough_tokens(text: str) -> int:
    """A token for 3.5 characters of ASCII, and one for each other character: rather too many than too few."""
    ascii_only = len(text.encode("ascii", "ignore"))
    return int(ascii_only / 3.5) + len(text) - ascii_only + 1


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
