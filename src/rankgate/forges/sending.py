"""One request, sent until it is answered or there is no use in it: paces, waits within a limit, and keeps the token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

import msgspec

from rankgate.errors import redacted_text
from rankgate.forges.exchange import BODY_BYTES, Answer, Clock, NoAnswer, exchange, session_of
from rankgate.forges.waiting import GiveUp, ListFirst, Wait, next_step
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.renderers.escape import shorten, visible

SHOWN = 200  # characters of a server's words in a sentence of ours


class ForgeError(Exception):
    """The platform refused, or could not be reached; the text is one sentence that is safe to show.

    Attributes:
        status: the HTTP status of the refusal, None where no answer came.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class LostResponseError(ForgeError):
    """No answer says what became of it; of a write: list before it is sent again."""


class Request(msgspec.Struct, frozen=True):
    """What is asked.

    Attributes:
        method: as GET.
        path: of the API; what sentences name, since an address may be signed.
        url: the whole address.
        body: JSON, None for none.
        limit: bytes that the answer may have.
        to_api: whether the token goes with it.
    """

    method: str
    path: str
    url: str
    body: bytes | None = None
    limit: int = BODY_BYTES
    to_api: bool = True

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def whom(self) -> str:
        """Who is asked, for a sentence."""
        return "GitHub" if self.to_api else "GitHub's file store"


class Sender:
    """The connections of one client, and how long it has waited."""

    def __init__(
        self, token: str, *, max_wait: float, write_gap: float, tell: Callable[[str], None], clock: Clock
    ) -> None:
        self._token = token
        self._session = session_of(token)
        self._max_wait = max_wait
        self._write_gap = write_gap
        self._tell = tell
        self._clock = clock
        self._waited = 0.0
        self._last_write: float | None = None

    def tell(self, text: str) -> None:
        """Say something, without the token."""
        self._tell(self._safe(text))

    def error(self, message: str, status: int | None = None, kind: type[ForgeError] = ForgeError) -> ForgeError:
        """The error for the caller to raise, without the token."""
        return kind(self._safe(message), status)

    def answer(self, request: Request) -> Answer:
        """The answer, which is no refusal, after as many attempts and waits as the rules and the limit allow.

        A DELETE that finds nothing when it is tried again was done by an earlier attempt: 204.

        Raises:
            LostResponseError: a POST may or may not have arrived.
            ForgeError: the platform refuses or cannot be reached, or the next wait would exceed the limit.
        """
        earlier: list[Wait] = []
        while True:
            outcome = self._once(request)
            if isinstance(outcome, Answer):
                if outcome.status < 400:  # noqa: PLR2004 -- refusals begin there
                    return outcome
                if request.method == "DELETE" and outcome.status == 404 and earlier:  # noqa: PLR2004 -- not found
                    return Answer(204, {}, b"", None)
            earlier.append(self._wait_after(request, outcome, earlier))

    def _once(self, request: Request) -> Answer | NoAnswer:
        """One attempt, and before it the gap to the last write."""
        if request.method == "GET":
            return self._sent(request)
        if self._last_write is not None:
            gap = self._last_write + self._write_gap - self._clock.monotonic()
            if gap > 0:
                self._clock.sleep(gap)
        try:
            return self._sent(request)
        finally:
            self._last_write = self._clock.monotonic()

    def _sent(self, request: Request) -> Answer | NoAnswer:
        with nullcontext(self._session) if request.to_api else session_of(None) as session:
            return exchange(session, request.method, request.url, request.body, limit=request.limit, clock=self._clock)

    def _wait_after(self, request: Request, outcome: Answer | NoAnswer, earlier: list[Wait]) -> Wait:
        """Wait as the rules say, or raise what the caller has to know."""
        if isinstance(outcome, NoAnswer):
            status, words = None, ""
            failure = f"{request.whom} gave no usable answer to {request}: {outcome.why}"
            step = next_step(request.method, outcome.broken, {}, "", earlier, self._clock.now())
        else:
            status = outcome.status
            words = self._safe(_said(outcome.body)) if request.to_api else ""
            verb = "refused" if status < 500 else "failed at"  # noqa: PLR2004 -- the server's own failures begin there
            failure = f"{request.whom} {verb} {request}: {brief(status, words)}"
            step = next_step(request.method, status, outcome.headers, words, earlier, self._clock.now())
        if isinstance(step, ListFirst):
            raise self.error(f"{failure}; it may have been done all the same", status, LostResponseError)
        if isinstance(step, GiveUp):
            raise self.error(f"{failure}{step.reason and f' ({step.reason})'}", status)
        self.pause(step, failure, status)
        return step

    def pause(self, wait: Wait, failure: str, status: int | None) -> None:
        """Wait, and say why.

        Raises:
            ForgeError: it would exceed the limit; it is not begun.
        """
        if self._waited + wait.seconds > self._max_wait:
            more = f"waiting {wait.seconds:,.0f} s more ({wait.reason}) would exceed {self._max_wait:,.0f} s in all"
            raise self.error(f"{failure}; {more}", status)
        self._waited += wait.seconds
        self.tell(f"{failure}; trying again in {wait.seconds:,.0f} s ({wait.reason})")
        self._clock.sleep(wait.seconds)

    def _safe(self, text: str) -> str:
        return redacted_text(text.replace(self._token, "***"))


def _said(body: bytes) -> str:
    """A refusal's `message` and those of its `errors`, as they came; empty where the body has none."""
    try:
        value = strict_json(body)
    except JsonError:
        return ""  # the page of a proxy, or nothing
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return ""
    details = list(_details(value.get("errors")))
    return ": ".join([value["message"], *(["; ".join(details)] if details else [])])


def _details(errors: Any) -> Iterator[str]:
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, str):
            yield error
        elif isinstance(error, dict):
            words = error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error)
            yield str(words)


def brief(status: int, words: str) -> str:
    """`403 Resource not accessible by integration`: the words on one line and cut, or what the status means."""
    if not words.strip():
        words = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return f"{status} {shorten(visible(words), SHOWN)}".rstrip()
