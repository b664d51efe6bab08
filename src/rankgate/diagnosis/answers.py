"""Which answers got worse, which of their claims lost their support, and what became of the passages. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rankgate.metrics.answers import JudgedMetric, rests_on, supports
from rankgate.metrics.base import Metric
from rankgate.metrics.contexts import ContextRecall
from rankgate.metrics.gaps import baseline_column, filled
from rankgate.model.answer_losses import (
    AnswerChanges,
    AnswerLoss,
    LostClaim,
    NoVerdicts,
    Place,
    Silent,
    Stage,
    Unsupported,
    UnsupportedClaim,
)
from rankgate.model.answers import Entailment, GoldClaim, UnjudgedKind, VerdictKind
from rankgate.model.gate_result import GateResult
from rankgate.model.judge_words import stage_finding
from rankgate.model.report import Diagnosis
from rankgate.model.scores import MatchedQuery, Scores
from rankgate.model.values import TOLERANCE, Details, RunField, Verdict
from rankgate.model.verdicts import AnswerState, AnswerVerdicts, Support

MAX_CLAIMS, LONGEST_CLAIM = 5, 300  # of a question; characters
_LEAST_GONE = (Place.IN_CONTEXT, Place.REWRITTEN, Place.BEYOND, Place.GONE)
_RECALL = ContextRecall()


def answer_changes(
    gates: Sequence[GateResult], metrics: Sequence[Metric], now: Scores, before: Scores | None
) -> AnswerChanges:
    """What a report shows of answers: each question that got worse once, by the gate that weighs most.

    Gates that fail come first, then those that warn; of each those questions that lost most.
    """
    by_name, losses = {each.name: each for each in metrics}, dict[str, AnswerLoss]()
    judged = [gate for gate in gates if gate.by_judge and gate.is_main]
    for gate in sorted(judged, key=lambda gate: (gate.verdict is not Verdict.FAIL, gate.verdict is not Verdict.WARN)):
        for loss in _losses(by_name[gate.metric], now, before) if before else ():
            losses.setdefault(loss.query_id, loss)
    of_claims = dict.fromkeys(gate.metric for gate in judged if _claims_of(by_name[gate.metric]) is VerdictKind.SUPPORT)
    silent = _silent(tuple(of_claims), now, before)
    unsupported = _unsupported(now) if of_claims else []
    return AnswerChanges(silent, worse=len(losses), losses=[*losses.values()], unsupported=unsupported)


def _unsupported(now: Scores) -> list[Unsupported]:
    """The answers with a claim that nothing supports, by the first repeat; the largest share of such claims first."""
    answers: list[Unsupported] = []
    for query_id in now.query_ids:
        for verdicts in _verdicts(now.matched.get(query_id))[:1]:
            claims, support = verdicts.claims, verdicts.support
            if not isinstance(claims, tuple) or not isinstance(support, tuple):
                continue
            bare = [each for each in support if each.verdict is not Entailment.SUPPORTED]
            unsupported = tuple(_unsupported_claim(claims[each.n - 1], each, verdicts.context) for each in bare)
            if unsupported:
                question = now.samples[query_id].question
                answers.append(Unsupported(query_id=query_id, question=question, claims=unsupported, among=len(claims)))
    return sorted(answers, key=lambda each: -len(each.claims) / each.among)


def _unsupported_claim(text: str, support: Support, context: Sequence[str]) -> UnsupportedClaim:
    named = tuple(context[number - 1] for number in support.passages if number <= len(context))
    passages = named or tuple(context)
    return UnsupportedClaim(text=text[:LONGEST_CLAIM], verdict=support.verdict, passages=passages, quote=support.quote)


def stage_found(metric: Metric, now: Scores, before: Scores) -> list[Diagnosis]:
    """The stage at which more than half of the questions got worse; none where verdicts lack to tell."""
    stages = Counter(loss.stage for loss in _losses(metric, now, before))
    stage, count = max(stages.items(), key=lambda each: each[1], default=(None, 0))
    if stage is None or 2 * count <= stages.total():
        return []
    numbers: dict[str, str | int | float] = {"metric": metric.name, "worse": stages.total()}
    numbers |= {each.value: number for each, number in stages.items() if each}
    recalls = [(_recall(now.matched.get(each)), _recall(old)) for each, old in before.matched.items()]
    if known := [(new, old) for new, old in recalls if new is not None and old is not None]:
        numbers["context_recall"] = sum(new for new, _ in known) / len(known)
        numbers["context_recall_before"] = sum(old for _, old in known) / len(known)
        numbers["questions"] = len(known)
    return [Diagnosis(rule=stage.value, finding=stage_finding(stage, numbers), evidence=numbers)]


def _losses(metric: Metric, now: Scores, before: Scores) -> list[AnswerLoss]:
    """The questions that lost, those that lost most first."""
    fell: list[tuple[float, AnswerLoss]] = []
    columns = zip(now.query_ids, now.values[metric.name], baseline_column(metric, before), strict=True)
    for query_id, value, was in columns:
        new = now.matched.get(query_id)
        old = before.matched.get(query_id)
        change = 0.0 if value is None or was is None else metric.direction.sign * (value - was)
        if change >= -TOLERANCE or value is None or was is None:
            continue
        stage, claims = _stage(metric, new, old), list[LostClaim]()
        if new and old and isinstance(metric, JudgedMetric) and stage is not Stage.REFUSAL:
            claims = _claims(metric, new, old)
        loss = AnswerLoss(query_id, now.samples[query_id].question, metric.name, was, value, stage)
        loss = replace(loss, claims=tuple(claims[:MAX_CLAIMS]), more=len(claims[MAX_CLAIMS:]))
        fell.append((change, loss))
    return [loss for _, loss in sorted(fell, key=lambda each: each[0])]


def _stage(metric: Metric, new: MatchedQuery | None, old: MatchedQuery | None) -> Stage | None:
    recall, before = _recall(new), _recall(old)
    if recall is not None and before is not None and recall < before - TOLERANCE:
        return Stage.RETRIEVAL
    if _asserts(old) and _asserts(new) is False:
        return Stage.REFUSAL
    of_answer = _claims_of(metric) in (VerdictKind.SUPPORT, VerdictKind.GOLD_IN_ANSWER)
    return Stage.GENERATOR if of_answer and None not in (recall, before) else None


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


def _claims(metric: JudgedMetric, new: MatchedQuery, old: MatchedQuery) -> list[LostClaim]:
    """The claims without support, of the repeat that lost most; those with a passage that supported them come first.

    A gold claim is the same on both sides, and listed where it had support. A claim of an answer is looked for among
    those of the baseline's, whatever the case and the full stop.
    """
    want = metric.claims
    sign = metric.direction.sign
    pairs = [*zip(_verdicts(new), _verdicts(old), strict=False)]
    if want is None or not pairs:
        return []
    values = [(metric.value(now), metric.value(was)) for now, was in pairs]
    falls = [0.0 if now is None or was is None else sign * (now - was) for now, was in values]
    now, was = pairs[falls.index(min(falls))]
    vital = metric.key == "vital_claim_recall"
    known = _by_text(was, want)
    held = _by_text(was, VerdictKind.GOLD_IN_CONTEXT)
    holds = _by_text(now, VerdictKind.GOLD_IN_CONTEXT)
    lost: list[LostClaim] = []
    for text, (claim, support) in _by_text(now, want, vital=vital).items():
        _, before = known.get(text, ("", None))
        had = before is not None and before.verdict is Entailment.SUPPORTED
        if support.verdict is Entailment.SUPPORTED or not (had or want is VerdictKind.SUPPORT):
            continue
        cut = claim if len(claim) <= LONGEST_CLAIM else f"{claim[: LONGEST_CLAIM - 1].rstrip()}…"
        lost_claim = LostClaim(text=cut, asked=want, before=before.verdict if before else None, now=support.verdict)
        if want is not VerdictKind.GOLD_IN_ANSWER:
            lost_claim = _linked(lost_claim, before, (new, now), (old, was))
        elif text in holds:
            still = holds[text][1].verdict is Entailment.SUPPORTED
            _, by = (holds if still else held).get(text, ("", None))
            there = _linked(lost_claim, by, (new, now), (new, now) if still else (old, was))
            lost_claim = there if still or there.place is not Place.IN_CONTEXT else lost_claim
        lost.append(lost_claim)
    return sorted(lost, key=lambda each: each.place is None)


def _by_text(verdicts: AnswerVerdicts, want: VerdictKind, *, vital: bool = False) -> dict[str, tuple[str, Support]]:
    """The verdicts on claims, each with its claim, by this without what writing changes."""
    claims = verdicts.claims if want is VerdictKind.SUPPORT else verdicts.gold_claims
    named = [GoldClaim(each) if isinstance(each, str) else each for each in claims] if isinstance(claims, tuple) else []
    pairs = zip(named, supports(getattr(verdicts, want.value)), strict=False)
    kept = ((each.text, support) for each, support in pairs if each.vital or not vital)
    return {" ".join(text.split()).casefold().rstrip(".。।"): (text, support) for text, support in kept}


def _linked(
    claim: LostClaim,
    support: Support | None,
    new: tuple[MatchedQuery, AnswerVerdicts],
    old: tuple[MatchedQuery, AnswerVerdicts],
) -> LostClaim:
    """The claim with the passage of the old side that supported it; as it is where none did."""
    (query, now), (earlier, was) = new, old
    texts, old_texts = _texts(query), _texts(earlier)
    places: dict[str, Place] = {}
    for passage in (was.context[number - 1] for number in (rests_on(support) if support else ())):
        there = Place.IN_CONTEXT if texts.get(passage) == old_texts.get(passage) else Place.REWRITTEN
        elsewhere = Place.BEYOND if passage in query.ids else Place.GONE
        places[passage] = there if passage in now.context else elsewhere
    if not places:
        return claim
    passage = min(places, key=lambda each: _LEAST_GONE.index(places[each]))
    ranks = (_rank_of(passage, earlier), _rank_of(passage, query))
    return replace(claim, passage=passage, rank_before=ranks[0], rank_now=ranks[1], place=places[passage])


def _rank_of(passage: str, query: MatchedQuery) -> int | None:
    return next((rank for rank, each in enumerate(query.ids, start=1) if each == passage), None)


def _texts(query: MatchedQuery) -> Mapping[str, str | None]:
    """What the run says that the prompt held, by passage."""
    details = query.details or Details()
    listed = zip(query.ids, (item.text for item in details.items or ()), strict=False)
    return {**dict(listed), **((details.generated and details.generated.texts) or {})}


def _silent(metrics: tuple[str, ...], now: Scores, before: Scores | None) -> Silent | None:
    """Over the questions that are judged in both runs, else in the run."""
    if not metrics or RunField.ANSWER in now.unstated:
        return None
    stated = [scores for scores in (now, before) if scores and RunField.ANSWER not in scores.unstated]
    asserted = [[_asserts(scores.matched.get(each)) for each in now.query_ids] for scores in stated]
    rows = [row for row in zip(*asserted, strict=True) if None not in row]
    rows = rows or [(each,) for each in asserted[0] if each is not None]
    after, *others = ([*column].count(False) for column in zip(*rows, strict=True)) if rows else (0,)
    return Silent(before=next(iter(others), None), now=after, among=len(rows), metrics=metrics) if rows else None


def failed_verdicts(metric: JudgedMetric, now: Scores) -> NoVerdicts | None:
    """What the judge failed at; None where it has its word on every answer."""
    first = [next(filter(None, map(metric.unjudged, _verdicts(now.matched.get(each)))), None) for each in now.query_ids]
    rows = {row for row, each in enumerate(first) if each}
    if not rows:
        return None
    kinds = Counter[UnjudgedKind](each.kind for each in first if each)
    worst = [value for value in filled(metric, now.values[metric.name], rows, 0.0) if value is not None]
    return NoVerdicts(count=len(rows), among=len(worst), kinds=dict(kinds), at_worst=metric.aggregate(worst))
