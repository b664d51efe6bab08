"""The `judge:` block of a criteria file: who judges answers, how, and what that may cost."""

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, WithJsonSchema

from rankgate.criteria.gate import Count
from rankgate.criteria.parts import Beside, Part, Text, refuse

KEY_VARIABLE = "RANKGATE_JUDGE_KEY"
AUTHORIZATION = "Authorization"
_OURS = {"functions", "messages", "model", "n", "response_format", "stream", "tool_choice", "tools"}
_HEADERS = {"accept-encoding", "connection", "content-length", "content-type", "expect", "host", "transfer-encoding"}
_HEADERS |= {"proxy-authorization", "te", "trailer", "upgrade", "user-agent"}
_DATED = re.compile(r"20\d\d-?[01]\d|-[01]\d[0-3]\d(?!\d)|@|[:-][0-9a-f]{12,}")


def _endpoint(address: str) -> str:
    try:
        parts = urlsplit(address)
        plain = re.fullmatch(r"[!-~]+", address) and parts.hostname and parts.port != 0 and "@" not in parts.netloc
        plain = plain and parts.scheme in {"http", "https"}
    except ValueError:  # a port that is no number
        plain = False
    if not plain or "?" in address or "#" in address:
        example = "https://api.openai.com/v1"
        refuse([((), f"expected an http or https address as {example}; the key is read from {KEY_VARIABLE} alone")])
    return address.rstrip("/")


def _parameters(values: dict[str, Any]) -> dict[str, Any]:
    for name in sorted(_OURS & values.keys()):
        refuse([((), f"{name!r} is set by rankgate itself; remove it")])
    return values


def _auth_header(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]+", name) or name.casefold() in _HEADERS:
        refuse([((), f"expected the name of the header that takes the key, as {AUTHORIZATION} or api-key")])
    return name


def _rubrics(texts: dict[str, str]) -> dict[str, str]:
    for name in texts:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            refuse([((name,), "a rubric's name has small letters, digits and _, 40 at most; rename it")])
    return texts


Seconds = Annotated[float, Field(gt=0, le=3_600)]


class Budget(Part):
    """What judging may cost."""

    calls: Count | None = Field(default=4_000, description="Requests for one candidate; null: no limit.")
    tokens: Count | None = Field(default=8_000_000, description="Tokens for one candidate, sent and received.")
    baseline_calls: Count | None = Field(
        default=None, description="Requests for the baseline's answers; null: 1.2 times what is planned."
    )
    fork_calls: Count = Field(
        default=0, description="Requests for a fork's answers, once a maintainer's label accepts its run; 0: none."
    )


class Timeouts(Part):
    """How long a request may take."""

    connect: Seconds = Field(default=10, description="Seconds until the endpoint takes the connection.")
    read: Seconds = Field(default=60, description="Seconds without a byte of the answer.")
    total: Seconds = Field(default=300, description="Seconds until the answer is there.")


class CalibrationFile(Part):
    """What people found of the judge."""

    file: Beside = Field(description="Written by `rankgate judge calibrate`; relative to this file.")
    max_days: Count = Field(default=180, description="How old it may be; an older one counts as none.")


class JudgeBlock(Part):
    """The model that judges answers: who is asked, how, how often, and what it may cost."""

    endpoint: Annotated[str, AfterValidator(_endpoint)] = Field(
        description=f"Address of an OpenAI-compatible API. The key is read from the environment, {KEY_VARIABLE}."
    )
    model: Text = Field(description="As the endpoint calls it, best with its date.")
    auth_header: Annotated[str, AfterValidator(_auth_header)] = Field(
        default=AUTHORIZATION,
        description="Header that takes the key, after `Bearer` in Authorization and alone in any other, as api-key.",
    )
    parameters: Annotated[dict[str, Any], AfterValidator(_parameters), WithJsonSchema({"type": "object"})] = Field(
        default={},
        description="Sent with every request as they are, such as max_tokens. No temperature unless stated.",
    )
    structured: Literal["auto", "json_schema", "json_object", "prompt"] = Field(
        default="auto", description="How the form of an answer is requested; auto: the first that the endpoint takes."
    )
    repeats: Annotated[int, Field(ge=1, le=25)] = Field(default=1, description="Verdicts on each question; averaged.")
    budget: Budget = Field(default={}, validate_default=True, description="Limits of requests and tokens.")
    timeouts: Timeouts = Field(default={}, validate_default=True, description="Limits of seconds.")
    prompts: Beside | None = Field(
        default=None, description="Folder with prompts in place of ours, relative to this file: another judge."
    )
    rubrics: Annotated[dict[str, Text], AfterValidator(_rubrics)] = Field(
        default={}, description="Criteria in words, by the name in `rubric(NAME)`; each a question with yes or no."
    )
    depth: Annotated[int, Field(ge=1)] = Field(
        default=5, description="Results that are the context where a run line does not say."
    )
    context_tokens: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="What a request to the model may hold; a longer one is not sent, and never cut."
    )
    calibration: CalibrationFile | None = Field(
        default=None, description="What people found of the judge. Without it, gates on its verdicts warn at most."
    )
    allow_unjudged: Annotated[Literal["warn"], WithJsonSchema({"const": "warn", "type": "string"})] | None = Field(
        default=None,
        description="What more answers without a verdict than `max_unjudged` mean if nobody has asked the judge. "
        "warn: a warning. Absent: a gate that could block is not judged.",
    )

    @property
    def is_alias(self) -> bool:
        """Whether the model's name has no date or digest, so that what it stands for may change."""
        return "latest" in self.model or not _DATED.search(self.model)
