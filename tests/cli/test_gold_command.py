"""`rankgate gold`: the pool of several systems, labelled by somebody, becomes a larger gold set."""

import csv
import io
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.json_lines import read_lines

import rankgate
from rankgate.cli import main
from rankgate.readers.formats import read_gold

GOLD = """\
samples:
  - {id: q1, input: {question: "one?"}, expected_output: [a], note: mine}
  - {id: q2, input: {question: "two?"}, expected_output: {b: 2, c: 0}}
  - {id: q3, metadata: {no_answer: true}}
"""
RUN = """\
{"query_id": "q1", "topk": [{"chunk_id": "x", "text": "Ex"}, {"chunk_id": "a", "text": "Ay"}]}
{"query_id": "q2", "topk": [{"chunk_id": "b"}, {"chunk_id": "x"}]}
{"query_id": "q3", "topk": [{"chunk_id": "x"}]}
"""
OTHER = '{"query_id": "q1", "retrieved": ["=y", "x"]}\n{"query_id": "q9", "retrieved": ["a"]}\n'
PROJECT = {"gold.yaml": GOLD, "run.jsonl": RUN, "other.jsonl": OTHER}
pytestmark = pytest.mark.usefixtures("project")


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def pool(*words: str) -> int:
    return main(["gold", "pool", "run.jsonl", "other.jsonl", "--gold", "gold.yaml", *words])


def merge(*words: str) -> int:
    return main(["gold", "merge", *words])


def label(name: str, gains: dict[tuple[str, str], float]) -> None:
    rows = [{**row, "gain": gains.get((row["query_id"], row["id"]), row["gain"])} for row in read_lines(name)]
    write(name, "".join(json.dumps(row) + "\n" for row in rows))


def gains(name: str) -> dict[str, dict[str, float]]:
    return {query_id: dict(sample.gains) for query_id, sample in read_gold(name).samples.items()}


def test_the_pool(capsys: pytest.CaptureFixture[str]) -> None:
    assert pool("-o", "to_label.jsonl") == 0
    assert Path("to_label.jsonl").read_text(encoding="utf-8") == (
        '{"query_id": "q1", "question": "one?", "id": "=y", "text": null, "gain": null, '
        '"ranks": {"run.jsonl": null, "other.jsonl": 1}}\n'
        '{"query_id": "q1", "question": "one?", "id": "x", "text": "Ex", "gain": null, '
        '"ranks": {"run.jsonl": 1, "other.jsonl": 2}}\n'
        '{"query_id": "q2", "question": "two?", "id": "x", "text": "Ex", "gain": null, '
        '"ranks": {"run.jsonl": 2, "other.jsonl": null}}\n'
        '{"query_id": "q3", "question": null, "id": "x", "text": "Ex", "gain": null, '
        '"ranks": {"run.jsonl": 1, "other.jsonl": null}}\n'
        '{"query_id": "q1", "question": "one?", "id": "a", "text": "Ay", "gain": 1, '
        '"ranks": {"run.jsonl": 2, "other.jsonl": null}}\n'
        '{"query_id": "q2", "question": "two?", "id": "b", "text": null, "gain": 2, '
        '"ranks": {"run.jsonl": 1, "other.jsonl": null}}\n'
    )
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (
        "wrote to_label.jsonl: 6 pairs of a question and a document, from the first 20 results of each of 2 runs\n"
        "  4 unjudged, in 3 of 3 questions\n"
        "  2 judged already, for context\n"
        "  1 unjudged without a text, since no run states one\n"
        "  other.jsonl lacks 2 questions of gold.yaml\n"
        "  other.jsonl has 1 question that gold.yaml lacks, left out: 'q9'\n"
        "write a number into every gain (0 not relevant, 1 relevant, or your own grades); then:\n"
        "  $ rankgate gold merge gold.yaml to_label.jsonl -o gold.jsonl\n"
    )


def test_the_merged_gold_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert pool("-o", "back.jsonl") == 0
    label("back.jsonl", {("q1", "x"): 1, ("q2", "x"): 0, ("q3", "x"): 0})
    capsys.readouterr()
    assert merge("gold.yaml", "back.jsonl", "-o", "gold.jsonl") == 0
    assert Path("gold.jsonl").read_text(encoding="utf-8") == (
        '{"id": "q1", "input": {"question": "one?"}, "expected_output": ["a", "x"], "note": "mine"}\n'
        '{"id": "q2", "input": {"question": "two?"}, "expected_output": {"b": 2, "c": 0, "x": 0}}\n'
        '{"id": "q3", "metadata": {"no_answer": true}, "expected_output": {"x": 0}}\n'
    )
    assert capsys.readouterr().out == (
        "wrote gold.jsonl: 3 judgments added, 1 of them relevant, to 3 of 3 questions\n"
        "  2 known already, 1 without a gain left out\n"
    )


def test_what_comes_back_as_a_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    """Formulas are defused on the way out, and ids are exact again on the way in; here with a semicolon, as saved."""
    assert pool("--unjudged", "-o", "to_label.csv") == 0
    rows = list(csv.DictReader(io.StringIO(Path("to_label.csv").read_text(encoding="utf-8-sig"))))
    assert [(row["query_id"], row["id"], row["ranks.other.jsonl"]) for row in rows] == [
        ("q1", "'=y", "1"),
        ("q1", "x", "2"),
        ("q2", "x", ""),
        ("q3", "x", ""),
    ]
    saved = io.StringIO()
    writer = csv.DictWriter(saved, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows([{**row, "gain": str(int(row["id"] != "x"))} for row in rows])
    write("back.csv", saved.getvalue())
    assert merge("gold.yaml", "back.csv", "-o", "gold.jsonl") == 0
    assert gains("gold.jsonl") == {"q1": {"a": 1, "=y": 1, "x": 0}, "q2": {"b": 2, "c": 0, "x": 0}, "q3": {"x": 0}}


def test_a_judges_labels_stand_beside_the_gold(capsys: pytest.CaptureFixture[str]) -> None:
    assert pool("--as-judge", "-o", "back.jsonl") == 0
    assert capsys.readouterr().out.endswith("gold merge gold.yaml back.jsonl --as-judge -o gold.jsonl\n")
    label("back.jsonl", {("q1", "x"): 1, ("q1", "=y"): 0})
    assert merge("gold.yaml", "back.jsonl", "--as-judge", "-o", "gold.jsonl") == 0
    assert capsys.readouterr().out.startswith("wrote gold.jsonl: 2 judge labels added, 1 of them relevant, to 1 of 3")
    assert gains("gold.jsonl") == gains("gold.yaml")
    assert read_gold("gold.jsonl").samples["q1"].judge_gains == {"x": 1, "=y": 0}
    assert pool("--as-judge", "--unjudged", "--gold", "gold.jsonl", "-o", "next.jsonl") == 0
    assert [(row["query_id"], row["id"]) for row in read_lines("next.jsonl")] == [("q2", "x"), ("q3", "x")]
    assert pool("--unjudged", "--gold", "gold.jsonl", "-o", "people.jsonl") == 0
    assert len(read_lines("people.jsonl")) == 4


def test_a_folder_of_beir_takes_labels_and_negatives(capsys: pytest.CaptureFixture[str]) -> None:
    Path("beir/qrels").mkdir(parents=True)
    write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t1\n")
    write("beir/queries.jsonl", '{"_id": "q1", "text": "Why?"}\n')
    write("one.jsonl", '{"query_id": "q1", "topk": ["x", "a"]}\n')
    write("more.jsonl", '{"query_id": "q1", "id": "b", "gain": 2}\n')
    asked = {"id": "q1", "input": {"question": "Why?"}}
    assert main(["gold", "merge", "beir", "more.jsonl", "-o", "merged.jsonl"]) == 0
    assert read_lines("merged.jsonl") == [{**asked, "expected_output": {"a": 1, "b": 2}}]
    assert main(["gold", "negatives", "beir", "--run", "one.jsonl", "-o", "mined.jsonl"]) == 0
    assert read_lines("mined.jsonl") == [{**asked, "expected_output": ["a"], "negatives": ["x"]}]


def test_conflicts_are_all_listed_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    write("ana.csv", "query_id,id,gain\nq1,a,0\nq1,x,1\nq8,a,1\nq1,z,?\n")
    write("ben.jsonl", '{"query_id": "q1", "id": "x", "gain": 0}\n{"query_id": "q3", "id": "x", "gain": 1}\n')
    write("gold.jsonl", "old")
    assert merge("gold.yaml", "ana.csv", "ben.jsonl", "-o", "gold.jsonl", "--force") == 2
    unanswered = "labelled 1, but the question says no_answer: true; drop that in gold.yaml, or label it 0"
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "error: ana.csv:5: query 'q1': the gain of 'z' is '?', not a number\n"
        "error: ana.csv:2: query 'q1', document 'a': labelled 0, but gold.yaml:2 says 1; change one of them\n"
        "error: ana.csv:4: gold.yaml has no query 'q8'; add it there or drop its labels\n"
        "error: ben.jsonl:1: query 'q1', document 'x': labelled 0, but ana.csv:3 says 1; change one of them\n"
        f"error: ben.jsonl:2: query 'q3', document 'x': {unanswered}\n"
    )
    assert Path("gold.jsonl").read_text(encoding="utf-8") == "old"


def test_merging_again_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert pool("-o", "back.jsonl") == 0
    label("back.jsonl", {("q1", "x"): 1})
    assert merge("gold.yaml", "back.jsonl", "-o", "gold.jsonl") == 0
    before = Path("gold.jsonl").read_bytes()
    capsys.readouterr()
    assert merge("gold.jsonl", "back.jsonl", "-o", "gold.jsonl", "--force") == 0
    assert Path("gold.jsonl").read_bytes() == before
    assert capsys.readouterr().out == (
        "wrote gold.jsonl: 0 judgments added\n  3 known already, 3 without a gain left out\n"
    )


def test_json_keeps_what_stands_beside_the_samples(capsys: pytest.CaptureFixture[str]) -> None:
    write("gold.yaml", f"version: 3\n{GOLD}")
    write("back.csv", "query_id,id,gain\nq1,x,1\n")
    assert merge("gold.yaml", "back.csv", "-o", "gold.jsonl") == 0
    assert "  left out, because JSONL holds samples only: version (-o FILE.json keeps it)\n" in capsys.readouterr().out
    assert merge("gold.yaml", "back.csv", "-o", "gold.json") == 0
    assert "left out, because" not in capsys.readouterr().out
    assert json.loads(Path("gold.json").read_text(encoding="utf-8"))["version"] == 3
    assert gains("gold.json") == gains("gold.jsonl")


def test_standard_output_is_data_and_the_rest_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert pool("-o", "file.jsonl") == 0
    capsys.readouterr()
    assert pool() == 0
    out, err = capsys.readouterr()
    assert out == Path("file.jsonl").read_text(encoding="utf-8")
    assert err.startswith("6 pairs of a question and a document, from the first 20 results of each of 2 runs\n")
    assert "$ rankgate" not in err
    write("back.csv", "query_id,id,gain\nq1,x,1\n")
    assert merge("gold.yaml", "back.csv") == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[0])["expected_output"] == ["a", "x"]
    assert err.startswith("1 judgment added, 1 of them relevant, to 1 of 3 questions\n")


@pytest.mark.full
def test_through_a_pipe_in_any_encoding() -> None:
    write("gold.yaml", GOLD.replace("one?", "o quê?"))
    environment = {**os.environ, "PYTHONPATH": str(Path(rankgate.__file__).parents[1]), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "rankgate", "gold", "pool", "-", "--gold", "gold.yaml", "--unjudged"]
    ended = subprocess.run(command, input=RUN.encode(), env=environment, capture_output=True, check=True)
    first = json.loads(ended.stdout.splitlines()[0])
    assert (first["question"], first["ranks"]) == ("o quê?", {"standard input": 1})


def test_runs_with_the_same_file_name_are_told_apart() -> None:
    write("a/run.jsonl", RUN)
    words = ["gold", "pool", "run.jsonl", "a/run.jsonl", "other.jsonl", "--gold", "gold.yaml", "-o", "pool.jsonl"]
    assert main(words) == 0
    assert list(read_lines("pool.jsonl")[0]["ranks"]) == ["run.jsonl", "a/run.jsonl", "other.jsonl"]


def test_an_accepted_baseline_is_a_system_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "accept", "--run", "run.jsonl", "--to", "baseline", "--depth", "1"]) == 0
    capsys.readouterr()
    assert main(["gold", "pool", "other.jsonl", "baseline/", "--gold", "gold.yaml", "-o", "pool.jsonl"]) == 0
    assert "  baseline was stored to depth 1\n" in capsys.readouterr().out
    assert read_lines("pool.jsonl")[1]["ranks"] == {"other.jsonl": 2, "baseline": 1}


def test_the_criteria_say_how_to_match(capsys: pytest.CaptureFixture[str]) -> None:
    write("chunks.jsonl", '{"query_id": "q1", "retrieved": ["x#1", "a#1", "x#2"]}\n')
    words = ["gold", "pool", "chunks.jsonl", "--gold", "gold.yaml", "--force", "-o", "pool.jsonl"]
    assert main(words) == 0
    assert [row["id"] for row in read_lines("pool.jsonl")] == ["x#1", "a#1", "x#2"]
    agree = "  none judged already; do the ids of the runs and of gold.yaml agree? (--match doc pools documents)\n"
    assert agree in capsys.readouterr().out
    write("ship-criteria.yaml", "gates: [{name: mrr, threshold: 0.5}]\nmatch: doc\n")
    assert main(words) == 0
    assert [(row["id"], row["gain"]) for row in read_lines("pool.jsonl")] == [("x", None), ("a", 1)]
    assert agree not in capsys.readouterr().out


def test_the_gold_set_may_come_from_the_criteria(capsys: pytest.CaptureFixture[str]) -> None:
    write("ship-criteria.yaml", "gates: [{name: mrr, threshold: 0.5}]\ninputs: {gold: gold.yaml}\n")
    assert main(["gold", "pool", "run.jsonl", "-o", "pool.csv"]) == 0
    assert capsys.readouterr().out.endswith("  $ rankgate gold merge gold.yaml pool.csv -o gold.jsonl\n")


def test_the_proposed_command_overwrites_no_other_gold_set(capsys: pytest.CaptureFixture[str]) -> None:
    write("gold.jsonl", '{"id": "q1", "expected_output": ["a"]}\n')
    assert pool("-o", "one.jsonl") == 0
    assert capsys.readouterr().out.endswith("merge gold.yaml one.jsonl -o gold.labelled.jsonl\n")
    assert pool("--gold", "gold.jsonl", "-o", "two.jsonl") == 0
    assert capsys.readouterr().out.endswith("merge gold.jsonl two.jsonl -o gold.jsonl --force\n")


def test_when_nothing_is_left_to_label_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    write("one.jsonl", '{"query_id": "q1", "retrieved": ["a"]}\n')
    assert main(["gold", "pool", "one.jsonl", "--gold", "gold.yaml", "--unjudged", "-o", "pool.csv"]) == 0
    assert capsys.readouterr().out == (
        "wrote pool.csv: 0 pairs of a question and a document, from the first 20 results of 1 run\n"
        "  0 unjudged, in 0 of 3 questions\n"
        "  1 judged already, left out\n"
        "  one.jsonl lacks 2 questions of gold.yaml\n"
        "nothing is left to label\n"
    )


BACK = "query_id,id,gain\nq1,x,1\n"
GOLD_FLAG = ["--gold", "gold.yaml"]
POOL = ["gold", "pool", "run.jsonl", *GOLD_FLAG]
MERGE = ["gold", "merge", "gold.yaml", "back.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*POOL, "--depth", "0"], "--depth must be at least 1, not 0"),
        ([*POOL, "-o", "kept.csv"], "kept.csv: exists already, maybe with labels in it; --force"),
        ([*MERGE, "-o", "kept.jsonl"], "kept.jsonl: exists already, maybe with labels"),
        ([*POOL, "-o", "a.xlsx"], "a.xlsx: a pool is written as .jsonl or .csv, not as .xlsx"),
        ([*MERGE, "-o", "a.yaml"], "a.yaml: a gold set is written as .jsonl or .json, not as .yaml"),
        (
            [*POOL, "-o", "run.jsonl", "--force"],
            "run.jsonl: -o would write over what RUN names (run.jsonl); name another",
        ),
        (
            ["gold", "merge", "gold.yaml", "kept.jsonl", "-o", "./kept.jsonl", "--force"],
            "./kept.jsonl: -o would write over what LABELLED names (kept.jsonl); name another",
        ),
        (["gold", "pool", "nope.jsonl", *GOLD_FLAG], "nope.jsonl: no such file or baseline directory"),
        (
            ["gold", "pool", "run.jsonl", "./run.jsonl", *GOLD_FLAG],
            "./run.jsonl: this run is named twice; name each once",
        ),
        ([*POOL, "--match", "text"], "a pool is made of ids; where the gold holds passages"),
        (
            ["gold", "pool", "run.jsonl", "strange.jsonl", *GOLD_FLAG],
            "strange.jsonl: the run has none of the 3 questions of gold.yaml",
        ),
        (["gold", "pool", "-", "--gold", "-"], "only one input can be read from standard input"),
        (["gold", "pool", "run.jsonl"], "no gold named"),
        (["gold", "merge", "-", "back.csv"], "-: GOLD is read twice, so it must be a file or a folder of BEIR"),
        (["gold", "merge", "nope.yaml", "back.csv"], "nope.yaml: no such file"),
        ([*MERGE, "nope.csv"], "nope.csv: no such file"),
        ([*MERGE, "run.jsonl"], "run.jsonl:1: no id; a labelled pair has query_id, id, gain"),
    ],
)
def test_what_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    kept = '{"query_id": "q1", "id": "x", "gain": 1}\n'
    for name, text in (("back.csv", BACK), ("kept.csv", BACK), ("kept.jsonl", kept)):
        write(name, text)
    write("strange.jsonl", '{"query_id": "zz", "retrieved": ["a"]}\n')
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


# The whole flow, whatever the gold set, the runs and the labels.

IDS = st.sampled_from(["a", "b", "c", "=d", "7", "é f"])
QUERIES = st.sampled_from(["q1", "2", "q é"])
JUDGED = st.lists(IDS, unique=True, max_size=3) | st.dictionaries(IDS, st.sampled_from([0, 1, 2.5]), max_size=3)
RUNS = st.dictionaries(QUERIES, st.lists(IDS, unique=True, max_size=6), min_size=1)


@pytest.mark.full
@settings(max_examples=60)
@given(
    judged=st.dictionaries(QUERIES, JUDGED, max_size=2),
    answers=st.booleans(),
    runs=st.lists(RUNS, min_size=1, max_size=3),
    depth=st.integers(1, 6),
    gold_form=st.sampled_from(["gold.jsonl", "gold.json"]),
    pool_form=st.sampled_from(["pool.jsonl", "pool.csv"]),
    oracle=st.randoms(use_true_random=False),
)
def test_what_the_oracle_says_is_added_and_nothing_is_left_to_label(
    project: Path,
    judged: dict[str, Any],
    answers: bool,  # noqa: FBT001
    runs: list[dict[str, list[str]]],
    depth: int,
    gold_form: str,
    pool_form: str,
    oracle: random.Random,
) -> None:
    judged = {"first": ["a"], **judged}
    samples = [
        {"id": query_id, "expected_output": {"answer": "x", "ids": ids} if answers else ids, "mine": query_id}
        for query_id, ids in judged.items()
    ]
    form = {"gold.jsonl": "".join(json.dumps(sample) + "\n" for sample in samples), "gold.json": json.dumps(samples)}
    write(gold_form, form[gold_form])
    names = [f"{number}.json" for number in range(len(runs))]
    for name, run in zip(names, runs, strict=True):
        write(name, json.dumps({"first": ["b"], **run}))

    words = ["gold", "pool", *names, "--gold", gold_form, "--depth", str(depth), "--force"]
    assert main([*words, "-o", pool_form]) == 0
    assert main([*words, "-o", "pairs.jsonl"]) == 0
    said = {
        (row["query_id"], row["id"]): oracle.choice([0, 1, 2.5]) if row["gain"] is None else row["gain"]
        for row in read_lines("pairs.jsonl")
    }
    fill_in(pool_form, said)
    before = gains(gold_form)
    assert main(["gold", "merge", gold_form, pool_form, "--force", "-o", f"new-{gold_form}"]) == 0

    expected = {query_id: dict(of_query) for query_id, of_query in before.items()}
    for (query_id, doc), gain in said.items():
        expected[query_id][doc] = gain
    assert gains(f"new-{gold_form}") == expected
    text = Path(f"new-{gold_form}").read_text(encoding="utf-8")
    after = [json.loads(line) for line in text.splitlines()] if gold_form == "gold.jsonl" else json.loads(text)
    assert [
        {**new, "expected_output": old["expected_output"]} for new, old in zip(after, samples, strict=True)
    ] == samples

    words[words.index(gold_form)] = f"new-{gold_form}"
    assert main([*words, "--unjudged", "-o", "left.jsonl"]) == 0
    assert read_lines("left.jsonl") == []


def fill_in(name: str, said: dict[tuple[str, str], float]) -> None:
    """Label a pool, as a program or a spreadsheet would."""
    if name.endswith(".jsonl"):
        label(name, said)
        return
    text = Path(name).read_text(encoding="utf-8-sig")
    head, *rows = list(csv.reader(io.StringIO(text, newline="")))
    filled = io.StringIO(newline="")
    writer = csv.writer(filled)
    writer.writerow(head)
    for row in rows:
        exact = row[2].removeprefix("'") if row[2].startswith("'=") else row[2]
        writer.writerow([*row[:4], said[row[0], exact], *row[5:]])
    write(name, filled.getvalue())


@pytest.mark.full
def test_the_embedded_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(rankgate.__file__).parent / "cli" / "example"
    shutil.copytree(example, tmp_path / "example")
    runs = [f"example/runs/{name}.jsonl" for name in ("accepted", "harmless", "harmful")]
    gold = "example/gold.yaml"
    assert main(["gold", "pool", *runs, "--gold", gold, "--depth", "5", "-o", "pool.jsonl"]) == 0
    label("pool.jsonl", {(row["query_id"], row["id"]): 0 for row in read_lines("pool.jsonl") if row["gain"] is None})
    assert main(["gold", "merge", gold, "pool.jsonl", "-o", "gold.jsonl"]) == 0
    before, after = read_gold(gold).samples, read_gold("gold.jsonl").samples
    for query_id, sample in before.items():
        new = after[query_id]
        assert (new.question, new.tags, new.no_answer) == (sample.question, sample.tags, sample.no_answer)
        assert new.relevant() == sample.relevant()
        assert {doc: gain for doc, gain in new.gains.items() if doc in sample.gains} == sample.gains
    capsys.readouterr()
    assert main(["gold", "pool", *runs, "--gold", "gold.jsonl", "--depth", "5", "-o", "left.jsonl"]) == 0
    assert capsys.readouterr().out.endswith("nothing is left to label\n")
