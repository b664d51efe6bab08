"""`rankgate comment` as a job calls it: what it publishes, what it says, and that nothing changes its exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.children import start
from tests.forges.events import environment
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import InstantClock
from tests.scenario_calls import report_of

import rankgate.cli.inputs
import rankgate.forges.client
from rankgate.cli import main
from rankgate.forges.checks import CHECK
from rankgate.forges.comments import mark_of
from rankgate.renderers.links import METRICS

SCENARIOS = Path(__file__).parent.parent / "scenarios"
COMMENTS = r"/issues/\d+/comments$"


@dataclass
class Job:
    """A job on a pull request, whose clock does not make anybody wait."""

    github: GitHub
    pull: PullRequest
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def enter(self, event: str = "pull_request", **changes: str) -> None:
        for name, value in (environment(self.folder, self.github, event, pull=self.pull) | changes).items():
            self.monkeypatch.setenv(name, value)

    def comment(self) -> str:
        """The one comment on the pull request."""
        (comment,) = self.github.comments(self.pull.number)
        return comment.body

    def checks(self) -> list[dict[str, Any]]:
        return self.github.check_runs(self.pull.head_sha)

    def concluded(self) -> list[str | None]:
        return [check["conclusion"] for check in self.checks()]

    def err(self) -> str:
        return self.capsys.readouterr().err


@pytest.fixture
def job(github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Job:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rankgate.forges.client, "Clock", InstantClock)
    entered = Job(github, github.new_pull(), tmp_path, monkeypatch, capsys)
    entered.enter()
    return entered


def report(verdict: str) -> str:
    Path(f"{verdict}.json").write_bytes(report_of(verdict))
    return f"{verdict}.json"


def test_it_comments_and_completes_the_check(job: Job) -> None:
    assert main(["comment", report("fail")]) == 0
    first, rest = job.comment().split("\n", 1)
    assert mark_of(first) is not None
    home = f"https://github.com/{job.github.repository}"
    criteria = f"{home}/blob/{job.pull.head_sha}/ship-criteria.yaml"
    links = f" · [run](<{home}/actions/runs/7/attempts/1>) · [criteria](<{criteria}>)"
    line = f"{links} · [what is `recall@5`?](<{METRICS}#recall>)"
    assert line in rest
    rest = re.sub(r"\[([^]]*)\]\(<" + re.escape(criteria) + r"#L\d+>\)", r"\1", rest)  # the limits
    assert rest.replace(line, "") == (SCENARIOS / "fail" / "expected" / "comment.md").read_text()
    (check,) = job.checks()
    assert (check["name"], check["status"], check["conclusion"]) == (CHECK, "completed", "failure")
    assert check["details_url"].endswith("/actions/runs/7/attempts/1")
    captured = job.capsys.readouterr()
    assert captured.err == ""
    assert captured.out == f"commented on pull request {job.pull.number}\ncheck rankgate/verdict: failure\n"


@pytest.mark.parametrize(
    ("verdict", "conclusion"),
    [("pass", "success"), ("warn", "success"), ("fail", "failure"), ("not_judged", "failure")],
)
def test_the_exit_code_is_0_whatever_the_verdict(job: Job, verdict: str, conclusion: str) -> None:
    assert main(["comment", report(verdict)]) == 0
    (check,) = job.checks()
    assert check["conclusion"] == conclusion


def test_fail_on_warn_makes_the_check_agree_with_the_jobs_exit_code(job: Job) -> None:
    assert main(["comment", report("warn"), "--fail-on", "warn"]) == 0
    assert job.concluded() == ["failure"]


def test_not_judged_never_leaves_an_old_green_comment_standing(job: Job) -> None:
    main(["comment", report("pass")])
    Path("broken.json").write_text('{"schema_version": 1}')
    contradictory = {**json.loads(report_of("fail")), "conclusion": {"kind": "given_up"}}
    Path("contradictory.json").write_text(json.dumps(contradictory))
    for path in ("broken.json", "contradictory.json", "missing.json"):
        assert main(["comment", path]) == 2
        assert "NOT JUDGED" in job.comment().splitlines()[1]
        check = job.checks()[-1]
        assert check["conclusion"] == "failure"
        assert check["output"]["title"].startswith("Not judged")
    assert "error: broken.json: not a rankgate report" in job.err()


def test_a_file_that_is_too_large_is_said_to_be(job: Job) -> None:
    """And not to be half of a report."""
    size = Path(report("pass")).stat().st_size
    job.monkeypatch.setattr(rankgate.cli.inputs, "MAX_REPORT_BYTES", size)
    assert main(["comment", "pass.json"]) == 0
    job.monkeypatch.setattr(rankgate.cli.inputs, "MAX_REPORT_BYTES", size - 1)
    assert main(["comment", "pass.json"]) == 2
    assert f"error: pass.json: has more than {size - 1:,} bytes, which no report has" in job.err()
    assert job.checks()[-1]["conclusion"] == "failure"


def test_a_report_of_a_newer_rankgate_is_rejected(job: Job) -> None:
    Path("new.json").write_text('{"schema_version": 99}')
    assert main(["comment", "new.json"]) == 2
    assert "report schema 99 is newer than this rankgate reads" in job.err()


def test_a_refusal_is_told_on_standard_error_and_in_the_step_summary_and_changes_nothing(job: Job) -> None:
    summary = job.folder / "summary.md"
    token = job.github.token_with({"contents": "read", "metadata": "read", "pull_requests": "read", "checks": "read"})
    job.enter(GITHUB_TOKEN=token, GITHUB_STEP_SUMMARY=str(summary))
    assert main(["comment", report("fail")]) == 0
    said = job.err().splitlines()
    assert len(said) == 2
    assert all(line.startswith("warning: not published: GitHub refused POST ") and "403" in line for line in said)
    assert summary.read_text().count("Not published: `GitHub refused POST") == 2


def test_without_a_token_it_says_how_to_give_one(job: Job) -> None:
    job.monkeypatch.delenv("GITHUB_TOKEN")
    assert main(["comment", report("fail")]) == 0
    assert "no token to publish with; set it in env, as GITHUB_TOKEN" in job.err()


def test_the_check_is_completed_although_the_comment_is_refused(job: Job) -> None:
    job.github.status("GET", COMMENTS, 500, json={"message": "Server Error"}, times=100)
    assert main(["comment", report("pass")]) == 0
    assert job.concluded() == ["success"]


def test_an_answer_of_another_shape_changes_nothing_either(job: Job) -> None:
    job.github.play("GET", f"/pulls/{job.pull.number}", json={"message": "moved"})
    assert main(["comment", report("pass")]) == 0
    assert "GitHub answered in a shape that its documentation does not know" in job.err()
    assert job.concluded() == ["success"]


def test_begin_puts_the_check_in_progress_and_needs_no_report(job: Job) -> None:
    assert main(["comment", "--begin"]) == 0
    assert [check["status"] for check in job.checks()] == ["in_progress"]
    main(["comment", report("pass")])
    assert job.concluded() == ["success"]


@pytest.mark.parametrize("words", [[], ["report.json", "--begin"]], ids=["neither", "both"])
def test_a_report_or_begin_is_needed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["comment", *words]) == 2
    assert "name the report to publish, or --begin" in capsys.readouterr().err


def test_a_dry_run_prints_the_requests_and_sends_none(job: Job) -> None:
    assert main(["comment", report("fail"), "--dry-run"]) == 0
    assert job.github.comments(job.pull.number) == []
    assert job.checks() == []
    requests = [line.split(" ", 2) for line in job.capsys.readouterr().out.splitlines() if line.startswith("POST ")]
    assert [path for _, path, _ in requests] == [
        f"/repos/{job.github.repository}/issues/{job.pull.number}/comments",
        f"/repos/{job.github.repository}/check-runs",
    ]
    assert json.loads(requests[1][2])["conclusion"] == "failure"


@pytest.mark.parametrize("in_a_repository", [True, False])
def test_a_dry_run_without_a_token_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, in_a_repository: bool
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing is asked")

    for name in [name for name in os.environ if name.startswith(("GITHUB_", "GH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.chdir(tmp_path)
    report_file = report("fail")
    head = "0" * 40
    if in_a_repository:
        user = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "init", "-q"], check=True)
        subprocess.run(["git", *user, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert main(["comment", report_file, "--dry-run", "--repository", "acme/rag", "--pull", "12"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    requests = [line.split(" ", 2) for line in printed.out.splitlines() if line.startswith("POST ")]
    assert [path for _, path, _ in requests] == ["/repos/acme/rag/issues/12/comments", "/repos/acme/rag/check-runs"]
    assert "Do not merge" in json.loads(requests[0][2])["body"]
    check = json.loads(requests[1][2])
    assert (check["name"], check["head_sha"], check["conclusion"]) == (CHECK, head, "failure")


def test_two_gates_of_a_repository_have_a_comment_and_a_check_each(job: Job) -> None:
    for words in ([], ["--gate-id", "api"], ["--gate-id", "api"]):
        assert main(["comment", report("fail"), *words]) == 0
    assert len(job.github.comments(job.pull.number)) == 2
    assert {each["name"] for each in job.checks()} == {"rankgate/verdict", "rankgate/verdict/api"}


def test_outside_of_actions_the_options_say_where(job: Job) -> None:
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        job.monkeypatch.delenv(name)
    job.monkeypatch.setenv("GITHUB_API_URL", job.github.url)
    job.monkeypatch.setenv("GH_TOKEN", job.github.token)
    words = ["--repository", job.github.repository, "--pull", str(job.pull.number)]
    assert main(["comment", report("fail"), *words]) == 0
    assert len(job.github.comments(job.pull.number)) == 1
    assert job.concluded() == ["failure"]
    (posted,) = job.github.asked("POST", r"/check-runs$")
    assert "details_url" not in json.loads(posted.body), "there is no run of Actions to look at"


def test_outside_of_actions_and_without_options_it_says_what_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_EVENT_NAME", raising=False)
    monkeypatch.setenv("GH_TOKEN", "ghs_of_nobody")
    assert main(["comment", report("fail")]) == 0
    assert "--repository OWNER/NAME and --pull N" in capsys.readouterr().err


def test_for_a_merge_group_only_the_check_is_posted(job: Job) -> None:
    job.enter("merge_group")
    assert main(["comment", report("fail")]) == 0
    assert job.github.comments(job.pull.number) == []
    assert job.concluded() == ["failure"]


@pytest.mark.parametrize(
    "event", ["push", "schedule", "workflow_dispatch", "repository_dispatch", "issue_comment", "pull_request_review"]
)
@pytest.mark.parametrize("words", [[], ["--begin"]], ids=["a report", "begin"])
def test_an_event_without_a_base_posts_nothing_on_its_commit(job: Job, event: str, words: list[str]) -> None:
    """A pull request can add a start by hand for its own branch, whose head is the pull request's."""
    job.enter("push", GITHUB_EVENT_NAME=event, GITHUB_EVENT_PATH="")
    assert main(["comment", *(words or [report("pass")])]) == 0
    assert (job.github.comments(job.pull.number), job.checks()) == ([], [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_job_that_is_cancelled_while_it_waits_completes_the_check(job: Job, number: signal.Signals) -> None:
    """The comment waits for a rate limit; the runner ends the job; the check does not stay in progress."""
    waiting = threading.Event()
    job.github.meanwhile("GET", COMMENTS, waiting.set)
    limited = {"message": "You have exceeded a secondary rate limit."}
    job.github.status("GET", COMMENTS, 403, json=limited, headers={"Retry-After": "120"}, times=100)
    (job.folder / "report.json").write_bytes(report_of("fail"))
    process = start(
        [sys.executable, "-m", "rankgate", "comment", "report.json"],
        cwd=job.folder,
        env={**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout or ():
        if "wait" in line:
            break
    process.send_signal(number)
    process.communicate(timeout=300)
    assert job.concluded() == ["failure"]
