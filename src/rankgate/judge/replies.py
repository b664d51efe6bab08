"""What all tasks of a judge share: how a prompt is written around content, and how the model's answer is parsed.

Content reaches the model as JSON strings between fences that are named by the hash of the content, which it cannot
contain. Of the answer only what the schema has is read, from one JSON object: see `object_in`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, ValidationError

from rankgate.errors import bad_input
from rankgate.judge.model import Inputs, Task
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged
from rankgate.readers.json_text import JsonError, strict_json

_FOLDER = Path(__file__).parent / "prompts"
# How thoughts end, by the models that write them; their beginning may stand in the server's own prompt.
_THOUGHTS_END = re.compile(
    r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>"
)
_FENCE = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:\n[ \t]*\1[ \t]*$|\Z)")
_STRING = r'("(?:[^"\\]|\\.)*")'
_COMMENT = re.compile(rf"(?s){_STRING}|//[^\n{{}}]*|/\*[^*{{}}]*\*+/")  # without a second object
_LAST_COMMA = re.compile(rf"(?s){_STRING}|,(?=\s*[\]}}])")
R = TypeVar("R", bound="Reply")


class Reply(BaseModel):
    """What a model answers: the declared keys and no others, each of its type."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    def verdicts(self, inputs: Inputs) -> Any:
        """What the answer means for the inputs of its task, as `VERDICTS` has it, or the `Unjudged` that is wrong."""
        raise NotImplementedError


class Numbered(BaseModel):
    """An entry of an answer that is about statement or passage `n`."""

    model_config = Reply.model_config
    n: int


def wrong_numbers(entries: Sequence[Numbered], expected: int) -> Unjudged | None:
    """The problem of entries that are not numbered from 1 to `expected`, each once and in any order."""
    right = sorted(each.n for each in entries) == list(range(1, expected + 1))
    return None if right else Unjudged(UnjudgedKind.NUMBERING, len(entries), expected)


@cache
def schema_of(reply: type[Reply]) -> dict[str, Any]:
    """The JSON Schema of an answer as servers are sent it: without titles and descriptions."""
    plain: dict[str, Any] = _bare(reply.model_json_schema())
    return plain


def parsed(content: str, reply: type[R]) -> R | Unjudged:
    """The one JSON object of a model's text, or why there is none."""
    if not content.strip():
        return Unjudged(UnjudgedKind.EMPTY)
    try:
        return reply.model_validate(object_in(content))
    except JsonError:
        return Unjudged(UnjudgedKind.NO_JSON)
    except ValidationError:
        return Unjudged(UnjudgedKind.SCHEMA)


def object_in(content: str) -> Any:
    """The JSON of a model's text as models wrap it.

    All of it, after a byte order mark; or what comes after the thoughts that a model shows; or what stands in the one
    fence of Markdown; each also with comments and a comma too many. A text that is itself a JSON string is read once
    more. Two objects, or one in the midst of a sentence, are none: nobody knows which one is meant.

    Raises:
        JsonError: there is none.
    """
    text = content.strip().removeprefix("\ufeff")
    after = _THOUGHTS_END.split(text)[-1]
    fences = [inside for _, inside in _FENCE.findall(after)]
    for candidate in dict.fromkeys([text, after, *(fences if len(fences) == 1 else [])]):
        plain = _LAST_COMMA.sub(r"\1", _COMMENT.sub(r"\1", candidate))
        for each in dict.fromkeys([candidate, plain]):
            with suppress(JsonError):
                value = strict_json(each)
                return strict_json(value) if isinstance(value, str) else value
    raise JsonError("no JSON object")


def messages_of(prompts: Mapping[str, str], inputs: Inputs, schema: Mapping[str, Any] | None) -> list[dict[str, str]]:
    """The prompt: instructions, with the schema where the server is not sent it in another way, and fenced content."""
    written = None if schema is None else json.dumps(schema, sort_keys=True)
    one = [(name, getattr(inputs, name)) for name in ("question", "answer")]
    many = [("passage", inputs.passages), ("statement", inputs.statements)]
    content = one + [(f"{name} {n}", text) for name, texts in many for n, text in enumerate(texts, start=1)]
    fenced = [
        (name, hashlib.sha256(text.encode()).hexdigest()[:16], json.dumps(text, ensure_ascii=False))
        for name, text in content
        if text
    ]
    system = rendered(prompts, f"{inputs.task.value}.j2", schema=written)
    user = rendered(prompts, "content.j2", task=inputs.task.value, sections=fenced)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def rendered(prompts: Mapping[str, str], name: str, **values: Any) -> str:
    """A prompt of a task, or the request to answer once more, as `again.j2` has it for what was wrong."""
    try:
        return _environment(tuple(sorted(prompts.items()))).get_template(name).render(**values)
    except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise bad_input(f"template error: {error}", file=name, line=getattr(error, "lineno", None)) from error


def read_prompts(folder: str | None) -> dict[str, str]:
    """The templates by file name: ours, and in their place those of the same names that a folder has.

    Raises:
        RankgateError: the folder cannot be read, has a file of another name, or has a template that does not render.
    """
    prompts = {path.name: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.j2"))}
    if folder is not None:
        try:
            replacements = {path.name: path.read_text(encoding="utf-8") for path in sorted(Path(folder).iterdir())}
        except (OSError, UnicodeDecodeError) as error:
            raise bad_input(f"prompts cannot be read: {error}", file=folder) from error
        for name in replacements.keys() - prompts.keys():
            raise bad_input(f"{name!r} is no prompt; known: {', '.join(prompts)}", file=folder)
        prompts |= replacements
        for task in Task:
            messages_of(prompts, Inputs(task, question="?"), {})
        for kind in UnjudgedKind:
            rendered(prompts, "again.j2", problem=kind.value, number=0, limit=0, statements=[])
    return prompts


@lru_cache(maxsize=8)
def _environment(prompts: tuple[tuple[str, str], ...]) -> jinja2.Environment:
    return ImmutableSandboxedEnvironment(
        loader=jinja2.DictLoader(dict(prompts)), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _bare(schema: Any) -> Any:
    """A schema of ours without its words; no property is called title or description."""
    if isinstance(schema, dict):
        return {key: _bare(value) for key, value in schema.items() if key not in {"title", "description"}}
    return [_bare(each) for each in schema] if isinstance(schema, list) else schema
