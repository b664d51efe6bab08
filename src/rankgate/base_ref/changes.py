"""What a pull request changed in the criteria and the gold set, and whether a gate asks for less than it did. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import asdict, replace

from rankgate.criteria import Criteria, Gate, InputFile, Limits, SegmentRule
from rankgate.criteria.judge_block import Budget, CalibrationFile, JudgeBlock
from rankgate.criteria.parts import keys_of
from rankgate.criteria.queries import must_pass_rows
from rankgate.criteria.retriever_block import Retriever
from rankgate.errors import redacted
from rankgate.metrics.lines import Score
from rankgate.metrics.matching import Matching
from rankgate.model.base_ref import GateChange, KeyChange, QueryChanges
from rankgate.model.gold_changes import MAX_IDS
from rankgate.model.tags import segments_of
from rankgate.model.values import Direction, Evidence, Gold, Sample, Unit

_Value = str | float | None
# From the mildest on: what holds by a later one holds by an earlier one.
_ORDER: dict[str, tuple[_Value, ...]] = {
    "gold_changes": ("warn", None, "fail"),
    "fork_runs": ("trusted", "untrusted"),
    "evidence": (Evidence.PROVEN_HARM.value, Evidence.ESTIMATE.value, Evidence.PROVEN_SAFE.value),
    "baseline.accept": ("green", "manual"),
    "baseline.max_age.severity": ("warning", "error"),
    "judge.allow_unjudged": ("warn", None),
}

_OF_CALLS = {"retriever.timeout", "retriever.retries", "retriever.workers"}  # how it is asked, not what


def gate_changes(before: Criteria, after: Criteria) -> list[GateChange]:
    """The gates that differ: those of the base in its order, then the new ones."""
    old, new = ({gate.name: gate for gate in criteria.gates} for criteria in (before, after))
    renamed = renamed_gates(before, after)
    changes: list[GateChange] = []
    for name, gate in old.items():
        now = new.get(renamed.get(name, name))
        if now is None:
            changes.append(GateChange(name=name, change="removed"))
        elif name in renamed:
            changes.append(GateChange(name=name, change="renamed", new_name=now.name, line=now.line))
        elif keys := list(_gate_keys(gate, now)):
            weaker = any(key.weakens for key in keys)
            change = GateChange(name=name, change="weakened" if weaker else "strengthened", keys=keys, line=now.line)
            changes.append(change)
    added = new.keys() - old.keys() - set(renamed.values())
    return changes + [GateChange(name=name, change="added", line=new[name].line) for name in new if name in added]


def renamed_gates(before: Criteria, after: Criteria) -> dict[str, str]:
    """Old name by new name of gates that are otherwise the same."""
    known = {gate.name for gate in before.gates}
    fresh = [gate for gate in after.gates if gate.name not in known]
    kept = {gate.name for gate in after.gates}
    renamed: dict[str, str] = {}
    for gate in before.gates:
        own = {"name": gate.name, "line": gate.line}
        twin = next((other for other in fresh if other.model_copy(update=own) == gate), None)
        if gate.name not in kept and twin is not None:
            fresh.remove(twin)
            renamed[gate.name] = twin.name
    return renamed


def key_changes(before: Criteria, after: Criteria) -> list[KeyChange]:
    """Keys beside the gates that differ. How results are matched, and at which cut-off, counts as weaker either way.

    Where the inputs lie does not: what stands in them is compared by itself.
    """
    pairs = zip(_keys(before, after).items(), _keys(after, before).values(), strict=True)
    return [each for (key, old), new in pairs for each in _changed(key, old, new, weakens=_weakens(key, old, new))]


def _changed(key: str, old: _Value, new: _Value, *, weakens: bool, unit: Unit | None = None) -> Iterator[KeyChange]:
    if old != new:
        yield KeyChange(key=key, before=old, after=new, weakens=weakens, unit=unit)


def _keys(criteria: Criteria, other: Criteria) -> dict[str, _Value]:
    policy, age = criteria.baseline, criteria.baseline.max_age
    files = {"gold": criteria.inputs.gold, "run": criteria.inputs.run, "baseline": criteria.inputs.baseline}
    return {
        "match": _match(criteria.match, other.match),
        "default_k": criteria.default_k,
        "gold_changes": criteria.gold_changes,
        "fork_runs": criteria.fork_runs,
        "waiver_label": criteria.waiver_label,
        **_judge(criteria.judge),
        **_retriever(criteria.retriever),
        "baseline.accept": policy.accept,
        "baseline.max_age.days": age.days,
        "baseline.max_age.commits": age.commits,
        "baseline.max_age.severity": age.severity,
        **{f"inputs.{name}{key}": value for name, file in files.items() for key, value in _file(file).items()},
        "inputs.scores": redacted(criteria.inputs.scores) if criteria.inputs.scores else None,
        "inputs.waivers": redacted(criteria.inputs.waivers) if criteria.waivers_named else None,
    }


def _judge(block: JudgeBlock | None) -> dict[str, _Value]:
    """Every setting of the judge: with another one verdicts mean something else."""
    stated = block.model_dump() if block else {}
    parts = {"budget": Budget.model_fields, "calibration": CalibrationFile.model_fields}
    values = {f"{part}.{key}": (stated.get(part) or {}).get(key) for part, keys in parts.items() for key in keys}
    values |= {key: stated.get(key) for key in JudgeBlock.model_fields if key not in parts}
    parameters = values["parameters"]
    values["parameters"] = json.dumps(parameters, sort_keys=True) if parameters else None
    return {f"judge.{key}": value for key, value in values.items()}


def _retriever(block: Retriever | None) -> dict[str, _Value]:
    """Every setting of what is asked: another retriever is judged by the same gates."""
    stated = {} if block is None else block.model_dump(mode="json", exclude={"line", "map"})
    fields = asdict(block.map) if block and block.map else {}
    stated["map"] = {key: name for key, name in fields.items() if name}
    values: dict[str, _Value] = {}
    for key in keys_of(Retriever):
        value = stated.get(key)
        text = json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else str(value)
        values[f"retriever.{key}"] = redacted(text) if value else None
    return values


def _weakens(key: str, old: _Value, new: _Value) -> bool:
    if key in _ORDER:
        return _ORDER[key].index(new) < _ORDER[key].index(old)
    if key.startswith("baseline.max_age") or key in ("judge.calibration.max_days"):
        return isinstance(old, int | float) and not (isinstance(new, int | float) and new < old)
    return new is not None if key == "waiver_label" else not key.startswith("inputs") and key not in _OF_CALLS


def _gate_keys(old: Gate, new: Gate) -> Iterator[KeyChange]:
    was, now = old.metric, new.metric
    if was.name != now.name:  # limits of another metric, or the other way round, compare with nothing
        turned = isinstance(was, Score) and isinstance(now, Score) and replace(was, better=now.better) == now
        sides = (each.direction.value if turned else each.name for each in (was, now))
        yield from _changed("direction" if turned else "metric", *sides, weakens=True)
        return
    yield from _limits("", old, new, _limits_of(old), _limits_of(new))
    evidence = old.evidence.value, new.evidence.value
    yield from _changed("evidence", *evidence, weakens=_weakens("evidence", *evidence))
    # More of it asks for more proof: of harm before it blocks, or of safety before it passes.
    more = new.confidence > old.confidence
    weakens = {Evidence.PROVEN_HARM: more, Evidence.PROVEN_SAFE: not more, Evidence.ESTIMATE: False}[new.evidence]
    yield from _changed("confidence", old.confidence, new.confidence, weakens=weakens)
    if set(old.must_pass) != set(new.must_pass):
        weakens = not set(old.must_pass) <= set(new.must_pass)
        yield KeyChange(key="must_pass", before=list(old.must_pass), after=list(new.must_pass), weakens=weakens)
    yield from _ceiling("max_unjudged", old.max_unjudged, new.max_unjudged)
    yield from _ceiling("max_lost_queries", old.max_lost_queries, new.max_lost_queries)
    yield from _segments(old, new)


def _segments(old: Gate, new: Gate) -> Iterator[KeyChange]:
    before, after = _by_tags(old.segments), _by_tags(new.segments)
    for name in dict.fromkeys([*before, *after]):
        was, now, key = before.get(name), after.get(name), f"segments.{name}"
        if was is None or now is None:
            sides = (None if rule is None else name for rule in (was, now))
            yield from _changed(key, *sides, weakens=now is None)
            continue
        yield from _limits(f"{key}.", old, new, was.limits_for(None), now.limits_for(None))
        queries = was.min_queries, now.min_queries
        yield from _changed(f"{key}.min_queries", *queries, weakens=queries[1] > queries[0])
        for value in dict.fromkeys([*was.only, *now.only]):
            yield from _limits(f"{key}.only.{value}.", old, new, was.limits_for(value), now.limits_for(value))


def _by_tags(rules: Sequence[SegmentRule]) -> dict[str, SegmentRule]:
    """Rules by the keys that they look at; a second one for the same keys is told apart by its number."""
    named: dict[str, SegmentRule] = {}
    for rule in rules:
        name = "+".join(rule.by)
        again = sum(other.by == rule.by for other in named.values())
        named[f"{name}#{again + 1}" if again else name] = rule
    return named


def _limits_of(gate: Gate) -> Limits:
    return Limits(threshold=gate.threshold, regression_max=gate.regression_max, severity=gate.severity)


def _limits(prefix: str, gate: Gate, now: Gate, old: Limits, new: Limits) -> Iterator[KeyChange]:
    """Limits of a gate, or of a segment, which has its gate's severity where it states none."""
    metric = gate.metric
    higher = metric.direction is Direction.HIGHER
    yield from _ceiling(f"{prefix}threshold", old.threshold, new.threshold, metric.unit, floor=higher)
    yield from _ceiling(f"{prefix}regression_max", old.regression_max, new.regression_max, metric.unit)
    blocked, blocks = ((each.severity or own.severity) == "error" for own, each in ((gate, old), (now, new)))
    yield from _changed(f"{prefix}severity", old.severity, new.severity, weakens=blocked and not blocks)


def _ceiling(
    key: str, old: float | None, new: float | None, unit: Unit | None = None, *, floor: bool = False
) -> Iterator[KeyChange]:
    """A limit that asks for more the lower it is, a floor the higher, and for nothing where it is absent."""
    weakens = old is not None and (new is None or (new < old) is floor)
    yield from _changed(key, old, new, weakens=weakens, unit=unit)


def _match(how: Matching, other: Matching) -> str:
    """What agrees, and each parameter that is another one there; beside another `by`, that is not the default."""
    beside = other if other.by is how.by else Matching(by=how.by)
    stated = ((key, getattr(how, key), getattr(beside, key)) for key in Matching.__struct_fields__ if key != "by")
    return ", ".join([how.by.value, *(f"{key} {value}" for key, value, usual in stated if value != usual)])


def _file(file: InputFile | None) -> dict[str, str | None]:
    fields = asdict(file.map) if file and file.map else {}
    named = ", ".join(f"{key} {name}" for key, name in fields.items() if name is not None)
    return {
        "": redacted(file.path) if file else None,
        ".format": file.format if file else None,
        ".map": named if fields else None,
    }


def query_changes(before: Gold, after: Gold) -> QueryChanges | None:
    """How a gold set differs from the base's; None where it does not."""
    old, new = before.samples, after.samples
    added = [query_id for query_id in new if query_id not in old]
    removed = [query_id for query_id in old if query_id not in new]
    both = [(query_id, sample, new[query_id]) for query_id, sample in old.items() if query_id in new]
    relabelled = [query_id for query_id, was, now in both if not _judged_alike(was, now)]
    others = ((query_id, was, now) for query_id, was, now in both if _judged_alike(was, now))
    edited = [query_id for query_id, was, now in others if _other(was) != _other(now, was)]
    changes = {"added": added, "removed": removed, "relabelled": relabelled, "edited": edited}
    if not any(changes.values()):
        return None
    named = {f"{name}_ids": ids[:MAX_IDS] for name, ids in changes.items()}
    counts = {name: len(ids) for name, ids in changes.items()}
    return msgspec.convert({"queries": len(old), **counts, **named}, QueryChanges)


def _judged_alike(was: Sample, now: Sample) -> bool:
    """Whether gains, a judge's too, texts of spans and claims are the same, in any order."""
    gains = (was.gains, was.judge_gains, was.spans) == (now.gains, now.judge_gains, now.spans)
    return gains and (was.claims == now.claims or set(was.claims) == set(now.claims))


def _other(sample: Sample, was: Sample | None = None) -> Sample:
    """What a verdict can depend on beside the judgments; of the tags those that the query had before."""
    tags = [tag for tag in sample.tags if was is None or tag in was.tags]
    return replace(sample, gains={}, judge_gains={}, spans={}, line=None, tags=tuple(sorted(tags)))


def values_move(before: Gold, after: Gold) -> bool:
    """Whether a query that both have can have another value by the one than by the other, of the same ranking."""
    both = before.samples.keys() & after.samples.keys()
    return any(_scored(before.samples[each]) != _scored(after.samples[each]) for each in both)


def _scored(sample: Sample) -> Sample:
    return replace(sample, question=None, tags=(), cluster=None, line=None, judge_gains={})


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
    """The criteria without the must-pass queries, tags and segments that this gold set does not have."""
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
