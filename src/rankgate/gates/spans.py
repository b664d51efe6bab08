"""What a report says of results that state no offsets, and of texts that changed, where passages are matched."""

from __future__ import annotations

from rankgate.criteria.runs import lists_of
from rankgate.errors import shown
from rankgate.gates.evaluation import Evaluation
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.report import NAMED, Remarks
from rankgate.model.scores import Unfit
from rankgate.model.values import Gold, Item
from rankgate.model.wording import count_text


def span_remarks(evaluation: Evaluation) -> Remarks:
    """Results that match nothing warn, and so do questions that cannot be judged; those judged by texts are noted."""
    unplaced = [_unplaced(run, evaluation.gold) for run in evaluation.runs]
    warnings = [warning for warning, _ in unplaced if warning]
    for run in evaluation.runs:
        warnings += [_unfit(run, why) for why in dict.fromkeys(run.scores.unfit.values())]
    return Remarks(warnings=warnings, notes=[note for _, note in unplaced if note])


def _unplaced(run: ScoredRun, gold: Gold) -> tuple[str, str]:
    """What to warn of, results without offsets and text, and what to note, those that are judged by their texts."""
    items: list[Item] = []
    for ranking in lists_of(run):
        if ranking.details and ranking.query_id in gold.samples:
            items += ranking.details.items or ()
    with_text = sum(item.start is None and item.text is not None for item in items)
    with_neither = sum(item.start is None and item.text is None for item in items)
    among = f"of {count_text(len(items), 'item')} of {run.run.name} state no offsets"
    warning = f"{with_neither:,} {among} and no text, so that they match nothing" if with_neither else ""
    note = f"{with_text:,} {among}; passages are searched in their texts." if with_text else ""
    return warning, note


def _unfit(run: ScoredRun, why: Unfit) -> str:
    """What to warn of where nobody can say whether passages are in the lists."""
    queries = [query_id for query_id, each in run.scores.unfit.items() if each is why]
    named = ", ".join(map(shown, queries[:NAMED]))
    more = ", …" if queries[NAMED:] else ""
    which = f"{count_text(len(queries), 'question')} ({named}{more})"
    if why is Unfit.STALE:
        return (
            f"the gold set is partly stale: {run.run.name} shows another text where passages of {which} should stand; "
            "these have no value. Correct their spans: `rankgate gold anchor` lists those that stand elsewhere"
        )
    return (
        f"{which} cannot be judged in {run.run.name}: their spans state no `text` and results no offsets; write `text` "
        "into the spans: `rankgate gold anchor` does"
    )
