"""`record` against a search server that speaks OpenSearch's API: each result is what the official client gets."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import lacking

from rankgate.cli import main

pytestmark = pytest.mark.full
PATIENCE = 300  # seconds of the client, however busy the machine is
PASSAGES = {
    "refunds": "Annual plans are refunded within fourteen days.",
    "quotes": 'A name with "quotes", {{question}} and a \\ is shown as it is.',
    "street": "Straße and café, naïve 検索 and 🔎 are words.",
    "lines": "one\ttwo\nthree",
}
QUESTIONS = [
    *PASSAGES.values(),
    "refunding PLANS?",
    '"}}, "size": 0, "x": {"y": "',
    "{{query_id}} %s $HOME `id`",
    "\u2028\u0000\u007f quotes",
    "AND OR NOT (plans* OR /days/) ~",
    "nothing of this occurs: xyzzy",
]
QUERY = {"size": 3, "query": {"match": {"body": "{{question}}"}}}
MAP = {"items": "hits.hits", "chunk_id": "_id", "score": "_score", "text": "_source.body"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    try:
        binary = import_module("osmem_server").resolve_binary()
        client = import_module("opensearchpy").OpenSearch
    except ImportError:
        lacking("needs the extra recipes: scripts/test installs it")
    command = [binary, "-addr", "127.0.0.1:0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found: str = json.loads(server.stdout.readline())["url"]
            indices = client(found, timeout=PATIENCE)
            mapping = {"properties": {"body": {"type": "text", "analyzer": "english"}}}
            indices.indices.create(index="docs", body={"mappings": mapping})
            for name, body in PASSAGES.items():
                indices.index(index="docs", id=name, body={"body": body}, refresh=True)
            yield found
        finally:
            server.terminate()


@pytest.fixture(autouse=True)
def _gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    samples = [
        {"id": f"q{number}", "input": {"question": question}, "expected_output": ["refunds"]}
        for number, question in enumerate(QUESTIONS)
    ]
    Path("gold.json").write_text(json.dumps({"samples": samples}), encoding="utf-8")


def record(address: str, query: object = QUERY, *, index: str = "docs") -> int:
    retriever = {"url": f"{address}/{index}/_search", "body": query, "map": MAP}
    criteria = {"gates": [{"name": "mrr", "threshold": 0.1}], "retriever": retriever}
    Path("ship-criteria.yaml").write_text(json.dumps({**criteria, "inputs": {"gold": "gold.json", "run": "run.jsonl"}}))
    return main(["record"])


def test_every_question_finds_what_the_official_client_finds(address: str) -> None:
    assert record(address) == 0
    lines = [json.loads(line) for line in Path("run.jsonl").read_text(encoding="utf-8").splitlines()]
    client = import_module("opensearchpy").OpenSearch(address, timeout=PATIENCE)
    expected: list[list[dict[str, Any]]] = []
    for question in QUESTIONS:
        body = {**QUERY, "query": {"match": {"body": question}}}
        hits = client.search(index="docs", body=body)["hits"]["hits"]
        expected.append([{"id": h["_id"], "score": h["_score"], "text": h["_source"]["body"]} for h in hits])
    found = [[{"id": i["chunk_id"], "score": i["score"], "text": i["text"]} for i in line["topk"]] for line in lines]
    assert found == expected
    assert [items[0]["id"] for items in found[: len(PASSAGES)]] == list(PASSAGES)
    assert found[-1] == []


@pytest.mark.parametrize(
    ("query", "index", "reason"),
    [
        pytest.param(QUERY, "dosc", "no such index [dosc]", id="no such index"),
        pytest.param({"query": {"mtch": {"body": "{{question}}"}}}, "docs", "unknown query [mtch]", id="no such query"),
        pytest.param({**QUERY, "_source": False}, "docs", "_source", id="no text in the answer"),
    ],
)
def test_what_the_server_says_of_a_bad_request_is_shown(
    address: str, query: object, index: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record(address, query, index=index) == 2
    printed = capsys.readouterr().err
    assert reason in printed
