"""How git is let through to a remote, and what its answers mean.

The user's own settings count, a token where the job has one, and no question is asked. Of an answer it is read whether
somebody else was quicker, who refused, and why, without a secret in it.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence

from rankgate.errors import on_one_line, redacted_text
from rankgate.files.environment import JOBS, OURS, TOKENS
from rankgate.files.git import Answer, GitError, run_git, said

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


def remote_of(root: str, asked: str | None, *, spec: str) -> str:
    """The remote whose branch is meant; `HERE` for the branch of this very repository.

    Args:
        root: of the working tree.
        asked: a remote's name; None for `origin`, or for this repository where it has no remote.
        spec: what the user wrote, for the error.

    Raises:
        GitError: there is no such remote, or none is called origin.
    """
    if asked == HERE:
        return HERE
    known = run_git(root, "remote").stdout.decode("utf-8", "replace").splitlines()
    if asked is None:
        if not known:
            return HERE
        asked = "origin"
    if asked not in known:
        names = ", ".join(known) or "none"
        raise GitError(
            f"{spec}: this repository has no remote {asked!r} (it has: {names}); write git+branch:NAME@REMOTE"
        )
    return asked


def environment_for(root: str, remote: str, tokens: Sequence[str] = TOKENS) -> dict[str, str]:
    """What git's environment says beside the user's: our settings, and how to reach the remote without a prompt."""
    settings, ssh = list(_SETTINGS), {}
    if remote != HERE:
        url = run_git(root, "remote", "get-url", remote).stdout.decode("utf-8", "replace").strip()
        settings += _token_header(root, url, os.environ, tokens)
        own = {"GIT_SSH", "GIT_SSH_COMMAND"} & os.environ.keys()
        if not own and run_git(root, "config", "core.sshCommand").returncode:
            ssh = {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}
    return _as_environment(settings, os.environ) | ssh


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """A text of git's without what stands in the environment as a header, nor in an address as a password."""
    for name, value in environment.items():
        if name.startswith("GIT_CONFIG_VALUE_") and (found := _HEADER.fullmatch(value)):
            text = text.replace(found[1], "***")
    for token in filter(None, (os.environ.get(name) for name in TOKENS)):
        text = text.replace(token, "***")
    return redacted_text(text)


_HEADER = re.compile(r"AUTHORIZATION: basic (\S+)")


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
    return [
        (key, ""),
        (key, f"AUTHORIZATION: basic {credentials}"),
        (f"http.{server}/.followRedirects", "false"),
    ]


def _as_environment(settings: Sequence[tuple[str, str]], environment: Mapping[str, str]) -> dict[str, str]:
    """Settings in git's numbered variables, after those that the caller has set."""
    given = environment.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    made = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for place, (key, value) in enumerate(settings, first):
        made |= {f"GIT_CONFIG_KEY_{place}": key, f"GIT_CONFIG_VALUE_{place}": value}
    return made


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
