"""From a loaded YAML document to a pydantic model, with every problem of the file at once.

What is wrong with it is put into words by `refusals`; each part names its own keys.
"""

from collections.abc import Iterable
from enum import Enum
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, ClassVar, NoReturn, Self, TypeVar

from pydantic import (
    AfterValidator,
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
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import (
    definition_reference_schema,
    definitions_schema,
    no_info_before_validator_function,
    no_info_wrap_validator_function,
    with_info_plain_validator_function,
)

from rankgate.criteria.paths import beside
from rankgate.errors import RankgateError
from rankgate.readers.yaml_text import KeyPath, YamlDocument


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
            _refuse_kind(f"{'text or ' if cls.short else ''}{mapping_of(cls)}", value)
        stated = {key: each for key, each in value.items() if each is not None or key not in cls.empty_is_absent}
        try:
            return inner(stated)
        except ValidationError as refused:
            errors = _refusals().with_known_keys(refused, keys_of(cls))
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
                _refuse_kind(f"{'text' if written is str else mapping_of(self.entry)} or a list", value)
            return value

        return no_info_before_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        entries = handler(schema)
        return {"anyOf": [entries["items"], entries]}


def _unwritten(value: Any, info: ValidationInfo) -> Any:
    if info.context is not None:  # it comes from a file
        raise PydanticKnownError("extra_forbidden")
    return value


def _beside(path: str, info: ValidationInfo) -> str:
    return beside(info.context["at"], path) if info.context else path


_UNWRITTEN = BeforeValidator(_unwritten)
T = TypeVar("T")
Listed = Annotated[tuple[T, ...], Strict(strict=False)]  # a list in the file
Text = Annotated[str, Field(min_length=1)]
Beside = Annotated[Text, AfterValidator(_beside)]  # a path relative to the file
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
    listed = list(problems)
    if listed:
        raise _refusals().refusal(listed, instead)


def _refuse_kind(expected: str, value: object) -> NoReturn:
    raise _refusals().other_kind(expected, value)


def _refusals() -> ModuleType:
    """The module that says what is wrong."""
    from rankgate.criteria import refusals  # noqa: PLC0415 -- paid only where something is wrong

    return refusals


def validated(document: YamlDocument, kind: type[P], name: str, at: str, known: Iterable[tuple[KeyPath, str]]) -> P:
    """The document as a model of this kind.

    Messages call the file `name`; paths in it are relative to `at`, the context of the validators. `known` are problems
    between several parts, which no model sees by itself.

    Raises:
        RankgateError: unknown or missing keys, values of another kind or meaning, each with line and key path.
    """
    problems = list(known)
    refused = None
    try:
        model = kind.model_validate(document.value, context={"at": at})
    except ValidationError as error:
        refused = error
    else:
        if not problems:
            return model
    raise RankgateError(_refusals().problems_of(document, name, problems, refused))


def json_schema(kind: type[Part], title: str) -> dict[str, Any]:
    """The JSON Schema of a file, for editors, in the draft that most of them know; its id is SchemaStore's."""
    name = f"https://www.schemastore.org/{title.replace(' ', '-')}.json"
    about = {"$schema": "http://json-schema.org/draft-07/schema#", "$id": name}
    return {**about, **kind.model_json_schema(), "title": title}


def keys_of(part: type[Part]) -> list[str]:
    """The keys that a file may write in a part."""
    return [name for name, field in part.model_fields.items() if _UNWRITTEN not in field.metadata]


def mapping_of(part: Any) -> str:
    """What a file has to write for a part."""
    *others, last = keys_of(part)
    return f"a mapping with {' and '.join(filter(None, (', '.join(others), last)))}"
