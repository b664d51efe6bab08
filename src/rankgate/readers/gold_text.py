"""Gold in the contract's shape, as YAML, JSON or JSONL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rankgate.errors import Problem, shown
from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog, finite_number
from rankgate.readers.json_text import explain, line_json, source_json
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness, Recognised, of_two
from rankgate.readers.samples import add_sample, plain_sample, to_sample
from rankgate.readers.source import Source

_YAML = rb"(?:- |-$|[\w\"'][^:\n]*:(?:\s|$))"  # how a line of it may begin
MAX_YAML = 20_000_000  # bytes; YAML takes half a minute for them, JSONL a second


def _read_jsonl(source: Source, log: ProblemLog) -> dict[str, Sample]:
    samples: dict[str, Sample] = {}
    for number, line in source.lines():
        plain = plain_sample(line, number)
        if plain is not None and samples.setdefault(plain.query_id, plain) is plain:
            continue
        place = Problem("", source.name, number)
        try:
            _add(line_json(line), samples, place, log)
        except (ValueError, RecursionError) as error:
            log.note(place, explain(line, error))
    return samples


def _read_json(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from one JSON value: `{"samples": [...]}` or the list itself."""
    samples: dict[str, Sample] = {}
    for key, entry in _entries(source_json(source), source, log, 1):
        _add(entry, samples, Problem("", source.name, None, key), log)
    return samples


def _read_yaml(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from YAML: `samples:` with a list, or the list itself."""
    from rankgate.readers.yaml_text import load_yaml  # noqa: PLC0415 -- paid only for YAML

    document = load_yaml(source.text(MAX_YAML, "write so large a gold set as JSONL"), source.name)
    samples: dict[str, Sample] = {}
    nested = isinstance(document.value, dict)
    for index, (key, entry) in enumerate(_entries(document.value, source, log, document.line(("samples",)) or 1)):
        line = document.line(("samples", index) if nested else (index,))
        _add(entry, samples, Problem("", source.name, line, key), log)
    return samples


def _entries(value: object, source: Source, log: ProblemLog, line: int) -> Iterator[tuple[str, object]]:
    nested = isinstance(value, dict) and "samples" in value
    entries = value["samples"] if isinstance(value, dict) and nested else value
    if isinstance(entries, list):
        yield from ((f"samples[{index}]" if nested else f"[{index}]", entry) for index, entry in enumerate(entries))
    else:
        message = f"expected `samples:` with a list of samples, found {shown(entries)}"
        log.add(Problem(message, source.name, line, "samples" if nested else None))


def _add(value: object, samples: dict[str, Sample], place: Problem, log: ProblemLog) -> None:
    sample = to_sample(value, place, log)
    if sample is not None:
        add_sample(samples, sample, place, log)


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
