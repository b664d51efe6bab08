"""The GitHub API for the rest of the package: JSON in and out, patience within a limit, and a token that stays here.

Every failure is a `ForgeError` whose text may be printed: it holds neither the token nor an address with a signature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from rankgate.errors import bad_input
from rankgate.forges.addresses import base_of
from rankgate.forges.exchange import Answer, Clock
from rankgate.forges.sending import ForgeError, LostResponseError, Request, Sender, brief
from rankgate.forges.waiting import after_loss
from rankgate.readers.json_text import JsonError, strict_json

__all__ = ["Client", "ForgeError", "LostResponseError"]

MAX_PAGES = 1_000
MAX_MOVES = 3  # one would do for a repository that was renamed
_RENAMED = (301, 307, 308)
_MOVED = (302, *_RENAMED)
_WRITES = ("POST", "PATCH", "DELETE")


def _unheard(_: str) -> None:
    """Where nobody wants to know."""


class Client:
    """Requests to one API with one token, one after the other.

    Attributes:
        dry_run: writes are told instead of sent.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        max_wait: float = 300.0,
        write_gap: float = 1.0,
        dry_run: bool = False,
        tell: Callable[[str], None] = _unheard,
        clock: Clock | None = None,
    ) -> None:
        """Nothing is sent yet.

        Args:
            api_url: as https://api.github.com or https://HOST/api/v3.
            token: of a user, of an app, or the job's own.
            max_wait: seconds that all waits for limits and retries may take together. The gaps between writes are not
                among them.
            write_gap: seconds between the end of a write and the beginning of the next.
            dry_run: tell writes as method, path and JSON instead of sending them; reading goes on.
            tell: takes a line about every wait, and the writes of a dry run.
            clock: another time than the machine's.

        Raises:
            RankgateError: a token that is none, an address that is not safe, CA certificates that are not there.
        """
        if not re.fullmatch(r"[!-~]+", token):
            raise bad_input("is empty or has a character that no token has", key="token")
        self.dry_run = dry_run
        self._base = base_of(api_url)
        self._sender = Sender(token, max_wait=max_wait, write_gap=write_gap, tell=tell, clock=clock or Clock())

    def get(self, path: str, params: Mapping[str, str | int] = {}) -> Any:
        """The decoded JSON of an answer.

        Raises:
            ForgeError: the platform refuses, cannot be reached, or answers with something else than JSON.
        """
        request = self._request("GET", path, params)
        return self._once_more(lambda: self._decoded(*self._read(request, _MOVED)))

    def pages(self, path: str, params: Mapping[str, str | int] = {}, *, under: str | None = None) -> Iterator[Any]:
        """The items of all pages, a hundred a page unless `params` says otherwise.

        Args:
            path: of a list.
            params: of the first page; the server's links carry them on.
            under: the key of the list, as `check_runs`, where a page is an object.

        Raises:
            ForgeError: as `get`; also for a page without a list, a next page on another host, and pages without end.
        """
        request = self._request("GET", path, {"per_page": 100, **params})
        for _ in range(MAX_PAGES):
            request, answer, items = self._once_more(partial(self._page, request, under))
            yield from items
            if answer.next is None:
                return
            url = self._base.own(answer.next, seen_at=request.url)
            if url is None:
                raise self._sender.error(f"the next page of {request} is said to lie outside of the API; not followed")
            request = msgspec.structs.replace(request, url=url)
        raise self._sender.error(f"{request} has more than {MAX_PAGES:,} pages")

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Write something.

        Args:
            method: POST, PATCH or DELETE. Only the last two are sent again where an answer is lost.
            path: of the API.
            body: JSON.

        Returns:
            The decoded answer. An empty object where it has none, in a dry run, and for a DELETE that finds nothing
            when it is tried again.

        Raises:
            LostResponseError: a POST may or may not have arrived; or any of them, answered by the page of a proxy.
            ForgeError: the platform refuses or cannot be reached.
            ValueError: the method is none of the three, or the body has a number that JSON has not.
        """
        if method not in _WRITES:
            raise ValueError(f"{method} is none of {', '.join(_WRITES)}")
        text = None if body is None else json.dumps(body, allow_nan=False)
        request = self._request(method, path, {}, text)
        if self.dry_run:
            self._sender.tell(f"{request} {text}" if text else str(request))
            return {}
        answer = self._sender.answer(request)
        if not answer.body and answer.status == 204:  # noqa: PLR2004 -- no content
            return {}
        found = self._decoded(request, answer)
        if method != "DELETE" and not isinstance(found, dict):  # what is left may be a list
            raise self._garbled(request)
        return found

    def rest(self, lost: LostResponseError, earlier: int) -> None:
        """Wait before looking whether a POST arrived after all, longer the more were lost earlier.

        Raises:
            ForgeError: the wait would exceed the limit; it is not begun.
        """
        self._sender.pause(after_loss(earlier), str(lost), lost.status)

    def download(self, path: str, limit: int) -> bytes:
        """A file, as the zip of an artifact, from where the API says that it lies; the token does not go there.

        Args:
            path: of the API.
            limit: bytes that the file may have.

        Raises:
            ForgeError: as `get`; also for a file that is larger, or lies where it cannot be fetched safely.
        """
        asked = msgspec.structs.replace(self._request("GET", path, {}), limit=limit)
        file: bytes = self._once_more(lambda: self._downloaded(asked))
        return file

    def _downloaded(self, asked: Request) -> bytes:
        request, answer = self._read(asked, _RENAMED)
        if not _succeeded(answer):
            url = self._base.elsewhere(answer.headers.get("location", ""), seen_at=request.url)
            if url is None:
                raise self._sender.error(f"GitHub sent {request} to an address that is not safe; it was not followed")
            request = msgspec.structs.replace(request, url=url, to_api=False)
            answer = self._sender.answer(request)
        if answer.status != 200:  # noqa: PLR2004 -- a part of a file, or one that lies elsewhere again, is no file
            without = f"{request.whom} answered {request} without a file: {brief(answer.status, '')}"
            raise self._sender.error(without, answer.status)
        if answer.headers.get("content-type", "").startswith("text/html"):
            raise self._garbled(request, "with a page")
        return answer.body

    def _page(self, request: Request, under: str | None) -> tuple[Request, Answer, list[Any]]:
        request, answer = self._read(request, _MOVED)
        page = self._decoded(request, answer)
        items = page if under is None else page.get(under) if isinstance(page, dict) else None
        if not isinstance(items, list):
            raise self._garbled(request, "without a list")
        return request, answer, items

    def _once_more(self, read: Callable[[], Any]) -> Any:
        """What is read, the second time where the first answer was none of the API's."""
        try:
            return read()
        except LostResponseError as error:
            self.rest(error, 0)
            return read()

    def _garbled(self, request: Request, what: str = "with something else than strict JSON") -> ForgeError:
        whole = f"{request} was answered {what}, as a proxy on the way may do"
        return self._sender.error(whole, kind=LostResponseError)

    def _request(self, method: str, path: str, params: Mapping[str, str | int], text: str | None = None) -> Request:
        url = self._base.url(path, params)
        if url is None:
            raise self._sender.error(f"{method} {path!r} is not sent: that is no path of the API")
        return Request(method, path, url, None if text is None else text.encode())

    def _read(self, request: Request, moved: tuple[int, ...]) -> tuple[Request, Answer]:
        """A GET and its answer, from where the API says that it is now as long as that is the API itself."""
        for _ in range(MAX_MOVES + 1):
            answer = self._sender.answer(request)
            url = self._base.own(answer.headers.get("location", ""), seen_at=request.url)
            if answer.status not in moved or url is None:
                return request, answer
            request = msgspec.structs.replace(request, url=url)
        raise self._sender.error(f"GitHub sent {request} from one place to the next {MAX_MOVES + 1} times")

    def _decoded(self, request: Request, answer: Answer) -> Any:
        if not _succeeded(answer):
            raise self._sender.error(f"GitHub sent {request} to another place; it was not followed", answer.status)
        with suppress(JsonError):
            return strict_json(answer.body)
        raise self._garbled(request)


def _succeeded(answer: Answer) -> bool:
    return 200 <= answer.status < 300  # noqa: PLR2004 -- as HTTP defines it
