"""Writes the handbook into the index `handbook`, which is made anew as index.json says."""

import json
import os
from pathlib import Path

from opensearchpy import OpenSearch, helpers

client = OpenSearch(os.environ["OPENSEARCH"], timeout=60)
client.indices.delete(index="handbook", ignore_unavailable=True)
client.indices.create(index="handbook", body=json.loads(Path("index.json").read_text()))
passages = [json.loads(line) for line in Path("handbook.jsonl").read_text().splitlines()]
actions = [{"_index": "handbook", "_id": passage.pop("id"), "_source": passage} for passage in passages]
helpers.bulk(client, actions, refresh=True)
print(f"indexed {len(actions)} passages")
