"""A gate's value, its change and its limits, number by number: the arithmetic as one does it on paper."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.explaining.gate import GateExplained, LeftOut, LimitCheck, Row
from rankgate.metrics.base import Direction, Unit
from rankgate.model import TOLERANCE, Evidence, Interval
from rankgate.renderers.explaining.layout import safe
from rankgate.report import GateResult
from rankgate.wording import (
    confidence_text,
    count_text,
    delta_text,
    exact_decimals,
    interval_text,
    telling_decimals,
    value_text,
)

MOST_NAMED = 10
_MOST_DECIMALS = 9
_FINER = 2  # decimals more than needed to tell numbers apart, if a sum then adds up as it is written

EVIDENCE = {
    Evidence.ESTIMATE: "the number itself decides; the interval only says how sure it is",
    Evidence.PROVEN_SAFE: "a limit holds only where the whole interval lies within it",
    Evidence.PROVEN_HARM: "a limit is violated only where the number breaks it and the interval proves harm: all of it "
    "beyond a floor, or all of a change for the worse; the rest is within noise, which warns and blocks nothing",
}
_WHY = {
    "nothing_relevant": "the gold set names no right document for {them}",
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
    decimals = _decimals(found.gate)
    of = f" of {found.total:,}" if found.total is not None and found.total != gate.n else ""
    how = (
        "the mean"
        if found.quantile is None
        else f"the {100 * found.quantile:g}% quantile, so that as many are at or below it,"
    )
    lines = [f"Now {value_text(gate.value, gate.unit, decimals)}: {how} over {gate.n:,}{of} {_questions(gate.n)}."]
    lines += [f"Left out: {_left_out(each)}." for each in found.left_out]
    spread = interval_text(gate.ci, gate.unit)
    if not spread:
        return [*lines, "No interval: too few questions for one."]
    how = "from the order of the values" if found.quantile else "what a bootstrap over the questions would give"
    sure = confidence_text(gate.confidence)
    return [*lines, f"{sure} interval of the value: {spread} ({how}; docs/statistics.md)."]


def change_lines(found: GateExplained) -> list[str]:
    """The comparison with the baseline, with its arithmetic, and what its limit makes of it."""
    gate = found.gate.result
    *lines, last = comparison_lines(found.gate, "baseline")
    lines += [f"Not compared: {_left_out(each)}." for each in found.unpaired]
    if gate.p_value is not None and gate.delta:
        lines.append(
            f"p-value {gate.p_value:.3g}: how often changes of these sizes, with signs tossed like coins, add up to as "
            "much. For experts; the gate does not use it."
        )
    return [*lines, last]


def comparison_lines(row: Row, other: str) -> list[str]:
    """The same for any row.

    Args:
        row: of a gate, or of a part of one.
        other: what it is compared with.
    """
    gate = row.result
    if gate.delta is None or gate.paired_value is None or gate.baseline is None:
        allowed = "" if gate.regression_max is None else f"; {_allowed(gate, None)} would be allowed"
        return [f"There is nothing to compare with{allowed}."]
    check = next((each for each in row.checks if each.limit == "regression_max"), None)
    decimals = _decimals(row)
    now, before = (value_text(value, gate.unit, decimals) for value in (gate.paired_value, gate.baseline))
    delta = delta_text(gate.delta, gate.unit, decimals)
    both = f"over the {count_text(gate.n_pairs, 'question')} that both have"
    lines = [f"{now} now − {before} in the {other} = {delta}, {both}."]
    if check is None:
        return [*lines, "No limit is set on it."]
    lines.append(f"Allowed: {_allowed(gate, decimals)}. {_stands(check, gate, decimals)}")
    spread = interval_text(gate.delta_ci, gate.unit, change=True)
    if spread:
        says = _change_says(gate, decimals)
        lines.append(f"{confidence_text(gate.confidence)} interval of the change, {spread}: {says}.")
    else:
        lines.append("No interval of the change: too few questions for one.")
    return [*lines, _ruling(check, gate)]


def threshold_lines(row: Row) -> list[str]:
    """The floor, or the ceiling where lower is better; nothing where none is set or nothing was judged."""
    gate = row.result
    check = next((each for each in row.checks if each.limit == "threshold"), None)
    if check is None:
        return []
    decimals = _decimals(row)
    now, limit = (value_text(value, gate.unit, decimals) for value in (check.left, check.right))
    difference = delta_text(check.difference, gate.unit, decimals)
    lines = [f"{now} now − {limit} asked for = {difference}. {_stands(check, gate, decimals)}"]
    spread = interval_text(gate.ci, gate.unit)
    if spread:
        lines.append(f"{confidence_text(gate.confidence)} interval of the value, {spread}: {_value_says(gate, check)}.")
    return [*lines, _ruling(check, gate)]


def limit_word(gate: GateResult) -> str:
    """`floor` or `ceiling`."""
    return "floor" if gate.direction is Direction.HIGHER else "ceiling"


def _harm(gate: GateResult) -> str:
    return "drop" if gate.direction is Direction.HIGHER else "rise"


def _allowed(gate: GateResult, decimals: int | None) -> str:
    limit = gate.regression_max or 0.0
    if not limit:
        return f"no {_harm(gate)} at all"
    digits = exact_decimals(limit, gate.unit) if decimals is None else decimals
    size = delta_text(limit if gate.direction is Direction.LOWER else -limit, gate.unit, digits)
    return f"a {_harm(gate)} down to {size}" if gate.direction is Direction.HIGHER else f"a {_harm(gate)} up to {size}"


def _stands(check: LimitCheck, gate: GateResult, decimals: int) -> str:
    """Where a number stands to its limit."""
    floor = check.limit == "threshold"
    if check.beyond:
        size = _size(check.beyond, gate.unit, decimals)
        side = "below" if gate.direction is Direction.HIGHER else "above"
        return f"That is {size} {side} the {limit_word(gate)}." if floor else f"That is {size} more than allowed."
    if abs(check.difference - check.allowed) <= TOLERANCE:
        return f"That is exactly {f'the {limit_word(gate)}' if floor else 'as much as allowed'}, which holds."
    return f"That holds the {limit_word(gate)}." if floor else "That is within it."


def _size(number: float, unit: Unit, decimals: int) -> str:
    return delta_text(number, unit, decimals).lstrip("+±−")


def _change_says(gate: GateResult, decimals: int) -> str:
    """What the interval of the change proves, in the gate's own direction."""
    low, high = _upright(gate.delta_ci, gate.direction)
    if (low, high) == (0.0, 0.0):
        return "no question changed"
    if high is not None and high < 0:
        said = "all of it is for the worse, so that a loss is certain, not its size"
    elif low is not None and low > 0:
        said = "all of it is for the better"
    elif high is None:
        said = "its better end is not known"
    else:
        said = "0 lies within, so that chance alone may have done it"
    if gate.evidence is Evidence.PROVEN_SAFE and low is not None:
        worst = delta_text(low if gate.direction is Direction.HIGHER else -low, gate.unit, decimals)
        safe_enough = -low <= (gate.regression_max or 0.0) + TOLERANCE
        said += f"; its worst end, {worst}, is {'within' if safe_enough else 'beyond'} what is allowed"
    return said


def _value_says(gate: GateResult, check: LimitCheck) -> str:
    low, high = _upright(gate.ci, gate.direction)
    limit = check.right if gate.direction is Direction.HIGHER else -check.right
    if high is not None and high < limit - TOLERANCE:
        return f"all of it lies {'below' if gate.direction is Direction.HIGHER else 'above'} the {limit_word(gate)}"
    if low is not None and low >= limit - TOLERANCE:
        return f"all of it holds the {limit_word(gate)}"
    return f"the {limit_word(gate)} lies within it, so that other questions of the kind may give either"


def _upright(ci: Interval | None, direction: Direction) -> tuple[float | None, float | None]:
    """The bounds so that below is worse."""
    low, high = ci or (None, None)
    if direction is Direction.HIGHER:
        return low, high
    return (None if high is None else -high), (None if low is None else -low)


def _ruling(check: LimitCheck, gate: GateResult) -> str:
    words = {"holds": "holds", "violated": "VIOLATED", "inconclusive": "broken by the number, within noise"}
    return f"→ {words[check.ruling]} (evidence: {gate.evidence.value})"


def _decimals(row: Row) -> int:
    """Decimals for all of a row: no rounding hides a violation, and where it can be, what is shown adds up."""
    gate = row.result
    unit = gate.unit
    least = [exact_decimals(0.0, unit)]
    for check in row.checks:
        least += [
            telling_decimals(check.left, check.right, unit),
            telling_decimals(check.difference, check.allowed, unit),
        ]
        least.append(telling_decimals(check.difference, 0.0, unit))
        least.append(exact_decimals(check.right if check.limit == "threshold" else check.allowed, unit))
    start = max(least)
    finer = range(start, min(start + _FINER, _MOST_DECIMALS) + 1)
    return next((places for places in finer if _adds_up(row.checks, unit, places)), start)


def _adds_up(checks: Sequence[LimitCheck], unit: Unit, decimals: int) -> bool:
    scale = 100 if unit is Unit.SHARE else 1

    def written(number: float) -> float:
        return round(number * scale, decimals)

    return all(
        abs(written(check.left) - written(check.right) - written(check.difference)) <= TOLERANCE
        and (
            not check.beyond
            or abs(abs(written(check.difference) - written(check.allowed)) - written(check.beyond)) <= TOLERANCE
        )
        for check in checks
    )


def _left_out(each: LeftOut) -> str:
    why = _WHY[each.why].format(them="it" if each.count == 1 else "them")
    named = [safe(query, 40) for query in each.queries[:MOST_NAMED]]
    more = each.count - len(named)
    ids = f" ({', '.join(named)}{f' and {more:,} more' if more else ''})" if named else ""
    return f"{count_text(each.count, 'question')}, since {why}{ids}"


def _questions(count: int) -> str:
    return "question" if count == 1 else "questions"
