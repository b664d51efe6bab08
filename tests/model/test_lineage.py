"""How far the accepted run lies behind, in words, and when that is too far."""

from __future__ import annotations

import pytest

from rankgate.model.lineage import Lineage
from rankgate.model.remarks import age_problems, clock_problems, lineage_note

SHA = "1a2b3c4d5e6f"


def behind(days: int, commits: int | None = None, commit: str | None = SHA) -> Lineage:
    return Lineage(record="0", date="2026-01-31", commit=commit, commits_behind=commits, days_behind=days)


@pytest.mark.parametrize(
    ("found", "note"),
    [
        pytest.param(
            behind(12, 3), "Compared with the run accepted for 1a2b3c4, 3 commits and 12 days behind.", id="some"
        ),
        pytest.param(behind(1, 1), "Compared with the run accepted for 1a2b3c4, 1 commit and 1 day behind.", id="one"),
        pytest.param(
            *(behind(2), "Compared with the run accepted for 1a2b3c4, which is no known ancestor, 2 days ago."),
            id="another history",
        ),
        pytest.param(behind(12, commit=None), None, id="no commit is known"),
    ],
)
def test_the_note_says_which_commit_and_how_far(found: Lineage, note: str | None) -> None:
    assert lineage_note(found) == note


DAYS = "the baseline was accepted 12 days ago, and max_age allows 11; accept a newer run"
COMMITS = "the baseline is 3 commits behind, and max_age allows 2; accept a newer run"


@pytest.mark.parametrize(
    ("limit", "problems"),
    [
        pytest.param((None, None), [], id="no limit"),
        pytest.param((12, 3), [], id="exactly as old as allowed"),
        pytest.param((11, 3), [DAYS], id="days"),
        pytest.param((12, 2), [COMMITS], id="commits"),
        pytest.param((11, 2), [DAYS, COMMITS], id="both"),
    ],
)
def test_what_is_older_than_allowed_is_named(limit: tuple[int | None, int | None], problems: list[str]) -> None:
    assert age_problems(behind(12, 3), *limit) == problems


def test_commits_that_nobody_can_count_break_no_limit() -> None:
    assert age_problems(behind(0, None), None, 0) == []


def test_a_record_from_the_future_is_named() -> None:
    assert clock_problems(behind(0), "2026-01-31") == []
    assert clock_problems(behind(-1), "2026-01-30") == [
        "the baseline is dated 2026-01-31, after the day of this check (2026-01-30); one of the two dates is wrong"
    ]
