"""Whether criteria, gold set and baseline fit together, and what is computed of them."""

from __future__ import annotations

from msgspec.structs import replace

from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.metrics.plan import Plan
from rankgate.model.values import Gold, RunField
from rankgate.model.wording import count_text

LEAST_KEPT = 10  # items of a list that the metrics of a page look at, and more
SHOWN = frozenset(
    {RunField.IDS, RunField.DOCS, RunField.LATENCY}
)  # what details need of the runs beyond what metrics ask for


def plan_with(plan: Plan, inputs: Inputs) -> Plan:
    """The plan with what details need, with the metric whose changes are to be listed, and what its gates rest on."""
    metrics = {metric.name: metric for metric in plan.metrics}
    if "answered_rate" in metrics:
        from rankgate.metrics.lines import GivenRate  # noqa: PLC0415 -- paid only where answers are judged

        metrics.setdefault(GivenRate.key, GivenRate())
    details = inputs.details
    if details is None:
        return replace(plan, metrics=[*metrics.values()])
    if details.leading:
        metrics.setdefault(details.leading.name, details.leading)
    return with_shown(replace(plan, metrics=[*metrics.values()]), details.depth)


def with_shown(plan: Plan, depth: int) -> Plan:
    """The plan with what details need, of so many items of each list."""
    from rankgate.diagnosis.details import MEASURES  # noqa: PLC0415 -- paid only where details are asked for

    return replace(plan, also=SHOWN, beside=MEASURES, keep=max(depth, LEAST_KEPT))


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
    from rankgate.gates.segments import refuse_unknown, refuse_unknown_must_pass  # noqa: PLC0415 -- as above

    problems: list[Problem] = []
    for refuse in (refuse_unknown, refuse_unknown_must_pass):
        try:
            refuse(criteria.gates, gold, criteria.name)
        except RankgateError as error:
            problems += error.problems
    if problems:
        raise RankgateError(problems)
