"""`rankgate.check` and `rankgate.compare`: what the commands say, from files and from what Python has in memory."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import multiprocessing
import os
import pickle
import pydoc
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import pytest
import yaml
from tests.children import Forking
from tests.repositories import commit, git

import rankgate
from rankgate import RankgateError, Report, api
from rankgate.cli import compare as cli_compare
from rankgate.cli import main
from rankgate.cli.demo import _copy_example
from rankgate.criteria import find_criteria, load_criteria
from rankgate.metrics.comparison import Comparison
from rankgate.metrics.estimates import Estimate
from rankgate.model.gate_result import GateResult
from rankgate.model.report_text import encode_report
from rankgate.model.values import ReasonKind, Verdict

ROOT = Path(__file__).parents[1]
DAY = "2026-03-01"
RUNS = ("accepted", "harmless", "harmful", "generator")
GATES: dict[str, Any] = {"gates": [{"name": "recall@1", "threshold": 0.75}]}


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of `rankgate demo` with an accepted run."""
    place = tmp_path_factory.mktemp("accepted")
    _copy_example(place)
    words = ["--run", "runs/accepted.jsonl", "--commit", "none", "--date", DAY, "--reason", "the first"]
    with chdir(place):
        assert main(["baseline", "accept", *words]) == 0
    return place


@pytest.fixture
def demo(accepted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working directory."""
    shutil.copytree(accepted, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main([*words, "--format", "json"])
    return capsys.readouterr().out


def gold_in_memory() -> dict[str, list[str]]:
    samples = yaml.safe_load(Path("gold.yaml").read_text(encoding="utf-8"))["samples"]
    return {each["id"]: each["expected_output"] for each in samples}


def run_in_memory(name: str) -> dict[str, Any]:
    lines = map(json.loads, Path(f"runs/{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return {each["query_id"]: each for each in lines}


# The name: a function, whatever else is imported.

ORDERS = {
    "the package": "import rankgate",
    "the module": "import rankgate.check",
    "the module, then the name": "import rankgate.check; from rankgate import check; assert check is rankgate.check",
    "the name, then the module": "from rankgate import check; import rankgate.check; assert check is rankgate.check",
    "the story's own": "from rankgate.check import check as story; import rankgate; assert story is not rankgate.check",
    "reloaded": "import importlib, rankgate.check; importlib.reload(rankgate)",
    "the module reloaded": "import importlib, sys, rankgate.check; importlib.reload(sys.modules['rankgate.check'])",
    "by import_module": "import importlib, rankgate; importlib.import_module('rankgate.check')",
    "under another name": "import rankgate, rankgate.check as other; assert other is rankgate.check",
    "the command": "import rankgate, rankgate.cli.check",
    "forgotten and again": "import sys, rankgate.check; del sys.modules['rankgate.check']; import rankgate.check",
}


WITHOUT_RANKGATE = """
import inspect, sys, jinja2, msgspec, pydantic, yaml

def act(statements):
    assert "rankgate" not in sys.modules
    names = {}
    exec(statements, names)
    check = names["rankgate"].check
    return 0 if inspect.isfunction(check) and check.__module__ == "rankgate.api" else 1
"""


@pytest.mark.full
def test_the_name_is_the_function_in_any_order_of_imports() -> None:
    interpreter = Forking(WITHOUT_RANKGATE, {**os.environ, "PYTHONPATH": str(ROOT / "src")})
    assert {name: interpreter.act(statements) for name, statements in ORDERS.items()} == dict.fromkeys(ORDERS, 0)


def test_it_can_be_replaced_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(rankgate, "check", len)
        importlib.import_module("rankgate.check")
        assert vars(rankgate)["check"] is len
    assert rankgate.check is api.check


@pytest.mark.full
def test_function_and_report_go_to_another_process() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        report = pool.apply(rankgate.check, ({"q": ["a"]}, {"q": ["b"]}), {"criteria": GATES, "date": DAY})
    assert type(report) is Report
    assert report == pickle.loads(pickle.dumps(report))  # noqa: S301
    assert report == rankgate.check({"q": ["a"]}, {"q": ["b"]}, criteria=GATES, date=DAY)


def test_the_public_names_are_listed_and_explained() -> None:
    assert dir(rankgate) == sorted(rankgate.__all__)
    text = pydoc.plain(pydoc.render_doc(rankgate))
    for name in ("check(gold", "compare(gold", "score(gold", "record(gold", "class Evaluation", "class Report"):
        assert name in text
    assert "Judge a run as `rankgate check` does" in pydoc.plain(pydoc.render_doc(rankgate.check))


def test_the_examples_of_the_docstrings() -> None:
    found = doctest.testmod(api)
    assert (found.failed, found.attempted > 4) == (0, True)


def test_the_types() -> None:
    """Of mypy, which is a step of `.ci/run`: an argument that is not refused would make its comment here an error."""
    gold, run = {"q": ["a"]}, {"q": ["b"]}
    report = rankgate.check(gold=gold, run=run, criteria=GATES, date=DAY)
    assert_type(report, Report)
    assert_type(report.gates, list[GateResult])
    assert_type(rankgate.compare(gold, run, run, metrics=["mrr"])["mrr"], Comparison | Estimate | None)
    assert_type(rankgate.score(gold, run, metrics=["mrr"]).to_dict(), dict[str, Any])
    with pytest.raises(TypeError, match="golds"):
        rankgate.check(golds=gold)  # type: ignore[call-arg]


# What it says is what the command says.


@pytest.mark.full
@pytest.mark.parametrize("run", RUNS)
def test_files_are_judged_as_by_the_command_byte_for_byte(
    demo: Path, capsys: pytest.CaptureFixture[str], run: str
) -> None:
    path = f"runs/{run}.jsonl"
    report = rankgate.check(run=path, date=DAY)
    assert encode_report(report) == printed(capsys, "check", "--run", path, "--date", DAY)
    assert report.to_dict() == json.loads(encode_report(report))
    assert [
        gate.decision.reasons for gate in report.gates if not all(reason.text for reason in gate.decision.reasons)
    ] == []


@pytest.mark.full
def test_all_inputs_by_name_and_as_paths(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"criteria": "ship-criteria.yaml", "gold": "gold.yaml", "run": "runs/harmful.jsonl", "baseline": "baseline"}
    words = [word for key, value in names.items() for word in (f"--{key}", value)]
    report = rankgate.check(**{key: Path(value) for key, value in names.items()}, date=DAY)  # type: ignore[arg-type]
    assert encode_report(report) == printed(capsys, "check", *words, "--date", DAY)


@pytest.mark.full
def test_what_is_in_memory_is_judged_as_the_files(demo: Path) -> None:
    criteria = yaml.safe_load(Path("ship-criteria.yaml").read_text(encoding="utf-8"))
    criteria["gates"] = [gate for gate in criteria["gates"] if gate["name"] not in ("faithfulness", "answered_rate")]
    Path("ship-criteria.yaml").write_text(yaml.safe_dump(criteria), encoding="utf-8")
    accepted, harmful = run_in_memory("accepted"), run_in_memory("harmful")
    by_files = rankgate.check("gold.yaml", "runs/harmful.jsonl", baseline="runs/accepted.jsonl", date=DAY)
    held = rankgate.check(gold_in_memory(), harmful, baseline=accepted, criteria=criteria, date=DAY)

    def numbers(report: Report) -> list[tuple[object, ...]]:
        return [
            (
                g.name,
                g.measured.value,
                g.measured.ci,
                g.change.baseline,
                g.change.delta_ci,
                g.verdict,
                g.decision.reasons,
            )
            for g in report.gates
        ]

    assert numbers(held) == numbers(by_files)
    assert held.verdict == by_files.verdict == "fail"
    assert (held.provenance.command, bool(by_files.provenance.command)) == ([], True)  # nothing to type repeats it
    assert (held.conclusion.next, by_files.conclusion.next[1]) == ([], "explain")  # nor explains what no file has
    assert [(held.gates[0].line, held.provenance.criteria)] == [(None, "criteria")]


def test_what_only_lines_tell_is_found_in_memory_as_in_files(tmp_path: Path) -> None:
    """The lists before reranking are read by no metric, so the run is opened a second time for them; and the system."""
    raw = [[f"d{at}", *(f"{at}-{rank}" for rank in range(20))] for at in range(40)]
    gold = [{"id": f"q{at}", "expected_output": [f"d{at}"]} for at in range(40)]
    accepted: list[dict[str, Any]] = [
        {"query_id": f"q{at}", "topk": ids, "raw_topk": ids, "reranker": 1} for at, ids in enumerate(raw)
    ]
    run = [{**line, "topk": line["topk"][0 if at < 10 else 11 :], "reranker": 2} for at, line in enumerate(accepted)]
    criteria = {"gates": [{"name": "recall@5", "regression_max": 0.03}]}
    files = [tmp_path / f"{name}.jsonl" for name in ("gold", "run", "accepted")]
    for file, lines in zip(files, (gold, run, accepted), strict=True):
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    by_files = rankgate.check(files[0], files[1], baseline=files[2], criteria=criteria)
    held = rankgate.check(gold, run, baseline=accepted, criteria=criteria)
    by_name = rankgate.check(
        gold, {f"q{at}": line for at, line in enumerate(run)}, baseline=accepted, criteria=criteria
    )
    for each in (held, by_name):
        assert each.explanation == by_files.explanation
    assert held.explanation.diagnosis[0].rule == "reranker"
    assert [each.after for each in held.explanation.differences] == ["2"]
    beyond_json = [{**line, "settings": {("a", "b"): 1}} for line in run]
    held = rankgate.check(gold, beyond_json, baseline=accepted, criteria=criteria)
    assert "2" in [each.after for each in held.explanation.differences]


@pytest.mark.parametrize("lazy", [list, iter, tuple, lambda lists: (each for each in lists)])
def test_lists_belong_together_by_position_and_may_be_lazy(lazy: Callable[[Any], Any]) -> None:
    gold, run = [["a"], ["b"]], [["a"], ["x", "b"]]
    report = rankgate.check(lazy(gold), lazy(run), baseline=lazy(gold), criteria=GATES, date=DAY)
    assert [(gate.measured.value, gate.change.baseline) for gate in report.gates] == [(0.5, 1.0)]
    assert report.verdict == "fail"


@pytest.mark.parametrize("name", ["run", "baseline"])
def test_lists_of_different_lengths_do_not_belong_together(name: str) -> None:
    values = {"run": [["a"], ["b"]], "baseline": [["a"], ["b"]], name: [["a"]]}
    with pytest.raises(RankgateError, match=rf"{name}: gold has 2 questions, the {name} 1; give a list for each"):
        rankgate.check([["a"], ["b"]], **values, criteria=GATES)  # type: ignore[arg-type]


@pytest.mark.full
def test_a_run_in_memory_takes_no_verdicts_from_the_working_directory(demo: Path) -> None:
    """A file that happens to be called as the argument is not beside it."""
    Path("runs/accepted.jsonl").replace("run.jsonl")
    Path("ship-criteria.yaml").replace("criteria.yaml")
    Path("run.verdicts.jsonl").write_text("no verdicts\n")
    with pytest.raises(RankgateError, match=r"run.verdicts.jsonl"):
        rankgate.check(run="run.jsonl", criteria="criteria.yaml")
    lines = [json.loads(line) for line in Path("run.jsonl").read_text(encoding="utf-8").splitlines()]
    report = rankgate.check(run={each["query_id"]: each for each in lines}, criteria="criteria.yaml")
    answers = [gate for gate in report.gates if gate.name in ("faithfulness", "answered_rate")]
    assert [gate.decision.reasons[0].kind for gate in answers] == [ReasonKind.NO_VERDICT] * 2


def test_scores_of_the_candidate_are_not_joined_to_a_baseline_in_memory(tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("query_id,quality\nq,0.5\n")
    gate = {"name": "score(quality)", "threshold": 0.1, "direction": "higher"}
    criteria = {"gates": [gate], "inputs": {"scores": scores}}
    report = rankgate.check({"q": ["a"]}, {"q": ["a"]}, baseline={"q": ["a"]}, criteria=criteria)
    assert [(gate.measured.value, gate.change.baseline) for gate in report.gates] == [(0.5, None)]


def test_passages_are_matched_with_texts_as_score_does() -> None:
    gold, run = [["The refund window is 30 days."]], [["window is 30 days"]]
    report = rankgate.check(gold, run, criteria={**GATES, "match": "text"})
    assert (
        report.gates[0].measured.value == rankgate.score(gold, run, metrics="recall@1", match="text")["recall@1"] == 1.0
    )


@pytest.mark.full
def test_waivers_count_as_for_the_command(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waiver = {"gate": "recall_all_at_10", "up_to": 0.1, "expires": "2026-03-31", "issue": "https://example.org/1"}
    entry = {"waivers": [{**waiver, "reason": "a migration", "by": "ana"}]}
    Path("ship-waivers.yaml").write_text(yaml.safe_dump(entry), encoding="utf-8")
    words = ("check", "--run", "runs/harmful.jsonl", "--date", DAY)
    report = rankgate.check(run="runs/harmful.jsonl", date=DAY)
    assert encode_report(report) == printed(capsys, *words)
    assert [gate.name for gate in report.gates if gate.decision.waived] == ["recall_all_at_10"]
    later = rankgate.check(run="runs/harmful.jsonl", date="2026-04-01")
    assert [gate.name for gate in later.gates if gate.decision.waived] == []


def test_waivers_of_a_mapping_lie_in_the_working_directory_or_where_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    waiver = {"gate": "recall@1", "up_to": 1, "expires": "2026-03-31", "issue": "https://example.org/1"}
    text = yaml.safe_dump({"waivers": [{**waiver, "reason": "a migration", "by": "ana"}]})

    def waived(criteria: dict[str, Any]) -> bool:
        [gate] = rankgate.check({"q": ["a"]}, {"q": ["b"]}, criteria=criteria, date=DAY).gates
        return gate.decision.waived is not None

    assert not waived(GATES)
    Path("ship-waivers.yaml").write_text(text)
    assert waived(GATES)
    Path("ship-waivers.yaml").replace("others.yaml")
    assert not waived(GATES)
    assert waived({**GATES, "inputs": {"waivers": Path("others.yaml")}})
    with pytest.raises(RankgateError, match=r"absent\.yaml"):
        waived({**GATES, "inputs": {"waivers": "absent.yaml"}})


@pytest.mark.full
def test_the_base_judges_as_for_the_command(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git("init", "-q", "-b", "main")
    commit()
    text = Path("ship-criteria.yaml").read_text(encoding="utf-8")
    Path("ship-criteria.yaml").write_text(text.replace("regression_max: 0.03   #", "regression_max: 0.30   #"))
    commit()
    report = rankgate.check(run="runs/harmful.jsonl", base="main~1", date=DAY)
    words = ("check", "--run", "runs/harmful.jsonl", "--base", "main~1", "--date", DAY)
    assert encode_report(report) == printed(capsys, *words)
    assert report.verdict == "fail"
    assert report.base is not None
    assert report.base.decides == "base"


@pytest.mark.parametrize("held", ["gold", "run", "baseline", "criteria"])
def test_with_a_base_everything_is_a_file(held: str) -> None:
    files: dict[str, Any] = {"gold": "g", "run": "r", "baseline": "b", "criteria": "c"}
    with pytest.raises(RankgateError, match="base= judges by files of that commit"):
        rankgate.check(**{**files, held: GATES if held == "criteria" else {"q": ["a"]}}, base="main")


# Criteria as a mapping.

WRONG = {
    "an unknown key": {"gates": [{"name": "mrr", "treshold": 0.5}]},
    "an unknown metric": {"gates": [{"name": "recal@5", "threshold": 0.5}]},
    "percent": {"gates": [{"name": "mrr", "threshold": 85}]},
    "a text for a number": {"gates": [{"name": "mrr", "threshold": "0.5"}]},
    "no limit": {"gates": [{"name": "mrr"}]},
    "no gates": {"inputs": {"gold": "g"}},
    "a gate twice": {"gates": [{"name": "mrr", "threshold": 0.5}, {"name": "mrr", "threshold": 0.6}]},
    "a tuple of gates, one twice": {"gates": ({"name": "mrr", "threshold": 0.5}, {"name": "mrr", "threshold": 0.6})},
    "no judge": {"gates": [{"name": "faithfulness", "threshold": 0.5}]},
    "many": {"gates": [{"name": "mrr", "threshold": True, "severity": "fatal"}], "inputs": {"gold": 7}, "x": 1},
    "nothing": {},
}


@pytest.mark.parametrize("criteria", [pytest.param(each, id=name) for name, each in WRONG.items()])
def test_a_mapping_has_the_problems_of_the_file_by_key(criteria: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ship-criteria.yaml"
    path.write_text(json.dumps(criteria))
    with pytest.raises(RankgateError) as of_file:
        load_criteria(str(path))
    with pytest.raises(RankgateError) as of_mapping:
        rankgate.check(criteria=criteria)
    expected = [(problem.key, problem.message) for problem in of_file.value.problems]
    assert sorted((str(p.key), p.message) for p in of_mapping.value.problems) == sorted(
        (str(k), m) for k, m in expected
    )
    assert {(p.file, p.line) for p in of_mapping.value.problems} <= {("criteria", None), ("criteria", 1)}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
def test_a_limit_that_nothing_could_violate_is_refused(value: float) -> None:
    with pytest.raises(RankgateError, match=r"gates\[0\].threshold: expected a number, found the text"):
        rankgate.check({"q": ["a"]}, {"q": ["b"]}, criteria={"gates": [{"name": "mrr", "threshold": value}]})


@pytest.mark.parametrize("value", [0.75, np.float64(0.75)])
def test_numbers_of_numpy_are_numbers(value: float) -> None:
    gates = [{"name": "mrr", "threshold": value}]
    assert rankgate.check({"q": ["a"]}, {"q": ["b"]}, criteria={"gates": gates}).gates[0].limits.threshold == 0.75


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        pytest.param("", "criteria= is empty; name a file", id="empty, and not the file in the usual place"),
        pytest.param(7, "criteria=7 is neither a file nor a mapping", id="a number"),
        pytest.param(b"ship-criteria.yaml", "is neither a file nor a mapping", id="bytes"),
    ],
)
def test_criteria_that_are_neither_file_nor_mapping(
    criteria: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ship-criteria.yaml").write_text("gates: [{name: mrr, threshold: 0}]\n")
    with pytest.raises(RankgateError, match=message):
        rankgate.check({"q": ["a"]}, {"q": ["a"]}, criteria=criteria)


GATED = {"gates": [{"name": "recall@1", "threshold": 0.5}]}


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        pytest.param({}, "name the file with criteria=,", id="no criteria"),
        pytest.param({"run": {"q": ["a"]}, "criteria": GATED}, "give the gold set with gold=,", id="no gold set"),
        pytest.param({"gold": {"q": ["a"]}, "criteria": GATED}, "makes one) with run=,", id="no run"),
        pytest.param(
            {"gold": "g.yaml", "run": "r.jsonl", "base": "main"}, "base= reads files at a commit", id="no repository"
        ),
        pytest.param({"base": "-x"}, "base= '-x' is no commit", id="no commit"),
    ],
)
def test_errors_name_parameters_and_no_options(
    given: dict[str, Any], parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if given.get("base") == "-x":
        git("init", "-q")
    with pytest.raises(RankgateError) as error:
        rankgate.check(**given)
    assert parameter in str(error.value)
    assert "--" not in re.sub("`.*?`", "", str(error.value))
    if "criteria" not in given and "base" not in given:
        with pytest.raises(RankgateError, match="name the file with --criteria"):
            find_criteria()


def test_too_many_failures_name_the_parameter_that_allows_them(tmp_path: Path) -> None:
    def retrieve(question: str) -> list[str]:
        return {"a": ["a"]}[question]

    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(f'{{"id": "{q}", "input": "{q}", "expected_output": ["a"]}}\n' for q in "ab"))
    with pytest.raises(rankgate.RecordingError, match="more than allow_errors=0"):
        rankgate.record(gold, retrieve, tmp_path / "run.jsonl")


def test_what_no_file_could_hold_is_an_error() -> None:
    circle: dict[str, Any] = {"gates": []}
    circle["inputs"] = circle
    for criteria in (circle, {"gates": [{"name": "mrr", "threshold": object()}]}, {"gates": {1, 2}}):
        with pytest.raises(RankgateError, match="criteria: hold what no file could"):
            rankgate.check(criteria=criteria)


# Nobody takes silence for a pass.


def test_a_report_is_no_truth_value() -> None:
    report = rankgate.check({"q": ["a"]}, {"q": ["b"]}, criteria=GATES)
    for question in (bool, lambda value: not value, lambda value: value or None):
        with pytest.raises(TypeError, match=r"compare report.verdict with 'pass'"):
            question(report)


def test_verdicts_equal_their_texts() -> None:
    """A comparison with a text that is silently false would let a failure through."""
    report = rankgate.check({"q": ["a"]}, {"q": ["b"]}, criteria=GATES)
    assert (report.verdict == "fail", report.gates[0].verdict == "fail", f"{report.verdict}") == (
        True,
        True,
        "fail",
    )
    assert report.verdict in {"fail", "not_judged"}


Q = {"q": ["a"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"run": Q}, "no gold named", id="no gold set"),
        pytest.param({"gold": Q}, "no run named", id="no run"),
        pytest.param({"gold": Q, "run": {"other": ["a"]}}, "run: the run has none of the", id="other queries"),
        pytest.param({"gold": {"q": []}, "run": Q}, "gold: names no relevant document", id="nothing to find"),
        pytest.param({"gold": Q, "run": {"q": {"a"}}}, "run: query 'q': ", id="a set has no order"),
        pytest.param({"gold": "absent.yaml", "run": Q}, "absent.yaml: no such file", id="no such file"),
        pytest.param({"gold": "", "run": Q}, "gold= is empty", id="an empty name"),
        pytest.param({"gold": Q, "run": Q, "date": "2026-13-01"}, "date='2026-13-01'", id="no day"),
        pytest.param({"gold": Q, "run": Q, "date": "01.02.2026"}, "is not a date", id="no ISO day"),
        pytest.param({"gold": 7, "run": Q}, "gold: expected a file name, a mapping", id="a number"),
        pytest.param({"gold": Q, "run": Q, "baseline": "none/"}, "no baseline here", id="no baseline"),
    ],
)
def test_what_cannot_be_judged_is_raised(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RankgateError) as error:
        rankgate.check(**arguments, criteria=GATES)
    assert message in str(error.value)


def test_without_criteria_the_usual_places_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RankgateError, match="no ship criteria found"):
        rankgate.check({"q": ["a"]}, {"q": ["a"]})


# What a notebook shows.


def many_gates() -> Report:
    gates = [{"name": f"gate {number:02}", "metric": "mrr", "threshold": 0.5} for number in range(40)]
    gates[30]["threshold"] = 0.9
    queries = {f"q{number}": ["a"] for number in range(5000)}
    run = {name: ["a"] if number % 3 else ["b", "a"] for number, name in enumerate(queries)}
    return rankgate.check(queries, run, criteria={"gates": gates}, date=DAY)


@pytest.mark.full
def test_a_report_is_a_few_lines_those_that_decide_first() -> None:
    report = many_gates()
    lines = repr(report).splitlines()
    assert lines[0].startswith("Report: FAIL. Do not merge: mrr")
    assert "5,000 of 5,000 questions scored" in lines[0]
    assert lines[2].split()[:3] == ["mrr", "(gate", "30)"]
    assert (len(lines), lines[-1]) == (15, "  and 28 more")
    assert report._repr_html_().count("<tr>") == 41


@pytest.mark.full
def test_a_gate_and_a_change_are_a_line() -> None:
    report = many_gates()
    assert repr(report.gates[30]).startswith("<gate 'gate 30': fail, mrr 0.83")
    assert max(len(repr(gate)) for gate in report.gates) < 200
    gold = {f"q{number}": ["a"] for number in range(5000)}
    assert len(repr(rankgate.compare(gold, gold, gold)["mrr"])) < 200


@pytest.mark.full
def test_what_cannot_be_compared_is_a_report_without_gates_in_a_few_lines() -> None:
    report = api.Report(verdict=Verdict.NOT_JUDGED, summary="s", provenance=many_gates().provenance)
    assert repr(report).splitlines()[0] == "Report: NOT JUDGED. s"
    assert report._repr_html_().startswith("<p>NOT JUDGED. s</p>")


HOSTILE = "<script>x</script>|`\u202e\n\x1b[31m](http://x) & 'y'"


def test_hostile_names_are_escaped() -> None:
    gates = [{"name": name, "metric": "mrr", "threshold": 0.9} for name in (HOSTILE, f"{HOSTILE}2")]
    report = rankgate.check({HOSTILE: ["a"]}, {HOSTILE: ["b"]}, criteria={"gates": gates})
    page, text = report._repr_html_(), repr(report)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    for shown in (page, text):
        assert not {"\u202e", "\x1b"} & set(shown)
    assert len(text.splitlines()) == 4
    assert not {"\u202e", "\x1b", "\n"} & set(repr(report.gates))
    with pytest.raises(RankgateError) as error:
        rankgate.check({"q": ["a"]}, {"q": ["a"]}, criteria={"gates": [{"name": HOSTILE, "threshold": 0.9}]})
    assert "\x1b" not in str(error.value)


def test_an_evaluation_is_a_few_lines() -> None:
    gold = {f"q{number}": ["a"] for number in range(5000)}
    found = rankgate.score(
        gold, {**{f"q{number}": ["a"] for number in range(4990)}, "new": ["a"]}, metrics="mrr,recall@5"
    )
    title, *rows = repr(found).splitlines()
    assert title == "Evaluation: 5,000 total, 10 missing, 1 unjudged, 0 duplicates"
    assert [row.split() for row in rows] == [
        ["metric", "value", "ci", "n", "undefined"],
        ["mrr", "0.998", *bounds(found, "mrr"), "5,000", "0"],
        ["recall@5", "0.998", *bounds(found, "recall@5"), "5,000", "0"],
    ]
    assert found._repr_html_().count("<tr>") == 3


def bounds(found: rankgate.Evaluation, name: str) -> list[str]:
    low, high = ((estimate := found.estimates[name]) and estimate.ci) or (None, None)
    return [f"{low:.4g}", "to", f"{high:.4g}"]


def test_a_frame_has_a_row_a_query_and_a_column_a_metric() -> None:
    found = rankgate.score({"q1": ["a"], "q2": []}, {"q1": ["x", "a"], "q2": ["b"]}, metrics="mrr,recall@1")
    frame = found.to_frame()
    assert (list(frame.index), frame.index.name, list(frame.columns)) == (["q1", "q2"], "query_id", ["mrr", "recall@1"])
    assert frame.loc["q1"].tolist() == [0.5, 0.0]
    assert frame.loc["q2"].isna().all()
    assert [str(kind) for kind in frame.dtypes] == ["float64", "float64"]


def test_without_pandas_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RankgateError, match=r"to_frame\(\) needs pandas: pip install pandas"):
        rankgate.score({"q": ["a"]}, {"q": ["a"]}).to_frame()


def test_a_dictionary_of_scores_is_what_the_command_prints(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "recall@5,mrr,ndcg@10"
    told = printed(capsys, "score", "--gold", "gold.yaml", "--run", "runs/harmful.jsonl", "--metrics", names)
    found = rankgate.score("gold.yaml", "runs/harmful.jsonl", metrics=names).to_dict()
    assert json.loads(json.dumps(found)) == json.loads(told)


# Two runs.


@pytest.fixture(params=["files", "a store", "in memory"])
def sides(request: pytest.FixtureRequest, demo: Path) -> Iterator[tuple[Any, Any, Any, str]]:
    after = "runs/harmful.jsonl"
    if request.param == "in memory":
        yield gold_in_memory(), run_in_memory("accepted"), run_in_memory("harmful"), "runs/accepted.jsonl"
    else:
        before = "baseline" if request.param == "a store" else "runs/accepted.jsonl"
        yield "gold.yaml", before, Path(after), before


@pytest.mark.full
def test_a_comparison_is_what_the_command_prints(
    sides: tuple[Any, Any, Any, str], capsys: pytest.CaptureFixture[str]
) -> None:
    gold, a, b, before = sides
    found = rankgate.compare(gold, a, b)
    told = printed(capsys, "compare", before, "runs/harmful.jsonl", "--gold", "gold.yaml")
    assert json.loads(json.dumps(found.to_dict())) == json.loads(told)
    assert list(found.metrics) == list(json.loads(told)["metrics"])


def test_the_metrics_are_those_of_the_command() -> None:
    usual = cli_compare.parser().parse_args(["a.jsonl", "b.jsonl"]).metrics
    assert inspect.signature(rankgate.compare).parameters["metrics"].default == usual


def test_what_compares_with_a_by_itself_and_what_has_no_value() -> None:
    gold = {"q": ["a"], "p": ["b"], "o": ["c"]}
    found = rankgate.compare(gold, {"q": ["a"]}, {"p": ["b"]}, metrics="overlap@5,mrr")
    assert (found["mrr"], found.missing_a, found.missing_b, found.total) == (None, 2, 2, 3)
    lines = repr(found).splitlines()
    assert lines[0] == "RunComparison: 3 total, 2 missing_a, 2 missing_b"
    assert [line.split()[0] for line in lines[1:]] == ["metric", "overlap@5", "mrr"]


def test_a_spelling_of_a_name_and_a_name_that_is_none() -> None:
    found = rankgate.compare([["a"]], [["b"]], [["a"]], metrics=["recall@5"])
    change = found["recall_at_5"]
    assert change is not None
    assert (change.value, len(repr(found).splitlines())) == (1.0, 3)
    for name in ("mrr", "recal@5"):
        with pytest.raises((KeyError, ValueError)):
            found[name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((None, [["a"]], [["a"]]), "gold: expected a file name", id="no gold set"),
        pytest.param(([["a"]], None, [["a"]]), "a: expected a file name", id="no run before"),
        pytest.param(([["a"]], [["a"]], [["a"], ["b"]]), "b: gold has 1 questions, the b 2", id="other lengths"),
        pytest.param(({"q": ["a"]}, {"x": ["a"]}, {"q": ["a"]}), "a: the run has none of the", id="other queries"),
        pytest.param(({"q": ["a"]}, "none.jsonl", {"q": ["a"]}), "none.jsonl: no such file", id="no such file"),
    ],
)
def test_what_cannot_be_compared_is_raised(arguments: Any, message: str) -> None:
    with pytest.raises(RankgateError) as error:
        rankgate.compare(*arguments)
    assert message in str(error.value)


def test_a_text_may_name_the_format_and_a_path_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text('{"id": "q", "expected_output": ["a"]}\n')
    for name in ("old.run", "trec:old.run"):
        Path(name).write_text("q Q0 a 1 0.5 x\n")
    assert rankgate.score("gold.jsonl", "trec:old.run", metrics="mrr")["mrr"] == 1.0
    assert rankgate.score("gold.jsonl", Path("trec:old.run"), metrics="mrr")["mrr"] == 1.0
    with pytest.raises(RankgateError, match=r"old\.run:1: expected 3 columns"):
        rankgate.score("gold.jsonl", "msmarco:old.run", metrics="mrr")
