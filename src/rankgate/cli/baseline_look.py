"""`rankgate baseline show`, `history` and `diff`: what is stored, and how two runs of it differ."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from rankgate.baselines.base import open_record
from rankgate.baselines.memory import lookup
from rankgate.baselines.records import Record
from rankgate.cli.baseline_options import add_format, add_place, add_store, memory_of, named_memory, place_of
from rankgate.cli.inputs import criteria_if_any, file_of
from rankgate.cli.options import add_criteria, add_gold
from rankgate.cli.output import as_json
from rankgate.criteria import Criteria
from rankgate.criteria.inputs import deepest_cutoff, gold_of
from rankgate.diagnosis.movements import movements
from rankgate.errors import bad_input
from rankgate.metrics.base import Kind, Metric
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_run import scored
from rankgate.metrics.scoring import ids_of
from rankgate.model.base_ref import SHORT_SHA
from rankgate.model.report import Movement
from rankgate.model.values import Need
from rankgate.model.wording import count_text, value_text
from rankgate.readers.base import Run
from rankgate.readers.formats import read_run
from rankgate.renderers.blocks import Block, Pairs, Table
from rankgate.renderers.escape import shorten, visible
from rankgate.renderers.phrases import rank_move

USUAL = 20  # entries of the history, and of a list of queries
MAX_METRICS = 4
HEADINGS = ("id", "date", "commit", "branch", "verdict", "queries", "reason")


class ListedRecord(Record, frozen=True, kw_only=True):
    """A record with its id, without the digest of each gold query; the history says whether it was accepted."""

    id: str
    accepted: bool | UnsetType = UNSET


def add_history(parser: argparse.ArgumentParser) -> None:
    """The options of `history`."""
    add_store(parser)
    parser.add_argument("--all", action="store_true", help=f"all of it (default: the last {USUAL})")
    parser.add_argument("--accepted", action="store_true", help="what was accepted, in place of every run")


def add_diff(parser: argparse.ArgumentParser) -> None:
    """The options of `diff`."""
    what = "an id or commit of the history, `accepted`, an anchor's name, or a run file"
    parser.add_argument("a", metavar="A", help=f"before: {what}")
    parser.add_argument("b", metavar="B", help="after: the same")
    parser.add_argument("--metric", metavar="NAME", help="by which they moved (default: the first gate's, or ndcg@10)")
    parser.add_argument("--all", action="store_true", help=f"list all (default: the first {USUAL})")
    add_place(parser)
    add_gold(parser)
    add_criteria(parser)
    add_format(parser)


def show(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """What is accepted now, and the anchors."""
    memory = named_memory(arguments)
    accepted = next(reversed(memory.read("accepted")), None)
    anchors = memory.read("anchors")
    if arguments.format == "json":
        value = {"accepted": accepted and described(accepted), "anchors": [described(each) for each in anchors]}
        return as_json({"spec": memory.spec, **value})
    if accepted is None:
        lines: list[Block] = [f"nothing has been accepted in {memory.spec} yet"]
    else:
        lines = [f"accepted in {memory.spec}:", Pairs(_facts(accepted))]
    if anchors:
        rows = [(each.name or "", *_row(each)) for each in anchors]
        lines += ["", "anchors:", Table(rows=[("name", *HEADINGS), *rows])]
    return lines


def history(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """The runs of the main branch, or what was accepted, the newest last; `*` marks what was accepted."""
    memory = named_memory(arguments)
    accepted = memory.read("accepted")
    last = None if arguments.all else USUAL + 1  # one more shows whether there are more
    records = accepted if arguments.accepted else memory.read("history", last=last)
    listed = records if arguments.all else records[-USUAL:]
    ids = {record.id for record in accepted}
    if arguments.format == "json":
        return as_json([described(record, accepted=record.id in ids) for record in listed])
    if not listed:
        return [f"nothing has been {'accepted' if arguments.accepted else 'recorded'} in {memory.spec} yet"]
    names = list(dict.fromkeys(name for record in listed for name in record.scores))[:MAX_METRICS]
    rows = [
        ("*" if record.id in ids else "", *_row(record), *(_score(record.scores.get(name)) for name in names))
        for record in listed
    ]
    numbers = range(len(HEADINGS) + 1, len(HEADINGS) + 1 + len(names))
    lines: list[Block] = [Table(rows=[("", *HEADINGS, *names), *rows], right=numbers)]
    if len(records) > len(listed):
        lines.append(f"  the last {len(listed)}; --all lists the older ones too")
    return lines


def diff(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Score both with today's gold set and list what moved, the losers first."""
    criteria = criteria_if_any(arguments)
    gold = gold_of(file_of(arguments, "gold"), criteria)
    metric = _metric(arguments.metric, criteria)
    plan = replace(criteria.plan(), metrics=[metric]) if criteria else Plan(metrics=[metric], keep_matched=True)
    deepest = deepest_cutoff(plan, gold)
    runs = [_opened(word, arguments, criteria, plan.needs, deepest) for word in (arguments.a, arguments.b)]
    plan = replace(plan, depth=min((run.depth for run in runs if run.depth), default=None))
    before = scored(gold, runs[0], plan, lambda: None)
    plan = replace(plan, baseline_ids=ids_of(before.scores, plan))
    after = scored(gold, runs[1], plan, lambda: None)
    moved = movements(gold, metric, after.scores, before.scores)
    if arguments.format == "json":
        return as_json({"a": runs[0].name, "b": runs[1].name, "metric": metric.name, "moved": moved})
    worse = sum(move.worse for move in moved)
    lines: list[Block] = [f"{metric.name}: {worse} worse, {len(moved) - worse} better, of {len(gold.samples)} queries"]
    rows = [_moved_row(move, metric) for move in (moved if arguments.all else moved[:USUAL])]
    lines += ["", Table(rows=[("query", "A", "B", "documents"), *rows], right=(1, 2))] if rows else []
    if len(moved) > len(rows):
        lines.append(f"  the first {len(rows)} of {len(moved)}; --all lists them")
    return lines


def described(record: Record, *, accepted: bool | UnsetType = UNSET) -> ListedRecord:
    """A record as JSON shows it."""
    kept = replace(record, gold=record.gold and replace(record.gold, judged=None))
    return ListedRecord(**asdict(kept), id=record.id, accepted=accepted)


def answers_text(record: Record) -> str:
    """How many answers are stored, and how many verdicts on them; nothing where none is."""
    counts = count_text(record.answers or 0, "answer"), count_text(record.verdicts or 0, "verdict")
    return " with ".join(counts) if record.answers else ""


def _row(record: Record) -> tuple[str, ...]:
    return (
        record.id,
        record.date,
        (record.commit or "")[:SHORT_SHA],
        shorten(visible(record.branch or ""), 20),
        record.verdict.value if record.verdict else "",
        str(record.queries),
        shorten(visible(record.reason or ""), 40),
    )


def _facts(record: Record) -> list[tuple[str, str]]:
    facts = {
        "id": record.id,
        "date": record.date,
        "commit": record.commit,
        "branch": record.branch,
        "source": record.source,
        "queries": f"{record.queries:,}, ranks to {record.depth}",
        "kept": ", ".join(record.kept),
        "answers": answers_text(record),
        "gold": record.gold and f"{record.gold.path}, {record.gold.queries:,} queries",
        "verdict": record.verdict and record.verdict.value,
        "reason": record.reason,
        "by": record.by,
        **{name: _score(value) for name, value in record.scores.items()},
        **{key: str(value) for key, value in record.provenance.items()},
    }
    return [(key, shorten(visible(str(value)), 100)) for key, value in facts.items() if value]


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _moved_row(move: Movement, metric: Metric) -> tuple[str, ...]:
    documents = "; ".join(f"{shorten(visible(doc.id), 40)} {rank_move(doc)}" for doc in move.documents[:3])
    values = (value_text(value, metric.unit) for value in (move.before, move.after))
    return (shorten(visible(move.query_id), 40), *values, documents)


def _metric(named: str | None, criteria: Criteria | None) -> Metric:
    ranked = [gate.metric for gate in criteria.gates if gate.metric.kind is Kind.RELEVANCE] if criteria else []
    if named is None and ranked:
        return ranked[0]
    try:
        return parse_metric("ndcg@10" if named is None else named)
    except UnknownMetricError as error:
        raise bad_input(str(error), key="--metric") from error


def _opened(
    word: str, arguments: argparse.Namespace, criteria: Criteria | None, needs: frozenset[Need], deepest: int
) -> Run:
    """A run file where there is one of this name, else a record of the store."""
    if Path(word).is_file():
        return read_run(word, needs=needs)
    memory = memory_of(place_of(arguments, criteria))
    record = lookup(memory, word)
    run = open_record(memory, record, needs, deepest=deepest)
    return replace(run, name=f"{memory.spec} {record.name or record.id}")
