"""The first criteria, as a text."""

from collections.abc import Mapping

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from rankgate.criteria import InputFile
from rankgate.criteria.starter import FirstGate, FirstJudge, Start, criteria_text, first_drop, first_gates, segment_tags
from rankgate.metrics.estimates import Estimate
from rankgate.metrics.names import parse_metric
from rankgate.model.gate_result import Detectable
from rankgate.model.values import Gold, Interval, Sample

SEEN = Detectable(detectable=0.249, margin=0.249, queries=40, queries_needed=400, spread=0.43, assumed=True, sees=False)


def start_from(
    value: float | None,
    ci: Interval | None = None,
    *,
    run: str | None = "run.jsonl",
    reachable: float = 1.0,
    questions: int = 40,
    tags: Mapping[str, int] = {},
) -> Start:
    found = None if value is None else Estimate(value=value, n=40, undefined=0, ci=ci)
    return Start(
        gold=InputFile("gold.yaml"),
        run=InputFile("run.jsonl"),
        baseline="baseline",
        gates=[
            FirstGate(parse_metric(name), blocks, found, first_drop(questions, value), seen)
            for (name, blocks), seen in zip(first_gates(reachable), [SEEN, None, SEEN], strict=True)
        ],
        tags=tags,
        measured_run=run,
        reachable=reachable,
    )


def test_the_whole_text_with_a_run() -> None:
    assert (
        criteria_text(start_from(0.9, (0.8412, 0.95), tags={"lang": 12}))
        == """\
# What a change to the retriever must hold before it may be merged. `rankgate validate` checks this file,
# `rankgate check` judges by it, `rankgate metrics` lists what can be gated.
# Floors come from "run.jsonl"; raise them as the retriever improves.
# Only a proven drop blocks. Beside each limit stands the loss that these questions see in four of five runs.
evidence: proven_harm  # estimate: the measured drop decides by itself

gates:
  - name: recall@5
    # 90.0% over 40 questions, 95% interval 84.1% to 95.0%:
    # the floor is its lower end, rounded down
    threshold: 0.84
    regression_max: 0.05  # at most 5 percentage points below the baseline; 40 questions see losses from 24.9 points on
    severity: error  # blocks the merge
    # A mean hides a loss in one part. `evidence: proven_harm` corrects for how many parts there are; with
    # `estimate` one lost question of ten would be ten points, so raise min_queries to 30 then.
    segments:
      - {by: "lang", regression_max: 0.10, min_queries: 10}  # 12 values
  - name: mrr
    # 0.900 over 40 questions, 95% interval 0.841 to 0.950:
    # the floor is its lower end, rounded down
    threshold: 0.84
    regression_max: 0.05  # at most 0.05 below the baseline
    severity: warning  # only comments
  - name: ndcg@10
    # 0.900 over 40 questions, 95% interval 0.841 to 0.950:
    # the floor is its lower end, rounded down
    threshold: 0.84
    regression_max: 0.05  # at most 0.05 below the baseline; 40 questions see losses from 0.249 on
    severity: warning  # only comments

inputs:  # relative to this file; flags of the command line win
  gold: "gold.yaml"
  run: "run.jsonl"
  baseline: "baseline"  # made by `rankgate baseline accept`
"""
    )


def test_one_question_sees_no_loss() -> None:
    start = start_from(None)
    gates = [replace(gate, seen=replace(SEEN, queries=1, detectable=2.0)) for gate in start.gates]
    assert "; 1 question sees no loss\n" in criteria_text(replace(start, gates=gates))


def test_without_a_run_there_are_no_floors_and_it_says_how_to_get_them() -> None:
    text = criteria_text(start_from(None, run=None))
    assert "threshold" not in text
    assert "# There are no floors yet: `rankgate init --gold … --run … --force` derives them from a run.\n" in text
    assert [gate.keys() for gate in yaml.safe_load(text)["gates"]] == [{"name", "regression_max", "severity"}] * 3


@pytest.mark.parametrize(
    ("reachable", "gates"),
    [
        pytest.param(1.0, {"recall@5": "error", "mrr": "warning", "ndcg@10": "warning"}, id="few relevant documents"),
        pytest.param(0.8, {"recall@5": "error", "mrr": "warning", "ndcg@10": "warning"}, id="just enough"),
        pytest.param(0.79, {"capped_recall@5": "error", "mrr": "warning", "ndcg@10": "error"}, id="many"),
        pytest.param(0.1, {"capped_recall@5": "error", "mrr": "warning", "ndcg@10": "error"}, id="very many"),
    ],
)
def test_what_is_gated_can_move_on_the_gold_set(reachable: float, gates: dict[str, str]) -> None:
    text = criteria_text(start_from(0.9, (0.85, 0.95), reachable=reachable))
    found = yaml.safe_load(text)
    assert {gate["name"]: gate["severity"] for gate in found["gates"]} == gates
    assert found["evidence"] == "proven_harm"
    why = f"  # Many questions have more than 5 relevant documents: recall@5 reaches {reachable:.0%} at best,\n"
    assert (why in text) == ("capped_recall@5" in gates)
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("value", "questions", "drop", "said"),
    [
        pytest.param(0.9, 249, 0.05, "at most 5 percentage points below", id="few questions"),
        pytest.param(0.9, 250, 0.03, "at most 3 percentage points below", id="enough for three points"),
        pytest.param(None, 250, 0.03, "at most 3 percentage points below", id="no run"),
        pytest.param(0.3, 250, 0.03, "at most 3 percentage points below", id="a tenth is three points"),
        pytest.param(0.4, 100, 0.04, "at most 4 percentage points (a tenth of the value) below", id="between"),
        pytest.param(0.11, 40, 0.011, "at most 1.1 percentage points (a tenth of the value) below", id="low"),
        pytest.param(0.00123, 40, 0.00012, "at most 0.012 percentage points (a tenth", id="next to nothing"),
        pytest.param(0.0, 40, 0.05, "at most 5 percentage points below", id="nothing is no scale"),
    ],
)
def test_few_questions_allow_more_and_of_a_low_value_a_tenth_may_be_lost(
    value: float | None, questions: int, drop: float, said: str
) -> None:
    text = criteria_text(start_from(value, (0.0, 1.0), questions=questions))
    assert [gate["regression_max"] for gate in yaml.safe_load(text)["gates"]] == [drop] * 3
    assert said in text


@pytest.mark.parametrize(
    ("tags", "segments"),
    [
        pytest.param([["lang:en"]] * 10 + [["lang:de"]], {"lang": 2}, id="one value that is judged"),
        pytest.param([["lang:en"]] * 9 + [["lang:de"]] * 9, {}, id="no value that is judged"),
        pytest.param([["lang:en"]] * 20, {}, id="one value"),
        pytest.param([[f"n:{row % 30}"] for row in range(300)], {"n": 30}, id="thirty values"),
        pytest.param([[f"n:{row % 31}"] for row in range(310)], {}, id="thirty-one values"),
        pytest.param([["new"], ["old"]] * 20, {}, id="bare words have no key"),
        pytest.param([["b:1", "a:1"], ["b:2", "a:2"]] * 10, {"a": 2, "b": 2}, id="two tags"),
        pytest.param([["a b: c:1"], ["a b: c:2"]] * 10, {"a b": 2}, id="a key with a blank"),
    ],
)
def test_the_tags_that_become_segments(tags: list[list[str]], segments: dict[str, int]) -> None:
    samples = {str(row): Sample(query_id=str(row), gains={"d": 1}, tags=tuple(each)) for row, each in enumerate(tags)}
    assert segment_tags(Gold(samples=samples, name="gold", format="yaml")) == segments
    written = yaml.safe_load(criteria_text(start_from(0.9, tags=segments)))["gates"]
    assert [rule["by"] for rule in written[0].get("segments", [])] == list(segments)
    assert not any("segments" in gate for gate in written[1:])


@pytest.mark.parametrize(
    ("low", "floor"),
    [
        pytest.param(0.8499, 0.84, id="rounded down"),
        pytest.param(0.85, 0.85, id="exact"),
        pytest.param(0.29, 0.29, id="exact, though 100 times it is less than 29 in floating point"),
        pytest.param(1.0, 1.0, id="the top"),
        pytest.param(0.0, 0.0, id="the bottom"),
        pytest.param(0.004, 0.0, id="almost nothing"),
    ],
)
def test_a_floor_is_the_lower_end_rounded_down(low: float, floor: float) -> None:
    gates = yaml.safe_load(criteria_text(start_from(1.0, (low, 1.0))))["gates"]
    assert [gate["threshold"] for gate in gates] == [floor] * 3


@pytest.mark.parametrize(
    ("value", "ci"),
    [
        pytest.param(None, None, id="defined nowhere"),
        pytest.param(0.9, None, id="no interval"),
        pytest.param(0.9, (None, 0.95), id="no lower end"),
    ],
)
def test_what_the_data_do_not_support_becomes_no_floor(value: float | None, ci: Interval | None) -> None:
    assert "threshold" not in criteria_text(start_from(value, ci))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("gold set.yaml", id="space"),
        pytest.param("gold: v2 #1.yaml", id="colon and hash"),
        pytest.param('a "b" \\ c.yaml', id="quotes and a backslash"),
        pytest.param("it's *gold*.yaml", id="apostrophe and stars"),
        pytest.param("perguntas-é.yaml", id="letters beyond ASCII"),
        pytest.param("a\nb.yaml", id="line break"),
        pytest.param("no", id="a word that YAML reads as false"),
        pytest.param("🧪.yaml", id="a character beyond 16 bits"),
    ],
)
def test_paths_survive_in_the_criteria(path: str) -> None:
    known = msgspec.structs.replace(start_from(None), measured_run=path)
    start = msgspec.structs.replace(known, gold=InputFile(path), run=InputFile(path), baseline=path)
    assert yaml.safe_load(criteria_text(start))["inputs"] == {"gold": path, "run": path, "baseline": path}


def judged(questions: int, *, claims: bool = True) -> str:
    judge = FirstJudge("http://localhost:11434/v1", "m-2026-01-01", questions, claims)
    return criteria_text(msgspec.structs.replace(start_from(None, run=None), judge=judge))


def test_gates_on_answers_and_who_judges_them() -> None:
    text = judged(120)
    begin, end = text.index("  # Of the answers"), text.index("inputs:")
    assert (
        text[begin:end]
        == """\
  # Of the answers, as the model below judges them. Add a `threshold` once you have seen values to trust.
  # A refusal claims nothing, so that faithfulness leaves it out: answered_rate stands beside it.
  - name: faithfulness
    regression_max: 0.03  # at most 3 percentage points below the accepted baseline
    severity: warning  # only comments, for 120 questions see large drops alone
  - name: answered_rate
    regression_max: 0.05  # at most 5 percentage points below the accepted baseline
    severity: warning  # only comments, for 120 questions see large drops alone
  - name: claim_recall
    regression_max: 0.05  # at most 5 percentage points below the accepted baseline
    severity: warning  # only comments, for 120 questions see large drops alone

judge:  # its key is read from RANKGATE_JUDGE_KEY, never from a file; `rankgate judge --dry-run` is free
  endpoint: "http://localhost:11434/v1"  # any OpenAI-compatible API, such as http://localhost:11434/v1
  model: "m-2026-01-01"  # with its date: what a name without one stands for changes
  parameters: {max_tokens: 2000}  # sent as they are; newer models of OpenAI want max_completion_tokens
  budget: {calls: 4000}  # of one run; beyond it nothing is asked

"""
    )


@pytest.mark.parametrize(("questions", "severity"), [(499, "warning"), (500, "error")])
@pytest.mark.parametrize("claims", [False, True])
def test_gates_on_answers_block_where_questions_are_enough(questions: int, severity: str, *, claims: bool) -> None:
    gates = yaml.safe_load(judged(questions, claims=claims))["gates"][3:]
    names = ["faithfulness", "answered_rate", *(["claim_recall"] if claims else [])]
    assert {gate["name"]: gate["severity"] for gate in gates} == dict.fromkeys(names, severity)
