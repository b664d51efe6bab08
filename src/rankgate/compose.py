"""From decisions to the report: the overall verdict, its one sentence, and what was compared with what."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from msgspec.structs import replace

from rankgate import __version__
from rankgate.comparison import baseline_column
from rankgate.criteria import Criteria
from rankgate.detectable import power_notes
from rankgate.errors import Problem
from rankgate.estimates import CONFIDENCE, distribution, estimate, is_rate
from rankgate.gates import NO_BASELINE
from rankgate.gold_changes import gold_changes
from rankgate.inputs import Inputs
from rankgate.metrics.base import Metric
from rankgate.model import Gold, Scores, Verdict, worst
from rankgate.movements import most_telling
from rankgate.notes import judged_value, notes_of
from rankgate.paradox import paradoxes
from rankgate.readers.base import Run
from rankgate.readers.formats import fingerprint_of
from rankgate.readers.source import STDIN
from rankgate.report import (
    Diagnosis,
    GateResult,
    MetricValue,
    Moved,
    Movement,
    Provenance,
    Queries,
    Report,
    Segment,
    Source,
)
from rankgate.side import Side
from rankgate.staleness import GOLD_STALE, LostIds
from rankgate.wording import count_text

MOST_IDS = 20
INTERNAL = "internal error"
ISSUES = "https://github.com/rankgate/rankgate/issues"


def compose(
    inputs: Inputs,
    criteria: Criteria,
    gold: Gold,
    candidate: Side,
    baseline: Side | None,
    results: list[GateResult],
    segments: list[Segment],
    moved: Sequence[Movement],
    *,
    lost: LostIds | None = None,
    diagnosis: Sequence[Diagnosis] = (),
) -> Report:
    """Put the report together; nothing is decided here but the worst of the verdicts."""
    warnings = [lost.warning] if lost and lost.stale else []
    verdict = worst([*(result.verdict for result in results), *(Verdict.WARN for _ in warnings)])
    metrics = criteria.metrics()
    fingerprint = fingerprint_of(gold)
    changes = gold_changes(gold, fingerprint, baseline.run.gold) if baseline else None
    problems = [
        Problem(reason, criteria.name, result.line, f"gate {result.name}")
        for result in results
        if result.verdict is Verdict.NOT_JUDGED
        for reason in result.reasons
    ]
    return Report(
        verdict=verdict,
        summary=headline(verdict, results, problems, warnings) + _paradox(results),
        problems=problems,
        warnings=warnings,
        notes=[*notes_of(criteria, candidate, baseline, changes), *power_notes(criteria.gates, results)],
        diagnosis=list(diagnosis),
        gates=results,
        metrics={metric.name: _decided_value(metric, results, candidate.scores) for metric in metrics},
        baseline_metrics={
            metric.name: metric_value(metric, baseline_column(metric, baseline.scores), baseline.scores.clusters)
            for metric in metrics
        }
        if baseline
        else {},
        queries=_queries(gold, candidate.scores, baseline.scores if baseline else None),
        segments=segments,
        misses=most_telling(moved),
        moved=_moved(moved) if baseline else None,
        gold_changes=changes,
        provenance=Provenance(
            rankgate=__version__,
            date=inputs.date,
            criteria=criteria.name,
            gold=Source(path=gold.name, format=gold.format),
            gold_fingerprint=fingerprint,
            run=_source(candidate.run),
            baseline=_source(baseline.run) if baseline else None,
            depth=baseline.run.depth if baseline else None,
            command=_command(inputs, criteria, gold, candidate.run, baseline.run if baseline else None),
        ),
    )


def not_judged(inputs: Inputs, problems: Sequence[Problem]) -> Report:
    """The report of a check that could not judge: it says why, so that no old verdict is left standing."""
    gold, run, baseline = (
        Source(path=file.path, format=file.format or "not read") if file else None
        for file in (inputs.gold, inputs.run, inputs.baseline)
    )
    return Report(
        verdict=Verdict.NOT_JUDGED,
        summary=headline(Verdict.NOT_JUDGED, [], problems),
        problems=list(problems),
        provenance=Provenance(
            rankgate=__version__, date=inputs.date, criteria=inputs.criteria, gold=gold, run=run, baseline=baseline
        ),
    )


def internal_error(error: BaseException) -> Problem:
    """One line to report: what was raised, where in rankgate, on which versions."""
    place, frame = "", error.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_globals.get("__name__", "")
        if name.partition(".")[0] == "rankgate":
            place = f" in {name}:{frame.tb_lineno}"
        frame = frame.tb_next
    text = " ".join(str(error).split())[:200]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    version = ".".join(map(str, sys.version_info[:3]))
    versions = f"rankgate {__version__}, Python {version}"
    return Problem(f"{INTERNAL}: {what}{place} ({versions}); this is our bug, please report this line at {ISSUES}")


def headline(
    verdict: Verdict, results: Sequence[GateResult], problems: Sequence[Problem], warnings: Sequence[str] = ()
) -> str:
    """The verdict as one sentence for a reader who does not know the metrics. Holds no text from the inputs."""
    deciding = [result for result in results if result.verdict is verdict]
    match verdict:
        case Verdict.PASS:
            count = sum(result.segment is None for result in results)
            return f"Retrieval holds: {'the gate passes' if count == 1 else f'all {count} gates pass'}."
        case Verdict.WARN if not warnings and all(_only_lacks_baseline(result) for result in deciding):
            floors = ": it holds its floors" if any(result.threshold is not None for result in results) else ""
            return f"May be merged{floors}, but without a baseline nobody can tell whether retrieval got worse."
        case Verdict.WARN:
            deciding.sort(key=_only_lacks_baseline)  # what was found says more than what could not be
            first = warnings[0] if warnings else _first_reason(deciding)
            return f"May be merged, with a warning: {first}{_more(len(deciding) - (not warnings), 'warn')}."
        case Verdict.FAIL:
            return f"Do not merge: {_first_reason(deciding)}{_more(len(deciding) - 1, 'fail')}."
        case Verdict.NOT_JUDGED:
            return f"Retrieval could not be judged: {_what_failed(problems)}."
        case _:
            assert_never(verdict)


def _paradox(results: Sequence[GateResult]) -> str:
    """Simpson's paradox, named: the whole does not show what a part lost."""
    gates = {result.name: result.metric for result in results}
    metrics = list(dict.fromkeys(gates[name] for name in paradoxes(results)))
    if not metrics:
        return ""
    return f" Beware of Simpson's paradox: {' and '.join(metrics)} fell in a segment while the whole did not."


def _what_failed(problems: Sequence[Problem]) -> str:
    for begins, what in (
        (INTERNAL, "something went wrong inside rankgate"),
        (GOLD_STALE, "the gold set is stale, it names ids that the search no longer returns"),
    ):
        if any(problem.message.startswith(begins) for problem in problems):
            return what
    return f"{count_text(len(problems), 'problem')} with the inputs"


def _first_reason(deciding: Sequence[GateResult]) -> str:
    """The first reason, with what the metric means where the reason begins with its name."""
    gate = min(deciding, key=lambda result: result.segment is not None)  # what holds for all says more
    name, space, rest = gate.reasons[0].partition(" ")
    reason = f"{name} ({gate.meaning}){space}{rest}" if name == gate.metric else gate.reasons[0]
    return reason if gate.segment is None else f"in one segment, {reason}"


def _more(count: int, verb: str) -> str:
    if not count:
        return ""
    return f", and 1 more gate {verb}s" if count == 1 else f", and {count} more gates {verb}"


def _only_lacks_baseline(result: GateResult) -> bool:
    return len(result.reasons) == 1 and result.reasons[0].startswith(NO_BASELINE)


def _decided_value(metric: Metric, results: Sequence[GateResult], scores: Scores) -> MetricValue:
    """The candidate's value as one of the metric's gates has it; computing its interval again would give the same."""
    gate = next((gate for gate in results if _of_whole(gate, metric)), None)
    if gate is None:
        value = metric_value(metric, scores.values[metric.name], scores.clusters)
        return replace(value, with_judge=judged_value(metric, scores))
    defined = [value for value in scores.values[metric.name] if value is not None]
    return MetricValue(
        value=gate.value,
        ci=gate.ci,
        n=gate.n,
        undefined=len(scores.query_ids) - gate.n,
        unit=gate.unit,
        direction=gate.direction,
        meaning=gate.meaning,
        distribution=distribution(defined) if is_rate(metric) and gate.n else None,
        with_judge=judged_value(metric, scores),
    )


def _of_whole(gate: GateResult, metric: Metric) -> bool:
    return gate.metric == metric.name and gate.segment is None and gate.confidence == CONFIDENCE


def metric_value(metric: Metric, values: Sequence[float | None], clusters: Sequence[str]) -> MetricValue:
    """A column's value as the report has it."""
    found = estimate(values, metric, clusters=clusters)
    return MetricValue(
        value=found.value if found else None,
        ci=found.ci if found else None,
        n=found.n if found else 0,
        undefined=found.undefined if found else len(values),
        unit=metric.unit,
        direction=metric.direction,
        meaning=metric.meaning,
        distribution=found.distribution if found else None,
    )


def _queries(gold: Gold, candidate: Scores, baseline: Scores | None) -> Queries:
    relevant = sum(bool(sample.relevant()) for sample in gold.samples.values())
    missing = [query_id for query_id in candidate.query_ids if query_id in candidate.missing]
    return Queries(
        total=len(gold.samples),
        scored=relevant,
        no_relevant=len(gold.samples) - relevant,
        missing=len(missing),
        missing_ids=missing[:MOST_IDS],
        unjudged=len(candidate.strangers),
        duplicates=candidate.duplicates,
        new=len(baseline.missing) if baseline else 0,
    )


def _moved(moved: Sequence[Movement]) -> Moved:
    worse = sum(movement.worse for movement in moved)
    return Moved(worse=worse, better=len(moved) - worse)


def _source(run: Run) -> Source:
    return Source(path=run.name, format=run.format, about=_plain(run.provenance))


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    return {key: about[key] for key in sorted(about)}


def _command(inputs: Inputs, criteria: Criteria, gold: Gold, run: Run, baseline: Run | None) -> list[str]:
    """The call that repeats this check, as one would type it."""
    command = ["rankgate", "check", "--criteria", criteria.name]
    for flag, named, name in (("gold", inputs.gold, gold.name), ("run", inputs.run, run.name)):
        command += [f"--{flag}", named.path if named and named.path == STDIN else name]
        if named and named.format:
            command += [f"--{flag}-format", named.format]
    return [*command, "--baseline", baseline.name] if baseline else command
