"""Where a comment leads to: the page of the check, the job's run, the criteria, and what its metric is."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import count_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import Sentence, Text

METRICS = "https://rankgate.github.io/rankgate/metrics/"
_ADDRESS = re.compile(r"(?a)https?://[\w.:-]+[\w.~%/-]{0,900}")  # nothing at which Markdown would end a link


class Link(msgspec.Struct, frozen=True):
    """A name and an address that is safe in Markdown."""

    name: Sentence
    address: str


@cache
def documented() -> frozenset[str]:
    """The metrics that have a part in the docs."""
    from rankgate.metrics.registry import families  # noqa: PLC0415 -- all of them are imported

    return frozenset(family.key for family in families())


def page_of(report: Report) -> str | None:
    """The address of the page with every question, where the job knows it."""
    return _safe(report.links.page) if report.links else None


def links_of(report: Report) -> tuple[Link, ...]:
    """The addresses that the job knows, and the docs of the first metric that decided; none where there is no job.

    An address other than http or https, or with a character that has a meaning in Markdown, is left out; so is a
    metric of another package, which has no page there.
    """
    if not report.links:
        return ()
    page = page_of(report)
    moved = report.changes.moved
    worse = moved.worse if moved else 0
    lost = [Link((count_text(worse, "lost question"),), f"{page}#way=worse")] if page and worse else []
    names = {"page": report.links.page, "run": report.links.run, "criteria": report.links.criteria}
    links = lost + [Link((name,), link) for name, address in names.items() if (link := _safe(address))]
    shown = phrases.shown_gates(report)
    deciding = [gate for gate in shown if gate.verdict is report.verdict is not Verdict.PASS]
    for metric in dict.fromkeys(gate.metric for gate in deciding or shown):
        key = re.split("[(@]", metric)[0]
        if key in documented():
            return (*links, Link(("what is ", Text(metric, 80), "?"), f"{METRICS}#{key}"))
    return tuple(links)


def _safe(address: str | None) -> str | None:
    return address if address and _ADDRESS.fullmatch(address) else None
