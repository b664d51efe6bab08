"""The store: which lines count, what a torn one costs, who may write, and what is damaged."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.cases import answer, run
from tests.judge.hash_judge import KEY, judging

from rankgate.errors import RankgateError
from rankgate.judge.records import Record
from rankgate.judge.store import Store, line_of, read_verdicts, record_of, written
from rankgate.judge.tasks import Address, Split
from rankgate.model.answers import Entailment, UnjudgedKind
from rankgate.model.verdicts import Support, Unjudged

LINE = (
    b'{"fingerprint":"fp","judge":"3fa9","key":"k","model":"m","repeat":0,"task":"entail","tokens":[1840,96],'
    b'"verdicts":[{"n":1,"passages":[2],"quote":"thirty d\xc3\xa4ys","verdict":"supported"}]}\n'
)
RECORD = Record(
    judge="3fa9",
    task="entail",
    key="k",
    repeat=0,
    verdicts=(Support(1, Entailment.SUPPORTED, (2,), "thirty däys"),),
    model="m",
    fingerprint="fp",
    tokens=(1840, 96),
)
MISSING = Record(judge="3fa9", task="entail", key="k", repeat=0, unjudged=Unjudged(UnjudgedKind.NUMBERING, 3, 4))


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
    st.tuples(st.just("split"), st.builds(Split, st.booleans(), st.lists(TEXT, max_size=3).map(tuple))),
    st.tuples(st.just("entail"), st.lists(SUPPORT, max_size=3).map(tuple)),
    st.tuples(st.just("relevance"), st.lists(st.integers(0, 3), max_size=4).map(tuple)),
    st.tuples(st.just("address"), st.builds(Address, st.sampled_from(["fully", "partly", "no"]), st.booleans())),
)


@given(VERDICTS, st.text("0123456789abcdef", min_size=1), st.integers(0, 24), TEXT)
def test_every_verdict_comes_back(found: tuple[str, Any], key: str, repeat: int, model: str) -> None:
    record = Record(judge="j", task=found[0], key=key, repeat=repeat, verdicts=found[1], model=model)
    assert record_of(line_of(record)) == record


def test_the_tidy_form_is_sorted(tmp_path: Path) -> None:
    records = [other(RECORD, key=key, repeat=repeat) for key in "cab" for repeat in (1, 0)]
    tidy = written(records)
    assert [json.loads(line)["key"] for line in tidy.splitlines()] == list("aabbcc")
    assert written(reversed(records)) == tidy
    (tmp_path / "v.jsonl").write_bytes(tidy)
    assert written(read_verdicts(tmp_path / "v.jsonl").values()) == tidy


LATE = other(RECORD, model="late")


@pytest.mark.parametrize(
    ("records", "kept"),
    [
        pytest.param([RECORD, LATE], RECORD, id="the first verdict stays"),
        pytest.param([MISSING, RECORD], RECORD, id="a verdict takes the place of a failure"),
        pytest.param([RECORD, MISSING], RECORD, id="a failure takes no verdict's place"),
        pytest.param([other(MISSING, model="a"), MISSING], other(MISSING, model="a"), id="the first reason stays"),
        pytest.param([RECORD, other(LATE, replaces=True)], LATE, id="a line that replaces"),
        pytest.param([other(LATE, replaces=True), RECORD], LATE, id="after a line that replaces the first stays"),
        pytest.param([MISSING, RECORD, other(LATE, replaces=True), MISSING], LATE, id="all of it"),
    ],
)
def test_of_two_lines_one_counts_wherever_they_stand(records: list[Record], kept: Record, tmp_path: Path) -> None:
    """In one file, in files that are appended to each other, and as they come."""
    (tmp_path / "v.jsonl").write_bytes(b"".join(map(line_of, records)))
    assert read_verdicts(tmp_path / "v.jsonl") == {RECORD.slot: kept}
    with Store(tmp_path / "s") as store:
        for record in records:
            store.put(other(record, replaces=False), replace=record.replaces)
        assert store.get(RECORD.slot) == kept
    assert read_verdicts(tmp_path / "s") == {RECORD.slot: kept}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(LINE[:60] + b"\n", "broken JSON", id="cut off in the midst"),
        pytest.param(b"no verdict", "broken JSON", id="a last line that is none of ours"),
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
    """By whoever reads it and by who would write to it, which then leaves it as it is."""
    file = tmp_path / "verdicts.jsonl"
    file.write_bytes(LINE + line)
    for use in (read_verdicts, Store):
        with pytest.raises(RankgateError) as refused:
            use(file)
        assert "verdicts.jsonl:2: " in str(refused.value)
        assert message in str(refused.value)
    assert file.read_bytes() == LINE + line


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


@pytest.mark.parametrize("end", [b"", b"\0\0\0"], ids=["killed", "power lost"])
@pytest.mark.parametrize("at", [*range(0, len(LINE), 9), len(LINE) - 1])
def test_a_last_line_that_is_not_whole_is_cut_off(at: int, end: bytes, tmp_path: Path) -> None:
    """Wherever it ends; one that lacks its newline alone is whole."""
    file = tmp_path / "v.jsonl"
    file.write_bytes(LINE + LINE.replace(b'"k"', b'"l"')[:at] + end)
    whole = at == len(LINE) - 1 and not end
    known = read_verdicts(file)
    assert len(known) == 1 + whole
    with Store(file) as store:
        assert store.records == known
        store.put(other(RECORD, key="m"))
    assert len(file.read_bytes().splitlines()) == len(read_verdicts(file)) == 2 + whole


@pytest.mark.parametrize(
    ("place", "message"),
    [
        pytest.param(".", "is no file to append verdicts to", id="a directory"),
        pytest.param("/dev/null", "is no file to append verdicts to", id="a device"),
        pytest.param("a-file/v.jsonl", "cannot keep verdicts: File exists", id="below a file"),
        pytest.param("prose.txt", r"prose\.txt:1: broken JSON", id="another file"),
    ],
)
def test_a_place_that_holds_no_verdicts_is_named(place: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()
    (tmp_path / "prose.txt").write_text("Do not touch this, it is mine.")
    with pytest.raises(RankgateError, match=message):
        Store(tmp_path / place)
    assert (tmp_path / "prose.txt").read_text() == "Do not touch this, it is mine."


def test_one_process_writes_at_a_time_and_readers_wait_for_none(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.put(RECORD)
        with pytest.raises(RankgateError, match=r"/s: another `rankgate judge` writes to it; wait until"):
            Store(tmp_path / "s")
        assert read_verdicts(tmp_path / "s") == Store(tmp_path / "s", writes=False).records == {RECORD.slot: RECORD}
    with Store(tmp_path / "s") as again:
        assert again.records == {RECORD.slot: RECORD}
    with pytest.raises(RankgateError, match="cannot keep verdicts"):
        store.put(other(RECORD, key="late"))


def test_what_is_only_read_leaves_no_file(tmp_path: Path) -> None:
    with Store(tmp_path / "s", writes=False) as store:
        store.put(RECORD)
    assert list(tmp_path.iterdir()) == []


def test_threads_share_a_store(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: store.put(other(RECORD, key=f"{n % 50}")), range(200)))
    assert len((tmp_path / "s").read_bytes().splitlines()) == len(read_verdicts(tmp_path / "s")) == 50


def test_the_key_is_in_no_file(tmp_path: Path) -> None:
    """Not even where the server echoes it in everything that it says of itself."""
    with judging() as server, Store(tmp_path / "s") as store:
        server.served = f"model of {KEY}"
        server.always = f'text:{{"addresses": "fully", "noncommittal": "{KEY}"}}'
        run(server, [answer()], store)
        assert set(server.keys) == {f"Bearer {KEY}"}
    stored = (tmp_path / "s").read_bytes()
    assert b"model of ***" in stored
    assert KEY.encode() not in stored
