"""Which changed questions are drawn for a pair of runs, and what labels say of the change of each. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from rankgate.model.traffic_lists import TrafficLabel, TrafficLists, TrafficPair, TrafficSheet
from rankgate.statistics.traffic import Draw, draw_questions

LEAST = 30  # drawn questions that have to be labelled before anything can fail
_DIGITS = 16

Known = Mapping[str, bool]  # by document whether it is relevant, as one person says
Bounds = tuple[float, float]


def sheet_of(lists: TrafficLists, n: int) -> TrafficSheet:
    """What names a sheet of n questions for this pair of runs."""
    return TrafficSheet(
        run=_digest((pair.question.query_id, pair.now) for pair in lists.pairs),
        baseline=_digest((pair.question.query_id, pair.before) for pair in lists.pairs),
        n=n,
    )


def drawn_for(lists: TrafficLists, n: int) -> Draw:
    """The draw of n changed questions for this pair of runs.

    Its key has both runs: with that of the accepted run alone the next run of a pull request would get the questions
    again whose losses were repaired because they were drawn, and would look better than it is.
    """
    sheet = sheet_of(lists, n)
    counts = {pair.question.query_id: pair.question.count for pair in lists.changed}
    return draw_questions(counts, lists.total, f"{sheet.baseline}\0{sheet.run}", n)


def drawn_by(lists: TrafficLists, sheets: Iterable[TrafficSheet]) -> int:
    """How many questions were drawn for this pair, by the sheets that came back; those of other pairs draw nothing."""
    pair = sheet_of(lists, 1)
    return max((each.n for each in sheets if (each.run, each.baseline) == (pair.run, pair.baseline)), default=0)


def known_labels(labels: Iterable[TrafficLabel]) -> dict[str, list[Known]]:
    """By question what each person says of its documents; of what somebody leaves open, what the others say."""
    by_person: dict[str, dict[str, dict[str, bool]]] = {}
    for label in labels:
        of_question = by_person.setdefault(label.query_id, {})
        of_question.setdefault(label.labeller or "", {})[label.document] = label.relevant
    known: dict[str, list[Known]] = {}
    for question, persons in by_person.items():
        ordered = [persons[name] for name in sorted(persons)]
        anybody: dict[str, bool] = {}
        for person in reversed(ordered):
            anybody |= person
        known[question] = [{**anybody, **person} for person in ordered]
    return known


def bounds_of(pair: TrafficPair, known: Sequence[Known], *, k: int, hit: bool) -> Bounds:
    """The least and the greatest change of precision@k, or of hit@k, that the labels of a question leave.

    They are equal where all labels are there that matter. Where several people labelled it, their mean.
    """
    before = pair.before[:k]
    now = pair.now[:k]
    each = [_hit_bounds(before, now, one) if hit else _precision_bounds(before, now, one, k) for one in known or [{}]]
    return sum(low for low, _ in each) / len(each), sum(high for _, high in each) / len(each)


def _precision_bounds(baseline: Sequence[str], now: Sequence[str], known: Known, k: int) -> Bounds:
    """(documents gained that are relevant, less those lost) / k; what both have cancels out."""
    gained = [document for document in now if document not in baseline]
    lost = [document for document in baseline if document not in now]
    least = _sure(gained, known) - _possible(lost, known)
    greatest = _possible(gained, known) - _sure(lost, known)
    return least / k, greatest / k


def _hit_bounds(baseline: Sequence[str], now: Sequence[str], known: Known) -> Bounds:
    """Whether any is relevant now, less whether any was; 0 where one that both have is."""
    shared = [document for document in now if document in baseline]
    if _sure(shared, known):
        return 0.0, 0.0
    gained = [document for document in now if document not in baseline]
    lost = [document for document in baseline if document not in now]
    least = min(_sure(gained, known), 1) - min(_possible(lost, known), 1)
    greatest = min(_possible(gained, known), 1) - min(_sure(lost, known), 1)
    if _possible(shared, known):
        return float(min(least, 0)), float(max(greatest, 0))
    return float(least), float(greatest)


def _sure(documents: Collection[str], known: Known) -> int:
    return sum(known.get(document, False) for document in documents)


def _possible(documents: Collection[str], known: Known) -> int:
    return sum(known.get(document, True) for document in documents)


def _digest(lists: Iterable[tuple[str, Sequence[str]]]) -> str:
    text = json.dumps(sorted(lists), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_DIGITS]
