"""An untrusted zip archive: its list of entries, read to the letter, and one entry unpacked within a limit.

What unpacks archives for people forgives much: bytes before and after, lists that disagree with the entries, names cut
at a NUL. Two readers of such an archive can see different files in it, so this one knows one way to write an archive,
that of the common tools, and refuses all others.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

_END = struct.Struct("<4s4H2LH")
_LISTED = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000  # data, strongly, and the list itself
_DESCRIBED = 0x0008  # checksum and sizes also stand behind the data, since they were not known before
_DESCRIPTIONS = (12, 16)  # bytes, without and with a signature
_UTF_8 = 0x0800
_HUGE = 0xFFFFFFFF
_SIZES_EXTRA, _NAME_EXTRA = 0x0001, 0x7075
_FOLDER = 0x10
_KIND, _PLAIN_KIND, _FOLDER_KIND = 0o170000, 0o100000, 0o040000


class ArchiveError(ValueError):
    """What is wrong with an archive, as a sentence without its end; nothing that stands in the archive is repeated."""


class Entry(msgspec.Struct, frozen=True):
    """An entry as the list at the end of the archive has it; the sizes, in bytes, are what it claims.

    A folder's name ends with a slash. `data_start` is where its packed bytes begin.
    """

    name: str
    start: int
    data_start: int
    flags: int
    method: int
    checksum: int
    packed: int
    unpacked: int


def entries_of(data: bytes, most: int) -> list[Entry]:
    """The entries of an archive, at most so many, in the order of its list.

    An ArchiveError where it is no zip archive from its first byte to its last, or has two entries of one name, or one
    that is encrypted, packed in another way than zip's usual two, no plain file or folder, or named by a path that
    leads out.
    """
    end = len(data) - _END.size
    if end < 0 or data[end : end + 4] != b"PK\5\6":
        raise ArchiveError("it is no zip archive, or is cut short, or more stands behind its end")
    _, disk, list_disk, on_disk, count, size, start, comment = _END.unpack_from(data, end)
    if disk or list_disk or on_disk != count or comment:
        raise ArchiveError("it is a part of several, or its end is damaged")
    if count > most:
        raise ArchiveError(f"it has more than {most} entries")
    if start + size != end:
        raise ArchiveError("more stands in it than its entries, or it is in the form for huge archives")
    entries = list(_listed(data, start, count))
    if len({entry.name for entry in entries}) != count:
        raise ArchiveError("two of its entries have the same name")
    _refuse_gaps(entries, start)
    return entries


def content_of(data: bytes, entry: Entry, limit: int) -> bytes:
    """The bytes of an entry; of a larger one, no more than `limit` are ever unpacked: an ArchiveError, as damage is."""
    room = min(limit, entry.unpacked)
    packed = memoryview(data)[entry.data_start : entry.data_start + entry.packed]  # a copy would be as large again
    if entry.method == _STORED:
        content = bytes(packed)
    else:
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = stream.decompress(packed, room + 1)
        except zlib.error as error:
            raise ArchiveError("an entry of it is damaged") from error
        if len(content) <= room and (not stream.eof or stream.unused_data):
            raise ArchiveError("an entry of it is damaged")
    if len(content) != entry.unpacked or len(content) > limit:
        raise ArchiveError("an entry of it is larger or smaller than it claims")
    if zlib.crc32(content) != entry.checksum:
        raise ArchiveError("an entry of it is damaged")
    return content


def _listed(data: bytes, start: int, count: int) -> Iterator[Entry]:
    """The entries of the list, which must fill it."""
    end = len(data) - _END.size
    for _ in range(count):
        if start + _LISTED.size > end or data[start : start + 4] != b"PK\1\2":
            raise ArchiveError("its list of entries is damaged")
        fields = _LISTED.unpack_from(data, start)
        flags, method, checksum, packed, unpacked = fields[3], fields[4], *fields[7:10]
        name_length, extra_length, comment_length, disk, _, attributes, offset = fields[10:]
        name_start = start + _LISTED.size
        extra_start = name_start + name_length
        name, extra = data[name_start:extra_start], data[extra_start : extra_start + extra_length]
        start = extra_start + extra_length + comment_length
        if start > end:
            raise ArchiveError("its list of entries is damaged")
        if flags & _ENCRYPTED:
            raise ArchiveError("an entry of it is encrypted")
        if method not in {_STORED, _DEFLATED}:
            raise ArchiveError("an entry of it is packed in a way that is not read")
        if disk or _HUGE in {packed, unpacked, offset}:
            raise ArchiveError("an entry of it is in the form for huge archives")
        _refuse_extra(extra)
        entry = Entry(_name(name, flags), offset, 0, flags, method, checksum, packed, unpacked)
        _refuse_kind(entry, attributes)
        yield msgspec.structs.replace(entry, data_start=_data_start(data, entry, name))
    if start != end:
        raise ArchiveError("its list of entries is damaged")


def _name(raw: bytes, flags: int) -> str:
    try:
        name = raw.decode("utf-8" if flags & _UTF_8 else "ascii")
    except UnicodeDecodeError as error:
        raise ArchiveError("an entry of it has a name that is not UTF-8") from error
    parts = name.removesuffix("/").split("/")
    if {"", ".", ".."} & set(parts) or not name.isprintable() or "\\" in name or ":" in parts[0]:
        raise ArchiveError("an entry of it has a path that leads out of the archive, or no name of a file")
    return name


def _refuse_extra(extra: bytes) -> None:
    """Fields that would give an entry other sizes or another name than the list has."""
    while extra:
        kind, length = struct.unpack_from("<2H", extra) if len(extra) > 3 else (0, len(extra))  # noqa: PLR2004
        if length + 4 > len(extra):
            raise ArchiveError("its list of entries is damaged")
        if kind in {_SIZES_EXTRA, _NAME_EXTRA}:
            raise ArchiveError("an entry of it has a second name or second sizes")
        extra = extra[length + 4 :]


def _refuse_kind(entry: Entry, attributes: int) -> None:
    """Links, devices and the like; and folders that are none by their name."""
    kind = attributes >> 16 & _KIND
    folder = entry.name.endswith("/")
    if kind not in {0, _FOLDER_KIND if folder else _PLAIN_KIND} or (attributes & _FOLDER and not folder):
        raise ArchiveError("an entry of it is a link or no plain file")


def _data_start(data: bytes, entry: Entry, name: bytes) -> int:
    """Where the data of an entry begins, behind a header that says the same as the list."""
    if data[entry.start : entry.start + 4] != b"PK\3\4" or entry.start + _LOCAL.size > len(data):
        raise ArchiveError("its list names an entry where there is none")
    _, _, flags, method, _, _, *sizes, name_length, extra_length = _LOCAL.unpack_from(data, entry.start)
    later = bool(flags & _DESCRIBED) and not any(sizes)
    known = [entry.checksum, entry.packed, entry.unpacked]
    name_start = entry.start + _LOCAL.size
    own_name = data[name_start : name_start + name_length]
    if (flags, method, own_name) != (entry.flags, entry.method, name) or not (later or sizes == known):
        raise ArchiveError("an entry of it says something else than its list")
    start: int = name_start + name_length + extra_length
    return start


def _refuse_gaps(entries: Sequence[Entry], end: int) -> None:
    """The entries must follow each other from the first byte to the list, none within another."""
    ordered = sorted(entries, key=lambda entry: entry.start)
    starts = [*(entry.start for entry in ordered), end]
    if starts[0] != 0:
        raise ArchiveError("more stands in it than its entries")
    for entry, (_, following) in zip(ordered, pairwise(starts), strict=True):
        gap = following - entry.data_start - entry.packed
        if gap != 0 and not (entry.flags & _DESCRIBED and gap in _DESCRIPTIONS):
            raise ArchiveError("more stands in it than its entries, or one lies within another")
