"""The phases of the action, one by one: what each leaves for the next, wherever the one before was stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.children import start
from tests.forges.events import environment
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import InstantClock
from tests.forges.test_fork import plays_runs
from tests.scenario_calls import report_of

import rankgate.forges.client
from rankgate.cli.action import Job, keep, kept, main, this_job
from rankgate.errors import RankgateError
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report, encode_report


def report(verdict: str) -> Report:
    return decode_report(report_of(verdict), verdict)


@pytest.fixture
def pull(github: GitHub) -> PullRequest:
    return github.new_pull()


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, github: GitHub, pull: PullRequest) -> Callable[..., Job]:
    """A job whose first phase has ended."""

    def begin(event: str = "pull_request", actor: str = "alice") -> Job:
        told = environment(tmp_path, github, event, pull=pull, actor=actor)
        told |= {name: str(tmp_path / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")}
        for name, value in told.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(rankgate.forges.client, "Clock", InstantClock)
        monkeypatch.chdir(tmp_path)
        assert main(["begin"]) == 0
        monkeypatch.setenv("RANKGATE_DIRECTORY", str(tmp_path / "runner_temp" / "rankgate" / "gate-default"))
        return this_job()

    return begin


def test_a_report_is_only_there_where_all_else_is(begun: Callable[..., Job]) -> None:
    """A job that is ended while it writes has no verdict, rather than half of one."""
    job = begun()
    (job.upload / "comment.md").mkdir()
    with pytest.raises(RankgateError, match=r"comment\.md"):
        keep(job, report("pass"))
    assert kept(job) is None


def test_a_report_takes_the_place_of_another_in_one_step(begun: Callable[..., Job]) -> None:
    job = begun()
    keep(job, report("pass"))
    with (job.upload / "report.json").open(encoding="utf-8") as opened:
        keep(job, report("fail"))
        assert opened.read() == encode_report(report("pass")), "whoever reads sees one of the two, whole"
    assert kept(job) == report("fail")
    assert sorted(file.name for file in job.upload.iterdir()) == ["comment.md", "report.json"]


@pytest.mark.parametrize("judged", [True, False], ids=["judged", "ended before"])
def test_a_summary_that_cannot_be_written_keeps_no_verdict_back(
    github: GitHub,
    pull: PullRequest,
    begun: Callable[..., Job],
    capsys: pytest.CaptureFixture[str],
    *,
    judged: bool,
) -> None:
    job = begun()
    if judged:
        keep(job, report("pass"))
    (job.directory.parents[2] / "github_step_summary").mkdir()
    assert main(["publish"]) == 0
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["success" if judged else "failure"]
    assert len(github.comments(pull.number)) == 1
    assert "GITHUB_STEP_SUMMARY: cannot be written" in capsys.readouterr().out


def test_a_full_disk_keeps_no_verdict_back(github: GitHub, pull: PullRequest, begun: Callable[..., Job]) -> None:
    """Where not even `not judged` can be kept, it is said on GitHub all the same."""
    job = begun()
    shutil.rmtree(job.upload)
    job.upload.write_text("no folder any more")
    assert main(["publish"]) == 0
    assert [check["conclusion"] for check in github.check_runs(pull.head_sha)] == ["failure"]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        pytest.param("pull_request", "of this pull request can only read; the reporting workflow publishes", id="pull"),
        pytest.param("push", "of this job can only read, as after a push of Dependabot; its exit code is", id="push"),
    ],
)
def test_a_job_of_dependabot_says_where_its_verdict_is(
    github: GitHub,
    pull: PullRequest,
    begun: Callable[..., Job],
    capsys: pytest.CaptureFixture[str],
    event: str,
    said: str,
) -> None:
    """No reporting workflow follows on a push."""
    keep(begun(event, actor="dependabot[bot]"), report("pass"))
    assert main(["publish"]) == 0
    assert f"the token {said}" in capsys.readouterr().out
    assert (github.comments(pull.number), github.check_runs(pull.head_sha)) == ([], [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_reporting_job_that_is_cancelled_while_it_waits_completes_the_check(
    github: GitHub, begun: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """GitHub makes it wait for the artifact; it is ended, and the next step fails what it has put in progress."""
    pull = github.fork_pull()
    job = begun()
    limited = {"message": "You have exceeded a secondary rate limit."}
    github.status("GET", "/actions/runs/7/artifacts", 403, json=limited, headers={"Retry-After": "120"}, times=100)
    plays_runs(github, pull, {})
    told = environment(job.directory, github, "workflow_run", pull=pull)
    process = start(
        [sys.executable, "-u", "-c", "import sys; from rankgate.cli.action import main; sys.exit(main(['judge']))"],
        env={**os.environ, **told, "PYTHONPATH": str(Path(rankgate.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout or ():
        if "wait" in line:
            break
    open_yet = [check["status"] for check in github.check_runs(pull.head_sha)]
    process.send_signal(number)
    process.communicate(timeout=300)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert main(["publish"]) == 0
    assert open_yet == ["in_progress"]
    (check,) = github.check_runs(pull.head_sha)
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    assert "the job ended before there was a verdict" in check["output"]["summary"]
