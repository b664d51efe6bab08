"""The live rehearsal: action.yml's own steps in bash, a real repository, and GitHub's emulator behind its description.

A red pull request is blocked by the required check, is mended, turns green and is merged, with one comment throughout.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.forges.composite import Result
from tests.forges.composite import run as run_action
from tests.forges.events import environment
from tests.forges.github import RULES, GitHub, PullRequest
from tests.forges.test_fork import LATE, accepts, happened, plays_permission, plays_runs, zipped
from tests.scenario_calls import report_of

from rankgate.forges.checks import CHECK, PUSH_CHECK
from rankgate.model.base_ref import ACCEPT_CHANGE, ACCEPT_RANKINGS
from rankgate.model.report_text import decode_report

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "tests" / "scenarios"
WAIVER = """\
waivers:
  - {gate: retrieval_recall_at_5, up_to: 1, expires: 2099-12-31, issue: "https://e.example/1", reason: x, by: bob}
"""
GIT = ["git", "-c", "user.name=Alice", "-c", "user.email=alice@example.org", "-c", "commit.gpgsign=false"]


class Team:
    """A team's repository, on this machine and on the emulator, and the jobs that GitHub would start for it."""

    def __init__(self, github: GitHub, place: Path) -> None:
        self.github = github
        self.github = github
        self.clone = place / "clone"
        self.events = place / "events"
        self.runner_temp = place / "runner"
        self.runs = 0
        self.in_this_process = True
        self.events.mkdir()
        shutil.copytree(SCENARIOS / "_inputs", self.clone)
        (self.clone / ".gitignore").write_text("run.jsonl\n")
        self.git("init", "-q", "-b", "main")
        self.git("init", "-q", "--bare", str(place / "origin.git"))
        self.git("remote", "add", "origin", str(place / "origin.git"))
        self.push("main", "The gate")
        github.protect(CHECK)

    def git(self, *words: str) -> str:
        done = subprocess.run([*GIT, *words], cwd=self.clone, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def push(self, branch: str, message: str) -> None:
        self.commit(message)
        self.github.push_clone(self.clone, branch=branch)
        self.git("push", "-qf", "origin", f"HEAD:refs/heads/{branch}")

    def retrieve(self, scenario: str) -> None:
        """What the team's own retriever writes, as good or bad as that of a scenario."""
        shutil.copyfile(SCENARIOS / scenario / "run.jsonl", self.clone / "run.jsonl")

    def job(
        self,
        event: str,
        pull: PullRequest,
        inputs: dict[str, str] | None = None,
        cancelled_before: str | None = None,
        *,
        merged: bool = False,
        failing: str | None = None,
        page: str | None = None,
        event_name: str | None = None,
        **about: Any,
    ) -> Result:
        """One job of the workflow, with a run number of its own, which may be cancelled before one of its steps.

        Of a pull request the merge commit is checked out, as actions/checkout does, and the branch again afterwards.
        """
        self.runs += 1
        used = {"page": {"artifact-url": page}} if page else {}
        ending = {"cancelled_before": cancelled_before, "failing": failing, "used": used}
        if event == "pull_request" and not merged and not (inputs or {}).get("base"):
            with self.merged(pull):
                return self._job(event_name or event, event, pull, inputs or {}, about, ending)
        return self._job(event_name or event, event, pull, inputs or {}, about, ending)

    @contextmanager
    def merged(self, pull: PullRequest, onto: str | None = None) -> Iterator[None]:
        """GitHub's merge commit of a pull request, checked out; of a head that only GitHub has, the base's files."""
        onto = onto or self.git("rev-parse", self.github.pull(pull.number).base_ref)
        here = self.git("rev-parse", "--abbrev-ref", "HEAD")
        seen = subprocess.run([*GIT, "cat-file", "-e", pull.head_sha], cwd=self.clone, check=False, capture_output=True)
        tree = onto if seen.returncode else self.git("merge-tree", "--write-tree", onto, pull.head_sha).splitlines()[0]
        tree = self.git("rev-parse", f"{tree}^{{tree}}")
        who = "GitHub <noreply@github.com> 1769817600 +0000"
        text = f"tree {tree}\nparent {onto}\nparent {pull.head_sha}\nauthor {who}\ncommitter {who}\n\nMerge\n"
        command = [*GIT, "hash-object", "-t", "commit", "-w", "--stdin"]
        made = subprocess.run(command, cwd=self.clone, input=text, check=True, capture_output=True, text=True)
        self.git("checkout", "-q", "--detach", made.stdout.strip())
        try:
            yield
        finally:
            self.git("checkout", "-q", here)

    def _job(
        self,
        name: str,
        event: str,
        pull: PullRequest,
        inputs: dict[str, str],
        about: dict[str, Any],
        ending: dict[str, Any],
    ) -> Result:
        variables = about.pop("variables", {})
        told = environment(self.events, self.github, event, pull=pull, **{"run": 100 + self.runs, **about})
        told.update(variables, GITHUB_EVENT_NAME=name)
        if event == "pull_request":
            told["GITHUB_SHA"] = self.git("rev-parse", "HEAD")
        token = told.pop("GITHUB_TOKEN")
        told["RUNNER_TEMP"] = str(self.runner_temp)
        here = self.in_this_process
        return run_action(ROOT, inputs, told, self.clone, token=token, timeout=300, in_this_process=here, **ending)

    def conclusions(self, sha: str) -> list[str | None]:
        return [check["conclusion"] for check in self.github.check_runs(sha) if check["name"] == CHECK]


@pytest.fixture
def team(github: GitHub, tmp_path: Path) -> Team:
    return Team(github, tmp_path)


def test_a_red_pull_request_is_blocked_mended_green_and_merged_with_one_comment_throughout(
    team: Team, runner_temp: Path
) -> None:
    """Each phase of the red job in a process of the environment that the action has installed; others are called here.

    What lies in the checkout under a module's name is not imported by any of them.
    """
    team.in_this_process, team.runner_temp = False, runner_temp
    for name in ("logging", "pip", "json"):
        (team.clone / f"{name}.py").write_text(f"open({str(team.events / 'imported')!r}, 'a').write({name!r})\n")
    github = team.github
    team.git("checkout", "-qb", "change")
    team.push("change", "Another chunker")
    pull = github.open_pull("change")

    team.retrieve("fail")
    red = team.job("pull_request", pull)
    assert red.code == 1
    assert red.outputs["verdict"] == "fail"
    assert json.loads(red.outputs["values"])["retrieval_recall_at_5"] == pytest.approx(11 / 14)
    assert "::error file=ship-criteria.yaml,line=2,title=rankgate::" in red.log
    assert "Do not merge: recall@5" in red.summary
    (comment,) = github.comments(pull.number)
    assert "❌ FAIL. Do not merge: recall@5" in comment.body
    assert team.conclusions(pull.head_sha) == ["failure"]
    assert github.merge(pull.number) == 422, "the required check stops it"

    assert not (team.events / "imported").exists()

    team.in_this_process = True
    team.push("change", "The chunker keeps what it cut")
    pull = github.pull(pull.number)
    team.retrieve("pass")
    green = team.job("pull_request", pull)
    assert (green.code, green.outputs["verdict"]) == (0, "pass")
    (same,) = github.comments(pull.number)
    assert same.id == comment.id
    assert "✅ PASS." in same.body
    assert team.conclusions(pull.head_sha) == ["success"]
    assert github.merge(pull.number) == 200
    assert green.skipped_uses[0].given["name"] == "rankgate"


def test_without_a_base_there_is_a_summary_and_never_the_required_check(team: Team) -> None:
    """Whoever may push can add a start by hand to the workflow of his own branch."""
    event = "workflow_dispatch"
    pull = team.github.new_pull()
    team.retrieve("pass")
    judged = team.job("push", pull, event_name=event)
    assert (judged.code, team.github.check_runs(pull.head_sha)) == (0, [])
    assert "PASS" in judged.summary
    team.job("push", pull, {"push-check": "true"}, event_name=event)
    assert [check["name"] for check in team.github.check_runs(pull.head_sha)] == [PUSH_CHECK]
    assert team.github.merge(pull.number) == 422


def test_once_a_pull_request_is_closed_its_success_is_nobodys(team: Team) -> None:
    """Nothing is judged; the job that closing starts has neither a run nor the pull request's commit."""
    pull = team.github.new_pull()
    team.retrieve("pass")
    team.job("pull_request", pull, {"base": "none"})
    (team.clone / "run.jsonl").unlink()
    team.github.close(pull.number)
    closed = team.job("pull_request_target", pull, action="closed")
    assert closed.code == 0, closed.log
    assert team.conclusions(pull.head_sha) == ["action_required"]


def test_the_check_is_in_progress_while_the_job_judges_and_a_cancelled_job_completes_it(team: Team) -> None:
    github = team.github
    pull = github.new_pull()
    team.retrieve("pass")
    seen: list[str] = []
    comments = r"/issues/\d+/comments"
    team.github.meanwhile(
        "GET", comments, lambda: seen.extend(check["status"] for check in github.check_runs(pull.head_sha))
    )
    assert team.job("pull_request", pull, {"base": "none"}).code == 0
    assert seen == ["in_progress"]

    cancelled = team.job("pull_request", pull, cancelled_before="judge")
    assert cancelled.code == 2
    assert team.conclusions(pull.head_sha) == ["failure", "failure"]
    (comment,) = github.comments(pull.number)
    assert "NOT JUDGED" in comment.body
    assert "the job ended before there was a verdict" in comment.body


def test_a_full_quota_of_artifacts_or_a_server_without_them_changes_no_verdict(team: Team) -> None:
    """GitHub Enterprise Server refuses the upload, too."""
    pull = team.github.new_pull()
    team.retrieve("pass")
    refused = team.job("pull_request", pull, {"base": "none"}, failing="Keep the report")
    assert (refused.code, refused.outcomes["Keep the report"]) == (0, "failure")
    assert refused.outputs["verdict"] == "pass"
    left_out = team.job("pull_request", pull, {"base": "none", "upload": "false"}, failing="Keep the report")
    assert (left_out.code, left_out.outcomes["Keep the report"]) == (0, "skipped")


def page_of(result: Result) -> tuple[str, Path]:
    """The artifact's name and the file of the page that was to be uploaded."""
    (given,) = [each.given for each in result.skipped_uses if each.id == "page"]
    assert (given["archive"], given["overwrite"]) == ("false", "true")
    return given["name"], Path(given["path"])


def address(team: Team, number: int = 31) -> str:
    return f"https://github.com/{team.github.repository}/actions/runs/7/artifacts/{number}"


def test_the_page_is_kept_before_the_comment_that_leads_to_it(team: Team) -> None:
    """And of an attempt of its own each: an artifact that takes another's place has another address."""
    github, line = team.github, "[page](<{}>)"
    pull = github.new_pull()
    team.retrieve("fail")
    without = team.job("pull_request", pull, {"base": "none"})
    plain = Path(without.outputs["report"]).read_text()
    red = without
    for number in (31, 32):
        red = team.job("pull_request", pull, {"base": "none", "html": "true"}, page=address(team, number))
        assert (red.code, red.outputs["verdict"]) == (1, "fail")
        name, file = page_of(red)
        assert (name, file.name) == ("rankgate.html", "rankgate.html"), "by this name an earlier one makes room"
        html = file.read_text(encoding="utf-8")
        assert "Content-Security-Policy" in html
        assert "no rankings" not in html
        (comment,) = github.comments(pull.number)
        (check, *_) = github.check_runs(pull.head_sha)[::-1]
        for text in (comment.body, red.summary, check["output"]["summary"], Path(red.outputs["comment"]).read_text()):
            assert line.format(address(team, number)) in text.partition("<details>")[0]
    assert Path(red.outputs["report"]).read_text() == plain, "the page changes nothing of the report"
    steps = list(red.outcomes)
    assert steps.index("judge") < steps.index("page") < steps.index("Publish") < steps.index("Keep the report")


@pytest.mark.parametrize(
    ("inputs", "ending"),
    [
        pytest.param({}, {"failing": "page"}, id="no room"),
        pytest.param({"upload": "false"}, {}, id="nothing is uploaded"),
        pytest.param({}, {"page": "https://evil.example/page.html"}, id="another address"),
    ],
)
def test_without_an_address_there_is_neither_link_nor_failure(
    team: Team, inputs: dict[str, str], ending: dict[str, Any]
) -> None:
    pull = team.github.new_pull()
    team.retrieve("pass")
    done = team.job("pull_request", pull, {"base": "none", "html": "true", **inputs}, **ending)
    assert (done.code, done.outputs["verdict"]) == (0, "pass")
    (comment,) = team.github.comments(pull.number)
    assert "[page](" not in comment.body
    assert "[run](" in comment.body


def test_a_job_that_is_cancelled_while_it_keeps_the_page_has_its_verdict(team: Team) -> None:
    pull = team.github.new_pull()
    team.retrieve("pass")
    ended = team.job("pull_request", pull, {"base": "none", "html": "true"}, cancelled_before="page")
    assert (ended.outcomes["page"], ended.outputs["verdict"]) == ("skipped", "pass")
    assert team.conclusions(pull.head_sha) == ["success"]


def test_every_gate_has_its_own_page_and_nothing_judged_has_none(team: Team) -> None:
    pull = team.github.new_pull()
    team.retrieve("pass")
    named = team.job("pull_request", pull, {"base": "none", "html": "true", "gate-id": "search"}, page=address(team))
    assert page_of(named)[0] == "rankgate-search.html"
    assert [each.given["name"] for each in named.skipped_uses] == ["rankgate-search.html", "rankgate-search"]
    (team.clone / "run.jsonl").unlink()
    nothing = team.job("pull_request", pull, {"base": "none", "html": "true"})
    assert (nothing.code, nothing.outcomes["page"]) == (2, "skipped")


def test_what_main_got_after_the_event_is_not_the_pull_requests_doing(team: Team) -> None:
    """The event's sha of the base is hours old: by that, this pull request would have loosened a limit of main's."""
    team.git("checkout", "-qb", "change")
    team.push("change", "Another chunker")
    pull = team.github.open_pull("change")
    criteria = team.clone / "ship-criteria.yaml"
    team.git("checkout", "-q", "main")
    criteria.write_text(criteria.read_text().replace("0.70", "0.60"))
    team.github.unprotect()
    team.push("main", "What was merged meanwhile")
    team.retrieve("pass")
    judged = team.job("pull_request", pull)
    assert (judged.code, judged.outputs["verdict"]) == (0, "pass"), judged.log
    report = decode_report(Path(judged.outputs["report"]).read_bytes(), "report.json")
    assert report.base is not None
    assert (report.base.sha, report.base.keys) == (team.git("rev-parse", "main"), [])


def test_a_stale_merge_commit_is_not_judged_and_an_old_green_one_does_not_stay(team: Team) -> None:
    team.git("checkout", "-qb", "change")
    team.push("change", "Another chunker")
    pull = team.github.open_pull("change")
    team.retrieve("pass")
    assert team.job("pull_request", pull).code == 0
    team.git("checkout", "-qb", "weak", "main")
    weak = team.commit("Another branch, without a gate")
    with team.merged(pull, onto=weak):
        stale = team.job("pull_request", pull, merged=True)
    assert (stale.code, stale.outputs["verdict"]) == (2, "not_judged")
    assert "the merge commit is stale" in stale.summary
    assert team.conclusions(pull.head_sha)[-1] == "failure"


def test_a_base_that_github_does_not_name_is_not_judged(team: Team) -> None:
    pull = team.github.new_pull()
    team.retrieve("pass")
    team.github.play("GET", f"/pulls/{pull.number}", 403, json={"message": "Resource not accessible by integration"})
    judged = team.job("pull_request", pull)
    assert (judged.code, judged.outputs["verdict"]) == (2, "not_judged")
    assert "the job needs `permissions: pull-requests: read`" in judged.summary


def test_the_queues_job_without_a_checkout_publishes_the_report_of_the_other(team: Team, tmp_path: Path) -> None:
    pull = team.github.new_pull()
    report = tmp_path / "report.json"
    report.write_bytes(report_of("fail"))
    assert team.job("merge_group", pull, {"report": str(report)}).code == 1
    assert team.conclusions(pull.head_sha) == ["failure"]
    gone = team.job("merge_group", pull, {"report": str(tmp_path / "never-written.json")})
    assert gone.code == 2
    assert team.conclusions(pull.head_sha) == ["failure", "failure"], "a queue never hangs"


def test_a_fork_is_judged_at_the_base_from_its_artifact_and_merged_once_a_maintainer_accepts(team: Team) -> None:
    """Three jobs: the fork's own, which can only upload; the reporting job; and the one that the label starts."""
    github = team.github
    pull = github.fork_pull()
    team.retrieve("pass")
    read_only = github.token_with({"contents": "read", "metadata": "read"})
    own = team.job("pull_request", pull, token=read_only)
    assert own.code == 0
    assert (github.comments(pull.number), team.conclusions(pull.head_sha)) == ([], [])
    assert "the reporting workflow publishes the verdict" in own.log
    upload = Path(own.skipped_uses[0].given["path"])
    run = (upload / "run.jsonl").read_bytes()
    assert run == (SCENARIOS / "pass" / "run.jsonl").read_bytes()

    (team.clone / "run.jsonl").unlink()
    github.keep(zipped(run))
    plays_runs(github, pull, {})
    reporting = team.job("workflow_run", pull, {"html": "true"}, page=address(team))
    assert reporting.code == 0, reporting.log
    assert reporting.outputs["verdict"] == "pass"
    name, page = page_of(reporting)
    assert name == "rankgate.html"
    assert "Content-Security-Policy" in page.read_text(encoding="utf-8")
    report = decode_report(Path(reporting.outputs["report"]).read_bytes(), "report.json")
    assert report.origin.untrusted_run
    (comment,) = github.comments(pull.number)
    assert "✅ PASS." in comment.body
    assert f"[page](<{address(team)}>) · [run](" in comment.body
    assert (
        f"[criteria](<https://github.com/{github.repository}/blob/{pull.base_sha}/ship-criteria.yaml>)" in comment.body
    )
    assert reporting.summary.splitlines()[2] in comment.body
    assert "supplied by the pull request" in comment.body
    assert team.conclusions(pull.head_sha) == ["action_required"]
    assert github.merge(pull.number) == 422

    accepts(github, pull)
    accepted = team.job("pull_request_target", pull, label=ACCEPT_RANKINGS)
    assert accepted.code == 0, accepted.log
    assert team.conclusions(pull.head_sha) == ["success"]
    assert [each.id for each in github.comments(pull.number)] == [comment.id]
    assert github.merge(pull.number) == 200


def test_a_fork_leaves_its_run_also_where_its_own_job_has_no_access_to_the_baseline(team: Team) -> None:
    """It has no key to a bucket; the reporting job fetches the baseline."""
    criteria = team.clone / "ship-criteria.yaml"
    criteria.write_text(
        criteria.read_text().replace("baseline: accepted.jsonl", 'baseline: "git+branch:baselines@/nowhere"')
    )
    assert "git+branch:baselines" in criteria.read_text()
    team.github.unprotect()
    team.push("main", "A baseline elsewhere")
    pull = team.github.fork_pull()
    team.retrieve("pass")
    own = team.job("pull_request", pull, token=team.github.token_with({"contents": "read", "metadata": "read"}))
    assert own.outputs["verdict"] == "not_judged"
    kept = Path(own.skipped_uses[0].given["path"]) / "run.jsonl"
    assert kept.read_bytes() == (SCENARIOS / "pass" / "run.jsonl").read_bytes()


def test_a_reporting_job_that_was_cancelled_before_it_judged_leaves_nothing(team: Team) -> None:
    pull = team.github.fork_pull()
    assert team.job("workflow_run", pull, cancelled_before="judge").code == 0
    assert team.github.check_runs(pull.head_sha) == []


@pytest.mark.parametrize(
    ("event", "uploaded"),
    [
        pytest.param("push", ["comment.md", "report.json"], id="of a push"),
        pytest.param("pull_request", ["comment.md", "report.json", "run.jsonl"], id="of a pull request: a label's job"),
        pytest.param("merge_group", ["comment.md", "report.json"], id="of the merge queue"),
    ],
)
def test_the_run_is_kept_for_later_jobs(team: Team, event: str, uploaded: list[str]) -> None:
    team.retrieve("pass")
    ended = team.job(event, team.github.new_pull(), {"base": "none"})
    assert ended.code == 0, ended.log
    upload = Path(ended.skipped_uses[0].given["path"])
    assert sorted(file.name for file in upload.iterdir()) == uploaded
    if "run.jsonl" in uploaded:
        assert (upload / "run.jsonl").read_bytes() == (SCENARIOS / "pass" / "run.jsonl").read_bytes()


def test_without_an_app_a_label_judges_the_recorded_run_of_the_commit_again_and_the_exit_code_follows(
    team: Team,
) -> None:
    """Whatever the retriever would find by now; before any report, for another base or where it is gone: anew."""
    github = team.github
    github.unprotect()
    team.git("checkout", "-qb", "change")
    (team.clone / "ship-waivers.yaml").write_text(WAIVER)
    team.push("change", "Another chunker")
    github.branch("release")
    pull = github.open_pull("change")

    fetched_run = team.clone / "a directory that git does not have" / "run.jsonl"

    def fetched(pull: PullRequest) -> int:
        told = environment(team.events, github, "pull_request", pull=pull, label=ACCEPT_CHANGE, run=999)
        told |= {"RUN": str(fetched_run), "PATH": os.environ["PATH"]}
        command = [sys.executable, "-I", "-m", "rankgate.cli.action", "recorded"]
        return subprocess.run(command, cwd=team.clone, env=told, check=False, timeout=300).returncode

    assert fetched(pull) == 2, "nothing is recorded yet"
    team.retrieve("fail")
    red = team.job("pull_request", pull)
    assert red.code == 1
    recorded = (Path(red.skipped_uses[0].given["path"]) / "run.jsonl").read_bytes()
    github.keep(zipped(recorded), 100 + team.runs)
    assert fetched(pull) == 0
    assert fetched_run.read_bytes() == recorded
    fetched_run.replace(team.clone / "run.jsonl")

    accepts(github, pull, happened(1, "labeled", label=ACCEPT_CHANGE))
    github.label(pull.number, ACCEPT_CHANGE)
    waived = team.job("pull_request", pull, label=ACCEPT_CHANGE)
    assert (waived.code, waived.outputs["verdict"]) == (0, "warn"), waived.log
    assert fetched(github.retarget(pull.number, "release")) == 2, "it was of another base"


def test_a_fork_cannot_bring_its_own_criteria_gold_or_baseline(team: Team) -> None:
    """The reporting job's clone is of the base; whatever the archive holds beside the run is not looked at."""
    pull = team.github.fork_pull()
    team.github.keep(zipped((SCENARIOS / "fail" / "run.jsonl").read_bytes()))
    plays_runs(team.github, pull, {})
    assert team.job("workflow_run", pull).outputs["verdict"] == "fail"
    assert team.conclusions(pull.head_sha) == ["failure"]


def test_pull_request_target_never_judges(team: Team) -> None:
    team.retrieve("pass")
    ended = team.job("pull_request_target", team.github.new_pull())
    assert ended.code == 2
    assert "pull_request_target would run untrusted code with this repository's token" in ended.log


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("run", "$(touch pwned)\"; touch pwned; '`touch pwned`", id="shell"),
        pytest.param("criteria", "a\nverdict=pass\nb", id="a second output"),
        pytest.param("gate-id", "x\n::set-output name=verdict::pass", id="a workflow command"),
        pytest.param("bot-login", "${{ github.token }}", id="an expression"),
    ],
)
def test_an_input_is_never_code(team: Team, name: str, value: str) -> None:
    team.retrieve("pass")
    ended = team.job("pull_request", team.github.new_pull(), {name: value, "base": "none"})
    assert not list(team.clone.rglob("pwned"))
    assert ended.outputs["verdict"] in ("", "not_judged", "pass")
    if name != "bot-login":
        assert ended.code == 2
    assert not any(line.startswith("::set-output") for line in ended.log.splitlines())


@pytest.mark.parametrize("fault", ["lost", "secondary limit", "bad gateway"])
def test_a_fault_while_publishing_changes_neither_the_verdict_nor_the_number_of_comments(
    team: Team, fault: str
) -> None:
    pull = team.github.new_pull()
    team.retrieve("fail")
    comments = r"/issues/\d+/comments$"
    if fault == "lost":
        team.github.drop_after("POST", comments)
    elif fault == "secondary limit":
        limited = {"message": "You have exceeded a secondary rate limit."}
        team.github.status("POST", comments, 403, json=limited, headers={"Retry-After": "1"})
    else:
        team.github.status("POST", comments, 502, json={"message": "Bad Gateway"})
    ended = team.job("pull_request", pull, {"base": "none"})
    assert ended.code == 1
    assert len(team.github.comments(pull.number)) == 1
    assert team.conclusions(pull.head_sha) == ["failure"]


def test_without_permission_the_verdict_stands_and_the_summary_says_why(team: Team) -> None:
    pull = team.github.new_pull()
    team.retrieve("fail")
    token = team.github.token_with({"contents": "read", "metadata": "read"})
    ended = team.job("pull_request", pull, {"base": "none"}, token=token)
    assert ended.code == 1
    assert ended.outputs["verdict"] == "fail"
    assert "Do not merge: recall@5" in ended.summary
    assert "Not published: `GitHub refused" in ended.summary
    assert ended.skipped_uses[0].given["path"].endswith("/upload/")


def test_the_token_is_nowhere_in_the_log_the_summary_or_the_files(team: Team) -> None:
    pull = team.github.new_pull()
    team.retrieve("fail")
    ended = team.job("pull_request", pull, {"base": "none"})
    kept = [path.read_text(errors="replace") for path in team.runner_temp.glob("rankgate/gate-*/**/*.*")]
    assert kept
    for text in (ended.log, ended.summary, str(ended.outputs), *kept):
        assert team.github.token not in text


def test_fail_on_warn_stops_the_job_and_the_check_alike(team: Team) -> None:
    pull = team.github.new_pull()
    team.retrieve("warn")
    assert team.job("pull_request", pull, {"base": "none", "fail-on": "warn"}).code == 1
    assert team.conclusions(pull.head_sha) == ["failure"]


def test_a_workflow_that_a_branch_rewrites_turns_no_check_green_that_is_pinned_to_an_app_and_the_judging_job_does(
    team: Team,
) -> None:
    """Whoever can push has GITHUB_TOKEN with every right, and runs our own action with it; the key he has not."""
    github, app = team.github, {"bot-login": "acme-gate[bot]"}
    team.git("checkout", "-qb", "change")
    team.push("change", "Another workflow")
    pull = github.open_pull("change")
    team.git("checkout", "-q", "main")
    team.retrieve("pass")
    github.posted(pull.head_sha, github.token)
    assert team.job("pull_request", pull, {"base": "none"}).code == 0
    assert team.job("pull_request", pull, {"base": "none", **app}).code == 0, "another login makes no other token"
    assert not any(github.allows(pull.number, rule, app="acme-gate") for rule in RULES)

    run = (team.clone / "run.jsonl").read_bytes()
    (team.clone / "run.jsonl").unlink()
    plays_runs(github, pull, {})
    plays_permission(github, "alice", "write")
    for recorded, allowed in [((SCENARIOS / "fail" / "run.jsonl").read_bytes(), False), (run, True)]:
        github.keep(zipped(recorded))
        judged = team.job("workflow_run", pull, app, token=github.app_token())
        assert judged.code == 0, judged.log
        by_rule = [github.allows(pull.number, rule, app="acme-gate") for rule in RULES]
        assert by_rule == [allowed, allowed], judged.log


def leaves(github: GitHub, run: str) -> None:
    """What the recording job uploaded."""
    github.keep(zipped((SCENARIOS / run / "run.jsonl").read_bytes()))


def test_with_an_app_a_label_accepts_the_gold_set_of_one_commit_and_the_check_blocks_before_and_after(
    team: Team,
) -> None:
    """Recorded, judged by both sides, refused; accepted by a writer and merged by nobody before a push voids that."""
    github, app = team.github, {"bot-login": "acme-gate[bot]"}
    team.git("checkout", "-qb", "change")
    gold = (team.clone / "gold.yaml").read_text()
    lost = yaml.safe_load(gold)
    found = [json.loads(line) for line in (SCENARIOS / "fail" / "run.jsonl").read_text().splitlines()]
    first = {each["query_id"]: each["topk"][0]["chunk_id"] for each in found if each["topk"]}
    for sample in lost["samples"]:
        if sample["expected_output"] and sample["id"] in first:
            sample["expected_output"] = [first[sample["id"]]]
    (team.clone / "gold.yaml").write_text(yaml.safe_dump(lost))
    team.push("change", "Labels that fit the new search")
    pull = github.open_pull("change")
    team.git("checkout", "-q", "main")
    plays_permission(github, "carol", "write")

    def judged(event: str, **about: Any) -> list[str | None]:
        current = github.pull(pull.number)
        plays_runs(github, current, {})
        leaves(github, "fail")
        ended = team.job(event, current, app, token=github.app_token(), **about)
        assert ended.code == 0, ended.log
        assert not (team.clone / "run.jsonl").exists()
        return team.conclusions(current.head_sha)

    assert judged("workflow_run") == ["failure"]
    assert not github.allows(pull.number, "newest", app="acme-gate")
    github.label(pull.number, ACCEPT_CHANGE)
    accepted = {"name": ACCEPT_CHANGE, "color": "ededed"}
    event = {"id": 1, "event": "labeled", "actor": {"login": "carol"}, "created_at": LATE, "label": accepted}
    github.timelines[pull.number] = [event]
    assert judged("pull_request_target", label=ACCEPT_CHANGE) == ["success"]
    assert "lets it judge alone, without the base's files" in github.comments(pull.number)[0].body
    assert (team.clone / "gold.yaml").read_text() == gold, "nothing of the head is checked out"

    team.git("checkout", "-q", "change")
    team.push("change", "And another")
    team.git("checkout", "-q", "main")
    github.timelines[pull.number] = [{**event, "created_at": "2000-01-01T00:00:00Z"}]
    assert judged("workflow_run") == ["failure"]
    assert not github.allows(pull.number, "newest", app="acme-gate")


@pytest.mark.parametrize(
    ("inputs", "noticed"),
    [
        pytest.param({"bot-login": "acme-gate[bot]"}, True, id="a workflow written earlier"),
        pytest.param({}, False, id="without an App"),
    ],
)
def test_a_job_of_a_pull_request_that_has_the_apps_token_works_and_says_what_is_wrong_with_it(
    team: Team,
    inputs: dict[str, str],
    noticed: bool,  # noqa: FBT001 -- a table's column
) -> None:
    pull = team.github.new_pull()
    team.retrieve("pass")
    token = team.github.app_token() if noticed else team.github.token
    judged = team.job("pull_request", pull, {"base": "none", **inputs}, token=token)
    assert (judged.code, team.conclusions(pull.head_sha)) == (0, ["success"])
    assert ("::notice title=rankgate::whoever can push can use your App's token" in judged.log) is noticed
