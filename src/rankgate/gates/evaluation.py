"""What gates are decided on: the files of a commit, and the scores that they give to a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.runs import runs_of
from rankgate.criteria.waivers import Waivers
from rankgate.diagnosis.stale_gold import refuse_unfit, scored_baseline
from rankgate.gates.anchor import scored_anchor
from rankgate.gates.fitting import plan_with, refuse_lacking, refuse_misfits
from rankgate.gates.given_up import ScoredAnchor
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun, Watch, listed, scored, unwatched
from rankgate.model.scores import Scores
from rankgate.model.traffic import TrafficFiles
from rankgate.model.values import Gold, RunField

if TYPE_CHECKING:
    from rankgate.gates.judged import Judge


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit judges a run by, read; the criteria name the run and the baseline that the inputs do not name."""

    inputs: Inputs
    criteria: Criteria
    gold: Gold
    waivers: Waivers
    traffic: TrafficFiles | None = None

    @property
    def names_traffic(self) -> bool:
        """Whether traffic is to be compared; where `traffic` is None its questions are not here."""
        return self.criteria.inputs.traffic is not None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A gold set, what was computed by it, and the scored runs.

    The baseline's scores know in which lists it differs from the run. There is no anchor where no loss can have added
    up. `judges` are those of the metrics that a model decides.
    """

    gold: Gold
    plan: Plan
    run: ScoredRun
    baseline: ScoredRun | None = None
    anchor: ScoredAnchor | None = None
    judges: Mapping[str, Judge] = {}

    @property
    def scores(self) -> Scores:
        """The run's."""
        return self.run.scores

    @property
    def baseline_scores(self) -> Scores | None:
        """The baseline's."""
        return self.baseline.scores if self.baseline else None

    @property
    def runs(self) -> list[ScoredRun]:
        """The run and, if there is one, the baseline."""
        return [self.run, self.baseline] if self.baseline else [self.run]


def evaluate(case: Case, watch: Watch = unwatched) -> Evaluation:
    """Score the run, the baseline, which is a run too, and the anchor: today, by one gold set, on one code path.

    Raises:
        RankgateError: what is named cannot be read, or does not fit together.
    """
    inputs, criteria, gold = case.inputs, case.criteria, case.gold
    refuse_misfits(criteria, gold)
    plan = plan_with(criteria.plan(), inputs)
    sources = runs_of(inputs, criteria, plan, gold)
    if RunField.VERDICTS in plan.needs:
        from rankgate.judge.runs import judged_runs  # noqa: PLC0415 -- paid only where answers are judged

        sources = judged_runs(inputs, criteria, gold, plan, sources)
    plan, baseline = scored_baseline(gold, plan, sources.accepted, older_gold=inputs.older_gold, watch=watch)
    if not inputs.without_baseline:
        refuse_lacking(criteria, len(gold.samples), baseline.covered if baseline else None)
    run = scored(gold, sources.candidate.open(plan.needs), plan, sources.candidate, watch=watch)
    refuse_unfit(gold, plan, run, baseline)
    anchor = scored_anchor(inputs, criteria, gold, plan, baseline)
    judges: Mapping[str, Judge] = {}
    if RunField.VERDICTS in plan.needs:
        from rankgate.gates.judged import people_of  # noqa: PLC0415 -- as above

        judges = people_of(criteria, run.run.judge, inputs.date, run.scores, run.run.judges)
    return Evaluation(
        gold=gold, plan=plan, run=run, baseline=listed(gold, plan, run, baseline), anchor=anchor, judges=judges
    )
