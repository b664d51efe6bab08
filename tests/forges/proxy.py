"""A loopback proxy before the emulator: it judges every request, keeps a log, and does what a test has scripted."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.forges.description import Description
from tests.forges.emulator import Emulator
from tests.forges.faults import Answer, Exchange, FaultyServer, answer_of, refusal
from tests.forges.loopback_server import Handler, LoopbackServer, serving

PASSED_BACK = {"content-type", "link", "location", "etag", "retry-after"}


class Proxy(FaultyServer):
    """What a test sees of it."""

    def __init__(self, emulator: Emulator, description: Description) -> None:
        super().__init__()
        self.emulator = emulator
        self._description = description
        self._violations: list[str] = []
        self._played: dict[tuple[str, str], Answer] = {}
        self._server = LoopbackServer(self._answer)

    @property
    def url(self) -> str:
        """The API's address for whoever is tested, without a slash at the end."""
        return self._server.url

    def play(
        self,
        method: str,
        path: str,
        status: int = 200,
        *,
        json: object = None,
        content: bytes = b"",
        redirect: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer where the emulator cannot, every time: a path below /repos/OWNER/NAME, whatever the query is."""
        told = {**(headers or {}), **({"Location": redirect} if redirect else {})}
        answer = answer_of(status, json_body=json, content=content, headers=told)
        self._played[method, f"/repos/{self.emulator.repository}{path}"] = answer

    def take_violations(self) -> list[str]:
        """What GitHub would have refused so far. A test that means to ask for that takes it; what is left fails it."""
        with self._lock:
            taken, self._violations = self._violations, []
        return taken

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        """At work until the block ends.

        Raises:
            AssertionError: what was asked does not fit the description, or something went wrong in here.
        """
        with serving(self._server):
            yield self
        assert not self._violations, "\n".join(self._violations)

    def _answer(self, request: Handler, body: bytes) -> Answer | None:
        """The response to a request, or None for a reset."""
        method, path = request.command, request.path
        headers = {name.title(): request.headers[name] for name in request.headers}
        given = headers.get("Authorization")
        right = given is not None and given.removeprefix("Bearer ") in self.emulator.server.issued
        names = frozenset(name.lower() for name in headers)
        problems = self._description.problems(method, path, headers.get("Content-Type"), body)
        if "user-agent" not in names:
            problems.append("no User-Agent")
        with self._lock:
            self._violations += [f"{method} {path}: {problem}" for problem in problems]
        exchange = Exchange(method, path, time.monotonic(), names, right, body)

        def answer() -> Answer:
            if problems:
                return refusal(422, "; ".join(problems))
            known = self._without_emulator(method, path, given, right=right)
            return known or self._upstream(method, path, headers, body)

        return self.through_faults(exchange, answer)

    def _without_emulator(self, method: str, path: str, given: str | None, *, right: bool) -> Answer | None:
        """Where the emulator does otherwise than GitHub, which knows no wrong token and has no /user for an App's."""
        if given is not None and not right:
            return refusal(401, "Bad credentials")
        if path == "/user" and given is not None and given.startswith("Bearer ghs_"):
            return refusal(403, "Resource not accessible by integration")
        return self._played.get((method, urlsplit(path).path))

    def _upstream(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        passed = {name: headers[name] for name in ("Authorization", "Accept", "Content-Type") if name in headers}
        there = http.client.HTTPConnection("127.0.0.1", urlsplit(self.emulator.url).port or 80, timeout=300)
        try:
            there.request(method, path, body or None, passed)
            response = there.getresponse()
            content = response.read()
        finally:
            there.close()
        if "/check-runs" in path:
            content = self._with_apps(content, method, headers.get("Authorization", ""))
        # Whoever follows an address finds itself here again.
        here = {
            name: value.replace(self.emulator.url, self.url)
            for name, value in response.getheaders()
            if name.lower() in PASSED_BACK or name.lower().startswith("x-ratelimit")
        }
        return Answer(response.status, here, content.replace(self.emulator.url.encode(), self.url.encode()))

    def _with_apps(self, content: bytes, method: str, given: str) -> bytes:
        """Check runs with the App that made them, as GitHub's description has it; the emulator says null."""
        answered = json.loads(content)
        if not isinstance(answered, dict):
            return content
        server = self.emulator.server
        if method == "POST" and "id" in answered:
            server.check_apps[answered["id"]] = server.issued[given.removeprefix("Bearer ")]
        for run in answered.get("check_runs", [answered]):
            if run.get("id") in server.check_apps:
                run["app"] = {"slug": server.check_apps[run["id"]]}
        return json.dumps(answered).encode()
