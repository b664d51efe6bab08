"""The questions of a comment: what became of them, what they have in common, and what took a document's place."""

import re

import pytest
from msgspec.structs import replace
from tests.renderers.reports import MOVE, REPORT

from rankgate.model.details import Cause, Expected
from rankgate.model.report import Moved
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.question_rows import BETTER, LESS, heading, move_item, moved_line, moved_questions

TAG = "lang:pt-BR"
GONE, LOWER = heading(Cause.GONE, 5), heading(Cause.LOWER, 5)


def test_a_heading_says_what_happened_in_the_words_of_every_other_place() -> None:
    assert heading(Cause.LOWER, 3) == "**Lower:** a relevant document left the first 3 and still stands further down"


def document(before: int | None, after: int | None) -> Expected:
    return Expected(id="doc", gain=1.0, before=before, after=after)


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        pytest.param([document(2, None)], GONE, id="nowhere now"),
        pytest.param([document(2, 9)], LOWER, id="behind the first k"),
        pytest.param([document(5, 6)], LOWER, id="just behind"),
        pytest.param([document(1, 5)], LESS, id="lower and still among the first k"),
        pytest.param([document(2, 9), document(3, None)], GONE, id="the worst of two"),
        pytest.param([document(7, None)], LESS, id="one that was not among the first k"),
        pytest.param([document(None, None)], LESS, id="one that was never there"),
    ],
)
def test_what_became_of_a_question(documents: list[Expected], said: str) -> None:
    assert heading(replace(MOVE, documents=documents).fate, 5) == said


def test_the_kinds_come_in_the_reports_order_and_the_better_ones_last() -> None:
    gone = replace(MOVE, documents=[document(1, None)])
    lower = replace(MOVE, documents=[document(1, 8)])
    empty, better = replace(gone, no_result=True), replace(MOVE, worse=False)
    report = replace(REPORT, misses=[empty, gone, lower, lower, better], moved=Moved(worse=4, better=1))
    found = [(heading, len(moves)) for heading, moves in moved_questions(report)]
    assert found == [(heading(Cause.NO_RESULT, 5), 1), (GONE, 1), (LOWER, 2), (BETTER, 1)]


def test_of_many_questions_each_kind_has_some() -> None:
    gone = replace(MOVE, documents=[document(1, None)])
    lower = replace(MOVE, documents=[document(1, 8)])
    report = replace(REPORT, misses=[*[gone] * 40, *[lower] * 3], moved=Moved(worse=43, better=0))
    assert [(heading, len(moves)) for heading, moves in moved_questions(report)] == [(GONE, 4), (LOWER, 3)]
    assert moved_line(report) == "Here are 7 of the 43 that got worse, the worst of each kind first."


def test_what_left_the_first_k_is_shown_and_the_rest_is_folded() -> None:
    moves = [
        Expected(id="stays", gain=1.0, before=1, after=1),
        Expected(id="falls", gain=1.0, before=2, after=9),
        Expected(id="is gone", gain=1.0, before=3, after=None),
        Expected(id="never there", gain=1.0, before=None, after=None),
    ]
    text = move_item(replace(MOVE, documents=moves), REPORT)
    assert re.findall(r"expected `([^`]+)`", text) == ["is gone", "falls"]
    assert text.endswith("\n  - and 2 more")


def test_what_took_the_place_of_a_lost_document_is_named() -> None:
    text = render_markdown(replace(REPORT, misses=[replace(MOVE, instead=["@here", "doc|9"])]))
    assert "  - in the first 5 instead: `@here`, `doc|9`\n" in text
    assert "instead" not in render_markdown(REPORT)
