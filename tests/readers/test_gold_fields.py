"""What a sample says beyond its judgments: answers, the day, source, entities, negatives and a judge's labels."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rankgate.errors import Problem, RankgateError
from rankgate.model.values import Sample
from rankgate.readers.formats import read_gold

NOTHING: list[str] = []


def written(sample: Mapping[str, Any], form: str) -> str:
    line = json.dumps({"id": "q", "expected_output": ["a"], **sample}, ensure_ascii=False)
    return {"yaml": f"samples:\n  - {line}\n", "json": f'{{"samples": [{line}]}}', "jsonl": f"{line}\n"}[form]


def read(where: Path, sample: Mapping[str, Any], form: str) -> Sample:
    path = where / "gold"
    path.write_text(written(sample, form), encoding="utf-8")
    return read_gold(path.as_posix(), None).samples["q"]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        # Answers.
        pytest.param({"metadata": {"answer": "30 days"}}, {"answers": ("30 days",)}, id="an answer"),
        pytest.param(
            {"metadata": {"answer": ["30 days", "a month"]}}, {"answers": ("30 days", "a month")}, id="several"
        ),
        pytest.param({"metadata": {"answer": None}}, {"answers": ()}, id="an answer without a value"),
        pytest.param(
            {"expected_output": {"ids": ["a"], "answer": "30 days"}}, {"answers": ("30 days",)}, id="beside the ids"
        ),
        pytest.param(
            {"expected_output": {"ids": {"a": 1}, "answer": ["30 days", "a month"]}},
            {"answers": ("30 days", "a month")},
            id="several, beside graded ids",
        ),
        pytest.param(
            {"expected_output": {"ids": ["a"], "answer": None}}, {"answers": ()}, id="no value, beside the ids"
        ),
        pytest.param(
            {"expected_output": {"ids": ["a"], "answer": "old"}, "metadata": {"answer": "new"}},
            {"answers": ("new",)},
            id="metadata goes first",
        ),
        pytest.param(
            {"expected_output": {"answer": 1, "a": 2}},
            {"answers": (), "gains": {"answer": 1.0, "a": 2.0}},
            id="a document that is called answer",
        ),
        # The day.
        pytest.param({"metadata": {"as_of": "2025-06-01"}}, {"as_of": "2025-06-01"}, id="a day"),
        pytest.param({"metadata": {"as_of": "2025-06-01T23:30:00-03:00"}}, {"as_of": "2025-06-01"}, id="a time"),
        pytest.param({"metadata": {"as_of": None}}, {"as_of": None}, id="a day without a value"),
        # Source and entities.
        pytest.param({"metadata": {"source": "kb-BR"}}, {"source": ("kb-BR",)}, id="a source"),
        pytest.param({"metadata": {"source": 7}}, {"source": ("7",)}, id="a source that is a number"),
        pytest.param({"metadata": {"source": ["kb", 7, "kb"]}}, {"source": ("kb", "7")}, id="several sources"),
        pytest.param({"metadata": {"entities": ["Porto", "2025"]}}, {"entities": ("Porto", "2025")}, id="entities"),
        pytest.param(
            {"metadata": {"entities": ["b", "a", "b"]}}, {"entities": ("b", "a")}, id="an entity twice is one"
        ),
        pytest.param({"metadata": {"entities": []}}, {"entities": ()}, id="no entity is not the same as not saying"),
        pytest.param({"metadata": {"entities": None}}, {"entities": None}, id="entities without a value"),
        # Negatives.
        pytest.param({"negatives": ["x", "y"]}, {"negatives": ("x", "y")}, id="negatives"),
        pytest.param({"negatives": [7, "7", "x"]}, {"negatives": ("7", "x")}, id="a number and its digits are one"),
        pytest.param({"negatives": []}, {"negatives": ()}, id="no negative"),
        pytest.param(
            {"expected_output": {"a": 1, "x": 0}, "negatives": ["x"]},
            {"negatives": ("x",), "gains": {"a": 1.0, "x": 0.0}},
            id="a negative that is judged wrong",
        ),
        # A judge's labels.
        pytest.param({"judge_labels": {"x": 1, "y": 0}}, {"judge_gains": {"x": 1.0, "y": 0.0}}, id="labels"),
        pytest.param(
            {"judge_labels": {"a": 0, "x": 2}}, {"judge_gains": {"x": 2.0}}, id="what the gold judges stays its"
        ),
        pytest.param({"judge_labels": {"7": 0.5}}, {"judge_gains": {"7": 0.5}}, id="a gain between the whole numbers"),
        pytest.param({"judge_labels": {}}, {"judge_gains": {}}, id="no label"),
        pytest.param({"judge_labels": None}, {"judge_gains": {}}, id="labels without a value"),
        pytest.param(
            {"judge_labels": {"x": 1}, "negatives": ["x"]},
            {"judge_gains": {"x": 1.0}, "negatives": ("x",)},
            id="the judge may see a negative otherwise",
        ),
    ],
)
@pytest.mark.parametrize("form", ["yaml", "json", "jsonl"])
def test_field(tmp_path: Path, form: str, sample: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    line = {"yaml": 2, "json": None, "jsonl": 1}[form]
    default: dict[str, Any] = {"query_id": "q", "gains": {"a": 1.0}, "line": line}
    assert read(tmp_path, sample, form) == Sample(**default | dict(expected))


@pytest.mark.parametrize(
    ("sample", "key", "message"),
    [
        # Answers.
        *(
            pytest.param(
                {"metadata": {"answer": answer}},
                "metadata.answer",
                f"the answer is {answer!r}; write a text that is not empty, or several",
                id=f"answer {answer!r}",
            )
            for answer in ("", " \n", NOTHING, ["30 days", ""])
        ),
        *(
            pytest.param(
                {"expected_output": {"ids": ["a"], "answer": answer}},
                "expected_output.answer",
                f"the answer is {answer!r}; write a text that is not empty, or several",
                id=f"answer {answer!r} beside the ids",
            )
            for answer in ("", NOTHING, 30, {"text": "30 days"})
        ),
        ({"metadata": {"answer": 30}}, None, "metadata.answer: expected text or a list, found a whole number"),
        # The day.
        *(
            pytest.param(
                {"metadata": {"as_of": day}},
                "metadata.as_of",
                f"as_of is {day!r}; write a date, as 2025-06-01",
                id=f"as_of {day!r}",
            )
            for day in ("2025", "1 June 2025", "2025-02-30", "")
        ),
        ({"metadata": {"as_of": 2025}}, None, "metadata.as_of: expected text, found a whole number"),
        # Source and entities.
        ({"metadata": {"source": {"kb": 1}}}, None, "metadata.source: expected an id or a list, found a mapping"),
        ({"metadata": {"entities": "Porto"}}, None, "metadata.entities: expected a list, found text"),
        ({"metadata": {"entities": [7]}}, None, "metadata.entities[0]: expected text, found a whole number"),
        # Negatives.
        (
            {"expected_output": ["a", "b"], "negatives": ["x", "b", "a"]},
            "negatives",
            "'b' is a negative and relevant; keep one",
        ),
        ({"expected_output": {"7": 0.5}, "negatives": [7]}, "negatives", "'7' is a negative and relevant; keep one"),
        ({"negatives": "x"}, None, "negatives: expected a list, found text"),
        ({"negatives": [["x"]]}, None, "negatives[0]: expected an id, found a list"),
        # A judge's labels.
        *(
            pytest.param(
                {"judge_labels": labels},
                "judge_labels",
                f"expected a mapping of ids to gains, found {labels!r}",
                id=f"judge_labels {labels!r}",
            )
            for labels in (["x"], "x", 1)
        ),
        ({"judge_labels": {"x": "yes"}}, "judge_labels", "the gain of 'x' is 'yes', not a number"),
        ({"judge_labels": {"x": True}}, "judge_labels", "the gain of 'x' is True, not a number"),
        ({"judge_labels": {"x": 1001}}, "judge_labels", "the gain of 'x' is 1001; gains lie between -1000 and 1000"),
        ({"judge_labels": {"a": "yes"}}, "judge_labels", "the gain of 'a' is 'yes', not a number"),
    ],
)
@pytest.mark.parametrize("form", ["yaml", "json", "jsonl"])
def test_wrong_field(tmp_path: Path, form: str, sample: Mapping[str, Any], key: str | None, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        read(tmp_path, sample, form)
    line = {"yaml": 2, "json": None, "jsonl": 1}[form]
    place = None if form == "jsonl" else "samples[0]"
    where = ".".join(filter(None, (place, key))) or None
    full_message = f"sample 'q': {message}"
    assert caught.value.problems == (Problem(full_message, (tmp_path / "gold").as_posix(), line, where),)


def test_a_day_without_quotes_in_yaml_is_a_day(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("- {id: q, expected_output: [a], metadata: {as_of: 2025-06-01}}\n", encoding="utf-8")
    assert read_gold((tmp_path / "gold").as_posix(), None).samples["q"].as_of == "2025-06-01"


def test_an_unanswerable_sample_may_have_negatives_and_labels(tmp_path: Path) -> None:
    sample = {"id": "q", "negatives": ["x"], "judge_labels": {"y": 0}, "metadata": {"no_answer": True}}
    lines = [sample, {"id": "other", "expected_output": ["a"]}]
    (tmp_path / "gold").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = read_gold((tmp_path / "gold").as_posix(), None).samples["q"]
    assert (found.gains, found.no_answer, found.negatives, found.judge_gains) == ({}, True, ("x",), {"y": 0.0})
