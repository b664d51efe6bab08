"""Labels of people, typed at a terminal or written into a sheet: each is on the disk before the next question."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from rankgate.cli.terminal import show_pages
from rankgate.errors import bad_input
from rankgate.judge import label_files
from rankgate.judge.label_files import Label, LabelKey, Labels
from rankgate.judge.sample import Item, Labelled
from rankgate.renderers.blocks import Pairs

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


def take_labels(arguments: argparse.Namespace, items: Sequence[Item], path: str) -> Labels:
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


def due(item: Item, labels: Labels, by: str) -> Sequence[int]:
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
        if position in skipped or (by, item.key, n) in labels or n not in due(item, labels, by):
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
        show_pages([*heading, *context, "", *statement, _QUESTIONS[kind], *legend])

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
