"""Which format a file has, told from how it begins; a file of the other kind gets an error that says so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

import msgspec

from rankgate.errors import bad_input, shown
from rankgate.readers.delimited import RAGAS_CSV, first_row, header_of, separator_of
from rankgate.readers.llama_index import QUERIES, RELEVANT
from rankgate.readers.msmarco import MSMARCO_COLUMNS, columns_of
from rankgate.readers.parquet import MAGIC
from rankgate.readers.qrels import BEIR_COLUMNS, QRELS_COLUMNS
from rankgate.readers.ragas import QUESTION
from rankgate.readers.score_dicts import MTEB_KEY
from rankgate.readers.source import Source
from rankgate.readers.tables import QUERY_NAMES, RAGAS_NAMES, whole_number
from rankgate.readers.trec import RUN_COLUMNS, finite_number

_LISTS = frozenset({"topk", "retrieved", "actual_output", "actualOutput"})
_LINE_KEYS = _LISTS | {"query_id"}
_LARGEST_USUAL_GAIN = 10
_NO_RUN = "no run format starts like that; JSONL, JSON and CSV of another shape are read with `map:` under inputs.run"
_ENOUGH = 1 << 20  # bytes of a file of one endless line to look at
_STRING = r'"(?:[^"\\]|\\.)*+"'
# The first query of {query: {document: number}} that has a document; queries before it may have none.
_FIRST_SCORES = (
    rf"\s*\{{\s*(?:{_STRING}\s*:\s*\{{\s*\}}\s*,\s*)*+(?P<query>{_STRING})\s*:\s*"
    rf"(?P<scores>\{{\s*(?:{_STRING}\s*:\s*[-\w.+]++\s*,\s*)*+{_STRING}\s*:\s*[-\w.+]++\s*\}})"
)
_FIRST_KEY = rf"\s*\{{\s*({_STRING})"


def guess_run(source: Source, known: Iterable[str]) -> str:
    """The format of a run.

    Raises:
        RankgateError: none that is known, or a gold set.
    """
    head = source.head.lstrip()
    if head.startswith(MAGIC):
        return "parquet"
    columns = head.partition(b"\n")[0].split()
    rows = _is_msmarco(head) or (len(columns) >= RUN_COLUMNS and columns[1].upper() == b"Q0")
    if head[:1] == b"[" and not rows:  # as a query's id may begin
        return "ragas" if _is_ragas(_first_of_list(head), _LISTS) else "json"
    if head[:1] == b"{" and not rows:
        return _run_json(source, head, known)
    header = header_of(source.head)
    if any(name in header for name in RAGAS_NAMES):
        raise _unknown(source, "a run", RAGAS_CSV, known)
    if any(name in header for name in QUERY_NAMES) and len(header) > 1:
        if set(BEIR_COLUMNS) <= set(header) and _judges(source.head):
            why = "that looks like BEIR qrels, which is a gold set; if these are scores, name the format: csv"
            raise _unknown(source, "a run", why, known)
        return "csv"
    if len(columns) == RUN_COLUMNS or (len(columns) > RUN_COLUMNS and columns[1].upper() == b"Q0"):
        return "trec"  # of which seven columns are an error that says so
    if _is_msmarco(head):
        return "msmarco"
    columns = _content(head).split()
    if len(columns) == QRELS_COLUMNS:
        raise _unknown(source, "a run", "that looks like TREC qrels, which is a gold set", known)
    raise _unknown(source, "a run", _NO_RUN, known)


def guess_gold(source: Source, known: Iterable[str]) -> str:
    """The format of a gold set.

    Raises:
        RankgateError: none that is known, or a run.
    """
    head = source.head.lstrip()
    if head.startswith(MAGIC):
        raise _unknown(source, "a gold set", "gold sets are not read from Parquet", known)
    columns = head.partition(b"\n")[0].split()
    qrels = len(columns) == QRELS_COLUMNS and whole_number(columns[-1].decode("utf-8", "replace")) is not None
    if head[:1] == b"[" and not qrels:
        return "ragas" if _is_ragas(_first_of_list(head), {"expected_output"}) else "json"
    if head[:1] == b"{" and not qrels:
        return _gold_json(source, head, known)
    return _gold_columns(source, head, known) or _gold_text(source, head, known)


def _gold_columns(source: Source, head: bytes, known: Iterable[str]) -> str | None:
    """A format of columns, if the first row is of one."""
    header = header_of(source.head)
    if set(BEIR_COLUMNS) <= set(header):
        if not _judges(source.head):
            why = "that looks like a run: BEIR's gains are whole numbers; if these are gains, name the format: beir"
            raise _unknown(source, "a gold set", why, known)
        return "beir"
    if any(name in header for name in RAGAS_NAMES) and len(header) > 1:
        raise _unknown(source, "a gold set", RAGAS_CSV, known)
    first = _content(head)
    columns = first.split()
    if len(columns) == QRELS_COLUMNS and (
        finite_number(columns[-1].decode("utf-8", "replace")) is not None
        or (b":" not in first and not first.startswith(b"-"))
    ):
        return "qrels"
    return None


def _gold_text(source: Source, head: bytes, known: Iterable[str]) -> str:
    """YAML, or an error that says what the text looks like."""
    header, first = header_of(source.head), _content(head)
    columns = first.split()
    if len(columns) == RUN_COLUMNS and columns[1].upper() == b"Q0":
        raise _unknown(source, "a gold set", "that looks like a TREC run", known)
    if _is_msmarco(first):
        why = (
            f"three columns are BEIR qrels where the first row is {' '.join(BEIR_COLUMNS)}, and a run of MS MARCO else"
        )
        raise _unknown(source, "a gold set", why, known)
    if any(name in header for name in QUERY_NAMES) and {"score", "rank"} & set(header):
        raise _unknown(source, "a gold set", "that looks like a run as a table", known)
    if re.search(rb"^(?:- |-$|[\w\"'][^:\n]*:(?:\s|$))", head, re.MULTILINE):
        return "yaml"
    raise _unknown(source, "a gold set", "no gold format starts like that", known)


def guess_mapped(source: Source) -> str:
    """The format of a run that a map describes: only what holds the records matters."""
    head = source.head.lstrip()
    if head.startswith(MAGIC):
        return "parquet"
    return {b"[": "json", b"{": "jsonl"}.get(head[:1], "csv")


def _run_json(source: Source, head: bytes, known: Iterable[str]) -> str:
    keys = _keys(head)
    if keys & {MTEB_KEY} or _first_key(head) == MTEB_KEY:
        return "mteb"
    if _is_ragas(keys, _LISTS):
        return "ragas"
    if keys & _LINE_KEYS or {"samples", "expected_output"} & keys:
        return "jsonl" if keys & _LINE_KEYS else "json"
    if not keys and _is_jsonl(head, _LINE_KEYS):
        return "jsonl"
    query_id, scores = _first_scores(head)
    if not scores or query_id in {"latency_ms", "scores"}:
        return "jsonl" if _is_jsonl(head, _LINE_KEYS) else "json"
    if all(type(score) is int and abs(score) <= _LARGEST_USUAL_GAIN for score in scores.values()):
        why = (
            f"that looks like qrels, which is a gold set: the numbers of {shown(query_id)} are small and whole; "
            "if they are scores, name the format: dict"
        )
        raise _unknown(source, "a run", why, known)
    return "dict"


def _gold_json(source: Source, head: bytes, known: Iterable[str]) -> str:
    keys = _keys(head)
    first = head.partition(b"\n")[0]
    if "samples" in keys:
        return "json"
    if keys >= {QUERIES, RELEVANT} or (not keys and _first_key(head) in {QUERIES, RELEVANT, "corpus"}):
        return "llama_index"
    if _is_ragas(keys, {"expected_output"}):
        return "ragas"
    if b'"expected_output"' not in first and any(f'"{key}"'.encode() in first for key in _LINE_KEYS):
        raise _unknown(source, "a gold set", "that looks like a run", known)
    query_id, gains = _first_scores(head)
    if gains and not {"expected_output", "id"} & keys and query_id not in {"expected_output", "judge_labels"}:
        if any(gain != gain or gain % 1 for gain in gains.values()):  # noqa: PLR0124 -- NaN
            why = (
                f"that looks like a run: the numbers of {shown(query_id)} are scores, and gains are whole; "
                "if they are gains, name the format: dict"
            )
            raise _unknown(source, "a gold set", why, known)
        return "dict"
    return "jsonl" if _is_jsonl(head, {"expected_output", "id"}) and b'"samples"' not in first else "json"


def _keys(head: bytes) -> set[str]:
    """The keys of the first line where it is an object of its own, else none."""
    try:
        return set(msgspec.json.decode(head.partition(b"\n")[0], type=dict[str, msgspec.Raw]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return set()


def _first_of_list(head: bytes) -> set[str]:
    """The keys of a list's first entry where it is an object, else none."""
    text = head[1:_ENOUGH].decode("utf-8", "replace").lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return set()
    return set(first) if isinstance(first, dict) else set()


def _is_ragas(keys: set[str], others: Iterable[str]) -> bool:
    """Whether these are the keys of a Ragas sample; a line of the contract may have the question under its name too."""
    return QUESTION in keys and keys.isdisjoint(others)


def _first_key(head: bytes) -> str | None:
    found = re.match(_FIRST_KEY, head[:_ENOUGH].decode("utf-8", "replace"))
    return None if found is None else _text(found[1])


def _first_scores(head: bytes) -> tuple[str, Mapping[str, float]]:
    """The first query of `{query: {document: number}}` with documents, and their numbers; nothing for another shape."""
    found = re.match(_FIRST_SCORES, head[:_ENOUGH].decode("utf-8", "replace"))
    try:
        scores = json.loads(found["scores"]) if found else {}
    except ValueError:
        return "", {}
    numbers = all(isinstance(score, int | float) and not isinstance(score, bool) for score in scores.values())
    return (_text(found["query"]) if found else "", scores if numbers else {})


def _text(literal: str) -> str:
    try:
        return str(json.loads(literal))
    except ValueError:
        return literal


def _judges(head: bytes) -> bool:
    """Whether the first rows below a header of BEIR have whole numbers, as gains are and scores are not."""
    rows = head[:_ENOUGH].decode("utf-8", "replace").splitlines()[1:20]
    header, sign = header_of(head), separator_of(head)
    at = header.index(BEIR_COLUMNS[-1]) - len(header)  # from the end: an id before it may be quoted for its separator
    cells = [row.split(sign) for row in rows[:-1] or rows if row.strip()]
    texts = [row[at].strip('"\r ') if len(row) >= -at else "" for row in cells]
    return all(whole_number(text) is not None and "." not in text for text in texts)


def _is_msmarco(head: bytes) -> bool:
    try:
        columns = columns_of(head.partition(b"\n")[0])
    except UnicodeDecodeError:
        return False
    return len(columns) == MSMARCO_COLUMNS and columns[0] != "-" and whole_number(columns[-1]) is not None


def _content(head: bytes) -> bytes:
    """The first line that is neither blank nor a comment; nothing where there is none."""
    lines = (line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#"))
    return next(lines, b"")


def _is_jsonl(head: bytes, keys: Iterable[str]) -> bool:
    """Whether the first line is an object of its own: closed, with a key that such lines have, or followed by one."""
    first, _, rest = head.partition(b"\n")
    first = first.rstrip()
    if first.endswith((b"[", b"{", b",", b":")):
        return False
    return rest.startswith(b"{") or (first.endswith(b"}") and any(f'"{key}"'.encode() in first for key in keys))


def _unknown(source: Source, what: str, why: str, known: Iterable[str]) -> Exception:
    saw = shown(first_row(source.head.lstrip())[:80].rstrip())
    formats = f"known formats: {', '.join(known)}"
    return bad_input(f"cannot be read as {what}: it starts with {saw}; {why} ({formats})", file=source.name)
