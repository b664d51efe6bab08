"""The triage table: which questions have a row, in what order, and what the filters offer."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from tests.renderers.pages.exhibits import LATENCY, details_of, question_of
from tests.renderers.reports import REPORT

from rankgate.model.details import Cause, Expected
from rankgate.renderers.pages.report import render_report
from rankgate.renderers.pages.triage import MAX_CHOICES, MAX_ROWS, MAX_TAGS, mark_of, triage_of
from rankgate.renderers.phrases import CAUSE_WORDS, whereabouts


def test_every_cause_has_words() -> None:
    assert set(CAUSE_WORDS) == set(Cause)
    labels = [label for label, _ in CAUSE_WORDS.values()]
    assert len(set(labels)) == len(labels)


def test_the_largest_loss_comes_first_then_the_graver_cause_and_gains_last() -> None:
    found = triage_of(
        details_of(
            question_of("better", Cause.BETTER, 0.0, 1.0),
            question_of("never", Cause.NEVER_FOUND, 0.0, 0.0),
            question_of("fine", Cause.FINE),
            question_of("half", Cause.LOWER, 1.0, 0.5),
            question_of("gone", Cause.GONE, 1.0, 0.0),
            question_of("new", Cause.NEW, None, 0.0),
            question_of("partly", Cause.NEVER_FOUND, 0.5, 0.5),
            question_of("nothing", Cause.NOTHING_RELEVANT, None, None),
            question_of("shuffled", Cause.FINE, 1.0, 0.9),
        )
    )
    assert [row.question.query_id for row in found.rows] == [
        "gone",
        "half",
        "shuffled",
        "never",
        "partly",
        "new",
        "better",
    ]
    assert (found.quiet, found.left_out) == (2, 0)


def test_without_a_baseline_the_slowest_come_first_and_what_has_no_value_before_them() -> None:
    values = {"quick": 5.0, "slow": 90.0, "unknown": None, "usual": 20.0}
    questions = [question_of(name, Cause.NEVER_FOUND, None, now, metric="latency") for name, now in values.items()]
    found = triage_of(details_of(*questions, measure=LATENCY))
    assert [row.question.query_id for row in found.rows] == ["unknown", "slow", "usual", "quick"]


def test_of_many_the_worst_have_a_row_and_the_rest_are_counted() -> None:
    questions = [question_of(f"q{n}", Cause.LOWER, 1.0, n / 1000) for n in range(MAX_ROWS + 7)]
    found = triage_of(details_of(*reversed(questions)))
    assert (len(found.rows), found.left_out) == (MAX_ROWS, 7)
    assert [row.question.query_id for row in found.rows[:2]] == ["q0", "q1"]


def test_filters_offer_the_tags_and_causes_of_the_rows_with_their_numbers() -> None:
    found = triage_of(
        details_of(
            question_of("a", Cause.GONE, 1.0, 0.0, tags=("lang:es", "x", "x")),
            question_of("b", Cause.LOWER, 1.0, 0.5, tags=("lang:es",)),
            question_of("c", Cause.FINE, tags=("unseen",)),
        )
    )
    assert found.tags == ((0, "lang:es", 2), (1, "x", 1))
    assert found.causes == {Cause.GONE: 1, Cause.LOWER: 1}
    assert found.rows[0].tags == ((0, "lang:es"), (1, "x"))


def test_a_question_with_many_tags_can_be_filtered_by_those_that_it_shows() -> None:
    found = triage_of(details_of(question_of("a", Cause.GONE, 1.0, 0.0, tags=tuple(f"t{n:03d}" for n in range(300)))))
    assert len(found.tags) == MAX_CHOICES
    assert (len(found.rows[0].tags), found.rows[0].more_tags) == (MAX_TAGS, 300 - MAX_TAGS)


@pytest.mark.parametrize(
    ("gain", "mark"),
    [(None, ""), (0.0, "judged not relevant"), (-1.0, "judged not relevant"), (1.0, "right"), (2.0, "right, gain 2")],
)
def test_a_ranking_marks_what_the_gold_says(gain: float | None, mark: str) -> None:
    assert mark_of(gain) == mark


def test_a_row_has_the_value_before_and_now_and_both_rankings() -> None:
    details = details_of(question_of("a", Cause.GONE, 1.0, 0.0))
    (row,) = triage_of(details).rows
    assert row.values == "100.0% → 0.0%"
    page = render_report(replace(REPORT, details=details))
    marks = re.findall(r'<li( class="right")?><code><bdi>(\w+)</bdi></code>(.*)</li>', page)
    right, tick = ' class="right"', '<span aria-hidden="true">✓</span> '
    assert marks == [
        ("", "right", ' <span class="move">stays at rank 1</span>'),
        (right, "right", f' <span class="mark">{tick}right</span>'),
        ("", "other", ""),
        ("", "other", ""),
        ("", "judged", ' <span class="mark">judged not relevant</span>'),
        (right, "right", f' <span class="mark">{tick}right, gain 2</span>'),
    ]


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
