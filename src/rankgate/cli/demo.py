"""`rankgate demo`: the embedded example, judged four times, in a directory to explore."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from rankgate.cli import baseline
from rankgate.cli.baseline_accept import accept
from rankgate.cli.check import judge
from rankgate.cli.options import add_date, date_of, make_parser
from rankgate.cli.output import say
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import bad_input, redacted
from rankgate.files.writing import write_atomic
from rankgate.model.report import exit_code
from rankgate.renderers.base import RENDERERS
from rankgate.renderers.blocks import Block
from rankgate.renderers.terminal import terminal_blocks

DEFAULT_DIRECTORY = "rankgate-demo"
MARK = "# rankgate demo:"  # the first words of our criteria, by which a directory is known to be ours
RUNS = ("runs/accepted.jsonl", "runs/harmless.jsonl", "runs/harmful.jsonl")
FILES = ("ship-criteria.yaml", "gold.yaml", "articles.jsonl", *RUNS)
ACCEPT = ("accept", "--run", "runs/accepted.jsonl", "--commit", "none")

STEPS = (
    ("1. The first check. Nothing has been accepted yet, so only floors are judged.", "accepted"),
    ("2. Accept that run. From now on gates compare with it.", None),
    ("3. A harmless change: the title of an article weighs more than before.", "harmless"),
    ("4. A harmful change: questions from Brazil go through the Spanish text analysis.", "harmful"),
)


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "demo",
        "Judge the embedded example, a help centre in three languages: a first check (warn), a harmless change\n"
        "(pass) and a harmful one (fail). Leaves all files in a directory, with the commands to repeat each step.\n"
        "Exits 0.",
        "rankgate demo",
        "rankgate demo my-directory",
    )
    options.add_argument("directory", nargs="?", default=DEFAULT_DIRECTORY, help=f"default: {DEFAULT_DIRECTORY}")
    add_date(options)
    return options


def run(arguments: argparse.Namespace) -> int:
    """Copy the example, judge it step by step, print what happened and what to try."""
    directory = Path(arguments.directory)
    _copy_example(directory)
    date = date_of(arguments)
    start = Path.cwd()
    os.chdir(directory)
    try:
        for title, name in STEPS:
            check = f"check --run runs/{name}.jsonl -o out/{name}/report.json -o out/{name}/comment.md"
            command = check if name else "baseline accept --run runs/accepted.jsonl"
            say(f"{title}\n\n  $ rankgate {command}\n\n")
            say(_judge(name, date) if name else accept(baseline.parser().parse_args([*ACCEPT, "--date", date])))
            say("\n")
    finally:
        os.chdir(start)
    shown = redacted(directory.as_posix())
    say(
        f"All of it lies in {shown}/: criteria, gold set, articles, runs, baseline, and for each run\n"
        "the report and the pull-request comment under out/. Try it yourself:\n\n"
        f"  $ cd {shlex.quote(shown)}\n"
        "  $ rankgate check --run runs/harmful.jsonl            # exits 1\n"
        "  $ rankgate explain --misses --run runs/harmful.jsonl # what it lost, and what that has in common\n"
        "  $ rankgate validate --run runs/harmless.jsonl\n"
        "  $ rankgate compare runs/accepted.jsonl runs/harmful.jsonl --gold gold.yaml\n\n"
        "Next, with your own gold set: rankgate init --gold gold.yaml\n"
    )
    return 0


def _copy_example(directory: Path) -> None:
    place = directory.as_posix()
    source = files("rankgate") / "cli" / "example"
    criteria = directory / "ship-criteria.yaml"
    ours = criteria.is_file() and criteria.read_bytes().startswith(MARK.encode())
    if directory.is_file() or (directory.is_dir() and any(directory.iterdir()) and not ours):
        raise bad_input("is not an empty directory, nor one of an earlier demo; name another", file=place)
    content = {name: source.joinpath(name).read_bytes() for name in FILES}
    there = [name for name in content if (directory / name).is_file()]
    changed = ", ".join(name for name in there if (directory / name).read_bytes() != content[name])
    if changed:
        message = f"holds changed files of an earlier demo ({changed}); name another directory, or remove it"
        raise bad_input(message, file=place)
    for name, data in content.items():
        write_atomic(directory / name, data)
    for file in (directory / "baseline").glob("*"):  # the story begins without a baseline each time
        if file.is_file():
            file.unlink()


def _judge(name: str, date: str) -> Sequence[Block]:
    report = judge(Inputs(criteria="ship-criteria.yaml", date=date, run=InputFile(f"runs/{name}.jsonl")))
    write_atomic(f"out/{name}/report.json", RENDERERS["json"](report))
    write_atomic(f"out/{name}/comment.md", RENDERERS["markdown"](report))
    return [*terminal_blocks(report), "", f"(exit code {exit_code(report, 'fail')})"]
