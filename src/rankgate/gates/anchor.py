"""The anchor of a check: the oldest acceptance that its store keeps and whose questions are still asked, scored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rankgate.baselines.acceptances import anchor_of
from rankgate.baselines.base import KeptRun
from rankgate.baselines.records import Record
from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.rereading import lists_of
from rankgate.criteria.runs import memory_of
from rankgate.diagnosis.gold_set import stale_text
from rankgate.errors import RankgateError
from rankgate.gates.given_up import ScoredAnchor, adds_up
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_baseline import scored_as_baseline
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.lineage import AnchorMark
from rankgate.model.values import Gold

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory

STILL = 0.5  # of an acceptance's own questions, that are asked today


def scored_anchor(
    inputs: Inputs, criteria: Criteria, gold: Gold, plan: Plan, baseline: ScoredRun | None
) -> ScoredAnchor | None:
    """The anchor of the accepted run that a check compares with; None where nothing can have added up.

    That is so where it is that run itself, or one with the same rankings, and where no gate that blocks limits a drop.
    """
    metrics = [gate.metric for gate in criteria.gates if adds_up(gate)]
    memory = memory_of(inputs, criteria) if metrics else None
    if memory is None or baseline is None or baseline.run.lineage is None:
        return None
    try:
        accepted = _until(memory.read("accepted"), baseline.run.lineage.record)
        mark = anchor_of(accepted, memory.keeps)
    except RankgateError:
        return ScoredAnchor(problem="log")
    first = next((row for row, each in enumerate(accepted) if mark and each.id == mark.id), None)
    if mark is None or first is None:
        return ScoredAnchor(mark=mark, problem="gone") if mark else None
    if accepted[first].sha256 == accepted[-1].sha256:
        return None
    only = replace(plan, metrics=list(dict.fromkeys(metrics)), also=frozenset())
    try:
        return _Asked(memory, gold, only).oldest(accepted[first:], mark)
    except RankgateError:
        return ScoredAnchor(mark=mark, problem="run")


def _until(accepted: Sequence[Record], name: str) -> Sequence[Record]:
    """The acceptances up to the last of an id."""
    last = max((row for row, each in enumerate(accepted) if each.id == name), default=-1)
    return accepted[: last + 1]


class _Asked(msgspec.Struct, frozen=True):
    """Which of the acceptances of a store are of questions that are asked today, and their scores."""

    memory: Memory
    gold: Gold
    plan: Plan

    def oldest(self, accepted: Sequence[Record], mark: AnchorMark) -> ScoredAnchor | None:
        """The first of them, of which at least half of the questions are asked; None where it is but the last."""
        if (scored := self._scored(accepted[0])) is not None:
            return self._as_anchor(scored, mark)
        later = [row for row in range(1, len(accepted) - 1) if self.memory.keeps(accepted[row])]
        low = 0
        high = len(later)
        oldest = None
        while low < high:  # a gold set moves on: of what was accepted later no fewer questions are asked
            middle = (low + high) // 2
            scored = self._scored(accepted[later[middle]])
            if scored is None:
                low = middle + 1
            else:
                high, oldest = middle, scored
        row = later[high] if oldest is not None else len(accepted) - 1
        steps = len(accepted) - 1 - row
        moved = AnchorMark(id=accepted[row].id, date=accepted[row].date, steps=steps)
        anchor = self._as_anchor(oldest, moved) if oldest is not None else ScoredAnchor(mark=moved)
        return replace(anchor, passed_over=mark.date)

    def _scored(self, record: Record) -> ScoredRun | None:
        """Its run with today's gold and metrics; None where too few of its own questions are asked."""
        source = KeptRun(self.memory, record)
        opened = replace(source.open(self.plan.needs), gold=self.memory.gold_of(record))
        run = scored_as_baseline(self.gold.by_id, opened, self.plan, source)
        own = record.gold.queries if record.gold else record.queries
        return run if run.covered >= STILL * own else None

    def _as_anchor(self, run: ScoredRun, mark: AnchorMark) -> ScoredAnchor:
        if stale_text(self.gold, self.plan, run.scores, partial(lists_of, run)):
            return ScoredAnchor(mark=mark, problem="foreign")
        scores = run.scores
        if run.run.depth and self.plan.depth and run.run.depth < self.plan.depth:
            # Its lists end earlier: metrics that read them to their end have nothing to compare with.
            whole = frozenset(each.name for each in self.plan.metrics if not isinstance(each.cutoff, int))
            scores = replace(scores, foreign=whole)
        return ScoredAnchor(mark=mark, scores=scores)
