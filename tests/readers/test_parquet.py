"""Runs as Parquet, the fixtures written by DuckDB itself and by others where they are installed."""

import gzip
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgate
from rankgate import pip_install
from rankgate.errors import RankgateError
from rankgate.model.values import Details, Item, Ranking, RunField
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_gold, read_run
from rankgate.readers.parquet import opened
from rankgate.readers.source import open_source

pytestmark = [
    pytest.mark.usefixtures("in_an_empty_directory"),
    pytest.mark.skipif(find_spec("duckdb") is None, reason="needs duckdb"),
]
PACKAGE = Path(rankgate.__file__).resolve().parents[1]
EVERYTHING = frozenset(RunField) - {RunField.TRAFFIC}


def write(query: str, name: str = "run.parquet") -> str:
    """The rows of a query as a Parquet file; returns its name."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO 'written' (FORMAT parquet)")
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path("written").replace(name)
    return name


def table(*rows: str, columns: str = "q_id, doc_id, score") -> str:
    return write(f"SELECT * FROM (VALUES {', '.join(rows)}) rows({columns})")  # noqa: S608 -- our own


def rankings(name: str, needs: frozenset[RunField] = frozenset(), fields: FieldMap | None = None) -> list[Ranking]:
    read = read_run(name, needs=needs, map=fields)
    assert read.format == "parquet"
    return list(read.rankings)


def refusal(name: str, form: str | None = None, fields: FieldMap | None = None) -> list[str]:
    with pytest.raises(RankgateError) as caught:
        list(read_run(name, form, map=fields).rankings)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            ["('q', 'a', 1.5)", "('q', 'b', 2.5)", "('p', 'c', 0.0)"], {"p": ["c"], "q": ["b", "a"]}, id="plain"
        ),
        pytest.param(
            ["('q', 'a', 1)", "('q', 'c', 1)", "('q', 'b', 1)"], {"q": ["c", "b", "a"]}, id="ties, whole scores"
        ),
        pytest.param(["('q', 'b', 1.0::double)", "('q', 'a', 1.00000001)"], {"q": ["a", "b"]}, id="no tie as 64 bits"),
        pytest.param(["('q', 'b', 1::float)", "('q', 'a', 2::float)"], {"q": ["a", "b"]}, id="32-bit scores"),
        pytest.param(["(7, 12::ubigint, 0.5)", "(10, 13, 0.5)"], {"10": ["13"], "7": ["12"]}, id="ids as numbers"),
        pytest.param(["('é', '文 書', 1.5)", "('é', 'a#1|2', 2.5)"], {"é": ["a#1|2", "文 書"]}, id="Unicode and signs"),
        pytest.param(
            ["('q', 'z', 0.5)", "('q', 'é', 0.5)", "('q', '文', 0.5)"], {"q": ["文", "é", "z"]}, id="by code point"
        ),
        pytest.param(["('q'::blob, 'a'::blob, 1.5)"], {"q": ["a"]}, id="ids as bytes, as old writers leave them"),
    ],
)
def test_parquet(rows: list[str], expected: dict[str, list[str]]) -> None:
    found = {ranking.query_id: ranking.ids for ranking in rankings(table(*rows))}
    assert found == expected
    assert list(found) == list(expected)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        pytest.param("qid, docno, rank", ["('q', 'b', 2)", "('q', 'a', 1)"], ["a", "b"], id="ranks"),
        pytest.param("qid, docno, rank, score", ["('q', 'b', 0, 1)", "('q', 'a', 0, 2)"], ["a", "b"], id="rank 0"),
        pytest.param(
            "qid, docno, rank, score", ["('q', 'b', 1, 1)", "('q', 'a', 2, 1)"], ["b", "a"], id="rank and ties"
        ),
    ],
)
def test_ranks(columns: str, rows: list[str], expected: list[str]) -> None:
    assert rankings(table(*rows, columns=columns)) == [Ranking("q", expected)]


def test_repeats_are_removed_and_counted() -> None:
    assert rankings(table("('q', 'a', 1)", "('q', 'b', 2)", "('q', 'a', 3)")) == [Ranking("q", ["a", "b"], 1)]


def test_a_time_that_is_not_there() -> None:
    name = write(
        "SELECT 'p' AS qid, 'a' AS chunk_id, 1 AS score, CAST('NaN' AS DOUBLE) AS latency_ms "
        "UNION ALL SELECT 'q', 'a', 1, NULL UNION ALL SELECT 'r', 'a', 1, 40"
    )
    times = [each.details.latency_ms if each.details else None for each in rankings(name, EVERYTHING)]
    assert times == [None, None, {"total": 40.0}]


def test_details_only_where_needed() -> None:
    name = write(
        "SELECT 'q' AS qid, 'a#1' AS chunk_id, 'a' AS doc_id, 0.5 AS score, 'one' AS text, "
        "DATE '2025-06-01' AS doc_version, 40 AS latency_ms UNION ALL SELECT 'q', 'b#1', NULL, 0.9, NULL, NULL, NULL"
    )
    assert rankings(name) == [Ranking("q", ["b#1", "a#1"])]
    items = [Item(score=0.9), Item("a", "2025-06-01", "one", 0.5)]
    assert rankings(name, EVERYTHING) == [
        Ranking("q", ["b#1", "a#1"], 0, Details(items=items, latency_ms={"total": 40.0}))
    ]


NOT_FINITE = "scores must be finite numbers"


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        pytest.param(
            "q_id, doc_id, score",
            ["('q', 'a', 'nan'::double)", "('r', 'b', '-inf')", "('s', 'c', NULL)"],
            [
                f"run.parquet: query 'q': the score of 'a' is NaN; {NOT_FINITE}",
                f"run.parquet: query 'r': the score of 'b' is infinite; {NOT_FINITE}",
                "run.parquet: query 's': the score of 'c' is missing",
            ],
            id="scores",
        ),
        pytest.param(
            "q_id, doc_id, score",
            ["(NULL, 'a', 1)", "('q', NULL, 2)"],
            ["run.parquet: query 'q': a row has no id of a result", "run.parquet: a row has no query id"],
            id="no ids",
        ),
        pytest.param(
            "q_id, doc_id, score",
            ["('', 'a', 1)", "('q', '', 2)"],
            ["run.parquet: a row has no query id", "run.parquet: query 'q': a row has no id of a result"],
            id="empty ids",
        ),
        pytest.param(
            "q_id, doc_id, rank",
            ["('q', 'a', 1)", "('q', 'b', 3)", "('r', 'c', NULL)"],
            [
                (
                    "run.parquet: query 'q': rank 2 is missing; ranks run from 1 without gaps: renumber them, or order "
                    "the rows by a score"
                ),
                "run.parquet: query 'r': the rank of 'c' is missing",
            ],
            id="ranks",
        ),
        pytest.param(
            "q_id, doc_id, score",
            ["(1.5, 'a', '1')"],
            [
                "run.parquet: the column 'q_id' is of type DECIMAL(2,1); ids are texts or whole numbers",
                "run.parquet: the column 'score' is of type VARCHAR; scores are numbers",
            ],
            id="types",
        ),
        pytest.param(
            "search, doc_id, score",
            ["('q', 'a', 1)"],
            [
                (
                    "run.parquet: no usual name for the query (found: 'search', 'doc_id', 'score'); name them with "
                    "`map: {query_id: COLUMN, chunk_id: doc_id, score: score}` under inputs.run, beside `path`"
                )
            ],
            id="no query",
        ),
        pytest.param(
            "query_id, topk",
            ["('q', ['a', 'b'])"],
            [
                (
                    "run.parquet: 'topk' holds lists, a query's results in one row; name them with "
                    "`map: {query_id: query_id, items: topk}` under inputs.run, beside `path`"
                )
            ],
            id="a list of ids in a row",
        ),
        pytest.param(
            "search, found",
            ["('q', [{'doc': 'a', 's': 1.0}])"],
            [
                (
                    "run.parquet: 'found' holds lists, a query's results in one row; name them with "
                    "`map: {query_id: COLUMN, items: found, chunk_id: COLUMN}` under inputs.run, beside `path`"
                )
            ],
            id="a list of objects in a row",
        ),
    ],
)
def test_bad_parquet(columns: str, rows: list[str], expected: list[str]) -> None:
    assert sorted(refusal(table(*rows, columns=columns))) == sorted(expected)


def test_many_problems_are_cut() -> None:
    found = refusal(write("SELECT 'q' || i AS q_id, 'a' AS doc_id, 'nan'::double AS score FROM range(100) rows(i)"))
    assert len(found) == 21
    assert found[-1] == "run.parquet: stopped after 20 problems; there may be more"


@pytest.mark.parametrize(
    "name", ["a*.parquet", "a[b].parquet", "a?.parquet", "o'clock.parquet", "year=2025/a.parquet", "ü b"]
)
def test_names_are_no_patterns(name: str) -> None:
    """DuckDB would read all files that fit, and take a folder's name for a column."""
    write("SELECT 'other' AS q_id, 'x' AS doc_id, 1 AS score", "ab.parquet")
    assert rankings(write("SELECT 'q' AS q_id, 'a' AS doc_id, 1 AS score", name)) == [Ranking("q", ["a"])]


@pytest.mark.full
def test_much_is_read_in_batches() -> None:
    name = write("SELECT 'q' || (i // 10) AS q_id, 'd' || (i % 10) AS doc_id, i AS score FROM range(50000) rows(i)")
    read = rankings(name)
    assert len(read) == 5000
    assert {tuple(ranking.ids) for ranking in read} == {tuple(f"d{n}" for n in range(9, -1, -1))}


@pytest.mark.parametrize("rank", [pytest.param("j", id="ranks"), pytest.param("0", id="ranks that say nothing")])
@pytest.mark.parametrize("order", [pytest.param("i, j", id="in order"), pytest.param("hash(i, j)", id="in no order")])
def test_rows_in_any_order(order: str, rank: str) -> None:
    query = f"""
        SELECT 'q' || i AS q_id, chr(34) || chr(10) || j AS doc_id,
               {rank} AS rank, -(j // 2) AS score
        FROM range(30) a(i), range(6) b(j) ORDER BY {order}
    """  # noqa: S608 -- our own
    places = "012345" if rank == "j" else "103254"
    lists = [f'"\n{place}' for place in places]
    expected = sorted(f"q{i}" for i in range(30))
    assert rankings(write(query)) == [Ranking(query_id, lists) for query_id in expected]


def test_ranks_that_contradict_scores_in_one_query_of_many() -> None:
    query = """
        SELECT 'q' || i AS q_id, 'd' || j AS doc_id, j AS rank, CASE WHEN i = 7 AND j < 2 THEN j ELSE -j END AS score
        FROM range(20) a(i), range(3) b(j)
    """
    assert refusal(write(query)) == [
        (
            "run.parquet: query 'q7': 'd1' has the better score and 'd0' the better rank; "
            "drop one of the two columns, or map the one that orders"
        )
    ]


ROWS = st.lists(
    st.tuples(st.sampled_from("pq"), st.sampled_from("abcd"), st.integers(1, 4), st.integers(-1, 1)), min_size=1
)


@pytest.mark.full
@settings(max_examples=30)
@given(rows=ROWS, ranked=st.booleans())
def test_rows_are_ordered_as_the_reader_of_csv_does(rows: list[tuple[str, str, int, int]], *, ranked: bool) -> None:
    def outcome(name: str) -> object:
        try:
            return sorted((found.query_id, found.ids, found.duplicates) for found in read_run(name).rankings)
        except RankgateError as error:
            return sorted(problem.message for problem in error.problems)

    columns = ("q_id", "doc_id", "rank", "score") if ranked else ("q_id", "doc_id", "score")
    kept = [row if ranked else (row[0], row[1], row[3]) for row in rows]
    Path("run.csv").write_text("\n".join(",".join(map(str, row)) for row in (columns, *kept)) + "\n")
    assert outcome(table(*map(str, kept), columns=", ".join(columns))) == outcome("run.csv")


# A map.

NESTED = """
    SELECT {'id': 'q' || i} AS query, {'retrieve': 5.0, 'rerank': i::double} AS times,
           [{'doc': {'id': 'd' || j, 'day': DATE '2025-06-01'}, 'relevance': 1.0 - j} for j in range(2)] AS results
    FROM range(2) rows(i)
"""


def test_map_with_a_list() -> None:
    fields = FieldMap(
        query_id="query.id",
        items="results",
        chunk_id="doc.id",
        doc_version="doc.day",
        score="relevance",
        latency_ms="times",
    )
    items = [Item(version="2025-06-01", score=1.0), Item(version="2025-06-01", score=0.0)]
    assert rankings(write(NESTED), EVERYTHING, fields) == [
        Ranking(f"q{i}", ["d0", "d1"], 0, Details(items=items, latency_ms={"retrieve": 5.0, "rerank": float(i)}))
        for i in range(2)
    ]


def test_map_of_rows() -> None:
    name = write("SELECT {'id': 'q'} AS query, 'd' || i AS \"my doc\", -i AS \"a.b\" FROM range(3) rows(i)")
    fields = FieldMap(query_id="query.id", chunk_id="my doc", score="a.b")
    assert rankings(name, fields=fields) == [Ranking("q", ["d0", "d1", "d2"])]


def test_map_of_what_is_not_there() -> None:
    fields = FieldMap(query_id="query.idd", chunk_id="docid", score="times.total")
    assert refusal(write(NESTED), fields=fields) == [
        (
            "run.parquet: map.query_id: the file has no 'query.idd'; did you mean 'query.id'? "
            "(found: 'query', 'times', 'results', 'query.id')"
        ),
        "run.parquet: map.chunk_id: the file has no 'docid' (found: 'query', 'times', 'results')",
        (
            "run.parquet: map.score: the file has no 'times.total'; did you mean 'times'? "
            "(found: 'query', 'times', 'results', 'times.retrieve', 'times.rerank')"
        ),
    ]


def test_map_of_lists_that_are_not_there() -> None:
    fields = FieldMap(query_id="query.id", items="results", chunk_id="doc.idd")
    assert refusal(write(NESTED), fields=fields) == [
        (
            "run.parquet: map.chunk_id: query 'q0': result 1 of results has no 'doc.idd'; did you mean 'doc.id'? "
            "(found: 'doc', 'doc.id', 'doc.day', 'relevance')"
        )
    ]


# What cannot be read.

PLACE = "Parquet is read from a file of its own, neither from a pipe nor gzipped; it is compressed within"


def test_gzipped() -> None:
    Path("run.gz").write_bytes(gzip.compress(Path(table("('q', 'a', 1)")).read_bytes()))
    assert refusal("run.gz") == [f"run.gz: {PLACE}"]


def test_standard_input() -> None:
    program = "from rankgate.readers.formats import read_run; list(read_run('-').rankings)"
    with Path(table("('q', 'a', 1)")).open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": str(PACKAGE)},
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stderr.splitlines()[-1].endswith(f"standard input: {PLACE}")


def test_damaged() -> None:
    Path("half").write_bytes(Path(table("('q', 'a', 1)")).read_bytes()[:100])
    (message,) = refusal("half")
    assert message.startswith("half: cannot be read as Parquet: ")
    assert os.fspath(Path.cwd()) not in message


@pytest.mark.full
@settings(max_examples=40)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4))
def test_any_damage_is_read_or_refused(changes: list[tuple[float, int]]) -> None:
    fields = FieldMap(query_id="query.id", items="results", chunk_id="doc.id", latency_ms="times")
    if not Path("whole").exists():
        write(NESTED, "whole")
    content = bytearray(Path("whole").read_bytes())
    for place, value in changes:
        content[4 + int(place * (len(content) - 4))] = value
    Path("damaged").write_bytes(content)
    refused = ""
    try:
        rankings("damaged", EVERYTHING, fields)
    except RankgateError as error:
        refused = str(error)
    assert refused.replace("\n", "").isprintable()


def test_not_parquet() -> None:
    Path("run").write_text("q Q0 a 1 0.5 tag\n")
    assert refusal("run", "parquet") == ["run: not a Parquet file"]


def test_without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    name = table("('q', 'a', 1)")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    how = f"{pip_install('parquet')} (in the action: extras: parquet)"
    assert refusal(name) == [f"run.parquet: reading Parquet needs DuckDB: {how}"]


def test_whole_scores_are_gains_where_a_gold_set_is_wanted() -> None:
    assert read_gold(table("('q', 'a', 1)")).samples["q"].gains == {"a": 1.0}
    with pytest.raises(RankgateError, match="looks like a run, whose scores are no whole numbers; if they are gains"):
        read_gold(table("('q', 'a', 1.5)"))


@pytest.mark.parametrize("scheme", ["s3", "https", "gs", "hf", "az"])
def test_no_extension_is_fetched(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by DuckDB itself, nor before it is asked where fsspec is not installed."""
    import duckdb

    monkeypatch.setenv("HOME", os.fspath(Path.cwd()))
    with open_source(table("('q', 'a', 1)")) as source, opened(source) as file:
        settings = (f"current_setting('{each}_known_extensions')" for each in ("autoinstall", "autoload"))
        assert [*file.rows(f"SELECT {', '.join(settings)}")] == [(False, False)]
        with pytest.raises(duckdb.Error):
            next(file.rows(f"SELECT * FROM read_parquet('{scheme}://127.0.0.1:1/run.parquet')"))  # noqa: S608 -- our own
    assert not Path(".duckdb").exists()
    monkeypatch.setitem(sys.modules, "fsspec", None)
    how = f"needs fsspec, which is not installed: {pip_install('cloud')} (in the action: extras: cloud)"
    assert refusal(f"{scheme}://bucket/run.parquet") == [f"{scheme}://bucket/run.parquet: {how}"]


def test_duckdb_is_imported_by_parquet_alone() -> None:
    program = "import sys; from rankgate.readers.formats import read_run; print('duckdb' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# Written by others.


WRITTEN = Path(__file__).parent / "written"


def test_as_pandas_wrote_it() -> None:
    found = rankings(str(WRITTEN / "pandas-3.1.1-pyarrow-26.0.1.parquet"))
    assert found == [Ranking("p", ["c"]), Ranking("q", ["b", "a"])]


def test_as_ranx_wrote_it() -> None:
    found = rankings(str(WRITTEN / "ranx-0.3.21.parquet"))
    assert found == [Ranking("p", ["c"]), Ranking("q", ["b", "a"])]


@pytest.mark.full
def test_as_the_pandas_that_is_installed_writes_it() -> None:
    import pandas as pd

    frame = pd.DataFrame({"q_id": ["q", "q", "p"], "doc_id": ["a", "b", "c"], "score": [1.5, 2.5, 3.5]})
    frame.astype({"q_id": "category"}).to_parquet("run.parquet", engine="pyarrow")
    assert rankings("run.parquet") == [Ranking("p", ["c"]), Ranking("q", ["b", "a"])]


@pytest.mark.full
def test_a_parquet_bomb_is_refused_before_it_is_read() -> None:
    """A column of one value takes next to nothing in the file, however many rows it has."""
    name = write("SELECT 'q' AS query_id, 'd' AS doc_id, 1.0 AS score FROM range(6_000_000)")
    (problem,) = refusal(name)
    assert problem.startswith("run.parquet: unpacks to more than 200 times its size, the limit for compressed inputs; ")
