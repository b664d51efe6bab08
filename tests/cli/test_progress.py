"""The bar: at a terminal, after a moment, and nowhere else."""

from __future__ import annotations

import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankgate.cli import main, output
from rankgate.cli.output import bar


class Screen:
    """A terminal, and what stands on it in the end."""

    def __init__(self) -> None:
        self.ours, theirs = pty.openpty()
        self.stderr = os.fdopen(theirs, "w", encoding="utf-8")

    @contextmanager
    def is_stderr(self) -> Iterator[None]:
        """Within a test, since pytest puts its own in place between a fixture and the test."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stderr", self.stderr)
            yield

    def text(self) -> str:
        self.stderr.write("THE END")
        self.stderr.flush()
        shown = b""
        while not shown.endswith(b"THE END"):
            shown += os.read(self.ours, 1 << 16)
        return shown.decode().removesuffix("THE END")

    def close(self) -> None:
        self.stderr.close()
        os.close(self.ours)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    for name in ("CI", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(output, "MOMENT", 0.0)
    monkeypatch.setattr(output, "_INTERVAL", 0.01)
    made = Screen()
    yield made
    made.close()


def read_slowly(screen: Screen) -> None:
    """Until the bar has asked a few times how far the reading is."""
    asked = threading.Event()
    shares: list[float] = []

    def share_read() -> float:
        shares.append(min(1.0, len(shares) / 4))
        if len(shares) > 4:
            asked.set()
        return shares[-1]

    with screen.is_stderr(), bar(share_read, "reading the run"):
        assert asked.wait(300)


def test_a_terminal_sees_how_much_of_the_run_has_been_read(screen: Screen) -> None:
    read_slowly(screen)
    shown = screen.text()
    assert "reading the run" in shown
    assert "50%" in shown
    assert "\x1b[" in shown, "in colour, and gone in the end"


def test_what_is_done_may_change_while_it_is_done(screen: Screen) -> None:
    looked = threading.Event()
    words = iter(["none yet", "1 call", "2 calls"])

    def what() -> str:
        found = next(words, "3 calls")
        if found == "3 calls":
            looked.set()
        return found

    with screen.is_stderr(), bar(lambda: 0.5, what):
        assert looked.wait(300)
    shown = screen.text()
    assert shown.index("1 call") < shown.index("2 calls")


def test_without_colour_where_none_is_wanted(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    read_slowly(screen)
    shown = screen.text()
    assert "50%" in shown
    assert "\x1b[3" not in shown


def test_what_takes_no_moment_shows_nothing(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOMENT", 60.0)
    with screen.is_stderr(), bar(lambda: 0.5, "reading"):
        pass
    assert screen.text() == ""


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_nobody_is_looking(screen: Screen, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with screen.is_stderr(), bar(lambda: pytest.fail("asked"), "reading"):
        pass
    assert screen.text() == ""


def test_a_pipe_gets_nothing(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(output, "MOMENT", 0.0)
    with bar(lambda: 0.5, "reading"):
        pass
    assert capfd.readouterr() == ("", "")


def test_an_error_ends_the_bar(screen: Screen) -> None:
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), screen.is_stderr(), bar(lambda: 0.5, "reading"):
        raise ZeroDivisionError
    assert threading.active_count() == before


@pytest.mark.parametrize("command", ["score", "check"])
def test_the_commands_do_not_mind(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(output, "MOMENT", 60.0)
    Path("gold.qrels").write_text("q1 0 a 1\nq2 0 b 1\n", encoding="utf-8")
    Path("run.trec").write_text("q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\n", encoding="utf-8")
    Path("ship-criteria.yaml").write_text("gates:\n  - {name: hit@1, threshold: 0.5}\n", encoding="utf-8")
    with screen.is_stderr():
        assert main([command, "--gold", "gold.qrels", "--run", "run.trec"]) == 0
    assert screen.text() == ""
