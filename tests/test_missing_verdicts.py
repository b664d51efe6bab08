"""A check where verdicts are missing: one sentence with their number and the reason, and the command for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.judge.hash_judge import KEY, HashJudge, judging

from rankgate.cli import main
from rankgate.judge import client
from rankgate.judge.identity import read_prompts

CRITERIA = """\
judge: {{endpoint: {address}, model: {model}, structured: json_schema{more}}}
gates:
  - {{name: faithfulness, threshold: 0.9, regression_max: 0.05, severity: warning}}
  - {{name: answered_rate, regression_max: 0.05, severity: warning}}
"""
FILES = ["--criteria", "our.yaml", "--gold", "gold file.jsonl", "--run", "now.jsonl", "--baseline", "then.jsonl"]
STORE = Path("now.verdicts.jsonl")
OTHER = "those at hand are by another judge (JUDGE); run `rankgate judge`"


class Setting:
    """A run and a baseline of six questions, of whose answers all are judged, and the judge that did it."""

    def __init__(self, server: HashJudge) -> None:
        self.server = server
        golds = [{"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"]} for n in range(6)]
        write("gold file.jsonl", golds)
        self.write_run("now.jsonl", "It is so.")
        self.write_run("then.jsonl", "It was so.")
        self.write_criteria()
        assert main(["judge", *FILES]) == 0
        self.lines = STORE.read_text().splitlines(keepends=True)
        server.requests.clear()

    def write_run(self, name: str, ending: str, *changed: int) -> None:
        passages = [f"Fact {n} holds. It is so. It was so. It is new." for n in range(6)]
        answers = [f"Fact {n} holds. {'It is new.' if n in changed else ending}" for n in range(6)]
        listed = [[{"chunk_id": f"d{n}", "text": text}] for n, text in enumerate(passages)]
        write(name, [{"query_id": f"q{n}", "topk": listed[n], "answer": answers[n]} for n in range(6)])

    def write_criteria(self, model: str = "hash-2026-01-01", more: str = "") -> None:
        text = CRITERIA.format(address=self.server.address, model=model, more=more)
        Path("our.yaml").write_text(text, "utf-8")

    def keep(self, name: str | None) -> None:
        """Keep the verdicts on the answers of one run alone."""
        STORE.unlink()
        if name:
            assert main(["judge", *FILES[:4], "--run", name, "--store", str(STORE)]) == 0
            self.server.requests.clear()

    def fail(self, count: int) -> None:
        """Judge anew, where the model's first answers are cut off."""
        STORE.unlink()
        self.server.faults = ["length"] * count
        assert main(["judge", *FILES, "--workers", "1"]) == 0
        self.server.faults = []


def write(name: str, lines: Iterable[dict[str, Any]]) -> None:
    Path(name).write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKGATE_JUDGE_KEY", KEY)
    monkeypatch.setattr(client, "pause", lambda *_: 0.0)
    with judging() as server:
        yield Setting(server)


def half(setting: Setting) -> None:
    setting.write_run("now.jsonl", "It is so.", 0, 1, 2)


def new_gate(setting: Setting) -> None:
    """Of the answers much is known, and nothing that this gate is on."""
    criteria = Path("our.yaml").read_text("utf-8")
    Path("our.yaml").write_text(criteria.replace("name: answered_rate", "name: answer_relevancy"), "utf-8")


def stale(setting: Setting) -> None:
    setting.write_run("now.jsonl", "It is new.")


def other_prompts(setting: Setting) -> None:
    Path("prompts").mkdir()
    for name, prompt in read_prompts(None).items():
        (Path("prompts") / name).write_text(f"{prompt}\nBe strict.\n", "utf-8")
    setting.write_criteria(more=", prompts: prompts")


class Case(NamedTuple):
    """What happens to the setting, and what `check` says then; no cause where the judge failed."""

    change: Callable[[Setting], object]
    lacking: str
    cause: str = ""


RUN, BASELINE = "6 of 6 questions in the run", "6 of 6 questions in the baseline"
PLAIN = "; run `rankgate judge`"
CASES = {
    "none": Case(lambda setting: setting.keep(None), RUN, f"the judge was not asked{PLAIN}"),
    "empty store": Case(lambda _: STORE.write_bytes(b""), RUN, f"the judge was not asked{PLAIN}"),
    "half": Case(half, "3 of 6 questions in the run", f"the judge was not asked{PLAIN}"),
    "failed": Case(lambda setting: setting.fail(99), f"{RUN} (6 cut off by length)"),
    "failed at the baseline": Case(
        lambda setting: setting.fail(9), "3 of 6 questions in the baseline (3 cut off by length)"
    ),
    "stale texts": Case(stale, RUN, f"those at hand are on other answers or passages{PLAIN}"),
    "another judge": Case(lambda setting: setting.write_criteria("hash-2026-02-02"), RUN, OTHER),
    "other prompts": Case(other_prompts, RUN, OTHER),
    "only baseline": Case(
        lambda setting: setting.keep("then.jsonl"), RUN, f"those at hand are on other answers or passages{PLAIN}"
    ),
    "only run": Case(
        lambda setting: setting.keep("now.jsonl"), BASELINE, f"those at hand are on other answers or passages{PLAIN}"
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_one_sentence_says_what_is_missing_why_and_which_command_asks_for_it(
    name: str, setting: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    case.change(setting)
    setting.server.requests.clear()
    report = checked()
    [judge_id] = {json.loads(line)["judge"][:8] for line in setting.lines}
    sentence = f"the judge failed at {case.lacking}, which faithfulness needs; run `rankgate judge --again`"
    if case.cause:
        sentence = f"faithfulness lacks verdicts for {case.lacking}: {case.cause}"
    sentence = sentence.replace("JUDGE", judge_id)
    assert report["summary"] == f"May be merged, with a warning: {sentence}; 1 more gate warns with it."
    again = [] if case.cause else ["--again"]
    assert report["conclusion"]["next"] == ["rankgate", "judge", *again, *FILES]
    assert not re.search(r"\w ,|\w ;|The judge's own values", Path("comment.md").read_text("utf-8"))
    assert "Next: rankgate judge" in capsys.readouterr().out
    assert main(report["conclusion"]["next"][1:]) == 0
    assert setting.server.requests
    assert "rankgate judge" not in checked()["summary"]


def test_a_gate_that_came_later_says_that_nobody_was_asked_about_it(setting: Setting) -> None:
    new_gate(setting)
    report = checked()
    needed = f"answer_relevancy lacks verdicts for {RUN}: the judge was not asked"
    assert report["summary"] == f"May be merged, with a warning: {needed}{PLAIN}."
    assert report["conclusion"]["next"] == ["rankgate", "judge", *FILES]


def test_answers_that_a_run_leaves_out_are_no_judges_affair(setting: Setting) -> None:
    lines = [json.loads(line) for line in Path("now.jsonl").read_text("utf-8").splitlines()]
    write("now.jsonl", [{**line, "answer": None} if n else line for n, line in enumerate(lines)])
    report = checked()
    sentence = "5 of 6 questions in the run have no `answer`, which faithfulness needs"
    assert sentence in report["summary"]
    assert report["conclusion"]["next"][:2] == ["rankgate", "validate"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["--verdicts", "mine.jsonl"], ["--store", "mine.jsonl"], id="verdicts elsewhere"),
        pytest.param(["--untrusted-run"], ["--untrusted-run", "--store", "verdicts.jsonl"], id="untrusted"),
    ],
)
def test_the_command_says_all_that_the_check_was_told(words: list[str], expected: list[str], setting: Setting) -> None:
    Path("mine.jsonl").write_bytes(b"")
    report = checked(*words)
    assert report["conclusion"]["next"] == ["rankgate", "judge", *FILES, *expected]
    assert main(report["conclusion"]["next"][1:]) == 0
    assert "rankgate judge" not in checked("--verdicts", expected[-1])["summary"]


def checked(*words: str) -> Any:
    main(["check", *FILES, *words, "-o", "report.json", "-o", "comment.md"])
    return json.loads(Path("report.json").read_text("utf-8"))
