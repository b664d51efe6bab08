"""Gold samples of YAML, JSON and JSONL: the one place that turns a written sample, of whatever format, into judgments.

`expected_output` is a list of ids (binary), `{id: gain}` (graded), a list of spans `{doc, start, end, text, gain}`, or
`{"ids": any of these, "answer": …}`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from rankgate.errors import Problem, shown
from rankgate.model.answers import GoldClaim
from rankgate.model.values import Sample, Span
from rankgate.readers.base import (
    LARGEST_GAIN,
    USUAL_GAINS,
    KeyedError,
    ProblemLog,
    WrittenQuestion,
    all_of,
    line_json,
    question_of,
)
from rankgate.readers.dates import iso_day
from rankgate.readers.json_text import explain, source_json, spoken
from rankgate.readers.source import Source
from rankgate.readers.yaml_text import load_yaml

MAX_YAML = 20_000_000  # bytes; YAML takes half a minute for them, JSONL a second


class Metadata(msgspec.Struct):
    """What is known about a sample; other keys are the user's own."""

    k: int | None = None
    tags: list[str] = []
    no_answer: bool = False
    answer: str | list[str] | None = None
    claims: Any = None
    as_of: str | None = None
    source: str | int | list[str | int] | None = None
    entities: list[str] | None = None
    cluster: str | int | None = None


_KNOWN = frozenset(
    {*Metadata.__struct_fields__, "id", "expected_output", "input", "question", "judge_labels", "negatives", "metadata"}
)
# Keys that change what is scored, and are nobody's own beside `metadata`.
_OF_METADATA = ("no_answer", "tags", "k", "as_of", "cluster", "entities", "claims")


class WrittenSample(msgspec.Struct):
    """A sample as files hold it."""

    id: str | int
    expected_output: Any = None
    input: WrittenQuestion | str | None = None
    judge_labels: Any = None
    negatives: list[str | int] = []
    metadata: Metadata | None = None


class _WrittenSpan(msgspec.Struct, forbid_unknown_fields=True):
    """A passage of a document as files hold it."""

    doc: Annotated[str, msgspec.Meta(min_length=1)] | int
    start: Annotated[int, msgspec.Meta(ge=0)]
    end: int
    text: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    gain: Any = 1


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


def to_sample(value: object, location: Problem, log: ProblemLog) -> Sample | None:
    """A checked sample from plain values, or None after noting what is wrong, at `location` and the key in question."""
    try:
        sample = _checked(value, location.line)
    except KeyedError as error:
        log.note(location, error)
        return None
    stated: dict[str, Any] = value if isinstance(value, dict) else {}
    log.beside.add_all(sample.query_id, {**stated, **(stated.get("metadata") or {})}, _KNOWN)
    return sample


def _checked(value: object, line: int | None) -> Sample:
    value, written = _written(value)
    stated = value.get("question")
    query_id = str(written.id)
    metadata = written.metadata or Metadata()
    name = f"sample {shown(query_id)}"
    stray = next((key for key in _OF_METADATA if key in value), None)
    if stray:
        raise KeyedError(f"{name}: {stray} belongs under metadata; write metadata: {{{stray}: …}}", stray)
    if "expected_output" not in value and not metadata.no_answer:
        import difflib  # noqa: PLC0415 -- paid only for a message

        near = difflib.get_close_matches("expected_output", map(str, value), n=1, cutoff=0.8)
        hint = f"is {near[0]!r} meant as that?" if near else "an unanswerable one says no_answer: true"
        raise KeyedError(f"{name} has no expected_output; {hint}")
    gains = _gains(written.expected_output, name, "expected_output")
    if metadata.k is not None and metadata.k < 1:
        raise KeyedError(f"{name}: k must be at least 1, not {metadata.k}", "metadata.k")
    relevant = {doc for doc, gain in gains.items() if gain > 0}
    if metadata.no_answer and relevant:
        raise KeyedError(f"{name} says no_answer: true and names relevant documents", "metadata.no_answer")
    if "" in written.negatives:
        raise KeyedError(f"{name}: a negative is empty; write its id, or leave it out", "negatives")
    negatives = tuple(dict.fromkeys(map(str, written.negatives)))
    if not relevant.isdisjoint(negatives):
        both = shown(next(doc for doc in negatives if doc in relevant))
        raise KeyedError(f"{name}: {both} is a negative and relevant; keep one", "negatives")
    return Sample(
        query_id=query_id,
        gains=gains,
        judge_gains=_judge_labels(written.judge_labels, gains, name),
        negatives=negatives,
        spans=spans_of(written.expected_output),
        question=question_of(written.input) or (stated if isinstance(stated, str) else None),
        tags=tuple(dict.fromkeys(metadata.tags)),
        k=metadata.k,
        no_answer=metadata.no_answer,
        answers=_answers(written.expected_output, metadata.answer, name),
        claims=_claims(metadata.claims, name),
        as_of=_day(metadata.as_of, name),
        source=all_of(metadata.source),
        entities=None if metadata.entities is None else tuple(dict.fromkeys(metadata.entities)),
        cluster=None if metadata.cluster is None else str(metadata.cluster),
        line=line,
    )


def _written(value: object) -> tuple[dict[Any, Any], WrittenSample]:
    if not isinstance(value, dict):
        raise KeyedError(f"expected a sample with id and expected_output, found {shown(value)}")
    if value.get("id") in (None, ""):
        raise KeyedError("the sample has no id")
    try:
        return value, msgspec.convert(value, WrittenSample)
    except msgspec.ValidationError as error:
        name = f"sample {shown(str(value['id']))}: " if isinstance(value["id"], str | int | float) else ""
        raise KeyedError(f"{name}{spoken(error)}") from error


def _gains(written: object, name: str, key: str) -> dict[str, float]:
    try:
        return judgments(written)
    except ValueError as error:
        raise KeyedError(f"{name}: {error}", f"{key}{getattr(error, 'key', None) or ''}") from error


def _judge_labels(written: object, gains: dict[str, float], name: str) -> dict[str, float]:
    """A judge's gains for what the gold does not judge: where both speak, the gold is right."""
    if written is None:
        return {}
    if not isinstance(written, dict):
        raise KeyedError(f"{name}: expected a mapping of ids to gains, found {shown(written)}", "judge_labels")
    return {doc: gain for doc, gain in _gains(written, name, "judge_labels").items() if doc not in gains}


def _day(written: str | None, name: str) -> str | None:
    day = iso_day(written)
    if written is not None and day is None:
        raise KeyedError(f"{name}: as_of is {shown(written)}; write a date, as 2025-06-01", "metadata.as_of")
    return day


def _answers(expected: object, answer: Any, name: str) -> tuple[str, ...]:
    """The texts of which any one is an answer: of `metadata.answer`, else of `expected_output.answer`."""
    key = "metadata.answer"
    if answer is None and isinstance(expected, dict) and isinstance(expected.get("ids"), list | dict):
        key = "expected_output.answer"
        answer = expected.get("answer")
    if answer is None:
        return ()
    answers = answer if isinstance(answer, list) else [answer]
    if not all(isinstance(each, str) and each.strip() for each in answers) or not answers:
        raise KeyedError(f"{name}: the answer is {shown(answer)}; write a text that is not empty, or several", key)
    return tuple(answers)


def _claims(written: object, name: str) -> tuple[GoldClaim, ...]:
    """What a right answer must say, one fact each: texts, or objects with `text` and `vital`."""
    key = "metadata.claims"
    if written is None:
        return ()
    if not isinstance(written, list):
        raise KeyedError(f"{name}: expected a list of claims, found {shown(written)}", key)
    claims: dict[str, GoldClaim] = {}
    for position, entry in enumerate(written):
        stated = entry if isinstance(entry, dict) else {"text": entry}
        text = stated.get("text")
        vital = stated.get("vital", True)
        where = f"{key}[{position}]"
        stray = next((each for each in stated if each not in {"text", "vital"}), None)
        if stray is not None:
            raise KeyedError(f"{name}: a claim has text and vital, and no {shown(stray)}", where)
        if not isinstance(vital, bool):
            raise KeyedError(f"{name}: expected true or false, found {shown(vital)}", f"{where}.vital")
        if not isinstance(text, str) or not any(map(str.isalnum, text)):
            raise KeyedError(f"{name}: the claim is {shown(text)}; write one fact in words", where)
        folded = " ".join(unicodedata.normalize("NFC", text).split())
        if folded in claims:
            raise KeyedError(f"{name}: the claim {shown(folded)} stands twice; keep one", where)
        claims[folded] = GoldClaim(folded, vital)
    return tuple(claims.values())


def judgments(value: object) -> dict[str, float]:
    """Gains by document id from `expected_output`; a ValueError where an entry is no id, or its gain no gain."""
    if isinstance(value, dict) and isinstance(value.get("ids"), list | dict):
        value = value["ids"]
    if value is None:
        return {}
    if isinstance(value, list):
        gains: dict[str, float] = {}
        for at, entry in enumerate(value):
            if not isinstance(entry, dict):
                gains[_id(entry)] = 1.0
                continue
            span, gain = _span(entry, f"[{at}]")
            if span.id in gains:
                raise KeyedError(f"the span {shown(span.id)} stands twice; keep one", f"[{at}]")
            gains[span.id] = gain
        return gains
    if not isinstance(value, dict):
        raise ValueError(f"expected a list of ids or a mapping of ids to gains, found {shown(value)}")
    return {_id(doc): check_gain(doc, gain) for doc, gain in value.items()}


def spans_of(value: object) -> dict[str, Span]:
    """The spans of `expected_output` by the ids that stand for them in `judgments`, which refuses what is none."""
    value = value.get("ids") if isinstance(value, dict) else value
    entries = value if isinstance(value, list) else []
    spans = (_span(entry, "")[0] for entry in entries if isinstance(entry, dict))
    return {span.id: span for span in spans}


def _span(entry: dict[Any, Any], at: str) -> tuple[Span, float]:
    """A span and its gain; a KeyedError where it is none."""
    try:
        written = msgspec.convert(entry, _WrittenSpan)
    except msgspec.ValidationError as error:
        keys = ", ".join(_WrittenSpan.__struct_fields__)
        raise KeyedError(f"expected a span of {keys}: {spoken(error)}", at) from error
    if written.end <= written.start:
        raise KeyedError(f"the span starts at {written.start} and ends before {written.end}", f"{at}.end")
    span = Span(str(written.doc), written.start, written.end, written.text)
    return span, check_gain(span.id, written.gain)


def check_gain(doc: object, gain: object) -> float:
    """A gain as a number; a ValueError where it is no finite number, or too large for an exponential gain."""
    if isinstance(gain, bool) or not isinstance(gain, int | float):
        raise ValueError(f"the gain of {shown(doc)} is {shown(gain)}, not a number")
    if not abs(gain) <= LARGEST_GAIN:
        stated = shown(gain) if isinstance(gain, int) else f"{gain:g}"
        raise ValueError(f"the gain of {shown(doc)} is {stated}; gains lie between -{LARGEST_GAIN} and {LARGEST_GAIN}")
    number = float(gain)
    return USUAL_GAINS.get(number, number)


def _id(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError(f"expected a document id, found {shown(value)}")
    return str(value)


def add_sample(samples: dict[str, Sample], sample: Sample, location: Problem, log: ProblemLog) -> None:
    """Add to the gold unless the query is there already, which is noted."""
    first = samples.setdefault(sample.query_id, sample)
    if first is not sample:
        where = f" (first on line {first.line})" if first.line else ""
        log.note(location, f"sample {shown(sample.query_id)} stands twice{where}; keep one")
