"""The maps that docs/formats.md gives for files of other tools, each on a file in that tool's documented shape."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rankgate.criteria import load_criteria
from rankgate.model.values import RunField
from rankgate.readers.field_map import FieldMap
from rankgate.readers.formats import read_gold, read_run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("### Maps for files of other tools\n")[2].partition("\n## ")[0]
RECIPES = re.findall(r"^\| (\w+) \| (.+?) \| `(\{.+\})` \|$", TABLE, re.MULTILINE)
GATE = "gates:\n  - {name: mrr, threshold: 0.5}\n"

DEEPEVAL = {
    "testCases": [
        {
            "name": "case_1",
            "input": "Why?",
            "actualOutput": json.dumps({"retrieved": [{"id": "d2"}, {"id": "d1"}], "answer": "So."}),
            "retrievalContext": ["Passage two.", "Passage one."],
            "metricsData": [{"name": "Faithfulness", "score": 0.9, "evaluationModel": "gpt-4o"}],
            "success": True,
        }
    ],
    "metricsScores": [],
}
RUN = {
    "id": "7f3a",
    "run_type": "retriever",
    "inputs": {"query": "Why?"},
    "outputs": {
        "documents": [{"page_content": "Two.", "metadata": {"id": "d2"}}, {"page_content": "", "metadata": {"id": 1}}]
    },
    "reference_example_id": "e-1",
}
SPAN = {
    "context.span_id": "5c1f",
    "attributes.input.value": "Why?",
    "attributes.retrieval.documents": [{"document.id": "d2", "document.content": "Two.", "document.score": 0.1}],
}
DOCUMENTS = [{"id": "d2", "score": 0.95}, {"id": "d1", "score": 0.5}]
TRACES: dict[str, Any] = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "search"}}]},
            "scopeSpans": [
                {
                    "scope": {"name": "search"},
                    "spans": [
                        {
                            "traceId": "5b8e",
                            "name": "retrieval kb",
                            "attributes": [
                                {"key": "gen_ai.operation.name", "value": {"stringValue": "retrieval"}},
                                {"key": "gen_ai.retrieval.query.text", "value": {"stringValue": "Why?"}},
                                {"key": "gen_ai.retrieval.documents", "value": {"stringValue": json.dumps(DOCUMENTS)}},
                            ],
                        }
                    ],
                }
            ],
        }
    ]
}
OBSERVATIONS = {
    "data": [
        {
            "id": "o-1",
            "type": "RETRIEVER",
            "input": "Why?",
            "output": [{"page_content": "Two.", "metadata": {"id": "d2"}, "type": "Document"}],
        }
    ],
    "meta": {"page": 1, "limit": 50, "totalItems": 1, "totalPages": 1},
}
PROMPTFOO = {
    "evalId": "eval-1",
    "results": {
        "version": 3,
        "results": [
            {"vars": {"question": "Why?"}, "response": {"output": '{"ids": ["d2", "d1"]}'}, "latencyMs": 35, "score": 1}
        ],
    },
}
RANK_EVAL = {"details": {"q-1": {"hits": [{"hit": {"_id": "d2", "_score": 1.5}, "rating": None}]}}, "failures": {}}
RRE = {"queries": [{"placeholders": {"$query": "Why?"}, "relevant_documents": {"1": ["d1"], "3": ["d2"]}}]}
GROUPS = [
    {
        "name": "refunds",
        "queries": [{"placeholders": {"$query": "Why?"}}, {"placeholders": {"$query": "Why not?"}}],
        "relevant_documents": {"3": ["d2"], "1": ["d1"]},
    },
    {
        "name": "fees",
        "queries": [{"placeholders": {"$query": "How much?"}}],
        "relevant_documents": {"d1": {"gain": 2}, "d3": {"gain": 0}},
    },
]
RRE_TOPICS = {"index": "docs", "id_field": "id", "topics": [{"description": "money", "query_groups": GROUPS}]}
OF_TOPICS = {"Why?": {"d2": 3.0, "d1": 1.0}, "Why not?": {"d2": 3.0, "d1": 1.0}, "How much?": {"d1": 2.0, "d3": 0.0}}
FILES: list[tuple[Any, dict[str, Any]]] = [
    (DEEPEVAL, {"Why?": ["Passage two.", "Passage one."]}),
    (DEEPEVAL, {"case_1": ["d2", "d1"]}),
    (RUN, {"e-1": ["d2", "1"]}),
    (SPAN, {"Why?": ["d2"]}),
    (TRACES, {"Why?": ["d2", "d1"]}),
    (OBSERVATIONS, {"Why?": ["d2"]}),
    (PROMPTFOO, {"Why?": ["d2", "d1"]}),
    (RANK_EVAL, {"q-1": ["d2"]}),
    (RRE, {"Why?": {"d1": 1.0, "d2": 3.0}}),
    (RRE_TOPICS, OF_TOPICS),
]
CASES = [
    pytest.param(*recipe, *file, id=f"{recipe[0]}, {recipe[1][:30]}")
    for recipe, file in zip(RECIPES, FILES, strict=True)
]


@pytest.mark.parametrize(("tool", "what", "fields", "content", "expected"), CASES)
def test_a_recipe(
    tool: str,
    what: str,
    fields: str,
    content: Any,
    expected: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    indent = None if tool in {"LangSmith", "Phoenix"} else 2  # these are one object a line
    Path("file").write_text(json.dumps(content, indent=indent) + "\n", encoding="utf-8")
    key = "gold" if "gold set" in what else "run"
    Path("ship-criteria.yaml").write_text(f"{GATE}inputs:\n  {key}: {{path: file, map: {fields}}}\n")
    inputs = load_criteria("ship-criteria.yaml").inputs
    if inputs.gold:
        read = read_gold("file", map=inputs.gold.map).samples
        assert {query_id: sample.gains for query_id, sample in read.items()} == expected
        return
    assert inputs.run is not None
    stated = yaml.safe_load(fields)
    needs = frozenset({RunField.TEXTS, RunField.LATENCY} if "latency_ms" in stated or "text" in stated else ())
    rankings = list(read_run("file", needs=needs, map=inputs.run.map).rankings)
    assert {each.query_id: each.ids for each in rankings} == expected
    details = rankings[0].details
    assert "latency_ms" not in stated or (details and details.latency_ms == {"total": 35.0})
    assert "text" not in stated or (details and details.items and details.items[0].text == "Two.")


def test_documents_of_a_span_may_be_values_of_opentelemetry(tmp_path: Path) -> None:
    def kvlist(document: dict[str, Any]) -> dict[str, Any]:
        pairs = [("id", {"stringValue": document["id"]}), ("score", {"doubleValue": document["score"]})]
        return {"kvlistValue": {"values": [{"key": key, "value": value} for key, value in pairs]}}

    span = TRACES["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    listed = {"key": "gen_ai.retrieval.documents", "value": {"arrayValue": {"values": [*map(kvlist, DOCUMENTS)]}}}
    file = tmp_path / "traces.json"
    file.write_text(json.dumps({"spans": [{**span, "attributes": [*span["attributes"][:2], listed]}]}))
    fields = FieldMap(
        records="spans",
        query_id="attributes.gen_ai.retrieval.query.text",
        items="attributes.gen_ai.retrieval.documents",
        chunk_id="id",
        score="score",
    )
    assert [each.ids for each in read_run(str(file), map=fields).rankings] == [["d2", "d1"]]


def test_what_a_text_holds_is_reached_in_a_column_too(tmp_path: Path) -> None:
    """LangSmith's bulk export has inputs and outputs as texts of JSON, in Parquet."""
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "runs.parquet"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE runs(reference_example_id VARCHAR, outputs VARCHAR)")
        connection.execute("INSERT INTO runs VALUES ('e-1', ?)", [json.dumps(RUN["outputs"])])
        connection.execute(f"COPY runs TO '{file}' (FORMAT parquet)")
    Path(tmp_path / "ship-criteria.yaml").write_text(f"{GATE}inputs:\n  run: {{path: {file}, map: {RECIPES[2][2]}}}\n")
    named = load_criteria(str(tmp_path / "ship-criteria.yaml")).inputs.run
    assert named is not None
    assert [each.ids for each in read_run(named.path, map=named.map).rankings] == [["d2", "1"]]
