"""Objects as files below a directory: `file://` needs no package, and is as strict as an object store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rankgate.errors import bad_input, redacted
from rankgate.files.writing import write_atomic, write_new

SCHEME = "file://"


class LocalObjects:
    """Objects below an absolute path; a name with a dot at its front is a file that is still being written."""

    def __init__(self, url: str) -> None:
        """Nothing is read or made yet.

        Raises:
            RankgateError: the path is not absolute.
        """
        path = url.removeprefix(SCHEME)
        if not path.startswith("/"):
            raise bad_input("a file:// address has an absolute path, as file:///srv/baseline", file=url)
        self.spec = redacted(url).rstrip("/")
        self._root = Path(path)

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, also of those that are still being written."""
        with self._named(folder, "read"), suppress(FileNotFoundError):
            return [file.name for file in (self._root / folder).iterdir()]
        return []

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """The bytes of files; those that are not there are left out."""
        found: dict[str, bytes] = {}
        for name in names:
            with self._named(name, "read"), suppress(FileNotFoundError):
                found[name] = (self._root / name).read_bytes()
        return found

    def holds(self, name: str) -> bool:
        """Whether there is such a file."""
        return self.modified(name) is not None

    def create(self, name: str, data: bytes) -> bool:
        """Make a file, whole or not at all; False where there is one with other bytes."""
        return write_new(self._root / name, data) or self.read([name]).get(name) == data

    def replace(self, name: str, data: bytes) -> None:
        """Make a file, or put another in its place."""
        write_atomic(self._root / name, data)

    def delete(self, name: str) -> None:
        """Take a file away, if it is there."""
        with self._named(name, "deleted"):
            (self._root / name).unlink(missing_ok=True)

    def modified(self, name: str) -> float | None:
        """When a file was written, by the file system's clock; None where there is none."""
        with self._named(name, "read"), suppress(FileNotFoundError):
            return (self._root / name).stat().st_mtime
        return None

    @contextmanager
    def _named(self, name: str, what: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise bad_input(f"cannot be {what}: {error.strerror or error}", file=f"{self.spec}/{name}") from error
