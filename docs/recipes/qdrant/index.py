"""Writes the handbook into the collection `handbook`, which is made anew."""

import json
from pathlib import Path

from embedding import SIZE, embed
from qdrant_client.models import Distance, PointStruct, VectorParams
from retriever import client

if client.collection_exists("handbook"):
    client.delete_collection("handbook")
client.create_collection("handbook", vectors_config=VectorParams(size=SIZE, distance=Distance.COSINE))
passages = [json.loads(line) for line in Path("handbook.jsonl").read_text().splitlines()]
client.upsert(
    "handbook",
    [
        PointStruct(id=number, vector=embed(f"{passage['title']} {passage['text']}"), payload=passage)
        for number, passage in enumerate(passages)
    ],
)
print(f"indexed {len(passages)} passages")
