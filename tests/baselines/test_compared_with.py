"""Compared with what: the run that was accepted where a pull request left main, from a store that remembers several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.repositories import commit, git

from rankgate.cli import main

STORE = "git+branch:rankgate-baselines"
CRITERIA = "gates: [{name: recall@1, regression_max: 0.15}]\ninputs: {gold: gold.yaml}\n"


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Four commits on main. Accepted were a run that finds all ten, for the first, and one of 5, for the third."""
    git("init", "--quiet", "--bare", "--initial-branch", "main", "origin.git", at=tmp_path)
    git("clone", "--quiet", "origin.git", "team", at=tmp_path)
    monkeypatch.chdir(tmp_path / "team")
    Path(".gitignore").write_text("run-*.jsonl\nreport.json\n")
    Path("gold.yaml").write_text("".join(f"- {{id: q{n}, expected_output: [d{n}]}}\n" for n in range(10)))
    Path("ship-criteria.yaml").write_text(CRITERIA)
    for right in (5, 10):
        lines = [{"query_id": f"q{n}", "retrieved": [f"d{n}" if n < right else "x"]} for n in range(10)]
        Path(f"run-{right}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shas = []
    for day, found in enumerate(("10", "", "5", ""), start=1):
        Path("step").write_text(str(day))
        shas.append(commit())
        git("push", "--quiet", "origin", "HEAD:main")
        if found:
            words = ["--baseline", STORE, "--run", f"run-{found}.jsonl", "--date", f"2026-01-0{day}", "--reason", "ok"]
            assert main(["baseline", "accept", *words]) == 0
    return shas


def compared(right: int = 10) -> tuple[dict[str, Any], dict[str, Any]]:
    """The only gate, and what it was compared with."""
    words = ["--run", f"run-{right}.jsonl", "--baseline", STORE, "--base", "origin/main", "--date", "2026-01-13"]
    main(["check", *words, "-o", "report.json"])
    report = json.loads(Path("report.json").read_text())
    return report["gates"][0], report["provenance"]["baseline"]["lineage"]


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


def test_a_shallow_clone_looks_as_far_as_it_goes(
    story: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = (tmp_path / "origin.git").as_uri()
    git("clone", "--quiet", "--depth", "1", origin, "shallow", at=tmp_path)
    monkeypatch.chdir(tmp_path / "shallow")
    Path("run-10.jsonl").write_bytes((tmp_path / "team" / "run-10.jsonl").read_bytes())
    gate, lineage = compared()
    assert gate["baseline"] == 0.5
    assert (lineage["how"], lineage["commit"]) == ("newest", story[2])
