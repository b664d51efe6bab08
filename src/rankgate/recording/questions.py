"""What is asked: the questions of the gold set, in its order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import msgspec

from rankgate.errors import Problem, bad_input, shown
from rankgate.model import Gold
from rankgate.readers.base import ProblemLog


class Question(msgspec.Struct, frozen=True):
    """What is asked, and for which query."""

    query_id: str
    text: str


def questions_of(gold: Gold) -> list[Question]:
    """The question of every sample, unanswerable ones included, as the gold has them.

    Raises:
        RankgateError: samples without a question, or with a blank one, each named.
    """
    texts = {query_id: sample.question or "" for query_id, sample in gold.samples.items()}
    if not any(text.strip() for text in texts.values()):
        hint = "; qrels hold judgments only" if gold.format == "qrels" else ""
        raise bad_input(f"no sample has a question (input.question), so there is nothing to ask{hint}", file=gold.name)
    log = ProblemLog()
    for query_id, text in texts.items():
        if not text.strip():
            line = gold.samples[query_id].line
            log.add(Problem(f"sample {shown(query_id)} has no question; add input.question", gold.name, line))
    log.raise_if_any()
    return [Question(query_id, text) for query_id, text in texts.items()]


def digest(questions: Sequence[Question]) -> str:
    """A digest of ids and texts; the judgments have their own (`Gold.fingerprint`)."""
    asked = [(question.query_id, question.text) for question in questions]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
