"""What a pull request changed of criteria, waivers, gold set and traffic: differences of values. Pure."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from rankgate.criteria import Criteria, Gate, InputFile, Limits, SegmentRule
from rankgate.criteria.parts import Part, Stricter
from rankgate.criteria.retriever_block import Retriever
from rankgate.criteria.waivers import Waivers
from rankgate.errors import redacted
from rankgate.metrics.base import Metric
from rankgate.metrics.lines import Score
from rankgate.metrics.matching import Matching
from rankgate.metrics.tags import segments_of
from rankgate.model.base_ref import GateChange, Grown, KeyChange, QueryChanges, TrafficChanges, Value, WaiverChange
from rankgate.model.lineage import MAX_IDS
from rankgate.model.traffic_lists import TrafficFiles, TrafficQuestion
from rankgate.model.values import Direction, Gold, Ranking, Sample, Unit

DILUTED = 1.5  # times the losses that a gate allows, and the counts of the traffic
# Keys of the file that its gates state each.
_OF_GATES = {"gates", "traffic_gates", "name", "evidence", "confidence", "max_unjudged"}
_UNWRITTEN = {(Gate, "line"), (Gate, "allow_unjudged"), (Retriever, "line")}
_BLOCKS = {"judge", "retriever"}  # which may be missing as a whole
_STRICTER = {
    name: rule
    for part in (Gate, SegmentRule, Limits)
    for name, field in part.model_fields.items()
    for rule in field.metadata
    if isinstance(rule, Stricter)
}
_OF_VALUES = {"threshold", "regression_max"}  # in the metric's unit
_NOTED = {"inputs.gold", "inputs.waivers"}  # what lies there is compared by itself
_OF_TRAFFIC = {"inputs.traffic", "inputs.traffic_labels"}  # so it is, where both commits name any
_FACTS = ("question", "as_of", "source", "entities", "answers")  # of a question, which it may lack


def gate_changes(base: Criteria, head: Criteria) -> list[GateChange]:
    """The gates that differ: those of the base in its order, then the new ones."""
    old = {gate.name: gate for gate in base.every_gate}
    new = {gate.name: gate for gate in head.every_gate}
    changes: list[GateChange] = []
    for name, gate in old.items():
        now = new.get(name)
        if now is None:
            changes.append(GateChange(name=name, change="removed"))
        elif keys := _changed(_gate_keys(gate), _gate_keys(now), gate.metric):
            changes.append(GateChange(name=name, change="changed", keys=keys, line=now.line))
    added = [gate for name, gate in new.items() if name not in old]
    return changes + [GateChange(name=gate.name, change="added", line=gate.line) for gate in added]


def key_changes(base: Criteria, head: Criteria) -> list[KeyChange]:
    """Keys beside the gates that differ, also where what differs in an address is not shown."""
    changes = _changed(_file_keys(base), _file_keys(head), None)
    return [replace(each, before=_redacted(each.before), after=_redacted(each.after)) for each in changes]


def _redacted(value: Value) -> Value:
    return redacted(value) if isinstance(value, str) else value


def waiver_changes(base: Waivers, head: Waivers) -> list[WaiverChange]:
    """The waivers that differ, wherever they stand."""
    old = {(each.gate, each.segment): each.model_copy(update={"line": None}) for each in base.entries}
    new = {(each.gate, each.segment): each.model_copy(update={"line": None}) for each in head.entries}
    changes: list[WaiverChange] = []
    for row in dict.fromkeys([*old, *new]):
        gate, segment = row
        if row not in new:
            changes.append(WaiverChange(gate=gate, segment=segment, change="removed"))
        elif row not in old:
            changes.append(WaiverChange(gate=gate, segment=segment, change="added"))
        elif old[row] != new[row]:
            changes.append(WaiverChange(gate=gate, segment=segment, change="edited"))
    return changes


def _changed(old: Mapping[str, Value], new: Mapping[str, Value], metric: Metric | None) -> list[KeyChange]:
    changes: list[KeyChange] = []
    keys = list(dict.fromkeys([*old, *new]))
    lacking = [key for key in keys if (old.get(key) is None) is not (new.get(key) is None)]
    for key in keys:
        before = old.get(key)
        after = new.get(key)
        if before == after or any(key.startswith(f"{block}.") for block in lacking):  # which says it all
            continue
        is_limit = key.rpartition(".")[2] in _OF_VALUES
        unit = metric.unit if metric is not None and is_limit else None
        noted = key in _NOTED or (key in _OF_TRAFFIC and after is not None) or _stricter(key, before, after, metric)
        changes.append(KeyChange(key=key, before=before, after=after, weakens=not noted, unit=unit))
    return changes


def _stricter(key: str, base: Value, head: Value, metric: Metric | None) -> bool:
    """Whether a limit asks for more than it did; one for single values of a tag may be milder than that for all."""
    rule = _STRICTER.get(key.rpartition(".")[2])
    if metric is None or rule is None or not isinstance(head, int | float):
        return False
    if base is None:
        return ".only." not in key
    better = Stricter.MORE if metric.direction is Direction.HIGHER else Stricter.LESS
    more = (better if rule is Stricter.BETTER else rule) is Stricter.MORE
    return isinstance(base, int | float) and (head > base) is more


def _gate_keys(gate: Gate) -> dict[str, Value]:
    keys = _flat(gate, "")
    for name, rule in _rules(gate).items():
        keys |= {f"segments.{name}": name} | _flat(rule, f"segments.{name}.")
    return keys | ({"direction": gate.metric.direction.value} if isinstance(gate.metric, Score) else {})


def _rules(gate: Gate) -> dict[str, SegmentRule]:
    """Rules by the keys that they look at; a second one for the same keys is told apart by its number."""
    named: dict[str, SegmentRule] = {}
    for rule in gate.segments:
        name = "+".join(rule.by)
        again = sum(other.by == rule.by for other in named.values())
        named[f"{name}#{again + 1}" if again else name] = rule
    return named


def _file_keys(criteria: Criteria) -> dict[str, Value]:
    keys = _flat(criteria, "")
    keys["inputs.waivers"] = criteria.inputs.waivers if criteria.waivers_named else None
    return keys


def _flat(part: Part, prefix: str) -> dict[str, Value]:
    """The values of a mapping of the criteria by their paths; those of gates and of segments are left out.

    A block that may be missing as a whole has its own name as a value, so that it shows when it comes or goes.
    """
    keys: dict[str, Value] = {}
    for name in type(part).model_fields:
        value = getattr(part, name)
        path = f"{prefix}{name}"
        if (type(part), name) in _UNWRITTEN or name == "segments" or (isinstance(part, Criteria) and name in _OF_GATES):
            continue
        if isinstance(value, Part):
            keys |= _flat(value, f"{path}.")
            if path in _BLOCKS:
                keys[path] = name
        elif isinstance(value, InputFile):
            keys |= {path: value.path, f"{path}.format": value.format, f"{path}.map": _plain(value.map)}
        elif isinstance(value, dict) and all(isinstance(each, Part) for each in value.values()):
            for key, each in value.items():
                keys |= _flat(each, f"{path}.{key}.")
        else:
            keys[path] = _plain(value)
    return keys


def _plain(value: object) -> Value:
    """A value of the criteria as a report can hold it."""
    match value:
        case bool():
            plain: Value = str(value).lower()
        case None | int() | float() | str() if not isinstance(value, Enum):
            plain = value
        case Enum():
            plain = str(value.value)
        case Matching():
            defaults = asdict(Matching(by=value.by))
            others = [f"{key} {each}" for key, each in asdict(value).items() if each != defaults[key]]
            plain = ", ".join([value.by.value, *others])
        case Metric():
            plain = value.name
        case tuple() if all(isinstance(each, str) for each in value):
            plain = list(value)
        case msgspec.Struct():
            stated = {key: each for key, each in asdict(value).items() if each is not None}
            plain = json.dumps(msgspec.to_builtins(stated), sort_keys=True)
        case _:
            plain = json.dumps(msgspec.to_builtins(value), sort_keys=True)
    return plain


def query_changes(base: Gold, head: Gold, criteria: Criteria, limits: Criteria) -> QueryChanges | None:
    """How a gold set differs from the base's; None where it does not. `limits` are the pull request's criteria."""
    old, new = base.samples, head.samples
    added = [query_id for query_id in new if query_id not in old]
    removed = [query_id for query_id in old if query_id not in new]
    relabelled: list[str] = []
    edited: list[str] = []
    for query_id, was in old.items():
        now = new.get(query_id, was)  # what is removed is counted as that alone
        if not _have_same_judgments(was, now):
            relabelled.append(query_id)
        elif _other(was) != _other(_known(now, was)):
            edited.append(query_id)
    diluted = _diluted(criteria, limits, base, head)
    if not (added or removed or relabelled or edited or diluted):
        return None
    return QueryChanges(
        queries=len(old),
        added=len(added),
        removed=len(removed),
        relabelled=len(relabelled),
        edited=len(edited),
        added_ids=added[:MAX_IDS],
        removed_ids=removed[:MAX_IDS],
        relabelled_ids=relabelled[:MAX_IDS],
        edited_ids=edited[:MAX_IDS],
        repeated=_repeated(old.values(), [new[query_id] for query_id in added]),
        diluted=diluted,
    )


def traffic_changes(base: TrafficFiles | None, head: TrafficFiles | None, *, named: bool) -> TrafficChanges | None:
    """How the traffic and its labels differ from the base's; None where they do not, or where only one has any.

    `named` says that the pull request's criteria name any.
    """
    if head is None and named:
        return TrafficChanges(questions=len(base.questions) if base else 0, unread=True)
    if base is None or head is None or base == head:
        return None
    old = {each.query_id: each for each in base.questions}
    new = {each.query_id: each for each in head.questions}
    both = old.keys() & new.keys()
    old_labels = _labels(base)
    new_labels = _labels(head)
    return TrafficChanges(
        questions=len(old),
        added=len(new.keys() - old.keys()),
        removed=len(old.keys() - new.keys()),
        edited=sum(old[name].question != new[name].question or old[name].tags != new[name].tags for name in both),
        recounted=sum(old[name].count != new[name].count for name in both),
        labels_removed=len(old_labels.keys() - new_labels.keys()),
        labels_changed=sum(new_labels.get(key, relevant) is not relevant for key, relevant in old_labels.items()),
        labels_added=len(new_labels.keys() - old_labels.keys()),
        diluted=_weight(new) >= DILUTED * _weight(old),
    )


def _labels(files: TrafficFiles) -> dict[tuple[str, str, str | None], bool]:
    """Whether a document is relevant, by query, document and who says so."""
    return {(each.query_id, each.document, each.labeller): each.relevant for each in files.labels}


def _weight(questions: Mapping[str, TrafficQuestion]) -> float:
    return sum(each.count for each in questions.values())


def with_labels_of(older: Gold, gold: Gold) -> Gold:
    """The questions and tags of a gold set, those that an older one has too with the labels of that."""
    samples: dict[str, Sample] = {}
    for query_id, now in gold.samples.items():
        was = older.samples.get(query_id, now)
        samples[query_id] = replace(was, question=now.question, tags=now.tags, cluster=now.cluster)
    return replace(gold, samples=samples)


def moved_toward(rankings: Iterable[Ranking], base: Gold, head: Gold) -> int:
    """Of how many relabelled queries the lists hold more by the new labels, hold it further up, or miss less."""
    moved = 0
    for ranking in rankings:
        was = base.samples.get(ranking.query_id)
        now = head.samples.get(ranking.query_id)
        if was is not None and now is not None and not _have_same_judgments(was, now):
            finds_more = _gain(ranking.ids, now) > _gain(ranking.ids, was)
            moved += finds_more or _missed(ranking.ids, now) < _missed(ranking.ids, was)
    return moved


def _gain(documents: Iterable[str], sample: Sample) -> float:
    return sum(sample.gains.get(document, 0.0) / (rank + 1) for rank, document in enumerate(documents))


def _missed(documents: Iterable[str], sample: Sample) -> float:
    missed = sample.gains.keys() - set(documents)
    return sum(max(sample.gains[document], 0.0) for document in sorted(missed))


def _have_same_judgments(was: Sample, now: Sample) -> bool:
    """Whether gains, a judge's too, texts of spans and claims are the same, in any order."""
    gains = (was.gains, was.judge_gains, was.spans) == (now.gains, now.judge_gains, now.spans)
    return gains and (was.claims == now.claims or set(was.claims) == set(now.claims))


def _other(sample: Sample) -> Sample:
    """What a verdict can depend on beside the judgments."""
    return replace(sample, gains={}, judge_gains={}, spans={}, line=None, tags=tuple(sorted(sample.tags)))


def _known(now: Sample, was: Sample) -> Sample:
    """A sample without the facts, and the kinds of tags, that it did not have before."""
    lacking = {fact: getattr(was, fact) for fact in _FACTS if not getattr(was, fact)}
    kinds = {tag.partition(":")[0] for tag in was.tags}
    tags = [tag for tag in now.tags if tag in was.tags or (":" in tag and tag.partition(":")[0] in kinds)]
    return replace(now, **lacking, tags=tuple(tags))


def _repeated(known: Iterable[Sample], added: Iterable[Sample]) -> int:
    texts = {_text(sample) for sample in known} - {""}
    repeated = 0
    for sample in added:
        repeated += _text(sample) in texts
        texts |= {_text(sample)} - {""}
    return repeated


def _text(sample: Sample) -> str:
    """A question as people read it: no case, no spelling of Unicode and no invisible sign makes it another."""
    text = unicodedata.normalize("NFKC", sample.question or "").casefold()
    return " ".join("".join(sign for sign in text if unicodedata.category(sign) != "Cf").split())


def _diluted(criteria: Criteria, limits: Criteria, base: Gold, head: Gold) -> Grown | None:
    """Of what a gate allows half as many more questions to be lost as before: all of them, or those of a segment."""
    now = {gate.name: gate for gate in limits.gates}
    for gate in criteria.gates:
        grown = {part.segment: part for part in _parts(now[gate.name], head)} if gate.name in now else {}
        for part in _parts(gate, base):
            new = grown.get(part.segment, part)
            pairs = zip(part.allowed, new.allowed, strict=True)
            if new.questions > part.questions and any(was and more >= DILUTED * was for was, more in pairs):
                return Grown(segment=part.segment, before=part.questions, after=new.questions)
    return None


class _Part(NamedTuple):
    """Questions of a gate, and how many of them a drop and a floor let be lost; 0 where nothing limits that."""

    segment: str | None
    questions: int
    allowed: tuple[float, float]


def _parts(gate: Gate, gold: Gold) -> list[_Part]:
    """All questions, and those of each segment that is large enough to be judged."""
    questions = len(gold.samples)
    parts = [_Part(None, questions, _allowed(gate, gate, questions))]
    for rule in gate.segments:
        for segment, rows in segments_of(gold, rule.by).items():
            limits = rule.limits_of(segment)
            if limits is not None and len(rows) >= rule.min_queries:
                parts.append(_Part(segment, len(rows), _allowed(gate, limits, len(rows))))
    return parts


def _allowed(gate: Gate, limits: Gate | Limits, questions: int) -> tuple[float, float]:
    above = limits.threshold is not None and gate.metric.direction is Direction.HIGHER
    bounded = gate.metric.unit in (Unit.SHARE, Unit.SCORE)
    missed = 1.0 - (limits.threshold or 0.0) if above and bounded else 0.0
    return (limits.regression_max or 0.0) * questions, missed * questions
