"""Matched queries × metrics → scores: per query first, then the run's values with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from rankgate.errors import bad_input, shown
from rankgate.matching import DEFAULT_K, match
from rankgate.metrics.base import Metric
from rankgate.model import Gold, Interval, MatchedQuery, Ranking, Scores
from rankgate.statistics.quantiles import quantile_interval
from rankgate.statistics.saddlepoint import mean_interval

CONFIDENCE = 0.95


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A run's value of one metric: over `n` defined queries, with `undefined` others left out.

    `ci` is the 95 % interval; None where the data support none, and a None bound where they do not support that one.
    """

    value: float
    n: int
    undefined: int
    ci: Interval | None = None


def score(
    gold: Gold,
    rankings: Iterable[Ranking],
    metrics: Sequence[Metric],
    *,
    depth: int | None = None,
    default_k: int = DEFAULT_K,
    keep_matched: bool = False,
) -> Scores:
    """Score a run, reading each ranking once.

    A gold query that the run lacks takes each metric's worst value, except where the metric is undefined for it
    anyway; an empty list is not absent. A ranking without a gold query is counted and ignored.

    Args:
        gold: the gold set.
        rankings: the run, one ranking a query.
        metrics: what to compute.
        depth: the lists are cut here (see `match`).
        default_k: see `match`.
        keep_matched: keep the matched queries, for reports that name documents.
    """
    position = {query_id: index for index, query_id in enumerate(gold.samples)}
    columns: list[list[float | None]] = [[None] * len(position) for _ in metrics]
    compute = [(column, metric.per_query) for column, metric in zip(columns, metrics, strict=True)]
    matched: dict[str, MatchedQuery] = {}
    seen = bytearray(len(position))
    strangers: list[str] = []
    duplicates = cut = 0
    for ranking in rankings:
        sample = gold.samples.get(ranking.query_id)
        if sample is None:
            strangers.append(ranking.query_id)
            continue
        duplicates += ranking.duplicates
        cut += depth is not None and len(ranking.ids) > depth
        query = match(sample, ranking, depth=depth, default_k=default_k)
        index = position[ranking.query_id]
        seen[index] = 1
        for column, per_query in compute:
            column[index] = per_query(query)
        if keep_matched:
            matched[ranking.query_id] = query
    missing = [query_id for query_id, index in position.items() if not seen[index]]
    for query_id in missing:
        nothing = match(gold.samples[query_id], Ranking(query_id, []), default_k=default_k)
        for column, metric in zip(columns, metrics, strict=True):
            if metric.per_query(nothing) is not None:
                column[position[query_id]] = metric.worst
    for metric, column in zip(metrics, columns, strict=True):
        _refuse_infinite(metric, column, list(position))
    return Scores(
        query_ids=tuple(position),
        values={metric.name: column for metric, column in zip(metrics, columns, strict=True)},
        matched=matched,
        missing=frozenset(missing),
        strangers=tuple(strangers),
        duplicates=duplicates,
        cut=cut,
    )


def _refuse_infinite(metric: Metric, column: Sequence[float | None], query_ids: Sequence[str]) -> None:
    """A metric of a package that computes nonsense is named, before it turns a mean into nonsense."""
    if all(map(math.isfinite, filter(None, column))):
        return
    for query_id, value in zip(query_ids, column, strict=True):
        if value is not None and not math.isfinite(value):
            raise bad_input(
                f"the metric {metric.name} gave {value} for query {shown(query_id)}; a metric returns a finite number, "
                "or None where it is undefined"
            )


def refuse_strangers(scores: Scores, name: str, gold: Gold) -> None:
    """Nothing scored is an error, never a pass.

    Raises:
        RankgateError: the run has no query of the gold.
    """
    if len(scores.missing) < len(scores.query_ids):
        return
    wanted = ", ".join(map(shown, scores.query_ids[:3]))
    found = ", ".join(map(shown, scores.strangers[:3])) or "no query at all"
    raise bad_input(
        f"the run has none of the {len(scores.query_ids)} gold queries: {gold.name} has {wanted}, the run has {found}; "
        "do both use the same query ids?",
        file=name,
    )


def estimate(values: Sequence[float | None], metric: Metric) -> Estimate | None:
    """The run's value over the queries where the metric is defined; None where it is defined nowhere."""
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    return Estimate(
        value=metric.aggregate(defined),
        n=len(defined),
        undefined=len(values) - len(defined),
        ci=interval(defined, metric),
    )


def interval(defined: Sequence[float], metric: Metric) -> Interval | None:
    """The 95 % interval of a metric's value: of the mean, or of the quantile that it takes.

    None where a value is not finite, as a faulty metric of a package could make it.
    """
    if not all(map(math.isfinite, defined)):
        return None
    if metric.at_quantile is not None:
        return quantile_interval(defined, metric.at_quantile, confidence=CONFIDENCE)
    return mean_interval(defined, low=metric.low, high=metric.high, confidence=CONFIDENCE)
