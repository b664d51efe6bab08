"""Values query by query that were computed elsewhere: a Parquet table, or the lines of `rankgate score --per-query`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Ranking
from rankgate.readers.base import TABLE, Choose, ProblemLog, Run, Values
from rankgate.readers.field_map import QUERY
from rankgate.readers.json_text import spoken
from rankgate.readers.mapping import usual_names
from rankgate.readers.source import MAGIC, STDIN, Source, open_table, shown_path

if TYPE_CHECKING:
    from rankgate.readers.parquet import ParquetFile

_MISSING = "missing"
_Row = tuple[Problem, str | None, bool | None, Sequence[float | None]]  # its place, query, whether missing, values


class _Line(msgspec.Struct):
    query_id: str | int
    scores: dict[str, float | None]
    missing: bool = False


_LINES = msgspec.json.Decoder(_Line)


def open_values(path: str) -> Run:
    """A table of values as a run; it is read where its values are asked for, and an error where its rankings are."""
    name = "standard input" if path == STDIN else shown_path(path)
    return Run(name=name, format=TABLE, rankings=_no_rankings(name), values=partial(read_values, path))


def _no_rankings(name: str) -> Iterator[Ranking]:
    yield from ()
    raise bad_input("holds values per query and no rankings; name a run", file=name)


def read_values(path: str, choose: Choose) -> Values:
    """The values of the columns that are chosen of those that the file has.

    Parquet, be it a file, a folder, a pattern or an address, has a row a query: its id in a column of a usual name such
    as `query_id`, a column of numbers a metric, null where it is undefined, and maybe `missing`, which is true where
    the run lacks the query. A line of JSON has the same as `{"query_id": …, "scores": {…}, "missing": …}`.

    Raises:
        RankgateError: neither of the two; a query without id or there twice; a value that is no finite number of 64
            bits; and what `choose` raises.
    """
    log = ProblemLog()
    values: dict[str, Sequence[float | None]] = {}
    missing: set[str] = set()
    with open_table(path) as source:
        for location, query_id, is_missing, row in _rows(source, choose, log):
            flaw = next((each for each in row if each is not None and not math.isfinite(each)), None)
            if query_id is None or query_id == "":
                log.note(location, "a row has no query id")
            elif query_id in values:
                log.note(location, f"query {shown(query_id)} stands twice; keep one row of it")
            elif flaw is not None:
                what = "; write null where a metric is undefined" if math.isnan(flaw) else ""
                log.note(location, f"query {shown(query_id)}: the value {flaw} is not finite{what}")
            else:
                values[query_id] = row
                missing |= {query_id} if is_missing else set()
        log.raise_if_any()
    return Values(values, frozenset(missing))


def _rows(source: Source, choose: Choose, log: ProblemLog) -> Iterator[_Row]:
    if source.head.startswith(MAGIC):
        from rankgate.readers.parquet import opened  # noqa: PLC0415 -- a tenth of the imports of a check

        with opened(source) as file:
            yield from _of_table(file, choose, log)
    elif source.head.lstrip()[:1] == b"{":
        yield from _of_lines(source, choose, log)
    else:
        what = "is neither Parquet nor what `rankgate score --per-query` writes"
        raise bad_input(f"{what}; it starts with {shown(source.head[:40])}", file=source.name)


def _of_table(file: ParquetFile, choose: Choose, log: ProblemLog) -> Iterator[_Row]:
    from rankgate.readers.parquet import ID_TYPES, NUMBER_TYPES, quoted  # noqa: PLC0415 -- as above

    location = Problem("", file.name)
    query = usual_names([*file.columns], {"query_id": (*QUERY, {"id"})}, "scores", location)["query_id"]
    chosen = choose([*file.columns], file.name)
    wanted = {query: (ID_TYPES, "ids are texts or whole numbers")}
    wanted |= dict.fromkeys(chosen, (NUMBER_TYPES - {"FLOAT"} | {"BOOLEAN", '"NULL"'}, "values are numbers"))
    marks = [name for name in file.columns if name.lower() == _MISSING]
    wanted |= dict.fromkeys(marks, (frozenset({"BOOLEAN"}), "it is true where the run lacks the query"))
    if twice := file.twice(wanted):
        raise bad_input(f"the column {shown(twice)} stands twice, maybe in another case; keep one", file=file.name)
    for name, (kinds, expected) in wanted.items():
        if (kind := file.columns[name]).partition("(")[0] not in kinds:
            why = "7 digits move what equals a limit; write 64 bits (DOUBLE)" if kind == "FLOAT" else expected
            log.note(location, f"the column {shown(name)} is of type {kind}; {why}")
    log.raise_if_any()
    missing = quoted(marks[0]) if marks else "false"
    cells = [f"CAST({quoted(query)} AS VARCHAR)", missing, *(f"CAST({quoted(each)} AS DOUBLE)" for each in chosen)]
    for query_id, is_missing, *row in file.rows(f"SELECT {', '.join(cells)} FROM {file.table}"):  # noqa: S608 -- quoted
        yield location, query_id, is_missing, row


def _of_lines(source: Source, choose: Choose, log: ProblemLog) -> Iterator[_Row]:
    chosen: Sequence[str] | None = None
    for number, text in source.lines():
        location = Problem("", source.name, number)
        try:
            line = _LINES.decode(text)
        except msgspec.MsgspecError as error:
            log.note(
                location, f"{spoken(error)}; a line is as `score --per-query` writes it, and a run goes with --run"
            )
            continue
        if chosen is None:
            chosen = choose([*line.scores], source.name)
        if lacking := [name for name in chosen if name not in line.scores]:
            log.note(
                location, f"has no value of {', '.join(map(shown, lacking))}; write null where a metric is undefined"
            )
            continue
        yield location, str(line.query_id), line.missing, [line.scores[name] for name in chosen]
