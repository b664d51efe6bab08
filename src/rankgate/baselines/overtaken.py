"""Whether a job was so slow that what is accepted is of a later commit by now: git is asked, here and at the remote."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.baselines.git_place import place_of
from rankgate.baselines.git_transport import HERE
from rankgate.baselines.records import Record
from rankgate.files.git import GitError, is_ancestor, repository_around

SHORT = 7  # digits of a commit that people read


def overtaken(accepted: Sequence[Record], record: Record) -> str | None:
    """Why a run does not become the baseline by itself; None where it may, and where git knows neither commit.

    A clone has the past of what it checked out, and a shallow one not even that. So where it lacks the accepted commit,
    what the branch has got since is fetched: if that commit is still unknown, it is no later one.

    Args:
        accepted: what was accepted, oldest first.
        record: the run's.
    """
    theirs, ours = (accepted[-1].commit if accepted else None), record.commit
    if theirs is None or ours is None or theirs == ours:
        return None
    try:
        repository = repository_around(".")
    except GitError:
        return None
    if not repository.has(ours):
        return None
    if not repository.has(theirs):
        try:
            _fetch_what_came_since(record.branch or accepted[-1].branch)
        except GitError as error:
            return f"whether it is of a later commit ({theirs[:SHORT]}) cannot be told: {error}"
    return f"it is of a later commit ({theirs[:SHORT]})" if is_ancestor(ours, theirs) else None


def _fetch_what_came_since(branch: str | None) -> None:
    """Nothing where there is no remote: what is not here is nowhere."""
    place = place_of(branch or "HEAD", None, spec=branch or "HEAD")
    if place.remote != HERE:
        place.fetch(f"refs/heads/{branch}" if branch else "HEAD", branch or "HEAD")
