"""Runs in an environment of deepeval's own: its metrics on recorded verdicts, from stdin to stdout."""

import json
import sys
from typing import Any

from deepeval.metrics import (
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    FaithfulnessMetric,
)
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase


class Recorded(DeepEvalBaseLLM):  # type: ignore[misc]  # of their own environment
    """Answers in the order in which they are asked for."""

    def __init__(self, answers: Any) -> None:
        super().__init__("recorded")
        self.answers = iter(answers)

    def load_model(self, *_: Any, **__: Any) -> Any:
        return self

    def generate(self, prompt: str, schema: Any) -> Any:
        return schema.model_validate(next(self.answers))

    async def a_generate(self, prompt: str, schema: Any) -> Any:
        return self.generate(prompt, schema)

    def get_model_name(self, *_: Any) -> str:
        return "recorded"


def verdicts(words: Any) -> Any:
    return {"verdicts": [{"verdict": word, "reason": "r"} for word in words]}


def yes(flags: Any) -> Any:
    return verdicts("yes" if flag else "no" for flag in flags)


def values(case: Any) -> dict[str, Any]:
    words = case["words"]
    scripts: dict[str, Any] = {
        "faithfulness": (
            FaithfulnessMetric,
            [
                {"truths": ["t"]},
                {"claims": [f"c{n}" for n in range(len(words))]},
                *([verdicts(words)] if words else []),
            ],
        ),
        "answer_relevancy": (
            AnswerRelevancyMetric,
            [{"statements": [f"c{n}" for n in range(len(words))]}, *([verdicts(words)] if words else [])],
        ),
        "context_precision": (ContextualPrecisionMetric, [yes(case["relevant"])]),
        "context_recall": (ContextualRecallMetric, [yes(map(bool, case["gold_places"]))]),
    }
    test = LLMTestCase(input="q", actual_output="a", expected_output="r", retrieval_context=["p"] * case["shown"])
    found: dict[str, Any] = {}
    for name, (make, script) in scripts.items():
        metric = make(model=Recorded(script), include_reason=False, async_mode=False)
        found[name] = metric.measure(test, _show_indicator=False)
    return found


sys.stdout.write(json.dumps([values(case) for case in json.load(sys.stdin)]) + "\n")
