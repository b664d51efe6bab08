"""What the proxy does other than passing a request on: scripted faults, and answers of its own."""

from __future__ import annotations

import json
import re
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
    """One request as it came to the proxy."""

    method: str
    path: str  # with its query
    at: float  # seconds of a monotonic clock
    headers: frozenset[str]  # their names, in lower case
    authorized: bool  # whether its Authorization was "Bearer" with a token that was issued
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
