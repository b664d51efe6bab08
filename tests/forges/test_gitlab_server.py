"""The stand-in of GitLab itself: two clients that were written against GitLab get the same from it."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gitlab as python_gitlab
import pytest
import requests
from gitlab.v4.objects import Project as FoundProject
from tests.forges.gitlab.instance import MAX_NOTE, Role
from tests.forges.gitlab.server import Gitlab

STORY = Path(__file__).parent / "gitlab" / "story.mjs"
Prepare = Callable[[Gitlab], str]  # what a token is made by


class Caller:
    """Somebody who calls the API, by default with the project's token, and keeps the connection."""

    def __init__(self, gitlab: Gitlab, session: requests.Session) -> None:
        self.gitlab = gitlab
        self.session = session

    def __call__(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> requests.Response:
        given = headers or {"PRIVATE-TOKEN": token or self.gitlab.token}
        named = {name.replace("_", "-"): value for name, value in given.items()}
        address = f"{self.gitlab.api}{path}"
        return self.session.request(method, address, json=body, headers=named, timeout=300, allow_redirects=False)


@pytest.fixture
def call(gitlab: Gitlab) -> Iterator[Caller]:
    with requests.Session() as session:
        session.trust_env = False
        yield Caller(gitlab, session)


@pytest.fixture(params=["", "/gitlab"], ids=["at the root", "below a path"])
def instance(request: pytest.FixtureRequest) -> Iterator[Gitlab]:
    """With a merge request that has 45 notes of others and one of GitLab's own."""
    with Gitlab(request.param).running() as instance:
        merge_request = instance.open_merge_request()
        for number in range(45):
            instance.write_note(merge_request, f"note {number}")
        instance.push(merge_request)
        yield instance


def tried(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except python_gitlab.GitlabError as error:
        return f"{error.response_code} {error.error_message}"


def told_by_python_gitlab(instance: Gitlab, sha: str) -> dict[str, Any]:
    """What story.mjs does."""
    api = python_gitlab.Gitlab(instance.url, private_token=instance.token)
    api.auth()
    assert api.user is not None
    project: FoundProject = api.projects.get(instance.project.path)
    notes = project.mergerequests.get(1).notes
    note = notes.create({"body": "first\r\n\n"})
    created, listed = note.body, {each.id for each in notes.list(iterator=True, per_page=20)}
    note.body = "second"
    note.save()
    edited = notes.get(note.id).body
    path = f"/projects/{project.id}/statuses/{sha}"

    def post(state: str) -> Any:
        try:
            posted = api.http_post(path, post_data={"state": state, "context": "rankgate", "description": state})
        except python_gitlab.GitlabHttpError as error:
            return f"{error.response_code} {error.error_message}"
        assert isinstance(posted, dict)
        return posted["status"]

    states = [post(state) for state in ("pending", "running", "running", "failed", "success")]
    of_commit = f"/projects/{project.id}/repository/commits/{sha}/statuses"
    statuses, every = api.http_list(of_commit), api.http_list(of_commit, query_data={"all": True})
    note.delete()
    wrong = python_gitlab.Gitlab(instance.url, private_token="glpat-guessed")  # noqa: S106 (it is none)
    return {
        "user": api.user.username,
        "created": created,
        "listed": len(listed),
        "edited": edited,
        "states": states,
        "statuses": [[each["name"], each["status"], each["description"]] for each in statuses],
        "every": len(list(every)),
        "gone": tried(lambda: notes.get(note.id)),
        "missing": tried(lambda: project.mergerequests.get(404)),
        "wrong": tried(wrong.auth),
    }


def told_by_gitbeaker(instance: Gitlab, sha: str, node_modules: Path) -> dict[str, Any]:
    node = shutil.which("node")
    assert node is not None
    arguments = [str(node_modules), instance.url, instance.project.path, instance.token, sha]
    done = subprocess.run([node, STORY, *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def expected(instance: Gitlab) -> dict[str, Any]:
    return {
        "user": instance.user_of(instance.token).username,
        "created": "first",
        "listed": 47,
        "edited": "second",
        "states": [
            "pending",
            "running",
            '400 Cannot transition status via :run from :running (Reason(s): Status cannot transition via "run")',
            "failed",
            "success",
        ],
        "statuses": [["rankgate", "success", "success"]],
        "every": 2,
        "gone": "404 404 Not found",
        "missing": "404 404 Not found",
        "wrong": "401 401 Unauthorized",
    }


def test_python_gitlab_gets_what_gitlab_gives(instance: Gitlab) -> None:
    instance.limit("GET", "/user$")

    assert told_by_python_gitlab(instance, instance.project.merge_requests[1].sha) == expected(instance)
    assert len(instance.asked("GET", "/user$")) == 3, "limited, tried again, and with a wrong token"
    assert len(instance.asked("GET", "/notes[?]")) == 3, "pages"


def test_gitbeaker_gets_what_gitlab_gives(instance: Gitlab, node_modules: Path) -> None:
    instance.limit("GET", "/user$")

    assert told_by_gitbeaker(instance, instance.project.merge_requests[1].sha, node_modules) == expected(instance)
    assert len(instance.asked("GET", "/user$")) == 3, "limited, tried again, and with a wrong token"
    assert len(instance.asked("GET", "/notes[?]")) == 3, "pages"


NOTES = "/projects/278/merge_requests/1/notes"


@pytest.mark.parametrize(
    ("role", "visibility", "answers"),
    [
        pytest.param(None, "private", [404, 404, 404, 404, 404, 404], id="a stranger"),
        pytest.param(Role.GUEST, "private", [200, 403, 404, 404, 404, 403], id="a guest"),
        pytest.param(Role.REPORTER, "private", [200, 200, 201, 403, 200, 403], id="a reporter"),
        pytest.param(Role.DEVELOPER, "private", [200, 200, 201, 403, 200, 201], id="a developer"),
        pytest.param(Role.MAINTAINER, "private", [200, 200, 201, 200, 200, 201], id="a maintainer"),
        pytest.param(None, "public", [200, 200, 201, 403, 404, 403], id="anybody, of a public project"),
    ],
)
def test_what_a_role_allows(
    gitlab: Gitlab, call: Caller, role: Role | None, visibility: Any, answers: list[int]
) -> None:
    merge_request = gitlab.open_merge_request()
    gitlab.project.visibility = visibility
    others, internal = gitlab.write_note(merge_request, "x"), gitlab.write_note(merge_request, "y", internal=True)
    token = gitlab.add_token(gitlab.add_user("bob", role))

    got = [
        call("GET", "/projects/acme%2Fsearch%2Frag", token=token),
        call("GET", "/projects/278/merge_requests/1", token=token),
        call("POST", NOTES, {"body": "z"}, token=token),
        call("PUT", f"{NOTES}/{others.id}", {"body": "z"}, token=token),
        call("GET", f"{NOTES}/{internal.id}", token=token),
        call("POST", f"/projects/278/statuses/{merge_request.sha}", {"state": "success"}, token=token),
    ]

    assert [answer.status_code for answer in got] == answers


def test_what_a_token_allows(gitlab: Gitlab, call: Caller) -> None:
    gitlab.open_merge_request()
    reading, job, old = gitlab.project_token(Role.DEVELOPER, "read_api"), gitlab.job_token(), gitlab.project_token()
    gitlab.tokens[old].state = "expired"

    def asked(method: str, path: str, **headers: str) -> tuple[int, str]:
        answer = call(method, path, {"body": "x"} if method == "POST" else None, **headers)
        told = answer.json()
        return answer.status_code, told.get("error") or told.get("message") or "" if isinstance(told, dict) else ""

    assert asked("POST", NOTES, Authorization=f"Bearer {gitlab.token}") == (201, "")
    assert asked("GET", NOTES, PRIVATE_TOKEN=reading) == (200, "")
    assert asked("POST", NOTES, PRIVATE_TOKEN=reading) == (403, "insufficient_scope")
    assert asked("GET", NOTES, PRIVATE_TOKEN=old) == (401, "invalid_token")
    assert asked("GET", NOTES, JOB_TOKEN=job) == (200, "")
    for headers in ({"JOB_TOKEN": job}, {"PRIVATE_TOKEN": job}, {"Authorization": f"Bearer {job}"}):
        assert asked("POST", NOTES, **headers) == (401, "401 Unauthorized")
        assert asked("POST", "/projects/278/statuses/x", **headers) == (401, "401 Unauthorized")
    assert asked("GET", "/user", JOB_TOKEN=job) == (401, "401 Unauthorized")
    assert asked("GET", "/projects/278/merge_requests/1", X="no token") == (404, "404 Project Not Found")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        pytest.param({}, 400, {"error": "body is missing"}, id="no body"),
        pytest.param(
            {"body": " "}, 400, {"message": '400 Bad request - Note {:note=>["can\'t be blank"]}'}, id="blank"
        ),
        pytest.param(
            {"body": "é" * (MAX_NOTE + 1)},
            400,
            {"message": '400 Bad request - Note {:note=>["is too long (maximum is 1000000 characters)"]}'},
            id="too long",
        ),
        pytest.param({"body": "é" * MAX_NOTE}, 201, {"body": "é" * MAX_NOTE}, id="the longest"),
        pytest.param({"body": "a\r\n/close\nb\n\n"}, 201, {"body": "a\nb"}, id="a command among the lines"),
        pytest.param({"body": "```\n/close\n```"}, 201, {"body": "```\n/close\n```"}, id="no command in code"),
        pytest.param({"body": "/close"}, 202, {"summary": ["Applied /close"]}, id="a command alone"),
    ],
)
def test_what_becomes_of_a_body(
    gitlab: Gitlab, call: Caller, body: dict[str, str], status: int, message: dict[str, object]
) -> None:
    gitlab.open_merge_request()

    answer = call("POST", NOTES, body)

    assert (answer.status_code, message.items() <= answer.json().items()) == (status, True), answer.text[:200]
    assert len(gitlab.notes(1)) == (status == 201)


def test_pages_are_cut_before_internal_notes_are_left_out(gitlab: Gitlab, call: Caller) -> None:
    merge_request = gitlab.open_merge_request()
    gitlab.project.visibility = "public"
    for number in range(250):
        gitlab.write_note(merge_request, str(number), internal=number == 3, system=number == 5)
    token = gitlab.add_token(gitlab.add_user("bob"))

    first = call("GET", f"{NOTES}?per_page=1000&sort=asc", token=token)
    last = call("GET", f"{NOTES}?per_page=100&sort=asc&page=3", token=token)
    gitlab.most_counted = 200

    assert [note["body"] for note in first.json()] == [str(number) for number in range(100) if number != 3]
    names = ("X-Page", "X-Per-Page", "X-Next-Page", "X-Prev-Page", "X-Total", "X-Total-Pages")
    assert [first.headers[name] for name in names] == ["1", "100", "2", "", "250", "3"]
    assert (last.headers["X-Next-Page"], len(last.json()), "next" in last.links) == ("", 50, False)
    assert first.links["next"]["url"].startswith(f"{gitlab.api}{NOTES}?")
    assert "X-Total" not in call("GET", NOTES).headers
    assert len(call("GET", f"{NOTES}?activity_filter=only_activity").json()) == 1
    assert [note["body"] for note in call("GET", f"{NOTES}?per_page=2").json()] == ["249", "248"]
    for wrong in ("sort=up", "order_by=body", "page=x"):
        assert call("GET", f"{NOTES}?{wrong}").status_code == 400


def test_a_status_belongs_to_a_name_a_pipeline_and_its_author(gitlab: Gitlab, call: Caller) -> None:
    merge_request = gitlab.open_merge_request()
    branch = gitlab.start_pipeline(merge_request.sha, "change")
    newest = gitlab.merge_request_pipeline(merge_request)
    gitlab.start_job(newest, "unit tests")
    path, other = f"/projects/278/statuses/{merge_request.sha}", gitlab.project_token()

    def post(state: str, token: str | None = None, **more: Any) -> tuple[int, Any]:
        answer = call("POST", path, {"state": state, **more}, token=token)
        return answer.status_code, answer.json()

    assert post("running")[1]["pipeline_id"] == newest.id
    assert post("running", pipeline_id=branch.id)[1]["ref"] == "change"
    assert post("running", other)[0] == 201, "of another author, who makes another entry"
    assert post("success", ref="change")[1]["pipeline_id"] == branch.id
    assert post("success", pipeline_id=1) == (404, {"message": "404 Pipeline for pipeline_id, sha and ref Not Found"})
    assert post("success", name="unit tests") == (400, {"message": {"name": ["has already been taken"]}})
    too_long = post("success", name="n", description="d" * 256, target_url="x:" + "y" * 254)[1]["message"]
    assert sorted(too_long) == ["description", "target_url"]
    assert post("green") == (400, {"error": "state does not have a valid value"})
    merged = gitlab.merge_request_pipeline(merge_request, merged=True)
    listed = call("GET", "/projects/278/merge_requests/1/pipelines").json()
    assert [each["id"] for each in listed] == [merged.id, newest.id, branch.id]
    assert (
        call("GET", "/projects/278/merge_requests/1").json()["head_pipeline"]["sha"] == merged.sha != merge_request.sha
    )
    shown = [(each.name, each.status, each.pipeline.id, each.retried) for each in gitlab.statuses(merge_request.sha)]
    assert shown == [
        ("unit tests", "running", newest.id, False),
        ("default", "running", newest.id, True),
        ("default", "success", branch.id, False),
        ("default", "running", newest.id, False),
    ]


def test_commits_that_take_no_status(gitlab: Gitlab, call: Caller) -> None:
    fork, main = gitlab.open_merge_request(fork=True).sha, gitlab.project.branches["main"]

    def post(sha: str) -> tuple[int, str]:
        answer = call("POST", f"/projects/278/statuses/{sha}", {"state": "success"})
        return answer.status_code, answer.json()["message"]

    assert post("f" * 40) == (404, "404 Commit Not Found")
    assert post(fork) == (404, "404 References for commit Not Found")
    assert post(main) == (403, "403 Forbidden"), "a protected branch is for maintainers"


def test_a_project_that_moved_is_read_at_its_new_address_and_not_written(gitlab: Gitlab, call: Caller) -> None:
    gitlab.open_merge_request()
    gitlab.project.former_path = "acme/old"
    path = "/projects/acme%2Fold/merge_requests/1/notes"

    moved = call("GET", f"{path}?page=2")

    assert (moved.status_code, moved.headers["Location"]) == (301, f"{gitlab.api}{NOTES}?page=2")
    assert call("POST", path, {"body": "x"}).status_code == 405
    with pytest.raises(python_gitlab.GitlabHttpError, match="405: Non GET methods are not allowed"):
        python_gitlab.Gitlab(gitlab.url, private_token=gitlab.token).http_post(path, post_data={"body": "x"})


def test_faults_happen_as_often_as_they_are_scripted(gitlab: Gitlab, call: Caller) -> None:
    merge_request, waiting = gitlab.open_merge_request(), threading.Event()
    note = gitlab.write_note(merge_request, "mine")
    gitlab.drop_after("POST", "/notes$")
    gitlab.reset_before("DELETE", "/notes/")
    gitlab.meanwhile("PUT", "/notes/", lambda: gitlab.edit_note(note, "another's"))
    gitlab.page_before("GET", "/user")
    gitlab.status("GET", "/user", 503, content=b"<html>GitLab is not responding</html>")
    gitlab.limit_notes()

    with pytest.raises(requests.ConnectionError):
        call("POST", NOTES, {"body": "done, but who knows"})
    with pytest.raises(requests.ConnectionError):
        call("DELETE", f"{NOTES}/{note.id}")
    limited = call("POST", NOTES, {"body": "x"})
    gitlab.meanwhile("GET", "/notes$", waiting.wait)
    with pytest.raises(requests.ReadTimeout):
        requests.get(f"{gitlab.api}{NOTES}", headers={"PRIVATE-TOKEN": gitlab.token}, timeout=(300, 0.05))
    waiting.set()

    assert (limited.status_code, "Retry-After" in limited.headers) == (429, False)
    assert call("PUT", f"{NOTES}/{note.id}", {"body": "mine"}, token=gitlab.add_token(gitlab.owner)).ok
    assert [(each.body, each.author.bot) for each in gitlab.notes(1)] == [
        ("mine", False),
        ("done, but who knows", True),
    ]
    assert [call("GET", "/user").status_code for _ in range(3)] == [200, 503, 200]
    assert call("POST", NOTES, {"body": "\0"}).text == "Bad Request"
    assert call("GET", "/unknown").json() == {"error": "404 Not Found"}
    assert call("PATCH", NOTES).json() == {"error": "405 Not Allowed"}
