"""A gold sample with nothing but a question and judgments, which is the hot path of large gold sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from rankgate.model.values import MANY, Sample

LARGEST_GAIN = 1000  # 2^gain must stay a finite number
USUAL_GAINS = {float(gain): float(gain) for gain in range(-2, 11)}  # shared: a judgment's own would take 24 bytes


class Input(msgspec.Struct):
    """What was asked."""

    question: str | None = None


class _PlainLine(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line of JSONL with nothing but a question and judgments."""

    id: str
    expected_output: list[str] | dict[str, Annotated[float, msgspec.Meta(ge=-LARGEST_GAIN, le=LARGEST_GAIN)]]
    input: Input | str | None = None


NO_ENTRIES: dict[str, Any] = {}  # shared: a default of each sample's own would take 64 bytes
_plain_line = msgspec.json.Decoder(_PlainLine).decode


def plain_sample(line: bytes, number: int) -> Sample | None:
    """The sample of a line of JSONL, as `to_sample` makes it, at several times its speed; None where that must look."""
    if not line.isascii():
        return None
    try:
        written = _plain_line(line)
    except (msgspec.MsgspecError, RecursionError):
        return None
    gains = written.expected_output
    texts = len(gains) + (3 if written.input is None else 5 if isinstance(written.input, str) else 6)
    if line.count(b'"') != 2 * texts or b'""' in line:
        return None  # a quote within a text, a key that stands twice, or an id that is empty
    if isinstance(gains, list):
        gains = dict.fromkeys(gains, 1.0)
    else:
        gains = {doc: USUAL_GAINS.get(gain, gain) for doc, gain in gains.items()}
    return Sample(
        query_id=written.id,
        gains=gains if number <= MANY else _compact(gains),
        judge_gains=NO_ENTRIES,
        spans=NO_ENTRIES,
        question=question_of(written.input),
        line=number,
    )


def question_of(written: Input | str | None) -> str | None:
    """What was asked, written as a text or as a mapping."""
    return written.question if isinstance(written, Input) else written


def _compact(gains: dict[str, float]) -> Mapping[str, float]:
    from rankgate.model.large_runs import compact  # noqa: PLC0415 -- paid only by a large gold set

    return compact(gains)
