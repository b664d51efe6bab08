"""The reporting job: it judges what a fork's workflow left behind, by the base's code, criteria and gold set alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, RankgateError
from rankgate.forges.artifacts import MEMBER, download_artifact, read_member
from rankgate.forges.checks import last_run
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.comments import ours
from rankgate.forges.context import Context, Pull
from rankgate.forges.publish import Settings, Told, announce, check_of, conclude, joined, tell_pull
from rankgate.forges.pulls import head_of, may_write, open_pulls, remove_label
from rankgate.model import SEVERITY_ORDER
from rankgate.renderers.isolation import Template
from rankgate.report import Report

ACCEPT_LABEL = "rankgate: accept rankings"
_CUT_SHORT = Problem("the reporting job ended before there was a verdict")
_ACCEPTED = "A maintainer has accepted these rankings for this commit."


class AtBase(Protocol):
    """What is done at the base of a pull request, where nothing is the pull request's own."""

    def judge(self, pull: Pull, run: bytes) -> Report:
        """The report on a run, which is only data."""

    def template(self, pull: Pull) -> Template | None:
        """The user's template of the comment."""

    def not_judged(self, problems: Sequence[Problem]) -> Report:
        """The report where there is nothing to judge."""


def concerns_forks(context: Context) -> bool:
    """Whether the reporting job works on the event: a finished workflow, a label, or other reports that count."""
    labelled = context.event == "pull_request_target" and context.label is not None
    return labelled or context.settles or context.workflow_run is not None


def report_fork(
    client: Client, context: Context, settings: Settings, at_base: AtBase, *, artifact: str
) -> tuple[Report | None, Told]:
    """Judge, comment on every open pull request of that commit, and complete their checks with the worst report.

    Each pull request is judged by its own base. Nothing of the artifact says which one it is for.

    Args:
        client: the API, with the reporting job's token.
        context: the event: a finished workflow, or a label that was put on a pull request.
        settings: how to publish.
        at_base: judges.
        artifact: the name of the artifact that the gate's workflow leaves.

    Returns:
        The worst of the reports, None where there was nothing to report on, and what was told.
    """
    try:
        work = _work_for(client, context, settings)
    except ForgeError as error:
        return None, Told([], [str(error)])
    if isinstance(work, str):
        return None, Told([f"nothing to do: {work}"], [])
    found = work.context
    each = [replace(found, pull=pull) for pull in work.pulls]  # a report is of one pull request
    told = joined(Told([], work.troubles), *(announce(client, own, settings) for own in each))
    reports: dict[int, Report] = {}
    try:
        for pull, report in _judged(client, found, work.pulls, at_base, artifact):
            shown = _accepted(report) if work.accepted else report
            if settings.comment:
                templated = replace(settings, template=at_base.template(pull))
                told = joined(told, tell_pull(client, found, pull, shown, templated))
            reports[pull.number] = shown
    finally:
        for pull, own in zip(work.pulls, each, strict=True):
            ended = reports.get(pull.number) or at_base.not_judged([_CUT_SHORT])
            told = joined(told, conclude(client, own, ended, settings))
    return max(reports.values(), key=lambda report: SEVERITY_ORDER.index(report.verdict)), told


class _Work(msgspec.Struct, frozen=True):
    """The run that judged, the pull requests with its commit, and whether a maintainer accepts its rankings."""

    context: Context
    pulls: Sequence[Pull]
    accepted: bool
    troubles: list[str]


def _work_for(client: Client, context: Context, settings: Settings) -> _Work | str:
    """What there is to do, or why there is nothing."""
    if context.settles:
        return "the pull request was closed, or has another base now"
    work = _finished(client, context) if context.pull is None else _labelled(client, context, settings, context.pull)
    if not isinstance(work, str) and not work.pulls:
        return f"no open pull request has {str(context.sha)[:12]} as its head"
    return work


def _finished(client: Client, context: Context) -> _Work | str:
    """A workflow has ended; what was accepted before was another run, of this commit or of one before it."""
    run = context.workflow_run
    if run is None or run.event != "pull_request" or not run.from_fork:
        return "the workflow was not one of a fork's pull request"
    pulls = open_pulls(client, context.repository, run.head_repository, run.head_sha)
    troubles: list[str] = []
    for pull in pulls:
        try:
            remove_label(client, context.repository, pull.number, ACCEPT_LABEL)
        except ForgeError as error:
            troubles.append(str(error))
    return _Work(context, pulls, accepted=False, troubles=troubles)


def _labelled(client: Client, context: Context, settings: Settings, pull: Pull) -> _Work | str:
    """A label accepts the rankings that were reported, and so those of that attempt alone."""
    refused = _refused(client, context, pull)
    if refused is not None:
        return refused
    run = _reported(client, context, settings, pull)
    if run is None:
        return f"no verdict is reported for {pull.head_sha[:12]} yet; set the label again when there is one"
    if client.get(f"/repos/{context.repository}/actions/runs/{run[0]}")["run_attempt"] != run[1]:
        return "the workflow was started again since that verdict; set the label again when it has ended"
    # The check is the commit's: every pull request with this head counts, whichever got the label.
    pulls = open_pulls(client, context.repository, pull.head_repository, pull.head_sha)
    return _Work(replace(context, run_id=run[0], attempt=run[1]), pulls, accepted=True, troubles=[])


def _refused(client: Client, context: Context, pull: Pull) -> str | None:
    """Why a label does not count: it does for the commit that it was set on, if whoever set it may write here."""
    if context.label != ACCEPT_LABEL:
        return "this label means nothing to rankgate"
    if not (pull.from_fork or context.read_only):  # read-only: of Dependabot
        return "the pull request is one of this repository, and its own job judges it"
    if context.sender is None or not may_write(client, context.repository, context.sender):
        return "the label was set by somebody who may not write to this repository"
    if head_of(client, context.repository, pull.number) != pull.head_sha:
        return "the pull request has newer commits than the label was set on"
    return None


def _reported(client: Client, context: Context, settings: Settings, pull: Pull) -> tuple[int, int] | None:
    """The run and attempt that were reported for this commit: what the maintainer saw is what is accepted.

    Our comment names it; where none is wanted, our check does.
    """
    found = ours(client, context.repository, pull.number, settings.gate, settings.login) if settings.comment else []
    told = [(each.mark.run, each.mark.attempt) for each in found if each.mark.sha == pull.head_sha]
    check = check_of(context, settings)
    return max(told, default=None) or (last_run(client, check) if check else None)


def _judged(
    client: Client, context: Context, pulls: Sequence[Pull], at_base: AtBase, artifact: str
) -> Iterator[tuple[Pull, Report]]:
    """Each pull request with the report by its own base."""
    problems: Sequence[Problem] = ()
    data = b""
    try:
        data = read_member(download_artifact(client, context.repository, context.run_id, artifact), MEMBER)
    except RankgateError as error:
        problems = error.problems
    except ForgeError as error:
        problems = [Problem(str(error))]
    for pull in pulls:
        try:
            yield pull, at_base.not_judged(problems) if problems else at_base.judge(pull, data)
        except RankgateError as error:
            yield pull, at_base.not_judged(error.problems)


def _accepted(report: Report) -> Report:
    """The report with the rankings accepted, so that a pass counts."""
    return replace(report, fork_runs="trusted", notes=[*report.notes, _ACCEPTED])
