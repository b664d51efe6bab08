"""Whether a failed request is sent again, and when: decided from what came back, without a clock or a network.

The rules are those of GitHub's documentation on rate limits. A POST is never sent again
after it may have arrived: it would create a second comment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Literal

import msgspec

MINUTE = 60.0
DAY = 86_400.0
FIRST_RETRY = 2.0  # seconds
RETRIES = 3  # after trouble: a server that is down for longer than that is down

# A limit: the server did nothing and asks for patience. Trouble: the server or the way to it failed.
Cause = Literal["limit", "trouble"]


class Failure(Enum):
    """How a request ended without an answer."""

    UNREACHED = "unreached"  # no connection was made, so nothing was sent
    LOST = "lost"  # it broke after the request may have been sent
    UNUSABLE = "unusable"  # the same would come again: an untrusted certificate, an answer that is too large


class Wait(msgspec.Struct, frozen=True):
    """Send the request again after so many seconds; waits of the two causes are counted apart."""

    seconds: float
    cause: Cause
    reason: str


class Stop(msgspec.Struct, frozen=True):
    """Do not send it again; the reason is empty where the answer is. If `lost`, it may have been done all the same."""

    reason: str = ""
    lost: bool = False


def next_step(
    method: str, outcome: int | Failure, headers: Mapping[str, str], message: str, earlier: Sequence[Wait], now: float
) -> Wait | Stop:
    """What to do about a request that was refused or failed, after the waits so far.

    A wait is between 1 second and a day, and doubles with every earlier one of its cause. The headers' names are in
    lower case; the message is the server's own words, empty where there are none; `now` is in seconds since 1970.
    """
    if outcome is Failure.UNUSABLE:
        return Stop()
    if isinstance(outcome, Failure) or outcome >= 500:  # noqa: PLR2004 -- the server's own failures begin there
        if method not in ("GET", "PATCH", "DELETE") and outcome is not Failure.UNREACHED:
            return Stop(lost=True)
        if _count(earlier, "trouble") >= RETRIES:
            return Stop(f"{RETRIES} retries did not help")
        requested = _retry_after(headers) or 0.0
        return _wait(requested, FIRST_RETRY, "trouble", "trouble on the way or at the other end", earlier)
    if outcome not in (403, 429):
        return Stop()
    return _after_limit(outcome, headers, message, earlier, now) or Stop()


def _after_limit(
    status: int, headers: Mapping[str, str], message: str, earlier: Sequence[Wait], now: float
) -> Wait | None:
    """The wait that a rate limit asks for; None where the refusal is another."""
    seconds = _retry_after(headers)
    if seconds is not None:
        return _wait(seconds, 1.0, "limit", "the server asks to wait", earlier)
    if headers.get("x-ratelimit-remaining", "").strip() == "0":
        reset = headers.get("x-ratelimit-reset", "").strip()
        reason = "the rate limit is used up"
        if _SECONDS.fullmatch(reset):
            return _wait(float(reset) + 1 - now, 1.0, "limit", reason, earlier)
        return _wait(0.0, MINUTE, "limit", reason, earlier)
    if status == 429 or _SECONDARY.search(message) or "retry-after" in headers:  # noqa: PLR2004 -- too many requests
        return _wait(0.0, MINUTE, "limit", "a secondary rate limit", earlier)
    return None


def _wait(requested: float, least: float, cause: Cause, reason: str, earlier: Sequence[Wait]) -> Wait:
    return Wait(min(max(requested, least * 2.0 ** _count(earlier, cause)), DAY), cause, reason)


def _count(earlier: Sequence[Wait], cause: Cause) -> int:
    return sum(wait.cause == cause for wait in earlier)


_SECONDS = re.compile(r"\d{1,12}", re.ASCII)
_SECONDARY = re.compile(r"secondary rate limit|abuse detection", re.IGNORECASE)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of a `retry-after`, a day at most; None where it has none, or a date, which GitHub does not send."""
    text = headers.get("retry-after", "").strip()
    return min(float(text), DAY) if re.fullmatch(r"\d+", text, re.ASCII) else None
