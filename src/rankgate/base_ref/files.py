"""Files as a commit has them, copied out of git into a temporary directory, and named so that nobody sees that."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, RankgateError, bad_input, option, shown
from rankgate.files.git import FOLDER, LINK, SUBMODULE, Entry, GitError, Repository, repository_around, run_git, said
from rankgate.model.base_ref import Commit
from rankgate.readers.source import STDIN, open_source, shown_path

MAX_LINKS = 20  # that one path may follow
DOCUMENTS = (".yaml", ".yml", ".json")  # how files that may be criteria end
AT_ONCE = 64  # files in memory
LONGEST_POINTER = 1024  # bytes of a pointer of Git LFS, by its specification
PATIENCE = 900.0  # seconds to fetch one file of Git LFS
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.+\n)*?oid sha256:([0-9a-f]{64})\nsize \d+\n")


class _Copy(msgspec.Struct, frozen=True):
    """What a copy stands for: the path as the user would type it, and the name that messages show."""

    path: str
    name: str


class FilesAtBase:
    """The files of one commit. Copies are made as they are asked for and live as long as `files_at` is open.

    With `most` they may have so many bytes together, a KiB more each, and pointers of Git LFS stay what they are.
    """

    def __init__(
        self, repository: Repository, commit: Commit, room: str, tip: str | None = None, *, most: int | None = None
    ) -> None:
        self.commit = commit
        self._tip = tip
        self._head = Commit(ref="HEAD", sha=repository.commit("HEAD")) if repository.has("HEAD") else None
        self._repository = repository
        self._room = room
        self._left = most
        self._copies: dict[str, _Copy] = {}

    def refuse_head(self) -> None:
        """Refuse a base that is the commit that is judged: nothing could be changed of it."""
        if self._head is not None and self._head.sha == self.commit.sha:
            what = "is the commit that is judged; name what it is to be merged into"
            raise GitError(f"{option('base')} {shown(self.commit.ref)} {what}")

    def find(self, path: str) -> str | None:
        """Where to read what a path of the working tree held at the base.

        That is a copy where the base has the path. None where it has not and HEAD has: then it came later. The path
        itself where it lies outside the repository or neither commit knows it: then the job made it.
        """
        inside = self._inside(path)
        if inside is None:
            return path
        copy = self._copied(path, inside, self.commit)
        return copy or (None if self._in_head(inside) else path)

    def copy(self, path: str) -> str | None:
        """A copy of what the commit has at a path of the repository; None where it has nothing there."""
        return self._copied(path, posixpath.normpath(path), self.commit)

    def find_in_head(self, path: str) -> str | None:
        """A copy of what HEAD has at a path; None where it has nothing there, as where the job made the file."""
        inside = self._inside(path)
        return None if inside is None or self._head is None else self._copied(path, inside, self._head)

    def documents(self, most: int) -> Iterator[tuple[str, bytes]]:
        """The base's YAML and JSON files of at most so many bytes, links left out, from the current directory."""
        here, root = os.path.realpath("."), self._repository.root
        blobs = list(self._repository.files(self.commit.sha, DOCUMENTS, most).items())
        for first in range(0, len(blobs), AT_ONCE):
            some = blobs[first : first + AT_ONCE]
            contents = self._repository.contents(blob for _, blob in some)
            for (path, _), text in zip(some, contents, strict=True):
                yield os.path.relpath(f"{root}/{path}", here), text

    def same(self, path: str) -> bool:
        """Whether both commits have the same file at a path, and no folder, whose links may lead elsewhere."""
        inside = self._inside(path)
        if inside is None or self._head is None:
            return False
        there = self._there(inside, self.commit.sha)
        return there is not None and there.kind != FOLDER and there == self._there(inside, self._head.sha)

    def refuse_moved_link(self, names: Iterable[str]) -> None:
        """Refuse a current directory that a link leads to which HEAD has changed, or put in a folder's place.

        It matters where the base has a file of one of these names.
        """
        here, root = Path(os.path.realpath(".")), self._repository.root
        for link in self._repository.new_links(self.commit.sha, self._head.sha) if self._head else ():
            aim = os.path.realpath(f"{root}/{link}")
            within = os.path.relpath(here, aim)
            paths = (posixpath.normpath(posixpath.join(link, within, name)) for name in names)
            if here.is_relative_to(aim) and any(self._there(path, self.commit.sha) for path in paths):
                raise bad_input("leads here and did not at the base; remove the link first, add it later", file=link)

    def refuse_stale(self, paths: Iterable[str]) -> None:
        """What judges must be what the tip of the base branch has, where that is known."""
        for path in paths if self._tip else ():
            inside = self._inside(path)
            if inside is not None and self._there(inside, self.commit.sha) != self._there(inside, self._tip or ""):
                what = f"the base branch has another {shown_path(path)} now"
                raise GitError(f"the merge commit is stale: {what}; push to the pull request, or close and reopen it")

    def _there(self, inside: str, commit: str) -> Entry | None:
        """What a commit has at a path, whatever that is called there; None also where it lies out of reach."""
        try:
            entry = self._followed(inside, commit)
        except RankgateError:
            return None
        return entry and replace(entry, path="")

    def refuse_link(self, path: str) -> None:
        """Refuse a symbolic link on the way to a file: behind it may lie another, as the baseline in place of a run."""
        whole, root = Path(os.path.normpath(Path.cwd() / path)), Path(self._repository.root)
        within = [parent for parent in whole.parents if parent != root and parent.is_relative_to(root)]
        if path != STDIN and not whole.is_fifo() and any(map(Path.is_symlink, [whole, *within])):
            raise bad_input("is a symbolic link, or lies behind one; name the file itself", file=shown_path(path))

    def brought(self, path: str) -> Literal["added", "edited"] | None:
        """Whether a file is one that HEAD has, and the base has not or has otherwise."""
        inside = self._inside(path)
        if inside is None or self._head is None or not self._in_head(inside):
            return None
        there = self._there(inside, self._head.sha)  # nothing of a submodule's
        before = self._there(inside, self.commit.sha)
        if there is None or before is None:
            return "added"
        return "edited" if there != before else None

    def kept(self, path: str) -> str:
        """The path, or a copy of what comes through a pipe and can be read only once."""
        if path != STDIN and (Path(path).is_file() or Path(path).is_dir() or not Path(path).exists()):
            return path
        copy = f"{self._room}/piped-{len(self._copies)}"
        with open_source(path) as source, Path(copy).open("wb") as file:
            self._copies[copy] = _Copy(path, source.name)
            shutil.copyfileobj(source.stream, file)
        return copy

    def name(self, path: str) -> str:
        """A path as messages name it at the base: `gold.yaml at main (1a2b3c4)`."""
        return f"{shown_path(path)} at {self.commit.shown}"

    def told(self, text: str) -> str:
        """A text with the copies' names in place of their paths."""
        for place in sorted(self._copies, key=len, reverse=True):
            text = text.replace(place, self._copies[place].name)
        return text

    def typed(self, word: str) -> str:
        """A path as the user would type it, where it is a copy's."""
        return self._copies[word].path if word in self._copies else word

    def problems(self, error: RankgateError) -> list[Problem]:
        """What an error says, with the copies' names."""
        return [
            replace(problem, message=self.told(problem.message), file=problem.file and self.told(problem.file))
            for problem in error.problems
        ]

    def _inside(self, path: str) -> str | None:
        if path == STDIN:
            return None
        whole = os.path.normpath(Path.cwd() / path)
        folder, name = os.path.split(whole)
        for found in (whole, str(Path(os.path.realpath(folder)) / name)):
            if Path(found).is_relative_to(self._repository.root):
                inside = Path(found).relative_to(self._repository.root).as_posix()
                return "" if inside == "." else inside
        return None

    def _copied(self, path: str, inside: str, commit: Commit) -> str | None:
        tree = "tree" if commit is self.commit else "head"
        copy = f"{self._room}/{tree}/{inside}".rstrip("/")
        if copy in self._copies:
            return copy
        entry = self._followed(inside, commit.sha)
        if entry is None:
            return None
        if entry.kind != FOLDER:
            self._write(entry, copy, shown_path(path), commit)
            return copy
        Path(copy).mkdir(parents=True, exist_ok=True)
        self._copies[copy] = self._copy_of(shown_path(path), commit)
        for each in self._repository.entries(commit.sha, entry.path and f"{entry.path}/"):
            name = posixpath.basename(each.path)
            blob = self._followed(each.path, commit.sha)
            if blob is not None and blob.kind != FOLDER:
                self._write(blob, f"{copy}/{name}", f"{shown_path(path)}/{name}", commit)
            elif each.kind == FOLDER:  # and no link to one, which could lead around
                self._copied(f"{path}/{name}", f"{inside}/{name}".lstrip("/"), commit)
        return copy

    def _followed(self, path: str, commit: str, links: int = MAX_LINKS) -> Entry | None:
        """What a commit has at a path, links followed as long as they stay within the tree."""
        parts = path.split("/") if path else []
        entry: Entry | None = Entry("", FOLDER, "", "")
        for upto in range(1, len(parts) + 1):
            entry = self._repository.entry(commit, "/".join(parts[:upto]))
            if entry is None:
                return None
            if entry.mode == SUBMODULE:
                raise bad_input("lies in a submodule, whose files at the base are not here", file=self.name(path))
            if entry.mode == LINK:
                aim = posixpath.join(posixpath.dirname(entry.path), self._repository.text(entry.sha), *parts[upto:])
                aim = posixpath.normpath(aim)
                if aim.startswith(("/", "../")) or aim in ("..", ".") or not links:
                    raise bad_input("is a symbolic link that leads out of the repository", file=self.name(path))
                return self._followed(aim, commit, links - 1)
        return entry

    def _in_head(self, path: str) -> bool:
        """Whether HEAD has a path, or something on the way to it that is no folder."""
        if self._head is None:
            return False
        parts = path.split("/")
        for upto in range(1, len(parts) + 1):
            entry = self._repository.entry(self._head.sha, "/".join(parts[:upto]))
            if entry is None or entry.kind != FOLDER:
                return entry is not None
        return True

    def _copy_of(self, path: str, commit: Commit) -> _Copy:
        return _Copy(path, f"{path} at {commit.shown}" if commit is self.commit else path)

    def _write(self, blob: Entry, copy: str, path: str, commit: Commit) -> None:
        self._copies[copy] = self._copy_of(path, commit)
        if self._left is not None:
            self._left -= self._repository.size(blob.sha) + 1024
            if self._left < 0:
                raise bad_input("is too large, with all other files that the criteria name", file=path)
        Path(copy).parent.mkdir(parents=True, exist_ok=True)
        with Path(copy).open("wb") as file:
            self._repository.write(blob.sha, file)
        if self._left is None:
            _fill_pointer(Path(copy), self._repository.root, self._copies[copy].name)


@contextmanager
def files_at(ref: str, tip: str | None = None) -> Iterator[FilesAtBase]:
    """The files at a ref of the repository around the current directory; errors raised meanwhile name no copy.

    `tip` is the commit that the base branch is at now, where the ref may lie behind it.
    """
    repository = repository_around(".")
    if run_git(repository.root, "rev-parse", "--show-superproject-working-tree").stdout.strip():
        raise GitError(
            f"{option('base')}: this is a submodule, whose commits the pull request chooses; judge outside of it"
        )
    commit = Commit(ref=ref, sha=repository.commit(ref))
    with tempfile.TemporaryDirectory(prefix="rankgate-base-") as room:
        files = FilesAtBase(repository, commit, shown_path(room), tip)
        try:
            yield files
        except RankgateError as error:
            raise RankgateError(files.problems(error)) from error


def _fill_pointer(file: Path, root: str, name: str) -> None:
    """Put what a pointer of Git LFS stands for in its place, checked against its digest, whoever serves it."""
    if file.stat().st_size > LONGEST_POINTER:
        return
    pointer = file.read_bytes()
    found = _POINTER.match(pointer)
    if found is None:
        return
    if run_git(root, "lfs", "version").returncode:
        raise GitError(f"{name} is kept in Git LFS, and git-lfs is not installed; install it, or keep the file in git")
    with file.open("wb") as target:
        fetched = run_git(root, "lfs", "smudge", given=pointer, to=target, patience=PATIENCE)
    with file.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    if fetched.returncode or digest != found[1].decode():
        raise GitError(f"{name} is kept in Git LFS, which does not give it: {said(fetched)}")
