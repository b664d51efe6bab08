"""Gold sets as they were written: labels go in, and all else stays."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rankgate.collecting.gold_documents import GoldDocuments, read_documents, written
from rankgate.errors import Problem, RankgateError
from rankgate.model.answers import GoldClaim
from rankgate.model.values import Sample, Span
from rankgate.readers.base import ProblemLog
from rankgate.readers.formats import read_gold
from rankgate.readers.samples import to_sample
from rankgate.readers.yaml_text import load_yaml

FIRST = '{"mine" : {"é": [1.50, null]}, "id": 1, "expected_output": ["a"]}'
SECOND = '{"id":"q2","expected_output":{"b":2},"input":"why?"}'
YAML = """\
# hand-made
version: 3
samples:
  - id: 1
    expected_output: [a]
    mine: {é: [no, 2025-06-01]}
  - {id: q2, expected_output: {b: 2}, input: why?}
"""


def documents(tmp_path: Path, content: str) -> GoldDocuments:
    file = (tmp_path / "gold").as_posix()
    Path(file).write_text(content, encoding="utf-8")
    return read_documents(file, read_gold(file))


def test_lines_that_take_no_label_stay_as_they_are(tmp_path: Path) -> None:
    found = documents(tmp_path, f"{FIRST}\n\n  {SECOND}").with_new({"q2": {"c": 0.0}})
    assert found.as_jsonl() == f'{FIRST}\n{{"id": "q2", "expected_output": {{"b": 2, "c": 0}}, "input": "why?"}}\n'


def test_a_line_that_takes_one_keeps_all_else(tmp_path: Path) -> None:
    found = documents(tmp_path, f"{FIRST}\n{SECOND}\n").with_new({"1": {"c": 1.0}})
    assert found.as_jsonl() == f'{{"mine": {{"é": [1.5, null]}}, "id": 1, "expected_output": ["a", "c"]}}\n{SECOND}\n'


SAMPLES: list[dict[str, Any]] = [
    {"id": 1, "expected_output": ["a"], "mine": {"é": ["no", "2025-06-01"]}},
    {"id": "q2", "expected_output": {"b": 2, "c": 1}, "input": "why?"},
]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(YAML, {"version": 3, "samples": SAMPLES}, id="YAML"),
        pytest.param(YAML.partition("samples:\n")[2], SAMPLES, id="a YAML list"),
        pytest.param(
            json.dumps({"version": 3, "samples": [SAMPLES[0], {**SAMPLES[1], "expected_output": {"b": 2}}]}),
            {"version": 3, "samples": SAMPLES},
            id="JSON",
        ),
        pytest.param(json.dumps([SAMPLES[0], {**SAMPLES[1], "expected_output": {"b": 2}}]), SAMPLES, id="a JSON list"),
    ],
)
def test_documents_as_json_and_as_jsonl(tmp_path: Path, content: str, expected: Any) -> None:
    found = documents(tmp_path, content).with_new({"q2": {"c": 1.0}})
    assert json.loads(found.as_json()) == expected
    assert [json.loads(line) for line in found.as_jsonl().splitlines()] == SAMPLES


def test_jsonl_as_json(tmp_path: Path) -> None:
    assert json.loads(documents(tmp_path, f"{FIRST}\n{SECOND}\n").as_json()) == {
        "samples": [json.loads(FIRST), json.loads(SECOND)]
    }


def test_qrels_become_samples(tmp_path: Path) -> None:
    found = documents(tmp_path, "q1 0 a 1\nq1 0 b 1\nq2 0 a 2\nq2 0 b 0\n").with_new({"q1": {"c": 1.0}})
    assert found.as_jsonl() == (
        '{"id": "q1", "expected_output": ["a", "b", "c"]}\n{"id": "q2", "expected_output": {"a": 2, "b": 0}}\n'
    )


def test_a_key_that_stands_twice_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(RankgateError) as refused:
        documents(tmp_path, f'{FIRST}\n{{"id": "q2", "expected_output": ["a"], "mine": {{"x": 1, "x": 2}}}}\n')
    assert str(refused.value).endswith("gold:2: the key 'x' stands twice in one object")


WORDS = st.text("abcé :'=", min_size=1, max_size=4).filter(str.strip)
GAINS = st.dictionaries(WORDS, st.sampled_from([0.0, 1.0, 2.0, 0.5]), max_size=4)
SPANS = st.builds(Span, WORDS, st.integers(0, 5), st.integers(6, 9), st.none() | WORDS)
FIELDS = {
    "query_id": WORDS,
    "gains": GAINS,
    "judge_gains": GAINS,
    "spans": st.lists(SPANS, max_size=2).map(lambda spans: {each.id: each for each in spans}),
    "question": st.none() | WORDS,
    "tags": st.lists(WORDS, unique=True, max_size=2).map(tuple),
    "k": st.none() | st.integers(1, 9),
    "answers": st.lists(WORDS, max_size=2).map(tuple),
    "claims": st.lists(st.sampled_from("abc"), unique=True).map(
        lambda texts: tuple(GoldClaim(t, t < "b") for t in texts)
    ),
    "as_of": st.none() | st.just("2025-06-01"),
    "source": st.lists(st.text(max_size=2), max_size=3, unique=True).map(tuple),
    "entities": st.none() | st.lists(WORDS, unique=True, max_size=2).map(tuple),
    "cluster": st.none() | st.text(max_size=2),
}


@pytest.mark.full
@given(st.builds(Sample, **FIELDS), st.booleans())
def test_a_sample_of_another_format_reads_back_the_same(sample: Sample, unanswered: bool) -> None:  # noqa: FBT001
    """Whatever a reader made of its format, in the contract's shape it says the same."""
    gains = {doc: 1.0 if sample.spans else gain for doc, gain in sample.gains.items()} | dict.fromkeys(
        sample.spans, 2.0
    )
    if unanswered:
        gains, sample = dict.fromkeys(sample.gains, 0.0), replace(sample, spans={})
    judge = {doc: gain for doc, gain in sample.judge_gains.items() if doc not in gains}
    negatives = tuple(doc for doc, gain in gains.items() if gain == 0)
    sample = replace(sample, gains=gains, judge_gains=judge, no_answer=unanswered, negatives=negatives)
    log = ProblemLog()
    assert to_sample(json.loads(json.dumps(written(sample))), Problem(""), log) == sample, log.problems


def test_the_samples_of_the_property_have_every_field() -> None:
    assert {*FIELDS, "negatives", "no_answer", "line"} == {*Sample.__struct_fields__}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["1e5", "no", "-0", ".5", "~", "1_0"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=9,
)


@pytest.mark.full
@given(
    st.lists(st.dictionaries(st.text("aé: #no1\n", min_size=1, max_size=9), JSON, min_size=1, max_size=4), max_size=3)
)
def test_yaml_reads_back_as_it_was(samples: list[dict[str, Any]]) -> None:
    text = GoldDocuments(samples=dict(enumerate(samples)), beside={"no": [1.5]}).as_text(".yaml")  # type: ignore[arg-type]
    assert load_yaml(text, "gold.yaml").value == {"no": [1.5], "samples": samples}
