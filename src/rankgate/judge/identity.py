"""Who judges: the prompts, and the identity that follows from them and all else that shapes a verdict.

Content reaches the model as JSON strings between fences that are named by the hash of the content, which it cannot
contain.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rankgate.criteria.judge_block import JudgeBlock
from rankgate.errors import bad_input
from rankgate.judge.model import MODES, Inputs, Judge, Mode, digest
from rankgate.judge.records import Slot
from rankgate.judge.replies import schema_of
from rankgate.judge.tasks import TASKS
from rankgate.model.answers import UnjudgedKind

_FOLDER = Path(__file__).parent / "prompts"
PROTOCOL = "judge protocol 1"  # another number where what is done with prompts and answers changes
# Tasks whose prompts and schemas are in every id. Those of a later one never change under its name, so that nobody's
# verdicts and calibration are void because there is a question more.
_FIRST_TASKS = ("split", "entail", "relevance", "address", "rubric")


def judge_of(block: JudgeBlock, mode: Mode, prompts: Mapping[str, str] | None = None) -> Judge:
    """The judge that a block asks for, once it is known how it requests the form of answers.

    Its id is the SHA-256 of the endpoint, which decides who answers under a name, of the model, the parameters, that
    mode, the prompts, the schemas and `PROTOCOL`. Limits are not part of it.
    """
    shaping: dict[str, Any] = {**block.model_dump(include={"model", "parameters"}), "mode": mode}
    prompts = read_prompts(block.prompts) if prompts is None else prompts
    later = {f"{name}.j2": task.prompt for name, task in TASKS.items() if name not in _FIRST_TASKS}
    known = {
        "prompts": {name: text for name, text in prompts.items() if later.get(name) != text},
        "schemas": {name: schema_of(TASKS[name]) for name in _FIRST_TASKS},
    }
    identity = digest({**shaping, **known, "endpoint": block.endpoint, "protocol": PROTOCOL})
    return Judge(id=identity, **shaping, prompts=prompts, context_tokens=block.context_tokens, rubrics=block.rubrics)


def judges_of(block: JudgeBlock) -> tuple[Judge, ...]:
    """The judges that a block may mean: one a mode, the best first. Offline, that with verdicts in a file is meant."""
    modes = MODES if block.structured == "auto" else (block.structured,)
    prompts = read_prompts(block.prompts)
    return tuple(judge_of(block, mode, prompts) for mode in modes)


def known_judge(block: JudgeBlock, *known: Iterable[Slot]) -> Judge | None:
    """Of the judges that a block may mean, the one with the most of these verdicts; None where none has any.

    Where two have as many among the first verdicts, the next decide; the first of equals.
    """
    counts = [Counter(slot.judge for slot in each) for each in known]
    best = max(judges_of(block), key=lambda judge: [count[judge.id] for count in counts])
    return best if any(count[best.id] for count in counts) else None


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
    system = rendered(prompts, f"{inputs.task}.j2", schema=written)
    user = rendered(prompts, "content.j2", task=inputs.task, sections=fenced)
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
    ours = {path.name: path.read_text(encoding="utf-8") for path in _FOLDER.glob("*.j2")}
    ours |= {f"{name}.j2": task.prompt for name, task in TASKS.items()}
    prompts = dict(sorted(ours.items()))
    if folder is not None:
        try:
            replacements = {path.name: path.read_text(encoding="utf-8") for path in sorted(Path(folder).iterdir())}
        except (OSError, UnicodeDecodeError) as error:
            raise bad_input(f"prompts cannot be read: {error}", file=folder) from error
        for name in replacements.keys() - prompts.keys():
            raise bad_input(f"{name!r} is no prompt; known: {', '.join(prompts)}", file=folder)
        prompts |= replacements
        for name in TASKS:
            messages_of(prompts, Inputs(name, question="?"), {})
        for kind in UnjudgedKind:
            rendered(prompts, "again.j2", problem=kind.value, number=0, limit=0, statements=[])
    return prompts


@lru_cache(maxsize=8)
def _environment(prompts: tuple[tuple[str, str], ...]) -> jinja2.Environment:
    return ImmutableSandboxedEnvironment(
        loader=jinja2.DictLoader(dict(prompts)), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
