"""What a recording did, and the error when it did too little."""

from __future__ import annotations

import msgspec

from rankgate.errors import Problem, RankgateError

MOST_FAILURES = 20


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording did.

    Attributes:
        path: the run file.
        total: questions of the gold set.
        recorded: those that the run holds; the others failed.
        resumed: those of the recorded that an interrupted recording had left.
        median_ms: median over the recorded of the sum of `latency_ms`; None where nothing is recorded.
        failures: one problem a failing question, in gold order; its key is the query id, file and line are the
            innermost of the user's code.
    """

    path: str
    total: int
    recorded: int
    resumed: int
    median_ms: float | None
    failures: tuple[Problem, ...]


class RecordingError(RankgateError):
    """More questions failed than were allowed; `recorded` says what was done all the same."""

    def __init__(self, recorded: Recorded, allow_errors: int) -> None:
        if recorded.recorded:
            count = f"{len(recorded.failures)} of {recorded.total} questions failed"
            summary = f"{count}, more than --allow-errors {allow_errors}; {recorded.path} is written without them"
        else:
            summary = f"every question failed; {recorded.path} is not written"
        super().__init__([*first_failures(recorded), Problem(summary)])
        self.recorded = recorded


def first_failures(recorded: Recorded) -> list[Problem]:
    """The failures to show: the first ones, and how many more there are."""
    shown_first = list(recorded.failures[:MOST_FAILURES])
    more = len(recorded.failures) - len(shown_first)
    return [*shown_first, Problem(f"and {more} more")] if more else shown_first
