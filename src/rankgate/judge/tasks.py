"""The tasks of a judge: what each one's answer has, and what that means for the inputs; a row of `REPLIES` each.

Quotes are checked against the texts that they are said to be from.
"""

from collections.abc import Mapping
from typing import Literal

from rankgate.judge.model import Addressed, Inputs, Split, Task
from rankgate.judge.quotes import verified
from rankgate.judge.replies import Numbered, Reply, wrong_numbers
from rankgate.model.answers import Entailment, UnjudgedKind
from rankgate.model.verdicts import Support, Supports, Unjudged

MAX_CLAIMS = 200
MAX_CHARACTERS = 2_000  # of a claim
MAX_GRADE = 3


class SplitReply(Reply):
    """Whether an answer asserts anything, and its claims: one fact each, self-contained, in the answer's language."""

    asserts: bool
    claims: list[str]

    def verdicts(self, inputs: Inputs) -> Split | Unjudged:
        """The claims without doubles. An answer that asserts something has at least one; any other has none."""
        del inputs
        claims = tuple(dict.fromkeys(" ".join(claim.split()) for claim in self.claims))
        if not all(0 < len(claim) <= MAX_CHARACTERS for claim in claims) or len(claims) > MAX_CLAIMS:
            return Unjudged(UnjudgedKind.SCHEMA)
        return Split(self.asserts, claims) if self.asserts == bool(claims) else Unjudged(UnjudgedKind.CONTRADICTION)


class SupportReply(Numbered):
    """The verdict on one statement, and which passages it rests on."""

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
    """Which of several passages support each of several statements."""

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


class GradeReply(Numbered):
    """The grade of one passage, from 0 to 3: the scale of TREC that UMBRELA asks a model for."""

    grade: int


class RelevanceReply(Reply):
    """How relevant each passage is for a question."""

    entries: list[GradeReply]

    def verdicts(self, inputs: Inputs) -> tuple[int, ...] | Unjudged:
        """One grade a passage, in their order."""
        if wrong := wrong_numbers(self.entries, len(inputs.passages)):
            return wrong
        grades = tuple(each.grade for each in sorted(self.entries, key=lambda each: each.n))
        return grades if all(0 <= grade <= MAX_GRADE for grade in grades) else Unjudged(UnjudgedKind.SCHEMA)


class AddressReply(Reply):
    """How far an answer addresses its question, whatever is true, and whether it evades."""

    addresses: Literal["fully", "partly", "no"]
    noncommittal: bool

    def verdicts(self, inputs: Inputs) -> Addressed:
        """What it says."""
        del inputs
        return Addressed(self.addresses, self.noncommittal)


class RubricReply(Reply):
    """Whether an answer meets a criterion that the team wrote in words, and the words of the answer that show it."""

    meets: Literal["yes", "no"]
    quote: str

    def verdicts(self, inputs: Inputs) -> Supports:
        """One verdict on the criterion, which rests on the answer; `UNVERIFIED` is a yes whose quote is not there."""
        if self.meets == "no":
            return (Support(1, Entailment.ABSENT),)
        met = Entailment.SUPPORTED if verified(self.quote, [inputs.answer]) else Entailment.UNVERIFIED
        return (Support(1, met, (1,), self.quote),)


REPLIES: Mapping[Task, type[Reply]] = {
    Task.SPLIT: SplitReply,
    Task.ENTAIL: EntailReply,
    Task.RELEVANCE: RelevanceReply,
    Task.ADDRESS: AddressReply,
    Task.RUBRIC: RubricReply,
}
