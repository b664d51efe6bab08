"""The environment of an Actions job: GitHub's own example payloads, made to fit a pull request."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.forges.github import GitHub, PullRequest

PUBLISHED = Path(__file__).parents[2] / ".node/node_modules/@octokit/webhooks-examples/api.github.com/index.json"


@cache
def published() -> dict[str, list[Any]]:
    """GitHub's own examples by event."""
    return {each["name"]: each["examples"] for each in json.loads(PUBLISHED.read_text(encoding="utf-8"))}


def example(event: str, action: str | None = None) -> Any:
    """The first example of an event, or of one of its actions."""
    found = (each for each in published()[event] if action is None or each.get("action") == action)
    return copy.deepcopy(next(found))


def payload_of(
    event: str,
    pull: PullRequest,
    repository_id: int,
    *,
    label: str | None = None,
    sender: str = "alice",
    action: str | None = None,
    of_run: int = 7,
) -> Any:
    """The payload of an event about a pull request."""
    if event in ("pull_request", "pull_request_target"):
        payload = example("pull_request", "labeled" if label else "synchronize")
        request = payload["pull_request"]
        request["number"] = payload["number"] = pull.number
        request["head"]["sha"], request["base"]["sha"] = pull.head_sha, pull.base_sha
        request["head"]["repo"]["id"], request["base"]["repo"]["id"] = pull.head_repository, repository_id
        request["base"]["ref"] = pull.base_ref
        payload["sender"]["login"] = sender
        payload["action"] = action or payload["action"]
        if label:
            payload["label"]["name"] = label
        return payload
    if event == "merge_group":
        payload = example(event)
        payload["merge_group"]["head_sha"], payload["merge_group"]["base_sha"] = pull.head_sha, pull.base_sha
        return payload
    if event == "workflow_run":
        payload = example(event, "completed")
        run = payload["workflow_run"]
        run.update(id=of_run, run_attempt=1, head_sha=pull.head_sha, event="pull_request", pull_requests=[])
        run["head_repository"]["id"] = pull.head_repository
        payload["repository"]["id"] = repository_id
        return payload
    return example(event)


def environment(
    directory: Path,
    github: GitHub,
    event: str,
    *,
    pull: PullRequest,
    run: int = 7,
    attempt: int = 1,
    actor: str = "alice",
    token: str | None = None,
    job: str = "gate",
    index: int = 0,
    **about: Any,
) -> dict[str, str]:
    """What the runner sets; the payload lies in the directory."""
    path = directory / f"event-{event}-{run}-{attempt}.json"
    path.write_text(json.dumps(payload_of(event, pull, github.id, **about)), encoding="utf-8")
    github.started(run, attempt)
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": github.url,
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": github.repository,
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(path),
        # Of a pull request it is the merge commit, which no check may be posted on.
        "GITHUB_SHA": "f" * 40 if event.startswith("pull_request") else pull.head_sha,
        "GITHUB_RUN_ID": str(run),
        "GITHUB_RUN_ATTEMPT": str(attempt),
        "GITHUB_JOB": job,
        "GITHUB_WORKFLOW_REF": f"{github.repository}/.github/workflows/rankgate.yml@refs/pull/1/merge",
        "STRATEGY_JOB_INDEX": str(index),
        "GITHUB_ACTOR": actor,
        "GITHUB_TOKEN": token or github.token,
    }
