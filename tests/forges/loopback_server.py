"""HTTP/1.1 servers on loopback whose threads and connections all end when they are told to."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.forges.faults import Answer

Connection = socket.socket | tuple[bytes, socket.socket]  # as the standard library's types have it: never the second
Address = Any
RESET = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # SO_LINGER of zero seconds: closing answers with a reset


class LoopbackServer(ThreadingHTTPServer):
    """Knows its open connections, so that none outlives it, and keeps what went wrong in its threads."""

    daemon_threads = False

    def __init__(self, answer: Responder) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.errors: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._reset: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.server_port}"

    def process_request(self, request: Connection, client_address: Address) -> None:
        """A new connection; its thread may wait for a request for long."""
        assert isinstance(request, socket.socket)
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def reset(self, connection: socket.socket) -> None:
        """End a connection as if the network had: with a reset and no further byte."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        with self._lock:
            self._reset.add(connection)

    def shutdown_request(self, request: Connection) -> None:
        """As inherited, but without a goodbye to those who shall get a reset."""
        assert isinstance(request, socket.socket)
        with self._lock:
            self._open.discard(request)
            reset = request in self._reset
        if reset:
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request: Connection, client_address: Address) -> None:
        """A client may go away at any time; all else is a mistake of ours, or of a test."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.errors.append(error)

    def end_connections(self) -> None:
        """Let every thread see the end of its connection."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    """Reads whole requests and writes whole responses."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each response waits for an acknowledgement
    server: LoopbackServer

    def respond(self) -> None:
        """One request, one response."""
        answer = self.server.answer(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if answer is None:
            self.close_connection = True
            self.server.reset(self.connection)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if "Content-Length" in answer.headers:  # not ours, so it may be a lie that no client should wait for
            self.close_connection = True
        elif answer.status not in {204, 304}:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_CONNECT = respond  # noqa: N815 (so the base class finds them)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in the base class)
        """Nothing: what was asked is on record elsewhere."""


# The response to the present request of a handler with this body, or None to reset the connection.
Responder = Callable[[Handler, bytes], Answer | None]


@contextmanager
def serving(server: LoopbackServer) -> Iterator[None]:
    """A server at work until the block ends; then no thread and no socket of it is left, and nothing went wrong."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.end_connections()
        server.server_close()
    assert not server.errors, server.errors
