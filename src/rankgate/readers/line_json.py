"""The JSON of one line at a decoder's speed, and as strict as `json_text`."""

from __future__ import annotations

from typing import Any

import msgspec


def line_json(line: bytes, *, missing: bool = False) -> Any:
    """The value of one line; a ValueError, which `json_text.explain` puts in plain words, where it is none.

    Of two equal keys a decoder keeps the last, so that the value, written again, has fewer quotes than the line: only
    such a line is parsed strictly.
    """
    line.decode()
    if missing and (b"NaN" in line or b"Infinity" in line):
        return _strict(line, missing=True)
    value = msgspec.json.decode(line)
    return value if msgspec.json.encode(value).count(b'"') == line.count(b'"') else _strict(line, missing=False)


def _strict(line: bytes, *, missing: bool) -> Any:
    from rankgate.readers.json_text import strict_json  # noqa: PLC0415 -- paid only where a line is not plain

    return strict_json(line, missing=missing)
