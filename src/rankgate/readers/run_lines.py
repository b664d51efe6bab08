"""Runs as JSON: one line a query (the contract and its looser cousins), a list of such objects, or `{query: [ids]}`.

The contract's line is `{"query_id": …, "topk": [{"rank": 1, "chunk_id": …, "score": …}]}`. Read as well are `id` for
the query, `retrieved`, `actual_output` or `actualOutput` for the list, and items that are `{"id": …}` or a bare id.
Order: by rank where the items state ranks, else as listed.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.differences import KNOWN_KEYS, text_of
from rankgate.model.question_text import TEXT_KEY
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, Quick, Run
from rankgate.readers.delimited import RAGAS_CSV
from rankgate.readers.field_map import DOC, SYSTEM, named
from rankgate.readers.gzipped import Unzipped
from rankgate.readers.json_text import JsonError, explain, infinite_score, line_json, spoken, strict_json
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
from rankgate.readers.rows import two_systems
from rankgate.readers.run_shapes import (
    ANSWER_KEYS,
    ONE_LIST,
    DocLine,
    LooseLine,
    StrictLine,
    loose_shape,
    strict_ranking,
    strict_shape,
    to_ranking,
)
from rankgate.readers.source import Source, share_of

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
_BLOCK = 1 << 20  # bytes of lines that are unpacked at a time
_BEGIN = 64  # bytes of a line, by which they are chosen
_NESTED = ("retrieved", "topk")  # where an object holds the list
_NAMED = 20  # keys of a line
_DEEPEST = 4  # texts in texts
_Seen = dict[str, tuple[int, set[str | None]]]  # each query's first line, and which texts its lines state
_REFUSED = (ValueError, RecursionError)  # how a decoder refuses a line
_entries_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode  # which builds nothing of the lists


def read_jsonl(
    source: Source, needs: frozenset[RunField], log: ProblemLog, *, stored: bool = False
) -> Iterator[Ranking]:
    """Rankings from JSONL, one line a query. Lines in the usual shape are settled at once, all others looked into.

    Verdicts are read of a `stored` run alone, and lines of the traffic where they are needed; the gold set may have the
    same question.
    """
    lines = Lines(needs, stored=stored)
    seen_by_kind: tuple[_Seen, _Seen] = ({}, {})  # of the gold set, and of the traffic
    for number, line in source.lines():
        strict = lines.strict(line)
        if strict is not None:
            if strict.traffic and not lines.traffic:
                continue
            seen = seen_by_kind[strict.traffic]
            if strict.query_id not in seen:
                seen[strict.query_id] = (number, {strict.question_digest})
                yield strict
                continue
        place = Problem("", source.name, number)
        try:
            loose = lines.loose(line)
        except _REFUSED as error:
            log.note(place, explain(line, error, missing=True))
            continue
        is_traffic = loose.traffic is True
        if is_traffic and not lines.traffic:
            continue
        seen = seen_by_kind[is_traffic]
        query_id = str(loose.id if loose.query_id is None else loose.query_id)
        if tags := _two_systems(source.head, seen.get(query_id, (0,))[0], line):
            log.note(place, two_systems(query_id, *tags))
            log.raise_if_any()  # the whole file is like that
        ranking = _checked(loose, lines.needs, seen, number, place, log)
        if ranking is not None:
            yield ranking
    log.raise_if_any()


def _two_systems(head: bytes, first: int, line: bytes) -> tuple[tuple[str, str], str, int] | None:
    """The two systems that two lines of a query name, under which key; the first line as far as `head` has it."""
    lines = head.split(b"\n", first) if first else []
    one = _stated(lines[first - 1] if len(lines) > first else b"")
    other = _stated(line) if one else {}
    keys = [key for each in SYSTEM for key in named([each], one)]
    differing = (key for key in keys if key in other and one[key] != other[key])
    return next((((one[key][1], other[key][1]), key, first) for key in differing), None)


def read_jsonl_quickly(
    stream: BinaryIO, needs: frozenset[RunField], size: int, *, stored: bool = False
) -> Iterator[Ranking]:
    """The same, as long as nothing is wrong, else a ValueError; see `RunFormat`."""
    lines = Lines(needs, sampled=size >= LARGE, stored=stored)
    for line in stream:
        ranking = lines.strict(line)
        if ranking is None and not line.isspace():
            loose = lines.loose(line)
            ranking = to_ranking(loose, loose.written_id(), lines.needs)
        if ranking is not None and (lines.traffic or not ranking.traffic):
            yield ranking


def read_stored(data: bytes, needs: frozenset[RunField], name: str) -> Run:
    """A run that was stored as compressed lines."""
    opened = partial(_stored_quickly, data, needs, name)
    return Run(
        name=name, format="baseline", rankings=_stored(data, needs, name), quick=Quick(opened=opened, by_line=True)
    )


def _stored(data: bytes, needs: frozenset[RunField], name: str) -> Iterator[Ranking]:
    try:
        stream = io.BufferedReader(Unzipped(io.BytesIO(data), name))
        yield from read_jsonl(Source(name, stream, b""), needs, ProblemLog(), stored=True)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise bad_input(f"damaged gzip data: {error}", file=name) from error


@contextmanager
def _stored_quickly(
    data: bytes, needs: frozenset[RunField], name: str
) -> Iterator[tuple[Iterator[Ranking], Callable[[], float]]]:
    packed = io.BytesIO(data)
    stream = io.BufferedReader(Unzipped(packed, name), _BLOCK)
    yield read_jsonl_quickly(stream, needs, len(data), stored=True), partial(share_of, packed, len(data))


class Lines:
    """Decodes the lines of one file: strictly as the contract writes them, else loosely; both read the same."""

    def __init__(self, needs: frozenset[RunField], *, sampled: bool = False, stored: bool = False) -> None:
        self.traffic = RunField.TRAFFIC in needs
        self.needs = needs - {RunField.TRAFFIC}
        self._answers = RunField.ANSWER in self.needs
        self._timed = RunField.LATENCY in needs
        strict = strict_shape(self.needs - {RunField.ANSWER})
        self._decode = msgspec.json.Decoder(strict).decode if strict else None
        self._loose = loose_shape(self.needs, stored=stored)
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
            if ranking is not None and self._looked_through(line):
                _refuse_twice(line, parsed)
        except _REFUSED:
            return None
        return ranking

    def loose(self, line: bytes) -> LooseLine:
        """A line of any accepted shape; a ValueError where it is no JSON, not UTF-8, or has a key twice."""
        line.decode()
        if (b"NaN" in line or b"Infinity" in line) and (culprit := infinite_score(line)):
            raise ValueError(culprit)
        looked_through = self._looked_through(line)
        return loose_line(line_json(line, missing=True) if looked_through else msgspec.json.decode(line), self._loose)

    def _looked_through(self, line: bytes) -> bool:
        return not self._sampled or not zlib.crc32(line[:_BEGIN]) % _ONE_IN


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


def _read_document(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from one JSON value: a list of line objects, one line object, or `{query id: [ids]}`."""
    entries = enumerate(_entries(source, log), start=1)
    lines = ((number, Problem("", source.name, None, key), entry) for number, (key, entry) in entries)
    return rankings_of(lines, needs, log)


def rankings_of(
    lines: Iterable[tuple[int, Problem, object]], needs: frozenset[RunField], log: ProblemLog
) -> Iterator[Ranking]:
    """Rankings from lines of any accepted shape as plain values, each after its number and its place."""
    traffic = RunField.TRAFFIC in needs
    needs = needs - {RunField.TRAFFIC}
    shape = loose_shape(needs)
    seen_by_kind: tuple[_Seen, _Seen] = ({}, {})  # of the gold set, and of the traffic
    for number, place, line in lines:
        try:
            loose = loose_line(line, shape)
        except ValueError as error:
            log.note(place, spoken(error))
            continue
        is_traffic = loose.traffic is True
        if is_traffic and not traffic:
            continue
        ranking = _checked(loose, needs, seen_by_kind[is_traffic], number, place, log)
        if ranking is not None:
            yield ranking
    log.raise_if_any()


def loose_line(value: object, shape: type[LooseLine]) -> LooseLine:
    """A line of any accepted shape from plain values; a ValueError where it has none."""
    if isinstance(value, dict):
        nested = {key: value[key] for key in LISTS & value.keys() if isinstance(value[key], str | dict)}
        value = value | {key: opened_list(written, key) for key, written in nested.items()} if nested else value
        if value.keys() & {"query_id", "id"} and value.keys().isdisjoint(LISTS):
            raise ValueError(f"no list of results (found: {', '.join(map(shown, islice(value, _NAMED)))}); {ONE_LIST}")
    return msgspec.convert(value, shape)


def opened_list(written: Any, key: str) -> Any:
    """A list of results that is a JSON text, as applications log it, or lies under `retrieved` in an object or a text.

    A ValueError where a text is no JSON.
    """
    value = written
    for _ in range(_DEEPEST):
        try:
            value = strict_json(value) if isinstance(value, str) else value
        except JsonError as error:
            advice = str(error) if value.lstrip()[:1] in ("{", "[") else "the text of an answer goes under `answer`"
            advice = RAGAS_CSV if value.startswith(("['", "[{'", "{'")) else advice
            raise ValueError(f"{key}: expected a list of results, found {shown(written)}: {advice}") from error
        within = next((name for name in _NESTED if isinstance(value, dict) and name in value), None)
        value = value if within is None else value[within]
    return value


def provenance(source: Source) -> Mapping[str, Any]:
    """What a JSONL run says about the system, by its first line; empty when that does not parse or says nothing.

    The first lines of a file that follow, or those of `head`, may say otherwise: a key that has several values there is
    given as `varies by line: v1, v2`, and one that has many belongs to the queries, unless it states a component.
    """
    with Path(source.file.path).open("rb") if source.file else io.BytesIO(source.head) as file:
        file.seek(source.file.start if source.file else 0)
        lines = (line for line in islice(file, _LOOKED_AT) if not line.isspace())
        stated = _stated(next(lines, b""))
        texts = {key: {text: None} for key, (_, text) in stated.items()}
        for line in lines if stated else ():
            for key, (_, text) in _stated(line).items():
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


def _stated(line: bytes) -> dict[str, tuple[Any, str]]:
    """What a line says beside its query's result, each value with its text; nothing where it cannot be read."""
    try:
        entries = _entries_of(line).items()
        values = {key: msgspec.json.decode(entry) for key, entry in entries if key not in PER_QUERY_KEYS}
        return {key: (value, text_of(value)) for key, value in values.items()}
    except _REFUSED:  # also of a value that is nested too deep for its text
        return {}


def _entries(source: Source, log: ProblemLog) -> Iterator[tuple[str | None, object]]:
    text = source.text()
    try:
        if ("NaN" in text or "Infinity" in text) and (culprit := infinite_score(text)):
            raise JsonError(culprit)
        value = strict_json(text, missing=True)
    except JsonError as error:
        culprit = infinite_score(text)
        log.add(Problem(culprit or str(error), source.name, None if culprit else error.line))
        return
    if isinstance(value, list):
        yield from ((f"[{index}]", entry) for index, entry in enumerate(value))
    elif isinstance(value, dict) and not value.keys() & LISTS:
        for query_id, ids in value.items():
            if isinstance(ids, list):
                yield query_id, {"query_id": query_id, "topk": ids}
            else:
                message = f"expected a list of ids for this query, found {shown(ids)}"
                log.add(Problem(message, source.name, None, query_id))
    else:
        yield None, value


def _checked(
    line: LooseLine, needs: frozenset[RunField], seen: _Seen, number: int, place: Problem, log: ProblemLog
) -> Ranking | None:
    """The ranking of a decoded line, or None after noting what is wrong."""
    try:
        query_id = line.written_id()
        digest = line.question_sha256
        first, texts = seen.setdefault(query_id, (number, set()))
        if first != number and (digest in texts or None in {digest, *texts}):
            what = "line" if place.line else "entry"
            raise ValueError(f"query {shown(query_id)} stands twice (first on {what} {first}); keep one ranking of it")
        texts.add(digest)
        return to_ranking(line, query_id, needs)
    except ValueError as error:
        log.note(place, error)
        return None


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
    read=read_jsonl,
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
