"""The answers that got worse, in their one order, and what became of their claims."""

from __future__ import annotations

import msgspec

from rankgate.model.answers import AnswerLoss
from rankgate.model.details import sampled
from rankgate.model.judge_words import STAGE_WORDS
from rankgate.model.report import Report
from rankgate.model.wording import value_text
from rankgate.renderers.answer_rows import LONGEST_TEXT, fate
from rankgate.renderers.escape import Pieces, Sentence, Text
from rankgate.renderers.view.questions import address_of, text_of, unit_of


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


def answers_of(report: Report, most: int) -> tuple[LostAnswer, ...]:
    """The worst of them, those of every stage among them, and of one stage side by side."""
    answers = report.changes.answers
    if answers is None:
        return ()
    losses = sampled(answers.losses, [loss.stage for loss in answers.losses], most)
    stages = list(STAGE_WORDS)
    return tuple(_answer(loss, report) for loss in sorted(losses, key=lambda loss: stages.index(loss.stage)))


def _answer(loss: AnswerLoss, report: Report) -> LostAnswer:
    pieces = Pieces(LONGEST_TEXT)
    unit = unit_of(loss.metric, report)
    label, meaning = STAGE_WORDS[loss.stage]
    claims: list[Sentence] = []
    for claim in loss.claims:
        clause = fate(claim, pieces.spell)
        if claim.text:  # a public report has no texts
            clause = f"{pieces.spell(claim.text)}: {clause}"
        claims.append(pieces.sentence(clause))
    return LostAnswer(
        id=Text(loss.query_id, 80),
        question=text_of(loss.question, loss.query_id),
        stage=label,
        clause=meaning,
        values=f"{loss.metric} {value_text(loss.before, unit)} → {value_text(loss.after, unit)}",
        claims=tuple(claims),
        more=loss.more,
        address=address_of(loss.query_id, report),
    )
