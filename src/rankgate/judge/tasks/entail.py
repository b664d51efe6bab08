"""Which of several passages support each of several statements, with a quote that is checked against them."""

from typing import Literal

from rankgate.judge.model import Inputs
from rankgate.judge.quotes import verified
from rankgate.judge.tasks.base import Numbered, Reply, wrong_numbers
from rankgate.model.answers import Entailment, UnjudgedKind
from rankgate.model.verdicts import Support, Supports, Unjudged


class SupportReply(Numbered):
    """The verdict on one statement."""

    verdict: Literal["supported", "contradicted", "absent"]
    passages: list[int]
    quote: str

    def checked(self, inputs: Inputs) -> Support:
        """What is absent rests on nothing; what is supported by a quote that is not there is `UNVERIFIED`."""
        verdict = Entailment(self.verdict)
        named = tuple(sorted(set(self.passages)))
        if verdict is Entailment.ABSENT:
            return Support(self.n, verdict)
        if verdict is Entailment.SUPPORTED and not verified(self.quote, [inputs.passages[n - 1] for n in named]):
            verdict = Entailment.UNVERIFIED
        return Support(self.n, verdict, named, self.quote)


class EntailReply(Reply):
    """The verdicts on all of them."""

    entries: list[SupportReply]

    def verdicts(self, inputs: Inputs) -> Supports | Unjudged:
        """One verdict a statement, in their order."""
        last = len(inputs.passages)
        unknown = [n for each in self.entries for n in each.passages if not 1 <= n <= last]
        if wrong := wrong_numbers(self.entries, len(inputs.statements)):
            return wrong
        if unknown:
            return Unjudged(UnjudgedKind.UNKNOWN_PASSAGE, max(-1, min(unknown[0], 10**6)), last)
        return tuple(each.checked(inputs) for each in sorted(self.entries, key=lambda each: each.n))
