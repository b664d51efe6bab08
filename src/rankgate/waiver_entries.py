"""A waiver to copy into ship-waivers.yaml for a gate that is violated now. Pure."""

from __future__ import annotations

import math

from rankgate.quoting import quoted
from rankgate.readers.dates import days_after
from rankgate.report import GateResult

DAYS = 30
_DIGITS = 3  # after the point; two waivers of one gate rarely differ by less


def entry(result: GateResult, date: str) -> str:
    """The entry as YAML. It does not validate until its three placeholders are filled in.

    Args:
        result: a gate whose `violation` is known.
        date: the ISO day of today; the entry expires thirty days later.
    """
    segment = "" if result.segment is None else f"    segment: {quoted(result.segment)}\n"
    return (
        f"  - gate: {quoted(result.name)}\n{segment}"
        f"    up_to: {ceiling(result.violation or 0.0)}\n"
        f"    expires: {days_after(date, DAYS)}\n"
        '    issue: "<link to the issue>"\n'
        '    reason: "<why this is accepted for now>"\n'
        '    by: "<who answers for it>"\n'
    )


def ceiling(violation: float) -> str:
    """A violation rounded up to three decimals, as YAML writes a number."""
    scale = 10**_DIGITS
    scaled = violation * scale
    # A value such as 0.18000000000000002 is 0.18: waivers are compared with that tolerance too.
    whole = round(scaled) if math.isclose(scaled, round(scaled), rel_tol=0, abs_tol=1e-6) else math.ceil(scaled)
    return f"{whole // scale}.{whole % scale:0{_DIGITS}d}"
