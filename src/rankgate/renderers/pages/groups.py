"""What the questions that got worse have in common: tags, causes and words, and which of them are no accident."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from rankgate.statistics.chance import hypergeometric_tail

KINDS = ("tag", "cause", "word")
LONGEST = 300  # characters of a question in which words are looked for
LEAST_LETTERS, LEAST_SHARED = 3, 3  # of a word, and questions that got worse and share it
LEVEL = 0.01  # by which a group stands out, shared by all groups of its kind
# Scripts that put no spaces between words: a piece of them would be no word.
_UNSPACED = re.compile(
    r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aad\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\ua9e0-\ua9ff\uaa60-\uaadf"
    r"\U00020000-\U0003ffff]+"
)
_ASCII_WORD = re.compile(f"[a-z]{{{LEAST_LETTERS},}}")


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


def groups_of(
    texts: Sequence[str],
    tagged: Sequence[Sequence[int]],
    tags: Sequence[str],
    causes: Sequence[str],
    ways: Sequence[int | None],
) -> list[Group]:
    """What questions that got worse share: tags (beyond chance first) and causes by losses, then words by chance.

    Of a tag's or a word's questions a larger part got worse than of all; `LEAST_SHARED` or more of them have the word.
    """
    compared = [row for row, way in enumerate(ways) if way is not None]
    lost, total = {row for row in compared if ways[row] == -1}, len(compared)
    if not lost:
        return []
    lost_words = Counter(word for row in lost for word in words_of(texts[row][:LONGEST]))
    members = defaultdict[tuple[str, str], list[int]](list)
    for row in compared:
        words = [word for word in words_of(texts[row][:LONGEST]) if lost_words[word] >= LEAST_SHARED]
        named = [tags[number] for number in tagged[row]]
        for kind, names in (("tag", named), ("cause", [causes[row]] * (row in lost)), ("word", words)):
            for name in {*names}:
                members[kind, name].append(row)
    hits = {each: len(lost.intersection(rows)) for each, rows in members.items()}
    counted = [each for each, count in hits.items() if count]
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
    """The words between spaces without regard to case, of at least three letters, or as many jamo."""
    if text.isascii():  # the same, many times as fast
        return {*_ASCII_WORD.findall(text.lower())}
    folded = unicodedata.normalize("NFKC", text).casefold()
    runs = "".join(char if unicodedata.category(char)[0] in "LM" else " " for char in _UNSPACED.sub(" ", folded))
    return {word for word in map(_from_a_letter, runs.split()) if _letters(word) >= LEAST_LETTERS}


def _from_a_letter(run: str) -> str:
    """The run without marks at its start, which belong to what is not in it."""
    start = next((place for place, char in enumerate(run) if unicodedata.category(char)[0] == "L"), len(run))
    return run[start:]


def _letters(word: str) -> int:
    return sum(unicodedata.category(char)[0] == "L" for char in unicodedata.normalize("NFD", word))
