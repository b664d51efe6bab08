"""What became of the gold set since the baseline was accepted: queries added, removed, relabelled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import msgspec

from rankgate.model.values import Gold

MAX_MARKED = 100_000  # queries; a larger gold set is remembered as a whole only
MAX_IDS = 20
_BATCH = 1_000  # queries: the text of a whole large gold set would take more than the set
_LENGTH = 8  # hexadecimal digits: of 100,000 relabelled queries one would go unnoticed in 40,000 such sets


class GoldMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The gold set at the time of acceptance.

    `fingerprint` is of the judgments. `judged` has a short digest of each query's judgments, by which one sees later
    what changed; None in records, beside which the store keeps them, and for very large gold sets.
    `queries_fingerprint` is of ids and questions, None in older records; `as_of` the first and last day for which a
    question is asked, None where none says.
    """

    path: str
    queries: int
    fingerprint: str
    judged: Mapping[str, str] | None = None
    queries_fingerprint: str | None = None
    as_of: tuple[str, str] | None = None


class GoldChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How the gold set differs from the one that was current when the baseline was accepted.

    `queries` is how many it had then. `added`, `removed` and `relabelled` count queries; None where the baseline does
    not say which it knew, so that all one can tell is that something changed. The ids are the first of each.
    """

    queries: int
    added: int | None = None
    removed: int | None = None
    relabelled: int | None = None
    added_ids: list[str] = []
    removed_ids: list[str] = []
    relabelled_ids: list[str] = []


def mark_of(gold: Gold, fingerprint: str, *, by_query: bool = True) -> GoldMark:
    """What to remember of the gold set when a baseline is accepted; `by_query` also which queries it had."""
    days = [sample.as_of for sample in gold.samples.values() if sample.as_of is not None]
    return GoldMark(
        path=gold.name,
        queries=len(gold.samples),
        fingerprint=fingerprint,
        judged=judged(gold) if by_query and len(gold.samples) <= MAX_MARKED else None,
        queries_fingerprint=queries_fingerprint(gold),
        as_of=(min(days), max(days)) if days else None,
    )


def gold_changes(gold: Gold, fingerprint: str, mark: GoldMark | None) -> GoldChanges | None:
    """What changed; None where nothing did, or nothing is known of the gold set of that time."""
    if mark is None or mark.fingerprint == fingerprint:
        return None
    if mark.judged is None:
        return GoldChanges(queries=mark.queries)
    then, now = mark.judged, judged(gold)
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


def judged(gold: Gold) -> dict[str, str]:
    """A short digest of each query's judgments, whatever their order in the file."""
    encode, digest = msgspec.json.Encoder().encode, hashlib.sha256
    return {
        query_id: digest(b"".join(map(encode, sample.judgments()))).hexdigest()[:_LENGTH]
        for query_id, sample in gold.samples.items()
    }


def queries_fingerprint(gold: Gold) -> str:
    """A digest of ids and questions, whatever their judgments, the format and the order."""
    digest, samples = hashlib.sha256(), gold.samples
    queries = sorted(samples)
    for start in range(0, len(queries), _BATCH):
        batch = [(query, samples[query].question) for query in queries[start : start + _BATCH]]
        digest.update((", " if start else "").encode() + json.dumps(batch)[1:-1].encode())
    return digest.hexdigest()
