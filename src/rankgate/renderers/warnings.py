"""What is suspicious in criteria, gold set and run, in sentences: for `validate` and `init`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any

from rankgate.errors import redacted, shown
from rankgate.gates.sights import SightFact
from rankgate.gates.warnings import (
    AbsentQuestions,
    CappedMetric,
    EmptyRankings,
    InputFact,
    JudgingCost,
    NeverBlocks,
    NeverPasses,
    NothingRelevant,
    NotRecorded,
    NotWaivable,
    OldRun,
    RepeatedIds,
    RepeatedQuestions,
    RisesWithRefusals,
    ShortRankings,
    SplitCells,
    StrayScores,
    TrafficInGold,
    UnknownQuestions,
    UnnamedInputs,
    UnreadColumns,
    UnseenIds,
    UnusedRubric,
)
from rankgate.model.judge_words import advisory_text
from rankgate.model.loss_words import code_text
from rankgate.model.wording import count_text, telling_decimals, tokens_text, value_text
from rankgate.renderers import sights

_MOST_NAMED = 3  # examples
_MOST_UNREAD = 6  # columns


def _nothing_relevant(fact: NothingRelevant) -> str:
    samples = count_text(len(fact.ids), "sample")
    lack = "without a relevant document and without no_answer: true, left out of relevance metrics"
    return f"{samples} {lack}; {_named(fact.ids)}"


def _repeated_questions(fact: RepeatedQuestions) -> str:
    groups = "; ".join(" = ".join(map(shown, ids)) for ids in fact.groups[:_MOST_NAMED])
    return f"{count_text(len(fact.groups), 'question is', 'questions are')} asked more than once: {groups}"


def _unnamed_inputs(fact: UnnamedInputs) -> str:
    lines = " and ".join(f"`{key}: {name}`" for key, name in fact.missing.items())
    return f"{fact.criteria}: inputs names no {' and no '.join(fact.missing)}; add under `inputs:` {lines}"


def _split_cells(fact: SplitCells) -> str:
    sign = {"\n": "line breaks", ",": "commas"}.get(fact.sign, shown(fact.sign))
    return f"cells of {shown(fact.column)} were split at {sign}: a document each"


def _unread_columns(fact: UnreadColumns) -> str:
    crowded = [f"{shown(name)} ({count} values, too many for segments)" for name, count in fact.crowded.items()]
    unread = [*crowded, *map(shown, fact.unread)]
    text = f"not read: {', '.join(unread[:_MOST_UNREAD])}"
    if unread[_MOST_UNREAD:]:
        text += f" and {len(unread) - _MOST_UNREAD} more"
    if not fact.part:
        return text
    how = 'write it into `metadata: {tags: ["name:value"]}`'
    if fact.columns:
        pairs = ",".join(f"{word}={column}" for word, column in {**fact.columns, "tags": fact.part}.items())
        how = f"`rankgate init --gold {quote(redacted(fact.gold))} --map {quote(pairs)} --force`"
    return f"{text}; to gate parts of the questions by one: {how}"


def _absent_questions(fact: AbsentQuestions) -> str:
    absent = count_text(len(fact.ids), "question is", "questions are")
    return f"{absent} absent from the run and would score as worst; {_named(fact.ids)}"


def _unknown_questions(fact: UnknownQuestions) -> str:
    unknown = count_text(len(fact.ids), "question")
    return f"{unknown} of the run without a sample in the gold set; {_named(fact.ids)}"


def _stray_scores(fact: StrayScores) -> str:
    return f"inputs.scores has questions that the run lacks; {_named(fact.ids)}"


def _repeated_ids(fact: RepeatedIds) -> str:
    removed = count_text(fact.removed, "repeated id")
    return f"{removed} in {count_text(len(fact.ids), 'ranking')} of the run would be removed; {_named(fact.ids)}"


def _empty_rankings(fact: EmptyRankings) -> str:
    return f"{count_text(len(fact.ids), 'ranking')} of the run without a single result; {_named(fact.ids)}"


def _unseen_ids(fact: UnseenIds) -> str:
    of_all = f"{len(fact.ids)} of {count_text(fact.relevant, 'relevant id')}"
    occur = "occurs" if len(fact.ids) == 1 else "occur"
    hint = "; did the ids change since the gold was written?" if 2 * len(fact.ids) > fact.relevant else ""
    return f"{of_all} {occur} in no ranking; {_named(fact.ids)}{hint}"


def _short_rankings(fact: ShortRankings) -> str:
    gates = ", ".join(map(shown, fact.gates))
    look = "looks" if len(fact.gates) == 1 else "look"
    return f"the longest ranking has {count_text(fact.longest, 'result')}, and {gates} {look} at more"


def _capped_metric(fact: CappedMetric) -> str:
    which = count_text(len(fact.ids), "question has", "questions have")
    best = value_text(fact.reachable, fact.metric.unit)
    more = f"{which} more relevant documents than {fact.metric.name} sees"
    return f"{more}, so that it can reach {best} at best; {_named(fact.ids)}"


def _never_passes(fact: NeverPasses) -> str:
    name, unit = fact.gate.metric.name, fact.gate.metric.unit
    decimals = telling_decimals(fact.reachable, fact.floor, unit)
    floor = value_text(fact.floor, unit, decimals)
    best = value_text(fact.reachable, unit, decimals)
    can_never_pass = f"gate {shown(fact.gate.name)} can never pass: its floor is {floor}"
    return f"{can_never_pass}, the best possible {name} on this gold set is {best}"


def _never_blocks(fact: NeverBlocks) -> str:
    return f"gate {shown(fact.gate.name)} never blocks: {advisory_text(fact.gate.metric.name, fact.judge)}"


def _rises_with_refusals(fact: RisesWithRefusals) -> str:
    counts = f"gate {shown(fact.gate.name)} counts answers that assert something, and so rises with refusals"
    return f"{counts}; add a gate on answered_rate with `severity: error`"


def _unused_rubric(fact: UnusedRubric) -> str:
    return f"judge.rubrics: no gate is on rubric({fact.name})"


def _not_recorded(fact: NotRecorded) -> str:
    return f"{fact.run} is not recorded yet: `rankgate check --record` records and judges it"


def _old_run(fact: OldRun) -> str:
    return f"{code_text(fact.code, str)}; `rankgate check --record` records it again"


def _traffic_in_gold(fact: TrafficInGold) -> str:
    few = ", ".join([*map(shown, fact.ids[:_MOST_NAMED]), *(["…"] if fact.ids[_MOST_NAMED:] else [])])
    verb = "is" if len(fact.ids) == 1 else "are"
    return f"{count_text(len(fact.ids), 'traffic question')} ({few}) {verb} in the gold set, too, by id or text"


def _not_waivable(fact: NotWaivable) -> str:
    return f"gate {shown(fact.gate)} fails for single questions, which no waiver covers"


def _judging_cost(fact: JudgingCost) -> str:
    two_digits = round(fact.tokens, 2 - len(str(fact.tokens)))
    cost = f"{count_text(fact.calls, 'call')}, about {tokens_text(two_digits)}"
    more = f", more than `judge.budget.{fact.beyond}` allows" if fact.beyond else ""
    return f"to judge all {count_text(fact.answers, 'answer')} of the run takes {cost}{more}"


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return f"{', '.join(map(shown, ids[:_MOST_NAMED]))}{more}"


WORDED: Mapping[type[InputFact], Callable[[Any], str]] = {
    NothingRelevant: _nothing_relevant,
    RepeatedQuestions: _repeated_questions,
    UnnamedInputs: _unnamed_inputs,
    SplitCells: _split_cells,
    UnreadColumns: _unread_columns,
    AbsentQuestions: _absent_questions,
    UnknownQuestions: _unknown_questions,
    StrayScores: _stray_scores,
    RepeatedIds: _repeated_ids,
    EmptyRankings: _empty_rankings,
    UnseenIds: _unseen_ids,
    ShortRankings: _short_rankings,
    CappedMetric: _capped_metric,
    NeverPasses: _never_passes,
    NeverBlocks: _never_blocks,
    RisesWithRefusals: _rises_with_refusals,
    UnusedRubric: _unused_rubric,
    NotRecorded: _not_recorded,
    OldRun: _old_run,
    TrafficInGold: _traffic_in_gold,
    NotWaivable: _not_waivable,
    JudgingCost: _judging_cost,
}


def finding_text(fact: InputFact | SightFact) -> str:
    """The fact in a sentence without a full stop."""
    worded: dict[type[Any], Callable[[Any], str]] = {**WORDED, **sights.WORDED}
    return worded[type(fact)](fact)
