"""The pull-request comment: ours, or a template of the user, within a limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rankgate.errors import bad_input
from rankgate.model.report import Report
from rankgate.renderers.cutting import cut
from rankgate.renderers.environment import environment, mistake
from rankgate.renderers.fitting import COMMENT_LIMIT, fitted, usual_room
from rankgate.renderers.isolation import Template, render_isolated
from rankgate.renderers.sections import Room

OURS = Path(__file__).parent / "templates" / "comment.md.j2"
_LONGEST_TEMPLATE = 1_000_000  # bytes


def render_markdown(report: Report, template: str | Template | None = None, *, limit: int | None = None) -> str:
    """The comment, ending in one newline; with a limit in at most so many characters, and a line on what was left out.

    A template of the user, or its path, is used instead of ours. It runs in a process of its own and sees `report`,
    `room` and the filters and functions that docs/templates.md lists.

    Raises:
        RankgateError: the template cannot be read or does not render, or its text holds our hidden marker.
        ValueError: the limit is too small for any comment.
    """
    if template is not None:
        text = render_isolated(report, template if isinstance(template, Template) else _read(template))
        return text if limit is None else cut(text, limit)
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
        try:
            text = template.render(report=report, room={**room, "left_out": left_out})
        except Exception as error:  # a report that somebody wrote by hand may lack what its parts name
            message, line = mistake(error)
            raise bad_input(f"template error: {message}", file=OURS.name, line=line) from error
        # Our sections leave blank lines behind where they are empty.
        return re.sub(r"\n{3,}", "\n\n", re.sub(r" +$", "", text, flags=re.MULTILINE)).strip() + "\n"

    return render


def _read(path: str) -> Template:
    file = Path(path)
    try:
        with file.open("rb") as stream:
            data = stream.read(_LONGEST_TEMPLATE + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_input(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file.as_posix()) from error
    if len(data) > _LONGEST_TEMPLATE:
        raise bad_input(f"is longer than {_LONGEST_TEMPLATE:,} bytes; no template needs that", file=file.as_posix())
    return Template(file.as_posix(), text)
