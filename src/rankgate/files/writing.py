"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rankgate.errors import bad_input

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}  # what a file system without them answers
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}


def write_atomic(path: str | Path, data: str | bytes) -> None:
    """Write a complete file or nothing: a temporary file beside it, flushed to disk, then renamed over it.

    Missing parent directories are created. An existing file keeps its permissions. A link to a file is replaced, not
    followed, since a pull request may bring one that points anywhere. A pipe or a device is written to, and so are
    `/dev/stdout` and `/dev/stderr`, whatever they lead to. Then file and name are on the disk, also after a loss of
    power, as far as the platform and the file system can promise that.

    Raises:
        RankgateError: the place cannot be written.
    """
    target = Path(path)
    content = data.encode() if isinstance(data, str) else data
    with _named(target):
        if stream := _STREAMS.get(target.as_posix()):
            sys.stdout.flush()
            with os.fdopen(os.dup(stream), "wb") as file:
                file.write(content)
            return
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(content)
            return
        with _staged(target, content) as temporary:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            temporary.replace(target)
            _flush_names(target.parent)


def write_new(path: str | Path, data: bytes) -> bool:
    """Write a complete file where there is none, or nothing: two that try at once never mix, one of them succeeds.

    Missing parent directories are created. False where there is one already; it stays as it is. On a file system
    without hard links, of two that try at once the second may win: whoever calls this there holds a lock.

    Raises:
        RankgateError: the place cannot be written.
    """
    target = Path(path)
    with _named(target), _staged(target, data) as temporary:
        try:
            target.hardlink_to(temporary)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if target.exists():
                return False
            temporary.replace(target)
        _flush_names(target.parent)
    return True


def refuse_overwriting(outputs: Sequence[tuple[str, str]], inputs: Sequence[tuple[str, str]]) -> None:
    """No output is an input, lies in a directory that is one (also one that is not there yet), or is another output.

    A file is the same under any of its names: through links, hard links, other spellings, on a file system that ignores
    case, and as standard input. Pipes and devices may be named twice.

    Raises:
        RankgateError: names both, of the options that are given with the paths which they name.
    """
    for position, (option, output) in enumerate(outputs):
        for other, path in inputs:
            if _would_change(output, "/dev/stdin" if path == "-" else path.removeprefix("file://")):
                raise bad_input(f"{option} would write over what {other} names ({path}); name another", file=output)
        for other, path in outputs[:position]:
            if _would_change(output, path):
                raise bad_input(f"{option} and {other} name the same file; name another for one of them", file=output)


def _would_change(output: str, path: str) -> bool:
    target, other = Path(output), Path(path)
    with suppress(OSError, RuntimeError, ValueError):  # of names that no file can have: said where it is opened
        if output not in _STREAMS and (not target.exists() or target.is_file() or target.is_dir()):
            places = [target.resolve(), *(() if other.is_file() else target.resolve().parents)]
            return other.resolve() in places or any(map(other.samefile, filter(Path.exists, places)))
    return False


def make_directories(path: Path) -> None:
    """Make a directory and those above it that are missing, their names on the disk as well, or raise an OSError."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in missing:
        _flush_names(each.parent)


def _flush_names(directory: Path) -> None:
    with suppress(OSError):  # Windows opens no directory, and some file systems flush none
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _staged(target: Path, data: bytes) -> Iterator[Path]:
    """A temporary file beside the target, whole and on the disk; afterwards it is gone."""
    make_directories(target.parent)
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.umask(mask := os.umask(0))
        temporary.chmod(0o666 & ~mask)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _named(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise bad_input(f"cannot be written: {error.strerror or error}", file=target.as_posix()) from error


@contextmanager
def readable_twice(path: str) -> Iterator[str]:
    """The path, or for `-` a temporary copy of standard input, which lives as long as the context is open."""
    if path != "-":
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="run-", suffix=".tmp") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield file.name
