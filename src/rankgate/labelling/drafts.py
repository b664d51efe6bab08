"""Questions drafted from documents without a model: what stands under a heading answers it, and a choice by hash."""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import zip_longest
from typing import Any

import msgspec

from rankgate.metrics.texts import folded, words

MAX_PASSAGE = 600  # code points, about 100 words of English: what a small chunk holds
MIN_LETTERS = 12  # of a passage, letters and digits; less answers nothing
MAX_QUESTION = 200
_LONGEST = 2000  # characters of a line or a title that may be a heading
_LOWEST = 7  # the level of a question, beneath any heading
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HASHES = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_RULE = re.compile(r"([=\-~^\"'+#*.:_])\1+[ \t]*$")  # beneath a line, in Markdown and reStructuredText
_DETAILS = re.compile(r"(?:</?details\b[^>]*>\s*)?(?:<summary\b[^>]*>(.+?)</summary\s*>.*)?$", re.IGNORECASE)
_LABEL = re.compile(r"\s*[*_]*(\w{1,12})\s?\d*[:\uff1a][*_]*\s*")  # "Q:", "Frage 3:", "**A:**"
_CLOSING = r"[\"'\u201d\u2019\xbb)\]\u300d\u300f\uff09*_]*"
# Signs of a question in any script: in Greek a semicolon, in Armenian within its last word, in Japanese a syllable.
_SIGNS = r"[?\uff1f\u061f\u2047\u037e\u1367\ua60f]|[\u0370-\u03ff\u1f00-\u1fff];|\u055e\w*+[.:\u0589]?|\u304b\u3002?"
_QUESTION = re.compile(f"(?:{_SIGNS}){_CLOSING}$")
_STOPS = r"[.!?\u2026\u0964\u0965\u06d4\u061f\u1362]"
_END = re.compile(rf"{_STOPS}{_CLOSING}(?=\s)|[\u3002\uff01\uff1f\uff61]{_CLOSING}|\n[ \t]*\n")
_OPENING = re.compile(r"\A(?:[-*+>]\s+|\d+(?:\.\d+)*[.)]\s+)+")
_BLANK = re.compile(r"\s*")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Thai to Han
_WORD = re.compile(f"[{_UNSPACED}]|[^{_UNSPACED}]+")


class Left(Enum):
    """Why a question is left out."""

    NO_WORDS = "no_words"
    AMBIGUOUS = "ambiguous"
    COPIED = "copied"
    TWICE = "twice"


class Passage(msgspec.Struct, frozen=True):
    """A part of a document's text, in code points, and the headings under which it stands, the last one first.

    `by` says where that one comes from; it is empty for a passage that does not begin its section.
    """

    doc: str
    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()
    by: str = ""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the passages that answer it, or which it is about where nothing answers it."""

    question: str = ""
    passages: tuple[Passage, ...]
    by: str = ""
    no_answer: bool = False

    @property
    def key(self) -> str:
        """SHA-256 of the texts, wherever they stand in their documents."""
        return _hash([self.question, self.no_answer, *([each.doc, each.text] for each in self.passages)])


def passages_of(doc: str, title: str, text: str) -> Iterator[Passage]:
    """What stands under each heading, in parts of whole sentences of at most `MAX_PASSAGE` code points.

    A heading is one of Markdown or reStructuredText, a `<summary>`, an entry `Q:`, or a line of its own that is a
    question in any script; what stands above the first one stands under the title.
    """
    parents: list[tuple[int, str]] = []
    title = _plain(title)
    for level, heading, by, start, end in _sections(title, text):
        parents = [*(each for each in parents if each[0] < level), (level, heading)]
        headings = tuple(dict.fromkeys(filter(None, [*(name for _, name in reversed(parents)), title])))
        for number, (at, to) in enumerate(_parts(text, start, end, answer=by == "faq")):
            if sum(map(str.isalnum, text[at:to])) >= MIN_LETTERS:
                yield Passage(doc, at, to, text[at:to], headings, "" if number or not heading else by)


def in_order(drafts: Iterable[Draft]) -> list[Draft]:
    """By content alone, and spread: first one of each document, then a second one of each, and so on.

    Of a document questions come before other headings. A longer choice begins with the shorter one.
    """
    turns, rows = Counter[str](), list[tuple[int, str, Draft]]()
    for each in sorted(drafts, key=lambda each: (not _QUESTION.search(each.question), each.key)):
        rows.append((turns[each.passages[0].doc], each.key, each))
        turns[each.passages[0].doc] += 1
    return [row[-1] for row in sorted(rows, key=lambda row: row[:2])]


def by_headings(passages: Sequence[Passage]) -> tuple[list[Draft], Counter[Left]]:
    """A question for each section, in their order, and what is left out: the heading, with the title if it needs one.

    What stands under the same words in several places is ambiguous, and so is a passage that stands in several.
    """
    left: Counter[Left] = Counter()
    named = {each: ": ".join(dict.fromkeys([each.headings[-1], each.headings[0]])) for each in passages if each.by}
    names = Counter(name for each, full in named.items() for name in {folded(each.headings[0]), folded(full)})
    texts = Counter(folded(each.text) for each in passages)
    drafts: list[Draft] = []
    for each, full in named.items():
        question = next((name for name in (each.headings[0], full) if names[folded(name)] == 1), "")
        if not question or texts[folded(each.text)] > 1:
            left[Left.AMBIGUOUS] += 1
        elif len(question) > MAX_QUESTION or not any(map(str.isalpha, question)):
            left[Left.NO_WORDS] += 1
        else:
            drafts.append(Draft(question=question, passages=(each,), by=each.by))
    return in_order(drafts), left


def samples_of(drafts: Sequence[Draft]) -> dict[str, dict[str, Any]]:
    """Drafts as samples of a gold set by their id; those that share a passage are of one cluster."""
    shared = Counter(each.passages[0] for each in drafts)
    samples: dict[str, dict[str, Any]] = {}
    for each in drafts:
        spans = [{"doc": part.doc, "start": part.start, "end": part.end, "text": part.text} for part in each.passages]
        about: dict[str, Any] = {"draft": True, "drafted_by": each.by}
        about |= {"no_answer": True, "about": spans} if each.no_answer else {}
        about |= {"cluster": f"p-{_hash(spans[0])[:12]}"} if shared[each.passages[0]] > 1 else {}
        query_id, expected = f"d-{each.key[:12]}", [] if each.no_answer else spans
        asked = {"question": each.question}
        samples[query_id] = {"id": query_id, "input": asked, "expected_output": expected, "metadata": about}
    return samples


def copied_share(question: str, passages: Iterable[Passage]) -> float:
    """Share of the question's distinct words that a passage has too; characters, where no blanks part words."""
    own, theirs = _words(question), set[str]().union(*(_words(each.text) for each in passages))
    return len(own & theirs) / len(own) if own else 0.0


def related(passages: Sequence[Passage]) -> Iterator[Draft]:
    """Pairs of passages that share a word which few others have, each in one pair."""
    places: dict[str, list[Passage]] = {}
    for each in passages:
        for word in _words(each.text):
            places.setdefault(word, []).append(each)
    used: set[Passage] = set()
    for _, own in sorted(places.items(), key=lambda item: (len(item[1]), item[0])):
        pair = tuple([each for each in own if each not in used][:2])
        if len(pair) > 1:
            used.update(pair)
            yield Draft(passages=pair)


def _words(text: str) -> set[str]:
    return {part for word in words(text) for part in _WORD.findall(word)}


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _sections(title: str, text: str) -> Iterator[tuple[int, str, str, int, int]]:
    """Level, heading, what kind of one, and the bounds of what stands under it, up to the next heading of any level."""
    front = _FRONT_MATTER.match(text)
    at = begin = front.end() if front else 0
    level, heading, by, fence, before = 0, title, "title", "", ""
    lines = text[at:].splitlines(keepends=True)
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        mark = _FENCE.match(line)
        found = None if fence or mark else _heading(line.rstrip(), before.strip(), following.rstrip())
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if found:
            yield level, heading, by, begin, at
            level, heading, by = found
        underline = begin == at and _RULE.fullmatch(line.rstrip())
        at += len(line)
        begin = at if found or underline else begin
        before = "" if found else line
    yield level, heading, by, begin, at


def _heading(line: str, before: str, following: str) -> tuple[int, str, str] | None:
    """Level, words and kind of the heading that a line is: marked, underlined, or a question on a line of its own."""
    if len(line) > _LONGEST:
        return None
    if found := _HASHES.match(line):
        return len(found[1]), _plain(found[2].rstrip("# \t")), "heading"
    if line and (found := _DETAILS.match(line.strip())):
        return _LOWEST, _plain(found[1] or ""), "heading"
    bare, label = _OPENING.sub("", line.strip()), _LABEL.match(_OPENING.sub("", line.strip()))
    question = _plain(bare[label.end() :] if label else bare)
    prose = before or not question or line.startswith(("    ", "\t", "|", ">"))
    if not prose and (rule := _RULE.fullmatch(following)) and (rule[1] in "=-" or len(following) >= len(bare) > 1):
        return 1 if rule[1] == "=" else 2, _plain(line), "heading"
    alone = not prose and _QUESTION.search(question) and not _END.search(question[:-1])
    marked = label and label[1].casefold() in {"q", "question"} and question
    return (_LOWEST, question, "faq" if label else "heading") if alone or marked else None


def _plain(heading: str) -> str:
    """A heading without markup, an anchor or its number; empty where it is too long. Linear in its length."""
    if len(heading) > _LONGEST:
        return ""
    text = re.sub(r"!?\[([^\[\]]*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])", r"\1", heading)
    text = html.unescape(re.sub(r"<[^<>]+>|\{[#.:][^{}]*\}\s*$", "", text))
    text = re.sub(r"\*+|`+|(?<!\w)_+|(?<!_)_+(?!\w)|\xb6|\u200b", "", text)
    return " ".join(_OPENING.sub("", text.strip(), count=1).split()).strip("# ")


def _parts(text: str, start: int, end: int, *, answer: bool) -> Iterator[tuple[int, int]]:
    """Bounds of whole sentences, as many as fit; of one that is too long by itself, of whole words."""
    if answer and (label := _LABEL.match(text, start, end)):
        start = label.end()
    while (blank := _BLANK.match(text, start, end)) and (start := blank.end()) < end:
        to = min(start + MAX_PASSAGE, end)
        if to < end:
            ends = [each.end() for each in _END.finditer(text, start, to)]
            to = ends[-1] if ends else max(text.rfind(sign, start + 1, to) for sign in " \n\t\u3000")
            to = start + MAX_PASSAGE if to < 0 else to
        yield start, start + len(text[start:to].rstrip())
        start = to
