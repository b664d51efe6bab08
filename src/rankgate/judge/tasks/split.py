"""An answer becomes claims: one fact each, self-contained, in the language of the answer."""

from rankgate.judge.model import Inputs, Split
from rankgate.judge.tasks.base import Reply
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged

MAX_CLAIMS = 200
MAX_CHARACTERS = 2_000


class SplitReply(Reply):
    """Whether the answer asserts anything, and what."""

    asserts: bool
    claims: list[str]

    def verdicts(self, inputs: Inputs) -> Split | Unjudged:
        """The claims without doubles. An answer that asserts something has at least one; any other has none."""
        del inputs
        claims = tuple(dict.fromkeys(" ".join(claim.split()) for claim in self.claims))
        if not all(0 < len(claim) <= MAX_CHARACTERS for claim in claims) or len(claims) > MAX_CLAIMS:
            return Unjudged(UnjudgedKind.SCHEMA)
        return Split(self.asserts, claims) if self.asserts == bool(claims) else Unjudged(UnjudgedKind.CONTRADICTION)
