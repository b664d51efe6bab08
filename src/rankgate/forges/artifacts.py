"""The artifact that a workflow run left behind: found, fetched, and one file of it read, all as untrusted data.

It is a zip archive, read by zipfile within limits, and only where every byte of it is accounted for. zipfile forgives
much: bytes before and after, parts of several, a list that disagrees with the entries. Such an archive is refused, so
that nothing lies in one that another reader would take for the run.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import Annotated

import msgspec

from rankgate.errors import bad_input
from rankgate.forges.client import Client
from rankgate.readers.json_text import spoken

MEMBER = "run.jsonl"  # what the action calls a run in its artifact
GOLD = "gold"  # and a gold set that the job made

_END = struct.Struct("<4s4H2LH")
_HEADER = struct.Struct("<4s5H3L2H")
_HUGE = b"PK\6\7"  # stands before the end of an archive in the form for huge ones
_LIST_ENTRY_BYTES = 1_000  # an entry of the list takes a tenth of that
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000  # data, strongly, and the list itself
_SIZES_FOLLOW = 0x0008  # checksum and sizes also stand behind the data
_KIND = 0o170000
_PLAIN_FILE = 0o100000
_FOLDER = 0o040000
_UNREADABLE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OSError, ValueError, OverflowError)


class Limits(msgspec.Struct, frozen=True):
    """What an artifact may be at most: bytes packed and unpacked, entries, and how many times larger one unpacks.

    A run of rankings unpacks to about ten times its size.
    """

    packed: int = 100_000_000
    entries: int = 100
    unpacked: int = 256_000_000
    ratio: int = 200


LIMITS = Limits()


class _Artifact(msgspec.Struct, frozen=True):
    id: Annotated[int, msgspec.Meta(ge=1)]
    name: str
    size_in_bytes: Annotated[int, msgspec.Meta(ge=0)]
    expired: bool


def download_artifact(client: Client, repository: str, run_id: int, name: str, *, limits: Limits = LIMITS) -> bytes:
    """The zip archive of a workflow run's newest artifact of a name; each attempt of a run leaves its own."""
    path = f"/repos/{repository}/actions/runs/{run_id}/artifacts"
    every = map(_artifact, client.pages(path, {"name": name}, under="artifacts"))
    newest = max((each for each in every if each.name == name), key=lambda each: each.id, default=None)
    if newest is None:
        message = f"run {run_id} left no artifact of this name; look into its log whether the gate got as far as that"
        raise bad_input(message, key=name)
    if newest.expired:
        raise bad_input(f"the artifact of run {run_id} has expired; run the workflow again", key=name)
    if newest.size_in_bytes > limits.packed:
        message = f"the artifact of run {run_id} has {newest.size_in_bytes:,} bytes, allowed are {limits.packed:,}"
        raise bad_input(message, key=name)
    return client.download(f"/repos/{repository}/actions/artifacts/{newest.id}/zip", limits.packed)


def read_member(data: bytes, name: str, *, limits: Limits = LIMITS, optional: bool = False) -> bytes:
    """One file of an artifact, unpacked in memory; nothing is written anywhere. An `optional` one may be absent: empty.

    The archive is refused if it is larger than allowed, or no plain zip archive from its first byte to its last.
    Nothing that stands in it is repeated.
    """
    try:
        content = _member(data, name, limits)
        if content is None and not optional:
            raise ArchiveError("it has no file of that name")
    except ArchiveError as error:
        raise bad_input(f"the artifact is not read: {error}", key=name) from error
    return content or b""


def _artifact(item: object) -> _Artifact:
    try:
        return msgspec.convert(item, _Artifact)
    except msgspec.ValidationError as error:
        raise bad_input(f"GitHub lists an artifact that is none: {spoken(error)}", key="artifacts") from error


class ArchiveError(ValueError):
    """What is wrong with an archive, as a sentence without its end; nothing that stands in the archive is repeated."""


def _member(data: bytes, name: str, limits: Limits) -> bytes | None:
    """The bytes of one file, no more than the archive says and the limits allow; None where there is no such file."""
    if len(data) > limits.packed:
        raise ArchiveError(f"it has more than {limits.packed:,} bytes")
    _refuse_end(data, limits)
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) != _END.unpack_from(data, len(data) - _END.size)[4]:
                raise ArchiveError("it is a part of several, or its end is damaged")
            _refuse_entries(entries, name, limits)
            _refuse_gaps(data, entries, archive.start_dir)
            entry = archive.NameToInfo.get(name)
            if entry is None:
                return None
            with archive.open(entry) as file:
                content = file.read(entry.file_size)
    except ArchiveError:
        raise
    except _UNREADABLE as error:
        raise ArchiveError("it is damaged") from error
    if len(content) != entry.file_size:
        raise ArchiveError("an entry of it is smaller than it claims")
    return content


def _refuse_end(data: bytes, limits: Limits) -> None:
    """An end that is not that of a plain archive, and a list that is too long to read."""
    end = len(data) - _END.size
    if end < 0 or data[end : end + 4] != b"PK\5\6":
        raise ArchiveError("it is no zip archive, or is cut short, or more stands behind its end")
    _, disk, list_disk, on_disk, count, size, start, comment = _END.unpack_from(data, end)
    if disk or list_disk or on_disk != count or comment:
        raise ArchiveError("it is a part of several, or its end is damaged")
    if count > limits.entries or size > limits.entries * _LIST_ENTRY_BYTES:
        raise ArchiveError(f"it has more than {limits.entries} entries")
    if start + size != end or data[end - 20 : end - 16] == _HUGE:
        raise ArchiveError("more stands in it than its entries, or it is in the form for huge archives")


def _refuse_entries(entries: Sequence[zipfile.ZipInfo], name: str, limits: Limits) -> None:
    """Entries that are not plain files and folders with a name of their own, and sizes beyond the limits."""
    if len({entry.filename for entry in entries}) != len(entries):
        raise ArchiveError("two of its entries have the same name")
    for entry in entries:
        parts = entry.filename.removesuffix("/").split("/")
        plain = entry.orig_filename == entry.filename and entry.filename.isprintable()
        if not plain or {"", ".", ".."} & set(parts) or "\\" in entry.filename or ":" in parts[0]:
            raise ArchiveError("an entry of it has a path that leads out of the archive, or no name of a file")
        if entry.flag_bits & _ENCRYPTED:
            raise ArchiveError("an entry of it is encrypted")
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or entry.volume:
            raise ArchiveError("an entry of it is packed in a way that is not read")
        if entry.external_attr >> 16 & _KIND not in {0, _FOLDER if entry.is_dir() else _PLAIN_FILE}:
            raise ArchiveError("an entry of it is a link or no plain file")
        if entry.file_size > limits.ratio * entry.compress_size:
            raise ArchiveError(f"an entry of it claims to unpack to more than {limits.ratio} times its size")
    if sum(entry.file_size for entry in entries) > limits.unpacked:
        raise ArchiveError(f"it claims to unpack to more than {limits.unpacked:,} bytes")
    if any(entry.filename == f"{name}/" for entry in entries):
        raise ArchiveError("it has a folder of that name")


def _refuse_gaps(data: bytes, entries: Sequence[zipfile.ZipInfo], list_start: int) -> None:
    """The entries must follow each other from the first byte to the list, each with a header that says the same."""
    position = 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        if entry.header_offset != position:
            raise ArchiveError("more stands in it than its entries, or one lies within another")
        _, _, flags, method, _, _, *sizes, name_length, extra_length = _HEADER.unpack_from(data, position)
        follow = flags & _SIZES_FOLLOW and not any(sizes)
        listed = [entry.CRC, entry.compress_size, entry.file_size]
        if (flags, method) != (entry.flag_bits, entry.compress_type) or not (follow or sizes == listed):
            raise ArchiveError("an entry of it says something else than its list")
        position += _HEADER.size + name_length + extra_length + entry.compress_size
        if flags & _SIZES_FOLLOW:
            position += 16 if data[position : position + 4] == b"PK\7\x08" else 12
    if position != list_start:
        raise ArchiveError("more stands in it than its entries, or one lies within another")
