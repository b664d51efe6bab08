"""A check with gates on answers: verdicts from a file, whatever became of the judge, and no mean over survivors."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.judge.calibrated import always, calibrated, metric_found
from tests.judge.cases import answers_of
from tests.judge.hash_judge import REFUSAL, judging

from rankgate.cli import main
from rankgate.criteria import Criteria, load_criteria
from rankgate.criteria.judge_block import JudgeBlock
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.identity import judge_of
from rankgate.judge.judging import judge_answers
from rankgate.judge.records import Record
from rankgate.judge.runs import NEEDS, verdict_kinds_of, verdicts_beside
from rankgate.judge.store import Store, read_verdicts, written
from rankgate.model.answers import UnjudgedKind
from rankgate.model.verdicts import Unjudged
from rankgate.readers.formats import read_gold, read_run

COUNT = 100
GATES = """
evidence: estimate
gates:
  - {name: recall@2, threshold: 0.9, severity: error}
  - {name: faithfulness, threshold: 0.8, regression_max: 0.03, severity: SEVERITY}
  - {name: answered_rate, regression_max: 0.05}
judge: {endpoint: ADDRESS, model: hash-judge-2026-01-01, structured: json_schema,
        calibration: {file: calibration.json, max_days: 99999}}
"""

Answers = Callable[[int], str]


def right(n: int) -> str:
    return f"Article {n} can be returned. It costs {n} euros."


def wrong_after(first: int) -> Answers:
    """From this question on the second sentence stands in no passage."""
    return lambda n: f"Article {n} can be returned. It is a gift." if n >= first else right(n)


_ASKED: dict[tuple[str, ...], list[Record]] = {}


class Project:
    """Files in an empty directory, and the command on them."""

    def __init__(self, folder: Path, address: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.address, self.capsys = folder, address, capsys
        lines = [
            {"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"], "metadata": {"tags": ["lang:en"]}}
            for n in range(COUNT)
        ]
        (folder / "gold.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.run("base.jsonl", right)
        self.gates()

    def gates(
        self,
        severity: str = "error",
        replaced: tuple[str, str] = ("", ""),
        model: str = "hash-judge-2026-01-01",
        more: str = "",
    ) -> None:
        text = GATES.replace("SEVERITY", severity).replace("ADDRESS", self.address).replace(*replaced)
        text = text.replace("hash-judge-2026-01-01", model) + more
        (self.folder / "ship-criteria.yaml").write_text(text)
        self.calibrate()

    def calibrate(self) -> None:
        """The judge of the criteria is always right, as people found by all answers of the first run."""
        calibrated("ship-criteria.yaml", always(1.0, COUNT), "calibration.json")

    def run(self, name: str, answers: Answers) -> None:
        passages = [(f"d{n}", f"Article {n} can be returned. It costs {n} euros.") for n in range(COUNT)]
        items = [[{"chunk_id": doc, "text": text}, {"chunk_id": "x", "text": "Nothing."}] for doc, text in passages]
        lines = [{"query_id": f"q{n}", "topk": items[n], "answer": answers(n)} for n in range(COUNT)]
        (self.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def judge(self, *runs: str) -> None:
        """Ask the judge about these runs, the same once, and write what it said beside the candidate."""
        criteria = load_criteria(str(self.folder / "ship-criteria.yaml"))
        assert criteria.judge is not None
        same = (repr(criteria.judge), repr(criteria.metrics()), *((self.folder / run).read_text() for run in runs))
        if same not in _ASKED:
            _ASKED[same] = self.ask(criteria, criteria.judge, runs)
        self.keep(_ASKED[same])

    def ask(self, criteria: Criteria, block: JudgeBlock, runs: Sequence[str]) -> list[Record]:
        gold, store = read_gold(str(self.folder / "gold.jsonl")), Store()
        for run in runs:
            rankings = read_run(str(self.folder / run), needs=NEEDS).rankings
            answers = answers_of(gold, rankings, block.depth)
            judge = judge_of(block, "json_schema")
            verdict_kinds, spending = verdict_kinds_of(criteria.metrics()), Spending()
            judge_answers(
                answers, judge, verdict_kinds, endpoint=Endpoint(self.address), store=store, spending=spending
            )
        return list(store.records.values())

    def keep(self, records: Sequence[Record]) -> None:
        Path(verdicts_beside(str(self.folder / "run.jsonl"))).write_bytes(written(records))

    def check(self, *more: str) -> tuple[int, dict[str, Any], str]:
        words = ["check", "--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "base.jsonl", "-o", "r.json"]
        code = main([*words, *more])
        report = json.loads((self.folder / "r.json").read_text())
        return code, {gate["name"]: gate for gate in report["gates"]}, self.capsys.readouterr().out


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with judging() as server:
        yield server.address


@pytest.fixture
def project(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, address, capsys)


@pytest.mark.full
def test_answers_that_hold_pass(project: Project) -> None:
    project.run("run.jsonl", right)
    project.judge("run.jsonl", "base.jsonl")
    code, gates, _ = project.check()
    assert code == 0
    assert (gates["faithfulness"]["value"], gates["faithfulness"]["delta"]) == (1.0, 0.0)
    assert gates["faithfulness"]["delta_ci"] == [0.0, 0.0], "unchanged answers have the same verdicts"
    provenance = json.loads(Path("r.json").read_text())["provenance"]
    assert provenance["run"]["about"]["judge"].endswith(" (hash-judge-2026-01-01)")
    assert provenance["run"]["about"]["judge"] == provenance["baseline"]["about"]["judge"]


@pytest.mark.full
def test_a_generator_that_makes_things_up_fails_although_the_lists_are_the_same(project: Project) -> None:
    project.run("run.jsonl", wrong_after(40))
    project.judge("run.jsonl", "base.jsonl")
    code, gates, out = project.check()
    assert code == 1
    assert {name: gate["verdict"] for name, gate in gates.items()} == {
        "recall@2": "pass",
        "faithfulness": "fail",
        "answered_rate": "pass",
    }
    assert gates["faithfulness"]["value"] == pytest.approx(0.7)
    assert "faithfulness lost 30.0 points: 100.0% → 70.0%, 3.0 allowed." in out


@pytest.mark.full
def test_a_system_that_refuses_is_no_more_faithful_but_answers_less(project: Project) -> None:
    project.run("run.jsonl", lambda n: REFUSAL if n % 2 else right(n))
    project.judge("run.jsonl", "base.jsonl")
    code, gates, _ = project.check()
    assert code == 1
    assert (gates["faithfulness"]["value"], gates["faithfulness"]["n"]) == (1.0, 50)
    assert (gates["answered_rate"]["value"], gates["answered_rate"]["verdict"]) == (0.5, "fail")


@pytest.mark.parametrize(("severity", "verdict", "code"), [("error", "not_judged", 2), ("warning", "warn", 0)])
def test_without_verdicts_retrieval_is_judged_all_the_same(
    severity: str, verdict: str, code: int, project: Project
) -> None:
    """Exit 2 only where a judged gate could block; both say what to do."""
    project.run("run.jsonl", right)
    project.gates(severity, ("regression_max: 0.05", f"regression_max: 0.05, severity: {severity}"))
    found, gates, out = project.check()
    assert (found, gates["recall@2"]["verdict"], gates["faithfulness"]["verdict"]) == (code, "pass", verdict), out
    assert "faithfulness lacks verdicts for 100 of 100 questions in the run: the judge was not" in out


@pytest.mark.full
def test_answers_that_nobody_asked_about_only_warn_where_the_criteria_say_so(project: Project) -> None:
    project.gates(replaced=("structured: json_schema", "structured: json_schema, allow_unjudged: warn"))
    project.run("run.jsonl", right)
    code, gates, _ = project.check()
    assert (code, gates["faithfulness"]["verdict"], gates["answered_rate"]["verdict"]) == (0, "warn", "warn")
    project.judge("run.jsonl", "base.jsonl")
    known = read_verdicts(verdicts_beside("run.jsonl")).values()
    project.keep([unjudged(record) if record.task == "entail" else record for record in known])
    code, gates, _ = project.check()
    assert (code, gates["faithfulness"]["verdict"], gates["answered_rate"]["verdict"]) == (2, "not_judged", "pass")


def unjudged(record: Record) -> Record:
    return replace(record, verdicts=None, unjudged=Unjudged(UnjudgedKind.LENGTH))


@pytest.mark.full
@pytest.mark.parametrize(
    ("lost", "threshold", "verdict"),
    [
        pytest.param(1, "0.98", "pass", id="one, which cannot matter"),
        pytest.param(1, "0.995", "fail", id="one, which counts as wrong"),
        pytest.param(2, "0.98", "not_judged", id="two of a hundred"),
    ],
)
def test_what_could_not_be_judged_counts_as_wrong(lost: int, threshold: str, verdict: str, project: Project) -> None:
    project.run("run.jsonl", right)
    project.gates(replaced=("threshold: 0.8", f"threshold: {threshold}"))
    project.judge("run.jsonl", "base.jsonl")
    known = read_verdicts(verdicts_beside("run.jsonl"))
    entailed = [record for record in known.values() if record.task == "entail"][:lost]
    project.keep([unjudged(record) if record in entailed else record for record in known.values()])
    _, gates, out = project.check()
    assert gates["faithfulness"]["verdict"] == verdict
    assert gates["faithfulness"]["n"] == COUNT - lost
    if verdict == "fail":
        assert "with 1 missing value at its worst it is 99.0%" in out


@pytest.mark.full
def test_a_pass_says_which_answers_nobody_was_asked_about(project: Project) -> None:
    project.run("run.jsonl", right)
    project.judge("run.jsonl", "base.jsonl")
    *known, _ = read_verdicts(verdicts_beside("run.jsonl")).values()
    project.keep(known)
    _, gates, out = project.check("--all")
    assert (gates["faithfulness"]["verdict"], gates["faithfulness"]["n"]) == ("pass", COUNT - 1)
    assert "1 of 100 answers could not be judged (1 not asked yet); with all of them wrong faithfulness is 99.0%" in out


@pytest.mark.full
def test_verdicts_that_came_with_an_untrusted_run_are_ignored(project: Project) -> None:
    project.run("run.jsonl", right)
    project.judge("run.jsonl", "base.jsonl")
    code, gates, _ = project.check("--untrusted-run")
    assert (code, gates["faithfulness"]["verdict"]) == (2, "not_judged")


def test_a_metric_of_answers_needs_to_know_the_judge(project: Project) -> None:
    project.run("run.jsonl", right)
    text = (project.folder / "ship-criteria.yaml").read_text()
    (project.folder / "ship-criteria.yaml").write_text(text[: text.index("judge:")])
    assert main(["check", "--gold", "gold.jsonl", "--run", "run.jsonl"]) == 2
    message = "ship-criteria.yaml:5: gates[1].name: faithfulness is judged by a model; say which one: judge: {"
    assert message in project.capsys.readouterr().out


def test_a_damaged_file_of_verdicts_is_named_with_its_line(project: Project) -> None:
    project.run("run.jsonl", right)
    Path(verdicts_beside("run.jsonl")).write_text('{"judge": "x"}\n')
    assert main(["check", "--gold", "gold.jsonl", "--run", "run.jsonl"]) == 2
    assert "run.verdicts.jsonl:1: object missing required field" in project.capsys.readouterr().out


@pytest.mark.full
def test_validate_reads_verdicts_as_check_does(project: Project) -> None:
    project.run("run.jsonl", right)
    files = ["--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "base.jsonl"]
    assert main(["validate", *files]) == 2
    assert "lacks verdicts for 100 of 100 questions in the run" in project.capsys.readouterr().out
    project.judge("run.jsonl", "base.jsonl")
    assert main(["validate", *files]) == 0


def test_a_command_that_reads_no_verdicts_says_which_does(project: Project) -> None:
    project.run("run.jsonl", right)
    assert main(["score", "--gold", "gold.jsonl", "--run", "run.jsonl", "--metrics", "faithfulness"]) == 2
    message = (
        "the metric faithfulness is by a judge's verdicts, which `rankgate judge` gives and `rankgate check` reads"
    )
    assert message in project.capsys.readouterr().err


def validated(project: Project, code: int = 0) -> list[str]:
    assert main(["validate", "--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "base.jsonl"]) == code
    return project.capsys.readouterr().out.splitlines()


@pytest.mark.full
def test_validate_says_what_judging_costs_and_what_it_can_show(project: Project) -> None:
    project.gates("warning", ("regression_max: 0.05", "regression_max: 0.05, severity: warning"))
    project.run("run.jsonl", wrong_after(40))
    cost = "note: to judge all 100 answers of the run takes 200 calls, about 0.2 M tokens"
    allowed, assumed = "drops of 5.4 to 7.1 pp or more are", "spread of 0.29 to 0.49 assumed, as between real systems"
    lines = validated(project)
    assert cost in lines
    seen = f"with 100 questions, {allowed} detected in 4 of 5 runs (3.0 pp allowed; {assumed})"
    assert f"note: gate 'faithfulness': {seen}; about 67 to 189 questions would detect 6.0 pp" in lines
    assert "note: gate 'faithfulness': floors and drops may block" in lines
    project.judge("run.jsonl", "base.jsonl")
    lines = validated(project)
    assert cost in lines, "as if nothing were known"
    (measured,) = (line for line in lines if line.startswith("note: gate 'faithfulness': with"))
    assert "(3.0 pp allowed; spread of 0.25 measured)" in measured
    project.gates("warning", ("structured: json_schema", "structured: json_schema, budget: {calls: 150}"))
    assert f"{cost}, more than `judge.budget.calls` allows" in validated(project)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        pytest.param({}, "floors and drops may block", id="calibrated"),
        pytest.param({"date": "2020-01-01"}, "warns at most; people have checked this judge too long ago", id="old"),
        pytest.param({"date": "2999-01-01"}, "is dated in the future; repeat `rankgate judge calibrate`", id="ahead"),
        pytest.param({"judge": "0" * 64}, "warns at most; people have checked another judge", id="another-judge"),
        pytest.param(None, "no person has checked this judge; labels on 200 answers would do", id="none"),
        pytest.param({"j": 0.5, "reach": 0.2}, "more than 40% is needed. About 801 labelled answers", id="weak"),
        pytest.param({"j": 0.3, "reach": 0.1}, "drops warn at most; the judge may see as little as 20%", id="J-small"),
        pytest.param({"j": 0.1}, "cannot tell right from wrong: it may see as little as 10%", id="uninformative"),
        pytest.param({"labels": 60, "rarer": 10}, "100 and 30 are needed. About 180 labelled answers", id="few"),
        pytest.param({"rarer": 0}, "100 and 30 are needed. Draw a larger sample", id="one-class"),
    ],
)
@pytest.mark.full
def test_what_a_calibration_allows_is_said_by_validate(
    project: Project, written: dict[str, Any] | None, said: str
) -> None:
    assert said in noted_of(project, written)[0]


def noted_of(project: Project, written: dict[str, Any] | None) -> list[str]:
    """What `validate` notes of the gate, by a calibration with these values, or by none."""
    project.gates("warning", ("max_days: 99999", "max_days: 180"))
    project.run("run.jsonl", right)
    project.judge("run.jsonl", "base.jsonl")
    found = {"date": dt.datetime.now(tz=dt.UTC).date().isoformat(), **(written or {})}
    about = {key: found.pop(key) for key in ("date", "judge") if key in found}
    of = metric_found({f"q{n}": 1.0 for n in range(COUNT)}, **found)
    calibrated("ship-criteria.yaml", {"faithfulness": of, "answered_rate": of}, "calibration.json", **about)
    if written is None:
        Path("calibration.json").unlink()
    return [line for line in validated(project) if line.startswith("note: gate 'faithfulness': ")]


@pytest.mark.parametrize("written", [pytest.param({}, id="calibrated"), pytest.param(None, id="none")])
@pytest.mark.full
def test_what_a_calibration_allows_is_said_before_judging(project: Project, written: dict[str, Any] | None) -> None:
    noted = [line.removeprefix("note: ") for line in noted_of(project, written)]
    files = ["--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "base.jsonl"]
    assert main(["judge", "--dry-run", *files]) == 0
    out = project.capsys.readouterr().out.splitlines()
    assert noted == [line for line in out if "'faithfulness': " in line]
    assert main(["judge", "--dry-run", "--format", "json", *files]) == 0
    assert json.loads(project.capsys.readouterr().out)["needs"][0] == noted[0]


def test_a_gate_that_no_labels_calibrate_says_so(project: Project) -> None:
    project.gates("warning", ("name: answered_rate", "name: context_precision"))
    project.run("run.jsonl", right)
    text = "look at: gate 'context_precision' never blocks: people's labels say nothing of context_precision, only of"
    assert any(line.startswith(text) and line.endswith(": gate one of these") for line in validated(project))


@pytest.mark.full
@pytest.mark.parametrize(
    ("replaced", "named", "code"),
    [
        pytest.param(("", ""), False, 0, id="answered_rate blocks as well"),
        pytest.param(
            ("regression_max: 0.05}", "regression_max: 0.05, severity: warning}"), True, 2, id="or only warns"
        ),
        pytest.param(("  - {name: answered_rate, regression_max: 0.05}\n", ""), True, 2, id="or is not there"),
        pytest.param(("regression_max: 0.05}", "max_lost_queries: 9}"), True, 0, id="or limits no share"),
    ],
)
def test_a_gate_that_refusals_raise_does_not_block_alone(
    replaced: tuple[str, str], code: int, project: Project, *, named: bool
) -> None:
    project.run("run.jsonl", right)
    project.judge("run.jsonl", "base.jsonl")
    project.gates(replaced=replaced)
    text = "look at: gate 'faithfulness' counts answers that assert something, and so looks better with refusals; add"
    lines = validated(project, code)
    assert any(line.startswith(text) for line in lines) is named
    problem = "problem: ship-criteria.yaml:5: gate faithfulness: faithfulness leaves out answers that assert nothing"
    assert any(line.startswith(problem) for line in lines) is (code == 2)


@pytest.mark.full
def test_nor_does_one_that_refusals_lower(project: Project) -> None:
    project.run("run.jsonl", right)
    project.judge("run.jsonl", "base.jsonl")
    project.gates("warning", ("name: answered_rate,", "name: unfaithful_rate,"))
    calibrated("ship-criteria.yaml", always(0.0, COUNT, ("unfaithful_rate",)), "calibration.json")
    lines = validated(project, 2)
    problem = "problem: ship-criteria.yaml:6: gate unfaithful_rate: unfaithful_rate leaves out answers that assert "
    assert any(line.startswith(problem) for line in lines)


def test_a_judged_run_is_read_with_what_the_other_gates_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    gates = (
        "[{name: answered_rate, threshold: 0.5}, {name: latency_p95, threshold: 500}, {name: recall@1, threshold: 1}]"
    )
    judge = "judge: {endpoint: http://127.0.0.1:9/v1, model: m-2026-01-01, structured: json_schema}"
    Path("ship-criteria.yaml").write_text(f"{judge}\nmatch: doc\ngates: {gates}\n")
    Path("gold.jsonl").write_text('{"id": "q", "input": "What?", "expected_output": ["d"]}\n')
    item = {"chunk_id": "c", "doc_id": "d", "text": "x"}
    line = {"query_id": "q", "topk": [item], "answer": "", "latency_ms": {"total": 50}}
    Path("run.jsonl").write_text(json.dumps(line))
    assert main(["check", "--gold", "gold.jsonl", "--run", "run.jsonl", "-o", "r.json"]) == 0, capsys.readouterr()
    found = {gate["name"]: gate["value"] for gate in json.loads(Path("r.json").read_text())["gates"]}
    assert sorted(found.values()) == [0.0, 1.0, 50.0], found
