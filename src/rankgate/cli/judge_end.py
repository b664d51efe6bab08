"""What a judge took, and why it could not go on: in words, with the setting to correct."""

from __future__ import annotations

import os

from rankgate.criteria import Criteria
from rankgate.criteria.judge_block import KEY_VARIABLE
from rankgate.errors import RankgateError, bad_input
from rankgate.judge.job import Spent
from rankgate.model.answers import Unjudged, UnjudgedKind
from rankgate.model.wording import UNJUDGED_WORDS, count_text, tokens_text

NAMELESS = "a model without a name"
_PARAMETERS = (
    "correct these (some models take max_completion_tokens in place of max_tokens), `structured` or the model, "
    "{model!r}."
)
_ADDRESS = "it has no chat completions or no model {model!r}; correct it (it often ends in /v1) or that."
# Why judging ended early (a status, its hundreds, or a kind): the setting at fault, and what to do.
_ADVICE: dict[int | UnjudgedKind, tuple[str, str]] = {
    **dict.fromkeys((401, 403), (KEY_VARIABLE, "the endpoint answered {status}: it does not take it for {model!r}.")),
    **dict.fromkeys((404, 405, 410), ("judge.endpoint", "answered {status}: " + _ADDRESS)),
    402: ("judge.endpoint", "answered 402: it wants to be paid first."),
    429: ("judge.endpoint", "answered 429 again and again; wait, or ask less at once with --workers."),
    3: ("judge.endpoint", "answered {status}: it leads elsewhere, which is not followed; name that address."),
    4: ("judge.parameters", "the endpoint answered {status}; " + _PARAMETERS),
    5: ("judge.endpoint", "answered {status} again and again; wait until it works."),
    UnjudgedKind.BUDGET: ("judge.budget", "is reached, after {cost} in all; raise it."),
    UnjudgedKind.UNREACHABLE: ("judge.endpoint", "cannot be reached; correct it, or start what answers there."),
    UnjudgedKind.ENVELOPE: ("judge.endpoint", "is no OpenAI-compatible API; correct it (it often ends in /v1)."),
}
_NO_USE = ("judge.model", "{model!r} gave no answer of use to a first question: one {word}.")


def stopped_by(stopped: Unjudged, model: str, spent: Spent, criteria: Criteria, budget: str) -> RankgateError:
    """Why judging ended early, with the setting to correct."""
    status = stopped.number if stopped.kind is UnjudgedKind.HTTP_STATUS else None
    reasons = (status, status // 100) if status else (stopped.kind,)
    key, text = next((_ADVICE[each] for each in reasons if each in _ADVICE), _NO_USE)
    if key == KEY_VARIABLE and not os.environ.get(KEY_VARIABLE):
        text = "is not set, and the endpoint answered {status}; set it to the key."
    where = f"{key}{budget}" if stopped.kind is UnjudgedKind.BUDGET else key
    word, cost = UNJUDGED_WORDS[stopped.kind], cost_text(spent)
    advice = text.format(status=status, model=model, word=word, cost=cost)
    return bad_input(f"{advice} What was answered is kept; the same command goes on", file=criteria.name, key=where)


def cost_text(spent: Spent) -> str:
    """`8 calls, 880 tokens`."""
    return f"{count_text(spent.calls, 'call')}, {tokens_text(spent.tokens)}"
