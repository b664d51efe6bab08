"""What commands read by their arguments: reports, criteria, metrics, retrievers; and what they may not write over."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.cli.options import ReadFile, WriteFile, add_option, named_paths
from rankgate.criteria import InputFile, find_criteria, inputs_named
from rankgate.errors import RankgateError, bad_input, shown
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import BY_CHUNK, DEFAULT_K, By, Matching
from rankgate.metrics.names import UnknownMetricError, parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.model.conclusion import NO_CONCLUSION
from rankgate.model.report import Report
from rankgate.model.values import RunField
from rankgate.readers.source import STDIN, open_source
from rankgate.renderers.escape import log_line, one_line

if TYPE_CHECKING:
    from rankgate.baselines.memory import Memory
    from rankgate.criteria import Criteria
    from rankgate.criteria.judge_block import JudgeBlock
    from rankgate.criteria.retriever_block import Retriever


RETRIEVERS = {"retriever": "function", "url": "url", "command": "command"}  # what each option names of the block
_ASKED = {f"--{option}" for option in RETRIEVERS}  # of programs and addresses, which no suggested command has
MAX_REPORT_BYTES = 256 * 1024 * 1024  # a report of ten thousand gates has a few megabytes


def read_report(path: str) -> Report:
    """A report.json that `rankgate check` wrote, or anybody; one that states no conclusion gets that of its gates.

    An error, too, where its parts contradict each other, so that it cannot be put into words, and where a command that
    people may copy is no such one as a check suggests.
    """
    from rankgate.gates.conclude import with_conclusion
    from rankgate.model.report_text import decode_report
    from rankgate.renderers.github import check_run_output

    with open_source(path) as source:
        data = source.stream.read(MAX_REPORT_BYTES + 1)
        if len(data) > MAX_REPORT_BYTES:
            raise bad_input(f"has more than {MAX_REPORT_BYTES:,} bytes, which no report has", file=source.name)
        report = decode_report(data, source.name)
    try:
        report = with_conclusion(report) if report.conclusion == NO_CONCLUSION else report
        check_run_output(report)
    except (LookupError, ArithmeticError, TypeError, ValueError) as error:
        message = f"not a rankgate report: its parts contradict each other ({type(error).__name__})"
        raise bad_input(message, file=source.name) from error
    for command in (report.conclusion.next, report.conclusion.accept, report.provenance.command):
        if command and (command[0] != "rankgate" or any(word.partition("=")[0] in _ASKED for word in command)):
            raise bad_input(f"not a rankgate report: no check suggests {shown(command)}", file=source.name)
    return report


def question_named(written: str, ids: Collection[str]) -> str:
    """The question's id: as it is written, or else the one that our outputs show so, in which nothing is hidden."""
    if written in ids:
        return written
    return next((each for each in ids if written in (one_line(each), log_line(each))), written)


def refuse_overwriting(command: str, arguments: argparse.Namespace) -> None:
    """No output of a command is one of its inputs, named by an option or by the criteria, or another output.

    A recorded run may replace one that the criteria name, also as the baseline, merged labels their GOLD, verdicts
    those beside the run, and a calibration the one of the criteria.
    """
    from rankgate.files.writing import refuse_overwriting as overwriting

    outputs = [(each.option, each.path) for each in named_paths(arguments, WriteFile) if each.path != STDIN]
    outputs += [(name, f"{path}.partial") for name, path in outputs if command == "record"]
    replaces = {"record": "run", "merge": "gold", "negatives": "gold", "calibrate": "judge.calibration"}
    replaced = replaces.get(getattr(arguments, "action", None) or command)
    inputs = [(each.option, each.path) for each in named_paths(arguments, ReadFile) if each.key != replaced]
    if function := getattr(arguments, "retriever", None):
        module = function.partition(":")[0].replace(".", "/")
        inputs += [("--retriever", f"{module}.py"), ("--retriever", f"{module}/__init__.py")]
    criteria = [path for name, path in inputs if name == "--criteria"]
    if not criteria and outputs and hasattr(arguments, "criteria"):
        criteria = [*filter(None, [default_criteria()])]
    for file in criteria:
        inputs.append(("--criteria", file))
        if file == STDIN:  # which can be read only once
            continue
        for key, path in inputs_named(file).items():
            recorded = command == "record" and key == "inputs.baseline" and not Path(path).is_dir()
            if key.removeprefix("inputs.") != replaced and not recorded:
                inputs.append((f"{key} of {file}", path))
    if command != "judge" or getattr(arguments, "action", None) is not None:  # else they are its output
        beside = [(name, path) for name, path in inputs if any(Path(path).parent.glob("*.verdicts.jsonl"))]
        if beside:
            from rankgate.judge.runs import verdicts_beside

            inputs += [(f"{name} with its verdicts", verdicts_beside(path)) for name, path in beside]
    overwriting(outputs, inputs)


def as_written(file: InputFile) -> str:
    """The file as an option names it."""
    return f"{file.format}:{file.path}" if file.format else file.path


def default_criteria() -> str | None:
    """The criteria file in one of the usual places, or None."""
    try:
        return find_criteria()
    except RankgateError:
        return None


def criteria_if_any(arguments: argparse.Namespace) -> Criteria | None:
    """The criteria named or found, or None where there are none."""
    return required_criteria(arguments) if getattr(arguments, "criteria", None) or default_criteria() else None


def required_criteria(arguments: argparse.Namespace) -> Criteria:
    """The criteria named or found; an error where there are none."""
    from rankgate.criteria import load_criteria  # pydantic is paid for only here

    return load_criteria(getattr(arguments, "criteria", None) or find_criteria())


def store_named(arguments: argparse.Namespace, criteria: Criteria | None) -> str:
    """The store that was named, or that of the criteria."""
    if arguments.store_named:
        return str(arguments.store_named)
    if criteria and criteria.inputs.baseline:
        return criteria.inputs.baseline.path
    where = "name a directory with --baseline, or as inputs.baseline in the criteria"
    raise bad_input(f"no place for the baseline; {where}")


def memory_of(store: str) -> Memory:
    """The memory of a store; a run file remembers nothing."""
    from rankgate.baselines.stores import store_for

    memory = store_for(store).memory
    if memory is None:
        raise bad_input("is a file; a baseline is accepted into a directory", file=store)
    return memory


def named_memory(arguments: argparse.Namespace) -> Memory:
    """The memory of the store that the arguments or the criteria name."""
    return memory_of(store_named(arguments, criteria_if_any(arguments)))


def add_retriever(options: argparse.ArgumentParser, help_begins: str) -> None:
    """The kinds of retrievers, one of which may be named; `help_begins` says what for."""
    kinds = options.add_mutually_exclusive_group()
    function = f"{help_begins} the function to call, or an object of LangChain, LlamaIndex or Haystack"
    add_option(kinds, "--retriever MODULE:FUNCTION", function)
    url = f"{help_begins} the address to send each question to; {{{{question}}}} is filled in after its `?`"
    add_option(kinds, "--url ADDRESS", url)
    command = f"{help_begins} the command to run for each question, without a shell"
    add_option(kinds, "--command WORDS", command)


def retriever_of(arguments: argparse.Namespace) -> Retriever | None:
    """What one of these options names."""
    from rankgate.criteria.retriever_block import retriever_named  # pydantic is paid for only here

    given = ((kind, getattr(arguments, option)) for option, kind in RETRIEVERS.items())
    return next((retriever_named(kind, value) for kind, value in given if value is not None), None)


def retriever_in(criteria: Criteria | None) -> Retriever:
    """What is recorded, by the criteria; an error where they do not say."""
    if criteria is None:
        advice = "`rankgate init --gold GOLD --retriever MODULE:FUNCTION` writes them (or --url, or --command)"
        raise bad_input(f"there are no criteria that say what to record; {advice}")
    if criteria.retriever is None:
        advice = "`rankgate init --retriever MODULE:FUNCTION` writes it (or --url, or --command)"
        raise bad_input(f"says what to record, and is missing; {advice}", file=criteria.name, key="retriever")
    return criteria.retriever


def judge_in(criteria: Criteria) -> JudgeBlock:
    """Who judges answers, by the criteria; an error where they do not say."""
    if criteria.judge is None:
        text = "says who judges, and is missing; write judge: {endpoint: https://…/v1, model: …}"
        raise bad_input(text, file=criteria.name, key="judge")
    return criteria.judge


def plan_of(arguments: argparse.Namespace, criteria: Criteria | None, *, compares: bool = True) -> Plan:
    """What `--metrics` lists, matched as `--match` or the criteria say; without what compares, where nothing can be."""
    metrics = metrics_of(arguments.metrics)
    for metric in metrics:
        if RunField.BASELINE in metric.needs and not compares:
            raise bad_input(f"{metric.name} compares with a baseline; use `rankgate compare A B`", key="--metrics")
    return Plan(
        metrics=metrics, default_k=criteria.default_k if criteria else DEFAULT_K, how=matching_of(arguments, criteria)
    )


def matching_of(arguments: argparse.Namespace, criteria: Criteria | None) -> Matching:
    """How results match the gold set, as `--match` or the criteria say."""
    how = criteria.match if criteria else BY_CHUNK
    if not arguments.match:
        return how
    return Matching(by=By(arguments.match), exclude_query_id=how.exclude_query_id)


def metrics_of(listed: str, flag: str = "--metrics") -> list[Metric]:
    """The metrics that a flag lists."""
    try:
        return parse_metrics(listed)
    except UnknownMetricError as error:
        raise bad_input(str(error), key=flag) from error
