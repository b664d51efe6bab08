"""Where a branch of baselines lies, and git run there; also whether what is accepted is of a later commit by now."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec

from rankgate.baselines.git_transport import (
    HERE,
    advice,
    complaint,
    environment_for,
    held,
    lock_of,
    locked,
    no_such_branch,
    remote_of,
)
from rankgate.baselines.records import Record
from rankgate.errors import shown
from rankgate.files.environment import TOKENS
from rankgate.files.git import Answer, GitError, is_ancestor, repository_around, run_git

PREFIX = "git+branch:"
_SHORT = 7  # digits of a commit that people read
PATIENCE = 10.0  # seconds for which a lock of somebody else's is waited for, beside those that git itself takes
_FETCH = (
    *("--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"),
    "--refmap=",
)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A clone, the remote that counts, and what git's environment says to get there."""

    spec: str
    root: str
    remote: str
    shallow: bool
    environment: Mapping[str, str]

    def git(self, *arguments: str, given: bytes = b"", environment: Mapping[str, str] = {}) -> Answer:
        """One command of git, whatever it answers."""
        whole = {**self.environment, **environment}
        return run_git(self.root, *arguments, given=given, environment=whole, asker=self.spec)

    def made(self, *arguments: str, given: bytes = b"", environment: Mapping[str, str] = {}) -> str:
        """The name of the object that a command made.

        Raises:
            GitError: it made none.
        """
        found = self.git(*arguments, given=given, environment=environment)
        if found.returncode:
            raise GitError(f"{self.spec}: `git {arguments[0]}` failed: {self.said(found)}")
        return found.stdout.decode().strip()

    def read(self, what: str, *arguments: str) -> bytes:
        """What a command tells of an object.

        Raises:
            GitError: git cannot read it.
        """
        found = self.git(*arguments)
        if found.returncode:
            raise GitError(f"{self.spec}: git cannot read {what}: {self.said(found)}")
        return found.stdout

    def fetch(self, source: str, name: str, *options: str) -> str | None:
        """Fetch one ref of the remote and nothing else; None where the remote has no such branch.

        Args:
            source: the remote's ref.
            name: what it is kept as, under `refs/rankgate/`.
            options: further ones.

        Returns:
            The ref that it is kept as.

        Raises:
            GitError: the remote cannot be reached or refuses.
        """
        ref = f"refs/rankgate/{_quoted(self.remote)}/{_quoted(name)}"
        fetch = ("fetch", *_FETCH, *options, self.remote, f"+{source}:{ref}")
        found = self.git(*fetch)
        until = time.monotonic() + PATIENCE
        while found.returncode and held(found) and time.monotonic() < until:
            found = self.git(*fetch)
        if no_such_branch(found):
            return None
        if found.returncode and (lock := lock_of(found)):
            raise locked(self.spec, lock)
        if found.returncode:
            raise GitError(f"{self.spec}: cannot be fetched from {self.remote}: {self.said(found)}{advice(found)}")
        return ref

    def said(self, found: Answer) -> str:
        """What git or the server complained of, without a secret."""
        return complaint(found, self.environment)


def place_of(branch: str, remote: str | None, *, spec: str, folder: str = ".", tokens: Sequence[str] = TOKENS) -> Place:
    """The place of a branch, seen from a folder; of the tokens the first that the job has is sent.

    Raises:
        GitError: git is missing, this is no repository, it has no such remote, or no branch can be called that.
    """
    root = repository_around(folder, asker=spec).root
    ref = f"refs/heads/{branch}"
    if not ref.isprintable() or branch.startswith("-") or run_git(root, "check-ref-format", ref).returncode:
        raise GitError(f"{PREFIX}{shown(branch)}: git takes no branch of this name")
    name = remote_of(root, remote, spec=spec)
    shallow = run_git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
    return Place(spec=spec, root=root, remote=name, shallow=shallow, environment=environment_for(root, name, tokens))


def _quoted(name: str) -> str:
    """A name as one part of a ref, so that `a` and `a/b` do not stand in each other's way."""
    return name.replace("%", "%25").replace("/", "%2F")


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
            return f"whether it is of a later commit ({theirs[:_SHORT]}) cannot be told: {error}"
    return f"it is of a later commit ({theirs[:_SHORT]})" if is_ancestor(ours, theirs) else None


def _fetch_what_came_since(branch: str | None) -> None:
    """Nothing where there is no remote: what is not here is nowhere."""
    place = place_of(branch or "HEAD", None, spec=branch or "HEAD")
    if place.remote != HERE:
        place.fetch(f"refs/heads/{branch}" if branch else "HEAD", branch or "HEAD")
