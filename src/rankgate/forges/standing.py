"""What a commit's check says: the worst over the newest report of every job, of each pull request that counts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

Conclusion = Literal["success", "failure", "action_required"]
Own = Literal["pending", "success", "action_required", "failure"]

QUEUE = 0  # stands for the pull request where the commit is a merge group's, or that of a push
_SEVERITY: tuple[Own, ...] = ("success", "pending", "action_required", "failure")
_RECORD = re.compile(
    r"rankgate ([0-9]{1,19})/([0-9]{1,9}) pull=([0-9]{1,19}) base=([0-9a-f]{12}) job=([\w./-]{1,170}) "
    rf"own=({'|'.join(_SEVERITY)})",
    re.ASCII,
)
_SAYS = {
    "pending": "has no report yet",
    "success": "passes",
    "action_required": "asks for a maintainer",
    "failure": "fails",
}
_TITLES: dict[Conclusion, str] = {"success": "Pass", "action_required": "Not yet", "failure": "Fail"}
_UNKNOWN = "GitHub does not list the open pull requests of this commit; the job needs `pull-requests: read`"
_NONE = "no open pull request has this commit as its head"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Whose report a check run stands for, and what that report alone concludes; `pending` before it is there.

    It is the check run's external id, which only the App that made the check run can write. `base` is that of
    `base_key`, `job` tells the jobs of a pull request apart that share a gate id.
    """

    run: int
    attempt: int
    pull: int
    base: str
    job: str
    own: Own = "pending"

    def text(self) -> str:
        """The external id."""
        return f"rankgate {self.run}/{self.attempt} pull={self.pull} base={self.base} job={self.job} own={self.own}"

    def of(self, other: Record) -> bool:
        """Whether both are of the same attempt of the same job, for the same pull request."""
        return replace(self, own="pending", base="") == replace(other, own="pending", base="")


def record_of(text: str | None) -> Record | None:
    """The record in an external id; None where it is none."""
    found = _RECORD.fullmatch(text or "")
    if found is None:
        return None
    names = ("run", "attempt", "pull", "base", "job", "own")
    return msgspec.convert(dict(zip(names, found.groups(), strict=True)), Record, strict=False)


def base_key(branch: str) -> str:
    """A base branch as twelve hex digits, since its name may hold anything."""
    return hashlib.sha256(branch.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Standing(msgspec.Struct, frozen=True):
    """What all checks of one name on a commit conclude, and why.

    `deciding` are the newest records of what counts, `reasons` say what keeps the check from success.
    """

    conclusion: Conclusion
    deciding: tuple[Record, ...]
    reasons: tuple[str, ...]

    @property
    def title(self) -> str:
        """One line for a check whose own report does not decide."""
        more = f", and {len(self.reasons) - 1} more" if len(self.reasons) > 1 else ""
        return f"{_TITLES[self.conclusion]}: {self.reasons[0] if self.reasons else 'all reports of this commit'}{more}"

    def jobs(self, pull: int) -> list[str]:
        """The jobs that have judged a pull request, or are about to."""
        return sorted({record.job for record in self.deciding if record.pull == pull and record.job})


def milder(one: Own, other: Own) -> bool:
    """Whether the first keeps less from merging than the other, which is a result."""
    return other != "pending" and _SEVERITY.index(one) < _SEVERITY.index(other)


def standing(records: Iterable[Record], counted: Mapping[int, str] | None) -> Standing:
    """The worst over the newest report of each job.

    Order is (run, attempt) per pull request and job: a later attempt replaces the result of its own job and no other's.
    Of one attempt that has two check runs the worse result counts. A report that was judged against another base than
    the pull request has now is none.

    Args:
        records: of all check runs of one name on a commit.
        counted: the pull requests that count with the key of their base; None where GitHub does not say, so that all
            count that have a report, and nothing passes. Records of a merge group always count.
    """
    newest: dict[tuple[int, str], Record] = {}
    for record in records:
        other = newest.get((record.pull, record.job))
        if other is None or _order(record) > _order(other):
            newest[record.pull, record.job] = record
    deciding = [
        each if counted is None or each.base == counted.get(each.pull, each.base) else replace(each, own="pending")
        for _, each in sorted(newest.items())
        if counted is None or each.pull == QUEUE or each.pull in counted
    ]
    missing = sorted((counted or {}).keys() - {each.pull for each in deciding})
    said: list[tuple[Own, str]] = [(each.own, f"{_who(each, deciding)} {_SAYS[each.own]}") for each in deciding]
    said += [("pending", f"pull request #{number} {_SAYS['pending']}") for number in missing]
    if counted is None or not said:
        said.append(("pending", _UNKNOWN if counted is None else _NONE))
    worst = max((own for own, _ in said), key=_SEVERITY.index)
    return Standing(
        "action_required" if worst == "pending" else worst,
        tuple(deciding),
        tuple(text for own, text in said if own == worst and own != "success"),
    )


def _order(record: Record) -> tuple[int, int, bool, int]:
    return record.run, record.attempt, record.own != "pending", _SEVERITY.index(record.own)


def _who(record: Record, all_of: Iterable[Record]) -> str:
    who = "this commit" if record.pull == QUEUE else f"pull request #{record.pull}"
    shared = any(other.pull == record.pull and other.job != record.job for other in all_of)
    return f"{who} in job {record.job}" if shared else who
