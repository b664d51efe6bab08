"""The anchor of a check, the oldest acceptance whose questions are still asked; and what was given up since then.

A gate warns where the loss since the anchor is more than 1.5 times what it allows at once and proven at a one-sided
0.25 %, and once: what an acceptance has noted has to grow by as much as the gate allows at once before it is said
again. How often that is wrong and what it finds: docs/statistics.md, by `scripts/simulate_steps.py`. Pure but for the
store that the anchor is read from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rankgate.baselines.base import KeptRun
from rankgate.baselines.records import Record, anchor_of
from rankgate.criteria import Criteria, Gate
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.runs import memory_of
from rankgate.diagnosis.gold_set import stale_text
from rankgate.errors import RankgateError
from rankgate.metrics.comparison import paired_scores
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_baseline import scored_as_baseline
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.conclusion import GivenUp
from rankgate.model.gate_result import GateResult
from rankgate.model.lineage import AnchorMark, AnchorProblem
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, Gold, RunField

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory

STILL = 0.5  # of an acceptance's own questions, that are asked today
TIMES, LEVEL = 1.5, 0.0025  # of what a gate allows at once; one-sided


class ScoredAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """The acceptance from which losses add up, and the scores of its run; `problem` says why there are none.

    `passed_over` is the day of the one in whose place it stands, since too few of that one's questions are asked.
    """

    mark: AnchorMark | None = None
    scores: Scores | None = None
    problem: AnchorProblem | None = None
    passed_over: str | None = None


def scored_anchor(inputs: Inputs, criteria: Criteria, gold: Gold, plan: Plan, accepted_id: str) -> ScoredAnchor | None:
    """The anchor of the acceptance that a check compares with; None where nothing can have added up.

    That is so where it is that run itself, or one with the same rankings, and where no gate that blocks limits a drop.
    """
    metrics = [gate.metric for gate in criteria.gates if adds_up(gate)]
    memory = memory_of(inputs, criteria) if metrics else None
    if memory is None:
        return None
    try:
        records = memory.read("accepted")
        last = max((row for row, each in enumerate(records) if each.id == accepted_id), default=-1)
        accepted = records[: last + 1]
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
        return _ComparableAcceptances(memory, gold, only).oldest(accepted[first:], mark)
    except RankgateError:
        return ScoredAnchor(mark=mark, problem="run")


def adds_up(gate: Gate) -> bool:
    """Whether losses of a gate's metric add up: it blocks and limits a drop.

    Left out are metrics that compare with the baseline themselves, and such as a judge decides: another judge's word is
    no loss.
    """
    return (
        gate.blocks
        and gate.regression_max is not None
        and not gate.metric.needs & {RunField.BASELINE, RunField.VERDICTS}
    )


class _ComparableAcceptances(msgspec.Struct, frozen=True):
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
        accepted_queries = record.gold.queries if record.gold else record.queries
        return run if run.covered >= STILL * accepted_queries else None

    def _as_anchor(self, run: ScoredRun, mark: AnchorMark) -> ScoredAnchor:
        if stale_text(self.gold, self.plan, run):
            return ScoredAnchor(mark=mark, problem="foreign")
        scores = run.scores
        if run.run.depth and self.plan.depth and run.run.depth < self.plan.depth:
            # Its lists end earlier: metrics that read them to their end have nothing to compare with.
            without_cutoff = frozenset(each.name for each in self.plan.metrics if not isinstance(each.cutoff, int))
            scores = replace(scores, foreign=without_cutoff)
        return ScoredAnchor(mark=mark, scores=scores)


def given_up(
    gates: Sequence[Gate], candidate: Scores, anchor: ScoredAnchor, results: Sequence[GateResult] = ()
) -> list[GivenUp]:
    """What metrics lost over all questions since the anchor, the furthest beyond its limit first.

    By `results` the run lost against the baseline as well, or did not.
    """
    mark = anchor.mark
    scores = anchor.scores
    if mark is None or scores is None:
        return []
    overall = [result for result in results if result.segment is None]
    lost = {result.metric for result in overall if result.direction.sign * (result.change.delta or 0.0) < 0}
    by_metric: dict[str, tuple[float, GivenUp]] = {}  # each with how far it is beyond its limit
    for gate in filter(adds_up, gates):
        metric = gate.metric
        limit = gate.regression_max or 0.0
        pairs = paired_scores(metric, candidate, scores)
        if pairs is None:
            continue
        compared = pairs.compared(None)
        sign = metric.direction.sign
        loss = -sign * compared.delta
        most = max(TIMES * limit, mark.given_up.get(metric.name, 0.0) + limit)
        if loss <= most + TOLERANCE or not pairs.proven(LEVEL):
            continue
        loss_since_anchor = GivenUp(
            metric=metric.name,
            unit=metric.unit,
            direction=metric.direction,
            before=compared.baseline,
            now=compared.value,
            limit=-sign * limit,
            n=compared.n_pairs,
            anchor=mark.id,
            since=mark.date,
            steps=mark.steps,
            with_run=metric.name in lost,
        )
        beyond = loss / limit if limit else float("inf")
        if metric.name not in by_metric or by_metric[metric.name][0] < beyond:
            by_metric[metric.name] = beyond, loss_since_anchor
    return [each for _, each in sorted(by_metric.values(), key=lambda counted: counted[0], reverse=True)]


def in_steps(losses: Sequence[GivenUp], results: Sequence[GateResult]) -> list[GivenUp]:
    """Of these the losses that accepted steps have a part in: of what the run alone lost its own gates speak."""
    alone = {each.metric: -each.direction.sign * (each.change.delta or 0.0) for each in results if each.segment is None}
    return [each for each in losses if each.loss > alone.get(each.metric, 0.0) + TOLERANCE]


def noted(anchor: ScoredAnchor, counted: Sequence[GivenUp]) -> AnchorMark | None:
    """What the acceptance of the run has to remember; None where that is what the one before it does."""
    if anchor.mark is None or not (counted or anchor.passed_over):
        return None
    losses = {each.metric: each.loss for each in counted}
    return replace(anchor.mark, steps=anchor.mark.steps + 1, given_up={**anchor.mark.given_up, **losses})
