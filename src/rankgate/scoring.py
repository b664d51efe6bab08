"""Matched queries × metrics → scores: per query first, then the run's values with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from rankgate.errors import bad_input, shown
from rankgate.matching import BY_CHUNK, DEFAULT_K, Matching, match
from rankgate.metrics.base import Metric, needs_of
from rankgate.model import Gold, Interval, MatchedQuery, Need, Ranking, Sample, Scores
from rankgate.statistics.quantiles import quantile, quantile_interval
from rankgate.statistics.saddlepoint import mean_interval

CONFIDENCE = 0.95


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """How a rate is spread over the queries: shares at 0, in between and at 1, and the three quartiles.

    A mean of 0.5 may be half of everything for every query, or all for one half and nothing for the other.
    """

    zero: float
    between: float
    one: float
    quartiles: tuple[float, float, float]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A run's value of one metric: over `n` defined queries, with `undefined` others left out.

    `ci` is the 95 % interval; None where the data support none, and a None bound where they do not support that one.
    `distribution` goes with metrics from 0 to 1.
    """

    value: float
    n: int
    undefined: int
    ci: Interval | None = None
    distribution: Distribution | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to compute of a run, and how.

    Attributes:
        metrics: what to compute.
        depth: the lists are cut here (see `match`).
        default_k: see `match`.
        how: what makes an item a document of the gold.
        keep_matched: keep the matched queries, for reports that name documents.
        baseline_ids: the baseline's lists by query, for metrics that compare with them.
    """

    metrics: Sequence[Metric]
    depth: int | None = None
    default_k: int = DEFAULT_K
    how: Matching = BY_CHUNK
    keep_matched: bool = False
    baseline_ids: Mapping[str, Sequence[str]] = {}

    @property
    def needs(self) -> frozenset[Need]:
        """What is read beyond ids and gains."""
        return needs_of(self.metrics) | self.how.needs


def score(gold: Gold, rankings: Iterable[Ranking], plan: Plan) -> Scores:
    """Score a run, reading each ranking once.

    A gold query that the run lacks takes each metric's worst value, except where the metric is undefined for it
    anyway; an empty list is not absent. A ranking without a gold query is counted and ignored.
    """
    tally = Tally(gold, plan)
    tally.add(rankings)
    return total(gold, plan, tally)


class Tally:
    """The scores of a run, or of a part of one, as they come in: one column a metric, one row a gold query."""

    def __init__(self, gold: Gold, plan: Plan) -> None:
        self.gold = gold
        self.plan = plan
        self.rows = {query_id: row for row, query_id in enumerate(gold.samples)}
        self.columns: list[list[float | None]] = [[None] * len(self.rows) for _ in plan.metrics]
        judged = any(sample.judge_gains for sample in gold.samples.values())
        self.with_judge: list[list[float | None]] = [[None] * len(self.rows) for _ in plan.metrics] if judged else []
        self.seen = bytearray(len(self.rows))
        self.matched: dict[str, MatchedQuery] = {}
        self.strangers: list[str] = []
        self.duplicates = self.cut = 0
        self.silent: dict[Need, str] = {}  # what no ranking has stated so far, and the first that could have
        self.stated: set[Need] = set()

    def add(self, rankings: Iterable[Ranking]) -> None:
        """Score these rankings."""
        plan, samples, rows = self.plan, self.gold.samples, self.rows
        depth, default_k, needs, how = plan.depth, plan.default_k, plan.needs, plan.how
        compute = [(column, metric.per_query) for column, metric in zip(self.columns, plan.metrics, strict=True)]
        asked = [need for need in needs if need in STATED]
        for ranking in rankings:
            query_id = ranking.query_id
            sample = samples.get(query_id)
            if sample is None:
                self.strangers.append(query_id)
                continue
            self.duplicates += ranking.duplicates
            if depth is not None and len(ranking.ids) > depth:
                self.cut += 1
            before = plan.baseline_ids.get(query_id) if plan.baseline_ids else None
            query = match(sample, ranking, depth=depth, default_k=default_k, how=how, needs=needs, baseline_ids=before)
            row = rows[query_id]
            self.seen[row] = 1
            for column, per_query in compute:
                column[row] = per_query(query)
            if self.with_judge:
                self._add_judged(row, sample, ranking, before)
            if plan.keep_matched:
                self.matched[query_id] = query
            if len(self.stated) < len(asked):
                self._listen(ranking, asked)

    def _add_judged(self, row: int, sample: Sample, ranking: Ranking, before: Sequence[str] | None) -> None:
        plan = self.plan
        if not sample.judge_gains:
            for judged, column in zip(self.with_judge, self.columns, strict=True):
                judged[row] = column[row]
            return
        query = match(
            with_judge(sample),
            ranking,
            depth=plan.depth,
            default_k=plan.default_k,
            how=plan.how,
            needs=plan.needs,
            baseline_ids=before,
        )
        for judged, metric in zip(self.with_judge, plan.metrics, strict=True):
            judged[row] = metric.per_query(query)

    def _listen(self, ranking: Ranking, asked: Sequence[Need]) -> None:
        for need in asked:
            said = STATED[need](ranking)
            if said:
                self.stated.add(need)
            elif said is not None:
                self.silent.setdefault(need, ranking.query_id)


def _items_state(key: str) -> Callable[[Ranking], bool | None]:
    """Whether any item of a ranking has this; None where it has no item that could."""

    def states(ranking: Ranking) -> bool | None:
        items = ranking.details.items if ranking.details else None
        return any(getattr(item, key) is not None for item in items or ()) if ranking.ids else None

    return states


def _line_states(key: str) -> Callable[[Ranking], bool | None]:
    return lambda ranking: ranking.details is not None and getattr(ranking.details, key) is not None


# Whether a ranking states what a need reads. A document id may be missing: it is part of the item's id then.
STATED: dict[Need, Callable[[Ranking], bool | None]] = {
    Need.TEXTS: _items_state("text"),
    Need.VERSIONS: _items_state("version"),
    Need.ITEM_SCORES: _items_state("score"),
    Need.RAW: _line_states("raw"),
    Need.REWRITES: _line_states("rewrites"),
    Need.LATENCY: _line_states("latency_ms"),
    Need.SOURCE: _line_states("source"),
    Need.ENTITIES: _line_states("entities"),
    Need.SCORES: _line_states("scores"),
}


def ids_of(scores: Scores) -> Mapping[str, Sequence[str]]:
    """The lists of the matched queries, where a metric needed them."""
    return {query_id: query.ids for query_id, query in scores.matched.items() if query.ids}


def with_judge(sample: Sample) -> Sample:
    """The sample with the judge's labels added to the gold's."""
    return msgspec.structs.replace(sample, gains={**sample.judge_gains, **sample.gains})


def total(gold: Gold, plan: Plan, tally: Tally) -> Scores:
    """The scores of a whole run from its tally: what the run lacks is added as worst.

    Raises:
        RankgateError: a metric gave a number that is not finite.
    """
    missing = [query_id for query_id, row in tally.rows.items() if not tally.seen[row]]
    for query_id in missing:
        sample, row = gold.samples[query_id], tally.rows[query_id]
        for columns, judged in ((tally.columns, sample), (tally.with_judge, with_judge(sample))):
            if columns:
                nothing = match(judged, Ranking(query_id, []), default_k=plan.default_k, needs=plan.needs)
                for column, metric in zip(columns, plan.metrics, strict=True):
                    column[row] = metric.absent(nothing)
    for metric, column in zip(plan.metrics, tally.columns, strict=True):
        _refuse_infinite(metric, column, list(tally.rows))
    names = [metric.name for metric in plan.metrics]
    return Scores(
        query_ids=tuple(tally.rows),
        values=dict(zip(names, tally.columns, strict=True)),
        with_judge=dict(zip(names, tally.with_judge, strict=True)) if tally.with_judge else {},
        matched=tally.matched,
        missing=frozenset(missing),
        strangers=tuple(tally.strangers),
        duplicates=tally.duplicates,
        cut=tally.cut,
        silent={need: query_id for need, query_id in tally.silent.items() if need not in tally.stated},
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


def refuse_silence(scores: Scores, plan: Plan, name: str) -> None:
    """A metric that reads what the run never states would be undefined everywhere: an error, with what to add.

    Raises:
        RankgateError: the run states nowhere what a metric, or the matching, needs.
    """
    readers = [(f"the metric {metric.name}", metric.needs) for metric in plan.metrics]
    readers.append((f"`match: {plan.how.by.value}`", plan.how.needs))
    for need, query_id in scores.silent.items():
        reader = next(reader for reader, needs in readers if need in needs)
        raise bad_input(
            f"{reader} reads `{need.value}`, which the run states nowhere: query {shown(query_id)} and the "
            f"{len(scores.query_ids) - len(scores.missing) - 1} others have none; write it into the run, or leave out "
            "what reads it",
            file=name,
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
        distribution=distribution(defined) if (metric.low, metric.high) == (0.0, 1.0) else None,
    )


def distribution(defined: Sequence[float]) -> Distribution:
    """How values from 0 to 1, of which there is at least one, are spread."""
    defined, count = sorted(defined), len(defined)
    zero, one = sum(value <= 0 for value in defined) / count, sum(value >= 1 for value in defined) / count
    lower, median, upper = (quantile(defined, share) for share in (0.25, 0.5, 0.75))
    return Distribution(zero=zero, between=1 - zero - one, one=one, quartiles=(lower, median, upper))


def interval(defined: Sequence[float], metric: Metric) -> Interval | None:
    """The 95 % interval of a metric's value: of the mean, or of the quantile that it takes.

    None where a value is not finite, as a faulty metric of a package could make it.
    """
    if not all(map(math.isfinite, defined)):
        return None
    if metric.at_quantile is not None:
        return quantile_interval(defined, metric.at_quantile, confidence=CONFIDENCE)
    return mean_interval(defined, low=metric.low, high=metric.high, confidence=CONFIDENCE)
