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
from rankgate.criteria.runs import lists_of
from rankgate.gates.evaluation import Case, Evaluation
from rankgate.gates.judging import fallen, judge_all
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import compare
from rankgate.metrics.matching import BY_CHUNK, By
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import score
from rankgate.model.gate_result import GateResult
from rankgate.model.values import Evidence, EvidenceState, Gold, Ranking, Reason, ReasonKind, Sample, Verdict

POOLED = 0.8  # of the first results of the baseline, that are judged
MAX_LOST = 0.05  # by how much less of the run's are
LEAST_JUDGED = 0.25  # of the baseline's share: with less the gate has no verdict
NO_CUTOFF = 10  # results that are looked at where a metric has no number

Lists = Mapping[str, Ranking]
Columns = Sequence[Sequence[float | None]]  # of the run and of the baseline


class Ends(msgspec.Struct, frozen=True):
    """A metric's columns with what is unjudged as relevant, and the numbers that are shown beside them.

    These are by name the shares of the run and of the baseline that the gold judges (`judged`, `judged_before`) and the
    drop over judged results alone (`condensed`).
    """

    columns: Columns
    numbers: dict[str, float]


def doubt_unjudged(case: Case, evaluation: Evaluation, results: list[GateResult]) -> list[GateResult]:
    """The results of `judge_all`, in doubt where what is unjudged undoes a proof of harm against the baseline."""
    gold = evaluation.gold
    plan = evaluation.plan
    shares = [_judged(gold, plan, run) for run in evaluation.runs]
    run_shares, baseline_shares = shares
    doubted: list[Metric] = []
    for metric in fallen(plan, results):
        share = baseline_shares[metric.name]
        if share >= POOLED and share - run_shares[metric.name] > MAX_LOST:
            doubted.append(metric)
    if not doubted:
        return results
    lists = [
        {each.query_id: each for each in lists_of(run) if each.query_id in gold.samples} for run in evaluation.runs
    ]
    ends = {metric.name: _ends(gold, plan, metric, lists, shares) for metric in doubted}
    relevant = _results_with(case, evaluation, {name: each.columns for name, each in ends.items()})
    numbers = {name: each.numbers for name, each in ends.items()}
    if_wrong = if_right = relevant
    labelled = _with_labels(gold)
    if labelled is not None:
        labelled_shares = [_judged(labelled, plan, run) for run in evaluation.runs]
        wrong_columns: dict[str, Columns] = {}
        right_columns: dict[str, Columns] = {}
        for metric in doubted:
            alone = replace(plan, metrics=[metric], keep_matched=False)
            wrong_columns[metric.name] = [score(labelled, each.values(), alone).values[metric.name] for each in lists]
            right_columns[metric.name] = _ends(labelled, plan, metric, lists, labelled_shares).columns
            numbers[metric.name]["labelled"] = labelled_shares[0][metric.name]
        if_wrong = _results_with(case, evaluation, wrong_columns)
        if_right = _results_with(case, evaluation, right_columns)
    return [
        _in_doubt(each, other, low, high, numbers[each.metric]) if each.metric in ends else each
        for each, other, low, high in zip(results, relevant, if_wrong, if_right, strict=True)
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
    labelled: dict[str, Sample] = {}
    for query, sample in gold.samples.items():
        if sample.judge_gains and sample.relevant():
            labels = {doc: min(gain, top) for doc, gain in sample.judge_gains.items() if doc not in sample.negatives}
            labelled[query] = replace(sample, gains={**labels, **sample.gains})
    return replace(gold, samples={**gold.samples, **labelled}) if labelled else None


def _judged(gold: Gold, plan: Plan, run: ScoredRun) -> dict[str, float]:
    """By metric the share of what a run shows in its first k, from 0 to 1, that the gold judges; 1.0 of no results."""
    shown = Counter[int]()  # by k
    unjudged = Counter[int]()
    cutoffs = set(map(_cutoff, plan.metrics))
    deepest = max(cutoffs)
    for ranking in lists_of(run):
        sample = gold.samples.get(ranking.query_id)
        if sample is None:
            continue
        docs = ranking.ids if plan.how.by is By.CHUNK else list(dict(results_of(ranking, plan.how)))
        is_unjudged = [doc not in sample.gains and doc not in sample.negatives for doc in docs[:deepest]]
        for k in cutoffs:
            shown[k] += min(k, len(is_unjudged))
            unjudged[k] += sum(is_unjudged[:k])
    shares = {k: 1 - unjudged[k] / max(shown[k], 1) for k in cutoffs}
    return {metric.name: shares[_cutoff(metric)] for metric in plan.metrics}


def _cutoff(metric: Metric) -> int:
    return metric.cutoff if isinstance(metric.cutoff, int) else NO_CUTOFF


def _ends(
    gold: Gold,
    plan: Plan,
    metric: Metric,
    lists: Sequence[Lists],
    judged: Sequence[Mapping[str, float]],
) -> Ends:
    """Both runs' columns with what is unjudged in either's first k as relevant.

    `lists` and `judged`, the shares of `_judged`, are those of the run and of the baseline.
    """
    k = _cutoff(metric)
    gain = max(1.0, getattr(metric, "rel", 0.0))  # the least that is relevant for the metric
    judged_docs = {query: {*sample.gains, *sample.negatives} for query, sample in gold.samples.items()}
    gains = {query: dict(sample.gains) for query, sample in gold.samples.items()}
    condensed_lists: list[list[Ranking]] = []
    for run in lists:
        condensed: list[Ranking] = []
        for query, ranking in run.items():
            docs = list(dict(results_of(ranking, plan.how)))
            gains[query] |= dict.fromkeys((doc for doc in docs[:k] if doc not in judged_docs[query]), gain)
            condensed.append(Ranking(query, [doc for doc in docs if doc in judged_docs[query]]))
        condensed_lists.append(condensed)
    all_relevant = {query: replace(sample, gains=gains[query]) for query, sample in gold.samples.items()}
    alone = replace(plan, metrics=[metric], keep_matched=False)
    by_chunk = replace(alone, how=BY_CHUNK)  # a condensed list has the names that the gold knows
    with_relevant = replace(gold, samples=all_relevant)
    columns = [score(with_relevant, run.values(), alone).values[metric.name] for run in lists]
    without_unjudged = [score(gold, run, by_chunk).values[metric.name] for run in condensed_lists]
    pairs = compare(metric, *without_unjudged, with_interval=False)
    run_shares, baseline_shares = judged
    numbers = {
        "judged": run_shares[metric.name],
        "judged_before": baseline_shares[metric.name],
        "condensed": pairs.delta if pairs else 0.0,
    }
    return Ends(columns, numbers)


def _in_doubt(
    result: GateResult, other: GateResult, if_wrong: GateResult, if_right: GateResult, ends: Mapping[str, float]
) -> GateResult:
    """The result with both ends, in doubt where the other end turns what is proven.

    `if_wrong` and `if_right` are both ends with a judge's labels, which count where `ends` has `labelled`, the share
    that they and people have judged: nothing is in doubt where neither end violates a limit.
    """
    unjudged = {**ends, "relevant": other.change.delta or 0.0}
    labelled = "labelled" in ends
    if labelled:
        unjudged |= {"labels_wrong": if_wrong.change.delta or 0.0, "labels_relevant": if_right.change.delta or 0.0}
    evidence = replace(result.evidence, unjudged=unjudged)
    decision = result.decision
    shown = replace(result, evidence=evidence)
    turned = (decision.violation is None) != (other.decision.violation is None) and not decision.hard_check_failed
    if result.limits.evidence is not Evidence.PROVEN_HARM or not turned:
        return shown
    unjudged_reason = Reason(ReasonKind.UNJUDGED)
    if labelled and if_wrong.decision.violation is if_right.decision.violation is None:
        doubtful = if_wrong if if_wrong.verdict is not Verdict.PASS else if_right
        verdict = doubtful.verdict
        reasons = [unjudged_reason]
        doubts = 0
        state = doubtful.evidence.evidence_state
        only_inconclusive = doubtful.evidence.only_inconclusive
    else:
        judged = ends["labelled" if labelled and if_right.decision.violation is None else "judged"]
        hopeless = judged < LEAST_JUDGED * ends["judged_before"] and result.severity == "error"
        verdict = Verdict.NOT_JUDGED if hopeless else Verdict.WARN
        reasons = [unjudged_reason, *decision.reasons]
        doubts = decision.doubts
        state = EvidenceState.INCONCLUSIVE
        only_inconclusive = not hopeless
    return replace(
        shown,
        evidence=replace(evidence, evidence_state=state, only_inconclusive=only_inconclusive),
        decision=replace(decision, verdict=verdict, reasons=reasons, doubts=doubts, violation=None),
    )
