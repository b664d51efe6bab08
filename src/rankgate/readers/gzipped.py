"""What is compressed, and how far it may unpack: a few kilobytes could fill the memory."""

from __future__ import annotations

import gzip
import io
import zlib

from rankgate.errors import bad_input

MAX_EXPANSION = 200  # what is compressed may unpack to so many times the bytes that were read of it,
_ANY_EXPANSION = 1 << 24  # and to so many bytes in any case


def refuse_expansion(unpacked: int, packed: int, name: str) -> None:
    """Refuse a file of which `packed` bytes have become too many."""
    if unpacked > max(_ANY_EXPANSION, MAX_EXPANSION * packed):
        what = f"unpacks to more than {MAX_EXPANSION} times its size, the limit for compressed inputs"
        raise bad_input(f"{what}; if it is meant to, unpack it and name the file without compression", file=name)


class Unzipped(gzip.GzipFile):
    """What a gzip stream holds, as far as it keeps within `MAX_EXPANSION`."""

    def __init__(self, packed: io.BufferedIOBase, name: str) -> None:
        self._packed, self._called = packed, name
        super().__init__(fileobj=packed, mode="rb")

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes; a RankgateError where they are damaged, or as `refuse_expansion` says."""
        try:
            data = super().read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise bad_input(f"damaged gzip data: {error}", file=self._called) from error
        refuse_expansion(self.tell(), self._packed.tell(), self._called)
        return data
