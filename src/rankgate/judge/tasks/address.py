"""Whether an answer addresses its question, whatever is true."""

from typing import Literal

from rankgate.judge.model import Addressed, Inputs
from rankgate.judge.tasks.base import Reply


class AddressReply(Reply):
    """How far it does, and whether it evades."""

    addresses: Literal["fully", "partly", "no"]
    noncommittal: bool

    def verdicts(self, inputs: Inputs) -> Addressed:
        """What it says."""
        del inputs
        return Addressed(self.addresses, self.noncommittal)
