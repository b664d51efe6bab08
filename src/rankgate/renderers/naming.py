"""What a row of gates is about, in a few words on one line. Text of the inputs is shown and never obeyed."""

from __future__ import annotations

from rankgate.model.report import GateResult
from rankgate.renderers.escape import shorten, visible

LONGEST = 40  # characters of a name or a tag


def row_name(gate: GateResult, *, own_name: bool = False) -> str:
    """The metric and on what it is judged: `recall@5 in lang:es`, `mrr since launch`, `recall@5, by the base`.

    Args:
        gate: the row.
        own_name: whether the gate's own name stands beside the metric of a row about all queries.
    """
    by = ", by the base" if gate.judged_by else ""
    if gate.segment is not None:
        return f"{gate.metric} in {_short(gate.segment)}{by}"
    if gate.since is not None:
        return f"{gate.metric} since {_short(gate.since)}{by}"
    return f"{gate.metric} ({_short(gate.name)}){by}" if own_name else f"{gate.metric}{by}"


def _short(text: str) -> str:
    return shorten(visible(text), LONGEST)
