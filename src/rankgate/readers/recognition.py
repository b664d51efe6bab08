"""What a format is: how it is recognised by the beginning of a file, how it is read, and how it is described."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from itertools import zip_longest
from typing import Any, BinaryIO

import msgspec

from rankgate.errors import shown
from rankgate.model.values import Ranking, RunField, Sample
from rankgate.readers.base import ProblemLog, whole_number
from rankgate.readers.field_map import DOC, QUERY, named
from rankgate.readers.source import Source

# The keys of the contract's lines: the list of results, and what else only a run's line has; and a sample's.
LISTS = frozenset({"topk", "retrieved", "actual_output", "actualOutput"})
ORDERS = frozenset({"score", "rank"})  # of a result in a row of its own
LINE_KEYS = LISTS | {"query_id"}
SAMPLE_KEYS = frozenset({"samples", "expected_output"})
RAGAS_QUESTION = "user_input"
RAGAS_RETRIEVED = ("retrieved_context_ids", "retrieved_contexts")
RAGAS_REFERENCE = ("reference_context_ids", "reference_contexts")

SEPARATORS = "\t,;"
SEP = re.compile(rb'\A\s*"?sep=(.)"?\r?\n')  # how a spreadsheet states it, above the header
_ENOUGH = 1 << 20  # bytes of a file of one endless line to look at
_MSMARCO_COLUMNS, _QRELS_COLUMNS, _TREC_COLUMNS = 3, 4, 6
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'  # nothing is possessive (`*+`): Python before 3.11.5 matches that wrongly
# The first query of {query: {document: number}} that has a document; queries before it may have none.
_FIRST_SCORES = (
    rf"\s*\{{\s*(?:{_STRING}\s*:\s*\{{\s*\}}\s*,\s*)*(?P<query>{_STRING})\s*:\s*"
    rf"(?P<scores>\{{\s*(?:{_STRING}\s*:\s*[-\w.+]+\s*,\s*)*{_STRING}\s*:\s*[-\w.+]+\s*\}})"
)
_ENDS = (b"}", b"]", b",", b"{", b"[")  # how a line of JSON ends
_FIRST_KEY = rf"\s*\{{\s*({_STRING})"

# What a file is that begins so, and what to write in its place.
_BINARY = {
    b"ARROW1": "an Arrow or Feather file; write Parquet",
    b"PK\x03\x04": "a spreadsheet or a zip; save the sheet as CSV, or unpack it",
    b"\x80\x04\x95": "a pickle; write Parquet or JSON",
    b"\x80\x05\x95": "a pickle; write Parquet or JSON",
    b"SQLite format 3": "a database; write the table as CSV",
    b"\x04\x22\x4d\x18": "compressed by lz4; write JSON, or compress by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it, or compress by gzip",
    b"\x1f\x8b": "compressed twice; unpack it once",
    b"BZh": "compressed by bzip2; unpack it, or compress by gzip",
    b"\xfd7zXZ": "compressed by xz; unpack it, or compress by gzip",
}
# The keys of a data frame as one JSON object, which pandas writes unless it is told otherwise.
_FRAMES = ({"columns", "data"}, {"schema", "data"})


class Likeness(Enum):
    """Whether a file has a format: no, perhaps (if no other format is sure of it), or surely."""

    NO = 0
    MAYBE = 1
    YES = 2

    @staticmethod
    def sure(holds: object) -> Likeness:
        """Yes or no."""
        return Likeness.YES if holds else Likeness.NO


# A text says why the file cannot be read so, although nothing else looks like it.
Recognised = Likeness | str


class Beginning:
    """The beginning of a file of which a gold set is wanted, or a run; each property is worked out once."""

    def __init__(self, head: bytes, *, gold: bool) -> None:
        self.gold = gold
        self.rows = SEP.sub(b"", head)
        self.head = self.rows.lstrip()
        self.line = self.head.partition(b"\n")[0]
        self.columns = self.line.split()

    @cached_property
    def json(self) -> str:
        """`{` or `[` where the file is JSON, else nothing: a row of columns may begin with a query that looks so."""
        if self.gold:
            row = len(self.columns) == _QRELS_COLUMNS and _is_whole(self.columns[-1])
        else:
            row = self.is_msmarco or self.is_trec
        return "" if row or self.head[:1] not in (b"{", b"[") else self.head[:1].decode()

    @cached_property
    def is_trec(self) -> bool:
        """Whether the first row has the columns of a TREC run, with the `Q0` that is usual there, or more of them."""
        if self.head[:1] in (b"{", b"[") and self.line.rstrip().endswith(_ENDS):
            return False
        return len(self.columns) >= _TREC_COLUMNS and self.columns[1].upper() == b"Q0"

    @cached_property
    def is_msmarco(self) -> bool:
        """Whether the first row is `query document rank`."""
        parts = self.line.rstrip(b"\r\n").split(b"\t") if b"\t" in self.line else self.columns
        return len(parts) == _MSMARCO_COLUMNS and parts[0] != b"-" and _is_whole(parts[-1])

    @cached_property
    def content(self) -> bytes:
        """The first line that is neither blank nor a comment; nothing where there is none."""
        lines = (line for line in self.head.split(b"\n") if line.strip() and not line.startswith(b"#"))
        return next(lines, b"")

    @cached_property
    def header(self) -> list[str]:
        """The cells of the first row, plain, as well as can be told."""
        return [plain(cell.strip().strip('"')) for cell in first_row(self.rows).split(separator_of(self.rows))]

    def has_whole_numbers(self, column: str) -> bool:
        """Whether the first rows below the header have whole numbers in a column, as gains are and scores are not."""
        rows = self.rows[:_ENOUGH].decode("utf-8", "replace").splitlines()[1:20]
        at = self.header.index(column) - len(self.header)  # from the end: an id before it may be quoted
        cells = [row.split(separator_of(self.rows)) for row in rows[:-1] or rows if row.strip()]
        texts = [row[at].strip('"\r ') if len(row) >= -at else "" for row in cells]
        return all(whole_number(text) is not None and (self.gold or "." not in text) for text in texts)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the first line, or of a list's first entry, where that is an object of its own, else none."""
        return frozenset(self._first_object)

    @property
    def names(self) -> list[str]:
        """The keys of the first object in their order, or the columns of the first row."""
        return [*self._first_object] if self.json else self.header

    @cached_property
    def first_cells(self) -> dict[str, Any]:
        """The first object, or the first row below the header, by its columns as they are written."""
        if self.json:
            return self._first_object
        rows = [row for row in self.rows[:_ENOUGH].decode("utf-8", "replace").splitlines() if row.strip()]
        separator = separator_of(self.rows)
        header, first, *_ = [*rows, "", ""]
        names, cells = ([cell.strip().strip('"') for cell in row.split(separator)] for row in (header, first))
        return dict(zip_longest(names, cells[: len(names)], fillvalue=""))

    @cached_property
    def _first_object(self) -> dict[str, Any]:
        try:
            text = self._decoded[1:].lstrip() if self.json == "[" else self.line.decode("utf-8", "replace")
            first, end = json.JSONDecoder().raw_decode(text)  # which takes NaN
            alone = self.json == "[" or not text[end:].strip()
            return first if isinstance(first, dict) and alone else {}
        except (ValueError, RecursionError):
            return {}

    @cached_property
    def has_rows(self) -> bool:
        """Whether the first object is one result of a run: a query, a document, and what orders them."""
        names = self.keys if self.keys.isdisjoint({*LISTS, RAGAS_QUESTION}) else ()
        return bool({plain(name) for name in names} & ORDERS and named(QUERY, names) and named(DOC, names))

    @cached_property
    def first_key(self) -> str | None:
        """The first key of a JSON object, wherever its lines break."""
        match = re.match(_FIRST_KEY, self._decoded)
        return None if match is None else _text(match[1])

    @cached_property
    def first_scores(self) -> tuple[str, Mapping[str, float]]:
        """The first query of `{query: {document: number}}` with documents, and their numbers; nothing for another."""
        match = re.match(_FIRST_SCORES, self._decoded)
        try:
            scores = json.loads(match["scores"]) if match else {}
        except ValueError:
            return "", {}
        numbers = all(isinstance(score, int | float) and not isinstance(score, bool) for score in scores.values())
        return _text(match["query"]) if match else "", scores if numbers else {}

    @property
    def _decoded(self) -> str:
        return self.head[:_ENOUGH].decode("utf-8", "replace")

    def is_jsonl(self, keys: Iterable[str]) -> bool:
        """Whether the first line is an object of its own: closed, with one of these keys, or followed by one."""
        first = self.line.rstrip()
        if first.endswith((b"[", b"{", b",", b":")):
            return False
        followed = self.head[len(self.line) + 1 :].startswith(b"{")
        return followed or (first.endswith(b"}") and any(f'"{key}"'.encode() in first for key in keys))


def unreadable(start: Beginning) -> str:
    """What a file is that no format here is, with what to write in its place; nothing for any other."""
    binary = next((what for begins, what in _BINARY.items() if start.rows.startswith(begins)), "")
    if not binary and any(keys <= start.keys for keys in _FRAMES):
        return 'that is a data frame as one object; write rows: to_json(path, orient="records")'
    return binary and f"that is {binary}"


def of_two(start: Beginning) -> str:
    """Why a file of objects is read only once its format is named: by its keys it has two; nothing where it has one."""
    keys = start.keys
    contract_keys: Collection[str] = {"expected_output"} if start.gold else LISTS
    contract_key = min(keys.intersection(contract_keys), default="")
    ragas_key = min(keys.intersection(RAGAS_REFERENCE if start.gold else RAGAS_RETRIEVED), default="")
    other_name = "rows"
    other_key = ""
    if ragas_key and RAGAS_QUESTION in keys:
        other_name, other_key = "ragas", ragas_key
    elif keys & ORDERS and not start.gold:
        other_key = next(iter(named(DOC, keys - {"id"})), "")
    if not contract_key or not other_key:
        return ""
    name = "jsonl" if start.json == "{" else "json"
    choice = f"{name}:FILE or {other_name}:FILE, in the criteria by `format:`"
    return f"{shown(contract_key)} is read as {name} and {shown(other_key)} as {other_name}; say which by {choice}"


class _Format(msgspec.Struct, frozen=True, kw_only=True):
    """What gold sets and runs have in common.

    Attributes:
        recognise: whether a file has the format, by its beginning.
        shape: what it looks like, for the table of docs/formats.md.
        looks_like: the clause for an error where the other kind was wanted; nothing where such a file says so itself.
    """

    recognise: Callable[[Beginning], Recognised]
    shape: str
    looks_like: str = ""


class GoldFormat(_Format, frozen=True, kw_only=True):
    """A format of gold sets; `read` gives the samples by query, what is wrong goes into the log."""

    read: Callable[[Source, ProblemLog], dict[str, Sample]]


class RunFormat(_Format, frozen=True, kw_only=True):
    """A format of runs.

    Attributes:
        read: the rankings, with what metrics need beyond ids; what is wrong goes into the log.
        order: what orders the results, for the table of docs/formats.md.
        provenance: what the beginning says of the system behind the run.
        quick: reads the rankings from a file's bytes, what is needed beyond ids, and its size, as long as nothing is
            wrong with it. Any exception means that the file must be read carefully.
        by_line: whether every line is a whole query.
    """

    read: Callable[[Source, frozenset[RunField], ProblemLog], Iterator[Ranking]]
    order: str
    provenance: Callable[[Source], Mapping[str, Any]] = lambda _: {}
    quick: Callable[[BinaryIO, frozenset[RunField], int], Iterator[Ranking]] | None = None
    by_line: bool = False


def is_texts(value: object) -> bool:
    """Whether it is a list of texts, as ids of documents stand in a cell of JSON."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


def _is_whole(column: bytes) -> bool:
    return whole_number(column.decode("utf-8", "replace")) is not None


def _text(literal: str) -> str:
    try:
        return str(json.loads(literal))
    except ValueError:
        return literal


def plain(column: str) -> str:
    """A column's name without what does not tell it from others."""
    return column.strip().casefold()


def separator_of(head: bytes) -> str:
    """The sign that parts the first row into most cells; a comma where none does."""
    first = first_row(head)
    return max(SEPARATORS, key=first.count) if any(sign in first for sign in SEPARATORS) else ","


def first_row(head: bytes) -> str:
    """The first line that is not blank, as text; of an endless one its beginning."""
    return head.lstrip(b"\r\n")[:_ENOUGH].partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
