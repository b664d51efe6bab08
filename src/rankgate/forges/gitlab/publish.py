"""The bot on GitLab: it says on a merge request what a report says, note first, then the status of the commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from rankgate.criteria import DEFAULT_PATHS
from rankgate.forges.checks import check_name
from rankgate.forges.client import Client, ForgeError, LostResponseError
from rankgate.forges.comments import Mark
from rankgate.forges.gitlab.job import Job
from rankgate.forges.publish import Settings, Told, conclusion_for, joined, tell
from rankgate.model.report import Links, Report
from rankgate.renderers.check_run import title_of
from rankgate.renderers.findings import path_in_repository

NOTE_LIMIT = 650_000  # characters; GitLab refuses a note above 1,000,000, and `kept` may add one to every two
_COMMAND = re.compile(r"^(?=\r*/)", re.MULTILINE)  # GitLab looks for `/merge` and the like after line feeds alone
_NO_REQUEST = "this pipeline is of no merge request, so there is nothing to comment on; --pull N names one"
_IN_FORK = (
    "this pipeline runs in a fork, whose job has no token of the merge request's project; a member of that project can "
    "start a pipeline there, on the merge request's page"
)


class NoteThread(msgspec.Struct, frozen=True):
    """The notes of a merge request, and the user that the token is of."""

    client: Client
    path: str  # of the merge request in the API
    author: int

    def head(self) -> str:
        """See `Thread`."""
        return str(self.client.get(self.path)["sha"])

    def bodies(self) -> Iterator[tuple[int, str]]:
        """Also those that became a thread by an answer, resolved or not; without those that GitLab writes itself."""
        # Oldest first, so that a note that is written meanwhile is on the last page and moves none of the others.
        order = {"sort": "asc", "order_by": "created_at", "activity_filter": "only_comments"}
        for item in self.client.pages(f"{self.path}/notes", order):
            if (item.get("author") or {}).get("id") == self.author and not item.get("system"):
                yield item["id"], item.get("body") or ""

    def kept(self, body: str) -> str:
        """Without white space at the end; a line that begins with `/` gets a space, since GitLab would obey it."""
        return _COMMAND.sub(" ", body).rstrip()

    def post(self, body: str) -> None:
        """See `Thread`."""
        self.client.send("POST", f"{self.path}/notes", {"body": body})

    def edit(self, number: int, body: str) -> None:
        """A note that was deleted meanwhile is found missing by the next look at all of them."""
        try:
            self.client.send("PUT", f"{self.path}/notes/{number}", {"body": body})
        except ForgeError as error:
            if error.status != 404:  # noqa: PLR2004 -- not found
                raise

    def delete(self, number: int) -> None:
        """See `Thread`."""
        self.client.send("DELETE", f"{self.path}/notes/{number}")


def nowhere(job: Job) -> str | None:
    """Why this job has nothing to publish on; None where it has."""
    return _IN_FORK if job.in_fork else _NO_REQUEST if job.merge_request is None else None


def publish(client: Client, job: Job, report: Report, settings: Settings) -> Told:
    """The note on the job's merge request and the status of its pipeline's commit, whatever becomes of the note."""
    told, report = Told(), linked(report, job)
    try:
        if settings.comment != "never":
            told = _comment(client, job, report, settings)
    finally:
        if settings.check:
            told = joined(told, _status(client, job, report, settings))
    return told


def linked(report: Report, job: Job) -> Report:
    """The report with the addresses that this job knows, none of which the report makes up."""
    path = path_in_repository(report.provenance.criteria)
    criteria = f"{job.project_url}/-/blob/{job.head}/{quote(path)}" if path in DEFAULT_PATHS else None
    return replace(report, links=Links(run=job.job_url, page=job.page_url, criteria=criteria))


def _comment(client: Client, job: Job, report: Report, settings: Settings) -> Told:
    mark = Mark(gate=settings.gate, sha=job.head, run=job.pipeline, attempt=job.job, verdict=report.verdict)
    try:
        author = int(client.get("/user")["id"])
    except ForgeError as error:
        return Told([], [str(error)])
    thread = NoteThread(client, f"/projects/{job.project}/merge_requests/{job.merge_request}", author)
    return tell(thread, f"merge request !{job.merge_request}", mark, report, settings, note="", limit=NOTE_LIMIT)


def _status(client: Client, job: Job, report: Report, settings: Settings) -> Told:
    """The status in the job's own pipeline: without the number GitLab would take the newest of the commit."""
    name = check_name(settings.gate)
    state = "success" if conclusion_for(report, settings.fail_on) == "success" else "failed"
    fields = {"state": state, "name": name, "pipeline_id": job.pipeline, "target_url": job.job_url}
    path, fields["description"] = f"/projects/{job.project}/statuses/{job.sha}", title_of(report)
    try:
        try:
            client.send("POST", path, fields)
        except LostResponseError as error:  # a second one of the name takes the place of the first
            client.rest(error, 0)
            client.send("POST", path, fields)
    except ForgeError as error:
        return Told([], [str(error)])
    return Told([f"status {name}: {state}"], [])
