"""A run on its way into the baseline store: judged as `check` does, packed, and described."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from rankgate.cli.baseline_options import memory_of, origin_of, place_of
from rankgate.cli.options import date_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.baselines.memory import Memory
    from rankgate.baselines.packing import Packed
    from rankgate.baselines.records import Record
    from rankgate.criteria import Criteria, InputFile
    from rankgate.criteria.inputs import Inputs
    from rankgate.model.report import Report
    from rankgate.model.values import Gold, Need, Ranking


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its record; `report` is None where there are no criteria or no gold set to judge it by.

    `unusable` says why what is accepted now could not be compared with; `private` reports on the private queries.
    """

    memory: Memory
    criteria: Criteria | None
    packed: Packed
    record: Record
    report: Report | None
    unusable: str | None = None
    private: Report | None = None


def candidate_of(arguments: argparse.Namespace) -> Candidate:
    """Read, judge and pack the run that the arguments name.

    Raises:
        RankgateError: it cannot be read, has none of the gold's queries, or the store holds what is dated later.
    """
    from msgspec.structs import replace

    from rankgate.baselines.packing import DEFAULT_DEPTH, pack, recorded
    from rankgate.cli.inputs import criteria_if_any, file_of, refuse_two_stdins
    from rankgate.criteria.inputs import Inputs, gold_of, run_of
    from rankgate.errors import bad_input
    from rankgate.files.writing import readable_twice
    from rankgate.gates.acceptance import scores_of
    from rankgate.model.gold_changes import mark_of
    from rankgate.model.values import Need
    from rankgate.readers.formats import fingerprint_of

    depth = DEFAULT_DEPTH if arguments.depth is None else arguments.depth
    if depth < 1:
        raise bad_input(f"--depth must be at least 1, not {depth}")
    date = date_of(arguments)
    gold_file, run_file = file_of(arguments, "gold"), file_of(arguments, "run")
    refuse_two_stdins(gold_file, run_file)
    criteria = criteria_if_any(arguments)
    memory = memory_of(place := place_of(arguments, criteria))
    with readable_twice(run_file.path if run_file else "") as path:
        again = run_file and replace(run_file, path=path)
        gold = (
            gold_of(gold_file, criteria) if gold_file or (criteria and criteria.inputs.gold) else None
        )  # its public part
        # Latencies and answers always, for later gates; of the rest what today's gates read.
        needs = frozenset({Need.LATENCY, Need.ANSWER}) | (criteria.plan().needs if criteria else frozenset())
        opened = run_of(again, criteria, needs)
        name = "standard input" if run_file and path != run_file.path else opened.name
        asked = answered = 0

        def rankings() -> Iterator[Ranking]:
            nonlocal asked, answered
            for ranking in opened.rankings:
                asked += gold is not None and ranking.query_id in gold.all_samples
                answered += ranking.details is not None and ranking.details.generated is not None
                yield ranking

        packed = pack(rankings(), source=name, depth=depth)
        if answered or arguments.verdicts:
            kept = _answered_again(again, criteria, needs, gold if answered else None, arguments.verdicts)
            packed = pack(kept, source=name, depth=depth)
        if gold and not asked:
            raise bad_input(f"the run has none of the {len(gold.all_samples)} queries of {gold.name}", file=name)
        mark = mark_of(gold, fingerprint_of(gold)) if gold else None
        private_too = gold is not None and bool(gold.left_out)
        gold = None  # a large one is not held twice: judging reads it again
        report = unusable = private = None
        if criteria and mark:
            named = file_of(arguments, "criteria")
            own = named.path if named else criteria.name
            inputs = Inputs(date=date, criteria=own, gold=gold_file, run=again, verdicts=arguments.verdicts)
            report, unusable = _judged(inputs, criteria, place, memory)
            private = _judged(replace(inputs, part="private"), criteria, place, memory)[0] if private_too else None
    commit, branch = origin_of(arguments)
    record = replace(
        recorded(packed, source=name, provenance=opened.provenance, gold=mark, date=date),
        commit=commit,
        branch=branch,
        verdict=report.verdict if report else None,
        scores=scores_of(report) if report else {},
    )
    found = Candidate(memory=memory, criteria=criteria, packed=packed, record=record, report=report, unusable=unusable)
    return replace(found, private=private)


def _answered_again(
    run: InputFile | None, criteria: Criteria | None, needs: frozenset[Need], gold: Gold | None, verdicts: str | None
) -> Iterator[Ranking]:
    """The rankings of a run once more, its answers with the texts and the verdicts that are stored with them.

    Raises:
        RankgateError: verdicts are named and nothing says on what, or a line of them is damaged.
    """
    from rankgate.baselines.packing import with_context_texts
    from rankgate.criteria.inputs import run_of
    from rankgate.errors import bad_input
    from rankgate.judge.runs import verdicts_file, with_records
    from rankgate.judge.store import read_verdicts
    from rankgate.model.values import CONTEXT_DEPTH, Need

    if verdicts and gold is None:
        text = "--verdicts needs a run with answers, and their questions: name the gold set with --gold"
        raise bad_input(text, file=verdicts)
    depth = criteria.judge.depth if criteria and criteria.judge else CONTEXT_DEPTH
    rankings: Iterator[Ranking] = run_of(run, criteria, needs).rankings
    if Need.TEXTS not in needs:  # which a run without answers may have in any shape
        rankings = with_context_texts(rankings, run_of(run, criteria, needs | {Need.TEXTS}).rankings, depth)
    path = verdicts_file(run or (criteria.inputs.run if criteria else None), verdicts)
    return with_records(rankings, gold, read_verdicts(path), depth) if path and gold else rankings


def refuse_later(newest: Record | None, date: str, spec: str) -> None:
    """What is stored cannot have been stored tomorrow.

    Raises:
        RankgateError: the newest record is dated after today.
    """
    from rankgate.errors import bad_input

    if newest is not None and newest.date > date:
        message = f"the newest record is dated {newest.date}, after today ({date}); one of two clocks is wrong"
        raise bad_input(message, file=spec)


def _judged(inputs: Inputs, criteria: Criteria | None, place: str, memory: Memory) -> tuple[Report, str | None]:
    """The run judged against what is accepted now, or against nothing where that cannot be used any more."""
    from rankgate.cli.check import judge
    from rankgate.criteria import InputFile
    from rankgate.errors import RankgateError
    from rankgate.model.values import Verdict

    try:
        there = bool(memory.read("accepted"))
    except RankgateError as error:
        return judge(msgspec.structs.replace(inputs, without_baseline=True)), str(error)
    # As it was named: what the store calls itself lacks user and password, and is shown only.
    named = msgspec.structs.replace(inputs, baseline=InputFile(place))
    elsewhere = criteria is not None and criteria.inputs.baseline is not None and criteria.inputs.baseline.path != place
    first = msgspec.structs.replace(inputs, without_baseline=True) if elsewhere else inputs
    report = judge(named if there else first)
    ours = [problem for problem in report.problems if (problem.file or "").startswith(memory.spec)]
    if report.verdict is Verdict.NOT_JUDGED and there and ours == list(report.problems):
        why = "; ".join(map(str, ours))
        return judge(msgspec.structs.replace(inputs, without_baseline=True)), why
    return report, None
