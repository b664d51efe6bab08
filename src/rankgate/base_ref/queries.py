"""Two gold sets: which queries changed, and those of the base that the pull request still has, to judge both. Pure."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rankgate.criteria import Criteria, Gate, SegmentRule
from rankgate.criteria.queries import must_pass_rows
from rankgate.model.base_ref import QueryChanges
from rankgate.model.gold_changes import MAX_IDS
from rankgate.model.tags import segments_of
from rankgate.model.values import Gold, Sample


def query_changes(before: Gold, after: Gold) -> QueryChanges | None:
    """How a gold set differs from the base's; None where it does not. Private queries are counted and not named."""
    old, new = before.all_samples, after.all_samples
    private = before.left_out.keys() | after.left_out.keys()
    added = [query_id for query_id in new if query_id not in old]
    removed = [query_id for query_id in old if query_id not in new]
    both = [(query_id, sample, new[query_id]) for query_id, sample in old.items() if query_id in new]
    relabelled = [query_id for query_id, was, now in both if not _judged_alike(was, now)]
    others = ((query_id, was, now) for query_id, was, now in both if _judged_alike(was, now))
    edited = [query_id for query_id, was, now in others if _other(was) != _other(now, was)]
    changes = {"added": added, "removed": removed, "relabelled": relabelled, "edited": edited}
    if not any(changes.values()):
        return None
    named = {f"{name}_ids": [each for each in ids if each not in private][:MAX_IDS] for name, ids in changes.items()}
    counts = {name: len(ids) for name, ids in changes.items()}
    return msgspec.convert({"queries": len(old), **counts, **named}, QueryChanges)


def _judged_alike(was: Sample, now: Sample) -> bool:
    """Whether gains and claims are the same, in any order."""
    return was.gains == now.gains and (was.claims == now.claims or set(was.claims) == set(now.claims))


def _other(sample: Sample, was: Sample | None = None) -> Sample:
    """What a verdict can depend on beside the judgments; of the tags those that the query had before."""
    tags = [tag for tag in sample.tags if was is None or tag in was.tags]
    return replace(sample, gains={}, judge_gains={}, line=None, tags=tuple(sorted(tags)))


def common(before: Gold, after: Gold) -> Gold | None:
    """The base's gold set without the queries that the pull request removed; None where that leaves none to score."""
    kept = {query_id: sample for query_id, sample in before.samples.items() if query_id in after.samples}
    if not any(sample.relevant() for sample in kept.values()):
        return None
    return before if len(kept) == len(before.samples) else replace(before, samples=kept, fingerprint=None)


def musts_gone(criteria: Criteria, before: Gold, after: Gold) -> bool:
    """Whether a question that must pass by the old gold set no longer has to by the new one."""
    return any(_musts(gate, before) - _musts(gate, after) for gate in criteria.gates if gate.must_pass)


def _musts(gate: Gate, gold: Gold) -> set[str]:
    queries = list(gold.samples)
    return {queries[row] for row in must_pass_rows(gate, gold)}


def fitting(criteria: Criteria, gold: Gold) -> Criteria:
    """The criteria without the must-pass queries, tags and segments that only queries out of this gold set have."""
    return criteria.model_copy(update={"gates": tuple(_fitting(gate, gold) for gate in criteria.gates)})


def _fitting(gate: Gate, gold: Gold) -> Gate:
    known = {*gold.samples, *(tag for sample in gold.samples.values() for tag in sample.tags)}
    rules = (_fitting_rule(rule, gold) for rule in gate.segments)
    must_pass = tuple(entry for entry in gate.must_pass if entry in known)
    return gate.model_copy(update={"must_pass": must_pass, "segments": tuple(rule for rule in rules if rule)})


def _fitting_rule(rule: SegmentRule, gold: Gold) -> SegmentRule | None:
    segments = segments_of(gold, rule.by)
    if not segments or rule.min_queries > len(gold.samples):
        return None
    single = len(rule.by) == 1
    values = {name.partition(":")[2] if single else name for name in segments}
    return rule.model_copy(update={"only": {value: own for value, own in rule.only.items() if value in values}})
