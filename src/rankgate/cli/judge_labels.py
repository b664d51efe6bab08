"""`rankgate judge sample` and `judge label`: answers drawn blind, by which people check a judge, and their labels.

Labels are typed at a terminal or written into a sheet: each is on the disk before the next question.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.cli.inputs import as_written, judge_in, required_criteria
from rankgate.cli.options import add_option, add_shared, inputs_of
from rankgate.cli.output import forces_colour, say
from rankgate.criteria import Criteria
from rankgate.criteria.inputs import gold_of
from rankgate.criteria.runs import runs_of
from rankgate.errors import bad_input, redacted
from rankgate.files.writing import write_atomic
from rankgate.judge import label_files
from rankgate.judge.job import Answers, read_answers, require_answers
from rankgate.judge.label_files import Label, LabelKey, Labels
from rankgate.judge.model import Judge, canonical
from rankgate.judge.records import Record, Slot
from rankgate.judge.runs import NEEDS, judge_with_verdicts, known_verdicts, verdict_kinds_of
from rankgate.judge.sample import LABELLED_KINDS, LEAST, Design, Item, Labelled, draw, metrics_of
from rankgate.judge.store import read_verdicts
from rankgate.judge.tasks import QUESTIONS
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.tags import segments_of
from rankgate.model.values import Gold
from rankgate.model.wording import count_text
from rankgate.readers.base import whole_number
from rankgate.renderers.blocks import Pairs

_SAMPLE = """\
Draw answers that people label to check the judge: by hash, each as likely as any other. The sample shows no
verdict, and its order and texts give none away. Labels count in its order, from the top. How it was drawn is
written beside it, to sample.design.json: keep both. sample.csv is a sheet of it, to label in a spreadsheet.

examples:
  rankgate judge sample -o judge/sample.jsonl"""
_CALIBRATE = """\
Say what people's labels make of the judge, metric by metric, and write it for gates: name the file as
`calibration` in the criteria's judge block. Reads the sample with its design, the labels of one or more
people (default: sample.labels.jsonl; in a sheet, ben.csv, they are by ben), and the verdicts on the run that
was labelled. Asks no model.

examples:
  rankgate judge calibrate judge/sample.jsonl
  rankgate judge calibrate judge/sample.jsonl ana.jsonl ben.csv -o judge/calibration.json
  rankgate judge calibrate judge/sample.jsonl --write     # names the file in the criteria, too"""
_LABEL = """\
Label a sample: at the terminal, or in the sheet beside it, a copy a person. Each label is on the disk
before the next question, and the same command goes on. Nobody is shown what others said; two people may
share a file of labels or have one each.

examples:
  rankgate judge label sample.jsonl --by ana
  rankgate judge label sample.jsonl --by ben --import ben.csv"""

_QUESTIONS = {
    Labelled.ANSWER: "Does the answer state anything?",
    Labelled.CLAIM: "What do the passages say of it?",
    Labelled.RUBRIC: "Does the answer meet the criterion?",
}
_MEANS = {
    Labelled.ANSWER: {"y": "it states something", "n": "it states nothing: a refusal, or only a question back"},
    Labelled.CLAIM: {
        "s": "supported: the passages say it",
        "c": "contradicted: they say otherwise",
        "a": "absent: they do not say",
    },
    Labelled.RUBRIC: {"y": "yes", "n": "no"},
}
_KEYS = {
    "k": "skip; asked at the next start",
    "u": "undo the last one",
    "p": "print all of it again",
    "q": "quit; all labels are kept",
}


def add_actions(options: argparse.ArgumentParser) -> None:
    """The sub-commands; what both they and the command take may stand before or after their name."""
    actions = options.add_subparsers(dest="action", metavar="ACTION")
    add = partial(actions.add_parser, argument_default=argparse.SUPPRESS)
    sample = add("sample", help="draw answers for people to label", description=_SAMPLE)
    calibrate = add("calibrate", help="compare the labels with the judge", description=_CALIBRATE)
    label = add("label", help="take labels, at the terminal or from a sheet", description=_LABEL)
    for each in (sample, calibrate):
        baseline = "whose verdicts count too (default: inputs.baseline)"
        add_shared(each, "criteria", "gold", "run", baseline=baseline)
        add_option(each, "--verdicts FILE", "default: those beside the run", action="read", default=None)
    add_option(calibrate, "sample SAMPLE", "what `judge sample` wrote", action="read")
    add_option(calibrate, "labels LABELS", "default: sample.labels.jsonl", nargs="*", action="read", default=[])
    where = "default: that of the criteria, or calibration.json beside the sample"
    add_option(calibrate, "-o --output FILE", where, action="write")
    add_option(calibrate, "--write", "name the file in the criteria", default=False)
    add_option(calibrate, "--format", "what to print", choices=["terminal", "json"])
    add_option(sample, "--n N", f"answers, from {LEAST} (default: 200)", default="200")
    output = "the sample (default: sample.jsonl), with its design beside it"
    add_option(sample, "-o --output FILE", output, action="write")
    label.set_defaults(sheet=None)
    add_option(label, "sample SAMPLE", "what `judge sample` wrote", action="read")
    add_option(label, "-o --output FILE", "the labels (default: sample.labels.jsonl)", action="write")
    add_option(label, "--by NAME", "who labels", required=True)
    add_option(label, "--import FILE", "take the labels of a sheet, CSV", action="read", dest="sheet")


def run_action(arguments: argparse.Namespace) -> int:
    """Draw a sample, or take labels."""
    say([*{"sample": _sample, "label": _label}[arguments.action](arguments)])
    return 0


def next_line(*words: str) -> str:
    """The next command, complete, with nothing secret in it."""
    return f"next: rankgate {shlex.join(map(redacted, words))}"


def named_files(arguments: argparse.Namespace) -> list[str]:
    """The options that name what a check reads, as they were given."""
    words = ["--criteria", arguments.criteria] if arguments.criteria else []
    for flag in ("gold", "run", "baseline"):
        if file := getattr(arguments, flag):
            words += [f"--{flag}", as_written(file)]
    return words


class Judged(NamedTuple):
    """A run with the verdicts of the judge that has most of them."""

    criteria: Criteria
    gold: Gold
    run: Answers
    judge: Judge
    known: dict[Slot, Record]

    @property
    def rubrics(self) -> Mapping[str, str]:
        """The criteria in words that people label, by metric: all of a question that a gate is on."""
        gated = verdict_kinds_of(self.criteria.metrics())
        questions = [task.criteria(self.judge) for name, task in QUESTIONS.items() if name in gated]
        return {name: criterion for criteria in questions for name, criterion in criteria.items()}

    @property
    def verdict_kinds(self) -> frozenset[str]:
        """What labels are of."""
        return verdict_kinds_of(metrics_of(self.rubrics))

    @property
    def command(self) -> str:
        """What asks the judge for all that labels are of."""
        names = ["faithfulness", "answered_rate", *self.rubrics]
        return shlex.join(["rankgate", "judge", *(word for name in names for word in ("--metric", name))])


def judged_of(arguments: argparse.Namespace, *, beside: str | None = None) -> Judged:
    """What the options name; `beside` is a further file of verdicts, if it is there."""
    criteria = required_criteria(arguments)
    block = judge_in(criteria)
    inputs = replace(inputs_of(arguments), untrusted_run=arguments.untrusted_run, verdicts=arguments.verdicts)
    gold = gold_of(arguments.gold, criteria)
    candidate, accepted = runs_of(inputs, criteria, criteria.plan(), gold)
    run = read_answers(candidate.open(NEEDS), gold, LABELLED_KINDS, block.depth)
    require_answers(run)
    named, known = known_verdicts(inputs, criteria, accepted)
    further = read_verdicts(beside) if beside and Path(beside).exists() else {}
    return Judged(criteria, gold, run, judge_with_verdicts(block, named, known), {**further, **known})


def _sample(arguments: argparse.Namespace) -> Iterator[str]:
    number = whole_number(arguments.n)
    output = arguments.output or "sample.jsonl"
    if number is None or number < LEAST:
        raise bad_input(f"{arguments.n!r} is not a number from {LEAST}; fewer would say too little", key="--n")
    if not output.endswith(".jsonl"):
        raise bad_input("a sample is .jsonl; a sheet of it is written beside", file=output)
    judged = judged_of(arguments)
    run = judged.run
    answered = {answer.query_id for answer in run.answers}
    items, design = draw(
        run.answers,
        judged.judge,
        judged.known,
        number=number,
        run=redacted(run.run),
        lacking=[query for query in judged.gold.samples if query not in answered],
        rubrics=judged.rubrics,
    )
    left = f"{count_text(design.unjudged, 'answer')} without a verdict"
    if not items:
        raise bad_input(f"has no answer to label ({left}); `{judged.command}` asks for verdicts", file=run.run)
    _write_sample(output, items, design)
    yield f"{redacted(output)}: {count_text(len(items), 'answer')} of {len(design.units):,} to label"
    if empty := design.sampled - len(items):
        yield f"{count_text(empty, 'further answer')} drawn: empty or lacking, which nobody needs to label"
    yield f"{redacted(label_files.design_beside(output))}: how they were drawn"
    sheet = redacted(label_files.sheet_beside(output))
    yield f"{sheet}: a sheet of them; a copy of it named after who labels is taken by `judge calibrate`, too"
    if design.unjudged:
        yield f"left out: {left}"
    yield next_line("judge", "label", output, "--by", "NAME")


def _write_sample(output: str, items: Sequence[Item], design: Design) -> None:
    """Write what is not there yet; a sheet that is there may have labels, and stays, but not of another sample."""
    sheet = label_files.sheet_beside(output)
    written = {
        output: label_files.sample_text(items),
        label_files.design_beside(output): canonical(msgspec.to_builtins(design)) + b"\n",
    }
    for path, content in written.items():
        if Path(path).exists() and Path(path).read_bytes() != content:
            raise bad_input("is of another sample, which may have labels; name another file", file=path)
    if not Path(sheet).exists():
        written[sheet] = label_files.label_sheet(items).encode()
    elif not Path(output).exists():
        raise bad_input("may have labels of another sample; name another file", file=sheet)
    for path, content in written.items():
        write_atomic(path, content)


def segments_by_query(gold: Gold, criteria: Criteria) -> dict[str, str]:
    """The segment of each query, by all keys of the judged gates' segments."""
    gates = [gate for gate in criteria.gates if isinstance(gate.metric, JudgedMetric)]
    keys = dict.fromkeys(key for gate in gates for rule in gate.segments for key in rule.by)
    ids = list(gold.samples)
    return {ids[row]: name for name, rows in reversed(segments_of(gold, [*keys]).items()) for row in rows}


def _label(arguments: argparse.Namespace) -> Iterator[str]:
    items = label_files.read_sample(arguments.sample)
    by = arguments.by.strip()
    path = arguments.output or f"{arguments.sample.removesuffix('.jsonl')}.labels.jsonl"
    labels = _take_labels(arguments, items, path)
    done = sum(all((by, item.key, n) in labels for n in _due(item, labels, by)) for item in items)
    yield f"{redacted(path)}: {done:,} of {count_text(len(items), 'answer')} labelled by {by}"
    if done == len(items):
        labels_file = [] if arguments.output is None else [arguments.output]
        yield next_line("judge", "calibrate", arguments.sample, *labels_file, "--write")


def _take_labels(arguments: argparse.Namespace, items: Sequence[Item], path: str) -> Labels:
    """All labels after what this person says now, at the terminal or in a sheet."""
    labels = label_files.read_labels(path, items)
    by = arguments.by.strip()
    names = {label.by for label in labels.values()}
    name_key = label_files.name_key
    like = next((name for name in names - {by} if name_key(name) == name_key(by) and by not in names), None)
    if like or not by:
        known = f"{path} has labels by {like!r}" if like else "it is empty"
        raise bad_input(f"{known}; write the name of who labels, always in the same way", key="--by")
    if arguments.sheet:
        for label in label_files.read_sheet(arguments.sheet, items, by):
            if labels.get(label.label_key) != label:
                label_files.add_labels(path, [label])
                labels[label.label_key] = label
    elif sys.stdin.isatty() and sys.stdout.isatty():
        with suppress(EOFError):
            _ask(items, labels, path, by)
    else:
        raise bad_input("labels are typed at a terminal, and this is none; --import FILE.csv takes a sheet")
    return labels


def _due(item: Item, labels: Labels, by: str) -> Sequence[int]:
    """What is asked of an answer: its claims only where somebody said that it states something."""
    of_answer = labels.get((by, item.key, 0))
    return item.due(asserts=of_answer is not None and of_answer.verdict == "asserts")


def _ask(items: Sequence[Item], labels: dict[LabelKey, Label], path: str, by: str) -> None:
    """Ask until all is labelled or skipped, or the person quits; only what this person said or skipped is undone."""
    statements = [(number, item, n) for number, item in enumerate(items, start=1) for n in range(len(item.statements))]
    positions = {(item.key, n): position for position, (_, item, n) in enumerate(statements)}
    labelled = [positions.get((label.key, label.n)) for label in labels.values() if label.by == by]
    undoable = [position for position in labelled if position is not None]  # the last one in time comes last
    skipped: set[int] = set()
    screen = _Screen(len(items))
    position = 0
    while position < len(statements):
        number, item, n = statements[position]
        if position in skipped or (by, item.key, n) in labels or n not in _due(item, labels, by):
            position += 1
            continue
        kind = item.labelled(n)
        words = label_files.WORDS[kind]
        screen.show(number, item, n)
        key = input(f"{'/'.join(_keys_of(kind))} > ").strip().casefold()
        if key in words:
            label = label_files.label_of(item, n, words[key], by)
            label_files.add_labels(path, [label])
            labels[label.label_key] = label
            undoable.append(position)
            position = 0  # what was undone may stand below others that are due
        elif key == "k":
            skipped.add(position)
            undoable.append(position)
            position = 0
        elif key == "u" and undoable:
            position = undoable.pop()
            skipped.discard(position)
            _, item, n = statements[position]
            undone = label_files.label_of(item, n, None, by)
            if labels.pop(undone.label_key, None):
                label_files.add_labels(path, [undone])
        elif key == "p":
            screen.clear()
        elif key == "q":
            return
        else:
            screen.explain()


def _keys_of(kind: Labelled) -> Mapping[str, str]:
    """What each key means for a label of this kind."""
    return {**_MEANS[kind], **_KEYS}


class _Screen:
    """What is on the screen: of which answer, from 1, whether with its passages, and which keys are explained."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._number = 0
        self._passages = False
        self._explained: set[Labelled] = set()

    def show(self, number: int, item: Item, n: int) -> None:
        """A statement of an answer to label, after what of its context is not on the screen yet."""
        from rankgate.cli.terminal import show_pages

        if self._number != number:
            self.clear()
            self._number = number
            heading = ["", f"Answer {number:,} of {self._answers:,}"]
            context = [*_lines("Question", item.question), *_lines("Answer", item.answer)]
        else:
            heading = []
            context = []
        kind = item.labelled(n)
        if kind is Labelled.CLAIM and not self._passages:
            self._passages = True
            context += _passages(item)
        titles = {Labelled.CLAIM: f"Claim {n} of {len(item.claims)}", Labelled.RUBRIC: "Criterion"}
        statement = _lines(titles[kind], item.statements[n]) if n else ()
        legend = [] if kind in self._explained else [Pairs([*_keys_of(kind).items()])]
        self._explained.add(kind)
        show_pages([*heading, *context, "", *statement, _QUESTIONS[kind], *legend], in_colour=forces_colour())

    def clear(self) -> None:
        """Show the answer and its passages again."""
        self._number = 0
        self._passages = False

    def explain(self) -> None:
        """Show what the keys mean again."""
        self._explained.clear()


def _passages(item: Item) -> Iterator[str]:
    if not item.passages:
        yield "There is no passage."
    for rank, text in enumerate(item.passages, start=1):
        yield from _lines(f"Passage {rank}", text)


def _lines(title: str, text: str) -> Iterator[str]:
    yield f"{title}:"
    yield from (f"  {line.expandtabs(4)}" for line in text.replace("\r\n", "\n").split("\n"))
