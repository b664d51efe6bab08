"""What is suspicious in criteria, gold set and run, and what gates can see: for `validate`, `init` and `judge`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any

from rankgate.errors import redacted, shown
from rankgate.gates import sights
from rankgate.gates import warnings as facts
from rankgate.metrics.answers import SPREADS
from rankgate.metrics.base import widest_change
from rankgate.metrics.estimates import is_rate
from rankgate.model.judge_words import advisory_text, labels_text
from rankgate.model.loss_words import code_text
from rankgate.model.values import Evidence, Unit
from rankgate.model.wording import (
    count_text,
    distinguishing_decimals,
    exact_decimals,
    harm_word,
    points_text,
    size_text,
    tokens_text,
    value_text,
)
from rankgate.renderers.escape import listed
from rankgate.statistics.clusters import MIN_CLUSTERS as MIN_FOR_INTERVAL
from rankgate.statistics.sign_flips import MIN_CLUSTERS as MIN_FOR_TEST

_MOST_NAMED = 3  # examples

_MOST_UNREAD = 6  # columns

_IN_RUNS = " in 4 of 5 runs"  # POWER, in words

_DIGITS = 3


def _nothing_relevant(fact: facts.NothingRelevant) -> str:
    samples = count_text(len(fact.ids), "sample")
    lack = "without a relevant document and without no_answer: true, left out of relevance metrics"
    return f"{samples} {lack}; {_named(fact.ids)}"


def _repeated_questions(fact: facts.RepeatedQuestions) -> str:
    groups = "; ".join(" = ".join(map(shown, ids)) for ids in fact.groups[:_MOST_NAMED])
    return f"{count_text(len(fact.groups), 'question is', 'questions are')} asked more than once: {groups}"


def _unnamed_inputs(fact: facts.UnnamedInputs) -> str:
    lines = " and ".join(f"`{key}: {name}`" for key, name in fact.missing.items())
    return f"{fact.criteria}: inputs names no {' and no '.join(fact.missing)}; add under `inputs:` {lines}"


def _split_cells(fact: facts.SplitCells) -> str:
    sign = {"\n": "line breaks", ",": "commas"}.get(fact.sign, shown(fact.sign))
    return f"cells of {shown(fact.column)} were split at {sign}: a document each"


def _unread_columns(fact: facts.UnreadColumns) -> str:
    crowded = [f"{shown(name)} ({count} values, too many for segments)" for name, count in fact.crowded.items()]
    unread = [*crowded, *map(shown, fact.unread)]
    text = f"not read: {listed(unread, _MOST_UNREAD)}"
    if not fact.part:
        return text
    how = 'write it into `metadata: {tags: ["name:value"]}`'
    if fact.columns:
        pairs = ",".join(f"{word}={column}" for word, column in {**fact.columns, "tags": fact.part}.items())
        how = f"`rankgate init --gold {quote(redacted(fact.gold))} --map {quote(pairs)} --force`"
    return f"{text}; to gate parts of the questions by one: {how}"


def _absent_questions(fact: facts.AbsentQuestions) -> str:
    absent = count_text(len(fact.ids), "question is", "questions are")
    return f"{absent} absent from the run and would score as worst; {_named(fact.ids)}"


def _unknown_questions(fact: facts.UnknownQuestions) -> str:
    unknown = count_text(len(fact.ids), "question")
    return f"{unknown} of the run without a sample in the gold set; {_named(fact.ids)}"


def _stray_scores(fact: facts.StrayScores) -> str:
    return f"inputs.scores has questions that the run lacks; {_named(fact.ids)}"


def _repeated_ids(fact: facts.RepeatedIds) -> str:
    removed = count_text(fact.removed, "repeated id")
    return f"{removed} in {count_text(len(fact.ids), 'ranking')} of the run would be removed; {_named(fact.ids)}"


def _empty_rankings(fact: facts.EmptyRankings) -> str:
    return f"{count_text(len(fact.ids), 'ranking')} of the run without a single result; {_named(fact.ids)}"


def _unseen_ids(fact: facts.UnseenIds) -> str:
    of_all = f"{len(fact.ids):,} of {count_text(fact.relevant, 'relevant id')}"
    occur = "occurs" if len(fact.ids) == 1 else "occur"
    hint = "; did the ids change since the gold was written?" if 2 * len(fact.ids) > fact.relevant else ""
    return f"{of_all} {occur} in no ranking; {_named(fact.ids)}{hint}"


def _short_rankings(fact: facts.ShortRankings) -> str:
    gates = ", ".join(map(shown, fact.gates))
    verb = "looks" if len(fact.gates) == 1 else "look"
    return f"the longest ranking has {count_text(fact.longest, 'result')}, and {gates} {verb} at more"


def _capped_metric(fact: facts.CappedMetric) -> str:
    which = count_text(len(fact.ids), "question has", "questions have")
    best = value_text(fact.reachable, fact.metric.unit)
    more = f"{which} more relevant documents than {fact.metric.name} sees"
    return f"{more}, so that it can reach {best} at best; {_named(fact.ids)}"


def _never_passes(fact: facts.NeverPasses) -> str:
    name, unit = fact.gate.metric.name, fact.gate.metric.unit
    decimals = distinguishing_decimals(fact.reachable, fact.floor, unit)
    floor = value_text(fact.floor, unit, decimals)
    best = value_text(fact.reachable, unit, decimals)
    can_never_pass = f"gate {shown(fact.gate.name)} can never pass: its floor is {floor}"
    return f"{can_never_pass}, the best possible {name} on this gold set is {best}"


def _never_blocks(fact: facts.NeverBlocks) -> str:
    return f"gate {shown(fact.gate.name)} never blocks: {advisory_text(fact.gate.metric.name, fact.judge)}"


def _rises_with_refusals(fact: facts.RisesWithRefusals) -> str:
    counts = f"gate {shown(fact.gate.name)} counts answers that assert something, and so looks better with refusals"
    return f"{counts}; add a gate on answered_rate with `severity: error`"


def _unused_rubric(fact: facts.UnusedRubric) -> str:
    return f"judge.rubrics: no gate is on rubric({fact.name})"


def _not_recorded(fact: facts.NotRecorded) -> str:
    return f"{fact.run} is not recorded yet: `rankgate check --record` records and judges it"


def _old_run(fact: facts.OldRun) -> str:
    return f"{code_text(fact.code, str)}; `rankgate check --record` records it again"


def _traffic_in_gold(fact: facts.TrafficInGold) -> str:
    few = ", ".join(map(shown, fact.ids[:_MOST_NAMED])) + (", …" if fact.ids[_MOST_NAMED:] else "")
    verb = "is" if len(fact.ids) == 1 else "are"
    return f"{count_text(len(fact.ids), 'traffic question')} ({few}) {verb} in the gold set, too, by id or text"


def _not_waivable(fact: facts.NotWaivable) -> str:
    return f"gate {shown(fact.gate)} fails for single questions, which no waiver covers"


def _judging_cost(fact: facts.JudgingCost) -> str:
    two_digits = round(fact.tokens, 2 - len(str(fact.tokens)))
    cost = f"{count_text(fact.calls, 'call')}, about {tokens_text(two_digits)}"
    more = f", more than `judge.budget.{fact.beyond}` allows" if fact.beyond else ""
    return f"to judge all {count_text(fact.answers, 'answer')} of the run takes {cost}{more}"


def _named(ids: Sequence[str]) -> str:
    return listed(ids, _MOST_NAMED, shown)


def _sights(fact: sights.Sights) -> str:
    if fact.each[1:]:
        return _sights_text(fact.each)
    sight = fact.each[0]
    return f"gate {shown(sight.gate.name)}: {sight_text(sight)}"


def _blind_spot(fact: sights.BlindSpot) -> str:
    return f"gate {shown(fact.sight.gate.name)}: {blind_text(fact.sight)}"


def _blind_parts(fact: sights.BlindParts) -> str:
    segments = f"{count_text(fact.blind, 'segment')} of {fact.among}"
    return f"gate {shown(fact.sight.gate.name)}, {segments}: in {shown(fact.first)} {blind_text(fact.sight)}"


def _unjudged_parts(fact: sights.UnjudgedParts) -> str:
    none = f"judges none of its {fact.segments} segments" if fact.segments > 1 else "does not judge its only segment"
    most = f"at most {count_text(fact.largest, 'question')}, fewer than {fact.rule.min_queries} (`min_queries`)"
    return f"gate {shown(fact.gate.name)} {none} by {' and '.join(map(shown, fact.rule.by))}: {most}"


def _small_parts(fact: sights.SmallParts) -> str:
    sizes = f"{fact.fewest} to {fact.most}" if fact.fewest < fact.most else f"{fact.fewest}"
    losses = "no loss at all"
    if fact.detectable <= 1:
        losses = f"only losses above {points_text(fact.detectable, Unit.SHARE)}"
    detect = "detect" if fact.blind > 1 else "detects"
    return f"{fact.blind} of {count_text(fact.among, 'segment')}, of {sizes} questions, {detect} {losses}{_IN_RUNS}"


def _lost_unseen(fact: sights.LostUnseen) -> str:
    """With the sizes of the first gate."""
    metric = fact.gate.metric
    part, caught = points_text(fact.part, metric.unit), points_text(fact.caught, metric.unit)
    if fact.caught == fact.gate.regression_max:
        why = f"a drop of {caught} is allowed"
    elif is_rate(metric) and fact.caught > 1:
        why = f"no drop is detected{_IN_RUNS}"
    else:
        why = f"only drops of {caught} or more are detected{_IN_RUNS}"
    also = f"; the same goes for {', '.join(map(shown, fact.likewise))}" if fact.likewise else ""
    fifth = f"a fifth of {value_text(fact.value, metric.unit)}, {part}, can be lost unseen"
    return f"gate {shown(fact.gate.name)}: {fifth}: {why}{also}"


def _blocked_by_chance(fact: sights.BlockedByChance) -> str:
    which = f"the changes that lose 2.5% of {count_text(fact.queries, 'question')} and win as many"
    rule = f"`max_lost_queries: {fact.gate.max_lost_queries}` beside proven_harm"
    return f"gate {shown(fact.gate.name)}: {rule} blocks {fact.share:.0%} of {which}"


def _no_bound(fact: sights.NoBound) -> str:
    give = count_text(fact.queries, "question gives", "questions give")
    no_bound = f"{give} {fact.gate.metric.name} no bound"
    return f"gate {shown(fact.gate.name)}: {no_bound}; the swap test alone can prove a change"


def _few_clusters(fact: sights.FewClusters) -> str:
    of_segment = "" if fact.segment is None else f", {shown(fact.segment)}"
    needed = f"{MIN_FOR_INTERVAL} on a low value can"
    if fact.clusters < MIN_FOR_TEST:
        needed = f"{MIN_FOR_TEST} on harm can be proven, from {needed}"
    clusters = count_text(fact.clusters, "cluster")
    return f"gate {shown(fact.gate.name)}{of_segment}: {clusters} of questions; from {needed}"


def _judged_labels(fact: sights.JudgedLabels) -> str:
    return f"gate {shown(fact.gate.name)}: {labels_text(fact.gate.metric.name, fact.judge)}"


def _judged_sight(fact: sights.JudgedSight) -> str:
    """`with 200 questions, drops of 5.1 to 9.2 pp or more are detected …`, and how many would do."""
    gate, seen = fact.gate, fact.seen
    safe = gate.evidence is Evidence.PROVEN_SAFE
    unit = gate.metric.unit
    sizes = [size_text(each.margin if safe else each.detectable, unit) for each in seen]
    span = f"{sizes[0].split()[0]} to {sizes[1]}" if sizes[1:] else sizes[0]
    caught = f"{harm_word(gate.metric.direction)}s of {span} or more are detected in 4 of 5 runs"
    if safe:
        caught = f"a change without effect is proven safe within {span} in 4 of 5 runs"
    spread = f"spread of {seen[0].spread:.2g} measured"
    if sizes[1:]:
        spread = f"spread of {SPREADS[0]} to {SPREADS[1]} assumed, as between real systems"
    limit = f"{size_text(gate.regression_max or 0.0, unit)} allowed"
    text = f"with {count_text(seen[0].queries, 'question')}, {caught} ({limit}; {spread})"
    needed = [_rounded(each.queries_needed) for each in seen if each.queries_needed and not seen[-1].sees]
    if needed:
        would = "do" if safe else f"detect {size_text(2 * (gate.regression_max or 0.0), unit)}"
        text += f"; about {' to '.join(dict.fromkeys(needed))} questions would {would}"
    return f"gate {shown(gate.name)}: {text}"


def _unseen_answers(fact: sights.UnseenAnswers) -> str:
    flaws = ", ".join(flaw.value for flaw in fact.flaws)
    also = ", unless a rubric asks for that" if fact.asks_rubric else ""
    where = "docs/judge.md, “Answers that go wrong”, says which gates do"
    return f"no gate that may block sees answers that are {flaws}{also}; {where}"


def sight_text(sight: sights.Sight) -> str:
    """The drops that a gate sees over so many questions, what it allows, and if it is blind how many see twice that.

    A drop of exactly what is allowed is a coin toss at best, however many questions there are.
    """
    gate, seen = sight.gate, sight.seen
    limit = gate.regression_max or 0.0
    unit = gate.metric.unit
    smallest = _smallest(sight)
    size = f"a {harm_word(gate.metric.direction)} of {smallest} or more{_IN_RUNS}" if smallest else _nothing(sight)
    text = f"{_questions_detect(seen.queries)} {size} ({_allowed(sight)} allowed)"
    if seen.queries_needed is not None and not seen.sees:
        twice = points_text(2 * limit, unit, exact_decimals(2 * limit, unit))
        text += f"; to detect {twice} take about {_rounded(seen.queries_needed)}"
    return text


def _sights_text(sights: Sequence[sights.Sight]) -> str:
    """The same of several gates; how often stands at the first drop."""
    parts: list[str] = []
    runs = _IN_RUNS
    for sight in sights:
        gate = sight.gate
        allowed = _allowed(sight)
        smallest = _smallest(sight)
        if smallest:
            parts.append(f"a {harm_word(gate.metric.direction)} of {gate.name} by {smallest}{runs} ({allowed} allowed)")
            runs = ""
        else:
            parts.append(f"{_nothing(sight)} of {gate.name} ({allowed} allowed)")
    blind = [each.seen for each in sights if not each.seen.sees]
    needed = [seen.queries_needed for seen in blind if seen.queries_needed is not None]
    more = f"; to detect twice what is allowed take about {_rounded(max(needed))}" if needed else ""
    return f"{_questions_detect(sights[0].seen.queries)} {', '.join(parts)}{more}"


def blind_text(sight: sights.Sight) -> str:
    """What a gate promises to stop and its gold set cannot see."""
    gate, seen = sight.gate, sight.seen
    if gate.evidence is not Evidence.PROVEN_SAFE:
        return sight_text(sight)
    unit = gate.metric.unit
    harm = harm_word(gate.metric.direction)
    allowed = gate.regression_max or 0.0
    limit = size_text(allowed, unit, exact_decimals(allowed, unit))
    margin = size_text(seen.margin, unit)
    widest = widest_change(gate.metric)
    assumed = f" (spread of {seen.spread:.2g} assumed)" if seen.assumed else ""
    allowing = widest is None or seen.margin <= widest  # more than the range is no limit
    if seen.queries_needed is None:
        advice = f"; allow a {harm} of {margin}" if allowing else ""
        return f"no number of questions proves that nothing at all was lost{advice}{assumed}"
    proven = f"a change without effect is proven safe within {limit} in less than 4 of 5 runs"
    needed = f"about {_rounded(seen.queries_needed)} questions would do"
    or_allowing = f", or allowing {margin}" if allowing else ""
    return f"with {count_text(seen.queries, 'question')} {proven}; {needed}{or_allowing}{assumed}"


def _questions_detect(queries: int) -> str:
    """`30 questions detect`."""
    return count_text(queries, "question detects", "questions detect")


def _allowed(sight: sights.Sight) -> str:
    limit = sight.gate.regression_max or 0.0
    unit = sight.gate.metric.unit
    return points_text(limit, unit, exact_decimals(limit, unit))


def _smallest(sight: sights.Sight) -> str:
    """The smallest drop that is seen; nothing where none that is possible is."""
    metric, size = sight.gate.metric, sight.seen.detectable
    return points_text(size, metric.unit) if not is_rate(metric) or size <= 1 else ""


def _nothing(sight: sights.Sight) -> str:
    return f"no {harm_word(sight.gate.metric.direction)}"


def _rounded(queries: int) -> str:
    """To three digits, rounded up: more would pretend to know the spread that well."""
    step = 10 ** max(0, len(str(queries)) - _DIGITS)
    return f"{-(-queries // step) * step:,}"


def fact_text(fact: facts.InputFact | sights.SightFact) -> str:
    """The fact in a sentence without a full stop."""
    return WORDED[type(fact)](fact)


WORDED: Mapping[type[facts.InputFact | sights.SightFact], Callable[[Any], str]] = {
    facts.NothingRelevant: _nothing_relevant,
    facts.RepeatedQuestions: _repeated_questions,
    facts.UnnamedInputs: _unnamed_inputs,
    facts.SplitCells: _split_cells,
    facts.UnreadColumns: _unread_columns,
    facts.AbsentQuestions: _absent_questions,
    facts.UnknownQuestions: _unknown_questions,
    facts.StrayScores: _stray_scores,
    facts.RepeatedIds: _repeated_ids,
    facts.EmptyRankings: _empty_rankings,
    facts.UnseenIds: _unseen_ids,
    facts.ShortRankings: _short_rankings,
    facts.CappedMetric: _capped_metric,
    facts.NeverPasses: _never_passes,
    facts.NeverBlocks: _never_blocks,
    facts.RisesWithRefusals: _rises_with_refusals,
    facts.UnusedRubric: _unused_rubric,
    facts.NotRecorded: _not_recorded,
    facts.OldRun: _old_run,
    facts.TrafficInGold: _traffic_in_gold,
    facts.NotWaivable: _not_waivable,
    facts.JudgingCost: _judging_cost,
    sights.Sights: _sights,
    sights.BlindSpot: _blind_spot,
    sights.BlindParts: _blind_parts,
    sights.UnjudgedParts: _unjudged_parts,
    sights.SmallParts: _small_parts,
    sights.LostUnseen: _lost_unseen,
    sights.BlockedByChance: _blocked_by_chance,
    sights.NoBound: _no_bound,
    sights.FewClusters: _few_clusters,
    sights.JudgedLabels: _judged_labels,
    sights.JudgedSight: _judged_sight,
    sights.UnseenAnswers: _unseen_answers,
}
