"""What the runner reads of a job, held against a small slow reading of its own formats."""

from __future__ import annotations

import re
import secrets
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.errors import RankgateError
from rankgate.forges.runner import MAX_SUMMARY_BYTES, add_summary, set_output, stopped


def outputs_in(data: bytes) -> list[tuple[str, str]]:
    """Outputs as the runner reads a file of them: lines end with LF, NAME=VALUE or NAME<<WORD … WORD."""
    lines = data.decode().split("\n")
    found: list[tuple[str, str]] = []
    while lines:
        line = lines.pop(0)
        equals, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (equals < 0 or heredoc < equals):
            value = []
            while lines[0] != line[heredoc + 2 :]:
                value.append(lines.pop(0))
            lines.pop(0)
            found.append((line[:heredoc], "\n".join(value)))
        elif equals >= 0:
            found.append((line[:equals], line[equals + 1 :]))
        else:
            assert line == "", "the runner calls this an invalid format"
    return found


TEXT = st.lists(
    st.sampled_from(["\n", "\r\n", "\r", "=", "<<", "EOF", "a", "::", "##[", "%0A", "\u2028", "\ufeff", "\0"])
    | st.text(max_size=3),
    max_size=10,
).map("".join)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,10}", fullmatch=True)


@pytest.mark.full
@given(st.lists(st.tuples(NAMES, TEXT), min_size=1, max_size=4))
@example([("verdict", "")])
@example([("verdict", "\n")])
@example([("report", "a\nother<<EOF\nb\nEOF\n"), ("verdict", "fail")])
def test_every_value_of_an_output_is_read_back(outputs: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "output"
        for name, value in outputs:
            set_output(str(file), name, value)
        assert outputs_in(file.read_bytes()) == outputs


@pytest.mark.parametrize("there", [b"first=1\n", b"first=1", b"first<<E\n1\nE"])
def test_outputs_stand_behind_what_is_there(there: bytes, tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_bytes(there)
    set_output(str(file), "verdict", "pass")
    assert outputs_in(file.read_bytes()) == [("first", "1"), ("verdict", "pass")]


def test_every_output_has_a_delimiter_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        set_output(str(tmp_path / "output"), "verdict", "pass")
    words = re.findall(r"verdict<<([0-9a-f]{32})\npass\n\1\n", (tmp_path / "output").read_text(encoding="utf-8"))
    assert len(set(words)) == 2


def test_a_value_that_contains_the_delimiter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda count: "ab" * count)
    with pytest.raises(RankgateError, match=r"^verdict: the value contains the delimiter"):
        set_output(str(tmp_path / "output"), "verdict", f"x{'ab' * 16}y")
    assert not (tmp_path / "output").exists()


def test_half_of_a_surrogate_pair_is_no_value(tmp_path: Path) -> None:
    with pytest.raises(RankgateError, match=r"^verdict: half of a surrogate pair"):
        set_output(str(tmp_path / "output"), "verdict", "a\ud800")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("", "{}: is not set; is this running in GitHub Actions?", id="not set"),
        pytest.param("gone/file", "gone/file: {}: cannot be written: No such file or directory", id="no directory"),
        pytest.param(".", ".: {}: cannot be written: Is a directory", id="a directory"),
        pytest.param("a\0b", "a\\x00b: {}: cannot be written: no file can have this name", id="no name of a file"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_with_its_variable(
    path: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RankgateError) as caught:
        set_output(path, "verdict", "pass")
    assert str(caught.value) == message.format("GITHUB_OUTPUT")
    with pytest.raises(RankgateError) as caught:
        add_summary(path, "text\n")
    assert str(caught.value) == message.format("GITHUB_STEP_SUMMARY")


@pytest.mark.parametrize(
    ("there", "written"),
    [
        pytest.param("", "# New\n", id="the first"),
        pytest.param("old\n", "old\n\n# New\n", id="a paragraph of its own"),
        pytest.param("old", "old\n\n# New\n", id="after an unfinished line"),
    ],
)
def test_a_summary_stands_behind_what_is_there(there: str, written: str, tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text(there, encoding="utf-8")
    assert add_summary(str(file), "# New\n") is True
    assert file.read_text(encoding="utf-8") == written


def test_a_summary_needs_no_file_before(tmp_path: Path) -> None:
    assert add_summary(str(tmp_path / "summary.md"), "# New\n") is True
    assert (tmp_path / "summary.md").read_bytes() == b"# New\n"


def test_a_summary_may_hold_a_mebibyte_of_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    assert add_summary(str(file), "é" * (MAX_SUMMARY_BYTES // 2)) is True
    assert file.stat().st_size == 1024 * 1024


@pytest.mark.parametrize("there", [b"old", b"old\n"])
def test_a_summary_counts_what_is_there(there: bytes, tmp_path: Path) -> None:
    for more, whole in ((0, True), (1, False)):
        file = tmp_path / f"{more}.md"
        file.write_bytes(there)
        assert add_summary(str(file), "a" * (MAX_SUMMARY_BYTES - len(b"old\n\n") + more)) is whole
        assert file.stat().st_size <= MAX_SUMMARY_BYTES


def test_a_summary_that_is_too_long_says_where_the_rest_is(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("old\n", encoding="utf-8")
    line = "é" * 511 + "\n"
    assert add_summary(str(file), "```\n" + line * 1025 + "```\n") is False
    there = "A step's summary holds 1,024 KiB, which are full. The comment is in the artifact of this run.\n"
    assert file.read_text(encoding="utf-8") == f"old\n\n{there}"


def test_a_summary_that_is_full_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"a" * (MAX_SUMMARY_BYTES - 5))
    assert add_summary(str(file), "# New and more\n") is False
    assert file.stat().st_size == MAX_SUMMARY_BYTES - 5


def test_a_summary_is_utf_8_whatever_it_is_given(tmp_path: Path) -> None:
    add_summary(str(tmp_path / "summary.md"), "a\ud800b\n")
    assert (tmp_path / "summary.md").read_bytes() == b"a?b\n"


def command_in(line: str, known: set[str]) -> tuple[str, str] | None:
    """The command that the runner finds in a line: `::name …::data` at its start, or `##[name …]data` anywhere."""
    if line.lstrip().startswith("::"):
        info, separator, data = line.lstrip()[2:].partition("::")
        if separator and info.split(" ")[0].lower() in known:
            return info.split(" ")[0].lower(), data
    _, prefix, rest = line.partition("##[")
    info, bracket, data = rest.partition("]")
    if prefix and bracket and info.split(" ")[0].lower() in known:
        return info.split(" ")[0].lower(), data
    return None


def obeyed(log: str) -> tuple[list[str], bool]:
    """The commands that the runner obeys in a log, and whether it obeys commands at its end."""
    commands, stop = [], ""
    for line in re.split(r"\r\n|\r|\n", log):
        known = {"error", "warning", "set-env", "add-mask", "group", "stop-commands"} | ({stop} if stop else set())
        found = command_in(line, known)
        if found and not stop:
            if found[0] == "stop-commands":
                stop = found[1].lower()
            else:
                commands.append(found[0])
        elif found and found[0] == stop:
            stop = ""
    return commands, not stop


COMMANDS = st.lists(
    st.sampled_from(
        ["\n", "\r", "\r\n", "::", "##[", "###[", "]", " ", "\t", "error", "set-env name=x", "stop-commands"]
    )
    | st.text(max_size=3),
    max_size=12,
).map("".join)


@given(COMMANDS)
@example("::error::x")
@example(" \t::set-env name=A::b\n")
@example("a ##[error]x ##[group]y")
@example("::stop-commands::x\n::x::\n::error::y")
@example("a\r::error::x")
def test_the_runner_obeys_nothing_in_what_was_stopped(text: str) -> None:
    log = stopped(text)
    assert obeyed(f"::warning::before\n{log}::error::after") == (["warning", "error"], True)
    inside = log.split("\n", 1)[1].rsplit("\n", 2)[0] if log else ""
    assert obeyed(inside) == ([], True)


@given(st.text(st.characters(exclude_characters="\r\n:#"), min_size=1))
def test_what_was_stopped_reads_the_same(text: str) -> None:
    word = stopped(text).splitlines()[0].removeprefix("::stop-commands::")
    assert stopped(text) != stopped(text)
    assert re.fullmatch(rf"::stop-commands::[0-9a-f]{{32}}\n{re.escape(text)}\n::[0-9a-f]{{32}}::\n", stopped(text))
    assert len(word) == 32


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("a\nb\n", ["a", "b"], id="no line is added"),
        pytest.param("a\n\n", ["a", ""], id="an empty line stays"),
        pytest.param("a\r\nb\rc", ["a", "b", "c"], id="every line break of the runner"),
        pytest.param("a\u2028::b", ["a\u2028::b"], id="and no other"),
        pytest.param("\n", [""], id="an empty line"),
    ],
)
def test_lines_that_were_stopped(text: str, lines: list[str]) -> None:
    assert stopped(text).split("\n")[1:-2] == lines


def test_nothing_needs_no_stopping() -> None:
    assert stopped("") == ""
