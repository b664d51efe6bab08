"""Spans in gold sets, and offsets in runs of every kind: what is read, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rankgate.baselines.packing import pack
from rankgate.collecting.gold_documents import written
from rankgate.errors import RankgateError
from rankgate.model.values import RunField, Sample, Span
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import fingerprint_of, read_gold, read_run
from rankgate.readers.results import written_line
from rankgate.readers.samples import judgments, spans_of

SPAN: dict[str, Any] = {"doc": "handbook", "start": 1042, "end": 1311, "text": "Refunds are paid…"}
OFFSETS = frozenset({RunField.OFFSETS})


def gold(folder: Path, expected: Any, name: str = "gold.json") -> Path:
    sample = {"id": "q1", "expected_output": expected}
    path = folder / name
    path.write_text(json.dumps([sample] if name.endswith("json") else sample, ensure_ascii=False), encoding="utf-8")
    return path


def read(folder: Path, expected: Any, name: str = "gold.json") -> Sample:
    return read_gold(str(gold(folder, expected, name))).samples["q1"]


@pytest.mark.parametrize("name", ["gold.json", "gold.jsonl", "gold.yaml"])
@pytest.mark.parametrize("nested", ["", "nested"])
def test_spans_of_a_sample(name: str, nested: str, tmp_path: Path) -> None:
    spans = [SPAN, {"doc": 7, "start": 0, "end": 1, "gain": 0}]
    if name == "gold.yaml":
        (tmp_path / name).write_text(
            f"- id: q1\n  expected_output: {json.dumps({'ids': spans} if nested else spans)}\n"
        )
        found = read_gold(str(tmp_path / name)).samples["q1"]
    else:
        found = read(tmp_path, {"ids": spans, "answer": "x"} if nested else spans, name)
    assert found.gains == {"handbook:1042-1311": 1, "7:0-1": 0}
    assert found.spans == {"handbook:1042-1311": Span(**SPAN), "7:0-1": Span("7", 0, 1)}
    again = written(found)["expected_output"]
    assert (judgments(again), spans_of(again)) == (found.gains, found.spans)


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        ({"end": 1042}, ".end", "starts at 1042 and ends before 1042"),
        ({"start": -1}, "", "start: expected a whole number of at least 0"),
        ({"end": "1311"}, "", "end: expected a whole number, found text"),
        ({"start": 1.5}, "", "start: expected a whole number, found"),
        ({"doc": None}, "", "doc: expected"),
        ({"doc": ""}, "", "doc: expected"),
        ({"doc": ...}, "", "missing required field doc"),
        ({"text": ""}, "", "text: expected"),
        ({"stop": 3}, "", "unknown field stop"),
        ({"gain": "high"}, "", "the gain of 'handbook:1042-1311' is 'high', not a number"),
    ],
)
def test_what_is_no_span(change: dict[str, Any], key: str, message: str, tmp_path: Path) -> None:
    wrong = {name: value for name, value in {**SPAN, **change}.items() if value is not ...}
    with pytest.raises(RankgateError) as caught:
        read(tmp_path, [{**SPAN, "start": 0}, wrong], "gold.jsonl")
    (problem,) = caught.value.problems
    assert (problem.line, message in problem.message) == (1, True), problem
    assert (problem.key or "").startswith("expected_output")
    assert (problem.key or "").endswith(key)


def test_the_same_span_twice(tmp_path: Path) -> None:
    with pytest.raises(RankgateError, match=r"expected_output\[1\]: sample 'q1': the span .* stands twice; keep one"):
        read(tmp_path, [SPAN, {**SPAN, "gain": 2}])


def test_the_fingerprint_tells_spans_apart_and_no_order(tmp_path: Path) -> None:
    other = {"doc": "faq", "start": 0, "end": 5}
    lists = ([SPAN, other], [other, SPAN], [{**SPAN, "end": 1312}, other], [{**SPAN, "text": "Else"}, other])
    marks = [fingerprint_of(read_gold(str(gold(tmp_path, each)))) for each in lists]
    assert marks[0] == marks[1]
    assert len({*marks}) == 3


def items_of(path: Path, **options: Any) -> list[tuple[str | None, int | None, int | None, str | None]]:
    (ranking,) = read_run(str(path), needs=OFFSETS, **options).rankings
    assert ranking.details
    assert ranking.details.items
    return [(each.doc_id, each.start, each.end, each.text) for each in ranking.details.items]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param({"doc_id": "d", "start": 3, "end": 9, "text": "abc"}, ("d", 3, 9, "abc"), id="offsets"),
        pytest.param({"start": 3, "text": "日本語"}, (None, 3, 6, "日本語"), id="code points of the text"),
        pytest.param({"start_char_idx": 0, "end_char_idx": 4}, (None, 0, 4, None), id="LlamaIndex"),
        pytest.param(
            {"metadata": {"start_index": 2, "source": "x"}, "text": "abc"}, (None, 2, 5, "abc"), id="LangChain"
        ),
        pytest.param({"metadata": {"start_index": -1}, "text": "abc"}, (None, None, None, "abc"), id="not found there"),
        pytest.param({"metadata": "none of ours", "text": "abc"}, (None, None, None, "abc"), id="text alone"),
        pytest.param({"start": None, "end": None}, (None, None, None, None), id="null"),
        pytest.param({}, (None, None, None, None), id="nothing"),
    ],
)
def test_offsets_of_an_item(item: dict[str, Any], expected: tuple[Any, ...], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "c", **item}]}), encoding="utf-8")
    assert items_of(path) == [expected]
    stored = pack(read_run(str(path), needs=OFFSETS).rankings, source="run")
    (tmp_path / "stored.jsonl.gz").write_bytes(stored.data)
    assert items_of(tmp_path / "stored.jsonl.gz") == [expected]


@pytest.mark.parametrize(
    "item",
    [
        *({"start": 9, "end": 3}, {"start": -2, "end": 3}, {"start": 3}, {"end": 3}, {"start": 3, "end": None}),
        *({"metadata": {"start_index": "3"}, "text": "x"}, {"metadata": {"start_index": True}, "text": "x"}),
        {"start": "3", "end": 4},
    ],
)
def test_offsets_that_are_none(item: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "c", **item}]}))
    with pytest.raises(RankgateError, match=r"run.jsonl:1: .*start"):
        items_of(path)
    assert next(iter(read_run(str(path)).rankings)).ids == ["c"]  # nobody reads them


def test_offsets_of_tables_and_maps(tmp_path: Path) -> None:
    (tmp_path / "bare.jsonl").write_text('{"query_id": "q1", "retrieved": ["a", {"id": "b", "start": 1, "end": 2}]}')
    assert items_of(tmp_path / "bare.jsonl") == [(None, None, None, None), (None, 1, 2, None)]
    (tmp_path / "run.csv").write_text("qid,docid,score,start,end\nq1,d#1,2,3,9.0\nq1,d#2,1,,\n")
    assert items_of(tmp_path / "run.csv") == [(None, 3, 9, None), (None, None, None, None)]
    hits = [{"_id": "c", "meta": {"start_index": 4, "file": "d"}, "body": "abc"}]
    (tmp_path / "run.json").write_text(json.dumps([{"q": "q1", "hits": hits}]))
    fields = FieldMap(
        query_id="q", items="hits", chunk_id="_id", text="body", start="meta.start_index", doc_id="meta.file"
    )
    assert items_of(tmp_path / "run.json", map=fields) == [("d", 4, 7, "abc")]


def test_offsets_of_what_a_retriever_returns(tmp_path: Path) -> None:
    document = SimpleNamespace(id="a", page_content="abc", metadata={"start_index": 4, "doc_id": "f.md"})
    node = SimpleNamespace(node_id="b", start_char_idx=7, end_char_idx=9, ref_doc_id="d", metadata={"page": 1})
    for name, result in (("langchain", document), ("llama", SimpleNamespace(node=node, node_id="b", score=0.5))):
        (tmp_path / name).write_text(json.dumps(written_line("q1", [result])))
    assert items_of(tmp_path / "langchain") == [("f.md", 4, 7, "abc")]
    assert items_of(tmp_path / "llama") == [("d", 7, 9, None)]
