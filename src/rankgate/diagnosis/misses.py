"""One question with all that is known of it; and those that miss something, worst first, with what they share.

A second opinion comes from the words alone: what BM25 finds for a question in the documents. BM25 as Lucene has it
(k1 = 1.5, b = 0.75) over case-folded words of any script, without stemming or stop words. It knows no synonyms, which
is the point: where it finds what the run does not, the words were there to be found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from rankgate import pip_install
from rankgate.errors import bad_input
from rankgate.metrics.tags import TagShare, common_tags
from rankgate.metrics.texts import words
from rankgate.model.answers import AnswerLoss, Unsupported
from rankgate.model.details import Cause, Expected, Listed, Question, ReportDetails, sampled
from rankgate.model.report import Report
from rankgate.model.values import Direction, Unit
from rankgate.readers.corpus import Document

LOST = (Cause.NO_RESULT, Cause.GONE, Cause.LOWER)  # causes by which the run lost what the baseline had, or all
MISSED = (*LOST, Cause.NEVER_FOUND)
MAX_INSTEAD = 3

Suggestion = Literal[
    "not_in_corpus", "run_misses", "run_lower", "neither", "run_alone", "both", "no_question", "nothing_relevant"
]
# By whether BM25 has it, and whether the run has it.
_SUGGESTED: dict[tuple[bool, bool], Suggestion] = {
    (True, False): "run_misses",
    (False, False): "neither",
    (False, True): "run_alone",
    (True, True): "both",
}
# Of what documents suggest, the most telling first.
SUGGESTION_ORDER: tuple[Suggestion, ...] = ("not_in_corpus", "run_misses", "run_lower", "neither", "run_alone", "both")


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """A gated metric of the question before and now; `change` where both are known."""

    metric: str
    meaning: str
    unit: Unit
    direction: Direction
    before: float | None
    now: float | None
    change: float | None


class QueryExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A question with both rankings, down to `depth`; its cause speaks of the first `k` ranks.

    `compared` says whether the check had a baseline. `scores` are the gated metrics, in the order of the gates.
    `lexical` is what BM25 finds; None where no corpus is named. `answer` is there where its answer got worse,
    `unsupported` where its answer makes claims that nothing supports.
    """

    question: Question
    k: int
    depth: int
    compared: bool
    scores: tuple[Score, ...]
    lexical: Lexical | None = None
    answer: AnswerLoss | None = None
    unsupported: Unsupported | None = None


def explain_query(
    report: Report, details: ReportDetails, question: Question, lexical: Lexical | None = None
) -> QueryExplained:
    """Gather what a report and its details know of one of its questions."""
    scores: list[Score] = []
    answers = report.changes.answers
    losses = answers.losses if answers else []
    unsupported = answers.unsupported if answers else []
    for name, metric in report.measured.metrics.items():
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
        answer=next((each for each in losses if each.query_id == question.query_id), None),
        unsupported=next((each for each in unsupported if each.query_id == question.query_id), None),
    )


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """A question with what was expected and what stands in the first k instead.

    `before` and `now` are of the table's metric; None where it is undefined or the baseline lacks the question.
    `instead` are up to three documents that came into the first k and are not right. `first_before` and `first_now` are
    the first results of either run, ten unless asked otherwise; None where it lacks the question. `lexical` is there
    where a corpus is named.
    """

    query_id: str
    question: str | None
    tags: tuple[str, ...]
    cause: Cause
    before: float | None
    now: float | None
    expected: tuple[Expected, ...]
    instead: tuple[str, ...]
    first_before: tuple[Listed, ...] | None
    first_now: tuple[Listed, ...] | None
    lexical: Lexical | None = None


class Misses(msgspec.Struct, frozen=True, kw_only=True):
    """The triage table: the misses `listed`, worst first, and how many `more` there are.

    They are ordered by the change of `metric`; None where no gate has one of ranked documents. Misses are of the first
    `k` ranks; None where questions have their own. `questions` is how many
    of the gold set were looked at, `causes` how many misses have which cause. `shared` is what most of them have in
    common, the most telling first; of those alone that the run lost where `of_lost` says so. `found_by_words` is for
    how many of the listed ones BM25's first results have a relevant document, where a corpus is named.
    """

    metric: str | None
    k: int | None
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
    depth: int = 10,
    lexical: Callable[[Question], Lexical | None] | None = None,
) -> Misses:
    """Choose, order and group the questions with a tag, or all; of one cause, also one that is no miss, or all misses.

    At most `limit` are listed, with `depth` results of each run. `lexical` gives BM25's results for a question.
    """
    ordered = [details.questions[row] for row in details.order]
    looked_at = [question for question in ordered if tag is None or tag in question.tags]
    wanted = MISSED if cause is None else (cause,)
    misses = [question for question in looked_at if question.cause in wanted]
    instead = {} if details.ks else {move.query_id: move.instead for move in report.changes.misses}
    listed: list[Miss] = []
    for each in sampled(misses, [each.cause for each in misses], limit):
        before, now = each.values.get(details.leading or "", (None, None))
        listed.append(
            Miss(
                query_id=each.query_id,
                question=each.question,
                tags=each.tags,
                cause=each.cause,
                before=before,
                now=now,
                expected=each.expected,
                instead=tuple(instead.get(each.query_id) or _came(each, details.first(each))),
                first_before=each.before if each.before is None else tuple(each.before[:depth]),
                first_now=each.now if each.now is None else tuple(each.now[:depth]),
                lexical=lexical(each) if lexical else None,
            )
        )
    by_words = [any(each.shown for each in miss.lexical.expected) for miss in listed if miss.lexical]
    counts = Counter(question.cause for question in misses)
    ks = {details.first(each) for each in details.questions} or {details.k}
    compared = report.provenance.baseline is not None
    lost = [question for question in misses if question.cause in LOST] if compared and cause is None else misses
    return Misses(
        metric=details.leading,
        k=ks.pop() if len(ks) == 1 else None,
        compared=compared,
        questions=len(looked_at),
        causes={each.value: counts[each] for each in Cause if counts[each]},
        of_lost=lost is not misses,
        shared=tuple(common_tags([each.tags for each in lost], [each.tags for each in looked_at])),
        listed=tuple(listed),
        more=len(misses) - len(listed),
        found_by_words=sum(by_words) if lexical else None,
    )


def _came(question: Question, k: int) -> list[str]:
    """What is new in the first k and not right; without a list of the baseline, what stands first and is not right."""
    known = {document.id for document in question.expected} | {item.id for item in (question.before or ())[:k]}
    new = (item.id for item in (question.now or ())[:k] if not (item.gain or 0) > 0)
    return [item for item in new if item not in known][:MAX_INSTEAD]


class LexicalHit(msgspec.Struct, frozen=True):
    """A document that BM25 found, with its score; a higher one is better, and never 0.

    `doc_id` is the document that a chunk is of, where the corpus says it.
    """

    id: str
    score: float
    doc_id: str | None = None


class LexicalExpected(msgspec.Struct, frozen=True, kw_only=True):
    """An expected document under BM25: its rank among all documents, None where it shares no word with the question.

    `shown` says that it is among the first ones that are listed. `suggests` is what this and the run's rank say
    together: `not_in_corpus`, no document has this id; `run_misses`, it is among BM25's first and not among the run's;
    `run_lower`, it is in BM25's first k and further down in the run; `neither` has it; `run_alone` and `both`.
    """

    id: str
    rank: int | None
    shown: bool
    suggests: Suggestion


class Lexical(msgspec.Struct, frozen=True, kw_only=True):
    """BM25's results for a question; `suggests` is the most telling of what its documents suggest."""

    first: tuple[LexicalHit, ...]
    expected: tuple[LexicalExpected, ...]
    suggests: Suggestion


class LexicalIndex:
    """Documents, indexed by their words; `name` is that of their file, for messages.

    Raises:
        RankgateError: the extra is not installed, or no document has a word.
    """

    def __init__(self, documents: Sequence[Document], name: str) -> None:
        try:
            import bm25s  # noqa: PLC0415 -- an extra
        except ImportError as error:
            raise bad_input(f"--bm25 needs the bm25 extra; run: {pip_install('bm25')}") from error
        texts = [words(document.text) for document in documents]
        self._known = {word for text in texts for word in text}
        if not self._known:
            raise bad_input("no document has a word to find it by", file=name)
        self._ids = [(document.id, document.doc_id) for document in documents]
        self._places: dict[str, list[int]] = {}
        for row, document in enumerate(documents):
            for key in {document.id, document.doc_id} - {None}:
                self._places.setdefault(str(key), []).append(row)
        self._index: Any = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
        self._index.index(texts, show_progress=False)

    def search(self, question: Question, k: int, depth: int) -> Lexical:
        """What BM25 finds in its first `depth` results, and what that and the run's first k ranks suggest."""
        scores = self._scores(question.question or "")
        order = sorted(scores, key=lambda row: (-scores[row], row))
        ranks = {row: rank for rank, row in enumerate(order, start=1)}
        expected = tuple(self._placed(document, ranks, k, depth) for document in question.expected)
        first = tuple(LexicalHit(self._ids[row][0], scores[row], self._ids[row][1]) for row in order[:depth])
        return Lexical(first=first, expected=expected, suggests=_best_suggestion(question, expected))

    def _scores(self, question: str) -> dict[int, float]:
        """The documents that share a word with the question, by their place."""
        known = [word for word in words(question) if word in self._known]
        scores = enumerate(self._index.get_scores(known).tolist() if known else ())
        return {row: score for row, score in scores if score > 0}

    def _placed(self, document: Expected, ranks: dict[int, int], k: int, depth: int) -> LexicalExpected:
        places = self._places.get(document.id)
        rank = min((ranks[row] for row in places or () if row in ranks), default=None)
        within = rank is not None and rank <= depth
        by_run = document.after is not None and document.after <= depth
        suggests: Suggestion = "not_in_corpus" if places is None else _SUGGESTED[within, by_run]
        if suggests == "both" and rank is not None and rank <= k < (document.after or 0):
            suggests = "run_lower"
        return LexicalExpected(id=document.id, rank=rank, shown=within, suggests=suggests)


def _best_suggestion(question: Question, expected: Sequence[LexicalExpected]) -> Suggestion:
    if not expected:
        return "nothing_relevant"
    suggestions = {each.suggests for each in expected}
    if question.question is None:
        return "not_in_corpus" if "not_in_corpus" in suggestions else "no_question"
    return next(each for each in SUGGESTION_ORDER if each in suggestions)
