"""Labels against the gold: what is new, what contradicts, and how a written sample takes them."""

from typing import Any

import pytest
from tests.rows import each_row

from rankgate.collecting.gold_documents import with_gains, with_labels
from rankgate.collecting.pool import Label, compare_labels
from rankgate.model.values import Gold, Sample

GOLD = Gold(
    samples={
        sample.query_id: sample
        for sample in (
            Sample(query_id="q1", gains={"a": 2.0, "b": 0.0}, judge_gains={"j": 1.0}, negatives=("n",), line=3),
            Sample(query_id="q2", gains={"a": 1.0}),
            Sample(query_id="none", gains={}, no_answer=True, line=9),
        )
    },
    name="gold.yaml",
    format="yaml",
    fingerprint="",
)


def labels(*rows: tuple[str, str, float]) -> list[Label]:
    return [
        Label(query_id=query_id, id=doc, gain=gain, file="back.jsonl", line=line)
        for line, (query_id, doc, gain) in enumerate(rows, start=1)
    ]


def test_new_labels_by_query_and_known_ones_counted() -> None:
    found = compare_labels(GOLD, labels(("q2", "c", 0), ("q1", "a", 2), ("q2", "d", 1), ("q1", "n", 0)))
    assert found.new == {"q2": {"c": 0, "d": 1}, "q1": {"n": 0}}
    assert (found.known, found.problems) == (1, ())


def test_two_labellers_may_agree() -> None:
    assert compare_labels(GOLD, labels(("q1", "x", 1), ("q1", "x", 1))).new == {"q1": {"x": 1}}


UNANSWERED = "labelled 1, but the question says no_answer: true; drop that in gold.yaml, or label it 0"
NEGATIVE = "labelled 1, but the question lists it under negatives; drop it there, or label it 0"


@each_row(
    ("rows", "message"),
    [
        pytest.param(
            [("q1", "a", 1)],
            "back.jsonl:1: query 'q1', document 'a': labelled 1, but gold.yaml:3 says 2; change one of them",
            id="another gain than the gold's",
        ),
        pytest.param(
            [("q2", "a", 0)],
            "back.jsonl:1: query 'q2', document 'a': labelled 0, but gold.yaml says 1; change one of them",
            id="a gold without lines",
        ),
        pytest.param(
            [("q1", "x", 1), ("q1", "y", 1), ("q1", "x", 0.5)],
            "back.jsonl:3: query 'q1', document 'x': labelled 0.5, but back.jsonl:1 says 1; change one of them",
            id="another gain than another label's",
        ),
        pytest.param(
            [("q9", "a", 1), ("q9", "b", 1)],
            "back.jsonl:1: gold.yaml has no query 'q9'; add it there or drop its labels",
            id="an unknown query, once",
        ),
        pytest.param([("none", "a", 1)], f"back.jsonl:1: query 'none', document 'a': {UNANSWERED}", id="no answer"),
        pytest.param([("q1", "n", 1)], f"back.jsonl:1: query 'q1', document 'n': {NEGATIVE}", id="a negative"),
    ],
)
@each_row("as_judge", [False, True], ids=["gold", "judge"])
def test_conflicts(rows: list[tuple[str, str, float]], message: str, *, as_judge: bool) -> None:
    assert [str(each) for each in compare_labels(GOLD, labels(*rows), as_judge=as_judge).problems] == [message]


def of_sheets(doc: str) -> Gold:
    return Gold(
        samples={"q1": Sample(query_id="q1", gains={doc: 1.0})}, name="gold.yaml", format="yaml", fingerprint=""
    )


@pytest.mark.parametrize(
    ("known", "written", "difference"),
    [
        pytest.param("00123", "123", "leading zeros", id="zeros"),
        pytest.param("10000000", "1.00E+07", "case and an exponent", id="a long number"),
        pytest.param("1-2", "2-Jan", "case and a date", id="a day"),
        pytest.param("2026-01-02", "1/2/2026", "a date", id="a date"),
        pytest.param("123", "123.0", "a .0", id="a fraction"),
        pytest.param("a b", "a b ", "blanks", id="a blank"),
        pytest.param("Doc", "doc", None, id="case, which no spreadsheet changes"),
        pytest.param("a", "b", None, id="another document"),
    ],
)
def test_an_id_that_a_spreadsheet_changed(known: str, written: str, difference: str | None) -> None:
    found = compare_labels(of_sheets(known), labels(("q1", known, 1), ("q1", written, 0)))
    expected = (
        f"back.jsonl:2: document {written!r}: gold.yaml has {known!r}, which differs in {difference} alone; let the "
        "spreadsheet import ids as text"
    )
    assert [str(each) for each in found.problems] == ([expected] if difference else [])


def test_a_query_whose_id_was_changed_is_named_with_its_own() -> None:
    found = compare_labels(GOLD, labels(("Q1", "a", 1)))
    assert [each.message for each in found.problems] == [
        "gold.yaml has no query 'Q1' but 'q1' (case); add it there or drop its labels"
    ]


def test_every_conflict_is_named() -> None:
    found = compare_labels(GOLD, labels(*[("q1", "a", gain) for gain in range(50)]))
    assert [problem.line for problem in found.problems] == [line for line in range(1, 51) if line != 3]


def test_nothing_is_relevant_for_a_query_without_an_answer_but_it_can_be_said() -> None:
    found = compare_labels(GOLD, labels(("none", "a", 0), ("none", "b", -1)))
    assert (found.new, found.problems) == ({"none": {"a": 0, "b": -1}}, ())


def test_a_person_is_not_bound_by_a_judge() -> None:
    assert compare_labels(GOLD, labels(("q1", "j", 0))).new == {"q1": {"j": 0}}


def test_a_judge_is_bound_by_its_earlier_labels() -> None:
    assert compare_labels(GOLD, labels(("q1", "j", 1)), as_judge=True).known == 1
    problems = compare_labels(GOLD, labels(("q1", "j", 0)), as_judge=True).problems
    assert [problem.message for problem in problems] == [
        "query 'q1', document 'j': labelled 0, but gold.yaml:3 has the judge's label 1; change one of them"
    ]


@each_row(
    ("written", "new", "expected"),
    [
        pytest.param(["a"], {"b": 1.0}, ["a", "b"], id="a list stays a list"),
        pytest.param(["a"], {"b": 1.0, "c": 0.0}, {"a": 1, "b": 1, "c": 0}, id="a judged 0 is kept"),
        pytest.param(["a"], {"b": 2.0}, {"a": 1, "b": 2}, id="a grade makes it graded"),
        pytest.param([7], {"b": 0.0}, {"7": 1, "b": 0}, id="integer ids"),
        pytest.param([7], {"b": 1.0}, [7, "b"], id="integer ids in a list stay"),
        pytest.param({"a": 2.5}, {"b": 1.0}, {"a": 2.5, "b": 1}, id="a mapping stays one"),
        pytest.param({"a": 1.0}, {"b": 0.5}, {"a": 1.0, "b": 0.5}, id="numbers stay as they are"),
        pytest.param([], {"b": 0.0}, {"b": 0}, id="an empty list"),
        pytest.param(None, {"b": 1.0}, ["b"], id="nothing yet"),
        pytest.param(
            {"ids": ["a"], "answer": "yes"}, {"b": 1.0}, {"ids": ["a", "b"], "answer": "yes"}, id="with an answer"
        ),
        pytest.param(
            {"answer": "yes", "ids": ["a"]},
            {"b": 0.0},
            {"answer": "yes", "ids": {"a": 1, "b": 0}},
            id="with an answer, graded",
        ),
        pytest.param({"ids": 1}, {"b": 1.0}, {"ids": 1, "b": 1}, id="a document that is called ids"),
    ],
)
def test_judgments_keep_their_shape(written: Any, new: dict[str, float], expected: Any) -> None:
    found = with_gains(written, new)
    assert found == expected
    assert str(found) == str(expected)  # 1 and 1.0 are equal, and do not look it


def test_all_else_in_a_sample_stays_in_its_place() -> None:
    written = {"note": [1], "id": 7, "expected_output": ["a"], "metadata": {"mine": None}}
    assert list(with_labels(written, {"b": 1.0}).items()) == [
        ("note", [1]),
        ("id", 7),
        ("expected_output", ["a", "b"]),
        ("metadata", {"mine": None}),
    ]


def test_a_judges_labels_stand_beside_the_gold() -> None:
    written = {"id": "q", "expected_output": ["a"], "judge_labels": {"x": 1}}
    assert with_labels(written, {"b": 1.0, "c": 0.0}, as_judge=True) == {
        **written,
        "judge_labels": {"x": 1, "b": 1, "c": 0},
    }
    assert with_labels({"id": "q"}, {"b": 1.0}, as_judge=True) == {"id": "q", "judge_labels": {"b": 1}}


def test_what_was_given_is_not_changed() -> None:
    written = {"id": "q", "expected_output": {"ids": ["a"]}}
    with_labels(written, {"b": 0.0})
    assert written == {"id": "q", "expected_output": {"ids": ["a"]}}
