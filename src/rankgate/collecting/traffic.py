"""Traffic questions: whose lists differ between two runs, which are drawn, and what labels say of the change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from rankgate.collecting.pool import results_of
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import Matching
from rankgate.model.traffic_lists import TrafficLabel, TrafficLists, TrafficPair, TrafficQuestion, TrafficSheet
from rankgate.model.values import Ranking
from rankgate.readers.base import digest_matches
from rankgate.statistics.traffic import Draw, draw_questions

# Families that see which documents are among the first k, and not in what order.
_OF_SETS = frozenset({"hit", "recall", "recall_all", "capped_recall", "weighted_recall", "precision", "f"})

LEAST = 30  # drawn questions that have to be labelled before anything can fail
_DIGITS = 16

Known = Mapping[str, bool]  # by document whether it is relevant, as one person says
Bounds = tuple[float, float]


def limited(questions: Sequence[TrafficQuestion], most: int | None) -> list[TrafficQuestion]:
    """So many of the questions, the first by the hash of their ids, in the order of the file; all without a limit."""
    if most is None or most >= len(questions):
        return list(questions)
    by_hash = sorted(
        questions, key=lambda each: hashlib.sha256(each.query_id.encode("utf-8", "surrogatepass")).digest()
    )
    taken = {each.query_id for each in by_hash[:most]}
    return [each for each in questions if each.query_id in taken]


def sees_order(metric: Metric) -> bool:
    """Whether another order of the same documents can change the metric."""
    inner = getattr(metric, "metric", metric)
    return inner.ranking and inner.key not in _OF_SETS


def compared_lists(
    questions: Sequence[TrafficQuestion],
    now: Iterable[Ranking],
    baseline: Iterable[Ranking],
    *,
    k: int,
    by_order: bool,
    how: Matching,
) -> TrafficLists:
    """What both runs return among the first k for each question that the accepted run has, by its text.

    The accepted run decides which questions count, so that a run cannot hide what it changed: where it has no line for
    one of them, or a line for another text, the list counts as empty. With `by_order` another order is a change, too.
    """
    new = _documents(questions, now, how)
    old = _documents(questions, baseline, how)
    pairs: list[TrafficPair] = []
    for question in questions:
        if question.query_id not in old:
            continue
        was = old[question.query_id][:k]
        documents = new.get(question.query_id, ())[:k]
        same = was == documents if by_order else set(was) == set(documents)
        absent = question.query_id not in new
        pairs.append(
            TrafficPair(question=question, before=was, now=documents, changed=absent or not same, absent=absent)
        )
    return TrafficLists(k=k, named=len(questions), pairs=tuple(pairs))


def _documents(
    questions: Sequence[TrafficQuestion], rankings: Iterable[Ranking], how: Matching
) -> dict[str, tuple[str, ...]]:
    """By question the documents of its list, each once, of the lines that answer its text."""
    texts = {each.query_id: each.question for each in questions}
    documents: dict[str, tuple[str, ...]] = {}
    for ranking in rankings:
        text = texts.get(ranking.query_id)
        if text is None or not ranking.traffic:
            continue
        if ranking.question_digest is None or digest_matches(ranking.question_digest, text):
            results = (document for document, _ in results_of(ranking, how))
            documents[ranking.query_id] = tuple(dict.fromkeys(results))
    return documents


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
