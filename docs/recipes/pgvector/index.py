"""Writes the handbook into the table `handbook`, which is made anew."""

import json
from pathlib import Path

from embedding import SIZE, embed
from pgvector import Vector
from retriever import connection

passages = [json.loads(line) for line in Path("handbook.jsonl").read_text().splitlines()]
with connection.transaction(), connection.cursor() as cursor:
    cursor.execute("DROP TABLE IF EXISTS handbook")
    cursor.execute(f"CREATE TABLE handbook (id text PRIMARY KEY, body text, embedding vector({SIZE}))")
    cursor.executemany(
        "INSERT INTO handbook VALUES (%s, %s, %s)",
        [(each["id"], each["text"], Vector(embed(f"{each['title']} {each['text']}"))) for each in passages],
    )
print(f"indexed {len(passages)} passages")
