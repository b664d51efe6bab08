"""The named check: in progress first, always completed, one of its own for every run, and all of one mind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.forges.client import Client, ForgeError, LostResponseError
from rankgate.forges.marker import DEFAULT_GATE
from rankgate.forges.pulls import deciding_pulls
from rankgate.forges.standing import QUEUE, Conclusion, Record, Standing, base_key, milder, record_of, standing
from rankgate.renderers.check_run import Annotation, CheckRunOutput

CHECK = "rankgate/verdict"
PUSH_CHECK = "rankgate/push"  # after an event without a base; it cannot say what a required check has to
ANNOTATIONS_A_REQUEST = 50  # GitHub's limit; an update appends
ROUNDS = 4  # of listing and writing; jobs that end at once agree after two
_WAITING = "Judging the retrieval run"


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


class _Listed(msgspec.Struct, frozen=True):
    """A check run as GitHub lists it, and whose report it is; None where that is nobody's."""

    item: Mapping[str, Any]
    record: Record | None


def check_name(gate: str, check: str = CHECK) -> str:
    """`rankgate/verdict`, or `rankgate/verdict/search` for a further gate of the repository."""
    return check if gate == DEFAULT_GATE else f"{check}/{gate}"


def begin(client: Client, check: Check) -> bool:
    """Put the check in progress, unless this attempt has one; False where others alone decide about the commit.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    found = _listed(client, check)
    counted = _counted(client, check, [*_records(found), check.record])
    if counted is not None and check.record.pull not in {QUEUE, *counted}:
        return False
    if _own(found, check) is None:
        _create(client, check, {"status": "in_progress", "output": {"title": _WAITING, "summary": f"{_WAITING}."}})
    return True


def foresee(client: Client, check: Check, conclusion: Conclusion) -> Standing:
    """What all checks of the name conclude once this report is among them.

    Raises:
        ForgeError: the checks cannot be listed.
    """
    others = [each for each in _records(_listed(client, check)) if not each.of(check.record)]
    return _standing(client, check, [*others, replace(check.record, own=conclusion)])


def complete(client: Client, check: Check, output: CheckRunOutput, conclusion: Conclusion) -> Standing:
    """Complete this attempt's check, or make one that is complete, and bring all of the name to the same end.

    The external id keeps what this report alone concludes: it is not lost in what all conclude together.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    own = _own(_listed(client, check), check)
    if own and own.record and not check.again and milder(conclusion, own.record.own):
        return settle(client, check)
    ended = foresee(client, check, conclusion)
    batches = list(_batches(output.annotations))
    text = {"title": output.title if ended.conclusion == conclusion else ended.title, "summary": output.summary}
    record = replace(check.record, own=conclusion)
    fields = {"status": "completed", "conclusion": ended.conclusion, "external_id": record.text()}
    first = {**fields, "output": {**text, "annotations": batches[0]}}
    if own is None:
        number = _create(client, check, first)
    else:
        number = own.item["id"]
        client.send("PATCH", f"/repos/{check.repository}/check-runs/{number}", first)
    for batch in batches[1:]:
        client.send(
            "PATCH", f"/repos/{check.repository}/check-runs/{number}", {"output": {**text, "annotations": batch}}
        )
    return ended if client.dry_run else settle(client, check)


def settle(client: Client, check: Check) -> Standing:
    """Bring all completed checks of the name to the end that their reports have together.

    After writing they are listed again: another job may have done the same at the same time, and whoever writes last
    has seen all. What still runs and counts is left in progress. A check that is nobody's report comes to the same end
    where GitHub allows it, which it does not for a job that bears this name.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    refused: set[int] = set()
    found = _listed(client, check)
    ended = _standing(client, check, _records(found))
    for _ in range(ROUNDS):
        wrong = [each for each in found if each.item["id"] not in refused and not _agrees(each, ended)]
        if not wrong:
            break
        for each in reversed(wrong):  # the newest first, which people see
            output = {"title": ended.title, "summary": each.item["output"]["summary"] or ended.title}
            fields = {"status": "completed", "conclusion": ended.conclusion, "output": output}
            try:
                client.send("PATCH", f"/repos/{check.repository}/check-runs/{each.item['id']}", fields)
            except ForgeError:
                if each.record is not None:
                    raise
                refused.add(each.item["id"])
        found = _listed(client, check)
        ended = _standing(client, check, _records(found))
    return ended


def complete_open(client: Client, check: Check, output: CheckRunOutput, conclusion: Conclusion) -> Standing | None:
    """Complete what this attempt of this job has left open, for whichever pull requests; None where it left nothing.

    Raises:
        ForgeError: the platform refuses or cannot be reached.
    """
    ended = None
    for each in _listed(client, check):
        record, status = each.record, each.item["status"]
        if record and status != "completed" and record.of(replace(check.record, pull=record.pull)):
            ended = complete(client, replace(check, record=record), output, conclusion)
    return ended


def last_run(client: Client, check: Check) -> tuple[int, int] | None:
    """The run and attempt whose check is the newest of the pull request; None where there is none of ours.

    Raises:
        ForgeError: the checks cannot be listed.
    """
    found = [each for each in _records(_listed(client, check)) if each.pull == check.record.pull]
    return (found[-1].run, found[-1].attempt) if found else None


def _listed(client: Client, check: Check) -> list[_Listed]:
    """Our App's check runs of the name on the commit, oldest first."""
    path = f"/repos/{check.repository}/commits/{check.sha}/check-runs"
    items = client.pages(path, {"check_name": check.name, "filter": "all"}, under="check_runs")
    found = [
        _Listed(item, record_of(item.get("external_id")))
        for item in items
        if item.get("name") == check.name and f"{(item.get('app') or {}).get('slug')}[bot]" == check.login
    ]
    return sorted(found, key=lambda each: int(each.item["id"]))


def _records(found: Sequence[_Listed]) -> list[Record]:
    return [each.record for each in found if each.record]


def _own(found: Sequence[_Listed], check: Check) -> _Listed | None:
    """This attempt's check, the first if a lost answer made two."""
    return next((each for each in found if each.record and each.record.of(check.record)), None)


def _standing(client: Client, check: Check, records: Sequence[Record]) -> Standing:
    return standing(records, _counted(client, check, records))


def _counted(client: Client, check: Check, records: Sequence[Record]) -> dict[int, str] | None:
    """The pull requests that count with the keys of their bases; None where GitHub does not list them.

    The token of a job for the merge queue need not list any: there all count that have reported.
    """
    if check.name.startswith(PUSH_CHECK):
        return {}
    queued = any(record.pull == QUEUE for record in records)
    try:
        pulls = deciding_pulls(client, check.repository, check.sha, check.criteria, queued=queued)
    except ForgeError:
        return None if check.record.pull else {record.pull: record.base for record in records}
    return {pull.number: base_key(pull.base_ref) for pull in pulls}


def _agrees(each: _Listed, ended: Standing) -> bool:
    """Whether a check says what all say together; one that still runs and counts need not."""
    record, item = each.record, each.item
    if item["status"] != "completed":
        return record is not None and record.own == "pending" and any(record.of(one) for one in ended.deciding)
    itself = record is not None and record.own == ended.conclusion
    return item["conclusion"] == ended.conclusion and (itself or item["output"]["title"] == ended.title)


def _create(client: Client, check: Check, fields: Mapping[str, Any]) -> int:
    body = {"name": check.name, "head_sha": check.sha, "external_id": check.record.text(), **fields}
    if check.details_url:
        body["details_url"] = check.details_url
    path = f"/repos/{check.repository}/check-runs"
    try:
        answer = client.send("POST", path, body)
    except LostResponseError as error:
        client.rest(error, 0)
        own = _own(_listed(client, check), check)
        if own is not None:
            return int(own.item["id"])
        answer = client.send("POST", path, body)
    return int(answer.get("id", 0))  # a dry run has none


def _batches(annotations: Sequence[Annotation]) -> list[list[dict[str, Any]]]:
    """At least one batch, which may be empty."""
    whole: list[dict[str, Any]] = [msgspec.to_builtins(annotation) for annotation in annotations]
    starts = range(0, max(len(whole), 1), ANNOTATIONS_A_REQUEST)
    return [whole[start : start + ANNOTATIONS_A_REQUEST] for start in starts]
