"""Further ways around the gate, each tried on a real repository: the run, the gold set, what the job wrote, and git.

The story is that of `test_sides`: the pull request's run loses two of five questions, and by the base it fails.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.base_ref.test_sides import (
    CRITERIA,
    FAIL,
    HARD,
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
from rankgate.model.waiver_use import ACCEPT_GOLD, ACCEPT_RUN, SetLabel, Standing

GOLD_LABEL = SetLabel(name=ACCEPT_GOLD, by="alice", standing="counts")
RUN_LABEL = SetLabel(name=ACCEPT_RUN, by="alice", standing="counts")
REFUSED: list[tuple[Standing, str]] = [
    ("outsider", "it was set by somebody who may not write to this repository"),
    ("head moved", "the pull request was pushed to, reopened or pointed at another base since"),
    ("unreported", "it was set before the newest run of this commit was reported; set it again when that is"),
    ("unknown", "GitHub did not say whether whoever set it may write to this repository"),
]


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


@pytest.mark.parametrize(
    "path", ["accepted.jsonl", "baseline", "./sub/../accepted.jsonl", "{path: accepted.jsonl, format: jsonl}"]
)
def test_the_bases_run_is_judged_whatever_the_criteria_name_now(repository: Path, path: str) -> None:
    """The accepted run, or the baseline itself, in place of what the retriever wrote."""
    write_run(Path("accepted.jsonl"))
    names_run(path)
    commit()
    found = judge()
    assert (found.verdict, found.base and found.base.run_moved) == (FAIL, None)
    assert found.provenance.run is not None
    assert found.provenance.run.path == "run.jsonl"


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


def test_a_run_that_the_caller_names_decides(repository: Path) -> None:
    write_run(Path("named.jsonl"))
    names_run("nowhere.jsonl")
    commit()
    found = judge(run="named.jsonl")
    assert (found.verdict, found.base and found.base.run_moved) == (PASS, None)


@pytest.mark.parametrize("at_base", ["names another", "names none"])
def test_a_run_that_moves_fails_until_a_label_accepts_the_move(repository: Path, at_base: str) -> None:
    if at_base == "names none":
        on_main(lambda: replace_in("ship-criteria.yaml", "run: run.jsonl, ", ""))
        replace_in("ship-criteria.yaml", "inputs: {", "inputs: {run: moved.jsonl, ")
    else:
        names_run("moved.jsonl")
    Path("run.jsonl").rename("moved.jsonl")
    write_run(Path("moved.jsonl"))
    commit()
    found = judge()
    assert (found.verdict, found.base and found.base.run_moved) == (FAIL, "refused")
    expected = (
        "the run that the base names is absent, and the pull request names another; write both paths first; somebody "
        "who may write to the repository can accept that with the label `rankgate: accept run path`"
    )
    assert found.failures == [expected]
    accepted = judge(RUN_LABEL)
    assert (accepted.verdict, accepted.base and accepted.base.run_moved) == (PASS, "accepted")
    assert "A maintainer's label has accepted that the run of this commit lies elsewhere." in accepted.notes
    assert judge(GOLD_LABEL).verdict is FAIL, "another label of ours"


@pytest.mark.parametrize(("standing", "reason"), REFUSED)
def test_a_label_that_does_not_count_moves_no_run_and_says_why(
    repository: Path, standing: Standing, reason: str
) -> None:
    names_run("moved.jsonl")
    Path("run.jsonl").unlink()
    write_run(Path("moved.jsonl"))
    commit()
    found = judge(SetLabel(name=ACCEPT_RUN, by="mallory", standing=standing))
    assert found.verdict is FAIL
    assert found.notes[-1] == f"The label that accepts another run changes nothing: {reason}."


def test_a_run_that_is_there_needs_no_label(repository: Path) -> None:
    """Both paths are written: the base's is judged, and nothing is asked for."""
    write_run(Path("run.jsonl"))
    write_run(Path("moved.jsonl"), lost=HARD)
    names_run("moved.jsonl")
    commit()
    assert judge().verdict is PASS


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


@pytest.mark.parametrize("change", [_linked_file, _dangling, _linked_folder], ids=lambda each: each.__name__)
def test_a_run_that_is_a_link_is_refused(repository: Path, change: Callable[[], None]) -> None:
    change()
    commit()
    with pytest.raises(RankgateError, match="is a symbolic link, or lies behind one; name the file itself"):
        judge()


def test_a_link_that_the_caller_names_is_refused_and_a_pipe_is_none(repository: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(repository / "run.jsonl")
    commit()
    with pytest.raises(RankgateError, match="is a symbolic link"):
        judge(run=str(link))
    command = f"{sys.executable} -m rankgate check --base main --run <(cat run.jsonl) --format json"
    piped = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (piped.returncode, json.loads(piped.stdout)["verdict"]) == (1, "fail"), piped.stderr


@pytest.mark.parametrize("brought", ["by the commit", "by the job", "unchanged"])
def test_a_run_that_is_the_baselines_is_said_and_warns_where_the_pull_request_brings_it(
    repository: Path, brought: str
) -> None:
    """In another order and with other scores: rankings are compared, not bytes."""
    write_run(Path("run.jsonl"), queries=QUERIES[::-1])
    if brought == "unchanged":
        git("add", "--force", "run.jsonl")
        on_main(lambda: None)
    elif brought == "by the commit":
        git("add", "--force", "run.jsonl")
    Path("notes.txt").write_text("a change")
    commit()
    found = judge()
    warning = "the pull request changes the file of the run, whose rankings are now those of the baseline"
    if brought == "by the commit":
        assert (found.verdict, found.warnings) == (WARN, [warning])
    else:
        assert (found.verdict, found.warnings) == (PASS, [])
        assert "The run's rankings are those of the baseline." in found.notes


def test_a_run_that_differs_in_one_place_is_not_the_baselines(repository: Path) -> None:
    write_run(Path("run.jsonl"))
    text = Path("run.jsonl").read_text().replace('{"chunk_id": "doc-q3"}', '{"chunk_id": "doc-q3"}, {"chunk_id": "z"}')
    Path("run.jsonl").write_text(text)
    commit()
    found = judge()
    assert (found.verdict, found.base and found.base.run_copied) == (PASS, None)


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
    assert (found.verdict, found.base and found.base.run_copied) == (WARN, "commit")


# What a pull request does to the gold set.


def remint() -> None:
    """Other ids for all questions, and the first result of today as the right one."""
    Path("gold.yaml").write_text(gold(*(f"n{query}" for query in QUERIES), **{f"n{q}": f"other-{q}" for q in QUERIES}))
    lines = ({"query_id": f"n{query}", "topk": [{"chunk_id": f"other-{query}"}]} for query in QUERIES)
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def rechunk() -> None:
    """Other ids for all chunks."""
    Path("gold.yaml").write_text(gold(*QUERIES, **{query: f"new-{query}" for query in QUERIES}))
    lines = ({"query_id": query, "topk": [{"chunk_id": f"new-{query}"}]} for query in QUERIES)
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def remove_lost() -> None:
    """The lost questions, which the job does not ask any more."""
    Path("gold.yaml").write_text(gold("q1", "q2", "q3"))
    write_run(Path("run.jsonl"), queries=("q1", "q2", "q3"))


def empty_lost() -> None:
    """The lost questions have no answer all of a sudden."""
    text = gold(*QUERIES)
    for query in HARD:
        text = text.replace(f"[doc-{query}]", "[], metadata: {no_answer: true}")
    Path("gold.yaml").write_text(text)


def relabel_lost() -> None:
    Path("gold.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5"))


def raise_k() -> None:
    """The relevant documents lie at rank 7, and the questions ask for ten of a sudden."""
    text = gold(*QUERIES)
    for query in QUERIES:
        text = text.replace(f"[doc-{query}]", f"[doc-{query}], metadata: {{k: 10}}")
    Path("gold.yaml").write_text(text)
    lines = (
        {"query_id": query, "topk": [*({"chunk_id": f"x{rank}"} for rank in range(6)), {"chunk_id": f"doc-{query}"}]}
        for query in QUERIES
    )
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


LOSSES = [remint, rechunk, remove_lost, empty_lost, relabel_lost, raise_k]


@pytest.mark.parametrize("change", LOSSES, ids=lambda each: each.__name__)
def test_what_the_base_would_have_lost_fails_and_a_label_accepts_the_new_gold_set(
    repository: Path, change: Callable[[], None]
) -> None:
    on_main(lambda: replace_in("ship-criteria.yaml", "metric: recall@5", "metric: recall"))
    on_main(lambda: replace_in("ship-criteria.yaml", ", regression_max: 0.03", ""))
    on_main(lambda: replace_in("ship-criteria.yaml", "  - {name: order, metric: mrr, threshold: 0.5}\n", ""))
    change()
    commit()
    assert check(Inputs(date="2026-01-31")).verdict is PASS, "by its own gold set"
    found = judge()
    assert found.verdict is FAIL
    said = " ".join([*found.failures, *found.notes])
    assert said.count("somebody who may write to the repository can accept that with the label") == 1
    accepted = judge(GOLD_LABEL)
    assert (accepted.verdict, accepted.base and accepted.base.gold) == (WARN, "accepted")
    assert "A maintainer's label has accepted the gold set of this commit." in accepted.notes
    assert judge(RUN_LABEL).verdict is FAIL, "another label of ours"


def test_questions_that_the_run_does_not_answer_count_as_the_worst(repository: Path) -> None:
    remove_lost()
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert found.summary.startswith(
        "Do not merge: by the questions of the base, of which this pull request removes 2, recall@5"
    )
    note = "Of the base's gold set 2 questions are absent from the run, which counts as the worst result."
    assert note in found.notes


@pytest.mark.parametrize(("standing", "reason"), REFUSED)
def test_a_label_that_does_not_count_accepts_no_gold_set_and_says_why(
    repository: Path, standing: Standing, reason: str
) -> None:
    relabel_lost()
    commit()
    found = judge(SetLabel(name=ACCEPT_GOLD, by="mallory", standing=standing))
    assert found.verdict is FAIL
    assert found.notes[-1] == f"The label that accepts the gold set changes nothing: {reason}."


@pytest.mark.parametrize("where", ["the working tree", "another file"])
def test_a_label_accepts_the_gold_set_of_the_commit_and_no_other(repository: Path, where: str) -> None:
    """The pull request's own code writes it after the maintainer has read the commit."""
    Path("gold.yaml").write_text(gold(*QUERIES, "q6"))
    commit()
    if where == "the working tree":
        relabel_lost()
        found = judge(GOLD_LABEL)
    else:
        relabel_lost()
        Path("gold.yaml").rename("made.yaml")
        git("checkout", "--quiet", "gold.yaml")
        Path(".git/info/exclude").write_text("made.yaml\n")
        replace_in("ship-criteria.yaml", "gold: gold.yaml", "gold: made.yaml")
        commit()
        found = judge(GOLD_LABEL)
    assert found.verdict is FAIL
    assert found.notes[-1].endswith("the gold set that was judged by is not the one of this commit.")


def test_a_question_that_must_pass_and_goes_needs_a_label(repository: Path) -> None:
    """Also where its tag alone is taken off, and although the run answers it rightly."""
    tagged = gold(*QUERIES).replace("[doc-q5]", "[doc-q5], metadata: {tags: [urgent]}")
    strict = "regression_max: 0.03, must_pass: [q4, urgent]}"
    on_main(lambda: Path("gold.yaml").write_text(tagged))
    on_main(lambda: replace_in("ship-criteria.yaml", "regression_max: 0.03}", strict))
    write_run(Path("run.jsonl"))
    for text in (
        tagged.replace("tags: [urgent]", "tags: []"),
        gold("q1", "q2", "q3", "q5").replace("[doc-q5]", "[doc-q5], metadata: {tags: [urgent]}"),
    ):
        Path("gold.yaml").write_text(text)
        Path("ship-criteria.yaml").write_text(CRITERIA)
        commit()
        found = judge()
        assert (found.verdict, found.base and found.base.gold) == (FAIL, "must_pass")
        assert found.failures[0].startswith("a question that must pass by the base's gold set is gone")
        assert judge(GOLD_LABEL).verdict is WARN


@pytest.mark.parametrize("count", [1, 5], ids=["one", "all"])
def test_changes_by_which_the_bases_verdict_stands_only_warn(repository: Path, count: int) -> None:
    """The run is the accepted one, and labels are added or corrected."""
    write_run(Path("run.jsonl"))
    labels = {query: f"doc-{query}, also-{query}" for query in QUERIES[:count]}
    on_main(lambda: replace_in("ship-criteria.yaml", "threshold: 0.85, ", ""))
    Path("gold.yaml").write_text(gold(*QUERIES, **labels))
    commit()
    found = judge()
    assert (found.verdict, found.failures, found.base and found.base.gold) == (WARN, [], None)


@pytest.mark.parametrize("stated", ["gold_changes: warn\n", ""], ids=["in so many words", "by default"])
def test_the_base_may_say_in_so_many_words_that_changes_only_warn(repository: Path, stated: str) -> None:
    """A pull request that says so itself does not."""
    on_main(lambda: Path("ship-criteria.yaml").write_text(stated + CRITERIA))
    Path("ship-criteria.yaml").write_text(f"gold_changes: warn\n{CRITERIA}")
    remove_lost()
    commit()
    assert judge().verdict is (WARN if stated else FAIL)


@pytest.mark.parametrize("change", ["moved", "committed"])
def test_a_gold_set_that_the_job_made_is_not_replaced_by_one_of_the_pull_request(repository: Path, change: str) -> None:
    """The base's own is not there any more: the pull request names another, or commits one of that name."""
    on_main(lambda: replace_in("ship-criteria.yaml", "gold: gold.yaml", "gold: made.yaml"))
    name = "easy.yaml" if change == "moved" else "made.yaml"
    Path(name).write_text(gold("q1", "q2", "q3"))
    replace_in("ship-criteria.yaml", "gold: made.yaml", f"gold: {name}")
    commit()
    found = judge()
    assert (found.verdict, found.base and found.base.gold) == (FAIL, "absent")
    assert judge(GOLD_LABEL).base is not None
    assert judge(GOLD_LABEL).verdict is WARN


def test_other_ids_than_those_of_a_gold_set_that_the_job_still_makes(repository: Path) -> None:
    """Nothing can be judged by the job's, which is the one that the base names."""
    Path(".git/info/exclude").write_text("made.yaml\n")
    floors = CRITERIA.replace(", regression_max: 0.03", "")
    on_main(lambda: Path("ship-criteria.yaml").write_text(floors.replace("gold.yaml", "made.yaml")))
    remint()
    Path("gold.yaml").rename("easy.yaml")
    Path("made.yaml").write_text(gold(*QUERIES))
    Path("ship-criteria.yaml").write_text(floors.replace("gold.yaml", "easy.yaml"))
    commit()
    found = judge()
    assert (found.verdict, found.base and found.base.gold) == (FAIL, "ids")


# What the job wrote.


def test_criteria_that_the_job_wrote_are_refused(repository: Path) -> None:
    """Ignored by git, in the place that is looked at first."""
    Path(".git/info/exclude").write_text("config\n")
    Path("config").mkdir()
    mild = CRITERIA.replace("0.85, regression_max: 0.03", "0.1")
    for name in ("gold: ", "run: ", "baseline: "):
        mild = mild.replace(name, f"{name}../")
    Path("config/ship-criteria.yaml").write_text(mild)
    commit()
    with pytest.raises(RankgateError, match=r"config/ship-criteria\.yaml: is no file of the commit"):
        judge()


@pytest.mark.parametrize("how", ["a link to one", "outside", "standard input"])
def test_nor_do_criteria_count_that_are_named_by_another_way(
    repository: Path, tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mild = CRITERIA.replace("0.85, regression_max: 0.03", "0.1")
    words = ["check", "--base", "main"]
    if how == "a link to one":
        Path(".git/info/exclude").write_text("made.yaml\n")
        Path("made.yaml").write_text(mild)
        Path("ship-criteria.yaml").unlink()
        Path("ship-criteria.yaml").symlink_to("made.yaml")
    elif how == "outside":
        (tmp_path / "made.yaml").write_text(mild)
        words += ["--criteria", str(tmp_path / "made.yaml")]
    else:
        words += ["--criteria", "-"]
    commit()
    assert main(words) == 2
    assert "is no file of the commit" in capsys.readouterr().out


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
    assert any(
        "recall@5 dropped from 100.0% to 60.0%" in reason
        for gate in found.gates
        for reason in sentences(gate, found.base)
    )


# Git, YAML, packages, the environment.


@pytest.mark.parametrize("ref", ["main", "origin/main"])
def test_a_tag_with_the_name_of_the_base_is_refused(repository: Path, ref: str) -> None:
    """Git takes a tag for the branch of that name: one at the pull request's own commit would be its base."""
    git("update-ref", "refs/remotes/origin/main", "main")
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    git("tag", ref)
    with pytest.raises(GitError, match="is both a tag and a branch; write the whole ref"):
        check(Inputs(date="2026-01-31", base=ref))
    assert check(Inputs(date="2026-01-31", base="refs/heads/main")).verdict is FAIL


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


def test_names_that_differ_in_capital_letters_are_other_files(repository: Path) -> None:
    """Where the file system knows both; where it does not, the criteria are no file of the commit by that name."""
    git("mv", "ship-criteria.yaml", "Ship-Criteria.yaml")
    os.link("Ship-Criteria.yaml", "ship-criteria.yaml")  # as a file system without capital letters shows it
    Path(".git/info/exclude").write_text("ship-criteria.yaml\n")
    git("commit", "--quiet", "--message", "renamed")
    with pytest.raises(RankgateError, match="is no file of the commit"):
        judge()


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
    assert ([gate.change for gate in found.base.gates], found.base.introduced) == (["weakened"], False)
    assert found.verdict is FAIL


@pytest.mark.parametrize(
    "text",
    [
        CRITERIA.replace("name: found,", "<<: {threshold: 0.1}, name: found,"),
        CRITERIA.replace("gates:", "x: &mild {threshold: 0.1}\ngates:").replace(
            "name: found,", "<<: *mild, name: found,"
        ),
        CRITERIA.replace("threshold: 0.85,", "threshold: 0.85, threshold: 0.1,"),
        CRITERIA + "---\n" + CRITERIA.replace("0.85", "0.1"),
    ],
    ids=["merge", "alias", "twice", "two documents"],
)
def test_yaml_that_reads_otherwise_than_it_looks_is_refused(
    repository: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ship-criteria.yaml").write_text(text)
    commit()
    assert main(["check", "--base", "main"]) == 2
    assert "NOT JUDGED" in capsys.readouterr().out


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
    assert (found.verdict, found.base and found.base.gold) == (FAIL, "absent")
    assert found.base
    assert len(found.base.problems) == 1
    accepted = judge(GOLD_LABEL)
    assert (accepted.verdict, accepted.base and accepted.base.gold) == (WARN, "accepted")


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
    assert any("below the floor of 90.0%" in text for gate in found.gates for text in sentences(gate, found.base))


# The page.

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "base.md").read_text(encoding="utf-8")
DOORS = PAGE.partition("| what happens | tests |\n|:--|:--|:--|\n")[2].partition("\n\n")[0].splitlines()


@pytest.mark.parametrize("row", DOORS, ids=lambda row: row.split(" | ")[0].strip("| ")[:60])
def test_every_side_door_of_the_page_names_tests_that_are_there(row: str) -> None:
    found = re.findall(r"`(tests/[a-z_/]+\.py)`: ((?:`test_\w+`(?:, )?)+)", row.split(" | ")[2])
    assert found
    for file, names in found:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert set(re.findall(r"`(\w+)`", names)) <= defined, file


def test_the_page_names_both_labels() -> None:
    assert all(f"`{label}`" in PAGE for label in (ACCEPT_GOLD, ACCEPT_RUN))


def test_scores_come_from_the_file_that_the_base_names(repository: Path) -> None:
    """By each side's criteria; a file that the pull request names in its place cannot lift the base's gate."""
    gate = "  - {name: score(f), direction: higher, threshold: 0.5}\n"

    def with_gate() -> None:
        replace_in("ship-criteria.yaml", "gates:\n", f"gates:\n{gate}")
        replace_in("ship-criteria.yaml", "inputs: {", "inputs: {scores: scores.csv, ")

    on_main(with_gate)
    for name, value in (("scores.csv", 0.1), ("good.csv", 0.9)):
        Path(name).write_text("\n".join(["qid,f", *(f"{query},{value}" for query in QUERIES)]))
    write_run(Path("run.jsonl"))
    replace_in("ship-criteria.yaml", "scores: scores.csv", "scores: good.csv")
    commit()
    assert check(Inputs(date="2026-01-31")).gates[0].verdict is PASS
    found = judge()
    assert (found.verdict, {each.verdict for each in found.gates if each.name.startswith("score(f)")}) == (
        FAIL,
        {PASS, FAIL},
    )
    Path("scores.csv").unlink()
    Path("scores.csv").symlink_to("good.csv")
    with pytest.raises(RankgateError, match=r"scores\.csv: is a symbolic link, or lies behind one"):
        judge()


@pytest.mark.parametrize(
    ("brought", "warns"),
    [("edited", True), ("added", True), ("unchanged", False), ("by the job", False), ("read by no gate", False)],
)
def test_scores_that_the_pull_request_commits_are_warned_of(repository: Path, brought: str, warns: object) -> None:
    """Whoever changes them writes what is judged, as the run's author does."""
    gate = "  - {name: score(f), direction: higher, threshold: 0.5}\n"

    def scores(value: float) -> None:
        Path("scores.csv").write_text("\n".join(["qid,f", *(f"{query},{value}" for query in QUERIES)]))

    def with_gate() -> None:
        replace_in("ship-criteria.yaml", "gates:\n", f"gates:\n{gate if brought != 'read by no gate' else ''}")
        replace_in("ship-criteria.yaml", "inputs: {", "inputs: {scores: scores.csv, ")
        if brought in ("edited", "unchanged", "read by no gate"):
            scores(0.3 if brought == "edited" else 0.9)

    on_main(with_gate)
    Path("notes.txt").write_text("a change")
    if brought == "by the job":
        commit()
    scores(0.95 if brought == "read by no gate" else 0.9)
    write_run(Path("run.jsonl"))
    if brought != "by the job":
        commit()
    found = judge()
    assert (found.base and found.base.scores_brought) is warns
    warning = "the pull request changes values that judge it (`inputs.scores`, --per-query); let the job write them"
    assert (found.verdict, found.warnings) == ((WARN, [warning]) if warns else (PASS, []))


def test_a_gold_set_that_is_a_folder_of_beir_is_the_bases(repository: Path) -> None:
    """With all that lies in it: a pull request that relabels it is judged by the base's too."""

    def as_beir(docs: str) -> None:
        Path("beir/qrels").mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{query}\t{docs}-{query}\t1\n" for query in QUERIES)
        Path("beir/qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")

    def with_folder() -> None:
        as_beir("doc")
        replace_in("ship-criteria.yaml", "gold: gold.yaml", "gold: beir")

    on_main(with_folder)
    unchanged = judge()
    assert (unchanged.verdict, unchanged.base and unchanged.base.queries) == (FAIL, None)
    lines = ({"query_id": query, "topk": [f"other-{query}"]} for query in QUERIES)
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    as_beir("other")
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert found.base is not None
    assert found.base.queries is not None
    assert found.base.queries.relabelled == len(QUERIES)
