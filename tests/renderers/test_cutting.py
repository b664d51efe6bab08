"""Markdown cut to a limit: at a line, with everything closed, and saying that something is missing."""

import re
from itertools import takewhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.renderers.page import Page

from rankgate.renderers.cutting import cut_before

LEFT_OUT = "Left out to fit; the whole is in `report.json`."
FILLER = [f"line {number} of filler" for number in range(200)]


def cut(text: str, limit: int) -> str:
    return cut_before(text, limit, LEFT_OUT)


def cut_within(*lines: str) -> str:
    """The text, cut somewhere in the filler that follows the given lines."""
    text = cut("\n".join([*lines, *FILLER]) + "\n", 2_000)
    assert "line 3 of filler" in text
    return text


def closing(text: str) -> list[str]:
    """What stands between the last line of filler and the line that says what is missing."""
    kept = text.removesuffix(f"\n\n{LEFT_OUT}\n").splitlines()
    last = max(index for index, line in enumerate(kept) if "of filler" in line)
    return [line for line in kept[last + 1 :] if line]


def test_what_fits_stays_as_it_is() -> None:
    assert cut("a\n```\nopen\n", 12) == "a\n```\nopen\n"


def test_a_cut_text_has_as_many_lines_as_fit_and_says_that_some_are_missing() -> None:
    text = cut("\n".join(FILLER) + "\n", 2_000)
    assert text.endswith(f"\n\n{LEFT_OUT}\n")
    kept = text.removesuffix(f"\n\n{LEFT_OUT}\n").splitlines()
    assert kept == FILLER[: len(kept)]
    assert 2_000 - len(text) <= len(FILLER[100])


def test_the_limit_is_in_bytes() -> None:
    assert len(cut("\n".join("é" * 20 for _ in FILLER), 2_000).encode()) <= 2_000


@pytest.mark.parametrize(
    ("lines", "closed"),
    [
        pytest.param(["```"], ["```"], id="a fence"),
        pytest.param(["````sh", "```"], ["````"], id="a fence with a shorter one inside"),
        pytest.param(["~~~"], ["~~~"], id="a fence of tildes"),
        pytest.param(["  ```"], ["  ```"], id="a fence set in"),
        pytest.param(["    ```"], [], id="a fence that is code itself"),
        pytest.param(["``` `x`"], [], id="code spans at the start of a line"),
        pytest.param(["```", "x", "```"], [], id="a closed fence"),
        pytest.param(["```", "x", "``` y"], ["```"], id="what does not close a fence"),
        pytest.param(["<!--"], ["-->"], id="a comment"),
        pytest.param(["<!-- a -->"], [], id="a closed comment"),
        pytest.param(["<pre>", "", "```"], ["</pre>"], id="preformatted text"),
        pytest.param(["<details>", "<summary>x</summary>", ""], ["</details>"], id="details"),
        pytest.param(["<details><details open>", ""], ["</details>", "</details>"], id="details in details"),
        pytest.param(["<DETAILS>", "</details>", ""], [], id="closed details"),
        pytest.param(["<details>", "", "```"], ["```", "</details>"], id="a fence in details"),
        pytest.param(["a `<details>` b"], [], id="details in a code span"),
        pytest.param(["```", "<details>", "```"], [], id="details in a fence"),
        pytest.param(["<!-- <details> -->"], [], id="details in a comment"),
        pytest.param(["<table>", "<tr><td>", ""], ["</td>", "</tr>", "</table>"], id="a table"),
        pytest.param(["- item", "  <details>", "", "  </details>"], [], id="closed details in a list item"),
        pytest.param(["- ```", "  code"], [], id="a fence that ends with its list item"),
        pytest.param(["> ```"], [], id="a fence that ends with its quotation"),
    ],
)
def test_what_is_open_where_the_cut_falls_is_closed(lines: list[str], closed: list[str]) -> None:
    text = cut_within(*lines)
    assert closing(text) == closed
    page = Page(text)
    assert page.plain.rstrip().endswith("Left out to fit; the whole is in .")
    assert page.code[-1] == "report.json"


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(["- item", "  ```"], id="in a list item"),
        pytest.param(["1. ```"], id="at the start of a list item"),
        pytest.param(["- item", "", "  <details>", ""], id="not a fence but details"),
    ],
)
def test_what_is_open_within_a_list_item_is_left_out_whole(before: list[str]) -> None:
    text = cut("\n".join(["first", "", *before, *(f"   {line}" for line in FILLER)]), 2_000)
    assert "of filler" not in text
    assert text.startswith("first\n")
    assert Page(text).code[-1] == "report.json"


def test_nothing_is_kept_of_a_first_line_that_is_too_long() -> None:
    assert cut("x" * 3_000, 2_000) == f"{LEFT_OUT}\n"


def test_a_limit_too_small_for_that_line_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no comment fits into 20"):
        cut("x" * 3_000, 20)


BLOCKS = st.sampled_from(
    [
        *(
            "words",
            "* a\n* b",
            "- a\n  - b\n\n  more",
            "1. a",
            "> quoted",
            "| a | b |\n|--|--|\n| 1 | 2 |",
            "# head",
            "---",
        ),
        *("```sh\ncode\n```", "~~~~\n```\n~~~~", "- item\n  ```\n  code\n  ```", "> ```\n> code\n> ```"),
        *(
            "- ```\n  a\n\n  b\n  ```\n- next",
            "    indented\n    ```",
            "<!-- hidden\n\n``` -->",
            "<pre>\n\n```\n</pre>",
        ),
        *("`<details>` as code", "<div align=center>\n\nx\n\n</div>", "a <!-- <details> --> b", "``` `a` ```"),
        *("<table>\n<tr><td>\n\n```\ncell\n```\n\n</td></tr>\n</table>",),
    ]
)


def in_details(inner: str) -> str:
    return f"<details>\n<summary>more</summary>\n\n{inner}\n\n</details>"


TEXTS = st.recursive(BLOCKS, lambda inner: st.lists(inner, max_size=6).map(lambda many: in_details("\n\n".join(many))))


class Shown(Page):
    """Whether the last paragraph stands free: in no code, no details and no list."""

    where: frozenset[str] = frozenset()

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if "Left out to fit" in data:
            self.where = frozenset(self._open)


@given(st.lists(TEXTS, min_size=1, max_size=10), st.integers(150, 600))
@example([in_details("```sh\ncode\n```")] * 20, 150)
def test_wherever_a_text_is_cut_its_last_line_stands_free(blocks: list[str], limit: int) -> None:
    whole = "\n\n".join(blocks) + "\n"
    text = cut(whole, limit)
    assert len(text) <= limit
    if len(whole) <= limit:
        assert text == whole
        return
    assert Shown(text).where == {"p"}
    assert text.endswith(f"{LEFT_OUT}\n")
    kept = f"\n\n{text}".removesuffix(f"\n\n{LEFT_OUT}\n").lstrip("\n").split("\n")
    same = list(takewhile(lambda pair: pair[0] == pair[1], zip(kept, whole.split("\n"), strict=False)))
    assert all(re.fullmatch(r"`*|~*|-->|</\w+>", line) for line in kept[len(same) :]), "nothing but what closes"
