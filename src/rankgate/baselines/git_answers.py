"""What git answers, read: whether somebody else was quicker, who refused, and why, without a secret in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rankgate.baselines.git_transport import without_secrets
from rankgate.errors import on_one_line
from rankgate.files.git import Answer, GitError, said

# Another process of the same clone has the ref, or was quicker.
_HELD = re.compile(rb"but expected|reference already exists|\.lock': File exists|shallow file has changed")
# The same at a server, whose update is a comparison with what it told us as well.
_QUICKER = re.compile(rb"failed to update ref|cannot lock ref|incorrect old value|reference already exists")
_LOCK = re.compile(rb"Unable to create '([^'\n]+\.lock)': File exists")
_FOREVER = re.compile(rb"(?i)permission denied|cannot create '|no space left|read-only file system")
_REFUSAL = re.compile(rb"^!\t[^\t]*\t\[([a-z ]+)\] \((.*)\)$", re.MULTILINE)
_NOT_ALLOWED = re.compile(rb"(?i)permission|denied|authentication|could not read (?:username|password)|\b40[13]\b")


def held(found: Answer) -> bool:
    """Whether the repository's own ref was taken at that moment, so that it is worth another try."""
    return bool(_HELD.search(found.stderr)) and not _FOREVER.search(found.stderr)


def lock_of(found: Answer) -> str | None:
    """The lock file, here or at the server, for which git gave up; None where it was something else."""
    lock = _LOCK.search(found.stderr)
    return lock[1].decode("utf-8", "replace") if lock else None


def locked(spec: str, lock: str) -> GitError:
    """What to do about a lock that nobody has given back."""
    whose = "is held by another git process or was left by one that was killed"
    return GitError(f"{spec}: {on_one_line(lock)} {whose}; nothing was written. If no git is at work there, delete it")


def no_such_branch(found: Answer) -> bool:
    """Whether a fetch reached the remote and found that there is no such branch."""
    return b"couldn't find remote ref" in found.stderr


def outrun(pushed: Answer) -> bool:
    """Whether a push with --porcelain was refused because the branch has moved, and for nothing else."""
    refusal = _REFUSAL.search(pushed.stdout)
    if refusal is None or _FOREVER.search(pushed.stderr):
        return False
    return refusal[1] == b"rejected" or bool(_QUICKER.search(refusal[2]))


def refused(pushed: Answer) -> bool:
    """Whether the server answered a push with --porcelain by a no; else it may have applied it before it was gone."""
    return bool(_REFUSAL.search(pushed.stdout))


def refusal_of(pushed: Answer, environment: Mapping[str, str]) -> str:
    """Why a push with --porcelain was refused: the reason that git gives, and the server's first words."""
    refusal = _REFUSAL.search(pushed.stdout)
    if refusal is None:
        return complaint(pushed, environment) + advice(pushed)
    why = _clean(refusal[2].decode("utf-8", "replace"), environment)
    return f"{why}: {complaint(pushed, environment)}" if b"remote: " in pushed.stderr else why


def complaint(found: Answer, environment: Mapping[str, str]) -> str:
    """What git or the server complained of first, on one line, without the steps before it."""
    lines = found.stderr.decode("utf-8", "replace").splitlines()
    blamed = (line for line in lines if re.match(r"(?:remote|fatal|error): *\S", line))
    return _clean(re.sub(r"^(?:(?:remote|fatal|error): *)+", "", next(blamed, said(found))), environment)


def advice(found: Answer) -> str:
    """What to do where the remote does not let us in, or nothing."""
    if not _NOT_ALLOWED.search(found.stderr):
        return ""
    return (
        "; in Actions the job needs `permissions: contents: write`, elsewhere RANKGATE_TOKEN or git's own credentials"
    )


def _clean(text: str, environment: Mapping[str, str]) -> str:
    return on_one_line(without_secrets(text, environment).strip())
