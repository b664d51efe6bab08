"""The pull-request comment, within a limit; and a report through a template of the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rankgate.errors import bad_input
from rankgate.model.report import Report
from rankgate.model.report_text import with_texts
from rankgate.renderers.environment import environment, mistake
from rankgate.renderers.escape import one_line
from rankgate.renderers.fitting import COMMENT_LIMIT, fitted, usual_room
from rankgate.renderers.sections import Room

OURS = Path(__file__).parent / "templates" / "comment.md.j2"
_LONGEST_MESSAGE = 500  # characters


def render_markdown(report: Report, *, limit: int | None = None) -> str:
    """The comment, ending in one newline; with a limit in at most so many characters, and a line on what was left out.

    Raises:
        ValueError: the limit is too small for any comment.
    """
    render = _ours(report)
    return render(usual_room(report), "") if limit is None else fitted(report, render, limit)


def render_comment(report: Report) -> str:
    """Our comment within what GitHub accepts."""
    return render_markdown(report, limit=COMMENT_LIMIT)


def render_summary(report: Report, limit: int) -> str:
    """Our comment within a number of bytes, at least `fitting.LEAST`."""
    return fitted(report, _ours(report), limit, lambda text: len(text.encode()))


def _ours(report: Report) -> Callable[[Room, str], str]:
    """Our comment, by the room that each section has."""
    template = environment(sandboxed=False).from_string(OURS.read_text(encoding="utf-8"))

    def render(room: Room, left_out: str) -> str:
        with _mistakes_of(OURS.name):  # a report that somebody wrote by hand may lack what its parts name
            text = template.render(report=report, room={**room, "left_out": left_out})
        # Our sections leave blank lines behind where they are empty.
        return re.sub(r"\n{3,}", "\n\n", re.sub(r" +$", "", text, flags=re.MULTILINE)).strip() + "\n"

    return render


def user_renderer(path: str) -> Callable[[Report], str]:
    """What renders a report through a template of the user, in Jinja's sandbox, into text that ends in one newline.

    The template sees `report`, `room` and the filters and functions that docs/templates.md lists.

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
            text = template.render(report=with_texts(report), room={**usual_room(report), "left_out": ""})
            return text.encode().decode().strip() + "\n"  # half of a surrogate pair is a mistake too

    return render


@contextmanager
def _mistakes_of(name: str) -> Iterator[None]:
    """Whatever is raised meanwhile is a mistake of the template, which can call anything with anything."""
    try:
        yield
    except Exception as error:
        message, line = mistake(error)
        text = f"template error: {one_line(message, _LONGEST_MESSAGE)}"
        raise bad_input(text, file=name, line=line) from error
