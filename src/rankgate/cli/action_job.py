"""What the phases of the action hand on: the inputs, the event, and the directory that holds what is made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Literal

import msgspec

from rankgate.errors import bad_input
from rankgate.files.writing import write_atomic
from rankgate.forges.comments import ACTIONS_LOGIN, DEFAULT_GATE, checked_gate_id
from rankgate.forges.runner import Context, add_summary, context_of, set_output
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report, encode_report
from rankgate.renderers.base import RENDERERS

PREFIX = "RANKGATE_"


class ActionInputs(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of action.yml; an empty one has its default."""

    criteria: str | None = None
    gold: str | None = None
    run: str | None = None
    baseline: str | None = None
    base: str | None = None
    fail_on: Literal["fail", "warn"] = "fail"
    comment: Literal["auto", "always", "changed", "failing", "never"] = "auto"
    fresh_comment: Literal["true", "false"] = "false"
    gate_id: str = DEFAULT_GATE
    judge: Literal["true", "false"] = "false"
    html: Literal["true", "false"] = "false"
    push_check: Literal["true", "false"] = "false"
    report: str | None = None
    bot_login: str = ACTIONS_LOGIN


class Job(msgspec.Struct, frozen=True):
    """Where a phase works: the inputs, the event, and the directory that holds what is made."""

    inputs: ActionInputs
    context: Context
    directory: Path

    @property
    def upload(self) -> Path:
        """What becomes the artifact."""
        return self.directory / "upload"

    @property
    def page(self) -> Path | None:
        """Where `report.html` goes, by the name of its artifact; None where none is wanted."""
        return self.directory / f"{artifact_name(self.inputs.gate_id)}.html" if self.inputs.html == "true" else None

    @property
    def store(self) -> Path | None:
        """Where the verdicts on answers are kept from job to job; None where this job does not ask the judge."""
        return self.directory / "verdicts" / "verdicts.jsonl" if self.inputs.judge == "true" else None

    @property
    def publishes(self) -> bool:
        """Whether this job comments and posts the check itself."""
        return not self.context.read_only or self.inputs.comment == "always"


def artifact_name(gate: str) -> str:
    """`rankgate`, or `rankgate-search` for a further gate."""
    return "rankgate" if gate == DEFAULT_GATE else f"rankgate-{gate}"


def new_job() -> Job:
    """The job as its first phase finds it, with the inputs that action.yml passes and an empty directory."""
    given = {name: os.environ.get(f"{PREFIX}{name.upper()}") for name in ActionInputs.__struct_fields__}
    try:
        inputs = msgspec.convert({name: value for name, value in given.items() if value}, ActionInputs)
    except msgspec.ValidationError as error:
        raise bad_input(f"an input of the action is wrong: {str(error).replace('_', '-')}") from error
    checked_gate_id(inputs.gate_id)
    context = context_of(os.environ)
    job = Job(inputs, context, Path(variable("RUNNER_TEMP")) / "rankgate" / f"gate-{inputs.gate_id}")
    shutil.rmtree(job.directory, ignore_errors=True)
    job.upload.mkdir(parents=True)
    (job.directory / "inputs.json").write_bytes(msgspec.json.encode(inputs))
    return job


def this_job() -> Job:
    """The job as an earlier phase left it."""
    directory = Path(variable(f"{PREFIX}DIRECTORY"))
    inputs = msgspec.json.decode((directory / "inputs.json").read_bytes(), type=ActionInputs)
    return Job(inputs, context_of(os.environ), directory)


def keep(job: Job, report: Report) -> None:
    """Leave the report, and the comment whole, for the other phases and the artifact.

    A job can be ended in between: where there is a report, it is whole, and so is all else.
    """
    write_atomic(job.upload / "comment.md", RENDERERS["markdown"](report))
    write_atomic(job.upload / "report.json", encode_report(report))


def kept(job: Job) -> Report | None:
    """The report that an earlier phase left; None where it was stopped before."""
    file = job.upload / "report.json"
    return decode_report(file.read_bytes(), "report.json") if file.is_file() else None


def summarize(job: Job) -> None:
    """Show the comment in the step summary."""
    add_summary(variable("GITHUB_STEP_SUMMARY"), (job.upload / "comment.md").read_text(encoding="utf-8"))


def output(**values: str) -> None:
    """Set outputs of the step."""
    for name, value in values.items():
        set_output(variable("GITHUB_OUTPUT"), name, value)


def variable(name: str) -> str:
    """A variable of the environment."""
    value = os.environ.get(name)
    if not value:
        raise bad_input("is not set; action.yml and the runner set it", key=name)
    return value
