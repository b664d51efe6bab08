"""The tables of formats, and the guess from content. A format is forced by naming its key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import msgspec

from rankgate.errors import bad_input, did_you_mean
from rankgate.model.values import Gold, Need, Ranking, Sample
from rankgate.readers.base import ProblemLog, Run
from rankgate.readers.gold_text import read_gold_json, read_gold_jsonl, read_gold_yaml
from rankgate.readers.guess import guess_gold, guess_mapped, guess_run
from rankgate.readers.llama_index import read_gold_llama_index
from rankgate.readers.mapped import read_mapped_json
from rankgate.readers.mapping import FieldMap
from rankgate.readers.msmarco import read_msmarco
from rankgate.readers.parquet import read_mapped_parquet, read_parquet
from rankgate.readers.qrels import read_gold_beir, read_gold_qrels
from rankgate.readers.ragas import read_gold_ragas, read_ragas
from rankgate.readers.ranges import Quick, RunFile
from rankgate.readers.run_lines import provenance, read_document, read_jsonl, read_jsonl_quickly
from rankgate.readers.score_dicts import mteb_provenance, read_dict, read_gold_dict, read_mteb
from rankgate.readers.source import Source, open_source
from rankgate.readers.tables import read_csv, read_mapped_csv
from rankgate.readers.trec import query_of, read_trec_quickly, read_trec_run, trec_provenance

GoldReader = Callable[[Source, ProblemLog], dict[str, Sample]]
RunReader = Callable[[Source, frozenset[Need], ProblemLog], Iterator[Ranking]]
MappedReader = Callable[[Source, FieldMap, frozenset[Need], ProblemLog], Iterator[Ranking]]


class RunFormat(msgspec.Struct, frozen=True):
    """How to read one kind of run, what its beginning says about the system behind it, and how to read parts of it."""

    read: RunReader
    provenance: Callable[[Source], Mapping[str, Any]] = lambda _: {}
    quick: Quick | None = None


# docs/formats.md shows what each looks like.
GOLD_FORMATS: dict[str, GoldReader] = {
    "yaml": read_gold_yaml,
    "json": read_gold_json,
    "jsonl": read_gold_jsonl,
    "qrels": read_gold_qrels,
    "beir": read_gold_beir,
    "dict": read_gold_dict,
    "ragas": read_gold_ragas,
    "llama_index": read_gold_llama_index,
}
RUN_FORMATS: dict[str, RunFormat] = {
    "jsonl": RunFormat(read_jsonl, provenance, Quick(read_jsonl_quickly)),
    "json": RunFormat(read_document),
    "trec": RunFormat(read_trec_run, trec_provenance, Quick(read_trec_quickly, query_of)),
    "dict": RunFormat(read_dict),
    "mteb": RunFormat(read_mteb, mteb_provenance),
    "ragas": RunFormat(read_ragas),
    "msmarco": RunFormat(read_msmarco),
    "csv": RunFormat(read_csv),
    "parquet": RunFormat(read_parquet),
}
# What a map can describe.
MAPPED_FORMATS: dict[str, MappedReader] = {
    "jsonl": read_mapped_json,
    "json": read_mapped_json,
    "csv": read_mapped_csv,
    "parquet": read_mapped_parquet,
}

_BATCH = 1_000


def read_gold(path: str, format: str | None = None, *, most_problems: int | None = None) -> Gold:  # noqa: A002
    """Read a gold set; the format is told from the content unless it is named.

    Raises:
        RankgateError: unreadable or malformed, with every problem found, or no relevant document in it at all.
    """
    with open_source(path) as source:
        name = _named(format, GOLD_FORMATS, "gold") or guess_gold(source, GOLD_FORMATS)
        log = ProblemLog(most_problems) if most_problems else ProblemLog()
        samples = GOLD_FORMATS[name](source, log)
        log.raise_if_any()
        if not any(sample.relevant() for sample in samples.values()):
            plural = "s" if len(samples) > 1 else ""
            count = f"{len(samples)} sample{plural}, none of which" if samples else "no sample, so none"
            message = f"the gold set has {count} names a relevant document; nothing could be scored"
            raise bad_input(message, file=source.name)
        return Gold(samples=samples, name=source.name, format=name)


def read_run(
    path: str,
    format: str | None = None,  # noqa: A002
    *,
    needs: frozenset[Need] = frozenset(),
    map: FieldMap | None = None,  # noqa: A002
    most_problems: int | None = None,
) -> Run:
    """Open a run; the format is told from the content unless it is named. Rankings are read as they are asked for.

    Args:
        path: of the file, or `-`.
        format: one of `RUN_FORMATS`, or of `MAPPED_FORMATS` where a map is given.
        needs: what the metrics read beyond ids.
        map: which keys or columns of a file in no known shape hold what.
        most_problems: how many to collect before giving up.

    Raises:
        RankgateError: unreadable or of no known format; while reading: malformed, with every problem found.
    """
    read: RunReader
    quick = None
    with ExitStack() as opening:
        source = opening.enter_context(open_source(path))
        if map is None:
            name = _named(format, RUN_FORMATS, "run") or guess_run(source, RUN_FORMATS)
            read, quick, found = RUN_FORMATS[name].read, RUN_FORMATS[name].quick, RUN_FORMATS[name].provenance(source)
        else:
            name = _named(format, MAPPED_FORMATS, "mapped run") or guess_mapped(source)
            read, found = partial(_by_map, name, map), {}
        opened = opening.pop_all()
    log = ProblemLog(most_problems) if most_problems else ProblemLog()

    def rankings() -> Iterator[Ranking]:
        with opened:
            yield from read(source, needs, log)

    return Run(
        name=source.name,
        format=name,
        rankings=rankings(),
        provenance=found,
        file=RunFile(source.file, source.head, needs, quick) if source.file and quick else None,
        share_read=source.share_read,
    )


def _by_map(name: str, fields: FieldMap, source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    return MAPPED_FORMATS[name](source, fields, needs, log)


def fingerprint_of(gold: Gold) -> str:
    """The gold set's fingerprint, computed where it has none yet: independent of file format and order."""
    if gold.fingerprint is not None:
        return gold.fingerprint
    samples = gold.samples
    digest = hashlib.sha256()
    queries = sorted(samples)
    for start in range(0, len(queries), _BATCH):  # the text of a whole large gold set would take more than the set
        judged = [(query, sorted(samples[query].gains.items())) for query in queries[start : start + _BATCH]]
        digest.update((", " if start else "[").encode() + json.dumps(judged)[1:-1].encode())
    digest.update(b"]" if queries else b"[]")
    return digest.hexdigest()


def _named(format: str | None, table: Mapping[str, object], what: str) -> str | None:  # noqa: A002
    if format is not None and format not in table:
        raise bad_input(f"unknown {what} format {format!r}{did_you_mean(format, table)} (known: {', '.join(table)})")
    return format
