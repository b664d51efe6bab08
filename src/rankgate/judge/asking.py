"""One question and its verdicts: the prompt, the form that is requested, and a second try where an answer is unusable.

Whatever an endpoint sends ends in verdicts or in an `Unjudged` with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.model import MODES, Entailment, Inputs, Judge, Mode, Record, Slot, Support, Task, rough_tokens
from rankgate.judge.model import Unjudged as No
from rankgate.judge.model import UnjudgedKind as Kind
from rankgate.judge.tasks import SPECS
from rankgate.judge.tasks.base import Reply, again_text, messages_of, parsed, schema_of

RETRIES, QUOTE_RETRIES = 2, 1
_SHOWN, _ECHOED = 200, 20_000  # characters of a server's name for itself, and of an answer that the model sees again
_NOT_TAKEN = {400, 415, 422}  # how servers refuse a `response_format`


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = Field(default=0, ge=0, le=10**9)
    completion_tokens: int = Field(default=0, ge=0, le=10**9)


class _Response(BaseModel):
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None


class _Completion(_Response):
    choices: list[_Choice] = Field(min_length=1)


class _Vector(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(_Response):
    data: list[_Vector]


class _Probe(Reply):
    ok: bool


def ask(endpoint: Endpoint, judge: Judge, slot: Slot, inputs: Inputs, spending: Spending) -> Record:
    """What the judge says of some inputs, with what it cost; `slot` is where that is kept.

    Raises:
        RankgateError: a prompt of the user does not render.
    """
    asking = _Asking(endpoint, spending)
    found = (asking.cosines if inputs.task is Task.SIMILARITY else asking.verdicts)(judge, inputs)
    return Record(
        **slot._asdict(),
        verdicts=None if isinstance(found, No) else found,
        unjudged=found if isinstance(found, No) else None,
        model=asking.model,
        fingerprint=asking.fingerprint,
        tokens=(asking.sent, asking.received),
    )


def choose_mode(endpoint: Endpoint, model: str, parameters: Mapping[str, Any], spending: Spending) -> Mode | No:
    """The best form that an endpoint both takes and keeps to, by asking it for `{"ok": true}`; or why it cannot say."""
    found: Any = None
    for mode in MODES:
        messages = [{"role": "user", "content": 'Answer with this JSON object and nothing else: {"ok": true}'}]
        body = {**parameters, "model": model, "messages": messages, **_form(mode, "probe", _Probe)}
        found = _Asking(endpoint, spending).post("/chat/completions", body, _Completion, (40, 10))
        if isinstance(found, No):
            if found.kind is not Kind.HTTP_STATUS or found.number not in _NOT_TAKEN:
                break
        elif mode == "prompt" or not isinstance(parsed(found.choices[0].message.content or "", _Probe), No):
            return mode
    return found  # type: ignore[no-any-return]


class _Asking:
    """One question under way: what it cost so far, and who answered."""

    def __init__(self, endpoint: Endpoint, spending: Spending) -> None:
        self._endpoint, self._spending = endpoint, spending
        self.sent = self.received = 0
        self.model = ""
        self.fingerprint: str | None = None

    def post(self, path: str, body: object, shape: type[Any], estimate: tuple[int, int]) -> Any:
        """The answer or why there is none; charged with the tokens that the server counts, or else the estimate."""
        found = self._endpoint.post(path, body, shape, self._spending, sum(estimate))
        if isinstance(found, _Response):
            used = found.usage
            sent, received = (used.prompt_tokens, used.completion_tokens) if used else estimate
            self._spending.correct(sent + received - sum(estimate))
            self.sent, self.received = self.sent + sent, self.received + received
            self.model = (found.model or "")[:_SHOWN]
            self.fingerprint = found.system_fingerprint and found.system_fingerprint[:_SHOWN]
        return found

    def verdicts(self, judge: Judge, inputs: Inputs) -> Any:
        """The usable answer. The model learns what is wrong with an unusable one, twice, and with quotes, once.

        Of a second answer for the sake of quotes only the verdicts on those statements count.
        """
        reply = SPECS[inputs.task].reply
        begin = messages_of(judge.prompts, inputs, None if judge.mode == "json_schema" else schema_of(reply))
        messages, problems, quotes, kept = begin, 0, 0, None
        while True:
            found, content = self._read(judge, inputs, messages)
            if isinstance(found, No):
                problems += 1
                if not found.kind.lasts or found.kind is Kind.CONTEXT_TOO_LONG:
                    return found
                if problems > RETRIES:
                    return kept or found
                again = again_text(judge.prompts, found.kind.value, number=found.number, limit=found.limit)
                content = "" if found.kind in {Kind.LENGTH, Kind.CONTENT_FILTER, Kind.EMPTY} else content
            else:
                wrong = _unverified(kept)
                kept = (
                    tuple(new if new.n in wrong else old for old, new in zip(kept, found, strict=True))
                    if kept
                    else found
                )
                wrong = _unverified(kept)
                if not wrong or quotes == QUOTE_RETRIES:
                    return kept
                quotes += 1
                again = again_text(judge.prompts, Entailment.UNVERIFIED.value, statements=wrong)
            earlier = [{"role": "assistant", "content": content[:_ECHOED]}] if content else []
            messages = [*begin, *earlier, {"role": "user", "content": again}]

    def _read(self, judge: Judge, inputs: Inputs, messages: list[dict[str, str]]) -> tuple[Any, str]:
        spec, (sent, received) = SPECS[inputs.task], inputs.tokens(judge.prompts)
        sent += sum(rough_tokens(message["content"]) for message in messages[2:])
        body = {"model": judge.model, "messages": messages, **_form(judge.mode, inputs.task.value, spec.reply)}
        found = self.post("/chat/completions", {**judge.parameters, **body}, _Completion, (sent, received))
        if isinstance(found, No):
            return found, ""
        choice = found.choices[0]
        content = choice.message.content or ""
        if choice.finish_reason == "length":
            return No(Kind.LENGTH), content
        if choice.finish_reason == "content_filter" or choice.message.refusal:
            return No(Kind.CONTENT_FILTER), content
        reply = parsed(content, spec.reply)
        return (reply if isinstance(reply, No) else spec.read(reply, inputs)), content

    def cosines(self, judge: Judge, inputs: Inputs) -> Any:
        """The cosine of the answer with each of the other texts, from one request for all of them."""
        texts = [inputs.answer, *inputs.passages]
        body = {"model": judge.embedding_model, "input": texts, "encoding_format": "float"}
        found = self.post("/embeddings", body, _Embeddings, inputs.tokens(judge.prompts))
        if isinstance(found, No):
            return found
        vectors = [each.embedding for each in sorted(found.data, key=lambda each: each.index)]
        if sorted(each.index for each in found.data) != list(range(len(texts))):
            return No(Kind.NUMBERING, len(vectors), len(texts))
        lengths = [math.hypot(*vector) for vector in vectors]
        if len(set(map(len, vectors))) > 1 or not all(0 < length < math.inf for length in lengths):
            return No(Kind.SCHEMA)
        units = [[x / length for x in vector] for vector, length in zip(vectors, lengths, strict=True)]
        return tuple(math.fsum(map(float.__mul__, units[0], other)) for other in units[1:])


def _form(mode: Mode, name: str, reply: type[Reply]) -> dict[str, Any]:
    if mode == "prompt":
        return {}
    schema = {"json_schema": {"name": name, "strict": True, "schema": schema_of(reply)}}
    return {"response_format": {"type": mode, **(schema if mode == "json_schema" else {})}}


def _unverified(found: Any) -> list[int]:
    supports = [each for each in found if isinstance(each, Support)] if isinstance(found, tuple) else []
    return [each.n for each in supports if each.verdict is Entailment.UNVERIFIED]
