"""Which gate the headline speaks of, so that what follows it need not say the same again. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.model.report import GateResult
from rankgate.model.values import Verdict

NO_BASELINE = "no baseline"  # how a reason begins where a regression check had nothing to compare with


def headline_gate(verdict: Verdict, results: Sequence[GateResult]) -> GateResult | None:
    """The gate whose first reason the headline gives; None where it says something else.

    What holds for all questions says more than what holds for some, and what was found more than what could not be.
    A warning that is no gate's comes only before gates that have nothing to compare with.
    """
    deciding = [result for result in results if result.verdict is verdict]
    if verdict not in (Verdict.WARN, Verdict.FAIL) or not deciding:
        return None
    if verdict is Verdict.WARN and all(map(only_lacks_baseline, deciding)):
        return None
    return min(deciding, key=lambda result: (result.segment is not None, only_lacks_baseline(result)))


def only_lacks_baseline(result: GateResult) -> bool:
    """Whether a gate warns for nothing but that there is no baseline to compare with."""
    return len(result.reasons) == 1 and result.reasons[0].startswith(NO_BASELINE)
