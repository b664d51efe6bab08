"""Any run file as a baseline: nothing was cut, nothing was accepted; it is simply the other side."""

from __future__ import annotations

import msgspec

from rankgate.baselines.base import Where
from rankgate.model import Need
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run
from rankgate.readers.mapping import FieldMap
from rankgate.redaction import redacted


class RunFileStore(msgspec.Struct, frozen=True):
    """A run file of any known format, or of a shape that a map describes."""

    path: str
    format: str | None = None
    map: FieldMap | None = None

    @property
    def spec(self) -> str:
        """The file's path."""
        return redacted(self.path)

    @property
    def memory(self) -> None:
        """None: a run remembers nothing."""
        return

    def open(self, needs: frozenset[Need], *, deepest: int = 0, where: Where | None = None) -> Run:
        """The run; its lists are whole, so that any cut-off can be read.

        Raises:
            RankgateError: unreadable or of no known format.
        """
        del deepest, where
        return read_run(self.path, self.format, needs=needs, map=self.map)
