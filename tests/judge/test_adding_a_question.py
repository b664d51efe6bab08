"""A question to the judge is one class and one row: these ask, keep, gate, label and calibrate its verdicts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.cli.test_judge import write_lines
from tests.forges.loopback_server import serving
from tests.judge.cases import some_judge
from tests.judge.hash_judge import KEY, HashJudge

from rankgate.cli import main
from rankgate.judge.identity import read_prompts
from rankgate.judge.label_files import add_labels, label_of, read_sample
from rankgate.judge.model import Answer, Inputs, Judge, digest
from rankgate.judge.replies import schema_of
from rankgate.judge.store import read_verdicts
from rankgate.judge.tasks import QUESTIONS, TASKS, Lookup, Question
from rankgate.metrics import registry
from rankgate.metrics.answers import CriterionMetric, JudgedMetric
from rankgate.metrics.registry import families
from rankgate.model import answers
from rankgate.model.answers import AnswerFlaw, VerdictKind
from rankgate.model.verdicts import AnswerVerdicts, Unjudged


@dataclass(frozen=True)
class Courtesy(Question):
    """Whether an answer is courteous. Inputs: answer."""

    courteous: bool

    name = "courtesy"
    prompt = 'You say whether an answer is courteous.\n\n{% include "data.j2" %}\n'

    def verdicts(self, inputs: Inputs) -> Courtesy:
        del inputs
        return self

    @classmethod
    def of_answer(cls, answer: Answer, lookup: Lookup) -> Any:
        if answer.no_answer or not answer.text:
            return None
        verdict = lookup.at(Inputs(cls.name, answer=answer.text))
        return {"courteous_rate": verdict if isinstance(verdict, Unjudged) else verdict.courteous}

    @classmethod
    def criteria(cls, judge: Judge) -> Mapping[str, str]:
        del judge
        return {"courteous_rate": "The answer is courteous."}


class CourteousRate(CriterionMetric, frozen=True, kw_only=True):
    """Whether the answer is courteous."""

    key: ClassVar[str] = "courteous_rate"
    formula: ClassVar[str] = "1 if the answer is courteous, else 0"
    asks: ClassVar[frozenset[str]] = frozenset({"courtesy"})
    sees: ClassVar[frozenset[AnswerFlaw]] = frozenset()
    plain: ClassVar[str] = "share of answers that are courteous"


CRITERIA = """\
judge: {{endpoint: {address}, model: hash-2026-01-01, structured: json_schema}}
inputs: {{gold: gold.jsonl, run: run.jsonl, baseline: baseline}}
evidence: estimate
gates:
  - {{name: courteous_rate, regression_max: 0.05, severity: error}}
"""
COUNT = 105


@pytest.fixture
def one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new question and its metric add to `judge/tasks.py`, `metrics/registry.py` and `model/answers.py`."""
    monkeypatch.setitem(TASKS, "courtesy", Courtesy)
    monkeypatch.setitem(QUESTIONS, "courtesy", Courtesy)
    monkeypatch.setattr(registry, "ROWS", (*registry.ROWS, f"{__name__}:CourteousRate"))
    monkeypatch.setattr(answers, "OF_CRITERIA", (*answers.OF_CRITERIA, "courteous_rate"))


class CourteousJudge(HashJudge):
    """Finds an answer courteous that says please."""

    def judge(self, task: str, content: dict[str, list[str]], *, lying: bool = False) -> dict[str, Any]:
        if task == "courtesy":
            return {"courteous": "Please" in content["answer"][0]}
        return super().judge(task, content, lying=lying)


def write_run(rude: int) -> None:
    """Answers of which every so-manieth is rude."""
    lines = [
        {
            "query_id": f"q{n}",
            "topk": [{"chunk_id": f"d{n}", "text": f"Sentence {n}."}],
            "answer": f"Sentence {n}." if n % rude == 0 else f"Please: sentence {n}.",
        }
        for n in range(COUNT)
    ]
    write_lines("run.jsonl", lines)


@pytest.mark.full
@pytest.mark.usefixtures("one_row")
def test_one_class_and_one_row_are_all_that_a_question_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked with its prompt and schema, kept, gated, packed with a baseline, labelled, calibrated and explained."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKGATE_JUDGE_KEY", KEY)
    questions = [{"id": f"q{n}", "input": f"What of {n}?", "expected_output": [f"d{n}"]} for n in range(COUNT)]
    write_lines("gold.jsonl", questions)
    server = CourteousJudge()
    with serving(server):
        Path("ship-criteria.yaml").write_text(CRITERIA.format(address=server.address), "utf-8")
        write_run(3)
        metrics = ["--metric", "courteous_rate", "--metric", "faithfulness", "--metric", "answered_rate"]
        assert main(["judge", *metrics]) == 0
        assert len(server.questions("courtesy")) == COUNT
        assert any("whether an answer is courteous" in str(request) for request in server.requests)
        tasks = {record.task for record in read_verdicts("run.verdicts.jsonl").values()}
        assert tasks == {"split", "entail", "courtesy"}
        assert main(["baseline", "accept"]) == 0
        write_run(2)
        assert main(["judge"]) == 0
        assert main(["check", "-o", "report.json", "-o", "comment.md", "-o", "report.html"]) == 0
        assert "courteous_rate" in Path("comment.md").read_text("utf-8")
        assert judge_of_gate()["reason"] == "file", "nobody has checked the judge"
        write_run(3)
        assert main(["judge", "sample", "--n", str(COUNT)]) == 0
        for item in read_sample("sample.jsonl"):
            courteous = "yes" if "Please" in item.answer else "no"
            words = ["asserts", *("supported" for _ in item.claims), courteous]
            add_labels("sample.labels.jsonl", [label_of(item, n, word, "ana") for n, word in enumerate(words)])
        capsys.readouterr()
        assert main(["judge", "calibrate", "sample.jsonl", "--write"]) == 0
        assert re.search(r"courteous_rate +105 \(35\) +100%", capsys.readouterr().out)
    write_run(2)
    assert main(["check", "-o", "report.json"]) == 1
    assert judge_of_gate()["counts"]
    assert "courteous_rate lost" in capsys.readouterr().out
    assert main(["explain", "q2"]) == 0
    assert "courteous_rate" in capsys.readouterr().out


def judge_of_gate() -> dict[str, Any]:
    judge: dict[str, Any] = json.loads(Path("report.json").read_text("utf-8"))["gates"][0]["judge"]
    return judge


def test_what_metrics_ask_is_what_a_judge_is_asked() -> None:
    judged = [family for family in families() if issubclass(family, JudgedMetric)]
    assert {name for family in judged for name in family.asks} == {*VerdictKind, *QUESTIONS}


def test_nobody_s_verdicts_are_void_because_there_is_a_question_more(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its prompt makes another judge only where a user has another one."""
    before = some_judge().id
    request.getfixturevalue("one_row")
    assert some_judge().id == before
    (tmp_path / "courtesy.j2").write_text('Is it polite?\n{% include "data.j2" %}\n', encoding="utf-8")
    assert some_judge(prompts=str(tmp_path)).id != before


# Of each task that is not in the id of every judge: the SHA-256 of prompt and schema. Another one needs another name.
LATER: dict[str, str] = {}


def test_a_later_question_is_asked_as_ever_under_its_name() -> None:
    first = {"split", "entail", "relevance", "address", "rubric"}
    later = {name: digest([task.prompt, schema_of(task)]) for name, task in TASKS.items() if name not in first}
    assert later == LATER


def test_every_question_has_a_name_of_its_own() -> None:
    """In the prompt, in the key of a verdict, and among what was said of an answer."""
    assert not {*QUESTIONS} & {*AnswerVerdicts.__struct_fields__}
    assert {f"{name}.j2" for name in TASKS} < {*read_prompts(None)}
