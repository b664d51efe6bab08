"""Runs in a shape of the user's own, read by a map: objects that are queries or results, of JSON or from elsewhere."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, finite_number, id_of, line_json, whole_number
from rankgate.readers.field_map import FieldMap
from rankgate.readers.json_text import RAGAS_CSV, explain, source_json
from rankgate.readers.loose_lines import rankings_of
from rankgate.readers.mapping import (
    MISSING,
    OF_ITEMS,
    OF_QUERIES,
    Finder,
    MissingNameError,
    look_through,
    look_up,
    names_of,
    unpacked,
)
from rankgate.readers.rows import Order, Row, Rows, Tag
from rankgate.readers.source import Source
from rankgate.readers.strict_lines import ANSWER_KEYS

# Objects, each with its place for messages.
Records = Iterable[tuple[Problem, Any]]
T = TypeVar("T")
_EXTRAS = ("text", "doc_id", "doc_version", "start", "end")


def read_mapped_json(
    fields: FieldMap, source: Source, needs: frozenset[RunField], log: ProblemLog
) -> Iterator[Ranking]:
    """Rankings from JSONL or one JSON list: a query an object where the map has `items`, else a result an object."""
    return read_records(fields, json_records(source, log, fields.records), source.name, needs, log)


def read_records(
    fields: FieldMap, records: Records, name: str, needs: frozenset[RunField], log: ProblemLog, *, cells: bool = False
) -> Iterator[Ranking]:
    """Rankings from objects of a file, or rows of `cells`; a name of the map that they lack is an error."""
    finder = Finder(fields, needs)
    if fields.items is not None:
        yield from rankings_of(looked_up(records, _line, finder, log), needs, log)
        return
    rows = Rows(Order.of(scored=fields.score is not None, ranked=fields.rank is not None))
    for _, location, result in looked_up(records, _cells if cells else _row, finder, log):
        rows.add(result.query_id, result.row, location.line, result.times, result.tags)
    yield from rows.rankings(name, needs, log)


def objects_in(records: Records, expected: str, log: ProblemLog) -> Iterator[tuple[Problem, Mapping[str, Any]]]:
    """The records that are objects, as expected; others are noted."""
    for location, record in records:
        if isinstance(record, Mapping):
            yield location, record
        else:
            log.note(location, f"expected {expected}, found {shown(record)}")


def looked_up(
    records: Records, read: Callable[[Any, Finder], T], finder: Finder, log: ProblemLog
) -> Iterator[tuple[int, Problem, T]]:
    """What each object holds, after its number and its place; what is wrong or missing is noted."""
    for number, (location, record) in enumerate(records):
        finder.location = location
        try:
            value = read(record, finder)
        except MissingNameError as error:
            finder.miss(error)
        except ValueError as error:
            log.note(location, error)
        else:
            yield location.line or number, location, value
    for problem in finder.problems():
        log.add(problem)


def _line(record: Any, finder: Finder) -> dict[str, Any]:
    """The contract's line for an object that is a query."""
    query_id = id_of(finder.required("query_id", record, "the object"), "the query")
    query = f"query {shown(query_id)}"
    listed = finder.fields.items
    entries = unpacked(finder.required("items", record, query))
    if isinstance(entries, str) and entries.startswith("["):
        raise ValueError(f"{query}: {listed} is {shown(entries)}: {RAGAS_CSV}")
    if not isinstance(entries, list):
        raise ValueError(f"{query}: {listed}: expected a list of results, found {shown(entries)}")
    where = (f"{query}: result {position} of {listed}" for position in range(1, len(entries) + 1))
    items = [_item(entry, finder, name) for entry, name in zip(entries, where, strict=True)]
    line = {"query_id": query_id, "topk": items, "latency_ms": _times(finder.optional("latency_ms", record))}
    return line | {key: finder.optional(key, record) for key in ANSWER_KEYS}


def answer_line(answer: Any, finder: Finder) -> Any:
    """What an answer of a service holds of a run line; itself where the map names nothing in it.

    Without `items` the list of results is the answer, or its `topk`. A ValueError where something is not there.
    """
    fields = finder.fields
    is_line = fields.items is None and isinstance(answer, Mapping) and "topk" in answer
    name = fields.items or ("topk" if is_line else None)
    entries = look_up(answer, name) if name else answer
    if entries is MISSING:
        raise MissingNameError("items", name or "", "the answer", names_of(answer))
    if not isinstance(entries, list):
        what = f"{name} of the answer is no list" if name else "the answer is no list; map its `items`"
        raise ValueError(f"{what} (found: {', '.join(islice(names_of(entries), 20)) or shown(entries)})")
    if any(map(finder.names, ("chunk_id", *OF_ITEMS))):
        items = [_item(entry, finder, f"result {position}") for position, entry in enumerate(entries, start=1)]
        entries = [_stated(item) if isinstance(item, Mapping) else item for item in items]
    if fields.items is None:
        return {**answer, "topk": entries} if is_line else entries
    values = {key: finder.optional(key, answer) for key in OF_QUERIES}
    return {"topk": entries, **_stated(values | {"latency_ms": _times(values["latency_ms"])})}


def _stated(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _item(entry: Any, finder: Finder, where: str) -> Any:
    """The contract's item for an entry of a list, which is an object or a bare id."""
    if not isinstance(entry, Mapping):
        return id_of(entry, where)
    if not finder.names("chunk_id"):
        names = ", ".join(map(shown, names_of(entry)))
        raise ValueError(f"{where} is an object, so the map must name its chunk_id (found: {names})")
    item = {key: _plain(finder.optional(key, entry)) for key in _EXTRAS}
    doc = id_of(finder.required("chunk_id", entry, where), where)
    item["chunk_id"] = doc
    score = finder.optional("score", entry)
    item["score"] = None if score is None else finder.fields.sign * _number(score, "score", doc)
    if finder.names("rank"):
        item["rank"] = _number(finder.required("rank", entry, where), "rank", doc)
    return item


class _Result(NamedTuple):
    """A result with the id of its query, the times of that, and the tags of the system."""

    query_id: str
    row: Row
    times: Any
    tags: Sequence[Tag]


def _row(record: Any, finder: Finder) -> _Result:
    """The result that an object is."""
    query_id = id_of(finder.required("query_id", record, "the object"), "the query")
    query = f"query {shown(query_id)}"
    doc = id_of(finder.required("chunk_id", record, query), f"{query}: the result")
    score = 0.0
    rank = 0
    if finder.names("score"):
        score = float(finder.fields.sign * _number(finder.required("score", record, query), "score", doc))
    if finder.names("rank"):
        rank = int(_number(finder.required("rank", record, query), "rank", doc))
    extras = {key: value for key in _EXTRAS if (value := _plain(finder.optional(key, record))) is not None}
    if RunField.ITEM_SCORES in finder.needs and finder.names("score"):
        extras["score"] = score
    times = _times(finder.optional("latency_ms", record))
    return _Result(query_id, Row(doc, score, rank, extras or None), times, finder.tags(record))


def _cells(record: Mapping[str, str], finder: Finder) -> _Result:
    """The result that a row of texts is, as of CSV, in which an empty cell says nothing."""
    columns = {key: getattr(finder.fields, key) for key in ("query_id", "chunk_id", *_READ_AS) if finder.names(key)}
    query_id = record[columns["query_id"]]
    chunk_id = record[columns["chunk_id"]]
    query = f"query {shown(query_id)}"
    for cell, what in ((query_id, "query"), (chunk_id, "result")):
        if not cell:
            raise ValueError(f"{query}: the id of the {what} is empty")
        if cell.startswith(("['", '["')) and cell.endswith("]"):
            raise ValueError(f"{query}: {shown(cell)} is no id: {RAGAS_CSV}")
    values: dict[str, Any] = {name: cell or None for name, cell in record.items()}
    for key, number_in in _READ_AS.items():
        if key in columns:
            cell = record[columns[key]]
            number = number_in(cell.strip())
            missing = not cell.strip() or (key == "latency_ms" and cell.strip().casefold() in _NO_TIME)
            if number is None and (not missing or key in ("score", "rank")):
                raise ValueError(f"{query}: {_unlike(cell, key, chunk_id)}")
            values[columns[key]] = number
    return _row(values, finder)


_NO_TIME = ("nan", "null")  # cells of times that a tool did not give
_READ_AS = {
    "score": finite_number,
    "rank": whole_number,
    "latency_ms": finite_number,
    "start": whole_number,
    "end": whole_number,
}


def _unlike(value: Any, what: str, doc: str | int) -> str:
    kind = "a whole number" if what in ("rank", "start", "end") else "a finite number"
    header = "; if that is a header, remove the row" if str(value) in _READ_AS else ""
    return f"the {what} of {shown(doc)} is {shown(value)}; expected {kind}{header}"


def _number(value: Any, what: str, doc: str | int) -> float | int:
    """A finite number, maybe as text; a rank is a whole one."""
    number = finite_number(value) if isinstance(value, str) else value
    value = value if number is None else number
    if not is_number(value) or not math.isfinite(value) or (what == "rank" and value % 1):
        raise ValueError(_unlike(value, what, doc))
    return int(value) if what == "rank" else float(value)


def is_number(value: Any) -> bool:
    """Whether it is a number of any kind, a Parquet file's decimals included, that is not beyond those of 64 bits."""
    if isinstance(value, int):
        return not isinstance(value, bool) and value.bit_length() < sys.float_info.max_exp
    return hasattr(value, "as_integer_ratio")


def _times(value: Any) -> Any:
    """Milliseconds by stage; a bare number is their total."""
    if value is None:
        return None
    stages = value if isinstance(value, Mapping) else {"total": value}
    return {str(stage): _time(time) for stage, time in stages.items()}


def _time(value: Any) -> Any:
    """A number of milliseconds; None for NaN, which a tool writes where it has none."""
    if not is_number(value):
        return value
    return None if math.isnan(value) else float(value)


def _plain(value: Any) -> Any:
    """A value as JSON would hold it: a date of a Parquet file is written out."""
    return value.isoformat() if hasattr(value, "isoformat") else value


def entries_under(document: Any, under: str, name: str) -> Records:
    """The entries of the list under that name, or `key`s with `value`s in place of a list, with their places."""
    listed = look_through(document, under) if under else document
    if isinstance(listed, Mapping):
        for key, value in listed.items():
            entries = value if isinstance(value, Mapping) else {}
            yield Problem("", name), {**entries, "key": key, "value": value}
        return
    if not isinstance(listed, list):
        names = ", ".join(map(shown, names_of(document))) if listed is MISSING else shown(listed)
        raise bad_input(f"expected a list under {shown(under)} (found: {names})", file=name, key="map.records")
    yield from ((Problem("", name, None, f"{under}[{at}]"), each) for at, each in enumerate(listed))


def json_records(source: Source, log: ProblemLog, under: str | None = None, *, missing: bool = True) -> Records:
    """The values of JSONL, or the entries of one JSON list, with their places; a line that is none is noted.

    Where values may be `missing`, NaN and Infinity are null. With `under` the file is one value, as `entries_under`.
    """
    if under is not None:
        yield from entries_under(source_json(source, missing=missing), under, source.name)
        return
    if source.head.lstrip().startswith(b"["):
        yield from (
            (Problem("", source.name, None, f"[{at}]"), entry)
            for at, entry in enumerate(source_json(source, missing=missing))
        )
        return
    for number, line in source.lines():
        location = Problem("", source.name, number)
        try:
            record = line_json(line, missing=missing)
        except (ValueError, RecursionError) as error:
            log.note(location, explain(line, error, missing=missing))
        else:
            yield location, record
