"""Markdown that is cut: never too long, at whole lines, and to GitHub's parser nothing stays open."""

from __future__ import annotations

import pytest
from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgate.forges.cut import Cut, cut
from rankgate.renderers.escape import block, cell, code

END = "_Cut here._"


def html_of(markdown: str) -> str:
    return str(github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))


@pytest.mark.parametrize(
    ("markdown", "limit", "written", "whole"),
    [
        pytest.param("abc\ndef\n", 8, "abc\ndef\n", True, id="just fits"),
        pytest.param("é\n", 3, "é\n", True, id="bytes, not characters"),
        pytest.param("é\n", 2, "", False, id="nothing fits, not even the sentence"),
        pytest.param("abc\n" * 9, 20, f"abc\n\n{END}\n", False, id="whole lines"),
        pytest.param("abc\n" * 9, 21, f"abc\nabc\n\n{END}\n", False, id="one line more"),
        pytest.param("a" * 99, 13, f"\n{END}\n", False, id="only the sentence"),
        pytest.param("a" * 99, 12, "", False, id="not quite the sentence"),
        pytest.param("a\u2028" * 99, 50, f"\n{END}\n", False, id="no line break of Markdown"),
        pytest.param("```\nabc\ndef\n```\n" + "g" * 90, 25, f"```\nabc\n```\n\n{END}\n", False, id="a fence is closed"),
        pytest.param(
            "  ~~~~ x\nabc\n" + "g" * 90, 40, f"  ~~~~ x\nabc\n  ~~~~\n\n{END}\n", False, id="as it was opened"
        ),
        pytest.param(
            "````\n```\n" + "g" * 90, 40, f"````\n```\n````\n\n{END}\n", False, id="a shorter fence closes none"
        ),
        pytest.param("```\n~~~\n" + "g" * 90, 40, f"```\n~~~\n```\n\n{END}\n", False, id="nor one of another kind"),
        pytest.param("```\n``` x\n" + "g" * 90, 40, f"```\n``` x\n```\n\n{END}\n", False, id="nor one with a word"),
        pytest.param("```\n````\n" + "g" * 90, 40, f"```\n````\n\n{END}\n", False, id="a longer one closes it"),
        pytest.param("```a`\n" + "g" * 90, 40, f"```a`\n\n{END}\n", False, id="a code span is no fence"),
        pytest.param(
            "<details>\n\nabc\n" + "g" * 90,
            60,
            f"<details>\n\nabc\n\n</details>\n\n{END}\n",
            False,
            id="details are closed",
        ),
        pytest.param(
            "<details open>\n<details>\n</details>\n" + "g" * 90,
            70,
            f"<details open>\n<details>\n</details>\n\n</details>\n\n{END}\n",
            False,
            id="those that are open",
        ),
        pytest.param(
            "<details><p></details>\n" + "g" * 90, 60, f"<details><p></details>\n\n{END}\n", False, id="on one line"
        ),
        pytest.param("`<details>`\n" + "g" * 90, 60, f"`<details>`\n\n{END}\n", False, id="the word in text is none"),
        pytest.param("</details>\n" + "g" * 90, 60, f"</details>\n\n{END}\n", False, id="an end without a start"),
        pytest.param(
            "```\n<details>\n" + "g" * 90, 60, f"```\n<details>\n```\n\n{END}\n", False, id="nor is it in a code block"
        ),
        pytest.param(
            "abc\n<details>\nx\n</details>\n" + "g" * 90,
            30,
            f"abc\n\n{END}\n",
            False,
            id="details that could not be closed are not begun",
        ),
    ],
)
def test_cut(markdown: str, limit: int, written: str, *, whole: bool) -> None:
    assert cut(markdown, limit, END) == Cut(written, whole=whole)


ODD = st.sampled_from(["`", "```", "~~~", "<details>", "</details>", "|", "a", " ", "\u2028", "@name", "é"])
TEXT = st.lists(ODD, max_size=5).map("".join)
PARAGRAPH = st.lists(TEXT, min_size=1, max_size=3).map(lambda texts: "\n".join(map(code, texts)))
TABLE = st.lists(TEXT, max_size=4).map(
    lambda texts: "\n".join(["| a |", "|:--|", *(f"| {cell(text)} |" for text in texts)])
)
FENCED = st.lists(TEXT, max_size=4).map(block)
BLOCKS = st.recursive(
    PARAGRAPH | TABLE | FENCED,
    lambda inner: st.lists(inner, max_size=3).map(
        lambda parts: "\n\n".join(["<details><summary>more</summary>", *parts, "</details>"])
    ),
    max_leaves=8,
)
MARKDOWN = st.lists(BLOCKS, min_size=1, max_size=5).map(lambda blocks: "\n\n".join(blocks) + "\n")


@settings(deadline=None)
@given(MARKDOWN, st.integers(0, 300))
def test_whatever_is_cut_where_nothing_stays_open(markdown: str, limit: int) -> None:
    found = cut(markdown, limit, END)
    assert len(found.written.encode()) <= limit
    assert found.whole is (found.written == markdown)
    if not found.whole and found.written:
        rendered = html_of(found.written)
        assert rendered.endswith("<p><em>Cut here.</em></p>\n")
        assert rendered.count("<details>") == rendered.count("</details>")
        assert markdown.startswith(found.written.removesuffix(f"{END}\n").rstrip("</details>\n`~ "))


@settings(deadline=None)
@given(MARKDOWN, st.integers(20, 300))
def test_no_more_is_left_out_than_must_be(markdown: str, limit: int) -> None:
    """A limit that is larger by a byte never shows less."""
    shown = [cut(markdown, each, END) for each in (limit, limit + 1)]
    lines = [len(found.written.splitlines()) for found in shown if found.written]
    assert lines == sorted(lines) or shown[1].whole
