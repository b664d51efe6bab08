"""Runs as JSON: one line a query (the contract and its looser cousins), a list of such objects, or `{query: [ids]}`.

The contract's line is `{"query_id": …, "topk": [{"rank": 1, "chunk_id": …, "score": …}]}`. Read as well are `id` for
the query, `retrieved`, `actual_output` or `actualOutput` for the list, and items that are `{"id": …}` or a bare id.
Order: by rank where the items state ranks, else as listed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zlib import crc32

import msgspec

from rankgate.model.differences import KNOWN_KEYS, text_of
from rankgate.model.question_text import TEXT_KEY
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog
from rankgate.readers.field_map import DOC, named
from rankgate.readers.json_text import line_json
from rankgate.readers.recognition import (
    LINE_KEYS,
    LISTS,
    RAGAS_QUESTION,
    SAMPLE_KEYS,
    Beginning,
    Likeness,
    Recognised,
    RunFormat,
    of_two,
)
from rankgate.readers.source import Source
from rankgate.readers.strict_lines import ANSWER_KEYS, DocLine, StrictLine, strict_ranking, strict_shape

if TYPE_CHECKING:
    from rankgate.readers.loose_lines import LooseLines

# Keys of a line that belong to the query's result, not to the system that made it.
PER_QUERY_KEYS = frozenset(
    {"query_id", "id", "topk", "raw_topk", "retrieved", "actual_output", "actualOutput", "latency_ms", "source"}
    | {TEXT_KEY, "entities", "scores", "input", "expected_output", "rewrites", *ANSWER_KEYS}
    | {RunField.VERDICTS.value, RunField.TRAFFIC.value}
)

_OF_ANSWERS = [f'"{key}"'.encode() for key in ANSWER_KEYS]
LARGE = 100_000_000  # bytes
_LOOKED_AT = 1_000  # lines: enough to tell, and a millisecond
_FEW = 3  # values by which a run may be a mixture; of a query's own key a file has many
_ONE_IN = 32  # lines of a large file are looked through for keys that stand twice: all would take a sixth more time
_BEGIN = 64  # bytes of a line, by which they are chosen
REFUSED = (ValueError, RecursionError)  # how a decoder refuses a line
_entries_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode  # which builds nothing of the lists


def read_jsonl_quickly(
    stream: BinaryIO, needs: frozenset[RunField], size: int, *, stored: bool = False
) -> Iterator[Ranking]:
    """Rankings from JSONL, one line a query, as long as nothing is wrong, else a ValueError; see `RunFormat`."""
    lines = Lines(needs, sampled=size >= LARGE, stored=stored)
    for line in stream:
        ranking = lines.strict(line)
        if ranking is None and not line.isspace():
            ranking = lines.loose.ranking(line)
        if ranking is not None and (lines.traffic or not ranking.traffic):
            yield ranking


class Lines:
    """Decodes the lines of one file: strictly as the contract writes them, else loosely; both read the same."""

    def __init__(self, needs: frozenset[RunField], *, sampled: bool = False, stored: bool = False) -> None:
        self.traffic = RunField.TRAFFIC in needs
        self.needs = needs - {RunField.TRAFFIC}
        self._answers = RunField.ANSWER in self.needs
        self._timed = RunField.LATENCY in needs
        strict = strict_shape(self.needs - {RunField.ANSWER})
        self._decode = msgspec.json.Decoder(strict).decode if strict else None
        self._stored = stored
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

    @cached_property
    def loose(self) -> LooseLines:
        """The decoder of lines in any other shape."""
        from rankgate.readers.loose_lines import LooseLines  # noqa: PLC0415 -- paid only where a line has such a shape

        return LooseLines(self.needs, self.looked_through, stored=self._stored)

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


def provenance(source: Source) -> Mapping[str, Any]:
    """What a JSONL run says about the system, by its first line; empty when that does not parse or says nothing.

    The first lines of a file that follow, or those of `head`, may say otherwise: a key that has several values there is
    given as `varies by line: v1, v2`, and one that has many belongs to the queries, unless it states a component.
    """
    with Path(source.file.path).open("rb") if source.file else io.BytesIO(source.head) as file:
        file.seek(source.file.start if source.file else 0)
        lines = (line for line in islice(file, _LOOKED_AT) if not line.isspace())
        stated = stated_beside(next(lines, b""))
        texts = {key: {text: None} for key, (_, text) in stated.items()}
        for line in lines if stated else ():
            for key, (_, text) in stated_beside(line).items():
                if key in texts:
                    texts[key].setdefault(text)
    values: dict[str, Any] = {}
    for key, (value, _) in stated.items():
        several = list(texts[key])
        if len(several) == 1:
            values[key] = value
        elif len(several) <= _FEW or key in KNOWN_KEYS:
            values[key] = f"varies by line: {', '.join(several[:_FEW])}{', …' if len(several) > _FEW else ''}"
    return values


def stated_beside(line: bytes) -> dict[str, tuple[Any, str]]:
    """What a line says beside its query's result, each value with its text; nothing where it cannot be read."""
    try:
        entries = _entries_of(line).items()
        values = {key: msgspec.json.decode(entry) for key, entry in entries if key not in PER_QUERY_KEYS}
        return {key: (value, text_of(value)) for key, value in values.items()}
    except REFUSED:  # also of a value that is nested too deep for its text
        return {}


def _read_jsonl(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    from rankgate.readers.loose_lines import read_jsonl  # noqa: PLC0415 -- paid only where the quick reader gives up

    return read_jsonl(source, needs, log)


def _read_document(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    from rankgate.readers.loose_lines import read_document  # noqa: PLC0415 -- as above

    return read_document(source, needs, log)


def _recognise(start: Beginning) -> Recognised:
    if both := of_two(start):
        return both
    lines = start.is_jsonl(LINE_KEYS)
    if start.json != "{" or (start.keys & SAMPLE_KEYS and not start.keys & LINE_KEYS):
        return Likeness.NO
    is_line = start.keys & {"query_id"} and RAGAS_QUESTION not in start.keys  # which has its lists under own names
    if start.has_rows or (start.keys.isdisjoint(LISTS) and named(DOC, start.keys - {"id"})):  # rows, or judgments
        return Likeness.NO
    broken = lines and not start.keys and any(f'"{key}"'.encode() in start.line for key in LINE_KEYS)
    if start.keys & LISTS or is_line or broken:
        return Likeness.YES
    return Likeness.MAYBE if lines or start.keys & LINE_KEYS else Likeness.NO


JSONL = RunFormat(
    recognise=_recognise,
    read=_read_jsonl,
    shape='`{"query_id": "q-1", "topk": [{"rank": 1, "chunk_id": "doc-3"}]}`, one question a line',
    order="`rank`, or else the list",
    looks_like="that looks like a run",
    provenance=provenance,
    quick=read_jsonl_quickly,
    by_line=True,
)
JSON = RunFormat(
    recognise=lambda start: of_two(start) or (Likeness.MAYBE if start.json else Likeness.NO),
    read=_read_document,
    shape='a list of such objects, or `{"q-1": ["doc-3", "doc-9"]}`',
    order="the same",
)
