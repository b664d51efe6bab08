"""From an answer to its verdicts: one walk says what is known, what is to be asked now, and what only after that.

Reading, planning and asking take the same walk, so that what is judged is what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from rankgate.judge.model import (
    NO_VERDICT,
    Addressed,
    Answer,
    AnswerState,
    AnswerVerdicts,
    Entailment,
    GoldClaim,
    Inputs,
    Judge,
    Known,
    Slot,
    Split,
    Support,
    Task,
    Unjudged,
    UnjudgedKind,
    rough_tokens,
)

BATCH, MAX_TOGETHER = 20, 40  # statements in a request: all up to 40, or else 20 each
_TOKENS_A_CLAIM, _TOKENS_BESIDE = 15, 900  # of an answer; of a request beside its passages and claims


class Want(Enum):
    """What metrics need of an answer, by the field of `AnswerVerdicts` that has it."""

    STATE = "state"
    SUPPORT = "support"
    CORRECTNESS = "correctness"
    GOLD_IN_ANSWER = "gold_in_answer"
    GOLD_IN_CONTEXT = "gold_in_context"
    RELEVANCE = "relevance"
    ADDRESS = "address"
    QUESTION_SIMILARITY = "question_similarity"
    ANSWER_SIMILARITY = "answer_similarity"


class Call(msgspec.Struct, frozen=True):
    """A question that can be put to the judge now, and where its verdict will be kept."""

    slot: Slot
    inputs: Inputs


class Walk(msgspec.Struct, frozen=True):
    """One answer: its verdicts, the calls to make now, and about how many calls and tokens come after them."""

    verdicts: AnswerVerdicts
    calls: tuple[Call, ...]
    later_calls: int
    later_tokens: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The calls to make now, and about how many depend on their answers; tokens are sent and received, of all.

    `cached` of the answers need no call, or none that another run's plan does not pay for.
    """

    answers: int
    cached: int
    calls: tuple[Call, ...]
    later_calls: int
    tokens: int


def judged(answer: Answer, judge: Judge, wants: frozenset[Want], known: Known, repeat: int = 0) -> AnswerVerdicts:
    """What the judge said of an answer, with an `Unjudged` in the place of what is missing."""
    return walk(answer, judge, wants, known, repeat).verdicts


def next_round(
    answers: Iterable[Answer], judge: Judge, wants: frozenset[Want], known: Known, repeats: int = 1
) -> list[Call]:
    """What can be asked now, each slot once, in the order of the answers; empty where judging is done."""
    walks = (walk(answer, judge, wants, known, repeat) for answer in answers for repeat in range(repeats))
    return list({call.slot: call for each in walks for call in each.calls}.values())


def plan_for(
    answers: Sequence[Answer],
    judge: Judge,
    wants: frozenset[Want],
    known: Known,
    *,
    repeats: int = 1,
    planned: Iterable[Call] = (),
) -> Plan:
    """What judging a run takes. `planned` are the calls of another run's plan, which that one pays for."""
    paid = {call.slot for call in planned}
    calls: dict[Slot, Call] = {}
    cached = later_calls = tokens = 0
    for answer in answers:
        walks = [walk(answer, judge, wants, known, repeat) for repeat in range(repeats)]
        own = {call.slot: call for each in walks for call in each.calls if call.slot not in paid}
        cached += not own
        later_calls += sum(each.later_calls for each in walks) if own else 0
        tokens += sum(each.later_tokens for each in walks) if own else 0
        calls |= own
    tokens += sum(sum(call.inputs.tokens(judge.prompts)) for call in calls.values())
    return Plan(
        answers=len(answers), cached=cached, calls=tuple(calls.values()), later_calls=later_calls, tokens=tokens
    )


def walk(answer: Answer, judge: Judge, wants: frozenset[Want], known: Known, repeat: int = 0) -> Walk:
    """The verdicts on an answer as far as they are known, and what is still to be asked.

    An answer that is not there needs no call to support nothing; nor do claims without a passage. The claims of a
    reference are those of the first repeat, so that all repeats count the same ones.
    """
    look = _Look(answer, judge, known, repeat)
    found = {want.value: _VALUES[want](look) for want in Want if want in wants}
    verdicts = AnswerVerdicts(
        query_id=answer.query_id,
        context=tuple(passage.id for passage in answer.context),
        citations=answer.citations,
        no_answer=answer.no_answer,
        **found,
        claims=look.claims if wants & {Want.STATE, Want.SUPPORT, Want.CORRECTNESS} else None,
        gold_claims=look.gold if wants & {Want.GOLD_IN_ANSWER, Want.GOLD_IN_CONTEXT} else None,
        served=tuple(sorted(look.served, key=str)),
    )
    return Walk(verdicts, tuple(look.calls), look.later_calls, look.later_tokens)


class _Look:
    """Looks the verdicts on one answer up, and notes those that are not there."""

    def __init__(self, answer: Answer, judge: Judge, known: Known, repeat: int) -> None:
        self.answer, self.judge, self.known, self.repeat = answer, judge, known, repeat
        self.text = answer.answer if answer.answer and not answer.answer.isspace() else ""
        self.context = tuple(passage.text for passage in answer.context)
        self.reference = (answer.reference,) if answer.reference else ()
        self.calls: dict[Call, None] = {}
        self.served: set[tuple[str, str | None]] = set()
        self.later_calls = self.later_tokens = 0

    @cached_property
    def split(self) -> Split | Unjudged:
        """The answer's claims; none of an answer that is not there."""
        own = Inputs(Task.SPLIT, self.answer.question, self.text)
        found: Split | Unjudged = self.at(own) if self.text else Split(asserts=False, claims=())
        return found

    @property
    def claims(self) -> tuple[str, ...] | Unjudged:
        """The same as texts."""
        return self.split if isinstance(self.split, Unjudged) else self.split.claims

    @cached_property
    def gold(self) -> tuple[GoldClaim, ...] | Unjudged | None:
        """The gold's own claims, or else those of its reference, or None."""
        if self.answer.claims or not self.reference:
            return self.answer.claims or None
        split = self.at(Inputs(Task.SPLIT, self.answer.question, *self.reference), repeat=0)
        return split if isinstance(split, Unjudged) else tuple(map(GoldClaim, split.claims))

    def state(self) -> AnswerState | Unjudged:
        """An empty answer abstains where its line says so; one that asserts does not, whatever its line says."""
        if isinstance(self.split, Unjudged):
            return self.split
        if self.split.asserts:
            return AnswerState.ASSERTS
        return AnswerState.ABSTAINED if self.text or self.answer.abstained else AnswerState.MISSING

    def correctness(self) -> tuple[Support, ...] | Unjudged | None:
        """The answer's claims against the reference, or else the gold claims."""
        truth = self.reference or self.gold_texts()
        return truth if truth is None or isinstance(truth, Unjudged) else self.support(self.claims, truth, self.text)

    def gold_in(self, passages: tuple[str, ...]) -> tuple[Support, ...] | Unjudged | None:
        """The gold claims against some passages."""
        texts = self.gold_texts()
        return None if texts is None else self.support(texts, passages, "".join(self.reference))

    def gold_texts(self) -> tuple[str, ...] | Unjudged | None:
        """The gold claims as texts."""
        return tuple(claim.text for claim in self.gold) if isinstance(self.gold, tuple) else self.gold

    def address(self) -> Addressed | Unjudged | None:
        """Nothing is asked about an answer that is not there, nor about a query that has no answer."""
        if self.answer.no_answer:
            return None
        own = Inputs(Task.ADDRESS, self.answer.question, self.text)
        found: Addressed | Unjudged = self.at(own) if self.text else Addressed("no", noncommittal=True)
        return found

    def question_similarity(self) -> Any:
        """The question and those that the answer would answer."""
        if self.answer.no_answer or not self.text:
            return None
        questions = self.at(Inputs(Task.REVERSE, answer=self.text))
        if isinstance(questions, Unjudged):
            self.later(questions, 1, rough_tokens(self.text))
            return questions
        return self.at(Inputs(Task.SIMILARITY, answer=self.answer.question, passages=questions))

    def answer_similarity(self) -> float | Unjudged | None:
        """The answer and the reference; 0 for an answer that is not there."""
        if not self.text or not self.reference:
            return 0.0 if self.reference else None
        found = self.at(Inputs(Task.SIMILARITY, answer=self.text, passages=self.reference))
        return found if isinstance(found, Unjudged) else float(found[0])

    def support(
        self, claims: tuple[str, ...] | Unjudged, passages: tuple[str, ...], text: str
    ) -> tuple[Support, ...] | Unjudged:
        """A verdict a claim. The text is what unknown claims will come from: so many calls and tokens come later."""
        if isinstance(claims, Unjudged):
            about = rough_tokens(text) // _TOKENS_A_CLAIM + 1
            calls = (1 if about <= MAX_TOGETHER else -(-about // BATCH)) if passages else 0
            self.later(claims, calls, calls * (rough_tokens(" ".join(passages)) + _TOKENS_BESIDE) + about * 100)
            return claims
        if not passages:
            return tuple(Support(n, Entailment.ABSENT) for n in range(1, len(claims) + 1))
        every = Inputs(Task.ENTAIL, passages=passages, statements=claims)
        size = len(claims) if len(claims) <= MAX_TOGETHER and self.needed(every) is None else BATCH
        starts = range(0, len(claims), size or 1)
        parts = [self.at(msgspec.structs.replace(every, statements=claims[at : at + size])) for at in starts]
        missing = next((part for part in parts if isinstance(part, Unjudged)), None)
        each = (each for part in parts for each in part) if missing is None else ()
        return missing or tuple(msgspec.structs.replace(one, n=n) for n, one in enumerate(each, start=1))

    def at(self, inputs: Inputs, repeat: int | None = None) -> Any:
        """The verdicts on some inputs, or why there are none; of a damaged record that has too few there are none."""
        slot = Slot(self.judge.id, inputs.task, inputs.key, self.repeat if repeat is None else repeat)
        record = self.known.get(slot)
        if record is not None:
            self.served.add((record.model, record.fingerprint))
            expected = len(inputs.statements) or len(inputs.passages)
            if record.unjudged or not expected or len(record.verdicts) == expected:
                return record.unjudged or record.verdicts
            return Unjudged(UnjudgedKind.NUMBERING, len(record.verdicts), expected)
        if inputs.task is Task.SIMILARITY and self.judge.embedding_model is None:
            return Unjudged(UnjudgedKind.NO_EMBEDDING_MODEL)
        if needed := self.needed(inputs):
            return Unjudged(UnjudgedKind.CONTEXT_TOO_LONG, needed, self.judge.context_tokens)
        self.calls[Call(slot, inputs)] = None
        return NO_VERDICT

    def needed(self, inputs: Inputs) -> int | None:
        """The tokens of a request that the model cannot hold; None of one that it can."""
        limit, tokens = self.judge.context_tokens, sum(inputs.tokens(self.judge.prompts))
        return tokens if limit is not None and tokens > limit else None

    def later(self, missing: Unjudged, calls: int, tokens: int) -> None:
        """Note what will be asked once something is known that is now being asked."""
        if missing == NO_VERDICT and calls:
            self.later_calls += calls
            self.later_tokens += tokens


def _relevance(look: _Look) -> Any:
    question, context = look.answer.question, look.context
    return look.at(Inputs(Task.RELEVANCE, question, passages=context)) if context else None


_VALUES: Mapping[Want, Callable[[_Look], Any]] = {
    Want.STATE: _Look.state,
    Want.SUPPORT: lambda look: look.support(look.claims, look.context, look.text),
    Want.CORRECTNESS: _Look.correctness,
    Want.GOLD_IN_ANSWER: lambda look: look.gold_in((look.text,) if look.text else ()),
    Want.GOLD_IN_CONTEXT: lambda look: look.gold_in(look.context),
    Want.RELEVANCE: _relevance,
    Want.ADDRESS: _Look.address,
    Want.QUESTION_SIMILARITY: _Look.question_similarity,
    Want.ANSWER_SIMILARITY: _Look.answer_similarity,
}
