"""The bot: it says on GitHub what a report says, comment first, and is never in the way of the verdict."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rankgate.errors import RankgateError
from rankgate.exit_codes import exit_code
from rankgate.forges.checks import Check, Conclusion, begin, check_name, complete, complete_open
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN, upsert
from rankgate.forges.context import Context, Pull
from rankgate.forges.marker import DEFAULT_GATE, Mark
from rankgate.renderers.check_run import check_run_output, conclusion_of
from rankgate.renderers.fitting import COMMENT_LIMIT
from rankgate.renderers.isolation import Template
from rankgate.renderers.markdown import render_markdown
from rankgate.report import Report

_DONE = {
    "created": "commented on pull request {}",
    "updated": "updated the comment on pull request {}",
    "unchanged": "the comment on pull request {} says so already",
    "outdated": "left the comment on pull request {} alone: it has newer commits, or a newer run has commented",
}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to publish: the gate's id, whom the token posts as, and what is wanted.

    `fresh` posts a new comment where the verdict turns from pass to fail. `fail_on` is that of the check, so that the
    named check and the exit code agree. `template` is the user's, from the base.
    """

    gate: str = DEFAULT_GATE
    login: str = ACTIONS_LOGIN
    comment: bool = True
    check: bool = True
    fresh: bool = False
    fail_on: str = "fail"
    template: Template | None = None


class Told(msgspec.Struct, frozen=True):
    """What was published, and what could not be, as sentences; a trouble changes no verdict."""

    done: list[str]
    troubles: list[str]


def check_of(context: Context, settings: Settings) -> Check | None:
    """Where this run's check belongs; None where the event has no commit to judge, or none is wanted."""
    if context.sha is None or not settings.check:
        return None
    run = f"{context.server_url}/{context.repository}/actions/runs/{context.run_id}" if context.run_id else None
    return Check(
        repository=context.repository,
        sha=context.sha,
        name=check_name(settings.gate),
        run=context.run_id,
        attempt=context.attempt,
        details_url=run,
    )


def announce(client: Client, context: Context, settings: Settings) -> Told:
    """Put the check in progress before the work begins."""
    check = check_of(context, settings)
    if check is None:
        return Told([], [])
    return _try(lambda: begin(client, check), f"check {check.name} is in progress")


def publish(client: Client, context: Context, report: Report, settings: Settings) -> Told:
    """Comment on the event's pull request, if it has one, and complete the check, whatever happens before."""
    told = Told([], [])
    try:
        if context.pull is not None and settings.comment:
            told = tell_pull(client, context, context.pull, report, settings)
    finally:
        told = joined(told, conclude(client, context, report, settings))
    return told


def tell_pull(client: Client, context: Context, pull: Pull, report: Report, settings: Settings) -> Told:
    """The comment of one pull request."""
    text, trouble = _comment_text(report, settings.template)
    mark = Mark(
        gate=settings.gate,
        sha=pull.head_sha,
        run=context.run_id,
        attempt=context.attempt,
        verdict=report.verdict,
    )
    try:
        done = upsert(client, context.repository, pull.number, mark, text, login=settings.login, fresh=settings.fresh)
    except ForgeError as error:
        return Told([], [*trouble, str(error)])
    return Told([_DONE[done].format(pull.number)], trouble)


def conclude(client: Client, context: Context, report: Report, settings: Settings) -> Told:
    """The completed check."""
    check = check_of(context, settings)
    if check is None:
        return Told([], [])
    conclusion = conclusion_for(report, settings.fail_on)
    output = check_run_output(report)
    return _try(lambda: complete(client, check, output, conclusion), f"check {check.name}: {conclusion}")


def conclude_open(client: Client, context: Context, report: Report, settings: Settings) -> Told:
    """The check completed that this run left in progress; nothing where it left none."""
    check = check_of(context, settings)
    if check is None:
        return Told([], [])
    conclusion = conclusion_for(report, settings.fail_on)
    try:
        was_open = complete_open(client, check, check_run_output(report), conclusion)
    except ForgeError as error:
        return Told([], [str(error)])
    return Told([f"check {check.name}: {conclusion}"] if was_open else [], [])


def conclusion_for(report: Report, fail_on: str) -> Conclusion:
    """What the check concludes; never success where the job's exit code is not 0."""
    return "failure" if exit_code(report, fail_on) else conclusion_of(report)


def joined(*told: Told) -> Told:
    """All that was told, in order."""
    return Told([line for each in told for line in each.done], [line for each in told for line in each.troubles])


def _comment_text(report: Report, template: Template | None) -> tuple[str, list[str]]:
    """The comment, ours where the user's template does not render."""
    if template is not None:
        try:
            return render_markdown(report, template, limit=COMMENT_LIMIT), []
        except RankgateError as error:
            return render_markdown(report, limit=COMMENT_LIMIT), [f"our own comment instead of the template's: {error}"]
    return render_markdown(report, limit=COMMENT_LIMIT), []


def _try(act: Callable[[], None], done: str) -> Told:
    try:
        act()
    except ForgeError as error:
        return Told([], [str(error)])
    return Told([done], [])
