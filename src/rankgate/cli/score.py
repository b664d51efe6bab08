"""`rankgate score`: metrics of one run, without a gate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.cli.options import add_criteria, add_gold, add_match, add_run, add_workers, make_parser, processes

if TYPE_CHECKING:
    from rankgate.metrics.base import Metric
    from rankgate.metrics.estimates import Estimate
    from rankgate.model.values import Scores
    from rankgate.renderers.blocks import Block

DEFAULT_METRICS = "hit@5,recall@5,recall@10,precision@5,mrr,map,ndcg@10"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "score",
        "Compute metrics of a run against the gold set. No criteria are needed; their `inputs:` serve where a flag is\n"
        "missing.",
        [
            "rankgate score --gold gold.yaml --run run.jsonl",
            "rankgate score --gold qrels.txt --run run.trec --metrics 'recall@1,3,5,10,ndcg(gain=exponential)@10'",
            "rankgate score --gold gold.yaml --run run.jsonl --per-query scores.jsonl --format json",
        ],
    )
    add_gold(made, parts=True)
    add_run(made)
    add_criteria(made)
    made.add_argument(
        "--metrics", metavar="LIST", default=DEFAULT_METRICS, help=f"comma-separated (default: {DEFAULT_METRICS})"
    )
    add_match(made)
    made.add_argument("--per-query", metavar="FILE", help="also write one JSON line a query")
    made.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    add_workers(made)
    return made


def run(arguments: argparse.Namespace) -> int:
    """Score and print."""
    from rankgate.cli.inputs import criteria_if_any, file_of, plan_of, refuse_two_stdins
    from rankgate.cli.output import say
    from rankgate.cli.progress import bar
    from rankgate.criteria.inputs import gold_of, run_of
    from rankgate.diagnosis.notes import part_notes
    from rankgate.errors import bad_input
    from rankgate.files.writing import write_atomic
    from rankgate.metrics.estimates import estimate
    from rankgate.metrics.parallel import score_run
    from rankgate.metrics.scoring import require_fields, require_gold_queries
    from rankgate.model.values import Need

    gold_file, run_file = file_of(arguments, "gold"), file_of(arguments, "run")
    refuse_two_stdins(gold_file, run_file)
    workers = processes(arguments)
    criteria = None if gold_file and run_file and not arguments.criteria else criteria_if_any(arguments)
    plan = plan_of(arguments, criteria)
    if any(Need.BASELINE in metric.needs for metric in plan.metrics):
        compared = next(metric.name for metric in plan.metrics if Need.BASELINE in metric.needs)
        raise bad_input(f"{compared} compares with a baseline; use `rankgate compare A B`", key="--metrics")
    gold = gold_of(gold_file, criteria or criteria_if_any(arguments), arguments.gold_part)  # private is private
    opened = run_of(run_file, criteria, plan.needs)
    scores = score_run(gold, opened, plan, workers=workers, watch=bar)
    require_gold_queries(scores, opened.name, gold)
    require_fields(scores, plan, opened.name)
    estimates = {
        metric.name: estimate(scores.values[metric.name], metric, clusters=scores.clusters) for metric in plan.metrics
    }
    if arguments.per_query:
        write_atomic(arguments.per_query, per_query_lines(scores))
    say(
        _json(plan.metrics, estimates, scores)
        if arguments.format == "json"
        else [*_table(plan.metrics, estimates, scores), *part_notes(gold)]
    )
    return 0


def per_query_lines(scores: Scores) -> bytes:
    """JSONL, `{"query_id": …, "scores": {"recall@5": 0.5, "mrr": null}}` in gold order; null where undefined."""
    import msgspec

    encode = msgspec.json.Encoder().encode
    lines = (
        encode({"query_id": query_id, "scores": {name: column[index] for name, column in scores.values.items()}})
        for index, query_id in enumerate(scores.query_ids)
    )
    return b"".join(line + b"\n" for line in lines)


def _json(metrics: Sequence[Metric], estimates: dict[str, Estimate | None], scores: Scores) -> str:
    import msgspec

    from rankgate.diagnosis.notes import judged_value

    total = len(scores.query_ids)
    nothing = {"value": None, "ci": None, "n": 0, "undefined": total, "distribution": None}
    described = {
        metric.name: nothing if found is None else msgspec.to_builtins(found)
        for metric, found in zip(metrics, estimates.values(), strict=True)
    }
    if scores.with_judge:
        described = {
            metric.name: {**described[metric.name], "with_judge": judged_value(metric, scores)} for metric in metrics
        }
    value = {
        "metrics": described,
        "queries": {
            "total": total,
            "missing": len(scores.missing),
            "unjudged": len(scores.unknown_queries),
            "duplicates": scores.duplicates,
        },
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _table(metrics: Sequence[Metric], estimates: dict[str, Estimate | None], scores: Scores) -> Sequence[Block]:
    from rankgate.diagnosis.notes import judge_notes
    from rankgate.model.wording import count_text, interval_text, value_text
    from rankgate.renderers.blocks import Table
    from rankgate.renderers.phrases import NOTHING

    rows: list[tuple[str, ...]] = [("metric", "value", "95% interval", "queries", "at 0", "at 1")]
    for metric in metrics:
        found = estimates[metric.name]
        if found is None:
            rows.append((metric.name, NOTHING, NOTHING, "0", "", ""))
        else:
            value = value_text(found.value, metric.unit)
            spread = found.distribution
            ends = [f"{100 * share:.0f}%" for share in (spread.zero, spread.one)] if spread else ["", ""]
            rows.append((metric.name, value, interval_text(found.ci, metric.unit) or NOTHING, str(found.n), *ends))
    notes = [f"{count_text(len(scores.query_ids), 'query', 'queries')} in the gold set"]
    if scores.missing:
        notes.append(f"{len(scores.missing)} absent from the run, scored as worst")
    if scores.unknown_queries:
        notes.append(f"{len(scores.unknown_queries)} of the run without judgment, ignored")
    if scores.duplicates:
        notes.append(f"{count_text(scores.duplicates, 'repeated id')} removed")
    judged = judge_notes(metrics, scores)
    return [Table(rows=rows, right=(1, 3, 4, 5)), "", "; ".join(notes) + ".", *judged]
