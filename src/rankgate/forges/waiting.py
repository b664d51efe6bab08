"""Whether a request that failed is sent again, and when: a decision over what came back, without a clock or a network.

The rules are those of GitHub's documentation on rate limits. A POST is never sent again after it may have arrived: it
would make a second comment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Literal

import msgspec

MINUTE = 60.0
DAY = 86_400.0
_TROUBLE = 2.0  # seconds of the first wait after trouble
RETRIES = 3  # after trouble: a server that is down for longer than that is down


# A limit: the server did nothing and asks for patience. Trouble: the server or the way to it failed.
Cause = Literal["limit", "trouble"]


class Broken(Enum):
    """How a request ended without an answer."""

    UNREACHED = "unreached"  # no connection was made, so nothing was sent
    LOST = "lost"  # it broke after the request may have been sent
    UNUSABLE = "unusable"  # the same would come again: a certificate that nobody trusts, an answer that is too large


class Wait(msgspec.Struct, frozen=True):
    """Send the request again after so many seconds; waits of the two causes are counted apart."""

    seconds: float
    cause: Cause
    reason: str


class GiveUp(msgspec.Struct, frozen=True):
    """Do not send it again. The reason is empty where the answer itself is reason enough."""

    reason: str


class ListFirst(msgspec.Struct, frozen=True):
    """It may have been done although no answer says so: look before it is sent again."""


def next_step(
    method: str,
    outcome: int | Broken,
    headers: Mapping[str, str],
    message: str,
    earlier: Sequence[Wait],
    now: float,
) -> Wait | GiveUp | ListFirst:
    """What to do about a request that was refused or failed.

    Args:
        method: GET, PATCH and DELETE may be done twice; anything else is taken for a POST.
        outcome: the status of the answer, or how it failed to come.
        headers: of the answer, their names in lower case.
        message: the server's own words, empty where it said none.
        earlier: the waits of this request so far, oldest first.
        now: seconds since 1970.

    Returns:
        A wait is between 1 second and a day; those of one cause grow.
    """
    if outcome is Broken.UNUSABLE:
        return GiveUp("")
    if isinstance(outcome, Broken) or outcome >= 500:  # noqa: PLR2004 -- the server's own failures begin there
        return _after_trouble(method, outcome, headers, earlier)
    if outcome in (403, 429):
        wait = _after_limit(outcome, headers, message, earlier, now)
        if wait is not None:
            return wait
    return GiveUp("")


def _after_trouble(
    method: str, outcome: int | Broken, headers: Mapping[str, str], earlier: Sequence[Wait]
) -> Wait | GiveUp | ListFirst:
    if method not in ("GET", "PATCH", "DELETE") and outcome is not Broken.UNREACHED:
        return ListFirst()
    if _count(earlier, "trouble") >= RETRIES:
        return GiveUp(f"{RETRIES} retries did not help")
    asked = _asked(headers)
    return _wait(asked or 0.0, _TROUBLE, "trouble", "trouble on the way or at the other end", earlier)


def after_loss(earlier: int) -> Wait:
    """The wait before a caller looks whether a POST arrived; `earlier` is how often one was lost before."""
    return Wait(_TROUBLE * 2.0**earlier, "trouble", "looking once more")


def _after_limit(
    status: int, headers: Mapping[str, str], message: str, earlier: Sequence[Wait], now: float
) -> Wait | None:
    """The wait that a rate limit asks for; None where the refusal is none."""
    asked = _asked(headers)
    if asked is not None:
        return _wait(asked, 1.0, "limit", "the server asks to wait", earlier)
    if headers.get("x-ratelimit-remaining", "").strip() == "0":
        reset = headers.get("x-ratelimit-reset", "").strip()
        if _SECONDS.fullmatch(reset):
            return _wait(float(reset) + 1 - now, 1.0, "limit", "the rate limit is used up", earlier)
        return _wait(0.0, MINUTE, "limit", "the rate limit is used up", earlier)
    if status == 429 or _SECONDARY.search(message) or "retry-after" in headers:  # noqa: PLR2004 -- too many requests
        return _wait(0.0, MINUTE, "limit", "a secondary rate limit", earlier)
    return None


def _wait(asked: float, least: float, cause: Cause, reason: str, earlier: Sequence[Wait]) -> Wait:
    """At least what was asked for, at least `least` doubled with every wait for the same cause, at most a day."""
    doubled = least * 2.0 ** _count(earlier, cause)
    return Wait(min(max(asked, doubled), DAY), cause, reason)


def _count(earlier: Sequence[Wait], cause: Cause) -> int:
    return sum(wait.cause is cause for wait in earlier)


_SECONDS = re.compile(r"\d{1,12}", re.ASCII)
_SECONDARY = re.compile(r"secondary rate limit|abuse detection", re.IGNORECASE)


def _asked(headers: Mapping[str, str]) -> float | None:
    """The seconds of a `retry-after`, a day at most; None where it has none, or a date, which GitHub does not send."""
    text = headers.get("retry-after", "").strip()
    return min(float(text), DAY) if re.fullmatch(r"\d+", text, re.ASCII) else None
