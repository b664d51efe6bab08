"""The docs site: a broken link stops its build, its search finds words, and no page loads anything from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect
from tests.conftest import PATIENCE

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.full


Site = tuple[str, Path]


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name is the base class's
        pass


class Loaded(HTMLParser):
    """The addresses from which a page loads something by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        named = ["src", "srcset", "data", "poster"]
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            named.append("href")
        self.addresses += [value for name in named if (value := values.get(name))]


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """As scripts/docs does it."""
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def sources(folder: Path) -> Path:
    """A copy of what the site is built from."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The address at which the built site is served, and its folder."""
    folder = sources(tmp_path_factory.mktemp("site"))
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    served = folder / "served"
    built = served / "rankgate"  # as GitHub Pages has it, below the repository's name
    shutil.copytree(folder / "build" / "site", built)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=served)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/rankgate/", built
        server.shutdown()


def test_every_page_is_built(site: Site) -> None:
    pages = {page.relative_to(site[1]).as_posix() for page in site[1].rglob("*.html")}
    sources = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    folders = [page.parent if page.stem in ("index", "README") else page.with_suffix("") for page in sources]
    assert pages == {"404.html"} | {(folder / "index.html").as_posix() for folder in folders}


def test_no_page_has_an_address_to_load_from_elsewhere(site: Site) -> None:
    for page in site[1].rglob("*.html"):
        loaded = Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert loaded.addresses
        assert [url for url in loaded.addresses if urlsplit(url).netloc] == [], page


def test_its_scripts_ask_nothing_of_anybody_else_and_complain_of_nothing(chromium: Browser, site: Site) -> None:
    """On a page of each kind; all have the same scripts."""
    address, _ = site
    pages = ["index.html", "404.html", "metrics/index.html", "decisions/0005-intervals/index.html"]
    context = chromium.new_context()
    requested: list[str] = []
    complaints: list[str] = []
    context.on("request", lambda request: requested.append(request.url))
    context.on("console", lambda message: complaints.append(f"{message.page}: {message.text}"))
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    context.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    for name in pages:
        page.goto(address + name, wait_until="networkidle")
    context.close()
    assert len(requested) > len(pages)
    assert [url for url in requested if not url.startswith((address, "data:", "blob:"))] == []
    assert complaints == []


@pytest.mark.parametrize(("scheme", "shown"), [("light", "comment-light.png"), ("dark", "comment-dark.png")])
def test_the_pictures_follow_the_readers_colours(chromium: Browser, site: Site, scheme: str, shown: str) -> None:
    context = chromium.new_context(color_scheme="dark" if scheme == "dark" else "light")
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(site[0])
    visible = page.locator("article img:visible")
    expect(visible).to_have_count(1)
    expect(visible).to_have_attribute("src", f"images/{shown}#only-{scheme}")
    context.close()


COLOURS = ["color-contrast", "link-in-text-block"]  # the rules that take most of the time
# What the theme does, for it to mend: by rule of axe-core, the elements, and why.
THEMES_OWN = {
    ("color-contrast", ".md-nav__link--active > .md-ellipsis"),  # its colour of the page that is open: 3.75 to 1
    ("landmark-unique", ".md-code__nav"),  # the button that copies stands in a `nav` without a name, in each block
}
DARK = "document.body.setAttribute('data-md-color-scheme', 'slate')"  # as the theme does where a reader prefers it
MATCHES = "(element, selector) => element.matches(selector)"
AXE = """([context, options]) => axe.run(context, options).then((found) =>
  found.violations.flatMap((rule) => rule.nodes.map((node) => [rule.id, node.target.join(' '), node.html])))"""
# What the colours of a text in sight depend on: its element by name and classes, and the two that it lies in. Texts of
# the kinds that are wanted are marked.
KINDS = """(wanted) => {
  const kind = (element) => element && `${element.tagName} ${element.getAttribute('class') ?? ''}`;
  const texts = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility() &&
    [...element.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()));
  const kinds = texts.map((element) =>
    [element, element.parentElement, element.parentElement?.parentElement].map(kind).join(' in '));
  texts.forEach((element, place) => wanted.includes(kinds[place]) && element.setAttribute('data-wanted', ''));
  return [...new Set(kinds)];
}"""


def test_axe_core_finds_nothing_on_any_page_but_what_is_the_themes_own(
    chromium: Browser, site: Site, node_modules: Path
) -> None:
    """Every page by every rule but those of colours; by them each kind of text on some page, in light and in dark."""
    address, built = site
    script = (node_modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    files = sorted(built.rglob("*.html"), key=lambda file: -file.stat().st_size)  # a few have every kind of text
    violations: list[tuple[str, str, str]] = []
    seen: set[tuple[str, str]] = set()
    kinds: set[str] = set()
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.route("**/search.json", lambda route: route.abort())  # of which each page would build an index

    def run(name: str, where: str, options: dict[str, Any]) -> None:
        for rule, target, html in page.evaluate(AXE, [where, {"resultTypes": ["violations"], **options}]):
            theirs = [
                own for own in THEMES_OWN if own[0] == rule and page.locator(target).first.evaluate(MATCHES, own[1])
            ]
            seen.update(theirs)
            if not theirs:
                violations.append((name, rule, html))

    for name in (file.relative_to(built).as_posix() for file in files):
        page.goto(address + name)
        expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "default")
        page.evaluate(script)
        run(name, "html", {"rules": {rule: {"enabled": False} for rule in COLOURS}})
        if new := {*page.evaluate(KINDS, [])} - kinds:
            kinds |= new
            page.evaluate(KINDS, sorted(new))
            page.add_style_tag(content="* { transition: none !important }")  # else a colour is still on its way
            run(f"{name}, light", "[data-wanted]", {"runOnly": COLOURS})
            page.evaluate(DARK)
            run(f"{name}, dark", "[data-wanted]", {"runOnly": COLOURS})
    page.close()
    assert violations == []
    assert seen == THEMES_OWN


NEWCOMERS_ASK = {
    "it failed": "It failed. What now?",
    "thirty questions": "How much do my questions see?",
    "what to commit": "What to commit",
    "gitignore": "What to commit",
    "read the comment": "Read the comment",
    "exit codes": "Exit codes",
    "install": "Install",
    "segments": "Segments and single questions",
    "accept a drop": "How a deliberate drop gets in",
    "baseline": "Baselines and history",
    "flaky": "How much does the system move by itself?",
    "re-chunk": "Gold that survives re-chunking",
    "answers": "Answers and a judge",
    "unlabelled": "Questions without labels",
    "forks": "Forks",
    "GitLab": "Other CI: GitLab, Bitbucket, Azure DevOps",
    "ragas": "From other tools",
    "promptfoo": "From other tools",
    "OpenSearch": "OpenSearch or Elasticsearch",
    "ndcg": "ndcg",
    "saddlepoint": "Intervals without resampling",
}


def test_its_search_finds_what_newcomers_ask(chromium: Browser, site: Site) -> None:
    """Among the first results."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(site[0], wait_until="networkidle")
    search = page.get_by_role("combobox", name="Search")
    while not search.is_visible():  # the page may not listen yet
        page.keyboard.press("Control+k")
        page.wait_for_timeout(100)
    for words, found in NEWCOMERS_ASK.items():
        search.fill(words)
        expect(page.get_by_role("option").filter(has_text=found).first).to_be_visible()
    context.close()


def test_a_link_to_no_page_and_one_to_no_heading_stop_the_build_and_are_named(tmp_path: Path) -> None:
    folder = sources(tmp_path)
    with (folder / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n[a page](none.md)\n\n[a heading](base.md#none)\n")
    done = build(folder)
    assert done.returncode != 0
    printed = done.stdout + done.stderr
    assert {*re.findall(r"(\w+) does not exist", printed)} == {"page", "anchor"}
