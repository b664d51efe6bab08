"""How relevant each passage is for a question, from 0 to 3: the scale of TREC that UMBRELA asks a model for."""

from rankgate.judge.model import Inputs
from rankgate.judge.tasks.base import Numbered, Reply, wrong_numbers
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged

MAX_GRADE = 3


class GradeReply(Numbered):
    """The grade of one passage."""

    grade: int


class RelevanceReply(Reply):
    """The grades of all of them."""

    entries: list[GradeReply]

    def verdicts(self, inputs: Inputs) -> tuple[int, ...] | Unjudged:
        """One grade a passage, in their order."""
        if wrong := wrong_numbers(self.entries, len(inputs.passages)):
            return wrong
        grades = tuple(each.grade for each in sorted(self.entries, key=lambda each: each.n))
        return grades if all(0 <= grade <= MAX_GRADE for grade in grades) else Unjudged(UnjudgedKind.SCHEMA)
