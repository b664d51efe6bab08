"""A LangChain retriever over chunks of the handbook, in a store in memory."""

import json
from pathlib import Path

from embedding import embed
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

CHUNK_SIZE = 400  # characters


class Letters(Embeddings):
    """Your embedding model goes here, such as OpenAIEmbeddings()."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return embed(text)


splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_SIZE, chunk_overlap=0)
chunks = [
    Document(text, id=f"{passage['id']}#{number}")
    for passage in map(json.loads, Path("handbook.jsonl").read_text().splitlines())
    for number, text in enumerate(splitter.split_text(f"{passage['title']}\n\n{passage['text']}"))
]
store = InMemoryVectorStore(Letters())
store.add_documents(chunks)
retriever = store.as_retriever(search_kwargs={"k": 10})
