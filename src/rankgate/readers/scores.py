"""Numbers of another tool, one row a query, joined to the rankings of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Details, Ranking
from rankgate.model.wording import count_text
from rankgate.readers.base import ProblemLog, Run, finite_number, id_of
from rankgate.readers.field_map import QUERY
from rankgate.readers.judgments import records_of
from rankgate.readers.mapped import objects_in
from rankgate.readers.mapping import usual_names
from rankgate.readers.source import open_source, shown_path


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
            key = key or usual_names([*record], {"query_id": (*QUERY, {"id"})}, "scores", location)["query_id"]
            try:
                query_id = id_of(record.get(key), "the query")
                if query_id in rows:
                    raise ValueError(f"query {shown(query_id)} stands twice; keep one row of it")
            except ValueError as error:
                log.note(location, error)
                continue
            rows[query_id] = {name: _number(cell) for name, cell in record.items()} | {"judge": record.get("judge")}
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


def _number(cell: Any) -> Any:
    """A number, None where it is undefined, and `...` for anything else."""
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
