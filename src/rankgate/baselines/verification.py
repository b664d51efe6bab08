"""Whether all that is stored is whole: every record, every run file, and what the logs say of each other."""

from __future__ import annotations

from contextlib import nullcontext

import msgspec

from rankgate.baselines.memory import Memory
from rankgate.baselines.records import LOGS, Log, Record
from rankgate.baselines.tree import NotKeptError, TreeMemory
from rankgate.errors import Problem, RankgateError


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """How much was looked at, and what is wrong with it."""

    records: int
    runs: int
    problems: list[Problem]


def verify(memory: Memory) -> Verified:
    """Look at everything; nothing is changed and nothing is raised for what is damaged.

    What somebody who writes meanwhile makes look damaged is looked at again while nobody does.
    """
    found = _looked_at(memory)
    if not found.problems:
        return found
    with memory.tree.still() if isinstance(memory, TreeMemory) else nullcontext():
        return _looked_at(memory)


def _looked_at(memory: Memory) -> Verified:
    problems: list[Problem] = []
    found: dict[Log, list[Record]] = {}
    for log in LOGS:
        try:
            found[log] = list(memory.read(log))
        except RankgateError as error:
            problems += error.problems
    runs = {(record.run, record.sha256): record for records in found.values() for record in records}
    fetched = 0
    for record in runs.values():
        try:
            memory.fetch(record)
            fetched += 1
        except NotKeptError:
            continue
        except RankgateError as error:
            problems += error.problems
    if isinstance(memory, TreeMemory):
        problems += memory.contradictions()
    count = sum(map(len, found.values()))
    return Verified(records=count, runs=fetched, problems=list(dict.fromkeys(problems)))
