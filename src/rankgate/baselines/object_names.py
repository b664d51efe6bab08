"""The names of records in an object store: they give the log its order, and say which run file each needs."""

from __future__ import annotations

import re

import msgspec

_NAME = re.compile(r"(?P<number>[0-9]{8,15})-(?P<id>[0-9a-f]{12})-(?P<digits>[0-9a-f]{12})\.json")


class RecordName(msgspec.Struct, frozen=True, order=True):
    """The name of a record's object, in the order of the log."""

    number: int
    id: str
    digits: str

    @classmethod
    def read(cls, name: str) -> RecordName | None:
        """A name taken apart; None where it is none."""
        parts = _NAME.fullmatch(name)
        return cls(int(parts["number"]), parts["id"], parts["digits"]) if parts else None

    @property
    def run(self) -> str:
        """The run file."""
        return f"run-{self.digits}.jsonl.gz"

    def __str__(self) -> str:
        return f"{self.number:08d}-{self.id}-{self.digits}.json"
