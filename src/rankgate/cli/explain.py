"""`rankgate explain`: a question with both rankings, or the questions that miss something."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable

from msgspec.structs import replace

from rankgate.check import check
from rankgate.cli.inputs import metrics_of, question_named
from rankgate.cli.options import add_option, add_shared, inputs_of, make_parser
from rankgate.cli.output import as_json, complain, reading_bar, say
from rankgate.criteria.inputs import DetailInputs
from rankgate.diagnosis.misses import Lexical, LexicalIndex, explain_misses, explain_query
from rankgate.errors import RankgateError, bad_input, did_you_mean, shown
from rankgate.metrics.base import Kind, Metric
from rankgate.model.details import Cause, Question, ReportDetails, read
from rankgate.model.report import Report
from rankgate.model.values import Direction, Verdict
from rankgate.readers.corpus import read_corpus
from rankgate.renderers.explaining import render_misses, render_query
from rankgate.renderers.view.questions import CAUSE_WORDS

_Lookup = Callable[[Question, int], Lexical]  # what BM25 finds for a question, whose first k count
DEPTH = 10
LIMIT = 20
_MISSES_DEPTH = 20  # items of each ranking that are looked through for what took a lost document's place
_FOR_A_PIPE = 100  # columns where there is no terminal


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "explain",
        "Explain a question, or without one what is missed, worst first, with the inputs of `rankgate check`. It\n"
        "explains and does not gate.",
        "rankgate explain q-17                            # both rankings side by side, the gold marked",
        "rankgate explain                                 # the questions that miss a relevant document, worst first",
        "rankgate explain --tag lang:pt-BR                # those with a tag",
        "rankgate explain --metric recall@10              # by any metric of ranked documents, gated or not",
        "rankgate explain q-17 --bm25 corpus.jsonl        # beside what the words alone would find",
        exits="0 explained, whatever the verdict; 2 could not be judged, or no question of that id",
    )
    add_option(options, "query QUESTION", "the id of a question (default: list the misses)", nargs="?")
    metric = "list misses by this metric and within its cut-off (default: the gated one whose changes are listed)"
    add_option(options, "--metric METRIC", metric)
    add_option(options, "--tag TAG", "list only questions with this tag")
    add_option(options, "--cause CAUSE", "list only questions of this cause, such as gone")
    add_option(options, "--limit N", f"how many to list (default: {LIMIT})", type=int)
    add_shared(options, depth=f"results to show of each ranking (default: {DEPTH})")
    bm25 = (
        "the indexed documents, JSONL or Parquet (id and text a line, as BEIR's corpus.jsonl): what BM25 finds by the "
        "words alone; needs the extra bm25"
    )
    add_option(options, "--bm25 CORPUS", bm25, action="read")
    add_shared(options, "format", "criteria", "gold", "run", "baseline", "date")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Explain; 0 where the check could be judged, else 2 with its problems."""
    _refuse_misfits(arguments)
    lexical = _lexical(arguments)  # before the check, so that nobody waits for one to hear of a misspelt corpus
    depth = _depth(arguments)
    if arguments.query is None:
        depth = max(depth, _MISSES_DEPTH)
    inputs = replace(inputs_of(arguments), details=DetailInputs(depth=depth, leading=_leading(arguments)))
    with reading_bar() as progress:
        report = check(inputs, progress=progress)
    details = report.explanation.details
    if not isinstance(details, ReportDetails):
        raise RankgateError(report.problems)
    explained = _misses if arguments.query is None else _query
    say(explained(arguments, report, details, lexical))
    for problem in report.problems:
        complain(f"error: {problem}")
    return 2 if report.verdict is Verdict.NOT_JUDGED else 0


def _leading(arguments: argparse.Namespace) -> Metric | None:
    """The metric by which misses are listed; None where none is named."""
    if arguments.metric is None:
        return None
    named = metrics_of(arguments.metric, "--metric")
    if len(named) != 1 or named[0].kind is not Kind.RELEVANCE or named[0].direction is not Direction.HIGHER:
        raise bad_input(f"--metric {shown(arguments.metric)}: name one metric of ranked documents, such as recall@10")
    return named[0]


def _query(arguments: argparse.Namespace, report: Report, details: ReportDetails, lexical: _Lookup | None) -> str:
    questions = {each.query_id: each for each in details.questions}
    question = questions.get(question_named(arguments.query, questions))
    if question is None:
        near = did_you_mean(arguments.query, questions)
        raise bad_input(f"no question {shown(arguments.query)} in the gold set{near}")
    question = read(question)
    explained = explain_query(report, details, question, lexical(question, details.k) if lexical else None)
    if arguments.format == "json":
        return as_json({"explains": "query", "query": explained})
    return render_query(explained, _width())


def _misses(arguments: argparse.Namespace, report: Report, details: ReportDetails, lexical: _Lookup | None) -> str:
    labels = {CAUSE_WORDS[cause][0].replace(" ", "_"): cause for cause in Cause}
    causes = {**labels, **{cause.value: cause for cause in Cause}}
    written = None if arguments.cause is None else re.sub(r"[- ]", "_", arguments.cause.lower())
    if written is not None and written not in causes:
        raise bad_input(f"--cause {shown(written)}: no such cause{did_you_mean(written, causes)} ({', '.join(labels)})")
    tags = {tag for question in details.questions for tag in question.tags}
    if arguments.tag is not None and arguments.tag not in tags:
        raise bad_input(f"--tag {shown(arguments.tag)}: no question has it{did_you_mean(arguments.tag, tags)}")
    misses = explain_misses(
        report,
        details,
        tag=arguments.tag,
        cause=causes[written] if written else None,
        limit=arguments.limit or LIMIT,
        lexical=(lambda question: lexical(question, details.first(question))) if lexical else None,
        depth=_depth(arguments),
    )
    if arguments.format == "json":
        return as_json({"explains": "misses", "misses": misses})
    unit = next((measure.unit for measure in details.measures if measure.name == misses.metric), None)
    return render_misses(misses, unit, _width())


def _lexical(arguments: argparse.Namespace) -> _Lookup | None:
    """What looks a question up in the corpus; None where none is named."""
    if arguments.bm25 is None:
        return None
    index = LexicalIndex(read_corpus(arguments.bm25), arguments.bm25)
    depth = _depth(arguments)
    return lambda question, k: index.search(question, k, depth)


def _depth(arguments: argparse.Namespace) -> int:
    return int(arguments.depth or DEPTH)


def _width() -> int:
    """Columns of the terminal, or as COLUMNS says; enough for two rankings where there is neither."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size((_FOR_A_PIPE, 24)).columns if known else _FOR_A_PIPE


def _refuse_misfits(arguments: argparse.Namespace) -> None:
    for flag in ("metric", "tag", "cause", "limit"):
        if getattr(arguments, flag) is not None and arguments.query is not None:
            raise bad_input(f"--{flag} goes with the list of misses; leave out {shown(arguments.query)}")
    for flag in ("depth", "limit"):
        count = getattr(arguments, flag)
        if count is not None and count < 1:
            raise bad_input(f"--{flag} {count}: at least 1")
