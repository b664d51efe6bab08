"""The partial file: what an interrupted recording has so far, and what it belongs to.

Its first line names the gold set, the questions, the retriever and the provenance; then follow run lines in the order
in which the answers came. Each is appended whole, so that a killed process leaves at most one torn line, the last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from rankgate.collecting.code_state import PARTIAL
from rankgate.collecting.lines import Key, Line, encoded, read_back
from rankgate.errors import RankgateError, bad_input, redacted
from rankgate.files.writing import write_atomic

_MARK = "rankgate_partial"
_VERSION = 1


class PartialRun:
    """Lines by question, each on disk as soon as it is added. Used as a context manager, which keeps the file open.

    `notice` is one sentence for the user where an earlier recording is resumed, or cannot be; else None.
    """

    def __init__(
        self,
        run: Path,
        binding: Mapping[str, Any],
        questions: Collection[Key],
        *,
        name: str,
        restart: bool = False,
        refused: str | None = None,
    ) -> None:
        """Take over what an earlier recording left, unless it belongs to something else or `restart` is set.

        What it belongs to is in `binding`, each under the words for it, as `gold set`. Messages call the run by `name`.
        What is `refused`, for this reason, is deleted before anything is read.
        A RankgateError where the file cannot be read or written.
        """
        self.path = run.with_name(run.name + PARTIAL)
        self.name = redacted(name + PARTIAL)
        self.lines: dict[Key, Line] = {}
        self.notice: str | None = None
        header = encoded({_MARK: _VERSION, **binding})
        if refused and not restart and os.path.lexists(self.path):
            self.notice = f"{self.name} {refused}; starting over"
        if restart or refused:
            self._delete()
        self._take_over(json.loads(header), questions)
        write_atomic(self.path, header + b"".join(line.data for line in self.lines.values()))

    def add(self, line: Line) -> None:
        """Keep a line; a RankgateError where it cannot be written: what was kept before stays."""
        try:
            self._file.write(line.data)
            self._file.flush()
        except OSError as error:
            raise self._refused("written", error) from error
        self.lines[line.key] = line

    def kept(self) -> int:
        """How many lines the file holds, which is one more than `lines` where an interrupt came between the two."""
        with suppress(OSError):  # the retriever may have moved it away
            self._file.flush()
            return self.path.read_bytes().count(b"\n") - 1
        return 0

    def remove(self) -> None:
        """Delete the file, when the run is written or there is nothing to keep."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _delete(self) -> None:
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise self._refused("deleted", error) from error

    def _take_over(self, wanted: Mapping[str, Any], questions: Collection[Key]) -> None:
        try:
            # What follows the last newline is a torn line, or nothing.
            first, *rest = self.path.read_bytes().split(b"\n")[:-1] or [b""]
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._refused("read", error) from error
        other = _differences(first, wanted)
        if other:
            self.notice = f"{self.name} is {other}; starting over"
            self._delete()
            return
        for data in rest:
            with suppress(ValueError):
                line = read_back(data + b"\n")
                if line.key in questions:
                    self.lines[line.key] = line
        if self.lines:
            count = f"{len(self.lines)} of {len(questions)} questions are recorded already and not asked again"
            hint = f"if the retriever has changed since, remove {self.name} to begin again (restart=True in Python)"
            self.notice = f"resuming {self.name}: {count}; {hint}"

    def _refused(self, what: str, error: OSError) -> RankgateError:
        return bad_input(f"cannot be {what}: {error.strerror or error}", file=self.name)

    def __enter__(self) -> Self:
        try:
            self._file: BinaryIO = self.path.open("ab")
        except OSError as error:
            raise self._refused("written", error) from error
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # every line was flushed, and its failure raised, when it was added
            self._file.close()


def _differences(first: bytes, wanted: Mapping[str, Any]) -> str:
    """What a header line belongs to instead of what is wanted; nothing where it fits."""
    try:
        header = json.loads(first)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get(_MARK) != _VERSION:
        return "damaged or of another version of rankgate"
    other = [key for key, value in wanted.items() if _canonical(header.get(key)) != _canonical(value)]
    return f"of another {' and another '.join(other)}" if other else ""


def _canonical(value: object) -> str:
    """One text a value, whatever the order of keys; `1`, `1.0` and `true` differ."""
    return json.dumps(value, sort_keys=True)
