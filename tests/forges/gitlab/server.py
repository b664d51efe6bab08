"""A GitLab instance as a server on loopback, and the ways in which it and the way to it fail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.forges.faults import Answer, Exchange, FaultyServer
from tests.forges.gitlab.api import Api, Request
from tests.forges.loopback_server import Handler, LoopbackServer, serving

TOO_MANY_NOTES = "This endpoint has been requested too many times. Try again later."


class Gitlab(Api, FaultyServer):
    """A running instance. Its address may have a path, as https://example.com/gitlab."""

    def __init__(self, root: str = "") -> None:
        FaultyServer.__init__(self)
        self._server = LoopbackServer(self._answer)
        Api.__init__(self, self._server.url + root)

    @contextmanager
    def running(self) -> Iterator[Gitlab]:
        """At work until the block ends."""
        with serving(self._server):
            yield self

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

    def _answer(self, handler: Handler, body: bytes) -> Answer | None:
        headers = {name.lower(): handler.headers[name] for name in handler.headers}
        request = Request(handler.command, handler.path, headers, parameters(handler.path, headers, body))
        right = request.token in self.tokens
        exchange = Exchange(handler.command, handler.path, time.monotonic(), frozenset(headers), right, body)

        def answer() -> Answer:
            with self._lock:
                return self.respond(request)

        return self.through_faults(exchange, answer)


def parameters(path: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """What the query and the body give, which is one to GitLab: JSON, or as a form sends it."""
    given: dict[str, Any] = dict(parse_qsl(urlsplit(path).query, keep_blank_values=True))
    if not headers.get("content-type", "").startswith("application/json"):
        return given | dict(parse_qsl(body.decode(), keep_blank_values=True))
    decoded = json.loads(body or b"{}")
    return given | decoded if isinstance(decoded, dict) else given
