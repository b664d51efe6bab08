"""Which text of a question a run answers: each line may state it, by a digest."""

from __future__ import annotations

import hashlib

from rankgate.model.values import Gold, Ranking

TEXT_KEY = "question_sha256"  # of a line
DIGITS = 16  # of a digest, at least


def text_digest(text: str) -> str:
    """What a recorded line states of its question: the first digits of the SHA-256 of the text in UTF-8."""
    return _whole(text)[:DIGITS]


def answers_question(ranking: Ranking, gold: Gold) -> bool:
    """Whether a line is of the text that the gold set has of its question, if both have one.

    A line that states no text is taken by its id, unless the gold set wants to know its text.
    """
    sample = gold.samples.get(ranking.query_id)
    if sample is None or sample.question is None or ranking.traffic:
        return True
    if ranking.question_digest is None:
        return ranking.query_id not in gold.by_text
    return digest_matches(ranking.question_digest, sample.question)


def digest_matches(digest: str, text: str) -> bool:
    """Whether a line that states this digest is of the text."""
    return len(digest) >= DIGITS and _whole(text).startswith(digest)


def texts_changed(before: Gold, after: Gold) -> frozenset[str]:
    """The queries whose text, as it was before, is no longer there."""
    kept = after.samples
    return frozenset(
        query_id
        for query_id, sample in before.samples.items()
        if sample.question is not None and (query_id not in kept or kept[query_id].question != sample.question)
    )


def _whole(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
