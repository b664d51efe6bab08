"""An S3-compatible server on loopback, in a process of its own: `python s3_server.py` prints its port and serves.

It is moto's application. S3 decides atomically whether an object of a name is the first; moto looks and writes in two
steps, which several threads may do at once. Here such a request has the server for itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a running server."""
    command = [sys.executable, "-W", "ignore", __file__]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()


def serve() -> None:
    """Until the process is ended."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002
            """The parent reads one line."""

    app = DomainDispatcherApplication(create_backend_app)
    alone = threading.Lock()

    def one_at_a_time(environment: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        with alone:
            answer: Iterable[bytes] = app(environment, start)
            return answer

    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Quiet)
    os.write(1, f"{server.server_port}\n".encode())
    server.serve_forever()


if __name__ == "__main__":
    serve()
