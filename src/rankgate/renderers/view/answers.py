"""Judged answers: those that got worse, in their one order, what became of their claims, and lines on the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rankgate.model.answers import AnswerLoss, Entailment, LostClaim, Place, Silent, UnjudgedKind, VerdictKind
from rankgate.model.details import sampled
from rankgate.model.gate_result import GateResult
from rankgate.model.judge_words import STAGE_WORDS, UNJUDGED_WORDS, advisory_text, limits_text
from rankgate.model.report import Report
from rankgate.model.values import Unit, Verdict
from rankgate.model.wording import count_text, delta_points_text, delta_text, value_text
from rankgate.renderers.escape import Pieces, Sentence, Spell, Text
from rankgate.renderers.view.questions import address_of, text_of, unit_of

LONGEST_TEXT = 200  # characters of a claim

_SAYS = {
    Entailment.SUPPORTED: "",
    Entailment.ABSENT: "no passage supports it",
    Entailment.CONTRADICTED: "a passage contradicts it",
    Entailment.UNVERIFIED: "no passage has the quote that the judge gave for it",
}


class LostAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that got worse: where to look, its value before and now, and what became of its claims."""

    id: Text
    question: Text | None
    stage: str
    clause: str
    values: str
    claims: tuple[Sentence, ...] = ()
    more: int = 0
    address: str | None = None


def answers_of(report: Report, most: int) -> tuple[LostAnswer, ...]:
    """The worst of them, those of every stage among them, and of one stage side by side."""
    answers = report.changes.answers
    if answers is None:
        return ()
    losses = sampled(answers.losses, [loss.stage for loss in answers.losses], most)
    stages = list(STAGE_WORDS)
    return tuple(_answer(loss, report) for loss in sorted(losses, key=lambda loss: stages.index(loss.stage)))


def _answer(loss: AnswerLoss, report: Report) -> LostAnswer:
    pieces = Pieces(LONGEST_TEXT)
    unit = unit_of(loss.metric, report)
    label, meaning = STAGE_WORDS[loss.stage]
    claims: list[Sentence] = []
    for claim in loss.claims:
        clause = fate(claim, pieces.spell)
        if claim.text:  # a public report has no texts
            clause = f"{pieces.spell(claim.text)}: {clause}"
        claims.append(pieces.sentence(clause))
    return LostAnswer(
        id=Text(loss.query_id, 80),
        question=text_of(loss.question, loss.query_id),
        stage=label,
        clause=meaning,
        values=f"{loss.metric} {value_text(loss.before, unit)} → {value_text(loss.after, unit)}",
        claims=tuple(claims),
        more=loss.more,
        address=address_of(loss.query_id, report),
    )


def fate(claim: LostClaim, spell: Spell) -> str:
    """What became of a claim and of the passage that supported it, in a clause."""
    at = f" at rank {claim.rank_before}" if claim.rank_before else ""
    now = {
        Place.GONE: "is no longer retrieved",
        Place.BEYOND: f"is at rank {claim.rank_now} now, beyond the context",
        Place.REWRITTEN: "has another text now",
        Place.IN_CONTEXT: "is still in the context",
    }
    passage = spell(claim.passage or "")
    support = f"was supported by {passage}{at}, which {now[claim.place]}" if claim.place else ""
    if claim.asked is VerdictKind.GOLD_IN_ANSWER:
        opposite = claim.now is Entailment.CONTRADICTED
        answer = "the answer says the opposite now" if opposite else "the answer no longer says it"
        if claim.place is Place.IN_CONTEXT:
            rank = f" (rank {claim.rank_now})" if claim.rank_now else ""
            return f"{answer}, and {passage}{rank} in the context still does"
        return f"{answer}; it {support}" if support else answer
    verdict = _SAYS[claim.now]
    if not support:
        return verdict if claim.before is None else f"{verdict}, as before"
    says_all = claim.place is not Place.IN_CONTEXT and claim.now is Entailment.ABSENT
    return support if says_all else f"{support}; {verdict} now"


def answer_lines(report: Report, spell: Spell) -> list[str]:
    """Who judged the answers, how many assert nothing, and how many could not be judged: a sentence each."""
    judged = [gate for gate in report.gates if gate.by_judge and gate.is_main]
    judge = report.provenance.judge
    lines = [f"Judge {spell(judge.id)} ({spell(judge.model)}){_checked(judged)}."] if judge and judged else []
    lines += [*_in_people_s_units(judged), *_advisory(judged, spell)]
    lineage = report.provenance.lineage
    baseline_judge = lineage.judge if lineage else None
    if baseline_judge and judge and baseline_judge.id != judge.id:
        compared = any(gate.by_judge and gate.change.delta is not None for gate in report.gates)
        both = f"both runs were judged by {spell(judge.id)}" if compared else "the baseline has to be judged again"
        lines.append(f"The judge changed ({spell(baseline_judge.id)} → {spell(judge.id)}): {both}.")
    answers = report.changes.answers
    if answers and answers.silent:
        lines.append(_silent_line(answers.silent))
    return [*lines, *_failed(report)]


def _advisory(judged: Sequence[GateResult], spell: Spell) -> Iterator[str]:
    """Which gates do not block and why, those with one reason together."""
    names_by_reason: dict[tuple[str, str], list[str]] = {}
    for gate in judged:
        if gate.judge and (why := advisory_text(gate.metric, gate.judge)):
            one_limit = f"{limits_text(gate.judge)[1]} there do" if gate.judge.counts else ""
            names_by_reason.setdefault((why, one_limit), []).append(gate.name)
    for (why, one_limit), names in names_by_reason.items():
        what = one_limit or ("they do" if names[1:] else "it does")
        yield f"Advisory for {', '.join(map(spell, names))}: {why}; until then {what} not block."


def _silent_line(silent: Silent) -> str:
    """`Answers that assert nothing: 2.0% → 9.0% (+7.0 points); faithfulness counts the rest.`."""
    now = silent.now / silent.among
    change = value_text(now, Unit.SHARE)
    if silent.before is not None:
        before = silent.before / silent.among
        change = f"{value_text(before, Unit.SHARE)} → {change} ({delta_points_text(now - before, Unit.SHARE)})"
    counts = f"{' and '.join(silent.metrics)} {'count' if silent.metrics[1:] else 'counts'} the rest"
    return f"Answers that assert nothing: {change}; {counts}."


def _failed(report: Report) -> Iterator[str]:
    """What the judge failed at; one sentence for all gates that fail at the same answers."""
    values_at_worst: dict[str, list[str]] = {}
    for gate in report.gates:
        lack = gate.no_verdicts  # where nobody was asked, a gate that does not pass says so itself
        if lack and (gate.verdict is Verdict.PASS or lack.kinds.keys() != {UnjudgedKind.NO_VERDICT}):
            why = ", ".join(f"{count:,} {UNJUDGED_WORDS[kind]}" for kind, count in lack.kinds.items())
            sentence = f"{lack.count:,} of {count_text(lack.among, 'answer')} could not be judged ({why})"
            values_at_worst.setdefault(sentence, []).append(f"{gate.metric} is {value_text(lack.at_worst, gate.unit)}")
    for sentence, values in values_at_worst.items():
        yield f"{sentence}; with all of them wrong {', '.join(values)}."


def _checked(gates: Sequence[GateResult]) -> str:
    """`, checked by 2 people: of a difference it sees 71% in faithfulness (95%: 60 to 82%, 212 answers)`."""
    judges = {gate.metric: gate.judge for gate in gates if gate.judge}
    seen: list[str] = []
    people = 0
    for name, judge in judges.items():
        slope = judge.j
        if slope and judge.labels:
            interval = f"95%: {100 * slope.low:.0f} to {slope.high:.0%}"
            seen.append(f"{slope.value:.0%} in {name} ({interval}, {judge.labels.answers:,} answers)")
            people = max(people, judge.labels.people)
    if not seen:
        return ""
    return f", checked by {count_text(people, 'person', 'people')}: of a difference it sees {', '.join(seen)}"


def _in_people_s_units(gates: Sequence[GateResult]) -> list[str]:
    """What the judge itself saw, where the report has it in people's units."""
    values: list[str] = []
    for gate in gates:
        measured = gate.measured
        value = measured.value if measured.value_raw is None else measured.value_raw
        delta = gate.change.delta_raw
        if value is None:
            continue
        number = value_text(value, gate.unit)
        if delta is not None:
            values.append(f"{gate.metric} {number} ({delta_text(delta, gate.unit)})")
        elif number != value_text(measured.value or 0.0, gate.unit):
            values.append(f"{gate.metric} {number}")
    if not values:
        return []
    assumption = ", as if it erred alike on both runs" if any(gate.change.assumption for gate in gates) else ""
    shown = "gates are" if any(gate.measured.value_raw is not None for gate in gates) else "changes alone are"
    return [f"The judge's own values: {', '.join(values)}; the {shown} in people's units{assumption}."]
