"""Queries by tag: `lang:pt-BR` has the key lang and the value pt-BR; a bare word is a key without a value."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from rankgate.model.gate_result import GateResult
from rankgate.model.report import BARE_TAG
from rankgate.model.values import Gold, Sample, Verdict
from rankgate.statistics.binomial import hypergeometric_tail

CROSSED = " × "
FEWEST = 5  # questions of a part
MIN_VALUES, MOST_VALUES = 2, 50  # of a tag
LEVEL = 0.01  # one-sided, shared by all tags that may be common
MIN_SHARE = 0.5  # of the questions
LIFT = 2.0  # times the rate of the questions without a tag


def segments_of(gold: Gold, keys: Sequence[str]) -> dict[str, list[int]]:
    """Rows of the gold by segment, sorted by name: `lang:en`, or `lang:en × topic:billing` for several keys.

    A query belongs to every segment of which it has all tags; one that lacks a key, of at least one, belongs to none.
    """
    rows: dict[str, list[int]] = {}
    for row, sample in enumerate(gold.samples.values()):
        names = [""]
        for key in keys:
            pairs = (tag.partition(":") for tag in sample.tags)
            values = dict.fromkeys(value for name, colon, value in pairs if colon and name == key)
            names = [f"{name}{CROSSED if name else ''}{key}:{value}" for name in names for value in values]
        for name in names:
            rows.setdefault(name, []).append(row)
    return dict(sorted(rows.items()))


def split_tag(tag: str) -> tuple[str, str]:
    """The dimension and the value of a tag, as a report's segment has them."""
    dimension, colon, value = tag.partition(":")
    return (dimension, value) if colon else (BARE_TAG, tag)


def rows_by_tag(gold: Gold) -> dict[tuple[str, str], list[int]]:
    """Rows of the gold by dimension and value of each tag, in the order of the gold."""
    rows: dict[tuple[str, str], list[int]] = {}
    for row, sample in enumerate(gold.samples.values()):
        for key in dict.fromkeys(map(split_tag, sample.tags)):
            rows.setdefault(key, []).append(row)
    return rows


def violated_segments(gates: Iterable[GateResult]) -> SegmentIndex:
    """The segments that a gate fails, or warns of."""
    violated = [gate.segment for gate in gates if gate.verdict in (Verdict.FAIL, Verdict.WARN)]
    return SegmentIndex(segment for segment in violated if segment is not None)


class SegmentIndex:
    """Segments by what their names begin with, so that a question is not held against each of thousands."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._beginnings = frozenset(
            name[: cross.start()] for name in self._names for cross in re.finditer(CROSSED, name)
        )

    def of(self, tags: Sequence[str]) -> Iterator[str]:
        """The segments of a question with these tags, as `in_segment` has it."""
        beginnings = [""]
        while beginnings:
            beginning = beginnings.pop()
            for tag in tags:
                name = beginning + tag
                if name in self._names:
                    yield name
                if name in self._beginnings:
                    beginnings.append(name + CROSSED)

    def has_any(self, tags: Sequence[str]) -> bool:
        """Whether a question with these tags is in one of them."""
        return next(self.of(tags), None) is not None


def part_names(sample: Sample) -> tuple[str, ...]:
    """What a question belongs to: its tags, and each `source` as one."""
    return tuple(dict.fromkeys([*sample.tags, *(f"source:{source}" for source in sample.source)]))


def parts_of(samples: Sequence[Sample]) -> dict[str, list[int]]:
    """By tag value the places of the questions that have it, for each tag with 2 to 50 values; at least five questions.

    What a question's `source` is counts like a tag of that name. A bare word is a value of one tag that all bare words
    share.
    """
    by_name: dict[str, list[int]] = defaultdict(list)
    for row, sample in enumerate(samples):
        for name in part_names(sample):
            by_name[name].append(row)
    values = Counter(split_tag(name)[0] for name in by_name)
    return {
        name: rows
        for name, rows in by_name.items()
        if MIN_VALUES <= values[split_tag(name)[0]] <= MOST_VALUES and len(rows) >= FEWEST
    }


def in_segment(tags: Sequence[str], segment: str | None) -> bool:
    """Whether a question with these tags is in a segment, of one tag or of several crossed; None is of all."""
    if segment is None or segment in tags:
        return True
    crossed = (f"{tag}{CROSSED}" for tag in tags)
    return any(segment.startswith(each) and in_segment(tags, segment[len(each) :]) for each in crossed)


class TagShare(msgspec.Struct, frozen=True, kw_only=True):
    """A tag that most misses and few others have: `misses` of `of_misses`, and of all questions `questions`."""

    tag: str
    misses: int
    of_misses: int
    questions: int
    of_questions: int


def common_tags(some: Sequence[Iterable[str]], every: Sequence[Iterable[str]]) -> list[TagShare]:
    """Tags that more than half of some questions have, beyond chance, the least likely first; from the tags of each.

    Beyond chance: at least twice as many of those with the tag are among them as of those without, and the
    hypergeometric tail passes at 1 %, divided by the number of tags that any of them has (Bonferroni).
    """
    among = Counter(tag for tags in some for tag in set(tags))
    overall = Counter(tag for tags in every for tag in set(tags))
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
