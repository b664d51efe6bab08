"""`rankgate score`: metrics of one run, without a gate."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from rankgate.cli.inputs import criteria_if_any, plan_of
from rankgate.cli.options import add_option, add_shared, make_parser
from rankgate.cli.output import as_json, reading_bar, say
from rankgate.criteria.inputs import gold_of
from rankgate.criteria.runs import candidate_run
from rankgate.diagnosis.listings import unmatched
from rankgate.diagnosis.notes import judge_notes, judged_value, missing_notes
from rankgate.errors import bad_input, shown
from rankgate.files.writing import write_atomic
from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.estimates import Estimate, estimate
from rankgate.metrics.plan import require_fields, require_gold_queries
from rankgate.metrics.scored_run import scored
from rankgate.model.scores import Scores
from rankgate.model.values import Details, Gold, Item, Ranking, RunField
from rankgate.model.wording import count_text, interval_text, value_text
from rankgate.readers.base import through
from rankgate.renderers.blocks import Block, Table
from rankgate.renderers.explanation import never_line
from rankgate.renderers.phrases import NOTHING


class AsOf(NamedTuple):
    """A list as of the day of its question: what it keeps, how many it leaves out, how many state no version."""

    kept: Ranking
    left_out: int
    undated: int


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = make_parser(
        "score",
        "Compute metrics of a run against the gold set. No criteria are needed; their `inputs:` serve where a flag is\n"
        "missing.",
        "rankgate score --gold gold.yaml --run run.jsonl",
        "rankgate score --gold qrels.txt --run run.trec --metrics 'recall@1,3,5,10,ndcg(gain=exponential)@10'",
        "rankgate score --gold gold.yaml --run run.jsonl --as-of   # without what is newer than the question",
        "rankgate score --gold gold.yaml --run run.jsonl --per-query scores.jsonl --format json",
    )
    add_shared(options, "gold", "run", "criteria", "metrics", "match")
    as_of = "also without the documents whose doc_version is later than the question's metadata.as_of"
    add_option(options, "--as-of", as_of)
    add_option(options, "--per-query FILE", "also write one JSON line a query", action="write")
    add_shared(options, "format")
    return options


def run(arguments: argparse.Namespace) -> int:
    """Score and print."""
    complete = arguments.gold and arguments.run and not arguments.criteria
    criteria = None if complete else criteria_if_any(arguments)
    plan = plan_of(arguments, criteria, compares=False)
    gold = gold_of(arguments.gold, criteria)
    if arguments.as_of and all(sample.as_of is None for sample in gold.samples.values()):
        raise bad_input("--as-of: no sample states metadata.as_of, such as as_of: 2025-06-01", file=gold.name)
    plan = replace(plan, also=frozenset({RunField.VERSIONS})) if arguments.as_of else plan
    source = candidate_run(arguments.run, criteria)
    seen: dict[str, AsOf] = {}
    opened = source.open(plan.needs)
    if arguments.as_of:
        opened = through(opened, partial(_dated, gold, seen))
    with reading_bar() as progress:
        scored_run = scored(gold, opened, plan, source, progress)
    scores = scored_run.scores
    require_gold_queries(scores, opened.name, gold)
    require_fields(scores, plan, opened.name)
    estimates = [
        (metric, estimate(scores.values[metric.name], metric, clusters=scores.clusters)) for metric in plan.metrics
    ]
    if arguments.per_query:
        write_atomic(arguments.per_query, per_query_lines(scores))
    if arguments.as_of and RunField.VERSIONS in scores.unstated:
        raise bad_input("--as-of reads `doc_version` of the items, which the run states nowhere", file=opened.name)
    as_of: dict[str, Any] = {}
    after: list[Block] = []
    if arguments.as_of:
        from rankgate.cli.compare import compared_with, comparison_table
        from rankgate.metrics.scored_baseline import in_numbers

        later = [*compared_with(gold, plan, scores, {query_id: dated.kept for query_id, dated in seen.items()})]
        as_of = {metric.name: {"as_of": in_numbers(pairs)} for metric, pairs in later}
        after = ["", comparison_table(later, "value", "as of"), "", _as_of_text(_as_of_counts(seen))]
    if arguments.format == "json":
        say(_json(estimates, scores, as_of, seen))
        return 0
    rows = [("metric", "value", "95% interval", "queries", "at 0", "at 1"), *(_row(*each) for each in estimates)]
    odd = unmatched(gold, plan, scored_run)
    notes = [never_line(odd, shown, "the run")] if odd else []
    notes += [*missing_notes(plan.metrics, scores), *judge_notes(plan.metrics, scores)]
    without = sum(not sample.relevant() for sample in gold.samples.values())
    left_out = without if any(metric.kind is Kind.RELEVANCE for metric in plan.metrics) else 0
    say([Table(rows=rows, right=(1, 3, 4, 5)), *after, "", _counts(scores, left_out), *notes])
    return 0


def _valid_on(ranking: Ranking, day: str, known: Mapping[str, str | None] | None = None) -> Ranking:
    """The ranking, with its other lists, without items of a version later than the day; those of no version stay.

    An item of another list that states no version has that of the same id in the first list, as `known`.
    """
    details = ranking.details or Details()
    items = [Item()] * len(ranking.ids) if details.items is None else details.items
    versions_of = {doc: item.version for doc, item in zip(ranking.ids, items, strict=True)}
    versions = [versions_of[doc] or (known or {}).get(doc) for doc in ranking.ids]
    kept = [at for at, version in enumerate(versions) if version is None or version <= day]
    changed: dict[str, Any] = {} if details.items is None else {"items": [items[at] for at in kept]}
    changed |= {"raw": _valid_on(details.raw, day, versions_of)} if details.raw else {}
    if details.rewrites:
        changed["rewrites"] = [_valid_on(each, day, versions_of) for each in details.rewrites]
    left = replace(details, **changed) if ranking.details else None
    return replace(ranking, ids=[ranking.ids[at] for at in kept], details=left)


def _dated(gold: Gold, seen: dict[str, AsOf], rankings: Iterable[Ranking]) -> Iterator[Ranking]:
    """The rankings as they are; `seen` gets those of questions that state a day."""
    for ranking in rankings:
        if (sample := gold.samples.get(ranking.query_id)) and sample.as_of:
            kept = _valid_on(ranking, sample.as_of)
            undated = sum(item.version is None for item in ranking.stated_items)
            seen[ranking.query_id] = AsOf(kept, len(ranking.ids) - len(kept.ids), undated)
        yield ranking


def _as_of_counts(seen: dict[str, AsOf]) -> dict[str, int]:
    return {
        "queries": len(seen),
        "changed": sum(as_of.left_out > 0 for as_of in seen.values()),
        "left_out": sum(as_of.left_out for as_of in seen.values()),
        "undated": sum(as_of.undated for as_of in seen.values()),
    }


def _as_of_text(counts: Mapping[str, int]) -> str:
    dated = f"As of its day, for {count_text(counts['queries'], 'question')} that state one"
    newer = f"{count_text(counts['left_out'], 'newer result')} left out of {count_text(counts['changed'], 'list')}"
    return f"{dated}: {newer}; {count_text(counts['undated'], 'result')} without doc_version kept."


def per_query_lines(scores: Scores) -> bytes:
    """JSONL, `{"query_id": …, "scores": {"recall@5": 0.5, "mrr": null}}` in gold order; null where undefined.

    A query that the run lacks has `"missing": true` as well.
    """
    encode = msgspec.json.Encoder().encode
    lines: list[bytes] = []
    for row, query_id in enumerate(scores.query_ids):
        line: dict[str, Any] = {"query_id": query_id}
        line["scores"] = {name: column[row] for name, column in scores.values.items()}
        if query_id in scores.missing:
            line["missing"] = True
        lines.append(encode(line) + b"\n")
    return b"".join(lines)


def _json(
    estimates: Sequence[tuple[Metric, Estimate | None]],
    scores: Scores,
    as_of: Mapping[str, Any],
    seen: dict[str, AsOf],
) -> str:
    total = len(scores.query_ids)
    nothing = {"value": None, "ci": None, "n": 0, "undefined": total, "distribution": None}
    described: dict[str, dict[str, Any]] = {}
    for metric, estimated in estimates:
        value = nothing if estimated is None else msgspec.to_builtins(estimated)
        judged = {"with_judge": judged_value(metric, scores)} if scores.with_judge else {}
        described[metric.name] = {**value, **judged, **as_of.get(metric.name, {})}
    counts = {"missing": len(scores.missing), "unjudged": len(scores.unknown_queries), "duplicates": scores.duplicates}
    dated = {"as_of": _as_of_counts(seen)} if as_of else {}
    return as_json({"metrics": described, "queries": {"total": total, **counts}, **dated})


def _row(metric: Metric, estimated: Estimate | None) -> tuple[str, ...]:
    if estimated is None:
        return (metric.name, NOTHING, NOTHING, "0", "", "")
    value = value_text(estimated.value, metric.unit)
    interval = interval_text(estimated.ci, metric.unit) or NOTHING
    spread = estimated.distribution
    ends = [f"{100 * share:.0f}%" for share in (spread.zero, spread.one)] if spread else ["", ""]
    return (metric.name, value, interval, f"{estimated.n:,}", *ends)


def _counts(scores: Scores, left_out: int) -> str:
    """How many questions there are, and what became of those that are odd; of `left_out` nothing is relevant."""
    counts = [f"{count_text(len(scores.query_ids), 'question')} in the gold set"]
    if left_out:
        counts.append(f"{left_out:,} without a relevant document, left out")
    if scores.missing:
        counts.append(f"{len(scores.missing):,} absent from the run, scored as worst")
    if scores.unknown_queries:
        counts.append(f"{len(scores.unknown_queries):,} of the run without judgment, ignored")
    if scores.duplicates:
        counts.append(f"{count_text(scores.duplicates, 'repeated id')} removed")
    return "; ".join(counts) + "."
