"""report.html in a real browser: every scenario's page loads nothing, logs nothing, fits, and is usable by everyone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.scenario_calls import CHECKS, make_page

from rankgate.cli import main

LOOKS = [(390, "light"), (860, "dark"), (1440, "light"), (1440, "dark"), (390, "dark")]
# Pages with every kind of section between them; axe-core sees these at every width, in light and in dark.
TELLING = ("anchor_drift", "not_judged", "one_language", "waiver")


@pytest.fixture(scope="module")
def opened(browser: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield chromium
        chromium.close()


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
        self.context = browser.new_context(bypass_csp=bypass_csp, **options)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def axe(page: Page, node_modules: Path) -> list[str]:
    """What axe-core calls serious or critical, and where; a picture is one thing to it, as to a reader."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=node_modules / "axe-core" / "axe.min.js")
    found = page.evaluate("axe.run({exclude: [['svg g']]}, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("name", CHECKS)
def test_a_page_loads_nothing_says_nothing_and_fits_a_phone(name: str, opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages[name], viewport={"width": 390, "height": 800}) as seen:
        wide = seen.page.evaluate("document.documentElement.scrollWidth")
        assert (seen.said, seen.asked, wide) == ([], [pages[name].as_uri()], 390)


@pytest.mark.parametrize("name", CHECKS)
def test_axe_core_finds_nothing_serious(name: str, opened: Browser, pages: Pages, node_modules: Path) -> None:
    looks = LOOKS if name in TELLING else LOOKS[:1]
    with Seen(opened, pages[name], bypass_csp=True) as seen:
        for width, scheme in looks:
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            assert axe(seen.page, node_modules) == [], (width, scheme)


def test_axe_core_finds_nothing_serious_with_everything_open(opened: Browser, pages: Pages, node_modules: Path) -> None:
    with Seen(opened, pages["one_language"], bypass_csp=True) as seen:
        seen.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert axe(seen.page, node_modules) == []


def test_headings_go_down_one_level_at_a_time(opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages["anchor_drift"]) as seen:
        levels = seen.page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((each) => +each.tagName[1])")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))


def shown(page: Page) -> list[str]:
    """The ids of the questions that are visible."""
    return page.locator("#misses > .miss:visible .faint code").all_inner_texts()


def test_filters_narrow_the_questions_and_say_how_many_are_left(opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages["fail"]) as seen:
        page, status = seen.page, seen.page.get_by_role("status").filter(has_text="shown")
        assert shown(page) == ["q7", "q4"]
        assert status.inner_text() == "2 of 2 questions shown"

        page.locator("select[name=cause]").select_option(label="gone (1)")
        assert (shown(page), status.inner_text()) == (["q7"], "1 of 2 questions shown")

        page.locator("select[name=tag]").select_option(label="lang:en (1)")
        assert (shown(page), status.inner_text()) == ([], "0 of 2 questions shown")

        page.get_by_role("button", name="Clear").click()
        expect(page.locator("#shown")).to_have_text("2 of 2 questions shown")
        assert shown(page) == ["q7", "q4"]

        page.locator("input[name=text]").fill("BREAD-LIST")  # an expected document, in other letters
        expect(page.locator("#shown")).to_have_text("1 of 2 questions shown")
        assert shown(page) == ["q4"]
        assert seen.said == []


def test_the_keyboard_reaches_the_filters_and_opens_a_ranking(opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages["fail"]) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.locator("select[name=tag]").focus()
        for expected in ("cause", "text"):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.name") == expected
        page.keyboard.type("azucar")
        expect(page.locator("#shown")).to_have_text("1 of 2 questions shown")
        for _ in range(4):  # both buttons, the causes, the first question
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        row = page.locator("#misses > .miss:visible")
        assert row.locator("details").evaluate("(each) => each.open")
        assert row.locator(".ranking .title").all_inner_texts() == ["Baseline", "Now"]
        assert row.locator(".right .mark").first.inner_text().endswith("right")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"


def test_without_scripts_everything_is_shown_and_nothing_pretends_to_work(opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages["fail"], java_script_enabled=False) as seen:
        assert seen.page.locator("#misses > .miss:visible").count() == 2
        assert not seen.page.locator("#filters").is_visible()
        assert not seen.page.locator("#copy").is_visible()
        assert "rankgate check --criteria" in seen.page.locator("#command").inner_text()


def test_the_command_is_copied(opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages["fail"], permissions=["clipboard-read", "clipboard-write"]) as seen:
        seen.page.locator("#copy").click()
        expect(seen.page.locator("#copied")).to_have_text("Copied")
        assert seen.page.evaluate("navigator.clipboard.readText()") == seen.page.locator("#command").inner_text()


def test_paper_has_every_ranking_open_and_the_screen_has_them_as_they_were(opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages["fail"]) as seen:
        page, closed = seen.page, "document.querySelectorAll('details:not([open])').length"
        before = page.evaluate(closed)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(closed) == 0
        assert page.locator(".ranking").first.is_visible()
        assert not page.locator("#filters").is_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(closed) == before > 0
        assert page.pdf().startswith(b"%PDF-")
        assert seen.said == []


def test_paper_is_white_whatever_the_screen_is(opened: Browser, pages: Pages) -> None:
    with Seen(opened, pages["fail"], color_scheme="dark") as seen:
        background = "getComputedStyle(document.body).backgroundColor"
        assert seen.page.evaluate(background) == "rgb(15, 18, 22)"
        seen.page.emulate_media(media="print", color_scheme="dark")
        assert seen.page.evaluate(background) == "rgb(255, 255, 255)"


def test_no_table_is_cut_on_paper(opened: Browser, pages: Pages) -> None:
    """A4 at 96 dots an inch, less the usual margins."""
    with Seen(opened, pages["one_language"], viewport={"width": 720, "height": 1000}) as seen:
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


@pytest.mark.parametrize("bypass_csp", [pytest.param(False, id="with our policy"), pytest.param(True, id="without it")])
def test_hostile_text_in_every_field_of_gold_and_run_is_only_text(
    opened: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, bypass_csp: bool
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
    with Seen(opened, page, bypass_csp=bypass_csp, viewport={"width": 390, "height": 800}) as seen:
        seen.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert seen.page.evaluate("window.hacked") is None
        assert (seen.said, seen.asked) == ([], [page.as_uri()])
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
        assert seen.page.locator("img, iframe, script, b").count() == 1  # our own script
        text = seen.page.locator("body").inner_text()
        assert HOSTILE[0] in text
        assert "\u202e" not in text
