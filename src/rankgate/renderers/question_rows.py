"""The comment's questions that moved: what became of their documents, where these went and what came instead."""

from __future__ import annotations

from rankgate.model.details import Cause, sampled
from rankgate.model.report import Movement, Report
from rankgate.model.wording import value_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import code
from rankgate.renderers.phrases import CAUSE_WORDS
from rankgate.renderers.rows import named

MAX_WORSE = 10
MAX_ALIKE = 4  # that got worse in one way
MAX_BETTER = 3
MAX_DOCUMENTS = 6
LESS = "**Less:** the relevant documents are there, the metric fell"
UNLISTED = "**Less:** the metric fell"
BETTER = "**Better**"


def moved_questions(report: Report, most: int | None = None) -> list[tuple[str, list[Movement]]]:
    """The worst of each kind under headings that say what happened to them; of `most` the worse questions first."""
    room = MAX_WORSE + MAX_BETTER if most is None else most
    worse = sampled([move for move in report.misses if move.worse], lambda move: move.fate, min(MAX_WORSE, room))
    worse = [move for fate in CAUSE_WORDS for move in [each for each in worse if each.fate is fate][:MAX_ALIKE]]
    better = [move for move in report.misses if not move.worse][: min(MAX_BETTER, room - len(worse))]
    groups: dict[str, list[Movement]] = {}
    for move in worse:
        known = bool(move.documents) or move.no_result
        groups.setdefault(heading(move.fate, move.k) if known else UNLISTED, []).append(move)
    return [*groups.items(), *([(BETTER, better)] if better else [])]


def heading(cause: Cause, k: int) -> str:
    """A cause's label and what it means."""
    if cause is Cause.FINE:
        return LESS
    label, clause = CAUSE_WORDS[cause]
    return f"**{label.capitalize()}:** {clause.replace('first k', f'first {k}')}"


def moved_line(report: Report, most: int | None = None) -> str:
    """How many are listed, where these are not all."""
    if report.moved is None:
        return ""
    listed = [move.worse for _, moves in moved_questions(report, most) for move in moves]
    counts = ((True, "worse", report.moved.worse), (False, "better", report.moved.better))
    cut = [
        f"{listed.count(worse)} of the {total:,} that got {word}"
        for worse, word, total in counts
        if listed.count(worse) < total
    ]
    return f"Here are {' and '.join(cut)}, the worst of each kind first." if cut else ""


def move_item(move: Movement, report: Report) -> str:
    """A question with its metric before and now, where its relevant documents went, and what took their place."""
    unit = report.metrics[move.metric].unit
    question = f"{code(move.question)} ({code(move.query_id, 80)})" if move.question else code(move.query_id)
    values = f"{value_text(move.before, unit)} → {value_text(move.after, unit)}"
    lines = [f"- {question}: {named(move.metric, report)} {values}"]
    shown, folded = phrases.telling(move.documents, move.k, MAX_DOCUMENTS)
    lines += [f"  - expected {code(doc.id, 120)}: {phrases.rank_move(doc)}" for doc in shown]
    lines += [f"  - and {len(folded):,} more"] if folded else []
    if move.instead:
        lines.append(f"  - in the first {move.k} instead: {', '.join(code(item, 80) for item in move.instead)}")
    return "\n".join(lines)


def all_listed(report: Report) -> bool:
    """Whether the report lists every question that moved."""
    return report.moved is not None and len(report.misses) == report.moved.worse + report.moved.better
