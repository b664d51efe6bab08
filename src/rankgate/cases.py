"""A violated gate as a case for the playbook: both runs measured at the ranks that tell causes apart. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from enum import Enum

import msgspec

from rankgate.metrics.base import Direction
from rankgate.model import TOLERANCE, MatchedQuery, Scores, Verdict
from rankgate.report import GateResult, Movement
from rankgate.staleness import LostIds

USUAL_K = 5  # where no violated gate has a cut-off of its own
DEEP = 50  # ranks that are looked at below the first k: what a reranker is usually given


class Kind(Enum):
    """What a metric asks, as far as the playbook tells metrics apart."""

    COVERAGE = "coverage"
    ORDER = "order"
    PRECISION = "precision"
    FRESHNESS = "freshness"
    LATENCY = "latency"


RANKED = frozenset({Kind.COVERAGE, Kind.ORDER, Kind.PRECISION})


_KINDS = {
    **dict.fromkeys(("hit", "recall", "recall_all", "capped_recall", "weighted_recall", "recall_auc"), Kind.COVERAGE),
    **dict.fromkeys(("mrr", "map", "ap", "ndcg", "dcg"), Kind.ORDER),
    **dict.fromkeys(("precision", "f"), Kind.PRECISION),
    "freshness": Kind.FRESHNESS,
    "latency": Kind.LATENCY,
}
Evidence = dict[str, str | int | float]
Found = tuple[str, Evidence]


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the queries that are looked at, of one run."""

    recall: float
    deep: float
    mrr: float
    length: float


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A violated gate and what is known of the two runs.

    Attributes:
        gate: the gate.
        k: the first ranks, to which `Levels.recall` looks.
        deep: the lower rank, to which `Levels.deep` looks; None where the lists do not reach far enough to tell.
        raw: whether that is the list before reranking.
        pairs: the queries with relevant documents that the runs have, now and before (None without a baseline).
        now: means of the candidate.
        before: means of the baseline, where the gate fell below it; None where a floor alone is violated.
        candidate: all scores.
        fall: how far the gate's own metric fell on the pairs; 0 where it did not.
        moved: the queries that changed.
        lost: where the baseline's ids went.
    """

    gate: GateResult
    k: int
    deep: int | None
    raw: bool
    pairs: Sequence[tuple[MatchedQuery, MatchedQuery | None]]
    now: Levels
    before: Levels | None
    candidate: Scores
    fall: float
    moved: Sequence[Movement]
    lost: LostIds | None

    @property
    def top(self) -> str:
        """The name of recall in the first k."""
        return f"recall@{self.k}"

    @property
    def far(self) -> str:
        """The name of recall far down."""
        return f"{'raw ' if self.raw else ''}recall@{self.deep}"

    @property
    def top_drop(self) -> float:
        """How far recall in the first k fell."""
        return self.before.recall - self.now.recall if self.before else 0.0

    @property
    def deep_drop(self) -> float:
        """How far recall further down fell."""
        return self.before.deep - self.now.deep if self.before else 0.0


def kind_of(name: str) -> Kind | None:
    """What a metric asks; None where it is of another list, or of a kind of which the playbook knows nothing."""
    kind = _KINDS.get(re.split(r"[(@]", name, maxsplit=1)[0])
    other_list = kind is not Kind.LATENCY and any(f"{view}=" in name for view in ("stage", "rewrite", "source"))
    return None if other_list else kind


def _worse(gate: GateResult, change: float) -> bool:
    return (change < -TOLERANCE) if gate.direction is Direction.HIGHER else (change > TOLERANCE)


def _speaks(gate: GateResult) -> bool:
    return gate.verdict in (Verdict.FAIL, Verdict.WARN) and not gate.only_inconclusive


def fell(gate: GateResult) -> bool:
    """Whether the gate speaks and its metric is worse than the baseline's."""
    return _speaks(gate) and gate.regression_max is not None and gate.delta is not None and _worse(gate, gate.delta)


def low(gate: GateResult) -> bool:
    """Whether the gate speaks and its floor is violated."""
    floor = gate.threshold
    return _speaks(gate) and floor is not None and gate.value is not None and _worse(gate, gate.value - floor)


def first_ranks(cutoffs: Iterable[object]) -> int:
    """The first cut-off that is a number, else the usual one."""
    return next((cutoff for cutoff in cutoffs if isinstance(cutoff, int)), USUAL_K)


def pairs_of(candidate: Scores, baseline: Scores | None) -> list[tuple[MatchedQuery, MatchedQuery | None]]:
    """The queries with relevant documents that the run has, and the baseline too where there is one."""
    if baseline is None:
        return [(new, None) for new in candidate.matched.values() if new.ideal]
    before = baseline.matched
    return [(new, before[query]) for query, new in candidate.matched.items() if new.ideal and query in before]


def fall_of(
    gate: GateResult,
    pairs: Sequence[tuple[MatchedQuery, MatchedQuery | None]],
    candidate: Scores,
    baseline: Scores,
) -> float:
    """How far a mean fell on the pairs: what queries that the run lacks do to it has another reason."""
    if kind_of(gate.metric) not in RANKED:
        return 0.0
    paired = {query.query_id for query, _ in pairs}
    columns = zip(candidate.query_ids, candidate.values[gate.metric], baseline.values[gate.metric], strict=True)
    drops = [old - new for query, new, old in columns if query in paired and new is not None and old is not None]
    return math.fsum(drops) / len(drops) if drops else 0.0


def reach_of(pairs: Sequence[tuple[MatchedQuery, MatchedQuery | None]], *, raw: bool) -> int:
    """How far down both runs can be looked at."""
    sides = [[new for new, _ in pairs], [old for _, old in pairs if old]]
    longest = [max(_far(query, raw=raw).retrieved for query in side) for side in sides if side]
    return min(DEEP, *longest)


def _far(query: MatchedQuery, *, raw: bool) -> MatchedQuery:
    return query.raw if raw and query.raw else query


def levels_of(queries: Sequence[MatchedQuery], k: int, deep: int, *, raw: bool) -> Levels:
    """Means over queries of one run: recall in the first k and far down, reciprocal rank, length of the list."""
    top = far = first = length = 0.0
    for query in queries:
        hits, relevant = query.hits, len(query.ideal)
        length += query.retrieved
        if hits:
            first += 1 / hits[0][0]
            top += _within(hits, k) / relevant
        below = query.raw.hits if raw and query.raw else hits
        if below:
            far += _within(below, deep) / relevant
    count = len(queries)
    return Levels(recall=top / count, deep=far / count, mrr=first / count, length=length / count)


def _within(hits: Sequence[tuple[int, float]], k: int) -> int:
    """How many of the hits, which stand by rank, are among the first k."""
    if hits[-1][0] <= k:
        return len(hits)
    return 0 if hits[0][0] > k else sum([rank <= k for rank, _ in hits])
