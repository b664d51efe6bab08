#!/usr/bin/env python3
"""Write the pictures of the README: comment and page of the demo's harmful change, light and dark.

    scripts/make_comment_picture.py [DIR]      DIR is docs/images by default

The comment is as GitHub shows it. `report-light.png` and `report-dark.png` are report.html at a question that lost a
document, opened. Beside them it writes `comment.txt`, the Markdown of the comment without the contents of closed
sections. A test compares that file with the comment of today's demo. It needs a Chromium on the
search path and the stylesheet of github-markdown-css; `scripts/test --all` installs both.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cmarkgfm
import nh3
from cmarkgfm.cmark import Options
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
STYLES = ROOT / ".node" / "node_modules" / "github-markdown-css"
SHOWN = "q-pt-007"  # a question of the demo that lost its document
RANKGATE = (sys.executable, "-m", "rankgate")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

# What GitHub's sanitiser lets through, as html-pipeline documents it.
TAGS = set(
    re.findall(
        r"\w+",
        "h1 h2 h3 h4 h5 h6 br b i strong em a pre code img tt div ins del sup sub p picture ol ul table thead tbody "
        "tfoot blockquote dl dt dd kbd q samp var hr ruby rt rp li tr td th s strike summary details caption figure "
        "figcaption abbr bdo cite dfn mark small source span time wbr",
    )
)
EVERYWHERE = set(
    re.findall(
        r"[\w-]+",
        "abbr accept accept-charset accesskey action align alt aria-describedby aria-hidden aria-label "
        "aria-labelledby axis border char charoff charset checked clear cols colspan compact coords datetime dir "
        "disabled enctype for frame headers height hreflang hspace id ismap itemprop label lang maxlength media method "
        "multiple name nohref noshade nowrap open progress prompt readonly rev role rows rowspan rules scope selected "
        "shape size span start summary tabindex title type usemap valign value width",
    )
)
ATTRIBUTES = {"*": EVERYWHERE, "a": {"href"}, "img": {"src", "longdesc", "loading", "alt"}, "pre": {"lang"}}

# Not every machine has a font with emoji, so the one that a failing comment shows is drawn.
CROSS = (
    "<svg width='1em' height='1em' viewBox='0 0 16 16' style='vertical-align:-.125em'>"
    "<path d='M3 3l10 10M13 3L3 13' stroke='#dd2e44' stroke-width='3' stroke-linecap='round'/></svg>"
)
# The frame around a comment: border, background of its header, text beside the author, the page behind it.
FRAMES = {"light": ("#d1d9e0", "#f6f8fa", "#59636e", "#ffffff"), "dark": ("#3d444d", "#151b23", "#9198a1", "#0d1117")}


def as_github_shows_it(markdown: str) -> str:
    """The HTML that GitHub's parser and allow-list make of a comment."""
    parsed = cmarkgfm.github_flavored_markdown_to_html(
        markdown, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_GITHUB_PRE_LANG
    )
    return nh3.clean(parsed, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https", "mailto"})


def demo_in(folder: Path) -> Path:
    """What the demo leaves."""
    command = [*RANKGATE, "demo", "demo", "--answers"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "demo"


def demo_comment(demo: Path, page: Path) -> str:
    """The comment on the demo's harmful change, without what its closed sections hold; its page goes to a file."""
    text = (demo / "out" / "harmful" / "comment.md").read_text(encoding="utf-8")
    check = [*RANKGATE, "check", "--run", "runs/harmful.jsonl", "-o", str(page)]
    subprocess.run(check, cwd=demo, check=False, capture_output=True)  # the verdict is its exit code
    return re.sub(r"(?<=</summary>\n).*?(?=</details>)", "", text, flags=re.DOTALL)


def page(comment: str, theme: str) -> str:
    """A page with nothing but the comment in its frame."""
    border, header, author, behind = FRAMES[theme]
    stylesheet = (STYLES / f"github-markdown-{theme}.css").read_text(encoding="utf-8")
    return f"""<!doctype html><meta charset="utf-8"><style>{stylesheet}
body {{ margin: 0; background: {behind}; }}
main {{ width: 860px; box-sizing: border-box; border: 1px solid {border}; border-radius: 6px; overflow: hidden; }}
header {{ padding: 8px 16px; background: {header}; border-bottom: 1px solid {border}; color: {author}; }}
header {{ font: 14px/1.5 Helvetica, Arial, sans-serif; }}
header i {{ font-style: normal; font-size: 12px; border: 1px solid {border}; border-radius: 2em; padding: 0 7px; }}
.markdown-body {{ padding: 16px; font-size: 14px; }}
</style><main><header><b>github-actions</b> <i>bot</i> commented</header>
<article class="markdown-body">{as_github_shows_it(comment).replace("❌", CROSS)}</article></main>"""


def main() -> int:
    """Write the pictures and their text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, default=IMAGES, help="default: docs/images")
    folder: Path = parser.parse_args().folder
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or not STYLES.is_dir():
        print("This needs a Chromium and .node; `scripts/test --all` installs both.", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        report = Path(scratch) / "report.html"
        comment = demo_comment(demo_in(Path(scratch)), report)
        (folder / "comment.txt").write_text(comment, encoding="utf-8")
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        shown = opened.new_page(device_scale_factor=2, viewport={"width": 900, "height": 700})
        for theme in FRAMES:
            shown.set_content(page(comment, theme))
            shown.locator("main").screenshot(path=folder / f"comment-{theme}.png")
        for theme in FRAMES:
            wide = opened.new_page(viewport={"width": 1200, "height": 760}, color_scheme=theme)  # type: ignore[arg-type]
            wide.goto(f"{report.as_uri()}#q={SHOWN}")
            wide.locator("#misses > .target").wait_for()
            wide.screenshot(path=folder / f"report-{theme}.png")
        opened.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
