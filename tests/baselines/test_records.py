"""A record as it is read: of today's schema, or refused with its file."""

from __future__ import annotations

import gzip
import hashlib
import json

import msgspec
import pytest
from tests.rows import each_row

from rankgate.baselines.records import Record, decode_record
from rankgate.errors import Problem, RankgateError
from rankgate.model.lineage import GoldMark

RUN = gzip.compress(b'{"query_id":"q1","retrieved":["a"]}\n', mtime=0)
DIGEST = hashlib.sha256(RUN).hexdigest()

TODAY = Record(
    run=f"run-{DIGEST[:12]}.jsonl.gz",
    sha256=DIGEST,
    depth=100,
    queries=1,
    kept=["latency_ms"],
    date="2025-11-03",
    source="run.jsonl",
    provenance={"system": "bm25"},
    gold=GoldMark(path="gold.yaml", queries=1, fingerprint="f00d", queries_fingerprint="a5ced", judged={"q1": "beef"}),
    rankgate="0.1.0",
)


def test_a_record_is_read_as_it_was_written() -> None:
    assert decode_record(msgspec.json.encode(TODAY), "log", advice="") == TODAY


@pytest.mark.parametrize("commit", ["@octocat", "1a2b3c4\n", "1A2B3C4", "1a2", "f" * 65])
def test_a_commit_that_is_no_sha_is_refused_and_named(commit: str) -> None:
    """Sentences of the report show its first digits."""
    written = json.loads(msgspec.json.encode(TODAY)) | {"commit": commit}
    with pytest.raises(RankgateError) as caught:
        decode_record(json.dumps(written).encode(), "accepted/7.json", advice="restore it")
    [problem] = caught.value.problems
    assert str(problem).startswith("accepted/7.json: damaged record: ")
    assert "[0-9a-f]{4,64}" in str(problem)
    assert "`$.commit`" in str(problem)
    assert decode_record(json.dumps(written | {"commit": "1a2b" * 16}).encode(), "log", advice="").commit == "1a2b" * 16


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(
            b'{"schema_version": 3}',
            Problem("baseline schema 3 is newer than this rankgate reads (2); upgrade rankgate", "log"),
            id="newer",
        ),
        pytest.param(
            b'{"schema_version": 1}',
            Problem("damaged record: there is no schema 1; restore it", "log"),
            id="another schema",
        ),
        *(
            pytest.param(
                msgspec.json.encode(TODAY).replace(b"2025-11-03", day.encode()),
                Problem(f"damaged record: date {day!r} is no day as 2026-01-31; restore it", "log"),
                id=f"the day {day!r}",
            )
            for day in ("", "yesterday", "2025-11-3", "20251103", "2025-02-29", "2025-11-03T10:00:00Z", "2025-W45-1")
        ),
    ],
)
def test_what_cannot_be_read_is_named(data: bytes, problem: Problem) -> None:
    with pytest.raises(RankgateError) as caught:
        decode_record(data, "log", advice="restore it")
    assert caught.value.problems == (problem,)


@each_row(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"schema_version": 1', id="cut short"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"{}", id="without a version"),
        pytest.param(b'{"schema_version": 2}', id="without its parts"),
        pytest.param(b'{"schema_version": 2, "run": "\xff"}', id="not UTF-8"),
        pytest.param(b'{"schema_version": ' + b"[" * 100_000, id="endless nesting"),
        pytest.param(b'{"schema_version": 2, "run": "r", "sha256": "s", "depth": "deep"}', id="a wrong type"),
    ],
)
def test_a_damaged_or_hostile_record_is_one_error(data: bytes) -> None:
    with pytest.raises(RankgateError, match=r"^log: damaged record: .*; restore it$"):
        decode_record(data, "log", advice="restore it")
