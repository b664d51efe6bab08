"""The conclusion as a sentence for a reader who does not know the metrics, and what it leaves for others to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rankgate.errors import Problem, ProblemKind, on_one_line
from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.conclusion import Conclusion, ConclusionKind, GivenUp, OtherCode, PartLoss, Strength
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import plain_sentence, sentences, waived_text
from rankgate.model.report import Report
from rankgate.model.values import BEYOND, TOLERANCE, Direction, ReasonKind, Unit, Verdict
from rankgate.model.wording import (
    count_text,
    delta_text,
    exact_decimals,
    limit_word,
    part_word,
    size_text,
    telling_decimals,
    value_text,
    vanishes,
)

Spell = Callable[[str], str]  # makes text of the inputs safe to show
OF_GATES = (ConclusionKind.GATE_FAILS, ConclusionKind.GATE_WARNS)
_PLAIN_NAME = re.compile(r"(?!.*(?:://|www\.))\w[\w:.+×/ -]{0,60}")  # of nothing at which Markdown begins a link
_CUTOFF = re.compile(r"@(\d+)$")
_LONGEST_PROBLEM = 400  # characters
_PLAIN_PATH = re.compile(r"[\w./-]+", re.ASCII)
_OURS = frozenset(
    {"a", "the", "nothing", "this", "lost", "added", "no", "floors", "something", "unproven:"}
)  # no metric, tag or code


def plain_name(text: str) -> str:
    """A tag as it is, or what stands for one that could be anything but a name."""
    return text if _PLAIN_NAME.fullmatch(text) else "one part of the questions"


def plain_text(text: str) -> str:
    """Text on one line, its control characters escaped, and not endless."""
    line = on_one_line(" ".join(text.split()))
    return line if len(line) <= _LONGEST_PROBLEM else line[: _LONGEST_PROBLEM - 1] + "…"


def sentence(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> str:
    """The conclusion in words, such as `Do not merge: lang:th lost 40.0 points of recall@5: 96.0% → 56.0%`.

    `name` spells the tag that it names, `text` a problem with an input. The numbers are those of the conclusion.
    """
    said = short_headline(report, name, text)
    if report.verdict is Verdict.FAIL:
        return f"Do not merge: {said}"
    if report.conclusion.kind in (ConclusionKind.GATE_WARNS, ConclusionKind.WARNING):
        return f"May be merged, with a warning: {said}"
    return f"{said[:1].upper()}{said[1:]}" if said.partition(" ")[0] in _OURS else said


def short_headline(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> str:
    """The same without what the verdict itself says."""
    spoken = _Spoken(report, report.conclusion, name, text)
    return f"{_SENTENCES[report.conclusion.kind](spoken)}{_paradox(report)}"


class _Spoken(NamedTuple):
    """What a sentence is made of: the report, its conclusion, and how text of the inputs is spelled."""

    report: Report
    found: Conclusion
    name: Spell
    text: Spell

    @property
    def part(self) -> str:
        """The tag that it names."""
        return self.name(self.found.segment or "")


def _not_judged(spoken: _Spoken) -> str:
    problems: Sequence[Problem] = spoken.report.problems
    if any(problem.kind is ProblemKind.INTERNAL for problem in problems):
        return "something went wrong inside rankgate."
    if not problems:
        return "a gate could not be judged."
    more = f" {count_text(len(problems) - 1, 'more problem')} below." if problems[1:] else ""
    first = spoken.text(str(problems[0]))
    return f"{first}{'' if first.endswith(('.', '!', '?', '`')) else '.'}{more}"


def _empty(spoken: _Spoken) -> str:
    found = spoken.found
    empty, total, absent = (found.counts.get(name, 0) for name in ("empty", "total", "absent"))
    if 2 * absent > empty:
        return f"the run lacks {absent:,} of the {count_text(total, 'question')}: it has no line for them."
    what = "is empty" if empty == total else "is nearly empty"
    return f"the run {what}: {_without_result(found)}. The index or the retriever returned nothing."


def _empty_segment(spoken: _Spoken) -> str:
    return f"{_without_result(spoken.found, f' of {spoken.part}')}."


def _without_result(found: Conclusion, whose: str = "") -> str:
    empty, total = found.counts.get("empty", 0), found.counts.get("total", 0)
    if empty == total:
        return f"none of the {count_text(total, 'question')}{whose} got a result"
    return f"{empty:,} of the {total:,} questions{whose} got no result"


def _failure(spoken: _Spoken) -> str:
    return f"{spoken.report.failures[0]}."


def _warning(spoken: _Spoken) -> str:
    return f"{spoken.report.warnings[0]}."


def _given_up(spoken: _Spoken) -> str:
    return f"{given_up_text(spoken.report.given_up[0], spoken.report)}."


def _other_code(spoken: _Spoken) -> str:
    return f"{_code_text(spoken.report.other_code, spoken.text)}."


def _no_baseline(spoken: _Spoken) -> str:
    return f"nothing to compare with yet: {_value_and_limit(spoken.found)}."


def _of_gate(spoken: _Spoken) -> str:
    report, found = spoken.report, spoken.found
    gate = headline_gate(report)
    by = f"{report.base.by}, " if report.base and report.base.by else ""
    waived = f"{waived_text(gate.waived)}: " if gate and gate.waived else ""
    if found.rule == "other" and gate is not None:
        where = "" if found.segment is None else f"for {spoken.part}, "
        if gate.queries:
            others = f" and {count_text(len(gate.queries) - 1, 'other question')}" if gate.queries[1:] else ""
            do = "do" if others else "does"
            must = f"{spoken.name(gate.queries[0])}{others} must pass and {do} not ({gate.metric})"
            also = "".join(f"; {text}" for text in _other_rules(gate))
            return f"{by}{where}{must}{also}{more_text(report)}."
        reason = plain_sentence(gate) if gate.reasons else f"{gate.metric} gives no reason"
        return f"{where}{reason}{more_text(report)}."
    limit = _floor(found, spoken.name) if found.rule == "floor" else _drop(found, spoken.name)
    return f"{waived}{by}{limit}{_missing_text(found)}{more_text(report)}.{_rest(found)}"


def _other_rules(gate: GateResult) -> list[str]:
    """What else a gate fails for whose questions that must pass do not."""
    reasons = enumerate(zip(gate.reasons, sentences(gate), strict=True))
    return [
        text
        for position, (reason, text) in reasons
        if reason.kind is not ReasonKind.MUST_PASS and gate.verdict_of(position) is gate.verdict
    ]


def _missing_text(found: Conclusion) -> str:
    """`; with 2 missing values at their worst it is 99.0%`."""
    missing = found.counts.get("missing", 0)
    if found.at_worst is None:
        return ""
    values = count_text(missing, "missing value")
    if abs(found.at_worst) > BEYOND / 2:
        return f"; {values} may be worse than any other"
    unit, worst = found.unit or Unit.NUMBER, "its worst" if missing == 1 else "their worst"
    what = f"the change is {delta_text(found.at_worst, unit)}".replace(" pp", " points")
    what = f"it is {value_text(found.at_worst, unit)}" if found.rule == "floor" else what
    return f"; with {values} at {worst} {what}"


def _lost_part(spoken: _Spoken) -> str:
    report, found = spoken.report, spoken.found
    own = next((gate for gate in report.gates if gate.name == found.gate and gate.segment is None), None)
    worse, pairs = found.counts.get("worse", 0), found.counts.get("pairs", 0)
    ending = f": {worse:,} of {count_text(pairs, 'question')} got worse"
    if more := found.counts.get("segments_fail", 0):
        ending += f"; so did {count_text(more, f'more {part_word(found.segment)}')}"
    if own is None or own.verdict is not Verdict.PASS or own.delta is None:
        return f"{_lost(found, spoken.part)}{ending}."
    change = delta_text(own.delta, own.unit).replace(" pp", "")
    fell = own.direction.sign * own.delta < -TOLERANCE
    allowed = ", allowed" if own.regression_max is not None and fell else ""
    size = _points(_harm(found), found)
    verb = "lost" if found.direction is Direction.HIGHER else "rose by"
    what = f"{spoken.part} lost {size}" if verb == "lost" else f"it rose by {size} in {spoken.part}"
    return f"{found.metric} holds overall ({change}{allowed}), but {what}{ending}."


def _drop(found: Conclusion, name: Spell) -> str:
    """`lang:th lost 40.0 points of recall@5: 96.0% → 56.0%, 10.0 allowed`; of what is unproven what is not excluded."""
    digits, part = _decimals(found), "" if found.segment is None else name(found.segment)
    allowed = f"{_number(found.limit or 0.0, found, digits)} allowed" if found.limit else "none allowed"
    if _harm(found) <= abs(found.limit or 0.0) + TOLERANCE:
        what = f"{found.metric} in {part}" if part else f"{found.metric}"
        bound = "any loss" if found.bound is None else f"a {_loss(found)} of {_points(found.bound, found)}"
        return f"{what} is not proven safe: {bound} is not excluded, {allowed}"
    return f"{_lost(found, part, digits)}: {_arrow(found, digits)}, {allowed}"


def _lost(found: Conclusion, part: str, digits: int | None = None) -> str:
    """`recall@5 lost 5.8 points`, `lang:th lost 40.0 points of recall@5`, `latency(p90) rose by 120.0 ms`."""
    size = _points(_harm(found), found, digits)
    if found.unit in (Unit.SHARE, Unit.SCORE) and found.direction is Direction.HIGHER:
        return f"{part} lost {size} of {found.metric}" if part else f"{found.metric} lost {size}"
    verb = "fell" if found.direction is Direction.HIGHER else "rose"
    return f"{found.metric}{f' in {part}' if part else ''} {verb} by {size}"


def _floor(found: Conclusion, name: Spell) -> str:
    """`recall@5 is 84.1%, below the floor of 85.0%; the baseline was below it, too (84.0%)`."""
    digits, unit = _decimals(found), found.unit or Unit.NUMBER
    sign = (found.direction or Direction.HIGHER).sign
    now, limit = found.now or 0.0, found.limit or 0.0
    where = "" if found.segment is None else f" in {name(found.segment)}"
    word = limit_word(found.direction or Direction.HIGHER)
    beyond = sign * (limit - now) > TOLERANCE
    side = "below" if sign > 0 else "above"
    said = f"{found.metric}{where} is {value_text(now, unit, digits)}, "
    bound = f"{value_text(limit, unit, digits)}"
    said += f"{side} the {word} of {bound}" if beyond else f"not proven to hold the {word} of {bound}"
    if not beyond:
        return said if found.bound is None else f"{said}; {value_text(found.bound, unit, digits)} is not excluded"
    if found.before is None:
        return said
    before, missed = value_text(found.before, unit, digits), sign * (limit - found.before) > TOLERANCE
    fell = "" if vanishes(_change(found), unit) or _harm(found) <= 0 else f", {_points(_harm(found), found)} better"
    was = f"was {side} it, too" if missed else "held it"
    return f"{said}; the baseline {was} ({before}{fell if missed else ''})"


def _rest(found: Conclusion) -> str:
    """What became of the other parts: `The 11 other languages hold`, `9 other languages hold, 2 are unproven`."""
    holding, unproven = (found.counts.get(name, 0) for name in ("segments_hold", "segments_unproven"))
    if found.segment is None or not holding + unproven:
        return ""
    word = part_word(found.segment)
    hold = "holds" if holding == 1 else "hold"
    are = "is" if unproven == 1 else "are"
    if not holding:
        return f" {count_text(unproven, f'other {word}')} {are} unproven."
    if unproven:
        return f" {count_text(holding, f'other {word}')} {hold}, {unproven:,} {are} unproven."
    if found.counts.get("segments_fail"):
        return f" {count_text(holding, f'other {word}')} {hold}."
    return f" The other {word} holds." if holding == 1 else f" The {holding:,} other {word}s hold."


def _code_text(found: OtherCode | None, text: Spell) -> str:
    if found is None or found.same_as_accepted:
        return "this run is the accepted run, byte by byte: it says nothing of this code"
    plain = found.path and _PLAIN_PATH.fullmatch(found.path) and "www." not in found.path
    what = text(found.path) if found.path and plain else "a file"  # any other name is the inputs' own text
    more = f" and {count_text(found.more, 'more file')}" if found.more else ""
    return f"this run was recorded at {found.commit[:SHORT_SHA]}, before the last change of {what}{more}"


def _value_and_limit(found: Conclusion) -> str:
    unit = found.unit or Unit.NUMBER
    if found.now is None:
        return f"{found.metric} compares with the baseline"
    digits = _decimals(found)
    word = limit_word(found.direction or Direction.HIGHER)
    floor = "" if found.limit is None else f", {word} {value_text(found.limit, unit, digits)}"
    return f"{found.metric} is {value_text(found.now, unit, digits)}{floor}"


def _passes(spoken: _Spoken) -> str:
    """What a pass is worth."""
    found = spoken.found
    if found.metric is None:
        return "no gate limits anything."
    questions = count_text(found.counts.get("pairs", found.counts.get("questions", 0)), "question")
    if missing := found.counts.get("missing", 0):
        questions += f", {missing:,} missing"
    if found.strength is Strength.FLOORS_ONLY:
        return (
            f"floors only: {_value_and_limit(found)} ({questions}); no gate that blocks limits a drop of all questions."
        )
    unit, digits = found.unit or Unit.NUMBER, _decimals(found)
    change = delta_text(_change(found), unit, digits).replace(" pp", "")
    if found.strength is Strength.UNCHANGED:
        now = value_text(found.now or 0.0, unit, digits)
        return f"no {_what_stays(spoken)}: {found.metric} stays at {now} ({questions}).{_uncompared(spoken)}"
    bound = None if found.bound is None else _points(found.bound, found)
    loss = _loss(found)
    if found.strength is Strength.RULED_OUT and bound:
        now = value_text(found.now or 0.0, unit, digits)
        size = "" if vanishes(found.bound or 0.0, unit, digits) else f" of more than {bound}"
        return f"a {loss}{size} of {found.metric} is ruled out ({questions}, {now}, {change}).{_uncompared(spoken)}"
    allowed = (
        f"{_number(found.limit or 0.0, found, digits)} {'are' if unit is Unit.SHARE else 'is'} allowed"
        if found.limit
        else "none is allowed"
    )
    if found.strength is Strength.LOST_AND_ALLOWED:
        out = "" if bound is None else f"; more than {bound.partition(' ')[0]} is ruled out"
        return f"{_lost_first(found, digits)}, which is allowed: {_arrow(found, digits)}{out}."
    size = f"a {loss} of up to {bound}" if bound else f"any {loss}"
    moved = f"{_signed(found, digits)} of {found.metric}, within noise"
    if vanishes(_change(found), unit, digits):
        moved = f"{found.metric} stays at {value_text(found.now or 0.0, unit, digits)}"
    unsure = f"with {questions} {size} is not excluded; {allowed}"
    return f"unproven: {moved}, but {unsure}.{_uncompared(spoken)}"


def _what_stays(spoken: _Spoken) -> str:
    """`list changed in the first 5`: as far as the metric looks; of values that no list has, and of answers, those."""
    found = spoken.found
    if any(each.by_judge for each in spoken.report.gates if each.place == found.place):
        return "answer changed"
    if found.unit not in (Unit.SHARE, Unit.SCORE) or (found.metric or "").startswith("score("):
        return "value changed"
    cutoff = _CUTOFF.search(found.metric or "")
    return f"list changed in the first {cutoff[1]}" if cutoff else "list changed"


def _uncompared(spoken: _Spoken) -> str:
    """What the value over all questions is, where the baseline lacks some of them and that reads otherwise."""
    row = next((each for each in spoken.report.gates if each.place == spoken.found.place), None)
    if row is None or row.n == row.n_pairs or row.value is None or row.paired_value is None:
        return ""
    if vanishes(row.value - row.paired_value, row.unit):
        return ""
    new = count_text(row.n - row.n_pairs, "question is new", "questions are new")
    return f" With all {row.n:,} it is {value_text(row.value, row.unit)}: {new}."


def _lost_first(found: Conclusion, digits: int) -> str:
    size = _points(_harm(found), found, digits)
    return f"{'lost' if found.direction is Direction.HIGHER else 'added'} {size} of {found.metric}"


def _signed(found: Conclusion, digits: int) -> str:
    return delta_text(_change(found), found.unit or Unit.NUMBER, digits).replace(" pp", " points")


def _loss(found: Conclusion) -> str:
    return "loss" if found.direction is Direction.HIGHER else "rise"


def _change(found: Conclusion) -> float:
    return (found.now or 0.0) - (found.before or 0.0)


def _harm(found: Conclusion) -> float:
    """The change for the worse, as a size."""
    return -(found.direction or Direction.HIGHER).sign * _change(found)


def _arrow(found: Conclusion, digits: int | None = None) -> str:
    unit = found.unit or Unit.NUMBER
    digits = _decimals(found) if digits is None else digits
    return f"{value_text(found.before or 0.0, unit, digits)} → {value_text(found.now or 0.0, unit, digits)}"


def _points(size: float, found: Conclusion, digits: int | None = None) -> str:
    """`5.8 points`, `0.050`, `120.0 ms`: a size in the words of a reader."""
    text = size_text(size, found.unit or Unit.NUMBER, digits)
    return text.replace(" pp", " point" if text == "1.0 pp" else " points")


def _number(size: float, found: Conclusion, digits: int | None = None) -> str:
    return size_text(size, found.unit or Unit.NUMBER, digits).partition(" ")[0]


def _decimals(found: Conclusion) -> int:
    """Decimals with which no rounding hides a violation, or a change."""
    unit, wanted = found.unit or Unit.NUMBER, [exact_decimals(0.0, found.unit or Unit.NUMBER)]
    if found.limit is not None:
        wanted.append(exact_decimals(found.limit, unit))
        against = _change(found) if found.rule == "drop" else found.now
        wanted += [telling_decimals(against, found.limit, unit)] if against is not None else []
    if found.rule == "drop" and found.before is not None and found.now is not None:
        wanted.append(telling_decimals(found.now, found.before, unit))
    return max(wanted)


_SENTENCES: Mapping[ConclusionKind, Callable[[_Spoken], str]] = {
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
    found = report.conclusion
    if found.kind not in OF_GATES:
        return None
    rows = [gate for gate in report.gates if gate.place == found.place and gate.verdict is report.verdict]
    exact = [gate for gate in rows if found.limit in (gate.limit, gate.threshold)]
    return next(iter(exact or rows), None)


def other_sentences(report: Report, name: Spell = plain_name, text: Spell = plain_text) -> list[tuple[Verdict, str]]:
    """What failed or warned and is no gate's, without what the conclusion says; without full stops."""
    kind = report.conclusion.kind
    texts = [(Verdict.FAIL, each) for each in report.failures[kind is ConclusionKind.FAILURE :]]
    warned = [*_other_warnings(report, name, text), *report.warnings[kind is ConclusionKind.WARNING :]]
    return texts + [(Verdict.WARN, each) for each in warned]


def _other_warnings(report: Report, name: Spell, text: Spell) -> Iterator[str]:
    kind = report.conclusion.kind
    if report.other_code and kind is not ConclusionKind.OTHER_CODE:
        yield _code_text(report.other_code, text)
    first = kind is ConclusionKind.LOST_PART
    by_segment: dict[str, list[PartLoss]] = {}
    for part in report.lost_parts[first:]:
        by_segment.setdefault(part.segment, []).append(part)
    for largest, *others in by_segment.values():
        also = " and ".join(f"{each.metric} ({delta_text(each.now - each.before, each.unit)})" for each in others)
        yield part_text(largest, name) + (f"; also {also}" if also else "")
    for loss in report.given_up[kind is ConclusionKind.GIVEN_UP :]:
        yield given_up_text(loss, report)


def part_text(part: PartLoss, name: Spell) -> str:
    """`lang:th lost 36.0 points of recall@5: 9 of 25 questions got worse`."""
    found = Conclusion(
        kind=ConclusionKind.LOST_PART,
        metric=part.metric,
        unit=part.unit,
        direction=part.direction,
        before=part.before,
        now=part.now,
    )
    return f"{_lost(found, name(part.segment))}: {part.worse:,} of {count_text(part.n, 'question')} got worse"


def given_up_text(loss: GivenUp, report: Report) -> str:
    """`6.3 points of recall@5 were given up since 2026-10-01: 2.1 by this run, the rest in 2 accepted steps`."""
    size = size_text(loss.loss, loss.unit).replace(" pp", " points")
    steps = count_text(loss.steps, "accepted step")
    when = f"in {steps}{' and this run' if loss.with_run else ''} since {loss.since}"
    gate = next((each for each in report.gates if each.is_main and each.metric == loss.metric), None)
    if loss.with_run and gate is not None and gate.delta is not None:
        own = size_text(gate.delta, loss.unit).partition(" ")[0]
        when = f"since {loss.since}: {own} by this run, the rest in {steps}"
    if loss.unit in (Unit.SHARE, Unit.SCORE) and loss.direction is Direction.HIGHER:
        return f"{size} of {loss.metric} were given up {when}"
    verb = "fell" if loss.direction is Direction.HIGHER else "rose"
    return f"{loss.metric} {verb} by {size} {when}"


def _paradox(report: Report) -> str:
    return "" if report.conclusion.segment is not None else paradox_of(report.gates)


def paradox_of(results: Sequence[GateResult]) -> str:
    """Simpson's paradox, named: the whole does not show what a part surely lost, corrected for how many there are."""
    lower = {
        each.name for each in results if not each.segment and each.direction.sign * (each.delta or 0.0) < -TOLERANCE
    }
    whole = {each.name for each in results if not each.segment} - lower
    metrics = " and ".join(dict.fromkeys(each.metric for each in results if each.surely_fell and each.name in whole))
    return f" {metrics} fell for one part of the questions and not over all (Simpson's paradox)." if metrics else ""


def more_text(report: Report) -> str:
    """`; 2 more parts and 1 more gate fail`, and `2 more gates fail with it` where they are of one cause."""
    counts = report.conclusion.counts
    parts, gates, alike = (counts.get(key, 0) for key in ("segments_fail", "gates_fail", "same_cause"))
    word = f"more {part_word(report.conclusion.segment)}"
    named = [count_text(parts, word)] * bool(parts) + [count_text(gates, "more gate")] * bool(gates)
    one, many = ("fails", "fail") if report.verdict is Verdict.FAIL else ("warns", "warn")
    told = [f"{' and '.join(named)} {one if parts + gates == 1 else many}"] if named else []
    told += [f"{count_text(alike, 'more gate')} {one if alike == 1 else many} with it"] if alike else []
    return f"; {'; '.join(told)}" if told else ""
