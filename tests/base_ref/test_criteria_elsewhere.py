"""A check that reads its criteria where the base has none, or in a folder that is not the base's any more.

The story is that of `test_sides`: the pull request's run loses two of five questions, and by the base it fails.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.base_ref.test_sides import CRITERIA, FAIL, HARD, NOT_JUDGED, PASS, QUERIES, accept, gold, told, write_run
from tests.base_ref.test_sides import repository as repository  # noqa: PLC0414 -- the fixture
from tests.base_ref.test_ways_around import on_main
from tests.repositories import commit, git

from rankgate.check import check
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.model.reasons import sentences
from rankgate.model.report import Report

MILD = CRITERIA.replace("0.85, regression_max: 0.03", "0.1").replace("threshold: 0.5}", "threshold: 0.1}")


def judge(criteria: str | None = None, *, run: str | None = None, baseline: str | None = None) -> Report:
    files = [InputFile(path) if path else None for path in (run, baseline)]
    return check(Inputs(date="2026-01-31", base="main", criteria=criteria, run=files[0], baseline=files[1]))


def gate_in(folder: str, text: str = CRITERIA, lost: tuple[str, ...] = ()) -> None:
    """A folder with a gate of its own and all that it reads."""
    Path(folder).mkdir(parents=True)
    Path(folder, "ship-criteria.yaml").write_text(text)
    Path(folder, "gold.yaml").write_text(gold(*QUERIES))
    write_run(Path(folder, "run.jsonl"))
    accept(Path(folder, "baseline"), Path(folder, "run.jsonl"))
    git("add", "--force", f"{folder}/baseline")
    write_run(Path(folder, "run.jsonl"), lost=lost)


# The criteria of this gate are elsewhere at the base.


def test_criteria_that_only_move_pass(repository: Path) -> None:
    """What they name is the same, written from another folder."""
    write_run(Path("run.jsonl"))
    Path("gates").mkdir()
    git("mv", "ship-criteria.yaml", "gates/search.yaml")
    text = Path("gates/search.yaml").read_text()
    for name in ("gold: ", "run: ", "baseline: "):
        text = text.replace(name, f"{name}../")
    Path("gates/search.yaml").write_text(text)
    commit()
    found = judge("gates/search.yaml")
    assert (found.verdict, found.warnings, told(found)) == (PASS, [], [])


# A second gate.


def test_a_second_gate_that_is_merged_is_like_any_other(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_main(lambda: gate_in("search"))
    Path("notes.txt").write_text("a change")
    commit()
    monkeypatch.chdir("search")
    found = judge()
    assert (found.verdict, found.warnings) == (PASS, [])


def test_which_of_the_bases_gates_a_check_reads_is_the_workflows_to_say(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that the page names: both are the base's, and nothing in a commit says which one the check was for."""
    on_main(lambda: gate_in("mild", MILD, lost=HARD))
    commit()
    assert judge().verdict is FAIL
    monkeypatch.chdir("mild")
    assert (judge().verdict, judge().warnings) == (PASS, [])


def test_the_common_ancestor_of_an_old_branch_has_an_old_gate(repository: Path) -> None:
    """Why the page says to require branches that are up to date."""
    write_run(Path("run.jsonl"), lost=("q5",))
    git("switch", "--quiet", "main")
    Path("ship-criteria.yaml").write_text(MILD)
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    commit()
    git("switch", "--quiet", "main")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    commit()
    git("switch", "--quiet", "pull")
    old = check(Inputs(date="2026-01-31", base=git("merge-base", "main", "HEAD")))
    assert (old.verdict, judge().verdict) == (PASS, FAIL)


# The working directory.


def test_links_that_lead_past_the_working_directory_are_nobodys_business(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_main(lambda: gate_in("search"))
    Path("docs").symlink_to("search/gold.yaml")
    Path("again").symlink_to("search")
    commit()
    monkeypatch.chdir("search")
    assert (judge().verdict, judge().warnings) == (PASS, [])


@pytest.mark.parametrize("how", ["a submodule", "files that look like a repository", "that, of another folder"])
def test_a_working_directory_with_a_repository_of_its_own_is_not_judged(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Its `main` is the pull request's as well; git takes a folder with `HEAD` and `objects` for a repository."""
    on_main(lambda: gate_in("search"))
    other = tmp_path / "other"
    other.mkdir()
    git("init", "--quiet", "--initial-branch", "main", ".", at=other)
    with monkeypatch.context() as here:
        here.chdir(other)
        Path("ship-criteria.yaml").write_text(MILD)
        Path("gold.yaml").write_text(gold(*QUERIES))
    commit(other)
    git("rm", "-r", "--quiet", "search")
    shutil.rmtree("search", ignore_errors=True)
    if how == "a submodule":
        git("submodule", "--quiet", "add", str(other), "search")
    else:
        shutil.copytree(other / ".git", "search")
        shutil.copy(other / "ship-criteria.yaml", "search")
        shutil.copy(other / "gold.yaml", "search")
        aim = "." if how == "files that look like a repository" else str(repository)
        Path("search/config").write_text(f"[core]\n\trepositoryformatversion = 0\n\tworktree = {aim}\n")
    git("add", "--force", "--all", "search")
    commit()
    monkeypatch.chdir("search")
    write_run(Path("run.jsonl"), lost=HARD)
    if how == "that, of another folder":  # which is the repository itself: its own main is the base
        Path("gold.yaml").write_text(gold(*QUERIES))
        assert judge(run="run.jsonl").verdict is FAIL
    else:
        with pytest.raises(RankgateError, match=r"this is a submodule|this is not a git repository"):
            judge()


# A baseline that the job makes.


def job_makes(path: str) -> None:
    """The base's criteria name a baseline that no commit has, as one from a cache."""
    on_main(lambda: (git("rm", "-r", "--quiet", "baseline"), Path(".gitignore").write_text(f"*.jsonl\n{path}\n")))
    write_run(Path("accepted.jsonl"))


@pytest.mark.parametrize("brought", ["another file", "a manifest", "all of it", "a link", "a submodule"])
def test_a_baseline_of_the_job_is_not_shadowed_by_a_file_of_the_pull_request(
    repository: Path, tmp_path: Path, brought: str
) -> None:
    job_makes("baseline")
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("threshold: 0.85, ", ""))
    on_main(lambda: None)
    accept(Path("baseline"), Path("accepted.jsonl"))
    commit()
    assert judge().verdict is FAIL, "the job's decides"
    if brought == "another file":
        Path("baseline/keep").write_text("")
        git("add", "--force", "baseline/keep")
    elif brought in ("a manifest", "all of it"):
        shutil.rmtree("baseline")
        accept(Path("baseline"), Path("run.jsonl"))
        git("add", "--force", "baseline" if brought == "all of it" else "baseline/manifest.json")
    else:
        Path("baseline").rename("made")
        if brought == "a link":
            Path("baseline").symlink_to(tmp_path / "nowhere")
        else:
            other = tmp_path / "other"
            other.mkdir()
            git("init", "--quiet", ".", at=other)
            commit(other)
            git("submodule", "--quiet", "add", "--force", str(other), "baseline")
        git("add", "--force", "baseline")
    git("commit", "--quiet", "--message", "shadow")
    if brought != "another file":  # the job puts its own there again
        if Path("baseline").is_symlink():
            Path("baseline").unlink()
        shutil.rmtree("baseline", ignore_errors=True)
        accept(Path("baseline"), Path("accepted.jsonl"))
    with pytest.raises(
        RankgateError, match="baseline: the job makes this baseline, and the pull request commits files"
    ):
        judge()


def test_a_first_baseline_that_is_the_commits_alone_is_no_shadow(repository: Path) -> None:
    job_makes("nothing")
    accept(Path("baseline"), Path("run.jsonl"))
    git("add", "--force", "baseline")
    commit()
    found = judge()
    assert (found.verdict, found.base and found.base.baseline_changed) == (FAIL, "added")


def test_a_baseline_that_the_caller_names_and_the_base_lacks_leaves_that_of_the_criteria(repository: Path) -> None:
    """`--baseline mine`, or one line of the workflow: a folder in which the pull request accepts its own run."""
    accept(Path("mine"), Path("run.jsonl"))
    git("add", "--force", "mine")
    commit()
    found = judge(baseline="mine")
    assert (found.verdict, found.base and found.base.baseline_changed) == (FAIL, "replaced")
    assert any("recall@5 dropped from 100.0% to 60.0%" in reason for gate in found.gates for reason in sentences(gate))


# The base branch has moved.


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("ship-criteria.yaml", CRITERIA.replace("0.85", "0.9"), id="a limit is tighter"),
        pytest.param("gold.yaml", gold(*QUERIES, "q6"), id="a question was added"),
        pytest.param("ship-waivers.yaml", "waivers: []\n", id="waivers were merged"),
        pytest.param("config/ship-criteria.yaml", CRITERIA.replace("gold: ", "gold: ../"), id="criteria come first"),
    ],
)
def test_a_base_that_judges_otherwise_than_the_tip_of_its_branch_is_stale(
    repository: Path, name: str, text: str
) -> None:
    write_run(Path("run.jsonl"))
    old = commit()
    git("switch", "--quiet", "main")
    Path("notes.txt").write_text("what does not judge")
    harmless = commit()
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
    tip = commit()
    git("switch", "--quiet", "pull")
    named = Inputs(date="2026-01-31", base=git("rev-parse", f"{old}^"))
    assert check(replace_tip(named, harmless)).verdict is PASS
    with pytest.raises(RankgateError, match=f"the merge commit is stale: the base branch has another {name} now; push"):
        check(replace_tip(named, tip))


def replace_tip(inputs: Inputs, tip: str) -> Inputs:
    return Inputs(date=inputs.date, base=inputs.base, tip=tip)


# What of the environment tells git how to search.


@pytest.mark.parametrize("key", ["name", "metric"])
def test_a_metric_that_the_job_no_longer_installs_does_not_break_the_bases_criteria(repository: Path, key: str) -> None:
    """Nothing else of them would judge either: it stands in the pull request's own package, or in its requirements."""
    gate = (
        "  - {name: mine@1, threshold: 0.5}\n" if key == "name" else "  - {name: x, metric: mine@1, threshold: 0.5}\n"
    )
    on_main(lambda: Path("ship-criteria.yaml").write_text(CRITERIA.replace("gates:\n", f"gates:\n{gate}")))
    Path("ship-criteria.yaml").write_text(MILD)
    commit()
    with pytest.raises(RankgateError, match=r"ship-criteria\.yaml at main .*install what has it, or fix the base"):
        judge()


@pytest.mark.parametrize("at_base", [False, True], ids=["new", "a gate of the base"])
def test_a_working_directory_that_becomes_a_link_is_not_judged(
    repository: Path, monkeypatch: pytest.MonkeyPatch, *, at_base: bool
) -> None:
    """The workflow's `working-directory: search` leads to a milder gate; the process sees only where it leads."""
    on_main(lambda: gate_in("search"))
    (on_main if at_base else lambda act: act())(lambda: gate_in("mild", MILD, lost=HARD))
    shutil.rmtree("search")
    Path("search").symlink_to("mild")
    commit()
    monkeypatch.chdir("search")
    assert "search: leads here and did not at the base" in str(judge().problems[0])


def test_a_folder_around_the_working_directory_that_becomes_a_link_is_not_judged(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_main(lambda: gate_in("services/search"))
    gate_in("mild/search", MILD, lost=HARD)
    shutil.rmtree("services")
    Path("services").symlink_to("mild")
    commit()
    monkeypatch.chdir("services/search")
    assert "services: leads here and did not at the base" in str(judge().problems[0])


def test_a_link_to_the_working_directory_that_leads_elsewhere_is_not_judged(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base had a link there before: nobody can say which gate the check was of."""

    def two() -> None:
        gate_in("strict")
        gate_in("mild", MILD, lost=HARD)
        Path("current").symlink_to("strict")

    on_main(two)
    Path("current").unlink()
    Path("current").symlink_to("mild")
    commit()
    monkeypatch.chdir("current")
    assert "current: leads here and did not at the base" in str(judge().problems[0])


def test_a_working_directory_that_moves_takes_its_gate_along(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of the base go along; that the run lies elsewhere needs the label, unless the caller names it."""
    on_main(lambda: gate_in("search"))
    Path("services").mkdir()
    git("mv", "search", "services/search")
    Path("services/search/ship-criteria.yaml").write_text(MILD)
    write_run(Path("services/search/run.jsonl"), lost=HARD)
    commit()
    monkeypatch.chdir("services/search")
    assert judge().verdict is NOT_JUDGED
    found = judge(run="run.jsonl")
    assert found.verdict is FAIL
    assert found.summary.startswith("Do not merge: by the criteria of the base, recall@5")


@pytest.mark.parametrize("variable", ["GLOB", "NOGLOB", "ICASE", "LITERAL"])
def test_the_bases_criteria_are_found_however_git_is_told_to_read_paths(
    repository: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    Path("gates.yaml").write_text(MILD)
    Path(".gitattributes").write_text("*.yaml binary\n")
    commit()
    monkeypatch.setitem(os.environ, f"GIT_{variable}_PATHSPECS", "1")
    assert "base has ship criteria (ship-criteria.yaml)" in judge("gates.yaml").summary


@pytest.mark.parametrize(
    ("key", "value"),
    [("color.ui", "always"), ("color.grep", "always"), ("grep.patternType", "fixed"), ("submodule.recurse", "true")],
)
def test_the_bases_criteria_are_found_whatever_settings_git_has(
    repository: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    Path("gates.yaml").write_text(MILD)
    commit()
    for name, text in {"COUNT": "1", "KEY_0": key, "VALUE_0": value}.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", text)
    assert "base has ship criteria (ship-criteria.yaml)" in judge("gates.yaml").summary


def test_a_sparse_checkout_does_not_hide_the_bases_criteria(repository: Path) -> None:
    """The folder that comes first is not checked out, as by `sparse-checkout:` in the workflow."""

    def first() -> None:
        Path("config").mkdir()
        git("mv", "ship-criteria.yaml", "config")
        text = Path("config/ship-criteria.yaml").read_text()
        for name in ("gold: ", "run: ", "baseline: "):
            text = text.replace(name, f"{name}../")
        Path("config/ship-criteria.yaml").write_text(text)

    on_main(first)
    Path("ship-criteria.yaml").write_text(MILD)
    commit()
    git("sparse-checkout", "set", "--no-cone", "/*", "!/config/")
    assert not Path("config").exists()
    found = judge()
    assert (found.verdict, found.provenance.criteria) == (FAIL, "config/ship-criteria.yaml")
