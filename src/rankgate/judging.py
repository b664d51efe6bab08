"""All gates: each on its whole, on single queries, and on its segments."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.criteria import Criteria
from rankgate.errors import Problem, RankgateError
from rankgate.gates import decide
from rankgate.model import Evidence, Gold, Scores
from rankgate.report import GateResult


def judge_all(
    criteria: Criteria, gold: Gold, candidate: Scores, baseline: Scores | None, anchor: Scores | None = None
) -> list[GateResult]:
    """A result for every gate, in order, each followed by its drift since the anchor and by those of its segments.

    Of the private part, which has few queries, only what is proven over all of them counts.
    """
    if gold.private:
        return [decide(replace(gate, evidence=Evidence.PROVEN_HARM), candidate, baseline) for gate in criteria.gates]
    results: list[GateResult] = []
    for gate in criteria.gates:
        result = decide(gate, candidate, baseline)
        if gate.must_pass or gate.max_lost_queries is not None:
            from rankgate.hard_checks import with_hard_checks  # noqa: PLC0415 -- paid only where asked for

            result = with_hard_checks(result, gate, gold, candidate, baseline)
        results.append(result)
        if criteria.policy.anchor is not None:
            from rankgate.anchoring import decide_drift  # noqa: PLC0415 -- as above

            drift = decide_drift(gate, criteria.policy.anchor, candidate, anchor)
            results += [drift] if drift else []
        if gate.segments:
            from rankgate.segment_gates import decide_segments  # noqa: PLC0415 -- as above

            results += decide_segments(gate, gold, candidate, baseline, decide)
    return results


def whole(results: Sequence[GateResult]) -> list[GateResult]:
    """The results over all queries, one a gate."""
    return [result for result in results if result.segment is None and result.since is None]


def refuse_misfits(criteria: Criteria, gold: Gold) -> None:
    """Criteria may only name queries, tags and segments that the gold has.

    Raises:
        RankgateError: everything that they name and the gold lacks.
    """
    if not any(gate.segments or gate.must_pass for gate in criteria.gates):
        return
    from rankgate.hard_checks import refuse_unknown_musts  # noqa: PLC0415 -- as above
    from rankgate.segment_gates import refuse_unknown  # noqa: PLC0415

    problems: list[Problem] = []
    for refuse in (refuse_unknown, refuse_unknown_musts):
        try:
            refuse(criteria.gates, gold, criteria.name)
        except RankgateError as error:
            problems += error.problems
    if problems:
        raise RankgateError(problems)
