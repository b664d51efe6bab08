"""Windows of a browser that tests use one after the other: a new one is a process, which costs more than a page."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, Page, ViewportSize
from tests.conftest import PATIENCE

_OPEN: WeakKeyDictionary[Browser, dict[str, Page]] = WeakKeyDictionary()
_USUAL: ViewportSize = {"width": 1280, "height": 720}


def window(browser: Browser, **options: Any) -> Page:
    """An empty page in a context of these options, as an earlier test may have left it, with nothing of that test's."""
    of_browser = _OPEN.setdefault(browser, {})
    key = repr(sorted(options.items()))
    if key not in of_browser:
        page = of_browser[key] = browser.new_context(**options).new_page()
        page.set_default_timeout(PATIENCE)
        return page
    page = of_browser[key]
    page.goto("about:blank")
    page.set_viewport_size(options.get("viewport", _USUAL))
    page.emulate_media(media="null", color_scheme="null")
    return page
