"""Writes the workload that scripts/bench measures; the same files on every machine.

    python scripts/bench_workload.py DIR [--queries N] [--depth N] [--seed N]

DIR then holds `gold.jsonl`, `run.jsonl` (the candidate), `accepted.jsonl` (the run before it), the same as
`qrels.txt`, `run.trec` and `accepted.trec`, and a `ship-criteria.yaml` under which the candidate passes.

A query has one to three relevant documents, in three of ten queries graded 1 to 3 with one document judged 0 beside
them. About five in six relevant documents are retrieved, near the top more often than far down. The accepted run is the
candidate's with one document moved in three of ten lists, and with latencies of its own.
"""

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

DOCUMENTS = 1_000_000
MOST_RELEVANT = 3
GRADED = 0.3  # of the queries
FOUND = 0.85  # of the relevant documents
MOVED = 0.3  # of the lists, between the accepted run and the candidate
NEXT_RANK = 0.75  # how likely a relevant document stands lower still, at every rank
CRITERIA = """\
inputs:
  gold: gold.jsonl
  run: run.jsonl
  baseline: baseline
gates:
  - {name: recall@5, threshold: 0.55, regression_max: 0.03}
  - {name: mrr, threshold: 0.40, regression_max: 0.05}
  - {name: ndcg@10, threshold: 0.45, regression_max: 0.03}
  - {name: map, threshold: 0.35, regression_max: 0.03}
  - {name: hit@10, threshold: 0.75, severity: warning}
  - {name: latency(quantile=0.95), threshold: 200, regression_max: 10, severity: warning}
"""


class Query(NamedTuple):
    """A query's judgments and two rankings for it, best first."""

    query_id: str
    gains: dict[str, int]
    candidate: list[str]
    accepted: list[str]


def draw(number: int, depth: int, random: Random) -> Query:
    """One query of the workload."""
    drawn = random.sample(range(DOCUMENTS), depth + MOST_RELEVANT)
    documents = [f"doc-{document:06d}#c{document % 10}" for document in drawn]
    ranking, elsewhere = documents[:depth], documents[depth:]
    graded = random.random() < GRADED
    gains: dict[str, int] = {}
    for place in range(random.choices((1, 2, 3), weights=(60, 25, 15))[0]):
        rank = int(math.log(1 - random.random()) / math.log(NEXT_RANK))
        found = random.random() < FOUND and rank < depth
        gains[ranking[rank] if found else elsewhere[place]] = random.randint(1, 3) if graded else 1
    if graded:
        gains.setdefault(ranking[depth // 2], 0)
    accepted = list(ranking)
    if random.random() < MOVED:
        accepted.insert(random.randrange(depth), accepted.pop(random.randrange(depth)))
    return Query(f"q{number:07d}", gains, ranking, accepted)


def write_gold(directory: Path, queries: Sequence[Query]) -> None:
    """`gold.jsonl` and `qrels.txt`; judgments that are all 1 are a plain list in the former."""
    with (directory / "gold.jsonl").open("w") as lines, (directory / "qrels.txt").open("w") as rows:
        for query in queries:
            binary = set(query.gains.values()) == {1}
            expected = list(query.gains) if binary else query.gains
            lines.write(_json_line({"id": query.query_id, "expected_output": expected}))
            rows.writelines(f"{query.query_id} 0 {document} {gain}\n" for document, gain in query.gains.items())


def write_run(path: Path, rankings: Sequence[tuple[str, Sequence[str]]], random: Random) -> None:
    """A run as `path`.jsonl and `path`.trec; scores fall strictly, so that no tool has to break a tie."""
    with path.with_suffix(".jsonl").open("w") as lines, path.with_suffix(".trec").open("w") as rows:
        for query_id, ranking in rankings:
            scores = [round(20 - 0.1 * rank - 0.05 * random.random(), 6) for rank in range(len(ranking))]
            topk = [
                {"rank": rank, "chunk_id": document, "score": score, "doc_version": f"v{1 + rank % 3}"}
                for rank, (document, score) in enumerate(zip(ranking, scores, strict=True), start=1)
            ]
            latency = {"retrieve": round(random.uniform(5, 45), 3), "rerank": round(random.uniform(20, 120), 3)}
            lines.write(_json_line({"query_id": query_id, "topk": topk, "latency_ms": latency}))
            rows.writelines(
                f"{query_id} Q0 {item['chunk_id']} {item['rank']} {item['score']:.6f} {path.name}\n" for item in topk
            )


def write_workload(directory: Path, *, queries: int, depth: int, seed: int) -> None:
    """All files of the workload."""
    random = Random(seed)  # noqa: S311 -- data for a benchmark, not a secret
    drawn = [draw(number, depth, random) for number in range(queries)]
    directory.mkdir(parents=True, exist_ok=True)
    write_gold(directory, drawn)
    write_run(directory / "run", [(query.query_id, query.candidate) for query in drawn], random)
    write_run(directory / "accepted", [(query.query_id, query.accepted) for query in drawn], random)
    (directory / "ship-criteria.yaml").write_text(CRITERIA)


def _json_line(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the workload that scripts/bench measures.")
    parser.add_argument("directory", metavar="DIR", type=Path, help="where to write; made if missing")
    parser.add_argument("--queries", metavar="N", type=int, default=1_400)
    parser.add_argument("--depth", metavar="N", type=int, default=20)
    parser.add_argument("--seed", metavar="N", type=int, default=1)
    arguments = parser.parse_args()
    write_workload(arguments.directory, queries=arguments.queries, depth=arguments.depth, seed=arguments.seed)
