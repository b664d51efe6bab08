"""A table of values per query becomes the scores that its run would have, as far as values tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from rankgate.errors import Problem, bad_input, did_you_mean, shown
from rankgate.metrics.base import Metric, Together, is_ours, sees_hits_alone
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import Tally, defined_by_gold, total
from rankgate.model.scores import RankSummary, Scores
from rankgate.model.values import LINE_KEYS, TOLERANCE, Gold, Ranking
from rankgate.readers.base import Choose, ProblemLog, Values

MAX_NAMES = 20  # of columns, in a message


def score_table(gold: Gold, read: Callable[[Choose], Values], name: str, plan: Plan) -> Scores:
    """The scores of a run of which only a table of values is known; `name` is what messages call it.

    A gold query that the table lacks, or calls missing, is one that the run lacks. Null is an undefined value, or of a
    metric that reads more of a run's line than its results one that the line lacks. Of the lists nothing is known: they
    equal no others, and their rank_summaries have no ranks. NaN is null where lines state the value, as scores of
    another tool, and elsewhere an error.

    Raises:
        RankgateError: the table cannot be read, lacks a metric, or has a value that this gold set rules out.
    """
    values = read(partial(_columns, plan.metrics))
    log, tally = ProblemLog(), Tally(gold, plan)
    tally.with_judge = []  # of documents that only a judge has labelled, no value tells
    tally.unknown_queries = [each for each in values.rows if each not in gold.samples]
    together = Together(plan.metrics)
    for row, (query_id, sample) in enumerate(gold.samples.items()):
        table_row = values.rows.get(query_id)
        if table_row is None or query_id in values.missing:
            continue
        tally.seen[row] = 1
        empty = tally.match(sample, Ranking(query_id, []))
        cells = zip(plan.metrics, tally.columns, table_row, together.values(empty), strict=True)
        for metric, column, written, of_nothing in cells:
            of_line = bool(metric.needs & LINE_KEYS.keys())
            value = None if of_line and written is not None and math.isnan(written) else written
            if flaw := _flaw(metric, value, of_nothing):
                log.add(Problem(f"query {shown(query_id)}: {flaw}", name))
            if value is None and of_line and defined_by_gold(metric, empty):
                tally.givers.setdefault(metric.name, {})[query_id] = None
            column[row] = value
        summary = RankSummary((None,) * len(empty.ideal), None, empty.k)  # most have an earlier one's shape
        tally.rank_summaries[row] = tally.alike.setdefault(summary, summary)
    log.raise_if_any()
    unasked: frozenset[str] = frozenset()
    if any(tally.rank_summaries):  # a table without one question of the gold set is another's
        unasked = frozenset(gold.samples.keys() - values.rows.keys())
    return replace(total(gold, plan, tally), lists={}, unasked=unasked)


def _columns(metrics: Sequence[Metric], present: Sequence[str], name: str) -> list[str]:
    """The column of each metric, in any spelling of its name."""
    known: dict[str, list[str]] = {}
    for column in present:
        with suppress(UnknownMetricError):
            known.setdefault(parse_metric(column).name, []).append(column)
    wanted = [metric.name for metric in metrics]
    if lacking := [each for each in wanted if each not in known]:
        near = did_you_mean(lacking[0], known) if len(lacking) == 1 else ""
        more = ", …" if len(present) > MAX_NAMES else ""
        columns = f"found: {', '.join(map(shown, present[:MAX_NAMES])) or 'nothing'}{more}"
        what = f"has no column of {', '.join(lacking)}, which {'is' if len(lacking) == 1 else 'are'} gated{near}"
        raise bad_input(f"{what} ({columns}); compute the table with these metrics", file=name)
    if twice := next((known[each] for each in wanted if len(known[each]) > 1), None):
        raise bad_input(f"{' and '.join(map(shown, twice))} are columns of the same metric; keep one", file=name)
    return [known[each][0] for each in wanted]


def _flaw(metric: Metric, value: float | None, of_nothing: float | None) -> str | None:
    """What is wrong with a value, by that of an empty list: where the gold set defines that, it defines any."""
    low, high = metric.low, metric.high
    if value is None:
        if of_nothing is None or not is_ours(metric):
            return None
        return f"{metric.name} is null, and the gold set defines it; for an empty list it is {of_nothing:g}"
    if math.isnan(value):
        return f"{metric.name} is NaN; write null where it is undefined"
    if of_nothing is None and sees_hits_alone(metric):
        return f"{metric.name} is {value:g}, and the gold set has nothing relevant for it; write null"
    if (low is not None and value < low - TOLERANCE) or (high is not None and value > high + TOLERANCE):
        ends = f"from {low:g} to {high:g}" if low is not None and high is not None else f"from {low or 0:g} up"
        return f"{metric.name} is {value:g}; its values go {ends}"
    return None
