"""Gate results by the keys of report.json, and scores by column: a test names what matters to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankgate.model.gate_result import GATE_PARTS, GateResult, in_parts, to_row
from rankgate.model.scores import Scores


def gate_result(**keys: Any) -> GateResult:
    """A result of these keys."""
    values = in_parts(keys, GATE_PARTS)
    return GateResult(**values | {name: part(**values[name]) for name, part in GATE_PARTS.items()})


def changed(gate: GateResult, **keys: Any) -> GateResult:
    """The result with other values for these keys."""
    return gate_result(**{**to_row(gate, GATE_PARTS), **keys})


def scores_of(query_ids: Iterable[str], values: Mapping[str, Sequence[float | None]], **more: Any) -> Scores:
    """The columns of these queries; nothing is missing, unknown or cut unless it is said."""
    rest: dict[str, Any] = {"missing": frozenset(), "unknown_queries": (), "duplicates": 0, "cut": 0} | more
    return Scores(query_ids=tuple(query_ids), values={name: list(column) for name, column in values.items()}, **rest)
