"""`rankgate gold pool --traffic` and `gold merge --traffic`: a sheet of what changed, and its labels back."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rankgate.cli.inputs import criteria_if_any, required_criteria
from rankgate.cli.options import today
from rankgate.collecting.pool import results_of
from rankgate.collecting.traffic import drawn_for, known_labels, sheet_of
from rankgate.collecting.traffic_sheets import (
    SHEET_FORMS,
    FilledSheet,
    MergedLabels,
    SheetRow,
    labels_text,
    merge_sheets,
    read_sheet,
    rows_of,
)
from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs
from rankgate.criteria.rereading import rankings_again
from rankgate.criteria.runs import accepted_run, candidate_run
from rankgate.criteria.traffic import TrafficRuns, compared_as, traffic_files
from rankgate.errors import RankgateError, bad_input, on_one_line, shown
from rankgate.metrics.matching import By
from rankgate.metrics.sets import Hit
from rankgate.model.traffic_lists import TrafficFiles, TrafficLists, TrafficPair
from rankgate.model.values import RunField, Unit
from rankgate.model.wording import count_text, value_text
from rankgate.readers.base import ProblemLog
from rankgate.readers.corpus import read_corpus
from rankgate.readers.traffic import read_traffic_labels, read_traffic_sheets

LABELS = "traffic-labels.jsonl"
PAGE = ".html"  # the suffix of a sheet that is a page


def traffic_pool(arguments: argparse.Namespace, suffix: str) -> tuple[str, str]:
    """The sheet as text, and what is in it."""
    if arguments.runs:
        raise bad_input("--traffic takes run and baseline from the criteria; name no RUN")
    if arguments.n < 1:
        raise bad_input(f"--n must be at least 1, not {arguments.n}")
    criteria = required_criteria(arguments)
    files = traffic_files(criteria)
    if files is None:
        raise bad_input("there is no traffic; add inputs: {traffic: traffic.jsonl}", file=criteria.name, key="inputs")
    inputs = Inputs(date=today())
    lists = _lists(inputs, criteria, files)
    if not lists.pairs:
        raise bad_input("the accepted run has no list for any traffic question; record and accept a run that has them")
    draw = drawn_for(lists, arguments.n)
    pairs = {pair.question.query_id: pair for pair in lists.changed}
    needs_shared = not criteria.traffic_gates or any(isinstance(gate.metric, Hit) for gate in criteria.traffic_gates)
    documents = {name for question in draw.questions for name in (*pairs[question].before, *pairs[question].now)}
    rows = rows_of(
        [pairs[question] for question in draw.questions],
        known_labels(files.labels),
        _texts(inputs, criteria, documents, arguments.corpus),
        shared=needs_shared,
    )
    sheet = sheet_of(lists, arguments.n)
    summary = _pool_summary(arguments, criteria, lists, rows)
    if suffix != PAGE:
        return SHEET_FORMS[suffix](rows, sheet), summary
    from rankgate.renderers.pages.sheet import render_sheet

    return render_sheet(rows, sheet, pairs), summary


def traffic_merge(arguments: argparse.Namespace) -> tuple[str, str]:
    """The file of labels with those of the sheets added, and what was added; a RankgateError lists contradictions."""
    labels_file = arguments.gold.path
    path = Path(labels_file)
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    if written.strip() and not written.lstrip().startswith("{"):
        raise bad_input("is no JSONL, as which labels are added; name another file", file=labels_file)
    log = ProblemLog()
    pairs = _pairs_of_today(arguments)
    filled = [read_sheet(each, log, pairs) for each in arguments.labelled]
    merged = merge_sheets(read_traffic_labels(labels_file), read_traffic_sheets(labels_file), filled)
    if log.problems or merged.problems:
        raise RankgateError([*log.problems, *merged.problems])
    if arguments.output == "-":
        arguments.output = labels_file
    ending = "" if not written or written.endswith("\n") else "\n"
    return f"{written}{ending}{labels_text(merged)}", _merge_summary(merged, filled)


def _lists(inputs: Inputs, criteria: Criteria, files: TrafficFiles) -> TrafficLists:
    k, _ = compared_as(criteria)
    needs = _needs(criteria)
    now = rankings_again(candidate_run(inputs.run, criteria), needs)
    before = rankings_again(accepted_run(inputs, criteria, deepest=k), needs)
    return TrafficRuns(files=files, now=tuple(now), before=tuple(before), how=criteria.match).lists(k)


def _needs(criteria: Criteria, *more: RunField) -> frozenset[RunField]:
    return frozenset({RunField.TRAFFIC, *more} | ({RunField.DOCS} if criteria.match.by is By.DOC else set()))


def _pairs_of_today(arguments: argparse.Namespace) -> Sequence[TrafficPair]:
    """What both runs return, from which ids are taken that a spreadsheet changed; nothing where there are none."""
    with suppress(RankgateError):
        criteria = criteria_if_any(arguments)
        files = traffic_files(criteria) if criteria else None
        if criteria and files:
            return _lists(Inputs(date=today()), criteria, files).pairs
    return ()


def _texts(inputs: Inputs, criteria: Criteria, documents: set[str], corpus: str | None) -> dict[str, str]:
    """What these documents say, by the corpus, or else by the run and the accepted run, if they state it."""
    if corpus:
        return {each.id: each.text for each in read_corpus(corpus, documents)}
    needs = _needs(criteria, RunField.TEXTS)
    texts: dict[str, str] = {}
    for source in (candidate_run(inputs.run, criteria), accepted_run(inputs, criteria)):
        run = source.open(needs)
        for ranking in run.rankings if run else ():
            texts |= {name: text for name, text in results_of(ranking, criteria.match) if text and name in documents}
    return texts


def _pool_summary(
    arguments: argparse.Namespace, criteria: Criteria, lists: TrafficLists, rows: Sequence[SheetRow]
) -> str:
    changed = count_text(len(lists.changed), "question")
    questions = {row.query_id for row in rows}
    share = value_text(lists.share, Unit.SHARE)
    lines = [
        f"{count_text(len(rows), 'document')} of {count_text(len(questions), 'question')} to label",
        f"  drawn from {changed} that get other results, {share} of the traffic",
    ]
    textless = {row.query_id for row in rows if row.text is None}
    if textless:
        why = "not all of their documents have one"
        lines.append(f"  {count_text(len(textless), 'question')} without texts, since {why} (--corpus DIR adds them)")
    if arguments.output != "-":
        labels = criteria.inputs.traffic_labels or LABELS
        is_page = Path(arguments.output).suffix.lower() == PAGE
        filled = "sheet.jsonl" if is_page else arguments.output
        command = shlex.join(["rankgate", "gold", "merge", "--traffic", labels, filled])
        todo = "write 1 (relevant) or 0 into every `relevant`; then:"
        todo = "open it in a browser, label with the keys 1 and 0, and download the labels; then:" if is_page else todo
        lines += [todo if rows else "nothing is left to label; so that this draw counts:", f"  $ {command}"]
    return "".join(f"{line}\n" for line in lines)


def _merge_summary(merged: MergedLabels, filled: Sequence[FilledSheet]) -> str:
    names = ", ".join(on_one_line(name) for name in sorted({label.labeller or "" for label in merged.labels}))
    blank = sum(sheet.blank for sheet in filled)
    by = f" by {names}" if names else ""
    lines = [
        f"{count_text(len(merged.labels), 'label')} added{by}",
        f"  {merged.known:,} known already, {blank:,} rows left empty",
    ]
    headless = [sheet.name for sheet in filled if sheet.sheet is None]
    if headless:
        lines.append(f"  {', '.join(headless)} names no runs in its head: its labels are kept, and prove no change")
    if merged.shared:
        kappa = "" if merged.agreement is None else f" (kappa {merged.agreement:.2f})"
        lines.append(f"  people differ on {len(merged.differ):,} of {merged.shared:,} labels{kappa}")
        lines += [f"    {shown(document)} of {shown(question)}" for question, document in merged.differ]
    return "".join(f"{line}\n" for line in lines)
