"""The reporting job: it judges what a fork's workflow left, with an App any, by the base's criteria and gold alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from rankgate.errors import Problem, RankgateError
from rankgate.files.writing import write_atomic
from rankgate.forges.artifacts import GOLD, MEMBER, download_artifact, read_member
from rankgate.forges.base_branch import QUEUED
from rankgate.forges.checks import reports
from rankgate.forges.client import Client, ForgeError
from rankgate.forges.comments import ACTIONS_LOGIN
from rankgate.forges.context import DEPENDABOT, Context, Pull
from rankgate.forges.publish import Settings, Told, announce, check_of, joined, publish
from rankgate.forges.pull_labels import label_events, labels_now, worth
from rankgate.forges.pulls import of_writer, open_at, pull_of, remove_label
from rankgate.forges.standing import QUEUE
from rankgate.gates.apply_waivers import REFUSED
from rankgate.model.report import Report
from rankgate.model.values import SEVERITY_ORDER
from rankgate.model.waiver_use import ACCEPT_RANKINGS

if TYPE_CHECKING:  # what judges at a base is paid for where there is something to judge
    from rankgate.forges.base_checkout import BaseCheckout

ACCEPT_LABEL = ACCEPT_RANKINGS
_CHANGES = ("labeled", "unlabeled", "edited", "closed", "reopened")
_ACCEPTED = "A maintainer has accepted these rankings for this commit."
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
    client: Client, context: Context, settings: Settings, at_base: BaseCheckout, artifact: str, left: Path
) -> Told:
    """Put the check of every open pull request of that commit in progress, and judge each by its own base.

    Nothing of the artifact, which has the name that the gate's workflow gives it, says which one it is for. In the file
    `left` are the pull requests from the first, so that whatever ends this, no check is left in progress; the one with
    the worst report comes first.
    """
    try:
        work = _work_for(client, context, settings)
    except ForgeError as error:
        return Told([], [str(error)])
    if isinstance(work, str):
        return Told([f"nothing to do: {work}"], [])
    found = {pull.number: Judged(replace(work.context, pull=pull)) for pull in work.pulls}
    write_atomic(left, msgspec.json.encode([*found.values()]))
    told = joined(work.told, *(announce(client, each.context, settings) for each in found.values()))
    for pull, judged in _judged(client, work, settings, at_base, artifact):
        note = work.counts.get(pull.number)
        report = replace(judged, fork_runs="trusted", notes=[*judged.notes, note]) if note else judged
        found[pull.number] = Judged(replace(work.context, pull=pull), report)
        write_atomic(left, msgspec.json.encode(sorted(found.values(), key=_severity, reverse=True)))
    return told


def _severity(each: Judged) -> int:
    return SEVERITY_ORDER.index(each.report.verdict) if each.report else -1


def publish_each(client: Client, found: Sequence[Judged], settings: Settings, ended: Report) -> Told:
    """Publish every report, one that is not there as `ended`; a signal keeps back none but the comment at work."""
    told, rest = Told(), Told()
    try:
        told = publish(client, found[0].context, found[0].report or ended, settings)
    finally:
        rest = publish_each(client, found[1:], settings, ended) if found[1:] else rest
    return joined(told, rest)


class _Work(msgspec.Struct, frozen=True):
    """The run that judged, the pull requests with its commit or the queue's group, and why its rankings count there."""

    context: Context
    pulls: Sequence[Pull]
    counts: Mapping[int, str]
    told: Told


def _work_for(client: Client, context: Context, settings: Settings) -> _Work | str:
    """What there is to do, or why there is nothing.

    The event only says whose turn it is: another one may have taken its place while it waited. What is judged is the
    newest run that has ended, and what accepts it is a label that is there now.
    """
    run, number = context.workflow_run, context.pull and context.pull.number
    alone = settings.login != ACTIONS_LOGIN
    if early := _without_runs(context, alone=alone):
        return early
    head = pull_of(client, context.repository, number) if number else run
    at_head = open_at(client, context.repository, head.head_sha) if head else []
    pulls = [pull for pull in at_head if head and pull.head_repository == head.head_repository]
    if not head or not pulls:
        return f"no open pull request has {str(context.sha)[:12]} as its head"
    judging = replace(context, sha=head.head_sha, settles=False)
    check = check_of(replace(judging, pull=pulls[0]), settings)
    reported = {(each.pull, each.run, each.attempt): at for each, at in reports(client, check)} if check else {}
    runs = _recorded(client, context, pulls[0], {each for _, each, _ in reported}, alone=alone)
    ended = [each for each in runs if each["status"] == "completed" and each["conclusion"] != "action_required"]
    if not ended:
        return f"no run for {head.head_sha[:12]} has ended yet"
    newest = ended[-1]["id"], ended[-1]["run_attempt"]
    unreported = [each["run_started_at"] for each in runs[runs.index(ended[-1]) + 1 :]]
    own, accepted, told = dict[int, str](), False, Told()
    for pull in pulls:
        try:
            if alone and of_writer(client, context.repository, pull):
                own[pull.number] = _OWN
            refused = _refused(client, context, pull, reported.get((pull.number, *newest)), unreported)
            accepted = accepted or refused is None
            if refused:
                remove_label(client, context.repository, pull.number, ACCEPT_LABEL)
                told.done.append(f"took the label {ACCEPT_LABEL!r} off pull request {pull.number}: {refused}")
        except ForgeError as error:
            told.troubles.append(str(error))
    if own and unreported:
        return f"a newer run for {head.head_sha[:12]} has not ended yet"
    counts = {**dict.fromkeys((pull.number for pull in pulls if accepted), _ACCEPTED), **own}
    return _Work(replace(judging, run_id=newest[0], attempt=newest[1]), pulls, counts, told)


def _without_runs(context: Context, *, alone: bool) -> _Work | str | None:
    """What the event says by itself: a group of the merge queue, or why there is nothing to do; None for the rest."""
    run, pull = context.workflow_run, context.pull
    queue = QUEUED.fullmatch(f"refs/heads/{run.head_branch}") if run else None
    if run and queue and alone:  # whatever became of the run, so that the queue never waits
        group = Pull(QUEUE, run.head_sha, queue["base"], queue["sha"], run.head_repository, from_fork=False)
        return _Work(context, [group], {QUEUE: _OWN}, Told())
    if run and not (run.event == "pull_request" and (alone or run.from_fork)):
        return "the workflow was not one of a fork's pull request"
    own = pull and not pull.from_fork and (alone or not context.read_only)  # read-only: of Dependabot
    if own and not (alone and context.action in ("labeled", "unlabeled")):
        return "the pull request is one of this repository, and its own workflow decides when it is judged"
    return None


def _recorded(client: Client, context: Context, head: Pull, known: set[int], *, alone: bool) -> list[Mapping[str, Any]]:
    """The runs of the gate's workflow for a commit, the newest last; known are some that it was reported on.

    One that was skipped, as by the label, has recorded nothing.
    """
    path, run = f"/repos/{context.repository}/actions/runs", context.workflow_run
    listed = list(client.pages(path, {"head_sha": head.head_sha, "event": "pull_request"}, under="workflow_runs"))
    if run and all(each["id"] != run.id for each in listed):  # a list may lag behind
        listed.append(client.get(f"{path}/{run.id}"))
    names = {each["name"] for each in listed if each["id"] in known or (run and each["id"] == run.id)}
    ours = [
        each
        for each in listed
        if each["name"] in names
        and (each["head_sha"], each["event"]) == (head.head_sha, "pull_request")
        and each["conclusion"] != "skipped"
        and (each["head_repository"] or {}).get("id") == head.head_repository
        and (alone or head.from_fork or (each["actor"] or {}).get("login") == DEPENDABOT)
    ]
    return sorted(ours, key=lambda each: (each["id"], each["run_attempt"]))


def _refused(client: Client, context: Context, pull: Pull, first: str | None, unreported: Sequence[str]) -> str | None:
    """Why a pull request's label does not accept the newest run, empty where it has none; None where it does.

    `first` is when the first report on that run was completed, None where there is none yet. `unreported` is when newer
    runs began: the label itself may have set one off, which records nothing.
    """
    there = client.pages(f"/repos/{context.repository}/issues/{pull.number}/labels")
    if all(item["name"] != ACCEPT_LABEL for item in there):
        return ""
    events = label_events(client, context.repository, pull.number)
    label = worth(client, context.repository, events, ACCEPT_LABEL, [first] if first else [], unreported)
    return None if label.standing == "counts" else REFUSED[label.standing]


def _judged(
    client: Client, work: _Work, settings: Settings, at_base: BaseCheckout, artifact: str
) -> Iterator[tuple[Pull, Report]]:
    """Each pull request with the report by its own base; those of a writer as they ask themselves, too."""
    context, problems, run, gold = work.context, list[Problem](), b"", b""
    try:
        data = download_artifact(client, context.repository, context.run_id, artifact)
        run, gold = read_member(data, MEMBER), read_member(data, GOLD, optional=True)
    except RankgateError as error:
        problems += error.problems
    except ForgeError as error:
        problems.append(Problem(str(error)))
    queue = QUEUED.fullmatch(f"refs/heads/{context.workflow_run.head_branch}") if context.workflow_run else None
    for pull in work.pulls:
        try:
            based = at_base.at_tip(pull) if pull.number != QUEUE else pull
            if problems:
                yield based, at_base.not_judged(problems)
            elif work.counts.get(pull.number) == _OWN:
                number = queue and int(queue["number"])
                labelled = pull_of(client, context.repository, number) if number else pull
                labels = labels_now(client, context, settings, labelled)
                yield based, at_base.judge(based, run, labels=labels, gold=gold or None)
            else:
                yield based, at_base.judge(based, run, accepted=pull.number in work.counts)
        except RankgateError as error:
            yield pull, at_base.not_judged(error.problems)
