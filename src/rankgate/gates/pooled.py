"""A pooled gold set judges what earlier systems returned: what it leaves unjudged may undo a proof of harm.

Pooled is a gold set with judgments of gain 0. Where a metric fell and the run shows more that nobody has judged, both
lists are read once more with all of it as relevant. A judge's labels in the gold end the doubt where nothing is
violated by them. They prove no harm, and undo none that people have proven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from rankgate.collecting.pool import results_of
from rankgate.criteria.rereading import lists_of
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.judging import fallen, judge_all
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import compare
from rankgate.metrics.matching import BY_CHUNK, By
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import score
from rankgate.model.gate_result import GateResult
from rankgate.model.values import Evidence, EvidenceState, Gold, Ranking, Reason, ReasonKind, Verdict

POOLED = 0.8  # of the first results of the baseline, that are judged
MAX_LOST = 0.05  # by how much less of the run's are
LEAST_JUDGED = 0.25  # of the baseline's share: with less the gate has no verdict
NO_CUTOFF = 10  # results that are looked at where a metric has no number

Lists = Mapping[str, Ranking]
Columns = Sequence[list[float | None]]  # of the run and of the baseline


class Ends(msgspec.Struct, frozen=True):
    """A metric's columns with what is unjudged as relevant, and the numbers that are shown beside them."""

    columns: Columns
    numbers: dict[str, float]


def doubt_unjudged(case: Case, evaluation: Evaluation, results: list[GateResult]) -> list[GateResult]:
    """The results, in doubt where what is unjudged undoes a proof of harm.

    Args:
        case: whose gates judge.
        evaluation: with a baseline, by which a metric fell.
        results: what `judge_all` decided.
    """
    gold, plan = evaluation.gold, evaluation.plan
    run_shares, baseline_shares = (_judged(gold, plan, run) for run in evaluation.runs)
    doubted: list[Metric] = []
    for metric in fallen(plan, results):
        before, now = baseline_shares[metric.name], run_shares[metric.name]
        if before >= POOLED and before - now > MAX_LOST:
            doubted.append(metric)
    if not doubted:
        return results
    shares = [run_shares, baseline_shares]
    lists = [
        {each.query_id: each for each in lists_of(run) if each.query_id in gold.samples} for run in evaluation.runs
    ]
    ends = {metric.name: _ends(gold, plan, metric, lists, shares) for metric in doubted}
    relevant = _results_with(case, evaluation, {name: each.columns for name, each in ends.items()})
    numbers = {name: each.numbers for name, each in ends.items()}
    strict = lenient = relevant
    labelled = _with_labels(gold)
    if labelled is not None:
        labelled_shares = [_judged(labelled, plan, run) for run in evaluation.runs]
        strict_columns: dict[str, Columns] = {}
        lenient_columns: dict[str, Columns] = {}
        for metric in doubted:
            alone = replace(plan, metrics=[metric], keep_matched=False)
            strict_columns[metric.name] = [score(labelled, each.values(), alone).values[metric.name] for each in lists]
            lenient_columns[metric.name] = _ends(labelled, plan, metric, lists, labelled_shares).columns
            numbers[metric.name]["labelled"] = labelled_shares[0][metric.name]
        strict = _results_with(case, evaluation, strict_columns)
        lenient = _results_with(case, evaluation, lenient_columns)
    return [
        _unless(each, other, low, high, numbers[each.metric]) if each.metric in ends else each
        for each, other, low, high in zip(results, relevant, strict, lenient, strict=True)
    ]


def _results_with(case: Case, evaluation: Evaluation, columns: Mapping[str, Columns]) -> list[GateResult]:
    """What is decided with other values of these metrics, of the run and of the baseline."""
    runs: list[ScoredRun] = []
    for row, run in enumerate(evaluation.runs):
        others = {name: both[row] for name, both in columns.items()}
        runs.append(replace(run, scores=replace(run.scores, values={**run.scores.values, **others})))
    return judge_all(case, replace(evaluation, run=runs[0], baseline=runs[1]))


def _with_labels(gold: Gold) -> Gold | None:
    """The gold with its judge's labels among the judgments, None where it has none.

    No label outweighs the gold's best judgment, makes a hard negative right, or gives a query an answer that has none
    by the gold.
    """
    top = max(gain for sample in gold.samples.values() for gain in sample.gains.values())
    more = {
        query_id: {doc: min(gain, top) for doc, gain in sample.judge_gains.items() if doc not in sample.negatives}
        for query_id, sample in gold.samples.items()
        if sample.judge_gains and sample.relevant()
    }
    samples = {q: replace(gold.samples[q], gains={**labels, **gold.samples[q].gains}) for q, labels in more.items()}
    return replace(gold, samples={**gold.samples, **samples}) if more else None


def _judged(gold: Gold, plan: Plan, run: ScoredRun) -> dict[str, float]:
    """By metric the share of what a run shows in its first k, 10 without a number, that the gold judges."""
    shown, unjudged = Counter[int](), Counter[int]()
    firsts = set(map(_first, plan.metrics))
    for each in lists_of(run):
        if sample := gold.samples.get(each.query_id):
            docs = each.ids if plan.how.by is By.CHUNK else list(dict(results_of(each, plan.how)))
            unknown = [doc not in sample.gains and doc not in sample.negatives for doc in docs[: max(firsts)]]
            for k in firsts:
                shown[k] += min(k, len(unknown))
                unjudged[k] += sum(unknown[:k])
    return {each.name: 1 - unjudged[_first(each)] / max(shown[_first(each)], 1) for each in plan.metrics}


def _first(metric: Metric) -> int:
    return metric.cutoff if isinstance(metric.cutoff, int) else NO_CUTOFF


def _ends(
    gold: Gold,
    plan: Plan,
    metric: Metric,
    lists: Sequence[Lists],
    judged: Sequence[Mapping[str, float]],
) -> Ends:
    """Both runs' columns with what is unjudged in either's first k as relevant."""
    k, rel = _first(metric), max(1.0, getattr(metric, "rel", 0.0))
    known = {q: {*sample.gains, *sample.negatives} for q, sample in gold.samples.items()}
    names = [{q: list(dict(results_of(each, plan.how))) for q, each in run.items()} for run in lists]
    gains = {q: dict(sample.gains) for q, sample in gold.samples.items()}
    for q, docs in (entry for run in names for entry in run.items()):
        gains[q] |= dict.fromkeys((doc for doc in docs[:k] if doc not in known[q]), rel)
    lenient = replace(gold, samples={q: replace(sample, gains=gains[q]) for q, sample in gold.samples.items()})
    alone = replace(plan, metrics=[metric], keep_matched=False)
    relevant = [score(lenient, run.values(), alone).values[metric.name] for run in lists]
    kept = [[Ranking(q, [doc for doc in docs if doc in known[q]]) for q, docs in run.items()] for run in names]
    condensed = [score(gold, run, replace(alone, how=BY_CHUNK)).values[metric.name] for run in kept]
    pairs = compare(metric, *condensed, with_interval=False)
    now, before = (shares[metric.name] for shares in judged)
    return Ends(relevant, {"judged": now, "judged_before": before, "condensed": pairs.delta if pairs else 0.0})


def _unless(
    result: GateResult, other: GateResult, strict: GateResult, lenient: GateResult, ends: Mapping[str, float]
) -> GateResult:
    """The result with both ends, in doubt where the other end turns what is proven.

    `strict` and `lenient` are both ends with a judge's labels, which count where `ends` has `labelled`, the share that
    they and people have judged: nothing is in doubt where neither end violates a limit.
    """
    unjudged = {**ends, "relevant": other.change.delta or 0.0}
    labelled = "labelled" in ends
    if labelled:
        unjudged |= {"labels_wrong": strict.change.delta or 0.0, "labels_relevant": lenient.change.delta or 0.0}
    evidence, decision = replace(result.evidence, unjudged=unjudged), result.decision
    shown = replace(result, evidence=evidence)
    turned = (decision.violation is None) != (other.decision.violation is None) and not decision.hard_check_failed
    if result.limits.evidence is not Evidence.PROVEN_HARM or not turned:
        return shown
    unjudged_reason = Reason(ReasonKind.UNJUDGED)
    if labelled and strict.decision.violation is lenient.decision.violation is None:
        doubtful = strict if strict.verdict is not Verdict.PASS else lenient
        verdict, reasons, doubts = doubtful.verdict, [unjudged_reason], 0
        state, only_inconclusive = doubtful.evidence.evidence_state, doubtful.evidence.only_inconclusive
    else:
        judged = ends["labelled" if labelled and lenient.decision.violation is None else "judged"]
        hopeless = judged < LEAST_JUDGED * ends["judged_before"] and result.severity == "error"
        verdict = Verdict.NOT_JUDGED if hopeless else Verdict.WARN
        reasons, doubts = [unjudged_reason, *decision.reasons], decision.doubts
        state, only_inconclusive = EvidenceState.INCONCLUSIVE, not hopeless
    return replace(
        shown,
        evidence=replace(evidence, evidence_state=state, only_inconclusive=only_inconclusive),
        decision=replace(decision, verdict=verdict, reasons=reasons, doubts=doubts, violation=None),
    )
