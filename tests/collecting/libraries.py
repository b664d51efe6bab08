"""What search libraries return, by their own classes where those are installed and else by classes that look alike.

The look-alikes have the attributes, the defaults and the iteration of langchain-core 0.3 and 1.0, llama-index-core 0.14
(pydantic models: looping over one gives its fields), haystack-ai 2.19 and qdrant-client 1.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple


class Fields:
    """Looping over a pydantic model gives its fields."""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from self.__dict__.items()


@dataclass
class LangChainDocument(Fields):
    page_content: str
    id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    type: str = "Document"


@dataclass
class LlamaTextNode(Fields):
    text: str
    id_: str
    metadata: dict[str, Any] = field(default_factory=dict)
    ref_doc_id: str | None = None

    @property
    def node_id(self) -> str:
        return self.id_


@dataclass
class LlamaNodeWithScore(Fields):
    node: Any
    score: float | None = None

    @property
    def node_id(self) -> str:
        return str(self.node.node_id)

    @property
    def id_(self) -> str:
        return str(self.node.node_id)

    @property
    def text(self) -> str:
        if not isinstance(self.node, LlamaTextNode):
            raise ValueError("Node must be a TextNode to get text.")
        return self.node.text

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.node.metadata
        return found


@dataclass
class LlamaImageNode(Fields):
    id_: str

    @property
    def node_id(self) -> str:
        return self.id_


@dataclass
class HaystackDocument:
    id: str
    content: str | None = None
    score: float | None = None


@dataclass
class QdrantPoint(Fields):
    id: int | str
    version: int
    score: float
    payload: dict[str, Any] | None = None


class Hit(NamedTuple):
    """A result whose score stands first."""

    score: int
    id: str


def document(name: str, text: str = "", **metadata: Any) -> Any:
    """LangChain's."""
    try:
        return import_module("langchain_core.documents").Document(page_content=text, id=name, metadata=metadata)
    except ImportError:
        return LangChainDocument(text, name, metadata)


def node(name: str, text: str = "", score: float | None = None, source: str | None = None) -> Any:
    """LlamaIndex' `NodeWithScore`, its node a part of the document `source`."""
    try:
        schema = import_module("llama_index.core.schema")
    except ImportError:
        return LlamaNodeWithScore(LlamaTextNode(text, name, ref_doc_id=source), score)
    related = {schema.NodeRelationship.SOURCE: schema.RelatedNodeInfo(node_id=source)} if source else {}
    return schema.NodeWithScore(node=schema.TextNode(id_=name, text=text, relationships=related), score=score)
