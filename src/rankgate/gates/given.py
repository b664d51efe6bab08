"""What blocks of `answered_rate` while no person has checked the judge: answers that are not there at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from rankgate.gates.decide import decide
from rankgate.metrics.answers import AnsweredRate
from rankgate.metrics.lines import GivenRate
from rankgate.model.report import GateResult
from rankgate.model.values import Reason, ReasonKind, Scores, Verdict

if TYPE_CHECKING:
    from rankgate.criteria import Gate
    from rankgate.gates.people import People

GIVEN = GivenRate()


def decide_answers(gate: Gate, candidate: Scores, baseline: Scores | None, people: People | None = None) -> GateResult:
    """As `decide`; a gate on `answered_rate` for which the judge's word does not count fails by `given_rate`.

    The limits are the gate's own. Whether an answer is missing, empty or declared an abstention needs no judge.
    """
    result = decide(gate, candidate, baseline, people)
    by_judge = not isinstance(gate.metric, AnsweredRate) or people is None or people.standing.all_counts
    scored = GIVEN.name in candidate.values and (baseline is None or GIVEN.name in baseline.values)
    if by_judge or not scored or result.verdict is Verdict.FAIL:
        return result
    given = decide(gate.model_copy(update={"metric": GIVEN}), candidate, baseline)
    if given.verdict is not Verdict.FAIL:
        return result
    columns = zip(candidate.values[GIVEN.name], candidate.values[gate.metric.name], strict=True)
    refusals = sum(there == 1.0 and asserts == 0.0 for there, asserts in columns)
    return replace(given, standing=result.standing, reasons=[*given.reasons, Reason(ReasonKind.GIVEN, count=refusals)])
