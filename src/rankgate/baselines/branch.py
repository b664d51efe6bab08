"""Runs on a branch of their own: read at its tip, written as a commit on top of it and pushed without force.

Nothing of the user's is touched: what was fetched lies under `refs/rankgate/`. Nothing is decided by a commit's time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import msgspec

from rankgate.baselines.clones import HERE, PATIENCE, PREFIX, Clone, clone_of, is_held, lock_of, locked, outrun
from rankgate.baselines.memory import ENTRY, FOLDERS, Memory
from rankgate.baselines.records import LOGS
from rankgate.errors import bad_input
from rankgate.files.git import FOLDER, Answer, Entry, GitError, is_ancestor

DEFAULT_BRANCH = "rankgate-baselines"
# Seconds after somebody else was quicker.
FIRST_WAIT = 0.05
LONGEST_WAIT = 0.5

_FILE = "100644"
_FOLDER = "040000"
_BLOB = "blob"
_NAME = "rankgate"
_EMAIL = "rankgate@users.noreply.github.com"
Entries = Mapping[str, Entry]


class _Tip(msgspec.Struct, frozen=True):
    """The branch as it was last seen: its root, foreign files too, and our folders; no commit where there is none."""

    commit: str | None = None
    root: Entries = {}
    folders: Mapping[str, Entries] = {}


class BranchPlace:
    """The folders on a branch, at a remote or here: `.`, or None for origin, or for here without any remote."""

    every_run = True
    has_strays = False

    def __init__(self, branch: str = DEFAULT_BRANCH, remote: str | None = None) -> None:
        self.branch = branch
        self.remote = remote
        self._tip: _Tip | None = None
        self._lost = 0
        self._locked_at: float | None = None  # since when every attempt has met a lock

    @property
    def spec(self) -> str:
        """`git+branch:NAME`, and the remote where one was named."""
        return PREFIX + self.branch + (f"@{self.remote}" if self.remote is not None else "")

    def refresh(self) -> None:
        """Fetch the branch, and nothing else."""
        if self._clone.remote == HERE:
            answer = self._clone.git("rev-parse", "--verify", "--quiet", f"refs/heads/{self.branch}")
            commit = answer.stdout.decode().strip() or None
        else:
            commit = self._fetched_tip()
        if self._tip is None or self._tip.commit != commit:
            self._tip = self._tip_at(commit) if commit else _Tip()

    def names(self, folder: str) -> Sequence[str]:
        """A folder at the tip."""
        return list(self._seen().folders.get(folder, ()))

    def read(self, names: Sequence[str], *, exact: bool = False) -> Mapping[str, bytes]:
        """Files at the tip, as they are stored, by one process."""
        del exact
        entries: dict[str, Entry] = {}
        for name in names:
            folder, _, file = name.partition("/")
            entry = self._seen().folders.get(folder, {}).get(file)
            if entry is not None:
                if entry.kind != _BLOB or not entry.mode.startswith("100"):
                    raise self._edited(f"{name} is no file there")
                entries[name] = entry
        if not entries:
            return {}
        what = f"{len(entries):,} files of the branch"
        if len(entries) == 1:
            [what] = entries
        blobs = self._clone.blobs(what, [entry.sha for entry in entries.values()])
        return dict(zip(entries, blobs, strict=True))

    def create(self, files: Mapping[str, bytes], message: str) -> bool:
        """Put a commit with them on top of the branch as last seen."""
        changes: dict[str, str | None] = {}
        for name, data in files.items():
            changes[name] = self._clone.object_of("hash-object", "-w", "--stdin", given=data)
        return self._commit(changes, message)

    def delete(self, names: Collection[str], message: str) -> bool:
        """Put a commit without them on top of the branch as last seen; they stay in git's own history."""
        return self._commit(dict.fromkeys(names), message)

    def _commit(self, changes: Mapping[str, str | None], message: str) -> bool:
        """Put a commit with these files (a blob for a path, None for one to delete) on the branch as last seen.

        False where somebody else has moved the branch, after a wait that is longer each time.
        """
        tip = self._seen()
        root = dict(tip.root)
        folders = dict(tip.folders)
        for folder in {name.partition("/")[0] for name in changes}:
            entries = dict(folders.get(folder, {}))
            for path, blob in changes.items():
                of, _, name = path.partition("/")
                if of == folder and blob is None:
                    entries.pop(name, None)
                elif of == folder and blob is not None:
                    entries[name] = Entry(_FILE, _BLOB, blob, name)
            folders[folder] = entries
            root.pop(folder, None)
            if entries:
                root[folder] = Entry(_FOLDER, FOLDER, self._tree(entries), folder)
        parent = ["-p", tip.commit] if tip.commit else []
        commit = self._clone.object_of(
            *("commit-tree", self._tree(root), *parent, "-F", "-"),
            given=f"{message}\n".encode(),
            environment=self._identity(),
        )
        outrun_by = self._moved_here(commit, tip) if self._clone.remote == HERE else self._pushed(commit, tip)
        if outrun_by is None:
            self._tip = _Tip(commit, root, folders)
            self._lost = 0
            self._locked_at = None
            return True
        lock = lock_of(outrun_by)
        self._locked_at = (self._locked_at or time.monotonic()) if lock else None
        if lock and self._locked_at and time.monotonic() - self._locked_at > PATIENCE:
            raise locked(self.spec, lock)
        time.sleep(min(FIRST_WAIT * 2**self._lost, LONGEST_WAIT))
        self._lost = min(self._lost + 1, 10)
        return False

    def _tree(self, entries: Entries) -> str:
        listed = "".join(f"{entry.mode} {entry.kind} {entry.sha}\t{name}\0" for name, entry in entries.items())
        # What stays may be known by name alone, as in a partial clone.
        return self._clone.object_of("mktree", "-z", "--missing", given=listed.encode("utf-8", "surrogateescape"))

    @cached_property
    def _clone(self) -> Clone:
        return clone_of(self.branch, self.remote, spec=self.spec)

    def _seen(self) -> _Tip:
        if self._tip is None:
            self.refresh()
        return self._tip or _Tip(None, {})

    def _fetched_tip(self, depth: int = 1) -> str | None:
        """The remote's tip. In a shallow clone no more than that is fetched; a whole one must not become shallow."""
        clone = self._clone
        options = [f"--depth={depth}"] if clone.shallow else []
        ref = clone.fetch(f"refs/heads/{self.branch}", self.branch, *options)
        return clone.object_of("rev-parse", "--verify", ref) if ref else None

    def _tip_at(self, commit: str) -> _Tip:
        """What the tip has, once it is sure that it is ours: it has a log of ours, and no merge has dropped records."""
        header = self._clone.read("the branch", "cat-file", "commit", commit).split(b"\n\n", 1)[0]
        root = self._entries(commit)
        ours = [root[name] for name in FOLDERS if name in root]
        folders = {entry.path: self._entries(entry.sha) for entry in ours if entry.kind == FOLDER}
        if not any(ENTRY.fullmatch(name) for log in LOGS for name in folders.get(log, ())):
            why = "this branch exists and holds no baselines; it is left as it is, choose another name"
            raise GitError(f"{self.spec}: {why}")
        if header.count(b"\nparent ") > 1:
            raise self._edited(f"it ends in a merge ({commit[:7]}); undo that with `git revert -m 1 {commit[:7]}`")
        return _Tip(commit, root, folders)

    def _entries(self, tree: str) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for line in filter(None, self._clone.read("the branch", "ls-tree", "-z", "--full-tree", tree).split(b"\0")):
            about, _, name = line.decode("utf-8", "surrogateescape").partition("\t")
            mode, kind, sha = about.split(" ")
            entries[name] = Entry(mode, kind, sha, name)
        return entries

    def _pushed(self, commit: str, tip: _Tip) -> Answer | None:
        """None where the remote has the commit, also where it was gone before it said so; else what git answered."""
        options = ("--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
        clone = self._clone
        answer = clone.git("push", *options, clone.remote, f"{commit}:refs/heads/{self.branch}")
        if not answer.returncode:
            return None
        if outrun(answer):
            return answer
        why, final = clone.refusal_of(answer)
        if final:
            raise GitError(f"{self.spec}: the push to {clone.remote} was refused: {why}")
        try:
            now = self._fetched_tip(depth=100)
        except GitError as error:
            raise GitError(f"{self.spec}: {clone.remote} may have the push or not: {why}; start again") from error
        if now is None or now == tip.commit:
            raise GitError(f"{self.spec}: the push to {clone.remote} failed: {why}")
        return None if is_ancestor(commit, now, folder=clone.root) else answer

    def _moved_here(self, commit: str, tip: _Tip) -> Answer | None:
        """None where the branch, of this repository, has the commit; git's answer where it was moved or is locked."""
        ref = f"refs/heads/{self.branch}"
        trees = self._clone.git("worktree", "list", "--porcelain").stdout.splitlines()
        if f"branch {ref}".encode() in trees:
            raise GitError(f"{self.spec}: this branch is checked out; switch to another one first")
        answer = self._clone.git("update-ref", "--no-deref", ref, commit, tip.commit or "0" * len(commit))
        if answer.returncode and not is_held(answer):
            raise GitError(f"{self.spec}: cannot be written: {self._clone.complaint(answer)}")
        return answer if answer.returncode else None

    def _identity(self) -> dict[str, str]:
        """Nothing where the user has a name and an address, ours for what is missing; never the machine's name."""
        roles = ("AUTHOR", "COMMITTER")
        only = ("-c", "user.useConfigOnly=true")
        if not any(self._clone.git(*only, "var", f"GIT_{who}_IDENT").returncode for who in roles):
            return {}
        ours = {f"GIT_{who}_{what}": value for who in roles for what, value in (("NAME", _NAME), ("EMAIL", _EMAIL))}
        return {name: os.environ.get(name) or default for name, default in ours.items()}

    def _edited(self, how: str) -> GitError:
        return GitError(f"{self.spec}: somebody edited this branch by hand: {how}; nothing was written")


def branch_memory(spec: str) -> Memory:
    """The memory that `git+branch:NAME` or `git+branch:NAME@REMOTE` names; without a name, on the default branch."""
    branch, at, remote = spec.removeprefix(PREFIX).rpartition("@")
    if at and ":" in spec.removeprefix(PREFIX):  # neither name can hold one, an address with a password does
        raise bad_input("takes the name of a branch and that of a remote, and no address", file=f"{PREFIX}NAME@REMOTE")
    return Memory(BranchPlace(branch or DEFAULT_BRANCH, remote) if at else BranchPlace(remote or DEFAULT_BRANCH))
