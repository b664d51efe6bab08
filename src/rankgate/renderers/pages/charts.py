"""Charts: a Vega-Lite specification becomes an SVG element without a script, so that nothing in the data can run.

Colours are the page's CSS variables, so that one picture serves light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from markupsafe import Markup, escape

from rankgate.errors import bad_input
from rankgate.model.values import Unit

NOW, BEFORE = "var(--now)", "var(--before)"  # the run and the baseline
BETTER, WORSE, SAME = "var(--better)", "var(--worse)", "var(--same)"
INK, FAINT = "var(--ink)", "var(--faint)"
# How an axis writes its ticks. Without decimals named there are as many as tell one tick from the next.
AXES = {Unit.SHARE: "%", Unit.SCORE: "f", Unit.NUMBER: ",f", Unit.MILLISECONDS: ",f"}

_AXIS = {
    **dict.fromkeys(("domainColor", "tickColor", "gridColor"), "var(--grid)"),
    **dict.fromkeys(("labelColor", "titleColor"), FAINT),
    "titleFontWeight": "normal",
    "labelFontSize": 11,
    "titleFontSize": 12,
}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": _AXIS,
    "legend": {"labelColor": INK, "titleColor": FAINT, "titleFontWeight": "normal", "orient": "top", "title": None},
    "text": {"color": INK},
}
_TAG = re.compile(r'<[a-zA-Z](?:[^>"]|"[^"]*")*>')  # text between tags may look like anything
_LABEL = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
_ID = re.compile(r'(?P<before>\bid="|url\(#)(?P<id>[\w-]+)')


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A picture with the name over it, what it says in a sentence each, and how many questions it is about."""

    name: str
    picture: Markup
    said: tuple[str, ...] = ()
    queries: int = 0


def chart(spec: Mapping[str, Any], *, name: str, title: str, description: str) -> Markup:
    """An `<svg role="img">` of Vega-Lite without `$schema` and `config`; text in its data shows as text.

    The name, of letters, digits and hyphens, tells it from the page's other charts.

    Raises:
        RankgateError: the extra that draws is not installed.
    """
    try:
        import vl_convert  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise bad_input("pages need the html extra; run: pip install 'rankgate[html]'") from error
    drawn = vl_convert.vegalite_to_svg({**spec, "config": CONFIG}, vl_version="5.20")
    return Markup(_named(drawn, name, str(escape(title)), str(escape(description))))  # noqa: S704 -- SVG of the library


def fitted(draw: Callable[[int], Mapping[str, Any]], wide: int, narrow: int, *, name: str, **labels: str) -> Markup:
    """A chart in two widths, in pixels: the page shows the one that its window has room for."""
    drawn = (
        Markup('<div class="{}">{}</div>').format(kind, chart(draw(width), name=f"{name}-{kind}", **labels))
        for kind, width in (("wide", wide), ("narrow", narrow))
    )
    return Markup().join(drawn)


def layer(
    mark: str, encoding: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] | None = None, **looks: Any
) -> dict[str, Any]:
    """Marks of one kind with their looks, for rows of their own or for those of the view around them."""
    data = {} if rows is None else {"data": {"values": rows}}
    return {**data, "mark": {"type": mark, **looks}, "encoding": encoding}


def by(field: str, looks: Mapping[str, object]) -> dict[str, Any]:
    """An encoding that gives each of some words of ours its colour, shape or dashes; the page explains it in words."""
    scale = {"domain": list(looks), "range": list(looks.values())}
    return {"field": field, "type": "nominal", "scale": scale, "legend": None}


# How what is of the run differs from what is of the baseline.
OF_RUN = {
    "color": by("of", {"now": NOW, "baseline": BEFORE}),
    "strokeDash": by("of", {"now": [1, 0], "baseline": [5, 3]}),
    "shape": by("of", {"now": "circle", "baseline": "diamond"}),
}


def _named(svg: str, name: str, title: str, description: str) -> str:
    """One image to a screen reader, with ids of its own: the library counts on from one chart to the next."""
    numbers: dict[str, int] = {}
    head, end, body = _TAG.sub(lambda tag: _owned(tag[0], name, numbers), svg).partition(">")
    head = re.sub(r' (?:height|class|version|xmlns(?::xlink)?)="[^"]*"', "", head)  # the height follows the width
    labels = f'<title id="{name}-title">{title}</title><desc id="{name}-desc">{description}</desc>'
    return f'{head} role="img" aria-labelledby="{name}-title {name}-desc"{end}{labels}{body}'


def _owned(tag: str, name: str, numbers: dict[str, int]) -> str:
    """A tag without roles and labels, which would make many images of one; its ids are numbered after the chart."""

    def own(match: re.Match[str]) -> str:
        return f"{match['before']}{name}-{numbers.setdefault(match['id'], len(numbers))}"

    return _ID.sub(own, _LABEL.sub("", tag))
