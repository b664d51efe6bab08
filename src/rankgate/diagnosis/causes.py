"""What alone would have made the lists what they are: each cause a test on two lists of one question. Pure.

A cause is something that, done to the baseline's list, gives the list of now. A list has at most one. How often that
happens by chance is counted on lists of different questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from rankgate.diagnosis.listings import Listings
from rankgate.diagnosis.movements import document_moves, first_k
from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.gaps import baseline_column
from rankgate.model.details import Cause, fate_of
from rankgate.model.gate_result import GateResult
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, Gold, Sample, Verdict
from rankgate.statistics.binomial import at_least

LEVEL = 0.01  # one-sided, of every test here
MIN_SHARE = 0.5  # of the questions that got worse: no two causes explain more than half
DEEPER = 2  # times k: in shorter lists what fell below the last rank looks like what is gone
MIN_STALE = 10  # ids of the gold set

STALE = "stale_ids"
# Where each says to look, and what it says after "38 of the 40 questions that got worse"; of so few as one none holds.
SAYS = {
    "mixed_up": ("which list goes with which question", "have the list that the baseline returned for another one"),
    "reranker": (
        "the step after retrieval, such as a reranker",
        "still have the relevant documents before reranking (`raw_topk`), as high as they need to be",
    ),
    "order": (
        "the order of the results, such as a reranker or the sorting",
        "return the same documents as before in another order",
    ),
    "shorter": ("the length of the lists", "return only the beginning of the baseline's lists"),
    "dropped": (
        "documents that are left out, by the index or by a filter",
        "return the baseline's lists with documents missing, the others in the same order",
    ),
    "added": (
        "documents that are new in the lists, such as copies",
        "return the baseline's lists with documents in between that the baseline never returned",
    ),
    STALE: (
        "the ids of the gold set",
        "have ids that the baseline never returned in place of relevant ids that no list holds now",
    ),
}


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """What got worse by a gate's metric, which is of the list that the run returns.

    `samples` are the gold queries for which both runs have a value, in the order of the gold; `worse` those of them
    that got worse, with what became of their relevant documents. `FINE`: none left the first k, so that they moved
    within it, or the metric sees something else. `unasked` are those of them whose line in the run states no text, or
    another one, `absent` those that have no line there. `proven` says whether the interval of the change excludes zero.
    """

    metric: Metric
    samples: Sequence[Sample]
    worse: Mapping[str, Cause]
    unasked: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    proven: bool
    candidate: Scores
    baseline: Scores


def of_list(metric: Metric) -> bool:
    """Whether a metric, ours or a plug-in's, judges the list that the run returns."""
    return metric.kind in (Kind.RELEVANCE, Kind.CONTENT)


def losses_of(gate: GateResult, metric: Metric, gold: Gold, candidate: Scores, baseline: Scores) -> Losses:
    """Gather what got worse."""
    worse: dict[str, Cause] = {}
    samples: list[Sample] = []
    sign = metric.direction.sign
    columns = zip(candidate.values[metric.name], baseline_column(metric, baseline), strict=True)
    for sample, (value, baseline_value) in zip(gold.samples.values(), columns, strict=True):
        old = baseline.rank_summaries.get(sample.query_id)
        if value is None or baseline_value is None or old is None:
            continue
        samples.append(sample)
        if sign * (value - baseline_value) < -TOLERANCE:
            new = candidate.rank_summaries.get(sample.query_id)
            moved = document_moves(sample, old, new)
            worse[sample.query_id] = fate_of(moved, first_k(metric, old.k), no_result=not (new and new.retrieved))
    unasked = candidate.unasked.intersection(worse)
    return Losses(
        metric=metric,
        samples=samples,
        worse=worse,
        unasked=unasked,
        absent=candidate.missing.intersection(worse) - unasked,
        proven=metric.direction.certain(gate.change.delta_ci) < 0,
        candidate=candidate,
        baseline=baseline,
    )


def speaks(gate: GateResult) -> bool:
    """Whether a gate fails or warns for what it measured, and not for what it could not prove."""
    return gate.verdict in (Verdict.FAIL, Verdict.WARN) and not gate.evidence.only_inconclusive


def fell(gate: GateResult) -> bool:
    """Whether the metric is worse than the baseline's, and the gate limits that."""
    return gate.limits.regression_max is not None and gate.direction.sign * (gate.change.delta or 0.0) < -TOLERANCE


def floor_broken(gate: GateResult) -> bool:
    """Whether the value is beyond the gate's `threshold`."""
    value, floor = gate.measured.value, gate.limits.threshold
    return value is not None and floor is not None and gate.direction.sign * (value - floor) < -TOLERANCE


class Explanation(NamedTuple):
    """A cause, a key of `SAYS`; the questions that it explains; and for how many of all it seems to hold by chance."""

    cause: str
    queries: list[str]
    by_chance: int


def explain(losses: Losses, now: Listings | None, baseline: Listings | None) -> Explanation | None:
    """The one cause that explains more than half of the questions that got worse, and more than chance does.

    None where there is none: the interval of the change includes zero, nothing explains so many, or the one-sided
    binomial test against the rate by chance, (hits + 1) / (trials + 2), does not pass at 1 %.
    """
    if not losses.proven or now is None or baseline is None:
        return None
    lists = _Pairs(losses, now, baseline)
    causes = {query: lists.cause(query, query) for query in losses.worse}
    cause, count = max(Counter(causes.values()).items(), key=lambda each: each[1], default=(None, 0))
    if cause is None or count <= MIN_SHARE * len(losses.worse):
        return None
    ids = [sample.query_id for sample in losses.samples]
    by_chance = sum(lists.cause(one, two) == cause for one, two in zip(ids, [*ids[1:], *ids[:1]], strict=True))
    if cause == "mixed_up":
        by_chance = len(ids) - len({*map(lists.before_of, ids)})
    queries = [query for query, each in causes.items() if each == cause]
    if at_least(count, len(losses.worse), (by_chance + 1) / (len(ids) + 2)) >= LEVEL:
        return None
    if cause == STALE and not _stale(losses, queries, now, baseline):
        return None
    return Explanation(cause, queries, by_chance)


def _stale(losses: Losses, queries: Sequence[str], now: Listings, baseline: Listings) -> bool:
    """Whether the longest lists are as long as before, enough relevant ids are gone, and as many new ones are there."""
    samples = {sample.query_id: sample for sample in losses.samples}
    relevant: set[str] = set()
    listed: set[str] = set()
    for query in queries:
        relevant.update(samples[query].relevant())
        listed.update(now.by_query[query].ids)
    gone = {doc for doc in relevant if doc in baseline.documents and doc not in now.documents}
    new = {item for item in listed if item not in baseline.documents}
    return _longest(now) == _longest(baseline) and len(new) >= len(gone) >= MIN_STALE


def _longest(run: Listings) -> int:
    return max((len(each.ids) for each in run.by_query.values()), default=0)


class _Pairs:
    """The lists of both runs, and what of all of them a single pair is read with."""

    def __init__(self, losses: Losses, now: Listings, baseline: Listings) -> None:
        self.samples = {sample.query_id: sample for sample in losses.samples}
        self.metric = losses.metric
        self.now = now
        self.baseline = baseline
        shared = Counter(map(self.before_of, self.samples))
        # The question that a list of the baseline is of, where it is of one alone.
        self.owners = {before: query for query in self.samples if shared[before := self.before_of(query)] == 1}
        answered = (query for query in self.samples if query in now.by_query)
        head = {item for query in answered for item in now.by_query[query].ids[: self.k_of(query)]}
        self.reminted = _reminted(head, now.documents, baseline.documents)

    def k_of(self, query: str) -> int:
        return first_k(self.metric, self.samples[query].k or 0)

    def before_of(self, query: str) -> tuple[str, ...]:
        return tuple(self.baseline.by_query[query].ids) if query in self.baseline.by_query else ()

    def cause(self, query: str, as_of: str) -> str | None:
        """What turns the baseline's list for `as_of` into the list of now for `query`; None where nothing known."""
        listing = self.now.by_query.get(query)
        earlier = self.baseline.by_query.get(as_of)
        if listing is None or earlier is None:
            return None
        new = list(listing.ids)
        old = list(earlier.ids)
        k = self.k_of(as_of)
        if not new or not old or new == old:
            return None
        lost = [doc for doc in self.samples[as_of].relevant() if doc in old[:k] and doc not in new[:k]]
        present = set(new)
        kept = [item for item in old if item in present]
        known = [item for item in new if item in self.baseline.documents]
        fresh = {item for item in new[:k] if item not in self.baseline.documents}
        enough = len(old) >= DEEPER * k and 2 * len(kept) >= len(old)
        holds = {
            "mixed_up": query == as_of and self.owners.get(tuple(new), query) != query,
            "shorter": new == old[: len(new)],
            "reranker": bool(lost) and _were_retrieved(lost, listing.raw or (), earlier.raw or (), k),
            "order": set(old) == present,
            "dropped": enough and new[: len(kept[:k])] == kept[:k],
            "added": bool(fresh) and len(known) >= k and known[:k] == old[:k],
            STALE: bool(lost and fresh) and self._renamed(new, old, lost, fresh, k),
        }
        return next((cause for cause, held in holds.items() if held), None)

    def _renamed(self, new: list[str], old: list[str], lost: list[str], fresh: set[str], k: int) -> bool:
        """Whether fresh ids stand where ids that are gone stood, or are of documents that have fresh ids alone."""
        gone = self.now.documents
        if any(doc in gone or doc == old[-1] for doc in lost):
            return False  # the place of the last one goes to whatever follows
        if all(item == was or (item in fresh and was not in gone) for item, was in zip(new[:k], old[:k], strict=False)):
            return True
        there = {self.now.documents[item] for item in fresh}
        return all(self.baseline.documents[doc] in there & self.reminted for doc in lost)


def _were_retrieved(docs: Sequence[str], raw: Sequence[str], baseline: Sequence[str], k: int) -> bool:
    """Whether the list before reranking has documents in its first k, or as high as that of the baseline has them."""
    return all(
        doc in raw and raw.index(doc) < max(k, baseline.index(doc) + 1 if doc in baseline else 0) for doc in docs
    )


def _reminted(head: set[str], now: Mapping[str, str], baseline: Mapping[str, str]) -> set[str]:
    """Documents of which the baseline returned ids and now others are; empty where fresh ids are of other ones too."""
    persisting = {document for item, document in baseline.items() if item in now}
    gone = {document for item, document in baseline.items() if item not in now}
    fresh = Counter(now[item] for item in head if item not in baseline)
    reused = fresh.keys() & (gone - persisting)
    return reused if sum(fresh[document] for document in reused) >= 0.9 * sum(fresh.values()) else set()
