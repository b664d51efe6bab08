"""report.html in a real browser: every scenario's page loads nothing, logs nothing, fits, and is usable by everyone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.renderers.windows import window
from tests.scenario_calls import CHECKS, make_page

from rankgate.cli import main

LOOKS = [(390, "light"), (1280, "dark"), (1280, "light"), (390, "dark")]
# Pages with every kind of section between them, which axe-core looks at: in one width by light, in the other by dark.
SUGGESTION_ORDER = {"trend": LOOKS[:2], "not_judged": LOOKS[:2], "one_language": LOOKS[2:], "waiver": LOOKS[2:]}
# On a narrow screen: numbers in sight without a label beside them, or beyond the edge.
UNLABELLED = """[...document.querySelectorAll('td')].filter((cell) => cell.checkVisibility() &&
  (!cell.dataset.label || cell.getBoundingClientRect().right > innerWidth)).map((cell) => cell.outerHTML)"""


class Pages(dict[str, Path]):
    """Each scenario's page, made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> Path:
        self[name] = make_page(name, self._folder)
        return self[name]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))


class Seen:
    """A page, and what it did beside showing itself."""

    def __init__(self, browser: Browser, path: Path, *, bypass_csp: bool = False, **options: Any) -> None:
        self.page: Page = window(browser, bypass_csp=bypass_csp, **options)
        self.said: list[str] = []
        self.asked: list[str] = []
        self._listeners: dict[Any, Callable[[Any], None]] = {
            "console": lambda message: self.said.append(message.text),
            "pageerror": lambda error: self.said.append(str(error)),
            "dialog": lambda dialog: self.said.append(dialog.message),
            "request": lambda request: self.asked.append(request.url),
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)
        self.page.goto(path.as_uri())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)


def axe(page: Page, node_modules: Path) -> list[str]:
    """What axe-core finds, of any level, and where; a picture is one thing to it, as to a reader."""
    if not page.evaluate("'axe' in window"):
        page.evaluate((node_modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({exclude: [['svg g']]}, {resultTypes: ['violations']})")
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def sheets(page: Page) -> int:
    """How many sheets of A4 the page is on paper."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


@pytest.mark.parametrize("name", CHECKS)
def test_a_page_loads_nothing_says_nothing_fits_a_phone_and_is_four_sheets_at_most(
    name: str, chromium: Browser, pages: Pages, node_modules: Path
) -> None:
    with Seen(chromium, pages[name], viewport={"width": 390, "height": 800}) as seen:
        page = seen.page
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.evaluate(UNLABELLED) == []
        for width, scheme in SUGGESTION_ORDER.get(name, ()):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            assert axe(page, node_modules) == [], (width, scheme)
        assert (seen.said, seen.asked) == ([], [pages[name].as_uri()])
        assert 1 <= sheets(page) <= 4


def test_axe_core_finds_nothing_with_everything_open(chromium: Browser, pages: Pages, node_modules: Path) -> None:
    with Seen(chromium, pages["one_language"], bypass_csp=True) as seen:
        seen.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        expect(seen.page.locator("#misses .rankings")).to_have_count(seen.page.locator("#misses > .miss").count())
        assert axe(seen.page, node_modules) == []


def test_headings_go_down_one_level_at_a_time(chromium: Browser, pages: Pages) -> None:
    with Seen(chromium, pages["trend"]) as seen:
        levels = seen.page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((each) => +each.tagName[1])")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))


def test_without_scripts_the_page_says_where_the_questions_are_and_nothing_pretends_to_work(
    chromium: Browser, pages: Pages
) -> None:
    with Seen(chromium, pages["fail"], java_script_enabled=False) as seen:
        assert "rankgate explain" in seen.page.locator("noscript").inner_text()
        assert not seen.page.locator("#filters").is_visible()
        assert not seen.page.locator(".copy:visible").count()
        assert "rankgate check --criteria" in seen.page.locator("#origins ~ .command").inner_text()
        assert seen.page.locator(".misses.paper > .miss").first.is_visible()


def test_the_next_command_is_copied(chromium: Browser, pages: Pages) -> None:
    with Seen(chromium, pages["fail"], permissions=["clipboard-read", "clipboard-write"]) as seen:
        line = seen.page.locator(".verdict .line").inner_text()
        seen.page.locator(".verdict .copy").click()
        expect(seen.page.locator("#copied")).to_have_text("Copied")
        assert seen.page.evaluate("navigator.clipboard.readText()") == line
        assert line.startswith("rankgate explain ")


def test_paper_has_the_worst_questions_and_nothing_to_press(chromium: Browser, pages: Pages) -> None:
    with Seen(chromium, pages["fail"]) as seen:
        page = seen.page
        page.emulate_media(media="print")
        assert page.locator(".misses.paper > .miss .question").all_inner_texts() == [
            "¿tienen pan sin azúcar?",
            "which breads have nuts in them",
        ]
        assert not page.locator("#filters, #misses, #pager, button").locator("visible=true").count()
        assert seen.said == []


def test_paper_is_white_whatever_the_screen_is(chromium: Browser, pages: Pages) -> None:
    with Seen(chromium, pages["fail"], color_scheme="dark") as seen:
        background = "getComputedStyle(document.body).backgroundColor"
        assert seen.page.evaluate(background) == "rgb(15, 18, 22)"
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert seen.page.evaluate(background) == "rgb(255, 255, 255)"


def test_no_table_is_cut_on_paper(chromium: Browser, pages: Pages) -> None:
    """A4 at 96 dots an inch, less the usual margins."""
    with Seen(chromium, pages["one_language"], viewport={"width": 720, "height": 1000}) as seen:
        seen.page.emulate_media(media="print")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 720


HOSTILE = [
    "<script>window.hacked = 1</script>",
    "\"><img src=x onerror='window.hacked = 1'>",
    "</script></style></title></svg><svg onload=window.hacked=1>",
    "]]><!-- --><b>bold</b>",
    "javascript:window.hacked=1",
    "{{ 7 * 7 }}{% raw %}",
    "datum['x'] [0].y\\u0027",
    "line\nbreak\u202eleft\u2066 \u0000 nul",
    "עברית العربية 🥐👩‍🍳",
    'role="img" id="content" url(#clip0)',
    "x" * 10_000,
]


def compared(folder: Path, segments: int, *, text: str = "") -> Path:
    """The page of two runs over so many segments, of growing losses, with names of their own or hostile ones."""
    gold, before, after = [], [], []
    for part in range(segments):
        tag = f"{HOSTILE[part % len(HOSTILE)]}{part}" if text else f"team/search:a_long-segment.name_{part:02}"
        for number in range(8):
            query = f"{text}{part}-{number}"
            gold.append({"id": query, "expected_output": ["a"], "metadata": {"tags": [tag]}})
            before.append({"query_id": query, "retrieved": ["a", "x"]})
            after.append({"query_id": query, "retrieved": ["x"] if number * segments < 8 * part else ["a", "x"]})
    for name, lines in (("gold", gold), ("before", before), ("after", after)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    files = [str(folder / f"{name}.jsonl") for name in ("before", "after", "gold")]
    assert main(["compare", *files[:2], "--gold", files[2], "-o", str(folder / "diff.html")]) == 0
    return folder / "diff.html"


def fits(chromium: Browser, page: Path, node_modules: Path, examined: int) -> str:
    """The text of a page that asks for nothing, says nothing, fits every width and has no finding of axe-core.

    Pages are `examined` by axe-core in the first few looks, long ones in one.
    """
    with Seen(chromium, page, bypass_csp=True) as seen:
        for place, (width, scheme) in enumerate(LOOKS):
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            assert seen.page.evaluate("document.documentElement.scrollWidth") == width
            assert width > 390 or seen.page.evaluate(UNLABELLED) == []
            assert place >= examined or axe(seen.page, node_modules) == [], (width, scheme)
        assert (seen.said, seen.asked) == ([], [page.as_uri()])
        return seen.page.locator("body").inner_text()


@pytest.mark.parametrize("segments", [1, 60])
def test_two_runs_compared_have_a_page_without_a_verdict(
    segments: int, chromium: Browser, tmp_path: Path, node_modules: Path
) -> None:
    text = fits(chromium, compared(tmp_path, segments), node_modules, examined=2 if segments == 1 else 1)
    assert text.partition("\n")[0] == "Skip to content"
    assert "B against A: recall@5 " in text
    assert f"name_{segments - 1:02}" in text
    assert ("20 more segments are left out" in text) is (segments == 60)
    assert not set(text.split()) & {"PASS", "WARN", "FAIL", "Gates"}


def test_two_runs_compared_with_hostile_names(chromium: Browser, tmp_path: Path, node_modules: Path) -> None:
    text = fits(chromium, compared(tmp_path, 2 * len(HOSTILE), text=HOSTILE[0]), node_modules, examined=1)
    assert "hacked = 1" in text
    assert "\u202e" not in text


@pytest.mark.parametrize("name", ["cranfield"])
def test_runs_of_real_collections_compared(name: str, chromium: Browser, tmp_path: Path, node_modules: Path) -> None:
    data = next(iter(sorted(Path(__file__).resolve().parents[4].glob(f"*/data/{name}"))), None)
    if data is None:
        pytest.skip(f"the collection {name} is not at hand")
    page = tmp_path / "diff.html"
    runs = [str(data / "runs" / f"{run}.jsonl") for run in ("bm25", "bm25_trunc30")]
    assert main(["compare", *runs, "--gold", str(data / "gold.jsonl"), "-o", str(page)]) == 0
    assert "questions worse" in fits(chromium, page, node_modules, examined=1)


@pytest.mark.parametrize("bypass_csp", [pytest.param(False, id="with our policy"), pytest.param(True, id="without it")])
def test_hostile_text_in_every_field_of_gold_and_run_is_only_text(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, bypass_csp: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    gold, before, after = [], [], []
    for number in range(4 * len(HOSTILE)):
        text = HOSTILE[number % len(HOSTILE)]
        query, right = f"{text} {number}", f"right {text} {number}"
        gold.append(
            {
                "id": query,
                "input": {"question": text},
                "expected_output": [right],
                "metadata": {"tags": [text, f"lang:{text}", "all"]},
            }
        )
        ranked = [right, *(f"{other} {number}" for other in HOSTILE)]
        facts = {"system": text, "index_version": text}
        before.append({"query_id": query, "retrieved": ranked, **facts})
        after.append({"query_id": query, "retrieved": ranked[1:] if number % 3 else ranked, **facts})
    for name, lines in (("gold", gold), ("before", before), ("after", after)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "ship-criteria.yaml").write_text(
        "gates:\n"
        "  - {name: '<script>window.hacked=1</script>', metric: recall@5, regression_max: 0.03,\n"
        "     segments: {by: lang, threshold: 0.5}}\n"
        "  - {name: mrr, regression_max: 0.05, must_pass: [all], max_lost_queries: 0}\n"
    )
    inputs = ["--gold", "gold.jsonl", "--run", "after.jsonl", "--baseline", "before.jsonl"]
    assert main(["check", *inputs, "-o", "report.html"]) == 1
    page = tmp_path / "report.html"
    with Seen(chromium, page, bypass_csp=bypass_csp, viewport={"width": 390, "height": 800}) as seen:
        seen.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        expect(seen.page.locator("#misses .rankings")).to_have_count(seen.page.locator("#misses > .miss").count())
        assert seen.page.evaluate("window.hacked") is None
        assert (seen.said, seen.asked) == ([], [page.as_uri()])
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
        assert seen.page.locator("img, iframe, b").count() == 0
        assert seen.page.locator("script").count() == 3  # our own, its data, and a block of lists
        text = seen.page.locator("body").inner_text()
        assert HOSTILE[0] in text
        assert "\u202e" not in text
