"""The conclusion as a sentence for a reader who does not know the metrics, and what it leaves for others to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rankgate.errors import ProblemKind, on_one_line
from rankgate.model.conclusion import ConclusionKind
from rankgate.model.gate_result import GateResult
from rankgate.model.pass_words import absent_text, passes, value_and_limit
from rankgate.model.report import Report
from rankgate.model.topic import Numbers, Spell, Topic
from rankgate.model.values import TOLERANCE, Verdict
from rankgate.model.wording import count_text, is_plain_name

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
    return f"{_sentence_of(conclusion.kind)(topic)}{paradox}"


def _not_judged(topic: Topic) -> str:
    problems = topic.report.problems
    if any(problem.kind is ProblemKind.INTERNAL for problem in problems):
        return "something went wrong inside rankgate."
    if not problems:
        return "a gate could not be judged."
    more = f" {count_text(len(problems) - 1, 'more problem')} below." if problems[1:] else ""
    first = str(problems[0])
    return f"{topic.text(first)}{'' if first.endswith(('.', '!', '?')) else '.'}{more}"


def _failure(topic: Topic) -> str:
    return f"{topic.report.remarks.failures[0]}."


def _warning(topic: Topic) -> str:
    return f"{topic.report.remarks.warnings[0]}."


def _no_baseline(topic: Topic) -> str:
    return f"nothing to compare with yet: {value_and_limit(topic)}.{absent_text(topic)}"


_SENTENCES: Mapping[ConclusionKind, Callable[[Topic], str]] = {
    ConclusionKind.NOT_JUDGED: _not_judged,
    ConclusionKind.FAILURE: _failure,
    ConclusionKind.WARNING: _warning,
    ConclusionKind.NO_BASELINE: _no_baseline,
    ConclusionKind.PASS: passes,
}


def _sentence_of(kind: ConclusionKind) -> Callable[[Topic], str]:
    if kind in _SENTENCES:
        return _SENTENCES[kind]
    from rankgate.model.gate_words import SENTENCES  # noqa: PLC0415 -- paid only where something was lost

    return SENTENCES[kind]


def other_sentences(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> list[tuple[Verdict, str]]:
    """What failed or warned and is no gate's, without what the conclusion says; without full stops."""
    kind, remarks, changes = report.conclusion.kind, report.remarks, report.changes
    empties = report.measured.empties
    warnings: list[str] = []
    if report.origin.other_code or changes.lost_parts or changes.given_up or (empties and empties.segments):
        from rankgate.model.loss_words import other_losses  # noqa: PLC0415 -- paid only where something was lost

        warnings += other_losses(report, name, text)
    warnings += remarks.warnings[kind is ConclusionKind.WARNING :]
    failures = remarks.failures[kind is ConclusionKind.FAILURE :]
    return [*((Verdict.FAIL, each) for each in failures), *((Verdict.WARN, each) for each in warnings)]


def paradox_of(results: Sequence[GateResult]) -> str:
    """Simpson's paradox, named: the whole does not show what a part surely lost, corrected for how many there are."""
    overall = [each for each in results if each.is_main]
    lower = {each.name for each in overall if each.direction.sign * (each.change.delta or 0.0) < -TOLERANCE}
    holding = {each.name for each in overall} - lower
    metrics = " and ".join(
        dict.fromkeys(each.metric for each in results if each.evidence.surely_fell and each.name in holding)
    )
    return f" {metrics} fell for one part of the questions and not over all (Simpson's paradox)." if metrics else ""
