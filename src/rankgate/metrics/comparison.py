"""Two runs' scores of one metric, paired query by query."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import msgspec

from rankgate.metrics.base import Metric
from rankgate.metrics.drift import same_lists
from rankgate.metrics.estimates import attainable, defined_only
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.intervals import beyond, range_of
from rankgate.model.scores import Exact, Scores
from rankgate.model.values import CONFIDENCE, Direction, Interval, Unit
from rankgate.statistics.binomial import Side, level_at
from rankgate.statistics.quantiles import difference_of_quantiles_interval, swap_p
from rankgate.statistics.saddlepoint import difference_interval, difference_level


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of two runs over the queries for which both have a value.

    `better` and `worse` count the queries that moved in the metric's own direction and against it. `exact` is the test
    that can prove harm beside the interval, where there is one. `changes` are by query. `counts` are the queries of the
    baseline and of the candidate that have a share of 1, where each has 0 or 1; None elsewhere.
    """

    value: float
    baseline: float
    n_pairs: int
    better: int
    worse: int
    ci: Interval | None
    exact: Exact | None = None
    counts: tuple[int, int] | None = None
    changes: Sequence[float] = ()
    clusters: Sequence[str] = ()

    def __repr__(self) -> str:
        numbers = f"delta={self.delta}, ci={self.ci}, n_pairs={self.n_pairs}, better={self.better}, worse={self.worse}"
        return f"Comparison(value={self.value}, baseline={self.baseline}, {numbers})"

    @property
    def delta(self) -> float:
        """The change, positive where the value rose."""
        return self.value - self.baseline


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the queries, at least one, that have one on both sides, and what they say at any confidence.

    `clusters` are their labels, and `ends` the most that a change could be by the range of each query (`attainable`).
    `same` tells whether all their scored lists are equal.
    """

    metric: Metric
    new: list[float]
    old: list[float]
    clusters: list[str] = []
    ends: list[float] = []
    same: bool = False

    def compared(self, confidence: float | None = CONFIDENCE) -> Comparison:
        """In numbers; without an interval where no confidence is asked for."""
        risen = sum(map(operator.gt, self.new, self.old))
        fallen = sum(map(operator.lt, self.new, self.old))
        higher_is_better = self.metric.direction is Direction.HIGHER
        ci = None if confidence is None else self.interval(confidence)
        return Comparison(
            value=self.metric.aggregate(self.new),
            baseline=self.metric.aggregate(self.old),
            n_pairs=len(self.new),
            better=risen if higher_is_better else fallen,
            worse=fallen if higher_is_better else risen,
            ci=ci,
            exact=None if confidence is None else self.exact(ci),
            counts=self._counts,
            changes=self.changes,
            clusters=self.clusters,
        )

    @property
    def changes(self) -> list[float]:
        """Query by query."""
        return list(map(operator.sub, self.new, self.old))

    def interval(self, confidence: float) -> Interval | None:
        """Of the change. [0, 0] only where no value changed and the scored lists are equal too.

        None where none changed although the lists did, and no range tells how far one could have.
        """
        q, widest = self.metric.at_quantile, self._widest
        unchanged = self.new == self.old
        if unchanged and self.same:
            return (0.0, 0.0)
        if q is not None:
            return difference_of_quantiles_interval(self.new, self.old, q, confidence=confidence)
        if unchanged and not widest:
            return None
        changes, reach = self.changes, self._reach
        if self.clusters:
            from rankgate.statistics.clusters import clustered_mean_interval  # noqa: PLC0415 -- paid only by clusters

            return clustered_mean_interval(changes, self.clusters, low=-reach, high=reach, confidence=confidence)
        ends = [] if unchanged else self.ends
        return difference_interval(changes, widest=ends or widest, confidence=confidence)

    def exact(self, ci: Interval | None) -> Exact | None:
        """The test that proves harm beside this interval: of clusters under 30, of quantiles where it has no bound."""
        harm, q = self._harm, self.metric.at_quantile
        if q is not None:
            low, high = ci or (None, None)
            bound = high if harm == "below" else low
            return Exact(*swap_p(self.new, self.old, q, side=harm)) if bound is None else None
        return self._flipped() if self.clusters else None

    def signs(self) -> Exact | None:
        """The signs of fewer than 30 clusters, also of too few for a proof; None where there are none that count."""
        if not self.clusters or self.metric.at_quantile is not None:
            return None
        return self._flipped(of_few=True)

    def proven(self, level: float) -> bool:
        """Whether there is harm at all, at this one-sided level: by the interval, or by the exact test."""
        ci = self.interval(1 - 2 * level)
        exact = self.exact(ci)
        return beyond(ci, 0.0, self._harm) or (exact is not None and exact.p < level)

    def level(self) -> float:
        """The smallest one-sided level at which harm is proven, by the interval or by the exact test; 1.0 at none."""
        if self.metric.at_quantile is not None:
            return level_at(self.proven)
        reach = self._reach
        if self.clusters:
            from rankgate.statistics.clusters import clustered_mean_level  # noqa: PLC0415 -- as above

            level = clustered_mean_level(self.changes, self.clusters, 0.0, side=self._harm, low=-reach, high=reach)
        else:
            level = difference_level(self.changes, side=self._harm, widest=self.ends or reach)
        exact = self.exact(None)
        exact_p = exact.p if exact else 1.0
        return exact_p if level is None else min(exact_p, level)

    def _flipped(self, *, of_few: bool = False) -> Exact | None:
        """The test by the signs of clusters, also `of_few` that never prove harm; None where they are too many."""
        from rankgate.statistics import sign_flips  # noqa: PLC0415 -- paid only by clusters

        fewest = 1 if of_few else sign_flips.MIN_CLUSTERS
        flipped = sign_flips.cluster_flip_p(self.changes, self.clusters, side=self._harm, fewest=fewest)
        return None if flipped is None else Exact(*flipped)

    @property
    def _counts(self) -> tuple[int, int] | None:
        """How many queries have all of it in the baseline and now, where nothing lies between none and all."""
        if self.metric.unit is not Unit.SHARE or self.metric.at_quantile is not None:
            return None
        if not {0.0, 1.0}.issuperset([*self.old, *self.new]):
            return None
        return self.old.count(1.0), self.new.count(1.0)

    @property
    def _reach(self) -> float:
        """How far a query can move, as far as the metric says, or else the farthest that one did."""
        return max(self._widest or 0.0, *map(abs, self.changes))

    @property
    def _widest(self) -> float | None:
        """How far a query can move by the range; None where that is open."""
        low, high = range_of(self.metric, self.new, self.old)
        return None if low is None or high is None else high - low

    @property
    def _harm(self) -> Side:
        return "below" if self.metric.direction is Direction.HIGHER else "above"


def paired(
    metric: Metric,
    candidate: Sequence[float | None],
    baseline: Sequence[float | None],
    *,
    clusters: Sequence[str] = (),
    ends: Sequence[float] = (),
    same: bool = False,
) -> Pairs | None:
    """Two columns query by query; None where no query has a value on both sides. Without `same` no lists are equal."""
    both = [_if_both(new, old) for new, old in zip(candidate, baseline, strict=True)]
    new_values = [value for value in both if value is not None]
    if not new_values:
        return None
    return Pairs(
        metric=metric,
        new=new_values,
        old=[old for old, new in zip(baseline, both, strict=True) if old is not None and new is not None],
        clusters=defined_only(clusters, both),
        ends=list(ends),
        same=same,
    )


def paired_scores(metric: Metric, candidate: Scores, baseline: Scores) -> Pairs | None:
    """The pairs of two runs under one gold."""
    new = candidate.values[metric.name]
    old = baseline_column(metric, baseline)
    return paired(
        metric,
        new,
        old,
        clusters=candidate.clusters,
        ends=attainable(metric, candidate, list(map(_if_both, new, old))),
        same=same_lists(metric, candidate, baseline),
    )


def compare(
    metric: Metric,
    candidate: Sequence[float | None],
    baseline: Sequence[float | None],
    *,
    with_interval: bool = True,
    clusters: Sequence[str] = (),
    same: bool = False,
) -> Comparison | None:
    """Compare two columns query by query; None where no query has a value on both sides."""
    pairs = paired(metric, candidate, baseline, clusters=clusters, same=same)
    if pairs is None:
        return None
    return pairs.compared(CONFIDENCE if with_interval else None)


def on_rows(scores: Scores, rows: Sequence[int]) -> Scores:
    """The scores of some of the queries."""
    query_ids = tuple(scores.query_ids[row] for row in rows)
    return msgspec.structs.replace(
        scores,
        query_ids=query_ids,
        values={name: [column[row] for row in rows] for name, column in scores.values.items()},
        uncut={name: [column[row] for row in rows] for name, column in scores.uncut.items()},
        lists={name: [column[row] for row in rows] for name, column in scores.lists.items()},
        with_judge={},
        clusters=tuple(scores.clusters[row] for row in rows) if scores.clusters else (),
        missing=scores.missing & set(query_ids),
        new_queries=scores.new_queries & set(query_ids),
    )


def _if_both(one: float | None, other: float | None) -> float | None:
    return None if other is None else one
