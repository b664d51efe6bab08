"""Runs as JSON read with care: lines of any accepted shape, lists of them, and every problem with its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from rankgate.errors import Problem, shown
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog, line_json
from rankgate.readers.field_map import SYSTEM, named
from rankgate.readers.json_text import RAGAS_CSV, JsonError, explain, infinite_score, spoken, strict_json
from rankgate.readers.recognition import LISTS
from rankgate.readers.rows import two_systems
from rankgate.readers.run_shapes import ONE_LIST, LooseLine, loose_shape, to_ranking
from rankgate.readers.source import Source
from rankgate.readers.strict_lines import REFUSED, Lines, stated_beside

_NESTED = ("retrieved", "topk")  # where an object holds the list
_NAMED = 20  # keys of a line
_DEEPEST = 4  # texts in texts
_Seen = dict[str, tuple[int, set[str | None]]]  # each query's first line, and which texts its lines state


class LooseLines:
    """Decodes lines of any accepted shape."""

    def __init__(self, lines: Lines, *, stored: bool = False) -> None:
        self._lines = lines
        self._shape = loose_shape(lines.needs, stored=stored)

    def decoded(self, line: bytes) -> LooseLine:
        """The line; a ValueError where it is no JSON, not UTF-8, or has a key twice."""
        line.decode()
        if (b"NaN" in line or b"Infinity" in line) and (culprit := infinite_score(line)):
            raise ValueError(culprit)
        looked_through = self._lines.looked_through(line)
        return loose_line(line_json(line, missing=True) if looked_through else msgspec.json.decode(line), self._shape)

    def ranking(self, line: bytes) -> Ranking:
        """The ranking of a line; a ValueError where it has none."""
        loose = self.decoded(line)
        return to_ranking(loose, loose.written_id(), self._lines.needs)


def read_jsonl(
    source: Source, needs: frozenset[RunField], log: ProblemLog, *, stored: bool = False
) -> Iterator[Ranking]:
    """Rankings from JSONL, one line a query. Lines in the usual shape are settled at once, all others looked into.

    Verdicts are read of a `stored` run alone, and lines of the traffic where they are needed; the gold set may have the
    same question.
    """
    lines = Lines(needs)
    loosely = LooseLines(lines, stored=stored)
    seen_by_kind: tuple[_Seen, _Seen] = ({}, {})  # of the gold set, and of the traffic
    for number, line in source.lines():
        strict = lines.strict(line)
        if strict is not None:
            if strict.traffic and not lines.traffic:
                continue
            seen = seen_by_kind[strict.traffic]
            if strict.query_id not in seen:
                seen[strict.query_id] = (number, {strict.question_digest})
                yield strict
                continue
        location = Problem("", source.name, number)
        try:
            loose = loosely.decoded(line)
        except REFUSED as error:
            log.note(location, explain(line, error, missing=True))
            continue
        is_traffic = loose.traffic is True
        if is_traffic and not lines.traffic:
            continue
        seen = seen_by_kind[is_traffic]
        query_id = str(loose.id if loose.query_id is None else loose.query_id)
        first = seen[query_id][0] if query_id in seen else 0
        systems = _two_systems(source.head, first, line)
        if systems:
            log.note(location, two_systems(query_id, (systems.first, systems.second), systems.key, first))
            log.raise_if_any()  # the whole file is like that
        ranking = _checked(loose, lines.needs, seen, number, location, log)
        if ranking is not None:
            yield ranking
    log.raise_if_any()


class _TwoSystems(NamedTuple):
    """The systems that two lines of a query name, and under which key."""

    first: str
    second: str
    key: str


def _two_systems(head: bytes, first: int, line: bytes) -> _TwoSystems | None:
    """The systems of the line number `first`, as far as the file's `head` has it, and of another line of its query.

    None where they are the same, either names none, or there is no such line (0).
    """
    lines = head.split(b"\n", first) if first else []
    one = stated_beside(lines[first - 1] if len(lines) > first else b"")
    other = stated_beside(line) if one else {}
    for names in SYSTEM:
        for key in named([names], one):
            if key in other and one[key] != other[key]:
                return _TwoSystems(one[key][1], other[key][1], key)
    return None


def read_document(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from one JSON value: a list of line objects, one line object, or `{query id: [ids]}`."""
    entries = enumerate(_entries(source, log))
    lines = ((number, Problem("", source.name, None, key), entry) for number, (key, entry) in entries)
    return rankings_of(lines, needs, log)


def rankings_of(
    lines: Iterable[tuple[int, Problem, object]], needs: frozenset[RunField], log: ProblemLog
) -> Iterator[Ranking]:
    """Rankings from lines of any accepted shape as plain values, each after its number and its place."""
    traffic = RunField.TRAFFIC in needs
    needs = needs - {RunField.TRAFFIC}
    shape = loose_shape(needs)
    seen_by_kind: tuple[_Seen, _Seen] = ({}, {})  # of the gold set, and of the traffic
    for number, location, line in lines:
        try:
            loose = loose_line(line, shape)
        except ValueError as error:
            log.note(location, spoken(error))
            continue
        is_traffic = loose.traffic is True
        if is_traffic and not traffic:
            continue
        ranking = _checked(loose, needs, seen_by_kind[is_traffic], number, location, log)
        if ranking is not None:
            yield ranking
    log.raise_if_any()


def loose_line(value: object, shape: type[LooseLine]) -> LooseLine:
    """A line of any accepted shape from plain values; a ValueError where it has none."""
    if isinstance(value, dict):
        nested = {key: value[key] for key in LISTS & value.keys() if isinstance(value[key], str | dict)}
        value = value | {key: opened_list(written, key) for key, written in nested.items()} if nested else value
        if value.keys() & {"query_id", "id"} and value.keys().isdisjoint(LISTS):
            raise ValueError(f"no list of results (found: {', '.join(map(shown, islice(value, _NAMED)))}); {ONE_LIST}")
    return msgspec.convert(value, shape)


def opened_list(written: Any, key: str) -> Any:
    """A list of results that is a JSON text, as applications log it, or lies under `retrieved` in an object or a text.

    A ValueError where a text is no JSON.
    """
    value = written
    for _ in range(_DEEPEST):
        try:
            value = strict_json(value) if isinstance(value, str) else value
        except JsonError as error:
            advice = str(error) if value.lstrip()[:1] in ("{", "[") else "the text of an answer goes under `answer`"
            advice = RAGAS_CSV if value.startswith(("['", "[{'", "{'")) else advice
            raise ValueError(f"{key}: expected a list of results, found {shown(written)}: {advice}") from error
        within = next((name for name in _NESTED if isinstance(value, dict) and name in value), None)
        value = value if within is None else value[within]
    return value


def _entries(source: Source, log: ProblemLog) -> Iterator[tuple[str | None, object]]:
    text = source.text()
    try:
        if ("NaN" in text or "Infinity" in text) and (culprit := infinite_score(text)):
            raise JsonError(culprit)
        value = strict_json(text, missing=True)
    except JsonError as error:
        culprit = infinite_score(text)
        log.add(Problem(culprit or str(error), source.name, None if culprit else error.line))
        return
    if isinstance(value, list):
        yield from ((f"[{index}]", entry) for index, entry in enumerate(value))
    elif isinstance(value, dict) and not value.keys() & LISTS:
        for query_id, ids in value.items():
            if isinstance(ids, list):
                yield query_id, {"query_id": query_id, "topk": ids}
            else:
                message = f"expected a list of ids for this query, or numbers by id, found {shown(ids)}"
                log.add(Problem(message, source.name, None, query_id))
    else:
        yield None, value


def _checked(
    line: LooseLine, needs: frozenset[RunField], seen: _Seen, number: int, location: Problem, log: ProblemLog
) -> Ranking | None:
    """The ranking of a decoded line, or None after noting what is wrong."""
    try:
        query_id = line.written_id()
        digest = line.question_sha256
        first, texts = seen.setdefault(query_id, (number, set()))
        if first != number and (digest in texts or None in {digest, *texts}):
            where = f"on line {first}" if location.line else f"at [{first}]"
            raise ValueError(f"query {shown(query_id)} stands twice (first {where}); keep one ranking of it")
        texts.add(digest)
        return to_ranking(line, query_id, needs)
    except ValueError as error:
        log.note(location, error)
        return None
