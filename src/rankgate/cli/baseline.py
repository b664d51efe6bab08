"""`rankgate baseline`: what gates compare with, what was, and what becomes of it; accepting has its own module."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from rankgate.baselines.base import open_record
from rankgate.baselines.memory import MAX_ROUNDS, Memory, NotKeptError, newest_accepted
from rankgate.baselines.records import Record, anchor_of
from rankgate.cli.baseline_accept import accept, answers_text, record
from rankgate.cli.inputs import named_memory
from rankgate.cli.options import SHARED, add_option, add_shared, make_parser
from rankgate.cli.output import as_json, say
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.judge.store import stored_verdicts
from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.lineage import RECORDING
from rankgate.model.values import RunField
from rankgate.model.wording import count_text
from rankgate.renderers.blocks import Block, Pairs, Table
from rankgate.renderers.escape import one_line

MAX_LISTED = 20  # entries of the history, without --all
MAX_METRICS = 4
HEADINGS = ("id", "date", "commit", "branch", "verdict", "queries", "reason")


class ListedRecord(Record, frozen=True, kw_only=True):
    """A record with its id, without the digest of each gold query; the history says whether it was accepted."""

    id: str
    accepted: bool | UnsetType = UNSET


class Verified(Struct, frozen=True):
    """How much was looked at, and what is wrong with it."""

    records: int
    runs: int
    problems: list[Problem]


def parser() -> argparse.ArgumentParser:
    """The command's options, one sub-command each."""
    options = make_parser(
        "baseline",
        "Keep the accepted run. What is stored is the ranked ids, so that both runs are scored with today's gold\n"
        "and metrics at every check.",
        "rankgate baseline accept --run run.jsonl --to baseline/",
        "rankgate baseline accept   # paths from inputs:",
        "rankgate baseline accept --reason 'smaller index, agreed in #12' --by ana",
        "rankgate baseline record --run run.jsonl   # on main, after each merge",
    )
    actions = options.add_subparsers(dest="action", metavar="ACTION", required=True)
    parsers = {
        name: actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        for name, (_, text) in ACTIONS.items()
    }
    for name in ("accept", "record"):
        _add_run(parsers[name])
    add_option(parsers["accept"], "--reason TEXT", "why, where a gate says no or cannot be asked; is then recorded")
    add_option(parsers["accept"], "--new-anchor", "let small losses add up from this run on; --reason says why")
    add_option(parsers["accept"], "--by NAME", "who accepts it; is recorded")
    prune = parsers["prune"]
    add_option(prune, "--keep N", "how many of the newest stay", type=int, required=True)
    logs = ["history", "accepted"]
    add_option(prune, "--log", "of which log (default: history)", choices=logs, default="history")
    add_option(prune, "--yes", "do it; else it is only said what would go")
    for name in ("show", "history", "prune", "verify"):
        add_shared(parsers[name], "store", "criteria", "table_or_json")
    add_option(parsers["history"], "--all", f"all of it (default: the last {MAX_LISTED})")
    add_option(parsers["history"], "--accepted", "what was accepted, in place of every run")
    return options


def _add_run(options: argparse.ArgumentParser) -> None:
    """The run that is stored, and what is stored with it."""
    add_shared(options, "run")
    _, text, settings = SHARED["store"]
    add_option(options, "--baseline --to SPEC", text, **settings)
    add_shared(options, "gold", "criteria")
    add_option(options, "--depth N", "ranks to keep of each list (default: 100, or what gates read)", type=int)
    verdicts = "what a judge said of its answers, kept with them (default: RUN.verdicts.jsonl beside the run)"
    add_option(options, "--verdicts FILE", verdicts, action="read")
    commit = "the commit whose retriever made the run, or none (default: HEAD, else GITHUB_SHA)"
    add_option(options, "--commit SHA", commit)
    branch = "its branch (default: GITHUB_REF_NAME, else the one that is checked out)"
    add_option(options, "--branch NAME", branch)
    add_shared(options, "date", "table_or_json")


def run(arguments: argparse.Namespace) -> int:
    """Do it and say so."""
    act, _ = ACTIONS[arguments.action]
    say(act(arguments))
    return 0


def show(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """What is accepted now."""
    memory = named_memory(arguments)
    accepted = newest_accepted(memory)
    if arguments.format == "json":
        return as_json({"spec": memory.spec, "accepted": accepted and described(accepted)})
    if accepted is None:
        return [f"nothing has been accepted in {memory.spec} yet"]
    return [f"accepted in {memory.spec}:", Pairs(_facts(accepted))]


def history(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """The runs of the main branch, or what was accepted, the newest last; `*` marks what was accepted."""
    memory = named_memory(arguments)
    accepted = memory.read("accepted")
    last = None if arguments.all else MAX_LISTED + 1  # one more shows whether there are more
    records = accepted if arguments.accepted else memory.read("history", last=last)
    listed = records if arguments.all else records[-MAX_LISTED:]
    ids = {record.id for record in accepted}
    if arguments.format == "json":
        return as_json([described(record, accepted=record.id in ids) for record in listed])
    if not listed:
        return [f"nothing has been {'accepted' if arguments.accepted else 'recorded'} in {memory.spec} yet"]
    names = list(dict.fromkeys(name for record in listed for name in record.scores))[:MAX_METRICS]
    rows = [
        ("*" if record.id in ids else "", *_row(record), *(_score(record.scores.get(name)) for name in names))
        for record in listed
    ]
    numbers = range(len(HEADINGS) + 1, len(HEADINGS) + 1 + len(names))
    lines: list[Block] = [Table(rows=[("", *HEADINGS, *names), *rows], right=numbers)]
    if len(records) > len(listed):
        lines.append(f"  the last {len(listed)}; --all lists the older ones too")
    return lines


def described(record: Record, *, accepted: bool | UnsetType = UNSET) -> ListedRecord:
    """A record as JSON shows it."""
    kept = replace(record, gold=record.gold and replace(record.gold, judged=None))
    return ListedRecord(**asdict(kept), id=record.id, accepted=accepted)


def prune(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Forget all but the newest; what is accepted now stays, and so does its anchor."""
    if arguments.keep < 0:
        raise bad_input(f"--keep must be at least 0, not {arguments.keep}")
    memory = named_memory(arguments)
    records = memory.read(arguments.log)
    first_kept = max(0, len(records) - max(1, arguments.keep))  # the next one's number follows on from the newest's
    # What was accepted again stands twice under one id: a store forgets by id, so the older one stays as well.
    accepted = memory.read("accepted")
    kept = {record.id for record in (*records[first_kept:], *accepted[-1:])}
    kept |= {mark.id for mark in [anchor_of(accepted, memory.keeps)] if mark}
    going = [record for record in records[:first_kept] if record.id not in kept]
    gone = memory.prune(arguments.log, [record.id for record in going]) if arguments.yes and going else 0
    if arguments.format == "json":
        return as_json({"log": arguments.log, "pruned": bool(gone), "records": [described(each) for each in going]})
    if not going:
        return [f"nothing to prune: {memory.spec} has {count_text(len(records), 'record')} in {arguments.log}"]
    span = f"{count_text(len(going), 'record')} of {going[0].date} to {going[-1].date}"
    what = f"prune{'d' if arguments.yes else ''} {span} from the {arguments.log} of {memory.spec}"
    return [what if arguments.yes else f"would {what}; with --yes it does"]


def verify(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Check all that is stored, and name each damaged thing."""
    memory = named_memory(arguments)
    result = verified(memory)
    counts = f"{count_text(result.records, 'record')} and {count_text(result.runs, 'run file')}"
    lines: list[Block] = [f"{memory.spec}: {counts} looked at"]
    if not result.problems:
        lines.append("all whole")
    summary = as_json(result) if arguments.format == "json" else lines
    if result.problems:
        say(summary)
        raise RankgateError(result.problems)
    return summary


def verified(memory: Memory) -> Verified:
    """Look at everything; nothing is changed and nothing is raised for what is damaged.

    What somebody who writes meanwhile makes look damaged is looked at again.
    """
    result = _examined(memory)
    for _ in range(MAX_ROUNDS):
        if not result.problems:
            break
        before = _listing(memory)
        result = _examined(memory)
        if before == _listing(memory):
            break
    return result


def _listing(memory: Memory) -> list[str] | None:
    """What the logs hold; None where they cannot be listed."""
    memory.place.refresh()
    try:
        return memory.listing()
    except RankgateError:
        return None


def _examined(memory: Memory) -> Verified:
    examined = memory.examined()
    problems = list(examined.problems)
    runs = 0
    for each in {(each.run, each.sha256): each for each in examined.records}.values():
        try:
            if each.verdicts:
                stored_verdicts(open_record(memory, each, frozenset({RunField.VERDICTS})))
            else:
                memory.fetch(each)
            runs += 1
        except NotKeptError:
            continue
        except RankgateError as error:
            problems += error.problems
    return Verified(records=len(examined.records), runs=runs, problems=list(dict.fromkeys(problems)))


def _row(record: Record) -> tuple[str, ...]:
    return (
        record.id,
        record.date,
        (record.commit or "")[:SHORT_SHA],
        one_line(record.branch or "", 20),
        record.verdict.value if record.verdict else "",
        f"{record.queries:,}",
        one_line(record.reason or "", 40),
    )


def _facts(record: Record) -> list[tuple[str, str]]:
    facts = {
        "id": record.id,
        "date": record.date,
        "commit": record.commit,
        "branch": record.branch,
        "source": record.source,
        "queries": f"{record.queries:,}, ranks to {record.depth}",
        "kept": ", ".join(record.kept),
        "answers": answers_text(record),
        "gold": record.gold and f"{record.gold.path}, {record.gold.queries:,} queries",
        "verdict": record.verdict and record.verdict.value,
        "reason": record.reason,
        "by": record.by,
        **{name: _score(value) for name, value in record.scores.items()},
        **{key: str(value) for key, value in record.provenance.items() if key != RECORDING},
    }
    return [(key, one_line(value, 100)) for key, value in facts.items() if value]


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


# Name → what it does and returns to print, and a line of help.
ACTIONS: dict[str, tuple[Callable[[argparse.Namespace], str | Sequence[Block]], str]] = {
    "show": (show, "what is accepted now"),
    "accept": (accept, "make a run the one that gates compare with"),
    "record": (record, "add a run of the main branch to the history; accept it if the policy says so"),
    "history": (history, "the runs of the main branch, the newest last"),
    "prune": (prune, "forget old runs; says what would go unless --yes"),
    "verify": (verify, "check digests, schemas and logs of all that is stored"),
}
