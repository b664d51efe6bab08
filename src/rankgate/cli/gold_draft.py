"""`rankgate gold draft`: a first gold set from documents, for people to review."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rankgate.cli.inputs import criteria_if_any, judge_in
from rankgate.cli.judge import STORE, refuse_committed
from rankgate.cli.judge_end import cost_text, stopped_by
from rankgate.cli.progress import bar
from rankgate.cli.signals import terminated_as_interrupted
from rankgate.criteria import find_criteria, load_criteria
from rankgate.criteria.judge_block import KEY_VARIABLE, JudgeBlock
from rankgate.errors import bad_input, redacted
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.drafting import DEFAULT_OVERLAP, Order, calls_due, drafted, orders_of
from rankgate.judge.identity import judge_of
from rankgate.judge.job import Spent
from rankgate.judge.judging import WORKERS, ask_rounds, settle
from rankgate.judge.model import MODES, Judge
from rankgate.judge.store import Store
from rankgate.labelling.drafts import Drafted, Left, by_headings, passages_of, samples_of
from rankgate.labelling.gold_documents import GoldDocuments
from rankgate.model.answers import Unjudged
from rankgate.model.wording import count_text, tokens_text
from rankgate.readers.base import finite_number, whole_number
from rankgate.readers.corpus import source_texts

DESCRIPTION = f"""\
Draft questions from documents (Markdown, HTML, text, JSONL), each with the passage that answers it, for
`gold review`. Without a model a question is a heading, an entry of an FAQ or a title. With --judge a model
writes one to three questions a passage, in its language. Which passages is decided by hash, spread over the
documents: the same documents give the same drafts, and a greater --n adds to them.

examples:
  rankgate gold draft docs/ -o draft.yaml
  rankgate gold draft docs/ --judge --judge-endpoint http://localhost:11434/v1 --judge-model qwen3:8b --dry-run
  rankgate gold draft docs/ --judge --multi 10 --unanswerable 10 -o draft.yaml   # the judge of the criteria
  rankgate gold review draft.yaml -o gold.yaml --by ana"""
_LEFT = {
    Left.NO_QUESTION: "with a heading that is too long, or without a letter",
    Left.SAME_HEADING: "with a heading that stands in several places",
    Left.SAME_TEXT: "of a passage that stands in several places",
    Left.COPIED: "with more of the passage's words than --overlap allows",
    Left.ASKED_TWICE: "asked already",
}


def add_options(options: argparse.ArgumentParser) -> None:
    """The command's own options."""
    options.add_argument("corpus", metavar="CORPUS", help="a directory or a file: .md, .html, .txt, .rst, .jsonl")
    options.add_argument("--n", metavar="N", default="100", help="questions of one passage (default: 100)")
    judge = f"let the judge of the criteria write questions; its key: {KEY_VARIABLE}"
    options.add_argument("--judge", action="store_true", help=judge)
    options.add_argument("--judge-model", metavar="NAME", help="this model instead, also without criteria")
    options.add_argument("--judge-endpoint", metavar="URL", help="of --judge-model (default: that of the criteria)")
    options.add_argument("--multi", metavar="N", default="0", help="with --judge: questions that take two passages")
    unanswerable = "with --judge: questions that the passage does not answer; look whether another one does"
    options.add_argument("--unanswerable", metavar="N", default="0", help=unanswerable)
    overlap = "with --judge: the share of a question's words that may stand in its passage, for a question that copies"
    overlap += f" them is found by any search (default: {DEFAULT_OVERLAP:g})"
    options.add_argument("--overlap", metavar="SHARE", help=overlap)
    options.add_argument("--dry-run", action="store_true", help="with --judge: print what it would take, ask nothing")


def draft(arguments: argparse.Namespace) -> tuple[GoldDocuments, str] | int:
    """The drafts, and what is said of them; an exit code where nothing was to be written.

    Raises:
        RankgateError: a document cannot be read, an option is wrong, or the endpoint fails or a budget is reached, and
            then what was answered is kept in the store.
    """
    numbers = {name: _number(arguments, name) for name in ("n", "multi", "unanswerable")}
    overlap = DEFAULT_OVERLAP if arguments.overlap is None else finite_number(arguments.overlap)
    if overlap is None or not 0 <= overlap <= 1:
        raise bad_input(f"expected a share from 0 to 1, found {arguments.overlap!r}", key="--overlap")
    own = ("multi", "unanswerable", "overlap", "judge_model", "judge_endpoint", "dry_run")
    if not arguments.judge and any(getattr(arguments, name) not in {"0", None, False} for name in own):
        raise bad_input(f"{', '.join('--' + name.replace('_', '-') for name in own)} go with --judge")
    texts = list(source_texts(arguments.corpus))
    passages = [each for text in texts for each in passages_of(text.id, text.title or "", text.text)]
    if not passages:
        raise bad_input("no document has a passage to ask about", file=arguments.corpus)
    if arguments.judge:
        orders = orders_of(passages, single=numbers["n"], multi=numbers["multi"], unanswerable=numbers["unanswerable"])
        found = _by_judge(arguments, orders, overlap)
        if found is None:
            return 0
    else:
        found = by_headings(passages)
    chosen = found.drafts if arguments.judge else found.drafts[: numbers["n"]]
    if not chosen:
        advice = "" if arguments.judge else ": there is no heading, title or FAQ; --judge lets a model write questions"
        raise bad_input(f"gives no question{advice}", file=arguments.corpus)
    of = f"{count_text(len(passages), 'passage')} of {count_text(len(texts), 'document')}"
    lines = [f"{count_text(len(chosen), 'draft')} from {of}"]
    lines += [f"  {count:,} left out {_LEFT[why]}" for why, count in found.left.items() if count]
    wanted = sum(numbers.values())
    if len(chosen) < wanted:
        lines += [f"  {wanted:,} were asked for, and there are no more"]
    return GoldDocuments(samples={each["id"]: each for each in samples_of(chosen)}), "".join(f"{x}\n" for x in lines)


def _by_judge(arguments: argparse.Namespace, orders: Sequence[Order], overlap: float) -> Drafted | None:
    """The questions of a model; None where what they take was only printed."""
    block, name = _block(arguments)
    refuse_committed([STORE, *(f"{STORE}{end}" for end in ("-wal", "-shm", "-journal"))])
    store = Store(":memory:" if arguments.dry_run and not Path(STORE).exists() else STORE)
    mode = store.mode(block.endpoint, block.model) if block.structured == "auto" else block.structured
    judge = judge_of(block, mode or MODES[0], drafting=True)
    calls = calls_due(orders, judge, store, overlap)
    tokens = tokens_text(sum(sum(call.inputs.tokens(judge.prompts)) for call in calls))
    more = "; more where it writes no question of use" if calls else ""
    cost = f"{count_text(len(calls), 'call')}, about {tokens}"
    sys.stderr.write(f"judge {judge.short} ({block.model}): {cost}{more}\n")
    if arguments.dry_run:
        return None
    endpoint, spending = Endpoint(block.endpoint), Spending(block.budget.calls, block.budget.tokens)
    with terminated_as_interrupted(), bar(lambda: min(1.0, spending.calls / max(1, len(calls))), "drafting"):
        settled: Judge | Unjudged = settle(block, endpoint, store, spending) if calls else judge
        stopped = settled if isinstance(settled, Unjudged) else None
        if isinstance(settled, Judge) and calls:
            judge = judge_of(block, settled.mode, drafting=True)
            due = partial(calls_due, orders, judge, overlap=overlap)
            ask = partial(ask_rounds, endpoint=endpoint, spending=spending, workers=WORKERS)
            stopped = ask(due, judge, store=store).stopped
    spent = Spent(spending.calls, spending.tokens)
    if stopped:
        kept = "What was answered is kept; the same command goes on"
        raise stopped_by(stopped, block.model, spent, name, kept, ".calls")
    sys.stderr.write(f"{cost_text(spent)}\n")
    return drafted(orders, judge, store, overlap)


def _block(arguments: argparse.Namespace) -> tuple[JudgeBlock, str | None]:
    """Who writes questions, and the file that says so."""
    model, endpoint = arguments.judge_model, arguments.judge_endpoint
    if model and endpoint:
        try:
            return JudgeBlock(endpoint=endpoint, model=model), None
        except ValueError as error:
            example = "expected an address such as https://api.openai.com/v1"
            raise bad_input(f"{example}, found {redacted(endpoint)}", key="--judge-endpoint") from error
    criteria = criteria_if_any(arguments) or load_criteria(find_criteria())
    named = {"model": model, "endpoint": endpoint}
    return judge_in(criteria).model_copy(update={key: text for key, text in named.items() if text}), criteria.name


def _number(arguments: argparse.Namespace, name: str) -> int:
    number = whole_number(getattr(arguments, name))
    if number is None or number < 0:
        raise bad_input(f"expected a number from 0, found {getattr(arguments, name)!r}", key=f"--{name}")
    return number
