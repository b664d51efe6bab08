"""Waivers and `--base`: only what is merged counts, and a label only where the base's criteria allow it."""

from __future__ import annotations

from pathlib import Path

from tests.base_ref.test_sides import CRITERIA, FAIL, HARD, QUERIES, WARN, gold, write_run
from tests.base_ref.test_sides import repository as repository  # noqa: PLC0414 -- the fixture
from tests.repositories import commit, git

from rankgate.check import check
from rankgate.criteria.inputs import Inputs
from rankgate.model.report import Report, exit_code
from rankgate.model.waiver_use import SetLabel

WAIVER = """\
waivers:
  - gate: found
    up_to: 0.5
    expires: 2026-12-31
    issue: https://example.org/1
    reason: the parser loses tables
    by: alice
"""


def judge(label: SetLabel | None = None, base: str | None = "main") -> Report:
    return check(Inputs(date="2026-01-31", base=base, labels=(label,) if label else ()))


def on_main(files: dict[str, str]) -> None:
    """Commit files on main, and rebase the pull request on it."""
    git("switch", "--quiet", "main")
    for name, text in files.items():
        Path(name).write_text(text)
    commit()
    git("switch", "--quiet", "pull")
    git("rebase", "--quiet", "main")
    commit()


def test_nor_can_its_code_write_a_waiver_that_git_does_not_know(repository: Path) -> None:
    Path(".git/info/exclude").write_text("ship-waivers.yaml\n")
    commit()
    Path("ship-waivers.yaml").write_text(WAIVER)
    assert judge().verdict is FAIL
    assert judge(base=None).verdict is WARN, "without a base the working tree's file counts"


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


# Ways around: the pull request makes its own violation so small, or so soft, that a waiver would cover it.

EASY = ("easy1", "easy2", "easy3", "easy4", "easy5")


def gate(*limits: str) -> str:
    """Criteria of one gate, whose run has a recall of 60 % and had 100 %."""
    return f"gates:\n  - {{name: found, metric: recall@5, {', '.join(limits)}}}\n{CRITERIA[CRITERIA.index('inputs') :]}"


def test_where_warnings_stop_easy_questions_do_not_help_a_waiver_either(repository: Path) -> None:
    """A gate that only warns, and a pull request that weakens nothing."""
    on_main({
        "ship-criteria.yaml": gate("threshold: 0.85", "severity: warning"),
        "ship-waivers.yaml": WAIVER.replace("0.5", "0.1"),
    })  # fmt: skip
    Path("gold.yaml").write_text(gold(*QUERIES, *EASY))
    write_run(Path("run.jsonl"), lost=HARD, queries=(*QUERIES, *EASY))
    commit()
    report = judge()
    assert (report.verdict, len(report.warnings)) == (WARN, 1)
    assert "half as many more may be lost" in report.warnings[0]
    assert exit_code(judge(base=None), "warn") == 0
    assert exit_code(report, "warn") == 1


# A question that is removed from the gold set is judged by neither side: that is a warning, or a failure.


def test_the_base_alone_warns_of_an_old_baseline(repository: Path) -> None:
    """A limit of age that is taken away holds until that is merged."""
    aged = CRITERIA + "baseline: {max_age: {days: 3}}\n"
    write_run(Path("run.jsonl"))
    on_main({"ship-criteria.yaml": aged})
    Path("ship-criteria.yaml").write_text(aged.replace("3", "300"))
    commit()
    report = judge()
    assert report.verdict is WARN
    assert [warning for warning in report.warnings if "max_age allows 3;" in warning] != []
    assert len(report.warnings) == len(set(report.warnings)) == 2


# A pull request that brings its own baseline.


# How a deliberate drop gets in: the flow of docs/waivers.md, through the command line.
