"""The tables of formats, and the guess from content. A format is forced by naming its key."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import msgspec

from rankgate.errors import bad_input, did_you_mean, shown
from rankgate.model import Gold, Need, Ranking, Sample
from rankgate.readers.base import ProblemLog, Run
from rankgate.readers.gold_text import read_gold_json, read_gold_jsonl, read_gold_qrels, read_gold_yaml
from rankgate.readers.run_lines import provenance, read_document, read_jsonl
from rankgate.readers.source import Source, open_source
from rankgate.readers.trec import QRELS_COLUMNS, RUN_COLUMNS, finite_number, read_trec_run, trec_provenance

GoldReader = Callable[[Source, ProblemLog], dict[str, Sample]]


class RunFormat(msgspec.Struct, frozen=True):
    """How to read one kind of run."""

    read: Callable[[Source, frozenset[Need], ProblemLog], Iterator[Ranking]]
    provenance: Callable[[Source], Mapping[str, Any]]


# docs/formats.md shows what each looks like.
GOLD_FORMATS: dict[str, GoldReader] = {
    "yaml": read_gold_yaml,
    "json": read_gold_json,
    "jsonl": read_gold_jsonl,
    "qrels": read_gold_qrels,
}
RUN_FORMATS: dict[str, RunFormat] = {
    "jsonl": RunFormat(read_jsonl, provenance),
    "json": RunFormat(read_document, lambda _: {}),
    "trec": RunFormat(read_trec_run, trec_provenance),
}
_LINE_KEYS = (b'"query_id"', b'"topk"', b'"retrieved"', b'"actual_output"', b'"actualOutput"')


def read_gold(path: str, format: str | None = None, *, most_problems: int | None = None) -> Gold:  # noqa: A002
    """Read a gold set; the format is told from the content unless it is named.

    Raises:
        RankgateError: unreadable or malformed, with every problem found, or no relevant document in it at all.
    """
    with open_source(path) as source:
        name = _named(format, GOLD_FORMATS, "gold") or _guess_gold(source)
        log = ProblemLog(most_problems) if most_problems else ProblemLog()
        samples = GOLD_FORMATS[name](source, log)
        log.raise_if_any()
        if not any(sample.relevant() for sample in samples.values()):
            plural = "s" if len(samples) > 1 else ""
            count = f"{len(samples)} sample{plural}, none of which" if samples else "no sample, so none"
            message = f"the gold set has {count} names a relevant document; nothing could be scored"
            raise bad_input(message, file=source.name)
        return Gold(samples=samples, name=source.name, format=name, fingerprint=fingerprint(samples))


def read_run(
    path: str,
    format: str | None = None,  # noqa: A002
    *,
    needs: frozenset[Need] = frozenset(),
    most_problems: int | None = None,
) -> Run:
    """Open a run; the format is told from the content unless it is named. Rankings are read as they are asked for.

    Raises:
        RankgateError: unreadable or of no known format; while reading: malformed, with every problem found.
    """
    with ExitStack() as opening:
        source = opening.enter_context(open_source(path))
        name = _named(format, RUN_FORMATS, "run") or _guess_run(source)
        found = RUN_FORMATS[name].provenance(source)
        opened = opening.pop_all()
    log = ProblemLog(most_problems) if most_problems else ProblemLog()

    def rankings() -> Iterator[Ranking]:
        with opened:
            yield from RUN_FORMATS[name].read(source, needs, log)

    return Run(name=source.name, format=name, rankings=rankings(), provenance=found)


def fingerprint(samples: Mapping[str, Sample]) -> str:
    """A digest of the judgments, independent of file format and order."""
    judged = sorted((query, sorted(sample.gains.items())) for query, sample in samples.items())
    return hashlib.sha256(json.dumps(judged).encode()).hexdigest()


def _named(format: str | None, table: Mapping[str, object], what: str) -> str | None:  # noqa: A002
    if format is not None and format not in table:
        raise bad_input(f"unknown {what} format {format!r}{did_you_mean(format, table)} (known: {', '.join(table)})")
    return format


def _guess_run(source: Source) -> str:
    head = source.head.lstrip()
    if head[:1] == b"[":
        return "json"
    if head[:1] == b"{":
        return "jsonl" if _is_jsonl(head, _LINE_KEYS) else "json"
    columns = head.partition(b"\n")[0].split()
    if len(columns) == RUN_COLUMNS:
        return "trec"
    if len(columns) == QRELS_COLUMNS:
        raise _unknown(source, "a run", "that looks like TREC qrels, which is a gold set", RUN_FORMATS)
    raise _unknown(source, "a run", "no run format starts like that", RUN_FORMATS)


def _guess_gold(source: Source) -> str:
    head = source.head.lstrip()
    first = head.partition(b"\n")[0]
    if head[:1] == b"[":
        return "json"
    if head[:1] == b"{":
        if any(key in first for key in _LINE_KEYS) and b'"expected_output"' not in first:
            raise _unknown(source, "a gold set", "that looks like a run", GOLD_FORMATS)
        return "jsonl" if _is_jsonl(head, (b'"expected_output"', b'"id"')) and b'"samples"' not in first else "json"
    columns = first.split()
    if len(columns) == QRELS_COLUMNS and (
        finite_number(columns[-1].decode("utf-8", "replace")) is not None
        or (b":" not in first and not first.startswith((b"#", b"-")))
    ):
        return "qrels"
    if len(columns) == RUN_COLUMNS and columns[1].upper() == b"Q0":
        raise _unknown(source, "a gold set", "that looks like a TREC run", GOLD_FORMATS)
    if re.search(rb"^(?:- |-$|[\w\"'][^:\n]*:(?:\s|$))", head, re.MULTILINE):
        return "yaml"
    raise _unknown(source, "a gold set", "no gold format starts like that", GOLD_FORMATS)


def _is_jsonl(head: bytes, keys: tuple[bytes, ...]) -> bool:
    """Whether the first line is an object of its own: closed, with a key that such lines have, or followed by one."""
    first, _, rest = head.partition(b"\n")
    first = first.rstrip()
    if first.endswith((b"[", b"{", b",", b":")):
        return False
    return rest.startswith(b"{") or (first.endswith(b"}") and any(key in first for key in keys))


def _unknown(source: Source, what: str, why: str, table: Mapping[str, Any]) -> Exception:
    saw = shown(source.head.lstrip().partition(b"\n")[0][:80].decode("utf-8", "replace").rstrip())
    known = f"known formats: {', '.join(table)}"
    return bad_input(f"cannot be read as {what}: it starts with {saw}; {why} ({known})", file=source.name)
