"""Gold samples: the one place that turns a written sample, of whatever format, into judgments.

`expected_output` is a list of ids (binary), `{id: gain}` (graded), or `{"ids": either, "answer": …}`.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from rankgate.errors import Problem, shown
from rankgate.model import Sample
from rankgate.readers.base import ProblemLog
from rankgate.readers.json_text import spoken

LARGEST_GAIN = 1000  # 2^gain must stay a finite number


class Input(msgspec.Struct):
    """What was asked."""

    question: str | None = None


class Metadata(msgspec.Struct):
    """What is known about a sample; other keys are the user's own."""

    k: int | None = None
    tags: list[str] = []
    no_answer: bool = False


class WrittenSample(msgspec.Struct):
    """A sample as files hold it."""

    id: str | int
    expected_output: Any = None
    input: Input | str | None = None
    metadata: Metadata | None = None


class _SampleError(ValueError):
    """What is wrong with a sample, and under which of its keys."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def to_sample(value: object, place: Problem, log: ProblemLog) -> Sample | None:
    """A checked sample from plain values, or None after noting what is wrong.

    Args:
        value: the decoded sample.
        place: file, line and key for messages.
        log: takes the problem.
    """
    try:
        return _checked(value, place.line)
    except _SampleError as error:
        key = ".".join(filter(None, (place.key, error.key))) or None
        log.add(msgspec.structs.replace(place, message=str(error), key=key))
        return None


def _checked(value: object, line: int | None) -> Sample:
    written = _written(value)
    query_id, metadata = str(written.id), written.metadata or Metadata()
    name = f"sample {shown(query_id)}"
    if isinstance(value, dict) and "expected_output" not in value and not metadata.no_answer:
        import difflib  # noqa: PLC0415 -- paid only for a message

        near = difflib.get_close_matches("expected_output", map(str, value), n=1, cutoff=0.8)
        hint = f"is {near[0]!r} meant as that?" if near else "an unanswerable one says no_answer: true"
        raise _SampleError(f"{name} has no expected_output; {hint}")
    try:
        gains = judgments(written.expected_output)
    except ValueError as error:
        raise _SampleError(f"{name}: {error}", "expected_output") from error
    if metadata.k is not None and metadata.k < 1:
        raise _SampleError(f"{name}: k must be at least 1, not {metadata.k}", "metadata.k")
    if metadata.no_answer and any(gain > 0 for gain in gains.values()):
        raise _SampleError(f"{name} says no_answer: true and names relevant documents", "metadata.no_answer")
    return Sample(
        query_id=query_id,
        gains=gains,
        question=written.input.question if isinstance(written.input, Input) else written.input,
        tags=tuple(dict.fromkeys(metadata.tags)),
        k=metadata.k,
        no_answer=metadata.no_answer,
        line=line,
    )


def _written(value: object) -> WrittenSample:
    if not isinstance(value, dict):
        raise _SampleError(f"expected a sample with id and expected_output, found {shown(value)}")
    if value.get("id") is None:
        raise _SampleError("the sample has no id")
    try:
        return msgspec.convert(value, WrittenSample)
    except msgspec.ValidationError as error:
        name = f"sample {shown(str(value['id']))}: " if isinstance(value["id"], str | int | float) else ""
        raise _SampleError(f"{name}{spoken(error)}") from error


def judgments(value: object) -> dict[str, float]:
    """Gains by document id from `expected_output`.

    Raises:
        ValueError: an entry is neither an id nor a gain, or two entries for one document disagree.
    """
    if isinstance(value, dict) and isinstance(value.get("ids"), list | dict):
        value = value["ids"]
    if value is None:
        return {}
    if isinstance(value, list):
        return {_id(entry): 1.0 for entry in value}
    if not isinstance(value, dict):
        raise ValueError(f"expected a list of ids or a mapping of ids to gains, found {shown(value)}")
    return {_id(doc): check_gain(doc, gain) for doc, gain in value.items()}


def check_gain(doc: object, gain: object) -> float:
    """A gain as a number.

    Raises:
        ValueError: it is no finite number, or too large for an exponential gain.
    """
    if isinstance(gain, bool) or not isinstance(gain, int | float):
        raise ValueError(f"the gain of {shown(doc)} is {shown(gain)}, not a number")
    if not math.isfinite(gain) or abs(gain) > LARGEST_GAIN:
        raise ValueError(f"the gain of {shown(doc)} is {gain:g}; gains lie between -{LARGEST_GAIN} and {LARGEST_GAIN}")
    return float(gain)


def _id(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"expected a document id, found {shown(value)}")
    return str(value)


def add_sample(samples: dict[str, Sample], sample: Sample, place: Problem, log: ProblemLog) -> None:
    """Add to the gold unless the query is there already."""
    first = samples.setdefault(sample.query_id, sample)
    if first is not sample:
        where = f" (first on line {first.line})" if first.line else ""
        message = f"sample {shown(sample.query_id)} stands twice{where}; keep one"
        log.add(msgspec.structs.replace(place, message=message))
