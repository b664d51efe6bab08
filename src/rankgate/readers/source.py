"""Where bytes come from: a file, a gzipped file, or standard input; with a peek at the head for format detection."""

from __future__ import annotations

import glob
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rankgate.errors import RankgateError, bad_input, redacted, shown

STDIN = "-"
_HEAD = 1 << 18
_MANY = 10_000  # names to look through
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
MAGIC = b"PAR1"  # of Parquet
# What `--baseline` takes beside a run file, as messages and help name it.
STORES = "a directory, git+branch:NAME, file://…, s3://… and other addresses"
# `scheme:`, of more than one letter, so that a drive of Windows is none.
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class FileMark(msgspec.Struct, frozen=True):
    """A regular file that is not compressed, as it was when it was opened; `start` lies behind a byte order mark."""

    name: str
    path: str
    device: int
    inode: int
    size: int
    start: int


class Source(msgspec.Struct, frozen=True):
    """An open input: the name for messages, the uncompressed bytes, and their beginning.

    `file` is there for a regular file that is not compressed; `share_read` says how much of a file has been read, from
    0 to 1, where its size is known. `spread` is the folder, pattern or address of the Parquet files that stand for it.
    """

    name: str
    stream: BinaryIO
    head: bytes
    file: FileMark | None = None
    share_read: Callable[[], float] | None = None
    spread: str = ""

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines that are not blank, as bytes."""
        for number, line in enumerate(self.stream, start=1):
            if not line.isspace():
                yield number, line

    def text(self, most: int | None = None, hint: str = "") -> str:
        """The input as text; a RankgateError, with a hint, where it has more than `most` bytes, or is not UTF-8."""
        data = self.stream.read() if most is None else self.stream.read(most + 1)
        if most is not None and len(data) > most:
            raise bad_input(f"has more than {most:,} bytes; {hint}", file=self.name)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise bad_input(utf8_message(error), file=self.name, line=line) from error


def is_remote(spec: str) -> bool:
    """Whether a value names a store by a scheme and is no path: `git+branch:NAME`, `s3://…`."""
    ours = "://" in spec or spec.startswith("git+branch:")  # whatever file may have that name
    return bool(SCHEME.match(spec)) and (ours or not Path(spec).exists())


def is_spread(path: str) -> bool:
    """Whether a path names a folder, a pattern or an address, and no single file here."""
    return Path(path).is_dir() or has_wildcard(path) or ("://" in path and not os.path.lexists(path))


def has_wildcard(path: str) -> bool:
    """Whether a path is a pattern, and no name of a file or a folder here."""
    return any(sign in path for sign in "*?") and not os.path.lexists(path)


def parts_of(path: str) -> list[str]:
    """A path, and what lies below a folder, or below what fits a pattern, here."""
    tops = [path, *(glob.glob(path, recursive=True) if is_spread(path) else ())]  # noqa: PTH207
    return [*tops, *(str(each) for top in tops for each in Path(top).rglob("*"))]


def near_name(path: str) -> str:
    """`; did you mean 'runs/new.jsonl'?` for a file that lies beside one that is not there."""
    folder, name = os.path.split(path)
    try:
        beside = sorted({*os.listdir(folder or ".")} - {name})[:_MANY]  # noqa: PTH208 -- a link may lead nowhere
    except (OSError, ValueError):
        return ""
    import difflib  # noqa: PLC0415 -- paid only for a message

    wanted = Path(name)
    beside.sort(key=lambda each: Path(each).suffix == wanted.suffix)  # of one stem the file that ends alike counts
    stems = {Path(each).stem: each for each in beside}
    near = difflib.get_close_matches(wanted.stem, stems, n=1, cutoff=0.6)
    return f"; did you mean {shown(shown_path(os.path.join(folder, stems[near[0]])))}?" if near else ""  # noqa: PTH118


def shown_path(path: str) -> str:
    """A path for messages and reports: relative to the current directory where it lies within, else as given.

    Reports of one repository are then the same wherever it was checked out. Of an address nothing secret is left.
    """
    if "://" in path:  # of which a path would keep one slash
        return redacted(path)
    here = Path.cwd()
    given = Path(path)
    inside = given.relative_to(here) if given.is_absolute() and given.is_relative_to(here) else given
    return redacted(inside.as_posix())


def utf8_message(error: UnicodeDecodeError) -> str:
    """What is wrong with bytes that are not UTF-8."""
    return f"not UTF-8 (byte 0x{error.object[error.start]:02x}); save the file as UTF-8"


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of the stream."""

    def __init__(self, begun: bytes, rest: io.RawIOBase | io.BufferedIOBase) -> None:
        super().__init__()
        self.begun = memoryview(begun)
        self.rest = rest
        self.passed = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.passed

    def readinto(self, buffer: Any) -> int | None:
        if self.begun:
            count: int | None = min(len(self.begun), len(buffer))
            buffer[:count], self.begun = self.begun[:count], self.begun[count:]
        else:
            count = self.rest.readinto(buffer)
        self.passed += count or 0
        return count


def open_table(path: str) -> AbstractContextManager[Source]:
    """Open a path; where it names a folder, a pattern or an address, the Parquet files there as one source."""
    if is_spread(path):
        return nullcontext(Source(shown_path(path), io.BytesIO(), MAGIC, share_read=lambda: 0.0, spread=path))
    return open_source(path)


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a path, or `-` for standard input; gzip is recognised by its first bytes, a byte order mark is skipped.

    Raises:
        RankgateError: no such file, not a file, unreadable, empty, a damaged gzip stream, or a file that changes size
            while it is read.
    """
    name = "standard input" if path == STDIN else shown_path(path)
    try:
        with _open_bytes(path) as raw:
            start = b""
            while len(start) < len(GZIP) and (chunk := raw.read(_HEAD)):
                start += chunk
            mark = _mark(raw, name, path, BOM if start.startswith(BOM) else b"")
            content: Any = _Joined(start, raw)
            if start.startswith(GZIP):
                from rankgate.readers.gzipped import Unzipped  # noqa: PLC0415 -- paid only for gzipped input

                content = Unzipped(io.BufferedReader(content, _HEAD), name)
            begun = _beginning(content.read)
            wide = begun.startswith((b"\xff\xfe", b"\xfe\xff"))
            if wide or not begun.strip():
                raise bad_input("is text in UTF-16; save it as UTF-8" if wide else "the file is empty", file=name)
            stream = io.BufferedReader(_Joined(begun, content), _HEAD)
            file = None if start.startswith(GZIP) else mark
            try:
                yield Source(name, stream, begun, file, None if mark is None else partial(share_of, raw, mark.size))
            except RankgateError:
                _refuse_changed(raw, mark)  # half a line at the end of what was written so far is not the user's fault
                raise
            _refuse_changed(raw, mark)
    except FileNotFoundError as error:
        raise bad_input(f"no such file{near_name(path)}", file=name) from error
    except IsADirectoryError as error:
        raise bad_input("is a directory, not a file", file=name) from error
    except OSError as error:
        raise bad_input(f"cannot be read: {error.strerror or error}", file=name) from error


@contextmanager
def reopened(mark: FileMark) -> Iterator[io.FileIO | None]:
    """The file once more, at its start; None where another has taken its place, or it has changed its size.

    On leaving, a RankgateError where it has changed its size since.
    """
    try:
        raw = io.FileIO(mark.path)
    except OSError:
        yield None
        return
    with raw:
        now = os.fstat(raw.fileno())
        same = (now.st_dev, now.st_ino, now.st_size) == (mark.device, mark.inode, mark.size)
        raw.seek(mark.start)
        yield raw if same else None
        _refuse_changed(raw, mark if same else None)


def _mark(raw: io.FileIO, name: str, path: str, skipped: bytes) -> FileMark | None:
    now = os.fstat(raw.fileno())
    if not stat.S_ISREG(now.st_mode) or path == STDIN:
        return None
    return FileMark(name, path, now.st_dev, now.st_ino, now.st_size, len(skipped))


def _refuse_changed(raw: io.FileIO, mark: FileMark | None) -> None:
    """A RankgateError where the size is another: what was read meanwhile is neither the old run nor the new."""
    size = os.fstat(raw.fileno()).st_size
    if mark is not None and size != mark.size:
        what = f"the file changed from {mark.size} to {size} bytes while it was read"
        raise bad_input(f"{what}; try again once it is written", file=mark.name)


def share_of(raw: io.FileIO | io.BytesIO, size: int) -> float:
    """How much of a file has been read; all of it once it is closed."""
    try:
        return min(1.0, raw.tell() / size)
    except ValueError:
        return 1.0


def _beginning(read: Callable[[int], bytes | None]) -> bytes:
    """Two lines with content, or all there is; without a byte order mark.

    A pipe may give a byte at a time, so one look is not enough to tell the format.
    """
    chunks: list[bytes] = []
    size = 0
    lines = 0
    last = b""  # the line that has not ended; its beginning tells whether it has content
    while chunk := read(_HEAD):
        chunks.append(chunk)
        size += len(chunk)
        first, *others = chunk.split(b"\n")
        last = (last + first)[:_HEAD]
        for line in others:
            if last.strip() and not last.startswith(b"#"):
                lines += 1
            last = line
        if lines > 1 or (lines and others and size > _HEAD):
            break
    return b"".join(chunks).removeprefix(BOM)


def _open_bytes(path: str) -> io.FileIO:
    if "\0" in path:
        raise bad_input("no file can have this name", file=path)
    if path != STDIN:
        file = io.FileIO(path)
        if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and path != os.devnull:
            file.close()
            raise bad_input("is a device, not a file", file=path)  # of which some never end
        return file
    if sys.stdin is None or sys.stdin.closed:
        raise bad_input("is closed; there is nothing to read", file="standard input")
    return io.FileIO(sys.stdin.fileno(), closefd=False)
