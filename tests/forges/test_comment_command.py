"""`rankgate comment` as a job calls it: what it publishes, what it says, and that nothing changes its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.forges.emulator import Emulator, PullRequest
from tests.forges.events import environment
from tests.forges.instant import InstantClock
from tests.forges.proxy import Proxy
from tests.scenario_calls import report_of

import rankgate.cli.comment
import rankgate.forges.client
from rankgate.cli import main
from rankgate.forges.checks import CHECK
from rankgate.forges.comments import mark_of

SCENARIOS = Path(__file__).parent.parent / "scenarios"
COMMENTS = r"/issues/\d+/comments$"


@pytest.fixture
def pull(github: Emulator) -> PullRequest:
    return github.new_pull()


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: Proxy, pull: PullRequest) -> Callable[..., None]:
    """The environment of a job; its clock does not make anybody wait."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rankgate.forges.client, "Clock", InstantClock)

    def enter(event: str = "pull_request", **changes: str) -> None:
        found = environment(tmp_path, proxy, event, pull=pull) | changes
        for name, value in found.items():
            monkeypatch.setenv(name, value)

    return enter


def report(verdict: str) -> str:
    Path(f"{verdict}.json").write_bytes(report_of(verdict))
    return f"{verdict}.json"


def test_it_comments_and_completes_the_check(
    github: Emulator, pull: PullRequest, job: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    job()
    assert main(["comment", report("fail")]) == 0
    (comment,) = github.comments(pull.number)
    first, rest = comment.body.split("\n", 1)
    assert mark_of(first) is not None
    assert rest == (SCENARIOS / "fail" / "expected" / "comment.md").read_text()
    (check,) = github.check_runs(pull.head_sha)
    assert (check["name"], check["status"], check["conclusion"]) == (CHECK, "completed", "failure")
    assert check["details_url"].endswith("/actions/runs/7")
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == f"commented on pull request {pull.number}\ncheck rankgate/verdict: failure\n"


@pytest.mark.parametrize(
    ("verdict", "conclusion"),
    [("pass", "success"), ("warn", "success"), ("fail", "failure"), ("not_judged", "failure")],
)
def test_the_exit_code_is_0_whatever_the_verdict(
    github: Emulator, pull: PullRequest, job: Callable[..., None], verdict: str, conclusion: str
) -> None:
    job()
    assert main(["comment", report(verdict)]) == 0
    (check,) = github.check_runs(pull.head_sha)
    assert check["conclusion"] == conclusion


def test_fail_on_warn_makes_the_check_agree_with_the_jobs_exit_code(
    github: Emulator, pull: PullRequest, job: Callable[..., None]
) -> None:
    job()
    assert main(["comment", report("warn"), "--fail-on", "warn"]) == 0
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["failure"]


def test_not_judged_never_leaves_an_old_green_comment_standing(
    github: Emulator, pull: PullRequest, job: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    job()
    main(["comment", report("pass")])
    Path("broken.json").write_text('{"schema_version": 1}')
    for path in ("broken.json", "missing.json"):
        assert main(["comment", path]) == 2
        (comment,) = github.comments(pull.number)
        assert "NOT JUDGED" in comment.body.splitlines()[1]
        check = github.check_runs(pull.head_sha)[-1]
        assert check["conclusion"] == "failure"
        assert check["output"]["title"].startswith("Not judged")
    assert "error: broken.json: not a rankgate report" in capsys.readouterr().err


def test_a_file_that_is_too_large_is_said_to_be(
    github: Emulator,
    pull: PullRequest,
    job: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And not to be half of a report."""
    job()
    size = Path(report("pass")).stat().st_size
    monkeypatch.setattr(rankgate.cli.comment, "MAX_BYTES", size)
    assert main(["comment", "pass.json"]) == 0
    monkeypatch.setattr(rankgate.cli.comment, "MAX_BYTES", size - 1)
    assert main(["comment", "pass.json"]) == 2
    assert f"error: pass.json: has more than {size - 1:,} bytes, which no report has" in capsys.readouterr().err
    assert github.check_runs(pull.head_sha)[-1]["conclusion"] == "failure"


def test_a_report_of_a_newer_rankgate_is_rejected(job: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    job()
    Path("new.json").write_text('{"schema_version": 99}')
    assert main(["comment", "new.json"]) == 2
    assert "report schema 99 is newer than this rankgate reads" in capsys.readouterr().err


def test_a_refusal_is_told_on_standard_error_and_in_the_step_summary_and_changes_nothing(
    github: Emulator,
    pull: PullRequest,
    job: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = tmp_path / "summary.md"
    token = github.token_with({"contents": "read", "metadata": "read", "pull_requests": "read", "checks": "read"})
    job(GITHUB_TOKEN=token, GITHUB_STEP_SUMMARY=str(summary))
    assert main(["comment", report("fail")]) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert all(line.startswith("warning: not published: GitHub refused POST ") and "403" in line for line in said)
    assert summary.read_text().count("Not published: `GitHub refused POST") == 2


def test_without_a_token_it_says_how_to_give_one(
    job: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job()
    monkeypatch.delenv("GITHUB_TOKEN")
    assert main(["comment", report("fail")]) == 0
    assert "no token to publish with; set it in env, as GITHUB_TOKEN" in capsys.readouterr().err


def test_the_check_is_completed_although_the_comment_is_refused(
    github: Emulator, proxy: Proxy, pull: PullRequest, job: Callable[..., None]
) -> None:
    job()
    proxy.status("GET", COMMENTS, 500, json={"message": "Server Error"}, times=100)
    assert main(["comment", report("pass")]) == 0
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["success"]


def test_an_answer_of_another_shape_changes_nothing_either(
    github: Emulator,
    proxy: Proxy,
    pull: PullRequest,
    job: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    job()
    proxy.play("GET", f"/pulls/{pull.number}", json={"message": "moved"})
    assert main(["comment", report("pass")]) == 0
    assert "GitHub answered in a shape that its documentation does not know" in capsys.readouterr().err
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["success"]


def test_begin_puts_the_check_in_progress_and_needs_no_report(
    github: Emulator, pull: PullRequest, job: Callable[..., None]
) -> None:
    job()
    assert main(["comment", "--begin"]) == 0
    assert [check["status"] for check in github.check_runs(pull.head_sha)] == ["in_progress"]
    main(["comment", report("pass")])
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["success"]


@pytest.mark.parametrize("words", [[], ["report.json", "--begin"]], ids=["neither", "both"])
def test_a_report_or_begin_is_needed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["comment", *words]) == 2
    assert "name the report to publish, or --begin" in capsys.readouterr().err


def test_a_dry_run_prints_the_requests_and_sends_none(
    github: Emulator, pull: PullRequest, job: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    job()
    assert main(["comment", report("fail"), "--dry-run"]) == 0
    assert github.comments(pull.number) == []
    assert github.check_runs(pull.head_sha) == []
    requests = [line.split(" ", 2) for line in capsys.readouterr().out.splitlines() if line.startswith("POST ")]
    assert [path for _, path, _ in requests] == [
        f"/repos/{github.repository}/issues/{pull.number}/comments",
        f"/repos/{github.repository}/check-runs",
    ]
    assert json.loads(requests[1][2])["conclusion"] == "failure"


def test_outside_of_actions_the_options_say_where(
    github: Emulator,
    proxy: Proxy,
    pull: PullRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_EVENT_NAME", raising=False)
    monkeypatch.setenv("GITHUB_API_URL", proxy.url)
    monkeypatch.setenv("GH_TOKEN", github.token)
    monkeypatch.setattr(rankgate.forges.client, "Clock", InstantClock)
    words = ["--repository", github.repository, "--pull", str(pull.number)]
    assert main(["comment", report("fail"), *words]) == 0
    assert len(github.comments(pull.number)) == 1
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["failure"]
    (posted,) = proxy.asked("POST", r"/check-runs$")
    assert "details_url" not in json.loads(posted.body), "there is no run of Actions to look at"


def test_outside_of_actions_and_without_options_it_says_what_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_EVENT_NAME", raising=False)
    monkeypatch.setenv("GH_TOKEN", "ghs_of_nobody")
    assert main(["comment", report("fail")]) == 0
    assert "--repository OWNER/NAME and --pull N" in capsys.readouterr().err


def test_for_a_merge_group_only_the_check_is_posted(
    github: Emulator, pull: PullRequest, job: Callable[..., None]
) -> None:
    job("merge_group")
    assert main(["comment", report("fail")]) == 0
    assert github.comments(pull.number) == []
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["failure"]


@pytest.mark.parametrize(
    "event", ["push", "schedule", "workflow_dispatch", "repository_dispatch", "issue_comment", "pull_request_review"]
)
@pytest.mark.parametrize("words", [[], ["--begin"]], ids=["a report", "begin"])
def test_an_event_without_a_base_posts_nothing_on_its_commit(
    github: Emulator, pull: PullRequest, job: Callable[..., None], event: str, words: list[str]
) -> None:
    """A pull request can add a start by hand for its own branch, whose head is the pull request's."""
    job("push", GITHUB_EVENT_NAME=event, GITHUB_EVENT_PATH="")
    assert main(["comment", *(words or [report("pass")])]) == 0
    assert (github.comments(pull.number), github.check_runs(pull.head_sha)) == ([], [])


def commit(name: str, text: str) -> None:
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    Path(name).write_text(text)
    for words in (["init", "-q"], ["add", name], ["commit", "-qm", "base"]):
        subprocess.run([*git, *words], check=True)


def test_in_a_job_a_template_of_the_working_tree_never_counts(
    github: Emulator, pull: PullRequest, job: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    job()
    commit("ours.md.j2", "all is well\n")  # and the base of the pull request is another commit, which is not here
    assert main(["comment", report("fail"), "--template", "ours.md.j2"]) == 0
    (comment,) = github.comments(pull.number)
    assert "FAIL. Do not merge" in comment.body
    assert "our own comment instead of the template's:" in capsys.readouterr().err


def test_a_template_is_read_at_the_base(
    github: Emulator, pull: PullRequest, job: Callable[..., None], tmp_path: Path
) -> None:
    """What the pull request made of the template does not count."""
    job()
    commit("ours.md.j2", "as it is at the base: {{ report.verdict.value }}\n")
    Path("ours.md.j2").write_text("all is well\n")
    assert main(["comment", report("fail"), "--template", "ours.md.j2", "--base", "HEAD"]) == 0
    (comment,) = github.comments(pull.number)
    assert comment.body.splitlines()[1:] == ["as it is at the base: fail"]


def test_a_template_that_does_not_render_is_replaced_by_ours_and_told(
    github: Emulator, pull: PullRequest, job: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    job()
    commit("ours.md.j2", "{{ report.nothing }}")
    assert main(["comment", report("fail"), "--template", "ours.md.j2", "--base", "HEAD"]) == 0
    (comment,) = github.comments(pull.number)
    assert "FAIL" in comment.body
    assert "our own comment instead of the template's: ours.md.j2:1: template error" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_job_that_is_cancelled_while_it_waits_completes_the_check(
    github: Emulator, proxy: Proxy, pull: PullRequest, tmp_path: Path, number: signal.Signals
) -> None:
    """The comment waits for a rate limit; the runner ends the job; the check does not stay in progress."""
    waiting = threading.Event()
    proxy.meanwhile("GET", COMMENTS, waiting.set)
    limited = {"message": "You have exceeded a secondary rate limit."}
    proxy.status("GET", COMMENTS, 403, json=limited, headers={"Retry-After": "120"}, times=100)
    (tmp_path / "report.json").write_bytes(report_of("fail"))
    start = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    process = subprocess.Popen(
        [sys.executable, "-c", f"{start}from rankgate.cli import main; sys.exit(main())", "comment", "report.json"],
        cwd=tmp_path,
        env={**os.environ, **environment(tmp_path, proxy, "pull_request", pull=pull), "PYTHONPATH": _source()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stdout or ():
            if "wait" in line:
                break
        process.send_signal(number)
        process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["failure"]


def _source() -> str:
    return str(Path(rankgate.__file__).parents[1])
