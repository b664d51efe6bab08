"""GitHub's API for the rest of the package: JSON in and out, patience within a limit, and a token that stays here.

Every failure is a `ForgeError` whose text may be printed: it holds neither the token nor an address with a signature.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.errors import bad_input, redacted_text
from rankgate.forges.http import BODY_BYTES, Answer, Clock, NoAnswer, base_of, exchange, session_of
from rankgate.forges.retry import FIRST_RETRY, Wait, next_step
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.renderers.escape import one_line

MAX_SERVER_WORDS = 200  # characters of a server's words in a sentence of ours
MAX_PAGES = 1_000
MAX_MOVES = 3  # one would do for a repository that was renamed
_RENAMED = (301, 307, 308)
_MOVED = (302, *_RENAMED)
_WRITES = ("POST", "PATCH", "DELETE")
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_Read = TypeVar("_Read")


class ForgeError(Exception):
    """The platform refused, with an HTTP status, or could not be reached; the text is one sentence, safe to show."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class LostResponseError(ForgeError):
    """No answer says whether it was done; of a write: list before it is sent again."""


class _Request(msgspec.Struct, frozen=True):
    """A request. Sentences name its path, since an address may be signed; the token goes to the API alone."""

    method: str
    path: str
    url: str
    body: bytes | None = None
    limit: int = BODY_BYTES
    to_api: bool = True

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Client:
    """Requests to one API with one token, one after the other.

    `max_wait` are the seconds that all waits for limits and retries may take together, without the gaps between writes,
    which are `write_gap` seconds long. With `dry_run` writes are told instead of sent; reading goes on. `tell` takes a
    line about every wait, and the writes of a dry run. `clock` is another time than the machine's.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        max_wait: float = 300.0,
        write_gap: float = 1.0,
        dry_run: bool = False,
        tell: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        if not re.fullmatch(r"[!-~]+", token):
            raise bad_input("is empty or has a character that no token has", key="token")
        self.dry_run = dry_run
        self._base = base_of(api_url)
        self._token = token
        self._session = session_of(token, _HEADERS)
        self._max_wait = max_wait
        self._write_gap = write_gap
        self._tell = tell
        self._clock = clock or Clock()
        self._waited = 0.0
        self._last_write = -math.inf

    def time(self) -> str:
        """Now, as GitHub writes times."""
        return self._clock.text()

    def get(self, path: str, params: Mapping[str, str | int] = {}) -> Any:
        """The decoded JSON of an answer."""
        request = self._request("GET", path, params)
        return self._once_more(lambda: self._decoded(*self._read(request, _MOVED)))

    def pages(self, path: str, params: Mapping[str, str | int] = {}, *, under: str | None = None) -> Iterator[Any]:
        """The items of all pages, a hundred a page unless `params` says otherwise; the server links the next.

        `under` is the key of the list, as `check_runs`, where a page is an object. A page without a list, a next page
        on another host and pages without end are errors.
        """
        request = self._request("GET", path, {"per_page": 100, **params})
        for _ in range(MAX_PAGES):
            request, answer, items = self._once_more(partial(self._page, request, under))
            yield from items
            if answer.next is None:
                return
            url = self._base.within(answer.next, seen_at=request.url)
            if url is None:
                raise self._error(f"the next page of {request} is said to lie outside of the API; not followed")
            request = replace(request, url=url)
        raise self._error(f"{request} has more than {MAX_PAGES:,} pages")

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """POST, PATCH or DELETE. Only a POST is not sent again where an answer is lost.

        The decoded answer is empty where it has no body, in a dry run, and for a DELETE that finds nothing.

        Raises:
            LostResponseError: a POST may or may not have arrived; or any of them, answered by the page of a proxy.
        """
        if method not in _WRITES:
            raise ValueError(f"{method} is none of {', '.join(_WRITES)}")
        text = None if body is None else json.dumps(body, allow_nan=False)
        request = self._request(method, path, {}, text)
        if self.dry_run:
            self._tell(self._safe(f"{request} {text}" if text else str(request)))
            return {}
        answer = self._answer(request)
        if not answer.body and answer.status == HTTPStatus.NO_CONTENT:
            return {}
        decoded = self._decoded(request, answer)
        if method != "DELETE" and not isinstance(decoded, dict):  # what is left may be a list
            raise self._garbled(request)
        return decoded

    def pause_after(self, lost: LostResponseError, earlier: int) -> None:
        """Wait before looking whether a POST arrived after all, longer the more were lost earlier."""
        self._pause(Wait(FIRST_RETRY * 2.0**earlier, "trouble", "looking once more"), str(lost), lost.status)

    def download(self, path: str, limit: int) -> bytes:
        """A file of at most so many bytes from where the API says that it lies; the token does not go there."""
        request = replace(self._request("GET", path, {}), limit=limit)
        return self._once_more(lambda: self._file(request))

    def _request(self, method: str, path: str, params: Mapping[str, str | int], text: str | None = None) -> _Request:
        url = self._base.url(path, params)
        if url is None:
            raise self._error(f"{method} {path!r} is not sent: that is no path of the API")
        return _Request(method, path, url, None if text is None else text.encode())

    def _file(self, request: _Request) -> bytes:
        """The bytes of a file, from the API or from where it refers to once, without our token.

        A ForgeError where that is no safe address, or what comes is no whole file.
        """
        request, answer = self._read(request, _RENAMED)
        if not answer.succeeded:
            url = self._base.elsewhere(answer.headers.get("location", ""), seen_at=request.url)
            if url is None:
                raise self._error(f"GitHub sent {request} to an address that is not safe; it was not followed")
            request = replace(request, url=url, to_api=False)
            answer = self._answer(request)
        if answer.status != HTTPStatus.OK:  # a part of a file, or one that lies elsewhere again, is no file
            without = f"{self._server(request)} answered {request} without a file: {_brief(answer.status, '')}"
            raise self._error(without, answer.status)
        if answer.headers.get("content-type", "").startswith("text/html"):
            raise self._garbled(request, "with a page")
        return answer.body

    def _page(self, request: _Request, under: str | None) -> tuple[_Request, Answer, list[Any]]:
        request, answer = self._read(request, _MOVED)
        page = self._decoded(request, answer)
        items = page
        if under is not None:
            items = page.get(under) if isinstance(page, dict) else None
        if not isinstance(items, list):
            raise self._garbled(request, "without a list")
        return request, answer, items

    def _once_more(self, read: Callable[[], _Read]) -> _Read:
        """What is read, the second time where the first answer was none of the API's."""
        try:
            return read()
        except LostResponseError as error:
            self.pause_after(error, 0)
            return read()

    def _read(self, request: _Request, moved: tuple[int, ...]) -> tuple[_Request, Answer]:
        """A GET and its answer, from where the API says that it is now as long as that is the API itself."""
        for _ in range(MAX_MOVES + 1):
            answer = self._answer(request)
            url = self._base.within(answer.headers.get("location", ""), seen_at=request.url)
            if answer.status not in moved or url is None:
                return request, answer
            request = replace(request, url=url)
        raise self._error(f"GitHub sent {request} from one place to the next {MAX_MOVES + 1} times")

    def _decoded(self, request: _Request, answer: Answer) -> Any:
        if not answer.succeeded:
            message = f"GitHub sent {request} to another place; it was not followed"
            raise self._error(message, answer.status)
        with suppress(JsonError):
            return strict_json(answer.body)
        raise self._garbled(request)

    def _garbled(self, request: _Request, what: str = "with something else than strict JSON") -> ForgeError:
        return self._error(f"{request} was answered {what}, as a proxy on the way may do", kind=LostResponseError)

    def _answer(self, request: _Request) -> Answer:
        """The answer, which is no refusal, after as many attempts and waits as `next_step` and the limit allow."""
        earlier: list[Wait] = []
        while True:
            outcome = self._once(request)
            if isinstance(outcome, Answer):
                if outcome.status < HTTPStatus.BAD_REQUEST:
                    return outcome
                if request.method == "DELETE" and outcome.status == HTTPStatus.NOT_FOUND:
                    return Answer(HTTPStatus.NO_CONTENT, {}, b"", None)  # an earlier attempt did it, or another job
            earlier.append(self._wait_after(request, outcome, earlier))

    def _once(self, request: _Request) -> Answer | NoAnswer:
        writes = request.method in _WRITES
        gap = self._last_write + self._write_gap - self._clock.monotonic()
        if writes and gap > 0:
            self._clock.sleep(gap)
        try:
            with nullcontext(self._session) if request.to_api else session_of(None) as session:
                return exchange(session, request.method, request.url, request.body, request.limit, self._clock)
        finally:
            if writes:
                self._last_write = self._clock.monotonic()

    def _wait_after(self, request: _Request, outcome: Answer | NoAnswer, earlier: list[Wait]) -> Wait:
        """Wait as the rules say, or raise what the caller has to know."""
        if isinstance(outcome, NoAnswer):
            status = None
            words = ""
            failure = f"{self._server(request)} gave no usable answer to {request}: {outcome.why}"
            step = next_step(request.method, outcome.failure, {}, "", earlier, self._clock.now())
        else:
            status = outcome.status
            words = self._safe(_message(outcome.body)) if request.to_api else ""
            verb = "refused" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "failed at"
            failure = f"{self._server(request)} {verb} {request}: {_brief(status, words)}"
            step = next_step(request.method, status, outcome.headers, words, earlier, self._clock.now())
        if isinstance(step, Wait):
            self._pause(step, failure, status)
            return step
        if step.lost:
            raise self._error(f"{failure}; it may have been done all the same", status, LostResponseError)
        raise self._error(f"{failure} ({step.reason})" if step.reason else failure, status)

    def _pause(self, wait: Wait, failure: str, status: int | None) -> None:
        if self._waited + wait.seconds > self._max_wait:
            more = f"waiting {wait.seconds:,.0f} s more ({wait.reason}) would exceed {self._max_wait:,.0f} s in all"
            raise self._error(f"{failure}; {more}", status)
        self._waited += wait.seconds
        self._tell(self._safe(f"{failure}; trying again in {wait.seconds:,.0f} s ({wait.reason})"))
        self._clock.sleep(wait.seconds)

    def _server(self, request: _Request) -> str:
        return "GitHub" if request.to_api else "GitHub's file store"

    def _error(self, message: str, status: int | None = None, kind: type[ForgeError] = ForgeError) -> ForgeError:
        return kind(self._safe(message), status)

    def _safe(self, text: str) -> str:
        return redacted_text(text.replace(self._token, "***"))


def _message(body: bytes) -> str:
    """A refusal's `message` and those of its `errors`, as they came; empty where the body has none."""
    with suppress(JsonError, RecursionError):  # the page of a proxy, or nothing
        value = strict_json(body)
        if isinstance(value, dict):
            errors = value["errors"] if isinstance(value.get("errors"), list) else []
            details = [_detail(error) for error in errors if isinstance(error, str | dict)]
            message = value.get("message")
            return ": ".join(filter(None, [message if isinstance(message, str) else "", "; ".join(details)]))
    return ""


def _detail(error: str | dict[str, Any]) -> str:
    if isinstance(error, str):
        return error
    return str(error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error))


def _brief(status: int, words: str) -> str:
    """`403 Resource not accessible by integration`: the words on one line and cut, or what the status means."""
    if not words.strip():
        words = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return f"{status} {one_line(words.removeprefix(f'{status} '), MAX_SERVER_WORDS)}".rstrip()
