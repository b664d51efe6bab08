"""The metrics once more: slow, obvious, and straight from their definitions.

Everything here works on plain values: what the gold says of a question, and what a run line says, repeats included.
Nothing is shared with the package. `k` is None for the whole list. A result of None means undefined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby, pairwise
from json import loads
from math import inf, isfinite, log, log2, prod

Gold = Mapping[str, float]
Ranked = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the gold says."""

    gains: Gold = field(default_factory=dict)
    negatives: Sequence[str] = ()
    answers: Sequence[str] = ()
    as_of: str | None = None
    source: Sequence[str] = ()
    entities: Sequence[str] | None = None
    no_answer: bool = False


@dataclass(frozen=True, kw_only=True)
class Item:
    """What a run says of a retrieved item."""

    id: str
    doc_id: str | None = None
    version: str | None = None
    text: str | None = None
    score: float | None = None
    source: str | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a run says of a question, and the list that the baseline has for it."""

    items: Sequence[Item] = ()
    raw: Sequence[Item] | None = None
    rewrites: Sequence[Sequence[Item]] | None = None
    latency: Mapping[str, float] | None = None
    source: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    scores: Mapping[str, float] | None = None
    baseline: Sequence[str] | None = None


# Lists and matching.


def once(items: Sequence[Item]) -> list[Item]:
    """Repeats of an id are removed, so that later items have moved up."""
    kept: list[Item] = []
    for item in items:
        if item.id not in [above.id for above in kept]:
            kept.append(item)
    return kept


def shown(items: Sequence[Item], k: int | None) -> list[Item]:
    return once(items)[:k]


def by_chunk(question: Question, items: Sequence[Item]) -> list[str]:
    """What each item is called where ids must agree."""
    return [item.id for item in once(items)]


def document(item: Item, separator: str = "#") -> str:
    """What the run says, else what stands before the separator, else the id."""
    if item.doc_id:
        return item.doc_id
    before = item.id.split(separator)[0]
    return before or item.id


def only_from(line: Line, source: str) -> list[str]:
    """The ids, others in place of those from elsewhere; where no item states a source, all have the line's, if one."""
    items = once(line.items)
    stated = [item.source for item in items]
    if not any(stated) and line.source is not None and len(line.source) == 1:
        stated = [line.source[0]] * len(items)
    return [
        item.id if each == source else f"elsewhere-{at}"
        for at, (item, each) in enumerate(zip(items, stated, strict=True))
    ]


def by_doc(question: Question, items: Sequence[Item], separator: str = "#") -> list[str]:
    """What each item is called where documents must agree."""
    return [document(item, separator) for item in once(items)]


def plain(text: str) -> str:
    """A text without a leading date line and without the speakers' names, white space folded."""
    lines = text.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    if lines and lines[0].lstrip().startswith("Date:"):
        lines.pop(0)
    spoken = []
    for line in lines:
        said = line.lstrip(" \t")
        for speaker in ("user: ", "assistant: "):
            if said.startswith(speaker):
                line = said[len(speaker) :]  # noqa: PLW2901 -- the line without its speaker
                break
        spoken.append(line)
    return " ".join("\n".join(spoken).split())


def unescaped(text: str) -> str:
    """What a JSON string with this content stands for; as it is where it is no such content."""
    try:
        return str(loads(f'"{text}"'))
    except ValueError:
        return text


def lies_in(text: str | None, passage: str, similarity: float = 1) -> bool:
    """Whether the text, as it is or with its JSON escapes read, stands in the passage."""
    for version in (text or "", unescaped(text or "")):
        own = plain(version)
        if own and own in plain(passage):
            return True
        if similarity < 1 and words(own):
            left = words(plain(passage))
            common = 0
            for word in words(own):
                if word in left:
                    left.remove(word)
                    common += 1
            if common / len(words(own)) >= similarity:
                return True
    return False


def by_text(question: Question, items: Sequence[Item], similarity: float = 1) -> list[str]:
    """What each item is called where texts must agree: the best passage that no item above it stands for yet.

    Where all relevant ones that fit are taken, the best of them; then those of gain 0 or below, then the negatives;
    where none fits, nothing.
    """
    names: list[str] = []
    for item in once(items):
        fitting = [
            passage for passage in [*question.gains, *question.negatives] if lies_in(item.text, passage, similarity)
        ]

        def order(passage: str, names: tuple[str, ...] = tuple(names)) -> tuple[int, int, float]:
            gain = question.gains.get(passage, 0)
            if gain > 0:
                return (0, passage in names, -gain)
            return (1, passage not in question.gains, 0)

        names.append(min(fitting, key=order, default=""))
    return names


# Metrics of a list: of the gains of the gold, and of what each item is called. Of several items with one name the
# first counts; the others keep their rank with gain 0, and only precision counts them.


def relevant_ids(gold: Gold, rel: float) -> set[str]:
    """Ids with a positive gain of at least rel."""
    return {doc for doc, gain in gold.items() if gain > 0 and gain >= rel}


def finds(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> list[bool]:
    """For each rank up to k, whether a relevant document stands there for the first time."""
    wanted, top = relevant_ids(gold, rel), ranked[:k]
    return [name in wanted and name not in top[:place] for place, name in enumerate(top)]


def hit(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    if not relevant_ids(gold, rel):
        return None
    return 1 if any(finds(gold, ranked, k, rel)) else 0


def recall(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    return sum(finds(gold, ranked, k, rel)) / len(wanted)


def recall_all(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    return 1 if wanted <= set(ranked[:k]) else 0


def capped_recall(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    room = len(wanted) if k is None else min(len(wanted), k)
    return sum(finds(gold, ranked, k, rel)) / room


def weighted_recall(gold: Gold, ranked: Ranked, k: int | None) -> float | None:
    worth_of_all = sum(gain for gain in gold.values() if gain > 0)
    if not worth_of_all:
        return None
    return sum(gold[name] for name in set(ranked[:k]) & relevant_ids(gold, 0)) / worth_of_all


def recall_auc(gold: Gold, ranked: Ranked, grid: Sequence[int] = (1, 3, 5, 10, 20), rel: float = 0) -> float | None:
    """Trapezoids over the logarithm of the cut-off, by the width of all of them."""
    if not relevant_ids(gold, rel):
        return None
    area = 0.0
    for left, right in pairwise(grid):
        heights = [recall(gold, ranked, k, rel) or 0 for k in (left, right)]
        area += sum(heights) / 2 * (log(right) - log(left))
    return area / (log(grid[-1]) - log(grid[0]))


def precision(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0, of: str = "places") -> float | None:
    """Divides by k also where the list is shorter, unless it is asked of what was retrieved.

    For the whole list it divides by its length. 0 where there is nothing.
    """
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    top = ranked[:k]
    places = len(top) if k is None or of == "retrieved" else k
    return sum(name in wanted for name in top) / places if places else 0


def f(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0, of: str = "places", beta: float = 1) -> float | None:
    p, r = precision(gold, ranked, k, rel, of), recall(gold, ranked, k, rel)
    if p is None or r is None:
        return None
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p or r else 0


def mrr(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0) -> float | None:
    if not relevant_ids(gold, rel):
        return None
    for rank, found in enumerate(finds(gold, ranked, k, rel), start=1):
        if found:
            return 1 / rank
    return 0


def ap(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0, of: str = "gold") -> float | None:
    """The sum over the ranks of precision at that rank where a relevant document stands, divided by their number.

    Of what was retrieved, as Ragas' source has it: each item of a relevant document counts, and all but they are the
    divisor.
    """
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    if of == "retrieved":
        verdicts = [int(name in wanted) for name in ranked[:k]]
        precisions = [sum(verdicts[: i + 1]) / (i + 1) * verdicts[i] for i in range(len(verdicts))]
        return sum(precisions) / sum(verdicts) if any(verdicts) else 0
    found = finds(gold, ranked, k, rel)
    total = 0.0
    for rank in range(1, len(found) + 1):
        if found[rank - 1]:
            total += sum(found[:rank]) / rank
    return total / len(wanted)


def rprec(gold: Gold, ranked: Ranked, rel: float = 0) -> float | None:
    return recall(gold, ranked, len(relevant_ids(gold, rel)), rel)


def rbp(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0, p: float = 0.8) -> float | None:
    if not relevant_ids(gold, rel):
        return None
    return sum((1 - p) * p**place for place, found in enumerate(finds(gold, ranked, k, rel)) if found)


def rbp_residual(gold: Gold, ranked: Ranked, k: int | None, rel: float = 0, p: float = 0.8) -> float | None:
    """The weights of the ranks that nobody judged, those below the end too; summed to where nothing is left."""
    if not relevant_ids(gold, rel):
        return None
    top = ranked[:k]
    return sum((1 - p) * p**place for place in range(200) if place >= len(top) or top[place] not in gold)


def bpref(gold: Gold, ranked: Ranked, rel: float = 0) -> float | None:
    """By how many results judged not relevant stand above each relevant document, as far as there can be."""
    wanted = relevant_ids(gold, rel)
    if not wanted:
        return None
    wrong = [doc for doc in gold if doc not in wanted]
    total = 0.0
    for place, name in enumerate(ranked):
        if name in wanted and name not in ranked[:place]:
            above, most = len([other for other in ranked[:place] if other in wrong]), min(len(wrong), len(wanted))
            total += 1 - min(above, most) / most if above else 1
    return total / len(wanted)


def err(gold: Gold, ranked: Ranked, k: int | None, top: float = 4) -> float | None:
    """The chance of stopping at each rank, by one over it; as in gdeval's source."""
    if not relevant_ids(gold, 0):
        return None
    chances = [worth(grade, "exponential") / 2**top for grade in grades_of(gold, ranked, k)]
    return sum(prod(1 - each for each in chances[:i]) * chance / (i + 1) for i, chance in enumerate(chances))


def judgments(question: Question) -> Gold:
    """All that the gold judges: a hard negative has gain 0."""
    return {**dict.fromkeys(question.negatives, 0.0), **question.gains}


def condensed(gold: Gold, ranked: Ranked) -> Ranked:
    """The list without what nobody judged."""
    return [name for name in ranked if name in gold]


def worth(grade: float, gain: str) -> float:
    """What a grade contributes."""
    if grade <= 0:
        return 0
    return {"linear": grade, "exponential": 2**grade - 1, "binary": 1}[gain]


def discount(rank: int, kind: str) -> float:
    """What a gain at this rank is divided by."""
    if kind == "log2":
        return log2(rank + 1)
    return 1 if rank <= 2 else log2(rank)


def dcg_of(grades: Sequence[float], gain: str, kind: str) -> float:
    """The discounted sum of the grades in this order."""
    return sum(worth(grade, gain) / discount(rank, kind) for rank, grade in enumerate(grades, start=1))


def grades_of(gold: Gold, ranked: Ranked, k: int | None) -> list[float]:
    """The grade at each rank; of several items with one name, the first has it."""
    found = finds(gold, ranked, k)
    return [gold[name] if first else 0 for name, first in zip(ranked[:k], found, strict=True)]


def dcg(gold: Gold, ranked: Ranked, k: int | None, gain: str = "linear", kind: str = "log2") -> float | None:
    if not relevant_ids(gold, 0):
        return None
    return dcg_of(grades_of(gold, ranked, k), gain, kind)


def ndcg(
    gold: Gold, ranked: Ranked, k: int | None, gain: str = "linear", kind: str = "log2", ideal: str = "gold"
) -> float | None:
    """The ideal is the best order of all of the gold, cut at k, unless it is asked of what was retrieved."""
    found = dcg(gold, ranked, k, gain, kind)
    if found is None:
        return None
    grades = list(gold.values()) if ideal == "gold" else grades_of(gold, ranked, k)
    best = dcg_of(sorted(grades, reverse=True)[:k], gain, kind)
    return found / best if best else 0


# What the gold judges and warns of.


def judged(question: Question, names: Ranked, k: int | None) -> float | None:
    top = names[:k]
    return sum(name in question.gains or name in question.negatives for name in top) / len(top) if top else None


def holes(question: Question, names: Ranked, k: int | None) -> float | None:
    top = names[:k]
    share = judged(question, top, None)
    return None if share is None else 1 - share


def negatives_above(question: Question, names: Ranked, k: int | None) -> float | None:
    """Whether someone who reads from the top meets a hard negative before anything relevant."""
    wanted = relevant_ids(question.gains, 0)
    if not question.negatives or not wanted:
        return None
    for name in names[:k]:
        if name in wanted:
            return 0
        if name in question.negatives:
            return 1
    return 0


# What the items say.


def words(text: str) -> list[str]:
    """Runs of letters, digits and underscores."""
    runs = groupby(text.casefold(), key=lambda sign: sign.isalnum() or sign == "_")
    return ["".join(signs) for inside, signs in runs if inside]


def containment(question: Question, line: Line, k: int | None) -> float | None:
    if not question.answers:
        return None
    for item in shown(line.items, k):
        for answer in question.answers:
            found, wanted = words(item.text or ""), words(answer)
            if any(found[start : start + len(wanted)] == wanted for start in range(len(found))):
                return 1
    return 0


def distinct_docs(line: Line, k: int | None) -> float | None:
    return len({document(item) for item in shown(line.items, k)}) or None


def redundancy(line: Line, k: int | None) -> float | None:
    documents = [document(item) for item in shown(line.items, k)]
    again = [place for place, name in enumerate(documents) if name in documents[:place]]
    return len(again) / len(documents) if documents else None


def novelty(line: Line, k: int | None, threshold: float = 0.8) -> float | None:
    vocabularies = [set(words(item.text)) for item in shown(line.items, k) if item.text]
    new = 0
    for place, own in enumerate(vocabularies):
        shares = [len(own & above) / len(own) if own else 0 for above in vocabularies[:place]]
        new += max(shares, default=0) < threshold
    return new / len(vocabularies) if vocabularies else None


def freshness(question: Question, line: Line, k: int | None) -> float | None:
    top = shown(line.items, k)
    if question.as_of is None or not top:
        return None
    day = date.fromisoformat(question.as_of)
    return sum(item.version is not None and date.fromisoformat(item.version) <= day for item in top) / len(top)


# What the line says.


def false_evidence_rate(question: Question, line: Line, min_score: float | None = None) -> float | None:
    if not question.no_answer:
        return None
    if min_score is None:
        return 1 if line.items else 0
    return 1 if [item for item in once(line.items) if item.score is None or item.score >= min_score] else 0


def source_coverage(question: Question, line: Line) -> float | None:
    if not question.source or line.source is None:
        return None
    return sum(each in line.source for each in question.source) / len(question.source)


def misroute_rate(question: Question, line: Line) -> float | None:
    if not question.source or line.source is None:
        return None
    return sum(each not in line.source for each in question.source) / len(question.source)


def source_share(line: Line, source: str) -> float | None:
    if line.source is None:
        return None
    return 1 if source in line.source else 0


def entity_f1(question: Question, line: Line) -> float | None:
    """The harmonic mean of precision and recall of the two sets."""
    if question.entities is None or line.entities is None:
        return None
    wanted, found = set(question.entities), set(line.entities)
    if not wanted and not found:
        return 1
    if not wanted & found:
        return 0
    p, r = len(wanted & found) / len(found), len(wanted & found) / len(wanted)
    return 2 * p * r / (p + r)


def score(line: Line, name: str, before: str | None = None) -> float | None:
    scores = line.scores or {}
    if before is None or name not in scores:
        return scores.get(name)
    drop = (scores[before] - scores[name]) / scores[before] if scores.get(before, 0) > 0 else inf
    return drop if isfinite(drop) else None


def latency(stages: Mapping[str, float] | None, stage: str = "total") -> float | None:
    """The total is what is stated as such, else the sum of the stages."""
    if not stages:
        return None
    if stage == "total" and "total" not in stages:
        return sum(stages.values())
    return stages.get(stage)


def at_quantile(values: Sequence[float], q: float) -> float:
    """The smallest value with at least that share of all at or below it."""
    return min(value for value in values if sum(other <= value for other in values) / len(values) >= q)


# Against the baseline.


def overlap(line: Line, k: int | None) -> float | None:
    """The common ids by k, or by the length of the longer list where both are shorter; equal lists have 1."""
    if line.baseline is None:
        return None
    new, old = [item.id for item in shown(line.items, k)], list(line.baseline)[:k]
    if new == old:
        return 1
    return len([name for name in new if name in old]) / max(len(new), len(old))


def rbo(line: Line, p: float, k: int | None = None) -> float | None:
    """The sum over all depths, to where nothing is left of their weight, of the agreement to be expected at each.

    Webber, Moffat & Zobel (2010), section 4.4: RBO_EXT assumes that the ranks that the shorter list does not have
    agree as often as those that it has, and that the agreement at the end of the longer list goes on for ever.
    """
    if line.baseline is None:
        return None
    new, old = [item.id for item in shown(line.items, k)], list(line.baseline)[:k]
    short, long = sorted((new, old), key=len)
    if not short:
        return 0 if long else 1
    agreement = 0.0
    total = 0.0
    for depth in range(1, 2000):
        if depth <= len(long):
            common = len(set(short[:depth]) & set(long[:depth]))
            expected = len(set(short) & set(long[: len(short)])) / len(short) * max(0, depth - len(short))
            agreement = (common + expected) / depth
        total += (1 - p) * prod([p] * (depth - 1)) * agreement
    return total


# Passages: places of documents, as (document, start, end).


Place = tuple[str, int, int]


def points(places: Sequence[Place]) -> set[tuple[str, int]]:
    return {(document, at) for document, start, end in places for at in range(start, end)}


def passage_recall(gold: Sequence[Place], items: Sequence[Place]) -> float | None:
    return len(points(gold) & points(items)) / len(points(gold)) if gold else None


def passage_precision(gold: Sequence[Place], items: Sequence[Place]) -> float | None:
    paid = sum(end - start for _, start, end in items)
    return (len(points(gold) & points(items)) / paid if paid else 0.0) if gold else None


def passage_iou(gold: Sequence[Place], items: Sequence[Place]) -> float | None:
    return len(points(gold) & points(items)) / len(points(gold) | points(items)) if gold else None
