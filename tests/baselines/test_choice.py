"""Which accepted run a check compares with: a table of what was accepted and what lies before the commit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.baselines.accepting import made

from rankgate.baselines.base import Chosen, choose
from rankgate.baselines.records import Record

# The nearest first: the pull request left the base at d, whose parent is c.
ANCESTORS = ("d", "c", "b", "a")


def accepted(commit: str | None, *, run: str = "1", branch: str | None = "main") -> Record:
    return made(run, commit=commit, branch=branch)[0]


@pytest.mark.parametrize(
    ("records", "place", "how", "behind"),
    [
        pytest.param([accepted("a"), accepted("d")], 1, "merge_base", 0, id="the very commit"),
        pytest.param([accepted("a"), accepted("b")], 1, "ancestor", 2, id="else the nearest one before it"),
        pytest.param(
            [accepted("b"), accepted("a")], 0, "ancestor", 2, id="the nearest, not the last that was accepted"
        ),
        pytest.param([accepted("d", run="1"), accepted("d", run="2")], 1, "merge_base", 0, id="of two the last"),
        pytest.param([accepted("c"), accepted("e")], 0, "ancestor", 1, id="what main accepted later does not count"),
        pytest.param([accepted("y"), accepted("z")], 1, "newest", None, id="no common ancestor: the newest"),
        pytest.param(
            *([accepted("y"), accepted("z", branch="topic")], 0, "newest", None),
            id="the newest of the base branch, not of another",
        ),
        pytest.param(
            [accepted("y", branch="old"), accepted("z", branch=None)], 1, "newest", None, id="no branch known"
        ),
        pytest.param([accepted(None)], 0, "newest", None, id="nobody said for which commit"),
    ],
)
def test_the_accepted_run_is_chosen_by_the_commits_before(
    records: Sequence[Record], place: int, how: str, behind: int | None
) -> None:
    found = choose(records, ANCESTORS, branch="main")
    assert found is not None
    assert (records.index(found.record), found.how, found.commits_behind) == (place, how, behind)


def test_without_a_repository_the_newest_counts() -> None:
    records = [accepted("d"), accepted("a")]
    assert choose(records, ()) == Chosen(record=records[1], how="newest")


def test_where_nothing_was_accepted_nothing_is_chosen() -> None:
    assert choose([], ANCESTORS) is None
