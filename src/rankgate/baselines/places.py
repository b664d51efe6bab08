"""Where runs are kept: one layout for a directory, a branch and a bucket, and five operations that each of them has.

`accepted/00000001.json`
    A record, written once. What is accepted now is the one with the highest number.
`history/00000001.json`
    Every run of the main branch.
`rankings/run-<12 digits>.jsonl.gz`
    What a record names, by its content.
`rankings/gold-<12 digits>.json`
    A digest of each query of a gold set, by its fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from rankgate.baselines.packing import RUN
from rankgate.baselines.records import LOGS, Log

RUNS = "rankings"  # not "runs", which is in many a .gitignore
FOLDERS = (RUNS, *LOGS)
DAY = 86_400.0  # seconds for which rankings without a record may belong to one that is being added
ENTRY = re.compile(r"[0-9]{8}\.json")  # the name of a record
OBJECT = re.compile(rf"{RUN.pattern}|gold-[0-9a-f]{{12}}\.json")  # of what records name
ACCEPTED: Log = "accepted"


def entry_name(log: Log, number: int) -> str:
    """The name of a log's record with this number."""
    return f"{log}/{number:08d}.json"


def is_object(name: str) -> bool:
    """Whether a name is that of rankings or of a gold set's digests, which are never another's; else a record's."""
    return name.startswith(f"{RUNS}/")


class Place(Protocol):
    """Three folders of small files; every method raises a RankgateError where they cannot be reached or changed."""

    every_run: bool  # whether the rankings of every record are kept; else those of what is accepted and its anchor
    has_strays: bool  # whether rankings without a record are usual: of a write under way, or one that was killed

    @property
    def spec(self) -> str:
        """How users name it after `--baseline`, without passwords."""

    def refresh(self) -> None:
        """Forget what was read, once whoever is writing has finished."""

    def names(self, folder: str) -> Sequence[str]:
        """What a folder holds, without the folder's name; nothing where there is no such folder."""

    def read(self, names: Sequence[str], *, exact: bool = False) -> Mapping[str, bytes]:
        """Files by name, without those that are not there; `exact` asks for the files themselves and for no copies."""

    def create(self, files: Mapping[str, bytes], message: str) -> bool:
        """Write objects, then a record, whole or not at all; False where that has been written, or others got in."""

    def delete(self, names: Collection[str], message: str) -> bool:
        """Delete files and what killed writes have left; False where others got in. Objects may stay for a day."""
