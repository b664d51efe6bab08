"""`rankgate init`: ship criteria and a workflow for a team's own gold set."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from rankgate.cli.options import add_gold, add_run, make_parser

CRITERIA = "ship-criteria.yaml"
WORKFLOW = ".github/workflows/rankgate.yml"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "init",
        "Write ship criteria for a gold set, with floors derived from a run where there is one and the evidence that\n"
        "so many questions can carry, and a GitHub workflow that records a run with your retriever (or takes the run\n"
        "file) and checks it. Both work as they are.",
        [
            "rankgate init --gold gold.yaml --run run.jsonl",
            "rankgate init --gold gold.yaml --run run.jsonl --retriever my_app.search:retrieve",
        ],
    )
    add_gold(made)
    add_run(made)
    made.add_argument("--retriever", metavar="MODULE:FUNCTION", help="your retrieve function, for the workflow")
    made.add_argument("--to", metavar="FILE", default=CRITERIA, help=f"where the criteria go (default: {CRITERIA})")
    made.add_argument("--force", action="store_true", help="overwrite files that exist")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Write the files and print the next steps."""
    from rankgate import __version__
    from rankgate.cli.inputs import file_of, refuse_two_stdins
    from rankgate.cli.progress import bar
    from rankgate.criteria import DEFAULT_PATHS
    from rankgate.errors import bad_input
    from rankgate.estimates import estimate
    from rankgate.files import write_atomic
    from rankgate.inputs import gold_of, run_of
    from rankgate.metrics.names import parse_metric
    from rankgate.parallel import score_run
    from rankgate.plan import Plan
    from rankgate.readers.source import STDIN
    from rankgate.scoring import refuse_strangers
    from rankgate.starting import FIRST_GATES, Job, Start, criteria_text, requirements_commands, workflow_text

    gold_file, run_file = file_of(arguments, "gold"), file_of(arguments, "run")
    refuse_two_stdins(gold_file, run_file)
    if gold_file is None or STDIN in (arguments.gold, arguments.run):
        raise bad_input("init writes paths into the criteria; name the gold set with --gold FILE (not standard input)")
    wants_workflow = bool(arguments.retriever or run_file)
    for path in (arguments.to, *([WORKFLOW] if wants_workflow else [])):
        if Path(path).exists() and not arguments.force:
            raise bad_input("exists already; --force overwrites it", file=path)

    gold = gold_of(gold_file, None)
    metrics = [parse_metric(name) for name, _, _ in FIRST_GATES]
    scores = None
    if run_file:
        opened = run_of(run_file, None)
        scores = score_run(gold, opened, Plan(metrics=metrics), watch=bar)
        refuse_strangers(scores, opened.name, gold)
    run_path = arguments.run or "run.jsonl"
    base = os.path.dirname(arguments.to) or "."  # noqa: PTH120
    start = Start(
        gold=_relative(arguments.gold, base),
        run=_relative(run_path, base),
        baseline=_relative("baseline", base),
        measured=[(metric, estimate(scores.values[metric.name], metric) if scores else None) for metric in metrics],
        measured_run=arguments.run,
        questions=sum(bool(sample.relevant()) for sample in gold.samples.values()),
    )
    write_atomic(arguments.to, criteria_text(start))
    print(f"wrote {arguments.to}: {len(FIRST_GATES)} gates over {len(gold.samples)} questions")
    if wants_workflow:
        present = {name: Path(name).is_file() for name in ("requirements.txt", "pyproject.toml")}
        job = Job(
            retriever=arguments.retriever,
            gold=arguments.gold,
            run=run_path,
            criteria=None if arguments.to in DEFAULT_PATHS else arguments.to,
            requirements=requirements_commands(present),
            version=__version__,
        )
        write_atomic(WORKFLOW, workflow_text(job))
        print(f"wrote {WORKFLOW}")
    print(_next_steps(arguments, run_path, wants_workflow=wants_workflow), end="")
    return 0


def _next_steps(arguments: argparse.Namespace, run_path: str, *, wants_workflow: bool) -> str:
    from rankgate.criteria import DEFAULT_PATHS

    gold, run_file, to = map(shlex.quote, (arguments.gold, run_path, arguments.to))
    criteria = "" if arguments.to in DEFAULT_PATHS else f" --criteria {to}"
    steps: list[str] = []
    if not arguments.run:
        function = arguments.retriever or "MODULE:FUNCTION"
        steps.append(f"rankgate record --retriever {shlex.quote(function)} --gold {gold} -o {run_file}")
    steps += [f"rankgate validate{criteria}", f"rankgate check{criteria}", f"rankgate baseline accept{criteria}"]
    if not wants_workflow:
        place = "" if arguments.to == CRITERIA else f" --to {to}"
        steps.append(f"rankgate init --gold {gold}{place} --retriever MODULE:FUNCTION --force   # adds a workflow")
    return "next:\n" + "".join(f"  $ {step}\n" for step in steps)


def _relative(path: str, base: str) -> str:
    return Path(os.path.relpath(path, base)).as_posix()
