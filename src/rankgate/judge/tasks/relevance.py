"""How relevant each passage is for a question, from 0 to 3: the scale of TREC that UMBRELA asks a model for."""

from __future__ import annotations

from rankgate.judge.model import Inputs, Unjudged, UnjudgedKind
from rankgate.judge.tasks.base import Reply, Spec, wrong_numbers

MAX_GRADE = 3


class GradeReply(Reply):
    """The grade of one passage."""

    n: int
    grade: int


class RelevanceReply(Reply):
    """The grades of all of them."""

    grades: list[GradeReply]


def read(reply: RelevanceReply, inputs: Inputs) -> tuple[int, ...] | Unjudged:
    """One grade a passage, in their order."""
    if wrong := wrong_numbers([each.n for each in reply.grades], len(inputs.passages)):
        return wrong
    if not all(0 <= each.grade <= MAX_GRADE for each in reply.grades):
        return Unjudged(UnjudgedKind.SCHEMA)
    return tuple(each.grade for each in sorted(reply.grades, key=lambda each: each.n))


SPEC = Spec(RelevanceReply, read)
