"""From a loaded YAML document to a declared shape: a msgspec struct, with every problem found at once.

A decoder stops at the first problem. Here each value is converted on its own, so that one look mends a file. The shape
is declared once; the JSON Schema for editors comes from the same declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard, TypeVar, get_args, get_origin

import msgspec

from rankgate.errors import Problem, RankgateError, did_you_mean, shown
from rankgate.yaml_text import KeyPath, YamlDocument, dotted, reads_as_number

T = TypeVar("T", bound=msgspec.Struct)

_KINDS: dict[type, str] = {
    float: "a number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}

Check = Callable[[msgspec.Struct, KeyPath], Iterable[tuple[str | KeyPath, str]]]


def shaped(document: YamlDocument, kind: type[T], name: str, check: Check) -> T:
    """The document as a struct.

    Args:
        document: what was loaded.
        kind: the declared shape.
        name: of the file, for messages.
        check: what is wrong with a struct whose values are all of the declared kinds, as pairs of a key, or a path of
            keys, and a message; called for each struct inside, also where others are wrong.

    Raises:
        RankgateError: unknown or missing keys, and values of another kind, each with line and key path.
    """
    shaper = _Shaper(document, name, check)
    found = shaper.struct(document.value, kind, ())
    if shaper.problems or found is None:
        raise RankgateError(sorted(shaper.problems, key=lambda problem: problem.line or 0))
    return found


class _Shaper:
    def __init__(self, document: YamlDocument, name: str, check: Check) -> None:
        self.document = document
        self.name = name
        self.check = check
        self.problems: list[Problem] = []

    def refuse(self, message: str, path: KeyPath) -> None:
        self.problems.append(Problem(message, self.name, self.document.line(path), dotted(path) or None))

    def struct(self, value: object, kind: type[T], path: KeyPath) -> T | None:
        """A mapping as a struct, or None after noting what is wrong."""
        if not isinstance(value, dict):
            self.refuse(f"expected a mapping with {_words(kind.__struct_fields__)}, found {_found(value)}", path)
            return None
        before = len(self.problems)
        fields = msgspec.structs.fields(kind)
        known = [field.encode_name for field in fields]
        for key in value:
            if key not in known:
                near = did_you_mean(str(key), known) or f" (known: {', '.join(known)})"
                self.refuse(f"unknown key{near}", (*path, key))
        converted: dict[str, Any] = {}
        for field in fields:
            here = (*path, field.encode_name)
            if field.encode_name in value:
                converted[field.name] = self.value(value[field.encode_name], field.type, here)
            elif field.required:
                self.refuse("is missing", here)
        if len(self.problems) > before:
            return None
        made = kind(**converted)
        for key, message in self.check(made, path):
            self.refuse(message, (*path, key) if isinstance(key, str) else (*path, *key))
        return made

    def value(self, value: object, kind: Any, path: KeyPath) -> Any:
        """A value of a declared type; structs inside it are looked into, so that their problems all show."""
        kinds = _alternatives(kind)
        nested = next(filter(_is_struct, kinds), None)
        if nested and (isinstance(value, dict) or len(kinds) == 1):
            return self.struct(value, nested, path)
        entries = next((get_args(each)[0] for each in kinds if get_origin(each) is list), None)
        if value and isinstance(value, list) and _is_struct(entries):
            return [self.struct(entry, entries, (*path, index)) for index, entry in enumerate(value)]
        mapped = next((get_args(each)[1] for each in kinds if get_origin(each) is dict), None)
        if isinstance(value, dict) and _is_struct(mapped):
            return {key: self.struct(entry, mapped, (*path, key)) for key, entry in value.items()}
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            self.refuse(_message(value, kind, str(error)), path)
            return None


def _message(value: object, kind: Any, technical: str) -> str:
    """Our words for a refused value: what was expected, what was found."""
    expected = list(dict.fromkeys(_expected(kind)))
    if "length >=" in technical:
        return f"expected {expected[0]} that is not empty"
    for sign, words in _BOUNDS.items():
        if f" {sign} " in technical:
            bound = float(technical.partition(f" {sign} ")[2].split()[0])
            return f"expected {expected[0]} {words} {bound:g}, found {_found(value)}"
    return f"expected {' or '.join(expected)}, found {_found(value)}"


def _expected(kind: Any) -> Iterator[str]:
    for inner in _alternatives(kind):
        if get_origin(inner) is not None and str(get_origin(inner)).endswith("Literal"):
            yield _words([str(choice) for choice in get_args(inner)], "or")
        elif _is_struct(inner):
            yield f"a mapping with {_words(inner.__struct_fields__)}"
        else:
            yield _KINDS.get(get_origin(inner) or inner, "another kind of value")


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _alternatives(kind: Any) -> list[Any]:
    """The types of a union, without None and without constraints."""
    if hasattr(kind, "__metadata__"):
        return _alternatives(kind.__origin__)
    arguments = get_args(kind)
    if arguments and str(get_origin(kind)) in {"typing.Union", "<class 'types.UnionType'>"}:
        return [inner for part in arguments if part is not type(None) for inner in _alternatives(part)]
    return [kind]


def _found(value: object) -> str:
    if isinstance(value, str):
        return f"the text {shown(value)}{'; remove the quotes' if reads_as_number(value) else ''}"
    if value is None:
        return "nothing"
    return "true" if value is True else "false" if value is False else shown(value)


def _words(words: list[str] | tuple[str, ...], last: str = "and") -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
