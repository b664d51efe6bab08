"""`rankgate compare`: two runs on the same questions, without a gate."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from rankgate import __version__
from rankgate.baselines.base import open_record
from rankgate.baselines.memory import lookup
from rankgate.cli.baseline_options import add_place, named_memory
from rankgate.cli.check import SHOWN_ITEMS
from rankgate.cli.inputs import criteria_if_any, file_of, plan_of, refuse_two_stdins
from rankgate.cli.options import add_criteria, add_gold, add_metrics, make_parser
from rankgate.cli.output import as_json, say
from rankgate.cli.progress import bar
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs, deepest_cutoff, gold_of, named_run
from rankgate.diagnosis.listings import unmatched
from rankgate.diagnosis.movements import by_tag
from rankgate.diagnosis.notes import cut_text, missing_notes
from rankgate.errors import bad_input, on_one_line, shown
from rankgate.files.writing import write_atomic
from rankgate.gates.compose import SHOWN, with_details
from rankgate.metrics.base import Kind, Metric, widest_change
from rankgate.metrics.comparison import Comparison, compare
from rankgate.metrics.estimates import Estimate
from rankgate.metrics.evaluation import RunComparison
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import Compared, ScoredRun, scored_pair
from rankgate.metrics.scoring import Tally
from rankgate.model.base_ref import SHA
from rankgate.model.differences import COMPONENTS, run_differences
from rankgate.model.report import BaselineSource, Provenance, Report, Source
from rankgate.model.values import Gold, Need, Ranking, Scores, Unit, Verdict
from rankgate.model.wording import count_text, delta_text, interval_text, size_text, value_text
from rankgate.readers.base import Run
from rankgate.renderers.blocks import Table
from rankgate.renderers.phrases import NOTHING, never_line

USUAL = "recall@5"  # leads where it is among the metrics


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "compare",
        "Compare two runs query by query: A is the one before, B the one after. Either may be a baseline directory,\n"
        "or a stored run: `accepted`, or the first digits of an id or a commit of the history.",
        "rankgate compare old.jsonl new.jsonl --gold gold.yaml",
        "rankgate compare baseline/ run.jsonl --gold gold.yaml --metrics recall@1,5,20 --format json",
        "rankgate compare accepted run.jsonl   # of the store in inputs.baseline",
    )
    options.add_argument("a", metavar="A", help="the run before")
    options.add_argument("b", metavar="B", help="the run after")
    add_place(options)
    add_gold(options)
    add_criteria(options)
    add_metrics(options)
    page = "write a page with curves, segments and every question (pip install 'rankgate[html]')"
    options.add_argument("-o", "--output", metavar="FILE.html", help=page)
    options.add_argument("--format", choices=["terminal", "json"], default="terminal", help="what to print")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Score both, pair them, write the page, print."""
    page: str | None = arguments.output
    if page is not None and not page.lower().endswith(".html"):
        raise bad_input("compare writes pages alone; name a file.html, or print numbers with --format json", file=page)
    gold_file, words = file_of(arguments, "gold"), (arguments.a, arguments.b)
    refuse_two_stdins(gold_file, *map(InputFile, words))
    criteria = None if gold_file and not arguments.criteria else criteria_if_any(arguments)
    gold = gold_of(gold_file, criteria)
    plan = replace(plan_of(arguments, criteria), also=SHOWN if page else frozenset())
    read = partial(_opened, arguments, needs=plan.needs, deepest=deepest_cutoff(plan, gold))
    scored_runs, compared = scored_pair(gold, [partial(read, word) for word in words], plan, watch=bar)
    absent = absent_lines([(each.run.name, len(each.scores.missing)) for each in scored_runs])
    sides = ((each.scores, on_one_line(each.run.name)) for each in scored_runs)
    absent += [text for scores, name in sides for text in missing_notes(plan.metrics, scores, name)]
    odd_runs = [(odd, each.run.name) for each in scored_runs if (odd := unmatched(gold, plan, each))]
    absent += [never_line(odd, shown, on_one_line(name)) for odd, name in odd_runs]
    if cut := cut_text(plan.metrics, *(each.scores for each in scored_runs[::-1])):
        absent.append(f"Lists were cut where the shorter store ends, on both sides{cut}.")
    if page is not None:
        from rankgate.renderers.pages.report import render_report

        report = _report(gold, plan, scored_runs, compared, absent)
        write_atomic(page, render_report(report, judged=False))
    if arguments.format == "json":
        missing = (len(each.scores.missing) for each in scored_runs)
        by_name = {metric.name: pairs for metric, pairs in compared.items()}
        say(as_json(RunComparison(by_name, len(gold.samples), *missing).to_dict()))
        return 0
    notes = [*absent, *_by_itself(scored_runs[0].run, scored_runs[1].run, compared)]
    say([comparison_table(compared.items()), *([""] if notes else []), *notes])
    return 0


def _opened(arguments: argparse.Namespace, word: str, *, needs: frozenset[Need], deepest: int) -> Run:
    """A run file or a baseline where there is one of this name, else what a word of the store's means."""
    if Path(word).exists() or not (word == "accepted" or re.match(SHA, word)):
        return named_run(InputFile(word), needs, deepest=deepest)
    memory = named_memory(arguments)
    record = lookup(memory, word)
    return replace(open_record(memory, record, needs, deepest=deepest), name=f"{memory.spec} {record.id}")


def _report(
    gold: Gold, plan: Plan, runs: Sequence[ScoredRun], pairs: Mapping[Metric, Compared], notes: list[str]
) -> Report:
    """What the page shows, without a gate: recall@5 leads, else the first metric of relevant documents."""
    leading = min(plan.metrics, key=lambda metric: (metric.name != USUAL, metric.kind is not Kind.RELEVANCE))
    a, b = (each.run for each in runs)
    old, new = (each.scores for each in runs)
    report = Report(
        verdict=Verdict.NOT_JUDGED,
        summary=_summary(leading, pairs[leading]),
        notes=notes,
        segments=by_tag(gold, plan.metrics, new, old, leading),
        differences=run_differences(a.provenance, b.provenance),
        provenance=Provenance(
            rankgate=__version__,
            date="",
            gold=Source(path=gold.name, format=gold.format),
            run=Source(path=b.name, format=b.format, about=b.provenance),
            baseline=BaselineSource(path=a.name, format=a.format, about=a.provenance),
            depth=min((each.run.depth for each in runs if each.run.depth), default=None),
        ),
    )
    shown = Inputs(date="", details=SHOWN_ITEMS, texts=True)
    return with_details(report, shown, gold, plan, runs[::-1], old, leading)


def _summary(metric: Metric, pairs: Compared) -> str:
    """`B against A: recall@5 −6.1 points, 41 of 192 questions worse, 12 better`."""
    if not isinstance(pairs, Comparison):
        value = f"is {value_text(pairs.value, metric.unit)}" if pairs else "has no value in both runs"
        return f"B against A: {metric.name} {value}"
    points = delta_text(pairs.delta, metric.unit).replace(" pp", " points")
    moved = f"{pairs.worse:,} of {count_text(pairs.n_pairs, 'question')} worse, {pairs.better:,} better"
    return f"B against A: {metric.name} {points}, {moved}"


def absent_lines(absent: Sequence[tuple[str, int]]) -> list[str]:
    """Which questions could not be compared: leaving out the hard ones is no improvement."""
    return [
        f"{count_text(count, 'query is', 'queries are')} absent from {on_one_line(name)}, and not compared."
        for name, count in absent
        if count
    ]


def _by_itself(before: Run, after: Run, compared: Mapping[Metric, Compared]) -> list[str]:
    """How far two recordings of one commit moved, and what that asks of `regression_max`; nothing of other runs."""
    commit = before.provenance.get("code_version") or before.provenance.get("commit")
    differs = any(each.what in COMPONENTS for each in run_differences(before.provenance, after.provenance))
    if not commit or differs or str(commit).endswith("+changes"):
        return []
    moves = []
    for metric, pairs in compared.items():
        if isinstance(pairs, Comparison) and pairs.delta:
            scale = 10 if metric.unit is Unit.MILLISECONDS else 1000
            twice = min(math.ceil(2 * abs(pairs.delta) * scale - 1e-9) / scale, widest_change(metric) or math.inf)
            moves.append(f"{metric.name} {size_text(pairs.delta, metric.unit)} (regression_max: {twice:g})")
    moved = ", ".join(moves) or "nothing"
    advice = "record it three times, compare each pair, and set regression_max to at least twice the largest change"
    return [f"Both runs are of {shown(str(commit))}, so this moved by itself: {moved}; {advice}."]


def compared_with(
    gold: Gold, plan: Plan, scores: Scores, changed: Mapping[str, Ranking]
) -> Iterator[tuple[Metric, Compared]]:
    """A run's scores with those that it has with other lists for some of its queries."""
    tally = Tally(gold, plan)
    tally.add(changed.values())
    again = [query_id in changed for query_id in scores.query_ids]
    for metric, column in zip(plan.metrics, tally.columns, strict=True):
        old = scores.values[metric.name]
        new = [after if other else before for after, before, other in zip(column, old, again, strict=True)]
        yield metric, compare(metric, new, old, clusters=scores.clusters)


def comparison_table(compared: Iterable[tuple[Metric, Compared]], before: str = "A", after: str = "B") -> Table:
    """A row a metric."""
    rows = [(metric.name, *_cells(metric, pairs)) for metric, pairs in compared]
    head = ("metric", before, after, "change", "95% interval", "better", "worse", "same")
    return Table(rows=[head, *rows], right=(1, 2, 3, 5, 6, 7))


def _cells(metric: Metric, pairs: Compared) -> Sequence[str]:
    unit = metric.unit
    if pairs is None:
        return [NOTHING] * 7
    value, ci = value_text(pairs.value, unit), pairs.ci
    if isinstance(pairs, Estimate):
        return (NOTHING, value, NOTHING, interval_text(ci, unit) or NOTHING, *[NOTHING] * 3)
    change = (delta_text(pairs.delta, unit), interval_text(ci, unit, change=True) or NOTHING)
    same = pairs.n_pairs - pairs.better - pairs.worse
    return (value_text(pairs.baseline, unit), value, *change, *map(str, (pairs.better, pairs.worse, same)))
