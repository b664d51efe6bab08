"""Markdown as GitHub's parser renders it."""

from html.parser import HTMLParser

from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options

VOID = {"br", "img", "hr", "input"}


class Page(HTMLParser):
    """A comment as GitHub's parser renders it: its tags, its table rows, and its text inside and outside of code."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.rows: list[list[str]] = []
        self.items: list[str] = []
        self.code: list[str] = []
        self.plain = ""
        self._open: list[str] = []
        self.feed(str(github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)))
        self.close()
        self.items = [item.strip() for item in self.items]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(sorted(name for name, _ in attrs))))
        if tag in VOID:
            return
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
        elif tag == "li":
            self.items.append("")
        elif tag == "code":
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" in self._open:
            self.code[-1] += data
        else:
            self.plain += data
        if self.rows and ("td" in self._open or "th" in self._open):
            self.rows[-1][-1] += data
        elif "li" in self._open:
            self.items[-1] += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)
