"""The sheet as a page: labelled by keys and buttons, blind until a question is done, and what it gives back."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Browser, expect
from tests.renderers.pages.test_report_in_a_browser import HOSTILE, Seen, axe

from rankgate.collecting.traffic import head_of, read_sheet, rows_of
from rankgate.model.traffic_lists import TrafficPair, TrafficQuestion, TrafficSheet
from rankgate.readers.base import ProblemLog
from rankgate.renderers.pages.sheet import render_sheet

SHEET = TrafficSheet(n=2, run="0123456789abcdef", baseline="fedcba9876543210")
HEAD = head_of(SHEET)


def written(folder: Path, text: str = "how long?") -> Path:
    """Two questions of two documents each, one in either list."""
    pairs = [
        TrafficPair(
            question=TrafficQuestion(query_id=name, question=f"{text} {name}"),
            before=("same", f"{name}-old"),
            now=("same", f"{name}-new"),
            changed=True,
        )
        for name in ("t1", "t2")
    ]
    texts = {f"{name}-{age}": f"{text} {age}" for name in ("t1", "t2") for age in ("old", "new")}
    rows = rows_of(pairs, {}, texts, shared=False)
    page = folder / "sheet.html"
    page.write_text(render_sheet(rows, SHEET, {pair.question.query_id: pair for pair in pairs}), encoding="utf-8")
    return page


def test_a_sheet_is_labelled_by_keys_and_leaves_as_the_sheet(chromium: Browser, tmp_path: Path) -> None:
    with Seen(chromium, written(tmp_path)) as seen:
        page = seen.page
        lists = page.locator(".list")
        assert [each.is_visible() for each in lists.all()] == [False] * 4
        page.keyboard.press("1")  # nothing is chosen yet
        page.keyboard.press("j")
        page.keyboard.press("1")  # and on to the next
        assert [each.is_visible() for each in lists.all()] == [False] * 4, "half of a question is blind"
        page.keyboard.press("0")
        assert [each.is_visible() for each in lists.all()] == [True, True, False, False]
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("k")
        page.keyboard.press("0")  # the second one again
        page.get_by_label("Your name").fill("ann 10 j")
        expect(page.locator("#progress")).to_have_text("2 of 4 labelled")
        page.get_by_role("button", name="1 relevant").nth(3).click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        filled = tmp_path / "filled.jsonl"
        download.value.save_as(filled)
        assert download.value.suggested_filename == "sheet.jsonl"
        assert seen.said == []
    log = ProblemLog()
    found = read_sheet(str(filled), log)
    assert (log.problems, found.sheet, found.blank) == ([], SHEET, 1)
    rows = [json.loads(line) for line in filled.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {"head": HEAD}
    assert [row["relevant"] for row in rows[1:]] == [1, 0, None, 1]
    assert {label.labeller for label in found.labels.values()} == {"ann 10 j"}
    assert all("list" not in row for row in rows)


def test_it_is_accessible(chromium: Browser, node_modules: Path, tmp_path: Path) -> None:
    with Seen(chromium, written(tmp_path), bypass_csp=True) as seen:
        seen.page.keyboard.press("j")
        seen.page.keyboard.press("1")
        assert axe(seen.page, node_modules) == []


def test_nothing_of_the_texts_acts(chromium: Browser, tmp_path: Path) -> None:
    with Seen(chromium, written(tmp_path, " ".join(HOSTILE))) as seen:
        assert seen.page.locator("#content > h2").count() == 2
        assert seen.page.locator("#content > .document").count() == 4
        assert seen.page.evaluate("window.hacked") is None
        assert seen.said == []
