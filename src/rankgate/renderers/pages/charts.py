"""Charts: a Vega-Lite specification becomes an SVG element that lies in a page, in the page's own colours and font.

A picture without a script: it shows where scripts are off, prints as it looks, and nothing in the data can run. Colours
are the page's CSS variables, so that one picture serves light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from rankgate.errors import bad_input

NOW, BEFORE = "var(--now)", "var(--before)"  # the run and the baseline
BETTER, WORSE, SAME = "var(--better)", "var(--worse)", "var(--same)"
_INK, _FAINT, _GRID = "var(--ink)", "var(--faint)", "var(--grid)"

_AXIS = {
    "labelColor": _FAINT,
    "titleColor": _FAINT,
    "titleFontWeight": "normal",
    "domainColor": _GRID,
    "tickColor": _GRID,
    "gridColor": _GRID,
    "labelFontSize": 11,
    "titleFontSize": 12,
}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": _AXIS,
    "legend": {"labelColor": _INK, "titleColor": _FAINT, "titleFontWeight": "normal", "orient": "top", "title": None},
    "header": {"labelColor": _INK, "titleColor": _FAINT},
    "text": {"color": _INK},
}
_ID = re.compile(r'\bid="([^"]+)"')


def chart(spec: Mapping[str, Any], *, name: str, title: str, description: str) -> Markup:
    """An `<svg role="img">` with its title and description for those who cannot see it.

    Args:
        spec: Vega-Lite without `$schema` and `config`; text of the inputs may stand in its data, and shows as text.
        name: tells it from the page's other charts; letters, digits and hyphens.
        title: what it is, a few words.
        description: what it shows, in numbers.

    Raises:
        RankgateError: the extra that draws is not installed.
    """
    try:
        import vl_convert  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise bad_input("pages need the html extra; run: pip install 'rankgate[html]'") from error
    drawn = vl_convert.vegalite_to_svg({**spec, "config": CONFIG}, vl_version="5.20")
    return Markup(_named(drawn, name, str(escape(title)), str(escape(description))))  # noqa: S704 -- SVG of the library


def _named(svg: str, name: str, title: str, description: str) -> str:
    """One image to a screen reader, with ids of its own: the library counts on from one chart to the next."""
    for number, each in enumerate(dict.fromkeys(_ID.findall(svg))):
        svg = svg.replace(f'id="{each}"', f'id="{name}-{number}"').replace(f"url(#{each})", f"url(#{name}-{number})")
    svg = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", svg)
    head, end, body = svg.partition(">")
    head = re.sub(r' (?:height|class|version|xmlns(?::xlink)?)="[^"]*"', "", head)  # the height follows the width
    labels = f'<title id="{name}-title">{title}</title><desc id="{name}-desc">{description}</desc>'
    return f'{head} role="img" aria-labelledby="{name}-title {name}-desc"{end}{labels}{body}'
