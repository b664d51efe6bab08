"""The steps of action.yml: `python -m rankgate.cli.action PHASE`. Everything comes from and goes to the environment.

`begin` notes the inputs and puts the check in progress, `judge` judges (or does a fork's report, or takes another
job's), `publish` comments and completes the check, `verdict` ends with the exit code. Publishing fails no job.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rankgate.cli.action_job import Job, artifact_name, keep, kept, new_job, output, summarize, this_job
from rankgate.cli.comment import publishing, read_or_not_judged, say, template_at
from rankgate.cli.options import today
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.exit_codes import exit_code
from rankgate.forges.artifacts import MEMBER
from rankgate.forges.client import Client
from rankgate.forges.fork import concerns_forks, report_fork
from rankgate.forges.publish import Settings, Told, announce, conclude, publish
from rankgate.forges.runner import stopped
from rankgate.forges.waiver_label import concerns_label, set_label
from rankgate.renderers.base import RENDERERS
from rankgate.renderers.github import annotation
from rankgate.report import Report
from rankgate.waivers import SetLabel

NO_BASE = "none"
_ENDED = "the job ended before there was a verdict: it was cancelled, or the step Judge failed"
_READ_ONLY = "the token of this pull request can only read; the reporting workflow publishes the verdict"
_READ_ONLY_PUSH = "the token of this job can only read, as after a push of Dependabot; its exit code is the verdict"


def main(words: Sequence[str]) -> int:
    """Run one phase; a problem is an annotation each and exit code 2, never Python's own 1."""
    from rankgate.compose import internal_error

    phases = {"begin": begin, "judge": judge, "publish": publish_all, "verdict": verdict}
    try:
        if len(words) != 1 or words[0] not in phases:
            raise bad_input(f"expected one of {', '.join(phases)}, found {' '.join(words)!r}")
        return phases[words[0]]()
    except RankgateError as error:
        problems: Sequence[Problem] = error.problems
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 -- the boundary: a user never sees a traceback
        problems = [internal_error(error)]
    for problem in problems:
        print(annotation("error", str(problem)))
    return 0 if words == ["publish"] else 2


def begin() -> int:
    """Note the inputs, and put the check in progress."""
    job = new_job()
    output(directory=str(job.directory), artifact=artifact_name(job.inputs.gate_id))
    if job.publishes and not concerns_forks(job.context):
        _publish(job, lambda client: announce(client, job.context, settings_of(job)))
    return 0


def judge() -> int:
    """Make report.json and the comment in the way that the event asks for, and set the outputs."""
    job = this_job()
    report = _fork_report(job) if concerns_forks(job.context) else _taken(job) if job.inputs.report else _judged(job)
    if report is None:
        return 0  # a fork's workflow or a label that needs no report
    keep(job, report)
    output(
        verdict=report.verdict.value,
        report=str(job.upload / "report.json"),
        comment=str(job.upload / "comment.md"),
        values=json.dumps({gate.name: gate.value for gate in report.gates if gate.segment is None}),
    )
    print(stopped(RENDERERS["terminal"](report)), end="")
    print(RENDERERS["github"](report), end="")
    return 0


def publish_all() -> int:
    """Fill the step summary, comment and complete the check, also where the job was cancelled before a verdict."""
    from rankgate.cli.signals import interrupted_once

    job = this_job()
    left = kept(job)
    report = left or _not_judged()
    if concerns_forks(job.context):
        if left:
            summarize(job)  # it was published as it was judged
        else:  # there was nothing to report, or the job was ended on the way
            with interrupted_once():
                _publish(job, lambda client: conclude(client, job.context, report, settings_of(job), left_open=True))
        return 0
    try:
        if left is None:
            keep(job, report)
        summarize(job)
    finally:  # whatever becomes of the summary
        if job.publishes:
            with interrupted_once():
                _publish(job, lambda client: publish(client, job.context, report, settings_of(job)))
        else:
            print(annotation("notice", _READ_ONLY if job.context.pull else _READ_ONLY_PUSH))
    return 0


def verdict() -> int:
    """The exit code of the check: 0, 1, or 2 where nothing was judged. A fork's verdict stands in the named check."""
    job = this_job()
    report = kept(job)
    if concerns_forks(job.context):
        return 0
    if report is None:
        raise bad_input(_ENDED)
    print(f"rankgate: {report.verdict.value.replace('_', ' ')}")
    return exit_code(report, job.inputs.fail_on)


def settings_of(job: Job) -> Settings:
    """How to publish; the template is the one at the base, and there is none without a base."""
    inputs, base = job.inputs, job.context.base
    template = None
    if inputs.template and base:
        try:
            template = template_at(inputs.template, base)
        except RankgateError as error:
            print(annotation("warning", f"our own comment, without your template: {error}"))
    return Settings(
        gate=inputs.gate_id,
        login=inputs.bot_login,
        comment=inputs.comment != "never",
        fresh=inputs.fresh_comment == "true",
        fail_on=inputs.fail_on,
        template=template,
        criteria=inputs.criteria,
        push=inputs.push_check == "true",
    )


def _judged(job: Job) -> Report:
    """This job's own run, by the criteria here and at the base."""
    from rankgate.cli.check import judge as judged
    from rankgate.criteria import InputFile
    from rankgate.forges.base_branch import base_branch
    from rankgate.inputs import Inputs

    inputs, context = job.inputs, job.context
    if context.event == "pull_request_target":
        raise bad_input(
            "pull_request_target would run a stranger's code with this repository's token; judge on pull_request, and "
            "let the reporting workflow judge forks (rankgate init --github)"
        )
    gold, run, baseline = (InputFile(path) if path else None for path in (inputs.gold, inputs.run, inputs.baseline))
    base = None if inputs.base == NO_BASE else inputs.base or context.base
    report = judged(
        Inputs(
            date=today(),
            criteria=inputs.criteria,
            gold=gold,
            run=run,
            baseline=baseline,
            base=base,
            branch=base_branch(os.environ),
            label=_label(job),
        )
    )
    source = report.provenance.run
    # The reporting job judges a fork's run again; that of a push is what `artifact:NAME` compares with.
    if (context.read_only or context.event == "push") and source and Path(source.path).is_file():
        shutil.copyfile(source.path, job.upload / MEMBER)
    return report


def _label(job: Job) -> SetLabel | None:
    """The label that set this job off, if one did."""
    found: list[SetLabel | None] = []

    def work(client: Client) -> Told:
        found.append(set_label(client, job.context))
        return Told([], [])

    if concerns_label(job.context):
        _publish(job, work)
    return found[0] if found else None


def _taken(job: Job) -> Report:
    """The report that another job has written."""
    return read_or_not_judged(job.inputs.report or "", today())[0]


def _fork_report(job: Job) -> Report | None:
    """What the reporting job says of a fork's run, published as it goes."""
    from rankgate.cli.signals import interrupted_once
    from rankgate.forges.base_checkout import BaseCheckout

    inputs = job.inputs
    named = {"--criteria": inputs.criteria, "--gold": inputs.gold, "--baseline": inputs.baseline}
    at_base = BaseCheckout(
        repository=Path.cwd(),
        date=today(),
        arguments=[word for flag, path in named.items() if path for word in (flag, path)],
        template_path=inputs.template,
    )
    found: list[Report] = []

    def work(client: Client) -> Told:
        report, told = report_fork(
            client,
            job.context,
            settings_of(job),
            at_base,
            artifact=artifact_name(inputs.gate_id),
        )
        found.extend([report] if report else [])
        return told

    with interrupted_once():
        _publish(job, work)
    return found[0] if found else None


def _publish(job: Job, act: Callable[[Client], Told]) -> None:
    say(publishing(job.context.api_url, act))


def _not_judged() -> Report:
    from rankgate.compose import not_judged
    from rankgate.inputs import Inputs

    return not_judged(Inputs(date=today()), [Problem(_ENDED)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
