"""How explanations lie on a terminal: paragraphs that wrap, lists side by side as long as they fit."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.renderers.escape import safe
from rankgate.renderers.explaining import beside, columns_of, finished, padded, paragraph

LISTS = [["before", "1 a", "2 bb"], ["now", "1 ccc"], ["BM25", "1 d", "2 e", "3 f"]]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        pytest.param(
            30,
            ["  before   now     BM25", "  1 a      1 ccc   1 d", "  2 bb             2 e", "                   3 f"],
            id="all side by side",
        ),
        pytest.param(23, ["  before   now     BM25"], id="just wide enough"),
        pytest.param(
            22,
            ["  before   now", "  1 a      1 ccc", "  2 bb", "", "  BM25", "  1 d", "  2 e", "  3 f"],
            id="the third below",
        ),
        pytest.param(
            10,
            ["  before", "  1 a", "  2 bb", "", "  now", "  1 ccc", "", "  BM25", "  1 d", "  2 e", "  3 f"],
            id="one below the other",
        ),
    ],
)
def test_lists_stand_side_by_side_where_they_fit(width: int, lines: list[str]) -> None:
    found = beside(LISTS, width)
    assert found[: len(lines)] == lines
    assert len(found) == len(lines) or len(lines) == 1


def test_a_list_that_is_too_wide_for_any_terminal_keeps_its_lines() -> None:
    assert beside([["x" * 50], ["y"]], 20) == [f"  {'x' * 50}", "", "  y"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        pytest.param("plain", 5, id="ASCII"),
        pytest.param("código", 6, id="one column each"),
        pytest.param("co\u0301digo", 6, id="an accent of its own takes none"),
        pytest.param("検索", 4, id="Japanese takes two"),
        pytest.param("한국", 4, id="Korean takes two"),
        pytest.param("a\u200db", 2, id="a joiner takes none"),
    ],
)
def test_columns_are_those_of_a_terminal(text: str, columns: int) -> None:
    assert columns_of(text) == columns
    assert columns_of(padded(text, 12)) == 12


def test_lists_of_wide_characters_line_up() -> None:
    first, second = beside([["検索", "ab"], ["x", "y"]], 40)
    assert columns_of(first[: first.index("x")]) == columns_of(second[: second.index("y")])


@given(st.text("ab -", max_size=300), st.integers(20, 120), st.integers(0, 5), st.integers(0, 5))
def test_a_paragraph_keeps_its_words_and_its_width(text: str, width: int, indent: int, hanging: int) -> None:
    lines = paragraph(text, width, indent=indent, hanging=hanging)
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert columns_of(line) <= width or len(line.split()) == 1


@given(st.lists(st.text()))
@example(["\x1b[31m", "a\u202eb", "::error::x", "##[group]"])
def test_a_finished_text_has_no_command_for_a_runner_or_a_terminal(lines: list[str]) -> None:
    """Also of what nobody made safe before, as the words of a report that somebody else wrote."""
    found = finished(lines)
    assert len(found.splitlines()) == max(len(lines), 1)
    for line in found.splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", line)


@given(st.text(), st.integers(1, 50))
def test_safe_text_is_one_short_line(text: str, limit: int) -> None:
    found = safe(text, limit)
    assert len(found) <= limit
    assert found.splitlines() in ([], [found])
