"""Questions for a gold set, which passages answer together, or which they leave open."""

from rankgate.judge.model import Inputs
from rankgate.judge.tasks.base import Reply
from rankgate.model.answers import Unjudged, UnjudgedKind

MAX_QUESTIONS, MAX_CHARACTERS = 3, 300


class DraftReply(Reply):
    """The questions, the best one first; none about passages that say nothing."""

    questions: list[str]

    def verdicts(self, inputs: Inputs) -> tuple[str, ...] | Unjudged:
        """At most three, each on one line and of some words."""
        del inputs
        questions = tuple(" ".join(question.split()) for question in self.questions)
        short = all(len(each) <= MAX_CHARACTERS and any(map(str.isalpha, each)) for each in questions)
        return questions if short and len(questions) <= MAX_QUESTIONS else Unjudged(UnjudgedKind.SCHEMA)
