"""Rules for single queries beside a gate's average: what must pass, and how many may be lost.

A query fails where the gate's metric is at its worst: nothing right was found. It is lost where it failed now and did
not in the baseline.
"""

from __future__ import annotations

from msgspec.structs import replace

from rankgate.criteria import Gate
from rankgate.criteria.queries import must_pass_rows
from rankgate.metrics.comparison import baseline_column
from rankgate.model.report import GateResult
from rankgate.model.values import TOLERANCE, Gold, Reason, ReasonKind, Scores, Verdict


def with_hard_checks(
    result: GateResult, gate: Gate, gold: Gold, candidate: Scores, baseline: Scores | None
) -> GateResult:
    """The gate's result with what its hard checks found: each that fails violates the gate."""
    metric = gate.metric
    now = candidate.values[metric.name]
    failed = [row for row, value in enumerate(now) if value is not None and _worst(value, metric.worst)]
    violations: list[Reason] = []
    must = must_pass_rows(gate, gold)
    broken = [row for row in failed if row in must]
    if broken:
        violations.append(Reason(ReasonKind.MUST_PASS, count=len(broken)))
    if gate.max_lost_queries is not None and baseline is not None:
        before = baseline_column(metric, baseline)
        lost = [row for row in failed if (old := before[row]) is not None and not _worst(old, metric.worst)]
        if len(lost) > gate.max_lost_queries:
            violations.append(Reason(ReasonKind.LOST, count=len(lost), limit=gate.max_lost_queries))
    if not violations or result.verdict is Verdict.NOT_JUDGED:
        return result
    worse = result.verdict in (Verdict.FAIL, Verdict.WARN)
    return replace(
        result,
        verdict=Verdict.FAIL if gate.blocks else Verdict.WARN,
        only_inconclusive=False,
        hard_check_failed=True,
        reasons=[*violations, *(result.reasons if worse else [])],
        queries=[candidate.query_ids[row] for row in broken],
    )


def _worst(value: float, worst: float | None) -> bool:
    return worst is not None and abs(value - worst) <= TOLERANCE
