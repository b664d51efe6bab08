"""A check at the base of a pull request: what of the job's environment its process sees."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests import repositories
from tests.baselines.test_git_token import TOKEN, GitServer
from tests.baselines.test_git_token import certificate as certificate  # noqa: PLC0414 -- a fixture
from tests.baselines.test_git_token import server as server_of_git
from tests.forges.proxy import Proxy
from tests.forges.storage import Storage
from tests.forges.test_artifact_store import leaves, lists, run_of

from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.forges.base_checkout import BaseCheckout
from rankgate.forges.context import Pull
from rankgate.renderers.isolation import LOADER


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file into which an interpreter that does nothing else writes its environment."""
    interpreter, told = tmp_path / "python", tmp_path / "seen"
    interpreter.write_text(f"#!/bin/sh\nenv > {told}\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    return told


@pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is a shell script")
def test_the_process_gets_what_its_interpreter_needs_to_start_and_neither_token_nor_event(
    seen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the loader's variables a Python of setup-python that was built as a shared library would not start."""
    clone = tmp_path / "clone"
    clone.mkdir()
    repositories.git("init", "--quiet", at=clone)
    base = repositories.commit(clone)
    needed = {name: f"/nowhere/{name}" for name in LOADER}
    kept = needed | {"LANG": "C", "HOME": str(tmp_path)}
    secret = {"GITHUB_TOKEN": "t", "RANKGATE_TOKEN": "t", "GITHUB_EVENT_PATH": "e", "PYTHONPATH": "p"}
    for name, value in (kept | secret).items():
        monkeypatch.setenv(name, value)
    pull = Pull(number=1, head_sha="a" * 40, base_ref="main", base_sha=base, head_repository=2, from_fork=True)
    with pytest.raises(RankgateError, match="left no report"):
        BaseCheckout(repository=clone, date="2026-01-31").judge(pull, b"")
    environment = dict(line.split("=", 1) for line in seen.read_text().splitlines())
    assert kept.items() <= environment.items()
    assert not secret.keys() & environment.keys()
    assert environment["PATH"] == os.environ["PATH"]


git_server = server_of_git  # the fixture, whose name is the emulator's here

CRITERIA = """\
gates: [{{name: recall@1, threshold: 0.2, regression_max: 0.15, drift_max: 0.15}}]
inputs: {{gold: gold.yaml, baseline: "{}"}}
baseline: {{anchor: first}}
"""


def run(right: int) -> bytes:
    """A run that answers so many of ten questions."""
    lines = [{"query_id": f"q{n}", "retrieved": [f"d{n}" if n < right else "x"]} for n in range(10)]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def base_with(baseline: str) -> Pull:
    """Criteria that name a baseline, committed in the current directory, and a pull request into that."""
    Path("gold.yaml").write_text("".join(f"- {{id: q{n}, expected_output: [d{n}]}}\n" for n in range(10)))
    Path("ship-criteria.yaml").write_text(CRITERIA.format(baseline))
    Path(".gitignore").write_text("*.jsonl\n")
    Path("run.jsonl").write_bytes(run(10))
    return Pull(
        number=1, head_sha="a" * 40, base_ref="main", base_sha=repositories.commit(), head_repository=2, from_fork=True
    )


def accept(baseline: str) -> None:
    words = ["--run", "run.jsonl", "--date", "2026-01-01", "--reason", "first"]
    assert main(["baseline", "accept", *words, "--to", baseline]) == 0
    assert main(["baseline", "anchor", "first", "--baseline", baseline]) == 0


def judged(pull: Pull, right: int, *arguments: str) -> Any:
    """The gate, beside it the drift from the anchor where there is one, and what was compared with."""
    at_base = BaseCheckout(repository=Path.cwd(), date="2026-01-31", arguments=arguments)
    report = at_base.judge(pull, run(right))
    assert report.problems == []
    return report.gates, report.provenance.baseline


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that is the current directory, as the checkout of the reporting job."""
    repositories.git("init", "--quiet", "--initial-branch=main", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")


def test_a_private_branch_is_fetched_here_with_the_token_that_the_check_has_not(
    git_server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKGATE_TOKEN", TOKEN)
    pull = base_with("git+branch:baselines")
    accept("git+branch:baselines")
    git_server.private = True
    gates, baseline = judged(pull, 5)
    assert [(each.since, each.baseline, each.verdict.value) for each in gates] == [
        (None, 1.0, "fail"),
        ("first", 1.0, "fail"),
    ]
    assert (baseline.path, baseline.lineage.how) == ("git+branch:baselines", "merge_base")
    monkeypatch.delenv("RANKGATE_TOKEN")
    with pytest.raises(RankgateError, match="git\\+branch:baselines: cannot be fetched from origin"):
        judged(pull, 5)


def test_a_bucket_is_read_here_and_what_the_caller_names_wins(clone: None, tmp_path: Path) -> None:
    """A folder stands for the bucket: it is the same store."""
    bucket = f"file://{tmp_path}/bucket"
    pull = base_with("s3://another/bucket")
    accept(bucket)
    gates, baseline = judged(pull, 9, "--baseline", bucket)
    assert (gates[0].baseline, Path(baseline.path).name) == (1.0, "bucket")


@pytest.fixture
def of_github(clone: None, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the job has beside its checkout."""
    monkeypatch.setenv("GITHUB_API_URL", proxy.url)
    monkeypatch.setenv("GITHUB_REPOSITORY", proxy.emulator.repository)
    monkeypatch.setenv("RANKGATE_TOKEN", proxy.emulator.token)


def test_an_artifact_is_that_of_the_pull_requests_own_base_branch(
    of_github: None, proxy: Proxy, storage: Storage
) -> None:
    """The event that starts the reporting job names no base branch."""
    pull = base_with("artifact:rankgate")
    lists(proxy, run_of(proxy, 7, head_branch="release", head_sha=pull.base_sha))
    leaves(proxy, storage, 7, run(10))
    repositories.git("branch", "release")
    gates, baseline = judged(replace(pull, base_ref="release"), 9)
    assert (gates[0].baseline, baseline.lineage.commit) == (1.0, pull.base_sha)
    assert "branch=release" in proxy.asked("GET", "/workflows/")[0].path


def test_where_nothing_was_accepted_yet_there_is_no_baseline(of_github: None, proxy: Proxy) -> None:
    lists(proxy)
    gates, baseline = judged(base_with("artifact:rankgate"), 5)
    assert (gates[0].baseline, baseline) == (None, None)


def test_a_baseline_that_cannot_be_fetched_is_no_verdict(of_github: None, proxy: Proxy) -> None:
    proxy.play("GET", "/actions/workflows/rankgate.yml/runs", 403, json={"message": "Resource not accessible"})
    with pytest.raises(RankgateError, match="the job needs `permissions: actions: read`"):
        judged(base_with("artifact:rankgate"), 5)


def linked_file() -> None:
    Path("ship-criteria.yaml").unlink()
    Path("ship-criteria.yaml").symlink_to("/proc/self/environ")


def linked_folder(secret: Path) -> None:
    Path("ship-criteria.yaml").rename(secret / "ship-criteria.yaml")
    Path("ship-criteria.yaml").symlink_to(secret / "ship-criteria.yaml")


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("aim", ["environ", "elsewhere"])
def test_a_link_of_the_base_shows_this_process_nothing(clone: None, tmp_path: Path, aim: str) -> None:
    """The base may be a branch that the pull request's author made; what the check reads there has no secret."""
    base_with("artifact:rankgate")
    if aim == "environ":
        linked_file()
    else:
        linked_folder(tmp_path)
    pull = Pull(
        number=1, head_sha="a" * 40, base_ref="main", base_sha=repositories.commit(), head_repository=2, from_fork=True
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RANKGATE_TOKEN", TOKEN)
        report = BaseCheckout(repository=Path.cwd(), date="2026-01-31").judge(pull, run(5))
    assert report.verdict.value == "not_judged"
    assert not any(TOKEN in problem.message for problem in report.problems)
