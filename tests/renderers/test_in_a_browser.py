"""The comment as a browser lays it out: GitHub's parser, allow-list, stylesheet and width, with every section open."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from make_comment_picture import as_github_shows_it

SCENARIOS = Path(__file__).parents[1] / "scenarios"
COMMENTS = sorted(SCENARIOS.glob("*/expected/comment.md"))

# The stylesheet is that of a README; a comment's letters are smaller.
IN_A_COMMENT = "body { margin: 0; } .markdown-body { box-sizing: border-box; padding: 24px; font-size: 14px; }"

# Written into the page once it is laid out, for --dump-dom to print. A table of GitHub's scrolls where it is too wide.
MEASURE = """
const article = document.querySelector("article");
const edge = article.getBoundingClientRect().right - parseFloat(getComputedStyle(article).paddingRight) + 1;
const wide = [...document.querySelectorAll("article *:not(pre *)")].filter(
  (element) => element.getBoundingClientRect().right > edge
);
const clipped = [...document.querySelectorAll("table")].filter((table) => table.scrollWidth > table.clientWidth);
document.title = JSON.stringify({
  styled: getComputedStyle(article).fontSize,
  page: document.documentElement.scrollWidth,
  tables: document.querySelectorAll("table").length,
  wide: wide.map((element) => element.outerHTML.slice(0, 80)),
  clipped: clipped.map((table) => table.rows[0].innerText),
});
"""


def measured_page(markdown: str, stylesheet: str) -> str:
    """The page of one comment, with every section open."""
    opened = as_github_shows_it(markdown).replace("<details>", "<details open>")
    return (
        f"<!doctype html><meta charset='utf-8'><style>{stylesheet}\n{IN_A_COMMENT}</style>"
        f"<article class='markdown-body'>{opened}</article><script>{MEASURE}</script>"
    )


def laid_out(browser: str, node_modules: Path, folder: Path, markdown: str) -> dict[str, Any]:
    """What the page measured of itself."""
    stylesheet = node_modules / "github-markdown-css" / "github-markdown-light.css"
    page = folder / "page.html"
    page.write_text(measured_page(markdown, stylesheet.read_text(encoding="utf-8")), encoding="utf-8")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    alone = ["--disable-component-update", "--disable-sync", "--disable-quic", f"--user-data-dir={folder / 'profile'}"]
    command = [browser, *quiet, *alone, "--window-size=860,1200", "--hide-scrollbars", "--dump-dom", page.as_uri()]
    dumped = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True).stdout
    title = re.search(r"<title>(.*?)</title>", dumped, re.DOTALL)
    assert title is not None, dumped[:500]
    found: dict[str, Any] = json.loads(html.unescape(title[1]))
    return found


@pytest.mark.parametrize("comment", [pytest.param(path, id=path.parts[-3]) for path in COMMENTS])
def test_nothing_sticks_out_of_a_comment_and_no_table_is_clipped(
    browser: str, node_modules: Path, tmp_path: Path, comment: Path
) -> None:
    text = comment.read_text(encoding="utf-8")
    tables = len(re.findall(r"^\|:--", text, re.MULTILINE))
    measured = laid_out(browser, node_modules, tmp_path, text)
    assert measured == {"styled": "14px", "page": 860, "tables": tables, "wide": [], "clipped": []}


def test_a_table_that_is_too_wide_is_seen(browser: str, node_modules: Path, tmp_path: Path) -> None:
    measured = laid_out(browser, node_modules, tmp_path, f"| {' | '.join(['&nbsp;' * 60] * 5)} |\n{'|:--' * 5}|\n")
    assert measured["clipped"] != []
    assert measured["wide"] != []


def test_what_github_strips_is_stripped_before_it_is_looked_at() -> None:
    shown = as_github_shows_it("<div style='width: 2000px' class=x>a<blink>b</blink></div><!-- c -->\n")
    assert shown.strip() == "<div>ab</div>"
