"""The details of whole checks: their numbers are those that `rankgate score` prints, over all questions and by tag."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.runs import gold_of, scores_of
from tests.report_keys import with_keys
from tests.scenario_calls import inputs_of

from rankgate.check import check
from rankgate.cli import main
from rankgate.criteria.inputs import DetailInputs, Inputs
from rankgate.diagnosis.details import MAX_TAGS, MEASURES, MIN_QUERIES, details_of
from rankgate.diagnosis.movements import by_tag
from rankgate.model.details import PanelRow, ReportDetails
from rankgate.model.report import Report
from rankgate.readers.yaml_text import load_yaml

EXAMPLE = Path(__file__).parents[2] / "src" / "rankgate" / "cli" / "example"


def details_in(report: Report) -> ReportDetails:
    assert isinstance(report.explanation.details, ReportDetails)
    return report.explanation.details


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's files, and its gold set by tag."""
    folder = tmp_path_factory.mktemp("example")
    loaded: Any = load_yaml((EXAMPLE / "gold.yaml").read_text(encoding="utf-8"), "gold.yaml").value
    for name, samples in (
        ("all", loaded["samples"]),
        ("pt", [each for each in loaded["samples"] if "lang:pt-BR" in each["metadata"]["tags"]]),
    ):
        assert samples
        lines = [json.dumps(sample) + "\n" for sample in samples]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def report(work: Path) -> Report:
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(work)
        Path("ship-criteria.yaml").write_text(
            "inputs:\n"
            f"  gold: all.jsonl\n  run: {EXAMPLE / 'runs' / 'harmful.jsonl'}\n"
            f"  baseline: {EXAMPLE / 'runs' / 'accepted.jsonl'}\n"
            "gates:\n  - {name: recall@5, regression_max: 0.03}\n",
            encoding="utf-8",
        )
        return check(Inputs(criteria=None, date="2026-01-31", details=DetailInputs(depth=10)))


def scored(work: Path, gold: str, run: str, names: Sequence[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `rankgate score` prints of these metrics."""
    inputs = ["--gold", str(work / f"{gold}.jsonl"), "--run", str(EXAMPLE / "runs" / f"{run}.jsonl")]
    assert main(["score", *inputs, "--metrics", ",".join(names), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["metrics"]
    return found


@pytest.mark.parametrize(("tag", "gold"), [(None, "all"), ("lang:pt-BR", "pt")])
def test_the_panel_says_what_rankgate_score_says(
    tag: str | None, gold: str, work: Path, report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    details = details_in(report)
    names = [measure.name for measure in details.measures]
    row = next(row for row in details.panel if row.tag == tag)
    now, before = (scored(work, gold, run, names, capsys) for run in ("harmful", "accepted"))
    compared: list[str] = []
    for name in names:
        value = row.values[name]
        assert value.value == pytest.approx(now[name]["value"], abs=1e-12)
        assert list(value.ci or ()) == pytest.approx(now[name]["ci"] or [], abs=1e-12)
        if now[name]["n"] == before[name]["n"] and "quantile" not in name:  # whose change is no difference of means
            assert value.delta == pytest.approx(now[name]["value"] - before[name]["value"], abs=1e-12)
            compared.append(name)
    assert {"recall@1", "recall@3", "recall@5", "ndcg@5", "precision@5", "mrr"} <= set(compared)


def test_the_usual_measures_are_there_but_no_latency_where_the_run_states_none(report: Report) -> None:
    usual = ["recall@1", "recall@3", "recall@5", "ndcg@5", "precision@5", "distinct_docs@5", "mrr"]
    assert [measure.name for measure in details_in(report).measures] == usual
    assert [metric.name for metric in MEASURES] == [*usual, "latency(quantile=0.5)", "latency(quantile=0.9)"]


def test_the_panel_agrees_with_the_gate_and_with_the_segments(report: Report) -> None:
    details, gate = details_in(report), report.gates[0]
    rows: dict[str | None, PanelRow] = {row.tag: row for row in details.panel}
    whole = rows[None].values["recall@5"]
    assert (whole.value, whole.ci, whole.delta) == (gate.measured.value, gate.measured.ci, gate.change.delta)
    for segment in report.measured.segments:
        mine, theirs = rows[segment.tag].values["recall@5"], segment.metrics["recall@5"]
        assert (mine.value, mine.delta) == (theirs.value, theirs.delta)


def test_the_curve_passes_through_the_gated_values(report: Report) -> None:
    sweep = next(each for each in details_in(report).sweeps if each.tag is None and each.measure == "recall")
    at_5 = sweep.cutoffs.index(5)
    assert sweep.baseline is not None
    assert sweep.candidate[at_5] == pytest.approx(report.gates[0].change.paired_value, abs=1e-12)
    assert sweep.baseline[at_5] == pytest.approx(report.gates[0].change.baseline, abs=1e-12)


def test_every_gold_question_is_there_with_its_lists_cut_at_the_depth(report: Report) -> None:
    details = details_in(report)
    assert report.measured.queries is not None
    assert len(details.questions) == report.measured.queries.total
    assert max(len(question.now or ()) for question in details.questions) == details.depth == 10


def test_an_exhibit_changes_nothing_of_the_report(work: Path, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    plain = check(Inputs(criteria=None, date="2026-01-31"))
    assert plain.explanation.details is None
    assert with_keys(report, details=None) == plain


def test_a_base_that_judges_too_leaves_one_exhibit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain folder has no git; the pull request's own side is what is shown, so it is asked for once."""
    monkeypatch.chdir(inputs_of("fail", tmp_path))
    details = details_in(check(Inputs(criteria=None, date="2026-01-31", details=DetailInputs(depth=3))))
    assert details.depth == 3
    assert [question.query_id for question in details.questions[:2]] == ["q1", "q2"]


def test_small_tags_have_a_row_and_no_curves_and_of_many_tags_the_largest_are_shown() -> None:
    relevant = {f"q{number}": "a" for number in range(2 * MAX_TAGS)}
    tags = {
        query: ["all", f"own:{query}", *(["few"] if number < MIN_QUERIES - 1 else [])]
        for number, query in enumerate(relevant)
    }
    gold = gold_of(relevant, tags)
    scores = scores_of(gold, dict.fromkeys(relevant, "x a"))
    segments = by_tag(gold, [], scores, None)
    details = details_of(gold, [], None, segments, scores, None, depth=2)
    shown = [row.tag for row in details.panel]
    assert shown[0] is None
    assert len(shown) == 1 + MAX_TAGS
    assert {"all", "few"} < set(shown)
    assert {sweep.tag for sweep in details.sweeps} == {None, "all"}
    assert details.leading is None


def test_what_a_failing_segment_lost_comes_before_what_others_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tags = {f"a{row}": "lang:a" for row in range(30)} | {f"b{row}": "lang:b" for row in range(30)}
    lost = {"a0", *(name for name, tag in tags.items() if tag == "lang:b")}
    gold = [{"query_id": name, "relevant": ["d"], "tags": [tag]} for name, tag in tags.items()]
    before = [{"query_id": name, "retrieved": ["d"]} for name in tags]
    now = [{"query_id": name, "retrieved": ["x" if name in lost else "d"]} for name in tags]
    for file, records in (("gold", gold), ("before", before), ("now", now)):
        Path(f"{file}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    Path("ship-criteria.yaml").write_text(
        "inputs: {gold: gold.jsonl, run: now.jsonl, baseline: before.jsonl}\n"
        "gates:\n- {name: recall@5, regression_max: 0.9, segments: [{by: lang, regression_max: 0.1}]}\n",
        encoding="utf-8",
    )
    report = check(Inputs(criteria=None, date="2026-01-31", details=DetailInputs(depth=10)))
    details = details_in(report)
    first = [details.questions[row].query_id for row in details.order[:31]]
    assert set(first[:30]) == lost - {"a0"}
    assert first[30] == "a0"
