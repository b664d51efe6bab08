"""Metrics of what the generator was shown, and of what it cited, by a judge's verdicts: no ids of the gold needed."""

from __future__ import annotations

from typing import ClassVar

from rankgate.metrics.answers import RELEVANT, GoldClaimMetric, JudgedMetric, rests_on, share_supported, supports
from rankgate.model.answers import AnswerFlaw, VerdictKind
from rankgate.model.values import Unit
from rankgate.model.verdicts import AnswerVerdicts


class ContextRecall(GoldClaimMetric, frozen=True, kw_only=True):
    """Share of what a right answer must say that the passages say: the retriever, judged without ids.

    0 without passages. Claims and undefined as `claim_recall`. Source: Ragas, context recall, which splits the
    reference into sentences.
    """

    key: ClassVar[str] = "context_recall"
    formula: ClassVar[str] = "gold claims that the context supports / gold claims"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.GOLD_IN_CONTEXT})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    claims: ClassVar[VerdictKind | None] = VerdictKind.GOLD_IN_CONTEXT
    plain: ClassVar[str] = "share of what a right answer must say that the passages say"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Supported by all; None without gold claims."""
        return None if verdicts.no_answer else share_supported(verdicts.gold_in_context)


class ContextPrecision(JudgedMetric, frozen=True, kw_only=True):
    """Average precision of the passages, of which those are relevant that the judge grades 2 or 3 of 3.

    0 where none is. Undefined without passages. Source: Ragas and deepeval, which ask with the reference and by yes and
    no.
    """

    key: ClassVar[str] = "context_precision"
    formula: ClassVar[str] = "mean over the relevant passages of precision at their rank"
    asks: ClassVar[frozenset[str]] = frozenset({"relevance"})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    unit: ClassVar[Unit] = Unit.SCORE
    plain: ClassVar[str] = "how high the relevant passages stand among those shown, 1 = on top"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Average precision; None without passages."""
        grades = verdicts.of("relevance")
        if not isinstance(grades, tuple) or not grades:
            return None
        ranks = [rank for rank, grade in enumerate(grades, start=1) if grade >= RELEVANT]
        return sum(count / rank for count, rank in enumerate(ranks, start=1)) / max(1, len(ranks))

    def counts(self, sample: object) -> bool:
        """Every query that the run lacks, as for lists."""
        del sample
        return True


class ContextUtilization(JudgedMetric, frozen=True, kw_only=True):
    """Share of the passages that some supported claim of the answer rests on.

    Undefined without passages or claims. Ragas' is an average precision.
    """

    key: ClassVar[str] = "context_utilization"
    formula: ClassVar[str] = "passages that a supported claim rests on / passages"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.SUPPORT})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    plain: ClassVar[str] = "share of the passages that the answers use"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Used by shown; None without passages or claims."""
        support = supports(verdicts.support)
        if not support or not verdicts.context:
            return None
        used = {passage for each in support for passage in rests_on(each)}
        return len(used) / len(verdicts.context)


class CitationPrecision(JudgedMetric, frozen=True, kw_only=True):
    """Share of the citations that name a passage on which a supported claim rests.

    A citation of no passage is wrong. Undefined without citations.
    """

    key: ClassVar[str] = "citation_precision"
    formula: ClassVar[str] = "citations that support a claim / citations"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.SUPPORT})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    plain: ClassVar[str] = "share of the citations that support what the answers say"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Right by all; None without citations."""
        used = {verdicts.context[number - 1] for each in supports(verdicts.support) for number in rests_on(each)}
        cited = verdicts.citations
        return sum(citation in used for citation in cited) / len(cited) if cited else None


class CitationRecall(JudgedMetric, frozen=True, kw_only=True):
    """Share of the answer's claims that a cited passage supports; 0 for claims without any citation.

    Undefined without claims.
    """

    key: ClassVar[str] = "citation_recall"
    formula: ClassVar[str] = "claims that a cited passage supports / claims"
    asks: ClassVar[frozenset[str]] = frozenset({VerdictKind.SUPPORT})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    plain: ClassVar[str] = "share of the answers' claims that a cited passage supports"

    def value(self, verdicts: AnswerVerdicts) -> float | None:
        """Cited by all; None without claims."""
        support = supports(verdicts.support)
        cited = {number for number, each in enumerate(verdicts.context, start=1) if each in verdicts.citations}
        return sum(bool(cited.intersection(rests_on(each))) for each in support) / len(support) if support else None
