"""The bot: it says on GitHub what a report says, comment first, and is never in the way of the verdict."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from rankgate.criteria import DEFAULT_PATHS
from rankgate.forges import checks
from rankgate.forges.checks import PUSH_CHECK, QUEUE, Check, Conclusion, Record, base_key, check_name
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN, DEFAULT_GATE, Mark, PullThread, upsert
from rankgate.forges.runner import Context, Pull
from rankgate.model.report import Report, exit_code
from rankgate.model.values import Verdict
from rankgate.renderers.github import check_run_output, conclusion_of, path_in_repository
from rankgate.renderers.markdown import COMMENT_LIMIT, render_markdown

_DONE = {
    "created": "commented on {}",
    "updated": "updated the comment on {}",
    "unchanged": "the comment on {} says so already",
    "outdated": "left the comment on {} alone: it has newer commits, or a newer run has commented",
    "unwanted": "no comment on {}: it has none yet, and this verdict asks for none",
}
When = Literal["always", "changed", "failing", "never"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to publish: the gate's id, whom the token posts as, and what is wanted.

    `comment` says what a first comment needs: a verdict other than pass (`changed`), or a check that is no success
    (`failing`); one that is there is updated by any report.
    `fresh` posts a new comment where the verdict turns from pass to fail. `fail_on` is that of the check, so that the
    named check and the exit code agree. A base has criteria if it has the
    file `criteria` or one of the usual ones. `push` posts a check after an event without a base, of another name.
    """

    gate: str = DEFAULT_GATE
    login: str = ACTIONS_LOGIN
    comment: When = "always"
    fresh: bool = False
    fail_on: str = "fail"
    criteria: str | None = None
    push: bool = False


class Published(msgspec.Struct, frozen=True):
    """What was published, and what could not be, as sentences; a trouble changes no verdict."""

    done: list[str] = []
    troubles: list[str] = []


def check_of(context: Context, settings: Settings) -> Check | None:
    """Where this run's check belongs; None where the event has no commit to judge, or none is wanted.

    The required check is a pull request's or a merge group's: nothing else has a base to judge by, and whoever may push
    can start a workflow by another event.
    """
    pull = context.pull
    triggered = context.workflow_run is not None
    required = pull is not None or context.event == "merge_group"
    if context.sha is None or not (required or (settings.push and not triggered)):
        return None
    run = context.run
    return Check(
        repository=context.repository,
        sha=context.sha,
        name=check_name(settings.gate) if required else check_name(settings.gate, PUSH_CHECK),
        login=settings.login,
        record=Record(
            run=run.id,
            attempt=run.attempt,
            pull=pull.number if pull else QUEUE,
            base=base_key(pull.base_ref if pull else ""),
            job=run.job or "-",
            judged=context.judged,
        ),
        criteria=[settings.criteria, *DEFAULT_PATHS] if settings.criteria else DEFAULT_PATHS,
        again=not run.id or context.event in ("workflow_run", "pull_request_target"),
        details_url=context.links.run,
    )


def announce(client: Client, context: Context, settings: Settings) -> Published:
    """Put the check in progress before the work begins."""
    check = check_of(context, settings)
    try:
        state = "in progress" if check and checks.begin(client, check) else "for other pull requests to decide"
    except ForgeError as error:
        return Published([], [str(error)])
    return Published([f"check {check.name} is {state}"] if check else [], [])


def publish(client: Client, context: Context, report: Report, settings: Settings) -> Published:
    """Comment on the event's pull request, if it has one, and complete the check, whatever happens before."""
    outcome = Published()
    report = linked(report, context, settings)
    try:
        if context.pull is not None and context.pull.number != QUEUE and settings.comment != "never":
            outcome = _tell_pull(client, context, context.pull, report, settings)
    finally:
        outcome = joined(outcome, conclude(client, context, report, settings))
    return outcome


def linked(report: Report, context: Context, settings: Settings) -> Report:
    """The report with the addresses that this job knows, none of which the report makes up.

    The criteria lie where this job looks for them: in the check's commit, or where a fork's run was judged, the base.
    """
    base = context.pull.base_sha if context.pull and report.origin.untrusted_run and not report.base else None
    path = path_in_repository(report.provenance.criteria)
    known = path in (path_in_repository(settings.criteria), *DEFAULT_PATHS) and (base or context.sha)
    blob = f"{context.server_url}/{context.repository}/blob/{base or context.sha}/{quote(path or '')}"
    return replace(report, links=replace(context.links, criteria=blob if path and known else None))


def _tell_pull(client: Client, context: Context, pull: Pull, report: Report, settings: Settings) -> Published:
    """The comment of one pull request, below a note on what else decides about its commit."""
    thread = PullThread(client, context.repository, pull.number, settings.login)
    run = context.run
    mark = Mark(gate=settings.gate, sha=pull.head_sha, run=run.id, attempt=run.attempt, verdict=report.verdict)
    conclusion = conclusion_for(report, settings.fail_on)
    note = _note(client, check_of(context, settings), conclusion, settings.gate)
    text = render_markdown(report, limit=COMMENT_LIMIT - len(note))
    red = conclusion != "success"
    first = red or settings.comment == "always" or (settings.comment == "changed" and report.verdict != Verdict.PASS)
    try:
        done = upsert(thread, mark, note + text, fresh=settings.fresh, first=first)
    except ForgeError as error:
        return Published([], [str(error)])
    return Published([_DONE[done].format(f"pull request {pull.number}")])


def conclude(client: Client, context: Context, report: Report, settings: Settings) -> Published:
    """The completed check; where the event judges nothing, all of the commit follow the reports that count now."""
    check = check_of(context, settings)
    conclusion = conclusion_for(report, settings.fail_on)
    if check is None:
        return Published()
    try:
        if context.settles:
            ended = checks.settle(client, check)
        else:
            ended = checks.complete(client, check, check_run_output(report), conclusion)
    except ForgeError as error:
        return Published([], [str(error)])
    return Published([f"check {check.name}: {ended.conclusion}"], [])


def conclusion_for(report: Report, fail_on: str) -> Conclusion:
    """What the check concludes; never success where the job's exit code is not 0."""
    return "failure" if exit_code(report, fail_on) else conclusion_of(report)


def joined(*outcomes: Published) -> Published:
    """All that was told, in order."""
    done = [line for each in outcomes for line in each.done]
    troubles = [line for each in outcomes for line in each.troubles]
    return Published(done, troubles)


def _note(client: Client, check: Check | None, conclusion: Conclusion, gate: str) -> str:
    """What else decides about the commit, as the beginning of a comment; empty where nothing is known to."""
    if check is None:
        return ""
    try:
        ended = checks.foresee(client, check, conclusion)
    except ForgeError:  # a trouble of the check, which says so
        return ""
    jobs = [f"`{each.job}`" for each in ended.deciding if each.pull == check.record.pull]
    note = ""
    if len(jobs) > 1:
        note = f"> {len(jobs)} jobs judge this commit under the gate id `{gate}`: {', '.join(jobs)}. "
        note += "The worst result counts; the input `gate-id` tells them apart.\n\n"
    if ended.conclusion != conclusion:
        note += f"> The check `{check.name}` is of all reports of this commit. {ended.title}.\n\n"
    return note
