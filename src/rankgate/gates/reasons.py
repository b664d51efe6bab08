"""Why a gate passed, warned or failed, in a sentence with the numbers that decided."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rankgate.gates.decision_rule import Finding, Ruling
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison
from rankgate.model.report import GateResult
from rankgate.model.values import TOLERANCE, Direction, Evidence, EvidenceState, Interval
from rankgate.model.wording import (
    confidence_text,
    count_text,
    delta_text,
    exact_decimals,
    interval_text,
    telling_decimals,
    value_text,
)


def floor_reason(
    value: float, ci: Interval | None, threshold: float, metric: Metric, found: Finding, confidence: float, units: str
) -> str:
    """`recall@5 is 84.1%, below the floor of 85.0%`, and what the interval adds where it decides or casts doubt."""
    decimals = max(telling_decimals(value, threshold, metric.unit), exact_decimals(threshold, metric.unit))
    limit = "floor" if metric.direction is Direction.HIGHER else "ceiling"
    equal = abs(value - threshold) <= TOLERANCE
    side = "exactly at" if equal else "above" if value > threshold else "below"
    now, bound = value_text(value, metric.unit, decimals), value_text(threshold, metric.unit, decimals)
    spread = f"{confidence_text(confidence)}: {interval_text(ci, metric.unit)}"
    said = f"{metric.name} is {now}, {side} the {limit} of {bound}"
    return said + _doubt(found, spread, units, f"not proven to hold the {limit}")


def drop_reason(
    pairs: Comparison, regression_max: float, metric: Metric, scored: int, found: Finding, confidence: float, units: str
) -> str:
    """`recall@5 dropped from 87.0% to 81.2% (−5.8 pp; at most −3.0 pp allowed)`, and what the interval adds."""
    unit, delta = metric.unit, pairs.delta
    allowed = -regression_max if metric.direction is Direction.HIGHER else regression_max
    decimals = max(
        exact_decimals(allowed, unit),
        telling_decimals(delta, allowed, unit),
        telling_decimals(delta, 0.0, unit),
        telling_decimals(pairs.value, pairs.baseline, unit),
    )
    before, now = (value_text(value, unit, decimals) for value in (pairs.baseline, pairs.value))
    verb = "dropped" if delta < 0 else "rose"
    still = abs(delta) <= TOLERANCE
    moved = f"{metric.name} stayed at {now}" if still else f"{metric.name} {verb} from {before} to {now}"
    both = count_text(pairs.n_pairs, "query", "queries")
    on_pairs = "" if pairs.n_pairs == scored else f" on the {both} of both runs"
    change = delta_text(delta, unit, decimals)
    harm = "drop" if metric.direction is Direction.HIGHER else "rise"
    limit = f"at most {delta_text(allowed, unit, decimals)} allowed" if allowed else f"no {harm} allowed"
    better = (delta >= 0) == (metric.direction is Direction.HIGHER) and not still
    # For the better no limit applies, unless it must be proven that it holds.
    inside = change if better and found.ruling is Ruling.HOLDS else f"{change}; {limit}"
    spread = interval_text(pairs.ci, unit, change=True)
    spread = f"{confidence_text(confidence)}: {spread}" if spread else f"p = {pairs.exact.p:.2g}" if pairs.exact else ""
    return f"{moved}{on_pairs} ({inside})" + _doubt(found, spread, units, f"a larger {harm} is not ruled out")


def _doubt(found: Finding, spread: str, units: str, unproven: str) -> str:
    safety = found.evidence is Evidence.PROVEN_SAFE
    if found.state is EvidenceState.NO_INTERVAL:
        return f", with too few {units} to {'prove that it holds' if safety else 'tell it from noise'}"
    if found.state is not EvidenceState.INCONCLUSIVE:
        return ""
    # Of what violates by its estimate one says noise; of what must be proven safe, what is lacking.
    what = unproven if found.ruling is Ruling.VIOLATED and safety else "within noise"
    return f", {what} ({spread})"


_CHANGE = re.compile(
    r"(?P<verb>dropped|rose) (?P<values>from .+?) \([−+](?P<size>[\d.]+)(?P<unit>(?: pp| ms)?); "
    r"(?:at most (?P<sign>[−+±])(?P<most>[\d.]+)(?: pp| ms)? allowed|no (?P<none>drop|rise) allowed)\)"
)
_NOISE = re.compile(r", within noise \([^()]*\)")
_UNPROVEN = re.compile(
    r", (?:not proven to hold the (?P<limit>floor|ceiling)|a larger (?P<harm>drop|rise) is not ruled out) "
    r"\([\d.]+%: [−+±]?(?P<low>[\d.]+) to [−+±]?(?P<high>[\d.]+)(?P<unit>%| pp| ms|)\)"
)
_UNITS = {"%": "%", " pp": " points", " ms": " ms", "": ""}


def plain_reason(reason: str) -> str:
    """A reason of this module for somebody who knows no metrics: the same numbers, without the interval of mere doubt.

    `dropped from 87.0% to 81.2% (−5.8 pp; at most −3.0 pp allowed), within noise (95%: −9.1 to −2.4 pp)` becomes
    `dropped by 5.8 points, from 87.0% to 81.2%; at most 3.0 are allowed; that may be chance`. Of an interval that
    decides, the bound that does is said. Any other sentence stays as it is.
    """

    def said(found: re.Match[str]) -> str:
        harm = found["none"] or {"−": "drop", "+": "rise"}.get(found["sign"])
        if harm == {"dropped": "rise", "rose": "drop"}[found["verb"]]:  # the change is for the better, and unproven
            most = f"a {harm} of at most {found['most']} is allowed" if found["most"] else f"no {harm} is allowed"
        else:
            most = f"at most {found['most']} are allowed" if found["most"] else "none is allowed"
        return f"{found['verb']} by {found['size']}{_UNITS[found['unit']]}, {found['values']}; {most}"

    def unproven(found: re.Match[str]) -> str:
        low, high = (found[bound] + _UNITS[found["unit"]] for bound in ("low", "high"))
        worst = {"floor": f"as low as {low}", "ceiling": f"as high as {high}"}
        if found["limit"]:
            return f"; with so few questions it may be {worst[found['limit']]}"
        return f"; with so few questions the {found['harm']} may be {low if found['harm'] == 'drop' else high}"

    return _NOISE.sub("; that may be chance", _UNPROVEN.sub(unproven, _CHANGE.sub(said, reason)))


def missing_reason(metric: Metric, missing: int, among: int, side: str) -> str:
    """Why nothing is judged where values are not there."""
    asked = count_text(among, "question")
    return f"{metric.name} is missing for {missing:,} of {asked} in the {side}; write null where a tool gives none"


def incomparable_reason(metric: Metric, pairs: int, among: int) -> str:
    """Why the values of two runs are not compared."""
    asked = f"{pairs:,} of {count_text(among, 'question')}"
    return f"{metric.name} is not comparable with the baseline: for {asked} the two runs do not name the same judge"


def one_sided_reason(metric: Metric, count: int, worst: Comparison) -> str:
    """What else the change could be, where values are undefined on one side."""
    lacking = f"only one of the two runs has a value for {count_text(count, 'question')}"
    return f"{lacking}, and with the worst value there the change is {delta_text(worst.delta, metric.unit)}"


def unjudged_reason(gate: GateResult) -> str:
    """What documents that nobody has judged can make of a change, and what to do."""
    ends = {"wrong": gate.delta or 0.0, **gate.unjudged}
    wrong, right, alone = (delta_text(ends[end], gate.unit) for end in ("wrong", "relevant", "condensed"))
    shares = f"{ends['judged']:.0%} of the first results, {ends['judged_before']:.0%} of the baseline's"
    change = f"the change is {wrong} if the others are wrong, {right} if right, {alone} without them"
    return f"{gate.metric} rests on judgments of {shares}: {change}; rankgate gold pool lists what to label"


def uncompared_reason(metric: Metric, lacking: Sequence[str]) -> str:
    """Why there is a baseline and nothing to compare with it."""
    if lacking:
        return f"the baseline states no `{lacking[0]}`, which {metric.name} reads; accept its run again"
    return f"the baseline has {metric.name} for none of the queries that are scored now"
