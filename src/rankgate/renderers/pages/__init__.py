"""A page: one file with its style and its script inside, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup, escape

from rankgate.model import wording
from rankgate.renderers import phrases
from rankgate.renderers.escape import Shown, Text, one_line, without_middle

FOLDER = Path(__file__).parent
LONGEST_NAME = 120  # characters; what may be longer is a text


def page(
    template: str,
    *,
    title: str,
    styles: tuple[str, ...] = (),
    scripts: tuple[str, ...] = (),
    data: Mapping[str, object] = {},
    blocks: Sequence[str] = (),
    **values: Any,
) -> str:
    """The page that a template of this folder makes, with styles and scripts by their file names.

    `data` is what scripts read: each value as JSON in an element whose id is its name, which nothing in it can end.
    `blocks` are texts in base64, each in an element of its own.

    Every value is escaped unless it is a chart of ours. The policy names our style and our scripts by their digests: no
    other script runs, nothing is loaded, nothing is sent, whatever stands in the data.
    """
    style = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("style.css", *styles))
    sources = [(FOLDER / script).read_text(encoding="utf-8") for script in scripts]
    allowed = [f"style-src {_digest(style)}"]
    if sources:
        allowed.append(f"script-src {' '.join(map(_digest, sources))}")
    policy = "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])
    return (
        templates()
        .get_template(template)
        .render(
            title=title,
            policy=policy,
            style=Markup(style),  # noqa: S704 -- a file of ours
            scripts=[Markup(source) for source in sources],  # noqa: S704 -- as above
            data={name: _embedded(value) for name, value in data.items()},
            blocks=blocks,
            **values,
        )
    )


def _embedded(value: object) -> Markup:
    text = json.dumps(value, default=msgspec.to_builtins, separators=(",", ":"))  # ASCII: nothing hides
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")  # which stand in strings alone
    return Markup(text)  # noqa: S704 -- no tag can begin in it


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def middle(text: object, limit: int) -> str:
    """One line no longer than the limit."""
    return without_middle(one_line(text), limit)


def breakable(text: object, limit: int = 60) -> Markup:
    """A name that may break after its separators, without its middle where it is longer than the limit."""
    return Markup("<wbr>").join(re.split(r"(?<=[:/_-])(?!$)|(?<=\.)(?!\d|$)", middle(text, limit)))


def html(value: Shown) -> Markup:
    """A value of the view: text of the inputs apart from ours, a short one as a name, and ours with its code."""
    if isinstance(value, Text):
        apart = Markup("<code><bdi>{}</bdi></code>") if value.limit <= LONGEST_NAME else Markup("<bdi>{}</bdi>")
        return apart.format(one_line(value.raw, value.limit))
    if isinstance(value, str):
        return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(one_line(value)))))  # noqa: S704 -- escaped
    return Markup().join(map(html, value))


@cache
def templates() -> jinja2.Environment:
    """Those of this folder; what they show is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        optimized=False,  # folding constants costs more than a template that is rendered once gains
    )
    environment.filters |= {"text": one_line, "middle": middle, "name": breakable, "html": html}
    environment.globals |= {"phrases": phrases, "wording": wording, "count": wording.count_text}
    return environment
