"""`rankgate check`: judge a run, write what was asked for, and say the verdict by exit code."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rankgate.check import check
from rankgate.cli.options import add_option, add_shared, inputs_of, make_parser
from rankgate.cli.output import reading_bar, say_report
from rankgate.criteria.inputs import SHOWN_ITEMS, DetailInputs, Inputs, PullInputs, Stores
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.metrics.scored_run import ReadProgress
from rankgate.model.base_ref import SetLabel
from rankgate.model.report import Report, exit_code
from rankgate.model.values import Verdict
from rankgate.renderers import RENDERERS, format_for

_OF_A_REPORT = {"report", "output", "template", "format", "fail_on", "everything", "quiet"}


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "check",
        "Judge a run by ship-criteria.yaml against the gold set and the accepted baseline.",
        "rankgate check --gold gold.yaml --run run.jsonl --baseline baseline/",
        "rankgate check --record                          # what `retriever:` names is asked first",
        "rankgate check -o report.json -o comment.md      # inputs named in ship-criteria.yaml",
        "rankgate check -o report.html                    # a page to open in a browser, from disk",
        "rankgate check -o junit.xml -o rankgate.badge.json",
        "zcat run.jsonl.gz | rankgate check --run - --format json",
        "rankgate check --run per_query:now.parquet --baseline per_query:accepted.parquet   # values from a cluster",
        "rankgate check --base origin/main                # in a pull request: judged as main asks as well",
        "rankgate check --template our-comment.md.j2 -o comment.md",
        "rankgate check --from report.json -o junit.xml   # what was judged, in another form; nothing is scored",
        exits="0 pass or warn; 1 fail (with --fail-on warn also warn); 2 could not be judged",
    )
    add_shared(options, "criteria", "gold", "run", "baseline")
    base = (
        "the commit that a pull request is to be merged into: its files judge too, by its baseline, and the worse "
        "verdict counts"
    )
    add_option(options, "--base REF", base)
    untrusted = "the run is of an untrusted source, such as a fork: JSONL alone, within limits, and the report says so"
    add_option(options, "--untrusted-run", untrusted)
    add_shared(
        options, verdicts="what a judge said of the answers (default: RUN.verdicts.jsonl beside a run that is trusted)"
    )
    report = (
        "word a report.json again instead of judging (- for stdin); only -o, --template, --format, --all, -q and "
        "--fail-on go with it, and a page has no rankings"
    )
    add_option(options, "--from REPORT", report, dest="report", action="read")
    output = (
        "write a file, its form by suffix: .json the report, .md the comment, .html a page with curves and "
        "rankings, .xml JUnit, .badge.json an endpoint for a badge of shields.io; repeats"
    )
    corpus = "the indexed passages, JSONL or Parquet (id and text a line), for -o FILE.html where runs state no texts"
    add_option(options, "--corpus FILE", corpus, action="read")
    add_option(options, "-o --output FILE", output, action="write", default=[])
    template = "a Jinja template of yours for -o NAME.md (docs/templates.md)"
    add_option(options, "--template FILE", template, action="read")
    forms = ["terminal", "markdown", "json", "github", "junit", "badge"]
    text = "what to print (default: terminal; github: annotations for the Actions log)"
    add_option(options, "--format", text, choices=forms, default="terminal")
    listed = options.add_mutually_exclusive_group()
    text = "at a terminal also what holds, the worst questions, the parts by tag, and what was compared"
    add_option(listed, "--all", text, dest="everything")
    add_option(listed, "-q --quiet", "at a terminal the conclusion alone")
    add_option(options, "--fail-on", "the mildest verdict that exits 1", choices=["fail", "warn"], default="fail")
    add_option(options, "--record", "record the run first, as `rankgate record` does, in a process of its own")
    add_shared(options, "traffic_limit", "date")
    actions = options.add_argument_group("set by the GitHub action, for a fork's run")
    add_option(actions, "--baseline-copy DIR", "what is compared with, as the job copied it", action="read")
    add_option(actions, "--labels FILE", "the labels of the pull request, as the job read them", action="read")
    add_option(actions, "--awaits", "what verdicts on the answers still wait for", choices=["label"])
    return options


def run(arguments: argparse.Namespace) -> int:
    """Check, write, print, and return 0, 1 or 2."""
    formats = [(path, format_for(path)) for path in arguments.output]
    forms = [form for _, form in formats]
    renderers = _renderers(arguments, forms)
    if arguments.report is None:
        report = _judged(arguments, page="html" in forms)
    else:
        from rankgate.cli.inputs import read_report

        _refuse_others(arguments)
        report = read_report(arguments.report)
    problems: list[Problem] = []
    for path, form in formats:
        from rankgate.files.writing import write_atomic

        try:
            write_atomic(path, renderers[form](report))
        except RankgateError as error:
            problems += error.problems  # the verdict is still printed
    say_report(report, arguments.format, everything=arguments.everything, quiet=arguments.quiet)
    if problems:
        raise RankgateError(problems)
    return exit_code(report, arguments.fail_on)


def _judged(arguments: argparse.Namespace, *, page: bool) -> Report:
    if arguments.corpus is not None and not page:
        raise bad_input("--corpus goes with -o FILE.html, which shows the texts")
    if arguments.traffic_limit is not None and not arguments.record:
        raise bad_input("--traffic-limit goes with --record, which asks the questions")
    inputs = _inputs(arguments, page=page)
    recorded = True
    if arguments.record:
        from rankgate.cli.inputs import criteria_if_any, retriever_in
        from rankgate.cli.processes import recording, succeeds

        command = recording(arguments)
        try:
            retriever_in(criteria_if_any(arguments))
        except RankgateError as error:
            return _without_verdict(inputs, error)
        recorded = succeeds(command)
    with reading_bar() as progress:
        report = judge(inputs, progress=progress)
    if not recorded and report.verdict is not Verdict.NOT_JUDGED:
        what = "the run could not be recorded, and no older one is judged; `rankgate record` says why"
        return _without_verdict(inputs, bad_input(what))
    return report


def _refuse_others(arguments: argparse.Namespace) -> None:
    """An option that says what or how to judge has no meaning with `--from`."""
    defaults = vars(parser().parse_args([]))
    for name, value in vars(arguments).items():
        if name not in _OF_A_REPORT and value != defaults.get(name):
            flag = f"--{name.replace('_', '-')}"
            raise bad_input(f"{flag} says what to judge, and --from names what was judged; give one of the two")


def _renderers(arguments: argparse.Namespace, forms: Sequence[str]) -> Mapping[str, Callable[[Report], str]]:
    """What writes each form of output: Markdown through the template that is named, if one is."""
    if arguments.template is None:
        return RENDERERS
    if "markdown" not in forms:
        raise bad_input("--template goes with -o NAME.md, which it lays out")
    from rankgate.renderers.markdown import user_renderer

    return {**RENDERERS, "markdown": user_renderer(arguments.template)}


def judge(inputs: Inputs, *, progress: ReadProgress | None = None) -> Report:
    """The report of a check, also when it could not judge and when rankgate itself is at fault."""
    try:
        return check(inputs, progress=progress)
    except Exception as error:  # noqa: BLE001 -- an internal error too is a report, never a pass
        return _without_verdict(inputs, error)


def _without_verdict(inputs: Inputs, error: Exception) -> Report:
    from rankgate.gates.not_judged import call_again, not_judged, problems_of

    return not_judged(inputs, problems_of(error), call_again(inputs))


def _inputs(arguments: argparse.Namespace, *, page: bool) -> Inputs:
    inputs = inputs_of(arguments)
    branch = None
    labels: tuple[SetLabel, ...] = ()
    tables = [file for file in (inputs.run, inputs.baseline) if file and file.is_table]
    if tables and arguments.untrusted_run:
        raise bad_input("values per query go with --run where somebody trusted computed them, not --untrusted-run")
    if inputs.run and inputs.run.is_table and arguments.corpus is not None:
        raise bad_input("--corpus is for the lists that a page shows, and values per query have none")
    details = None
    if page and not tables:  # which have no lists
        details = DetailInputs(depth=SHOWN_ITEMS, texts=True, corpus=arguments.corpus)
    if arguments.base:
        from rankgate.forges.runner import base_branch

        branch = base_branch(os.environ)
    if arguments.labels:  # as the reporting job wrote them down
        labels = msgspec.json.decode(Path(arguments.labels).read_bytes(), type=tuple[SetLabel, ...])
    return replace(
        inputs,
        base=arguments.base,
        pull=PullInputs(branch=branch, labels=labels, awaits=arguments.awaits),
        untrusted_run=arguments.untrusted_run,
        stores=Stores(arguments.baseline_copy),
        details=details,
        verdicts=arguments.verdicts,
    )
