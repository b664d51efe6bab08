"""The map of `inputs: {run: {map: …}}`: which key or column of the user's own file holds what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal

import msgspec

from rankgate.errors import Problem, did_you_mean, shown
from rankgate.model.values import Need
from rankgate.readers.run_shapes import ANSWER_KEYS

_DEEPEST = 3
_MAX_NAMES = 20


class FieldMap(msgspec.Struct, frozen=True, kw_only=True):
    """Names of keys or columns, as the file writes them; dots, as in _source.id, reach into nested objects."""

    query_id: str
    items: str | None = None
    chunk_id: str | None = None
    score: str | None = None
    order: Literal["ascending", "descending"] | None = None
    rank: str | None = None
    text: str | None = None
    doc_id: str | None = None
    doc_version: str | None = None
    start: str | None = None
    end: str | None = None
    latency_ms: str | None = None
    answer: str | None = None
    citations: str | None = None
    context: str | None = None
    context_texts: str | None = None
    abstained: str | None = None

    def problem(self) -> tuple[str, str] | None:
        """What the map lacks, as (key, message); None where it can be read by."""
        if self.items is None and self.chunk_id is None:
            return "chunk_id", "is missing: without `items` each row is one result, and this is its id"
        if self.items is None and self.score is None and self.rank is None:
            return "score", "is missing: without `items` each row is one result, and score or rank must order them"
        if self.order is not None and self.score is None:
            return "order", "says which score is best, and the map names no `score`"
        if self.items is None and self.rank is None and self.order is None and "dist" in (self.score or "").lower():
            return "score", "is a distance by its name; add `order: ascending`, or `descending` if the highest is best"
        of_query = next((key for key in ANSWER_KEYS if getattr(self, key) is not None), None)
        if self.items is None and of_query is not None:
            return of_query, "is of a query, and without `items` each row is one result; map `items`, or leave it out"
        return None

    @property
    def sign(self) -> int:
        """By which a score is multiplied, so that the highest is best."""
        return -1 if self.order == "ascending" else 1


NAMES = tuple(key for key in FieldMap.__struct_fields__ if key != "order")  # what the map names in the file
# What is read only where a metric needs it; the rest always.
_NEEDED = {"text": {Need.TEXTS, Need.OFFSETS}, "doc_id": {Need.DOCS, Need.OFFSETS}, "doc_version": {Need.VERSIONS}}
_NEEDED |= {"start": {Need.OFFSETS}, "end": {Need.OFFSETS}, "latency_ms": {Need.LATENCY}}
_NEEDED |= {key: {Need.ANSWER} for key in ANSWER_KEYS}


def needed(key: str, needs: frozenset[Need]) -> bool:
    """Whether what the map names under this key is read for these needs."""
    return key not in _NEEDED or not needs.isdisjoint(_NEEDED[key])


class MissingNameError(ValueError):
    """An object or a table lacks what the map names under `key`."""

    def __init__(self, key: str, name: str, where: str, found: Iterable[str]) -> None:
        known = list(islice(found, _MAX_NAMES + 1))
        listed = ", ".join(map(shown, known[:_MAX_NAMES])) + (", …" if len(known) > _MAX_NAMES else "")
        near = did_you_mean(name, known)
        super().__init__(f"{where} has no {shown(name)}{near} (found: {listed or 'nothing'})")
        self.key = key

    def at(self, place: Problem) -> Problem:
        """The problem to report."""
        return Problem(str(self), place.file, place.line, f"map.{self.key}")


class Finder:
    """Looks up what a map names, as far as metrics need it, and remembers what was missed; `place` is set by its user.

    Every name is reported once: of those that each object must have, the first object that lacks it; of the others,
    only where no object had it.
    """

    def __init__(self, fields: FieldMap, needs: frozenset[Need]) -> None:
        self.fields = fields
        self.needs = needs
        named = ((key, getattr(fields, key)) for key in NAMES if needed(key, needs))
        self._names: dict[str, str] = {key: name for key, name in named if name is not None}
        self._found: set[str] = set()
        self._lacking: dict[str, Problem] = {}
        self._missed: dict[str, Problem] = {}
        self.place = Problem("")

    def names(self, key: str) -> bool:
        """Whether the map names this, and something needs it."""
        return key in self._names

    def required(self, key: str, record: Any, where: str) -> Any:
        """The value that the map names under this key; a MissingNameError where the object `where` lacks it."""
        value = look_up(record, self._names[key])
        if value is MISSING:
            raise MissingNameError(key, self._names[key], where, names_of(record))
        return value

    def optional(self, key: str, record: Any) -> Any:
        """The value that the map names under this key; None where the map or the object has none."""
        name = self._names.get(key)
        if name is None:
            return None
        value = look_up(record, name)
        if value is not MISSING:
            self._found.add(key)
            return value
        if key not in self._found and key not in self._lacking:
            error = MissingNameError(key, name, "the first object, like all others,", names_of(record))
            self._lacking[key] = error.at(self.place)
        return None

    def miss(self, error: MissingNameError) -> None:
        """Remember what an object lacked."""
        self._missed.setdefault(error.key, error.at(self.place))

    def problems(self) -> list[Problem]:
        """What was missed, to be reported when all was read."""
        never = [problem for key, problem in self._lacking.items() if key not in self._found]
        return [*self._missed.values(), *never]


MISSING = object()  # in place of what a record does not have; null is a value


def look_up(record: Any, name: str) -> Any:
    """The value under a name, dots reaching into nested objects; `MISSING` where it is not there."""
    if not isinstance(record, Mapping):
        return MISSING
    if name in record:
        return record[name]
    begins, dot, rest = name.partition(".")
    while dot:
        if begins in record:
            value = look_up(record[begins], rest)
            if value is not MISSING:
                return value
        more, dot, rest = rest.partition(".")
        begins = f"{begins}.{more}"
    return MISSING


def names_of(record: Any, depth: int = _DEEPEST) -> Iterator[str]:
    """The names by which a record's values can be looked up, nested ones with dots."""
    for key, value in record.items() if isinstance(record, Mapping) else ():
        yield str(key)
        if depth > 1:
            yield from (f"{key}.{inner}" for inner in names_of(value, depth - 1))
