"""What is wrong with a file of criteria or waivers: the kinds of pydantic's errors in our words, with line and key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from rankgate.errors import Problem, did_you_mean, shown
from rankgate.readers.json_text import BOUNDS, EXPECTED
from rankgate.readers.yaml_text import KeyPath, YamlDocument, dotted, reads_as_number

_UNKNOWN: Literal["extra_forbidden"] = "extra_forbidden"
_MEANING = "meaning"  # the type of our own errors, whose context has the text


def refusal(problems: Sequence[tuple[KeyPath, str]], instead: str | None) -> ValidationError:
    """One error for each problem; see `parts.refuse`."""
    errors: list[InitErrorDetails] = []
    for path, text in problems:
        context: dict[str, Any] = {"text": text} if instead is None else {"text": text, "instead": instead}
        errors.append(InitErrorDetails(type=PydanticCustomError(_MEANING, "{text}", context), loc=path, input=None))
    return ValidationError.from_exception_data("", errors)


def with_known_keys(refused: ValidationError, known: list[str]) -> list[InitErrorDetails]:
    """The errors of a part with these keys, those of unknown keys first."""
    unknown_first = sorted(refused.errors(include_url=False), key=lambda each: each["type"] != _UNKNOWN)
    return [_named(error, known) for error in unknown_first]


def problems_of(
    document: YamlDocument, name: str, known: Sequence[tuple[KeyPath, str]], refused: ValidationError | None
) -> list[Problem]:
    """All problems of a document by line: those that are `known`, and why it was refused."""
    problems = [_problem(document, name, path, text) for path, text in known]
    errors = refused.errors(include_url=False) if refused is not None else []
    for error in errors:
        if error["type"] == "too_short" and error["input"]:
            continue  # a list whose entries were all refused
        location: KeyPath = error["loc"]
        short_form = error.get("ctx", {}).get("instead")
        if short_form is not None:
            location = (*location[:-1], short_form)
        problems.append(_problem(document, name, location, _text(error)))
    return sorted(problems, key=lambda problem: problem.line or 0)


def _problem(document: YamlDocument, name: str, location: KeyPath, text: str) -> Problem:
    """The problem with the line and the key path of its place in the file `name`.

    A location of pydantic's also has steps that no file has, such as the type in a union: these are left out.
    """
    path: KeyPath = ()
    value = document.value
    for step in location:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list):
            value = value[step]
        else:
            continue
        path = (*path, step)
    return Problem(text, name, document.line(path), dotted(path) or None)


def _text(error: ErrorDetails) -> str:
    """What is wrong, in our words."""
    kind = error["type"]
    context = error.get("ctx", {})
    if kind == _MEANING:
        return str(context["text"])
    if kind == "missing":
        return "is missing"
    expected = EXPECTED.get(kind, "another kind of value")
    if kind in {"literal_error", "enum"}:
        expected = context["expected"].replace("'", "")
    if kind in BOUNDS:
        (bound,) = context.values()
        expected = f"a {'whole ' if isinstance(bound, int) else ''}number {BOUNDS[kind]} {bound:g}"
    return f"expected {expected}" + ("" if kind.endswith("too_short") else f", found {_value_text(error['input'])}")


def other_kind(expected: str, value: object) -> PydanticCustomError:
    """The error that a value is of another kind than expected."""
    return PydanticCustomError(_MEANING, "{text}", {"text": f"expected {expected}, found {_value_text(value)}"})


def _named(error: ErrorDetails, known: list[str]) -> InitErrorDetails:
    """An error of a part with these keys once more; of a key of its own that is none of them with its text."""
    kind = error["type"]
    loc = error["loc"]
    context = error.get("ctx", {})
    if kind == _UNKNOWN and len(loc) == 1:
        kind = _MEANING
        context = {"text": _unknown(str(loc[0]), error["input"], known)}
    again = PydanticCustomError(_MEANING, "{text}", context) if kind == _MEANING else kind
    return InitErrorDetails(type=again, loc=loc, input=error["input"], ctx=context)


def _unknown(key: str, value: object, known: list[str]) -> str:
    """What to write for an unknown key."""
    if meant := [f"{inner}: {shown(each)}" for inner, each in _within(value) if inner in known]:
        return f"unknown key; what is within it stands by itself, in its place: {', '.join(meant)}"
    return f"unknown key{did_you_mean(key, known) or ' (known: ' + ', '.join(known) + ')'}"


def _within(value: Any) -> Iterator[tuple[str, Any]]:
    """The keys that stand anywhere within a value, with theirs."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from _within(inner)


def _value_text(value: object) -> str:
    if isinstance(value, str):
        return f"the text {shown(value)}{_as_number(value)}"
    return str(value).lower() if isinstance(value, bool) else shown(value)


def _as_number(text: str) -> str:
    """How a number is written that stands in quotes, with a comma or in percent; nothing for other text."""
    number = text.strip().replace(",", ".")
    share = number.removesuffix("%").rstrip()
    if reads_as_number(text):
        return "; remove the quotes"
    if not reads_as_number(share):
        return ""
    return f"; write {share if share == number else f'{float(share) / 100:g}'}"
