"""`rankgate compare`: two runs on the same questions, without a gate."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rankgate import __version__
from rankgate.baselines.base import KeptRun
from rankgate.baselines.memory import lookup
from rankgate.cli.inputs import criteria_if_any, named_memory, plan_of
from rankgate.cli.options import add_option, add_shared, make_parser
from rankgate.cli.output import as_json, reading_bar, say
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import SHOWN_ITEMS, DetailInputs, gold_of
from rankgate.criteria.runs import NamedRun, deepest_cutoff
from rankgate.diagnosis.differences import cut_text, run_differences
from rankgate.diagnosis.listings import unmatched
from rankgate.diagnosis.movements import by_tag
from rankgate.diagnosis.notes import absent_notes, missing_notes
from rankgate.errors import bad_input, on_one_line, shown
from rankgate.files.writing import write_atomic
from rankgate.metrics.base import Kind, Metric, widest_change
from rankgate.metrics.comparison import Comparison, compare
from rankgate.metrics.estimates import Estimate
from rankgate.metrics.evaluation import RunComparison
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_baseline import Compared, scored_pair
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import Tally
from rankgate.model.base_ref import SHA
from rankgate.model.lineage import COMPONENTS
from rankgate.model.report import BaselineSource, Explanation, Measurements, Provenance, Remarks, Report, Source
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Ranking, Unit, Verdict
from rankgate.model.wording import count_text, delta_points_text, delta_text, interval_text, size_text, value_text
from rankgate.readers.base import Run, RunSource
from rankgate.readers.source import STDIN, shown_path
from rankgate.renderers.blocks import Table
from rankgate.renderers.explanation import never_line
from rankgate.renderers.phrases import NOTHING

LEADING = "recall@5"  # leads where it is among the metrics


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "compare",
        "Compare runs question by question with the one before, BASE. Each may be a baseline directory, or a\n"
        "stored run: `accepted`, or the first digits of an id or a commit of the history.",
        "rankgate compare old.jsonl new.jsonl --gold gold.yaml",
        "rankgate compare old.jsonl small.jsonl large.jsonl --gold gold.yaml   # several candidates in one table",
        "rankgate compare baseline/ run.jsonl --gold gold.yaml --metrics recall@1,5,20 --format json",
        "rankgate compare accepted run.jsonl   # of the store in inputs.baseline",
    )
    add_option(options, "before BASE", "the run before", action="named")
    add_option(options, "runs RUN", "the run after, or several candidates", nargs="+", action="named")
    add_shared(options, "store", "gold", "criteria", "metrics", "match")
    page = "write a page with curves, segments and every question"
    add_option(options, "-o --output FILE.html", page, action="write")
    add_shared(options, "format")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Score each pair, write the page, print."""
    page: str | None = arguments.output
    if page is not None and not page.lower().endswith(".html"):
        raise bad_input("compare writes pages alone; name a file.html, or print numbers with --format json", file=page)
    if page is not None and arguments.runs[1:]:
        raise bad_input("a page compares two runs; name one candidate", file=page)
    base = arguments.before
    candidates = arguments.runs
    names = [each.path for each in candidates]
    if base.path == STDIN and candidates[1:]:
        raise bad_input("BASE is read for each candidate, so it must be a file")
    criteria = None if arguments.gold and not arguments.criteria else criteria_if_any(arguments)
    gold = gold_of(arguments.gold, criteria)
    plan = plan_of(arguments, criteria)
    if page:
        from rankgate.gates.evaluation import with_shown  # with all that judges, which a table needs nothing of

        plan = with_shown(plan, SHOWN_ITEMS)
    deepest = deepest_cutoff(plan, gold)
    before = _source(arguments, base, deepest)
    afters = [_source(arguments, each, deepest) for each in candidates]
    with reading_bar() as progress:
        results = [_Pair(*scored_pair(gold, [before, after], plan, progress)) for after in afters]
    if page is not None:
        from rankgate.renderers.pages.report import render_report

        scored_runs, compared = results[0]
        report = _report(gold, plan, scored_runs, compared, _notes(gold, plan, scored_runs))
        write_atomic(page, render_report(report, judged=False))
    if arguments.format == "json":
        numbers = [_numbers(gold, each) for each in results]
        by_name = dict(zip(names, numbers, strict=True))
        say(as_json({"runs": by_name} if len(numbers) > 1 else numbers[0]))
        return 0
    notes = [line for each in results for line in _notes(gold, plan, each.runs)]
    notes += [line for each in results for line in _by_itself(each.runs[0].run, each.runs[1].run, each.compared)]
    if len(results) == 1:
        table = comparison_table(results[0].compared.items())
    else:
        table = candidates_table(plan, base.path, dict(zip(names, results, strict=True)))
        notes.insert(0, "Each interval is for its own pair; the best of several looks better than it is.")
    if notes:
        notes.insert(0, "")
    say([table, *dict.fromkeys(notes)])
    return 0


class _Pair(NamedTuple):
    """BASE and a candidate, and their metrics."""

    runs: Sequence[ScoredRun]
    compared: Mapping[Metric, Compared]


def _numbers(gold: Gold, pair: _Pair) -> Mapping[str, object]:
    missing = (len(each.scores.missing) for each in pair.runs)
    by_name = {metric.name: pairs for metric, pairs in pair.compared.items()}
    return RunComparison(by_name, len(gold.samples), *missing).to_dict()


def _notes(gold: Gold, plan: Plan, scored_runs: Sequence[ScoredRun]) -> list[str]:
    """What could not be compared, and what is odd."""
    absent: list[str] = []
    undefined: list[str] = []
    unmatched_ids: list[str] = []
    for each in scored_runs:
        name = on_one_line(each.run.name)
        absent += absent_notes(each.scores, name)
        undefined += missing_notes(plan.metrics, each.scores, name)
        if odd := unmatched(gold, plan, each):
            unmatched_ids.append(never_line(odd, shown, name))
    lines = [*absent, *undefined, *unmatched_ids]
    if cut := cut_text(plan.metrics, *(each.scores for each in scored_runs[::-1])):
        lines.append(f"Lists were cut where the shorter store ends, on both sides{cut}.")
    return lines


def _source(arguments: argparse.Namespace, file: InputFile, deepest: int) -> RunSource:
    """A run file or a baseline where there is one of this name, else what a word of the store's means."""
    if file.format or Path(file.path).exists() or not (file.path == "accepted" or re.match(SHA, file.path)):
        return NamedRun(file, deepest)
    memory = named_memory(arguments)
    record = lookup(memory, file.path)
    return KeptRun(memory, record, deepest, name=f"{memory.spec} {record.id}")


def _report(
    gold: Gold, plan: Plan, runs: Sequence[ScoredRun], pairs: Mapping[Metric, Compared], notes: list[str]
) -> Report:
    """What the page shows, without a gate: recall@5 leads, else the first metric of relevant documents."""
    from rankgate.diagnosis.details import with_details

    leading = min(plan.metrics, key=lambda metric: (metric.name != LEADING, metric.kind is not Kind.RELEVANCE))
    before, after = runs
    old_run = before.run
    new_run = after.run
    report = Report(
        verdict=Verdict.NOT_JUDGED,
        summary=_summary(leading, pairs[leading]),
        remarks=Remarks(notes=[*_changes(pairs), *notes]),
        measured=Measurements(segments=by_tag(gold, plan.metrics, after.scores, before.scores, leading)),
        explanation=Explanation(differences=run_differences(old_run.provenance, new_run.provenance)),
        provenance=Provenance(
            rankgate=__version__,
            date="",
            gold=Source(path=gold.name, format=gold.format),
            run=Source(path=new_run.name, format=new_run.format, about=new_run.provenance),
            baseline=BaselineSource(path=old_run.name, format=old_run.format, about=old_run.provenance),
            depth=min((each.run.depth for each in runs if each.run.depth), default=None),
        ),
    )
    inputs = DetailInputs(depth=SHOWN_ITEMS, texts=True)
    return with_details(report, inputs, gold, plan.metrics, leading, after, before)


def _summary(metric: Metric, pairs: Compared) -> str:
    """`B against A: recall@5 −6.1 points, 41 of 192 questions worse, 12 better`."""
    if not isinstance(pairs, Comparison):
        value = f"is {value_text(pairs.value, metric.unit)}" if pairs else "has no value in both runs"
        return f"B against A: {metric.name} {value}"
    points = delta_points_text(pairs.delta, metric.unit)
    moved = f"{pairs.worse:,} of {count_text(pairs.n_pairs, 'question')} worse, {pairs.better:,} better"
    return f"B against A: {metric.name} {points}, {moved}"


def _changes(pairs: Mapping[Metric, Compared]) -> list[str]:
    """`mrr 0.750 → 0.625, −0.125 (95%: −0.728 to +0.626).` for each metric that can be compared."""
    lines: list[str] = []
    for metric, compared in pairs.items():
        if isinstance(compared, Comparison):
            unit = metric.unit
            values = f"{value_text(compared.baseline, unit)} → {value_text(compared.value, unit)}"
            bounds = interval_text(compared.ci, unit, change=True)
            interval = f" (95%: {bounds})" if bounds else ""
            lines.append(f"{metric.name} {values}, {delta_text(compared.delta, unit)}{interval}.")
    return lines


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


def candidates_table(plan: Plan, base: str, pairs: Mapping[str, _Pair]) -> Table:
    """By metric a row of BASE and one of each candidate, with its change."""
    rows: list[Sequence[str]] = [("metric", "run", "value", "change", "95% interval", "better", "worse")]
    for metric in plan.metrics:
        first = next((each.compared[metric] for each in pairs.values()), None)
        rows.append((metric.name, shown_path(base), _cells(metric, first)[0], *[""] * 4))
        rows += [("", shown_path(name), *_cells(metric, each.compared[metric])[1:6]) for name, each in pairs.items()]
    return Table(rows=rows, right=(2, 3, 5, 6))


def _cells(metric: Metric, pairs: Compared) -> Sequence[str]:
    unit = metric.unit
    if pairs is None:
        return [NOTHING] * 7
    value = value_text(pairs.value, unit)
    if isinstance(pairs, Estimate):
        return [NOTHING, value, NOTHING, interval_text(pairs.ci, unit) or NOTHING, *[NOTHING] * 3]
    return [
        value_text(pairs.baseline, unit),
        value,
        delta_text(pairs.delta, unit),
        interval_text(pairs.ci, unit, change=True) or NOTHING,
        f"{pairs.better:,}",
        f"{pairs.worse:,}",
        f"{pairs.n_pairs - pairs.better - pairs.worse:,}",
    ]
