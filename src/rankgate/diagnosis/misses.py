"""The questions that miss something, worst first, with what they share: where to begin. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from rankgate.diagnosis.lexical import Lexical
from rankgate.model.details import Cause, Expected, Question, ReportDetails, sampled, worst_first
from rankgate.model.report import Report
from rankgate.model.tags import TagShare, failing, standing_out

LOST = (Cause.NO_RESULT, Cause.GONE, Cause.LOWER)  # causes by which the run lost what the baseline had, or all
MISSED = (*LOST, Cause.NEVER_FOUND)
MAX_INSTEAD = 3


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the table."""


class Miss(_Part, frozen=True, kw_only=True):
    """A question with what was expected and what stands in the first k instead.

    `before` and `now` are of the table's metric; None where it is undefined or the baseline lacks the question.
    `instead` are up to three documents that came into the first k and are not right. `lexical` is there where a corpus
    is named.
    """

    query_id: str
    question: str | None
    tags: tuple[str, ...]
    cause: Cause
    before: float | None
    now: float | None
    expected: tuple[Expected, ...]
    instead: tuple[str, ...]
    lexical: Lexical | None = None


class Misses(_Part, frozen=True, kw_only=True):
    """The triage table.

    Attributes:
        metric: by whose change the questions are ordered; None where no gate has a metric of ranked documents.
        k: the first ranks, which causes speak of.
        compared: whether there is a baseline.
        questions: how many the gold set has, of those that `tag` asks for.
        causes: how many of the misses have which cause, before `limit`.
        of_lost: whether `shared` is about those that the run lost, and not about all misses.
        shared: what most of them have in common, the most telling first.
        listed: the misses, worst first.
        more: how many are not listed.
        found_by_words: of the listed ones, for how many BM25's first results have a relevant document; else None.
    """

    metric: str | None
    k: int
    compared: bool
    questions: int
    causes: Mapping[str, int]
    of_lost: bool
    shared: tuple[TagShare, ...]
    listed: tuple[Miss, ...]
    more: int
    found_by_words: int | None = None


def explain_misses(
    report: Report,
    details: ReportDetails,
    *,
    tag: str | None = None,
    cause: Cause | None = None,
    limit: int,
    lexical: Callable[[Question], Lexical | None] | None = None,
) -> Misses:
    """Choose, order and group the questions.

    Args:
        report: of the check, with what displaced what.
        details: its questions.
        tag: only questions that have it.
        cause: only questions of that cause, also one that is no miss; None for all misses.
        limit: how many are listed.
        lexical: BM25's results for a question; None for none.
    """
    order = worst_first(details, failing(report.gates))
    asked = [question for question in order if tag is None or tag in question.tags]
    wanted = MISSED if cause is None else (cause,)
    found = [question for question in asked if question.cause in wanted]
    instead = {move.query_id: move.instead for move in report.misses}
    listed = [
        _miss(each, details, instead.get(each.query_id), lexical)
        for each in sampled(found, lambda each: each.cause, limit)
    ]
    counts = Counter(question.cause for question in found)
    compared = report.provenance.baseline is not None
    lost = [question for question in found if question.cause in LOST] if compared and cause is None else found
    return Misses(
        metric=details.leading,
        k=details.k,
        compared=compared,
        questions=len(asked),
        causes={each.value: counts[each] for each in Cause if counts[each]},
        of_lost=lost is not found,
        shared=tuple(standing_out([each.tags for each in lost], [each.tags for each in asked])),
        listed=tuple(listed),
        more=len(found) - len(listed),
        found_by_words=sum(_by_words(miss) for miss in listed) if lexical else None,
    )


def _miss(
    question: Question,
    details: ReportDetails,
    instead: Sequence[str] | None,
    lexical: Callable[[Question], Lexical | None] | None,
) -> Miss:
    values = question.values.get(details.leading, (None, None)) if details.leading else (None, None)
    return Miss(
        query_id=question.query_id,
        question=question.question,
        tags=question.tags,
        cause=question.cause,
        before=values[0],
        now=values[1],
        expected=question.expected,
        instead=tuple(instead or _came(question, details.k)),
        lexical=lexical(question) if lexical else None,
    )


def _came(question: Question, k: int) -> Iterable[str]:
    """What is new in the first k and not right; without a list of the baseline, what stands first and is not right."""
    if not question.now:
        return []
    right = {document.id for document in question.expected}
    old = {item.id for item in (question.before or ())[:k]}
    new = (item for item in question.now[:k] if not (item.gain or 0) > 0)
    return [item.id for item in new if item.id not in old and item.id not in right][:MAX_INSTEAD]


def _by_words(miss: Miss) -> bool:
    return miss.lexical is not None and any(each.rank is not None and each.shown for each in miss.lexical.expected)
