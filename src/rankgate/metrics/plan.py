"""What to compute of a run, and what has to be there before a value means anything, in the run and in the gold set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rankgate.errors import Problem, bad_input, shown
from rankgate.metrics.base import Metric, needs_of
from rankgate.metrics.gaps import too_many
from rankgate.metrics.matching import BY_CHUNK, DEFAULT_K, By, Matching
from rankgate.model.scores import Scores, Unfit
from rankgate.model.values import Gold, RunField, Sample
from rankgate.readers.base import ProblemLog


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to compute of a run, and how.

    Attributes:
        metrics: what to compute.
        depth: the lists are cut here (see `match`).
        default_k: see `match`.
        how: what makes an item a document of the gold.
        keep_matched: keep the matched queries, for reports that name documents.
        also: what is read for pages, whether or not a metric asks for it; a run may leave it out.
        beside: the metrics that pages show, scored as well as the run allows; `also` has what they read.
        keep: of lists that are read for pages alone so many items are kept; None for all.
        compared: the run is one of two that are compared; only then its scores tell which lists are the same.
        baseline_ids: the baseline's lists by query, for metrics that compare with them.
    """

    metrics: Sequence[Metric]
    depth: int | None = None
    default_k: int = DEFAULT_K
    how: Matching = BY_CHUNK
    keep_matched: bool = False
    baseline_ids: Mapping[str, Sequence[str]] = {}
    also: frozenset[RunField] = frozenset()
    beside: Sequence[Metric] = ()
    keep: int | None = None
    compared: bool = False

    @property
    def needs(self) -> frozenset[RunField]:
        """What is read beyond ids and gains."""
        return needs_of(self.metrics) | self.how.needs | self.also


def require_fields(scores: Scores, plan: Plan, name: str) -> None:
    """Refuse a run that states nowhere what a metric, or the matching, reads: it would be undefined everywhere.

    Raises:
        RankgateError: with what to add.
    """
    readers = [(f"the metric {metric.name}", metric.needs) for metric in plan.metrics]
    readers.append((f"`match: {plan.how.by.value}`", plan.how.needs))
    for need, query_id in scores.unstated.items():
        reader = next((reader for reader, needs in readers if need in needs), None)
        if reader is None:
            continue
        others = len(scores.query_ids) - len(scores.missing) - 1
        none = f"not for query {shown(query_id)}{', nor for any other' if others else ''}"
        if need is RunField.VERDICTS:
            raise bad_input(
                f"{reader} is by a judge's verdicts, which `rankgate judge` gives and `rankgate check` reads"
            )
        key = "start` and `end`, or `text" if need is RunField.OFFSETS else need.value
        message = f"{reader} reads `{key}`, which the run states nowhere ({none}). Write it into the run"
        raise bad_input(f"{message}, or leave out what reads it", file=name)
    untold = [query_id for query_id, why in scores.unfit.items() if why is Unfit.NO_TEXT]
    if untold and (too_many(untold, len(scores.query_ids)) or len(untold) == len(scores.query_ids)):
        which = (
            f"{len(untold):,} of {len(scores.query_ids):,} queries ({shown(untold[0])}{', …' if untold[1:] else ''})"
        )
        raise bad_input(
            f"nothing can match for {which}: their spans state no `text`, and results of their documents no `start` "
            "and `end`. Write `text` into the spans (`rankgate gold anchor` does), or `start` and `end` into the run",
            file=name,
        )


def require_kind(gold: Gold, plan: Plan) -> None:
    """Refuse ids where spans are matched, and spans where ids are, with the line of each sample."""
    by_span = plan.how.by is By.SPAN
    log = ProblemLog()
    reader = next((metric.name for metric in plan.metrics if RunField.PASSAGES in metric.needs), None)
    if reader and not by_span:
        raise bad_input(f"the metric {reader} is of passages that the gold set names as spans; write `match: span`")
    wrong = "as a span; write `match: span`"
    wrong = "by id, and `match: span` reads spans; `rankgate gold anchor` turns ids into them" if by_span else wrong
    for sample in gold.samples.values():
        ids = (each for each in sample.gains if each not in sample.spans) if by_span else iter(sample.spans)
        if (stray := next(ids, None)) is not None:
            message = f"sample {shown(sample.query_id)} names {shown(stray)} {wrong}"
            log.add(Problem(message, gold.name, sample.line))
        if by_span:
            for problem in ids_beside_spans(gold, sample):
                log.add(problem)
    log.raise_if_any()


def ids_beside_spans(gold: Gold, sample: Sample) -> Iterator[Problem]:
    """The keys of a sample beside `expected_output` that name ids, each with what to do where spans are read."""
    for key, ids in (("judge_labels", sample.judge_gains), ("negatives", sample.negatives)):
        if (stray := next((each for each in ids if each not in sample.spans), None)) is not None:
            message = f"{key} are ids ({shown(stray)}), which `match: span` does not read; remove {key} of the sample"
            yield Problem(f"sample {shown(sample.query_id)}: {message}", gold.name, sample.line, key)


def require_gold_queries(scores: Scores, name: str, gold: Gold) -> None:
    """Refuse a run without any query of the gold: nothing scored is an error, never a pass.

    Raises:
        RankgateError: with some ids of either.
    """
    if len(scores.missing) < len(scores.query_ids):
        return
    if scores.unasked:
        message = f"no line of the run states the text that {gold.name} has of its question"
        raise bad_input(f"{message}; record it again, or have its lines state the texts", file=name)
    wanted = ", ".join(map(shown, scores.query_ids[:3]))
    present = ", ".join(map(shown, scores.unknown_queries[:3])) or "no query at all"
    message = f"the run has none of the {len(scores.query_ids):,} gold questions: {gold.name} has {wanted}"
    raise bad_input(f"{message}, the run has {present}; do both use the same question ids?", file=name)
