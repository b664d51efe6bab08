"""The sheet on which people say which documents are relevant, without knowing whose they are, and what comes back.

Filled sheets are merged into the file of labels.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rankgate.collecting.sheets import as_json_lines, as_sheet
from rankgate.collecting.sheets import rows_of as rows_in
from rankgate.collecting.traffic import Known
from rankgate.errors import Problem, shown
from rankgate.model.traffic_lists import TrafficLabel, TrafficPair, TrafficSheet
from rankgate.readers.base import ProblemLog, finite_number
from rankgate.readers.source import open_source
from rankgate.statistics.calibration import kappa

_COLUMNS = ("query_id", "question", "document", "text", "relevant", "labeller", "row")
_NEEDED = ("query_id", "document", "relevant")
_WANTED = f"a sheet of `gold pool --traffic` is JSONL, or CSV whose header names {', '.join(_NEEDED)} once each"
_HEAD = re.compile(r"sheet of (\d+) for run ([0-9a-f]{16}), baseline ([0-9a-f]{16})")
_YES = frozenset({"yes", "y", "true", "x", "relevant", "one", "ja", "oui", "si", "sí", "да", "はい"})
_NO = frozenset({"no", "n", "false", "not relevant", "irrelevant", "zero", "nein", "non", "нет", "いいえ"})


class SheetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A document to label for a question."""

    query_id: str
    question: str
    document: str
    text: str | None

    @property
    def key(self) -> str:
        """By which a row is known again whose ids a spreadsheet has changed."""
        return _key(self.query_id, self.document)


class FilledSheet(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: the labels by line, how many rows nobody has filled, and the sheet as its head names it."""

    name: str
    labels: Mapping[int, TrafficLabel]
    blank: int
    sheet: TrafficSheet | None


def rows_of(
    pairs: Iterable[TrafficPair],
    known: Mapping[str, Sequence[Known]],
    texts: Mapping[str, str],
    *,
    shared: bool,
) -> tuple[SheetRow, ...]:
    """The documents of these questions that nobody has labelled, of each question in the order of a hash.

    Those that both lists have are among them where they are `shared`. A question shows texts where all of its documents
    have one: otherwise their lack would tell whose they are.
    """
    rows: list[SheetRow] = []
    for pair in pairs:
        question = pair.question
        labelled = {document for person in known.get(question.query_id, ()) for document in person}
        documents = {*pair.before, *pair.now} if shared else pair.needed
        ordered = sorted(documents - labelled, key=lambda document: _key(question.query_id, document))
        stated = [texts.get(document) for document in ordered]
        for document, text in zip(ordered, stated, strict=True):
            shows = text if all(stated) else None
            rows.append(SheetRow(query_id=question.query_id, question=question.question, document=document, text=shows))
    return tuple(rows)


def as_csv(rows: Iterable[SheetRow], sheet: TrafficSheet) -> str:
    """CSV for spreadsheets; the head stands in the name of a column, where no sorting moves it."""
    names = [f"relevant (1 or 0; {head_of(sheet)})" if name == "relevant" else name for name in _COLUMNS]
    return as_sheet(names, ([row.query_id, row.question, row.document, row.text, "", "", row.key] for row in rows))


def as_jsonl(rows: Iterable[SheetRow], sheet: TrafficSheet) -> str:
    """One JSON object a line, after one that is the head."""
    lines: list[dict[str, Any]] = [{"head": head_of(sheet)}]
    lines += [{**msgspec.structs.asdict(row), "relevant": None, "labeller": None, "row": row.key} for row in rows]
    return as_json_lines(lines)


# By the suffix of the file to write.
SHEET_FORMS: dict[str, Callable[[Iterable[SheetRow], TrafficSheet], str]] = {".jsonl": as_jsonl, ".csv": as_csv}


def read_sheet(path: str, log: ProblemLog, pairs: Iterable[TrafficPair] = ()) -> FilledSheet:
    """The labels of a sheet, JSONL or CSV as its content says; a row without `labeller` has the file's name for one.

    A row without a word in `relevant` is only counted. An id that a spreadsheet has changed is taken from these pairs,
    where they have the row, and else a problem.
    """
    rows: dict[str, tuple[str, str]] = {}
    for pair in pairs:
        query_id = pair.question.query_id
        rows |= {_key(query_id, document): (query_id, document) for document in (*pair.before, *pair.now)}
    labels: dict[int, TrafficLabel] = {}
    blank = 0
    with open_source(path) as source:
        head = source.head.decode("utf-8", "replace").partition("\n")[0]
        name = Path(path).stem
        for line, row in rows_in(source, log, _NEEDED, _WANTED):
            if row.keys() == {"head"}:
                continue
            try:
                label = _label(row, rows, name)
            except ValueError as error:
                log.add(Problem(str(error), source.name, line))
                continue
            blank += label is None
            labels |= {line: label} if label else {}
        return FilledSheet(name=source.name, labels=labels, blank=blank, sheet=_sheet_in(head))


def head_of(sheet: TrafficSheet) -> str:
    """The head, by which a sheet is known again."""
    return f"sheet of {sheet.n} for run {sheet.run}, baseline {sheet.baseline}"


def _sheet_in(head: str) -> TrafficSheet | None:
    match = _HEAD.search(head)
    return TrafficSheet(n=int(match[1]), run=match[2], baseline=match[3]) if match else None


def _key(query_id: str, document: str) -> str:
    digest = hashlib.sha256(f"{query_id}\0{document}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"r{digest[:12]}"  # no spreadsheet takes it for a number


def _label(row: Mapping[str, Any], rows: Mapping[str, tuple[str, str]], name: str) -> TrafficLabel | None:
    missing = [key for key in _NEEDED if key not in row]
    if missing:
        raise ValueError(f"no {missing[0]}; a row of a sheet has {', '.join(_NEEDED)}")
    answer = _answer(row["relevant"])
    if answer is None:
        return None
    query_id = str(row["query_id"])
    document = str(row["document"])
    key = str(row.get("row") or "")
    if key and key != _key(query_id, document):
        if key not in rows:
            ids = f"{shown(query_id)} and {shown(document)}"
            raise ValueError(f"{ids} are not the ids that were written here; let the spreadsheet import ids as text")
        query_id, document = rows[key]
    labeller = str(row.get("labeller") or "").strip() or name
    return TrafficLabel(query_id=query_id, document=document, relevant=answer, labeller=labeller)


def _answer(written: object) -> bool | None:
    """What a cell says: a number above 0, or a word; None where it says nothing."""
    text = "" if written is None else unicodedata.normalize("NFKC", str(written)).strip().casefold()
    number = finite_number(text.replace(",", "."))
    if not text or number is not None:
        return None if not text else bool(number and number > 0)
    if text not in _YES | _NO:
        raise ValueError(f"relevant: expected 1 or 0, yes or no, or nothing, found {shown(written)}")
    return text in _YES


class MergedLabels(msgspec.Struct, frozen=True, kw_only=True):
    """What sheets add to known labels.

    `differ` are the documents, each with its question, on which people differ, among `shared` labels that two of them
    gave of one document; `agreement` is Cohen's kappa of these, None where there are none, or no word but one.
    """

    labels: tuple[TrafficLabel, ...]
    sheets: tuple[TrafficSheet, ...]
    known: int
    problems: tuple[Problem, ...]
    differ: tuple[tuple[str, str], ...]
    shared: int
    agreement: float | None


def merge_sheets(
    known: Iterable[TrafficLabel], drawn: Sequence[TrafficSheet], filled: Iterable[FilledSheet]
) -> MergedLabels:
    """The new labels in the order of the sheets; it is a problem where one person says both of a document."""
    by_person = {(label.query_id, label.document, label.labeller): label for label in known}
    new: list[TrafficLabel] = []
    sheets: list[TrafficSheet] = []
    problems: list[Problem] = []
    repeated = 0
    for sheet in filled:
        if sheet.sheet is not None and sheet.sheet not in (*drawn, *sheets):
            sheets.append(sheet.sheet)
        for line, label in sheet.labels.items():
            first = by_person.get((label.query_id, label.document, label.labeller))
            if first is None:
                by_person[label.query_id, label.document, label.labeller] = label
                new.append(label)
            elif first.relevant is label.relevant:
                repeated += 1
            else:
                what = f"{shown(label.document)} of {shown(label.query_id)}"
                message = f"{what} has the other label by {shown(label.labeller)} already; change one of them"
                problems.append(Problem(message, sheet.name, line, "relevant"))
    pairs = _pairs(by_person.values())
    return MergedLabels(
        labels=tuple(new),
        sheets=tuple(sheets),
        known=repeated,
        problems=tuple(problems),
        differ=tuple(dict.fromkeys(pair.document for pair in pairs if pair.first is not pair.second)),
        shared=len(pairs),
        agreement=kappa([(pair.first, pair.second) for pair in pairs]),
    )


def labels_text(merged: MergedLabels) -> str:
    """The lines to add: a line a sheet, then a line a label."""
    lines: list[dict[str, Any]] = [{"sheet": msgspec.structs.asdict(sheet)} for sheet in merged.sheets]
    lines += [msgspec.structs.asdict(label) for label in merged.labels]
    return as_json_lines(lines)


class _LabelPair(NamedTuple):
    """A document with its question's id, and whether two people, in the order of names, say that it is relevant."""

    document: tuple[str, str]
    first: bool
    second: bool


def _pairs(labels: Iterable[TrafficLabel]) -> list[_LabelPair]:
    """The labels of each two people of a document that several labelled."""
    by_document: dict[tuple[str, str], dict[str, bool]] = {}
    for label in labels:
        by_document.setdefault((label.query_id, label.document), {})[label.labeller or ""] = label.relevant
    return [
        _LabelPair(document, persons[one], persons[other])
        for document, persons in by_document.items()
        for one, other in combinations(sorted(persons), 2)
    ]
