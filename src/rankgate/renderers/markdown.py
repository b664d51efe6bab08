"""The pull-request comment, within a limit; a report through a template of the user; what templates may use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from traceback import walk_tb
from types import SimpleNamespace

import jinja2
from msgspec.structs import replace

from rankgate.errors import bad_input
from rankgate.model.gate_result import GATE_PARTS, to_row
from rankgate.model.reasons import sentences
from rankgate.model.report import Report
from rankgate.model.report_text import file_keys
from rankgate.model.wording import VERDICT_WORDS, count_text, delta_text, value_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import one_line, shorten
from rankgate.renderers.markdown_text import cell, code, command_block, link, markdown
from rankgate.renderers.view import View, view_of

TEMPLATES = Path(__file__).parent / "templates"
OURS = "comment.md.j2"  # one of them; a fold of it is compiled only where it is shown
MARKER_ROOM = 512  # characters for the hidden line by which the comment is found again
COMMENT_LIMIT = 65_536 - MARKER_ROOM  # characters; GitHub refuses a longer comment
SUMMARY_BYTES = 65_535  # bytes, whatever GitHub's documentation says of characters
# What goes where not all fits, the first before all others: fields of the view's parts, and what they are called.
DROP_ORDER = (
    ("numbers", "parts", "the table by tag"),
    ("answers", "lost", "the answers that got worse"),
    ("questions", "lost", "the questions that got worse"),
    ("gate_changes", "listed", "what the pull request changes of the gate"),
    ("numbers", "all", "all numbers"),
    ("remarks", "reasons", "further reasons"),
    ("problems", "further", "further problems"),
    ("remarks", "fine_print", "notes"),
    ("origins", "differs", "what differs from the baseline"),
    ("origins", "listed", "what was compared"),
    ("origins", "command", "the command"),
    ("numbers", "segments", "the segments"),
    ("remarks", "warnings", "warnings"),
    ("numbers", "first", "the rows that decided"),
    ("problems", "first", "the problems"),
)
_LONGEST_MESSAGE = 500  # characters

FILTERS = {"text": markdown, "cell": cell, "code": code, "visible": one_line, "shorten": shorten}
FUNCTIONS = {
    "link": link,
    "command": command_block,
    "icon": phrases.ICONS.__getitem__,
    "word": VERDICT_WORDS.__getitem__,
    "count": count_text,
    "amount": value_text,
    "change": delta_text,
}


def render_markdown(report: Report, *, limit: int | None = None) -> str:
    """The comment, ending in one newline; with a limit in at most so many characters, whole sections left out."""
    return _fitted(view_of(report), limit, len)


def render_comment(report: Report) -> str:
    """Our comment within what GitHub accepts."""
    return render_markdown(report, limit=COMMENT_LIMIT)


def render_summary(report: Report, limit: int) -> str:
    """Our comment within a number of bytes."""
    return _fitted(view_of(report), limit, lambda text: len(text.encode()))


def _fitted(view: View, limit: int | None, measure: Callable[[str], int]) -> str:
    """The comment without as many sections of `DROP_ORDER` as it takes; the conclusion and what comes next stay."""
    text = _ours(view)
    for part, field, words in DROP_ORDER:
        if limit is None or measure(text) <= limit:
            break
        shown = getattr(view, part)
        empty = getattr(type(shown)(), field)
        if getattr(shown, field) != empty:
            shorter = replace(shown, **{field: empty})
            view = replace(view, **{part: shorter}, left_out=(*view.left_out, words))
            text = _ours(view)
    return text


def _ours(view: View) -> str:
    with _mistakes_of(OURS):  # a report that somebody wrote by hand may lack what its parts name
        text = environment(sandboxed=False).get_template(OURS).render(view=view)
    # Sections leave blank lines behind where they are empty.
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" +$", "", text, flags=re.MULTILINE)).strip() + "\n"


def user_renderer(path: str) -> Callable[[Report], str]:
    """What renders a report through a template of the user, in Jinja's sandbox, into text that ends in one newline.

    The template sees `view`, `report` and the filters and functions that docs/templates.md lists.

    Raises:
        RankgateError: the template cannot be read or is none; also by the renderer, where it does not render.
    """
    name = Path(path).as_posix()
    try:
        source = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_input(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=name) from error
    with _mistakes_of(name):
        template = environment(sandboxed=True).from_string(source)

    def render(report: Report) -> str:
        with _mistakes_of(name):
            text = template.render(view=view_of(report), report=_content(report))
            return text.encode().decode().strip() + "\n"  # half of a surrogate pair is a mistake too

    return render


def _content(report: Report) -> SimpleNamespace:
    """What report.json holds, its keys as attributes, with sentences for the reasons of its gates."""
    rows = [{**to_row(gate, GATE_PARTS), "reasons": sentences(gate)} for gate in report.gates]
    return SimpleNamespace(**{**file_keys(report), "gates": [SimpleNamespace(**row) for row in rows]})


@contextmanager
def _mistakes_of(name: str) -> Iterator[None]:
    """Whatever is raised meanwhile is a mistake of the template, which can call anything with anything."""
    try:
        yield
    except Exception as error:
        message, line = mistake(error)
        text = f"template error: {one_line(message, _LONGEST_MESSAGE)}"
        raise bad_input(text, file=name, line=line) from error


@cache
def environment(*, sandboxed: bool) -> jinja2.Environment:
    """Our Jinja environment; a user's template runs in a sandbox in which values cannot be changed.

    A template can include ours, and no other file.
    """
    kind = jinja2.Environment
    if sandboxed:
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 -- paid only for users' templates

        kind = ImmutableSandboxedEnvironment
    environment = kind(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        optimized=False,  # folding constants costs more than a template that is rendered once gains
    )
    environment.filters |= FILTERS
    environment.globals |= FUNCTIONS
    return environment


def mistake(error: BaseException) -> tuple[str, int | None]:
    """What is wrong with a template, and in which of its lines, from what its rendering raised."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.message or "bad syntax", error.lineno
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == "<template>"]
    return str(error), lines[-1] if lines else None
