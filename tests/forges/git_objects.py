"""Commits written through the API, object by object: the emulator computes the same shas as git does."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import requests


class Ask(Protocol):
    """One request to the API, whatever comes of it."""

    def __call__(self, method: str, path: str, body: Any = None, *, by: str) -> requests.Response: ...


class Entry(NamedTuple):
    """A file of a commit; only its own repository needs to know the blob."""

    path: str
    mode: str
    sha: str


class Objects(NamedTuple):
    """The objects of one repository on the emulator, written with one user's rights."""

    ask: Ask
    repository: str
    by: str = "alice"

    def push(self, clone: Path, revision: str) -> str:
        """The commits of a local repository up to a revision, those that are not there yet; returns its sha."""
        shas = git(clone, "rev-list", "--reverse", "--topo-order", revision).decode().split()
        for sha in shas:
            if self._has(sha):
                continue
            entries = list(listed(clone, sha))
            for blob in {entry.sha for entry in entries}:
                self._write_blob(base64.b64encode(git(clone, "cat-file", "blob", blob)).decode())
            self._write_commit(sha, entries, described(clone, sha))
        return shas[-1]

    def copy(self, sha: str, other: Objects) -> None:
        """A commit and all before it from another repository of the emulator, as far as they are not there yet."""
        if self._has(sha):
            return
        commit = other._read(f"commits/{sha}")
        parents = [each["sha"] for each in commit["parents"]]
        for parent in parents:
            self.copy(parent, other)
        tree = other._read(f"trees/{commit['tree']['sha']}?recursive=1")["tree"]
        entries = [Entry(each["path"], each["mode"], each["sha"]) for each in tree if each["type"] == "blob"]
        for entry in entries:
            self._write_blob(other._read(f"blobs/{entry.sha}")["content"])
        told = {"message": commit["message"], "author": commit["author"], "committer": commit["committer"]}
        self._write_commit(sha, entries, {**told, "parents": parents})

    def _has(self, sha: str) -> bool:
        return self.ask("GET", f"/repos/{self.repository}/git/commits/{sha}", by=self.by).ok

    def _read(self, what: str) -> Any:
        answer = self.ask("GET", f"/repos/{self.repository}/git/{what}", by=self.by)
        answer.raise_for_status()
        return answer.json()

    def _write(self, what: str, body: Any) -> str:
        answer = self.ask("POST", f"/repos/{self.repository}/git/{what}", body, by=self.by)
        answer.raise_for_status()
        return str(answer.json()["sha"])

    def _write_blob(self, content: str) -> None:
        self._write("blobs", {"content": content, "encoding": "base64"})

    def _write_commit(self, sha: str, entries: list[Entry], told: dict[str, Any]) -> None:
        tree = self._write("trees", {"tree": [{**entry._asdict(), "type": "blob"} for entry in entries]})
        written = self._write("commits", {**told, "tree": tree})
        assert written == sha, f"{sha} became {written}: is it signed, or not in UTF-8?"


def git(clone: Path, *arguments: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", "-C", clone, *arguments], check=True, capture_output=True, timeout=300).stdout


def listed(clone: Path, sha: str) -> Iterator[Entry]:
    """The files of a commit."""
    for line in git(clone, "ls-tree", "-r", "-z", sha).decode().split("\0")[:-1]:
        facts, path = line.split("\t", 1)
        mode, _, blob = facts.split()
        yield Entry(path, mode, blob)


def described(clone: Path, sha: str) -> dict[str, Any]:
    """Who made a commit and when, its parents and its message, as the API takes them."""
    layout = "%P%n%an%n%ae%n%aI%n%cn%n%ce%n%cI%n%B"
    facts = git(clone, "show", "--no-patch", f"--format={layout}", sha).decode()
    parents, *people, message = facts.split("\n", 7)
    author, committer = (dict(zip(("name", "email", "date"), each, strict=True)) for each in (people[:3], people[3:]))
    return {"parents": parents.split(), "author": author, "committer": committer, "message": message.rstrip("\n")}
