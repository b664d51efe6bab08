"""The ten passages of a Qdrant collection that are nearest to a question."""

import atexit

from embedding import embed
from qdrant_client import QdrantClient

client = QdrantClient(path="qdrant")  # local mode, in this folder; a server is QdrantClient("http://localhost:6333")
atexit.register(client.close)  # else local mode complains when Python ends


def retrieve(question: str) -> list[dict]:
    """Best first. The ids of points are numbers, so the passage's own id is in the payload."""
    points = client.query_points("handbook", query=embed(question), limit=10).points
    return [{"chunk_id": point.payload["id"], "score": point.score, "text": point.payload["text"]} for point in points]
