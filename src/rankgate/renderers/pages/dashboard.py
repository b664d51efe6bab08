"""A dashboard becomes pages: an index of the gate sets, and a page for each with curves, events and every run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from rankgate.baselines.records import Record
from rankgate.model.values import Unit, Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text, delta_text, interval_text, value_text, vanishes
from rankgate.renderers.dashboards.values import INDEX, MONTH, Curve, Dashboard, GateSet, ShownRun, Step
from rankgate.renderers.escape import command_line, one_line
from rankgate.renderers.pages import page
from rankgate.renderers.pages.charts import UNCHECKED, looks_of, trend_charts

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
        change_of=change,
        events_of=events_of,
        link=partial(_link, dashboard.repository),
        outlook=outlook,
        notable=notable,
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


def _options(shown: GateSet, curve: Curve) -> str:
    """What `rankgate compare A B` needs to compare two of these runs by this metric."""
    return one_line(command_line(["--baseline", shown.place, "--criteria", shown.name, "--metrics", curve.metric]))


def change(step: Step, unit: Unit) -> tuple[str, str]:
    """A step in words: what it is called with its size, and beside that its interval and what it is measured from."""
    size, known = delta_text(step.size, unit), step.paired
    text = f"{size} {step.outcome}" if step.outcome in CHANGED else f"{_UNCHANGED[step.outcome]} ({size})"
    bounds = interval_text(known.ci, unit, change=True) if known and known.ci != (0, 0) else ""
    return text, f"{f'95%: {bounds}; ' if bounds else ''}was {value_text(step.before, unit)}"


def notable(shown: GateSet) -> list[ShownRun]:
    """The last run, and each that did not just pass as the one before did, changed a metric, or has an event."""
    points = (point for curve in shown.curves for point in curve.points)
    changed = {point.run.record.id for point in points if point.step and point.step.outcome in CHANGED}
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
    """Which runs failed of late, what the last one came to, and which gated metrics moved within a month."""
    if not shown.runs:
        return "No run has been recorded yet."
    last = shown.runs[-1].record
    state = _SAYS[last.verdict] if last.verdict else "was not checked"
    lead = " ".join(filter(None, [failures(shown), f"The last run, of {last.date}, {state}."]))
    metrics: dict[str, list[str]] = {outcome: [] for outcome in (*CHANGED, *_UNCHANGED)}
    for curve in shown.curves:
        if (step := curve.month) and curve.gated:
            size = "" if step.outcome == "same" else f" ({delta_text(step.size, curve.unit)})"
            metrics[step.outcome].append(f"{curve.metric}{size}")
    parts = [f"{_UNCHANGED.get(outcome, outcome)} in {', '.join(names)}" for outcome, names in metrics.items() if names]
    if not parts:
        return f"{lead} No gated metric has a value from {MONTH} days ago, so that there is nothing to compare."
    return f"{lead} Compared with {MONTH} days ago it is {'; '.join(parts)}."


def failures(shown: GateSet) -> str:
    """A sentence: `2 of 41 runs of the last 30 days failed, the last on 2026-11-17: recall@5 61.0% (−9.0 pp)`."""
    recent = [run for run in shown.runs if run.at >= shown.today - MONTH]
    failed = [run for run in recent if run.record.verdict is Verdict.FAIL]
    if not recent:
        return f"No run of the last {MONTH} days."
    if not failed:
        return f"None of {count_text(len(recent), 'run')} of the last {MONTH} days failed."
    last = failed[-1]
    lead = f"{len(failed):,} of {count_text(len(recent), 'run')} of the last {MONTH} days failed"
    day = f", the last on {last.record.date}" if failed[1:] else f", on {last.record.date}"
    values = [_missed(curve, last) for curve in shown.curves if curve.gated]
    named = ", ".join(filter(None, values))
    return f"{lead}{day}{f': {named}' if named else ''}."


def _missed(curve: Curve, run: ShownRun) -> str:
    """A gated metric that lay beyond today's limit in this run, or lost against what was accepted before it."""
    value = run.values[curve.metric].value if curve.metric in run.values else None
    if value is None:
        return ""
    sign = curve.direction.sign
    accepted = [level for at, level in curve.steps if at < run.at]
    change = value - accepted[-1] if accepted else 0.0
    beyond = any(sign * (value - limit) < 0 for limit in curve.limits)
    if not beyond and sign * change >= 0:
        return ""
    against = f" ({delta_text(change, curve.unit)})" if accepted and not vanishes(change, curve.unit) else ""
    return f"{curve.metric} {value_text(value, curve.unit)}{against}"


def events_of(run: ShownRun) -> list[str]:
    """What happened with a run, beside its verdict."""
    events = {"accepted": run.accepted, "new gold set": run.new_gold, "new judge": run.new_judge}
    return [event for event, happened in events.items() if happened]
