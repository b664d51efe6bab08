"""The commands that a report names: the call that repeats it, and what its reader types next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.criteria import DEFAULT_PATHS, InputFile
from rankgate.errors import ProblemKind
from rankgate.model.conclusion import Conclusion, ConclusionKind, Strength
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Call, Report
from rankgate.model.values import Gold, ReasonKind, Verdict
from rankgate.readers.base import Run
from rankgate.readers.formats import NAMES
from rankgate.readers.source import STDIN, shown_path

if TYPE_CHECKING:
    from rankgate.criteria import Criteria
    from rankgate.criteria.inputs import Inputs

PAGE = "report.html"


def call_of(inputs: Inputs, criteria: Criteria, gold: Gold, run: Run, baseline: Run | None) -> Call:
    """What the check was called with, as far as a command that its report names has to repeat it.

    Of files those that the criteria do not name, by the names under which reports show them.
    """
    written = criteria.inputs
    options: dict[str, str] = {}
    if inputs.pull.gold:
        options["gold"] = as_typed(inputs.pull.gold, shown_path(inputs.pull.gold.path))
    if _is_to_repeat(inputs.gold, written.gold):
        options["gold"] = as_typed(inputs.gold, gold.name)
    if _is_to_repeat(inputs.run, written.run):
        options["run"] = as_typed(inputs.run, run.name)
    if baseline and _is_to_repeat(inputs.baseline, written.baseline):
        options["baseline"] = as_typed(inputs.baseline, baseline.name)
    judging = ["--base", inputs.base] if inputs.base else []
    if inputs.untrusted_run:
        judging.append("--untrusted-run")
    if inputs.verdicts or inputs.untrusted_run or (inputs.run and inputs.run.path == STDIN):
        judging += ["--store", inputs.verdicts or "verdicts.jsonl"]
    return Call(
        options=options,
        judging=tuple(judging),
        retriever=criteria.retriever is not None,
        store=inputs.baseline is not None or written.baseline is not None,
        typed=not (inputs.parsed_criteria or inputs.in_memory),
    )


def _is_to_repeat(named: InputFile | None, written: InputFile | None) -> bool:
    """Whether a caller's file can be named again and is not the one that the criteria name."""
    if named is None or not named.is_file or named.is_table:
        return False
    return written is None or written.path != named.path


def as_typed(file: InputFile | None, name: str) -> str:
    """A file as an option takes it, also where its name begins as an option or as `FORMAT:FILE` does."""
    if file and file.path == STDIN:
        name = STDIN
    elif name.startswith("-") or name.partition(":")[0] in NAMES:
        name = f"./{name}"
    return f"{file.format}:{name}" if file and file.format else name


def command_of(inputs: Inputs, criteria: Criteria, gold: Gold, run: Run, baseline: Run | None) -> list[str]:
    """The call that repeats this check, as one would type it; none where something is in Python's memory alone."""
    if inputs.parsed_criteria or inputs.in_memory:
        return []
    command = ["rankgate", "check", "--criteria", as_typed(None, criteria.name)]
    files = (("gold", inputs.gold, criteria.inputs.gold, gold.name), ("run", inputs.run, criteria.inputs.run, run.name))
    for flag, named, written, name in files:
        if named is None and written and (written.format or written.map):
            continue  # the criteria say how it is read, too
        command += [f"--{flag}", as_typed(named, name)]
    command += ["--untrusted-run"] if inputs.untrusted_run else []
    command += ["--verdicts", as_typed(None, inputs.verdicts)] if inputs.verdicts else []
    corpus = inputs.details.corpus if inputs.details else None
    command += ["--corpus", as_typed(None, corpus), "-o", "report.html"] if corpus else []
    store = None if inputs.baseline else criteria.inputs.baseline
    described = store and (store.format or store.map)
    if baseline is None or described:
        return command
    return [*command, "--baseline", as_typed(inputs.baseline, baseline.name)]


def next_command(report: Report, conclusion: Conclusion) -> list[str]:
    """The next command, as words; none after a strong pass.

    After a verdict by labels of traffic it writes the page, which shows the questions whose results changed: no gold
    question explains it.
    """
    call = report.call or Call(retriever=True, store=True)
    is_strong = conclusion.strength in (Strength.RULED_OUT, Strength.UNCHANGED)
    if (conclusion.kind is ConclusionKind.PASS and is_strong) or not call.typed:
        return []
    rows = [gate for gate in report.gates if gate.row_key == conclusion.row_key]
    if any(gate.over_traffic for gate in rows):
        return ["rankgate", "check", *_options(report, "gold", "run", "baseline"), "-o", PAGE]
    empties = report.measured.empties
    first = empties.first if empties else None
    question = _question(report, conclusion, rows)
    words: list[str] = []
    if any(problem.kind is ProblemKind.NOT_RECORDED for problem in report.problems):
        words = ["check", "--record", *_options(report, "gold", "baseline")]
    elif conclusion.kind in (ConclusionKind.EMPTY, ConclusionKind.EMPTY_SEGMENT) and first:
        only = [f"--only={first}"] if first.startswith("-") else ["--only", first]
        again = ["record", *only, *_options(report, "gold")]
        words = again if call.retriever else _explained(report, call, first)
    elif conclusion.kind is ConclusionKind.OTHER_CODE:
        words = ["check", "--record", *_options(report, "gold", "run", "baseline")]
    elif conclusion.kind is ConclusionKind.NO_BASELINE:
        target = _option("--baseline", call.options.get("baseline")) if call.store else ["--to", "baseline"]
        words = ["baseline", "accept", *target, *_options(report, "gold", "run")]
    elif conclusion.kind is ConclusionKind.GIVEN_UP:
        words = _since_anchor(report)
    elif conclusion.rule == "other" and any(gate.lacks_verdicts for gate in rows):
        words = _judged(report, call)
    elif question is not None and conclusion.kind is not ConclusionKind.NOT_JUDGED:
        words = _explained(report, call, question)
    else:
        # All rows say in full what no gate warns of; the inputs, why something is unproven or cannot be judged.
        base = call.judging[:2] if call.judging[:1] == ("--base",) else ()
        looks = ["check", "--all", *base] if conclusion.kind is ConclusionKind.WARNING else ["validate"]
        words = [*looks, *_options(report, "gold", "run", "baseline")]
    return ["rankgate", *words]


def _question(report: Report, conclusion: Conclusion, rows: Sequence[GateResult]) -> str | None:
    """The question that shows best what the conclusion says of its rows, if one does."""
    named = rows[0].decision.queries if rows and conclusion.rule == "other" else []
    changes = report.changes
    worse = changes.losers_of(conclusion.row_key)
    in_order = [move.query_id for move in changes.misses if move.query_id in worse]  # as every output lists them
    best_first = [*named, *in_order, *worse]
    if best_first:
        return best_first[0]
    if conclusion.rule == "floor" and conclusion.row_key:
        return changes.lowest.get(conclusion.row_key)
    return None


def accept_command(report: Report, conclusion: Conclusion) -> list[str]:
    """The command that accepts the drop or the lost questions for which gates fail into the store of accepted runs.

    None where a floor would be missed or a question fail that must pass all the same, and where the baseline is a file
    of its own.
    """
    baseline = report.provenance.baseline
    failing = (gate for gate in report.gates if gate.verdict is Verdict.FAIL)
    kinds = {reason.kind for gate in failing for reason in gate.decision.deciding}
    if conclusion.kind is not ConclusionKind.GATE_FAILS or not kinds <= {ReasonKind.REGRESSION, ReasonKind.LOST}:
        return []
    if baseline is None or baseline.lineage is None or (report.call and not report.call.typed):
        return []
    return ["rankgate", "baseline", "accept", "--reason", "WHY", *_options(report, "gold", "run", "baseline")]


def _since_anchor(report: Report) -> list[str]:
    """The command that compares the run with the anchor, by the same criteria and in the store that has it."""
    provenance = report.provenance
    runs = [report.changes.given_up[0].anchor]
    if provenance.run:
        runs.append(provenance.run.path)
    store = _option("--baseline", provenance.baseline.path if provenance.baseline else None)
    return ["compare", *runs, *_option("--criteria", as_typed(None, provenance.criteria or "")), *store]


def _judged(report: Report, call: Call) -> list[str]:
    """The command that asks for what is missing; what the judge failed at it is not asked once more by itself."""
    kinds = {kind for gate in report.gates for reason in gate.decision.reasons for kind in reason.kinds}
    again = ["--again"] if any(kind.lasts for kind in kinds) else []
    return ["judge", *again, *_options(report, "gold", "run", "baseline"), *call.judging]


def _explained(report: Report, call: Call, question: str) -> list[str]:
    """The command that explains a question, with what the check was called with."""
    run = call.options.get("run") or (report.provenance.run.path if report.provenance.run else None)
    options = [*_option("--run", run), *_options(report, "gold", "baseline")]
    return ["explain", *options, "--", question] if question[:1] == "-" else ["explain", question, *options]


def _options(report: Report, *names: str) -> list[str]:
    """The criteria, where no command would find them by itself, and the files of these names that they do not name."""
    criteria = report.provenance.criteria
    given = report.call.options if report.call else {}
    options = [] if criteria in DEFAULT_PATHS else _option("--criteria", as_typed(None, criteria or ""))
    for name in names:
        options += _option(f"--{name}", given.get(name))
    return options


def _option(name: str, value: str | None) -> list[str]:
    return [name, value] if value else []
