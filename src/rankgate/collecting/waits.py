"""How long a server asks to be left alone, by the headers of its answers."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from rankgate.readers.dates import instant

MAX_WAIT = 120.0  # seconds; a server that asks for more is not waited for
_NUMBER = re.compile(r"\d{1,20}(?:\.\d{1,20})?", re.ASCII)
_DURATION = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)(d|h|ms|m|s|us|µs|ns)", re.ASCII)
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_INSTANT = 1e8  # a larger number is seconds since 1970
_MILLISECONDS = 1e11  # and a larger one milliseconds
_NONE_LEFT = re.compile(r"-\d+|0+(?:\.0+)?", re.ASCII)


def seconds_until(text: str, now: float) -> float | None:
    """The seconds that a header asks for: a number, `6m0s` or `20ms`, or a date of either form; None of any other."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number < _INSTANT:
            return number
        return (number / 1_000 if number > _MILLISECONDS else number) - now
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    when = instant(text)
    with suppress(ValueError, OverflowError):  # no date
        when = parsedate_to_datetime(text).timestamp() if when is None else when
    return None if when is None else when - now


def pause(attempt: int, headers: Mapping[str, str], seed: int, now: float) -> float | None:
    """Seconds before the next attempt: what `Retry-After` asks for, or else 1, 2, 4, 8.

    Up to a half is added, by the seed, so that requests which failed together do not come back together. None where the
    server asks for more than `MAX_WAIT`.
    """
    requested = seconds_until(headers.get("retry-after", ""), now) or 0.0
    if requested > MAX_WAIT:
        return None
    spread = (seed ^ zlib.crc32(bytes([attempt]))) % 1_000 / 2_000
    return max(requested, 2.0**attempt) * (1 + spread)


def until_limits_end(headers: Mapping[str, str], now: float) -> float:
    """Seconds until a rate limit of which nothing is left begins anew, at most `MAX_WAIT`; 0 where something is left.

    By the headers that services agree on: `x-ratelimit-remaining-tokens` with `x-ratelimit-reset-tokens`, and
    `anthropic-ratelimit-requests-remaining` with `…-reset`.
    """
    longest = 0.0
    for name, value in headers.items():
        if "ratelimit" in name.lower() and "remaining" in name.lower() and _NONE_LEFT.fullmatch(value.strip()):
            reset = headers.get(name.lower().replace("remaining", "reset"), "")
            longest = max(longest, seconds_until(reset, now) or 0.0)
    return min(longest, MAX_WAIT)
