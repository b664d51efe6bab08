"""Runs in an environment of deepeval's own: its metrics on recorded verdicts, from standard input to standard output."""

import json
import sys

from deepeval.metrics import (
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    FaithfulnessMetric,
)
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase


class Recorded(DeepEvalBaseLLM):
    """Answers in the order in which they are asked for."""

    def __init__(self, answers):
        super().__init__("recorded")
        self.answers = iter(answers)

    def load_model(self, *_, **__):
        return self

    def generate(self, prompt, schema):
        return schema.model_validate(next(self.answers))

    async def a_generate(self, prompt, schema):
        return self.generate(prompt, schema)

    def get_model_name(self, *_):
        return "recorded"


def verdicts(words):
    return {"verdicts": [{"verdict": word, "reason": "r"} for word in words]}


def yes(flags):
    return verdicts("yes" if flag else "no" for flag in flags)


def values(case):
    words = case["words"]
    scripts = {
        "faithfulness": (
            FaithfulnessMetric,
            [{"truths": ["t"]}, {"claims": [f"c{n}" for n in range(len(words))]}, *([verdicts(words)] if words else [])],
        ),
        "answer_relevancy": (
            AnswerRelevancyMetric,
            [{"statements": [f"c{n}" for n in range(len(words))]}, *([verdicts(words)] if words else [])],
        ),
        "context_precision": (ContextualPrecisionMetric, [yes(case["relevant"])]),
        "context_recall": (ContextualRecallMetric, [yes(map(bool, case["gold_places"]))]),
    }
    test = LLMTestCase(input="q", actual_output="a", expected_output="r", retrieval_context=["p"] * case["shown"])
    found = {}
    for name, (make, script) in scripts.items():
        metric = make(model=Recorded(script), include_reason=False, async_mode=False)
        try:
            found[name] = metric.measure(test, _show_indicator=False)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


print(json.dumps([values(case) for case in json.load(sys.stdin)]))
