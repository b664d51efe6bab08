"""The runner of action.yml that the tests use: it has to fail where GitHub's would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any

import pytest
from tests.forges.composite import Result, run
from tests.forges.expressions import ExpressionError, Value, condition, evaluate, filled_in
from tests.forges.file_commands import FileCommandError, SummaryTooLongError, checked_summary, values_of, variables_of

pytestmark = pytest.mark.full

NAMES: dict[str, Value] = {
    "inputs.comment": "auto",
    "inputs.empty": "",
    "steps.a-b.outputs.code": "2",
    "github.event_name": "pull_request",
    "github.event.number": 7.0,
    "github.event.none": None,
    "github.event.draft": True,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ("inputs.comment", "auto"),
        ("inputs.comment == 'AUTO'", True),
        ("inputs.comment != 'never'", True),
        ("steps.a-b.outputs.code == 2", True),
        ("steps.a-b.outputs.code == 3", False),
        ("inputs.comment == 2", False),
        ("github.event.none == ''", True),
        ("github.event.draft == 1", True),
        ("github.event.draft == true", True),
        ("!inputs.empty", True),
        ("!(inputs.empty || true)", False),
        ("inputs.empty || 'default'", "default"),
        ("inputs.comment || 'default'", "auto"),
        ("inputs.comment && 'yes'", "yes"),
        ("inputs.empty && 'yes'", ""),
        ("false || true && false", False),
        ("true == true != false", True),
        ("github.event.none", None),
        ("-1.5", -1.5),
    ],
)
def test_an_expression_has_githubs_value(text: str, value: Value) -> None:
    assert evaluate(text, NAMES.__getitem__) == value


def test_values_are_written_into_texts() -> None:
    text = "${{ inputs.comment }}-${{github.event.number}}-${{ github.event.none }}-${{ github.event.draft }} $5 {{ }}"

    assert filled_in(text, NAMES.__getitem__) == "auto-7--true $5 {{ }}"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("success()", ["success"]),
        ("always()", ["success", "failure", "cancelled"]),
        ("${{ always() }}", ["success", "failure", "cancelled"]),
        ("failure()", ["failure"]),
        ("cancelled()", ["cancelled"]),
        ("!cancelled()", ["success", "failure"]),
        ("inputs.comment == 'auto'", ["success"]),
        ("inputs.comment == 'never'", []),
        ("always() && inputs.comment == 'never'", []),
        ("${{ !cancelled() && inputs.comment != 'never' }}", ["success", "failure"]),
        ("inputs.comment == 'auto' && (failure() || cancelled())", ["failure", "cancelled"]),
    ],
)
def test_a_step_runs_after(text: str, after: list[str]) -> None:
    statuses = ["success", "failure", "cancelled"]

    def runs(status: str) -> bool:
        functions: dict[str, Callable[[], bool]] = {name: partial(eq, name, status) for name in statuses}
        return condition(text, NAMES.__getitem__, {**functions, "always": lambda: True})

    assert [status for status in statuses if runs(status)] == after


def test_a_condition_that_is_a_text_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="always true"):
        condition("${{ false }} && ${{ false }}", NAMES.__getitem__, {"success": lambda: True})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("a=1\nb=2\n", {"a": "1", "b": "2"}, id="lines"),
        pytest.param("a=1\n\na=2", {"a": "2"}, id="the last counts"),
        pytest.param("a=b=c<<d\n", {"a": "b=c<<d"}, id="the first sign counts"),
        pytest.param("a<<E=F\nx=1\n\ny\nE=F\nb=2\n", {"a": "x=1\n\ny", "b": "2"}, id="a document"),
        pytest.param("a<<E\nE\n", {"a": ""}, id="an empty document"),
        pytest.param("a<<E\n\nE", {"a": ""}, id="a document of an empty line"),
        pytest.param("a<<E\n E\nE\n", {"a": " E"}, id="the delimiter alone"),
        pytest.param(" a =1\r\n", {" a ": "1\r"}, id="white space stays"),
        pytest.param("", {}, id="nothing"),
    ],
)
def test_files_are_read_by_the_runners_rules(text: str, values: dict[str, str]) -> None:
    assert dict(values_of(text)) == values


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("verdict", "Invalid format 'verdict'"),
        ("=1", "Invalid format '=1'. Name must not be empty"),
        ("<<E\nE", "Name must not be empty and delimiter must not be empty"),
        ("a<<\nE", "Name must not be empty and delimiter must not be empty"),
        ("a<<E\nb", "Invalid value. Matching delimiter not found 'E'"),
    ],
)
def test_what_the_runner_cannot_read_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(FileCommandError, match=problem):
        dict(values_of(text))


def test_node_options_cannot_be_set() -> None:
    with pytest.raises(FileCommandError, match="NODE_OPTIONS"):
        variables_of("node_options=--require=evil\n")


def test_a_summary_has_a_limit_in_bytes() -> None:
    assert len(checked_summary("é" * 512 * 1024)) == 512 * 1024
    with pytest.raises(SummaryTooLongError):
        checked_summary("é" * 512 * 1024 + "x")


ACTION = """
name: tiny
inputs:
  greeting: {default: hello}
  token: {default: "${{ github.token }}"}
  mode: {default: auto}
runs:
  using: composite
  steps:
"""


class Action:
    """An action with these steps."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "the action"
        self.directory.mkdir()
        self.workspace = directory / "workspace"
        self.workspace.mkdir()
        self.environment = {"GITHUB_REPOSITORY": "acme/rag", "GITHUB_EVENT_NAME": "pull_request"}

    def run(self, steps: str, inputs: Mapping[str, str] | None = None, *, outputs: str = "", **options: Any) -> Result:
        body = "".join(f"    {line}\n" for line in steps.strip("\n").splitlines())
        (self.directory / "action.yml").write_text(ACTION + body + outputs, encoding="utf-8")
        return run(self.directory, inputs or {}, self.environment, self.workspace, **options)


@pytest.fixture
def action(tmp_path: Path) -> Action:
    return Action(tmp_path)


SAY = """
- id: say
  shell: bash
  env:
    GREETING: ${{ inputs.greeting }}
    TOKEN: ${{ inputs.token }}
  run: |
    echo "$GREETING from ${{ github.action_path }} in $PWD"
    echo "said=$GREETING" >> "$GITHUB_OUTPUT"
    echo "# $TOKEN" >> "$GITHUB_STEP_SUMMARY"
    echo "WHO=$GITHUB_REPOSITORY" >> "$GITHUB_ENV"
    mkdir "$RUNNER_TEMP/bin"
    printf '#!/bin/sh\\necho tool of ${{ runner.temp }}\\n' > "$RUNNER_TEMP/bin/tool"
    chmod +x "$RUNNER_TEMP/bin/tool"
    echo "$RUNNER_TEMP/bin" >> "$GITHUB_PATH"
- id: use
  shell: bash
  working-directory: ${{ inputs.mode }}
  run: echo "$WHO, ${{ steps.say.outputs.said }}, $(basename "$PWD"), ${GREETING-unset}, $(tool)" >&2
- id: uploaded
  uses: actions/upload-artifact@0000000000000000000000000000000000000000
  with:
    name: rankgate-${{ inputs.mode }}
"""
OUTPUTS = """
outputs:
  said: {value: "${{ steps.say.outputs.said }}"}
  url: {value: "${{ steps.uploaded.outputs.url }}"}
"""


def test_steps_are_wired_as_by_the_runner(action: Action) -> None:
    (action.workspace / "auto").mkdir()

    secret, used_outputs = "ghs_secret", {"uploaded": {"url": "u"}}

    result = action.run(SAY, {"greeting": "good 'day'"}, outputs=OUTPUTS, token=secret, used=used_outputs)

    say, use = result.steps
    assert (result.code, say.code, use.code) == (0, 0, 0)
    assert say.stdout == f"good 'day' from {action.directory} in {action.workspace}\n"
    assert use.stderr.startswith("acme/rag, good 'day', auto, unset, tool of /")
    assert result.summary == "# ghs_secret\n"
    assert result.outputs == {"said": "good 'day'", "url": "u"}
    (used,) = result.skipped_uses
    assert (used.id, used.given) == ("uploaded", {"name": "rankgate-auto"})
    assert result.log == say.stdout + use.stderr
    assert result.step("use") is use


FAILING = """
- id: first
  shell: bash
  continue-on-error: {forgiven}
  run: |
    echo "code=7" >> "$GITHUB_OUTPUT"
    false | true
    echo not reached
- id: then
  shell: bash
  run: echo then
- id: always
  if: always()
  shell: bash
  run: |
    echo "${{{{ steps.first.outcome }}}} ${{{{ steps.first.conclusion }}}} ${{{{ steps.then.outcome }}}}"
    exit ${{{{ steps.first.outputs.code }}}}
- id: afterwards
  if: failure() && inputs.mode == 'auto'
  shell: bash
  run: echo afterwards
"""


def test_a_failed_step_skips_the_others_unless_they_say_otherwise(action: Action) -> None:
    result = action.run(FAILING.format(forgiven="false"))

    assert result.code == 1
    assert [(step.id, step.stdout) for step in result.steps] == [
        ("first", ""),
        ("always", "failure failure skipped\n"),
        ("afterwards", "afterwards\n"),
    ]
    assert result.outcomes == {"first": "failure", "then": "skipped", "always": "failure", "afterwards": "success"}


def test_a_step_may_be_allowed_to_fail(action: Action) -> None:
    result = action.run(FAILING.format(forgiven="${{ inputs.mode == 'auto' }}"))

    assert result.code == 7
    assert [step.id for step in result.steps] == ["first", "then", "always", "afterwards"]
    assert result.step("always").stdout == "failure success success\n"


def test_a_cancelled_job_runs_only_what_asks_for_it(action: Action) -> None:
    result = action.run(FAILING.format(forgiven="false"), cancelled_before="then")

    assert [step.id for step in result.steps] == ["first", "always"]
    assert result.outcomes["afterwards"] == "skipped"


def test_a_file_that_the_runner_cannot_read_fails_the_step(action: Action) -> None:
    result = action.run("""
- id: broken
  shell: bash
  run: |
    printf 'verdict<<END\\nfail\\n' >> "$GITHUB_OUTPUT"
    echo seen >> "$GITHUB_STEP_SUMMARY"
""")

    (broken,) = result.steps
    assert (result.code, broken.code, result.summary) == (1, 1, "seen\n")
    assert broken.problems == ("Invalid value. Matching delimiter not found 'END'",)


def test_a_summary_that_is_too_long_is_not_shown_but_fails_nothing(action: Action) -> None:
    result = action.run("""
- id: long
  shell: bash
  run: head -c 1048577 /dev/zero | tr '\\0' x >> "$GITHUB_STEP_SUMMARY"
""")

    assert (result.code, result.summary) == (0, "")
    assert "upload aborted" in result.steps[0].problems[0]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        pytest.param("- {run: 'true'}", "names its shell", id="no shell"),
        pytest.param("- {shell: python, run: 'pass'}", "names its shell", id="another shell"),
        pytest.param("- {shell: bash, run: 'echo ${{ inputs.gretting }}'}", "inputs.gretting", id="a misspelled input"),
        pytest.param("- {shell: bash, run: 'echo ${{ steps.no.outputs.x }}'}", "steps.no.outputs.x", id="no such step"),
        pytest.param("- {shell: bash, run: 'echo ${{ secrets.X }}'}", "secrets.X", id="a context that actions lack"),
        pytest.param("- {shell: bash, run: 'echo ${{ github.sha }}'}", "github.sha", id="a variable that nobody set"),
        pytest.param("- {shell: bash, run: 'true', timeout-minutes: 5}", "timeout-minutes", id="a key of jobs"),
        pytest.param("- {shell: bash, run: 'true', if: 'hashFiles()'}", "hashFiles", id="a function of jobs"),
    ],
)
def test_what_github_would_not_run_is_an_error(action: Action, step: str, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem):
        action.run(step)
