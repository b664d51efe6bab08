"""What a commit's check says: the worst over the newest report of every job, of each pull request that counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

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


def record_of(text: str | None) -> Record | None:
    """The record in an external id; None where it is none."""
    try:
        return msgspec.json.decode(text or "", type=Record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def base_key(branch: str) -> str:
    """A base branch as twelve hex digits, since its name may hold anything and be long."""
    return hashlib.sha256(branch.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class CommitVerdict(msgspec.Struct, frozen=True):
    """What all checks of one name on a commit conclude, by which newest records, and what keeps it from success."""

    conclusion: Conclusion
    deciding: tuple[Record, ...]
    reasons: tuple[str, ...]

    @property
    def title(self) -> str:
        """One line, of at most 255 characters, for a check whose own report does not decide."""
        return f"{_TITLES[self.conclusion]}: {'; '.join(self.reasons) or 'all reports of this commit'}"[:255]


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
