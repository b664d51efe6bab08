"""The questions that got worse, in their one order, and what became of their documents."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from rankgate.model.details import Cause
from rankgate.model.report import Movement, Report
from rankgate.model.values import Unit
from rankgate.model.wording import in_first_text, value_text
from rankgate.renderers.document_words import CAUSE_WORDS, documents_to_show, rank_move
from rankgate.renderers.escape import Text
from rankgate.renderers.links import page_of

MAX_DOCUMENTS = 3
UNSEEN = "the metric fell"  # and no document left the first k, as far as that is known


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


def text_of(question: str | None, query_id: str) -> Text | None:
    """The question's text, unless its id is that text, as in a table without ids."""
    return None if question in (None, "", query_id) else Text(question)


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


def address_of(query_id: str, report: Report) -> str | None:
    """Where the question stands on the page, where the page's address is known."""
    page = page_of(report)
    return f"{page}#q={quote(query_id, safe='')}" if page else None


def unit_of(metric: str, report: Report) -> Unit:
    """The metric's unit; of one that a report written by hand does not have, that of any number."""
    metrics = report.measured.metrics
    return metrics[metric].unit if metric in metrics else Unit.NUMBER
