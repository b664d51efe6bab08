"""A gate's limits on the queries that share a tag, and its rules for single queries.

Under `proven_harm` the segments of one rule share a Holm correction: thirty segments would else fail at least once in a
third of the runs without any change. What is within noise, and what is too small, is shown and never blocks.

Where a segment has fewer than thirty clusters, a few that moved by chance lose more than is allowed. So a loss there
that is not proven warns only where chance signs of the clusters' changes are rarely as bad, or where it is very large
(docs/decisions/0011-few-clusters.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace

from rankgate.criteria import Gate, Limits, SegmentRule
from rankgate.errors import Problem, RankgateError, did_you_mean, shown
from rankgate.gates.decide import decide
from rankgate.gates.measurement import METRIC_UNITS, Units, measure
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.base import Metric, RelevanceMetric
from rankgate.metrics.comparison import Pairs, on_rows, paired_scores
from rankgate.metrics.estimates import attainable, defined_only
from rankgate.metrics.gaps import baseline_column, filled, gaps, too_many
from rankgate.metrics.intervals import level
from rankgate.metrics.matching import match
from rankgate.metrics.tags import segments_of
from rankgate.model.gate_result import GateResult
from rankgate.model.scores import Exact, Scores
from rankgate.model.values import (
    TOLERANCE,
    Direction,
    Evidence,
    EvidenceState,
    Gold,
    Ranking,
    Reason,
    ReasonKind,
    Ruling,
    RunField,
    Sample,
    Verdict,
    worst,
)
from rankgate.model.wording import count_text
from rankgate.statistics.binomial import Side, holm
from rankgate.statistics.sign_flips import MIN_CLUSTERS

# What warns of a loss in few clusters that is not proven: so small a p of their signs, a larger one where so many times
# the limit is lost, and, whatever the signs are, the loss of so much of what the baseline could lose.
RARE, UNUSUAL = 1 / 8, 1 / 4
LARGE = 2
MOST = 2 / 3


def decide_segments(
    gate: Gate, gold: Gold, candidate: Scores, baseline: Scores | None, units: Units = METRIC_UNITS
) -> list[GateResult]:
    """Judge a gate on each of its segments, in the order of the rules and, within one, of the tags' values."""
    return [result for rule in gate.segments for result in _by_rule(gate, rule, gold, candidate, baseline, units)]


def _by_rule(
    gate: Gate, rule: SegmentRule, gold: Gold, candidate: Scores, baseline: Scores | None, units: Units
) -> Iterator[GateResult]:
    parts: list[_Part] = []
    for name, rows in segments_of(gold, rule.by).items():
        limits = rule.limits_of(name)
        if limits is not None:
            of_baseline = on_rows(baseline, rows) if baseline else None
            parts.append(_Part(gate, rule, name, limits, on_rows(candidate, rows), of_baseline))
    judged = [part for part in parts if part.size >= rule.min_queries]
    corrects_for_parts = gate.evidence is Evidence.PROVEN_HARM
    provable = [part for part in judged if part.provable]
    corrected = _corrected(gate, provable) if corrects_for_parts else _corrected_drops(gate, provable)
    for part in parts:
        confidence = corrected.get(part.name, gate.confidence)
        alone = sure = decide(measure(part.gate, part.candidate, part.baseline, units))
        if confidence != gate.confidence and (corrects_for_parts or _fell(alone)):
            surer = part.gate.model_copy(update={"confidence": confidence})
            sure = decide(measure(surer, part.candidate, part.baseline, units))
        among = len(corrected) if corrects_for_parts else 0  # how many parts are judged at once
        concluded = part.concluded(sure if corrects_for_parts else alone, among=among, enough=part in judged)
        surely_fell = part.name in corrected and _fell(sure)
        yield replace(concluded, evidence=replace(concluded.evidence, fell=_fell(alone), surely_fell=surely_fell))


def _fell(result: GateResult) -> bool:
    return result.change.n_pairs > 0 and result.direction.certain(result.change.delta_ci) < 0


class _Part:
    """One segment with both runs' scores on it, and the gate as it applies to it."""

    def __init__(
        self, gate: Gate, rule: SegmentRule, name: str, limits: Limits, candidate: Scores, baseline: Scores | None
    ) -> None:
        # Judged as if it blocked, so that a violation is told from a warning; `concluded` gives it its severity.
        own_limits = {"threshold": limits.threshold, "regression_max": limits.regression_max}
        others = {"severity": "error", "segments": (), "max_lost_queries": None}
        self.gate = gate.model_copy(update=own_limits | others)
        self.candidate, self.baseline = candidate, baseline
        self.name, self.smallest = name, rule.min_queries
        self.blocks = (limits.severity or gate.severity) == "error"
        column = candidate.values[gate.metric.name]
        self.size = sum(value is not None for value in column) + len(gaps(gate.metric, candidate, None).missing)
        clustered = candidate.clusters and gate.metric.at_quantile is None
        self.provable = not clustered or len(set(defined_only(candidate.clusters, column))) >= MIN_CLUSTERS

    @cached_property
    def pairs(self) -> Pairs | None:
        """Its queries with a value in both runs."""
        return paired_scores(self.gate.metric, self.candidate, self.baseline) if self.baseline else None

    def concluded(self, result: GateResult, *, among: int, enough: bool) -> GateResult:
        """As it stands for a segment: a violation blocks, what is seldom noise of few clusters warns, noise passes."""
        result = self._weighed(result)
        decision, evidence = result.decision, result.evidence
        result = replace(result, segment=self.name, severity="error" if self.blocks else "warning")
        if not enough:
            too_small = Reason(ReasonKind.TOO_SMALL, count=self.size, limit=self.smallest)
            return replace(
                result,
                evidence=replace(evidence, only_inconclusive=False, too_small=True),
                decision=replace(decision, verdict=Verdict.PASS, reasons=[too_small], violation=None),
            )
        unproven = [reason for reason in decision.reasons if reason.ruling is Ruling.INCONCLUSIVE]
        beyond = any(reason.state is EvidenceState.NO_INTERVAL for reason in unproven)
        verdict = Verdict.PASS
        if any(reason.kind in (ReasonKind.MISSING, ReasonKind.NO_VERDICT) for reason in decision.reasons):
            verdict = result.verdict if self.blocks else Verdict.WARN
        elif decision.violation is not None:
            verdict = Verdict.FAIL if self.blocks else Verdict.WARN
        elif beyond or any(reason.at_worst is not None for reason in decision.reasons):
            verdict = Verdict.WARN
        # What is beyond noise by itself is not so among many segments, and passes.
        reasons = [replace(reason, beyond_noise=False) for reason in decision.reasons]
        if among > 1:
            reasons = [replace(reason, corrected_for=among) for reason in reasons]
        return replace(
            result,
            evidence=replace(evidence, only_inconclusive=beyond and len(unproven) == len(decision.reasons)),
            decision=replace(decision, verdict=verdict, reasons=reasons),
        )

    def _weighed(self, result: GateResult) -> GateResult:
        """With a drop in few clusters, if it is beyond its limit and not proven, told from noise by their signs."""
        drops = [each for each in result.decision.reasons if each.kind is ReasonKind.REGRESSION]
        open_drop = any(each.ruling is Ruling.INCONCLUSIVE and each.at_worst is None for each in drops)
        signs = self.pairs.signs() if open_drop and self.pairs else None
        if signs is None:
            return result
        state = EvidenceState.NO_INTERVAL if self._seldom_noise(result, signs) else EvidenceState.INCONCLUSIVE
        reasons = [replace(each, state=state) if each in drops else each for each in result.decision.reasons]
        states = [each.state for each in reasons]
        known = EvidenceState.NO_INTERVAL if EvidenceState.NO_INTERVAL in states else state
        return replace(
            result,
            change=replace(result.change, exact=signs),
            evidence=replace(result.evidence, evidence_state=known),
            decision=replace(result.decision, reasons=reasons),
        )

    def _seldom_noise(self, result: GateResult, signs: Exact) -> bool:
        """Whether clusters that move by chance seldom lose as much. Of a single one the sign tells nothing.

        Each of the limits is one that a worse run passes as well: its p is no larger, and its loss no smaller.
        """
        if self.pairs and len(set(self.pairs.clusters)) == 1:
            return True
        lost = abs(result.change.delta or 0.0)
        could_lose = abs((result.change.baseline or 0.0) - (self.gate.metric.worst or 0.0))
        large = lost >= LARGE * (self.gate.regression_max or 0.0) - TOLERANCE
        return signs.p <= (UNUSUAL if large else RARE) or lost >= MOST * could_lose - TOLERANCE


def _corrected(gate: Gate, parts: Sequence[_Part]) -> dict[str | None, float]:
    """The confidence at which each segment is judged, by Holm; floor and drop share it where a segment has both."""
    levels: dict[str | None, float] = {part.name: min(_levels(gate.metric, part), default=1.0) for part in parts}
    tests = 2 if any(None not in (part.gate.threshold, part.gate.regression_max) for part in parts) else 1
    return holm(levels, (1 - gate.confidence) / tests)


def _corrected_drops(gate: Gate, parts: Sequence[_Part]) -> dict[str | None, float]:
    """The same where single segments are judged without a correction: the confidence at which they surely fell."""
    levels: dict[str | None, float] = {part.name: _drop_level(part) for part in parts if part.baseline}
    return holm(levels, 1 - gate.confidence)


def _drop_level(part: _Part) -> float:
    return part.pairs.level() if part.pairs else 1.0


def _levels(metric: Metric, part: _Part) -> Iterator[float]:
    """The levels at which the segment's value is proven below its threshold, and a drop to be one; 1.0 for neither."""
    if part.gate.threshold is not None:
        column = part.candidate.uncut_values(metric.name)
        side: Side = "below" if metric.direction is Direction.HIGHER else "above"
        values = [value for value in column if value is not None]
        clusters = defined_only(part.candidate.clusters, column)
        ends = attainable(metric, part.candidate, column)
        baseline_values = baseline_column(metric, part.baseline) if part.baseline else ()
        floor_level = level(values, metric, part.gate.threshold, side, clusters, ends, baseline_values)
        yield 1.0 if floor_level is None else floor_level
    if part.gate.regression_max is not None and part.baseline is not None:
        yield _drop_level(part)


def with_hard_checks(
    result: GateResult, gate: Gate, gold: Gold, candidate: Scores, baseline: Scores | None
) -> GateResult:
    """The gate's result with its rules for single queries: what must pass, and how many may be lost.

    A query fails where the gate's metric is at its worst: nothing right was found, or where it has no value although
    the baseline has one or the gold says that there should be one: a refusal is no better than a wrong answer. It is
    lost where it fails now and did not in the baseline. Each rule that is broken violates the gate.
    """
    metric = gate.metric
    must = must_pass_rows(gate, gold)
    values = candidate.values[metric.name]
    uncut = candidate.uncut_values(metric.name)
    baseline_values = baseline_column(metric, baseline) if baseline else [None] * len(values)
    unjudged = set(gaps(metric, candidate, None).missing) if RunField.VERDICTS in metric.needs else set[int]()
    scored = len(unjudged) + sum(value is not None for value in values)
    if not too_many(unjudged, scored, gate.max_unjudged):
        # what a judge left open counts as the worst
        values = filled(metric, values, unjudged, 0.0)
        uncut = filled(metric, uncut, unjudged, 0.0)
    broken = [row for row in _failed(metric, uncut, baseline_values, gold, unjudged) if row in must]
    blank = sum(uncut[row] is None for row in broken)
    violations: list[Reason] = []
    if len(broken) > blank:
        violations.append(Reason(ReasonKind.MUST_PASS, count=len(broken) - blank))
    if blank:
        violations.append(Reason(ReasonKind.MUST_PASS, count=blank, source="run"))
    if gate.max_lost_queries is not None and baseline is not None:
        failed = _failed(metric, values, baseline_values, gold, unjudged)
        lost = sum(baseline_values[row] is not None and not _at_worst(metric, baseline_values[row]) for row in failed)
        if lost > gate.max_lost_queries:
            violations.append(Reason(ReasonKind.LOST, count=lost, limit=gate.max_lost_queries))
    if not violations or result.verdict is Verdict.NOT_JUDGED:
        return result
    others = [] if result.verdict is Verdict.PASS else result.decision.reasons
    return replace(
        result,
        evidence=replace(result.evidence, only_inconclusive=False),
        decision=replace(
            result.decision,
            verdict=worst([result.verdict, Verdict.FAIL if gate.blocks else Verdict.WARN]),
            hard_check_failed=True,
            reasons=[*violations, *others],
            doubts=result.decision.doubts if others else 0,
            queries=[candidate.query_ids[row] for row in broken],
        ),
    )


def _failed(
    metric: Metric,
    column: Sequence[float | None],
    baseline_values: Sequence[float | None],
    gold: Gold,
    unjudged: set[int],
) -> Iterator[int]:
    """The rows of a column that fail by themselves; `unjudged` are rows that a judge left without a value."""
    rows = zip(column, baseline_values, gold.samples.values(), strict=True)
    for row, (value, old, sample) in enumerate(rows):
        lacks_value = value is None and row not in unjudged and _is_due(metric, sample, old)
        if lacks_value or _at_worst(metric, value):
            yield row


def _at_worst(metric: Metric, value: float | None) -> bool:
    return value is not None and metric.worst is not None and abs(value - metric.worst) <= TOLERANCE


def _is_due(metric: Metric, sample: Sample, baseline_value: float | None) -> bool:
    """Whether a query ought to have a value, by the baseline or by the gold."""
    if sample.no_answer or metric.worst is None:
        return False
    of_answer = isinstance(metric, JudgedMetric) and not metric.gold_keys
    blank = match(sample, Ranking(sample.query_id, []), needs=metric.needs)
    return baseline_value is not None or of_answer or metric.absent(blank) is not None


def must_pass_rows(gate: Gate, gold: Gold) -> set[int]:
    """Rows of the queries that a gate's `must_pass` names, by id or by tag."""
    wanted = set(gate.must_pass)
    return {
        row
        for row, sample in enumerate(gold.samples.values())
        if wanted and (sample.query_id in wanted or not wanted.isdisjoint(sample.tags))
    }


def refuse_unknown(gates: Sequence[Gate], gold: Gold, name: str) -> None:
    """Refuse every rule that does not fit the gold: what it names exists, and its segments can be large enough."""
    problems = [
        Problem(message, name, gate.line, f"gate {gate.name}: segments.{key}")
        for gate in gates
        for rule in gate.segments
        for key, message in _misfits(rule, gold)
    ]
    problems += [
        Problem(message, name, gate.line, f"gate {gate.name}: must_pass")
        for gate in gates
        for message in _idle(gate, gold)
    ]
    if problems:
        raise RankgateError(problems)


def _idle(gate: Gate, gold: Gold) -> Iterator[str]:
    """What is wrong with each entry of `must_pass` that would check nothing."""
    known = {*gold.samples, *(tag for sample in gold.samples.values() for tag in sample.tags)} if gate.must_pass else ()
    for entry in gate.must_pass:
        if entry not in known:
            yield f"{shown(entry)} is neither a query nor a tag of {gold.name}{did_you_mean(entry, known)}"
        elif not any(_may_have_value(gate.metric, sample) for sample in _named(entry, gold)):
            yield f"{shown(entry)} can have no value of {gate.metric.name} by {gold.name}; leave it out"


def _named(entry: str, gold: Gold) -> Iterator[Sample]:
    """The query with this id, then those with this tag."""
    if entry in gold.samples:
        yield gold.samples[entry]
    yield from (sample for sample in gold.samples.values() if entry in sample.tags)


def _may_have_value(metric: Metric, sample: Sample) -> bool:
    """Whether a run can give the query a value; it cannot where that needs a judgment which the gold lacks."""
    if not isinstance(metric, RelevanceMetric) and not metric.gold_keys:
        return True
    return metric.absent(match(sample, Ranking(sample.query_id, []), needs=metric.needs)) is not None


def _misfits(rule: SegmentRule, gold: Gold) -> Iterator[tuple[str, str]]:
    keys = {tag.partition(":")[0] for sample in gold.samples.values() for tag in sample.tags if ":" in tag}
    for key in rule.by:
        if key not in keys:
            known = f" (known: {', '.join(sorted(keys))})" if keys else "; the gold set has no tag such as lang:en"
            yield "by", f"no question of {gold.name} has a tag {shown(key)}{did_you_mean(key, keys) or known}"
            return
    if rule.min_queries > len(gold.samples):
        count = count_text(len(gold.samples), "question")
        yield "min_queries", f"{rule.min_queries} is more than the {count} of {gold.name}: no segment could be judged"
    names = segments_of(gold, rule.by)
    values = list(names) if len(rule.by) > 1 else [name.partition(":")[2] for name in names]
    for value in rule.only:
        if value not in values:
            known = f" (known: {', '.join(sorted(values))})"
            yield (
                f"only.{value}",
                f"no question of {gold.name} is in this segment{did_you_mean(value, values) or known}",
            )
