"""The questions of a page: a head that its script reads at once, and blocks of lists that it opens when needed.

Groups are what those that got worse have in common: tags, causes and words, and which of them are no accident.
"""

from __future__ import annotations

import base64
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import count, groupby
from typing import Any

import msgspec

from rankgate.model.details import TEXTS_OF, Cause, Expected, Question, ReportDetails, columns_of_list
from rankgate.model.report import Report
from rankgate.model.values import Unit
from rankgate.renderers.escape import command_line, one_line, plain, shorten, unhidden, without_middle
from rankgate.renderers.phrases import value_or_dash
from rankgate.renderers.view.answers import answers_of
from rankgate.renderers.view.questions import CAUSE_WORDS, cause_clause, documents_to_show
from rankgate.statistics.binomial import hypergeometric_tail

MAX_NAME, MAX_QUESTION, MAX_PASSAGE = 300, 300, 600  # characters of an id or a tag, a question, a passage
MAX_PASSAGES = 10_000_000  # bytes of all passages, as UTF-8, before they are compressed
MAX_EXPECTED, MAX_GROUPS = 40, 12  # relevant documents of a question, and groups of each kind
BLOCK = 100  # questions
COMPRESSION = 5  # of 9
_COLUMNS = ("id", "question", "tagged", "cause", "way", "change", "value", "said")

DEFAULT_SPREAD = "recall@5"  # whose distribution is shown where no recall leads

Pair = tuple[float | None, float | None]  # a value before and now

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


class PageQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """What the script of a page reads, and what stands above the list; `causes` are those that some question has.

    `spread` are the values before and now of the metric whose distribution is shown.
    """

    head: dict[str, Any]
    blocks: list[str]
    groups: Sequence[Group]
    more_groups: dict[str, int]
    lost: int
    compared: int
    causes: Sequence[tuple[str, str, str]]
    with_passages: int
    notable: bool
    spread: Sequence[Pair]

    @property
    def count(self) -> int:
        """How many questions there are."""
        return len(self.head["id"])


def page_questions(details: ReportDetails, report: Report) -> PageQuestions:
    """The worst question first; report.js explains the columns of the head."""
    words = [(each.value, CAUSE_WORDS[each][0], cause_clause(each, None, compared=True)) for each in CAUSE_WORDS]
    head = _Head(details)
    writer = _Blocks(details)
    texts: list[str] = []
    blocks: list[str] = []
    for start in range(0, len(details.order), BLOCK):  # all questions at once would take 400 bytes each
        questions = [details.questions[row] for row in details.order[start : start + BLOCK]]
        for question in questions:
            head.add(question)
            texts.append(question.question or "")
        blocks.append(writer.block(questions))
    columns, value_texts = head.finished()
    tags = [*head.tags]
    ways = columns["way"]
    causes = [words[number][1] for number in columns["cause"]]
    groups = groups_of(texts, columns["tagged"], tags, causes, ways)
    by_kind = {kind: [*each] for kind, each in groupby(groups, key=lambda group: group.kind)}
    kept = [group for each in by_kind.values() for group in each[:MAX_GROUPS]]
    number_of = {name: number for number, name in enumerate(columns["id"])}
    answers = answers_of(report, len(details.order))
    known = {listed_name(each.id.raw): [each.clause, *map(plain, each.claims)] for each in answers}
    return PageQuestions(
        head={
            **columns,
            "tags": tags,
            "values": value_texts,
            "k": details.k,
            "ks": head.own_cutoffs,
            "depth": details.depth,
            "lower": details.lower,
            "both": head.compares,
            "causes": words,
            "claims": {number_of[name]: claims for name, claims in known.items() if name in number_of},
            "words": {group.name: group.rows for group in kept if group.kind == "word"},
            "explain": _explain(report),
            "passages": writer.with_passages,
            "block": BLOCK,
        },
        blocks=blocks,
        groups=kept,
        more_groups={kind: len(each) - MAX_GROUPS for kind, each in by_kind.items()},
        lost=ways.count(-1),
        compared=len(ways) - ways.count(None),
        causes=[words[number] for number in sorted({*columns["cause"]})],
        with_passages=writer.with_passages,
        notable=head.notable,
        spread=head.spread,
    )


class _Head:
    """The columns of the head, a value a question in each, as questions are added; and what holds of all of them."""

    def __init__(self, details: ReportDetails) -> None:
        self._details = details
        self._measure = next((each for each in details.measures if each.name == details.leading), None)
        self._spread_metric = metric_of(details)
        self._cause_numbers = {cause: number for number, cause in enumerate(CAUSE_WORDS)}
        self._pairs = defaultdict[Pair, int](count().__next__)
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self.tags = defaultdict[str, int](count().__next__)  # numbers of tags
        self.own_cutoffs: dict[int, int] = {}  # of the questions whose k is not that of the details
        self.compares = False  # whether a question is in the baseline
        self.notable = False  # whether a question misses something or moved
        self.spread: list[Pair] = []

    def add(self, question: Question) -> None:
        """The next question."""
        columns = self._columns
        measure = self._measure
        before, now = question.values.get(measure.name, (None, None)) if measure else (None, None)
        compared = question.before is not None
        moved = self._details.moved(question)
        self.compares |= compared
        self.notable |= question.cause not in (Cause.FINE, Cause.NOTHING_RELEVANT) or moved != (0, 0)
        k = self._details.first(question)
        if k != self._details.k:
            self.own_cutoffs[len(columns["id"])] = k
        if self._spread_metric in question.values:
            self.spread.append(question.values[self._spread_metric])
        columns["id"].append(listed_name(question.query_id))
        columns["question"].append(one_line(question.question or "", MAX_QUESTION))
        columns["tagged"].append([self.tags[listed_name(tag)] for tag in dict.fromkeys(question.tags)])
        columns["cause"].append(self._cause_numbers[question.cause])
        way = (moved > (0, 0)) - (moved < (0, 0))
        columns["way"].append(way if compared and question.expected else None)
        columns["change"].append(None if before is None or now is None else float(f"{moved[0]:.6g}"))
        columns["value"].append(None if now is None else float(f"{now:.6g}"))
        columns["said"].append(self._pairs[before, now] if measure else None)

    def finished(self) -> tuple[dict[str, list[Any]], list[str]]:
        """The columns, and the texts of values, which a column names by their numbers."""
        if self._measure is None:
            return self._columns, []
        texts, numbers = _as_texts(self._pairs, self._measure.unit, both=self.compares)
        return {**self._columns, "said": [numbers[pair] for pair in self._columns["said"]]}, texts


def metric_of(details: ReportDetails) -> str:
    """The metric whose distribution is shown: the leading one where that is a recall, else the usual one."""
    leading = details.leading or ""
    return leading if leading.startswith("recall@") else DEFAULT_SPREAD


def _as_texts(pairs: Iterable[Pair], unit: Unit, *, both: bool) -> tuple[list[str], list[int]]:
    """The different texts of values before and now, or of those now alone, and by pair the number of its text."""
    numbers = defaultdict[tuple[str, str], int](count().__next__)
    places = [numbers[value_or_dash(before, unit), value_or_dash(now, unit)] for before, now in pairs]
    return [f"{before} → {now}" if both else now for before, now in numbers], places


class _Blocks:
    """Writes blocks one after the other, with the passages of the worst questions as long as there is room for them."""

    def __init__(self, details: ReportDetails) -> None:
        self._details = details
        self._left = MAX_PASSAGES if any(details.texts) else -1
        self.with_passages = 0  # questions

    def block(self, questions: Sequence[Question]) -> str:
        """Of so many questions what stands below the head: deflated JSON in base64."""
        texts = defaultdict[str, int](count().__next__)
        columns: dict[str, list[Any]] = {"expected": [], "relevant": [], "lists": [], "gains": [], "passages": []}
        for question in questions:
            lead, rest = documents_to_show(question.expected, self._details.first(question), MAX_EXPECTED)
            expected = [*lead, *rest][:MAX_EXPECTED]
            lists = [None if items is None else columns_of_list(items) for items in (question.before, question.now)]
            ids = [None if items is None else items[0] for items in lists]
            relevant, passages = self._passages(expected, ids, texts)
            columns["expected"].append(
                [
                    (listed_name(each.id), each.gain, each.before, each.after, number)
                    for each, number in zip(expected, relevant, strict=True)
                ]
            )
            columns["relevant"].append(len(question.expected))
            columns["lists"].append([None if names is None else _names(names) for names in ids])
            columns["gains"].append([None if items is None else items[1] for items in lists])
            columns["passages"].append(passages)
        packed = zlib.compress(msgspec.json.encode({**columns, "texts": [*texts]}), COMPRESSION)
        return base64.b64encode(packed).decode()

    def _passages(
        self, expected: Sequence[Expected], lists: Sequence[Sequence[str] | None], texts: defaultdict[str, int]
    ) -> tuple[Sequence[int | None], list[list[int | None]] | None]:
        """The numbers of the passages of relevant documents and of both lists, as far as there is room."""
        nowhere = [None] * len(expected)
        if self._left < 0 or self.with_passages == TEXTS_OF:
            return nowhere, None
        before, now = self._details.texts
        relevant = [_passage(now.get(each.id) or before.get(each.id, "")) for each in expected]
        shown = [
            [_passage(by_id.get(name, "")) for name in names or ()]
            for names, by_id in zip(lists, (before, now), strict=True)
        ]
        new = {*shown[0], *shown[1], *relevant} - texts.keys() - {""}
        self._left -= sum(len(text.encode("utf-8", "replace")) for text in new)
        if self._left < 0:
            return nowhere, None
        self.with_passages += 1
        numbers = [texts[text] if text else None for text in relevant]
        return numbers, [[texts[text] if text else None for text in passages] for passages in shown]


def _explain(report: Report) -> str:
    """The options of the command that explains a question: those of the next command if it does, else the check's."""
    words = report.conclusion.next
    if words[1:2] == ["explain"]:
        return command_line(words[2:-2] if words[-2] == "--" else words[3:])
    source = report.provenance
    given = report.call.options if report.call else {}
    run = source.run.path if source.run else None
    named = {"criteria": source.criteria, "run": run, "gold": given.get("gold"), "baseline": given.get("baseline")}
    options: list[str] = []
    for name, value in named.items():
        if value:
            options += [f"--{name}", value]
    return command_line(options)


def _passage(text: str) -> str:
    lines = text[: MAX_PASSAGE + 1].expandtabs(4).splitlines()
    return shorten("\n".join(map(unhidden, lines)), MAX_PASSAGE)


def _names(ids: list[str]) -> list[str]:
    """`listed_name` of each; most lists are as they are."""
    letters = "".join(ids)
    plain_ids = letters.isascii() and letters.isprintable() and max(map(len, ids), default=0) <= MAX_NAME
    return ids if plain_ids else list(map(listed_name, ids))


def listed_name(text: str) -> str:
    """An id or a tag as page and address have it: nothing hidden, and of a very long one both ends."""
    return without_middle(unhidden(text), MAX_NAME)


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
    lost = {row for row in compared if ways[row] == -1}
    total = len(compared)
    if not lost:
        return []
    lost_words = Counter(word for row in lost for word in words_of(texts[row][:LONGEST]))
    members = defaultdict[tuple[str, str], list[int]](list)  # rows by kind and name
    for row in compared:
        for tag in {tags[number] for number in tagged[row]}:
            members["tag", tag].append(row)
        if row in lost:
            members["cause", causes[row]].append(row)
        for word in words_of(texts[row][:LONGEST]):
            if lost_words[word] >= LEAST_SHARED:
                members["word", word].append(row)
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
    start = next((index for index, char in enumerate(run) if unicodedata.category(char)[0] == "L"), len(run))
    return run[start:]


def _letters(word: str) -> int:
    return sum(unicodedata.category(char)[0] == "L" for char in unicodedata.normalize("NFD", word))
