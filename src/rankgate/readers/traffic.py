"""Questions of the traffic, and what people said of their documents, from JSONL, JSON, CSV or Parquet."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, bad_input, did_you_mean, shown
from rankgate.model.traffic_lists import TrafficLabel, TrafficQuestion, TrafficSheet
from rankgate.readers.base import KeyedError, ProblemLog, finite_number, id_of
from rankgate.readers.judgments import records_of
from rankgate.readers.mapped import objects_in
from rankgate.readers.source import open_source, shown_path

_QUESTION_KEYS = ("query_id", "question", "tags", "count")
_LABEL_KEYS = ("query_id", "document", "relevant", "labeller")
_YES, _NO = frozenset({"1", "1.0", "true", "yes"}), frozenset({"0", "0.0", "false", "no"})
T = TypeVar("T")


def read_traffic(path: str) -> tuple[TrafficQuestion, ...]:
    """The questions of the traffic, in the order of the file.

    Raises:
        RankgateError: unreadable, without a question, or malformed, with every problem by line and key.
    """
    lines: dict[str, Problem] = {}
    questions: list[TrafficQuestion] = []
    log = ProblemLog()
    for location, question in _read(path, _question, log):
        before = lines.setdefault(question.query_id, location)
        if before is location:
            questions.append(question)
            continue
        where = f"line {before.line}" if before.line else before.key
        what = f"the question {shown(question.query_id)} stands twice (first on {where}); keep one, with its count"
        log.note(replace(location, key="query_id"), what)
    log.raise_if_any()
    if not questions:
        raise bad_input("has no question; add lines with query_id and question", file=shown_path(path))
    return tuple(questions)


def read_traffic_labels(path: str) -> tuple[TrafficLabel, ...]:
    """What people said of documents; nothing where the file is not there yet.

    Raises:
        RankgateError: unreadable, malformed, or one person says both of a document, with every problem by line.
    """
    if not Path(path).exists():
        return ()
    known: dict[tuple[str, str, str | None], tuple[Problem, TrafficLabel]] = {}
    log = ProblemLog()
    for location, label in _read(path, _label_if_any, log):
        if label is None:
            continue
        before, first = known.setdefault((label.query_id, label.document, label.labeller), (location, label))
        if first.relevant is not label.relevant:
            pair = f"{shown(label.document)} of {shown(label.query_id)}"
            log.note(replace(location, key="relevant"), f"{pair} has another label on line {before.line}; keep one")
    log.raise_if_any()
    return tuple(label for _, label in known.values())


def read_traffic_sheets(path: str) -> tuple[TrafficSheet, ...]:
    """The sheets from which the labels of such a file came, as far as it says; a RankgateError names what is none."""
    if not Path(path).exists():
        return ()
    log = ProblemLog()
    return tuple(sheet for _, sheet in _read(path, _sheet_if_any, log) if sheet is not None)


def _sheet_if_any(record: Mapping[str, Any]) -> TrafficSheet | None:
    try:
        return msgspec.convert(record["sheet"], TrafficSheet) if record.keys() == {"sheet"} else None
    except msgspec.ValidationError as error:
        raise KeyedError(f"{error}; merge the sheet again, or remove the line", "sheet") from error


def _label_if_any(record: Mapping[str, Any]) -> TrafficLabel | None:
    return None if record.keys() == {"sheet"} else _label(record)


def _read(path: str, convert: Callable[[Mapping[str, Any]], T], log: ProblemLog) -> Iterator[tuple[Problem, T]]:
    with open_source(path) as source, records_of(source, log) as records:
        for location, record in objects_in(records, "an object with query_id", log):
            try:
                yield location, convert(record)
            except KeyedError as error:
                log.note(location, error)
    log.raise_if_any()


def _question(record: Mapping[str, Any]) -> TrafficQuestion:
    text = record.get("question")
    if not isinstance(text, str) or not text.strip():
        what = "no text" if text is None or text == "" else f"no text, but {shown(text)}"
        raise KeyedError(f"{what}; write the question here{_instead('question', record, _QUESTION_KEYS)}", "question")
    return TrafficQuestion(
        query_id=_id(record, "query_id", _QUESTION_KEYS),
        question=text,
        tags=_tags(record.get("tags")),
        count=_count(record.get("count")),
    )


def _label(record: Mapping[str, Any]) -> TrafficLabel:
    answer = record.get("relevant")
    word = str(answer).strip().casefold()
    if word not in _YES | _NO:
        raise KeyedError(f"expected true or false, found {shown(answer)}", "relevant")
    labeller = record.get("labeller")
    return TrafficLabel(
        query_id=_id(record, "query_id", _LABEL_KEYS),
        document=_id(record, "document", _LABEL_KEYS),
        relevant=word in _YES,
        labeller=str(labeller) if labeller not in (None, "") else None,
    )


def _id(record: Mapping[str, Any], key: str, known: tuple[str, ...]) -> str:
    if record.get(key) in (None, ""):
        raise KeyedError(f"no id; write it here{_instead(key, record, known)}", key)
    try:
        return id_of(record[key], key)
    except ValueError as error:
        raise KeyedError(f"expected an id, found {shown(record[key])}", key) from error


def _instead(key: str, record: Mapping[str, Any], known: tuple[str, ...]) -> str:
    """What the key may have been written as."""
    others = [name for name in record if name not in known]
    return did_you_mean(key, others) if key not in record and others else ""


def _count(written: object) -> float:
    if written in (None, ""):
        return 1.0
    number = None if isinstance(written, bool) else finite_number(str(written).strip())
    if number is None or not math.isfinite(number) or number <= 0:
        raise KeyedError(f"expected how often it is asked, a number above 0, found {shown(written)}", "count")
    return number


def _tags(written: object) -> tuple[str, ...]:
    """A list of texts; in a table one text, with `;` between tags."""
    if written in (None, ""):
        return ()
    listed = re.split(r"\s*;\s*", written.strip()) if isinstance(written, str) else written
    if not isinstance(listed, list) or not all(isinstance(tag, str) and tag for tag in listed):
        raise KeyedError(f"expected a list of texts such as lang:th, found {shown(written)}", "tags")
    return tuple(dict.fromkeys(listed))
