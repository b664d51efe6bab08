"""A run line exactly as the contract writes it, which is the hot path, and its ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from zlib import crc32

import msgspec

from rankgate.model.lineage import text_of
from rankgate.model.values import FROM_MATCH, Details, Ranking, RunField
from rankgate.model.values import Item as RankedItem
from rankgate.readers.base import TEXT_KEY, line_json

Id = str | int
CAMEL = {"camel": "actualOutput"}
LONGEST = 1e12  # milliseconds: thirty years
MIN_SCORES = 5  # of a list, before they are said to rise
ANSWER_KINDS: dict[str, Any] = {
    RunField.ANSWER.value: str,
    "citations": list[Id],
    "context": list[Id],
    "context_texts": dict[str, str],
    "abstained": bool,
}
ANSWER_KEYS = tuple(ANSWER_KINDS)  # as they are written
SEQUENCE: list[int | None] = list(range(1, 1_001))
_BARE = RankedItem()  # of which nothing is stated
# Keys of a line that belong to the query's result, not to the system that made it.
PER_QUERY_KEYS = frozenset(
    {"query_id", "id", "topk", "raw_topk", "retrieved", "actual_output", "actualOutput", "latency_ms", "source"}
    | {TEXT_KEY, "entities", "scores", "input", "expected_output", "rewrites", *ANSWER_KEYS}
    | {RunField.VERDICTS.value, RunField.TRAFFIC.value}
)
_OF_ANSWERS = [f'"{key}"'.encode() for key in ANSWER_KEYS]
_ONE_IN = 32  # lines of a large file are looked through for keys that stand twice: all would take a sixth more time
_BEGIN = 64  # bytes of a line, by which they are chosen
REFUSED = (ValueError, RecursionError)  # how a decoder refuses a line
_entries_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode  # which builds nothing of the lists


class StrictItem(msgspec.Struct, gc=False):
    """An item exactly as the contract writes it."""

    rank: int
    chunk_id: str
    score: float | None = None


class StrictLine(msgspec.Struct, gc=False, rename=CAMEL):
    """A line as the contract writes it, or with bare ids under `retrieved`, as a baseline is stored: the hot path."""

    query_id: str
    topk: list[StrictItem] | None = None
    retrieved: list[str] | None = None
    actual_output: Any = None
    camel: Any = None
    question_sha256: str | None = None
    traffic: Any = None
    latency_ms: dict[str, float | None] | float | None = None


class StrictDocItem(StrictItem, gc=False):
    """The same with the document that it is a part of."""

    doc_id: str | None = None


class DocLine(StrictLine, gc=False, rename=CAMEL):
    """A line with its items' documents."""

    topk: list[StrictDocItem] | None = None  # type: ignore[assignment]


def strict_ranking(line: StrictLine, *, timed: bool) -> Ranking | None:
    """The ranking of a strict line, with its times where they are needed; None where it needs a closer look."""
    if line.actual_output is not None or line.camel is not None or (line.topk is None) == (line.retrieved is None):
        return None
    items = line.topk or ()
    ids = [item.chunk_id for item in items] if line.retrieved is None else line.retrieved
    unlike = {*ids}
    if len(unlike) != len(ids) or "" in unlike or not line.query_id:
        return None
    if [item.rank for item in items] != SEQUENCE[: len(items)]:
        return None
    times = stages_of(line.latency_ms) if timed else None
    if times and not plausible(times):
        return None
    documents = None
    if isinstance(line, DocLine):
        documents = [_BARE if item.doc_id is None else RankedItem(item.doc_id) for item in line.topk or ()]
        if line.retrieved is not None:
            documents = [_BARE] * len(ids)
    details = None if documents is None and not times else Details(items=documents, latency_ms=times or None)
    traffic = line.traffic is True
    return Ranking(line.query_id, ids, 0, details, rising(items), question_digest=line.question_sha256, traffic=traffic)


class Scored(Protocol):
    """An item with a score, if it states one."""

    @property
    def score(self) -> float | None:
        """The score."""


def rising(items: Sequence[Scored]) -> bool:
    """Whether the scores of a list rise from rank to rank; see `Ranking`."""
    if not items:
        return False
    first = items[0].score
    last = items[-1].score
    if first is None or last is None or first >= last:  # as good as every list
        return False
    scores = [item.score for item in items if item.score is not None]
    return len(scores) >= MIN_SCORES and scores == sorted(scores)


def stages_of(written: Mapping[str, float | None] | float | None) -> Mapping[str, float | None] | None:
    """Milliseconds by stage; a bare number is their total."""
    return {"total": written} if isinstance(written, int | float) else written


def plausible(times: Mapping[str, float | None] | None) -> bool:
    """Whether all times lie between nothing and thirty years."""
    return False not in [time is None or 0.0 <= time <= LONGEST for time in (times or {}).values()]


class Lines:
    """Decodes lines of one file that are as the contract writes them; `LooseLines` reads all, and these the same."""

    def __init__(self, needs: frozenset[RunField], *, sampled: bool = False) -> None:
        self.traffic = RunField.TRAFFIC in needs
        self.needs = needs - {RunField.TRAFFIC}
        self._answers = RunField.ANSWER in self.needs
        self._timed = RunField.LATENCY in needs
        strict = DocLine if RunField.DOCS in needs else StrictLine
        more = self.needs - FROM_MATCH - {RunField.LATENCY, RunField.DOCS, RunField.ANSWER}  # than a strict line holds
        self._decode = None if more else msgspec.json.Decoder(strict).decode
        self._sampled = sampled

    def strict(self, line: bytes) -> Ranking | None:
        """The ranking of a line of the contract, or None where it needs a closer look."""
        if self._decode is None or (self._answers and _may_answer(line)):
            return None
        try:
            if not line.isascii():
                line.decode()
            parsed = self._decode(line)
            ranking = strict_ranking(parsed, timed=self._timed)
            if ranking is not None and self.looked_through(line):
                _refuse_twice(line, parsed)
        except REFUSED:
            return None
        return ranking

    def looked_through(self, line: bytes) -> bool:
        """Whether keys that stand twice are looked for in a line."""
        return not self._sampled or not crc32(line[:_BEGIN]) % _ONE_IN


def _may_answer(line: bytes) -> bool:
    """Whether a line may state something of an answer; a key could be escaped."""
    start = line.find(b"[")
    end = line.find(b"]")
    if line.find(b"[", start + 1) < 0 and line.find(b"]", end + 1) < 0:
        line = line[: start + 1] + line[end:]  # the brackets are those of the one list, which has none of these keys
    return b"\\" in line or any(key in line for key in _OF_ANSWERS)


def _refuse_twice(line: bytes, parsed: StrictLine) -> None:
    """Refuse, by a ValueError, a line of the usual shape that states a key twice, much faster than by parsing it again.

    Around the one list, which it parses, it sees every key; in the list those that are read. All else is parsed.
    """
    start, end = line.find(b"["), line.rfind(b"]")
    plain = b"\\" not in line and line.find(b"[", start + 1) < 0
    items = len(parsed.topk or ())
    plain = plain and line.count(b'"chunk_id"') == items == line.count(b'"rank"')
    if plain and isinstance(parsed, DocLine) and (documents := line.count(b'"doc_id"')):
        plain = documents == items and all(item.doc_id is not None for item in parsed.topk or ())
    line_json(line[: start + 1] + line[end:] if plain else line)


def stated_beside(line: bytes) -> dict[str, tuple[Any, str]]:
    """What a line says beside its query's result, each value with its text; nothing where it cannot be read."""
    try:
        entries = _entries_of(line).items()
        values = {key: msgspec.json.decode(entry) for key, entry in entries if key not in PER_QUERY_KEYS}
        return {key: (value, text_of(value)) for key, value in values.items()}
    except REFUSED:  # also of a value that is nested too deep for its text
        return {}
