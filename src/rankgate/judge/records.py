"""What a judge said, by what it was asked: a verdict, or the reason in the place of one."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import force_setattr

from rankgate.judge.tasks import TASKS
from rankgate.model.verdicts import Unjudged


class Slot(NamedTuple):
    """The place of a verdict: whose, on what, and the how-manieth of equal questions."""

    judge: str
    task: str
    key: str
    repeat: int


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a judge said of one slot: a line of `verdicts.jsonl`. Either `verdicts` or `unjudged` is there.

    `model` and `fingerprint` are those that the server named; `tokens` are sent and received, all attempts together.
    With `replaces` a line takes the place of whatever its slot had before.
    """

    judge: str
    task: str
    key: str
    repeat: int
    verdicts: Any = None
    unjudged: Unjudged | None = None
    model: str = ""
    fingerprint: str | None = None
    tokens: tuple[int, int] = (0, 0)
    replaces: bool = False

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task: invalid enum value {self.task!r}")
        if (self.verdicts is None) == (self.unjudged is None):
            raise ValueError("needs verdicts or unjudged, and not both")
        if not self.judge or not self.key or min(self.repeat, *self.tokens) < 0:
            raise ValueError("judge or key is empty, or a number below 0")
        if self.unjudged is None:
            task = TASKS[self.task]
            force_setattr(self, "verdicts", msgspec.convert(self.verdicts, task.kept or task))

    @property
    def slot(self) -> Slot:
        """Where it is looked up."""
        return Slot(self.judge, self.task, self.key, self.repeat)


class Known(Protocol):
    """Where verdicts are looked up: a store, or a dict of what a file holds."""

    def get(self, slot: Slot, /) -> Record | None: ...  # noqa: D102


class Keeper(Known, Protocol):
    """A store of verdicts while a judge works."""

    def put(self, *records: Record) -> None: ...  # noqa: D102
