"""Runs an action.yml for real: its `run:` steps with bash as the runner starts it, wired through the runner's files.

Steps with `uses:` are not run but recorded; they count as successful. Those that only start a phase of ours can be run
in this process, by the environment that bash would give them, which takes a tenth of the time.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import yaml
from tests.forges.expressions import ExpressionError, Value, condition, filled_in
from tests.forges.file_commands import FileCommandError, SummaryTooLongError, checked_summary, values_of, variables_of
from tests.forges.scripted import InstantClock

import rankgate.forges.client
from rankgate.cli import action as phases

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE")
PHASE = re.compile(r'exec "\$RANKGATE_PYTHON" -I -m rankgate\.cli\.action (\w+)')
FILES = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
STEP_KEYS = {"id", "name", "if", "run", "uses", "with", "shell", "env", "working-directory", "continue-on-error"}


class Contexts:
    """What names in expressions stand for; they grow while the steps run."""

    def __init__(
        self, action: Mapping[str, Any], inputs: Mapping[str, str], environment: dict[str, str], token: str
    ) -> None:
        self.environment = environment
        self.outputs: dict[str, Mapping[str, str]] = {}  # by step
        self.outcomes: dict[str, str] = {}
        self.conclusions: dict[str, str] = {}
        self.inputs: dict[str, str] = {}
        self._token = token
        self._steps = {step["id"] for step in action["runs"]["steps"] if "id" in step}
        declared = action.get("inputs") or {}
        if unknown := sorted(inputs.keys() - declared.keys()):
            raise ExpressionError(f"no input of the action: {', '.join(unknown)}")
        for name, each in declared.items():
            self.inputs[name] = inputs[name] if name in inputs else self.fill(each.get("default"))

    def fill(self, value: object) -> str:
        """A value of action.yml as text, with its expressions filled in."""
        written = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
        return filled_in(written, self.look_up)

    def look_up(self, name: str) -> Value:
        """What a dotted name stands for.

        Raises:
            ExpressionError: the action has no such input or step, or the test has not set such a variable.
        """
        match name.split("."):
            case ["inputs", key] if key in self.inputs:
                return self.inputs[key]
            case ["steps", step, *path] if step in self._steps:
                return self._of_step(step, path)
            case ["github", "token"]:
                return self._token
            case ["github", "event", *path]:
                return self._of_event(path)
            case ["strategy", "job-index"]:
                return self.environment.get("STRATEGY_JOB_INDEX", "0")
            case ["github" | "runner" as where, key] if f"{where}_{key}".upper() in self.environment:
                return self.environment[f"{where}_{key}".upper()]
        raise ExpressionError(f"stands for nothing: {name}")

    def _of_step(self, step: str, path: list[str]) -> Value:
        match path:
            case ["outputs", key]:
                return self.outputs.get(step, {}).get(key, "")
            case ["outcome"]:
                return self.outcomes.get(step, "")
            case ["conclusion"]:
                return self.conclusions.get(step, "")
        raise ExpressionError(f"no step has this: {'.'.join(path)}")

    def _of_event(self, path: list[str]) -> Value:
        found: Any = json.loads(Path(self.environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict | list):
            raise ExpressionError(f"not a single value: github.event.{'.'.join(path)}")
        value: Value = found
        return value


class Ran(NamedTuple):
    """A step that ran."""

    id: str  # or its name, where it has no id
    code: int  # negative: the signal that ended it
    stdout: str
    stderr: str
    problems: tuple[str, ...] = ()  # what the runner would not take from its files


class Used(NamedTuple):
    """A step that would have run another action."""

    id: str
    uses: str
    given: Mapping[str, str]  # its `with:`, filled in


class Result(NamedTuple):
    """What came of an action."""

    code: int  # 0, or that of the first step that failed and was not allowed to
    outputs: Mapping[str, str]
    summary: str
    steps: tuple[Ran, ...]
    skipped_uses: tuple[Used, ...]
    outcomes: Mapping[str, str]  # of each step by id or name: success, failure, skipped

    @property
    def log(self) -> str:
        """All that the steps printed, as the job's log shows it."""
        return "".join(step.stdout + step.stderr for step in self.steps)

    def step(self, name: str) -> Ran:
        """The step of this id or name, which ran."""
        (found,) = [step for step in self.steps if step.id == name]
        return found


def run(
    action_dir: Path,
    inputs: Mapping[str, str],
    environment: Mapping[str, str],
    cwd: Path,
    *,
    token: str = "",
    used: Mapping[str, Mapping[str, str]] | None = None,
    cancelled_before: str | None = None,
    failing: str | None = None,
    timeout: float = 120.0,
    in_this_process: bool = False,
) -> Result:
    """Run the action of a directory.

    Args:
        action_dir: where action.yml is.
        inputs: what the workflow's `with:` gives.
        environment: of the job, with GITHUB_EVENT_PATH, GITHUB_REPOSITORY and so on; of this process steps see only
            what INHERITED names.
        cwd: the workspace.
        token: what github.token stands for.
        used: outputs of the steps with `uses:`, by id.
        cancelled_before: the id or name of the step before which the job is cancelled.
        failing: the id or name of a step with `uses:` that fails.
        timeout: seconds that one step may take.
        in_this_process: whether our phases are called and not started.

    Raises:
        ExpressionError: the action uses an expression, a key or an input that there is not.
        subprocess.TimeoutExpired: a step takes too long; all that it started has been killed.
    """
    action = yaml.safe_load((action_dir / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    with tempfile.TemporaryDirectory() as temporary:
        runner_temp = Path(temporary, "runner-temp")
        runner_temp.mkdir()
        whole = {
            **{name: os.environ[name] for name in INHERITED if name in os.environ},
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(cwd),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(runner_temp),
            **environment,
            "GITHUB_ACTION_PATH": str(action_dir),
        }
        contexts = Contexts(action, inputs, whole, token)
        job = Job(contexts, cwd, Path(temporary), timeout)
        job.in_this_process = in_this_process
        for step in action["runs"]["steps"]:
            name = step.get("id") or step.get("name") or step.get("uses") or step["run"]
            job.cancelled = job.cancelled or name == cancelled_before
            job.take(step, name, used or {}, fails=name == failing)
        outputs = {name: contexts.fill(each["value"]) for name, each in (action.get("outputs") or {}).items()}
    return Result(job.code, outputs, job.summary, tuple(job.ran), tuple(job.used), contexts.outcomes)


class Job:
    """What the runner knows while the steps run."""

    def __init__(self, contexts: Contexts, cwd: Path, temporary: Path, timeout: float) -> None:
        self.contexts = contexts
        self.cwd = cwd
        self.temporary = temporary
        self.timeout = timeout
        self.ran: list[Ran] = []
        self.used: list[Used] = []
        self.summary = ""
        self.code = 0
        self.cancelled = False
        self.in_this_process = False

    def take(
        self, step: Mapping[str, Any], name: str, used: Mapping[str, Mapping[str, str]], *, fails: bool = False
    ) -> None:
        """Run a step, record it, or skip it; whether one with `uses:` fails is for the caller to say."""
        if unknown := sorted(step.keys() - STEP_KEYS):
            raise ExpressionError(f"no key of a step: {', '.join(unknown)}")
        functions = {
            "always": lambda: True,
            "success": lambda: self.code == 0 and not self.cancelled,
            "failure": lambda: self.code != 0 and not self.cancelled,
            "cancelled": lambda: self.cancelled,
        }
        if not condition(str(step.get("if", "success()")), self.contexts.look_up, functions):
            self.end(name, "skipped")
        elif "uses" in step:
            given = {key: self.contexts.fill(value) for key, value in (step.get("with") or {}).items()}
            self.used.append(Used(name, step["uses"], given))
            self.contexts.outputs[name] = used.get(name, {})
            self.finish(step, name, int(fails))
        else:
            ran = self.run(step, name)
            self.ran.append(ran)
            self.finish(step, name, ran.code)

    def finish(self, step: Mapping[str, Any], name: str, code: int) -> None:
        """Note how a step ended, and what that makes of the job."""
        forgiven = self.contexts.fill(step.get("continue-on-error", False)) == "true"
        self.end(name, "failure" if code else "success", forgiven=forgiven)
        if not forgiven:
            self.code = self.code or code

    def end(self, name: str, outcome: str, *, forgiven: bool = False) -> None:
        """Note how a step ended."""
        self.contexts.outcomes[name] = outcome
        self.contexts.conclusions[name] = "success" if forgiven else outcome

    def run(self, step: Mapping[str, Any], name: str) -> Ran:
        """A `run:` step, and what it told through files."""
        if step.get("shell") != "bash":
            raise ExpressionError(f"a composite step names its shell, and ours is bash: {name}")
        fill, number = self.contexts.fill, len(self.ran)
        files = {each: self.temporary / f"{each}-{number}" for each in FILES}
        for file in files.values():
            file.touch()
        script = self.temporary / f"step-{number}.sh"
        script.write_text(fill(step["run"]), encoding="utf-8")
        own = {key: fill(value) for key, value in (step.get("env") or {}).items()}
        environment = {**self.contexts.environment, **{each: str(file) for each, file in files.items()}, **own}
        where = self.cwd / fill(step.get("working-directory"))
        phase = PHASE.fullmatch(step["run"].strip())
        if phase and self.in_this_process:
            code, stdout, stderr = called(phase[1], where, environment)
        else:
            code, stdout, stderr = self.bash(script, where, environment)
        problems = []
        for each, file in files.items():
            try:
                self.obey(name, each, file.read_bytes().decode("utf-8-sig", errors="replace"))
            except FileCommandError as error:
                code = code or 1
                problems.append(str(error))
            except SummaryTooLongError as error:
                problems.append(str(error))
        return Ran(name, code, stdout, stderr, tuple(problems))

    def bash(self, script: Path, where: Path, environment: Mapping[str, str]) -> tuple[int, str, str]:
        """A script in a process group of its own, of which nothing is left afterwards."""
        process = subprocess.Popen(
            [*BASH, script],
            cwd=where,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with process:
            try:
                stdout, stderr = process.communicate(timeout=self.timeout)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, stdout, stderr

    def obey(self, name: str, file: str, text: str) -> None:
        """Take over what a file says: outputs, variables, the search path, or the summary.

        Raises:
            FileCommandError: the runner cannot read it; what comes before counts.
            SummaryTooLongError: the summary is not shown.
        """
        environment = self.contexts.environment
        match file:
            case "GITHUB_OUTPUT":
                outputs: dict[str, str] = {}
                self.contexts.outputs[name] = outputs
                outputs.update(values_of(text))
            case "GITHUB_ENV":
                environment.update(variables_of(text))
            case "GITHUB_PATH":
                for line in filter(None, text.split("\n")):
                    environment["PATH"] = f"{line}{os.pathsep}{environment['PATH']}"
            case "GITHUB_STATE":  # only its form counts: a composite action has nobody to read it
                dict(values_of(text))
            case _:
                self.summary += checked_summary(text)


def called(phase: str, where: Path, environment: Mapping[str, str]) -> tuple[int, str, str]:
    """What `python -m rankgate.cli.action PHASE` does, without another interpreter and without waiting."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        chdir(where),
        patch.dict(os.environ, environment, clear=True),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
        patch.object(rankgate.forges.client, "Clock", InstantClock),
    ):
        code = phases.main([phase])
    return code, stdout.getvalue(), stderr.getvalue()
