"""`rankgate compare`: two runs on the same questions, without a gate."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from rankgate.cli.inputs import criteria_if_any, file_of, open_store, plan_of, refuse_two_stdins
from rankgate.cli.options import add_criteria, add_gold, add_metrics, add_workers, make_parser, processes
from rankgate.cli.output import as_json, say
from rankgate.cli.progress import bar
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import deepest_cutoff, gold_of, named_run
from rankgate.diagnosis.notes import part_notes
from rankgate.errors import on_one_line
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, baseline_column, compare, same_lists
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import listed, scored
from rankgate.metrics.scoring import Tally, ids_of, require_fields, require_gold_queries
from rankgate.model.values import Gold, Need, Ranking, Scores
from rankgate.model.wording import count_text, delta_text, interval_text, value_text
from rankgate.renderers.blocks import Table
from rankgate.renderers.phrases import NOTHING

Compared = Comparison | Estimate | None  # an estimate where the metric compares with A by itself


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "compare",
        "Compare two runs query by query: A is the one before, B the one after. Either may be a baseline directory.",
        "rankgate compare old.jsonl new.jsonl --gold gold.yaml",
        "rankgate compare baseline/ run.jsonl --gold gold.yaml --metrics recall@1,5,20 --format json",
    )
    options.add_argument("a", metavar="A", help="the run before")
    options.add_argument("b", metavar="B", help="the run after")
    add_gold(options, parts=True)
    add_criteria(options)
    add_metrics(options)
    options.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    add_workers(options)
    return options


def run(arguments: argparse.Namespace) -> int:
    """Score both, pair them, print."""
    gold_file, a, b = file_of(arguments, "gold"), InputFile(arguments.a), InputFile(arguments.b)
    refuse_two_stdins(gold_file, a, b)
    workers = processes(arguments)
    criteria = None if gold_file and not arguments.criteria else criteria_if_any(arguments)
    gold = gold_of(gold_file, criteria or criteria_if_any(arguments), arguments.gold_part)  # private is private
    plan = plan_of(arguments, criteria)
    read = partial(named_run, needs=plan.needs, deepest=deepest_cutoff(plan, gold), open_store=open_store)
    runs = [read(a), read(b)]
    # Both lists end where the shorter store cut them, so that no run is compared on ranks that the other lost.
    depth = min((run.depth for run in runs if run.depth), default=None)
    plan = replace(plan, depth=depth, keep_matched=Need.BASELINE in plan.needs)
    scored_runs = []
    for file, opened in zip((a, b), runs, strict=True):
        scored_runs.append(scored(gold, opened, plan, partial(read, file), workers=workers, watch=bar))
        scores = scored_runs[-1].scores
        require_gold_queries(scores, opened.name, gold)
        if opened.depth is None:  # a stored baseline keeps what its gates read, and cannot be asked for more
            require_fields(scores, plan, opened.name)
        plan = replace(plan, baseline_ids=ids_of(scores, plan))
    before, after = (each.scores for each in scored_runs)
    before = listed(gold, plan, scored_runs[1], scored_runs[0]) or before
    compared = [(metric, _compared(metric, before, after)) for metric in plan.metrics]
    if arguments.format == "json":
        queries = {"total": len(after.query_ids), "missing_a": len(before.missing), "missing_b": len(after.missing)}
        described = {metric.name: in_numbers(pairs) for metric, pairs in compared}
        say(as_json({"metrics": described, "queries": queries}))
        return 0
    absent = absent_lines([(each.run.name, len(each.scores.missing)) for each in scored_runs])
    say([comparison_table(compared), *([""] if absent else []), *absent, *part_notes(gold)])
    return 0


def absent_lines(absent: Sequence[tuple[str, int]]) -> list[str]:
    """Which questions could not be compared: leaving out the hard ones is no improvement."""
    return [
        f"{count_text(count, 'query is', 'queries are')} absent from {on_one_line(name)}, and not compared."
        for name, count in absent
        if count
    ]


def _compared(metric: Metric, before: Scores, after: Scores) -> Compared:
    column, same = baseline_column(metric, after), partial(same_lists, metric, after, before)
    if Need.BASELINE in metric.needs:
        return estimate(column, metric, clusters=after.clusters)
    return compare(metric, column, baseline_column(metric, before), clusters=after.clusters, same=same)


def compared_with(
    gold: Gold, plan: Plan, scores: Scores, changed: Mapping[str, Ranking]
) -> Iterator[tuple[Metric, Compared]]:
    """A run's scores with those that it has with other lists for some of its queries."""
    tally = Tally(gold, plan)
    tally.add(changed.values())
    again = [query_id in changed for query_id in scores.query_ids]
    for metric, column in zip(plan.metrics, tally.columns, strict=True):
        old = scores.values[metric.name]
        new = [after if other else before for after, before, other in zip(column, old, again, strict=True)]
        yield metric, compare(metric, new, old, clusters=scores.clusters)


def comparison_table(compared: Iterable[tuple[Metric, Compared]], before: str = "A", after: str = "B") -> Table:
    """A row a metric."""
    rows = [(metric.name, *_cells(metric, pairs)) for metric, pairs in compared]
    head = ("metric", before, after, "change", "95% interval", "better", "worse", "same")
    return Table(rows=[head, *rows], right=(1, 2, 3, 5, 6, 7))


def _cells(metric: Metric, pairs: Compared) -> Sequence[str]:
    unit = metric.unit
    if pairs is None:
        return [NOTHING] * 7
    value, ci = value_text(pairs.value, unit), pairs.ci
    if isinstance(pairs, Estimate):
        return (NOTHING, value, NOTHING, interval_text(ci, unit) or NOTHING, *[NOTHING] * 3)
    change = (delta_text(pairs.delta, unit), interval_text(ci, unit, change=True) or NOTHING)
    same = pairs.n_pairs - pairs.better - pairs.worse
    return (value_text(pairs.baseline, unit), value, *change, *map(str, (pairs.better, pairs.worse, same)))


def in_numbers(pairs: Compared) -> dict[str, Any] | None:
    """As plain values; None where no query has a value in both."""
    if pairs is None:
        return None
    if isinstance(pairs, Estimate):
        return {"a": None, "b": pairs.value, "delta": None, "ci": pairs.ci, "n_pairs": pairs.n}
    change = {"a": pairs.baseline, "b": pairs.value, "delta": pairs.delta, "ci": pairs.ci, "n_pairs": pairs.n_pairs}
    return {**change, "better": pairs.better, "worse": pairs.worse}
