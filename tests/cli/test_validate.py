"""`rankgate validate`: every problem and every suspicious fact at once, and whatever `check` would not judge."""

import json
from pathlib import Path

import pytest

from rankgate.cli import main

Capture = pytest.CaptureFixture[str]
GOLD = '{"id": "q1", "expected_output": ["a"]}\n{"id": "q2", "expected_output": ["b"]}\n'
RUN = '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q2", "retrieved": ["b"]}\n'
CRITERIA = """\
gates:
  - {name: recall@1, threshold: 0.5}
inputs: {gold: gold.jsonl, run: run.jsonl}
"""
PROJECT = {"gold.jsonl": GOLD, "run.jsonl": RUN, "ship-criteria.yaml": CRITERIA}
pytestmark = pytest.mark.usefixtures("project")


def write(**files: str) -> None:
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")


def validated(capsys: Capture, *words: str) -> tuple[int, list[str]]:
    code = main(["validate", *words])
    out, err = capsys.readouterr()
    assert err == ""
    return code, out.splitlines()


def test_sound_inputs_have_nothing_to_mend(capsys: Capture) -> None:
    assert validated(capsys) == (0, ["0 problems, 0 things to look at in criteria, gold, run"])


def test_a_baseline_is_read_too(capsys: Capture) -> None:
    assert validated(capsys, "--baseline", "run.jsonl") == (
        0,
        ["0 problems, 0 things to look at in criteria, gold, run, baseline"],
    )


@pytest.mark.parametrize(
    ("words", "read"),
    [
        pytest.param(["--gold", "gold.jsonl"], "gold", id="gold alone"),
        pytest.param(["--run", "run.jsonl"], "run", id="run alone"),
        pytest.param(["--gold", "gold.jsonl", "--run", "run.jsonl"], "gold, run", id="gold and run"),
    ],
)
def test_without_criteria_it_reads_what_is_named(project: Path, capsys: Capture, words: list[str], read: str) -> None:
    (project / "ship-criteria.yaml").unlink()
    assert validated(capsys, *words) == (0, [f"0 problems, 0 things to look at in {read}"])


def test_problems_of_all_inputs_are_listed_at_once(capsys: Capture) -> None:
    criteria = "gates:\n  - {name: recal@1, threshold: 0.5}\n  - {name: mrr, threshold: 85}\n"
    gold = '{"id": "q1"}\n{"id": "q2", "expected_output": {"b": "high"}}\n'
    run = '{"query_id": "q1"}\nnot json\n'
    write(**{"ship-criteria.yaml": criteria, "gold.jsonl": gold, "run.jsonl": run, "old.jsonl": '{"topk": []}\n'})
    words = ["--gold", "gold.jsonl", "--run", "run.jsonl", "--baseline", "old.jsonl"]
    code, lines = validated(capsys, *words)
    assert code == 2
    assert [line.removeprefix("problem: ").split(": ")[0] for line in lines[:-1]] == [
        "ship-criteria.yaml:2",
        "ship-criteria.yaml:3",
        "gold.jsonl:1",
        "gold.jsonl:2",
        "run.jsonl:1",
        "run.jsonl:2",
        "old.jsonl:1",
    ]
    assert all(line.startswith("problem: ") for line in lines[:-1])
    assert lines[-1] == "7 problems, 0 things to look at"


def test_many_problems_of_one_file_are_all_listed(capsys: Capture) -> None:
    write(**{"run.jsonl": "".join(f'{{"query_id": "q{number}"}}\n' for number in range(100))})
    code, lines = validated(capsys)
    assert code == 2
    assert lines[-1] == "100 problems, 0 things to look at"


def test_a_problem_does_not_hide_the_facts(capsys: Capture) -> None:
    write(**{"gold.jsonl": GOLD + '{"id": "q3", "expected_output": []}\n'})
    code, lines = validated(capsys, "--run", "absent.jsonl")
    assert code == 2
    assert lines[0] == "problem: absent.jsonl: no such file"
    assert lines[1].startswith("look at: 1 sample without a relevant document")
    assert lines[2] == "1 problem, 1 thing to look at"


@pytest.mark.parametrize(
    ("gold", "run", "criteria", "fact"),
    [
        pytest.param(
            GOLD + '{"id": "q3", "expected_output": []}\n',
            RUN + '{"query_id": "q3", "retrieved": ["a"]}\n',
            CRITERIA,
            "1 sample without a relevant document and without no_answer: true, left out of relevance metrics; 'q3'",
            id="nothing relevant",
        ),
        pytest.param(
            GOLD,
            RUN + '{"query_id": "q3", "retrieved": ["a"]}\n',
            CRITERIA,
            "1 question of the run without a sample in the gold set; 'q3'",
            id="an unknown query",
        ),
        pytest.param(
            GOLD,
            RUN.replace('["a"]', '["a", "b"]'),
            CRITERIA.replace("recall@1", "precision@2").replace("0.5", "0.9"),
            "gate 'precision@2' can never pass: its floor is 90.0%, the best possible precision@2 on this gold set is "
            "50.0%",
            id="a floor out of reach",
        ),
    ],
)
def test_a_suspicious_fact_is_told_and_exits_0(capsys: Capture, gold: str, run: str, criteria: str, fact: str) -> None:
    write(**{"gold.jsonl": gold, "run.jsonl": run, "ship-criteria.yaml": criteria})
    code, lines = validated(capsys)
    assert code == 0
    assert lines[:2] == [f"look at: {fact}", "0 problems, 1 thing to look at in criteria, gold, run"]


def test_a_violated_gate_has_a_waiver_to_copy_that_is_refused_until_it_is_filled_in(capsys: Capture) -> None:
    write(**{"run.jsonl": RUN.replace('["b"]', '["a"]'), "ship-criteria.yaml": CRITERIA.replace("0.5", "0.75")})
    code, lines = validated(capsys, "--date", "2026-01-31")
    ready = """\
waivers:
  - gate: "recall@1"
    up_to: 0.250
    expires: 2026-03-02
    issue: "<link to the issue>"
    reason: "<why this is accepted for now>"
    by: "<who answers for it>"
"""
    assert (code, "\n".join(lines[lines.index("waivers:") :]) + "\n") == (0, ready)
    write(**{"ship-waivers.yaml": ready})
    code, lines = validated(capsys, "--date", "2026-01-31")
    assert code == 2
    assert [line.partition(": expected")[0].partition(": say")[0] for line in lines if line.startswith("problem")] == [
        f"problem: ship-waivers.yaml:{line}: waivers[0].{key}" for line, key in ((5, "issue"), (6, "reason"), (7, "by"))
    ]
    filled = ready.replace("<link to the issue>", "https://example.org/1").replace("<", "").replace(">", "")
    write(**{"ship-waivers.yaml": filled})
    assert validated(capsys, "--date", "2026-03-02")[1][-1].endswith("in criteria, gold, run, waivers")
    assert "waivers:" in validated(capsys, "--date", "2026-03-03")[1], "expired, it covers nothing"


def test_a_gate_that_holds_needs_no_waiver(capsys: Capture) -> None:
    assert "waivers:" not in validated(capsys)[1]


@pytest.mark.parametrize(
    ("criteria", "words"),
    [
        pytest.param(CRITERIA, ["--run", "others.jsonl"], id="a run of other questions"),
        pytest.param(
            CRITERIA.replace("threshold", "regression_max"),
            ["--baseline", "others.jsonl"],
            id="a baseline of other questions",
        ),
        pytest.param(
            CRITERIA.replace("recall@1", "latency").replace("0.5", "50"), [], id="a gate on what the run does not state"
        ),
        pytest.param(CRITERIA, ["--baseline", "absent"], id="no such baseline"),
        pytest.param(
            CRITERIA.replace("recall@1", "recall@500"), ["--baseline", "shallow"], id="a baseline cut too early"
        ),
    ],
)
def test_what_check_would_not_judge_is_a_problem(capsys: Capture, criteria: str, words: list[str]) -> None:
    write(**{"ship-criteria.yaml": criteria, "others.jsonl": RUN.replace('": "q', '": "z')})
    assert main(["baseline", "accept", "--to", "shallow", "--depth", "100", "--reason", "a test"]) == 0
    assert main(["check", *words, "-o", "report.json"]) == 2
    capsys.readouterr()
    code, lines = validated(capsys, *words)
    problems = json.loads(Path("report.json").read_text())["problems"]
    assert [line for line in lines if line.startswith("problem: ") and problems[0]["message"] in line] != []
    assert code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "no ship criteria found", id="nothing named and none found"),
        pytest.param(
            ["--baseline", "run.jsonl"], "nothing to validate; name --criteria, --gold or --run", id="baseline"
        ),
        pytest.param(["--gold", "-", "--run", "-"], "only one input can be read from standard input (-)", id="stdin"),
    ],
)
def test_nothing_to_validate_is_an_error(project: Path, capsys: Capture, words: list[str], message: str) -> None:
    (project / "ship-criteria.yaml").unlink()
    assert main(["validate", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")


def test_text_of_an_input_stays_on_its_line(capsys: Capture) -> None:
    write(**{"run.json": r'{"q1\n::add-mask::x\u001b[31m": 5}'})
    code, lines = validated(capsys, "--run", "run.json")
    assert code == 2
    assert len(lines) == 2
    assert "\x1b" not in lines[0]
