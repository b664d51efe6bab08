"""Metrics of the generated answer and of what it rests on, by a judge's verdicts.

A value that rests on a missing verdict is neither 0 nor left out of the mean: the query counts as unjudged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal

from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.lines import LineMetric
from rankgate.model.answers import AnswerFlaw, Entailment, VerdictKind
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Direction, RunField, Sample, Unit
from rankgate.model.verdicts import NO_VERDICT, AnswerState, AnswerVerdicts, Support, Unjudged

_OF_ADDRESSING = {"fully": 1.0, "partly": 0.5}
# Standard deviations of the paired differences in faithfulness between seven real systems (RefChecker): least and most.
SPREADS = (0.29, 0.49)
RELEVANT = 2  # the lowest grade, of 0 to 3, with which a passage counts as relevant

Noise = Literal["irrelevant", "relevant"]  # which passages a wrong claim rests on


class JudgedMetric(LineMetric, frozen=True, kw_only=True):
    """A metric by a judge's verdicts on an answer; where it is asked several times the mean of the values.

    Each metric states what it `asks` (kinds of verdicts on claims, and names of other questions to the judge), what it
    `sees` of answers that go wrong, and the verdicts on `claims` that it counts, None where it rests on more than
    claims and passages.
    """

    sees: ClassVar[frozenset[AnswerFlaw]]
    claims: ClassVar[VerdictKind | None] = None
    asks: ClassVar[frozenset[str]] = frozenset()
    kind: ClassVar[Kind] = Kind.ANSWER
    spread: ClassVar[float | None] = sum(SPREADS) / 2
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.ANSWER, RunField.VERDICTS})

    @abstractmethod
    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """By one set of verdicts, of which none that it needs is missing; None where undefined."""

    def counts(self, sample: Sample) -> bool:
        """Whether a query that the run lacks has a value, which then is the worst."""
        del sample
        return False

    def per_query(self, query: MatchedQuery) -> float | None:
        """The mean of the repeats for which it is defined; None where it is for none, or where one is unjudged."""
        return self.mean(query.details.verdicts or ()) if query.details else None

    def mean(self, verdicts: Collection[AnswerVerdicts]) -> float | None:
        """The mean over the repeats in which a judge was asked about one answer; None as for `per_query`.

        Args:
            verdicts: of one query, a set a repeat.
        """
        if any(map(self.unjudged, verdicts)):
            return None
        values = [value for each in verdicts if (value := self.value(each)) is not None]
        return sum(values) / len(values) if values else None

    def stated(self, details: Details) -> bool:
        """Whether all verdicts that it needs are there."""
        return bool(details.verdicts) and not any(self.unjudged(each) for each in details.verdicts or ())

    def served(self, details: Details) -> str | None:
        """What gave the verdicts, as the server called it; None where they took no model's word."""
        names = {name for each in details.verdicts or () if each.served for name in each.served.splitlines()}
        return "\n".join(sorted(names)) or None

    def unjudged(self, verdicts: AnswerVerdicts) -> Unjudged | None:
        """The first verdict that is missing."""
        needed = map(verdicts.of, sorted(self.asks))
        return next((each for each in needed if isinstance(each, Unjudged)), None)

    def absent(self, query: MatchedQuery) -> float | None:
        """The worst, for a query that the run lacks or whose verdicts are missing; None where that is undefined."""
        judged = query.details.verdicts if query.details else None  # None of a query that the run lacks
        if any(self.unjudged(each) for each in judged or ()):
            return self.worst
        return self.worst if query.sample is not None and self.counts(query.sample) else None


class AnswerableMetric(JudgedMetric, frozen=True, kw_only=True):
    """A metric of questions that have an answer."""

    def counts(self, sample: Sample) -> bool:
        """Where it can be answered."""
        return not sample.no_answer


class GoldClaimMetric(JudgedMetric, frozen=True, kw_only=True):
    """A metric that compares with the claims of the gold, or with its reference answer."""

    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.claims",)

    def counts(self, sample: Sample) -> bool:
        """Where the gold says what a right answer says."""
        return bool(sample.claims or sample.answers) and not sample.no_answer


class Faithfulness(JudgedMetric, frozen=True, kw_only=True):
    """Share of the answer's claims that the passages support.

    A claim is supported where the judge quotes a passage for it and the quote stands there. Undefined for an answer
    without claims, such as a refusal; so read it together with `answered_rate`. Source: Ragas, faithfulness; deepeval's
    is 1 without claims and counts borderline ones as faithful.
    """

    key: ClassVar[str] = "faithfulness"
    aliases: ClassVar[tuple[str, ...]] = ("groundedness",)
    formula: ClassVar[str] = "supported claims / claims of the answer"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.SUPPORT})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset({AnswerFlaw.SAME})
    claims: ClassVar[VerdictKind | None] = VerdictKind.SUPPORT
    plain: ClassVar[str] = "share of the answers' claims that the passages support"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Supported by all; None without claims."""
        return share_supported(verdicts.support)


class UnfaithfulRate(JudgedMetric, frozen=True, kw_only=True):
    """Whether any claim of the answer is without support.

    Undefined for an answer without claims.
    """

    key: ClassVar[str] = "unfaithful_rate"
    formula: ClassVar[str] = "1 if a claim of the answer is not supported, else 0"
    direction: ClassVar[Direction] = Direction.LOWER
    worst: ClassVar[float | None] = 1.0
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.SUPPORT})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset({AnswerFlaw.SAME})
    claims: ClassVar[VerdictKind | None] = VerdictKind.SUPPORT
    plain: ClassVar[str] = "share of answers with a claim that no passage supports"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """1.0 or 0.0; None without claims."""
        share = share_supported(verdicts.support)
        return None if share is None else float(share < 1)


class AnsweredRate(AnswerableMetric, frozen=True, kw_only=True):
    """Whether the answer to an answerable question asserts something.

    0 for a refusal and for an empty answer. Undefined for questions with `no_answer: true`.
    """

    key: ClassVar[str] = "answered_rate"
    formula: ClassVar[str] = "1 if the answer asserts something, else 0"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.STATE})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset({AnswerFlaw.EMPTY, AnswerFlaw.REFUSAL, AnswerFlaw.COPY})
    plain: ClassVar[str] = "share of answerable questions whose answer asserts something"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """1.0 or 0.0; None for a question that nothing answers."""
        return None if verdicts.no_answer else float(verdicts.state is AnswerState.ASSERTS)


class AbstainedRate(JudgedMetric, frozen=True, kw_only=True):
    """Whether the answer to a question that nothing answers (`no_answer: true`) abstains.

    An answer abstains where it asserts nothing; an empty one only where the line states `abstained: true`, which
    does not count of one that asserts something. Undefined for answerable questions.
    """

    key: ClassVar[str] = "abstained_rate"
    formula: ClassVar[str] = "1 if the answer abstains, else 0"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.STATE})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.no_answer",)
    plain: ClassVar[str] = "share of unanswerable questions for which the system abstains"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """1.0 or 0.0; None for an answerable question."""
        return float(verdicts.state is AnswerState.ABSTAINED) if verdicts.no_answer else None

    def counts(self, sample: Sample) -> bool:
        """Where nothing answers it."""
        return sample.no_answer


class ClaimRecall(GoldClaimMetric, frozen=True, kw_only=True):
    """Share of what a right answer must say (`metadata.claims`) that the answer says.

    Without claims, those of the reference answer (`metadata.answer`), which the judge splits once. 0 for a refusal and
    an empty answer. Undefined without either, and for questions with `no_answer: true`. Source: nugget recall at TREC.
    """

    key: ClassVar[str] = "claim_recall"
    aliases: ClassVar[tuple[str, ...]] = ("nugget_recall",)
    formula: ClassVar[str] = "gold claims that the answer supports / gold claims"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.GOLD_IN_ANSWER})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset(AnswerFlaw) - {AnswerFlaw.LANGUAGE}
    claims: ClassVar[VerdictKind | None] = VerdictKind.GOLD_IN_ANSWER
    plain: ClassVar[str] = "share of what a right answer must say that the answers say"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Supported by all; None without gold claims."""
        return None if verdicts.no_answer else share_supported(verdicts.gold_in_answer)


class VitalClaimRecall(ClaimRecall, frozen=True, kw_only=True):
    """`claim_recall` over the vital claims: all but those with `vital: false`.

    Undefined where no claim is vital, and where `claim_recall` is.
    """

    key: ClassVar[str] = "vital_claim_recall"
    aliases: ClassVar[tuple[str, ...]] = ("vital_nugget_recall",)
    formula: ClassVar[str] = "vital gold claims that the answer supports / vital gold claims"
    plain: ClassVar[str] = "share of the vital facts that the answers state"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Supported by all; None without vital claims."""
        claims = verdicts.gold_claims if isinstance(verdicts.gold_claims, tuple) else ()
        pairs = zip(claims, supports(verdicts.gold_in_answer), strict=False)
        return None if verdicts.no_answer else share_supported(tuple(each for claim, each in pairs if claim.vital))

    def counts(self, sample: Sample) -> bool:
        """Where a claim is vital; those of a reference answer are."""
        vital = any(claim.vital for claim in sample.claims) if sample.claims else bool(sample.answers)
        return vital and not sample.no_answer


class FactualCorrectness(GoldClaimMetric, frozen=True, kw_only=True):
    """F of two shares: the answer's claims that the reference supports, and `claim_recall`.

    The reference is `metadata.answer`, else the gold's claims. 0 for an answer without claims. Undefined as
    `claim_recall`. Source: Ragas, whose mode F1 takes the answer's supported claims for the reference's.

    Attributes:
        beta: how many times as much recall counts as precision.
    """

    beta: float = 1.0

    key: ClassVar[str] = "factual_correctness"
    aliases: ClassVar[tuple[str, ...]] = ("answer_correctness",)
    formula: ClassVar[str] = "(1 + β²) p r / (β² p + r), p of the answer's claims, r of the gold's"
    unit: ClassVar[Unit] = Unit.SCORE
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.CORRECTNESS, VerdictKind.GOLD_IN_ANSWER})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset(AnswerFlaw) - {AnswerFlaw.LANGUAGE}
    claims: ClassVar[VerdictKind | None] = VerdictKind.GOLD_IN_ANSWER
    plain: ClassVar[str] = "how far the answers state the reference's facts and no others, 1 = exactly"

    def __post_init__(self) -> None:
        if self.beta <= 0:
            raise ValueError(f"beta must be above 0, not {self.beta:g}")

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """F; None without a reference."""
        recall = share_supported(verdicts.gold_in_answer)
        if verdicts.no_answer or recall is None:
            return None
        precision = share_supported(verdicts.correctness) or 0.0
        squared = self.beta**2
        weighted = squared * precision + recall
        return (1 + squared) * precision * recall / weighted if weighted else 0.0


class NoiseSensitivity(JudgedMetric, frozen=True, kw_only=True):
    """Share of the answer's claims that are wrong by the reference and rest on a passage.

    A passage is relevant where it supports a gold claim. Undefined without claims or a reference. Source: after Ragas'
    noise sensitivity (Ru et al. 2024, RAGChecker).

    Attributes:
        mode: irrelevant (the claim rests on irrelevant passages alone) or relevant (on a relevant one).
    """

    mode: Noise = "irrelevant"

    key: ClassVar[str] = "noise_sensitivity"
    formula: ClassVar[str] = "claims that the reference does not support and such passages do / claims"
    direction: ClassVar[Direction] = Direction.LOWER
    worst: ClassVar[float | None] = 1.0
    asks: ClassVar[frozenset[str]] = frozenset(
        {VerdictKind.SUPPORT, VerdictKind.CORRECTNESS, VerdictKind.GOLD_IN_CONTEXT}
    )
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.claims",)
    plain: ClassVar[str] = "share of the answers' claims that are wrong and come from the passages"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Such claims by all; None without claims or reference."""
        support = supports(verdicts.support)
        truth = supports(verdicts.correctness)
        if not truth or verdicts.no_answer:
            return None
        relevant = {passage for each in supports(verdicts.gold_in_context) for passage in rests_on(each)}
        noisy = 0
        for by_context, by_reference in zip(support, truth, strict=True):
            passages = set(rests_on(by_context))
            if passages and by_reference.verdict is not Entailment.SUPPORTED:
                rests_on_relevant = not passages.isdisjoint(relevant)
                noisy += rests_on_relevant is (self.mode == "relevant")
        return noisy / len(truth)


class AnswerRelevancy(AnswerableMetric, frozen=True, kw_only=True):
    """How far the answer addresses the question: fully 1, partly 0.5, not at all or without commitment 0.

    0 for an empty answer. Undefined for questions with `no_answer: true`. Ragas' compares the question with three
    guessed from the answer; deepeval's is a share of statements.
    """

    key: ClassVar[str] = "answer_relevancy"
    aliases: ClassVar[tuple[str, ...]] = ("answer_relevance", "response_relevancy")
    formula: ClassVar[str] = "1, 0.5 or 0 as the answer addresses the question"
    unit: ClassVar[Unit] = Unit.SCORE
    asks: ClassVar[frozenset[str]] = frozenset({"address"})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset(AnswerFlaw) - {AnswerFlaw.CUT, AnswerFlaw.LANGUAGE}
    plain: ClassVar[str] = "how far the answers address the questions, 1 = fully"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """The score; None for a question that nothing answers."""
        word = verdicts.of("address")
        return None if verdicts.no_answer or not isinstance(word, str) else _OF_ADDRESSING.get(word, 0.0)


class CriterionMetric(AnswerableMetric, frozen=True, kw_only=True):
    """Whether the answer meets a criterion in words, by the one question that it asks."""

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """1.0 or 0.0; None for a question that nothing answers."""
        meets = self._meets(verdicts)
        return float(meets) if isinstance(meets, bool) and not verdicts.no_answer else None

    def unjudged(self, verdicts: AnswerVerdicts) -> Unjudged | None:
        """Why the verdict on this criterion is missing."""
        meets = self._meets(verdicts)
        return meets if isinstance(meets, Unjudged) else None

    def _meets(self, verdicts: AnswerVerdicts) -> Any:
        [question] = self.asks
        by_criterion = verdicts.of(question)
        return by_criterion.get(self.name, NO_VERDICT) if isinstance(by_criterion, Mapping) else by_criterion


class Rubric(CriterionMetric, frozen=True, kw_only=True):
    """Whether the answer meets a criterion in words, `judge: {rubrics: {NAME: "…"}}`: `rubric(cites_policy)`.

    A yes counts with a quote that stands in the answer. 0 for an empty answer. Undefined for questions with `no_answer:
    true`.

    Attributes:
        criterion: its name in `judge.rubrics`; it must be given and stands alone: `rubric(cites_policy)`.
    """

    criterion: str = ""

    key: ClassVar[str] = "rubric"
    alone: ClassVar[str | None] = "criterion"
    formula: ClassVar[str] = "1 if the answer meets the criterion, else 0"
    asks: ClassVar[frozenset[str]] = frozenset({"rubric"})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    plain: ClassVar[str] = "share of answers that meet a criterion in words"


def criterion_of(metric: Metric, rubrics: Mapping[str, str]) -> str | None:
    """The text of a rubric; None of another metric."""
    return rubrics.get(metric.criterion) if isinstance(metric, Rubric) else None


def supports(verdicts: Any) -> tuple[Support, ...]:
    """The verdicts on claims; none where there are no claims."""
    return verdicts if isinstance(verdicts, tuple) else ()


def share_supported(verdicts: Any) -> float | None:
    """Supported by all; None where there are no claims."""
    support = supports(verdicts)
    return sum(each.verdict is Entailment.SUPPORTED for each in support) / len(support) if support else None


def rests_on(each: Support) -> tuple[int, ...]:
    """The passages that a statement rests on; none where it is not supported."""
    return each.passages if each.verdict is Entailment.SUPPORTED else ()
