"""Who judges: the identity that follows from all that shapes a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rankgate.criteria.judge_block import JudgeBlock
from rankgate.judge.model import MODES, Judge, Mode, Slot, digest
from rankgate.judge.replies import read_prompts, schema_of
from rankgate.judge.tasks import REPLIES

PROTOCOL = "judge protocol 1"  # another number where what is done with prompts and answers changes


def judge_of(block: JudgeBlock, mode: Mode, prompts: Mapping[str, str] | None = None) -> Judge:
    """The judge that a block asks for, once it is known how it requests the form of answers.

    Its id is the SHA-256 of the endpoint, which decides who answers under a name, of the model, the parameters, that
    mode, the prompts, the schemas and `PROTOCOL`. Limits are not part of it.
    """
    shaping: dict[str, Any] = {
        **block.model_dump(include={"model", "parameters"}),
        "mode": mode,
        "prompts": read_prompts(block.prompts) if prompts is None else prompts,
    }
    schemas = {task.value: schema_of(reply) for task, reply in REPLIES.items()}
    identity = digest({**shaping, "endpoint": block.endpoint, "schemas": schemas, "protocol": PROTOCOL})
    return Judge(id=identity, **shaping, context_tokens=block.context_tokens, rubrics=block.rubrics)


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
