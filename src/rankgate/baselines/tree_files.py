"""What a tree of files offers to the memory that lies in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol


class Tree(Protocol):
    """A few files that change together."""

    @property
    def spec(self) -> str:
        """How users name this place after `--baseline`."""

    def read(self, name: str) -> bytes | None:
        """A file as the tree had it when it was last refreshed; None where there is none.

        Raises:
            RankgateError: it cannot be read.
        """

    def tail(self, name: str, size: int) -> bytes:
        """The last bytes of a file, all of it where it has no more; nothing where there is none.

        Raises:
            RankgateError: it cannot be read.
        """

    def names(self) -> list[str]:
        """The names of all files.

        Raises:
            RankgateError: the place cannot be reached.
        """

    def commit(self, writes: Mapping[str, bytes], deletes: Collection[str], message: str) -> bool:
        """Write and delete files in one step; a deleted file may be absent.

        Returns:
            False where somebody else changed the tree since it was read: nothing was written.

        Raises:
            RankgateError: the place cannot be written.
        """

    def still(self) -> AbstractContextManager[None]:
        """Nobody writes while this is open, where the place can promise that; reading sees what is whole."""

    def refresh(self) -> None:
        """Look at the tree anew."""
