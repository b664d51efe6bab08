"""The distribution's bins, and what it says."""

from __future__ import annotations

import pytest

from rankgate.renderers.pages.report import bin_of, share_text, spread_of


@pytest.mark.parametrize(
    ("count", "of", "expected"),
    [(0, 8, "0%"), (1, 8, "12%"), (8, 8, "100%"), (1, 5000, "<1%"), (4999, 5000, ">99%"), (50, 5000, "1%")],
)
def test_a_share_never_reads_as_none_or_all_when_it_is_neither(count: int, of: int, expected: str) -> None:
    assert share_text(count, of) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, 0), (0.01, 1), (0.1, 1), (0.3, 3), (1 / 3, 4), (0.5, 5), (0.7, 7), (0.95, 10), (1.0, 11)],
)
def test_nothing_and_all_have_bins_of_their_own(value: float, expected: int) -> None:
    assert bin_of(value) == expected


def test_the_distribution_says_what_the_mean_hides() -> None:
    found = spread_of("recall@5", [(0.5, float(n % 2)) for n in range(4)])
    assert found is not None
    assert found.sentences == (
        "Now the mean is 50.0%: all relevant documents are found for 2 questions (50%), none for 2 (50%), some for 0.",
        (
            "In the baseline the mean is 50.0%: all relevant documents are found for 0 questions (0%), "
            "none for 0 (0%), some for 4."
        ),
    )


def test_the_distribution_never_says_all_or_none_where_it_is_neither() -> None:
    found = spread_of("recall@5", [(None, float(n > 0)) for n in range(1000)])
    assert found is not None
    assert "found for 999 questions (>99%), none for 1 (<1%)" in found.sentences[0]
