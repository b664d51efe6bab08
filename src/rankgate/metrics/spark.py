"""`rankgate.metrics.spark.per_query(...)`: the values of every query, computed on a Spark cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rankgate import __version__, pip_install
from rankgate.errors import Problem, bad_input, on_one_line, shown
from rankgate.metrics.base import Metric
from rankgate.metrics.evaluation import matching_of, metrics_of
from rankgate.metrics.matching import DEFAULT_K, Matching
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.base import ProblemLog
from rankgate.readers.field_map import FieldMap
from rankgate.readers.gold_columns import usual_fields
from rankgate.readers.judgments import read_judgments
from rankgate.readers.mapping import named_in, needed, system_columns
from rankgate.readers.parquet import ID_TYPES, KINDS, NUMBER_TYPES, gathered, row_flaw
from rankgate.readers.rows import Order, ranking_of, refuse_systems
from rankgate.readers.tables import usual_map

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, GroupedData, SparkSession

BUCKETS = 500
MISSING = "missing"  # the column that says that the run lacks the query
RUN, GOLD = "run_df", "gold_df"
MAX_ERROR = 300  # characters of Spark's own
_BUCKET = "rankgate_bucket"
_SYSTEM = "rankgate_system_"  # before the number of a column that names a row's system
# What is read of either table, by the roles of its columns.
_ROLES = {
    RUN: ("query_id", "chunk_id", "score", "rank", "doc_id", "text"),
    GOLD: ("query_id", "chunk_id", "gain", "items"),
}
# What two tables can say; a metric that reads more of a run line or of a sample has no value here.
_READ = frozenset({RunField.DOCS, RunField.TEXTS, RunField.ITEM_SCORES, RunField.JUDGED, RunField.IDS})
# DuckDB's names of Spark's types, and Spark's of what DuckDB would cast to: columns may be what they may be in a file.
_TYPES = {"string": "VARCHAR", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT"}
_TYPES |= {"float": "FLOAT", "double": "DOUBLE", "decimal": "DECIMAL"}
_CASTS = {"VARCHAR": "string", "DOUBLE": "double", "BIGINT": "bigint"}


class _Task(msgspec.Struct, frozen=True):
    """What a worker is told: the names of the metrics, and those of the columns as they reach it."""

    metrics: tuple[str, ...]
    how: Matching
    default_k: int
    run: tuple[str, ...]
    gold: FieldMap
    systems: tuple[str, ...]


def per_query(
    run_df: DataFrame,
    gold_df: DataFrame,
    metrics: str | Sequence[str],
    *,
    match: str | Matching = "chunk",
    default_k: int = DEFAULT_K,
    buckets: int = BUCKETS,
) -> DataFrame:
    """A row a query of the gold set: `query_id`, a double a metric under its canonical name, and `missing`.

    A value is what `rankgate.score` computes of the same rows, null where the metric is undefined; where the run lacks
    the query, `missing` is true and the value the metric's worst. Queries in the run alone are ignored. The result is
    what `rankgate check --run per_query:FILE` reads. It is lazy; a small job before asks the executors what they have.

    Args:
        run_df: a row a result, with the columns of a run as a table: query, document, and score or rank.
        gold_df: a row a judgment: query, document, gain; or a row a query with an array of its relevant ids.
        metrics: names such as `"recall@5,mrr"`, of metrics that read ids, documents, texts and scores of results.
        match: chunk, doc or text, or a `Matching`, as for `rankgate.score`.
        default_k: the cut-off of metrics that state none.
        buckets: into how many parts queries are hashed. A worker has one part of both tables in memory at a time.

    Raises:
        RankgateError: columns, metrics or the cluster are not as needed. What is wrong with a row, such as a score that
            is NaN, ends the job that computes the result: Spark's error has the message.
    """
    try:
        from pyspark.sql import functions as sql  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise bad_input(f"rankgate.metrics.spark needs Spark's client: {pip_install('spark')}") from error

    named, how = metrics_of(metrics), matching_of(match)
    if type(buckets) is not int or buckets < 1:
        raise bad_input(f"buckets must be a whole number from 1 up, not {buckets!r}")
    frames = {RUN: run_df, GOLD: gold_df}
    types = {name: _types_of(frame, name) for name, frame in frames.items()}
    fields = {RUN: usual_map([*types[RUN]], RUN, kind="frame")}
    fields[GOLD] = usual_fields([*types[GOLD]], Problem("", GOLD), kind="frame")
    needs = Plan(metrics=named, how=how).needs
    _refuse_unreadable(named, how, fields)
    _ask_executors(run_df.sparkSession)
    parts: list[GroupedData] = []
    names: dict[str, list[str]] = {}
    systems: list[str] = []
    for name, frame in frames.items():
        roles = {key: column for key, column in named_in(fields[name]).items() if key in _ROLES[name]}
        names[name] = [key for key in roles if needed(key, needs)]
        cells = [_cell(sql.col(_named(roles[key])), key, types[name][roles[key]], name) for key in names[name]]
        if name == RUN:
            systems = [each for each in system_columns([*types[RUN]], fields[RUN]) if types[RUN][each] in ID_TYPES]
            cells += [sql.col(_named(each)).cast("string").alias(f"{_SYSTEM}{at}") for at, each in enumerate(systems)]
        bucket = sql.pmod(sql.xxhash64("query_id"), sql.lit(buckets))
        parts.append(frame.select(*cells).withColumn(_BUCKET, bucket).groupBy(_BUCKET))
    roles_of_gold: dict[str, Any] = {key: key for key in names[GOLD]}
    gold = FieldMap(**roles_of_gold)
    task = _Task(tuple(each.name for each in named), how, default_k, tuple(names[RUN]), gold, tuple(systems))

    def score_bucket(run_part: Any, gold_part: Any) -> Any:
        return _scored(task, run_part, gold_part)

    columns = ["query_id string", *(f"{_named(each.name)} double" for each in named), f"{MISSING} boolean"]
    return parts[0].cogroup(parts[1]).applyInArrow(score_bucket, ", ".join(columns))


def _named(column: str) -> str:
    """A column's name in Spark's SQL, where a dot would reach into a struct."""
    return "`" + column.replace("`", "``") + "`"


def _types_of(frame: Any, name: str) -> dict[str, str]:
    """The columns of a DataFrame with DuckDB's names of their types, so that a table is read as a file would be."""
    if not hasattr(frame, "sparkSession"):
        kind = type(frame).__name__
        raise bad_input(f"is a {kind}; give a Spark DataFrame of your session, as spark.read.parquet(…)", file=name)
    if getattr(frame.sparkSession, "is_stopped", False):
        raise bad_input("belongs to a Spark session that is stopped; make it again in one that runs", file=name)
    try:
        return {column: _TYPES.get(kind.partition("(")[0], kind) for column, kind in frame.dtypes}
    except Exception as error:  # the client's errors are gRPC's, Spark's and Python's
        raise bad_input(f"Spark does not tell its columns: {_first_line(error)}", file=name) from error


def _cell(column: Column, key: str, kind: str, name: str) -> Column:
    """A column as the type that it is read as, under the name of what it holds; one of another kind is an error."""
    if key in KINDS:
        kinds, read_as, expected = KINDS[key]
        if kind not in kinds:
            raise bad_input(f"the column for {key} is of type {kind}; {expected}", file=name)
        column = column.cast(_CASTS[read_as])
    elif kind in NUMBER_TYPES:
        column = column.cast("double")
    return column.alias(key)


def _refuse_unreadable(metrics: Sequence[Metric], how: Matching, fields: Mapping[str, FieldMap]) -> None:
    """Refuse what two tables do not say."""
    for metric in metrics:
        unread = [need.value for need in metric.needs - _READ] or [*metric.gold_keys]
        if unread:
            raise bad_input(f"{metric.name} reads {', '.join(sorted(unread))}, which these tables do not have")
    if how.needs - _READ:
        raise bad_input(f"match={how.by.value!r} reads places in documents, which these tables do not have")
    if RunField.TEXTS in Plan(metrics=metrics, how=how).needs and fields[RUN].text is None:
        raise bad_input("has no column `text`, which the metrics or the matching read", file=RUN)
    if (fields[GOLD].gain or "").casefold() == "score":
        raise bad_input("the column 'score' could be that of a run; if it has the gains, rename it to gain", file=GOLD)


def _ask_executors(session: SparkSession) -> None:
    """Refuse a cluster whose workers cannot run this code, or run that of another version."""

    def ask(_: Iterator[Any]) -> Iterator[Any]:
        import pyarrow  # noqa: ICN001, PLC0415 -- of the worker

        import rankgate.metrics.scoring  # noqa: PLC0415 -- as above

        yield pyarrow.RecordBatch.from_pydict({"version": [rankgate.__version__]})

    python = ".".join(map(str, sys.version_info[:2]))
    wanted = f"Python {python} with pyspark's worker, pyarrow and rankgate {__version__}"
    try:
        version = session.range(1).mapInArrow(ask, "version string").collect()[0][0]
    except Exception as error:  # as in `_types_of`
        remedy = "set PYSPARK_PYTHON to one where the Spark driver, or its Connect server, is started"
        raise bad_input(f"the executors cannot run this: {_first_line(error)}. They need {wanted}; {remedy}") from error
    if version != __version__:
        raise bad_input(f"the executors have rankgate {version}; they need {wanted}")


def _first_line(error: Exception) -> str:
    """The last line of a worker's traceback, else the first of the message: what a reader looks for in either."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if ("Error:" in line or "Exception:" in line) and not line.startswith("at ")]
    return on_one_line((raised or lines or [type(error).__name__])[-1 if raised else 0])[:MAX_ERROR]


def _scored(task: _Task, run: Any, gold: Any) -> Any:
    """One bucket: its part of both tables, as Arrow, to a table of values."""
    import pyarrow  # noqa: ICN001, PLC0415 -- of the worker

    plan = Plan(metrics=metrics_of(task.metrics), default_k=task.default_k, how=task.how)
    log = ProblemLog()
    records = ((Problem("", GOLD), record) for batch in gold.to_batches() for record in batch.to_pylist())
    samples = read_judgments(task.gold, records, log)
    log.raise_if_any()
    scores = score(Gold(samples=samples, name=GOLD, format="spark"), _rankings(task, run, plan.needs), plan)
    columns = {"query_id": [*scores.query_ids], **scores.values}
    columns[MISSING] = [query_id in scores.missing for query_id in scores.query_ids]
    kinds = [pyarrow.string(), *[pyarrow.float64()] * len(scores.values), pyarrow.bool_()]
    return pyarrow.table(columns, pyarrow.schema([*zip(columns, kinds, strict=True)]))


def _rankings(task: _Task, run: Any, needs: frozenset[RunField]) -> Iterator[Ranking]:
    """The rankings of a part of the run. Sorted, its rows become Python's one query at a time."""
    ordered = [key for key in ("score", "rank") if key in task.run]
    order = Order.of(scored="score" in ordered, ranked="rank" in ordered)
    stated = [f"{_SYSTEM}{at}" for at in range(len(task.systems))]
    log = ProblemLog()
    rows = run.select([*task.run, *stated]).sort_by("query_id")
    start = 0
    counts = rows["query_id"].combine_chunks().value_counts().to_pylist()
    for query_id, count in ((each["values"], each["counts"]) for each in counts):
        results = rows.slice(start, count).to_pylist()
        start += count
        flaws = (row_flaw(each["chunk_id"], {key: each[key] for key in ordered}) for each in results)
        try:
            if query_id is None:
                raise ValueError("a row has no query id")
            if flaw := min(filter(None, flaws), default=None):
                raise ValueError(f"query {shown(query_id)}: {flaw}")
            answer = gathered(results, needs)
            for name, key in zip(task.systems, stated, strict=True):
                answer.tags |= {(name, tag): None for tag in sorted({each[key] for each in results if each[key]})}
            refuse_systems(query_id, answer, RUN)
            yield ranking_of(query_id, answer, order, needs)
        except ValueError as error:
            log.add(Problem(str(error), RUN))
    log.raise_if_any()
