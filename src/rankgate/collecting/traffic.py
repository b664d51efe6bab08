"""Traffic questions: which lists of two runs differ, where the differences lie, and which questions a limit takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from rankgate.collecting.pool import results_of
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import Matching
from rankgate.model.question_text import digest_matches
from rankgate.model.traffic_lists import TrafficLists, TrafficPair, TrafficQuestion
from rankgate.model.values import Ranking

# Families that see which documents are among the first k, and not in what order.
_OF_SETS = frozenset({"hit", "recall", "recall_all", "capped_recall", "weighted_recall", "precision", "f"})


def limited(questions: Sequence[TrafficQuestion], most: int | None) -> list[TrafficQuestion]:
    """So many of the questions, the first by the hash of their ids, in the order of the file; all without a limit."""
    if most is None or most >= len(questions):
        return list(questions)
    by_hash = sorted(questions, key=lambda each: sha256(each.query_id.encode("utf-8", "surrogatepass")).digest())
    taken = {each.query_id for each in by_hash[:most]}
    return [each for each in questions if each.query_id in taken]


def sees_order(metric: Metric) -> bool:
    """Whether another order of the same documents can change the metric."""
    inner = getattr(metric, "metric", metric)
    return inner.ranking and inner.key not in _OF_SETS


def compared_lists(
    questions: Sequence[TrafficQuestion],
    now: Iterable[Ranking],
    baseline: Iterable[Ranking],
    *,
    k: int,
    by_order: bool,
    how: Matching,
) -> TrafficLists:
    """What both runs return among the first k for each question that the accepted run has, by its text.

    The accepted run decides which questions count, so that a run cannot hide what it changed: where it has no line for
    one of them, or a line for another text, the list counts as empty. With `by_order` another order is a change, too.
    """
    new = _documents(questions, now, how)
    old = _documents(questions, baseline, how)
    pairs: list[TrafficPair] = []
    for question in questions:
        if question.query_id not in old:
            continue
        was = old[question.query_id][:k]
        documents = new.get(question.query_id, ())[:k]
        same = was == documents if by_order else set(was) == set(documents)
        absent = question.query_id not in new
        pairs.append(
            TrafficPair(question=question, before=was, now=documents, changed=absent or not same, absent=absent)
        )
    return TrafficLists(k=k, named=len(questions), pairs=tuple(pairs))


def _documents(
    questions: Sequence[TrafficQuestion], rankings: Iterable[Ranking], how: Matching
) -> dict[str, tuple[str, ...]]:
    """By question the documents of its list, each once, of the lines that answer its text."""
    texts = {each.query_id: each.question for each in questions}
    documents: dict[str, tuple[str, ...]] = {}
    for ranking in rankings:
        text = texts.get(ranking.query_id)
        if text is None or not ranking.traffic:
            continue
        if ranking.question_digest is None or digest_matches(ranking.question_digest, text):
            results = (document for document, _ in results_of(ranking, how))
            documents[ranking.query_id] = tuple(dict.fromkeys(results))
    return documents
