"""The questions and the answers that got worse, in their one order, and what became of their documents and claims."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from rankgate.model.answer_losses import AnswerLoss
from rankgate.model.details import Cause, sampled
from rankgate.model.judge_words import STAGE_WORDS
from rankgate.model.report import Movement, Report
from rankgate.model.values import Unit
from rankgate.model.wording import value_text
from rankgate.renderers.answer_rows import LONGEST_TEXT, fate
from rankgate.renderers.escape import Pieces, Sentence, Text
from rankgate.renderers.links import page_of
from rankgate.renderers.phrases import CAUSE_WORDS, rank_move, telling

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
    k: int
    documents: tuple[Document, ...] = ()
    more: int = 0
    instead: tuple[Text, ...] = ()
    address: str | None = None


class LostAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that got worse: where to look, its value before and now, and what became of its claims."""

    id: Text
    question: Text | None
    stage: str
    clause: str
    values: str
    claims: tuple[Sentence, ...] = ()
    more: int = 0
    address: str | None = None


def questions_of(report: Report, most: int) -> tuple[Lost, ...]:
    """The worst of them in the order of the report."""
    worse = [move for move in report.misses if move.worse]
    return tuple(_lost(move, report) for move in worse[:most])


def _text(question: str | None, query_id: str) -> Text | None:
    """The question's text, unless its id is that text, as in a table without ids."""
    return None if question in (None, "", query_id) else Text(question)


def _lost(move: Movement, report: Report) -> Lost:
    unit, cause = unit_of(move.metric, report), move.fate
    shown, folded = telling(move.documents, move.k, MAX_DOCUMENTS)
    return Lost(
        id=Text(move.query_id, 80),
        question=_text(move.question, move.query_id),
        cause=UNSEEN if cause is Cause.FINE else CAUSE_WORDS[cause][0],
        metric=move.metric,
        values=f"{value_text(move.before, unit)} → {value_text(move.after, unit)}",
        k=move.k,
        documents=tuple(Document(Text(each.id, 120), rank_move(each)) for each in shown),
        more=len(folded),
        instead=tuple(Text(each, 80) for each in move.instead),
        address=_place(move.query_id, report),
    )


def answers_of(report: Report, most: int) -> tuple[LostAnswer, ...]:
    """The worst of them, those of every stage among them, and of one stage side by side."""
    if report.answers is None:
        return ()
    losses = sampled(report.answers.losses, [loss.stage for loss in report.answers.losses], most)
    stages = list(STAGE_WORDS)
    return tuple(_answer(loss, report) for loss in sorted(losses, key=lambda loss: stages.index(loss.stage)))


def _answer(loss: AnswerLoss, report: Report) -> LostAnswer:
    pieces, unit = Pieces(LONGEST_TEXT), unit_of(loss.metric, report)
    label, meaning = STAGE_WORDS[loss.stage]
    fates = ((each.text, fate(each, pieces.spell)) for each in loss.claims)  # without texts the fate alone
    claims = (f"{pieces.spell(text)}: {clause}" if text else clause for text, clause in fates)
    return LostAnswer(
        id=Text(loss.query_id, 80),
        question=_text(loss.question, loss.query_id),
        stage=label,
        clause=meaning,
        values=f"{loss.metric} {value_text(loss.before, unit)} → {value_text(loss.after, unit)}",
        claims=tuple(map(pieces.sentence, claims)),
        more=loss.more,
        address=_place(loss.query_id, report),
    )


def _place(query_id: str, report: Report) -> str | None:
    page = page_of(report)
    return f"{page}#q={quote(query_id, safe='')}" if page else None


def unit_of(metric: str, report: Report) -> Unit:
    """The metric's unit; of one that a report written by hand does not have, that of any number."""
    return report.metrics[metric].unit if metric in report.metrics else Unit.NUMBER
