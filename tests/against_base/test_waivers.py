"""Waivers and `--base`: only what is merged counts, and a label only where the base's criteria allow it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.against_base.test_sides import CRITERIA, FAIL, HARD, PASS, WARN, accept, write_run
from tests.against_base.test_sides import repository as repository  # noqa: PLC0414 -- the fixture
from tests.repositories import commit, git

from rankgate.check import check
from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.exit_codes import exit_code
from rankgate.inputs import Inputs
from rankgate.report import Report
from rankgate.report_text import decode_report
from rankgate.waivers import SetLabel

WAIVER = """\
waivers:
  - gate: found
    up_to: 0.5
    expires: 2026-12-31
    issue: https://example.org/1
    reason: the parser loses tables
    by: alice
"""
LABELLED = CRITERIA + 'waiver_label: "rankgate: waive"\n'


def judge(label: SetLabel | None = None, base: str | None = "main") -> Report:
    return check(Inputs(date="2026-01-31", base=base, label=label))


def on_main(files: dict[str, str]) -> None:
    """Commit files on main, and rebase the pull request on it."""
    git("switch", "--quiet", "main")
    for name, text in files.items():
        Path(name).write_text(text)
    commit()
    git("switch", "--quiet", "pull")
    git("rebase", "--quiet", "main")


def test_a_waiver_of_the_base_lets_the_violation_pass(repository: Path) -> None:
    on_main({"ship-waivers.yaml": WAIVER})
    report = judge()
    assert (report.verdict, exit_code(report, "warn")) == (WARN, 0)
    assert [gate.waived is not None for gate in report.gates] == [True, False]
    assert [use.state for use in report.waivers] == ["in_force"]
    assert report.base is not None
    assert report.base.waivers_changed is None


def test_a_pull_request_cannot_waive_itself(repository: Path) -> None:
    Path("ship-waivers.yaml").write_text(WAIVER)
    commit()
    report = judge()
    assert (report.verdict, report.waivers) == (FAIL, [])
    assert "The pull request adds waivers: they count once it is merged." in report.notes


def test_nor_can_its_code_write_a_waiver_that_git_does_not_know(repository: Path) -> None:
    Path(".git/info/exclude").write_text("ship-waivers.yaml\n")
    Path("ship-waivers.yaml").write_text(WAIVER)
    assert judge().verdict is FAIL
    assert judge(base=None).verdict is WARN, "without a base the working tree's file counts"


def test_an_edit_counts_once_it_is_merged(repository: Path) -> None:
    on_main({"ship-waivers.yaml": WAIVER.replace("0.5", "0.1")})
    Path("ship-waivers.yaml").write_text(WAIVER)
    commit()
    report = judge()
    assert (report.verdict, [use.state for use in report.waivers]) == (FAIL, ["too_small"])
    assert "The pull request edits waivers: the base's count until it is merged." in report.notes


def test_deleting_them_changes_nothing_yet(repository: Path) -> None:
    on_main({"ship-waivers.yaml": WAIVER})
    Path("ship-waivers.yaml").unlink()
    commit()
    report = judge()
    assert report.verdict is WARN
    assert report.base is not None
    assert report.base.waivers_changed == "deleted"
    assert "The pull request deletes waivers: the base's count until it is merged." in report.notes


def test_naming_another_file_of_the_base_as_waivers_changes_nothing(repository: Path) -> None:
    """As an example in the documentation, which nobody has merged as a waiver."""
    on_main({"example.yaml": WAIVER})
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("inputs: {", "inputs: {waivers: example.yaml, "))
    commit()
    report = judge()
    assert report.verdict is FAIL
    assert report.base is not None
    assert [(key.key, key.before, key.after) for key in report.base.keys] == [("inputs.waivers", None, "example.yaml")]


def test_where_the_bases_criteria_say_the_waivers_lie_they_are_read(repository: Path) -> None:
    elsewhere = CRITERIA.replace("inputs: {", "inputs: {waivers: allowed.yaml, ")
    on_main({"ship-criteria.yaml": elsewhere, "allowed.yaml": WAIVER})
    assert judge().verdict is WARN


def test_malformed_waivers_of_the_pull_request_are_an_error_with_file_line_and_key(repository: Path) -> None:
    Path("ship-waivers.yaml").write_text(WAIVER.replace("alice", "''"))
    commit()
    with pytest.raises(RankgateError, match=r"ship-waivers\.yaml:7: waivers\[0\]\.by: "):
        judge()


def test_malformed_waivers_of_the_base_waive_nothing_and_can_be_mended(repository: Path) -> None:
    on_main({"ship-waivers.yaml": WAIVER.replace("alice", "''")})
    Path("ship-waivers.yaml").write_text(WAIVER)
    commit()
    report = judge()
    assert report.verdict is FAIL
    assert report.base is not None
    assert [problem.key for problem in report.base.problems] == ["waivers[0].by"]
    write_run(Path("run.jsonl"))
    assert judge().verdict is WARN, "the pull request that mends it may be merged"


def test_a_gate_that_the_base_alone_asks_for_is_waived_as_well(repository: Path) -> None:
    """The pull request lowers the limit; the base's row is the one that is violated."""
    on_main({"ship-waivers.yaml": WAIVER})
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("0.85, regression_max: 0.03", "0.1"))
    commit()
    report = judge()
    assert report.verdict is WARN
    assert [(gate.judged_by, gate.waived is not None) for gate in report.gates if gate.name == "found"] == [
        (None, False),
        ("base", True),
    ]


COUNTS = SetLabel(name="rankgate: waive", by="alice", standing="counts")


def test_a_label_counts_where_the_bases_criteria_allow_it(repository: Path) -> None:
    on_main({"ship-criteria.yaml": LABELLED})
    report = judge(COUNTS)
    assert report.verdict is WARN
    assert report.gates[0].reasons[0].startswith("waived by a maintainer's label for this commit: recall@5 ")
    assert judge().verdict is FAIL, "without the event nothing is waived"
    stranger = judge(SetLabel(name="rankgate: waive", by="mallory", standing="stranger"))
    assert stranger.verdict is FAIL
    assert "The label that waives violations changes nothing: it was set by `mallory`, who may not write to this " in (
        "".join(stranger.notes)
    )


def test_a_pull_request_cannot_allow_its_own_label(repository: Path) -> None:
    Path("ship-criteria.yaml").write_text(LABELLED)
    commit()
    report = judge(COUNTS)
    assert report.verdict is FAIL
    assert report.base is not None
    assert [(key.key, key.after, key.weakens) for key in report.base.keys] == [
        ("waiver_label", "rankgate: waive", True)
    ]
    assert judge(COUNTS, base=None).verdict is FAIL, "without a base no label counts"


@pytest.mark.parametrize("broken", ["gates: [", "gates: [{name: found, metric: nope@5, threshold: 1}]\n"])
def test_criteria_that_stand_in_for_broken_ones_allow_no_label_and_name_no_waivers(
    repository: Path, broken: str
) -> None:
    on_main({"ship-criteria.yaml": broken, "example.yaml": WAIVER})
    Path("ship-criteria.yaml").write_text(LABELLED.replace("inputs: {", "inputs: {waivers: example.yaml, "))
    commit()
    assert judge(COUNTS).verdict is FAIL


def test_taking_the_label_back_is_no_weaker_gate(repository: Path) -> None:
    on_main({"ship-criteria.yaml": LABELLED})
    Path("ship-criteria.yaml").write_text(CRITERIA)
    commit()
    report = judge()
    assert report.base is not None
    assert [(key.key, key.after, key.weakens) for key in report.base.keys] == [("waiver_label", None, False)]
    assert judge(COUNTS).verdict is WARN, "the base still allows it"


# A pull request that brings its own baseline.


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        pytest.param(HARD, False, id="of the run that is judged"),
        pytest.param((), True, id="of another run"),
    ],
)
def test_a_copy_of_the_baseline_is_told_apart_from_this_pull_requests_run(
    repository: Path,
    lost: tuple[str, ...],
    told: bool,  # noqa: FBT001 -- a table's column
) -> None:
    write_run(Path("other.jsonl"), lost=("q1",) if told else lost)
    accept(Path("baseline"), Path("other.jsonl"))
    git("add", "--force", "baseline")
    commit()
    report = judge()
    assert report.base is not None
    assert report.base.baseline_changed == "replaced"
    assert report.base.baseline_is_this_run is not told
    assert any("is not the run that was judged" in note for note in report.notes) is told


# How a deliberate drop gets in: the flow of docs/waivers.md, through the command line.


def called(*arguments: str) -> tuple[int, Report]:
    code = main(["check", "--date", "2026-02-01", "-o", "report.json", *arguments])
    report = decode_report(Path("report.json").read_bytes(), "report.json")
    Path("report.json").unlink()
    return code, report


def test_how_a_deliberate_drop_gets_in(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A waiver is merged first, then the change; the new run is accepted, and the waiver is reported as unused."""
    code, red = called("--base", "main")
    assert (code, red.verdict) == (1, FAIL)

    # `validate` prints the entry; it is refused until somebody has filled it in.
    assert main(["validate", "--date", "2026-01-31"]) == 0
    ready = capsys.readouterr().out.partition("waivers:\n")[2]
    git("switch", "--quiet", "-c", "waiver", "main")
    write_run(Path("run.jsonl"))
    Path("ship-waivers.yaml").write_text(f"waivers:\n{ready}")
    assert main(["validate", "--date", "2026-01-31"]) == 2
    filled = ready.replace("<link to the issue>", "https://example.org/1")
    filled = filled.replace("<why this is accepted for now>", "tables").replace("<who answers for it>", "alice")
    Path("ship-waivers.yaml").write_text(f"waivers:\n{filled}")
    assert main(["validate", "--date", "2026-01-31"]) == 0
    commit()
    code, small = called("--base", "main")
    assert (code, small.verdict) == (0, PASS), "its own small pull request passes, since retrieval did not change"
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "waiver")

    # The change itself now passes, with a warning.
    git("switch", "--quiet", "pull")
    git("rebase", "--quiet", "main")
    write_run(Path("run.jsonl"), lost=HARD)
    code, waived = called("--base", "main", "--fail-on", "warn")
    assert (code, waived.verdict) == (0, WARN)
    assert waived.summary.startswith("May be merged, with a warning: waived until 2026-03-02: recall@5 ")
    git("switch", "--quiet", "main")
    git("merge", "--quiet", "pull")

    # After the merge the new run is accepted, and once the floor is lowered too nothing is left to waive.
    accepting = ["baseline", "accept", "--to", "baseline", "--date", "2026-02-01"]
    assert main(accepting) == 2, "a waived violation is one"
    assert main([*accepting, "--reason", "tables come back with issue 1", "--by", "alice"]) == 0
    assert '"reason": "tables come back with issue 1"' in Path("baseline/manifest.json").read_text()
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("0.85", "0.6"))
    git("add", "--force", "baseline")
    commit()
    code, after = called()
    assert (code, after.verdict) == (0, PASS)
    assert [use.state for use in after.waivers] == ["unused"]
    assert "The waiver of recall@5 on line 2 is not used, since nothing is violated; remove it." in after.notes
