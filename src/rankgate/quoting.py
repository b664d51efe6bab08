"""Writing YAML: a text as one scalar that reads back as the same text."""

from __future__ import annotations

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """A text as a double-quoted scalar on one line.

    What is not printable is escaped, since YAML forbids some of it and folds the rest.
    """
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"
