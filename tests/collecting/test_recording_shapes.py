"""What a retriever may return: tables of good and bad results, and properties over all of them."""

import datetime as dt
import json
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.collecting.libraries import (
    HaystackDocument,
    Hit,
    LangChainDocument,
    LlamaImageNode,
    LlamaNodeWithScore,
    LlamaTextNode,
    QdrantPoint,
    document,
    node,
)
from tests.rows import each_row

from rankgate.collecting.lines import Key, run_line
from rankgate.collecting.recorder import RecordingError, record
from rankgate.errors import Problem
from rankgate.model.values import Details, Gold, RunField, Sample
from rankgate.readers.formats import read_run
from rankgate.readers.results import ResultError, to_items


class Name(StrEnum):
    A = "a"
    B = "b"


TEXTS = [{"rank": 1, "chunk_id": "a", "text": "A"}, {"rank": 2, "chunk_id": "b", "text": "B"}]


class Lazy:
    """A result object that fetches when it is looped over, as database clients have them."""

    def __iter__(self) -> Iterator[str]:
        return iter(["a", "b"])


def line_of(result: Any, **provenance: Any) -> Any:
    return json.loads(run_line(Key("q"), to_items(result), 12.3456, provenance).data)


A, B = {"rank": 1, "chunk_id": "a"}, {"rank": 2, "chunk_id": "b"}
SCORED = [{"rank": 1, "chunk_id": "a", "score": 2.5}, {"rank": 2, "chunk_id": "b", "score": 1}]


@each_row(
    ("result", "topk"),
    [
        pytest.param(["a", "b"], [A, B], id="ids"),
        pytest.param(("a", "b"), [A, B], id="a tuple of two ids is no pair"),
        pytest.param((name for name in "ab"), [A, B], id="a generator"),
        pytest.param(Lazy(), [A, B], id="a lazy iterable"),
        pytest.param({"a": 1, "b": 2}.keys(), [A, B], id="keys of a mapping"),
        pytest.param([7, "a"], [{"rank": 1, "chunk_id": 7}, {"rank": 2, "chunk_id": "a"}], id="integers"),
        pytest.param(np.array([7]), [{"rank": 1, "chunk_id": 7}], id="an array of integers"),
        pytest.param([], [], id="nothing found"),
        pytest.param(iter(()), [], id="nothing generated"),
        pytest.param(["a", "a"], [A, {"rank": 2, "chunk_id": "a"}], id="a repeated id stays"),
        pytest.param([("a", 2.5), ("b", 1)], SCORED, id="pairs"),
        pytest.param([["a", 2.5], ["b", 1]], SCORED, id="pairs as lists"),
        pytest.param({"a": 2.5, "b": 1}.items(), SCORED, id="items of a mapping"),
        pytest.param(zip("ab", np.array([2.5, 1], np.float32), strict=True), SCORED, id="scores of an array"),
        pytest.param([("a", Fraction(5, 2))], SCORED[:1], id="another kind of number"),
        pytest.param([{"chunk_id": "a"}, {"chunk_id": "b"}], [A, B], id="mappings"),
        pytest.param([{"id": 7, "score": None}], [{"rank": 1, "id": 7, "score": None}], id="a mapping with id"),
        pytest.param([{"rank": 1, "chunk_id": "a"}], [A], id="a rank that is the position"),
        pytest.param([MappingProxyType({"chunk_id": "a"})], [A], id="another kind of mapping"),
        pytest.param(
            [{"chunk_id": "a", "doc_id": "d", "doc_version": dt.date(2025, 4, 1), "text": "né", "n": np.int64(3)}],
            [{"rank": 1, "chunk_id": "a", "doc_id": "d", "doc_version": "2025-04-01", "text": "né", "n": 3}],
            id="the item's other keys are kept",
        ),
        pytest.param({"topk": ["a", "b"]}, [A, B], id="a whole line"),
        pytest.param([document("a", "A"), document("b", "B")], TEXTS, id="LangChain documents"),
        pytest.param(
            [(document("a", "A"), np.float32(2.5)), (document("b", "B"), 1)],
            [{**TEXTS[0], "score": 2.5}, {**TEXTS[1], "score": 1}],
            id="LangChain documents with scores, as similarity_search_with_score gives them",
        ),
        pytest.param(
            [document("a", "A", doc_id="d", start_index=4, source=object()), document("b", "B", doc_id=7)],
            [{**TEXTS[0], "doc_id": "d", "metadata": {"start_index": 4}}, {**TEXTS[1], "doc_id": 7}],
            id="LangChain documents whose metadata name what they are of",
        ),
        pytest.param(
            [document("a", "A", doc_id=None), document("b", "B", doc_id=["d"])], TEXTS, id="metadata that name nothing"
        ),
        pytest.param(
            [LlamaTextNode("A", "a", {"doc_id": "x"}, "d"), LlamaTextNode("B", "b", {"doc_id": True}, "d")],
            [{**TEXTS[0], "doc_id": "d"}, {**TEXTS[1], "doc_id": "d"}],
            id="an own field goes before metadata",
        ),
        pytest.param(
            [node("a", "A", 2.5, "file-1"), node("b", "B", 1)],
            [{**TEXTS[0], "score": 2.5, "doc_id": "file-1"}, {**TEXTS[1], "score": 1}],
            id="LlamaIndex nodes",
        ),
        pytest.param([LlamaTextNode("A", "a"), LlamaTextNode("B", "b")], TEXTS, id="LlamaIndex nodes without scores"),
        pytest.param([LlamaNodeWithScore(LlamaImageNode("a"))], [A], id="a LlamaIndex picture, whose text raises"),
        pytest.param([HaystackDocument("a", "A"), HaystackDocument("b", "B")], TEXTS, id="Haystack documents"),
        pytest.param([HaystackDocument("a"), HaystackDocument("b")], [A, B], id="Haystack documents without texts"),
        pytest.param(
            [QdrantPoint(7, 0, 2.5, {"id": 1})], [{"rank": 1, "chunk_id": 7, "score": 2.5}], id="Qdrant points"
        ),
        pytest.param([Hit(3, "a")], [{**A, "score": 3}], id="a named tuple is no pair"),
        pytest.param([Name.A, Name.B], [A, B], id="members of an enumeration of texts"),
        pytest.param(np.array(["a", "b"]), [A, B], id="an array of texts"),
        pytest.param(np.array(["a", "b"], object), [A, B], id="an array of objects"),
        pytest.param(pd.Index(["a", "b"]), [A, B], id="an index of pandas"),
        pytest.param(pd.DataFrame({"id": ["a"], "score": [2.5]}).itertuples(), SCORED[:1], id="rows of pandas"),
        pytest.param({"topk": (pair for pair in [("a", 2.5), ("b", 1)])}, SCORED, id="a whole line with a generator"),
    ],
)
def test_results_become_ranked_items(result: Any, topk: list[Mapping[str, Any]]) -> None:
    assert line_of(result) == {"query_id": "q", "topk": topk, "latency_ms": {"retrieve": 12.346}}


def test_a_whole_line_keeps_a_key_that_alone_makes_no_row() -> None:
    assert line_of({"topk": ["a"], "doc_id": "d"})["doc_id"] == "d"


@each_row(
    ("result", "message"),
    [
        pytest.param("a", "the result is a bare string, 'a'; give a list, also of one id", id="bare string"),
        pytest.param(None, "the result is None; give a list, an empty one where nothing was found", id="None"),
        pytest.param({"a"}, "the result is a set, which has no order", id="set"),
        pytest.param(b"a", "the result is a bare string, b'a'; give a list", id="bytes"),
        pytest.param(bytearray(b"a"), "the result is a bare string", id="a byte array, which gives numbers"),
        pytest.param(
            pd.Series([7, 9]), r"the result is 0 .* \(type Series\); give a list of ids", id="series of pandas"
        ),
        pytest.param(pd.DataFrame({"id": ["a"]}), r"\(type DataFrame\); give", id="table, which gives columns"),
        pytest.param(
            np.array("a"), r"the result is array\('a'.*\) \(type ndarray\); give a list of ids", id="array of no axis"
        ),
        pytest.param(
            np.array([["a", "b"]]), r"item 1 is array\(\['a', 'b'\].* \(type ndarray\)", id="array of two axes"
        ),
        pytest.param(np.array([0.9, 0.1]), r"item 1 is np.float64\(0.9\) \(type float64\)", id="array of scores"),
        pytest.param([b"a"], r"item 1 is b'a' \(type bytes\)", id="bytes as an id"),
        pytest.param([["a", "b"], ["c"]], "item 1 has the score 'b'", id="lists of several queries"),
        pytest.param([uuid.UUID(int=7)], r"item 1 is UUID\(.*\(type UUID\)", id="UUID"),
        pytest.param([HaystackDocument(uuid.UUID(int=7))], "item 1: chunk_id has UUID", id="UUID of an object"),  # type: ignore[arg-type]
        pytest.param(
            [LangChainDocument("A", metadata={"source": "a.md"})],
            "item 1 is a LangChainDocument whose id is None; set it, or give an id in its place",
            id="LangChain document without an id",
        ),
        pytest.param([document("a"), "b"], "a mixture: item 2 is an id, the first is a mapping", id="object and id"),
        pytest.param([QdrantPoint(7, 0, float("nan"))], "item 1 has the score nan", id="object with NaN"),
        pytest.param({"matches": [{"id": "a"}]}, r"without topk \(keys: matches\)", id="an answer of Pinecone"),
        pytest.param([{"_id": "a"}], r"item 1 has neither chunk_id nor id \(keys: _id\)", id="a hit of Elasticsearch"),
        pytest.param(3, r"the result is 3 \(type int\); give a list of ids", id="number"),
        pytest.param(
            {"topk": [], "doc_id": "a", "rank": 1}, "has topk, as a run line, and doc_id, as one row", id="line and row"
        ),
        pytest.param({"hits": []}, r"the result is a mapping without topk \(keys: hits\)", id="mapping without topk"),
        pytest.param({"topk": {"a": 1}}, r"the result is {'a': 1} \(type dict\)", id="mapping as topk"),
        pytest.param(
            {"topk": [], "raw_topk": "a"}, "the result is raw_topk: a bare string, 'a'", id="string as raw_topk"
        ),
        pytest.param({"topk": [], "raw_topk": [0.5]}, "raw_topk: item 1 is 0.5", id="number in raw_topk"),
        pytest.param({"query_id": "r", "topk": []}, "a run line of query 'r' for this question", id="another query"),
        pytest.param(["a", ("b", 1)], "a mixture: item 2 is a pair, the first is an id", id="mixture"),
        pytest.param([{"id": "a"}, "b"], "a mixture: item 2 is an id, the first is a mapping", id="other mixture"),
        pytest.param([None], r"item 1 is None;", id="no id"),
        pytest.param([True], r"item 1 is True \(type bool\)", id="truth value"),
        pytest.param(("a", 0.5), "item 2 is 0.5", id="one pair without a list"),
        pytest.param([("a", 1, 2)], r"item 1 is a tuple of 3; a pair is \(id, score\)", id="triple"),
        pytest.param([["a", "b", "c"]], "item 1 is a list of 3", id="list in a list"),
        pytest.param([(0.5, "a")], r"item 1 has 0.5 \(type float\) where an id", id="pair the wrong way round"),
        pytest.param([("a", "b")], "item 1 has the score 'b'; a score is a finite number", id="text as score"),
        pytest.param([("a", float("nan"))], "item 1 has the score nan", id="NaN"),
        pytest.param([("a", np.float32("inf"))], "item 1 has the score", id="infinite"),
        pytest.param([("a", 10**400)], "item 1 has the score", id="beyond a float"),
        pytest.param([("a", None)], "item 1 has the score nothing", id="no score"),
        pytest.param([{"doc_id": "a"}], r"item 1 has neither chunk_id nor id \(keys: doc_id\)", id="item without id"),
        pytest.param([{"id": None}], r"item 1 has None under id \(keys: id\)", id="item whose id is None"),
        pytest.param([{"chunk_id": 0.5}], "item 1: chunk_id has 0.5", id="number as chunk_id"),
        pytest.param([{"chunk_id": "a", "id": [1]}], "item 1: id has", id="list as id"),
        pytest.param(["a", ""], "item 2 has an empty id", id="empty id"),
        pytest.param(
            [{"id": "a", "start": 9, "end": 3}], "item 1 has start 9 and end 3; an end is exclusive", id="end"
        ),
        pytest.param(
            [{"id": "b", "start": 3, "end": 3}, {"id": "a", "start_char_idx": -1, "end_char_idx": np.int64(3)}],
            "item 2 has start_char_idx -1 and end_char_idx",
            id="start below 0",
        ),
        pytest.param([{"id": "a", "score": "high"}], "item 1 has the score 'high'", id="text as an item's score"),
        pytest.param([{"id": "a", "rank": 0}], "item 1 says rank 0; return the items in order", id="ranks from 0"),
        pytest.param(
            [{"id": "a", "x": {1, 2}}], r"cannot be written as JSON: it holds {1, 2} \(type set\)", id="set inside"
        ),
        pytest.param([{"id": "a", "x": float("nan")}], "cannot be written as JSON", id="NaN inside"),
        pytest.param(["\ud800"], "half of a surrogate pair", id="half of a surrogate pair"),
        pytest.param({"topk": [], "latency_ms": -3}, "its latency_ms.total is -3", id="latency as a number"),
        pytest.param({"topk": [], "latency_ms": {"a": -1}}, "its latency_ms.a is -1", id="negative latency"),
    ],
)
def test_other_results_are_refused_with_what_was_returned(result: Any, message: str) -> None:
    with pytest.raises(ResultError, match=message):
        line_of(result)


def test_endless_nesting_is_refused() -> None:
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(ResultError, match=r"cannot be written as JSON|nested too deeply"):
        line_of([{"id": "a", "x": nested}])


def test_a_coroutine_by_mistake_is_named_and_closed() -> None:
    async def search() -> list[str]:
        return []

    with pytest.raises(ResultError, match="a coroutine that nobody awaits; write the function with `async def`"):
        line_of(search())


def test_a_whole_line_is_merged_and_what_it_says_itself_wins() -> None:
    result = {
        "source": "kb",
        "topk": ["a"],
        "query_id": "q",
        "raw_topk": [("b", 1)],
        "latency_ms": {"retrieve": 1, "rerank": 2.5},
        "system": "own",
    }
    assert list(line_of(result, system="stamped", index="v7").items()) == [
        ("query_id", "q"),
        ("system", "own"),
        ("index", "v7"),
        ("source", "kb"),
        ("topk", [A]),
        ("raw_topk", [{"rank": 1, "chunk_id": "b", "score": 1}]),
        ("latency_ms", {"retrieve": 1, "rerank": 2.5}),
    ]


def test_a_line_is_compact_and_not_ascii() -> None:
    line = run_line(Key("q"), [("né", 1.5)], 2, {"system": "hybrid"})
    assert line.data.decode() == (
        '{"query_id":"q","system":"hybrid","topk":[{"rank":1,"chunk_id":"né","score":1.5}],"latency_ms":{"retrieve":2}}\n'
    )


IDS = st.text(min_size=1) | st.integers(-(2**63), 2**63 - 1)
SCORES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9)
PLAIN = st.recursive(
    st.none() | st.booleans() | SCORES | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)
ITEMS = st.tuples(st.dictionaries(st.sampled_from(["doc_id", "text", "metadata"]), PLAIN), IDS).map(
    lambda parts: {**parts[0], "chunk_id": parts[1]}
)


@pytest.mark.full
@given(
    st.one_of(
        st.lists(IDS).map(lambda ids: (ids, ids)),
        st.lists(st.tuples(IDS, SCORES)).map(lambda pairs: (pairs, [pair[0] for pair in pairs])),
        st.lists(ITEMS).map(lambda items: (items, [item["chunk_id"] for item in items])),
    ),
    st.sampled_from([list, tuple, iter, lambda items: {"topk": items}]),
)
def test_every_accepted_result_is_read_back_as_it_was_ranked(result: tuple[list[Any], list[Any]], shape: Any) -> None:
    returned, ids = result
    line = run_line(Key("q"), to_items(shape(returned)), 12.5, {"system": "hybrid"})
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "run.jsonl")
        path.write_bytes(line.data)
        [ranking] = read_run(str(path), needs=frozenset({RunField.LATENCY})).rankings
    assert ranking.ids == list(dict.fromkeys(map(str, ids)))
    assert ranking.details == Details(latency_ms={"retrieve": 12.5})
    assert line.ms == 12.5


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.just(object()),
    lambda x: (
        st.lists(x, max_size=3)
        | st.tuples(x, x)
        | st.dictionaries(st.sampled_from(["topk", "chunk_id", "id", "rank", "score", "latency_ms", "raw_topk"]), x)
    ),
    max_leaves=8,
)


@pytest.mark.full
@given(ODD)
@example({"topk": [], "chunk_id": None, "rank": None})
@settings(
    max_examples=60,
)  # each writes its files through to the disk
def test_any_other_result_is_read_back_or_fails_with_a_message(result: Any) -> None:
    sample = Sample(query_id="q", gains={"a": 1.0}, question="What?")
    gold = Gold(samples={"q": sample}, name="gold.jsonl", format="jsonl", fingerprint="f")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "run.jsonl")
        failure: Problem | None = None
        try:
            record(gold, lambda _: result, path)
        except RecordingError as error:
            [failure] = error.recorded.failures
        if failure is not None:
            assert (failure.key, bool(failure.message), path.exists()) == ("q", True, False)
        else:
            assert [ranking.query_id for ranking in read_run(str(path)).rankings] == ["q"]
