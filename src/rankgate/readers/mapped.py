"""Runs in a shape of the user's own, read by a map: objects that are queries or results, of JSON or from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rankgate.errors import Problem, shown
from rankgate.model.values import Need, Ranking
from rankgate.readers.base import ProblemLog, id_of
from rankgate.readers.delimited import RAGAS_CSV
from rankgate.readers.json_text import explain, line_json, source_json, spoken
from rankgate.readers.mapping import FieldMap, Finder, MissingNameError, names_of
from rankgate.readers.rows import Order, Row, Rows
from rankgate.readers.run_lines import checked
from rankgate.readers.run_shapes import ANSWER_KEYS, loose_shape
from rankgate.readers.source import Source

# Objects, each with its place for messages.
Records = Iterable[tuple[Problem, Any]]
_EXTRAS = ("text", "doc_id", "doc_version")


def read_mapped_json(source: Source, fields: FieldMap, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from JSONL or one JSON list: a query an object where the map has `items`, else a result an object."""
    return read_records(json_records(source, log), source.name, fields, needs, log)


def read_records(
    records: Records, name: str, fields: FieldMap, needs: frozenset[Need], log: ProblemLog
) -> Iterator[Ranking]:
    """Rankings from objects of a file.

    A name of the map that a required value lacks, or that no object of the file has, is an error, told once.
    """
    finder = Finder(fields, needs)
    if fields.items is not None:
        yield from _queries(records, finder, fields.items, needs, log)
        for problem in finder.problems():
            log.add(problem)
        log.raise_if_any()
        return
    rows = Rows(Order.of(scored=fields.score is not None, ranked=fields.rank is not None))
    _gather(rows, records, finder, needs, log)
    for problem in finder.problems():
        log.add(problem)
    yield from rows.rankings(name, needs, log)


def _queries(
    records: Records, finder: Finder, listed: str, needs: frozenset[Need], log: ProblemLog
) -> Iterator[Ranking]:
    """Rankings from objects that are queries."""
    shape = loose_shape(needs)
    seen: dict[str, int] = {}
    for number, (place, record) in enumerate(records, start=1):
        finder.place = place
        try:
            written = msgspec.convert(_line(record, finder, listed), shape)
        except MissingNameError as error:
            finder.miss(error)
            continue
        except ValueError as error:
            log.add(msgspec.structs.replace(place, message=spoken(error)))
            continue
        ranking = checked(written, needs, seen, place.line or number, place, log)
        if ranking is not None:
            yield ranking


def _line(record: Any, finder: Finder, listed: str) -> dict[str, Any]:
    """The contract's line for an object that is a query."""
    query_id = id_of(finder.required("query_id", record, "the object"), "the query")
    query = f"query {shown(query_id)}"
    entries = finder.required("items", record, query)
    if isinstance(entries, str) and entries.startswith("["):
        raise ValueError(f"{query}: {listed} is {shown(entries)}: {RAGAS_CSV}")
    if not isinstance(entries, list):
        raise ValueError(f"{query}: {listed}: expected a list of results, found {shown(entries)}")
    items = [
        _item(entry, finder, f"{query}: result {position} of {listed}")
        for position, entry in enumerate(entries, start=1)
    ]
    line = {"query_id": query_id, "topk": items, "latency_ms": _times(finder.optional("latency_ms", record))}
    return line | {key: finder.optional(key, record) for key in ANSWER_KEYS}


def _item(entry: Any, finder: Finder, where: str) -> Any:
    """The contract's item for an entry of a list, which is an object or a bare id."""
    if not isinstance(entry, Mapping):
        return id_of(entry, where)
    if not finder.names("chunk_id"):
        found = ", ".join(map(shown, names_of(entry)))
        raise ValueError(f"{where} is an object, so the map must name its chunk_id (found: {found})")
    item = {key: _plain(finder.optional(key, entry)) for key in _EXTRAS}
    item["chunk_id"] = doc = id_of(finder.required("chunk_id", entry, where), where)
    score = finder.optional("score", entry)
    item["score"] = None if score is None else finder.sign * _number(score, "score", doc)
    if finder.names("rank"):
        item["rank"] = _number(finder.required("rank", entry, where), "rank", doc)
    return item


def _gather(rows: Rows, records: Records, finder: Finder, needs: frozenset[Need], log: ProblemLog) -> None:
    """Take objects that are results."""
    for place, record in records:
        finder.place = place
        try:
            query_id = id_of(finder.required("query_id", record, "the object"), "the query")
            query = f"query {shown(query_id)}"
            doc = id_of(finder.required("chunk_id", record, query), f"{query}: the result")
            numbers = {
                key: (finder.sign if key == "score" else 1) * _number(finder.required(key, record, query), key, doc)
                for key in ("score", "rank")
                if finder.names(key)
            }
            extras = {key: value for key in _EXTRAS if (value := _plain(finder.optional(key, record))) is not None}
            if Need.ITEM_SCORES in needs and "score" in numbers:
                extras["score"] = numbers["score"]
            row = Row(doc, float(numbers.get("score", 0.0)), int(numbers.get("rank", 0)), extras or None)
            rows.add(query_id, row, place.line, _times(finder.optional("latency_ms", record)))
        except MissingNameError as error:
            finder.miss(error)
        except ValueError as error:
            log.add(msgspec.structs.replace(place, message=str(error)))


def _number(value: Any, what: str, doc: str | int) -> float | int:
    """A finite number; a rank is a whole one."""
    if not _is_number(value) or not math.isfinite(value) or (what == "rank" and value % 1):
        kind = "a whole number" if what == "rank" else "a finite number"
        raise ValueError(f"the {what} of {shown(doc)} is {shown(value)}; expected {kind}")
    return int(value) if what == "rank" else float(value)


def _is_number(value: Any) -> bool:
    """Whether it is a number of any kind, a Parquet file's decimals included."""
    return hasattr(value, "as_integer_ratio") and not isinstance(value, bool)


def _times(value: Any) -> Any:
    """Milliseconds by stage; a bare number is their total."""
    if isinstance(value, Mapping):
        stages = {str(stage): time for stage, time in value.items() if time is not None}
        return {stage: float(time) if _is_number(time) else time for stage, time in stages.items()}
    return value if value is None else {"total": float(value) if _is_number(value) else value}


def _plain(value: Any) -> Any:
    """A value as JSON would hold it: a date of a Parquet file is written out."""
    return value.isoformat() if hasattr(value, "isoformat") else value


def json_records(source: Source, log: ProblemLog) -> Records:
    """The values of JSONL, or the entries of one JSON list, with their places; a line that is none is noted."""
    if source.head.lstrip().startswith(b"["):
        yield from ((Problem("", source.name, None, f"[{at}]"), entry) for at, entry in enumerate(source_json(source)))
        return
    for number, line in source.lines():
        place = Problem("", source.name, number)
        try:
            record = line_json(line)
        except (ValueError, RecursionError) as error:
            log.add(msgspec.structs.replace(place, message=explain(line, error)))
        else:
            yield place, record
