"""Untrusted text, held against GitHub's own parser: shown as it is, and nothing in it or around it comes alive."""

import html

import pytest
from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.renderers.escape import Text, one_line, shorten, unhidden
from rankgate.renderers.markdown_text import block, cell, code, markdown

ZERO_WIDTH_JOINERS = "\u200c\u200d"

PIECES = (
    *(
        "`",
        "``",
        "```",
        "````",
        "`" * 90,
        " ` ",
        "~~~",
        "\\",
        "\\\\",
        "|",
        "\\|",
        "\\\\|",
        "|\n|--|\n|",
        "*",
        "**",
        "_",
        "~~",
    ),
    *("@octocat", "@org/team", "a@b.co", "#1", "org/repo#1", "https://e.example/x", "www.e.example", "<http://e.co>"),
    *("[a](http://e.example)", "![a](http://e.example/a.png)", "[a]: http://e.example", "[^1]", "- [ ] ", "# ", "> "),
    *("<img src=x>", "<script>", "</code>", "</td></tr></table>", "</details>", "<!--", "-->", "<br>", "<b", 'a="b"'),
    *("&", "&amp;", "&#64;", "&lt;", "'", '"', "::error::x", "##[error]x", "%0A", "{{ 7 * 7 }}", "$x$"),
    *("\n", "\r\n", "\n\n", "\t", " ", "\xa0", "\u3000", "\u2028", "\x85"),
    *("\x00", "\x07", "\x1b[31m", "\x7f", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\U000e0041", "\ud800"),
    *("e\u0301", "👩‍💻", "🏳️‍🌈", "می‌خواهم", "漢字", "question", "1"),
)
ODD_CHARACTERS = st.characters(categories=["Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp", "Mn", "Sk", "Po"])
TEXT = st.lists(st.sampled_from(PIECES) | ODD_CHARACTERS | st.text(max_size=3), max_size=12).map("".join)


def html_of(markdown: str) -> str:
    """What GitHub's parser makes of it; raw HTML is let through, so that any that slips in is seen."""
    return str(github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))


def shown(text: str) -> str:
    """The code span that a reader should see, as HTML."""
    seen = one_line(text, 200)
    named = seen if seen.strip() else '""'
    return f"<code>{escaped(named)}</code>"


def escaped(text: str) -> str:
    return html.escape(text, quote=False).replace('"', "&quot;")


@given(TEXT)
@example("``` js")
@example("`")
@example(" a ")
@example("\\`")
@example("`" * 80 + " @octocat")
@example("`" * 300)
@example("` `` " + "`" * 120 + " a@b.co")
def test_code_in_a_paragraph_shows_the_text_and_nothing_else(text: str) -> None:
    assert html_of(f"before {code(text)} after") == f"<p>before {shown(text)} after</p>\n"


@given(TEXT)
@example("```")
@example("a\n\nb")
def test_code_at_the_start_of_a_line_begins_nothing_else(text: str) -> None:
    assert html_of(f"{code(text)}\n\nafter") == f"<p>{shown(text)}</p>\n<p>after</p>\n"


@given(TEXT)
@example("- a\n- b")
@example("```")
def test_code_in_a_list_item_keeps_the_list(text: str) -> None:
    rendered = html_of(f"- {code(text)}: after\n  - {code(text)}\n- last\n")
    inner = f"<ul>\n<li>{shown(text)}</li>\n</ul>\n"
    assert rendered == f"<ul>\n<li>{shown(text)}: after\n{inner}</li>\n<li>last</li>\n</ul>\n"


@given(TEXT)
@example("a|b")
@example("a\\|b")
@example("a\\\\|b")
@example("|")
@example("`|`")
@example("\\")
def test_cell_keeps_the_columns_of_its_table(text: str) -> None:
    rendered = html_of(f"| A | B | C |\n|:--|--|--:|\n| one | {cell(Text(text))} | two |\n")
    first, last = '<td align="left">one</td>', '<td align="right">two</td>'
    assert rendered.partition("<tbody>\n")[2] == (
        f"<tr>\n{first}\n<td>{shown(text)}</td>\n{last}\n</tr>\n</tbody>\n</table>\n"
    )


@pytest.mark.full
@given(st.lists(TEXT.filter(str.strip), min_size=2, max_size=4))
@example(["```", "[a](http://e.example)"])
def test_texts_that_touch_are_spans_of_their_own(texts: list[str]) -> None:
    assert html_of(markdown(tuple(map(Text, texts)))) == f"<p>{' '.join(map(shown, texts))}</p>\n"


@pytest.mark.full
@given(st.lists(TEXT, min_size=1, max_size=5))
@example(["```", "after"])
@example(["`````", "~~~"])
@example(["</details>", ""])
def test_block_cannot_be_closed_from_inside(lines: list[str]) -> None:
    inside = "".join(f"{escaped(one_line(line))}\n" for line in lines)
    assert html_of(f"{block(lines, 'sh')}\n\nafter") == f'<pre lang="sh"><code>{inside}</code></pre>\n<p>after</p>\n'


def test_a_fence_is_never_longer_than_the_parser_counts() -> None:
    assert block(["`" * 300, "@octocat"]) == f"{'`' * 200}\n{'`' * 199}…\n@octocat\n{'`' * 200}"
    assert html_of(block(["`" * 300, "@octocat"])) == f"<pre><code>{'`' * 199}…\n@octocat\n</code></pre>\n"


def test_block_without_a_language_has_a_plain_fence() -> None:
    assert block(["ls", "a ```` b"]) == "`````\nls\na ```` b\n`````"


@each_row(
    ("text", "expected"),
    [
        pytest.param("what is 1+1?", "what is 1+1?", id="plain text stays"),
        pytest.param("a\n\n  b\tc\r\nd", "a b c d", id="white space is folded"),
        pytest.param("a\xa0b\u3000c\u2028d", "a b c d", id="other white space too"),
        pytest.param("a\x00b\x1b[31mc\x7f", "a\\u0000b\\u001b[31mc\\u007f", id="control characters"),
        pytest.param("a\u202eb\u2066c", "a\\u202eb\\u2066c", id="bidi characters"),
        pytest.param("a\u200bb\ufeffc\u00add", "a\\u200bb\\ufeffc\\u00add", id="zero width and soft hyphen"),
        pytest.param("\U000e0041", "\\ue0041", id="tag characters beyond four digits"),
        pytest.param("\ue000\ud800", "\\ue000\\ud800", id="private use and half of a surrogate pair"),
        pytest.param("👩‍💻 می‌خواهم", "👩‍💻 می‌خواهم", id="joiners that scripts and emoji need"),
        pytest.param("⚠️ é", "⚠️ é", id="a variation selector of an emoji and an accent"),
        pytest.param("a\u3164b\u115fc\uffa0", "a\\u3164b\\u115fc\\uffa0", id="fillers that look like nothing"),
        pytest.param("a\u2800b\u17b4", "a\\u2800b\\u17b4", id="more of them"),
        pytest.param("e" + "\u0301" * 7, "e" + "\u0301" * 5 + "\\u0301" * 2, id="marks that cover other lines"),
        pytest.param("ש\u05bc\u05c1\u05b8\u0596", "ש\u05bc\u05c1\u05b8\u0596", id="as many marks as people write"),
        pytest.param("a\U000e0100b", "a\\ue0100b", id="selectors that can hide a message"),
    ],
)
def test_visible(text: str, expected: str) -> None:
    assert one_line(text) == expected


@given(TEXT)
def test_visible_hides_nothing_and_stays_on_one_line(text: str) -> None:
    seen = one_line(text)
    assert [char for char in seen if not char.isprintable() and char not in ZERO_WIDTH_JOINERS] == []
    assert seen.splitlines() in ([seen], [])


@given(TEXT)
def test_visible_twice_is_visible_once(text: str) -> None:
    assert one_line(one_line(text)) == one_line(text)


@given(st.text(st.sampled_from("aก\u0e48\u0301\u20dd\u200d\u2800…\u202e ")))
@example("e" + "\u0301" * 5)
@example("e" + "\u0301" * 6)
def test_a_text_with_nothing_hidden_is_shown_as_sign_by_sign(text: str) -> None:
    """A control character makes every sign be looked at."""
    assert unhidden(f"{text}\n") == f"{unhidden(text)}\\u000a"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("abc", 5, "abc", id="shorter"),
        pytest.param("abcde", 5, "abcde", id="just fits"),
        pytest.param("abcdef", 5, "abcd…", id="cut"),
        pytest.param("ab  cdef", 5, "ab…", id="no space before the ellipsis"),
        pytest.param("abc", 1, "…", id="room for the ellipsis only"),
        pytest.param("", 5, "", id="nothing"),
    ],
)
def test_shorten(text: str, limit: int, expected: str) -> None:
    assert shorten(text, limit) == expected


@given(TEXT, st.integers(1, 30))
def test_shorten_keeps_within_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == text or text.startswith(short.removesuffix("…"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("doc-3", "`doc-3`", id="an id"),
        pytest.param("a `b`", "`` a `b` ``", id="a backtick at the end is padded"),
        pytest.param("a `` b", "```a `` b```", id="a longer fence than any inside"),
        pytest.param("`" * 79 + "a", f"{'`' * 80} {'`' * 79}a {'`' * 80}", id="the longest fence that is one"),
        pytest.param("`" * 80 + "a", f"` {'`' * 80}a `", id="beyond it the shortest that no run inside has"),
        pytest.param(f"`a``b{'`' * 90}", f"``` `a``b{'`' * 90} ```", id="and the shortest of all may be taken"),
        pytest.param("", '`""`', id="empty text is named"),
        pytest.param(" \n ", '`""`', id="white space too"),
        pytest.param(7, "`7`", id="not text"),
        pytest.param("a" * 201, f"`{'a' * 199}…`", id="cut at 200"),
    ],
)
def test_code(text: object, expected: str) -> None:
    assert code(text) == expected


def test_a_limit_cuts_before_escaping() -> None:
    assert code("abc|def", 4) == "`abc…`"
    assert cell(Text("|||||", 4)) == cell(Text("|||||"), 4) == "`\\|\\|\\|…`"
