"""`--retriever` on the objects of LangChain, LlamaIndex and Haystack as they are, by their own classes where they are
installed in the interpreter that TEST_LIBRARIES_PYTHON names, and by classes with their documented methods in any case.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rankgate
from rankgate.cli import main

STAND_INS = """\
from tests.collecting.libraries import HaystackDocument, LangChainDocument, node

class Runnable:  # langchain_core.retrievers.BaseRetriever
    def invoke(self, input, config=None, **kwargs):
        return [LangChainDocument(input, None, {"id": "a"}), LangChainDocument("x", "b")]
    async def ainvoke(self, input, config=None, **kwargs):
        raise AssertionError("there is a sync one")

class Retriever:  # llama_index.core.base.base_retriever.BaseRetriever
    def retrieve(self, str_or_query_bundle):
        return [node("a", str_or_query_bundle, 2.0), node("b", "x", 1.0)]

class OnlyAsync:
    async def ainvoke(self, input, config=None):
        return ["a", "b"]

class Component:  # a component of Haystack
    def run(self, query: str, filters=None, top_k=None):
        return {"documents": [HaystackDocument("a", query, 2.0), HaystackDocument("b", "x", 1.0)]}

class Pipeline:
    def __init__(self, *names):
        self.names = names
    def inputs(self):
        text = {"type": str, "is_mandatory": True}
        return {"embedder": {"text": text}, "ranker": {"query": text, "top_k": {"type": int, "is_mandatory": False}}}
    def run(self, data, include_outputs_from=None):
        assert data["text"] == data["query"] and len(data) == 2
        return {"llm": {"replies": ["A."]}, **{name: Component().run(data["query"]) for name in self.names}}

langchain, llama, only_async, component = Runnable(), Retriever(), OnlyAsync(), Component()
pipeline, two, none = Pipeline("ranker"), Pipeline("retriever", "ranker"), Pipeline()
nothing = object()
"""
REAL = """\
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.retrievers import BaseRetriever as LlamaBase
from llama_index.core.schema import NodeWithScore, TextNode
from haystack import Document as Found, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

class Chain(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content=query, metadata={"id": "a"}), Document(page_content="x", id="b")]

class Llama(LlamaBase):
    def _retrieve(self, bundle):
        return [NodeWithScore(node=TextNode(id_=each, text=bundle.query_str), score=1.0) for each in "ab"]

store = InMemoryDocumentStore()
store.write_documents([Found(id="a", content="question question"), Found(id="b", content="a longer question")])
langchain, llama, component, pipeline = Chain(), Llama(), InMemoryBM25Retriever(store), Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(store))
"""
LIBRARIES = os.environ.get("TEST_LIBRARIES_PYTHON", "")


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2]), *sys.path])
    Path("stand_ins.py").write_text(STAND_INS)
    samples = [{"id": f"q{n}", "input": f"question {n}", "expected_output": ["a"]} for n in (1, 2)]
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    yield
    sys.modules.pop("stand_ins", None)


def found(run: str = "run.jsonl") -> list[list[str]]:
    lines = [json.loads(line) for line in Path(run).read_text().splitlines()]
    return [[item["chunk_id"] for item in line["topk"]] for line in lines]


WORDS = ["record", "--gold", "gold.jsonl", "-o", "run.jsonl", "--retriever"]


@pytest.mark.parametrize("name", ["langchain", "llama", "only_async", "component", "pipeline"])
def test_an_object_is_taken_as_it_is(name: str) -> None:
    assert main([*WORDS, f"stand_ins:{name}"]) == 0
    assert found() == [["a", "b"], ["a", "b"]]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("Runnable", "stand_ins:Runnable is a class; name a function", id="a class"),
        pytest.param("nothing", "not a function, and has no invoke or retrieve", id="no method"),
        pytest.param("two", "2 outputs have documents; name a function that returns those of one", id="two outputs"),
        pytest.param("none", "0 outputs have documents", id="no documents"),
    ],
)
def test_what_gives_no_one_list_is_refused(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, f"stand_ins:{name}"]) == 2
    assert message in capsys.readouterr().err


NAMES = ("langchain", "llama", "component", "pipeline")


@pytest.mark.full
def test_the_libraries_own_objects() -> None:
    """In an environment of their own, which uv sets up."""
    Path("real.py").write_text(REAL)
    packages = ("langchain-core", "llama-index-core", "haystack-ai", str(Path(rankgate.__file__).parents[2]))
    added = [word for each in packages for word in ("--with", each)]
    uv = [sys.executable, "-m", "uv", "run", "--no-project", "--quiet", "--python", sys.executable, *added]
    python = [LIBRARIES] if LIBRARIES else [*uv, "python"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(rankgate.__file__).parents[1]),
        "HAYSTACK_TELEMETRY_ENABLED": "0",
    }
    record = "import sys; from rankgate.cli import main; sys.exit(max(main(each.split()) for each in sys.argv[1:]))"
    words = ["record", "--gold", "gold.jsonl", "--retriever"]
    commands = [" ".join([*words, f"real:{name}", "-o", f"{name}.jsonl"]) for name in NAMES]
    done = subprocess.run(
        [*python, "-c", record, *commands], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {name: found(f"{name}.jsonl") for name in NAMES} == {name: [["a", "b"], ["a", "b"]] for name in NAMES}
