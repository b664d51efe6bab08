"""Gold sets and runs in a line each: what the tests of the details begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rankgate.gates.evaluation import DETAIL_FIELDS
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan
from rankgate.metrics.scoring import score
from rankgate.model.scores import Scores
from rankgate.model.values import Details, Gold, Ranking, Sample


def gold_of(relevant: Mapping[str, str], tags: Mapping[str, Sequence[str]] | None = None) -> Gold:
    """`{"q1": "a b"}` are two relevant documents for q1."""
    samples = {
        query_id: Sample(
            query_id=query_id, gains=dict.fromkeys(ids.split(), 1.0), tags=tuple((tags or {}).get(query_id, ()))
        )
        for query_id, ids in relevant.items()
    }
    return Gold(samples=samples, name="gold.yaml", format="yaml", fingerprint="")


def with_new(scores: Scores) -> Scores:
    """A baseline to which all questions are new that it lacks."""
    return replace(scores, new_queries=scores.missing)


def scores_of(
    gold: Gold, lists: Mapping[str, str], metrics: str = "recall@5", latency: Mapping[str, float] | None = None
) -> Scores:
    """A run scored with all that the details read."""
    rankings = [
        Ranking(
            query_id,
            ids.split(),
            details=Details(latency_ms={"total": latency[query_id]} if latency and query_id in latency else None),
        )
        for query_id, ids in lists.items()
    ]
    return score(gold, rankings, Plan(metrics=parse_metrics(metrics), keep_matched=True, also=DETAIL_FIELDS))
