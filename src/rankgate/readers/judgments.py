"""Gold as judgments: a table or rows of JSON with a judgment each, and lists of them as search tools export them.

Every shape is a map, as `inputs.gold.map` is one; what people call columns and keys stands in one table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, bad_input, shown
from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog, finite_number, id_of
from rankgate.readers.field_map import DOC, RATERS, FieldMap, named
from rankgate.readers.gold_columns import (
    GAIN,
    by_text,
    in_words,
    read_by,
    roles_of,
    split_cells,
    usual_fields,
    with_segments,
)
from rankgate.readers.json_text import RAGAS_CSV, source_json
from rankgate.readers.mapped import Records, entries_under, is_number, json_records, looked_up
from rankgate.readers.mapping import Finder, advice, look_up, named_in, system_columns, unpacked, usual_names
from rankgate.readers.parquet import opened as opened_parquet
from rankgate.readers.recognition import LINE_KEYS, SAMPLE_KEYS, Beginning, GoldFormat, Likeness
from rankgate.readers.rows import Tag
from rankgate.readers.samples import check_gain
from rankgate.readers.source import MAGIC, Source
from rankgate.readers.tables import BEIR_COLUMNS, Table

_YES_OR_NO = ("yes", "no", "y", "n", "true", "false", "relevant", "irrelevant")
# What a tool's export lists its queries under, and a key within: OpenSearch, Elasticsearch's request and response, and
# Quepid. A response has the ratings of hits alone.
_EXPORTS = {"judgmentRatings": "judgmentRatings", "requests": "ratings", "details": "hits", "queries": "ratings"}
_RESPONSE = "details"
_OF_RESPONSE = FieldMap(query_id="key", items="hits", chunk_id="hit._id", gain="rating")


def read_mapped_gold(fields: FieldMap, source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from a file whose columns or keys a map names; without a gain, what is listed is relevant."""
    log.beside.mapped = frozenset(fields.tags)
    with records_of(source, log, fields, fields.records, missing=False) as records:
        return _read_rows(fields, records, log)


def read_usual_gold(source: Source, log: ProblemLog, *, fractions: bool = False) -> dict[str, Sample]:
    """Samples from a file whose columns or keys have usual names; scores are gains if whole, or with `fractions`."""
    under = _export(source.head)
    if under == _RESPONSE:
        return _read_response(source, log)
    opened = nullcontext(_exported(source, under)) if under else records_of(source, log, missing=False)
    with opened as records:
        first = next(records := iter(records), None)
        if first is None:
            return {}
        row = first[1] if isinstance(first[1], Mapping) else {}
        fields = usual_fields([*row], first[0], first=row)
        read = read_judgments if under else _read_rows
        samples = read(fields, chain([first], records), log)
    gains = (gain for sample in samples.values() for gain in sample.gains.values())
    if not fractions and fields.gain in named(GAIN[1:], [fields.gain or ""]) and any(gain % 1 for gain in gains):
        known = {"query_id": fields.query_id, "chunk_id": fields.chunk_id, "gain": fields.gain}
        what = "that looks like a run, whose scores are no whole numbers; if they are gains"
        raise bad_input(f"{what}, {advice(known, 'gold')}", file=source.name)
    return samples


def _read_response(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples of a response of `_rank_eval`; a query whose search failed is noted, for its ratings are not there."""
    response = source_json(source)
    failures = response.get("failures") if isinstance(response, Mapping) else None
    for query_id in failures if isinstance(failures, Mapping) else ():
        why = "the search failed, so that its ratings are not here; name the request, or a response without failures"
        log.add(Problem(why, source.name, None, f"failures.{query_id}"))
    return read_judgments(_OF_RESPONSE, entries_under(response, _RESPONSE, source.name), log)


def _read_rows(fields: FieldMap, records: Records, log: ProblemLog) -> dict[str, Sample]:
    """Samples from all rows, with the tags of their columns; what is not read is noted."""
    rows = iter(records)
    first_row = next(rows, None)
    if first_row is None:
        return {}
    rows = chain([first_row], rows)
    _, first = first_row
    if fields.records is not None or not isinstance(first, Mapping):
        return read_judgments(fields, rows, log)
    names = [str(name) for name in first]
    if fields.gain is None and all(isinstance(value, str | None) for value in first.values()):
        listed = [*rows]
        fields = by_text(fields, listed)
        split, sign = split_cells(listed, fields)
        rows = iter(split)
        log.beside.separator = (fields.items or fields.chunk_id or "", sign) if sign else None
    fields = with_segments(fields, names)
    log.beside.columns = in_words(named_in(fields))
    read = {*read_by(fields), *([] if fields.items else system_columns(names, fields, RATERS))}
    log.beside.leave_out(name for name in names if name.strip() and name not in read)
    return read_judgments(fields, rows, log)


def _exported(source: Source, key: str) -> Records:
    """The entries of an export's list, wherever it lies: in an envelope, a hit of a search or a list of them."""
    entries = [*_lists_under(source_json(source), key)]
    if not entries:
        raise bad_input(f"expected a list under {shown(key)}, found none, or an empty one", file=source.name)
    return ((Problem("", source.name, None, f"{key}[{at}]"), entry) for at, entry in enumerate(entries))


def _lists_under(value: Any, key: str) -> Iterator[Any]:
    if isinstance(value, Mapping) and isinstance(value.get(key), list):
        yield from value[key]
        return
    inner = value if isinstance(value, list) else []
    if isinstance(value, Mapping):
        inner = [*value.values()]
    for each in inner:
        yield from _lists_under(each, key)


@contextmanager
def records_of(
    source: Source,
    log: ProblemLog,
    fields: FieldMap | None = None,
    under: str | None = None,
    *,
    missing: bool = True,
) -> Iterator[Records]:
    """The rows of a table, CSV or Parquet, or the objects of JSON, as far as the map reads them, with their places."""
    if source.head.startswith(MAGIC):
        with opened_parquet(source) as file:
            yield file.records()
    elif source.head.lstrip()[:1] in (b"{", b"["):
        yield json_records(source, log, under, missing=missing)
    else:
        yield Table(source, log).records(fields)


def read_judgments(fields: FieldMap, records: Records, log: ProblemLog) -> dict[str, Sample]:
    """Samples from objects with a judgment each, or a list of them; where nobody has judged (null, "") stands none."""
    samples: dict[str, Sample] = {}
    for _, location, judged in looked_up(records, _judged, Finder(fields, frozenset()), log):
        query_id = judged.query_id
        question = judged.question
        where = replace(location, key=".".join(filter(None, (location.key, query_id))))
        for column, value in judged.parts:
            log.beside.add(query_id, column, value)
        sample = samples.get(query_id)
        if sample is None:
            samples[query_id] = sample = Sample(query_id=query_id, gains={}, question=question, line=location.line)
        elif question and sample.question and question != sample.question:
            log.note(where, f"conflicting text: {shown(sample.question)} above and {shown(question)} here")
            continue
        for doc, value in judged.pairs:
            try:
                if value is not None and value != "":
                    document = id_of(doc, "the document")
                    add_gain(sample, document, gain_of(document, value))
            except ValueError as error:
                rated = "".join(
                    f"; {shown(who)} is the {column} here: keep the rows of one" for column, who in judged.raters
                )
                log.note(where, f"{error}{rated}")
    return samples


def gain_of(doc: str, value: Any) -> float:
    """The gain of a judgment, a number or the text of one; a ValueError says what is wrong with it."""
    gain = _number(value)
    if gain is None:
        hint = "; if that is a header, remove the row" if named(GAIN, [value]) else ""
        hint = "; write 1 or 0" if str(value).casefold() in _YES_OR_NO else hint
        raise ValueError(f"the gain {shown(value)} is not a finite number{hint}")
    return check_gain(doc, gain)


def add_gain(sample: Sample, doc: str, gain: float) -> None:
    """Take one judgment into the gains; a ValueError where the document has another gain already."""
    gains: dict[str, float] = sample.gains  # type: ignore[assignment]
    if gains.setdefault(doc, gain) != gain:
        raise ValueError(f"conflicting judgment: {shown(doc)} has gain {gains[doc]:g} above and {gain:g} here")


def _number(value: Any) -> Any:
    """The number that is written, maybe as text; what is none as it is, and None for a text of none."""
    if isinstance(value, str):
        return finite_number(value)
    return float(value) if is_number(value) else value


class _Judged(msgspec.Struct, frozen=True):
    """A row or an object: a query with documents and their gains as written, its rater, and the columns of tags."""

    query_id: str
    question: str | None
    pairs: list[tuple[Any, Any]]
    parts: Sequence[tuple[str, Any]]
    raters: Sequence[Tag] = ()


def _judged(record: Any, finder: Finder) -> _Judged:
    query_id = id_of(finder.required("query_id", record, "the object"), "the query")
    text = finder.optional("question", record)
    query = f"query {shown(query_id)}"
    question = text if isinstance(text, str) and text else None
    parts = [(name, look_up(record, name)) for name in finder.fields.tags]
    if finder.fields.items is None:
        return _Judged(query_id, question, _rated(record, finder, query), parts, finder.tags(record, RATERS))
    listed = unpacked(finder.required("items", record, query))
    if isinstance(listed, str) and listed.startswith("["):
        raise ValueError(f"{query}: {shown(listed)}: {RAGAS_CSV}")
    if isinstance(listed, Mapping):  # of gains by id, or as Quepid writes it for RRE, of ids by gain
        by_gain = [(doc, gain) for gain, docs in listed.items() if isinstance(docs, list) for doc in docs]
        return _Judged(query_id, question, by_gain or [(doc, _stated(gain)) for doc, gain in listed.items()], parts)
    if not isinstance(listed, list):
        raise ValueError(f"{query}: {finder.fields.items}: expected a list of documents, found {shown(listed)}")
    return _Judged(query_id, question, [_listed(entry, finder, query) for entry in listed], parts)


def _rated(record: Any, finder: Finder, query: str) -> list[tuple[Any, Any]]:
    """The document of a row with its gain, or several; none where a row without a column of gains names none."""
    doc, gain = _listed(record, finder, query)
    if isinstance(doc, str) and doc.startswith(("['", '["')) and doc.endswith("]"):
        doc = unpacked(doc)
        if isinstance(doc, str):
            raise ValueError(f"{query}: {shown(doc)} is no id: {RAGAS_CSV}")
    docs = doc if isinstance(doc, list) else [doc]
    return [(each, gain) for each in docs if finder.fields.gain is not None or each not in (None, "")]


def _stated(gain: Any) -> Any:
    """A gain, which RRE writes as `{"gain": 3}` too."""
    names = named(GAIN, gain) if isinstance(gain, Mapping) else []
    return gain[names[0]] if names else gain


def _listed(entry: Any, finder: Finder, query: str) -> tuple[Any, Any]:
    if not isinstance(entry, Mapping):
        return entry, 1
    if finder.names("chunk_id"):
        doc = finder.required("chunk_id", entry, query)
        return doc, finder.required("gain", entry, query) if finder.names("gain") else 1
    keys = usual_names([*entry], {"chunk_id": DOC, "gain": GAIN}, "gold", finder.location)
    return entry[keys["chunk_id"]], entry[keys["gain"]]


def _export(head: bytes) -> str | None:
    """What the queries of a tool's export are listed under; None of any other file."""
    listed = {match.decode() for match in re.findall(rb'"(\w+)"\s*:\s*[\[{]', head)}
    return next((key for key, inner in _EXPORTS.items() if {key, inner} <= listed), None)


def _recognise(start: Beginning) -> Likeness:
    """By what its columns or keys are called; one that lacks a name is told which."""
    if start.head.startswith(MAGIC) or (start.json and _export(start.head)):
        return Likeness.YES
    names = start.names
    roles = roles_of(names)
    documents = [*roles["chunk_id"], *roles["items"]]
    gains = roles["gain"]
    if start.keys & (LINE_KEYS - {"query_id"} | SAMPLE_KEYS) or len(names) == 1:
        return Likeness.NO
    if (
        not roles["query_id"]
        or not (gains or {*documents} - {*named(({"id"},), names)})
        or (not start.json and {*BEIR_COLUMNS} <= {*names})
    ):
        return Likeness.NO
    if not start.json and not (gains and documents):
        return Likeness.MAYBE
    scores = named(GAIN[1:], gains)
    return Likeness.sure(start.json or not scores or ("rank" not in names and start.has_whole_numbers(scores[0])))


GOLD = GoldFormat(
    recognise=_recognise,
    read=read_usual_gold,
    shape="a judgment a row, as CSV, TSV, Parquet, JSONL or a JSON list; or what OpenSearch, Elasticsearch and Quepid "
    "export; see below",
    looks_like="that looks like judgments, which are a gold set",
)
