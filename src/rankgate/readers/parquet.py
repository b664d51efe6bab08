"""Runs as Parquet, read through DuckDB: the one format that needs an extra, and that cannot be streamed in."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rankgate import pip_install
from rankgate.errors import Problem, bad_input, on_one_line, redacted_text, shown
from rankgate.model.values import Ranking, RunField
from rankgate.readers.base import ProblemLog
from rankgate.readers.buckets import cloud_at
from rankgate.readers.field_map import DOC, QUERY, FieldMap, named
from rankgate.readers.gzipped import refuse_expansion
from rankgate.readers.json_text import not_finite
from rankgate.readers.mapped import read_records
from rankgate.readers.mapping import MissingNameError, advice, named_in, needed, system_columns
from rankgate.readers.recognition import Likeness, RunFormat
from rankgate.readers.rows import Gathered, Order, Row, ranking_of, refuse_systems
from rankgate.readers.source import MAGIC, Source, has_wildcard, shown_path
from rankgate.readers.tables import usual_map

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

INSTALL = f"{pip_install('parquet')} (in the action: extras: parquet)"
_BATCH, _THREADS = 1_000, 2
_HIDDEN = re.compile(r"(?:^|/)[_.]")  # what Spark and Hive keep beside their rows
_LOG = re.compile(r"(?:^|/)(?:_delta_log|\.hoodie)/|\.metadata\.json$")
_ADDRESS = re.compile(r"(?!file:|local:)(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<place>[^?#\s]+)", re.IGNORECASE)
_ROWS = msgspec.json.Decoder(list[dict[str, Any]])
# DuckDB's names for the types that can be what a column is for, and what the column is read as.
_WHOLE = frozenset({*("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")})
NUMBER_TYPES = _WHOLE | {"HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL"}
ID_TYPES = _WHOLE | {"HUGEINT", "UHUGEINT", "VARCHAR", "ENUM", "UUID"}
_TEXT = ID_TYPES | {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"}
KINDS: dict[str, tuple[frozenset[str], str, str]] = {
    **dict.fromkeys(("query_id", "chunk_id", "doc_id"), (ID_TYPES, "VARCHAR", "ids are texts or whole numbers")),
    "score": (NUMBER_TYPES, "DOUBLE", "scores are numbers"),
    "rank": (_WHOLE, "BIGINT", "ranks are whole numbers"),
    **dict.fromkeys(("start", "end"), (_WHOLE, "BIGINT", "offsets are whole numbers")),
    **dict.fromkeys(("text", "doc_version"), (_TEXT, "VARCHAR", "expected text")),
    "latency_ms": (NUMBER_TYPES, "DOUBLE", "expected milliseconds as a number"),
}


def _read(source: Source, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a table with one result a row and columns of usual names, queries in the order of their ids."""
    with opened(source) as file:
        _refuse_lists(file)
        yield from _results(file, usual_map(list(file.columns), file.name), needs, log)


def _refuse_lists(file: ParquetFile) -> None:
    """Refuse, with the map to write, a table with a query's list of results in a row, and no column of documents."""
    lists = [name for name, kind in file.columns.items() if kind.endswith("]")]
    if not lists or named(DOC, file.columns):
        return
    queries = named(QUERY, file.columns)
    roles: dict[str, str | None] = {"query_id": queries[0] if len(queries) == 1 else None, "items": lists[0]}
    if file.columns[lists[0]].startswith("STRUCT"):
        roles["chunk_id"] = None
    what = f"{shown(lists[0])} holds lists, a query's results in one row"
    raise bad_input(f"{what}; {advice(roles, 'run')}", file=file.name)


def read_mapped_parquet(
    fields: FieldMap, source: Source, needs: frozenset[RunField], log: ProblemLog
) -> Iterator[Ranking]:
    """Rankings from a table whose columns a map names; with `items`, each row is a query with a list of results."""
    with opened(source) as file:
        if fields.items is None:
            yield from _results(file, fields, needs, log)
        else:
            yield from read_records(fields, file.records(fields), file.name, needs, log)


class ParquetFile:
    """What DuckDB reads as one table: a Parquet file, or all that a folder, a pattern or an address names."""

    def __init__(self, source: Source, connection: DuckDBPyConnection) -> None:
        self.name = source.name
        self.connection = connection
        # Directories called key=value are no columns here; by the first part's types 0.5 would be 0 where that has 1.
        options = "hive_partitioning = false, binary_as_string = true, union_by_name = true"
        parts = [_pattern(source.file.path)] if source.file else []
        if source.spread:
            parts = self._parts(source.spread)
        self.paths = "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in parts) + "]"
        self.folders = {path.rpartition("/")[0] for path in parts}
        options += ", filename = true" if len(self.folders) > 1 else ""
        self.table = f"read_parquet({self.paths}, {options})"
        sizes = f"SELECT sum(greatest(total_uncompressed_size, num_values)) FROM parquet_metadata({self.paths})"  # noqa: S608
        [(unpacked,)] = self.rows(sizes)
        [(packed,)] = self.rows(f"SELECT sum(size) FROM read_blob({self.paths})")  # noqa: S608
        refuse_expansion(int(unpacked or 0), int(packed), self.name)
        self.columns = self._types(f"FROM {self.table}")

    def _parts(self, spread: str) -> list[str]:
        """The Parquet files of a folder, a pattern or an address, without what Spark hides (`_…`, `.…`)."""
        if "://" in spread:
            cloud, path = cloud_at(spread, _ADDRESS)
            self.connection.register_filesystem(cloud)
            root = cloud.unstrip_protocol(path)
            top = root
        else:
            root = os.path.abspath(spread)  # noqa: PTH100
            top = _pattern(spread)
        many = has_wildcard(spread)
        listed = self._glob(root) if many else self._glob(f"{top}/**") or self._glob(top)
        folders = {each.rpartition("/")[0] for each in listed}  # which fsspec lists too
        files = [each for each in listed if each not in folders]
        stem = re.split(r"[*?]", root)[0].rpartition("/")[0] if many else root  # what is named hides nothing
        below = {each: each.removeprefix(stem) for each in files}
        if log := next((each for each in below.values() if _LOG.search(each)), None):
            what = f"is a table whose log ({log.lstrip('/')}) says which of its files count"
            raise bad_input(f"{what}; let the tool that keeps it write its rows as plain Parquet", file=self.name)
        rows = [each for each in files if each.endswith(".parquet") and not _HIDDEN.search(below[each])]
        if not rows:
            what = "holds no Parquet file (*.parquet); a folder, a pattern or an address is read as Parquet alone"
            raise bad_input(what, file=self.name)
        return [each if "://" in each else _pattern(each) for each in rows]

    def _glob(self, pattern: str) -> list[str]:
        return [file for (file,) in self.rows("SELECT file FROM glob(?) ORDER BY 1", pattern)]

    def _types(self, query: str) -> dict[str, str]:
        return {str(row[0]): str(row[1]) for row in self.rows(f"DESCRIBE {query}")}

    def rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, some at a time."""
        cursor = self.connection.cursor()
        cursor.execute(query, values or None)
        while batch := cursor.fetchmany(_BATCH):
            yield from batch

    def twice(self, columns: Iterable[str]) -> str | None:
        """The first of these columns that a file has more than once: DuckDB, blind to case, reads the first of them."""
        same = f"SELECT lower(name) FROM parquet_schema({self.paths}) GROUP BY file_name, 1 HAVING count(*) > 1"  # noqa: S608
        repeated = {name for (name,) in self.rows(same)}
        return next((each for each in columns if each.lower() in repeated), None)

    def column(self, key: str, name: str) -> tuple[str, str]:
        """A column, or a field of one by dots, as expression and type; a MissingNameError where there is none."""
        if name in self.columns:
            return quoted(name), self.columns[name]
        first, *rest = name.split(".")
        expression = quoted(first)
        kind = self.columns.get(first)
        known = list(self.columns)
        for field in rest:
            if kind is None or not kind.startswith("STRUCT"):
                break
            inner = self._types(f"SELECT unnest({expression}) FROM {self.table} LIMIT 0")  # noqa: S608 -- quoted
            expression, kind = f"{expression}.{quoted(field)}", inner.get(field)
            known += [f"{first}.{each}" for each in inner]
            first = f"{first}.{field}"
        if kind is None or first != name:
            raise MissingNameError(key, name, "the file", known)
        return expression, kind

    def records(self, fields: FieldMap | None = None) -> Iterator[tuple[Problem, Any]]:
        """Rows as objects with the columns that the map reaches into; with all of them where there is no map."""
        names = named_in(fields).values()
        roots = list(dict.fromkeys(name if name in self.columns else name.split(".")[0] for name in names))
        columns = [name for name in roots if name in self.columns] or list(self.columns)
        location = Problem("", self.name)
        for row in self.rows(f"SELECT {', '.join(map(quoted, columns))} FROM {self.table}"):  # noqa: S608 -- quoted
            yield location, dict(zip(columns, row, strict=True))


def _pattern(path: str) -> str:
    """The path as DuckDB takes it: as a pattern, and with `scheme://` for elsewhere, which no absolute path has."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in os.path.abspath(path))  # noqa: PTH100


def quoted(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def _results(file: ParquetFile, fields: FieldMap, needs: frozenset[RunField], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings of a table with one result a row: DuckDB groups the rows, and hands those of a query over as JSON."""
    columns = _columns(file, fields, needs, log)
    query = columns.pop("query_id")
    times = columns.pop("latency_ms", "NULL")
    ordering = {key: columns[key] for key in ("score", "rank") if key in columns}
    missing = (f"nullif({columns['chunk_id']}, '')", *ordering.values())
    flawed = " OR ".join(f"{cell} IS NULL" for cell in missing)
    flawed += f" OR NOT isfinite({columns['score']})" if "score" in columns else ""
    packed = ", ".join(f"{key} := {expression}" for key, expression in columns.items())
    folder = "parse_dirpath(filename)" if len(file.folders) > 1 else "''"
    systems = [
        name for name in system_columns(file.columns, fields) if file.columns[name].partition("(")[0] in ID_TYPES
    ]
    cells = [
        query,
        f"count(*) FILTER ({flawed})",
        f"to_json(list(struct_pack({packed})))",
        f"any_value({times})",
        f"min({folder})",
        f"max({folder})",
    ]
    for name in systems:
        tag = f"nullif(CAST({quoted(name)} AS VARCHAR), '')"
        cells.append(f"list_sort(list_distinct(list({tag})))")
    order = Order.of(scored="score" in columns, ranked="rank" in columns)
    select = f"SELECT {', '.join(cells)} FROM {file.table} GROUP BY 1 ORDER BY 1"  # noqa: S608 -- quoted
    for query_id, wrong, rows, latency, first_folder, last_folder, *stated in file.rows(select):
        if first_folder != last_folder:  # as of two days or two systems
            places = " and in ".join(map(shown_path, (first_folder, last_folder)))
            what = f"query {shown(query_id)} has rows in {places}, which are two runs; name the folder of one"
            raise bad_input(what, file=file.name)
        try:
            if not query_id:
                raise ValueError("a row has no query id")
            if wrong:
                select = f"SELECT {', '.join([columns['chunk_id'], *ordering.values()])} FROM {file.table}"  # noqa: S608
                doc, *values = next(file.rows(f"{select} WHERE {query} = ? AND ({flawed}) ORDER BY 1", query_id))
                flaw = row_flaw(doc, dict(zip(ordering, values, strict=True)))
                raise ValueError(f"query {shown(query_id)}: {flaw}")
            results = gathered(_ROWS.decode(rows), needs)
            results.times = None if latency is None or math.isnan(latency) else {"total": latency}
            results.tags = {(name, tag): None for name, each in zip(systems, stated, strict=True) for tag in each}
            refuse_systems(query_id, results, file.name)
            yield ranking_of(query_id, results, order, needs)
        except ValueError as error:
            log.add(Problem(str(error), file.name))
    log.raise_if_any()


def gathered(results: list[dict[str, Any]], needs: frozenset[RunField]) -> Gathered:
    """A query's rows, each a mapping of what its columns hold."""
    keys = [key for key in ("doc_id", "doc_version", "text", "start", "end") if needed(key, needs)]
    if RunField.ITEM_SCORES in needs:
        keys.append("score")
    rows: list[Row] = []
    for result in results:
        extras = {key: result[key] for key in keys if result.get(key) is not None}
        rows.append(Row(result["chunk_id"], result.get("score", 0.0), result.get("rank", 0), extras or None))
    return Gathered(None, rows)


def row_flaw(doc: str | None, ordering: Mapping[str, float | None]) -> str | None:
    """What is wrong with a row: no id of a result, or a score or a rank that is missing or not finite."""
    if not doc:
        return "a row has no id of a result"
    for what, value in ordering.items():
        if value is None:
            return f"the {what} of {shown(doc)} is missing"
        if not math.isfinite(value):
            return not_finite(doc, value)
    return None


def _columns(file: ParquetFile, fields: FieldMap, needs: frozenset[RunField], log: ProblemLog) -> dict[str, str]:
    """The expression of each column that is read, under the map's key."""
    columns: dict[str, str] = {}
    for key, (kinds, read_as, expected) in KINDS.items():
        name = getattr(fields, key)
        if name is None or not needed(key, needs):
            continue
        try:
            expression, kind = file.column(key, name)
        except MissingNameError as error:
            log.add(error.at(Problem("", file.name)))
            continue
        if kind.partition("(")[0] not in kinds:
            log.add(Problem(f"the column {shown(name)} is of type {kind}; {expected}", file.name))
        columns[key] = f"{'-' if key == 'score' and fields.sign < 0 else ''}CAST({expression} AS {read_as})"
    log.raise_if_any()
    return columns


@contextmanager
def opened(source: Source) -> Iterator[ParquetFile]:
    """The file in DuckDB."""
    if source.file is None and not source.spread:
        message = "Parquet is read from a file of its own, neither from a pipe nor gzipped; it is compressed within"
        raise bad_input(message, file=source.name)
    if not source.head.startswith(MAGIC):
        raise bad_input("not a Parquet file", file=source.name)
    try:
        import duckdb  # noqa: PLC0415 -- an extra, and a tenth of a second
    except ImportError as error:
        raise bad_input(f"reading Parquet needs DuckDB: {INSTALL}", file=source.name) from error
    import tempfile  # noqa: PLC0415 -- paid only for Parquet

    # No extension is ever fetched; what does not fit in memory goes where temporary files go.
    settings: dict[str, Any] = {"threads": _THREADS, "temp_directory": tempfile.gettempdir()}
    settings |= dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), False)
    try:
        with duckdb.connect(":memory:", config=settings) as connection:
            yield ParquetFile(source, connection)
    except duckdb.Error as error:
        path = _pattern(source.file.path) if source.file else f"{Path.cwd()}/"
        message = next(line for line in str(error).split("\n") if not line.startswith(("Traceback", " ")))  # of fsspec
        what = redacted_text(message.replace(path, source.name if source.file else ""))
        raise bad_input(f"cannot be read as Parquet: {on_one_line(what)}", file=source.name) from error


RUN = RunFormat(
    recognise=lambda start: Likeness.sure(start.head.startswith(MAGIC)),
    read=_read,
    shape="the same columns; a file, a folder, a pattern or an address; needs the extra `parquet`",
    order="the score, or else the rank",
)
