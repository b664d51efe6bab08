"""One question and its verdicts: the prompt, the form that is requested, and a second try where an answer is unusable.

Whatever an endpoint sends ends in verdicts or in an `Unjudged` with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import AliasPath, BaseModel, Field

from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.model import MODES, Inputs, Judge, Mode, Record, Slot, rough_tokens
from rankgate.judge.replies import Reply, messages_of, parsed, rendered, schema_of
from rankgate.judge.tasks import REPLIES
from rankgate.model.answers import Entailment
from rankgate.model.answers import UnjudgedKind as Kind
from rankgate.model.verdicts import Support, Unjudged

RETRIES = 2
QUOTE_RETRIES = 1
_NAME_CHARACTERS = 200  # of a server's name for itself
_ECHOED_CHARACTERS = 20_000  # of an answer that the model sees again
_NOT_TAKEN = {400, 415, 422}  # how servers refuse a `response_format`
# What services call the same.
_CUT_OFF = {"length", "max_tokens"}
_REFUSED = {"content_filter", "refusal", "safety"}


class _Part(BaseModel):
    """Of content in parts those of other types are thoughts, mostly."""

    type: str = "text"
    text: str = ""


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message = _Message()
    finish_reason: str | None = None


class _Completion(BaseModel):
    """An answer, with the tokens that the server counted; without a choice it is empty."""

    model: str | None = None
    system_fingerprint: str | None = None
    sent: int | None = Field(None, validation_alias=AliasPath("usage", "prompt_tokens"), ge=0, le=10**9)
    received: int | None = Field(None, validation_alias=AliasPath("usage", "completion_tokens"), ge=0, le=10**9)
    choices: list[_Choice]

    @property
    def choice(self) -> _Choice:
        """The first choice, or an empty one."""
        return next(iter(self.choices), _Choice())

    @property
    def content(self) -> str:
        """What the model says, without its thoughts where the server parts them."""
        content = self.choice.message.content or ""
        return content if isinstance(content, str) else "".join(part.text for part in content if part.type == "text")

    @property
    def reason(self) -> str:
        """Why it ends."""
        return "refusal" if self.choice.message.refusal else (self.choice.finish_reason or "").casefold()


class _Probe(Reply):
    ok: bool


def ask(endpoint: Endpoint, judge: Judge, slot: Slot, inputs: Inputs, spending: Spending) -> Record:
    """What the judge says of some inputs, with what it cost; `slot` is where that is kept."""
    asking = _Asking(endpoint, judge, inputs, spending)
    outcome = asking.verdicts()
    is_failure = isinstance(outcome, Unjudged)
    return Record(
        **slot._asdict(),
        verdicts=None if is_failure else outcome,
        unjudged=outcome if is_failure else None,
        model=asking.model,
        fingerprint=asking.fingerprint,
        tokens=asking.tokens,
    )


def choose_mode(endpoint: Endpoint, model: str, parameters: Mapping[str, Any], spending: Spending) -> Mode | Unjudged:
    """The best form that an endpoint both takes and keeps to, by asking it for `{"ok": true}`; or why it cannot say."""
    messages = [{"role": "user", "content": 'Answer with this JSON object and nothing else: {"ok": true}'}]
    refused = Unjudged(Kind.NO_JSON)
    for mode in MODES:
        body = {**parameters, "model": model, "messages": messages, **_form(mode, "probe", _Probe)}
        outcome = endpoint.post(body, _Completion, spending, 50)
        if isinstance(outcome, Unjudged):
            if outcome.kind is not Kind.HTTP_STATUS or outcome.number not in _NOT_TAKEN:
                return outcome
            refused = outcome
        elif mode == "prompt" or not isinstance(parsed(outcome.content, _Probe), Unjudged):
            return mode
    return refused


class _Asking:
    """One question under way: what it cost so far, and who answered."""

    def __init__(self, endpoint: Endpoint, judge: Judge, inputs: Inputs, spending: Spending) -> None:
        self._endpoint = endpoint
        self._judge = judge
        self._inputs = inputs
        self._spending = spending
        self.tokens = (0, 0)
        self.model = ""
        self.fingerprint: str | None = None

    def verdicts(self) -> Any:
        """The usable answer. The model learns what is wrong with an unusable one, twice, and with quotes, once.

        Of a second answer for the sake of quotes only the verdicts on those statements count.
        """
        prompts = self._judge.prompts
        reply = REPLIES[self._inputs.task]
        begin = messages_of(prompts, self._inputs, None if self._judge.mode == "json_schema" else schema_of(reply))
        messages = begin
        problems = 0
        quotes = 0
        kept: Any = ()
        while True:
            outcome, content = self._answer(messages)
            if isinstance(outcome, Unjudged):
                problems += 1
                if problems > RETRIES or not outcome.kind.lasts or outcome.kind is Kind.CONTEXT_TOO_LONG:
                    return kept if kept and outcome.kind.lasts else outcome
                again = rendered(
                    prompts, "again.j2", problem=outcome.kind.value, number=outcome.number, limit=outcome.limit
                )
                content = "" if outcome.kind in {Kind.LENGTH, Kind.CONTENT_FILTER, Kind.EMPTY} else content
            else:
                kept = _with_better_quotes(kept, outcome)
                wrong = _unverified(kept)
                if not wrong or quotes == QUOTE_RETRIES:
                    return kept
                quotes += 1
                again = rendered(prompts, "again.j2", problem=Entailment.UNVERIFIED.value, statements=wrong)
            earlier = [{"role": "assistant", "content": content[:_ECHOED_CHARACTERS]}] if content else []
            messages = [*begin, *earlier, {"role": "user", "content": again}]

    def _answer(self, messages: list[dict[str, str]]) -> tuple[Any, str]:
        """The verdicts, or why there are none; and the text that came, empty where none did."""
        judge = self._judge
        reply = REPLIES[self._inputs.task]
        body = {"model": judge.model, "messages": messages, **_form(judge.mode, self._inputs.task.value, reply)}
        more = sum(rough_tokens(message["content"]) for message in messages[2:])
        completion = self._post({**judge.parameters, **body}, more)
        if isinstance(completion, Unjudged):
            return completion, ""
        if completion.reason in _CUT_OFF:
            return Unjudged(Kind.LENGTH), completion.content
        if completion.reason in _REFUSED:
            return Unjudged(Kind.CONTENT_FILTER), completion.content
        answer = parsed(completion.content, reply)
        return (answer if isinstance(answer, Unjudged) else answer.verdicts(self._inputs)), completion.content

    def _post(self, body: object, more: int) -> _Completion | Unjudged:
        """The answer or why there is none; charged with the tokens that the server counts, or else the estimate."""
        sent, received = self._inputs.tokens(self._judge.prompts)
        outcome = self._endpoint.post(body, _Completion, self._spending, sent + more + received)
        if isinstance(outcome, _Completion):
            used = (sent + more, received) if outcome.sent is None else (outcome.sent, outcome.received or 0)
            self._spending.correct(sum(used) - sent - more - received)
            self.tokens = (self.tokens[0] + used[0], self.tokens[1] + used[1])
            self.model = (outcome.model or "")[:_NAME_CHARACTERS]
            self.fingerprint = outcome.system_fingerprint and outcome.system_fingerprint[:_NAME_CHARACTERS]
        return outcome


def _with_better_quotes(earlier: Any, later: Any) -> Any:
    """The earlier verdicts, but the later ones on statements whose quotes were not verified; else the later ones."""
    wrong = _unverified(earlier)
    if not wrong:
        return later
    return tuple(later[n] if n + 1 in wrong else each for n, each in enumerate(earlier))


def _form(mode: Mode, name: str, reply: type[Reply]) -> dict[str, Any]:
    if mode == "prompt":
        return {}
    form: dict[str, Any] = {"type": mode}
    if mode == "json_schema":
        form["json_schema"] = {"name": name, "strict": True, "schema": schema_of(reply)}
    return {"response_format": form}


def _unverified(verdicts: Any) -> list[int]:
    supports = [each for each in verdicts if isinstance(each, Support)] if isinstance(verdicts, tuple) else []
    return [each.n for each in supports if each.verdict is Entailment.UNVERIFIED]
