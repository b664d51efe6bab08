"""`rankgate explain`: what it says of scenarios, word for word; what it takes, and what it refuses."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main
from rankgate.renderers.explaining.layout import columns_of

Capture = pytest.CaptureFixture[str]
TESTS = Path(__file__).resolve().parent.parent
SCENARIOS, EXPLAINED = TESTS / "scenarios", TESTS / "explained"
DATE = ["--date", "2026-01-31"]
BM25 = ["--bm25", "corpus.jsonl"]

# By the name of the golden text: the scenario, and the words behind `explain`.
CALLS = {
    "fail-gate": ("fail", ["recall@5"]),
    "fail-gate-that-warns": ("fail", ["mrr"]),
    "fail-question-gone": ("fail", ["q7"]),
    "fail-question-graded-and-fine": ("fail", ["q2"]),
    "fail-question-depth": ("fail", ["q4", "--depth", "3"]),
    "fail-question-nothing-relevant": ("fail", ["q8"]),
    "fail-misses": ("fail", ["--misses"]),
    "fail-misses-better": ("fail", ["--misses", "--cause", "better"]),
    "fail-misses-metric": ("fail", ["--misses", "--metric", "recall@1", "--depth", "2"]),
    "fail-question-bm25": ("fail", ["q7", *BM25]),
    "fail-misses-bm25": ("fail", ["--misses", *BM25]),
    "segments-gate": ("segments", ["recall@5"]),
    "segments-misses": ("segments", ["--misses", "--limit", "2"]),
    "reranker-gate": ("reranker", ["recall@5"]),
    "reranker-misses": ("reranker", ["--misses", "--limit", "3"]),
    "one-language-misses": ("one_language", ["--misses", "--limit", "2"]),
    "must-pass-gate": ("must_pass", ["hit@5"]),
    "missing-queries-gate": ("missing_queries", ["recall@5"]),
    "missing-queries-question": ("missing_queries", ["q3"]),
    "proven-safe-gate": ("proven_safe", ["recall@5"]),
    "proven-harm-gate": ("proven_harm", ["recall@5"]),
    "waiver-gate": ("waiver", ["recall@5"]),
    "anchor-drift-gate": ("anchor_drift", ["recall@5"]),
    "lower-is-better-gate": ("lower_is_better", ["latency"]),
    "beyond-ids-drift-gate": ("beyond_ids", ["drift"]),
    "beyond-ids-score-gate": ("beyond_ids", ["faithful"]),
    "no-baseline-gate": ("no_baseline", ["recall@5"]),
    "no-baseline-question": ("no_baseline", ["q4"]),
    "simpson-gate": ("simpson", ["recall@5"]),
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


def explained(capsys: Capture, *words: str, code: int = 0, date: Sequence[str] = tuple(DATE)) -> str:
    assert main(["explain", *words, *date]) == code
    printed = capsys.readouterr()
    assert printed.err == "" or code
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
    assert explained(capsys, "q4").splitlines()[2] == "NOT FOUND: a relevant document is not in the first 5"
    misses = explained(capsys, "--misses")
    assert misses.startswith(
        "2 of 8 questions miss a relevant document in the first 5 results:\n"
        "  2  NOT FOUND  a relevant document is not in the first 5\n"
    )
    assert "     expected  bread-list  rank 6\n     instead   gluten-free, parking, hours\n" in misses
    assert "baseline" not in misses


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
    found = json.loads(explained(capsys, "--misses", "--metric", metric, "--format", "json"))["misses"]
    assert (found["k"], sorted(each["query_id"] for each in found["listed"])) == (k, misses)
    own = "k results, where k is the question's own" if k is None else f"{k} results"
    assert f"in the first {own}" in explained(capsys, "--misses", "--metric", metric)


def test_every_golden_text_has_its_call() -> None:
    assert {path.stem for path in EXPLAINED.glob("*.txt")} == set(CALLS)


def test_a_failed_check_is_explained_and_not_gated(project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    assert main(["check", *DATE]) == 1
    capsys.readouterr()
    assert explained(capsys, "recall@5").startswith("FAIL  recall@5")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["retrieval_recall_at_5"], id="the name in the criteria"),
        pytest.param(["recall@5"], id="the metric"),
        pytest.param(["recall-at-5"], id="another spelling of it"),
        pytest.param(["--gate", "Recall_at_5"], id="--gate"),
    ],
)
def test_a_gate_is_found_by(words: list[str], project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    assert explained(capsys, *words) == explained(capsys, "recall@5")


def test_a_gate_comes_before_a_question_of_the_same_name(project: Callable[[str], Path], capsys: Capture) -> None:
    """Anyone may have written a question's id; it must not hide how a verdict came about."""
    root = project("fail")
    for name in ("gold.yaml", "run.jsonl", "accepted.jsonl"):
        text = (root / name).read_text().replace("id: q4\n", "id: mrr\n").replace('"q4"', '"mrr"')
        (root / name).write_text(text)
    both = explained(capsys, "mrr")
    assert both.startswith("WARN  mrr: ")
    assert both.endswith("\nA question has this id too: rankgate explain --query\n")
    assert explained(capsys, "--query", "mrr").startswith("mrr  which breads have nuts in them\n")
    assert "A question has" not in explained(capsys, "--gate", "mrr")


def test_a_report_explains_its_gates_without_the_inputs(project: Callable[[str], Path], capsys: Capture) -> None:
    """The same text, but that questions are counted and not named."""
    root = project("fail")
    main(["check", *DATE, "-o", "report.json"])
    capsys.readouterr()
    live = explained(capsys, "recall@5")
    for name in ("gold.yaml", "run.jsonl", "accepted.jsonl", "ship-criteria.yaml"):
        (root / name).unlink()
    told = explained(capsys, "recall@5", "--report", "report.json", date=[])
    lost = (
        "\nSingle questions\n"
        "  Lost: 1 question for which the baseline found something right and the run finds nothing: q7.\n"
    )
    assert told == live.replace(" (q8)", "").replace(lost, "")


def test_hostile_words_of_a_report_are_shown_and_not_run(project: Callable[[str], Path], capsys: Capture) -> None:
    """A report may come from anybody's pull request."""
    root = project("fail")
    main(["check", *DATE, "-o", "report.json"])
    capsys.readouterr()
    report = json.loads((root / "report.json").read_text())
    report["summary"] += HOSTILE
    report["gates"][0]["reasons"] = [{"kind": "text", "text": HOSTILE}]
    report["gates"][0]["metric"] = HOSTILE
    (root / "report.json").write_text(json.dumps(report))
    text = explained(capsys, "retrieval_recall_at_5", "--report", "report.json", date=[])
    assert text.count("\\u001b[31m") >= 3
    assert_harmless(text)


ONE_THING = "name one thing to explain: a question's id, a gate (its name or metric), or --misses"
NO_RANKINGS = "a report holds no rankings; leave out --report and name the inputs of the check"
RANKED = "name one metric of ranked documents, such as recall@10"
OF_A_GATE = "goes with a question or --misses; --query names one that a gate is called like"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], ONE_THING, id="nothing"),
        pytest.param(["q1", "--misses"], ONE_THING, id="two things"),
        pytest.param(
            ["recal@5"],
            "neither a gate nor a question of the gold set is called 'recal@5'; did you mean 'recall@5'? "
            "(gates: recall@5, mrr)",
            id="nearly a gate",
        ),
        pytest.param(
            ["q77"],
            "neither a gate nor a question of the gold set is called 'q77'; did you mean 'q7'? (gates: recall@5, mrr)",
            id="nearly a question",
        ),
        pytest.param(["--query", "mrr"], "no question 'mrr' in the gold set", id="no question"),
        pytest.param(["--gate", "q7"], "no gate 'q7' (gates: recall@5, mrr)", id="no gate"),
        pytest.param(["ndcg@10"], None, id="a metric without a gate"),
        pytest.param(["q1", "--tag", "lang:es"], "--tag goes with --misses", id="a tag of a question"),
        pytest.param(["q1", "--metric", "mrr"], "--metric goes with --misses", id="a metric of a question"),
        pytest.param(["--misses", "--metric", "latency"], f"--metric 'latency': {RANKED}", id="no ranked documents"),
        pytest.param(["--misses", "--metric", "mrr,map"], f"--metric 'mrr,map': {RANKED}", id="two metrics"),
        pytest.param(
            ["--misses", "--metric", "recal@5"],
            "--metric: unknown metric 'recal@5'; did you mean 'recall@5'?",
            id="a typing error",
        ),
        pytest.param(["q1", "--limit", "3"], "--limit goes with --misses", id="a limit of a question"),
        pytest.param(["q1", "--depth", "0"], "--depth 0: at least 1", id="no depth"),
        pytest.param(
            ["--gate", "mrr", "--depth", "3"], "--depth goes with a question or --misses", id="a depth of a gate"
        ),
        pytest.param(["mrr", "--depth", "3"], f"--depth {OF_A_GATE}", id="a depth of what turns out to be a gate"),
        pytest.param(["mrr", "--report", "report.json", "--depth", "3"], NO_RANKINGS, id="a depth of a report"),
        pytest.param(
            ["mrr", "--report", "report.json"],
            "--report stands in place of the inputs; leave out --date",
            id="a report and a date",
        ),
        pytest.param(
            ["q1", "--gold", "-", "--bm25", "-"], "only one input can be read from standard input (-)", id="two stdins"
        ),
        pytest.param(["--misses", "--limit", "-1"], "--limit -1: at least 1", id="no limit"),
        pytest.param(["--gate", "mrr", *BM25], "--bm25 goes with a question or --misses", id="BM25 of a gate"),
        pytest.param(["mrr", *BM25], f"--bm25 {OF_A_GATE}", id="BM25 of what turns out to be a gate"),
        pytest.param(["--misses", "--report", "report.json"], NO_RANKINGS, id="misses of a report"),
        pytest.param(
            ["mrr", "--report", "report.json", "--run", "run.jsonl"],
            "--report stands in place of the inputs; leave out --run",
            id="a report and a run",
        ),
        pytest.param(
            ["--misses", "--tag", "lang:ess"],
            "--tag 'lang:ess': no question has it; did you mean 'lang:es'?",
            id="no such tag",
        ),
        pytest.param(
            ["--misses", "--cause", "lowr"],
            "--cause 'lowr': no such cause; did you mean 'lower'? (no_result, gone, lower, not_found, better, fine, "
            "new, nothing_to_find)",
            id="no such cause",
        ),
        pytest.param(["--misses", "--bm25", "absent.jsonl"], "absent.jsonl: no such file", id="no such corpus"),
    ],
)
def test_what_it_refuses(
    words: list[str], message: str | None, project: Callable[[str], Path], capsys: Capture
) -> None:
    project("fail")
    said = refused(capsys, *words)
    assert said == message or (message is None and "'ndcg@10'" in said and said.endswith("(gates: recall@5, mrr)"))


def test_a_check_that_cannot_be_judged_says_its_problems(project: Callable[[str], Path], capsys: Capture) -> None:
    project("bad_data")
    main(["check", *DATE, "--format", "json"])
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert main(["explain", "recall@5", *DATE]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(problems)
    assert all(line.startswith("error: run.jsonl:") for line in said)


def test_without_the_extra_it_says_what_to_install(
    project: Callable[[str], Path], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    project("fail")
    monkeypatch.setitem(sys.modules, "bm25s", None)
    assert refused(capsys, "q7", *BM25) == "--bm25 needs the bm25 extra; run: pip install 'rankgate[bm25]'"


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
    assert refused(capsys, "--misses", "--bm25", corpus).startswith(said)


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


def test_workers_have_nothing_to_do_for_a_report(project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    assert main(["explain", "mrr", "--report", "report.json", "--workers", "2"]) == 2
    said = "error: --report stands in place of the inputs; leave out --workers\n"
    assert capsys.readouterr().err == said


def values(capsys: Capture, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explained(capsys, *words, "--format", "json"))
    return found


def test_a_quantile_says_what_it_is(project: Callable[[str], Path], capsys: Capture) -> None:
    root = project("fail")
    criteria = (root / "ship-criteria.yaml").read_text()
    (root / "ship-criteria.yaml").write_text(
        criteria.replace(
            "gates:\n", 'gates:\n  - {name: slow ones, metric: "latency(quantile=0.5)", threshold: 40}\n', 1
        )
    )
    text = explained(capsys, "slow ones")
    assert "\n  Now 28.5 ms: the 50% quantile over 8 questions: as many are at or below it.\n" in text
    assert "(from the order of the values; docs/statistics.md)" in text.replace("\n    ", " ")
    assert "p-value" not in text


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


def test_a_gate_as_json(project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    found = values(capsys, "recall@5")
    assert (found["explains"], found["verdict"]) == ("gate", "fail")
    (gate,) = found["gates"]
    change, floor = gate["gate"]["checks"]
    assert (change["limit"], change["ruling"], change["allowed"]) == ("regression_max", "violated", -0.03)
    assert change["left"] - change["right"] == pytest.approx(change["difference"])
    assert change["beyond"] == pytest.approx(-change["difference"] - 0.03)
    assert (floor["limit"], floor["ruling"], floor["beyond"]) == ("threshold", "holds", 0.0)
    assert gate["left_out"] == [{"why": "nothing_relevant", "count": 1, "queries": ["q8"]}]
    assert gate["lost"] == ["q7"]


def test_misses_as_json(project: Callable[[str], Path], capsys: Capture) -> None:
    project("one_language")
    found = values(capsys, "--misses", "--limit", "2")["misses"]
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
    found = values(capsys, "--misses", "--cause", written)["misses"]
    assert [miss["query_id"] for miss in found["listed"]] == ["q8"]


def test_the_misses_of_a_tag(project: Callable[[str], Path], capsys: Capture) -> None:
    project("fail")
    found = values(capsys, "--misses", "--tag", "lang:es")["misses"]
    assert (found["questions"], [miss["query_id"] for miss in found["listed"]]) == (2, ["q7"])


HOSTILE = "\x1b[31m::error::owned\u202e##[group]<script>\n" + "x" * 5_000


def test_hostile_text_is_shown_and_not_run(tmp_path: Path, capsys: Capture) -> None:
    """Control characters, commands of GitHub's runner and endless words, in ids, question, tag and document."""
    gold = {"id": HOSTILE, "input": {"question": HOSTILE}, "expected_output": [HOSTILE + "d"]}
    gold["metadata"] = {"tags": [f"lang:{HOSTILE}"]}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold) + "\n", encoding="utf-8")
    for name, ids in (("before", [HOSTILE + "d", "a"]), ("now", [HOSTILE + "e", "a"])):
        line = json.dumps({"query_id": HOSTILE, "retrieved": ids})
        (tmp_path / f"{name}.jsonl").write_text(line + "\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text("gates: [{name: 'recall@5', threshold: 0.1}]\n", encoding="utf-8")
    files = {"criteria": "c.yaml", "gold": "gold.jsonl", "run": "now.jsonl", "baseline": "before.jsonl"}
    flags = [word for flag, name in files.items() for word in (f"--{flag}", str(tmp_path / name))]
    for words in (["--query", HOSTILE], ["--misses"], ["recall@5"]):
        text = explained(capsys, *words, *flags)
        assert "\\u001b[31m" in text
        assert_harmless(text)
        assert len(text) < 12_000


def assert_harmless(text: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "##[" not in text


FLOOR = """
- {name: recall@2, threshold: 0.1, segments: [{by: [lang], threshold: 0.8, min_queries: 1}]}
- {name: mrr, threshold: 0.1, segments: [{by: [lang, topic], threshold: 0.8, min_queries: 1}]}
"""


def test_a_floor_broken_in_a_segment_names_its_questions(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lists = {"en1": ["a", "x"], "en2": ["a"], "es1": ["x", "y", "a"], "es2": ["x", "y"], "es3": [], "es4": ["a"]}
    tags = {query: [f"lang:{query[:2]}", "topic:t × u"] for query in lists}
    samples = [
        {"id": query, "expected_output": ["a"], "metadata": {"tags": tags[query], "source": ["s"]}} for query in tags
    ]
    Path("gold.json").write_text(json.dumps(samples))
    lines = [{"query_id": query, "topk": ids, "source": ["t"]} for query, ids in lists.items()]
    Path("run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    Path("ship-criteria.yaml").write_text(f"inputs: {{gold: gold.json, run: run.jsonl}}\ngates:{FLOOR}")
    text = explained(capsys, "recall@2")
    below = "es1: a at rank 3, beyond 2\n    es2: a not retrieved\n    es3: no result\n"
    assert below in text
    assert "en1:" not in text
    assert "  lang:en  100.0%, 95% interval 15.8 to 100.0%, 2 questions\n" in text
    assert main(["check", "-o", "report.json", "--workers", "1"]) == 1
    report = json.loads(Path("report.json").read_text())
    first = report["diagnosis"][0]
    places = "1 with it below the first 2, 1 without it in the list, 1 without a result"
    said = f"3 of the 4 questions tagged {{tag}} miss a relevant document: {places}"
    assert (first["rule"], first["finding"]) == ("below_floor", said)
    assert first["evidence"] | {"tag": "lang:es", "questions": 4, "misses": 3, "lower": 1} == first["evidence"]
    assert [each["evidence"]["tag"] for each in report["diagnosis"]] == ["lang:es", "lang:es × topic:t × u"]
    [es] = [each["metrics"]["recall@2"] for each in report["segments"] if each["value"] == "es"]
    assert es["value"] == 0.25
    assert es["ci"][0] < 0.25 < es["ci"][1]
    with Path("ship-criteria.yaml").open("a") as criteria:
        criteria.write("- {name: source_coverage, threshold: 0, severity: warning}\n")
    assert main(["check", "-o", "report.json", "--workers", "1"]) == 1
    first = json.loads(Path("report.json").read_text())["diagnosis"][0]
    assert first["finding"] == f"{said}; 3 went to other sources only"


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("words", [["q4"], ["recall@5"], ["--misses"]], ids=["question", "gate", "misses"])
def test_at_a_real_terminal_of_any_width(columns: int, words: list[str], project: Callable[[str], Path]) -> None:
    project("fail")
    text = at_a_terminal(columns, words)
    assert ("\x1b[" in text) is (words == ["recall@5"]), "the words of verdicts have their colours"
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "\x1b" not in text
    too_long = [line for line in text.splitlines() if columns_of(line) > columns]
    # What has no blank to break at, and the table of numbers, keep their line.
    assert not [line for line in too_long if columns > 40 or not line.startswith("  ")]
    if words == ["q4"]:
        heading = next(line for line in text.splitlines() if line.strip().startswith("baseline "))
        assert ("now" in heading) is True


def at_a_terminal(columns: int, words: list[str]) -> str:
    """What the command prints in a process of its own whose standard output is a terminal of that many columns."""
    import fcntl
    import pty
    import struct
    import subprocess
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: text for name, text in os.environ.items() if name not in {"COLUMNS", "NO_COLOR", "CI"}}
    environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(TESTS.parent / "src")}
    command = [sys.executable, "-m", "rankgate", "explain", *words, *DATE]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        chunks: list[bytes] = []
        try:
            while chunk := os.read(ours, 1 << 16):
                chunks.append(chunk)
        except OSError:  # how a terminal ends
            pass
        error = process.stderr.read() if process.stderr else b""
    os.close(ours)
    assert (process.returncode, error) == (0, b"")
    return b"".join(chunks).decode().replace("\r\n", "\n")
