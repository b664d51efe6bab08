"""Whether an answer addresses its question, whatever is true."""

from __future__ import annotations

from typing import Literal

from rankgate.judge.model import Addressed, Inputs
from rankgate.judge.tasks.base import Reply, Spec


class AddressReply(Reply):
    """How far it does, and whether it evades."""

    addresses: Literal["fully", "partly", "no"]
    noncommittal: bool


def read(reply: AddressReply, _inputs: Inputs) -> Addressed:
    """What it says."""
    return Addressed(reply.addresses, reply.noncommittal)


SPEC = Spec(AddressReply, read)
