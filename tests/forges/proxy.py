"""A loopback proxy before the emulator: it judges every request, keeps a log, and does what a test has scripted."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.forges.description import Description
from tests.forges.emulator import Emulator
from tests.forges.faults import PAGE, Answer, Exchange, Fault, answer_of, refusal
from tests.forges.loopback_server import Handler, LoopbackServer, serving

PASSED_BACK = {"content-type", "link", "location", "etag", "retry-after"}


class Proxy:
    """What a test sees of it."""

    def __init__(self, emulator: Emulator, description: Description) -> None:
        self.emulator = emulator
        self.log: list[Exchange] = []
        self._description = description
        self._violations: list[str] = []
        self._faults: list[Fault] = []
        self._played: dict[tuple[str, str], Answer] = {}
        self._lock = threading.Lock()
        self._server = LoopbackServer(self._answer)

    @property
    def url(self) -> str:
        """The API's address for whoever is tested, without a slash at the end."""
        return self._server.url

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
        """The next requests whose path and query the pattern finds get this answer; nothing reaches the emulator."""
        answer = answer_of(status, json_body=json, content=content, headers=headers)
        self._faults.append(Fault(method, re.compile(path), "answer", times, answer=answer))

    def reset_before(self, method: str, path: str, *, times: int = 1) -> None:
        """The connection is reset before anything reaches the emulator."""
        self._faults.append(Fault(method, re.compile(path), "reset_before", times))

    def drop_after(self, method: str, path: str, *, times: int = 1) -> None:
        """The emulator does what is asked, but the connection is reset before a byte of its answer."""
        self._faults.append(Fault(method, re.compile(path), "drop_after", times))

    def page_after(self, method: str, path: str, *, times: int = 1) -> None:
        """The emulator does what is asked, but a proxy on the way answers with a page of its own and status 200."""
        self._faults.append(Fault(method, re.compile(path), "page_after", times))

    def page_before(self, method: str, path: str, *, times: int = 1) -> None:
        """The same page, and nothing reaches the emulator."""
        self._faults.append(Fault(method, re.compile(path), "answer", times, answer=PAGE))

    def meanwhile(self, method: str, path: str, action: Callable[[], object], *, times: int = 1) -> None:
        """Something that happens on GitHub just before the next such request arrives there."""
        self._faults.append(Fault(method, re.compile(path), "meanwhile", times, action=action))

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

    def asked(self, method: str, path: str = "") -> list[Exchange]:
        """The requests so far whose path and query the pattern finds."""
        return [each for each in self.log if each.method == method and re.search(path, each.path)]

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
            self.log.append(Exchange(method, path, time.monotonic(), names, right, body))
            self._violations += [f"{method} {path}: {problem}" for problem in problems]
            fault = next((each for each in self._faults if each.fits(method, path)), None)
            if fault:
                fault.left -= 1
        if fault and fault.action:
            fault.action()
        if fault and fault.kind == "reset_before":
            return None
        if fault and fault.answer:
            return fault.answer
        if problems:
            return refusal(422, "; ".join(problems))
        answered = self._without_emulator(method, path, given, right=right)
        if answered is None:
            answered = self._upstream(method, path, headers, body)
        if fault and fault.kind == "page_after":
            return PAGE
        return None if fault and fault.kind == "drop_after" else answered

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
