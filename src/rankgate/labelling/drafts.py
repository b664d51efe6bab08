"""Questions drafted from documents without a model: what stands under a heading answers it, and a choice by hash."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import msgspec

from rankgate.metrics.texts import folded, words

T = TypeVar("T")
MAX_PASSAGE = 600  # code points, about 100 words of English: what a small chunk holds
MIN_LETTERS = 12  # of a passage, letters and digits; less answers nothing
MAX_QUESTION = 200
_LOWEST = 7  # the level of a question, beneath any heading
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HASHES = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_RULE = re.compile(r"([=\-~^\"'+#*.:_])\1+[ \t]*$")  # beneath a line, in Markdown and reStructuredText
_TAGGED = re.compile(r"\s*(?:<details\b[^>]*>\s*)?<(summary|h[1-6])\b[^>]*>(.+?)</\1\s*>", re.IGNORECASE)
_TAGS_ONLY = re.compile(r"\s*(?:</?(?:details|div|section|p|br)\b[^>]*>\s*)+$", re.IGNORECASE)
_LABEL = re.compile(r"\s*[*_]*(\w{1,12})\s?\d*[:\uff1a][*_]*\s*")  # "Q:", "Frage 3:", "**A:**"
_Q = {"q", "question", "faq"}
_CLOSING = r"[\"'\u201d\u2019\xbb)\]\u300d\u300f\uff09*_]*"
# Signs of a question in any script: in Greek a semicolon, in Armenian within its last word, in Japanese a syllable.
_ASKS = (
    r"[?\uff1f\u061f\u2047\u037e\u1367\ua60f\u2cfa]|[\u0370-\u03ff\u1f00-\u1fff];|\u055e\w*[.:\u0589]?|\u304b\u3002?"
)
_QUESTION = re.compile(f"(?:{_ASKS}){_CLOSING}$")
_END = re.compile(
    rf"[.!?\u2026\u0964\u0965\u06d4\u061f\u1362]{_CLOSING}(?=\s)|[\u3002\uff01\uff1f\uff61]{_CLOSING}|\n[ \t]*\n"
)
_BLANK = re.compile(r"\s*")
_OPENING = re.compile(r"(?:[-*+>]\s+|\d+(?:\.\d+)*[.)]\s+)+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)  # Thai to Han


class Left(Enum):
    """Why a passage or a question is left out."""

    NO_QUESTION = "no_question"
    SAME_HEADING = "same_heading"
    SAME_TEXT = "same_text"
    COPIED = "copied"
    ASKED_TWICE = "asked_twice"


class Passage(msgspec.Struct, frozen=True):
    """A part of a document's text, in code points, and the headings under which it stands, the last one first.

    `by` says where the first of them comes from; None of a passage that does not begin its section.
    """

    doc: str
    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()
    by: str | None = None

    @property
    def span(self) -> dict[str, Any]:
        """As gold sets have it."""
        return {"doc": self.doc, "start": self.start, "end": self.end, "text": self.text}


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the passages that answer it, or about which it asks what they do not answer."""

    question: str
    passages: tuple[Passage, ...]
    by: str
    no_answer: bool = False

    @property
    def key(self) -> str:
        """SHA-256 of the texts, wherever they stand in their documents."""
        return _hash([self.question, self.no_answer, *([each.doc, each.text] for each in self.passages)])


class Drafted(NamedTuple):
    """Questions in the order in which they are chosen, and how many were left out, by reason."""

    drafts: list[Draft]
    left: Counter[Left]


def passages_of(doc: str, title: str, text: str) -> Iterator[Passage]:
    """What stands under each heading, in parts of whole sentences of at most `MAX_PASSAGE` code points.

    A heading is one of Markdown, HTML or reStructuredText, the summary of `<details>`, an entry `Q:`, or a line of its
    own that is a question in any script; what stands above the first one stands under the title.
    """
    parents: list[tuple[int, str]] = []
    for level, heading, by, start, end in _sections(title, text):
        parents = [each for each in parents if each[0] < level] + [(level, heading)]
        above = [name for _, name in reversed(parents)]
        headings = tuple(dict.fromkeys(filter(None, [*above, _plain(title)])))
        for number, (at, to) in enumerate(_parts(text, start, end, answer=by == "faq")):
            if sum(map(str.isalnum, text[at:to])) >= MIN_LETTERS:
                yield Passage(doc, at, to, text[at:to], headings, None if number else by)


def in_order(found: Iterable[T], doc: Callable[[T], str], key: Callable[[T], tuple[Any, ...]]) -> list[T]:
    """By content alone, and spread: first one of each document, then a second one of each, and so on.

    Within a document by `key`, and of each turn by its last part, a hash. So a longer choice begins with the shorter.
    """
    turns, rows = Counter[str](), list[tuple[int, Any, T]]()
    for each in sorted(found, key=key):
        rows.append((turns[doc(each)], key(each)[-1], each))
        turns[doc(each)] += 1
    return [row[-1] for row in sorted(rows, key=lambda row: row[:2])]


def by_headings(passages: Sequence[Passage]) -> Drafted:
    """A question for each section: its heading as it is, questions before others, with the title where it needs one.

    What stands under the same words in several places is left out, and so is a passage that stands in several.
    """
    left: Counter[Left] = Counter()
    named = [each for each in passages if each.by and each.headings]
    names = Counter(folded(each.headings[0]) for each in named)
    texts = Counter(folded(each.text) for each in passages)
    full = Counter(folded(_full(each)) for each in named)
    drafts: list[Draft] = []
    for each in named:
        unique = names[folded(each.headings[0])] == 1
        question = each.headings[0] if unique else _full(each)
        if len(question) > MAX_QUESTION or not any(map(str.isalpha, question)):
            left[Left.NO_QUESTION] += 1
        elif not unique and (full[folded(question)] > 1 or question == each.headings[0]):
            left[Left.SAME_HEADING] += 1
        elif texts[folded(each.text)] > 1:
            left[Left.SAME_TEXT] += 1
        else:
            drafts.append(Draft(question=question, passages=(each,), by=str(each.by)))
    order = in_order(drafts, lambda each: each.passages[0].doc, lambda each: (not asks(each.question), each.key))
    return Drafted(order, left)


def samples_of(drafts: Sequence[Draft]) -> list[dict[str, Any]]:
    """Drafts as samples of a gold set; those that share a passage are of one cluster."""
    shared = Counter(each.passages[0] for each in drafts)
    samples: list[dict[str, Any]] = []
    for each in drafts:
        spans, first = [passage.span for passage in each.passages], each.passages[0]
        about: dict[str, Any] = {"draft": True, "drafted_by": each.by}
        about |= {"no_answer": True, "about": spans} if each.no_answer else {}
        about |= {"cluster": f"p-{_hash([first.doc, first.text])[:12]}"} if shared[first] > 1 else {}
        expected = [] if each.no_answer else spans
        sample = {"id": f"d-{each.key[:12]}", "input": {"question": each.question}}
        samples.append({**sample, "expected_output": expected, "metadata": about})
    return samples


def copied_share(question: str, passages: Iterable[Passage]) -> float:
    """Share of the question's distinct words that a passage has too; characters, where no blanks part words."""
    own, theirs = _words(question), set[str]().union(*(_words(each.text) for each in passages))
    return len(own & theirs) / len(own) if own else 0.0


def related(passages: Sequence[Passage]) -> Iterator[tuple[Passage, Passage]]:
    """Pairs that may have something to do with each other: they share a word that few others have, each in one pair."""
    places: dict[str, list[int]] = {}
    for number, each in enumerate(passages):
        for word in sorted(_words(each.text)):
            places.setdefault(word, []).append(number)
    used: set[int] = set()
    for word in sorted((word for word in places if len(places[word]) > 1), key=lambda word: (len(places[word]), word)):
        free = [number for number in places[word] if number not in used][:2]
        if len(free) > 1:
            used.update(free)
            yield passages[free[0]], passages[free[1]]


def asks(text: str) -> bool:
    """Whether it is a question by its sign."""
    return _QUESTION.search(text) is not None


def _words(text: str) -> set[str]:
    return {sign for word in words(text) for sign in (word if _UNSPACED.search(word) else (word,))}


def _full(passage: Passage) -> str:
    return ": ".join(dict.fromkeys([passage.headings[-1], passage.headings[0]]))


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()


def _sections(title: str, text: str) -> Iterator[tuple[int, str, str, int, int]]:
    """Level, heading, what kind of one, and the bounds of what stands under it, up to the next heading of any level."""
    front = _FRONT_MATTER.match(text)
    at = begin = front.end() if front else 0
    level, heading, by, fence, before = 0, _plain(title), "title", "", ""
    lines = text[at:].splitlines(keepends=True)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        mark = _FENCE.match(line)
        found = None if fence or mark else _heading(line.rstrip(), before.strip(), following.rstrip())
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        empty = not fence and (_TAGS_ONLY.match(line) or _RULE.fullmatch(line.rstrip()))
        if not found and empty and begin < at and "</details" in line.casefold():
            found = (max(level - 1, 0), "", "")  # what follows is no longer of the summary
        if found:
            yield level, heading, by, begin, at
            level, heading, by = found
        at += len(line)
        begin = at if found or (empty and _next(text, begin, at) >= at - len(line)) else begin
        before = "" if found else line
    yield level, heading, by, begin, at


def _heading(line: str, before: str, following: str) -> tuple[int, str, str] | None:
    """Level, words and kind of the heading that a line is: marked, underlined, or a question on a line of its own."""
    if found := _HASHES.match(line):
        return len(found[1]), _plain(found[2]), "heading"
    if found := _TAGGED.match(line):
        return int(found[1][1]) if found[1][1].isdigit() else _LOWEST, _plain(found[2]), "heading"
    bare = _OPENING.sub("", line.strip())
    if before or not bare or line.startswith(("    ", "\t", "|", ">")):
        label = _LABEL.match(bare)
        return (_LOWEST, _plain(bare[label.end() :]), "faq") if label and label[1].casefold() in _Q else None
    rule = _RULE.fullmatch(following)
    if rule and (rule[1] in "=-" or len(following) >= len(bare) > 1):
        return 1 if rule[1] == "=" else 2, _plain(line), "heading"
    label = _LABEL.match(bare)
    question = _plain(bare[label.end() :] if label else bare)
    if label and label[1].casefold() in _Q:
        return _LOWEST, question, "faq"
    alone = len(question) <= MAX_QUESTION and asks(question) and not _END.search(question[:-1])
    return (_LOWEST, question, "faq" if label else "heading") if alone else None


def _plain(heading: str) -> str:
    """A heading without markup, an anchor or its number."""
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", heading)
    text = html.unescape(re.sub(r"<[^<>]+>|\s*\{[#.:][^}]*\}\s*$", "", text))
    text = re.sub(r"\*+|`+|(?<!\w)_+|_+(?!\w)|\xb6|\u200b", "", text)
    return " ".join(_OPENING.sub("", text.strip(), count=1).split()).strip("# ")


def _parts(text: str, start: int, end: int, *, answer: bool) -> Iterator[tuple[int, int]]:
    """Bounds of whole sentences, as many as fit; of one that is too long by itself, of whole words."""
    if answer and (label := _LABEL.match(text, start, end)):
        start = label.end()
    while (start := _next(text, start, end)) < end:
        last = to = min(start + MAX_PASSAGE, end)
        if to < end:
            ends = [each.end() for each in _END.finditer(text, start, last)]
            to = ends[-1] if ends else max(text.rfind(sign, start + 1, last) for sign in " \n\t\u3000")
            to = last if to < 0 else to
        yield start, start + len(text[start:to].rstrip())
        start = to


def _next(text: str, start: int, end: int) -> int:
    """Where the next text begins, without a copy of all that follows."""
    blank = _BLANK.match(text, start, end)
    return blank.end() if blank else start
