"""What a commit's check says: the worst over the newest report of every job, of each pull request that counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

Conclusion = Literal["success", "failure", "action_required"]
Own = Literal["pending", "success", "action_required", "failure"]
_Job = Annotated[str, msgspec.Meta(pattern=r"(?a)\A[\w./-]{1,170}\Z")]  # it is shown

QUEUE = 0  # stands for the pull request where the commit is a merge group's
_SEVERITY: tuple[Own, ...] = ("success", "pending", "action_required", "failure")
_RESULTS: tuple[Own, ...] = ("pending", "success", "action_required", "failure")  # what a lost answer doubled is none
_SAYS = {"pending": "has no report yet", "action_required": "asks for a maintainer", "failure": "fails"}
_TITLES: dict[Conclusion, str] = {"success": "Pass", "action_required": "Not yet", "failure": "Fail"}
_UNKNOWN = "GitHub does not list the open pull requests of this commit; the job needs `pull-requests: read`"
_NONE = "no open pull request has this commit as its head"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Whose report a check run stands for, and what that report alone concludes; `pending` before it is there.

    It is the check run's external id, which only the App that made the check run can write. `base` is that of
    `base_key`, `job` tells the jobs of a pull request apart that share a gate id. `judged` is the digest of what was
    judged, by which labels are bound to it; empty where nothing was.
    """

    run: int
    attempt: int
    pull: int
    base: str
    job: _Job
    own: Own = "pending"
    judged: str = ""

    def text(self) -> str:
        """The external id."""
        return msgspec.json.encode(self).decode()

    def of(self, other: Record) -> bool:
        """Whether both are of the same attempt of the same job, for the same pull request."""
        same = replace(other, own=self.own, base=self.base, judged=self.judged)
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


def milder(one: Own, other: Own) -> bool:
    """Whether the first keeps less from merging than the other; before there is a result nothing is milder."""
    return _RESULTS.index(one) < _RESULTS.index(other)


def commit_verdict(records: Iterable[Record], counted: Mapping[int, str] | None) -> CommitVerdict:
    """The worst over the newest report of each job.

    Order is (run, attempt) per pull request and job: a later attempt replaces the result of its own job and no other's.
    Of two check runs of one attempt the worse result counts. A report that was judged against another base than the
    pull request has now is none. Where there are records of a merge group, nothing else is waited for. `counted` are
    the pull requests that count, and their bases; None where GitHub does not say, and then nothing passes.
    """
    newest: dict[tuple[int, str], Record] = {}
    for record in sorted(records, key=lambda each: (each.run, each.attempt, _RESULTS.index(each.own))):
        newest[record.pull, record.job] = record
    deciding = [
        each if counted is None or each.base == counted.get(each.pull, each.base) else replace(each, own="pending")
        for _, each in sorted(newest.items())
        if counted is None or each.pull == QUEUE or each.pull in counted
    ]
    results: list[tuple[Own, str]] = [(each.own, _who(each, deciding)) for each in deciding]
    there = {each.pull for each in deciding}
    missing = [] if QUEUE in there else sorted({*(counted or ())} - there)
    results += [("pending", f"pull request #{number}") for number in missing]
    worst: Own = max((result for result, _ in results), key=_SEVERITY.index, default="pending")
    reasons: tuple[str, ...] = (_NONE,)
    if results:
        reasons = tuple(f"{who} {_SAYS[result]}" for result, who in results if result == worst != "success")
    if counted is None and worst in ("success", "pending"):
        worst = "pending"
        reasons = (_UNKNOWN,)
    return CommitVerdict("action_required" if worst == "pending" else worst, tuple(deciding), reasons)


def _who(record: Record, all_of: Iterable[Record]) -> str:
    who = f"pull request #{record.pull}" if record.pull else "this commit"
    shared = any(other.pull == record.pull and other.job != record.job for other in all_of)
    return f"{who} in job {record.job}" if shared else who
