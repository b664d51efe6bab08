"""Another tool's numbers beside the run: read from a table, joined by question, and stored with a baseline."""

import json
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main
from rankgate.criteria import InputFile, load_criteria
from rankgate.criteria.runs import RunFile
from rankgate.errors import RankgateError
from rankgate.model.values import RunField
from rankgate.readers.formats import read_run
from rankgate.readers.per_query import read_scores, with_scores

DATE = ["--date", "2026-01-31"]
QUERIES = [f"q{number}" for number in range(8)]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("gold.jsonl", *({"id": query, "expected_output": ["d"]} for query in QUERIES))
    write("run.jsonl", *({"query_id": query, "topk": ["d"]} for query in QUERIES))
    gate = {"name": "score(f)", "direction": "higher", "threshold": 0.5, "regression_max": 0.05}
    inputs = {"gold": "gold.jsonl", "run": "run.jsonl", "baseline": "baseline", "scores": "scores.csv"}
    Path("ship-criteria.yaml").write_text(json.dumps({"gates": [gate], "inputs": inputs}))


def write(path: str, *lines: Any) -> str:
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def table(**values: Any) -> None:
    Path("scores.csv").write_text("\n".join(["qid,f", *(f"{query},{value}" for query, value in values.items())]))


def check(*words: str) -> tuple[int, dict[str, Any]]:
    code = main(["check", "-o", "report.json", *DATE, *words])
    return code, json.loads(Path("report.json").read_text())


ROWS = [{"qid": "q0", "f": 0.5, "g": None, "judge": "gpt", "note": "fine"}, {"qid": 1, "f": 1, "g": 2.5, "note": "7"}]
READ = {"q0": ({"f": 0.5, "g": None}, "gpt"), "1": ({"f": 1.0, "g": 2.5}, None)}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("qid,f,g,judge,note\nq0,0.5,,gpt,fine\n1,1,2.5,,7\n", id="CSV"),
        pytest.param("question_id, f, g, judge, note\nq0,0.5,,gpt,fine\n1,1,2.5,,7\n", id="blanks in the header"),
        pytest.param("QID\tnote\tf\tg\tjudge\nq0\tfine\t.5\tNaN\tgpt\n1\t7\t1.0\t2.5\t\n", id="TSV"),
        pytest.param("".join(json.dumps(row) + "\n" for row in ROWS), id="JSONL"),
        pytest.param(json.dumps(ROWS), id="JSON"),
        pytest.param("user_input,f,g,judge,contexts\nq0,0.5,,gpt,\"['a', 'b']\"\n1,1,2.5,,[]\n", id="Ragas' CSV"),
    ],
)
def test_what_is_a_score(content: str) -> None:
    """A column that is all numbers, or nothing; any other text makes a column none, whatever else is in it."""
    Path("scores").write_text(content)
    assert read_scores("scores") == READ


@pytest.mark.full
def test_scores_from_parquet() -> None:
    duckdb = pytest.importorskip("duckdb")
    Path("scores.csv").write_text("qid,f,g,judge,note\nq0,0.5,,gpt,fine\n1,1,2.5,,x\n")
    with duckdb.connect() as connection:
        connection.execute("COPY (FROM read_csv('scores.csv')) TO 'scores.parquet' (FORMAT parquet)")
    assert read_scores("scores.parquet") == READ


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "qid,f\nq,1\nq,1\n,2\n",
            ["s:3: query 'q' stands twice; keep one row of it", "s:4: the query: expected an id, found ''"],
        ),
        ("qid,note\nq,fine\n", ["s: has no column of numbers beside its questions, or no row"]),
        ("qid,f\n", ["s: has no column of numbers beside its questions, or no row"]),
        (
            "name,f\nq,1\n",
            ["s:2: no usual name for the query (found: 'name', 'f'); call its column query_id"],
        ),
    ],
)
def test_what_is_refused(content: str, expected: list[str]) -> None:
    Path("s").write_text(content)
    with pytest.raises(RankgateError) as caught:
        read_scores("s")
    assert str(caught.value).splitlines() == expected


def test_a_number_that_the_line_states_otherwise_is_an_error() -> None:
    write(
        "run.jsonl",
        *({"query_id": q, "topk": ["d"], "scores": {"f": n, "g": 1}} for q, n in (("q0", 0.5), ("q1", None))),
    )
    table(q0=0.5, q1="")
    joined = list(with_scores(read_run("run.jsonl", needs=frozenset({RunField.SCORES})), "scores.csv").rankings)
    assert [each.details and each.details.scores for each in joined] == [{"f": 0.5, "g": 1}, {"f": None, "g": 1}]
    table(q0=0.6, q1=0.1)
    code, report = check()
    said = [f"query 'q{n}': 'f' is {own} here and {new} in scores.csv; keep one" for n, own, new in OTHERWISE]
    assert (code, [problem["message"] for problem in report["problems"]]) == (2, said)


OTHERWISE = [(0, 0.5, 0.6), (1, "undefined", 0.1)]


@pytest.mark.parametrize("cell", ["N/A", "inf", "80%", '"0,8"'])
def test_the_file_is_named_where_a_gate_reads_what_is_no_number(cell: str) -> None:
    table(q0=0.5, q1=cell, q2="")
    code, report = check()
    (problem,) = report["problems"]
    assert (code, problem["file"], problem["line"]) == (2, "scores.csv", 3)
    cell = cell.strip('"')
    assert problem["message"].startswith(f"column 'f' has '{cell}', which is no number")


def test_the_file_is_named_where_its_queries_are_not_those_of_the_run() -> None:
    table(q00=0.5, q01=0.5)
    code, report = check()
    (problem,) = report["problems"]
    assert (code, problem["file"]) == (2, "scores.csv")
    assert problem["message"].startswith("none of its 2 questions is in the run: it has 'q00', the run has 'q0'")


def test_scores_are_gated_stored_with_the_baseline_and_compared() -> None:
    table(**dict.fromkeys(QUERIES, 0.9))
    assert main(["baseline", "accept", "--run", "run.jsonl", "--to", "baseline", *DATE]) == 0
    table(**dict.fromkeys(QUERIES, 0.8))
    code, report = check()
    (gate,) = report["gates"]
    assert (code, gate["value"], gate["baseline"]) == (1, pytest.approx(0.8), pytest.approx(0.9))


def test_a_stored_run_keeps_its_own_scores_whatever_the_file_has_now() -> None:
    """As a pull request may bring one in place of the baseline, which the base's criteria then judge."""
    table(**dict.fromkeys(QUERIES, 0.75))
    assert main(["baseline", "accept", *DATE]) == 0
    table(**dict.fromkeys(QUERIES, 1.0))
    criteria, needs = load_criteria("ship-criteria.yaml"), frozenset({RunField.SCORES})
    files = {InputFile("run.jsonl"): 1.0, InputFile("baseline", stored=True): 0.75}
    for file, expected in files.items():
        rankings = RunFile(file=file, criteria=criteria).open(needs).rankings
        assert [each.details and each.details.scores for each in rankings] == [{"f": expected}] * len(QUERIES)


def test_missing_values_and_queries_that_the_run_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    table(**dict.fromkeys(QUERIES[:-2], 0.8), q9=0.1, q8=0.1)
    code, report = check()
    assert code == 2, "two of eight are missing"
    assert "2 questions of inputs.scores are absent from the run; `rankgate validate` names them." in report["notes"]
    main(["validate", *DATE])
    assert "inputs.scores has questions that the run lacks; q8, q9" in capsys.readouterr().out.replace("'", "")
    table(**dict.fromkeys(QUERIES[:-2], 0.8), q6="", q7="NaN")
    code, report = check()
    assert (code, report["gates"][0]["value"], report["gates"][0]["n"]) == (2, pytest.approx(0.8), 6)
    assert "is missing (absent, null or NaN) for 2 of 8 questions in the run" in report["problems"][0]["message"]


def test_an_untrusted_run_has_its_scores_in_its_lines() -> None:
    table(**dict.fromkeys(QUERIES, 0.9))
    code, report = check("--run", "run.jsonl", "--untrusted-run")
    assert code == 2
    (problem,) = report["problems"]
    assert problem["message"] == "is not read with --untrusted-run; state the scores in the run's lines"
    assert (problem["file"], problem["key"]) == ("scores.csv", "inputs.scores")
