"""Three questions that an answer would answer, for the relevancy that Ragas computes by their embeddings."""

from __future__ import annotations

from rankgate.judge.model import Inputs, Unjudged, UnjudgedKind
from rankgate.judge.tasks.base import Reply, Spec

QUESTIONS = 3


class ReverseReply(Reply):
    """The questions."""

    questions: list[str]


def read(reply: ReverseReply, _inputs: Inputs) -> tuple[str, ...] | Unjudged:
    """Exactly three, none of them empty."""
    questions = tuple(question.strip() for question in reply.questions)
    if not all(questions):
        return Unjudged(UnjudgedKind.SCHEMA)
    return questions if len(questions) == QUESTIONS else Unjudged(UnjudgedKind.NUMBERING, len(questions), QUESTIONS)


SPEC = Spec(ReverseReply, read)
