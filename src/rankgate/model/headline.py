"""The conclusion as a sentence for a reader who does not know the metrics, and what it leaves for others to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rankgate.errors import ProblemKind, on_one_line
from rankgate.model.base_words import judged_by
from rankgate.model.conclusion import Conclusion, ConclusionKind, Strength
from rankgate.model.gate_result import GateResult
from rankgate.model.loss_words import Numbers, Spell, code_text, given_up_text, parts_texts
from rankgate.model.reasons import beyond_noise_text, plain_sentence, sentences, waived_text
from rankgate.model.report import Report
from rankgate.model.values import BEYOND, TOLERANCE, ReasonKind, Ruling, Unit, Verdict
from rankgate.model.wording import (
    beyond_word,
    count_text,
    delta_points_text,
    delta_text,
    exact_decimals,
    limit_word,
    part_word,
    telling_decimals,
    value_text,
    vanishes,
)

OF_GATES = (ConclusionKind.GATE_FAILS, ConclusionKind.GATE_WARNS)
# Of nothing at which Markdown begins a link, and no clause that could be ours.
_PLAIN_NAME = re.compile(r"(?!.*(?:://|www\.|[.:](?: |$)))\w[\w:.+×/ -]{0,60}")
_CUTOFF = re.compile(r"@(\d+)$")
_LONGEST_PROBLEM = 400  # characters
MAX_FLOORS = 3  # named in a sentence
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
    topic = _Topic(report, conclusion, Numbers(conclusion), name, text)
    paradox = "" if conclusion.segment is not None else paradox_of(report.gates)
    return f"{_SENTENCES[conclusion.kind](topic)}{paradox}"


class _Topic(NamedTuple):
    """What a sentence is made of: the report, its conclusion with the numbers, how text of the inputs is spelled."""

    report: Report
    conclusion: Conclusion
    numbers: Numbers
    name: Spell
    text: Spell

    @property
    def part(self) -> str:
        """The tag that it names; empty for all questions."""
        return "" if self.conclusion.segment is None else self.name(self.conclusion.segment)

    @property
    def in_part(self) -> str:
        """The same after a metric."""
        return f" in {self.part}" if self.part else ""

    def count(self, key: str) -> int:
        """What the conclusion counts."""
        return self.conclusion.counts.get(key, 0)


def _not_judged(topic: _Topic) -> str:
    problems = topic.report.problems
    if any(problem.kind is ProblemKind.INTERNAL for problem in problems):
        return "something went wrong inside rankgate."
    if not problems:
        return "a gate could not be judged."
    more = f" {count_text(len(problems) - 1, 'more problem')} below." if problems[1:] else ""
    first = topic.text(str(problems[0]))
    return f"{first}{'' if first.endswith(('.', '!', '?', '`')) else '.'}{more}"


def _empty(topic: _Topic) -> str:
    absent = topic.count("absent")
    if 2 * absent > topic.count("empty"):
        return (
            f"the run lacks {absent:,} of the {count_text(topic.count('total'), 'question')}: it has no line for them."
        )
    what = "is empty" if topic.count("empty") == topic.count("total") else "is nearly empty"
    return f"the run {what}: {_without_result(topic)}. The index or the retriever returned nothing."


def _empty_segment(topic: _Topic) -> str:
    return f"{_without_result(topic, f' of {topic.part}')}."


def _without_result(topic: _Topic, whose: str = "") -> str:
    empty, total = topic.count("empty"), topic.count("total")
    if empty == total:
        return f"none of the {count_text(total, 'question')}{whose} got a result"
    return f"{empty:,} of the {total:,} questions{whose} got no result"


def _failure(topic: _Topic) -> str:
    return f"{topic.report.failures[0]}."


def _warning(topic: _Topic) -> str:
    return f"{topic.report.warnings[0]}."


def _given_up(topic: _Topic) -> str:
    return f"{given_up_text(topic.report.given_up[0], topic.report)}."


def _other_code(topic: _Topic) -> str:
    return f"{code_text(topic.report.other_code, topic.text)}."


def _no_baseline(topic: _Topic) -> str:
    return f"nothing to compare with yet: {_value_and_limit(topic)}."


def _of_gate(topic: _Topic) -> str:
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


def _must_pass(topic: _Topic, gate: GateResult) -> str:
    """The questions that must pass and do not, and what else the gate fails for."""
    others = f" and {count_text(len(gate.decision.queries) - 1, 'other question')}" if gate.decision.queries[1:] else ""
    do = "do" if others else "does"
    texts = [f"{topic.name(gate.decision.queries[0])}{others} must pass and {do} not ({gate.metric})"]
    for position, text in enumerate(sentences(gate)):
        by_itself = gate.decision.verdict_of(position) is gate.verdict
        if by_itself and gate.decision.reasons[position].kind is not ReasonKind.MUST_PASS:
            texts.append(text)
    return "; ".join(texts)


def _missing_text(topic: _Topic) -> str:
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


def _lost_part(topic: _Topic) -> str:
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


def _drop(topic: _Topic) -> str:
    """`lang:th lost 40.0 points of recall@5: 96.0% → 56.0%, 10.0 allowed`; of what is unproven what is not excluded."""
    numbers, bound = topic.numbers, topic.conclusion.bound
    allowed = f"{numbers.number(numbers.limit, numbers.decimals)} allowed" if numbers.limit else "none allowed"
    if numbers.harm <= abs(numbers.limit) + TOLERANCE:
        loss = "any loss" if bound is None else f"a {numbers.loss_word} of {numbers.size(bound)}"
        return f"{numbers.metric}{topic.in_part} is not proven safe: {loss} is not excluded, {allowed}"
    return f"{numbers.lost(topic.part, numbers.decimals)}: {numbers.arrow}, {allowed}"


def _floor(topic: _Topic) -> str:
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


def _rest(topic: _Topic) -> str:
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


def _value_and_limit(topic: _Topic) -> str:
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


def _passes(topic: _Topic) -> str:
    """What a pass is worth, and which blocking gates are below their floors within noise."""
    return f"{_worth(topic)}{_below_floors(topic)}"


def _below_floors(topic: _Topic) -> str:
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
            decimals = max(telling_decimals(value, limit, gate.unit), exact_decimals(limit, gate.unit))
            floor = f"{limit_word(gate.direction)} {value_text(limit, gate.unit, decimals)}"
            texts.append(f"{gate.metric} ({value_text(value, gate.unit, decimals)}, {floor})")
    more = f" and {len(texts) - MAX_FLOORS} more" if len(texts) > MAX_FLOORS else ""
    return f" Not held, within noise: {', '.join(texts[:MAX_FLOORS])}{more}." if texts else ""


def _worth(topic: _Topic) -> str:
    conclusion, numbers = topic.conclusion, topic.numbers
    if conclusion.metric is None:
        return "no gate limits anything."
    questions = count_text(conclusion.counts.get("pairs", topic.count("questions")), "question")
    if missing := topic.count("missing"):
        questions += f", {missing:,} missing"
    if conclusion.strength is Strength.FLOORS_ONLY:
        value = _value_and_limit(topic)
        return f"floors only: {value} ({questions}); no gate that blocks limits a drop of all questions."
    now = numbers.value(numbers.now)
    if conclusion.strength is Strength.UNCHANGED:
        among, count = (f" among the {questions} compared", "") if _left_out(topic) else ("", f" ({questions})")
        return f"no {_what_stays(topic)}{among}: {numbers.metric} stays at {now}{count}.{_uncompared(topic)}"
    loss, bound = numbers.loss_word, conclusion.bound
    if conclusion.strength is Strength.RULED_OUT and bound is not None:
        change = delta_text(numbers.change, numbers.unit, numbers.decimals).removesuffix(" pp")
        size = "" if vanishes(bound, numbers.unit, numbers.decimals) else f" of more than {numbers.size(bound)}"
        worth = f"a {loss}{size} of {numbers.metric} is ruled out"
        return f"{worth} ({questions}, {now}, {change}).{_uncompared(topic)}"
    if conclusion.strength is Strength.LOST_AND_ALLOWED:
        verb = "lost" if numbers.falls else "added"
        lost = f"{verb} {numbers.size(numbers.harm, numbers.decimals)} of {numbers.metric}"
        out = "" if bound is None else f"; more than {numbers.number(bound)} is ruled out"
        return f"{lost}, which is allowed: {numbers.arrow}{out}."
    moved = f"{numbers.metric} stays at {now}"
    if not numbers.vanishing:
        change = delta_points_text(numbers.change, numbers.unit, numbers.decimals)
        moved = f"{change} of {numbers.metric}, within noise"
    size = f"any {loss}" if bound is None else f"a {loss} of up to {numbers.size(bound)}"
    allowed = "none is allowed"
    if numbers.limit:
        are = "are" if numbers.unit is Unit.SHARE else "is"
        allowed = f"{numbers.number(numbers.limit, numbers.decimals)} {are} allowed"
    unsure = f"with {questions} {size} is not excluded; {allowed}"
    return f"unproven: {moved}, but {unsure}.{_uncompared(topic)}"


def _what_stays(topic: _Topic) -> str:
    """`list changed in the first 5`: as far as the metric looks; of values that no list has, and of answers, those."""
    if any(each.by_judge for each in topic.report.gates if each.place == topic.conclusion.place):
        return "answer changed"
    metric = topic.conclusion.metric or ""
    if topic.conclusion.unit not in (Unit.SHARE, Unit.SCORE) or metric.startswith("score("):
        return "value changed"
    cutoff = _CUTOFF.search(metric)
    return f"list changed in the first {cutoff[1]}" if cutoff else "list changed"


def _left_out(topic: _Topic) -> bool:
    """Whether questions have a value now and none in the baseline."""
    row = next((each for each in topic.report.gates if each.place == topic.conclusion.place), None)
    return row is not None and row.measured.n != row.change.n_pairs


def _uncompared(topic: _Topic) -> str:
    """How many questions are not compared, with the value over all where that reads otherwise; how many are gone."""
    row = next((each for each in topic.report.gates if each.place == topic.conclusion.place), None)
    text = ""
    value = row.measured.value if row is not None else None
    paired_value = row.change.paired_value if row is not None else None
    if row is not None and _left_out(topic) and value is not None and paired_value is not None:
        queries = topic.report.queries
        state = "not in the baseline" if queries is not None and queries.new else "not compared"
        count = row.measured.n - row.change.n_pairs
        text = count_text(count, f"question is {state}", f"questions are {state}")
        if vanishes(value - paired_value, row.unit):
            text = f" {text}."
        else:
            text = f" With all {row.measured.n:,} it is {value_text(value, row.unit)}: {text}."
    changes = topic.report.gold_changes
    if changes is not None and changes.removed:
        are = count_text(changes.removed, "question of the baseline is", "questions of the baseline are")
        text += f" {are} no longer in the gold set."
    return text


_SENTENCES: Mapping[ConclusionKind, Callable[[_Topic], str]] = {
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
    ConclusionKind.PASS: _passes,
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
    """`2 more languages and 1 other part`: those divided as the named one, and those by other tags."""
    texts: list[str] = []
    if alike := conclusion.counts.get("segments_fail", 0):
        texts.append(count_text(alike, f"more {part_word(conclusion.segment)}"))
    if others := conclusion.counts.get("other_parts_fail", 0):
        texts.append(count_text(others, "part by another tag", "parts by other tags"))
    return " and ".join(texts)
