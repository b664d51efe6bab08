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
    temporary = ""
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(content)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        raise bad_input(f"cannot be written: {error.strerror or error}", file=target.as_posix()) from error
    finally:
        Path(temporary).unlink(missing_ok=True) if temporary else None


def write_new(path: str | Path, data: bytes) -> bool:
    """Write a whole file where there is none, or nothing: two that try at once never mix, and one of them succeeds.

    Missing parent directories are made.

    Returns:
        False where there is one already; it stays as it is.

    Raises:
        RankgateError: the place cannot be written.
    """
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        target.hardlink_to(temporary)
    except FileExistsError:
        return False
    except OSError as error:
        raise bad_input(f"cannot be written: {error.strerror or error}", file=target.as_posix()) from error
    finally:
        Path(temporary).unlink(missing_ok=True) if temporary else None
    return True


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
