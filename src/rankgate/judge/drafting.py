"""Questions drafted by a model: which passages it is asked about, and which of its questions are of use.

What is asked depends on what is known alone, so that a store resumes it and gives the same questions again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import msgspec

from rankgate.judge.model import Inputs, Judge, Known, Record, Slot, Task
from rankgate.judge.plan import Call
from rankgate.labelling.drafts import Draft, Left, Passage, copied_share, in_order, related
from rankgate.metrics.texts import folded

DEFAULT_OVERLAP = 0.8


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions of a kind are wanted, and about which passages, in the order in which they are put."""

    task: Task
    wanted: int
    sources: list[Draft]


def orders_of(passages: Sequence[Passage], single: int, multi: int, unanswerable: int) -> list[Order]:
    """What to ask for: questions on each passage, on pairs that belong together, and on what passages leave open."""
    texts = Counter(folded(each.text) for each in passages)
    own = [each for each in passages if texts[folded(each.text)] == 1]
    pairs = related(own) if multi else ()
    others = (Draft(passages=(each,), no_answer=True) for each in own)  # in an order of their own
    return [
        Order(task=Task.DRAFT, wanted=single, sources=in_order(Draft(passages=(each,)) for each in own)),
        Order(task=Task.DRAFT, wanted=multi, sources=in_order(pairs)),
        Order(task=Task.UNANSWERABLE, wanted=unanswerable, sources=in_order(others)),
    ]


def calls_due(orders: Sequence[Order], judge: Judge, known: Known, overlap: float) -> list[Call]:
    """The passages to ask about now: as many as lack a question of use, as long as there are any."""
    asked = (each for order in orders for each in _asked(order, judge, known, overlap, hoping=True))
    return list(dict.fromkeys(call for call, record, _ in asked if record is None))


def drafted(orders: Sequence[Order], judge: Judge, known: Known, overlap: float) -> tuple[list[Draft], Counter[Left]]:
    """The questions, and what is left out: first one of each passage; others of it where passages are too few."""
    drafts: dict[str, Draft] = {}
    left: Counter[Left] = Counter()
    for order in orders:
        found = [own for _, _, own in _asked(order, judge, known, overlap, hoping=False)]
        left[Left.COPIED] += sum(each is None for own in found for each in own)
        most = len(drafts) + order.wanted
        for draft in (each for turn in zip_longest(*found) for each in turn if each):
            left[Left.TWICE] += folded(draft.question) in drafts
            if len(drafts) < most:
                drafts.setdefault(folded(draft.question), draft)
    return list(drafts.values()), left


def _asked(
    order: Order, judge: Judge, known: Known, overlap: float, *, hoping: bool
) -> Iterator[tuple[Call, Record | None, list[Draft | None]]]:
    """The calls up to which there are enough questions, or may be where `hoping`, with what is known of them.

    None stands in the place of a question that copies its passages.
    """
    missing, seen = order.wanted, set[str]()
    for source in order.sources:
        if missing <= 0:
            return
        inputs = Inputs(order.task, passages=tuple(each.text for each in source.passages))
        call = Call(Slot(judge.id, order.task, inputs.key, 0), inputs)
        record, found = known.get(call.slot), list[Draft | None]()
        for question in record.verdicts if record and not record.unjudged else ():
            copied = not source.no_answer and copied_share(question, source.passages) > overlap
            by = f"judge {judge.short} ({record.model if record else ''})"
            found.append(None if copied else msgspec.structs.replace(source, question=question, by=by))
        new = {folded(each.question) for each in found if each} - seen
        seen |= new
        missing -= bool(new) or (hoping and record is None)
        yield call, record, found
