"""What git has at a commit, through its command line: nothing of the working tree is read, nothing of it is run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from rankgate.errors import Problem, RankgateError, option, shown
from rankgate.files.writing import write_atomic

PATIENCE = 120.0  # seconds that one command of git may take; a blob of a partial clone comes over the network

MAX_ANCESTORS = 10_000  # commits that are looked through for an accepted run
NEAREST = 100  # of them that are looked through first: git writes them one by one, 8 ms for 1,600
Answer = subprocess.CompletedProcess[bytes]  # what one command of git said, and its exit code

LINK, SUBMODULE = "120000", "160000"  # modes of an entry
FOLDER = "tree"  # kind of an entry

# Where a hook or a caller says that the repository lies; ours is the one around the current directory.
_ELSEWHERE = {
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE"),
    *("GIT_REPLACE_REF_BASE", "GIT_CEILING_DIRECTORIES"),
}
_OURS = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    **dict.fromkeys(("GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"), "0"),
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a replaced object is not what was merged
}


class GitError(RankgateError):
    """Git is missing, has no such commit, or cannot read an object: the checkout is at fault, not what lies in it."""

    def __init__(self, message: str) -> None:
        super().__init__([Problem(message)])


class Entry(msgspec.Struct, frozen=True):
    """What a commit's tree has at a path; `kind` is blob, tree, or commit for a submodule."""

    mode: str
    kind: str
    sha: str
    path: str


class Repository(msgspec.Struct, frozen=True):
    """A repository with a working tree; `root` is the tree's absolute path without links."""

    root: str

    def commit(self, ref: str) -> str:
        """The full sha of the commit that a ref names; else a GitError, which says what to fetch in a shallow clone."""
        if not ref.strip() or ref.startswith(("-", "^")) or not ref.isprintable():
            raise GitError(f"{option('base')} {shown(ref)} is no commit; name a branch, a tag or a sha")
        commit = self._commit(ref)
        if commit is None:
            raise GitError(f"{option('base')} {shown(ref)}: {self._why_unknown(ref)}")
        name = re.split(r"[\^~:@]", ref, maxsplit=1)[0]
        is_unambiguous = name in ("HEAD", commit) or name.startswith("refs/")
        if not is_unambiguous and self._commit(f"refs/tags/{name}"):  # git would take the tag, which may be anybody's
            raise GitError(
                f"{option('base')} {shown(ref)} is the name of a tag; write the whole ref, as refs/heads/main, or the "
                "whole sha"
            )
        return commit

    def parents(self, commit: str) -> list[str]:
        """The shas of a commit's parents as it names them, also those that a shallow clone lacks; none of no commit."""
        answer = run_git(self.root, "cat-file", "commit", commit)
        header = answer.stdout.partition(b"\n\n")[0].decode("utf-8", "replace")
        return [line.removeprefix("parent ") for line in header.split("\n") if line.startswith("parent ")]

    def has(self, ref: str) -> bool:
        """Whether a ref of our own, such as HEAD, names a commit."""
        return self._commit(ref) is not None

    def entry(self, commit: str, path: str) -> Entry | None:
        """What a commit has at a path, which is relative to the root; links are not followed. None where nothing is."""
        return next(iter(self.entries(commit, path)), None)

    def entries(self, commit: str, path: str) -> list[Entry]:
        """What a commit has at a path, or in a folder whose path ends in `/`; of an empty path, in the root."""
        arguments = ("ls-tree", "-z", "--full-tree", commit, *(["--", path] if path else []))
        lines = self._names(f"list {shown(path)} at {commit}", *arguments)
        parts = ((about.split(" "), name) for about, _, name in (line.partition("\t") for line in lines))
        return [Entry(mode, kind, sha, name) for (mode, kind, sha), name in parts]

    def files(self, commit: str, endings: tuple[str, ...], most: int) -> dict[str, str]:
        """The blobs of a commit's files, links left out, that end so and have at most so many bytes, by their paths."""
        lines = self._names(f"list {commit}", "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        blobs: dict[str, str] = {}
        for about, _, path in (line.partition("\t") for line in lines):
            mode, kind, sha, size = about.split()
            if kind == "blob" and mode != LINK and path.lower().endswith(endings) and int(size) <= most:
                blobs[path] = sha
        return blobs

    def contents(self, blobs: Iterable[str]) -> Iterator[bytes]:
        """The bytes of blobs, in their order, by one process."""
        names = "".join(f"{blob}\n" for blob in blobs).encode()
        if names:
            yield from batched(self._output("read objects", "cat-file", "--batch", given=names))

    def new_links(self, before: str, after: str) -> list[str]:
        """The paths that are links at one commit, and were none or others at another."""
        arguments = ("diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AMT", before, after)
        parts = self._names(f"compare {before} and {after}", *arguments)
        return [path for about, path in zip(parts[::2], parts[1::2], strict=True) if about.split(" ")[1] == LINK]

    def _names(self, task: str, *arguments: str) -> list[str]:
        """What a command lists, separated by NUL."""
        return self._output(task, *arguments).decode("utf-8", "surrogateescape").split("\0")[:-1]

    def _output(self, task: str, *arguments: str, given: bytes = b"", to: BinaryIO | None = None) -> bytes:
        """What a command prints; a GitError where its exit code says that it could not."""
        answer = run_git(self.root, *arguments, given=given, to=to)
        if answer.returncode:
            raise GitError(f"git cannot {task}: {stderr_of(answer)}")
        return answer.stdout

    def write(self, blob: str, file: BinaryIO) -> None:
        """Write a blob's bytes as they are stored, untouched by filters; a GitError where git cannot fetch it."""
        self._output(f"read the object {blob}", "cat-file", "blob", blob, to=file)

    def size(self, blob: str) -> int:
        """How many bytes a blob has."""
        return int(run_git(self.root, "cat-file", "-s", blob).stdout)

    def text(self, blob: str) -> str:
        """A small blob as text, as of a link."""
        return run_git(self.root, "cat-file", "blob", blob).stdout.decode("utf-8", "surrogateescape")

    def _commit(self, ref: str) -> str | None:
        answer = run_git(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        return answer.stdout.decode().strip() if not answer.returncode else None

    def _why_unknown(self, ref: str) -> str:
        if self._commit(f"refs/remotes/origin/{ref}"):
            return f"no such branch here; did you mean {shown(f'origin/{ref}')}?"
        if run_git(self.root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
            return (
                "this is a shallow clone without that commit; fetch the whole history, with actions/checkout by "
                "`fetch-depth: 0`, or `git fetch origin` that commit"
            )
        return "no such commit in this repository; fetch it, with actions/checkout by `fetch-depth: 0`"

    def ancestors(self, wanted: Collection[str], base: str | None = None) -> list[str]:
        """The commit where HEAD left the base, and those before it, the nearest first, up to a wanted one at least.

        Without a base HEAD itself is the first. In a shallow clone that lacks the common commit it is the base's own.
        Where none of the wanted is among them it is all that are here.
        """
        start = "HEAD"
        if base is not None and (tip := self._commit(base)) is not None:
            common = run_git(self.root, "merge-base", "HEAD", tip)
            start = common.stdout.decode().strip() if not common.returncode else tip
        commits: list[str] = []
        for most in (NEAREST, MAX_ANCESTORS):
            listed = run_git(self.root, "rev-list", f"--max-count={most}", start, "--")
            commits = listed.stdout.decode().split() if not listed.returncode else []
            if len(commits) < most or not set(commits).isdisjoint(wanted):
                break
        return commits

    def branch(self) -> str | None:
        """The branch that is checked out; None where none is."""
        answer = run_git(self.root, "symbolic-ref", "--quiet", "--short", "HEAD")
        return answer.stdout.decode("utf-8", "replace").strip() or None


def batched(output: bytes) -> Iterator[bytes]:
    """The contents that `git cat-file --batch` has written; a GitError where one is missing."""
    rest = memoryview(output)
    while rest:
        end = bytes(rest[:200]).index(b"\n")
        about = bytes(rest[:end]).split()
        if len(about) != 3:  # noqa: PLR2004 -- sha, kind and size; else it is missing
            raise GitError(f"git cannot read an object: {about}")
        start = end + 1
        size = int(about[2])
        yield bytes(rest[start : start + size])
        rest = rest[start + size + 1 :]


def is_ancestor(one: str, other: str, *, folder: str = ".") -> bool:
    """Whether a commit of the repository around a folder is another or lies before it; False where nobody knows."""
    try:
        return not run_git(folder, "merge-base", "--is-ancestor", one, other).returncode
    except GitError:
        return False


def known_ancestors(wanted: Collection[str], base: str | None = None, *, at: str = ".") -> list[str]:
    """The ancestors around a directory, up to a wanted one; none where there is no repository or no git."""
    try:
        return repository_around(at).ancestors(wanted, base)
    except GitError:
        return []


def repository_around(folder: str, *, asker: str | None = None) -> Repository:
    """The repository whose working tree a folder lies in.

    Raises:
        GitError: git is missing, or there is none; it names `asker`, what needs one.
    """
    asker = asker or option("base")
    answer = run_git(folder, "rev-parse", "--show-toplevel", asker=asker)
    root = os.path.realpath(answer.stdout.decode("utf-8", "surrogateescape").rstrip("\n"))
    # Files of a commit can look like a repository of their own, but none is called `.git`.
    if answer.returncode == 0 and os.path.lexists(f"{root}/.git"):
        return Repository(root)
    why = stderr_of(answer)
    if "dubious ownership" in why:
        trusting = f"git config --global --add safe.directory {shlex.quote(why.partition(' at ')[2][1:-1])}"
        raise GitError(f"{asker}: git does not trust a directory which another user owns; run `{trusting}` first")
    if "must be run in a work tree" in why:
        raise GitError(f"{asker} needs a working tree; this is a bare repository or a .git directory")
    raise GitError(f"{asker} reads files at a commit, and this is not a git repository; check it out with git")


def ignore_beside(path: str, *, folder: str = ".") -> bool:
    """Let git ignore a file, and what has its name and more, by `.gitignore` of the folder; whether anything was added.

    Nothing is added without a repository, of what git tracks or ignores already, and of what lies elsewhere.
    """
    name = Path(os.path.relpath(path, folder)).as_posix()
    file = Path(folder, ".gitignore")
    try:
        repository_around(folder)
        tracked = run_git(folder, "ls-files", "--", name).stdout
        names = f"{name}\0{name}.failed\0".encode()
        literal = {"GIT_LITERAL_PATHSPECS": "0"}  # check-ignore takes names alone, and refuses to be told so
        ignored = run_git(folder, "check-ignore", "--stdin", "-z", given=names, environment=literal)
    except GitError:
        return False
    if tracked or ignored.stdout.count(b"\0") > 1 or name.startswith("../") or "\n" in name or file.is_symlink():
        return False
    escaped = re.sub(r"([\\*?\[ ])", r"\\\1", name)
    lines = [f"/{escaped}*"] if Path(name).suffix else [f"/{escaped}", f"/{escaped}.*"]  # run* would be runner.py, too
    before = file.read_bytes() if file.exists() else b""
    if set(lines) <= {line.rstrip() for line in before.decode("utf-8", "replace").splitlines()}:
        return False
    start = b"\n" if before and not before.endswith(b"\n") else b""
    write_atomic(file, before + start + "".join(f"{line}\n" for line in lines).encode())
    return True


def run_git(
    folder: str,
    *arguments: str,
    given: bytes = b"",
    to: BinaryIO | None = None,
    patience: float = PATIENCE,
    environment: Mapping[str, str] = {},
    asker: str | None = None,
) -> Answer:
    """Run git in a folder, without a shell, prompts or a pager, and wait for it so many seconds.

    It reads what is `given`. Its output goes `to` a file where one is named, else into the result. Variables of the
    `environment`, which no list of processes shows, are beside the caller's own. `asker` is what needs git, for the
    error; by default the option that names the base.

    Raises:
        GitError: git is not installed, or did not end in time.
    """
    command = ["git", "-C", folder, *arguments]
    kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    try:
        return subprocess.run(  # noqa: S603 -- a list of arguments, and refs are refused where they look like options
            command,
            input=given,
            stdout=to or subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**kept, **_OURS, **environment},
            timeout=patience,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitError(f"{asker or option('base')} needs git, which is not installed or not on the PATH") from error
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"`git {arguments[0]}` did not end within {patience:g} seconds") from error


def stderr_of(answer: Answer) -> str:
    """What git complained of, on one line."""
    lines = answer.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else f"exit code {answer.returncode}"
