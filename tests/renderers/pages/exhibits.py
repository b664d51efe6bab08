"""Small exhibits for the tests of the page's parts."""

from __future__ import annotations

from rankgate.model.details import (
    Cause,
    Expected,
    Listed,
    Measure,
    PanelRow,
    PanelValue,
    Question,
    ReportDetails,
    Sweep,
)
from rankgate.model.values import Direction, Unit

RECALL = Measure(name="recall@5", meaning="share found", unit=Unit.SHARE, direction=Direction.HIGHER)
LATENCY = Measure(name="latency", meaning="milliseconds", unit=Unit.MILLISECONDS, direction=Direction.LOWER)


def value_of(
    delta: float | None, ci: tuple[float | None, float | None] | None = None, *, limit: float | None = None
) -> PanelValue:
    """A value with a change."""
    return PanelValue(value=0.5, ci=(0.4, 0.6), delta=delta, delta_ci=ci, limit=limit)


def question_of(
    query_id: str,
    cause: Cause,
    before: float | None = 1.0,
    now: float | None = 1.0,
    *,
    tags: tuple[str, ...] = (),
    ranks: tuple[int | None, int | None] = (1, 1),
    metric: str = "recall@5",
) -> Question:
    """A question with one relevant document."""
    return Question(
        query_id=query_id,
        question=f"what is {query_id}?",
        tags=tags,
        cause=cause,
        values={metric: (before, now)},
        expected=(Expected(id="right", gain=1.0, before=ranks[0], after=ranks[1]),),
        before=None if before is None else (Listed(id="right", gain=1.0), Listed(id="other", gain=None)),
        now=(Listed(id="other", gain=None), Listed(id="judged", gain=0.0), Listed(id="right", gain=2.0)),
    )


def details_of(
    *questions: Question, panel: tuple[PanelRow, ...] = (), sweeps: tuple[Sweep, ...] = (), measure: Measure = RECALL
) -> ReportDetails:
    """Details of these parts."""
    return ReportDetails(
        leading=measure.name, k=5, depth=10, measures=(measure,), panel=panel, sweeps=sweeps, questions=questions
    )
