"""Whether it became better or worse, in words: from values to sentences."""

from __future__ import annotations

import msgspec

from rankgate.model.values import Direction, Unit, Verdict
from rankgate.model.wording import delta_text, value_text, vanishes
from rankgate.renderers.dashboards.days import MONTH
from rankgate.renderers.dashboards.values import GateSet, ShownRun

_SAYS = {
    Verdict.PASS: "passed",
    Verdict.WARN: "passed with a warning",
    Verdict.FAIL: "failed",
    Verdict.NOT_JUDGED: "could not be judged",
}


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
