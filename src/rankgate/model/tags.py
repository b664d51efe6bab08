"""Queries by tag: `lang:pt-BR` has the key lang and the value pt-BR; a bare word is a key without a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from rankgate.model.gate_result import GateResult
from rankgate.model.report import BARE_TAG
from rankgate.model.values import Gold, Sample, Verdict
from rankgate.statistics.chance import hypergeometric_tail

CROSSED = " × "
LEVEL = 0.01  # one-sided, shared by all tags that are looked at
MIN_SHARE = 0.5  # of the questions
LIFT = 2.0  # times the rate of the questions without a tag


class TagShare(msgspec.Struct, frozen=True, kw_only=True):
    """A tag that most misses and few others have: `misses` of `of_misses`, and of all questions `questions`."""

    tag: str
    misses: int
    of_misses: int
    questions: int
    of_questions: int


def standing_out(some: Sequence[Iterable[str]], every: Sequence[Iterable[str]]) -> list[TagShare]:
    """Tags that more than half of some questions have, beyond chance, the least likely first; from the tags of each.

    Beyond chance: at least twice as many of those with the tag are among them as of those without, and the
    hypergeometric tail passes at 1 %, divided by the number of tags that any of them has (Bonferroni).
    """
    among, overall = (Counter(tag for tags in questions for tag in set(tags)) for questions in (some, every))
    drawn, total = len(some), len(every)
    likely: list[tuple[float, int, str]] = []
    for tag, hits in among.items():
        count = overall[tag]
        if hits > MIN_SHARE * drawn and hits * (total - count) >= LIFT * (drawn - hits) * count:
            likely.append((hypergeometric_tail(hits, drawn, count, total), count, tag))
    return [
        TagShare(tag=tag, misses=among[tag], of_misses=drawn, questions=count, of_questions=total)
        for tail, count, tag in sorted(likely)
        if tail * len(among) < LEVEL
    ]


def segments_of(gold: Gold, keys: Sequence[str]) -> dict[str, list[int]]:
    """Rows of the gold by segment, sorted by name: `lang:en`, or `lang:en × topic:billing` for several keys.

    A query belongs to every segment of which it has all tags; one that lacks a key belongs to none.
    """
    found: dict[str, list[int]] = {}
    for row, sample in enumerate(gold.samples.values()):
        names = [""]
        for key in keys:
            pairs = (tag.partition(":") for tag in sample.tags)
            values = dict.fromkeys(value for name, colon, value in pairs if colon and name == key)
            names = [f"{name}{CROSSED if name else ''}{key}:{value}" for name in names for value in values]
        for name in names:
            if name:
                found.setdefault(name, []).append(row)
    return dict(sorted(found.items()))


def split_tag(tag: str) -> tuple[str, str]:
    """The dimension and the value of a tag, as a report's segment has them."""
    dimension, colon, value = tag.partition(":")
    return (dimension, value) if colon else (BARE_TAG, tag)


def rows_by_tag(gold: Gold) -> dict[tuple[str, str], list[int]]:
    """Rows of the gold by dimension and value of each tag, in the order of the gold."""
    found: dict[tuple[str, str], list[int]] = {}
    for row, sample in enumerate(gold.samples.values()):
        for key in dict.fromkeys(map(split_tag, sample.tags)):
            found.setdefault(key, []).append(row)
    return found


def failing(gates: Iterable[GateResult]) -> Callable[[Sequence[str]], bool]:
    """Whether a question with these tags is in a segment that a gate fails, or warns of."""
    violated = (gate.segment for gate in gates if gate.verdict in (Verdict.FAIL, Verdict.WARN))
    segments = [segment for segment in violated if segment is not None]
    return lambda tags: any(in_segment(tags, segment) for segment in segments)


def part_names(sample: Sample) -> tuple[str, ...]:
    """What a question belongs to: its tags, and each `source` as one."""
    return tuple(dict.fromkeys([*sample.tags, *(f"source:{source}" for source in sample.source)]))


def in_segment(tags: Sequence[str], segment: str | None) -> bool:
    """Whether a question with these tags is in a segment, of one tag or of several crossed; None is of all."""
    if segment is None or segment in tags:
        return True
    crossed = (f"{tag}{CROSSED}" for tag in tags)
    return any(segment.startswith(each) and in_segment(tags, segment[len(each) :]) for each in crossed)
