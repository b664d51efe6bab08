"""The comment's questions that moved: what became of their documents, where these went and what came instead."""

from __future__ import annotations

from rankgate.exhibit import Cause
from rankgate.renderers import phrases
from rankgate.renderers.causes import CAUSE_WORDS
from rankgate.renderers.escape import code
from rankgate.renderers.rows import named
from rankgate.report import Movement, Report
from rankgate.wording import count_text, value_text

MOST_WORSE = 10
MOST_BETTER = 5
MOST_DOCUMENTS = 6
LESS = "**Less:** the right documents are there, the metric fell"
BETTER = "**Better**"


def moved_questions(report: Report, most: int | None = None) -> list[tuple[str, list[Movement]]]:
    """The questions to list, under headings that say what happened to them; of `most` the worse ones first.

    The worse ones go by what became of their right documents, the commonest first.
    """
    room = MOST_WORSE + MOST_BETTER if most is None else most
    worse = [move for move in report.misses if move.worse][: min(MOST_WORSE, room)]
    better = [move for move in report.misses if not move.worse][: min(MOST_BETTER, room - len(worse))]
    groups: dict[str, list[Movement]] = {}
    for move in worse:
        groups.setdefault(what_happened(move), []).append(move)
    found = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [*found, *([(BETTER, better)] if better else [])]


def what_happened(move: Movement) -> str:
    """What became of the right documents of a question that lost, as a heading."""
    k = move.k
    lost = [doc for doc in move.documents if doc.before is not None and doc.before <= k and not _first(doc.after, k)]
    if any(doc.after is None for doc in lost):
        return heading(Cause.GONE, k)
    return heading(Cause.LOWER, k) if lost else LESS


def heading(cause: Cause, k: int) -> str:
    """A cause's label and what it means."""
    label, clause = CAUSE_WORDS[cause]
    return f"**{label.capitalize()}:** {clause.replace('first k', f'first {k}')}"


def moved_head(report: Report) -> str:
    """How many questions moved, in one line: `17 worse, 3 better`."""
    moved = report.moved
    return "" if moved is None else f"{moved.worse:,} worse, {moved.better:,} better"


def moved_line(report: Report, most: int | None = None) -> str:
    """What most of the losers have in common, where that explains them, and how many are listed where `most` are."""
    if report.moved is None:
        return ""
    listed = [
        sum(move.worse is worse for _, moves in moved_questions(report, most) for move in moves)
        for worse in (True, False)
    ]
    cut = [
        f"the {word} {shown} of {total:,}"
        for word, shown, total in zip(("worst", "best"), listed, (report.moved.worse, report.moved.better), strict=True)
        if shown < total
    ]
    parts = [_in_common(report), f"Here are {' and '.join(cut)}." if cut else ""]
    return " ".join(filter(None, parts))


def _in_common(report: Report) -> str:
    """`14 of 17 that lost have the tag lang:pt-BR`, where the diagnosis found that no chance."""
    said = {"tag", "worse", "worse_in_all"}
    found = next((each for each in report.diagnosis if each.rule == "one_tag" and said <= each.evidence.keys()), None)
    if found is None:
        return ""
    having, losers = found.evidence["worse"], found.evidence["worse_in_all"]
    of_all = count_text(int(losers), "question")
    return f"{having:,} of {of_all} that lost have the tag {code(found.evidence['tag'], 80)}."


def move_item(move: Movement, report: Report) -> str:
    """A question with its metric before and now, where its relevant documents went, and what took their place."""
    unit = report.metrics[move.metric].unit
    question = f"{code(move.question)} ({code(move.query_id, 80)})" if move.question else code(move.query_id)
    values = f"{value_text(move.before, unit)} → {value_text(move.after, unit)}"
    lines = [f"- {question}: {named(move.metric, report)} {values}"]
    lines += [f"  - expected {code(doc.id, 120)}: {phrases.rank_move(doc)}" for doc in move.documents[:MOST_DOCUMENTS]]
    if len(move.documents) > MOST_DOCUMENTS:
        lines.append(f"  - and {len(move.documents) - MOST_DOCUMENTS} more")
    if move.instead:
        lines.append(f"  - in the first {move.k} instead: {', '.join(code(item, 80) for item in move.instead)}")
    return "\n".join(lines)


def _first(rank: int | None, k: int) -> bool:
    return rank is not None and rank <= k


def all_listed(report: Report) -> bool:
    """Whether the report lists every question that moved."""
    return report.moved is not None and len(report.misses) == report.moved.worse + report.moved.better
