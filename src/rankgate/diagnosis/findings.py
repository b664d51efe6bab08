"""What to look at first: a cause where the lists prove one, else what is known of what got worse. Pure."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from rankgate.diagnosis import causes
from rankgate.diagnosis.causes import LEVEL, SAYS, STALE, Explanation, Losses, fell, floor_broken, of_list, speaks
from rankgate.diagnosis.listings import RunLists
from rankgate.diagnosis.movements import first_k
from rankgate.metrics.base import Cutoff, Kind, Metric
from rankgate.metrics.comparison import Comparison, compare, on_rows, paired_scores
from rankgate.metrics.gaps import baseline_column
from rankgate.metrics.tags import MIN_SHARE, TagShare, common_tags, in_segment, part_names
from rankgate.model.details import Cause
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Diagnosis, Report
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Sample, Unit, Verdict
from rankgate.model.wording import count_text, delta_text, first_text, in_first_text
from rankgate.statistics.binomial import at_least
from rankgate.statistics.saddlepoint import difference_interval

ONE_STAGE = 0.7  # of the time, or of its rise
NEARLY_ALL = 0.8  # of the questions that got worse: what is known of fewer is no cause
MAX_FLOORS = 3  # findings about floors
KNOWN, NO_RESULTS = "known", "no_results"  # rules of what is known, without a cause
ONE_TAG = "one_tag"
RISING, COUNTS = "rising_scores", "counts"
AT_MOST = 0.5  # of the gold set: a tag that more have says nothing of the questions that got worse
_STAGES = ("retrieve", "rerank")
# What became of the questions, of one or of many.
_KNOWN = {
    Cause.NO_RESULT: "return{s} no results now",
    Cause.GONE: "{have} lost a relevant document, which was {in_first} and is in no list now",
    Cause.LOWER: "still list{s} {their} relevant documents, but one fell below {first}",
    Cause.FINE: "{have} {their} relevant documents {in_first} as before, but score{s} lower",
}
# The same where each of these holds for some questions.
_COUNTED = {
    Cause.NO_RESULT: "return{s} no results now",
    Cause.GONE: "{have} lost a relevant document from the list",
    Cause.LOWER: "still list{s} one that fell below {first}",
}
_KINDS_OF_MISS = {"no_result": "without a result", "gone": "without it in the list", "lower": "with it below {first}"}
# Of questions whose text the pull request changed or removed.
_UNANSWERED = "{are} not answered: the run states no text, or another one, in {their} line{s_of_many}"
_ABSENT = "{are} absent from the run"
_ONE = {"s": "s", "their": "its", "have": "has", "are": "is", "s_of_many": ""}
_MANY = {"s": "", "their": "their", "have": "have", "are": "are", "s_of_many": "s"}


def diagnose(
    gold: Gold,
    metrics: Sequence[Metric],
    results: Sequence[GateResult],
    candidate: Scores,
    baseline: Scores | None,
    lists: RunLists,
) -> list[Diagnosis]:
    """What holds, the most telling first: by the verdict of the gate that it explains, a cause before what is known.

    Findings are about the `results` over all queries, of gates on these metrics. Where none is of a drop, as without a
    baseline, they are about broken floors, also of segments. The lists are
    read only where something proven is explained. Values without lists have no cause.
    """
    if not (candidate.listed and (baseline is None or baseline.listed)):
        return []
    by_name = {metric.name: metric for metric in metrics}
    by_rule: dict[str, Diagnosis] = {}
    overall = [gate for gate in results if gate.segment is None]
    for gate in sorted(filter(fell, overall), key=lambda gate: (not speaks(gate), gate.verdict is not Verdict.FAIL)):
        metric = by_name[gate.metric]
        findings: Sequence[Diagnosis] = ()
        if baseline and of_list(metric):
            losses = causes.losses_of(gate, metric, gold, candidate, baseline)
            findings = _of_lists(losses, causes.explain(losses, *lists.detailed) if losses.proven else None)
        elif baseline and speaks(gate) and metric.kind is Kind.LATENCY:
            findings = _latency(gate, metric, candidate, baseline)
        elif baseline and gate.by_judge and speaks(gate):
            from rankgate.diagnosis.answers import stage_found  # noqa: PLC0415 -- paid only where answers are judged

            findings = stage_found(metric, candidate, baseline)
        for each in findings:
            # A gate may hold by limits that are wide: gold ids that nobody returns are worth a warning all the same.
            if speaks(gate) or each.rule == STALE:
                by_rule.setdefault(each.rule, each)
    if by_rule:
        return list(by_rule.values())
    below = [gate for gate in results if speaks(gate) and floor_broken(gate)]
    below = [gate for gate in below if by_name[gate.metric].kind is Kind.RELEVANCE and gate.direction.sign > 0]
    order = sorted(below, key=lambda gate: (gate.verdict is not Verdict.FAIL, -(gate.decision.violation or 0.0)))
    floors = (_below(gate, _reach(by_name[gate.metric]), gold, candidate, baseline) for gate in order)
    return [each for each in floors if each][:MAX_FLOORS]


def diagnose_conclusion(
    report: Report,
    gold: Gold,
    metrics: Sequence[Metric],
    candidate: Scores,
    baseline: Scores | None,
    lists: RunLists,
) -> list[Diagnosis]:
    """As `diagnose`, of the questions that the report's conclusion is about and no others.

    It speaks of a gate or a part that does not hold, maybe of one that no gate is on. The report's own diagnosis stays
    where the conclusion's metric is not one of these, or nothing of the part compares.
    """
    about = report.conclusion
    known = report.explanation.diagnosis
    metric = next((each for each in metrics if each.name == about.metric), None)
    if metric is None:
        return known
    if about.segment is not None:  # all questions need no copy
        samples = gold.samples
        rows = [row for row, each in enumerate(samples.values()) if in_segment(part_names(each), about.segment)]
        names = {candidate.query_ids[row] for row in rows}
        gold = replace(gold, samples={query: sample for query, sample in samples.items() if query in names})
        candidate = on_rows(candidate, rows)
        baseline = on_rows(baseline, rows) if baseline else None
    gate = next((each for each in report.gates if each.row_key == (about.gate, about.segment)), None)
    if gate is None:
        pairs = paired_scores(metric, candidate, baseline) if baseline else None
        if pairs is None:
            return known
        overall = next(each for each in report.gates if each.name == about.gate and each.segment is None)
        gate = _without_limit(overall, pairs.compared())
    of_floor = about.rule == "floor"
    if not of_floor:
        gate = replace(gate, segment=None)  # `diagnose` explains drops of rows over all questions
    findings = diagnose(gold, metrics, [gate], candidate, baseline, lists)
    worse = len(report.changes.losers_of(about.row_key)) if about.gate else 0
    if not findings and baseline and not of_floor and worse > 1 and of_list(metric):
        findings = _counted(causes.losses_of(gate, metric, gold, candidate, baseline))
    return [*_rising(report), *findings] or [each for each in known if each.rule == STALE]


def _without_limit(overall: GateResult, comparison: Comparison) -> GateResult:
    """The row of a part that no gate is on: the gate's over all questions, with the part's change, as a warning."""
    return replace(
        overall,
        change=replace(overall.change, delta=comparison.delta, delta_ci=comparison.ci),
        limits=replace(overall.limits, regression_max=0.0),
        decision=replace(overall.decision, verdict=Verdict.WARN),
    )


def _rising(report: Report) -> list[Diagnosis]:
    """Scores that rise in most lists of the run and did not in the baseline's, so that what is best may stand last."""
    odd = report.explanation.oddities
    if odd is None or odd.rising <= MIN_SHARE * odd.long_lists or odd.rising_before > MIN_SHARE * odd.rising:
        return []
    which = f"in all {odd.rising:,}" if odd.rising == odd.long_lists else f"in {odd.rising:,} of the {odd.long_lists:,}"
    text = f"the scores: {which} lists of five or more results they rise from rank to rank, as distances do"
    return [Diagnosis(rule=RISING, finding=text, evidence={"rising": odd.rising, "long_lists": odd.long_lists})]


def _counted(losses: Losses) -> list[Diagnosis]:
    """What became of the questions that got worse, counted, and the tag of nearly all of them: facts, and no cause."""
    fates = Counter(losses.worse.values())
    if fates.keys() <= {Cause.FINE}:
        return []
    if len(fates) == 1:
        [fate] = fates
        text = _those(len(losses.worse), losses, "", _known(fate, losses, _MANY))
    else:
        text = f"of the {len(losses.worse):,} questions that got worse {', '.join(_counts(fates, losses))}"
    numbers = {"worse": len(losses.worse), **{each.value: count for each, count in fates.items()}}
    return [_with_tag(COUNTS, text, numbers, _tag_of_most(losses))]


def _counts(fates: Mapping[Cause, int], losses: Losses) -> Iterator[str]:
    """`3 return no results now`, fate by fate; what has no line or answers another text is counted apart from these."""
    first = first_text(first_k(losses.metric))
    without_list = {_ABSENT: len(losses.absent), _UNANSWERED: len(losses.unasked)}
    counts: list[tuple[str, int]] = []
    for fate, words in _COUNTED.items():
        counts.append((words, fates.get(fate, 0)))
        if fate is Cause.NO_RESULT:
            counts[-1] = (words, fates.get(fate, 0) - sum(without_list.values()))
            counts += without_list.items()
    for words, count in counts:
        if count:
            yield f"{count:,} {words.format(first=first, **(_ONE if count == 1 else _MANY))}"


def _known(fate: Cause, losses: Losses, number: Mapping[str, str]) -> str:
    """What became of these questions; without a line, or with one of another text, none is a list without a result."""
    words = _KNOWN[fate]
    if fate is Cause.NO_RESULT:
        without = {query for query, each in losses.worse.items() if each is fate}
        lists = {words: without - losses.absent - losses.unasked, _ABSENT: losses.absent, _UNANSWERED: losses.unasked}
        words = ", or ".join(what for what, queries in lists.items() if queries)
    k = first_k(losses.metric)
    return words.format(first=first_text(k), in_first=in_first_text(k), **number)


def _tag_of_most(losses: Losses) -> TagShare | None:
    """The tag of nearly all that got worse, the rarest of several; none that more than half of all questions have."""
    tags = {sample.query_id: sample.tags for sample in losses.samples}
    worse = Counter(tag for query in losses.worse for tag in set(tags[query]))
    every = Counter(tag for each in tags.values() for tag in set(each))
    fitting = [
        tag
        for tag, count in worse.items()
        if count >= NEARLY_ALL * len(losses.worse) and every[tag] <= AT_MOST * len(tags)
    ]
    if not fitting:
        return None
    tag = min(fitting, key=lambda each: (-worse[each], every[each], each))
    return TagShare(
        tag=tag, misses=worse[tag], of_misses=len(losses.worse), questions=every[tag], of_questions=len(tags)
    )


def _reach(metric: Metric) -> int:
    """The first ranks that a metric looks at; all where `@all` is written, which counts the last rank as the first."""
    of_all = metric.cutoff is Cutoff.WHOLE and getattr(metric, "default_cutoff", None) is not Cutoff.WHOLE
    return sys.maxsize if of_all else first_k(metric)


def _below(gate: GateResult, k: int, gold: Gold, candidate: Scores, baseline: Scores | None) -> Diagnosis | None:
    """Where what the questions miss is; beside a baseline only of those that it did not miss, if there are such."""
    samples = [each for each in gold.samples.values() if each.relevant() and in_segment(each.tags, gate.segment)]
    missed = _kinds_of_miss(candidate, samples, k)
    if not missed:
        return None
    missed_by_baseline = _kinds_of_miss(baseline, samples, k) if baseline is not None else {}
    new = {query: kind for query, kind in missed.items() if query not in missed_by_baseline}
    counted = new or missed
    kinds = Counter(counted.values())
    elsewhere = sum(_went_elsewhere(candidate, gold.samples[query]) for query in counted)
    which = " tagged {tag}" if gate.segment is not None else ""
    parts = [
        f"{kinds[kind]:,} {text}" if len(kinds) > 1 else f"all {text}"
        for kind, text in _KINDS_OF_MISS.items()
        if kinds[kind]
    ]
    miss = "misses" if len(missed) == 1 else "miss"
    text = f"{len(missed):,} of the {count_text(len(samples), 'question')}{which} {miss} a relevant document"
    old = len(missed) - len(new)
    if old:
        text += f", {old:,} of them in the baseline, too" if new else ", as in the baseline"
        text += f"; of the {len(new):,} others" if new else ""
    text += f"{' ' if old and new else ': '}{', '.join(parts).format(first=first_text(k))}"
    text += f"; {elsewhere:,} went to other sources only" if elsewhere else ""
    evidence: dict[str, str | int | float] = {"questions": len(samples), "misses": len(missed), "elsewhere": elsewhere}
    evidence |= kinds
    if gate.segment is not None:
        evidence["tag"] = gate.segment
    if baseline is not None:
        evidence["in_baseline"] = old
    return Diagnosis(rule="below_floor", finding=text, evidence=evidence)


def _kinds_of_miss(scores: Scores, samples: Sequence[Sample], k: int) -> dict[str, str]:
    """By question that misses something, where that is."""
    kinds = {sample.query_id: _kind_of_miss(scores, sample, k) for sample in samples}
    return {query: kind for query, kind in kinds.items() if kind is not None}


def _kind_of_miss(scores: Scores, sample: Sample, k: int) -> str | None:
    """Where what a question misses in its first k is; None where it misses nothing."""
    summary = scores.rank_summaries.get(sample.query_id)
    if summary is None or not summary.retrieved:
        return "no_result"
    if all(rank is not None and rank <= k for rank in summary.ranks):
        return None
    return "gone" if None in summary.ranks else "lower"


def _went_elsewhere(scores: Scores, sample: Sample) -> bool:
    """Whether the run asked sources, and none of those that have the answer."""
    query = scores.matched.get(sample.query_id)
    routed = query.details.source if query and query.details else None
    if not sample.source or routed is None:
        return False
    return {*routed}.isdisjoint(sample.source)


def _of_lists(losses: Losses, explanation: Explanation | None) -> list[Diagnosis]:
    """The cause, the tag that the worse questions share, and what became of nearly all of them.

    That they return no results stands before the tag, as what is to be repaired first.
    """
    if not losses.worse:
        return []
    cause = _cause(losses, explanation)
    tag = _shared_tag(losses)
    fate = _common_fate(losses)
    no_results = fate is not None and fate.rule == NO_RESULTS
    findings = (cause, fate, tag) if no_results else (cause, tag, fate)
    return [each for each in findings if each is not None]


def _cause(losses: Losses, explanation: Explanation | None) -> Diagnosis | None:
    if explanation is None:
        return None
    queries = explanation.queries
    by_chance = explanation.by_chance
    total = len(losses.samples)
    where, what = SAYS[explanation.cause]
    text = f"{where}: {_those(len(queries), losses, what, what)} (by chance {by_chance:,} of {total:,})"
    numbers = {"worse": len(losses.worse), "explained": len(queries), "by_chance": by_chance, "of_chance": total}
    return _with_tag(explanation.cause, text, numbers, _tag_of(queries, losses))


def _common_fate(losses: Losses) -> Diagnosis | None:
    """What became of nearly all questions that got worse; None where their relevant documents stand as before."""
    fates = Counter(losses.worse.values())
    fate = max(fates, key=lambda each: (fates[each], -list(Cause).index(each)))
    queries = [query for query, each in losses.worse.items() if each is fate]
    if fate is Cause.FINE or len(queries) < NEARLY_ALL * len(losses.worse):
        return None
    text = _those(len(queries), losses, _known(fate, losses, _ONE), _known(fate, losses, _MANY))
    numbers = {"worse": len(losses.worse), **{each.value: count for each, count in fates.items()}}
    rule = NO_RESULTS if fate is Cause.NO_RESULT else KNOWN
    return _with_tag(rule, text, numbers, _tag_of(queries, losses))


def _shared_tag(losses: Losses) -> Diagnosis | None:
    tag = _tag_of(list(losses.worse), losses)
    if tag is None:
        return None
    text = f"{_those(tag.misses, losses, 'is tagged {tag}', 'are tagged {tag}')} ({_share(tag)})"
    return Diagnosis(rule=ONE_TAG, finding=text, evidence={"worse": len(losses.worse), **_numbers(tag)})


def _tag_of(queries: Sequence[str], losses: Losses) -> TagShare | None:
    """The tag that stands out among these questions, if the loss over all questions with it is proven."""
    tags = {sample.query_id: sample.tags for sample in losses.samples}
    candidate = losses.candidate
    values = candidate.values[losses.metric.name]
    baseline_values = baseline_column(losses.metric, losses.baseline)
    for share in common_tags([tags[query] for query in queries], list(tags.values())):
        tagged = [share.tag in tags.get(query, ()) for query in candidate.query_ids]
        values_with_tag = [value if has_tag else None for value, has_tag in zip(values, tagged, strict=True)]
        pairs = compare(losses.metric, values_with_tag, baseline_values, clusters=candidate.clusters)
        if pairs is not None and losses.metric.direction.certain(pairs.ci) < 0:
            return share
    return None


def _with_tag(rule: str, text: str, numbers: Mapping[str, int], tag: TagShare | None) -> Diagnosis:
    if tag is None:
        return Diagnosis(rule=rule, finding=text, evidence=numbers)
    who = "all" if tag.misses == tag.of_misses else f"{tag.misses:,}"
    text = f"{text}; {who} of them are tagged {{tag}} ({_share(tag)})"
    return Diagnosis(rule=rule, finding=text, evidence={**numbers, **_numbers(tag)})


def _numbers(tag: TagShare) -> dict[str, str | int]:
    return {"tag": tag.tag, "having_tag": tag.misses, "tagged": tag.questions, "questions": tag.of_questions}


def _share(tag: TagShare) -> str:
    return f"{tag.questions / tag.of_questions:.0%} of the gold set"


def _those(count: int, losses: Losses, one: str, many: str) -> str:
    """`all 12 questions that got worse are …`, `38 of the 40 questions that got worse have …`."""
    total = len(losses.worse)
    if total == 1:
        return f"the one question that got worse {one}"
    if count == total:
        return f"{'both' if total == 2 else f'all {total:,}'} questions that got worse {many}"  # noqa: PLR2004
    return f"{count:,} of the {total:,} questions that got worse {one if count == 1 else many}"


def _latency(gate: GateResult, metric: Metric, candidate: Scores, baseline: Scores) -> list[Diagnosis]:
    """The stage that took most of the added time, if the sign test and the interval of its mean say that it rose."""
    if "stage" in metric.parameters() or gate.direction.certain(gate.change.delta_ci) >= 0:
        return []  # a gate of one stage says it already
    rises: dict[str, list[float]] = {}
    times = candidate.kept.stage_times
    old_times = baseline.kept.stage_times
    for stage in sorted((times.keys() & old_times.keys()) - {"total"}):
        baseline_times = old_times[stage].by_row
        after = times[stage].by_row
        if changes := [time - baseline_times[row] for row, time in after.items() if row in baseline_times]:
            rises[stage] = changes
    if not rises.keys() >= {*_STAGES}:
        return []
    means = {stage: max(0.0, math.fsum(each) / len(each)) for stage, each in rises.items()}
    stage = max(_STAGES, key=means.__getitem__)
    changes = rises[stage]
    slower = sum(change > 0 for change in changes)
    faster = sum(change < 0 for change in changes)
    ci = difference_interval(changes, widest=None)
    mean_is_proven = ci is not None and ci[0] > 0
    if not mean_is_proven or means[stage] < ONE_STAGE * sum(means.values()):
        return []
    if at_least(slower, slower + faster, 0.5) >= LEVEL:
        return []
    added = {each: delta_text(mean, Unit.MILLISECONDS) for each, mean in means.items() if each in _STAGES}
    other = next(each for each in _STAGES if each != stage)
    text = f"the {stage} stage is slower for {slower:,} of {count_text(len(changes), 'question')}: on average "
    text += f"{added[stage]}, and {added[other]} in the {other} stage"
    evidence: dict[str, str | int | float] = {"questions": len(changes), "slower": slower}
    evidence |= {f"{each}_ms_added": means[each] for each in _STAGES}
    return [Diagnosis(rule="latency_stage", finding=text, evidence=evidence)]
