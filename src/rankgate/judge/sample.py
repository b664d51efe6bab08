"""Which answers people label to check a judge: drawn by hash, stratified by its verdicts, and blind.

The units are answers, or pairs of answers to one question that differ between two runs. In each stratum those with the
lowest hash of their content are drawn, so that the same inputs give the same sample, an answer has the same luck in
every run that has it, and what was labelled for a small sample serves a larger one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

import msgspec

from rankgate.judge.model import Answer, Inputs, Judge, Known, Task, digest
from rankgate.judge.plan import walk
from rankgate.model.answers import AnswerState, Entailment, Want
from rankgate.statistics.prediction_powered import MIN_CHANGED, MIN_LABELS

LEAST = 2 * MIN_CHANGED  # units in a sample
WANTS = frozenset({Want.STATE, Want.SUPPORT})


class Kind(Enum):
    """What the judge says of an answer, what became of that in a pair, or why there is nothing to draw."""

    UNSUPPORTED = "unsupported"  # a claim at least
    SUPPORTED = "supported"  # all claims
    ABSTAINED = "abstained"  # asserts nothing
    MOVED = "moved"  # the share of supported claims, or whether anything is asserted
    SAME = "same"
    UNJUDGED = "unjudged"
    EMPTY = "empty"
    UNCHANGED = "unchanged"
    NEW = "new"  # the baseline has no answer


# Parts of a sample, where there are enough. Abstentions take a single label each, and only one metric needs them.
_PARTS = {Kind.UNSUPPORTED: 2, Kind.SUPPORTED: 2, Kind.ABSTAINED: 1, Kind.MOVED: 1, Kind.SAME: 1}


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer to label, with all that a person or another judge needs for it; texts as in `Inputs`.

    `claims` are those into which the judge split the answer, none where it found nothing asserted.
    """

    query_id: str
    question: str
    answer: str
    passages: tuple[str, ...]
    claims: tuple[str, ...]

    @property
    def key(self) -> str:
        """SHA-256 of all of it: labels belong to this content, whatever run has it."""
        return digest(msgspec.structs.asdict(self))


class Question(Item, frozen=True):
    """A drafted question to review, with the passages that are to answer it."""


class Unit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The key of an answer, or of both of a pair, the baseline's last; None is an empty answer, never labelled."""

    query_id: str
    keys: tuple[str | None, ...]


class Stratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Units by hash, of which the first `sampled` are in the sample: as each was with probability sampled / units.

    `segment` is None for queries of small segments or of none.
    """

    kind: Kind
    segment: str | None
    sampled: int
    units: tuple[Unit, ...]


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a sample was drawn, which it must not show: by whose verdicts, from which run, since which baseline.

    `sample` is the SHA-256 of the items' keys in their order. `left` counts what is in no stratum.
    """

    sample: str
    judge: str
    model: str
    run: str
    baseline: str | None
    strata: tuple[Stratum, ...]
    left: Mapping[Kind, int]


class _Found(NamedTuple):
    luck: str
    kind: Kind
    segment: str
    unit: Unit
    items: list[Item]


def draw(
    answers: Iterable[Answer],
    judge: Judge,
    known: Known,
    *,
    number: int,
    run: str,
    segments: Mapping[str, str] = {},
    baseline: tuple[str, Iterable[Answer]] | None = None,
) -> tuple[tuple[Item, ...], Design]:
    """A sample of answers, or of pairs of those that changed since a baseline: its items, in an order without meaning.

    Of the verdicts those of the first repeat count. `number` is of units, at least `LEAST`: all where there are fewer,
    and a few more where the parts of segments are rounded up. `run` and the first of `baseline` are names. `segments`
    has the segment of each query in one, by which pairs are not divided.
    """
    before = {each.query_id: each for each in baseline[1]} if baseline else {}
    found: list[_Found] = []
    for answer in answers:
        sides = [each for each in (answer, before.get(answer.query_id)) if each]
        kind, items = _kind_of(sides, judge, known, paired=baseline is not None)
        unit = Unit(answer.query_id, tuple(item.key if item.answer.strip() else None for item in items))
        segment = "" if baseline else segments.get(answer.query_id, "")
        luck = digest(["sample", *(item_of(side).key for side in sides)])  # nothing that a judge says
        found.append(_Found(luck, kind, segment, unit, [item for item in items if item.answer.strip()]))
    found.sort(key=lambda each: each.luck)
    counts = Counter(each.kind for each in found)
    strata: list[Stratum] = []
    drawn: list[Item] = []
    for kind, share in shared_out(counts, number).items():
        sizes = Counter(each.segment for each in found if each.kind is kind)
        groups: dict[str, list[_Found]] = {}
        for each in found:
            if each.kind is kind:
                large = sizes[each.segment] * share >= MIN_LABELS * counts[kind]
                groups.setdefault(each.segment if large else "", []).append(each)
        for segment, group in sorted(groups.items()):
            sampled = -(-len(group) * share // counts[kind])
            strata.append(Stratum(kind, segment or None, sampled, tuple(each.unit for each in group)))
            drawn += (item for each in group[:sampled] for item in each.items)
    drawn.sort(key=lambda item: digest(["order", item.key]))  # by another hash: that of the draw would tell strata
    sample, left = digest([item.key for item in drawn]), {kind: counts[kind] for kind in counts if kind not in _PARTS}
    name = baseline[0] if baseline else None
    return tuple(drawn), Design(sample, judge.id, judge.model, run, name, tuple(strata), left)


def shared_out(sizes: Mapping[Kind, int], number: int) -> dict[Kind, int]:
    """How many units of each kind are drawn: in the parts of `_PARTS`, and where one has too few, all of it.

    A larger number gives no kind fewer.
    """
    drawn = {kind: 0 for kind in _PARTS if sizes.get(kind)}
    for _ in range(min(number, sum(sizes[kind] for kind in drawn))):
        short = [kind for kind in drawn if drawn[kind] < sizes[kind]]
        drawn[min(short, key=lambda kind: (drawn[kind] + 1) / _PARTS[kind])] += 1
    return drawn


def _kind_of(sides: list[Answer], judge: Judge, known: Known, *, paired: bool) -> tuple[Kind, list[Item]]:
    """The kind of an answer or a pair, and what there is to label where that can be drawn."""
    if paired and (len(sides) == 1 or item_of(sides[0]) == item_of(sides[1])):
        return (Kind.NEW if len(sides) == 1 else Kind.UNCHANGED), []
    seen: list[tuple[AnswerState, float | None]] = []
    items: list[Item] = []
    for side in sides:
        verdicts = walk(side, judge, WANTS, known).verdicts
        state, claims, support = verdicts.state, verdicts.claims, verdicts.support
        if not isinstance(state, AnswerState) or not isinstance(claims, tuple) or not isinstance(support, tuple):
            return Kind.UNJUDGED, []
        supported = sum(each.verdict is Entailment.SUPPORTED for each in support)
        seen.append((state, supported / len(claims) if claims else None))
        items.append(item_of(side, claims))
    if not any(item.answer.strip() for item in items):
        return Kind.EMPTY, []
    if paired:
        return (Kind.SAME if seen[0] == seen[1] else Kind.MOVED), items
    share = seen[0][1]
    return (Kind.ABSTAINED if share is None else Kind.SUPPORTED if share == 1 else Kind.UNSUPPORTED), items


def pair_key(now: Mapping[str, str], before: Mapping[str, str]) -> str:
    """SHA-256 of what differs between two runs, by the keys of their answers; with nothing before, of a run."""
    differ = sorted(query for query in now.keys() | before.keys() if now.get(query) != before.get(query))
    return digest([[query, now.get(query), before.get(query)] for query in differ])


def item_of(answer: Answer, claims: tuple[str, ...] = ()) -> Item:
    """What there is to label of an answer, of which a judge found these claims."""
    texts = Inputs(
        Task.ENTAIL, answer.question, answer.answer or "", tuple(each.text for each in answer.context), claims
    )
    return Item(answer.query_id, texts.question, texts.answer, texts.passages, texts.statements)
