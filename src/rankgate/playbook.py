"""What each cause looks like in numbers: small rules in one table, each with the evidence that it stands on. Pure.

A rule looks at one violated gate and says nothing unless its numbers say it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from rankgate.cases import RANKED, Case, Evidence, Found, Kind, fell
from rankgate.metrics.base import Unit
from rankgate.model import MatchedQuery
from rankgate.staleness import LostIds
from rankgate.wording import count_text, value_text

LEAST_DROP = 0.01  # smaller changes need no explanation, and carry none
HOLDS = 0.25  # of the drop beside it: what fell by no more than that holds
FALLS_ALONG = 0.5  # of the drop beside it
HIGH = 0.9  # recall with which the index has done its work
LOW = 0.7  # recall below which it has not
GAP = 0.1  # between recall far down and in the first k, that a reranker could close
FIRST = 0.6  # mrr below which right documents rarely stand first
ENOUGH = 0.8  # recall with which a reader finds most of what there is
MIXED = 0.5  # precision at or below which at least half of what is shown is something else
MOST = 0.5  # of the losses
ONE_STAGE = 0.7  # of the time, or of its rise
TAG_SHARE, TAG_LIFT, TAG_LEAST = 0.6, 2.0, 5  # of the losers, by how much more than of all, and how many
CHANCE = 0.05  # that some tag stands out as much by chance, at most
EMPTY_SHARE = 0.1  # of the queries: without a baseline to tell that there was something before
_STAGES = ("retrieve", "rerank")


class Rule(msgspec.Struct, frozen=True):
    """One finding of the playbook: what it is called, which gates it may explain, and when it holds."""

    name: str
    kinds: frozenset[Kind]
    look: Callable[[Case], Found | None]


def stale_ids(lost: LostIds) -> Found:
    """Ids of the gold set that its search returns no more: nothing else needs explaining then."""
    text = (
        f"the ids of the gold set: {len(lost.gone):,} of {count_text(lost.found, 'right chunk')} that the baseline "
        "found are in no list now, while other chunks of their documents are"
    )
    return text, {"found_before": lost.found, "gone": len(lost.gone), "example": lost.gone[0]}


def _no_results(case: Case) -> Found | None:
    """Questions without any result, absent ones included: the run broke, not the ranking."""
    empty = case.candidate.missing | {query.query_id for query, _ in case.pairs if not query.retrieved}
    worse = [move.query_id for move in case.moved if move.worse]
    hit = sum(query_id in empty for query_id in worse)
    total = len(case.candidate.query_ids)
    evidence: Evidence = {"without_results": len(empty), "questions": total, "worse": len(worse)}
    if worse and hit > MOST * len(worse):
        return (
            f"the run itself: of {count_text(len(worse), 'question')} that lost, {hit:,} have no result now",
            evidence,
        )
    if case.before is None and len(empty) > EMPTY_SHARE * total:
        return f"the run itself: {len(empty):,} of {count_text(total, 'question')} have no result at all", evidence
    return None


def _one_tag(case: Case) -> Found | None:
    """Most of the losers share a tag that few of all queries have, and more than chance would give."""
    worse = {move.query_id: move.tags for move in case.moved if move.worse}
    if case.before is None or len(worse) < TAG_LEAST:
        return None
    losing = Counter(tag for tags in worse.values() for tag in set(tags))
    least = max(TAG_LEAST, TAG_SHARE * len(worse))
    every = {
        tag: sum([tag in query.sample.tags for query, _ in case.pairs if query.sample])
        for tag, count in losing.items()
        if count >= least
    }
    chance, tag = min(
        (
            (_chance(losing[tag] / len(worse), of_all / len(case.pairs), len(worse)), tag)
            for tag, of_all in every.items()
            if losing[tag] * len(case.pairs) >= TAG_LIFT * of_all * len(worse)
        ),
        default=(1.0, ""),
    )
    if not tag or chance * len(losing) > CHANCE:
        return None
    text = (
        f"one part of the questions: {_of(losing[tag], len(worse))} that lost share a tag that "
        f"{_share(every[tag] / len(case.pairs))} of all have"
    )
    return text, {"tag": tag, "worse": losing[tag], "worse_in_all": len(worse), "tagged": every[tag]}


def _chance(share: float, base: float, count: int) -> float:
    """An upper bound of the chance that so large a share of `count` draws falls on what is `base` of all (Chernoff)."""
    if share <= base or base <= 0:
        return 1.0
    away = share * math.log(share / base)
    if share < 1:
        away += (1 - share) * math.log((1 - share) / (1 - base))
    return math.exp(-count * away)


def _chunks(case: Case) -> Found | None:
    """Index or chunking, where the documents are still found: the chunks with the answers are not."""
    lost = case.lost
    if lost is None or lost.near <= MOST * lost.pairs or case.top_drop < LEAST_DROP:
        return None
    text = (
        f"the chunker: of {count_text(lost.pairs, 'right chunk')} that the lists lost, {lost.near:,} have another "
        "chunk of their document there; the documents are found, the facts in them are not"
    )
    return text, {"chunks_lost": lost.pairs, "with_another_chunk": lost.near, **_numbers(case)}


def _reranker(case: Case) -> Found | None:
    """Raw or deep recall holds, recall in the first k does not: the right documents are there, but too low."""
    if case.deep is None:
        return None
    now, before = case.now, case.before
    if before:
        holds = case.top_drop >= LEAST_DROP and case.deep_drop <= HOLDS * case.top_drop
        what = f"{case.far} holds ({_moved(before.deep, now.deep)}) while {case.top} fell"
        what += f" ({_moved(before.recall, now.recall)})"
    else:
        holds = now.deep >= HIGH and now.deep - now.recall >= GAP
        what = f"{case.far} is {_share(now.deep)}, {case.top} only {_share(now.recall)}"
    text = f"the reranker, or a small k: {what}; the right documents are retrieved, and end up too low"
    return (text, _numbers(case)) if holds else None


def _index(case: Case) -> Found | None:
    """Recall is low far down as well: the right documents are not retrieved at all."""
    if case.deep is None:
        return None
    now, before = case.now, case.before
    if before:
        holds = case.top_drop >= LEAST_DROP and case.deep_drop >= FALLS_ALONG * case.top_drop
        what = f"{case.far} fell ({_moved(before.deep, now.deep)}) along with {case.top}"
        what += f" ({_moved(before.recall, now.recall)})"
    else:
        holds = now.deep < LOW
        what = f"{case.far} is only {_share(now.deep)}"
    text = f"the index, the embeddings or the chunks: {what}; right documents are not retrieved at all"
    return (text, _numbers(case)) if holds else None


def _buried(case: Case) -> Found | None:
    """Recall holds, the order got worse: a re-ranking bug, not coverage."""
    gate, now, before = case.gate, case.now, case.before
    if before:
        holds = case.fall >= LEAST_DROP and case.top_drop <= HOLDS * case.fall
        what = f"{case.top} holds ({_moved(before.recall, now.recall)}) while {gate.metric} fell"
    else:
        holds = now.recall >= HIGH and now.mrr < FIRST
        what = f"{case.top} is {_share(now.recall)}, yet mrr only {now.mrr:.3f}"
    text = f"the order of the results, not what is found: {what}"
    return (text, _numbers(case)) if holds else None


def _clutter(case: Case) -> Found | None:
    """Recall is high, precision low: the right documents stand among too many others."""
    gate, now, before = case.gate, case.now, case.before
    if gate.value is None:
        return None
    if before:
        holds = case.fall >= LEAST_DROP and case.top_drop <= HOLDS * case.fall
        what = f"{case.top} holds ({_moved(before.recall, now.recall)}) while {gate.metric} fell"
    else:
        holds = now.recall >= ENOUGH and gate.value <= MIXED
        what = f"{case.top} is {_share(now.recall)}, {gate.metric} only {_share(gate.value)}"
    text = f"clutter: {what}; a smaller k or a cut-off by score would lose little"
    return (text, _numbers(case) | {"precision": gate.value}) if holds else None


def _freshness(case: Case) -> Found | None:
    """Of the results that are not fresh, whether they lack a version or have one that is too late."""
    shown = undated = late = 0
    for query, _ in case.pairs:
        day = query.sample.as_of if query.sample else None
        items = query.details.items if query.details else None
        if day is not None and items:
            versions = [item.version for item in items[: case.k]]
            shown += len(versions)
            undated += versions.count(None)
            late += sum(version is not None and version > day for version in versions)
    if not undated + late:
        return None
    share = f"of {count_text(shown, 'result')}"
    if undated > late:
        text = f"how the index states versions: {undated:,} {share} have no `doc_version`"
    else:
        text = f"the filter by date: {late:,} {share} are of a version after the day asked about"
    return text, {"results": shown, "without_version": undated, "after_the_day": late}


def _latency(case: Case) -> Found | None:
    """Which stage takes the time, or the time that was added."""
    if "stage=" in case.gate.metric:
        return None  # the gate says it already
    now = {stage: _mean_time((new for new, _ in case.pairs), stage) for stage in _STAGES}
    before = {stage: _mean_time((old for _, old in case.pairs if old), stage) for stage in _STAGES}
    risen = fell(case.gate)
    spent = {
        stage: max(0.0, time - (before[stage] or 0.0)) if risen else time
        for stage, time in now.items()
        if time is not None and (not risen or before[stage] is not None)
    }
    if len(spent) < len(_STAGES) or not any(spent.values()):
        return None
    stage = max(spent, key=lambda each: spent[each])
    if spent[stage] < ONE_STAGE * sum(spent.values()):
        return None
    evidence: Evidence = {f"{each}_ms": time for each, time in now.items() if time is not None}
    told: list[str] = []
    for each in sorted(_STAGES, key=lambda each: each != stage):
        text = f"{each} takes {value_text(now[each] or 0.0, Unit.MILLISECONDS)}"
        if risen:
            evidence[f"{each}_ms_before"] = before[each] or 0.0
            text += f", {value_text(before[each] or 0.0, Unit.MILLISECONDS)} before"
        told.append(text)
    return f"the {stage} stage: on average {'; '.join(told)}", evidence


# In the order of how much each tells: causes outside the search first, then one place, then one step.
RULES = (
    Rule("no_results", RANKED, _no_results),
    Rule("one_tag", RANKED, _one_tag),
    Rule("chunker", RANKED, _chunks),
    Rule("reranker_or_small_k", RANKED, _reranker),
    Rule("index_or_chunking", RANKED, _index),
    Rule("buried_evidence", frozenset({Kind.ORDER}), _buried),
    Rule("clutter", frozenset({Kind.PRECISION}), _clutter),
    Rule("freshness", frozenset({Kind.FRESHNESS}), _freshness),
    Rule("latency_stage", frozenset({Kind.LATENCY}), _latency),
)


def _mean_time(queries: Iterable[MatchedQuery], stage: str) -> float | None:
    times = [
        time
        for query in queries
        if query.details and query.details.latency_ms and (time := query.details.latency_ms.get(stage)) is not None
    ]
    return math.fsum(times) / len(times) if times else None


def _numbers(case: Case) -> Evidence:
    """The means of both runs under the names that the finding uses."""
    found: Evidence = {"questions": len(case.pairs)}
    for suffix, levels in (("", case.now), ("_before", case.before)):
        if levels:
            found[f"{case.top}{suffix}"] = levels.recall
            if case.deep is not None:
                found[f"{case.far}{suffix}"] = levels.deep
            found[f"mrr{suffix}"] = levels.mrr
            found[f"results{suffix}"] = levels.length
    return found


def _of(count: int, total: int) -> str:
    return f"all {total:,}" if count == total else f"{count:,} of the {total:,}"


def _moved(before: float, now: float) -> str:
    return f"{_share(before)} → {_share(now)}"


def _share(value: float) -> str:
    return value_text(value, Unit.SHARE)
