"""One commit, several reports: other pull requests, older runs, a matrix, forks. None hides what another says.

Whatever happens, all our checks of the name conclude alike: right by either rule that GitHub is said to follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.forges.events import environment
from tests.forges.github import RULES, TEAM, GitHub, PullRequest
from tests.forges.scripted import patient
from tests.scenario_calls import report_of

from rankgate.forges.checks import CHECK, PUSH_CHECK, Record, base_key
from rankgate.forges.client import Client
from rankgate.forges.publish import Published, Settings, announce, conclude, publish
from rankgate.forges.runner import Context, context_of
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report

CHECK_RUNS = r"/check-runs(\?|/\d+$|$)"


def report(verdict: str) -> Report:
    return decode_report(report_of(verdict), verdict)


@dataclass
class Team:
    """A repository with criteria on main and on release, none on docs, and jobs that judge there."""

    github: GitHub
    place: Path
    client: Client

    def context(self, pull: PullRequest, event: str = "pull_request", **about: Any) -> Context:
        found = environment(self.place, self.github, event, pull=pull, **about)
        return context_of(found | {"RANKGATE_JOB_INDEX": found["STRATEGY_JOB_INDEX"]})

    def begin(self, pull: PullRequest, *, settings: Settings | None = None, **about: Any) -> Published:
        return announce(self.client, self.context(pull, **about), settings or Settings())

    def end(self, pull: PullRequest, verdict: str, *, settings: Settings | None = None, **about: Any) -> Published:
        told = publish(self.client, self.context(pull, **about), report(verdict), settings or Settings())
        assert told.troubles == []
        return told

    def job(self, pull: PullRequest, verdict: str, **about: Any) -> None:
        """A job from its beginning to its end."""
        self.begin(pull, **about)
        self.end(pull, verdict, **about)

    def moved(self, pull: PullRequest) -> None:
        """The job of the default branch that another base starts."""
        context = self.context(pull, "pull_request_target", action="edited", run=900)
        conclude(self.client, context, report("not_judged"), Settings())

    def close(self, pull: PullRequest, event: str = "pull_request_target") -> None:
        """A pull request is closed, and the job that GitHub starts for that."""
        self.github.close(pull.number)
        context = self.context(pull, event, action="closed", run=900)
        conclude(self.client, context, report("not_judged"), Settings())

    def says(self, pull: PullRequest) -> str | None:
        """What all checks of the commit conclude; it is an error where they do not agree."""
        runs = [run for run in self.github.check_runs(pull.head_sha) if run["name"] == CHECK]
        (one,) = {run["conclusion"] for run in runs} or {None}
        assert {self.github.allows(pull.number, rule) for rule in RULES} == {one == "success"}
        conclusion: str | None = one
        return conclusion

    def titles(self, pull: PullRequest) -> list[str]:
        return [run["output"]["title"] for run in self.github.check_runs(pull.head_sha) if run["name"] == CHECK]

    def twin(self, pull: PullRequest, base: str, *, by: str = "alice") -> PullRequest:
        """A pull request of the same commit to another base, from a branch of its own."""
        head = f"twin-of-{pull.number}-for-{base}"
        self.github.branch(head, sha=pull.head_sha)
        return self.github.open_pull(head, base=base, by=by)


@pytest.fixture
def team(github: GitHub, tmp_path: Path) -> Team:
    github.branch("docs")
    github.push("main", "ship-criteria.yaml", "gates: []")
    github.branch("release")
    return Team(github, tmp_path, patient(github.url, github.token))


@pytest.fixture
def pull(team: Team) -> PullRequest:
    return team.github.new_pull()


class TestAnotherPullRequestOfTheSameHead:
    """A team requires the check on main and on release alike."""

    @pytest.mark.parametrize("first", ["the one that fails", "the one that passes"])
    def test_one_that_passes_turns_no_other_green(self, team: Team, pull: PullRequest, first: str) -> None:
        easy = team.twin(pull, "release")
        jobs = [(pull, "fail", 101), (easy, "pass", 102)]
        for each, verdict, run in jobs if first == "the one that fails" else reversed(jobs):
            team.job(each, verdict, run=run)
        assert team.says(pull) == team.says(easy) == "failure"
        assert set(team.titles(pull)) >= {f"Fail: pull request #{pull.number} fails"}

    def test_its_comment_names_the_one_that_blocks(self, team: Team, pull: PullRequest) -> None:
        easy = team.twin(pull, "release")
        team.job(pull, "fail", run=101)
        team.job(easy, "pass", run=102)
        (comment,) = team.github.comments(easy.number)
        assert comment.body.splitlines()[1] == (
            f"> The check `{CHECK}` is of all reports of this commit. Fail: pull request #{pull.number} fails."
        )
        assert "✅ PASS." in comment.body

    def test_one_without_a_report_keeps_it_from_success_until_it_has_one(self, team: Team, pull: PullRequest) -> None:
        other = team.twin(pull, "release")
        team.job(pull, "pass", run=101)
        assert team.says(pull) == "action_required"
        assert team.titles(pull) == [f"Not yet: pull request #{other.number} has no report yet"]
        team.job(other, "pass", run=102)
        assert team.says(pull) == "success"
        assert team.titles(pull)[0] == "Pass: all reports of this commit"

    def test_one_whose_base_has_no_criteria_does_not_count(self, team: Team, pull: PullRequest) -> None:
        page = team.twin(pull, "docs")
        team.job(pull, "pass", run=101)
        assert team.says(pull) == "success"
        team.job(page, "fail", run=102)
        assert team.says(pull) == "success"
        team.job(pull, "fail", run=103)
        team.job(page, "pass", run=104)
        assert team.says(pull) == "failure"

    def test_the_pull_request_that_brings_the_gate_counts_by_itself(self, team: Team, pull: PullRequest) -> None:
        page = team.github.retarget(pull.number, "docs")
        team.job(page, "fail", run=101)
        assert team.says(page) == "failure"

    def test_criteria_of_another_gate_lie_elsewhere(self, team: Team, pull: PullRequest) -> None:
        team.twin(pull, "release")
        settings = Settings(criteria="search/ship criteria.yaml")
        team.github.push("release", "search/ship criteria.yaml", "gates: []")
        team.job(pull, "pass", run=101, settings=settings)
        assert team.says(pull) == "action_required", "main has none, release has: the twin counts, without a report"

    def test_criteria_that_only_the_easier_base_has_leave_the_other_pull_request_in(
        self, team: Team, pull: PullRequest
    ) -> None:
        """A job that names its criteria elsewhere does not say which bases have a gate."""
        twin = team.twin(pull, "release")
        team.github.push("release", "easy.yaml", "gates: []")
        team.job(pull, "fail", run=101)
        team.job(twin, "pass", run=102, settings=Settings(criteria="easy.yaml"))
        assert team.says(pull) == team.says(twin) == "failure"

    def test_one_that_is_opened_later_puts_it_back(self, team: Team, pull: PullRequest) -> None:
        team.job(pull, "pass", run=101)
        late = team.twin(pull, "release")
        team.begin(late, run=102)
        assert not any(team.github.allows(pull.number, rule) for rule in RULES)
        team.end(late, "fail", run=102)
        assert team.says(pull) == team.says(late) == "failure"

    def test_one_that_is_retargeted_has_no_report_until_it_is_judged_again(self, team: Team, pull: PullRequest) -> None:
        """Its green was for another base: neither an older run nor another pull request's may stand for it."""
        other = team.twin(pull, "docs")
        team.job(other, "pass", run=101)
        moved = team.github.retarget(other.number, "release")
        team.job(pull, "pass", run=102)
        assert team.says(pull) == "action_required"
        assert team.titles(pull)[-1] == f"Not yet: pull request #{other.number} has no report yet"
        team.job(other, "pass", run=101, attempt=2)
        assert team.says(pull) == "action_required", "the old run knows the old base alone"
        team.job(moved, "fail", run=103)
        assert team.says(pull) == "failure"

    def test_another_base_takes_the_success_back_whatever_the_pull_request_runs(
        self, team: Team, pull: PullRequest
    ) -> None:
        """Its own workflow may be gone in the new merge commit."""
        easy = team.github.retarget(pull.number, "docs")
        team.job(easy, "pass", run=101)
        assert team.says(easy) == "success"
        team.moved(team.github.retarget(pull.number, "release"))
        assert team.says(pull) == "action_required"
        assert team.titles(pull) == [f"Not yet: pull request #{pull.number} has no report yet"]

    def test_one_that_is_closed_holds_nobody_up(self, team: Team, pull: PullRequest) -> None:
        other = team.twin(pull, "release")
        team.job(other, "fail", run=101)
        team.job(pull, "pass", run=102)
        assert team.says(pull) == "failure"
        team.close(other)
        assert team.says(pull) == "success"

    def test_the_success_of_one_that_is_closed_is_nobodys(self, team: Team, pull: PullRequest) -> None:
        """Else a pull request to an easy base, closed again, opens the way for one to main."""
        team.job(pull, "pass", run=101)
        team.close(pull)
        assert team.says(pull) == "action_required"

    def test_all_pages_of_open_pull_requests_are_read(self, team: Team, pull: PullRequest) -> None:
        for number in range(101):
            head = f"other-{number}"
            team.github.branch(head)
            team.github.push(head, "other.txt", head)
            team.github.open_pull(head)
        other = team.twin(pull, "release")
        team.job(pull, "pass", run=101)
        assert team.titles(pull) == [f"Not yet: pull request #{other.number} has no report yet"]

    def test_a_list_that_cannot_be_read_is_no_success(self, team: Team, pull: PullRequest) -> None:
        team.github.status("GET", r"/pulls\?", 403, json={"message": "Resource not accessible by integration"}, times=9)
        team.job(pull, "pass", run=101)
        assert team.says(pull) == "action_required"
        assert "pull-requests: read" in team.titles(pull)[0]

    @pytest.mark.parametrize("path", ["/permission$", "/contents/"], ids=["who may write", "what the base has"])
    def test_where_github_does_not_say_the_other_counts(self, team: Team, pull: PullRequest, path: str) -> None:
        team.twin(pull, "docs" if "contents" in path else "release")
        team.github.status("GET", path, 403, json={"message": "Resource not accessible by integration"}, times=99)
        team.job(pull, "pass", run=101)
        assert team.says(pull) == "action_required"

    def test_a_tag_with_the_name_of_the_base_hides_no_criteria(self, team: Team, pull: PullRequest) -> None:
        """A branch is asked for by its whole name: whoever may push may also make a tag that is called like it."""
        team.twin(pull, "release")
        team.job(pull, "pass", run=101)
        asked = {each.path.partition("ref=")[2] for each in team.github.asked("GET", "/contents/")}
        assert asked == {"refs%2Fheads%2Fmain", "refs%2Fheads%2Frelease"}


class TestForksAndStrangers:
    """Neither can turn the check of a commit green that somebody else's pull request has, nor hold it up."""

    def stranger(self, team: Team, pull: PullRequest, kind: str) -> PullRequest:
        if kind == "from a branch of the repository":
            return team.twin(pull, "release", by="mallory")
        team.github.refs[team.github.fork, "same"] = pull.head_sha
        return team.github.open_pull("mallory:same", by="mallory")

    @pytest.mark.parametrize("kind", ["from a branch of the repository", "from a fork"])
    @pytest.mark.parametrize("ours", ["pass", "fail"])
    @pytest.mark.parametrize("theirs", ["pass", "fail", "cancelled"])
    def test_only_ours_decides(self, team: Team, pull: PullRequest, kind: str, ours: str, theirs: str) -> None:
        other = self.stranger(team, pull, kind)
        team.job(pull, ours, run=101)
        expected = "success" if ours == "pass" else "failure"
        assert team.says(pull) == expected
        event = "pull_request" if "branch" in kind else "pull_request_target"
        told = team.begin(other, event=event, run=102)
        assert told.done == [f"check {CHECK} is for other pull requests to decide"]
        assert team.says(pull) == expected, "nor does it go back to in progress"
        if theirs != "cancelled":
            team.end(other, theirs, event=event, run=102)
        assert team.says(pull) == expected

    def test_one_that_was_being_judged_before_ours_was_opened_is_brought_along(
        self, team: Team, pull: PullRequest
    ) -> None:
        other = self.stranger(team, pull, "from a branch of the repository")
        team.github.close(pull.number)
        team.begin(other, run=101)
        team.github.reopen(pull.number)
        team.job(pull, "pass", run=102)
        assert team.says(pull) == "success"

    def test_theirs_counts_where_there_is_no_other(self, team: Team, pull: PullRequest) -> None:
        other = self.stranger(team, pull, "from a branch of the repository")
        team.close(pull)
        team.job(other, "fail", run=102)
        assert team.says(other) == "failure"

    @pytest.mark.parametrize("app", ["dependabot[bot]", "github-actions[bot]", "Copilot"])
    def test_the_branch_of_an_app_is_the_repositorys(self, team: Team, pull: PullRequest, app: str) -> None:
        """GitHub calls none of them a collaborator. Else whoever lets one open what fails opens what passes."""
        other = self.stranger(team, pull, "from a branch of the repository")
        team.github.by(other.number, app, "Bot")
        team.job(pull, "pass", run=101)
        assert team.titles(pull) == [f"Not yet: pull request #{other.number} has no report yet"]


class TestOlderRunsAndOtherJobs:
    """Order is (run, attempt) for each pull request and job."""

    def test_an_older_run_started_again_turns_nothing_green(self, team: Team, pull: PullRequest) -> None:
        team.job(pull, "pass", run=100)
        team.job(pull, "fail", run=101)
        assert team.says(pull) == "failure"
        team.begin(pull, run=100, attempt=2)
        assert not any(team.github.allows(pull.number, rule) for rule in RULES)
        team.end(pull, "pass", run=100, attempt=2)
        assert team.says(pull) == "failure"
        assert team.titles(pull)[-1] == f"Fail: pull request #{pull.number} fails"
        (comment,) = team.github.comments(pull.number)
        assert "FAIL" in comment.body

    def test_an_older_run_that_was_never_completed_blocks_no_newer_one(self, team: Team, pull: PullRequest) -> None:
        team.begin(pull, run=100)
        team.job(pull, "pass", run=101)
        assert team.says(pull) == "success"

    @pytest.mark.parametrize("last", [0, 1])
    def test_two_jobs_of_one_run_end_with_the_worse(self, team: Team, pull: PullRequest, last: int) -> None:
        verdicts = {0: "fail", 1: "pass"}
        for index in (0, 1):
            team.begin(pull, run=101, index=index)
        for index in (1 - last, last):
            team.end(pull, verdicts[index], run=101, index=index)
        assert team.says(pull) == "failure"
        (comment,) = team.github.comments(pull.number)
        assert comment.body.splitlines()[1] == (
            "> 2 jobs judge this commit under the gate id `default`: `rankgate.yml/gate/0`, `rankgate.yml/gate/1`. "
            "The worst result counts; the input `gate-id` tells them apart."
        )

    def test_one_job_is_no_success_while_another_is_at_work(self, team: Team, pull: PullRequest) -> None:
        for index in (0, 1):
            team.begin(pull, run=101, index=index)
        team.end(pull, "pass", run=101, index=0)
        assert not any(team.github.allows(pull.number, rule) for rule in RULES)
        team.end(pull, "pass", run=101, index=1)
        assert team.says(pull) == "success"

    def test_a_later_attempt_replaces_its_own_jobs_result_and_no_others(self, team: Team, pull: PullRequest) -> None:
        for index in (0, 1):
            team.job(pull, "fail", run=101, index=index)
        team.job(pull, "pass", run=101, attempt=2, index=0)
        assert team.says(pull) == "failure"
        assert team.titles(pull)[-1] == f"Fail: pull request #{pull.number} in job rankgate.yml/gate/1 fails"
        team.job(pull, "pass", run=101, attempt=3, index=1)
        assert team.says(pull) == "success"

    def test_two_steps_of_one_job_end_with_the_worse(self, team: Team, pull: PullRequest) -> None:
        for verdict in ("fail", "pass"):
            team.job(pull, verdict, run=101)
        assert team.says(pull) == "failure"
        assert team.titles(pull)[0].startswith("Fail: recall@5 lost")

    def test_gates_of_their_own_have_checks_of_their_own(self, team: Team, pull: PullRequest) -> None:
        team.job(pull, "fail", run=101, index=1, settings=Settings(gate="search"))
        team.job(pull, "pass", run=101, index=0)
        assert team.says(pull) == "success"
        (comment,) = [each for each in team.github.comments(pull.number) if "gate=default" in each.body]
        assert "jobs judge this commit" not in comment.body

    def test_jobs_that_end_at_once_agree(self, team: Team, pull: PullRequest) -> None:
        """Another job ends between our list and our write, and the other way round."""
        for index in (0, 1):
            team.begin(pull, run=101, index=index)
        patched: list[str] = []

        def other() -> None:
            patched.append("fail")
            team.end(pull, "fail", run=101, index=1)

        team.github.meanwhile("PATCH", CHECK_RUNS, other)
        team.end(pull, "pass", run=101, index=0)
        assert patched
        assert team.says(pull) == "failure"

    def test_a_red_pull_request_becomes_green_and_red_again_for_one_commit(self, team: Team, pull: PullRequest) -> None:
        team.github.protect(CHECK)
        for run, verdict, conclusion in [(101, "fail", "failure"), (102, "pass", "success"), (103, "fail", "failure")]:
            team.job(pull, verdict, run=run)
            assert team.says(pull) == conclusion
        assert team.github.merge(pull.number) == 422
        team.job(pull, "pass", run=104)
        assert team.github.merge(pull.number) == 200


class TestWhatIsNotOurs:
    """Nobody's check run stands for a report of ours."""

    def record(self, pull: PullRequest, **changes: Any) -> str:
        values = {"run": 999, "attempt": 1, "base": base_key("main"), "job": "rankgate.yml/gate/0", "result": "success"}
        return Record(pull=pull.number, **{**values, **changes}).text()

    def post(self, team: Team, pull: PullRequest, by: str, **fields: Any) -> None:
        team.github.posted(pull.head_sha, by, **fields)

    def test_another_apps_record_counts_for_nothing(self, team: Team, pull: PullRequest) -> None:
        """With an App of the team's own the rule asks for its checks alone, and it reads no others."""
        team.client = patient(team.github.url, team.github.app_token())
        settings = Settings(login=f"{TEAM}[bot]")
        team.job(pull, "fail", run=101, settings=settings)
        self.post(team, pull, team.github.token, external_id=self.record(pull))
        team.job(pull, "fail", run=102, settings=settings)
        assert not any(team.github.allows(pull.number, rule, app=TEAM) for rule in RULES)
        forged = team.github.check_runs(pull.head_sha)[1]
        assert forged["conclusion"] == "success", "and it touches no other App's"

    @pytest.mark.parametrize("kept", ["rankgate 101/1", "{}", None], ids=["of an earlier version", "empty", "none"])
    def test_what_has_no_record_stands_for_nothing(self, team: Team, pull: PullRequest, kept: str | None) -> None:
        self.post(team, pull, team.github.token, **({} if kept is None else {"external_id": kept}))
        team.job(pull, "fail", run=101)
        assert [run["conclusion"] for run in team.github.check_runs(pull.head_sha)] == ["success", "failure"]


class TestWithoutABase:
    """`push`, `schedule` and `workflow_dispatch` are started by whoever may push, with files of his own."""

    @pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch", "create", "release"])
    def test_the_required_check_is_never_posted(self, team: Team, pull: PullRequest, event: str) -> None:
        team.job(pull, "fail", run=101)
        self.by(team, pull, event, Settings())
        assert [run["name"] for run in team.github.check_runs(pull.head_sha)] == [CHECK]
        assert team.says(pull) == "failure"

    @pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
    def test_a_check_of_another_name_is_where_it_is_wanted(self, team: Team, pull: PullRequest, event: str) -> None:
        team.job(pull, "fail", run=101)
        self.by(team, pull, event, Settings(push=True))
        self.by(team, pull, event, Settings(push=True, gate="search"))
        found = [(run["name"], run["conclusion"]) for run in team.github.check_runs(pull.head_sha)]
        assert found == [(CHECK, "failure"), (PUSH_CHECK, "success"), (f"{PUSH_CHECK}/search", "success")]
        assert team.says(pull) == "failure"

    def by(self, team: Team, pull: PullRequest, event: str, settings: Settings) -> None:
        known = environment(team.place, team.github, "push", pull=pull, run=102)
        context = context_of(known | {"GITHUB_EVENT_NAME": event})
        announce(team.client, context, settings)
        assert publish(team.client, context, report("pass"), settings).troubles == []


class TestMergeQueue:
    def test_a_pull_request_of_its_commit_neither_helps_nor_is_helped(self, team: Team, pull: PullRequest) -> None:
        team.job(pull, "fail", event="merge_group", run=101)
        team.job(pull, "pass", run=102)
        assert team.says(pull) == "failure"

    def test_a_stranger_of_its_commit_does_not_hold_it_up(self, team: Team, pull: PullRequest) -> None:
        team.github.close(pull.number)
        other = team.twin(pull, "release", by="mallory")
        team.job(pull, "pass", event="merge_group", run=101)
        team.job(other, "fail", run=102)
        assert team.says(pull) == "success"

    def test_its_token_need_not_list_pull_requests(self, team: Team, pull: PullRequest) -> None:
        team.github.close(pull.number)
        team.github.status("GET", r"/pulls\?", 403, json={"message": "Resource not accessible by integration"}, times=9)
        team.job(pull, "pass", event="merge_group", run=101)
        assert team.says(pull) == "success"
