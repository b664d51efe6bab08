"""Values query by query that were computed elsewhere: in place of rankings, or joined to those of a run.

In place of rankings they are a Parquet table, or the lines of `rankgate score --per-query`; scores of another tool, one
row a query, are joined.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Details, Ranking
from rankgate.model.wording import count_text
from rankgate.readers.base import TABLE, Choose, ProblemLog, Run, Values, finite_number, id_of
from rankgate.readers.field_map import QUERY
from rankgate.readers.json_text import spoken
from rankgate.readers.judgments import records_of
from rankgate.readers.mapped import objects_in
from rankgate.readers.mapping import usual_names
from rankgate.readers.source import MAGIC, STDIN, Source, open_source, open_table, shown_path

if TYPE_CHECKING:
    from rankgate.readers.parquet import ParquetFile

_MISSING = "missing"
_ValueRow = tuple[Problem, str | None, bool | None, Sequence[float | None]]  # its place, query, whether missing, values


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
        RankgateError: neither of the two; a query without id or there twice; a value that is no number of 64 bits, or
            an infinite one; and what `choose` raises. NaN is handed on.
    """
    log = ProblemLog()
    values: dict[str, Sequence[float | None]] = {}
    missing: set[str] = set()
    with open_table(path) as source:
        for location, query_id, is_missing, row in _value_rows(source, choose, log):
            flaw = next((each for each in row if each is not None and math.isinf(each)), None)
            if query_id is None or query_id == "":
                log.note(location, "a row has no query id")
            elif query_id in values:
                log.note(location, _twice(query_id))
            elif flaw is not None:
                log.note(location, f"query {shown(query_id)}: the value {flaw} is not finite")
            else:
                values[query_id] = row
                missing |= {query_id} if is_missing else set()
        log.raise_if_any()
    return Values(values, frozenset(missing))


def _value_rows(source: Source, choose: Choose, log: ProblemLog) -> Iterator[_ValueRow]:
    if source.head.startswith(MAGIC):
        from rankgate.readers.parquet import opened  # noqa: PLC0415 -- a tenth of the imports of a check

        with opened(source) as file:
            yield from _of_table(file, choose, log)
    elif source.head.lstrip()[:1] == b"{":
        yield from _of_lines(source, choose, log)
    else:
        what = "is neither Parquet nor what `rankgate score --per-query` writes"
        raise bad_input(f"{what}; it starts with {shown(source.head[:40])}", file=source.name)


def _of_table(file: ParquetFile, choose: Choose, log: ProblemLog) -> Iterator[_ValueRow]:
    from rankgate.readers.parquet import ID_TYPES, NUMBER_TYPES, quoted  # noqa: PLC0415 -- as above

    location = Problem("", file.name)
    query = _query_column([*file.columns], location)
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


def _of_lines(source: Source, choose: Choose, log: ProblemLog) -> Iterator[_ValueRow]:
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


class QueryScores(NamedTuple):
    """The numbers of a query by column, and who gave them: the column `judge`."""

    numbers: dict[str, float | None]
    judge: str | None


def read_scores(path: str, wanted: Collection[str] = ()) -> dict[str, QueryScores]:
    """By query the columns that have nothing but numbers, empty cells, null and NaN: these its tool left undefined.

    In a column that is `wanted`, anything else is an error.
    """
    log = ProblemLog()
    rows: dict[str, dict[str, Any]] = {}
    texts: set[str] = set()  # columns that have something else than numbers
    key = ""
    with open_source(path) as source, records_of(source, log) as records:
        for location, row in objects_in(records, "an object with the query and its scores", log):
            record = {name.strip(): cell for name, cell in row.items()}
            key = key or _query_column([*record], location)
            try:
                query_id = id_of(record.get(key), "the query")
                if query_id in rows:
                    raise ValueError(_twice(query_id))
            except ValueError as error:
                log.note(location, error)
                continue
            rows[query_id] = {name: number_of(cell) for name, cell in record.items()} | {"judge": record.get("judge")}
            not_numbers = [name for name, number in rows[query_id].items() if number is ...]
            texts.update(not_numbers)
            for name in not_numbers:
                if name in wanted and name not in (key, "judge"):
                    what = f"column {shown(name)} has {shown(record[name])}, which is no number"
                    log.note(location, f"{what}; leave the cell empty where there is none")
    log.raise_if_any()
    texts |= {key, "judge"}
    scores: dict[str, QueryScores] = {}
    for query_id, row in rows.items():
        numbers = {name: number for name, number in row.items() if name not in texts}
        scores[query_id] = QueryScores(numbers, row["judge"] or None)
    if not any(each.numbers for each in scores.values()):
        raise bad_input("has no column of numbers beside its questions, or no row", file=shown_path(path))
    return scores


def number_of(cell: Any) -> Any:
    """A number, maybe as text, None where it is undefined, and `...` for anything else."""
    text = "" if cell is None else str(cell).strip().casefold()
    if text in {"", "nan", "null", "none"}:
        return None
    number = None if isinstance(cell, bool) else finite_number(text)
    return ... if number is None else number


def _value_text(value: float | None) -> str:
    return "undefined" if value is None else str(value)


def with_scores(run: Run, path: str, wanted: Collection[str] = ()) -> Run:
    """The run with the numbers of a file joined to its rankings, of which some are `wanted`.

    What a line states otherwise is an error, and so is a file that has no query of the run.
    """
    scores = read_scores(path, wanted)

    def rankings() -> Iterator[Ranking]:
        log = ProblemLog()
        joins = False
        stray = ""
        for ranking in run.rankings:
            joins = joins or ranking.query_id in scores
            stray = stray or ranking.query_id
            numbers, judge = scores.get(ranking.query_id, QueryScores({}, None))
            if not numbers:
                yield ranking
                continue
            details = ranking.details or Details()
            stated: Mapping[str, float | None] = details.scores or {}
            for name, number in numbers.items():
                if name in stated and stated[name] != number:
                    in_run = _value_text(stated[name])
                    both = f"{shown(name)} is {in_run} here and {_value_text(number)} in {shown_path(path)}; keep one"
                    log.add(Problem(f"query {shown(ranking.query_id)}: {both}", run.name))
            judges = dict.fromkeys(numbers, judge) if judge else {}
            judges |= details.judges or {}
            joined = replace(details, scores={**numbers, **stated}, judges=judges or None)
            yield replace(ranking, details=joined)
        if stray and scores and not joins:
            none = f"none of its {count_text(len(scores), 'question')} is in the run"
            ids = f"it has {shown(next(iter(scores)))}, the run has {shown(stray)}"
            log.add(Problem(f"{none}: {ids}", shown_path(path)))
        log.raise_if_any()

    return replace(run, rankings=rankings(), quick=None, scored=frozenset(scores))


def _query_column(names: Sequence[str], location: Problem) -> str:
    return usual_names(names, {"query_id": (*QUERY, {"id"})}, "scores", location)["query_id"]


def _twice(query_id: str) -> str:
    return f"query {shown(query_id)} stands twice; keep one row of it"
