"""The questions of a page: one JSON that its script draws, and what those that got worse have in common."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count, groupby
from typing import Any

import msgspec

from rankgate.model.details import TEXTS_OF, Cause, Question, ReportDetails, worst_first
from rankgate.model.report import Report
from rankgate.model.tags import failing
from rankgate.model.values import Unit
from rankgate.renderers.escape import one_line, shorten, unhidden
from rankgate.renderers.pages.segments import leading_measure
from rankgate.renderers.phrases import CAUSE_WORDS, telling, value_or_dash
from rankgate.statistics.chance import hypergeometric_tail

MAX_NAME, MAX_QUESTION, MAX_PASSAGE = 300, 300, 600  # characters of an id or a tag, a question, a passage
MAX_PASSAGES = 1_000_000  # bytes of all passages, as UTF-8
MAX_EXPECTED, MAX_GROUPS = 40, 12  # relevant documents of a question, and groups of each kind
KINDS = ("tag", "cause", "word")
LEAST_LETTERS, LEAST_SHARED = 3, 3  # of a word, and questions that got worse and share it
LEVEL = 0.01  # by which a group stands out, shared by all groups of its kind
# Scripts that put no spaces between words, and Hangul, whose words end in particles.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
)


class Group(msgspec.Struct, frozen=True):
    """Compared questions that share a `tag`, `cause` or `word`, of which `lost` got worse; `rows` are those of a word.

    `stands_out`: so many of all losses fall on it by chance with a probability below `LEVEL`, divided by the groups of
    its kind that were counted (hypergeometric tail).
    """

    kind: str
    name: str
    lost: int
    questions: int
    rows: Sequence[int]
    stands_out: bool


def questions_data(details: ReportDetails, report: Report | None = None) -> dict[str, Any]:
    """What the script reads, the worst question first; those of segments that a gate of the report fails before equals.

    Lists have an entry a question but for `names`, `tags`, `texts`, `causes` and `groups`; report.js explains them.
    """
    order = worst_first(details, failing(report.gates if report else ()))
    measure, causes = leading_measure(details), list(CAUSE_WORDS)
    metric, unit = (measure.name, measure.unit) if measure else ("", Unit.SCORE)
    both = any(question.before is not None for question in order)
    names, tags, texts = (defaultdict[str, int](count().__next__) for _ in range(3))
    columns, room = defaultdict[str, list[Any]](list), MAX_PASSAGES if any(details.texts) else -1
    for place, question in enumerate(order):
        moved, sides = details.moved(question), [*zip((question.before, question.now), details.texts, strict=True)]
        values = question.values.get(metric, (None, None))
        lead, rest = telling(question.expected, k := details.first(question), MAX_EXPECTED)
        expected = [(names[listed_name(each.id)], each.gain, each.before, each.after) for each in [*lead, *rest]]
        row = {
            "id": listed_name(question.query_id),
            "question": one_line(question.question or "", MAX_QUESTION),
            "tagged": [tags[listed_name(tag)] for tag in dict.fromkeys(question.tags)],
            "cause": causes.index(question.cause),
            "way": (moved > (0, 0)) - (moved < (0, 0)) if question.before is not None and expected else None,
            "change": None if None in values else float(f"{moved[0]:.6g}"),
            "value": None if values[1] is None else float(f"{values[1]:.6g}"),
            "said": " → ".join(value_or_dash(value, unit) for value in values[not both :]) if metric else "",
            "expected": expected[:MAX_EXPECTED],
            "relevant": len(expected),
            "notable": question.cause not in (Cause.FINE, Cause.NOTHING_RELEVANT) or moved != (0, 0),
            "k": k,
            "lists": [side and [names[listed_name(item.id)] for item in side] for side, _ in sides],
            "gains": [side and [item.gain for item in side] for side, _ in sides],
        }
        known = [[_passage(by_id.get(each.id, "")) for each in side or ()] for side, by_id in sides]
        room -= sum(len(text.encode()) for text in {*known[0], *known[1]} - texts.keys())
        if room >= 0 and place < TEXTS_OF:
            row["passages"] = [[texts[text] if text else None for text in side] for side in known]
        for key, value in row.items():
            columns[key].append(value)
    ways = columns["way"]
    shared = {"names": [*names], "tags": [*tags], "texts": [*texts], "lower": details.lower, "depth": details.depth}
    found = {kind: [*each] for kind, each in groupby(groups_of(order, ways), key=lambda group: group.kind)}
    more = {kind: len(each) - MAX_GROUPS for kind, each in found.items()}
    kept = [group for each in found.values() for group in each[:MAX_GROUPS]]
    groups = {"groups": kept, "more_groups": more, "lost": ways.count(-1), "compared": len(ways) - ways.count(None)}
    words = [(each.value, *CAUSE_WORDS[each]) for each in causes]
    return {**columns, **shared, **groups, "both": both, "causes": words}


def _passage(text: str) -> str:
    return shorten("\n".join(map(unhidden, text[: MAX_PASSAGE + 1].expandtabs(4).splitlines())), MAX_PASSAGE)


def listed_name(text: str) -> str:
    """An id or a tag as page and address have it: nothing hidden, and of a very long one both ends."""
    shown, half = unhidden(text), MAX_NAME // 2
    return shown if len(shown) <= MAX_NAME else f"{shown[:half]}…{shown[1 - half :]}"


def groups_of(order: Sequence[Question], ways: Sequence[int | None]) -> list[Group]:
    """What questions that got worse share: tags (beyond chance first) and causes by losses, then words by chance.

    Of a tag's or a word's questions a larger part got worse than of all; `LEAST_SHARED` or more of them have the word.
    """
    compared = [row for row, way in enumerate(ways) if way is not None]
    lost, total = {row for row in compared if ways[row] == -1}, len(compared)
    members = defaultdict[tuple[str, str], list[int]](list)
    for row in compared:
        words = words_of((order[row].question or "")[:MAX_QUESTION])
        causes = [CAUSE_WORDS[order[row].cause][0]] * (row in lost)
        for kind, names in (("tag", order[row].tags), ("cause", causes), ("word", words)):
            for name in {*map(listed_name, names)}:
                members[kind, name].append(row)
    hits = {each: len(lost.intersection(rows)) for each, rows in members.items()}
    counted = [each for each, count in hits.items() if count >= (LEAST_SHARED if each[0] == "word" else 1)]
    tails = {each: hypergeometric_tail(hits[each], len(lost), len(members[each]), total) for each in counted}
    tested = Counter(kind for kind, _ in counted)
    chance = {each: tails[each] if each[0] == "word" else tails[each] * tested["tag"] >= LEVEL for each in counted}
    counted.sort(key=lambda each: (KINDS.index(each[0]), each[0] != "cause" and chance[each], -hits[each], each[1]))
    return [
        Group(*each, hits[each], len(rows), rows if each[0] == "word" else (), tails[each] * tested[each[0]] < LEVEL)
        for each in counted
        if hits[each] * total > len(rows := members[each]) * len(lost) or each[0] == "cause"
    ]


def words_of(text: str) -> set[str]:
    """The words of a text without regard to case: runs of at least three letters; without spaces, pairs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    letters = "".join(char if unicodedata.category(char)[0] in "LM" else " " for char in folded)
    pairs = {run[at : at + 2] for run in _UNSPACED.findall(letters) for at in range(len(run) - 1)}
    return pairs | {word for word in _UNSPACED.sub(" ", letters).split() if len(word) >= LEAST_LETTERS}
