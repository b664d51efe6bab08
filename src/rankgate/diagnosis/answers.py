"""Which answers got worse, which of their claims lost their support, and what became of the passages. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from rankgate.metrics.answers import AnswerableMetric, JudgedMetric, rests_on, supports
from rankgate.metrics.base import Metric
from rankgate.metrics.contexts import ContextRecall
from rankgate.metrics.gaps import baseline_column, filled
from rankgate.model.answers import (
    AnswerChanges,
    AnswerLoss,
    Entailment,
    GoldClaim,
    LostClaim,
    NoVerdicts,
    Place,
    Silent,
    Stage,
    UnjudgedKind,
    Unsupported,
    UnsupportedClaim,
    VerdictKind,
)
from rankgate.model.gate_result import GateResult
from rankgate.model.judge_words import stage_finding
from rankgate.model.report import Diagnosis
from rankgate.model.scores import MatchedQuery, Scores
from rankgate.model.values import TOLERANCE, Details, RunField, Verdict
from rankgate.model.verdicts import AnswerState, AnswerVerdicts, Support

MAX_CLAIMS = 5  # of a question
LONGEST_CLAIM = 300  # characters, also of a quote
_LEAST_GONE = (Place.IN_CONTEXT, Place.REWRITTEN, Place.BEYOND, Place.GONE)
_RECALL = ContextRecall()


def answer_changes(
    gates: Sequence[GateResult], metrics: Sequence[Metric], now: Scores, baseline: Scores | None
) -> AnswerChanges:
    """What a report shows of answers: each question that got worse once, by the gate that weighs most.

    Gates that fail come first, then those that warn; of each those questions that lost most.
    """
    by_name = {each.name: each for each in metrics}
    losses: dict[str, AnswerLoss] = {}
    judged = [gate for gate in gates if gate.by_judge and gate.is_main]
    worst_first = sorted(judged, key=lambda gate: (gate.verdict is not Verdict.FAIL, gate.verdict is not Verdict.WARN))
    for gate in worst_first:
        if baseline is not None:
            for loss in _losses(by_name[gate.metric], now, baseline):
                losses.setdefault(loss.query_id, loss)
    of_claims = dict.fromkeys(gate.metric for gate in judged if _claims_of(by_name[gate.metric]) is VerdictKind.SUPPORT)
    silent = _silent(tuple(of_claims), now, baseline)
    unsupported = _unsupported(now) if of_claims else []
    return AnswerChanges(silent, worse=len(losses), losses=[*losses.values()], unsupported=unsupported)


def _unsupported(now: Scores) -> list[Unsupported]:
    """The answers with a claim that nothing supports, by the first repeat; the largest share of such claims first."""
    answers: list[Unsupported] = []
    for query_id in now.query_ids:
        repeats = _verdicts(now.matched.get(query_id))
        claims = repeats[0].claims if repeats else None
        support = repeats[0].support if repeats else None
        if not isinstance(claims, tuple) or not isinstance(support, tuple):
            continue
        bare = [each for each in support if each.verdict is not Entailment.SUPPORTED]
        unsupported = tuple(_unsupported_claim(claims[each.n - 1], each, repeats[0].context) for each in bare)
        if unsupported:
            question = now.samples[query_id].question
            answers.append(Unsupported(query_id=query_id, question=question, claims=unsupported, among=len(claims)))
    return sorted(answers, key=lambda each: -len(each.claims) / each.among)


def _unsupported_claim(text: str, support: Support, context: Sequence[str]) -> UnsupportedClaim:
    named = tuple(context[number - 1] for number in support.passages if number <= len(context))
    passages = named or tuple(context)
    quote = _cut(support.quote)
    return UnsupportedClaim(text=_cut(text), verdict=support.verdict, passages=passages, quote=quote)


def stage_found(metric: Metric, now: Scores, baseline: Scores) -> list[Diagnosis]:
    """The stage at which more than half of the questions got worse; none where verdicts lack to tell."""
    stages = Counter(loss.stage for loss in _losses(metric, now, baseline))
    stage, count = max(stages.items(), key=lambda each: each[1], default=(None, 0))
    if stage is None or 2 * count <= stages.total():
        return []
    numbers: dict[str, str | int | float] = {"metric": metric.name, "worse": stages.total()}
    numbers |= {each.value: number for each, number in stages.items() if each}
    recalls = [(_recall(now.matched.get(each)), _recall(old)) for each, old in baseline.matched.items()]
    if known := [(new, old) for new, old in recalls if new is not None and old is not None]:
        numbers["context_recall"] = sum(new for new, _ in known) / len(known)
        numbers["context_recall_before"] = sum(old for _, old in known) / len(known)
        numbers["questions"] = len(known)
    return [Diagnosis(rule=stage.value, finding=stage_finding(stage, numbers), evidence=numbers)]


def _losses(metric: Metric, now: Scores, baseline: Scores) -> list[AnswerLoss]:
    """The questions that lost, those that lost most first."""
    fell: list[tuple[float, AnswerLoss]] = []
    columns = zip(now.query_ids, now.values[metric.name], baseline_column(metric, baseline), strict=True)
    for query_id, value, was in columns:
        new = now.matched.get(query_id)
        old = baseline.matched.get(query_id)
        change = 0.0 if value is None or was is None else metric.direction.sign * (value - was)
        if change >= -TOLERANCE or value is None or was is None:
            continue
        stage = _stage(metric, new, old)
        claims: list[LostClaim] = []
        if new and old and isinstance(metric, JudgedMetric) and stage is not Stage.REFUSAL:
            claims = _claims(metric, new, old)
        loss = AnswerLoss(query_id, now.samples[query_id].question, metric.name, was, value, stage)
        loss = replace(loss, claims=tuple(claims[:MAX_CLAIMS]), more=len(claims[MAX_CLAIMS:]))
        fell.append((change, loss))
    return [loss for _, loss in sorted(fell, key=lambda each: each[0])]


def _stage(metric: Metric, new: MatchedQuery | None, old: MatchedQuery | None) -> Stage | None:
    """Where a question that got worse got worse; None where no verdict says so.

    Retrieval is to blame where the context supports less of the gold answer than before, and the generator where it
    does not and the metric is of the answer.
    """
    recall = _recall(new)
    baseline_recall = _recall(old)
    if recall is not None and baseline_recall is not None and recall < baseline_recall - TOLERANCE:
        return Stage.RETRIEVAL
    if _asserts(old) and _asserts(new) is False:
        return Stage.REFUSAL
    of_claims = _claims_of(metric) in (VerdictKind.SUPPORT, VerdictKind.GOLD_IN_ANSWER)
    of_answer = of_claims or isinstance(metric, AnswerableMetric)
    return Stage.GENERATOR if of_answer and recall is not None and baseline_recall is not None else None


def _claims_of(metric: Metric) -> VerdictKind | None:
    return metric.claims if isinstance(metric, JudgedMetric) else None


def _recall(query: MatchedQuery | None) -> float | None:
    return _RECALL.per_query(query) if query else None


def _verdicts(query: MatchedQuery | None) -> tuple[AnswerVerdicts, ...]:
    return (query.details and query.details.verdicts) or () if query else ()


def _asserts(query: MatchedQuery | None) -> bool | None:
    """Whether an answer asserts something in any repeat; None where that is not known."""
    states = [each.state for each in _verdicts(query)]
    return AnswerState.ASSERTS in states if states and all(isinstance(each, AnswerState) for each in states) else None


class _Repeat(NamedTuple):
    """One answer of a question and what the judge said of it, of the repeats of a run."""

    query: MatchedQuery
    verdicts: AnswerVerdicts


class _JudgedClaim(NamedTuple):
    """A claim as it is written, and the verdict on it."""

    text: str
    support: Support

    @property
    def is_supported(self) -> bool:
        return self.support.verdict is Entailment.SUPPORTED


def _claims(metric: JudgedMetric, new: MatchedQuery, old: MatchedQuery) -> list[LostClaim]:
    """The claims without support, of the repeat that lost most; those with a passage that supported them come first.

    A gold claim is the same in both runs, and listed where it had support. A claim of an answer is looked for among
    those of the baseline's, whatever the case and the full stop.
    """
    kind = metric.claims
    pairs = [*zip(_verdicts(new), _verdicts(old), strict=False)]
    if kind is None or not pairs:
        return []
    now, verdicts_before = min(pairs, key=lambda pair: _change(metric, *pair))
    run = _Repeat(new, now)
    baseline = _Repeat(old, verdicts_before)
    claims_before = _by_text(verdicts_before, kind)
    lost: list[LostClaim] = []
    for key, claim in _by_text(now, kind, only_vital=metric.key == "vital_claim_recall").items():
        claim_before = claims_before.get(key)
        had_support = claim_before is not None and claim_before.is_supported
        if claim.is_supported or not (had_support or kind is VerdictKind.SUPPORT):
            continue
        lost_claim = LostClaim(
            text=_cut(claim.text),
            asked=kind,
            before=claim_before.support.verdict if claim_before else None,
            now=claim.support.verdict,
        )
        if kind is VerdictKind.GOLD_IN_ANSWER:
            lost.append(_in_context(lost_claim, key, run, baseline))
        else:
            lost.append(_linked(lost_claim, claim_before, run, baseline))
    return sorted(lost, key=lambda each: each.place is None)


def _change(metric: JudgedMetric, now: AnswerVerdicts, baseline: AnswerVerdicts) -> float:
    """Of the metric's value, below zero for the worse; 0.0 where either has none."""
    value = metric.value(now)
    baseline_value = metric.value(baseline)
    return 0.0 if value is None or baseline_value is None else metric.direction.sign * (value - baseline_value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CLAIM else f"{text[: LONGEST_CLAIM - 1].rstrip()}…"


def _in_context(lost: LostClaim, key: str, run: _Repeat, baseline: _Repeat) -> LostClaim:
    """A claim that the answer lacks, with the passage of the context that supports it, or else of the baseline's.

    A passage that is in the context as it was, and supports the claim no more by the judge, explains nothing.
    """
    claim = _by_text(run.verdicts, VerdictKind.GOLD_IN_CONTEXT).get(key)
    if claim is None:
        return lost
    if claim.is_supported:
        return _linked(lost, claim, run, run)
    claim_before = _by_text(baseline.verdicts, VerdictKind.GOLD_IN_CONTEXT).get(key)
    linked = _linked(lost, claim_before, run, baseline)
    return lost if linked.place is Place.IN_CONTEXT else linked


def _by_text(verdicts: AnswerVerdicts, kind: VerdictKind, *, only_vital: bool = False) -> dict[str, _JudgedClaim]:
    """The claims with the verdicts of this kind, by their text without blanks, case and full stop."""
    claims = verdicts.claims if kind is VerdictKind.SUPPORT else verdicts.gold_claims
    if not isinstance(claims, tuple):
        return {}
    named = [GoldClaim(each) if isinstance(each, str) else each for each in claims]
    by_text: dict[str, _JudgedClaim] = {}
    for claim, support in zip(named, supports(getattr(verdicts, kind.value)), strict=False):
        if claim.vital or not only_vital:
            key = " ".join(claim.text.split()).casefold().rstrip(".。।")
            by_text[key] = _JudgedClaim(claim.text, support)
    return by_text


def _linked(lost: LostClaim, claim: _JudgedClaim | None, run: _Repeat, source: _Repeat) -> LostClaim:
    """The lost claim with the passage of the `source` that supported it there, and where the run has that now.

    Of several passages it is the one that is least gone. The claim is as it was where no passage supported it.
    """
    texts = _texts(run.query)
    source_texts = _texts(source.query)
    places: dict[str, Place] = {}
    for number in rests_on(claim.support) if claim else ():
        passage = source.verdicts.context[number - 1]
        if passage in run.verdicts.context:
            same_text = texts.get(passage) == source_texts.get(passage)
            places[passage] = Place.IN_CONTEXT if same_text else Place.REWRITTEN
        else:
            places[passage] = Place.BEYOND if passage in run.query.ids else Place.GONE
    if not places:
        return lost
    passage = min(places, key=lambda each: _LEAST_GONE.index(places[each]))
    return replace(
        lost,
        passage=passage,
        rank_before=_rank_of(passage, source.query),
        rank_now=_rank_of(passage, run.query),
        place=places[passage],
    )


def _rank_of(passage: str, query: MatchedQuery) -> int | None:
    return next((rank for rank, each in enumerate(query.ids, start=1) if each == passage), None)


def _texts(query: MatchedQuery) -> Mapping[str, str | None]:
    """What the run says that the prompt held, by passage."""
    details = query.details or Details()
    listed = zip(query.ids, (item.text for item in details.items or ()), strict=False)
    return {**dict(listed), **((details.generated and details.generated.texts) or {})}


def _silent(metrics: tuple[str, ...], now: Scores, baseline: Scores | None) -> Silent | None:
    """How many answers assert nothing, over the questions that are judged in both runs, else in the run."""
    if not metrics or RunField.ANSWER in now.unstated:
        return None
    asserted = {query: _asserts(now.matched.get(query)) for query in now.query_ids}
    judged = [query for query, asserts in asserted.items() if asserts is not None]
    if baseline and RunField.ANSWER not in baseline.unstated:
        asserted_before = {query: _asserts(baseline.matched.get(query)) for query in judged}
        in_both = [query for query in judged if asserted_before[query] is not None]
        if in_both:
            return Silent(
                before=sum(not asserted_before[query] for query in in_both),
                now=sum(not asserted[query] for query in in_both),
                among=len(in_both),
                metrics=metrics,
            )
    if not judged:
        return None
    return Silent(before=None, now=sum(not asserted[query] for query in judged), among=len(judged), metrics=metrics)


def failed_verdicts(metric: JudgedMetric, now: Scores) -> NoVerdicts | None:
    """What the judge failed at, and the metric's value with these answers at their worst; None where it failed nowhere.

    An answer with several repeats counts by the first of them without a verdict.
    """
    kinds: dict[int, UnjudgedKind] = {}  # by row
    for row, query_id in enumerate(now.query_ids):
        missing = map(metric.unjudged, _verdicts(now.matched.get(query_id)))
        first = next(filter(None, missing), None)
        if first is not None:
            kinds[row] = first.kind
    if not kinds:
        return None
    at_worst = filled(metric, now.values[metric.name], set(kinds), 0.0)
    values = [value for value in at_worst if value is not None]
    counts = Counter(kinds.values())
    return NoVerdicts(count=len(kinds), among=len(values), kinds=dict(counts), at_worst=metric.aggregate(values))
