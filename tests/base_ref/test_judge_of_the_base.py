"""A pull request chooses neither its judge nor its verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.base_ref.test_sides import judge, repository, write_run
from tests.repositories import commit, git

from rankgate.errors import RankgateError
from rankgate.model.values import Verdict

__all__ = ["repository"]

JUDGE = "judge: {endpoint: 'http://localhost:1/v1', model: m-2026-01-01}\n"
GATE = "  - {name: answered_rate, regression_max: 0.05}\n"


def with_judge(folder: Path, more: str = JUDGE) -> None:
    criteria = folder / "ship-criteria.yaml"
    text = criteria.read_text().replace(JUDGE, "")
    criteria.write_text(more + text)


@pytest.fixture
def judged(repository: Path) -> Path:
    """The same with a judge at the base."""
    git("switch", "--quiet", "main")
    with_judge(repository)
    commit()
    git("switch", "--quiet", "pull")
    git("merge", "--quiet", "main")
    commit()
    return repository


def test_verdicts_that_the_commit_brings_are_refused(judged: Path) -> None:
    (judged / "run.verdicts.jsonl").write_text("{}\n")
    judge()  # made by the job, and damaged, but no gate reads it
    git("add", "--force", "run.verdicts.jsonl")
    commit()
    with pytest.raises(RankgateError, match=r"verdicts\.jsonl: is a file of the commit; with --base"):
        judge()


def test_nor_do_they_count_beside_the_bases_run_or_without_a_judge_of_its_own(judged: Path) -> None:
    (judged / "run.verdicts.jsonl").write_text("")
    git("add", "--force", "run.verdicts.jsonl")
    criteria = judged / "ship-criteria.yaml"
    text = criteria.read_text()
    criteria.write_text(text.replace(JUDGE, ""))
    commit()
    with pytest.raises(RankgateError, match=r"verdicts\.jsonl: is a file of the commit; with --base"):
        judge()
    criteria.write_text(text.replace("run: run.jsonl", "run: other.jsonl"))
    (judged / "other.jsonl").write_bytes((judged / "run.jsonl").read_bytes())
    commit()
    with pytest.raises(RankgateError, match=r"verdicts\.jsonl: is a file of the commit; with --base"):
        judge()


def test_another_judge_is_named_and_warns(judged: Path) -> None:
    assert judge().base is not None
    with_judge(judged, JUDGE.replace("m-2026", "easy-2026"))
    commit()
    report = judge()
    assert report.base is not None
    assert [(key.key, key.weakens) for key in report.base.keys] == [("judge.model", True)]
    assert any("judge.model" in warning for warning in report.warnings)


def test_a_gate_on_answers_that_nobody_judged_does_not_let_a_change_pass(judged: Path) -> None:
    criteria = judged / "ship-criteria.yaml"
    criteria.write_text(criteria.read_text().replace("gates:\n", f"gates:\n{GATE}"))
    write_run(judged / "run.jsonl")
    commit()
    (problem,) = judge().problems
    assert "answered_rate reads `answer`, which the run states nowhere" in str(problem)
    lines = (judged / "run.jsonl").read_text().splitlines()
    (judged / "run.jsonl").write_text("".join(line[:-1] + ', "answer": "Yes."}\n' for line in lines))
    report = judge()
    assert report.base is not None
    assert (report.verdict, report.base.head_verdict) == (Verdict.WARN, Verdict.WARN), "nobody has checked this judge"
