"""The settings of a judge, as a part of a criteria file."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

KEY_VARIABLE = "RANKGATE_JUDGE_KEY"
_OURS = {"functions", "messages", "model", "n", "response_format", "stream", "tool_choice", "tools"}
_DATED = re.compile(r"20\d\d-?[01]\d|-[01]\d[0-3]\d(?!\d)|@|[:-][0-9a-f]{12,}")


def _refused(text: str) -> PydanticCustomError:
    return PydanticCustomError("meaning", "{text}", {"text": text})  # as criteria refuse what has another meaning


def _endpoint(address: str) -> str:
    try:
        parts = urlsplit(address)
        plain = re.fullmatch(r"[!-~]+", address) and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:  # a port that is no number
        raise _refused("is no address") from None
    if not plain or parts.scheme not in {"http", "https"} or "?" in address or "#" in address:
        example = "https://api.openai.com/v1"
        raise _refused(f"expected an http or https address as {example}; the key is read from {KEY_VARIABLE} alone")
    return address.rstrip("/")


def _parameters(values: dict[str, Any]) -> dict[str, Any]:
    for name in sorted(_OURS & values.keys()):
        raise _refused(f"{name!r} is set by rankgate itself; remove it")
    return values


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


Count = Annotated[int, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]


class Budget(_Part):
    """What judging may cost."""

    calls: Count | None = Field(default=4_000, description="Requests for one candidate; null: no limit.")
    tokens: Count | None = Field(default=8_000_000, description="Tokens for one candidate, sent and received.")
    baseline_calls: Count | None = Field(
        default=None, description="Requests for the baseline's answers; null: 1.2 times what is planned."
    )
    fork_calls: Count = Field(default=0, description="Requests for a fork's answers, after the label.")


class CalibrationFile(_Part):
    """Where the judge was checked by people."""

    file: Text = Field(description="As `rankgate judge calibrate` writes it.")
    max_age: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,4}d$")] = Field(default="180d", description="As 180d.")


class JudgeBlock(_Part):
    """The model that judges answers: who is asked, how, how often, and what it may cost."""

    endpoint: Annotated[str, AfterValidator(_endpoint)] = Field(
        description=f"Address of an OpenAI-compatible API. The key is read from the environment, {KEY_VARIABLE}."
    )
    model: Text = Field(description="As the endpoint calls it, best with its date.")
    embedding_model: Text | None = Field(default=None, description="For metrics that compare embeddings.")
    parameters: Annotated[dict[str, Any], AfterValidator(_parameters)] = Field(
        default={}, description="Sent with every request as they are, such as max_tokens. No temperature unless stated."
    )
    structured: Literal["auto", "json_schema", "json_object", "prompt"] = Field(
        default="auto", description="How the form of an answer is requested; auto: the first that the endpoint takes."
    )
    repeats: Annotated[int, Field(ge=1, le=25)] = Field(default=1, description="Verdicts on each question; averaged.")
    budget: Budget = Field(default=Budget(), description="What judging may cost.")
    labels: Text | None = Field(default=None, description="File with people's verdicts.")
    calibration: CalibrationFile | None = Field(default=None, description="How far the judge agrees with people.")
    prompts: Text | None = Field(default=None, description="Folder with prompts in place of ours: another judge.")
    depth: Annotated[int, Field(ge=1)] = Field(
        default=5, description="Results that are the context where a run line does not say."
    )
    context_tokens: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="What a request to the model may hold; a longer one is not sent, and never cut."
    )
    max_unjudged: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.01, description="Share of the queries, or else one, that may stay unjudged in a gated metric."
    )
    allow_unjudged: Literal["warn"] | None = Field(
        default=None, description="warn: a gate that cannot be judged warns in place of ending the check with exit 2."
    )

    @property
    def is_alias(self) -> bool:
        """Whether the model's name has no date or digest, so that what it stands for may change."""
        return "latest" in self.model or not _DATED.search(self.model)
