"""What an answer says: its JSON, or the words with which a request was refused."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from rankgate.readers.json_text import JsonError, strict_json
from rankgate.renderers.escape import shorten, visible

SHOWN = 200  # characters of a server's words in a sentence of ours


def said(body: bytes) -> str:
    """A refusal's `message` and those of its `errors`, as they came; empty where the body has none."""
    try:
        value = strict_json(body)
    except JsonError:
        return ""  # the page of a proxy, or nothing
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return ""
    details = list(_details(value.get("errors")))
    return ": ".join([value["message"], *(["; ".join(details)] if details else [])])


def _details(errors: Any) -> Iterator[str]:
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, str):
            yield error
        elif isinstance(error, dict):
            words = error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error)
            yield str(words)


def brief(status: int, words: str) -> str:
    """`403 Resource not accessible by integration`: the words on one line and cut, or what the status means."""
    if not words.strip():
        words = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return f"{status} {shorten(visible(words), SHOWN)}".rstrip()
