"""A gate's value, its change and its limits, number by number: the arithmetic as one does it on paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rankgate.gates.explain import GateExplained, LeftOut, LimitCheck, Row
from rankgate.model.report import GateResult
from rankgate.model.values import TOLERANCE, Direction, Evidence, Ruling, Unit
from rankgate.model.wording import (
    confidence_text,
    count_text,
    delta_text,
    exact_decimals,
    harm_word,
    interval_text,
    limit_word,
    size_text,
    telling_decimals,
    value_text,
)
from rankgate.renderers.escape import listed, safe
from rankgate.renderers.phrases import exact_proof, weights_texts

MAX_NAMED = 10
_MAX_DECIMALS = 9
_FINER = 2  # decimals more than needed to tell numbers apart, if a sum then adds up as it is written

EVIDENCE = {
    Evidence.ESTIMATE: "the number itself decides; the interval only says how sure it is",
    Evidence.PROVEN_SAFE: "a limit holds only where the whole interval lies within it",
    Evidence.PROVEN_HARM: "a limit is violated only where the number breaks it and the interval proves harm: all of it "
    "beyond a floor, or all of a change for the worse; the rest is within noise, which warns and blocks nothing",
}
_RULINGS = {
    Ruling.HOLDS: "holds",
    Ruling.VIOLATED: "VIOLATED",
    Ruling.INCONCLUSIVE: "broken by the number, within noise",
}
_FEW = ("too few questions for one", "too few questions of equal weight for one, by their effective number")
_WHY = {
    "nothing_relevant": "the gold set names no relevant document for {them}",
    "no_result": "the run lacks {them}",
    "undefined": "the metric is undefined for {them}",
    "not_in_baseline": "the baseline lacks {them}",
    "one_sided": "the metric has no value for {them} in the baseline",
}


def value_lines(found: GateExplained) -> list[str]:
    """The value, what it is over, and its interval."""
    gate = found.gate.result
    if gate.value is None:
        return ["There is no value."]
    decimals = _decimals_of(found.gate)
    of = f" of {found.total:,}" if found.total is not None and found.total != gate.n else ""
    over = f"over {gate.n:,}{of} {'question' if gate.n == 1 else 'questions'}"
    unweighted, uneven = weights_texts(gate)
    how = f"the mean {'by traffic ' if uneven else ''}{over}"
    if found.quantile is not None:
        how = f"the {100 * found.quantile:g}% quantile {over}: as many are at or below it"
    now = value_text(gate.value, gate.unit, decimals)
    lines = [f"Now {now}: {how}."]
    if gate.value_raw is not None:
        own = f"The judge's own value is {value_text(gate.value_raw, gate.unit, decimals)}, {how}."
        since = "what people found of the labelled run, and what the judge has seen change since then"
        lines = [f"Now {now} in people's units: {since}{_seen_part(gate)}.", own]
    elif gate.delta_raw is not None:
        lines.append(f"That is the judge's own value; the change is in people's units{_seen_part(gate)}.")
    lines += [f"{unweighted}. {uneven}"] if uneven else []
    lacking, worst = count_text(found.absent, "question"), "at the metric's worst value"
    if found.absent and found.lost is None:
        lines.append(f"At most {lacking} that the run lacks, counted {worst}.")
    elif found.absent:
        lines.append(f"The run lacks {lacking}, which it counts {worst}.")
    lines += [f"Left out: {_left_out(each)}." for each in found.left_out]
    spread = interval_text(gate.ci, gate.unit)
    if not spread:
        return [*lines, f"No interval: {_FEW[gate.weighting is not None]}."]
    how = "from the order of the values" if found.quantile else "what other questions like these would give"
    sure = confidence_text(gate.confidence)
    return [*lines, f"{sure} interval of the value: {spread} ({how}; docs/statistics.md)."]


def _seen_part(gate: GateResult) -> str:
    """By what the judge's change is divided, if it is."""
    if gate.standing is None or gate.standing.slope is None or gate.assumption is None:
        return ""
    j = gate.standing.slope
    return f", over the {j.value:.0%} (95%: {100 * j.low:.0f} to {j.high:.0%}) of a difference that it sees"


def change_lines(found: GateExplained) -> list[str]:
    """The comparison with the baseline, with its arithmetic, and what its limit makes of it."""
    *lines, last = comparison_lines(found.gate, "baseline")
    lines += [f"Not compared: {_left_out(each)}." for each in found.unpaired]
    return [*lines, last]


def comparison_lines(row: Row, other: str) -> list[str]:
    """The same for any row, of a gate or of a part of one; `other` is what it is compared with."""
    gate = row.result
    if gate.delta is None or gate.paired_value is None or gate.baseline is None:
        allowed = "" if gate.regression_max is None else f"; {_allowed(gate)} would be allowed"
        return [f"There is nothing to compare with{allowed}."]
    check = _check(row, "regression_max")
    decimals = _decimals_of(row)
    now, before = (value_text(value, gate.unit, decimals) for value in (gate.paired_value, gate.baseline))
    delta = delta_text(gate.delta, gate.unit, decimals)
    both = f"over the {count_text(gate.n_pairs, 'question')} that both have"
    lines = [f"{now} now − {before} in the {other} = {delta}, {both}."]
    if gate.delta_raw is not None:
        own = delta_text(gate.delta_raw, gate.unit, decimals)
        lines.append(f"That change is in people's units; the judge's own is {own}.")
    if check is None:
        return [*lines, "No limit is set on it."]
    lines.append(f"Allowed: {_allowed(gate)}. {_stands(check, gate, decimals)}")
    if (exact := gate.exact) is not None:
        lines.append(
            f"Exact test: p = {exact.p:.2g} (what moved, tossed like coins; it is {exact.least:.2g} at least); "
            f"harm is proven below {(1 - gate.confidence) / 2:.3g}."
        )
    spread = interval_text(gate.delta_ci, gate.unit, change=True)
    if gate.delta_ci == (0.0, 0.0):
        lines.append("No question changed, so that there is nothing to doubt.")
    elif spread:
        says = _change_says(gate, decimals)
        lines.append(f"{confidence_text(gate.confidence)} interval of the change, {spread}: {says}.")
    else:
        lines.append(f"No interval of the change: {_FEW[gate.weighting is not None]}.")
    return [*lines, _ruling(check, gate)]


def threshold_lines(row: Row) -> list[str]:
    """The floor, or the ceiling where lower is better; nothing where none is set or nothing was judged."""
    gate = row.result
    check = _check(row, "threshold")
    if check is None:
        return []
    decimals = _decimals_of(row)
    now, limit = (value_text(value, gate.unit, decimals) for value in (check.left, check.right))
    difference = delta_text(check.difference, gate.unit, decimals)
    lines = [f"{now} now − {limit} asked for = {difference}. {_stands(check, gate, decimals)}"]
    if gate.counted and gate.counted.value != gate.value:
        gained = f"{value_text(gate.value or 0.0, gate.unit, decimals)} counts as {now}"
        lines.insert(0, f"{gained}: a gain that only the judge has seen does not count.")
    if interval_text(gate.counted.ci if gate.counted else gate.ci, gate.unit):
        lines.append(f"Its {confidence_text(gate.confidence)} interval: {_value_says(gate, check)}.")
    return [*lines, _ruling(check, gate)]


def _check(row: Row, limit: str) -> LimitCheck | None:
    return next((check for check in row.checks if check.limit == limit), None)


def _allowed(gate: GateResult) -> str:
    limit, harm = gate.regression_max or 0.0, harm_word(gate.direction)
    if not limit:
        return f"no {harm} at all"
    change, towards = (-limit, "down") if gate.direction is Direction.HIGHER else (limit, "up")
    return f"a {harm} {towards} to {delta_text(change, gate.unit, exact_decimals(limit, gate.unit))}"


def _stands(check: LimitCheck, gate: GateResult, decimals: int) -> str:
    exact = abs(check.difference - check.allowed) <= TOLERANCE
    if check.limit == "threshold":
        side = "exactly at" if exact else "above" if check.difference > 0 else "below"
        return f"That is {side} the {limit_word(gate.direction)}."
    if check.beyond:
        return f"That is {size_text(check.beyond, gate.unit, decimals)} more than allowed."
    return "That is exactly as much as allowed." if exact else "That is within it."


def _ruling(check: LimitCheck, gate: GateResult) -> str:
    doubtful = check.ruling is Ruling.INCONCLUSIVE and not check.beyond
    return f"→ {'in doubt, as the verdict says' if doubtful else _RULINGS[check.ruling]}, by {gate.evidence.value}"


def _left_out(each: LeftOut) -> str:
    why = _WHY[each.why].format(them="it" if each.count == 1 else "them")
    ids = f" ({listed(each.queries, MAX_NAMED, partial(safe, limit=40), each.count)})" if each.queries else ""
    return f"{count_text(each.count, 'question')}, since {why}{ids}"


def _change_says(gate: GateResult, decimals: int) -> str:
    """What the interval of the change proves, in the gate's own direction."""
    (low, high), certain = gate.direction.upright(gate.delta_ci), gate.direction.certain(gate.delta_ci)
    if certain < 0:
        meaning = "all of it is for the worse, so that a loss is certain, not its size"
    elif certain > 0:
        meaning = "all of it is for the better"
    elif proven := exact_proof(gate):
        meaning = f"it does not exclude 0, and the {proven} proves a loss"
    elif high is None:
        meaning = "its better end is not known"
    else:
        meaning = "0 lies within, so that chance alone may have done it"
    if gate.evidence is Evidence.PROVEN_SAFE and low is not None:
        worst = delta_text(low if gate.direction is Direction.HIGHER else -low, gate.unit, decimals)
        safe_enough = -low <= (gate.regression_max or 0.0) + TOLERANCE
        meaning += f"; its worst end, {worst}, is {'within' if safe_enough else 'beyond'} what is allowed"
    return meaning


def _value_says(gate: GateResult, check: LimitCheck) -> str:
    """Where the interval of the value lies to the threshold."""
    low, high = gate.direction.upright(gate.counted.ci if gate.counted else gate.ci)
    higher, limit = gate.direction is Direction.HIGHER, limit_word(gate.direction)
    threshold = check.right if higher else -check.right
    if high is not None and high < threshold - TOLERANCE:
        return f"all of it lies {'below' if higher else 'above'} the {limit}"
    if low is not None and low >= threshold - TOLERANCE:
        return f"all of it holds the {limit}"
    said = f"the {limit} lies within it, so that other questions of the kind may give either"
    return f"{said}: not proven" if gate.evidence is Evidence.PROVEN_SAFE else said


def _decimals_of(row: Row) -> int:
    """Decimals for all of a row: no rounding hides a violation, and where it can be, what is shown adds up."""
    unit = row.result.unit
    least = [exact_decimals(0.0, unit)]
    for check in row.checks:
        told_apart = ((check.left, check.right), (check.difference, check.allowed), (check.difference, 0.0))
        least += [telling_decimals(one, other, unit) for one, other in told_apart]
        least.append(exact_decimals(check.right if check.limit == "threshold" else check.allowed, unit))
    start = max(least)
    finer = range(start, min(start + _FINER, _MAX_DECIMALS) + 1)
    return next((places for places in finer if _adds_up(row.checks, unit, places)), start)


def _adds_up(checks: Sequence[LimitCheck], unit: Unit, decimals: int) -> bool:
    scale = 100 if unit is Unit.SHARE else 1

    def written(number: float) -> float:
        return round(number * scale, decimals)

    errors = [written(check.left) - written(check.right) - written(check.difference) for check in checks]
    errors += [
        abs(written(check.difference) - written(check.allowed)) - written(check.beyond)
        for check in checks
        if check.beyond
    ]
    return all(abs(error) <= TOLERANCE for error in errors)
