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
from rankgate.files.git import (
    FOLDER,
    LINK,
    SUBMODULE,
    Entry,
    GitError,
    Repository,
    repository_around,
    run_git,
    stderr_of,
)
from rankgate.model.base_ref import Commit
from rankgate.readers.formats import split_format
from rankgate.readers.source import STDIN, is_remote, shown_path

MAX_LINKS = 20  # that one path may follow
DOCUMENTS = (".yaml", ".yml", ".json")  # how files that may be criteria end
AT_ONCE = 64  # files in memory

LONGEST_POINTER = 1024  # bytes of a pointer of Git LFS, by its specification
PATIENCE = 900.0  # seconds to fetch one file from there
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.+\n)*?oid sha256:([0-9a-f]{64})\nsize \d+\n")


class Objects(msgspec.Struct):
    """What was read of git, by sha: two commits have most of their files in common."""

    folders: dict[str, list[Entry]] = {}  # by path from the folder
    copies: dict[str, str] = {}


class Tree:
    """The files of one commit, whose copies are made in a folder as they are asked for.

    `names` has for each copy the path as the user would type it. With `most` they may have so many bytes together, a
    KiB more each, and pointers of Git LFS stay what they are. Trees that share `objects` read each once.
    """

    def __init__(
        self,
        repository: Repository,
        commit: Commit,
        folder: str,
        *,
        most: int | None = None,
        objects: Objects | None = None,
    ) -> None:
        self.commit = commit
        self.names: dict[str, str] = {}
        self.paths: dict[str, str] = {}  # by the name that messages have of this commit
        self._repository = repository
        self._folder = folder
        self._left = most
        self._objects = objects or Objects()
        self._folders: dict[str, dict[str, Entry]] = {}  # what is in each that was looked into, by path

    def copy(self, path: str) -> str | None:
        """A copy of what the commit has at a path; None where it has nothing there, or the path lies elsewhere."""
        inside = inside_of(self._repository, path)
        return None if inside is None else self.copy_inside(inside, path)

    def copy_inside(self, inside: str, path: str) -> str | None:
        """The same of a path from the root, by the name that messages show."""
        copy = f"{self._folder}/{inside}".rstrip("/")
        if copy in self.names:
            return copy
        entry = self._followed(inside)
        if entry is None:
            return None
        if entry.kind != FOLDER:
            self._write(entry, copy, shown_path(path))
            return copy
        Path(copy).mkdir(parents=True, exist_ok=True)
        self.names[copy] = shown_path(path)
        for each in self._listed(entry).values():
            name = posixpath.basename(each.path)
            target = self._followed(each.path)
            if target is not None and target.kind != FOLDER:
                self._write(target, f"{copy}/{name}", f"{shown_path(path)}/{name}")
            elif each.kind == FOLDER:  # and no link to one, which could lead around
                self.copy_inside(f"{inside}/{name}".lstrip("/"), f"{path}/{name}")
        return copy

    def entry(self, path: str) -> Entry | None:
        """What the commit has at a path, whatever that is called there; None also where it lies out of reach."""
        inside = inside_of(self._repository, path)
        try:
            entry = None if inside is None else self._followed(inside)
        except RankgateError:
            return None
        return entry and replace(entry, path="")

    def has(self, path: str) -> bool:
        """Whether the commit has anything at a path, be it out of reach."""
        inside = inside_of(self._repository, path)
        try:
            return inside is not None and self._followed(inside) is not None
        except RankgateError:
            return True

    def documents(self, most: int) -> Iterator[tuple[str, bytes]]:
        """YAML and JSON files of at most so many bytes, links left out, from the current directory."""
        here = os.path.realpath(".")
        root = self._repository.root
        blobs = list(self._repository.files(self.commit.sha, DOCUMENTS, most).items())
        for first in range(0, len(blobs), AT_ONCE):
            some = blobs[first : first + AT_ONCE]
            contents = self._repository.contents(blob for _, blob in some)
            for (path, _), text in zip(some, contents, strict=True):
                yield os.path.relpath(f"{root}/{path}", here), text

    def name(self, path: str) -> str:
        """A path as messages name it of this commit: `gold.yaml at main (1a2b3c4)`."""
        name = f"{shown_path(path)} at {self.commit.shown}"
        self.paths[name] = shown_path(path)
        return name

    def _followed(self, path: str, links: int = MAX_LINKS) -> Entry | None:
        """What the commit has at a path, links followed as long as they stay within the tree."""
        parts = path.split("/") if path else []
        entry = Entry("", FOLDER, "", "")
        for upto in range(1, len(parts) + 1):
            inner = self._listed(entry).get("/".join(parts[:upto])) if entry.kind == FOLDER else None
            if inner is None:
                return None
            entry = inner
            if entry.mode == SUBMODULE:
                raise bad_input("lies in a submodule, whose files at the base are not here", file=self.name(path))
            if entry.mode == LINK:
                aim = posixpath.join(posixpath.dirname(entry.path), self._repository.text(entry.sha), *parts[upto:])
                aim = posixpath.normpath(aim)
                if aim.startswith(("/", "../")) or aim in ("..", ".") or not links:
                    raise bad_input("is a symbolic link that leads out of the repository", file=self.name(path))
                target = self._followed(aim, links - 1)
                if target is None:
                    raise bad_input("is a symbolic link to what git does not have", file=self.name(path))
                return target
        return entry

    def _listed(self, folder: Entry) -> dict[str, Entry]:
        """What the commit has in a folder: one process lists all of it."""
        if folder.path not in self._folders:
            sha, known = folder.sha or self.commit.sha, self._objects.folders
            if sha not in known:
                known[sha] = self._repository.entries(sha, "")
            entries = (replace(each, path=posixpath.join(folder.path, each.path)) for each in known[sha])
            self._folders[folder.path] = {each.path: each for each in entries}
        return self._folders[folder.path]

    def _write(self, blob: Entry, copy: str, path: str) -> None:
        self.names[copy] = path
        if self._left is not None:
            self._left -= self._repository.size(blob.sha) + 1024
            if self._left < 0:
                raise bad_input("is too large, with all other files that the criteria name", file=path)
        Path(copy).parent.mkdir(parents=True, exist_ok=True)
        if blob.sha in self._objects.copies:
            shutil.copyfile(self._objects.copies[blob.sha], copy)
            return
        with Path(copy).open("wb") as file:
            self._repository.write(blob.sha, file)
        if self._left is None:
            fill_pointer(Path(copy), self._repository.root, self.name(path))
        self._objects.copies[blob.sha] = copy


class Trees(msgspec.Struct, frozen=True):
    """The files of the base and of the commit that is judged; copies live as long as `trees_at` is open."""

    repository: Repository
    base: Tree
    head: Tree

    def supplied(self, path: str) -> bool:
        """Whether only the job can have made a file: neither commit has it."""
        return not (self.base.has(path) or self.head.has(path))

    def same(self, path: str) -> bool:
        """Whether both commits have the same file at a path, and no folder, whose links may lead elsewhere."""
        entry = self.base.entry(path)
        return entry is not None and entry.kind != FOLDER and entry == self.head.entry(path)

    def brought(self, path: str) -> Literal["added", "edited"] | None:
        """Whether a file is one that the judged commit has, and the base has not or has otherwise."""
        if not self.head.has(path):
            return None
        of_head = self.head.entry(path)  # nothing of a submodule's
        of_base = self.base.entry(path)
        if of_head is None or of_base is None:
            return "added"
        return "edited" if of_head != of_base else None

    def refuse_moved_link(self, names: Iterable[str]) -> None:
        """Refuse a current directory that a link leads to which the pull request has changed, or put in its place.

        It matters where the base has a file of one of these names.
        """
        here = Path(os.path.realpath("."))
        root = self.repository.root
        for link in self.repository.new_links(self.base.commit.sha, self.head.commit.sha):
            aim = os.path.realpath(f"{root}/{link}")
            within = os.path.relpath(here, aim)
            paths = (f"{root}/{posixpath.join(link, within, name)}" for name in names)
            if here.is_relative_to(aim) and any(map(self.base.entry, paths)):
                raise bad_input("leads here and did not at the base; remove the link first, add it later", file=link)

    def refuse_link(self, path: str) -> None:
        """Refuse a symbolic link on the way to a file: behind it may lie another, as the baseline in place of a run."""
        file = Path(os.path.normpath(Path.cwd() / path))
        root = Path(self.repository.root)
        folders = [parent for parent in file.parents if parent != root and parent.is_relative_to(root)]
        if any(map(Path.is_symlink, [file, *folders])):
            raise bad_input("is a symbolic link, or lies behind one; name the file itself", file=shown_path(path))

    def refuse_outside(self, path: str | None) -> None:
        """Refuse a file that the pull request names elsewhere than in the repository: errors quote what they read."""
        if path is None or is_remote(path):
            return
        inside = inside_of(self.repository, path)
        if inside is None or ".git" in inside.lower().split("/"):  # which may hold a token, also of a checkout within
            what = "lies outside of the repository; let the job name it to the command"
            raise bad_input(what, file=shown_path(path))
        self.refuse_link(path)

    def named(self, text: str) -> str:
        """A text with the copies' names in place of their paths."""
        names = {copy: self.base.name(path) for copy, path in self.base.names.items()}
        names |= self.head.names
        for copy in sorted(names, key=len, reverse=True):
            text = text.replace(copy, names[copy])
        return text

    def typed(self, word: str) -> str:
        """A path, or `FORMAT:FILE`, as the user would type it, where it is a copy's or the name of one."""
        names = self.base.names | self.base.paths | self.head.names | self.head.paths
        form, path = split_format(word)
        return f"{form}:{names.get(path, path)}" if form else names.get(word, word)

    def problems(self, error: RankgateError) -> list[Problem]:
        """What an error says, with the copies' names."""
        return [
            replace(problem, message=self.named(problem.message), file=problem.file and self.named(problem.file))
            for problem in error.problems
        ]


@contextmanager
def trees_at(ref: str) -> Iterator[Trees]:
    """The files at a ref of the repository around the current directory; errors raised meanwhile name no copy.

    Raises:
        GitError: the ref names no commit, or the commit that is judged: nothing could be changed of it.
    """
    repository = repository_around(".")
    if run_git(repository.root, "rev-parse", "--show-superproject-working-tree").stdout.strip():
        raise GitError(
            f"{option('base')}: this is a submodule, whose commits the pull request chooses; judge outside of it"
        )
    base = Commit(ref=ref, sha=repository.commit(ref))
    head = Commit(ref="HEAD", sha=repository.commit("HEAD"))
    if base.sha == head.sha:
        what = "is the commit that is judged; name what it is to be merged into"
        raise GitError(f"{option('base')} {shown(ref)} {what}")
    with tempfile.TemporaryDirectory(prefix="rankgate-base-") as directory:
        objects = Objects()
        copies = shown_path(directory)
        trees = Trees(
            repository=repository,
            base=Tree(repository, base, f"{copies}/base", objects=objects),
            head=Tree(repository, head, f"{copies}/head", objects=objects),
        )
        try:
            yield trees
        except RankgateError as error:
            raise RankgateError(trees.problems(error)) from error


def refuse_stale(trees: Trees, tip: str, paths: Iterable[str]) -> None:
    """Refuse a base whose branch has others of these files at its tip now."""
    now = Tree(trees.repository, Commit(ref=tip, sha=tip), os.devnull)  # nothing is copied
    for path in paths:
        if trees.base.entry(path) != now.entry(path):
            what = f"the base branch has another {shown_path(path)} now"
            raise GitError(f"the merge commit is stale: {what}; push to the pull request, or close and reopen it")


def inside_of(repository: Repository, path: str) -> str | None:
    """A path from the root of the repository; None where it lies elsewhere."""
    if path == STDIN:
        return None
    absolute = os.path.normpath(Path.cwd() / path)
    folder, name = os.path.split(absolute)
    for candidate in (absolute, str(Path(os.path.realpath(folder)) / name)):
        if Path(candidate).is_relative_to(repository.root):
            inside = Path(candidate).relative_to(repository.root).as_posix()
            return "" if inside == "." else inside
    return None


def fill_pointer(file: Path, root: str, name: str) -> None:
    """Put what a pointer of Git LFS stands for in its place, whoever serves it; a GitError where that cannot be had."""
    if file.stat().st_size > LONGEST_POINTER:
        return
    pointer = file.read_bytes()
    match = _POINTER.match(pointer)
    if match is None:
        return
    if run_git(root, "lfs", "version").returncode:
        raise GitError(f"{name} is kept in Git LFS, and git-lfs is not installed; install it, or keep the file in git")
    with file.open("wb") as target:
        fetched = run_git(root, "lfs", "smudge", given=pointer, to=target, patience=PATIENCE)
    with file.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    if fetched.returncode or digest != match[1].decode():
        raise GitError(f"{name} is kept in Git LFS, which does not give it: {stderr_of(fetched)}")


def digest_of(paths: Iterable[Path]) -> str:
    """One digest of the contents of files, in their order; whatever is no file is passed over."""
    digest = hashlib.sha256()
    for path in filter(Path.is_file, paths):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def digest_below(folder: Path) -> str:
    """One digest of all files below a folder, with their names."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    names = "\0".join(each.relative_to(folder).as_posix() for each in files)
    return hashlib.sha256(f"{names}\0\0{digest_of(files)}".encode("utf-8", "surrogateescape")).hexdigest()
