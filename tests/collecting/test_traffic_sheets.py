"""Sheets show documents without saying whose they are, and come back as people fill them in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankgate.collecting.traffic import (
    FilledSheet,
    as_csv,
    as_jsonl,
    labels_text,
    merge_sheets,
    read_sheet,
    rows_of,
)
from rankgate.errors import Problem
from rankgate.model.traffic_lists import TrafficLabel, TrafficPair, TrafficQuestion, TrafficSheet
from rankgate.readers.base import ProblemLog

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

SHEET = TrafficSheet(run="0123456789abcdef", baseline="fedcba9876543210", n=40)


def pair(query_id: str, before: str, now: str) -> TrafficPair:
    question = TrafficQuestion(query_id=query_id, question=f"=what of {query_id}?")
    return TrafficPair(question=question, before=tuple(before.split()), now=tuple(now.split()), changed=True)


PAIRS = [pair("007", "both old 1-2", "both new 1e5"), pair("q", "x", "y")]
ROWS = rows_of(PAIRS, {}, {}, shared=False)


def read(text: str, name: str = "ana.csv", pairs: list[TrafficPair] | None = None) -> tuple[FilledSheet, list[Problem]]:
    log = ProblemLog()
    Path(name).write_text(text, encoding="utf-8")
    return read_sheet(name, log, pairs or []), log.problems


def test_documents_stand_in_an_order_that_does_not_tell_whose_they_are() -> None:
    pairs = [pair(f"q{number}", "old1 old2 both", "new1 new2 both") for number in range(200)]
    rows = rows_of(pairs, {}, {}, shared=True)
    firsts = [rows[number].document for number in range(0, len(rows), 5)]
    assert len(rows) == 1000
    assert {name: firsts.count(name) > 20 for name in ("old1", "old2", "new1", "new2", "both")} == dict.fromkeys(
        ("old1", "old2", "new1", "new2", "both"), True
    )
    mirrored = [pair(f"q{number}", "new1 new2 both", "old1 old2 both") for number in range(200)]
    assert rows == rows_of(mirrored, {}, {}, shared=True)


def test_what_is_labelled_already_is_left_out() -> None:
    rows = rows_of(PAIRS, {"007": [{"old": True}, {"new": False}]}, {}, shared=False)
    assert sorted(row.document for row in rows) == ["1-2", "1e5", "x", "y"]


def test_texts_are_shown_where_all_documents_of_a_question_have_one() -> None:
    """Otherwise the run that states texts would be known by them."""
    rows = rows_of(PAIRS, {}, {"x": "Ex", "y": "Why", "new": "New"}, shared=False)
    assert {row.document: row.text for row in rows if row.text} == {"x": "Ex", "y": "Why"}


@pytest.mark.parametrize("form", [as_csv, as_jsonl])
def test_what_is_written_is_read_again(form: object) -> None:
    assert callable(form)
    text = form(ROWS, SHEET)
    assert text.count("0123456789abcdef") == 1
    filled, problems = read(text)
    assert (filled.sheet, len(filled.labels), filled.blank, problems) == (SHEET, 0, len(ROWS), [])


CELLS = [
    pytest.param("1", True, id="1"),
    pytest.param("1.0", True, id="as a spreadsheet writes it"),
    pytest.param("2", True, id="a grade"),
    pytest.param("1,0", True, id="a decimal comma"),
    pytest.param("0", False, id="0"),
    pytest.param(" Yes ", True, id="a word"),
    pytest.param("TRUE", True, id="a spreadsheet's truth"),
    pytest.param("x", True, id="a cross"),
    pytest.param("nein", False, id="another language"),
    pytest.param("not relevant", False, id="two words"),
    pytest.param("１", True, id="full width"),  # noqa: RUF001
]


@pytest.mark.parametrize(("cell", "relevant"), CELLS)
def test_words_for_numbers(cell: str, relevant: bool) -> None:  # noqa: FBT001
    filled, problems = read(f'query_id,document,relevant\nq,x,"{cell}"\nq,y,\n')
    assert problems == []
    assert [(label.relevant, label.labeller) for label in filled.labels.values()] == [(relevant, "ana")]
    assert (filled.blank, filled.sheet) == (1, None)


def test_another_word_is_named_with_its_line() -> None:
    _, problems = read("query_id;document;relevant\nq;x;1\nq;y;maybe\n")
    assert [str(problem) for problem in problems] == [
        "ana.csv:3: relevant: expected 1 or 0, yes or no, or nothing, found 'maybe'"
    ]


def test_a_labeller_may_be_named_in_the_row() -> None:
    filled, _ = read("query_id,document,relevant,labeller\nq,x,1,Ben\nq,y,0,\n")
    assert [label.labeller for label in filled.labels.values()] == ["Ben", "ana"]


CHANGED = [("007", "7"), ("1-2", "2-Jan"), ("1e5", "100000")]


def spoiled() -> str:
    """The sheet as a spreadsheet saves it that takes ids for numbers and dates, with a 1 in each row."""
    text = as_csv(ROWS, SHEET).replace(",,,r", ",1,,r").replace(",,1,,r", ",,1,,r")
    for exact, other in CHANGED:
        text = text.replace(f"\n{exact},", f"\n{other},").replace(f",{exact},", f",{other},")
    return text


def test_ids_that_a_spreadsheet_changed_are_those_of_the_runs() -> None:
    filled, problems = read(spoiled(), pairs=PAIRS)
    assert problems == []
    assert sorted((label.query_id, label.document) for label in filled.labels.values()) == [
        ("007", "1-2"),
        ("007", "1e5"),
        ("007", "new"),
        ("007", "old"),
        ("q", "x"),
        ("q", "y"),
    ]


def test_without_the_runs_they_are_problems_and_the_others_are_kept() -> None:
    filled, problems = read(spoiled())
    assert sorted(label.document for label in filled.labels.values()) == ["x", "y"]
    assert len(problems) == 4
    assert "let the spreadsheet import ids as text" in str(problems[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"query_id": "q", "document": "x"}\n', "no relevant; a row of", id="a key is missing"),
        pytest.param("{broken\n", "", id="no JSON"),
        pytest.param("[]\n", "", id="no object"),
    ],
)
def test_lines_of_json_that_are_no_rows(text: str, expected: str) -> None:
    _, problems = read('{"head": "x"}\n' + text, "ana.jsonl")
    assert [problem.line for problem in problems] == [2]
    assert expected in str(problems[0])


def filled_by(name: str, words: dict[str, bool]) -> FilledSheet:
    labels = [TrafficLabel(query_id="q", document=each, relevant=words[each], labeller=name) for each in words]
    return FilledSheet(name=f"{name}.csv", labels=dict(enumerate(labels, 2)), blank=0, sheet=SHEET)


def test_two_people() -> None:
    ana = filled_by("ana", {"a": True, "b": True, "c": False, "d": False})
    ben = filled_by("ben", {"a": True, "b": False, "c": False})
    merged = merge_sheets([], [], [ana, ben])
    assert (len(merged.labels), merged.sheets, merged.problems) == (7, (SHEET,), ())
    assert (merged.shared, merged.differ) == (3, (("q", "b"),))
    assert merged.agreement == pytest.approx(0.4)
    assert [json.loads(line) for line in labels_text(merged).splitlines()][:2] == [
        {"sheet": {"run": SHEET.run, "baseline": SHEET.baseline, "n": 40}},
        {"query_id": "q", "document": "a", "relevant": True, "labeller": "ana"},
    ]


def test_the_same_sheet_again_adds_nothing() -> None:
    ana = filled_by("ana", {"a": True})
    merged = merge_sheets([*ana.labels.values()], [SHEET], [ana])
    assert (merged.labels, merged.sheets, merged.known) == ((), (), 1)


def test_one_person_who_says_both() -> None:
    merged = merge_sheets([*filled_by("ana", {"a": True}).labels.values()], [], [filled_by("ana", {"a": False})])
    assert [str(each) for each in merged.problems] == [
        "ana.csv:2: relevant: 'a' of 'q' has the other label by 'ana' already; change one of them"
    ]
