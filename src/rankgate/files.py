"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankgate.errors import bad_input


def write_atomic(path: str | Path, data: str | bytes) -> None:
    """Write a whole file or nothing: a temporary file beside it, flushed to disk, then renamed over it.

    Missing parent directories are made. An existing file keeps its permissions. A link to a file is replaced, not
    followed, since a pull request may bring one that points anywhere. A pipe or a device is written to.

    Raises:
        RankgateError: the place cannot be written.
    """
    target = Path(path)
    content = data.encode() if isinstance(data, str) else data
    with _named(target):
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(content)
            return
        with _staged(target, content) as temporary:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            temporary.replace(target)


def write_new(path: str | Path, data: bytes) -> bool:
    """Write a whole file where there is none, or nothing: two that try at once never mix, and one of them succeeds.

    Missing parent directories are made.

    Returns:
        False where there is one already; it stays as it is.

    Raises:
        RankgateError: the place cannot be written.
    """
    target = Path(path)
    with _named(target), _staged(target, data) as temporary:
        try:
            target.hardlink_to(temporary)
        except FileExistsError:
            return False
    return True


@contextmanager
def _staged(target: Path, data: bytes) -> Iterator[Path]:
    """A temporary file beside the target, whole and on the disk; afterwards it is gone."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
