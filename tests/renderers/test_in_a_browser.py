"""The comment as a browser lays it out: GitHub's parser, allow-list, stylesheet and width, with every section open."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.renderers.windows import window as window_of

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from make_comment_picture import as_github_shows_it

SCENARIOS = Path(__file__).parents[1] / "scenarios"
COMMENTS = sorted(SCENARIOS.glob("*/expected/comment.md"))

# The stylesheet is that of a README; a comment's letters are smaller.
IN_A_COMMENT = "body { margin: 0; } .markdown-body { box-sizing: border-box; padding: 24px; font-size: 14px; }"

# What the page measures of itself. A table of GitHub's scrolls where it is too wide.
MEASURE = """() => {
const article = document.querySelector("article");
const edge = article.getBoundingClientRect().right - parseFloat(getComputedStyle(article).paddingRight) + 1;
const wide = [...document.querySelectorAll("article *:not(pre *)")].filter(
  (element) => element.getBoundingClientRect().right > edge
);
const clipped = [...document.querySelectorAll("table")].filter((table) => table.scrollWidth > table.clientWidth);
return {
  styled: getComputedStyle(article).fontSize,
  page: document.documentElement.scrollWidth,
  tables: document.querySelectorAll("table").length,
  wide: wide.map((element) => element.outerHTML.slice(0, 80)),
  clipped: clipped.map((table) => table.rows[0].innerText),
};
}"""


def measured_page(markdown: str, stylesheet: str) -> str:
    """The page of one comment, with every section open."""
    opened = as_github_shows_it(markdown).replace("<details>", "<details open>")
    return (
        f"<!doctype html><meta charset='utf-8'><style>{stylesheet}\n{IN_A_COMMENT}</style>"
        f"<article class='markdown-body'>{opened}</article>"
    )


@pytest.fixture(scope="module")
def window(chromium: Browser) -> Page:
    return window_of(chromium, viewport={"width": 860, "height": 1200})


def laid_out(window: Page, node_modules: Path, markdown: str) -> dict[str, Any]:
    """What the page measured of itself."""
    stylesheet = node_modules / "github-markdown-css" / "github-markdown-light.css"
    window.set_content(measured_page(markdown, stylesheet.read_text(encoding="utf-8")))
    found: dict[str, Any] = window.evaluate(MEASURE)
    return found


@pytest.mark.parametrize("comment", [pytest.param(path, id=path.parts[-3]) for path in COMMENTS])
def test_nothing_sticks_out_of_a_comment_and_no_table_is_clipped(
    window: Page, node_modules: Path, comment: Path
) -> None:
    text = comment.read_text(encoding="utf-8")
    tables = len(re.findall(r"^\|:--", text, re.MULTILINE))
    measured = laid_out(window, node_modules, text)
    assert measured == {"styled": "14px", "page": 860, "tables": tables, "wide": [], "clipped": []}


def test_a_table_that_is_too_wide_is_seen(window: Page, node_modules: Path) -> None:
    measured = laid_out(window, node_modules, f"| {' | '.join(['&nbsp;' * 60] * 5)} |\n{'|:--' * 5}|\n")
    assert measured["clipped"] != []
    assert measured["wide"] != []


@pytest.mark.full
def test_what_github_strips_is_stripped_before_it_is_looked_at() -> None:
    shown = as_github_shows_it("<div style='width: 2000px' class=x>a<blink>b</blink></div><!-- c -->\n")
    assert shown.strip() == "<div>ab</div>"
