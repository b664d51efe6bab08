"""YAML without surprises: one document, no aliases, no duplicate keys, no guessed types, and a line for every value.

YAML 1.1 reads `no` as false, `1:30` as 90 and `2025-06-01` as a date. Here a plain scalar is null, true, false, an
integer or a decimal number when JSON would say so (with `~` and an empty value as null, and `.5`); all else is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import msgspec
import yaml

from rankgate.errors import Problem, RankgateError, bad_input, shown

KeyPath = tuple[str | int, ...]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})")
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}
_DEEPEST = 50


class YamlDocument(msgspec.Struct, frozen=True):
    """A loaded document: plain values, and the line on which each path stands (for a mapping entry, its key's)."""

    value: Any
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int | None:
        """The line of a path, or of its nearest parent that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def load_yaml(text: str, name: str) -> YamlDocument:
    """Load one YAML document.

    Raises:
        RankgateError: not YAML, more than one document, an alias, an anchor, a tag, a duplicate key, or nesting deeper
            than 50; with file and line.
    """
    try:
        return _load(yaml.parse(text, Loader=_LOADER), name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        what = " ".join(filter(None, (error.context, error.problem)))
        raise bad_input(f"not valid YAML: {what}", file=name, line=line) from error
    except yaml.reader.ReaderError as error:
        place = text.find(error.character if isinstance(error.character, str) else chr(error.character))
        line = text.count("\n", 0, place) + 1 if place >= 0 else None
        raise bad_input(f"not valid YAML: {str(error).splitlines()[0]}", file=name, line=line) from error
    except yaml.YAMLError as error:
        raise bad_input(f"not valid YAML: {str(error).splitlines()[0]}", file=name) from error


class _Open:
    """A mapping or sequence that is being filled."""

    def __init__(self, container: dict[Hashable, Any] | list[Any], path: KeyPath) -> None:
        self.container = container
        self.path = path
        self.key: str | None = None

    def next_path(self) -> KeyPath:
        return (*self.path, len(self.container) if isinstance(self.container, list) else str(self.key))

    def add(self, value: object) -> None:
        if isinstance(self.container, list):
            self.container.append(value)
        else:
            self.container[self.key] = value
            self.key = None


def _load(events: Iterator[yaml.Event], name: str) -> YamlDocument:
    lines: dict[KeyPath, int] = {}
    problems: list[Problem] = []
    stack: list[_Open] = []
    documents: list[Any] = []
    for event in events:
        line = event.start_mark.line + 1 if event.start_mark else 0  # events of a parser always have a mark
        if isinstance(event, yaml.DocumentStartEvent) and documents:
            raise bad_input("a second YAML document starts here; keep one", file=name, line=line)
        if isinstance(event, yaml.CollectionEndEvent):
            _place(stack.pop().container, stack, documents)
        if not isinstance(event, yaml.NodeEvent):
            continue
        _refuse_decoration(event, name, line)
        top = stack[-1] if stack else None
        if top is not None and isinstance(top.container, dict) and top.key is None:
            top.key = _key(event, name, line)
            path = top.next_path()
            if top.key in top.container:
                problems.append(Problem(f"duplicate key, first on line {lines[path]}", name, line, dotted(path)))
            lines.setdefault(path, line)
            continue
        path = top.next_path() if top else ()
        lines.setdefault(path, line)
        if isinstance(event, yaml.ScalarEvent):
            _place(_scalar(event), stack, documents)
        elif len(stack) >= _DEEPEST:
            raise bad_input(f"nested deeper than {_DEEPEST} levels", file=name, line=line)
        else:
            stack.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else [], path))
    if problems:
        raise RankgateError(problems)
    return YamlDocument(documents[0] if documents else None, lines)


def _place(value: object, stack: list[_Open], documents: list[Any]) -> None:
    if stack:
        stack[-1].add(value)
    else:
        documents.append(value)


def _refuse_decoration(event: yaml.NodeEvent, name: str, line: int) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise bad_input(f"alias *{event.anchor} is not allowed; write the value out", file=name, line=line)
    if event.anchor is not None:
        raise bad_input(f"anchor &{event.anchor} is not allowed; write the value out", file=name, line=line)
    tag = getattr(event, "tag", None)
    if tag is not None:
        raise bad_input(f"tag {shown(tag)} is not allowed; write a plain value", file=name, line=line)


def _key(event: yaml.NodeEvent, name: str, line: int) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise bad_input("a key must be plain text", file=name, line=line)
    return str(event.value)


def _scalar(event: yaml.ScalarEvent) -> str | int | float | bool | None:
    text = str(event.value)
    if event.style:  # quoted or block text is text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if reads_as_number(text) else text


def reads_as_number(text: str) -> bool:
    """Whether a plain scalar is a number."""
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def dotted(path: KeyPath) -> str:
    """A path as people write it: `gates[2].metric`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


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
