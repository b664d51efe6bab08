"""Agreement with trec_eval, pytrec_eval and ir_measures, query by query, on what `tests/reference` holds.

`scripts/make_reference.py` makes it. What these tools count as 0 because nothing is relevant is undefined here, and a
query that a run lacks has no line of theirs, or 0: both are 0 when compared.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from rankgate.metrics.names import parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import Scores
from rankgate.model.values import Ranking
from rankgate.readers.formats import read_gold, read_run

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "reference"

TREC_EVAL = {
    "map": "map",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    "ndcg_cut_5": "ndcg@5",
    "ndcg_cut_10": "ndcg@10",
    **{f"P_{k}": f"precision@{k}" for k in (1, 5, 10)},
    **{f"recall_{k}": f"recall@{k}" for k in (1, 3, 5, 10, 20)},
    **{f"success_{k}": f"hit@{k}" for k in (1, 5, 10)},
    "set_P": "precision(of=retrieved)@all",
    "set_recall": "recall@all",
    "set_F": "f(of=retrieved)@all",
    "map -l2": "map(rel=2)",
    "recip_rank -l2": "mrr(rel=2)",
    "recall_5 -l2": "recall(rel=2)@5",
    "recall_10 -l2": "recall(rel=2)@10",
    "success_5 -l2": "hit(rel=2)@5",
}
IR_MEASURES = {
    "AP": "map",
    "AP(rel=2)": "map(rel=2)",
    "RR": "mrr",
    "RR(rel=2)": "mrr(rel=2)",
    "RR@10": "mrr@10",
    "P@5": "precision@5",
    "P(rel=2)@10": "precision(rel=2)@10",
    "R@5": "recall@5",
    "R(rel=2)@10": "recall(rel=2)@10",
    "Success@5": "hit@5",
    "SetP": "precision(of=retrieved)@all",
    "SetR": "recall@all",
    "SetF": "f(of=retrieved)@all",
    "nDCG": "ndcg",
    "nDCG@5": "ndcg@5",
    "nDCG@10": "ndcg@10",
    "nDCG(gains={2:3,3:7})@10": "ndcg(gain=exponential)@10",
    "Judged@10": "judged@10",
}
# Each tool's measures in our names, and how exactly it prints a value.
TOOLS = {"trec_eval": (TREC_EVAL, 5e-5 + 1e-9), "pytrec_eval": (TREC_EVAL, 1e-6), "ir_measures": (IR_MEASURES, 1e-6)}
# For these two ir_measures puts tied documents in ascending order of their ids, for the rest in trec_eval's order.
UNLIKE = {("ties", "RR@10"), ("ties", "Judged@10")}


@cache
def scored(run: str, gold: str) -> Scores:
    names = {*TREC_EVAL.values(), *IR_MEASURES.values()}
    plan = Plan(metrics=[parse_metric(name) for name in sorted(names)])
    return score(read_gold(str(FOLDER / gold)), read_run(str(FOLDER / run)).rankings, plan)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("run", "gold"),
    [
        pytest.param("plain.trec", "qrels.trec", id="TREC files"),
        pytest.param("plain.jsonl", "gold.jsonl", id="JSONL"),
        pytest.param("ties.trec", "qrels.trec", id="tied scores, queries lacking"),
    ],
)
def test_every_value_of_every_query(tool: str, run: str, gold: str) -> None:
    ours, near = TOOLS[tool]
    scores = scored(run, gold)
    place = {query_id: index for index, query_id in enumerate(scores.query_ids)}
    _, *lines = (FOLDER / f"{tool}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["run"] == run.partition(".")[0]]
    assert {row["query_id"] for row in rows} >= place.keys() - scores.missing
    differing = [
        (row["query_id"], measure, found, value)
        for row in rows
        for measure, value in row["values"].items()
        if (row["run"], measure) not in UNLIKE
        and abs((found := scores.values[ours[measure]][place[row["query_id"]]] or 0) - value) > near
    ]
    assert differing == []


def test_ir_measures_puts_tied_documents_in_ascending_order_for_two_measures() -> None:
    """Lists in that order have its values, so that nothing else differs."""
    scores_of: dict[str, dict[str, float]] = {}
    for line in (FOLDER / "ties.trec").read_text(encoding="utf-8").splitlines():
        query_id, _, document, _, number, _ = line.split()
        scores_of.setdefault(query_id, {})[document] = float(number)
    ascending = [
        Ranking(query_id, sorted(numbers, key=lambda document: (-numbers[document], document)))
        for query_id, numbers in scores_of.items()
    ]
    names = {measure: IR_MEASURES[measure] for _, measure in sorted(UNLIKE)}
    plan = Plan(metrics=[parse_metric(name) for name in names.values()])
    ours = score(read_gold(str(FOLDER / "qrels.trec")), ascending, plan)
    theirs = scored("ties.trec", "qrels.trec")
    _, *lines = (FOLDER / "ir_measures.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {row["query_id"]: row["values"] for row in map(json.loads, lines) if row["run"] == "ties"}
    for measure, name in names.items():
        pairs = [(ours.values[name][at], rows[each][measure]) for at, each in enumerate(ours.query_ids) if each in rows]
        assert [mine or 0 for mine, _ in pairs] == pytest.approx([value for _, value in pairs], abs=1e-6)
        assert ours.values[name] != theirs.values[name]


@pytest.mark.full
def test_the_script_writes_what_is_committed() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_reference.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
