"""Replies as models and servers give them: the verdict that each is read as, or the named reason why there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.forges.faults import Answer
from tests.judge.cases import endpoint, some_judge
from tests.judge.hash_judge import judging
from tests.rows import each_row

from rankgate.judge.client import Spending
from rankgate.judge.judging import ask
from rankgate.judge.model import Addressed, Inputs, Slot, Task
from rankgate.model.answers import UnjudgedKind

FINE = Addressed("fully", noncommittal=False)
TEXT = '{"addresses": "fully", "noncommittal": false}'
INSIDE = TEXT.removeprefix("{").removesuffix("}")
NO_JSON, SCHEMA, EMPTY = UnjudgedKind.NO_JSON, UnjudgedKind.SCHEMA, UnjudgedKind.EMPTY
FILTERED, ENVELOPE = UnjudgedKind.CONTENT_FILTER, UnjudgedKind.ENVELOPE

CONTENTS: dict[str, tuple[str, Addressed | UnjudgedKind]] = {
    "plain": (TEXT, FINE),
    "blanks": (f"\n {TEXT} \n", FINE),
    "a byte order mark": (f"\ufeff{TEXT}", FINE),
    # Fences
    "a fence": (f"```json\n{TEXT}\n```", FINE),
    "a fence without a language": (f"```\n{TEXT}\n```\n", FINE),
    "a fence of another language": (f"``` JSON5 \n{TEXT}\n  ```", FINE),
    "a fence with a label": (f'```c++ title="verdict.json"\n{TEXT}\n```', FINE),
    "a fence of tildes": (f"~~~json\n{TEXT}\n~~~", FINE),
    "a long fence": (f"````json\n{TEXT}\n````", FINE),
    "a fence that nobody closed": (f"```json\n{TEXT}", FINE),
    "prose before a fence": (f"Here is the verdict:\n\n```json\n{TEXT}\n```", FINE),
    "prose around a fence": (f"Sure:\n```json\n{TEXT}\n```\nLet me know.", FINE),
    "two fences": (f"```json\n{TEXT}\n```\n```json\n{{}}\n```", NO_JSON),
    # JSON that is none, or another
    "in a string": (json.dumps(TEXT), FINE),
    "in a string in a string": (json.dumps(json.dumps(TEXT)), SCHEMA),
    "what looks like a wrapping inside": ('{"addresses": "</think> ```json // /*", "noncommittal": false}', SCHEMA),
    "several objects": (f"{TEXT}\n{TEXT}", NO_JSON),
    "in a sentence": (f"So: {TEXT}.", NO_JSON),
    "in a list": (f"[{TEXT}]", SCHEMA),
    "a trailing comma": (f"{{{INSIDE},}}", FINE),
    "trailing commas and lines": (f"```json\n{{\n{INSIDE} ,\n}}\n```", FINE),
    "a comment": (f"{TEXT} // sure", FINE),
    "comments within": (f"{{ /* as it says */ {INSIDE}, // sure\n}}", FINE),
    "a comment with an object": (f"{TEXT} // or {{}}", NO_JSON),
    "single quotes": (TEXT.replace('"', "'"), NO_JSON),
    "cut off": (TEXT[:-9], NO_JSON),
    "prose": ("All are supported.", NO_JSON),
    "nothing": ("", EMPTY),
    "blanks alone": (" \n", EMPTY),
    "NaN": (TEXT.replace("false", "NaN"), NO_JSON),
    "a key twice": (f'{{"addresses": "no", {INSIDE}}}', NO_JSON),
    "half of a surrogate pair": (TEXT.replace("fully", "\\ud800"), NO_JSON),
    "endless nesting": ("[" * 100_000, NO_JSON),
    "comments without end": ("/* " * 100_000, NO_JSON),
    "another word": (TEXT.replace("fully", "FULLY"), SCHEMA),
    "a number for a truth": (TEXT.replace("false", "0"), SCHEMA),
    "a further key": (f'{{"why": "because", {INSIDE}}}', SCHEMA),
    # Thoughts
    "thoughts": (f"<think>It says {{}}, so fully.</think>\n\n{TEXT}", FINE),
    "thoughts whose opening tag the server wrote": (f"It says {{}}, so fully.\n</think>\n\n{TEXT}", FINE),
    "thoughts, and prose by a fence": (f"<think>Hm.</think>\nSure:\n```json\n{TEXT}\n```\nLet me know.", FINE),
    "thoughts of another tag": (f"<thinking>{{}}</thinking>{TEXT}", FINE),
    "thoughts of Mistral": (f"[THINK]{{}}[/THINK]{TEXT}", FINE),
    "channels of gpt-oss": (f"<|channel|>analysis<|message|>{{}}<|end|><|channel|>final<|message|>{TEXT}", FINE),
    "thoughts alone": ("<think>It says so", NO_JSON),
    "thoughts and nothing": ("<think>It says so</think>", NO_JSON),
}
MESSAGES: dict[str, tuple[dict[str, Any], Addressed | UnjudgedKind]] = {
    "content in parts": ({"content": [{"type": "text", "text": TEXT}]}, FINE),
    "thoughts in a part": (
        {"content": [{"type": "thinking", "thinking": [{"text": "{}"}]}, {"type": "text", "text": TEXT}]},
        FINE,
    ),
    "thoughts in a part with a text": ({"content": [{"type": "reasoning", "text": "{}"}, {"text": TEXT}]}, FINE),
    "thoughts beside the content": ({"content": TEXT, "reasoning_content": "{}", "reasoning": "{}"}, FINE),
    "thoughts in place of the content": ({"content": None, "reasoning_content": TEXT}, EMPTY),
    "no content": ({"role": "assistant"}, EMPTY),
    "no parts": ({"content": []}, EMPTY),
    "a call of a tool": (
        {"content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": TEXT}}]},
        EMPTY,
    ),
    "a refusal": ({"content": None, "refusal": "I cannot help"}, FILTERED),
    "a refusal beside content": ({"content": TEXT, "refusal": "I cannot help"}, FILTERED),
    "an empty refusal": ({"content": TEXT, "refusal": ""}, FINE),
    "content that is a number": ({"content": 7}, ENVELOPE),
}


def choice(message: object, reason: str | None = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


GOOD = json.dumps(choice({"content": TEXT})).encode()
BODIES: dict[str, tuple[bytes | dict[str, Any], Addressed | UnjudgedKind]] = {
    "no choice": ({"choices": []}, EMPTY),
    "a choice without a message": ({"choices": [{"finish_reason": "content_filter"}]}, FILTERED),
    "choices that are null": ({"choices": None}, ENVELOPE),
    "an error": ({"error": {"message": "overloaded", "code": 529}}, ENVELOPE),
    "a page": (b"<html>proxy login</html>", ENVELOPE),
    "no reason to end": (choice({"content": TEXT}, None), FINE),
    "cut off by length": (choice({"content": TEXT}, "length"), UnjudgedKind.LENGTH),
    "cut off by length, in other words": (choice({"content": TEXT}, "MAX_TOKENS"), UnjudgedKind.LENGTH),
    "filtered": (choice({"content": TEXT}, "content_filter"), FILTERED),
    "filtered, in other words": (choice({"content": ""}, "SAFETY"), FILTERED),
    "a byte order mark before the body": (b"\xef\xbb\xbf" + GOOD, FINE),
    "UTF-16": (GOOD.decode().encode("utf-16"), ENVELOPE),
    "UTF-16 without a mark": (GOOD.decode().encode("utf-16-le"), ENVELOPE),
    "Latin-1": (GOOD[:-1] + b', "model": "caf\xe9"}', ENVELOPE),
    "NaN in the body": (GOOD[:-1] + b', "x": NaN}', ENVELOPE),
    "an infinite number": (GOOD[:-1] + b', "x": 1e999}', ENVELOPE),
    "a key of the body twice": (GOOD[:-1] + b', "choices": []}', ENVELOPE),
    "a surrogate in the body": (GOOD[:-1] + b', "model": "\\ud83d"}', ENVELOPE),
    "a body of endless nesting": (b"[" * 1_000_000, ENVELOPE),
    "nesting that ends": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, ENVELOPE),
    "a number of many digits": (GOOD[:-1] + b', "x": ' + b"9" * 5_000 + b"}", ENVELOPE),
    "more tokens than there are": (GOOD[:-1] + b', "usage": {"prompt_tokens": 1e18}}', ENVELOPE),
    "tokens unknown": (GOOD[:-1] + b', "usage": {"prompt_tokens": null, "completion_tokens": null}}', FINE),
    "no usage": (GOOD[:-1] + b', "usage": null}', FINE),
}
CASES = [
    *(pytest.param(choice({"content": text}), read, id=name) for name, (text, read) in CONTENTS.items()),
    *(pytest.param(choice(message), read, id=name) for name, (message, read) in MESSAGES.items()),
    *(pytest.param(body, read, id=name) for name, (body, read) in BODIES.items()),
]


@pytest.mark.full
@each_row(("body", "expected"), CASES)
def test_what_a_reply_is_read_as(body: bytes | dict[str, Any], expected: Addressed | UnjudgedKind) -> None:
    inputs, judge = Inputs(Task.ADDRESS, "How long?", "Thirty days."), some_judge()
    with judging() as server:
        server.always = body if isinstance(body, bytes) else json.dumps(body).encode()
        found = ask(endpoint(server), judge, Slot(judge.id, inputs.task, inputs.key, 0), inputs, Spending())
    assert (found.unjudged.kind if found.unjudged else found.verdicts) == expected


# What llama.cpp (xllamacpp 2026.10.11549) said with SmolLM2-135M-Instruct to one answer over one passage.
LLAMA_CPP: dict[str, Any] = json.loads(Path(__file__).with_name("llama_cpp.json").read_text("utf-8"))
ASKED = {
    "split": Inputs(Task.SPLIT, "How long?", "Thirty days."),
    "relevance": Inputs(Task.RELEVANCE, "How long?", passages=("Thirty days.",)),
    "entail": Inputs(Task.ENTAIL, passages=("Thirty days.",), statements=("Thirty days.",)),
}


@pytest.mark.parametrize("name", LLAMA_CPP)
def test_replies_of_a_real_server_and_a_small_model(name: str) -> None:
    reply, inputs = (
        LLAMA_CPP[name],
        ASKED.get(name.split(maxsplit=1)[0], Inputs(Task.ADDRESS, "How long?", "Thirty days.")),
    )
    with judging() as server:
        server.always = Answer(reply["status"], {}, json.dumps(reply["body"]).encode())
        judge = some_judge()
        found = ask(endpoint(server), judge, Slot(judge.id, inputs.task, inputs.key, 0), inputs, Spending())
    assert (found.unjudged.kind.value if found.unjudged else "verdict") == reply["read"]
