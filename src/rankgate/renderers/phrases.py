"""The parts of a report as short texts: what the terminal and the comment both say. Text from the inputs is spelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rankgate.model.conclusion import ConclusionKind
from rankgate.model.details import Cause, Expected, depth_of, left
from rankgate.model.gate_result import OF_QUESTIONS, GateResult
from rankgate.model.report import Oddities, Provenance, Report, SegmentValue, Source
from rankgate.model.values import Direction, Interval, ReasonKind, Ruling, Unit, Verdict
from rankgate.model.wording import (
    VERDICT_WORDS,
    beyond_text,
    confidence_text,
    count_text,
    delta_text,
    exact_decimals,
    harm_word,
    interval_text,
    part_word,
    telling_decimals,
    value_text,
)
from rankgate.renderers.escape import Sentence, Spell, Text, command_line, listed, one_line

if TYPE_CHECKING:
    from rankgate.model.base_ref import BaseSide

ICONS = {Verdict.PASS: "✅", Verdict.WARN: "⚠️", Verdict.FAIL: "❌", Verdict.NOT_JUDGED: "❔"}
NOTHING = "–"
UNPROVEN = "unproven"  # the status of what passes because noise explains it
LONGEST = 40  # characters of a name or a tag

# What one gate does, and what several do.
VERBS = {
    Verdict.FAIL: ("fails", "fail"),
    Verdict.WARN: ("warns", "warn"),
    Verdict.NOT_JUDGED: ("is not judged", "are not judged"),
    Verdict.PASS: ("holds", "hold"),
}
_OF_LOSSES = {ReasonKind.THRESHOLD, ReasonKind.REGRESSION, *OF_QUESTIONS}
# A short label, and a clause that explains it; `first k` is the details'. In the order of how much each one hurts.
CAUSE_WORDS: dict[Cause, tuple[str, str]] = {
    Cause.NO_RESULT: ("no result", "the run lacks the question or returns an empty list"),
    Cause.GONE: ("gone", "a relevant document that the baseline had in the first k is nowhere in the list now"),
    Cause.LOWER: ("lower", "a relevant document left the first k and still stands further down"),
    Cause.NEVER_FOUND: ("not all found", "a relevant document is in the first k neither now nor in the baseline"),
    Cause.NEW: ("new", "the question is not in the baseline"),
    Cause.BETTER: ("better", "a relevant document came into the first k"),
    Cause.FINE: ("fine", "all relevant documents are in the first k"),
    Cause.NOTHING_RELEVANT: ("nothing to find", "the gold set names no relevant document"),
}


class Note(msgspec.Struct, frozen=True):
    """A sentence, and what it means by itself."""

    verdict: Verdict
    text: Sentence


def row_name(gate: GateResult, label: str = "") -> str:
    """The metric and on what it is judged: `mrr in lang:es`, `mrr (its label) in lang:es`."""
    about = f" ({one_line(label, LONGEST)})" if label else ""
    if gate.segment is not None:
        about += f" in {one_line(gate.segment, LONGEST)}"
    return f"{gate.metric}{about}"


def gate_baseline(gate: GateResult) -> str:
    """The baseline's value on the pairs."""
    return _value(gate.change.baseline, gate)


def gate_now(gate: GateResult) -> str:
    """The candidate's value."""
    return _value(gate.measured.value, gate)


def gate_change(gate: GateResult) -> str:
    """`−5.8 pp`, and the interval of the change where there is one."""
    return NOTHING if gate.change.delta is None else delta_text(gate.change.delta, gate.unit, _decimals(gate))


def interval_name(gate: GateResult) -> str:
    """`95%`, or `for 12 parts at once`, whose level only report.json says."""
    parts = next((reason.corrected_for for reason in gate.decision.reasons if reason.corrected_for), 0)
    return f"for {parts} {part_word(gate.segment)}s at once" if parts > 1 else confidence_text(gate.limits.confidence)


def differs_on_pairs(gate: GateResult) -> bool:
    """Whether the value over all queries reads otherwise than that on the pairs."""
    return gate.change.delta is not None and _value(gate.change.paired_value, gate) not in (NOTHING, gate_now(gate))


def change_interval_text(ci: Interval | None, unit: Unit) -> str:
    """`−8.1 to −3.4 pp`, or nothing where the data support no interval or nothing changed."""
    return "" if ci == (0.0, 0.0) else interval_text(ci, unit, change=True)


def exact_proof(gate: GateResult) -> str:
    """`exact test, p = 0.002`, where that proves the harm and the interval does not."""
    proves = (
        gate.change.exact is not None
        and gate.change.exact.p < (1 - gate.limits.confidence) / 2
        and gate.decision.violation is not None
    )
    alone = proves and gate.direction.certain(gate.change.delta_ci) >= 0
    return f"exact test, p = {gate.change.exact.p:.2g}" if gate.change.exact and alone else ""


def gate_limit(gate: GateResult) -> str:
    """`≥ 85.0%, −3.0 pp`: the floor, and the largest change for the worse.

    Where the gate fails for single questions, `4 lost, 1 allowed` or `must pass`, and no limit that is not broken.
    """
    limits: dict[ReasonKind, str] = {}
    if gate.limits.threshold is not None:
        sign = "≥" if gate.direction is Direction.HIGHER else "≤"
        limits[ReasonKind.THRESHOLD] = f"{sign} {_value(gate.limits.threshold, gate)}"
    if gate.limit is not None:
        drop = delta_text(gate.limit, gate.unit, _decimals(gate))
        limits[ReasonKind.REGRESSION] = drop if gate.limits.regression_max else f"no {harm_word(gate.direction)}"
    if not gate.decision.hard_check_failed:
        return ", ".join(limits.values())
    broken = {reason.kind for reason in gate.decision.deciding}
    texts = [text for kind, text in limits.items() if kind in broken]
    lost = [each for each in gate.decision.deciding if each.kind is ReasonKind.LOST]
    texts += [f"{each.count:,} lost, {each.limit:,} allowed" for each in lost]
    if gate.decision.queries:
        texts.append("must pass")
    return "; ".join(texts)


def judged_by(gate: GateResult, report: Report) -> str:
    """What a gate without a limit over all its questions is judged by."""
    has_parts = gate.is_main and any(each.name == gate.name and not each.is_main for each in report.gates)
    return "by segment" if has_parts else "by question"


def gate_label(gate: GateResult, report: Report) -> str:
    """What tells a gate from another one of its metric: its name, if that is not the metric's."""
    return gate.name if gate.name != gate.metric and gate.metric in shared_metrics(report) else ""


def gate_values(gate: GateResult) -> str:
    """`91.9% → 85.8%`, on the pairs; the value alone where nothing was compared."""
    if gate.change.delta is None or gate.change.baseline is None:
        return gate_now(gate)
    return f"{gate_baseline(gate)} → {_value(gate.change.paired_value, gate)}"


def gate_spread(gate: GateResult) -> str:
    """`79.8 to 91.0%`: the interval of the value, where nothing was compared, or a floor does not hold by it."""
    floor = any(each.kind is ReasonKind.THRESHOLD and each.ruling is not Ruling.HOLDS for each in gate.decision.reasons)
    return interval_text(gate.measured.ci, gate.unit) if gate.change.delta is None or floor else ""


def gate_status(gate: GateResult) -> str:
    """The verdict as a word, but `waived` where a violation is let pass, and `unproven` where noise explains it."""
    if gate.is_unproven:
        return UNPROVEN
    return "waived" if gate.decision.waived else gate.verdict.value.replace("_", " ")


def shown_gates(report: Report) -> list[GateResult]:
    """The gates, and of their segments those that fail, warn or are unproven."""
    return [gate for gate in report.gates if gate.is_main or gate.is_unproven or gate.verdict is not Verdict.PASS]


def beyond_limits(gate: GateResult) -> float:
    """How far it lies beyond its limits, by what it allows; 0 where it breaks none."""
    return (gate.decision.violation or 0.0) / (gate.limits.regression_max or 1.0)


def deciding(report: Report) -> list[GateResult]:
    """Of the gates that are shown those whose verdict is the report's; none where all is well."""
    return [gate for gate in shown_gates(report) if gate.verdict is report.verdict is not Verdict.PASS]


def shared_metrics(report: Report) -> set[str]:
    """The metrics that several gates look at."""
    counts = Counter(gate.metric for gate in report.gates if gate.is_main)
    return {metric for metric, count in counts.items() if count > 1}


def both_verdicts(base: BaseSide) -> str:
    """What the base's files and the pull request's own say, and which counts."""
    head = f"the pull request's own {VERDICT_WORDS[base.head_verdict]}"
    if base.accepted_by is not None:
        return f"{head}, which a label lets stand alone"
    if base.introduced:
        return f"{head}, alone: the base has no criteria yet"
    if base.base_verdict is None:
        return "judged once: both have the same criteria, gold set and waivers"
    return f"the base's files say {VERDICT_WORDS[base.base_verdict]}, {head}; the worse counts"


def values_line(report: Report, most: int = 4) -> str:
    """`recall@5 91.9% (±0.0 pp), mrr 0.841 (+0.012)`: the gates over all questions, each metric once."""
    gates: dict[str, GateResult] = {}
    for gate in report.gates:
        if gate.is_main:
            gates.setdefault(gate.metric, gate)
    values = [f"{gate.metric} {_value_and_change(gate)}" for gate in gates.values()]
    return f"{listed(values, most)}." if values else ""


def _value_and_change(gate: GateResult) -> str:
    """As far as they are known: over traffic a change has no value."""
    if gate.lacks_labels:
        reason = gate.decision.reasons[0]
        return f"not measured (labels of {reason.count:,} of {reason.limit:,} drawn questions are missing)"
    if gate.change.delta is None:
        return gate_now(gate)
    if gate.change.paired_value is None:
        return gate_change(gate)
    return f"{_value(gate.change.paired_value, gate)} ({gate_change(gate)})"


def segment_text(value: SegmentValue) -> str:
    """`81.2% (−5.8 pp)`, or `81.2%` where nothing changed."""
    now = value_or_dash(value.value, value.unit)
    return now if value.value is None or not value.delta else f"{now} ({delta_text(value.delta, value.unit)})"


def rank_move(doc: Expected) -> str:
    """`rank 2 → 9`, `rank 2 → gone`, `not found → rank 3`."""
    if doc.before is None:
        return "not found before or now" if doc.after is None else f"not found → rank {doc.after}"
    if doc.before == doc.after:
        return f"stays at rank {doc.before}"
    return f"rank {doc.before} → {doc.after if doc.after is not None else 'gone'}"


def waiver_note(gate: GateResult, report: Report) -> str:
    """What became of the waiver of a gate that fails all the same; nothing where it has none."""
    use = next((each for each in report.waivers if (each.gate, each.segment) == gate.place), None)
    if use is None or gate.verdict is not Verdict.FAIL:
        return ""
    if use.state == "expired":
        return f"waiver expired on {use.expires}"
    if use.state == "hard_check":
        return "its waiver does not count, since single questions fail, which no waiver covers"
    if use.state != "too_small":
        return ""
    return f"waiver too small: {beyond_text(use.violation or 0.0, use.up_to, gate.unit)}"


def whereabouts(document: Expected, *, compared: bool) -> str:
    """`rank 2 → 9`; without a baseline `rank 9` or `not found`."""
    if compared:
        return rank_move(document)
    return "not found" if document.after is None else f"rank {document.after}"


def telling(documents: Sequence[Expected], k: int, most: int) -> tuple[list[Expected], list[Expected]]:
    """Of a question's relevant documents those to show, at most `most`, and the rest.

    Those that left the first k, the deepest fall first, and that entered; if none did, those that moved, else all.
    """
    order = sorted(documents, key=depth_of, reverse=True)
    gone = [each for each in order if left(each, k)]
    entered = [each for each in order if (each.after or k + 1) <= k < (each.before or k + 1)]
    shown = ([*gone, *entered] or [each for each in order if each.before != each.after] or order)[:most]
    return shown, [each for each in order if each not in shown]


def queries_line(report: Report) -> str:
    """How many queries the numbers stand on."""
    queries, metrics = report.measured.queries, report.measured.metrics
    if queries is None:
        return ""
    asked, parts = count_text(queries.total, "question"), list[str]()
    stated = {name: value for name, value in metrics.items() if value.missing is not None}
    if not stated or len(stated) < len(metrics):
        left_out = f"{queries.no_relevant:,} without a relevant document in the gold set left out"
        parts += [f"{queries.scored:,} of {asked} scored", *[left_out] * bool(queries.no_relevant)]
    for name, value in stated.items():  # what lines state is no matter of relevant documents
        lacking = f" ({value.missing:,} missing, {value.undefined - (value.missing or 0):,} undefined)"
        if value.undefined or not parts:
            parts.append(f"{value.n:,} of {asked} have a value of {name}{lacking * bool(value.undefined)}")
    return f"{'; '.join(parts)}."


def odd_lines(report: Report, quote: Spell) -> list[str]:
    """What is suspicious in the lists, a sentence each."""
    odd = report.explanation.oddities
    lines: list[str] = []
    if odd and odd.never_returned:
        lines.append(never_line(odd, quote, "the run or of the baseline" if report.provenance.baseline else "the run"))
    if odd and odd.rising:
        examples = listed(odd.rising_queries, len(odd.rising_queries), quote, odd.rising)
        lines.append(
            f"In {odd.rising:,} of {count_text(odd.long_lists, 'list')} of five or more results the scores rise from "
            f"rank to rank, as distances do or a list in reverse order: {examples}."
        )
    if odd and odd.tied:
        lines.append(
            f"In {odd.tied:,} of {count_text(odd.lists, 'list')} all scores are equal, so that ids order them."
        )
    if odd and odd.self_first:
        what = f"{odd.self_first:,} of {count_text(odd.lists, 'list')} begin with the question's own document"
        lines.append(f"{what}; `match: {{exclude_query_id: true}}` leaves it out.")
    return lines


def never_line(odd: Oddities, quote: Spell, runs: str) -> str:
    """How many relevant ids are in no list of these runs; with ids of either kind where that are all."""
    count, verb = count_text(odd.relevant, "relevant id"), "is" if odd.never_returned == 1 else "are"
    examples = listed(odd.examples, len(odd.examples), quote, odd.never_returned)
    instead = f"; the lists have {listed(odd.returned, len(odd.returned), quote)}" if odd.returned else ""
    pairs = (f"{quote(each.gold)} and {quote(each.run)} ({each.differs})" for each in odd.spellings)
    more = ", …" if odd.respelled > len(odd.spellings) else ""
    form = f" {odd.respelled:,} of them differ from ids of the run in their form alone: {', '.join(pairs)}{more}."
    said = f"{odd.never_returned:,} of {count} {verb} in no list of {runs}: {examples}{instead}."
    return said + form * bool(odd.respelled)


def inputs_of(provenance: Provenance) -> list[tuple[str, Source]]:
    """What was compared, as far as the report has it, each under its name."""
    sources = (("Gold set", provenance.gold), ("Run", provenance.run), ("Baseline", provenance.baseline))
    return [(name, source) for name, source in sources if source]


def value_or_dash(value: float | None, unit: Unit, decimals: int | None = None) -> str:
    """`87.0%`, or a dash where there is no value."""
    return NOTHING if value is None else value_text(value, unit, decimals)


def _value(value: float | None, gate: GateResult) -> str:
    return value_or_dash(value, gate.unit, _decimals(gate))


def _decimals(gate: GateResult) -> int:
    """Decimals for the whole row, enough that no rounding hides a violation."""
    wanted = [exact_decimals(0.0, gate.unit)]
    if gate.limits.threshold is not None:
        wanted.append(exact_decimals(gate.limits.threshold, gate.unit))
        if gate.measured.value is not None:
            wanted.append(telling_decimals(gate.measured.value, gate.limits.threshold, gate.unit))
    if gate.limits.regression_max is not None:
        wanted.append(exact_decimals(gate.limits.regression_max, gate.unit))
        if gate.change.delta is not None:
            drop = -gate.change.delta if gate.direction is Direction.HIGHER else gate.change.delta
            wanted.append(telling_decimals(drop, gate.limits.regression_max, gate.unit))
    return max(wanted)


def if_meant(report: Report) -> Sentence:
    """How a loss gets in that somebody means, by what helps; nothing where no gate fails, or for what is no loss."""
    failing = [gate for gate in report.gates if gate.verdict is Verdict.FAIL]
    kinds = {reason.kind for gate in failing for reason in gate.decision.deciding}
    if report.conclusion.kind is not ConclusionKind.GATE_FAILS or not kinds or kinds - _OF_LOSSES:
        return ()
    if report.base is not None and report.base.head_verdict is not Verdict.FAIL:
        return ()  # the notes on the base say what the label would let through
    for kind, key in ((ReasonKind.MUST_PASS, "must_pass"), (ReasonKind.LOST, "max_lost_queries")):
        gate = next((each for each in failing if any(why.kind is kind for why in each.decision.deciding)), None)
        if gate is not None and not report.conclusion.accept:
            of_gate: Sentence = (f" `{key}` of the gate ", Text(gate.name, LONGEST), ", in a pull request of its own.")
            return ("If it is meant: no waiver covers single questions; change", *of_gate)
    if report.conclusion.accept and (report.base is None or ReasonKind.LOST in kinds):
        why = " (no waiver covers lost questions)" if ReasonKind.LOST in kinds else ""
        return (f"If it is meant{why}: ", Text(command_line(report.conclusion.accept)))
    return ("If it is meant: a waiver; `rankgate validate` prints its lines.",)
