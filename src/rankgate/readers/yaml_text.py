"""YAML without surprises: one document, no aliases, no duplicate keys, no guessed types, and a line for every value.

YAML 1.1 reads `no` as false, `1:30` as 90 and `2025-06-01` as a date. Here a plain scalar is null, true, false, an
integer or a decimal number when JSON would say so (with `~` and an empty value as null, and `.5`); all else is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
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


class _Dumper(yaml.SafeDumper):
    """Quotes also what only the loader takes for a number, such as 1e5, and signs that YAML would fold."""


def _dumped_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    plain = text.replace("\n", "").isprintable() and not reads_as_number(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


_Dumper.add_representer(str, _dumped_text)


def dump_yaml(value: Any) -> str:
    """YAML of what JSON holds, which `load_yaml` reads back as the same, each part of it once: there are no aliases."""
    return str(yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120))


def with_entry(text: str, key: str, entry: str) -> str | None:
    """The text with one entry more, `name: value`, in the mapping under a key of the document; all else as it is.

    None where that key has no mapping with entries, to which one could be added.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    mapping = next((value for name, value in pairs if name.value == key and isinstance(value, yaml.MappingNode)), None)
    if mapping is None or not mapping.value:
        return None
    if mapping.flow_style:
        last = mapping.value[-1][1].end_mark.index
        return f"{text[:last]}, {entry}{text[last:]}"
    first = mapping.start_mark
    newline = "\r\n" if "\r\n" in text else "\n"
    return f"{text[: first.index]}{entry}{newline}{' ' * first.column}{text[first.index :]}"


def load_yaml(text: str, name: str) -> YamlDocument:
    """Load one YAML document.

    Raises:
        RankgateError: not YAML, more than one document, an alias, an anchor, a tag, a duplicate key, or nesting deeper
            than 50; with file and line.
    """
    try:
        return _Parsed(yaml.parse(text, Loader=_LOADER), name).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        what = " ".join(filter(None, (error.context, error.problem)))
        if mark and text[mark.index : mark.index + 1] == "\t":
            what = "a tab, where only spaces may indent; replace it by spaces"
        raise bad_input(f"not valid YAML: {what}", file=name, line=line) from error
    except yaml.reader.ReaderError as error:
        position = text.find(error.character if isinstance(error.character, str) else chr(error.character))
        line = text.count("\n", 0, position) + 1 if position >= 0 else None
        raise bad_input(f"not valid YAML: {str(error).splitlines()[0]}", file=name, line=line) from error
    except yaml.YAMLError as error:
        raise bad_input(f"not valid YAML: {str(error).splitlines()[0]}", file=name) from error


class _Parsed:
    """The events of a parser, which become values, the lines of their paths, and what is wrong with their keys."""

    def __init__(self, events: Iterator[Any], name: str) -> None:
        self.events = events
        self.name = name
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []

    def document(self) -> YamlDocument:
        value = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent) and self.lines:
                raise self.refused(event, "a second YAML document starts here; keep one")
            if isinstance(event, yaml.NodeEvent):
                value = self.value(event, ())
        if self.problems:
            raise RankgateError(self.problems)
        return YamlDocument(value, self.lines)

    def value(self, event: yaml.NodeEvent, path: KeyPath) -> Any:
        """The value that begins with this event; those up to its end are taken."""
        self.refuse_decoration(event)
        self.lines.setdefault(path, _line(event))
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if len(path) >= _DEEPEST:
            raise self.refused(event, f"nested deeper than {_DEEPEST} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while isinstance(entry := next(self.events), yaml.NodeEvent):
                items.append(self.value(entry, (*path, len(items))))
            return items
        mapping: dict[str, Any] = {}
        while isinstance(entry := next(self.events), yaml.NodeEvent):
            key = self.key(entry)
            key_path = (*path, key)
            if key in mapping:
                message = f"duplicate key, first on line {self.lines[key_path]}"
                self.problems.append(Problem(message, self.name, _line(entry), dotted(key_path)))
            self.lines.setdefault(key_path, _line(entry))
            mapping[key] = self.value(next(self.events), key_path)
        return mapping

    def key(self, event: yaml.NodeEvent) -> str:
        self.refuse_decoration(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise self.refused(event, "a key must be plain text")
        return str(event.value)

    def refuse_decoration(self, event: yaml.NodeEvent) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self.refused(event, f"alias *{event.anchor} is not allowed; write the value out")
        if event.anchor is not None:
            raise self.refused(event, f"anchor &{event.anchor} is not allowed; write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise self.refused(event, f"tag {shown(tag)} is not allowed; write a plain value")

    def refused(self, event: yaml.Event, what: str) -> RankgateError:
        return bad_input(what, file=self.name, line=_line(event))


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0  # events of a parser always have a mark


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
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """A text as a double-quoted scalar on one line; what is not printable is escaped: YAML forbids or folds it."""
    escaped = (_SHORT.get(sign) or (sign if sign.isprintable() else f"\\U{ord(sign):08x}") for sign in text)
    return f'"{"".join(escaped)}"'
