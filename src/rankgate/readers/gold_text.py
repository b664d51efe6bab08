"""Gold in the contract's shape, as YAML, JSON or JSONL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec

from rankgate.model.values import MANY, Sample
from rankgate.readers.base import (
    LARGEST_GAIN,
    NO_ENTRIES,
    USUAL_GAINS,
    ProblemLog,
    WrittenQuestion,
    finite_number,
    question_of,
)
from rankgate.readers.recognition import Beginning, GoldFormat, Likeness, Recognised, of_two
from rankgate.readers.source import Source

_YAML = rb"(?:- |-$|[\w\"'][^:\n]*:(?:\s|$))"  # how a line of it may begin
_TEXTS = {type(None): 3, str: 5}  # beside its documents' ids a plain line has so many, by its input; with an object 6


class _PlainLine(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line of JSONL with nothing but a question and judgments, which is the hot path of large gold sets."""

    id: str
    expected_output: list[str] | dict[str, Annotated[float, msgspec.Meta(ge=-LARGEST_GAIN, le=LARGEST_GAIN)]]
    input: WrittenQuestion | str | None = None


_plain_line = msgspec.json.Decoder(_PlainLine).decode
_Hold = Callable[[dict[str, float]], Mapping[str, float]]  # what the gains of a sample are held in


def _read_jsonl(source: Source, log: ProblemLog) -> dict[str, Sample]:
    samples: dict[str, Sample] = {}
    hold: _Hold = dict
    for number, line in source.lines():
        if number > MANY and hold is dict:
            from rankgate.model.large_runs import compact  # noqa: PLC0415 -- paid only by a large gold set

            hold = compact
        plain = _plain_sample(line, number, hold)
        if plain is not None and samples.setdefault(plain.query_id, plain) is plain:
            continue
        from rankgate.readers.samples import read_line  # noqa: PLC0415 -- paid only where a sample states more

        read_line(line, number, samples, source, log)
    return samples


def _plain_sample(line: bytes, number: int, hold: _Hold) -> Sample | None:
    """The sample of a line of JSONL, as `to_sample` makes it, at several times its speed; None where that must look."""
    if not line.isascii():
        return None
    try:
        written = _plain_line(line)
    except (msgspec.MsgspecError, RecursionError):
        return None
    gains = written.expected_output
    texts = len(gains) + _TEXTS.get(type(written.input), 6)
    if line.count(b'"') != 2 * texts or b'""' in line:
        return None  # a quote within a text, a key that stands twice, or an id that is empty
    if isinstance(gains, list):
        gains = dict.fromkeys(gains, 1.0)
    else:
        gains = {doc: USUAL_GAINS.get(gain, gain) for doc, gain in gains.items()}
    return Sample(
        query_id=written.id,
        gains=hold(gains),
        judge_gains=NO_ENTRIES,
        spans=NO_ENTRIES,
        question=question_of(written.input),
        line=number,
    )


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
    if of_columns or not re.match(_YAML, first):  # below a header of a table a question may look like a key
        return Likeness.MAYBE if first.startswith((b"---", b"%")) else Likeness.NO
    last = columns[-1].decode("utf-8", "replace") if columns[2:] else ""
    row = columns[2:] and (columns[1].upper() == b"Q0" or finite_number(last) is not None)
    return Likeness.MAYBE if row else Likeness.YES


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
    of_samples = "samples" in start.keys if start.keys else b'"samples"' in start.line
    return start.json == "{" and start.is_jsonl({"expected_output", "id"}) and not of_samples


YAML = GoldFormat(
    recognise=_recognise_yaml, read=_read_yaml, shape="`samples:` with a list of samples, or the list itself"
)
JSON = GoldFormat(recognise=_recognise_json, read=_read_json, shape=YAML.shape)
JSONL = GoldFormat(recognise=_recognise_jsonl, read=_read_jsonl, shape="one sample a line")
