"""Runs in every accepted shape: the same ranking, whatever the format."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.errors import RankgateError
from rankgate.model.values import Details, Ranking, RunField
from rankgate.readers.base import Run, line_json
from rankgate.readers.formats import read_run
from rankgate.readers.json_text import JsonError, strict_json
from rankgate.readers.run_lines import LARGE, read_jsonl_quickly
from rankgate.readers.untrusted import read_untrusted_run

TIMES = frozenset({RunField.LATENCY})


def opened(where: Path, content: str | bytes, form: str | None = None, needs: frozenset[RunField] = frozenset()) -> Run:
    path = where / "run"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_run(path.as_posix(), form, needs=needs)


def ids(run: Run) -> dict[str, list[str]]:
    return {ranking.query_id: ranking.ids for ranking in run.rankings}


def lines(*entries: object) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


CONTRACT = {
    "query_id": "q1",
    "system": "hybrid_v3 + cross-enc-base",
    "k_raw": 50,
    "topk": [
        {"rank": 1, "chunk_id": "a", "score": 18.4, "doc_id": "doc", "doc_version": "2025-04-01", "text": "…"},
        {"rank": 2, "chunk_id": "b", "score": -3},
        {"rank": 3, "chunk_id": "c", "score": None},
    ],
    "raw_topk": [{"rank": 1, "chunk_id": "z"}],
    "latency_ms": {"retrieve": 35, "rerank": 22},
    "index_version": "v2025_06_01",
    "chunker": {"algo": "hdgsent", "target_tokens": 600},
}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(CONTRACT, id="the contract"),
        pytest.param(
            {"query_id": "q1", "topk": [{"chunk_id": "a"}, {"chunk_id": "b"}, {"chunk_id": "c"}]}, id="topk, no ranks"
        ),
        pytest.param({"query_id": "q1", "topk": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}, id="topk, items by id"),
        pytest.param({"query_id": "q1", "topk": ["a", "b", "c"]}, id="topk, bare ids"),
        pytest.param({"query_id": "q1", "retrieved": ["a", "b", "c"]}, id="retrieved, bare ids"),
        pytest.param(
            {"query_id": "q1", "retrieved": [{"id": "a", "text": "…"}, {"id": "b"}, {"id": "c"}]}, id="retrieved, items"
        ),
        pytest.param(
            {"id": "q1", "retrieved": [{"id": "a"}, {"chunk_id": "b"}, "c"]}, id="retrieved, items of all kinds"
        ),
        pytest.param({"id": "q1", "topk": ["a", "b", "c"]}, id="the query by id"),
        pytest.param({"id": "other", "query_id": "q1", "topk": ["a", "b", "c"]}, id="query_id goes before id"),
        pytest.param({"id": "q1", "actual_output": ["a", "b", "c"]}, id="actual_output"),
        pytest.param({"id": "q1", "actualOutput": ["a", "b", "c"]}, id="actualOutput"),
        pytest.param({"id": "q1", "actual_output": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}, id="actual_output, items"),
        pytest.param({"id": "q1", "actual_output": {"retrieved": ["a", "b", "c"]}}, id="nested in actual_output"),
        pytest.param(
            {"id": "q1", "actualOutput": {"retrieved": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "answer": "…"}},
            id="nested in actualOutput",
        ),
        pytest.param(
            {"id": "q1", "topk": None, "retrieved": ["a", "b", "c"]}, id="a list without a value does not compete"
        ),
        pytest.param(
            {"query_id": "q1", "topk": [{"chunk_id": "a", "id": "x"}, {"chunk_id": None, "id": "b"}, {"id": "c"}]},
            id="chunk_id goes before id",
        ),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "json list", "json object"])
def test_line(tmp_path: Path, form: str, line: dict[str, Any]) -> None:
    written = {
        "jsonl": lines(line, {"query_id": "q2", "topk": []}),
        "json list": json.dumps([line, {"query_id": "q2", "topk": []}]),
        "json object": json.dumps(line, indent=1),
    }
    expected = {"q1": ["a", "b", "c"]} | ({} if form == "json object" else {"q2": []})
    run = opened(tmp_path, written[form])
    assert (run.format, ids(run)) == (form.split(maxsplit=1)[0], expected)
    assert run.depth is None


@pytest.mark.parametrize(
    ("content", "form"),
    [
        pytest.param('{"q1": ["a", "b", "c"], "q2": []}', "json", id="{query: [ids]} on one line"),
        pytest.param(
            '{\n  "q1": [\n    "a",\n    "b", "c"\n  ],\n  "q2": []\n}\n', "json", id="{query: [ids]} indented"
        ),
        pytest.param('{"q1": [{"id": "a"}, {"chunk_id": "b"}, "c"], "q2": []}', "json", id="{query: [items]}"),
        pytest.param(
            '{"q1": [{"id": "b", "rank": 2}, {"id": "a", "rank": 1}, {"id": "c", "rank": 3}], "q2": []}',
            "json",
            id="{query: [ranked items]}",
        ),
        pytest.param('[{"id": "q1", "topk": ["a", "b", "c"]}, {"id": "q2", "topk": []}]', "json", id="a list of lines"),
        pytest.param(
            lines({"query_id": "q1", "topk": ["a", "b", "c"]}).replace("\n", "\r\n\r\n")
            + lines({"id": "q2", "retrieved": []}),
            "jsonl",
            id="JSONL with CRLF, blank lines and lines of two shapes",
        ),
    ],
)
def test_document(tmp_path: Path, content: str, form: str) -> None:
    run = opened(tmp_path, content)
    assert (run.format, ids(run)) == (form, {"q1": ["a", "b", "c"], "q2": []})


TREC = "q1 Q0 a 1 3.5 tag\nq1 Q0 b 2 2.5 tag\nq2 Q0 c 1 1 tag\nq1 Q0 d 3 -1e-3 tag\n"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(TREC, id="as written by trec_eval's users"),
        pytest.param(TREC.replace(" ", "\t").replace("\n", "\r\n"), id="tabs and CRLF"),
        pytest.param(TREC.replace(" ", "   ").replace("\n", "\n\n"), id="more space, blank lines"),
        pytest.param(TREC.replace("Q0", "0"), id="0 in the second column"),
    ],
)
def test_trec_run(tmp_path: Path, content: str) -> None:
    run = opened(tmp_path, content)
    assert run.format == "trec"
    assert list(run.rankings) == [Ranking("q1", ["a", "b", "d"]), Ranking("q2", ["c"])]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([("a", 1, "1"), ("b", 2, "2")], "b a", id="the score decides"),
        pytest.param([("a", 0, "1"), ("b", 0, "2"), ("c", 0, "3")], "c b a", id="rank 0 on every row"),
        pytest.param([("a", "-", "1"), ("b", "x", "2")], "b a", id="the rank is not even read"),
        pytest.param([("a", 1, "1"), ("c", 2, "1"), ("b", 3, "1")], "c b a", id="ties by id, descending"),
        pytest.param([("9", 1, "1"), ("10", 2, "1"), ("1", 3, "1")], "9 10 1", id="ids compare as text"),
        pytest.param([("a", 1, "1"), ("B", 2, "1"), ("é", 3, "1")], "é a B", id="by code point"),
        pytest.param([("a", 1, "1.00000001"), ("b", 2, "1.0")], "a b", id="no tie in float64, though one in float32"),
        pytest.param([("a", 1, "16777217"), ("b", 2, "16777216")], "a b", id="nor for large scores"),
        pytest.param([("a", 1, "1.00000000000000001"), ("b", 2, "1.0")], "b a", id="a tie in float64"),
        pytest.param([("a", 1, "0"), ("b", 2, "-0.0")], "b a", id="zero ties with minus zero"),
        pytest.param([("a", 1, "-2"), ("b", 2, "-1")], "b a", id="negative scores"),
        pytest.param([("a", 1, "1e-300"), ("b", 2, "1E+2"), ("c", 3, "+5")], "b c a", id="exponents and signs"),
        pytest.param([("a", 1, "3"), ("b", 2, "2"), ("a", 3, "1")], "a b", id="the best of two rows for one id"),
        pytest.param([("a", 1, "1"), ("b", 2, "2"), ("a", 3, "3")], "a b", id="the best may stand later"),
    ],
)
def test_order_in_trec_runs(tmp_path: Path, rows: list[tuple[str, object, str]], expected: str) -> None:
    content = "".join(f"q Q0 {doc} {rank} {score} tag\n" for doc, rank, score in rows)
    assert ids(opened(tmp_path, content)) == {"q": expected.split()}


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        pytest.param({"c": 3, "a": 1, "b": 2}, "a b c", id="the ranks decide, not the places"),
        pytest.param({"a": 1, "b": 2}, "a b", id="already in order"),
        pytest.param({"a": None, "b": None}, "a b", id="no ranks: as listed"),
        pytest.param(
            {f"d{n}": 1501 - n for n in range(1, 1501)}, " ".join(f"d{n}" for n in range(1500, 0, -1)), id="1500"
        ),
        pytest.param(
            {f"d{n}": n for n in range(1, 1501)}, " ".join(f"d{n}" for n in range(1, 1501)), id="1500 in order"
        ),
    ],
)
@pytest.mark.parametrize("shape", ["topk", "retrieved", "actual_output"])
def test_rank_order(tmp_path: Path, shape: str, ranked: dict[str, int | None], expected: str) -> None:
    items = [{"id": doc, "rank": rank, "score": 0.5} for doc, rank in ranked.items()]
    assert ids(opened(tmp_path, lines({"query_id": "q", shape: items}))) == {"q": expected.split()}


def test_scores_do_not_order_a_json_run(tmp_path: Path) -> None:
    items = [{"id": "a", "score": 1}, {"id": "b", "score": 2}]
    assert ids(opened(tmp_path, lines({"query_id": "q", "topk": items}))) == {"q": ["a", "b"]}


@pytest.mark.parametrize(
    ("items", "expected", "removed"),
    [
        pytest.param(["a", "b", "a", "c", "a"], ["a", "b", "c"], 2, id="the first counts, later items move up"),
        pytest.param([7, "7", 8], ["7", "8"], 1, id="an integer and its decimal string"),
        pytest.param(
            [{"id": "b", "rank": 3}, {"id": "b", "rank": 1}, {"id": "a", "rank": 2}],
            ["b", "a"],
            1,
            id="by rank, then the first",
        ),
        pytest.param(["a", "A"], ["a", "A"], 0, id="case makes another id"),
        pytest.param([], [], 0, id="an empty list"),
    ],
)
def test_repeated_ids(tmp_path: Path, items: list[Any], expected: list[str], removed: int) -> None:
    for content in (lines({"query_id": "q", "topk": items}), json.dumps({"q": items})):
        assert list(opened(tmp_path, content).rankings) == [Ranking("q", expected, removed)]


def test_repeated_ids_in_a_trec_run_are_counted(tmp_path: Path) -> None:
    run = opened(tmp_path, "q Q0 a 1 3 t\nq Q0 a 2 2 t\nq Q0 b 3 1 t\n")
    assert list(run.rankings) == [Ranking("q", ["a", "b"], 1)]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        pytest.param(7, "7", id="small"),
        pytest.param(0, "0", id="zero"),
        pytest.param(-3, "-3", id="negative"),
        pytest.param(2**63, "9223372036854775808", id="2^63"),
        pytest.param(2**64, "18446744073709551616", id="2^64"),
        pytest.param(10**30, "1" + "0" * 30, id="31 digits"),
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(lambda n: lines({"query_id": n, "topk": [{"chunk_id": n}]}), id="contract"),
        pytest.param(lambda n: lines({"query_id": n, "retrieved": [n]}), id="plain"),
        pytest.param(lambda n: lines({"id": n, "actualOutput": {"retrieved": [{"id": n}]}}), id="loose"),
        pytest.param(lambda n: json.dumps({str(n): [n]}), id="document"),
        pytest.param(lambda n: json.dumps([{"id": n, "topk": [n]}]), id="list"),
    ],
)
def test_integer_ids_are_their_decimal_strings(tmp_path: Path, shape: Any, number: int, text: str) -> None:
    assert ids(opened(tmp_path, shape(number))) == {text: [text]}


@pytest.mark.parametrize(
    "text", ["Alû", "文書 1", "💡", "a,b", "it's", 'say "so"', "a\\b", "d\u00a01", "tab\there", "007"]
)
def test_ids_are_any_text(tmp_path: Path, text: str) -> None:
    for ensure_ascii in (True, False):
        line = json.dumps({"query_id": text, "topk": [{"chunk_id": text}]}, ensure_ascii=ensure_ascii)
        assert ids(opened(tmp_path, line)) == {text: [text]}


@pytest.mark.parametrize("text", ["Alû", "文書", "💡", "a,b", "it's", "#1", "d\u00a01", "d\u30002", "d\u00851"])
def test_ids_of_a_trec_run_are_anything_but_ascii_space(tmp_path: Path, text: str) -> None:
    assert ids(opened(tmp_path, f"q{text} Q0 {text} 1 0.5 tag\n")) == {f"q{text}": [text]}


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param({"query_id": "q", "topk": [{"chunk_id": "a"}]}, id="contract"),
        pytest.param({"query_id": "q", "retrieved": ["a"]}, id="plain"),
        pytest.param({"id": "q", "actual_output": ["a"]}, id="loose"),
    ],
)
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param({"retrieve": 35, "rerank": 22.5}, {"retrieve": 35, "rerank": 22.5}, id="stages"),
        pytest.param({"retrieve": 0}, {"retrieve": 0}, id="0 ms"),
        pytest.param({}, {}, id="no stage"),
        pytest.param(None, None, id="no value"),
    ],
)
def test_latency_where_a_metric_needs_it(tmp_path: Path, shape: dict[str, Any], written: Any, expected: Any) -> None:
    run = opened(tmp_path, lines(shape | {"latency_ms": written}), needs=TIMES)
    assert list(run.rankings) == [Ranking("q", ["a"], 0, Details(latency_ms=expected) if expected else None)]


def test_the_contract_line_is_not_searched_for_what_nobody_needs(tmp_path: Path) -> None:
    line = {"query_id": "q", "topk": [{"chunk_id": "a"}], "latency_ms": {"retrieve": "?"}, "raw_topk": 5}
    assert list(opened(tmp_path, lines(line)).rankings) == [Ranking("q", ["a"])]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            lines(CONTRACT),
            {
                "system": "hybrid_v3 + cross-enc-base",
                "k_raw": 50,
                "index_version": "v2025_06_01",
                "chunker": {"algo": "hdgsent", "target_tokens": 600},
            },
            id="of the contract: what belongs to the system",
        ),
        pytest.param(
            lines({"query_id": "q1", "topk": [], "system": "one"}, {"query_id": "q2", "topk": [], "system": "two"}),
            {"system": "varies by line: one, two"},
            id="a run that was put together from two says so",
        ),
        pytest.param(
            lines(*({"query_id": f"q{n}", "topk": [], "code_version": f"c{n}", "asked": f"t{n}"} for n in range(4))),
            {"code_version": "varies by line: c0, c1, c2, …"},
            id="of many values those of a component are told, others belong to the queries",
        ),
        pytest.param(
            lines({"query_id": "q1", "topk": [], "system": "s"}, {"query_id": "q2", "topk": [], "k1": 0.9}),
            {"system": "s"},
            id="of the first line; others need not repeat it",
        ),
        pytest.param(
            lines(
                {"query_id": "q1", "topk": [], "chunker": {"size": 600, "overlap": 80}},
                {"query_id": "q2", "topk": [], "chunker": {"overlap": 80, "size": 600.0}},
            ),
            {"chunker": {"size": 600, "overlap": 80}},
            id="the same object with its keys in another order",
        ),
        pytest.param(
            "\n\n" + lines({"query_id": "q", "topk": [], "system": "s"}), {"system": "s"}, id="after blank lines"
        ),
        pytest.param(lines({"query_id": "q", "topk": []}), {}, id="nothing said"),
        pytest.param(
            lines(
                {"id": "q", "actual_output": [], "input": "?", "scores": {"f": 1}, "source": "kb", "entities": ["e"]}
            ),
            {},
            id="nothing of the query's own",
        ),
        pytest.param(
            lines({"query_id": "q", "topk": [{"chunk_id": "a", "text": "x" * 300_000}], "system": "s"}),
            {"system": "s"},
            id="after texts of any length",
        ),
        pytest.param(
            lines(
                *(
                    {"query_id": f"q{n}", "topk": [{"chunk_id": "a", "text": "x" * 300_000}], "v": n > 8}
                    for n in range(10)
                )
            ),
            {"v": "varies by line: false, true"},
            id="a mixture, however long its lines are",
        ),
        pytest.param(TREC, {"system": "tag"}, id="of a TREC run: its tag"),
        pytest.param('{"q1": ["a"]}', {}, id="of {query: [ids]}: nothing"),
    ],
)
def test_provenance(tmp_path: Path, content: str, expected: dict[str, Any]) -> None:
    run = opened(tmp_path, content)
    assert run.provenance == expected
    list(run.rankings)


def test_rankings_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    run = opened(tmp_path, lines({"query_id": "q1", "topk": ["a"]}, {"query_id": "q2", "topk": ["b"]}) + "broken\n")
    assert next(run.rankings) == Ranking("q1", ["a"])
    assert next(run.rankings) == Ranking("q2", ["b"])


def test_a_run_that_is_opened_and_not_read_leaves_nothing_open(tmp_path: Path) -> None:
    opened(tmp_path, lines({"query_id": "q1", "topk": ["a"]}))  # a ResourceWarning would fail this test


def test_a_run_without_queries_is_empty(tmp_path: Path) -> None:
    assert [list(opened(tmp_path, content).rankings) for content in ("{}", "[]")] == [[], []]


EVERYTHING = frozenset(
    {
        RunField.LATENCY,
        RunField.TEXTS,
        RunField.DOCS,
        RunField.RAW,
        RunField.REWRITES,
        RunField.SCORES,
        RunField.ITEM_SCORES,
    }
)
TWICE = [
    pytest.param('Q, "query_id": "q2", "topk": ["a"]', "query_id", id="the query's id"),
    pytest.param('"id": "q", "topk": ["a"], "id": "q2"', "id", id="the query's id, written id"),
    pytest.param('Q, "topk": [{"rank": 1, "chunk_id": "a", "chunk_id": "b"}]', "chunk_id", id="an id"),
    pytest.param('Q, "topk": [{"rank": 1, "chunk_id": "a", "chunk_id" :"b"}]', "chunk_id", id="a blank"),
    pytest.param('Q, "topk": [{"rank": 1, "chunk_id": "a", "chunk\\u005fid": "b"}]', "chunk_id", id="escaped"),
    pytest.param('Q, "topk": [{"rank": 2, "rank": 1, "chunk_id": "a"}]', "rank", id="a rank"),
    pytest.param('Q, "topk": [{"id": "a", "id": "b"}]', "id", id="an id, written id"),
    pytest.param('Q, "topk": [{"rank": 1, "chunk_id": "a"}], "topk": []', "topk", id="topk"),
    pytest.param('Q, "t\\u006fpk": [{"rank": 1, "chunk_id": "a"}], "topk": []', "topk", id="topk, escaped"),
    pytest.param('Q, "retrieved": ["a"], "retrieved": ["b"]', "retrieved", id="a stored list"),
    pytest.param('Q, "retrieved": ["a"], "query_id": "r"', "query_id", id="the id of a stored list"),
    pytest.param('Q, "retrieved": ["a"], "system": 1, "system": 2', "system", id="what is said of the run"),
    pytest.param('Q, "topk": ["a"], "actual_output": null, "actual_output": null', "actual_output", id="null"),
]
TWICE_BEYOND_IDS = [
    *TWICE,
    pytest.param('Q, "topk": [{"id": "a", "text": "x", "text": "y"}]', "text", id="a text"),
    pytest.param('Q, "topk": [{"id": "a", "score": 1, "score": 2}]', "score", id="a score"),
    pytest.param('Q, "topk": ["a"], "raw_topk": ["a"], "raw_topk": ["b"]', "raw_topk", id="the raw list"),
    pytest.param('Q, "topk": ["a"], "raw_topk": [{"id": "a", "id": "b"}]', "id", id="an id of the raw list"),
    pytest.param('Q, "topk": ["a"], "scores": {"x": 1, "x": 0}', "x", id="a score of another tool"),
    pytest.param('Q, "topk": ["a"], "latency_ms": {"rerank": 9, "rerank": 1}', "rerank", id="a stage"),
    pytest.param('Q, "topk": ["a"], "latency_ms": {"a": 9}, "latency_ms": {"a": 1}', "latency_ms", id="times"),
]
FIRST = '{"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "a", "score": 1.5}], "latency_ms": {"retrieve": 3}}\n'
STORED = '{"query_id": "q1", "retrieved": ["a"], "latency_ms": {"retrieve": 3}}\n'


@pytest.mark.parametrize("first", [FIRST, STORED], ids=["contract first", "stored first"])
@pytest.mark.parametrize(
    ("line", "key", "needs"),
    [
        *(pytest.param(*case.values, frozenset(), id=f"{case.id}, ids alone") for case in TWICE),
        *(pytest.param(*case.values, TIMES, id=f"{case.id}, latency") for case in (*TWICE, *TWICE_BEYOND_IDS[-2:])),
        *(pytest.param(*case.values, EVERYTHING, id=f"{case.id}, all") for case in TWICE_BEYOND_IDS),
    ],
)
def test_a_key_that_stands_twice_is_an_error(
    tmp_path: Path, first: str, line: str, key: str, needs: frozenset[RunField]
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(first + "{" + line.replace("Q,", '"query_id": "q",') + "}\n", encoding="utf-8")
    expected = f"{path.as_posix()}:2: the key {key!r} stands twice in one object"
    for run in (read_run(str(path), needs=needs), read_untrusted_run(str(path), needs=needs)):
        with pytest.raises(RankgateError) as caught:
            list(run.rankings)
        assert str(caught.value) == expected
    quick = read_run(str(path), needs=needs).quick
    assert quick is not None
    with quick.opened() as reading:
        assert reading is not None
        with pytest.raises(ValueError, match=f"the key '{key}' stands twice"):
            list(reading[0])


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('"topk": [{"rank": 1, "chunk_id": "rank"}, {"rank": 2, "chunk_id": "chunk_id"}]', id="ids"),
        pytest.param('"topk": [{"rank": 1, "chunk_id": "a[0]"}]', id="a bracket in an id"),
        pytest.param('"topk": [{"rank": 1, "chunk_id": "a"}], "system": "x, \\"topk\\": []"', id="a key within a text"),
        pytest.param('"topk": [{"rank": 1, "chunk_id": "\\u0022a"}]', id="an escaped quote in an id"),
        pytest.param('"topk": [], "query": "topk"', id="a value called as a key"),
        pytest.param('"topk": [{"rank": 1, "chunk_id": "a"}], "raw_topk": [{"rank": 1, "chunk_id": "a"}]', id="raw"),
        pytest.param('"retrieved": ["a", "rank", "chunk_id"]', id="ids of a stored list as keys"),
        pytest.param('"topk": [{"rank": 1, "chunk_id": "a", "meta": {"rank": 1}}]', id="a key within an own key"),
        pytest.param('"topk": ["a"], "n": 123456789012345678901234567890, "x": 1e-400, "y": -0', id="odd numbers"),
    ],
)
@pytest.mark.parametrize("needs", [frozenset(), TIMES, EVERYTHING], ids=["ids", "latency", "all"])
def test_what_only_looks_like_a_key_twice_is_read(tmp_path: Path, line: str, needs: frozenset[RunField]) -> None:
    content = FIRST + '{"query_id": "q2", ' + line + "}\n"
    run = opened(tmp_path, content, needs=needs)
    assert list(run.rankings)[1].query_id == "q2"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(st.sampled_from(["a", "b", '"', "é"]), inner), max_size=3)
    ),
    max_leaves=8,
)


def json_of(value: Any) -> str:
    """JSON in which a list of pairs is an object, its keys repeated where they are."""
    if isinstance(value, list) and value and all(isinstance(each, tuple) for each in value):
        return "{" + ", ".join(f"{json.dumps(key)}: {json_of(inner)}" for key, inner in value) + "}"
    return f"[{', '.join(map(json_of, value))}]" if isinstance(value, list) else json.dumps(value)


@given(PLAIN)
def test_a_line_is_read_quickly_exactly_where_strict_json_reads_it(value: Any) -> None:
    line = json_of(value).encode()
    try:
        expected = strict_json(line)
    except JsonError as error:
        with pytest.raises(JsonError, match=re.escape(str(error))):
            line_json(line)
    else:
        assert line_json(line) == expected


def test_of_a_large_file_some_lines_are_looked_through() -> None:
    """Which ones is a matter of how they begin; a writer that repeats keys does so in every line."""
    lines = [
        f'{{"query_id": "q{n}", "topk": [{{"rank": 1, "chunk_id": "a", "chunk_id": "b"}}]}}\n'.encode()
        for n in range(640)
    ]

    def refused(line: bytes) -> bool:
        try:
            return not list(read_jsonl_quickly(io.BytesIO(line), frozenset(), LARGE))
        except JsonError:
            return True

    found = [refused(line) for line in lines]
    assert 5 <= sum(found) <= 40
    with pytest.raises(JsonError):
        list(read_jsonl_quickly(io.BytesIO(b"".join(lines)), frozenset(), LARGE))
    with pytest.raises(JsonError):
        list(read_jsonl_quickly(io.BytesIO(lines[found.index(False)]), frozenset(), LARGE - 1))
