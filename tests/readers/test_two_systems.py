"""Rows of two systems in one file: their scores would make one list of two."""

import json
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from rankgate.errors import RankgateError
from rankgate.model.values import Ranking
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_run

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

TREC = "q1 Q0 a 1 .9 s1\nq1 Q0 x 2 .8 s1\nq2 Q0 b 1 .9 s1\nq1 Q0 y 1 19 s2\nq2 Q0 w 1 19 s2\n"
TOGETHER = "q1 Q0 a 1 .9 s1\nq1 Q0 y 1 19 s2\nq2 Q0 b 1 .9 s1\n"
LINES = [{"q": "q1", "d": "a", "s": 0.9, "model": "m1"}, {"q": "q1", "d": "y", "s": 19, "model": "m2"}]
MAP = FieldMap(query_id="q", chunk_id="d", score="s")


def read(content: str, fields: FieldMap | None = None, name: str = "run") -> list[Ranking]:
    """Quickly, as scoring does, and carefully where that does not go or a query comes twice."""
    Path(name).write_text(content, encoding="utf-8")
    opened = read_run(name, map=fields)
    with suppress(ValueError, RankgateError), opened.quick.opened() if opened.quick else nullcontext() as reading:
        quickly = list(reading[0]) if reading else []
        if quickly and len({ranking.query_id for ranking in quickly}) == len(quickly):
            return quickly
    return list(opened.rankings)


def rows(column: str, *cells: str) -> str:
    """A table of one query, a cell of the column a row."""
    return f"qid,docid,score,{column}\n" + "".join(f"q1,d{row},{row},{cell}\n" for row, cell in enumerate(cells))


def said(line: int, column: str, one: str, other: str) -> str:
    what = f"run:{line}: query 'q1' has rows of two systems by '{column}', {one} and {other}"
    return f"{what}; split the file by it, or write one value there if these rows are one list"


def cut(line: int, column: str, one: str, other: str) -> str:
    return said(line, column, one, other).replace("systems", "cut-offs")


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        pytest.param(TREC, None, said(4, "tag", "'s1'", "'s2'"), id="trec, one system after the other"),
        pytest.param(TOGETHER, None, said(2, "tag", "'s1'", "'s2'"), id="trec, query by query"),
        pytest.param(TREC.replace("x", "é"), None, said(4, "tag", "'s1'", "'s2'"), id="trec beyond ASCII"),
        pytest.param("\n" + TREC, None, said(5, "tag", "'s1'", "'s2'"), id="trec after a blank line"),
        pytest.param(rows("system", "a", "b"), None, said(3, "system", "'a' (line 2)", "'b'"), id="system"),
        pytest.param(rows("Run ID", "1", "1", "2"), None, said(4, "Run ID", "'1' (line 2)", "'2'"), id="run_id"),
        pytest.param(rows("model", "", "b", "c"), None, said(4, "model", "'b' (line 3)", "'c'"), id="a cell is empty"),
        pytest.param(rows("tag", "a", "b"), None, said(3, "tag", "'a' (line 2)", "'b'"), id="tag, as TREC calls it"),
        pytest.param(rows("retriever", "a", "b"), None, said(3, "retriever", "'a' (line 2)", "'b'"), id="retriever"),
        pytest.param(rows("Experiment", "a", "b"), None, said(3, "Experiment", "'a' (line 2)", "'b'"), id="experiment"),
        pytest.param(
            rows("system", "a", "b").replace(",", "\t"), None, said(3, "system", "'a' (line 2)", "'b'"), id="tsv"
        ),
        pytest.param(
            "qid,docid,score,rank,system\nq1,a,.9,1,s1\nq1,b,19,1,s2\n",
            None,
            said(3, "system", "'s1' (line 2)", "'s2'"),
            id="each with its own ranks",
        ),
        pytest.param(
            "\n".join(map(json.dumps, LINES)), MAP, said(2, "model", "'m1' (line 1)", "'m2'"), id="rows as jsonl"
        ),
        pytest.param(
            '{"query_id": "q1", "topk": ["a"], "system": "s1"}\n{"query_id": "q1", "topk": ["y"], "system": "s2"}\n',
            None,
            said(2, "system", "'s1' (line 1)", "'s2'"),
            id="jsonl, a query a line",
        ),
        pytest.param(rows("k", "5", "10", "5"), None, cut(3, "k", "'5' (line 2)", "'10'"), id="two cut-offs"),
        pytest.param(rows("top_k", "1", "1", "3"), None, cut(4, "top_k", "'1' (line 2)", "'3'"), id="top_k"),
        pytest.param(
            '{"query_id": "q1", "topk": ["a"], "k": 1}\n{"query_id": "q1", "topk": ["y"], "k": 5}\n',
            None,
            cut(2, "k", "'1' (line 1)", "'5'"),
            id="two cut-offs, a query a line",
        ),
    ],
)
def test_two_systems_in_one_file_are_named(content: str, fields: FieldMap | None, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        read(content, fields)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        pytest.param("q1 Q0 a 1 .9 r1\nq2 Q0 b 1 .9 r2\n", None, id="trec, a tag a query"),
        pytest.param("qid,docid,score,run_id\nq1,a,1,r1\nq1,b,2,r1\nq2,a,1,r2\n", None, id="a run id a query"),
        pytest.param(rows("system", "s", "s", ""), None, id="one system, not on every row"),
        pytest.param("qid,docid,rank,system\nq1,a,1,bm25\nq1,b,2,dense\n", None, id="one list by its ranks"),
        pytest.param("qid,docid,score,rank,system\nq1,a,2,1,bm25\nq1,b,1,2,dense\n", None, id="by scores and ranks"),
        pytest.param(rows("category", "shoes", "hats"), None, id="another column"),
        pytest.param(rows("k", "1", "2", "3"), None, id="k numbers the rows"),
        pytest.param("qid,docid,score,k\nq1,a,1,5\nq2,a,2,3\n", None, id="a k a query"),
        pytest.param(
            "\n".join(json.dumps({"q": "q1", "s": row, "model": f"m{row}"}) for row in range(3)),
            FieldMap(query_id="q", chunk_id="model", score="s"),
            id="the map reads it as something else",
        ),
    ],
)
def test_a_tag_that_varies_without_harm_is_read(content: str, fields: FieldMap | None) -> None:
    assert len(read(content, fields)) == len({ranking.query_id for ranking in read(content, fields)}) > 0


@pytest.mark.parametrize(
    ("cells", "ranks", "refused"),
    [
        pytest.param(["s1", "s2"], [1, 1], True, id="two systems"),
        pytest.param([None, "s2"], [1, 1], False, id="one without a tag"),
        pytest.param(["s1", "s2"], [1, 2], False, id="one list by its ranks"),
    ],
)
def test_parquet(cells: list[str | None], ranks: list[int], *, refused: bool) -> None:
    duckdb = pytest.importorskip("duckdb")
    values = ", ".join(
        f"('q1', 'd{row}', {9 - row}, {rank}, {repr(cell) if cell else 'NULL'})"
        for row, (cell, rank) in enumerate(zip(cells, ranks, strict=True))
    )
    table = f"SELECT * FROM (VALUES {values}) AS t(query_id, doc_id, score, rank, system)"  # noqa: S608 -- of this file
    duckdb.sql(f"COPY ({table}) TO 'run.parquet' (FORMAT parquet)")
    opened = read_run("run.parquet")
    if not refused:
        assert [ranking.ids for ranking in opened.rankings] == [["d0", "d1"]]
        return
    with pytest.raises(RankgateError, match=r"run.parquet: query 'q1' has rows of two systems by 'system', 's1' and"):
        list(opened.rankings)
