"""`rankgate judge drift` and `judge compare`: whether a judge says what it said, and whether another one would."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rankgate.cli.judge_end import NAMELESS, cost_text, stopped_by
from rankgate.cli.judge_labels import named_by
from rankgate.cli.options import add_criteria, add_gold, add_run, processes
from rankgate.cli.output import as_json, say
from rankgate.cli.progress import bar
from rankgate.cli.signals import terminated_as_interrupted
from rankgate.criteria.inputs import runs_of
from rankgate.errors import bad_input, redacted
from rankgate.judge.client import Endpoint, Spending
from rankgate.judge.drift import LEAST, MOST_UNJUDGED, Drift, calls_due, drift_of, items_of
from rankgate.judge.job import Spent, read_answers, require_answers
from rankgate.judge.judging import WORKERS, ask_rounds
from rankgate.judge.model import Judge, Record, Slot
from rankgate.judge.plan import judged
from rankgate.judge.runs import NEEDS, judge_with_verdicts, known_verdicts, wants_of
from rankgate.judge.store import Store, read_verdicts
from rankgate.metrics.answers import JudgedMetric
from rankgate.metrics.comparison import Pairs
from rankgate.model.answers import AnswerVerdicts
from rankgate.model.values import CONFIDENCE
from rankgate.model.wording import count_text, delta_text, tokens_text, value_text
from rankgate.readers.base import whole_number
from rankgate.renderers.blocks import Table
from rankgate.statistics.calibration import kappa

_DRIFT = f"""\
Ask the judge again about the run and the baseline, as far as it has judged them: at least {LEAST} verdicts,
chosen by hash. Those that differ are asked for once more, since a judge is never quite constant. No stored
verdict changes.

exit codes: 0 no drift seen, 1 the judge drifted, 2 that could not be judged

examples:
  rankgate judge drift --dry-run
  rankgate judge drift --n 400 --baseline baseline/"""
_COMPARE = """\
Compare two judges on the answers of one run, before you change the judge: their verdicts lie in two files.
Nobody is asked.

examples:
  rankgate judge --criteria other.yaml -o other.verdicts.jsonl
  rankgate judge compare run.verdicts.jsonl other.verdicts.jsonl"""
_SHOWN, _SMALL = 5, 1e-6  # disagreements; a chance that is no number to read
_WORDS = {True: "drifted", False: "not seen", None: "not judged"}
_OF = {  # claims of either judge's verdicts, what has the verdicts on them, and what these are about
    "support": ("claims", "on the context"),
    "correctness": ("claims", "on the reference"),
    "gold_in_answer": ("gold_claims", "of the gold, on the answer"),
    "gold_in_context": ("gold_claims", "of the gold, on the context"),
}


def add_checks(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The two sub-commands."""
    add = partial(actions.add_parser, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    drift = add("drift", description=_DRIFT, argument_default=argparse.SUPPRESS)
    compare = add("compare", description=_COMPARE, argument_default=argparse.SUPPRESS)
    for each in (drift, compare):
        add_criteria(each)
        add_gold(each)
        add_run(each)
        each.add_argument("--baseline", metavar="SPEC", help="default: inputs.baseline")
        each.add_argument("--format", choices=["terminal", "json"], help="what to print")
        each.set_defaults(verdicts=None)
    drift.add_argument("--verdicts", metavar="FILE", help="default: those beside the run")
    drift.add_argument("--n", metavar="N", default=str(LEAST), help=f"verdicts, from {LEAST} (default: {LEAST})")
    drift.add_argument("--dry-run", action="store_true", help="print what it would take, and ask nothing")
    drift.add_argument("--workers", metavar="N", help=f"requests at once (default: {WORKERS})")
    compare.add_argument("a", metavar="A", help="verdicts on the run, by one judge")
    compare.add_argument("b", metavar="B", help="by another")


def _drift(arguments: argparse.Namespace) -> int:
    number, workers = whole_number(arguments.n), processes(arguments) or WORKERS
    if number is None or number < LEAST:
        raise bad_input(f"{arguments.n!r} is not a number from {LEAST}; fewer would say too little", key="--n")
    criteria, block, gold, inputs = named_by(arguments)
    candidate, *stored, _ = runs_of(inputs, criteria, criteria.plan(), gold)
    there = inputs.run or (criteria.inputs.run and Path(criteria.inputs.run.path).exists())
    runs = [opened(needs=NEEDS) for opened in ([candidate] if there else []) + stored]  # on a schedule, stored ones
    wants = wants_of(criteria.metrics())
    answers = [each for run in runs if run for each in read_answers(run, gold, wants, block.depth).answers]
    named, known = known_verdicts(inputs, criteria, *stored)
    judge = judge_with_verdicts(block, named, known)
    items = items_of(answers, judge, wants, known, number)
    if len(items) < LEAST:
        found = f"there are {count_text(len(items), 'verdict')} by judge {judge.short} on the run and the baseline"
        advice = "`rankgate judge` asks for those of more answers, and `rankgate baseline accept` keeps them"
        raise bad_input(f"{found}; whether it drifted shows in {LEAST}: {advice}", file=criteria.name, key="judge")
    plan = {"calls": len(items), "tokens": sum(sum(item.call.inputs.tokens(judge.prompts)) for item in items)}
    about = {"judge": {"id": judge.id, "model": judge.model}, "plan": plan}
    if arguments.format == "terminal":
        calls = f"{count_text(len(items), 'call')}, about {tokens_text(plan['tokens'])}"
        say([f"judge {judge.short} ({judge.model}): {calls}, and one more for each verdict that differs"])
        sys.stdout.flush()
    elif arguments.dry_run:
        say(as_json(about))
    if arguments.dry_run:
        return 0
    store, spending = Store(":memory:"), Spending(block.budget.calls, block.budget.tokens)
    ask = partial(ask_rounds, endpoint=Endpoint(block.endpoint), spending=spending, workers=workers)
    with terminated_as_interrupted(), bar(lambda: min(1.0, spending.calls / len(items)), "judging"):
        progress = ask(partial(calls_due, items), judge, store=store)
    spent = Spent(progress.calls, progress.tokens)
    if progress.stopped:
        raise stopped_by(progress.stopped, judge.model, spent, criteria, "Nothing is known of a drift", ".calls")
    drift = drift_of(items, store)
    if arguments.format == "terminal":
        say([*_drift_lines(drift, judge), cost_text(spent)])
    else:
        about |= {"verdict": _WORDS[drift.seen].replace(" ", "_"), "drift": drift}
        say(as_json({**about, "calls": spent.calls, "tokens": spent.tokens}))
    return 2 if drift.seen is None else int(drift.seen)


def _drift_lines(drift: Drift, judge: Judge) -> Iterator[str]:
    if drift.seen is None:
        missing = f"{drift.items - drift.compared:,} of {drift.items:,} questions got no usable verdict now"
        yield f"{_WORDS[None]}: {missing}; at most {MOST_UNJUDGED:.0%} may"
    else:
        differ = f"{drift.differ:,} of {drift.compared:,} verdicts differ"
        how = f" ({drift.fell:,} stricter, {drift.rose:,} kinder)"
        third = f"; by a third verdict {drift.changed:,} changed and {drift.noise:,} are noise"
        yield f"{_WORDS[drift.seen]}: {differ}{how + third if drift.differ else ''}"
    if drift.seen:
        chance = f"{drift.p:.1g}" if drift.p >= _SMALL else f"less than {_SMALL:g}"
        yield f"Without a drift the chance of that is {chance}. New verdicts are not comparable with those before."
        yield f"Name another model than {judge.model!r}, best with its date: then all is judged again."
    elif drift.seen is False:
        yield f"At 99% it is excluded that more than {drift.excluded:.1%} of the verdicts changed."
    if drift.before != drift.now:
        yield f"served before by {', '.join(drift.before)}; now by {', '.join(drift.now)}"


def _compare(arguments: argparse.Namespace) -> int:
    criteria, block, gold, inputs = named_by(arguments)
    metrics = [metric for metric in criteria.metrics() if isinstance(metric, JudgedMetric)]
    wants, (candidate, *stored, _) = wants_of(metrics), runs_of(inputs, criteria, criteria.plan(), gold)
    run = read_answers(candidate(needs=NEEDS), gold, wants, block.depth)
    require_answers(run)
    advice = "`rankgate judge --criteria OTHER.yaml -o FILE` asks another judge about the run"
    for path in (arguments.a, arguments.b):
        if not Path(path).exists():
            raise bad_input(f"is not there; {advice}", file=path)
    known = [read_verdicts(path) for path in (arguments.a, arguments.b)]
    judges = [_judge_in(each, block.context_tokens) for each in known]
    accepted = known_verdicts(replace(inputs, untrusted_run=True), criteria, *stored)[1]  # those that it keeps
    sides = [(judge, {**accepted, **each}) for judge, each in zip(judges, known, strict=True)]
    pairs = [[judged(answer, judge, wants, verdicts) for judge, verdicts in sides] for answer in run.answers]
    both = [pair for pair in pairs if not any(metric.unjudged(side) for metric in metrics for side in pair)]
    if not both:
        raise bad_input(f"no answer has all that the gates need, here and in {arguments.a}; {advice}", file=arguments.b)
    said, left = [*_claims_of_both(both)], len(pairs) - len(both)
    known_by_both, differ = [*_metric_values(metrics, both)], [each for each in said if each["a"] != each["b"]]
    agreed = kappa([(each["a"], each["b"], 1.0) for each in said]) if said else None
    if arguments.format == "json":
        of = [{"judge": judge.id, "model": judge.model} for judge in judges]
        counts = {"answers": len(both), "left": left, "claims": len(said), "kappa": agreed}
        say(as_json({"a": of[0], "b": of[1], **counts, "metrics": known_by_both, "disagreements": differ}))
        return 0
    for name, judge, path in zip("AB", judges, (arguments.a, arguments.b), strict=True):
        say([f"{name}: judge {judge.short} ({judge.model}), {redacted(path)}"])
    more = f"; {left:,} more lack verdicts of A or B" if left else ""
    say([f"{count_text(len(both), 'answer')} judged by both{more}", _metric_table(known_by_both)])
    if said:
        same = f"the same verdict on {1 - len(differ) / len(said):.1%}"
        also = "" if agreed is None else f", kappa {agreed:.2f}"
        say([f"{count_text(len(said), 'claim')} that both have, word for word: {same}{also}"])
    say(["  {query_id}, {about}: A {a}, B {b}: {claim}".format(**each) for each in differ[:_SHOWN]])
    return 0


def _judge_in(known: Mapping[Slot, Record], context_tokens: int | None) -> Judge:
    """The judge with the most verdicts in a file, with the model that gave most of these."""
    [(own, _)] = Counter(slot.judge for slot in known).most_common(1) or [("", 0)]
    models = Counter(record.model for slot, record in known.items() if slot.judge == own)
    model = next((name for name, _ in models.most_common(1) if name), NAMELESS)
    return Judge(id=own, model=model, parameters={}, mode="prompt", prompts={}, context_tokens=context_tokens)


def _metric_values(
    metrics: Sequence[JudgedMetric], pairs: Sequence[Sequence[AnswerVerdicts]]
) -> Iterator[dict[str, Any]]:
    for metric in metrics:
        found = [[metric.value(side) for side in pair] for pair in pairs]
        if values := [(a, b) for a, b in found if a is not None and b is not None]:
            deltas, n = [b - a for a, b in values], len(values)
            ci = Pairs(metric=metric, new=[b for _, b in values], old=[a for a, _ in values]).interval(CONFIDENCE)
            a, b = (sum(side) / n for side in zip(*values, strict=True))
            shares = {"equal": deltas.count(0) / n, "a": a, "b": b, "change": sum(deltas) / n, "ci": ci}
            yield {"metric": metric.name, "unit": metric.unit, "answers": n, **shares}


def _metric_table(found: Sequence[Mapping[str, Any]]) -> Table:
    rows: list[tuple[str, ...]] = [("metric", "answers", "equal", "A", "B", "B − A", "95% interval")]
    for each in found:
        shown = [value_text(each[side], each["unit"]) for side in "ab"]
        change, *ends = (delta_text(end, each["unit"]) for end in (each["change"], *(each["ci"] or ())))
        counts = (each["metric"], f"{each['answers']:,}", f"{each['equal']:.1%}")
        rows.append((*counts, *shown, change, " to ".join(ends) or "–"))
    return Table(rows=rows, right=range(1, 6))


def _claims_of_both(pairs: Sequence[Sequence[AnswerVerdicts]]) -> Iterator[dict[str, str]]:
    """What each says of the claims that both have."""
    for pair in pairs:
        for of, (claims, about) in _OF.items():
            sides = [(getattr(side, claims), getattr(side, of)) for side in pair]
            if all(texts and found for texts, found in sides):
                a, b = (
                    {getattr(text, "text", text): each.verdict.value for text, each in zip(*side, strict=True)}
                    for side in sides
                )
                where = {"query_id": pair[0].query_id, "about": about}
                yield from ({**where, "claim": text, "a": a[text], "b": b[text]} for text in a if text in b)


CHECKS: Mapping[str, Callable[[argparse.Namespace], int]] = {"drift": _drift, "compare": _compare}
