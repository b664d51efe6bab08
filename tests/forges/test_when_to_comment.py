"""When a pull request gets its first comment, and that one which is there never shows an old verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import patient
from tests.forges.test_fork import ReportingJob, Verdicts, job  # noqa: F401 -- a fixture
from tests.scenario_calls import report_of

from rankgate.forges.comments import Mark
from rankgate.forges.publish import Published, Settings, When, publish
from rankgate.forges.pulls import pull_of
from rankgate.forges.runner import Context, JudgingRun
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict


class Story:
    """Runs on one pull request, each with a verdict."""

    def __init__(self, github: GitHub) -> None:
        self.github, self.pull, self.run = github, github.new_pull(), 0

    def told(self, verdict: str, settings: Settings) -> Published:
        self.run += 1
        client = patient(self.github.url, self.github.token)
        pull = pull_of(client, self.github.repository, self.pull.number)
        context = Context(
            event="pull_request",
            api_url=self.github.url,
            server_url="https://github.com",
            repository=self.github.repository,
            sha=pull.head_sha,
            base=pull.base_sha,
            pull=pull,
            run=JudgingRun(id=self.run, attempt=1, job="gate"),
        )
        return publish(client, context, decode_report(report_of(verdict), verdict), settings)

    def comments(self, pull: PullRequest | None = None) -> list[str]:
        """The verdict that each comment shows."""
        words = {"✅": "pass", "⚠️": "warn", "❌": "fail", "❔": "not_judged"}
        bodies = [each.body for each in self.github.comments((pull or self.pull).number)]
        return [next(word for sign, word in words.items() if f"**{sign}" in body) for body in bodies]

    def goes(self, verdicts: Sequence[str], settings: Settings) -> list[str]:
        """What the comment showed after each run, `-` where there was none."""
        shown = []
        for verdict in verdicts:
            assert self.told(verdict, settings).troubles == []
            shown.append(" ".join(self.comments()) or "-")
        return shown


@pytest.fixture
def story(github: GitHub) -> Story:
    return Story(github)


@pytest.mark.parametrize("verdict", ["pass", "warn", "fail", "not_judged"])
@pytest.mark.parametrize(
    ("when", "needs"),
    [
        pytest.param("always", {"pass", "warn", "fail", "not_judged"}, id="always"),
        pytest.param("changed", {"warn", "fail", "not_judged"}, id="changed"),
        pytest.param("failing", {"fail", "not_judged"}, id="failing"),
        pytest.param("never", set(), id="never"),
    ],
)
def test_the_first_comment(story: Story, when: When, needs: set[str], verdict: str) -> None:
    """The check is not touched by it."""
    assert story.goes([verdict], Settings(comment=when)) == [verdict if verdict in needs else "-"]
    (check,) = story.github.check_runs(story.pull.head_sha)
    assert check["conclusion"] == ("success" if verdict in ("pass", "warn") else "failure")


@pytest.mark.parametrize("when", ["changed", "failing"])
def test_green_then_red_then_green(story: Story, when: When) -> None:
    """An old red comment never stands beside a green check, nor the reasons of an earlier commit beside a red one."""
    settings = Settings(comment=when)
    assert story.goes(["pass", "fail", "fail", "pass", "warn", "fail"], settings) == [
        *("-", "fail", "fail", "pass", "warn", "fail")
    ]
    (comment,) = story.github.comments(story.pull.number)
    assert "run=6 " in comment.body, "the newest run wrote it, so that no older one sets it back"


def test_what_was_not_posted_is_said(story: Story) -> None:
    told = story.told("pass", Settings(comment="failing"))
    line = f"no comment on pull request {story.pull.number}: it has none yet, and this verdict asks for none"
    assert told.done == [line, "check rankgate/verdict: success"]


def test_where_a_warning_fails_the_step_it_is_commented_on(story: Story) -> None:
    assert story.goes(["warn"], Settings(comment="failing", fail_on="warn")) == ["warn"]


@pytest.mark.parametrize("when", ["changed", "failing"])
def test_a_fresh_comment_notifies_on_every_turn_to_red(story: Story, when: When) -> None:
    settings, posts = Settings(comment=when, fresh=True), r"/issues/\d+/comments$"
    assert story.goes(["pass", "fail", "pass", "fail", "fail"], settings) == ["-", "fail", "pass", "fail", "fail"]
    assert len(story.github.asked("POST", posts)) == 2


def test_a_comment_that_somebody_deleted_comes_back_with_the_next_red_only(story: Story) -> None:
    settings = Settings(comment="failing")
    story.goes(["fail"], settings)
    (comment,) = story.github.comments(story.pull.number)
    story.github.do("DELETE", f"/issues/comments/{comment.id}", by=story.github.token)
    assert story.goes(["pass", "fail"], settings) == ["-", "fail"]


def test_somebody_elses_comment_with_our_marker_is_none_of_ours(story: Story) -> None:
    mark = Mark(gate="default", sha=story.pull.head_sha, run=1, attempt=1, verdict=Verdict.FAIL)
    forged = f"{mark.line()}\n**❌ FAIL. Mine.**"
    story.github.comment(story.pull.number, forged, by="mallory")
    assert story.goes(["pass"], Settings(comment="failing")) == ["fail"], "nothing is posted, and theirs stays"
    assert story.goes(["fail"], Settings(comment="failing")) == ["fail fail"]
    assert story.github.comments(story.pull.number)[0].body == forged


def test_two_gates_have_each_their_own(story: Story) -> None:
    search, chat = (Settings(gate=gate, comment="failing") for gate in ("search", "chat"))
    assert story.goes(["fail"], search) == ["fail"]
    assert story.goes(["pass"], chat) == ["fail"]
    assert story.goes(["pass"], search) == ["pass"]


@pytest.mark.parametrize(
    ("when", "trusted", "shown"),
    [
        pytest.param("failing", False, ["pass"], id="a pass that waits for the label is no success"),
        pytest.param("changed", False, ["pass"], id="nor for changed"),
        pytest.param("failing", True, [], id="one that counts"),
        pytest.param("always", True, ["pass"], id="always"),
    ],
)
def test_a_forks_pass(
    job: ReportingJob,  # noqa: F811 -- the fixture
    story: Story,
    when: When,
    trusted: bool,  # noqa: FBT001 -- a table's column
    shown: list[str],
) -> None:
    """Somebody has to act where the check is `action_required`, and is told so."""
    pull = job.recorded()
    job.runs(pull, {})
    verdicts = Verdicts({pull.base_sha: "pass"}, trusting=(pull.base_sha,) if trusted else ())
    job.does(job.context("workflow_run", pull), verdicts, Settings(comment=when), job.github.token)
    assert story.comments(pull) == shown
    assert job.concluded(pull) == ["success" if trusted else "action_required"]


def test_a_forks_red_comment_turns_green_once_it_is_accepted(job: ReportingJob, story: Story) -> None:  # noqa: F811
    pull, settings = job.recorded(), Settings(comment="failing")
    job.runs(pull, {})
    job.does(job.context("workflow_run", pull), Verdicts({pull.base_sha: "fail"}), settings, job.github.token)
    assert story.comments(pull) == ["fail"]
    job.runs(pull, {"run_attempt": 2})
    again = job.context("workflow_run", pull)
    assert again.workflow_run is not None
    verdicts = Verdicts({pull.base_sha: "pass"}, trusting=(pull.base_sha,))
    job.does(replace(again, run=replace(again.run, attempt=2)), verdicts, settings, job.github.token)
    assert story.comments(pull) == ["pass"]
