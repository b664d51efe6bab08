"""Report → the one thing that its reader is told first. Pure: the same report always concludes the same.

The kinds are tried in the order of `ConclusionKind`, so that no conclusion is milder than the verdict: what fails comes
before what warns. Among gates the largest violation is taken: in points for metrics from 0 to 1, then in multiples of
the limit; a floor before a drop, then in the order of the criteria.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rankgate.gates.commands import accept_command, next_command
from rankgate.model.conclusion import (
    NEARLY_ALL,
    Conclusion,
    ConclusionKind,
    Empties,
    GivenUp,
    PartLoss,
    Strength,
    Traffic,
    TrafficShare,
    about_gate,
    about_loss,
    parts_beside,
)
from rankgate.model.gate_result import GateResult
from rankgate.model.headline import sentence
from rankgate.model.report import Report
from rankgate.model.scores import Scores
from rankgate.model.values import TOLERANCE, Gold, ReasonKind, Verdict, worst

_STRENGTHS = list(Strength)


def concluded(report: Report) -> Report:
    """The report with the worst of all its verdicts, its conclusion, and the sentence of that."""
    verdicts = [gate.verdict for gate in report.gates]
    empties = report.measured.empties
    may_block = any(gate.severity == "error" for gate in report.gates)
    if report.remarks.failures or (empties and empties.nearly_all and may_block):
        verdicts.append(Verdict.FAIL)
    if report.warns_beside:
        verdicts.append(Verdict.WARN)
    return with_conclusion(replace(report, verdict=worst(verdicts)))


def with_conclusion(report: Report) -> Report:
    """The report with its conclusion and the sentence of it; its verdict stays."""
    concluded_report = replace(report, conclusion=conclude(report))
    return replace(concluded_report, summary=sentence(concluded_report))


def with_other_code(report: Report) -> Report:
    """The report of a run that is not of this code warns at least, and concludes so; any other as it is."""
    if report.origin.other_code is None:
        return report
    return with_conclusion(replace(report, verdict=worst([report.verdict, Verdict.WARN])))


def conclude(report: Report) -> Conclusion:
    """What the report's verdict says."""
    conclusion = next(filter(None, (make(report) for make in _MAKERS)))
    shares = traffic_share(report.measured.traffic)
    following = next_command(report, conclusion)
    accept = accept_command(report, conclusion)
    return replace(conclusion, next=following, accept=accept, traffic=shares)


def traffic_share(traffic: Traffic | None) -> TrafficShare | None:
    """What a conclusion says of the traffic; nothing where nothing was compared."""
    if traffic is None or not traffic.asked:
        return None
    return TrafficShare(
        changed=traffic.share,
        asked=traffic.asked,
        segment=traffic.concentrated.tag if traffic.concentrated else None,
        labelled=traffic.labelled,
        bound=traffic.bound,
    )


# --- by kind, in their order


def _not_judged(report: Report) -> Conclusion | None:
    if report.verdict is not Verdict.NOT_JUDGED:
        return None
    gate = next((each for each in report.gates if each.verdict is Verdict.NOT_JUDGED), None)
    counts = {"problems": len(report.problems)}
    if gate is None or (report.problems and report.problems[0].key is None):
        return Conclusion(kind=ConclusionKind.NOT_JUDGED, counts=counts)
    return replace(about_gate(ConclusionKind.NOT_JUDGED, gate, "other"), counts=counts)


def _empty(report: Report) -> Conclusion | None:
    empties = report.measured.empties
    if not empties or not empties.nearly_all:
        return None
    counts = {"empty": empties.empty, "total": empties.total, "absent": empties.absent}
    return Conclusion(kind=ConclusionKind.EMPTY, counts=counts)


def _failure(report: Report) -> Conclusion | None:
    if not report.remarks.failures or any(each.verdict is Verdict.FAIL for each in report.gates):
        return None
    return Conclusion(kind=ConclusionKind.FAILURE)


def _gate_fails(report: Report) -> Conclusion | None:
    failing = [gate for gate in report.gates if gate.verdict is Verdict.FAIL]
    return _of_largest(report, ConclusionKind.GATE_FAILS, failing)


def _other_code(report: Report) -> Conclusion | None:
    return Conclusion(kind=ConclusionKind.OTHER_CODE) if report.origin.other_code else None


def _empty_segment(report: Report) -> Conclusion | None:
    empties = report.measured.empties
    segments = empties.segments if empties else {}
    if not segments:
        return None
    name = max(segments, key=lambda each: segments[each][0])
    empty, total = segments[name]
    counts = {"empty": empty, "total": total, **parts_beside(name, segments.keys() - {name})}
    return Conclusion(kind=ConclusionKind.EMPTY_SEGMENT, segment=name, counts=counts)


def _lost_part(report: Report) -> Conclusion | None:
    lost_parts = report.changes.lost_parts
    if not lost_parts:
        return None
    first = lost_parts[0]
    others = {each.segment for each in lost_parts} - {first.segment}
    counts = {"pairs": first.n, "worse": first.worse, **parts_beside(first.segment, others)}
    return replace(_of_loss(report, ConclusionKind.LOST_PART, first), segment=first.segment, counts=counts)


def _of_loss(report: Report, kind: ConclusionKind, loss: PartLoss | GivenUp) -> Conclusion:
    """A conclusion about a loss that no gate decides, under the first gate of its metric."""
    gate = next((each.name for each in report.gates if each.metric == loss.metric and each.segment is None), None)
    return about_loss(kind, loss, gate)


def _gate_warns(report: Report) -> Conclusion | None:
    warning = [gate for gate in report.gates if gate.verdict is Verdict.WARN and not _uncompared(gate)]
    return _of_largest(report, ConclusionKind.GATE_WARNS, warning)


def _of_largest(report: Report, kind: ConclusionKind, rows: Sequence[GateResult]) -> Conclusion | None:
    if not rows:
        return None
    from rankgate.gates.largest import of_largest  # noqa: PLC0415 -- paid only where a gate does not hold

    return of_largest(report, kind, rows)


def _given_up(report: Report) -> Conclusion | None:
    if not report.changes.given_up:
        return None
    first = report.changes.given_up[0]
    counts = {"pairs": first.n, "steps": first.steps}
    return replace(_of_loss(report, ConclusionKind.GIVEN_UP, first), limit=first.limit, counts=counts)


def _warning(report: Report) -> Conclusion | None:
    return Conclusion(kind=ConclusionKind.WARNING) if report.remarks.warnings else None


def _no_baseline(report: Report) -> Conclusion | None:
    gate = next((each for each in report.gates if each.verdict is Verdict.WARN), None)
    if gate is None:
        return None
    return replace(about_gate(ConclusionKind.NO_BASELINE, gate, "floor"), counts={"questions": gate.measured.n})


def _pass(report: Report) -> Conclusion:
    """By the weakest of the blocking gates that limit a drop and have pairs."""
    main = [gate for gate in report.gates if gate.segment is None]
    limited = [gate for gate in main if gate.limits.regression_max is not None and gate.change.n_pairs]
    may_block = [gate for gate in main if gate.severity == "error"]
    blocking = [gate for gate in limited if gate in may_block] if may_block else limited
    if not blocking:
        if not main:
            return Conclusion(kind=ConclusionKind.PASS, strength=Strength.FLOORS_ONLY)
        speaks = min(may_block or main, key=lambda gate: not gate.is_unproven)  # what is below its floor, within noise
        about = about_gate(ConclusionKind.PASS, speaks, "floor")
        counts = {"questions": speaks.measured.n, "missing": speaks.missing}
        return replace(about, strength=Strength.FLOORS_ONLY, counts=counts)
    weakest = min(blocking, key=_weakness)  # the first of several
    counts = {"pairs": weakest.change.n_pairs, "questions": weakest.measured.n, "missing": weakest.missing}
    about = about_gate(ConclusionKind.PASS, weakest, "drop")
    return replace(about, strength=strength_of(weakest), counts=counts)


_MAKERS = (
    _not_judged,
    _empty,
    _failure,
    _gate_fails,
    _other_code,
    _empty_segment,
    _lost_part,
    _gate_warns,
    _given_up,
    _warning,
    _no_baseline,
    _pass,
)

# --- how much a pass says


def strength_of(gate: GateResult) -> Strength:
    """What the interval of its change says beside its limit: the first that holds."""
    low, high = gate.direction.upright(gate.change.delta_ci)
    if gate.change.delta_ci == (0.0, 0.0):
        return Strength.UNCHANGED
    if high is not None and high < -TOLERANCE:
        return Strength.LOST_AND_ALLOWED
    if low is not None and -low <= (gate.limits.regression_max or 0.0) + TOLERANCE:
        return Strength.RULED_OUT
    return Strength.NOT_EXCLUDED


def _weakness(gate: GateResult) -> tuple[int, float]:
    beyond = float("inf") if gate.bound is None else gate.bound - (gate.limits.regression_max or 0.0)
    return _STRENGTHS.index(strength_of(gate)), -beyond


def _uncompared(gate: GateResult) -> bool:
    """Whether it warns for nothing but that there is nothing to compare with."""
    return {reason.kind for reason in gate.decision.reasons} == {ReasonKind.NO_BASELINE}


# --- what came back empty


def empties_of(gold: Gold, candidate: Scores, baseline: Scores | None) -> Empties | None:
    """How many lists of questions that have something to find are empty or absent; None where none is, or is known.

    A tag is named where nearly all of its questions, at least five, are without a result and the baseline had some.
    """
    answerable = [sample for sample in gold.samples.values() if sample.relevant()]
    if not answerable or not candidate.listed or not (candidate.rank_summaries or candidate.missing):
        return None
    none = [sample.query_id for sample in answerable if not _retrieved(candidate, sample.query_id)]
    if not none:
        return None
    from rankgate.metrics.tags import parts_of  # noqa: PLC0415 -- paid only where a list is empty

    lacking = set(none)
    segments: dict[str, tuple[int, int]] = {}
    with_ranks = baseline if baseline and baseline.rank_summaries else None
    for name, rows in parts_of(answerable).items():
        queries = [answerable[row].query_id for row in rows]
        hit = sum(query in lacking for query in queries)
        had = not with_ranks or any(_retrieved(with_ranks, query) for query in queries)
        if hit >= NEARLY_ALL * len(queries) and had:
            segments[name] = hit, len(queries)
    first = max(none, key=lambda query: _retrieved(with_ranks, query) or 0) if with_ranks else none[0]
    return Empties(
        empty=len(none),
        total=len(answerable),
        absent=len(lacking & candidate.missing),
        segments=segments,
        first=first,
        before=_retrieved(with_ranks, first) if with_ranks else None,
    )


def _retrieved(scores: Scores, query_id: str) -> int | None:
    """How many results a query has, 0 where its list is not known; None where the run lacks it."""
    summary = scores.rank_summaries.get(query_id)
    return None if summary is None else summary.retrieved or 0
