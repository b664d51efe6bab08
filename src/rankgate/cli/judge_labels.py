"""`rankgate judge sample` and `judge label`: what people check a judge by, drawn blind, and what they say of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from rankgate.cli.inputs import criteria_if_any, file_of, judge_in, open_store, refuse_two_stdins
from rankgate.cli.options import add_criteria, add_gold, add_run, today
from rankgate.cli.output import say
from rankgate.cli.screen import show_pages
from rankgate.criteria import Criteria, find_criteria, load_criteria
from rankgate.criteria.inputs import Inputs, gold_of, runs_of
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.errors import bad_input, redacted
from rankgate.files.writing import write_atomic
from rankgate.judge import label_files
from rankgate.judge.job import Answers, read_answers, require_answers
from rankgate.judge.label_files import Label, Labels, Place
from rankgate.judge.model import Judge, Record, Slot, canonical
from rankgate.judge.runs import NEEDS, judge_with_verdicts, known_verdicts
from rankgate.judge.sample import LEAST, WANTS, Item, draw
from rankgate.judge.store import read_verdicts
from rankgate.metrics.answers import JudgedMetric
from rankgate.model.tags import segments_of
from rankgate.model.values import Gold
from rankgate.model.wording import count_text
from rankgate.readers.base import whole_number
from rankgate.renderers.blocks import Pairs

_SAMPLE = """\
Draw answers that people label to check the judge: by hash, about as many with an unsupported claim as
without, in each segment of the judged gates, or of the pairs that changed since the baseline those whose
verdict moved and did not. The sample shows no verdict, and its order and texts give none away. How it was
drawn is written beside it, to sample.design.json: keep both, and let nobody who labels read the second.

examples:
  rankgate judge sample -o judge/sample.jsonl
  rankgate judge sample --changed --baseline baseline/ -o judge/changed.jsonl"""
_LABEL = """\
Label a sample: at the terminal, or in a sheet that is written and read again. Each label is on the disk
before the next question, and the same command goes on. Nobody is shown what others said; two people may
share a file of labels or have one each.

examples:
  rankgate judge label sample.jsonl --by ana
  rankgate judge label sample.jsonl --by ben --export ben.csv
  rankgate judge label sample.jsonl --by ben --import ben.csv"""
_KEYS = {
    "y": "it states something",
    "n": "it states nothing: a refusal, or only a question back",
    "s": "supported: the passages say it",
    "c": "contradicted: they say otherwise",
    "a": "absent: they do not say",
    "k": "skip; asked at the next start",
    "u": "undo the last one",
    "p": "print all of it again",
    "q": "quit; all labels are kept",
}


def add_actions(
    options: argparse.ArgumentParser, calibration: str
) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    """The sub-commands; what both they and the command take may stand before or after their name."""
    about = "sample, label, calibrate, drift, compare: is the judge right?"
    actions = options.add_subparsers(dest="action", metavar="ACTION", help=about)
    add = partial(actions.add_parser, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    sample = add("sample", description=_SAMPLE, argument_default=argparse.SUPPRESS)
    calibrate = add("calibrate", description=calibration, argument_default=argparse.SUPPRESS)
    for each in (sample, calibrate):
        add_criteria(each)
        add_gold(each, parts=True)
        add_run(each)
        each.add_argument("--baseline", metavar="SPEC", help="of pairs that changed (default: inputs.baseline)")
        each.add_argument("--verdicts", metavar="FILE", default=None, help="default: those beside the run")
    calibrate.add_argument("sample", metavar="SAMPLE", help="what `judge sample` wrote")
    calibrate.add_argument("labels", metavar="LABELS", nargs="*", default=[], help="default: sample.labels.jsonl")
    where = "default: that of the criteria, or calibration.json beside the sample"
    calibrate.add_argument("-o", "--output", metavar="FILE", help=where)
    calibrate.add_argument("--format", choices=["terminal", "json"], help="what to print")
    sample.add_argument("--n", metavar="N", default="200", help=f"answers or pairs, from {LEAST} (default: 200)")
    sample.add_argument("--changed", action="store_true", default=False, help="pairs that changed since the baseline")
    output = "the sample (default: sample.jsonl), with its design beside it"
    sample.add_argument("-o", "--output", metavar="FILE", help=output)
    label = add("label", description=_LABEL, argument_default=argparse.SUPPRESS)
    label.set_defaults(export=None, sheet=None)
    label.add_argument("sample", metavar="SAMPLE", help="what `judge sample` wrote")
    label.add_argument("--by", metavar="NAME", required=True, help="who labels")
    label.add_argument("-o", "--output", metavar="FILE", help="the labels (default: sample.labels.jsonl)")
    label.add_argument("--export", metavar="FILE", help="write a sheet to label, CSV, and ask nothing")
    label.add_argument("--import", metavar="FILE", dest="sheet", help="take the labels of a sheet")
    return actions


def run_action(arguments: argparse.Namespace) -> int:
    """Draw a sample, or take labels."""
    say([*{"sample": _sample, "label": _label}[arguments.action](arguments)])
    return 0


class Judged(NamedTuple):
    """A run, and where pairs are meant its baseline, with the verdicts of the judge that has most of them."""

    criteria: Criteria
    gold: Gold
    run: Answers
    before: Answers | None
    judge: Judge
    known: dict[Slot, Record]


def named_by(arguments: argparse.Namespace) -> tuple[Criteria, JudgeBlock, Gold, Inputs]:
    """The criteria, the judge, the gold set, and what names the run, the baseline and the verdicts."""
    criteria = criteria_if_any(arguments) or load_criteria(find_criteria())
    block, files = judge_in(criteria), [file_of(arguments, flag) for flag in ("gold", "run", "baseline")]
    refuse_two_stdins(*files)
    inputs = Inputs(
        date=today(),
        run=files[1],
        baseline=files[2],
        untrusted_run=arguments.untrusted_run,
        verdicts=arguments.verdicts,
        open_store=cache(open_store),
    )
    return criteria, block, gold_of(files[0], criteria, arguments.gold_part), inputs


def judged_of(arguments: argparse.Namespace, *, paired: bool, beside: str | None = None) -> Judged:
    """What the options name; `beside` is a further file of verdicts, if it is there."""
    criteria, block, gold, inputs = named_by(arguments)
    candidate, *stored, _ = runs_of(inputs, criteria, criteria.plan(), gold)
    run = read_answers(candidate(needs=NEEDS), gold, WANTS, block.depth)
    require_answers(run)
    accepted = stored[0](needs=NEEDS) if paired else None
    before = read_answers(accepted, gold, WANTS, block.depth) if accepted else None
    if paired and before is None:
        raise bad_input("there is no baseline to compare with; name one with --baseline", key="--baseline")
    named, known = known_verdicts(inputs, criteria, *stored)
    own = read_verdicts(beside) if beside and Path(beside).exists() else {}
    return Judged(criteria, gold, run, before, judge_with_verdicts(block, named, known), {**own, **known})


def _sample(arguments: argparse.Namespace) -> Iterator[str]:
    number, output = whole_number(arguments.n), arguments.output or "sample.jsonl"
    if number is None or number < LEAST:
        raise bad_input(f"{arguments.n!r} is not a number from {LEAST}; fewer would say too little", key="--n")
    if not output.endswith(".jsonl"):
        raise bad_input("a sample is .jsonl; `judge label --export FILE.csv` makes a sheet of it", file=output)
    found = judged_of(arguments, paired=arguments.changed)
    run, before = found.run, found.before
    items, design = draw(
        run.answers,
        found.judge,
        found.known,
        number=number,
        run=redacted(run.run),
        segments=segments_by_query(found.gold, found.criteria),
        baseline=(redacted(before.run), before.answers) if before else None,
    )
    left = ", ".join(f"{count:,} {kind.value}" for kind, count in design.left.items())
    if not items:
        raise bad_input(f"has no answer to label ({left}); `rankgate judge` asks for verdicts", file=run.run)
    beside = label_files.design_beside(output)
    written = {output: label_files.sample_text(items), beside: canonical(msgspec.to_builtins(design)) + b"\n"}
    for path, content in written.items():
        if Path(path).exists() and Path(path).read_bytes() != content:
            raise bad_input("is of another sample, which may have labels; name another file", file=path)
    for path, content in written.items():
        write_atomic(path, content)
    units = count_text(sum(stratum.sampled for stratum in design.strata), "pair" if before else "answer")
    yield f"{redacted(output)}: {units} of {sum(len(stratum.units) for stratum in design.strata):,}"
    yield f"{redacted(beside)}: how they were drawn; not for those who label"
    if left:
        yield f"left out: {left}"


def segments_by_query(gold: Gold, criteria: Criteria) -> dict[str, str]:
    """The segment of each query, by all keys of the judged gates' segments."""
    judged = [gate for gate in criteria.gates if isinstance(gate.metric, JudgedMetric)]
    keys = dict.fromkeys(key for gate in judged for rule in gate.segments for key in rule.by)
    ids = list(gold.samples)
    return {ids[row]: name for name, rows in reversed(segments_of(gold, [*keys]).items()) for row in rows}


def _label(arguments: argparse.Namespace) -> Iterator[str]:
    items, by = label_files.read_sample(arguments.sample), arguments.by.strip()
    path = arguments.output or label_files.labels_beside(arguments.sample)
    labels = label_files.read_labels(path, items)
    names, key = {label.by for label in labels.values()}, label_files.name_key
    like = next((name for name in names - {by} if key(name) == key(by) and by not in names), None)
    if like or not by:
        known = f"{path} has labels by {like!r}" if like else "it is empty"
        raise bad_input(f"{known}; write the name of who labels, always in the same way", key="--by")
    if arguments.export:
        if not arguments.export.casefold().endswith((".csv", "/stdout")):
            raise bad_input("a sheet is .csv, which spreadsheets read", file=arguments.export)
        if Path(arguments.export).exists():
            raise bad_input("exists already, maybe with labels in it; name another file", file=arguments.export)
        write_atomic(arguments.export, label_files.label_sheet(items, labels, by))
        yield f"{redacted(arguments.export)}: fill in `verdict`, from the top; then the same with --import"
        return
    if arguments.sheet:
        sheet = label_files.read_sheet(arguments.sheet, items, by)
        new = [label for label in sheet if labels.get(label.place) != label]
        label_files.add_labels(path, new)
        labels |= {label.place: label for label in new}
    elif sys.stdin.isatty() and sys.stdout.isatty():
        with suppress(EOFError):
            _ask(items, labels, path, by)
    else:
        raise bad_input("labels are typed at a terminal, and this is none; --export FILE.csv writes a sheet to label")
    done = sum(all((by, item.key, n) in labels for n in _due(item, labels, by)) for item in items)
    yield f"{redacted(path)}: {done:,} of {count_text(len(items), 'answer')} labelled by {by}"


def _due(item: Item, labels: Labels, by: str) -> Sequence[int]:
    """What is asked of an answer: its claims only where somebody said that it states something."""
    said = labels.get((by, item.key, 0))
    return range(1 + len(item.claims) if said and said.verdict == "asserts" else 1)


def _ask(items: Sequence[Item], labels: dict[Place, Label], path: str, by: str) -> None:
    """Ask until all is labelled or skipped, or the person quits."""
    places = [(number, item, n) for number, item in enumerate(items, start=1) for n in range(1 + len(item.claims))]
    at, printed, skipped, explained = 0, (0, False), set[int](), set[bool]()
    while at < len(places):
        number, item, n = places[at]
        if at in skipped or (by, item.key, n) in labels or n not in _due(item, labels, by):
            at += 1
            continue
        words = label_files.OF_CLAIM if n else label_files.OF_ANSWER
        head = ["", f"Answer {number:,} of {len(items):,}"] if printed[0] != number else []
        legend = Pairs([(key, _KEYS[key]) for key in (*words, *"kupq")])
        context = _context(item, answer=bool(head), passages=bool(n) and printed != (number, True))
        asked = _lines(f"Claim {n} of {len(item.claims)}", item.claims[n - 1]) if n else ()
        question = "What do the passages say of it?" if n else "Does the answer state anything?"
        show_pages([*head, *context, "", *asked, question, *([] if bool(n) in explained else [legend])])
        printed = (number, n > 0)
        explained.add(n > 0)
        key = input(f"{'/'.join((*words, *'kupq'))} > ").strip().casefold()
        back = [each for each in range(at) if each in skipped or (by, places[each][1].key, places[each][2]) in labels]
        if key in words:
            label = label_files.label_of(item, n, words[key], by)
            label_files.add_labels(path, [label])
            labels[label.place] = label
        elif key == "k":
            skipped.add(at)
        elif key == "u" and back:
            at = back[-1]
            skipped.discard(at)
            undone = label_files.label_of(places[at][1], places[at][2], None, by)
            if labels.pop(undone.place, None):
                label_files.add_labels(path, [undone])
        elif key == "p":
            printed = (0, False)
        elif key == "q":
            return
        else:
            explained.clear()


def _context(item: Item, *, answer: bool, passages: bool) -> Iterator[str]:
    if answer:
        yield from (*_lines("Question", item.question), *_lines("Answer", item.answer))
    if passages and not item.passages:
        yield "There is no passage."
    for rank, text in enumerate(item.passages if passages else (), start=1):
        yield from _lines(f"Passage {rank}", text)


def _lines(title: str, text: str) -> Iterator[str]:
    yield f"{title}:"
    yield from (f"  {line.expandtabs(4)}" for line in text.replace("\r\n", "\n").split("\n"))
