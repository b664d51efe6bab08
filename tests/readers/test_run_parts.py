"""Runs of many Parquet files: folders and patterns here, and addresses that fsspec reads."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from rankgate.check import check
from rankgate.criteria.inputs import Inputs
from rankgate.errors import RankgateError
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_run
from rankgate.readers.untrusted import read_untrusted_run

fsspec = pytest.importorskip("fsspec")
pytestmark = [
    pytest.mark.usefixtures("in_an_empty_directory"),
    pytest.mark.skipif(find_spec("duckdb") is None, reason="needs duckdb"),
]


def write(name: str, *rows: str) -> None:
    import duckdb

    Path(name).parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        values = f"SELECT * FROM (VALUES {', '.join(rows)}) t(query_id, doc_id, score)"  # noqa: S608 -- our own
        connection.execute(f"COPY ({values}) TO '{name}' (FORMAT parquet)")


def as_spark_writes(folder: str) -> str:
    write(f"{folder}/part-00000-6f1c.c000.snappy.parquet", "('q1', 'a', 2.0)", "('q2', 'c', 1.0)")
    write(f"{folder}/part-00001-6f1c.c000.snappy.parquet", "('q1', 'b', 3.0)")
    for name in ("_SUCCESS", "._SUCCESS.crc", ".part-00000-6f1c.c000.snappy.parquet.crc", "_metadata"):
        Path(folder, name).write_bytes(b"")
    write(f"{folder}/_temporary/0/part-00000.parquet", "('q1', 'z', 9.0)")
    return folder


NOTHING = "holds no Parquet file (*.parquet); a folder, a pattern or an address is read as Parquet alone"
RUN = {"q1": ["b", "a"], "q2": ["c"]}


def rankings(path: str, fields: FieldMap | None = None) -> dict[str, list[str]]:
    read = read_run(path, map=fields)
    assert (read.name, read.format) == (path, "parquet")
    return {ranking.query_id: ranking.ids for ranking in read.rankings}


def refusal(path: str) -> str:
    with pytest.raises(RankgateError) as caught:
        list(read_run(path).rankings)
    return str(caught.value)


@pytest.mark.parametrize(
    "path", ["out/run.parquet", "out/run.parquet/*.parquet", "out/run.parquet/part-*", "o*/**/part-*.parquet"]
)
def test_a_folder_and_patterns(path: str) -> None:
    """What Spark keeps beside its rows is none of them."""
    as_spark_writes("out/run.parquet")
    assert rankings(path) == RUN


def test_a_folder_whose_name_is_hidden() -> None:
    write("_runs/0.parquet", "('q1', 'a', 2.0)", "('q1', 'b', 3.0)", "('q2', 'c', 1.0)")
    Path("_runs/README").write_text("not ours\n")
    assert rankings("_runs") == RUN


def test_a_map_of_a_folder() -> None:
    as_spark_writes("out")
    assert rankings("out", FieldMap(query_id="query_id", chunk_id="doc_id", score="score", order="ascending"))[
        "q1"
    ] == [
        "a",
        "b",
    ]


def test_folders_of_a_partition_are_one_run_only_where_no_query_is_in_two() -> None:
    write("out/lang=de/part-0.parquet", "('q1', 'b', 3.0)", "('q1', 'a', 2.0)")
    write("out/lang=en/part-0.parquet", "('q2', 'c', 3.0)")
    assert rankings("out") == RUN
    write("out/lang=en/part-1.parquet", "('q1', 'c', 3.0)")
    expected = "out: query 'q1' has rows in out/lang=de and in out/lang=en, which are two runs; name the folder of one"
    assert refusal("out") == expected


@pytest.mark.parametrize("log", ["_delta_log/00000.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"])
def test_a_table_whose_log_says_which_files_count(log: str) -> None:
    as_spark_writes("out")
    Path("out", log).parent.mkdir(exist_ok=True)
    Path("out", log).write_text("{}")
    assert refusal("out") == (
        f"out: is a table whose log ({log}) says which of its files count; let the tool that keeps it write its rows "
        "as plain Parquet"
    )


@pytest.mark.full
def test_what_has_no_rows_to_read() -> None:
    Path("empty").mkdir()
    Path("run.jsonl").write_text('{"query_id": "q", "topk": []}\n')
    assert refusal("empty") == f"empty: {NOTHING}"
    assert refusal("*.jsonl") == f"*.jsonl: {NOTHING}"
    assert refusal("gone/*.parquet") == f"gone/*.parquet: {NOTHING}"
    as_spark_writes("out")
    Path("out/part-2.parquet").write_bytes(b"PAR1")
    assert refusal("out").startswith("out: cannot be read as Parquet: ")


def test_a_file_with_the_signs_of_a_pattern_is_itself() -> None:
    write("a[1]*.parquet", "('q1', 'b', 3.0)", "('q1', 'a', 2.0)", "('q2', 'c', 1.0)")
    write("a1x.parquet", "('q1', 'z', 9.0)")
    assert rankings("a[1]*.parquet") == RUN


@pytest.mark.parametrize(
    "path", ["memory://bucket/r.parquet/", "memory://bucket/r.parquet/part-*.parquet", "memory://bucket/r*/*"]
)
def test_an_address(path: str) -> None:
    files = fsspec.filesystem("memory")
    for file in Path(as_spark_writes("out")).rglob("*"):
        if file.is_file():
            files.pipe(f"/bucket/r.parquet/{file.relative_to('out')}", file.read_bytes())
    assert {ranking.query_id: ranking.ids for ranking in read_run(path).rankings} == RUN


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "memory://nothing/here",
            "holds no Parquet file (*.parquet); a folder, a pattern or an address is read as Parquet alone",
        ),
        ("memory://a::memory://b", "is no plain address, as s3://bucket/folder"),
        ("memory://a/../b", "is no plain address, as s3://bucket/folder"),
        ("s4://bucket/run", "unknown scheme s4://"),
    ],
)
def test_an_address_that_cannot_be_read(path: str, expected: str) -> None:
    assert refusal(path).partition(": ")[2] == expected


def test_what_a_store_refuses_is_said_without_where_our_code_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("Forbidden")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "glob", refuse)
    assert (
        refusal("memory://bucket/run") == "memory://bucket/run: cannot be read as Parquet: PermissionError: Forbidden"
    )


@pytest.mark.parametrize("path", ["out", "out/*.parquet", "memory://bucket/run"])
def test_an_untrusted_run_is_one_file(path: str) -> None:
    as_spark_writes("out")
    with pytest.raises(RankgateError):
        list(read_untrusted_run(path).rankings)


@pytest.mark.full
def test_a_check_of_a_folder_against_a_folder() -> None:
    """Both are read twice, and neither is taken for a baseline store."""
    as_spark_writes("now")
    Path(as_spark_writes("made")).rename("before")
    Path("gold.csv").write_text("query_id,doc_id,relevance\nq1,b,1\nq2,c,1\n")
    gate = "gates:\n  - {name: mrr, threshold: 0.9, regression_max: 0.01}\n"
    Path("ship-criteria.yaml").write_text(f"{gate}inputs: {{gold: gold.csv, run: now, baseline: before}}\n")
    report = check(Inputs(criteria="ship-criteria.yaml", date="2026-01-31"))
    assert (report.verdict.value, report.gates[0].measured.value, report.gates[0].change.baseline) == ("pass", 1.0, 1.0)
