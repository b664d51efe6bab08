"""Which answers people label to check a judge: drawn by hash, stratified by its verdicts, and blind.

In each stratum the answers with the lowest hash of their content are drawn, so that the same inputs give the same
sample, an answer has the same luck in every run that has it, and what was labelled for a small sample serves a larger
one.
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
from rankgate.statistics.prediction_powered import MIN_LABELS

LEAST = 40  # answers in a sample
WANTS = frozenset({Want.STATE, Want.SUPPORT})


class Kind(Enum):
    """What the judge says of an answer, or why there is nothing to draw."""

    UNSUPPORTED = "unsupported"  # a claim at least
    SUPPORTED = "supported"  # all claims
    ABSTAINED = "abstained"  # asserts nothing
    UNJUDGED = "unjudged"
    EMPTY = "empty"


# Parts of a sample, where there are enough. Abstentions take a single label each, and only one metric needs them.
_PARTS = {Kind.UNSUPPORTED: 2, Kind.SUPPORTED: 2, Kind.ABSTAINED: 1}


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


class Unit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer: the key of its item."""

    query_id: str
    key: str


class Stratum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Units by hash, of which the first `sampled` are in the sample: as each was with probability sampled / units.

    `segment` is None for queries of small segments or of none.
    """

    kind: Kind
    segment: str | None
    sampled: int
    units: tuple[Unit, ...]


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a sample was drawn, which it must not show: by whose verdicts, from which run.

    `sample` is the SHA-256 of the items' keys in their order. `left` counts what is in no stratum.
    """

    sample: str
    judge: str
    model: str
    run: str
    strata: tuple[Stratum, ...]
    left: Mapping[Kind, int]


class _Found(NamedTuple):
    luck: str
    kind: Kind
    segment: str
    item: Item | None


def draw(
    answers: Iterable[Answer], judge: Judge, known: Known, *, number: int, run: str, segments: Mapping[str, str] = {}
) -> tuple[tuple[Item, ...], Design]:
    """A sample of answers: its items, in an order without meaning.

    Of the verdicts those of the first repeat count. `number` is of answers, at least `LEAST`: all where there are
    fewer, and a few more where the parts of segments are rounded up. `run` is a name. `segments` has the segment of
    each query in one.
    """
    found: list[_Found] = []
    for answer in answers:
        kind, item = _kind_of(answer, judge, known)
        luck = digest(["sample", item_of(answer).key])  # nothing that a judge says
        found.append(_Found(luck, kind, segments.get(answer.query_id, ""), item))
    found.sort(key=lambda each: each.luck)
    counts = Counter(each.kind for each in found)
    strata: list[Stratum] = []
    drawn: list[Item] = []
    for kind, share in shared_out(counts, number).items():
        sizes = Counter(each.segment for each in found if each.kind is kind)
        groups: dict[str, list[Item]] = {}
        for each in found:
            if each.kind is kind and each.item:
                large = sizes[each.segment] * share >= MIN_LABELS * counts[kind]
                groups.setdefault(each.segment if large else "", []).append(each.item)
        for segment, group in sorted(groups.items()):
            sampled = -(-len(group) * share // counts[kind])
            units = tuple(Unit(item.query_id, item.key) for item in group)
            strata.append(Stratum(kind, segment or None, sampled, units))
            drawn += group[:sampled]
    drawn.sort(key=lambda item: digest(["order", item.key]))  # by another hash: that of the draw would tell strata
    sample, left = digest([item.key for item in drawn]), {kind: counts[kind] for kind in counts if kind not in _PARTS}
    return tuple(drawn), Design(sample, judge.id, judge.model, run, tuple(strata), left)


def shared_out(sizes: Mapping[Kind, int], number: int) -> dict[Kind, int]:
    """How many units of each kind are drawn: in the parts of `_PARTS`, and where one has too few, all of it.

    A larger number gives no kind fewer.
    """
    drawn = {kind: 0 for kind in _PARTS if sizes.get(kind)}
    for _ in range(min(number, sum(sizes[kind] for kind in drawn))):
        short = [kind for kind in drawn if drawn[kind] < sizes[kind]]
        drawn[min(short, key=lambda kind: (drawn[kind] + 1) / _PARTS[kind])] += 1
    return drawn


def _kind_of(answer: Answer, judge: Judge, known: Known) -> tuple[Kind, Item | None]:
    """The kind of an answer, and what there is to label where it can be drawn."""
    verdicts = walk(answer, judge, WANTS, known).verdicts
    state, claims, support = verdicts.state, verdicts.claims, verdicts.support
    if not isinstance(state, AnswerState) or not isinstance(claims, tuple) or not isinstance(support, tuple):
        return Kind.UNJUDGED, None
    item = item_of(answer, claims)
    if not item.answer.strip():
        return Kind.EMPTY, None
    if not claims:
        return Kind.ABSTAINED, item
    supported = all(each.verdict is Entailment.SUPPORTED for each in support)
    return (Kind.SUPPORTED if supported else Kind.UNSUPPORTED), item


def answers_key(keys: Mapping[str, str]) -> str:
    """SHA-256 of a run's answers, by their keys."""
    return digest(sorted(keys.items()))


def item_of(answer: Answer, claims: tuple[str, ...] = ()) -> Item:
    """What there is to label of an answer, of which a judge found these claims."""
    texts = Inputs(
        Task.ENTAIL, answer.question, answer.answer or "", tuple(each.text for each in answer.context), claims
    )
    return Item(answer.query_id, texts.question, texts.answer, texts.passages, texts.statements)
