"""Where artifacts lie: a server of another origin, which knows no token and must not be shown one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.forges.faults import Answer
from tests.forges.loopback_server import Handler, LoopbackServer, serving


class Fetch(NamedTuple):
    """One request as it came."""

    path: str  # with its query, which holds the signature
    headers: frozenset[str]  # their names, in lower case


class Storage:
    """Keeps bytes at signed addresses."""

    def __init__(self) -> None:
        self.log: list[Fetch] = []
        self._kept: dict[str, Answer] = {}
        self._server = LoopbackServer(self._answer)

    def keep(self, content: bytes, *, claimed: int | None = None, status: int = 200) -> str:
        """The address of these bytes. They may claim to be more than they are, or be an error's."""
        path = f"/artifact-{len(self._kept) + 1}.zip?sig=SIGNATURE"
        headers = {"Content-Type": "application/zip"}
        if claimed is not None:
            headers["Content-Length"] = str(claimed)
        self._kept[path] = Answer(status, headers, content)
        return self._server.url + path

    @contextmanager
    def running(self) -> Iterator[Storage]:
        """At work until the block ends."""
        with serving(self._server):
            yield self

    def _answer(self, request: Handler, body: bytes) -> Answer:
        self.log.append(Fetch(request.path, frozenset(name.lower() for name in request.headers)))
        return self._kept.get(request.path, Answer(404, {}))
