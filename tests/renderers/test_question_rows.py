"""The questions of a comment: what became of them, what they have in common, and what took a document's place."""

import pytest
from msgspec.structs import replace
from tests.renderers.reports import MOVE, REPORT

from rankgate.exhibit import Cause
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.question_rows import BETTER, LESS, heading, moved_line, moved_questions, what_happened
from rankgate.report import Diagnosis, DocumentMove, Moved

TAG = "lang:pt-BR"
GONE, LOWER = heading(Cause.GONE, 5), heading(Cause.LOWER, 5)


def test_a_heading_says_what_happened_in_the_words_of_every_other_place() -> None:
    assert heading(Cause.LOWER, 3) == "**Lower:** a right document left the first 3 and still stands further down"


def document(before: int | None, after: int | None) -> DocumentMove:
    return DocumentMove(id="doc", gain=1.0, before=before, after=after)


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
def test_what_became_of_a_question(documents: list[DocumentMove], said: str) -> None:
    assert what_happened(replace(MOVE, documents=documents)) == said


def test_the_commonest_fate_comes_first_and_the_better_ones_last() -> None:
    gone = replace(MOVE, documents=[document(1, None)])
    lower = replace(MOVE, documents=[document(1, 8)])
    better = replace(MOVE, worse=False)
    report = replace(REPORT, misses=[gone, lower, lower, better], moved=Moved(worse=3, better=1))
    found = [(heading, len(moves)) for heading, moves in moved_questions(report)]
    assert found == [(LOWER, 2), (GONE, 1), (BETTER, 1)]


@pytest.mark.parametrize(
    ("worse", "tagged", "rules", "said"),
    [
        pytest.param(4, 3, ["one_tag"], f"3 of 4 questions that lost have the tag `{TAG}`.", id="most of them"),
        pytest.param(4, 3, [], "", id="where the diagnosis does not say that it is no chance"),
        pytest.param(4, 3, ["reranker"], "", id="another finding"),
        pytest.param(
            12,
            12,
            ["one_tag"],
            f"12 of 12 questions that lost have the tag `{TAG}`. Here are the worst 10 of 12.",
            id="all",
        ),
    ],
)
def test_what_the_losers_have_in_common(worse: int, tagged: int, rules: list[str], said: str) -> None:
    moves = [replace(MOVE, tags=[TAG] if place < tagged else ["lang:en"]) for place in range(worse)]
    evidence: dict[str, str | int | float] = {"tag": TAG, "worse": tagged, "worse_in_all": worse}
    found = [Diagnosis(rule=rule, finding="a finding", evidence=evidence) for rule in rules]
    assert moved_line(replace(REPORT, misses=moves, moved=Moved(worse=worse, better=0), diagnosis=found)) == said


def test_losers_that_the_report_does_not_list_are_counted_too() -> None:
    found = [Diagnosis(rule="one_tag", finding="f", evidence={"tag": TAG, "worse": 70, "worse_in_all": 90})]
    report = replace(REPORT, misses=[MOVE] * 50, moved=Moved(worse=90, better=0), diagnosis=found)
    assert moved_line(report) == f"70 of 90 questions that lost have the tag `{TAG}`. Here are the worst 10 of 90."


def test_what_took_the_place_of_a_lost_document_is_named() -> None:
    text = render_markdown(replace(REPORT, misses=[replace(MOVE, instead=["@here", "doc|9"])]))
    assert "  - in the first 5 instead: `@here`, `doc|9`\n" in text
    assert "instead" not in render_markdown(REPORT)
