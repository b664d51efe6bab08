"""`rankgate baseline diff`: the queries that moved between two stored runs or run files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.cli.baseline_look import as_json
from rankgate.cli.baseline_options import add_format, add_place, memory_of, place_of
from rankgate.cli.options import add_criteria, add_gold

if TYPE_CHECKING:
    from rankgate.criteria import Criteria
    from rankgate.metrics.base import Metric
    from rankgate.model.values import Need
    from rankgate.readers.base import Run
    from rankgate.renderers.blocks import Block

MAX_LISTED = 20


def add_diff(parser: argparse.ArgumentParser) -> None:
    """The options of `diff`."""
    what = "an id or commit of the history, `accepted`, an anchor's name, or a run file"
    parser.add_argument("a", metavar="A", help=f"before: {what}")
    parser.add_argument("b", metavar="B", help="after: the same")
    parser.add_argument("--metric", metavar="NAME", help="by which they moved (default: the first gate's, or ndcg@10)")
    parser.add_argument("--all", action="store_true", help=f"list all (default: the first {MAX_LISTED})")
    add_place(parser)
    add_gold(parser)
    add_criteria(parser)
    add_format(parser)


def diff(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Score both with today's gold set and list what moved, the losers first."""
    from msgspec.structs import replace

    from rankgate.cli.inputs import criteria_if_any, file_of
    from rankgate.criteria.inputs import deepest_cutoff, gold_of
    from rankgate.diagnosis.movements import movements
    from rankgate.metrics.plan import Plan
    from rankgate.metrics.scored_run import scored
    from rankgate.metrics.scoring import ids_of
    from rankgate.model.wording import value_text
    from rankgate.renderers.blocks import Table
    from rankgate.renderers.escape import shorten, visible
    from rankgate.renderers.phrases import rank_move

    criteria = criteria_if_any(arguments)
    gold = gold_of(file_of(arguments, "gold"), criteria)
    metric = _metric(arguments.metric, criteria)
    plan = replace(criteria.plan(), metrics=[metric]) if criteria else Plan(metrics=[metric], keep_matched=True)
    deepest = deepest_cutoff(plan, gold)
    runs = [_opened(word, arguments, criteria, plan.needs, deepest) for word in (arguments.a, arguments.b)]
    plan = replace(plan, depth=min((run.depth for run in runs if run.depth), default=None))
    before = scored(gold, runs[0], plan, lambda: None)
    plan = replace(plan, baseline_ids=ids_of(before.scores, plan))
    after = scored(gold, runs[1], plan, lambda: None)
    moved = movements(gold, metric, after.scores, before.scores)
    if arguments.format == "json":
        return as_json({"a": runs[0].name, "b": runs[1].name, "metric": metric.name, "moved": moved})
    worse = sum(move.worse for move in moved)
    lines: list[Block] = [f"{metric.name}: {worse} worse, {len(moved) - worse} better, of {len(gold.samples)} queries"]
    listed = moved if arguments.all else moved[:MAX_LISTED]
    rows = [
        (
            shorten(visible(move.query_id), 40),
            value_text(move.before, metric.unit),
            value_text(move.after, metric.unit),
            "; ".join(f"{shorten(visible(doc.id), 40)} {rank_move(doc)}" for doc in move.documents[:3]),
        )
        for move in listed
    ]
    lines += ["", Table(rows=[("query", "A", "B", "documents"), *rows], right=(1, 2))] if rows else []
    if len(moved) > len(listed):
        lines.append(f"  the first {len(listed)} of {len(moved)}; --all lists them")
    return lines


def _metric(named: str | None, criteria: Criteria | None) -> Metric:
    from rankgate.errors import bad_input
    from rankgate.metrics.base import Kind
    from rankgate.metrics.names import UnknownMetricError, parse_metric

    ranked = [gate.metric for gate in criteria.gates if gate.metric.kind is Kind.RELEVANCE] if criteria else []
    if named is None:
        return ranked[0] if ranked else parse_metric("ndcg@10")
    try:
        return parse_metric(named)
    except UnknownMetricError as error:
        raise bad_input(str(error), key="--metric") from error


def _opened(
    word: str, arguments: argparse.Namespace, criteria: Criteria | None, needs: frozenset[Need], deepest: int
) -> Run:
    """A run file where there is one of this name, else a record of the store."""
    from msgspec.structs import replace

    from rankgate.baselines.base import open_record
    from rankgate.baselines.memory import lookup
    from rankgate.readers.formats import read_run

    if Path(word).is_file():
        return read_run(word, needs=needs)
    memory = memory_of(place_of(arguments, criteria))
    record = lookup(memory, word)
    run = open_record(memory, record, needs, deepest=deepest)
    return replace(run, name=f"{memory.spec} {record.name or record.id}")
