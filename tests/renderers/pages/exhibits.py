"""Small exhibits for the tests of the page's parts."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from rankgate.diagnosis.movements import worst_rows
from rankgate.metrics.tags import violated_segments
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
from rankgate.model.gate_result import GateResult
from rankgate.model.values import Direction, Unit

RECALL = Measure(name="recall@5", meaning="share found", unit=Unit.SHARE, direction=Direction.HIGHER)
LATENCY = Measure(name="latency", meaning="milliseconds", unit=Unit.MILLISECONDS, direction=Direction.LOWER)


def value_of(delta: float | None) -> PanelValue:
    """A value with a change."""
    return PanelValue(value=0.5, ci=(0.4, 0.6), delta=delta)


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
    *questions: Question,
    panel: tuple[PanelRow, ...] = (),
    sweeps: tuple[Sweep, ...] = (),
    measure: Measure = RECALL,
    gates: Sequence[GateResult] = (),
) -> ReportDetails:
    """Details of these parts, in the order that a check with these gates gives them."""
    details = ReportDetails(
        leading=measure.name, k=5, depth=10, measures=(measure,), panel=panel, sweeps=sweeps, questions=questions
    )
    return replace(details, order=worst_rows(details, violated_segments(gates)))


def unpacked(page: str) -> dict[str, Any]:
    """What the script of a page reads: the head, and the columns of all blocks, with passages as their texts."""
    head: dict[str, Any] = {}
    for embedded in re.findall('<script type="application/json" id="question-data">(.*?)</script>', page):
        head = json.loads(embedded)
    for packed in re.findall(r'<script type="text/plain" id="block-\d+">(.*?)</script>', page):
        block = json.loads(zlib.decompress(base64.b64decode(packed)))
        texts = block.pop("texts")
        block["passages"] = [
            lists and [[None if at is None else texts[at] for at in items] for items in lists]
            for lists in block["passages"]
        ]
        block["expected"] = [
            [(*each[:4], None if each[4] is None else texts[each[4]]) for each in documents]
            for documents in block["expected"]
        ]
        for key, column in block.items():
            head.setdefault(f"all_{key}", []).extend(column)
    return head
