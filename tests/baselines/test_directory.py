"""A baseline in a directory: what is kept, what is refused and in which words, and that nothing can tear it."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests import children
from tests.baselines.accepting import accept_into, newest
from tests.conftest import ROOT
from tests.repositories import commit, git

import rankgate
from rankgate.baselines.base import MemoryStore, Where
from rankgate.baselines.directory import DirectoryPlace, directory_store
from rankgate.baselines.memory import Memory
from rankgate.baselines.packing import DEFAULT_DEPTH, pack, recorded
from rankgate.baselines.records import Record
from rankgate.baselines.stores import store_for
from rankgate.check import check
from rankgate.cli.baseline import verified as verify
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.errors import Problem, RankgateError, bad_input
from rankgate.model.lineage import GoldMark
from rankgate.model.report import Report
from rankgate.model.values import Details, Ranking, RunField
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals and limits as POSIX has them")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
CROWD = """
import sys
from tests.baselines.accepting import accept_into, newest
from rankgate.model.values import Ranking

number, place = sys.argv[1:]
for turn in range(5):
    name = f"{number}-{turn}"
    run = [Ranking("q1", [name])]
    accept_into(place, run, source=name, date="2026-02-01")
"""
CYCLE = """
import sys
from rankgate.baselines.packing import pack, recorded
from rankgate.baselines.stores import store_for
from rankgate.model.values import Ranking

place, first, rounds = sys.argv[1:]
memory, accepted = store_for(place).memory, 0
for _ in range(int(rounds)):
    for name in ("abc" if first == "a" else "bca"):
        packed = pack([Ranking("q1", [name])], source=name)
        record = recorded(packed, source=name, provenance={}, gold=None, date="2026-02-01")
        accepted += memory.add("accepted", record, packed.data)
print(accepted)
"""
RESTORE = "restore it or accept a run again"
RECORDS = [f"accepted/0000000{number}.json" for number in (1, 2, 3)]
LATENCY = frozenset({RunField.LATENCY})
Lists = Mapping[str, str]
OLD: Lists = {"q1": "old a b", "q2": "old c", "q3": ""}
NEW: Lists = {"q1": "new a", "q2": "new b c d"}
NEXT: Lists = {"q1": "the next one"}


def rankings(lists: Lists, latency: Mapping[str, float] | None = None) -> list[Ranking]:
    return [
        Ranking(query_id, ids.split(), 0, Details(latency_ms=latency) if latency else None)
        for query_id, ids in lists.items()
    ]


def accept(
    folder: Path,
    lists: Lists,
    *,
    depth: int = DEFAULT_DEPTH,
    latency: Mapping[str, float] | None = None,
    provenance: Mapping[str, Any] | None = None,
    gold: GoldMark | None = None,
) -> Record:
    return accept_into(
        folder,
        rankings(lists, latency),
        source="results/run.jsonl",
        provenance=provenance or {},
        gold=gold,
        date="2026-01-31",
        depth=depth,
    )


def stored(folder: Path, *, deepest: int = 0) -> dict[str, str] | None:
    """What the directory holds, in the words in which it was given."""
    found = directory_store(folder.as_posix()).open(frozenset(), deepest=deepest)
    return None if found is None else {ranking.query_id: " ".join(ranking.ids) for ranking in found.rankings}


def opened(folder: Path) -> Run:
    """The opened run, read to its end."""
    found = directory_store(folder.as_posix()).open(frozenset())
    assert found is not None
    list(found.rankings)
    return found


def refusal(folder: Path, *, deepest: int = 0) -> Problem:
    with pytest.raises(RankgateError) as caught:
        stored(folder, deepest=deepest)
    (problem,) = caught.value.problems
    return problem


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run_in(folder: Path, record: Record) -> Path:
    return folder / "rankings" / record.run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "eval" / "baseline"


# What is kept


queries = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
lists_of_ids = st.dictionaries(queries, st.lists(queries, unique=True, max_size=6), min_size=1, max_size=5)


@pytest.mark.full
@settings(max_examples=50)  # each writes through to the disk
@given(lists_of_ids, st.integers(1, 7))
def test_any_ids_come_back_cut_at_the_depth(lists: dict[str, list[str]], depth: int) -> None:
    """Quotes, line ends, spaces, other scripts: an id is an id."""
    with tempfile.TemporaryDirectory() as place:
        run = [Ranking(query_id, ids) for query_id, ids in lists.items()]
        accept_into(f"{place}/baseline", run, date="2026-01-31", depth=depth)
        found = directory_store(f"{place}/baseline").open(frozenset())
        assert found is not None
        assert {ranking.query_id: ranking.ids for ranking in found.rankings} == {
            query_id: ids[:depth] for query_id, ids in lists.items()
        }


def test_the_depth_is_100_unless_another_is_asked(folder: Path) -> None:
    accept(folder, {"q1": " ".join(map(str, range(250)))})
    assert stored(folder) == {"q1": " ".join(map(str, range(100)))}


def test_integer_ids_and_their_decimal_strings_are_one(folder: Path, tmp_path: Path) -> None:
    written = tmp_path / "run.jsonl"
    written.write_text(
        '{"query_id": 7, "topk": [{"chunk_id": 12}, {"chunk_id": "013"}]}\n{"id": "8", "retrieved": [12]}\n'
    )
    accept_into(folder, read_run(str(written)).rankings, date="2026-01-31")
    assert stored(folder) == {"7": "12 013", "8": "12"}


@pytest.mark.parametrize(
    ("latency", "kept"),
    [
        pytest.param({"retrieve": 35.0, "rerank": 22.5}, ["latency_ms"], id="by stage"),
        pytest.param(None, [], id="none stated"),
        pytest.param({}, [], id="none in a mapping"),
    ],
)
def test_latencies_are_kept_where_the_run_has_them(
    folder: Path, latency: Mapping[str, float] | None, kept: list[str]
) -> None:
    assert accept(folder, OLD, latency=latency).kept == kept
    found = directory_store(folder.as_posix()).open(LATENCY)
    assert found is not None
    stored = Details(latency_ms=latency) if latency else None
    assert {ranking.query_id: ranking.details for ranking in found.rankings} == dict.fromkeys(OLD, stored)


def test_the_opened_run_says_where_it_comes_from(folder: Path) -> None:
    accept(folder, OLD, provenance={"system": "bm25", "index_version": "v3"}, depth=7)
    found = opened(folder)
    assert (found.name, found.format, found.depth) == (folder.as_posix(), "baseline", 7)
    assert found.provenance == {"accepted": "2026-01-31", "system": "bm25", "index_version": "v3"}


def test_the_opened_run_says_how_much_of_it_has_been_read(folder: Path) -> None:
    accept(folder, OLD)
    found = directory_store(folder.as_posix()).open(frozenset())
    assert found is not None
    assert found.quick is not None
    with found.quick.opened() as reading:
        assert reading is not None
        rankings, share_read = reading
        assert share_read() == 0
        assert [ranking.query_id for ranking in rankings] == list(OLD)
        assert share_read() == 1


def test_what_a_run_says_of_itself_does_not_hide_the_day_of_acceptance(folder: Path) -> None:
    accept(folder, OLD, provenance={"accepted": "long ago", "system": "bm25"})
    assert opened(folder).provenance["accepted"] == "2026-01-31"


def test_the_record_says_what_is_stored(folder: Path) -> None:
    mark = GoldMark(path="gold.yaml", queries=3, fingerprint="f00d", queries_fingerprint="a5ced")
    made = accept(folder, OLD, provenance={"system": "bm25"}, gold=mark, latency={"total": 1.0}, depth=2)
    data = run_in(folder, made).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    written = json.loads(newest(folder).read_text())
    promised = {
        "schema_version": 2,
        "run": f"run-{digest[:12]}.jsonl.gz",
        "sha256": digest,
        "depth": 2,
        "queries": 3,
        "kept": ["latency_ms"],
        "date": "2026-01-31",
        "source": "results/run.jsonl",
        "provenance": {"system": "bm25"},
        "gold": {"path": "gold.yaml", "queries": 3, "fingerprint": "f00d", "queries_fingerprint": "a5ced"},
        "rankgate": rankgate.__version__,
    }
    assert {key: written[key] for key in promised} == promised
    assert directory_store(folder.as_posix()).memory.read("accepted") == [made]
    assert gzip.decompress(data).splitlines()[0] == (
        b'{"query_id":"q1","retrieved":["old","a"],"latency_ms":{"total":1.0}}'
    ), "itself an ordinary run file"


@pytest.mark.parametrize(("accepted_at", "behind"), [("HEAD", 0), ("HEAD~2", 2), ("e" * 40, None), (None, None)])
def test_commits_since_it_was_accepted_are_counted_from_the_nearest(
    folder: Path, tmp_path: Path, accepted_at: str | None, behind: int | None
) -> None:
    git("init", "-q", "--initial-branch=main", str(tmp_path))
    for text in ("one", "two", "three"):
        (tmp_path / "index.txt").write_text(text)
        commit(tmp_path)
    at = git("rev-parse", accepted_at, at=tmp_path) if accepted_at else None
    packed = pack(rankings(OLD), source="run")
    record = recorded(packed, source="run", provenance={}, gold=None, date="2026-01-31")
    store = directory_store(folder.as_posix())
    store.memory.add("accepted", replace(record, commit=at), packed.data)
    run = store.open(frozenset(), where=Where(date="2026-02-01", tree=str(tmp_path)))
    assert run
    assert run.lineage
    assert (run.lineage.how, run.lineage.commits_behind, run.lineage.days_behind) == ("here", behind, 1)


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("here", "there"):
        accept(tmp_path / name, OLD, provenance={"system": "bm25"}, latency={"total": 1.5})
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_the_same_run_gives_the_same_bytes_on_every_python(folder: Path) -> None:
    """The header holds no time, no file name, and no operating system: Python 3.13 writes 255 there, 3.11 wrote 3."""
    data = run_in(folder, accept(folder, OLD)).read_bytes()
    assert data[:10].hex(" ") == "1f 8b 08 00 00 00 00 00 00 ff"


# Accepting over an older one


def test_accepting_another_run_replaces_the_old_one_and_its_file_unless_that_is_the_anchor(folder: Path) -> None:
    anchor, before, after = accept(folder, {"q1": "first"}), accept(folder, OLD), accept(folder, NEW)
    assert stored(folder) == NEW
    assert before.run != after.run
    assert set(contents(folder)) == {*RECORDS[:3], f"rankings/{anchor.run}", f"rankings/{after.run}"}


def test_accepting_the_same_run_again_keeps_it(folder: Path) -> None:
    accept(folder, OLD)
    before = contents(folder)
    accept(folder, OLD)
    assert contents(folder) == before


def test_accepting_a_run_again_mends_a_damaged_one(folder: Path) -> None:
    made = accept(folder, OLD)
    run_in(folder, made).write_bytes(b"damaged")
    accept(folder, OLD)
    assert stored(folder) == OLD


@pytest.mark.parametrize(
    "named", ["../precious.txt", "ABSOLUTE", "accepted/00000001.json", "sub/precious.txt", "", "."]
)
def test_accepting_removes_nothing_but_the_old_run(folder: Path, tmp_path: Path, named: str) -> None:
    """A record is data that a pull request may bring: what it names as its run may be any file."""
    accept(folder, OLD)
    precious = [folder.parent / "precious.txt", tmp_path / "precious.txt", folder / "sub" / "precious.txt"]
    for path in precious:
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")
    written = json.loads(newest(folder).read_text())
    written["run"] = named.replace("ABSOLUTE", str(tmp_path / "precious.txt"))
    newest(folder).write_text(json.dumps(written))
    try:
        accept(folder, NEW)
        assert stored(folder) == NEW
    except RankgateError:
        assert (folder / RECORDS[0]).exists()
    assert [path.read_text() for path in precious if path.exists()] == ["precious"] * 3


def test_a_baseline_of_a_newer_rankgate_is_not_replaced(folder: Path) -> None:
    accept(folder, OLD)
    written = json.loads(newest(folder).read_text())
    newest(folder).write_text(json.dumps({**written, "schema_version": 3}))
    before = contents(folder)
    with pytest.raises(RankgateError, match="newer than this rankgate reads"):
        accept(folder, NEW)
    assert contents(folder) == before


def test_a_directory_that_holds_something_else_is_neither_opened_nor_written(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("...")
    expected = Problem("is no baseline: it has no folder accepted/", folder.as_posix())
    assert refusal(folder) == expected
    with pytest.raises(RankgateError) as caught:
        accept(folder, NEW)
    assert caught.value.problems == (expected,)
    assert list(contents(folder)) == ["thesis.tex"]


@pytest.mark.parametrize("name", ["manifest.json", "history/notes.txt", ".hidden"])
def test_nothing_is_written_beside_what_is_somebody_elses(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("...")
    (folder / "index.html").write_text("<h1>our app</h1>")
    before = contents(folder)
    with pytest.raises(RankgateError, match="is no baseline"):
        accept(folder, NEW)
    assert contents(folder) == before


def test_a_run_without_a_query_is_not_accepted(folder: Path) -> None:
    accept(folder, OLD)
    before = contents(folder)
    with pytest.raises(RankgateError) as caught:
        accept(folder, {})
    assert caught.value.problems == (Problem("the run has no question; nothing to accept", "results/run.jsonl"),)
    assert contents(folder) == before


def test_a_run_that_turns_out_malformed_is_not_accepted(folder: Path) -> None:
    accept(folder, OLD)
    before = contents(folder)

    def breaks_off() -> Iterator[Ranking]:
        yield Ranking("q1", ["a"])
        raise bad_input("broken JSON", file="run.jsonl", line=2)

    with pytest.raises(RankgateError, match=r"run\.jsonl:2: broken JSON"):
        accept_into(folder, breaks_off(), date="2026-01-31")
    assert contents(folder) == before


def test_an_acceptance_between_reading_and_writing_is_seen_and_nothing_of_it_is_lost(folder: Path) -> None:
    """Another process accepts NEW after this one read what there was."""
    accept(folder, OLD)
    place = DirectoryPlace(folder.as_posix())
    assert place.names("accepted") == ["00000001.json"]
    accept(folder, NEW)
    before = contents(folder)
    assert place.create({"accepted/00000003.json": b"of what is no longer so"}, "") is False
    assert place.delete(["accepted/00000001.json"], "") is False
    assert contents(folder) == before


class Interrupted(DirectoryPlace):
    """A directory in which others accept runs right after this process has listed what is accepted."""

    others: tuple[str, ...] = ()

    def names(self, folder: str) -> Sequence[str]:
        """As it is, and then others have been there."""
        names = super().names(folder)
        if folder == "accepted" and self.others:
            others, self.others = self.others, ()
            for source in others:
                accept_into(self.path, [Ranking("q1", [source])], source=source, date="2026-02-01")
        return names


@pytest.mark.parametrize("others", [("b",), ("b", "c"), ("b", "c", "d")], ids=len)
def test_who_accepts_while_the_accepted_run_is_opened_takes_it_away_from_nobody(
    folder: Path, others: tuple[str, ...]
) -> None:
    """Its rankings are deleted in between, and then the newest is opened."""
    for source in ("anchor", "a"):
        accept_into(folder, [Ranking("q1", [source])], source=source, date="2026-02-01")
    place = Interrupted(folder.as_posix())
    place.others = others
    run = MemoryStore(Memory(place)).open(frozenset())
    assert run is not None
    assert [ranking.ids for ranking in run.rankings] == [[others[-1]]]


@pytest.mark.parametrize("before", [(), ("a",)], ids=["the first ones", "beside one that was there"])
@pytest.mark.parametrize("others", [("b",), ("b", "c")], ids=len)
@pytest.mark.parametrize("log", ["accepted", "history"])
def test_who_adds_meanwhile_takes_nothing_away(
    folder: Path, log: Literal["accepted", "history"], others: tuple[str, ...], before: tuple[str, ...]
) -> None:
    for source in before:
        accept_into(folder, [Ranking("q1", [source])], source=source, date="2026-02-01")
    place = Interrupted(folder.as_posix())
    place.others = others
    packed = pack([Ranking("q1", ["ours"])], source="ours")
    ours = recorded(packed, source="ours", provenance={}, gold=None, date="2026-02-01")
    memory = Memory(place)
    assert memory.add(log, ours, packed.data)
    memory.read("accepted")
    accepted = memory.read("accepted")
    expected = [*before, *others]
    assert sorted(record.source for record in accepted) == sorted([*expected, *(["ours"] if log == "accepted" else [])])
    assert memory.fetch(accepted[-1]), "the run that is accepted is still there"


def test_a_run_that_was_accepted_before_is_accepted_again_although_another_was_quicker(folder: Path) -> None:
    """A rollback: the old record is the very one that is to be written, and still it is not ours."""
    for source in ("a", "b"):
        accept_into(folder, [Ranking("q1", [source])], source=source, date="2026-02-01")
    place = Interrupted(folder.as_posix())
    place.others = ("c",)
    packed = pack([Ranking("q1", ["a"])], source="a")
    memory = Memory(place)
    record = recorded(packed, source="a", provenance={}, gold=None, date="2026-02-01")
    assert memory.add("accepted", record, packed.data)
    assert [record.source for record in memory.read("accepted")] == ["a", "b", "c", "a"]
    assert stored(folder) == {"q1": "a"}


@pytest.mark.full
@posix_only
@pytest.mark.parametrize(
    ("where", "rounds"),
    [("directory", "20"), ("branch", "5")],  # as in the directory, each acceptance is in the log
)
def test_two_that_accept_the_same_runs_in_turn_log_each_acceptance(
    folder: Path, tmp_path: Path, where: str, rounds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what another one has accepted meanwhile, either it is in the log once more or nothing said so."""
    driver = tmp_path / "driver.py"
    driver.write_text(CYCLE)
    place = folder.as_posix()
    if where == "branch":
        place = "git+branch:kept@."
        subprocess.run(["git", "init", "--quiet", tmp_path / "repository"], check=True)
        monkeypatch.chdir(tmp_path / "repository")
    crowd = [
        children.start(
            [sys.executable, "-B", driver, place, start, rounds], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        for start in "ab"
    ]
    accepted = sum(int(process.communicate()[0]) for process in crowd)
    assert [process.returncode for process in crowd] == [0, 0]
    memory = store_for(place).memory
    assert memory is not None
    assert len(memory.read("accepted")) == accepted


@posix_only
def test_many_acceptances_at_once_all_get_in_and_no_reader_finds_damage(folder: Path, tmp_path: Path) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(CROWD)
    crowd = [
        children.start([sys.executable, "-B", driver, str(number), folder], env=ENVIRONMENT) for number in range(4)
    ]
    looked, wrong = 0, []
    while any(process.poll() is None for process in crowd):
        looked += 1
        try:
            stored(folder)
            wrong += verify(directory_store(folder.as_posix()).memory).problems
        except RankgateError as error:
            wrong += error.problems
    assert [process.wait() for process in crowd] == [0] * 4
    assert looked
    assert wrong == []
    records = directory_store(folder.as_posix()).memory.read("accepted")
    assert sorted(record.source for record in records) == sorted(f"{n}-{k}" for n in range(4) for k in range(5))
    assert stored(folder) == {"q1": records[-1].source}
    runs = {name for name in contents(folder) if name.startswith("rankings/")}
    assert runs == {f"rankings/{records[0].run}", f"rankings/{records[-1].run}"}


# Opening what is not right


def test_nothing_accepted_yet_is_none(folder: Path) -> None:
    assert stored(folder) is None
    folder.mkdir(parents=True)
    assert stored(folder) is None


@pytest.mark.parametrize("named", ["../x", "ABSOLUTE", "sub/x", "..", ".", ""])
def test_a_record_may_only_name_a_run_beside_it(folder: Path, tmp_path: Path, named: str) -> None:
    """Even where the file is there and its digest is right."""
    made = accept(folder, OLD)
    (folder / "rankings/sub").mkdir()
    for place in (folder / "x", folder / "rankings/sub/x", tmp_path / "x"):
        shutil.copy(run_in(folder, made), place)
    name = named.replace("ABSOLUTE", str(tmp_path / "x"))
    written = json.loads(newest(folder).read_text())
    newest(folder).write_text(json.dumps({**written, "run": name}))
    problem = refusal(folder)
    assert problem.message.startswith("damaged baseline")
    if named == "../x":
        assert problem == Problem(f"damaged baseline: the run '../x' is not there; {RESTORE}", folder.as_posix())


def test_keys_that_a_later_release_of_this_schema_adds_are_ignored(folder: Path) -> None:
    accept(folder, OLD)
    written = json.loads(newest(folder).read_text())
    newest(folder).write_text(json.dumps({**written, "signed_by": "ana"}))
    assert stored(folder) == OLD


def test_a_record_that_is_a_directory_and_a_folder_that_is_a_file_cannot_be_read(folder: Path) -> None:
    (folder / RECORDS[0]).mkdir(parents=True)
    assert refusal(folder) == Problem("cannot be read: Is a directory", (folder / RECORDS[0]).as_posix())
    shutil.rmtree(folder / "accepted")
    (folder / "accepted").write_text("")
    assert refusal(folder) == Problem("cannot be read: Not a directory", (folder / "accepted").as_posix())


# The depth


@pytest.mark.parametrize("deepest", [pytest.param(3, id="as deep as stored"), pytest.param(0, id="whole lists only")])
def test_a_gate_may_look_as_deep_as_was_stored(folder: Path, deepest: int) -> None:
    accept(folder, OLD, depth=3)
    assert stored(folder, deepest=deepest) == OLD


@pytest.mark.parametrize("deepest", [4, 10])
def test_a_gate_may_not_look_deeper_than_was_stored(folder: Path, deepest: int) -> None:
    accept(folder, OLD, depth=3)
    assert refusal(folder, deepest=deepest) == Problem(
        f"the gates read ranks down to {deepest}, this baseline was stored to 3; accept its run again with --depth "
        f"{deepest}",
        folder.as_posix(),
    )


def judged(place: Path, metric: str, candidate: str, *, baseline: str, depth: int) -> Report:
    """A check of one query whose relevant document is `hit`, against a baseline stored to a depth."""
    (place / "c.yaml").write_text(f"gates:\n  - {{name: {metric}, regression_max: 0.03}}\n")
    (place / "gold.yaml").write_text("samples:\n  - {id: q1, expected_output: [hit]}\n")
    (place / "run.json").write_text(json.dumps({"q1": candidate.split()}))
    accept(place / "baseline", {"q1": baseline}, depth=depth)
    return check(
        Inputs(
            criteria=str(place / "c.yaml"),
            date="2026-01-31",
            gold=InputFile(str(place / "gold.yaml")),
            run=InputFile(str(place / "run.json")),
            baseline=InputFile(str(place / "baseline")),
        )
    )


CUT = "To be compared, lists were cut at rank 3, the depth of the baseline, on both sides."


@pytest.mark.parametrize(
    ("candidate", "baseline", "values", "notes"),
    [
        pytest.param("x y hit", "hit y z", (1 / 3, 1.0), [], id="short lists: nothing is cut"),
        pytest.param(
            *("x y z hit", "x y z hit", (0.25, 0.0)),
            [f"{CUT[:-1]}; mrr is 0.250 of the whole lists and 0.000 of what is left."],
            id="a hit below the depth counts in the value and on neither side of the change",
        ),
        pytest.param("hit y z w v", "hit y", (1.0, 1.0), [CUT], id="the candidate's list is cut"),
        pytest.param("x hit", "x y z hit", (0.5, 0.0), [CUT], id="the baseline's list was cut when it was stored"),
    ],
)
def test_metrics_over_the_whole_list_cut_both_sides_at_the_depth_and_say_so(
    tmp_path: Path, candidate: str, baseline: str, values: tuple[float, float], notes: list[str]
) -> None:
    found = judged(tmp_path, "mrr", candidate, baseline=baseline, depth=3)
    assert (found.measured.metrics["mrr"].value, found.measured.baseline_metrics["mrr"].value) == values
    assert [note for note in found.remarks.notes if "from noise" not in note] == notes


def test_the_first_sentence_says_what_lies_below_the_cut(tmp_path: Path) -> None:
    found = judged(tmp_path, "precision(of=retrieved)@all", "hit y z w v", baseline="hit y z", depth=3)
    assert found.summary == (
        "No list changed in the first 3: precision(of=retrieved)@all stays at 33.3% (1 question). "
        "Of the whole lists it is 20.0%."
    )
    assert "Lists have over 3 results now, 1 in the baseline; metrics of the whole list see that." in (
        judged(tmp_path, "mrr", "hit y z w v", baseline="hit", depth=3).remarks.notes
    )


WHOLE = "x y z hit w v"


@pytest.mark.parametrize(
    ("metric", "value", "cut"),
    [
        ("precision(of=retrieved)@all", 1 / 6, 0.0),
        ("recall@all", 1.0, 0.0),
        ("f(of=retrieved)@all", 2 / 7, 0.0),
        ("map", 0.25, 0.0),
        ("recall(judged_only=true)@3", 1.0, 0.0),
        ("judged@all", 1 / 6, 0.0),
        ("recall@3", 0.0, 0.0),
    ],
)
def test_a_value_is_of_the_run_as_it_is_and_a_change_of_lists_of_one_length(
    tmp_path: Path, metric: str, value: float, cut: float
) -> None:
    (gate,) = judged(tmp_path, metric, WHOLE, baseline=WHOLE, depth=3).gates
    assert gate.measured.value == pytest.approx(value)
    assert (gate.change.paired_value, gate.change.baseline, gate.change.delta) == (cut, cut, 0.0)


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        pytest.param("must_pass: [q1]", "pass", id="what must pass is found below the cut"),
        pytest.param("threshold: 0.9", "pass", id="so is what a floor counts"),
        pytest.param(
            "max_lost_queries: 0", "fail", id="a question is lost where the baseline had it and could not now"
        ),
        pytest.param("regression_max: 0.0", "fail", id="as a drop is one of lists of one length"),
    ],
)
def test_rules_for_single_questions_see_the_whole_list_unless_they_compare(
    tmp_path: Path, rule: str, verdict: str
) -> None:
    (tmp_path / "c.yaml").write_text(f"gates: [{{name: recall@all, {rule}}}]\n")
    (tmp_path / "gold.yaml").write_text("samples:\n  - {id: q1, expected_output: [hit]}\n")
    (tmp_path / "run.json").write_text(json.dumps({"q1": WHOLE.split()}))
    accept(tmp_path / "baseline", {"q1": "hit x y"}, depth=3)
    gold, run, baseline = (InputFile(str(tmp_path / name)) for name in ("gold.yaml", "run.json", "baseline"))
    asked = Inputs(criteria=str(tmp_path / "c.yaml"), date="2026-01-31", gold=gold, run=run, baseline=baseline)
    assert check(asked).verdict == verdict


# Killed at any moment. A real process accepts NEW over OLD and dies of a real signal.

SCRIPT = """
import errno, os, resource, signal, sys
from tests.baselines.accepting import accept_into, newest
from rankgate.errors import RankgateError
from rankgate.model.values import Ranking

def act(how, moment, place):
    step = 0

    def reached():
        nonlocal step
        step += 1
        if step == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event, arguments):
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.truncate", "os.link"):
            if any(isinstance(each, (str, bytes)) and os.fsdecode(each).startswith(place) for each in arguments):
                reached()

    if how == "operation":
        sync = os.fsync
        os.fsync = lambda descriptor: (reached(), sync(descriptor))
        sys.addaudithook(audit)
    else:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (moment, moment))
        if how == "byte":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    run = [Ranking("q1", ["new", "a"]), Ranking("q2", ["new", "b", "c", "d"])]
    try:
        accept_into(place, run, date="2026-02-01")
    except RankgateError as error:
        return errno.EFBIG if str(error).endswith("cannot be written: File too large") else 1
    return 0
"""


def torn(how: str, moments: Sequence[int], accepted: Lists | None, place: Path) -> tuple[int, list[str]]:
    """Kill an acceptance at each moment until one completes: how many were killed, and what was wrong after any."""
    driver = children.Forking(SCRIPT, ENVIRONMENT)
    killed = 0
    wrong: list[str] = []
    for moment in moments:
        folder = place / str(moment) / "baseline"
        anchor = accept(folder, accepted) if accepted else None
        code = driver.act(how, moment, str(folder))
        if code == 0:
            assert stored(folder) == NEW
            return killed, wrong
        assert code in (-signal.SIGKILL, -signal.SIGXFSZ)
        killed += 1
        try:
            try:
                if stored(folder) not in (accepted, NEW):
                    wrong.append(f"{how} {moment}: opened as {stored(folder)}")
            except RankgateError as error:  # of a first one nobody can tell whether the manifest was there and is gone
                if accepted or "or an acceptance was interrupted; restore it or" not in str(error):
                    raise
            made = accept(folder, NEXT)
            if stored(folder) != NEXT:
                wrong.append(f"{how} {moment}: the next acceptance stored {stored(folder)}")
            kept = {f"rankings/{each.run}" for each in (anchor, made) if each}
            if accepted and (strays := set(contents(folder)) - {*RECORDS, *kept}):
                wrong.append(f"{how} {moment}: left behind {sorted(strays)}")
        except RankgateError as error:
            wrong.append(f"{how} {moment}: {str(error).removeprefix(str(folder))}")
    return killed, wrong


@pytest.mark.full
@posix_only
@pytest.mark.parametrize("accepted", [pytest.param(OLD, id="over an old one"), pytest.param(None, id="the first one")])
@pytest.mark.parametrize(
    ("how", "moments", "at_least"),
    [
        pytest.param("operation", range(1, 60), 10, id="before each file operation"),
        pytest.param("byte", range(0, 2000, 40), 10, id="after some bytes of a file"),
    ],
)
def test_killed_at_any_moment_it_holds_the_old_baseline_or_the_new_one(
    tmp_path: Path, how: str, moments: Sequence[int], at_least: int, accepted: Lists | None
) -> None:
    killed, wrong = torn(how, moments, accepted, tmp_path)
    assert wrong == []
    assert killed >= at_least, "the process was hardly ever killed: what is it that this test tests?"


@posix_only
@pytest.mark.parametrize("room", [pytest.param(10, id="for the run"), pytest.param(200, id="for the record")])
def test_a_full_disk_is_said_and_leaves_the_old_baseline(tmp_path: Path, room: int) -> None:
    folder = tmp_path / "baseline"
    accept(folder, OLD)
    assert children.Forking(SCRIPT, ENVIRONMENT).act("room", room, str(folder)) == errno.EFBIG
    assert stored(folder) == OLD
    assert not [name for name in contents(folder) if name.endswith(".tmp")]
