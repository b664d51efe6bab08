"""`rankgate gold pool`, `gold merge` and `gold anchor`: what to label next, labels into the gold, spans for its ids."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from rankgate.cli.compare import compared_with, comparison_table
from rankgate.cli.gold_judge import judge_pool
from rankgate.cli.gold_traffic import PAGE, traffic_merge, traffic_pool
from rankgate.cli.inputs import criteria_if_any, judge_in, matching_of, plan_of, required_criteria
from rankgate.cli.options import add_shared, make_parser
from rankgate.cli.output import say
from rankgate.collecting.gold_documents import GoldDocuments, anchor, read_documents
from rankgate.collecting.pool import (
    DEFAULT_DEPTH,
    Merge,
    Pair,
    Pool,
    compare_labels,
    hard_negatives,
    pool,
    with_inserted,
)
from rankgate.collecting.pool_files import POOL_FORMS, as_jsonl, read_labels
from rankgate.collecting.traffic_sheets import SHEET_FORMS
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import gold_of
from rankgate.criteria.judge_block import KEY_VARIABLE
from rankgate.criteria.runs import NamedRun, candidate_run
from rankgate.errors import Problem, RankgateError, bad_input, on_one_line, redacted, shown
from rankgate.files.writing import write_atomic
from rankgate.metrics.matching import By
from rankgate.metrics.plan import require_fields, require_gold_queries
from rankgate.metrics.scoring import score
from rankgate.model.values import Gold, Item, RunField
from rankgate.model.wording import count_text, first_text
from rankgate.readers.base import ProblemLog, Run
from rankgate.readers.corpus import read_corpus
from rankgate.readers.formats import read_gold
from rankgate.readers.source import STDIN, shown_path
from rankgate.readers.source_texts import source_texts
from rankgate.renderers.blocks import aligned

STDOUT = "-"
MAX_PROBLEMS = 1000  # conflicts between labellers are a list to work through
_NAMED = 3
Done = tuple[str, str, Sequence[Problem]]  # what is written, what is said of it, and what went wrong nevertheless

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
    add = partial(actions.add_parser)
    _add_pool(add("pool", help="write what is to be labelled", description=_POOL))
    _add_merge(add("merge", help="add labels to the gold set", description=_MERGE))
    _add_anchor(add("anchor", help="turn chunk ids and quoted answers into spans", description=_ANCHOR))
    negatives = add("negatives", help="add what runs confuse with relevant documents", description=_NEGATIVES)
    negatives.add_argument("gold", metavar="GOLD", action="named", help="the gold set")
    add_shared(negatives, "run")
    mined = "another run to mine, or a baseline directory (default: the run itself, whose metrics then stay)"
    negatives.add_argument("--from", dest="mined", metavar="RUN", action="named", help=mined)
    negatives.add_argument("--depth", metavar="N", type=int, default=10, help="results to mine (default: 10)")
    add_shared(negatives, "metrics", "match")
    _add_output(negatives, "the new gold set: .jsonl or .json (default: -, JSONL to standard output)")
    return options


def _add_pool(options: argparse.ArgumentParser) -> None:
    options.add_argument("runs", metavar="RUN", nargs="*", default=[], action="named", help="runs or baselines")
    add_shared(options, "gold", "criteria", "match")
    depth = f"results of each list (default: {DEFAULT_DEPTH})"
    options.add_argument("--depth", metavar="N", type=int, default=DEFAULT_DEPTH, help=depth)
    traffic = "a blind sheet instead: of the questions of inputs.traffic whose lists changed, the drawn ones"
    options.add_argument("--traffic", action="store_true", help=traffic)
    options.add_argument("--n", metavar="N", type=int, default=40, help="with --traffic: questions (default: 40)")
    corpus = "with --traffic: a folder or a file of documents, whose texts the sheet shows"
    options.add_argument("--corpus", metavar="DIR", action="read", help=corpus)
    options.add_argument("--unjudged", action="store_true", help="leave out what is judged already")
    options.add_argument("--as-judge", action="store_true", help="what a judge has labelled counts as judged, too")
    judge = f"the judge of the criteria labels what nobody has judged and not all runs found; its key: {KEY_VARIABLE}"
    options.add_argument("--judge", action="store_true", help=judge)
    options.add_argument("--dry-run", action="store_true", help="with --judge: print what it would take, ask nothing")
    options.add_argument("--again", action="store_true", help="with --judge: ask again what the model failed at before")
    _add_output(
        options, "the pool: .jsonl, or without --judge .csv for a spreadsheet (default: -, JSONL to standard output)"
    )


def _add_merge(options: argparse.ArgumentParser) -> None:
    options.add_argument("gold", metavar="GOLD", action="named", help="the gold set, or the labels of --traffic")
    traffic = "the sheets are of `gold pool --traffic`: their labels are added to GOLD, such as traffic-labels.jsonl"
    options.add_argument("--traffic", action="store_true", help=traffic)
    options.add_argument(
        "labelled", metavar="LABELLED", nargs="+", action="read", help="labelled pools, JSONL or CSV; - for stdin"
    )
    as_judge = "the labels are a judge's: they go to judge_labels, beside the gold, and expected_output stays"
    options.add_argument("--as-judge", action="store_true", help=as_judge)
    _add_output(options, "the new gold set: .jsonl or .json (default: -, JSONL to standard output)")


def _add_anchor(options: argparse.ArgumentParser) -> None:
    options.add_argument("gold", metavar="GOLD", action="named", help="the gold set")
    options.add_argument(
        "--corpus", metavar="DIR", action="read", required=True, help="a folder or a file of documents"
    )
    options.add_argument("--run", metavar="RUN", action="named", help="a run whose items state text or offsets")
    options.add_argument("--chunks", metavar="FILE", action="read", help="the chunks as JSONL: {id, text, doc_id}")
    options.add_argument("--passages", action="store_true", help="the gold's ids are texts, as match: text has them")
    _add_output(options, "the new gold set: .yaml, .jsonl or .json (default: -, JSONL to standard output)")


def run(arguments: argparse.Namespace) -> int:
    """Do the action, and write the file and say what is in it, or print the text and say that on standard error."""
    actions = {"pool": _pool, "merge": _merge, "anchor": _anchor, "negatives": _negatives}
    done = actions[arguments.action](arguments)
    if isinstance(done, int):
        return done
    text, summary, problems = done
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


def _add_output(options: argparse.ArgumentParser, text: str) -> None:
    """`-o` and `--force`."""
    options.add_argument("-o", "--output", metavar="FILE", action="write", default=STDOUT, help=text)
    options.add_argument("--force", action="store_true", help="overwrite FILE")


def _output_suffix(arguments: argparse.Namespace, forms: Mapping[str, object], what: str) -> str:
    """The suffix of the form that the output's name asks for; a file that exists is an error without `--force`."""
    path = Path(arguments.output)
    suffix = path.suffix.lower() or ".jsonl"
    if arguments.output == STDOUT:
        return ".jsonl"
    if suffix not in forms:
        raise bad_input(f"{what} is written as {' or '.join(forms)}, not as {suffix}", file=arguments.output)
    if path.is_file() and not arguments.force:
        raise bad_input("exists already, maybe with labels in it; --force overwrites it", file=arguments.output)
    return suffix


def _pool(arguments: argparse.Namespace) -> Done | int:
    """The pool as text, and what is in it; an exit code where a judge labelled nothing."""
    if arguments.traffic:
        return *traffic_pool(arguments, _output_suffix(arguments, dict.fromkeys((*SHEET_FORMS, PAGE)), "a sheet")), ()
    if not arguments.runs:
        raise bad_input("name the RUNs to pool, or --traffic")
    _refuse_options(arguments)
    criteria = criteria_if_any(arguments)
    block = judge_in(criteria or required_criteria(arguments)) if arguments.judge else None
    named = arguments.gold or (criteria.inputs.gold if criteria else None)
    form = _output_suffix(arguments, {".jsonl": as_jsonl} if block else POOL_FORMS, "a pool")
    names = run_names([file.path for file in arguments.runs])
    how = matching_of(arguments, criteria)
    if how.by in (By.TEXT, By.SPAN):
        advice = f"where the gold holds passages (match: {how.by.value}), there are none to label"
        raise bad_input(f"a pool is made of ids; {advice}")
    gold = gold_of(named, criteria)
    opened = [NamedRun(file).open(how.needs | {RunField.TEXTS}) for file in arguments.runs]
    runs = dict(zip(names, opened, strict=True))
    rankings = {name: run.rankings for name, run in runs.items()}
    pooled = pool(gold, rankings, depth=arguments.depth, how=how, as_judge=arguments.as_judge)
    for name, counts in pooled.runs.items():
        if not counts.known:
            message = f"the run has none of the {len(gold.samples)} questions of {gold.name}"
            raise bad_input(message, file=runs[name].name)
    if criteria and block:
        labelled = judge_pool(arguments, criteria, block, gold, pooled.unjudged())
        if isinstance(labelled, int):
            return labelled
        pairs = labelled.pairs
        lines = labelled.lines
        merging = "a model labelled these, no person; to put them beside the gold set:"
    else:
        pairs = pooled.unjudged() if arguments.unjudged else pooled.pairs
        lines = [*_counts(pairs, pooled, gold, arguments.depth), *_lacks(pooled, gold, runs, arguments.depth)]
        merging = "write a number into every gain (0 not relevant, 1 relevant, or your own grades); then:"
    if not (pairs if block else pooled.unjudged()):
        lines.append("nothing is left to label")
    elif named and STDOUT not in (arguments.output, named.path):
        lines += [merging, f"  $ {_merge_command(named.path, arguments)}"]
    return POOL_FORMS[form](pairs, names), "".join(f"{line}\n" for line in lines), ()


def _refuse_options(arguments: argparse.Namespace) -> None:
    if arguments.depth < 1:
        raise bad_input(f"--depth must be at least 1, not {arguments.depth}")
    if not arguments.judge and (arguments.dry_run or arguments.again):
        raise bad_input("--dry-run and --again are about a judge; add --judge")
    arguments.as_judge |= arguments.judge


def run_names(paths: Sequence[str]) -> list[str]:
    """What each run is called in the pool: its file name, or its path where another file has the same name."""
    last = ["standard input" if path == STDIN else Path(path).name or Path(path).resolve().name for path in paths]
    full = [Path(path).resolve() for path in paths]
    for position, path in enumerate(full):
        if path in full[:position]:
            raise bad_input("this run is named twice; name each once", file=paths[position])
    pairs = zip(last, full, strict=True)
    return [name if last.count(name) == 1 else shown_path(path.as_posix()) for name, path in pairs]


def _counts(pairs: Sequence[Pair], pooled: Pool, gold: Gold, depth: int) -> Iterator[str]:
    """How much there is to label."""
    waiting = pooled.unjudged()
    runs = "1 run" if len(pooled.runs) == 1 else f"each of {len(pooled.runs)} runs"
    results = f"{first_text(depth, results=True)} of {runs}"
    yield f"{count_text(len(pairs), 'pair')} of a question and a document, from {results}"
    queries = len({pair.query_id for pair in waiting})
    yield f"  {len(waiting):,} unjudged, in {queries:,} of {count_text(len(gold.samples), 'question')}"
    judged = len(pooled.pairs) - len(waiting)
    if judged:
        yield f"  {judged:,} judged already, " + ("left out" if len(pairs) < len(pooled.pairs) else "for context")
    elif waiting:
        yield f"  none judged already; do the ids of the runs and of {gold.name} agree? (--match doc pools documents)"
    textless = sum(pair.text is None for pair in waiting)
    if textless:
        yield f"  {textless:,} unjudged without a text, since no run states one"


def _lacks(pooled: Pool, gold: Gold, runs: Mapping[str, Run], wanted: int) -> Iterator[str]:
    """What each run could not give."""
    for name, counts in pooled.runs.items():
        run = f"  {on_one_line(name)}"
        depth = runs[name].depth
        if depth and depth < wanted:
            yield f"{run} was stored to depth {depth}"
        absent = len(gold.samples) - counts.known
        if absent:
            yield f"{run} lacks {count_text(absent, 'question')} of {gold.name}"
        if unknown := counts.unknown_queries:
            count = count_text(len(unknown), "question")
            few = ", ".join(map(shown, unknown[:_NAMED]))
            more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
            yield f"{run} has {count} that {gold.name} lacks, left out: {few}{more}"


def _merge_command(gold: str, arguments: argparse.Namespace) -> str:
    """How to merge what comes back: into the gold set where it is JSONL, else into a new file beside it."""
    target = Path(gold)
    if target.suffix != ".jsonl":
        target = target.with_suffix(".jsonl")
        target = target.with_suffix(".labelled.jsonl") if target.exists() else target
    words = ["rankgate", "gold", "merge", gold, arguments.output]
    words += ["--as-judge"] * arguments.as_judge + ["-o", target.as_posix()] + ["--force"] * target.exists()
    return shlex.join(words)


def _merge(arguments: argparse.Namespace) -> Done:
    """The new gold set as text, and what was added."""
    if arguments.traffic:
        return *traffic_merge(arguments), ()
    gold, suffix = _gold_to_change(arguments)
    log = ProblemLog(MAX_PROBLEMS)
    files = [read_labels(path, log) for path in arguments.labelled]
    merge = compare_labels(gold, (label for file in files for label in file.labels), as_judge=arguments.as_judge)
    if log.problems or merge.problems:
        raise RankgateError([*log.problems, *merge.problems])
    documents = read_documents(arguments.gold.path, gold).with_new(merge.new, as_judge=arguments.as_judge)
    summary = _merge_summary(merge, sum(file.blank for file in files), gold, as_judge=arguments.as_judge)
    return *_written(documents, suffix, summary), ()


def _anchor(arguments: argparse.Namespace) -> Done:
    """The gold set with spans as text, how many samples have none, and what could not be found."""
    gold, suffix = _gold_to_change(arguments)
    corpus = {each.id: each.text for each in source_texts(arguments.corpus)}
    texts = read_corpus(arguments.chunks) if arguments.chunks else ()
    chunks = {each.id: Item(each.doc_id, text=each.text) for each in texts}
    run = arguments.run and NamedRun(arguments.run).open(frozenset({RunField.OFFSETS}))
    for ranking in run.rankings if run else ():
        chunks |= zip(ranking.ids, (ranking.details and ranking.details.items) or (), strict=False)
    written = read_documents(arguments.gold.path, gold)
    documents, problems = anchor(gold, written, corpus, chunks, passages=arguments.passages)
    left = sum(documents.samples[each] is sample for each, sample in written.samples.items())
    summary = f"{count_text(len(gold.samples), 'sample')}, {left:,} of them as before\n"
    return *_written(documents, suffix, summary), problems


def _gold_to_change(arguments: argparse.Namespace) -> tuple[Gold, str]:
    """The gold set, and the suffix of the form in which it is written again."""
    file: InputFile = arguments.gold
    path = Path(file.path)
    if file.path == STDIN or (path.exists() and not (path.is_file() or path.is_dir())):
        raise bad_input("GOLD is read twice, so it must be a file or a folder of BEIR", file=file.path)
    anchored = arguments.action == "anchor"
    suffix = _output_suffix(arguments, dict.fromkeys([".jsonl", ".json", *[".yaml"] * anchored]), "a gold set")
    if anchored:
        return read_gold(file.path, file.format, scored=False), suffix
    return gold_of(file, None), suffix


def _written(documents: GoldDocuments, suffix: str, summary: str) -> tuple[str, str]:
    """A gold set in the form of a suffix, and what is said of it, with what that form loses."""
    if suffix == ".jsonl" and documents.beside:
        lost = ", ".join(documents.beside)
        summary += f"  left out, because JSONL holds samples only: {lost} (-o FILE.json keeps it)\n"
    return documents.as_text(suffix), summary


def _negatives(arguments: argparse.Namespace) -> Done:
    """The new gold set as text; what was mined, and what it costs the run."""
    if arguments.depth < 1:
        raise bad_input(f"--depth must be at least 1, not {arguments.depth}")
    gold, suffix = _gold_to_change(arguments)
    criteria = criteria_if_any(arguments)
    plan = plan_of(arguments, criteria, compares=False)
    if (by := plan.how.by) in (By.TEXT, By.SPAN):
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
    judged: list[bool] = []
    for query, docs in negatives.items():
        sample = gold.samples[query]
        new[query] = [doc for doc in docs if doc not in sample.negatives]
        judged += [doc in sample.gains for doc in docs]
    within = f"in {len(negatives):,} of {count_text(len(gold.samples), 'question')}"
    table = comparison_table(compared_with(gold, plan, scores, changed), "value", "with them")
    lines = [
        f"{count_text(len(judged), 'hard negative')} {within}, {sum(map(len, new.values())):,} of them new",
        f"  {sum(judged):,} judged not relevant, {judged.count(False):,} not judged: these may be relevant",
    ]
    lines += aligned(table.rows, right=table.right)
    documents = read_documents(arguments.gold.path, gold).with_negatives(new)
    return *_written(documents, suffix, "".join(f"{line}\n" for line in lines)), ()


def _merge_summary(merge: Merge, blank: int, gold: Gold, *, as_judge: bool) -> str:
    gains = [gain for new in merge.new.values() for gain in new.values()]
    relevant = sum(gain > 0 for gain in gains)
    added = f"{count_text(len(gains), 'judge label' if as_judge else 'judgment')} added"
    if gains:
        queries = count_text(len(gold.samples), "question")
        added += f", {relevant:,} of them relevant, to {len(merge.new):,} of {queries}"
    return f"{added}\n  {merge.known:,} known already, {blank:,} without a gain left out\n"
