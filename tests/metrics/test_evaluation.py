"""`rankgate.score(...)`: from lists, mappings and files to the same values."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collecting.libraries import document, node
from tests.rows import each_row

import rankgate
from rankgate import Evaluation, RankgateError
from rankgate.cli import main
from rankgate.metrics import evaluation
from rankgate.metrics.matching import By, Matching
from rankgate.model.values import Gold, Sample

GOLD = [["doc1", "doc2"], ["doc3"]]
LISTS = [["doc2", "doc9", "doc1"], ["doc7", "doc3"]]


def test_the_example_of_the_docstring() -> None:
    assert doctest.testmod(evaluation).failed == 0


CHUNKS = ["Ask support.", "window is 30 days"]


@pytest.mark.parametrize(
    "retrieved",
    [
        pytest.param(CHUNKS, id="texts"),
        pytest.param(np.array(CHUNKS), id="an array"),
        pytest.param([*CHUNKS, CHUNKS[0], ""], id="the same once more, and an empty one"),
        pytest.param([(each, 9.0 - at) for at, each in enumerate(CHUNKS)], id="texts with scores"),
        pytest.param({each: 9 - at for at, each in enumerate(CHUNKS)}, id="scores by text"),
        pytest.param([{"id": str(at), "text": each} for at, each in enumerate(CHUNKS)], id="items"),
        pytest.param([document(str(at), text=each) for at, each in enumerate(CHUNKS)], id="LangChain documents"),
    ],
)
def test_passages_and_chunks(retrieved: Any) -> None:
    gold = [["The refund window is\n30 days from purchase.", "\u6771\u4eac\u306f"]]
    found = rankgate.score(gold=gold, retrieved=[retrieved], metrics="recall@5,mrr", match="text")
    assert found.values == {"recall@5": 0.5, "mrr": 0.5}


def test_an_id_is_no_text() -> None:
    """Of an item without one the id is not taken for it, nor where ids must agree."""
    with pytest.raises(RankgateError, match="`match: text` reads `text`, which the run states nowhere"):
        rankgate.score(gold=[["The refund window is 30 days"]], retrieved=[[{"id": "30"}]], match="text")
    gold = Gold(samples={"0": Sample(query_id="0", gains={"a": 1}, answers=("30",))}, name="", format="")
    with pytest.raises(RankgateError, match="reads `text`, which the run states nowhere"):
        rankgate.score(gold=gold, retrieved=[["30"]], metrics="containment@5")


@each_row(
    ("gold", "retrieved"),
    [
        pytest.param(GOLD, LISTS, id="plain lists"),
        pytest.param([tuple(ids) for ids in GOLD], tuple(map(tuple, LISTS)), id="tuples"),
        pytest.param([dict.fromkeys(ids, 1) for ids in GOLD], LISTS, id="gold with gains"),
        pytest.param({"0": GOLD[0], "1": GOLD[1]}, dict(enumerate(LISTS)), id="mappings, ids that are numbers"),
        pytest.param(GOLD, [{"doc2": 3.0, "doc1": 1, "doc9": 2}, {"doc3": 0.1, "doc7": 0.2}], id="scores in any order"),
        pytest.param(GOLD, np.array([["doc2", "doc9", "doc1"], ["doc7", "doc3", "doc8"]]), id="an array"),
        pytest.param([np.array(ids) for ids in GOLD], [np.array(ids) for ids in LISTS], id="lists of arrays"),
        pytest.param([set(ids) for ids in GOLD], (iter(ids) for ids in LISTS), id="gold as sets, a generator of them"),
        pytest.param(GOLD, [[(doc, 9 - at) for at, doc in enumerate(ids)] for ids in LISTS], id="pairs"),
        pytest.param(GOLD, [[{"chunk_id": doc} for doc in ids] for ids in LISTS], id="items"),
        pytest.param(GOLD, [[document(doc) for doc in ids] for ids in LISTS], id="LangChain documents"),
        pytest.param(
            GOLD, [[(document(doc), 1) for doc in ids] for ids in LISTS], id="LangChain documents with scores"
        ),
        pytest.param(GOLD, [[node(doc, score=0.5) for doc in ids] for ids in LISTS], id="LlamaIndex nodes"),
        pytest.param(GOLD, [{"topk": ids, "latency_ms": {"retrieve": 3}} for ids in LISTS], id="run lines"),
        pytest.param(GOLD, [["doc2", "doc2", "doc9", "doc1"], ["doc7", "doc3"]], id="a repeated id is removed"),
    ],
)
def test_every_way_to_give_the_same(gold: Any, retrieved: Any) -> None:
    found = rankgate.score(gold=gold, retrieved=retrieved, metrics="recall@1,2,mrr")
    assert found.values == {"recall@1": 0.25, "recall@2": 0.75, "mrr": 0.75}
    assert found.columns == {"recall@1": [0.5, 0.0], "recall@2": [0.5, 1.0], "mrr": [1.0, 0.5]}
    assert found.per_query == {
        "0": {"recall@1": 0.5, "recall@2": 0.5, "mrr": 1.0},
        "1": {"recall@1": 0.0, "recall@2": 1.0, "mrr": 0.5},
    }


def test_k_applies_to_names_without_a_cutoff() -> None:
    found = rankgate.score(GOLD, LISTS, k=[1, 5])
    assert list(found.values) == [
        *("hit@1", "hit@5", "recall@1", "recall@5", "precision@1", "precision@5", "mrr", "map", "ndcg@1", "ndcg@5")
    ]
    written = rankgate.score(GOLD, LISTS, metrics=["recall", "mrr@2", "recall_auc", "rerank_gain(hit@1)"][:3], k=3)
    assert list(written.values) == ["recall@3", "mrr@2", "recall_auc"]
    assert list(rankgate.score(GOLD, LISTS).values) == ["hit@k", "recall@k", "precision@k", "mrr", "map", "ndcg"]


def test_a_value_is_found_by_any_spelling_of_its_name() -> None:
    found = rankgate.score(GOLD, LISTS, metrics="recall@2")
    assert found["recall@2"] == found["R@2"] == found["retrieval_recall_at_2"] == 0.75
    with pytest.raises(KeyError):
        found["recall@3"]


def test_what_was_left_out_is_said() -> None:
    found = rankgate.score({"a": ["x"], "b": ["y"], "c": []}, {"a": ["x", "x"], "z": ["y"]}, metrics="hit@1,mrr")
    assert (found.missing, found.unjudged, found.duplicates) == (("b", "c"), ("z",), 1)
    assert dict(found.per_query["b"]) == {"hit@1": 0.0, "mrr": 0.0}
    assert dict(found.per_query["c"]) == {"hit@1": None, "mrr": None}
    estimate = found.estimates["hit@1"]
    assert estimate is not None
    assert (estimate.value, estimate.n, estimate.undefined) == (0.5, 2, 1)
    assert estimate.distribution is not None
    assert (estimate.distribution.zero, estimate.distribution.one) == (0.5, 0.5)


def test_undefined_for_every_query_is_none() -> None:
    found = rankgate.score(GOLD, LISTS, metrics="hit(rel=3)@1")
    assert found["hit(rel=3)@1"] is None
    assert found.estimates == {"hit(rel=3)@1": None}


def test_drift_from_a_baseline() -> None:
    found = rankgate.score(GOLD, LISTS, baseline=[["doc2", "doc1", "doc9"], ["doc8"]], metrics="overlap@1,rbo(p=0.5)")
    assert found.columns["overlap@1"] == [1.0, 0.0]
    assert found["overlap@1"] == 0.5


def test_an_empty_list_of_the_baseline_is_a_list() -> None:
    """What shared nothing with it has drifted all the way; it is not undefined."""
    found = rankgate.score(GOLD, [["doc2"], []], baseline=[[], []], metrics="overlap@5,rbo")
    assert found.columns == {"overlap@5": [0.0, 1.0], "rbo": [0.0, 1.0]}


@pytest.mark.parametrize(
    ("match", "recall"),
    [
        pytest.param("chunk", 0.0, id="chunk"),
        pytest.param("doc", 1.0, id="doc"),
        pytest.param(Matching(by=By.DOC, separator="/"), 0.0, id="doc, another separator"),
    ],
)
def test_matching(match: str | Matching, recall: float) -> None:
    assert rankgate.score([["doc1"]], [["doc1#c1"]], metrics="recall@1", match=match)["recall@1"] == recall


@pytest.mark.parametrize(
    "results",
    [
        pytest.param([document("d1#c1", "It is 30 days."), document("d1#c2", "")], id="LangChain"),
        pytest.param([node("c1", "It is 30 days.", source="d1"), node("c2", source="d1")], id="LlamaIndex"),
        pytest.param(
            [{"id": "c1", "text": "It is 30 days.", "doc_id": "d1"}, {"id": "c2", "doc_id": "d1"}], id="mappings"
        ),
        pytest.param({"topk": [{"id": "c1", "text": "It is 30 days.", "doc_id": "d1"}]}, id="a run line"),
    ],
)
def test_what_results_say_beyond_ids_is_read_where_a_metric_needs_it(results: Any) -> None:
    sample = Sample(query_id="q", gains={"d1": 1.0}, answers=("30 days",))
    gold = Gold(samples={"q": sample}, name="gold", format="python")
    found = rankgate.score(gold, {"q": results}, metrics="containment@5,distinct_docs@5,hit@1", match="doc")
    assert found.values == {"containment@5": 1.0, "distinct_docs@5": 1.0, "hit@1": 1.0}


@pytest.mark.full
@given(st.lists(st.integers(-9, 9) | st.sampled_from("abc"), max_size=8))
def test_a_quick_list_and_a_careful_one_agree(listed: list[int | str]) -> None:
    gold = [["a", "3"]]
    texts = rankgate.score(gold, [list(map(str, listed))])
    careful = rankgate.score(gold, [[{"chunk_id": each} for each in listed]])
    assert (texts.columns, texts.duplicates) == (careful.columns, careful.duplicates)


@each_row(
    ("entry", "message"),
    [
        pytest.param(None, "the result is None; give a list, an empty one where nothing was found", id="None"),
        pytest.param([object()], "item 1 is <object object", id="objects without an id"),
        pytest.param([0.5], "item 1 is 0.5 (type float)", id="numbers that are no ids"),
        pytest.param(pd.Series({"a": 2, "b": 1}), "(type Series); give a list of ids", id="Series of whole scores"),
        pytest.param({"ids": [["a"]], "distances": [[0.1]]}, "'ids' has the score [['a']]", id="an answer of Chroma"),
        pytest.param({"a": "0.9"}, "'a' has the score '0.9'; a score is a finite number", id="scores as text"),
        pytest.param({"a": True}, "'a' has the score True", id="truth values as scores"),
        pytest.param({0.5: 1}, "a key has 0.5 (type float) where an id", id="numbers as ids of scores"),
        pytest.param(
            {"topk": [{"id": "a", "text": 3}]}, "topk[0].text: expected text, found a whole number", id="text"
        ),
    ],
)
def test_what_is_no_ranking_is_an_error_and_never_scores_0(entry: Any, message: str) -> None:
    gold = Gold(samples={"q-1": Sample(query_id="q-1", gains={"a": 1.0}, answers=("x",))}, name="gold", format="python")
    for names in ("run", "baseline"):
        runs: dict[str, Any] = {"run": {"q-1": ["a"]}, names: {"q-1": entry}}
        with pytest.raises(RankgateError) as caught:
            rankgate.score(gold, metrics="overlap@1,containment@1" if names == "baseline" else "containment@1", **runs)
        assert str(caught.value).startswith(f"{names}: query 'q-1': ")
        if names == "run":
            assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given_run", "message"),
    [
        pytest.param({("a",)}, "run: expected a file name, a mapping by query, or a list, found {('a',)}", id="set"),
        pytest.param(b"ab", "run: expected a file name, a mapping by query, or a list, found b'ab'", id="bytes"),
        pytest.param(pd.Series([["a"]]), "(type Series)", id="Series"),
        pytest.param({1: ["a"], "1": ["b"]}, "run: query '1' stands twice, as a number and as text", id="1 and '1'"),
        pytest.param({1.0: ["a"]}, "run: the query: expected an id, found 1.0", id="a fraction as id"),
        pytest.param({None: ["a"]}, "run: the query: expected an id, found nothing", id="no id"),
        pytest.param(
            pd.DataFrame([["1", "a", 2.0, 1.0]], columns=["query_id", "doc_id", "score", "score"]),
            "run: two columns are called 'score'; keep one",
            id="a column twice",
        ),
    ],
)
def test_what_is_no_run(given_run: Any, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        rankgate.score({"1": ["a"]}, given_run)
    assert message in str(caught.value)


@each_row(
    ("arguments", "message"),
    [
        ({"gold": GOLD}, "give the run once, as run= or retrieved="),
        ({"gold": GOLD, "run": LISTS, "retrieved": LISTS}, "give the run once, as"),
        ({"gold": GOLD, "run": LISTS[:1]}, "gold has 2 questions, the run 1; give a list for"),
        ({"gold": GOLD, "run": LISTS, "metrics": "recal@5"}, "did you mean 'recall@5'?"),
        ({"gold": GOLD, "run": LISTS, "k": 0}, "k must be whole numbers from 1 up, not 0"),
        ({"gold": GOLD, "run": LISTS, "k": [1, True]}, "k must be whole numbers"),
        ({"gold": GOLD, "run": LISTS, "k": 5.0}, "k must be whole numbers from 1 up, not 5.0"),
        ({"gold": GOLD, "run": LISTS, "match": "id"}, "match is one of chunk, doc, text"),
        ({"gold": GOLD, "run": LISTS, "metrics": "overlap@5"}, "give it as baseline="),
        ({"gold": ["doc1"], "run": [["doc1"]]}, "query '0': expected a list of ids"),
        ({"gold": [["a"]], "run": ["a"]}, "run: query '0': the result is a bare string, 'a'; give a list"),
        ({"gold": [["a"]], "run": [{"a": float("nan")}]}, "'a' has the score nan; a score is a finite number"),
        ({"gold": [[]], "run": [["a"]]}, "gold: names no relevant document"),
        ({"gold": 5, "run": [["a"]]}, "gold: expected a file name, a mapping"),
        ({"gold": {"q": ["a"]}, "run": {"r": ["a"]}}, "has none of the 1 gold questions"),
        ({"gold": "none.yaml", "run": LISTS}, "none.yaml: no such file"),
        ({"gold": GOLD, "run": LISTS, "metrics": "latency"}, "latency reads `latency_ms`, which the run"),
    ],
)
def test_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        rankgate.score(**arguments)
    assert message in str(caught.value)


def test_files_score_as_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, run = tmp_path / "gold.yaml", tmp_path / "run.jsonl"
    gold.write_text("samples:\n  - {id: a, expected_output: [x, y]}\n  - {id: b, expected_output: {z: 2}}\n")
    run.write_text('{"query_id": "a", "topk": ["y", "w", "x"]}\n{"query_id": "b", "topk": ["w", "z"]}\n')
    found = rankgate.score(gold=gold, run=str(run), metrics="recall@2,ndcg@5,mrr")
    words = ["score", "--gold", str(gold), "--run", str(run), "--metrics", "recall@2,ndcg@5,mrr", "--format", "json"]
    assert main(words) == 0
    printed = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: entry["value"] for name, entry in printed.items()} == found.values


@pytest.mark.parametrize("suffix", ["jsonl", "trec"])
def test_files_score_as_values_in_memory_do(tmp_path: Path, suffix: str) -> None:
    count = 300
    lists = {f"q{n}": {f"d{(n * 7 + rank) % 50}": 10.0 - rank for rank in range(10)} for n in range(count)}
    lines = {
        "jsonl": (json.dumps({"query_id": query, "topk": list(found)}) for query, found in lists.items()),
        "trec": (f"{query} Q0 {doc} 0 {score} x" for query, found in lists.items() for doc, score in found.items()),
    }
    (tmp_path / "run").write_text("\n".join(lines[suffix]) + "\n")
    gold = {f"q{n}": [f"d{n % 50}", "d3"] for n in range(count)}
    expected = rankgate.score(gold, lists)
    found = rankgate.score(gold, tmp_path / "run")
    assert (found.columns, found.values) == (expected.columns, expected.values)


ids = st.lists(st.sampled_from("abcdef"), max_size=6)


@pytest.mark.full
@given(st.lists(st.tuples(ids.filter(bool), ids), min_size=1, max_size=5))
def test_lists_and_mappings_agree(queries: list[tuple[list[str], list[str]]]) -> None:
    gold, lists = [relevant for relevant, _ in queries], [ranked for _, ranked in queries]

    def scored(one: Any, other: Any) -> Evaluation:
        return rankgate.score(one, other, metrics="recall@1,3,ndcg@5,mrr")

    plain = scored(gold, lists)
    named = scored({f"q{i}": each for i, each in enumerate(gold)}, {f"q{i}": each for i, each in enumerate(lists)})
    assert plain.columns == named.columns
    assert plain.values == named.values
