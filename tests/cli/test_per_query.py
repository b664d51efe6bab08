"""`check --run per_query:FILE`: a table of values is judged as the run that it was computed from, by whomever."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.repositories import commit, git
from tests.scenario_calls import DATE, arguments_of, inputs_of

import rankgate
from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.metrics.base import sees_hits_alone
from rankgate.metrics.matching import match
from rankgate.metrics.names import parse_metric
from rankgate.model.values import Ranking, Sample
from rankgate.readers.per_query import open_values, read_values

Capture = pytest.CaptureFixture[str]
# What a report says in numbers and verdicts; sentences about lists, and what names documents, a table cannot have.
JUDGED = ("verdict", "failures", "problems", "gates", "metrics", "baseline_metrics", "moved", "segments")


def report(capsys: Capture, *words: str, code: int | None = None) -> dict[str, Any]:
    found = main(["check", *words, "--date", DATE, "--format", "json"])
    assert code is None or found == code
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def without_unchanged(value: Any) -> Any:
    """The value without intervals of what did not change: that lists are equal, and not values alone, no table says."""
    if isinstance(value, list):
        return [without_unchanged(each) for each in value]
    if not isinstance(value, dict):
        return value
    unchanged = value.get("delta") == 0
    return {
        key: without_unchanged(each)
        for key, each in value.items()
        if not (unchanged and key in ("delta_ci", "exact", "reasons", "detectable"))
    }


def table_of(name: str, run: str, metrics: str) -> str:
    assert main(["score", "--run", run, "--metrics", metrics, "--per-query", name]) == 0
    return name


@pytest.mark.parametrize(
    "name",
    [
        *("pass", "warn", "fail", "simpson", "segments", "must_pass", "no_baseline", "missing_queries", "gold_changed"),
        *("proven_harm", "proven_safe", "inconclusive", "re_chunked", "one_language", "reranker", "lower_is_better"),
        *("waiver", "waiver_expired", "waiver_wrong_gate", "no_interval"),
    ],
)
def test_a_table_is_judged_as_its_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(inputs_of(name, tmp_path))
    of_run = report(capsys, *arguments_of(name)[1:])
    accepted = of_run["provenance"]["baseline"]
    metrics = ",".join(of_run["metrics"])
    words = ["--run", "per_query:" + table_of("now.jsonl", of_run["provenance"]["run"]["path"], metrics)]
    if accepted and Path(accepted["path"]).is_file():
        words += ["--baseline", "per_query:" + table_of("before.jsonl", accepted["path"], metrics)]
    capsys.readouterr()
    of_table = report(capsys, *words)
    for key in JUDGED:
        assert without_unchanged(of_table[key]) == without_unchanged(of_run[key]), key
    counts = ("total", "missing", "missing_ids", "new")
    assert [of_table["queries"][key] for key in counts] == [of_run["queries"][key] for key in counts]
    assert any("known by values per query" in note for note in of_table["notes"])


# A project of six questions, of which one has no answer; the criteria gate a segment and a question of their own.
GOLD = """\
samples:
  - {id: q1, expected_output: [a], metadata: {tags: ["lang:en"]}}
  - {id: q2, expected_output: [b, c], metadata: {tags: ["lang:en"]}}
  - {id: q3, expected_output: [d], metadata: {tags: ["lang:de"]}}
  - {id: q4, expected_output: [], metadata: {no_answer: true}}
"""
CRITERIA = """\
gates:
  - {name: recall@5, threshold: 0.5, regression_max: 0.1, must_pass: [q1]}
inputs: {gold: gold.yaml}
"""
VALUES: dict[str, list[Any]] = {"query_id": ["q1", "q2", "q3", "q4"], "recall@5": [1.0, 0.5, 1.0, None]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.yaml").write_text(GOLD)
    Path("ship-criteria.yaml").write_text(CRITERIA)
    write(VALUES)


def write(columns: dict[str, Any], name: str = "now.parquet") -> None:
    pq.write_table(pa.table(columns), name)


def by_pandas() -> str:
    pd.DataFrame(VALUES).set_index("query_id").to_parquet("pandas.parquet")
    return "pandas.parquet"


def by_duckdb() -> str:
    import duckdb

    duckdb.sql("COPY (SELECT * FROM 'now.parquet') TO 'duckdb.parquet'")
    return "duckdb.parquet"


def by_spark() -> str:
    """As Spark leaves a folder: hidden checksums, a mark of success, parts of which some are empty."""
    folder = Path("spark")
    folder.mkdir()
    whole = pa.table(VALUES)
    for number, part in enumerate([whole.slice(0, 1), whole.slice(0, 0), whole.slice(1)]):
        pq.write_table(part, folder / f"part-{number:05}-c000.snappy.parquet")
        (folder / f".part-{number:05}-c000.snappy.parquet.crc").write_bytes(b"crc")
    (folder / "_SUCCESS").touch()
    return "spark"


def by_score() -> str:
    gold, run = (
        {"q1": ["a"], "q2": ["b", "c"], "q3": ["d"], "q4": {}},
        {"q1": ["a"], "q2": ["b"], "q3": ["d"], "q4": []},
    )
    found = rankgate.score(gold=gold, run=run, metrics="recall@5")
    found.to_frame().to_parquet("frame.parquet")
    return "frame.parquet"


def other_spelling() -> str:
    write({"qid": VALUES["query_id"], "retrieval_recall_at_5": VALUES["recall@5"], "note": ["x"] * 4}, "other.parquet")
    return "other.parquet"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("make", [by_pandas, by_duckdb, by_spark, by_score, other_spelling])
def test_whoever_wrote_it(make: Callable[[], str], capsys: Capture) -> None:
    path = make()
    found = report(capsys, "--run", f"per_query:{path}", "--baseline", "per_query:now.parquet", code=0)
    gate = found["gates"][0]
    assert (gate["value"], gate["baseline"], gate["delta"], gate["n"]) == (pytest.approx(5 / 6), 5 / 6, 0, 3)
    assert found["provenance"]["run"] == {"path": path, "format": "per_query", "about": {}}


@pytest.mark.usefixtures("project")
def test_ids_that_are_numbers_are_their_digits(capsys: Capture) -> None:
    Path("gold.yaml").write_text(GOLD.replace("id: q", "id: "))
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("q1", "'1'"))
    write({"query_id": [1, 2, 3, 4], "recall@5": VALUES["recall@5"]})
    assert report(capsys, "--run", "per_query:now.parquet")["metrics"]["recall@5"]["n"] == 3


@pytest.mark.usefixtures("project")
def test_a_run_may_stand_on_the_other_side(capsys: Capture) -> None:
    Path("run.jsonl").write_text('{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q3", "retrieved": []}\n')
    now, before = (
        report(capsys, "--run", "per_query:now.parquet", "--baseline", "run.jsonl"),
        report(capsys, "--run", "run.jsonl", "--baseline", "per_query:now.parquet"),
    )
    assert [(each["delta"], each["n_pairs"]) for each in now["gates"]] == [(0.5, 2)]
    assert [(each["delta"], each["n_pairs"]) for each in before["gates"]] == [(pytest.approx(-1 / 2), 3)]
    assert before["queries"]["missing"] == 2


@pytest.mark.full
@pytest.mark.usefixtures("project")
def test_a_query_that_is_absent_or_called_missing_counts_as_worst(capsys: Capture) -> None:
    write({"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5], "missing": [False, None]})
    absent = report(capsys, "--run", "per_query:now.parquet")
    write({**VALUES, "recall@5": [1.0, 0.5, 0.7, None], "missing": [None, False, True, True]})
    called = report(capsys, "--run", "per_query:now.parquet")
    for found in (absent, called):
        assert found["metrics"]["recall@5"]["value"] == 0.5
        assert found["queries"]["missing_ids"] == ["q3", "q4"]
    # So it does in the baseline; a question that a table has no row of is new to it, and compares with nothing.
    write(VALUES, "after.parquet")
    both = report(capsys, "--run", "per_query:after.parquet", "--baseline", "per_query:now.parquet")
    assert (both["gates"][0]["n_pairs"], both["queries"]["new"]) == (3, 0)
    write({"query_id": ["q1", "q2"], "recall@5": [1.0, 0.5]})
    both = report(capsys, "--run", "per_query:after.parquet", "--baseline", "per_query:now.parquet")
    assert (both["gates"][0]["n_pairs"], both["queries"]["new"]) == (2, 2)


@pytest.mark.usefixtures("project")
def test_queries_of_the_table_alone_are_counted_and_ignored(capsys: Capture) -> None:
    write({"query_id": [*VALUES["query_id"], "stranger"], "recall@5": [*VALUES["recall@5"], 0.0]})
    found = report(capsys, "--run", "per_query:now.parquet")
    assert (found["metrics"]["recall@5"]["value"], found["queries"]["unjudged"]) == (pytest.approx(5 / 6), 1)


@pytest.mark.usefixtures("project")
def test_the_command_of_the_report_repeats_it(capsys: Capture) -> None:
    first = report(capsys, "--run", "per_query:now.parquet", "--baseline", "per_query:now.parquet")
    command = first["provenance"]["command"]
    assert command[:2] == ["rankgate", "check"]
    assert report(capsys, *command[2:]) == first


@pytest.mark.usefixtures("project")
def test_every_output_is_written(capsys: Capture) -> None:
    write({**VALUES, "recall@5": [0.0, 0.5, 0.0, None]})
    write(VALUES, "before.parquet")
    outputs = ["report.json", "comment.md", "report.html", "junit.xml", "x.badge.json"]
    words = [word for output in outputs for word in ("-o", output)]
    assert main(["check", "--run", "per_query:now.parquet", "--baseline", "per_query:before.parquet", *words]) == 1
    comment = Path("comment.md").read_text()
    assert "`q1`" in comment and "the metric fell" in comment and "relevant documents are there" not in comment  # noqa: PT018
    assert all(Path(output).stat().st_size for output in outputs)


def null(row: int) -> list[float | None]:
    return [None if at == row else value for at, value in enumerate(VALUES["recall@5"])]


def at(row: int, value: float) -> list[float | None]:
    return [value if place == row else other for place, other in enumerate(VALUES["recall@5"])]


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"query_id": ["q1"], "ndcg@5": [1.0], "recall@10": [1.0]},
        (
            "has no column of recall@5, which is gated; did you mean 'recall@10'? "
            "(found: 'query_id', 'ndcg@5', 'recall@10'); compute the table with these metrics"
        ),
    ),
    (
        {"query_id": ["q1"], "recall@5": [1.0], "recall_at_5": [1.0]},
        "'recall@5' and 'recall_at_5' are columns of the same metric; keep one",
    ),
    (
        {"query_id": ["q1", "q2"], "recall@5": [0.5, float("inf")]},
        "query 'q2': the value inf is not finite",
    ),
    ({**VALUES, "recall@5": at(0, float("nan"))}, "query 'q1': recall@5 is NaN; write null where it is undefined"),
    ({**VALUES, "recall@5": at(1, 50.0)}, "query 'q2': recall@5 is 50; its values go from 0 to 1"),
    ({**VALUES, "recall@5": at(0, -1e-3)}, "query 'q1': recall@5 is -0.001; its values go from 0 to 1"),
    (
        {**VALUES, "recall@5": null(2)},
        "query 'q3': recall@5 is null, and the gold set defines it; for an empty list it is 0",
    ),
    (
        {**VALUES, "recall@5": at(3, 0.0)},
        "query 'q4': recall@5 is 0, and the gold set has nothing relevant for it; write null",
    ),
    ({"query_id": ["q1", "q1"], "recall@5": [1.0, 1.0]}, "query 'q1' stands twice; keep one row of it"),
    ({"query_id": ["q1", None], "recall@5": [1.0, 1.0]}, "a row has no query id"),
    (
        {"query_id": [1.0, 2.0], "recall@5": [1.0, 1.0]},
        "the column 'query_id' is of type DOUBLE; ids are texts or whole numbers",
    ),
    ({"query_id": ["q1"], "recall@5": ["1.0"]}, "the column 'recall@5' is of type VARCHAR; values are numbers"),
    (
        {"query_id": ["q1"], "recall@5": pa.array([1.0], pa.float32())},
        ("the column 'recall@5' is of type FLOAT; 7 digits move what equals a limit; write 64 bits (DOUBLE)"),
    ),
    (
        {"query_id": ["q1"], "recall@5": [1.0], "missing": ["no"]},
        "the column 'missing' is of type VARCHAR; it is true where the run lacks the query",
    ),
    (
        {"query_id": ["q1"], "recall@5": [1.0], "Recall@5": [0.0]},
        "the column 'recall@5' stands twice, maybe in another case; keep one",
    ),
    ({"query_id": ["q1"], "recall@5": [[1.0]]}, "the column 'recall@5' is of type DOUBLE[]; values are numbers"),
    (
        {"query_id": ["q1"], "recall@5": pa.array([1.0], pa.float16())},
        ("the column 'recall@5' is of type FLOAT; 7 digits move what equals a limit; write 64 bits (DOUBLE)"),
    ),
    (
        {"question": ["q1"], "topic": ["q1"], "qid": ["q1"], "query_id": ["q1"], "recall@5": [1.0]},
        (
            "'topic' and 'qid' and 'query_id' could both be the query "
            "(found: 'question', 'topic', 'qid', 'query_id', 'recall@5'); call its column query_id"
        ),
    ),
    ({"recall@5": [1.0]}, "no usual name for the query (found: 'recall@5'); call its column query_id"),
    (
        {"query_id": pa.array([], pa.string()), "recall@5": pa.array([], pa.float64())},
        (
            "the run has none of the 4 gold questions: gold.yaml has 'q1', 'q2', 'q3', "
            "the run has no query at all; do both use the same question ids?"
        ),
    ),
    (
        {"query_id": ["1", "2"], "recall@5": [1.0, 1.0]},
        (
            "the run has none of the 4 gold questions: gold.yaml has 'q1', 'q2', 'q3', "
            "the run has '1', '2'; do both use the same question ids?"
        ),
    ),
]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("columns", "message"), BAD)
def test_a_bad_table_is_refused(columns: dict[str, Any], message: str, capsys: Capture) -> None:
    write(columns)
    found = report(capsys, "--run", "per_query:now.parquet", code=2)
    problems = [": ".join(filter(None, (each["file"], each["message"]))) for each in found["problems"]]
    assert "\n".join(problems).replace("now.parquet: ", "") == message


FILES: list[Any] = [
    pytest.param(b"PAR1\x15\x04PAR", "now.parquet: cannot be read as Parquet: ", id="truncated"),
    pytest.param(b"", "now.parquet: the file is empty", id="empty"),
    pytest.param(b"query_id,recall@5\nq1,1.0\n", "now.parquet: is neither Parquet nor what `rankgate sc", id="CSV"),
    pytest.param(b'{"query_id": "q1", "retrieved": ["a"]}\n', "now.parquet:1: ", id="a run"),
    pytest.param(b'{"query_id": "q1", "scores": {"mrr": 1}}\n', "now.parquet: has no column of recall@5", id="other"),
    pytest.param(
        b'{"query_id": "q1", "scores": {"recall@5": 1}}\n{"query_id": "q2", "scores": {}}\n',
        "now.parquet:2: has no value of 'recall@5'; write null where a metric is undefined",
        id="a line without",
    ),
    pytest.param(b'{"query_id": "q1", "scores": {"recall@5": NaN}}\n', "now.parquet:1: ", id="NaN in JSON"),
]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("content", "begins"), FILES)
def test_a_file_of_another_kind_is_refused(content: bytes, begins: str, capsys: Capture) -> None:
    Path("now.parquet").write_bytes(content)
    found = report(capsys, "--run", "per_query:now.parquet", code=2)
    place = ":".join(str(found["problems"][0][key]) for key in ("file", "line") if found["problems"][0].get(key))
    assert f"{place}: {found['problems'][0]['message']}".startswith(begins)


@pytest.mark.usefixtures("project")
def test_a_truncated_table_is_refused(capsys: Capture) -> None:
    content = Path("now.parquet").read_bytes()
    Path("now.parquet").write_bytes(content[: len(content) // 2])
    assert (
        "cannot be read as Parquet"
        in report(capsys, "--run", "per_query:now.parquet", code=2)["problems"][0]["message"]
    )


CALLS: list[Any] = [
    pytest.param(["--baseline", "per_query:"], "--baseline is empty; name a file", id="no name"),
    pytest.param(["--untrusted-run"], "where somebody trusted computed them", id="untrusted"),
    pytest.param(["--corpus", "c.jsonl", "-o", "x.html"], "values per query have none", id="texts"),
]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("words", "message"), CALLS)
def test_what_does_not_go_together_is_refused(words: Sequence[str], message: str, capsys: Capture) -> None:
    assert main(["check", "--run", "per_query:now.parquet", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("gate", ["overlap@5", "faithfulness"])
def test_gates_that_compare_lists_or_judge_answers_are_named(gate: str, capsys: Capture) -> None:
    judge = "judge: {endpoint: 'http://localhost/v1', model: m}\n" if gate == "faithfulness" else ""
    Path("ship-criteria.yaml").write_text(
        f"gates:\n  - {{name: {gate}, threshold: 0.5}}\ninputs: {{gold: gold.yaml}}\n{judge}"
    )
    problem = report(capsys, "--run", "per_query:now.parquet", code=2)["problems"][0]
    assert problem["message"].startswith(f"{gate}: these gates compare lists or judge answers, and a table of values")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("gap", [None, float("nan")], ids=["null", "NaN"])
def test_latency_that_is_null_is_missing_as_it_is_in_a_run(gap: float | None, capsys: Capture) -> None:
    Path("ship-criteria.yaml").write_text(
        "gates:\n  - {name: latency_p95, threshold: 100}\ninputs: {gold: gold.yaml}\n"
    )
    write({"query_id": VALUES["query_id"], "latency_p95": [10.0, gap, gap, 12.0]})
    found = report(capsys, "--run", "per_query:now.parquet", code=2)
    assert found["gates"][0]["reasons"][0]["kind"] == "missing"


def test_other_commands_say_that_there_are_no_rankings(tmp_path: Path) -> None:
    write(VALUES, str(tmp_path / "now.parquet"))
    with pytest.raises(RankgateError, match="holds values per query and no rankings; name a run"):
        list(open_values(str(tmp_path / "now.parquet")).rankings)


@pytest.mark.parametrize(
    "name", ["hit@5", "recall@5", "precision@5", "mrr", "map", "ndcg@10", "f1@5", "rprec", "dcg@5"]
)
@given(ranks=st.sets(st.integers(0, 8)), relevant=st.integers(0, 3), length=st.integers(0, 9))
@settings(deadline=None, max_examples=30)
def test_whether_a_metric_is_defined_does_not_hang_on_the_list(
    name: str, ranks: set[int], relevant: int, length: int
) -> None:
    """Else null and 0 in a table could not be held against the gold set."""
    metric = parse_metric(name)
    assert sees_hits_alone(metric)
    sample = Sample(query_id="q", gains={f"d{each}": 1.0 for each in range(relevant)} | {"x": 0.0})
    ids = [f"d{rank}" if rank in ranks else f"y{rank}" for rank in range(length)]
    values = [metric.per_query(match(sample, Ranking("q", each))) for each in ([], ids)]
    assert len({value is None for value in values}) == 1


@given(
    text=st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(
                [b'{"query_id": "q", "scores": {"mrr": 1.5}}', b'{"query_id": 1, "scores": {"mrr": null}}']
            ),
        ),
        max_size=4,
    )
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_values_or_an_error(text: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.write_bytes(b"\n".join(text))
    try:
        found = read_values(str(path), lambda columns, _: [name for name in columns if name == "mrr"])
    except RankgateError:
        return
    assert all(len(row) <= 1 for row in found.rows.values())


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "first", [[1], [True], pa.array([None], pa.null())], ids=["whole numbers", "booleans", "nulls"]
)
def test_parts_whose_columns_differ_in_type_keep_their_values(first: Any, capsys: Capture) -> None:
    """By the first part's type, 0.5 would be 0 after whole numbers and 1 after booleans."""
    Path("parts").mkdir()
    write({"query_id": ["q4" if isinstance(first, pa.Array) else "q1"], "recall@5": first}, "parts/0.parquet")
    write({"query_id": ["q2"], "recall@5": [0.5], "missing": [False]}, "parts/1.parquet")
    write({"query_id": ["q3"], "MISSING": [True], "recall@5": [1.0]}, "parts/2.parquet")
    found = report(capsys, "--run", "per_query:parts", code=1 if isinstance(first, pa.Array) else 0)
    sums = {"q1": 0 if isinstance(first, pa.Array) else 1, "q2": 0.5, "q3": 0}
    assert found["metrics"]["recall@5"]["value"] == pytest.approx(sum(sums.values()) / 3)
    assert "q3" in found["queries"]["missing_ids"]


@pytest.mark.usefixtures("project")
def test_values_of_lines_are_missing_only_where_the_gold_set_defines_them(capsys: Capture) -> None:
    """As in a run: a question without sources has no source_coverage to miss."""
    Path("gold.yaml").write_text(GOLD.replace('tags: ["lang:en"]', "source: kb"))
    gates = "gates:\n  - {name: source_coverage, threshold: 0.5}\ninputs: {gold: gold.yaml}\n"
    Path("ship-criteria.yaml").write_text(gates)
    write({"query_id": VALUES["query_id"], "source_coverage": [1.0, 1.0, None, None]})
    found = report(capsys, "--run", "per_query:now.parquet", code=0)
    assert found["metrics"]["source_coverage"] | {"ci": None} == found["metrics"]["source_coverage"] | {
        "ci": None,
        "n": 2,
        "missing": 0,
    }


@pytest.mark.usefixtures("project")
def test_null_is_refused_for_whatever_an_empty_list_has_a_value_of(capsys: Capture) -> None:
    """Else a table would leave its worst answers out of the mean."""
    Path("gold.yaml").write_text(
        GOLD.replace("expected_output: [a], metadata: {", "expected_output: [a], metadata: {answer: yes it is, ")
    )
    gates = "gates:\n  - {name: token_f1, threshold: 0.5}\ninputs: {gold: gold.yaml}\n"
    Path("ship-criteria.yaml").write_text(gates)
    write({"query_id": VALUES["query_id"], "token_f1": pa.array([None] * 4, pa.float64())})
    message = report(capsys, "--run", "per_query:now.parquet", code=2)["problems"][0]["message"]
    assert message == "query 'q1': token_f1 is null, and the gold set defines it; for an empty list it is 0"


@pytest.mark.usefixtures("project")
def test_a_table_given_as_a_run_and_a_run_given_as_a_table_name_the_other_option(capsys: Capture) -> None:
    assert (
        "values per query are judged by `check --run per_query:FILE`"
        in report(capsys, "--run", "now.parquet")["problems"][0]["message"]
    )
    Path("run.jsonl").write_text('{"query_id": "q1", "retrieved": ["a"]}\n')
    message = report(capsys, "--run", "per_query:run.jsonl")["problems"][0]["message"]
    assert message.endswith("and a run goes with --run")


# With --base: what a pull request may do to tables, and what a run and its table then have in common.
WORSE = [0.0, 0.0, 0.0, None]


@pytest.fixture
def pull_request(project: None) -> None:
    """On main stand the criteria, the gold set and what was accepted, as a file and as a folder of parts."""
    del project
    Path("folder").mkdir()
    for name in ("accepted.parquet", "folder/0.parquet"):
        write(VALUES, name)
    Path("now.parquet").unlink()
    git("init", "--quiet", "--initial-branch", "main")
    commit()
    git("switch", "--quiet", "--create", "change")


@pytest.mark.usefixtures("pull_request")
@pytest.mark.parametrize("accepted", ["accepted.parquet", "folder"])
@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_the_base_decides_what_was_accepted(accepted: str, change: str, capsys: Capture) -> None:
    part = Path(accepted) / "0.parquet" if accepted == "folder" else Path(accepted)
    part.unlink()
    if change == "replaced":
        write({**VALUES, "recall@5": WORSE}, str(part))
    commit()
    write({**VALUES, "recall@5": WORSE})
    found = report(
        capsys, "--run", "per_query:now.parquet", "--baseline", f"per_query:{accepted}", "--base", "main", code=1
    )
    assert (found["gates"][0]["delta"], found["base"]["baseline_changed"]) == (pytest.approx(-5 / 6), change)


@pytest.mark.usefixtures("pull_request")
def test_a_folder_that_nobody_changed_is_compared_with(capsys: Capture) -> None:
    Path("notes.txt").write_text("a change")
    commit()
    write({**VALUES, "recall@5": WORSE})
    found = report(capsys, "--run", "per_query:now.parquet", "--baseline", "per_query:folder", "--base", "main", code=1)
    assert (found["gates"][0]["delta"], found["base"]["baseline_changed"]) == (pytest.approx(-5 / 6), None)


@pytest.mark.usefixtures("pull_request")
@pytest.mark.parametrize("form", ["per_query:", ""])
def test_a_pattern_says_not_which_files_the_base_has(form: str, capsys: Capture) -> None:
    Path("notes.txt").write_text("a change")
    commit()
    write(VALUES)
    found = report(
        capsys, "--run", "per_query:now.parquet", "--baseline", f"{form}folder/*.parquet", "--base", "main", code=2
    )
    assert "a pattern does not say which files the base has; name their folder" in str(found["problems"])


@pytest.mark.usefixtures("pull_request")
@pytest.mark.parametrize("brought", ["now.parquet", "now", "now/*.parquet", "by the job"])
def test_a_table_that_the_pull_request_commits_is_warned_of(brought: str, capsys: Capture) -> None:
    Path("notes.txt").write_text("a change")
    commit()
    Path("now").mkdir()
    for name in ("now.parquet", "now/0.parquet"):
        write(VALUES, name)
    if brought != "by the job":
        commit()
    path = "now.parquet" if brought == "by the job" else brought
    found = report(
        capsys, "--run", f"per_query:{path}", "--baseline", "per_query:accepted.parquet", "--base", "main", code=0
    )
    assert [found["verdict"], found["base"]["values_brought"]] == (
        ["pass", False] if brought == "by the job" else ["warn", True]
    )


@pytest.mark.usefixtures("pull_request")
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        pytest.param("gold.yaml", "[d]", "[e]", "labels of the gold set", id="labels"),
        pytest.param("gold.yaml", "lang:de", "lang:fr", "labels of the gold set", id="tags"),
        pytest.param("ship-criteria.yaml", "inputs:", "match: doc\ninputs:", "`match` or `default_k`", id="match"),
        pytest.param("ship-criteria.yaml", "inputs:", "default_k: 3\ninputs:", "`match` or `default_k`", id="k"),
    ],
)
def test_values_by_one_gold_set_are_not_judged_by_two(
    file: str, old: str, new: str, said: str, capsys: Capture
) -> None:
    """A run is scored by the base's labels too; its table has the values by the pull request's alone."""
    Path(file).write_text(Path(file).read_text().replace(old, new))
    commit()
    write(VALUES)
    found = report(
        capsys, "--run", "per_query:now.parquet", "--baseline", "per_query:accepted.parquet", "--base", "main"
    )
    refused = f"the pull request changes {said}, and this table has values by the one or by the other alone"
    assert [each["message"].partition(";")[0] for each in found["problems"]] == [refused]


@pytest.mark.full
def test_more_queries_than_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    import duckdb

    monkeypatch.chdir(tmp_path)
    count = 10_000
    Path("qrels.txt").write_text("".join(f"q{each} 0 d{each} 1\n" for each in range(count)))
    Path("ship-criteria.yaml").write_text(
        "gates:\n  - {name: recall@5, regression_max: 0.01}\ninputs: {gold: qrels.txt}\n"
    )
    for name, part in (("now.parquet", 4), ("before.parquet", 2)):
        rows = f"SELECT 'q' || i AS query_id, (i % {part} > 0)::DOUBLE AS \"recall@5\" FROM range({count}) t(i)"  # noqa: S608
        duckdb.sql(f"COPY ({rows}) TO '{name}'")
    found = report(capsys, "--run", "per_query:now.parquet", "--baseline", "per_query:before.parquet", code=0)
    assert (found["gates"][0]["value"], found["gates"][0]["delta"], found["gates"][0]["n"]) == (0.75, 0.25, count)
