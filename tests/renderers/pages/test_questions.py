"""The questions of a page as data: their order, their texts and room for these, and what the losses have in common."""

from __future__ import annotations

import math
import random
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.pages.exhibits import LATENCY, details_of, question_of, unpacked
from tests.renderers.reports import RECALL, REPORT
from tests.report_keys import with_keys
from tests.rows import each_row

from rankgate.model.details import TEXTS_OF, Cause, Expected, Listed, Question, ReportDetails
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.renderers.pages.questions import (
    BLOCK,
    LEAST_SHARED,
    LEVEL,
    MAX_EXPECTED,
    MAX_GROUPS,
    MAX_NAME,
    MAX_PASSAGE,
    MAX_PASSAGES,
    Group,
    groups_of,
    page_questions,
    words_of,
)
from rankgate.renderers.pages.report import render_report
from rankgate.renderers.view.questions import CAUSE_WORDS, whereabouts


def questions_data(details: ReportDetails, report: Report = REPORT) -> dict[str, Any]:
    """What the page of these details has of its questions, and what losses share."""
    found = page_questions(details, report)
    data = unpacked(render_report(with_keys(report, details=details)))
    counts = {"groups": found.groups, "more_groups": found.more_groups, "lost": found.lost, "compared": found.compared}
    return {**data, **counts, "notable": found.notable}


def grouped(questions: Sequence[Question], ways: Sequence[int | None]) -> list[Group]:
    """What these share."""
    tags = list(dict.fromkeys(tag for each in questions for tag in each.tags))
    numbers = [[tags.index(tag) for tag in each.tags] for each in questions]
    causes = [CAUSE_WORDS[each.cause][0] for each in questions]
    return groups_of([each.question or "" for each in questions], numbers, tags, causes, ways)


class CountedValues(dict[str, tuple[float | None, float | None]]):
    """The values of a question: how many are alive, and how many were at most."""

    alive = most = 0

    def __init__(self) -> None:
        super().__init__({"recall@5": (1.0, 0.0)})
        CountedValues.alive += 1
        CountedValues.most = max(CountedValues.most, CountedValues.alive)

    def __del__(self) -> None:
        CountedValues.alive -= 1


class BuiltWhenAsked(Sequence[Question]):
    """Questions as a check gives them: each is built when it is asked for."""

    def __len__(self) -> int:
        return 5 * BLOCK

    def __getitem__(self, row: Any) -> Any:
        return replace(question_of(f"q{row}", Cause.GONE), values=CountedValues())


def test_a_page_never_holds_all_of_its_questions() -> None:
    questions = BuiltWhenAsked()
    details = replace(details_of(question_of("a", Cause.GONE)), questions=questions, order=range(len(questions)))
    assert page_questions(details, REPORT).count == 5 * BLOCK
    assert CountedValues.most <= 2 * BLOCK


def test_every_cause_has_words() -> None:
    assert set(CAUSE_WORDS) == set(Cause)
    labels = [label for label, _ in CAUSE_WORDS.values()]
    assert len(set(labels)) == len(labels)


def test_every_question_is_there_and_the_worst_comes_first() -> None:
    found = questions_data(
        details_of(
            question_of("better", Cause.BETTER, 0.0, 1.0),
            question_of("never", Cause.NEVER_FOUND, 0.0, 0.0),
            question_of("fine", Cause.FINE),
            question_of("half", Cause.LOWER, 1.0, 0.5, ranks=(1, 9)),
            question_of("gone", Cause.GONE, 1.0, 0.0, ranks=(1, None)),
            question_of("new", Cause.NEW, None, 0.0),
            question_of("shuffled", Cause.FINE, 1.0, 0.9),
        )
    )
    assert found["id"] == ["gone", "half", "shuffled", "never", "fine", "new", "better"]
    assert found["way"] == [-1, -1, -1, 0, 0, None, 1]
    assert found["change"] == [-1.0, -0.5, -0.1, 0.0, 0.0, None, 1.0]
    assert found["notable"]
    assert (found["lost"], found["compared"], found["both"]) == (3, 6, True)


def test_a_question_that_lost_a_document_got_worse_although_its_value_stayed() -> None:
    """As in the report's own count of the questions that got worse."""
    found = questions_data(
        details_of(
            question_of("left", Cause.LOWER, 1.0, 1.0, ranks=(2, 7)),
            question_of("came", Cause.BETTER, 1.0, 1.0, ranks=(7, 2)),
            question_of("moved", Cause.FINE, 1.0, 1.0, ranks=(2, 4)),
        )
    )
    assert dict(zip(found["id"], found["way"], strict=True)) == {"left": -1, "came": 1, "moved": 0}


def test_questions_of_a_failing_segment_come_before_others_that_lost_as_much() -> None:
    questions = [question_of(each, Cause.GONE, 1.0, 0.0, tags=(each,), ranks=(1, None)) for each in ("a", "b")]
    fails = changed(RECALL, segment="b", verdict=Verdict.FAIL)
    assert questions_data(details_of(*questions))["id"] == ["a", "b"]
    assert questions_data(details_of(*questions, gates=[fails]))["id"] == ["b", "a"]


def test_without_a_baseline_nothing_is_compared_and_the_slowest_come_first() -> None:
    values = {"quick": 5.0, "slow": 90.0, "unknown": None, "usual": 20.0}
    questions = [question_of(name, Cause.NEVER_FOUND, None, now, metric="latency") for name, now in values.items()]
    found = questions_data(details_of(*questions, measure=LATENCY))
    assert found["id"] == ["unknown", "slow", "usual", "quick"]
    assert [found["values"][each] for each in found["said"]] == ["–", "90.0 ms", "20.0 ms", "5.0 ms"]
    assert found["lower"]
    assert (found["both"], found["compared"], found["groups"]) == (False, 0, [])


def test_both_lists_name_their_items_once_and_say_what_the_gold_says_of_them() -> None:
    found = questions_data(details_of(question_of("a", Cause.GONE, 1.0, 0.0, ranks=(1, None))))
    assert found["all_lists"] == [[["right", "other"], ["other", "judged", "right"]]]
    assert found["all_gains"] == [[[1.0, None], [None, 0.0, 2.0]]]
    assert found["all_expected"] == [[("right", 1.0, 1, None, None)]]
    assert found["values"] == ["100.0% → 0.0%"]


@pytest.mark.parametrize("count", [1, BLOCK, BLOCK + 1, 2 * BLOCK + 1])
def test_blocks_hold_a_hundred_questions_each_in_the_order_of_the_page(count: int) -> None:
    questions = [question_of(f"q{n:03}", Cause.GONE, 1.0, n / 1000, ranks=(n % 5 + 1, None)) for n in range(count)]
    found = page_questions(details_of(*questions), REPORT)
    assert len(found.blocks) == -(-count // BLOCK)
    data = questions_data(details_of(*questions))
    ranks = [documents[0][2] for documents in data["all_expected"]]
    assert ranks == [int(query_id[1:]) % 5 + 1 for query_id in data["id"]]


def test_of_very_many_relevant_documents_those_that_left_are_kept_and_the_rest_is_counted() -> None:
    stay = [Expected(id=f"d{n}", gain=1.0, before=1, after=1) for n in range(MAX_EXPECTED + 5)]
    question = replace(
        question_of("a", Cause.GONE), expected=(*stay, Expected(id="left", gain=1.0, before=1, after=None))
    )
    found = questions_data(details_of(question))
    assert (len(found["all_expected"][0]), found["all_relevant"]) == (MAX_EXPECTED, [MAX_EXPECTED + 6])
    assert found["all_expected"][0][0][0] == "left"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        pytest.param("a#b/c%20 ü 🥐", "a#b/c%20 ü 🥐", id="whatever can be seen stays"),
        pytest.param("a\u202eb\u0000\n", "a\\u202eb\\u0000\\u000a", id="what is hidden becomes its code point"),
        pytest.param("two  blanks", "two  blanks", id="two ids that differ in blanks stay two"),
        pytest.param("x" * 400 + "end", "x" * 150 + "…" + "x" * 146 + "end", id="a very long one keeps both ends"),
    ],
)
def test_an_id_as_the_page_and_its_address_have_it(written: str, shown: str) -> None:
    found = questions_data(details_of(question_of(written, Cause.FINE, tags=(written,))))
    assert (found["id"], found["tags"]) == ([shown], [shown])
    assert len(shown) <= MAX_NAME


def with_texts(*questions: Question, before: dict[str, str], now: dict[str, str]) -> ReportDetails:
    return replace(details_of(*questions), texts=(before, now))


def test_a_passage_is_what_its_own_run_says_and_is_there_once() -> None:
    question = question_of("a", Cause.GONE, 1.0, 0.0)
    found = questions_data(
        with_texts(question, before={"right": "old", "other": "same"}, now={"right": "new", "other": "same"})
    )
    assert found["all_passages"][0] == [["old", "same"], ["same", None, "new"]]
    assert found["all_expected"][0][0][4] == "new"


def test_without_texts_there_are_no_passages() -> None:
    found = questions_data(details_of(question_of("a", Cause.GONE)))
    assert found["all_passages"] == [None]
    assert found["passages"] == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("one\r\ntwo\u2028three\tfour", "one\ntwo\nthree   four", id="lines stay lines"),
        pytest.param("a\u202e\u0000\ud800b", "a\\u202e\\u0000\\ud800b", id="bidi, NUL, half a surrogate pair"),
        pytest.param("</script><!--", "</script><!--", id="markup is text"),
        pytest.param("x" * 1_000_000, "x" * (MAX_PASSAGE - 1) + "…", id="a megabyte"),
    ],
)
def test_a_passage_is_shown_with_nothing_hidden_and_cut(text: str, shown: str) -> None:
    found = questions_data(with_texts(question_of("a", Cause.GONE), before={}, now={"right": text}))
    assert found["all_passages"][0][1][2] == shown


def test_passages_end_where_those_of_the_next_question_have_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankgate.renderers.pages.questions.MAX_PASSAGES", 20 * MAX_PASSAGE)
    questions, texts = list[Question](), dict[str, str]()
    for number in range(30):
        listed = (Listed(id=f"d{number}", gain=None),)
        questions.append(replace(question_of(f"q{number:02}", Cause.LOWER, 1.0, number / 100), before=listed, now=()))
        texts[f"d{number}"] = f"{number:\u4e00<{MAX_PASSAGE}}"  # three bytes a letter
    found = questions_data(with_texts(*questions, before=texts, now={}))
    assert found["passages"] == 6
    assert [bool(each) for each in found["all_passages"]] == [True] * 6 + [False] * 24
    assert MAX_PASSAGES > 1_000_000


def test_passages_are_of_the_questions_whose_texts_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankgate.renderers.pages.questions.TEXTS_OF", 3)
    questions = [question_of(f"q{number}", Cause.LOWER, 1.0, number / 10) for number in range(5)]
    found = questions_data(with_texts(*questions, before={"right": "text"}, now={}))
    assert (found["passages"], len(found["id"])) == (3, 5)
    assert TEXTS_OF >= 1_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("How do I pay, e.g. by card?", {"how", "pay", "card"}, id="at least three letters"),
        pytest.param("PAY Straße \uff30\uff21\uff39", {"pay", "strasse"}, id="without regard to case and width"),
        pytest.param("naïve don't x-ray", {"naïve", "don", "ray"}, id="letters and nothing else"),
        pytest.param("iPhone 15の電池", {"iphone"}, id="a script without spaces beside words"),
        pytest.param("1234 !! 5", set(), id="no letters"),
        pytest.param("\u0301abc \u0e31\u0e31\u0e31abc", {"abc"}, id="no word begins with a mark"),
        pytest.param("", set(), id="nothing"),
    ],
)
def test_words(text: str, words: set[str]) -> None:
    assert words_of(text) == words


SCRIPTS = {
    "Latin": ("Wie zahle ich? naïve", {"wie", "zahle", "ich", "naïve"}),
    "Greek": ("πώς πληρώνω", {"πώσ", "πληρώνω"}),
    "Cyrillic": ("как оплатить й", {"как", "оплатить"}),
    "Arabic with marks": ("كَيْفَ أدفع", {"كَيْفَ", "أدفع"}),
    "Hebrew": ("שלום עולם", {"שלום", "עולם"}),
    "Devanagari": ("हिन्दी में", {"हिन्दी"}),
    "Tamil": ("தமிழ் கேள்வி", {"தமிழ்", "கேள்வி"}),
    "Hangul": ("한국어 질문", {"한국어", "질문"}),
    "Thai": ("วิธีชำระเงินคืน", set()),
    "Lao": ("ພາສາລາວ", set()),
    "Khmer": ("ភាសាខ្មែរ", set()),
    "Burmese": ("မြန်မာဘာသာ", set()),
    "Tibetan": ("བོད་སྐད", set()),
    "Chinese": ("东京的天气", set()),
    "Japanese": ("東京都のカメラ", set()),
}


@each_row("script", SCRIPTS)
def test_words_of_every_script_are_whole_or_none(script: str) -> None:
    text, words = SCRIPTS[script]
    assert words_of(text) == words
    assert not [word for word in words_of(text) if unicodedata.category(word[0])[0] == "M"]


def lost_and_kept(
    lost: Sequence[str], kept: Sequence[str], tags: tuple[str, ...] = ()
) -> tuple[list[Question], list[int | None]]:
    made = [question_of(f"q{n}", Cause.GONE, 1.0, 0.0, tags=tags) for n in range(len(lost) + len(kept))]
    texts = [replace(each, question=text) for each, text in zip(made, [*lost, *kept], strict=True)]
    ways: list[int | None] = [*[-1] * len(lost), *[0] * len(kept)]
    return texts, ways


def test_words_that_losses_share_come_by_surprise_and_those_that_all_questions_have_do_not_come() -> None:
    lost = ["what about refund fees"] * 6 + ["what about prices"] * 4
    kept = ["what about prices"] * 30 + ["what about fees"] * 2
    found = grouped(*lost_and_kept(lost, kept))
    assert [(each.name, each.lost, each.questions, each.stands_out) for each in found if each.kind == "word"] == [
        ("refund", 6, 6, True),  # 6 of 6 where 10 of 42 were lost: C(36, 4) / C(42, 10)
        ("fees", 6, 8, True),
    ]
    assert next(each for each in found if each.kind == "word").rows == [0, 1, 2, 3, 4, 5]


def test_a_word_that_two_losses_share_is_none() -> None:
    found = grouped(*lost_and_kept(["refund"] * (LEAST_SHARED - 1) + ["other"], ["prices"] * 9))
    assert not [each for each in found if each.kind == "word"]


def test_tags_come_the_largest_first_and_causes_count_the_losses() -> None:
    questions = [
        *(question_of(f"z{n}", Cause.GONE, 1.0, 0.0, tags=("lang:zh", "all")) for n in range(5)),
        question_of("e", Cause.LOWER, 1.0, 0.5, tags=("lang:en", "all")),
        *(question_of(f"k{n}", Cause.FINE, tags=("lang:en", "all")) for n in range(9)),
        question_of("rare", Cause.GONE, 1.0, 0.0, tags=("rare", "all")),
    ]
    found = grouped(questions, [-1] * 6 + [0] * 9 + [-1])
    assert [(each.kind, each.name, each.lost, each.questions) for each in found if each.kind != "word"] == [
        ("tag", "lang:zh", 5, 5),
        ("tag", "rare", 1, 1),
        ("cause", "gone", 6, 6),
        ("cause", "lower", 1, 1),
    ]


def test_where_all_questions_got_worse_only_causes_say_something() -> None:
    found = grouped(*lost_and_kept(["refund"] * 5, [], tags=("lang:zh",)))
    assert [(each.kind, each.name, each.lost) for each in found] == [("cause", "gone", 5)]


def slow_groups(questions: Sequence[Question], ways: Sequence[int | None]) -> set[tuple[str, str, int, int, bool]]:
    """What the docstrings say, one question and one group after another, with exact fractions."""
    known = [(each, way == -1) for each, way in zip(questions, ways, strict=True) if way is not None]
    total, drawn = len(known), sum(lost for _, lost in known)
    found = set()
    for kind, least in (("tag", 1), ("word", 3)):
        names_of = (lambda each: set(each.tags)) if kind == "tag" else (lambda each: words_of(each.question or ""))
        counted = []
        for name in {name for each, _ in known for name in names_of(each)}:
            having = [lost for each, lost in known if name in names_of(each)]
            if sum(having) >= least:
                counted.append((name, sum(having), len(having)))
        for name, hits, size in counted:
            ways_of = [
                math.comb(size, x) * math.comb(total - size, drawn - x) for x in range(hits, min(size, drawn) + 1)
            ]
            tail = Fraction(sum(ways_of), math.comb(total, drawn))
            if Fraction(hits, size) > Fraction(drawn, total):
                found.add((kind, name, hits, size, tail * len(counted) < Fraction(LEVEL)))
    return found


@given(st.integers(0, 10_000), st.integers(1, 60))
def test_groups_are_those_of_a_slow_count(seed: int, size: int) -> None:
    chance = random.Random(seed)  # noqa: S311 -- a test's data
    vocabulary, tags = ["refund", "card", "fees", "支払", "질문", "where"], ["lang:en", "lang:zh", "topic:a"]
    questions, ways = [], list[int | None]()
    for number in range(size):
        text = " ".join(chance.sample(vocabulary, chance.randint(0, 4)))
        question = question_of(f"q{number}", Cause.GONE, tags=tuple(chance.sample(tags, chance.randint(0, 2))))
        questions.append(replace(question, question=text))
        ways.append(chance.choice([-1, -1 if "card" in text else 0, 0, 1, None]))
    found = {
        (each.kind, each.name, each.lost, each.questions, each.stands_out)
        for each in grouped(questions, ways)
        if each.kind != "cause"
    }
    assert found == slow_groups(questions, ways)


def test_of_very_many_groups_the_foremost_are_kept_and_the_others_counted() -> None:
    questions = [question_of(f"q{n:02d}", Cause.GONE, 1.0, 0.0, tags=(f"t{n:02d}",)) for n in range(MAX_GROUPS + 5)]
    details = details_of(*questions, question_of("k", Cause.FINE))
    found = questions_data(details)
    assert [each.name for each in found["groups"] if each.kind == "tag"] == [f"t{n:02d}" for n in range(MAX_GROUPS)]
    assert found["more_groups"]["tag"] == 5
    assert "<li>and 5 more</li>" in render_report(with_keys(REPORT, details=details))


def test_a_tag_beyond_chance_comes_before_one_that_lost_more_by_its_size() -> None:
    lost = [question_of(f"l{n}", Cause.GONE, 1.0, 0.0, tags=("small" if n < 8 else "large",)) for n in range(20)]
    kept = [question_of(f"k{n}", Cause.FINE, tags=("large" if n < 20 else "rest",)) for n in range(60)]
    found = grouped([*lost, *kept], [-1] * 20 + [0] * 60)
    assert [(each.name, each.lost, each.questions, each.stands_out) for each in found if each.kind == "tag"] == [
        ("small", 8, 8, True),
        ("large", 12, 32, False),
    ]


def test_a_tag_with_something_hidden_is_named_as_in_the_list() -> None:
    questions = [question_of("a", Cause.GONE, 1.0, 0.0, tags=("x\u202ey",)), question_of("b", Cause.FINE)]
    tag, _ = questions_data(details_of(*questions))["groups"]
    assert tag == Group("tag", "x\\u202ey", 1, 1, (), stands_out=False)


@pytest.mark.parametrize(
    ("before", "after", "compared", "expected"),
    [
        (2, 9, True, "rank 2 → 9"),
        (2, None, True, "rank 2 → gone"),
        (None, 3, True, "not found → rank 3"),
        (None, 3, False, "rank 3"),
        (None, None, False, "not found"),
    ],
)
def test_where_a_document_was_and_is(before: int | None, after: int | None, compared: bool, expected: str) -> None:  # noqa: FBT001
    assert whereabouts(Expected(id="d", gain=1.0, before=before, after=after), compared=compared) == expected


@pytest.mark.parametrize(
    ("command", "options"),
    [
        pytest.param(["explain", "q1", "--run", "a b.jsonl"], "--run 'a b.jsonl'", id="as the next command has them"),
        pytest.param(["explain", "--run", "r.jsonl", "--", "-q"], "--run r.jsonl", id="before an id with a hyphen"),
        pytest.param(["validate"], "--criteria ship-criteria.yaml --run run.jsonl", id="as the check was called"),
    ],
)
def test_the_command_that_explains_a_question_has_the_options_of_the_check(command: list[str], options: str) -> None:
    spoken = replace(REPORT.conclusion, next=["rankgate", *command])
    found = page_questions(details_of(question_of("a", Cause.GONE)), replace(REPORT, conclusion=spoken))
    assert found.head["explain"] == options
