"""Which answers people label to check a judge: drawn by hash, and blind.

The answers with the lowest hash of their content are drawn, in that order: so the same inputs give the same sample, an
answer has the same luck in every run that has it, whatever a judge says of it, and what was labelled for a small sample
serves a larger one. Labels count in this order, so that nobody can pick the answers that are easy to label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Any

import msgspec

from rankgate.judge.model import Answer, Inputs, Judge, digest
from rankgate.judge.plan import judged
from rankgate.judge.records import Known
from rankgate.judge.tasks import Entail
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.names import parse_metric
from rankgate.model.answers import LABELLED, VerdictKind, says_nothing
from rankgate.model.verdicts import AnswerVerdicts

LEAST = 40  # answers in a sample
LABELLED_KINDS: frozenset[str] = frozenset({VerdictKind.STATE, VerdictKind.SUPPORT})


class Labelled(Enum):
    """What a label is about."""

    ANSWER = "an answer"
    CLAIM = "a claim"
    RUBRIC = "a criterion"


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer to label, with all that a person or another judge needs for it; texts as in `Inputs`.

    `claims` are those into which the judge split the answer, none where it found nothing asserted. `rubrics` are the
    criteria in words that gates are on.
    """

    query_id: str
    question: str
    answer: str
    passages: tuple[str, ...]
    claims: tuple[str, ...]
    rubrics: tuple[str, ...] = ()

    @property
    def content(self) -> dict[str, Any]:
        """All of it, without criteria where there are none."""
        content = msgspec.structs.asdict(self)
        return content if self.rubrics else {name: value for name, value in content.items() if name != "rubrics"}

    @property
    def key(self) -> str:
        """SHA-256 of the content: labels belong to it, whatever run has it."""
        return digest(self.content)

    @property
    def statements(self) -> tuple[str, ...]:
        """What is labelled, by number: the answer as a whole, which is no text here, its claims, and the criteria."""
        return "", *self.claims, *self.rubrics

    def labelled(self, n: int) -> Labelled:
        """What the label of this number is about."""
        if n == 0:
            return Labelled.ANSWER
        return Labelled.CLAIM if n <= len(self.claims) else Labelled.RUBRIC

    def due(self, *, asserts: bool) -> list[int]:
        """The numbers of labels that it takes: those of claims only where the answer states something."""
        numbers = range(len(self.statements))
        return [n for n in numbers if asserts or self.labelled(n) is not Labelled.CLAIM]


class AnswerKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer: the key of its item, none where it is empty."""

    query_id: str
    key: str


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a sample was drawn: by whose claims, and from which run.

    `units` are the answers of the run by hash, of which the first `sampled` are in the sample, but for those that are
    empty or lacking: these need nobody's label and have no key. `unjudged` counts the answers that are left out, as the
    judge has no verdict on them. `sample` is the SHA-256 of the items' keys in their order.
    """

    sample: str
    judge: str
    model: str
    run: str
    sampled: int
    units: tuple[AnswerKey, ...]
    unjudged: int

    def skipped(self, labelled: Collection[str]) -> AnswerKey | None:
        """The first answer without a label, if a later one has one; `labelled` are the keys of those that have."""
        drawn = len(self.drawn(labelled))
        rest = self.units[drawn:]
        return rest[0] if any(unit.key in labelled for unit in rest) else None

    def drawn(self, labelled: Collection[str]) -> tuple[AnswerKey, ...]:
        """The units that count as drawn: those before the first that lacks a label."""
        for at, unit in enumerate(self.units):
            if unit.key and unit.key not in labelled:
                return self.units[:at]
        return self.units


def draw(
    answers: Iterable[Answer],
    judge: Judge,
    known: Known,
    *,
    number: int,
    run: str,
    lacking: Iterable[str] = (),
    rubrics: Mapping[str, str] = {},
) -> tuple[tuple[Item, ...], Design]:
    """A sample of answers: its items, in the order of the draw.

    Of the verdicts those of the first repeat count. `number` is of answers, at least `LEAST`: all where there are
    fewer. `run` is a name. `lacking` are the questions that the run does not answer. `rubrics` are the criteria that
    people label, too, by the names of their metrics.
    """
    items = {query: Item(query, "", "", (), ()) for query in lacking}
    unjudged = 0
    metrics = metrics_of(rubrics)
    verdict_kinds = LABELLED_KINDS.union(*(metric.asks for metric in metrics))
    for answer in answers:
        item = _item_with_claims(answer, judged(answer, judge, verdict_kinds, known), metrics, rubrics)
        if item is None:
            unjudged += 1
        else:
            items[answer.query_id] = item
    luck = {
        query: digest(["sample", msgspec.structs.replace(item, claims=(), rubrics=()).key])
        for query, item in items.items()
    }
    order = sorted(items, key=luck.__getitem__)
    units = tuple(AnswerKey(query, "" if says_nothing(items[query].answer) else items[query].key) for query in order)
    sampled = units[:number]
    chosen = tuple(items[unit.query_id] for unit in sampled if unit.key)
    sample = digest([item.key for item in chosen])
    return chosen, Design(sample, judge.id, judge.model, run, len(sampled), units, unjudged)


def metrics_of(rubrics: Iterable[str]) -> list[JudgedMetric]:
    """The metrics that labels are of, with those of these names."""
    metrics = map(parse_metric, (*LABELLED, *rubrics))
    return [metric for metric in metrics if isinstance(metric, JudgedMetric)]


def _item_with_claims(
    answer: Answer, verdicts: AnswerVerdicts, metrics: Iterable[JudgedMetric], rubrics: Mapping[str, str]
) -> Item | None:
    """What there is to label of an answer; None where the judge has no verdict on it."""
    claims = verdicts.claims
    if not isinstance(claims, tuple) or any(metric.unjudged(verdicts) for metric in metrics):
        return None
    labelled = [metric.name for metric in metrics if metric.value(verdicts) is not None]
    criteria = tuple(criterion for name, criterion in rubrics.items() if name in labelled)
    return msgspec.structs.replace(item_of(answer, claims), rubrics=criteria)


def answers_key(keys: Mapping[str, str]) -> str:
    """SHA-256 of a run's answers, by their keys."""
    return digest(sorted(keys.items()))


def item_of(answer: Answer, claims: tuple[str, ...] = ()) -> Item:
    """What there is to label of an answer, of which a judge found these claims."""
    texts = Inputs(Entail.name, answer.question, answer.answer or "", answer.passages, claims)
    return Item(answer.query_id, texts.question, texts.answer, texts.passages, texts.statements)
