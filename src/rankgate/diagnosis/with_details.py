"""The door to the details: what it reads, and a report with or without it. The rest is loaded only where asked for."""

from __future__ import annotations

from msgspec.structs import replace

from rankgate.metrics.base import Metric
from rankgate.metrics.plan import Plan
from rankgate.model.report import Report
from rankgate.model.values import Gold, Need, Scores

# What is read of the runs beyond what their metrics ask for.
SHOWN = frozenset({Need.IDS, Need.DOCS, Need.LATENCY})


def with_details(
    report: Report,
    depth: int | None,
    gold: Gold,
    plan: Plan,
    candidate: Scores,
    baseline: Scores | None,
    leading: Metric | None,
) -> Report:
    """The report with what pages show beyond it; as it is where nobody asked for that.

    Args:
        report: the finished report, whose segments are shown.
        depth: how many items of each ranking are kept; None where no details are asked for.
        gold: the judgments.
        plan: what was scored; it asked also for `SHOWN`.
        candidate: the run's scores.
        baseline: the baseline's.
        leading: the metric whose changes are listed.
    """
    if depth is None:
        return report
    from rankgate.diagnosis.details import details_of  # noqa: PLC0415 -- see above

    made = details_of(gold, plan.metrics, leading, report.segments, candidate, baseline, depth=depth)
    return replace(report, details=made)
