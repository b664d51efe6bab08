"""The text formats of TREC: runs (`query Q0 document rank score tag`) and qrels (`query iteration document gain`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rankgate.errors import Problem, shown
from rankgate.model import Need, Ranking
from rankgate.readers.base import ProblemLog, once
from rankgate.readers.samples import check_gain
from rankgate.readers.source import Source, utf8_message

RUN_COLUMNS = 6
QRELS_COLUMNS = 4


def read_trec_run(source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a TREC run file, in the order in which queries first appear.

    As trec_eval does, the score decides and the rank column is ignored (some writers put 0 on every row): score
    descending, ties by document id descending. Scores compare as 64-bit floats; trec_eval compares 32 bits, where
    1.00000001 ties with 1.
    """
    del needs  # the format holds ids and scores only
    scored: dict[str, list[tuple[float, str]]] = {}
    for number, columns in _rows(source, RUN_COLUMNS, "query Q0 document rank score tag", log):
        query_id, _, doc, _, text, _ = columns
        score = finite_number(text)
        if score is None:
            what = f"the score of {shown(doc)} is {shown(text)}; scores must be finite numbers"
            log.add(Problem(f"query {shown(query_id)}: {what}", source.name, number))
            continue
        scored.setdefault(query_id, []).append((score, doc))
    log.raise_if_any()
    for query_id, rows in scored.items():
        rows.sort(reverse=True)
        yield Ranking(query_id, *once([doc for _, doc in rows]))


def trec_provenance(source: Source) -> Mapping[str, Any]:
    """The run's tag, from the first row."""
    columns = source.head.split(maxsplit=RUN_COLUMNS)[:RUN_COLUMNS]
    return {"system": columns[-1].decode("utf-8", "replace")} if len(columns) == RUN_COLUMNS else {}


def read_qrels(source: Source, log: ProblemLog) -> dict[str, tuple[int, dict[str, float]]]:
    """Judgments by query, each with the line on which the query first stands."""
    judged: dict[str, tuple[int, dict[str, float]]] = {}
    for number, (query_id, _, doc, text) in _rows(source, QRELS_COLUMNS, "query iteration document gain", log):
        gain = finite_number(text)
        if gain is None:
            log.add(Problem(f"the gain {shown(text)} is not a finite number", source.name, number, query_id))
            continue
        try:
            check_gain(doc, gain)
        except ValueError as error:
            log.add(Problem(str(error), source.name, number, query_id))
            continue
        gains = judged.setdefault(query_id, (number, {}))[1]
        if gains.setdefault(doc, gain) != gain:
            message = f"conflicting judgment: {shown(doc)} has gain {gains[doc]:g} above and {gain:g} here"
            log.add(Problem(message, source.name, number, query_id))
    return judged


def _rows(source: Source, count: int, layout: str, log: ProblemLog) -> Iterator[tuple[int, list[str]]]:
    for number, line in source.lines():
        try:
            # Bytes are split at ASCII white space alone: a no-break space is part of an id.
            columns = [column.decode("utf-8") for column in line.split()]
        except UnicodeDecodeError as error:
            log.add(Problem(utf8_message(error), source.name, number))
            continue
        if len(columns) == count:
            yield number, columns
        else:
            text = shown(" ".join(columns))
            log.add(Problem(f"expected {count} columns ({layout}), found {len(columns)}: {text}", source.name, number))


def finite_number(text: str) -> float | None:
    """A finite number, or None; `1_000` and foreign digits, which Python takes, are none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and text.isascii() and "_" not in text else None
