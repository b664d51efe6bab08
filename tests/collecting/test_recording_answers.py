"""A retriever that answers: what it may return beside the list, and what is then written and kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from tests.rows import each_row

import rankgate
from rankgate.collecting.lines import Key, run_line
from rankgate.collecting.recorder import RecordingError, record
from rankgate.model.values import Generated, Gold, RunField, Sample
from rankgate.readers.formats import read_run
from rankgate.readers.results import ResultError, to_items

GOLD = Gold(
    samples={f"q{n}": Sample(query_id=f"q{n}", gains={"a": 1.0}, question=f"question {n}") for n in (1, 2, 3)},
    name="gold.jsonl",
    format="jsonl",
    fingerprint="f",
)
ANSWERED: dict[str, Any] = {
    "abstained": False,
    "context_texts": {"parent": "P"},
    "source": "kb",
    "context": ["b", "parent"],
    "answer": "Thirty days — trinta dias.",
    "topk": ["a", "b"],
    "citations": ["a"],
}
WRITTEN = {
    "query_id": "q",
    "system": "hybrid",
    "source": "kb",
    "topk": [{"rank": 1, "chunk_id": "a"}, {"rank": 2, "chunk_id": "b"}],
    "answer": "Thirty days — trinta dias.",
    "citations": ["a"],
    "context": ["b", "parent"],
    "context_texts": {"parent": "P"},
    "abstained": False,
    "latency_ms": {"retrieve": 12.5},
}


def line_of(result: Any) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(run_line(Key("q"), to_items(result), 12.5, {"system": "hybrid"}).data)
    return line


@pytest.mark.parametrize("order", [list, reversed])
def test_the_keys_have_one_order(order: Callable[[Any], Any]) -> None:
    result = {key: ANSWERED[key] for key in order([*ANSWERED])}
    assert list(line_of(result).items()) == list(WRITTEN.items())


def generator(*ids: Any) -> Iterator[Any]:
    yield from ids


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({}, {}, id="none of them"),
        pytest.param(dict.fromkeys(("answer", "citations", "context", "context_texts", "abstained")), {}, id="None"),
        pytest.param({"answer": ""}, {"answer": ""}, id="an empty answer"),
        pytest.param({"abstained": True}, {"abstained": True}, id="abstained"),
        pytest.param({"citations": []}, {"citations": []}, id="nothing cited"),
        pytest.param({"citations": ("a", np.int64(7))}, {"citations": ["a", 7]}, id="a tuple, a number of NumPy"),
        pytest.param({"context": generator("b", "a")}, {"context": ["b", "a"]}, id="a generator"),
        pytest.param({"context": np.array(["b"])}, {"context": ["b"]}, id="an array"),
        pytest.param(
            {"context": ["z"], "context_texts": MappingProxyType({"z": "Z"})},
            {"context": ["z"], "context_texts": {"z": "Z"}},
            id="any mapping of texts",
        ),
    ],
)
def test_what_may_be_returned(keys: dict[str, Any], expected: dict[str, Any]) -> None:
    line = line_of({"topk": ["a", "b"], **keys})
    assert {key: line[key] for key in line.keys() - {"query_id", "system", "topk", "latency_ms"}} == expected


@each_row(
    ("keys", "message"),
    [
        pytest.param({"answer": 5}, "its answer is 5 (type int); give a text", id="a number"),
        pytest.param({"answer": generator("30", " days")}, "its answer is ['30', ' days']", id="a stream of pieces"),
        pytest.param({"answer": b"30"}, "its answer is b'30' (type bytes); give a text", id="bytes"),
        pytest.param({"answer": "\ud800"}, "it holds text with half of a surrogate pair", id="half a pair"),
        pytest.param({"abstained": "no"}, "its abstained is 'no' (type str); give True or False", id="in words"),
        pytest.param({"citations": "a"}, "its citations is 'a' (type str); give a list of ids", id="a bare citation"),
        pytest.param({"citations": {"a"}}, "its citations is {'a'} (type set); give a list of ids", id="a set"),
        pytest.param({"citations": [1.5]}, "citations: item 1 has 1.5 (type float) where an id", id="a fraction"),
        pytest.param({"context": ["a", None]}, "context: item 2 has None where an id", id="None in it"),
        pytest.param({"context": ["a", "a"]}, "its context: 'a' stands twice", id="twice"),
        pytest.param({"context": ["z"]}, "its context: 'z' is not in the list of results", id="not retrieved"),
        pytest.param({"context_texts": {"z": "Z"}}, "its context_texts: 'z' is not in the list", id="a stray text"),
        pytest.param({"context_texts": ["Z"]}, "its context_texts is ['Z'] (type list); give a mapping", id="texts"),
        pytest.param({"context_texts": {"a": 5}}, "context_texts[...]: expected text, found a whole", id="no text"),
    ],
)
def test_what_may_not(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ResultError) as caught:
        line_of({"topk": ["a", "b"], **keys})
    assert message in str(caught.value)


def found(path: Path) -> dict[str, Generated | None]:
    rankings = read_run(path.as_posix(), needs=frozenset({RunField.ANSWER})).rankings
    return {each.query_id: each.details.generated if each.details else None for each in rankings}


def answer(question: str) -> dict[str, Any]:
    number = question[-1]
    return {"topk": ["a"], "answer": f"answer {number}", "citations": ["a"], "abstained": number == "3"}


async def answer_later(question: str) -> dict[str, Any]:
    return answer(question)


def interrupted_at_2(question: str) -> dict[str, Any]:
    if question == "question 2":
        raise KeyboardInterrupt
    return answer(question)


EXPECTED = {f"q{n}": Generated(answer=f"answer {n}", citations=("a",), abstained=n == 3) for n in (1, 2, 3)}


@pytest.mark.parametrize("retrieve", [answer, answer_later])
@pytest.mark.parametrize("workers", [1, 3])
def test_answers_are_recorded(tmp_path: Path, retrieve: Callable[[str], Any], workers: int) -> None:
    record(GOLD, retrieve, tmp_path / "run.jsonl", workers=workers)
    assert found(tmp_path / "run.jsonl") == EXPECTED


def test_they_are_kept_when_it_is_interrupted(tmp_path: Path) -> None:
    path, name = tmp_path / "run.jsonl", "the same"
    with pytest.raises(KeyboardInterrupt):
        record(GOLD, interrupted_at_2, path, retriever=name)
    done = record(GOLD, answer, path, retriever=name, notice=lambda _: None)
    assert (done.resumed, found(path)) == (1, EXPECTED)


def test_a_damaged_answer_is_asked_again(tmp_path: Path) -> None:
    path, name = tmp_path / "run.jsonl", "the same"
    with pytest.raises(KeyboardInterrupt):
        record(GOLD, interrupted_at_2, path, retriever=name)
    partial = tmp_path / "run.jsonl.partial"
    partial.write_text(partial.read_text().replace('"citations":["a"]', '"context":["z"]'))
    done = record(GOLD, answer, path, retriever=name, notice=lambda _: None)
    assert (done.resumed, found(path)) == (0, EXPECTED)


def test_a_bad_answer_fails_its_question_alone(tmp_path: Path) -> None:
    def retrieve(question: str) -> dict[str, Any]:
        return {**answer(question), "context": ["z"] if question == "question 2" else ["a"]}

    with pytest.raises(RecordingError) as caught:
        record(GOLD, retrieve, tmp_path / "run.jsonl")
    (failure,) = caught.value.recorded.failures
    assert (failure.key, failure.message.partition(";")[0]) == ("q2", "its context: 'z' is not in the list of results")
    lines = (tmp_path / "run.jsonl.partial").read_text().splitlines()[1:]
    assert [json.loads(line)["query_id"] for line in lines] == ["q1", "q3"]


@pytest.mark.parametrize("key", ["answer", "citations", "context", "context_texts", "abstained"])
def test_they_are_no_provenance(tmp_path: Path, key: str) -> None:
    with pytest.raises(rankgate.RankgateError, match=f"'{key}' cannot be set for the whole run"):
        record(GOLD, answer, tmp_path / "run.jsonl", provenance={key: "x"})
