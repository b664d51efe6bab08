"""`--base`: every way in which a pull request could make its own gate milder, on real repositories.

The story is that of a pull request whose run loses questions. By the base it fails; each scenario changes something
that would let it pass, and says what becomes of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.baselines.accepting import accept_into
from tests.repositories import commit, git

from rankgate.check import check
from rankgate.cli import main
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.model.reasons import sentences as sentences_of
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report, encode_report
from rankgate.model.values import Verdict
from rankgate.model.waiver_use import ACCEPT_CHANGE, SetLabel
from rankgate.readers.formats import read_run
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import quoted
from rankgate.renderers.github import render_github
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.terminal import render_terminal

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED

CRITERIA = """\
gates:
  - {name: found, metric: recall@5, threshold: 0.85, regression_max: 0.03}
  - {name: order, metric: mrr, threshold: 0.5}
inputs: {gold: gold.yaml, run: run.jsonl, baseline: baseline}
"""
QUERIES = ("q1", "q2", "q3", "q4", "q5")
HARD = ("q4", "q5")


def gold(*queries: str, **labels: str) -> str:
    """A gold set in which every query has one relevant document, named after it unless said otherwise."""
    lines = (
        f'  - {{id: {query}, input: {{question: "what is {query}?"}}, '
        f"expected_output: [{labels.get(query, f'doc-{query}')}]}}\n"
        for query in queries
    )
    return "samples:\n" + "".join(lines)


def write_run(path: Path, lost: tuple[str, ...] = (), queries: tuple[str, ...] = QUERIES) -> None:
    """A run that finds the relevant document of every query but the lost ones, where it finds another."""
    lines = (
        json.dumps({"query_id": query, "topk": [{"chunk_id": f"other-{query}" if query in lost else f"doc-{query}"}]})
        for query in queries
    )
    path.write_text("\n".join(lines) + "\n")


def accept(folder: Path, run: Path, depth: int = 100) -> None:
    opened = read_run(str(run))
    accept_into(folder, opened.rankings, source=run.name, date="2026-01-01", depth=depth)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose gate is in use, on the branch of a pull request that lost the hard queries."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "--quiet", "--initial-branch", "main", ".")
    (folder / ".gitignore").write_text("*.jsonl\n")
    (folder / "ship-criteria.yaml").write_text(CRITERIA)
    (folder / "gold.yaml").write_text(gold(*QUERIES))
    write_run(folder / "run.jsonl")
    accept(folder / "baseline", folder / "run.jsonl")
    git("add", "--force", "baseline")
    commit()
    git("switch", "--quiet", "--create", "pull")
    write_run(folder / "run.jsonl", lost=HARD)
    return folder


def judge(base: str | None = "main", *, gold: InputFile | None = None, baseline: InputFile | None = None) -> Report:
    return check(Inputs(date="2026-01-31", base=base, gold=gold, baseline=baseline))


def told(report: Report) -> list[str]:
    """What the pull request changed, in sentences."""
    return [change.text for change in changes(report, quoted)]


def replace_in(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def criteria(old: str, new: str) -> Callable[[], None]:
    return lambda: replace_in("ship-criteria.yaml", old, new)


def test_annotations_point_at_the_weakened_gate(repository: Path) -> None:
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.5")
    commit()
    text = render_github(judge())
    place = "::warning file=ship-criteria.yaml,line=2,title=rankgate::"
    assert f"{place}The pull request lowers the threshold of gate 'found' from 85.0%25 to 50.0%25." in text


# What a pull request may do to the gold set is a matter of its own.


# The baseline of the base decides.


def test_a_replaced_baseline_does_not_decide_yet(repository: Path) -> None:
    """The run that lost questions, accepted in the same pull request: no drop against itself."""
    accept(Path("baseline"), Path("run.jsonl"))
    git("add", "--force", "baseline")
    commit()
    alone, found = judge(base=None), judge()
    assert alone.gates[0].delta == 0
    assert found.gates[0].delta == pytest.approx(-0.4)
    assert (
        "The pull request replaces the baseline: the base's decides, its own counts once it is merged." in found.notes
    )


def test_what_is_no_part_of_a_baseline_makes_it_no_other_one(repository: Path) -> None:
    Path("baseline/notes.txt").write_text("mine\n")
    commit()
    found = judge()
    assert found.base is not None
    assert found.base.baseline_changed is None


@pytest.mark.parametrize("what", ["gold", "baseline"])
def test_inputs_that_the_criteria_move_elsewhere(repository: Path, what: str) -> None:
    """The base's criteria name the base's files."""
    if what == "gold":
        replace_in("ship-criteria.yaml", "gold: gold.yaml", "gold: easy.yaml")
        Path("easy.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5"))
    else:
        accept(Path("mine"), Path("run.jsonl"))
        git("add", "--force", "mine")
        replace_in("ship-criteria.yaml", "baseline: baseline", "baseline: mine")
        replace_in("ship-criteria.yaml", "threshold: 0.85, ", "")
    commit()
    found = judge()
    assert found.verdict is FAIL
    assert any(
        "recall@5 dropped from 100.0% to 60.0%" in reason for gate in found.gates for reason in sentences_of(gate)
    )
    assert [text for text in told(found) if f"'inputs.{what}'" in text] != []


def test_a_baseline_folder_without_a_baseline_is_none_yet(repository: Path) -> None:
    git("switch", "--quiet", "main")
    accepted = {path.name: path.read_bytes() for path in Path("baseline").iterdir()}
    git("rm", "-r", "--quiet", "baseline")
    Path("baseline").mkdir()
    stale = "baseline/run-0123456789ab.jsonl.gz"  # what an acceptance leaves that was killed
    Path(stale).write_bytes(b"")
    git("add", "--force", stale)
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    for name, data in accepted.items():
        Path("baseline", name).write_bytes(data)
    git("add", "--force", "baseline")
    commit()
    found = judge()
    assert found.base is not None
    assert (found.base.baseline_changed, found.provenance.baseline) == ("added", None)


def test_the_same_baseline_read_otherwise_is_another(repository: Path) -> None:
    git("switch", "--quiet", "main")
    write_run(Path("accepted.run"))
    replace_in("ship-criteria.yaml", "baseline: baseline", "baseline: accepted.run")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    map_ = "{path: accepted.run, map: {query_id: query_id, items: topk, chunk_id: chunk_id}}"
    replace_in("ship-criteria.yaml", "baseline: accepted.run", f"baseline: {map_}")
    commit()
    found = judge()
    assert found.base is not None
    assert (found.base.baseline_changed, found.gates[0].n_pairs) == ("replaced", 5)


# Where the criteria are.


def test_a_file_that_comes_earlier_in_the_usual_places_does_not_hide_the_base(repository: Path) -> None:
    """`config/ship-criteria.yaml` is looked for first; adding one is no way around the old ones."""
    Path("config").mkdir()
    mild = CRITERIA.replace("0.85, regression_max: 0.03", "0.1").replace("{gold: ", "{gold: ../")
    Path("config/ship-criteria.yaml").write_text(
        mild.replace("run: ", "run: ../").replace("baseline: ", "baseline: ../")
    )
    commit()
    found = judge()
    assert (found.verdict, found.provenance.criteria) == (FAIL, "config/ship-criteria.yaml")
    assert "The pull request lowers the threshold of gate 'found' from 85.0% to 10.0%." in told(found)


def test_introducing_the_gate(repository: Path) -> None:
    git("switch", "--quiet", "main")
    git("rm", "--quiet", "ship-criteria.yaml")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("ship-criteria.yaml").write_text(CRITERIA)
    write_run(Path("run.jsonl"))
    commit()
    found = judge()
    assert (found.verdict, told(found)) == (PASS, [])
    assert found.base is not None
    assert (found.base.introduced, found.base.base_verdict) == (True, None)
    assert "The base has no ship criteria yet: the pull request's own decide alone." in found.notes


def test_a_waiver_that_the_pull_request_brings_changes_nothing(repository: Path) -> None:
    commit()
    before = judge()
    for name in ("waivers.yaml", ".rankgate/waivers.yaml", "config/ship-waivers.yaml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("waivers: [{gate: found, until: 2099-01-01, reason: please}]\n")
    commit()
    assert judge() == before
    assert before.verdict is FAIL


# What is not asked for is not stricter.


def test_added_easy_queries_do_not_lift_a_mean_over_its_floor(repository: Path) -> None:
    """The old queries are judged by themselves too."""
    replace_in("ship-criteria.yaml", ", regression_max: 0.03", "")
    git("switch", "--quiet", "--force-create", "main")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    easy = tuple(f"easy{number}" for number in range(30))
    Path("gold.yaml").write_text(gold(*QUERIES, *easy))
    write_run(Path("run.jsonl"), lost=HARD, queries=(*QUERIES, *easy))
    commit()
    assert judge(base=None).verdict is PASS
    found = judge()
    assert found.verdict is FAIL
    assert found.summary.startswith("Do not merge: by the questions of the base, recall@5 is 60.0%, below the floor")


def test_runs_of_forks_are_not_trusted_by_the_pull_request_itself(repository: Path) -> None:
    replace_in("ship-criteria.yaml", "gates:", "fork_runs: trusted\ngates:")
    commit()
    assert (judge(base=None).fork_runs, judge().fork_runs) == ("trusted", "untrusted")


def test_a_file_in_lfs_that_cannot_be_had_is_the_checkouts_fault(repository: Path) -> None:
    """No warning that the base is broken: it is not."""
    git("switch", "--quiet", "main")
    good = Path("gold.yaml").read_text()
    Path("gold.yaml").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    Path("gold.yaml").write_text(good)
    commit()
    with pytest.raises(RankgateError, match="is kept in Git LFS"):
        judge()


# Where it runs.


def test_in_a_worktree_without_a_branch(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_in("ship-criteria.yaml", "regression_max: 0.03", "regression_max: 0.9")
    sha = commit()
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), sha)
    write_run(tmp_path / "tree" / "run.jsonl", lost=HARD)
    monkeypatch.chdir(tmp_path / "tree")
    assert "The pull request raises regression_max of gate 'found' from 3.0 pp to 90.0 pp." in told(judge())


def test_named_by_its_sha(repository: Path) -> None:
    sha = git("rev-parse", "main")
    replace_in("gold.yaml", "doc-q1", "doc-x")
    git("rm", "-r", "--quiet", "baseline")
    commit()
    found = judge(base=sha)
    assert found.provenance.baseline is not None
    assert found.provenance.baseline.path == f"baseline at {sha[:7]}"


def test_nothing_of_the_temporary_directory_shows(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a report nor in an error, wherever temporary files lie."""
    room = tmp_path / "repository" / "room"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    replace_in("gold.yaml", "doc-q1", "doc-x")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    git("rm", "-r", "--quiet", "baseline")
    commit()
    report = judge()
    text = encode_report(report) + render_markdown(report) + render_terminal(report)
    assert "room" not in text
    assert list(room.iterdir()) == []


def test_a_strangers_run_does_not_come_through_a_pipe(repository: Path) -> None:
    """Nothing of it is stored before it has been measured."""
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    program = "import sys; from rankgate.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "check", "--run", "-", "--untrusted-run"]
    alone, found = (
        subprocess.run([*command, *base], input=Path("run.jsonl").read_bytes(), capture_output=True, check=False)
        for base in ([], ["--base", "main"])
    )
    assert (found.returncode, found.stdout) == (2, alone.stdout)


def test_text_of_the_inputs_is_shown_as_code(repository: Path) -> None:
    """Names and ids of a pull request come from a stranger."""
    hostile = "@team <b>x</b> | `y`"
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", "name: found", f"name: {json.dumps(hostile)}")
    replace_in("gold.yaml", "id: q4", f"id: {json.dumps(hostile)}")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    Path("gold.yaml").write_text(gold("q1", "q2", "q3", "q5"))
    commit()
    text = render_markdown(judge())
    assert "gate `` @team <b>x</b> | `y` `` from 85.0% to 80.0%" in text
    assert "removes 1 query (`` @team <b>x</b> | `y` ``)" in text


def test_the_exit_codes(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("run.jsonl"))
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    commit()
    assert main(["check", "--base", "main"]) == 0
    assert main(["check", "--base", "main", "--fail-on", "warn"]) == 1
    assert main(["check", "--base", "nowhere"]) == 2
    assert main(["check", "--base", ""]) == 2
    assert "nowhere" in capsys.readouterr().out


def test_a_broken_baseline_can_be_mended(repository: Path) -> None:
    """Otherwise nothing could be merged any more, not even its repair."""
    git("switch", "--quiet", "main")
    Path("baseline/manifest.json").write_text("{")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    write_run(Path("run.jsonl"))
    accept(Path("baseline"), Path("run.jsonl"))
    git("add", "--force", "--all", "baseline")
    commit()
    found = judge()
    (problem,) = found.problems
    assert (found.verdict, str(problem).startswith("baseline/manifest.json at main (")) == (NOT_JUDGED, True)
    label = SetLabel(name=ACCEPT_CHANGE, by="alice", standing="counts")
    assert check(Inputs(date="2026-01-31", base="main", labels=(label,))).verdict is WARN


def test_from_a_folder_within_the_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are those of the current directory, at the base too."""
    git("switch", "--quiet", "main")
    Path("search").mkdir()
    for name in ("ship-criteria.yaml", "gold.yaml", "baseline"):
        git("mv", name, f"search/{name}")
    git("add", "--all")
    git("commit", "--quiet", "--message", "moved")
    git("switch", "--quiet", "--force-create", "pull")
    Path("run.jsonl").rename("search/run.jsonl")
    monkeypatch.chdir("search")
    Path("gold.yaml").write_text(gold(*QUERIES, q4="other-q4", q5="other-q5"))
    replace_in("ship-criteria.yaml", "0.85", "0.8")
    commit()
    found = judge()
    assert (found.verdict, found.provenance.criteria) == (FAIL, "ship-criteria.yaml")
    assert "The pull request relabels 2 queries ('q4', 'q5'), 2 toward this run." in told(found)


def test_a_run_from_a_pipe_is_read_for_both_sides(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came through standard input cannot be read again, and both sides need it."""
    replace_in("ship-criteria.yaml", "threshold: 0.85, regression_max: 0.03", "threshold: 0.1")
    commit()
    program = "import sys; from rankgate.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "check", "--run", "-", "--base", "main", "-o", "out/report.json"]
    found = subprocess.run(command, input=Path("run.jsonl").read_bytes(), capture_output=True, check=False)
    assert found.returncode == 1, found.stderr
    report = decode_report(Path("out/report.json").read_bytes(), "report.json")
    assert report.provenance.run is not None
    assert report.provenance.run.path == "standard input"
    assert report.base is not None
    assert (report.base.decides, report.base.head_verdict) == ("base", PASS)
    command = report.provenance.command
    assert command[command.index("--run") + 1] == "-"


@pytest.mark.parametrize("where", ["outside", "ignored"])
def test_a_gold_set_that_the_repository_does_not_have_is_used_as_it_is(
    repository: Path, tmp_path: Path, where: str
) -> None:
    """Made or fetched by the job: there is no other one to judge by."""
    file = tmp_path / "gold.jsonl" if where == "outside" else Path("gold.jsonl")
    file.write_text("".join(f'{{"id": "{query}", "expected_output": ["doc-{query}"]}}\n' for query in QUERIES))
    commit()
    found = judge(gold=InputFile(str(file)))
    assert found.base is not None
    assert (found.base.queries, found.base.gold_supplied, found.base.base_verdict) == (None, True, None)
    assert "The gold set is no file of the base: the job supplied it." in found.notes
