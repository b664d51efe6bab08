"""What a pull request changed in the criteria, gate by gate, and whether a gate asks for less than it did. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import asdict, replace

from rankgate.base_side import GateChange, KeyChange
from rankgate.criteria import Criteria, Gate, InputFile, Limits, SegmentRule
from rankgate.matching import By, Matching
from rankgate.metrics.base import Direction, Unit
from rankgate.metrics.lines import Score
from rankgate.model import Evidence
from rankgate.readers.mapping import FieldMap
from rankgate.redaction import redacted

# From the mildest on: what holds by a later one holds by an earlier one.
_GOLD_CHANGES = ("warn", None, "fail")
_STRICTNESS = (Evidence.PROVEN_HARM, Evidence.ESTIMATE, Evidence.PROVEN_SAFE)


def gate_changes(before: Criteria, after: Criteria) -> list[GateChange]:
    """The gates that differ: those of the base in its order, then the new ones."""
    old = {gate.name: gate for gate in before.gates}
    new = {gate.name: gate for gate in after.gates}
    renamed = renamed_gates(before, after)
    found: list[GateChange] = []
    for name, gate in old.items():
        now = new.get(renamed.get(name, name))
        if now is None:
            found.append(GateChange(name=name, change="removed"))
        elif name in renamed:
            found.append(GateChange(name=name, change="renamed", new_name=now.name, line=now.line))
        elif keys := list(_gate_keys(gate, now)):
            weakened = any(key.weakens for key in keys)
            change = GateChange(name=name, change="weakened" if weakened else "strengthened", keys=keys, line=now.line)
            found.append(change)
    added = new.keys() - old.keys() - set(renamed.values())
    return found + [GateChange(name=name, change="added", line=new[name].line) for name in new if name in added]


def renamed_gates(before: Criteria, after: Criteria) -> dict[str, str]:
    """Old name by new name of gates that are otherwise the same."""
    known = {gate.name for gate in before.gates}
    fresh = [gate for gate in after.gates if gate.name not in known]
    kept = {gate.name for gate in after.gates}
    found: dict[str, str] = {}
    for gate in before.gates:
        twin = next((other for other in fresh if replace(other, name=gate.name, line=gate.line) == gate), None)
        if gate.name not in kept and twin is not None:
            fresh.remove(twin)
            found[gate.name] = twin.name
    return found


def key_changes(before: Criteria, after: Criteria) -> list[KeyChange]:
    """Keys beside the gates that differ. How results are matched, and at which cut-off, counts as weaker either way.

    Where the inputs lie does not: what stands in them is compared by itself.
    """
    found = [
        KeyChange(key="match", before=_match(before.match), after=_match(after.match), weakens=True),
        KeyChange(key="default_k", before=before.default_k, after=after.default_k, weakens=True),
        # A smaller share shows what was private, a larger one leaves more unjudged.
        KeyChange(key="holdout", before=before.holdout or None, after=after.holdout or None, weakens=True),
        KeyChange(
            key="gold_changes",
            before=before.gold_changes,
            after=after.gold_changes,
            weakens=_GOLD_CHANGES.index(after.gold_changes) < _GOLD_CHANGES.index(before.gold_changes),
        ),
        KeyChange(
            key="fork_runs", before=before.fork_runs, after=after.fork_runs, weakens=after.fork_runs == "trusted"
        ),
        KeyChange(
            key="waiver_label",
            before=before.waiver_label,
            after=after.waiver_label,
            weakens=after.waiver_label is not None,
        ),
        KeyChange(
            key="baseline.accept",
            before=_accept(before),
            after=_accept(after),
            weakens=after.policy.accepts_green,
        ),
        KeyChange(key="baseline.anchor", before=before.policy.anchor, after=after.policy.anchor, weakens=True),
        *(
            KeyChange(
                key=f"baseline.max_age.{key}",
                before=old,
                after=new,
                weakens=old is not None and (new is None or new > old),
            )
            for key, old, new in (
                ("days", before.policy.max_age.days, after.policy.max_age.days),
                ("commits", before.policy.max_age.commits, after.policy.max_age.commits),
            )
        ),
        KeyChange(
            key="baseline.max_age.severity",
            before=_severity(before.policy.max_age.blocks),
            after=_severity(after.policy.max_age.blocks),
            weakens=not after.policy.max_age.blocks,
        ),
        *(
            KeyChange(key=f"inputs.{name}{key}", before=old, after=new, weakens=False)
            for name, was, now in (
                ("gold", before.gold, after.gold),
                ("run", before.run, after.run),
                ("baseline", before.baseline, after.baseline),
            )
            for key, old, new in zip(("", ".format", ".map"), _file(was), _file(now), strict=True)
        ),
        KeyChange(key="inputs.waivers", before=_waivers(before), after=_waivers(after), weakens=False),
    ]
    return [key for key in found if key.before != key.after]


def _accept(criteria: Criteria) -> str:
    return "green" if criteria.policy.accepts_green else "manual"


def _severity(blocks: bool) -> str:  # noqa: FBT001 -- as a gate has it
    return "error" if blocks else "warning"


def _gate_keys(old: Gate, new: Gate) -> Iterator[KeyChange]:
    was, now = old.metric, new.metric
    if was.name != now.name:  # limits of another metric, or the other way round, compare with nothing
        turned = isinstance(was, Score) and isinstance(now, Score) and was.field == now.field
        old_side, new_side = (each.direction.value if turned else each.name for each in (was, now))
        yield KeyChange(key="direction" if turned else "metric", before=old_side, after=new_side, weakens=True)
        return
    yield from _limits("", old, new, _limits_of(old), _limits_of(new))
    if old.evidence is not new.evidence:
        weakens = _STRICTNESS.index(new.evidence) < _STRICTNESS.index(old.evidence)
        yield KeyChange(key="evidence", before=old.evidence.value, after=new.evidence.value, weakens=weakens)
    if old.confidence != new.confidence:
        # More confidence asks for more proof: of harm before it blocks, or of safety before it passes.
        mild = new.confidence > old.confidence
        weakens = {Evidence.PROVEN_HARM: mild, Evidence.PROVEN_SAFE: not mild, Evidence.ESTIMATE: False}[new.evidence]
        yield KeyChange(key="confidence", before=old.confidence, after=new.confidence, weakens=weakens)
    if set(old.must_pass) != set(new.must_pass):
        weakens = not set(old.must_pass) <= set(new.must_pass)
        yield KeyChange(key="must_pass", before=list(old.must_pass), after=list(new.must_pass), weakens=weakens)
    yield from _ceiling("drift_max", old.drift_max, new.drift_max, was.unit)
    yield from _ceiling("max_lost_queries", old.max_lost_queries, new.max_lost_queries)
    yield from _segments(old, new)


def _segments(old: Gate, new: Gate) -> Iterator[KeyChange]:
    before, after = _by_tags(old.segments), _by_tags(new.segments)
    for name in dict.fromkeys([*before, *after]):
        was, now, key = before.get(name), after.get(name), f"segments.{name}"
        if was is None or now is None:
            sides = [None if rule is None else name for rule in (was, now)]
            yield KeyChange(key=key, before=sides[0], after=sides[1], weakens=now is None)
            continue
        yield from _limits(f"{key}.", old, new, was.limits, now.limits)
        if was.min_queries != now.min_queries:
            weakens = now.min_queries > was.min_queries
            yield KeyChange(key=f"{key}.min_queries", before=was.min_queries, after=now.min_queries, weakens=weakens)
        for value in dict.fromkeys([*was.only, *now.only]):
            own, other = was.only.get(value, was.limits), now.only.get(value, now.limits)
            yield from _limits(f"{key}.only.{value}.", old, new, own, other)


def _by_tags(rules: Sequence[SegmentRule]) -> dict[str, SegmentRule]:
    """Rules by the keys that they look at; a second one for the same keys is told apart by its number."""
    found: dict[str, SegmentRule] = {}
    for rule in rules:
        name = "+".join(rule.by)
        again = sum(other.by == rule.by for other in found.values())
        found[f"{name}#{again + 1}" if again else name] = rule
    return found


def _limits_of(gate: Gate) -> Limits:
    return Limits(threshold=gate.threshold, regression_max=gate.regression_max, blocks=gate.blocks)


def _limits(prefix: str, gate: Gate, now: Gate, old: Limits, new: Limits) -> Iterator[KeyChange]:
    """Limits of a gate, or of a segment, which has its gate's severity where it states none."""
    metric = gate.metric
    if old.threshold != new.threshold:
        lower, higher = _below(new.threshold, old.threshold), _below(old.threshold, new.threshold)
        gone = old.threshold is not None and new.threshold is None
        weakens = gone or (lower if metric.direction is Direction.HIGHER else higher)
        yield KeyChange(
            key=f"{prefix}threshold", before=old.threshold, after=new.threshold, weakens=weakens, unit=metric.unit
        )
    yield from _ceiling(f"{prefix}regression_max", old.regression_max, new.regression_max, metric.unit)
    if old.blocks is not new.blocks:
        blocked, blocks = (
            own.blocks if each.blocks is None else each.blocks for own, each in ((gate, old), (now, new))
        )
        sides = [None if each is None else "error" if each else "warning" for each in (old.blocks, new.blocks)]
        yield KeyChange(key=f"{prefix}severity", before=sides[0], after=sides[1], weakens=blocked and not blocks)


def _below(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and one < other


def _ceiling(key: str, old: float | None, new: float | None, unit: Unit | None = None) -> Iterator[KeyChange]:
    """A limit that asks for more the lower it is, and for nothing where it is absent."""
    if old != new:
        weakens = old is not None and (new is None or new > old)
        yield KeyChange(key=key, before=old, after=new, weakens=weakens, unit=unit)


def _match(how: Matching) -> str:
    by = {By.CHUNK: "", By.DOC: f", separator {how.separator}", By.TEXT: f", similarity {how.similarity:g}"}
    return how.by.value + ("" if how == Matching(by=how.by) else by[how.by])


def _waivers(criteria: Criteria) -> str | None:
    return redacted(criteria.waivers) if criteria.waivers_named else None


def _file(file: InputFile | None) -> tuple[str | None, str | None, str | None]:
    """Path, format and map of an input, as far as they are named."""
    if file is None:
        return None, None, None
    return redacted(file.path), file.format, None if file.map is None else _map(file.map)


def _map(fields: FieldMap) -> str:
    return ", ".join(f"{key} {name}" for key, name in asdict(fields).items() if name is not None)
