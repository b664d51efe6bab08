"""`rankgate judge sample` and `judge label` as they are typed, the second at a real terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.children import is_readable, start
from tests.cli.test_judge import write_gold, write_lines, write_run
from tests.conftest import ROOT
from tests.json_lines import read_lines
from tests.judge.hash_judge import KEY, judging

from rankgate.cli import main
from rankgate.judge import client
from rankgate.judge.label_files import add_labels, label_of, label_sheet, read_labels, sample_text
from rankgate.judge.sample import Item

CRITERIA = """\
judge: {{endpoint: {address}, model: hash-2026-01-01, structured: json_schema}}
inputs: {{gold: gold.jsonl, run: run.jsonl}}
gates: [{{name: faithfulness, threshold: 0.9}}, {{name: answered_rate, regression_max: 0.05}}]
"""
Capture = pytest.CaptureFixture[str]
HOSTILE = "\x1b[2J\x1b]0;owned\x07 \u202eevil\u202c ::error::x \u2028 \x85 \tx\x9b31m"
JAPANESE = "\u8fd4\u54c1\u306f\u4e09\u5341\u65e5\u4ee5\u5185\u3067\u3059\u3002" * 12
ITEMS = [
    Item("q1", "How long?", "Thirty days. Free.", ("Within 30 days.", JAPANESE), ("30 days", "It is free")),
    Item("q2", "Why?", "I do not know.", ("Nothing.",), ()),
    Item("q3", f"What {HOSTILE}?", f"This {HOSTILE}.\nAnd that.", (f"Here {HOSTILE}",), (f"One {HOSTILE}",)),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_bytes(sample_text(ITEMS))
    return tmp_path


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A run and a baseline of 60 questions that a judge has judged; every third answer differs."""
    monkeypatch.setenv("RANKGATE_JUDGE_KEY", KEY)
    monkeypatch.setattr(client, "pause", lambda *_: 0.0)
    write_gold(60)
    write_run("base.jsonl", 60)
    write_run("run.jsonl", 60, **{f"q{n}": f"Number {n} is blue." for n in range(0, 60, 3)})
    with judging() as server:
        Path("ship-criteria.yaml").write_text(CRITERIA.format(address=server.address))
        assert main(["judge", "--baseline", "base.jsonl"]) == 0
        server.requests.clear()
        yield
        assert server.requests == [], "sampling asks nothing"


def words_of(capsys: Capture, *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["judge", *words]) == code
    out, err = capsys.readouterr()
    return out + err


@pytest.mark.full
@pytest.mark.usefixtures("judged")
def test_a_sample_and_its_design(capsys: Capture) -> None:
    assert words_of(capsys, "sample", "--n", "45") == (
        "sample.jsonl: 45 answers of 60 to label\nsample.design.json: how they were drawn\n"
        "sample.csv: a sheet of them; a copy of it named after who labels is taken by `judge calibrate`, too\n"
        "next: rankgate judge label sample.jsonl --by NAME\n"
    )
    assert len(read_lines("sample.jsonl")) == 45
    for word in ("unsupported", "supported", "absent", "kind", "stratum", "design"):
        assert word not in Path("sample.jsonl").read_text("utf-8")
    design = read_lines("sample.design.json")[0]
    assert (design["sampled"], len(design["units"]), design["unjudged"]) == (45, 60, 0)
    before = Path("sample.jsonl").read_bytes()
    Path("sample.csv").write_text("with labels")
    words_of(capsys, "sample", "--n", "45")
    assert Path("sample.jsonl").read_bytes() == before
    assert Path("sample.csv").read_text() == "with labels"
    assert "is of another sample, which may have labels" in words_of(capsys, "sample", code=2)
    Path("mine.csv").touch()
    assert "mine.csv: may have labels of another sample" in words_of(capsys, "sample", "-o", "mine.jsonl", code=2)
    assert Path("sample.jsonl").read_bytes() == before


@pytest.mark.full
@pytest.mark.usefixtures("judged")
def test_what_cannot_be_sampled(capsys: Capture) -> None:
    assert "--n: '39' is not a number from 40" in words_of(capsys, "sample", "--n", "39", code=2)
    assert "a sheet of it is written beside" in words_of(capsys, "sample", "-o", "s.csv", code=2)
    Path("run.verdicts.jsonl").unlink()
    told = words_of(capsys, "sample", code=2)
    assert told == (
        "error: run.jsonl: has no answer to label (60 answers without a verdict); `rankgate judge --metric "
        "faithfulness --metric answered_rate` asks for verdicts\n"
    )
    write_lines("other.jsonl", [{"id": "q0", "input": "What of 0?", "expected_output": ["d0"]}])
    assert "(1 answer without a verdict)" in words_of(capsys, "--gold", "other.jsonl", "sample", code=2)


# Labels


class Terminal:
    """`judge label` in a terminal of its own."""

    def __init__(self, *words: str, width: int = 40, height: int = 100) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.process = start(
            [sys.executable, "-m", "rankgate", "judge", "label", "s.jsonl", *words],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb", "PYTHONUTF8": "1"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)

    def until(self, end: str = " > ") -> str:
        """What is printed up to a prompt, or to the end of the process."""
        found = b""
        while not found.endswith(end.encode()) or not end:
            assert is_readable(self.ours), f"nothing more after {found!r}"
            try:
                data = os.read(self.ours, 4096)
            except OSError:
                data = b""
            if not data:
                break
            found += data
        return found.decode().replace("\r\n", "\n")

    def type(self, key: str) -> str:
        os.write(self.ours, f"{key}\n".encode())
        return self.until()

    def end(self, key: str) -> str:
        os.write(self.ours, key.encode())
        text = self.until("")
        assert self.process.wait(300) == 0
        os.close(self.ours)
        return text


def given() -> list[tuple[str, str, int, str | None]]:
    found = read_labels("s.labels.jsonl", ITEMS).values()
    return [(label.by, label.query_id, label.n, label.verdict) for label in found]


@pytest.mark.full
def test_all_is_asked_once_and_each_label_is_on_the_disk_before_the_next() -> None:
    terminal = Terminal("--by", "ana")
    first = terminal.until()
    assert "Answer 1 of 3\n" in first
    assert "Does the answer state anything?" in first
    assert "Passage" not in first, "what it rests on comes with the claims"
    assert "30 days" not in first
    second = terminal.type("y")
    assert "Passage 2:\n" in second
    assert "Claim 1 of 2:\n  30 days\n" in second
    assert given() == [("ana", "q1", 0, "asserts")]
    third = terminal.type("s")
    assert "Passage" not in third
    assert "Claim 2 of 2:\n  It is free\n" in third
    assert "Answer 2 of 3\n" in terminal.type("a")
    assert "Answer 3 of 3\n" in terminal.type("n")
    terminal.type("Y")
    assert "s.labels.jsonl: 3 of 3 answers\n  labelled by ana\n" in terminal.end("c\n")
    assert [verdict for *_, verdict in given()] == [
        "asserts",
        "supported",
        "absent",
        "abstained",
        "asserts",
        "contradicted",
    ]
    assert "3 of 3" in Terminal("--by", "ana").end("")


@pytest.mark.full
def test_undo_skip_again_and_quit() -> None:
    terminal = Terminal("--by", "ana")
    terminal.until()
    assert "Answer 1 of 3" not in terminal.type("u"), "nothing to undo: the keys"
    terminal.type("y")
    terminal.type("s")
    assert "Claim 1 of 2" in terminal.type("u")
    assert given() == [("ana", "q1", 0, "asserts")]
    assert "How long?" in terminal.type("p")
    assert "skip; asked at the next start" in terminal.type("?")
    assert "Claim 2 of 2" in terminal.type("k")
    assert "Answer 2 of 3" in terminal.type("c")
    assert "Claim 2 of 2" in terminal.type("u")
    assert "Claim 1 of 2" in terminal.type("u"), "what was skipped"
    terminal.end("q\n")
    again = Terminal("--by", "ana")
    assert "Claim 1 of 2" in again.until(), "the same place"
    assert "Does the answer state" in again.type("u"), "also what an earlier session said"
    again.end("\x04")
    assert given() == []


@pytest.mark.full
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_what_was_said_survives(by: signal.Signals) -> None:
    terminal = Terminal("--by", "ana")
    terminal.until()
    terminal.type("y")
    terminal.type("s")
    terminal.process.send_signal(by)
    with contextlib.suppress(OSError):
        os.write(terminal.ours, b"\n")  # a signal between the prompt and the wait for a key shows at the next key
    assert terminal.process.wait(300) == (-9 if by is signal.SIGKILL else 130)
    os.close(terminal.ours)
    assert len(given()) == 2
    again = Terminal("--by", "ana")
    assert "Claim 2 of 2" in again.until()
    again.end("q\n")


@pytest.mark.full
def test_two_people_in_one_file_do_not_see_each_other() -> None:
    add_labels(
        "s.labels.jsonl", [label_of(ITEMS[0], 0, "asserts", "ana"), label_of(ITEMS[0], 1, "contradicted", "ana")]
    )
    terminal = Terminal("--by", "ben")
    told = terminal.until()
    assert "Answer 1 of 3" in told
    assert "Claim" not in told
    told += terminal.type("y") + terminal.type("s") + terminal.end("q\n")
    assert "ana" not in told
    assert "contradicted" not in told.replace("contradicted: they say otherwise", "")
    assert {by for by, *_ in given()} == {"ana", "ben"}
    assert given()[1] == ("ana", "q1", 1, "contradicted")


@pytest.mark.full
@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_text_acts_and_no_row_is_too_wide(width: int) -> None:
    add_labels("s.labels.jsonl", [label_of(ITEMS[0], 0, "abstained", "a"), label_of(ITEMS[1], 0, "abstained", "a")])
    terminal = Terminal("--by", "a", width=width)
    told = terminal.until() + terminal.type("y") + terminal.end("q\n")
    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e]", told) == []
    for code in ("u001b", "u202e", "u2028", "u0085", "u009b"):
        assert f"\\{code}" in told.replace("\n", "").replace(" ", "")
    assert max(map(cell_len, told.split("\n"))) <= width


@pytest.mark.full
def test_east_asian_text_is_as_wide_as_it_looks() -> None:
    terminal = Terminal("--by", "a", width=40)
    terminal.until()
    told = terminal.type("y")
    assert max(map(cell_len, told.split("\n"))) <= 40
    assert JAPANESE in told.replace("\n", "").replace(" ", "")
    terminal.end("q\n")


@pytest.mark.full
def test_what_is_taller_than_the_terminal_waits() -> None:
    terminal = Terminal("--by", "a", width=40, height=12)
    told = [terminal.until()]
    while told[-1].endswith("Enter for more > "):
        told.append(terminal.type(""))
    assert told[-1].endswith("y/n/k/u/p/q > ")
    assert len(told) > 1
    assert max(each.count("\n") for each in told) <= 12
    terminal.end("q\n")


# Sheets


def test_without_a_terminal_the_sheet_is_named(capsys: Capture) -> None:
    assert "--import FILE.csv" in words_of(capsys, "label", "s.jsonl", "--by", "ana", code=2)


def test_a_sheet_comes_back(capsys: Capture) -> None:
    filled = re.sub(",,(?=[0-9a-f]{64})", ",Abs,", label_sheet(ITEMS)).replace(
        'question back)",Abs,', 'question back)",Yes,'
    )
    Path("ben.csv").write_bytes(filled.encode())
    label = ("label", "s.jsonl", "--by", "ben", "--import", "ben.csv")
    goes_on = "next: rankgate judge calibrate s.jsonl --write\n"
    assert words_of(capsys, *label) == f"s.labels.jsonl: 3 of 3 answers labelled by ben\n{goes_on}"
    size = Path("s.labels.jsonl").stat().st_size
    words_of(capsys, *label)
    assert Path("s.labels.jsonl").stat().st_size == size, "nothing new"
    Path("ben.csv").write_bytes(filled.replace(",Abs,", ",no,").encode())
    assert words_of(capsys, *label, code=2).count("'no' may be contradicted or absent") == 3
    assert Path("s.labels.jsonl").stat().st_size == size


def test_a_name_is_written_in_one_way(capsys: Capture) -> None:
    add_labels("s.labels.jsonl", [label_of(ITEMS[1], 0, "asserts", "Ana")])
    told = words_of(capsys, "label", "s.jsonl", "--by", "ana", "--import", "x.csv", code=2)
    assert "--by: s.labels.jsonl has labels by 'Ana'" in told
    assert "--by: " in words_of(capsys, "label", "s.jsonl", "--by", " ", "--import", "x.csv", code=2)
