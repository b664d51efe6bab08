"""Where bytes come from: a file, a gzipped file, or standard input; with a peek at the head for format detection."""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rankgate.errors import bad_input

STDIN = "-"
_HEAD = 1 << 18
_BOM = b"\xef\xbb\xbf"


class Source(msgspec.Struct, frozen=True):
    """An open input: the name for messages, the uncompressed bytes, and their beginning."""

    name: str
    stream: BinaryIO
    head: bytes

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines that are not blank, as bytes."""
        for number, line in enumerate(self.stream, start=1):
            if not line.isspace():
                yield number, line

    def text(self) -> str:
        """The whole input as text.

        Raises:
            RankgateError: it is not UTF-8.
        """
        data = self.stream.read()
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(error, self.name, line=data.count(b"\n", 0, error.start) + 1) from error


def not_utf8(error: UnicodeDecodeError, name: str, line: int) -> Exception:
    """The error for bytes that are not UTF-8."""
    byte = error.object[error.start]
    return bad_input(f"not UTF-8 (byte 0x{byte:02x}); save the file as UTF-8", file=name, line=line)


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a path, or `-` for standard input; gzip is recognised by its first bytes, a byte order mark is skipped.

    Raises:
        RankgateError: no such file, not a file, unreadable, empty, or a damaged gzip stream.
    """
    name = "standard input" if path == STDIN else Path(path).as_posix()
    try:
        with _open_bytes(path) as raw:
            stream: io.BufferedReader[Any] = io.BufferedReader(raw, _HEAD)
            if stream.peek(2)[:2] == b"\x1f\x8b":
                import gzip  # noqa: PLC0415 -- paid only for gzipped input

                stream = io.BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), _HEAD)
            if stream.peek(3)[:3] == _BOM:
                stream.read(3)
            head = stream.peek(_HEAD)
            if not head.strip():
                raise bad_input("the file is empty", file=name)
            yield Source(name, stream, head)
    except FileNotFoundError as error:
        raise bad_input("no such file", file=name) from error
    except IsADirectoryError as error:
        raise bad_input("is a directory, not a file", file=name) from error
    except (EOFError, zlib.error) as error:
        raise bad_input(f"damaged gzip data: {error}", file=name) from error
    except OSError as error:  # gzip.BadGzipFile is one
        raise bad_input(f"cannot be read: {error.strerror or error}", file=name) from error


def _open_bytes(path: str) -> io.FileIO:
    return io.FileIO(sys.stdin.fileno(), closefd=False) if path == STDIN else io.FileIO(path)
