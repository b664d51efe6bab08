"""Labels and the gold set: which are new, which contradict it, and how a written sample takes the new ones.

Samples are changed as they were written, so that whatever else stands in them stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rankgate.collecting.spelling import differs_in, respelled
from rankgate.errors import Problem, shown
from rankgate.model.values import Gold, Sample

Gains = Mapping[str, float]
_OF_SHEETS = frozenset({"leading zeros", "case and an exponent", "a date", "case and a date", "a .0", "blanks"})


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of one document for one query, and where it is written; `judge` where that is a model."""

    query_id: str
    id: str
    gain: float
    file: str
    line: int
    judge: str | None = None


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """Labels seen through the gold: the new ones by query, how many it has already, and what must not be merged."""

    new: Mapping[str, Gains]
    known: int
    problems: tuple[Problem, ...]


def compare_labels(gold: Gold, labels: Iterable[Label], *, as_judge: bool = False) -> Merge:
    """What labels, in any order, add to the gold; `as_judge` those of a judge, whose earlier labels then count as well.

    A label that repeats what the gold or another label says is fine. These are problems, every one of them named: a
    query that the gold lacks (once a query); another gain than the gold's or another label's; a relevant document for
    a query that nothing answers, or that the query lists as a negative; a judge's label among those of people; an id of
    the gold set as a spreadsheet changes it.
    """
    first: dict[tuple[str, str], Label] = {}
    new: dict[str, dict[str, float]] = {}
    problems: list[Problem] = []
    unknown: set[str] = set()
    known = 0
    for label in labels:
        sample = gold.samples.get(label.query_id)
        if sample is None:
            if label.query_id not in unknown:
                respellings = respelled([label.query_id], gold.samples)
                other = "".join(
                    f" but {shown(each)} ({differs_in(label.query_id, each)})" for each in respellings.values()
                )
                message = f"{gold.name} has no query {shown(label.query_id)}{other}; add it there or drop its labels"
                problems.append(Problem(message, label.file, label.line))
            unknown.add(label.query_id)
            continue
        conflict = _conflict(label, sample, gold.name, as_judge=as_judge)
        if label.judge and not as_judge:
            conflict = f"labelled by judge {shown(label.judge)}, and no person; add --as-judge"
        conflict = conflict or _unlike(label, first.setdefault((label.query_id, label.id), label))
        if conflict:
            name = f"query {shown(label.query_id)}, document {shown(label.id)}"
            problems.append(Problem(f"{name}: {conflict}", label.file, label.line))
        elif gain_of(sample, label.id, as_judge=as_judge) is not None:
            known += 1
        else:
            new.setdefault(label.query_id, {})[label.id] = label.gain
    problems += _changed_by_sheets(first, gold)
    return Merge(new=new, known=known, problems=tuple(problems))


def _changed_by_sheets(labels: Mapping[tuple[str, str], Label], gold: Gold) -> Iterator[Problem]:
    """Labels of documents that the gold set knows under an id of which a spreadsheet makes this one."""
    known = {doc for sample in gold.samples.values() for doc in sample.gains}
    for doc, other in respelled(dict.fromkeys(doc for _, doc in labels if doc not in known), known).items():
        difference = differs_in(doc, other)
        if difference in _OF_SHEETS:
            label = next(label for (_, labelled), label in labels.items() if labelled == doc)
            what = f"document {shown(doc)}: {gold.name} has {shown(other)}, which differs in {difference} alone"
            yield Problem(f"{what}; let the spreadsheet import ids as text", label.file, label.line)


def with_labels(written: Mapping[str, Any], new: Gains, *, as_judge: bool = False) -> dict[str, Any]:
    """A written sample with labels added: to `expected_output`, or a judge's to `judge_labels`."""
    if as_judge:
        return {**written, "judge_labels": with_gains(written.get("judge_labels") or {}, new)}
    return {**written, "expected_output": with_gains(written.get("expected_output"), new)}


def with_gains(written: Any, new: Gains) -> Any:
    """Judgments in the shape in which they were written, with more added.

    A list of ids stays one as long as every new gain is 1. Any other gain makes it a mapping, 0 too: that somebody
    looked and said no is what `judged@k` counts. `{ids: …, answer: …}` keeps its answer.
    """
    if isinstance(written, Mapping) and isinstance(written.get("ids"), list | dict):
        return {**written, "ids": with_gains(written["ids"], new)}
    if isinstance(written, Mapping):
        return {**written, **{doc: plain_number(gain) for doc, gain in new.items()}}
    ids = written or []
    if all(gain == 1 for gain in new.values()):
        return [*ids, *new]
    return with_gains({str(doc): 1 for doc in ids}, new)


def plain_number(gain: float) -> float:
    """A gain as people write it: 1, not 1.0."""
    return int(gain) if gain == int(gain) else gain


def gain_of(sample: Sample, doc: str, *, as_judge: bool) -> float | None:
    """What the gold says of a document, or else, where a judge's labels count too, the judge; None is unjudged."""
    gain = sample.gains.get(doc)
    return sample.judge_gains.get(doc) if gain is None and as_judge else gain


def _conflict(label: Label, sample: Sample, gold_file: str, *, as_judge: bool) -> str | None:
    """What the gold set has against a label; None where it can be merged.

    Args:
        label: the label.
        sample: its question, as the gold set has it.
        gold_file: the name of the gold set's file, for the message.
        as_judge: whether a model's labels are merged, with which its earlier ones may not disagree either.
    """
    judged = gain_of(sample, label.id, as_judge=as_judge)
    if judged is not None and judged != label.gain:
        who = f"{gold_file}:{sample.line}" if sample.line else gold_file
        what = "says" if label.id in sample.gains else "has the judge's label"
        return f"labelled {label.gain:g}, but {who} {what} {judged:g}; change one of them"
    if judged is None and sample.spans:
        return "the query's gold are spans of documents, and a label names an id; add the passage as a span by hand"
    if judged is not None or label.gain <= 0:
        return None
    if sample.no_answer:
        return (
            f"labelled {label.gain:g}, but the question says no_answer: true; drop that in {gold_file}, or label it 0"
        )
    if label.id in sample.negatives:
        return f"labelled {label.gain:g}, but the question lists it under negatives; drop it there, or label it 0"
    return None


def _unlike(label: Label, first: Label) -> str | None:
    """What another label for the same pair has against it."""
    if label.gain == first.gain:
        return None
    return f"labelled {label.gain:g}, but {first.file}:{first.line} says {first.gain:g}; change one of them"
