"""The comment's trend: the gated metrics over the last runs of the main branch, drawn in text."""

from __future__ import annotations

from rankgate.model.report import Report
from rankgate.model.wording import value_text
from rankgate.renderers.phrases import NOTHING
from rankgate.renderers.rows import named

MOST_METRICS = 6
_LEVELS = "▁▂▃▄▅▆▇█"


def trend_head(report: Report) -> str:
    """`The last 8 runs of the main branch, 2026-01-02 to 2026-01-30`; nothing where no history is known."""
    if not report.trend:
        return ""
    days = list(dict.fromkeys((report.trend[0].date, report.trend[-1].date)))
    runs = f"The last {len(report.trend)} runs" if len(report.trend) > 1 else "The last run"
    return f"{runs} of the main branch, {' to '.join(days)}"


def trend_rows(report: Report) -> list[str]:
    """A row a metric: its values drawn from old to new, the lowest, the highest, the newest, and this run's."""
    rows: list[str] = []
    for name, found in list(report.metrics.items())[:MOST_METRICS]:
        values = [point.scores.get(name) for point in report.trend]
        known = [value for value in values if value is not None]
        if not known:
            continue
        shown = [value_text(value, found.unit) for value in (min(known), max(known), known[-1])]
        now = NOTHING if found.value is None else value_text(found.value, found.unit)
        rows.append(f"| **{named(name, report)}** | `{spark(values)}` | {' | '.join(shown)} | {now} |")
    return rows


def spark(values: list[float | None]) -> str:
    """One character a value, as high as the value lies between the lowest and the highest; `·` where there is none."""
    known = [value for value in values if value is not None]
    low, width = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)

    def level(value: float) -> str:
        return _LEVELS[round((value - low) / width * (len(_LEVELS) - 1))] if width > 0 else _LEVELS[3]

    return "".join("·" if value is None else level(value) for value in values)
