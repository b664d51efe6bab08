"""Which store a `--baseline` value names, and any run file as the other side of a comparison."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rankgate.baselines.stores import RunFileStore, store_for
from rankgate.criteria import InputFile
from rankgate.criteria.runs import AcceptedRun
from rankgate.errors import Problem, RankgateError
from rankgate.model.values import Details, RunField
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import RUN_FORMATS

RUN = '{"query_id": 7, "system": "bm25", "topk": [{"rank": 1, "chunk_id": "a"}], "latency_ms": {"retrieve": 5}}\n'


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "accepted").mkdir()
    (tmp_path / "v1.2").mkdir()
    (tmp_path / "run.jsonl").write_text(RUN)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "run.trec").write_text("7 Q0 a 1 0.5 bm25\n")
    return tmp_path


@pytest.mark.parametrize(
    ("spec", "store"),
    [
        pytest.param("accepted", "accepted", id="a directory"),
        pytest.param("accepted/", "accepted", id="a directory with a slash"),
        pytest.param("./accepted", "accepted", id="a directory with a dot before it"),
        pytest.param("v1.2", "v1.2", id="a directory whose name looks like a suffix"),
        pytest.param("baseline", "baseline", id="a place to be, without a suffix"),
        pytest.param("eval/baseline", "eval/baseline", id="a place to be, in a place to be"),
        pytest.param("v1.3/", "v1.3", id="a place to be: the slash says it"),
        pytest.param(".rankgate", ".rankgate", id="a hidden place to be"),
        pytest.param("run.jsonl", RunFileStore("run.jsonl"), id="a run file"),
        pytest.param("run", RunFileStore("run"), id="a run file without a suffix"),
        pytest.param("no-run.jsonl", RunFileStore("no-run.jsonl"), id="a run file that is missing"),
        pytest.param("-", RunFileStore("-"), id="standard input"),
    ],
)
def test_which_store_a_value_names(spec: str, store: RunFileStore | str) -> None:
    named = store_for(spec)
    assert (named.memory.spec if named.memory else named) == store


def test_nothing_accepted_yet_is_a_state_and_no_error() -> None:
    assert store_for("baseline").open(frozenset()) is None
    assert store_for("accepted").open(frozenset()) is None, "nor is an empty directory"


@pytest.mark.parametrize(
    ("spec", "format_name"),
    [pytest.param("run.jsonl", "jsonl", id="JSONL"), pytest.param("run.trec", "trec", id="TREC")],
)
def test_any_run_file_is_a_baseline(spec: str, format_name: str) -> None:
    found = store_for(spec).open(frozenset())
    assert found is not None
    assert [(ranking.query_id, ranking.ids) for ranking in found.rankings] == [("7", ["a"])]
    assert (found.name, found.format, found.provenance, found.depth) == (spec, format_name, {"system": "bm25"}, None)


def test_a_run_files_lists_are_whole_however_deep_a_gate_looks() -> None:
    found = store_for("run.jsonl").open(frozenset(), deepest=1_000_000)
    assert found is not None
    assert [ranking.ids for ranking in found.rankings] == [["a"]]
    assert found.depth is None


def test_latencies_are_read_where_a_gate_needs_them() -> None:
    found = store_for("run.jsonl").open(frozenset({RunField.LATENCY}))
    assert found is not None
    assert [ranking.details for ranking in found.rankings] == [Details(latency_ms={"retrieve": 5.0})]


def test_a_gzipped_run_file_is_one_too(repository: Path) -> None:
    (repository / "run.jsonl.gz").write_bytes(gzip.compress(RUN.encode()))
    found = store_for("run.jsonl.gz").open(frozenset())
    assert found is not None
    assert [ranking.ids for ranking in found.rankings] == [["a"]]


def test_a_forced_format_is_obeyed() -> None:
    found = store_for("run.jsonl", "trec").open(frozenset())
    assert found is not None
    with pytest.raises(RankgateError, match="expected 6 columns"):
        list(found.rankings)


MAP = FieldMap(query_id="question", items="found", chunk_id="id")


def test_a_run_file_may_have_a_map(repository: Path) -> None:
    (repository / "ours.json").write_text('[{"question": "7", "found": [{"id": "a"}]}]')
    found = AcceptedRun(file=InputFile("ours.json", map=MAP)).open(frozenset())
    assert found is not None
    assert [(ranking.query_id, ranking.ids) for ranking in found.rankings] == [("7", ["a"])]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param("accepted/", "accepted: is a baseline directory, whose run needs no map; leave out `map:`"),
        pytest.param("baseline", "baseline: no such file"),
    ],
    ids=["a directory", "nothing there"],
)
def test_a_map_is_for_a_run_file(spec: str, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        store_for(spec, map=MAP).open(frozenset())
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("spec", "forced", "problem"),
    [
        pytest.param(
            "no-run.jsonl", None, Problem("no such file; did you mean 'run.jsonl'?", "no-run.jsonl"), id="missing"
        ),
        pytest.param(
            *("run.jsonl", "json-lines"),
            Problem(
                f"unknown run format 'json-lines'; did you mean 'jsonl'? (known: {', '.join(RUN_FORMATS)})", "run.jsonl"
            ),
            id="of no known format",
        ),
    ],
)
def test_a_run_file_that_cannot_be_opened(spec: str, forced: str | None, problem: Problem) -> None:
    with pytest.raises(RankgateError) as caught:
        store_for(spec, forced).open(frozenset())
    assert caught.value.problems == (problem,)
