"""Lines and tables as plain text: aligned, and whatever a text holds, it is shown and not obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.renderers.blocks import Block, Pairs, Table, plain_text


@pytest.mark.parametrize(
    ("rows", "right", "lines"),
    [
        pytest.param([("a", "b"), ("long", "c")], (), ["  a     b", "  long  c"], id="left"),
        pytest.param([("a", "b"), ("a", "long")], (1,), ["  a     b", "  a  long"], id="right"),
        pytest.param([("a", ""), ("b", "c")], (), ["  a", "  b  c"], id="an empty end leaves no spaces"),
        pytest.param([("", ""), ("b", "c")], (), ["", "  b  c"], id="nor does an empty row"),
        pytest.param([("−1.0 pp", "x"), ("±0.0 pp", "y")], (0,), ["  −1.0 pp  x", "  ±0.0 pp  y"], id="signs"),
        pytest.param([("a", "b"), ("\x07", "c")], (), ["  a       b", "  \\u0007  c"], id="what is hidden has a width"),
    ],
)
def test_a_table_is_aligned(rows: list[tuple[str, str]], right: tuple[int, ...], lines: list[str]) -> None:
    assert plain_text([Table(rows=rows, right=right)]).splitlines() == lines


def test_lines_tables_and_pairs_follow_each_other() -> None:
    blocks: list[Block] = [
        "a line",
        "",
        Table(rows=[("a", "b"), ("1", "2")]),
        "  further in",
        Pairs([("name", "said")]),
    ]
    assert plain_text(blocks) == "a line\n\n  a  b\n  1  2\n  further in\n  name  said\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a  b", "a  b", id="spaces stay"),
        pytest.param("a\x1b[31mb", "a\\u001b[31mb", id="a colour"),
        pytest.param("a\nb", "a\\u000ab", id="a line break"),
        pytest.param("a\u202eb", "a\\u202eb", id="a bidi character"),
        pytest.param("  ::error::x", "  : :error::x", id="a workflow command"),
        pytest.param("a ##[group]b", "a ## [group]b", id="an old workflow command"),
    ],
)
def test_a_line_is_harmless(text: str, shown: str) -> None:
    assert plain_text([text]) == f"{shown}\n"


TEXT = st.text(st.characters() | st.sampled_from("\x1b\n\u202e:#["), max_size=8)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4), TEXT)
def test_whatever_the_texts_there_is_one_line_a_row_and_nothing_hidden(rows: list[tuple[str, str]], text: str) -> None:
    shown = plain_text([text, Table(rows=rows), Pairs(rows)])
    assert shown.count("\n") == 1 + 2 * len(rows)
    assert [char for char in shown.replace("\n", "") if not char.isprintable() and char not in "\u200c\u200d"] == []
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in shown.split("\n"))
