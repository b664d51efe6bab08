"""What a judge's word is worth and what lacks it, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.errors import shown
from rankgate.model.answers import (
    LABELLED,
    MIN_ANSWERS,
    MIN_CLUSTERS,
    MIN_RARER,
    OF_FLOORS,
    SEES_LITTLE,
    Advisory,
    GateJudge,
    Stage,
    UnjudgedKind,
    has_labels,
)
from rankgate.model.gate_result import GateResult
from rankgate.model.values import Reason, ReasonKind, RunField, Unit
from rankgate.model.wording import count_text, value_text

# Why answers have no verdict, after their number: `5 cut off by length`.
UNJUDGED_WORDS = {
    UnjudgedKind.NO_JSON: "without JSON",
    UnjudgedKind.SCHEMA: "in another form than requested",
    UnjudgedKind.NUMBERING: "with missing or surplus verdicts",
    UnjudgedKind.UNKNOWN_PASSAGE: "naming a passage that is not there",
    UnjudgedKind.CONTRADICTION: "contradicting itself",
    UnjudgedKind.LENGTH: "cut off by length",
    UnjudgedKind.CONTENT_FILTER: "refused by a content filter",
    UnjudgedKind.EMPTY: "empty",
    UnjudgedKind.CONTEXT_TOO_LONG: "too long for the model",
    UnjudgedKind.NO_VERDICT: "not asked yet",
    UnjudgedKind.HTTP_STATUS: "refused by the endpoint",
    UnjudgedKind.ENVELOPE: "in no form of such an endpoint",
    UnjudgedKind.UNREACHABLE: "without any response",
    UnjudgedKind.BUDGET: "beyond the budget",
    UnjudgedKind.INTERRUPTED: "interrupted",
}

# Where to look for what made an answer worse, and what is known of it; by None where that is nothing.
STAGE_WORDS: dict[Stage | None, tuple[str, str]] = {
    Stage.RETRIEVAL: ("retrieval", "the passages say less than before of what a right answer must say"),
    Stage.REFUSAL: ("refusal", "the answer asserted something before, and asserts nothing now"),
    Stage.GENERATOR: ("generator", "the passages say as much as before of what a right answer must say"),
    None: ("worse", "no verdicts tell whether retrieval or the generator is at fault"),
}

_ADVICE = {
    Advisory.FILE: "no person has checked this judge; labels on 200 answers would do (`rankgate judge sample`)",
    Advisory.JUDGE: "people have checked another judge; repeat `rankgate judge calibrate` with this one",
    Advisory.AGE: "people have checked this judge too long ago; repeat `rankgate judge calibrate`",
    Advisory.AHEAD: "the calibration of this judge is dated in the future; repeat `rankgate judge calibrate`",
    Advisory.METRIC: "people's labels say nothing of {name}",
    Advisory.QUERIES: "people have labelled a run that has less than half of these questions",
    Advisory.SEGMENT: "people have not drawn labels for each segment, so that its floor is the judge's own",
    Advisory.CLUSTERS: f"people have labelled answers of fewer than {MIN_CLUSTERS} clusters, too few for a floor",
    Advisory.LABELS: "people have labelled {answers}, of which {rarer:,} have the rarer verdict; "
    f"{MIN_ANSWERS} and {MIN_RARER} are needed",
    Advisory.CANNOT_TELL: "the judge {never} tell right from wrong: it may see {sees}",
    Advisory.WEAK: f"the judge may see {{sees}}, and more than {SEES_LITTLE:.0%} is needed",
}


def advisory_text(name: str, judge: GateJudge | None) -> str:
    """Why what a judge says of a metric only warns; empty where all that it says counts."""
    if judge is None or judge.reason is None:
        return ""
    advice = _ADVICE[judge.reason]
    if judge.reason is Advisory.METRIC and not has_labels(name):
        advice += f", only of {', '.join(LABELLED)} and rubrics: gate one of these"
    labels = judge.labels
    slope = judge.j
    return advice.format(
        name=name,
        answers=count_text(labels.answers if labels else 0, "answer"),
        rarer=labels.rarer if labels else 0,
        never="cannot" if slope and slope.high <= SEES_LITTLE else "may not",
        sees=f"as little as {max(slope.low, 0.0):.0%} of a difference in {name}" if slope else f"nothing in {name}",
    )


def limits_text(judge: GateJudge) -> tuple[str, str]:
    """The limits that may block and those that only warn, where some of a gate's do."""
    return ("drops", "floors") if judge.reason in OF_FLOORS else ("floors", "drops")


def labels_text(name: str, judge: GateJudge) -> str:
    """What a gate on a metric may do by people's labels, and what more of them would change."""
    why = advisory_text(name, judge)
    if not why:
        return "floors and drops may block"
    may = "warns at most"
    if judge.counts:
        blocking, warning = limits_text(judge)
        may = f"{blocking} may block, {warning} warn at most"
    if name == "answered_rate":
        may = f"empty, missing and declared answers may block; for refusals in words: {may}"
    labels = judge.labels
    if judge.reason not in (Advisory.LABELS, Advisory.CANNOT_TELL, Advisory.WEAK) or labels is None:
        return f"{may}; {why}"
    needed = labels.needed(judge.j)
    hopeless = judge.j is not None and judge.j.high <= SEES_LITTLE
    if not labels.rarer:
        more = "Draw a larger sample"
    elif needed:
        more = f"About {needed:,} labelled answers would do"
    else:
        help_at_all = "will" if hopeless else "may"
        more = f"More labels {help_at_all} not help: fix the rule of labelling, or change the judge"
    if labels.among and (needed or labels.answers + 1) > labels.among and not hopeless:
        more = f"{more}; this run has {count_text(labels.among, 'answer')}, so that it takes a larger one"
    return f"{may}; {why}. {more}"


def stage_finding(stage: Stage, numbers: Mapping[str, Any]) -> str:
    """Where answers got worse by a metric, from the evidence of the finding, without a full stop."""
    label, clause = STAGE_WORDS[stage]
    worse, at_stage = numbers["worse"], numbers[stage.value]
    those = "the one question"
    if worse > 1:
        those = f"all {worse:,} questions" if at_stage == worse else f"{at_stage:,} of the {worse:,} questions"
    recalls = [numbers[key] for key in ("context_recall_before", "context_recall") if key in numbers]
    recall = ""
    if recalls and stage is not Stage.REFUSAL:
        recall = f" (context_recall {' → '.join(value_text(each, Unit.SHARE) for each in recalls)})"
    return f"{label}: for {those} that got worse in {numbers['metric']}, {clause}{recall}"


def no_verdict_text(reason: Reason, gate: GateResult, of: str) -> str:
    """What lacks a judge's word, why, and what to do: what it failed at is kept until it is asked again."""
    of = f"{of} in the {reason.source}"
    if reason.need is RunField.ANSWER:
        return f"{of} have no `answer`, which {gate.metric} needs; state it, an empty one where there is none"
    failed = {kind: count for kind, count in reason.kinds.items() if kind.lasts}
    why = ", ".join(f"{count:,} {UNJUDGED_WORDS[kind]}" for kind, count in failed.items())
    failures = sum(failed.values())
    if failures >= reason.count:
        return f"the judge failed at {of} ({why}), which {gate.metric} needs; run `rankgate judge --again`"
    missing = f"{gate.metric} lacks verdicts for {of}"
    if failures:
        return f"{missing}: the judge failed at {failures:,} ({why}); run `rankgate judge --again`"
    cause = "the judge was not asked"
    if gate.judge and gate.judge.id in reason.names:
        cause = "those at hand are on other answers or passages"
    elif reason.names:
        names = " and ".join(reason.names)
        cause = f"those at hand are by another judge ({names})"
    return f"{missing}: {cause}; run `rankgate judge`"


def other_judge_text(reason: Reason, gate: GateResult) -> str:
    """Which judges two runs rest on, and for verdicts of our own what makes them comparable."""
    by_ours = gate.by_judge and reason.kind is ReasonKind.OTHER_JUDGE
    if not by_ours or not reason.names or not all(reason.names):
        return "the two runs do not name the same judge"
    run, baseline = (shown(name) for name in reason.names)
    return f"the judge was {run} now and {baseline} then; `rankgate judge` judges the baseline's answers again"
