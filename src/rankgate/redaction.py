"""Addresses and texts without what may be secret in them; in doubt more is left out than needed."""

from __future__ import annotations

import re
from functools import lru_cache

# A scheme of more than one letter, so that a drive of Windows is none. What handles paths leaves one slash of two.
_SCHEME = r"(?<![\w+.-])[A-Za-z][\w+.-]+:[/\\]"
_ADDRESS = re.compile(rf"(?:({_SCHEME})|^[/\\](?=[/\\]))[/\\]*")
_WORD = re.compile(r"""[^\s'"`(\[]\S*?(?=['"`)\],.;:]*(?:\s|\Z))""")
_QUERY = re.compile(r"[?&;](?=[^/?&;=]*=)")  # in what is no address: `a?b.jsonl` is the name of a file
_STORE = re.compile(r"(git\+branch|artifact):[^:?#]*")  # git+branch:NAME@REMOTE
_PORT_ONLY = re.compile(r"[^/:%\\]*(:[0-9]*)?(?![^/\\])")


@lru_cache  # every line of a file may be noted with its name
def redacted(name: str) -> str:
    """The name of a source without user, password, query and fragment, which is shown as `s3://…@host/folder?…`.

    What is no address is returned as it is, and so is `file:///folder`, whose path may hold any of those signs. Where
    nobody can tell a password from the rest, as in one with a `?`, nothing but the scheme is left.
    """
    found = _ADDRESS.search(name)
    before = name[: found.start()] if found else name
    if _STORE.fullmatch(name):
        return name
    if re.search(":" if found else ":.*@", before, re.DOTALL):
        return "…"
    if not found:
        plain = _QUERY.split(name, maxsplit=1)[0]
        return name if plain == name else f"{plain}?…"
    scheme, rest = (found[1] or "")[:-1], name[found.end() :]
    if scheme == "file:" and found[0].endswith("///"):
        return f"{before}file:///{redacted(rest)}"
    user, at, place = rest.rpartition("@")
    plain = re.split(r"[?#;]", place, maxsplit=1)[0]
    if re.search(r"[?#]", user) or not _PORT_ONLY.match(plain):
        return f"{before}{scheme}//…"
    return f"{before}{scheme}//{'…@' if at else ''}{plain}{'?…' if plain != place else ''}"


def redacted_text(text: str) -> str:
    """A text with every name of a source in it redacted, each up to the next space."""
    return _WORD.sub(lambda found: redacted(found[0]), text) if ":" in text or "?" in text else text
