"""A job of GitHub Actions: what its runner says of event, repository and commits, and what the runner reads of it.

Of an event's payload the few fields that are read are typed, and everything else is passed over. A job writes outputs,
a step summary, and its log, in which the runner looks for commands.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.errors import bad_input
from rankgate.files.environment import API
from rankgate.model.report import Links
from rankgate.readers.json_text import spoken
from rankgate.renderers.escape import without_runner_commands

MAX_SUMMARY_BYTES = 1024 * 1024  # of a step's summary, in UTF-8; the runner drops a larger one whole
_OUTPUT = "GITHUB_OUTPUT"
_SUMMARY = "GITHUB_STEP_SUMMARY"
_ELSEWHERE = "A step's summary holds 1,024 KiB, which are full. The comment is in the artifact of this run.\n"
MAX_BYTES = 25 * 1024 * 1024  # GitHub sends no payload above 25 MB
DEPENDABOT = "dependabot[bot]"
QUEUED = re.compile(r"refs/heads/gh-readonly-queue/(?P<base>.+)/pr-(?P<number>[0-9]+)-(?P<sha>[0-9a-f]+)")


class Pull(msgspec.Struct, frozen=True):
    """The pull request of the event.

    `base_sha` is what GitHub called the base when it was asked, which the branch `base_ref` may have left behind since.
    `head_repository` is the id of the repository that the branch lies in, None where that was deleted. `from_fork`
    says that it is not the repository of the pull request itself. `base_ref` is the branch that it is for. `by_app` is
    set where the API says that a GitHub App opened it.
    """

    number: int
    head_sha: str
    base_ref: str
    base_sha: str
    head_repository: int | None
    from_fork: bool
    author: str | None = None
    by_app: bool = False


class WorkflowRun(msgspec.Struct, frozen=True):
    """The workflow run that has been asked for or has ended.

    `event` started it. `head_repository` and `from_fork` are as in `Pull`; a run of Dependabot counts as one of a fork,
    for its token was read-only too. `head_branch` is the merge queue's own, None where something else started the run.
    """

    id: int
    head_sha: str
    head_repository: int | None
    event: str
    from_fork: bool
    head_branch: str | None = None


class JudgingRun(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow run that judged: the one that a `workflow_run` event speaks of, else this one; 0 outside of Actions.

    `job` tells this job from others: the workflow's file, the job's id and its place in the matrix.
    """

    id: int = 0
    attempt: int = 0
    job: str = ""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """All that publishing needs to know of the job that it runs in.

    `sha` is the commit that a check belongs to: the head of the pull request or the merge group, never the merge
    commit that Actions makes of a pull request. `base` is the commit to judge against, None outside pull requests and
    the merge queue. With `read_only` the token cannot write. `action` is what became of a pull request. `settles` is
    of an event that changes which reports count: a pull request was closed, or points at another base. `links` lead to
    this job's own run, whichever it judges, for what stands in the log of a fork's run was written by the fork, and to
    where `report.html` was uploaded to. `judged` is the digest of what was judged, for labels.
    """

    event: str
    api_url: str
    server_url: str
    repository: str
    sha: str | None = None
    base: str | None = None
    pull: Pull | None = None
    workflow_run: WorkflowRun | None = None
    run: JudgingRun = JudgingRun()
    actor: str | None = None
    read_only: bool = False
    action: str | None = None
    settles: bool = False
    links: Links = Links()
    judged: str = ""


_SHA = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_SHA_FORM = "the 40 or 64 hex digits of a commit"
_LOGIN = r"[A-Za-z0-9_-]{1,100}(?:\[bot\])?"
_LOGIN_FORM = "a login"
_FORMS = {rf"\A{_SHA}\Z": _SHA_FORM, rf"\A{_LOGIN}\Z": _LOGIN_FORM}  # `$` also matches before a line break at the end
Sha = Annotated[str, msgspec.Meta(pattern=rf"\A{_SHA}\Z")]
_Number = Annotated[int, msgspec.Meta(ge=1, le=2**53)]  # what every JSON reader can hold
_NUMBER = r"[1-9][0-9]{0,17}"
REPOSITORY = r"[A-Za-z0-9_-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}"
# The token goes there: encrypted, or to this very machine; and no name or password stands in it.
_URL = r"(?:https://[A-Za-z0-9.-]+|http://(?:localhost|127\.0\.0\.1|\[::1\]))(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?"


class _Repository(msgspec.Struct, frozen=True):
    id: _Number  # names change, the id does not


class _User(msgspec.Struct, frozen=True):
    login: Annotated[str, msgspec.Meta(pattern=rf"\A{_LOGIN}\Z")]


class _Head(msgspec.Struct, frozen=True):
    sha: Sha
    repo: _Repository | None  # None once it was deleted, as is a user


class _Base(msgspec.Struct, frozen=True):
    ref: str
    sha: Sha
    repo: _Repository


class _PullRequest(msgspec.Struct, frozen=True):
    number: _Number
    head: _Head
    base: _Base
    user: _User | None


class _PullRequestEvent(msgspec.Struct, frozen=True):
    action: str
    pull_request: _PullRequest


class _MergeGroup(msgspec.Struct, frozen=True):
    head_sha: Sha
    base_sha: Sha


class _MergeGroupEvent(msgspec.Struct, frozen=True):
    merge_group: _MergeGroup


class _Run(msgspec.Struct, frozen=True):
    id: _Number
    run_attempt: _Number
    head_sha: Sha
    head_repository: _Repository | None
    event: str
    actor: _User | None = None  # older Enterprise servers do not say whose it is
    head_branch: str | None = None


class _WorkflowRunEvent(msgspec.Struct, frozen=True):
    workflow_run: _Run
    repository: _Repository


_T = TypeVar("_T", bound=msgspec.Struct)


def context_of(environment: Mapping[str, str]) -> Context:
    """The context that the variables of an Actions job describe, and the event's payload that one of them names.

    Of `pull_request`, `pull_request_target`, `merge_group` and `workflow_run` the payload is read; of any other event
    the variables say enough. The pull requests that a `workflow_run` payload lists are not looked at: for forks the
    list is empty.
    """
    event = _required(environment, "GITHUB_EVENT_NAME", r"[a-z_]{1,100}", "the name of an event")
    common = Context(
        event=event,
        api_url=_url(environment, "GITHUB_API_URL", API),
        server_url=_url(environment, "GITHUB_SERVER_URL", "https://github.com"),
        repository=_required(environment, "GITHUB_REPOSITORY", REPOSITORY, "OWNER/NAME"),
        run=JudgingRun(
            id=int(_required(environment, "GITHUB_RUN_ID", _NUMBER, "a number")),
            attempt=int(_optional(environment, "GITHUB_RUN_ATTEMPT", _NUMBER, "a number") or 1),
            job=_job(environment),
        ),
        actor=_optional(environment, "GITHUB_ACTOR", _LOGIN, _LOGIN_FORM),
    )
    runs = f"{common.server_url}/{common.repository}/actions/runs"
    page = environment.get("RANKGATE_PAGE", "")
    ours = re.fullmatch(rf"{re.escape(runs)}/{_NUMBER}/artifacts/{_NUMBER}", page)
    own_run = f"{runs}/{common.run.id}/attempts/{common.run.attempt}"
    common = replace(common, links=Links(run=own_run, page=page if ours else None))
    path = environment.get("GITHUB_EVENT_PATH", "")
    if event in {"pull_request", "pull_request_target"}:
        return _of_pull_request(common, _payload(path, _PullRequestEvent, event))
    if event == "merge_group":
        group = _payload(path, _MergeGroupEvent, event).merge_group
        return replace(common, sha=group.head_sha, base=group.base_sha)
    if event == "workflow_run":
        return _of_workflow_run(common, _payload(path, _WorkflowRunEvent, event))
    sha = _optional(environment, "GITHUB_SHA", _SHA, _SHA_FORM)
    return replace(common, sha=sha, read_only=event == "push" and common.actor == DEPENDABOT)


def base_branch(environment: Mapping[str, str]) -> str | None:
    """The branch that a pull request or the merge queue is to be merged into; None for any other event."""
    queue = QUEUED.fullmatch(environment.get("GITHUB_REF", ""))
    return environment.get("GITHUB_BASE_REF") or (queue["base"] if queue else None)


def _of_pull_request(common: Context, payload: _PullRequestEvent) -> Context:
    request = payload.pull_request
    action = payload.action
    author = request.user.login if request.user else None
    source = _id(request.head.repo)
    pull = Pull(
        number=request.number,
        head_sha=request.head.sha,
        base_ref=request.base.ref,
        base_sha=request.base.sha,
        head_repository=source,
        from_fork=source != request.base.repo.id,
        author=author,
    )
    # A `pull_request` job has the rights of whoever set it off, a `pull_request_target` job those of the repository,
    # unless Dependabot opened the pull request.
    of_starter = common.event == "pull_request"
    return replace(
        common,
        sha=pull.head_sha,
        base=pull.base_sha,
        pull=pull,
        read_only=pull.from_fork or common.actor == DEPENDABOT if of_starter else author == DEPENDABOT,
        action=action,
        settles=action == "closed" or (action == "edited" and not of_starter),
    )


def _of_workflow_run(common: Context, payload: _WorkflowRunEvent) -> Context:
    run = payload.workflow_run
    source = _id(payload.workflow_run.head_repository)
    by_dependabot = run.actor is not None and run.actor.login == DEPENDABOT
    triggered = WorkflowRun(
        id=run.id,
        head_sha=run.head_sha,
        head_repository=source,
        event=run.event,
        from_fork=source != payload.repository.id or by_dependabot,
        head_branch=run.head_branch if run.event == "merge_group" else None,
    )
    judging = replace(common.run, id=run.id, attempt=run.run_attempt)
    return replace(common, sha=run.head_sha, workflow_run=triggered, run=judging)


def _id(repository: _Repository | None) -> int | None:
    return repository.id if repository else None


def _job(environment: Mapping[str, str]) -> str:
    name = _optional(environment, "GITHUB_JOB", r"[A-Za-z_][A-Za-z0-9_-]{0,99}", "the id of a job") or ""
    index = _optional(environment, "RANKGATE_JOB_INDEX", r"[0-9]{1,3}", "the job's place in its matrix, from 0") or "0"
    file = environment.get("GITHUB_WORKFLOW_REF", "").partition("@")[0].rpartition("/")[2]  # behind the @ is a branch
    return "/".join(each for each in (re.sub(r"[^A-Za-z0-9_.-]", "_", file)[:60], name, index) if each)


def _payload(path: str, kind: type[_T], event: str) -> _T:
    if not path:
        raise bad_input("is not set; is this running in GitHub Actions?", key="GITHUB_EVENT_PATH")
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
        message = f"the event's payload cannot be read: {reason}; is this running in GitHub Actions?"
        raise bad_input(message, file=path, key="GITHUB_EVENT_PATH") from error
    if len(data) > MAX_BYTES:
        message = f"the event's payload has more than {MAX_BYTES:,} bytes; GitHub sends none so large"
        raise bad_input(message, file=path, key="GITHUB_EVENT_PATH")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"not the payload of a {event} event: {spoken(error, _FORMS)}; is this running in GitHub Actions?"
        raise bad_input(message, file=path) from error


def _required(environment: Mapping[str, str], name: str, pattern: str, what: str) -> str:
    value = _optional(environment, name, pattern, what)
    if value is None:
        raise bad_input("is not set; is this running in GitHub Actions?", key=name)
    return value


def _optional(environment: Mapping[str, str], name: str, pattern: str, what: str) -> str | None:
    """The variable, None where it is unset or empty. Its value is not repeated: nobody knows what it holds."""
    value = environment.get(name, "")
    if value and not re.fullmatch(pattern, value):
        raise bad_input(f"expected {what}; is this running in GitHub Actions?", key=name)
    return value or None


def _url(environment: Mapping[str, str], name: str, default: str) -> str:
    what = f"an address such as {default}, with https and without a password"
    return (_optional(environment, name, _URL, what) or default).rstrip("/")


def set_output(path: str, name: str, value: str) -> None:
    """Set an output of the step, whatever text the value is; `path` is that of GITHUB_OUTPUT.

    The value stands between two lines with a delimiter that nobody can guess: none in it sets other outputs.
    """
    delimiter = secrets.token_hex(16)
    if delimiter in value:
        raise bad_input("the value contains the delimiter that was drawn for it, and is not written", key=name)
    try:
        data = f"{name}<<{delimiter}\n{value}\n{delimiter}\n".encode()
    except UnicodeEncodeError as error:
        raise bad_input("half of a surrogate pair; an output is written as UTF-8", key=name) from error
    _append(path, _OUTPUT, _finished(_content(path, _OUTPUT)) + data)


def add_summary(path: str, markdown: str) -> bool:
    """Add to the step's summary, the file of GITHUB_STEP_SUMMARY; True where it has room for it.

    Where it has not, a line says where the text is, if there is room for that.
    """
    there = _content(path, _SUMMARY)
    start = _finished(there) + (b"\n" if there else b"")  # Markdown right behind a paragraph would belong to it
    bytes_left = MAX_SUMMARY_BYTES - len(there) - len(start)
    for text in (markdown, _ELSEWHERE):
        data = text.encode("utf-8", "replace")
        if len(data) <= bytes_left:
            _append(path, _SUMMARY, start + data)
            return text == markdown
    return False


def stopped(text: str) -> str:
    """Lines for the log in which the runner finds no command, for output that we did not write; nothing for no text.

    Commands are stopped until a word that nobody can guess; nor does any line look like one, so that the text is
    harmless where the runner does not see the first line.
    """
    if not text:
        return ""
    word = secrets.token_hex(16)
    lines = list(map(without_runner_commands, re.split(r"\r\n|\r|\n", text)))  # the runner breaks no others
    if not lines[-1]:
        lines.pop()
    return "\n".join([f"::stop-commands::{word}", *lines, f"::{word}::", ""])


def _content(path: str, variable: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as error:
        raise _unusable(path, variable, error) from error


def _finished(content: bytes) -> bytes:
    """What ends the last line of what somebody else wrote."""
    return b"\n" if content and not content.endswith(b"\n") else b""


def _append(path: str, variable: str, data: bytes) -> None:
    try:
        with Path(path).open("ab") as file:
            file.write(data)
    except OSError as error:
        raise _unusable(path, variable, error) from error


def _unusable(path: str, variable: str, error: Exception) -> Exception:
    if not path:
        return bad_input("is not set; is this running in GitHub Actions?", key=variable)
    reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
    return bad_input(f"cannot be written: {reason}", file=path, key=variable)
