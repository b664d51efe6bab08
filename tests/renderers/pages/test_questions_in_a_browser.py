"""The list of questions in a real browser: found, filtered, linked to, opened, printed, and safe with hostile text."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect
from tests.renderers.pages.exhibits import details_of, question_of
from tests.renderers.pages.test_report_in_a_browser import HOSTILE, Seen, axe, sheets
from tests.renderers.reports import MOVE, RECALL, REPORT
from tests.report_keys import with_keys

from rankgate.model.details import Cause, Expected, Listed, Question
from rankgate.renderers.pages.questions import page_questions
from rankgate.renderers.pages.report import LIMITS, render_report

LANGUAGES = ("en", "zh", "es")


def questions(count: int) -> list[Question]:
    """Some got worse, the first the most, one in seven got better; three languages, and a word that losses share."""
    made = []
    for number in range(count):
        lost = number % 3 == 1
        now = number / (2 * count) if lost else 1.0
        before = 0.5 if number % 7 == 0 and not lost else 1.0
        cause = Cause.GONE if lost else Cause.BETTER if before < now else Cause.FINE
        question = question_of(f"q{number}", cause, before, now, tags=(f"lang:{LANGUAGES[number % 3]}", f"n:{number}"))
        text = f"Where is order {number}{' refunded' if lost else ''}, Señor Müller?"
        made.append(replace(question, question=text))
    return made


def written(path: Path, *listed: Question, texts: tuple[dict[str, str], dict[str, str]] = ({}, {})) -> Path:
    page = path / "report.html"
    details = replace(details_of(*listed), texts=texts)
    page.write_text(render_report(with_keys(REPORT, details=details)), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def page_of_120(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("list"), *questions(120))


def shown(page: Page) -> list[str]:
    """The ids of the questions that are listed."""
    return page.locator("#misses > .miss .what a").all_text_contents()


def unfold(page: Page) -> None:
    """Opens the lists of the first question; a browser has them drawn a moment later."""
    page.locator("#misses summary").first.click()
    expect(page.locator("#misses .rankings").first).to_be_visible()


def status(page: Page) -> str:
    return page.locator("#shown").inner_text()


def test_every_question_is_listed_ten_at_a_time_the_worst_first(chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        page = seen.page
        listed = shown(page)
        assert (len(listed), listed[:2], status(page)) == (10, ["q1", "q4"], "1 to 10 of 120 questions")
        assert page.get_by_role("button", name="Previous").is_disabled()
        page.get_by_role("button", name="Next").click()
        assert page.url.endswith("#page=2")
        assert page.locator("#misses").get_attribute("start") == "11"
        second = shown(page)
        while page.get_by_role("button", name="Next").is_enabled():
            listed += shown(page)
            page.get_by_role("button", name="Next").click()
        assert (status(page), len(shown(page))) == ("111 to 120 of 120 questions", 10)
        assert {*listed, *shown(page)} == {f"q{number}" for number in range(120)}
        for _ in range(10):
            page.go_back()
        expect(page.locator("#pager span")).to_have_text("Page 2 of 12")
        assert shown(page) == second
        assert seen.said == []


def test_segments_that_the_menu_has_no_room_for_are_counted_and_found_by_name(
    chromium: Browser, tmp_path: Path
) -> None:
    with Seen(chromium, written(tmp_path, *questions(250))) as seen:
        options = seen.page.locator("select[name=tag] option")
        assert options.count() == 1 + 200 + 1
        assert options.last.inner_text() == "53 rarer segments: find them by their name"
        assert options.last.is_disabled()
        seen.page.get_by_role("searchbox").fill("n:249")
        expect(seen.page.locator("#shown")).to_have_text("1 question, of 250")


def test_filters_stand_in_the_address_and_back_undoes_them(chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        page = seen.page
        page.locator("select[name=tag]").select_option(label="lang:zh (40)")
        assert status(page) == "1 to 10 of 40 questions, of 120"
        assert page.url.endswith("#tag=lang%3Azh")
        page.locator("select[name=way]").select_option(label="worse (40)")
        page.locator("select[name=sort]").select_option("id")
        assert shown(page)[:3] == ["q1", "q4", "q7"]  # numbers as numbers: q7 before q10
        page.get_by_role("searchbox").fill("REFUNDED senor 112")
        expect(page.locator("#shown")).to_have_text("1 question, of 120")
        address = page.url
        page.get_by_role("button", name="Clear").click()
        assert (status(page), page.url.partition("#")[2]) == ("1 to 10 of 120 questions", "")
        page.go_back()
        expect(page.locator("#shown")).to_have_text("1 question, of 120")
        assert page.get_by_role("searchbox").input_value() == "REFUNDED senor 112"
        assert page.locator("select[name=tag]").input_value() == "lang:zh"
    with Seen(chromium, page_of_120) as again:
        again.page.goto(address)
        again.page.reload()
        assert status(again.page) == "1 question, of 120"


@pytest.mark.parametrize(
    ("order", "first"),
    [
        pytest.param("", ["q1", "q4"], id="the worst first"),
        pytest.param("change", ["q1", "q4"], id="by change, the largest loss first"),
        pytest.param("value", ["q1", "q4"], id="by value, the worst first"),
        pytest.param("id", ["q0", "q1"], id="by id"),
    ],
)
def test_the_order_stands_in_the_address(order: str, first: list[str], chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        seen.page.goto(f"{page_of_120.as_uri()}#sort={order}")
        assert shown(seen.page)[:2] == first
        assert seen.page.locator("select[name=sort]").input_value() == order


def test_what_losses_share_is_a_link_to_exactly_them(chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        page = seen.page
        page.locator(".shared summary").click()
        said = " ".join(page.locator(".shared").inner_text().split())
        assert "lang:zh 40 of 40 got worse, 100.0% beyond chance" in said
        assert "gone 40 of the 40 losses" in said
        assert "refunded 40 of 40 got worse, 100.0% beyond chance" in said
        for name in ("lang:zh", "gone", "refunded"):
            page.locator(".shared").get_by_role("link", name=name, exact=True).click()
            expect(page.locator("#shown")).to_have_text("1 to 10 of 40 questions, of 120")
        assert page.url.endswith("#word=refunded&way=worse")
        page.go_back()
        expect(page.locator("select[name=cause]")).to_have_value("gone")


@pytest.mark.parametrize("hash_", ["#tag=unknown", "#cause=unknown", "#way=unknown", "#word=unknown", "#text=zzz"])
def test_an_address_that_fits_no_question_says_so(hash_: str, chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        seen.page.goto(page_of_120.as_uri() + hash_)
        assert (shown(seen.page), status(seen.page), seen.said) == ([], "0 questions, of 120", [])


@pytest.mark.parametrize(
    "hash_", ["#page=999", "#page=-3", "#page=x", "#%", "#=&=&", "#constructor=1&__proto__=2", "#q"]
)
def test_an_address_that_makes_no_sense_shows_the_list(hash_: str, chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        seen.page.goto(page_of_120.as_uri() + hash_)
        assert shown(seen.page)
        assert seen.said == []


def test_links_to_sections_leave_the_list_as_it_is(chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        page = seen.page
        page.locator("select[name=tag]").select_option("lang:es")
        page.get_by_role("link", name="What was compared").click()
        assert page.url.endswith("#origins")
        assert status(page) == "1 to 10 of 40 questions, of 120"


HOSTILE_IDS = [
    *HOSTILE,
    "100%",
    "%41",
    "a&b=c#d+e f",
    "q=1&tag=x",
    "'\"`",
    "../../etc/passwd",
    "two  blanks",
    " ",
    "question?",
]


def test_every_question_has_a_link_of_its_own_whatever_its_id(chromium: Browser, tmp_path: Path) -> None:
    listed = [question_of(each, Cause.GONE, 1.0, number / 100) for number, each in enumerate(HOSTILE_IDS)]
    filler = [question_of(f"filler {number}", Cause.GONE, 1.0, 0.0) for number in range(20)]
    page_file = written(tmp_path, *listed, *filler)
    names = [
        each
        for each in page_questions(details_of(*listed, *filler), REPORT).head["id"]
        if not each.startswith("filler")
    ]
    with Seen(chromium, page_file) as seen:
        page = seen.page
        for raw, name in zip(HOSTILE_IDS, names, strict=True):
            wanted = {quote(raw, safe=""), quote(name, safe="")} if len(raw) < 300 else {quote(name, safe="")}
            for address in wanted:
                page.evaluate(
                    "(hash) => { location.hash = hash; dispatchEvent(new Event('hashchange')); }", f"#q={address}"
                )
                target = page.locator("#misses > .target")
                assert target.locator(".what a").evaluate("(each) => each.textContent") == name
                assert target.locator("details").evaluate("(each) => each.open")
                top = target.bounding_box()
                assert top is not None
                assert 0 <= top["y"] < 200
                assert target.locator("summary").evaluate("(each) => each === document.activeElement")
        link = page.locator("#misses > .miss .what a").first
        named = link.inner_text()
        link.click()
        expect(page.locator("#misses > .target .what a")).to_have_text(named)
        assert page.evaluate("window.hacked") is None
        assert seen.said == []


def test_an_id_that_no_question_has_is_named(chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        seen.page.goto(f"{page_of_120.as_uri()}#q=q999")
        assert status(seen.page) == "No question has the id q999. 1 to 10 of 120 questions"


def test_the_keyboard_finds_a_question_and_opens_it(chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.get_by_role("searchbox").focus()
        page.keyboard.type("order 118")
        expect(page.locator("#shown")).to_have_text("1 question, of 120")
        assert page.get_by_role("searchbox").evaluate("(each) => each === document.activeElement")
        for _ in range(8):  # five choices, the button, the question's link, its lists
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        row = page.locator("#misses > .miss")
        expect(row.locator(".ranking .title")).to_have_text(["Baseline", "Now"])  # drawn once it is open
        assert row.locator("details").evaluate("(each) => each.open")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_both_lists_stand_side_by_side_and_say_what_left_what_came_and_what_moved(
    chromium: Browser, tmp_path: Path
) -> None:
    def listed(*names: str) -> tuple[Listed, ...]:
        return tuple(Listed(id=name, gain={"right": 2.0, "deep": 1.0, "wrong": 0.0}.get(name)) for name in names)

    question = replace(
        question_of("q", Cause.GONE, 1.0, 0.0, tags=("lang:de",)),
        question="Wie heißt der Bürgermeister von 東京都?",
        expected=(
            Expected(id="right", gain=2.0, before=1, after=None),
            Expected(id="deep", gain=1.0, before=3, after=37),
        ),
        before=listed("right", "stays", "deep", "wrong"),
        now=listed("wrong", "stays", "new"),
    )
    before = {
        "right": "Der BÜRGERMEISTER heißt nicht Burger.",
        "stays": "別の東京都の文章",
        "deep": "line one\nline two",
    }
    page_file = written(tmp_path, question, texts=(before, {"new": "بورغ", "stays": "other words now"}))
    with Seen(chromium, page_file, viewport={"width": 1440, "height": 900}) as seen:
        page = seen.page
        unfold(page)
        sides = page.locator("#misses .ranking")
        said = [[" ".join(each.split()) for each in side.locator("li").all_inner_texts()] for side in sides.all()]
        assert said == [
            [
                "right ✓ relevant, gain 2; left the first 10 Der BÜRGERMEISTER heißt nicht Burger.",
                "stays 別の東京都の文章",
                "deep ✓ relevant; rank 3 → 37 line one line two",
                "wrong judged not relevant; rank 4 → 1",
            ],
            [
                "wrong judged not relevant; rank 4 → 1",
                "stays other words now",
                "new new: not in the first 10 before بورغ",
            ],
        ]
        assert sides.locator("mark").all_inner_texts() == ["Der", "BÜRGERMEISTER", "heißt"]  # in what is relevant
        parts = [" ".join(each.split()) for each in page.locator("#misses .part").all_inner_texts()]
        assert parts == [
            (
                "The relevant documents right rank 1 → gone, gain 2 Der BÜRGERMEISTER heißt nicht Burger. "
                "deep rank 3 → 37 line one line two"
            ),
            "In its place now rank 1: wrong rank 3: new بورغ",
        ]
        boxes = [box for box in (side.bounding_box() for side in sides.all()) if box]
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        assert boxes[1]["x"] + boxes[1]["width"] > 1200  # the width is used
        assert sides.last.locator(".passage").last.evaluate("(each) => getComputedStyle(each).direction") == "rtl"
        assert seen.said == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == 390


LONG = "corpus/2026-01/handbook_for_drivers/chapter-12/section-4.3/paragraph-17#chunk-0042"


def test_a_long_id_keeps_its_end_in_sight_and_is_whole_to_copy_and_on_focus(chromium: Browser, tmp_path: Path) -> None:
    question = question_of("q", Cause.GONE, 1.0, 0.0)
    question = replace(question, now=(Listed(id=LONG, gain=None),), before=())
    with Seen(chromium, written(tmp_path, question), viewport={"width": 390, "height": 800}) as seen:
        page = seen.page
        unfold(page)
        name = page.locator("#misses .ranking .name")
        folded = name.bounding_box()
        page.evaluate("(each) => getSelection().selectAllChildren(each)", name.element_handle())
        assert page.evaluate("getSelection().toString()") == LONG
        assert name.get_attribute("title") == LONG
        assert name.locator(".mid").evaluate("(each) => getComputedStyle(each, '::before').content") == '"…"'
        assert name.locator(".mid").evaluate("(each) => getComputedStyle(each).fontSize") == "0px"
        name.focus()
        assert name.locator(".mid").evaluate("(each) => parseFloat(getComputedStyle(each).fontSize)") > 8
        unfolded = name.bounding_box()
        assert folded is not None
        assert unfolded is not None
        assert unfolded["height"] > folded["height"]
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_hostile_passages_are_only_text(chromium: Browser, tmp_path: Path) -> None:
    texts = {f"d{number}": f"{text} word" for number, text in enumerate([*HOSTILE, "\ud800", "y" * 1_000_000])}
    listed = tuple(Listed(id=each, gain=1.0) for each in texts)
    made = replace(question_of("q", Cause.GONE, 1.0, 0.0), question="<b>word</b>", now=listed, before=listed)
    page_file = written(tmp_path, made, texts=(texts, texts))
    with Seen(chromium, page_file, bypass_csp=True, viewport={"width": 390, "height": 800}) as seen:
        page = seen.page
        unfold(page)
        assert page.locator("#misses .passage").count() == 2 * len(texts)
        assert page.locator("#misses mark").count() >= 2
        assert page.locator("#misses").locator("script, img, b, svg, iframe").count() == 0
        assert page.evaluate("window.hacked") is None
        assert "\\u202e" in page.locator("#misses").inner_text()
        assert "\u202e" not in page.locator("#misses").inner_text()
        assert (seen.said, seen.asked) == ([], [page_file.as_uri()])
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page_file.stat().st_size < 500_000


def folded(text: str) -> str:
    """What the search compares: without regard to case, to accents and to the width of letters."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", text) if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", bare).lower()


def slow_search(listed: Sequence[Question], wanted: str) -> list[str]:
    """All words, in any order, each somewhere in the id, the text or a tag."""
    return [
        each.query_id
        for each in listed
        if all(
            any(word in folded(part) for part in (each.query_id, each.question or "", *each.tags))
            for word in folded(wanted).split()
        )
    ]


VOCABULARY = ["refund", "Zürich", "zurich", "ПЛАТЁЖ", "платеж", "東京都", "京", "λόγος", "שלום", "q-1", "1", "İstanbul"]
VOCABULARY += ["straße", "STRASSE", "x_y", "lang:zh", "naïve", "e", "ﬁne", "가나", "가", "हिन्दी", "\uff30\uff21\uff39"]


def test_the_search_finds_what_a_slow_search_finds(chromium: Browser, tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 -- a test's data
    listed = []
    for number in range(40):
        tags = tuple(chance.sample(VOCABULARY, 2))
        text = " ".join(chance.sample(VOCABULARY, 4))
        listed.append(
            replace(question_of(f"{chance.choice(VOCABULARY)}-{number}", Cause.GONE, tags=tags), question=text)
        )
    letters = st.text(st.sampled_from("".join(VOCABULARY)), min_size=1, max_size=3)
    wanted: list[str] = ["", "   ", "refund zurich", "zurich refund", "[.*", "\\d"]

    @given(st.lists(st.sampled_from(VOCABULARY) | letters, min_size=1, max_size=3))
    @settings(database=None)
    def collect(words: list[str]) -> None:
        wanted.append(" ".join(words))

    collect()
    search = """(all) => all.map((words) => {
        const form = document.getElementById('filters');
        form.elements.text.value = words;
        form.requestSubmit();
        const listed = [];
        const next = document.querySelector('#pager button:last-child');
        for (;;) {
            listed.push(...[...document.querySelectorAll('#misses > .miss .what a')].map((each) => each.textContent));
            if (document.getElementById('pager').hidden || next.disabled) return listed;
            next.click();
        }
    })"""
    with Seen(chromium, written(tmp_path, *listed)) as seen:
        found = seen.page.evaluate(search, wanted)
        assert seen.said == []
    assert [sorted(each) for each in found] == [sorted(slow_search(listed, each)) for each in wanted]
    assert any(found[len(VOCABULARY) :])
    assert not all(len(each) == len(listed) for each in found)


def test_labels_of_the_page_are_not_searched(chromium: Browser, page_of_120: Path) -> None:
    with Seen(chromium, page_of_120) as seen:
        for word in ("gone", "rank", "both", "right"):
            seen.page.goto(f"{page_of_120.as_uri()}#text={word}")
            assert shown(seen.page) == [], word


def test_axe_core_finds_nothing_in_the_list_open_closed_and_filtered(
    chromium: Browser, page_of_120: Path, node_modules: Path
) -> None:
    with Seen(chromium, page_of_120, bypass_csp=True) as seen:
        page = seen.page
        filtered = "#tag=lang:zh&way=worse"
        for hash_, width in ((filtered, 1440), (filtered, 390), ("#q=q1", 390), ("#text=nothing", 1440)):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="dark" if width == 390 else "light")
            page.goto(page_of_120.as_uri() + hash_)
            assert axe(page, node_modules) == [], (hash_, width)


def test_paper_of_the_largest_report_is_at_most_four_sheets_with_the_worst_questions(
    chromium: Browser, tmp_path: Path
) -> None:
    listed = [replace(each, question="a long question " * 25) for each in questions(1000)]
    gates = [replace(RECALL, segment=f"lang:{number}", meaning="long " * 50) for number in range(LIMITS.numbers)]
    moves = [replace(MOVE, query_id=f"q{n}", question="a long question " * 25) for n in range(30)]
    report = with_keys(REPORT, gates=gates, details=details_of(*listed), notes=["a note " * 40] * 5, misses=moves)
    page_file = tmp_path / "report.html"
    page_file.write_text(render_report(report), encoding="utf-8")
    with Seen(chromium, page_file) as seen:
        page = seen.page
        assert 2 <= sheets(page) <= 4
        page.emulate_media(media="print")
        worst = page.locator(".misses.paper > .miss")
        assert sum(each.is_visible() for each in worst.all()) == 10
        assert "1,000 questions, with both rankings" in page.locator(".paper.key").inner_text()
        assert seen.said == []


def test_a_page_of_five_thousand_holds_every_question(chromium: Browser, tmp_path: Path) -> None:
    page_file = written(tmp_path, *questions(5000))
    with Seen(chromium, page_file) as seen:
        page = seen.page
        assert status(page) == "1 to 10 of 5,000 questions"
        assert page.locator("#misses > .miss").count() == 10
        page.goto(f"{page_file.as_uri()}#q=q4998")
        assert page.locator("#misses > .target .what a").inner_text() == "q4998"
        expect(page.locator("#misses > .target .ranking li").first).to_be_visible()  # of the last block
        page.goto(f"{page_file.as_uri()}#way=better")
        better = sum(number % 7 == 0 and number % 3 != 1 for number in range(5000))
        assert status(page) == f"1 to 10 of {better} questions, of 5,000"
        assert json.loads(page.locator("#question-data").inner_text())["id"][0] == "q1"
        assert (seen.said, len(seen.asked)) == ([], 1)


def test_a_browser_that_cannot_open_blocks_says_so_and_lists_the_questions(
    chromium: Browser, page_of_120: Path
) -> None:
    with Seen(chromium, page_of_120) as seen:
        page = seen.page
        page.add_init_script("delete window.DecompressionStream; delete Intl.Segmenter;")
        page.reload()
        assert len(shown(page)) == 10
        expect(page.locator("#misses .expected li").first).to_have_text(
            "this browser cannot open the lists: they are compressed"
        )
        page.locator("#misses summary").first.click()
        assert seen.said == []
