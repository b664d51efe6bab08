"""From decisions to the report: the overall verdict, its one sentence, and what was compared with what."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from rankgate import __version__
from rankgate.criteria.inputs import Inputs
from rankgate.diagnosis.causes import STALE
from rankgate.diagnosis.differences import gold_differences, run_differences
from rankgate.diagnosis.gold_changes import gold_changes, mark_of
from rankgate.diagnosis.listings import Lists, oddities_of, with_displacers
from rankgate.diagnosis.movements import losers, most_telling
from rankgate.diagnosis.notes import (
    judged_value,
    notes_of,
    stray_scores,
    untrusted_notes,
)
from rankgate.diagnosis.worst_first import worst_rows
from rankgate.errors import Problem, ProblemKind, shown
from rankgate.gates.conclude import concluded, empties_of, with_conclusion
from rankgate.gates.given_up import ScoredAnchor, given_up, in_steps, noted
from rankgate.gates.lost_parts import unnamed_losses
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import baseline_column, gaps
from rankgate.metrics.estimates import attainable, distribution, estimate, is_rate
from rankgate.metrics.lines import GivenRate
from rankgate.metrics.matching import OF_THE_LINE, By
from rankgate.metrics.plan import Plan
from rankgate.metrics.registry import packages_of
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.answer_losses import AnswerChanges
from rankgate.model.details import TEXTS_OF
from rankgate.model.differences import Difference
from rankgate.model.gate_result import GateResult
from rankgate.model.gold_changes import GoldMark
from rankgate.model.lineage import (
    age_problems,
    anchor_problem,
    clock_problems,
    lineage_note,
    package_problems,
    passed_over_text,
)
from rankgate.model.reasons import problems_of, unjudged_text
from rankgate.model.report import (
    NAMED,
    BaselineSource,
    Call,
    Diagnosis,
    MetricValue,
    Moved,
    Movement,
    Provenance,
    Queries,
    Report,
    Segment,
    Source,
)
from rankgate.model.scores import Scores, Unfit
from rankgate.model.tags import failing
from rankgate.model.values import CONFIDENCE, Gold, RunField, Verdict
from rankgate.model.wording import count_text
from rankgate.readers.base import Run
from rankgate.readers.corpus import read_corpus
from rankgate.readers.formats import NAMES, fingerprint_of
from rankgate.readers.source import STDIN

if TYPE_CHECKING:
    from rankgate.criteria import Criteria

MAX_IDS = 20
LEAST_KEPT = 10  # items of a list that the metrics of a page look at, and more
SHOWN = frozenset(
    {RunField.IDS, RunField.DOCS, RunField.LATENCY}
)  # what details need of the runs beyond what metrics ask for
ISSUES = "https://github.com/rankgate/rankgate/issues"
_EMPTY_BASELINE = (
    "the baseline is empty: no question got a result there, so that no loss can show; accept a run that has some"
)
_STALE = (
    "the gold set is partly stale: relevant ids that the baseline found are in no list any more, and ids that it never "
    "returned stand in their place; map the gold set to the new ids, or gate by document with `match: doc`"
)


def with_leading(plan: Plan, inputs: Inputs) -> Plan:
    """The plan with what details need, with the metric whose changes are to be listed, and what its gates rest on."""
    metrics = {metric.name: metric for metric in plan.metrics}
    if "answered_rate" in metrics:
        metrics.setdefault(GivenRate.key, GivenRate())
    if inputs.leading:
        metrics.setdefault(inputs.leading.name, inputs.leading)
    metrics_asked = [*metrics.values()]
    if inputs.details is None:
        return replace(plan, metrics=metrics_asked)
    return with_shown(replace(plan, metrics=metrics_asked), inputs.details)


def with_shown(plan: Plan, depth: int) -> Plan:
    """The plan with what details need, of so many items of each list."""
    from rankgate.diagnosis.details import MEASURES  # noqa: PLC0415 -- paid only where details are asked for

    return replace(plan, also=SHOWN, beside=MEASURES, keep=max(depth, LEAST_KEPT))


def compose(
    inputs: Inputs,
    criteria: Criteria,
    gold: Gold,
    compared: tuple[ScoredRun, ScoredRun | None, ScoredAnchor | None],
    results: list[GateResult],
    segments: list[Segment],
    moved: Sequence[Movement],
    *,
    diagnosis: Sequence[Diagnosis] = (),
    lists: Lists = (None, None),
) -> Report:
    """Put the report together; nothing is decided here but the worst of the verdicts.

    What was compared are the candidate, the baseline and the anchor, as far as these are there.
    """
    candidate, baseline, anchor = compared
    lineage = baseline.run.lineage if baseline else None
    age = criteria.baseline.max_age
    aged = age_problems(lineage, age.days, age.commits) if lineage else []
    failures = aged if age.severity == "error" else []
    warnings = [_STALE for found in diagnosis if found.rule == STALE]
    warnings += [*([] if failures else aged), *(clock_problems(lineage, inputs.date) if lineage else [])]
    warnings += package_problems(lineage, packages_of(criteria.metrics())) if lineage and lineage.packages else []
    warnings += [anchor_problem(anchor.mark, anchor.problem)] if anchor and anchor.problem else []
    sides = (candidate, baseline) if criteria.match.by is By.SPAN else ()
    unplaced = [_unplaced(side, gold) for side in sides if side]
    warnings += [warning for warning, _ in unplaced if warning]
    warnings += [_unfit(side, why) for side in sides if side for why in dict.fromkeys(side.scores.unfit.values())]
    warnings += [_EMPTY_BASELINE] if baseline and _is_empty(baseline.scores) else []
    metrics = criteria.metrics()
    fingerprint = fingerprint_of(gold)
    changes = gold_changes(gold, fingerprint, baseline.run.gold) if baseline else None
    mark = mark_of(gold, fingerprint, by_query=False)
    worse = sum(movement.worse for movement in moved)
    old = baseline.scores if baseline else None
    violated = {(each.metric, each.segment) for each in results if each.verdict is not Verdict.PASS}
    lost = unnamed_losses(criteria, gold, candidate.scores, old) if old else []
    lost = [part for part in lost if (part.metric, part.segment) not in violated]
    overall = {each.metric: each for each in reversed(results) if each.segment is None}
    rows_of_parts = [replace(overall[part.metric], segment=part.segment) for part in lost]
    adding = given_up(criteria.gates, candidate.scores, anchor, results) if anchor else []
    worse_questions, lowest_questions = losers(gold, [*results, *rows_of_parts], candidate.scores, old)
    report = Report(
        verdict=Verdict.PASS,
        summary="",
        lost_parts=lost,
        given_up=in_steps(adding, results),
        anchor=noted(anchor, adding) if anchor else None,
        empties=empties_of(gold, candidate.scores, old),
        losers=worse_questions,
        lowest=lowest_questions,
        call=_call(inputs, criteria, gold, candidate.run, baseline.run if baseline else None),
        problems=problems_of(results, criteria.name),
        failures=failures,
        warnings=warnings,
        notes=[
            *untrusted_notes(criteria, untrusted=inputs.untrusted_run),
            *(note for _, note in unplaced if note),
            *stray_scores(candidate),
            *filter(None, [lineage_note(lineage) if lineage else None]),
            *(
                [passed_over_text(anchor.mark, anchor.passed_over)]
                if anchor and anchor.mark and anchor.passed_over
                else []
            ),
            *dict.fromkeys(f"{unjudged_text(each)}." for each in results if each.unjudged and each.segment is None),
            *notes_of(criteria, candidate, baseline, changes),
        ],
        diagnosis=list(diagnosis),
        gates=results,
        metrics={metric.name: _candidate_value(metric, candidate.scores, results) for metric in metrics},
        baseline_metrics={
            metric.name: _value(metric, baseline_column(metric, baseline.scores), baseline.scores, results, own=False)
            for metric in metrics
        }
        if baseline
        else {},
        queries=_queries(gold, candidate.scores, baseline.scores if baseline else None),
        segments=segments,
        oddities=oddities_of(gold, criteria.match, lists),
        misses=with_displacers(most_telling(moved), *lists, candidate.scores.rank_summaries),
        moved=Moved(worse=worse, better=len(moved) - worse) if baseline else None,
        answers=_answers(results, metrics, candidate, baseline) if candidate.run.judge else None,
        gold_changes=changes,
        differences=_differences(inputs, mark, candidate.run, baseline.run) if baseline else [],
        untrusted_run=inputs.untrusted_run,
        fork_runs=criteria.fork_runs,
        provenance=Provenance(
            rankgate=__version__,
            date=inputs.date,
            criteria=criteria.name,
            gold=Source(path=gold.name, format=gold.format),
            gold_fingerprint=fingerprint,
            gold_queries_fingerprint=mark.queries_fingerprint,
            run=Source(**_source(candidate.run)),
            baseline=BaselineSource(**_source(baseline.run), lineage=lineage) if baseline else None,
            depth=baseline.run.depth if baseline else None,
            judge=candidate.run.judge or UNSET,
            command=_command(inputs, criteria, gold, candidate.run, baseline.run if baseline else None),
        ),
    )
    report = concluded(report)
    if inputs.traffic or criteria.inputs.traffic:
        from rankgate.gates.traffic import with_traffic  # noqa: PLC0415 -- paid only where there is traffic

        report = with_traffic(report, inputs, criteria, gold, (candidate, baseline))
    return report


def _unplaced(side: ScoredRun, gold: Gold) -> tuple[str, str]:
    """What to warn of, results without offsets and text, and what to note, those that are judged by their texts."""
    listed = (each.details.items or () for each in side.lists() if each.details and each.query_id in gold.samples)
    items = [item for each in listed for item in each]
    texts = [item.text is not None for item in items if item.start is None]
    among = f"of {count_text(len(items), 'item')} of {side.run.name} state no offsets"
    warning = f"{texts.count(False):,} {among} and no text, so that they match nothing" if not all(texts) else ""
    return warning, f"{texts.count(True):,} {among}; passages are searched in their texts." if any(texts) else ""


def _unfit(run: ScoredRun, why: Unfit) -> str:
    """What to warn of where nobody can say whether passages are in the lists."""
    queries = [query_id for query_id, each in run.scores.unfit.items() if each is why]
    named = ", ".join([*map(shown, queries[:NAMED]), *(["…"] if queries[NAMED:] else [])])
    which = f"{count_text(len(queries), 'question')} ({named})"
    if why is Unfit.STALE:
        return (
            f"the gold set is partly stale: {run.run.name} shows another text where passages of {which} should stand; "
            "these have no value. Correct their spans: `rankgate gold anchor` lists those that stand elsewhere"
        )
    return (
        f"{which} cannot be judged in {run.run.name}: their spans state no `text` and results no offsets; write `text` "
        "into the spans: `rankgate gold anchor` does"
    )


def with_details(
    report: Report,
    inputs: Inputs,
    gold: Gold,
    plan: Plan,
    runs: Sequence[ScoredRun],
    before: Scores | None,
    leading: Metric | None,
) -> Report:
    """The report with what pages show beyond it, so many items of each ranking; as it is where none are asked for.

    The plan had to read `SHOWN` as well; `runs` are the candidate and, if there is one, the baseline; `before` are the
    latter's scores, which know where lists differ, and `leading` is the metric whose changes are listed. A text that
    one run does not state is the corpus's or the other's.
    """
    if inputs.details is None:
        return report
    from rankgate.diagnosis.details import details_of  # noqa: PLC0415 -- paid only where asked for

    measured = (gold, plan.metrics, leading, report.segments, runs[0].scores, before)
    named, depth = inputs.leading is not None, inputs.details
    details = details_of(*measured, depth=depth, named=named, gates=report.gates)
    details = replace(details, order=worst_rows(details, failing(report.gates), report.conclusion.next))
    if inputs.texts:
        worst = [details.questions[row] for row in details.order[:TEXTS_OF]]
        wanted = {item.id for each in worst for items in (each.before, each.now) for item in items or ()}
        wanted |= {document.id for each in worst for document in each.expected}
        new, *others = [run.texts_of(wanted) for run in runs]
        old = others[0] if others else {}
        corpus = {each.id: each.text for each in read_corpus(inputs.corpus, wanted)} if inputs.corpus else {}
        details = replace(details, texts=({**new, **corpus, **old}, {**old, **corpus, **new}))
    return replace(report, details=details)


def not_judged(inputs: Inputs, problems: Sequence[Problem]) -> Report:
    """The report of a check that could not judge: it says why, so that no old verdict is left standing."""
    gold, run = (
        Source(path=file.path, format=file.format or "not read") if file else None for file in (inputs.gold, inputs.run)
    )
    named = inputs.baseline
    baseline = BaselineSource(path=named.path, format=named.format or "not read") if named else None
    provenance = Provenance(
        rankgate=__version__, date=inputs.date, criteria=inputs.criteria, gold=gold, run=run, baseline=baseline
    )
    verdict, untrusted = Verdict.NOT_JUDGED, inputs.untrusted_run
    return with_conclusion(
        Report(verdict=verdict, summary="", problems=list(problems), untrusted_run=untrusted, provenance=provenance)
    )


# Where they name no file, a stream takes no more: what is written to files names them.
_OF_STREAMS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def internal_error(error: BaseException) -> Problem:
    """What nobody expected: a file system that refuses, which is no bug; else one line to report, with its place."""
    if isinstance(error, OSError) and error.strerror:
        stream = "standard output" if error.errno in _OF_STREAMS else None
        return Problem(f"the operating system refuses: {error.strerror}", str(error.filename or "") or stream)
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
    bug = f"internal error: {what}{place} ({versions}); this is our bug, please report this line at {ISSUES}"
    return Problem(bug, kind=ProblemKind.INTERNAL)


def _value(
    metric: Metric, column: Sequence[float | None], scores: Scores, results: Sequence[GateResult], *, own: bool
) -> MetricValue:
    """A column's value.

    If the gates are of the column's own run, as one of them has it: its interval would come out the same again.
    """
    whole = (gate for gate in results if gate.segment is None and gate.metric == metric.name)
    gate = next((gate for gate in whole if own and gate.confidence == CONFIDENCE), None)
    if gate is None:
        found = estimate(column, metric, scores.clusters, ends=attainable(metric, scores, column))
        value, ci, n, spread = (found.value, found.ci, found.n, found.distribution) if found else (None, None, 0, None)
    else:
        value, ci, n = gate.value, gate.ci, gate.n
        spread = distribution([x for x in column if x is not None]) if is_rate(metric) and n else None
    return MetricValue(
        value=value,
        ci=ci,
        n=n,
        undefined=len(column) - n,
        unit=metric.unit,
        direction=metric.direction,
        meaning=metric.meaning,
        distribution=spread,
    )


def _candidate_value(metric: Metric, scores: Scores, results: Sequence[GateResult]) -> MetricValue:
    missing = len(gaps(metric, scores, None).missing) or (0 if metric.needs & OF_THE_LINE else None)
    value = _value(metric, scores.uncut_values(metric.name), scores, results, own=True)
    return replace(value, missing=missing, with_judge=judged_value(metric, scores))


def _queries(gold: Gold, candidate: Scores, baseline: Scores | None) -> Queries:
    relevant = sum(bool(sample.relevant()) for sample in gold.samples.values())
    missing = [query_id for query_id in candidate.query_ids if query_id in candidate.missing]
    return Queries(
        total=len(gold.samples),
        scored=relevant,
        no_relevant=len(gold.samples) - relevant,
        missing=len(missing),
        missing_ids=missing[:MAX_IDS],
        unjudged=len(candidate.unknown_queries),
        duplicates=candidate.duplicates,
        new=len(baseline.missing) if baseline else 0,
    )


def _differences(inputs: Inputs, gold: GoldMark, run: Run, baseline: Run) -> list[Difference]:
    """What differs; nothing is read of what an untrusted run says of itself, so that it cannot be compared."""
    of_runs = [] if inputs.untrusted_run else run_differences(baseline.provenance, run.provenance)
    return [*of_runs, *gold_differences(baseline.gold, gold)]


def _answers(
    results: Sequence[GateResult], metrics: Sequence[Metric], candidate: ScoredRun, baseline: ScoredRun | None
) -> AnswerChanges:
    from rankgate.diagnosis.answers import answer_changes  # noqa: PLC0415 -- paid only where they are judged

    return answer_changes(results, metrics, candidate.scores, baseline.scores if baseline else None)


def _source(run: Run) -> dict[str, Any]:
    return {"path": run.name, "format": run.format, "about": dict(sorted(run.provenance.items()))}


def _is_empty(scores: Scores) -> bool:
    """Whether a run with lists has not one result."""
    return bool(scores.listed and scores.rank_summaries) and not any(
        each.retrieved for each in scores.rank_summaries.values()
    )


def _call(inputs: Inputs, criteria: Criteria, gold: Gold, run: Run, baseline: Run | None) -> Call:
    """What has to be said again: files that the criteria do not name, by the names under which reports show them."""
    written = criteria.inputs
    files = [("gold", inputs.gold, written.gold, gold.name), ("run", inputs.run, written.run, run.name)]
    files += [("baseline", inputs.baseline, written.baseline, baseline.name)] if baseline else []
    options: dict[str, str] = {}
    for option, named, known, name in files:
        if named and not (named.held or named.is_table or (known and known.path == named.path)):
            typed = STDIN if named.path == STDIN else _typed(name)
            options[option] = f"{named.format}:{typed}" if named.format else typed
    store = inputs.baseline is not None or criteria.inputs.baseline is not None
    judging = ["--base", inputs.base] if inputs.base else []
    if inputs.untrusted_run:
        judging.append("--untrusted-run")
    if inputs.verdicts or inputs.untrusted_run or (inputs.run and inputs.run.path == STDIN):
        judging += ["--store", inputs.verdicts or "verdicts.jsonl"]
    retriever = criteria.retriever is not None
    return Call(options=options, judging=tuple(judging), retriever=retriever, store=store)


def _typed(name: str) -> str:
    """A file as an option takes it, also where its name begins as an option or as `FORMAT:FILE` does."""
    return f"./{name}" if name.startswith("-") or name.partition(":")[0] in NAMES else name


def _command(inputs: Inputs, criteria: Criteria, gold: Gold, run: Run, baseline: Run | None) -> list[str]:
    """The call that repeats this check, as one would type it; none where something is in Python's memory alone."""
    if inputs.asked or any(each and each.held for each in (inputs.gold, inputs.run, inputs.baseline)):
        return []
    command = ["rankgate", "check", "--criteria", criteria.name]
    files = (("gold", inputs.gold, criteria.inputs.gold, gold.name), ("run", inputs.run, criteria.inputs.run, run.name))
    for flag, named, written, name in files:
        if named is None and written and (written.format or written.map):
            continue  # the criteria say how it is read, too
        typed = named.path if named and named.path == STDIN else _typed(name)
        command += [f"--{flag}", f"{named.format}:{typed}" if named and named.format else typed]
    command += ["--untrusted-run"] if inputs.untrusted_run else []
    command += ["--verdicts", inputs.verdicts] if inputs.verdicts else []
    command += ["--corpus", inputs.corpus, "-o", "report.html"] if inputs.corpus else []
    store = None if inputs.baseline else criteria.inputs.baseline
    described = store and (store.format or store.map)
    if baseline is None or described:
        return command
    form = inputs.baseline and inputs.baseline.format
    return [*command, "--baseline", f"{form}:{baseline.name}" if form else baseline.name]
