"""Which accepted run a check compares with: for which commit it was accepted, and how far that lies behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rankgate.model.base_ref import SHORT_SHA, CommitSha
from rankgate.model.wording import count_text

How = Literal["merge_base", "ancestor", "newest", "here"]


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted record that was compared with.

    Attributes:
        record: its id.
        date: the day of its acceptance.
        commit: the commit that it was accepted for; None where nobody said.
        branch: that commit's branch.
        how: `merge_base` where it was accepted for the very commit at which the pull request left the base (or for
            HEAD), `ancestor` for the nearest one before it, `newest` where no ancestor has any, `here` where the store
            is a directory and holds but one.
        commits_behind: how many commits lie between; None where that commit is no known ancestor.
        days_behind: how many days before the day of the check; negative in the future.
        reason: why it was accepted although a gate said no.
    """

    record: str
    date: str
    commit: CommitSha | None = None
    branch: str | None = None
    how: How = "here"
    commits_behind: int | None = None
    days_behind: int
    reason: str | None = None

    @property
    def shown(self) -> str:
        """The commit, or the day where there is none."""
        return f"for {self.commit[:SHORT_SHA]}" if self.commit else f"on {self.date}"


def lineage_note(found: Lineage) -> str | None:
    """`Compared with the run accepted for 1a2b3c4, 3 commits and 12 days behind.`; None where no commit is known."""
    if found.commit is None:
        return None
    days = count_text(max(found.days_behind, 0), "day")
    if found.commits_behind is None:
        no_ancestor = "which is no known ancestor"
        return f"Compared with the run accepted {found.shown}, {no_ancestor}, {days} ago."
    return (
        f"Compared with the run accepted {found.shown}, {count_text(found.commits_behind, 'commit')} and {days} behind."
    )


def age_problems(found: Lineage, days: int | None, commits: int | None) -> list[str]:
    """What is too old, a sentence each without its full stop; a day that is yet to come is too old for no limit."""
    said: list[str] = []
    if days is not None and found.days_behind > days:
        said.append(
            f"the baseline was accepted {count_text(found.days_behind, 'day')} ago, and max_age allows {days}; "
            "accept a newer run"
        )
    if commits is not None and found.commits_behind is not None and found.commits_behind > commits:
        said.append(
            f"the baseline is {count_text(found.commits_behind, 'commit')} behind, and max_age allows {commits}; "
            "accept a newer run"
        )
    return said


def clock_problems(found: Lineage, today: str) -> list[str]:
    """That the accepted run is dated after the day of the check, so that one of two clocks is wrong."""
    if found.days_behind >= 0:
        return []
    return [f"the baseline is dated {found.date}, after the day of this check ({today}); one of the two dates is wrong"]


def commits_behind(commit: str | None, ancestors: Sequence[str]) -> int | None:
    """How many commits lie between a commit and the first of these; None where it is not among them."""
    return ancestors.index(commit) if commit in ancestors else None
