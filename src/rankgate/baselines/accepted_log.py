"""The log of what was accepted, and the manifest that says how far it counts: from values to values."""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.baselines.records import Record
from rankgate.errors import bad_input


def counting(
    found: Sequence[Record], accepted: Record | None, *, left_over: int, manifest: str, log: str
) -> list[Record]:
    """The records that count: as far as the manifest's, which ends them. What follows was never accepted to the end.

    Args:
        found: all records of the log, oldest first.
        accepted: the manifest's; None where there is no manifest.
        left_over: how many records a killed acceptance may leave behind.
        manifest: the file, for the error.
        log: its name, for the error.

    Raises:
        RankgateError: more follow than that, so somebody changed one of the two; writing would lose them.
    """
    same = [place for place, record in enumerate(found) if accepted and record.id == accepted.id]
    if accepted is None:
        before, following = found[:0], found
    else:
        before, following = (found[: same[-1]], found[same[-1] + 1 :]) if same else (found, found[:0])
    if len(following) > left_over:
        last = f"the last {following[-1].id} of {following[-1].date}"
        where = f"after {accepted.id}, which this says is accepted" if accepted else "and this is not there"
        raise bad_input(
            f"{log} has {len(following):,} accepted {where}, {last}: somebody changed one of the two. Restore it from "
            f"version control, or take what is not accepted out of {log}",
            file=manifest,
        )
    return [*before, *([accepted] if accepted else [])]
