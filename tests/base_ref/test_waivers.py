"""Waivers and `--base`: only what is merged counts, and a label only where the base's criteria allow it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.base_ref.test_sides import CRITERIA, FAIL, HARD, PASS, QUERIES, WARN, accept, gold, told, write_run
from tests.base_ref.test_sides import repository as repository  # noqa: PLC0414 -- the fixture
from tests.repositories import commit, git

from rankgate.check import check
from rankgate.cli import main
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.model.reasons import sentences
from rankgate.model.report import Report, exit_code
from rankgate.model.report_text import decode_report
from rankgate.model.values import Verdict
from rankgate.model.waiver_use import SetLabel
from rankgate.renderers.check_run import check_run_output

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
    return check(Inputs(date="2026-01-31", base=base, labels=(label,) if label else ()))


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
    assert sentences(report.gates[0], report.base)[0].startswith(
        "waived by a maintainer's label for this commit: recall@5 "
    )
    assert judge().verdict is FAIL, "without the event nothing is waived"
    stranger = judge(SetLabel(name="rankgate: waive", by="mallory", standing="outsider"))
    assert stranger.verdict is FAIL
    refusal = "it was set by somebody who may not write to this repository"
    assert f"The label that waives violations changes nothing: {refusal}." in stranger.notes


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


@pytest.mark.parametrize("broken", ["gates: [", "gates: [{name: found, metric: recall@5, threshold: 7}]\n"])
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


# Ways around: the pull request makes its own violation so small, or so soft, that a waiver would cover it.

EASY = ("easy1", "easy2", "easy3", "easy4", "easy5")


def gate(*limits: str) -> str:
    """Criteria of one gate, whose run has a recall of 60 % and had 100 %."""
    return f"gates:\n  - {{name: found, metric: recall@5, {', '.join(limits)}}}\n{CRITERIA[CRITERIA.index('inputs') :]}"


def tagged(**tags: str) -> str:
    """The gold set with a tag for some of its queries."""
    text = gold(*QUERIES)
    for query, tag in tags.items():
        text = text.replace(f"[doc-{query}]", f"[doc-{query}], metadata: {{tags: [{json.dumps(tag)}]}}")
    return text


BY_LANGUAGE = tagged(q1="lang:en", q2="lang:en", q3="lang:en", q4="lang:de", q5="lang:de")
OF_GERMAN = WAIVER.replace("up_to", 'segment: "lang:de"\n    up_to')


@pytest.mark.parametrize(
    ("files", "change", "up_to", "states"),
    [
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85")},
            {"ship-criteria.yaml": gate("threshold: 0.65")},
            0.1,
            ["too_small"],
            id="a lower threshold",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85, regression_max: 0.35")},
            {"ship-criteria.yaml": gate("regression_max: 0.35")},
            0.1,
            ["too_small"],
            id="no threshold",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("regression_max: 0.03")},
            {"ship-criteria.yaml": gate("regression_max: 0.35")},
            0.1,
            ["too_small"],
            id="a larger drop allowed",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85")},
            {"ship-criteria.yaml": gate("threshold: 0.65", "severity: warning")},
            0.1,
            ["too_small"],
            id="a lower threshold that only warns",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85")},
            {"ship-criteria.yaml": gate("threshold: 0.65").replace("recall@5", "mrr")},
            0.1,
            ["too_small"],
            id="another metric under the same name",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85", "must_pass: [q4]")},
            {"ship-criteria.yaml": gate("threshold: 0.85")},
            0.5,
            ["hard_check"],
            id="no question must pass any more",
        ),
        pytest.param(
            {
                "ship-criteria.yaml": gate("threshold: 0.85", "must_pass: [hard]"),
                "gold.yaml": tagged(q1="hard", q4="hard"),
            },
            {"gold.yaml": tagged(q1="hard")},
            0.5,
            ["hard_check"],
            id="the tag of a question that must pass is gone",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85", "max_lost_queries: 0")},
            {"ship-criteria.yaml": gate("threshold: 0.85", "max_lost_queries: 2")},
            0.5,
            ["hard_check"],
            id="more questions may be lost",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85")},
            {"gold.yaml": gold(*QUERIES, q4="other-q4")},
            0.1,
            ["too_small"],
            id="a lost question relabelled",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85")},
            {"gold.yaml": gold(*QUERIES, *EASY)},
            0.1,
            ["too_small"],
            id="easy questions added",
        ),
        pytest.param(
            {
                "ship-criteria.yaml": gate("threshold: 0.5", "segments: {by: lang, threshold: 0.85, min_queries: 1}"),
                "gold.yaml": BY_LANGUAGE,
                "ship-waivers.yaml": OF_GERMAN,
            },
            {"ship-criteria.yaml": gate("threshold: 0.5", "segments: {by: lang, threshold: 0.05, min_queries: 1}")},
            0.1,
            ["too_small"],
            id="a lower threshold of segments",
        ),
        pytest.param(
            {
                "ship-criteria.yaml": gate("threshold: 0.65", "segments: {by: lang, threshold: 0.85, min_queries: 1}"),
                "gold.yaml": BY_LANGUAGE,
            },
            {"ship-criteria.yaml": gate("threshold: 0.65")},
            0.1,
            ["in_force"],
            id="no segments, where the whole alone is waived",
        ),
        pytest.param(
            {"ship-criteria.yaml": gate("threshold: 0.85"), "ship-waivers.yaml": WAIVER.replace("found", "other")},
            {"ship-criteria.yaml": gate("threshold: 0.85").replace("name: found", "name: other")},
            0.5,
            ["in_force"],
            id="a name for which a waiver waits",
        ),
    ],
)
def test_a_waiver_covers_no_more_than_what_the_base_would_let_it(
    repository: Path, files: dict[str, str], change: dict[str, str], up_to: float, states: list[str]
) -> None:
    """By its own criteria and gold set alone the pull request would pass with its waiver."""
    on_main({"ship-waivers.yaml": WAIVER, **files})
    waivers = Path("ship-waivers.yaml").read_text()
    on_main({"ship-waivers.yaml": waivers.replace("up_to: 0.5", f"up_to: {up_to}")})
    write_run(Path("run.jsonl"), lost=HARD, queries=(*QUERIES, *EASY))
    for name, text in change.items():
        Path(name).write_text(text)
    commit()
    alone, report = judge(base=None), judge()
    assert exit_code(alone) == 0
    assert (report.verdict, exit_code(report)) == (FAIL, 1)
    assert [use.state for use in report.waivers] == states
    assert [gate.verdict for gate in report.gates if gate.judged_by and gate.verdict is not PASS] == [FAIL]


@pytest.mark.parametrize("limit", ["must_pass: [q4]", "max_lost_queries: 0"])
def test_a_label_covers_no_single_question_that_the_base_asks_for(repository: Path, limit: str) -> None:
    labelled = gate("threshold: 0.85") + 'waiver_label: "rankgate: waive"\n'
    on_main({"ship-criteria.yaml": labelled.replace("0.85", f"0.85, {limit}")})
    Path("ship-criteria.yaml").write_text(labelled)
    commit()
    assert judge(COUNTS).verdict is FAIL


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
    assert (report.verdict, report.warnings) == (WARN, [])
    assert exit_code(judge(base=None), "warn") == 0
    assert exit_code(report, "warn") == 1


def test_where_warnings_stop_within_noise_stands_for_no_violation(repository: Path) -> None:
    """`proven_harm` lets pass what is within noise; the base's estimate does not."""
    mild = gate("threshold: 0.85", "severity: warning", "evidence: proven_harm")
    on_main({"ship-criteria.yaml": mild.replace("proven_harm", "estimate")})
    Path("ship-criteria.yaml").write_text(mild)
    commit()
    report = judge()
    assert [(gate.judged_by, gate.verdict, gate.only_inconclusive) for gate in report.gates] == [
        (None, PASS, False),
        ("base", WARN, False),
    ]


def test_a_violation_that_is_larger_at_the_base_is_one_gate_in_the_summary(repository: Path) -> None:
    on_main({"ship-criteria.yaml": gate("threshold: 0.85")})
    Path("ship-criteria.yaml").write_text(gate("threshold: 0.65"))
    commit()
    report = judge()
    assert [gate.judged_by for gate in report.gates] == [None, "base"]
    assert [gate.violation for gate in report.gates] == pytest.approx([0.05, 0.25])
    assert report.summary.startswith("Do not merge: by the criteria of the base, recall@5 ")
    assert "more gate" not in report.summary
    assert "more gate" not in check_run_output(report).title


def test_what_neither_side_violates_more_has_one_row(repository: Path) -> None:
    """Also where two rules look at the same tags, of which the second holds."""
    rules = "segments: [{by: lang, threshold: 0.85, min_queries: 1}, {by: lang, regression_max: 1, min_queries: 1}]"
    on_main({"ship-criteria.yaml": gate("threshold: 0.85", rules), "gold.yaml": BY_LANGUAGE})
    Path("ship-criteria.yaml").write_text(gate("threshold: 0.85", rules, "max_lost_queries: 5"))
    commit()
    report = judge()
    assert report.base is not None
    assert report.base.base_verdict is FAIL
    assert {gate.judged_by for gate in report.gates} == {None}


# A question that is removed from the gold set is judged by neither side: that is a warning, or a failure.


@pytest.mark.parametrize(
    ("limits", "up_to", "reason"),
    [
        pytest.param("", 0.1, "recall@5 is 60.0%, below the floor of 85.0%", id="the violation becomes smaller"),
        pytest.param(", must_pass: [q4]", 0.5, "1 must-pass question fails", id="a question that must pass"),
    ],
)
@pytest.mark.parametrize(("gold_changes", "verdict"), [("warn", WARN), ("fail", FAIL)])
def test_removing_a_lost_question_is_not_waived(
    repository: Path, limits: str, up_to: float, reason: str, gold_changes: str, verdict: Verdict
) -> None:
    on_main({
        "ship-criteria.yaml": f"gold_changes: {gold_changes}\n{gate(f'threshold: 0.85{limits}')}",
        "ship-waivers.yaml": WAIVER.replace("0.5", str(up_to)),
    })  # fmt: skip
    assert judge().verdict is FAIL
    Path("ship-criteria.yaml").write_text(gate("threshold: 0.85"))
    Path("gold.yaml").write_text(gold(*(query for query in QUERIES if query != "q4")))
    commit()
    report = judge()
    assert (report.verdict, exit_code(report, "warn")) == (verdict, 1)
    judged_whole = "hard_check" if limits else "too_small"
    assert [use.state for use in report.waivers] == ["in_force" if verdict is WARN else judged_whole]
    [said] = [text for text in told(report) if "removes 1 query ('q4') from the gold set" in text]
    assert f"; judged with them, {reason}" in said


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
