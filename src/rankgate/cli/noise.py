"""`rankgate noise`: how much of each metric moves by itself, from repeated runs of one system."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.cli.options import add_criteria, add_gold, add_match, make_parser
from rankgate.cli.score import DEFAULT_METRICS

if TYPE_CHECKING:
    from rankgate.criteria import Criteria, InputFile
    from rankgate.gates.noise import Noise
    from rankgate.metrics.base import Metric
    from rankgate.metrics.plan import Plan
    from rankgate.renderers.blocks import Block

MAX_LISTED = 5


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "noise",
        "Compare repeated runs of one system, of which nothing was changed, and say how much of each metric moves by\n"
        "itself, which regression_max leaves room for it, and what to write into a gate as `noise:`. Three runs or\n"
        "more are needed for these two, and five are better.",
        [
            "rankgate noise monday.jsonl tuesday.jsonl wednesday.jsonl --gold gold.yaml",
            "rankgate noise a.jsonl b.jsonl --criteria ship-criteria.yaml   # the metrics of its gates",
            "rankgate noise a.jsonl b.jsonl --gold gold.yaml --metrics recall@1,5,mrr --format json",
        ],
    )
    made.add_argument("runs", metavar="RUN", nargs="+", help="two or more runs of the same system, or baselines")
    add_gold(made)
    add_criteria(made)
    made.add_argument(
        "--metrics",
        metavar="LIST",
        help=f"comma-separated (default: those of the gates where criteria are used, else {DEFAULT_METRICS})",
    )
    add_match(made)
    made.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Score all, compare every two, print."""
    from msgspec.structs import replace

    from rankgate.cli.inputs import criteria_if_any, file_of, open_store, refuse_two_stdins
    from rankgate.cli.output import say
    from rankgate.criteria import InputFile
    from rankgate.criteria.inputs import deepest_cutoff, gold_of, named_run
    from rankgate.gates.noise import noise_of
    from rankgate.metrics.comparison import baseline_column
    from rankgate.metrics.scoring import require_fields, require_gold_queries, score

    gold_file, files = file_of(arguments, "gold"), [InputFile(path) for path in arguments.runs]
    refuse_two_stdins(gold_file, *files)
    _refuse_files(files)
    criteria = None if gold_file and not arguments.criteria else criteria_if_any(arguments)
    gold = gold_of(gold_file, criteria)
    plan = _plan(arguments, criteria)
    deepest = deepest_cutoff(plan, gold)
    opened = [named_run(file, plan.needs, deepest=deepest, open_store=open_store) for file in files]
    # All lists end where the shortest store cut them, so that cutting does not look like noise.
    plan = replace(plan, depth=min((run.depth for run in opened if run.depth), default=None))
    sides = []
    for each in opened:
        scores = score(gold, each.rankings, plan)
        require_gold_queries(scores, each.name, gold)
        require_fields(scores, plan, each.name)
        sides.append(scores)
    found = [(metric, noise_of(metric, [baseline_column(metric, side) for side in sides])) for metric in plan.metrics]
    absent = [(each.name, len(side.missing)) for each, side in zip(opened, sides, strict=True)]
    say(
        _json(found, absent, len(gold.samples))
        if arguments.format == "json"
        else [_table(found), *_remarks(found, absent, criteria)]
    )
    return 0


def _refuse_files(files: Sequence[InputFile]) -> None:
    """Noise is between runs: one alone has none, and neither has a file beside itself."""
    from rankgate.errors import bad_input

    paths = [file.path for file in files]
    if len(paths) < 2:  # noqa: PLR2004
        raise bad_input("noise compares repeated runs of one system; name at least two")
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise bad_input("named twice; a run beside itself shows no noise", file=path)


def _plan(arguments: argparse.Namespace, criteria: Criteria | None) -> Plan:
    from msgspec.structs import replace

    from rankgate.cli.inputs import plan_of
    from rankgate.errors import bad_input
    from rankgate.model.values import Need

    gated = criteria.metrics() if criteria and arguments.metrics is None else []
    arguments.metrics = arguments.metrics or DEFAULT_METRICS
    plan = plan_of(arguments, criteria)
    # What compares with a baseline has none here: in the criteria it is passed over, where asked for it is a mistake.
    if gated:
        plan = replace(plan, metrics=[metric for metric in gated if Need.BASELINE not in metric.needs])
    for metric in plan.metrics:
        if Need.BASELINE in metric.needs:
            raise bad_input(f"{metric.name} compares with a baseline; use `rankgate compare A B`", key="--metrics")
    return plan


def _table(found: Sequence[tuple[Metric, Noise | None]]) -> Block:
    from rankgate.model.wording import size_text
    from rankgate.renderers.blocks import Table
    from rankgate.renderers.phrases import NOTHING

    headings = ("metric", "values", "largest shift", "mean shift", "queries moving", "SD", "regression_max", "noise")
    rows: list[tuple[str, ...]] = [headings]
    for metric, noise in found:
        if noise is None:
            rows.append((metric.name, *[NOTHING] * 7))
            continue
        rows.append(
            (
                metric.name,
                _values(metric, noise.values),
                size_text(noise.largest, metric.unit),
                size_text(noise.mean, metric.unit),
                f"{100 * noise.moving:.1f}%",
                NOTHING if noise.spread is None else f"{noise.spread:.3f}",
                *(NOTHING if x is None else f"{_written(metric, x):g}" for x in (noise.margin, noise.noise)),
            )
        )
    return Table(rows=rows, right=(2, 3, 4, 5, 6, 7))


def _values(metric: Metric, values: Sequence[float | None]) -> str:
    """All of a few, the ends of many."""
    from rankgate.model.wording import value_text
    from rankgate.renderers.phrases import NOTHING

    known = [value for value in values if value is not None]
    if len(values) > MAX_LISTED:
        return f"{value_text(min(known), metric.unit)} … {value_text(max(known), metric.unit)}"
    return " ".join(NOTHING if value is None else value_text(value, metric.unit) for value in values)


def _written(metric: Metric, margin: float) -> float:
    """The margin as one would write it into the criteria: rounded up, for what is rounded down may be violated."""
    from rankgate.model.values import Unit

    scale = 10 if metric.unit is Unit.MILLISECONDS else 1000
    return math.ceil(margin * scale - 1e-9) / scale


def _remarks(
    found: Sequence[tuple[Metric, Noise | None]], absent: Sequence[tuple[str, int]], criteria: Criteria | None
) -> list[str]:
    """Which gates allow less than the noise, and which questions could not be compared."""
    from rankgate.errors import on_one_line, shown
    from rankgate.gates.noise import MIN_RUNS
    from rankgate.model.wording import count_text

    margins = {metric.name: _written(metric, noise.margin) for metric, noise in found if noise and noise.margin}
    lines = [
        f"The gate {shown(gate.name)} allows {gate.regression_max:g}, "
        f"less than the {margins[gate.metric.name]:g} that noise alone asks for."
        for gate in (criteria.gates if criteria else ())
        if gate.regression_max is not None and gate.regression_max < margins.get(gate.metric.name, 0.0)
    ]
    if any(noise and noise.margin is None and noise.spread for _, noise in found) and len(absent) < MIN_RUNS:
        lines.append(f"Two runs suggest no regression_max: name {MIN_RUNS} or more, better five.")
    if all(noise is None or not (noise.largest or noise.moving) for _, noise in found):
        lines.append("Nothing moved: on these questions the system gives the same results every time.")
    lines += [
        f"{count_text(count, 'query is', 'queries are')} absent from {on_one_line(name)}, and not compared."
        for name, count in absent
        if count
    ]
    return ["", *lines] if lines else []


def _json(found: Sequence[tuple[Metric, Noise | None]], absent: Sequence[tuple[str, int]], total: int) -> str:
    import msgspec

    value: Mapping[str, Any] = {
        "metrics": {metric.name: noise for metric, noise in found},
        "runs": [{"path": name, "missing": count} for name, count in absent],
        "queries": total,
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
