"""A run that another is compared with, and its scores: which questions are new to it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ReadProgress, ScoredRun, scored
from rankgate.model.scores import Scores
from rankgate.model.values import Gold
from rankgate.readers.base import Run, RunSource
from rankgate.readers.formats import fingerprint_of


def as_baseline(gold: Gold, run: Run, scores: Scores) -> Scores:
    """The scores of a run that another is compared with: they know which questions are new to it.

    What else it lacks is a list without a result, as of the other run: not every format can write an empty one. What
    was accepted knows the gold set of its day, and a table has a row for every question of its own. A file says nothing
    of the kind. What it lacks may have joined the gold set since, and would pass for a gain that hides a loss.
    """
    new = scores.unasked.union(_unknown_queries(gold, run, scores))
    return msgspec.structs.replace(scores, new_queries=new) if new else scores


def _unknown_queries(gold: Gold, run: Run, scores: Scores) -> Collection[str]:
    """The missing questions that the gold set of a run did not have, as far as that is known."""
    mark = run.gold
    missing = scores.missing
    if not missing or not scores.listed:
        return ()
    if mark is not None and mark.judged is not None:
        return missing - mark.judged.keys()
    if mark is not None:  # the questions of a large gold set are not remembered one by one
        return () if mark.fingerprint == fingerprint_of(gold) else missing
    return missing


def scored_as_baseline(
    gold: Gold, run: Run, plan: Plan, source: RunSource, progress: ReadProgress | None = None
) -> ScoredRun:
    """A run that another is compared with; see `scored` and `as_baseline`."""
    baseline = scored(gold, run, plan, source, progress)
    return msgspec.structs.replace(baseline, scores=as_baseline(gold, run, baseline.scores))
