"""What became of the gold set since the baseline was accepted: queries added, removed, relabelled."""

from __future__ import annotations

import hashlib
import json

import msgspec

from rankgate.model.lineage import MAX_IDS, GoldChanges, GoldMark
from rankgate.model.values import Gold

MAX_MARKED = 100_000  # queries; a larger gold set is remembered as a whole only
_BATCH = 1_000  # queries: the text of a whole large gold set would take more than the set
_LENGTH = 8  # hexadecimal digits: of 100,000 relabelled queries one would go unnoticed in 40,000 such sets


def mark_of(gold: Gold, fingerprint: str, *, by_query: bool = True) -> GoldMark:
    """What to remember of the gold set when a baseline is accepted; `by_query` also which queries it had."""
    days = [sample.as_of for sample in gold.samples.values() if sample.as_of is not None]
    return GoldMark(
        path=gold.name,
        queries=len(gold.samples),
        fingerprint=fingerprint,
        judged=judgment_digests(gold) if by_query and len(gold.samples) <= MAX_MARKED else None,
        queries_fingerprint=queries_fingerprint(gold),
        as_of=(min(days), max(days)) if days else None,
    )


def gold_changes(gold: Gold, fingerprint: str, mark: GoldMark | None) -> GoldChanges | None:
    """What changed; None where nothing did, or nothing is known of the gold set of that time."""
    if mark is None or mark.fingerprint == fingerprint:
        return None
    if mark.judged is None:
        return GoldChanges(queries=mark.queries)
    then = mark.judged
    now = judgment_digests(gold)
    added = [query_id for query_id in now if query_id not in then]
    removed = [query_id for query_id in then if query_id not in now]
    relabelled = [query_id for query_id, digest in now.items() if then.get(query_id, digest) != digest]
    return GoldChanges(
        queries=mark.queries,
        added=len(added),
        removed=len(removed),
        relabelled=len(relabelled),
        added_ids=added[:MAX_IDS],
        removed_ids=removed[:MAX_IDS],
        relabelled_ids=relabelled[:MAX_IDS],
    )


def judgment_digests(gold: Gold) -> dict[str, str]:
    """A short digest of each query's judgments, whatever their order in the file."""
    encode, digest = msgspec.json.Encoder().encode, hashlib.sha256
    return {
        query_id: digest(b"".join(map(encode, sample.judgments()))).hexdigest()[:_LENGTH]
        for query_id, sample in gold.samples.items()
    }


def queries_fingerprint(gold: Gold) -> str:
    """A digest of ids and questions, whatever their judgments, the format and the order."""
    digest = hashlib.sha256()
    samples = gold.samples
    queries = sorted(samples)
    for start in range(0, len(queries), _BATCH):
        batch = [(query, samples[query].question) for query in queries[start : start + _BATCH]]
        digest.update((", " if start else "").encode() + json.dumps(batch)[1:-1].encode())
    return digest.hexdigest()
