"""`rankgate score`: metrics of one run, without a gate."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankgate.cli import main

Capture = pytest.CaptureFixture[str]
# q1 finds its document first, q2 one of two at rank 2, q3 has none to find; q4 is absent from the run.
GOLD = """\
samples:
  - {id: q1, expected_output: [a]}
  - {id: q2, expected_output: {b: 2, c: 1}, metadata: {k: 1}}
  - {id: q3, expected_output: [], metadata: {no_answer: true}}
  - {id: q4, expected_output: [d]}
"""
RUN = """\
{"query_id": "q1", "retrieved": ["a", "x", "x"]}
{"query_id": "q2", "retrieved": ["x", "b"]}
{"query_id": "q3", "retrieved": ["x"]}
{"query_id": "stranger", "retrieved": ["x"]}
"""
INPUTS = ["--gold", "gold.yaml", "--run", "run.jsonl"]
NONE_COMMON = "2 of 2 relevant ids are in no list of {}: '10', '20'; the lists have '10.0', '20.0'."
PROJECT = {"gold.yaml": GOLD, "run.jsonl": RUN}
pytestmark = pytest.mark.usefixtures("project")


def scored(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["score", *words, "--format", "json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_the_shape_of_the_json(capsys: Capture) -> None:
    value = scored(capsys, *INPUTS, "--metrics", "recall@5,hit(rel=9)@5")
    low, high = value["metrics"]["recall@5"].pop("ci")
    assert 0 <= low < 0.5 < high <= 1
    assert value == {
        "metrics": {
            "recall@5": {
                "value": 0.5,
                "n": 3,
                "undefined": 1,
                "distribution": {
                    "zero": pytest.approx(1 / 3),
                    "between": pytest.approx(1 / 3),
                    "one": pytest.approx(1 / 3),
                    "quartiles": [0.0, 0.5, 1.0],
                },
            },
            "hit(rel=9)@5": {"value": None, "ci": None, "n": 0, "undefined": 4, "distribution": None},
        },
        "queries": {"total": 4, "missing": 1, "unjudged": 1, "duplicates": 1},
    }


def test_without_metrics_the_usual_ones_are_computed(capsys: Capture) -> None:
    assert list(scored(capsys, *INPUTS)["metrics"]) == [
        *("hit@5", "recall@5", "recall@10", "precision@5", "mrr", "map", "ndcg@10")
    ]


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        pytest.param("recal@5", "unknown metric 'recal@5'; did you mean 'recall@5'?", id="near"),
        pytest.param("", "'' is not a metric name; write it like recall@5 or ndcg(gain=exponential)@10", id="nothing"),
    ],
)
def test_a_metric_that_is_none_is_named(capsys: Capture, metrics: str, message: str) -> None:
    assert main(["score", *INPUTS, "--metrics", metrics]) == 2
    assert capsys.readouterr() == ("", f"error: --metrics: {message}\n")


def test_per_query_is_a_line_a_gold_query_with_null_where_undefined() -> None:
    assert main(["score", *INPUTS, "--metrics", "recall@5,mrr,hit(rel=9)@5", "--per-query", "out/scores.jsonl"]) == 0
    lines = Path("out/scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"query_id": "q1", "scores": {"recall@5": 1.0, "mrr": 1.0, "hit(rel=9)@5": None}},
        {"query_id": "q2", "scores": {"recall@5": 0.5, "mrr": 0.5, "hit(rel=9)@5": None}},
        {"query_id": "q3", "scores": {"recall@5": None, "mrr": None, "hit(rel=9)@5": None}},
        {"query_id": "q4", "scores": {"recall@5": 0.0, "mrr": 0.0, "hit(rel=9)@5": None}, "missing": True},
    ]


def test_the_table_says_on_what_it_stands(capsys: Capture) -> None:
    assert main(["score", *INPUTS, "--metrics", "mrr,hit(rel=9)@5"]) == 0
    heading, mrr, undefined, blank, notes = capsys.readouterr().out.splitlines()
    assert heading.split() == ["metric", "value", "95%", "interval", "queries", "at", "0", "at", "1"]
    assert mrr.split()[:2] == ["mrr", "0.500"]
    assert mrr.split()[-3:] == ["3", "33%", "33%"]
    assert undefined.split() == ["hit(rel=9)@5", "–", "–", "0"]
    assert blank == ""
    assert notes == (
        "4 questions in the gold set; 1 without a relevant document, left out; 1 absent from the run, scored as worst; "
        "1 of the run without judgment, ignored; 1 repeated id removed."
    )


def test_latencies_are_read_where_a_metric_wants_them(project: Path, capsys: Capture) -> None:
    line = '{"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "a"}], "latency_ms": {"retrieve": 30, "rerank": 12}}\n'
    (project / "timed.jsonl").write_text(line, encoding="utf-8")
    metrics = "latency,latency(stage=rerank),latency(quantile=0.5)"
    found = scored(capsys, "--gold", "gold.yaml", "--run", "timed.jsonl", "--metrics", metrics)["metrics"]
    assert {name: entry["value"] for name, entry in found.items()} == {
        "latency": 42.0,
        "latency(stage=rerank)": 12.0,
        "latency(quantile=0.5)": 42.0,
    }


GATES = "gates:\n  - {name: mrr, threshold: 0.5}\n"
CRITERIA_INPUTS = "inputs: {gold: gold.yaml, run: run.jsonl}\n"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], id="both from the criteria"),
        pytest.param(["--gold", "gold.yaml"], id="the run from the criteria"),
        pytest.param(["--run", "run.jsonl"], id="the gold from the criteria"),
        pytest.param(["--criteria", "ship-criteria.yaml"], id="the criteria named"),
    ],
)
def test_inputs_of_the_criteria_serve_where_a_flag_is_missing(project: Path, capsys: Capture, words: list[str]) -> None:
    (project / "ship-criteria.yaml").write_text(GATES + CRITERIA_INPUTS, encoding="utf-8")
    assert scored(capsys, *words)["queries"]["total"] == 4


def test_criteria_that_are_named_must_be_there(capsys: Capture) -> None:
    assert main(["score", *INPUTS, "--criteria", "absent.yaml"]) == 2
    assert capsys.readouterr() == ("", "error: absent.yaml: no such file\n")


def test_the_k_of_the_criteria_counts_as_it_does_in_check(project: Path, capsys: Capture) -> None:
    gold, run = '{"id": "q1", "expected_output": ["a"]}\n', '{"query_id": "q1", "retrieved": ["x", "a"]}\n'
    (project / "gold.jsonl").write_text(gold, encoding="utf-8")
    (project / "second.jsonl").write_text(run, encoding="utf-8")
    inputs = "default_k: 1\ninputs: {gold: gold.jsonl, run: second.jsonl}\n"
    (project / "ship-criteria.yaml").write_text("gates: [{name: recall, threshold: 0.5}]\n" + inputs, encoding="utf-8")
    assert main(["check"]) == 1
    capsys.readouterr()
    assert scored(capsys, "--metrics", "recall")["metrics"]["recall@k"]["value"] == 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "no gold named; give the gold set with --gold FILE", id="no gold"),
        pytest.param(["--gold", "gold.yaml"], "no run named; give the run of your retriever", id="no run"),
        pytest.param(["--gold", "-", "--run", "-"], "only one input can be read from standard input (-)", id="stdin"),
    ],
)
def test_what_cannot_be_scored_is_an_error(project: Path, capsys: Capture, words: list[str], message: str) -> None:
    assert main(["score", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")


def dated(tmp_path: Path, days: dict[str, str | None], lists: dict[str, list[tuple[str, str | None]]]) -> list[str]:
    """A gold set that wants `a` of each query, as of its day, and a run of ids with their versions."""
    samples = [{"id": each, "expected_output": ["a"], "metadata": {"as_of": day}} for each, day in days.items()]
    (tmp_path / "gold.json").write_text(json.dumps(samples))
    lines = [
        {"query_id": query, "topk": [{"id": doc, "doc_version": day} for doc, day in items], "raw_topk": ["x", "a"]}
        for query, items in lists.items()
    ]
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return ["score", "--gold", str(tmp_path / "gold.json"), "--run", str(tmp_path / "run.jsonl"), "--as-of"]


OLD, DAY, NEW = "2024-01-01", "2025-06-01", "2025-06-02"


def test_documents_newer_than_the_question_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists: dict[str, list[tuple[str, str | None]]] = {
        "up": [("x", NEW), ("y", None), ("a", DAY)],  # a moves up by one, the day itself counts
        "gone": [("a", NEW), ("y", OLD)],
        "all": [("a", NEW)],
        "free": [("x", NEW), ("a", NEW)],  # states no day
    }
    days = {"up": DAY, "gone": DAY, "all": DAY, "free": None, "absent": DAY}
    words = dated(tmp_path, days, lists)
    assert main([*words, "--metrics", "mrr,recall(stage=raw)@1", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    mrr = found["metrics"]["mrr"]
    assert mrr["value"] == pytest.approx((1 / 3 + 1 + 1 + 1 / 2 + 0) / 5)
    assert mrr["as_of"]["b"] == pytest.approx((1 / 2 + 0 + 0 + 1 / 2 + 0) / 5)
    assert found["as_of"] == {"queries": 3, "changed": 3, "left_out": 3, "undated": 1}
    # Of `up` the first of the raw list is x, whose version the first list states.
    assert found["metrics"]["recall(stage=raw)@1"]["as_of"]["b"] == pytest.approx(1 / 5)
    assert main([*words, "--metrics", "mrr"]) == 0
    printed = capsys.readouterr().out
    assert "3 newer results left out of 3 lists; 1 result without doc_version kept." in printed


@pytest.mark.full
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    lists=st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]),
        st.lists(
            st.tuples(st.sampled_from("abcd"), st.sampled_from([None, OLD, DAY, NEW])),
            max_size=4,
            unique_by=lambda x: x[0],
        ),
        min_size=1,
    )
)
def test_as_of_is_the_score_of_the_run_without_what_is_newer(
    lists: dict[str, list[tuple[str, str | None]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days: dict[str, str | None] = dict.fromkeys(("q1", "q2", "q3"), DAY)
    stated = lists | {"q1": [*lists.get("q1", []), ("z", DAY)]}
    older = {query: [each for each in items if each[1] != NEW] for query, items in stated.items()}
    found = []
    for each in (stated, older):
        assert main([*dated(tmp_path, days, each), "--metrics", "mrr,ndcg@2,recall@1", "--format", "json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["metrics"])
    for name, value in found[0].items():
        before, after = value["as_of"]["a"], value["as_of"]["b"]
        assert (before, after) == pytest.approx((value["value"], found[1][name]["value"]))


@pytest.mark.parametrize(
    ("day", "version", "message"),
    [
        pytest.param(None, DAY, "gold.json: --as-of: no sample states metadata.as_of", id="no days"),
        pytest.param(DAY, None, "run.jsonl: --as-of reads `doc_version` of the items", id="no versions"),
        pytest.param(DAY, "v3", "the doc_version of 'a' is 'v3'; write a date, as 2025-06-01", id="a version, no day"),
    ],
)
def test_as_of_needs_days(
    day: str | None, version: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(dated(tmp_path, {"q": day}, {"q": [("a", version)]})) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gold", "run", "note"),
    [
        pytest.param(
            '{"1": {"10": 1}, "2": {"20": 1}}',
            "10.0 20.0",
            f"{NONE_COMMON} 2 of them differ from ids of the run in their form alone: "
            "'10' and '10.0' (a .0), '20' and '20.0' (a .0).",
            id="as pandas writes integers",
        ),
        pytest.param('{"1": {"10": 1}, "2": {"20": 1}}', "10 20.0", None, id="half of them"),
        pytest.param('{"1": {"10": 1}, "2": {"20": 1}}', "20 10", None, id="in another list"),
        pytest.param(
            json.dumps({"1": {str(number): 1 for number in range(11)}, "2": {"20": 1}}),
            "10 x",
            "11 of 12 relevant ids are in no list of {}: '0', '1', '2' and 8 more.",
            id="nearly none",
        ),
    ],
)
@pytest.mark.parametrize("command", ["score", "compare"])
def test_ids_that_are_not_the_golds_are_shown(
    project: Path, capsys: Capture, gold: str, run: str, note: str | None, command: str
) -> None:
    first, second = run.split()
    (project / "g.json").write_text(gold, encoding="utf-8")
    text = f"qid,docid,score\n1,{first},3.2\n2,{second},3.1\n"
    (project / "r.csv").write_text(text, encoding="utf-8")
    words = {"score": ["score", "--run", "r.csv"], "compare": ["compare", "r.csv", "r.csv"]}
    assert main([*words[command], "--gold", "g.json", "--metrics", "recall@5"]) == 0
    found = [line for line in capsys.readouterr().out.splitlines() if "in no list of" in line]
    name = "r.csv" if command == "compare" else "the run"
    assert found == ([note.format(name)] if note else [])
