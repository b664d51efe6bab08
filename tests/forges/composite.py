"""Runs an action.yml for real: its `run:` steps with bash as the runner starts it, wired through the runner's files.

Steps with `uses:` are not run but recorded; they count as successful. Those that only start a phase of ours can be run
in this process, by the environment that bash would give them, which takes a tenth of the time; then nothing is
installed either.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import yaml
from tests.forges.expressions import ExpressionError, Value, condition, filled_in
from tests.forges.scripted import InstantClock

import rankgate.forges.client
from rankgate.cli import action as phases

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE")
PHASE = re.compile(r'exec "\$RANKGATE_PYTHON" -I -m rankgate\.cli\.action (\w+)')
OUTPUT = re.compile(r"(\w[\w-]*)(?:=(.*)|<<(.+)\n((?:.*\n)*?)\3)\n?")  # what the runner reads of GITHUB_OUTPUT


class Ran(NamedTuple):
    """A step that ran."""

    id: str  # or its name, where it has no id
    code: int  # negative: the signal that ended it
    stdout: str
    stderr: str


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
    steps: list[Ran]
    skipped_uses: list[Used]
    outcomes: Mapping[str, str]  # of each step by id or name: success, failure, skipped

    @property
    def log(self) -> str:
        """All that the steps printed, as the job's log shows it."""
        return "".join(step.stdout + step.stderr for step in self.steps)


@dataclass
class Job:
    """What the runner knows while the steps run."""

    environment: dict[str, str]
    inputs: dict[str, str]
    token: str
    cwd: Path
    timeout: float
    in_this_process: bool
    outputs: dict[str, Mapping[str, str]] = field(default_factory=dict)  # by step
    outcomes: dict[str, str] = field(default_factory=dict)
    ran: list[Ran] = field(default_factory=list)
    used: list[Used] = field(default_factory=list)
    summary: str = ""
    code: int = 0
    cancelled: bool = False

    def fill(self, value: object) -> str:
        """A value of action.yml as text, with its expressions filled in."""
        text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
        return filled_in(text, self.look_up)

    def look_up(self, name: str) -> Value:
        """What a dotted name stands for."""
        match name.split("."):
            case ["inputs", key] if key in self.inputs:
                return self.inputs[key]
            case ["steps", step, *path]:
                known = {"outcome": self.outcomes.get(step, ""), **self.outputs.get(step, {})}
                return known.get(path[-1], "")
            case ["github", "token"]:
                return self.token
            case ["github", "event", *path]:
                return self.of_event(path)
            case ["strategy", "job-index"]:
                return self.environment.get("STRATEGY_JOB_INDEX", "0")
            case ["github" | "runner" as where, key] if f"{where}_{key}".upper() in self.environment:
                return self.environment[f"{where}_{key}".upper()]
        raise ExpressionError(f"stands for nothing: {name}")

    def of_event(self, path: list[str]) -> Value:
        """A value of the event's payload, None where there is none."""
        found: Any = json.loads(Path(self.environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        value: Value = found
        return value

    def take(self, step: Mapping[str, Any], name: str, used: Mapping[str, str], *, fails: bool) -> None:
        """Run a step, record it, or skip it; whether one with `uses:` fails is for the caller to say."""
        functions = {
            "always": lambda: True,
            "success": lambda: self.code == 0 and not self.cancelled,
            "failure": lambda: self.code != 0 and not self.cancelled,
            "cancelled": lambda: self.cancelled,
        }
        if not condition(str(step.get("if", "success()")), self.look_up, functions):
            self.outcomes[name] = "skipped"
            return
        if "uses" in step:
            given = {key: self.fill(value) for key, value in (step.get("with") or {}).items()}
            self.used.append(Used(name, step["uses"], given))
            self.outputs[name] = used
            code = int(fails)
        else:
            self.ran.append(self.run(step, name))
            code = self.ran[-1].code
        self.outcomes[name] = "failure" if code else "success"
        if self.fill(step.get("continue-on-error", False)) != "true":
            self.code = self.code or code

    def run(self, step: Mapping[str, Any], name: str) -> Ran:
        """A `run:` step, and what it wrote to the runner's files."""
        assert step["shell"] == "bash", "a composite step names its shell"
        if self.in_this_process and name == "install":
            self.outputs[name] = {"python": sys.executable}
            return Ran(name, 0, "", "")
        with tempfile.TemporaryDirectory() as temporary:
            output, summary, script = (Path(temporary, each) for each in ("output", "summary", "script.sh"))
            output.touch()
            summary.touch()
            script.write_text(self.fill(step["run"]), encoding="utf-8")
            own = {key: self.fill(value) for key, value in (step.get("env") or {}).items()}
            files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
            environment = {**self.environment, **files, **own}
            phase = PHASE.fullmatch(step["run"].strip())
            if phase and self.in_this_process:
                ended = called(phase[1], self.cwd, environment)
            else:
                ended = bash(script, self.cwd, environment, self.timeout)
            text = output.read_bytes().decode()
            read = list(OUTPUT.finditer(text))
            assert "".join(each[0] for each in read) == text, "the runner cannot read these outputs"
            self.outputs[name] = {each[1]: each[2] if each[3] is None else each[4].removesuffix("\n") for each in read}
            self.summary += summary.read_text(encoding="utf-8")
        return Ran(name, *ended)


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
    """
    action = yaml.safe_load((action_dir / "action.yml").read_text(encoding="utf-8"))
    declared = action.get("inputs") or {}
    assert set(inputs) <= set(declared), "no input of the action"
    with tempfile.TemporaryDirectory() as runner_temp:
        around = {
            **{name: os.environ[name] for name in INHERITED if name in os.environ},
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(cwd),
            "RUNNER_TEMP": runner_temp,
            **environment,
            "GITHUB_ACTION_PATH": str(action_dir),
        }
        job = Job(around, {}, token, cwd, timeout, in_this_process)
        job.inputs = {name: inputs.get(name, job.fill(each.get("default"))) for name, each in declared.items()}
        for step in action["runs"]["steps"]:
            name = step.get("id") or step.get("name") or step.get("uses") or step["run"]
            job.cancelled = job.cancelled or name == cancelled_before
            job.take(step, name, (used or {}).get(name, {}), fails=name == failing)
        outputs = {name: job.fill(each["value"]) for name, each in (action.get("outputs") or {}).items()}
    return Result(job.code, outputs, job.summary, job.ran, job.used, job.outcomes)


def bash(script: Path, where: Path, environment: Mapping[str, str], timeout: float) -> tuple[int, str, str]:
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
            stdout, stderr = process.communicate(timeout=timeout)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, stdout, stderr


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
