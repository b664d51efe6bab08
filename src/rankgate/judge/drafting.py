"""Questions drafted by a model: which passages it is asked about, and which of its questions are of use.

What is asked depends on what is known alone, so that a store resumes it and gives the same questions again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest

import msgspec

from rankgate.judge.model import Inputs, Judge, Known, Record, Slot, Task
from rankgate.judge.plan import Call
from rankgate.labelling.drafts import Draft, Drafted, Left, Passage, copied_share, in_order, related
from rankgate.metrics.texts import folded

DEFAULT_OVERLAP = 0.8


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions of a kind are wanted, and of which passages, in the order in which they are asked about."""

    task: Task
    wanted: int
    sources: tuple[tuple[Passage, ...], ...]


def orders_of(passages: Sequence[Passage], *, single: int, multi: int, unanswerable: int) -> list[Order]:
    """What to ask for: each passage alone, pairs that belong together, and what passages leave open."""
    texts = Counter(folded(each.text) for each in passages)
    own = [(each,) for each in passages if texts[folded(each.text)] == 1]
    alone = in_order(own, _doc, _key)
    pairs = in_order(related([each for (each,) in alone]), _doc, _key) if multi else []
    others = in_order(own, _doc, partial(_key, no_answer=True))  # than those that are asked about first
    return [
        Order(task=Task.DRAFT, wanted=single, sources=tuple(alone)),
        Order(task=Task.DRAFT, wanted=multi, sources=tuple(pairs)),
        Order(task=Task.UNANSWERABLE, wanted=unanswerable, sources=tuple(others)),
    ]


def calls_due(orders: Sequence[Order], judge: Judge, known: Known, overlap: float) -> list[Call]:
    """The passages to ask about now: as many as lack a question of use, as long as there are any."""
    asked = (each for order in orders for each in _asked(order, judge, known, overlap))
    return list(dict.fromkeys(call for call, record, _ in asked if record is None))


def drafted(orders: Sequence[Order], judge: Judge, known: Known, overlap: float) -> Drafted:
    """The questions: first one of each passage; second and third ones where passages are too few."""
    drafts: dict[str, Draft] = {}
    left: Counter[Left] = Counter()
    for order in orders:
        found = [own for _, _, own in _asked(order, judge, known, overlap)]
        left[Left.COPIED] += sum(each is None for own in found for each in own)
        most = len(drafts) + order.wanted
        for draft in (each for turn in zip_longest(*found) for each in turn if each):
            left[Left.ASKED_TWICE] += folded(draft.question) in drafts
            if len(drafts) < most:
                drafts.setdefault(folded(draft.question), draft)
    return Drafted(list(drafts.values()), left)


def _asked(
    order: Order, judge: Judge, known: Known, overlap: float
) -> Iterator[tuple[Call, Record | None, list[Draft | None]]]:
    """The calls up to which there are, or may be, enough questions, with what is known of them."""
    missing, seen = order.wanted, set[str]()
    for source in order.sources:
        if missing <= 0:
            return
        inputs = Inputs(order.task, passages=tuple(each.text for each in source))
        call = Call(Slot(judge.id, order.task, inputs.key, 0), inputs)
        record = known.get(call.slot)
        found = [*_useful(order, source, record, overlap)]
        new = {folded(each.question) for each in found if each} - seen
        seen |= new
        missing -= record is None or bool(new)
        yield call, record, found


def _useful(order: Order, source: tuple[Passage, ...], record: Record | None, overlap: float) -> Iterator[Draft | None]:
    """The questions of a record; None in the place of one that copies its passages."""
    by = f"judge {record.judge[:8]} ({record.model})" if record else ""
    no_answer = order.task is Task.UNANSWERABLE
    for question in record.verdicts if record and record.unjudged is None else ():
        draft = Draft(question=question, passages=source, by=by, no_answer=no_answer)
        yield draft if no_answer or copied_share(question, source) <= overlap else None


def _key(source: tuple[Passage, ...], *, no_answer: bool = False) -> tuple[str]:
    return (Draft(question="", passages=source, by="", no_answer=no_answer).key,)


def _doc(source: tuple[Passage, ...]) -> str:
    return source[0].doc
