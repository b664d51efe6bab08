"""How a model's answer is read, in the form that its task has.

Of an answer only what the schema has is read, from one JSON object: see `object_in`.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from rankgate.judge.tasks import Task
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged
from rankgate.readers.json_text import JsonError, strict_json

# How thoughts end, by the models that write them; their beginning may stand in the server's own prompt.
_THOUGHTS_END = re.compile(
    r"(?i)</(?:seed:)?(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>"
)
_FENCE = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,})(?:[^\n`{]*\n|\w*[ \t]*(?={))(.*?)(?:\s*\1[ \t]*$|\Z)")
_STRING = r'("(?:[^"\\]|\\.)*")'
_COMMENT = re.compile(rf"(?s){_STRING}|//[^\n{{}}]*|/\*[^*{{}}]*\*+/")  # without a second object
_LAST_COMMA = re.compile(rf"(?s){_STRING}|,(?=\s*[\]}}])")

T = TypeVar("T", bound=Task)


@cache
def _adapter(task: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(task)


@cache
def schema_of(task: type[Task]) -> dict[str, Any]:
    """The JSON Schema of an answer as servers are sent it: without titles and descriptions."""
    plain: dict[str, Any] = _bare(_adapter(task).json_schema())
    return plain


def _bare(schema: Any) -> Any:
    """A schema of ours without its words; no property is called title or description."""
    if isinstance(schema, dict):
        return {key: _bare(value) for key, value in schema.items() if key not in {"title", "description"}}
    return [_bare(each) for each in schema] if isinstance(schema, list) else schema


def parsed(content: str, task: type[T]) -> T | Unjudged:
    """The one JSON object of a model's text, or why there is none."""
    if not content.strip():
        return Unjudged(UnjudgedKind.EMPTY)
    try:
        # As JSON, since Python's objects are only taken where they are of the form already.
        answer: T = _adapter(task).validate_json(json.dumps(object_in(content)))
    except JsonError:
        return Unjudged(UnjudgedKind.NO_JSON)
    except (ValidationError, RecursionError):
        return Unjudged(UnjudgedKind.SCHEMA)
    return answer


def object_in(content: str) -> Any:
    """The JSON of a model's text as models wrap it.

    All of it; or what comes after the thoughts that a model shows; or what stands in the one fence of Markdown; each
    also after a byte order mark, with comments and with a comma too many. A text that is itself a JSON string is read
    once more. Two objects, or one in the midst of a sentence, are none but a JsonError: nobody knows which is meant.
    """
    text = content.strip()
    after = _THOUGHTS_END.split(text)[-1]
    fences = [inside for _, inside in _FENCE.findall(after)]
    candidates = [text, after, *fences] if len(fences) == 1 else [text, after]
    for marked in dict.fromkeys(candidates):
        candidate = marked.lstrip().removeprefix("\ufeff")
        plain = _LAST_COMMA.sub(r"\1", _COMMENT.sub(r"\1", candidate))
        for each in dict.fromkeys([candidate, plain]):
            with suppress(JsonError):
                value = strict_json(each)
                return strict_json(value) if isinstance(value, str) else value
    raise JsonError("no JSON object")
