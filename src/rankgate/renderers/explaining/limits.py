"""A gate's value, its change and its limits, number by number: the arithmetic as one does it on paper."""

from __future__ import annotations

from rankgate.gates.explain import GateExplained, LeftOut, LimitCheck, Row
from rankgate.model.report import GateResult
from rankgate.model.values import TOLERANCE, Direction, Evidence
from rankgate.model.wording import (
    confidence_text,
    count_text,
    delta_text,
    exact_decimals,
    interval_text,
    value_text,
)
from rankgate.renderers.explaining.intervals import change_says, harm_word, limit_word, value_says
from rankgate.renderers.explaining.layout import safe
from rankgate.renderers.explaining.numbers import decimals_of, size_text

MOST_NAMED = 10

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
    decimals = decimals_of(found.gate)
    of = f" of {found.total:,}" if found.total is not None and found.total != gate.n else ""
    over = f"over {gate.n:,}{of} {_questions(gate.n)}"
    how = f"the mean {over}"
    if found.quantile is not None:
        how = f"the {100 * found.quantile:g}% quantile {over}: as many are at or below it"
    lines = [f"Now {value_text(gate.value, gate.unit, decimals)}: {how}."]
    if found.absent:
        lacking = count_text(found.absent, "question")
        lines.append(
            f"At most {lacking} that the run lacks, counted at the metric's worst value."
            if found.lost is None
            else f"The run lacks {lacking}, which it counts at the metric's worst value."
        )
    lines += [f"Left out: {_left_out(each)}." for each in found.left_out]
    spread = interval_text(gate.ci, gate.unit)
    if not spread:
        return [*lines, "No interval: too few questions for one."]
    how = "from the order of the values" if found.quantile else "what other questions like these would give"
    sure = confidence_text(gate.confidence)
    return [*lines, f"{sure} interval of the value: {spread} ({how}; docs/statistics.md)."]


def change_lines(found: GateExplained) -> list[str]:
    """The comparison with the baseline, with its arithmetic, and what its limit makes of it."""
    *lines, last = comparison_lines(found.gate, "baseline")
    lines += [f"Not compared: {_left_out(each)}." for each in found.unpaired]
    return [*lines, last]


def comparison_lines(row: Row, other: str) -> list[str]:
    """The same for any row.

    Args:
        row: of a gate, or of a part of one.
        other: what it is compared with.
    """
    gate = row.result
    if gate.delta is None or gate.paired_value is None or gate.baseline is None:
        allowed = "" if gate.regression_max is None else f"; {_allowed(gate)} would be allowed"
        return [f"There is nothing to compare with{allowed}."]
    check = next((each for each in row.checks if each.limit == "regression_max"), None)
    decimals = decimals_of(row)
    now, before = (value_text(value, gate.unit, decimals) for value in (gate.paired_value, gate.baseline))
    delta = delta_text(gate.delta, gate.unit, decimals)
    both = f"over the {count_text(gate.n_pairs, 'question')} that both have"
    lines = [f"{now} now − {before} in the {other} = {delta}, {both}."]
    if check is None:
        return [*lines, "No limit is set on it."]
    lines.append(f"Allowed: {_allowed(gate)}. {_stands(check, gate, decimals)}")
    if (exact := gate.exact) is not None:
        said = f"p = {exact.p:.2g} (what moved, tossed like coins; it is {exact.least:.2g} at least)"
        lines.append(f"Exact test: {said}; harm is proven below {(1 - gate.confidence) / 2:.3g}.")
    spread = interval_text(gate.delta_ci, gate.unit, change=True)
    if gate.delta_ci == (0.0, 0.0):
        lines.append("No question changed, so that there is nothing to doubt.")
    elif spread:
        says = change_says(gate, decimals)
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
    decimals = decimals_of(row)
    now, limit = (value_text(value, gate.unit, decimals) for value in (check.left, check.right))
    difference = delta_text(check.difference, gate.unit, decimals)
    lines = [f"{now} now − {limit} asked for = {difference}. {_stands(check, gate, decimals)}"]
    if interval_text(gate.ci, gate.unit):
        lines.append(f"Its {confidence_text(gate.confidence)} interval: {value_says(gate, check)}.")
    return [*lines, _ruling(check, gate)]


def _allowed(gate: GateResult) -> str:
    limit = gate.regression_max or 0.0
    if not limit:
        return f"no {harm_word(gate)} at all"
    size = delta_text(
        limit if gate.direction is Direction.LOWER else -limit, gate.unit, exact_decimals(limit, gate.unit)
    )
    return (
        f"a {harm_word(gate)} down to {size}"
        if gate.direction is Direction.HIGHER
        else f"a {harm_word(gate)} up to {size}"
    )


def _stands(check: LimitCheck, gate: GateResult, decimals: int) -> str:
    """Where a number stands to its limit."""
    exact = abs(check.difference - check.allowed) <= TOLERANCE
    if check.limit == "threshold":
        return (
            f"That is {'exactly at' if exact else 'above' if check.difference > 0 else 'below'} the {limit_word(gate)}."
        )
    if check.beyond:
        return f"That is {size_text(check.beyond, gate.unit, decimals)} more than allowed."
    return "That is exactly as much as allowed." if exact else "That is within it."


def _ruling(check: LimitCheck, gate: GateResult) -> str:
    words = {"holds": "holds", "violated": "VIOLATED", "inconclusive": "broken by the number, within noise"}
    return f"→ {words[check.ruling]}, by {gate.evidence.value}"


def _left_out(each: LeftOut) -> str:
    why = _WHY[each.why].format(them="it" if each.count == 1 else "them")
    named = [safe(query, 40) for query in each.queries[:MOST_NAMED]]
    more = each.count - len(named)
    ids = f" ({', '.join(named)}{f' and {more:,} more' if more else ''})" if named else ""
    return f"{count_text(each.count, 'question')}, since {why}{ids}"


def _questions(count: int) -> str:
    return "question" if count == 1 else "questions"
