"""A server on loopback that plays one scripted answer after the other, and clocks on which waiting takes no time."""

from __future__ import annotations

import json
import ssl
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.forges.faults import Answer, refusal
from tests.forges.loopback_server import Handler, LoopbackServer, serving

from rankgate.forges.client import Client
from rankgate.forges.http import Clock

TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 -- as GitHub's documentation shows one; nobody's


class Asked(NamedTuple):
    """A request as it came: the path with its query, or the whole address where the server is a proxy."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


Play = Callable[[Handler], Answer | None]


class Script(LoopbackServer):
    """What is still to be played, and what was asked; every request is answered by the next play."""

    def __init__(self, *plays: Play) -> None:
        super().__init__(self._play)
        self.plays = list(plays)
        self.asked: list[Asked] = []

    def _play(self, request: Handler, body: bytes) -> Answer | None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append(Asked(request.command, request.path, headers, body))
        assert self.plays, f"{self.asked[-1]} was not expected"
        return self.plays.pop(0)(request)


@contextmanager
def playing(*plays: Play, tls: ssl.SSLContext | None = None) -> Iterator[Script]:
    """A server at work. At the end nothing of the script may be left, and nothing else may have been asked."""
    script = Script(*plays)
    if tls is not None:
        script.socket = tls.wrap_socket(script.socket, server_side=True)
    with serving(script):
        yield script
    assert script.plays == []


def reply(status: int, body: object = None, **headers: str) -> Play:
    """An answer with JSON, with bytes as they are, or with nothing. Names of headers have `_` for `-`."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, content)
    return lambda _: answer


def refuse(status: int, message: str, **headers: str) -> Play:
    """How GitHub says no."""
    return lambda _: refusal(status, message, **headers)


def reset(_: Handler) -> None:
    """The connection breaks after the request was read: whether it was done nobody knows."""


def trickle(chunk: bytes, between: Callable[[], object]) -> Play:
    """An answer without an end, until the client goes away."""

    def play(player: Handler) -> None:
        player.send_response(200)
        player.send_header("Transfer-Encoding", "chunked")
        player.end_headers()
        while True:
            player.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            player.wfile.flush()
            between()

    return play


class StandingClock(Clock):
    """Time passes only by sleeping, or when a test lets it."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0
        self.slept: list[float] = []
        self.on_sleep: Callable[[], Any] = lambda: None

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        self.on_sleep()


class InstantClock(StandingClock):
    """The machine's time, but for waits, which take none: for what is compared with a server's time."""

    def now(self) -> float:
        return time.time() + sum(self.slept)

    def monotonic(self) -> float:
        return time.monotonic() + sum(self.slept)


def client_of(api_url: str, clock: StandingClock, **options: Any) -> Client:
    """A client with the token of the tests, for which no time passes."""
    return Client(api_url, TOKEN, clock=clock, **options)


def patient(url: str, token: str, clock: InstantClock | None = None, **options: Any) -> Client:
    """A client that has all the time of the usual limits and takes none of it."""
    return Client(url, token, clock=clock or InstantClock(), **options)


def everything(error: BaseException) -> str:
    """All that anyone could print of an error, and of those before it."""
    shown = [*traceback.format_exception(error), str(error), repr(error), repr(vars(error))]
    seen: BaseException | None = error.__context__
    while seen is not None:
        shown += [str(seen), repr(seen)]
        seen = seen.__context__
    return "\n".join(shown)
