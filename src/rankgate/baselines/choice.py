"""Which of the accepted runs gates compare with.

That of the commit at which the pull request left the base, else of the nearest one before it, else the newest of the
base branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rankgate.baselines.records import Record
from rankgate.lineage import How


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A record, how it was chosen, and how many commits it lies behind; None where it is no known ancestor."""

    record: Record
    how: How
    commits_behind: int | None = None


def choose(records: Sequence[Record], ancestors: Sequence[str], *, branch: str | None = None) -> Chosen | None:
    """Choose among accepted records; None where there are none.

    Args:
        records: oldest first. Of several for one commit the last counts.
        ancestors: commits, the nearest first; the first is the one to compare with.
        branch: the base branch, where it is known.
    """
    latest = {record.commit: record for record in records if record.commit is not None}
    for behind, commit in enumerate(ancestors):
        if commit in latest:
            how: How = "ancestor" if behind else "merge_base"
            return Chosen(record=latest[commit], how=how, commits_behind=behind)
    of_branch = [record for record in records if branch is not None and record.branch == branch]
    newest = (of_branch or list(records))[-1:]
    return Chosen(record=newest[0], how="newest") if newest else None
