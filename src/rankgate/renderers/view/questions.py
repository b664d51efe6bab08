"""The questions that got worse, in their one order; what became of their documents, in words, and which to show."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from rankgate.model.details import Cause, Expected, came, depth_of, left
from rankgate.model.report import Movement, Report
from rankgate.model.values import Unit
from rankgate.model.wording import first_text, in_first_text, value_text
from rankgate.renderers.escape import Text
from rankgate.renderers.links import page_of

MAX_DOCUMENTS = 3

UNSEEN = "the metric fell"  # and no document left the first k, as far as that is known

# A short label, and a clause that `cause_clause` fills in. In the order of how much each one hurts.
CAUSE_WORDS: dict[Cause, tuple[str, str]] = {
    Cause.NO_RESULT: ("no result", "the run lacks the question or returns an empty list"),
    Cause.GONE: ("gone", "a relevant document that the baseline had {in_first} is nowhere in the list now"),
    Cause.LOWER: ("lower", "a relevant document left {first} and still stands further down"),
    Cause.NEVER_FOUND: ("not all found", "a relevant document is {in_first} neither now nor in the baseline"),
    Cause.NEW: ("new", "the question is not in the baseline"),
    Cause.BETTER: ("better", "a relevant document is {in_first} now and was not before"),
    Cause.FINE: ("fine", "all relevant documents are {in_first}"),
    Cause.NOTHING_RELEVANT: ("nothing to find", "the gold set names no relevant document"),
}


class Document(msgspec.Struct, frozen=True):
    """A relevant document, and where it went: `rank 2 → gone`."""

    id: Text
    move: str


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A question that got worse: in a word how, its value before and now, its documents, and what came instead.

    `address` is its place on the page, where the page's address is known.
    """

    id: Text
    question: Text | None
    cause: str
    metric: str
    values: str
    first: str
    documents: tuple[Document, ...] = ()
    more: int = 0
    instead: tuple[Text, ...] = ()
    address: str | None = None


def questions_of(report: Report, most: int) -> tuple[Lost, ...]:
    """The worst of them in the order of the report."""
    worse = [move for move in report.changes.misses if move.worse]
    return tuple(_lost(move, report) for move in worse[:most])


def documents_to_show(documents: Sequence[Expected], k: int, most: int) -> tuple[list[Expected], list[Expected]]:
    """Of a question's relevant documents those to show, at most `most`, and the rest.

    Those that left the first k, the deepest fall first, and that entered; if none did, those that moved, else all.
    """
    order = sorted(documents, key=depth_of, reverse=True)
    gone = [each for each in order if left(each, k)]
    entered = [each for each in order if came(each, k)]
    moved = [each for each in order if each.before != each.after]
    shown = ([*gone, *entered] or moved or order)[:most]
    return shown, [each for each in order if each not in shown]


def rank_move(doc: Expected) -> str:
    """`rank 2 → 9`, `rank 2 → gone`, `not found → rank 3`."""
    if doc.before is None:
        return "not found before or now" if doc.after is None else f"not found → rank {doc.after}"
    if doc.before == doc.after:
        return f"stays at rank {doc.before}"
    return f"rank {doc.before} → {doc.after if doc.after is not None else 'gone'}"


def _lost(move: Movement, report: Report) -> Lost:
    unit = unit_of(move.metric, report)
    cause = move.fate
    shown, folded = documents_to_show(move.documents, move.k, MAX_DOCUMENTS)
    return Lost(
        id=Text(move.query_id, 80),
        question=text_of(move.question, move.query_id),
        cause=UNSEEN if cause is Cause.FINE else CAUSE_WORDS[cause][0],
        metric=move.metric,
        values=f"{value_text(move.before, unit)} → {value_text(move.after, unit)}",
        first=in_first_text(move.k),
        documents=tuple(Document(Text(each.id, 120), rank_move(each)) for each in shown),
        more=len(folded),
        instead=tuple(Text(each, 80) for each in move.instead),
        address=address_of(move.query_id, report),
    )


def text_of(question: str | None, query_id: str) -> Text | None:
    """The question's text, unless its id is that text, as in a table without ids."""
    return None if question in (None, "", query_id) else Text(question)


def address_of(query_id: str, report: Report) -> str | None:
    """Where the question stands on the page, where the page's address is known."""
    page = page_of(report)
    return f"{page}#q={quote(query_id, safe='')}" if page else None


def unit_of(metric: str, report: Report) -> Unit:
    """The metric's unit; of one that a report written by hand does not have, that of any number."""
    metrics = report.measured.metrics
    return metrics[metric].unit if metric in metrics else Unit.NUMBER


def cause_clause(cause: Cause, k: int | None, *, compared: bool) -> str:
    """What a cause means at a cut-off, nothing for each question's own; without a baseline, without a word of one."""
    uncompared = cause is Cause.NEVER_FOUND and not compared
    clause = "a relevant document is not {in_first}" if uncompared else CAUSE_WORDS[cause][1]
    return clause.format(first="rank 1" if k == 1 else first_text(k or None), in_first=in_first_text(k or None))


def whereabouts(document: Expected, *, compared: bool) -> str:
    """`rank 2 → 9`; without a baseline `rank 9` or `not found`."""
    if compared:
        return rank_move(document)
    return "not found" if document.after is None else f"rank {document.after}"
