"""The named check: in progress first, always completed, one of its own for every run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from rankgate.forges.client import Client, LostResponseError
from rankgate.forges.marker import DEFAULT_GATE
from rankgate.renderers.check_run import Annotation, CheckRunOutput

CHECK = "rankgate/verdict"
ANNOTATIONS_A_REQUEST = 50  # GitHub's limit; an update appends
_EXTERNAL = re.compile(r"rankgate ([0-9]{1,19})/([0-9]{1,9})")
_WAITING = "Judging the retrieval run"

Conclusion = Literal["success", "failure", "action_required"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Where a check belongs: repository, commit, name, and the run that it speaks for."""

    repository: str
    sha: str
    name: str
    run: int
    attempt: int
    details_url: str | None = None

    @property
    def external_id(self) -> str:
        """By what this run's own check is found again."""
        return f"rankgate {self.run}/{self.attempt}"


def check_name(gate: str) -> str:
    """`rankgate/verdict`, or `rankgate/verdict/search` for a further gate of the repository."""
    return CHECK if gate == DEFAULT_GATE else f"{CHECK}/{gate}"


def begin(client: Client, check: Check) -> None:
    """Put the check in progress, unless this run's already is.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    if _own(client, check) is None:
        _create(client, check, {"status": "in_progress", "output": {"title": _WAITING, "summary": f"{_WAITING}."}})


def complete(client: Client, check: Check, output: CheckRunOutput, conclusion: Conclusion) -> None:
    """Complete this run's check, or make one that is complete. A run never touches the check of another.

    GitHub shows the newest check of a name, so that an older run that ends late changes nothing.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    batches = list(_batches(output.annotations))
    text = {"title": output.title, "summary": output.summary}
    fields = {"status": "completed", "conclusion": conclusion}
    first: dict[str, Any] = {**fields, "output": {**text, "annotations": batches[0]}}
    own = _own(client, check)
    if own is None:
        number = _create(client, check, first)
    else:
        number = own["id"]
        if own["completed_at"]:  # when people could first read it: the same run judged again is no later report
            first["completed_at"] = own["completed_at"]
        try:
            client.send("PATCH", f"/repos/{check.repository}/check-runs/{number}", first)
        except LostResponseError as error:
            client.rest(error, 0)
            if (_own(client, check) or own)["status"] != "completed":
                client.send("PATCH", f"/repos/{check.repository}/check-runs/{number}", first)
    for batch in batches[1:]:
        client.send(
            "PATCH", f"/repos/{check.repository}/check-runs/{number}", {"output": {**text, "annotations": batch}}
        )


def complete_open(client: Client, check: Check, output: CheckRunOutput, conclusion: Conclusion) -> bool:
    """Complete this run's check if it is there and still open, and make none; whether it was.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    own = _own(client, check)
    if own is None or own["status"] == "completed":
        return False
    complete(client, check, output, conclusion)
    return True


def reports(client: Client, check: Check) -> dict[tuple[int, int], str | None]:
    """By run and attempt when the first report on it was completed; None where that is still in progress.

    Raises:
        ForgeError: the checks cannot be listed.
    """
    listed = client.pages(_listing(check), {"check_name": check.name, "filter": "all"}, under="check_runs")
    named = ((_EXTERNAL.fullmatch(item.get("external_id") or ""), item) for item in listed)
    return {(int(found[1]), int(found[2])): item["completed_at"] for found, item in named if found}


def _listing(check: Check) -> str:
    return f"/repos/{check.repository}/commits/{check.sha}/check-runs"


def _own(client: Client, check: Check) -> Mapping[str, Any] | None:
    """This run's check, the first if a lost answer made two."""
    found = [
        item
        for item in client.pages(_listing(check), {"check_name": check.name, "filter": "all"}, under="check_runs")
        if item.get("external_id") == check.external_id and item.get("name") == check.name
    ]
    return min(found, key=lambda item: int(item["id"]), default=None)


def _create(client: Client, check: Check, fields: Mapping[str, Any]) -> int:
    body = {"name": check.name, "head_sha": check.sha, "external_id": check.external_id, **fields}
    if check.details_url:
        body["details_url"] = check.details_url
    path = f"/repos/{check.repository}/check-runs"
    try:
        answer = client.send("POST", path, body)
    except LostResponseError as error:
        client.rest(error, 0)
        own = _own(client, check)
        if own is not None:
            return int(own["id"])
        answer = client.send("POST", path, body)
    return int(answer.get("id", 0))  # a dry run has none


def _batches(annotations: Sequence[Annotation]) -> list[list[dict[str, Any]]]:
    """At least one batch, which may be empty."""
    whole: list[dict[str, Any]] = [msgspec.to_builtins(annotation) for annotation in annotations]
    starts = range(0, max(len(whole), 1), ANNOTATIONS_A_REQUEST)
    return [whole[start : start + ANNOTATIONS_A_REQUEST] for start in starts]
