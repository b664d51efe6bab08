"""Why gates do not hold, as far as neither the conclusion nor the numbers of their rows say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from rankgate.model.gate_result import OF_QUESTIONS, GateResult
from rankgate.model.reasons import beyond_noise_text, sentences, waived_text
from rankgate.model.report import Report
from rankgate.model.topic import headline_gate
from rankgate.model.values import ReasonKind, Verdict
from rankgate.model.wording import beyond_text, count_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import LONGEST_COMMAND, Sentence, Text, command_line
from rankgate.renderers.phrases import LONGEST, Note

MAX_QUERIES = 10
MAX_NAMED = 3  # questions that must pass, in a row
_IN_NUMBERS = {ReasonKind.THRESHOLD, ReasonKind.REGRESSION, ReasonKind.NO_BASELINE, ReasonKind.MUST_PASS}
_FILES = ("--criteria", "--gold", "--run", "--baseline")
_DEFAULT_FILES = ["--run", "run.jsonl"]  # which `init` writes into the criteria
_LACKING = {ReasonKind.MISSING, ReasonKind.NO_VERDICT}
_OF_LOSSES = {ReasonKind.THRESHOLD, ReasonKind.REGRESSION, *OF_QUESTIONS}


def notes_on(gate: GateResult, report: Report) -> Iterator[Sentence]:
    """What the numbers of its row do not show: questions that must pass, the waiver, a reason that is no limit."""
    if any(reason.beyond_noise for reason in gate.decision.deciding) and gate is not headline_gate(report):
        yield (f"not proven, but {beyond_noise_text()}",)
    if gate.decision.queries:
        named = _separated(Text(query, 24) for query in gate.decision.queries[:MAX_NAMED])
        more = f" and {len(gate.decision.queries) - MAX_NAMED:,} more" if gate.decision.queries[MAX_NAMED:] else ""
        yield (*named, f"{more} must pass and {'do' if gate.decision.queries[1:] else 'does'} not")
    if 0 in _unsaid(gate, report):
        yield (sentences(gate)[0],)  # which begins with the waiver
    elif gate.decision.waived:
        yield (waived_text(gate.decision.waived),)
    if note := _waiver_note(gate, report):
        yield (note,)


def with_value(gate: GateResult, report: Report) -> str:
    """`30 of 40 questions`, where the others lack the value and are not just those for which it is undefined."""
    lacking = (each for each in gate.decision.reasons if each.kind in _LACKING)
    among = max((each.among for each in lacking), default=0)
    value = report.measured.metrics.get(gate.metric)
    if not among and gate.is_main and value is not None and value.n == gate.measured.n:
        among = value.n + (value.missing or 0)
    if among <= gate.measured.n:
        return ""
    return f"{gate.measured.n:,} of {count_text(among, 'question')}"


def _waiver_note(gate: GateResult, report: Report) -> str:
    """What became of the waiver of a gate that fails all the same; nothing where it has none."""
    use = next((each for each in report.waivers if (each.gate, each.segment) == gate.row_key), None)
    if use is None or gate.verdict is not Verdict.FAIL:
        return ""
    if use.state == "expired":
        return f"waiver expired on {use.expires}"
    if use.state == "hard_check":
        return "its waiver does not count, since single questions fail, which no waiver covers"
    if use.state != "too_small":
        return ""
    return f"waiver too small: {beyond_text(use.violation or 0.0, use.up_to, gate.unit)}"


def _unsaid(gate: GateResult, report: Report) -> list[int]:
    """The places of its reasons that neither the conclusion says, nor the numbers of its row, nor a note of its own."""
    positions: list[int] = []
    of_headline = gate is headline_gate(report)
    for position, reason in enumerate(gate.decision.reasons):
        in_numbers = reason.kind in _IN_NUMBERS and reason.at_worst is None and gate.measured.counted is None
        if not in_numbers and not (of_headline and _concluded(gate, position, report.conclusion.rule)):
            positions.append(position)
    return positions


def _concluded(gate: GateResult, position: int, rule: str | None) -> bool:
    """Whether the conclusion, which is about this rule of the gate, says the reason."""
    if rule == "other":
        return position == 0 or (bool(gate.decision.queries) and gate.decision.verdict_of(position) is gate.verdict)
    return gate.decision.reasons[position].kind is (ReasonKind.THRESHOLD if rule == "floor" else ReasonKind.REGRESSION)


def reasons_of(report: Report) -> list[Note]:
    """Why gates failed or warned, as far as neither the conclusion nor their rows say it; who waived what, and why."""
    rows = [gate for gate in phrases.shown_gates(report) if gate.verdict in (Verdict.FAIL, Verdict.WARN)]
    notes: list[Note] = []
    for gate in sorted(rows, key=lambda gate: gate.verdict is not report.verdict):
        label = phrases.gate_label(gate, report)
        named: Sentence = (Text(label, LONGEST), ": ") if label else ()
        where: Sentence = (*named, "in ", Text(gate.segment, LONGEST), ", ") if gate.segment else named
        decision = gate.decision
        texts = sentences(gate)
        positions = [position for position in _unsaid(gate, report) if position]  # the row has the first
        notes += [Note(decision.verdict_of(each), (*where, f"{texts[each]}.")) for each in positions]
        if decision.waived:
            waived = f"{gate.metric} is {waived_text(decision.waived)} ("
            by_whom = _separated(Text(text, 300) for text in decision.waived.texts)
            notes.append(Note(gate.verdict, (*where, waived, *by_whom, ").")))
        if decision.queries[MAX_NAMED:]:
            queries = _separated(Text(query, 80) for query in decision.queries[:MAX_QUERIES])
            notes.append(Note(gate.verdict, (*where, "must pass and do not: ", *queries, ".")))
    return notes


def _separated(texts: Iterable[Text]) -> Sentence:
    """The texts with commas between them."""
    pieces: list[str | Text] = []
    for text in texts:
        pieces += [", ", text] if pieces else [text]
    return tuple(pieces)


def if_meant(report: Report) -> Sentence:
    """How a loss gets in that somebody means, by what helps; nothing for what is no loss."""
    failing = [gate for gate in report.gates if gate.verdict is Verdict.FAIL]
    kinds = {reason.kind for gate in failing for reason in gate.decision.deciding}
    if not kinds or kinds - _OF_LOSSES:
        return ()
    if report.base is not None and report.base.head_verdict is not Verdict.FAIL:
        return ()  # the notes on the base say what the label would let through
    for kind, key in ((ReasonKind.MUST_PASS, "must_pass"), (ReasonKind.LOST, "max_lost_queries")):
        names = [gate.name for gate in failing if any(reason.kind is kind for reason in gate.decision.deciding)]
        if names and not report.conclusion.accept:
            of_gate: Sentence = (f" `{key}` of the gate ", Text(names[0], LONGEST), ", in a pull request of its own.")
            return ("If it is meant: no waiver covers single questions; change", *of_gate)
    if report.conclusion.accept and (report.base is None or ReasonKind.LOST in kinds):
        why = " (no waiver covers lost questions)" if ReasonKind.LOST in kinds else ""
        return (f"If it is meant{why}: ", Text(command_line(report.conclusion.accept), LONGEST_COMMAND))
    # The files that the criteria may not name stand in the next command, too.
    files: list[str] = []
    for option, value in pairwise(report.conclusion.next):
        if option in _FILES:
            files += [option, value]
    if files not in ([], _DEFAULT_FILES):
        command = command_line(["rankgate", "validate", *files])
        return ("If it is meant: a waiver; for its lines: ", Text(command, LONGEST_COMMAND))
    return ("If it is meant: a waiver; `rankgate validate` prints its lines.",)
