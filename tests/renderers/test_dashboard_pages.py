"""The pages of a dashboard in a real browser: nothing runs, is loaded or sticks out, and everybody can read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Locator, Page, expect
from tests.renderers.dashboards.memories import record, sha
from tests.renderers.windows import window

from rankgate.metrics.names import parse_metrics
from rankgate.model.values import Verdict
from rankgate.readers.dates import days_after
from rankgate.renderers.dashboards.build import CurveInputs, Remembered, gate_set, page_names
from rankgate.renderers.dashboards.values import Dashboard, GateSet, Questions
from rankgate.renderers.pages.dashboard import site_of

TODAY = "2026-03-01"
HOSTILE = '"><script>hacked = 1</script><img src=x onerror="hacked=1"><svg onload=hacked=1>\u202e{{7*7}}</td></table>'
WIDTHS = (390, 860, 1440)


def dashboard(count: int, text: str = "main") -> Dashboard:
    """So many runs, with all that can be marked; a text that people wrote wherever there is one."""
    verdicts = [Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED, None]
    history = [
        record(
            days_after(TODAY, number - count),
            6 + number % 4,
            commit=text if number == 1 else sha(str(number)),
            branch=text,
            verdict=verdicts[number % 5],
            gold="a" if number < 2 else "b",
        )
        for number in range(count)
    ]
    accepted = [replace(each, reason=text, by=text) for each in history[::4]]
    runs = [each.id for each in history]
    columns = {run: {"recall@1": "3e8" * number + "000" * (3 - number) + "---"} for number, run in enumerate(runs[:4])}
    depths = {run: 10 if number < 3 else 5 for number, run in enumerate(runs[:4])}
    ids = [f"{text} {number}" for number in range(4)]
    found = gate_set(
        text,
        page_names([text])[0],
        text,
        Remembered(history=history, accepted=accepted),
        CurveInputs(metrics=parse_metrics("recall@1,ndcg@10"), limits={"recall@1": [0.7]}, date=TODAY, limit=500),
    )
    found = replace(found, unscored=[text], questions=Questions(ids=ids, columns=columns, depths=depths, more=1))
    return Dashboard(date=TODAY, repository="https://git.example/acme/search", sets=(found,))


@contextmanager
def noted(page: Page, own: str) -> Iterator[list[str]]:
    """What happens on a page that should not."""
    events: list[str] = []
    listeners: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: events.append(message.text),
        "pageerror": lambda error: events.append(str(error)),
        "dialog": lambda dialog: events.append(dialog.message),
        "request": lambda request: None if request.url == own else events.append(request.url),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        yield events
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)


def opened(chromium: Browser, folder: Path, shown: Dashboard, **options: Any) -> Iterator[tuple[Any, list[str]]]:
    """Each page, with what happened that should not: messages, errors, dialogs and requests."""
    pages = site_of(shown)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in pages:
        page = window(chromium, **options)
        with noted(page, (folder / name).as_uri()) as events:
            page.goto((folder / name).as_uri())
            yield page, events


@pytest.mark.parametrize("bypass", [False, True], ids=["with the policy", "without it"])
def test_text_that_anyone_may_have_written_is_only_ever_text(
    chromium: Browser, tmp_path: Path, *, bypass: bool
) -> None:
    seen = 0
    for page, events in opened(chromium, tmp_path, dashboard(6, HOSTILE), bypass_csp=bypass):
        assert page.evaluate("typeof hacked") == "undefined"
        assert page.locator("img, iframe, [onload], [onerror]").count() == 0
        assert page.locator("script").count() == 2 * (not page.url.endswith("index.html")), "ours and its data alone"
        links = page.evaluate("[...document.links].map(link => link.protocol)")
        assert set(links) <= {"file:", "https:"}
        shown = page.inner_text("body")
        assert "<script>hacked = 1</script>" in shown
        assert "\\u202e{{7*7}}" in shown
        assert "\u202e" not in page.content()
        assert events == []
        seen += 1
    assert seen == 2


def test_a_page_whose_text_were_not_escaped_would_be_seen(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f"<p>{HOSTILE}", encoding="utf-8")
    page = window(chromium)
    page.goto((tmp_path / "page.html").as_uri())
    assert page.evaluate("hacked") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_and_axe_finds_nothing(
    chromium: Browser, tmp_path: Path, node_modules: Path, scheme: str
) -> None:
    axe = (node_modules / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    for page, events in opened(chromium, tmp_path, dashboard(40), bypass_csp=True, color_scheme=scheme):
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") == width
        page.evaluate(axe)
        found = page.evaluate("axe.run().then(found => found.violations.map(each => [each.id, each.nodes[0].html]))")
        assert found == []
        assert events == []


@pytest.mark.parametrize(("width", "drawing"), [(390, "narrow"), (860, "wide")])
def test_one_drawing_is_shown_and_its_letters_are_not_too_small(
    chromium: Browser, tmp_path: Path, width: int, drawing: str
) -> None:
    for page, _ in opened(chromium, tmp_path, dashboard(3), viewport={"width": width, "height": 900}):
        for figure in page.locator("figure").all():
            shown = [each for each in figure.locator("div").all() if each.is_visible()]
            assert [each.get_attribute("class") for each in shown] == [f"{drawing}"]
            scale = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
            assert shown[0].locator("svg").evaluate(scale) > 0.9


def test_a_link_to_a_run_marks_its_row_and_the_keyboard_reaches_everything(chromium: Browser, tmp_path: Path) -> None:
    shown = dashboard(3)
    [gate_set_] = shown.sets
    run = gate_set_.runs[0].record.id
    for page, _ in opened(chromium, tmp_path, shown):
        if not page.url.endswith(gate_set_.page):
            continue
        page.goto(f"{page.url}#run-{run}")
        assert page.evaluate("document.querySelector('tr:target').id") == f"run-{run}"
        reached = set()
        for _ in range(80):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
        focusable = page.evaluate(
            "[...document.querySelectorAll('a, summary, [tabindex=\"0\"]')].filter(each => each.checkVisibility())"
            ".map(each => each.outerHTML.slice(0, 80))"
        )
        assert set(focusable) <= reached


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_a_point_names_its_run_and_two_that_are_chosen_say_how_to_compare_them(
    chromium: Browser, tmp_path: Path, way: str
) -> None:
    shown = dashboard(3)
    [gate_set_] = shown.sets
    first, second, third = (run.record for run in gate_set_.runs)

    def choose(curve: Locator, run: str) -> None:
        if way == "mouse":
            curve.locator(f'.wide g[data-run="{run}"] path').click()
        else:
            curve.locator(f'button[data-run="{run}"]').press("Enter")

    for page, events in opened(chromium, tmp_path, shown):
        if not page.url.endswith(gate_set_.page):
            continue
        curve = page.locator(".curve").first
        expect(curve.locator(".diff")).to_be_hidden()
        panel = curve.locator(".picked")
        assert panel.inner_text().startswith("Point at a run")
        curve.locator(f'.wide g[data-run="{third.id}"] path').hover()
        assert panel.inner_text() == f"{third.date}, run {third.id}, commit {str(third.commit)[:7]}: 80.0%"
        curve.locator("summary").click()
        choose(curve, third.id)
        choose(curve, second.id)
        command = f"rankgate compare {second.id} {third.id} --baseline main --criteria main --metrics recall@1"
        lines = panel.inner_text().splitlines()
        assert [line.split(",")[0] for line in lines[:2]] == [second.date, third.date]
        assert (lines[2].split(" was ")[0], lines[-1]) == ("not compared (+10.0 pp)", command)
        said = "By today's gold set 3 questions have a value in both; each counting once, the change is "
        assert lines[3] == f"{said}+33.3 pp."
        expect(curve.locator(".diff h4")).to_have_text(["0 got worse", "1 got better"])
        expect(curve.locator(".diff li")).to_have_text(["main 1 0.000 → 1.000"])
        choose(curve, first.id)
        choose(curve, third.id)
        assert "Not neighbours" in panel.inner_text()
        assert f"compare {first.id} {third.id} " in panel.inner_text()
        expect(curve.locator(".diff li")).to_have_text(["main 0 0.000 → 1.000", "main 1 0.000 → 1.000"])
        assert curve.locator(".wide g.chosen").count() == 2
        assert events == []


def test_runs_that_do_not_compare_question_by_question_say_why(chromium: Browser, tmp_path: Path) -> None:
    """Another depth, no rankings, and a metric of which the page has no values."""
    shown = dashboard(5)
    *_, third, fourth, fifth = (run.record.id for run in shown.sets[0].runs)
    for page, events in opened(chromium, tmp_path, shown):
        if page.url.endswith("index.html"):
            continue
        for number, runs, why in ((0, (third, fourth), "different depths"), (0, (fourth, fifth), "no values question")):
            curve = page.locator(".curve").nth(number)
            for run in runs:
                curve.locator(f'button[data-run="{run}"]').dispatch_event("click")
            expect(curve.locator(".picked")).to_contain_text(why)
            assert curve.locator(".diff li").count() == 0
        assert "those of 1 older one are compared by rankgate compare alone" in page.inner_text("main")
        assert events == []


def test_a_set_without_runs_is_two_readable_pages() -> None:
    empty = gate_set(
        "a", "a.html", "store", Remembered(history=[]), CurveInputs(metrics=[], limits={}, date=TODAY, limit=5)
    )
    pages = site_of(Dashboard(date=TODAY, repository=None, sets=(empty,)))
    assert all("No run has been recorded yet." in page for page in pages.values())
    assert isinstance(empty, GateSet)


@pytest.mark.full
@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["ship-criteria.yaml"], ["ship-criteria.html"]),
        (["config/Search/ship-criteria.yml"], ["config-search-ship-criteria.html"]),
        (["a/b.yaml", "a-b.yaml", "a_b.yaml"], ["a-b.html", "a-b-2.html", "a-b-3.html"]),
        (["a.yaml", "a-2.yaml", "A.yaml"], ["a.html", "a-2.html", "a-3.html"]),
        (["a-2.yaml", "a.yaml", "A.yaml"], ["a-2.html", "a.html", "a-3.html"]),
        (["a.yaml", "A.yaml", "a-2.yaml"], ["a.html", "a-2.html", "a-2-2.html"]),
        (["index.yaml", "été.yaml", "..."], ["gates.html", "t.html", "gates-2.html"]),
    ],
)
def test_every_criteria_file_has_a_page_of_its_own(paths: list[str], names: list[str]) -> None:
    assert page_names(paths) == names
