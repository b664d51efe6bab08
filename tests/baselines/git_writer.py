"""A process that adds to a branch as CI jobs do: `python git_writer.py WHO ROUNDS [first]` in a clone."""

from __future__ import annotations

import gzip
import hashlib
import sys

from rankgate.baselines.branch import branch_memory
from rankgate.baselines.records import Log, Record

SPEC = "git+branch:rankgate-baselines"
ACCEPTING = 5  # each so manieth round a writer accepts as well


def run_of(who: str, number: int) -> bytes:
    """The run file that a writer makes in a round: small, and unlike any other."""
    return gzip.compress(f'{{"query_id": "q", "retrieved": ["{who}-{number}"]}}\n'.encode(), mtime=0)


def record_of(who: str, number: int, data: bytes) -> Record:
    """What is said of that run."""
    digest = hashlib.sha256(data).hexdigest()
    return Record(
        run=f"run-{digest[:12]}.jsonl.gz",
        sha256=digest,
        depth=100,
        queries=1,
        kept=[],
        date="2025-07-01",
        source="run.jsonl",
        provenance={},
        gold=None,
        branch=f"{who}-{number}",
    )


def add(log: Log, who: str, number: int, spec: str = SPEC) -> bool:
    """Add the run of a round to a log."""
    data = run_of(who, number)
    return branch_memory(spec).add(log, record_of(who, number, data), data)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    name, rounds = sys.argv[1], int(sys.argv[2])
    for each in range(rounds):
        assert add("history", name, each)
        sys.stdout.write(f"history {name} {each}\n")
        if each % ACCEPTING == 0:
            assert add("accepted", name, each)
            sys.stdout.write(f"accepted {name} {each}\n")
