"""`rankgate validate`: everything that is wrong or odd in criteria, gold and run, at once."""

from __future__ import annotations

import argparse

from msgspec.structs import replace

from rankgate.cli.inputs import default_criteria
from rankgate.cli.options import add_shared, inputs_of, make_parser
from rankgate.cli.output import say
from rankgate.criteria import find_criteria
from rankgate.errors import bad_input
from rankgate.gates.validation import validate
from rankgate.model.wording import count_text
from rankgate.renderers.warnings import fact_text


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "validate",
        "Check criteria, gold set, run and baseline together. Lists every problem (exit 2) and every suspicious fact\n"
        "(exit 0): ids that no ranking holds, repeated ids, questions with more relevant documents than k, and so on.\n"
        "For a gate that is violated it prints a waiver to copy into ship-waivers.yaml.",
        "rankgate validate",
        "rankgate validate --gold gold.yaml --run run.jsonl",
    )
    add_shared(options, "criteria", "gold", "run", "baseline", "date")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Read what is named, print problems and facts."""
    inputs = inputs_of(arguments)
    named = inputs.gold or inputs.run or inputs.baseline
    path = inputs.criteria or (default_criteria() if named else find_criteria())
    if not (path or inputs.gold or inputs.run):
        raise bad_input("nothing to validate; name --criteria, --gold or --run")
    result = validate(replace(inputs, criteria=path))
    remarks = [f"problem: {problem}" for problem in result.problems]
    remarks += [f"look at: {fact_text(fact)}" for fact in result.facts]
    lines = [line for text in remarks for line in text.splitlines()]
    where = f" in {', '.join(result.read)}" if result.read and not result.problems else ""
    problems = count_text(len(result.problems), "problem")
    lines.append(f"{problems}, {count_text(len(result.facts), 'thing')} to look at{where}")
    lines += [f"note: {fact_text(note)}" for note in result.notes]
    if result.entries:
        lines += ["", "to let these violations pass for a while, merge into ship-waivers.yaml first:"]
    say(lines)
    if result.entries:
        say("".join(["waivers:\n", *result.entries]))  # to be copied as it is
    return 2 if result.problems else 0
