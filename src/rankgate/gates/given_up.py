"""Small losses add up: what was given up since the anchor, the oldest acceptance that a run is compared with. Pure.

A gate warns where the loss since then is more than 1.5 times what it allows at once and proven at a one-sided 0.25 %,
and once: what an acceptance has noted has to grow by as much as the gate allows at once before it is said again. How
often that is wrong and what it finds: docs/statistics.md, by `scripts/simulate_steps.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rankgate.metrics.comparison import paired_scores
from rankgate.model.conclusion import GivenUp
from rankgate.model.gate_result import GateResult
from rankgate.model.lineage import AnchorMark, AnchorProblem
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, RunField

if TYPE_CHECKING:
    from rankgate.criteria import Gate

TIMES, LEVEL = 1.5, 0.0025  # of what a gate allows at once; one-sided


class ScoredAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """The acceptance from which losses add up, and the scores of its run; `problem` says why there are none.

    `passed_over` is the day of the one in whose place it stands, since too few of that one's questions are asked.
    """

    mark: AnchorMark | None = None
    scores: Scores | None = None
    problem: AnchorProblem | None = None
    passed_over: str | None = None


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


def given_up(
    gates: Sequence[Gate], candidate: Scores, anchor: ScoredAnchor, results: Sequence[GateResult] = ()
) -> list[GivenUp]:
    """What metrics lost over all questions since the anchor, the furthest beyond its limit first.

    By `results` the run lost against the baseline as well, or did not.
    """
    mark, scores = anchor.mark, anchor.scores
    if mark is None or scores is None:
        return []
    lost = {
        each.metric for each in results if each.segment is None and each.direction.sign * (each.change.delta or 0.0) < 0
    }
    by_metric: dict[str, tuple[float, GivenUp]] = {}
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
        one = GivenUp(
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
            by_metric[metric.name] = beyond, one
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
