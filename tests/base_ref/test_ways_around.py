"""Further ways around the gate, each tried on a real repository: the run, the gold set, what the job wrote, and git.

The story is that of `test_sides`: the pull request's run loses two of five questions, and by the base it fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.base_ref.test_sides import (
    FAIL,
    HARD,
    NOT_JUDGED,
    PASS,
    QUERIES,
    WARN,
    accept,
    gold,
    replace_in,
    write_run,
)
from tests.base_ref.test_sides import repository as repository  # noqa: PLC0414 -- the fixture
from tests.repositories import commit, git

from rankgate.check import check
from rankgate.cli import main
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.files.git import GitError
from rankgate.model.reasons import sentences
from rankgate.model.report import Report
from rankgate.model.waiver_use import ACCEPT_CHANGE, SetLabel


def judge(*labels: SetLabel, run: str | None = None, gold_file: str | None = None) -> Report:
    named, judged = InputFile(run) if run else None, InputFile(gold_file) if gold_file else None
    return check(Inputs(date="2026-01-31", base="main", run=named, gold=judged, labels=labels))


def on_main(change: Callable[[], object]) -> None:
    """Commit a change on main, and begin the pull request anew there."""
    git("switch", "--quiet", "main")
    change()
    commit()
    git("switch", "--quiet", "--force-create", "pull")


def moved_to(folder: str, file: str) -> None:
    Path(folder).mkdir()
    git("mv", file, f"{folder}/{file}")


def names_run(path: str) -> None:
    replace_in("ship-criteria.yaml", "run: run.jsonl", f"run: {path}")


# Which run is judged.


def test_the_base_says_how_its_run_is_read(repository: Path) -> None:
    """A map that takes another list of the same file for the ranking."""
    lines = (
        {"query_id": query, "topk": [{"chunk_id": "doc-q1"}], "old": [{"chunk_id": f"doc-{query}"}]}
        for query in QUERIES
    )
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    names_run("{path: run.jsonl, map: {query_id: query_id, items: old, chunk_id: chunk_id}}")
    commit()
    assert check(Inputs(date="2026-01-31")).verdict is PASS
    assert judge().verdict is FAIL


def _linked_file() -> None:
    Path("run.jsonl").unlink()
    Path("accepted.jsonl").write_text("")
    Path("run.jsonl").symlink_to("accepted.jsonl")


def _dangling() -> None:
    _linked_file()
    Path("accepted.jsonl").unlink()
    names_run("moved.jsonl")
    write_run(Path("moved.jsonl"))


def _linked_folder() -> None:
    on_main(lambda: names_run("out/run.jsonl"))
    Path("kept").mkdir()
    write_run(Path("kept/run.jsonl"))
    Path("out").symlink_to("kept")


# What a pull request does to the gold set.


def relabel_lost() -> None:
    Path("gold.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5"))


# What the job wrote.


def test_criteria_that_the_base_ignored_are_none_of_the_base(repository: Path) -> None:
    """A place that comes first and that no commit knows does not hide the base's, whoever wrote it."""
    Path(".git/info/exclude").write_text("config\n")
    Path("config").mkdir()
    Path("config/ship-criteria.yaml").write_text("gates: 5\n")
    commit()
    found = check(Inputs(date="2026-01-31", base="main", criteria="ship-criteria.yaml"))
    assert (found.verdict, found.base and found.base.introduced) == (FAIL, False)


# The baseline.


@pytest.mark.parametrize("change", ["another branch", "none", "a folder of the store's name"])
def test_a_store_that_the_base_names_decides(repository: Path, change: str) -> None:
    """The pull request names a branch that it has filled itself, or puts a folder in the store's place."""
    spec = "git+branch:accepted"
    write_run(Path("run.jsonl"))
    on_main(lambda: replace_in("ship-criteria.yaml", "baseline: baseline", f"baseline: {spec}"))
    assert main(["baseline", "accept", "--run", "run.jsonl", "--to", spec, "--reason", "first"]) == 0
    write_run(Path("run.jsonl"), lost=HARD)
    replace_in("ship-criteria.yaml", "threshold: 0.85, ", "")
    if change == "another branch":
        assert main(["baseline", "accept", "--run", "run.jsonl", "--to", "git+branch:mine", "--reason", "mine"]) == 0
        replace_in("ship-criteria.yaml", spec, "git+branch:mine")
    elif change == "none":
        replace_in("ship-criteria.yaml", f", baseline: {spec}", "")
        replace_in("ship-criteria.yaml", ", regression_max: 0.03", ", threshold: 0.1")
    else:
        accept(Path(spec), Path("run.jsonl"))
        git("add", "--force", spec)
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert any("recall@5 dropped from 100.0% to 60.0%" in reason for gate in found.gates for reason in sentences(gate))


# Git, YAML, packages, the environment.


@pytest.mark.parametrize(
    "ref", ["main..pull", "^main", "--help", ":/change^{tree}", "main:gold.yaml", "@{-9}", "main\n"]
)
def test_what_names_no_single_commit_is_no_base(repository: Path, ref: str) -> None:
    with pytest.raises(GitError):
        check(Inputs(date="2026-01-31", base=ref))


def test_replaced_objects_and_grafts_change_no_base(repository: Path) -> None:
    before = git("rev-parse", "main")
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    after = commit()
    git("replace", before, after)
    assert judge().verdict is FAIL


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_DIR": "/nowhere"},
        {"GIT_OBJECT_DIRECTORY": "/nowhere"},
        {"GIT_INDEX_FILE": "/nowhere"},
        {"GIT_NAMESPACE": "mine"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.worktree", "GIT_CONFIG_VALUE_0": "/"},
        {"GIT_CONFIG_PARAMETERS": "'core.worktree=/tmp'"},
        {"GIT_ATTR_SOURCE": "pull"},
        {"RANKGATE_BASE": "pull", "RANKGATE_CRITERIA": "mild.yaml"},
        {"GITHUB_BASE_REF": "pull"},
        {"GITHUB_WORKSPACE": "/nowhere"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_variables_of_the_environment_lead_nowhere_else(
    repository: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    """As a step before ours may set them; what git cannot be asked for is no verdict, and never a pass."""
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["check", "--base", "main"]) in (1, 2)


@pytest.mark.parametrize(
    ("attributes", "configured"),
    [("gold.yaml filter=easy\n", True), ("gold.yaml ident\n", False), ("* text eol=crlf\n", False)],
    ids=["a filter", "ident", "line ends"],
)
def test_attributes_change_nothing_of_what_the_base_has(repository: Path, attributes: str, *, configured: bool) -> None:
    if configured:
        git("config", "filter.easy.smudge", "sed s/doc-q4/other-q4/g")
        git("config", "filter.easy.clean", "cat")
    Path(".gitattributes").write_text(attributes)
    relabel_lost()
    commit()
    assert judge().verdict is FAIL


@pytest.mark.parametrize("key", ["recall", "mrr"])
def test_a_package_of_the_pull_request_takes_no_metrics_place(repository: Path, tmp_path: Path, key: str) -> None:
    """Installed by the job, with a metric of a known name that is always 1; nothing of it is imported."""
    package = tmp_path / "installed"
    (package / "mine-1.dist-info").mkdir(parents=True)
    (package / "mine-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (package / "mine-1.dist-info" / "entry_points.txt").write_text(f"[rankgate.metrics]\n{key} = mine:Mine\n")
    (package / "mine.py").write_text("open('imported', 'w')\n")
    commit()
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "rankgate", "check", "--base", "main", "--format", "json"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (found.returncode, json.loads(found.stdout)["verdict"]) == (1, "fail"), found.stderr
    assert not Path("imported").exists()


def test_files_of_our_own_name_in_the_repository_are_not_read(repository: Path) -> None:
    """There is no configuration beside the criteria."""
    Path(".rankgate").mkdir()
    for name in (".rankgate/config.yaml", ".rankgate.yaml", "rankgate.toml", "pyproject.toml", "sitecustomize.py"):
        Path(name).write_text("[tool.rankgate]\nbase = 'none'\n")
    commit()
    assert judge().verdict is FAIL


def test_a_pointer_to_lfs_in_place_of_the_gold_set_is_not_judged_by(repository: Path) -> None:
    """Its own side cannot be read; the base's is no way out."""
    Path("gold.yaml").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n")
    commit()
    with pytest.raises(RankgateError, match=r"gold\.yaml"):
        judge()


def test_a_gold_set_that_becomes_a_submodule_leaves_the_bases(repository: Path, tmp_path: Path) -> None:
    on_main(lambda: moved_to("gold", "gold.yaml"))
    on_main(lambda: replace_in("ship-criteria.yaml", "gold: gold.yaml", "gold: gold/gold.yaml"))
    other = tmp_path / "other"
    other.mkdir()
    git("init", "--quiet", ".", at=other)
    (other / "gold.yaml").write_text(gold("q1", "q2", "q3"))
    commit(other)
    git("rm", "-r", "--quiet", "gold")
    git("submodule", "--quiet", "add", str(other), "gold")
    commit()
    assert judge().verdict is FAIL


def test_a_merge_that_takes_nothing_over_undoes_nothing_of_the_base(repository: Path) -> None:
    """`git merge -s ours main`: the branch has the base among its parents, and none of its files."""
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.9")
    commit()
    git("switch", "--quiet", "pull")
    git("merge", "--quiet", "--strategy", "ours", "--no-edit", "main")
    found = judge()
    assert found.verdict is FAIL
    assert any("below the floor of 90.0%" in text for gate in found.gates for text in sentences(gate))


def test_a_link_that_the_caller_names_is_refused_and_a_pipe_is_none(repository: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(repository / "run.jsonl")
    commit()
    assert "is a symbolic link" in str(judge(run=str(link)).problems[0])
    command = f"{sys.executable} -m rankgate check --base main --run <(cat run.jsonl) --format json"
    piped = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (piped.returncode, json.loads(piped.stdout)["verdict"]) == (1, "fail"), piped.stderr


def test_a_run_in_a_submodule_is_one_of_the_commit(repository: Path, tmp_path: Path) -> None:
    """The pull request makes the folder of the run a submodule, in which the accepted run is committed."""
    on_main(lambda: names_run("out/run.jsonl"))
    other = tmp_path / "other"
    other.mkdir()
    git("init", "--quiet", ".", at=other)
    write_run(other / "run.jsonl")
    commit(other)
    git("submodule", "--quiet", "add", str(other), "out")
    commit()
    found = judge()
    assert found.verdict is NOT_JUDGED
    assert "only the pull request's commit has this run" in str(found.problems[0])


def test_names_that_differ_in_capital_letters_are_other_files(repository: Path) -> None:
    """Where the file system knows both; where it does not, the criteria are no file of the commit by that name."""
    git("mv", "ship-criteria.yaml", "Ship-Criteria.yaml")
    os.link("Ship-Criteria.yaml", "ship-criteria.yaml")  # as a file system without capital letters shows it
    Path(".git/info/exclude").write_text("ship-criteria.yaml\n")
    git("commit", "--quiet", "--message", "renamed")
    found = judge()
    assert (found.verdict, found.base and found.base.head_verdict) == (FAIL, NOT_JUDGED)


def test_a_folder_that_becomes_a_link_does_not_hide_the_bases_files(repository: Path) -> None:
    """The criteria's folder leads to milder ones."""
    on_main(lambda: moved_to("config", "ship-criteria.yaml"))
    text = Path("config/ship-criteria.yaml").read_text()
    Path("mild").mkdir()
    shutil.rmtree("config")
    named = text.replace("{gold: ", "{gold: ../").replace("run: ", "run: ../").replace("baseline: ", "baseline: ../")
    Path("mild/ship-criteria.yaml").write_text(named.replace("0.85, regression_max: 0.03", "0.1"))
    Path("config").symlink_to("mild")
    commit()
    found = judge(run="run.jsonl", gold_file="gold.yaml")
    assert found.base is not None
    assert found.base.introduced is False
    assert found.verdict is FAIL


@pytest.mark.parametrize("where", ["in a submodule", "behind a link that leaves the repository"])
def test_a_gold_set_of_the_base_that_git_does_not_hold_is_replaced_by_a_label(
    repository: Path, tmp_path: Path, where: str
) -> None:
    """Else main could never be mended."""
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy("gold.yaml", outside)
    if where == "in a submodule":
        git("init", "--quiet", ".", at=outside)
        commit(outside)
        on_main(lambda: git("submodule", "--quiet", "add", str(outside), "evals"))
        on_main(lambda: replace_in("ship-criteria.yaml", "gold: gold.yaml", "gold: evals/gold.yaml"))
        replace_in("ship-criteria.yaml", "gold: evals/gold.yaml", "gold: gold.yaml")
    else:
        on_main(lambda: Path("gold.yaml").unlink())
        on_main(lambda: Path("gold.yaml").symlink_to(outside / "gold.yaml"))
        Path("gold.yaml").unlink()
        shutil.copy(outside / "gold.yaml", "gold.yaml")
    write_run(Path("run.jsonl"))
    commit()
    found = judge()
    assert (found.verdict, len(found.problems)) == (NOT_JUDGED, 1)
    accepted = judge(SetLabel(name=ACCEPT_CHANGE, by="alice", standing="counts"))
    assert (accepted.verdict, accepted.base and accepted.base.accepted_by) == (WARN, "alice")
