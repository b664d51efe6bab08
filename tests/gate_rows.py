"""Gate results by the keys of report.json: a test names those that matter to it, and not the parts that hold them."""

from __future__ import annotations

from typing import Any

from rankgate.model.gate_result import GATE_PARTS, GateResult, in_parts, to_row


def gate_result(**keys: Any) -> GateResult:
    """A result of these keys."""
    values = in_parts(keys, GATE_PARTS)
    return GateResult(**values | {name: part(**values[name]) for name, part in GATE_PARTS.items()})


def changed(gate: GateResult, **keys: Any) -> GateResult:
    """The result with other values for these keys."""
    return gate_result(**{**to_row(gate, GATE_PARTS), **keys})
