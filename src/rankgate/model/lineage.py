"""Which accepted run a check compares with: for which commit it was accepted, and how far that lies behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from rankgate.model.answers import JudgeMark
from rankgate.model.base_ref import SHORT_SHA, CommitSha
from rankgate.model.wording import count_text

How = Literal["merge_base", "ancestor", "newest", "here"]
AnchorProblem = Literal["log", "gone", "run", "foreign"]


class AnchorMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The acceptance from which small losses add up, as a later one remembers it: its id and day.

    `steps` acceptances followed it. `given_up` has by metric the loss since then that one of them was told of.
    """

    id: str
    date: str
    steps: int = 0
    given_up: Mapping[str, float] = {}


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted record that was compared with, and the commit that it was accepted for; None where nobody said.

    `how` is `merge_base` where that is the very commit at which the pull request left the base (or HEAD), `ancestor`
    where it is the nearest one before it, `newest` where no ancestor has any, `here` where the store is a directory and
    holds but one. `commits_behind` is how many commits lie between; None where that commit is no known ancestor.
    `days_behind` is how many days before the day of the check; negative in the future. `reason` is why it was accepted
    although a gate said no, `by` who did, `failed` that its gates failed then; `judge` judged its answers, and
    `packages` have the versions of others that gave it metrics, where that is known.
    """

    record: str
    date: str
    commit: CommitSha | None = None
    branch: str | None = None
    how: How = "here"
    commits_behind: int | None = None
    days_behind: int
    reason: str | None = None
    by: str | None = None
    failed: bool = False
    judge: JudgeMark | None = None
    packages: Mapping[str, str] = {}

    @property
    def shown(self) -> str:
        """The commit, or the day where there is none."""
        return f"for {self.commit[:SHORT_SHA]}" if self.commit else f"on {self.date}"


def lineage_note(lineage: Lineage) -> str | None:
    """`Compared with the run accepted for 1a2b3c4, 3 commits and 12 days behind.`; None where no commit is known."""
    if lineage.commit is None:
        return None
    days = count_text(max(lineage.days_behind, 0), "day")
    behind = f"which is no known ancestor, {days} ago"
    if lineage.commits_behind is not None:
        behind = f"{count_text(lineage.commits_behind, 'commit')} and {days} behind"
    return f"Compared with the run accepted {lineage.shown}, {behind}."


def age_problems(lineage: Lineage, days: int | None, commits: int | None) -> list[str]:
    """What is too old, a sentence each without its full stop; a day that is yet to come is too old for no limit."""
    texts: list[str] = []
    if days is not None and lineage.days_behind > days:
        texts.append(f"was accepted {count_text(lineage.days_behind, 'day')} ago, and max_age allows {days}")
    if commits is not None and lineage.commits_behind is not None and lineage.commits_behind > commits:
        texts.append(f"is {count_text(lineage.commits_behind, 'commit')} behind, and max_age allows {commits}")
    return [f"the baseline {text}; accept a newer run" for text in texts]


def package_problems(lineage: Lineage, packages: Mapping[str, str]) -> list[str]:
    """That a package gives values by another version than the one by which the run was accepted."""
    changed = {name: version for name, version in packages.items() if lineage.packages.get(name, version) != version}
    return [
        f"values by {name} {version}; the accepted run was scored by {lineage.packages[name]}"
        for name, version in changed.items()
    ]


def clock_problems(lineage: Lineage, today: str) -> list[str]:
    """That the accepted run is dated after the day of the check, so that one of two clocks is wrong."""
    if lineage.days_behind >= 0:
        return []
    return [
        f"the baseline is dated {lineage.date}, after the day of this check ({today}); one of the two dates is wrong"
    ]


def anchor_problem(anchor: AnchorMark | None, problem: AnchorProblem) -> str:
    """Why small losses are not added up, without its full stop, and what to do."""
    move = "accept the next run with --new-anchor --reason TEXT"
    if problem == "log" or anchor is None:
        return (
            "the log of acceptances cannot be read, so that small losses do not add up; see `rankgate baseline verify`"
        )
    whys = {
        "gone": "is no longer in the log of acceptances",
        "run": "is not there any more, or cannot be read",
        "foreign": "has other document ids than the gold set",
    }
    which = f"the run accepted on {anchor.date} ({anchor.id}), from which small losses add up,"
    return f"{which} {whys[problem]}; restore it, or {move}"


def passed_over_text(anchor: AnchorMark, passed_over: str) -> str:
    """From where small losses add up, since of the questions of an older run too few are asked."""
    few = f"Fewer than half of the questions of the run accepted on {passed_over} are still asked"
    return f"{few}: small losses add up from the run accepted on {anchor.date}."
