"""What a newcomer with a gold set and a retriever of their own types first, as the README has it."""

import re
import shlex
from pathlib import Path

import pytest
from tests.repositories import git

from rankgate.cli import main
from rankgate.criteria import load_criteria

SEARCH = """\
def retrieve(question):
    return ["returns#1", "orders#1"]
"""
HAND_WRITTEN = "gates:\n  - {name: recall@5, threshold: 0.1, regression_max: 0.1}\n"
RETRIEVER = ["--retriever", "my_search:retrieve"]
FRAGEN = "Frage,Dokument,Sprache\nWie lange kann ich umtauschen?,returns#1,de\nWhere is my order?,orders#1,en\n"


@pytest.fixture(autouse=True)
def in_a_directory_with_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("my_search.py").write_text(SEARCH, encoding="utf-8")


def rankgate(*words: str) -> int:
    return main([*words])


@pytest.mark.full
def test_columns_of_ones_own_are_mapped_by_the_command_that_the_error_names(capsys: pytest.CaptureFixture[str]) -> None:
    Path("fragen.csv").write_text(FRAGEN, encoding="utf-8")
    assert rankgate("init", "--gold", "fragen.csv", *RETRIEVER) == 2
    [command] = re.findall(r"`rankgate (init [^`]*)`", capsys.readouterr().err)
    assert rankgate(*shlex.split(command), "--map", "tags=Sprache", *RETRIEVER) == 0
    assert rankgate("check", "--record") == 0
    assert rankgate("baseline", "accept") == 0
    assert rankgate("check", "--record", "-o", "report.json") == 0
    assert "100" in capsys.readouterr().out
    written = load_criteria("ship-criteria.yaml").inputs.gold
    assert rankgate("init", "--gold", "fragen.csv", "--run", "run.jsonl", "--force") == 0
    assert load_criteria("ship-criteria.yaml").inputs.gold == written, "its map is kept"
    assert written is not None
    assert written.map is not None
    assert written.map.tags == ("Sprache",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--map", "frage=Frage"], "error: --map: 'frage=Frage' is not one of id=COLUMN, ", id="a word"),
        pytest.param(["--map", "question=Frage"], "error: --map: names no document; add document=COLUMN", id="lacking"),
        pytest.param(["--map", "document=Dokument"], "error: --map: names no question; add question", id="no question"),
        pytest.param(
            ["--map", "question=Frage,document=Doku"],
            "error: fragen.csv:1: map.chunk_id: the table has no 'Doku'; did you mean 'Dokument'?",
            id="a column that is not there",
        ),
    ],
)
def test_what_a_map_lacks_is_named(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    Path("fragen.csv").write_text(FRAGEN, encoding="utf-8")
    assert rankgate("init", "--gold", "fragen.csv", *words) == 2
    assert capsys.readouterr().err.startswith(message)
    assert not Path("ship-criteria.yaml").exists()


def test_a_column_of_languages_is_gated_and_what_nothing_reads_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"question {row},doc-{row},{'es' if row % 2 else 'en'},Ann,so\n" for row in range(40)]
    Path("gold.csv").write_text("question,doc,language,author,answer\n" + "".join(rows), encoding="utf-8")
    assert rankgate("init", "--gold", "gold.csv", *RETRIEVER) == 0
    out = capsys.readouterr().out
    assert "gated by segments, too: 'language' (2 values)" in out
    unread = "not read: 'author', 'answer'; to gate parts of the questions by one: `rankgate init --gold "
    assert f"{unread}gold.csv --map question=question,document=doc,tags=author --force`" in out
    [rule] = load_criteria("ship-criteria.yaml").gates[0].segments
    assert rule.by == ("language",)
    rankgate("validate")
    assert unread in capsys.readouterr().out


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param("inputs:  # ours\n    # of people\n    gold: gold.csv\n\nevidence: proven_harm\n", id="deeper"),
        pytest.param("inputs: {gold: gold.csv}  # ours\n", id="one line"),
        pytest.param("inputs:\n  run: out.jsonl\n  gold: gold.csv\n", id="a run"),
        pytest.param("inputs: {gold: {path: gold.csv}}\n", id="a file on one line"),
    ],
)
def test_a_retriever_beside_criteria_by_hand_gets_a_run_and_a_baseline_named(inputs: str) -> None:
    Path("gold.csv").write_text("question,doc\nWie lange?,returns#1\n", encoding="utf-8")
    Path("ship-criteria.yaml").write_text(HAND_WRITTEN + inputs, encoding="utf-8")
    before = load_criteria("ship-criteria.yaml")
    git("init", "--quiet")
    assert rankgate("init", *RETRIEVER) == 0
    criteria = load_criteria("ship-criteria.yaml")
    assert (criteria.gates, criteria.inputs.gold) == (before.gates, before.inputs.gold)
    assert criteria.retriever is not None
    assert criteria.inputs.baseline is not None
    assert criteria.inputs.run is not None
    assert before.inputs.run in {None, criteria.inputs.run}
    assert Path(".gitignore").read_text(encoding="utf-8").startswith(f"/{criteria.inputs.run.path}*\n")


@pytest.mark.full
def test_a_retriever_beside_criteria_by_hand_is_checked_and_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gold.csv").write_text("question,doc\nWie lange?,returns#1\nWann?,orders#1\n", encoding="utf-8")
    Path("ship-criteria.yaml").write_text(f"{HAND_WRITTEN}inputs:\n  gold: gold.csv\n", encoding="utf-8")
    git("init", "--quiet")
    assert rankgate("init", *RETRIEVER) == 0
    out = capsys.readouterr().out
    assert "`inputs.baseline`" in out
    for step in re.findall(r"  \$ rankgate (.*)", out):
        assert rankgate(*shlex.split(step)) == 0
    assert rankgate("check", "--record") == 0
    named = load_criteria("ship-criteria.yaml").inputs
    assert named.run is not None
    assert Path(".gitignore").read_text(encoding="utf-8").startswith(f"/{named.run.path}*\n")


def test_a_retriever_without_a_run_in_the_criteria_is_named_by_validate(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gold.csv").write_text("question,doc\nWie lange?,returns#1\n", encoding="utf-8")
    retriever = "retriever: {function: 'my_search:retrieve'}\n"
    Path("ship-criteria.yaml").write_text(f"{HAND_WRITTEN}{retriever}inputs: {{gold: gold.csv}}\n", encoding="utf-8")
    rankgate("validate")
    assert "ship-criteria.yaml: inputs names no run and no baseline" in capsys.readouterr().out


@pytest.mark.full
def test_a_retriever_beside_criteria_in_a_folder_of_their_own_records_outside_of_it() -> None:
    Path("gold.csv").write_text("question,doc\nWie lange?,returns#1\n", encoding="utf-8")
    Path("config").mkdir()
    Path("config/ship-criteria.yaml").write_text(HAND_WRITTEN + "inputs: {gold: ../gold.csv}\n", encoding="utf-8")
    assert rankgate("init", *RETRIEVER) == 0
    assert rankgate("check", "--record") == 0
    assert rankgate("baseline", "accept") == 0
    assert {"run.jsonl", "baseline"} <= {path.name for path in Path().iterdir()}


def tagged(count: int) -> str:
    rows = [f"question {row},doc-{row},{'es' if row % 2 else 'en'}\n" for row in range(count)]
    return "question,doc,language\n" + "".join(rows)


def test_with_the_workflows_it_prints_fifteen_lines_and_both_labels(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gold.csv").write_text(tagged(40), encoding="utf-8")
    git("init", "--quiet")
    assert rankgate("init", "--gold", "gold.csv", *RETRIEVER, "--github") == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 15
    assert "gh label create 'rankgate: accept rankings' && gh label create 'rankgate: accept change'" in out


def test_validate_of_a_small_set_before_the_first_run_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gold.csv").write_text(tagged(12), encoding="utf-8")
    assert rankgate("init", "--gold", "gold.csv", *RETRIEVER) == 0
    capsys.readouterr()
    assert rankgate("validate") == 0
    recorded, sight, summary = capsys.readouterr().out.splitlines()
    assert recorded == "look at: run.jsonl is not recorded yet: `rankgate check --record` records and judges it"
    assert sight.startswith(
        "look at: 12 questions detect a drop of recall@5 by 52.3 points in 4 of 5 runs (5.0 points "
    )
    assert sight.endswith("; to detect twice what is allowed take about 177")
    assert summary == "0 problems, 2 things to look at in criteria, gold"


def test_judgments_without_questions_leave_a_retriever_nothing_to_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("qrels.txt").write_text("q1 0 returns#1 1\n", encoding="utf-8")
    assert rankgate("init", "--gold", "qrels.txt", *RETRIEVER) == 2
    message = (
        "error: qrels.txt: has no questions, so that the retriever has nothing to be asked; give a folder with qrels/"
    )
    assert capsys.readouterr().err.startswith(message)
    assert not Path("ship-criteria.yaml").exists()


@pytest.mark.full
def test_run_and_baseline_lie_beside_criteria_above_the_gold_set(capsys: pytest.CaptureFixture[str]) -> None:
    git("init", "--quiet", "proj")
    Path("proj/gold.csv").write_text(tagged(2), encoding="utf-8")
    words = ["--gold", "proj/gold.csv", "--to", "proj/ship-criteria.yaml"]
    assert rankgate("init", *words, "--retriever", "elsewhere:retrieve") == 0
    out = capsys.readouterr().out
    assert "proj/baseline/; .gitignore has proj/run.jsonl" in out
    assert "note: there is no module 'elsewhere' in this directory, and none is installed" in out
    assert rankgate("init", *words, *RETRIEVER, "--force") == 0
    for step in re.findall(r"  \$ rankgate (check .*|baseline .*)", capsys.readouterr().out):
        assert rankgate(*shlex.split(step)) == 0
    written = {path.name for path in Path("proj").iterdir()}
    assert written == {".git", ".gitignore", "baseline", "gold.csv", "run.jsonl", "ship-criteria.yaml"}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        pytest.param(
            '{"query_id": "q1", "question": "Wie lange?", "expected": ["a"]}',
            "id=query_id,question=question,documents=expected",
            id="an id of a question makes no run",
        ),
        pytest.param(
            '{"ask": "Wie lange?", "should_find": ["a", "b"]}', "question=ask,documents=should_find", id="own names"
        ),
    ],
)
def test_lines_with_lists_under_names_of_ones_own_are_read_by_the_printed_command(
    line: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gold.jsonl").write_text(f"{line}\n{line.replace('q1', 'q2').replace('Wie', 'Bis')}\n", encoding="utf-8")
    assert rankgate("init", "--gold", "gold.jsonl") == 2
    command = f"init --gold gold.jsonl --map {named}"
    assert f"`rankgate {command}`" in capsys.readouterr().err
    assert rankgate(*command.split()) == 0
    assert "over 2 questions" in capsys.readouterr().out
