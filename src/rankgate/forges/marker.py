"""The hidden first line of our comment: which gate it belongs to, and which run of which commit wrote it."""

from __future__ import annotations

import re

import msgspec

from rankgate.errors import bad_input
from rankgate.model.values import Verdict

DEFAULT_GATE = "default"
BEGINS = "<!-- rankgate "  # no other line of a comment may begin so

_GATE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LINE = re.compile(
    r"<!-- rankgate gate=([A-Za-z0-9][A-Za-z0-9._-]{0,63}) sha=([0-9a-f]{40}|[0-9a-f]{64}) "
    r"run=([0-9]{1,19}) attempt=([0-9]{1,9}) verdict=([a-z_]{1,16}) -->"
)


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote a comment: the gate's id, the pull request's head, the run and its attempt; and what it said."""

    gate: str
    sha: str
    run: int
    attempt: int
    verdict: Verdict

    def line(self) -> str:
        """The first line of the comment, which nobody sees."""
        return (
            f"{BEGINS}gate={self.gate} sha={self.sha} run={self.run} attempt={self.attempt} "
            f"verdict={self.verdict.value} -->"
        )

    def newer_than(self, other: Mark) -> bool:
        """Whether a later run, or a later attempt of the same one, wrote it; GitHub counts both upwards."""
        return (self.run, self.attempt) > (other.run, other.attempt)


def mark_of(body: str) -> Mark | None:
    """The mark of a comment; None unless its first line is exactly one."""
    first = body.split("\n", 1)[0].removesuffix("\r")
    found = _LINE.fullmatch(first)
    if not found:
        return None
    gate, sha, run, attempt, verdict = found.groups()
    try:
        return Mark(gate=gate, sha=sha, run=int(run), attempt=int(attempt), verdict=Verdict(verdict))
    except ValueError:  # a verdict of another version
        return None


def checked_gate_id(written: str) -> str:
    """An id that may stand in a marker, in a check's name and in a file's.

    Raises:
        RankgateError: it may not.
    """
    if not _GATE.fullmatch(written):
        raise bad_input(
            f"{written[:80]!r} is no gate id; use up to 64 letters, digits, dots, dashes and underscores", key="gate-id"
        )
    return written
