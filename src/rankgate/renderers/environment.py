"""Jinja: what templates may use, ours and those of users, and what is wrong with one that does not render."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from traceback import walk_tb

import jinja2

from rankgate.model.wording import VERDICT_WORDS, count_text, delta_text, value_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import cell, code, command_block, link, markdown, one_line, shorten

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


@cache
def environment(*, sandboxed: bool) -> jinja2.Environment:
    """Our Jinja environment; a user's template runs in a sandbox in which values cannot be changed."""
    kind = jinja2.Environment
    if sandboxed:
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 -- paid only for users' templates

        kind = ImmutableSandboxedEnvironment
    environment = kind(
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


@cache
def template_of(path: Path) -> jinja2.Template:
    """A template of ours."""
    return environment(sandboxed=False).from_string(path.read_text(encoding="utf-8"))


def mistake(error: BaseException) -> tuple[str, int | None]:
    """What is wrong with a template, and in which of its lines, from what its rendering raised."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.message or "bad syntax", error.lineno
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == "<template>"]
    return str(error), lines[-1] if lines else None
