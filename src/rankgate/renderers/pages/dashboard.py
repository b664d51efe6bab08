"""A dashboard becomes pages: an index of the gate sets, and a page for each with curves, events and every run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from rankgate.baselines.records import Record
from rankgate.model import wording
from rankgate.model.values import Unit, Verdict
from rankgate.model.wording import VERDICT_WORDS, delta_text, interval_text, value_text
from rankgate.renderers import phrases
from rankgate.renderers.dashboards.values import INDEX, MONTH, Curve, Dashboard, GateSet, ShownRun, Span, Step
from rankgate.renderers.escape import command_line, one_line, visible
from rankgate.renderers.pages.shell import page
from rankgate.renderers.pages.trend_chart import UNCHECKED, looks_of, trend_charts

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SAYS = {
    Verdict.PASS: "passed",
    Verdict.WARN: "passed with a warning",
    Verdict.FAIL: "failed",
    Verdict.NOT_JUDGED: "could not be judged",
}
CHANGED = ("worse", "better")
_UNCHANGED = {"same": "about the same", "unknown": "not compared"}


def site_of(dashboard: Dashboard) -> dict[str, str]:
    """The pages by file name; the same dashboard gives the same bytes."""
    render = partial(
        page,
        styles=("dashboard.css",),
        date=dashboard.date,
        repository=dashboard.repository,
        sets=dashboard.sets,
        wording=wording,
        phrases=phrases,
        count=wording.count_text,
        change_of=change,
        events_of=events_of,
        link=partial(_link, dashboard.repository),
        outlook=outlook,
        notable=notable,
        span_text=partial(_span_text, dashboard.date),
        verdicts_text=_verdicts_text,
    )
    pages = {
        each.page: render(
            "dashboard.html.j2",
            title=f"{one_line(each.name, 300)}: retrieval over time",
            set=each,
            charts=trend_charts(each),
            looks_of=looks_of,
            scripts=("dashboard.js",),
            data={"questions": each.questions} if each.questions and each.questions.columns else {},
            options_of=partial(_options, each),
        )
        for each in dashboard.sets
    }
    return {**pages, INDEX: render("dashboard_index.html.j2", title="Retrieval over time")}


def _verdicts_text(records: Sequence[Record]) -> str:
    """`9,000 PASS, 12 FAIL`."""
    verdicts = Counter(record.verdict.value if record.verdict else "" for record in records)
    return ", ".join(
        f"{count:,} {VERDICT_WORDS[Verdict(name)] if name else UNCHECKED}" for name, count in sorted(verdicts.items())
    )


def _link(repository: str | None, commit: str | None) -> str | None:
    """The commit's web address; None where none is known, or it is no sha."""
    known = repository and commit and _COMMIT.fullmatch(commit)
    return f"{repository}/commit/{commit}" if known else None


def _span_text(today: str, span: Span) -> str:
    """Until when a waiver counts or counted, and whether it does today."""
    if span.until >= today:
        return f"in force until {span.until}"
    expires = span.waiver.expires
    return f"ended on {span.until}" + (f", before its last day {expires}" if span.until < expires else "")


def _options(shown: GateSet, curve: Curve) -> str:
    """What `rankgate compare A B` needs to compare two of these runs by this metric."""
    return visible(command_line(["--baseline", shown.place, "--criteria", shown.name, "--metrics", curve.metric]))


def change(step: Step, unit: Unit) -> tuple[str, str]:
    """A step in words: what it is called with its size, and beside that its interval and what it is measured from."""
    size, known = delta_text(step.size, unit), step.paired
    text = f"{size} {step.way}" if step.way in CHANGED else f"{_UNCHANGED[step.way]} ({size})"
    bounds = interval_text(known.ci, unit, change=True) if known and known.ci != (0, 0) else ""
    return text, f"{f'95%: {bounds}; ' if bounds else ''}was {value_text(step.before, unit)}"


def notable(shown: GateSet) -> list[ShownRun]:
    """The last run, and each that did not just pass as the one before did, changed a metric, or has an event."""
    points = (point for curve in shown.curves for point in curve.points)
    changed = {point.run.record.id for point in points if point.step and point.step.way in CHANGED}
    verdicts = [None, *(run.record.verdict for run in shown.runs)]
    return [
        run
        for run, before in zip(shown.runs, verdicts, strict=False)
        if run.record.verdict not in (Verdict.PASS, None)
        or run.record.verdict is not before
        or run.record.id in changed
        or events_of(run)
        or run is shown.runs[-1]
    ]


def outlook(shown: GateSet) -> str:
    """What the last run came to, and which gated metrics are better or worse than a month ago."""
    if not shown.runs:
        return "No run has been recorded yet."
    last = shown.runs[-1].record
    lead = f"The last run, of {last.date}, {_SAYS[last.verdict] if last.verdict else 'was not checked'}."
    metrics: dict[str, list[str]] = {way: [] for way in (*CHANGED, *_UNCHANGED)}
    for curve in shown.curves:
        if (step := curve.month) and curve.gated:
            size = f" ({delta_text(step.size, curve.unit)})" * (step.way != "same")
            metrics[step.way].append(f"{curve.metric}{size}")
    parts = [f"{_UNCHANGED.get(way, way)} in {', '.join(names)}" for way, names in metrics.items() if names]
    if not parts:
        return f"{lead} No gated metric has a value from {MONTH} days ago, so that there is nothing to compare."
    return f"{lead} Compared with {MONTH} days ago it is {'; '.join(parts)}."


def events_of(run: ShownRun) -> list[str]:
    """What happened with a run, beside its verdict; releases by the names that people gave them."""
    return [
        *(["accepted"] if run.accepted else []),
        *(f"release {tag}" for tag in run.releases),
        *(["new gold set"] if run.new_gold else []),
        *(["new judge"] if run.new_judge else []),
    ]
