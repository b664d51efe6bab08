"""The conclusion as a sentence for a reader who does not know the metrics, and what it leaves for others to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rankgate.errors import ProblemKind, on_one_line
from rankgate.model.conclusion import ConclusionKind, Strength
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Report
from rankgate.model.topic import Numbers, Spell, Topic
from rankgate.model.values import TOLERANCE, ReasonKind, Ruling, Verdict
from rankgate.model.wording import beyond_word, count_text, is_plain_name, limit_decimals, limit_word, value_text

MAX_FLOORS = 3  # named in a sentence
_LONGEST_PROBLEM = 400  # characters
_OURS = frozenset(
    {"a", "the", "nothing", "none", "this", "lost", "added", "no", "floors", "something", "unproven:"}
)  # no metric, tag or code


def value_and_limit(topic: Topic) -> str:
    """`recall@5 is 78.3%, floor 75.0%`; of what lies beyond it, that this is within noise."""
    numbers = topic.numbers
    if topic.conclusion.now is None:
        return f"{numbers.metric} compares with the baseline"
    value = f"{numbers.metric} is {numbers.value(numbers.now)}"
    if topic.conclusion.limit is None:
        return value
    word = limit_word(numbers.direction)
    if numbers.direction.sign * (numbers.limit - numbers.now) > TOLERANCE:  # of a gate that holds, so that it is noise
        beyond = beyond_word(numbers.direction)
        return f"{value}, {beyond} its {word} of {numbers.value(numbers.limit)}, within noise"
    return f"{value}, {word} {numbers.value(numbers.limit)}"


def passes(topic: Topic) -> str:
    """What a pass is worth, and which blocking gates are below their floors within noise."""
    return f"{_worth(topic)}{_below_floors(topic)}{absent_text(topic)}"


def absent_text(topic: Topic) -> str:
    """` 12 questions are absent from the run.`: whatever the value, the run may have ended early.

    Not of a run whose lists are the baseline's, which lacks the same: some formats cannot write an empty list.
    """
    queries = topic.report.measured.queries
    if queries is None or not queries.missing or topic.conclusion.strength is Strength.UNCHANGED:
        return ""
    return f" {count_text(queries.missing, 'question is', 'questions are')} absent from the run."


def _below_floors(topic: Topic) -> str:
    """` Not held, within noise: mrr (0.833, floor 0.870).`, but for the gate whose floor the sentence names."""
    mains = [gate for gate in topic.report.gates if gate.is_main]
    blocking = [gate for gate in mains if gate.severity == "error"]
    of_sentence = topic.conclusion.gate if topic.conclusion.rule == "floor" else None
    texts: list[str] = []
    for gate in blocking or mains:
        reasons = gate.decision.reasons
        in_doubt = any(each.kind is ReasonKind.THRESHOLD and each.ruling is Ruling.INCONCLUSIVE for each in reasons)
        value, limit = gate.measured.value, gate.limits.threshold
        if gate.is_unproven and in_doubt and gate.name != of_sentence and value is not None and limit is not None:
            decimals = limit_decimals(limit, value, gate.unit)
            floor = f"{limit_word(gate.direction)} {value_text(limit, gate.unit, decimals)}"
            texts.append(f"{gate.metric} ({value_text(value, gate.unit, decimals)}, {floor})")
    more = f" and {len(texts) - MAX_FLOORS} more" if len(texts) > MAX_FLOORS else ""
    return f" Not held, within noise: {', '.join(texts[:MAX_FLOORS])}{more}." if texts else ""


def _worth(topic: Topic) -> str:
    if topic.conclusion.metric is None:
        return "no gate limits anything."
    questions = count_text(topic.conclusion.counts.get("pairs", topic.count("questions")), "question")
    if missing := topic.count("missing"):
        questions += f", {missing:,} missing"
    if topic.conclusion.strength is Strength.FLOORS_ONLY:
        value = value_and_limit(topic)
        return f"floors only: {value} ({questions}); no gate that blocks limits a drop of all questions."
    from rankgate.model.drop_words import drop_text  # noqa: PLC0415 -- paid only where a baseline is compared

    return drop_text(topic, questions)


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
    from rankgate.model.loss_words import SENTENCES  # noqa: PLC0415 -- paid only where something was lost

    return SENTENCES[kind]


def other_sentences(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> list[tuple[Verdict, str]]:
    """What failed or warned and is no gate's, without what the conclusion says; without full stops."""
    kind = report.conclusion.kind
    remarks = report.remarks
    changes = report.changes
    empties = report.measured.empties
    warnings: list[str] = []
    if report.origin.other_code or changes.lost_parts or changes.given_up or (empties and empties.segments):
        from rankgate.model.loss_words import other_losses  # noqa: PLC0415 -- paid only where something was lost

        warnings += other_losses(report, name, text)
    warnings += remarks.warnings[1:] if kind is ConclusionKind.WARNING else remarks.warnings
    failures = remarks.failures[1:] if kind is ConclusionKind.FAILURE else remarks.failures
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
