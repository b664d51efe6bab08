"""What is asked for: `ship-criteria.yaml` and `ship-waivers.yaml`, read and checked.

The models load on first use, so that whoever needs only the names of files does not pay for pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.criteria.paths import DEFAULT_PATHS, WAIVERS, InputFile, beside, find_criteria, inputs_named

if TYPE_CHECKING:
    from rankgate.criteria.gate import Gate, Limits, SegmentRule
    from rankgate.criteria.model import BaselinePolicy, Criteria, Inputs, load_criteria

__all__ = ["DEFAULT_PATHS", "WAIVERS", "InputFile", "beside", "find_criteria", "inputs_named"]
__all__ += ["BaselinePolicy", "Criteria", "Gate", "Inputs", "Limits", "SegmentRule", "load_criteria"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rankgate.criteria' has no attribute {name!r}")
    from rankgate.criteria import gate, model  # noqa: PLC0415

    return getattr(gate if hasattr(gate, name) else model, name)
