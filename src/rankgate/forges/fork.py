"""The reporting job: it judges what a fork's workflow left, with an App any, by the base's criteria and gold alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, RankgateError
from rankgate.files.writing import write_atomic
from rankgate.forges.artifacts import GOLD, MEMBER, download_artifact, read_member
from rankgate.forges.checks import QUEUE, reports
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN
from rankgate.forges.publish import Published, Settings, announce, check_of, joined, publish
from rankgate.forges.pull_labels import labels_now
from rankgate.forges.pulls import of_writer, open_at, pull_of
from rankgate.forges.runner import DEPENDABOT, QUEUED, Context, Pull
from rankgate.model.base_ref import ACCEPT_RANKINGS
from rankgate.model.remarks import label_notes
from rankgate.model.report import Report
from rankgate.model.values import SEVERITY_ORDER
from rankgate.renderers.markdown_text import code

if TYPE_CHECKING:  # what judges at a base is paid for where there is something to judge
    from rankgate.forges.base_checkout import BaseCheckout

_CHANGES = ("labeled", "unlabeled", "edited", "closed", "reopened")
_OWN = "The rankings come from a branch of this repository and count, though whoever can push could have invented them."


def concerns_forks(context: Context) -> bool:
    """Whether the reporting job works on the event: a finished workflow, or a change of a pull request."""
    changed = context.event == "pull_request_target" and context.action in _CHANGES
    return changed or context.settles or context.workflow_run is not None


class Judged(msgspec.Struct, frozen=True):
    """A pull request in its context; its report, once it is judged."""

    context: Context
    report: Report | None = None


def judge_fork(
    client: Client, context: Context, settings: Settings, at_base: BaseCheckout, artifact: str, pulls_file: Path
) -> Published:
    """Put the check of every open pull request of that commit in progress, and judge each by its own base.

    Nothing of the artifact, which has the name that the gate's workflow gives it, says which one it is for. In
    `pulls_file` are the pull requests from the first, so that whatever ends this, no check is left in progress; the one
    with the worst report comes first.
    """
    try:
        work = _work_for(client, context, settings)
    except ForgeError as error:
        return Published([], [str(error)])
    if isinstance(work, str):
        return Published([f"nothing to do: {work}"], [])
    by_number = {pull.number: Judged(replace(work.context, pull=pull)) for pull in work.pulls}
    write_atomic(pulls_file, msgspec.json.encode([*by_number.values()]))
    outcome = joined(*(announce(client, each.context, settings) for each in by_number.values()))
    downloaded = _downloaded(client, work.context, artifact)
    for pull in work.pulls:
        by_number[pull.number] = _judged(client, work, settings, at_base, pull, downloaded)
        worst_first = sorted(by_number.values(), key=_severity, reverse=True)
        write_atomic(pulls_file, msgspec.json.encode(worst_first))
    return outcome


def _severity(each: Judged) -> int:
    return SEVERITY_ORDER.index(each.report.verdict) if each.report else -1


def publish_each(client: Client, judged: Sequence[Judged], settings: Settings, ended: Report) -> Published:
    """Publish every report, one that is not there as `ended`; a signal keeps back none but the comment at work."""
    first = Published()
    rest = Published()
    try:
        first = publish(client, judged[0].context, judged[0].report or ended, settings)
    finally:
        rest = publish_each(client, judged[1:], settings, ended) if judged[1:] else rest
    return joined(first, rest)


class _Work(msgspec.Struct, frozen=True):
    """What to judge: the pull requests with the commit of the context's run, or the queue's group.

    `by_writers` are the numbers of those that are judged by their own files too, as the repository's writers made them.
    """

    context: Context
    pulls: Sequence[Pull]
    by_writers: Collection[int]


def _work_for(client: Client, context: Context, settings: Settings) -> _Work | str:
    """What there is to do, or why there is nothing.

    The event only says whose turn it is: another one may have taken its place while it waited. What is judged is the
    newest run that has ended.
    """
    run = context.workflow_run
    number = context.pull and context.pull.number
    by_app = settings.login != ACTIONS_LOGIN  # then this job alone reports, also on pull requests of the repository
    if early := _without_runs(context, by_app=by_app):
        return early
    head = pull_of(client, context.repository, number) if number else run
    at_head = open_at(client, context.repository, head.head_sha) if head else []
    pulls = [pull for pull in at_head if head and pull.head_repository == head.head_repository]
    if not head or not pulls:
        return f"no open pull request has {str(context.sha)[:12]} as its head"
    judging = replace(context, sha=head.head_sha, settles=False)
    check = check_of(replace(judging, pull=pulls[0]), settings)
    reported = {each.run for each, _ in reports(client, check)} if check else set[int]()
    runs = _recorded(client, context, pulls[0], reported, by_app=by_app)
    ended = [each for each in runs if each["status"] == "completed" and each["conclusion"] != "action_required"]
    if not ended:
        return f"no run for {head.head_sha[:12]} has ended yet"
    newest = ended[-1]
    by_writers = {each.number for each in pulls if by_app and of_writer(client, context.repository, each)}
    if by_writers and newest is not runs[-1]:
        return f"a newer run for {head.head_sha[:12]} has not ended yet"
    judged = replace(judging.run, id=newest["id"], attempt=newest["run_attempt"])
    return _Work(replace(judging, run=judged), pulls, by_writers)


def _without_runs(context: Context, *, by_app: bool) -> _Work | str | None:
    """What the event says by itself: a group of the merge queue, or why there is nothing to do; None for the rest."""
    run = context.workflow_run
    pull = context.pull
    queue = QUEUED.fullmatch(f"refs/heads/{run.head_branch}") if run else None
    if run and queue and by_app:  # whatever became of the run, so that the queue never waits
        group = Pull(QUEUE, run.head_sha, queue["base"], queue["sha"], run.head_repository, from_fork=False)
        return _Work(context, [group], {QUEUE})
    if run and not (run.event == "pull_request" and (by_app or run.from_fork)):
        return "the workflow was not one of a fork's pull request"
    judges_itself = pull and not pull.from_fork and (by_app or not context.read_only)  # read-only: of Dependabot
    if judges_itself and not (by_app and context.action in ("labeled", "unlabeled")):
        return "the pull request is one of this repository, and its own workflow decides when it is judged"
    return None


def _recorded(
    client: Client, context: Context, head: Pull, reported: set[int], *, by_app: bool
) -> list[Mapping[str, Any]]:
    """The runs of the gate's workflow for a commit, as GitHub lists them, the newest last.

    Which workflow is the gate's is known from the ids of runs that were `reported` on, and from the event. A run that
    was skipped, as by the label, has recorded nothing.
    """
    path = f"/repos/{context.repository}/actions/runs"
    run = context.workflow_run
    listed = list(client.pages(path, {"head_sha": head.head_sha, "event": "pull_request"}, under="workflow_runs"))
    if run and all(each["id"] != run.id for each in listed):  # a list may lag behind
        listed.append(client.get(f"{path}/{run.id}"))
    names = {each["name"] for each in listed if each["id"] in reported or (run and each["id"] == run.id)}
    ours = [
        each
        for each in listed
        if each["name"] in names
        and (each["head_sha"], each["event"]) == (head.head_sha, "pull_request")
        and each["conclusion"] != "skipped"
        and (each["head_repository"] or {}).get("id") == head.head_repository
        and (by_app or head.from_fork or (each["actor"] or {}).get("login") == DEPENDABOT)
    ]
    return sorted(ours, key=lambda each: (each["id"], each["run_attempt"]))


class _ForkArtifact(NamedTuple):
    """What a fork's workflow left: the run, the gold set that its job made, and what was wrong with either."""

    run: bytes = b""
    gold: bytes | None = None
    problems: Sequence[Problem] = ()


def _downloaded(client: Client, context: Context, artifact: str) -> _ForkArtifact:
    try:
        data = download_artifact(client, context.repository, context.run.id, artifact)
        return _ForkArtifact(read_member(data, MEMBER), read_member(data, GOLD, optional=True) or None)
    except RankgateError as error:
        return _ForkArtifact(problems=error.problems)
    except ForgeError as error:
        return _ForkArtifact(problems=[Problem(str(error))])


def _judged(
    client: Client, work: _Work, settings: Settings, at_base: BaseCheckout, pull: Pull, artifact: _ForkArtifact
) -> Judged:
    """A pull request at the tip of its base, with the report by its own base; a writer's by its own files, too."""
    try:
        based = at_base.at_tip(pull) if pull.number != QUEUE else pull
        if artifact.problems:
            return Judged(replace(work.context, pull=based), at_base.not_judged(artifact.problems))
        judge = _judged_by_both if pull.number in work.by_writers else _judged_by_base
        return judge(client, work, settings, at_base, based, artifact)
    except RankgateError as error:
        return Judged(replace(work.context, pull=pull), at_base.not_judged(error.problems))


def _judged_by_both(
    client: Client, work: _Work, settings: Settings, at_base: BaseCheckout, pull: Pull, artifact: _ForkArtifact
) -> Judged:
    """The report on a writer's pull request or a group of the queue, by the base and the head."""
    context = work.context
    head = at_base.merged(pull)  # with it comes a group's own base
    run = context.workflow_run
    queue = QUEUED.fullmatch(f"refs/heads/{run.head_branch}") if run else None
    labelled = pull_of(client, context.repository, int(queue["number"])) if queue else pull
    labelled = replace(labelled, base_sha=pull.base_sha, base_ref=pull.base_ref)
    subject = at_base.subject(labelled, head, artifact.run, artifact.gold)
    labels = labels_now(client, context, settings, labelled, subject, queued=pull.number == QUEUE)
    report = at_base.judge(pull, artifact.run, head=head, labels=labels, gold=artifact.gold)
    report = replace(report, origin=replace(report.origin, fork_runs="trusted"))
    return Judged(replace(context, pull=pull, judged=subject.text), report.with_notes(_OWN))


def _judged_by_base(
    client: Client, work: _Work, settings: Settings, at_base: BaseCheckout, pull: Pull, artifact: _ForkArtifact
) -> Judged:
    """The report on a fork's pull request, by the base alone."""
    subject = at_base.subject(pull, None, artifact.run)
    labels = labels_now(client, work.context, settings, pull, subject)
    accepted_by = [each.by for each in labels if each.name == ACCEPT_RANKINGS and each.state == "counts"]
    report = at_base.judge(pull, artifact.run, accepted=bool(accepted_by))
    if accepted_by:
        report = replace(report, origin=replace(report.origin, fork_runs="trusted"))
    accepted = [f"{code(by, 100)} has accepted these rankings." for by in accepted_by]
    notes = [*label_notes(labels, ACCEPT_RANKINGS), *accepted]
    return Judged(replace(work.context, pull=pull, judged=subject.text), report.with_notes(*notes))
