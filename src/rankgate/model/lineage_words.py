"""The accepted run that a check compares with, in words: which it is, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping

from rankgate.model.lineage import AnchorMark, AnchorProblem, Lineage
from rankgate.model.wording import count_text


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
    """Which limits of `max_age`, in days and in commits, the baseline exceeds: a sentence each without its full stop.

    Empty where it exceeds none, is dated later than the check, or its commits are not known.
    """
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
