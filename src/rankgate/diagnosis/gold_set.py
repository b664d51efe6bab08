"""Whether the gold set still speaks of the ids that the retriever returns, and what became of it since the baseline.

Re-chunked ids look like 0 %. The matched queries tell cheaply that nothing of the kind can be; only where it can be is
the run read once more. Pure.
"""

from __future__ import annotations

import hashlib
import json

import msgspec
from msgspec.structs import replace

from rankgate.errors import ProblemKind, bad_input
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import By
from rankgate.metrics.plan import Plan, require_fields, require_gold_queries
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.lineage import MAX_IDS, GoldChanges, GoldMark
from rankgate.model.scores import Scores, Unfit
from rankgate.model.values import Gold, RunField

STALE_SHARE = 0.01  # of the relevant ids that occur in the lists, and of the lists' ids that the gold names
MIN_CHANGED = 3  # questions with another text than the gold quotes: of fewer nobody can say that next to none is right
MAX_MARKED = 100_000  # queries; a larger gold set is remembered as a whole only
_BATCH = 1_000  # queries: the text of a whole large gold set would take more than the set
_LENGTH = 8  # hexadecimal digits: of 100,000 relabelled queries one would go unnoticed in 40,000 such sets

_OF_LISTS = frozenset({RunField.RAW, RunField.REWRITES, RunField.JUDGED, RunField.NEGATIVES})


def refuse_unfit(gold: Gold, plan: Plan, candidate: ScoredRun, baseline: ScoredRun | None) -> None:
    """A run that answers other questions, lacks what is read, or speaks of other ids than the gold."""
    require_gold_queries(candidate.scores, candidate.run.name, gold)
    require_fields(candidate.scores, plan, candidate.run.name)
    if baseline:  # of it the matching alone: metrics without values are not compared
        require_fields(baseline.scores, replace(plan, metrics=[]), baseline.run.name)
    refuse_stale(gold, plan, candidate, baseline.scores if baseline else None)


def refuse_stale(gold: Gold, plan: Plan, candidate: ScoredRun, baseline: Scores | None = None) -> None:
    """A gold set of other ids cannot judge a run: that is no FAIL but no verdict at all; see `stale_text`.

    Beside a baseline that finds more, short lists may be those of a broken search, which shows as a loss.
    """
    compared = baseline is not None and (not baseline.rank_summaries or finds_enough(gold, baseline, STALE_SHARE))
    if text := stale_text(gold, plan, candidate, only_full=compared):
        raise bad_input(text, file=gold.name, kind=ProblemKind.GOLD_STALE)


def with_foreign(gold: Gold, plan: Plan, baseline: ScoredRun) -> ScoredRun:
    """A baseline, marked where the gold is stale for it: then no metric of ids has a value to compare with."""
    if not stale_text(gold, plan, baseline):
        return baseline
    foreign = frozenset(each.name for each in plan.metrics if by_ids(each))
    return replace(baseline, scores=replace(baseline.scores, foreign=foreign))


def by_ids(metric: Metric) -> bool:
    """Whether a metric reads nothing beside lists and judgments, or is of the passages that lists hold."""
    return metric.needs <= _OF_LISTS or RunField.PASSAGES in metric.needs


def stale_text(gold: Gold, plan: Plan, run: ScoredRun, *, only_full: bool = False) -> str:
    """How it shows that the gold is stale for a run, and what to do; empty where it is not.

    It is stale where fewer than 1 % of its relevant ids occur in the run, fewer than 1 % of the run's ids in the gold
    set, and not nearly all lists are empty; or they are full, where `only_full` ones prove it.
    That a baseline has the same ids proves nothing: it may share the fault.
    So it is where next to no text that it quotes stands at its place, but others do (see `metrics.passages`).
    Where texts are matched, or no metric looks for relevant documents, ids say nothing; matched by document, or by
    offsets alone, documents count in place of ids. The lists are read only where the matched queries leave it possible.
    """
    by_text = plan.how.by is By.TEXT
    changed = _changed_text(run.scores)
    if changed or by_text or not any(map(by_ids, plan.metrics)) or finds_enough(gold, run.scores, STALE_SHARE):
        return changed
    from rankgate.diagnosis.other_ids import other_ids_text  # noqa: PLC0415 -- paid only where next to nothing is found

    return other_ids_text(gold, plan.how, run, STALE_SHARE, only_full=only_full)


def _changed_text(candidate: Scores) -> str:
    """How it shows that the documents are not those of which the gold quotes passages; empty where they are."""
    changed = sum(why is Unfit.STALE for why in candidate.unfit.values())
    present = sum(any(summary.ranks) for summary in candidate.rank_summaries.values())
    if changed < MIN_CHANGED or present >= STALE_SHARE * (changed + present):
        return ""
    return (
        f"gold stale: for {changed:,} of {changed + present:,} questions the run shows another text where the gold set "
        "quotes a passage; did the documents change, or how their code points are counted? Correct the spans; "
        "`rankgate gold anchor` lists those that stand elsewhere"
    )


def finds_enough(gold: Gold, candidate: Scores, share: float) -> bool:
    """Whether queries find such a share of the relevant ids in their own lists; most runs show that at once."""
    enough = share * sum(len(sample.gains) for sample in gold.samples.values())
    occurring: set[str] = set()
    for query_id, summary in candidate.rank_summaries.items():
        docs = gold.samples[query_id].relevant()
        occurring.update(doc for doc, rank in zip(docs, summary.ranks, strict=True) if rank is not None)
        if occurring and len(occurring) >= enough:
            return True
    return False


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
