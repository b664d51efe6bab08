"""`rankgate validate`: everything that is wrong or odd in criteria, gold and run, at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rankgate.cli.options import add_criteria, add_gold, add_run, make_parser

if TYPE_CHECKING:
    from rankgate.errors import Problem

T = TypeVar("T")
MOST_PROBLEMS = 1000


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = make_parser(
        "validate",
        "Check criteria, gold set, run and baseline together. Lists every problem (exit 2) and every suspicious fact\n"
        "(exit 0): ids that no ranking holds, repeated ids, queries with more relevant documents than k, and the like.",
        ["rankgate validate", "rankgate validate --gold gold.yaml --run run.jsonl"],
    )
    add_criteria(made)
    add_gold(made)
    add_run(made)
    made.add_argument("--baseline", metavar="SPEC", help="a baseline directory or run file")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Read what is named, print problems and facts."""
    from rankgate import facts
    from rankgate.cli.inputs import file_of, refuse_two_stdins
    from rankgate.cli.output import say
    from rankgate.criteria import find_criteria, load_criteria
    from rankgate.errors import bad_input
    from rankgate.inputs import baseline_of, deepest_cutoff
    from rankgate.metrics.base import needs_of
    from rankgate.readers.formats import read_gold, read_run
    from rankgate.wording import count_text

    problems: list[Problem] = []
    gold_file, run_file, baseline_file = (file_of(arguments, flag) for flag in ("gold", "run", "baseline"))
    refuse_two_stdins(gold_file, run_file, baseline_file)
    wants_criteria = arguments.criteria or not (gold_file or run_file or baseline_file)
    path = arguments.criteria or (find_criteria() if wants_criteria else _found())
    criteria = _attempt(problems, lambda: load_criteria(path)) if path else None
    gold_file = gold_file or (criteria.gold if criteria else None)
    run_file = run_file or (criteria.run if criteria else None)
    if not (gold_file or run_file or criteria or problems):
        raise bad_input("nothing to validate; name --criteria, --gold or --run")

    needs = needs_of(criteria.metrics()) if criteria else frozenset()
    gold = None
    if gold_file:
        gold = _attempt(problems, lambda: read_gold(gold_file.path, gold_file.format, most_problems=MOST_PROBLEMS))
    rankings = None
    if run_file:
        rankings = _attempt(
            problems,
            lambda: list(read_run(run_file.path, run_file.format, needs=needs, most_problems=MOST_PROBLEMS).rankings),
        )
    deepest = deepest_cutoff(criteria.metrics(), gold, criteria.default_k) if criteria and gold else 0
    accepted = _attempt(
        problems,
        lambda: (
            None
            if (opened := baseline_of(baseline_file, criteria, needs, deepest=deepest)) is None
            else list(opened.rankings)
        ),
    )

    odd: list[str] = []
    if gold:
        odd += facts.gold_facts(gold)
        if rankings is not None:
            if run_file and not any(ranking.query_id in gold.samples for ranking in rankings):
                problems += bad_input(
                    f"the run has none of the {len(gold.samples)} gold queries; do both use the same query ids?",
                    file=run_file.path,
                ).problems
            else:
                odd += facts.run_facts(gold, rankings, name="the run")
        odd += facts.unseen_facts(gold, [found for found in (rankings, accepted) if found])
        if criteria:
            odd += facts.gate_facts(criteria, gold, rankings or [])
    lines = [f"problem: {problem}" for problem in problems] + [f"look at: {fact}" for fact in odd]
    inputs = {"criteria": criteria, "gold": gold, "run": rankings, "baseline": accepted}
    read = [name for name, value in inputs.items() if value]
    lines.append(
        f"{count_text(len(problems), 'problem')}, {count_text(len(odd), 'thing')} to look at"
        + (f" in {', '.join(read)}" if read and not problems else "")
    )
    say("\n".join(lines) + "\n")
    return 2 if problems else 0


def _found() -> str | None:
    from rankgate.criteria import find_criteria
    from rankgate.errors import RankgateError

    try:
        return find_criteria()
    except RankgateError:
        return None


def _attempt(problems: list[Problem], read: Callable[[], T]) -> T | None:
    """The value, or None after noting the problems of reading it."""
    from rankgate.errors import RankgateError

    try:
        return read()
    except RankgateError as error:
        problems += error.problems
        return None
