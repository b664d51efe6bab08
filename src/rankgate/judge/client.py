"""Requests to an OpenAI-compatible endpoint: repeated within limits, answers bounded, the key sent to it alone.

A failure is a reason and a number, never the words of a library or a server, so that no key can stand in them. What a
server echoes of the key is blotted out before anything is read.
"""

from __future__ import annotations

import os
import re
import socket
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread, local
from time import monotonic, sleep, time
from typing import Any, NamedTuple, TypeVar

import requests
import urllib3
from pydantic import BaseModel, ValidationError
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies

from rankgate import __version__
from rankgate.collecting.waits import pause, until_limits_end
from rankgate.criteria.judge_block import AUTHORIZATION, KEY_VARIABLE, Timeouts
from rankgate.errors import bad_input
from rankgate.files.environment import CERTIFICATES
from rankgate.judge.model import canonical
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged
from rankgate.readers.json_text import JsonError, strict_json

TRIES = 5
MAX_BYTES = 8_000_000
_OK = 200
_SERVER_ERRORS = 500
_SECRET_LENGTH = 8
_AGAIN = {408, 409, 425, 429}
_CASE = re.IGNORECASE
_TOO_LONG = re.compile(
    rb"context[ _-]?(?:length|window|size)|maximum context|too many tokens|prompt is too long", _CASE
)
_FILTERED = re.compile(rb"content[_ ](?:filter|policy)", _CASE)
M = TypeVar("M", bound=BaseModel)


class _Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Spending:
    """What is left of a budget, shared by threads: a request is begun only if it fits, and counted when it ends."""

    def __init__(self, calls: int | None = None, tokens: int | None = None) -> None:
        self.calls = self.tokens = 0
        self._limits = (calls, tokens)
        self._lock = Lock()

    def begin(self, tokens: int) -> bool:
        """Set aside a request of about so many tokens; False where the budget has no room for it."""
        with self._lock:
            for limit, needed in zip(self._limits, (self.calls + 1, self.tokens + tokens), strict=True):
                if limit is not None and needed > limit:
                    return False
            self.calls += 1
            self.tokens += tokens
            return True

    def correct(self, tokens: int, calls: int = 0) -> None:
        """Add what a request took beyond, or less than, what was set aside."""
        with self._lock:
            self.calls += calls
            self.tokens += tokens


class Endpoint:
    """One endpoint, for any number of threads.

    Attributes:
        stopped: once it is set, no further request is begun and no wait goes on.
    """

    def __init__(
        self,
        address: str,
        key: str | None = None,
        *,
        auth_header: str = AUTHORIZATION,
        timeouts: Timeouts | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """Nothing is sent yet. The key is the environment's unless it is given; an empty one is not sent.

        In another header than that of the standard it stands alone, as Azure has it.

        Raises:
            RankgateError: the key has characters that no header can hold.
        """
        key = os.environ.get(KEY_VARIABLE, "") if key is None else key
        if not re.fullmatch(r"[!-~]*", key):
            raise bad_input("has a character that no key has", key=KEY_VARIABLE)
        self.address = address.rstrip("/")
        self._url = f"{self.address}/chat/completions"
        self.stopped = Event()
        self._key = key
        self._headers = {"User-Agent": f"rankgate/{__version__}", "Content-Type": "application/json"}
        self._headers["Accept-Encoding"] = "identity"  # so that a limit in bytes is one
        if key:
            bare = auth_header.casefold() != AUTHORIZATION.casefold()
            self._headers[auth_header] = key if bare else f"Bearer {key}"
        self._wait = wait or self.stopped.wait
        self._timeouts = timeouts or Timeouts()
        self._own = local()
        self._lock = Lock()
        self._limited_until = 0.0
        self._ends: dict[_Adapter, float] = {}
        self._watched = False

    def hang_up(self) -> None:
        """Begin no further request, and end the connections of those that wait for an answer."""
        self.stopped.set()
        for adapter in self._ends.copy():
            adapter.end_connection()

    def post(self, body: object, shape: type[M], spending: Spending, estimate: int) -> M | Unjudged:
        """The answer of `/chat/completions`, after at most five attempts; one of another shape is a failed attempt.

        Each attempt is charged with the estimate of its tokens, which the caller corrects; of a refusal nothing is.
        """
        data = canonical(body)
        last = Unjudged(UnjudgedKind.UNREACHABLE)
        for attempt in range(TRIES):
            if (limited := self._limited_until - monotonic()) > 0:
                self._wait(limited)
            if self.stopped.is_set():
                return Unjudged(UnjudgedKind.INTERRUPTED)
            if not spending.begin(estimate):
                return Unjudged(UnjudgedKind.BUDGET)
            response = self._once(data)
            if response is None:
                last = Unjudged(UnjudgedKind.UNREACHABLE)
            elif response.status == _OK:
                try:
                    return shape.model_validate(strict_json(response.body))
                except (JsonError, ValidationError, RecursionError):
                    last = Unjudged(UnjudgedKind.ENVELOPE)
            else:
                spending.correct(-estimate, calls=-1)
                last = _refusal(response)
                if response.status not in _AGAIN and response.status < _SERVER_ERRORS:
                    return last
            wait = pause(attempt, response.headers if response else {}, zlib.crc32(data), time())
            if wait is None or attempt == TRIES - 1:
                break
            self._wait(wait)
        return last

    def _once(self, data: bytes) -> _Response | None:
        """One attempt; None where no answer came, or none within the limits. A redirect is an answer, not followed."""
        try:
            adapter = self._adapter()
            if adapter.request is None:
                adapter.request = requests.Request("POST", self._url, self._headers).prepare()
            request = adapter.request
            request.prepare_body(data, None)
            timeout = (self._timeouts.connect, self._timeouts.read)
            with (
                self._limited(adapter),
                adapter.send(request, stream=True, timeout=timeout, **adapter.how) as response,
            ):
                body = bytearray()
                while chunk := response.raw.read1(65_536):
                    body += chunk
                    if len(body) > MAX_BYTES:
                        return None
                if seconds := until_limits_end(response.headers, time()):
                    self._limited_until = monotonic() + seconds
                secret = len(self._key) >= _SECRET_LENGTH  # a shorter one is a word that a local server ignores
                plain = bytes(body).replace(self._key.encode(), b"***") if secret else bytes(body)
                return _Response(response.status_code, response.headers, plain)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError, TypeError):
            return None

    def _adapter(self) -> _Adapter:
        """This thread's connections; of the environment only proxies and CA certificates count, no .netrc."""
        if not hasattr(self._own, "adapter"):
            files = [*filter(None, map(os.environ.get, CERTIFICATES))]
            verify = files[0] if files else True
            self._own.adapter = _Adapter(verify=verify, proxies=get_environ_proxies(self.address))
        adapter_of_thread: _Adapter = self._own.adapter
        return adapter_of_thread

    @contextmanager
    def _limited(self, adapter: _Adapter) -> Iterator[None]:
        """End the connection in use after the total time; one thread watches all, as long as there are any."""
        with self._lock:
            self._ends[adapter] = monotonic() + self._timeouts.total
            if not self._watched:
                self._watched = True
                Thread(target=self._watch, daemon=True).start()
        try:
            yield
        finally:
            del self._ends[adapter]

    def _watch(self) -> None:
        watched = True
        while watched:
            sleep(min(1.0, self._timeouts.total / 10))
            for adapter, end in self._ends.copy().items():
                if monotonic() > end:
                    adapter.end_connection()
            with self._lock:
                self._watched = watched = bool(self._ends)


class _Adapter(HTTPAdapter):
    """One thread's connections to one address, of which another thread can end the one in use.

    Headers may trickle in for ever. The socket is the one that was opened last; urllib3 shows none before the answer
    begins, nor where it is the last.
    """

    def __init__(self, **how: Any) -> None:
        super().__init__()
        self.how = how
        self.request: requests.PreparedRequest | None = None
        self.socket: socket.socket | None = None
        self._pool: Any = None  # to look it up takes a look at files, and waits for other threads

    def end_connection(self) -> None:
        """Let whatever waits for an answer see the end of it."""
        if self.socket:
            with suppress(OSError):  # it is closed
                socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def get_connection_with_tls_context(self, *given: Any, **named: Any) -> Any:
        """The pool of the address, whose connections note their socket (`socket`) when they are opened."""
        if self._pool:
            return self._pool
        pool: Any = super().get_connection_with_tls_context(*given, **named)
        self._pool = pool

        def connection(*given: Any, **named: Any) -> Any:
            opened: Any = type(pool).ConnectionCls(*given, **named)

            def connect() -> None:
                type(opened).connect(opened)
                self.socket = opened.sock

            opened.connect = connect
            return opened

        pool.ConnectionCls = connection
        return pool


def _refusal(response: _Response) -> Unjudged:
    """A refusal by its status; of those that concern the content, what servers agree on saying about it."""
    if response.status in {400, 413, 422}:
        if _TOO_LONG.search(response.body):
            return Unjudged(UnjudgedKind.CONTEXT_TOO_LONG)
        if _FILTERED.search(response.body):
            return Unjudged(UnjudgedKind.CONTENT_FILTER)
    return Unjudged(UnjudgedKind.HTTP_STATUS, response.status)
