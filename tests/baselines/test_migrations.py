"""Records of every schema that ever was, as their release wrote them, are read as today's."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import msgspec
import pytest
from tests.baselines.accepting import accept_into

from rankgate.baselines.directory import DirectoryStore
from rankgate.baselines.records import FORWARD, SCHEMA_VERSION, DamagedRecordError, Record, decode_record
from rankgate.errors import Problem, RankgateError
from rankgate.model.gold_changes import GoldMark

RUN = gzip.compress(b'{"query_id":"q1","retrieved":["a"]}\n', mtime=0)
DIGEST = hashlib.sha256(RUN).hexdigest()

# schema 1, as rankgate 0.1.0 wrote it
SCHEMA_1 = {
    "schema_version": 1,
    "run": f"run-{DIGEST[:12]}.jsonl.gz",
    "sha256": DIGEST,
    "depth": 100,
    "queries": 1,
    "cut": 0,
    "kept": ["latency_ms"],
    "accepted": "2025-11-03",
    "source": "run.jsonl",
    "provenance": {"system": "bm25"},
    "gold": {"path": "gold.yaml", "queries": 1, "fingerprint": "f00d", "judged": {"q1": "beef"}},
    "rankgate": "0.1.0",
}
TODAY = Record(
    run=f"run-{DIGEST[:12]}.jsonl.gz",
    sha256=DIGEST,
    depth=100,
    queries=1,
    kept=["latency_ms"],
    date="2025-11-03",
    source="run.jsonl",
    provenance={"system": "bm25"},
    gold=GoldMark(path="gold.yaml", queries=1, fingerprint="f00d", judged={"q1": "beef"}),
    rankgate="0.1.0",
)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(SCHEMA_1, id="schema 1"),
        pytest.param({key: value for key, value in SCHEMA_1.items() if key != "cut"}, id="schema 1 before `cut`"),
        pytest.param(json.loads(msgspec.json.encode(TODAY)), id="schema 2"),
    ],
)
def test_every_schema_is_read_as_todays(written: dict[str, object]) -> None:
    assert decode_record(json.dumps(written).encode(), "manifest.json") == TODAY


def test_every_older_schema_has_a_step_to_the_next() -> None:
    assert list(FORWARD) == list(range(1, SCHEMA_VERSION))


def test_a_directory_of_schema_1_is_opened_and_carried_on(tmp_path: Path) -> None:
    """The next acceptance remembers it by its numbers, and writes today's schema."""
    (tmp_path / "manifest.json").write_text(json.dumps(SCHEMA_1))
    (tmp_path / str(SCHEMA_1["run"])).write_bytes(RUN)
    store = DirectoryStore(tmp_path.as_posix())
    found = store.open(frozenset())
    assert found is not None
    assert [ranking.ids for ranking in found.rankings] == [["a"]]
    again = store.open(frozenset())
    assert again is not None
    accept_into(tmp_path, again.rankings, date="2026-01-31", depth=1)
    assert [record.date for record in store.memory.read("accepted")] == ["2025-11-03", "2026-01-31"]
    assert json.loads((tmp_path / "manifest.json").read_text())["schema_version"] == 2


@pytest.mark.parametrize("commit", ["@octocat", "1a2b3c4\n", "1A2B3C4", "1a2", "f" * 65])
def test_a_commit_that_is_no_sha_is_refused_and_named(commit: str) -> None:
    """Sentences of the report show its first digits."""
    written = json.loads(msgspec.json.encode(TODAY)) | {"commit": commit}
    with pytest.raises(DamagedRecordError) as caught:
        decode_record(json.dumps(written).encode(), "accepted.jsonl", line=7, what="line")
    [problem] = caught.value.problems
    assert str(problem).startswith("accepted.jsonl:7: damaged line: ")
    assert "[0-9a-f]{4,64}" in str(problem)
    assert "`$.commit`" in str(problem)
    assert decode_record(json.dumps(written | {"commit": "1a2b" * 16}).encode(), "log").commit == "1a2b" * 16


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(
            b'{"schema_version": 3}',
            Problem("baseline schema 3 is newer than this rankgate reads (2); upgrade rankgate", "log", 7),
            id="newer",
        ),
        pytest.param(
            b'{"schema_version": 0}',
            Problem("damaged line: has no schema 0; restore it from version control or accept a run again", "log", 7),
            id="a schema that never was",
        ),
        *(
            pytest.param(
                msgspec.json.encode(TODAY).replace(b"2025-11-03", day.encode()),
                Problem(
                    f"damaged line: date {day!r} is no day as 2026-01-31; restore it from version control or accept a "
                    "run again",
                    "log",
                    7,
                ),
                id=f"the day {day!r}",
            )
            for day in ("", "yesterday", "2025-11-3", "20251103", "2025-02-29", "2025-11-03T10:00:00Z", "2025-W45-1")
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(data: bytes, problem: Problem) -> None:
    with pytest.raises(RankgateError) as caught:
        decode_record(data, "log", line=7, what="line")
    assert caught.value.problems == (problem,)
    assert isinstance(caught.value, DamagedRecordError) is (data != b'{"schema_version": 3}')
