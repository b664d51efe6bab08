"""`rankgate baseline` over the life of a project, in a real repository: what is accepted, and what it adds up to."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.baselines.accepting import newest, run_of
from tests.repositories import commit, git, sha_of_commit

from rankgate.cli import main

Capture = pytest.CaptureFixture[str]
DAY = "2026-01-{:02}"
GOLD = "".join(f"- {{id: q{n}, expected_output: [d{n}]}}\n" for n in range(10))
CRITERIA = """\
gates:
  - {name: recall@1, threshold: 0.2, regression_max: 0.15}
inputs: {gold: gold.yaml, run: run-10.jsonl, baseline: baseline}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a gold set of ten queries and runs that find from none to all of them: run-N finds N."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    Path("gold.yaml").write_text(GOLD, encoding="utf-8")
    Path("ship-criteria.yaml").write_text(CRITERIA, encoding="utf-8")
    for right in range(11):
        lines = [{"query_id": f"q{n}", "retrieved": [f"d{n}" if n < right else "x"]} for n in range(10)]
        Path(f"run-{right}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    commit()
    return tmp_path


def baseline(action: str, *words: str, day: int = 1) -> int:
    dated = ["--date", DAY.format(day)] if action in ("accept", "record") else []
    return main(["baseline", action, *words, *dated])


def accepted(right: int, *words: str, day: int = 1) -> int:
    return baseline("accept", "--run", f"run-{right}.jsonl", *words, day=day)


def check(right: int, *words: str, day: int = 1) -> dict[str, Any]:
    main(["check", "--run", f"run-{right}.jsonl", "--date", DAY.format(day), "-o", "report.json", *words])
    report: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return report


def shown(capsys: Capture, *words: str) -> Any:
    capsys.readouterr()
    assert main(["baseline", *words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


# Accepting


def test_what_is_accepted_says_for_which_commit_how_it_was_judged_and_what_it_scored(capsys: Capture) -> None:
    head = git("rev-parse", "HEAD")
    assert accepted(10) == 0
    assert accepted(9, "--by", "ana", day=2) == 0
    found = shown(capsys, "show")["accepted"]
    kept = {key: found[key] for key in ("commit", "branch", "verdict", "scores", "reason", "by", "date")}
    assert kept == {
        "commit": head,
        "branch": "main",
        "verdict": "pass",
        "scores": {"recall@1": 0.9},
        "reason": None,
        "by": "ana",
        "date": "2026-01-02",
    }


def test_a_run_that_fails_is_refused_with_what_it_would_change(capsys: Capture) -> None:
    assert accepted(10) == 0
    before = {path: path.read_bytes() for path in Path("baseline").rglob("*.*")}
    capsys.readouterr()
    assert accepted(5, day=2) == 2
    out, err = capsys.readouterr()
    assert out == ""
    advice = "nothing was accepted; mend it and record again, or accept it with --reason TEXT, which is stored with it"
    assert err.startswith(f"error: run-5.jsonl: {advice}\nthe run fails its gates: recall@1 lost 50.0 points")
    assert "  recall@1    100.0%     50.0%  FAIL" in err
    assert {path: path.read_bytes() for path in Path("baseline").rglob("*.*")} == before


def test_with_a_reason_it_is_accepted_and_the_reason_stands_in_the_manifest(capsys: Capture) -> None:
    assert accepted(10) == 0
    capsys.readouterr()
    assert accepted(5, "--reason", "smaller index, agreed in #12", "--by", "ana", day=2) == 0
    assert "allowed: reason given: smaller index, agreed in #12\n" in capsys.readouterr().out
    manifest = json.loads(newest().read_text(encoding="utf-8"))
    assert (manifest["reason"], manifest["by"], manifest["verdict"]) == ("smaller index, agreed in #12", "ana", "fail")


def test_a_job_that_is_started_again_keeps_the_reason_and_a_later_one_is_added(capsys: Capture) -> None:
    """The second time the run is judged by itself, so that it passes."""
    assert accepted(10) == 0
    said = ""
    for more in (["--reason", "smaller index", "--by", "ana"], [], ["--reason", "agreed in #12"]):
        assert accepted(5, *more, day=2) == 0
        said = capsys.readouterr().out
    assert said.endswith("allowed: reason given: smaller index; agreed in #12\n")
    record = shown(capsys, "show")["accepted"]
    assert (record["reason"], record["by"], record["verdict"]) == ("smaller index; agreed in #12", "ana", "fail")
    reasons = [each["reason"] for each in shown(capsys, "history", "--accepted")]
    assert reasons == [None, "smaller index", "smaller index; agreed in #12"]


def test_a_reason_for_what_needs_none_is_not_recorded(capsys: Capture) -> None:
    assert accepted(10, "--reason", "just because") == 0
    assert capsys.readouterr().out.endswith("\nthe reason is not recorded, for none was needed\n")
    assert shown(capsys, "show")["accepted"]["reason"] is None


def test_a_run_that_cannot_be_judged_is_refused_too(capsys: Capture) -> None:
    assert accepted(10) == 0
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("recall@1", "latency"), encoding="utf-8")
    assert accepted(9, day=2) == 2
    assert "the run could not be judged" in capsys.readouterr().err


def test_a_run_that_loses_one_part_is_refused_with_that_part(capsys: Capture) -> None:
    samples = [
        {"id": f"q{n}", "expected_output": [f"d{n}"], "metadata": {"tags": ["lang:th" if n < 3 else "lang:en"]}}
        for n in range(10)
    ]
    Path("gold.yaml").write_text(json.dumps({"samples": samples}), encoding="utf-8")
    gate = "{name: recall@1, regression_max: 0.9, segments: {by: lang, regression_max: 0.1, min_queries: 3}}"
    inputs = "inputs: {gold: gold.yaml, run: run-10.jsonl, baseline: baseline}\n"
    Path("ship-criteria.yaml").write_text(f"gates:\n  - {gate}\n{inputs}", encoding="utf-8")
    assert accepted(10) == 0
    capsys.readouterr()
    lines = Path("run-10.jsonl").read_text().splitlines()
    Path("run-7.jsonl").write_text("".join(f"{line}\n" for line in lines).replace('"d0"', '"x"').replace('"d1"', '"x"'))
    assert accepted(7, day=2) == 2
    rows = [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().err.splitlines()[2:]]
    assert rows == [
        ["gate", "accepted", "this run", "verdict"],
        ["recall@1", "100.0%", "80.0%", "PASS"],
        ["recall@1, lang:th", "100.0%", "33.3%", "FAIL"],
    ]


def test_gates_that_nobody_could_ask_are_no_yes(capsys: Capture) -> None:
    """Criteria without a gold set judge nothing: the run is not accepted as if they had."""
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("gold: gold.yaml, ", ""), encoding="utf-8")
    assert accepted(0) == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        (
            "error: run-0.jsonl: nothing was accepted; mend it and record again, or accept it with --reason TEXT, "
            "which is stored with it\nno gold set is named, so the run was not judged; name one with --gold, or as "
            "inputs.gold in the criteria\n"
        ),
    )
    assert not Path("baseline").exists()
    assert accepted(10, "--gold", "gold.yaml") == 0
    assert accepted(0, "--reason", "labels come next week") == 0
    assert capsys.readouterr().out.endswith("allowed: reason given: labels come next week\n")
    assert shown(capsys, "show")["accepted"]["reason"] == "labels come next week"


def test_nothing_is_accepted_before_what_was_accepted_last(capsys: Capture) -> None:
    assert accepted(10, day=2) == 0
    capsys.readouterr()
    assert accepted(10, "--commit", "none", day=1) == 2
    message = "the newest record is dated 2026-01-02, after today (2026-01-01); one of two clocks is wrong"
    assert capsys.readouterr().err == f"error: baseline: {message}\n"


def test_a_run_is_judged_against_what_lies_behind_a_password(capsys: Capture) -> None:
    """What a store calls itself has no password in it, and is another place."""
    place = ("--baseline", f"memory://ana:pass@{Path.cwd().name}")
    assert accepted(10, *place) == 0
    capsys.readouterr()
    assert accepted(5, *place, day=2) == 2
    said = capsys.readouterr().err
    assert "  recall@1    100.0%     50.0%  FAIL" in said
    assert "pass@" not in said


# History and policy


@pytest.mark.parametrize(
    ("policy", "right", "moves"),
    [
        pytest.param("manual", 10, False, id="manual: only a person accepts"),
        pytest.param("green", 10, True, id="green: a pass is accepted"),
        pytest.param("green", 5, False, id="never one that failed"),
    ],
)
def test_a_policy_says_when_a_run_of_main_is_accepted(capsys: Capture, policy: str, right: int, *, moves: bool) -> None:
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}baseline: {{accept: {policy}}}\n", encoding="utf-8")
    assert accepted(9) == 0
    assert baseline("record", "--run", f"run-{right}.jsonl", day=2) == 0
    assert shown(capsys, "show")["accepted"]["source"] == (f"run-{right}.jsonl" if moves else "run-9.jsonl")
    assert [(each["source"], each["accepted"]) for each in shown(capsys, "history")] == [(f"run-{right}.jsonl", moves)]


def test_under_green_the_first_run_is_accepted_although_it_compares_with_nothing(capsys: Capture) -> None:
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}baseline: {{accept: green}}\n", encoding="utf-8")
    assert baseline("record", "--run", "run-10.jsonl") == 0
    assert shown(capsys, "show")["accepted"]["source"] == "run-10.jsonl"


def test_under_green_a_gate_that_only_warns_is_not_absorbed(capsys: Capture) -> None:
    mild = CRITERIA.replace("0.15}", "0.15, severity: warning}")
    Path("ship-criteria.yaml").write_text(f"{mild}baseline: {{accept: green}}\n", encoding="utf-8")
    assert accepted(10) == 0
    assert baseline("record", "--run", "run-5.jsonl", day=2) == 0
    assert shown(capsys, "show")["accepted"]["source"] == "run-10.jsonl"


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param("threshold: 0.2, regression_max: 0.15, must_pass: [q9]", id="a question that must pass fails"),
        pytest.param("threshold: 0.7, regression_max: 0.15, evidence: proven_harm", id="a floor that is not proven"),
    ],
)
def test_under_green_a_first_run_that_warns_of_more_than_a_missing_baseline_takes_a_person(
    limits: str, capsys: Capture
) -> None:
    gate = f"{{name: recall@1, {limits}, severity: warning}}"
    text = CRITERIA.replace("{name: recall@1, threshold: 0.2, regression_max: 0.15}", gate)
    Path("ship-criteria.yaml").write_text(f"{text}baseline: {{accept: green}}\n", encoding="utf-8")
    assert baseline("record", "--run", "run-5.jsonl") == 0
    assert "WARN" in capsys.readouterr().out
    assert shown(capsys, "show")["accepted"] is None


def test_a_slow_job_of_an_older_commit_does_not_set_the_baseline_back(capsys: Capture) -> None:
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}baseline: {{accept: green}}\n", encoding="utf-8")
    older = sha_of_commit()
    commit()
    assert baseline("record", "--run", "run-10.jsonl") == 0
    assert baseline("record", "--run", "run-9.jsonl", "--commit", older) == 0
    assert shown(capsys, "show")["accepted"]["source"] == "run-10.jsonl"
    assert len(shown(capsys, "history")) == 2


def test_under_green_nothing_replaces_what_it_could_not_be_compared_with(capsys: Capture) -> None:
    """Otherwise whoever damages the accepted run has the next one accepted, however bad that is."""
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}baseline: {{accept: green}}\n", encoding="utf-8")
    assert accepted(10) == 0
    run_of().write_bytes(b"damaged")
    capsys.readouterr()
    assert baseline("record", "--run", "run-5.jsonl", day=2) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        (
            "what was accepted last could not be compared with: "
            f"{run_of()}: damaged baseline: its digest is not its record's; "
            "restore it or accept a run again"
        ),
        "WARN: what is accepted stays",
    ]
    assert shown(capsys, "show")["accepted"]["source"] == "run-10.jsonl"


def test_a_check_reads_no_history() -> None:
    assert accepted(10) == 0
    assert baseline("record", "--run", "run-10.jsonl") == 0
    Path("baseline/history/00000001.json").write_text("of ten thousand this one is damaged\n", encoding="utf-8")
    assert check(10)["verdict"] == "pass"
    assert baseline("verify") == 2


@pytest.mark.full
def test_of_a_long_history_the_last_twenty_are_listed(capsys: Capture) -> None:
    assert baseline("record", "--run", "run-10.jsonl", "--commit", "none") == 0
    first = Path("baseline/history/00000001.json")
    for number in range(2, 1_001):
        first.with_name(f"{number:08d}.json").write_bytes(first.read_bytes())
    assert len(shown(capsys, "history")) == 20
    capsys.readouterr()
    assert baseline("history") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "  the last 20; --all lists the older ones too"
    assert len(shown(capsys, "history", "--all")) == 1_000


# How far behind


def test_the_report_says_which_commit_and_how_far_behind() -> None:
    first = git("rev-parse", "HEAD")
    assert accepted(10) == 0
    for _ in range(3):
        commit()
    report = check(10, day=13)
    assert report["provenance"]["baseline"]["lineage"] == {
        "record": report["provenance"]["baseline"]["lineage"]["record"],
        "date": "2026-01-01",
        "commit": first,
        "branch": "main",
        "how": "here",
        "commits_behind": 3,
        "days_behind": 12,
        "reason": None,
        "by": None,
        "failed": False,
        "judge": None,
        "packages": {},
    }
    assert f"Compared with the run accepted for {first[:7]}, 3 commits and 12 days behind." in report["notes"]


@pytest.mark.full
def test_commits_are_counted_from_where_the_pull_request_left_the_base() -> None:
    assert accepted(10) == 0
    commit()
    git("checkout", "-q", "-b", "topic")
    for _ in range(2):
        commit()
    assert check(10, "--base", "main")["provenance"]["baseline"]["lineage"]["commits_behind"] == 1


@pytest.mark.parametrize(
    ("age", "verdict"),
    [
        pytest.param("{days: 12, commits: 1}", "pass", id="as old as allowed"),
        pytest.param("{days: 11}", "warn", id="too many days warn"),
        pytest.param("{commits: 0}", "warn", id="too many commits warn"),
        pytest.param("{days: 11, severity: error}", "fail", id="or fail"),
    ],
)
def test_an_old_baseline_warns_or_fails_where_the_criteria_say_so(age: str, verdict: str) -> None:
    assert accepted(10) == 0
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}baseline: {{max_age: {age}}}\n", encoding="utf-8")
    commit()
    report = check(10, day=13)
    assert report["verdict"] == verdict
    assert len(report["warnings"] + report["failures"]) == (verdict != "pass")


def test_a_baseline_from_the_future_is_named() -> None:
    assert accepted(10, day=2) == 0
    (warning,) = check(10, day=1)["warnings"]
    assert warning.startswith("the baseline is dated 2026-01-02, after the day of this check (2026-01-01)")


# Looking and tending


def test_compare_reads_stored_runs_by_their_ids_and_the_accepted_one_by_its_word(capsys: Capture) -> None:
    kept = ["--baseline", (Path.cwd() / "kept").as_uri()]
    for right, day in ((10, 1), (9, 2)):
        assert accepted(right, *kept, "--reason", "agreed", day=day) == 0
    first, second = (each["id"] for each in shown(capsys, "history", "--accepted", *kept))
    how = ["--criteria", "ship-criteria.yaml", "--metrics", "recall@1", "--format", "json"]
    for a, b, worse in ((first, second, 1), (first[:4], "accepted", 1), ("accepted", "run-7.jsonl", 2)):
        assert main(["compare", a, b, *kept, *how]) == 0
        assert json.loads(capsys.readouterr().out)["metrics"]["recall@1"]["worse"] == worse
    assert main(["compare", "accepted", "run-7.jsonl", *how]) == 2
    assert capsys.readouterr().err == "error: baseline: nothing has been accepted yet\n"
    Path("accepted").write_bytes(Path("run-8.jsonl").read_bytes())
    assert main(["compare", "accepted", "run-7.jsonl", *kept, *how]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["recall@1"]["worse"] == 1, "a file of that name comes first"


@pytest.mark.full
def test_prune_keeps_the_newest_also_where_one_of_them_was_accepted_before(capsys: Capture) -> None:
    for day, right in enumerate((8, 9, 10, 9, 10, 9), start=1):
        assert accepted(right, day=day) == 0
    assert baseline("prune", "--log", "accepted", "--keep", "1", "--yes") == 0
    kept = [each["source"] for each in shown(capsys, "history", "--accepted")]
    assert kept == ["run-8.jsonl", *["run-9.jsonl"] * 3], "the anchor, and what has the newest one's id"


def test_prune_says_what_would_go_before_it_does(capsys: Capture) -> None:
    for right, day in ((10, 1), (9, 2), (8, 3)):
        assert accepted(right, day=day) == 0
    capsys.readouterr()
    assert baseline("prune", "--log", "accepted", "--keep", "0") == 0
    assert capsys.readouterr().out == (
        "would prune 1 record of 2026-01-02 to 2026-01-02 from the accepted of baseline; with --yes it does\n"
    )
    assert len(shown(capsys, "history", "--accepted")) == 3
    assert baseline("prune", "--log", "accepted", "--keep", "0", "--yes") == 0
    assert [each["source"] for each in shown(capsys, "history", "--accepted")] == ["run-10.jsonl", "run-8.jsonl"]
    assert check(8, day=3)["conclusion"]["kind"] == "pass"


def test_verify_ends_in_2_and_names_what_is_damaged(capsys: Capture) -> None:
    assert accepted(10) == 0
    assert baseline("verify") == 0
    run = run_of()
    run.write_bytes(b"damaged")
    capsys.readouterr()
    assert baseline("verify") == 2
    assert f"error: {run.as_posix()}: damaged baseline" in capsys.readouterr().err


def test_an_unknown_kind_of_store_is_named_with_those_that_there_are(capsys: Capture) -> None:
    assert baseline("show", "--baseline", "ftpx:somewhere") == 2
    assert capsys.readouterr().err == (
        "error: ftpx:somewhere: unknown kind of baseline store; known are a directory, git+branch:NAME, "
        "file://…, s3://… and other addresses, and run files\n"
    )


@pytest.mark.parametrize("words", [["check"], ["baseline", "show"], ["baseline", "accept"]], ids=" ".join)
def test_the_help_names_every_kind_of_store(words: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "a directory, git+branch:NAME, file://…, s3://… and other addresses" in said


def test_the_branch_of_a_job_is_that_of_its_event(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """As the help says: what is checked out may be a commit."""
    with pytest.raises(SystemExit):
        baseline("accept", "--help", "--all")
    said = " ".join(capsys.readouterr().out.split())
    assert "its branch (default: GITHUB_REF_NAME, else the one that is checked out)" in said
    found = []
    for name, branch in (("NOBODY", "nobody"), ("GITHUB_REF_NAME", "release")):
        monkeypatch.setenv(name, branch)
        assert accepted(10) == 0
        found.append(shown(capsys, "show")["accepted"]["branch"])
    assert found == ["main", "release"]


def test_a_run_for_an_empty_store_is_compared_with_nothing_whatever_the_criteria_name(capsys: Capture) -> None:
    assert accepted(10) == 0
    capsys.readouterr()
    assert accepted(5, "--to", "elsewhere") == 0, "it would fail by the baseline of the criteria"
    assert "50.0%" in capsys.readouterr().out
