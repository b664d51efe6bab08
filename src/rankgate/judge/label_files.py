"""Samples and people's labels as files, and labels in a sheet.

A label is a line of its own, appended and on the disk before the next one, so that nothing is lost and several people
may write to one file. It belongs to the content of an item, so that it counts in every sample that has the item.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rankgate.collecting.sheets import as_sheet, exact, sheet_rows
from rankgate.errors import Problem, bad_input, shown
from rankgate.judge.model import canonical, digest
from rankgate.judge.sample import Design, Item, Labelled
from rankgate.readers.base import ProblemLog, line_json, whole_number
from rankgate.readers.json_text import explain, source_json, spoken
from rankgate.readers.source import open_source

T = TypeVar("T")
LabelKey = tuple[str, str, int]  # who, the item's key, n
# What people say, by the key that they press.
WORDS: Mapping[Labelled, Mapping[str, str]] = {
    Labelled.ANSWER: {"y": "asserts", "n": "abstained"},
    Labelled.CLAIM: {"s": "supported", "c": "contradicted", "a": "absent"},
    Labelled.RUBRIC: {"y": "yes", "n": "no"},
}
# What else a cell of a sheet may say, with the words that it may mean.
_WORDS_TOO: Mapping[Labelled, Mapping[str, list[str]]] = {
    Labelled.ANSWER: {"yes": ["asserts"], "no": ["abstained"]},
    Labelled.CLAIM: {"yes": ["supported"], "no": ["contradicted", "absent"]},
    Labelled.RUBRIC: {},
}
_WHOLE = "Does the answer state anything? asserts, or abstained (a refusal, a question back)"
_CHOICES = {kind: f"of {kind.value}: {', '.join(words.values())}" for kind, words in WORDS.items()}
_COLUMNS = ("query_id", "n", "question", "answer", "passages", "claim")
_NEEDED = ("n", "claim", "verdict", "key")
_SHEET = f"a sheet of labels is CSV whose header names {', '.join(_NEEDED)} once each"
_LONGEST = 32_000  # characters of a cell; Excel holds 32,767


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a person says of statement `n` of an item, with n = 0 of its answer; `verdict` None takes it back."""

    query_id: str
    key: str
    n: int
    claim: str
    verdict: str | None
    by: str

    def __post_init__(self) -> None:
        kinds = [Labelled.CLAIM, Labelled.RUBRIC] if self.n else [Labelled.ANSWER]
        words = [word for kind in kinds for word in WORDS[kind].values()]
        if self.n < 0 or not self.by.strip():
            raise ValueError("n is below 0, or by names nobody")
        if self.verdict is not None and self.verdict not in words:
            raise ValueError(f"verdict: expected {', '.join(words)} or null, found {shown(self.verdict)}")

    @property
    def label_key(self) -> LabelKey:
        """Who, on what."""
        return (self.by, self.key, self.n)


Labels = Mapping[LabelKey, Label]


def meant_by(cell: str, kind: Labelled) -> list[str]:
    """The words that a cell may mean, in any case and by the letters that they begin with."""
    plain = unicodedata.normalize("NFKC", cell).strip().casefold()
    choices = {**{word: [word] for word in WORDS[kind].values()}, **_WORDS_TOO[kind]}
    return [word for name, words in choices.items() if name.startswith(plain) for word in words]


def label_of(item: Item, n: int, verdict: str | None, by: str) -> Label:
    """A label on statement `n` of an item."""
    return Label(item.query_id, item.key, n, item.statements[n], verdict, by)


def name_key(by: str) -> str:
    """What the spellings of a person's name have in common."""
    return unicodedata.normalize("NFKC", by).strip().casefold()


def sample_text(items: Iterable[Item]) -> bytes:
    """A line an item."""
    return b"".join(canonical({**item.content, "key": item.key}) + b"\n" for item in items)


def read_sample(path: str) -> tuple[Item, ...]:
    """The items of a sample; a RankgateError names each line that is none, or has another content than its key says."""

    def item_of(value: Any) -> Item:
        key = value.pop("key", None) if isinstance(value, dict) else None
        item = msgspec.convert(value, Item)
        if item.key != key:
            raise ValueError("key: is that of another content; take the line as `rankgate judge sample` wrote it")
        return item

    return tuple(dict.fromkeys(_lines(path, item_of)))


def design_beside(sample: str) -> str:
    """Where it is written how a sample was drawn."""
    return f"{sample.removesuffix('.jsonl')}.design.json"


def sheet_beside(sample: str) -> str:
    """Where the sheet of a sample is."""
    return f"{sample.removesuffix('.jsonl')}.csv"


def read_design(path: str, items: Iterable[Item]) -> Design:
    """How these items were drawn; a RankgateError where the file is damaged, or is of another sample."""
    advice = "take both files as `rankgate judge sample` wrote them"
    with open_source(path) as source:
        try:
            design = msgspec.convert(source_json(source), Design)
        except msgspec.ValidationError as error:
            raise bad_input(f"{spoken(error)}; {advice}", file=source.name) from error
        if design.sample != digest([item.key for item in items]):
            raise bad_input(f"is of another sample; {advice}", file=source.name, key="sample")
        if not 0 <= design.sampled <= len(design.units):
            raise bad_input(f"is not from 0 to the number of units; {advice}", file=source.name, key="sampled")
        return design


def read_labels(path: str, items: Iterable[Item] = ()) -> dict[LabelKey, Label]:
    """The labels of a file; of several by one person on one claim the last counts.

    A file that is not there, or empty, has none. Labels of other items than these are kept as they are.

    Raises:
        RankgateError: names each line that is no label, or is none of its item's claims.
    """
    known = {item.key: item for item in items}

    def checked(value: Any) -> Label:
        label = msgspec.convert(value, Label)
        item = known.get(label.key)
        if item and not (0 <= label.n < len(item.statements) and label.claim == item.statements[label.n]):
            raise ValueError(f"claim: is not claim {label.n} of this answer to {shown(label.query_id)}")
        words = WORDS[item.labelled(label.n)].values() if item else ()
        if item and label.verdict is not None and label.verdict not in words:
            raise ValueError(f"verdict: expected {', '.join(words)} or null, found {shown(label.verdict)}")
        return label

    labels = _lines(path, checked) if Path(path).exists() and Path(path).stat().st_size else []
    last: dict[LabelKey, Label] = {}
    for label in labels:
        last.pop(label.label_key, None)  # so that of several people the one who spoke last comes last
        last[label.label_key] = label
    return {key: label for key, label in last.items() if label.verdict is not None}


def add_labels(path: str, labels: Iterable[Label]) -> None:
    """Append labels, which are on the disk when this returns; a RankgateError where they cannot be written."""
    lines = b"".join(canonical(msgspec.to_builtins(label)) + b"\n" for label in labels)
    try:
        with Path(path).open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                lines = lines if file.read() == b"\n" else b"\n" + lines  # of a line that an editor left open
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise bad_input(f"cannot be written: {error.strerror}", file=path) from error


def label_sheet(items: Collection[Item]) -> str:
    """A row a label to give: first all on answers as a whole, then on claims and criteria.

    So nobody sees whether the judge found claims before having said whether there are any.
    """
    rows: list[list[str | int | None]] = []
    for (key, n), (item, claim) in _places(items).items():
        relevant = item.passages if item.labelled(n) is Labelled.CLAIM else ()  # a criterion is about the answer alone
        passages = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(relevant, start=1))
        texts = (_cut(text) for text in (item.question, item.answer, passages, claim))
        rows.append([item.query_id, n, *texts, None, key])
    kinds = [Labelled.ANSWER, Labelled.CLAIM]
    if any(item.rubrics for item in items):
        kinds.append(Labelled.RUBRIC)
    verdict = f"verdict ({'; '.join(_CHOICES[kind] for kind in kinds)})"
    return as_sheet((*_COLUMNS, verdict, "key"), rows)


def read_sheet(path: str, items: Iterable[Item], by: str) -> list[Label]:
    """The labels of a person from a sheet, whatever its order and its further columns; empty cells are none.

    A RankgateError names row and column of each that is wrong, stands twice, or is of another sample.
    """
    places = _places(items)
    first_rows: dict[tuple[str, int], int] = {}
    log = ProblemLog()
    labels: list[Label] = []
    with open_source(path) as source:
        for _, row, cells in sheet_rows(source, log, _NEEDED, _SHEET):
            try:
                label = _label_in(cells, row, places, first_rows, by)
            except _CellError as error:
                log.add(Problem(str(error), source.name, key=f"row {row}, {error.column}"))
            else:
                labels += [label] if label else []
    log.raise_if_any()
    return labels


class _CellError(ValueError):
    """What is wrong with a cell of a sheet."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


def _label_in(
    cells: Mapping[str, str],
    row: int,
    places: Mapping[tuple[str, int], tuple[Item, str]],
    first_rows: dict[tuple[str, int], int],
    by: str,
) -> Label | None:
    """The label of a row, whose number is noted; None where its verdict is empty, a `_CellError` where it is wrong."""
    key = cells.get("key", "").strip()
    n = whole_number(cells.get("n", "").strip())
    word = cells.get("verdict", "").strip()
    if n is None or (key, n) not in places:
        raise _CellError("key and n", "the sample has no such row")
    item, claim = places[key, n]
    first = first_rows.setdefault((key, n), row)
    if row != first:
        raise _CellError("key and n", f"these stand in row {first} already; remove one")
    if exact(cells.get("claim", "")).split() != _cut(claim).split():
        raise _CellError("claim", "is not that of this key and n; was a column sorted alone?")
    if not word:
        return None
    kind = item.labelled(n)
    meant = meant_by(word, kind)
    if not meant:
        raise _CellError("verdict", f"expected {', '.join(WORDS[kind].values())} or nothing, found {shown(word)}")
    if len(meant) > 1:
        raise _CellError("verdict", f"{shown(word)} may be {' or '.join(meant)}; write which")
    return label_of(item, n, meant[0], by)


def _places(items: Iterable[Item]) -> dict[tuple[str, int], tuple[Item, str]]:
    """What there is to label by key and number, each with its item and the words for it in a sheet."""
    every = [(n, item, claim) for item in items for n, claim in enumerate((_WHOLE, *item.statements[1:]))]
    return {(item.key, n): (item, claim) for n, item, claim in sorted(every, key=lambda each: each[0] > 0)}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (cut; the sample has all of it)"


def _lines(path: str, kind: Callable[[Any], T]) -> list[T]:
    values: list[T] = []
    log = ProblemLog()
    with open_source(path) as source:
        for number, line in source.lines():
            try:
                values.append(kind(line_json(line)))
            except (ValueError, RecursionError) as error:
                log.add(Problem(explain(line, error), source.name, number))
    log.raise_if_any()
    return values
