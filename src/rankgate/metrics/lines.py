"""Metrics of what a run line states beside its list: route, entities, other tools' scores, latency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import force_setattr

from rankgate.metrics.base import BaseMetric, Cutoff, Kind
from rankgate.model.answers import AnswerFlaw, says_nothing
from rankgate.model.scores import MatchedQuery
from rankgate.model.values import Details, Direction, RunField, Unit
from rankgate.statistics.quantiles import quantile as empirical_quantile


class LineMetric(BaseMetric, frozen=True, kw_only=True):
    """A metric without a cut-off."""

    cutoff: int | Cutoff = Cutoff.NONE

    default_cutoff: ClassVar[Cutoff] = Cutoff.NONE
    kind: ClassVar[Kind] = Kind.STATED


class FalseEvidenceRate(LineMetric, frozen=True, kw_only=True):
    """Of the questions that nothing answers (`no_answer: true`), the share for which something is returned.

    Undefined for questions that have an answer.

    Attributes:
        min_score: only items with at least this `score`, or with none, count as returned; every item if not given.
    """

    min_score: float | None = None

    key: ClassVar[str] = "false_evidence_rate"
    aliases: ClassVar[tuple[str, ...]] = ("false_evidence",)
    formula: ClassVar[str] = "1 if the list is not empty, else 0"
    direction: ClassVar[Direction] = Direction.LOWER
    kind: ClassVar[Kind] = Kind.RELEVANCE
    worst: ClassVar[float | None] = 1.0
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.no_answer",)
    plain: ClassVar[str] = "share of unanswerable questions for which something is shown all the same"

    @property
    def needs(self) -> frozenset[RunField]:
        """The items' scores, where a lowest one is given."""
        return frozenset() if self.min_score is None else frozenset({RunField.ITEM_SCORES})

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None for an answerable question."""
        if query.sample is None or not query.sample.no_answer:
            return None
        if self.min_score is None:
            return float(query.retrieved > 0)
        items = (query.details and query.details.items) or ()
        return float(any(item.score is None or item.score >= self.min_score for item in items))


class GivenRate(LineMetric, frozen=True, kw_only=True):
    """Whether an answerable question got an answer: one that is not empty, and not declared an abstention.

    A refusal in words is an answer here; `answered_rate` counts it as none. Undefined for questions with `no_answer:
    true`.
    """

    key: ClassVar[str] = "given_rate"
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset({AnswerFlaw.EMPTY})
    formula: ClassVar[str] = "1 if there is an answer, neither empty nor abstained, else 0"
    kind: ClassVar[Kind] = Kind.ANSWER
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.ANSWER})
    plain: ClassVar[str] = "share of answerable questions that got an answer at all"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None for a question that nothing answers."""
        if query.sample is None or query.sample.no_answer:
            return None
        generated = query.details.generated if query.details else None
        return float(generated is not None and not generated.abstained and not says_nothing(generated.answer))


class SourceCoverage(LineMetric, frozen=True, kw_only=True):
    """Of the sources that the gold names for a question, the share to which the router sent it (`source`).

    For a line without `source`, the sources of its items count. Undefined where the gold or the line names no source.
    """

    key: ClassVar[str] = "source_coverage"
    formula: ClassVar[str] = "|G ∩ S| / |G|, G the gold's sources, S the line's"
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.SOURCE})
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.source",)
    plain: ClassVar[str] = "share of a question's sources that it went to"

    def per_query(self, query: MatchedQuery) -> float | None:
        """Those gone to by those named; None where a side names no source."""
        wanted = query.sample.source if query.sample else ()
        stated = query.details.source if query.details else None
        return None if not wanted or stated is None else len({*wanted} & {*stated}) / len(wanted)

    def absent(self, query: MatchedQuery) -> float | None:
        """The worst, or None where the gold names no source."""
        return self.worst if query.sample and query.sample.source else None


class MisrouteRate(SourceCoverage, frozen=True, kw_only=True):
    """Of the sources that the gold names, the share to which the router did not send the question.

    Undefined where the gold or the line names no source.
    """

    key: ClassVar[str] = "misroute_rate"
    aliases: ClassVar[tuple[str, ...]] = ("misroutes",)
    formula: ClassVar[str] = "1 − source_coverage"
    direction: ClassVar[Direction] = Direction.LOWER
    worst: ClassVar[float | None] = 1.0
    plain: ClassVar[str] = "share of a question's sources that it did not go to"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1 − source_coverage; None where a side names no source."""
        right = super().per_query(query)
        return None if right is None else 1 - right


class SourceShare(LineMetric, frozen=True, kw_only=True):
    """How often the router chooses a source, right or wrong: `source_share(kb-br)`.

    Neither direction is better; higher is assumed. Undefined where the line names no source.

    Attributes:
        source: the source whose share is taken; it must be given and stands alone.
    """

    source: str = ""

    key: ClassVar[str] = "source_share"
    alone: ClassVar[str | None] = "source"
    formula: ClassVar[str] = "1 if this is a source of the line, else 0"
    worst: ClassVar[float | None] = None
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.SOURCE})
    plain: ClassVar[str] = "share of questions that went to this source"

    def per_query(self, query: MatchedQuery) -> float | None:
        """1.0 or 0.0; None where the line names no source."""
        stated = query.details.source if query.details else None
        return None if stated is None else float(self.source in stated)


class EntityF1(LineMetric, frozen=True, kw_only=True):
    """F1 of the entities that the line states against those of the sample, as sets, exactly as written.

    1 where both are empty. Undefined where the gold or the line states none at all.
    """

    key: ClassVar[str] = "entity_f1"
    formula: ClassVar[str] = "2 |E ∩ F| / (|E| + |F|), E the gold's entities, F the line's"
    unit: ClassVar[Unit] = Unit.SCORE
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.ENTITIES})
    gold_keys: ClassVar[tuple[str, ...]] = ("metadata.entities",)
    plain: ClassVar[str] = "how well the entities of the question were found, 1 = exactly"

    def per_query(self, query: MatchedQuery) -> float | None:
        """2 |both| / (|gold| + |line|); None where a side states none."""
        wanted = query.sample.entities if query.sample else None
        stated = query.details.entities if query.details else None
        if wanted is None or stated is None:
            return None
        gold_entities = set(wanted)
        line_entities = set(stated)
        count = len(gold_entities) + len(line_entities)
        return 2 * len(gold_entities & line_entities) / count if count else 1.0

    def absent(self, query: MatchedQuery) -> float | None:
        """0, or None where the gold states no entities."""
        return self.worst if query.sample and query.sample.entities is not None else None


class QuantileMetric(LineMetric, frozen=True, kw_only=True):
    """A metric of which the mean is taken, or a quantile over the queries.

    Attributes:
        quantile: between 0 and 1, as in `latency(quantile=0.9)`, in place of the mean: the smallest value with at least
            that share of the queries at or below it.
    """

    if TYPE_CHECKING:  # a field of each, after its own, as names have it
        quantile: float | None = None

    low: ClassVar[float | None] = None
    high: ClassVar[float | None] = None
    worst: ClassVar[float | None] = None
    within: ClassVar[str]

    def __post_init__(self) -> None:
        if self.quantile is not None and not 0 < self.quantile < 1:
            raise ValueError(f"quantile must lie between 0 and 1, not {self.quantile:g}")

    @property
    def at_quantile(self) -> float | None:
        """The quantile asked for; None for the mean."""
        return self.quantile

    def aggregate(self, values: Sequence[float]) -> float:
        """The mean, or the quantile asked for."""
        return super().aggregate(values) if self.quantile is None else empirical_quantile(values, self.quantile)

    @property
    def meaning(self) -> str:
        """One clause for a reader who does not know the metric."""
        return f"{self.plain} on average" if self.quantile is None else self.within.format(100 * self.quantile)


class Score(QuantileMetric, frozen=True, kw_only=True):
    """A number that another tool wrote into `scores` of the line: `score(faithfulness)`, the mean or a quantile.

    A gate on it states `direction: higher` or `lower`. Missing where the line states null, NaN or no such key.

    Attributes:
        field: the key in `scores`; it must be given and stands alone: `score(cost)`.
        better: which way is better, higher or lower; a gate's `direction` sets it.
        drop_from: another key in `scores`; the value is the share of it that is lost, 1 − scores[field] /
            scores[drop_from]. Missing where one of them is; undefined where `drop_from` is not above 0, or the share is
            not finite.
    """

    field: str = ""
    better: Direction = Direction.HIGHER
    drop_from: str | None = None
    quantile: float | None = None

    key: ClassVar[str] = "score"
    alone: ClassVar[str | None] = "field"
    asks_direction: ClassVar[bool] = True
    formula: ClassVar[str] = "mean or quantile of scores[field] over the queries"
    unit: ClassVar[Unit] = Unit.NUMBER
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.SCORES})
    plain: ClassVar[str] = "what another tool scored"
    within: ClassVar[str] = "what another tool scored at most for {:g}% of the questions"

    @property
    def direction(self) -> Direction:  # type: ignore[override]  # the one metric whose direction its user states
        """As stated."""
        return self.better

    def per_query(self, query: MatchedQuery) -> float | None:
        """The number that the line states, or what is lost from another one; None where there is none."""
        scores = (query.details.scores if query.details else None) or {}
        value = scores.get(self.field)
        if self.drop_from is None or value is None:
            return value
        before = scores.get(self.drop_from) or 0.0
        drop = 1 - value / before if before > 0 else math.inf
        return drop if math.isfinite(drop) else None

    def stated(self, details: Details) -> bool:
        """Whether there is a number in the field, and in the one that it is compared with."""
        scores = details.scores or {}
        return None not in (scores.get(self.field), scores.get(self.drop_from or self.field))


class Latency(QuantileMetric, frozen=True, kw_only=True):
    """Milliseconds per query, from `latency_ms` of the run: the mean, or a quantile over the queries.

    Missing for a query whose stages have no time or null.

    Attributes:
        stage: a stage by the run's own name for it, such as retrieve or rerank; or total, as the query states it, else
            the sum of its stages.
    """

    stage: str = "total"
    quantile: float | None = None

    key: ClassVar[str] = "latency"
    formula: ClassVar[str] = "mean or quantile of latency_ms over the queries"
    direction: ClassVar[Direction] = Direction.LOWER
    unit: ClassVar[Unit] = Unit.MILLISECONDS
    kind: ClassVar[Kind] = Kind.LATENCY
    low: ClassVar[float | None] = 0.0
    reads: ClassVar[frozenset[RunField]] = frozenset({RunField.LATENCY})
    plain: ClassVar[str] = "milliseconds that a question takes"
    within: ClassVar[str] = "milliseconds within which {:g}% of the questions are answered"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stage.lower() in ("retrieve", "rerank", "total"):  # in whatever case
            force_setattr(self, "stage", self.stage.lower())

    def per_query(self, query: MatchedQuery) -> float | None:
        """The stage's time, or None where the run does not state it."""
        return self._time(query.details) if query.details else None

    def stated(self, details: Details) -> bool:
        """Whether the stage's time is there."""
        return self._time(details) is not None

    def _time(self, details: Details) -> float | None:
        times = details.latency_ms or {}
        if self.stage == "total" and times and self.stage not in times:
            return None if None in times.values() else sum(filter(None, times.values()))
        return times.get(self.stage)
