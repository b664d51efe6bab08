"""The sentence of each reason for which a gate passed, warned or failed: its kind and the gate's numbers in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rankgate.errors import Problem
from rankgate.model.base_ref import ACCEPT_RANKINGS
from rankgate.model.gate_result import GateResult, Waived
from rankgate.model.values import (
    BEYOND,
    TOLERANCE,
    WARNING_LEVEL,
    Direction,
    Evidence,
    EvidenceState,
    Reason,
    ReasonKind,
    Ruling,
    RunField,
    Verdict,
)
from rankgate.model.wording import (
    confidence_text,
    count_text,
    delta_text,
    distinguishing_decimals,
    harm_word,
    interval_text,
    limit_decimals,
    limit_word,
    size_text,
    value_text,
)

# What needs no more than a count: `name` is what the metric is called where the sentence begins with it.
_SENTENCES = {
    ReasonKind.NOT_STATED: "the baseline states no `{need}`, which {metric} reads; accept its run again",
    ReasonKind.FOREIGN_BASELINE: "whether {metric} got worse is unknown: the baseline's lists hold ids that the gold "
    "set lacks; accept a run of today's ids",
    ReasonKind.NOT_IN_BASELINE: "the baseline has {metric} for none of the questions that are scored now; accept a run "
    "that has it",
    ReasonKind.AWAITS_LABEL: f"{{name}} is waiting for the label `{ACCEPT_RANKINGS}`: {{of}} have answers that are not "
    "judged before",
    ReasonKind.AWAITS_MERGE: "{name} is judged once this is merged: the base has no `judge:` yet",
    ReasonKind.UNDEFINED: "{name} is defined for none of the {questions}",
    ReasonKind.NOT_FINITE: "{name} is not a finite number for every question",
    ReasonKind.ABSENT: "{questions} {are} absent from the run and not counted in {metric}",
    ReasonKind.ONE_SIDED: "{questions} {have} {metric} in only one of the two runs",
    ReasonKind.LOST: "{questions} {were} lost in {metric}; at most {limit} allowed",
    ReasonKind.TOO_SMALL: "{questions}, fewer than the {limit} that a segment needs to be judged",
}


def sentences(gate: GateResult) -> list[str]:
    """The gate's reasons in their order, as sentences without a full stop."""
    return [_sentence(gate, position, gate.metric) for position in range(len(gate.decision.reasons))]


def plain_sentence(gate: GateResult) -> str:
    """The first reason with what the metric means, where that is no limit: of limits the conclusion speaks.

    Of a value that is missing it matters little what it would mean.
    """
    named_alone = gate.decision.waived or gate.decision.reasons[0].kind is ReasonKind.MISSING
    return _sentence(gate, 0, gate.metric if named_alone else f"{gate.metric} ({gate.meaning})")


def problems_of(results: Sequence[GateResult], criteria: str | None) -> list[Problem]:
    """Why gates of the criteria of this name could not be judged."""
    problems: list[Problem] = []
    for gate in results:
        if gate.verdict is Verdict.NOT_JUDGED:
            where = f"gate {gate.name}" + ("" if gate.segment is None else f" in {gate.segment}")
            problems += [Problem(text, criteria, gate.line, where) for text in sentences(gate)]
    return problems


def waived_text(waived: Waived) -> str:
    """How long a violation is let pass."""
    return f"waived until {waived.expires}"


def beyond_noise_text() -> str:
    """Why what is not proven warns all the same."""
    return f"noise alone does so in less than {WARNING_LEVEL:.0%} of checks"


def unjudged_text(gate: GateResult) -> str:
    """What documents that nobody has judged can make of a change, and what to do."""
    known = gate.evidence.unjudged
    wrong = delta_text(known.get("wrong", gate.change.delta or 0.0), gate.unit)
    relevant = delta_text(known.get("relevant", 0.0), gate.unit)
    condensed = delta_text(known.get("condensed", 0.0), gate.unit)
    judged, judged_before = known.get("judged", 0.0), known.get("judged_before", 0.0)
    change = f"the change is {wrong} if the others are wrong, {relevant} if right, {condensed} without them"
    if "labelled" in known:
        low = delta_text(known["labels_wrong"], gate.unit)
        high = delta_text(known["labels_relevant"], gate.unit)
        span = low if low == high else f"from {low} to {high}"
        change += f"; with the judge's labels, which leave {1 - known['labelled']:.0%} open, it is {span}"
    shares = f"{judged:.0%} of the first results, {judged_before:.0%} of the baseline's"
    return f"{gate.metric} rests on judgments of {shares}: {change}; rankgate gold pool lists what to label"


def _sentence(gate: GateResult, position: int, name: str) -> str:
    reason = gate.decision.reasons[position]
    before = f"{waived_text(gate.decision.waived)}: " if gate.decision.waived and not position else ""
    worded = _WORDED.get(reason.kind)
    body = worded(reason, gate, name) if worded else _counted(reason, gate, name)
    if reason.corrected_for > 0 and reason.state is EvidenceState.INCONCLUSIVE:
        body += f", corrected for {reason.corrected_for} segments"
    return before + body


def _counted(reason: Reason, gate: GateResult, name: str) -> str:
    one = reason.count == 1
    return _SENTENCES[reason.kind].format(
        name=name,
        metric=gate.metric,
        need=reason.need and reason.need.value,
        questions=count_text(reason.count, "question"),
        of=_of_questions(reason),
        are="is" if one else "are",
        have="has" if one else "have",
        were="was" if one else "were",
        limit=reason.limit,
    )


def _of_questions(reason: Reason) -> str:
    """`3 of 1,200 questions`."""
    return f"{reason.count:,} of {count_text(reason.among, 'question')}"


def _threshold(reason: Reason, gate: GateResult, _: str) -> str:
    """`recall@5 is 84.1%, below the floor of 85.0%`, and what the interval adds where it decides or casts doubt.

    Where it does not hold, the value is the one that counts, without a gain that only the judge has seen.
    """
    counted = gate.measured.counted if reason.ruling is not Ruling.HOLDS else None
    value = counted.value if counted else gate.measured.value or 0.0
    threshold = gate.limits.threshold or 0.0
    unit = gate.unit
    decimals = limit_decimals(threshold, value, unit)
    where = "above" if value > threshold else "below"
    if abs(value - threshold) <= TOLERANCE:
        where = "exactly at"
    limit = limit_word(gate.direction)
    interval = interval_text(counted.ci if counted else gate.measured.ci, unit)
    doubt = _doubt(reason, gate, f"not proven to hold the {limit}", interval)
    verb = "is"
    uncounted_gain = ""
    if counted and value != gate.measured.value:
        verb = "counts as"
        uncounted_gain = "; a gain that only the judge has seen does not count"
    now = value_text(value, unit, decimals)
    floor = value_text(threshold, unit, decimals)
    return f"{gate.metric} {verb} {now}, {where} the {limit} of {floor}{doubt}{uncounted_gain}"


def _regression(reason: Reason, gate: GateResult, _: str) -> str:
    """`recall@5 dropped from 87.0% to 81.2% (−5.8 pp; allowed drop: 3.0 pp)`, and what the interval adds."""
    unit = gate.unit
    delta = gate.change.delta or 0.0
    harm = harm_word(gate.direction)
    value, baseline = gate.change.paired_value or 0.0, gate.change.baseline or 0.0
    allowed = gate.limit or 0.0
    decimals = max(
        limit_decimals(allowed, delta, unit),
        distinguishing_decimals(delta, 0.0, unit),
        distinguishing_decimals(value, baseline, unit),
    )
    now = value_text(value, unit, decimals)
    still = abs(delta) <= TOLERANCE
    verb = "dropped" if delta < 0 else "rose"
    change = f"stayed at {now}" if still else f"{verb} from {value_text(baseline, unit, decimals)} to {now}"
    if gate.change.n_pairs != gate.measured.n:
        change += f" on the {count_text(gate.change.n_pairs, 'question')} of both runs"
    size = delta_text(delta, unit, decimals)
    # For the better no limit applies, unless it must be proven that it holds.
    better = not still and (delta >= 0) == (gate.direction is Direction.HIGHER)
    if not better or reason.ruling is not Ruling.HOLDS:
        size += f"; allowed {harm}: {size_text(allowed, unit, decimals)}" if allowed else f"; no {harm} allowed"
    doubt = _doubt(
        reason, gate, f"a larger {harm} is not ruled out", interval_text(gate.change.delta_ci, unit, change=True)
    )
    return f"{gate.metric} {change} ({size}){doubt}"


def _traffic(reason: Reason, gate: GateResult, _: str) -> str:
    """`precision@5 over traffic fell by 6.2 pp (95%: −9.1 to −3.3 pp; allowed drop: 3.0 pp), by 38 labelled questions`.

    Or why that is not known, or need not be.
    """
    unit = gate.unit
    delta = gate.change.delta or 0.0
    allowed = f"allowed drop: {size_text(gate.limits.regression_max or 0.0, unit)}"
    if reason.state is EvidenceState.NO_INTERVAL:
        missing = f"labels of {reason.count:,} of {count_text(reason.limit, 'drawn question')} are missing"
        return f"{gate.metric} is not measured: {missing} (`rankgate gold pool --traffic --n 40`)"
    if not reason.among:
        most = size_text(reason.at_worst or 0.0, unit)
        return f"{gate.metric} can lose {most} at most, whatever further labels say ({allowed})"
    change = "stayed"
    if abs(delta) > TOLERANCE:
        change = f"{'fell' if delta < 0 else 'rose'} by {size_text(delta, unit)}"
    spread = f"{confidence_text(gate.limits.confidence)}: {interval_text(gate.change.delta_ci, unit, change=True)}"
    noise = ", within noise" if reason.state is EvidenceState.INCONCLUSIVE else ""
    drawn = count_text(reason.among, "drawn question")
    if reason.count < reason.among:
        drawn = f"{reason.count:,} of {drawn}"
    return f"{gate.metric} {change} ({spread}; {allowed}){noise}, by labels of {drawn}"


def _doubt(reason: Reason, gate: GateResult, unproven: str, interval: str) -> str:
    """What the data leave open; of what violates by its estimate that is noise, of what must be proven safe, harm."""
    must_be_safe = gate.limits.evidence is Evidence.PROVEN_SAFE
    doubt = ""
    if reason.state is EvidenceState.NO_INTERVAL:
        units = "clusters" if reason.clusters else "questions"
        doubt = f", with too few {units} to {'prove that it holds' if must_be_safe else 'tell it from noise'}"
    elif reason.state is EvidenceState.INCONCLUSIVE:
        # The exact test stands where there is no interval.
        proof = f"p = {gate.change.exact.p:.2g}" if gate.change.exact else ""
        spread = f"{confidence_text(gate.limits.confidence)}: {interval}" if interval else proof
        harm = unproven if reason.ruling is Ruling.VIOLATED and must_be_safe else "within noise"
        if reason.beyond_noise:
            harm = "not proven"
        doubt = f", {harm} ({spread})"
        doubt += f", but {beyond_noise_text()}" if reason.beyond_noise else ""
    of_value = reason.kind is ReasonKind.THRESHOLD
    if reason.at_worst is not None:
        return _with_the_worst(reason, gate, reason.at_worst, doubt)
    return f"{doubt}; {_without_value(reason)}" if of_value and reason.count else doubt


def _with_the_worst(reason: Reason, gate: GateResult, at_worst: float, doubt: str) -> str:
    """What becomes of the value or the change where what is missing has the worst value."""
    of_value = reason.kind is ReasonKind.THRESHOLD
    what = "it is" if of_value else "the change is"
    worst = value_text(at_worst, gate.unit) if of_value else delta_text(at_worst, gate.unit)
    if reason.need is RunField.VERDICTS:
        answers = count_text(reason.count, "answer")
        counts = "and with the worst verdict there"
        if reason.ruling is Ruling.VIOLATED:
            counts = "which counts as wrong: so" if reason.count == 1 else "which count as wrong: so"
        return f"{doubt}; {answers} could not be judged, {counts} {what} {worst}"
    lacking = f"only the baseline has a value for {count_text(reason.count, 'question')}"
    limit = f"allowed {harm_word(gate.direction)}"
    if of_value:
        lacking = _without_value(reason)
        limit = limit_word(gate.direction)
    if abs(at_worst) > BEYOND / 2:
        return f"; {lacking}, and the {limit} does not hold if that is worse than any other"
    return f"; {lacking}, and with the worst value there {what} {worst}"


def _without_value(reason: Reason) -> str:
    return f"{count_text(reason.count, 'question')} {'has' if reason.count == 1 else 'have'} no value"


def _no_baseline(_: Reason, gate: GateResult, __: str) -> str:
    if gate.measured.value is None:
        return f"no baseline: {gate.metric} compares with it"
    return f"no baseline: whether {gate.metric} got worse could not be checked"


def _missing(reason: Reason, gate: GateResult, name: str) -> str:
    of = _of_questions(reason)
    if reason.need is RunField.OFFSETS:
        return (
            f"{name} has no value for {of}, since the {reason.source} shows another text where their passages should "
            "stand; correct the spans (`rankgate gold anchor` lists them), or raise `max_unjudged`"
        )
    remedy = "state it, or raise `max_unjudged`"
    if reason.source == "baseline":
        remedy = "accept a run that states it"
    elif reason.count == reason.among and gate.segment is None:
        remedy = "state it, or correct its name"
    return f"{name} is missing (absent, null or NaN) for {of} in the {reason.source}; {remedy}"


def _must_pass(reason: Reason, gate: GateResult, _: str) -> str:
    fails = count_text(reason.count, "must-pass question fails", "must-pass questions fail")
    return f"{fails}: {gate.metric} {'has no value' if reason.source else 'is at its worst'} there"


def _unjudged(_: Reason, gate: GateResult, __: str) -> str:
    return unjudged_text(gate)


def _by_judge(reason: Reason, gate: GateResult, name: str) -> str:
    from rankgate.model import judge_words  # noqa: PLC0415 -- paid only where answers are judged

    if reason.kind is ReasonKind.ADVISORY:
        return f"advisory: {judge_words.advisory_text(gate.metric, gate.judge)}"
    if reason.kind is ReasonKind.GIVEN:
        counts = "of answered_rate only empty, missing and declared answers count, which needs no judge"
        further = f"; the judge finds {count_text(reason.count, 'further refusal')}" if reason.count else ""
        return f"{counts}: {judge_words.advisory_text('answered_rate', gate.judge)}{further}"
    of = _of_questions(reason)
    if reason.kind is ReasonKind.NO_VERDICT:
        return judge_words.no_verdict_text(reason, gate, of)
    return f"{name} is not comparable with the baseline: for {of} {judge_words.other_judge_text(reason, gate)}"


_WORDED: Mapping[ReasonKind, Callable[[Reason, GateResult, str], str]] = {
    ReasonKind.THRESHOLD: _threshold,
    ReasonKind.REGRESSION: _regression,
    ReasonKind.TRAFFIC: _traffic,
    ReasonKind.NO_BASELINE: _no_baseline,
    ReasonKind.MISSING: _missing,
    ReasonKind.MUST_PASS: _must_pass,
    ReasonKind.UNJUDGED: _unjudged,
    ReasonKind.OTHER_JUDGE: _by_judge,
    ReasonKind.NO_VERDICT: _by_judge,
    ReasonKind.GIVEN: _by_judge,
    ReasonKind.ADVISORY: _by_judge,
}
