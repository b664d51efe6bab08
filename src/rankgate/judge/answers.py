"""An answer with what the gold says of it, and all verdicts on it: the values that metrics read."""

from __future__ import annotations

from enum import Enum

import msgspec

from rankgate.judge.model import Addressed, Supports, Unjudged


class Passage(msgspec.Struct, frozen=True):
    """A text that the generator was shown, under the id by which the run and citations name it."""

    id: str
    text: str


class GoldClaim(msgspec.Struct, frozen=True):
    """What a right answer must say; one that is not vital may be missing."""

    text: str
    vital: bool = True


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says of a query, and what the gold says of it.

    `answer` is None where the line has none. `context` is what the prompt held, in its order; `citations` are ids.
    `abstained` is what the line states. `reference` and `claims` are the gold's.
    """

    query_id: str
    question: str
    answer: str | None = None
    context: tuple[Passage, ...] = ()
    citations: tuple[str, ...] = ()
    abstained: bool = False
    reference: str | None = None
    claims: tuple[GoldClaim, ...] = ()
    no_answer: bool = False


class AnswerState(Enum):
    """Whether an answer asserts something, abstains, or is not there: empty, and not said to be an abstention."""

    ASSERTS = "asserts"
    ABSTAINED = "abstained"
    MISSING = "missing"


class AnswerVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """All that metrics read of one answer: None where it was not wanted or has no meaning, `Unjudged` where missing.

    `support` are the claims against the context; `correctness` the claims against the reference, or against the gold
    claims without one; `gold_in_answer` and `gold_in_context` the gold claims, which are those of the gold or else of
    its reference. Each has one verdict a claim, in order; passages are numbers, from 1, of the context, of the
    reference or the gold claims, of the answer (always 1), and of the context. `relevance` has a grade a passage of the
    context. `served` are the models, with fingerprints, that gave these verdicts.
    """

    query_id: str
    context: tuple[str, ...]
    citations: tuple[str, ...]
    no_answer: bool
    state: AnswerState | Unjudged | None = None
    claims: tuple[str, ...] | Unjudged | None = None
    support: Supports | Unjudged | None = None
    correctness: Supports | Unjudged | None = None
    gold_claims: tuple[GoldClaim, ...] | Unjudged | None = None
    gold_in_answer: Supports | Unjudged | None = None
    gold_in_context: Supports | Unjudged | None = None
    relevance: tuple[int, ...] | Unjudged | None = None
    address: Addressed | Unjudged | None = None
    question_similarity: tuple[float, ...] | Unjudged | None = None
    answer_similarity: float | Unjudged | None = None
    served: tuple[tuple[str, str | None], ...] = ()
