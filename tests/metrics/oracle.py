"""The metrics once more: slow, obvious, and straight from the textbook.

Everything here works on the gold as `{id: gain}` and on the list as it was retrieved, repeats included; nothing is
shared with the package. `k` is None for the whole list. None means undefined.
"""

from collections.abc import Mapping, Sequence
from math import log2

Gold = Mapping[str, float]
Ranked = Sequence[str]


def first_k(ranked: Ranked, k: int | None) -> list[str]:
    """The first k ids after repeats are removed, so that later ones have moved up."""
    unique: list[str] = []
    for doc in ranked:
        if doc not in unique:
            unique.append(doc)
    return unique if k is None else unique[:k]


def relevant_ids(gold: Gold, rel: float) -> set[str]:
    """Ids with a positive gain of at least rel."""
    return {doc for doc, gain in gold.items() if gain > 0 and gain >= rel}


def hit(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    return 1 if wanted & set(first_k(ranked, k)) else 0


def recall(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    return len(wanted & set(first_k(ranked, k))) / len(wanted)


def recall_all(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    return 1 if wanted <= set(first_k(ranked, k)) else 0


def precision(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    """Divides by k also where the list is shorter; for the whole list by its length, and 0 where it is empty."""
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    top = first_k(ranked, k)
    places = len(top) if k is None else k
    return len(wanted & set(top)) / places if places else 0


def mrr(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    for rank, doc in enumerate(first_k(ranked, k), start=1):
        if doc in wanted:
            return 1 / rank
    return 0


def ap(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    """The sum over the ranks of precision at that rank where a relevant document stands, divided by their number."""
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    top = first_k(ranked, k)
    total = 0.0
    for rank in range(1, len(top) + 1):
        if top[rank - 1] in wanted:
            above_and_here = [doc for doc in top[:rank] if doc in wanted]
            total += len(above_and_here) / rank
    return total / len(wanted)


def worth(grade: float, gain: str) -> float:
    """What a grade contributes."""
    if grade <= 0:
        return 0
    return {"linear": grade, "exponential": 2**grade - 1, "binary": 1}[gain]


def dcg_of(grades: Sequence[float], gain: str) -> float:
    """The discounted sum of the grades in this order."""
    return sum(worth(grade, gain) / log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def dcg(gold: Gold, ranked: Ranked, k: int | None, gain: str = "linear") -> float | None:
    if not relevant_ids(gold, 0):
        return None
    return dcg_of([gold.get(doc, 0) for doc in first_k(ranked, k)], gain)


def ndcg(gold: Gold, ranked: Ranked, k: int | None, gain: str = "linear") -> float | None:
    """The ideal is the best order of all of the gold, cut at k."""
    found = dcg(gold, ranked, k, gain)
    if found is None:
        return None
    best = sorted(gold.values(), reverse=True)
    return found / dcg_of(best if k is None else best[:k], gain)


def latency(stages: Mapping[str, float] | None, stage: str = "total") -> float | None:
    if not stages:
        return None
    if stage == "total":
        return sum(stages.values())
    return stages.get(stage)


def at_quantile(values: Sequence[float], q: float) -> float:
    """The smallest value with at least that share of all at or below it."""
    return min(value for value in values if sum(other <= value for other in values) / len(values) >= q)
