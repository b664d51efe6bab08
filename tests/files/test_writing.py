"""Files are written whole or not at all, keep their permissions, and leave nothing beside them."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rankgate.errors import Problem, RankgateError
from rankgate.files.writing import write_atomic, write_new

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions and links as POSIX has them")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """A test may set the process's umask."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refusal(path: Path, data: str | bytes = "new") -> Problem:
    with pytest.raises(RankgateError) as caught:
        write_atomic(path, data)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        pytest.param("pass ✅\n", "pass ✅\n".encode(), id="text is UTF-8, its line ends as given"),
        pytest.param("a\r\nb", b"a\r\nb", id="no line end is changed"),
        pytest.param(b"\x00\xff", b"\x00\xff", id="bytes are bytes"),
        pytest.param("", b"", id="nothing is an empty file"),
        pytest.param(b"x" * 3_000_000, b"x" * 3_000_000, id="more than a buffer"),
    ],
)
def test_what_was_given_is_what_is_stored(tmp_path: Path, data: str | bytes, stored: bytes) -> None:
    path = tmp_path / "report.json"
    write_atomic(path, data)
    assert path.read_bytes() == stored
    assert names(tmp_path) == ["report.json"]


def test_an_old_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("a longer text than the new one")
    write_atomic(str(path), "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["report.json"]


def test_a_reader_that_has_the_old_file_open_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    with path.open() as reader:
        write_atomic(path, "new")
        assert reader.read() == "old"


def test_missing_directories_are_made(tmp_path: Path) -> None:
    path = tmp_path / "out" / "rankgate" / "report.json"
    write_atomic(path, "new")
    assert path.read_text() == "new"


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        pytest.param(0o022, 0o644, id="the usual"),
        pytest.param(0o077, 0o600, id="private"),
        pytest.param(0o002, 0o664, id="a shared group"),
        pytest.param(0o000, 0o666, id="open to all"),
    ],
)
def test_a_new_file_honours_the_umask(tmp_path: Path, mask: int, expected: int) -> None:
    os.umask(mask)
    write_atomic(tmp_path / "new.json", "new")
    assert mode(tmp_path / "new.json") == expected
    assert os.umask(mask) == mask, "the process's umask is as it was"


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664, 0o755])
def test_an_old_file_keeps_its_permissions(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    path.chmod(kept)
    write_atomic(path, "new")
    assert mode(path) == kept


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """A pull request may bring a link that points anywhere."""
    path, link = tmp_path / "precious.txt", tmp_path / "report.json"
    path.write_text("precious")
    link.symlink_to(path)
    write_atomic(link, "new")
    assert not link.is_symlink()
    assert (link.read_text(), path.read_text()) == ("new", "precious")


def test_a_pipe_or_device_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    """`-o /dev/stdout`, or `-o /dev/null` as root in a container, must not turn the device into a file."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(path, "new")
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    ("target", "messages"),
    [
        pytest.param("folder", {"cannot be written: Is a directory"}, id="a directory"),
        pytest.param(
            *("file/report.json", {"cannot be written: File exists", "cannot be written: Not a directory"}),
            id="below a file",
        ),
        pytest.param("x" * 300, {"cannot be written: File name too long"}, id="a name that is too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, target: str, messages: set[str]) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    problem = refusal(tmp_path / target)
    assert problem.file == (tmp_path / target).as_posix()
    assert problem.message in messages
    assert names(tmp_path) == ["file", "folder"]
    assert names(tmp_path / "folder") == []
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert refusal(tmp_path / "report.json").message == "cannot be written: Permission denied"


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def fail(*arguments: object, **named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    assert refusal(path) == Problem("cannot be written: No space left on device", path.as_posix())
    assert path.read_text() == "old"
    assert names(tmp_path) == ["report.json"]


def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["report.json"]


def test_a_new_file_is_written_whole_with_the_usual_permissions_and_never_over_another(tmp_path: Path) -> None:
    target = tmp_path / "made" / "here" / "file"
    assert write_new(target, b"first")
    assert not write_new(target, b"second")
    assert target.read_bytes() == b"first"
    usual = tmp_path / "usual"
    usual.touch()
    assert target.stat().st_mode == usual.stat().st_mode
    assert [file.name for file in target.parent.iterdir()] == ["file"], "nothing temporary is left"


def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is flushed to the disk from now on, each file and directory by its path at that moment."""
    found: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        found.append("temporary" if path.suffix == ".tmp" else path.name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads paths of descriptors from /proc")
@pytest.mark.parametrize("write", [write_atomic, write_new])
def test_file_and_name_are_on_the_disk(
    write: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = flushed(monkeypatch)
    write(tmp_path / "report.json", b"new")
    assert found == ["temporary", tmp_path.name]


@pytest.mark.skipif(sys.platform != "linux", reason="reads paths of descriptors from /proc")
def test_so_are_the_names_of_directories_that_were_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = flushed(monkeypatch)
    write_atomic(tmp_path / "a" / "b" / "report.json", "new")
    assert sorted(found[:2]) == sorted(["a", tmp_path.name])
    assert found[2:] == ["temporary", "b"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EBADF])
def test_a_file_system_that_flushes_no_directories_is_written_to(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def refusing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refusing)
    write_atomic(tmp_path / "report.json", "new")
    assert (tmp_path / "report.json").read_text() == "new"


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_standard_stream_is_written_to_whatever_it_leads_to(name: str, tmp_path: Path) -> None:
    """Into a file too, where it is a link that a rename would replace: in a container, for every process there."""
    code = (
        "import sys; from rankgate.files.writing import write_atomic; print('first');"
        f"write_atomic('/dev/{name}', 'second\\n'); print('third')"
    )
    before = Path(f"/dev/{name}").readlink()
    with (tmp_path / "log").open("wb") as log:
        subprocess.run([sys.executable, "-c", code], stdout=log, stderr=log, check=True, timeout=300)
    assert sorted((tmp_path / "log").read_text().splitlines()) == ["first", "second", "third"]
    assert Path(f"/dev/{name}").readlink() == before


@pytest.mark.parametrize("name", ["n" * 255, "ü" * 127, "🦜" * 63])
def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path: Path, name: str) -> None:
    write_atomic(tmp_path / name, "whole")
    assert [each.name for each in tmp_path.iterdir()] == [name]
