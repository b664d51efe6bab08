"""Other tools' names give, query by query, what the tools themselves give."""

from __future__ import annotations

import random
from shutil import which

import ir_measures
import pytest
import pytrec_eval
from tests.metrics.test_names import OTHER_TOOLS
from tests.rows import each_row

import rankgate
from rankgate.metrics.names import parse_metric

CHOICES = random.Random(7)  # noqa: S311 -- a sample of data
DOCS = [f"d{n:02}" for n in range(30)]
GOLD = {f"q{n}": {doc: CHOICES.randint(0, 3) for doc in CHOICES.sample(DOCS, 8)} | {DOCS[n]: 2} for n in range(12)}
RUN = {
    query: {doc: float(len(DOCS) - rank) for rank, doc in enumerate(CHOICES.sample(DOCS, length))}
    for query, length in zip(GOLD, (1, 2, 3, 4, 5, 6, 9, 12, 20, 25, 30, 30), strict=True)
}
GDEVAL = {"nDCG(dcg='exp-log2')@10", "ERR@20"}  # by a Perl script that prints five decimals


def ours(name: str) -> dict[str, float]:
    found = rankgate.score(GOLD, RUN, metrics=[name])
    return {query: values[parse_metric(name).name] or 0.0 for query, values in found.per_query.items()}


@each_row("name", [name for name in OTHER_TOOLS["trec_eval"] if "." not in name])
def test_trec_eval(name: str) -> None:
    theirs = pytrec_eval.RelevanceEvaluator(GOLD, {name}).evaluate(RUN)
    assert ours(name) == pytest.approx({query: values[name] for query, values in theirs.items()}, abs=1e-6)


@pytest.mark.full
@each_row("name", [name for name in OTHER_TOOLS["ir_measures"] if name not in GDEVAL])
def test_ir_measures(name: str) -> None:
    measure = ir_measures.parse_measure(name)
    theirs = {each.query_id: each.value for each in ir_measures.iter_calc([measure], GOLD, RUN)}
    assert ours(name) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("name", OTHER_TOOLS["BEIR"])
def test_beir(name: str) -> None:
    """BEIR's functions in a few lines: the first four by pytrec_eval, the others by its own arithmetic."""
    by_trec_eval = {"NDCG@10": "ndcg_cut_10", "MAP@10": "map_cut_10", "Recall@10": "recall_10", "P@10": "P_10"}
    expected: dict[str, float] = {}
    for query, scores in RUN.items():
        first = sorted(scores, key=lambda doc: (-scores[doc], doc))[:10]
        relevant = {doc for doc, gain in GOLD[query].items() if gain > 0}
        expected[query] = {
            "MRR@10": next((1 / rank for rank, doc in enumerate(first, 1) if doc in relevant), 0.0),
            "R_cap@10": len(relevant & set(first)) / min(len(relevant), 10),
            "Hole@10": sum(doc not in GOLD[query] for doc in first) / len(first),
        }.get(name, 0.0)
    assert ours(name) == pytest.approx(ours(by_trec_eval[name]) if name in by_trec_eval else expected, abs=1e-9)


@pytest.mark.full
@each_row("name", [name for names in OTHER_TOOLS.values() for name in names if "latency" not in name])
def test_every_name_is_the_metric_that_the_table_says(name: str) -> None:
    [canonical] = {names[name] for names in OTHER_TOOLS.values() if name in names}
    assert ours(name) == ours(canonical)


@pytest.mark.skipif(which("perl") is None, reason="gdeval is a Perl script")
@pytest.mark.parametrize(
    ("theirs", "name"),
    [("ERR@3", "err@3"), ("ERR@20", "err@20"), ("nDCG(dcg='exp-log2')@10", "ndcg(gain=exponential)@10")],
)
def test_gdeval(theirs: str, name: str) -> None:
    """Its queries are numbers, and it prints five decimals."""
    gold, run = ({query[1:]: docs for query, docs in given.items()} for given in (GOLD, RUN))
    measure = ir_measures.parse_measure(theirs)
    found = {each.query_id: each.value for each in ir_measures.iter_calc([measure], gold, run)}
    assert {query[1:]: value for query, value in ours(name).items()} == pytest.approx(found, abs=5e-6 + 1e-9)
