"""What holds of every check against a base; see docs/base.md."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

import msgspec
import pytest
from tests.base_ref import fuzz
from tests.base_ref.story import (
    COUNTS,
    FAIL,
    HARD,
    NOT_JUDGED,
    PASS,
    WARN,
    all_of,
    begin,
    edit,
    gold,
    judged,
    on_main,
    replace_in,
    told,
    write,
    write_run,
)
from tests.base_ref.story import repository as repository  # noqa: PLC0414 -- the fixture
from tests.base_ref.test_attacks import ATTACKS, plain
from tests.base_ref.test_legitimate import LEGITIMATE
from tests.children import Forking
from tests.repositories import commit, git, sha_of_commit
from tests.rows import each_row

from rankgate.base_ref.worst import worst_of
from rankgate.cli import main
from rankgate.gates.not_judged import not_judged
from rankgate.model.base_ref import BaseSide, GateChange
from rankgate.model.report import Provenance, Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict

PLAYS = 12  # in the lane; by hand there are ten minutes of them
CHANGES = {**ATTACKS, **LEGITIMATE}
HERE = [name for name, each in CHANGES.items() if plain(name, each)]


@pytest.mark.parametrize("name", HERE)
@pytest.mark.full
def test_the_bases_report_is_that_of_its_folder_and_nothing_is_milder(repository: Path, name: str) -> None:
    """P1 and P2, and P3 of those that end as a bare pass, on each change that we know; an attack ends as it says."""
    change = CHANGES[name]
    if change.main:
        on_main(change.main)
    write_run(Path("run.jsonl"), lost=() if change.right or name in LEGITIMATE else HARD)
    change.act()
    commit()
    report, broken, _ = fuzz.broken_rules(repository)
    assert broken == []
    if name in ATTACKS:
        assert (report.verdict, change.words in told(report)) == (change.verdict, True), told(report)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(PLAYS))
def test_random_pull_requests_break_none(tmp_path: Path, seed: int) -> None:
    played = fuzz.play(str(seed), tmp_path)
    assert played is None or played.broken == (), played


def with_verdict(verdict: Verdict, name: str) -> Report:
    report = Report(verdict=verdict, summary=name, provenance=Provenance(rankgate="0", date="2026-01-31"))
    return msgspec.structs.replace(not_judged(fuzz.INPUTS, []), summary=name) if verdict is NOT_JUDGED else report


@each_row(("base", "head"), list(itertools.product((PASS, WARN, FAIL, NOT_JUDGED), repeat=2)))
def test_the_worst_counts_and_on_a_tie_the_bases_report(base: Verdict, head: Verdict) -> None:
    """P2 of all pairs, with what was changed; a label lets the head stand alone, which warns at least."""
    about = BaseSide(ref="main", sha="1a2b3c4", head_verdict=head)
    changes = {
        PASS: about,
        WARN: msgspec.structs.replace(about, gates=[GateChange(name="found", change="removed")]),
        FAIL: msgspec.structs.replace(about, baseline_changed="deleted"),
    }
    for verdict, changed in changes.items():
        report = worst_of(with_verdict(base, "base"), with_verdict(head, "head"), changed)
        assert fuzz.rank(report.verdict) == max(map(fuzz.rank, (base, head, verdict)))
        assert report.base is not None
        assert report.base.decides == ("base" if fuzz.rank(base) >= fuzz.rank(head) else "head")
        label = msgspec.structs.replace(changed, accepted_by="alice")
        alone = worst_of(with_verdict(base, "base"), with_verdict(head, "head"), label)
        assert fuzz.rank(alone.verdict) == max(fuzz.rank(head), fuzz.rank(WARN))


# P4: of what a pull request names nothing is imported, asked or opened but files of its commit.

WATCHED = """
import os, sys
from contextlib import redirect_stderr, redirect_stdout
import rankgate.base_ref.pull_request, rankgate.cli.check, rankgate.cli.judge
from rankgate.cli import main

def act(repository, installed):
    os.chdir(repository)
    sys.path.insert(0, installed)
    with open("../seen", "w") as seen, open("../said", "w") as said, redirect_stdout(said), redirect_stderr(said):
        sys.addaudithook(lambda name, rest: seen.write(f"{name} {rest}\\n") if name in NAMES else None)
        for command in ("judge", "check"):
            main([command, "--base", "main"])
            print(command, "ended")
        NAMES.clear()
    return 0
"""
NAMES = {"open", "import", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.listdir", "os.scandir"}
JUDGE = "judge: {endpoint: 'http://forbidden.example/v1', model: m, prompts: forbidden, calibration: {file: forbidden}}"
NAMED = {
    "a metric of a package": edit("gates:\n", "gates:\n  - {name: forbidden@1, threshold: 0.1}\n"),
    "a metric like one of a package": edit("gates:\n", "gates:\n  - {name: forbidde@1, threshold: 0.1}\n"),
    "a metric around one": edit("gates:\n", "gates:\n  - {name: rerank_gain(forbidden@5), threshold: 0.1}\n"),
    "a gold set outside": edit("gold: gold.yaml", "gold: ../forbidden/gold.yaml"),
    "a gold set elsewhere": edit("gold: gold.yaml", "gold: s3://forbidden/gold.yaml"),
    "a baseline outside": edit("baseline: baseline", "baseline: ../forbidden/baseline"),
    "a baseline of the job": edit("baseline: baseline", "baseline: forbidden"),
    "a baseline elsewhere": edit("baseline: baseline", "baseline: s3://forbidden/baseline"),
    "a baseline on a branch": edit("baseline: baseline", "baseline: git+branch:forbidden@https://forbidden.example/r"),
    "a run elsewhere": edit("run: run.jsonl", "run: ../forbidden/run.jsonl"),
    "scores": edit("inputs: {", "inputs: {scores: ../forbidden/scores.csv, "),
    "waivers": edit("inputs: {", "inputs: {waivers: ../forbidden/waivers.yaml, "),
    "traffic": edit("inputs: {", "inputs: {traffic: ../forbidden/t.jsonl, traffic_labels: ../forbidden/l.jsonl, "),
    "a retriever": edit("gates:", "retriever: {function: 'forbidden:search'}\ngates:"),
    "a judge": edit("gates:", f"{JUDGE}\ngates:"),
    "a judge for a gate": edit("gates:\n", f"{JUDGE}\ngates:\n  - {{name: faithfulness, threshold: 0.5}}\n"),
    "a template": all_of(write("forbidden.md.j2", "{{ report }}"), write("templates/comment.md.j2", "forbidden")),
}


def install(folder: Path, name: str, version: str, point: str, files: Mapping[str, str]) -> dict[str, str]:
    """A package with a metric, as pip would leave it; the environment in which it is found."""
    shutil.rmtree(folder, ignore_errors=True)
    about = folder / f"{name}-{version}.dist-info"
    write(str(about / "METADATA"), f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")()
    write(str(about / "entry_points.txt"), f"[rankgate.metrics]\n{point}\n")()
    for file, text in files.items():
        write(str(folder / file), text)()
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}


@pytest.mark.full
def test_nothing_that_the_head_names_is_asked_imported_or_opened(tmp_path: Path) -> None:
    """Each in a process of its own, forked where all is imported that any of them may need."""
    installed = tmp_path / "installed"
    install(
        installed, "forbidden", "1", "forbidden = forbidden:Mine", {"forbidden.py": "raise SystemExit('imported')\n"}
    )
    for outside in ("gold.yaml", "run.jsonl", "scores.csv", "waivers.yaml"):
        write(str(tmp_path / "forbidden" / outside), gold("q1") if outside == "gold.yaml" else "")()
    watched, found = Forking(f"NAMES = {NAMES!r}\n{WATCHED}", os.environ), {}
    repository = tmp_path / "repository"
    for name, change in NAMED.items():
        begin(repository)
        with chdir(repository):
            write(".git/info/exclude", "forbidden\n")()
            write("forbidden/accepted/00000001.json", "{}")()
            write_run(Path("run.jsonl"))
            change()
            commit()
        assert watched.act(str(repository), str(installed)) == 0, name
        assert "judge ended\n" in (tmp_path / "said").read_text(), name
        lines = (tmp_path / "seen").read_text().splitlines()
        metadata = [line for line in lines if "dist-info" in line]  # of what is installed, whoever names it
        listed = [line for line in lines if "forbidden" in line and line not in metadata]
        found[name] = [line for line in listed if "-base-" not in line and "git" not in line]
        shutil.rmtree(repository)
    assert found == {name: [] for name in NAMED}


# How it is shown.


def test_what_is_changed_points_at_the_line_and_text_of_the_inputs_is_code(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names and ids of a pull request come from a stranger."""
    hostile = "@team <b>x</b> | `y`"
    git("switch", "--quiet", "main")
    replace_in("ship-criteria.yaml", "name: found", f"name: {json.dumps(hostile)}")
    replace_in("gold.yaml", "id: q4", f"id: {json.dumps(hostile)}")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    write("gold.yaml", gold("q1", "q2", "q3", "q5"))()
    commit()
    judged("--format", "github")
    assert "::warning file=ship-criteria.yaml,line=2,title=rankgate::The pull request lowers" in capsys.readouterr().out
    text = Path("../comment.md").read_text()
    assert "gate `` @team <b>x</b> | `y` `` from 85.0% to 80.0%" in text
    assert "removes 1 question (`` @team <b>x</b> | `y` ``)" in text


def test_nothing_of_the_temporary_directory_shows(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a report nor in an error, wherever temporary files lie; nor in a worktree that has no branch."""
    replace_in("gold.yaml", "doc-q1", "doc-x")
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.8")
    git("rm", "-r", "--quiet", "baseline")
    sha = sha_of_commit()
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), sha)
    write_run(tmp_path / "tree" / "run.jsonl", lost=HARD)
    monkeypatch.chdir(tmp_path / "tree")
    room = tmp_path / "tree" / "room"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    base = git("rev-parse", "main")
    report = judged(base=base)
    assert "room" not in Path("../report.json").read_text() + Path("../comment.md").read_text()
    assert list(room.iterdir()) == []
    assert report.provenance.baseline is not None
    assert report.provenance.baseline.path == f"baseline at {base[:7]}"


def test_without_a_change_of_the_gate_the_report_is_the_one_without_a_base(repository: Path) -> None:
    commit()
    report = judged()
    assert main(["check", "--date", "2026-01-31", "-o", "../alone.json"]) == 1
    alone = decode_report(Path("../alone.json").read_bytes(), "alone.json")
    assert report.base is not None
    assert (report.base.base_verdict, report.base.decides, report.base.keys) == (None, "head", [])
    old = alone.provenance
    provenance = msgspec.structs.replace(report.provenance, command=old.command, baseline=old.baseline)
    same = msgspec.structs.replace(report, base=None, provenance=provenance)
    assert same == alone


@pytest.mark.full
def test_a_run_accepted_by_reason_although_gates_failed_is_named(repository: Path) -> None:
    """The next pull request is compared with it, and passes."""
    git("switch", "--quiet", "main")
    words = ["baseline", "accept", "--run", "run.jsonl", "--to", "baseline", "--date", "2026-01-15"]
    assert main([*words, "--reason", "the | corpus", "--by", "mallory"]) == 0
    git("add", "--force", "baseline")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    write_run(Path("run.jsonl"), lost=HARD)
    replace_in("ship-criteria.yaml", "threshold: 0.85", "threshold: 0.5")
    commit()
    judged()
    said = "The baseline was accepted on 2026-01-15 by `mallory` although gates failed: `the | corpus`."
    assert said in Path("../comment.md").read_text()


OWN = """
from typing import ClassVar
from rankgate.metrics.base import RelevanceMetric

class First(RelevanceMetric, frozen=True, kw_only=True):
    '''Whether the first result is relevant.'''
    key: ClassVar[str] = "first"
    formula: ClassVar[str] = "1 or 0"
    plain: ClassVar[str] = "share of questions"

    def per_query(self, query):
        return float(bool(query.hits) and query.hits[0][0] == 1) if self.relevant(query) else None
"""
FIRST = edit("gates:\n", "gates:\n  - {name: first@1, threshold: 0.5, regression_max: 0.1}\n")


@pytest.mark.full
def test_a_package_of_the_heads_gates_counts_once_merged_and_another_version_warns(repository: Path) -> None:
    package = repository.parent / "installed"
    environment = install(package, "acme.metrics", "1.2", "first = acme:First", {"acme.py": OWN})

    def rankgate_with(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "rankgate", *words]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    write_run(Path("run.jsonl"))
    FIRST()
    commit()
    code, text = rankgate_with("check", "--base", "main")
    assert (code, "a package that no gate of the base uses counts once it is merged" in text) == (2, True)
    Path("../labels.json").write_bytes(msgspec.json.encode([COUNTS]))
    code, text = rankgate_with("check", "--base", "main", "--labels", "../labels.json")
    assert (code, "first@1" in text) == (0, True)
    git("switch", "--quiet", "main")
    FIRST()
    assert rankgate_with("baseline", "accept", "--reason", "another metric")[0] == 0
    git("add", "--force", "baseline")
    commit()
    git("switch", "--quiet", "--force-create", "pull")
    commit()
    assert rankgate_with("check", "--base", "main")[1].startswith("PASS")
    install(package, "acme.metrics", "1.3", "first = acme:First", {"acme.py": OWN})
    code, text = rankgate_with("check", "--base", "main")
    assert "values by acme.metrics 1.3; the accepted run was scored by 1.2" in text
    assert text.startswith("WARN")
