"""The details of a check: the panel, the sweeps and every question, over all queries and by tag. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import overload

from msgspec.structs import replace

from rankgate.criteria.inputs import DetailInputs
from rankgate.criteria.runs import texts_of
from rankgate.diagnosis.movements import document_moves, first_k, worst_rows
from rankgate.diagnosis.sweeps import Columns, columns_of, cutoffs_for, sweeps_of, swept_at
from rankgate.metrics.base import Cutoff, Metric
from rankgate.metrics.comparison import paired
from rankgate.metrics.contents import DistinctDocs
from rankgate.metrics.estimates import estimate
from rankgate.metrics.lines import Latency
from rankgate.metrics.matching import match
from rankgate.metrics.ranks import NDCG, ReciprocalRank
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.sets import Precision, Recall
from rankgate.metrics.tags import rows_by_tag, violated_segments
from rankgate.model.details import (
    TEXTS_OF,
    Cause,
    Expected,
    ListColumns,
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
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Report, Segment
from rankgate.model.scores import MatchedQuery, RankSummary, Scores
from rankgate.model.values import CONFIDENCE, EvidenceState, Gold, Ranking, Sample

MAX_TAGS = 40  # with a row and curves of their own
MIN_QUERIES = 5  # queries with which a tag has curves
MEASURES: tuple[Metric, ...] = (
    *(Recall(cutoff=1), Recall(cutoff=3), Recall(cutoff=5), NDCG(cutoff=5), Precision(cutoff=5)),
    *(DistinctDocs(cutoff=5), ReciprocalRank(cutoff=Cutoff.WHOLE), Latency(quantile=0.5), Latency(quantile=0.9)),
)


def with_details(
    report: Report,
    inputs: DetailInputs,
    gold: Gold,
    metrics: Sequence[Metric],
    leading: Metric | None,
    run: ScoredRun,
    baseline: ScoredRun | None,
) -> Report:
    """The report with what pages show beyond it.

    The plan had to read `DETAIL_FIELDS` as well; `leading` is the metric whose changes are listed. A text that one run
    does not state is the corpus's or the other's.
    """
    details = details_of(
        gold,
        metrics,
        leading,
        report.measured.segments,
        run.scores,
        baseline.scores if baseline else None,
        depth=inputs.depth,
        named=inputs.leading is not None,
        gates=report.gates,
    )
    details = replace(details, order=worst_rows(details, violated_segments(report.gates)))
    if inputs.texts:
        worst = [details.questions[row] for row in details.order[:TEXTS_OF]]
        wanted = {item.id for each in worst for items in (each.before, each.now) for item in items or ()}
        wanted |= {document.id for each in worst for document in each.expected}
        new = texts_of(run, wanted)
        old = texts_of(baseline, wanted) if baseline else {}
        corpus: dict[str, str] = {}
        if inputs.corpus:
            from rankgate.readers.corpus import read_corpus  # noqa: PLC0415 -- paid only where a corpus is named

            corpus = {each.id: each.text for each in read_corpus(inputs.corpus, wanted)}
        details = replace(details, texts=({**new, **corpus, **old}, {**old, **corpus, **new}))
    return replace(report, explanation=replace(report.explanation, details=details))


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
    """Put the details together; both runs are matched with `DETAIL_FIELDS`, and `depth` items of each ranking are kept.

    The panel has its own metrics and those of the gates; `leading` is the one whose changes are listed; if it was
    `named`, causes speak of the ranks that it looks at. Of the report's segments `MAX_TAGS` are shown: those whose
    losses of the leading metric add up to most, without it the largest. A value that one of the `gates` has in people's
    units is the gate's.
    """
    measures = list({metric.name: metric for metric in (*MEASURES, *gated)}.values())
    columns = columns_of(measures, gold, candidate, baseline)
    matched = [*candidate.matched.values(), *(baseline.matched.values() if baseline else ())]
    longest = max((query.retrieved for query in matched), default=1)
    cutoffs = cutoffs_for(longest)
    swept = swept_at(cutoffs, gold, candidate, baseline)
    rows_of = rows_by_tag(gold)
    tags: dict[str | None, list[int]] = {each.tag: rows_of[each.dimension, each.value] for each in segments}
    judged = {(each.segment, each.metric): each for each in reversed(gates)}
    panel = partial(_panel, columns, candidate, judged)
    kept = _shown_tags(tags, leading, panel(tags, leading) if leading and leading in columns.metrics else {})
    scopes: dict[str | None, list[int]] = {None: list(range(len(gold.samples)))}
    scopes |= {tag: tags[tag] for tag in kept}
    values = {each.name: panel(scopes, each) for each in columns.metrics}
    panel_rows: list[PanelRow] = []
    sweeps: list[Sweep] = []
    for tag, rows in scopes.items():
        of_tag = {name: by_tag[tag] for name, by_tag in values.items()}
        panel_rows.append(PanelRow(tag=tag, queries=len(rows), values=of_tag))
        if tag is None or len(rows) >= MIN_QUERIES:
            sweeps += sweeps_of(tag, rows, swept)
    samples = list(gold.samples.values())
    k = first_k(leading)
    ks = _cutoffs_of(leading, gold, candidate, longest) if named and leading else {}
    return ReportDetails(
        leading=leading.name if leading else None,
        k=k,
        depth=depth,
        measures=tuple(
            Measure(name=each.name, meaning=each.meaning, unit=each.unit, direction=each.direction)
            for each in columns.metrics
        ),
        panel=tuple(panel_rows),
        sweeps=tuple(sweeps),
        questions=QuestionsOf(samples, columns, ks or dict.fromkeys(gold.samples, k), depth, candidate, baseline),
        left_out=len(tags) - len(kept),
        ks=ks,
    )


def _cutoffs_of(leading: Metric, gold: Gold, candidate: Scores, longest: int) -> dict[str, int]:
    """By question the ranks that the metric looks at; none where they are the same for all."""
    if isinstance(leading.cutoff, int):
        return {}
    cutoffs: dict[str, int] = {}
    for query_id, sample in gold.samples.items():
        query = candidate.matched.get(query_id) or match(sample, Ranking(query_id, []))
        cutoffs[query_id] = max(1, min(leading.limit(query), longest))
    return cutoffs


def _shown_tags(
    tags: Mapping[str | None, Sequence[int]], leading: Metric | None, values: Mapping[str | None, PanelValue]
) -> list[str | None]:
    """At most `MAX_TAGS` of the tags, each with its rows: those that lost most, or are the largest; the worst first.

    `values` are those of the leading metric by tag, if there are any.
    """
    change = dict.fromkeys(tags, math.inf)  # below zero for the worse
    for tag, value in values.items():
        if leading is not None and value.delta is not None:
            change[tag] = leading.direction.sign * value.delta
    lost = {tag: min(change[tag], 0.0) * len(rows) for tag, rows in tags.items()}
    shown = sorted(tags, key=lambda tag: (lost[tag], change[tag], -len(tags[tag])))[:MAX_TAGS]
    return sorted(shown, key=lambda tag: (change[tag], -len(tags[tag])))


def _panel(
    columns: Columns,
    candidate: Scores,
    gates: Mapping[tuple[str | None, str], GateResult],
    scopes: Mapping[str | None, Sequence[int]],
    metric: Metric,
) -> dict[str | None, PanelValue]:
    """A metric in some scopes; nothing is compared with a baseline that another judge judged."""
    name = metric.name
    clusters = candidate.clusters
    column, old = columns.now[name], columns.before[name] if columns.before else None
    overall = gates.get((None, name))
    if overall and overall.evidence.evidence_state is EvidenceState.NOT_COMPARABLE:
        old = None
    values: dict[str | None, PanelValue] = {}
    for tag, rows in scopes.items():
        now = [column[row] for row in rows]
        estimated = estimate(now, metric, [clusters[row] for row in rows if clusters])
        pairs = paired(metric, now, [old[row] for row in rows]) if old is not None else None
        value = PanelValue(
            value=estimated.value if estimated else None,
            ci=estimated.ci if estimated else None,
            delta=pairs.compared(None).delta if pairs else None,
        )
        gate = gates.get((tag, name))
        if gate and gate.measured.value_raw is not None:  # the value is in people's units
            ci = gate.measured.ci if gate.limits.confidence == CONFIDENCE else None
            value = PanelValue(value=gate.measured.value or 0.0, ci=ci, delta=gate.change.delta)
        values[tag] = value
    return values


@dataclass(eq=False, repr=False)
class QuestionsOf(Sequence[Question]):
    """The questions in the order of the gold, each built when it is asked for: all at once are hundreds of megabytes.

    Their causes speak of the first `ks` ranks, their rankings go down to `depth`.
    """

    samples: Sequence[Sample]
    columns: Columns
    ks: Mapping[str, int]
    depth: int
    candidate: Scores
    baseline: Scores | None

    @cached_property
    def _ranks(self) -> tuple[Sequence[RankSummary | None], ...]:
        """By row the summaries before and now: a page asks for each question twice, in two orders."""
        by_id = [scores.rank_summaries if scores else {} for scores in (self.baseline, self.candidate)]
        return tuple([summaries.get(sample.query_id) for sample in self.samples] for summaries in by_id)

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, row: int) -> Question: ...
    @overload
    def __getitem__(self, row: slice) -> list[Question]: ...
    def __getitem__(self, row: int | slice) -> Question | list[Question]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        sample = self.samples[row]
        columns = self.columns
        baseline = self.baseline
        query_id = sample.query_id
        new = self.candidate.matched.get(query_id)
        old = baseline.matched.get(query_id) if baseline else None
        expected = tuple(document_moves(sample, *[summaries[row] for summaries in self._ranks]))
        is_new = baseline is not None and query_id in baseline.new_queries
        return Question(
            query_id=query_id,
            question=sample.question,
            tags=sample.tags,
            cause=cause_of(expected, self.ks[query_id], new, compared=baseline is not None, is_new=is_new),
            values=_RowValues(columns, row),
            expected=expected,
            before=_Ranked(sample, old, self.depth) if old else None,
            now=_Ranked(sample, new, self.depth) if new else None,
        )


def cause_of(
    expected: Sequence[Expected], k: int, now: MatchedQuery | None, *, compared: bool, is_new: bool = False
) -> Cause:
    """What became of a question; see `Cause`. The list is None where the run lacks the question."""
    if not expected:
        return Cause.NOTHING_RELEVANT
    if now is None or not now.retrieved:
        return Cause.NO_RESULT
    if is_new:
        return Cause.NEW
    fate = fate_of(expected, k, no_result=False)
    if fate is not Cause.FINE:
        return fate
    if compared and any(came(each, k) for each in expected):
        return Cause.BETTER
    return Cause.FINE if all(each.after is not None and each.after <= k for each in expected) else Cause.NEVER_FOUND


@dataclass(eq=False, repr=False)
class _Ranked(ListColumns):
    """The first items of a list, built when they are asked for.

    One that stands for a relevant document has that document's gain, whatever its own id.
    """

    sample: Sample
    query: MatchedQuery
    depth: int

    def __len__(self) -> int:
        return min(len(self.query.ids), self.depth)

    @overload
    def __getitem__(self, index: int) -> Listed: ...
    @overload
    def __getitem__(self, index: slice) -> list[Listed]: ...
    def __getitem__(self, index: int | slice) -> Listed | list[Listed]:
        return list(self)[index]

    def __iter__(self) -> Iterator[Listed]:
        return (Listed(id=item, gain=gain) for item, gain in zip(*self.columns(), strict=True))

    def columns(self) -> tuple[list[str], list[float | None]]:
        ids = list(self.query.ids[: self.depth])
        known = dict(self.sample.gains.items())
        gains = list(map(known.get, ids))
        for rank, gain in (*self.query.repeats, *self.query.hits[::-1]):  # of several passages of an item the best
            if rank <= len(ids):
                gains[rank - 1] = gain
        return ids, gains


@dataclass(eq=False, repr=False)
class _RowValues(Mapping[str, tuple[float | None, float | None]]):
    """A question's values by metric, before and now, where the columns have them."""

    of: Columns
    row: int

    def __len__(self) -> int:
        return len(self.of.now)

    def __iter__(self) -> Iterator[str]:
        return iter(self.of.now)

    def __getitem__(self, name: str) -> tuple[float | None, float | None]:
        before, now = self.of.before, self.of.now[name][self.row]
        return (before[name][self.row] if before else None, now)
