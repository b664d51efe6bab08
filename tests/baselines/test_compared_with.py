"""Compared with what: the run that was accepted where a pull request left main, from a store that remembers several."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from tests.repositories import commit, git, sha_of_commit

from rankgate.cli import main
from rankgate.cli.action import main as action
from rankgate.cli.action import new_job

STORE = "git+branch:rankgate-baselines"
CRITERIA = "gates: [{name: recall@1, regression_max: 0.15}]\ninputs: {gold: gold.yaml}\n"


@pytest.fixture(scope="module")
def told_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A remote and a clone of it, `team`."""
    place = tmp_path_factory.mktemp("story")
    git("init", "--quiet", "--bare", "--initial-branch", "main", "origin.git", at=place)
    git("clone", "--quiet", "origin.git", "team", at=place)
    git("config", "remote.origin.url", "../origin.git", at=place / "team")
    with chdir(place / "team"):
        return place, four_commits()


def four_commits() -> list[str]:
    Path(".gitignore").write_text("run-*.jsonl\nreport.json\n")
    Path("gold.yaml").write_text("".join(f"- {{id: q{n}, expected_output: [d{n}]}}\n" for n in range(10)))
    Path("ship-criteria.yaml").write_text(CRITERIA)
    for right in (5, 10):
        lines = [{"query_id": f"q{n}", "retrieved": [f"d{n}" if n < right else "x"]} for n in range(10)]
        Path(f"run-{right}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shas = []
    for day, found in enumerate(("10", "", "5", ""), start=1):
        Path("step").write_text(str(day))
        shas.append(sha_of_commit())
        git("push", "--quiet", "origin", "HEAD:main")
        if found:
            words = ["--baseline", STORE, "--run", f"run-{found}.jsonl", "--date", f"2026-01-0{day}", "--reason", "ok"]
            assert main(["baseline", "accept", *words]) == 0
    return shas


@pytest.fixture
def story(told_once: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Four commits on main. Accepted were a run that finds all ten, for the first, and one of 5, for the third."""
    place, shas = told_once
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "team")
    return shas


def compared(right: int = 10) -> tuple[dict[str, Any], dict[str, Any]]:
    """The only gate, and what it was compared with."""
    words = ["--run", f"run-{right}.jsonl", "--baseline", STORE, "--base", "origin/main", "--date", "2026-01-13"]
    main(["check", *words, "-o", "report.json"])
    report = json.loads(Path("report.json").read_text())
    return report["gates"][0], report["provenance"]["baseline"]["lineage"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("left_at", "baseline", "how", "accepted_for", "behind"),
    [
        pytest.param(0, 1.0, "merge_base", 0, 0, id="where a run was accepted"),
        pytest.param(1, 1.0, "ancestor", 0, 1, id="one commit later: the nearest before"),
        pytest.param(2, 0.5, "merge_base", 2, 0, id="where the next was accepted"),
        pytest.param(3, 0.5, "ancestor", 2, 1, id="at the tip"),
    ],
)
def test_a_pull_request_is_compared_with_what_held_where_it_left_main(
    story: list[str], left_at: int, baseline: float, how: str, accepted_for: int, behind: int
) -> None:
    git("switch", "--quiet", "--create", "topic", story[left_at])
    commit()
    gate, lineage = compared()
    assert gate["baseline"] == baseline
    assert (lineage["how"], lineage["commit"], lineage["commits_behind"]) == (how, story[accepted_for], behind)
    assert lineage["days_behind"] == 12 - accepted_for


def test_a_branch_without_a_common_ancestor_is_compared_as_the_tip_of_main_is(story: list[str]) -> None:
    git("checkout", "--quiet", "--orphan", "other")
    commit()
    gate, lineage = compared()
    assert gate["baseline"] == 0.5
    assert (lineage["how"], lineage["commit"], lineage["commits_behind"]) == ("ancestor", story[2], 1)


@pytest.mark.full
def test_a_shallow_clone_looks_as_far_as_it_goes(
    story: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = (tmp_path / "origin.git").as_uri()
    git("clone", "--quiet", "--depth", "1", origin, "shallow", at=tmp_path)
    monkeypatch.chdir(tmp_path / "shallow")
    commit()
    Path("run-10.jsonl").write_bytes((tmp_path / "team" / "run-10.jsonl").read_bytes())
    gate, lineage = compared()
    assert gate["baseline"] == 0.5
    assert (lineage["how"], lineage["commit"]) == ("newest", story[2])


# Where no ancestor has any


@pytest.fixture
def shallow(story: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job's commit on a clone of the tip of main alone; what was accepted last is of another branch. The tip."""
    words = ["--baseline", STORE, "--run", "run-10.jsonl", "--date", "2026-01-05", "--commit", "f" * 40]
    assert main(["baseline", "accept", *words, "--branch", "release"]) == 0
    git("clone", "--quiet", "--depth", "1", (tmp_path / "origin.git").as_uri(), "shallow", at=tmp_path)
    monkeypatch.chdir(tmp_path / "shallow")
    commit()
    Path("run.jsonl").write_bytes((tmp_path / "team" / "run-10.jsonl").read_bytes())
    return story[3]


@pytest.mark.full
@pytest.mark.parametrize(
    ("told", "branch"),
    [
        pytest.param({"GITHUB_BASE_REF": "main"}, "main", id="a pull request to main"),
        pytest.param({"GITHUB_BASE_REF": "release"}, "release", id="a pull request to another branch"),
        pytest.param({"GITHUB_REF": f"refs/heads/gh-readonly-queue/main/pr-7-{'a' * 40}"}, "main", id="the queue"),
        pytest.param({}, "release", id="nobody says, so the newest of all"),
    ],
)
def test_a_base_that_is_a_sha_is_of_the_branch_that_the_job_is_for(
    shallow: str, monkeypatch: pytest.MonkeyPatch, told: dict[str, str], branch: str
) -> None:
    for name in ("GITHUB_BASE_REF", "GITHUB_REF"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    main(["check", "--run", "run.jsonl", "--baseline", STORE, "--base", shallow, "-o", "report.json"])
    lineage = json.loads(Path("report.json").read_text())["provenance"]["baseline"]["lineage"]
    assert (lineage["how"], lineage["branch"]) == ("newest", branch)


@pytest.mark.full
def test_the_action_says_which_branch_its_base_is_of(
    shallow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"merge_group": {"head_sha": git("rev-parse", "HEAD").strip(), "base_sha": shallow}}
    (tmp_path / "event.json").write_text(json.dumps(event))
    told = {
        "GITHUB_EVENT_NAME": "merge_group",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REF": f"refs/heads/gh-readonly-queue/main/pr-7-{shallow}",
        "GITHUB_REPOSITORY": "acme/rag",
        "GITHUB_RUN_ID": "1",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path),
        "RANKGATE_RUN": "run.jsonl",
        "RANKGATE_BASELINE": STORE,
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    job = new_job()
    monkeypatch.setenv("RANKGATE_DIRECTORY", str(job.directory))
    assert action(["judge"]) == 0
    lineage = json.loads((job.upload / "report.json").read_text())["provenance"]["baseline"]["lineage"]
    assert (lineage["how"], lineage["branch"]) == ("newest", "main")


# One look for each check


@pytest.mark.full
def test_a_check_fetches_the_branch_once_however_much_it_compares(
    story: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the base's side and the questions that moved there are many comparisons, all with one state."""
    Path("ship-criteria.yaml").write_text(CRITERIA)
    commit()
    git("push", "--quiet", "origin", "HEAD:main")
    git("switch", "--quiet", "--create", "topic")
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("0.15", "0.2"))
    commit()
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(tmp_path / "trace"))
    compared(5)
    monkeypatch.delenv("GIT_TRACE2_EVENT")
    report = json.loads(Path("report.json").read_text())
    assert report["base"]["base_verdict"] == "pass"
    events = map(json.loads, (tmp_path / "trace").read_text().splitlines())
    started = [event["argv"] for event in events if event["event"] == "start"]
    assert sum("fetch" in argv for argv in started) == 1
