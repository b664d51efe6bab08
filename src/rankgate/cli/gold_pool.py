"""`rankgate gold pool`: runs in, a file to label out."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rankgate.cli.gold_output import STDOUT, output_suffix
from rankgate.cli.inputs import criteria_if_any, file_of, refuse_two_stdins
from rankgate.criteria import InputFile
from rankgate.errors import bad_input, on_one_line, shown
from rankgate.inputs import gold_of, named_run
from rankgate.matching import BY_CHUNK, By, Matching
from rankgate.model import Gold, Need
from rankgate.pool_files import POOL_FORMS
from rankgate.pooling import Pair, Pool, pool
from rankgate.readers.base import Run
from rankgate.readers.source import STDIN, shown_path
from rankgate.wording import count_text

_NAMED = 3


def pool_action(arguments: argparse.Namespace) -> tuple[str, str]:
    """The pool as text, and what to tell."""
    if arguments.depth < 1:
        raise bad_input(f"--depth must be at least 1, not {arguments.depth}")
    gold_file = file_of(arguments, "gold")
    files = [InputFile(path, arguments.run_format) for path in arguments.runs]
    refuse_two_stdins(gold_file, *files)
    criteria = criteria_if_any(arguments)
    named = gold_file or (criteria.gold if criteria else None)
    form = output_suffix(arguments, POOL_FORMS, "a pool", [file.path for file in (named, *files) if file])
    names = run_names(arguments.runs)
    how = _matching(arguments, criteria.match if criteria else BY_CHUNK)
    gold = gold_of(named, criteria, part="whole")
    runs = {name: named_run(file, how.needs | {Need.TEXTS}) for name, file in zip(names, files, strict=True)}
    rankings = {name: opened.rankings for name, opened in runs.items()}
    pooled = pool(gold, rankings, depth=arguments.depth, how=how, as_judge=arguments.as_judge)
    for name, found in pooled.runs.items():
        if not found.known:
            message = f"the run has none of the {len(gold.samples)} queries of {gold.name}"
            raise bad_input(message, file=runs[name].name)
    pairs = pooled.unjudged() if arguments.unjudged else pooled.pairs
    told = [*_counts(pairs, pooled, gold, arguments.depth), *_lacks(pooled, gold, runs, arguments.depth)]
    if not pooled.unjudged():
        told.append("nothing is left to label")
    elif named and STDOUT not in (arguments.output, named.path):
        told += ["write a number into every gain (0 not relevant, 1 relevant, or your own grades); then:"]
        told += [f"  $ {_merge_command(named.path, arguments)}"]
    return POOL_FORMS[form](pairs, names), "".join(f"{line}\n" for line in told)


def run_names(paths: Sequence[str]) -> list[str]:
    """What each run is called in the pool: its file name, or its path where another file has the same name.

    Raises:
        RankgateError: a run is named twice.
    """
    last = ["standard input" if path == STDIN else Path(path).name or Path(path).resolve().name for path in paths]
    whole = [Path(path).resolve() for path in paths]
    for position, path in enumerate(whole):
        if path in whole[:position]:
            raise bad_input("this run is named twice; name each once", file=paths[position])
    return [
        name if last.count(name) == 1 else shown_path(path.as_posix()) for name, path in zip(last, whole, strict=True)
    ]


def _matching(arguments: argparse.Namespace, usual: Matching) -> Matching:
    how = Matching(by=By(arguments.match)) if arguments.match else usual
    if how.by is By.TEXT:
        raise bad_input("a pool is made of ids; where the gold holds passages (match: text), there are none to label")
    return how


def _counts(pairs: Sequence[Pair], pooled: Pool, gold: Gold, depth: int) -> Iterator[str]:
    """How much there is to label."""
    waiting = pooled.unjudged()
    runs = "1 run" if len(pooled.runs) == 1 else f"each of {len(pooled.runs)} runs"
    yield f"{count_text(len(pairs), 'pair')} of a query and a document, from the first {depth} results of {runs}"
    queries = len({pair.query_id for pair in waiting})
    asked = count_text(len(gold.samples), "query", "queries")
    yield f"  {len(waiting):,} unjudged, in {queries:,} of {asked}"
    judged = len(pooled.pairs) - len(waiting)
    if judged:
        yield f"  {judged:,} judged already, " + ("left out" if len(pairs) < len(pooled.pairs) else "for context")
    elif waiting:
        yield f"  none judged already; do the ids of the runs and of {gold.name} agree? (--match doc pools documents)"
    silent = sum(pair.text is None for pair in waiting)
    if silent:
        yield f"  {silent:,} unjudged without a text, since no run states one"


def _lacks(pooled: Pool, gold: Gold, runs: Mapping[str, Run], wanted: int) -> Iterator[str]:
    """What each run could not give."""
    for name, found in pooled.runs.items():
        run, depth = f"  {on_one_line(name)}", runs[name].depth
        if depth and depth < wanted:
            yield f"{run} was stored to depth {depth}"
        absent = len(gold.samples) - found.known
        if absent:
            yield f"{run} lacks {count_text(absent, 'query', 'queries')} of {gold.name}"
        if found.strangers:
            count = count_text(len(found.strangers), "query", "queries")
            few = ", ".join(map(shown, found.strangers[:_NAMED]))
            rest = len(found.strangers) - _NAMED
            yield f"{run} has {count} that {gold.name} lacks, left out: {few}" + (f" and {rest:,} more" * (rest > 0))


def _merge_command(gold: str, arguments: argparse.Namespace) -> str:
    """How to merge what comes back: into the gold set where it is JSONL, else into a new file beside it."""
    target = Path(gold)
    if target.suffix != ".jsonl":
        target = target.with_suffix(".jsonl")
        target = target.with_suffix(".labelled.jsonl") if target.exists() else target
    words = ["rankgate", "gold", "merge", gold, arguments.output]
    words += ["--as-judge"] * arguments.as_judge + ["-o", target.as_posix()] + ["--force"] * target.exists()
    return shlex.join(words)
