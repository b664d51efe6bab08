"""The counterparts of GitHub themselves: that they do what the tests of the bot lean on."""

from __future__ import annotations

import http.client
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from tests.forges.description import Description
from tests.forges.emulator import Emulator, RefusedError
from tests.forges.faults import refusal
from tests.forges.proxy import Proxy
from tests.forges.server import ACTIONS
from tests.forges.storage import Storage

CHECK = "rankgate/verdict"


class Caller:
    """Somebody who calls the proxy with a job's token and keeps the connection."""

    def __init__(self, proxy: Proxy, session: requests.Session) -> None:
        self.proxy = proxy
        self.session = session

    def __call__(self, method: str, path: str, body: Any = None, token: str | None = None) -> requests.Response:
        github = self.proxy.emulator
        address = f"{self.proxy.url}/repos/{github.repository}{path}" if path != "/user" else f"{self.proxy.url}/user"
        headers = {"Authorization": f"Bearer {github.token if token is None else token}"}
        return self.session.request(method, address, json=body, headers=headers, timeout=20, allow_redirects=False)


@pytest.fixture
def call(proxy: Proxy) -> Iterator[Caller]:
    with requests.Session() as session:
        session.trust_env = False
        yield Caller(proxy, session)


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
    github: Emulator, posted: list[str | None], newest: int, together: int
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


def test_a_check_of_an_earlier_commit_does_not_open_the_merge(github: Emulator) -> None:
    github.protect(CHECK)
    pull = github.new_pull()
    github.do("POST", "/check-runs", check(pull.head_sha), by=github.token)

    pushed = github.push("change", text="another change")

    assert github.pull(pull.number).head_sha == pushed != pull.head_sha
    assert github.merge(pull.number) == 422
    assert [run["name"] for run in github.check_runs(pull.head_sha)] == [CHECK]
    assert github.check_runs(pushed) == []


def test_a_closed_pull_request_stays_where_it_was(github: Emulator) -> None:
    pull = github.new_pull()
    github.close(pull.number)

    github.push("change", text="too late")

    assert github.pull(pull.number) == pull


def test_a_forks_pull_request_names_the_fork_and_moves_with_it(github: Emulator) -> None:
    within = github.new_pull()
    fork = github.fork_pull()

    pushed = github.push_fork()

    moved = github.pull(fork.number)
    assert moved.head_sha == pushed != fork.head_sha
    assert moved.head_repository == fork.head_repository != within.head_repository
    assert moved.base_sha == github.head_of("main")
    github.do("POST", "/check-runs", check(pushed), by=github.token)
    assert len(github.check_runs(pushed)) == 1


def test_the_commits_of_a_clone_keep_their_shas(github: Emulator, tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=Ann É", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet", "--initial-branch=main")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "ship-criteria.yaml").write_text("gates: []\n", encoding="utf-8")
    (tmp_path / "every.bin").write_bytes(bytes(range(256)))
    git("add", ".")
    git("commit", "--quiet", "--message=One\n\nwith a body")
    (tmp_path / "retrieve").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "retrieve").chmod(0o755)
    git("add", ".")
    git("commit", "--quiet", "--message=Two")

    pushed = github.push_clone(tmp_path)

    assert pushed == github.head_of("main") == git("rev-parse", "HEAD")
    assert github.do("GET", f"/git/commits/{pushed}")["parents"][0]["sha"] == git("rev-parse", "HEAD~1")
    assert github.push_clone(tmp_path, "HEAD~1", branch="older") == git("rev-parse", "HEAD~1")


@pytest.mark.parametrize(
    ("permissions", "allowed"),
    [
        pytest.param({"contents": "read"}, [403, 403, 200], id="of a fork"),
        pytest.param({"issues": "write"}, [201, 403, 200], id="comments only"),
        pytest.param({"checks": "write"}, [403, 201, 200], id="checks only"),
    ],
)
def test_a_token_may_do_what_its_permissions_say(
    github: Emulator, call: Caller, permissions: dict[str, str], allowed: list[int]
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


def test_comments_carry_who_wrote_them(github: Emulator) -> None:
    number = github.new_pull().number

    for by in (github.token, github.app_token(), "alice", "mallory"):
        github.comment(number, "hello", by=by)

    assert [each.login for each in github.comments(number)] == [
        "github-actions[bot]",
        "acme-gate[bot]",
        "alice",
        "mallory",
    ]


def test_check_runs_are_listed_with_their_annotations(github: Emulator) -> None:
    sha = github.new_pull().head_sha
    found = {"path": "a.yml", "start_line": 3, "end_line": 3, "annotation_level": "failure", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [found]}

    first = github.do("POST", "/check-runs", check(sha, output=output), by=github.token)["id"]
    github.do("POST", "/check-runs", check(sha, conclusion="neutral"), by=github.token)

    assert [run["conclusion"] for run in github.check_runs(sha)] == ["success", "neutral"]
    assert [(each["path"], each["start_line"], each["message"]) for each in github.annotations(first)] == [
        ("a.yml", 3, "m")
    ]


def test_two_tests_share_nothing(server: Any, github: Emulator) -> None:
    with requests.Session() as session:
        other = Emulator(server, session, "nothing", server.token(ACTIONS, {"contents": "read"}))

        with pytest.raises(RefusedError, match="404"):
            other.head_of("main")


def test_labels_are_put_and_taken(github: Emulator, call: Caller) -> None:
    number = github.new_pull().number
    github.label(number, "rankgate: accept")

    assert github.labels(number) == ["rankgate: accept"]
    assert call("DELETE", f"/issues/{number}/labels/rankgate%3A%20accept").status_code == 200
    assert github.labels(number) == []


def test_pages_lead_through_the_proxy(proxy: Proxy, github: Emulator, call: Caller) -> None:
    number = github.new_pull().number
    for index in range(5):
        github.comment(number, f"comment {index}")

    first = call("GET", f"/issues/{number}/comments?per_page=2")
    second = call.session.get(first.links["next"]["url"], timeout=20)

    assert first.links["next"]["url"].startswith(proxy.url)
    assert github.url not in first.text
    assert [each["body"] for each in second.json()] == ["comment 2", "comment 3"]
    assert [each.authorized for each in proxy.log] == [True, False]
    assert "authorization" in proxy.log[0].headers
    assert proxy.log[0].at <= proxy.log[1].at <= time.monotonic()


def test_one_connection_takes_many_requests(proxy: Proxy, github: Emulator) -> None:
    comments = f"/repos/{github.repository}/issues/{github.new_pull().number}/comments"
    headers = {"Authorization": f"Bearer {github.token}", "Content-Type": "application/json", "User-Agent": "tests"}
    statuses = []

    with closing(http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=20)) as connection:
        connection.connect()
        connection.auto_open = 0  # a second connection would be an error
        for method, path, body in [
            ("POST", comments, '{"body": "x"}'),
            ("GET", comments, None),
            ("DELETE", f"/repos/{github.repository}/issues/comments/{{id}}", None),
            ("GET", comments, None),
        ]:
            made = github.comments(1)
            connection.request(method, path.format(id=made[0].id if made else ""), body, headers)
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)

    assert statuses == [201, 200, 204, 200]


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
    proxy: Proxy, call: Caller, method: str, path: str, body: object, violation: str
) -> None:
    answer = call(method, path, body)

    assert answer.status_code == 422
    (recorded,) = [each for each in proxy.take_violations() if violation in each]
    assert recorded.startswith(f"{method} /repos/{proxy.emulator.repository}{path}: ")
    assert violation in answer.json()["message"]


def test_a_violation_that_nobody_expects_fails_the_test(github: Emulator, described: Description) -> None:
    def misbehave() -> None:
        with Proxy(github, described).running() as proxy:
            requests.get(f"{proxy.url}/zen", timeout=20)

    with pytest.raises(AssertionError, match="not among the operations that rankgate may call: GET /zen"):
        misbehave()


def test_the_longest_comment_passes(github: Emulator, call: Caller) -> None:
    number = github.new_pull().number

    assert call("POST", f"/issues/{number}/comments", {"body": "é" * 65_536}).status_code == 201


def test_a_scripted_status_comes_as_often_as_asked_and_does_nothing(
    proxy: Proxy, github: Emulator, call: Caller
) -> None:
    number = github.new_pull().number
    comments = f"/issues/{number}/comments"
    secondary = {"message": "You have exceeded a secondary rate limit."}
    proxy.status("POST", "/comments$", 403, json=secondary, headers={"Retry-After": "1"}, times=2)
    proxy.status("POST", "/check-runs$", 502, content=b"<html>Unicorn</html>")

    limited = [call("POST", comments, {"body": "x"}) for _ in range(2)]
    nothing_yet = github.comments(number)
    passed = call("POST", comments, {"body": "x"})

    assert [(each.status_code, each.headers["Retry-After"], each.json()) for each in limited] == [
        (403, "1", secondary)
    ] * 2
    assert nothing_yet == []
    assert (passed.status_code, len(github.comments(number))) == (201, 1)
    assert call("POST", "/check-runs", check("x")).content == b"<html>Unicorn</html>"
    assert len(proxy.asked("POST", "/comments$")) == 3


def test_a_reset_before_does_nothing(proxy: Proxy, github: Emulator, call: Caller) -> None:
    number = github.new_pull().number
    proxy.reset_before("POST", "/comments$")

    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        call("POST", f"/issues/{number}/comments", {"body": "x"})

    assert github.comments(number) == []


def test_what_is_dropped_after_was_done(proxy: Proxy, github: Emulator, call: Caller) -> None:
    number = github.new_pull().number
    proxy.drop_after("POST", "/comments$")

    with pytest.raises(requests.ConnectionError, match="reset by peer"):
        call("POST", f"/issues/{number}/comments", {"body": "x"})

    assert [each.body for each in github.comments(number)] == ["x"]
    assert call("GET", f"/issues/{number}/comments").status_code == 200


def test_something_may_happen_in_between(proxy: Proxy, github: Emulator, call: Caller) -> None:
    pull = github.new_pull()
    proxy.meanwhile("GET", "/pulls/", lambda: github.push("change", text="moved on"))

    seen = call("GET", f"/pulls/{pull.number}").json()["head"]["sha"]

    assert seen == github.pull(pull.number).head_sha != pull.head_sha


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        pytest.param("/user", lambda github: github.token, 403, id="an Actions token has no user"),
        pytest.param("/user", lambda github: github.user_token("alice"), 200, id="a user has"),
        pytest.param("/pulls", lambda github: "ghs_guessed", 401, id="a wrong token"),
    ],
)
def test_tokens_are_what_they_are_on_github(
    proxy: Proxy, github: Emulator, call: Caller, path: str, token: Callable[[Emulator], str], status: int
) -> None:
    assert call("GET", path, None, token(github)).status_code == status
    assert proxy.log[0].authorized == (status != 401)


def test_answers_that_the_emulator_lacks_can_be_played(
    proxy: Proxy, github: Emulator, call: Caller, storage: Storage
) -> None:
    pull = github.new_pull()
    blob = storage.keep(b"PK...")
    proxy.play("POST", f"/statuses/{pull.head_sha}", 201, json={"state": "success"})
    proxy.play("GET", f"/commits/{pull.head_sha}/pulls", json=[{"number": pull.number}])
    proxy.play("GET", "/actions/artifacts/7/zip", 302, redirect=blob)

    status = call("POST", f"/statuses/{pull.head_sha}", {"state": "success", "context": CHECK})
    wrong = call("POST", f"/statuses/{pull.head_sha}", {"state": "passed"})
    pulls = call("GET", f"/commits/{pull.head_sha}/pulls?per_page=100")
    zipped = call("GET", "/actions/artifacts/7/zip")

    assert (status.status_code, wrong.status_code, pulls.json()) == (201, 422, [{"number": pull.number}])
    assert len(proxy.take_violations()) == 1
    assert (zipped.status_code, zipped.headers["Location"]) == (302, blob)
    assert requests.get(blob, timeout=20).content == b"PK..."
    assert "authorization" not in storage.log[0].headers
    assert "?sig=" in storage.log[0].path


def test_an_artifact_may_claim_to_be_larger_than_it_is(storage: Storage) -> None:
    address = storage.keep(b"PK...", claimed=10_000_000_000)

    with requests.get(address, stream=True, timeout=20) as answer:
        assert answer.headers["Content-Length"] == "10000000000"
        assert next(answer.iter_content(4)) == b"PK.."
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            list(answer.iter_content(4))


def test_an_artifact_that_has_expired_is_an_error(storage: Storage) -> None:
    assert requests.get(storage.keep(b"gone", status=410), timeout=20).status_code == 410
    assert requests.get(storage.keep(b"").replace("SIGNATURE", "guessed"), timeout=20).status_code == 404


def test_requests_may_come_at_once(proxy: Proxy, github: Emulator) -> None:
    number = github.new_pull().number

    def comment(body: str) -> None:
        headers = {"Authorization": f"Bearer {github.token}"}
        address = f"{proxy.url}/repos/{github.repository}/issues/{number}/comments"
        requests.post(address, json={"body": body}, headers=headers, timeout=20)

    bodies = [f"job {index}" for index in range(4)]
    threads = [threading.Thread(target=comment, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(each.body for each in github.comments(number)) == bodies
    assert len(proxy.asked("POST")) == 4


def test_a_refusal_looks_like_githubs() -> None:
    answer = refusal(403, "Resource not accessible by integration", Retry_After="60")

    assert answer.headers == {"Content-Type": "application/json", "Retry-After": "60"}
    assert b'"message": "Resource not accessible by integration"' in answer.body
    assert b'"status": "403"' in answer.body
