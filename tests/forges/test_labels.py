"""The label by which a pull request's own files judge alone, for one commit, through the action's steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.forges.events import environment
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import patient
from tests.forges.test_fork import plays_permission
from tests.forges.test_rehearsal import Team
from tests.forges.test_rehearsal import team as team  # noqa: PLC0414 -- a fixture

from rankgate.forges.base_checkout import Subject
from rankgate.forges.checks import CHECK, Record, base_key
from rankgate.forges.publish import Settings
from rankgate.forges.pull_labels import labels_now
from rankgate.forges.runner import context_of
from rankgate.model.base_ref import ACCEPT_CHANGE, ACCEPT_RANKINGS, SetLabel

LABEL = ACCEPT_CHANGE
WAIVER = """\
waivers:
  - {gate: retrieval_recall_at_5, up_to: 1, expires: 2099-12-31, issue: "https://e.example/1", reason: x, by: bob}
"""
NOON = "2026-01-31T12:00:00Z"
JOB = "rankgate.yml/gate/0"
LATE = "2099-01-31T12:00:00Z"  # after all that happens in a test


def labeled(by: str, name: str = LABEL, at: str = LATE, event: str = "labeled") -> dict[str, Any]:
    """As GitHub lists what became of a pull request."""
    return {"event": event, "actor": {"login": by}, "label": {"name": name}, "created_at": at}


def plays_events(github: GitHub, pull: PullRequest, *events: dict[str, Any]) -> None:
    """What GitHub lists of a pull request."""
    github.timelines[pull.number] = [{"id": number, **each} for number, each in enumerate(events)]


@pytest.fixture
def pull(team: Team) -> PullRequest:
    """A pull request that loses questions, and waives that itself."""
    team.git("checkout", "-qb", "change")
    Path(team.clone / "ship-waivers.yaml").write_text(WAIVER)
    team.push("change", "Another chunker")
    team.retrieve("fail")
    return team.github.open_pull("change")


def test_red_then_a_strangers_label_then_a_writers_then_a_push(team: Team, pull: PullRequest, github: GitHub) -> None:
    """Red; still red, and said why; green with a comment that says who; red again for the next commit."""
    github = team.github
    assert team.job("pull_request", pull).code == 1
    [comment] = github.comments(pull.number)
    assert "would let through: 1 waiver" in comment.body

    github.label(pull.number, ACCEPT_RANKINGS)
    github.label(pull.number, LABEL)
    plays_events(github, pull, labeled("mallory"), labeled("carol", ACCEPT_RANKINGS))
    plays_permission(github, "mallory", "read")
    plays_permission(github, "carol", "write")
    refused = team.job("pull_request", pull, label=LABEL, sender="mallory")
    assert (refused.code, team.conclusions(pull.head_sha)[-1]) == (1, "failure")
    [comment] = github.comments(pull.number)
    assert f"`{LABEL}` changes nothing: it was set by a bot, or by somebody who may not write" in comment.body
    assert f"`{ACCEPT_RANKINGS}` changes nothing: on this pull request that is `{LABEL}`" in comment.body
    assert github.merge(pull.number) == 422

    plays_events(github, pull, labeled("mallory"), labeled("mallory", event="unlabeled"), labeled("carol"))
    plays_permission(github, "carol", "write")
    waived = team.job("pull_request", pull, label=LABEL, sender="carol")
    assert (waived.code, waived.outputs["verdict"]) == (0, "warn"), waived.log
    assert team.conclusions(pull.head_sha)[-1] == "success"
    [same] = github.comments(pull.number)
    assert same.id == comment.id
    assert "`carol` lets it judge alone" in same.body
    assert "⚠️ waived" in same.body
    assert team.job("pull_request", pull).code == 0, "the label stands, and nothing is judged but what it accepted"

    team.retrieve("warn")
    other = team.job("pull_request", pull)
    assert "what is judged now is not what was reported before it was set" in other.log

    team.retrieve("fail")
    team.push("change", "And another")
    moved = github.pull(pull.number)
    pushed = team.job("pull_request", moved)
    assert (pushed.code, pushed.outputs["verdict"]) == (1, "fail")
    assert team.conclusions(moved.head_sha)[-1] == "failure"
    assert "it was set less than a minute after the first report on this head, or before" in pushed.log
    assert github.merge(pull.number) == 422


def test_another_label_is_not_spoken_of(team: Team, pull: PullRequest, github: GitHub) -> None:
    team.github.label(pull.number, "bug")
    other = team.job("pull_request", pull, label="bug", sender="alice")
    assert other.code == 1
    assert "changes nothing" not in other.summary


# What stands on a pull request, as GitHub says now.

MORNING = "2026-01-31T09:00:00Z"
WRITER = labeled("carol", at=NOON)
STRANGER = labeled("mallory", at=NOON)
SUBJECT = Subject("gate.run")


def reports(github: GitHub, pull: PullRequest, at: str = MORNING, number: int | None = None, job: str = JOB) -> None:
    """A job's report on the head of a pull request was completed."""
    about = Record(
        run=6,
        attempt=1,
        pull=number or pull.number,
        base=base_key("main"),
        job=job,
        result="failure",
        judged=SUBJECT.text,
    )
    check = {"name": CHECK, "head_sha": pull.head_sha, "external_id": about.text(), "status": "completed"}
    made = github.do("POST", "/check-runs", {**check, "conclusion": "failure"}, by=github.token)
    github.do("PATCH", f"/check-runs/{made['id']}", {"completed_at": at}, by=github.token)


FORCED = {"event": "head_ref_force_pushed", "actor": {"login": "mallory"}, "created_at": "2026-01-31T10:00:00Z"}


@pytest.mark.parametrize(
    ("events", "state"),
    [
        pytest.param([WRITER], "counts", id="a writer"),
        pytest.param([WRITER, STRANGER], "outsider", id="set again by a stranger"),
        pytest.param([STRANGER, WRITER], "counts", id="set again by a writer"),
        pytest.param([WRITER, labeled("github-actions[bot]", at=NOON)], "outsider", id="set again by a bot"),
        pytest.param([labeled("Codertocat", at=NOON)], "own", id="by the author"),
        pytest.param([labeled("carol", "bug", NOON)], "unknown", id="nobody knows who"),
        pytest.param([{**WRITER, "actor": None}], "unknown", id="whoever it was is gone"),
        pytest.param([FORCED, WRITER], "unreported", id="the head was brought back after its report"),
        pytest.param(None, "unknown", id="GitHub does not say who"),
    ],
)
def test_who_set_a_label_and_whether_its_head_stayed(
    github: GitHub, tmp_path: Path, events: list[dict[str, Any]] | None, state: str
) -> None:
    pull = github.new_pull()
    github.label(pull.number, LABEL)
    github.label(pull.number, "bug")
    for login, permission in (("carol", "write"), ("mallory", "triage"), ("Codertocat", "admin")):
        plays_permission(github, login, permission)
    reports(github, pull)
    if events is None:
        github.play("GET", f"/issues/{pull.number}/timeline", 403, json={"message": "Resource not accessible"})
    else:
        plays_events(github, pull, *events)
    assert [(each.name, each.state) for each in labels_of(github, tmp_path, pull)] == [(LABEL, state)]


@pytest.mark.parametrize(
    "about",
    [
        pytest.param({"number": 999}, id="of another one"),
        pytest.param({"job": "tests.yml/gate/0"}, id="of another job"),
    ],
)
def test_reports_of_something_else_are_none(github: GitHub, tmp_path: Path, about: dict[str, Any]) -> None:
    pull = github.new_pull()
    github.label(pull.number, LABEL)
    plays_permission(github, "carol", "write")
    plays_events(github, pull, WRITER)
    reports(github, pull, **about)
    assert [each.state for each in labels_of(github, tmp_path, pull)] == ["unreported"]


def labels_of(github: GitHub, place: Path, pull: PullRequest) -> list[SetLabel]:
    context = context_of(environment(place, github, "pull_request", pull=pull))
    assert context.pull is not None
    return labels_now(patient(github.url, github.token), context, Settings(), context.pull, SUBJECT)


def test_without_labels_nothing_else_is_asked(github: GitHub, tmp_path: Path) -> None:
    pull = github.new_pull()
    assert labels_of(github, tmp_path, pull) == []
    assert [each.path.partition("?")[0].rpartition("/")[2] for each in github.log] == ["labels"]


def test_labels_that_cannot_be_listed_count_for_nothing(github: GitHub, tmp_path: Path) -> None:
    pull = github.new_pull()
    github.play("GET", f"/issues/{pull.number}/labels", 403, json={"message": "Resource not accessible"})
    assert labels_of(github, tmp_path, pull) == []


def test_a_forks_labels_are_not_looked_at(team: Team, github: GitHub) -> None:
    """Its own job cannot write, and posts nothing; the reporting job judges by the base alone."""
    pull = team.github.fork_pull()
    team.retrieve("pass")
    read_only = team.github.token_with({"contents": "read", "metadata": "read"})
    assert team.job("pull_request", pull, token=read_only).code == 0
    assert github.asked("GET", "/labels") == []


def test_a_label_of_the_pull_request_counts_in_the_merge_queue(team: Team, pull: PullRequest, github: GitHub) -> None:
    """The queue's branch names the pull request; of any other branch none counts."""
    team.job("pull_request", pull)
    team.github.label(pull.number, LABEL)
    plays_events(github, pull, labeled("carol"))
    plays_permission(github, "carol", "write")
    team.git("checkout", "-q", "--detach", pull.head_sha)
    for branch, code in ((f"pr-{pull.number}-{pull.base_sha}", 0), ("elsewhere", 1)):
        ref = f"refs/heads/gh-readonly-queue/main/{branch}"
        ended = team.job("merge_group", pull, variables={"GITHUB_REF": ref})
        assert ended.code == code, ended.log
