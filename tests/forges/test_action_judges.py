"""The action with `judge: "true"`: whom it asks for a pull request, what it keeps, and what it does not read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.forges.events import environment
from tests.forges.github import GitHub, PullRequest
from tests.forges.scripted import InstantClock
from tests.judge.calibrated import always, calibrated
from tests.judge.hash_judge import KEY, HashJudge, judging, status
from tests.repositories import commit, git

import rankgate.forges.client
from rankgate.cli.action import Job, main, this_job
from rankgate.judge import client
from rankgate.judge.store import read_verdicts

COUNT = 5
CRITERIA = """\
judge:
  endpoint: '{}'
  model: hash-2026-01-01
  structured: json_schema
  calibration: {{file: calibration.json, max_days: 99999}}
evidence: estimate
gates:
  - {{name: recall@1, threshold: 0.9}}
  - {{name: faithfulness, threshold: 0.9, severity: error}}
  - {{name: answered_rate, threshold: 0.5}}
inputs: {{gold: gold.yaml, run: run.jsonl}}
"""


def write_run(wrong: int = 0) -> None:
    lines: list[dict[str, Any]] = []
    for n in range(COUNT):
        fact = f"Article {n} costs {n} euros."
        items = [{"chunk_id": f"d{n}", "text": fact}]
        lines.append({"query_id": f"q{n}", "topk": items, "answer": "It is a gift." if n < wrong else fact})
    Path("run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HashJudge]:
    """The base's judge; the current directory is the job's checkout, on a branch whose criteria name another model."""
    monkeypatch.setattr(client, "pause", lambda *_: 0.0)
    monkeypatch.setattr(rankgate.forges.client, "Clock", InstantClock)
    (clone := tmp_path / "clone").mkdir()
    monkeypatch.chdir(clone)
    git("init", "--quiet", "--initial-branch", "main", ".")
    Path(".gitignore").write_text("run*\n.rankgate\n")
    Path("gold.yaml").write_text(
        "".join(f"- {{id: q{n}, input: 'Is it {n}?', expected_output: [d{n}]}}\n" for n in range(COUNT))
    )
    with judging() as found:
        Path("ship-criteria.yaml").write_text(CRITERIA.format(found.address))
        calibrated("ship-criteria.yaml", always(1.0, COUNT), "calibration.json")
        commit()
        git("switch", "--quiet", "--create", "change")
        Path("ship-criteria.yaml").write_text(CRITERIA.format(found.address).replace("hash-2026", "easy-2026"))
        commit()
        write_run()
        yield found


class Jobs:
    """Jobs of the action, one after the other, each with what the one before has left in the cache."""

    def __init__(
        self, place: Path, github: GitHub, patched: pytest.MonkeyPatch, out: pytest.CaptureFixture[str]
    ) -> None:
        self.place, self.github, self.patched, self.out = place, github, patched, out

    def judged(self, pull: PullRequest, code: int = 0, **about: Any) -> tuple[Job, dict[str, Any], str]:
        """The job once it has judged, its report, and its log."""
        told = environment(self.place, self.github, "pull_request", pull=pull, **about)
        told |= {
            name: str(self.place / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")
        }
        told |= {"RANKGATE_JUDGE": "true", "RANKGATE_BASE": "main", "RANKGATE_JUDGE_KEY": KEY, "CI": "true"}
        for name, value in told.items():
            self.patched.setenv(name, value)
        directory, cache = self.place / "runner_temp" / "rankgate" / "gate-default", self.place / "cache"
        assert main(["begin"]) == 0
        self.patched.setenv("RANKGATE_DIRECTORY", str(directory))
        if cache.exists():
            shutil.copytree(cache, directory / "verdicts")
        assert main(["judge"]) == code
        if (directory / "verdicts").exists():
            shutil.copytree(directory / "verdicts", cache, dirs_exist_ok=True)
        report = json.loads((directory / "upload" / "report.json").read_bytes())
        return this_job(), report, "".join(self.out.readouterr())


@pytest.fixture
def jobs(
    asked: HashJudge,
    tmp_path: Path,
    github: GitHub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Jobs:
    return Jobs(tmp_path, github, monkeypatch, capsys)


def verdict_of(report: dict[str, Any], name: str) -> tuple[str, float | None]:
    [gate] = [each for each in report["gates"] if each["name"] == name]
    return gate["verdict"], gate["value"]


def test_a_pull_request_is_judged_by_the_bases_judge_once_and_its_verdicts_go_into_cache_and_artifact(
    asked: HashJudge, jobs: Jobs, github: GitHub, tmp_path: Path
) -> None:
    pull = github.new_pull()
    job, report, log = jobs.judged(pull)
    assert verdict_of(report, "faithfulness") == ("pass", 1.0)
    assert {body["model"] for body in asked.requests} == {"hash-2026-01-01"}
    assert (len(asked.requests), set(asked.keys)) == (2 * COUNT, {f"Bearer {KEY}"})
    assert len(read_verdicts(job.upload / "run.verdicts.jsonl")) == 2 * COUNT
    lines = log.splitlines()
    begins = next(n for n, line in enumerate(lines) if line.startswith("::stop-commands::"))
    assert any(line == f"{COUNT} answers: {COUNT} judged" for line in lines[begins:])
    assert not any(mark in log for mark in ("\x1b", "\r", KEY)), "no bar, and no key"
    assert f"`{COUNT} answers: {COUNT} judged`" in (tmp_path / "github_step_summary").read_text()
    write_run(wrong=2)
    _, again, _ = jobs.judged(pull, run=102)
    assert verdict_of(again, "faithfulness") == ("fail", 0.6)
    assert len(asked.requests) == 2 * COUNT + 2 * 2, "the rest is in the cache"


def test_what_the_job_or_the_commit_leaves_as_verdicts_is_not_read(
    asked: HashJudge, jobs: Jobs, github: GitHub
) -> None:
    write_run(wrong=COUNT)
    pull = github.new_pull()
    job, _, _ = jobs.judged(pull)
    said = (job.upload / "run.verdicts.jsonl").read_bytes()
    shutil.rmtree(jobs.place / "cache")
    Path("run.verdicts.jsonl").write_bytes(said.replace(b'"absent"', b'"supported"').replace(b"[]", b"[1]"))
    git("add", "--force", "run.verdicts.jsonl")
    commit()
    before = len(asked.requests)
    _, report, _ = jobs.judged(pull, run=102)
    assert verdict_of(report, "faithfulness") == ("fail", 0.0)
    assert len(asked.requests) == 2 * before


def test_a_forks_own_job_asks_nobody_and_its_gates_wait(asked: HashJudge, jobs: Jobs, github: GitHub) -> None:
    _, report, _ = jobs.judged(github.fork_pull())
    assert asked.requests == []
    assert (verdict_of(report, "recall@1")[0], verdict_of(report, "faithfulness")) == ("pass", ("warn", None))


def test_the_check_goes_on_where_the_judge_cannot_be_asked(asked: HashJudge, jobs: Jobs, github: GitHub) -> None:
    asked.always = status(401)
    _, report, log = jobs.judged(github.new_pull())
    assert (report["verdict"], verdict_of(report, "recall@1")[0]) == ("not_judged", "pass")
    assert any("does not take it for" in note for note in report["notes"])
    assert "::warning title=rankgate::Not all answers were judged: " in log
