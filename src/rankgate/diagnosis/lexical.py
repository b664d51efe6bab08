"""A second opinion from the words alone: what BM25 finds for a question in the documents, beside what the run found.

BM25 as Lucene has it (k1 = 1.5, b = 0.75) over case-folded words of any script, without stemming or stop words. It
knows no synonyms, which is the point: where it finds what the run does not, the words were there to be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from rankgate import pip_install
from rankgate.errors import bad_input
from rankgate.metrics.texts import words
from rankgate.model.details import Expected, Question
from rankgate.readers.corpus import Document

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
TELLING: tuple[Suggestion, ...] = ("not_in_corpus", "run_misses", "run_lower", "neither", "run_alone", "both")


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
    return next(each for each in TELLING if each in suggestions)
