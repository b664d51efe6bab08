"""The rows and items of the Markdown comment; the template arranges them. Text from the inputs appears only as code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from rankgate.model.headline import headline_gate, other_sentences
from rankgate.model.reasons import sentences
from rankgate.model.report import GateResult, Report, Source
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS
from rankgate.renderers import phrases
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import block, cell, code, command_line, listed, shorten
from rankgate.renderers.what_differs import differences_line

MAX_FACTS = 8
MAX_QUERIES = 10
MAX_PROBLEMS = 20
LONGEST_SENTENCE = 600  # characters

_WITH_PARAMETERS = re.compile(r"[a-zA-Z][\w-]*\((?:[^()]|\([^()]*\))*\)(?:@\w+)?")


def gate_rows(report: Report, gates: Sequence[GateResult] | None = None) -> list[str]:
    """The rows of a table of these gates, or of all that are shown."""
    counts = Counter(gate.metric for gate in report.gates if gate.is_main)
    shown = phrases.shown_gates(report) if gates is None else gates
    return [_gate_row(gate, report, shared=counts[gate.metric] > 1) for gate in shown]


def gate_row(gate: GateResult, report: Report) -> str:
    """A gate as a row: metric and meaning, baseline, now, change with its interval, limit, status."""
    return gate_rows(report, [gate])[0]


def _gate_row(gate: GateResult, report: Report, *, shared: bool) -> str:
    about = [shorten(gate.meaning, LONGEST_SENTENCE), *([cell(gate.name, 80)] if shared else [])]
    if gate.segment is not None:
        about = [f"only {cell(gate.segment, 80)}"]
    if gate.since is not None:
        about = [f"since {cell(gate.since, 80)}"]
    if gate.judged_by and report.base:
        about.append(f"by {report.base.judges}")
    cells = (
        _stacked(f"**{named(gate.metric, report)}**", *about),
        phrases.gate_baseline(gate),
        unbroken(_stacked(phrases.gate_now(gate), phrases.gate_now_interval(gate))),
        unbroken(_stacked(phrases.gate_change(gate), phrases.gate_change_interval(gate))),
        unbroken(phrases.gate_limit(gate)),
        f"{phrases.ICONS[gate.verdict]}&nbsp;{phrases.gate_status(gate)}",
    )
    return f"| {' | '.join(cells)} |"


def _stacked(*lines: str) -> str:
    return "<br>".join(filter(None, lines))


def reasons(report: Report, gates: Sequence[GateResult] | None = None) -> list[str]:
    """Why these gates, or all that are shown, failed or warned; without the reason that the headline says."""
    first = headline_gate(report)
    return [
        f"{VERDICT_WORDS[gate.verdict_of(position)]}: {f'in {code(gate.segment, 80)}, ' if gate.segment else ''}"
        f"{_sentence(reason, report)}{'' if position else _queries_and_waiver(gate)}."
        for gate in (phrases.shown_gates(report) if gates is None else gates)
        if gate.verdict in (Verdict.FAIL, Verdict.WARN)
        for position, reason in enumerate(sentences(gate, report.base))
        if position or gate is not first or gate.segment is not None or gate.queries or gate.waived or gate.judged_by
    ]


def other_reasons(report: Report, most: int | None = None) -> list[str]:
    """What failed or warned and is no gate's, the first so many; without what the headline says."""
    others = other_sentences(report)[:most]
    return [f"{VERDICT_WORDS[verdict]}: {_sentence(text, report)}." for verdict, text in others]


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
    twice = report.base.base_verdict is not None
    what = f"judged also by {report.base.judges}, the stricter verdict counts" if twice else "judged once"
    return f"Changed since {code(report.base.commit.shown, 120)}; {what}:"


def base_items(report: Report) -> list[str]:
    """What the pull request changed of the gate, an item each, what weakens it first."""
    changed = changes(report, partial(code, limit=80), partial(_sentence, report=report))
    return [f"- {phrases.ICONS[Verdict.WARN] + ' ' if change.weakens else ''}{change.text}" for change in changed]


def first_look(report: Report) -> str:
    """What to look at first, in a sentence; nothing where nothing is violated or no finding holds."""
    if not report.diagnosis:
        return ""
    before, tag, after = phrases.finding_parts(report.diagnosis[0])
    return f"**Look here first:** {_sentence(before, report)}{tag and code(tag, 80)}{_sentence(after, report)}."


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


def command_block(command: Sequence[str]) -> str:
    """A command line to copy."""
    return block([command_line(command)], "sh")


def named(text: str, report: Report) -> str:
    """Text of ours with metrics that have parameters as code; to GitHub the end of `recall(rel=2)@5` names a user."""
    known = {*report.metrics, *(gate.metric for gate in report.gates)}
    return _WITH_PARAMETERS.sub(lambda match: f"`{match[0]}`" if match[0] in known else match[0], text)


def unbroken(text: str) -> str:
    """Numbers kept together with their units where a narrow cell wraps."""
    return text.replace(" pp", "&nbsp;pp").replace(" ms", "&nbsp;ms").replace("at most ", "at most&nbsp;")
