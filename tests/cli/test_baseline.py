"""`rankgate baseline accept`: a run becomes what gates compare with, whole or not at all."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.baselines.accepting import newest, newest_of, run_of

import rankgate
from rankgate.cli import main

GOLD = '{"id": "q1", "expected_output": ["a"]}\n{"id": "q2", "expected_output": ["b"]}\n'
RUN = """\
{"query_id": "q1", "topk": [{"rank": 1, "chunk_id": "a"}, {"rank": 2, "chunk_id": "x"}], "system": "bm25"}
{"query_id": "q2", "topk": [{"rank": 1, "chunk_id": "y"}], "latency_ms": {"retrieve": 35}}
"""
BETTER = '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n'
CRITERIA = """\
gates:
  - {name: recall@1, regression_max: 0.1}
inputs: {gold: gold.jsonl, run: run.jsonl, baseline: baseline}
"""
DATE = ["--date", "2026-01-31"]
PROJECT = {"gold.jsonl": GOLD, "run.jsonl": RUN, "better.jsonl": BETTER, "ship-criteria.yaml": CRITERIA}
pytestmark = pytest.mark.usefixtures("project")


def content_of(directory: str) -> dict[str, bytes]:
    files = [path for path in Path(directory).rglob("*") if path.is_file()]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}


def accept(*words: str) -> int:
    return main(["baseline", "accept", *words])


def test_what_is_stored_is_ranked_ids_with_a_newest_of() -> None:
    assert accept(*DATE) == 0
    stored = newest_of()
    lines = gzip.decompress(run_of().read_bytes()).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"query_id": "q1", "retrieved": ["a", "x"]},
        {"query_id": "q2", "retrieved": ["y"], "latency_ms": {"retrieve": 35}},
    ]
    assert {key: stored[key] for key in ("depth", "queries", "kept", "date", "source", "provenance")} == {
        "depth": 100,
        "queries": 2,
        "kept": ["latency_ms"],
        "date": "2026-01-31",
        "source": "run.jsonl",
        "provenance": {"system": "bm25"},
    }
    assert stored["gold"].keys() == {"path", "queries", "fingerprint", "queries_fingerprint"}
    assert (stored["gold"]["path"], stored["gold"]["queries"]) == ("gold.jsonl", 2)
    digests = f"rankings/gold-{stored['gold']['fingerprint'][:12]}.json"
    assert set(content_of("baseline")) == {"accepted/00000001.json", f"rankings/{stored['run']}", digests}
    assert json.loads(Path("baseline", digests).read_text()).keys() == {"q1", "q2"}


def test_it_says_what_was_stored(capsys: pytest.CaptureFixture[str]) -> None:
    assert accept() == 0
    assert capsys.readouterr().out == (
        "accepted run.jsonl as the baseline in baseline: 2 questions, ranks to 100\n"
        "  gate      accepted  this run  verdict\n"
        "  recall@1         –     50.0%  WARN\n"
        "add this line to ship-criteria.yaml: "
        "baseline: {required: true}  # without one nothing is judged, so that nobody removes it unseen\n"
    )


@pytest.mark.parametrize(("store", "path"), [("baseline", "../baseline"), ("git+branch:kept", "git+branch:kept")])
def test_criteria_that_name_no_baseline_get_the_line_that_does(
    store: str, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main"], check=True)
    Path("config").mkdir()
    criteria = CRITERIA.replace(", baseline: baseline", "").replace("gold.jsonl", "../gold.jsonl")
    Path("config/ship-criteria.yaml").write_text(criteria.replace("run.jsonl", "../run.jsonl"), encoding="utf-8")
    assert accept("--to", store) == 0
    line = f'add this line to `inputs:` of config/ship-criteria.yaml: baseline: "{path}"'
    assert line in capsys.readouterr().out.splitlines()
    assert accept("--to", store) == 0
    assert "inputs:" not in capsys.readouterr().out


def test_from_then_on_gates_compare_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--run", "better.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("WARN  ")
    assert accept("--run", "better.jsonl") == 0
    capsys.readouterr()
    assert main(["check", "--run", "better.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("PASS  ")
    assert main(["check", "--run", "run.jsonl"]) == 1


def test_flags_win_over_the_criteria(capsys: pytest.CaptureFixture[str]) -> None:
    assert accept("--run", "better.jsonl", "--to", "kept/here/") == 0
    assert capsys.readouterr().out.startswith("accepted better.jsonl as the baseline in kept/here: 2 questions")
    assert not Path("baseline").exists()


def test_without_criteria_flags_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ship-criteria.yaml").unlink()
    assert accept("--run", "run.jsonl", "--to", "baseline") == 0
    assert capsys.readouterr().out == (
        "accepted run.jsonl as the baseline in baseline: 2 questions, ranks to 100\n"
        "no gold set was named, so the record does not say which one was current\n"
    )
    assert newest_of()["gold"] is None


@pytest.mark.full
def test_lists_are_cut_at_the_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert accept("--depth", "1") == 0
    assert "ranks to 1 (1 list was longer and cut)" in capsys.readouterr().out
    lines = gzip.decompress(run_of().read_bytes()).decode().splitlines()
    assert [len(json.loads(line)["retrieved"]) for line in lines] == [1, 1]


def test_lists_are_kept_as_deep_as_a_gate_reads(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("recall@1", "recall@200"), encoding="utf-8")
    long = json.dumps({"query_id": "q1", "retrieved": ["a", *map(str, range(300))]})
    Path("run.jsonl").write_text(f'{long}\n{{"query_id": "q2", "retrieved": ["b"]}}\n', encoding="utf-8")
    assert accept() == 0
    assert "ranks to 200 (1 list was longer and cut)" in capsys.readouterr().out
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("PASS  No list changed in the first 200: recall@200 stays at 100.0%")


@pytest.mark.full
def test_a_run_from_standard_input() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "rankgate", "baseline", "accept", "--run", "-"],
        env={**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1])},
        input=RUN.encode(),
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.startswith(b"accepted standard input as the baseline in baseline")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--run", "absent.jsonl"], "absent.jsonl: no such file"),
        (["--run", "broken.jsonl"], "broken.jsonl:2: "),
        (["--run", "others.jsonl"], "others.jsonl: the run has none of the 2 questions of gold.jsonl"),
        (["--gold", "absent.yaml"], "absent.yaml: no such file"),
        (["--depth", "0"], "--depth must be at least 1, not 0"),
        (["--date", "yesterday"], "--date 'yesterday' is not a date; write it as 2026-01-31"),
        (["--to", "gold.jsonl"], "gold.jsonl: is a file; a baseline is accepted into a directory"),
        (["--to", "."], ".: is no baseline: it has no folder accepted/"),
        (["--gold", "-", "--run", "-"], "only one input can be read from standard input (-)"),
        (["--criteria", "absent.yaml"], "absent.yaml: no such file"),
    ],
)
def test_what_cannot_be_accepted_leaves_the_old_baseline_whole(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    Path("broken.jsonl").write_text('{"query_id": "q1", "retrieved": ["a"]}\nnot json\n', encoding="utf-8")
    Path("others.jsonl").write_text('{"query_id": "z", "retrieved": ["a"]}\n', encoding="utf-8")
    assert accept(*DATE) == 0
    before = content_of("baseline")
    capsys.readouterr()
    assert accept(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert content_of("baseline") == before


def test_without_a_place_it_says_how_to_name_one(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ship-criteria.yaml").unlink()
    assert accept("--run", "run.jsonl") == 2
    message = "no place for the baseline; name a directory with --baseline, or as inputs.baseline in the criteria"
    assert capsys.readouterr().err == f"error: {message}\n"


def test_a_damaged_record_says_what_to_do_and_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert accept(*DATE) == 0
    whole = content_of("baseline")
    newest().write_text('{"schema', encoding="utf-8")
    capsys.readouterr()
    assert main(["check"]) == 2
    assert "restore it, or delete it and accept a run again" in capsys.readouterr().out
    assert accept(*DATE) == 2
    newest().unlink()
    assert main(["check"]) == 2
    assert "is the run of no record: that was deleted, or an acceptance was interrupted" in capsys.readouterr().out
    assert accept(*DATE) == 0
    assert content_of("baseline") == whole


def test_a_commit_of_the_environment_that_is_no_sha_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a repository the job's word is taken, but only for what it can be."""
    monkeypatch.setenv("GITHUB_SHA", "@octocat")
    assert accept(*DATE) == 2
    assert "GITHUB_SHA is '@octocat', which is no sha; name the commit with --commit" in capsys.readouterr().err
    assert not Path("baseline").exists()
    assert accept(*DATE, "--commit", "1a2b3c4") == 0
    assert newest_of()["commit"] == "1a2b3c4"
    monkeypatch.setenv("GITHUB_SHA", "f" * 40)
    assert accept(*DATE, "--run", "better.jsonl") == 0
    assert newest_of()["commit"] == "f" * 40


QRELS = "".join(f"q{number} 0 d{number} 1\n" for number in range(10))
LINES = [f"q{number} Q0 d{number} 1 1.0 bm25\n" for number in range(10)]
STORES = ["baseline", "file://{here}/bucket", "git+branch:kept"]


@pytest.fixture
def trec(project: Path) -> Path:
    """Ten questions in a format that cannot write an empty list."""
    Path("qrels.txt").write_text(QRELS)
    Path("run.trec").write_text("".join(LINES))
    return project


def summary(baseline: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    criteria = Path("trec.yaml")
    criteria.write_text(f"""\
gates: [{{name: recall@1, regression_max: 0.05}}]
inputs: {{gold: qrels.txt, run: run.trec, baseline: "{baseline}"}}
""")
    main(["check", "--criteria", "trec.yaml", "-q", *words])
    return capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("store", STORES)
def test_a_question_that_the_accepted_run_lacks_is_a_list_without_a_result(
    trec: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main"], check=True)
    store = store.format(here=trec)
    Path("run.trec").write_text("".join(LINES[:8]))
    summary(store, capsys)
    assert accept("--criteria", "trec.yaml", *DATE) == 0
    assert "80.0%" in capsys.readouterr().out
    assert (
        summary(store, capsys) == "PASS  No list changed in the first result: recall@1 stays at 80.0% (10 questions)."
    )

    Path("run.trec").write_text("".join(LINES[:9]))
    assert "80.0% → 90.0%" in summary(store, capsys) or "+10.0" in summary(store, capsys)

    Path("run.trec").write_text("".join([*LINES[:7], *LINES[8:]]))
    assert "No list changed" not in summary(store, capsys)


def test_what_a_file_lacks_passes_for_no_gain(trec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question that joined the gold set since would hide that another is lost."""
    Path("accepted.trec").write_text("".join(LINES[:9]))
    Path("run.trec").write_text("".join(LINES[1:]))
    assert "lost 11.1 points: 100.0% → 88.9%" in summary("accepted.trec", capsys)
