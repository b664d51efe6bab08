"""The GitHub on loopback itself: that it refuses what GitHub refuses, and merges where GitHub would."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from tests.forges.description import Description
from tests.forges.github import GitHub


def call(github: GitHub, method: str, path: str, body: Any = None, token: str | None = None) -> requests.Response:
    """A request over HTTP with a job's token."""
    address = f"{github.url}/repos/{github.repository}{path}"
    headers = {"Authorization": f"Bearer {token or github.token}"}
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, address, json=body, headers=headers, timeout=300, allow_redirects=False)


@pytest.mark.parametrize(
    ("posted", "newest", "together"),
    [
        pytest.param([], 422, 422, id="none"),
        pytest.param(["failure"], 422, 422, id="red"),
        pytest.param(["success"], 200, 200, id="green"),
        pytest.param(["failure", "success"], 200, 422, id="red, then green"),
        pytest.param(["success", "failure"], 422, 422, id="green, then red: blocked again"),
        pytest.param(["success", None], 422, 422, id="green, then in progress"),
        pytest.param(["success", "action_required"], 422, 422, id="green, then waiting for a maintainer"),
    ],
)
def test_a_merge_follows_the_newest_required_check_or_all_of_them(
    github: GitHub, posted: list[str | None], newest: int, together: int
) -> None:
    """GitHub is said to do either where several checks bear one name; of another commit none counts."""
    github.protect()
    github.posted(github.head_of("main"), github.token)
    pull = github.new_pull()
    for conclusion in posted:
        body = {"name": "rankgate/verdict", "head_sha": pull.head_sha, "status": "in_progress"}
        github.do("POST", "/check-runs", body | ({"conclusion": conclusion} if conclusion else {}), by=github.token)
    assert github.merge(pull.number, "all") == together
    assert github.merge(pull.number, "newest") == newest


@pytest.mark.parametrize(
    ("permissions", "allowed"),
    [
        pytest.param({"contents": "read"}, [403, 403, 200], id="of a fork"),
        pytest.param({"issues": "write"}, [201, 403, 200], id="comments only"),
        pytest.param({"checks": "write"}, [403, 201, 200], id="checks only"),
    ],
)
def test_a_token_may_do_what_its_permissions_say(
    github: GitHub, permissions: dict[str, str], allowed: list[int]
) -> None:
    token, pull = github.token_with(permissions), github.new_pull()
    comments = f"/issues/{pull.number}/comments"
    answers = [
        call(github, "POST", comments, {"body": "é" * 65_536}, token),
        call(github, "POST", "/check-runs", {"name": "x", "head_sha": pull.head_sha}, token),
        call(github, "GET", comments, None, token),
    ]
    assert [answer.status_code for answer in answers] == allowed
    assert call(github, "GET", comments, None, "ghs_guessed").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "violation"),
    [
        ("POST", "/issues/1/comments", {"text": "x"}, "'body' is a required property"),
        ("POST", "/issues/1/comments", {"body": 5}, "5 is not of type 'string'"),
        ("POST", "/issues/1/comments", {"body": "x" * 65_537}, "Body is too long (maximum is 65536 characters)"),
        ("POST", "/check-runs", {"name": "x", "head_sha": "y", "conclusion": "failed"}, "'failed' is not one of"),
        (
            "POST",
            "/check-runs",
            {"name": "x", "head_sha": "y", "conclusoin": "failure"},
            "unknown in the body: conclusoin",
        ),
        (
            "POST",
            "/check-runs",
            {"name": "x", "head_sha": "y", "output": {"title": "t", "summary": "s" * 65_536}},
            "is too long",
        ),
        ("GET", "/pulls?per_page=many", None, "per_page"),
        ("GET", "/pulls?prepage=5", None, "unknown in the query: prepage"),
        ("GET", "/issues/one/comments", None, "issue_number"),
        ("PUT", "/pulls/1/merge", {}, "not among the operations"),
    ],
)
def test_what_github_would_not_accept_is_refused_and_on_record(
    github: GitHub, method: str, path: str, body: object, violation: str
) -> None:
    answer = call(github, method, path, body)
    assert answer.status_code == 422
    (recorded,) = [each for each in github.take_violations() if violation in each]
    assert recorded.startswith(f"{method} /repos/{github.repository}{path}: ")
    assert violation in answer.json()["message"]


def test_a_violation_that_nobody_expects_fails_the_test(described: Description) -> None:
    def misbehave() -> None:
        with GitHub(described).running() as github:
            call(github, "GET", "/zen")

    with pytest.raises(AssertionError, match="not among the operations that rankgate may call: GET /repos/"):
        misbehave()
