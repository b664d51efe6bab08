"""Matched queries × metrics → scores: per query first, then the run's values with their intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import force_setattr

from rankgate.errors import bad_input, shown
from rankgate.metrics.base import Kind, Metric, Together, is_ours, needs_of, sees_below
from rankgate.metrics.matching import By, match
from rankgate.metrics.plan import Plan, require_kind
from rankgate.model.scores import KeptQueries, MatchedQuery, RankSummary, Scores, StageTimes, Unfit
from rankgate.model.values import LINE_KEYS, MANY, Details, Gold, Ranking, RunField, Sample

if TYPE_CHECKING:
    from rankgate.metrics.drift import ListDigests
    from rankgate.metrics.stated import StatedFields
    from rankgate.model.large_runs import NumberColumn

    Column = list[float | None] | NumberColumn


def score(gold: Gold, rankings: Iterable[Ranking], plan: Plan) -> Scores:
    """Score a run, reading each ranking once.

    A gold query that the run lacks takes each metric's worst value, except where the metric is undefined for it
    anyway; an empty list is not absent. A ranking without a gold query is counted and ignored.
    """
    tally = Tally(gold, plan)
    tally.add(rankings)
    return total(gold, plan, tally)


class Tally:
    """The scores of a run as they come in: one column a metric, one row a gold query.

    A query that came twice is noted in `again`, since the values then are those of whichever list came last.
    """

    def __init__(self, gold: Gold, plan: Plan) -> None:
        self.gold = gold
        self.plan = plan
        self.needs = plan.needs
        self.match = partial(match, depth=plan.depth, default_k=plan.default_k, how=plan.how, needs=self.needs)
        self.query_ids = tuple(gold.samples)
        self.rows = _rows(self.query_ids)
        queries = len(self.query_ids)
        self.columns = [_column(metric, queries) for metric in plan.metrics]
        self.beside = [_column(metric, queries) for metric in plan.beside]
        self.together = Together([*plan.metrics, *plan.beside])
        judged = any(sample.judge_gains for sample in gold.samples.values())
        self.with_judge = [_column(metric, queries) for metric in plan.metrics] if judged else []
        self.deep = [metric for metric in plan.metrics if plan.depth is not None and sees_below(metric)]
        self.below: dict[int, list[float | None]] = {}  # their values by row, of lists that are cut here
        self.lists: ListDigests | None = None
        if plan.compared:
            from rankgate.metrics.drift import ListDigests  # noqa: PLC0415 -- paid only where two runs are compared

            self.lists = ListDigests(plan, queries)
        self.seen = bytearray(queries)
        self.again = False
        self.matched: dict[str, MatchedQuery] = {}
        self.rank_summaries: list[RankSummary | None] = [None] * queries
        self.stage_times = defaultdict[str, StageTimes](StageTimes) if RunField.LATENCY in self.needs else None
        self.keep_queries = bool(plan.also or plan.needs - {RunField.LATENCY})
        by_metrics = needs_of(plan.metrics) | plan.how.needs
        self.most = plan.keep if by_metrics <= {RunField.LATENCY} else None  # items of a list that are kept
        self.alike: dict[Any, Any] = {}  # most queries have their hits where an earlier one had them
        self.unknown_queries: list[str] = []
        self.duplicates = self.cut = 0
        self.stated: StatedFields | None = None
        if self.needs:
            from rankgate.metrics.stated import StatedFields  # noqa: PLC0415 -- paid only where more than ids is read

            self.stated = StatedFields(self.needs)
        self.unfit: dict[str, Unfit] = {}
        of_lines = [(metric, metric.needs & LINE_KEYS.keys()) for metric in plan.metrics]
        self.of_lines = [
            (metric, [LINE_KEYS[need] for need in needs])
            for metric, needs in of_lines
            if needs or hasattr(metric, "stated")
        ]
        self.givers: dict[str, dict[str, str | None]] = {}
        require_kind(gold, plan)

    def add(self, rankings: Iterable[Ranking]) -> None:
        """Score these rankings."""
        plan, samples, rows, seen = self.plan, self.gold.samples, self.rows, self.seen
        depth, lists = plan.depth, self.lists
        columns, values = [*self.columns, *self.beside], self.together.values
        by_span = plan.how.by is By.SPAN
        for ranking in rankings:
            query_id = ranking.query_id
            sample = samples.get(query_id)
            if sample is None:
                self.unknown_queries.append(query_id)
                continue
            self.duplicates += ranking.duplicates
            row = rows[query_id]
            if depth is not None:
                self._note_cut(row, sample, ranking, depth)
            baseline_ids = plan.baseline_ids.get(query_id)
            query = self.match(sample, ranking, baseline_ids=baseline_ids)
            self.again |= bool(seen[row])
            seen[row] = 1
            for column, value in zip(columns, values(query), strict=True):
                column[row] = value
            if by_span:
                self._note_doubt(query, row, baseline_ids)
            if self.with_judge:
                self._add_judged(row, sample, ranking, baseline_ids)
            if self.stated or self.of_lines:
                self._note_line(query, ranking)
            if plan.keep_matched:
                self._keep(query, sample, row)
            if lists:
                lists.add(row, sample, ranking)

    def _keep(self, query: MatchedQuery, sample: Sample, row: int) -> None:
        first_ranks, share = dict(zip(query.found, query.hits, strict=True)), self.alike.setdefault
        ranks = tuple(
            [first_ranks[doc][0] if doc in first_ranks else None for doc, gain in sample.gains.items() if gain > 0]
        )
        summary = RankSummary(ranks, query.retrieved, query.k, tuple([rank for rank, _ in query.repeats]))
        self.rank_summaries[row] = share(summary, summary)
        times = query.details.latency_ms if query.details else None
        if times and self.stage_times is not None:
            for stage, time in times.items():
                if time is not None:
                    self.stage_times[stage].add(row, time)
        if self.keep_queries:
            force_setattr(query, "hits", share(query.hits, query.hits))
            force_setattr(query, "ideal", share(query.ideal, query.ideal))
            if self.most is not None:
                from rankgate.model.large_runs import trim  # noqa: PLC0415 -- paid only where a page shows lists

                trim(query, self.most)
            self.matched[sample.query_id] = query

    def _note_cut(self, row: int, sample: Sample, ranking: Ranking, depth: int) -> None:
        self.cut += len(ranking.ids) > depth
        if self.deep and longest(ranking) > depth:
            uncut = match(sample, ranking, default_k=self.plan.default_k, how=self.plan.how, needs=self.needs)
            self.below[row] = [metric.per_query(uncut) for metric in self.deep]

    def _add_judged(self, row: int, sample: Sample, ranking: Ranking, baseline_ids: Sequence[str] | None) -> None:
        if not sample.judge_gains:
            for judged, column in zip(self.with_judge, self.columns, strict=True):
                judged[row] = column[row]
            return
        query = self.match(with_judge(sample), ranking, baseline_ids=baseline_ids)
        for judged, metric in zip(self.with_judge, self.plan.metrics, strict=True):
            judged[row] = metric.per_query(query)

    def _note_line(self, query: MatchedQuery, ranking: Ranking) -> None:
        if self.stated:
            self.stated.add(ranking)
        for metric, keys in self.of_lines:
            self._note(metric, keys, query)

    def _note(self, metric: Metric, keys: Sequence[str], query: MatchedQuery) -> None:
        """That the line lacks what the metric reads of it, where the gold defines the metric, or else who gave it."""
        details = query.details or Details()
        stated = getattr(metric, "stated", None)  # whether its own entry is there, and not null
        lacks = None in [getattr(details, key) for key in keys] or (stated and not stated(details))
        judge = details.judges.get(getattr(metric, "field", "")) if details.judges else None
        if served := getattr(metric, "served", None):
            judge = served(details)
        if judge or (lacks and defined_by_gold(metric, query)):
            self.givers.setdefault(metric.name, {})[query.query_id] = None if lacks else judge

    def _note_doubt(self, query: MatchedQuery, row: int, baseline_ids: Sequence[str] | None) -> None:
        """That metrics lack a value of the query for what the run shows in place of a passage; it is missing then."""
        from rankgate.metrics.passages import in_doubt  # noqa: PLC0415 -- paid only where passages are matched

        doubt = in_doubt(query)
        if doubt is None:
            return
        query_id = query.query_id
        nothing = self.match(self.gold.samples[query_id], Ranking(query_id, []), baseline_ids=baseline_ids)
        for metric, column in zip(self.plan.metrics, self.columns, strict=True):
            if column[row] is None and defined_by_gold(metric, nothing):
                self.unfit[query_id] = doubt
                self.givers.setdefault(metric.name, {})[query_id] = None


def longest(ranking: Ranking) -> int:
    """The length of the longest of its lists."""
    lengths = [len(ranking.ids)]
    if ranking.details is not None:
        others = (ranking.details.raw, *(ranking.details.rewrites or ()))
        lengths += [len(each.ids) for each in others if each]
    return max(lengths)


def defined_by_gold(metric: Metric, query: MatchedQuery) -> bool:
    """Whether the gold defines a metric of what lines state for the query, whatever its line states."""
    other_list = metric.needs & {RunField.RAW, RunField.REWRITES}
    return bool(query.ideal) if other_list else metric.worst is None or metric.absent(query) is not None


def with_judge(sample: Sample) -> Sample:
    """The sample with the judge's labels added to the gold's."""
    return msgspec.structs.replace(sample, gains={**sample.judge_gains, **sample.gains})


def total(gold: Gold, plan: Plan, tally: Tally) -> Scores:
    """The scores of a whole run from its tally: what the run lacks is added as worst.

    Raises:
        RankgateError: a metric gave a number that is not finite.
    """
    query_ids = tally.query_ids
    missing = [query_id for query_id, seen in zip(query_ids, tally.seen, strict=True) if not seen]
    for query_id in missing:
        sample, row = gold.samples[query_id], tally.rows[query_id]
        by_judge = [(tally.with_judge, with_judge(sample))] if tally.with_judge else []
        for columns, known in [(tally.columns, sample), *by_judge]:
            nothing = tally.match(known, Ranking(query_id, []), baseline_ids=plan.baseline_ids.get(query_id))
            for column, metric in zip(columns, plan.metrics, strict=True):
                column[row] = metric.absent(nothing)
        empty = match(sample, Ranking(query_id, []))
        for column, metric in zip(tally.beside, plan.beside, strict=True):
            column[row] = metric.absent(empty)
    for metric, column in zip(plan.metrics, tally.columns, strict=True):
        _refuse_infinite(metric, column, query_ids)
    names = [metric.name for metric in plan.metrics]
    # A judge alone does not bring a query into the mean: both values are over the same queries.
    judged = [
        [None if own is None else both for own, both in zip(column, other, strict=True)]
        for column, other in zip(tally.columns, tally.with_judge, strict=False)
    ]
    return Scores(
        query_ids=query_ids,
        values=dict(zip(names, tally.columns, strict=True)),
        with_judge=dict(zip(names, judged, strict=True)) if judged else {},
        uncut=_uncut(tally),
        lists=tally.lists.by_metric if tally.lists else {},
        samples=gold.samples,
        kept=KeptQueries(_summaries(tally), tally.matched, tally.stage_times or {}),
        missing=frozenset(missing),
        unknown_queries=tuple(tally.unknown_queries),
        duplicates=tally.duplicates,
        cut=tally.cut,
        clusters=clusters_of(gold),
        unstated=tally.stated.unstated if tally.stated else {},
        givers=tally.givers,
        unfit=tally.unfit,
        beside=dict(zip([metric.name for metric in plan.beside], tally.beside, strict=True)),
    )


def _rows(query_ids: Sequence[str]) -> Mapping[str, int]:
    if len(query_ids) <= MANY:
        return {query_id: row for row, query_id in enumerate(query_ids)}
    from rankgate.model.large_runs import Rows  # noqa: PLC0415 -- paid only by a large gold set

    return Rows(tuple(query_ids))


def _summaries(tally: Tally) -> Mapping[str, RankSummary]:
    if len(tally.query_ids) <= MANY:
        pairs = zip(tally.query_ids, tally.rank_summaries, strict=True)
        return {query_id: summary for query_id, summary in pairs if summary}
    from rankgate.model.large_runs import RankSummaries  # noqa: PLC0415 -- as above

    return RankSummaries(tally.rows, tally.rank_summaries)


def _column(metric: Metric, rows: int) -> Column:
    if metric.kind is not Kind.LATENCY or not is_ours(metric) or rows <= MANY:
        return [None] * rows
    from rankgate.model.large_runs import NumberColumn  # noqa: PLC0415 -- paid only where times are read

    return NumberColumn(rows)


def clusters_of(gold: Gold) -> tuple[str, ...]:
    """The cluster of each query, where any has one; a query without is a cluster of its own."""
    samples = gold.samples.values()
    if all(sample.cluster is None for sample in samples):
        return ()
    return tuple([f"q {each.query_id}" if each.cluster is None else f"c {each.cluster}" for each in samples])


def _uncut(tally: Tally) -> dict[str, list[float | None]]:
    """By metric the column of lists that are not cut, where it differs from that of lists that are."""
    if not tally.below:
        return {}
    columns: dict[str, list[float | None]] = {}
    cut = {metric.name: column for metric, column in zip(tally.plan.metrics, tally.columns, strict=True)}
    for index, metric in enumerate(tally.deep):
        column = [*cut[metric.name]]
        for row, values in tally.below.items():
            column[row] = values[index]
        _refuse_infinite(metric, column, tally.query_ids)
        columns |= {metric.name: column} if column != cut[metric.name] else {}
    return columns


def _refuse_infinite(metric: Metric, column: Sequence[float | None], query_ids: Sequence[str]) -> None:
    """A metric of a package that computes nonsense is named, before it turns a mean into nonsense."""
    if all(map(math.isfinite, filter(None, column))):
        return
    for query_id, value in zip(query_ids, column, strict=True):
        if value is not None and not math.isfinite(value):
            message = f"the metric {metric.name} gave {value} for query {shown(query_id)}"
            raise bad_input(f"{message}; a metric returns a finite number, or None where it is undefined")
