"""`rankgate.metrics.spark.per_query` on a real standalone cluster: the values of `score`, even if a worker dies."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.cluster import PATIENCE, Cluster, cluster, lacking

import rankgate
from rankgate.cli import main
from rankgate.errors import RankgateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
METRICS = "recall@5,recall@10,mrr,ndcg@10,map,precision@5"
QUERIES, DEPTH, JUDGED = 4_000, 100, 3
MOST = 230_000_000  # bytes of an executor's Python process; with all rows as objects it would have more


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, SparkSession]]:
    if missing := lacking():
        assert not os.environ.get("CI"), f"no {missing}"
        pytest.skip(f"no {missing}")
    from pyspark.sql import SparkSession

    with cluster(tmp_path_factory.mktemp("spark")) as running, pytest.MonkeyPatch.context() as patch:
        # A main module without a file, as of a worker of xdist, is to the client one of its own doctests.
        patch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
        session = SparkSession.builder.remote(running.address).getOrCreate()
        try:
            yield running, session
        finally:
            session.stop()  # or the client waits for the server at the end of Python


def frames(session: SparkSession, run: dict[str, Any], gold: dict[str, Any]) -> tuple[DataFrame, DataFrame]:
    return session.createDataFrame(pa.table(run)), session.createDataFrame(pa.table(gold))


def values(frame: DataFrame) -> dict[str, dict[str, Any]]:
    return {row.pop("query_id"): row for row in frame.toArrow().to_pylist()}


# Ties, a document twice, a query without a list, one that the gold lacks, one with nothing relevant, ids as numbers.
RUN: dict[str, list[Any]] = {
    "qid": [1, 1, 1, 2, 2, 2, 3, 3, 9],
    "docno": ["a", "b", "c", "b", "b", "a", "x", "y", "a"],
    "score": [1.0, 3.0, 3.0, 2.0, 1.0, 2.0, 0.5, 0.25, 1.0],
}
GOLD: dict[str, list[Any]] = {
    "query_id": ["1", "1", "2", "3", "4", "5"],
    "docid": ["b", "c", "a", "z", "a", "a"],
    "relevance": [1, 2, 1, 1, 1, 0],
}


def local(folder: Path, run: dict[str, Any], gold: dict[str, Any], **more: Any) -> rankgate.Evaluation:
    for name, columns in (("run", run), ("gold", gold)):
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return rankgate.score(gold=folder / "gold.parquet", run=folder / "run.parquet", **more)


def test_every_value_is_that_of_score(spark: tuple[Cluster, SparkSession], tmp_path: Path) -> None:
    from rankgate.metrics.spark import per_query

    here = local(tmp_path, RUN, GOLD, metrics=METRICS)
    found = per_query(*frames(spark[1], RUN, GOLD), METRICS, buckets=3)
    kinds = ["string", *["double"] * 6, "boolean"]
    assert found.dtypes == [*zip(["query_id", *here.columns, "missing"], kinds, strict=True)]
    expected = {query: {**here.per_query[query], "missing": query in here.missing} for query in here.per_query}
    assert values(found) == expected
    assert expected["5"]["mrr"] is None
    assert expected["4"] == {**expected["4"], "mrr": 0.0, "missing": True}


def test_ranks_documents_and_lists_of_ids_are_read_too(spark: tuple[Cluster, SparkSession], tmp_path: Path) -> None:
    from rankgate.metrics.spark import per_query

    run = {"query_id": ["q"] * 3, "chunk_id": ["a#1", "a#2", "b#1"], "rank": [2, 1, 3]}
    gold = {"query_id": ["q", "r"], "relevant_ids": [["b"], ["c"]]}
    here = local(tmp_path, run, gold, metrics="mrr", match="doc")
    there = per_query(*frames(spark[1], run, gold), "mrr", match="doc", buckets=1)
    assert {query: row["mrr"] for query, row in values(there).items()} == dict(
        zip(here.per_query, here.columns["mrr"], strict=True)
    )


def test_a_row_that_is_wrong_ends_the_job_with_the_message_of_score(
    spark: tuple[Cluster, SparkSession], tmp_path: Path
) -> None:
    from pyspark.errors import PythonException

    from rankgate.metrics.spark import per_query

    run = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [float("nan"), 1.0]}
    gold = {"query_id": ["q"], "doc_id": ["a"], "gain": [1]}
    with pytest.raises(RankgateError) as here:
        local(tmp_path, run, gold, metrics="mrr")
    said = here.value.problems[0].message
    with pytest.raises(PythonException, match="is NaN") as there:
        per_query(*frames(spark[1], run, gold), "mrr").collect()
    assert said in str(there.value)


def test_rows_of_two_systems_end_the_job(spark: tuple[Cluster, SparkSession]) -> None:
    from pyspark.errors import PythonException

    from rankgate.metrics.spark import per_query

    gold = {"query_id": ["q"], "doc_id": ["a"], "gain": [1]}
    run = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0], "system": ["bm25", "dense"]}
    with pytest.raises(PythonException, match="rows of two systems by 'system', 'bm25' and 'dense'"):
        per_query(*frames(spark[1], run, gold), "mrr").collect()
    one = {**run, "system": ["bm25", "bm25"]}
    assert values(per_query(*frames(spark[1], one, gold), "mrr", buckets=1))["q"]["mrr"] == 1


REFUSED: list[Any] = [
    pytest.param({"metrics": "latency_p95"}, "reads latency_ms, which these tables do not have", id="of a line"),
    pytest.param({"metrics": "overlap@5"}, "reads the baseline's ids, which these tables", id="of the baseline"),
    pytest.param({"metrics": "mrr", "match": "text"}, "run_df: has no column `text`", id="texts"),
    pytest.param({"metrics": "mrr", "match": "span"}, "reads places in documents", id="spans"),
    pytest.param({"metrics": "recal@5"}, "did you mean", id="no metric"),
    pytest.param({"metrics": "mrr", "buckets": 0}, "buckets must be a whole number from 1 up", id="buckets"),
    pytest.param({"metrics": "mrr", "run_df": [1]}, "run_df: is a list; give a Spark DataFrame", id="no frame"),
    pytest.param({"metrics": "mrr", "drop": "score"}, "rename its columns to query_id, chunk_id, score", id="no score"),
    pytest.param({"metrics": "mrr", "text": "score"}, "the column for score is of type VARCHAR", id="scores as text"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_cannot_be_computed_is_refused_before_a_job(
    given: dict[str, Any], message: str, spark: tuple[Cluster, SparkSession]
) -> None:
    from rankgate.metrics.spark import per_query

    given = dict(given)
    run, gold = frames(spark[1], RUN, GOLD)
    run = run.drop(given.pop("drop", "nothing"))
    text = given.pop("text", None)
    run = run.withColumn(text, run[text].cast("string")) if text else run
    with pytest.raises(RankgateError, match=message.replace("(", r"\(")):
        per_query(**{"run_df": run, "gold_df": gold, **given})


def test_executors_without_rankgate_are_refused_with_what_they_need(spark: tuple[Cluster, SparkSession]) -> None:
    from rankgate.metrics import spark as module

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "__version__", "99.0")
        with pytest.raises(RankgateError, match=r"the executors have rankgate .*; they need .* rankgate 99\.0"):
            module.per_query(*frames(spark[1], RUN, GOLD), "mrr")


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, rankgate.Evaluation]:
    """Many results as Parquet in several files, and what `score` makes of them here."""
    folder = tmp_path_factory.mktemp("rows")
    run = f"""SELECT 'q' || q AS query_id, 'd' || hash(q * 1000003 + r) % 100000 AS doc_id,
        (hash(r * 7919 + q) % 1000) / 1000.0::DOUBLE AS score FROM range({QUERIES}) a(q), range({DEPTH}) b(r)"""  # noqa: S608
    gold = f"""SELECT 'q' || q AS query_id, 'd' || hash(q * 1000003 + j * 17) % 100000 AS doc_id, 1 + j AS gain
        FROM range({QUERIES}) a(q), range({JUDGED}) b(j)"""  # noqa: S608
    (folder / "run").mkdir()
    import duckdb

    duckdb.sql(f"COPY ({gold}) TO '{folder / 'gold.parquet'}'")
    for part in range(4):
        rows = f"SELECT * FROM ({run}) WHERE hash(query_id) % 4 = {part}"  # noqa: S608
        duckdb.sql(f"COPY ({rows}) TO '{folder / 'run' / f'{part}.parquet'}'")
    return folder, rankgate.score(gold=folder / "gold.parquet", run=folder / "run", metrics=METRICS)


def test_many_rows_and_an_executor_that_is_killed_in_the_middle(
    spark: tuple[Cluster, SparkSession], many_rows: tuple[Path, rankgate.Evaluation], tmp_path: Path
) -> None:
    from rankgate.metrics.spark import per_query

    running, session = spark
    folder, here = many_rows
    marker, killed = running.folder / "begun", list[int]()

    def mark(batches: Iterator[Any]) -> Iterator[Any]:
        """Say which executor works on the second part of the run, and wait for its end the first time."""
        import os
        import time
        from pathlib import Path

        for batch in batches:
            place = Path(str(marker))
            if not place.exists():
                place.write_text(str(os.getppid()))  # pyspark's daemon, whose parent is the executor
                time.sleep(600)  # ended by the kill, and not by the clock
            yield batch

    def kill() -> None:
        until = time.monotonic() + PATIENCE
        while not (marker.exists() and marker.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        daemon = int(marker.read_text())
        parent = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        assert parent in running.executors()
        os.kill(parent, signal.SIGKILL)
        killed.append(parent)

    run = session.read.parquet(str(folder / "run"))
    frame = per_query(
        run.mapInArrow(mark, run.schema), session.read.parquet(str(folder / "gold.parquet")), METRICS, buckets=16
    )
    killer = threading.Thread(target=kill)
    killer.start()
    frame.write.parquet(str(tmp_path / "values"))
    killer.join()
    assert killed
    assert killed[0] not in running.executors()

    found = pq.read_table(tmp_path / "values").to_pylist()
    assert len(found) == QUERIES
    for row in found:
        for name, expected in here.per_query[row["query_id"]].items():
            assert (row[name] is None) == (expected is None)
            assert expected is None or math.isclose(row[name], expected, rel_tol=0, abs_tol=1e-12)
    assert 0 < running.peak() < MOST


def test_what_the_cluster_computed_is_judged_as_the_run(
    spark: tuple[Cluster, SparkSession], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rankgate.metrics.spark import per_query

    monkeypatch.chdir(tmp_path)
    here = local(tmp_path, RUN, GOLD, metrics="recall@5")
    per_query(*frames(spark[1], RUN, GOLD), "recall@5", buckets=2).write.parquet(str(tmp_path / "values"))
    Path("ship-criteria.yaml").write_text(
        "gates:\n  - {name: recall@5, threshold: 0.4}\ninputs: {gold: gold.parquet}\n"
    )
    assert main(["check", "--run", "per_query:values", "-o", "table.json"]) == main(
        ["check", "--run", "run.parquet", "-o", "run.json"]
    )
    of_table, of_run = (json.loads(Path(name).read_text()) for name in ("table.json", "run.json"))
    assert of_table["gates"] == of_run["gates"]
    assert of_table["gates"][0]["value"] == here["recall@5"]
    assert of_table["queries"]["missing_ids"] == of_run["queries"]["missing_ids"] == ["4", "5"]
