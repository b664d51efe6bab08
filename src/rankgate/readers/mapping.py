"""How records are read by a map, and how the columns of a table without one are recognised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from rankgate.errors import Problem, bad_input, did_you_mean, shown
from rankgate.model.values import RunField
from rankgate.readers.field_map import SYSTEM, FieldMap, Sets, named
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.strict_lines import ANSWER_KEYS

_DEEPEST = 3
_MAX_NAMES = 20
ROLES = {"query_id": "the query", "chunk_id": "the document's id", "score": "what orders", "gain": "the rating"}


def system_columns(names: Iterable[str], fields: FieldMap, known: Sets = SYSTEM) -> list[str]:
    """The columns that name, beside what the map reads, the system and the k that a row is of, or its rater."""
    mapped = named_in(fields).values()
    others = [name for name in names if name not in mapped]
    return [name for each in known for name in named([each], others)]


def usual_names(names: Sequence[str], roles: Mapping[str, Sets], kind: str, location: Problem) -> dict[str, str]:
    """The name for each role; a RankgateError says which is lacking or there twice, and the map to write."""
    candidates = {role: named(sets, names) for role, sets in roles.items()}
    for role, each in candidates.items():
        if len(each) != 1:
            what = f"{' and '.join(map(shown, each))} could both be" if each else "no usual name for"
            known = {key: one[0] if len(one) == 1 else None for key, one in candidates.items()}
            doubt = f"{what} {ROLES[role]} (found: {', '.join(map(shown, names[:_MAX_NAMES])) or 'nothing'})"
            values = kind == "run" and any("@" in name for name in names)
            advised = "values per query are judged by `check --run per_query:FILE`" if values else advice(known, kind)
            raise bad_input(f"{doubt}; {advised}", file=location.file, line=location.line, key=location.key)
    return {role: each[0] for role, each in candidates.items()}


def advice(known: Mapping[str, str | None], kind: str) -> str:
    """The map to write, with COLUMN where a name is not known; scores and frames have none."""
    if kind == "scores":
        return "call its column query_id"
    if kind == "frame":
        return f"rename its columns to {', '.join(known)}"
    plain = {key: name if re.fullmatch(r"\w[\w .-]*", name or "") else json.dumps(name) for key, name in known.items()}
    pairs = (f"{key}: {plain[key] if name else 'COLUMN'}" for key, name in known.items())
    return f"name them with `map: {{{', '.join(pairs)}}}` under inputs.{kind}, beside `path`"


def named_in(fields: FieldMap | None) -> dict[str, str]:
    """What a map names in a row of the file, by its keys."""
    stated = {} if fields is None else msgspec.structs.asdict(fields)
    return {key: name for key, name in stated.items() if name is not None and key not in ("order", "records", "tags")}


OF_ITEMS = ("score", "rank", "text", "doc_id", "doc_version", "start", "end")  # a result's, beside its id
OF_QUERIES = ("latency_ms", *ANSWER_KEYS)  # a query's, beside the list of results

# What is read only where a metric needs it; the rest always.
_NEEDED = {
    "text": {RunField.TEXTS, RunField.OFFSETS},
    "doc_id": {RunField.DOCS, RunField.OFFSETS},
    "doc_version": {RunField.VERSIONS},
}
_NEEDED |= {"start": {RunField.OFFSETS}, "end": {RunField.OFFSETS}, "latency_ms": {RunField.LATENCY}}
_NEEDED |= {key: {RunField.ANSWER} for key in ANSWER_KEYS}


def needed(key: str, needs: frozenset[RunField]) -> bool:
    """Whether what the map names under this key is read for these needs."""
    return key not in _NEEDED or not needs.isdisjoint(_NEEDED[key])


class MissingNameError(ValueError):
    """An object or a table lacks what the map names under `key`."""

    def __init__(self, key: str, name: str, where: str, names: Iterable[str]) -> None:
        known = list(islice(names, _MAX_NAMES + 1))
        listed = ", ".join(map(shown, known[:_MAX_NAMES])) + (", …" if len(known) > _MAX_NAMES else "")
        near = did_you_mean(name, known)
        super().__init__(f"{where} has no {shown(name)}{near} (found: {listed or 'nothing'})")
        self.key = key

    def at(self, location: Problem) -> Problem:
        """The problem to report."""
        where = f"{location.key}: " if location.key else ""
        return Problem(f"{where}{self}", location.file, location.line, f"map.{self.key}")


class Finder:
    """Looks up what a map names, as far as metrics need it, and remembers what was missed; its user sets `location`.

    Every name is reported once: of those that each object must have, the first object that lacks it; of the others,
    only where no object had it.
    """

    def __init__(self, fields: FieldMap, needs: frozenset[RunField]) -> None:
        self.fields = fields
        self.needs = needs
        self._names = {key: name for key, name in named_in(fields).items() if needed(key, needs)}
        self._found: set[str] = set()
        self._lacking: dict[str, Problem] = {}
        self._missed: dict[str, Problem] = {}
        self.location = Problem("")
        self._systems: list[str] | None = None

    def tags(self, record: Any, known: Sets = SYSTEM) -> list[tuple[str, str]]:
        """What the columns that name a row's system, or its rater, hold; which these are, the first object tells."""
        if self._systems is None:
            self._systems = system_columns(names_of(record), self.fields, known)
        if not self._systems:
            return []
        tags = ((name, look_up(record, name)) for name in self._systems)
        return [(name, str(tag)) for name, tag in tags if tag not in (None, "", MISSING)]

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
            self._lacking[key] = error.at(self.location)
        return None

    def know(self, keys: Iterable[str]) -> None:
        """Take what these keys of the map name for found."""
        self._found.update(keys)

    def miss(self, error: MissingNameError) -> None:
        """Remember what an object lacked."""
        self._missed.setdefault(error.key, error.at(self.location))

    def problems(self) -> list[Problem]:
        """What was missed, to be reported when all was read."""
        never = [problem for key, problem in self._lacking.items() if key not in self._found]
        return [*self._missed.values(), *never]


MISSING = object()  # in place of what a record does not have; null is a value


def look_up(record: Any, name: str) -> Any:
    """The value under a name, else `MISSING`; dots reach into objects, also of a text that holds JSON, and lists."""
    record = unpacked(record)
    if isinstance(record, list):
        record = _attributes(record) or {str(position): entry for position, entry in enumerate(record)}
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


def _attributes(listed: Sequence[Any]) -> dict[str, Any]:
    """The attributes of a span by name, as OpenTelemetry writes them, in objects of `key` and `value`."""
    of_span = all(isinstance(each, Mapping) and each.keys() == {"key", "value"} for each in listed)
    return {str(each["key"]): _attribute(each["value"]) for each in listed} if of_span else {}


def _attribute(value: Any) -> Any:
    """The value of `{"stringValue": …}` and its like."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    [(kind, inner)] = value.items()
    entries = inner.get("values", []) if isinstance(inner, Mapping) else inner
    if kind in ("arrayValue", "kvlistValue") and isinstance(entries, list):
        return [_attribute(each) for each in entries] if kind == "arrayValue" else _attributes(entries)
    return inner if kind.endswith("Value") else value


def look_through(record: Any, name: str) -> Any:
    """The same, also where lists lie on the way: then what their entries have, in one list.

    Each has the keys of the entries around it too, as of a group of queries that has one list of judgments.
    """
    value = look_up(record, name)
    if value is not MISSING or not isinstance(record, list | Mapping):
        return value
    if isinstance(record, list):
        inner = [(entry, each) for entry in record if (each := look_through(entry, name)) is not MISSING]
        return [_within(entry, each) for entry, all_of in inner for each in _as_list(all_of)] or MISSING
    parts = name.split(".")
    heads = (".".join(parts[:count]) for count in range(1, len(parts)))
    head = next((each for each in heads if each in record), None)
    return MISSING if head is None else look_through(unpacked(record[head]), name[len(head) + 1 :])


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _within(entry: Any, inner: Any) -> Any:
    return {**entry, **inner} if isinstance(entry, Mapping) and isinstance(inner, Mapping) else inner


def unpacked(value: Any) -> Any:
    """What a text holds as a JSON object or list; any other value as it is."""
    return _json_in(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value


@lru_cache(maxsize=8)  # a record's text is looked into once for every name
def _json_in(text: str) -> Any:
    try:
        return strict_json(text)
    except JsonError:
        return text


def names_of(record: Any, depth: int = _DEEPEST) -> Iterator[str]:
    """The names by which a record's values can be looked up, nested ones with dots."""
    record = unpacked(record)
    for key, value in record.items() if isinstance(record, Mapping) else ():
        yield str(key)
        if depth > 1:
            yield from (f"{key}.{inner}" for inner in names_of(value, depth - 1))
