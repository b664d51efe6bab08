"""Gold sets and runs that Python holds: lists and mappings by query, dicts that name their question, data frames."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Number
from typing import Any

import msgspec

from rankgate.errors import Problem, bad_input, shown
from rankgate.metrics.matching import BY_CHUNK, By, Matching
from rankgate.model.values import Gold, Ranking, RunField, Sample
from rankgate.readers.base import ProblemLog, Run, deduplicated, id_of
from rankgate.readers.field_map import QUERY, named
from rankgate.readers.formats import named_file, read_gold, read_run
from rankgate.readers.gold_columns import usual_fields
from rankgate.readers.json_text import spoken
from rankgate.readers.judgments import read_judgments
from rankgate.readers.loose_lines import loose_line, rankings_of
from rankgate.readers.mapped import read_records
from rankgate.readers.recognition import LISTS, ORDERS, plain
from rankgate.readers.results import by_score, described, listed, to_items, written_line
from rankgate.readers.run_lines import LOOKED_AT, provenance_of
from rankgate.readers.run_shapes import loose_shape, to_ranking
from rankgate.readers.samples import add_sample, judgments, spans_of, to_sample
from rankgate.readers.strict_lines import PER_QUERY_KEYS
from rankgate.readers.tables import usual_map

File = str | os.PathLike[str]
GoldLike = File | Gold | Iterable[Any] | Mapping[str, Any] | Mapping[int, Any]
RunLike = File | Iterable[Any] | Mapping[str, Any] | Mapping[int, Any]
_TO_ROWS = ("to_dicts", "to_pylist", "to_list")  # of Polars, Arrow and Hugging Face; pandas has its own
# What makes dicts of a list rows: those of a gold set, and those of a run.
_JUDGED = frozenset({"expected_output", "rating", "relevance", "rel", "gain", "grade", "label"})
_RETRIEVED = LISTS | ORDERS | {"actualoutput"}


def refuse_unequal(gold: Any, run: Any, name: str = "run") -> None:
    """Lists without query ids belong together by position, so none may be missing."""
    by_position = isinstance(gold, list | tuple) and isinstance(run, list | tuple)
    by_position = by_position and _rows(gold, _JUDGED) is _rows(run, _RETRIEVED) is None
    if by_position and len(run) != len(gold):
        counts = f"gold has {len(gold):,} questions, the {name} {len(run):,}"
        raise bad_input(f"{counts}; give a list for each, empty where need be", file=name)


def held_gold(given: GoldLike) -> Gold:
    """The gold set of a file or of values, as `score` takes them."""
    if isinstance(given, Gold):
        return given
    if isinstance(given, str | os.PathLike):
        form, path = named_file(given)
        return read_gold(path, form)
    rows = _rows(given, _JUDGED)
    samples = {} if rows is None else _samples(rows)
    for query_id, relevant in _by_query(given, "gold") if rows is None else ():
        ids = listed(relevant)
        if isinstance(ids, list | tuple | set | frozenset):
            ids = [_python_number(each) for each in ids]
        if isinstance(ids, Mapping):
            ids = {key: _python_number(value) for key, value in ids.items()}
        try:
            samples[query_id] = Sample(query_id=query_id, gains=judgments(ids), spans=spans_of(ids))
        except ValueError as error:
            raise bad_input(f"query {query_id!r}: {error}", file="gold") from error
    if not any(sample.relevant() for sample in samples.values()):
        raise bad_input("names no relevant document; nothing could be scored", file="gold")
    return Gold(samples=samples, name="gold", format="python")


def held_run(given: Any, needs: frozenset[RunField], how: Matching = BY_CHUNK, name: str = "run") -> Run:
    """The run of a file or of values, as `score` takes them; messages call the values `name`."""
    if isinstance(given, str | os.PathLike):
        form, path = named_file(given)
        return read_run(path, form, needs=needs)
    rows = _rows(given, _RETRIEVED)
    lines: Iterable[Any] = rows or ()
    if rows is None:
        by_query = dict(_by_query(given, name))
        lines = by_query.values()
        rankings = [_ranking(query_id, entry, needs, how, name) for query_id, entry in by_query.items()]
    else:
        rankings = list(_of_rows(rows, needs, name))
    return Run(name=name, format="python", rankings=iter(rankings), provenance=_provenance(lines))


def _provenance(entries: Iterable[Any]) -> Mapping[str, Any]:
    """What run lines say of the system, as those of a file do."""
    lines = (each for each in islice(entries, LOOKED_AT) if isinstance(each, Mapping) and not LISTS.isdisjoint(each))
    beside = ({key: value for key, value in line.items() if key not in PER_QUERY_KEYS} for line in lines)
    return provenance_of(json.dumps(each, default=str, skipkeys=True).encode() for each in beside)


def _python_number(value: Any) -> Any:
    """A number of NumPy as Python's own."""
    return value.item() if isinstance(value, Number) and hasattr(value, "item") else value


class HeldRun(msgspec.Struct, frozen=True):
    """A run that Python holds, as `held_run` takes it."""

    given: Any
    how: Matching = BY_CHUNK
    name: str = "run"

    def open(self, needs: frozenset[RunField]) -> Run:
        """The run; a RankgateError where it is none."""
        return held_run(self.given, needs, self.how, self.name)


def _rows(given: Any, marks: Collection[str]) -> list[Mapping[str, Any]] | None:
    """The rows of a data frame, or dicts that have one of the keys `marks` and each name their question; else None."""
    if hasattr(given, "columns") or hasattr(given, "column_names"):
        columns = [*map(str, getattr(given, "column_names", None) or given.columns)]
        if twice := next((name for name in columns if columns.count(name) > 1), ""):
            what = f"two columns are called {shown(twice)}; keep one"
            raise bad_input(what, file="gold" if marks is _JUDGED else "run")
        write = next(filter(None, (getattr(given, name, None) for name in _TO_ROWS)), None)
        rows = write() if write else given.astype(object).where(given.notna(), None).to_dict("records")
        return [to_items(row) for row in rows]
    samples = given.get("samples") if isinstance(given, Mapping) and len(given) == 1 else given
    if not isinstance(samples, list | tuple) or not samples or not all(isinstance(each, Mapping) for each in samples):
        return None
    names = [name for name in samples[0] if isinstance(name, str)]
    is_named = named(QUERY, names) or "id" in names or "expected_output" in names
    return list(samples) if is_named and not set(marks).isdisjoint(map(plain, names)) else None


def _of_rows(rows: Sequence[Mapping[str, Any]], needs: frozenset[RunField], name: str) -> Iterator[Ranking]:
    """Rankings of run lines, or of rows with a result each."""
    log = ProblemLog()
    placed = [(Problem("", name, None, f"[{at}]"), row) for at, row in enumerate(rows)]
    if rows and not LISTS.isdisjoint(rows[0]):
        lines = ((number, location, dict(row)) for number, (location, row) in enumerate(placed))
        return rankings_of(lines, needs, log)
    return read_records(usual_map([*rows[0]] if rows else [], name, kind="frame"), placed, name, needs, log)


def _samples(rows: Sequence[Mapping[str, Any]]) -> dict[str, Sample]:
    """The samples of dicts as a gold file has them, or of judgments, a row each."""
    log = ProblemLog()
    samples: dict[str, Sample] = {}
    placed = [(Problem("", "gold", None, f"[{at}]"), row) for at, row in enumerate(rows)]
    if rows and "expected_output" in rows[0]:
        for at, (location, row) in enumerate(placed):
            sample = to_sample({"id": str(at), **row}, location, log)
            if sample is not None:
                add_sample(samples, sample, location, log)
    else:
        fields = usual_fields([*rows[0]] if rows else [], Problem("", "gold"), kind="frame")
        samples = read_judgments(fields, placed, log)
    log.raise_if_any()
    return log.beside.tagged(samples)


def _ranking(query_id: str, entry: Any, needs: frozenset[RunField], how: Matching, name: str) -> Ranking:
    """The ranking of an entry: a list of results, a run line of any shape, or scores by id."""
    if type(entry) is list and not needs and set(map(type, entry)) == {str} and "" not in entry:  # many times as fast
        return Ranking(query_id, *deduplicated(entry))
    has_other_keys = isinstance(entry, Mapping) and "topk" not in entry
    try:
        if has_other_keys and not LISTS.isdisjoint(entry):
            return to_ranking(loose_line({**entry, "query_id": query_id}, loose_shape(needs)), query_id, needs)
        result = by_score(entry) if has_other_keys else to_items(entry)
        if how.by is By.TEXT and isinstance(result, list | tuple):
            result = [_with_text(each) for each in result]
        line = written_line(query_id, result)
        return to_ranking(loose_line(line, loose_shape(needs)), query_id, needs)
    except ValueError as error:
        raise bad_input(f"query {shown(query_id)}: {spoken(error)}", file=name) from error


def _with_text(entry: Any) -> Any:
    """A bare text, or one with its score, as the item that it is the text of; the text is its id."""
    text, *score = entry if isinstance(entry, list | tuple) and len(entry) == len(("text", "score")) else (entry,)
    if not isinstance(text, str):
        return entry
    chunk_id = text or " "  # an empty text is a result, and holds its rank; an empty id is none
    return {"chunk_id": chunk_id, "text": text, "score": next(iter(score), None)}


def _by_query(given: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(given, Mapping):
        try:
            ids = [id_of(_python_number(query_id), "the query") for query_id in given]
        except ValueError as error:
            raise bad_input(str(error), file=name) from error
        if len(set(ids)) < len(ids):
            raise bad_input(f"query {max(ids, key=ids.count)!r} stands twice, as a number and as text", file=name)
        yield from zip(ids, given.values(), strict=True)
    elif isinstance(given, list | tuple):
        yield from ((str(position), entry) for position, entry in enumerate(given))
    else:
        raise bad_input(f"expected a file name, a mapping by query, or a list, found {described(given)}", file=name)
