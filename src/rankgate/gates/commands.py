"""The commands of a report: the call that repeats the check, and what any other has to say again."""

from __future__ import annotations

from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs
from rankgate.model.report import Call
from rankgate.model.values import Gold
from rankgate.readers.base import Run
from rankgate.readers.formats import NAMES
from rankgate.readers.source import STDIN


def call_of(inputs: Inputs, criteria: Criteria, gold: Gold, run: Run, baseline: Run | None) -> Call:
    """What has to be said again: files that the criteria do not name, by the names under which reports show them."""
    written = criteria.inputs
    files = [("gold", inputs.gold, written.gold, gold.name), ("run", inputs.run, written.run, run.name)]
    files += [("baseline", inputs.baseline, written.baseline, baseline.name)] if baseline else []
    options: dict[str, str] = {}
    for option, named, known, name in files:
        if named and named.is_file and not (named.is_table or (known and known.path == named.path)):
            typed = STDIN if named.path == STDIN else _typed(name)
            options[option] = f"{named.format}:{typed}" if named.format else typed
    store = inputs.baseline is not None or criteria.inputs.baseline is not None
    judging = ["--base", inputs.base] if inputs.base else []
    if inputs.untrusted_run:
        judging.append("--untrusted-run")
    if inputs.verdicts or inputs.untrusted_run or (inputs.run and inputs.run.path == STDIN):
        judging += ["--store", inputs.verdicts or "verdicts.jsonl"]
    retriever = criteria.retriever is not None
    return Call(options=options, judging=tuple(judging), retriever=retriever, store=store)


def _typed(name: str) -> str:
    """A file as an option takes it, also where its name begins as an option or as `FORMAT:FILE` does."""
    return f"./{name}" if name.startswith("-") or name.partition(":")[0] in NAMES else name


def command_of(inputs: Inputs, criteria: Criteria, gold: Gold, run: Run, baseline: Run | None) -> list[str]:
    """The call that repeats this check, as one would type it; none where something is in Python's memory alone."""
    if inputs.asked or inputs.in_memory:
        return []
    command = ["rankgate", "check", "--criteria", criteria.name]
    files = (("gold", inputs.gold, criteria.inputs.gold, gold.name), ("run", inputs.run, criteria.inputs.run, run.name))
    for flag, named, written, name in files:
        if named is None and written and (written.format or written.map):
            continue  # the criteria say how it is read, too
        typed = named.path if named and named.path == STDIN else _typed(name)
        command += [f"--{flag}", f"{named.format}:{typed}" if named and named.format else typed]
    command += ["--untrusted-run"] if inputs.untrusted_run else []
    command += ["--verdicts", inputs.verdicts] if inputs.verdicts else []
    corpus = inputs.details.corpus if inputs.details else None
    command += ["--corpus", corpus, "-o", "report.html"] if corpus else []
    store = None if inputs.baseline else criteria.inputs.baseline
    described = store and (store.format or store.map)
    if baseline is None or described:
        return command
    form = inputs.baseline and inputs.baseline.format
    return [*command, "--baseline", f"{form}:{baseline.name}" if form else baseline.name]
