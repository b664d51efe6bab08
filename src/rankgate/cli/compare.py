"""`rankgate compare`: two runs on the same questions, without a gate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgate.cli.options import add_criteria, add_gold, add_match, add_workers, make_parser, processes
from rankgate.cli.score import DEFAULT_METRICS

if TYPE_CHECKING:
    from rankgate.metrics.base import Metric
    from rankgate.metrics.comparison import Comparison
    from rankgate.metrics.estimates import Estimate
    from rankgate.model.values import Scores
    from rankgate.renderers.blocks import Block


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "compare",
        "Compare two runs query by query: A is the one before, B the one after. Either may be a baseline directory.",
        [
            "rankgate compare old.jsonl new.jsonl --gold gold.yaml",
            "rankgate compare baseline/ run.jsonl --gold gold.yaml --metrics recall@1,5,20 --format json",
        ],
    )
    made.add_argument("a", metavar="A", help="the run before")
    made.add_argument("b", metavar="B", help="the run after")
    add_gold(made, parts=True)
    add_criteria(made)
    made.add_argument(
        "--metrics", metavar="LIST", default=DEFAULT_METRICS, help=f"comma-separated (default: {DEFAULT_METRICS})"
    )
    add_match(made)
    made.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    add_workers(made)
    return made


def run(arguments: argparse.Namespace) -> int:
    """Score both, pair them, print."""
    from functools import partial

    from msgspec.structs import replace

    from rankgate.cli.inputs import criteria_if_any, file_of, open_store, plan_of, refuse_two_stdins
    from rankgate.cli.output import say
    from rankgate.cli.progress import bar
    from rankgate.criteria import InputFile
    from rankgate.criteria.inputs import deepest_cutoff, gold_of, named_run
    from rankgate.diagnosis.notes import part_notes
    from rankgate.metrics.comparison import baseline_column, compare, same_lists
    from rankgate.metrics.estimates import estimate
    from rankgate.metrics.scored_run import listed, scored
    from rankgate.metrics.scoring import ids_of, require_fields, require_gold_queries
    from rankgate.model.values import Need

    gold_file, a, b = file_of(arguments, "gold"), InputFile(arguments.a), InputFile(arguments.b)
    refuse_two_stdins(gold_file, a, b)
    workers = processes(arguments)
    criteria = None if gold_file and not arguments.criteria else criteria_if_any(arguments)
    gold = gold_of(gold_file, criteria or criteria_if_any(arguments), arguments.gold_part)  # private is private
    plan = plan_of(arguments, criteria)
    deepest = deepest_cutoff(plan, gold)
    runs = [named_run(file, plan.needs, deepest=deepest, open_store=open_store) for file in (a, b)]
    # Both lists end where the shorter store cut them, so that no run is compared on ranks that the other lost.
    depth = min((run.depth for run in runs if run.depth), default=None)
    plan = replace(plan, depth=depth, keep_matched=Need.BASELINE in plan.needs)
    sides = []
    for file, opened in zip((a, b), runs, strict=True):
        again = partial(named_run, file, needs=plan.needs, deepest=deepest, open_store=open_store)
        sides.append(scored(gold, opened, plan, again, workers=workers, watch=bar))
        scores = sides[-1].scores
        require_gold_queries(scores, opened.name, gold)
        if opened.depth is None:  # a stored baseline keeps what its gates read, and cannot be asked for more
            require_fields(scores, plan, opened.name)
        plan = replace(plan, baseline_ids=ids_of(scores, plan))
    before, after = (side.scores for side in sides)
    before = listed(gold, plan, sides[1], sides[0]) or before
    found: list[tuple[Metric, Comparison | Estimate | None]] = [
        (
            metric,
            estimate(baseline_column(metric, after), metric, clusters=after.clusters)
            if Need.BASELINE in metric.needs
            else compare(
                metric,
                baseline_column(metric, after),
                baseline_column(metric, before),
                clusters=after.clusters,
                same=partial(same_lists, metric, after, before),
            ),
        )
        for metric in plan.metrics
    ]
    absent = [(side.run.name, len(side.scores.missing)) for side in sides]
    lines = [*_absent(absent), *part_notes(gold)]
    say(_json(found, after, before) if arguments.format == "json" else [_table(found), *lines])
    return 0


def _table(found: Sequence[tuple[Metric, Comparison | Estimate | None]]) -> Block:
    from rankgate.metrics.estimates import Estimate
    from rankgate.model.wording import delta_text, interval_text, value_text
    from rankgate.renderers.blocks import Table
    from rankgate.renderers.phrases import NOTHING

    rows: list[tuple[str, ...]] = [("metric", "A", "B", "change", "95% interval", "better", "worse", "same")]
    for metric, pairs in found:
        if isinstance(pairs, Estimate):  # it compares with A by itself
            value, ci = value_text(pairs.value, metric.unit), interval_text(pairs.ci, metric.unit) or NOTHING
            rows.append((metric.name, NOTHING, value, NOTHING, ci, *[NOTHING] * 3))
            continue
        if pairs is None:
            rows.append((metric.name, *[NOTHING] * 7))
            continue
        unit = metric.unit
        rows.append(
            (
                metric.name,
                value_text(pairs.baseline, unit),
                value_text(pairs.value, unit),
                delta_text(pairs.delta, unit),
                interval_text(pairs.ci, unit, change=True) or NOTHING,
                *map(str, (pairs.better, pairs.worse, pairs.n_pairs - pairs.better - pairs.worse)),
            )
        )
    return Table(rows=rows, right=(1, 2, 3, 5, 6, 7))


def _absent(absent: Sequence[tuple[str, int]]) -> list[str]:
    """Which questions could not be compared: leaving out the hard ones is no improvement."""
    from rankgate.errors import on_one_line
    from rankgate.model.wording import count_text

    found = [(name, count) for name, count in absent if count]
    lines = [
        f"{count_text(count, 'query is', 'queries are')} absent from {on_one_line(name)}, and not compared."
        for name, count in found
    ]
    return ["", *lines] if lines else []


def _described(found: Comparison | Estimate | None) -> dict[str, Any] | None:
    from rankgate.metrics.estimates import Estimate

    if found is None:
        return None
    if isinstance(found, Estimate):
        return {"a": None, "b": found.value, "delta": None, "ci": found.ci, "n_pairs": found.n}
    return {
        "a": found.baseline,
        "b": found.value,
        "delta": found.delta,
        "ci": found.ci,
        "n_pairs": found.n_pairs,
        "better": found.better,
        "worse": found.worse,
    }


def _json(found: Sequence[tuple[Metric, Comparison | Estimate | None]], after: Scores, before: Scores) -> str:
    import msgspec

    value: dict[str, Any] = {
        "metrics": {metric.name: _described(pairs) for metric, pairs in found},
        "queries": {
            "total": len(after.query_ids),
            "missing_a": len(before.missing),
            "missing_b": len(after.missing),
        },
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
