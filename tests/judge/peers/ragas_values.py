"""Runs in an environment of Ragas' own: its metrics on recorded verdicts, from stdin to stdout."""

import asyncio
import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")

from ragas.llms.base import InstructorBaseRagasLLM  # noqa: E402
from ragas.metrics.collections import (  # noqa: E402
    ContextPrecision,
    ContextRecall,
    FactualCorrectness,
    Faithfulness,
    NoiseSensitivity,
)


class Recorded(InstructorBaseRagasLLM):  # type: ignore[misc]  # of their own environment
    """Answers in the order in which they are asked for."""

    def __init__(self, answers: Any) -> None:
        self.answers = iter(answers)

    def generate(self, prompt: str, response_model: Any) -> Any:
        return response_model.model_validate(next(self.answers))

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        return self.generate(prompt, response_model)


def supported(verdicts: Any) -> Any:
    return {"statements": [{"statement": f"s{n}", "reason": "r", "verdict": int(v)} for n, v in enumerate(verdicts)]}


def named(key: str, count: int) -> Any:
    return {key: [f"s{n}" for n in range(count)]}


def values(case: Any) -> dict[str, Any]:
    shown = [f"passage {n}" for n in range(case["shown"])]
    own, gold = [[n in places for n in range(1, case["shown"] + 1)] for places in case["support"]], case["gold_places"]
    held = [[n in places for n in range(1, case["shown"] + 1)] for places in gold]
    about = {"user_input": "q", "response": "a", "reference": "r", "retrieved_contexts": shown}
    by_passage = [supported(row[n] for row in rows) for n in range(case["shown"]) for rows in (held, own)]
    answers: dict[str, Any] = {
        "faithfulness": (Faithfulness, [named("statements", len(own)), supported(map(any, own))]),
        "context_precision": (ContextPrecision, [{"reason": "r", "verdict": int(v)} for v in case["relevant"]]),
        "context_recall": (
            ContextRecall,
            [{"classifications": [{"statement": "s", "reason": "r", "attributed": int(any(row))} for row in held]}],
        ),
        "factual_correctness": (
            FactualCorrectness,
            [
                each
                for verdicts in (case["correct"], case["said"])
                for each in [named("claims", len(verdicts)), *([supported(verdicts)] if verdicts else [])]
            ],
        ),
    }
    for mode in ("irrelevant", "relevant"):
        answers[f"noise_sensitivity(mode={mode})"] = (
            lambda llm, mode=mode: NoiseSensitivity(llm=llm, mode=mode),
            [named("statements", len(held)), named("statements", len(own)), *by_passage, supported(case["correct"])],
        )
    found: dict[str, Any] = {}
    for name, (make, script) in answers.items():
        metric = make(llm=Recorded(script))
        taken = metric.ascore.__code__.co_varnames[1 : metric.ascore.__code__.co_argcount]
        try:
            found[name] = asyncio.run(metric.ascore(**{key: about[key] for key in taken})).value
        except ValueError as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


sys.stdout.write(json.dumps([values(case) for case in json.load(sys.stdin)]) + "\n")
