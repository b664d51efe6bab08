"""Runs as Parquet, read through DuckDB: the one format that needs an extra, and that cannot be streamed in."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rankgate.errors import Problem, bad_input, on_one_line, redacted_text, shown
from rankgate.model.values import Need, Ranking
from rankgate.readers.base import ProblemLog, once
from rankgate.readers.gzipped import refuse_expansion
from rankgate.readers.json_text import not_finite
from rankgate.readers.mapped import read_records
from rankgate.readers.mapping import FieldMap, MissingNameError, named_in, needed
from rankgate.readers.recognition import Likeness, RunFormat
from rankgate.readers.rows import Gathered, Order, Row, ranking_of
from rankgate.readers.source import Source, cloud_at, cloud_reason, parts_of, shown_path
from rankgate.readers.tables import usual_map

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAGIC = b"PAR1"
INSTALL = "pip install 'rankgate[parquet]' (in the action: extras: parquet)"
_BATCH, _THREADS = 1_000, 2
_SLICE, _MAX_SLICES = 1_000_000, 8  # rows, at least, and slices
_HIDDEN = re.compile(r"(?:^|/)[_.]")  # what Spark and Hive keep beside their rows
_LOG = re.compile(r"(?:^|/)(?:_delta_log|\.hoodie)/|\.metadata\.json$")
_ADDRESS = re.compile(r"(?!file:|local:)(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<place>[^?#\s]+)", re.IGNORECASE)
_IDS = msgspec.json.Decoder(list[str])
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


def _read(source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a table with one result a row and columns of usual names, queries in the order of their ids."""
    with opened(source) as file:
        yield from _results(file, usual_map(list(file.columns), file.name), needs, log)


def read_mapped_parquet(fields: FieldMap, source: Source, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings from a table whose columns a map names; with `items`, each row is a query with a list of results."""
    with opened(source) as file:
        if fields.items is None:
            yield from _results(file, fields, needs, log)
        else:
            yield from read_records(fields, file.records(fields), file.name, needs, log)


class ParquetFile:
    """A Parquet file in DuckDB, or many as one: the columns with their types, and queries over it."""

    def __init__(self, source: Source, connection: DuckDBPyConnection) -> None:
        self.name = source.name
        self.connection = connection
        # Directories called key=value are no columns here; by the first part's types 0.5 would be 0 where that has 1.
        options = "hive_partitioning = false, binary_as_string = true, union_by_name = true"
        parts = {_pattern(source.file.path): source.file.size} if source.file else source.parts
        paths = "[" + ", ".join("'" + path.replace("'", "''") + "'" for path in parts) + "]"
        unpacked = f"SELECT sum(greatest(total_uncompressed_size, num_values)) FROM parquet_metadata({paths})"  # noqa: S608
        refuse_expansion(int(next(self.rows(unpacked))[0] or 0), sum(parts.values()), self.name)
        self.paths = paths
        self.table = f"read_parquet({paths}, {options})"
        self.named = f"read_parquet({paths}, {options}, filename = true)"
        self.folders = {path.rpartition("/")[0] for path in parts}
        self.columns = self._types(f"FROM {self.table}")

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
        found = {name for (name,) in self.rows(same)}
        return next((each for each in columns if each.lower() in found), None)

    def column(self, key: str, name: str) -> tuple[str, str]:
        """A column, or a field of one by dots, as expression and type; a MissingNameError where there is none."""
        if name in self.columns:
            return quoted(name), self.columns[name]
        first, *rest = name.split(".")
        expression, kind, known = quoted(first), self.columns.get(first), list(self.columns)
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
        place = Problem("", self.name)
        for row in self.rows(f"SELECT {', '.join(map(quoted, columns))} FROM {self.table}"):  # noqa: S608 -- quoted
            yield place, dict(zip(columns, row, strict=True))


def _pattern(path: str) -> str:
    """The path as DuckDB takes it: as a pattern, and with `scheme://` for elsewhere, which no absolute path has."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in os.path.abspath(path))  # noqa: PTH100


@contextmanager
def open_parts(path: str) -> Iterator[Source]:
    """The Parquet files of a folder, a pattern or an address as one source, without what Spark hides (`_…`, `.…`)."""
    name, cloud, root = shown_path(path), None, path
    many = any(sign in path for sign in "*?") and not Path(path).is_dir()
    if "://" in path:
        cloud, root = cloud_at(path, _ADDRESS)
        try:
            infos = {
                each: info
                for top in (cloud.glob(root) if many else [root])
                for each, info in cloud.find(top, detail=True).items()
            }
            sizes = {each: int(info.get("size") or cloud.size(each) or 0) for each, info in infos.items()}
        except Exception as error:  # noqa: BLE001 -- every store has its own errors
            raise bad_input(cloud_reason(error), file=name) from None
    else:
        sizes = {each: Path(each).stat().st_size for each in parts_of(path) if Path(each).is_file()}
    stem = re.split(r"[*?]", root)[0].rpartition("/")[0] if many else os.path.normpath(root)
    below = {each: each.removeprefix(stem) for each in sorted(sizes)}  # what is named hides nothing
    if log := next((each for each in below.values() if _LOG.search(each)), None):
        said = f"is a table whose log ({log.lstrip('/')}) says which of its files count"
        raise bad_input(f"{said}; let the tool that keeps it write its rows as plain Parquet", file=name)
    rows = [each for each in below if not _HIDDEN.search(below[each])]
    named = [each for each in rows if each.endswith(".parquet")]
    named = named or [each for each in rows if cloud or Path(each).read_bytes()[: len(MAGIC)] == MAGIC]
    if not named:
        raise bad_input("holds no Parquet file; a folder, a pattern or an address is read as Parquet alone", file=name)
    parts = {cloud.unstrip_protocol(each) if cloud else _pattern(each): sizes[each] for each in named}
    yield Source(name, io.BytesIO(), MAGIC, share_read=lambda: 0.0, parts=parts, cloud=cloud)


def quoted(column: str) -> str:
    """A column's name in SQL."""
    return '"' + column.replace('"', '""') + '"'


def _results(file: ParquetFile, fields: FieldMap, needs: frozenset[Need], log: ProblemLog) -> Iterator[Ranking]:
    """Rankings of a table with one result a row.

    DuckDB groups the rows, a slice of the queries at a time. Where ids alone are wanted it sorts them too, and hands
    them over as JSON, which is many times as fast as its own way of making Python lists.
    """
    columns = _columns(file, fields, needs, log)
    query, doc, score, rank = columns["query_id"], columns["chunk_id"], columns.get("score"), columns.get("rank")
    if len(file.folders) > 1:
        _refuse_scattered(file, query)
    flaws = [f"{doc} IS NULL", *([f"{score} IS NULL OR NOT isfinite({score})"] if score else [])]
    flawed = " OR ".join(flaws + ([f"{rank} IS NULL"] if rank else []))
    plain = all(needed(key, frozenset()) for key in columns) and Need.ITEM_SCORES not in needs
    by_sql = _order(file, query, doc, score, rank) if plain and score else None
    packed = ", ".join(f"{key} := {expression}" for key, expression in columns.items() if key != "query_id")
    rows = f"to_json(list({doc} ORDER BY {by_sql}))" if by_sql else f"list(struct_pack({packed}))"
    order = Order.of(scored=score is not None, ranked=rank is not None)
    for where, *values in _slices(file, query, log):
        select = f"SELECT {query}, count(*) FILTER ({flawed}), {rows} FROM {file.table} {where} GROUP BY 1 ORDER BY 1"  # noqa: S608
        for query_id, wrong, results in file.rows(select, *values):
            if wrong:
                ordering = {"score": score, "rank": rank}
                cells = ", ".join([doc, *filter(None, ordering.values())])
                select = f"SELECT {cells} FROM {file.table} WHERE {query} = ? AND ({flawed}) ORDER BY 1"  # noqa: S608
                culprit, *found = next(file.rows(select, query_id))
                flaw = row_flaw(culprit, dict(zip(filter(ordering.get, ordering), found, strict=True)))
                log.add(Problem(f"query {shown(query_id)}: {flaw}", file.name))
            elif by_sql:
                yield Ranking(query_id, *once(_IDS.decode(results)))
            else:
                try:
                    yield ranking_of(query_id, gathered(results, needs), order, needs)
                except ValueError as error:
                    log.add(Problem(str(error), file.name))
    log.raise_if_any()


def _refuse_scattered(file: ParquetFile, query: str) -> None:
    """Refuse parts of several runs: a query that has rows in two folders, as of two days or two systems."""
    rows = f"SELECT {query} AS q, regexp_replace(filename, '/[^/]*$', '') AS folder FROM {file.named}"  # noqa: S608
    twice = f"SELECT q, min(folder), max(folder) FROM ({rows}) GROUP BY 1 HAVING min(folder) < max(folder) ORDER BY 1"  # noqa: S608
    for query_id, *folders in file.rows(f"{twice} LIMIT 1"):
        what = f"query {shown(query_id)} has rows in {' and in '.join(map(shown_path, folders))}, which are two runs"
        raise bad_input(f"{what}; name the folder of one", file=file.name)


def _slices(file: ParquetFile, query: str, log: ProblemLog) -> Iterator[tuple[str, *tuple[str, ...]]]:
    """Conditions that together hold for every row with a query id, each for some whole queries, in their order.

    Grouping takes memory for all rows that it is given, and reading the file again for each slice takes time.
    """
    if next(file.rows(f"SELECT count(*) FROM {file.table} WHERE {query} IS NULL"))[0]:  # noqa: S608
        log.add(Problem("a row has no query id", file.name))
    counted = f"SELECT {query} AS id, count(*) AS n FROM {file.table} WHERE {query} IS NOT NULL GROUP BY 1"  # noqa: S608
    size = f"greatest({_SLICE}, sum(n) OVER () // {_MAX_SLICES})"
    numbered = f"SELECT id, sum(n) OVER (ORDER BY id) // {size} AS slice FROM ({counted})"  # noqa: S608
    last = ""
    for (end,) in file.rows(f"SELECT max(id) FROM ({numbered}) GROUP BY slice ORDER BY slice"):  # noqa: S608
        # The empty text is an id too.
        yield f"WHERE {query} {'>' if last else '>='} ? AND {query} <= ?", last, end
        last = end


def _order(file: ParquetFile, query: str, doc: str, score: str, rank: str | None) -> str | None:
    """What orders a query's results in SQL; None where ranks are not known to agree with the scores.

    They do if any sequence of all rows has queries ascending, within them scores descending and within those ranks
    ascending. The rows as they stand in the file often are one; else they are sorted.
    """
    if rank is None:
        return f"{score} DESC, {doc} DESC"
    rows = f"SELECT {query} AS q, {score} AS s, {rank} AS r FROM {file.table} WHERE {query} IS NOT NULL"  # noqa: S608
    before = ", ".join(f"lag({column}) OVER w AS {column}_" for column in "qsr")
    follows = "q_ IS NULL OR q > q_ OR (q = q_ AND s <= s_ AND r >= r_)"
    counts = f"count(*) FILTER (NOT coalesce({follows}, false)), count(*) FILTER (q = q_ AND r = r_)"
    for order in ("", "ORDER BY q, s DESC, r"):
        pairs = f"SELECT *, {before} FROM ({rows}) WINDOW w AS ({order})"  # noqa: S608
        wrong, ties = next(file.rows(f"SELECT {counts} FROM ({pairs})"))  # noqa: S608
        if not wrong:
            return f"{score} DESC, {rank}, {doc} DESC" if ties else rank
    return None


def gathered(results: list[dict[str, Any]], needs: frozenset[Need]) -> Gathered:
    """A query's rows, each a mapping of what its columns hold."""
    keys = [key for key in ("doc_id", "doc_version", "text", "start", "end") if needed(key, needs)]
    keys += ["score"] * (Need.ITEM_SCORES in needs)
    extras = [{key: each[key] for key in keys if each.get(key) is not None} or None for each in results]
    rows = [
        Row(each["chunk_id"], each.get("score", 0.0), each.get("rank", 0), extra)
        for each, extra in zip(results, extras, strict=True)
    ]
    times = [time for each in results if (time := each.get("latency_ms")) is not None]
    return Gathered(None, rows, {"total": times[0]} if times else None)


def row_flaw(doc: str | None, ordering: Mapping[str, float | None]) -> str | None:
    """What is wrong with a row: no id of a result, or a score or a rank that is missing or not finite."""
    if doc is None:
        return "a row has no id of a result"
    for what, value in ordering.items():
        if value is None:
            return f"the {what} of {shown(doc)} is missing"
        if not math.isfinite(value):
            return not_finite(doc, value)
    return None


def _columns(file: ParquetFile, fields: FieldMap, needs: frozenset[Need], log: ProblemLog) -> dict[str, str]:
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
    if source.file is None and not source.parts:
        message = "Parquet is read from a file of its own, neither from a pipe nor gzipped; it is compressed within"
        raise bad_input(message, file=source.name)
    if not source.head.startswith(MAGIC):
        raise bad_input("not a Parquet file", file=source.name)
    try:
        import duckdb  # noqa: PLC0415 -- an extra, and a tenth of a second
    except ImportError as error:
        raise bad_input(f"reading Parquet needs DuckDB: {INSTALL}", file=source.name) from error
    import tempfile  # noqa: PLC0415 -- paid only for Parquet

    # Nothing is ever fetched; what does not fit in memory goes where temporary files go.
    settings: dict[str, Any] = {"threads": _THREADS, "temp_directory": tempfile.gettempdir()}
    settings |= dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), False)
    try:
        with duckdb.connect(":memory:", config=settings) as connection:
            if source.cloud:
                connection.register_filesystem(source.cloud)
            yield ParquetFile(source, connection)
    except duckdb.Error as error:
        own = _pattern(source.file.path) if source.file else f"{Path.cwd()}/"
        what = redacted_text(str(error).partition("\n")[0].replace(own, source.name if source.file else ""))
        raise bad_input(f"cannot be read as Parquet: {on_one_line(what)}", file=source.name) from error


RUN = RunFormat(
    recognise=lambda start: Likeness.sure(start.head.startswith(MAGIC)),
    read=_read,
    shape="the same columns; a file, a folder, a pattern or an address; needs `pip install 'rankgate[parquet]'`",
    order="the score, or else the rank",
)
