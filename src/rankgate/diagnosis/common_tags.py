"""Tags that some questions share beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from rankgate.statistics.chance import hypergeometric_tail

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
