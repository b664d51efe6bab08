"""A dashboard becomes pages: an index of the gate sets, and a page for each with curves, events and every run."""

from __future__ import annotations

import re

import msgspec

from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.values import Direction, Unit, Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text, delta_text, value_text, vanishes
from rankgate.renderers.dashboards.days import MONTH
from rankgate.renderers.dashboards.values import INDEX, Curve, Dashboard, GateSet, ShownRun, Span
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.pages.origins import ceiling_text
from rankgate.renderers.pages.shell import page
from rankgate.renderers.pages.trend_chart import trend_charts

STYLES = ("dashboard.css",)
MAX_TEXT = 300  # characters of a reason
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SAYS = {
    Verdict.PASS: "passed",
    Verdict.WARN: "passed with a warning",
    Verdict.FAIL: "failed",
    Verdict.NOT_JUDGED: "could not be judged",
}


def site_of(dashboard: Dashboard) -> dict[str, str]:
    """The pages by file name; the same dashboard gives the same bytes."""
    words = _Words(dashboard)
    pages = {
        each.page: page(
            "dashboard.html.j2",
            title=f"{words.text(each.name)}: retrieval over time",
            styles=STYLES,
            words=words,
            set=each,
            several=len(dashboard.sets) > 1,
            charts=trend_charts(each),
        )
        for each in dashboard.sets
    }
    index = page(
        "dashboard_index.html.j2", title="Retrieval over time", styles=STYLES, words=words, sets=dashboard.sets
    )
    return {**pages, INDEX: index}


class _Words:
    """What the templates say of values. All text of records goes through `text`, and the templates escape it."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.date = dashboard.date
        self.repository = dashboard.repository
        self.outlook = outlook
        self.events = events_of

    def text(self, value: str | None, limit: int = MAX_TEXT) -> str:
        """Text of a record on one line, with nothing hidden in it."""
        return shorten(visible(value or ""), limit)

    def verdict(self, verdict: Verdict | None) -> str:
        """The word for a verdict of that time."""
        return VERDICT_WORDS[verdict] if verdict else "not checked"

    def counted(self, verdicts: dict[str, int]) -> str:
        """`9,000 PASS, 12 FAIL`."""
        return ", ".join(
            f"{count:,} {self.verdict(Verdict(name) if name else None)}" for name, count in verdicts.items()
        )

    def count(self, count: int, one: str) -> str:
        """`1 run`, `2 runs`."""
        return count_text(count, one)

    def value(self, value: float | None, unit: Unit) -> str:
        """A value as people read it; a dash where there is none."""
        return "–" if value is None else value_text(value, unit)

    def change(self, curve: Curve, before: float | None) -> Change | None:
        """How the newest value differs from an earlier one."""
        return change(curve.last, before, curve.unit, curve.direction)

    def moved(self, curve: Curve, before: float, now: float) -> Change | None:
        """How one value differs from another."""
        return change(now, before, curve.unit, curve.direction)

    def commit(self, commit: str | None) -> str:
        """The first digits of a commit, or of what stands in its place."""
        return self.text((commit or "")[:SHORT_SHA])

    def link(self, commit: str | None) -> str | None:
        """The commit's web address; None where none is known, or it is no sha."""
        if self.repository is None or commit is None or not _COMMIT.fullmatch(commit):
            return None
        return f"{self.repository}/commit/{commit}"

    def span(self, span: Span) -> str:
        """Until when a waiver counts or counted, and whether it does today."""
        if span.until < self.date:
            early = span.until < span.expires
            return f"ended on {span.until}" + (f", before its last day {span.expires}" if early else "")
        return f"in force until {span.until}"

    def amount(self, span: Span) -> str:
        """How far beyond its limit the gate may be."""
        return ceiling_text(span.up_to, span.unit)

    def run_of(self, gate_set: GateSet, run: str | None) -> ShownRun | None:
        """The run of this id."""
        return next((each for each in gate_set.runs if each.id == run), None)


class Change(msgspec.Struct, frozen=True):
    """A difference, whether it is good, and what it is measured from."""

    text: str
    word: str  # better, worse or same
    before: str


def change(now: float | None, before: float | None, unit: Unit, direction: Direction) -> Change | None:
    """How a value differs from an earlier one; None where one of them is not there.

    A difference that rounds to nothing is the same.
    """
    if now is None or before is None:
        return None
    better = (now > before) == (direction is Direction.HIGHER)
    word = "same" if vanishes(now - before, unit) else "better" if better else "worse"
    return Change(delta_text(now - before, unit), word, value_text(before, unit))


def outlook(shown: GateSet) -> str:
    """What the last run came to, and which gated metrics are better or worse than a month ago."""
    if not shown.runs:
        return "No run has been recorded yet."
    last = shown.runs[-1]
    verdict = _SAYS[last.verdict] if last.verdict else "was not checked"
    found: dict[str, list[str]] = {"worse": [], "better": [], "same": []}
    for curve in shown.curves:
        moved = change(curve.last, curve.month, curve.unit, curve.direction)
        if moved and curve.gated:
            found[moved.word].append(curve.metric if moved.word == "same" else f"{curve.metric} ({moved.text})")
    said = [
        f"{lead} in {', '.join(found[word])}"
        for word, lead in (("worse", "worse"), ("better", "better"), ("same", "the same"))
        if found[word]
    ]
    if not said:
        return (
            f"The last run, of {last.date}, {verdict}. No gated metric has a value from {MONTH} days ago, so that "
            "there is nothing to compare."
        )
    return f"The last run, of {last.date}, {verdict}. Compared with {MONTH} days ago it is {'; '.join(said)}."


def events_of(run: ShownRun) -> list[str]:
    """What happened with a run, beside its verdict; anchors and releases by the names that people gave them."""
    return [
        *(["accepted"] if run.accepted else []),
        *(f"anchor {name}" for name in run.anchors),
        *(f"release {tag}" for tag in run.releases),
        *(["new gold set"] if run.new_gold else []),
    ]
