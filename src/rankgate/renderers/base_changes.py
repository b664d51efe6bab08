"""What a pull request changed of the gate, in sentences, and the waivers, with what each one does.

Names, ids and values of the inputs go through `spell`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rankgate.model.base_ref import BaseSide, GateChange, KeyChange, QueryChanges, Value
from rankgate.model.gate_result import WaiverState
from rankgate.model.remarks import grown_text, traffic_texts
from rankgate.model.report import Report
from rankgate.model.values import Evidence, Unit
from rankgate.model.wording import VERDICT_WORDS, count_text, exact_decimals, size_text, value_text
from rankgate.renderers.escape import Spell, Text, listed

MAX_LISTED = 5  # ids or values

_WHO = "The pull request"
# Values that are words of ours, of which one asks for more than the other. A key tells nothing of its values: that of a
# segment may end in any text.
_ORDERED = {
    *(each.value for each in Evidence),
    *("error", "warning", "warn", "fail", "untrusted", "trusted", "true", "false"),
}

STATES: dict[WaiverState, str] = {
    "in_force": "in force: it lets the violation pass, as a warning",
    "expiring": "in force, and expires within two weeks",
    "too_small": "too small: the violation is larger than it covers",
    "expired": "expired, and counts no longer",
    "unused": "not used: nothing is violated",
    "unknown": "names no segment of this gate",
    "hard_check": "does not count: single questions fail, which no waiver covers",
    "not_judged": "does not count: the gate could not be judged",
}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence on one change, maybe of a limit; `line` is that of its gate in the pull request's criteria."""

    text: str
    weakens: bool
    limit: bool = False
    line: int | None = None


def both_verdicts(base: BaseSide) -> str:
    """What the base's files and the pull request's own say, and which counts."""
    head = f"the pull request's own {VERDICT_WORDS[base.head_verdict]}"
    if base.accepted_by is not None:
        return f"{head}, which a label lets stand alone"
    if base.introduced:
        return f"{head}, alone: the base has no criteria yet"
    if base.base_verdict is None:
        return "judged once: both have the same criteria, gold set and waivers"
    return f"the base's files say {VERDICT_WORDS[base.base_verdict]}, {head}; the worse counts"


def changes(report: Report, spell: Spell) -> list[Change]:
    """A sentence a change, those that warn first, and of these limits; nothing without a base. `spell` shows text."""
    changed = _changes(report.base, spell) if report.base else ()
    return sorted(changed, key=lambda change: (not change.weakens, not change.limit))


def _changes(base: BaseSide, spell: Spell) -> Iterator[Change]:
    if base.accepted_by is not None:
        verdict_of_base = f" These said: {spell(base.base_summary)}" if base.base_summary else ""
        yield Change(
            text=f"{spell(base.accepted_by)} lets it judge alone, without the base's files.{verdict_of_base}",
            weakens=True,
            limit=True,
        )
    for gate in base.gates:
        yield from _gate(gate, spell)
    for key in base.keys:
        yield Change(text=f"{_WHO} {_key(key, '', spell)}.", weakens=key.weakens)
    for waiver in base.waivers:
        where = f"gate {spell(waiver.gate)}" + (f" in {spell(waiver.segment)}" if waiver.segment else "")
        verb = {"added": "adds", "edited": "edits", "removed": "removes"}[waiver.change]
        yield Change(text=f"{_WHO} {verb} a waiver of {where}.", weakens=waiver.change != "removed")
    if base.queries is not None:
        for text, weakens in _queries(base.queries, spell):
            yield Change(text=f"{_WHO} {text}.", weakens=weakens)
    if base.traffic is not None:
        for text, weakens in traffic_texts(base.traffic):
            yield Change(text=f"{_WHO} {text}.", weakens=weakens)


def _gate(gate: GateChange, spell: Spell) -> Iterator[Change]:
    name = f"gate {spell(gate.name)}"
    match gate.change:
        case "removed":
            yield Change(text=f"{_WHO} removes {name}.", weakens=True, limit=True, line=gate.line)
        case "added":
            yield Change(text=f"{_WHO} adds {name}.", weakens=False, limit=True, line=gate.line)
        case "changed":
            for key in gate.keys:
                text = f"{_WHO} {_key(key, name, spell)}."
                yield Change(text=text, weakens=key.weakens, limit=key.is_limit, line=gate.line)


def _key(key: KeyChange, where: str, spell: Spell) -> str:
    what = key.key if key.key.isidentifier() else spell(key.key)
    what = f"the {what}" if key.key in ("threshold", "metric", "severity", "direction") else what
    of = f" of {where}" if where else ""
    if isinstance(key.before, list) or isinstance(key.after, list):
        old, new = map(_as_list, (key.before, key.after))
        lost = listed([each for each in old if each not in new], MAX_LISTED, spell)
        gained = listed([each for each in new if each not in old], MAX_LISTED, spell)
        parts = (f"takes {lost} out of {what}{of}" if lost else "", f"adds {gained} to {what}{of}" if gained else "")
        return " and ".join(filter(None, parts))
    before, after = _value(key, key.before, spell), _value(key, key.after, spell)
    # A block as a whole has its own name as value.
    given = {None, key.key, key.key.removeprefix("segments.")}
    if key.before == key.after:
        return f"changes {what}{of} in what is not shown here of {before}"
    if key.before is None:
        return f"adds {what}{'' if key.after in given else f' {after}'} to {where or 'the criteria'}"
    if key.after is None:
        return f"removes {what}{'' if key.before in given else f' {before}'} from {where or 'the criteria'}"
    if isinstance(key.before, int | float) and isinstance(key.after, int | float):
        verb = "lowers" if key.after < key.before else "raises"
    else:
        verb = "changes"
    return f"{verb} {what}{of} from {before} to {after}"


def _as_list(value: Value) -> list[str]:
    if value is None:
        return []
    return value if isinstance(value, list) else [str(value)]


def _value(key: KeyChange, value: Value, spell: Spell) -> str:
    if not isinstance(value, int | float):
        return str(value) if value in _ORDERED else spell(str(value))
    if key.unit is None:
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    text = size_text if key.key.endswith("regression_max") else value_text
    return text(value, key.unit, exact_decimals(value, key.unit))


def _queries(queries: QueryChanges, spell: Spell) -> Iterator[tuple[str, bool]]:
    if queries.removed:
        yield f"removes {_ids(queries.removed, queries.removed_ids, spell)} from the gold set", True
    if queries.relabelled:
        toward = "" if queries.toward is None else f", {queries.toward:,} toward this run"
        yield f"relabels {_ids(queries.relabelled, queries.relabelled_ids, spell)}{toward}", True
    if queries.edited:
        edited = _ids(queries.edited, queries.edited_ids, spell)
        yield f"edits {edited} of the gold set beside the labels, as the question or the tags", True
    if queries.added:
        repeated = f", {queries.repeated:,} with a text that is there already" if queries.repeated else ""
        added = _ids(queries.added, queries.added_ids, spell)
        yield f"adds {added} to the gold set{repeated}", bool(queries.repeated or queries.diluted)
    if queries.diluted:
        segment = queries.diluted.segment
        yield grown_text(queries.diluted, f"segment {spell(segment)}" if segment else "the gold set"), True


def _ids(count: int, ids: Sequence[str], spell: Spell) -> str:
    return f"{count_text(count, 'question')} ({listed(ids, MAX_LISTED, spell, count)})"


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """A waiver in words: of which gate or part, what it does, how much it allows, until when, by whom and why."""

    gate: Text
    segment: Text | None
    state: str
    ceiling: str
    expires: Text
    by: Text
    reason: Text
    issue: Text


def permissions_of(report: Report) -> tuple[Permission, ...]:
    """The waivers in the order of their file, each text cut to what the comment has room for."""
    units = {gate.name: gate.unit for gate in report.gates}
    return tuple(
        Permission(
            gate=Text(each.gate, 80),
            segment=Text(each.segment, 80) if each.segment else None,
            state=STATES[each.state],
            ceiling=ceiling_text(each.up_to, units.get(each.gate, Unit.NUMBER)),
            expires=Text(each.expires, 40),
            by=Text(each.by, 80),
            reason=Text(each.reason, 400),
            issue=Text(each.issue, 200),
        )
        for each in report.waivers
    )


def ceiling_text(up_to: float, unit: Unit) -> str:
    """`2.0 pp`: how far beyond its limit a waived gate may be, with all decimals that it was given."""
    return size_text(up_to, unit, exact_decimals(up_to, unit))
