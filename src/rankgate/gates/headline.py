"""The verdict as a sentence for a reader who does not know the metrics. Holds no text from the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from rankgate.diagnosis.stale_gold import GOLD_STALE
from rankgate.errors import Problem
from rankgate.gates.paradox import paradoxes
from rankgate.gates.reasons import plain_reason
from rankgate.model.deciding import headline_gate, only_lacks_baseline
from rankgate.model.report import GateResult
from rankgate.model.values import Verdict
from rankgate.model.wording import count_text

INTERNAL = "internal error"


def summary_of(
    verdict: Verdict,
    results: Sequence[GateResult],
    problems: Sequence[Problem],
    warnings: Sequence[str] = (),
    failures: Sequence[str] = (),
) -> str:
    """The verdict as one sentence, and one more where the whole hides what a part lost."""
    return headline(verdict, results, problems, warnings, failures) + _paradox(results)


def headline(
    verdict: Verdict,
    results: Sequence[GateResult],
    problems: Sequence[Problem],
    warnings: Sequence[str] = (),
    failures: Sequence[str] = (),
) -> str:
    """The verdict as one sentence, with the first reason and how many more there are."""
    deciding = [result for result in results if result.verdict is verdict]
    first = headline_gate(verdict, results)
    match verdict:
        case Verdict.PASS:
            count = sum(result.segment is None for result in results)
            return f"Retrieval holds: {'the gate passes' if count == 1 else f'all {count} gates pass'}."
        case Verdict.WARN if not warnings and all(only_lacks_baseline(result) for result in deciding):
            floors = ": it holds its floors" if any(result.threshold is not None for result in results) else ""
            return f"May be merged{floors}, but without a baseline nobody can tell whether retrieval got worse."
        case Verdict.WARN:
            said = _first_reason(first) if first else warnings[0]
            return f"May be merged, with a warning: {said}{_more(_count(deciding) - (first is not None), 'warn')}."
        case Verdict.FAIL:
            said = _first_reason(first) if first else failures[0]
            return f"Do not merge: {said}{_more(max(0, _count(deciding) - 1), 'fail')}."
        case Verdict.NOT_JUDGED:
            return f"Do not merge yet: retrieval could not be judged ({_what_failed(problems)})."
        case _:
            assert_never(verdict)


def _paradox(results: Sequence[GateResult]) -> str:
    """Simpson's paradox, named: the whole does not show what a part lost."""
    results = [result for result in results if result.judged_by is None]
    gates = {result.name: result.metric for result in results}
    metrics = list(dict.fromkeys(gates[name] for name in paradoxes(results)))
    if not metrics:
        return ""
    return f" {' and '.join(metrics)} fell for one part of the questions and not over all (Simpson's paradox)."


def _what_failed(problems: Sequence[Problem]) -> str:
    for begins, what in (
        (INTERNAL, "something went wrong inside rankgate"),
        (GOLD_STALE, "the gold set is stale, it names ids that the search no longer returns"),
    ):
        if any(problem.message.startswith(begins) for problem in problems):
            return what
    return f"{count_text(len(problems), 'problem')} with the inputs"


def _first_reason(gate: GateResult) -> str:
    """The first reason, with what the metric means where the reason begins with its name."""
    name, space, rest = plain_reason(gate.reasons[0]).partition(" ")
    reason = f"{name} ({gate.meaning}){space}{rest}" if name == gate.metric else f"{name}{space}{rest}"
    return reason if gate.segment is None else f"for one part of the questions, {reason}"


def _count(deciding: Sequence[GateResult]) -> int:
    """How many gates and segments they are; one that both sides judge is one."""
    return len({result.place for result in deciding})


def _more(count: int, verb: str) -> str:
    if not count:
        return ""
    return f"; 1 more gate {verb}s" if count == 1 else f"; {count} more gates {verb}"
