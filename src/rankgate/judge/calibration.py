"""What people's labels say of a judge, their values beside its own of the same answers; and the file that keeps it.

An answer counts for a metric where both have a value for it. Of several people each has a value, and their mean counts,
whether they agree or not: so nobody's word is dropped, and no order of files or names decides. Claims count once a
person, an answer as much as any other. Labels count in the order of the draw, up to the first answer without one.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from rankgate.errors import bad_input
from rankgate.judge.model import Answer, Judge, Passage
from rankgate.judge.plan import judged
from rankgate.judge.records import Known
from rankgate.judge.sample import AnswerKey, Item, metrics_of
from rankgate.judge.sample import Labelled as LabelKind
from rankgate.metrics.answers import JudgedMetric, supports
from rankgate.model.answers import MIN_ANSWERS, MIN_RARER, Entailment, GoldClaim, Rate, VerdictKind
from rankgate.model.verdicts import (
    CALIBRATION_VERSION,
    AnswerState,
    AnswerVerdicts,
    Calibration,
    MetricCalibration,
    Support,
    Supports,
    Unjudged,
)
from rankgate.readers.dates import iso_day
from rankgate.readers.json_text import source_json, spoken
from rankgate.readers.source import open_source
from rankgate.statistics.calibration import MIN_LABELS, Labelled, Powered, Quality, kappa, prediction_powered, quality

if TYPE_CHECKING:  # sheets of labels are paid for where they are read
    from rankgate.judge.label_files import Labels

OF_SAMPLE: frozenset[str] = frozenset({VerdictKind.GOLD_IN_CONTEXT})  # what is asked of `labelled_answer`
Verdicts = tuple[AnswerVerdicts, ...]
VerdictsByPerson = dict[str, AnswerVerdicts]  # what each says of an answer

_STEEPEST = 1.5  # no judge sees half as much again as there is
_FAR = 1e6  # a few labels give wide intervals
_ADVICE = "write it again with `rankgate judge calibrate`"


class Checked(NamedTuple):
    """A labelled answer: what each person says of all of it, what the judge says of it and of the labelled claims."""

    item: Item
    people: VerdictsByPerson
    judge: Verdicts
    support: Supports


class Disagreement(Struct, frozen=True):
    """A claim, or with n = 0 an answer, of which a person says otherwise than the judge."""

    item: Item
    n: int
    people: Mapping[str, str]
    judge: str
    passage: str


def labelled_answer(item: Item) -> Answer:
    """An answer whose given claims are those that people labelled: so that any judge can be asked about the same."""
    passages = tuple(Passage(str(n), text) for n, text in enumerate(item.passages, start=1))
    return Answer(
        query_id=item.query_id,
        question=item.question,
        answer=item.answer,
        context=passages,
        claims=tuple(map(GoldClaim, item.claims)),
    )


def support_of(item: Item, judge: Judge, known: Known) -> Supports | Unjudged:
    """What the judge says of the labelled claims, or why that is missing."""
    support = judged(labelled_answer(item), judge, OF_SAMPLE, known).gold_in_context if item.claims else ()
    return support or ()


def labelled_verdicts(
    items: Iterable[Item], labels: Labels, no_answer: Collection[str], rubrics: Mapping[str, str] = {}
) -> dict[str, VerdictsByPerson]:
    """What each person says who labelled all of an answer, by its key; `rubrics` are the criteria by metric."""
    metrics = _by_criterion(rubrics)
    words_by_answer: dict[str, dict[str, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for (by, key, n), label in labels.items():
        if label.verdict is not None:
            words_by_answer[key][by][n] = label.verdict
    verdicts_by_answer: dict[str, VerdictsByPerson] = defaultdict(dict)
    for item in items:
        for by, words in sorted(words_by_answer[item.key].items()):
            due = item.due(asserts=words.get(0) == "asserts")
            if words.keys() >= {*due}:
                claims = [n for n in due if item.labelled(n) is LabelKind.CLAIM]
                by_question: dict[str, dict[str, bool]] = defaultdict(dict)
                for n in due:
                    if item.labelled(n) is LabelKind.RUBRIC and (metric := metrics.get(item.statements[n])):
                        [question] = metric.asks
                        by_question[question][metric.name] = words[n] == "yes"
                verdicts_by_answer[item.key][by] = AnswerVerdicts(
                    query_id=item.query_id,
                    context=(),
                    citations=(),
                    no_answer=item.query_id in no_answer,
                    state=AnswerState(words[0]),
                    support=tuple(Support(n, Entailment(words[n])) for n in claims),
                    by_question=by_question,
                )
    return verdicts_by_answer


def _by_criterion(rubrics: Mapping[str, str]) -> dict[str, JudgedMetric]:
    return {rubrics[metric.name]: metric for metric in metrics_of(rubrics) if metric.name in rubrics}


def agreement(words: Iterable[VerdictsByPerson]) -> float | None:
    """Kappa of people with each other on whether claims are supported, over all pairs of people."""
    pairs = [pair for each in words for pair in combinations(each.values(), 2)]
    claims = ((_supported(one), _supported(other)) for one, other in pairs)
    return kappa([pair for one, other in claims for pair in zip(one, other, strict=False)])


def _supported(verdicts: AnswerVerdicts) -> list[bool]:
    return [each.verdict is Entailment.SUPPORTED for each in supports(verdicts.support)]


def word_of(verdict: object) -> str:
    """A verdict in one word."""
    return str(getattr(verdict, "value", "no verdict"))


def disagreements(checked: Iterable[Checked], rubrics: Mapping[str, str] = {}) -> list[Disagreement]:
    """All of them, first those of which everybody says otherwise than the judge."""
    metrics = _by_criterion(rubrics)
    differing: list[Disagreement] = []
    for item, people, judge, support in checked:
        states = {by: word_of(each.state) for by, each in people.items()}
        if {*states.values()} != {word_of(judge[0].state)}:
            differing.append(Disagreement(item, 0, states, word_of(judge[0].state), ""))
        for n, claim in enumerate(support):
            words = {by: supports(each.support)[n].verdict for by, each in people.items() if each.support}
            supported = claim.verdict is Entailment.SUPPORTED  # why one is not makes no difference
            if any((word is Entailment.SUPPORTED) is not supported for word in words.values()):
                texts = item.passages[claim.passages[0] - 1 :] if claim.passages else item.passages
                by_person = {by: word_of(word) for by, word in words.items()}
                differing.append(Disagreement(item, n + 1, by_person, word_of(claim.verdict), next(iter(texts), "")))
        differing += _on_criteria(item, people, judge[0], metrics)
    return sorted(differing, key=lambda each: each.judge in each.people.values())


def _on_criteria(
    item: Item, people: VerdictsByPerson, judge: AnswerVerdicts, metrics: Mapping[str, JudgedMetric]
) -> Iterator[Disagreement]:
    """By criterion, in the order of the item's; `metrics` are theirs."""
    for n, criterion in enumerate(item.rubrics, start=1 + len(item.claims)):
        if metric := metrics.get(criterion):
            meets = _meets(judge, metric)
            words = {by: _meets(each, metric) for by, each in people.items()}
            if any(word != meets for word in words.values()):
                yield Disagreement(item, n, words, meets, "")


def _meets(verdicts: AnswerVerdicts, metric: JudgedMetric) -> str:
    value = metric.value(verdicts)
    if value is None:
        return "no verdict"
    return "yes" if value else "no"


def metric_calibration(
    metric: JudgedMetric,
    units: Sequence[AnswerKey],
    drawn: Sequence[AnswerKey],
    values: Mapping[str, float],
    checked: Mapping[str, Checked],
    clusters: Mapping[str, str] = {},
) -> MetricCalibration | None:
    """What labels say of the judge in one metric and of the run; None where they say nothing.

    Args:
        metric: one of `metrics_of`.
        units: the answers of the run.
        drawn: the first of them, that were labelled; empty ones need no label.
        values: the judge's, of every query of the run that has one.
        checked: what people say of those that were drawn, by query.
        clusters: of each query where the gold names any.
    """
    measured = quality_of(metric, checked, values, clusters)
    if measured is None:
        return None
    labelled: dict[str, Labelled] = {}
    for unit in drawn:
        value = values.get(unit.query_id)
        people = metric.mean(checked[unit.query_id].people.values()) if unit.query_id in checked else None
        if not unit.key:
            people = value  # of an empty answer nobody needs to be asked
        if value is not None and people is not None:
            labelled[unit.query_id] = Labelled(people, value)
    others = {unit.query_id: values[unit.query_id] for unit in units[len(drawn) :] if unit.query_id in values}
    independent = [clusters[query] for query in (*labelled, *others)] if clusters else ()
    powered = prediction_powered([*labelled.values()], [*others.values()], independent)
    return _metric_calibration(measured, powered, values, clustered=bool(clusters))


def _metric_calibration(
    measured: Quality, value: Powered | None, values: Mapping[str, float], *, clustered: bool
) -> MetricCalibration:
    """One metric as the file has it: `value` is the run's as people would find it, `values` the judge's by question."""
    return MetricCalibration(
        labels=measured.n,
        rarer=measured.rarer,
        kappa=measured.kappa,
        sensitivity=Rate(*measured.sensitivity) if measured.sensitivity else None,
        specificity=Rate(*measured.specificity) if measured.specificity else None,
        slope=Rate(*measured.slope) if measured.slope else None,
        value=value,
        values=dict(sorted(values.items())),
        clustered=clustered,
    )


def segment_calibrations(
    metrics: Sequence[JudgedMetric],
    checked: Mapping[str, Checked],
    values: Mapping[str, Mapping[str, float]],
    segments: Mapping[str, str],
    clusters: Mapping[str, str] = {},
) -> dict[str, dict[str, MetricCalibration]]:
    """The same by segment and metric, without values of the run; where at least 10 answers are labelled."""
    by_segment: dict[str, dict[str, MetricCalibration]] = {}
    for segment in sorted({*segments.values()}):
        within = {query: each for query, each in checked.items() if segments.get(query) == segment}
        for metric in metrics:
            measured = quality_of(metric, within, values[metric.name], clusters)
            if measured and measured.n >= MIN_LABELS:
                of_metric = _metric_calibration(measured, None, {}, clustered=bool(clusters))
                by_segment.setdefault(segment, {})[metric.name] = of_metric
    return by_segment


def quality_of(
    metric: JudgedMetric,
    checked: Mapping[str, Checked],
    values: Mapping[str, float],
    clusters: Mapping[str, str] = {},
) -> Quality | None:
    """The judge beside people in one metric; None without an answer for which both have a value."""
    labelled: list[Labelled] = []
    claims: list[list[tuple[bool, bool]]] = []
    independent: list[str] = []
    copies = math.lcm(*range(1, 1 + max((len(each.people) for each in checked.values()), default=0)))
    for query, (_, people, judge, support) in sorted(checked.items()):
        value_by_people = metric.mean(people.values())
        if value_by_people is None or query not in values:
            continue
        if VerdictKind.SUPPORT in metric.asks:
            judge_says = [each.verdict is Entailment.SUPPORTED for each in support]
            labelling = [each for each in people.values() if each.support]
            each_says = [list(zip(_supported(each), judge_says, strict=True)) for each in labelling]
        else:
            each_says = [[(bool(metric.value(each)), bool(metric.value(judge[0])))] for each in people.values()]
        labelled.append(Labelled(value_by_people, values[query]))
        claims.append([pair for pairs in each_says for pair in pairs] * (copies // len(each_says)))
        if clusters:
            independent.append(clusters[query])
    return quality(labelled, claims, independent) if labelled else None


def read_calibration(path: str) -> Calibration | None:
    """What people found of a judge; None where there is no such file, a RankgateError where it is damaged."""
    if not Path(path).exists():
        return None
    with open_source(path) as source:
        written = source_json(source)
        if isinstance(written, dict) and written.get("version") not in (None, CALIBRATION_VERSION):
            raise bad_input("is of another version of rankgate; " + _ADVICE, file=source.name, key="version")
        try:
            calibration = msgspec.convert(written, Calibration)
        except msgspec.ValidationError as error:
            raise bad_input(f"{spoken(error)}; {_ADVICE}", file=source.name) from error
        if iso_day(calibration.date) != calibration.date:
            raise bad_input(f"expected a day such as 2026-01-31; {_ADVICE}", file=source.name, key="date")
        if not re.fullmatch("[0-9a-f]{64}", calibration.judge):
            raise bad_input(f"expected the whole id of a judge; {_ADVICE}", file=source.name, key="judge")
        for key in _impossible(calibration):
            raise bad_input(f"cannot be so; {_ADVICE}", file=source.name, key=key)
    return calibration


def _impossible(calibration: Calibration) -> Iterator[str]:
    """The keys of numbers that no labels give."""
    parts = {"metrics": calibration.metrics, **{f"segments.{tag}": each for tag, each in calibration.segments.items()}}
    for part, metrics in parts.items():
        yield from (f"{part}.{name}.{key}" for name, metric in metrics.items() for key in _absurd(metric))


def _absurd(metric: MetricCalibration) -> Iterator[str]:
    """The keys of numbers that no labels give, as of a file that was written by hand."""
    shares = {"sensitivity": metric.sensitivity, "specificity": metric.specificity}
    rates: dict[str, Rate | None] = {**shares, "slope": metric.slope}
    for key, rate in rates.items():
        if rate and not (-_FAR < rate.low <= rate.value <= rate.high < _FAR and 0 <= rate.n <= metric.labels):
            yield key
    yield from (key for key, rate in shares.items() if rate and not 0 <= rate.low <= rate.high <= 1)
    enough = metric.labels >= MIN_ANSWERS and metric.rarer >= MIN_RARER
    if enough and metric.slope and abs(metric.slope.value) > _STEEPEST:
        yield "slope.value"
    if not -1 <= (metric.kappa or 0.0) <= 1:
        yield "kappa"
    elif not 0 <= metric.rarer <= metric.labels:
        yield "labels"
    if metric.value and not _is_sound(metric.value):
        yield "value"
    if not all(0 <= value <= 1 for value in metric.values.values()):
        yield "values"


def _is_sound(known: Powered) -> bool:
    numbers = (known.value, known.error, known.cumulant, known.unseen)  # of answers that are worth from 0 to 1
    signed = min(known.error, known.unseen) >= 0 and 0 <= known.tuning <= 1
    return all(abs(each) <= _STEEPEST for each in numbers) and signed and known.n > 1
