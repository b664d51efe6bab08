"""`rankgate gold draft` and `gold review`: a first gold set from documents, and what people make of it."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rankgate.cli.gold_judge import verdicts_store
from rankgate.cli.inputs import criteria_if_any, judge_in
from rankgate.cli.judge_end import cost_text, stopped_by
from rankgate.cli.labels import add_label_options, take_labels
from rankgate.cli.output import say
from rankgate.cli.progress import bar
from rankgate.cli.signals import terminated_as_interrupted
from rankgate.criteria import InputFile, find_criteria, load_criteria
from rankgate.criteria.inputs import gold_of
from rankgate.criteria.judge_block import KEY_VARIABLE
from rankgate.errors import bad_input, redacted
from rankgate.files.writing import write_atomic
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.drafting import DEFAULT_OVERLAP, calls_due, drafted, orders_of
from rankgate.judge.identity import judge_of
from rankgate.judge.job import Spent
from rankgate.judge.judging import WORKERS, ask_rounds, settle
from rankgate.judge.label_files import read_labels
from rankgate.judge.model import MODES
from rankgate.judge.sample import Question
from rankgate.labelling.drafts import Draft, Left, Passage, by_headings, passages_of, samples_of
from rankgate.labelling.gold_documents import GOLD_SUFFIXES, GoldDocuments, about, read_documents
from rankgate.model.answers import Unjudged
from rankgate.model.wording import count_text, tokens_text
from rankgate.readers.base import finite_number
from rankgate.readers.corpus import source_texts

DESCRIPTION = """\
Draft questions from documents, each with the passage that answers it, for `gold review`. Without a model a
question is a heading, an entry of an FAQ or a title. With --judge the model of the criteria writes one to
three a passage, in its language. What is chosen is decided by hash, spread over the documents: the same
documents give the same drafts, and a greater --n adds to them.

examples:
  rankgate gold draft docs/ -o draft.yaml
  rankgate gold draft docs/ --judge --multi 10 --unanswerable 10 --dry-run   # calls and tokens"""
REVIEW = """\
Accept, edit or reject drafts, at the terminal or in a sheet. Each answer is on the disk before the next
question, in DRAFT.reviews.jsonl; the same command goes on, and several people may share the work. What is
accepted goes into the gold set, with who and when; what that has besides stays, but for comments of YAML.

examples:
  rankgate gold review draft.yaml -o gold.yaml --by ana
  rankgate gold review draft.yaml -o gold.yaml --by ben --export ben.csv
  rankgate gold review draft.yaml -o gold.yaml --by ben --import ben.csv"""
_UNANSWERED = "none: this is drafted as a question that no document answers"
_NUMBERS = {
    "n": ("100", "questions on one passage"),
    "multi": ("0", "with --judge: questions that take two passages"),
    "unanswerable": ("0", "with --judge: questions that their passage leaves open"),
    "overlap": (str(DEFAULT_OVERLAP), "with --judge: the share of a question's words that its passage may have"),
}
_LEFT = {
    Left.NO_WORDS: "whose heading has no letter, or more than a question",
    Left.AMBIGUOUS: "whose heading or passage stands in several places",
    Left.COPIED: "with more words of the passage than --overlap allows",
    Left.TWICE: "asked already",
}


def add_options(drafting: argparse.ArgumentParser, reviewing: argparse.ArgumentParser) -> None:
    """The own options of both commands."""
    drafting.add_argument("documents", metavar="CORPUS", help="a directory or a file: .md, .html, .txt, .rst, .jsonl")
    judge = f"the judge of the criteria writes the questions; its key: {KEY_VARIABLE}"
    drafting.add_argument("--judge", action="store_true", help=judge)
    for name, (default, what) in _NUMBERS.items():
        drafting.add_argument(f"--{name}", metavar="N", default=default, help=f"{what} (default: {default})")
    drafting.add_argument("--dry-run", action="store_true", help="with --judge: print what it would take, ask nothing")
    reviewing.add_argument("draft", metavar="DRAFT", help="what `gold draft` wrote, or any gold set with drafts")
    reviewing.add_argument("-o", "--output", metavar="FILE", required=True, help="the gold set: .yaml, .jsonl or .json")
    add_label_options(reviewing)


def draft(arguments: argparse.Namespace) -> tuple[GoldDocuments, str] | int:
    """The drafts, and what is said of them; the exit code of a dry run."""
    numbers = {name: finite_number(getattr(arguments, name)) for name in _NUMBERS}
    for name, number in numbers.items():
        if number is None or number < 0 or (number > 1 if name == "overlap" else number % 1):
            what = "a share from 0 to 1" if name == "overlap" else "a number from 0"
            raise bad_input(f"expected {what}, found {getattr(arguments, name)!r}", key=f"--{name}")
    overlap = numbers.pop("overlap") or 0.0
    wanted = [int(number or 0) for number in numbers.values()]
    if not any(wanted):
        raise bad_input("0 asks for no question; write how many to draft", key="--n")
    changed = [name for name in [*_NUMBERS][1:] if getattr(arguments, name) != _NUMBERS[name][0]]
    if not arguments.judge and (arguments.dry_run or changed):
        raise bad_input("--multi, --unanswerable, --overlap and --dry-run are about a judge; add --judge")
    texts = list(source_texts(arguments.documents))
    passages = [each for text in texts for each in passages_of(text.id, text.title or "", text.text)]
    found = _by_judge(arguments, passages, wanted, overlap) if arguments.judge else by_headings(passages)
    if found is None:
        return 0
    drafts, left = found[0][: sum(wanted)], found[1]
    if not drafts:
        advice = "" if arguments.judge else ": it has no heading, title or FAQ over a text; --judge needs none"
        raise bad_input(f"gives no question{advice}", file=arguments.documents)
    few = f", where {sum(wanted):,} were asked for" if len(drafts) < sum(wanted) else ""
    of = f"{count_text(len(passages), 'passage')} of {count_text(len(texts), 'document')}"
    lines = [f"{count_text(len(drafts), 'draft')} from {of}{few}"]
    lines += [f"  {count:,} left out {_LEFT[why]}" for why, count in left.items() if count]
    return GoldDocuments(samples=samples_of(drafts)), "".join(f"{line}\n" for line in lines)


def _by_judge(
    arguments: argparse.Namespace, passages: Sequence[Passage], wanted: Sequence[int], overlap: float
) -> tuple[list[Draft], Counter[Left]] | None:
    """The questions of a model; None where what they take was only printed."""
    criteria = criteria_if_any(arguments) or load_criteria(find_criteria())
    block, store = judge_in(criteria), verdicts_store(dry_run=arguments.dry_run)
    mode = store.mode(block.endpoint, block.model) if block.structured == "auto" else block.structured
    judge = judge_of(block, mode or MODES[0], drafting=True)
    orders = orders_of(passages, *wanted)
    calls = calls_due(orders, judge, store, overlap)
    tokens = tokens_text(sum(sum(call.inputs.tokens(judge.prompts)) for call in calls))
    more = ", and one more for each passage without a question of use" if calls else ""
    sys.stderr.write(f"judge {judge.short} ({block.model}): {count_text(len(calls), 'call')}, about {tokens}{more}\n")
    if arguments.dry_run:
        return None
    endpoint, spending = Endpoint(block.endpoint), Spending(block.budget.calls, block.budget.tokens)
    if calls:
        useless = 0
        with terminated_as_interrupted(), bar(lambda: min(1.0, spending.calls / len(calls)), "drafting"):
            settled = settle(block, endpoint, store, spending)
            stopped = settled if isinstance(settled, Unjudged) else None
            if not isinstance(settled, Unjudged):
                judge = judge_of(block, settled.mode, drafting=True)
                due = partial(calls_due, orders, judge, overlap=overlap)
                ask = partial(ask_rounds, endpoint=endpoint, spending=spending, workers=WORKERS)
                progress = ask(due, judge, store=store)
                stopped, useless = progress.stopped, sum(progress.unjudged.values())
        spent = Spent(spending.calls, spending.tokens)
        if stopped:
            kept = "What was answered is kept; the same command goes on"
            raise stopped_by(stopped, block.model, spent, criteria, kept, ".calls")
        without = f"; {count_text(useless, 'passage')} without a usable answer" if useless else ""
        sys.stderr.write(f"{cost_text(spent)}{without}\n")
    return drafted(orders, judge, store, overlap)


def review(arguments: argparse.Namespace) -> int:
    """Take reviews, and write what is accepted, also after Ctrl-C."""
    path, output = arguments.draft, Path(arguments.output)
    if output.suffix.lower() not in GOLD_SUFFIXES:
        raise bad_input(f"a gold set is written as {', '.join(GOLD_SUFFIXES)}", file=arguments.output)
    drafts, *there = (
        read_documents(each, gold_of(InputFile(each), None)) for each in (path, *[arguments.output] * output.exists())
    )
    before = there[0] if there else GoldDocuments(samples={})
    items = [_question(query_id, each) for query_id, each in drafts.samples.items() if about(each).get("draft") is True]
    if not items:
        raise bad_input("has no sample with `metadata: {draft: true}`", file=path)
    journal = f"{path}.reviews.jsonl"
    earlier = read_labels(journal, items)
    try:
        if take_labels(arguments, items, journal) is None:
            say(f"{redacted(arguments.export)}: fill in `verdict`, then the same with --import\n")
            return 0
    finally:
        known = {label.key: label for label in read_labels(journal, items).values()}  # of several people the last one
        said = {item.query_id: (item, known[item.key]) for item in items if item.key in known}
        accepted = {
            query_id: (label.edited or item.question, {"by": label.by, "on": label.on})
            for query_id, (item, label) in said.items()
            if label.verdict == "accepted"
        }
        new = {query_id for query_id, (_, label) in said.items() if earlier.get(label.place) != label}
        gold = before.with_reviewed(drafts.samples, accepted, new)
        if not gold.samples:
            output.unlink(missing_ok=True)
        elif gold != before:
            write_atomic(arguments.output, gold.as_text(output.suffix.lower()))
    of = f"of {count_text(len(items), 'draft')} {len(accepted):,} accepted, {len(said) - len(accepted):,} rejected"
    questions = count_text(len(gold.samples), "question")
    say(f"{redacted(arguments.output)}: {questions}; {of}, {len(items) - len(said):,} left\n")
    return 0


def _question(query_id: str, sample: dict[str, Any]) -> Question:
    asked, unanswered = sample.get("input") or "", bool(about(sample).get("no_answer"))
    found = about(sample).get("about") if unanswered else sample.get("expected_output")
    found = found.get("ids", found) if isinstance(found, dict) else found if isinstance(found, list) else []
    texts = (f"({each.get('doc')}) {each.get('text', '')}" if isinstance(each, dict) else str(each) for each in found)
    question = asked.get("question") or "" if isinstance(asked, dict) else asked
    return Question(query_id, question, _UNANSWERED if unanswered else "", tuple(texts), ())
