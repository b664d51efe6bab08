"""Three questions that an answer would answer, for the relevancy that Ragas computes by their embeddings."""

from rankgate.judge.model import Inputs
from rankgate.judge.tasks.base import Reply
from rankgate.model.answers import Unjudged, UnjudgedKind

QUESTIONS = 3


class ReverseReply(Reply):
    """The questions."""

    questions: list[str]

    def verdicts(self, inputs: Inputs) -> tuple[str, ...] | Unjudged:
        """Exactly three, none of them empty."""
        del inputs
        questions = tuple(filter(None, map(str.strip, self.questions)))
        return questions if len(questions) == QUESTIONS else Unjudged(UnjudgedKind.NUMBERING, len(questions), QUESTIONS)
