"""`rankgate judge` as it is typed, against a judge on loopback: plan, cost, what is kept, and what ends it early."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from tests.children import start
from tests.conftest import ROOT
from tests.judge.hash_judge import KEY, REFUSAL, Fault, HashJudge, judging, status
from tests.judge.test_replies import PASSAGES
from tests.repositories import git

from rankgate.cli import main
from rankgate.criteria.judge_block import Budget, CalibrationFile, JudgeBlock, Timeouts
from rankgate.criteria.parts import Part
from rankgate.judge import client
from rankgate.judge.store import Store, read_verdicts, written

KEY_VARIABLE = "RANKGATE_JUDGE_KEY"
CRITERIA = """\
judge: {{endpoint: {address}, model: {model}{more}}}
inputs: {{gold: gold.jsonl, run: run.jsonl}}
gates:
  - {{name: faithfulness, threshold: 0.9}}
  - {{name: answered_rate, regression_max: 0.05}}
  - {{name: recall@5, regression_max: 0.05}}
"""
BASELINE = ["--baseline", "base.jsonl"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HashJudge]:
    """A project of four questions with answers, a baseline, and a judge whose first form of answers is known."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setattr(client, "pause", lambda *_: 0.0)
    write_gold(4)
    write_run("run.jsonl", 4)
    write_run("base.jsonl", 4)
    with judging() as found:
        write_criteria(found)
        yield found


def write_criteria(server: HashJudge, more: str = ", structured: json_schema", model: str = "hash-2026-01-01") -> None:
    Path("ship-criteria.yaml").write_text(CRITERIA.format(address=server.address, model=model, more=more), "utf-8")


def write_gold(count: int) -> None:
    write_lines(
        "gold.jsonl", [{"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"]} for n in range(count)]
    )


def line(number: int, answer: str | None = None, **values: Any) -> dict[str, Any]:
    """A line of a run, whose answer is what its passage says, unless another is given."""
    fact = f"Fact {number} is that the thing holds."
    listed = [{"chunk_id": f"d{number}", "text": f"{fact} There is more to it."}]
    return {"query_id": f"q{number}", "topk": listed, "answer": answer or fact, **values}


def write_run(name: str, count: int, **changed: str) -> None:
    """A run in which some answers (`q1="…"`) are others."""
    write_lines(name, [line(n, changed.get(f"q{n}")) for n in range(count)])


def write_lines(name: str, lines: Sequence[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines), "utf-8")


def judge(*words: str, code: int = 0) -> None:
    assert main(["judge", *words]) == code


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    judge(*words, code=code)
    out, err = capsys.readouterr()
    return out, err


def as_json(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    return json.loads(printed(capsys, *words, "--format", "json", code=code)[0])


def id_in(text: str) -> str:
    """A text with the judge's id and the address left out."""
    return re.sub(r"\b[0-9a-f]{8}\b", "JUDGE", text)


# The plan


def test_plan_and_summary_in_full(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, *BASELINE)
    assert id_in(out) == (
        "judge JUDGE (hash-2026-01-01) for faithfulness, answered_rate\n"
        "the baseline: 4 answers: 0 judged already, 4 to judge: 8 calls, about 7,100 tokens\n"
        "4 answers: 4 judged already or with these, none to judge\n"
        "the baseline: 4 answers: 4 judged\n"
        "4 answers: 4 judged\n"
        "8 calls, 880 tokens; verdicts by hash-judge-1 (8)\n"
        "verdicts: run.verdicts.jsonl\n"
        "next: rankgate check --baseline base.jsonl\n"
    )
    assert err == ""
    write_run("run.jsonl", 4, q1="It is blue. It is red.", q2=REFUSAL)
    out, err = printed(capsys, *BASELINE)
    assert id_in(out) == (
        "judge JUDGE (hash-2026-01-01) for faithfulness, answered_rate\n"
        "the baseline: 4 answers: 4 judged already, none to judge\n"
        "4 answers: 2 judged already, 2 to judge: 4 calls, about 3,500 tokens\n"
        "the baseline: 4 answers: 4 judged\n"
        "4 answers: 4 judged\n"
        "3 calls, 330 tokens; verdicts by hash-judge-1 (11)\n"
        "verdicts: run.verdicts.jsonl\n"
        "next: rankgate check --baseline base.jsonl\n"
    )
    assert err == ""


def test_what_the_plan_says_is_what_is_asked(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    planned = as_json(capsys, "--dry-run", *BASELINE)["plan"]
    assert server.requests == []
    found = as_json(capsys, *BASELINE)["outcome"]
    assert found["calls"] == len(server.requests) == planned["run"]["calls"] + planned["baseline"]["calls"] == 8


@pytest.mark.parametrize("more", ["", ", structured: json_schema"])
def test_a_dry_run_asks_nothing_and_leaves_nothing(
    more: str, server: HashJudge, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    write_criteria(server, more)
    before = sorted(Path().iterdir())
    out, err = printed(capsys, "--dry-run")
    assert server.requests == []
    assert sorted(Path().iterdir()) == before
    assert "4 answers: 0 judged already, 4 to judge: 8 calls, about 7,100 tokens\n" in out
    assert out.endswith("next: rankgate judge\n")
    never = "The endpoint was never tried: this is for structured output by json_schema."
    assert (never in out) == (more == "")
    assert err == ""


def test_after_a_plan_the_command_has_all_that_it_was_given(
    server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--gold", "jsonl:gold.jsonl", *BASELINE, "--metric", "faithfulness", "--store", "my verdicts.jsonl"]
    words += ["--workers", "2"]
    out, _ = printed(capsys, "--dry-run", "--again", *words)
    assert server.requests == []
    files = "--gold jsonl:gold.jsonl --baseline base.jsonl"
    assert f"rankgate judge --again {files} --metric faithfulness --store 'my verdicts.jsonl'" in out
    assert out.endswith(" --workers 2\n")


def test_what_the_endpoint_takes_is_tried_once(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_criteria(server, "")
    server.forms = {"json_object", None}
    judge()
    assert len(server.requests) == 2 + 8
    out, _ = printed(capsys, "--dry-run")
    assert "never tried" not in out
    assert "4 answers: 4 judged already, none to judge\n" in out


def test_a_model_without_a_date_warns(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_criteria(server, model="hash-latest")
    _, err = printed(capsys, "--dry-run")
    assert err == (
        "warning: ship-criteria.yaml: judge.model: 'hash-latest' has no date, so what answers under this name may "
        "change; name a dated model\n"
    )


def test_metrics_may_be_named(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    value = as_json(capsys, "--dry-run", "--metric", "answered_rate", "--metric", "context_precision")
    assert value["metrics"] == ["answered_rate", "context_precision"]
    assert value["plan"]["run"]["calls"] == 8  # split and relevance


def test_lines_without_gold_or_answer_are_counted(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    bare = line(1)
    del bare["answer"]
    write_lines("run.jsonl", [line(0), bare, line(7), line(8)])
    out, _ = printed(capsys)
    assert "\n1 answer: 0 judged already, 1 to judge: 2 calls, about 1,800 tokens\n" in out
    assert "\n  2 lines of questions that the gold set lacks, ignored\n" in out
    assert "\n  1 line without any key of an answer, not judged\n" in out
    assert len(server.requests) == 2


# What is kept


def test_the_same_command_costs_nothing_the_second_time(server: HashJudge) -> None:
    judge(*BASELINE)
    export = Path("run.verdicts.jsonl").read_bytes()
    server.requests.clear()
    judge(*BASELINE)
    assert server.requests == []
    assert Path("run.verdicts.jsonl").read_bytes() == export


@pytest.mark.parametrize("more", ["", ", structured: json_schema"])
def test_another_store_takes_what_lies_beside_the_run(more: str, server: HashJudge) -> None:
    write_criteria(server, more)
    server.forms = {"json_object", None} if not more else server.forms
    judge(*BASELINE)
    server.requests.clear()
    judge(*BASELINE, "--store", "new/v.jsonl", "-o", "sorted.jsonl")
    assert server.requests == []
    assert read_verdicts("new/v.jsonl") == read_verdicts("run.verdicts.jsonl")
    lines = Path("sorted.jsonl").read_bytes().splitlines()
    assert lines == sorted(lines, key=lambda each: (json.loads(each)["task"], json.loads(each)["key"]))
    assert sorted(lines) == sorted(Path("run.verdicts.jsonl").read_bytes().splitlines())


def test_the_verdicts_beside_a_baseline_count_too(server: HashJudge) -> None:
    judge("--run", "base.jsonl")
    server.requests.clear()
    judge(*BASELINE)
    assert server.requests == []
    assert read_verdicts("run.verdicts.jsonl") == read_verdicts("base.verdicts.jsonl"), "so that check finds them"


def test_both_runs_find_their_verdicts_in_the_one_file(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_run("run.jsonl", 4, q1="It is blue.")
    judge(*BASELINE)
    assert len(read_verdicts("run.verdicts.jsonl")) == 10
    server.requests.clear()
    capsys.readouterr()
    assert main(["check", *BASELINE, "--format", "json"]) == 0, "nobody has checked this judge"
    gates = {gate["name"]: gate for gate in json.loads(capsys.readouterr().out)["gates"]}
    assert (gates["faithfulness"]["baseline"], gates["faithfulness"]["value"]) == (1.0, 0.75)
    assert server.requests == []


def accept(*words: str) -> None:
    """Accept `base.jsonl`, by criteria that ask no judge."""
    Path("plain.yaml").write_text("gates: [{name: recall@5, threshold: 0.5}]\n")
    known = ["--run", "base.jsonl", "--to", "accepted", "--reason", "first", "--gold", "gold.jsonl"]
    assert main(["baseline", "accept", *known, "--criteria", "plain.yaml", *words]) == 0


def test_an_accepted_baseline_is_judged_as_a_file_is(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    accept()
    value = as_json(capsys, "--baseline", "accepted")
    assert value["plan"]["run"]["cached"] == value["plan"]["baseline"]["answers"] == 4
    assert value["outcome"]["baseline"] == {"judged": 4, "unjudged": {}}
    assert len(server.requests) == 8


@pytest.mark.parametrize("words", [[], ["--untrusted-run", "--store", "new.jsonl"]])
@pytest.mark.parametrize("more", ["", ", structured: json_schema"])
def test_what_was_accepted_with_the_baseline_costs_nothing(words: list[str], more: str, server: HashJudge) -> None:
    """It stays where it is: a check reads the store that it trusts, and not a pull request's copy of it."""
    write_criteria(server, more)
    server.forms = {"json_object", None} if not more else server.forms
    judge("--run", "base.jsonl")
    accept()
    Path("base.verdicts.jsonl").unlink()
    server.requests.clear()
    judge("--baseline", "accepted", *words)
    assert server.requests == []
    assert read_verdicts(words[-1] if words else "run.verdicts.jsonl") == {}
    assert main(["check", "--baseline", "accepted"]) == 0


def test_another_judge_judges_both_runs(server: HashJudge) -> None:
    judge(*BASELINE)
    write_criteria(server, model="hash-2026-02-02")
    server.requests.clear()
    judge(*BASELINE)
    assert len(server.requests) == 8
    assert len({slot.judge for slot in read_verdicts("run.verdicts.jsonl")}) == 2
    write_criteria(server)
    server.requests.clear()
    judge(*BASELINE)
    assert server.requests == [], "the first judge's verdicts are in the store"


def test_files_may_be_named(server: HashJudge) -> None:
    judge("--store", "kept/s.jsonl", "-o", "out/v.jsonl")
    assert len(read_verdicts("out/v.jsonl")) == len(read_verdicts("kept/s.jsonl")) == 8
    assert not Path("run.verdicts.jsonl").exists()


def test_a_run_of_an_untrusted_source_brings_no_verdicts(server: HashJudge) -> None:
    judge()
    forged = Path("run.verdicts.jsonl").read_text("utf-8").replace('"absent"', '"supported"')
    write_run("run.jsonl", 4, q1="Fact 9.")
    judge()
    Path("run.verdicts.jsonl").write_text(forged, "utf-8")
    server.requests.clear()
    judge("--untrusted-run", "--store", "elsewhere.jsonl")
    assert len(server.requests) == 8, "the file beside the run does not count"
    assert len(read_verdicts("elsewhere.jsonl")) == 8


def test_a_damaged_file_of_verdicts_is_named(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.verdicts.jsonl").write_text("\n{}\n")
    _, err = printed(capsys, code=2)
    assert err.startswith("error: run.verdicts.jsonl:1: ")
    assert server.requests == []


@pytest.mark.parametrize(
    ("was", "edited"),
    [
        pytest.param('"passages":[1]', '"passages":[9]', id="a passage that is not there"),
        pytest.param('"n":1', '"n":2', id="another claim"),
        pytest.param('"verdicts":[{', '"verdicts":[{"n":1,"verdict":"absent"},{', id="a claim too many"),
        pytest.param('"asserts":true', '"asserts":false', id="claims of an answer that states nothing"),
    ],
)
def test_a_verdict_that_cannot_be_on_its_answer_is_asked_for_again(was: str, edited: str, server: HashJudge) -> None:
    judge()
    store = Path("run.verdicts.jsonl")
    verdicts = by_key()
    store.write_text(store.read_text("utf-8").replace(was, edited), "utf-8")
    server.requests.clear()
    judge()
    assert len(server.requests) == 4
    assert by_key() == verdicts
    judge("--again")
    assert len(server.requests) == 4


def by_key() -> dict[str, Any]:
    return {slot.key: record.verdicts for slot, record in read_verdicts("run.verdicts.jsonl").items()}


# What the model fails at


def test_what_the_model_fails_at_is_counted_and_no_error(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_run("run.jsonl", 1)
    server.faults = ["length"] * 3
    out, err = printed(capsys)
    assert id_in(out).splitlines()[2:] == [
        "1 answer: 0 judged, 1 not (1 cut off by length)",
        "3 calls, 330 tokens",
        "verdicts: run.verdicts.jsonl",
        "next: rankgate check",
    ]
    assert err == ""
    server.requests.clear()
    out, _ = printed(capsys, "--dry-run")
    assert "1 answer: 0 judged already, 1 that the judge failed at (`--again` asks once more), none to judge\n" in out
    assert as_json(capsys)["outcome"]["run"] == {"judged": 0, "unjudged": {"length": 1}}
    assert server.requests == []
    value = as_json(capsys, "--again")
    assert value["plan"]["run"] | {"tokens": 0} == {
        "answers": 1,
        "cached": 0,
        "calls": 2,
        "tokens": 0,
        "ignored": 0,
        "unanswered": 0,
        "textless": 0,
    }
    assert value["outcome"]["run"] == {"judged": 1, "unjudged": {}}
    assert len(server.requests) == 2


def test_a_criterion_at_which_the_model_fails_is_counted(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_run("run.jsonl", 1)
    write_criteria(server, ", structured: json_schema, rubrics: {days: It says how many days.}")
    server.always = "length"
    out, _ = printed(capsys, "--metric", "rubric(days)")
    assert "1 answer: 0 judged, 1 not (1 cut off by length)\n" in out


def test_what_both_runs_share_is_asked_again_once(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_gold(1)
    for name in ("run.jsonl", "base.jsonl"):
        write_run(name, 1)
    server.always = "length"
    judge(*BASELINE)
    assert len(server.requests) == 3
    server.requests.clear()
    value = as_json(capsys, *BASELINE, "--again")
    assert len(server.requests) == 3
    assert value["outcome"]["run"] == value["outcome"]["baseline"] == {"judged": 0, "unjudged": {"length": 1}}


# Another model behind the same name


def moved_server(server: HashJudge) -> None:
    """Both runs are judged; then half of the answers change, and what answers is another model."""
    judge(*BASELINE)
    write_run("run.jsonl", 4, q1="It is blue.", q2="It is green.")
    server.requests.clear()
    server.served = "hash-judge-2"


def served_in(path: str) -> Counter[str]:
    return Counter(record.model for record in read_verdicts(path).values())


def test_where_another_model_answers_the_baseline_is_judged_again(
    server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the questions whose answers changed alone, and no more the next time."""
    moved_server(server)
    out, _ = printed(capsys, *BASELINE)
    assert len(server.requests) == 8, "two for each new answer, and as many for the baseline's"
    again = "the baseline: 4 verdicts asked for again, as they were by another model than now answers by this name\n"
    assert again in out
    assert served_in("run.verdicts.jsonl") == {"hash-judge-1": 4, "hash-judge-2": 8}
    main(["check", "--run", "run.jsonl", "--gold", "gold.jsonl", *BASELINE, "-o", "report.json"])
    assert "not comparable" not in capsys.readouterr().out
    judge(*BASELINE)
    assert len(server.requests) == 8


def test_one_model_of_several_machines_is_one(server: HashJudge) -> None:
    """Their fingerprints differ, and both runs have met both."""
    write_gold(8)
    for name in ("run.jsonl", "base.jsonl"):
        write_run(name, 8)
    write_run("run.jsonl", 8, **{f"q{n}": f"It is blue, {n}." for n in range(8)})
    machines = cycle(["a", "b"])
    server.machine = lambda: next(machines)
    judge(*BASELINE, "--workers", "1")
    assert len(server.requests) == 32
    assert {record.fingerprint for record in read_verdicts("run.verdicts.jsonl").values()} == {"fp_a", "fp_b"}


def test_where_nobody_can_be_asked_the_runs_are_not_comparable(
    server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name, and with what to do."""
    moved_server(server)
    known = read_verdicts("run.verdicts.jsonl")
    judge()  # without the baseline, which nobody asks about again
    known |= read_verdicts("run.verdicts.jsonl")
    Path("run.verdicts.jsonl").write_bytes(written(known.values()))
    capsys.readouterr()
    main(["check", "--run", "run.jsonl", "--gold", "gold.jsonl", *BASELINE, "-o", "comment.md"])
    why = "answered_rate is not comparable with the baseline: for 2 of 4 questions the judge was 'hash-judge-2"
    comment = Path("comment.md").read_text("utf-8")
    assert why in comment
    assert "`rankgate judge` judges the baseline's answers again" in comment


# What is in the way

STOPS: list[Any] = [
    pytest.param(status(401), KEY_VARIABLE, "the endpoint answered 401: it does not take it for", id="401"),
    pytest.param(status(403), KEY_VARIABLE, "the endpoint answered 403: it does not take it for", id="403"),
    pytest.param(status(402), "judge.endpoint", "answered 402: it wants to be paid", id="402"),
    pytest.param(status(404), "judge.endpoint", "answered 404: it has no chat completions or no model", id="404"),
    pytest.param(status(308), "judge.endpoint", "answered 308: it leads elsewhere", id="a redirect"),
    pytest.param(status(400), "judge.parameters", "the endpoint answered 400; correct these", id="400"),
    pytest.param(status(429), "judge.endpoint", "answered 429 again and again; wait, or ask less", id="429"),
    pytest.param(status(503), "judge.endpoint", "answered 503 again and again", id="503"),
    pytest.param("reset", "judge.endpoint", "cannot be reached", id="no answer"),
    pytest.param(b"<html>", "judge.endpoint", "is no OpenAI-compatible API", id="a page"),
]


@pytest.mark.parametrize("more", ["", ", structured: json_schema"])
@pytest.mark.parametrize(("fault", "key", "text"), STOPS)
def test_what_is_in_the_way_is_named_with_what_to_do(
    fault: Fault, key: str, text: str, more: str, server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    write_criteria(server, more)
    server.always = fault
    out, err = printed(capsys, code=2)
    assert err.startswith(f"error: ship-criteria.yaml: {key}: {text}")
    assert err.endswith("; the same command goes on\n")
    assert err.count("\n") == 1
    assert "4 answers: 0 judged, 4 not (4 not asked yet)\n" in out
    assert Path("run.verdicts.jsonl").read_bytes() == b""
    server.always = None
    judge()
    assert len(read_verdicts("run.verdicts.jsonl")) == 8


def test_a_model_that_answers_in_no_form_is_named(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_criteria(server, "")
    server.always = status(422)
    _, err = printed(capsys, code=2)
    assert err.startswith("error: ship-criteria.yaml: judge.parameters: the endpoint answered 422; correct these")


def test_a_missing_key_is_named(
    server: HashJudge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    server.always = status(401)
    _, err = printed(capsys, "--workers", "1", code=2)
    assert err.startswith(
        f"error: ship-criteria.yaml: {KEY_VARIABLE}: is not set, and the endpoint answered 401; set it to the key."
    )
    assert server.keys == [None]


def test_the_key_is_sent_and_shown_nowhere(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    server.served = f"echo {KEY}"
    out, err = printed(capsys)
    server.always = status(401, KEY)
    write_run("run.jsonl", 4, q1="Another.")
    more = printed(capsys, code=2)
    assert set(server.keys) == {f"Bearer {KEY}"}
    files = b"".join(path.read_bytes() for path in Path().rglob("*") if path.is_file())
    assert KEY not in "".join((out, err, *more))
    assert KEY.encode() not in files


def test_a_single_failure_is_an_error_and_the_rest_is_judged(
    server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults = [status(400)]
    out, err = printed(capsys, "--workers", "1", code=2)
    assert err == (
        "error: ship-criteria.yaml: judge.endpoint: 1 call failed (1 refused by the endpoint with 400); the same "
        "command asks again\n"
    )
    assert "4 answers: 3 judged, 1 not (1 not asked yet)\n" in out
    assert as_json(capsys)["outcome"]["run"]["judged"] == 4


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(status(400), "judge.parameters: the endpoint answered 400; correct these", id="400"),
        pytest.param(status(429), "judge.endpoint: answered 429 again and again; wait, or ask less", id="429"),
        pytest.param("reset", "judge.endpoint: cannot be reached; correct it", id="nothing answers"),
    ],
)
def test_of_two_answers_the_endpoint_that_fails_at_both_is_named_with_what_to_correct(
    fault: Any, said: str, server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run("run.jsonl", 2)
    server.always = fault
    _, err = printed(capsys, code=2)
    assert err.startswith(f"error: ship-criteria.yaml: {said}")


@pytest.mark.parametrize(
    ("budget", "words", "key", "calls"),
    [
        pytest.param("calls: 3", [], "judge.budget", 3, id="calls"),
        # A call sets aside 754 or 793 of them, and takes 110.
        pytest.param("tokens: 830", [], "judge.budget", 1, id="tokens"),
        pytest.param("calls: 0", [], "judge.budget", 0, id="nothing"),
        pytest.param("baseline_calls: 3", BASELINE, "judge.budget.baseline_calls", 3, id="the baseline's"),
    ],
)
def test_a_budget_ends_it_and_a_larger_one_goes_on(
    budget: str, words: list[str], key: str, calls: int, server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    write_criteria(server, f", structured: json_schema, budget: {{{budget}}}")
    _, err = printed(capsys, *words, code=2)
    warning = "warning: ship-criteria.yaml: judge.budget: "
    assert (warning in err) is (not words)
    assert f"error: ship-criteria.yaml: {key}: is reached, after {calls}" in err
    assert len(server.requests) == calls
    assert len(read_verdicts("run.verdicts.jsonl")) == calls
    write_criteria(server)
    judge(*words)
    assert len(server.requests) == 8


@pytest.mark.parametrize(("form", "will_do"), [(", structured: json_schema", True), ("", False)])
def test_a_plan_names_a_budget_that_leaves_no_call_to_find_the_form_of_answers(
    form: str, server: HashJudge, capsys: pytest.CaptureFixture[str], *, will_do: bool
) -> None:
    write_criteria(server, f"{form}, budget: {{calls: 8}}")
    _, err = printed(capsys, "--dry-run")
    assert ("judge.budget: 8 calls will not do: judging these answers takes about 9" in err) is not will_do
    judge(code=0 if will_do else 2)


def test_the_budget_of_a_run_pays_for_what_differs_from_the_baseline(server: HashJudge) -> None:
    write_run("run.jsonl", 4, q1="It is blue.")
    write_criteria(server, ", structured: json_schema, budget: {calls: 2}")
    judge(*BASELINE)
    assert len(server.requests) == 10


def test_a_model_under_another_name_warns(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    judge()
    server.served = "hash-judge-2"
    write_run("run.jsonl", 4, q1="It is blue.")
    out, err = printed(capsys)
    assert "verdicts by hash-judge-1 (6), hash-judge-2 (2)\n" in out
    assert err == (
        "warning: ship-criteria.yaml: judge.model: these verdicts are by hash-judge-1 and hash-judge-2: what answers "
        "as 'hash-2026-01-01' changed, and values with it; name a dated model, by which all is judged again\n"
    )


# Inputs that cannot be judged


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        pytest.param(
            [{"query_id": "q1", "retrieved": ["d1"]}],
            "run.jsonl: answer: the run states no answer; `rankgate record` takes them from a function that returns "
            '{"topk": […], "answer": "…"}',
            id="no answers",
        ),
        pytest.param([line(7)], "run.jsonl: query_id: no line is of a question of the gold set", id="no gold"),
        pytest.param(
            [line(0), line(1, topk=[{"chunk_id": "d1"}])],
            "run.jsonl: text: of 1 answers a passage has no text, such as 'd1' of 'q1'; state `text` in the items of a "
            "line, or `context_texts: {id: text}` beside its `context`",
            id="no texts",
        ),
    ],
)
def test_a_run_that_cannot_be_judged_says_what_it_lacks(
    lines: list[dict[str, Any]], error: str, server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines("run.jsonl", lines)
    assert printed(capsys, code=2) == ("", f"error: {error}\n")
    assert server.requests == []


def test_texts_are_not_needed_where_no_metric_reads_them(server: HashJudge) -> None:
    write_lines("run.jsonl", [line(1, topk=[{"chunk_id": "d1"}])])
    judge("--metric", "answered_rate")


def test_texts_may_stand_beside_the_context(server: HashJudge) -> None:
    fact = {"d1": line(1)["topk"][0]["text"]}
    write_lines("run.jsonl", [line(1, topk=[{"chunk_id": "d1"}], context=["d1"], context_texts=fact)])
    judge()
    assert server.questions("entail")[0]["passage"] == list(fact.values())


@pytest.mark.parametrize(
    ("topk", "answer", "warning"),
    [
        pytest.param(
            [{"chunk_id": "d1"}],
            {"answer": "It is."},
            "base.jsonl: text: 1 answer of the baseline cannot be judged: a passage has no text, such as 'd1' of 'q1'",
            id="texts",
        ),
        pytest.param(
            [], {}, "base.jsonl: answer: the baseline states no answer: nothing to compare with", id="answers"
        ),
    ],
)
def test_a_baseline_that_cannot_be_judged_warns(
    topk: list[Any], answer: dict[str, str], warning: str, server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines("base.jsonl", [{"query_id": "q1", "topk": topk, **answer}])
    out, err = printed(capsys, *BASELINE)
    assert err == f"warning: {warning}\n"
    assert "the baseline: 0 answers: 0 judged already, none to judge\n" in out
    assert len(server.requests) == 8


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(
            ["--metric", "recall@5"], "--metric: no metric here is by a judge's verdicts", id="no judged metric"
        ),
        pytest.param(["--metric", "nope"], "--metric: unknown metric 'nope'", id="no metric"),
        pytest.param(["--workers", "0"], "--workers '0' is not a number from 1 to 256", id="no workers"),
        pytest.param(["--workers", "9" * 5000], f"--workers '{'9' * 5000}' is not a number", id="far too many workers"),
        pytest.param(["--workers", "²"], "--workers '²' is not a number from 1 to 256", id="no digit"),
        pytest.param(["--run", "-"], "--store: the run is read from standard input", id="standard input"),
        pytest.param(["--untrusted-run"], "--store: with --untrusted-run, name a file that the author", id="untrusted"),
        pytest.param(
            ["--store", "gold.jsonl"], "gold.jsonl: --store would write over what", id="the store is an input"
        ),
        pytest.param(["-o", "x", "--store", "x"], "x: ", id="both outputs"),
    ],
)
def test_a_slip_is_named_before_anything_is_asked(
    words: list[str], error: str, server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = printed(capsys, *words, code=2)
    assert out == ""
    assert err.startswith(f"error: {error}")
    assert server.requests == []


def test_criteria_without_a_judge_say_what_to_write(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ship-criteria.yaml").write_text("gates: [{name: recall@5, threshold: 0.5}]\n")
    _, err = printed(capsys, code=2)
    assert err.startswith("error: ship-criteria.yaml: judge: says who judges, and is missing; write judge: {endpoint: ")


# Size, languages, interruptions


@pytest.mark.parametrize("count", [1, pytest.param(501, marks=pytest.mark.full)])
def test_any_number_of_answers(count: int, server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    write_gold(count)
    write_run("run.jsonl", count)
    write_criteria(server, ", structured: json_schema, budget: {calls: null, tokens: null}")
    out, err = printed(capsys)
    many = f"{count:,} answer{'s' * (count > 1)}"
    assert re.search(rf"^{many}: 0 judged already, {count:,} to judge: {2 * count:,} calls, about ", out, re.MULTILINE)
    assert f"\n{many}: {count:,} judged\n" in out
    assert err == ""
    assert len(read_verdicts("run.verdicts.jsonl")) == len(server.requests) == 2 * count


def test_claims_stay_in_the_languages_of_the_answers(server: HashJudge) -> None:
    write_lines("gold.jsonl", [{"id": each, "input": "?", "expected_output": ["d"]} for each in PASSAGES])
    listed = {each: [{"chunk_id": "d", "text": text}] for each, text in PASSAGES.items()}
    write_lines("run.jsonl", [{"query_id": each, "topk": listed[each], "answer": PASSAGES[each]} for each in PASSAGES])
    judge()
    stated = sorted("".join("".join(asked["statement"]).split()) for asked in server.questions("entail"))
    assert stated == sorted("".join(unicodedata.normalize("NFC", text).split()) for text in PASSAGES.values())
    kept = Path("run.verdicts.jsonl").read_text("utf-8")
    assert PASSAGES["th"] in kept, "not escaped"


def process(*words: str, **how: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return start([sys.executable, "-m", "rankgate", "judge", *words], env=environment, **how)


def test_a_second_judge_names_the_file_and_readers_wait_for_none(
    server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    judge()
    server.requests.clear()
    with Store("run.verdicts.jsonl"):
        _, err = printed(capsys, code=2)
        assert err.startswith("error: run.verdicts.jsonl: another `rankgate judge` writes to it; wait until that has")
        judge("--dry-run")
        assert main(["check"]) == 0
    judge("--store", "mine.jsonl")
    assert server.requests == []


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_in_order(number: signal.Signals, server: HashJudge) -> None:
    write_gold(100)
    write_run("run.jsonl", 100)
    child: list[subprocess.Popen[bytes]] = []
    server.began = lambda: child[0].send_signal(number) if len(server.requests) == 3 else None
    with server.lock:
        child.append(process("--workers", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    out, err = child[0].communicate(timeout=300)
    assert child[0].returncode == 130
    assert err == b"interrupted; the same command goes on\n"
    assert b" not asked yet)\n" in out
    assert 3 <= len(read_verdicts("run.verdicts.jsonl")) == len(server.requests) < 200
    server.began = lambda: None
    judge()
    assert len(server.requests) == 200


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_does_not_wait_for_calls_that_hang(number: signal.Signals, server: HashJudge) -> None:
    """What was answered before is kept; an endpoint that says nothing would be waited for ten minutes."""
    write_criteria(server, ", structured: json_schema, timeouts: {read: 600, total: 600}")
    write_gold(100)
    write_run("run.jsonl", 100)
    hung, released, child = threading.Event(), threading.Event(), list[subprocess.Popen[bytes]]()

    def hang() -> None:
        if len(server.requests) > 20:
            if not hung.is_set():
                hung.set()
                child[0].send_signal(number)
            released.wait()

    server.began = hang
    with server.lock:
        child.append(process(stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    _, err = child[0].communicate(timeout=300)  # before the hung calls end
    released.set()
    assert child[0].returncode == 130
    assert err == b"interrupted; the same command goes on\n"
    assert len(read_verdicts("run.verdicts.jsonl")) == 20


def test_a_terminal_sees_the_cost_so_far(server: HashJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the bar shows, at each request, is what the requests before it cost."""
    shown: list[tuple[float, str]] = []

    @contextmanager
    def bar(share: Callable[[], float], what: Callable[[], str]) -> Iterator[None]:
        server.began = lambda: shown.append((share(), what()))
        yield

    monkeypatch.setattr("rankgate.cli.judge.bar", bar)
    judge("--workers", "1")
    assert shown[0] == (0.0, "judging: 0 calls, 0 tokens")
    assert (0.5, "judging: 4 calls, 440 tokens") in shown


# The page


def test_the_page_names_every_setting_with_its_default() -> None:
    page = (ROOT / "docs" / "judge-keys.md").read_text("utf-8").partition("\n## What happens when\n")[0]
    rows = dict(re.findall(r"^- `([a-z_.]+)`: .+?(?:Default: `(.+)`)?$", page, re.MULTILINE))
    parts: dict[str, type[Part]] = {"": JudgeBlock, "budget.": Budget, "calibration.": CalibrationFile}
    parts["timeouts."] = Timeouts
    fields = {f"{part}{name}": field for part, model in parts.items() for name, field in model.model_fields.items()}
    del fields["budget"], fields["calibration"], fields["timeouts"]
    assert rows.keys() == fields.keys()
    for name, field in fields.items():
        default = None if field.is_required() else field.default
        written = "" if default is None else "{}" if default == {} else str(default)
        assert rows[name] == written, name


@pytest.mark.parametrize(
    ("path", "link"),
    [
        pytest.param("run.verdicts.jsonl", False, id="beside the run"),
        pytest.param("base.verdicts.jsonl", False, id="beside the baseline"),
        pytest.param("elsewhere/v.jsonl", True, id="behind a link"),
        pytest.param("run.verdicts.jsonl", True, id="the link"),
    ],
)
def test_verdicts_that_a_commit_brings_are_refused(
    path: str,
    link: bool,  # noqa: FBT001 -- a table's column
    server: HashJudge,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge(*BASELINE)
    if link:
        Path("elsewhere").mkdir()
        Path("run.verdicts.jsonl").rename("elsewhere/v.jsonl")
        Path("run.verdicts.jsonl").symlink_to("elsewhere/v.jsonl")
    elif not Path(path).exists():
        Path("run.verdicts.jsonl").rename(path)
    git("init", "--quiet", ".")
    judge(*BASELINE)  # not in the commit yet
    git("add", "--force", path)
    server.requests.clear()
    judge(*BASELINE, code=2)
    assert "is a file that git tracks; verdicts are taken from no commit" in capsys.readouterr().err
    assert server.requests == []
