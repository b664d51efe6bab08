"""What a server does other than what it is for: scripted faults, and answers of its own."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple


class Answer(NamedTuple):
    """A response: status, headers without a length, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


PAGE = Answer(200, {"Content-Type": "text/html"}, b"<!DOCTYPE html><title>Sign in</title>")


class Exchange(NamedTuple):
    """One request as it came to the server."""

    method: str
    path: str  # with its query
    at: float  # seconds of a monotonic clock
    headers: frozenset[str]  # their names, in lower case
    authorized: bool  # whether it came with a token that was issued
    body: bytes


# What happens: an answer without asking upstream; no answer and nothing done; done, but the answer is lost; something
# else happens first, and then the request goes its way.
Kind = Literal["answer", "reset_before", "drop_after", "page_after", "meanwhile"]


@dataclass
class Fault:
    """Something that happens to the next requests of one kind, as often as is left."""

    method: str
    path: re.Pattern[str]
    kind: Kind
    left: int
    answer: Answer | None = None
    action: Callable[[], object] | None = None

    def fits(self, method: str, path: str) -> bool:
        """Whether it happens to this request."""
        return self.left > 0 and self.method == method and self.path.search(path) is not None


def answer_of(
    status: int, *, json_body: object = None, content: bytes = b"", headers: Mapping[str, str] | None = None
) -> Answer:
    """A response with a JSON body or with bytes."""
    if json_body is not None:
        content, headers = json.dumps(json_body).encode(), {"Content-Type": "application/json", **(headers or {})}
    return Answer(status, headers or {}, content)


def refusal(status: int, message: str, **headers: str) -> Answer:
    """How GitHub says no. Names of headers are given with `_` for `-`."""
    told = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
    return answer_of(status, json_body=told, headers={name.replace("_", "-"): each for name, each in headers.items()})


class FaultyServer:
    """The log of a server, and what its tests script for the next requests whose path and query a pattern finds."""

    def __init__(self) -> None:
        self.log: list[Exchange] = []
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

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
        """They get this answer, and nothing is done."""
        answer = answer_of(status, json_body=json, content=content, headers=headers)
        self._faults.append(Fault(method, re.compile(path), "answer", times, answer=answer))

    def reset_before(self, method: str, path: str, *, times: int = 1) -> None:
        """The connection is reset, and nothing is done."""
        self._faults.append(Fault(method, re.compile(path), "reset_before", times))

    def drop_after(self, method: str, path: str, *, times: int = 1) -> None:
        """What is asked is done, but the connection is reset before a byte of the answer."""
        self._faults.append(Fault(method, re.compile(path), "drop_after", times))

    def page_after(self, method: str, path: str, *, times: int = 1) -> None:
        """What is asked is done, but a proxy on the way answers with a page of its own and status 200."""
        self._faults.append(Fault(method, re.compile(path), "page_after", times))

    def page_before(self, method: str, path: str, *, times: int = 1) -> None:
        """The same page, and nothing is done."""
        self._faults.append(Fault(method, re.compile(path), "answer", times, answer=PAGE))

    def meanwhile(self, method: str, path: str, action: Callable[[], object], *, times: int = 1) -> None:
        """Something that happens just before the next such request is looked at; if it waits, the answer is slow."""
        self._faults.append(Fault(method, re.compile(path), "meanwhile", times, action=action))

    def asked(self, method: str, path: str = "") -> list[Exchange]:
        """The requests so far whose path and query the pattern finds."""
        return [each for each in self.log if each.method == method and re.search(path, each.path)]

    def through_faults(self, exchange: Exchange, answer: Callable[[], Answer]) -> Answer | None:
        """The response to a request, which goes on record, or None for a reset."""
        with self._lock:
            self.log.append(exchange)
            fault = next((each for each in self._faults if each.fits(exchange.method, exchange.path)), None)
            if fault:
                fault.left -= 1
        if fault and fault.action:
            fault.action()
        if fault and fault.kind == "reset_before":
            return None
        if fault and fault.answer:
            return fault.answer
        answered = answer()
        if fault and fault.kind == "page_after":
            return PAGE
        return None if fault and fault.kind == "drop_after" else answered
