"""At a terminal: nothing is lost at any width, no text acts, and colours say nothing that words do not say."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.cli.terminals import at_a_terminal
from tests.rows import each_row
from tests.scenario_calls import CHECKS, report_of

from rankgate.cli import main
from rankgate.cli.terminal import lay_out
from rankgate.model.report_text import decode_report
from rankgate.renderers.blocks import Block, Pairs, Table, plain_text
from rankgate.renderers.terminal import terminal_blocks

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "tests" / "scenarios"
NAMING = {
    "metric",
    "tag",
    "interval",
    "gate",
    "of",
    "the",
    "value",
    "–",
}  # headings of what names a paragraph, which stands there without one
WIDTHS = (40, 60, 80, 120)
GATES = Table(
    rows=[
        ("metric", "baseline", "now", "limit", "status"),
        ("recall@5 in lang:es", "100.0%", "78.6%", "at least 70.0%, drop at most 3.0 pp", "FAIL"),
        ("mrr", "0.857", "0.714", "", "WARN"),
    ],
    right=(1, 2),
)


def shown(blocks: Sequence[Block], width: int) -> str:
    stream = io.StringIO()
    lay_out(blocks, Console(file=stream, width=width, height=50, color_system=None))
    return stream.getvalue()


def rows_of(blocks: Sequence[Block], width: int) -> list[str]:
    return [line.rstrip() for line in shown(blocks, width).removesuffix("\n").split("\n")]


def lost(plain: str, found: str, width: int) -> set[str]:
    """Words that a line has room for, and that are not there."""
    return {word for word in set(plain.split()) - set(found.split()) - NAMING if len(word) <= width - 6}


def test_a_table_that_fits_is_one() -> None:
    assert rows_of([GATES], 80) == [
        "  metric               baseline    now  limit                         status",
        "  ──────────────────────────────────────────────────────────────────────────",
        "  recall@5 in lang:es    100.0%  78.6%  at least 70.0%, drop at most  FAIL",
        "                                        3.0 pp",
        "  mrr                     0.857  0.714                                WARN",
    ]


def test_a_narrow_table_has_a_paragraph_a_row_and_leaves_out_what_is_empty() -> None:
    assert rows_of([GATES], 40) == [
        "  recall@5 in lang:es",
        "    baseline  100.0%",
        "    now       78.6%",
        "    limit     at least 70.0%, drop at",
        "              most 3.0 pp",
        "    status    FAIL",
        "",
        "  mrr",
        "    baseline  0.857",
        "    now       0.714",
        "    status    WARN",
    ]


def test_a_column_without_any_text_takes_no_room_and_one_without_a_heading_names_the_row_too() -> None:
    table = Table(rows=[("", "id", "branch", "reason"), ("*", "run-1", "", "smaller index, agreed in #12")])
    assert rows_of([table], 40)[0] == "     id     reason"
    assert rows_of([table], 24) == [
        "  * run-1",
        "    reason  smaller",
        "            index,",
        "            agreed in",
        "            #12",
    ]


def test_a_table_without_rows_is_its_headings() -> None:
    assert rows_of([Table(rows=[("a", "b")])], 40)[0] == "  a  b"


def test_the_widest_column_of_words_is_wrapped_with_its_heading_and_numbers_are_not() -> None:
    rows = [("metric", "which questions moved", "largest"), ("mrr", "none", "1.000 x")]
    assert rows_of([Table(rows=rows, right=(2,))], 36) == [
        "          which questions",
        "  metric  moved              largest",
        "  ──────────────────────────────────",
        "  mrr     none               1.000 x",
    ]


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        pytest.param(
            "FAIL  Do not merge: recall@5 dropped from 91.9% to 85.8%.",
            ["FAIL  Do not merge: recall@5", "      dropped from 91.9% to", "      85.8%."],
            id="a verdict: beneath its sentence",
        ),
        pytest.param(
            "What differs from the baseline: system a → b.",
            ["What differs from the", "  baseline: system a → b."],
            id="a sentence: by two columns",
        ),
        pytest.param(
            "    pt-BR/codigo  rank 1 → 10 of 20",
            ["    pt-BR/codigo  rank 1 →", "      10 of 20"],
            id="what is further in: by two columns more",
        ),
        pytest.param(
            "a drop of at most 999999 3.0 pp", ["a drop of at most 999999", "  3.0 pp"], id="a number keeps its unit"
        ),
        pytest.param("x" * 30, ["x" * 28, "  xx"], id="a word that is too long is broken, not cut"),
        pytest.param("", [""], id="nothing"),
    ],
)
def test_a_line_is_wrapped_between_words(line: str, rows: list[str]) -> None:
    found = rows_of([line], 28 if not line.startswith("x") else 30)
    assert found == rows


def test_lines_are_no_longer_than_one_reads_and_tables_may_be() -> None:
    rows = rows_of(["word " * 60, Table(rows=[("word " * 28, "b"), ("a", "b")])], 160)
    assert [len(row) for row in rows[:3]] == [94, 96, 96]
    assert len(rows[4]) > 140


def test_in_a_window_too_narrow_for_it_nothing_is_further_in() -> None:
    assert rows_of(["    further in"], 12) == ["further in"]


def test_pairs_are_wrapped_beside_their_names() -> None:
    pairs = Pairs([("id", "run-1"), ("reason", "smaller index, agreed")])
    assert rows_of([pairs], 24) == ["  id      run-1", "  reason  smaller index,", "          agreed"]


@pytest.mark.full
@each_row("width", WIDTHS)
@each_row("name", CHECKS)
def test_every_scenario_fits_word_by_word(name: str, width: int) -> None:
    blocks = terminal_blocks(decode_report(report_of(name), name), everything=True)
    found, plain = shown(blocks, width), plain_text(blocks)
    assert max(map(cell_len, found.split("\n"))) <= width
    assert lost(plain, found, width) == set()
    assert found.count("…") >= plain.count("…")
    sentence = plain.split("\n", 1)[0]
    assert "".join(found.split()).startswith("".join(sentence.split()))


@pytest.mark.full
@each_row("name", CHECKS)
def test_without_its_colours_the_text_is_the_same(name: str) -> None:
    blocks = terminal_blocks(decode_report(report_of(name), name))
    stream = io.StringIO()
    lay_out(blocks, Console(file=stream, width=80, height=50, color_system="standard", force_terminal=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()) == shown(blocks, 80)
    assert "\x1b[" in stream.getvalue()


PIECES = [
    "[bold red]",
    "[/]",
    "[link=https://e.example]x[/link]",
    ":smile:",
    "\x1b[31m",
    "\x1b]8;;https://e.example\x07",
    "\n",
    "word",
    " ",
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=6).map("".join)


@pytest.mark.full
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=3), st.lists(TEXT, max_size=2), st.integers(4, 90))
@example([("a", "b", "c"), ("[bold red]x[/]", "[/]", "\x1b[31m")], ["[link=https://e.example]x[/link]"], 80)
def test_whatever_the_text_and_the_width_all_of_it_is_shown_and_none_of_it_acts(
    rows: list[tuple[str, str, str]], lines: list[str], width: int
) -> None:
    blocks: list[Block] = [
        *lines,
        Table(rows=[("name", "value", ""), *rows], right=(1,)),
        Pairs([row[:2] for row in rows]),
    ]
    found = shown(blocks, width)
    assert "\x1b" not in found
    assert "\x07" not in found
    assert max(map(cell_len, found.split("\n"))) <= width
    said = Counter(
        "".join(
            plain_text(
                [*lines, *(cell for row in rows for cell in row), *(cell for row in rows for cell in row[:2])]
            ).split()
        )
    )
    assert said - Counter(found) == Counter()


def printed(arguments: Sequence[str], width: int, directory: Path, **environment: str) -> str:
    return at_a_terminal(arguments, width, directory, **environment)[1]


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    """The inputs of the scenario that fails."""
    shutil.copytree(SCENARIOS / "_inputs", tmp_path / "work")
    shutil.copy(SCENARIOS / "fail" / "run.jsonl", tmp_path / "work")
    return tmp_path / "work"


CHECK = ["check", "--date", "2026-01-31"]


@pytest.mark.parametrize("width", WIDTHS)
def test_check_fits_the_terminal_it_is_in(bakery: Path, width: int) -> None:
    found = printed(CHECK, width, bakery, NO_COLOR="1")
    assert max(map(len, found.split("\n"))) <= width
    assert found.startswith("FAIL  Do not merge: ")
    assert ("  recall@5\n    before → now  100.0% → 78.6%\n" in found) is (width < 72)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["score", "--run", "run.jsonl"], id="score"),
        pytest.param(["compare", "accepted.jsonl", "run.jsonl"], id="compare"),
        pytest.param(["validate", "--run", "accepted.jsonl"], id="validate"),
        pytest.param(
            ["baseline", "accept", "--run", "accepted.jsonl", "--to", "store", "--commit", "none"], id="accept"
        ),
    ],
)
def test_other_commands_fit_too_and_say_the_same_as_without_a_terminal(bakery: Path, arguments: list[str]) -> None:
    printed([*CHECK, "-o", "report.json"], 80, bakery)
    found = printed(arguments, 40, bakery)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", found)
    assert max(map(len, plain.split("\n"))) <= 40
    shutil.rmtree(bakery / "store", ignore_errors=True)  # what was accepted there is what would be compared with
    assert lost(in_a_pipe(bakery, arguments), plain, 40) == set()


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        pytest.param({}, True, id="a terminal"),
        pytest.param({"NO_COLOR": ""}, True, id="NO_COLOR that is empty"),
        pytest.param({"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param({"TERM": "dumb"}, False, id="a dumb terminal"),
        pytest.param({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, id="NO_COLOR wins"),
        pytest.param({"TERM": "dumb", "FORCE_COLOR": "1"}, True, id="FORCE_COLOR wins over a dumb terminal"),
    ],
)
def test_colours_are_a_choice_and_the_layout_is_not(
    bakery: Path, environment: dict[str, str], *, coloured: bool
) -> None:
    found = printed(CHECK, 60, bakery, **environment)
    assert ("\x1b[1;31mFAIL\x1b[0m" in found) is coloured
    assert ("\x1b" in found) is coloured
    assert "\n      " in found, "wrapped beneath the sentence"


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        pytest.param({}, False, id="a pipe"),
        pytest.param({"FORCE_COLOR": "1"}, True, id="FORCE_COLOR"),
        pytest.param({"FORCE_COLOR": "0"}, True, id="FORCE_COLOR whatever its value"),
        pytest.param({"FORCE_COLOR": ""}, False, id="FORCE_COLOR that is empty"),
        pytest.param({"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True, id="CLICOLOR_FORCE"),
        pytest.param({"CLICOLOR_FORCE": "0"}, False, id="CLICOLOR_FORCE=0"),
        pytest.param({"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False, id="NO_COLOR wins"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": ""}, True, id="NO_COLOR that is empty"),
    ],
)
def test_in_a_pipe_there_is_colour_only_where_it_is_forced(
    bakery: Path, environment: dict[str, str], *, coloured: bool
) -> None:
    found = in_a_pipe(bakery, [*CHECK, "--all"], **environment)
    assert ("\x1b[1;31mFAIL\x1b[0m" in found) is coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", found) == in_a_pipe(bakery, [*CHECK, "--all"])


def in_a_pipe(directory: Path, arguments: Sequence[str], **environment: str) -> str:
    """What a command writes where no terminal is."""
    stream = io.StringIO()
    known = {"PATH": os.environ["PATH"], **environment}
    with chdir(directory), patch.dict(os.environ, known, clear=True), redirect_stdout(stream):
        main(list(arguments))
    return stream.getvalue()


@pytest.mark.full
@pytest.mark.parametrize(
    ("encoding", "change", "move"),
    [
        pytest.param("utf-8", "−21.4 pp", "rank 1 → gone", id="utf-8"),
        pytest.param("cp1252", "-21.4 pp", "rank 1 -> gone", id="cp1252"),
        pytest.param("latin-1", "-21.4 pp", "rank 1 -> gone", id="latin-1"),
        pytest.param("ascii", "-21.4 pp", "rank 1 -> gone", id="ascii"),
    ],
)
def test_signs_that_an_encoding_lacks_are_written_in_ascii(bakery: Path, encoding: str, change: str, move: str) -> None:
    found = piped(bakery, encoding)
    assert change in found
    assert move in found
    assert ("¿tienen pan sin azúcar?" if encoding != "ascii" else "\\xbftienen pan sin az\\xfacar?") in found
    assert found.count("?") == in_a_pipe(bakery, [*CHECK, "--all"]).count("?")


@pytest.mark.full
@pytest.mark.parametrize(("encoding", "sign"), [("cp1252", "±0.0"), ("latin-1", "±0.0"), ("ascii", "+/-0.0")])
def test_a_plus_or_minus_stays_where_the_encoding_has_it(bakery: Path, encoding: str, sign: str) -> None:
    shutil.copy(bakery / "accepted.jsonl", bakery / "run.jsonl")
    assert sign in piped(bakery, encoding)


def piped(directory: Path, encoding: str, **environment: str) -> str:
    """What `rankgate check` writes into a pipe of that encoding."""
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": encoding, **environment}
    command = [sys.executable, "-m", "rankgate", *CHECK, "--all"]
    found = subprocess.run(command, cwd=directory, env=own, capture_output=True, check=False)
    return found.stdout.decode(encoding)


def test_the_interval_of_a_change_stands_where_there_is_room(bakery: Path) -> None:
    """Else it is left out of the table: the status is not."""
    row = ("recall@5", "100.0% → 78.6%", "−21.4 pp", "−62.7 to +31.2", "≥ 70.0%, −3.0 pp", "FAIL")
    assert re.search(" +".join(map(re.escape, row)), printed(CHECK, 80, bakery, NO_COLOR="1"))
    without = (*row[:3], *row[4:])
    assert re.search(" +".join(map(re.escape, without)), printed(CHECK, 72, bakery, NO_COLOR="1"))
    stacked = printed([*CHECK, "--all"], 40, bakery, NO_COLOR="1")
    assert "    change        −21.4 pp\n    interval      −62.7 to +31.2\n" in stacked


@pytest.mark.parametrize(
    ("options", "lines", "present"),
    [
        pytest.param(["-q"], 1, False, id="quiet: the conclusion alone"),
        pytest.param([], 15, False, id="what decided"),
        pytest.param(["--all"], 37, True, id="all of it"),
    ],
)
def test_how_much_is_printed(bakery: Path, options: list[str], lines: int, *, present: bool) -> None:
    found = printed(["check", "--date", "2026-01-31", *options], 100, bakery, NO_COLOR="1")
    assert found.startswith("FAIL  Do not merge: recall@5 lost 21.4 points: 100.0% → 78.6%, 3.0 allowed.\n")
    assert len(found.splitlines()) == lines
    assert ("lang:es" in found) is present


def test_columns_of_the_environment_win_over_the_terminals_own(bakery: Path) -> None:
    found = printed(CHECK, 200, bakery, COLUMNS="44", NO_COLOR="1")
    assert max(map(len, found.split("\n"))) in range(30, 45)


def test_a_form_for_machines_is_printed_as_it_is_at_a_terminal_too(bakery: Path) -> None:
    found = printed([*CHECK, "--format", "json", "-o", "report.json"], 40, bakery)
    assert found == (bakery / "report.json").read_text(encoding="utf-8")
