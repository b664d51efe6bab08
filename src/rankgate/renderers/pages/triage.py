"""The triage table: the questions that need a look, the worst first, each with what was expected and both rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from rankgate.model.details import Cause, Expected, Question, ReportDetails, sampled, worst_first
from rankgate.model.report import GateResult
from rankgate.model.tags import failing
from rankgate.model.values import TOLERANCE, Unit
from rankgate.renderers.escape import one_line
from rankgate.renderers.pages.segments import leading_measure
from rankgate.renderers.phrases import telling, value_or_dash

MAX_ROWS = 400
MAX_DOCUMENTS = 10
MAX_TAGS = 10
MAX_CHOICES = 200
_QUIET = (Cause.FINE, Cause.NOTHING_RELEVANT)


class Triaged(msgspec.Struct, frozen=True, kw_only=True):
    """A question as a row. `tags` are (number of the choice or None, text)."""

    question: Question
    tags: tuple[tuple[int | None, str], ...]
    more_tags: int
    values: str
    expected: Sequence[Expected]
    rest: Sequence[Expected]


class Triage(msgspec.Struct, frozen=True, kw_only=True):
    """The rows, what they can be filtered by, and how many questions have none."""

    rows: tuple[Triaged, ...]
    tags: tuple[tuple[int, str, int], ...]  # the number of a tag, its label, and how many rows have it
    causes: Counter[Cause]
    left_out: int
    quiet: int
    compared: bool


def triage_of(details: ReportDetails, gates: Sequence[GateResult] = ()) -> Triage:
    """Questions without a finding and without a change have no row; of the others the worst of each cause have."""
    measure = leading_measure(details)
    metric = measure.name if measure else ""

    def changed(question: Question) -> bool:
        before, now = question.values.get(metric, (None, None))
        return before is not None and now is not None and abs(now - before) > TOLERANCE

    order = worst_first(details, failing(gates))
    notable = [question for question in order if question.cause not in _QUIET or changed(question)]
    kept = sampled(notable, lambda question: question.cause, MAX_ROWS)
    tags = Counter(tag for question in kept for tag in dict.fromkeys(question.tags))
    numbers = {tag: number for number, tag in enumerate(sorted(tag for tag, _ in tags.most_common(MAX_CHOICES)))}
    compared = any(question.before is not None for question in details.questions)
    unit = measure.unit if measure else Unit.SCORE
    return Triage(
        rows=tuple(_row(question, metric, unit, numbers, details.k, compared=compared) for question in kept),
        tags=tuple((number, one_line(tag, 60), tags[tag]) for tag, number in numbers.items()),
        causes=Counter(question.cause for question in kept),
        left_out=len(notable) - len(kept),
        quiet=len(details.questions) - len(notable),
        compared=compared,
    )


def _row(question: Question, metric: str, unit: Unit, numbers: dict[str, int], k: int, *, compared: bool) -> Triaged:
    shown, folded = telling(question.expected, k, MAX_DOCUMENTS)
    texts = [value_or_dash(value, unit) for value in question.values.get(metric, (None, None))]
    tags = tuple(dict.fromkeys(question.tags))
    return Triaged(
        question=question,
        tags=tuple((numbers.get(tag), one_line(tag, 60)) for tag in tags[:MAX_TAGS]),
        more_tags=max(0, len(tags) - MAX_TAGS),
        values="" if not metric else " → ".join(texts) if compared else texts[1],
        expected=shown,
        rest=folded,
    )


def mark_of(gain: float | None) -> str:
    """What the gold has to say of an item of a ranking."""
    if gain is None:
        return ""
    if gain <= 0:
        return "judged not relevant"
    return "right" if gain == 1 else f"right, gain {gain:g}"
