"""`rankgate init`: ship criteria and GitHub workflows for a team's own gold set."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.cli.options import add_gold, add_run, make_parser
from rankgate.redaction import redacted

if TYPE_CHECKING:
    from rankgate.criteria import InputFile

CRITERIA = "ship-criteria.yaml"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "init",
        "Write ship criteria for a gold set, with metrics that can move on it and floors derived from a run where\n"
        "there is one, and a GitHub workflow that records a run with your retriever (or takes the run file) and\n"
        "judges it. With --github a second one, which judges the pull requests of forks; without --gold the\n"
        "criteria stay as they are and say what the workflows need.",
        [
            "rankgate init --gold gold.yaml --run run.jsonl",
            "rankgate init --gold gold.yaml --run run.jsonl --retriever my_app.search:retrieve",
            "rankgate init --github --retriever my_app.search:retrieve      # criteria are there already",
        ],
    )
    add_gold(made)
    add_run(made)
    made.add_argument("--retriever", metavar="MODULE:FUNCTION", help="your retrieve function, for the workflow")
    made.add_argument(
        "--to",
        metavar="FILE",
        help=f"where the criteria go (default: {CRITERIA}); without --gold, where they are",
    )
    made.add_argument("--github", action="store_true", help="write both workflows, also the one for forks")
    made.add_argument(
        "--action",
        metavar="OWNER/NAME@REF",
        help="the action as the workflows use it, best by the hash of a commit (default: this version's tag)",
    )
    made.add_argument(
        "--app",
        metavar="ID",
        type=int,
        help="the id of your own GitHub App: it posts the check, from the second workflow alone (goes with --github)",
    )
    made.add_argument("--force", action="store_true", help="overwrite files that exist")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Write the files and print the next steps."""
    from rankgate.cli.init_workflows import job_of, refuse_without_workflow, workflows_wanted, write_workflows
    from rankgate.cli.inputs import file_of, refuse_two_stdins
    from rankgate.errors import bad_input
    from rankgate.readers.source import STDIN
    from rankgate.workflows.advice import to_do_on_github

    gold, run_file = file_of(arguments, "gold"), file_of(arguments, "run")
    refuse_two_stdins(gold, run_file)
    refuse_without_workflow(arguments)
    if STDIN in (arguments.gold, arguments.run) or (gold is None and not (arguments.github and run_file is None)):
        raise bad_input("init writes paths into the criteria; name the gold set with --gold FILE (not standard input)")
    workflows = workflows_wanted(arguments)
    for path in (*([arguments.to or CRITERIA] if gold else []), *workflows):
        if Path(path).exists() and not arguments.force:
            raise bad_input("exists already; --force overwrites it", file=path)

    job = job_of(arguments, CRITERIA) if workflows else None
    if gold:
        _write_criteria(gold, run_file, arguments.to or CRITERIA)
    if job:
        write_workflows(job, workflows)
    if gold:
        print(_next_steps(arguments, wants_workflow=job is not None), end="")
    if job:
        print(to_do_on_github(job, forks=arguments.github), end="")
    return 0


def _write_criteria(gold_file: InputFile, run_file: InputFile | None, to: str) -> None:
    from rankgate.cli.progress import bar
    from rankgate.estimates import estimate
    from rankgate.facts import best_possible
    from rankgate.files import write_atomic
    from rankgate.inputs import gold_of, run_of
    from rankgate.matching import DEFAULT_K
    from rankgate.metrics.names import parse_metric
    from rankgate.parallel import score_run
    from rankgate.plan import Plan
    from rankgate.scoring import refuse_strangers
    from rankgate.starting import FIRST_GATES, Start, criteria_text, first_gates

    gold = gold_of(gold_file, None)
    best = best_possible(parse_metric(FIRST_GATES[0][0]), gold.samples, DEFAULT_K)
    reachable = sum(best.values()) / len(best) if best else None
    metrics = [parse_metric(name) for name, _, _ in first_gates(reachable)]
    scores = None
    if run_file:
        opened = run_of(run_file, None)
        scores = score_run(gold, opened, Plan(metrics=metrics), watch=bar)
        refuse_strangers(scores, opened.name, gold)
    base = os.path.dirname(to) or "."  # noqa: PTH120
    start = Start(
        gold=_relative(gold_file.path, base),
        run=_relative(run_file.path if run_file else "run.jsonl", base),
        baseline=_relative("baseline", base),
        measured=[(metric, estimate(scores.values[metric.name], metric) if scores else None) for metric in metrics],
        measured_run=run_file.path if run_file else None,
        reachable=reachable,
    )
    write_atomic(to, criteria_text(start))
    print(f"wrote {redacted(to)}: {len(metrics)} gates over {len(gold.samples)} questions")


def _next_steps(arguments: argparse.Namespace, *, wants_workflow: bool) -> str:
    from rankgate.criteria import DEFAULT_PATHS

    written_to = arguments.to or CRITERIA
    names = map(redacted, (arguments.gold, arguments.run or "run.jsonl", written_to))
    gold, run_file, to = map(shlex.quote, names)
    criteria = "" if written_to in DEFAULT_PATHS else f" --criteria {to}"
    steps: list[str] = []
    if not arguments.run:
        function = arguments.retriever or "MODULE:FUNCTION"
        steps.append(f"rankgate record --retriever {shlex.quote(redacted(function))} --gold {gold} -o {run_file}")
    steps += [f"rankgate validate{criteria}", f"rankgate check{criteria}", f"rankgate baseline accept{criteria}"]
    if not wants_workflow:
        place = "" if written_to == CRITERIA else f" --to {to}"
        steps.append(f"rankgate init --github{place} --retriever MODULE:FUNCTION   # adds the workflows")
    return "next:\n" + "".join(f"  $ {step}\n" for step in steps)


def _relative(path: str, base: str) -> str:
    return Path(os.path.relpath(path, base)).as_posix()
