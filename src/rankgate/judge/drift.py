"""Whether a judge still says what it said: some of its verdicts are asked for again, and what differs once more.

A verdict that differs may be the judge's own noise. So a third one decides which of the two is odd: that of another
repeat where one is known, and else another new one. What that proves is in `statistics.binomial.drift_p`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import ne
from typing import Any, NamedTuple

import msgspec

from rankgate.judge.model import Answer, Judge, Known, Record, Slot, Task
from rankgate.judge.plan import Call, walk
from rankgate.metrics.answers import RELEVANT
from rankgate.model.answers import Entailment, Want
from rankgate.statistics.binomial import drift_p, share_interval

LEAST = 200  # verdicts: with fewer, none that changed would not even exclude 2 % to 3 %
LEVEL, MOST_UNJUDGED = 0.01, 0.05
_ADDRESSES = ("no", "partly", "fully")


class Item(NamedTuple):
    """A question that the judge was asked, its verdicts, and those of another repeat where there are any."""

    call: Call
    before: Record
    repeat: Record | None


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking again.

    Of `items`, `compared` have usable verdicts now. Of these, `differ` from before, `fell` and `rose` in what they
    support, and by a third verdict `changed`, or are `noise`. More than `excluded` of the verdicts changed with a
    chance of 1 % at most. `before` and `now` are the models and fingerprints that the server named.
    """

    items: int
    compared: int
    differ: int
    fell: int
    rose: int
    changed: int
    noise: int
    p: float
    excluded: float
    before: tuple[str, ...]
    now: tuple[str, ...]

    @property
    def seen(self) -> bool | None:
        """Whether chance is excluded at 1 %; None where too many items have no verdict."""
        return self.p <= LEVEL if self.compared >= (1 - MOST_UNJUDGED) * self.items else None


def items_of(
    answers: Iterable[Answer], judge: Judge, wants: frozenset[Want], known: Mapping[Slot, Record], number: int
) -> list[Item]:
    """What to ask again: the first by hash; splits, of which only `asserts` can be compared, where these are few."""
    splits = {slot: record for slot, record in known.items() if slot.task is Task.SPLIT}
    found: dict[Slot, Item] = {}
    for call in (
        call for answer in answers for part in (splits, {}) for call in walk(answer, judge, wants, part).calls
    ):
        before, repeat = known.get(call.slot), known.get(call.slot._replace(repeat=1))
        if before and before.unjudged is None and call.slot.task not in {Task.REVERSE, Task.SIMILARITY}:
            found[call.slot] = Item(call, before, repeat if repeat and repeat.unjudged is None else None)
    return sorted(found.values(), key=lambda each: (each.call.slot.task is Task.SPLIT, each.call.slot.key))[:number]


def calls_due(items: Sequence[Item], new: Known) -> list[Call]:
    """Each item once, and once more where it differs and no other repeat is known."""
    calls: list[Call] = []
    for call, before, repeat in items:
        now, third = new.get(call.slot), call._replace(slot=call.slot._replace(repeat=1))
        if now is None:
            calls.append(call)
        elif not (now.unjudged or repeat or new.get(third.slot)) and said(now) != said(before):
            calls.append(third)
    return calls


def drift_of(items: Sequence[Item], new: Known) -> Drift:
    """The counts and what they prove, of what `new` holds."""
    count: Counter[str] = Counter()
    served: tuple[set[str], set[str]] = (set(), set())
    for call, before, repeat in items:
        now, third = new.get(call.slot), repeat or new.get(call.slot._replace(repeat=1))
        if now is None or now.unjudged:
            continue
        for side, record in zip(served, (before, now), strict=True):
            side.add(" ".join(filter(None, (record.model, record.fingerprint))) or "a model without a name")
        old, fresh = said(before), said(now)
        count.update(compared=1, differ=old != fresh, fell=sum(fresh) < sum(old), rose=sum(fresh) > sum(old))
        if old != fresh and third and third.unjudged is None:
            from_old, from_fresh = (sum(map(ne, said(third), each)) for each in (old, fresh))
            sides = from_fresh - from_old if repeat else from_old - from_fresh
            count.update(changed=sides > 0, noise=sides < 0)
    n = {name: count[name] for name in ("compared", "differ", "fell", "rose", "changed", "noise")}
    return Drift(
        items=len(items),
        p=drift_p(n["changed"], n["noise"], n["fell"], n["rose"]),
        excluded=share_interval(n["changed"], n["compared"], confidence=1 - 2 * LEVEL)[1] if n["compared"] else 1.0,
        before=tuple(sorted(served[0])),
        now=tuple(sorted(served[1])),
        **n,
    )


def said(record: Record) -> tuple[int, ...]:
    """What counts of verdicts, as numbers of which more is better: what metrics make of them, and no wording."""
    found: Any = record.verdicts
    match record.task:
        case Task.SPLIT:
            return (int(found.asserts),)
        case Task.ENTAIL:
            return tuple(int(each.verdict is Entailment.SUPPORTED) for each in found)
        case Task.RELEVANCE:
            return tuple(int(grade >= RELEVANT) for grade in found)
    return (0 if found.noncommittal else _ADDRESSES.index(found.addresses),)
