"""The ten passages of a table with pgvector that are nearest to a question."""

import os

import psycopg
from embedding import embed
from pgvector import Vector
from pgvector.psycopg import register_vector

connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
register_vector(connection)

NEAREST = """
    SELECT id, 1 - distance, body
    FROM (SELECT id, body, embedding <=> %s AS distance FROM handbook) AS measured
    ORDER BY distance, id LIMIT 10
"""


def retrieve(question: str) -> list[dict]:
    """Best first; the id decides between equals, so that the same question has the same order every time."""
    rows = connection.execute(NEAREST, [Vector(embed(question))]).fetchall()
    return [{"chunk_id": passage, "score": score, "text": body} for passage, score, body in rows]
