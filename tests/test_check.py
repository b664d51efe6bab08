"""The whole story on real files: a gate that passes, fails and refuses, on a few questions and on a real collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.baselines.accepting import accept_into

from rankgate.check import check
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.metrics.comparison import compare
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.reasons import sentences
from rankgate.model.report import Moved, Report
from rankgate.model.values import RunField, Verdict
from rankgate.readers.formats import read_gold, read_run

PASS, WARN, FAIL, NOT_JUDGED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_JUDGED

# A few queries


GOLD = """\
samples:
  - {id: q1, expected_output: [a]}
  - {id: 2, expected_output: {7: 3, b: 1}}
  - {id: q3, expected_output: [c]}
  - {id: nothing, expected_output: [], metadata: {no_answer: true}}
"""
CRITERIA = """\
gates:
  - {name: retrieval_recall_at_5, threshold: 0.75, regression_max: 0.03, severity: error}
  - {name: retrieval_mrr, threshold: 0.62, regression_max: 0.05, severity: warning}
"""
GOOD = {"q1": "a x", "2": "7 b", "q3": "c", "nothing": ""}
LOWER = {"q1": "x a", "2": "7 b", "q3": "c", "nothing": ""}
LOST = {"q1": "x", "2": "x 7", "q3": "c", "nothing": ""}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, with a gold set and criteria."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.yaml").write_text(GOLD)
    (tmp_path / "ship-criteria.yaml").write_text(CRITERIA)
    return tmp_path


def write_run(path: str, lists: Mapping[str, str], latency: float | None = None) -> InputFile:
    timed = {} if latency is None else {"latency_ms": {"retrieve": latency}}
    lines = [
        json.dumps({"query_id": query, "topk": [{"chunk_id": chunk} for chunk in ids.split()], **timed})
        for query, ids in lists.items()
    ]
    Path(path).write_text("\n".join(lines) + "\n")
    return InputFile(path)


def judge(
    now: Mapping[str, str],
    before: Mapping[str, str] | None = None,
    latency: float | None = None,
    latency_before: float | None = None,
) -> Report:
    return check(
        Inputs(
            criteria="ship-criteria.yaml",
            date="2026-01-31",
            gold=InputFile("gold.yaml"),
            run=write_run("run.jsonl", now, latency),
            baseline=write_run("accepted.jsonl", before, latency_before) if before else None,
        )
    )


@pytest.mark.parametrize(
    ("now", "before", "verdict", "gates", "summary"),
    [
        pytest.param(
            GOOD,
            GOOD,
            PASS,
            [PASS, PASS],
            "No list changed in the first 5: recall@5 stays at 100.0% (3 questions).",
            id="the same run twice",
        ),
        pytest.param(
            *(GOOD, None, WARN, [WARN, WARN]),
            "Nothing to compare with yet: recall@5 is 100.0%, floor 75.0%.",
            id="no baseline yet",
        ),
        pytest.param(
            *(LOWER, GOOD, WARN, [PASS, WARN]),
            "May be merged, with a warning: mrr lost 0.167: 1.000 → 0.833, 0.050 allowed.",
            id="relevant documents stand lower",
        ),
        pytest.param(
            *(LOST, GOOD, FAIL, [FAIL, WARN]),
            "Do not merge: recall@5 lost 50.0 points: 100.0% → 50.0%, 3.0 allowed.",
            id="relevant documents are lost",
        ),
        pytest.param(
            *({"q1": "a", "2": "7 b"}, GOOD, FAIL, [FAIL, WARN]),
            "Do not merge: recall@5 lost 33.3 points: 100.0% → 66.7%, 3.0 allowed.",
            id="a query left out is a query lost",
        ),
        pytest.param(
            *(GOOD, {"nothing": ""}, NOT_JUDGED, [NOT_JUDGED, WARN]),
            "ship-criteria.yaml:2: gate retrieval_recall_at_5: the baseline has recall@5 for none of the questions "
            "that are scored now; accept a run that has it.",
            id="a baseline without a common query",
        ),
    ],
)
def test_verdicts(
    place: Path,
    now: Mapping[str, str],
    before: Mapping[str, str] | None,
    verdict: Verdict,
    gates: list[Verdict],
    summary: str,
) -> None:
    found = judge(now, before)
    assert (found.verdict, [gate.verdict for gate in found.gates]) == (verdict, gates)
    assert found.summary == summary


def test_a_baseline_that_lacks_one_metric_is_still_a_baseline(place: Path) -> None:
    """The accepted run states no latencies: recall was compared all the same, and the sentence must not deny it."""
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}  - {{name: latency, threshold: 50, regression_max: 5}}\n")
    found = judge(GOOD, GOOD, latency=30.0)
    assert [gate.verdict for gate in found.gates] == [PASS, PASS, WARN]
    assert "without a baseline" not in found.summary


def test_a_change_in_latency_moves_no_document(place: Path) -> None:
    """Where only latency is gated there is still nothing to say of documents that stayed where they were."""
    Path("ship-criteria.yaml").write_text("gates:\n  - {name: latency, regression_max: 5}\n")
    found = judge(GOOD, GOOD, latency=40.0, latency_before=30.0)
    assert found.verdict is FAIL
    assert found.changes.misses == []
    assert found.changes.moved in (None, Moved(worse=0, better=0))


def test_latencies_that_are_no_number_are_the_inputs_fault(place: Path) -> None:
    """Two times that overflow when they are added: bad data with a place, not an internal error."""
    Path("ship-criteria.yaml").write_text("gates:\n  - {name: latency, threshold: 50}\n")
    line = '{"query_id": "q1", "retrieved": ["a"], "latency_ms": {"retrieve": 1e308, "rerank": 1e308}}\n'
    Path("run.jsonl").write_text(line + line.replace("q1", "q3"))
    try:
        found = check(
            Inputs(
                criteria="ship-criteria.yaml",
                date="2026-01-31",
                gold=InputFile("gold.yaml"),
                run=InputFile("run.jsonl"),
            )
        )
    except RankgateError:
        return
    assert found.verdict in (FAIL, NOT_JUDGED)


def inputs_section(baseline: str) -> str:
    return f"{CRITERIA}inputs: {{gold: data/gold.yaml, run: out/run.jsonl, baseline: {baseline}}}\n"


def test_inputs_of_the_criteria_are_relative_to_them(place: Path) -> None:
    for folder in ("config/data", "config/out"):
        Path(folder).mkdir(parents=True)
    Path("config/data/gold.yaml").write_text(GOLD)
    Path("config/criteria.yaml").write_text(inputs_section("accepted"))
    write_run("config/out/run.jsonl", GOOD)
    inputs = Inputs(criteria="config/criteria.yaml", date="2026-01-31")

    first = check(inputs)
    assert (first.verdict, first.gates[0].evidence.evidence_state.value) == (WARN, "no_baseline"), (
        "not accepted yet: a state"
    )

    accepted = read_run("config/out/run.jsonl")
    accept_into("config/accepted", accepted.rankings, source=accepted.name, date="2026-01-31")
    assert check(inputs).verdict is PASS


def test_what_the_caller_names_wins(place: Path) -> None:
    for folder in ("data", "out"):
        Path(folder).mkdir()
    Path("data/gold.yaml").write_text(GOLD)
    Path("ship-criteria.yaml").write_text(inputs_section("accepted"))
    write_run("out/run.jsonl", GOOD)
    worse = write_run("worse.jsonl", LOST)
    assert check(Inputs(criteria="ship-criteria.yaml", date="2026-01-31", run=worse)).verdict is FAIL


@pytest.mark.parametrize(
    ("named", "message"),
    [
        pytest.param({"run": "run.jsonl"}, "no gold named; give the gold set with --gold FILE, or add", id="no gold"),
        pytest.param(
            {"gold": "gold.yaml"},
            "no run named; give the run of your retriever (`rankgate record` makes one) with --run FILE, or add",
            id="no run",
        ),
        pytest.param({"gold": "nowhere.yaml", "run": "run.jsonl"}, "nowhere.yaml: no such file", id="missing gold"),
        pytest.param({"gold": "gold.yaml", "run": "nowhere.jsonl"}, "nowhere.jsonl: no such file", id="missing run"),
        pytest.param(
            {"gold": "gold.yaml", "run": "run.jsonl", "baseline": "nowhere"},
            "nowhere: no baseline here; accept one with `rankgate baseline accept --run RUN --to nowhere`",
            id="a baseline that the caller names must be there",
        ),
        pytest.param(
            {"gold": "gold.yaml", "run": "strange.jsonl"},
            "strange.jsonl: the run has none of the 4 gold questions: gold.yaml has 'q1', '2', 'q3', the run has 'Q1'; "
            "do both use the same question ids?",
            id="a run without a gold query",
        ),
    ],
)
def test_what_cannot_be_judged_is_said(place: Path, named: dict[str, str], message: str) -> None:
    write_run("run.jsonl", GOOD)
    write_run("strange.jsonl", {"Q1": "a"})
    files = {flag: InputFile(path) for flag, path in named.items()}
    with pytest.raises(RankgateError) as caught:
        check(
            Inputs(
                criteria="ship-criteria.yaml",
                date="2026-01-31",
                gold=files.get("gold"),
                run=files.get("run"),
                baseline=files.get("baseline"),
            )
        )
    assert str(caught.value).startswith(message)


# A real collection: 225 questions, judged in grades, with runs of a search engine and reference values of trec_eval.
# It is too large for the repository, so it is looked for in a directory beside it.

CRANFIELD = next(iter(sorted(Path(__file__).resolve().parents[2].glob("*/data/cranfield"))), Path("cranfield"))
needs_cranfield = pytest.mark.skipif(not CRANFIELD.is_dir(), reason="the Cranfield collection is not at hand")
FLOORS = {"recall@5": 0.28, "mrr": 0.52, "ndcg@10": 0.35, "hit@5": 0.75, "precision@5": 0.3}
REFERENCE = {
    "recall@5": "recall_5",
    "mrr": "recip_rank",
    "ndcg@10": "ndcg_cut_10",
    "hit@5": "success_5",
    "precision@5": "P_5",
}
CANDIDATES = ("bm25_rerun", "bm25_nostem", "bm25_trunc30", "minilm", "bm25_minilm_rerank")


def reference(name: str) -> Any:
    return json.loads((CRANFIELD / "expected" / f"{name}.json").read_text())


def cranfield(candidate: str, form: str, baseline: str | None = None) -> Report:
    gates = "".join(
        f"  - {{name: {metric}, threshold: {floor}, regression_max: 0.03}}\n" for metric, floor in FLOORS.items()
    )
    Path("c.yaml").write_text(f"gates:\n{gates}")
    gold = "gold.jsonl" if form == "jsonl" else "qrels.trec"
    return check(
        Inputs(
            criteria="c.yaml",
            date="2026-01-31",
            gold=InputFile(str(CRANFIELD / gold)),
            run=InputFile(str(CRANFIELD / "runs" / f"{candidate}.{form}")),
            baseline=InputFile(baseline or str(CRANFIELD / "runs" / f"bm25.{form}")),
        )
    )


def accept_bm25(form: str) -> str:
    run = read_run(str(CRANFIELD / "runs" / f"bm25.{form}"), needs=frozenset({RunField.LATENCY}))
    accept_into("baseline", run.rankings, source="bm25", provenance=run.provenance, date="2026-01-31")
    return "baseline"


@needs_cranfield
@pytest.mark.parametrize("form", ["jsonl", "trec"])
@pytest.mark.parametrize("stored", [pytest.param(False, id="run file"), pytest.param(True, id="baseline directory")])
def test_the_same_ranking_measured_again_passes(place: Path, form: str, *, stored: bool) -> None:
    found = cranfield("bm25_rerun", form, accept_bm25(form) if stored else None)
    assert found.verdict is PASS
    assert [gate.change.delta for gate in found.gates] == [0.0] * len(FLOORS)
    assert [gate.change.delta_ci for gate in found.gates] == [(0.0, 0.0)] * len(FLOORS)
    assert (found.changes.misses, found.remarks.notes) == ([], [])


@pytest.mark.full
@needs_cranfield
@pytest.mark.parametrize("form", ["jsonl", "trec"])
@pytest.mark.parametrize("stored", [pytest.param(False, id="run file"), pytest.param(True, id="baseline directory")])
def test_an_index_of_the_first_thirty_words_fails(place: Path, form: str, *, stored: bool) -> None:
    found = cranfield("bm25_trunc30", form, accept_bm25(form) if stored else None)
    assert found.verdict is FAIL
    change = "−7.0 pp" if form == "jsonl" else "−6.9 pp"  # tied scores stand in another order in the TREC files
    assert sentences(found.gates[0]) == [
        f"recall@5 dropped from 28.5% to 21.5% ({change}; allowed drop: 3.0 pp)",
        "recall@5 is 21.5%, below the floor of 28.0%",
    ]
    assert found.summary.startswith("Do not merge: hit@5 is 66.7%, below the floor of 75.0%; the baseline held it (")


@needs_cranfield
@pytest.mark.parametrize("stored", [pytest.param(False, id="run file"), pytest.param(True, id="baseline directory")])
@pytest.mark.parametrize("candidate", CANDIDATES)
def test_values_and_changes_are_those_of_the_reference(place: Path, candidate: str, *, stored: bool) -> None:
    """TREC files, whose order by score is what trec_eval saw."""
    found = cranfield(candidate, "trec", accept_bm25("trec") if stored else None)
    expected = reference("compare")["pairs"][candidate]["metrics"]
    for gate in found.gates:
        values = expected[REFERENCE[gate.metric]]
        assert gate.measured.value == pytest.approx(values["candidate"], abs=1e-6)
        assert gate.change.baseline == pytest.approx(values["baseline"], abs=1e-6)
        assert gate.change.delta == pytest.approx(values["delta"], abs=1e-6)
        assert (gate.measured.n, gate.change.n_pairs) == (values["n"], values["n"])
        assert found.measured.metrics[gate.metric].value == gate.measured.value
        assert found.measured.baseline_metrics[gate.metric].value == gate.change.baseline


@needs_cranfield
@pytest.mark.parametrize("candidate", CANDIDATES)
def test_wins_and_losses_are_those_of_the_reference(candidate: str) -> None:
    gold = read_gold(str(CRANFIELD / "qrels.trec"))
    metrics = [parse_metric(name) for name in REFERENCE]
    before, now = (
        score(gold, read_run(str(CRANFIELD / "runs" / f"{system}.trec")).rankings, Plan(metrics=metrics))
        for system in ("bm25", candidate)
    )
    expected = reference("compare")["pairs"][candidate]["metrics"]
    for metric in metrics:
        found = compare(metric, now.values[metric.name], baseline_column(metric, before))
        assert found is not None
        values = expected[REFERENCE[metric.name]]
        assert (found.better, found.worse) == (values["wins"], values["losses"])
        assert found.delta == pytest.approx(values["delta"], abs=1e-6)


@needs_cranfield
@pytest.mark.parametrize("candidate", CANDIDATES)
def test_values_by_rank_are_those_of_the_reference(place: Path, candidate: str) -> None:
    """JSONL, whose order is the rank: tied scores stand as the retriever returned them."""
    found = cranfield(candidate, "jsonl")
    expected = reference(candidate)["aggregate_by_rank_over_queries_in_run_and_qrels"]
    checked = [metric for metric in REFERENCE if REFERENCE[metric] in expected]
    assert {"recall@5", "ndcg@10", "precision@5"} <= set(checked)
    for metric in checked:
        assert found.measured.metrics[metric].value == pytest.approx(expected[REFERENCE[metric]], abs=1e-6)


@needs_cranfield
def test_segments_are_those_of_the_reference(place: Path) -> None:
    """Where no score ties matter: the same ranking by score and by rank."""
    found = cranfield("minilm", "jsonl")
    expected = reference("compare")["pairs"]["minilm"]["delta_by_tag"]
    assert {f"{segment.dimension}:{segment.value}" for segment in found.measured.segments} == set(expected)
    for segment in found.measured.segments:
        values = expected[f"{segment.dimension}:{segment.value}"]
        assert segment.queries == values["n"]
        for metric in ("recall@5", "mrr", "ndcg@10"):
            assert segment.metrics[metric].delta == pytest.approx(values[REFERENCE[metric]], abs=1e-6)


@pytest.mark.full
@needs_cranfield
def test_a_stored_baseline_and_its_run_file_give_the_same_gates(place: Path) -> None:
    by_file = cranfield("bm25_trunc30", "jsonl")
    by_directory = cranfield("bm25_trunc30", "jsonl", accept_bm25("jsonl"))
    assert by_file.gates == by_directory.gates
    assert by_file.measured.segments == by_directory.measured.segments
    assert by_file.changes.misses == by_directory.changes.misses


HOTPOTQA = CRANFIELD.parent / "hotpotqa_sample"


@needs_cranfield
@pytest.mark.parametrize(
    ("collection", "metric", "limit", "verdict", "state"),
    [
        pytest.param(HOTPOTQA, "recall@5", 0.02, PASS, "inconclusive", id="HotpotQA, recall@5"),
        pytest.param(HOTPOTQA, "hit@5", 0.03, WARN, "inconclusive", id="HotpotQA, hit@5"),
        pytest.param(CRANFIELD, "recall@5", 0.03, FAIL, "clear", id="Cranfield, recall@5"),
    ],
)
def test_harm_is_proven_where_it_is_real(
    collection: Path, metric: str, limit: float, verdict: Verdict, state: str, tmp_path: Path
) -> None:
    criteria = tmp_path / "ship-criteria.yaml"
    criteria.write_text(f"evidence: proven_harm\ngates:\n  - {{name: {metric}, regression_max: {limit}}}\n")
    runs = collection / "runs"
    (gate,) = check(
        Inputs(
            date="2026-01-31",
            criteria=str(criteria),
            gold=InputFile(str(collection / "qrels.trec")),
            run=InputFile(str(runs / "bm25_trunc30.trec")),
            baseline=InputFile(str(runs / "bm25.trec")),
        )
    ).gates
    assert (gate.verdict, gate.evidence.evidence_state.value) == (verdict, state)
