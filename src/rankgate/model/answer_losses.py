"""What became of answers between two runs under one judge: claims that lost their support, and where to look."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from rankgate.model.answers import Entailment, UnjudgedKind, VerdictKind


class Stage(Enum):
    """Where an answer got worse, the first that holds.

    `RETRIEVAL`: the context supports fewer of the gold's claims than before. `REFUSAL`: the answer asserted something,
    and now nothing. `GENERATOR`: the context supports as many of the gold's claims, and the answer itself got worse.
    """

    RETRIEVAL = "retrieval"
    REFUSAL = "refusal"
    GENERATOR = "generator"


class Place(Enum):
    """Where a passage that supported a claim is now; `BEYOND`: in the list, and not in the context."""

    GONE = "gone"
    BEYOND = "beyond"
    REWRITTEN = "rewritten"  # in the context, with another text
    IN_CONTEXT = "in_context"


class LostClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim without support now; `before` is None where the baseline's answer does not make it.

    `asked` names the claims and what has to support them, as `AnswerVerdicts` does: those of the answer by the context,
    or those of the gold by the answer or by the context. `passage` supported it in the baseline's context, and of
    several it is the one that is least gone. Of a gold claim that the answer leaves out it supports the claim now, if
    the context still does (`IN_CONTEXT`). The ranks are those of the lists, None where a list lacks it. Nothing is
    known of a passage where `place` is None.
    """

    text: str
    asked: VerdictKind
    before: Entailment | None
    now: Entailment
    passage: str | None = None
    rank_before: int | None = None
    rank_now: int | None = None
    place: Place | None = None


class AnswerLoss(msgspec.Struct, frozen=True):
    """A question that got worse by a judged metric; `more` claims are not listed. No `stage` where verdicts lack."""

    query_id: str
    question: str | None
    metric: str
    before: float
    after: float
    stage: Stage | None
    claims: tuple[LostClaim, ...] = ()
    more: int = 0


class UnsupportedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of an answer that its context does not support.

    `passages` are the ids of those that the judge rests on, or where it names none, of all that it looked at; `quote`
    is what it quotes.
    """

    text: str
    verdict: Entailment
    passages: tuple[str, ...]
    quote: str = ""


class Unsupported(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with claims that its context does not support, of `among` claims that it makes."""

    query_id: str
    question: str | None
    claims: tuple[UnsupportedClaim, ...]
    among: int


class Silent(msgspec.Struct, frozen=True, kw_only=True):
    """How many of `among` questions have an answer that asserts nothing, which `metrics` leave out.

    With a baseline over the questions whose answers are judged in both runs; `before` is None without one.
    """

    before: int | None
    now: int
    among: int
    metrics: tuple[str, ...]


class NoVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """How many of `among` answers the judge failed at, why, and the value with all of them at the metric's worst."""

    count: int
    among: int
    kinds: Mapping[UnjudgedKind, int]
    at_worst: float


class AnswerChanges(msgspec.Struct, frozen=True):
    """What reports show of judged answers: the questions that got `worse`, and answers that are not faithful now.

    report.json lists the first of the `losses` and of what is `unsupported`, the largest share first.
    """

    silent: Silent | None
    worse: int
    losses: list[AnswerLoss]
    unsupported: list[Unsupported] = []
