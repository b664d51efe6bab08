"""Which of several passages support each of several statements, with a quote that is checked against them."""

from __future__ import annotations

from typing import Literal

from rankgate.judge.model import Entailment, Inputs, Support, Unjudged, UnjudgedKind
from rankgate.judge.quotes import verified
from rankgate.judge.tasks.base import Reply, Spec, wrong_numbers


class SupportReply(Reply):
    """The verdict on one statement."""

    n: int
    verdict: Literal["supported", "contradicted", "absent"]
    passages: list[int]
    quote: str


class EntailReply(Reply):
    """The verdicts on all of them."""

    verdicts: list[SupportReply]


def read(reply: EntailReply, inputs: Inputs) -> tuple[Support, ...] | Unjudged:
    """One verdict a statement, in their order; what is absent rests on nothing, whatever the answer names.

    A supported one whose quote does not stand in the passages that it names is `UNVERIFIED`.
    """
    if wrong := wrong_numbers([each.n for each in reply.verdicts], len(inputs.statements)):
        return wrong
    last = len(inputs.passages)
    unknown = next((n for each in reply.verdicts for n in each.passages if not 1 <= n <= last), None)
    if unknown is not None:
        return Unjudged(UnjudgedKind.UNKNOWN_PASSAGE, max(-1, min(unknown, 10**6)), last)
    return tuple(_checked(each, inputs) for each in sorted(reply.verdicts, key=lambda each: each.n))


def _checked(reply: SupportReply, inputs: Inputs) -> Support:
    verdict, named = Entailment(reply.verdict), tuple(sorted(set(reply.passages)))
    if verdict is Entailment.ABSENT:
        return Support(reply.n, verdict)
    if verdict is Entailment.SUPPORTED and not verified(reply.quote, [inputs.passages[n - 1] for n in named]):
        verdict = Entailment.UNVERIFIED
    return Support(reply.n, verdict, named, reply.quote)


SPEC = Spec(EntailReply, read)
