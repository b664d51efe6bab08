"""The settings of a judge, and what makes it another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.judge.cases import block, endpoint, settled, some_judge
from tests.judge.hash_judge import judging, status
from tests.rows import each_row

from rankgate.criteria.judge_block import Budget, JudgeBlock
from rankgate.errors import RankgateError
from rankgate.judge.client import Spending
from rankgate.judge.identity import judge_of, judges_of, read_prompts
from rankgate.judge.judging import settle
from rankgate.judge.model import Mode
from rankgate.judge.replies import schema_of
from rankgate.judge.tasks import TASKS
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged

PROMPTS = read_prompts(None)


def test_the_identity_is_a_hash_that_no_release_changes_by_accident() -> None:
    """With fixed prompts; it holds the schemas, so that it fails where a release of pydantic writes another one."""
    assert judge_of(block(), "json_schema", {"split.j2": "x"}).short == "dcd323c0"


@pytest.mark.parametrize(
    ("other", "mode", "prompts"),
    [
        pytest.param({"endpoint": "https://gateway.example/v1"}, "json_schema", PROMPTS, id="endpoint"),
        pytest.param({"model": "other-2026-01-01"}, "json_schema", PROMPTS, id="model"),
        pytest.param({"parameters": {"temperature": 0}}, "json_schema", PROMPTS, id="parameter"),
        pytest.param({}, "json_object", PROMPTS, id="form of answers"),
        pytest.param({}, "json_schema", PROMPTS | {"split.j2": PROMPTS["split.j2"] + " "}, id="a blank in a prompt"),
    ],
)
def test_what_shapes_a_verdict_makes_another_judge(other: dict[str, Any], mode: Mode, prompts: dict[str, str]) -> None:
    assert judge_of(block(**other), mode, prompts).id != some_judge().id


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"repeats": 3}, id="repeats"),
        pytest.param({"budget": Budget(calls=1)}, id="budget"),
        pytest.param({"depth": 10}, id="depth"),
        pytest.param({"context_tokens": 8192}, id="what the model can hold"),
    ],
)
def test_what_does_not_leaves_it_the_same(other: dict[str, Any]) -> None:
    assert judge_of(block(**other), "json_schema").id == some_judge().id


def test_the_order_of_parameters_does_not_count() -> None:
    one, other = {"max_tokens": 5, "seed": {"a": 1, "b": 2}}, {"seed": {"b": 2, "a": 1}, "max_tokens": 5}
    assert some_judge(parameters=one).id == some_judge(parameters=other).id


def test_a_block_that_leaves_the_form_open_may_mean_three_judges() -> None:
    assert [judge.mode for judge in judges_of(block())] == ["json_schema", "json_object", "prompt"]
    assert len({judge.id for judge in judges_of(block())}) == 3
    assert [judge.mode for judge in judges_of(block(structured="prompt"))] == ["prompt"]


@pytest.mark.parametrize(
    ("model", "alias"),
    [
        pytest.param("gpt-4o-2024-08-06", False, id="a date"),
        pytest.param("claude-opus-4-20250514", False, id="a date without dashes"),
        pytest.param("gpt-4-0613", False, id="month and day"),
        pytest.param("gemini-2.0@20250101", False, id="a version of a cloud"),
        pytest.param("llama3.1@sha256:4661937ab3f1", False, id="a digest"),
        pytest.param("gpt-4o", True, id="none"),
        pytest.param("gpt-4o-latest", True, id="latest"),
        pytest.param("llama3.1:8b", True, id="a size"),
        pytest.param("mistral-large-2411-latest", True, id="latest beside a number"),
    ],
)
def test_a_model_without_a_date_is_an_alias(model: str, *, alias: bool) -> None:
    assert block(model=model).is_alias is alias


@each_row(
    ("wrong", "loc"),
    [
        pytest.param({"endpoint": "ftp://host/v1"}, "endpoint", id="ftp"),
        pytest.param({"endpoint": "file:///etc/passwd"}, "endpoint", id="a file"),
        pytest.param({"endpoint": "https://user:secret@host/v1"}, "endpoint", id="a password in the address"),
        pytest.param({"endpoint": "https://host/v1?key=secret"}, "endpoint", id="a key in the address"),
        pytest.param({"endpoint": "https://host:port/v1"}, "endpoint", id="a port that is none"),
        pytest.param({"endpoint": "https:///v1"}, "endpoint", id="no host"),
        pytest.param({"endpoint": "https://host/v 1"}, "endpoint", id="a blank"),
        pytest.param({"parameters": {"messages": []}}, "parameters", id="our own key"),
        pytest.param({"parameters": {"response_format": {}}}, "parameters", id="the form of answers"),
        pytest.param({"repeats": 0}, "repeats", id="no repeats"),
        pytest.param({"repeats": "1"}, "repeats", id="a number as text"),
        pytest.param({"api_key": "sk-1"}, "api_key", id="a key"),
        pytest.param({"budget": {"calls": -1}}, "budget", id="a negative budget"),
    ],
)
def test_settings_are_strict(wrong: dict[str, Any], loc: str) -> None:
    with pytest.raises(ValidationError) as refused:
        block(**wrong)
    assert {error["loc"][0] for error in refused.value.errors()} == {loc}


def test_defaults_are_those_of_the_docs() -> None:
    found = JudgeBlock(endpoint="https://api.openai.com/v1/", model="m")
    assert found.endpoint == "https://api.openai.com/v1"
    assert found.budget == Budget(calls=4_000, tokens=8_000_000, baseline_calls=None)
    assert (found.structured, found.repeats, found.depth) == ("auto", 1, 5)


# Which form of answers an endpoint takes


@pytest.mark.parametrize(
    ("forms", "mode", "calls"),
    [
        pytest.param({"json_schema", "json_object", None}, "json_schema", 1, id="a schema"),
        pytest.param({"json_object", None}, "json_object", 2, id="JSON without a schema"),
        pytest.param({None}, "prompt", 3, id="neither"),
    ],
)
def test_the_best_form_that_an_endpoint_takes_is_chosen(forms: set[str | None], mode: Mode, calls: int) -> None:
    spending = Spending()
    with judging() as server:
        server.forms = forms
        found = settle(block(server), endpoint(server), spending)
        assert isinstance(found, Unjudged) is False
        assert found.mode == mode  # type: ignore[union-attr]
        assert (len(server.requests), spending.calls) == (calls, 1)


def test_a_form_that_is_taken_and_ignored_is_not_chosen() -> None:
    with judging() as server:
        server.faults = ["text:Here you are: {}", "text:ok"]
        assert settled(server).mode == "prompt"


@pytest.mark.parametrize("code", [400, 401, 404])
def test_an_endpoint_that_takes_none_has_a_reason(code: int) -> None:
    with judging() as server:
        server.always = status(code)
        found = settle(block(server), endpoint(server), Spending())
    assert found == Unjudged(UnjudgedKind.HTTP_STATUS, code)


# Prompts and schemas


def test_every_task_has_a_prompt_and_a_plain_schema() -> None:
    for name, task in TASKS.items():
        assert f"{name}.j2" in PROMPTS
        assert '"title"' not in str(schema_of(task)).replace("'", '"')
        assert schema_of(task)["additionalProperties"] is False
    assert schema_of(TASKS["split"]) == {
        "additionalProperties": False,
        "properties": {"asserts": {"type": "boolean"}, "claims": {"items": {"type": "string"}, "type": "array"}},
        "required": ["asserts", "claims"],
        "type": "object",
    }


def test_prompts_of_a_folder_take_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "split.j2").write_text('Break it up.\n{% include "data.j2" %}', encoding="utf-8")
    prompts = read_prompts(str(tmp_path))
    assert prompts["split.j2"].startswith("Break it up.")
    assert prompts["entail.j2"] == PROMPTS["entail.j2"]
    assert some_judge(prompts=str(tmp_path)).id != some_judge().id


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("claims.j2", "x", "'claims.j2' is no prompt; known: address.j2", id="a name that is none"),
        pytest.param("split.j2", "{% if %}", "split.j2:1: template error: ", id="no Jinja"),
        pytest.param("split.j2", "{{ unknown }}", "split.j2: template error: 'unknown'", id="undefined"),
        pytest.param("split.j2", "{{ ''.__class__.__mro__ }}", "'__class__'", id="out of the sandbox"),
        pytest.param("again.j2", "{{ [].append(1) }}", "again.j2: template error:", id="a change of a value"),
        pytest.param("split.j2", '{% include "/etc/passwd" %}', "split.j2: template error: /etc/passwd", id="a file"),
    ],
)
def test_prompts_that_cannot_be_used_are_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(RankgateError) as refused:
        read_prompts(str(tmp_path))
    assert message in str(refused.value)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RankgateError, match="prompts cannot be read"):
        read_prompts(str(tmp_path / "none"))
