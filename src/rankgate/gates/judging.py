"""All gates: each on its whole, on single queries, and on its segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rankgate.criteria import Criteria, Gate
from rankgate.criteria.inputs import Awaited
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.gates.decide import decide
from rankgate.gates.decision_rule import beyond_drop
from rankgate.gates.evaluation import METRIC_UNITS, Units, evaluate
from rankgate.metrics.base import Metric, sees_hits_alone
from rankgate.metrics.comparison import compare, gaps
from rankgate.metrics.matching import BY_CHUNK, By
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import score
from rankgate.model.gate_result import GateResult
from rankgate.model.scores import Scores
from rankgate.model.values import Evidence, EvidenceState, Gold, Ranking, Reason, ReasonKind, RunField, Verdict
from rankgate.model.wording import count_text

if TYPE_CHECKING:
    from rankgate.gates.judged import Judge

POOLED, MAX_LOST, LEAST_JUDGED = 0.8, 0.05, 0.25  # judged of the baseline; less of the run's; share of that share
_AWAITED = {"label": ReasonKind.AWAITS_LABEL, "merge": ReasonKind.AWAITS_MERGE}
NO_CUTOFF = 10  # results that are looked at where a metric has no number


def judge_runs(
    criteria: Criteria,
    gold: Gold,
    plan: Plan,
    sides: Sequence[ScoredRun],
    before: Scores | None,
    *,
    awaits: Awaited | None = None,
    today: str,
) -> list[GateResult]:
    """As `judge_all`, and in doubt where what a pooled gold leaves unjudged undoes a proof of harm.

    Pooled is one with judgments of gain 0: then both lists are read once more where a metric fell. A judge's labels in
    the gold end the doubt where nothing is violated by them. They prove no harm, and undo none that people have proven.

    Args:
        criteria: whose gates judge.
        gold: the judgments.
        plan: what was scored.
        sides: the candidate and, if there is one, the baseline.
        before: the baseline's scores, which tell where its lists are the candidate's.
        awaits: as for `judge_all`.
        today: the ISO day, which tells how old people's labels of answers are.

    Raises:
        RankgateError: the file of what they found of the judge is damaged.
    """
    judges: Mapping[str, Judge] = {}
    if RunField.VERDICTS in plan.needs:
        from rankgate.gates.judged import people_of  # noqa: PLC0415 -- paid only where answers are judged

        judges = people_of(criteria, sides[0].run.judge, today, sides[0].scores, sides[0].run.judges)
    results = judge_all(criteria, gold, sides[0].scores, before, awaits, judges)
    changed = [each for each in results if each.delta]
    fell = {each.metric for each in changed if beyond_drop(each.delta or 0.0, 0.0, each.direction) > 0}
    fallen = [each for each in plan.metrics if each.name in fell and sees_hits_alone(each)]
    if not fallen or all(gain > 0 for sample in gold.samples.values() for gain in sample.gains.values()):
        return results
    judged = now, then = [_judged(gold, plan, side) for side in sides]
    looked_at = [each for each in fallen if then[each.name] >= POOLED and then[each.name] - now[each.name] > MAX_LOST]
    if not looked_at:
        return results
    lists = [{each.query_id: each for each in side.lists() if each.query_id in gold.samples} for side in sides]

    def by(columns: Mapping[str, Sequence[list[float | None]]]) -> list[GateResult]:
        """The results with other values of these metrics on both sides."""
        own = [{name: both[row] for name, both in columns.items()} for row in range(len(sides))]
        scores = [replace(each.scores, values={**each.scores.values, **own[row]}) for row, each in enumerate(sides)]
        return judge_all(criteria, gold, scores[0], scores[1], awaits, judges)

    ends = {metric.name: _ends(gold, plan, metric, lists, judged) for metric in looked_at}
    others = by({name: both for name, (both, _) in ends.items()})
    shown = {name: numbers for name, (_, numbers) in ends.items()}
    labelled = _with_labels(gold)
    strict = lenient = others
    if labelled is not None:
        shares = [_judged(labelled, plan, side) for side in sides]
        alone = {each.name: replace(plan, metrics=[each], keep_matched=False) for each in looked_at}
        strict = by({q: [score(labelled, each.values(), own).values[q] for each in lists] for q, own in alone.items()})
        lenient = by({each.name: _ends(labelled, plan, each, lists, shares)[0] for each in looked_at})
        shown = {name: {**numbers, "labelled": shares[0][name]} for name, numbers in shown.items()}
    return [
        _unless(each, other, low, high, shown[each.metric]) if each.metric in ends else each
        for each, other, low, high in zip(results, others, strict, lenient, strict=True)
    ]


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


def _judged(gold: Gold, plan: Plan, side: ScoredRun) -> dict[str, float]:
    """By metric the share of what a side shows in its first k, 10 without a number, that the gold judges."""
    from rankgate.collecting.pool import results_of  # noqa: PLC0415 -- few gold sets are pooled

    shown, unjudged = Counter[int](), Counter[int]()
    firsts = set(map(_first, plan.metrics))
    for each in side.lists():
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
    lists: Sequence[Mapping[str, Ranking]],
    judged: Sequence[Mapping[str, float]],
) -> tuple[list[list[float | None]], dict[str, float]]:
    """Both sides' columns with what is unjudged in either's first k as relevant, and what is shown beside them."""
    from rankgate.collecting.pool import results_of  # noqa: PLC0415 -- few gold sets are pooled

    k, rel = _first(metric), max(1.0, getattr(metric, "rel", 0.0))
    known = {q: {*sample.gains, *sample.negatives} for q, sample in gold.samples.items()}
    names = [{q: list(dict(results_of(each, plan.how))) for q, each in side.items()} for side in lists]
    gains = {q: dict(sample.gains) for q, sample in gold.samples.items()}
    for q, docs in (entry for side in names for entry in side.items()):
        gains[q] |= dict.fromkeys((doc for doc in docs[:k] if doc not in known[q]), rel)
    lenient = replace(gold, samples={q: replace(sample, gains=gains[q]) for q, sample in gold.samples.items()})
    alone = replace(plan, metrics=[metric], keep_matched=False)
    relevant = [score(lenient, side.values(), alone).values[metric.name] for side in lists]
    kept = [[Ranking(q, [doc for doc in docs if doc in known[q]]) for q, docs in side.items()] for side in names]
    condensed = [score(gold, side, replace(alone, how=BY_CHUNK)).values[metric.name] for side in kept]
    pairs = compare(metric, *condensed, with_interval=False)
    now, before = (shares[metric.name] for shares in judged)
    return relevant, {"judged": now, "judged_before": before, "condensed": pairs.delta if pairs else 0.0}


def _unless(
    found: GateResult, other: GateResult, strict: GateResult, lenient: GateResult, ends: Mapping[str, float]
) -> GateResult:
    """The result with both ends, in doubt where the other end turns what is proven.

    `strict` and `lenient` are both ends with a judge's labels, which count where `ends` has `labelled`, the share that
    they and people have judged: nothing is in doubt where neither end violates a limit.
    """
    more = {"labels_wrong": strict.delta or 0.0, "labels_relevant": lenient.delta or 0.0} if "labelled" in ends else {}
    shown = replace(found, unjudged={**ends, "relevant": other.delta or 0.0, **more})
    turned = (found.violation is None) != (other.violation is None) and not found.hard_check_failed
    if found.evidence is not Evidence.PROVEN_HARM or not turned:
        return shown
    judged = ends["labelled" if more and lenient.violation is None else "judged"]
    hopeless = judged < LEAST_JUDGED * ends["judged_before"] and found.severity == "error"
    values: dict[str, Any] = {
        "verdict": Verdict.NOT_JUDGED if hopeless else Verdict.WARN,
        "evidence_state": EvidenceState.INCONCLUSIVE,
        "only_inconclusive": not hopeless,
        "reasons": [Reason(ReasonKind.UNJUDGED), *found.reasons],
    }
    if more and strict.violation is lenient.violation is None:
        doubtful = strict if strict.verdict is not Verdict.PASS else lenient
        values |= {key: getattr(doubtful, key) for key in ("verdict", "evidence_state", "only_inconclusive")}
        values |= {"reasons": [Reason(ReasonKind.UNJUDGED)], "doubts": 0}
    return replace(shown, violation=None, **values)


def judge_all(
    criteria: Criteria,
    gold: Gold,
    candidate: Scores,
    baseline: Scores | None,
    awaits: Awaited | None = None,
    judges: Mapping[str, Judge] = {},
) -> list[GateResult]:
    """A result for every gate, in order, each followed by those of its segments.

    One that lacks the word of a judge who will be asked later (`awaits`) only waits: it has one row, which warns.
    """
    results: list[GateResult] = []
    for gate in criteria.gates:
        judge = judges.get(gate.metric.name)
        rows = _rows(gate, gold, candidate, baseline, judge.units if judge else METRIC_UNITS)
        waits = awaits and RunField.VERDICTS in gate.metric.needs and gaps(gate.metric, candidate, None).missing
        if awaits and waits:
            rows = [_waiting(rows[0], awaits, len(waits), len(candidate.query_ids))]
        if judge:
            from rankgate.gates.judged import filtered, without_judge  # noqa: PLC0415 -- paid only where asked for

            other = None if waits else without_judge(gate, judge, candidate, baseline)
            given = _rows(other, gold, candidate, baseline, METRIC_UNITS) if other else []
            rows = filtered(gate, judge, rows, given, candidate, baseline)
        results += rows
    return results


def _rows(gate: Gate, gold: Gold, candidate: Scores, baseline: Scores | None, units: Units) -> list[GateResult]:
    """The gate's result with its rules for single questions, and those of its segments."""
    result = decide(evaluate(gate, candidate, baseline, units))
    if gate.must_pass or gate.max_lost_queries is not None:
        from rankgate.gates.segments import with_hard_checks  # noqa: PLC0415 -- paid only where asked for

        result = with_hard_checks(result, gate, gold, candidate, baseline)
    if not gate.segments:
        return [result]
    from rankgate.gates.segments import decide_segments  # noqa: PLC0415 -- as above

    return [result, *decide_segments(gate, gold, candidate, baseline, units.of_segments)]


def _waiting(result: GateResult, awaits: Awaited, count: int, among: int) -> GateResult:
    reason = Reason(_AWAITED[awaits], count=count, among=among)
    found = {"value": None, "ci": None, "baseline": None, "paired_value": None, "delta": None, "delta_ci": None}
    judged = replace(result, **found, exact=None, violation=None, only_inconclusive=False, detectable=None)
    return replace(judged, verdict=Verdict.WARN, reasons=[reason], doubts=1, n=0, n_pairs=0)


def whole(results: Sequence[GateResult]) -> list[GateResult]:
    """The results over all queries, one a gate."""
    return [result for result in results if result.segment is None]


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
    """Criteria may only name queries, tags and segments that the gold has.

    Raises:
        RankgateError: everything that they name and the gold lacks.
    """
    if not any(gate.segments or gate.must_pass for gate in criteria.gates):
        return
    from rankgate.criteria.queries import refuse_unknown_musts  # noqa: PLC0415 -- as above
    from rankgate.gates.segments import refuse_unknown  # noqa: PLC0415

    problems: list[Problem] = []
    for refuse in (refuse_unknown, refuse_unknown_musts):
        try:
            refuse(criteria.gates, gold, criteria.name)
        except RankgateError as error:
            problems += error.problems
    if problems:
        raise RankgateError(problems)
