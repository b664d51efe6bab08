"""What a model answers: the form of each task's answer, how it is read, and what it means for the inputs.

Of an answer only what the schema has is read, from one JSON object: see `object_in`. Quotes are compared with the texts
that they are said to be from, without a model: an invented one fails, a true one that proves nothing passes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from rankgate.judge.model import Addressed, Inputs, Split, Task
from rankgate.judge.plan import MAX_GRADE
from rankgate.model.answers import Entailment, UnjudgedKind
from rankgate.model.verdicts import Support, Supports, Unjudged
from rankgate.readers.json_text import JsonError, strict_json

# How thoughts end, by the models that write them; their beginning may stand in the server's own prompt.
_THOUGHTS_END = re.compile(
    r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>"
)
_FENCE = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:\n[ \t]*\1[ \t]*$|\Z)")
_STRING = r'("(?:[^"\\]|\\.)*")'
_COMMENT = re.compile(rf"(?s){_STRING}|//[^\n{{}}]*|/\*[^*{{}}]*\*+/")  # without a second object
_LAST_COMMA = re.compile(rf"(?s){_STRING}|,(?=\s*[\]}}])")
MIN_LENGTH = 12
MAX_LENGTH = 240
_OMISSION = re.compile(r"\[?(?:…|\.{3,})\]?")
# Scripts that say in one character what takes others two: Thai, Lao, Burmese, Khmer, Kana, Han and Hangul.
_DENSE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_QUOTES = "\"'`\u00b4\u02b9\u02ba\u02bc\u201a\u201e\u2032\u2033\u301d\u301e\u301f"
_FOLDED = {  # by Unicode's category: no format and control characters nor white space, one dash, one quote
    **dict.fromkeys(("Cf", "Cc", "Zs", "Zl", "Zp")),
    "Pd": "-",
    "Pi": "'",
    "Pf": "'",
}
MAX_CLAIMS = 200
MAX_CHARACTERS = 2_000  # of a claim


R = TypeVar("R", bound="Reply")


class Reply(BaseModel):
    """What a model answers: the declared keys and no others, each of its type."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    def verdicts(self, inputs: Inputs) -> Any:
        """What the answer means for the inputs of its task, as `VERDICTS` has it, or the `Unjudged` that is wrong."""
        raise NotImplementedError


class Numbered(BaseModel):
    """An entry of an answer that is about statement or passage `n`."""

    model_config = Reply.model_config
    n: int


def wrong_numbers(entries: Sequence[Numbered], expected: int) -> Unjudged | None:
    """The problem of entries that are not numbered from 1 to `expected`, each once and in any order."""
    right = sorted(each.n for each in entries) == list(range(1, expected + 1))
    return None if right else Unjudged(UnjudgedKind.NUMBERING, len(entries), expected)


class SplitReply(Reply):
    """Whether an answer asserts anything, and its claims: one fact each, self-contained, in the answer's language."""

    asserts: bool
    claims: list[str]

    def verdicts(self, inputs: Inputs) -> Split | Unjudged:
        """The claims without doubles. An answer that asserts something has at least one; any other has none."""
        del inputs
        claims = tuple(dict.fromkeys(" ".join(claim.split()) for claim in self.claims))
        if not all(0 < len(claim) <= MAX_CHARACTERS for claim in claims) or len(claims) > MAX_CLAIMS:
            return Unjudged(UnjudgedKind.SCHEMA)
        return Split(self.asserts, claims) if self.asserts == bool(claims) else Unjudged(UnjudgedKind.CONTRADICTION)


class SupportReply(Numbered):
    """The verdict on one statement, and which passages it rests on."""

    verdict: Literal["supported", "contradicted", "absent"]
    passages: list[int]
    quote: str

    def checked(self, inputs: Inputs) -> Support:
        """What is absent rests on nothing; what is supported by a quote that is not there is `UNVERIFIED`."""
        verdict = Entailment(self.verdict)
        named = tuple(sorted(set(self.passages)))
        if verdict is Entailment.ABSENT:
            return Support(self.n, verdict)
        if verdict is Entailment.SUPPORTED and not verified(self.quote, [inputs.passages[n - 1] for n in named]):
            verdict = Entailment.UNVERIFIED
        return Support(self.n, verdict, named, self.quote)


class EntailReply(Reply):
    """Which of several passages support each of several statements."""

    entries: list[SupportReply]

    def verdicts(self, inputs: Inputs) -> Supports | Unjudged:
        """One verdict a statement, in their order."""
        last = len(inputs.passages)
        unknown = [n for each in self.entries for n in each.passages if not 1 <= n <= last]
        if wrong := wrong_numbers(self.entries, len(inputs.statements)):
            return wrong
        if unknown:
            return Unjudged(UnjudgedKind.UNKNOWN_PASSAGE, max(-1, min(unknown[0], 10**6)), last)
        return tuple(each.checked(inputs) for each in sorted(self.entries, key=lambda each: each.n))


class GradeReply(Numbered):
    """The grade of one passage, from 0 to 3: the scale of TREC that UMBRELA asks a model for."""

    grade: int


class RelevanceReply(Reply):
    """How relevant each passage is for a question."""

    entries: list[GradeReply]

    def verdicts(self, inputs: Inputs) -> tuple[int, ...] | Unjudged:
        """One grade a passage, in their order."""
        if wrong := wrong_numbers(self.entries, len(inputs.passages)):
            return wrong
        grades = tuple(each.grade for each in sorted(self.entries, key=lambda each: each.n))
        return grades if all(0 <= grade <= MAX_GRADE for grade in grades) else Unjudged(UnjudgedKind.SCHEMA)


class AddressReply(Reply):
    """How far an answer addresses its question, whatever is true, and whether it evades."""

    addresses: Literal["fully", "partly", "no"]
    noncommittal: bool

    def verdicts(self, inputs: Inputs) -> Addressed:
        """What it says."""
        del inputs
        return Addressed(self.addresses, self.noncommittal)


class RubricReply(Reply):
    """Whether an answer meets a criterion that the team wrote in words, and the words of the answer that show it."""

    meets: Literal["yes", "no"]
    quote: str

    def verdicts(self, inputs: Inputs) -> Supports:
        """One verdict on the criterion, which rests on the answer; `UNVERIFIED` is a yes whose quote is not there."""
        if self.meets == "no":
            return (Support(1, Entailment.ABSENT),)
        met = Entailment.SUPPORTED if verified(self.quote, [inputs.answer]) else Entailment.UNVERIFIED
        return (Support(1, met, (1,), self.quote),)


REPLIES: Mapping[Task, type[Reply]] = {
    Task.SPLIT: SplitReply,
    Task.ENTAIL: EntailReply,
    Task.RELEVANCE: RelevanceReply,
    Task.ADDRESS: AddressReply,
    Task.RUBRIC: RubricReply,
}


@cache
def schema_of(reply: type[Reply]) -> dict[str, Any]:
    """The JSON Schema of an answer as servers are sent it: without titles and descriptions."""
    plain: dict[str, Any] = _bare(reply.model_json_schema())
    return plain


def _bare(schema: Any) -> Any:
    """A schema of ours without its words; no property is called title or description."""
    if isinstance(schema, dict):
        return {key: _bare(value) for key, value in schema.items() if key not in {"title", "description"}}
    return [_bare(each) for each in schema] if isinstance(schema, list) else schema


def parsed(content: str, reply: type[R]) -> R | Unjudged:
    """The one JSON object of a model's text, or why there is none."""
    if not content.strip():
        return Unjudged(UnjudgedKind.EMPTY)
    try:
        return reply.model_validate(object_in(content))
    except JsonError:
        return Unjudged(UnjudgedKind.NO_JSON)
    except ValidationError:
        return Unjudged(UnjudgedKind.SCHEMA)


def object_in(content: str) -> Any:
    """The JSON of a model's text as models wrap it.

    All of it, after a byte order mark; or what comes after the thoughts that a model shows; or what stands in the one
    fence of Markdown; each also with comments and a comma too many. A text that is itself a JSON string is read once
    more. Two objects, or one in the midst of a sentence, are none but a JsonError: nobody knows which is meant.
    """
    text = content.strip().removeprefix("\ufeff")
    after = _THOUGHTS_END.split(text)[-1]
    fences = [inside for _, inside in _FENCE.findall(after)]
    for candidate in dict.fromkeys([text, after, *(fences if len(fences) == 1 else [])]):
        plain = _LAST_COMMA.sub(r"\1", _COMMENT.sub(r"\1", candidate))
        for each in dict.fromkeys([candidate, plain]):
            with suppress(JsonError):
                value = strict_json(each)
                return strict_json(value) if isinstance(value, str) else value
    raise JsonError("no JSON object")


class _Folding(dict[int, str | None]):
    """What each character becomes: filled as characters come."""

    def __missing__(self, code: int) -> str | None:
        self[code] = _FOLDED.get(unicodedata.category(chr(code)), chr(code))
        return self[code]


_FOLDING = _Folding({**dict.fromkeys(map(ord, _QUOTES), "'"), 0x2212: "-"})


def verified(quote: str, passages: Sequence[str]) -> bool:
    """Whether each piece of a quote, which is cut at `…`, stands in one of the passages.

    Case, white space, format characters, kinds of quotes and dashes and what Unicode holds for the same (NFKC) do not
    count. A piece has at least 12 characters without white space, of which one in Han, Kana, Hangul, Thai and the like
    counts twice, or else is the entire passage. All pieces together have at most 240.
    """
    pieces = [piece for piece in map(_folded, _OMISSION.split(quote)) if piece]
    length = sum(len(_composed(piece)) for piece in pieces)
    texts = [_folded(passage) for passage in passages]
    return 0 < length <= MAX_LENGTH and all(_stands(piece, texts) for piece in pieces)


def _stands(piece: str, texts: Sequence[str]) -> bool:
    """Whether a piece is a part of one of the texts; a short one, whether it is one of them. All are folded."""
    composed = _composed(piece)
    if len(composed) + len(_DENSE.findall(composed)) >= MIN_LENGTH:
        return any(piece in text for text in texts)
    return piece in texts


def _composed(piece: str) -> str:
    return unicodedata.normalize("NFC", piece)


@lru_cache(maxsize=512)  # the passages of a question come once a statement
def _folded(text: str) -> str:
    """Decomposed, so that a letter is found whether its accent follows or is part of it, in any order of accents."""
    plain = unicodedata.normalize("NFKD", text.translate(_FOLDING)).casefold()
    folded = unicodedata.normalize("NFKD", plain.translate(_FOLDING))
    return folded.replace("i\u0307", "i").replace("\u0131", "i")  # Turkish: two letters, of which case makes three
