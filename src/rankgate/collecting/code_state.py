"""Which code a run was recorded with, as it states itself, and whether the files here are still that code.

What a run says of its code can only make a verdict worse. A recording states the commit, what differed from it then,
and, of a function, which files of the repository it imported.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import Any

import msgspec

from rankgate.errors import RankgateError
from rankgate.files.git import GitError, Repository, is_ancestor, repository_around, run_git
from rankgate.model.base_ref import CommitSha
from rankgate.model.conclusion import OtherCode
from rankgate.model.lineage import RECORDING

# What lies beside a run that is recorded.
PARTIAL = ".partial"
FAILED = ".failed"
DIGITS = 12  # of the commit: enough for any repository, and still readable
CHANGED = "+changes"
_UNTRACKED = "??"  # the state of a file that git does not know
_PATIENCE = 20.0  # seconds; a recording must not wait for a slow disk to know its own name
_MOST = 1_000  # changed files that a run states; of more it says nothing
_LARGE = 20_000_000  # bytes; a larger file goes by size and time
_MOVES = "1000"  # of a branch, in its log
_OURS = Path(__file__).parents[1]
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class CodeFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Which files of a repository count: those that patterns name, else all but the `excluded`; never the run's own.

    Paths are relative to the repository's root.
    """

    run: str
    patterns: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def counts(self, path: str, imported: Sequence[str] | None = None) -> bool:
        """Whether a change of this file changes the code; of a function by what it imported."""
        if path.startswith("/") or ".." in path.split("/"):
            return False
        run_files = {self.run, *(self.run + suffix for suffix in (PARTIAL, FAILED))}
        if path in run_files or path.endswith(".pyc") or "__pycache__" in path.split("/"):
            return False
        if imported is not None and path in imported:
            return True
        if self.patterns:
            return is_named(path, self.patterns)
        return imported is None and not any(path == each or path.startswith(f"{each}/") for each in self.excluded)


def is_named(path: str, patterns: Sequence[str]) -> bool:
    """Whether patterns name a file: by the last that fits, which after `!` says that they do not."""
    named = patterns[0].startswith("!")
    for pattern in patterns:
        bare = pattern.removeprefix("!").removeprefix("./").rstrip("/")
        forms = {bare, f"{bare}/*", bare.replace("**/", "")}
        if bare in ("", ".") or any(fnmatchcase(path, form) for form in forms):
            named = not pattern.startswith("!")
    return named


class CodeState(msgspec.Struct, frozen=True, kw_only=True):
    """The commit of a checkout, the digests of what differs from it by path, and whether files that git knows do.

    `changed` is None where too many files differ.
    """

    root: str
    commit: str
    changed: Mapping[str, str] | None
    edited: bool

    @property
    def version(self) -> str:
        """The commit as runs state it."""
        return self.commit[:DIGITS] + (CHANGED if self.edited else "")

    def digest(self, files: CodeFiles) -> str | None:
        """One text for all of it, as far as it counts; None where too many files differ."""
        if self.changed is None:
            return None
        kept = {path: digest for path, digest in self.changed.items() if files.counts(path)}
        return hashlib.sha256(json.dumps([self.commit, kept], sort_keys=True).encode()).hexdigest()[:DIGITS]


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What a run states of its making: `retriever` is the digest of what was asked."""

    commit: CommitSha
    clean: bool
    changed: dict[str, str] | None
    retriever: str
    begin: str
    end: str
    imported: list[str] | None = None


class Making(msgspec.Struct, frozen=True, kw_only=True):
    """A recording that has begun: of which code, and whether that is a function's in this process."""

    state: CodeState
    files: CodeFiles
    retriever: str
    is_function: bool
    begin: str

    def ended(self) -> Recording:
        """What the run states, now that it is done."""
        return Recording(
            commit=self.state.commit,
            clean=self.state.changed == {},
            changed=None if self.state.changed is None else dict(self.state.changed),
            retriever=self.retriever,
            begin=self.begin,
            end=now(),
            imported=_imported(self.state.root) if self.is_function else None,
        )


def now() -> str:
    """The time in UTC."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


def code_state(output: str) -> CodeState | None:
    """What is checked out; `output`, the run to be written, is no part of it.

    None outside of a repository, before its first commit and without git: a recording never fails for this.
    """
    try:
        repository = repository_around(".")
        commit = repository.commit("HEAD")
        options = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
        status = run_git(repository.root, "status", *options, patience=_PATIENCE)
    except GitError:
        return None
    if status.returncode:
        return CodeState(root=repository.root, commit=commit, changed=None, edited=True)
    files = CodeFiles(run=inside(repository.root, output))
    entries = [entry for entry in status.stdout.decode("utf-8", "surrogateescape").split("\0") if entry]
    states = {entry[3:]: entry[:2] for entry in entries if files.counts(entry[3:])}  # `XY` of git status, by path
    changed = None
    if len(states) <= _MOST:
        changed = {path: _digest(repository.root, path) for path in states}
    edited = any(state != _UNTRACKED for state in states.values())
    return CodeState(root=repository.root, commit=commit, changed=changed, edited=edited)


def digest_here(run: str) -> str | None:
    """The digest of all code that lies here; None where nobody can tell."""
    state = code_state(run)
    return state.digest(CodeFiles(run=inside(state.root, run))) if state else None


def why_not_resumed(partial: str, state: str | None) -> str | None:
    """Why what an interrupted recording left does not count, however it looks; None where it may be ours.

    A pull request can bring such a file, which would answer in place of the retriever. `state` is the digest of the
    code that lies here. Where there is no repository no commit can have it.
    """
    if not os.path.lexists(partial):
        return None  # and git is not asked
    folder = os.path.dirname(partial) or "."  # noqa: PTH120 -- as it is typed
    try:
        if state is None and _repository(".") is not None:
            return "is of code that git cannot tell"
        around = _repository(folder) if Path(folder).is_dir() else None
        if around and around.entry("HEAD", inside(around.root, partial)):
            return "is a file of the commit"
    except RankgateError as error:
        return f"may be a file of the commit ({error})"
    return None


def _repository(folder: str) -> Repository | None:
    """The repository around a folder; None where there is none, or no commit yet."""
    absolute = Path(folder).absolute()
    answer = run_git(folder, "rev-parse", "--git-dir")
    if answer.returncode and not any(os.path.lexists(each / ".git") for each in (absolute, *absolute.parents)):
        return None
    repository = repository_around(folder)
    return repository if repository.has("HEAD") else None


def repository_here() -> Repository | None:
    """The repository around the current directory, if there is one."""
    try:
        return repository_around(".")
    except GitError:
        return None


def inside(root: str, path: str) -> str:
    """A path as the repository has it; one that lies elsewhere begins with `..`."""
    return Path(os.path.relpath(os.path.realpath(path), root)).as_posix()


class Present(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is compared with: the files that count, the digest of the block and the file that holds it.

    `accepted` is what the accepted run states of its making, `branch` the one that accepted it.
    """

    files: CodeFiles
    retriever: str | None
    criteria: str
    accepted: Recording | None
    branch: str | None


def stated_in(about: Mapping[str, Any]) -> Recording | None:
    """What a run states of its making; None where it states nothing that can be read."""
    try:
        return msgspec.convert(about.get(RECORDING), Recording)
    except msgspec.ValidationError:
        return None


def other_code(recording: Recording, present: Present, repository: Repository) -> OtherCode | None:
    """Why a run is not of the code that lies in a repository; None where it is, or where nobody can tell.

    It is compared where its commit is HEAD, lies before it, or was the tip of this branch (before an amend or a
    rebase).
    """
    try:
        if not _is_ours(repository, recording.commit):
            return None
        paths = _changed(repository, recording, present.files)
    except GitError:
        return None
    if present.retriever not in (None, recording.retriever):
        paths.append(present.criteria)
    if paths:
        return OtherCode(commit=recording.commit, path=paths[0], more=len(paths) - 1)
    if recording == present.accepted and present.branch:
        here = os.environ.get("GITHUB_REF_NAME") or repository.branch()
        if here and present.branch != here:
            return OtherCode(commit=recording.commit, same_as_accepted=True)
    return None


def _is_ours(repository: Repository, commit: str) -> bool:
    if is_ancestor(commit, "HEAD", folder=repository.root):
        return True
    if (branch := repository.branch()) is None:
        return False
    log = run_git(repository.root, "rev-list", "--walk-reflogs", f"--max-count={_MOVES}", f"refs/heads/{branch}", "--")
    return not log.returncode and commit in log.stdout.decode().split()


def _changed(repository: Repository, recording: Recording, files: CodeFiles) -> list[str]:
    """The files that count and are not what they were, by name."""
    if recording.changed is None:
        return []
    diff = ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", recording.commit)
    names = {*_names(repository, *diff), *recording.changed}
    if files.patterns:  # what is new and git does not know counts where it is named
        names |= {*_names(repository, "ls-files", "-z", "--others", "--exclude-standard")}
    then = recording.changed
    counting = (path for path in sorted(names) if files.counts(path, recording.imported))
    return [path for path in counting if path not in then or then[path] != _digest(repository.root, path)]


def _names(repository: Repository, *arguments: str) -> list[str]:
    answer = run_git(repository.root, *arguments)
    if answer.returncode:
        raise GitError(f"git cannot {arguments[0]}")
    return answer.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _digest(root: str, path: str) -> str:
    """Twelve digits of a file or a link; nothing where there is none."""
    file = Path(root, path)
    with suppress(OSError):
        if file.is_symlink():
            return hashlib.sha256(os.fsencode(file.readlink())).hexdigest()[:DIGITS]
        about = file.stat()
        if not S_ISREG(about.st_mode):
            return ""
        if about.st_size > _LARGE:
            return f"{about.st_size}-{about.st_mtime_ns}"
        return hashlib.sha256(file.read_bytes()).hexdigest()[:DIGITS]
    return ""


def _imported(root: str) -> list[str]:
    """The files of a repository that this process imported."""
    real_folder = cache(os.path.realpath)  # a thousand modules lie in a hundred folders
    files = {getattr(module, "__file__", None) for name, module in [*sys.modules.items()] if name != "__main__"}
    ours: set[str] = set()
    for folder, name in (os.path.split(file) for file in files if isinstance(file, str)):
        file = Path(real_folder(folder), name)
        real = Path(os.path.realpath(file)) if file.is_symlink() else file
        if real.is_relative_to(root) and not real.is_relative_to(_OURS) and _INSTALLED.isdisjoint(real.parts):
            ours.add(real.relative_to(root).as_posix())
    return sorted(ours)
