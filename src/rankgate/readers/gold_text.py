"""Gold in the contract's shape, as YAML, JSON or JSONL."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rankgate.errors import Problem, shown
from rankgate.model import Sample
from rankgate.readers.base import ProblemLog
from rankgate.readers.json_text import JsonError, explain, strict_json
from rankgate.readers.samples import add_sample, plain_sample, to_sample
from rankgate.readers.source import Source

MOST_YAML = 20_000_000  # bytes; YAML takes half a minute for them, JSONL a second


class _JudgedLine(msgspec.Struct):
    """The raw judgments of a line, to see keys that stand twice."""

    expected_output: msgspec.Raw = msgspec.Raw(b"null")


def read_gold_jsonl(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from JSONL, one a line."""
    samples: dict[str, Sample] = {}
    decode_raw = msgspec.json.Decoder(_JudgedLine).decode
    for number, line in source.lines():
        plain = plain_sample(line, number)
        if plain is not None and samples.setdefault(plain.query_id, plain) is plain:
            continue
        place = Problem("", source.name, number)
        try:
            line.decode()
            value = msgspec.json.decode(line)
            if isinstance(value, dict) and isinstance(value.get("expected_output"), dict):
                raw = bytes(decode_raw(line).expected_output)
                # One colon a key, unless ids contain colons or a key stands twice: only then parse slowly.
                if raw.count(b":") != len(value["expected_output"]):
                    strict_json(raw)
            if line.count(b'"expected_output"') > 1:
                strict_json(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            log.add(msgspec.structs.replace(place, message=explain(line, error)))
            continue
        except JsonError as error:
            log.add(msgspec.structs.replace(place, message=f"conflicting judgment: {error}", key="expected_output"))
            continue
        if line.count(b'"id"') > 1 and (twice := _key_twice(line)):
            log.add(msgspec.structs.replace(place, message=twice))
            continue
        _add(value, samples, place, log)
    return samples


def _key_twice(line: bytes) -> str | None:
    """What strict JSON has against a line that the fast decoder took: of two equal keys it kept the last."""
    try:
        strict_json(line)
    except JsonError as error:
        return str(error)
    return None


def read_gold_json(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from one JSON value: `{"samples": [...]}` or the list itself."""
    samples: dict[str, Sample] = {}
    try:
        value = strict_json(source.text())
    except JsonError as error:
        log.add(Problem(str(error), source.name, error.line))
        return samples
    for key, entry in _entries(value, source, log, 1):
        _add(entry, samples, Problem("", source.name, None, key), log)
    return samples


def read_gold_yaml(source: Source, log: ProblemLog) -> dict[str, Sample]:
    """Samples from YAML: `samples:` with a list, or the list itself."""
    from rankgate.yaml_text import load_yaml  # noqa: PLC0415 -- paid only for YAML

    document = load_yaml(source.text(MOST_YAML, "write so large a gold set as JSONL"), source.name)
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
