"""The label by which a pull request's own files judge alone, for one commit, through the action's steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.forges.emulator import Emulator, PullRequest
from tests.forges.events import environment
from tests.forges.proxy import Proxy
from tests.forges.scripted import patient
from tests.forges.test_fork import plays_permission
from tests.forges.test_rehearsal import Team
from tests.forges.test_rehearsal import team as team  # noqa: PLC0414 -- a fixture

from rankgate.forges.checks import CHECK
from rankgate.forges.context import context_of
from rankgate.forges.publish import Settings
from rankgate.forges.pull_labels import labels_now
from rankgate.forges.standing import Record, base_key
from rankgate.model.waiver_use import ACCEPT_CHANGE, SetLabel

LABEL = ACCEPT_CHANGE
WAIVER = """\
waivers:
  - {gate: retrieval_recall_at_5, up_to: 1, expires: 2099-12-31, issue: "https://e.example/1", reason: x, by: bob}
"""
NOON = "2026-01-31T12:00:00Z"
LATE = "2099-01-31T12:00:00Z"  # after all that happens in a test


def labeled(by: str, name: str = LABEL, at: str = LATE, event: str = "labeled") -> dict[str, Any]:
    """As GitHub lists what became of a pull request."""
    return {"event": event, "actor": {"login": by}, "label": {"name": name}, "created_at": at}


def plays_events(proxy: Proxy, pull: PullRequest, *events: dict[str, Any]) -> None:
    """The emulator lists no events of pull requests."""
    numbered = [{"id": number, **each} for number, each in enumerate(events)]
    proxy.play("GET", f"/issues/{pull.number}/timeline", json=numbered)


def plays_push(proxy: Proxy, head: str, at: str) -> None:
    """The branch's last push."""
    proxy.play("GET", "/activity", json=[{"before": "0" * 40, "after": head, "timestamp": at, "activity_type": "push"}])


@pytest.fixture
def pull(team: Team) -> PullRequest:
    """A pull request that loses questions, and waives that itself."""
    team.git("checkout", "-qb", "change")
    Path(team.clone / "ship-waivers.yaml").write_text(WAIVER)
    team.push("change", "Another chunker")
    team.retrieve("fail")
    return team.github.open_pull("change")


def test_red_then_a_strangers_label_then_a_writers_then_a_push(team: Team, pull: PullRequest, proxy: Proxy) -> None:
    """Red; still red, and said why; green with a comment that says who waived; red again for the next commit."""
    github = team.github
    assert team.job("pull_request", pull).code == 1
    assert team.conclusions(pull.head_sha)[-1] == "failure"

    github.label(pull.number, LABEL)
    plays_events(proxy, pull, labeled("mallory"))
    plays_permission(proxy, "mallory", "read")
    refused = team.job("pull_request", pull, label=LABEL, sender="mallory")
    assert refused.code == 1
    assert team.conclusions(pull.head_sha)[-1] == "failure"
    [comment] = github.comments(pull.number)
    assert "judge alone changes nothing: it was set by somebody who may not write" in comment.body
    assert github.merge(pull.number) == 422

    plays_events(proxy, pull, labeled("mallory"), labeled("mallory", event="unlabeled"), labeled("alice"))
    plays_permission(proxy, "alice", "write")
    waived = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert (waived.code, waived.outputs["verdict"]) == (0, "warn"), waived.log
    assert team.conclusions(pull.head_sha)[-1] == "success"
    [same] = github.comments(pull.number)
    assert same.id == comment.id
    assert "`alice` lets it judge alone" in same.body
    assert "⚠️&nbsp;waived" in same.body

    plays_push(proxy, pull.head_sha, "2000-01-31T11:00:00Z")
    again = team.job("pull_request", pull)
    assert again.code == 0, "the label still stands, and nobody has pushed since"

    team.push("change", "And another")
    moved = github.pull(pull.number)
    plays_push(proxy, moved.head_sha, "2099-01-31T13:00:00Z")
    pushed = team.job("pull_request", moved)
    assert (pushed.code, pushed.outputs["verdict"]) == (1, "fail")
    assert team.conclusions(moved.head_sha)[-1] == "failure"
    assert github.merge(pull.number) == 422

    plays_permission(proxy, "alice", "write")
    late = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert late.code == 1, "the label was set on another commit"
    assert "it was set before the newest run of this commit was reported" in late.log


def test_a_label_that_was_taken_off_before_the_job_ran_again_counts_no_longer(
    team: Team, pull: PullRequest, proxy: Proxy
) -> None:
    plays_permission(proxy, "alice", "write")
    again = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert (again.code, again.outputs["verdict"]) == (1, "fail")


def test_where_nobody_can_tell_who_may_write_the_label_counts_for_nothing(
    team: Team, pull: PullRequest, proxy: Proxy
) -> None:
    team.github.label(pull.number, LABEL)
    plays_events(proxy, pull, labeled("alice"))
    proxy.play("GET", "/collaborators/alice/permission", 403, json={"message": "Resource not accessible"})
    unknown = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert unknown.code == 1
    assert "GitHub did not say" in unknown.log


def test_another_label_is_not_spoken_of(team: Team, pull: PullRequest, proxy: Proxy) -> None:
    team.github.label(pull.number, "bug")
    plays_permission(proxy, "alice", "write")
    other = team.job("pull_request", pull, label="bug", sender="alice")
    assert other.code == 1
    assert "The label" not in other.summary


def test_a_label_accepts_the_gold_set_of_one_commit(team: Team, proxy: Proxy) -> None:
    """Today's first results become the right ones: red; a maintainer accepts that; the next commit is red again."""
    github = team.github
    team.git("checkout", "-qb", "change")
    team.retrieve("fail")
    found = [json.loads(line) for line in (team.clone / "run.jsonl").read_text().splitlines()]
    gold = yaml.safe_load((team.clone / "gold.yaml").read_text())
    first = {each["query_id"]: each["topk"][0]["chunk_id"] for each in found if each["topk"]}
    for sample in gold["samples"]:
        if sample["expected_output"] and sample["id"] in first:
            sample["expected_output"] = [first[sample["id"]]]
    (team.clone / "gold.yaml").write_text(yaml.safe_dump(gold))
    team.push("change", "Labels that fit the new search")
    pull = github.open_pull("change")
    red = team.job("pull_request", pull)
    assert (red.code, red.outputs["verdict"]) == (1, "fail"), red.log

    github.label(pull.number, ACCEPT_CHANGE)
    plays_events(proxy, pull, labeled("alice", ACCEPT_CHANGE))
    plays_permission(proxy, "alice", "write")
    accepted = team.job("pull_request", pull, label=ACCEPT_CHANGE, sender="alice")
    assert (accepted.code, accepted.outputs["verdict"]) == (0, "warn"), accepted.log
    assert "lets it judge alone, without the base's files" in accepted.summary
    assert team.conclusions(pull.head_sha)[-1] == "success"

    team.push("change", "And another")
    moved = github.pull(pull.number)
    plays_push(proxy, moved.head_sha, "2099-01-31T13:00:00Z")
    pushed = team.job("pull_request", moved)
    assert (pushed.code, team.conclusions(moved.head_sha)[-1]) == (1, "failure")
    assert "judge alone changes nothing: it was set before the newest run" in pushed.summary


# What a label that stands is worth, from what GitHub says now.

MORNING, BEFORE, AFTER = "2026-01-31T09:00:00Z", "2026-01-31T11:59:59Z", "2026-01-31T12:00:01Z"
WRITER = labeled("alice", at=NOON)
STRANGER = labeled("mallory", at=NOON)


def happened(event: str, at: str = AFTER) -> dict[str, Any]:
    return {"event": event, "actor": {"login": "mallory"}, "created_at": at}


def reports(github: Emulator, pull: PullRequest, at: str, base: str = "main", number: int | None = None) -> None:
    """A job's first report on the head of a pull request was completed."""
    record = Record(
        run=6, attempt=1, pull=number or pull.number, base=base_key(base), job="rankgate.yml/gate/0", own="failure"
    )
    check = {"name": CHECK, "head_sha": pull.head_sha, "external_id": record.text(), "status": "completed"}
    made = github.do("POST", "/check-runs", {**check, "conclusion": "failure"}, by=github.token)
    github.do("PATCH", f"/check-runs/{made['id']}", {"completed_at": at}, by=github.token)


@pytest.mark.parametrize(
    ("reported", "events", "push", "standing"),
    [
        pytest.param([MORNING], [WRITER], None, "counts", id="reported before, where GitHub lists no pushes"),
        pytest.param([MORNING], [WRITER], "2026-01-31T08:00:00Z", "counts", id="pushed, reported, set"),
        pytest.param([MORNING, AFTER], [WRITER], None, "counts", id="reported once more since"),
        pytest.param([], [WRITER], None, "unreported", id="not reported yet"),
        pytest.param([NOON], [WRITER], None, "unreported", id="reported within the same second"),
        pytest.param([AFTER], [WRITER], None, "unreported", id="reported since, as after a push just before"),
        pytest.param([MORNING], [WRITER], AFTER, "unreported", id="pushed since, to what was reported long ago"),
        pytest.param([MORNING], [WRITER], BEFORE, "unreported", id="the same a second before"),
        pytest.param([MORNING], [WRITER], "elsewhere", "unreported", id="the last push is of another commit"),
        pytest.param([MORNING], [WRITER], "none", "unreported", id="no push is known"),
        pytest.param(
            [MORNING],
            [happened("head_ref_force_pushed", BEFORE), WRITER],
            None,
            "unreported",
            id="an old head was brought back, where GitHub lists no pushes",
        ),
        pytest.param([MORNING], [WRITER, happened("head_ref_force_pushed")], None, "head moved", id="forced since"),
        pytest.param([MORNING], [WRITER, happened("base_ref_changed")], None, "head moved", id="another base since"),
        pytest.param(
            [MORNING], [WRITER, happened("automatic_base_change_succeeded")], None, "head moved", id="… by GitHub"
        ),
        pytest.param([MORNING], [WRITER, happened("reopened")], None, "head moved", id="reopened since"),
        pytest.param([MORNING], [happened("base_ref_changed", BEFORE), WRITER], None, "counts", id="… before"),
        pytest.param([MORNING], [WRITER, STRANGER], None, "outsider", id="set again by a stranger"),
        pytest.param([MORNING], [STRANGER, WRITER], None, "counts", id="set again by a writer"),
        pytest.param([MORNING], [labeled("alice", "bug", NOON)], None, "unknown", id="nobody knows who"),
        pytest.param([MORNING], [{**WRITER, "actor": None}], None, "unknown", id="whoever it was is gone"),
        pytest.param([MORNING], ["refused"], None, "unknown", id="GitHub does not say who"),
    ],
)
def test_what_a_label_is_worth(
    github: Emulator,
    proxy: Proxy,
    tmp_path: Path,
    reported: list[str],
    events: list[Any],
    push: str | None,
    standing: str,
) -> None:
    pull = github.new_pull()
    github.label(pull.number, LABEL)
    plays_permission(proxy, "alice", "write")
    plays_permission(proxy, "mallory", "triage")
    for at in reported:
        reports(github, pull, at)
    if events == ["refused"]:
        proxy.play("GET", f"/issues/{pull.number}/timeline", 403, json={"message": "Resource not accessible"})
    else:
        plays_events(proxy, pull, *events)
    if push == "none":
        proxy.play("GET", "/activity", json=[])
    elif push:
        plays_push(proxy, "e" * 40 if push == "elsewhere" else pull.head_sha, MORNING if push == "elsewhere" else push)
    found = {each.name: each.standing for each in labels_of(proxy, tmp_path, pull, label=LABEL)}
    assert found[LABEL] == standing


@pytest.mark.parametrize("name", [LABEL, "dependencies"], ids=["that label", "another one"])
def test_a_label_that_a_bot_set_counts_for_nothing_and_stands_in_no_others_way(
    github: Emulator, proxy: Proxy, tmp_path: Path, name: str
) -> None:
    """Any workflow of the repository may set one as GitHub's own."""
    pull = github.new_pull()
    for each in {LABEL, name}:
        github.label(pull.number, each)
    plays_permission(proxy, "alice", "write")
    plays_events(proxy, pull, WRITER, labeled("github-actions[bot]", name, NOON))
    reports(github, pull, MORNING)
    found = {each.name: each.standing for each in labels_of(proxy, tmp_path, pull)}
    assert found == ({LABEL: "counts"} if name != LABEL else {}) | {name: "outsider"}


@pytest.mark.parametrize(
    "about",
    [pytest.param({"base": "release"}, id="of another base"), pytest.param({"number": 999}, id="of another one")],
)
def test_reports_of_something_else_are_none(
    github: Emulator, proxy: Proxy, tmp_path: Path, about: dict[str, Any]
) -> None:
    pull = github.new_pull()
    github.label(pull.number, LABEL)
    plays_permission(proxy, "alice", "write")
    plays_events(proxy, pull, WRITER)
    reports(github, pull, MORNING, **about)
    assert [each.standing for each in labels_of(proxy, tmp_path, pull)] == ["unreported"]


def labels_of(
    proxy: Proxy, place: Path, pull: PullRequest, event: str = "pull_request", **about: Any
) -> list[SetLabel]:
    context = context_of(environment(place, proxy, event, pull=pull, **about))
    assert context.pull is not None
    return labels_now(patient(proxy.url, proxy.emulator.token), context, Settings(), context.pull)


def test_a_label_of_an_earlier_head_does_not_count_when_its_job_is_run_again(
    github: Emulator, proxy: Proxy, tmp_path: Path
) -> None:
    pull = github.new_pull()
    github.label(pull.number, LABEL)
    plays_events(proxy, pull, WRITER)
    plays_permission(proxy, "alice", "write")
    reports(github, pull, MORNING)
    github.push("change", "more.txt", "more")
    [found] = labels_of(proxy, tmp_path, pull, label=LABEL)
    assert found.standing == "unreported"


def test_without_labels_nothing_else_is_asked(github: Emulator, proxy: Proxy, tmp_path: Path) -> None:
    pull = github.new_pull()
    assert labels_of(proxy, tmp_path, pull) == []
    assert [each.path.partition("?")[0].rpartition("/")[2] for each in proxy.log] == ["labels"]


def test_labels_that_cannot_be_listed_count_for_nothing(github: Emulator, proxy: Proxy, tmp_path: Path) -> None:
    pull = github.new_pull()
    proxy.play("GET", f"/issues/{pull.number}/labels", 403, json={"message": "Resource not accessible"})
    assert labels_of(proxy, tmp_path, pull, label=LABEL) == []


def test_a_forks_labels_are_not_looked_at(team: Team, proxy: Proxy) -> None:
    """Its own job cannot write, and posts nothing; the reporting job judges by the base alone."""
    pull = team.github.fork_pull()
    team.retrieve("pass")
    read_only = team.github.token_with({"contents": "read", "metadata": "read"})
    assert team.job("pull_request", pull, token=read_only).code == 0
    assert proxy.asked("GET", "/labels") == []


def test_a_label_of_the_pull_request_counts_in_the_merge_queue(team: Team, pull: PullRequest, proxy: Proxy) -> None:
    """The queue's branch names the pull request; of any other branch none counts."""
    team.job("pull_request", pull)
    team.github.label(pull.number, LABEL)
    plays_events(proxy, pull, labeled("alice"))
    plays_permission(proxy, "alice", "write")
    team.git("checkout", "-q", "--detach", pull.head_sha)
    for branch, code in ((f"pr-{pull.number}-{pull.base_sha}", 0), ("elsewhere", 1)):
        ref = f"refs/heads/gh-readonly-queue/main/{branch}"
        ended = team.job("merge_group", pull, variables={"GITHUB_REF": ref})
        assert ended.code == code, ended.log
