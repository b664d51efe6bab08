"""What a million results cost: from JSONL, from Parquet through DuckDB, and on a Spark cluster of this machine.

    .venv/bin/python scripts/bench_scale.py [QUERIES...]     # of 100 results each; 10000 and 30000 by default

The three are measured one after the other in one run, so that their ratios hold on a busy machine too; CPU time is that
of all processes of each. It needs `.spark`, which `scripts/test --all` sets up. docs/scale.md has what came of it.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from bench_measure import Command, measure

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.spark.cluster import Cluster, cluster, peak_of  # noqa: E402 -- the tests' own cluster

DEPTH, METRICS = 100, "recall@5,recall@10,mrr,ndcg@10,map"
TICKS = os.sysconf("SC_CLK_TCK")
BUCKETS = (4, 32)


def main(sizes: list[int]) -> None:
    """Measure each size, and print a table."""
    print("rows, program, CPU s, wall s, peak MB of a process")
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        with cluster(folder) as running:
            from pyspark.sql import SparkSession  # noqa: PLC0415 -- prints warnings

            session = SparkSession.builder.remote(running.address).getOrCreate()
            try:
                _spark(running, session, _written(folder, 100), 4)  # the first job starts Python and loads classes
                for queries in sizes:
                    place = _written(folder, queries)
                    rows = queries * DEPTH
                    for name in ("run.jsonl", "run.parquet"):
                        print(f"{rows:,}, score {name}, {_score(place, name)}", flush=True)
                    for buckets in BUCKETS:
                        print(
                            f"{rows:,}, Spark in {buckets} buckets, {_spark(running, session, place, buckets)}",
                            flush=True,
                        )
            finally:
                session.stop()


def _written(folder: Path, queries: int) -> Path:
    """A run and judgments, three a query, as Parquet and as JSONL."""
    place = folder / str(queries)
    place.mkdir()
    run = f"""SELECT 'query-' || q AS query_id, 'document-' || hash(q * 1000003 + r) % 1000000 AS doc_id,
        1 - r / 1000.0::DOUBLE AS score FROM range({queries}) a(q), range({DEPTH}) b(r)"""  # noqa: S608
    gold = f"""SELECT 'query-' || q AS query_id, 'document-' || hash(q * 1000003 + j * 7) % 1000000 AS doc_id,
        1 + j AS gain FROM range({queries}) a(q), range(3) b(j)"""  # noqa: S608
    lists = "SELECT query_id, list(doc_id ORDER BY score DESC) AS retrieved FROM read_parquet('{}') GROUP BY 1"
    duckdb.sql(f"COPY ({run}) TO '{place / 'run.parquet'}'")
    duckdb.sql(f"COPY ({gold}) TO '{place / 'gold.parquet'}'")
    duckdb.sql(f"COPY ({lists.format(place / 'run.parquet')}) TO '{place / 'run.jsonl'}' (FORMAT json)")
    return place


def _score(place: Path, run: str) -> str:
    words = (sys.executable, "-m", "rankgate", "score", "--gold", "gold.parquet", "--run", run, "--metrics", METRICS)
    used = measure(Command(words, place))
    return f"{used.cpu:.1f}, {used.wall:.1f}, {used.peak * 1.048576:.0f}"


def _spark(running: Cluster, session: Any, place: Path, buckets: int) -> str:
    from rankgate.spark import per_query  # noqa: PLC0415 -- as above

    read: Callable[[str], Any] = lambda name: session.read.parquet(str(place / f"{name}.parquet"))  # noqa: E731
    began, before = time.perf_counter(), _ticks(running)
    per_query(read("run"), read("gold"), METRICS, buckets=buckets).write.parquet(str(place / f"values{buckets}"))
    wall, cpu = time.perf_counter() - began, (_ticks(running) - before) / TICKS
    workers = [peak_of(each) for each in running.below(running.executors())]
    return f"{cpu:.1f}, {wall:.1f}, {max(workers, default=0) / 1e6:.0f}"


def _ticks(running: Cluster) -> int:
    """What the cluster's processes, and those of them that have ended, have taken of the processors."""
    found = 0
    for process in running.below([os.getpid()]):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += sum(map(int, fields[11:15]))
    return found


if __name__ == "__main__":
    main([int(each) for each in sys.argv[1:]] or [10_000, 30_000])
