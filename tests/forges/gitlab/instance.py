"""What a GitLab instance holds, as far as merge requests are commented and commits get statuses.

Behaviour follows GitLab's own source (github.com/gitlabhq/gitlabhq, the mirror); the file is named where it matters.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from hashlib import sha1
from typing import Literal

MAX_NOTE = 1_000_000  # characters; Gitlab::Database::MAX_TEXT_SIZE_LIMIT
MAX_FIELD = 255  # characters of ref, target_url and description; app/models/commit_status.rb
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
ACTIVE = ("pending", "running")  # GenericCommitStatus.running_or_pending
# app/models/commit_status.rb: the event that a wanted state fires, and the states it may come from.
EVENTS = {
    "pending": ("enqueue", {"created", "skipped", "manual", "scheduled"}),
    "running": ("run", {"pending"}),
    "success": ("success", {"created", "pending", "running"}),
    "failed": ("drop", {"created", "pending", "running"}),
    "canceled": ("cancel", {"created", "pending", "running"}),
    "skipped": ("skip", {"created", "pending"}),
}
# lib/gitlab/quick_actions/extractor.rb: no command is looked for in blocks of code, quotes and HTML.
QUICK_ACTIONS = re.compile(
    r"^```.*?^```$|^>>>$.*?^>>>$|^<[^>\n]+>\n.*?^</[^>\n]+>$"
    r"|^(?P<command>/(?:approve|assign|close|draft|label|merge|reopen|title|unlabel)\b[^\n]*)(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)


class Role(IntEnum):
    """lib/gitlab/access.rb."""

    GUEST = 10
    REPORTER = 20
    DEVELOPER = 30
    MAINTAINER = 40


@dataclass(frozen=True)
class User:
    """A person, or the bot that GitLab makes for a project access token."""

    id: int
    username: str
    name: str
    bot: bool = False


@dataclass
class Token:
    """A personal or project access token, or a job's own."""

    user: User
    scopes: frozenset[str]
    state: Literal["active", "expired", "revoked"] = "active"
    job: bool = False


@dataclass
class Note:
    """One note of a merge request; `system` ones are GitLab's own, as "added 1 commit"."""

    id: int
    author: User
    body: str
    created_at: str
    updated_at: str
    system: bool = False
    internal: bool = False


@dataclass
class MergeRequest:
    """A merge request and its notes, oldest first."""

    iid: int
    author: User
    source_branch: str
    target_branch: str
    sha: str
    base_sha: str
    source_project_id: int
    created_at: str
    state: str = "opened"
    discussion_locked: bool | None = None
    notes: list[Note] = field(default_factory=list)


@dataclass
class Pipeline:
    """A pipeline; one of a merge request has a ref as refs/merge-requests/1/head."""

    id: int
    iid: int
    sha: str
    ref: str
    source: str
    created_at: str


@dataclass
class Status:
    """A commit status, or with `job` what a job of the project's own CI shows as."""

    id: int
    name: str
    ref: str
    user: User
    pipeline: Pipeline
    created_at: str
    status: str = "created"
    description: str | None = None
    target_url: str | None = None
    coverage: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    retried: bool = False  # a newer one of the name is in the same pipeline
    job: bool = False


@dataclass
class Project:
    """A project. It has one commit on main, which is a protected branch."""

    id: int
    path: str
    visibility: Literal["public", "private"] = "private"
    archived: bool = False
    former_path: str | None = None  # where it was before it moved
    protected: set[str] = field(default_factory=lambda: {"main"})
    members: dict[User, Role] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    commits: set[str] = field(default_factory=set)
    merge_requests: dict[int, MergeRequest] = field(default_factory=dict)
    pipelines: list[Pipeline] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)

    def role(self, user: User | None) -> int:
        """Zero for whoever is not a member."""
        return self.members.get(user, 0) if user else 0

    def reads(self, user: User | None) -> bool:
        """Whether the project can be seen at all."""
        return self.visibility == "public" or self.role(user) > 0

    def reads_code(self, user: User | None) -> bool:
        """Merge requests and statuses: guests of a private project have neither."""
        return self.visibility == "public" or self.role(user) >= Role.REPORTER


class Instance:
    """Users, tokens and projects, and what people do there. Its clock ticks a second with each event."""

    def __init__(self) -> None:
        self.users: list[User] = []
        self.tokens: dict[str, Token] = {}
        self.projects: list[Project] = []
        self._numbers = itertools.count(1)
        self.owner = self.add_user("alice")
        self.project = self.add_project("acme/search/rag")
        self.token = self.project_token()

    def number(self) -> int:
        """Another number, which nothing else has."""
        return next(self._numbers)

    def now(self) -> str:
        """The next second, as GitLab writes times."""
        return (START + timedelta(seconds=self.number())).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def commit(self, project: Project) -> str:
        """The sha of a new commit."""
        sha = sha1(str(self.number()).encode(), usedforsecurity=False).hexdigest()
        project.commits.add(sha)
        return sha

    def add_user(self, username: str, role: Role | None = None, *, bot: bool = False) -> User:
        """A new user, who is a member of the first project where a role is given."""
        user = User(1000 + len(self.users), username, username.title(), bot)
        self.users.append(user)
        if role is not None:
            self.project.members[user] = role
        return user

    def add_project(self, path: str, *, visibility: Literal["public", "private"] = "private") -> Project:
        """A new project of alice's."""
        project = Project(278 + len(self.projects), path, visibility)
        project.members[self.owner] = Role.MAINTAINER
        project.branches["main"] = self.commit(project)
        self.projects.append(project)
        return project

    def add_token(self, user: User, *scopes: str) -> str:
        """A personal access token; its scope is api unless others are given."""
        value = f"glpat-{self.number():020d}"
        self.tokens[value] = Token(user, frozenset(scopes or ("api",)))
        return value

    def project_token(self, role: Role = Role.DEVELOPER, *scopes: str, project: Project | None = None) -> str:
        """A project access token, whose notes are a bot's: app/services/resource_access_tokens/create_service.rb."""
        project = project or self.project
        number = self.number()
        bot = self.add_user(f"project_{project.id}_bot_{number:032x}", bot=True)
        project.members[bot] = role
        return self.add_token(bot, *scopes)

    def job_token(self, user: User | None = None) -> str:
        """A job's CI_JOB_TOKEN: that of whoever started the pipeline."""
        value = f"glcbt-64_{self.number():020d}"
        self.tokens[value] = Token(user or self.owner, frozenset(), job=True)
        return value

    def user_of(self, token: str) -> User:
        """Whose token it is."""
        return self.tokens[token].user

    def open_merge_request(self, branch: str = "change", *, fork: bool = False, by: User | None = None) -> MergeRequest:
        """A merge request with one commit; that of a fork is on no branch of this project."""
        project, author = self.project, by or self.owner
        sha = self.commit(project)
        source = 9000 if fork else project.id
        iid = len(project.merge_requests) + 1
        opened = MergeRequest(iid, author, branch, "main", sha, project.branches["main"], source, self.now())
        project.merge_requests[iid] = opened
        if not fork:
            project.branches[branch] = sha
        return opened

    def push(self, merge_request: MergeRequest) -> str:
        """Another commit on its branch; GitLab writes a system note about that. Returns its sha."""
        merge_request.sha = self.commit(self.project)
        if merge_request.source_project_id == self.project.id:
            self.project.branches[merge_request.source_branch] = merge_request.sha
        self.write_note(merge_request, "added 1 commit", by=merge_request.author, system=True)
        return merge_request.sha

    def write_note(self, merge_request: MergeRequest, body: str, by: User | None = None, **kind: bool) -> Note:
        """A note as it is stored, by alice where nobody is named; its kind is `system` or `internal`."""
        now = self.now()
        note = Note(self.number(), by or self.owner, body, now, now, **kind)
        merge_request.notes.append(note)
        return note

    def edit_note(self, note: Note, body: str) -> None:
        """Another body."""
        note.body, note.updated_at = body, self.now()

    def notes(self, iid: int) -> list[Note]:
        """The notes of a merge request that people and bots wrote, oldest first."""
        return [note for note in self.project.merge_requests[iid].notes if not note.system]

    def statuses(self, sha: str) -> list[Status]:
        """All statuses of a commit, oldest first, also those that a newer one of the name has replaced."""
        return [status for status in self.project.statuses if status.pipeline.sha == sha]

    def start_pipeline(self, sha: str, ref: str, source: str = "push") -> Pipeline:
        """A pipeline, as of a push or with ref refs/merge-requests/1/head and source merge_request_event."""
        pipelines = self.project.pipelines
        pipeline = Pipeline(5000 + len(pipelines), len(pipelines) + 1, sha, ref, source, self.now())
        pipelines.append(pipeline)
        return pipeline

    def merge_request_pipeline(self, merge_request: MergeRequest, *, merged: bool = False) -> Pipeline:
        """The pipeline of a merge request's head, or of a commit that merges it into its target."""
        sha = self.commit(self.project) if merged else merge_request.sha
        kind = "merge" if merged else "head"
        return self.start_pipeline(sha, f"refs/merge-requests/{merge_request.iid}/{kind}", "merge_request_event")

    def start_job(self, pipeline: Pipeline, name: str, *, status: str = "running") -> Status:
        """A job of the project's own CI, whose name no commit status of the pipeline can take."""
        job = Status(self.number(), name, pipeline.ref, self.owner, pipeline, self.now(), status, job=True)
        self.project.statuses.append(job)
        return job


class InvalidTransitionError(Exception):
    """A status cannot go there from where it is."""


def fire(status: Status, wanted: str, now: str) -> None:
    """Ci::CreateCommitStatusService#apply_job_state!, which enqueues before it runs, and never twice.

    Raises:
        InvalidTransitionError: with the message that GitLab gives.
    """
    if wanted == "running" and status.status in EVENTS["pending"][1]:
        status.status = "pending"
    event, sources = EVENTS[wanted]
    if status.status not in sources:
        reason = f'(Reason(s): Status cannot transition via "{event}")'
        raise InvalidTransitionError(f"Cannot transition status via :{event} from :{status.status} {reason}")
    status.status = wanted
    if wanted == "running":
        status.started_at = now
    elif wanted not in ACTIVE:
        status.finished_at = now


def without_quick_actions(body: str) -> tuple[str, list[str]]:
    """A body as GitLab stores it, and the commands that were lines of it. White space at its end goes, too."""
    commands: list[str] = []

    def taken(found: re.Match[str]) -> str:
        if found["command"] is None:
            return found[0]
        commands.append(found["command"])
        return ""

    return QUICK_ACTIONS.sub(taken, body.replace("\r", "")).rstrip(), commands
