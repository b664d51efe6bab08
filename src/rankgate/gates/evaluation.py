"""What gates are decided on: the files of a commit, which have to fit together, and the scores that they give a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.runs import runs_of
from rankgate.diagnosis.gold_set import refuse_unfit, with_foreign
from rankgate.errors import bad_input
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ReadProgress, ScoredRun, scored
from rankgate.model.scores import KeptQueries, Scores
from rankgate.model.values import Gold, RunField
from rankgate.model.wording import count_text
from rankgate.readers.base import RunSource

if TYPE_CHECKING:
    from rankgate.criteria.waivers import Waivers
    from rankgate.gates.anchor import ScoredAnchor
    from rankgate.gates.judged import Judge
    from rankgate.judge.runs import RunVerdicts
    from rankgate.model.traffic_lists import TrafficFiles

LEAST_KEPT = 10  # items of a list that the metrics of a page look at, and more
DETAIL_FIELDS = frozenset({RunField.IDS, RunField.DOCS, RunField.LATENCY})  # of the runs, beside what metrics need


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What one commit judges a run by, read; the criteria name the run and the baseline that the inputs do not name."""

    inputs: Inputs
    criteria: Criteria
    gold: Gold
    waivers: Waivers | None
    traffic: TrafficFiles | None = None

    @property
    def names_traffic(self) -> bool:
        """Whether traffic is to be compared; where `traffic` is None its questions are not here."""
        return self.criteria.inputs.traffic is not None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A gold set, what was computed by it, and the scored runs.

    There is no anchor where no loss can have added up. `judges` are those of the metrics that a model decides.
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


def evaluate(case: Case, progress: ReadProgress | None = None) -> Evaluation:
    """Score the run, the baseline, which is a run too, and the anchor: today, by one gold set, on one code path."""
    inputs, criteria, gold = case.inputs, case.criteria, case.gold
    refuse_misfits(criteria, gold)
    plan = plan_with(criteria.plan(), inputs)
    sources = runs_of(inputs, criteria, plan, gold)
    verdicts = None
    if RunField.VERDICTS in plan.needs:
        from rankgate.judge.runs import run_verdicts  # noqa: PLC0415 -- paid only where answers are judged

        verdicts = run_verdicts(inputs, criteria, gold, plan, sources.accepted)
    plan, baseline = _scored_baseline(case, plan, sources.accepted, verdicts, progress)
    if not inputs.without_baseline:
        refuse_lacking(criteria, len(gold.samples), baseline.covered if baseline else None)
    opened = sources.candidate.open(verdicts.reads(plan) if verdicts else plan.needs)
    run = scored(gold, verdicts.on(opened) if verdicts else opened, plan, sources.candidate, progress)
    refuse_unfit(gold, plan, run, baseline)
    anchor = None
    lineage = baseline.run.lineage if baseline else None
    if lineage is not None:
        from rankgate.gates.anchor import scored_anchor  # noqa: PLC0415 -- paid only where a store remembers runs

        anchor = scored_anchor(inputs, criteria, gold, plan, lineage.record)
    judges: Mapping[str, Judge] = {}
    if verdicts:
        from rankgate.gates.judged import judges_by_metric  # noqa: PLC0415 -- as above

        judges = judges_by_metric(criteria, run.run.judge, inputs.date, run.scores, run.run.judges)
    return Evaluation(gold=gold, plan=plan, run=run, baseline=baseline, anchor=anchor, judges=judges)


def _scored_baseline(
    case: Case, plan: Plan, source: RunSource, verdicts: RunVerdicts | None, progress: ReadProgress | None
) -> tuple[Plan, ScoredRun | None]:
    """The accepted run, scored by today's gold set and metrics, and the plan with its depth and its lists.

    Where the gold is stale for it, and `older_gold` has the labels of its own ids, it has its values by these, and no
    lists, since these name documents of its own.
    """
    gold, older_gold = case.gold, case.inputs.older_gold
    needs = verdicts.reads(plan) if verdicts else plan.needs
    accepted = source.open(needs)
    if accepted is None:
        return plan, None
    from rankgate.metrics.scored_baseline import ids_of, scored_as_baseline  # noqa: PLC0415 -- paid only where there is one

    plan = replace(plan, depth=accepted.depth, compared=True)
    accepted = verdicts.on(accepted) if verdicts else accepted
    baseline = scored_as_baseline(gold.by_id, accepted, plan, source, progress)
    baseline = with_foreign(gold, plan, baseline)
    again = source.open(needs) if baseline.scores.foreign and older_gold else None
    if again is not None and older_gold is not None:
        again = verdicts.on(again) if verdicts else again
        baseline = scored_as_baseline(older_gold, again, plan, source)
        baseline = replace(baseline, scores=replace(baseline.scores, kept=KeptQueries(), lists={}))
    return replace(plan, baseline_ids=ids_of(baseline.scores, plan)), baseline


def plan_with(plan: Plan, inputs: Inputs) -> Plan:
    """The plan with what details need, with the metric whose changes are to be listed, and what its gates rest on."""
    metrics = {metric.name: metric for metric in plan.metrics}
    if "answered_rate" in metrics:
        from rankgate.metrics.lines import GivenRate  # noqa: PLC0415 -- paid only where answers are judged

        metrics.setdefault(GivenRate.key, GivenRate())
    details = inputs.details
    if details is None:
        return replace(plan, metrics=[*metrics.values()])
    if details.leading:
        metrics.setdefault(details.leading.name, details.leading)
    return with_shown(replace(plan, metrics=[*metrics.values()]), details.depth)


def with_shown(plan: Plan, depth: int) -> Plan:
    """The plan with what details need, of so many items of each list."""
    from rankgate.diagnosis.details import MEASURES  # noqa: PLC0415 -- paid only where details are asked for

    return replace(plan, also=DETAIL_FIELDS, beside=MEASURES, keep=max(depth, LEAST_KEPT))


def refuse_lacking(criteria: Criteria, questions: int, covered: int | None) -> None:
    """A baseline that the criteria require has to be there, and to have half of the questions; a RankgateError else.

    `covered` is how many questions of the gold set it has, None where there is none.
    """
    if not criteria.baseline.required or (covered is not None and 2 * covered >= questions):
        return
    why = "there is none" if covered is None else f"this one has {covered:,} of {count_text(questions, 'question')}"
    todo = "on the main branch `rankgate baseline accept`, and commit what it writes"
    raise bad_input(f"a baseline is required, and {why}; {todo}", file=criteria.name, key="baseline.required")


def refuse_misfits(criteria: Criteria, gold: Gold) -> None:
    """Criteria may only name queries, tags and segments that the gold has; a RankgateError has all that it lacks."""
    if any(gate.segments or gate.must_pass for gate in criteria.gates):
        from rankgate.gates.segments import refuse_unknown  # noqa: PLC0415 -- as above

        refuse_unknown(criteria.gates, gold, criteria.name)
