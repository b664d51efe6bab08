"""Where a job of GitHub Actions stands: its event, repository and commits, as one value."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from rankgate.errors import bad_input
from rankgate.files.environment import API
from rankgate.forges.payloads import (
    MergeGroupEvent,
    PullRequest,
    PullRequestEvent,
    Repository,
    WorkflowRunEvent,
    read_payload,
)

DEPENDABOT = "dependabot[bot]"


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

    `event` started it, `actor` is the login behind that, None where Enterprise does not say. `head_repository` and
    `from_fork` are as in `Pull`; a run of Dependabot counts as one of a fork, for its token was read-only too.
    `head_branch` is the merge queue's own, None where something else started the run.
    """

    id: int
    attempt: int
    head_sha: str
    head_repository: int | None
    event: str
    from_fork: bool
    actor: str | None
    head_branch: str | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """All that publishing needs to know of the job that it runs in.

    `sha` is the commit that a check belongs to: the head of the pull request or the merge group, never the merge
    commit that Actions makes of a pull request. `base` is the commit to judge against, None outside pull requests and
    the merge queue. `run_id` and `attempt` are of the run that judged: the one that a `workflow_run` event speaks of,
    else this one; 0 outside of Actions. `job` tells this job from others: the workflow's file, the job's id and its
    place in the matrix. With `read_only` the token cannot write. `action` is what became of a pull request. `settles`
    is of an event that changes which reports count: a pull request was closed, or points at another base.
    """

    event: str
    api_url: str
    server_url: str
    repository: str
    sha: str | None = None
    base: str | None = None
    pull: Pull | None = None
    workflow_run: WorkflowRun | None = None
    run_id: int
    attempt: int
    job: str = ""
    actor: str | None = None
    read_only: bool = False
    action: str | None = None
    settles: bool = False


def context_of(environment: Mapping[str, str]) -> Context:
    """The context that the variables of an Actions job describe, and the event's payload that one of them names.

    Of `pull_request`, `pull_request_target`, `merge_group` and `workflow_run` the payload is read; of any other event
    the variables say enough. The pull requests that a `workflow_run` payload lists are not looked at: for forks the
    list is empty.

    Raises:
        RankgateError: a variable is missing or is not what Actions sets; the payload cannot be read or is not one of
            this event.
    """
    event = _required(environment, "GITHUB_EVENT_NAME", _EVENT, "the name of an event")
    common = Context(
        event=event,
        api_url=_url(environment, "GITHUB_API_URL", API),
        server_url=_url(environment, "GITHUB_SERVER_URL", "https://github.com"),
        repository=_required(environment, "GITHUB_REPOSITORY", _REPOSITORY, "OWNER/NAME"),
        run_id=int(_required(environment, "GITHUB_RUN_ID", _NUMBER, "a number")),
        attempt=int(_optional(environment, "GITHUB_RUN_ATTEMPT", _NUMBER, "a number") or 1),
        job=_job(environment),
        actor=_optional(environment, "GITHUB_ACTOR", _LOGIN, "a login"),
    )
    payload = environment.get("GITHUB_EVENT_PATH", "")
    if event in {"pull_request", "pull_request_target"}:
        return _of_pull_request(common, read_payload(payload, PullRequestEvent, event))
    if event == "merge_group":
        group = read_payload(payload, MergeGroupEvent, event).merge_group
        return msgspec.structs.replace(common, sha=group.head_sha, base=group.base_sha)
    if event == "workflow_run":
        return _of_workflow_run(common, read_payload(payload, WorkflowRunEvent, event))
    sha = _optional(environment, "GITHUB_SHA", _SHA, "the 40 or 64 hex digits of a commit")
    return msgspec.structs.replace(common, sha=sha, read_only=event == "push" and common.actor == DEPENDABOT)


def _of_pull_request(common: Context, payload: PullRequestEvent) -> Context:
    request = payload.pull_request
    pull = Pull(
        number=request.number,
        head_sha=request.head.sha,
        base_ref=request.base.ref,
        base_sha=request.base.sha,
        head_repository=_id(request.head.repo),
        from_fork=_id(request.head.repo) != request.base.repo.id,
        author=request.user.login if request.user else None,
    )
    return msgspec.structs.replace(
        common,
        sha=pull.head_sha,
        base=pull.base_sha,
        pull=pull,
        read_only=_cannot_write(common, pull, request),
        action=payload.action,
        settles=payload.action == "closed" or (common.event, payload.action) == ("pull_request_target", "edited"),
    )


def _cannot_write(common: Context, pull: Pull, request: PullRequest) -> bool:
    """Whether GitHub gave the job a read-only token.

    A `pull_request` job has the rights of whoever set it off, a `pull_request_target` job those of the repository,
    unless Dependabot opened the pull request.
    """
    if common.event == "pull_request":
        return pull.from_fork or common.actor == DEPENDABOT
    return request.user is not None and request.user.login == DEPENDABOT


def _of_workflow_run(common: Context, payload: WorkflowRunEvent) -> Context:
    said = payload.workflow_run
    actor = said.actor.login if said.actor else None
    run = WorkflowRun(
        id=said.id,
        attempt=said.run_attempt,
        head_sha=said.head_sha,
        head_repository=_id(said.head_repository),
        event=said.event,
        from_fork=_id(said.head_repository) != payload.repository.id or actor == DEPENDABOT,
        actor=actor,
        head_branch=said.head_branch if said.event == "merge_group" else None,
    )
    return msgspec.structs.replace(common, sha=run.head_sha, workflow_run=run, run_id=run.id, attempt=run.attempt)


def _id(repository: Repository | None) -> int | None:
    return repository.id if repository else None


def _job(environment: Mapping[str, str]) -> str:
    name = _optional(environment, "GITHUB_JOB", _JOB, "the id of a job") or ""
    index = _optional(environment, "RANKGATE_JOB_INDEX", _INDEX, "the job's place in its matrix, from 0") or "0"
    file = environment.get("GITHUB_WORKFLOW_REF", "").partition("@")[0].rpartition("/")[2]  # behind the @ is a branch
    return "/".join(each for each in (re.sub(r"[^A-Za-z0-9_.-]", "_", file)[:60], name, index) if each)


_EVENT = re.compile(r"[a-z_]{1,100}")
_INDEX = re.compile(r"[0-9]{1,3}")
_JOB = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}(\[bot\])?")
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_REPOSITORY = re.compile(r"[A-Za-z0-9_-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# The token goes there: encrypted, or to this very machine; and no name or password stands in it.
_URL = re.compile(
    r"(?:https://[A-Za-z0-9.-]+|http://(?:localhost|127\.0\.0\.1|\[::1\]))(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?"
)


def _required(environment: Mapping[str, str], name: str, pattern: re.Pattern[str], what: str) -> str:
    value = _optional(environment, name, pattern, what)
    if value is None:
        raise bad_input("is not set; is this running in GitHub Actions?", key=name)
    return value


def _optional(environment: Mapping[str, str], name: str, pattern: re.Pattern[str], what: str) -> str | None:
    """The variable, None where it is unset or empty. Its value is not repeated: nobody knows what it holds."""
    value = environment.get(name, "")
    if value and not pattern.fullmatch(value):
        raise bad_input(f"expected {what}; is this running in GitHub Actions?", key=name)
    return value or None


def _url(environment: Mapping[str, str], name: str, usual: str) -> str:
    what = f"an address such as {usual}, with https and without a password"
    return (_optional(environment, name, _URL, what) or usual).rstrip("/")
