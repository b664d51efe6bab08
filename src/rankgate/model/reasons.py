"""The sentence of each reason for which a gate passed, warned or failed: its kind and the gate's numbers in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankgate.errors import Problem, shown
from rankgate.model.answer_losses import Stage
from rankgate.model.answers import (
    LABELLED,
    MIN_ANSWERS,
    MIN_CLUSTERS,
    MIN_RARER,
    OF_FLOORS,
    SEES_LITTLE,
    Advisory,
    GateJudge,
    has_labels,
)
from rankgate.model.gate_result import GateResult
from rankgate.model.values import (
    BEYOND,
    TOLERANCE,
    Direction,
    Evidence,
    EvidenceState,
    Reason,
    ReasonKind,
    Ruling,
    RunField,
    Unit,
    Verdict,
)
from rankgate.model.waiver_use import ACCEPT_RANKINGS, Waived
from rankgate.model.wording import (
    STAGE_WORDS,
    UNJUDGED_WORDS,
    confidence_text,
    count_text,
    delta_text,
    exact_decimals,
    harm_word,
    interval_text,
    limit_word,
    size_text,
    telling_decimals,
    value_text,
)


def sentences(gate: GateResult) -> list[str]:
    """The gate's reasons in their order, as sentences without a full stop."""
    return [_sentence(gate, position) for position in range(len(gate.reasons))]


def plain_sentence(gate: GateResult) -> str:
    """The first reason with what the metric means, where that is no limit: of limits the conclusion speaks."""
    return _sentence(gate, 0, plain=True)


def problems_of(results: Sequence[GateResult], criteria: str | None) -> list[Problem]:
    """Why gates of the criteria of this name could not be judged."""
    unjudged = [result for result in results if result.verdict is Verdict.NOT_JUDGED]
    texts = ((result, sentence) for result in unjudged for sentence in sentences(result))
    place = "gate {0.name} in {0.segment}".format, "gate {0.name}".format
    return [Problem(text, criteria, each.line, place[each.segment is None](each)) for each, text in texts]


def waived_text(waived: Waived) -> str:
    """How long a violation is let pass."""
    return f"waived until {waived.expires}"


def stage_finding(stage: Stage, numbers: Mapping[str, Any]) -> str:
    """Where answers got worse by a metric, from the evidence of the finding, without a full stop."""
    (label, clause), worse = STAGE_WORDS[stage], numbers["worse"]
    count = "all" if numbers[stage.value] == worse else f"{numbers[stage.value]:,} of the"
    those = f"{count} {worse:,} questions" if worse > 1 else "the one question"
    sides = [
        value_text(numbers[key], Unit.SHARE) for key in ("context_recall_before", "context_recall") if key in numbers
    ]
    recall = f" (context_recall {' → '.join(sides)})" if sides and stage is not Stage.REFUSAL else ""
    return f"{label}: for {those} that got worse in {numbers['metric']}, {clause}{recall}"


def advisory_text(name: str, judge: GateJudge | None) -> str:
    """Why what a judge says of a metric only warns; empty where all that it says counts."""
    if judge is None or judge.reason is None:
        return ""
    j, calibrated = judge.j, f"{', '.join(LABELLED)} and rubrics"
    low = f"as little as {max(j.low, 0.0):.0%} of a difference in {name}" if j else f"nothing in {name}"
    never = "cannot" if j and j.high <= SEES_LITTLE else "may not"
    answers, rarer = (judge.labels.answers, judge.labels.rarer) if judge.labels else (0, 0)
    counts = f"{count_text(answers, 'answer')}, of which {rarer:,} have the rarer verdict"
    texts = {
        Advisory.FILE: "no person has checked this judge; labels on 200 answers would do (`rankgate judge sample`)",
        Advisory.JUDGE: "people have checked another judge; repeat `rankgate judge calibrate` with this one",
        Advisory.AGE: "people have checked this judge too long ago; repeat `rankgate judge calibrate`",
        Advisory.AHEAD: "the calibration of this judge is dated in the future; repeat `rankgate judge calibrate`",
        Advisory.METRIC: f"people's labels say nothing of {name}"
        + ("" if has_labels(name) else f", only of {calibrated}: gate one of these"),
        Advisory.QUERIES: "people have labelled a run that has less than half of these questions",
        Advisory.SEGMENT: "people have not drawn labels for each segment, so that its floor is the judge's own",
        Advisory.CLUSTERS: f"people have labelled answers of fewer than {MIN_CLUSTERS} clusters, too few for a floor",
        Advisory.LABELS: f"people have labelled {counts}; {MIN_ANSWERS} and {MIN_RARER} are needed",
        Advisory.CANNOT_TELL: f"the judge {never} tell right from wrong: it may see {low}",
        Advisory.WEAK: f"the judge may see {low}, and more than {SEES_LITTLE:.0%} is needed",
    }
    return texts[judge.reason]


def limits_text(judge: GateJudge) -> tuple[str, str]:
    """The limits that may block and those that only warn, where some of a gate's do."""
    return ("drops", "floors") if judge.reason in OF_FLOORS else ("floors", "drops")


def labels_text(name: str, judge: GateJudge) -> str:
    """What a gate on a metric may do by people's labels, and what more of them would change."""
    if not (why := advisory_text(name, judge)):
        return "floors and drops may block"
    may = "{} may block, {} warn at most".format(*limits_text(judge)) if judge.counts else "warns at most"
    if name == "answered_rate":
        may = f"empty, missing and declared answers may block; for refusals in words: {may}"
    if judge.reason not in (Advisory.LABELS, Advisory.CANNOT_TELL, Advisory.WEAK) or judge.labels is None:
        return f"{may}; {why}"
    help_at_all = "will" if judge.j and judge.j.high <= SEES_LITTLE else "may"
    needed, labels = judge.labels.needed(judge.j), judge.labels
    more = f"More labels {help_at_all} not help: fix the rule of labelling, or change the judge"
    more = f"About {needed:,} labelled answers would do" if needed else more
    more = more if labels.rarer else "Draw a larger sample"
    if labels.among and (needed or labels.answers + 1) > labels.among and help_at_all == "may":
        more = f"{more}; this run has {count_text(labels.among, 'answer')}, so that it takes a larger one"
    return f"{may}; {why}. {more}"


def unjudged_text(gate: GateResult) -> str:
    """What documents that nobody has judged can make of a change, and what to do."""
    ends = {"wrong": gate.delta or 0.0, "judged": 0.0, "judged_before": 0.0, "relevant": 0.0, "condensed": 0.0}
    ends |= gate.unjudged
    wrong, right, alone = (delta_text(ends[end], gate.unit) for end in ("wrong", "relevant", "condensed"))
    shares = f"{ends['judged']:.0%} of the first results, {ends['judged_before']:.0%} of the baseline's"
    change = f"the change is {wrong} if the others are wrong, {right} if right, {alone} without them"
    if "labelled" in ends:
        low, high = (delta_text(ends[end], gate.unit) for end in ("labels_wrong", "labels_relevant"))
        span = low if low == high else f"from {low} to {high}"
        change += f"; with the judge's labels, which leave {1 - ends['labelled']:.0%} open, it is {span}"
    return f"{gate.metric} rests on judgments of {shares}: {change}; rankgate gold pool lists what to label"


def _sentence(gate: GateResult, position: int, *, plain: bool = False) -> str:
    reason = gate.reasons[position]
    if reason.kind is ReasonKind.TEXT:
        return reason.text
    before = f"{waived_text(gate.waived)}: " if gate.waived and not position else ""
    limit = _OF_LIMITS.get(reason.kind)
    name = f"{gate.metric} ({gate.meaning})" if plain and not before else gate.metric
    body = limit(reason, gate) if limit else _other(reason, gate, name)
    noise = reason.corrected_for > 0 and reason.state is EvidenceState.INCONCLUSIVE
    return before + body + (f", corrected for {reason.corrected_for} segments" if noise else "")


def _threshold(reason: Reason, gate: GateResult) -> str:
    """`recall@5 is 84.1%, below the floor of 85.0%`, and what the interval adds where it decides or casts doubt."""
    counted = gate.counted if reason.ruling is not Ruling.HOLDS else None
    value, ci = (counted.value, counted.ci) if counted else (gate.value or 0.0, gate.ci)
    threshold, unit = gate.threshold or 0.0, gate.unit
    decimals = max(telling_decimals(value, threshold, unit), exact_decimals(threshold, unit))
    limit = limit_word(gate.direction)
    equal = abs(value - threshold) <= TOLERANCE
    side = "exactly at" if equal else "above" if value > threshold else "below"
    now, bound = value_text(value, unit, decimals), value_text(threshold, unit, decimals)
    spread = _spread(gate, interval_text(ci, unit))
    unproven, noise = f", not proven to hold the {limit}{spread}", f", within noise{spread}"
    gained = counted is not None and value != gate.value
    gain, verb = ("; a gain that only the judge has seen does not count", "counts as") if gained else ("", "is")
    doubt = _doubt(reason, gate, unproven, noise)
    return f"{gate.metric} {verb} {now}, {side} the {limit} of {bound}{doubt}{gain}"


def _regression(reason: Reason, gate: GateResult) -> str:
    """`recall@5 dropped from 87.0% to 81.2% (−5.8 pp; allowed drop: 3.0 pp)`, and what the interval adds."""
    unit, delta, most = gate.unit, gate.delta or 0.0, gate.regression_max or 0.0
    value, baseline, higher = gate.paired_value or 0.0, gate.baseline or 0.0, gate.direction is Direction.HIGHER
    allowed = -most if higher else most
    decimals = max(
        exact_decimals(allowed, unit),
        telling_decimals(delta, allowed, unit),
        telling_decimals(delta, 0.0, unit),
        telling_decimals(value, baseline, unit),
    )
    before, now = (value_text(each, unit, decimals) for each in (baseline, value))
    on_pairs = f" on the {count_text(gate.n_pairs, 'question')} of both runs" if gate.n_pairs != gate.n else ""
    verb, harm = "dropped" if delta < 0 else "rose", harm_word(gate.direction)
    still = abs(delta) <= TOLERANCE
    better = (delta >= 0) == higher and not still
    # For the better no limit applies, unless it must be proven that it holds.
    limited = not (better and reason.ruling is Ruling.HOLDS)
    change = f"stayed at {now}" if still else f"{verb} from {before} to {now}"
    limit = f"allowed {harm}: {size_text(allowed, unit, decimals)}" if allowed else f"no {harm} allowed"
    stands = f"{change}{on_pairs} ({delta_text(delta, unit, decimals)}{f'; {limit}' if limited else ''})"
    spread = _spread(gate, interval_text(gate.delta_ci, unit, change=True))
    unproven, noise = f", a larger {harm} is not ruled out{spread}", f", within noise{spread}"
    return f"{gate.metric} {stands}{_doubt(reason, gate, unproven, noise)}"


def _traffic(reason: Reason, gate: GateResult) -> str:
    """`precision@5 over traffic fell by 6.2 pp (95%: −9.1 to −3.3 pp; allowed drop: 3.0 pp), by 38 labelled questions`.

    Or why that is not known, or need not be.
    """
    unit, delta, allowed = gate.unit, gate.delta or 0.0, size_text(gate.regression_max or 0.0, gate.unit)
    if reason.state is EvidenceState.NO_INTERVAL:
        missing = f"labels of {reason.count:,} of {count_text(reason.limit, 'drawn question')} are missing"
        return f"{gate.metric} is not measured: {missing} (`rankgate gold pool --traffic --n 40`)"
    if not reason.among:
        most = size_text(reason.at_worst or 0.0, unit)
        return f"{gate.metric} can lose {most} at most, whatever further labels say (allowed drop: {allowed})"
    verb = "fell" if delta < 0 else "rose"
    change = f"{verb} by {size_text(delta, unit)}" if abs(delta) > TOLERANCE else "stayed"
    spread = f"{confidence_text(gate.confidence)}: {interval_text(gate.delta_ci, unit, change=True)}"
    noise = ", within noise" if reason.state is EvidenceState.INCONCLUSIVE else ""
    drawn = count_text(reason.among, "drawn question")
    by = f"{reason.count:,} of {drawn}" if reason.count < reason.among else drawn
    return f"{gate.metric} {change} ({spread}; allowed drop: {allowed}){noise}, by labels of {by}"


def _spread(gate: GateResult, interval: str) -> str:
    """The interval, or else the exact test, in brackets."""
    proof = f"p = {gate.exact.p:.2g}" if gate.exact else ""
    return f" ({confidence_text(gate.confidence)}: {interval})" if interval else f" ({proof})"


def _doubt(reason: Reason, gate: GateResult, unproven: str, noise: str) -> str:
    """What the data leave open; of what violates by its estimate that is noise, of what must be proven safe, harm."""
    safety, doubt = gate.evidence is Evidence.PROVEN_SAFE, ""
    if reason.state is EvidenceState.NO_INTERVAL:
        units = "clusters" if reason.clusters else "questions"
        doubt = f", with too few {units} to {'prove that it holds' if safety else 'tell it from noise'}"
    elif reason.state is EvidenceState.INCONCLUSIVE:
        doubt = unproven if reason.ruling is Ruling.VIOLATED and safety else noise
    stateless = f"{count_text(reason.count, 'question')} {'has' if reason.count == 1 else 'have'} no value"
    is_value = reason.kind is ReasonKind.THRESHOLD
    if reason.at_worst is None:
        return f"{doubt}; {stateless}" if is_value and reason.count else doubt
    worst = value_text(reason.at_worst, gate.unit) if is_value else delta_text(reason.at_worst, gate.unit)
    what = "it" if is_value else "the change"
    if reason.need is RunField.VERDICTS:
        answers = count_text(reason.count, "answer")
        counts = "which counts as wrong" if reason.count == 1 else "which count as wrong"
        counts = f"{counts}: so" if reason.ruling is Ruling.VIOLATED else "and with the worst verdict there"
        return f"{doubt}; {answers} could not be judged, {counts} {what} is {worst}"
    lacking = stateless if is_value else f"only the baseline has a value for {count_text(reason.count, 'question')}"
    if abs(reason.at_worst) > BEYOND / 2:
        limit = limit_word(gate.direction) if is_value else f"allowed {harm_word(gate.direction)}"
        return f"; {lacking}, and the {limit} does not hold if that is worse than any other"
    return f"; {lacking}, and with the worst value there {what} is {worst}"


def _no_verdict(reason: Reason, gate: GateResult, of: str) -> str:
    """What lacks a judge's word, why, and what to do: what it failed at is kept until it is asked again."""
    failed = {kind: count for kind, count in reason.kinds.items() if kind.lasts}
    why, count = ", ".join(f"{count:,} {UNJUDGED_WORDS[kind]}" for kind, count in failed.items()), sum(failed.values())
    of = f"{of} in the {reason.source}"
    if reason.need is RunField.ANSWER:
        return f"{of} have no `answer`, which {gate.metric} needs; state it, an empty one where there is none"
    if count >= reason.count:
        return f"the judge failed at {of} ({why}), which {gate.metric} needs; run `rankgate judge --again`"
    missing = f"no judge's verdicts for {of}, which {gate.metric} needs"
    if count:
        return f"{missing}: it failed at {count:,} ({why}); run `rankgate judge --again`"
    cause = "the judge was not asked"
    if gate.judge and gate.judge.id in reason.names:
        cause = "those at hand are on other answers or passages"
    elif reason.names:
        cause = (
            f"those at hand are by another judge ({' and '.join(reason.names)}), of another model, settings or prompts"
        )
    return f"{missing}: {cause}; run `rankgate judge`"


def _other_judge(reason: Reason, gate: GateResult, begin: str) -> str:
    """Which judges two runs rest on, and for verdicts of our own what makes them comparable."""
    by_ours = gate.by_judge and reason.kind is ReasonKind.OTHER_JUDGE
    if not by_ours or not reason.names or not all(reason.names):
        return f"{begin}the two runs do not name the same judge"
    run, baseline = (shown(name) for name in reason.names)
    return f"{begin}the judge was {run} now and {baseline} then; `rankgate judge` judges the baseline's answers again"


def _other(reason: Reason, gate: GateResult, name: str) -> str:
    """What is no limit; `name` is what the metric is called where the sentence begins with it."""
    metric, of = gate.metric, f"{reason.count:,} of {count_text(reason.among, 'question')}"
    queries = count_text(reason.count, "question")
    fails = count_text(reason.count, "must-pass question fails", "must-pass questions fail")
    texts = {
        ReasonKind.NO_BASELINE: f"no baseline: {metric} compares with it"
        if gate.value is None
        else f"no baseline: whether {metric} got worse could not be checked",
        ReasonKind.NOT_STATED: f"the baseline states no `{reason.need and reason.need.value}`, which {metric} reads; "
        "accept its run again",
        ReasonKind.FOREIGN_BASELINE: f"whether {metric} got worse could not be checked: the baseline's lists hold ids "
        "that the gold set does not know; accept a run of today's ids",
        ReasonKind.NOT_IN_BASELINE: f"the baseline has {metric} for none of the questions that are scored now",
        ReasonKind.OTHER_JUDGE: _other_judge(reason, gate, f"{name} is not comparable with the baseline: for {of} "),
        ReasonKind.MISSING: f"{name} is missing (no value, null or NaN) for {of} in the {reason.source}; "
        + ("accept a run that states it" if reason.source == "baseline" else "state it, or allow more: `max_unjudged`")
        if reason.need is not RunField.OFFSETS
        else f"{name} has no value for {of}, since the {reason.source} shows another text where their passages should "
        "stand; correct the spans (`rankgate gold anchor` lists them), or allow more: `max_unjudged`",
        ReasonKind.NO_VERDICT: _no_verdict(reason, gate, of),
        ReasonKind.AWAITS_LABEL: f"{name} is waiting for the label `{ACCEPT_RANKINGS}`: {of} have answers that are not "
        "judged before",
        ReasonKind.AWAITS_MERGE: f"{name} is judged once this is merged: the base has no `judge:` yet",
        ReasonKind.UNDEFINED: f"{name} is defined for none of the {queries}",
        ReasonKind.NOT_FINITE: f"{name} is not a finite number for every question",
        ReasonKind.ABSENT: f"{count_text(reason.count, 'question is', 'questions are')} absent from the run and not "
        f"counted in {metric}",
        ReasonKind.ONE_SIDED: f"{count_text(reason.count, 'question has', 'questions have')} {metric} in only one of "
        "the two runs",
        ReasonKind.UNJUDGED: unjudged_text(gate),
        ReasonKind.GIVEN: "of answered_rate only empty, missing and declared answers count, which needs no judge: "
        + advisory_text("answered_rate", gate.judge)
        + (f"; the judge finds {count_text(reason.count, 'further refusal')}" if reason.count else ""),
        ReasonKind.ADVISORY: f"advisory: {advisory_text(gate.metric, gate.judge)}",
        ReasonKind.MUST_PASS: f"{fails}: {metric} {'has no value' if reason.source else 'is at its worst'} there",
        ReasonKind.LOST: f"{count_text(reason.count, 'question was', 'questions were')} lost in {metric}; at most "
        f"{reason.limit} allowed",
        ReasonKind.TOO_SMALL: f"{queries}, fewer than the {reason.limit} that a segment needs to be judged",
    }
    return texts[reason.kind]


_OF_LIMITS = {
    ReasonKind.THRESHOLD: _threshold,
    ReasonKind.REGRESSION: _regression,
    ReasonKind.TRAFFIC: _traffic,
}
