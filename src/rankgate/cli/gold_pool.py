"""What goes out to be labelled: a pool of runs, for people or for the judge of the criteria, or a sheet of traffic."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rankgate.cli.inputs import criteria_if_any, judge_in, matching_of, required_criteria
from rankgate.cli.options import today
from rankgate.collecting.pool import Pair, Pool, pool, results_of
from rankgate.collecting.pool_files import POOL_FORMS
from rankgate.collecting.traffic import SHEET_FORMS, SheetRow, drawn_for, known_labels, rows_of, sheet_of
from rankgate.criteria import Criteria
from rankgate.criteria.inputs import Inputs, gold_of
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.criteria.runs import NamedRun, accepted_run, candidate_run, rankings_again
from rankgate.criteria.traffic import TrafficRuns, compared_as, traffic_files
from rankgate.errors import bad_input, on_one_line, shown
from rankgate.judge.model import Answer, Passage
from rankgate.judge.plan import BATCH, judged
from rankgate.judge.store import Store
from rankgate.judge.tasks import Relevance
from rankgate.metrics.matching import By
from rankgate.metrics.sets import Hit
from rankgate.model.judge_words import UNJUDGED_WORDS
from rankgate.model.traffic_lists import TrafficFiles, TrafficLists
from rankgate.model.values import Gold, RunField, Unit
from rankgate.model.wording import count_text, first_text, tokens_text, value_text
from rankgate.readers.base import Run
from rankgate.readers.corpus import read_corpus
from rankgate.readers.source import STDIN, shown_path
from rankgate.renderers.escape import listed

if TYPE_CHECKING:
    from rankgate.judge.job import Outcome

STDOUT = "-"
PAGE = ".html"  # the suffix of a sheet that is a page
STORE = ".rankgate/verdicts.jsonl"
LABELS = "traffic-labels.jsonl"
RELEVANT = 2  # the lowest grade that says that a passage answers the question, at least partly
_VERDICTS = frozenset({Relevance.name})
_NAMED = 3  # questions that the gold set lacks


def pool_text(arguments: argparse.Namespace) -> tuple[str, list[str]] | int:
    """The pool as text, and lines that say what is in it; an exit code where a judge labelled nothing."""
    if arguments.traffic:
        return _traffic_sheet(arguments, output_suffix(arguments, [*SHEET_FORMS, PAGE], "a sheet"))
    if not arguments.runs:
        raise bad_input("name the RUNs to pool, or --traffic")
    _refuse_options(arguments)
    criteria = required_criteria(arguments) if arguments.judge else criteria_if_any(arguments)
    block = judge_in(criteria) if criteria and arguments.judge else None
    named = arguments.gold or (criteria.inputs.gold if criteria else None)
    form = output_suffix(arguments, [".jsonl"] if block else [*POOL_FORMS], "a pool")
    names = _run_names([file.path for file in arguments.runs])
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
            message = f"the run has none of the {len(gold.samples):,} questions of {gold.name}"
            raise bad_input(message, file=runs[name].name)
    if criteria and block:
        labelled = _judged_pairs(arguments, criteria, block, gold, pooled.unjudged())
        if isinstance(labelled, int):
            return labelled
        pairs, lines = labelled
        merging = "a model labelled these, no person; to put them beside the gold set:"
    else:
        pairs = pooled.unjudged() if arguments.unjudged else pooled.pairs
        lines = [*_counts(pairs, pooled, gold, arguments.depth), *_lacks(pooled, gold, runs, arguments.depth)]
        merging = "write a number into every gain (0 not relevant, 1 relevant, or your own grades); then:"
    if not (pairs if block else pooled.unjudged()):
        lines.append("nothing is left to label")
    elif named and STDOUT not in (arguments.output, named.path):
        lines += [merging, f"  $ {_merge_command(named.path, arguments)}"]
    return POOL_FORMS[form](pairs, names), lines


def _refuse_options(arguments: argparse.Namespace) -> None:
    if arguments.depth < 1:
        raise bad_input(f"--depth must be at least 1, not {arguments.depth}")
    if not arguments.judge and (arguments.dry_run or arguments.again):
        raise bad_input("--dry-run and --again are about a judge; add --judge")
    arguments.as_judge |= arguments.judge


def output_suffix(arguments: argparse.Namespace, forms: Sequence[str], what: str) -> str:
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


def _run_names(paths: Sequence[str]) -> list[str]:
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
            yield f"{run} has {count} that {gold.name} lacks, left out: {listed(unknown, _NAMED, shown)}"


def _merge_command(gold: str, arguments: argparse.Namespace) -> str:
    """How to merge what comes back: into the gold set where it is JSONL, else into a new file beside it."""
    target = Path(gold)
    if target.suffix != ".jsonl":
        target = target.with_suffix(".jsonl")
        target = target.with_suffix(".labelled.jsonl") if target.exists() else target
    as_judge = ["--as-judge"] if arguments.as_judge else []
    force = ["--force"] if target.exists() else []
    return shlex.join(["rankgate", "gold", "merge", gold, arguments.output, *as_judge, "-o", target.as_posix(), *force])


def _judged_pairs(
    arguments: argparse.Namespace, criteria: Criteria, block: JudgeBlock, gold: Gold, unjudged: Sequence[Pair]
) -> tuple[Sequence[Pair], list[str]] | int:
    """Pairs with the judge's labels, None where it gave none, and lines that count them; the exit code where none is.

    Of several runs only what not all of them found makes a difference. A query that nothing answers and a document that
    the query lists as a negative are not asked about. Where the endpoint fails or a budget is reached, the verdicts
    until there are kept in the store.
    """
    # Requests are paid for only where a judge labels.
    from rankgate.cli.judge import ask_job, cost_text, end_of, refuse_committed, warnings_of
    from rankgate.judge.job import RUN, Answers, Job, plan_job
    from rankgate.judge.judging import WORKERS

    pairs = [pair for pair in unjudged if _is_asked_about(pair, gold)]
    _require_texts(pairs, gold)
    refuse_committed([STORE])
    size = BATCH if block.context_tokens is None else 1  # passages of a question in one call
    by_query = [list(of_query) for _, of_query in groupby(pairs, lambda pair: pair.query_id)]
    batches = [of_query[at : at + size] for of_query in by_query for at in range(0, len(of_query), size)]
    answers = tuple(map(_answer, batches))
    job = Job(block=block, verdict_kinds=_VERDICTS, run=Answers(run="", answers=answers), again=arguments.again)
    with Store(STORE, writes=not arguments.dry_run) as store:
        planned = plan_job(job, store)
        plan = planned.plans[RUN]
        work = f"{count_text(len(pairs), 'pair')} of {count_text(len(by_query), 'question')} to judge"
        cost = f"{count_text(plan.every_call, 'call')}, about {tokens_text(plan.tokens)}"
        cached = f"; {count_text(plan.cached, 'call')} made already" if plan.cached else ""
        sys.stderr.write(f"judge {planned.judge.short} ({block.model}): {work}: {cost}{cached}\n")
        sys.stderr.writelines(f"warning: {warning}\n" for warning in warnings_of(job, planned, criteria))
        if arguments.dry_run:
            return 0
        if not pairs:
            return [], []
        outcome = ask_job(job, planned, store, WORKERS, None)
    if code := end_of(outcome, criteria, ""):
        return code
    labelled = _labelled(batches, answers, outcome, block.repeats, gold)
    gains = [pair.gain for pair in labelled if pair.gain is not None]
    relevant = f"{sum(gain > 0 for gain in gains):,} of them relevant"
    by = f"{count_text(len(gains), 'pair')} labelled by judge {outcome.judge.short}"
    lines = [f"{by}, {relevant}; {cost_text(outcome.spent)}"]
    if missing := outcome.unjudged[RUN]:
        reasons = ", ".join(f"{count_text(count, 'call')} {UNJUDGED_WORDS[kind]}" for kind, count in missing.items())
        lines += [f"  {len(pairs) - len(gains):,} without a label ({reasons}); --again asks once more"]
    return labelled, lines


def _is_asked_about(pair: Pair, gold: Gold) -> bool:
    """Whether the document may be relevant, and not all of several runs have it; of one run every document counts."""
    sample = gold.samples[pair.query_id]
    makes_a_difference = len(pair.ranks) == 1 or None in pair.ranks.values()
    return makes_a_difference and not sample.no_answer and pair.id not in sample.negatives


def _require_texts(pairs: Sequence[Pair], gold: Gold) -> None:
    if mute := next((pair for pair in pairs if not pair.question), None):
        text = f"query {shown(mute.query_id)} has no question to put to a judge; state `input: {{question: …}}`"
        raise bad_input(text, file=gold.name, line=gold.samples[mute.query_id].line)
    if bare := [pair for pair in pairs if pair.text is None]:
        first = f"such as {shown(bare[0].id)} of {shown(bare[0].query_id)}"
        run = next(name for name, rank in bare[0].ranks.items() if rank is not None)
        text = f"no run states the text of {len(bare):,} documents to judge, {first}; state `text` in items of a line"
        raise bad_input(text, file=run, key="text")


def _answer(batch: Sequence[Pair]) -> Answer:
    passages = tuple(Passage(pair.id, pair.text or "") for pair in batch)
    return Answer(query_id=batch[0].query_id, question=batch[0].question or "", context=passages)


def _labelled(
    batches: Sequence[Sequence[Pair]], answers: Sequence[Answer], outcome: Outcome, repeats: int, gold: Gold
) -> list[Pair]:
    """The pairs with the median of the judge's grades, and its gain; None where a repeat has no grades."""
    top = max((gain for sample in gold.samples.values() for gain in sample.gains.values()), default=1.0)
    labelled: list[Pair] = []
    for batch, answer in zip(batches, answers, strict=True):
        verdicts = [judged(answer, outcome.judge, _VERDICTS, outcome.records, n) for n in range(repeats)]
        graded = [each.of(Relevance.name) for each in verdicts]
        grades = [each for each in graded if isinstance(each, tuple)]
        for row, pair in enumerate(batch):
            grade = None
            if len(grades) == repeats:
                grade = sorted(each[row] for each in grades)[(repeats - 1) // 2]
            gain = None if grade is None else gain_of_grade(grade, top)
            labelled.append(replace(pair, gain=gain, grade=grade, judge=outcome.judge.id))
    return labelled


def gain_of_grade(grade: int, top: float) -> float:
    """A grade on the scale of a gold set whose best gain is `top`: up to 1 for 2 and 3 alone, else itself up to it."""
    if top > 1:
        return min(grade, top)
    return (top or 1.0) if grade >= RELEVANT else 0.0


def _traffic_sheet(arguments: argparse.Namespace, suffix: str) -> tuple[str, list[str]]:
    """The sheet as text, and lines that say what is in it."""
    if arguments.runs:
        raise bad_input("--traffic takes run and baseline from the criteria; name no RUN")
    if arguments.n < 1:
        raise bad_input(f"--n must be at least 1, not {arguments.n}")
    criteria = required_criteria(arguments)
    files = traffic_files(criteria)
    if files is None:
        raise bad_input("there is no traffic; add inputs: {traffic: traffic.jsonl}", file=criteria.name, key="inputs")
    inputs = Inputs(date=today())
    lists = traffic_lists(inputs, criteria, files)
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


def traffic_lists(inputs: Inputs, criteria: Criteria, files: TrafficFiles) -> TrafficLists:
    """What the run and the accepted one return for the questions of the traffic."""
    k, _ = compared_as(criteria)
    needs = _needs(criteria)
    now = rankings_again(candidate_run(inputs.run, criteria), needs)
    before = rankings_again(accepted_run(inputs, criteria, deepest=k), needs)
    return TrafficRuns(files=files, now=tuple(now), before=tuple(before), how=criteria.match).lists(k)


def _needs(criteria: Criteria, *more: RunField) -> frozenset[RunField]:
    return frozenset({RunField.TRAFFIC, *more} | ({RunField.DOCS} if criteria.match.by is By.DOC else set()))


def _texts(inputs: Inputs, criteria: Criteria, documents: set[str], corpus: str | None) -> dict[str, str]:
    """What these documents say, by the corpus, or else by the run and the accepted run, if they state it."""
    if corpus:
        return {each.id: each.text for each in read_corpus(corpus, documents)}
    needs = _needs(criteria, RunField.TEXTS)
    texts: dict[str, str] = {}
    for source in (candidate_run(inputs.run, criteria), accepted_run(inputs, criteria)):
        run = source.open(needs)
        if run is None:
            continue
        for ranking in run.rankings:
            texts |= {name: text for name, text in results_of(ranking, criteria.match) if text and name in documents}
    return texts


def _pool_summary(
    arguments: argparse.Namespace, criteria: Criteria, lists: TrafficLists, rows: Sequence[SheetRow]
) -> list[str]:
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
    if arguments.output != STDOUT:
        labels = criteria.inputs.traffic_labels or LABELS
        is_page = Path(arguments.output).suffix.lower() == PAGE
        filled = "sheet.jsonl" if is_page else arguments.output
        command = shlex.join(["rankgate", "gold", "merge", "--traffic", labels, filled])
        todo = "write 1 (relevant) or 0 into every `relevant`; then:"
        todo = "open it in a browser, label with the keys 1 and 0, and download the labels; then:" if is_page else todo
        lines += [todo if rows else "nothing is left to label; so that this draw counts:", f"  $ {command}"]
    return lines
