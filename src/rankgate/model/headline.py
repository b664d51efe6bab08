"""The conclusion as a sentence for a reader who does not know the metrics, and what it leaves for others to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rankgate.errors import ProblemKind, on_one_line
from rankgate.model.conclusion import ConclusionKind
from rankgate.model.gate_result import GateResult
from rankgate.model.pass_words import absent_text, passes, value_and_limit
from rankgate.model.report import Report
from rankgate.model.topic import Numbers, Spell, Topic, part_name
from rankgate.model.values import TOLERANCE, Verdict
from rankgate.model.wording import count_text, is_plain_name

OF_GATES = (ConclusionKind.GATE_FAILS, ConclusionKind.GATE_WARNS)
_LONGEST_PROBLEM = 400  # characters
_OURS = frozenset(
    {"a", "the", "nothing", "none", "this", "lost", "added", "no", "floors", "something", "unproven:"}
)  # no metric, tag or code


def plain_name(text: str) -> str:
    """A tag as it is, or what stands for one that could be anything but a name."""
    return text if is_plain_name(text) else "one part of the questions"


def plain_text(text: str) -> str:
    """Text on one line, its control characters escaped, and not endless."""
    line = on_one_line(" ".join(text.split()))
    return line if len(line) <= _LONGEST_PROBLEM else line[: _LONGEST_PROBLEM - 1] + "…"


def sentence(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> str:
    """The conclusion in words, such as `Do not merge: lang:th lost 40.0 points of recall@5: 96.0% → 56.0%`.

    `name` spells the tag that it names, `text` a problem with an input. The numbers are those of the conclusion.
    """
    headline = short_headline(report, name, text)
    if report.verdict is Verdict.FAIL:
        return f"Do not merge: {headline}"
    if report.conclusion.kind in (ConclusionKind.GATE_WARNS, ConclusionKind.WARNING):
        return f"May be merged, with a warning: {headline}"
    first_word = headline.partition(" ")[0]
    return f"{headline[:1].upper()}{headline[1:]}" if first_word in _OURS else headline


def short_headline(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> str:
    """The same without what the verdict itself says."""
    conclusion = report.conclusion
    topic = Topic(report, conclusion, Numbers(conclusion), name, text)
    paradox = "" if conclusion.segment is not None else paradox_of(report.gates)
    return f"{_SENTENCES[conclusion.kind](topic)}{paradox}"


def _not_judged(topic: Topic) -> str:
    problems = topic.report.problems
    if any(problem.kind is ProblemKind.INTERNAL for problem in problems):
        return "something went wrong inside rankgate."
    if not problems:
        return "a gate could not be judged."
    more = f" {count_text(len(problems) - 1, 'more problem')} below." if problems[1:] else ""
    first = str(problems[0])
    return f"{topic.text(first)}{'' if first.endswith(('.', '!', '?')) else '.'}{more}"


def _empty(topic: Topic) -> str:
    absent = topic.count("absent")
    if 2 * absent > topic.count("empty"):
        return (
            f"the run lacks {absent:,} of the {count_text(topic.count('total'), 'question')}: it has no line for them."
        )
    empty, total = topic.count("empty"), topic.count("total")
    what = "is empty" if empty == total else "is nearly empty"
    return f"the run {what}: {_without_result(empty, total)}. The index or the retriever returned nothing."


def _empty_segment(topic: Topic) -> str:
    from rankgate.model.loss_words import more_parts  # noqa: PLC0415 -- paid only where a part lost

    others = more_parts(topic.conclusion)
    nor = f"; nor did {others}" if others else ""
    return f"{_without_result(topic.count('empty'), topic.count('total'), f' of {topic.part}')}{nor}."


def _without_result(empty: int, total: int, whose: str = "") -> str:
    if total == 1:
        return f"the only question{whose} got no result"
    if empty == total:
        return f"none of the {total:,} questions{whose} got a result"
    return f"{empty:,} of the {total:,} questions{whose} got no result"


def _failure(topic: Topic) -> str:
    return f"{topic.report.remarks.failures[0]}."


def _warning(topic: Topic) -> str:
    return f"{topic.report.remarks.warnings[0]}."


def _given_up(topic: Topic) -> str:
    from rankgate.model.loss_words import given_up_text  # noqa: PLC0415 -- paid only where losses add up

    return f"{given_up_text(topic.report.changes.given_up[0], topic.report)}."


def _other_code(topic: Topic) -> str:
    from rankgate.model.loss_words import code_text  # noqa: PLC0415 -- paid only where the run is of other code

    return f"{code_text(topic.report.origin.other_code, topic.text)}."


def _no_baseline(topic: Topic) -> str:
    return f"nothing to compare with yet: {value_and_limit(topic)}.{absent_text(topic)}"


def _of_gate(topic: Topic) -> str:
    from rankgate.model.gate_words import of_gate  # noqa: PLC0415 -- paid only where a gate does not hold

    return of_gate(topic, headline_gate(topic.report))


def _lost_part(topic: Topic) -> str:
    from rankgate.model.gate_words import lost_part  # noqa: PLC0415 -- paid only where a part lost

    return lost_part(topic)


_SENTENCES: Mapping[ConclusionKind, Callable[[Topic], str]] = {
    ConclusionKind.NOT_JUDGED: _not_judged,
    ConclusionKind.EMPTY: _empty,
    ConclusionKind.FAILURE: _failure,
    ConclusionKind.GATE_FAILS: _of_gate,
    ConclusionKind.OTHER_CODE: _other_code,
    ConclusionKind.EMPTY_SEGMENT: _empty_segment,
    ConclusionKind.LOST_PART: _lost_part,
    ConclusionKind.GATE_WARNS: _of_gate,
    ConclusionKind.GIVEN_UP: _given_up,
    ConclusionKind.WARNING: _warning,
    ConclusionKind.NO_BASELINE: _no_baseline,
    ConclusionKind.PASS: passes,
}

# --- what others say


def headline_gate(report: Report) -> GateResult | None:
    """The row that the conclusion speaks of; None where it speaks of no gate that fails or warns."""
    conclusion = report.conclusion
    if conclusion.kind not in OF_GATES:
        return None
    rows = [gate for gate in report.gates if gate.place == conclusion.place and gate.verdict is report.verdict]
    exact = [gate for gate in rows if conclusion.limit in (gate.limit, gate.limits.threshold)]
    return next(iter(exact or rows), None)


def other_sentences(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> list[tuple[Verdict, str]]:
    """What failed or warned and is no gate's, without what the conclusion says; without full stops."""
    kind, remarks, changes = report.conclusion.kind, report.remarks, report.changes
    empties = report.measured.empties
    warnings: list[str] = []
    if report.origin.other_code or changes.lost_parts or changes.given_up or (empties and empties.segments):
        warnings += _other_losses(report, name, text)
    warnings += remarks.warnings[kind is ConclusionKind.WARNING :]
    failures = remarks.failures[kind is ConclusionKind.FAILURE :]
    return [*((Verdict.FAIL, each) for each in failures), *((Verdict.WARN, each) for each in warnings)]


def _other_losses(report: Report, name: Spell, text: Spell) -> list[str]:
    """What the conclusion does not say of other code, of empty and of lost parts, and of losses that add up."""
    from rankgate.model.loss_words import code_text, given_up_text, parts_texts  # noqa: PLC0415 -- paid only for losses

    kind, changes, empties = report.conclusion.kind, report.changes, report.measured.empties
    other_code = report.origin.other_code if kind is not ConclusionKind.OTHER_CODE else None
    texts = [code_text(other_code, text)] if other_code else []
    empty = empties.segments if empties and kind is not ConclusionKind.EMPTY else {}
    spoken = report.conclusion.segment if kind is ConclusionKind.EMPTY_SEGMENT else None
    texts += [_without_result(*empty[tag], f" of {part_name(tag, name)}") for tag in empty if tag != spoken]
    lost = changes.lost_parts[kind is ConclusionKind.LOST_PART :]
    texts += parts_texts([part for part in lost if part.segment not in empty], name)
    return texts + [given_up_text(loss, report) for loss in changes.given_up[kind is ConclusionKind.GIVEN_UP :]]


def paradox_of(results: Sequence[GateResult]) -> str:
    """Simpson's paradox, named: the whole does not show what a part surely lost, corrected for how many there are."""
    overall = [each for each in results if each.is_main]
    lower = {each.name for each in overall if each.direction.sign * (each.change.delta or 0.0) < -TOLERANCE}
    holding = {each.name for each in overall} - lower
    metrics = " and ".join(
        dict.fromkeys(each.metric for each in results if each.evidence.surely_fell and each.name in holding)
    )
    return f" {metrics} fell for one part of the questions and not over all (Simpson's paradox)." if metrics else ""
