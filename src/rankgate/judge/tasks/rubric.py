"""Whether an answer meets a criterion that the team wrote in words, with a quote that is checked against the answer."""

from typing import Literal

from rankgate.judge.model import Inputs
from rankgate.judge.quotes import verified
from rankgate.judge.tasks.base import Reply
from rankgate.model.answers import Entailment
from rankgate.model.verdicts import Support, Supports


class RubricReply(Reply):
    """Yes or no, and the words of the answer that show it."""

    meets: Literal["yes", "no"]
    quote: str

    def verdicts(self, inputs: Inputs) -> Supports:
        """One verdict on the criterion, which rests on the answer; `UNVERIFIED` is a yes whose quote is not there."""
        if self.meets == "no":
            return (Support(1, Entailment.ABSENT),)
        met = Entailment.SUPPORTED if verified(self.quote, [inputs.answer]) else Entailment.UNVERIFIED
        return (Support(1, met, (1,), self.quote),)
