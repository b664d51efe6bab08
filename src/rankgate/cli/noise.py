"""`rankgate noise`: how much of each metric moves by itself, from repeated runs of one system."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rankgate.cli.compare import absent_lines
from rankgate.cli.inputs import criteria_if_any, file_of, plan_of, refuse_two_stdins
from rankgate.cli.options import add_criteria, add_gold, add_match, make_parser
from rankgate.cli.output import as_json, say
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import deepest_cutoff, gold_of, named_run
from rankgate.errors import bad_input, shown
from rankgate.gates.noise import MIN_RUNS, Noise, noise_of
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import baseline_column
from rankgate.metrics.names import COMPARED_METRICS
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import require_fields, require_gold_queries, score
from rankgate.model.values import Need, Unit
from rankgate.model.wording import size_text, value_text
from rankgate.renderers.blocks import Table
from rankgate.renderers.phrases import NOTHING

if TYPE_CHECKING:
    from rankgate.criteria import Criteria

MAX_LISTED = 5


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "noise",
        "Compare repeated runs of one system, of which nothing was changed, and say how much of each metric moves by\n"
        "itself, which regression_max leaves room for it, and what to write into a gate as `noise:`. Three runs or\n"
        "more are needed for these two, and five are better.",
        "rankgate noise monday.jsonl tuesday.jsonl wednesday.jsonl --gold gold.yaml",
        "rankgate noise a.jsonl b.jsonl --criteria ship-criteria.yaml   # the metrics of its gates",
        "rankgate noise a.jsonl b.jsonl --gold gold.yaml --metrics recall@1,5,mrr --format json",
    )
    options.add_argument("runs", metavar="RUN", nargs="+", help="two or more runs of the same system, or baselines")
    add_gold(options)
    add_criteria(options)
    usual = f"default: those of the gates where criteria are used, else {COMPARED_METRICS}"
    options.add_argument("--metrics", metavar="LIST", help=f"comma-separated ({usual})")
    add_match(options)
    options.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Score all, compare every two, print."""
    gold_file, files = file_of(arguments, "gold"), [InputFile(path) for path in arguments.runs]
    refuse_two_stdins(gold_file, *files)
    _refuse_files(arguments.runs)
    criteria = None if gold_file and not arguments.criteria else criteria_if_any(arguments)
    gold = gold_of(gold_file, criteria)
    plan = _plan(arguments, criteria)
    read = partial(named_run, needs=plan.needs, deepest=deepest_cutoff(plan, gold))
    runs = [read(file) for file in files]
    # All lists end where the shortest store cut them, so that cutting does not look like noise.
    plan = replace(plan, depth=min((run.depth for run in runs if run.depth), default=None))
    scored = []
    for each in runs:
        scores = score(gold, each.rankings, plan)
        require_gold_queries(scores, each.name, gold)
        require_fields(scores, plan, each.name)
        scored.append(scores)
    noises = [(metric, noise_of(metric, [baseline_column(metric, each) for each in scored])) for metric in plan.metrics]
    absent = [(each.name, len(scores.missing)) for each, scores in zip(runs, scored, strict=True)]
    if arguments.format == "json":
        described = [{"path": name, "missing": count} for name, count in absent]
        metrics = {metric.name: noise for metric, noise in noises}
        say(as_json({"metrics": metrics, "runs": described, "queries": len(gold.samples)}))
        return 0
    head = ("metric", "values", "largest shift", "mean shift", "queries moving", "SD", "regression_max", "noise")
    table = Table(rows=[head, *(_row(metric, noise) for metric, noise in noises)], right=(2, 3, 4, 5, 6, 7))
    remarks = [*_remarks(noises, criteria, len(runs)), *absent_lines(absent)]
    say([table, *([""] if remarks else []), *remarks])
    return 0


def _refuse_files(paths: Sequence[str]) -> None:
    """Noise is between runs: one alone has none, and neither has a file beside itself."""
    if len(paths) < 2:  # noqa: PLR2004
        raise bad_input("noise compares repeated runs of one system; name at least two")
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise bad_input("named twice; a run beside itself shows no noise", file=path)


def _plan(arguments: argparse.Namespace, criteria: Criteria | None) -> Plan:
    """The metrics named, or those of the gates; of these what compares with a baseline is passed over."""
    gated = criteria.metrics() if criteria and arguments.metrics is None else []
    arguments.metrics = arguments.metrics or COMPARED_METRICS
    plan = plan_of(arguments, criteria, compares=False)
    return replace(plan, metrics=[each for each in gated if Need.BASELINE not in each.needs]) if gated else plan


def _row(metric: Metric, noise: Noise | None) -> tuple[str, ...]:
    if noise is None:
        return (metric.name, *[NOTHING] * 7)
    return (
        metric.name,
        _values(metric, noise.values),
        size_text(noise.largest, metric.unit),
        size_text(noise.mean, metric.unit),
        f"{100 * noise.moving:.1f}%",
        NOTHING if noise.spread is None else f"{noise.spread:.3f}",
        *(NOTHING if x is None else f"{_written(metric, x):g}" for x in (noise.margin, noise.noise)),
    )


def _values(metric: Metric, values: Sequence[float | None]) -> str:
    """All of a few, the ends of many."""
    known = [value for value in values if value is not None]
    if len(values) > MAX_LISTED:
        return f"{value_text(min(known), metric.unit)} … {value_text(max(known), metric.unit)}"
    return " ".join(NOTHING if value is None else value_text(value, metric.unit) for value in values)


def _written(metric: Metric, margin: float) -> float:
    """The margin as one would write it into the criteria: rounded up, for what is rounded down may be violated."""
    scale = 10 if metric.unit is Unit.MILLISECONDS else 1000
    return math.ceil(margin * scale - 1e-9) / scale


def _remarks(noises: Sequence[tuple[Metric, Noise | None]], criteria: Criteria | None, runs: int) -> list[str]:
    """Which gates allow less than the noise, and why there is nothing to advise."""
    margins = {metric.name: _written(metric, noise.margin) for metric, noise in noises if noise and noise.margin}
    lines = [
        f"The gate {shown(gate.name)} allows {gate.regression_max:g}, "
        f"less than the {margins[gate.metric.name]:g} that noise alone asks for."
        for gate in (criteria.gates if criteria else ())
        if gate.regression_max is not None and gate.regression_max < margins.get(gate.metric.name, 0.0)
    ]
    if any(noise and noise.margin is None and noise.spread for _, noise in noises) and runs < MIN_RUNS:
        lines.append(f"Two runs suggest no regression_max: name {MIN_RUNS} or more, better five.")
    if all(noise is None or not (noise.largest or noise.moving) for _, noise in noises):
        lines.append("Nothing moved: on these questions the system gives the same results every time.")
    return lines
