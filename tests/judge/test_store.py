"""The store: what is kept through kills, threads and other processes, and as plain lines."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.children import start
from tests.conftest import ROOT
from tests.judge.cases import answer, some_judge
from tests.judge.hash_judge import KEY, HashJudge, judging

from rankgate.errors import RankgateError
from rankgate.judge.model import Addressed, Record, Split, Task
from rankgate.judge.plan import judged
from rankgate.judge.store import Store, line_of, read_verdicts, record_of, written
from rankgate.model.answers import Entailment, Support, Unjudged, UnjudgedKind, Want

LINE = (
    b'{"fingerprint":"fp","judge":"3fa9","key":"k","model":"m","repeat":0,"task":"entail","tokens":[1840,96],'
    b'"verdicts":[{"n":1,"passages":[2],"quote":"thirty d\xc3\xa4ys","verdict":"supported"}]}\n'
)
RECORD = Record(
    judge="3fa9",
    task=Task.ENTAIL,
    key="k",
    repeat=0,
    verdicts=(Support(1, Entailment.SUPPORTED, (2,), "thirty däys"),),
    model="m",
    fingerprint="fp",
    tokens=(1840, 96),
)
MISSING = Record(judge="3fa9", task=Task.ENTAIL, key="k", repeat=0, unjudged=Unjudged(UnjudgedKind.NUMBERING, 3, 4))


def other(record: Record, **values: Any) -> Record:
    return msgspec.structs.replace(record, **values)


def test_a_line_is_plain_json() -> None:
    assert line_of(RECORD) == LINE
    assert record_of(LINE) == RECORD
    assert line_of(MISSING) == (
        b'{"judge":"3fa9","key":"k","repeat":0,"task":"entail","unjudged":{"kind":"numbering","limit":4,"number":3}}\n'
    )
    assert record_of(line_of(MISSING)) == MISSING


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SUPPORT = st.builds(Support, st.integers(1, 9), st.sampled_from(Entailment), st.just((1, 2)), TEXT)
VERDICTS = st.one_of(
    st.tuples(st.just(Task.SPLIT), st.builds(Split, st.booleans(), st.lists(TEXT, max_size=3).map(tuple))),
    st.tuples(st.just(Task.ENTAIL), st.lists(SUPPORT, max_size=3).map(tuple)),
    st.tuples(st.just(Task.RELEVANCE), st.lists(st.integers(0, 3), max_size=4).map(tuple)),
    st.tuples(st.just(Task.ADDRESS), st.builds(Addressed, st.sampled_from(["fully", "partly", "no"]), st.booleans())),
)


@given(VERDICTS, st.text("0123456789abcdef", min_size=1), st.integers(0, 24), TEXT)
def test_every_verdict_comes_back(found: tuple[Task, Any], key: str, repeat: int, model: str) -> None:
    record = Record(judge="j", task=found[0], key=key, repeat=repeat, verdicts=found[1], model=model)
    assert record_of(line_of(record)) == record


def test_export_and_import_are_the_same_sorted_bytes(tmp_path: Path) -> None:
    store, copy = Store(tmp_path / "s"), Store(tmp_path / "copy")
    records = [other(RECORD, key=key, repeat=repeat) for key in "cab" for repeat in (1, 0)]
    store.put(*records)
    exported = written(store.records())
    assert [json.loads(line)["key"] for line in exported.splitlines()] == list("aabbcc")
    assert written(reversed(records)) == exported
    (tmp_path / "verdicts.jsonl").write_bytes(exported)
    copy.put(*read_verdicts(tmp_path / "verdicts.jsonl").values())
    assert written(copy.records()) == exported


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        pytest.param(RECORD, other(RECORD, model="late"), "m", id="the first verdict stays"),
        pytest.param(MISSING, RECORD, "m", id="a verdict replaces none"),
        pytest.param(RECORD, MISSING, "m", id="none does not replace a verdict"),
        pytest.param(other(MISSING, model="a"), other(MISSING, model="b"), "a", id="the first reason stays"),
    ],
)
def test_of_two_records_one_is_kept(first: Record, second: Record, kept: str, tmp_path: Path) -> None:
    store, file = Store(tmp_path / "s"), tmp_path / "verdicts.jsonl"
    assert store.put(first)
    assert store.put(second) is (first is MISSING and second is RECORD), "whether it was taken"
    found = store.get(RECORD.slot)
    file.write_bytes(line_of(first) + line_of(second))
    assert found is not None
    assert found.model == kept
    assert read_verdicts(file) == {RECORD.slot: found}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(LINE[:60], "broken JSON", id="cut off"),
        pytest.param(b"\n", "broken JSON", id="an empty line"),
        pytest.param(b"[]\n", "expected a mapping, found a list", id="no mapping"),
        pytest.param(b"\xff\n", "not UTF-8", id="no UTF-8"),
        pytest.param(LINE.replace(b'"entail"', b'"believe"'), "task: invalid enum value 'believe'", id="no task"),
        pytest.param(LINE.replace(b'"supported"', b'"proven"'), "invalid enum value 'proven'", id="no verdict"),
        pytest.param(LINE.replace(b'"n":1', b'"n":"1"'), "n: expected a whole number, found text", id="a wrong type"),
        pytest.param(LINE.replace(b'"repeat":0', b'"repeat":-1'), "a number below 0", id="a negative repeat"),
        pytest.param(LINE.replace(b'"judge":"3fa9"', b'"judge":""'), "judge or key is empty", id="no judge"),
        pytest.param(LINE.replace(b'"model"', b'"modell"'), "unknown field modell", id="an unknown key"),
        pytest.param(LINE.replace(b'"verdicts"', b'"x"'), "unknown field x", id="no verdicts"),
        pytest.param(LINE.replace(b'"key":"k"', b'"key":"k","key":"l"'), "stands twice", id="a key that stands twice"),
        pytest.param(
            b'{"judge":"j","key":"k","repeat":0,"task":"split"}\n', "needs verdicts or unjudged", id="neither"
        ),
    ],
)
def test_a_damaged_line_is_named(line: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_bytes(LINE + line)
    with pytest.raises(RankgateError) as refused:
        read_verdicts(file)
    assert "verdicts.jsonl:2: " in str(refused.value)
    assert message in str(refused.value)


@given(st.binary(max_size=80))
def test_any_line_is_a_record_or_an_error(line: bytes) -> None:
    try:
        record_of(line)
    except (ValueError, RecursionError):
        return
    pytest.fail("no such short line is a record")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RankgateError, match=r"none\.jsonl: cannot be read"):
        read_verdicts(tmp_path / "none.jsonl")


def test_a_store_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"no database at all, but long enough to be taken for one" * 40)
    with pytest.raises(RankgateError, match="cannot be used as a store of verdicts"):
        Store(tmp_path / "s")
    with pytest.raises(RankgateError, match="cannot be used as a store of verdicts"):
        Store(tmp_path)


def test_a_store_of_another_version_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    store.put(RECORD)
    with sqlite3.connect(tmp_path / "s") as base:
        base.execute("update verdicts set line = ?", (LINE.replace(b"supported", b"endorsed"),))
    base.close()
    for read in (lambda: store.get(RECORD.slot), store.records):
        with pytest.raises(RankgateError, match="cannot be used as a store of verdicts"):
            read()


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: store.put(other(RECORD, key=f"{n % 50}")), range(200)))
    assert len(store.records()) == 50


# Other processes

CHILD = """
import sys
from tests.judge.cases import answer, some_judge
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.judging import judge_answers
from rankgate.judge.store import Store
from rankgate.model.answers import Want
address, path, *wants = sys.argv[1:]
answers = [answer(f"Answer {n} is this.", query_id=f"q-{n}") for n in range(2 if wants else 6)]
wants = frozenset(map(Want, wants)) or frozenset({Want.STATE, Want.SUPPORT})
judge_answers(answers, some_judge(), wants, endpoint=Endpoint(address),
              store=Store(path), spending=Spending(), workers=1)
"""


def begin(server: HashJudge, path: Path, wants: Iterable[Want] = ()) -> subprocess.Popen[bytes]:
    places = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": places, "RANKGATE_JUDGE_KEY": KEY}
    command = [sys.executable, "-c", CHILD, server.address, str(path), *(want.value for want in wants)]
    return start(command, env=environment, cwd=ROOT)


def test_two_processes_on_one_store_do_no_harm(tmp_path: Path) -> None:
    with judging() as server:
        children = [begin(server, tmp_path / "s") for _ in range(2)]
        assert [child.wait(timeout=300) for child in children] == [0, 0]
    store = Store(tmp_path / "s")
    assert len(store.records()) == 12
    for n in range(6):
        wants = frozenset({Want.SUPPORT})
        assert isinstance(judged(answer(f"Answer {n} is this."), some_judge(), wants, store).support, tuple)


EVERYTHING = 12  # of two answers to a question: all tasks, of which they share two


@pytest.mark.full
@pytest.mark.parametrize("kill_at", range(1, EVERYTHING + 1))
def test_kill_9_at_any_call_loses_at_most_that_one(kill_at: int, tmp_path: Path) -> None:
    child: list[subprocess.Popen[bytes]] = []
    with judging() as server:

        def kill() -> None:
            if len(server.requests) == kill_at:
                child[0].send_signal(signal.SIGKILL)

        server.began = kill
        with server.lock:  # no request is answered before the child is known
            child.append(begin(server, tmp_path / "s", Want))
        assert child[0].wait(timeout=300) == -signal.SIGKILL
        assert len(Store(tmp_path / "s").records()) == kill_at - 1
        server.began = lambda: None
        assert begin(server, tmp_path / "s", Want).wait(timeout=300) == 0
        assert len(server.requests) == EVERYTHING + 1
    records = Store(tmp_path / "s").records()
    assert len(records) == EVERYTHING
    assert {record.task for record in records} == set(Task)


def test_the_key_is_in_no_file(tmp_path: Path) -> None:
    """Not even where the server echoes it in everything that it says of itself."""
    with judging() as server:
        server.served = f"model of {KEY}"
        server.always = f'text:{{"addresses": "fully", "noncommittal": "{KEY}"}}'
        assert begin(server, tmp_path / "s").wait(timeout=300) == 0
        assert set(server.keys) == {f"Bearer {KEY}"}
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"model of ***" in stored
    assert KEY.encode() not in stored
