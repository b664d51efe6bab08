"""From an answer to its verdicts: what is known of them, what is to be asked now, and what only after that.

Reading, planning and asking collect verdicts by the same function, so that what is judged is what is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from rankgate.judge.model import Answer, Inputs, Judge, rough_tokens
from rankgate.judge.records import Known, Record, Slot
from rankgate.judge.tasks import QUESTIONS, TASKS, Entail, Split, tokens_of
from rankgate.model.answers import Entailment, GoldClaim, UnjudgedKind, VerdictKind
from rankgate.model.verdicts import NO_VERDICT, AnswerState, AnswerVerdicts, Support, Unjudged, served_names

MAX_TOGETHER = 40  # statements in one request
BATCH = 20  # in each of several, where there are more
_TOKENS_A_CLAIM = 15  # of an answer
_TOKENS_BESIDE = 900  # of a request beside its passages and claims
_OF_CLAIMS = {VerdictKind.STATE, VerdictKind.SUPPORT, VerdictKind.CORRECTNESS}


class Call(NamedTuple):
    """A question that can be put to the judge now, and where its verdict will be kept."""

    slot: Slot
    inputs: Inputs


class Collected(NamedTuple):
    """One answer: its verdicts, their records, the calls to make now, and about how many calls and tokens follow."""

    verdicts: AnswerVerdicts
    records: tuple[Record, ...]
    calls: tuple[Call, ...]
    later_calls: int
    later_tokens: int

    @property
    def failed(self) -> bool:
        """Whether the judge was asked and failed, at any part."""
        return any(record.unjudged for record in self.records)


class Plan(NamedTuple):
    """The calls to make now, and about how many depend on their answers; tokens are sent and received, of all.

    `cached` of the answers need no call, or none that another run's plan does not pay for; at `failed` of these the
    judge failed before.
    """

    answers: int
    cached: int
    failed: int
    calls: tuple[Call, ...]
    later_calls: int
    tokens: int

    @property
    def every_call(self) -> int:
        """The calls that it makes, as far as they can be foreseen."""
        return len(self.calls) + self.later_calls


def judged(
    answer: Answer, judge: Judge, verdict_kinds: frozenset[str], known: Known, repeat: int = 0
) -> AnswerVerdicts:
    """What the judge said of an answer, with an `Unjudged` in the place of what is missing."""
    return collect_verdicts(answer, judge, verdict_kinds, known, repeat).verdicts


def collect_repeats(
    answer: Answer, judge: Judge, verdict_kinds: frozenset[str], known: Known, repeats: int
) -> list[Collected]:
    """What `collect_verdicts` gives for each repeat."""
    return [collect_verdicts(answer, judge, verdict_kinds, known, repeat) for repeat in range(repeats)]


def next_round(
    answers: Iterable[Answer], judge: Judge, verdict_kinds: frozenset[str], known: Known, repeats: int = 1
) -> list[Call]:
    """What can be asked now, each slot once, in the order of the answers; empty where judging is done."""
    collected = (each for answer in answers for each in collect_repeats(answer, judge, verdict_kinds, known, repeats))
    return list({call.slot: call for each in collected for call in each.calls}.values())


def plan_for(
    answers: Sequence[Answer],
    judge: Judge,
    verdict_kinds: frozenset[str],
    known: Known,
    *,
    repeats: int = 1,
    planned: Iterable[Call] = (),
) -> Plan:
    """What judging a run takes. `planned` are the calls of another run's plan, which that one pays for."""
    paid = {call.slot for call in planned}
    calls: dict[Slot, Call] = {}
    cached = failed = later_calls = tokens = 0
    for answer in answers:
        collected = collect_repeats(answer, judge, verdict_kinds, known, repeats)
        unpaid = {call.slot: call for each in collected for call in each.calls if call.slot not in paid}
        cached += not unpaid
        failed += not unpaid and any(each.failed for each in collected)
        later_calls += sum(each.later_calls for each in collected) if unpaid else 0
        tokens += sum(each.later_tokens for each in collected) if unpaid else 0
        calls |= unpaid
    tokens += sum(sum(tokens_of(call.inputs, judge.prompts)) for call in calls.values())
    return Plan(
        answers=len(answers),
        cached=cached,
        failed=failed,
        calls=tuple(calls.values()),
        later_calls=later_calls,
        tokens=tokens,
    )


def collect_verdicts(
    answer: Answer, judge: Judge, verdict_kinds: frozenset[str], known: Known, repeat: int = 0
) -> Collected:
    """The verdicts on an answer as far as they are known, and what is still to be asked.

    An answer that is not there needs no call to support nothing; nor do claims without a passage. A query that has no
    answer is not asked whether it is addressed. The claims of a reference are those of the first repeat, so that all
    repeats count the same ones.
    """
    lookup = _Lookup(judge, known, repeat)
    parts = _parts_of(answer, verdict_kinds, lookup)
    of_claims = {kind.value: _verdict(kind, answer, parts, lookup) for kind in VerdictKind if kind in verdict_kinds}
    by_question = {name: task.of_answer(answer, lookup) for name, task in QUESTIONS.items() if name in verdict_kinds}
    verdicts = AnswerVerdicts(
        query_id=answer.query_id,
        context=tuple(passage.id for passage in answer.context),
        citations=answer.citations,
        no_answer=answer.no_answer,
        claims=parts.claims if verdict_kinds & _OF_CLAIMS else None,
        gold_claims=parts.gold,
        served=served_by(lookup.records.values()),
        by_question=by_question,
        **of_claims,
    )
    return Collected(
        verdicts, tuple(lookup.records.values()), tuple(lookup.calls), lookup.later_calls, lookup.later_tokens
    )


class _Parts(NamedTuple):
    """What verdicts are about: the answer's text, empty where there is none, its claims, and those of the gold."""

    text: str
    split: Split | Unjudged
    gold: tuple[GoldClaim, ...] | Unjudged | None

    @property
    def claims(self) -> tuple[str, ...] | Unjudged:
        """The claims of the answer."""
        return self.split if isinstance(self.split, Unjudged) else self.split.claims

    @property
    def gold_texts(self) -> tuple[str, ...] | Unjudged | None:
        """The gold's claims in words."""
        return tuple(claim.text for claim in self.gold) if isinstance(self.gold, tuple) else self.gold


def _parts_of(answer: Answer, verdict_kinds: frozenset[str], lookup: _Lookup) -> _Parts:
    text = answer.text
    split: Any = Split(asserts=False, claims=())
    if text and verdict_kinds & _OF_CLAIMS:
        split = lookup.at(Inputs(Split.name, answer.question, text))
    gold: Any = answer.claims or None
    if answer.reference and not gold and verdict_kinds & {VerdictKind.GOLD_IN_ANSWER, VerdictKind.GOLD_IN_CONTEXT}:
        gold = lookup.at(Inputs(Split.name, answer.question, answer.reference), repeat=0)
        gold = gold if isinstance(gold, Unjudged) else tuple(map(GoldClaim, gold.claims))
    return _Parts(text, split, gold)


def _verdict(kind: VerdictKind, answer: Answer, parts: _Parts, lookup: _Lookup) -> Any:
    """What is known of one kind; None where it has no meaning for the answer."""
    text = parts.text
    reference = answer.reference or ""
    context = answer.passages
    verdict: Any = None
    match kind:
        case VerdictKind.STATE:
            verdict = _state(parts.split, abstains=bool(text) or answer.abstained)
        case VerdictKind.SUPPORT:
            verdict = lookup.entailed(parts.claims, context, text)
        case VerdictKind.CORRECTNESS:
            truth: Any = (reference,) if reference else parts.gold_texts
            verdict = lookup.entailed(parts.claims, truth, text) if truth else None
        case VerdictKind.GOLD_IN_ANSWER:
            verdict = lookup.entailed(parts.gold_texts, (text,) if text else (), reference)
        case VerdictKind.GOLD_IN_CONTEXT:
            verdict = lookup.entailed(parts.gold_texts, context, reference)
    return verdict


def served_by(records: Iterable[Record]) -> str | None:
    """What gave these verdicts; None where there are none."""
    return served_names([(record.model, record.fingerprint) for record in records if record.unjudged is None])


def _state(split: Split | Unjudged, *, abstains: bool) -> AnswerState | Unjudged:
    """An empty answer abstains where its line says so; one that asserts does not, whatever its line says."""
    if isinstance(split, Unjudged):
        return split
    if split.asserts:
        return AnswerState.ASSERTS
    return AnswerState.ABSTAINED if abstains else AnswerState.MISSING


def _fits(inputs: Inputs, verdicts: Any) -> bool:
    """Whether verdicts can be on these inputs; no judge of ours has written others."""
    expected = len(inputs.statements) or len(inputs.passages)
    return (not expected or len(verdicts) == expected) and TASKS[inputs.task].fits(inputs, verdicts)


class _Lookup:
    """Looks verdicts up, and notes those that are not there."""

    def __init__(self, judge: Judge, known: Known, repeat: int) -> None:
        self.judge = judge
        self.known = known
        self.repeat = repeat
        self.calls: dict[Call, None] = {}
        self.records: dict[Slot, Record] = {}
        self.later_calls = self.later_tokens = 0

    def at(self, inputs: Inputs, repeat: int | None = None) -> Any:
        """The verdicts on some inputs, or why there are none; a damaged record, which cannot be on them, is none."""
        slot = Slot(self.judge.id, inputs.task, inputs.key, self.repeat if repeat is None else repeat)
        record = self.known.get(slot)
        if record is not None and (record.unjudged or _fits(inputs, record.verdicts)):
            self.records[slot] = record
            return record.unjudged or record.verdicts
        if needed := self.beyond(inputs):
            return Unjudged(UnjudgedKind.CONTEXT_TOO_LONG, needed, self.judge.context_tokens)
        self.calls[Call(slot, inputs)] = None
        return NO_VERDICT

    def beyond(self, inputs: Inputs) -> int | None:
        """The tokens of a request that the model cannot hold; None of one that it can."""
        limit = self.judge.context_tokens
        tokens = 0 if limit is None else sum(tokens_of(inputs, self.judge.prompts))
        return tokens if limit is not None and tokens > limit else None

    def entailed(self, claims: tuple[str, ...] | Unjudged | None, passages: tuple[str, ...], text: str) -> Any:
        """A verdict a claim. The text is what unknown claims will come from: so many calls and tokens come later."""
        if not isinstance(claims, tuple):
            if claims == NO_VERDICT and passages:
                about = rough_tokens(text) // _TOKENS_A_CLAIM + 1
                batches = 1 if about <= MAX_TOGETHER else -(-about // BATCH)
                self.later_calls += batches
                self.later_tokens += batches * (rough_tokens(" ".join(passages)) + _TOKENS_BESIDE) + about * 100
            return claims
        if not passages or not claims:
            return tuple(Support(n, Entailment.ABSENT) for n in range(1, len(claims) + 1))
        every = Inputs(Entail.name, passages=passages, statements=claims)
        size = BATCH if len(claims) > MAX_TOGETHER or self.beyond(every) else len(claims)
        starts = range(0, len(claims), size)
        parts = [self.at(msgspec.structs.replace(every, statements=claims[at : at + size])) for at in starts]
        if missing := next((part for part in parts if isinstance(part, Unjudged)), None):
            return missing
        each = (each for part in parts for each in part)
        return tuple(msgspec.structs.replace(one, n=n) for n, one in enumerate(each, start=1))
