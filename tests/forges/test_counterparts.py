"""The counterparts of GitHub themselves: that they do what the tests of the bot lean on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from tests.forges.description import Description
from tests.forges.faults import refusal

CHECK = "rankgate/verdict"


class Caller:
    """Somebody who calls the github with a job's token and keeps the connection."""

    def __init__(self, github: GitHub, session: requests.Session) -> None:
        self.github = github
        self.session = session

    def __call__(self, method: str, path: str, body: Any = None, token: str | None = None) -> requests.Response:
        github = self.github
        address = f"{self.github.url}/repos/{github.repository}{path}" if path != "/user" else f"{self.github.url}/user"
        headers = {"Authorization": f"Bearer {github.token if token is None else token}"}
        return self.session.request(method, address, json=body, headers=headers, timeout=300, allow_redirects=False)


@pytest.fixture
def call(github: GitHub) -> Iterator[Caller]:
    with requests.Session() as session:
        session.trust_env = False
        yield Caller(github, session)


def check(sha: str, **changes: Any) -> dict[str, Any]:
    return {"name": CHECK, "head_sha": sha, "status": "completed", "conclusion": "success", **changes}


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
        pytest.param(["success", "neutral"], 200, 200, id="green, then neutral, which counts as success"),
    ],
)
def test_a_merge_follows_the_newest_required_check_or_all_of_them(
    github: GitHub, posted: list[str | None], newest: int, together: int
) -> None:
    """GitHub is said to do either where several checks bear one name; the emulator alone would take any success."""
    github.protect(CHECK)
    pull = github.new_pull()
    for conclusion in posted:
        state = {"status": "completed", "conclusion": conclusion} if conclusion else {"status": "in_progress"}
        posting = {"name": CHECK, "head_sha": pull.head_sha, **state}
        github.do("POST", "/check-runs", posting, by=github.token)
    assert github.merge(pull.number, "all") == together
    if together != 200:
        assert github.merge(pull.number, "newest") == newest


def test_a_check_of_an_earlier_commit_does_not_open_the_merge(github: GitHub) -> None:
    github.protect(CHECK)
    pull = github.new_pull()
    github.do("POST", "/check-runs", check(pull.head_sha), by=github.token)

    pushed = github.push("change", text="another change")

    assert github.pull(pull.number).head_sha == pushed != pull.head_sha
    assert github.merge(pull.number) == 422
    assert [run["name"] for run in github.check_runs(pull.head_sha)] == [CHECK]
    assert github.check_runs(pushed) == []


def test_a_closed_pull_request_stays_where_it_was(github: GitHub) -> None:
    pull = github.new_pull()
    github.close(pull.number)

    github.push("change", text="too late")

    assert github.pull(pull.number) == pull


def test_a_forks_pull_request_names_the_fork_and_moves_with_it(github: GitHub) -> None:
    within = github.new_pull()
    fork = github.fork_pull()

    pushed = github.push_fork()

    moved = github.pull(fork.number)
    assert moved.head_sha == pushed != fork.head_sha
    assert moved.head_repository == fork.head_repository != within.head_repository
    assert moved.base_sha == github.head_of("main")
    github.do("POST", "/check-runs", check(pushed), by=github.token)
    assert len(github.check_runs(pushed)) == 1


@pytest.mark.parametrize(
    ("permissions", "allowed"),
    [
        pytest.param({"contents": "read"}, [403, 403, 200], id="of a fork"),
        pytest.param({"issues": "write"}, [201, 403, 200], id="comments only"),
        pytest.param({"checks": "write"}, [403, 201, 200], id="checks only"),
    ],
)
def test_a_token_may_do_what_its_permissions_say(
    github: GitHub, call: Caller, permissions: dict[str, str], allowed: list[int]
) -> None:
    token = github.token_with(permissions)
    pull = github.new_pull()
    comments = f"/issues/{pull.number}/comments"

    answers = [
        call("POST", comments, {"body": "x"}, token),
        call("POST", "/check-runs", check(pull.head_sha), token),
        call("GET", comments, None, token),
    ]

    assert [answer.status_code for answer in answers] == allowed


def test_comments_carry_who_wrote_them(github: GitHub) -> None:
    number = github.new_pull().number

    for by in (github.token, github.app_token(), "alice", "mallory"):
        github.comment(number, "hello", by=by)

    assert [each.login for each in github.comments(number)] == [
        "github-actions[bot]",
        "acme-gate[bot]",
        "alice",
        "mallory",
    ]


def test_check_runs_are_listed_with_their_annotations(github: GitHub) -> None:
    sha = github.new_pull().head_sha
    found = {"path": "a.yml", "start_line": 3, "end_line": 3, "annotation_level": "failure", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [found]}

    first = github.do("POST", "/check-runs", check(sha, output=output), by=github.token)["id"]
    github.do("POST", "/check-runs", check(sha, conclusion="neutral"), by=github.token)

    assert [run["conclusion"] for run in github.check_runs(sha)] == ["success", "neutral"]
    assert [(each["path"], each["start_line"], each["message"]) for each in github.annotations(first)] == [
        ("a.yml", 3, "m")
    ]


@pytest.mark.parametrize(
    ("method", "path", "body", "violation"),
    [
        pytest.param("POST", "/issues/1/comments", {"text": "x"}, "'body' is a required property", id="no body"),
        pytest.param("POST", "/issues/1/comments", {"body": 5}, "5 is not of type 'string'", id="a number"),
        pytest.param(
            "POST",
            "/issues/1/comments",
            {"body": "x" * 65_537},
            "Body is too long (maximum is 65536 characters)",
            id="a long comment",
        ),
        pytest.param(
            "POST",
            "/check-runs",
            {"name": "x", "head_sha": "y", "conclusion": "failed"},
            "'failed' is not one of",
            id="a conclusion that there is not",
        ),
        pytest.param(
            "POST",
            "/check-runs",
            {"name": "x", "head_sha": "y", "conclusoin": "failure"},
            "unknown in the body: conclusoin",
            id="a misspelled name",
        ),
        pytest.param(
            "POST",
            "/check-runs",
            {"name": "x", "head_sha": "y", "output": {"title": "t", "summary": "s" * 65_536}},
            "is too long",
            id="a long summary",
        ),
        pytest.param("GET", "/pulls?per_page=many", None, "per_page", id="a query of another type"),
        pytest.param("GET", "/pulls?prepage=5", None, "unknown in the query: prepage", id="a misspelled query"),
        pytest.param("GET", "/issues/one/comments", None, "issue_number", id="a path of another type"),
        pytest.param("PUT", "/pulls/1/merge", {}, "not among the operations", id="nothing of ours"),
    ],
)
def test_what_github_would_not_accept_is_refused_and_on_record(
    github: GitHub, call: Caller, method: str, path: str, body: object, violation: str
) -> None:
    answer = call(method, path, body)

    assert answer.status_code == 422
    (recorded,) = [each for each in github.take_violations() if violation in each]
    assert recorded.startswith(f"{method} /repos/{github.repository}{path}: ")
    assert violation in answer.json()["message"]


def test_a_violation_that_nobody_expects_fails_the_test(github: GitHub, described: Description) -> None:
    def misbehave() -> None:
        with GitHub(github, described).running() as github:
            requests.get(f"{github.url}/zen", timeout=300)

    with pytest.raises(AssertionError, match="not among the operations that rankgate may call: GET /zen"):
        misbehave()


def test_the_longest_comment_passes(github: GitHub, call: Caller) -> None:
    number = github.new_pull().number

    assert call("POST", f"/issues/{number}/comments", {"body": "é" * 65_536}).status_code == 201


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        pytest.param("/user", lambda github: github.token, 403, id="an Actions token has no user"),
        pytest.param("/user", lambda github: github.user_token("alice"), 200, id="a user has"),
        pytest.param("/pulls", lambda github: "ghs_guessed", 401, id="a wrong token"),
    ],
)
def test_tokens_are_what_they_are_on_github(
    github: GitHub, call: Caller, path: str, token: Callable[[GitHub], str], status: int
) -> None:
    assert call("GET", path, None, token(github)).status_code == status
    assert github.log[0].authorized == (status != 401)


def test_a_refusal_looks_like_githubs() -> None:
    answer = refusal(403, "Resource not accessible by integration", Retry_After="60")

    assert answer.headers == {"Content-Type": "application/json", "Retry-After": "60"}
    assert b'"message": "Resource not accessible by integration"' in answer.body
    assert b'"status": "403"' in answer.body
