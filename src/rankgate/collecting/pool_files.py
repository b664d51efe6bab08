"""A pool as a file to label, JSONL or CSV, and the labels read back from it.

Both have a line per query and document. JSONL is for labelling tools, CSV for spreadsheets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from rankgate.collecting.labels import Label, plain_number
from rankgate.collecting.pool import Pair
from rankgate.collecting.sheets import as_sheet, exact, json_rows, sheet_rows
from rankgate.errors import Problem, shown
from rankgate.readers.base import ProblemLog, finite_number, id_of
from rankgate.readers.samples import check_gain
from rankgate.readers.source import Source, open_source

_NEEDED = ("query_id", "id", "gain")
_WANTED = "a labelled pool is JSONL, or CSV whose header names query_id, id and gain once each"


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of a file, and how many of its pairs nobody has labelled."""

    labels: tuple[Label, ...]
    blank: int


def as_jsonl(pairs: Iterable[Pair], names: Sequence[str]) -> str:
    """One JSON object a line; the keys of every line stand in the same order."""
    del names  # every pair has them in its ranks
    return "".join(f"{json.dumps(_row(pair), ensure_ascii=False)}\n" for pair in pairs)


def as_csv(pairs: Iterable[Pair], names: Sequence[str]) -> str:
    """CSV for spreadsheets: the same columns, with one for the ranks of each run.

    An id or a text that begins like a formula gets an apostrophe in front, which `read_labels` removes from ids, so
    that they stay exact.
    """
    texts = ("query_id", "question", "id", "text")
    rows = ([*(row[key] for key in texts), row["gain"], *row["ranks"].values()] for row in map(_row, pairs))
    return as_sheet([*texts, "gain", *(f"ranks.{name}" for name in names)], rows)


# By the suffix of the file to write.
POOL_FORMS: dict[str, Callable[[Iterable[Pair], Sequence[str]], str]] = {".jsonl": as_jsonl, ".csv": as_csv}


def read_labels(path: str, log: ProblemLog) -> Labelled:
    """Labels from a pool that came back, JSONL or CSV as its content says; a pair without a gain is only counted.

    Further keys and columns are the labellers' own. Of CSV, the delimiter may be a comma, a semicolon or a tab,
    whichever the spreadsheet saved. Pairs with a problem are left out.

    Raises:
        RankgateError: unreadable, neither form, or too many problems.
    """
    labels: list[Label] = []
    blank = 0
    with open_source(path) as source:
        json_text = source.head.lstrip().startswith((b"{", b"["))
        for line, row in json_rows(source, log) if json_text else _csv_rows(source, log):
            try:
                label = _label(row, source.name, line)
            except ValueError as error:
                log.add(Problem(str(error), source.name, line))
                continue
            blank += label is None
            labels += [label] if label else []
    return Labelled(labels=tuple(labels), blank=blank)


def _row(pair: Pair) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.structs.asdict(pair)
    row = {key: value for key, value in row.items() if pair.judge or key not in {"grade", "judge"}}
    return {**row, "gain": None if pair.gain is None else plain_number(pair.gain)}


def _label(row: dict[str, Any], file: str, line: int) -> Label | None:
    for key in _NEEDED:
        if key not in row:
            raise ValueError(f"no {key}; a labelled pair has {', '.join(_NEEDED)} (a gain of null is no label)")
    query_id, doc = (_id(key, row[key]) for key in ("query_id", "id"))
    if row["gain"] is None:
        return None
    try:
        gain, judge = check_gain(doc, row["gain"]), row.get("judge") or None
        return Label(query_id=query_id, id=doc, gain=gain, file=file, line=line, judge=judge and str(judge))
    except ValueError as error:
        raise ValueError(f"query {shown(query_id)}: {error}") from error


def _id(key: str, value: object) -> str:
    if value == "":
        raise ValueError(f"{key}: expected an id, found ''")
    return id_of(value, key)


def _csv_rows(source: Source, log: ProblemLog) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows as JSON would hold them: ids are exact text, a gain is a number or nothing."""
    for line, _, row in sheet_rows(source, log, _NEEDED, _WANTED):
        values: dict[str, Any] = {key: exact(cell) for key, cell in row.items()}
        if "gain" in row:
            text = row["gain"].strip()
            number = finite_number(text)
            values["gain"] = number if number is not None else text or None
        yield line, values
