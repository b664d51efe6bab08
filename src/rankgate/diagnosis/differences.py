"""What differs between a run and its baseline beside the rankings: what each says of itself, gold set, list lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.metrics.base import Cutoff, Metric, sees_below
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.lineage import (
    AS_OF,
    COMPONENTS,
    GOLD,
    KNOWN_KEYS,
    LABELS,
    OTHER,
    QUESTIONS,
    RECORDING,
    Difference,
    GoldChanges,
    GoldMark,
    text_of,
)
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE
from rankgate.model.wording import distinguishing_decimals, value_text

if TYPE_CHECKING:
    from rankgate.criteria import Criteria

_OF_STORE = "accepted"  # the one fact that a store adds to what the run said of itself
_DEEPEST = 8  # levels of mappings that are compared key by key
OTHER_LENGTH = 2  # times: below, lists are about as long


def run_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Where what two runs say of themselves differs, by component, then other keys in the order of the alphabet."""
    differences: list[Difference] = []
    for what, keys in COMPONENTS.items():
        old = {key: before[key] for key in keys if before.get(key) is not None}
        new = {key: after[key] for key in keys if after.get(key) is not None}
        if len(old) <= 1 and len(new) <= 1:  # the same thing, whatever each calls it
            old_value = next(iter(old.values()), None)
            new_value = next(iter(new.values()), None)
            differences += _differences(what, None, old_value, new_value)
        else:
            differences += [each for key in keys for each in _differences(what, key, old.get(key), new.get(key))]
    for key in sorted((before.keys() | after.keys()) - KNOWN_KEYS - {_OF_STORE, RECORDING}):
        differences += _differences(OTHER, key, before.get(key), after.get(key))
    return differences


def gold_differences(then: GoldMark | None, now: GoldMark) -> list[Difference]:
    """Where the gold set differs from the one that was current when the baseline was accepted.

    Labels and questions are fingerprints, `as_of` is the first and last day.
    """
    if then is None:
        return []
    values: dict[str, tuple[str | None, str | None]] = {
        LABELS: (then.fingerprint, now.fingerprint),
        QUESTIONS: (then.queries_fingerprint, now.queries_fingerprint),
        AS_OF: (_range(then.as_of), _range(now.as_of)),
    }
    return [Difference(what=GOLD, key=key, before=old, after=new) for key, (old, new) in values.items() if old != new]


def _differences(what: str, key: str | None, before: object, after: object, depth: int = 0) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST:
        for inner in sorted(before.keys() | after.keys()):
            path = inner if key is None else f"{key}.{inner}"
            yield from _differences(what, path, before.get(inner), after.get(inner), depth + 1)
        return
    old = None if before is None else text_of(before)
    new = None if after is None else text_of(after)
    if old != new:
        yield Difference(what=what, key=key, before=old, after=new)


def _range(days: tuple[str, str] | None) -> str | None:
    return days and (days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}")


def baseline_notes(
    criteria: Criteria, candidate: ScoredRun, baseline: ScoredRun, changes: GoldChanges | None
) -> list[str]:
    """That the gold set changed, and what became of lists of another length."""
    scores = candidate.scores
    notes: list[str] = []
    if changes:
        notes.append(gold_note(changes))
    sees_all = any(metric.cutoff is Cutoff.WHOLE or sees_below(metric) for metric in criteria.metrics())
    if not scores.listed and sees_all and baseline.run.cut:
        notes.append(f"Lists of the baseline were cut at rank {baseline.run.depth}; those of the table may be longer.")
    elif sees_all and (scores.cut or baseline.scores.cut or baseline.run.cut):
        where = f"rank {baseline.run.depth}, the depth of the baseline, on both sides"
        notes.append(f"To be compared, lists were cut at {where}{cut_text(criteria.metrics(), scores)}.")
    longest = _longest_list(scores)
    longest_before = _longest_list(baseline.scores)
    if sees_all and max(longest, longest_before) >= OTHER_LENGTH * min(longest, longest_before) > 0:
        more = "over" if scores.cut else "up to"  # lists that were cut at the depth of the baseline
        lengths = f"{more} {longest:,} results now, {longest_before:,} in the baseline"
        notes.append(f"Lists have {lengths}; metrics of the whole list see that.")
    return notes


def _longest_list(scores: Scores) -> int:
    return max((summary.retrieved or 0 for summary in scores.rank_summaries.values()), default=0)


def cut_text(metrics: Sequence[Metric], *runs: Scores) -> str:
    """What cutting the lists of a run makes of its values, after a semicolon; empty where it is no more than rounding.

    Of several runs it speaks of the first that it changes.
    """
    texts: list[str] = []
    for metric in metrics:
        for scores in (each for each in runs if metric.name in each.uncut):
            uncut_values = [value for value in scores.uncut_values(metric.name) if value is not None]
            cut_values = [value for value in scores.values[metric.name] if value is not None]
            if not (uncut_values and cut_values):
                continue
            uncut = metric.aggregate(uncut_values)
            cut = metric.aggregate(cut_values)
            if abs(uncut - cut) > TOLERANCE:
                decimals = distinguishing_decimals(uncut, cut, metric.unit)
                uncut_text = value_text(uncut, metric.unit, decimals)
                rest_text = value_text(cut, metric.unit, decimals)
                texts.append(f"{metric.name} is {uncut_text} of the whole lists and {rest_text} of what is left")
                break
    return f"; {', '.join(texts)}" if texts else ""


def gold_note(changes: GoldChanges) -> str:
    """What became of the gold set since the baseline was accepted, in one sentence."""
    named = {"added": changes.added, "removed": changes.removed, "relabelled": changes.relabelled}
    counts = ", ".join(f"{count:,} {what}" for what, count in named.items() if count)
    which = f" ({counts})" if counts else ""
    return f"The gold set changed since the baseline was accepted{which}; both runs are scored with today's."
