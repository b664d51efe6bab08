"""`rankgate explain`: what it says of scenarios, word for word; what it takes, and what it refuses."""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.terminals import at_a_terminal

from rankgate import pip_install
from rankgate.cli import main
from rankgate.renderers.explaining import columns_of

Capture = pytest.CaptureFixture[str]
TESTS = Path(__file__).resolve().parent.parent
SCENARIOS, EXPLAINED = TESTS / "scenarios", TESTS / "explained"
DATE = ["--date", "2026-01-31"]
BM25 = ["--bm25", "corpus.jsonl"]

# By the name of the golden text: the scenario, and the words behind `explain`.
CALLS = {
    "fail-question-gone": ("fail", ["q7"]),
    "fail-question-graded-and-fine": ("fail", ["q2"]),
    "fail-question-depth": ("fail", ["q4", "--depth", "3"]),
    "fail-question-nothing-relevant": ("fail", ["q8"]),
    "fail-misses": ("fail", []),
    "fail-misses-better": ("fail", ["--cause", "better"]),
    "fail-misses-metric": ("fail", ["--metric", "recall@1", "--depth", "2"]),
    "fail-question-bm25": ("fail", ["q7", *BM25]),
    "fail-misses-bm25": ("fail", [*BM25]),
    "segments-misses": ("segments", ["--limit", "2"]),
    "reranker-misses": ("reranker", ["--limit", "3"]),
    "one-language-misses": ("one_language", ["--limit", "2"]),
    "missing-queries-question": ("missing_queries", ["q3"]),
    "no-baseline-question": ("no_baseline", ["q4"]),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a scenario's files the current directory."""

    def make(scenario: str) -> Path:
        shutil.copytree(SCENARIOS / "_inputs", tmp_path, dirs_exist_ok=True)
        ignored = shutil.ignore_patterns("expected", "scenario.yaml")
        shutil.copytree(SCENARIOS / scenario, tmp_path, dirs_exist_ok=True, ignore=ignored)
        shutil.copy(EXPLAINED / "corpus.jsonl", tmp_path)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return make


def explained(capsys: Capture, *words: str) -> str:
    assert main(["explain", *words, *DATE]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def refused(capsys: Capture, *words: str) -> str:
    assert main(["explain", *words, *DATE]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.removeprefix("error: ").rstrip()


@pytest.mark.parametrize("name", CALLS)
def test_what_it_says(
    name: str, project: Callable[[str], Path], capsys: Capture, request: pytest.FixtureRequest
) -> None:
    scenario, words = CALLS[name]
    if "--bm25" in words:
        pytest.importorskip("bm25s")
    project(scenario)
    found = explained(capsys, *words)
    golden = EXPLAINED / f"{name}.txt"
    if request.config.getoption("--refresh"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


def test_without_a_baseline_nothing_speaks_of_one(project: Callable[[str], Path], capsys: Capture) -> None:
    root = project("fail")
    criteria = (root / "ship-criteria.yaml").read_text()
    (root / "ship-criteria.yaml").write_text(criteria.replace("  baseline: accepted.jsonl\n", ""))
    assert explained(capsys, "q4").splitlines()[2] == "NOT ALL FOUND: a relevant document is not in the first 5"
    misses = explained(capsys)
    assert misses.startswith(
        "2 of 8 questions miss a relevant document in the first 5 results:\n"
        "  2  NOT ALL FOUND  a relevant document is not in the first 5\n"
    )
    assert "     expected  bread-list  rank 6\n     instead   gluten-free, parking, hours\n" in misses
    assert "baseline" not in misses


def test_one_question_misses(project: Callable[[str], Path], capsys: Capture) -> None:
    root = project("fail")
    criteria = (root / "ship-criteria.yaml").read_text()
    (root / "ship-criteria.yaml").write_text(criteria.replace("  baseline: accepted.jsonl\n", ""))
    (root / "gold.json").write_text('{"q4": ["bread-list"]}')
    misses = explained(capsys, "--gold", "gold.json")
    assert misses.startswith("1 of 1 question misses a relevant document in the first 5 results:\n")


@pytest.mark.parametrize(
    ("metric", "k", "misses"),
    [
        *((name, 7, ["c"]) for name in ("mrr", "map", "ndcg", "bpref", "recall_auc", "rbp")),
        ("rprec", None, ["a", "c"]),
        ("recall@k", None, ["a", "b", "c"]),
        ("recall@5", 5, ["b", "c"]),
    ],
)
def test_misses_are_within_what_a_metric_without_a_number_looks_at(
    metric: str, k: int | None, misses: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Whole lists, the first of which as many as are relevant, or the question's own k."""
    monkeypatch.chdir(tmp_path)
    relevant = {"a": (["d1", "d2"], {"k": 1}), "b": (["d1", "d2", "d3", "d4", "d5", "d6"], {}), "c": (["d1"], {"k": 9})}
    lists = {"a": "d1 x y d2", "b": "d1 d2 d3 d4 d5 d6 z", "c": "x y"}
    samples = [{"id": each, "expected_output": docs, "metadata": about} for each, (docs, about) in relevant.items()]
    Path("g.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in samples))
    lines = [{"query_id": each, "topk": listed.split()} for each, listed in lists.items()]
    Path("r.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    gates = [{"name": "mrr", "threshold": 0.1}]
    Path("ship-criteria.yaml").write_text(json.dumps({"gates": gates, "inputs": {"gold": "g.jsonl", "run": "r.jsonl"}}))
    found = json.loads(explained(capsys, "--metric", metric, "--format", "json"))["misses"]
    assert (found["k"], sorted(each["query_id"] for each in found["listed"])) == (k, misses)
    own = "k results, where k is the question's own" if k is None else f"{k} results"
    assert f"in the first {own}" in explained(capsys, "--metric", metric)


def test_every_golden_text_has_its_call() -> None:
    assert {path.stem for path in EXPLAINED.glob("*.txt")} == set(CALLS)


@pytest.mark.parametrize(
    "name", ["a b", "a  b", "a\nb", "quoi\u202f?", "a\u202eb", "q\x1b[1m", "##[q", "--help", "it's", "x" * 300]
)
@pytest.mark.parametrize("folder", [".", "-x", "services/support/assistant/retrieval/evaluation/" + "sets" * 20])
def test_the_command_that_a_check_prints_finds_its_question(
    name: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    there = Path(folder)
    there.mkdir(parents=True, exist_ok=True)
    (there / "my.yaml").write_text("gates: [{name: mrr, threshold: 0.9}]\n")
    (there / "gold.jsonl").write_text(json.dumps({"id": name, "input": "How?", "expected_output": ["a"]}))
    (there / "run.jsonl").write_text(json.dumps({"query_id": name, "retrieved": ["b"]}))
    files = [f"--{key}={there / file}" for key, file in FILES.items()]
    assert main(["check", *files, "-o", "comment.md"]) == 1
    printed = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Next: "))
    commented = next(line for line in Path("comment.md").read_text().splitlines() if line.startswith("**Next:** "))
    for command in (printed.removeprefix("Next: "), commented.removeprefix("**Next:** ").strip("` ")):
        program, *words = shlex.split(command)
        assert (program, words[0]) == ("rankgate", "explain")
        assert main(words) == 0
        assert capsys.readouterr().err == ""


FILES = {"criteria": "my.yaml", "gold": "gold.jsonl", "run": "run.jsonl"}
RANKED = "name one metric of ranked documents, such as recall@10"
OF_MISSES = "goes with the list of misses; leave out 'q1'"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["q77"], "no question 'q77' in the gold set; did you mean 'q7'?"),
        (["recall@5"], "no question 'recall@5' in the gold set"),
        (["q1", "--tag", "lang:es"], f"--tag {OF_MISSES}"),
        (["q1", "--metric", "mrr"], f"--metric {OF_MISSES}"),
        (["--metric", "latency"], f"--metric 'latency': {RANKED}"),
        (["--metric", "mrr,map"], f"--metric 'mrr,map': {RANKED}"),
        (["--metric", "recal@5"], "--metric: unknown metric 'recal@5'; did you mean 'recall@5'?"),
        (["q1", "--limit", "3"], f"--limit {OF_MISSES}"),
        (["q1", "--depth", "0"], "--depth 0: at least 1"),
        (["q1", "--gold", "-", "--bm25", "-"], "only one input can be read from standard input (-)"),
        (["--limit", "-1"], "--limit -1: at least 1"),
        (["--tag", "lang:ess"], "--tag 'lang:ess': no question has it; did you mean 'lang:es'?"),
        (
            ["--cause", "lowr"],
            (
                "--cause 'lowr': no such cause; did you mean 'lower'? (no_result, gone, lower, not_all_found, better, "
                "fine, new, nothing_to_find)"
            ),
        ),
        (["--bm25", "absent.jsonl"], "absent.jsonl: no such file"),
    ],
)
def test_what_it_refuses(words: list[str], message: str, project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    assert refused(capsys, *words) == message


def test_a_check_that_cannot_be_judged_says_its_problems(project: Callable[[str], Path], capsys: Capture) -> None:
    project("bad_data")
    main(["check", *DATE, "--format", "json"])
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert main(["explain", *DATE]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(problems)
    assert all(line.startswith("error: run.jsonl:") for line in said)


def test_without_the_extra_it_says_what_to_install(
    project: Callable[[str], Path], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    project("fail")
    monkeypatch.setitem(sys.modules, "bm25s", None)
    assert refused(capsys, "q7", *BM25) == f"--bm25 needs the bm25 extra; run: {pip_install('bm25')}"


@pytest.mark.parametrize(
    ("corpus", "extra", "said"),
    [
        pytest.param("absent.jsonl", True, "absent.jsonl: no such file", id="a wrong file"),
        pytest.param("corpus.jsonl", False, "--bm25 needs the bm25 extra; run: ", id="without the extra"),
    ],
)
def test_bm25_is_ready_before_anything_is_scored(
    corpus: str,
    said: str,
    project: Callable[[str], Path],
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    extra: bool,
) -> None:
    """Here the run is wrong as well, which only the check would find."""
    project("bad_data")
    if not extra:
        monkeypatch.setitem(sys.modules, "bm25s", None)
    assert refused(capsys, "--bm25", corpus).startswith(said)


def test_a_chunk_is_marked_where_the_gold_set_names_its_document(
    project: Callable[[str], Path], capsys: Capture
) -> None:
    pytest.importorskip("bm25s")
    root = project("fail")
    chunks = [
        {"chunk_id": "chunk-1", "doc_id": "allergens", "text": "which breads have nuts in them"},
        {"chunk_id": "chunk-2", "doc_id": "another", "text": "nuts and much else"},
    ]
    (root / "corpus.jsonl").write_text("".join(json.dumps(chunk) + "\n" for chunk in chunks))
    text = explained(capsys, "q4", *BM25)
    assert re.search(r"1 \* chunk-1$", text, re.MULTILINE)
    assert re.search(r"2   chunk-2$", text, re.MULTILINE)


def values(capsys: Capture, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explained(capsys, *words, "--format", "json"))
    return found


def test_a_question_as_json(project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    found = values(capsys, "q4")
    assert found["explains"] == "query"
    query = found["query"]
    assert query["question"]["cause"] == "lower"
    assert query["question"]["expected"] == [
        {"id": "allergens", "gain": 1.0, "before": 1, "after": 2},
        {"id": "bread-list", "gain": 1.0, "before": 2, "after": 6},
    ]
    assert query["question"]["now"][1] == {"id": "allergens", "gain": 1.0}
    assert [score["metric"] for score in query["scores"]] == ["recall@5", "mrr"]
    assert (query["k"], query["depth"], query["compared"], query["lexical"]) == (5, 10, True, None)


def test_misses_as_json(project: Callable[[str], Path], capsys: Capture) -> None:
    project("one_language")
    found = values(capsys, "--limit", "2")["misses"]
    (share,) = found["shared"]
    assert share["tag"].startswith("lang:")
    assert len(found["listed"]) == 2
    assert found["more"] == sum(found["causes"].values()) - 2
    assert found["metric"] == "recall@5"


@pytest.mark.parametrize("written", ["nothing_relevant", "nothing to find", "NOTHING-TO-FIND"])
def test_a_cause_is_asked_for_as_it_is_shown_or_as_it_is_stored(
    written: str, project: Callable[[str], Path], capsys: Capture
) -> None:
    project("fail")
    found = values(capsys, "--cause", written)["misses"]
    assert [miss["query_id"] for miss in found["listed"]] == ["q8"]


def test_the_misses_of_a_tag(project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    found = values(capsys, "--tag", "lang:es")["misses"]
    assert (found["questions"], [miss["query_id"] for miss in found["listed"]]) == (2, ["q7"])


def test_a_text_that_is_its_own_id_is_shown_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.csv").write_text("question,document\nhow do I return it,a\n", encoding="utf-8")
    for name, ids in (("before", ["a"]), ("now", ["b"])):
        line = {"query_id": "how do I return it", "topk": ids}
        Path(f"{name}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    Path("c.yaml").write_text("gates: [{name: 'recall@5', regression_max: 0.1}]\n", encoding="utf-8")
    files = ["--criteria", "c.yaml", "--gold", "gold.csv", "--run", "now.jsonl", "--baseline", "before.jsonl"]
    for words in (["how do I return it"], []):
        assert explained(capsys, *words, *files).count("how do I return it") == 1


HOSTILE = "\x1b[31m::error::owned\u202e##[group]<script>\n" + "x" * 5_000


def test_hostile_text_is_shown_and_not_run(tmp_path: Path, capsys: Capture) -> None:
    """Control characters, commands of GitHub's runner and endless words, in ids, question, tag and document."""
    gold = {"id": HOSTILE, "input": {"question": f"{HOSTILE}?"}, "expected_output": [HOSTILE + "d"]}
    gold["metadata"] = {"tags": [f"lang:{HOSTILE}"]}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold) + "\n", encoding="utf-8")
    for name, ids in (("before", [HOSTILE + "d", "a"]), ("now", [HOSTILE + "e", "a"])):
        line = json.dumps({"query_id": HOSTILE, "retrieved": ids})
        (tmp_path / f"{name}.jsonl").write_text(line + "\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("gates: [{name: 'recall@5', threshold: 0.1}]\n", encoding="utf-8")
    files = {"criteria": "c.yaml", "gold": "gold.jsonl", "run": "now.jsonl", "baseline": "before.jsonl"}
    flags = [word for flag, name in files.items() for word in (f"--{flag}", str(tmp_path / name))]
    for words in ([HOSTILE], []):
        text = explained(capsys, *words, *flags)
        assert "\\u001b[31m" in text
        assert_harmless(text)
        assert len(text) < 12_000


def assert_harmless(text: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "##[" not in text


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("words", [["q4"], []], ids=["question", "misses"])
def test_at_a_real_terminal_of_any_width(columns: int, words: list[str], project: Callable[[str], Path]) -> None:
    project("fail")
    code, text = at_a_terminal(["explain", *words, *DATE], columns, Path.cwd())
    assert code == 0
    assert "\x1b" not in text
    too_long = [line for line in text.splitlines() if columns_of(line) > columns]
    # What has no blank to break at, and the table of numbers, keep their line.
    assert not [line for line in too_long if columns > 40 or not line.startswith("  ")]
    if words == ["q4"]:
        heading = next(line for line in text.splitlines() if line.strip().startswith("baseline "))
        assert ("now" in heading) is True
