"""Matched queries × metrics → scores: per query first, then the run's values with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from rankgate.errors import bad_input, shown
from rankgate.metrics.base import Metric, Together
from rankgate.metrics.matching import match
from rankgate.metrics.plan import Plan
from rankgate.model.values import LINE_KEYS, Details, Gold, MatchedQuery, Need, Outline, Ranking, Sample, Scores


def score(gold: Gold, rankings: Iterable[Ranking], plan: Plan) -> Scores:
    """Score a run, reading each ranking once.

    A gold query that the run lacks takes each metric's worst value, except where the metric is undefined for it
    anyway; an empty list is not absent. A ranking without a gold query is counted and ignored.
    """
    tally = Tally(gold, plan)
    tally.add(rankings)
    return total(gold, plan, tally)


class Tally:
    """The scores of a run, or of a part of one, as they come in: one column a metric, one row a gold query.

    Readers that check everything give each query once. One that came again is noted in `again`, since the values then
    are those of whichever list came last.
    """

    def __init__(self, gold: Gold, plan: Plan) -> None:
        self.gold = gold
        self.plan = plan
        self.needs = plan.needs
        self.match = partial(match, depth=plan.depth, default_k=plan.default_k, how=plan.how, needs=self.needs)
        self.rows = {query_id: row for row, query_id in enumerate(gold.samples)}
        self.columns: list[list[float | None]] = [[None] * len(self.rows) for _ in plan.metrics]
        judged = any(sample.judge_gains for sample in gold.samples.values())
        self.with_judge: list[list[float | None]] = [[None] * len(self.rows) for _ in plan.metrics] if judged else []
        self.seen = bytearray(len(self.rows))
        self.again = False
        self.matched: dict[str, MatchedQuery] = {}
        self.outlines: dict[str, Outline] = {}
        self.alike: dict[Any, Any] = {}  # most queries have their hits where an earlier one had them
        self.unknown_queries: list[str] = []
        self.duplicates = self.cut = 0
        self.unstated: dict[Need, str] = {}  # what no ranking has stated so far, and the first that could have
        self.stated: set[Need] = set()
        self.of_lines = [metric for metric in plan.metrics if metric.needs & LINE_KEYS.keys()]
        self.givers: dict[str, dict[str, str | None]] = {}

    def add(self, rankings: Iterable[Ranking]) -> None:
        """Score these rankings."""
        plan, samples, rows, seen = self.plan, self.gold.samples, self.rows, self.seen
        depth, needs = plan.depth, self.needs
        columns, values = self.columns, Together(plan.metrics).values
        asked = [need for need in STATED if need in needs]
        for ranking in rankings:
            query_id = ranking.query_id
            sample = samples.get(query_id)
            if sample is None:
                self.unknown_queries += [] if query_id in self.gold.left_out else [query_id]
                continue
            self.duplicates += ranking.duplicates
            if depth is not None and len(ranking.ids) > depth:
                self.cut += 1
            before = plan.baseline_ids.get(query_id) if plan.baseline_ids else None
            query = self.match(sample, ranking, baseline_ids=before)
            row = rows[query_id]
            if seen[row]:
                self.again = True
            seen[row] = 1
            for column, value in zip(columns, values(query), strict=True):
                column[row] = value
            if self.with_judge:
                self._add_judged(row, sample, ranking, before)
            for metric in self.of_lines:
                self._note(metric, query)
            if plan.keep_matched:
                self._keep(query, sample)
            if len(self.stated) < len(asked):
                self._listen(ranking, asked)

    def _keep(self, query: MatchedQuery, sample: Sample) -> None:
        found, share = dict(zip(query.found, query.hits, strict=True)), self.alike.setdefault
        ranks = tuple([found[doc][0] if doc in found else None for doc, gain in sample.gains.items() if gain > 0])
        outline = Outline(ranks, query.retrieved, query.k, tuple([rank for rank, _ in query.repeats]))
        self.outlines[sample.query_id] = share(outline, outline)
        if self.needs:
            force_setattr(query, "hits", share(query.hits, query.hits))
            force_setattr(query, "ideal", share(query.ideal, query.ideal))
            self.matched[sample.query_id] = query

    def _add_judged(self, row: int, sample: Sample, ranking: Ranking, before: Sequence[str] | None) -> None:
        if not sample.judge_gains:
            for judged, column in zip(self.with_judge, self.columns, strict=True):
                judged[row] = column[row]
            return
        query = self.match(with_judge(sample), ranking, baseline_ids=before)
        for judged, metric in zip(self.with_judge, self.plan.metrics, strict=True):
            judged[row] = metric.per_query(query)

    def _note(self, metric: Metric, query: MatchedQuery) -> None:
        """That the line lacks what the metric reads of it, where the gold defines the metric, or else who gave it."""
        details, keys = query.details or Details(), metric.needs & LINE_KEYS.keys()
        stated = getattr(metric, "stated", None)  # whether its own entry is there, be it null
        lacks = any(getattr(details, LINE_KEYS[need]) is None for need in keys) or (stated and not stated(details))
        other_list = keys & {Need.RAW, Need.REWRITES}
        defined = bool(query.ideal) if other_list else metric.worst is None or metric.absent(query) is not None
        judge = (details.judges or {}).get(getattr(metric, "field", ""))
        if judge or (lacks and defined):
            self.givers.setdefault(metric.name, {})[query.query_id] = None if lacks else judge

    def _listen(self, ranking: Ranking, asked: Sequence[Need]) -> None:
        for need in asked:
            said = STATED[need](ranking)
            if said:
                self.stated.add(need)
            elif said is not None:
                self.unstated.setdefault(need, ranking.query_id)


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
    Need.ANSWER: _line_states("generated"),
    **{need: _line_states(key) for need, key in LINE_KEYS.items()},
}


def ids_of(scores: Scores, plan: Plan) -> Mapping[str, Sequence[str]]:
    """The lists of the matched queries, empty ones too, where a metric compares with them."""
    if Need.BASELINE not in plan.needs:
        return {}
    return {query_id: query.ids for query_id, query in scores.matched.items()}


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
        before = plan.baseline_ids.get(query_id)
        asked = [(tally.columns, sample)]
        if tally.with_judge:
            asked.append((tally.with_judge, with_judge(sample)))
        for columns, seen in asked:
            nothing = tally.match(seen, Ranking(query_id, []), baseline_ids=before)
            for column, metric in zip(columns, plan.metrics, strict=True):
                column[row] = metric.absent(nothing)
    for metric, column in zip(plan.metrics, tally.columns, strict=True):
        _refuse_infinite(metric, column, list(tally.rows))
    names = [metric.name for metric in plan.metrics]
    # A judge alone does not bring a query into the mean: both values are over the same queries.
    judged = [
        [None if own is None else both for own, both in zip(column, other, strict=True)]
        for column, other in zip(tally.columns, tally.with_judge, strict=False)
    ]
    return Scores(
        query_ids=tuple(tally.rows),
        values=dict(zip(names, tally.columns, strict=True)),
        with_judge=dict(zip(names, judged, strict=True)) if judged else {},
        matched=tally.matched,
        samples=gold.samples,
        outlines=tally.outlines,
        missing=frozenset(missing),
        unknown_queries=tuple(tally.unknown_queries),
        duplicates=tally.duplicates,
        cut=tally.cut,
        clusters=_clusters(gold),
        unstated={need: query_id for need, query_id in tally.unstated.items() if need not in tally.stated},
        givers=tally.givers,
    )


def _clusters(gold: Gold) -> tuple[str, ...]:
    """The cluster of each query, where any has one; a query without is a cluster of its own."""
    samples = gold.samples.values()
    if not any(sample.cluster is not None for sample in samples):
        return ()
    return tuple(
        [f"c {sample.cluster}" if sample.cluster is not None else f"q {sample.query_id}" for sample in samples]
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


def require_fields(scores: Scores, plan: Plan, name: str) -> None:
    """A metric that reads what the run never states would be undefined everywhere: an error, with what to add.

    Raises:
        RankgateError: the run states nowhere what a metric, or the matching, needs.
    """
    readers = [(f"the metric {metric.name}", metric.needs) for metric in plan.metrics]
    readers.append((f"`match: {plan.how.by.value}`", plan.how.needs))
    for need, query_id in scores.unstated.items():
        reader = next((reader for reader, needs in readers if need in needs), None)
        if reader is None:
            continue
        others = len(scores.query_ids) - len(scores.missing) - 1
        none = f"not for query {shown(query_id)}{', nor for any other' if others else ''}"
        message = f"{reader} reads `{need.value}`, which the run states nowhere ({none}); write it into the run"
        raise bad_input(f"{message}, or leave out what reads it", file=name)


def require_gold_queries(scores: Scores, name: str, gold: Gold) -> None:
    """Nothing scored is an error, never a pass.

    Raises:
        RankgateError: the run has no query of the gold.
    """
    if len(scores.missing) < len(scores.query_ids):
        return
    wanted = ", ".join(map(shown, scores.query_ids[:3]))
    found = ", ".join(map(shown, scores.unknown_queries[:3])) or "no query at all"
    raise bad_input(
        f"the run has none of the {len(scores.query_ids)} gold queries: {gold.name} has {wanted}, the run has {found}; "
        "do both use the same query ids?",
        file=name,
    )
