"""The base of a pull request, read from where it is now: an event's payload may be hours old."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from rankgate.baselines.clones import Clone, clone_of
from rankgate.errors import bad_input, shown
from rankgate.files.environment import JOBS, OURS
from rankgate.files.git import is_ancestor, repository_around
from rankgate.forges.context import Pull

QUEUED = re.compile(r"refs/heads/gh-readonly-queue/(?P<base>.+)/pr-(?P<number>[0-9]+)-(?P<sha>[0-9a-f]+)")
_US = {f"GIT_{who}_{what}": "rankgate" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def base_branch(environment: Mapping[str, str]) -> str | None:
    """The branch that a pull request or the merge queue is to be merged into; None for any other event."""
    queue = QUEUED.fullmatch(environment.get("GITHUB_REF", ""))
    return environment.get("GITHUB_BASE_REF") or (queue["base"] if queue else None)


def at_tip(pull: Pull, clone: Path) -> Pull:
    """A pull request with the tip of its base branch, fetched into the clone with the job's token, as its base.

    Raises:
        RankgateError: git cannot fetch it, or there is no such branch any more.
    """
    at = _clone(pull, clone)
    ref = at.fetch(f"refs/heads/{pull.base_ref}", pull.base_ref)
    if ref is None:
        raise bad_input(f"the {at.spec} of pull request {pull.number} is not there; point it at another one")
    return replace(pull, base_sha=at.object_of("rev-parse", "--verify", f"{ref}^{{commit}}"))


def merged(pull: Pull, clone: Path) -> str:
    """A commit of the clone that merges the pull request's head, fetched, onto its base; no file is checked out."""
    at = _clone(pull, clone)
    at.fetch(pull.head_sha, f"pull/{pull.number}")
    tree = at.git("merge-tree", "--write-tree", pull.base_sha, pull.head_sha)
    if tree.returncode:
        why = "they have conflicts" if tree.returncode == 1 else f"{at.complaint(tree)}; git 2.38 or later can"
        raise bad_input(f"git cannot merge {pull.head_sha[:12]} into {shown(pull.base_ref)} as that is now: {why}")
    commit = ("commit-tree", tree.stdout.decode().strip(), "-m", "merge", "-p", pull.base_sha, "-p", pull.head_sha)
    return at.object_of(*commit, environment=_US)


def _clone(pull: Pull, clone: Path) -> Clone:
    spec = f"base branch {shown(pull.base_ref)}"
    return clone_of(pull.base_ref, None, spec=spec, folder=str(clone), tokens=(*JOBS, OURS))


def at_merge(pull: Pull, now: Pull, clone: Path, event_sha: str | None) -> Pull:
    """The pull request as it is now, with what the merge commit that is checked out was merged onto as its base.

    `pull` is the event's, whose head is judged, and `event_sha` its merge commit: whoever can push can make more.
    `now` has the tip of the base branch as its base. What that has got since the merge is not in the working tree, and
    would look as if it had been undone.

    Raises:
        RankgateError: what is checked out is not GitHub's merge of that head, or no longer one onto that branch.
    """
    repository = repository_around(str(clone))
    parents = repository.parents("HEAD")
    if len(parents) != 2 or parents[1] != pull.head_sha or repository.commit("HEAD") != event_sha:  # noqa: PLR2004
        raise bad_input(
            f"the merge commit is stale: HEAD is not GitHub's merge of {pull.head_sha[:12]} into its base. Check out "
            "what actions/checkout takes without `ref:`, or name the commit to judge against in the input `base`"
        )
    if now.base_ref != pull.base_ref or not is_ancestor(parents[0], now.base_sha, folder=str(clone)):
        onto = f"it was merged onto {parents[0][:12]}, not onto {shown(now.base_ref)} as that is now"
        raise bad_input(f"the merge commit is stale: {onto}; push to the pull request, or close and reopen it")
    return replace(now, base_sha=parents[0])
