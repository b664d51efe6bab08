"""`metadata.weight` and `weight: traffic`: from the gold set to every report, and what is refused on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from pydantic import ValidationError

from rankgate.cli import main
from rankgate.criteria import Gate, load_criteria
from rankgate.errors import RankgateError
from rankgate.metrics.sets import Recall
from rankgate.readers.formats import fingerprint_of, read_gold

GATE = "- {name: recall@5, regression_max: 0.03"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(weights: Sequence[Any], lost: int, criteria: str) -> None:
    """Questions with these weights, of which the first ones are lost."""
    gold, accepted, run = [], [], []
    for row, weight in enumerate(weights):
        metadata = {} if weight is None else {"weight": weight}
        gold.append({"id": f"q{row}", "expected_output": ["a"], "metadata": {"tags": ["lang:en"], **metadata}})
        accepted.append({"query_id": f"q{row}", "topk": ["a"]})
        run.append({"query_id": f"q{row}", "topk": ["b" if row < lost else "a"]})
    for name, entries in (("gold", gold), ("accepted", accepted), ("run", run)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    inputs = "inputs: {gold: gold.jsonl, run: run.jsonl, baseline: accepted.jsonl}\n"
    Path("ship-criteria.yaml").write_text(criteria + inputs)


def checked(*options: str) -> dict[str, Any]:
    main(["check", "-o", "report.json", "-o", "comment.md", "--date", "2026-01-31", *options])
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


def gate_of(weight: str = "traffic", evidence: str = "proven_harm", more: str = "") -> str:
    return f"weight: {weight}\nevidence: {evidence}\ngates:\n{GATE}{more}}}\n"


HEAD = [49.0, 49.0, *[1.0] * 98]  # two questions with half of the traffic


@pytest.mark.parametrize(
    ("weights", "lost", "rule", "verdict", "state", "value"),
    [
        pytest.param([1.0] * 100, 10, "none proven_harm", "fail", "clear", 0.9, id="all alike, unweighted"),
        pytest.param([1.0] * 100, 10, "traffic proven_harm", "fail", "clear", 0.9, id="all alike, by traffic"),
        pytest.param([2, 1] * 50, 10, "traffic proven_harm", "fail", "clear", 0.9, id="lost as by traffic"),
        pytest.param(HEAD, 2, "none estimate", "pass", "clear", 0.98, id="two questions of a hundred"),
        pytest.param(HEAD, 2, "traffic estimate", "fail", "no_interval", 0.5, id="that are half of the traffic"),
        pytest.param(HEAD, 2, "traffic proven_harm", "warn", "no_interval", 0.5, id="cannot be proven to be lost"),
        pytest.param(HEAD, 0, "traffic proven_safe", "pass", "clear", 1.0, id="an unchanged run"),
        pytest.param(HEAD, 100, "traffic proven_harm", "fail", "clear", 0.0, id="everything lost is proven"),
    ],
)
def test_a_gate_by_traffic(
    weights: Sequence[float], lost: int, rule: str, verdict: str, state: str, value: float
) -> None:
    weight, evidence = rule.split()
    write(weights, lost, gate_of(weight, evidence))
    report = checked()
    (gate,) = report["gates"]
    assert (gate["verdict"], gate["evidence_state"]) == (verdict, state)
    assert (gate["value"], gate["delta"]) == (pytest.approx(value), pytest.approx(value - 1))
    metric = report["metrics"]["recall@5"]
    assert (metric["value"], metric["weighted"]) == (gate["value"], weight == "traffic")
    assert report["baseline_metrics"]["recall@5"]["value"] == 1.0
    if weight == "traffic":
        total = sum(weights)
        assert gate["weighting"] == {
            "value": pytest.approx(1 - lost / 100),
            "delta": pytest.approx(-lost / 100),
            "heaviest": pytest.approx(max(weights) / total),
            "query": "q0",
            "effective": pytest.approx(total**2 / sum(w * w for w in weights)),
        }
    else:
        assert gate["weighting"] is None


@pytest.mark.parametrize("weight", ["traffic", "none"])
def test_tables_by_tag_count_as_the_gate_does(weight: str) -> None:
    segments = ", segments: {by: lang, regression_max: 0.05}"
    write(HEAD, 1, gate_of(weight, more=segments) + "- {name: mrr, threshold: 0}\n")
    report = checked("-o", "page.html")
    [gate] = [each for each in report["gates"] if each["metric"] == "recall@5" and each["segment"]]
    [shown] = [each["metrics"] for each in report["segments"] if each["value"] == "en"]
    by_traffic = weight == "traffic"
    value = 0.75 if by_traffic else 0.99
    for metric in ("recall@5", "mrr"):
        row = shown[metric]
        assert (row["value"], row["delta"], row["baseline"]) == pytest.approx((value, value - 1, 1))
    row = shown["recall@5"]
    assert all(row[key] == gate[key] for key in ("value", "ci", "baseline", "delta"))
    assert ("| recall@5 by traffic |" in Path("comment.md").read_text()) == by_traffic
    assert ("</abbr> by traffic</th>" in Path("page.html").read_text()) == by_traffic


def test_both_values_stand_in_every_report(capsys: pytest.CaptureFixture[str]) -> None:
    write(HEAD, 1, gate_of(more="}\n- {name: mrr, weight: none, threshold: 0"))
    checked("-o", "page.html")
    said = "By traffic: recall@5 75.0% (99.0% unweighted, change −1.0 pp). The heaviest question has 25.0% of the "
    said += "traffic; the effective number of questions is 7.8 of 100."
    for text in (capsys.readouterr().out, *(Path(f).read_text() for f in ("comment.md", "page.html"))):
        assert said.replace("recall@5", "") in " ".join(text.split()).replace("recall@5", "").replace("`", "")
    assert "with too few queries of like weight to tell it from noise" in Path("comment.md").read_text()


@pytest.mark.parametrize(("row", "verdict"), [(0, "not_judged"), (5, "pass")])
def test_a_heavy_question_without_a_value_is_not_left_out_like_a_light_one(row: int, verdict: str) -> None:
    write(HEAD, 0, "weight: traffic\ngates:\n- {name: score(x), direction: higher, threshold: 0.5}\n")
    lines = [{"query_id": f"q{each}", "topk": ["a"], "scores": {"x": 0.9}} for each in range(100)]
    lines[row]["scores"] = {}
    Path("run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert checked()["verdict"] == verdict


def test_segments_by_traffic_need_no_tags_and_the_gold_set_is_told_apart_by_its_weights() -> None:
    weights = [float(10 * (row < 10) + 2 * (row < 40) + 1) for row in range(100)]
    more = ", segments: {by: traffic, min_queries: 5, regression_max: 0.05, only: {head: {regression_max: 0.5}}}"
    write(weights, 4, gate_of("none", "estimate", more))
    gates = {gate["segment"]: gate for gate in checked()["gates"]}
    assert {name: (gate["n"], gate["verdict"], gate["regression_max"]) for name, gate in gates.items()} == {
        None: (100, "fail", 0.03),
        "traffic:head": (8, "pass", 0.5),
        "traffic:torso": (21, "pass", 0.05),
        "traffic:tail": (71, "pass", 0.05),
    }
    before = read_gold("gold.jsonl")
    Path("gold.jsonl").write_text(Path("gold.jsonl").read_text().replace('"weight": 13.0', '"weight": 14.0', 1))
    assert fingerprint_of(before) != fingerprint_of(read_gold("gold.jsonl"))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param([1, 1, 1], ["head", "torso", "tail"], id="all alike: by id"),
        pytest.param([0.1] * 6, ["head", "head", "torso", "torso", "tail", "tail"], id="thirds that rounding splits"),
        pytest.param([1, 1, 7, 1], ["tail", "tail", "head", "tail"], id="one has two thirds: no torso"),
        pytest.param([1, 5, 1, 1, 1, 1], ["torso", "head", "torso", "tail", "tail", "tail"], id="half of it"),
        pytest.param([3], ["head"], id="one question"),
        pytest.param([1e-50, 1e50], ["tail", "head"], id="far apart"),
        pytest.param([1, None, 5], [None] * 3, id="one has none"),
    ],
)
def test_head_torso_and_tail(weights: list[float | None], expected: list[str | None]) -> None:
    write(weights, 0, gate_of())
    tags = [sample.tags[1:] for sample in read_gold("gold.jsonl").samples.values()]
    assert tags == [(f"traffic:{each}",) if each else () for each in expected]


@pytest.mark.parametrize("form", ["jsonl", "json", "yaml"])
@pytest.mark.parametrize(
    ("metadata", "key", "said"),
    [
        pytest.param('{"weight": 0}', "weight", "the weight is 0; write a number above 0", id="0"),
        pytest.param('{"weight": -3.5}', "weight", "the weight is -3.5; write a number above 0", id="negative"),
        pytest.param('{"weight": "3"}', "weight", "the weight is '3'; write a number above 0", id="text"),
        pytest.param('{"weight": true}', "weight", "the weight is True; write a number above 0", id="true"),
        pytest.param('{"weight": [3]}', "weight", "the weight is [3]; write a number above 0", id="a list"),
        pytest.param(
            '{"weight": 1e60}', "weight", "the weight is 1e+60; write a number from 1e-50 to 1e+50", id="huge"
        ),
        pytest.param(
            '{"weight": 3, "tags": ["traffic:big"]}', "tags", "tags that begin with traffic: come from", id="own tag"
        ),
    ],
)
def test_a_bad_weight_is_one_error(metadata: str, key: str, said: str, form: str) -> None:
    lines = [
        '{"id": "q0", "expected_output": ["a"], "metadata": {"weight": 2}}',
        f'{{"id": "q1", "expected_output": ["a"], "metadata": {metadata}}}',
    ]
    text = {"jsonl": "\n".join(lines), "json": f"[{','.join(lines)}]", "yaml": "\n".join(f"- {x}" for x in lines)}
    path = Path(f"gold.{form}")
    path.write_text(text[form])
    with pytest.raises(RankgateError) as caught:
        read_gold(str(path))
    (problem,) = caught.value.problems
    assert said in problem.message
    assert problem.file == str(path)
    assert (problem.key or "").endswith(f"metadata.{key}")
    assert problem.line == (None if form == "json" else 2)


def test_null_is_no_weight_and_queries_without_one_are_counted() -> None:
    write([1, None, 3, None], 0, gate_of(more=", segments: {by: traffic, threshold: 0.5}"))
    report = checked()
    assert report["verdict"] == "not_judged"
    by_tag, weight = report["problems"]
    assert "'traffic'; they come from `metadata.weight`, and 2 queries have none" in by_tag["message"]
    assert weight["message"].startswith("2 of 4 queries have no weight, first 'q1', and gate 'recall@5' counts by")
    assert "`map.weight`" in weight["message"]
    assert (weight["file"], weight["line"], weight["key"]) == ("gold.jsonl", 2, "metadata.weight")


LATENCY = "latency(quantile=0.9)"
NO_MEAN = f"{LATENCY} is no mean, and has no weighted value; say `weight: none`"
JUDGED = "faithfulness is judged by a model, which is calibrated without weights; say `weight: none`"
JUDGE = "judge: {endpoint: 'http://localhost:1', model: m}"


@pytest.mark.parametrize(
    ("head", "gates", "expected"),
    [
        ("", [f"{LATENCY}, weight: traffic"], NO_MEAN),
        ("weight: traffic", ["mrr", LATENCY], NO_MEAN),
        (f"weight: traffic\n{JUDGE}", ["mrr", "faithfulness"], JUDGED),
        ("", ["mrr, weight: trafic"], "traffic"),
        ("weight: traffic", ["mrr", f"{LATENCY}, weight: none"], ["traffic", "none"]),
    ],
)
def test_what_criteria_may_ask_for(head: str, gates: list[str], expected: object) -> None:
    path = Path("c.yaml")
    path.write_text("\n".join([head, "gates:", *(f"- {{name: {gate}, threshold: 0}}" for gate in gates)]))
    if isinstance(expected, list):
        assert [gate.weight for gate in load_criteria(str(path)).gates] == expected
        return
    with pytest.raises(RankgateError) as caught:
        load_criteria(str(path))
    (problem,) = caught.value.problems
    assert str(expected) in problem.message
    assert problem.key == f"gates[{len(gates) - 1}].weight"
    assert problem.line == path.read_text().count("\n") + 1


class Median(Recall, frozen=True, kw_only=True):
    """As a package could bring one."""

    def aggregate(self, values: Sequence[float]) -> float:
        return median(values)


def test_a_metric_that_a_package_aggregates_is_no_mean() -> None:
    assert Gate(name="g", metric=Recall(), threshold=0.5, weight="traffic").weight == "traffic"
    with pytest.raises(ValidationError, match="is no mean"):
        Gate(name="g", metric=Median(), threshold=0.5, weight="traffic")


def test_validate_names_who_decides_alone_and_what_the_weights_leave(capsys: pytest.CaptureFixture[str]) -> None:
    facts: Mapping[str, list[float]] = {"head": HEAD, "even": [1.0 + row / 100 for row in range(100)]}
    for name, weights in facts.items():
        write(weights, 0, gate_of())
        Path("run.jsonl").write_text(Path("run.jsonl").read_text().replace('"a"', '"b"', 30))
        main(["validate", "--date", "2026-01-31"])
        said = capsys.readouterr().out
        assert ("'q0', 'q1' can decide alone: one question moves it by up to 25.0 pp (3.0 pp allowed)" in said) == (
            name == "head"
        )
        effective = "7.8 of 100; from 10 on there is an interval" if name == "head" else "96.4 of 100\n"
        assert f"by traffic the effective number of questions is {effective}" in said


def test_what_was_recorded_by_traffic_says_so() -> None:
    write(HEAD, 1, gate_of("traffic", "estimate", ", severity: warning"))
    assert main(["baseline", "record", "--baseline", "store", "--date", "2026-01-31"]) == 0
    (line,) = Path("store/history.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["scores"], record["weighted"]) == ({"recall@5": pytest.approx(0.75)}, ["recall@5"])
