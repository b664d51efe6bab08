"""The story of one question: what was expected, where it was and is, and what the gates made of it. Pure."""

from __future__ import annotations

import msgspec

from rankgate.diagnosis.lexical import Lexical
from rankgate.model.details import Question, ReportDetails
from rankgate.model.report import Report
from rankgate.model.values import Direction, Unit


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the story."""


class Score(_Part, frozen=True, kw_only=True):
    """A gated metric of the question before and now; `change` where both are known."""

    metric: str
    meaning: str
    unit: Unit
    direction: Direction
    before: float | None
    now: float | None
    change: float | None


class QueryExplained(_Part, frozen=True, kw_only=True):
    """A question with both rankings.

    Attributes:
        question: as the details have it, its rankings down to `depth`.
        k: the first ranks, which its cause speaks of.
        depth: how many items are shown.
        compared: whether the check had a baseline.
        scores: the gated metrics, in the order of the gates.
        lexical: what BM25 finds; None where no corpus is named.
    """

    question: Question
    k: int
    depth: int
    compared: bool
    scores: tuple[Score, ...]
    lexical: Lexical | None = None


def explain_query(
    report: Report, details: ReportDetails, question: Question, lexical: Lexical | None = None
) -> QueryExplained:
    """Gather what is known of a question.

    Args:
        report: whose gates say which metrics are shown.
        details: that the question is of.
        question: the one.
        lexical: BM25's results for it.
    """
    scores: list[Score] = []
    for name, metric in report.metrics.items():
        before, now = question.values.get(name, (None, None))
        scores.append(
            Score(
                metric=name,
                meaning=metric.meaning,
                unit=metric.unit,
                direction=metric.direction,
                before=before,
                now=now,
                change=None if before is None or now is None else now - before,
            )
        )
    return QueryExplained(
        question=question,
        k=details.k,
        depth=details.depth,
        compared=report.provenance.baseline is not None,
        scores=tuple(scores),
        lexical=lexical,
    )
