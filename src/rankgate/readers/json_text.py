"""Strict JSON, and plain words for what is wrong with a line that a fast decoder refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec

from rankgate.errors import bad_input, shown
from rankgate.readers.source import Source, utf8_message

RAGAS_CSV = (
    "lists as Python shows them, as Ragas' to_csv writes them, cannot be read back; write JSONL instead, with "
    'to_jsonl(path) or to_pandas().to_json(path, orient="records", lines=True)'
)


class JsonError(ValueError):
    """What is wrong with a JSON text, in plain words; `line` counts from 1 within the text, None where unknown."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def strict_json(text: str | bytes, *, missing: bool = False, finite: bool = True) -> Any:
    """Parse JSON; a JsonError refuses duplicate keys, lone surrogates, endless nesting, NaN and infinite numbers.

    With `missing` NaN and Infinity, which Python tools write for what they could not compute, are null. Where numbers
    need not be `finite` they are what Python has for them.
    """
    constant: Callable[[str], Any] = _refuse_constant if finite else float
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")  # and not what json takes for UTF-16
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_value if missing else constant,
            parse_float=_finite if finite else float,
            parse_int=_integer,
        )
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # raises where half of a surrogate pair is left over
    except json.JSONDecodeError as error:
        what = f"{error.msg[0].lower()}{error.msg[1:]} (column {error.colno})"
        raise JsonError(f"broken JSON: {what}", error.lineno) from error
    except RecursionError as error:
        raise JsonError("nested too deeply", 1) from error
    except UnicodeDecodeError as error:
        raise JsonError(utf8_message(error)) from error
    except UnicodeEncodeError as error:
        raise JsonError("text with half of a surrogate pair (\\ud800 and the like); write valid Unicode") from error
    return value


def source_json(source: Source, *, missing: bool = False) -> Any:
    """The one value of an input; a RankgateError where it is not strict JSON."""
    try:
        return strict_json(source.text(), missing=missing)
    except JsonError as error:
        raise bad_input(str(error), file=source.name, line=error.line) from error


def explain(line: bytes, error: Exception, *, missing: bool = False) -> str:
    """Plain words for a line that a decoder refused with `error`; columns count from its first character."""
    try:
        strict_json(line.strip(), missing=missing)
    except JsonError as strict:
        return infinite_score(line) or str(strict)
    return spoken(error)


def spoken(error: Exception, forms: Mapping[str, str] = {}) -> str:
    """A decoder's validation error in our words: `topk[0].rank: expected a whole number, found text`.

    msgspec says what is wrong and where in a sentence and in no other way, so that this one function reads it; of any
    other error it repeats the words. `forms` says what a text of some pattern is, by the pattern: `a login`.
    """
    match = re.fullmatch(r"(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<path>[^`]*)`)?", str(error), re.DOTALL)
    if match is None or not isinstance(error, msgspec.ValidationError):
        return str(error)
    kinds = re.fullmatch(r"Expected `([^`]*)`, got `([^`]*)`", match["what"])
    limit = re.fullmatch(r"Expected `(\w+)` (>=|<=) (\S+)", match["what"])
    form = next((words for pattern, words in forms.items() if f"regex {pattern!r}" in match["what"]), None)
    if kinds:
        what = f"expected {_kinds(kinds[1])}, found {_kinds(kinds[2])}"
    elif limit:
        what = f"expected {_kinds(limit[1])} {BOUNDS[limit[2]]} {limit[3]}"
    else:
        what = f"expected {form}" if form else match["what"].replace("`", "")
    what = what[:1].lower() + what[1:]
    return f"{match['path']}: {what}" if match["path"] else what


def _kinds(union: str) -> str:
    """`int | str | null` as people say it. Null is allowed where a key may be left out, so it is named only alone."""
    kinds = [kind for kind in union.split(" | ") if kind != "null"] or ["null"]
    words = [EXPECTED.get(kind, kind) for kind in kinds]
    if {"int", "str"} <= set(kinds):
        words = ["an id", *(word for word in words if word not in (EXPECTED["int"], EXPECTED["str"]))]
    return " or ".join(dict.fromkeys(words))


# What is expected, by the names that msgspec and pydantic have for it.
EXPECTED = {
    **dict.fromkeys(("float", "float_type"), "a number"),
    **dict.fromkeys(("int", "int_type"), "a whole number"),
    **dict.fromkeys(("str", "string_type"), "text"),
    **dict.fromkeys(("array", "tuple_type"), "a list"),
    **dict.fromkeys(("object", "dict_type"), "a mapping"),
    **dict.fromkeys(("bool", "bool_type"), "true or false"),
    "null": "nothing",
    "string_too_short": "text that is not empty",
    "too_short": "a list that is not empty",
    "string_pattern_mismatch": "at most 40 letters, digits, dots, dashes and underscores, a letter or digit first",
}
BOUNDS = {
    **dict.fromkeys((">=", "greater_than_equal"), "of at least"),
    **dict.fromkeys(("<=", "less_than_equal"), "of at most"),
    "greater_than": "above",
    "less_than": "below",
}


def any_json(text: str | bytes) -> Any:
    """The value of JSON as Python writes it, with NaN and infinite numbers; None where it is none."""
    try:
        return json.loads(text, parse_constant=float)
    except (ValueError, RecursionError):
        return None


def infinite_score(text: str | bytes) -> str | None:
    """Names the first item of a run whose score is not finite; None where there is none or the text is no JSON."""
    value = any_json(text)
    entries = value if isinstance(value, list) else [value]
    if isinstance(value, dict):
        entries = [value, *value.values()]
    for item in (item for entry in entries for item in _items(entry)):
        score = item.get("score") if isinstance(item, dict) else None
        if isinstance(score, float) and not math.isfinite(score):
            return not_finite(item.get("chunk_id", item.get("id")), score)
    return None


def not_finite(name: object, score: float) -> str:
    """What is wrong with a score that is not finite."""
    return f"the score of {shown(name)} is {'NaN' if math.isnan(score) else 'infinite'}; scores must be finite numbers"


def _items(entry: object) -> list[Any]:
    """The retrieved items of a run line of any shape, or of a bare list."""
    if isinstance(entry, dict):
        lists = (entry.get(key) for key in ("topk", "retrieved", "actual_output", "actualOutput"))
        entry = next(filter(None, lists), None)
        entry = entry.get("retrieved") if isinstance(entry, dict) else entry
    return entry if isinstance(entry, list) else []


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonError(f"the key {shown(twice)} stands twice in one object")
    return value


def _no_value(word: str) -> None:
    """What a constant stands for where it is missing."""


def _refuse_constant(word: str) -> NoReturn:
    raise JsonError(f"{word} is not a number that JSON allows; use a finite number or leave the key out")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonError(f"the number {text} is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 100:  # noqa: PLR2004 -- far beyond any id or gain, and int() is quadratic in the length
        raise JsonError(f"an integer of {len(text)} digits")
    return int(text)
