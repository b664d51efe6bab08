"""The tables of formats, and the guess from content. A format is forced by naming its key.

Adding a format takes its module, which recognises, reads and describes it, and one row here.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from rankgate.errors import bad_input, did_you_mean, option, shown
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.base import TABLE, ProblemLog, Quick, Run
from rankgate.readers.field_map import QUERY, FieldMap, named
from rankgate.readers.recognition import (
    LISTS,
    SAMPLE_KEYS,
    Beginning,
    GoldFormat,
    Likeness,
    RunFormat,
    first_row,
    is_texts,
    unreadable,
)
from rankgate.readers.source import FileMark, Source, open_source, open_table, reopened, share_of, shown_path

# Where a format's module has it, which is imported when it is looked at. In the order in which they are shown and
# tried: the first that is sure of a file reads it.
GOLD_FORMATS: dict[str, str] = {
    "yaml": "rankgate.readers.gold_text:YAML",
    "json": "rankgate.readers.gold_text:JSON",
    "jsonl": "rankgate.readers.gold_text:JSONL",
    "qrels": "rankgate.readers.qrels:QRELS",
    "beir": "rankgate.readers.qrels:BEIR",
    "ltr": "rankgate.readers.qrels:LTR",
    "ragas": "rankgate.readers.rag_datasets:RAGAS_GOLD",
    "llama_index": "rankgate.readers.rag_datasets:LLAMA_INDEX",
    "dict": "rankgate.readers.score_dicts:GOLD",
    "judgments": "rankgate.readers.judgments:GOLD",
}
RUN_FORMATS: dict[str, str] = {
    "jsonl": "rankgate.readers.run_lines:JSONL",
    "json": "rankgate.readers.run_lines:JSON",
    "rows": "rankgate.readers.tables:ROWS",
    "trec": "rankgate.readers.trec:RUN",
    "mteb": "rankgate.readers.score_dicts:MTEB",
    "ragas": "rankgate.readers.rag_datasets:RAGAS_RUN",
    "dict": "rankgate.readers.score_dicts:RUN",
    "msmarco": "rankgate.readers.tables:MSMARCO",
    "csv": "rankgate.readers.tables:CSV",
    "parquet": "rankgate.readers.parquet:RUN",
}
# What a map can describe, and how its files begin.
MAPPED_FORMATS: dict[str, tuple[bytes, str]] = {
    "jsonl": (b"{", "rankgate.readers.mapped:read_mapped_json"),
    "json": (b"[", "rankgate.readers.mapped:read_mapped_json"),
    "csv": (b"", "rankgate.readers.tables:read_mapped_csv"),
    "parquet": (b"PAR1", "rankgate.readers.parquet:read_mapped_parquet"),
}

# The words that may stand before a file's name: FORMAT:FILE.
NAMES = frozenset([*GOLD_FORMATS, *RUN_FORMATS, TABLE])

_NO_GOLD = "no gold format starts like that"
_MAX_NAMES = 20
_NO_RUN = "no run format starts like that; JSONL, JSON and CSV of another shape are read with `map:` under inputs.run"
_BATCH = 1_000
_BUFFER = 1 << 18


def gold_format(name: str) -> GoldFormat:
    """A format of gold sets by its key in the table."""
    row: GoldFormat = _at(GOLD_FORMATS[name])
    return row


def run_format(name: str) -> RunFormat:
    """A format of runs by its key in the table."""
    row: RunFormat = _at(RUN_FORMATS[name])
    return row


def split_format(text: str) -> tuple[str | None, str]:
    """`FORMAT:FILE` as its format and its file; a text that begins with no format's name is a file as it is.

    Raises:
        RankgateError: there is no such file, but one of the name after the colon.
    """
    word, colon, file = text.partition(":")
    if colon and word in NAMES:
        return word, file
    if colon and re.fullmatch(r"\w+", word) and not Path(text).exists() and Path(file).is_file():
        known = ", ".join(sorted(NAMES))
        raise bad_input(f"no format {word!r}{did_you_mean(word, NAMES)} (known: {known})", file=text)
    return None, text


def named_file(given: str | os.PathLike[str]) -> tuple[str | None, str]:
    """The same of what Python is given: a path is a file, whatever its name begins with."""
    return split_format(given) if isinstance(given, str) else (None, os.fspath(given))


def read_gold(
    path: str,
    format: str | None = None,  # noqa: A002
    map: FieldMap | None = None,  # noqa: A002
    *,
    most_problems: int | None = None,
    scored: bool = True,
) -> Gold:
    """Read a gold set, or a folder of BEIR; the format is detected from the content unless it, or a map, is named.

    Raises:
        RankgateError: unreadable or malformed, with every problem in it, or, to be `scored`, without relevant document.
    """
    file, queries = _at("rankgate.readers.qrels:beir_files")(path) if Path(path).is_dir() else (path, None)
    with open_source(file) as source:
        log = ProblemLog(most_problems)
        if map is None:
            name = _named(format, GOLD_FORMATS, "gold", source.name) or _recognised(source, gold=True)
            samples = gold_format(name).read(source, log)
        else:
            name = _named(format, MAPPED_FORMATS, "mapped gold", source.name) or _container(source)
            samples = _at("rankgate.readers.judgments:read_mapped_gold")(map, source, log)
        log.raise_if_any()
        samples = _at("rankgate.readers.qrels:with_questions")(samples, queries) if queries else samples
        samples = log.beside.tagged(samples)
        if scored and not any(sample.relevant() or sample.no_answer for sample in samples.values()):
            plural = "s" if len(samples) > 1 else ""
            count = f"{len(samples)} sample{plural}, none of which" if samples else "no sample, so none"
            message = f"the gold set has {count} names a relevant document; nothing could be scored"
            raise bad_input(message, file=source.name)
        shown_name = source.name if file == path else shown_path(path)
        return Gold(samples=samples, name=shown_name, format=name, reading=log.beside.reading())


def read_run(
    path: str,
    format: str | None = None,  # noqa: A002
    *,
    needs: frozenset[RunField] = frozenset(),
    map: FieldMap | None = None,  # noqa: A002
    most_problems: int | None = None,
) -> Run:
    """Open a run; the format is detected from the content unless it is named. Rankings are read as they are asked for.

    Args:
        path: of the file, or `-`; of Parquet also a folder, a pattern such as `out/*.parquet`, or an address.
        format: one of `RUN_FORMATS`, or of `MAPPED_FORMATS` where a map is given.
        needs: what the metrics read beyond ids.
        map: which keys or columns of a file in no known shape hold what.
        most_problems: how many to collect before giving up.

    Raises:
        RankgateError: unreadable or of no known format; while reading: malformed, with every problem in it.
    """
    read: Callable[[Source, frozenset[RunField], ProblemLog], Iterator[Ranking]]
    quick = None
    provenance: dict[str, Any] = {}
    with ExitStack() as opening:
        source = opening.enter_context(open_table(path))
        if map is None:
            name = _named(format, RUN_FORMATS, "run", source.name) or _recognised(source, gold=False)
            row = run_format(name)
            read = row.read
            provenance = dict(row.provenance(source))
            if source.file and row.quick:
                quickly = partial(_quickly, source.file, needs, row.quick)
                quick = Quick(quickly, row.by_line)
        else:
            name = _named(format, MAPPED_FORMATS, "mapped run", source.name) or _container(source)
            read = partial(_at(MAPPED_FORMATS[name][1]), map)
        opened = opening.pop_all()

    def rankings() -> Iterator[Ranking]:
        with opened:
            yield from read(source, needs, ProblemLog(most_problems))

    return Run(
        name=source.name,
        format=name,
        rankings=rankings(),
        provenance=provenance,
        quick=quick,
        share_read=source.share_read,
    )


@contextmanager
def _quickly(
    file: FileMark,
    needs: frozenset[RunField],
    read: Callable[[BinaryIO, frozenset[RunField], int], Iterator[Ranking]],
) -> Iterator[tuple[Iterator[Ranking], Callable[[], float]] | None]:
    """The rankings of a file that is opened again, and how much of them has been read; None where it is another file.

    What `Quick.opened` promises.
    """
    with reopened(file) as raw:
        if raw is None:
            yield None
            return
        stream = io.BufferedReader(raw, _BUFFER)  # which closes the file once nobody holds it
        yield read(stream, needs, file.size), partial(share_of, raw, file.size)


def fingerprint_of(gold: Gold) -> str:
    """The gold set's fingerprint, computed where it has none yet: independent of file format and order."""
    if gold.fingerprint is not None:
        return gold.fingerprint
    samples = gold.samples
    digest = hashlib.sha256()
    queries = sorted(samples)
    for start in range(0, len(queries), _BATCH):  # the text of a whole large gold set would take more than the set
        judged = [(query, *samples[query].judgments()) for query in queries[start : start + _BATCH]]
        digest.update((", " if start else "[").encode() + json.dumps(judged)[1:-1].encode())
    digest.update(b"]" if queries else b"[]")
    return digest.hexdigest()


def _recognised(source: Source, *, gold: bool) -> str:
    """The format that is sure of the file, else the first that may be its, if none of the other kind is sure."""
    table = GOLD_FORMATS if gold else RUN_FORMATS
    start = Beginning(source.head, gold=gold)
    possible = ""
    why = unreadable(start)
    for name in () if why else table:
        likeness = (gold_format(name) if gold else run_format(name)).recognise(start)
        if isinstance(likeness, str):
            why = likeness
            break
        if likeness is Likeness.YES:
            return name
        possible = possible or (name if likeness is Likeness.MAYBE else "")
    what = "a gold set" if gold else "a run"
    starts = f"cannot be read as {what}: it starts with {shown(first_row(start.head)[:80].rstrip())}"
    if not why and (other := _of_the_other_kind(source, gold=not gold)):
        right_option = option("run" if gold else "gold", "FILE")
        raise bad_input(
            f"{starts}; {other}; are gold set and run swapped? Name it with {right_option}", file=source.name
        )
    names = start.names
    row = named(QUERY, names) or all(isinstance(cell, str) or is_texts(cell) for cell in start.first_cells.values())
    unnamed = gold and start.json and row and len(names) > 1 and start.keys.isdisjoint({"id", *SAMPLE_KEYS})
    if possible and not why and not unnamed:
        return possible
    if gold and not why and len(names) > 1 and all(map(str.isprintable, names)):
        columns = start.first_cells
        raise bad_input(_at("rankgate.readers.gold_columns:unknown_columns")(columns, source.name), file=source.name)
    listed = f" (found: {', '.join(map(shown, names[:_MAX_NAMES]))})" if len(names) > 1 else ""
    why = why or (_NO_GOLD if gold else _NO_RUN) + listed
    raise bad_input(f"{starts}; {why} (known formats: {', '.join(table)})", file=source.name)


def _of_the_other_kind(source: Source, *, gold: bool) -> str:
    """What a file looks like that is surely of this kind, where its format has words for that; else nothing."""
    head = source.head if gold else re.sub(rb"\A(?:\s*#[^\n]*\n)+", b"", source.head)  # only gold sets have comments
    start = Beginning(head, gold=gold)
    if not gold and start.keys and start.keys.isdisjoint(LISTS) and not start.has_rows:
        return ""  # an id of a question alone makes no run
    if gold and ({start.first_key, *start.keys} & SAMPLE_KEYS or start.head.startswith(b"samples:")):
        return "that looks like samples, which are a gold set"
    formats = map(gold_format, GOLD_FORMATS) if gold else map(run_format, RUN_FORMATS)
    return next((each.looks_like for each in formats if each.looks_like and each.recognise(start) is Likeness.YES), "")


def _container(source: Source) -> str:
    """The format of a run that a map describes: only what holds the records matters."""
    head = source.head.lstrip()
    return max((begins, name) for name, (begins, _) in MAPPED_FORMATS.items() if head.startswith(begins))[1]


def _named(format: str | None, table: Mapping[str, object], what: str, file: str) -> str | None:  # noqa: A002
    if format == TABLE:
        raise bad_input("values per query are for `rankgate check` alone; rankings are needed here", file=file)
    if format is not None and format not in table:
        near = did_you_mean(format.casefold(), table)
        raise bad_input(f"unknown {what} format {format!r}{near} (known: {', '.join(table)})", file=file)
    return format


def _at(location: str) -> Any:
    module, _, name = location.partition(":")
    return getattr(import_module(module), name)
