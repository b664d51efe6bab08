"""The details of a check: the panel, the sweeps and every question, over all queries and by tag. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec
from msgspec.structs import replace

from rankgate.diagnosis.movements import document_moves, first_k
from rankgate.metrics.base import Cutoff, Metric, Together
from rankgate.metrics.comparison import Pairs, baseline_column, on_rows, paired, same_lists
from rankgate.metrics.contents import DistinctDocs
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.gains import NDCG
from rankgate.metrics.lines import Latency
from rankgate.metrics.matching import match
from rankgate.metrics.ranks import ReciprocalRank
from rankgate.metrics.sets import Precision, Recall
from rankgate.model.details import (
    Cause,
    Expected,
    Listed,
    Measure,
    PanelRow,
    PanelValue,
    Question,
    ReportDetails,
    Sweep,
    came,
    fate_of,
)
from rankgate.model.report import GateResult, Segment
from rankgate.model.tags import rows_by_tag
from rankgate.model.values import CONFIDENCE, EvidenceState, Gold, MatchedQuery, Need, Ranking, Sample, Scores
from rankgate.statistics.chance import holm

MAX_TAGS = 40  # with a row and curves of their own
MIN_QUERIES = 5  # queries with which a tag has curves
GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)
LEAST_RISE = 0.01  # from the first cut-off to the last: a curve that rises by less has no knee
LEAST_BEND = 0.05  # of the rise, above the straight line between the ends
MEASURES: tuple[Metric, ...] = (
    *(Recall(cutoff=1), Recall(cutoff=3), Recall(cutoff=5), NDCG(cutoff=5), Precision(cutoff=5)),
    *(DistinctDocs(cutoff=5), ReciprocalRank(cutoff=Cutoff.WHOLE), Latency(quantile=0.5), Latency(quantile=0.9)),
)

Column = Sequence[float | None]


class Columns(msgspec.Struct, frozen=True):
    """Metrics with their values for the run and, where there is one, for the baseline: a row a gold query."""

    metrics: Sequence[Metric]
    now: Mapping[str, Column]
    before: Mapping[str, Column] | None
    same: Callable[[Metric, Sequence[int]], bool] = lambda *_: False  # are the scored lists of these rows equal?


def details_of(
    gold: Gold,
    gated: Sequence[Metric],
    leading: Metric | None,
    segments: Sequence[Segment],
    candidate: Scores,
    baseline: Scores | None,
    *,
    depth: int,
    named: bool = False,
    gates: Sequence[GateResult] = (),
) -> ReportDetails:
    """Put the details together; both runs are matched with `SHOWN`, and `depth` items of each ranking are kept.

    The panel has its own metrics and those of the gates; `leading` is the one whose changes are listed; if it was
    `named`, causes speak of the ranks that it looks at. Of the report's segments `MAX_TAGS` are shown, the worst by the
    leading metric, without it the largest. A change in the panel that one of the `gates` judged is the gate's.
    """
    measures = list({metric.name: metric for metric in (*MEASURES, *gated)}.values())
    columns = columns_of(measures, gold, candidate, baseline)
    matched = [*candidate.matched.values(), *(baseline.matched.values() if baseline else ())]
    longest = max((query.retrieved for query in matched), default=1)
    cutoffs = cutoffs_for(longest)
    swept = columns_of(sweep_metrics(cutoffs), gold, candidate, baseline)
    rows_of = rows_by_tag(gold)
    tags: dict[str | None, list[int]] = {each.tag: rows_of[each.dimension, each.value] for each in segments}
    panel = partial(_panel, columns, candidate, _judged(gates), tags)
    worse, change = set[str | None](), dict.fromkeys(tags, math.inf)
    if leading and leading in columns.metrics:
        found, way = panel(leading, tags), leading.direction
        worse = {tag for tag, value in found.items() if value.way(way, leading.unit) == "worse"}
        change |= {tag: way.sign * value.delta for tag, value in found.items() if value.delta is not None}
    ranked = sorted(tags, key=lambda tag: (change[tag], -len(tags[tag])))
    kept = sorted(sorted(ranked, key=lambda tag: tag not in worse)[:MAX_TAGS], key=ranked.index)
    scopes = {None: list(range(len(gold.samples))), **{tag: tags[tag] for tag in kept}}
    values = {each.name: panel(each, scopes) for each in columns.metrics}
    k, ks = first_k(leading), dict[str, int]()
    if named and leading and not isinstance(leading.cutoff, int):
        for query_id, sample in gold.samples.items():
            query = candidate.matched.get(query_id) or match(sample, Ranking(query_id, []))
            ks[query_id] = max(1, min(leading.limit(query), longest))
    return ReportDetails(
        leading=leading.name if leading else None,
        k=k,
        depth=depth,
        measures=tuple(
            Measure(name=each.name, meaning=each.meaning, unit=each.unit, direction=each.direction)
            for each in columns.metrics
        ),
        panel=tuple(
            PanelRow(tag=tag, queries=len(rows), values={name: by_tag[tag] for name, by_tag in values.items()})
            for tag, rows in scopes.items()
        ),
        sweeps=tuple(
            sweep
            for tag, rows in scopes.items()
            if tag is None or len(rows) >= MIN_QUERIES
            for sweep in sweeps_of(tag, rows, cutoffs, swept)
        ),
        questions=tuple(questions_of(gold, columns, ks or dict.fromkeys(gold.samples, k), depth, candidate, baseline)),
        left_out=len(tags) - len(kept),
        ks=ks,
    )


def columns_of(metrics: Sequence[Metric], gold: Gold, candidate: Scores, baseline: Scores | None) -> Columns:
    """The metrics' values, as the check scored them or from what it matched; without what the run states nothing of.

    A query that the run lacks has the metric's worst value, as in a check. The baseline has no value for a query that
    it lacks, nor for a metric that reads what it nowhere states, or the baseline itself.
    """
    shown = [metric for metric in metrics if not metric.needs & candidate.unstated.keys()]
    now = _columns(shown, gold, candidate, absent=True)
    if baseline is None:
        return Columns(shown, now, None)
    unknown = baseline.unstated.keys() | {Need.BASELINE}
    before: dict[str, Column] = {each.name: [None] * len(gold.samples) for each in shown if each.needs & unknown}
    known = [metric for metric in shown if metric.name not in before]
    before |= _columns(known, gold, baseline, absent=False)

    def same(metric: Metric, rows: Sequence[int]) -> bool:
        return same_lists(metric, on_rows(candidate, rows), on_rows(baseline, rows))

    return Columns(shown, now, before, same)


def _columns(metrics: Sequence[Metric], gold: Gold, scores: Scores, *, absent: bool) -> dict[str, Column]:
    """The values as they were scored, or from what was matched; a query that was not takes the worst, or none."""
    scored = {
        metric.name: scores.values[metric.name] if absent else baseline_column(metric, scores)
        for metric in metrics
        if metric.name in scores.values
    }
    others = [metric for metric in metrics if metric.name not in scored]
    values = Together(others).values

    def row_of(query_id: str, sample: Sample) -> list[float | None]:
        if (query := scores.matched.get(query_id)) is not None:
            return values(query)
        nothing = match(sample, Ranking(query_id, [])) if absent else None
        return [metric.absent(nothing) if nothing else None for metric in others]

    rows = [row_of(query_id, sample) for query_id, sample in gold.samples.items()]
    return {**scored, **{metric.name: [row[place] for row in rows] for place, metric in enumerate(others)}}


def _judged(gates: Sequence[GateResult]) -> dict[tuple[str | None, str], GateResult]:
    """The gates on changes since the baseline, by segment and metric; of several the first."""
    return {(each.segment, each.metric): each for each in reversed(gates)}


def _counts(gate: GateResult | None) -> bool:
    """Whether the gate's own interval is the one to show: of a segment it has to be corrected for their number."""
    return gate is not None and (gate.segment is None or (gate.corrects and not gate.too_small))


def _panel(
    columns: Columns,
    candidate: Scores,
    judged: Mapping[tuple[str | None, str], GateResult],
    tags: Collection[str | None],
    metric: Metric,
    scopes: Mapping[str | None, Sequence[int]],
) -> dict[str | None, PanelValue]:
    """A metric in some scopes. Changes by tag that no gate judged share one Holm correction, over all of the tags."""
    name, clusters = metric.name, candidate.clusters
    column, old = columns.now[name], columns.before[name] if columns.before else None
    whole = judged.get((None, name))
    if whole and whole.evidence_state is EvidenceState.NOT_COMPARABLE:
        old = None
    own, pairs = dict[str | None, Estimate | None](), dict[str | None, Pairs | None]()
    for tag, rows in scopes.items():
        now = [column[row] for row in rows]
        labels = [clusters[row] for row in rows if clusters]
        own[tag] = estimate(now, metric, labels)
        same = partial(columns.same, metric, rows)
        before = [old[row] for row in rows] if old is not None else None
        pairs[tag] = paired(metric, now, before, clusters=labels, same=same) if before else None
    # Worse and better are one test of two sides: the other way round, harm is a gain.
    levels: dict[str | None, float] = {
        tag: min(each.level(), replace(each, new=each.old, old=each.new).level())
        for tag, each in pairs.items()
        if each and tag is not None and not _counts(judged.get((tag, name)))
    }
    confidences = holm(levels, 1 - CONFIDENCE, sum(not _counts(judged.get((tag, name))) for tag in tags))
    return {
        tag: _panel_value(own[tag], pairs[tag], judged.get((tag, name)), confidences.get(tag, CONFIDENCE))
        for tag in scopes
    }


def _panel_value(own: Estimate | None, pairs: Pairs | None, gate: GateResult | None, confidence: float) -> PanelValue:
    """The change is the gate's where that counts; so is the value where it is in people's units."""
    limit, gate = gate.limit if gate else None, gate if _counts(gate) else None
    found = pairs.compared(confidence) if pairs and not gate else None
    value, change = own, gate or found
    if gate and gate.value_raw is not None:
        value = Estimate(
            value=gate.value or 0.0, ci=gate.ci if gate.confidence == CONFIDENCE else None, n=gate.n, undefined=0
        )
    return PanelValue(
        value=value.value if value else None,
        ci=value.ci if value else None,
        delta=change.delta if change else None,
        delta_ci=gate.delta_ci if gate else found.ci if found else None,
        confidence=gate.confidence if gate else confidence,
        exact=change.exact if change else None,
        limit=limit,
    )


def cutoffs_for(depth: int) -> tuple[int, ...]:
    """The cut-offs of a sweep over lists of at most so many results: no further than the first that holds them all."""
    within = [k for k in GRID if k < depth]
    return (*within, *[k for k in GRID if k >= depth][:1])


def sweep_metrics(cutoffs: Sequence[int]) -> list[Metric]:
    """What has to be scored for a sweep."""
    return [family(cutoff=k) for family in (Recall, NDCG) for k in cutoffs]


def sweeps_of(tag: str | None, rows: Sequence[int], cutoffs: Sequence[int], columns: Columns) -> list[Sweep]:
    """Both curves over some rows of the gold for which all runs have a value; none where nothing is defined on them."""

    def mean(metric: Metric, column: Column, rows: Sequence[int]) -> float:
        return metric.aggregate([value for row in rows if (value := column[row]) is not None])

    sweeps: list[Sweep] = []
    measures: dict[Literal["recall", "ndcg"], type[Recall | NDCG]] = {"recall": Recall, "ndcg": NDCG}
    for measure, family in measures.items():
        metrics = [family(cutoff=k) for k in cutoffs]
        both = [side for side in (columns.now, columns.before) if side is not None]
        needed = [side[metric.name] for side in both for metric in metrics]
        kept = [row for row in rows if None not in [column[row] for column in needed]]
        if not kept:
            continue
        candidate, *others = [[mean(each, side[each.name], kept) for each in metrics] for side in both]
        baseline = others[0] if others else None
        sweeps.append(
            Sweep(
                tag=tag,
                queries=len(kept),
                measure=measure,
                cutoffs=tuple(cutoffs),
                candidate=tuple(candidate),
                baseline=tuple(baseline) if baseline else None,
                knee=knee(cutoffs, candidate),
                baseline_knee=knee(cutoffs, baseline) if baseline else None,
            )
        )
    return sweeps


def knee(cutoffs: Sequence[int], values: Sequence[float]) -> int | None:
    """The cut-off after which more results bring little: where the curve lies highest above the line between its ends.

    Both axes are scaled to 0 to 1, as in Kneedle (Satopää et al. 2011), with ln k as abscissa. None where the curve
    rises by less than `LEAST_RISE` or nowhere lies above the line by `LEAST_BEND`. The smallest of several.
    """
    if len(cutoffs) < 3:  # noqa: PLR2004 -- two points are a line
        return None
    rise, width = values[-1] - values[0], math.log(cutoffs[-1] / cutoffs[0])
    if rise < LEAST_RISE:
        return None
    above = [
        (value - values[0]) / rise - math.log(k / cutoffs[0]) / width for k, value in zip(cutoffs, values, strict=True)
    ]
    highest = max(above)
    return cutoffs[above.index(highest)] if highest >= LEAST_BEND else None


def questions_of(
    gold: Gold, columns: Columns, ks: Mapping[str, int], depth: int, candidate: Scores, baseline: Scores | None
) -> Iterator[Question]:
    """The questions in the order of the gold, their causes by the first `ks` ranks, their rankings down to `depth`."""
    for row, (query_id, sample) in enumerate(gold.samples.items()):
        new = candidate.matched.get(query_id)
        old = baseline.matched.get(query_id) if baseline else None
        before = baseline.outlines.get(query_id) if baseline else None
        expected = tuple(document_moves(sample, before, candidate.outlines.get(query_id)))
        yield Question(
            query_id=query_id,
            question=sample.question,
            tags=sample.tags,
            cause=cause_of(expected, ks[query_id], new, old, compared=baseline is not None),
            values={
                name: (columns.before[name][row] if columns.before else None, column[row])
                for name, column in columns.now.items()
            },
            expected=expected,
            before=_listed(sample, old, depth),
            now=_listed(sample, new, depth),
        )


def cause_of(
    expected: Sequence[Expected], k: int, now: MatchedQuery | None, before: MatchedQuery | None, *, compared: bool
) -> Cause:
    """What became of a question; see `Cause`. A list is None where its run lacks the question, or there is no run."""
    if not expected:
        return Cause.NOTHING_RELEVANT
    if now is None or not now.retrieved:
        return Cause.NO_RESULT
    if compared and before is None:
        return Cause.NEW
    fate = fate_of(expected, k, no_result=False)
    if fate is not Cause.FINE:
        return fate
    if compared and any(came(each, k) for each in expected):
        return Cause.BETTER
    return Cause.FINE if all(each.after is not None and each.after <= k for each in expected) else Cause.NEVER_FOUND


def _listed(sample: Sample, query: MatchedQuery | None, depth: int) -> tuple[Listed, ...] | None:
    """The first items; one that stands for a relevant document has that document's gain, whatever its own id."""
    if query is None:
        return None
    gains = dict((*query.repeats, *query.hits[::-1]))  # of several passages of an item the best
    return tuple(
        Listed(id=item, gain=gains.get(rank, sample.gains.get(item)))
        for rank, item in enumerate(query.ids[:depth], start=1)
    )
