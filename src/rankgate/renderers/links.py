"""Where a comment leads to: the page of the check, the job's run, the criteria, and what its metric is."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from rankgate.model.report import Report
from rankgate.renderers import phrases
from rankgate.renderers.escape import code

METRICS = "https://rankgate.github.io/rankgate/metrics/"
_ADDRESS = re.compile(r"(?a)https?://[\w.:-]+[\w.~%/-]{0,900}")  # nothing at which Markdown would end a link


@cache
def documented() -> frozenset[str]:
    """The metrics that have a part in the docs."""
    from rankgate.metrics.registry import families  # noqa: PLC0415 -- all of them are imported

    return frozenset(family.key for family in families())


def links_line(report: Report) -> str:
    """One line of Markdown with the addresses that the job knows, and the docs of the first metric that decided.

    Empty where there is no job, as at a terminal. An address other than http or https, or with a character that has a
    meaning in Markdown, is left out; so is a metric of another package, which has no page there.
    """
    if report.links is msgspec.UNSET:
        return ""
    places = {"Page with every question": report.links.page, "Run": report.links.run, "Criteria": report.links.criteria}
    parts = [f"[{name}]({place})" for name, place in places.items() if place and _ADDRESS.fullmatch(place)]
    for metric in dict.fromkeys(gate.metric for gate in phrases.deciding(report) or phrases.shown_gates(report)):
        key = re.split("[(@]", metric)[0]
        if key in documented():
            return " · ".join([*parts, f"What is [{code(metric, 80)}]({METRICS}#{key})?"])
    return " · ".join(parts)
