"""The named check: in progress first, always completed, one of its own for every run, and all of one mind.

What all of a commit say is the worst over the newest report of every job, of each pull request that counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from rankgate.forges.client import Client, ForgeError, LostResponseError
from rankgate.forges.comments import DEFAULT_GATE
from rankgate.forges.pulls import deciding_pulls
from rankgate.renderers.github import CheckRunOutput

CHECK = "rankgate/verdict"
PUSH_CHECK = "rankgate/push"  # after an event without a base; it cannot say what a required check has to
ANNOTATIONS_A_REQUEST = 50  # GitHub's limit; an update appends
ROUNDS = 4  # of listing and writing; jobs that end at once agree after two
_WAITING = "Judging the retrieval run"
Conclusion = Literal["success", "failure", "action_required"]
Result = Literal["pending", "success", "action_required", "failure"]
_Job = Annotated[str, msgspec.Meta(pattern=r"(?a)\A[\w./-]{1,170}\Z")]  # it is shown
QUEUE = 0  # stands for the pull request where the commit is a merge group's
_SEVERITY: tuple[Result, ...] = ("success", "pending", "action_required", "failure")
# Of two check runs of one attempt: a lost answer may have left one without a result.
_RESULTS: tuple[Result, ...] = ("pending", "success", "action_required", "failure")
_SAYS = {"pending": "has no report yet", "action_required": "asks for a maintainer", "failure": "fails"}
_TITLES: dict[Conclusion, str] = {"success": "Pass", "action_required": "Not yet", "failure": "Fail"}
_UNKNOWN = "GitHub does not list the open pull requests of this commit; the job needs `pull-requests: read`"
_NONE = "no open pull request has this commit as its head"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Whose report a check run stands for, and the `result` of that report alone; `pending` before it is there.

    It is the check run's external id, which only the App that made the check run can write. `base` is that of
    `base_key`, `job` tells the jobs of a pull request apart that share a gate id. `judged` is the digest of what was
    judged, by which labels are bound to it; empty where nothing was.
    """

    run: int
    attempt: int
    pull: int
    base: str
    job: _Job
    result: Result = "pending"
    judged: str = ""

    def text(self) -> str:
        """The external id."""
        return msgspec.json.encode(self).decode()

    def of(self, other: Record) -> bool:
        """Whether both are of the same attempt of the same job, for the same pull request."""
        same = replace(other, result=self.result, base=self.base, judged=self.judged)
        return self == same


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


class CommitVerdict(msgspec.Struct, frozen=True):
    """What all checks of one name on a commit conclude, by which newest records, and what keeps it from success."""

    conclusion: Conclusion
    deciding: tuple[Record, ...]
    reasons: tuple[str, ...]

    @property
    def title(self) -> str:
        """One line, of at most 255 characters, for a check whose own report does not decide."""
        return f"{_TITLES[self.conclusion]}: {'; '.join(self.reasons) or 'all reports of this commit'}"[:255]


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
    annotations = [msgspec.to_builtins(each) for each in output.annotations]
    begins = range(0, max(len(annotations), 1), ANNOTATIONS_A_REQUEST)  # one batch, which may be empty, or several
    batches = [annotations[begin : begin + ANNOTATIONS_A_REQUEST] for begin in begins]
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
    """Complete a check run that is there. Judging the same once more is no later report: the first time stays."""
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


def record_of(text: str | None) -> Record | None:
    """The record in an external id; None where it is none."""
    try:
        return msgspec.json.decode(text or "", type=Record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def base_key(branch: str) -> str:
    """A base branch as twelve hex digits, since its name may hold anything and be long."""
    return hashlib.sha256(branch.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def milder(one: Result, other: Result) -> bool:
    """Whether the first keeps less from merging than the other; before there is a result nothing is milder."""
    return _RESULTS.index(one) < _RESULTS.index(other)


def commit_verdict(records: Iterable[Record], counted: Mapping[int, str] | None) -> CommitVerdict:
    """The worst over the newest report of each job.

    Order is (run, attempt) per pull request and job: a later attempt replaces the result of its own job and no other's.
    Of two check runs of one attempt the worse result counts. A report that was judged against another base than the
    pull request has now is none. Where there are records of a merge group, nothing else is waited for. `counted` has
    the `base_key` of each pull request that counts, by its number; None where GitHub does not say, and then nothing
    passes.
    """
    deciding = _deciding(records, counted)
    results: list[tuple[Result, str]] = [(each.result, _who(each, deciding)) for each in deciding]
    reported = {each.pull for each in deciding}
    if QUEUE not in reported:
        missing = sorted({*(counted or ())} - reported)
        results += [("pending", f"pull request #{number}") for number in missing]
    worst: Result = max((result for result, _ in results), key=_SEVERITY.index, default="pending")
    reasons: tuple[str, ...] = ()
    if counted is None and worst in ("success", "pending"):
        worst = "pending"
        reasons = (_UNKNOWN,)
    elif not results:
        reasons = (_NONE,)
    elif worst != "success":
        reasons = tuple(f"{who} {_SAYS[worst]}" for result, who in results if result == worst)
    return CommitVerdict("action_required" if worst == "pending" else worst, tuple(deciding), reasons)


def _deciding(records: Iterable[Record], counted: Mapping[int, str] | None) -> list[Record]:
    """The newest record of each job of a pull request that counts, by its number and job; see `commit_verdict`."""
    newest: dict[tuple[int, str], Record] = {}
    for record in sorted(records, key=lambda each: (each.run, each.attempt, _RESULTS.index(each.result))):
        newest[record.pull, record.job] = record
    deciding: list[Record] = []
    for _, record in sorted(newest.items()):
        if counted is None or record.pull == QUEUE:
            deciding.append(record)
        elif record.pull in counted:
            of_other_base = record.base != counted[record.pull]
            deciding.append(replace(record, result="pending") if of_other_base else record)
    return deciding


def _who(record: Record, all_of: Iterable[Record]) -> str:
    who = f"pull request #{record.pull}" if record.pull else "this commit"
    shared = any(other.pull == record.pull and other.job != record.job for other in all_of)
    return f"{who} in job {record.job}" if shared else who
