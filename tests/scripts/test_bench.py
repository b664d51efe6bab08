"""scripts/bench: the workloads that it writes, its arithmetic and its arguments. What it measures takes minutes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rankgate.cli import main

pytestmark = pytest.mark.full

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

import bench_sessions  # noqa: E402 -- not a package: scripts import each other as neighbours
from bench_measure import Command, FailedError, Measured, Usage, measure, rotated, run_rounds  # noqa: E402
from bench_programs import FOUR_DECIMALS, Program, agreeing, printed_values, rankgate_values  # noqa: E402
from bench_sessions import Wish, workload  # noqa: E402
from bench_tables import Column, Goal, Target, middle, ratio, record, table, targets  # noqa: E402
from bench_workload import Incomplete, Workload, files_of, make, write_workload  # noqa: E402

TINY = Workload(queries=60, depth=20, seed=3)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("workload")
    write_workload(directory, TINY)
    return directory


class TestWorkload:
    def test_a_seed_says_every_byte(self, tiny: Path, tmp_path: Path) -> None:
        write_workload(tmp_path, TINY)
        assert contents(tmp_path) == contents(tiny)

    def test_another_seed_says_others(self, tiny: Path, tmp_path: Path) -> None:
        write_workload(tmp_path, TINY._replace(seed=4))
        changed = {name for name, data in contents(tmp_path).items() if data != (tiny / name).read_bytes()}
        assert changed == set(contents(tiny)) - {"ship-criteria.yaml"}

    def test_a_longer_one_begins_like_a_shorter_one_with_no_accepted_run(self, tiny: Path, tmp_path: Path) -> None:
        write_workload(tmp_path, TINY._replace(queries=70, accepted=False))
        names = {"gold.jsonl", "qrels.txt", "run.jsonl", "run.trec"}
        assert set(contents(tmp_path)) == names | {"workload.json"}
        for name in names:
            assert (tmp_path / name).read_bytes().startswith((tiny / name).read_bytes())

    def test_a_tagged_one_has_questions_tags_and_a_corpus_and_the_same_runs(self, tiny: Path, tmp_path: Path) -> None:
        write_workload(tmp_path, TINY._replace(tagged=True))
        written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        corpus = [json.loads(line) for line in written.pop("corpus.jsonl").splitlines()]
        changed = {name for name, data in written.items() if data != (tiny / name).read_bytes()}
        assert changed == {"gold.jsonl", "workload.json"}
        runs = [json.loads(line) for name in ("run.jsonl", "accepted.jsonl") for line in written[name].splitlines()]
        listed = {item["chunk_id"] for line in runs for item in line["topk"][:10]}
        assert sorted(each["id"] for each in corpus) == sorted(listed)
        assert all(400 < len(each["text"]) < 800 for each in corpus)
        samples = [json.loads(line) for line in (tmp_path / "gold.jsonl").read_text().splitlines()]
        assert len({sample["input"]["question"] for sample in samples}) == TINY.queries
        assert len({tag for sample in samples for tag in sample["metadata"]["tags"]}) == 12 + 20

    def test_a_line_is_the_contracts(self, tiny: Path) -> None:
        line = json.loads((tiny / "run.jsonl").read_text().splitlines()[0])
        assert line.keys() == {"query_id", "topk", "latency_ms"}
        assert line["latency_ms"].keys() == {"retrieve", "rerank"}
        assert [item["rank"] for item in line["topk"]] == list(range(1, 21))
        assert all(item.keys() == {"rank", "chunk_id", "score", "doc_version"} for item in line["topk"])
        scores = [item["score"] for item in line["topk"]]
        assert scores == sorted(set(scores), reverse=True)

    def test_the_trec_files_say_the_same(self, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def scores(gold: str, run: str) -> dict[str, Any]:
            arguments = ["score", "--gold", str(tiny / gold), "--run", str(tiny / run), "--format", "json"]
            assert main([*arguments, "--metrics", "recall@5,mrr,ndcg@10,map,recall@20"]) == 0
            answer: dict[str, Any] = json.loads(capsys.readouterr().out)
            return answer

        from_json = scores("gold.jsonl", "run.jsonl")
        assert from_json == scores("qrels.txt", "run.trec")
        assert 0.5 < from_json["metrics"]["recall@20"]["value"] < 1

    def test_the_candidate_passes_its_gates(
        self, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_workload(tmp_path, Workload())
        monkeypatch.chdir(tmp_path)
        assert main(["baseline", "accept", "--run", "accepted.jsonl", "--to", "baseline"]) == 0
        assert main(["check", "-o", "report.json"]) == 0, capsys.readouterr().out
        assert rankgate_values(Path("report.json").read_text()).keys() >= {"recall@5", "mrr", "ndcg@10", "map"}

    def test_parquet_says_the_same(self, tmp_path: Path) -> None:
        duckdb = pytest.importorskip("duckdb")
        make(tmp_path, TINY, parquet=True)
        with duckdb.connect(":memory:") as connection:
            rows = connection.execute("FROM read_parquet(?)", [str(tmp_path / "run.parquet")]).fetchall()
        lines = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines())
        assert rows == [
            (line["query_id"], item["rank"], item["chunk_id"], item["score"], item["doc_version"])
            for line in lines
            for item in line["topk"]
        ]

    def test_it_is_written_once(self, tmp_path: Path) -> None:
        assert make(tmp_path, TINY)
        before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        assert not make(tmp_path, TINY)
        assert before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    @pytest.mark.parametrize(
        ("spoil", "wanted"),
        [
            pytest.param(lambda work: None, TINY._replace(depth=10), id="other parameters"),
            pytest.param(lambda work: (work / "workload.json").unlink(), TINY, id="no marker"),
            pytest.param(lambda work: (work / "workload.json").write_text("{"), TINY, id="half a marker"),
            pytest.param(lambda work: (work / "run.trec").unlink(), TINY, id="a file is gone"),
            pytest.param(lambda work: (work / "run.trec").write_text("q"), TINY, id="a file is cut"),
        ],
    )
    def test_what_does_not_fit_is_written_again(
        self, tiny: Path, tmp_path: Path, spoil: Callable[[Path], object], wanted: Workload
    ) -> None:
        work = tmp_path / "work"
        shutil.copytree(tiny, work)
        spoil(work)
        with pytest.raises(Incomplete):
            files_of(work, wanted)
        assert make(work, wanted)
        assert "run.trec" in files_of(work, wanted)

    def test_its_size_is_told_in_advance(self, tiny: Path) -> None:
        written = sum(map(len, contents(tiny).values()))
        assert written <= TINY.needs <= 1.3 * written
        assert 13e9 < bench_sessions.HUGE.needs < 14e9

    def test_a_disk_that_lacks_the_room_ends_it_before_anything_is_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**9))
        with pytest.raises(FailedError, match="no room for the workload; --cache DIR names another place"):
            workload(tmp_path / "huge", bench_sessions.HUGE)
        assert "1,000,000 queries of 100 results take about 13.2 GB in" in capsys.readouterr().err
        assert list((tmp_path / "huge").iterdir()) == []


# Two programs in three rounds, the second of which is twice as slow for both.
MEASURED: Measured = {
    "ours": [Usage(1.0, 0.5, 10), Usage(2.0, 1.0, 12), Usage(1.2, 0.6, 11)],
    "theirs": [Usage(2.0, 2.0, 20), Usage(4.0, 4.0, 20), Usage(2.0, 2.0, 20)],
}


class TestFigures:
    def test_a_median_is_over_the_rounds(self) -> None:
        assert middle(MEASURED, "ours", "cpu") == 1.2
        assert middle(MEASURED, "ours", "peak") == 11

    def test_a_ratio_is_the_median_of_ratios_within_rounds(self) -> None:
        assert ratio(MEASURED, "ours", "theirs", "cpu") == 0.5
        assert ratio(MEASURED, "theirs", "ours", "wall") == 4

    def test_targets_that_were_not_measured_are_not_spoken_of(self) -> None:
        goals = [
            Goal("ours: at most 1 s CPU", 1, "cpu", "ours"),
            Goal("ours: at most 11 MiB", 11, "peak", "ours"),
            Goal("ours by theirs", 1 / 3, "wall", "ours", "theirs"),
            Goal("theirs by ours", None, "cpu", "theirs", "ours"),
            Goal("nobody", 1, "cpu", "nobody"),
            Goal("ours by nobody's", 1, "cpu", "ours", "nobody"),
        ]
        assert list(map(str, targets(MEASURED, goals))) == [
            "missed  ours: at most 1 s CPU (measured: 1.200)",
            "met     ours: at most 11 MiB (measured: 11.000)",
            "met     ours by theirs (measured: 0.250)",
            "told    theirs by ours (measured: 2.000)",
        ]

    def test_no_number_meets_no_target(self) -> None:
        assert Target("", 1, float("nan")).met is False

    def test_a_table_has_the_columns_that_can_be_filled(self) -> None:
        columns = [
            Column("CPU / theirs", "cpu", lambda _: "theirs"),
            Column("CPU / nobody", "cpu", lambda _: "nobody"),
            Column("peak / other", "peak", lambda name: {"ours": "theirs"}.get(name, "")),
        ]
        assert table(MEASURED, {"ours": "rankgate", "theirs": "a peer"}, columns) == [
            "|          |                  CPU s |                 wall s | peak MiB | CPU / theirs | peak / other |",
            "| :------- | ---------------------: | ---------------------: | -------: | -----------: | -----------: |",
            "| rankgate | 1.200 (1.000 to 2.000) | 0.600 (0.500 to 1.000) |     11.0 |         0.50 |         0.55 |",
            "| a peer   | 2.000 (2.000 to 4.000) | 2.000 (2.000 to 4.000) |     20.0 |         1.00 |              |",
        ]

    def test_a_single_round_has_no_range(self) -> None:
        (_, _, line) = table({"ours": [Usage(1.0, 0.5, 1234.5)]}, {"ours": "rankgate"}, [])
        assert line == "| rankgate | 1.000 |  0.500 |  1,234.5 |"

    def test_the_record_holds_everything(self) -> None:
        columns = [Column("CPU / theirs", "cpu", lambda _: "theirs")]
        told = record(MEASURED, columns, [Goal("ours: at most 1 s CPU", 1, "cpu", "ours")])
        assert json.loads(json.dumps(told)) == told
        ours = told["programs"]["ours"]
        assert ours["median"] == {"cpu": 1.2, "wall": 0.6, "peak": 11}
        assert ours["ratios"] == {"CPU / theirs": 0.5}
        assert len(ours["each_round"]) == 3
        assert told["targets"] == [{"text": "ours: at most 1 s CPU", "limit": 1, "measured": 1.2, "met": False}]

    @pytest.mark.parametrize(
        ("text", "values"),
        [
            pytest.param("R@5\t0.6454\nAP\t0.4303\n", {"recall@5": 0.6454, "map": 0.4303}, id="two words"),
            pytest.param(
                "num_q all 3\nR@5    all\t0.5\nAP all 0\n", {"recall@5": 0.5, "map": 0}, id="trec_eval's three"
            ),
        ],
    )
    def test_values_are_read_from_what_peers_print(self, text: str, values: dict[str, float]) -> None:
        assert printed_values({"R@5": "recall@5", "AP": "map"})(text) == values

    def test_a_metric_that_is_not_printed_ends_it(self) -> None:
        with pytest.raises(FailedError, match=r"expected R@5, AP in:\nR@5 0\.5"):
            printed_values({"R@5": "recall@5", "AP": "map"})("R@5 0.5")


def python(code: str, directory: Path) -> Command:
    return Command((sys.executable, "-I", "-S", "-c", code), directory)


def printing(name: str, text: str, directory: Path, *, off: float = 0.0, optional: bool = False) -> Program:
    read = printed_values({"map": "map"})
    return Program(name, f"the {name}", python(f"print({text!r})", directory), read, off, optional)


class TestRunning:
    def test_all_of_a_programs_processes_count(self, tmp_path: Path) -> None:
        work = "data = bytearray(60_000_000); sum(range(1_500_000))"
        alone = measure(python(work, tmp_path))
        forked = measure(python(f"import os\nif os.fork() == 0: {work}\nelse: os.wait()", tmp_path))
        assert alone.peak > 60
        assert forked.peak > 60
        assert forked.cpu > 0.3 * alone.cpu
        assert alone.wall > 0

    def test_a_program_that_fails_ends_it(self, tmp_path: Path) -> None:
        with pytest.raises(FailedError, match=r"exit code 3\nsorry$"):
            measure(python("import sys; print('sorry', file=sys.stderr); sys.exit(3)", tmp_path))

    def test_rounds_begin_with_another_program_each(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert rotated(["a", "b", "c"], 2) == ["c", "a", "b"]
        measured = run_rounds({"a": python("", tmp_path), "b": python("", tmp_path)}, 2)
        assert {name: len(usages) for name, usages in measured.items()} == {"a": 2, "b": 2}
        said = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
        assert said == ["Round 1 of 2: a", "Round 1 of 2: b", "Round 2 of 2: b", "Round 2 of 2: a"]

    def test_programs_that_agree_as_far_as_they_print_are_measured(self, tmp_path: Path) -> None:
        programs = [
            printing("first", "map 0.43021", tmp_path),
            printing("rounding", "map 0.4302", tmp_path, off=FOUR_DECIMALS),
            Program("silent", "the silent", python("", tmp_path)),
        ]
        assert agreeing(programs, []) == programs

    def test_programs_that_disagree_end_it(self, tmp_path: Path) -> None:
        programs = [
            printing("first", "map 0.4302", tmp_path),
            printing("other", "map 0.4303", tmp_path, off=FOUR_DECIMALS),
        ]
        with pytest.raises(FailedError, match=r"map: the first has 0\.430200, the other has 0\.430300"):
            agreeing(programs, [])

    def test_no_number_agrees_with_none(self, tmp_path: Path) -> None:
        with pytest.raises(FailedError, match="the other has nan"):
            agreeing([printing("first", "map 0.4", tmp_path), printing("other", "map nan", tmp_path)], [])

    def test_an_optional_program_that_does_not_run_is_left_out_with_a_note(self, tmp_path: Path) -> None:
        broken = Program("new", "the new", python("raise SystemExit('not yet')", tmp_path), optional=True)
        there, notes = printing("first", "map 0.4", tmp_path), ["before"]
        assert agreeing([broken, there], notes) == [there]
        assert notes == ["before", "Left out: the new (not yet)"]

    def test_any_other_ends_it(self, tmp_path: Path) -> None:
        with pytest.raises(FailedError, match="not yet"):
            agreeing([Program("new", "the new", python("raise SystemExit('not yet')", tmp_path))], [])


class TestArguments:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            pytest.param(["tiny"], "invalid choice: 'tiny'", id="no such workload"),
            pytest.param(["--rounds", "0"], "--rounds: invalid positive value: '0'", id="no rounds"),
            pytest.param(["large", "--only", "jsonl-3"], "--only: large has no jsonl-3; choose from jsonl,", id="only"),
            pytest.param(["--only", "ranx"], "--only: small has no ranx; choose from check,", id="of another workload"),
            pytest.param(["large", "--peers"], "--peers: only with huge", id="peers"),
            pytest.param(
                ["large", "--trec-eval", "/no/such"], "--trec-eval: /no/such is not a program", id="trec_eval"
            ),
            pytest.param(["--json", "/no/such/x.json"], "--json: /no/such is not a directory", id="json"),
        ],
    )
    def test_a_wrong_one_is_told(self, words: list[str], said: str, tmp_path: Path) -> None:
        command = [sys.executable, str(SCRIPTS / "bench"), *words, "--cache", str(tmp_path / "cache")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert said in ended.stderr
        assert not (tmp_path / "cache").exists()

    def test_only_chooses_programs(self, tmp_path: Path) -> None:
        assert Wish(tmp_path).wants("ranx")
        assert not Wish(tmp_path, ["jsonl", "trec"]).wants("ranx")
        assert Wish(tmp_path, ["jsonl", "trec"]).wants("trec")

    def test_a_missing_trec_eval_is_noted_where_it_is_wanted(self, tmp_path: Path) -> None:
        note = "Left out: trec_eval (not on PATH; --trec-eval says where it is)"
        assert Wish(tmp_path).notes() == [note]
        assert Wish(tmp_path, ["ranx"]).notes() == []
        assert Wish(tmp_path, trec_eval=Path("/bin/trec_eval")).notes() == []
