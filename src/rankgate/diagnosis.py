"""What to look at first: the findings of the playbook for a failed check, the most telling first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.cases import RANKED, Case, Found, fall_of, fell, first_ranks, kind_of, levels_of, low, pairs_of, reach_of
from rankgate.metrics.base import Metric
from rankgate.model import Scores, Verdict
from rankgate.playbook import RULES, stale_ids
from rankgate.report import Diagnosis, GateResult, Movement
from rankgate.staleness import LostIds

DEEPER = 2  # times k: a list that is hardly longer than k cannot tell a bad order from a bad index


def diagnose(
    metrics: Sequence[Metric],
    results: Sequence[GateResult],
    candidate: Scores,
    baseline: Scores | None,
    moved: Sequence[Movement],
    lost: LostIds | None,
) -> list[Diagnosis]:
    """What holds, the most telling first: by the verdict of the gate that it explains, then as the table has it.

    Args:
        metrics: the gated metrics.
        results: the gates' results.
        candidate: the run's scores, with the matched queries.
        baseline: the baseline's.
        moved: the queries that changed.
        lost: where the baseline's ids went.
    """
    violated = [result for result in results if fell(result) or low(result)]
    violated.sort(key=lambda result: result.verdict is not Verdict.FAIL)
    found: dict[str, Diagnosis] = {}
    if lost and lost.stale:
        found["stale_ids"] = _diagnosis("stale_ids", stale_ids(lost))
    if not violated:
        return list(found.values())
    cutoffs = {metric.name: metric.cutoff for metric in metrics}
    k = first_ranks([cutoffs[result.metric] for result in [*violated, *results] if kind_of(result.metric) in RANKED])
    pairs = pairs_of(candidate, baseline)
    if not pairs:
        return list(found.values())
    raw = all(new.raw and (old is None or old.raw) for new, old in pairs)
    deep = reach_of(pairs, raw=raw)
    now = levels_of([new for new, _ in pairs], k, deep, raw=raw)
    before = levels_of([old for _, old in pairs if old], k, deep, raw=raw) if baseline else None
    for gate in violated:
        case = Case(
            gate=gate,
            k=k,
            deep=deep if deep >= DEEPER * k else None,
            raw=raw,
            pairs=pairs,
            now=now,
            before=before if fell(gate) else None,
            candidate=candidate,
            fall=fall_of(gate, pairs, candidate, baseline) if baseline else 0.0,
            moved=moved,
            lost=lost,
        )
        for rule in RULES:
            told = rule.look(case) if rule.name not in found and kind_of(gate.metric) in rule.kinds else None
            if told:
                found[rule.name] = _diagnosis(rule.name, told)
    return list(found.values())


def _diagnosis(rule: str, found: Found) -> Diagnosis:
    text, evidence = found
    return Diagnosis(rule=rule, finding=text, evidence=evidence)
