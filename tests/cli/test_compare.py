"""`rankgate compare`: two runs on the same questions, A before and B after."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main

Capture = pytest.CaptureFixture[str]
GOLD = "".join(f'{{"id": "q{number}", "expected_output": ["a"]}}\n' for number in (1, 2, 3, 4))


def run_of(**found_at: int) -> str:
    """A run whose queries hold the relevant document at the given rank."""
    return "".join(
        json.dumps({"query_id": query, "retrieved": [*(f"x{n}" for n in range(rank - 1)), "a"]}) + "\n"
        for query, rank in found_at.items()
    )


BEFORE = run_of(q1=1, q2=1, q3=2, q4=1)
AFTER = run_of(q1=1, q2=2, q3=1, q4=2)
GOLD_FLAG = ["--gold", "gold.jsonl"]
PROJECT = {"gold.jsonl": GOLD, "before.jsonl": BEFORE, "after.jsonl": AFTER}
pytestmark = pytest.mark.usefixtures("project")


def compared(capsys: Capture, a: str, b: str, *words: str) -> dict[str, Any]:
    assert main(["compare", a, b, *GOLD_FLAG, *words, "--format", "json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_the_shape_of_the_json(capsys: Capture) -> None:
    value = compared(capsys, "before.jsonl", "after.jsonl", "--metrics", "recall@1,recall@5,hit(rel=9)@5")
    low, high = value["metrics"]["recall@1"].pop("ci")
    assert -1 <= low < -0.25 < high <= 1
    assert value["metrics"] == {
        "recall@1": {"a": 0.75, "b": 0.5, "delta": -0.25, "n_pairs": 4, "better": 1, "worse": 2},
        "recall@5": {
            "a": 1.0,
            "b": 1.0,
            "delta": 0.0,
            "ci": [pytest.approx(0.025**0.25 - 1), pytest.approx(1 - 0.025**0.25)],
            "n_pairs": 4,
            "better": 0,
            "worse": 0,
        },
        "hit(rel=9)@5": None,
    }


def test_the_table_reads_from_a_to_b(capsys: Capture) -> None:
    assert main(["compare", "before.jsonl", "after.jsonl", *GOLD_FLAG, "--metrics", "recall@1,hit(rel=9)@5"]) == 0
    heading, recall, hit = capsys.readouterr().out.splitlines()[:3]
    assert heading.split() == ["metric", "A", "B", "change", "95%", "interval", "better", "worse", "same"]
    assert recall.split()[:5] == ["recall@1", "75.0%", "50.0%", "−25.0", "pp"]
    assert recall.split()[-3:] == ["1", "2", "1"]
    assert hit.split() == ["hit(rel=9)@5", *["–"] * 7]


def test_what_a_run_states_nowhere_is_one_error(capsys: Capture) -> None:
    assert main(["compare", "before.jsonl", "after.jsonl", *GOLD_FLAG, "--metrics", "recall@1,latency"]) == 2
    assert capsys.readouterr().err == (
        "error: before.jsonl: the metric latency reads `latency_ms`, which the run states nowhere (not for query 'q1', "
        "nor for any other). Write it into the run, or leave out what reads it\n"
    )


def test_the_other_way_round_has_the_opposite_sign(capsys: Capture) -> None:
    there = compared(capsys, "before.jsonl", "after.jsonl", "--metrics", "mrr")["metrics"]["mrr"]
    back = compared(capsys, "after.jsonl", "before.jsonl", "--metrics", "mrr")["metrics"]["mrr"]
    assert back["delta"] == -there["delta"]
    assert (back["better"], back["worse"]) == (there["worse"], there["better"])
    assert back["ci"] == pytest.approx([-bound for bound in reversed(there["ci"])])


def test_queries_that_one_run_lacks_are_counted(project: Path, capsys: Capture) -> None:
    (project / "gold.jsonl").write_text("".join(f'{{"id": "q{n}", "expected_output": ["a"]}}\n' for n in range(200)))
    (project / "before.jsonl").write_text(run_of(**{f"q{n}": 1 + n % 7 for n in range(200)}))
    (project / "after.jsonl").write_text(run_of(**{f"q{n}": 1 + n % 5 for n in range(190)}))
    metrics = ["--metrics", "recall@3,mrr,overlap@3,rbo"]
    found = compared(capsys, "before.jsonl", "after.jsonl", *metrics)
    assert found["queries"] == {"total": 200, "missing_a": 0, "missing_b": 10}


def test_either_side_may_be_a_baseline_directory(capsys: Capture) -> None:
    assert main(["baseline", "accept", "--run", "before.jsonl", "--to", "baseline"]) == 0
    capsys.readouterr()
    from_files = compared(capsys, "before.jsonl", "after.jsonl")
    assert compared(capsys, "baseline", "after.jsonl") == from_files
    assert compared(capsys, "baseline/", "after.jsonl") == from_files


def test_both_lists_end_where_the_baseline_was_cut(capsys: Capture) -> None:
    assert main(["baseline", "accept", "--run", "before.jsonl", "--to", "baseline", "--depth", "1"]) == 0
    capsys.readouterr()
    found = compared(capsys, "baseline", "after.jsonl", "--metrics", "mrr")["metrics"]["mrr"]
    assert (found["a"], found["b"]) == (0.75, 0.5)


def test_a_cut_off_below_the_depth_of_the_baseline_is_refused(capsys: Capture) -> None:
    assert main(["baseline", "accept", "--run", "before.jsonl", "--to", "baseline", "--depth", "3"]) == 0
    capsys.readouterr()
    assert main(["compare", "baseline", "after.jsonl", *GOLD_FLAG, "--metrics", "recall@5"]) == 2
    assert "read ranks down to 5, this baseline was stored to 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param("before.jsonl", "short.jsonl", id="from the run after"),
        pytest.param("short.jsonl", "after.jsonl", id="from the run before"),
    ],
)
def test_queries_that_are_absent_from_a_run_are_told(project: Path, capsys: Capture, a: str, b: str) -> None:
    """Leaving out the hard questions must not look like an improvement."""
    (project / "short.jsonl").write_text(run_of(q1=1, q2=1), encoding="utf-8")
    assert main(["compare", a, b, *GOLD_FLAG, "--metrics", "recall@1"]) == 0
    assert "2 questions are absent from short.jsonl" in capsys.readouterr().out


def test_the_gold_set_can_come_from_the_criteria(project: Path, capsys: Capture) -> None:
    criteria = "gates: [{name: mrr, threshold: 0.5}]\ninputs: {gold: gold.jsonl}\n"
    (project / "ship-criteria.yaml").write_text(criteria, encoding="utf-8")
    assert main(["compare", "before.jsonl", "after.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("  metric")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["before.jsonl", "after.jsonl"], "no gold named; give the gold set with --gold FILE", id="no gold"
        ),
        pytest.param(
            ["absent", "after.jsonl", *GOLD_FLAG], "absent: no such file or baseline directory", id="absent directory"
        ),
        pytest.param(["-", "-", *GOLD_FLAG], "only one input can be read from standard input (-)", id="stdin twice"),
        pytest.param(
            ["before.jsonl", "after.jsonl", *GOLD_FLAG, "--metrics", "recal"],
            "--metrics: unknown metric 'recal'; did you mean 'recall'?",
            id="metric",
        ),
    ],
)
def test_what_cannot_be_compared_is_an_error(project: Path, capsys: Capture, words: list[str], message: str) -> None:
    assert main(["compare", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")


@pytest.mark.parametrize("command", [["compare"], ["gold", "pool"]])
def test_a_directory_without_a_baseline_is_not_a_run(command: list[str], project: Path, capsys: Capture) -> None:
    (project / "still empty").mkdir()
    assert main([*command, "before.jsonl", "still empty", *GOLD_FLAG]) == 2
    expected = "still empty: no baseline here; accept one with `rankgate baseline accept --run RUN --to 'still empty'`"
    assert expected in capsys.readouterr().err


def stamped(run: str, **about: str) -> str:
    """The run with provenance on every line."""
    return "".join(json.dumps({**json.loads(line), **about}) + "\n" for line in run.splitlines())


@pytest.mark.parametrize(
    ("before", "after", "speaks"),
    [
        pytest.param({"code_version": "1a2b3c4"}, {"code_version": "1a2b3c4"}, True, id="one commit"),
        pytest.param({"commit": "1a2b3c4"}, {"code_version": "1a2b3c4"}, True, id="one commit, by either key"),
        pytest.param({"code_version": "1a2b3c4"}, {"code_version": "5d6e7f8"}, False, id="two commits"),
        pytest.param({}, {}, False, id="no commit"),
        pytest.param({"code_version": "1a2b3c4"}, {}, False, id="one states none"),
        pytest.param(*[{"code_version": "1a2b3c4+changes"}] * 2, False, id="a tree that was not clean"),
        pytest.param(
            *({"commit": "1a2b3c4", "system": name} for name in ("bm25", "dense")),
            False,
            id="two systems of one commit",
        ),
    ],
)
def test_of_two_recordings_of_one_commit_it_says_which_regression_max_they_ask_for(
    project: Path, capsys: Capture, before: dict[str, str], after: dict[str, str], *, speaks: bool
) -> None:
    for name, run, about in (("a.jsonl", BEFORE, before), ("b.jsonl", run_of(q1=1, q2=1, q3=2, q4=3), after)):
        (project / name).write_text(stamped(run, **about), encoding="utf-8")
    assert main(["compare", "a.jsonl", "b.jsonl", *GOLD_FLAG, "--metrics", "recall@1,recall@5,mrr"]) == 0
    said = (
        "Both runs are of '1a2b3c4', so this moved by itself: recall@1 25.0 pp (regression_max: 0.5), mrr 0.167 "
        "(regression_max: 0.334); record it three times, compare each pair, and set regression_max to at least twice "
        "the largest change."
    )
    assert (said in capsys.readouterr().out) is speaks


def test_of_two_recordings_that_are_the_same_it_says_so(project: Path, capsys: Capture) -> None:
    (project / "a.jsonl").write_text(stamped(BEFORE, commit="1a2b3c4"), encoding="utf-8")
    assert main(["compare", "a.jsonl", "a.jsonl", *GOLD_FLAG]) == 0
    assert "so this moved by itself: nothing; record it" in capsys.readouterr().out


def page_of(project: Path, *words: str) -> str:
    """The page of a call, as text without tags; the first line is its title."""
    assert main(["compare", *words, *GOLD_FLAG, "-o", "diff.html"]) == 0
    html = (project / "diff.html").read_text(encoding="utf-8")
    title = re.findall("<title>(.*)</title>", html)[0]
    body = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", html.partition("<body>")[2], flags=re.DOTALL)
    return f"{unescape(title)}\n{' '.join(unescape(re.sub('<[^>]+>', ' ', body)).split())}"


def test_the_page_says_in_a_sentence_what_changed_and_gives_no_verdict(project: Path, capsys: Capture) -> None:
    text = page_of(project, "before.jsonl", "after.jsonl", "--metrics", "mrr,recall@1")
    title, _, body = text.partition("\n")
    assert title == "B against A: mrr −0.125, 2 of 4 questions worse, 1 better"
    assert title in body
    assert "A is before. jsonl , on this page the baseline; B is after. jsonl , on this page now." in body
    assert "Questions" in body
    for absent in ("PASS", "WARN", "FAIL", "NOT JUDGED", "Gates", "Re-run", "Do not merge", "Judged on", "report.json"):
        assert absent not in body
    assert capsys.readouterr().out.startswith("  metric")


@pytest.mark.parametrize(
    ("metrics", "title"),
    [
        pytest.param([], "recall@5 ±0.0 points, 0 of 4 questions worse, 0 better", id="recall@5 of the usual ones"),
        pytest.param(["--metrics", "mrr,recall@5"], "recall@5 ±0.0 points, 0 of 4 questions worse, 0 better", id="too"),
        pytest.param(
            ["--metrics", "distinct_docs@2,hit@1"], "hit@1 −25.0 points, 2 of 4 questions worse, 1 better", id="ranked"
        ),
        pytest.param(["--metrics", "overlap@1"], "overlap@1 is 25.0%", id="what compares by itself"),
        pytest.param(["--metrics", "hit(rel=9)@5"], "hit(rel=9)@5 has no value in both runs", id="undefined"),
    ],
)
def test_the_leading_metric_is_in_the_title(project: Path, metrics: list[str], title: str) -> None:
    assert page_of(project, "before.jsonl", "after.jsonl", *metrics).startswith(f"B against A: {title}\n")


def test_the_page_counts_what_a_run_lacks_and_takes_a_baseline_directory(project: Path) -> None:
    assert main(["baseline", "accept", "--run", "before.jsonl", "--to", "baseline"]) == 0
    (project / "short.jsonl").write_text(run_of(q1=1, q2=1), encoding="utf-8")
    text = page_of(project, "baseline", "short.jsonl")
    assert "2 questions are absent from short.jsonl, and not compared." in text
    assert "A is baseline , on this page the baseline" in text


def test_the_page_and_the_numbers_are_the_same(project: Path, capsys: Capture) -> None:
    both = ["before.jsonl", "after.jsonl", *GOLD_FLAG, "--metrics", "mrr,latency(quantile=0.9)"]
    for name, slower in (("before.jsonl", 10), ("after.jsonl", 30)):
        lines = [json.loads(line) for line in (project / name).read_text(encoding="utf-8").splitlines()]
        timed = [{**line, "latency_ms": slower + at} for at, line in enumerate(lines)]
        (project / name).write_text("".join(json.dumps(line) + "\n" for line in timed), encoding="utf-8")
    assert main(["compare", *both, "--format", "json", "-o", "diff.html"]) == 0
    numbers = json.loads(capsys.readouterr().out)["metrics"]
    low, high = (f"{bound:+.3f}".replace("-", "−") for bound in numbers["mrr"]["ci"])
    page = (project / "diff.html").read_text(encoding="utf-8")
    assert f"95%: {low} to {high}" in page
    assert "+20.0 ms" in page


@pytest.mark.parametrize("name", ["out.json", "out.md", "out", "page.htm", "html", ""])
def test_another_suffix_is_refused_with_what_is_possible(name: str, project: Path, capsys: Capture) -> None:
    assert main(["compare", "before.jsonl", "after.jsonl", *GOLD_FLAG, "-o", name]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "name a file.html, or print numbers with --format json" in said.err
    assert not (project / "out.json").exists()


def test_several_candidates_stand_in_one_table(capsys: Capture) -> None:
    Path("best.jsonl").write_text(run_of(q1=1, q2=1, q3=1, q4=1), encoding="utf-8")
    words = ["before.jsonl", "jsonl:after.jsonl", "best.jsonl", *GOLD_FLAG, "--metrics", "recall@1,mrr"]
    assert main(["compare", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [re.split(r"\s{2,}", line.strip()) for line in lines[:7]]
    assert [row[:3] for row in found[:4]] == [
        ["metric", "run", "value"],
        ["recall@1", "before.jsonl", "75.0%"],
        ["after.jsonl", "50.0%", "−25.0 pp"],
        ["best.jsonl", "100.0%", "+25.0 pp"],
    ]
    assert found[4][:3] == ["mrr", "before.jsonl", "0.875"]
    assert "Each interval is for its own pair; the best of several looks better than it is." in lines
    both = {name: compared(capsys, "before.jsonl", name, *words[-2:]) for name in ("after.jsonl", "best.jsonl")}
    assert main(["compare", *words, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"runs": both}
    assert main(["compare", *words, "-o", "page.html"]) == 2
    assert main(["compare", "-", *words[1:]]) == 2
