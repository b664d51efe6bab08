"""`rankgate gold`: labels go into the gold set, its ids become spans, what runs confuse is added; pools go out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rankgate.cli.gold_pool import STDOUT, output_suffix, pool_text, traffic_lists
from rankgate.cli.inputs import criteria_if_any, plan_of
from rankgate.cli.options import add_option, add_shared, make_parser, today
from rankgate.cli.output import say
from rankgate.collecting.gold_documents import GoldDocuments, anchor, read_documents
from rankgate.collecting.pool import DEFAULT_DEPTH, Merge, compare_labels, hard_negatives, with_inserted
from rankgate.collecting.pool_files import read_labels
from rankgate.collecting.traffic import FilledSheet, MergedLabels, labels_text, merge_sheets, read_sheet
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs, gold_of
from rankgate.criteria.judge_block import KEY_VARIABLE
from rankgate.criteria.runs import NamedRun, candidate_run
from rankgate.criteria.traffic import traffic_files
from rankgate.errors import Problem, RankgateError, bad_input, on_one_line, redacted, shown
from rankgate.files.writing import write_atomic
from rankgate.metrics.matching import By
from rankgate.metrics.plan import require_fields, require_gold_queries
from rankgate.metrics.scoring import score
from rankgate.model.traffic_lists import TrafficPair
from rankgate.model.values import Gold, Item, RunField
from rankgate.model.wording import count_text
from rankgate.readers.base import ProblemLog
from rankgate.readers.corpus import read_corpus, source_texts
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN
from rankgate.readers.traffic import read_traffic_labels, read_traffic_sheets
from rankgate.renderers.blocks import aligned

MAX_PROBLEMS = 1000  # conflicts between labellers are a list to work through
# What is written, lines that say what is in it, and what went wrong nevertheless.
Done = tuple[str, list[str], Sequence[Problem]]


_POOL = """\
Write the first results of all runs for every gold query, one line per query and document:
{"query_id", "question", "id", "text", "gain", "ranks": {"run.jsonl": 3, "other.jsonl": null}}
Unjudged ones (gain null) come first; then, for context, those that the gold judges. Label by writing a
number into gain: 0 not relevant, 1 relevant, or your own grades. A null in ranks: not among the first
results. In CSV, an id or text that begins like a formula (= + - @) has an apostrophe in front, which
merge takes off; let the spreadsheet import ids as text, or 007 becomes 7."""
_MERGE = """\
Add the labels of pools that came back to the gold set. Pairs without a gain are left out; a
label that the gold has already changes nothing. Labels that contradict the gold or each other, and
queries that the gold lacks, are listed, and then nothing is written. All else in the gold stays as it is
written, except the comments of YAML. Qrels become samples."""
_ANCHOR = """\
Turn chunk ids, or answers that metadata.answer quotes, into spans of documents, by which any chunking can be
judged (match: span). What stands once in its document becomes a span; of all else the line is named, the
sample stays as it is, and the exit code is 2. Spans that are there already are checked. The id of a document
is its path below DIR, or its id in JSONL."""
_NEGATIVES = """\
Mine hard negatives: what a run ranks above the first relevant document, although the gold judges it not
relevant or not at all. They are added to `negatives` of the samples, and to the lists of --run at the ranks
where the other run has them, which shows how far its metrics drop. What nobody has judged may be relevant:
label it first (gold pool)."""


def parser() -> argparse.ArgumentParser:
    """The options of the command and its sub-commands."""
    options = make_parser(
        "gold",
        "Grow a gold set: pool what several systems find, let people or a judge label it, merge the labels.\n"
        "What no one has judged counts as not relevant, which is unfair to the system that finds something new.",
        "rankgate gold pool run.jsonl baseline/ --gold gold.yaml -o to_label.jsonl",
        "rankgate gold pool run.jsonl other.jsonl --gold gold.yaml --unjudged --depth 10 -o to_label.csv",
        "rankgate gold pool run.jsonl baseline/ --judge --dry-run    # what a model as labeller would cost",
        "rankgate gold pool run.jsonl baseline/ --judge -o judged.jsonl",
        "rankgate gold merge gold.yaml to_label.jsonl -o gold.jsonl",
        "rankgate gold merge gold.jsonl ana.csv ben.csv -o gold.jsonl --force",
        "rankgate gold merge gold.jsonl judged.jsonl --as-judge -o gold.jsonl --force",
        "rankgate gold pool --traffic --n 40 -o sheet.csv      # what a change did to questions without labels",
        "rankgate gold pool --traffic -o sheet.html             # the same as a page with keys",
        "rankgate gold merge --traffic traffic-labels.jsonl sheet.csv",
        "rankgate gold anchor gold.yaml --corpus docs/ --run run.jsonl -o gold.spans.yaml",
        "rankgate gold negatives gold.yaml --run run.jsonl --from bm25.jsonl -o gold.jsonl",
    )
    actions = options.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser
    _add_pool(add("pool", help="write what is to be labelled", description=_POOL))
    merge = add("merge", help="add labels to the gold set", description=_MERGE)
    add_option(merge, "gold GOLD", "the gold set, or the labels of --traffic", action="named")
    traffic = "the sheets are of `gold pool --traffic`: their labels are added to GOLD, such as traffic-labels.jsonl"
    add_option(merge, "--traffic", traffic)
    labelled = "labelled pools, JSONL or CSV; - for stdin"
    add_option(merge, "labelled LABELLED", labelled, nargs="+", action="read")
    as_judge = "the labels are a judge's: they go to judge_labels, beside the gold, and expected_output stays"
    add_option(merge, "--as-judge", as_judge)
    _add_output(merge)
    anchor = add("anchor", help="turn chunk ids and quoted answers into spans", description=_ANCHOR)
    add_option(anchor, "gold GOLD", "the gold set", action="named")
    add_option(anchor, "--corpus DIR", "a folder or a file of documents", action="read", required=True)
    add_option(anchor, "--run RUN", "a run whose items state text or offsets", action="named")
    add_option(anchor, "--chunks FILE", "the chunks as JSONL: {id, text, doc_id}", action="read")
    add_option(anchor, "--passages", "the gold's ids are texts, as match: text has them")
    _add_output(anchor, "the new gold set: .yaml, .jsonl or .json")
    negatives = add("negatives", help="add what runs confuse with relevant documents", description=_NEGATIVES)
    add_option(negatives, "gold GOLD", "the gold set", action="named")
    add_shared(negatives, "run")
    mined = "another run to mine, or a baseline directory (default: the run itself, whose metrics then stay)"
    add_option(negatives, "--from RUN", mined, dest="mined", action="named")
    add_option(negatives, "--depth N", "results to mine (default: 10)", type=int, default=10)
    add_shared(negatives, "metrics", "match")
    _add_output(negatives)
    return options


def _add_pool(options: argparse.ArgumentParser) -> None:
    add_option(options, "runs RUN", "runs or baselines", nargs="*", default=[], action="named")
    add_shared(options, "gold", "criteria", "match")
    depth = f"results of each list (default: {DEFAULT_DEPTH})"
    add_option(options, "--depth N", depth, type=int, default=DEFAULT_DEPTH)
    traffic = "a blind sheet instead: of the questions of inputs.traffic whose lists changed, the drawn ones"
    add_option(options, "--traffic", traffic)
    add_option(options, "--n N", "with --traffic: questions (default: 40)", type=int, default=40)
    corpus = "with --traffic: a folder or a file of documents, whose texts the sheet shows"
    add_option(options, "--corpus DIR", corpus, action="read")
    add_option(options, "--unjudged", "leave out what is judged already")
    add_option(options, "--as-judge", "what a judge has labelled counts as judged, too")
    judge = f"the judge of the criteria labels what nobody has judged and not all runs found; its key: {KEY_VARIABLE}"
    add_option(options, "--judge", judge)
    add_option(options, "--dry-run", "with --judge: print what it would take, ask nothing")
    add_option(options, "--again", "with --judge: ask again what the model failed at before")
    _add_output(options, "the pool: .jsonl, or without --judge .csv for a spreadsheet")


def _add_output(options: argparse.ArgumentParser, what: str = "the new gold set: .jsonl or .json") -> None:
    """`-o` and `--force`."""
    text = f"{what} (default: -, JSONL to standard output)"
    add_option(options, "-o --output FILE", text, action="write", default=STDOUT)
    add_option(options, "--force", "overwrite FILE")


def run(arguments: argparse.Namespace) -> int:
    """Do the action, and write the file and say what is in it, or print the text and say that on standard error."""
    problems: Sequence[Problem] = ()
    if arguments.action == "pool":
        pooled = pool_text(arguments)
        if isinstance(pooled, int):
            return pooled
        text, lines = pooled
    else:
        change = {"merge": _merge, "anchor": _anchor, "negatives": _negatives}[arguments.action]
        text, lines, problems = change(arguments)
    summary = "".join(f"{line}\n" for line in lines)
    if arguments.output == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())  # whatever the terminal's encoding: this is data
        sys.stderr.write(summary)
    else:
        write_atomic(arguments.output, text)
        say(f"wrote {redacted(arguments.output)}: {summary}")
    if problems:
        raise RankgateError(problems)
    return 0


def _merge(arguments: argparse.Namespace) -> Done:
    """The new gold set as text, and what was added."""
    if arguments.traffic:
        return _merge_traffic(arguments)
    gold, suffix = _gold_to_change(arguments)
    log = ProblemLog(MAX_PROBLEMS)
    files = [read_labels(path, log) for path in arguments.labelled]
    merge = compare_labels(gold, (label for file in files for label in file.labels), as_judge=arguments.as_judge)
    if log.problems or merge.problems:
        raise RankgateError([*log.problems, *merge.problems])
    documents = read_documents(arguments.gold.path, gold).with_new(merge.new, as_judge=arguments.as_judge)
    summary = _merge_summary(merge, sum(file.blank for file in files), gold, as_judge=arguments.as_judge)
    return _written(documents, suffix, summary)


def _merge_summary(merge: Merge, blank: int, gold: Gold, *, as_judge: bool) -> list[str]:
    gains = [gain for new in merge.new.values() for gain in new.values()]
    relevant = sum(gain > 0 for gain in gains)
    added = f"{count_text(len(gains), 'judge label' if as_judge else 'judgment')} added"
    if gains:
        queries = count_text(len(gold.samples), "question")
        added += f", {relevant:,} of them relevant, to {len(merge.new):,} of {queries}"
    return [added, f"  {merge.known:,} known already, {blank:,} without a gain left out"]


def _merge_traffic(arguments: argparse.Namespace) -> Done:
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
    if arguments.output == STDOUT:
        arguments.output = labels_file
    ending = "" if not written or written.endswith("\n") else "\n"
    return f"{written}{ending}{labels_text(merged)}", _labels_summary(merged, filled), ()


def _pairs_of_today(arguments: argparse.Namespace) -> Sequence[TrafficPair]:
    """What both runs return, from which ids are taken that a spreadsheet changed; nothing where there are none."""
    with suppress(RankgateError):
        criteria = criteria_if_any(arguments)
        files = traffic_files(criteria) if criteria else None
        if criteria and files:
            return traffic_lists(Inputs(date=today()), criteria, files).pairs
    return ()


def _labels_summary(merged: MergedLabels, filled: Sequence[FilledSheet]) -> list[str]:
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
    return lines


def _anchor(arguments: argparse.Namespace) -> Done:
    """The gold set with spans as text, how many samples have none, and what could not be found."""
    gold, suffix = _gold_to_change(arguments)
    corpus = {each.id: each.text for each in source_texts(arguments.corpus)}
    texts = read_corpus(arguments.chunks) if arguments.chunks else ()
    chunks = {each.id: Item(each.doc_id, text=each.text) for each in texts}
    if arguments.run:
        for ranking in NamedRun(arguments.run).open(frozenset({RunField.OFFSETS})).rankings:
            chunks |= zip(ranking.ids, ranking.stated_items, strict=False)
    written = read_documents(arguments.gold.path, gold)
    documents, problems = anchor(gold, written, corpus, chunks, passages=arguments.passages)
    left = sum(documents.samples[each] is sample for each, sample in written.samples.items())
    summary = f"{count_text(len(gold.samples), 'sample')}, {left:,} of them as before"
    return _written(documents, suffix, [summary], problems)


def _negatives(arguments: argparse.Namespace) -> Done:
    """The new gold set as text; what was mined, and what it costs the run."""
    from rankgate.cli.compare import compared_with, comparison_table

    if arguments.depth < 1:
        raise bad_input(f"--depth must be at least 1, not {arguments.depth}")
    gold, suffix = _gold_to_change(arguments)
    criteria = criteria_if_any(arguments)
    plan = plan_of(arguments, criteria, compares=False)
    by = plan.how.by
    if by in (By.TEXT, By.SPAN):
        raise bad_input(f"negatives are ids, which match: {by.value} does not compare; use chunk or doc", key="--match")
    run = candidate_run(arguments.run, criteria, gold=gold).open(plan.needs)
    lists = {ranking.query_id: ranking for ranking in run.rankings}
    mined = NamedRun(arguments.mined).open(plan.how.needs).rankings if arguments.mined else lists.values()
    negatives = hard_negatives(gold, mined, arguments.depth, plan.how)
    scores = score(gold, lists.values(), plan)
    require_gold_queries(scores, run.name, gold)
    require_fields(scores, plan, run.name)
    changed = {query: with_inserted(lists[query], negatives[query], plan.how) for query in negatives if query in lists}
    new: dict[str, list[str]] = {}
    total = 0
    judged = 0
    for query, docs in negatives.items():
        sample = gold.samples[query]
        new[query] = [doc for doc in docs if doc not in sample.negatives]
        total += len(docs)
        judged += sum(doc in sample.gains for doc in docs)
    within = f"in {len(negatives):,} of {count_text(len(gold.samples), 'question')}"
    table = comparison_table(compared_with(gold, plan, scores, changed), "value", "with them")
    lines = [
        f"{count_text(total, 'hard negative')} {within}, {sum(map(len, new.values())):,} of them new",
        f"  {judged:,} judged not relevant, {total - judged:,} not judged: these may be relevant",
    ]
    lines += aligned(table.rows, right=table.right)
    documents = read_documents(arguments.gold.path, gold).with_negatives(new)
    return _written(documents, suffix, lines)


def _gold_to_change(arguments: argparse.Namespace) -> tuple[Gold, str]:
    """The gold set, and the suffix of the form in which it is written again."""
    file: InputFile = arguments.gold
    path = Path(file.path)
    if file.path == STDIN or (path.exists() and not (path.is_file() or path.is_dir())):
        raise bad_input("GOLD is read twice, so it must be a file or a folder of BEIR", file=file.path)
    anchored = arguments.action == "anchor"
    forms = [".jsonl", ".json", ".yaml"] if anchored else [".jsonl", ".json"]
    suffix = output_suffix(arguments, forms, "a gold set")
    if anchored:
        return read_gold(file.path, file.format, scored=False), suffix
    return gold_of(file, None), suffix


def _written(documents: GoldDocuments, suffix: str, lines: list[str], problems: Sequence[Problem] = ()) -> Done:
    """A gold set in the form of a suffix, with a line for what that form loses."""
    if suffix == ".jsonl" and documents.beside:
        lost = ", ".join(documents.beside)
        lines = [*lines, f"  left out, because JSONL holds samples only: {lost} (-o FILE.json keeps it)"]
    return documents.as_text(suffix), lines, problems
