"""An answer becomes claims: one fact each, self-contained, in the language of the answer."""

from __future__ import annotations

from rankgate.judge.model import Inputs, Split, Unjudged, UnjudgedKind
from rankgate.judge.tasks.base import Reply, Spec

MAX_CLAIMS, MAX_CHARACTERS = 200, 2_000


class SplitReply(Reply):
    """Whether the answer asserts anything, and what."""

    asserts: bool
    claims: list[str]


def read(reply: SplitReply, _inputs: Inputs) -> Split | Unjudged:
    """The claims without doubles. An answer that asserts something has at least one; any other has none."""
    claims = tuple(dict.fromkeys(" ".join(claim.split()) for claim in reply.claims))
    if not all(0 < len(claim) <= MAX_CHARACTERS for claim in claims) or len(claims) > MAX_CLAIMS:
        return Unjudged(UnjudgedKind.SCHEMA)
    if reply.asserts != bool(claims):
        return Unjudged(UnjudgedKind.CONTRADICTION)
    return Split(reply.asserts, claims)


SPEC = Spec(SplitReply, read)
