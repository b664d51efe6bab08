"""The steps of action.yml: `python -m rankgate.cli.action PHASE`. Everything comes from and goes to the environment.

`begin` notes the inputs and puts the check in progress, `judge` judges (or does a fork's report, or takes another
job's), `publish` comments and completes the check, `verdict` ends with the exit code. Publishing fails no job.
`recorded` is a step of the written workflow: after a label the recorded run of the commit is judged again.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rankgate.cli.check import judge as judged
from rankgate.cli.comment import publishing, read_or_not_judged, say, token_of
from rankgate.cli.options import today
from rankgate.cli.processes import interrupted_once
from rankgate.criteria import InputFile, find_criteria, load_criteria
from rankgate.criteria.inputs import SHOWN_ITEMS, DetailInputs, Inputs, PullInputs
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.files.git import repository_around
from rankgate.files.writing import write_atomic
from rankgate.forges.artifacts import MEMBER, download_artifact, read_member
from rankgate.forges.base_checkout import BaseCheckout, at_merge, unjudged_note
from rankgate.forges.checks import reports
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN, DEFAULT_GATE, checked_gate_id
from rankgate.forges.fork import Judged, concerns_forks, judge_fork, publish_each
from rankgate.forges.publish import Published, Settings, announce, check_of, conclude, linked
from rankgate.forges.pull_labels import labels_now
from rankgate.forges.pulls import pull_of
from rankgate.forges.runner import QUEUED, Context, add_summary, base_branch, context_of, set_output, stopped
from rankgate.gates.not_judged import internal_error, not_judged
from rankgate.model.base_ref import SetLabel
from rankgate.model.report import Report, exit_code
from rankgate.model.report_text import decode_report, encode_report
from rankgate.model.values import Verdict
from rankgate.renderers import RENDERERS
from rankgate.renderers.github import annotation

NO_BASE = "none"
INTERRUPTED = 130
_PULLS = "pulls.json"  # in the job's directory: what the reporting job knows of pull requests
_JUDGED = "judged"  # likewise: what is judged, as text
_ENDED = "the job ended before there was a verdict: it was cancelled, or the step Judge failed"
_KEY = "whoever can push can use your App's token; use the hardened workflows: docs/workflows.md#with-an-app"
_READ_ONLY = "the token of this pull request can only read; the reporting workflow publishes the verdict"
_READ_ONLY_PUSH = "the token of this job can only read, as after a push of Dependabot; its exit code is the verdict"
PREFIX = "RANKGATE_"  # of the variables by which action.yml passes its inputs


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
    def artifact(self) -> str:
        """The artifact's name."""
        return artifact_name(self.inputs.gate_id)

    @property
    def page(self) -> Path | None:
        """Where `report.html` goes, by the name of its artifact; None where none is wanted."""
        return self.directory / f"{self.artifact}.html" if self.inputs.html == "true" else None

    @property
    def store(self) -> Path | None:
        """Where the verdicts on answers are kept from job to job; None where this job does not ask the judge."""
        return self.directory / "verdicts" / "verdicts.jsonl" if self.inputs.judge == "true" else None

    @property
    def publishes(self) -> bool:
        """Whether this job comments and posts the check itself."""
        return not self.context.read_only or self.inputs.comment == "always"

    @property
    def settings(self) -> Settings:
        """How to publish."""
        inputs = self.inputs
        return Settings(
            gate=inputs.gate_id,
            login=inputs.bot_login,
            comment="always" if inputs.comment == "auto" else inputs.comment,
            fresh=inputs.fresh_comment == "true",
            fail_on=inputs.fail_on,
            criteria=inputs.criteria,
            push=inputs.push_check == "true",
        )


def artifact_name(gate: str) -> str:
    """`rankgate`, or `rankgate-search` for a further gate."""
    return "rankgate" if gate == DEFAULT_GATE else f"rankgate-{gate}"


def main(words: Sequence[str]) -> int:
    """Run one phase; a problem is an annotation each and exit code 2, never Python's own 1."""
    phases = {"begin": begin, "judge": judge, "publish": publish_all, "verdict": verdict, "recorded": recorded}
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
    output(directory=str(job.directory), artifact=job.artifact)
    if job.publishes and not concerns_forks(job.context):
        if job.context.base and job.inputs.bot_login != ACTIONS_LOGIN:
            print(annotation("notice", _KEY))
        _publish(job, lambda client: announce(client, job.context, job.settings))
    return 0


def judge() -> int:
    """Make report.json and the comment in the way that the event asks for, and set the outputs."""
    job = this_job()
    if concerns_forks(job.context):
        at_base = _at_base(job)
        pulls_file = job.directory / _PULLS
        with interrupted_once():
            _publish(
                job, lambda client: judge_fork(client, job.context, job.settings, at_base, job.artifact, pulls_file)
            )
        report = next((each.report for each in _pulls(job)), None)  # the worst of a fork's run
    elif job.inputs.report:
        report = read_or_not_judged(job.inputs.report, today())[0]
    else:
        report = _judged(job)
    if report is None:
        return 0  # a fork's workflow or a label that needs no report
    keep(job, report)
    output(
        page=_page(job, report),
        verdict=report.verdict.value,
        report=str(job.upload / "report.json"),
        comment=str(job.upload / "comment.md"),
        values=json.dumps({gate.name: gate.measured.value for gate in report.gates if gate.segment is None}),
    )
    print(stopped(RENDERERS["terminal"](report)), end="")
    print(RENDERERS["github"](report), end="")
    return 0


def publish_all() -> int:
    """Fill the step summary, comment and complete the check, also where the job was cancelled before a verdict."""
    job = this_job()
    ended = not_judged(Inputs(date=today()), [Problem(_ENDED)])
    pulls = _pulls(job)
    reports_forks = bool(pulls)
    if concerns_forks(job.context) and not pulls:  # there was nothing to report
        if job.context.settles:
            with interrupted_once():
                _publish(job, lambda client: conclude(client, job.context, ended, job.settings))
        return 0
    if not pulls:
        file = job.directory / _JUDGED  # as an earlier phase said, if it came to that
        judged_text = file.read_text() if file.is_file() else ""
        pulls = [Judged(replace(job.context, judged=judged_text), kept(job))]
    first, *others = pulls
    links = replace(first.context.links, page=job.context.links.page)
    first = replace(first, context=replace(first.context, links=links))
    try:
        keep(job, linked(first.report or ended, first.context, job.settings))
        add_summary(variable("GITHUB_STEP_SUMMARY"), (job.upload / "comment.md").read_text(encoding="utf-8"))
    finally:  # whatever becomes of the summary
        if reports_forks or job.publishes:
            with interrupted_once():
                _publish(job, lambda client: publish_each(client, [first, *others], job.settings, ended))
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


def recorded() -> int:
    """Write to RUN what was judged last of the pull request's head for its base."""
    context = context_of(os.environ)
    check = check_of(context, Settings())
    if check is None or context.pull is None:
        raise bad_input(f"{context.event} is no event of a pull request", key="GITHUB_EVENT_NAME")
    client = Client(context.api_url, token_of(), tell=print)
    pull_and_base = (context.pull.number, check.record.base)
    try:
        completed = [record for record, at in reports(client, check) if at]
        runs = [record.run for record in completed if (record.pull, record.base) == pull_and_base]
        if not runs:
            raise bad_input("no run of this commit was reported for this base yet")
        archive = download_artifact(client, context.repository, max(runs), artifact_name(DEFAULT_GATE))
    except ForgeError as error:
        raise bad_input(f"the recorded run is not read: {error}") from error
    write_atomic(variable("RUN"), read_member(archive, MEMBER))
    return 0


def _judged(job: Job) -> Report:
    """This job's own run, by the criteria here and at the base."""
    inputs = job.inputs
    if job.context.event == "pull_request_target":
        advice = "judge on pull_request, and let the reporting workflow judge forks (rankgate init --github)"
        raise bad_input(f"pull_request_target would run untrusted code with this repository's token; {advice}")
    named = Inputs(
        date=today(),
        criteria=inputs.criteria,
        gold=InputFile(inputs.gold) if inputs.gold else None,
        run=InputFile(inputs.run) if inputs.run else None,
        baseline=InputFile(inputs.baseline) if inputs.baseline else None,
    )
    if job.context.event == "pull_request":  # judged again after a label, a fork's by the reporting job in any case
        _keep_run(job, named)
    try:
        base, pull = _base(job)
    except RankgateError as error:
        return not_judged(named, error.problems)
    named, missing = _with_verdicts(job, replace(named, base=base, pull=pull))
    details = DetailInputs(depth=SHOWN_ITEMS, texts=True) if job.page else None
    pull = replace(named.pull, labels=_labels(job, named) if base else ())
    report = judged(replace(named, pull=pull, details=details))
    if named.verdicts:  # whose place is this job's; the artifact has them beside the run
        command = [word for word in report.provenance.command if word not in ("--verdicts", named.verdicts)]
        report = replace(report, provenance=replace(report.provenance, command=command))
    return report.with_notes(missing) if missing else report


def _with_verdicts(job: Job, inputs: Inputs) -> tuple[Inputs, str]:
    """The inputs with what the judge said in this job, and what was in the way, as a note.

    A job of a fork or Dependabot asks nobody: its answers wait for a maintainer.
    """
    if job.context.read_only and job.context.pull:
        return replace(inputs, pull=replace(inputs.pull, awaits="label")), ""
    if job.store is None:
        return inputs, ""
    from rankgate.cli import judge  # paid only where answers are judged

    verdicts = job.upload / "run.verdicts.jsonl"
    verdicts.touch()  # one beside the run counts for nothing
    named = {"criteria": inputs.criteria, "base": inputs.base}
    named |= {"gold": job.inputs.gold, "run": job.inputs.run, "baseline": job.inputs.baseline}
    words = [f"--{option}={value}" for option, value in named.items() if value]
    options = judge.parser().parse_args([*words, f"--store={job.store}", f"--output={verdicts}"])
    missing = ""
    word = secrets.token_hex(16)
    print(f"::stop-commands::{word}", flush=True)
    try:
        if judge.run(options) == INTERRUPTED:
            raise KeyboardInterrupt
    except RankgateError as error:
        missing = unjudged_note(str(error.problems[0]))
    finally:
        print(f"::{word}::", flush=True)
    if missing:
        print(annotation("warning", missing))
    return replace(inputs, verdicts=str(verdicts)), missing


def _keep_run(job: Job, named: Inputs) -> None:
    """Put the run among what becomes the artifact, as far as there is one."""
    try:
        run = named.run or load_criteria(named.criteria or find_criteria()).inputs.run
    except RankgateError:  # reported where the run is judged
        return
    if run and Path(run.path).is_file():
        shutil.copyfile(run.path, job.upload / MEMBER)


def _base(job: Job) -> tuple[str | None, PullInputs]:
    """The commit that judges too, None where none does; its branch, and the tip of that where GitHub names it now.

    It is what the action's input names, else that of the event, and of a pull request what GitHub names now.
    """
    context = job.context
    branch = base_branch(os.environ)
    if job.inputs.base == NO_BASE:
        return None, PullInputs(branch=branch)
    if job.inputs.base or context.event != "pull_request" or context.pull is None:
        return job.inputs.base or context.base, PullInputs(branch=branch)
    try:
        now = pull_of(Client(context.api_url, token_of(), tell=print), context.repository, context.pull.number)
    except ForgeError as error:
        needs = "the job needs `permissions: pull-requests: read`"
        raise bad_input(f"the base of the pull request is not known: {error}; {needs}") from error
    now = _at_base(job).at_tip(now)
    merged = at_merge(context.pull, now, Path.cwd(), os.environ.get("GITHUB_SHA"))
    return merged.base_sha, PullInputs(branch=merged.base_ref, tip=now.base_sha)


def _labels(job: Job, named: Inputs) -> tuple[SetLabel, ...]:
    """The labels that stand on the pull request of the repository itself, or on the one that the queue has merged.

    What they are compared with is left for the check, which says it to later jobs.
    """
    labels: list[SetLabel] = []
    if job.context.event in ("pull_request", "merge_group") and not job.context.read_only:
        _publish(job, lambda client: _read_labels(client, job, named, labels))
    return tuple(labels)


def _read_labels(client: Client, job: Job, named: Inputs, labels: list[SetLabel]) -> Published:
    """Add to the labels those of the pull request, where there is one; what cannot be read is an outcome."""
    context = job.context
    pull = context.pull
    queue = QUEUED.fullmatch(os.environ.get("GITHUB_REF", ""))
    if pull is None and queue:
        pull = pull_of(client, context.repository, int(queue["number"]))
    if pull is not None:
        base = repository_around(".").commit(named.base or "")
        pull = replace(pull, base_sha=base, base_ref=named.pull.branch or pull.base_ref)
        subject = _at_base(job).subject(pull, "HEAD", job.inputs.run or "")
        (job.directory / _JUDGED).write_text(subject.text)
        queued = context.pull is None
        labels += labels_now(client, context, job.settings, pull, subject, queued=queued)
    return Published()


def _at_base(job: Job) -> BaseCheckout:
    inputs = job.inputs
    named = {"--criteria": inputs.criteria, "--gold": inputs.gold, "--baseline": inputs.baseline}
    return BaseCheckout(
        repository=Path.cwd(),
        date=today(),
        arguments={flag: path for flag, path in named.items() if path},
        store=job.store,
        pages=job.page and job.directory,
    )


def _pulls(job: Job) -> list[Judged]:
    """What the reporting job knows of the pull requests with its commit; none in another job."""
    file = job.directory / _PULLS
    return msgspec.json.decode(file.read_bytes(), type=list[Judged]) if file.is_file() else []


def _page(job: Job, report: Report) -> str:
    """The path of `report.html`, which is uploaded before the comment leads to it; empty where there is none."""
    if job.page is None or report.verdict is Verdict.NOT_JUDGED:
        return ""
    try:
        pull = next((each.context.pull for each in _pulls(job)), None)
        if pull:  # its page was written where it was judged, as only there the rankings are
            (job.directory / f"{pull.number}.html").replace(job.page)
        else:
            write_atomic(job.page, RENDERERS["html"](report))
    except Exception as error:  # noqa: BLE001 -- a page that cannot be made changes no verdict
        print(annotation("warning", f"there is no page: {error}"))
        return ""
    return str(job.page)


def _publish(job: Job, act: Callable[[Client], Published]) -> None:
    say(publishing(job.context.api_url, act))


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
