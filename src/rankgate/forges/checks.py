"""The named check: in progress first, always completed, one of its own for every run, and all of one mind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.forges.check_reports import (
    QUEUE,
    CommitVerdict,
    Conclusion,
    Record,
    base_key,
    commit_verdict,
    milder,
    record_of,
)
from rankgate.forges.client import Client, ForgeError, LostResponseError
from rankgate.forges.comments import DEFAULT_GATE
from rankgate.forges.pulls import deciding_pulls
from rankgate.renderers.check_run import Annotation, CheckRunOutput

CHECK = "rankgate/verdict"
PUSH_CHECK = "rankgate/push"  # after an event without a base; it cannot say what a required check has to
ANNOTATIONS_A_REQUEST = 50  # GitHub's limit; an update appends
ROUNDS = 4  # of listing and writing; jobs that end at once agree after two
_WAITING = "Judging the retrieval run"

_Ours = tuple[Mapping[str, Any], Record]  # a check run of ours as GitHub lists it, and whose report it is


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Where a check belongs: repository, commit, name, and the report that it speaks for.

    `login` is whom the token posts as; of the checks of this name only those of that App are ours. A base has criteria
    if it has one of the files `criteria`. `again` says that the same attempt may be judged again, as after a label;
    else two results of one attempt are of jobs or steps that nothing tells apart, and the worse one counts.
    """

    repository: str
    sha: str
    name: str
    login: str
    record: Record
    criteria: Sequence[str] = ()
    again: bool = False
    details_url: str | None = None


def check_name(gate: str, check: str = CHECK) -> str:
    """`rankgate/verdict`, or `rankgate/verdict/search` for a further gate of the repository."""
    return check if gate == DEFAULT_GATE else f"{check}/{gate}"


def begin(client: Client, check: Check) -> bool:
    """Put the check in progress, unless this attempt has one; False where others alone decide about the commit."""
    ours = _ours(client, check)
    counted = _counted(client, check, [*(record for _, record in ours), check.record])
    if counted is not None and check.record.pull not in {QUEUE, *counted}:
        return False
    if _of_attempt(ours, check) is None:
        _create(client, check, {"status": "in_progress", "output": {"title": _WAITING, "summary": f"{_WAITING}."}})
    return True


def foresee(client: Client, check: Check, conclusion: Conclusion) -> CommitVerdict:
    """What all checks of the name conclude once this report is among them."""
    others = [record for _, record in _ours(client, check) if not record.of(check.record)]
    records = [*others, replace(check.record, result=conclusion)]
    return commit_verdict(records, _counted(client, check, records))


def complete(client: Client, check: Check, output: CheckRunOutput, conclusion: Conclusion) -> CommitVerdict:
    """Complete this attempt's check, or make one that is complete, and bring all of the name to the same end.

    The external id keeps what this report alone concludes: it is not lost in what all conclude together.
    """
    existing = _of_attempt(_ours(client, check), check)
    if existing and not check.again and milder(conclusion, existing[1].result):
        return settle(client, check)
    ended = foresee(client, check, conclusion)
    batches = list(_batches(output.annotations))
    text = {"title": output.title if ended.conclusion == conclusion else ended.title, "summary": output.summary}
    check = replace(check, record=replace(check.record, result=conclusion))
    fields = {"status": "completed", "conclusion": ended.conclusion, "external_id": check.record.text()}
    first = {**fields, "output": {**text, "annotations": batches[0]}}
    number = existing[0]["id"] if existing else _create(client, check, first)
    if existing:
        _update(client, check, existing, first)
    for batch in batches[1:]:
        path = f"/repos/{check.repository}/check-runs/{number}"
        client.send("PATCH", path, {"output": {**text, "annotations": batch}})
    return ended if client.dry_run else settle(client, check)


def settle(client: Client, check: Check) -> CommitVerdict:
    """Bring all our completed checks of the name to the end that their reports have together.

    After writing they are listed again: another job may have done the same at the same time, and whoever writes last
    has seen all. What still runs and counts is left in progress.
    """
    rounds = ROUNDS
    while True:
        ours = _ours(client, check)
        records = [record for _, record in ours]
        ended = commit_verdict(records, _counted(client, check, records))
        wrong = [each for each in ours if not _agrees(*each, ended)]
        if not wrong or not rounds:
            return ended
        rounds -= 1
        for each in reversed(wrong):  # the newest first, which people see
            output = {"title": ended.title, "summary": each[0]["output"]["summary"] or ended.title}
            _update(client, check, each, {"status": "completed", "conclusion": ended.conclusion, "output": output})


def reports(client: Client, check: Check) -> list[tuple[Record, str | None]]:
    """Whose reports there are, and when the first of each was completed, newest first; None where there is none yet."""
    ours = reversed(_ours(client, check))
    return [(record, None if record.result == "pending" else item["completed_at"]) for item, record in ours]


def _ours(client: Client, check: Check) -> list[_Ours]:
    """Our App's check runs of the name on the commit that stand for a report, oldest first."""
    path = f"/repos/{check.repository}/commits/{check.sha}/check-runs"
    items = client.pages(path, {"check_name": check.name, "filter": "all"}, under="check_runs")
    ours = [
        (item, record)
        for item in items
        if item.get("name") == check.name and f"{(item.get('app') or {}).get('slug')}[bot]" == check.login
        if (record := record_of(item.get("external_id"))) is not None
    ]
    return sorted(ours, key=lambda each: int(each[0]["id"]))


def _of_attempt(ours: Sequence[_Ours], check: Check) -> _Ours | None:
    """This attempt's check, the first if a lost answer made two."""
    return next((each for each in ours if each[1].of(check.record)), None)


def _counted(client: Client, check: Check, records: Sequence[Record]) -> dict[int, str] | None:
    """The pull requests that count with the keys of their bases; None where GitHub does not list them."""
    if check.name.startswith(PUSH_CHECK):
        return {}
    queued = any(record.pull == QUEUE for record in records)
    try:
        pulls = deciding_pulls(client, check.repository, check.sha, check.criteria, queued=queued)
    except ForgeError:  # the token of a job for the merge queue need not list any: all count that have reported
        return None if check.record.pull else {record.pull: record.base for record in records}
    return {pull.number: base_key(pull.base_ref) for pull in pulls}


def _agrees(item: Mapping[str, Any], record: Record, ended: CommitVerdict) -> bool:
    """Whether a check says what all say together; one that still runs and counts need not."""
    if item["status"] != "completed":
        return record.result == "pending" and any(record.of(one) for one in ended.deciding)
    entitled = record.result == ended.conclusion or item["output"]["title"] == ended.title
    return entitled and bool(item["conclusion"] == ended.conclusion)


def _create(client: Client, check: Check, fields: Mapping[str, Any]) -> int:
    body = {"name": check.name, "head_sha": check.sha, "external_id": check.record.text(), **fields}
    if check.details_url:
        body["details_url"] = check.details_url
    path = f"/repos/{check.repository}/check-runs"
    try:
        answer = client.send("POST", path, body)
    except LostResponseError as error:
        client.pause_after(error, 0)
        existing = _of_attempt(_ours(client, check), check)
        if existing is not None:
            return int(existing[0]["id"])
        answer = client.send("POST", path, body)
    return int(answer.get("id", 0))  # a dry run has none


def _update(client: Client, check: Check, existing: _Ours, fields: Mapping[str, Any]) -> None:
    """Complete a check run that is there. Judging the same once more is no later report: the first time stays.

    Args:
        client: of the API.
        check: where it belongs.
        existing: the check run.
        fields: what of it is sent; `external_id` says which report it is of.
    """
    item, record = existing
    if item["completed_at"] and record.result != "pending":
        new_record = record_of(fields.get("external_id")) or record
        same_report = new_record.judged == record.judged
        fields = {**fields, "completed_at": item["completed_at"] if same_report else client.time()}
    path = f"/repos/{check.repository}/check-runs/{item['id']}"
    try:
        client.send("PATCH", path, fields)
    except LostResponseError as error:
        client.pause_after(error, 0)
        now = next((each for each, _ in _ours(client, check) if each["id"] == item["id"]), item)
        if any(now[name] != fields.get(name, now[name]) for name in ("status", "conclusion", "external_id")):
            client.send("PATCH", path, fields)


def _batches(annotations: Sequence[Annotation]) -> list[list[dict[str, Any]]]:
    """At least one batch, which may be empty."""
    plain: list[dict[str, Any]] = [msgspec.to_builtins(annotation) for annotation in annotations]
    return [plain[at : at + ANNOTATIONS_A_REQUEST] for at in range(0, max(len(plain), 1), ANNOTATIONS_A_REQUEST)]
