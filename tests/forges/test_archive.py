"""Untrusted archives: what the usual tools write is read, anything else is one sentence, and quickly."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.errors import RankgateError
from rankgate.forges.artifacts import LIMITS, Limits, read_member

RUN = b'{"query_id": "q1", "retrieved": ["doc-1", "doc-2"]}\n' * 20
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]


class Pipe(io.BytesIO):
    """A stream that cannot go back, as the one that the upload action writes to: sizes then stand behind the data."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: object) -> int:
        raise OSError

    def tell(self) -> int:
        raise OSError


def entry(name: str, *, kind: int = 0o100644, system: int = 3) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = kind << 16
    info.create_system = system
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def zipped(
    *members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> bytes:
    """An archive as Python writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name if isinstance(name, zipfile.ZipInfo) else entry(name), content, method)
        archive.comment = comment
    return file.getvalue()


GOOD = zipped(("report.json", b"{}"), ("run.jsonl", RUN))


def renamed(archive: bytes, old: bytes, new: bytes) -> bytes:
    """The archive with a name of the same length written over another, in the entry and in the list."""
    assert len(old) == len(new)
    assert archive.count(old) == 2
    return archive.replace(old, new)


def listed(archive: bytes, field: int, value: int, size: str = "<H", nth: int = 0) -> bytes:
    """The archive with another value at an offset of an entry in its list."""
    start = -1
    for _ in range(nth + 1):
        start = archive.index(b"PK\1\2", start + 1)
    changed = bytearray(archive)
    struct.pack_into(size, changed, start + field, value)
    return bytes(changed)


def local(archive: bytes, field: int, value: int, size: str = "<H") -> bytes:
    """The archive with another value at an offset of the first entry itself."""
    changed = bytearray(archive)
    struct.pack_into(size, changed, field, value)
    return bytes(changed)


def both(archive: bytes, in_list: int, in_entry: int, value: int, size: str = "<H") -> bytes:
    return local(listed(archive, in_list, value, size), in_entry, value, size)


def ended(archive: bytes, field: int, value: int, size: str = "<H") -> bytes:
    """The archive with another value at an offset of its end."""
    return local(archive, len(archive) - 22 + field, value, size)


def inserted(archive: bytes, at: int, more: bytes) -> bytes:
    """The archive with bytes before the list's place, and its end corrected so that the list is found."""
    start = struct.unpack_from("<L", archive, len(archive) - 6)[0]
    return ended(archive[:at] + more + archive[at:], 16, start + len(more), "<L")


def bomb(size: int) -> bytes:
    """A few kilobytes that unpack to `size` zeros."""
    return zipped(("run.jsonl", bytes(size)))


@pytest.mark.parametrize("method", METHODS, ids=["stored", "deflated"])
@pytest.mark.parametrize("name", ["run.jsonl", "out/run.jsonl", "résumé.jsonl", "a b.jsonl"])
def test_a_file_is_read(name: str, method: int) -> None:
    assert read_member(zipped(("first", b"x"), (name, RUN), ("last", b""), method=method), name) == RUN


@pytest.mark.parametrize("method", METHODS, ids=["stored", "deflated"])
def test_an_archive_that_was_streamed_is_read(method: int) -> None:
    data = streamed(method)
    assert b"PK\7\x08" in data
    assert read_member(data, "run.jsonl") == RUN
    assert read_member(data, "report.json") == b"{}"


def test_an_empty_file_and_one_beside_folders_are_read() -> None:
    folder = entry("out/", kind=0o040755)
    assert read_member(zipped((folder, b""), ("out/run.jsonl", b"")), "out/run.jsonl") == b""


def test_an_archive_of_another_system_is_read() -> None:
    assert read_member(zipped((entry("run.jsonl", kind=0, system=0), RUN)), "run.jsonl") == RUN


DAMAGED = "it is damaged"
PACKED = "an entry of it is packed in a way that is not read"
NO_ZIP = "it is no zip archive, or is cut short, or more stands behind its end"
LEADS_OUT = "an entry of it has a path that leads out of the archive, or no name of a file"
NO_FILE = "an entry of it is a link or no plain file"
PARTS = "it is a part of several, or its end is damaged"
MORE = "more stands in it than its entries, or one lies within another"
HUGE = "more stands in it than its entries, or it is in the form for huge archives"
ENCRYPTED = "an entry of it is encrypted"
DIFFERS = "an entry of it says something else than its list"
SMALLER = "an entry of it is smaller than it claims"
RATIO = "an entry of it claims to unpack to more than 200 times its size"
ONE = zipped(("run.jsonl", RUN))
STORED = zipped(("run.jsonl", RUN), method=zipfile.ZIP_STORED)


def with_extra(kind: int) -> bytes:
    info = entry("run.jsonl")
    info.extra = struct.pack("<2H4s", kind, 4, b"abcd")
    return zipped((info, RUN))


def streamed(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive as the upload action writes it: checksum and sizes stand behind each entry."""
    file = Pipe()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("report.json", b"{}")
        archive.writestr("run.jsonl", RUN)
    return file.getvalue()


def with_second_list() -> bytes:
    """The archive with the records of the huge form before its end, which say that another list counts."""
    start, size = struct.unpack_from("<L", GOOD, len(GOOD) - 6)[0], len(GOOD) - 22
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2, 2, size - start, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, size, 1)
    return ended(GOOD[:-22] + record + locator + GOOD[-22:], 12, size - start + 76, "<L")


@each_row(
    ("data", "sentence"),
    [
        pytest.param(
            inserted(streamed(), streamed().index(b"PK\1\2"), b"x"), MORE, id="hidden behind a streamed entry"
        ),
        pytest.param(with_second_list(), HUGE, id="a second list, of the huge form"),
        pytest.param(ended(GOOD, 12, 200_000, "<L"), "it has more than 100 entries", id="a list that is too long"),
        pytest.param(b"", NO_ZIP, id="nothing"),
        pytest.param(b"\x1f\x8b\x08" + bytes(90), NO_ZIP, id="not a zip"),
        pytest.param(b"<html>Not Found</html>" * 9, NO_ZIP, id="a page that says that there is none"),
        pytest.param(GOOD[:-1], NO_ZIP, id="cut by a byte"),
        pytest.param(GOOD[: len(GOOD) // 2], NO_ZIP, id="cut in half"),
        pytest.param(GOOD + b"\0", NO_ZIP, id="a byte behind its end"),
        pytest.param(
            GOOD + GOOD[-22:],
            HUGE,
            id="two ends",
        ),
        pytest.param(zipped(("run.jsonl", RUN), comment=b"hello"), NO_ZIP, id="a comment"),
        pytest.param(ended(GOOD, 20, 5), PARTS, id="a comment that is not there"),
        pytest.param(ended(GOOD, 4, 1), PARTS, id="the second of several"),
        pytest.param(ended(GOOD, 6, 1), PARTS, id="its list in another part"),
        pytest.param(ended(GOOD, 8, 1), PARTS, id="two counts"),
        pytest.param(
            b"#!/bin/sh\n" + GOOD,
            HUGE,
            id="a program before it",
        ),
        pytest.param(
            inserted(GOOD, 0, b"#!/bin/sh\n"),
            DIFFERS,
            id="a program before it, badly hidden",
        ),
        pytest.param(
            zipped(*((f"f{number}", b"") for number in range(101))),
            "it has more than 100 entries",
            id="too many entries",
        ),
        pytest.param(ended(ended(GOOD, 8, 3), 10, 3), PARTS, id="counts more than it has"),
        pytest.param(ended(ended(GOOD, 8, 1), 10, 1), PARTS, id="counts fewer than it has"),
        pytest.param(listed(GOOD, 28, 999), PARTS, id="a name that ends elsewhere"),
        pytest.param(listed(GOOD, 0, 0), DAMAGED, id="no entry where one should be"),
        pytest.param(listed(GOOD, 42, 1, "<L"), MORE, id="an entry elsewhere"),
        pytest.param(both(ONE, 8, 6, 0x0001), ENCRYPTED, id="encrypted"),
        pytest.param(both(ONE, 8, 6, 0x0041), ENCRYPTED, id="strongly encrypted"),
        pytest.param(both(ONE, 8, 6, 0x2000), ENCRYPTED, id="an encrypted list"),
        pytest.param(both(ONE, 10, 8, 12), PACKED, id="bzip2"),
        pytest.param(both(ONE, 10, 8, 99), PACKED, id="no method at all"),
        pytest.param(listed(ONE, 24, 0xFFFFFFFF, "<L"), RATIO, id="a size that stands elsewhere"),
        pytest.param(listed(ONE, 20, 0xFFFFFFFF, "<L"), DIFFERS, id="a packed size that stands elsewhere"),
        pytest.param(listed(ONE, 42, 0xFFFFFFFF, "<L"), MORE, id="a place that stands elsewhere"),
        pytest.param(listed(ONE, 34, 1), PACKED, id="an entry in another part"),
        pytest.param(listed(with_extra(0xCAFE), 46 + 9 + 2, 9), DAMAGED, id="a field that ends elsewhere"),
        pytest.param(zipped(("run.jsonl", RUN), ("/etc/passwd", b"")), LEADS_OUT, id="an absolute path"),
        pytest.param(zipped(("run.jsonl", RUN), ("../../evil", b"")), LEADS_OUT, id="a way up"),
        pytest.param(zipped(("run.jsonl", RUN), ("a/../b", b"")), LEADS_OUT, id="a way up and down"),
        pytest.param(zipped(("run.jsonl", RUN), ("a/..", b"")), LEADS_OUT, id="a way up at the end"),
        pytest.param(zipped(("run.jsonl", RUN), ("../", b"")), LEADS_OUT, id="a folder above"),
        pytest.param(zipped(("run.jsonl", RUN), ("./run.jsonl", b"")), LEADS_OUT, id="the same file by another path"),
        pytest.param(zipped(("run.jsonl", RUN), ("a//b", b"")), LEADS_OUT, id="an empty step"),
        pytest.param(zipped(("run.jsonl", RUN), ("/", b"")), LEADS_OUT, id="the root"),
        pytest.param(zipped(("run.jsonl", RUN), ("a\\..\\b", b"")), LEADS_OUT, id="backslashes"),
        pytest.param(zipped(("run.jsonl", RUN), ("C:evil", b"")), LEADS_OUT, id="a drive"),
        pytest.param(zipped(("run.jsonl", RUN), ("a\nb", b"")), LEADS_OUT, id="a line break"),
        pytest.param(zipped(("run.jsonl", RUN), ("a\u202eb", b"")), LEADS_OUT, id="a bidi character"),
        pytest.param(renamed(ONE, b"run.jsonl", b"run.jso\0l"), LEADS_OUT, id="NUL"),
        pytest.param(renamed(ONE, b"run.jsonl", b"run.\xffsonl"), LEADS_OUT, id="not UTF-8"),
        pytest.param(zipped((entry("run.jsonl", kind=0o120777), b"/etc/passwd")), NO_FILE, id="a link"),
        pytest.param(
            zipped((entry("run.jsonl", kind=0o120777, system=0), b"x")), NO_FILE, id="a link of another system"
        ),
        pytest.param(zipped((entry("run.jsonl", kind=0o020666), b"")), NO_FILE, id="a device"),
        pytest.param(zipped((entry("run.jsonl", kind=0o010666), b"")), NO_FILE, id="a pipe"),
        pytest.param(zipped((entry("run.jsonl", kind=0o040755), b"")), NO_FILE, id="a folder without a slash"),
        pytest.param(
            zipped((entry("run.jsonl/", kind=0o040755), b"")),
            "it has a folder of that name",
            id="a folder of that name",
        ),
        pytest.param(zipped(("report.json", b"{}")), "it has no file of that name", id="no such file"),
        pytest.param(zipped(("RUN.JSONL", RUN)), "it has no file of that name", id="another spelling"),
        pytest.param(zipped(), "it has no file of that name", id="empty"),
        pytest.param(
            renamed(zipped(("run.jsonl", RUN), ("run.jsonm", b"")), b"run.jsonm", b"run.jsonl"),
            "two of its entries have the same name",
            id="the same name twice",
        ),
        pytest.param(renamed(ONE, b"run.jsonl", b"run.jsonl")[:30] + b"run.json2" + ONE[39:], DAMAGED, id="two names"),
        pytest.param(local(ONE, 6, 0x0002), DIFFERS, id="other flags"),
        pytest.param(local(ONE, 8, 0), DIFFERS, id="another method"),
        pytest.param(local(ONE, 14, 7, "<L"), DIFFERS, id="another checksum"),
        pytest.param(local(ONE, 18, 7, "<L"), DIFFERS, id="another packed size"),
        pytest.param(local(ONE, 22, 7, "<L"), DIFFERS, id="another size"),
        pytest.param(local(local(local(ONE, 14, 0, "<L"), 18, 0, "<L"), 22, 0, "<L"), DIFFERS, id="no sizes at all"),
        pytest.param(
            inserted(GOOD, GOOD.index(b"PK\1\2"), b"hidden"),
            MORE,
            id="hidden behind an entry",
        ),
        pytest.param(both(ONE, 24, 22, len(RUN) - 1, "<L"), DAMAGED, id="claims to be smaller"),
        pytest.param(both(ONE, 24, 22, len(RUN) + 1, "<L"), SMALLER, id="claims to be larger"),
        pytest.param(both(ONE, 16, 14, 7, "<L"), DAMAGED, id="a wrong checksum"),
        pytest.param(ONE[:39] + b"\7" + ONE[40:], DAMAGED, id="damaged data"),
        pytest.param(STORED[:50] + b"?" + STORED[51:], DAMAGED, id="another letter"),
        pytest.param(
            both(ONE, 24, 22, 4_000_000_000, "<L"),
            RATIO,
            id="claims 4 GB",
        ),
        pytest.param(
            both(bomb(1000), 24, 22, 200_000_000, "<L"),
            RATIO,
            id="claims 200 MB in a few bytes",
        ),
        pytest.param(bomb(1_000_000), RATIO, id="a bomb"),
    ],
)
def test_an_archive_that_is_not_plain_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(RankgateError) as caught:
        read_member(data, "run.jsonl")
    assert str(caught.value) == f"run.jsonl: the artifact is not read: {sentence}"


def overlapping() -> bytes:
    """Two entries that share their data: the second lies within the first, as in a bomb that needs no nesting."""
    inner = ONE[: ONE.index(b"PK\1\2")]
    outer = zipped(("first", inner), method=zipfile.ZIP_STORED)
    end = outer.index(b"PK\1\2")
    start = outer.index(b"PK\3\4", 1)
    entry_of_inner = listed(ONE, 42, start, "<L")[ONE.index(b"PK\1\2") : -22]
    entries = outer[end:-22] + entry_of_inner
    return outer[:end] + entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(entries), end, 0)


def test_an_entry_within_another_is_refused() -> None:
    with zipfile.ZipFile(io.BytesIO(overlapping())) as forgiving:
        assert forgiving.namelist() == ["first", "run.jsonl"]
    with pytest.raises(RankgateError, match=MORE):
        read_member(overlapping(), "run.jsonl")


def test_an_entry_that_says_a_small_size_is_never_unpacked_beyond_it() -> None:
    large = bomb(20_000_000)
    data = both(both(large, 24, 22, 1000, "<L"), 20, 18, len(large) - 22 - 55 - 39, "<L")
    tracemalloc.start()
    try:
        with pytest.raises(RankgateError, match=DAMAGED):
            read_member(data, "run.jsonl")
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        pytest.param(Limits(packed=len(GOOD)), None, id="just as large"),
        pytest.param(Limits(packed=len(GOOD) - 1), f"it has more than {len(GOOD) - 1} bytes", id="too large"),
        pytest.param(Limits(entries=2), None, id="just as many"),
        pytest.param(Limits(entries=1), "it has more than 1 entries", id="too many"),
        pytest.param(Limits(unpacked=len(RUN) + 2), None, id="just as large unpacked"),
        pytest.param(
            Limits(unpacked=len(RUN) + 1), "it claims to unpack to more than 1,041 bytes", id="too large unpacked"
        ),
        pytest.param(Limits(ratio=20), None, id="not too large for its size"),
        pytest.param(
            Limits(ratio=2),
            "an entry of it claims to unpack to more than 2 times its size",
            id="too large for its size",
        ),
    ],
)
def test_the_limits_are_the_callers(limits: Limits, sentence: str | None) -> None:
    if sentence is None:
        assert read_member(GOOD, "run.jsonl", limits=limits) == RUN
    else:
        with pytest.raises(RankgateError, match=f"{sentence}$"):
            read_member(GOOD, "run.jsonl", limits=limits)


def test_a_run_of_rankings_is_within_the_limits() -> None:
    chance = random.Random(7)  # noqa: S311 -- only to look like a run
    lines = [{"q": number, "ids": [chance.randrange(10**6) for _ in range(100)]} for number in range(500)]
    content = "\n".join(map(str, lines)).encode()
    assert 1 < len(content) / len(zlib.compress(content)) < LIMITS.ratio / 10
    assert read_member(zipped(("run.jsonl", content)), "run.jsonl") == content


def outcome(data: bytes) -> bytes | RankgateError:
    try:
        return read_member(data, "run.jsonl")
    except RankgateError as error:
        return error


CHANGES: st.SearchStrategy[Callable[[bytes], bytes]] = st.one_of(
    st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)).map(
        lambda at: lambda data: data[: at[0]] + bytes([at[1]]) + data[at[0] + 1 :]
    ),
    st.integers(0, len(GOOD)).map(lambda at: lambda data: data[:at]),
    st.integers(0, len(GOOD)).map(lambda at: lambda data: data[at:]),
    st.tuples(st.integers(0, len(GOOD)), st.binary(max_size=20)).map(
        lambda at: lambda data: data[: at[0]] + at[1] + data[at[0] :]
    ),
)


@pytest.mark.full
@settings(max_examples=200)
@given(st.lists(CHANGES, min_size=1, max_size=3))
def test_a_damaged_archive_gives_the_file_or_one_error(changes: list[Callable[[bytes], bytes]]) -> None:
    data = GOOD
    for change in changes:
        data = change(data)
    found = outcome(data)
    if isinstance(found, RankgateError):
        assert len(found.problems) == 1
        assert str(found).isprintable()
    else:
        assert found == RUN


@given(st.binary(max_size=300))
@example(GOOD[-22:])
@example(b"#!/bin/sh" + GOOD[-22:])
def test_any_bytes_are_one_error(data: bytes) -> None:
    assert isinstance(outcome(data), RankgateError)
