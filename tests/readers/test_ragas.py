"""Ragas datasets and LlamaIndex' QA datasets, in the shapes that their own writers give them."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.rows import each_row

from rankgate.cli import main
from rankgate.errors import RankgateError
from rankgate.model.values import Ranking, RunField, Sample
from rankgate.readers.formats import read_gold, read_run

pytestmark = pytest.mark.usefixtures("in_an_empty_directory")

# What `EvaluationDataset.to_jsonl` of ragas 0.4.3 writes: keys that are None are left out.
TO_JSONL = """\
{"user_input": "What is the refund window?", "retrieved_contexts": ["Shipping…", "30 days"], "reference_contexts": \
["30 days"], "retrieved_context_ids": ["doc-7", "doc-3"], "reference_context_ids": ["doc-3", 9], "response": \
"30 days", "reference": "30 days"}
{"user_input": "Zażółć?", "retrieved_contexts": ["x", "y"], "reference_contexts": ["y"], "reference": "z"}
"""
# What `to_pandas().to_json(orient="records", lines=True)` writes: keys that are None are null.
TO_JSON = """\
{"user_input":"What is the refund window?","retrieved_contexts":["Shipping\\u2026","30 days"],"reference_contexts":\
["30 days"],"retrieved_context_ids":["doc-7","doc-3"],"reference_context_ids":["doc-3",9],"response":"30 days",\
"reference":"30 days"}
{"user_input":"Za\\u017c\\u00f3\\u0142\\u0107?","retrieved_contexts":["x","y"],"reference_contexts":["y"],\
"retrieved_context_ids":null,"reference_context_ids":null,"response":null,"reference":"z"}
"""
# What `to_pandas().to_json(orient="records")` writes.
TO_JSON_LIST = f"[{','.join(TO_JSON.splitlines())}]"
# What `to_csv` writes.
TO_CSV = """\
user_input,retrieved_contexts,reference_contexts,retrieved_context_ids,reference_context_ids,response,reference
What is the refund window?,"['Shipping…', '30 days']",['30 days'],"['doc-7', 'doc-3']","['doc-3', 9]",30 days,30 days
Zażółć?,['x'],['y'],,,,z
"""
INSTEAD = (
    "lists as Python shows them, as Ragas' to_csv writes them, cannot be read back; write JSONL instead, with "
    'to_jsonl(path) or to_pandas().to_json(path, orient="records", lines=True)'
)
TEXTS = frozenset({RunField.TEXTS})


def gold(content: str, form: str | None = None) -> list[Sample]:
    Path("file").write_text(content, encoding="utf-8")
    read = read_gold("file", form)
    assert form or read.format in {"ragas", "llama_index"}
    return list(read.samples.values())


def run(content: str, needs: frozenset[RunField] = frozenset(), form: str | None = None) -> list[Ranking]:
    Path("file").write_text(content, encoding="utf-8")
    read = read_run("file", form, needs=needs)
    assert form or read.format == "ragas"
    return list(read.rankings)


def line(**keys: Any) -> str:
    return json.dumps({"user_input": "q", **keys}) + "\n"


def refusal(content: str, what: str) -> str:
    with pytest.raises(RankgateError) as caught:
        gold(content) if what == "gold" else run(content)
    return str(caught.value)


@pytest.mark.parametrize("content", [TO_JSONL, TO_JSON], ids=["to_jsonl", "to_json"])
def test_ragas_gold(content: str) -> None:
    assert gold(content) == [
        Sample(
            query_id="What is the refund window?",
            gains={"doc-3": 1.0, "9": 1.0},
            question="What is the refund window?",
            answers=("30 days",),
            line=1,
        ),
        Sample(query_id="Zażółć?", gains={"y": 1.0}, question="Zażółć?", answers=("z",), line=2),
    ]


@pytest.mark.parametrize("content", [TO_JSONL, TO_JSON], ids=["to_jsonl", "to_json"])
def test_ragas_run(content: str) -> None:
    assert run(content) == [Ranking("What is the refund window?", ["doc-7", "doc-3"]), Ranking("Zażółć?", ["x", "y"])]


def test_a_list_of_samples_is_the_same() -> None:
    for content in (TO_JSON_LIST, json.dumps(json.loads(TO_JSON_LIST), indent=2)):
        assert gold(content) == [replace(sample, line=None) for sample in gold(TO_JSON)]
        assert run(content, TEXTS) == run(TO_JSON, TEXTS)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param('[{"user_input": "q", "retrieved_contexts": ["a"]}, 7]', "expected a sample of Ragas, found 7"),
        pytest.param(
            f"[{line(retrieved_contexts=['a'])}, {line(retrieved_contexts=['a'])}]",
            "query 'q' stands twice (first at [0]); keep one ranking of it",
        ),
        pytest.param(
            f"[{line(retrieved_contexts=['a'])}, {line(reference_contexts=['a'])}]",
            "query 'q' has neither retrieved_context_ids nor retrieved_contexts",
        ),
    ],
    ids=["no object", "twice", "no list"],
)
def test_bad_lists(content: str, expected: str) -> None:
    assert refusal(content, "run") == f"file: [1]: {expected}"


@pytest.mark.parametrize(
    ("keys", "what", "expected"),
    [
        pytest.param(
            {"reference_context_ids": ["d"], "retrieved_contexts": ["x"]},
            "run",
            "file:1: query 'q' has reference_context_ids and no retrieved_context_ids: ids and texts never match; "
            "write both as ids",
            id="ids expected, texts retrieved",
        ),
        pytest.param(
            {"reference_contexts": ["x"], "retrieved_context_ids": ["d"]},
            "gold",
            "file:1: query 'q' has retrieved_context_ids and no reference_context_ids: ids and texts never match; "
            "write both as ids",
            id="texts expected, ids retrieved",
        ),
    ],
)
def test_ids_beside_texts_are_an_error_and_no_miss(keys: dict[str, Any], what: str, expected: str) -> None:
    assert refusal(line(user_input="q", **keys) + "\n", what) == expected


def test_a_broken_list() -> None:
    for what in ("gold", "run"):
        assert refusal('[{"user_input": "q"},\n7', what).startswith("file:2: broken JSON: ")


def test_a_list_of_the_contract_may_have_the_key_too() -> None:
    Path("file").write_text('[{"query_id": "a", "user_input": "q", "retrieved": ["b"]}]')
    assert read_run("file").format == "json"
    Path("file").write_text('[{"id": "a", "user_input": "q", "expected_output": ["b"]}]')
    assert read_gold("file").format == "json"


def texts(found: Ranking) -> list[str | None]:
    assert found.details is not None
    return [item.text for item in found.details.items or []]


def test_texts_only_where_needed() -> None:
    assert [texts(ranking) for ranking in run(TO_JSONL, TEXTS)] == [["Shipping…", "30 days"], ["x", "y"]]
    assert all(ranking.details is None for ranking in run(TO_JSONL))


def test_texts_stay_with_their_ids_when_repeats_go() -> None:
    (found,) = run(line(retrieved_context_ids=["a", "b", "a", "c"], retrieved_contexts=["A", "B", "A", "C"]), TEXTS)
    assert (found.ids, found.duplicates, texts(found)) == (["a", "b", "c"], 1, ["A", "B", "C"])


def test_texts_of_another_number_than_the_ids_are_not_known() -> None:
    (found,) = run(line(retrieved_context_ids=["a", "b"], retrieved_contexts=["A"]), TEXTS)
    assert (found.ids, texts(found)) == (["a", "b"], [None, None])


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({}, "q", id="the question"),
        pytest.param({"query_id": "7"}, "7", id="query_id"),
        pytest.param({"id": 7}, "7", id="id, a number"),
        pytest.param({"id": "a", "query_id": "b"}, "a", id="id before query_id"),
        pytest.param({"id": None}, "q", id="id, null"),
        pytest.param({"id": "c", "user_input": [{"content": "hi", "type": "human"}]}, "c", id="a conversation"),
    ],
)
def test_query_id(keys: dict[str, Any], expected: str) -> None:
    content = line(reference_context_ids=["a"], retrieved_context_ids=["b"], **keys)
    assert [sample.query_id for sample in gold(content)] == [expected]
    assert [ranking.query_id for ranking in run(content)] == [expected]


@each_row(
    ("content", "what", "expected"),
    [
        (
            line(retrieved_contexts=["a"]),
            "gold",
            "1: query 'q' has neither reference_context_ids nor reference_contexts",
        ),
        (
            line(reference_contexts=["a"]),
            "run",
            "1: query 'q' has neither retrieved_context_ids nor retrieved_contexts",
        ),
        (
            line(retrieved_contexts="['a', 'b']"),
            "run",
            f"""1: query 'q': retrieved_contexts is "['a', 'b']": {INSTEAD}""",
        ),
        (line(reference_context_ids=[1.5]), "gold", "1: query 'q': reference_context_ids: expected an id, found 1.5"),
        (
            line(retrieved_context_ids={"a": 1}),
            "run",
            "1: query 'q': retrieved_context_ids: expected a list, found {'a': 1}",
        ),
        (
            line(retrieved_context_ids=["a"]) * 2,
            "run",
            "2: query 'q' stands twice (first on line 1); keep one ranking of it",
        ),
        (line(reference_context_ids=["a"]) * 2, "gold", "2: sample 'q' stands twice (first on line 1); keep one"),
        (
            line(user_input=[{"content": "hi"}], retrieved_context_ids=["a"]),
            "run",
            "1: user_input is a conversation, which is no id; add an `id` to each line",
        ),
        (
            line(user_input=None, retrieved_context_ids=["a"]),
            "run",
            "1: no user_input, id or query_id; one of them names the query",
        ),
        (line(reference_context_ids=["a"], reference=5), "gold", "1: query 'q': the reference is 5, not a text"),
        (
            line(retrieved_context_ids=["a"]) + "5\n{",
            "run",
            (
                "2: expected a sample of Ragas, found 5\n"
                "3: broken JSON: expecting property name enclosed in double quotes (column 2)"
            ),
        ),
    ],
)
def test_bad_lines(content: str, what: str, expected: str) -> None:
    assert refusal(content, what).replace("file:", "") == expected


@pytest.mark.parametrize("what", ["gold", "run"])
def test_to_csv_cannot_be_read(what: str) -> None:
    assert INSTEAD in refusal(TO_CSV, what)


def test_a_context_that_is_no_text_is_refused_in_plain_words() -> None:
    """Only where a metric reads it."""
    content = line(retrieved_context_ids=["a"], retrieved_contexts=[5])
    assert [ranking.ids for ranking in run(content)] == [["a"]]
    with pytest.raises(RankgateError) as caught:
        run(content, TEXTS)
    assert str(caught.value) == "file:1: topk[0].text: expected text, found a whole number"


def test_a_line_of_the_contract_may_have_the_key_too() -> None:
    contract = '{"user_input": "?", "query_id": "q", "topk": ["a"]}'
    Path("file").write_text(contract)
    assert read_run("file").format == "jsonl"
    Path("file").write_text('{"user_input": "?", "id": "q", "expected_output": ["a"]}')
    assert read_gold("file").format == "jsonl"


# LlamaIndex: what `EmbeddingQAFinetuneDataset.save_json` writes.

DATASET: dict[str, Any] = {
    "queries": {"7f3a": "What is the refund window?", "9b1c": "Who pays?"},
    "corpus": {"node-1": "Refunds within 30 days.", "node-2": "The sender pays."},
    "relevant_docs": {"7f3a": ["node-1"], "9b1c": ["node-2", "node-1"]},
    "mode": "text",
}


@pytest.mark.parametrize("indent", [None, 4])
def test_llama_index(indent: int | None) -> None:
    assert gold(json.dumps(DATASET, indent=indent)) == [
        Sample(query_id="7f3a", gains={"node-1": 1.0}, question="What is the refund window?"),
        Sample(query_id="9b1c", gains={"node-2": 1.0, "node-1": 1.0}, question="Who pays?"),
    ]


def test_llama_index_query_without_documents() -> None:
    assert gold(json.dumps(DATASET | {"relevant_docs": {"7f3a": ["node-1"]}}))[1].gains == {}


@each_row(
    ("change", "expected"),
    [
        (
            {"relevant_docs": {"7f3a": ["node-1"], "x": ["node-2"]}},
            "file: x: stands in relevant_docs and not in queries",
        ),
        ({"relevant_docs": {"7f3a": "node-1"}}, "file: 7f3a: relevant_docs: expected a list of ids, found 'node-1'"),
        ({"relevant_docs": {"7f3a": [None]}}, "file: 7f3a: relevant_docs: expected an id, found nothing"),
        ({"queries": {"7f3a": 5}, "relevant_docs": {}}, "file: 7f3a: expected the question's text, found 5"),
        (
            {"queries": ["7f3a"]},
            "file:1: expected mappings queries and relevant_docs, as LlamaIndex' save_json writes them",
        ),
    ],
)
def test_bad_llama_index(change: dict[str, Any], expected: str) -> None:
    assert refusal(json.dumps(DATASET | change), "gold") == expected


WRITTEN = Path(__file__).parent / "written" / "ragas-0.4.3.results.jsonl"  # a dataset with two metrics, as above
SCORED = frozenset({RunField.SCORES})


def test_a_table_of_results_has_its_metrics_as_scores() -> None:
    first, second = run(WRITTEN.read_text(encoding="utf-8"), SCORED)
    assert first.details is not None
    assert second.details is not None
    assert first.details.scores == {"faithfulness": 1.0, "answer_relevancy": 0.8125}
    assert second.details.scores == {"faithfulness": None, "answer_relevancy": 0.0}, "NaN, which pandas writes as null"
    assert (first.details.judges, second.details.judges) == (None, None)


def test_a_number_that_is_a_text_is_a_score() -> None:
    """As a column of texts is written; a text that is no number is none."""
    [first] = run('{"user_input": "q", "retrieved_context_ids": ["d"], "a": "0.8", "b": "", "c": "good"}\n', SCORED)
    assert first.details is not None
    assert first.details.scores == {"a": 0.8, "b": None}


def test_a_column_says_who_judged() -> None:
    lines = [json.loads(line) | {"judge": "gpt-4o-2024-08-06"} for line in WRITTEN.read_text("utf-8").splitlines()]
    first, _ = run("".join(json.dumps(line) + "\n" for line in lines), SCORED)
    assert first.details is not None
    assert first.details.judges == dict.fromkeys(("faithfulness", "answer_relevancy"), "gpt-4o-2024-08-06")


def test_its_own_columns_are_gated(capsys: pytest.CaptureFixture[str]) -> None:
    """As it wrote them, with a further metric: a mean of 0.41 is above 0.4, and one of 0.55 is not above 0.6."""
    lines = zip(map(json.loads, WRITTEN.read_text("utf-8").splitlines()), (0.9, 0.2), strict=True)
    written = [each | {"semantic_similarity": value, "reference_context_ids": ["doc-9"]} for each, value in lines]
    Path("ragas.jsonl").write_text("".join(json.dumps(each) + "\n" for each in written), "utf-8")
    limits = {"answer_relevancy": 0.4, "semantic_similarity": 0.6}
    gates = [{"name": f"score({field})", "direction": "higher", "threshold": limit} for field, limit in limits.items()]
    criteria = {"inputs": {"gold": "ragas.jsonl", "run": "ragas.jsonl"}, "gates": gates}
    Path("ship-criteria.yaml").write_text(json.dumps(criteria), "utf-8")
    assert main(["check", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["gates"]
    assert [(each["metric"], each["value"], each["verdict"]) for each in found] == [
        ("score(answer_relevancy)", 0.40625, "pass"),
        ("score(semantic_similarity)", pytest.approx(0.55), "fail"),
    ]


def test_a_dataset_without_metrics_has_no_scores() -> None:
    assert [ranking.details for ranking in run(TO_JSON, SCORED)] == [None, None]
