"""The rows and items of the Markdown comment; the template arranges them. Text from the inputs appears only as code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rankgate.model.headline import headline_gate, other_sentences, sentence
from rankgate.model.reasons import sentences, waived_text
from rankgate.model.report import BaselineSource, GateResult, Report, Segment, Source
from rankgate.model.values import CONFIDENCE, TOLERANCE, ReasonKind, Verdict, worst
from rankgate.model.wording import VERDICT_WORDS, confidence_text, count_text
from rankgate.renderers import phrases
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import block, cell, code, command_line, listed, shorten
from rankgate.renderers.what_differs import differences_line

MAX_FACTS = 8
MAX_QUERIES = 10
MAX_PARTS = 3  # segments of a gate, or questions that must pass, in its row
MAX_PROBLEMS = 20
LONGEST_SENTENCE = 600  # characters
LONGEST_NAME = 24  # in a row
MAX_METRICS = 4  # of the table by tag

_WITH_PARAMETERS = re.compile(r"(?<![\w-])[a-zA-Z][\w-]*\((?:[^()]|\([^()]*\))*\)(?:@\w+)?")
_MARK = re.compile("\ue000(\\d+)\ue001")
_ESCAPED = {ord(char): f"%{ord(char):02X}" for char in " |()<>\\`\n\r"}  # what ends an address in a cell
_IN_ROWS = {ReasonKind.THRESHOLD, ReasonKind.REGRESSION, ReasonKind.NO_BASELINE, ReasonKind.MUST_PASS}


def gate_rows(report: Report, gates: Sequence[GateResult] | None = None) -> list[str]:
    """The rows of a table of these gates, or of all that are shown."""
    return group_rows(report, [[gate] for gate in (phrases.shown_gates(report) if gates is None else gates)])


def gate_row(gate: GateResult, report: Report) -> str:
    """A gate as a row: status, metric and meaning, value and change with their intervals, limit."""
    return gate_rows(report, [gate])[0]


def group_rows(report: Report, groups: Sequence[Sequence[GateResult]]) -> list[str]:
    """The rows of groups of results, each of one gate: its segments that decided, those that hold, then the whole.

    Where the whole decided as well it comes first, and its segments stand in its row.
    """
    shared = phrases.shared_metrics(report)
    return [row for group in groups for row in _rows(group, report, shared=group[0].metric in shared)]


def _rows(group: Sequence[GateResult], report: Report, *, shared: bool) -> list[str]:
    verdict, ranked = worst([each.verdict for each in group]), sorted(group, key=_severity)
    whole = next((each for each in group if each.segment is None), None)
    parts = [part for part in ranked if part is not whole]
    if whole is None or whole.verdict is verdict or not parts:
        gate = whole or ranked[0]
        return [_row(gate, [part for part in parts if part is not gate], report, shared=shared)]
    decided = [part for part in parts if part.verdict is verdict]
    rows = [_row(part, [], report, shared=shared) for part in decided[:MAX_PARTS]]
    more = len(decided) - MAX_PARTS
    rows += [f"| {phrases.ICONS[verdict]}&nbsp;{verdict.value} | {count_text(more, 'more part')} | | |"] * (more > 0)
    rows += [_holding_row(held)] if (held := [part for part in parts if part not in decided]) else []
    return [*rows, _row(whole, [], report, shared=shared, about=f"all {count_text(whole.n, 'question')}")]


def _holding_row(parts: Sequence[GateResult]) -> str:
    """The parts that did not decide, with what the worst of them did."""
    first = parts[0]
    name = f"{count_text(len(parts), 'other part')}, worst: {_short_cell(first.segment)}"
    icon = phrases.ICONS[Verdict.PASS if first.verdict is Verdict.PASS else first.verdict]
    return f"| {icon}&nbsp;{phrases.gate_status(first)} | {name} | {unbroken(phrases.part_text(first))} | |"


def _row(gate: GateResult, parts: Sequence[GateResult], report: Report, *, shared: bool, about: str = "") -> str:
    """A result as a row, with the worst segments in the cell of its change; `about` says of what it is."""
    changes = _changes(gate) + ([_worst_parts(parts)] if parts else [])
    group = [gate, *parts]
    if must := list(dict.fromkeys(query for each in group for query in each.queries)):
        changes.append(f"{listed(must, MAX_PARTS, _short_cell)} must pass and {'do' if must[1:] else 'does'} not")
    of = [f"{_short_cell(gate.segment)}, {count_text(gate.n, 'question')}"] if gate.segment is not None else []
    of += [about] if about else []
    of += [cell(gate.name, 40)] if shared and gate.segment is None else []
    limit = shown = unbroken(phrases.gate_limit(gate))
    if limit and gate.line is not None and report.links and report.links.criteria:
        shown = f"[{limit}](<{report.links.criteria.translate(_ESCAPED)}#L{gate.line}>)"
    of_part = next((unbroken(phrases.gate_limit(part)) for part in parts if part.verdict is gate.verdict), limit)
    statuses = {phrases.gate_status(each) for each in group if each.verdict is gate.verdict}
    cells = (
        f"{phrases.ICONS[gate.verdict]}&nbsp;{statuses.pop() if len(statuses) == 1 else gate.verdict.value}",
        f"{', '.join([f'**{named(gate.metric, report)}**', *of])}: {shorten(gate.meaning, LONGEST_SENTENCE)}",
        _stacked(*changes),
        _stacked(shown, f"by segment: {of_part}" if of_part != limit else "", phrases.waiver_note(gate, report)),
    )
    return f"| {' | '.join(cells)} |"


def _short_cell(text: str | None) -> str:
    return cell(text, LONGEST_NAME)


def _severity(gate: GateResult) -> tuple[int, float]:
    """Segments in the order of what became of them, then of what they lost."""
    return phrases.segment_state(gate), min(gate.direction.sign * (gate.delta or 0.0), -(gate.violation or 0.0))


def _worst_parts(parts: Sequence[GateResult]) -> str:
    """`` `lang:zh` **−84.0 pp**, `lang:ar` −8.0 pp within noise, and 6 more ``: segments that violate or got worse."""
    bad = [part for part in parts if part.verdict is not Verdict.PASS or _severity(part)[1] < -TOLERANCE]
    shown = [f"{_short_cell(part.segment)} {unbroken(phrases.part_text(part))}" for part in bad[:MAX_PARTS]]
    return ", ".join([*shown, *([f"and {len(parts) - len(shown):,} more"] if len(parts) > len(shown) > 0 else [])])


def _changes(gate: GateResult) -> list[str]:
    """`91.9% → 85.8%` and `−6.1 pp`; of that which is limited with what the data say of it, in small letters."""
    of_value = small(phrases.gate_now_interval(gate) if gate.delta is None or gate.threshold is not None else "")
    if gate.delta is None:
        uncompared = any(reason.kind is ReasonKind.NO_BASELINE for reason in gate.reasons)
        return [f"{phrases.gate_now(gate)}{of_value}", *["no baseline"] * uncompared]
    before = "" if phrases.differs_on_pairs(gate) else f"{phrases.gate_baseline(gate)} → "
    change = f"**{unbroken(phrases.gate_change(gate))}**{small(phrases.gate_change_interval(gate))}"
    return [f"{before}{phrases.gate_now(gate)}{of_value}", change]


def small(text: str) -> str:
    """In small letters, each clause on a line of its own where the cell is narrow."""
    return f" <sub>{text.replace(' ', '&nbsp;').replace(';&nbsp;', '; ')}</sub>" if text else ""


def _stacked(*lines: str) -> str:
    return "<br>".join(filter(None, lines))


def reasons(report: Report, gates: Sequence[GateResult] | None = None) -> list[str]:
    """Why these gates, or all that are shown, failed or warned; without the reason that the headline says."""
    return [reason() for reason in reasons_to_say(report, phrases.shown_gates(report) if gates is None else gates)]


def reasons_to_say(
    report: Report, gates: Sequence[GateResult], *, beyond_rows: bool = False
) -> Iterator[Callable[[], str]]:
    """The same, each put into words only when it is called; `beyond_rows` leaves out what the row of the gate says."""
    first, shared = headline_gate(report), phrases.shared_metrics(report)
    for gate in gates:
        if gate.verdict not in (Verdict.FAIL, Verdict.WARN):
            continue
        headed = gate is first and not (gate.segment or gate.queries or gate.waived)
        for position, reason in enumerate(gate.reasons):
            in_row = beyond_rows and reason.kind in _IN_ROWS and reason.at_worst is None and gate.counted is None
            if not (headed and not position) and not (in_row and (position or not gate.waived)):
                yield partial(_reason, gate, position, report, in_row=in_row, shared=gate.metric in shared)


def _reason(gate: GateResult, position: int, report: Report, *, in_row: bool, shared: bool) -> str:
    where = f"{code(gate.name, 40)}: " if shared else ""
    where += f"in {code(gate.segment, 40)}, " if gate.segment else ""
    said = _sentence(sentences(gate)[position], report)
    if in_row and gate.waived:
        said = f"{named(gate.metric, report)} is {waived_text(gate.waived)}"
    end = "" if position else _queries_and_waiver(gate)
    return f"{VERDICT_WORDS[gate.verdict_of(position)]}: {where}{said}{end}."


def other_reasons(report: Report) -> list[str]:
    """What failed or warned and is no gate's, without what the headline says."""
    return [_other_reason(each, report) for each in _others(report)]


def _other_reason(said: tuple[Verdict, str], report: Report) -> str:
    return f"{VERDICT_WORDS[said[0]]}: {_sentence(said[1], report)}."


def _others(report: Report) -> list[tuple[Verdict, str]]:
    return other_sentences(report, partial(code, limit=60), partial(code, limit=200))


def all_reasons(report: Report, gates: Sequence[GateResult]) -> list[Callable[[], str]]:
    """What failed or warned and is no gate's, then what no row says of these gates; put into words when called."""
    others = (partial(_other_reason, each, report) for each in _others(report))
    return [*others, *reasons_to_say(report, gates, beyond_rows=True)]


def _sentence(text: str, report: Report) -> str:
    """A sentence of ours. None is nearly as long as the limit: it keeps a row from filling the page."""
    return named(shorten(text, LONGEST_SENTENCE), report)


def _queries_and_waiver(gate: GateResult) -> str:
    """The queries that must pass and do not; who lets a violation pass, why, and where that is discussed, as text."""
    queries = f": {listed(gate.queries, MAX_QUERIES, partial(code, limit=80))}" if gate.queries else ""
    return queries + (f" ({', '.join(code(text, 300) for text in gate.waived.texts)})" if gate.waived else "")


def base_head(report: Report) -> str:
    """What the section on the base is about; nothing without one."""
    if report.base is None:
        return ""
    return f"Changed since {code(report.base.commit.shown, 120)}; {phrases.both_verdicts(report.base)}:"


def base_items(report: Report) -> list[str]:
    """What the pull request changed of the gate, an item each, what weakens it first."""
    changed = changes(report, partial(code, limit=80))
    return [f"- {phrases.ICONS[Verdict.WARN] + ' ' if change.weakens else ''}{change.text}" for change in changed]


def headline(report: Report) -> str:
    """The conclusion as Markdown: metrics with parameters, tags and text of the inputs as code."""
    spelled: list[str] = []

    def mark(text: str, limit: int) -> str:  # stands for code until no name is looked for any more
        spelled.append(code(text, limit))
        return f"\ue000{len(spelled) - 1}\ue001"

    text = sentence(report, partial(mark, limit=40), partial(mark, limit=LONGEST_SENTENCE))
    return _MARK.sub(lambda found: spelled[int(found[1])], named(text, report))


def next_line(report: Report) -> str:
    """The next command, as Markdown; nothing where all is well."""
    command = report.conclusion.next
    if not command:
        return ""
    line = f"**{phrases.next_head(report)}** {code(command_line(command), 200)}"
    return f"{line}{phrases.next_tail(report)}"


def first_look(report: Report) -> str:
    """What to look at first, in a sentence; nothing where nothing is violated or no finding holds."""
    if not report.diagnosis:
        return ""
    before, tag, after = phrases.finding_parts(report.diagnosis[0])
    return f"**Look here first:** {_sentence(before, report)}{tag and code(tag, 40)}{_sentence(after, report)}."


def odd_line(report: Report) -> str:
    """What is suspicious in the lists, or nothing."""
    return " ".join(phrases.odd_lines(report, partial(code, limit=80)))


def differs(report: Report) -> str:
    """What differs from the baseline, in one line; nothing where nothing does."""
    return differences_line(report, code)


def source_item(name: str, source: Source) -> str:
    """Where an input came from and what it says of itself in a word or a number."""
    facts = [f"{key}={value}" for key, value in source.about.items() if isinstance(value, str | int | float)]
    parts = [code(source.path), *(code(fact, 120) for fact in facts[:MAX_FACTS])]
    more = f", and {len(facts) - MAX_FACTS} more in `report.json`" if len(facts) > MAX_FACTS else ""
    return f"- {name}: {', '.join(parts)}{more}"


def compared(report: Report) -> list[str]:
    """What was compared by which criteria, as list items, and the command that repeats it, where there is one."""
    provenance = report.provenance
    items = [source_item(name, source) for name, source in phrases.inputs_of(provenance)]
    judged = f"Criteria: {code(provenance.criteria)}, judged" if provenance.criteria else "Judged"
    items.append(f"- {judged} on {code(provenance.date)} by rankgate {provenance.rankgate}")
    return [*items, f"\n{command_block(provenance.command)}"] if provenance.command else items


def accepted_by_reason(report: Report) -> str:
    """Who accepted what the run is compared with although its gates failed, and why; nothing where they did not."""
    baseline = report.provenance.baseline
    lineage = baseline.lineage if isinstance(baseline, BaselineSource) else None
    if lineage is None or lineage.reason is None or not lineage.failed:
        return ""
    by = f" by {code(lineage.by, 80)}" if lineage.by else ""
    return f"The baseline was accepted on {lineage.date}{by} although gates failed: {code(lineage.reason, 200)}."


def command_block(command: Sequence[str]) -> str:
    """A command line to copy."""
    return block([command_line(command)], "sh")


def segment_head(report: Report) -> str:
    """The head of the table by tag: a column a metric, as many as fit."""
    columns = _columns(report)
    names = (named(name, report) for name in columns)
    return f"| Tag | Questions | {' | '.join(names)} |\n|:--|--:|{'--:|' * len(columns)}"


def segment_row(segment: Segment, report: Report) -> str:
    """A tag with how many questions have it, and the metrics of the head on them, each with its change's interval."""
    cells = (_part_value(segment, name, report) for name in _columns(report))
    return f"| {cell(segment.tag, 80)} | {segment.queries} | {' | '.join(cells)} |"


def _part_value(segment: Segment, name: str, report: Report) -> str:
    """A value, its change and the interval by which a gate judged that; 95% where none corrects those of its parts."""
    value, parts = segment.metrics[name], [gate for gate in report.gates if gate.metric == name and gate.corrects]
    ci, level = (None if parts else value.delta_ci), confidence_text(CONFIDENCE)
    if gate := next((part for part in parts if part.segment == segment.tag and not part.too_small), None):
        ci, level = gate.delta_ci, phrases.interval_name(gate)
    bounds = phrases.change_interval_text(ci, value.unit) if value.delta else ""
    return phrases.segment_text(value) + small(f"{level}: {bounds}" if bounds else "")


def _columns(report: Report) -> list[str]:
    """The metrics that the table by tag has room for, in their order: those that failed or warned before the others."""
    bad = {gate.metric for gate in report.gates if gate.verdict in (Verdict.FAIL, Verdict.WARN)}
    kept = sorted(report.metrics, key=lambda name: name not in bad)[:MAX_METRICS]
    return [name for name in report.metrics if name in kept]


def named(text: str, report: Report) -> str:
    """Text of ours with metrics that have parameters as code; to GitHub the end of `recall(rel=2)@5` names a user."""

    def known(name: str) -> bool:
        return name in report.metrics or any(gate.metric == name for gate in report.gates)

    return _WITH_PARAMETERS.sub(lambda match: f"`{match[0]}`" if known(match[0]) else match[0], text)


def unbroken(text: str) -> str:
    """Numbers kept together with their units where a narrow cell wraps."""
    return text.replace(" pp", "&nbsp;pp").replace(" ms", "&nbsp;ms").replace("at most ", "at most&nbsp;")
