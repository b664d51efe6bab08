"""A tree of files on a branch of its own: read at its tip, written as a commit on top of it and pushed without force.

Nothing of the user's is touched: what was fetched lies under `refs/rankgate/`. Nothing is decided by a commit's time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property

import msgspec

from rankgate.baselines.git_place import HERE, PATIENCE, PREFIX, Place, held, lock_of, locked, outrun, place_of
from rankgate.baselines.packing import RUN
from rankgate.baselines.records import LOGS
from rankgate.baselines.tree import MANIFEST, TreeMemory, log_name
from rankgate.errors import bad_input
from rankgate.files.git import Answer, Entry, GitError, is_ancestor

DEFAULT_BRANCH = "rankgate-baselines"
FIRST_WAIT, LONGEST_WAIT = 0.05, 0.5  # seconds after somebody else was quicker

_FILE, _BLOB = "100644", "blob"
_NAME, _EMAIL = "rankgate", "rankgate@users.noreply.github.com"


class _Tip(msgspec.Struct, frozen=True):
    """The branch as it was last seen; no commit where there is no such branch."""

    commit: str | None
    files: Mapping[str, Entry]


class GitBranchTree:
    """The files of a branch, at a remote or here: `.`, or None for origin, or for here without any remote."""

    def __init__(self, branch: str = DEFAULT_BRANCH, remote: str | None = None) -> None:
        self.branch, self.remote = branch, remote
        self._tip: _Tip | None = None
        self._read_already: dict[str, bytes] = {}
        self._lost = 0
        self._locked_at: float | None = None  # since when every attempt has met a lock

    @property
    def spec(self) -> str:
        """`git+branch:NAME`, and the remote where one was named."""
        return PREFIX + self.branch + (f"@{self.remote}" if self.remote is not None else "")

    def refresh(self) -> None:
        """Fetch the branch, and nothing else."""
        if self._place.remote == HERE:
            answer = self._place.git("rev-parse", "--verify", "--quiet", f"refs/heads/{self.branch}")
            commit = answer.stdout.decode().strip() or None
        else:
            commit = self._fetched_tip()
        self._tip = _Tip(commit, self._files(commit) if commit else {})
        self._read_already.clear()

    def names(self) -> list[str]:
        """What lies on the branch, foreign files too."""
        return list(self._seen().files)

    def read(self, name: str) -> bytes | None:
        """A file as it is stored, or None where there is none."""
        entry = self._seen().files.get(name)
        if entry is None:
            return None
        if entry.kind != _BLOB or not entry.mode.startswith("100"):
            raise self._edited(f"{name} is no file there")
        if entry.sha in self._read_already:
            return self._read_already[entry.sha]
        data = self._place.read(f"{name} (object {entry.sha})", "cat-file", "blob", entry.sha)
        if not RUN.fullmatch(name):  # logs are asked for again and again
            self._read_already[entry.sha] = data
        return data

    def tail(self, name: str, size: int) -> bytes:
        """The last bytes of a file. Git reads an object as a whole; what costs is to understand its lines."""
        return (self.read(name) or b"")[-size:]

    def commit(self, writes: Mapping[str, bytes], deletes: Collection[str], message: str) -> bool:
        """Put a commit on top of the branch as last seen; False, a moment later each time, where that has moved."""
        tip = self._seen()
        files = {name: entry for name, entry in tip.files.items() if name not in deletes}
        for name, data in writes.items():
            blob = self._place.made("hash-object", "-w", "--stdin", given=data)
            files[name] = Entry(_FILE, _BLOB, blob, name)
        listed = "".join(f"{entry.mode} {entry.kind} {entry.sha}\t{name}\0" for name, entry in files.items())
        # What stays may be known by name alone, as in a partial clone.
        tree = self._place.made("mktree", "-z", "--missing", given=listed.encode("utf-8", "surrogateescape"))
        parent = ["-p", tip.commit] if tip.commit else []
        text = f"{message}\n".encode()
        made = self._place.made("commit-tree", tree, *parent, "-F", "-", given=text, environment=self._identity())
        outrun_by = self._moved_here(made, tip) if self._place.remote == HERE else self._pushed(made, tip)
        if outrun_by is None:
            self._tip, self._lost, self._locked_at = _Tip(made, files), 0, None
            return True
        lock = lock_of(outrun_by)
        self._locked_at = (self._locked_at or time.monotonic()) if lock else None
        if lock and self._locked_at and time.monotonic() - self._locked_at > PATIENCE:
            raise locked(self.spec, lock)
        time.sleep(min(FIRST_WAIT * 2**self._lost, LONGEST_WAIT))
        self._lost = min(self._lost + 1, 10)
        return False

    def still(self) -> AbstractContextManager[None]:
        """What was read is of one commit, whoever writes the next."""
        return nullcontext()

    @cached_property
    def _place(self) -> Place:
        return place_of(self.branch, self.remote, spec=self.spec)

    def _seen(self) -> _Tip:
        if self._tip is None:
            self.refresh()
        return self._tip or _Tip(None, {})

    def _fetched_tip(self, depth: int = 1) -> str | None:
        """The remote's tip. In a shallow clone no more than that is fetched; a whole one must not become shallow."""
        place = self._place
        ref = place.fetch(f"refs/heads/{self.branch}", self.branch, *([f"--depth={depth}"] if place.shallow else []))
        return place.made("rev-parse", "--verify", ref) if ref else None

    def _files(self, commit: str) -> dict[str, Entry]:
        """What the tip has, once it is sure that it is ours: it has a log of ours, and no merge has dropped records."""
        header = self._place.read("the branch", "cat-file", "commit", commit).split(b"\n\n", 1)[0]
        files: dict[str, Entry] = {}
        for line in filter(None, self._place.read("the branch", "ls-tree", "-z", "--full-tree", commit).split(b"\0")):
            about, _, name = line.decode("utf-8", "surrogateescape").partition("\t")
            mode, kind, blob = about.split(" ")
            files[name] = Entry(mode, kind, blob, name)
        accepted = MANIFEST in files and any(map(RUN.fullmatch, files))
        if not accepted and not any(log_name(log) in files for log in LOGS):
            why = "this branch exists and holds no baselines; it is left as it is, choose another name"
            raise GitError(f"{self.spec}: {why}")
        if header.count(b"\nparent ") > 1:
            raise self._edited(f"it ends in a merge ({commit[:7]}); undo that with `git revert -m 1 {commit[:7]}`")
        return files

    def _pushed(self, commit: str, tip: _Tip) -> Answer | None:
        """None where the remote has the commit, also where it was gone before it said so; else what git answered."""
        options = ("--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
        place = self._place
        found = place.git("push", *options, place.remote, f"{commit}:refs/heads/{self.branch}")
        if not found.returncode:
            return None
        if outrun(found):
            return found
        why, final = place.refusal_of(found)
        if final:
            raise GitError(f"{self.spec}: the push to {place.remote} was refused: {why}")
        try:
            now = self._fetched_tip(depth=100)
        except GitError as error:
            raise GitError(f"{self.spec}: {place.remote} may have the push or not: {why}; start again") from error
        if now is None or now == tip.commit:
            raise GitError(f"{self.spec}: the push to {place.remote} failed: {why}")
        return None if is_ancestor(commit, now, folder=place.root) else found

    def _moved_here(self, commit: str, tip: _Tip) -> Answer | None:
        """As `_pushed`, for a branch of this repository."""
        ref = f"refs/heads/{self.branch}"
        trees = self._place.git("worktree", "list", "--porcelain").stdout.splitlines()
        if f"branch {ref}".encode() in trees:
            raise GitError(f"{self.spec}: this branch is checked out; switch to another one first")
        found = self._place.git("update-ref", "--no-deref", ref, commit, tip.commit or "0" * len(commit))
        if found.returncode and not held(found):
            raise GitError(f"{self.spec}: cannot be written: {self._place.said(found)}")
        return found if found.returncode else None

    def _identity(self) -> dict[str, str]:
        """Nothing where the user has a name and an address, ours for what is missing; never the machine's name."""
        roles, only = ("AUTHOR", "COMMITTER"), ("-c", "user.useConfigOnly=true")
        if not any(self._place.git(*only, "var", f"GIT_{who}_IDENT").returncode for who in roles):
            return {}
        ours = {f"GIT_{who}_{what}": own for who in roles for what, own in (("NAME", _NAME), ("EMAIL", _EMAIL))}
        return {name: os.environ.get(name) or value for name, value in ours.items()}

    def _edited(self, how: str) -> GitError:
        return GitError(f"{self.spec}: somebody edited this branch by hand: {how}; nothing was written")


def branch_memory(spec: str) -> TreeMemory:
    """The memory that `git+branch:NAME` or `git+branch:NAME@REMOTE` names; without a name, on the usual branch."""
    branch, at, remote = spec.removeprefix(PREFIX).rpartition("@")
    if at and ":" in spec.removeprefix(PREFIX):  # neither name can hold one, an address with a password does
        raise bad_input("takes the name of a branch and that of a remote, and no address", file=f"{PREFIX}NAME@REMOTE")
    tree = GitBranchTree(branch or DEFAULT_BRANCH, remote) if at else GitBranchTree(remote or DEFAULT_BRANCH)
    return TreeMemory(tree, left_over=0)
