"""The conclusion as a sentence for a reader who does not know the metrics, and what it leaves for others to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from rankgate.errors import ProblemKind, on_one_line
from rankgate.model.base_words import judged_by
from rankgate.model.conclusion import Conclusion, ConclusionKind
from rankgate.model.gate_result import GateResult
from rankgate.model.loss_words import Numbers, Spell, Topic, code_text, given_up_text, parts_texts
from rankgate.model.pass_words import passes, value_and_limit
from rankgate.model.reasons import beyond_noise_text, plain_sentence, sentences, waived_text
from rankgate.model.report import Report
from rankgate.model.values import BEYOND, TOLERANCE, ReasonKind, Verdict
from rankgate.model.wording import (
    count_text,
    delta_points_text,
    delta_text,
    limit_word,
    part_word,
    value_text,
    vanishes,
)

OF_GATES = (ConclusionKind.GATE_FAILS, ConclusionKind.GATE_WARNS)
# Of nothing at which Markdown begins a link, and no clause that could be ours.
_PLAIN_NAME = re.compile(r"(?!.*(?:://|www\.|[.:](?: |$)))\w[\w:.+×/ -]{0,60}")
_LONGEST_PROBLEM = 400  # characters
_OURS = frozenset(
    {"a", "the", "nothing", "this", "lost", "added", "no", "floors", "something", "unproven:"}
)  # no metric, tag or code


def is_plain_name(text: str) -> bool:
    """Whether a text of the inputs can be nothing but a name, so that it may stand in a sentence as it is."""
    return _PLAIN_NAME.fullmatch(text) is not None


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
    first = topic.text(str(problems[0]))
    return f"{first}{'' if first.endswith(('.', '!', '?', '`')) else '.'}{more}"


def _empty(topic: Topic) -> str:
    absent = topic.count("absent")
    if 2 * absent > topic.count("empty"):
        return (
            f"the run lacks {absent:,} of the {count_text(topic.count('total'), 'question')}: it has no line for them."
        )
    what = "is empty" if topic.count("empty") == topic.count("total") else "is nearly empty"
    return f"the run {what}: {_without_result(topic)}. The index or the retriever returned nothing."


def _empty_segment(topic: Topic) -> str:
    return f"{_without_result(topic, f' of {topic.part}')}."


def _without_result(topic: Topic, whose: str = "") -> str:
    empty, total = topic.count("empty"), topic.count("total")
    if empty == total:
        return f"none of the {count_text(total, 'question')}{whose} got a result"
    return f"{empty:,} of the {total:,} questions{whose} got no result"


def _failure(topic: Topic) -> str:
    return f"{topic.report.failures[0]}."


def _warning(topic: Topic) -> str:
    return f"{topic.report.warnings[0]}."


def _given_up(topic: Topic) -> str:
    return f"{given_up_text(topic.report.given_up[0], topic.report)}."


def _other_code(topic: Topic) -> str:
    return f"{code_text(topic.report.other_code, topic.text)}."


def _no_baseline(topic: Topic) -> str:
    return f"nothing to compare with yet: {value_and_limit(topic)}."


def _of_gate(topic: Topic) -> str:
    base, gate = topic.report.base, headline_gate(topic.report)
    by = judged_by(base) if base else ""
    by = f"{by}, " if by else ""
    more = more_text(topic.report)
    if topic.conclusion.rule == "other" and gate is not None:
        where = "" if topic.conclusion.segment is None else f"for {topic.part}, "
        if gate.decision.queries:
            return f"{by}{where}{_must_pass(topic, gate)}{more}."
        reason = plain_sentence(gate) if gate.decision.reasons else f"{gate.metric} gives no reason"
        return f"{by if gate.decision.hard_check_failed else ''}{where}{reason}{more}."
    waived = f"{waived_text(gate.decision.waived)}: " if gate and gate.decision.waived else ""
    limit = _floor(topic) if topic.conclusion.rule == "floor" else _drop(topic)
    return f"{waived}{by}{limit}{_missing_text(topic)}{more}.{_why_in_doubt(gate)}{_rest(topic)}"


def _why_in_doubt(gate: GateResult | None) -> str:
    """Why what is not proven warns all the same; nothing where it is."""
    if gate is None or gate.verdict is not Verdict.WARN:
        return ""
    beyond_noise = any(each.beyond_noise for each in gate.decision.deciding)
    return f" Not proven, but {beyond_noise_text()}." if beyond_noise else ""


def _must_pass(topic: Topic, gate: GateResult) -> str:
    """The questions that must pass and do not, and what else the gate fails for."""
    others = f" and {count_text(len(gate.decision.queries) - 1, 'other question')}" if gate.decision.queries[1:] else ""
    do = "do" if others else "does"
    texts = [f"{topic.name(gate.decision.queries[0])}{others} must pass and {do} not ({gate.metric})"]
    for position, text in enumerate(sentences(gate)):
        by_itself = gate.decision.verdict_of(position) is gate.verdict
        if by_itself and gate.decision.reasons[position].kind is not ReasonKind.MUST_PASS:
            texts.append(text)
    return "; ".join(texts)


def _missing_text(topic: Topic) -> str:
    """`; with 2 missing values at their worst it is 99.0%`."""
    at_worst, missing = topic.conclusion.at_worst, topic.count("missing")
    if at_worst is None:
        return ""
    values = count_text(missing, "missing value")
    if abs(at_worst) > BEYOND / 2:
        return f"; {values} may be worse than any other"
    worst = "its worst" if missing == 1 else "their worst"
    what = f"the change is {delta_points_text(at_worst, topic.numbers.unit)}"
    if topic.conclusion.rule == "floor":
        what = f"it is {value_text(at_worst, topic.numbers.unit)}"
    return f"; with {values} at {worst} {what}"


def _lost_part(topic: Topic) -> str:
    report, conclusion, numbers = topic.report, topic.conclusion, topic.numbers
    overall = next((gate for gate in report.gates if gate.name == conclusion.gate and gate.segment is None), None)
    ending = f": {topic.count('worse'):,} of {count_text(topic.count('pairs'), 'question')} got worse"
    if more := _more_parts(conclusion):
        ending += f"; so did {more}"
    if overall is None or overall.verdict is not Verdict.PASS or overall.change.delta is None:
        return f"{numbers.lost(topic.part)}{ending}."
    change = delta_text(overall.change.delta, overall.unit).removesuffix(" pp")
    fell = overall.direction.sign * overall.change.delta < -TOLERANCE
    allowed = ", allowed" if overall.limits.regression_max is not None and fell else ""
    size = numbers.size(numbers.harm)
    what = f"{topic.part} lost {size}" if numbers.falls else f"it rose by {size} in {topic.part}"
    return f"{conclusion.metric} holds overall ({change}{allowed}), but {what}{ending}."


def _drop(topic: Topic) -> str:
    """`lang:th lost 40.0 points of recall@5: 96.0% → 56.0%, 10.0 allowed`; of what is unproven what is not excluded."""
    numbers, bound = topic.numbers, topic.conclusion.bound
    allowed = f"{numbers.number(numbers.limit, numbers.decimals)} allowed" if numbers.limit else "none allowed"
    if numbers.harm <= abs(numbers.limit) + TOLERANCE:
        loss = "any loss" if bound is None else f"a {numbers.loss_word} of {numbers.size(bound)}"
        return f"{numbers.metric}{topic.in_part} is not proven safe: {loss} is not excluded, {allowed}"
    return f"{numbers.lost(topic.part, numbers.decimals)}: {numbers.arrow}, {allowed}"


def _floor(topic: Topic) -> str:
    """`recall@5 is 84.1%, below the floor of 85.0%; the baseline was below it, too (84.0%)`."""
    numbers, bound, sign = topic.numbers, topic.conclusion.bound, topic.numbers.direction.sign
    limit = f"the {limit_word(numbers.direction)} of {numbers.value(numbers.limit)}"
    value = f"{numbers.metric}{topic.in_part} is {numbers.value(numbers.now)}"
    if sign * (numbers.limit - numbers.now) <= TOLERANCE:
        unproven = f"{value}, not proven to hold {limit}"
        return unproven if bound is None else f"{unproven}; {numbers.value(bound)} is not excluded"
    beyond = "below" if numbers.falls else "above"
    if topic.conclusion.before is None:
        return f"{value}, {beyond} {limit}"
    baseline = f"held it ({numbers.value(numbers.before)})"
    if sign * (numbers.limit - numbers.before) > TOLERANCE:
        better = ""
        if numbers.harm > 0 and not vanishes(numbers.change, numbers.unit):
            better = f", {numbers.size(numbers.harm)} better"
        baseline = f"was {beyond} it, too ({numbers.value(numbers.before)}{better})"
    return f"{value}, {beyond} {limit}; the baseline {baseline}"


def _rest(topic: Topic) -> str:
    """What became of the other parts: `The 11 other languages hold`, `9 other languages hold, 2 are unproven`."""
    holding, unproven = topic.count("segments_hold"), topic.count("segments_unproven")
    if topic.conclusion.segment is None or not holding + unproven:
        return ""
    other = f"other {part_word(topic.conclusion.segment)}"
    hold = "holds" if holding == 1 else "hold"
    are = "is" if unproven == 1 else "are"
    if not holding:
        return f" {count_text(unproven, other)} {are} unproven."
    if unproven:
        return f" {count_text(holding, other)} {hold}, {unproven:,} {are} unproven."
    if topic.count("segments_fail"):
        return f" {count_text(holding, other)} {hold}."
    return f" The {other} holds." if holding == 1 else f" The {holding:,} {other}s hold."


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
    kind = report.conclusion.kind
    warnings: list[str] = []
    if report.other_code and kind is not ConclusionKind.OTHER_CODE:
        warnings.append(code_text(report.other_code, text))
    warnings += parts_texts(report.lost_parts[kind is ConclusionKind.LOST_PART :], name)
    warnings += [given_up_text(loss, report) for loss in report.given_up[kind is ConclusionKind.GIVEN_UP :]]
    warnings += report.warnings[kind is ConclusionKind.WARNING :]
    failures = report.failures[kind is ConclusionKind.FAILURE :]
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


def more_text(report: Report) -> str:
    """`; 2 more parts and 1 more gate fail`, and `2 more gates fail with it` where they are of one cause."""
    counts = report.conclusion.counts
    gates, same_cause = counts.get("gates_fail", 0), counts.get("same_cause", 0)
    parts = counts.get("segments_fail", 0) + counts.get("other_parts_fail", 0)
    one, many = ("fails", "fail") if report.verdict is Verdict.FAIL else ("warns", "warn")
    named = [_more_parts(report.conclusion)] if parts else []
    if gates:
        named.append(count_text(gates, "more gate"))
    texts: list[str] = []
    if named:
        texts.append(f"{' and '.join(named)} {one if parts + gates == 1 else many}")
    if same_cause:
        texts.append(f"{count_text(same_cause, 'more gate')} {one if same_cause == 1 else many} with it")
    return "".join(f"; {text}" for text in texts)


def _more_parts(conclusion: Conclusion) -> str:
    """`2 more languages and 1 part by another tag`: those divided as the named one, and the others."""
    texts: list[str] = []
    if same_tag := conclusion.counts.get("segments_fail", 0):
        texts.append(count_text(same_tag, f"more {part_word(conclusion.segment)}"))
    if others := conclusion.counts.get("other_parts_fail", 0):
        texts.append(count_text(others, "part by another tag", "parts by other tags"))
    return " and ".join(texts)
