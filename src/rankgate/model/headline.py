"""The verdict as a sentence for a reader who does not know the metrics, and what it leaves for others to say.

Holds no text from the inputs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from rankgate.errors import Problem, ProblemKind
from rankgate.model.base_ref import SHORT_SHA, BaseSide
from rankgate.model.conclusion import OtherCode, PartLoss
from rankgate.model.reasons import plain_sentence
from rankgate.model.report import GateResult, Report
from rankgate.model.values import TOLERANCE, Direction, EvidenceState, ReasonKind, Verdict, worst
from rankgate.model.wording import count_text, size_text

_PLAIN_TAG = re.compile(r"[\w:+-]{1,40}")  # of nothing at which Markdown begins a link or names somebody


def with_summary(report: Report) -> Report:
    """The report with the sentence that its verdict, gates and problems now give."""
    frame, reason, paradox = _parts(report)
    return replace(report, summary=f"{frame.format(reason)}{paradox}")


def concluded(report: Report) -> Report:
    """The report with the worst verdict of its gates, failures and warnings, and with the sentence that this gives."""
    own = [Verdict.FAIL for _ in report.failures] + [Verdict.WARN for _ in report.warnings]
    return with_summary(replace(report, verdict=worst([*(gate.verdict for gate in report.gates), *own])))


def with_other_code(report: Report, found: OtherCode | None) -> Report:
    """The report of a run that is not of this code, which warns at least."""
    if found is None:
        return report
    warnings = [_code_text(found), *report.warnings]
    verdict = worst([report.verdict, Verdict.WARN])
    return with_summary(replace(report, other_code=found, warnings=warnings, verdict=verdict))


def part_text(part: PartLoss) -> str:
    """`lang:th lost 36.0 points of recall@5: 9 of 25 questions got worse`; a tag that is no plain name is not shown."""
    name = part.segment if _PLAIN_TAG.fullmatch(part.segment) else "one part of the questions"
    size = size_text(part.now - part.before, part.unit).replace(" pp", " points")
    got_worse = f"{part.worse:,} of {count_text(part.n, 'question')} got worse"
    if part.direction is Direction.HIGHER:
        return f"{name} lost {size} of {part.metric}: {got_worse}"
    return f"{part.metric} rose by {size} in {name}: {got_worse}"


def _code_text(found: OtherCode) -> str:
    if found.same_as_accepted:
        return "this run is the accepted run, byte by byte, and says nothing of this code; record again"
    more = f" and {count_text(found.more, 'more file')}" if found.more else ""
    plain = re.fullmatch(r"[\w./-]+", found.path or "", re.ASCII) and "www." not in (found.path or "")
    what = f"{found.path if plain else 'a file'}{more}; record again"  # any other name is the inputs' own text
    return f"this run was recorded at {found.commit[:SHORT_SHA]}, before the last change of {what}"


def short_headline(report: Report) -> str:
    """The same without what the verdict itself says: `all 2 gates pass.`."""
    _, reason, paradox = _parts(report)
    return f"{reason}.{paradox}"


def headline_gate(report: Report) -> GateResult | None:
    """The gate whose first reason the headline gives; None where it says something else.

    What holds for all questions says more than what holds for some, and what was found more than what could not be.
    A warning that is no gate's comes only before gates that have nothing to compare with.
    """
    verdict = report.verdict
    deciding = [gate for gate in report.gates if gate.verdict is verdict]
    if verdict not in (Verdict.WARN, Verdict.FAIL) or not deciding:
        return None
    if verdict is Verdict.WARN and all(map(_uncompared, deciding)):
        return None
    return min(deciding, key=lambda gate: (gate.segment is not None, _uncompared(gate)))


def other_sentences(report: Report) -> list[tuple[Verdict, str]]:
    """What failed or warned and is no gate's, without what the headline gives."""
    texts = [(Verdict.FAIL, text) for text in report.failures] + [(Verdict.WARN, text) for text in report.warnings]
    first = headline_gate(report) is None and report.verdict in (Verdict.FAIL, Verdict.WARN)
    return texts[1:] if first else texts


def _uncompared(gate: GateResult) -> bool:
    """Whether a gate warns for nothing but that there is nothing to compare with."""
    if len(gate.reasons) != 1:
        return False
    kind, state = gate.reasons[0].kind, gate.evidence_state
    return kind is ReasonKind.NO_BASELINE or (kind is ReasonKind.TEXT and state is EvidenceState.NO_BASELINE)


def _parts(report: Report) -> tuple[str, str, str]:
    """The frame that the verdict gives, the reason that it is filled with, and where part and whole differ."""
    deciding = [gate for gate in report.gates if gate.verdict is report.verdict]
    first = headline_gate(report)
    paradox = paradox_of(report.gates)
    match report.verdict:
        case Verdict.PASS:
            whole = sum(gate.segment is None for gate in report.gates)
            subject, holds = _subject(report.gates), "hold" if any(map(_judges_answers, report.gates)) else "holds"
            passes = "the gate passes" if whole == 1 else f"all {whole} gates pass"
            return f"{subject.capitalize()} {holds}: {{}}.", passes, paradox
        case Verdict.WARN if first is None and not report.warnings:
            floors = any(gate.threshold is not None for gate in report.gates)
            nobody = f"without a baseline nobody can tell whether {_subject(report.gates, 'or')} got worse"
            holds = f"it holds its floors, but {nobody}"
            return ("May be merged: {}.", holds, paradox) if floors else ("May be merged, but {}.", nobody, paradox)
        case Verdict.WARN:
            reason = _first_reason(first, report.base) if first else report.warnings[0]
            return "May be merged, with a warning: {}.", f"{reason}{more_text(report, first)}", paradox
        case Verdict.FAIL:
            reason = _first_reason(first, report.base) if first else next(iter(report.failures), "a gate fails")
            return "Do not merge: {}.", f"{reason}{more_text(report, first)}", paradox
        case Verdict.NOT_JUDGED:
            frame = f"Do not merge yet: {_subject(deciding)} could not be judged ({{}})."
            return frame, _what_failed(report.problems, deciding), paradox
        case _:
            assert_never(report.verdict)


def paradox_of(results: Sequence[GateResult]) -> str:
    """Simpson's paradox, named: the whole does not show what a part surely lost, corrected for how many there are."""
    own = [result for result in results if result.judged_by is None]
    lower = {each.name for each in own if not each.segment and each.direction.sign * (each.delta or 0.0) < -TOLERANCE}
    whole = {each.name for each in own if not each.segment} - lower
    metrics = " and ".join(dict.fromkeys(each.metric for each in own if each.surely_fell and each.name in whole))
    return f" {metrics} fell for one part of the questions and not over all (Simpson's paradox)." if metrics else ""


def _judges_answers(gate: GateResult) -> bool:
    return gate.judge is not None or any(each.kind is ReasonKind.NO_VERDICT for each in gate.reasons)


def _subject(gates: Sequence[GateResult], joined: str = "and") -> str:
    """What these gates judge: retrieval, also where there are none, the answers, or both."""
    judged = set(map(_judges_answers, gates))
    parts = ["retrieval"] * (judged != {True}) + ["the answers"] * (True in judged)
    return f" {joined} ".join(parts)


def _what_failed(problems: Sequence[Problem], gates: Sequence[GateResult]) -> str:
    kinds = {problem.kind for problem in problems}
    if ProblemKind.INTERNAL in kinds:
        return "something went wrong inside rankgate"
    if ProblemKind.GOLD_STALE in kinds:
        return "the gold set is stale, it names ids that the search no longer returns"
    if gates and all(each.kind is ReasonKind.NO_VERDICT for gate in gates for each in gate.reasons):
        return "verdicts of the judge are missing"
    return f"{count_text(len(problems), 'problem')} with the inputs"


def _first_reason(gate: GateResult, base: BaseSide | None) -> str:
    reason = plain_sentence(gate, base) if gate.reasons else f"{gate.metric} gives no reason"
    return reason if gate.segment is None else f"for one part of the questions, {reason}"


def more_text(report: Report, first: GateResult | None) -> str:
    """`; 2 more parts and 1 more gate fail`: what has the report's verdict beside the first; segments are no gates."""
    deciding = [gate for gate in report.gates if gate.verdict is report.verdict]
    name, segment = (first.name, first.segment) if first else (None, None)
    parts = len({each.segment for each in deciding if each.name == name} - {segment, None})
    gates = len({each.name for each in deciding} - {name})  # one that both sides judge is one
    counts = [count_text(parts, "more part" if segment else "part") + " of the questions" * (not segment)] * bool(parts)
    counts += [count_text(gates, "more gate")] * bool(gates)
    verb = f"{'fail' if report.verdict is Verdict.FAIL else 'warn'}{'s' * (parts + gates == 1)}"
    return f"; {' and '.join(counts)} {verb}" if counts else ""
