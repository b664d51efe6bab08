"""A pool as a file to label, JSONL or CSV, and the labels read back from it.

Both have a line per query and document. JSONL is for labelling tools, CSV for spreadsheets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from rankgate.collecting.gold_documents import plain_number
from rankgate.collecting.pool import Label, Pair
from rankgate.collecting.sheets import as_json_lines, as_sheet, is_jsonl, rows_of
from rankgate.errors import Problem, shown
from rankgate.readers.base import ProblemLog, finite_number, id_of
from rankgate.readers.samples import check_gain
from rankgate.readers.source import open_source

_NEEDED = ("query_id", "id", "gain")
_WANTED = "a labelled pool is JSONL, or CSV whose header names query_id, id and gain once each"


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of a file, and how many of its pairs nobody has labelled."""

    labels: tuple[Label, ...]
    blank: int


def as_jsonl(pairs: Iterable[Pair], names: Sequence[str]) -> str:
    """One JSON object a line; the keys of every line stand in the same order."""
    del names  # every pair has them in its ranks
    return as_json_lines(map(_row, pairs))


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
    """
    labels: list[Label] = []
    blank = 0
    with open_source(path) as source:
        of_cells = not is_jsonl(source)
        for line, row in rows_of(source, log, _NEEDED, _WANTED):
            try:
                if of_cells and "gain" in row:
                    row["gain"] = _gain_in(row["gain"])
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
    query_id = _id("query_id", row["query_id"])
    doc = _id("id", row["id"])
    if row["gain"] is None:
        return None
    try:
        gain = check_gain(doc, row["gain"])
        judge = row.get("judge") or None
        return Label(query_id=query_id, id=doc, gain=gain, file=file, line=line, judge=judge and str(judge))
    except ValueError as error:
        raise ValueError(f"query {shown(query_id)}: {error}") from error


def _id(key: str, value: object) -> str:
    if value == "":
        raise ValueError(f"{key}: expected an id, found ''")
    return id_of(value, key)


def _gain_in(cell: str) -> float | str | None:
    """A gain as JSON would hold it: a number, or nothing; anything else as it is written."""
    text = cell.strip()
    number = finite_number(text)
    return text or None if number is None else number
