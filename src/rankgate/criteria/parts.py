"""From a loaded YAML document to a pydantic model, with every problem of the file at once.

The texts are ours, by the kind of pydantic's errors (a table of `readers/json_text.py`); each part names its own keys.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, PydanticKnownError
from pydantic_core.core_schema import (
    definition_reference_schema,
    definitions_schema,
    no_info_before_validator_function,
    no_info_wrap_validator_function,
    with_info_plain_validator_function,
)

from rankgate.errors import Problem, RankgateError, did_you_mean, shown
from rankgate.readers.json_text import BOUNDS, EXPECTED
from rankgate.readers.yaml_text import KeyPath, YamlDocument, dotted, reads_as_number

_UNKNOWN: Literal["extra_forbidden"] = "extra_forbidden"
_MEANING = "meaning"  # the type of our own errors, whose context has the text


class Part(BaseModel):
    """A mapping of a file: frozen, with strict types, and without keys that are not declared."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)
    short: ClassVar[str | None] = None  # the key that a text alone, in place of the mapping, is the value of
    empty_is_absent: ClassVar[frozenset[str]] = frozenset()  # keys whose default is not null, and which may be null

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, value: Any, inner: ModelWrapValidatorHandler[Self]) -> Self:
        """The part, or what is wrong: of its keys it says which there are."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            raise _refusal(f"{'text or ' if cls.short else ''}{mapping_of(cls)}", value)
        stated = {key: each for key, each in value.items() if each is not None or key not in cls.empty_is_absent}
        try:
            return inner(stated)
        except ValidationError as refused:
            known = keys_of(cls)
            unknown_first = sorted(refused.errors(include_url=False), key=lambda each: each["type"] != _UNKNOWN)
            errors = [_named(error, known) for error in unknown_first]
        raise ValidationError.from_exception_data("", errors)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        part = handler(schema)
        keys = handler.resolve_ref_schema(part)["properties"]
        for key in cls.empty_is_absent:
            about = {word: keys[key].pop(word) for word in ("title", "description", "default") if word in keys[key]}
            keys[key] = {**about, "anyOf": [keys[key], {"type": "null"}]}
        return part


P = TypeVar("P", bound=Part)


class OnUse:
    """The annotation of a key that few files have: MODULE:NAME, a part that is imported and built where one has it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def part(self) -> type[Part]:
        """The part itself."""
        module, _, name = self.name.partition(":")
        part: type[Part] = getattr(import_module(module), name)
        part.model_rebuild()
        return part

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return with_info_plain_validator_function(self.read)

    def read(self, value: Any, info: ValidationInfo) -> Any:
        """The value as the part."""
        return self.part.model_validate(value, context=info.context)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        part = self.part.__pydantic_core_schema__
        return handler(definitions_schema(definition_reference_schema(part["ref"]), [part]))


class ReadAs:
    """The annotation of a value that the file writes as a part, with the same names; or as its short form."""

    def __init__(self, written: type[Part] | OnUse) -> None:
        self.written = written

    @property
    def part(self) -> type[Part]:
        """What the file writes."""
        return self.written.part if isinstance(self.written, OnUse) else self.written

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: Any, inner: Any) -> Any:
            if isinstance(value, source):
                return value
            short = self.part.short
            part = inner({short: value} if short and isinstance(value, str) else value)
            return source(**{name: getattr(part, name) for name in self.part.model_fields})

        written = Annotated[Any, self.written] if isinstance(self.written, OnUse) else self.written
        return no_info_wrap_validator_function(read, handler.generate_schema(written))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        part = handler(schema)
        if not self.part.short:
            return part
        return {"anyOf": [handler.resolve_ref_schema(part)["properties"][self.part.short], part]}


class OneOrMore:
    """The annotation of a tuple for which the file may write one entry without a list around it."""

    def __init__(self, entry: type[str | Part]) -> None:
        self.entry = entry

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = str if self.entry is str else dict

        def read(value: Any) -> Any:
            if isinstance(value, written):
                return [value]
            if not isinstance(value, list | tuple):
                raise _refusal(f"{'text' if written is str else mapping_of(self.entry)} or a list", value)
            return value

        return no_info_before_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        entries = handler(schema)
        return {"anyOf": [entries["items"], entries]}


def _unwritten(value: Any, info: ValidationInfo) -> Any:
    if info.context is not None:  # it comes from a file
        raise PydanticKnownError(_UNKNOWN)
    return value


_UNWRITTEN = BeforeValidator(_unwritten)
T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Strict(strict=False)]  # a list in the file
Text = Annotated[str, Field(min_length=1)]
NotWritten = Annotated[SkipJsonSchema[T], _UNWRITTEN]  # what the file may not say of itself


class Stricter(Enum):
    """Which value of a limit asks for more, in the annotation of its key: a pull request that states another weakens.

    Of a key without it every change weakens.
    """

    BETTER = "better"  # as the metric has it
    LESS = "less"
    MORE = "more"


def optional(description: str, default: Any = None, **rules: Any) -> Any:
    """A key that may be left out."""
    return Field(default=default, description=description, **rules)


def refuse(problems: Iterable[tuple[KeyPath, str]], instead: str | None = None) -> None:
    """Raise, in a validator, one error for each problem: the path below what is validated, and what is wrong.

    `instead` is the key of the same part to name in place of the one that is validated.
    """
    own = {} if instead is None else {"instead": instead}
    errors = [
        InitErrorDetails(type=PydanticCustomError(_MEANING, "{text}", {"text": text, **own}), loc=path, input=None)
        for path, text in problems
    ]
    if errors:
        raise ValidationError.from_exception_data("", errors)


def validated(document: YamlDocument, kind: type[P], name: str, at: str, known: Iterable[tuple[KeyPath, str]]) -> P:
    """The document as a model of this kind.

    Messages call the file `name`; paths in it are relative to `at`, the context of the validators. `known` are problems
    between several parts, which no model sees by itself.

    Raises:
        RankgateError: unknown or missing keys, values of another kind or meaning, each with line and key path.
    """
    problems = [_problem(document, name, path, text) for path, text in known]
    try:
        model = kind.model_validate(document.value, context={"at": at})
    except ValidationError as refused:
        problems += [
            _problem(document, name, error["loc"], _text(error), error.get("ctx", {}).get("instead"))
            for error in refused.errors(include_url=False)
            if not (error["type"] == "too_short" and error["input"])  # a list whose entries were all refused
        ]
    else:
        if not problems:
            return model
    raise RankgateError(sorted(problems, key=lambda problem: problem.line or 0))


def json_schema(kind: type[Part], title: str) -> dict[str, Any]:
    """The JSON Schema of a file, for editors, in the draft that most of them know; its id is SchemaStore's."""
    name = f"https://www.schemastore.org/{title.replace(' ', '-')}.json"
    about = {"$schema": "http://json-schema.org/draft-07/schema#", "$id": name}
    return {**about, **kind.model_json_schema(), "title": title}


def _problem(document: YamlDocument, name: str, loc: KeyPath, text: str, instead: str | None = None) -> Problem:
    """Where it stands in the file, which may have a short form of what the model has: then the key of that."""
    path: KeyPath = ()
    value = document.value
    for step in (*loc[:-1], instead) if instead else loc:
        if isinstance(step, str) and isinstance(value, dict):
            path, value = (*path, step), value.get(step)
        elif isinstance(step, int) and isinstance(value, list):
            path, value = (*path, step), value[step]
    return Problem(text, name, document.line(path), dotted(path) or None)


def _text(error: ErrorDetails) -> str:
    """What is wrong, in our words."""
    kind, context = error["type"], error.get("ctx", {})
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
    return f"expected {expected}" + ("" if kind.endswith("too_short") else f", found {_found(error['input'])}")


def _refusal(expected: str, value: object) -> PydanticCustomError:
    return PydanticCustomError(_MEANING, "{text}", {"text": f"expected {expected}, found {_found(value)}"})


def _named(error: ErrorDetails, known: list[str]) -> InitErrorDetails:
    """An error of a part with these keys once more; of a key of its own that is none of them with its text."""
    kind, loc = error["type"], error["loc"]
    context = error.get("ctx", {})
    if kind == _UNKNOWN and len(loc) == 1:
        kind, context = _MEANING, {"text": _unknown(str(loc[0]), error["input"], known)}
    again = PydanticCustomError(_MEANING, "{text}", context) if kind == _MEANING else kind
    return InitErrorDetails(type=again, loc=loc, input=error["input"], ctx=context)


def _unknown(key: str, value: object, known: list[str]) -> str:
    """What to write for an unknown key."""
    if meant := [f"{inner}: {shown(each)}" for inner, each in _within(value) if inner in known]:
        return f"unknown key; what is within it stands by itself, in its place: {', '.join(meant)}"
    return f"unknown key{did_you_mean(key, known) or ' (known: ' + ', '.join(known) + ')'}"


def _within(value: Any) -> Iterator[tuple[str, Any]]:
    """The keys that stand anywhere within a value, with theirs."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from ((key, inner), *_within(inner))


def keys_of(part: type[Part]) -> list[str]:
    """The keys that a file may write in a part."""
    return [name for name, field in part.model_fields.items() if _UNWRITTEN not in field.metadata]


def mapping_of(part: Any) -> str:
    """What a file has to write for a part."""
    *others, last = keys_of(part)
    return f"a mapping with {' and '.join(filter(None, (', '.join(others), last)))}"


def _found(value: object) -> str:
    if isinstance(value, str):
        return f"the text {shown(value)}{_as_number(value)}"
    if value is None:
        return "nothing"
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
