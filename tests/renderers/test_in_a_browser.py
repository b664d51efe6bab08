"""The comment as a browser lays it out: as wide as on GitHub, with every section opened, nothing sticks out."""

import html
import re
import subprocess
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios").glob("*/expected/comment.md"))

# What decides the layout on GitHub: the width of a comment, its font size, padded cells, code that scrolls by itself.
STYLE = """
body { margin: 0; padding: 24px; font: 14px/1.5 sans-serif; }
main { max-width: 812px; overflow-wrap: break-word; }
table { border-collapse: collapse; width: max-content; max-width: 100%; }
td, th { border: 1px solid; padding: 6px 13px; }
pre { overflow: auto; padding: 16px; }
code { font-family: monospace; font-size: 85%; }
"""
# Written into the page once it is laid out, for --dump-dom to print.
MEASURE = """
const wide = [...document.querySelectorAll("main *:not(pre *)")].filter(
  (element) => element.getBoundingClientRect().right > document.querySelector("main").getBoundingClientRect().right + 1
);
document.title = JSON.stringify({
  tables: document.querySelectorAll("table").length,
  wide: wide.map((element) => element.outerHTML.slice(0, 80)),
});
"""


def laid_out(browser: str, folder: Path, markdown: str) -> str:
    """The title that the page gave itself once it was laid out."""
    body = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    opened = body.replace("<details>", "<details open>")
    page = folder / "page.html"
    page.write_text(
        f"<!doctype html><meta charset='utf-8'><style>{STYLE}</style><main>{opened}</main><script>{MEASURE}</script>",
        encoding="utf-8",
    )
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    alone = ["--disable-component-update", "--disable-sync", "--disable-quic"]
    command = [browser, *quiet, *alone, f"--user-data-dir={folder / 'profile'}", "--window-size=860,1200", "--dump-dom"]
    dumped = subprocess.run(
        [*command, page.as_uri()], capture_output=True, encoding="utf-8", timeout=120, check=True
    ).stdout
    title = re.search(r"<title>(.*?)</title>", dumped, re.DOTALL)
    assert title is not None, dumped[:500]
    return html.unescape(title[1])


@pytest.mark.parametrize("comment", [pytest.param(path, id=path.parts[-3]) for path in SCENARIOS])
def test_nothing_sticks_out_of_a_comment(browser: str, tmp_path: Path, comment: Path) -> None:
    text = comment.read_text(encoding="utf-8")
    tables = len(re.findall(r"^\|:--", text, re.MULTILINE))
    assert laid_out(browser, tmp_path, text) == f'{{"tables":{tables},"wide":[]}}'


def test_what_sticks_out_is_seen(browser: str, tmp_path: Path) -> None:
    assert laid_out(browser, tmp_path, '<div style="width: 2000px">wide</div>') != '{"tables":0,"wide":[]}'
