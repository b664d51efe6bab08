"""The clone through which a branch is reached, and git run there: how it gets to a remote, and what its answers mean.

The user's own settings count, a token where the job has one, and no question is asked; no answer shows a secret.
"""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from rankgate.baselines.records import Record
from rankgate.errors import on_one_line, redacted_text, shown
from rankgate.files.environment import JOBS, OURS, TOKENS
from rankgate.files.git import Answer, GitError, batched, is_ancestor, repository_around, run_git, stderr_of
from rankgate.model.base_ref import SHORT_SHA

PREFIX = "git+branch:"
PATIENCE = 10.0  # seconds for which a lock of somebody else's is waited for, beside those that git itself takes
_FETCH = (
    *("--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"),
    "--refmap=",
)
HERE = "."  # git's own name for the repository itself as a remote

# What holds for every command: a hook is a program, and husky's kind lies in the pull request's own tree.
_SETTINGS = (
    ("core.hooksPath", os.devnull),
    ("core.filesRefLockTimeout", "2000"),  # milliseconds that another rankgate in this clone may hold a ref
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),  # seconds without a byte, after which a server counts as silent
)
# Another process of the same clone has the ref, or was quicker.
_HELD = re.compile(rb"but expected|reference already exists|\.lock': File exists|shallow file has changed")
# The same at a server, whose update is a comparison with what it told us as well.
_QUICKER = re.compile(rb"failed to update ref|cannot lock ref|incorrect old value|reference already exists")
_LOCK = re.compile(rb"Unable to create '([^'\n]+\.lock)': File exists")
_FOREVER = re.compile(rb"(?i)permission denied|cannot create '|no space left|read-only file system")
_REFUSAL = re.compile(rb"^!\t[^\t]*\t\[([a-z ]+)\] \((.*)\)$", re.MULTILINE)
_NOT_ALLOWED = re.compile(rb"(?i)permission|denied|authentication|could not read (?:username|password)|\b40[13]\b")
_HEADER = re.compile(r"AUTHORIZATION: basic (\S+)")


class Clone(msgspec.Struct, frozen=True, kw_only=True):
    """A clone, the remote that counts, and what git's environment says to get there."""

    spec: str
    root: str
    remote: str
    shallow: bool
    environment: Mapping[str, str]

    def git(self, *arguments: str, given: bytes = b"", environment: Mapping[str, str] = {}) -> Answer:
        """One command of git, whatever it answers."""
        settings = {**self.environment, **environment}
        return run_git(self.root, *arguments, given=given, environment=settings, asker=self.spec)

    def object_of(self, *arguments: str, given: bytes = b"", environment: Mapping[str, str] = {}) -> str:
        """The name of the object that a command made; a GitError where it made none."""
        answer = self.git(*arguments, given=given, environment=environment)
        if answer.returncode:
            raise GitError(f"{self.spec}: `git {arguments[0]}` failed: {self.complaint(answer)}")
        return answer.stdout.decode().strip()

    def read(self, what: str, *arguments: str) -> bytes:
        """What a command says of an object; a GitError where git cannot read it."""
        answer = self.git(*arguments)
        if answer.returncode:
            raise GitError(f"{self.spec}: git cannot read {what}: {self.complaint(answer)}")
        return answer.stdout

    def blobs(self, what: str, names: Sequence[str]) -> list[bytes]:
        """The bytes of blobs, by one process; a GitError where git cannot read one of them."""
        answer = self.git("cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
        with suppress(GitError):
            return list(batched(answer.stdout))
        raise GitError(f"{self.spec}: git cannot read {what}: {self.complaint(answer)}")

    def fetch(self, source: str, name: str, *options: str) -> str | None:
        """Fetch one ref of the remote and nothing else, to `refs/rankgate/`; None where it has no such branch."""
        ref = f"refs/rankgate/{_quoted(self.remote)}/{_quoted(name)}"
        fetch = ("fetch", *_FETCH, *options, self.remote, f"+{source}:{ref}")
        answer = self.git(*fetch)
        until = time.monotonic() + PATIENCE
        while answer.returncode and is_held(answer) and time.monotonic() < until:
            answer = self.git(*fetch)
        if b"couldn't find remote ref" in answer.stderr:
            return None
        if answer.returncode:
            if lock := lock_of(answer):
                raise locked(self.spec, lock)
            raise GitError(
                f"{self.spec}: cannot be fetched from {self.remote}: {self.complaint(answer)}{advice(answer)}"
            )
        return ref

    def complaint(self, answer: Answer) -> str:
        """What git or the server complained of first, on one line, without the steps before it and without a secret."""
        lines = answer.stderr.decode("utf-8", "replace").splitlines()
        blamed = (line for line in lines if re.match(r"(?:remote|fatal|error): *\S", line))
        return self._clean(re.sub(r"^(?:(?:remote|fatal|error): *)+", "", next(blamed, stderr_of(answer))))

    def refusal_of(self, pushed: Answer) -> tuple[str, bool]:
        """Why a push with --porcelain was refused, in words of git and the server; and whether the server said no."""
        refusal = _REFUSAL.search(pushed.stdout)
        why = self.complaint(pushed)
        if refusal is None:
            return why + advice(pushed), bool(advice(pushed))
        reason = self._clean(refusal[2].decode("utf-8", "replace"))
        return f"{reason}: {why}" if b"remote: " in pushed.stderr else reason, True

    def _clean(self, text: str) -> str:
        return on_one_line(without_secrets(text, self.environment).strip())


def clone_of(branch: str, remote: str | None, *, spec: str, folder: str = ".", tokens: Sequence[str] = TOKENS) -> Clone:
    """The clone of a branch, seen from a folder; of the tokens the first that the job has is sent.

    Raises:
        GitError: git is missing, this is no repository, it has no such remote, or no branch can be called that.
    """
    root = repository_around(folder, asker=spec).root
    ref = f"refs/heads/{branch}"
    if not ref.isprintable() or branch.startswith("-") or run_git(root, "check-ref-format", ref).returncode:
        raise GitError(f"{PREFIX}{shown(branch)}: git takes no branch of this name")
    name = _remote_of(root, remote, spec=spec)
    shallow = run_git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
    return Clone(spec=spec, root=root, remote=name, shallow=shallow, environment=_environment_for(root, name, tokens))


def _quoted(name: str) -> str:
    """A name as one part of a ref, so that `a` and `a/b` do not stand in each other's way."""
    return name.replace("%", "%25").replace("/", "%2F")


def overtaken(accepted: Sequence[Record], record: Record) -> str | None:
    """Why a run does not become the baseline by itself; None where it may, and where git knows neither commit.

    A clone has the past of what it checked out, and a shallow one not even that. So where it lacks the accepted commit,
    what the branch has got since is fetched: if that commit is still unknown, it is no later one. `accepted` is oldest
    first.
    """
    accepted_commit = accepted[-1].commit if accepted else None
    commit = record.commit
    if accepted_commit is None or commit is None or accepted_commit == commit:
        return None
    try:
        repository = repository_around(".")
    except GitError:
        return None
    if not repository.has(commit):
        return None
    if not repository.has(accepted_commit):
        branch = record.branch or accepted[-1].branch
        try:
            clone = clone_of(branch or "HEAD", None, spec=branch or "HEAD")
            if clone.remote != HERE:  # without a remote, what is not here is nowhere
                clone.fetch(f"refs/heads/{branch}" if branch else "HEAD", branch or "HEAD")
        except GitError as error:
            return f"whether it is of a later commit ({accepted_commit[:SHORT_SHA]}) cannot be told: {error}"
    return f"it is of a later commit ({accepted_commit[:SHORT_SHA]})" if is_ancestor(commit, accepted_commit) else None


def _remote_of(root: str, name: str | None, *, spec: str) -> str:
    """The remote whose branch is meant; by default `origin`, or this very repository (`HERE`) without any remote."""
    known = run_git(root, "remote").stdout.decode("utf-8", "replace").splitlines() if name != HERE else []
    if name == HERE or (name is None and not known):
        return HERE
    name = "origin" if name is None else name
    if name not in known:
        names = ", ".join(known) or "none"
        raise GitError(f"{spec}: this repository has no remote {name!r} (it has: {names}); write {PREFIX}NAME@REMOTE")
    return name


def _environment_for(root: str, remote: str, tokens: Sequence[str]) -> dict[str, str]:
    """What git's environment says beside the user's: our settings, and how to reach the remote without a prompt."""
    settings = list(_SETTINGS)
    ssh = {}
    if remote != HERE:
        url = run_git(root, "remote", "get-url", remote).stdout.decode("utf-8", "replace").strip()
        settings += _token_header(root, url, os.environ, tokens)
        users = {"GIT_SSH", "GIT_SSH_COMMAND"} & os.environ.keys()
        if not users and run_git(root, "config", "core.sshCommand").returncode:
            ssh = {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
    # Settings go into git's numbered variables, after those that the caller has set.
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    environment = {"GIT_CONFIG_COUNT": str(first + len(settings)), **ssh}
    for number, (key, value) in enumerate(settings, first):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """A text of git's without what stands in the environment as a header, nor in an address as a password."""
    for name, value in environment.items():
        if name.startswith("GIT_CONFIG_VALUE_") and (header := _HEADER.fullmatch(value)):
            text = text.replace(header[1], "***")
    for token in filter(None, (os.environ.get(name) for name in TOKENS)):
        text = text.replace(token, "***")
    return redacted_text(text)


def _token_header(root: str, url: str, environment: Mapping[str, str], tokens: Sequence[str]) -> list[tuple[str, str]]:
    """The settings that send a token to GitHub, and to nobody else.

    RANKGATE_TOKEN is sent in any case. GITHUB_TOKEN or GH_TOKEN is a workflow's own, so it is sent only in one, and
    only where actions/checkout has left nothing better.
    """
    server = environment.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    if not server.startswith("https://") or not url.startswith(f"{server}/"):
        return []
    in_job = environment.get("GITHUB_ACTIONS") == "true"
    name = next((each for each in tokens if environment.get(each) and (in_job or each == OURS)), None)
    if name in JOBS and not run_git(root, "config", "--get-urlmatch", "http.extraheader", url).returncode:
        return []
    token = environment[name] if name else None
    if not token:
        return []
    credentials = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    key = f"http.{server}/.extraheader"
    # The empty value takes away what was set before: GitHub refuses two such headers. Git would take the header along
    # to wherever it is redirected.
    return [(key, ""), (key, f"AUTHORIZATION: basic {credentials}"), (f"http.{server}/.followRedirects", "false")]


def is_held(answer: Answer) -> bool:
    """Whether the repository's own ref was taken at that moment, so that it is worth another try."""
    return bool(_HELD.search(answer.stderr)) and not _FOREVER.search(answer.stderr)


def lock_of(answer: Answer) -> str | None:
    """The lock file, here or at the server, for which git gave up; None where it was something else."""
    lock = _LOCK.search(answer.stderr)
    return lock[1].decode("utf-8", "replace") if lock else None


def locked(spec: str, lock: str) -> GitError:
    """What to do about a lock that nobody has given back."""
    whose = "is held by another git process or was left by one that was killed"
    return GitError(f"{spec}: {on_one_line(lock)} {whose}; nothing was written. If no git is at work there, delete it")


def outrun(pushed: Answer) -> bool:
    """Whether a push with --porcelain was refused because the branch has moved, and for nothing else."""
    refusal = _REFUSAL.search(pushed.stdout)
    if refusal is None or _FOREVER.search(pushed.stderr):
        return False
    return refusal[1] == b"rejected" or bool(_QUICKER.search(refusal[2]))


def advice(answer: Answer) -> str:
    """What to do where the remote does not let us in, or nothing."""
    if not _NOT_ALLOWED.search(answer.stderr):
        return ""
    needed = (
        "in Actions the job needs `permissions: contents: write`, elsewhere RANKGATE_TOKEN or git's own credentials"
    )
    return f"; {needed}"
