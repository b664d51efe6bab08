"""A loss in a part of the questions that no gate names: which value of which tag lost what the rest did not.

A part is the questions with one value of a tag. It is named when three things hold together:

(a) it moved more than chance puts there. Its mean |change| is held against a random draw of as many questions: the
    normal p of a draw without replacement, Holm over all values of all tags, 20 %. How far a part moved says nothing of
    the sign, so that choosing by it costs no level; it spares it, since calm parts are not tested.
(b) the signs of its changes are not chance: the one-sided p of its sign flips, over sums of clusters where there are
    any, is below 2.5 % by Holm among the parts of (a). Where criteria name segments, half of that is theirs.
(c) its mean change lies 1.96 standard errors (Welch) below the rest's, so that a loss which all share is not blamed on
    one.

How often it is wrong and what it finds: docs/statistics.md, by `scripts/simulate_parts.py`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.tags import FEWEST, parts_of, split_tag
from rankgate.model.conclusion import PartLoss
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, Gold, RunField
from rankgate.statistics.binomial import holm
from rankgate.statistics.sign_flips import flip_p

if TYPE_CHECKING:
    from rankgate.criteria import Criteria

MOVED, LEVEL = 0.2, 0.025  # of (a) and of (b)
APART = 1.96  # standard errors, of (c)


class LostPart(NamedTuple):
    """A part that lost what the rest did not: its questions, its mean change, and the p of (b)."""

    name: str
    rows: tuple[int, ...]
    change: float
    p: float


def lost_parts(
    changes: Sequence[float],
    parts: Mapping[str, Sequence[int]],
    *,
    clusters: Sequence[str] = (),
    named: Collection[str] = (),
) -> list[LostPart]:
    """The parts that lost, the largest sum of losses first.

    Args:
        changes: one a question that both runs have a value for; below zero is worse.
        parts: by name, such as `lang:th`, the places of their questions in `changes`.
        clusters: which cluster each question belongs to, where the gold names any.
        named: the tags that segments of the criteria name, for which half of the level is kept.
    """
    moved = moved_most(changes, parts)
    listed = {name: level for name, level in moved.items() if split_tag(name)[0] in named}
    others = {name: level for name, level in moved.items() if name not in listed}
    share = LEVEL / 2 if named else LEVEL
    proven = [*_proven(changes, parts, listed, clusters, share), *_proven(changes, parts, others, clusters, share)]
    lost = [each for each in proven if _apart(changes, each.rows)]
    return sorted(lost, key=lambda each: (each.change * len(each.rows), each.name))


def unnamed_losses(criteria: Criteria, gold: Gold, candidate: Scores, baseline: Scores) -> list[PartLoss]:
    """The parts that lost by the metric of a gate that blocks, or without one of any gate; the most lost first.

    Only metrics that are means have changes to add up, and only such as do not compare with the baseline themselves.
    """
    if not any(sample.tags or sample.source for sample in gold.samples.values()):
        return []
    blocking = [gate for gate in criteria.gates if gate.blocks] or criteria.gates
    metrics = {gate.metric.name: gate.metric for gate in blocking if gate.metric.at_quantile is None}
    tags = {tag for gate in criteria.gates for rule in gate.segments for tag in rule.by}
    tagged: dict[str, list[int]] | None = None
    lost: list[tuple[float, PartLoss]] = []
    for metric in metrics.values():
        if RunField.BASELINE in metric.needs:
            continue
        baseline_values = baseline_column(metric, baseline)
        now = candidate.values[metric.name]
        rows = [row for row, pair in enumerate(zip(baseline_values, now, strict=True)) if None not in pair]
        changes = [metric.direction.sign * ((now[row] or 0.0) - (baseline_values[row] or 0.0)) for row in rows]
        if not any(changes) or not all(map(math.isfinite, changes)):
            continue  # nothing moved, or the gate says that it cannot be judged
        if tagged is None:
            tagged = parts_of(list(gold.samples.values()))
        parts = tagged if len(rows) == len(now) else _among(tagged, rows)
        clusters = [candidate.clusters[row] for row in rows] if candidate.clusters else []
        for each in lost_parts(changes, parts, clusters=clusters, named=tags):
            chosen = [rows[index] for index in each.rows]
            part = PartLoss(
                segment=each.name,
                metric=metric.name,
                unit=metric.unit,
                direction=metric.direction,
                before=_mean([baseline_values[row] or 0.0 for row in chosen]),
                now=_mean([now[row] or 0.0 for row in chosen]),
                n=len(chosen),
                worse=sum(changes[index] < -TOLERANCE for index in each.rows),
                p=each.p,
            )
            lost.append((each.change * len(each.rows), part))
    return [part for _, part in sorted(lost, key=lambda entry: entry[0])]


def _among(parts: Mapping[str, Sequence[int]], rows: Sequence[int]) -> dict[str, list[int]]:
    """The parts as far as they lie in these rows, by their places there."""
    places = {row: index for index, row in enumerate(rows)}
    kept: dict[str, list[int]] = {}
    for name, part_rows in parts.items():
        within = [places[row] for row in part_rows if row in places]
        if len(within) >= FEWEST:
            kept[name] = within
    return kept


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def moved_most(changes: Sequence[float], parts: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """(a): the parts that moved more than a draw of as many questions would, with their p.

    p is the upper normal tail of the mean absolute change of a part, among draws of as many questions without
    replacement; Holm's correction counts all parts.
    """
    sizes = list(map(abs, changes))
    count = len(sizes)
    if not count or max(sizes) == 0:
        return {}
    mean = math.fsum(sizes) / count
    variance = math.fsum((x - mean) ** 2 for x in sizes) / max(count - 1, 1)
    levels: dict[str | None, float] = {}
    for name, rows in parts.items():
        spread = math.sqrt(variance / len(rows) * (1 - len(rows) / count))
        of_part = math.fsum(sizes[row] for row in rows) / len(rows)
        levels[name] = math.erfc((of_part - mean) / spread / math.sqrt(2)) / 2 if spread else 1.0
    confidences = holm(levels, 2 * MOVED)
    return {name: levels[name] for name in parts if levels[name] < (1 - confidences[name]) / 2}


def _proven(
    changes: Sequence[float],
    parts: Mapping[str, Sequence[int]],
    moved: Mapping[str, float],
    clusters: Sequence[str],
    level: float,
) -> list[LostPart]:
    """(b), by Holm among the parts that moved."""
    tested = {name: LostPart(name, tuple(parts[name]), *_tested(changes, parts[name], clusters)) for name in moved}
    levels: dict[str | None, float] = {name: each.p for name, each in tested.items()}
    confidences = holm(levels, 2 * level)
    return [each for name, each in tested.items() if each.p < (1 - confidences[name]) / 2]


def _tested(changes: Sequence[float], rows: Sequence[int], clusters: Sequence[str]) -> tuple[float, float]:
    """The mean change of some questions, and the p of its sign flips."""
    flipped = [changes[row] for row in rows]
    mean = _mean(flipped)
    if clusters:
        sums: dict[str, float] = defaultdict(float)
        for row in rows:
            sums[clusters[row]] += changes[row]
        flipped = list(sums.values())
    return mean, flip_p(flipped)


def _apart(changes: Sequence[float], rows: Sequence[int]) -> bool:
    """(c): whether the mean change of these questions lies below that of the rest, by `APART` standard errors.

    There is a rest: all questions together did not move more than a draw of them.
    """
    chosen = set(rows)
    of_part = [changes[row] for row in rows]
    rest = [change for row, change in enumerate(changes) if row not in chosen]
    gap = _mean(of_part) - _mean(rest)
    return gap <= -APART * math.sqrt(_square_error(of_part) + _square_error(rest)) and gap < 0


def _square_error(values: Sequence[float]) -> float:
    """The squared standard error of the mean; 0.0 for a single value, which tells nothing of its spread."""
    count = len(values)
    mean = _mean(values)
    return math.fsum((x - mean) ** 2 for x in values) / max(count - 1, 1) / count
