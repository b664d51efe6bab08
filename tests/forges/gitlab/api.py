"""GitLab's REST API v4: notes of merge requests, commit statuses, and what a bot reads to find its way.

Answers follow GitLab's own source (github.com/gitlabhq/gitlabhq, the mirror), whose file is named where it matters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlencode, urlsplit

from tests.forges.faults import Answer, answer_of
from tests.forges.gitlab.instance import (
    ACTIVE,
    EVENTS,
    MAX_FIELD,
    MAX_NOTE,
    Instance,
    InvalidTransitionError,
    MergeRequest,
    Note,
    Pipeline,
    Project,
    Role,
    Status,
    User,
    fire,
    without_quick_actions,
)

Row = TypeVar("Row")
MAX_PER_PAGE = 100
JOB_TOKEN = "glcbt-"  # noqa: S105 (what job tokens begin with)
INVALID = {
    "expired": "Token is expired. You can either do re-authorization or token refresh.",
    "revoked": "Token was revoked. You have to re-authorize from the user.",
}
SCOPE = "The request requires higher privileges than provided by the access token."
READING = ("api", "read_api")


class Request(NamedTuple):
    """One request as it came."""

    method: str
    path: str  # with its query
    headers: Mapping[str, str]  # names in lower case
    given: Mapping[str, Any]

    @property
    def token(self) -> str | None:
        """From whichever header or parameter, as lib/gitlab/auth/auth_finders.rb looks for it."""
        kind, _, bearer = self.headers.get("authorization", "").partition(" ")
        private = self.given.get("private_token") or self.headers.get("private-token")
        return private or (bearer if kind == "Bearer" else self.job_token)

    @property
    def job_token(self) -> str | None:
        """Where a job's own token alone is looked for."""
        return self.headers.get("job-token") or self.given.get("job_token")


class RefusedError(Exception):
    """A request that ends here, with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


def refused(status: int, message: object, key: str = "message", **more: str) -> RefusedError:
    """How lib/api/helpers.rb says no. Missing and wrong parameters have the key `error`, which is Grape's."""
    return RefusedError(answer_of(status, json_body={key: message, **more}))


class Call(NamedTuple):
    """A request that has a route: who asks for what."""

    request: Request
    words: tuple[str, ...]  # what the route's path left open
    user: User | None

    def text(self, name: str) -> str | None:
        """A parameter, or None where it is absent or blank."""
        given = self.request.given.get(name)
        return None if given is None or not str(given).strip() else str(given)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """A parameter whose first value is what it is if it is absent."""
        given = str(self.request.given.get(name, choices[0]))
        if given not in choices:
            raise refused(400, f"{name} does not have a valid value", "error")
        return given


def integer(given: object, name: str) -> int:
    """A number among the parameters or in the path."""
    if not str(given).isdecimal():
        raise refused(400, f"{name} is invalid", "error")
    return int(str(given))


@dataclass(frozen=True)
class Route:
    """One row of the API."""

    method: str
    path: str  # a pattern, with groups for what is open
    answer: Callable[[Api, Call], Answer]
    scopes: tuple[str, ...] = ("api",)
    anonymous: bool = False  # it has no `authenticate!`
    job_token: bool = False  # job_token_allowed


class Api(Instance):
    """An instance that answers requests."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url  # as CI_SERVER_URL: without a slash at the end
        self.most_counted = 10_000  # rows of a list with totals; longer ones have none
        self._host = url.removesuffix(urlsplit(url).path)

    @property
    def api(self) -> str:
        """The API's address as in CI_API_V4_URL."""
        return f"{self.url}/api/v4"

    def respond(self, request: Request) -> Answer:
        """What GitLab says to a request."""
        prefix = urlsplit(self.api).path + "/"
        path = urlsplit(request.path).path
        if not path.startswith(prefix):
            return Answer(404, {"Content-Type": "text/html"}, b"<!DOCTYPE html><title>Not Found (404)</title>")
        if any(
            "\0" in str(value) for value in request.given.values()
        ):  # lib/gitlab/middleware/handle_malformed_strings.rb
            return Answer(400, {"Content-Type": "text/plain"}, b"Bad Request")
        fitting = [(each, found) for each in ROUTES if (found := re.fullmatch(each.path, path.removeprefix(prefix)))]
        for route, found in fitting:
            if route.method == request.method:
                words = tuple(map(unquote, found.groups()))
                try:
                    return route.answer(self, Call(request, words, self._user_of(request, route)))
                except RefusedError as error:
                    return error.answer
        status, reason = (405, "405 Not Allowed") if fitting else (404, "404 Not Found")
        return answer_of(status, json_body={"error": reason})

    def _user_of(self, request: Request, route: Route) -> User | None:
        """lib/gitlab/auth/auth_finders.rb and lib/api/api_guard.rb.

        A job's token is looked at by routes alone that allow it; to all others it is as if nothing had come.
        """
        token = request.token
        is_job = token is not None and (token == request.job_token or token.startswith(JOB_TOKEN))
        if token is None or (is_job and not route.job_token):
            if route.anonymous:
                return None
            raise refused(401, "401 Unauthorized")
        known = self.tokens.get(token)
        if known is None or known.job != is_job:
            raise refused(401, "401 Unauthorized")
        if known.state != "active":
            raise refused(401, "invalid_token", "error", error_description=INVALID[known.state])
        if not is_job and known.scopes.isdisjoint(route.scopes):
            scope = " ".join(route.scopes)
            raise refused(403, "insufficient_scope", "error", error_description=SCOPE, scope=scope)
        return known.user

    def _found_project(self, call: Call) -> Project:
        """find_project! of lib/api/helpers.rb: what may not be seen is not there, what has moved can only be read."""
        name = call.words[0]
        fitting = (each for each in self.projects if name in (str(each.id), each.path, each.former_path))
        project = next(fitting, None)
        if project is None or not project.reads(call.user):
            raise refused(404, "404 Project Not Found")
        if name == project.former_path:
            if call.request.method != "GET":
                raise refused(405, "Non GET methods are not allowed for moved projects")
            there = self._host + re.sub("/projects/[^/?]+", f"/projects/{project.id}", call.request.path, count=1)
            text = f"This resource has been moved permanently to {there}"
            raise RefusedError(Answer(301, {"Content-Type": "application/json", "Location": there}, text.encode()))
        return project

    def _found_merge_request(self, call: Call) -> tuple[Project, MergeRequest]:
        project = self._found_project(call)
        found = project.merge_requests.get(integer(call.words[1], "merge_request_iid"))
        if found is None:
            raise refused(404, "404 Not found")
        if not project.reads_code(call.user):  # lib/api/merge_requests.rb authorizes, lib/api/notes.rb looks for it
            raise refused(404, "404 Not found") if "/notes" in call.request.path else refused(403, "403 Forbidden")
        return project, found

    def _found_note(self, call: Call, *, change: bool) -> tuple[Project, MergeRequest, Note]:
        """app/policies/note_policy.rb: its author and maintainers may change a note, and nobody a system note."""
        project, merge_request = self._found_merge_request(call)
        wanted = integer(call.words[2], "note_id")
        note = next((each for each in merge_request.notes if each.id == wanted), None)
        if note is None:
            raise refused(404, "404 Not found")
        readable = reads_note(project, note, call.user)
        if change:
            allowed = readable and not note.system and not project.archived
            if not allowed or (note.author != call.user and project.role(call.user) < Role.MAINTAINER):
                raise refused(403, "403 Forbidden")
        elif not readable:
            raise refused(404, "404 Note Not Found")
        return project, merge_request, note

    def read_user(self, call: Call) -> Answer:
        """GET /user."""
        assert call.user is not None
        return answer_of(200, json_body={**self._user(call.user), "bot": call.user.bot, "is_admin": False})

    def read_project(self, call: Call) -> Answer:
        """GET /projects/:id."""
        project = self._found_project(call)
        level = project.role(call.user)
        shown = {
            "id": project.id,
            "path_with_namespace": project.path,
            "default_branch": "main",
            "visibility": project.visibility,
            "web_url": f"{self.url}/{project.path}",
            "permissions": {"project_access": {"access_level": level} if level else None, "group_access": None},
        }
        return answer_of(200, json_body=shown)

    def read_merge_request(self, call: Call) -> Answer:
        """GET /projects/:id/merge_requests/:iid."""
        project, found = self._found_merge_request(call)
        newest = next(reversed(pipelines_of(project, found)), None)
        shown = fields_of(found, "notes", "base_sha") | {
            "id": merge_request_id(found),
            "project_id": project.id,
            "title": found.source_branch,
            "author": self._user(found.author),
            "target_project_id": project.id,
            "diff_refs": {"base_sha": found.base_sha, "start_sha": found.base_sha, "head_sha": found.sha},
            "user_notes_count": sum(not note.system for note in found.notes),
            "head_pipeline": self._pipeline(project, newest) if newest else None,
            "web_url": f"{self.url}/{project.path}/-/merge_requests/{found.iid}",
        }
        return answer_of(200, json_body=shown)

    def list_pipelines(self, call: Call) -> Answer:
        """GET /projects/:id/merge_requests/:iid/pipelines."""
        project, found = self._found_merge_request(call)
        rows = pipelines_of(project, found)[::-1]
        return self._page(call, rows, lambda pipeline: self._pipeline(project, pipeline))

    def list_notes(self, call: Call) -> Answer:
        """GET /projects/:id/merge_requests/:iid/notes.

        lib/api/notes.rb cuts pages first and then drops what the caller may not read, so a page may have fewer.
        """
        project, merge_request = self._found_merge_request(call)
        order = call.choice("order_by", ("created_at", "updated_at"))
        newest_first = call.choice("sort", ("desc", "asc")) == "desc"
        kinds = call.choice("activity_filter", ("all_notes", "only_comments", "only_activity"))
        rows = [
            note for note in merge_request.notes if kinds == "all_notes" or note.system == (kinds == "only_activity")
        ]
        rows.sort(key=lambda note: (note.updated_at if order == "updated_at" else "", note.id), reverse=newest_first)
        return self._page(
            call,
            rows,
            lambda note: self._note(project, merge_request, note),
            lambda note: reads_note(project, note, call.user),
            activity_filter=kinds,
            noteable_id=str(merge_request.iid),
            order_by=order,
            sort="desc" if newest_first else "asc",
        )

    def read_note(self, call: Call) -> Answer:
        """GET /projects/:id/merge_requests/:iid/notes/:note_id."""
        return answer_of(200, json_body=self._note(*self._found_note(call, change=False)))

    def create_note(self, call: Call) -> Answer:
        """POST /projects/:id/merge_requests/:iid/notes. Whoever sees a public project may write, unless locked out."""
        if "body" not in call.request.given:
            raise refused(400, "body is missing", "error")
        project, merge_request = self._found_merge_request(call)
        assert call.user is not None
        locked = merge_request.discussion_locked and not project.role(call.user)
        internal = str(call.request.given.get("internal", call.request.given.get("confidential"))).lower() == "true"
        if project.archived or locked or (internal and project.role(call.user) < Role.REPORTER):
            raise refused(403, "403 Forbidden")
        body = stored(str(call.request.given["body"]))
        note = self.write_note(merge_request, body, by=call.user, internal=internal)
        return answer_of(201, json_body=self._note(project, merge_request, note))

    def update_note(self, call: Call) -> Answer:
        """PUT /projects/:id/merge_requests/:iid/notes/:note_id."""
        if "body" in call.request.given and call.text("body") is None:
            raise refused(400, "body is empty", "error")
        project, merge_request, note = self._found_note(call, change=True)
        body = stored(str(call.request.given.get("body", note.body)))
        if body != note.body:
            self.edit_note(note, body)
        return answer_of(200, json_body=self._note(project, merge_request, note))

    def delete_note(self, call: Call) -> Answer:
        """DELETE /projects/:id/merge_requests/:iid/notes/:note_id."""
        _, merge_request, note = self._found_note(call, change=True)
        merge_request.notes.remove(note)
        return Answer(204, {})

    def list_statuses(self, call: Call) -> Answer:
        """GET /projects/:id/repository/commits/:sha/statuses: by default the newest of each name in each pipeline."""
        project, sha = self._found_project(call), call.words[1]
        if not project.reads_code(call.user):
            raise refused(403, "403 Forbidden")
        if sha not in project.commits:
            raise refused(404, "404 Commit Not Found")
        rows = [each for each in project.statuses if each.pipeline.sha == sha]
        if (call.text("all") or "").lower() not in ("true", "1"):
            rows = [each for each in rows if not each.retried]
        for name in ("ref", "name"):
            if wanted := call.text(name):
                rows = [each for each in rows if getattr(each, name) == wanted]
        if wanted := call.text("pipeline_id"):
            rows = [each for each in rows if str(each.pipeline.id) == wanted]
        return self._page(call, rows, self._status)

    def create_status(self, call: Call) -> Answer:
        """POST /projects/:id/statuses/:sha, by app/services/ci/create_commit_status_service.rb.

        It changes what the same user posted by the same name in the same pipeline while that is pending or running;
        else it makes another entry. Without `pipeline_id` the pipeline is the newest of the sha and ref, or a new one.
        """
        if (wanted := call.text("state")) is None:
            raise refused(400, "state is missing", "error")
        call.choice("state", tuple(EVENTS))
        project, sha = self._found_project(call), call.words[1]
        if call.user is None or project.role(call.user) < Role.DEVELOPER or project.archived:
            raise refused(403, "403 Forbidden")
        if sha not in project.commits:
            raise refused(404, "404 Commit Not Found")
        pipeline = self._status_pipeline(call, project, sha)
        ref, name = call.text("ref") or pipeline.ref, call.text("name") or call.text("context") or "default"
        fields = {each: call.text(each) for each in ("target_url", "description", "coverage") if call.text(each)}
        named = [each for each in project.statuses if each.pipeline is pipeline and each.name == name]
        if problems := problems_of(ref, fields, named):
            raise refused(400, problems)
        mine = (each for each in named if each.status in ACTIVE and (each.user, each.ref) == (call.user, ref))
        status = next(mine, None) or Status(self.number(), name, ref, call.user, pipeline, self.now())
        try:
            fire(status, wanted, self.now())
        except InvalidTransitionError as error:
            raise refused(400, str(error)) from None
        for field, value in fields.items():
            setattr(status, field, value)
        if status not in named:
            project.statuses.append(status)
        for older in named:
            older.retried = older is not status
        return answer_of(201, json_body=self._status(status))

    def _status_pipeline(self, call: Call, project: Project, sha: str) -> Pipeline:
        ref, wanted = call.text("ref"), call.text("pipeline_id")
        fitting = [each for each in project.pipelines if each.sha == sha and ref in (None, each.ref)]
        if wanted:
            fitting = [each for each in fitting if str(each.id) == wanted]
        pipeline = fitting[-1] if fitting else None
        ref = ref or (
            pipeline.ref if pipeline else next((each for each, at in project.branches.items() if at == sha), None)
        )
        if ref is None:
            raise refused(404, "404 References for commit Not Found")
        if pipeline is None and wanted:
            raise refused(404, "404 Pipeline for pipeline_id, sha and ref Not Found")
        if ref in project.protected and project.role(call.user) < Role.MAINTAINER:
            raise refused(403, "403 Forbidden")  # app/policies/ci/pipeline_policy.rb
        return pipeline or self.start_pipeline(sha, ref, "external")

    def _page(
        self,
        call: Call,
        rows: Sequence[Row],
        shown: Callable[[Row], object],
        readable: Callable[[Row], bool] = lambda _: True,
        **declared: str,
    ) -> Answer:
        """lib/gitlab/pagination/offset_header_builder.rb: its links repeat all parameters, also those of the path."""
        page, size = (integer(call.request.given.get(*each), each[0]) for each in (("page", 1), ("per_page", 20)))
        page, size = max(page, 1), min(max(size, 1), MAX_PER_PAGE)
        last = max(1, math.ceil(len(rows) / size))
        counted = len(rows) <= self.most_counted
        links = {"prev": page - 1, "next": page + 1 if page < last else 0, "first": 1, "last": last if counted else 0}
        query = {**call.request.given, **declared, "id": call.words[0]}
        address = self._host + urlsplit(call.request.path).path
        headers = {
            "X-Page": str(page),
            "X-Per-Page": str(size),
            "X-Prev-Page": str(links["prev"] or ""),
            "X-Next-Page": str(links["next"] or ""),
            "Link": ", ".join(
                f'<{address}?{urlencode({**query, "page": to, "per_page": size})}>; rel="{relation}"'
                for relation, to in links.items()
                if to
            ),
        }
        if counted:
            headers |= {"X-Total": str(len(rows)), "X-Total-Pages": str(last)}
        shown_rows = [shown(row) for row in rows[(page - 1) * size : page * size] if readable(row)]
        return answer_of(200, json_body=shown_rows, headers=headers)

    def _user(self, user: User) -> dict[str, object]:
        return fields_of(user, "bot") | {"state": "active", "web_url": f"{self.url}/{user.username}"}

    def _note(self, project: Project, merge_request: MergeRequest, note: Note) -> dict[str, object]:
        return fields_of(note) | {
            "type": None,
            "author": self._user(note.author),
            "noteable_id": merge_request_id(merge_request),
            "noteable_type": "MergeRequest",
            "noteable_iid": merge_request.iid,
            "project_id": project.id,
            "resolvable": False,
            "confidential": note.internal,
            "commands_changes": {},
        }

    def _status(self, status: Status) -> dict[str, object]:
        return fields_of(status, "user", "pipeline", "retried", "job") | {
            "sha": status.pipeline.sha,
            "allow_failure": False,
            "coverage": None if status.coverage is None else float(status.coverage),
            "pipeline_id": status.pipeline.id,
            "author": self._user(status.user),
        }

    def _pipeline(self, project: Project, pipeline: Pipeline) -> dict[str, object]:
        states = {each.status for each in project.statuses if each.pipeline is pipeline and not each.retried}
        order = ("running", "pending", "failed", "canceled", "success")
        return fields_of(pipeline) | {
            "project_id": project.id,
            "status": next((each for each in order if each in states), "created"),
            "web_url": f"{self.url}/{project.path}/-/pipelines/{pipeline.id}",
        }


# lib/api/notes.rb, commit_statuses.rb, merge_requests.rb, projects.rb, users.rb. Jobs' own tokens may read
# notes since 2025, and have never written any.
MR = "projects/([^/]+)/merge_requests/([^/]+)"
ROUTES = (
    Route("GET", "user", Api.read_user, (*READING, "read_user")),
    Route("GET", "projects/([^/]+)", Api.read_project, READING, anonymous=True),
    Route("GET", MR, Api.read_merge_request, READING, anonymous=True, job_token=True),
    Route("GET", f"{MR}/pipelines", Api.list_pipelines, READING, anonymous=True),
    Route("GET", f"{MR}/notes", Api.list_notes, READING, job_token=True),
    Route("POST", f"{MR}/notes", Api.create_note),
    Route("GET", f"{MR}/notes/([^/]+)", Api.read_note, READING, job_token=True),
    Route("PUT", f"{MR}/notes/([^/]+)", Api.update_note),
    Route("DELETE", f"{MR}/notes/([^/]+)", Api.delete_note),
    Route("GET", "projects/([^/]+)/repository/commits/([^/]+)/statuses", Api.list_statuses, READING),
    Route("POST", "projects/([^/]+)/statuses/([^/]+)", Api.create_status),
)


def fields_of(record: object, *left_out: str) -> dict[str, object]:
    """What is shown of a record as it is."""
    return {name: value for name, value in vars(record).items() if name not in left_out}


def pipelines_of(project: Project, merge_request: MergeRequest) -> list[Pipeline]:
    """Those of its head, and those of the head merged into the target; oldest first."""
    merged = f"refs/merge-requests/{merge_request.iid}/merge"
    return [each for each in project.pipelines if each.sha == merge_request.sha or each.ref == merged]


def reads_note(project: Project, note: Note, user: User | None) -> bool:
    """Internal notes are for reporters and above."""
    return not note.internal or project.role(user) >= Role.REPORTER


def stored(body: str) -> str:
    """A note's body as GitLab keeps it: its quick actions are done rather than kept.

    Raises:
        RefusedError: it is blank or too long, or there is nothing but quick actions, which are done with 202.
    """
    if not body.strip() or len(body) > MAX_NOTE:
        problem = f"is too long (maximum is {MAX_NOTE} characters)" if body.strip() else "can't be blank"
        raise refused(400, f'400 Bad request - Note {{:note=>["{problem}"]}}')
    kept, commands = without_quick_actions(body)
    if not kept:
        done = {"commands_changes": {}, "summary": [f"Applied {command}" for command in commands]}
        raise RefusedError(answer_of(202, json_body=done))
    return kept


def problems_of(ref: str, fields: Mapping[str, str | None], named: Sequence[Status]) -> dict[str, list[str]]:
    """What app/models/commit_status.rb and generic_commit_status.rb do not accept."""
    values = {"ref": ref, **fields}
    problems = {
        name: [f"is too long (maximum is {MAX_FIELD} characters)"]
        for name, value in values.items()
        if len(value or "") > MAX_FIELD
    }
    target = fields.get("target_url")
    if target and urlsplit(target).scheme not in ("http", "https"):
        problems.setdefault("target_url", []).append("is blocked: Only allowed schemes are http, https")
    if any(each.job for each in named):
        problems["name"] = ["has already been taken"]
    return problems


def merge_request_id(merge_request: MergeRequest) -> int:
    """A merge request's number in the whole instance."""
    return 70_000 + merge_request.iid
