"""Addresses and texts without what may be secret in them; in doubt more is left out than needed."""

from __future__ import annotations

import re

_USER = re.compile(r"(?<=://)\S+@")


def redacted(address: str) -> str:
    """An address without user, password, query and fragment, which is shown as `s3://…@host/folder?…`.

    What is no address is returned as it is, and so is `file:///folder`, whose path may hold any of those signs. Where
    nobody can tell a password from the rest, as in one with a `?`, nothing but the scheme is left.
    """
    scheme, _, rest = address.partition(":")
    if not rest.startswith("//"):
        return f"{scheme}:…" if ":" in rest and "@" in rest else address
    if scheme == "file" and rest.startswith("///"):
        return address
    before, at, place = rest[2:].rpartition("@")
    if re.search(r"[?#]", before):
        return f"{scheme}://…"
    plain = re.split(r"[?#]", place, maxsplit=1)
    return f"{scheme}://{'…@' if at else ''}{plain[0]}{'?…' if len(plain) > 1 else ''}"


def without_users(text: str) -> str:
    """A text without user and password of the addresses in it: up to the last `@` before a space.

    A password may hold an `@` or a `/` itself.
    """
    return _USER.sub("***@", text)
