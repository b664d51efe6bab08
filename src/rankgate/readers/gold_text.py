"""Gold in the contract's shape, as YAML, JSON or JSONL."""

from __future__ import annotations

import re

from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog, finite_number
from rankgate.readers.plain_samples import plain_sample
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness, Recognised, of_two
from rankgate.readers.source import Source

_YAML = rb"(?:- |-$|[\w\"'][^:\n]*:(?:\s|$))"  # how a line of it may begin


def _read_jsonl(source: Source, log: ProblemLog) -> dict[str, Sample]:
    samples: dict[str, Sample] = {}
    for number, line in source.lines():
        plain = plain_sample(line, number)
        if plain is not None and samples.setdefault(plain.query_id, plain) is plain:
            continue
        _read_line(line, number, samples, source, log)
    return samples


def _read_line(line: bytes, number: int, samples: dict[str, Sample], source: Source, log: ProblemLog) -> None:
    from rankgate.readers.samples import read_line  # noqa: PLC0415 -- paid only where a sample states more

    read_line(line, number, samples, source, log)


def _read_json(source: Source, log: ProblemLog) -> dict[str, Sample]:
    from rankgate.readers.samples import read_json  # noqa: PLC0415 -- as above

    return read_json(source, log)


def _read_yaml(source: Source, log: ProblemLog) -> dict[str, Sample]:
    from rankgate.readers.samples import read_yaml  # noqa: PLC0415 -- as above

    return read_yaml(source, log)


def _recognise_yaml(start: Beginning) -> Likeness:
    """Surely, if the first line of content is a key or an item and no row that ends in a number, as judgments do."""
    if start.json:
        return Likeness.NO
    first = start.content
    columns = first.split()
    of_columns = len(columns) == 4 and b":" not in first and columns[0] != b"-"  # noqa: PLR2004 -- TREC qrels
    if of_columns or not re.search(rb"^" + _YAML, start.head, re.MULTILINE):
        return Likeness.NO
    last = columns[-1].decode("utf-8", "replace") if columns[2:] else ""
    row = columns[2:] and (columns[1].upper() == b"Q0" or finite_number(last) is not None)
    return Likeness.YES if re.match(_YAML, first) and not row else Likeness.MAYBE


def _recognise_json(start: Beginning) -> Recognised:
    if both := of_two(start):
        return both
    if "samples" in start.keys or (start.json == "[" and "expected_output" in start.keys):
        return Likeness.YES if start.json else Likeness.NO
    return Likeness.MAYBE if start.json and not _like_lines(start) else Likeness.NO


def _recognise_jsonl(start: Beginning) -> Likeness:
    if not _like_lines(start):
        return Likeness.NO
    sure = "expected_output" in start.keys if start.keys else b'"expected_output"' in start.line
    return Likeness.YES if sure else Likeness.MAYBE


def _like_lines(start: Beginning) -> bool:
    return start.json == "{" and start.is_jsonl({"expected_output", "id"}) and b'"samples"' not in start.line


YAML = GoldFormat(
    recognise=_recognise_yaml, read=_read_yaml, shape="`samples:` with a list of samples, or the list itself"
)
JSON = GoldFormat(recognise=_recognise_json, read=_read_json, shape=YAML.shape)
JSONL = GoldFormat(recognise=_recognise_jsonl, read=_read_jsonl, shape="one sample a line")
