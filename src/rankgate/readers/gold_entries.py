"""Gold samples that state more than a question and judgments, and those of YAML and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rankgate.errors import Problem, shown
from rankgate.model.values import Sample
from rankgate.readers.base import ProblemLog
from rankgate.readers.json_text import explain, source_json
from rankgate.readers.line_json import line_json
from rankgate.readers.samples import add_sample, to_sample
from rankgate.readers.source import Source
from rankgate.readers.yaml_text import load_yaml

MAX_YAML = 20_000_000  # bytes; YAML takes half a minute for them, JSONL a second


def read_line(line: bytes, number: int, samples: dict[str, Sample], source: Source, log: ProblemLog) -> None:
    """Add the sample of a line of JSONL, or note what is wrong with it."""
    location = Problem("", source.name, number)
    try:
        _add(line_json(line), samples, location, log)
    except (ValueError, RecursionError) as error:
        log.note(location, explain(line, error))


def read_json(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from one JSON value: `{"samples": [...]}` or the list itself."""
    samples: dict[str, Sample] = {}
    for key, entry in _entries(source_json(source), source, log, 1):
        _add(entry, samples, Problem("", source.name, None, key), log)
    return samples


def read_yaml(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from YAML: `samples:` with a list, or the list itself."""
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


def _add(value: object, samples: dict[str, Sample], location: Problem, log: ProblemLog) -> None:
    sample = to_sample(value, location, log)
    if sample is not None:
        add_sample(samples, sample, location, log)
