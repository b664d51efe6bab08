"""What moved: queries, the worst first, with where their relevant documents went; and the metrics by tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rankgate.diagnosis.listings import Listings
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import Comparison, compare, on_rows, paired_scores
from rankgate.metrics.estimates import attainable, estimate
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.matching import DEFAULT_K
from rankgate.metrics.tags import SegmentIndex, rows_by_tag, violated_segments
from rankgate.model.details import NOWHERE, Cause, Expected, ReportDetails, came, depth_of, fate_of, left, sampled
from rankgate.model.gate_result import GateResult
from rankgate.model.report import NAMED, Movement, Segment, SegmentValue
from rankgate.model.scores import RankSummary, Scores
from rankgate.model.values import Gold, Sample

MAX_LISTED = 50  # movements in a report
MAX_INTERVALS = 24  # segments whose changes have one, the largest


def first_k(metric: Metric | None, of_question: int = DEFAULT_K) -> int:
    """The first ranks that a metric looks at; those of the question where its cut-off is no number."""
    return metric.cutoff if metric and isinstance(metric.cutoff, int) else of_question or DEFAULT_K


def movements(
    gold: Gold, metric: Metric, candidate: Scores, baseline: Scores, gates: Sequence[GateResult] = ()
) -> list[Movement]:
    """Queries whose value changed or whose relevant documents entered or left the first k, worst first.

    Those that got worse are in the order of `severity`, where `gates` say which segments fail, then by the change of
    the metric; the others follow by the change, then by documents gained, the best last. Where a side has values and
    no lists, no documents are named.
    """
    ranked: list[tuple[tuple[float, ...], Movement]] = []
    violated = violated_segments(gates)
    listed = candidate.listed and baseline.listed
    columns = zip(candidate.values[metric.name], baseline_column(metric, baseline), strict=True)
    for sample, (value, baseline_value) in zip(gold.samples.values(), columns, strict=True):
        if value is None or baseline_value is None or sample.query_id not in baseline.rank_summaries:
            continue
        old = baseline.rank_summaries[sample.query_id]
        new = candidate.rank_summaries.get(sample.query_id)
        if new is not None and old.ranks == new.ranks and value == baseline_value:
            continue
        k = first_k(metric, old.k)
        moves = document_moves(sample, old, new) if listed else []
        lost, gained = sum(left(move, k) for move in moves), sum(came(move, k) for move in moves)
        if value == baseline_value and lost == gained:
            continue
        change = metric.direction.sign * (value - baseline_value)
        no_result = new is None or new.retrieved == 0
        worse = (change, gained - lost) < (0, 0)
        movement = Movement(
            query_id=sample.query_id,
            question=sample.question,
            tags=list(sample.tags),
            metric=metric.name,
            before=baseline_value,
            after=value,
            worse=worse,
            k=k,
            lost=lost,
            gained=gained,
            documents=moves,
            no_result=no_result,
        )
        worst = severity(moves, k, no_result=no_result, failing=violated.has_any(sample.tags))
        ranked.append(((0, *worst, change) if worse else (1, change, gained - lost), movement))
    return [movement for _, movement in sorted(ranked, key=lambda entry: entry[0])]


def movements_to_list(moved: Sequence[Movement], most: int = MAX_LISTED) -> list[Movement]:
    """Losses of every kind and the best gains of a long list; losses have at least three of four places."""
    losses = [movement for movement in moved if movement.worse]
    gains = [movement for movement in moved if not movement.worse][::-1]
    kept = sampled(losses, [move.fate for move in losses], max(most - len(gains), most * 3 // 4))
    return kept + gains[: most - len(kept)]


def document_moves(sample: Sample, old: RankSummary | None, new: RankSummary | None) -> list[Expected]:
    """The relevant documents of a question, where they were and are."""
    relevant = [(doc, gain) for doc, gain in sample.gains.items() if gain > 0]
    before = old.ranks if old else [None] * len(relevant)
    after = new.ranks if new else [None] * len(relevant)
    moves = zip(relevant, before, after, strict=True)
    return [Expected(id=doc, gain=gain, before=was, after=now) for (doc, gain), was, now in moves]


def severity(documents: Sequence[Expected], k: int, *, no_result: bool, failing: bool) -> tuple[int, bool, int]:
    """The one order of questions that got worse, in the comment, the terminal and the page: the least is the worst.

    No result first, then a relevant document that fell out of the list, then one that fell below the first k, then the
    rest; within each those of a failing segment; then by the deepest fall.
    """
    fate = (Cause.NO_RESULT, Cause.GONE, Cause.LOWER, Cause.FINE).index(fate_of(documents, k, no_result=no_result))
    return fate, not failing, -max(map(depth_of, documents), default=0)


def worst_rows(details: ReportDetails, violated: SegmentIndex) -> list[int]:
    """The rows of the questions by `severity`; those that did not get worse after the others, by change and cause."""
    ranks = {cause: rank for rank, cause in enumerate(Cause)}
    sign = -1 if details.lower else 1

    def key(row: int) -> tuple[float, ...]:
        question = details.questions[row]
        now = question.values.get(details.leading or "", (None, None))[1]
        change, net = details.moved(question)
        value = -NOWHERE if now is None else sign * now  # a value that is not there is the worst
        if question.before is not None and (change, net) < (0, 0):
            gone = question.cause is Cause.NO_RESULT
            k = details.first(question)
            worse = severity(question.expected, k, no_result=gone, failing=violated.has_any(question.tags))
            return (0, *worse, change, value)
        return (1, change, ranks[question.cause], value)

    return sorted(range(len(details.questions)), key=key)


def with_displacers(
    moves: Sequence[Movement],
    now: Listings | None,
    baseline: Listings | None,
    rank_summaries: Mapping[str, RankSummary],
) -> list[Movement]:
    """The movements, each that lost documents with those that stand in the first k now and did not before.

    None are named where lists cannot be read again. By the run's `rank_summaries` an item that stands for a relevant
    document took no place from one.
    """
    if now is None or baseline is None:
        return list(moves)
    return [
        replace(move, instead=_came(move, now, baseline, rank_summaries.get(move.query_id)))
        if move.lost and move.query_id in now.by_query and move.query_id in baseline.by_query
        else move
        for move in moves
    ]


def _came(move: Movement, now: Listings, baseline: Listings, summary: RankSummary | None) -> list[str]:
    new = now.by_query[move.query_id].ids[: move.k]
    old = baseline.by_query[move.query_id].ids[: move.k]
    known = {*old, *(document.id for document in move.documents)}
    right = {*summary.ranks, *summary.repeats} if summary else set()
    return [item for rank, item in enumerate(new, start=1) if item not in known and rank not in right][:NAMED]


def by_tag(
    gold: Gold,
    metrics: Sequence[Metric],
    candidate: Scores,
    baseline: Scores | None,
    leading: Metric | None = None,
) -> list[Segment]:
    """One segment a tag, by dimension in the order of the gold and by value within it.

    Each value has an interval, and in the largest segments the change of the `leading` metric.
    """
    members = rows_by_tag(gold)
    dimensions = dict.fromkeys(dimension for dimension, _ in members)
    position = {dimension: at for at, dimension in enumerate(dimensions)}
    largest = sorted(members, key=lambda key: -len(members[key]))[:MAX_INTERVALS]
    segments: list[Segment] = []
    for key in sorted(members, key=lambda key: (position[key[0]], key[1])):
        now = on_rows(candidate, members[key])
        old = on_rows(baseline, members[key]) if baseline else None
        interval_of = leading if key in largest else None
        values = {each.name: _segment_value(each, now, old, with_interval=each is interval_of) for each in metrics}
        segments.append(Segment(dimension=key[0], value=key[1], queries=len(members[key]), metrics=values))
    return segments


def _segment_value(metric: Metric, now: Scores, baseline: Scores | None, *, with_interval: bool) -> SegmentValue:
    """The value with its interval and the change, which has one `with_interval`."""
    values = now.values[metric.name]
    baseline_values = baseline_column(metric, baseline) if baseline else []
    estimated = estimate(values, metric, now.clusters, ends=attainable(metric, now, values), baseline=baseline_values)
    pairs: Comparison | None = None
    if baseline and with_interval:
        bounded = paired_scores(metric, now, baseline)
        pairs = bounded.compared() if bounded else None
    elif baseline:
        pairs = compare(metric, values, baseline_values, with_interval=False)
    return SegmentValue(
        value=estimated.value if estimated else None,
        ci=estimated.ci if estimated else None,
        n=estimated.n if estimated else 0,
        baseline=pairs.baseline if pairs else None,
        delta=pairs.delta if pairs else None,
        delta_ci=pairs.ci if pairs else None,
        n_pairs=pairs.n_pairs if pairs else 0,
        unit=metric.unit,
        direction=metric.direction,
    )
