"""A GitLab instance as a server on loopback, and the ways in which it and the way to it fail."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.forges.faults import PAGE, Answer, Exchange, Fault, answer_of
from tests.forges.gitlab.api import Api, Request
from tests.forges.loopback_server import Handler, LoopbackServer, serving

TOO_MANY_NOTES = "This endpoint has been requested too many times. Try again later."


class Gitlab(Api):
    """A running instance. Its address may have a path, as https://example.com/gitlab."""

    def __init__(self, root: str = "") -> None:
        self.log: list[Exchange] = []
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._server = LoopbackServer(self._answer)
        super().__init__(self._server.url + root)

    @contextmanager
    def running(self) -> Iterator[Gitlab]:
        """At work until the block ends."""
        with serving(self._server):
            yield self

    def asked(self, method: str, path: str = "") -> list[Exchange]:
        """The requests so far whose path and query the pattern finds."""
        return [each for each in self.log if each.method == method and re.search(path, each.path)]

    def status(
        self,
        method: str,
        path: str,
        status: int,
        *,
        json: object = None,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        times: int = 1,
    ) -> None:
        """The next requests whose path and query the pattern finds get this answer, and nothing is done."""
        answer = answer_of(status, json_body=json, content=content, headers=headers)
        self._faults.append(Fault(method, re.compile(path), "answer", times, answer=answer))

    def limit(self, method: str, path: str, *, seconds: int = 1, times: int = 1) -> None:
        """Too many requests: lib/gitlab/rack_attack.rb answers in plain text."""
        reset = int(time.time()) + seconds
        headers = {
            "Content-Type": "text/plain",
            "RateLimit-Name": "throttle_authenticated_api",
            "RateLimit-Limit": "60",
            "RateLimit-Observed": "61",
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": str(reset),
            "RateLimit-ResetTime": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(reset)),
            "Retry-After": str(seconds),
        }
        self.status(method, path, 429, content=b"Retry later\n", headers=headers, times=times)

    def limit_notes(self, *, times: int = 1) -> None:
        """Too many notes in a minute: lib/api/helpers/rate_limiter.rb does not say when to come again."""
        self.status("POST", r"/notes$", 429, json={"message": {"error": TOO_MANY_NOTES}}, times=times)

    def reset_before(self, method: str, path: str, *, times: int = 1) -> None:
        """The connection is reset and nothing is done."""
        self._faults.append(Fault(method, re.compile(path), "reset_before", times))

    def drop_after(self, method: str, path: str, *, times: int = 1) -> None:
        """What is asked is done, but the connection is reset before a byte of the answer."""
        self._faults.append(Fault(method, re.compile(path), "drop_after", times))

    def page_before(self, method: str, path: str, *, times: int = 1) -> None:
        """A page to sign in with status 200, as of a proxy on the way, and nothing is done."""
        self._faults.append(Fault(method, re.compile(path), "answer", times, answer=PAGE))

    def page_after(self, method: str, path: str, *, times: int = 1) -> None:
        """The same page, but what is asked is done."""
        self._faults.append(Fault(method, re.compile(path), "page_after", times))

    def meanwhile(self, method: str, path: str, action: Callable[[], object], *, times: int = 1) -> None:
        """Something that happens just before the next such request is looked at; if it waits, the answer is slow."""
        self._faults.append(Fault(method, re.compile(path), "meanwhile", times, action=action))

    def _answer(self, handler: Handler, body: bytes) -> Answer | None:
        """The response to a request, or None for a reset."""
        headers = {name.lower(): handler.headers[name] for name in handler.headers}
        request = Request(handler.command, handler.path, headers, parameters(handler.path, headers, body))
        with self._lock:
            right = request.token in self.tokens
            self.log.append(Exchange(request.method, request.path, time.monotonic(), frozenset(headers), right, body))
            fault = next((each for each in self._faults if each.fits(request.method, request.path)), None)
            if fault:
                fault.left -= 1
        if fault and fault.action:
            fault.action()
        if fault and fault.kind == "reset_before":
            return None
        if fault and fault.answer:
            return fault.answer
        with self._lock:
            answer = self.respond(request)
        if fault and fault.kind == "page_after":
            return PAGE
        return None if fault and fault.kind == "drop_after" else answer


def parameters(path: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """What the query and the body give, which is one to GitLab: JSON, or as a form sends it."""
    given: dict[str, Any] = dict(parse_qsl(urlsplit(path).query, keep_blank_values=True))
    if not headers.get("content-type", "").startswith("application/json"):
        return given | dict(parse_qsl(body.decode(), keep_blank_values=True))
    decoded = json.loads(body or b"{}")
    return given | decoded if isinstance(decoded, dict) else given
