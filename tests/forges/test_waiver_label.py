"""A label by which a maintainer waives the violations of one commit, through action.yml's own steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.forges.emulator import PullRequest
from tests.forges.proxy import Proxy
from tests.forges.test_fork import plays_permission
from tests.forges.test_rehearsal import Team
from tests.forges.test_rehearsal import runner_temp as runner_temp  # noqa: PLC0414 -- a fixture
from tests.forges.test_rehearsal import team as team  # noqa: PLC0414 -- a fixture

from rankgate.forges.checks import CHECK

LABEL = "rankgate: waive"


@pytest.fixture
def pull(team: Team) -> PullRequest:
    """A pull request that loses questions, in a repository whose criteria allow the label."""
    criteria = Path(team.clone / "ship-criteria.yaml")
    criteria.write_text(f'{criteria.read_text()}waiver_label: "{LABEL}"\n')
    team.github.ask("DELETE", f"/repos/{team.github.repository}/branches/main/protection").raise_for_status()
    team.push("main", "A label may waive")
    team.github.protect(CHECK)
    team.git("checkout", "-qb", "change")
    team.push("change", "Another chunker")
    team.retrieve("fail")
    return team.github.open_pull("change")


def test_red_then_a_strangers_label_then_a_writers_then_a_push(team: Team, pull: PullRequest, proxy: Proxy) -> None:
    """Red; still red, and said why; green with a comment that says who waived; red again for the next commit."""
    github = team.github
    assert team.job("pull_request", pull).code == 1
    assert team.conclusions(pull.head_sha)[-1] == "failure"

    github.label(pull.number, LABEL)
    plays_permission(proxy, "mallory", "read")
    refused = team.job("pull_request", pull, label=LABEL, sender="mallory")
    assert refused.code == 1
    assert team.conclusions(pull.head_sha)[-1] == "failure"
    [comment] = github.comments(pull.number)
    assert "The label that waives violations changes nothing: it was set by somebody who may not write" in comment.body
    assert github.merge(pull.number) == 422

    plays_permission(proxy, "alice", "write")
    waived = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert (waived.code, waived.outputs["verdict"]) == (0, "warn"), waived.log
    assert team.conclusions(pull.head_sha)[-1] == "success"
    [same] = github.comments(pull.number)
    assert same.id == comment.id
    assert "waived by a maintainer's label for this commit: recall@5 dropped" in same.body
    assert "(`alice`)" in same.body
    assert "⚠️&nbsp;waived" in same.body

    team.push("change", "And another")
    moved = github.pull(pull.number)
    pushed = team.job("pull_request", moved)
    assert (pushed.code, pushed.outputs["verdict"]) == (1, "fail")
    assert team.conclusions(moved.head_sha)[-1] == "failure"
    assert github.merge(pull.number) == 422

    plays_permission(proxy, "alice", "write")
    late = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert late.code == 1, "the label was set on another commit"
    assert "newer commits than it was set on" in late.log


def test_a_label_that_was_taken_off_before_the_job_ran_again_counts_no_longer(
    team: Team, pull: PullRequest, proxy: Proxy
) -> None:
    plays_permission(proxy, "alice", "write")
    again = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert again.code == 1
    assert "it has been taken off again" in again.log


def test_where_nobody_can_tell_who_may_write_the_label_counts_for_nothing(
    team: Team, pull: PullRequest, proxy: Proxy
) -> None:
    team.github.label(pull.number, LABEL)
    proxy.play("GET", "/collaborators/alice/permission", 403, json={"message": "Resource not accessible"})
    unknown = team.job("pull_request", pull, label=LABEL, sender="alice")
    assert unknown.code == 1
    assert "GitHub did not say" in unknown.log


def test_another_label_is_not_spoken_of(team: Team, pull: PullRequest, proxy: Proxy) -> None:
    team.github.label(pull.number, "bug")
    plays_permission(proxy, "alice", "write")
    other = team.job("pull_request", pull, label="bug", sender="alice")
    assert other.code == 1
    assert "label" not in other.summary
