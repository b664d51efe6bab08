"""`rankgate baseline accept` and `record`: a run judged as `check` does, packed, described, and added to the store."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rankgate.baselines.base import open_record
from rankgate.baselines.clones import overtaken
from rankgate.baselines.memory import Memory, newest_accepted
from rankgate.baselines.packing import DEFAULT_DEPTH, Packed, pack, pack_run, recorded, with_context_texts
from rankgate.baselines.records import Record, amended
from rankgate.cli.check import judge
from rankgate.cli.inputs import criteria_if_any, memory_of, store_named
from rankgate.cli.options import date_of
from rankgate.cli.output import as_json
from rankgate.criteria import Criteria, InputFile
from rankgate.criteria.inputs import Inputs, gold_of
from rankgate.criteria.runs import candidate_run, deepest_cutoff, rankings_again
from rankgate.criteria.starter import REQUIRED
from rankgate.diagnosis.gold_set import mark_of
from rankgate.errors import RankgateError, bad_input, on_one_line, redacted_text
from rankgate.files.git import GitError, repository_around
from rankgate.files.writing import readable_twice
from rankgate.gates.acceptance import changes_of, is_green, refusal
from rankgate.judge.records import Record as Verdicts
from rankgate.judge.records import Slot
from rankgate.judge.runs import verdicts_file, with_records
from rankgate.judge.store import by_slot, read_verdicts, stored_verdicts
from rankgate.metrics.matching import By
from rankgate.metrics.plugins import packages_of
from rankgate.model.base_ref import SHA
from rankgate.model.conclusion import ConclusionKind
from rankgate.model.headline import short_headline
from rankgate.model.lineage import AnchorMark
from rankgate.model.loss_words import given_up_text
from rankgate.model.report import Report
from rankgate.model.values import CONTEXT_DEPTH, Gold, Ranking, RunField, Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text, value_text
from rankgate.readers.formats import fingerprint_of
from rankgate.readers.source import is_remote
from rankgate.readers.yaml_text import quoted
from rankgate.renderers.blocks import Block, Table, plain_text
from rankgate.renderers.phrases import NOTHING

# What an acceptance mends itself, or notes.
_OF_ACCEPTING = frozenset({ConclusionKind.NO_BASELINE, ConclusionKind.GIVEN_UP})
_NO_GOLD = "no gold set is named, so the run was not judged; name one with --gold, or as inputs.gold in the criteria"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its record; `report` is None where there are no criteria or no gold set to judge it by.

    `unusable` says why what is accepted now could not be compared with.
    """

    memory: Memory
    criteria: Criteria | None
    packed: Packed
    record: Record
    report: Report | None
    unusable: str | None = None


def accept(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Store the run as the accepted one, if it passes every gate or a reason is given."""
    if arguments.new_anchor and not arguments.reason:
        raise bad_input("--new-anchor needs --reason TEXT: what was given up until now is not said any more")
    candidate = _candidate(arguments)
    unjudged = _NO_GOLD if candidate.criteria else None  # without criteria nothing is asked of it
    refused = refusal(candidate.report) if candidate.report else unjudged
    if refused and not arguments.reason:
        table = plain_text(_change_table(candidate)).rstrip("\n")
        advice = (
            "nothing was accepted; mend it and record again, or accept it with --reason TEXT, which is stored with it"
        )
        raise bad_input("\n".join(filter(None, (advice, refused, table))), file=candidate.record.source)
    newest: Record | None = None
    try:
        newest = newest_accepted(candidate.memory)
        _refuse_later(newest, candidate)
    except RankgateError:
        if candidate.unusable is None:
            raise
    # What is accepted again is judged by itself now.
    needed = arguments.new_anchor or (newest is not None and newest.id == candidate.record.id)
    reason = redacted_text(arguments.reason) if arguments.reason and (refused or needed) else None
    by = redacted_text(arguments.by) if arguments.by else None
    record = replace(_with_anchor(candidate), reason=reason, by=by)
    record = amended([newest] if newest else [], record)
    if arguments.new_anchor:
        record = replace(record, anchor=AnchorMark(id=record.id, date=record.date))
    added = candidate.memory.add("accepted", record, candidate.packed.data)
    if arguments.format == "json":
        return _json(candidate, record, added=added, accepted=True)
    lines: list[Block] = [f"accepted {record.source} as the baseline in {candidate.memory.spec}: {_size(record)}"]
    lines += [*_facts(candidate), *_small_losses(candidate, new_anchor=arguments.new_anchor)]
    if newest is None and candidate.criteria:
        lines += _first_steps(candidate.criteria, candidate.memory.spec)
    if record.reason:
        lines.append(f"allowed: reason given: {record.reason}")
    elif arguments.reason:
        lines.append("the reason is not recorded, for none was needed")
    return lines


def _first_steps(criteria: Criteria, spec: str) -> list[str]:
    """The lines that criteria lack so that every check compares with what was accepted."""
    lines: list[str] = []
    if criteria.inputs.baseline is None:
        path = spec if is_remote(spec) else Path(os.path.relpath(spec, Path(criteria.name).parent)).as_posix()
        lines.append(f"add this line to `inputs:` of {criteria.name}: baseline: {quoted(path)}")
    if not criteria.baseline.required:
        lines.append(f"add this line to {criteria.name}: {REQUIRED}")
    return lines


def record(arguments: argparse.Namespace) -> str | Sequence[Block]:
    """Add the run to the history, and where the criteria say so accept one that passes."""
    candidate = _candidate(arguments)
    memory = candidate.memory
    report = candidate.report
    green = candidate.criteria is not None and candidate.criteria.baseline.accept == "green"
    if green and report is None:
        raise bad_input("`baseline: {accept: green}` needs a gold set to judge the run by; name it with --gold")
    _refuse_later(newest_accepted(memory), candidate)
    added = memory.add("history", candidate.record, candidate.packed.data)
    passes = green and candidate.unusable is None and report is not None and is_green(report)
    refused: str | None = None

    def is_overtaken(accepted: Sequence[Record]) -> bool:
        nonlocal refused
        refused = overtaken(accepted, candidate.record)
        return refused is not None

    if passes:
        memory.add("accepted", _with_anchor(candidate), candidate.packed.data, unless=is_overtaken)
    accepted = passes and refused is None
    if arguments.format == "json":
        return _json(candidate, candidate.record, added=added, accepted=accepted)
    what = f"{'recorded' if added else 'has already recorded'} {candidate.record.source} in {memory.spec}"
    lines: list[Block] = [f"{what}: {_size(candidate.record)}", *_facts(candidate)]
    if report:
        stays = f"what is accepted stays{f': {refused}' if refused else ''}"
        lines.append(f"{VERDICT_WORDS[report.verdict]}: {'accepted as the baseline' if accepted else stays}")
    return lines


def _with_anchor(candidate: Candidate) -> Record:
    """The record as it is accepted, with what it has to remember of small losses."""
    return replace(candidate.record, anchor=(candidate.report and candidate.report.changes.anchor) or msgspec.UNSET)


def _candidate(arguments: argparse.Namespace) -> Candidate:
    """Read, judge and pack the run that the arguments name."""
    date = date_of(arguments)
    criteria = criteria_if_any(arguments)
    store = store_named(arguments, criteria)
    memory = memory_of(store)
    with readable_twice(arguments.run.path if arguments.run else "") as path:
        run = arguments.run and replace(arguments.run, path=path)
        # The gold set is dropped with this call, since judging reads it again.
        packed, record = _read(arguments, run, criteria, memory, date)
        report = unusable = None
        if criteria and record.gold:
            inputs = Inputs(date=date, criteria=arguments.criteria or criteria.name, gold=arguments.gold, run=run)
            # What is accepted mends a baseline that is missing, or has too few of the questions.
            inputs = replace(
                inputs,
                verdicts=arguments.verdicts,
                parsed_criteria=criteria.requiring_no_baseline(),
                verdict_alone=True,
            )
            report, unusable = _judged(inputs, criteria, store, memory)
    commit, branch = _origin_of(arguments)
    record = replace(record, commit=commit, branch=branch)
    if report:
        scores = {name: metric.value for name, metric in report.measured.metrics.items()}
        record = replace(record, verdict=report.verdict, scores=scores, judge=report.provenance.judge)
    if criteria:
        record = replace(record, packages=packages_of(criteria.metrics()) or msgspec.UNSET)
    return Candidate(memory=memory, criteria=criteria, packed=packed, record=record, report=report, unusable=unusable)


def _read(
    arguments: argparse.Namespace, run: InputFile | None, criteria: Criteria | None, memory: Memory, date: str
) -> tuple[Packed, Record]:
    """Read and pack the run; its file is a copy where the arguments name standard input."""
    if arguments.depth is not None and arguments.depth < 1:
        raise bad_input(f"--depth must be at least 1, not {arguments.depth}")
    named = arguments.gold or (criteria and criteria.inputs.gold)
    gold = gold_of(arguments.gold, criteria) if named else None
    read_to = deepest_cutoff(criteria.plan(), gold) if criteria and gold else 0  # by today's gates
    depth = arguments.depth or max(DEFAULT_DEPTH, read_to)
    # Latencies and answers always, for later gates; of the rest what today's gates read.
    needs = frozenset({RunField.LATENCY, RunField.ANSWER}) | (criteria.plan().needs if criteria else frozenset())
    opened = candidate_run(run, criteria, gold=gold).open(needs)
    is_copy = run is not None and run.path != arguments.run.path
    name = "standard input" if is_copy else opened.name
    traffic = _traffic_of(run, criteria)
    questions = gold.samples.keys() if gold else ()
    packed = pack_run(opened, traffic, source=name, depth=depth, gold=questions)
    is_of_gold = packed.of_gold > 0
    if arguments.verdicts and not packed.answers:
        raise bad_input(_NOTHING_JUDGED, file=arguments.verdicts)
    if packed.answers:
        kept = _with_answers(run, criteria, needs, gold, arguments.verdicts, memory)
        packed = pack(chain(kept, traffic), source=name, depth=depth)
    if gold and not is_of_gold:
        raise bad_input(f"the run has none of the {len(gold.samples):,} questions of {gold.name}", file=name)
    mark = mark_of(gold, fingerprint_of(gold)) if gold else None
    return packed, recorded(packed, source=name, provenance=opened.provenance, gold=mark, date=date)


def _origin_of(arguments: argparse.Namespace) -> tuple[str | None, str | None]:
    """The commit and the branch that the run was recorded at, as far as they are known.

    They are what the arguments name, else what is checked out here, else what the variables of GitHub Actions say.
    """
    commit = arguments.commit
    branch = arguments.branch
    if commit == "none":
        return None, branch
    if commit is not None and not re.match(SHA, commit):
        raise bad_input(f"--commit {commit!r} is no sha; write its hexadecimal digits, or none")
    branch = branch or os.environ.get("GITHUB_REF_NAME")
    try:
        repository = repository_around(".")
        head = repository.commit(commit or "HEAD") if commit or repository.has("HEAD") else None
        return head, branch or repository.branch()
    except GitError:  # no repository, or a commit that a shallow clone lacks: the sha stands for itself
        commit = commit or os.environ.get("GITHUB_SHA")
        if commit and not re.match(SHA, commit):
            raise bad_input(f"GITHUB_SHA is {commit!r}, which is no sha; name the commit with --commit") from None
        return commit, branch


def _traffic_of(run: InputFile | None, criteria: Criteria | None) -> list[Ranking]:
    """The lines that the run has of questions of the traffic, where the criteria name any."""
    if criteria is None or criteria.inputs.traffic is None:
        return []
    docs = {RunField.DOCS} if criteria.match.by is By.DOC else set()
    rankings = candidate_run(run, criteria).open(frozenset({RunField.TRAFFIC, *docs})).rankings
    return [ranking for ranking in rankings if ranking.traffic]


_NOTHING_JUDGED = "--verdicts needs a run with answers, and their questions: name the gold set with --gold"


def _with_answers(
    run: InputFile | None,
    criteria: Criteria | None,
    needs: frozenset[RunField],
    gold: Gold | None,
    verdicts: str | None,
    memory: Memory,
) -> Iterator[Ranking]:
    """The rankings of a run once more, its answers with the texts and the verdicts that are stored with them.

    Of answers that are as they were in the accepted run, `rankgate judge` asked nothing: their verdicts lie in there.
    """
    if verdicts and gold is None:
        raise bad_input(_NOTHING_JUDGED, file=verdicts)
    depth = criteria.judge.depth if criteria and criteria.judge else CONTEXT_DEPTH
    source = candidate_run(run, criteria, gold=gold)
    rankings = rankings_again(source, needs)
    if RunField.TEXTS not in needs:  # which a run without answers may have in any shape
        texts = rankings_again(source, needs | {RunField.TEXTS})
        rankings = with_context_texts(rankings, texts, depth)
    path = verdicts_file(run or (criteria.inputs.run if criteria else None), verdicts)
    named = read_verdicts(path) if path else {}
    known = by_slot([*named.values(), *_accepted_verdicts(memory).values()])
    rubrics = criteria.judge.rubrics if criteria and criteria.judge else {}
    return with_records(rankings, gold, known, depth, rubrics) if known and gold else rankings


def _accepted_verdicts(memory: Memory) -> dict[Slot, Verdicts]:
    """What is kept with the run that is accepted now; nothing where that is damaged, which this acceptance mends."""
    try:
        newest = newest_accepted(memory)
        return stored_verdicts(open_record(memory, newest, frozenset({RunField.VERDICTS}))) if newest else {}
    except RankgateError:
        return {}


def _judged(inputs: Inputs, criteria: Criteria, store: str, memory: Memory) -> tuple[Report, str | None]:
    """The run judged against what is accepted now, or against nothing where that cannot be used any more."""
    alone = replace(inputs, without_baseline=True)
    try:
        there = bool(memory.read("accepted"))
    except RankgateError as error:
        return judge(alone), str(error)
    if not there:
        elsewhere = criteria.inputs.baseline is not None and criteria.inputs.baseline.path != store
        return judge(alone if elsewhere else inputs), None
    # As it was named: what the store calls itself lacks user and password, and is shown only.
    report = judge(replace(inputs, baseline=InputFile(store)))
    ours = [problem for problem in report.problems if (problem.file or "").startswith(memory.spec)]
    if report.verdict is Verdict.NOT_JUDGED and ours == list(report.problems):
        return judge(alone), "; ".join(map(str, ours))
    return report, None


def _refuse_later(newest: Record | None, candidate: Candidate) -> None:
    """What is stored cannot have been stored tomorrow."""
    today = candidate.record.date
    if newest is not None and newest.date > today:
        message = f"the newest record is dated {newest.date}, after today ({today}); one of two clocks is wrong"
        raise bad_input(message, file=candidate.memory.spec)


def _json(candidate: Candidate, record: Record, *, added: bool, accepted: bool) -> str:
    changes = changes_of(candidate.report) if candidate.report else []
    return as_json({"id": record.id, "added": added, "accepted": accepted, "record": record, "changes": changes})


def answers_text(record: Record) -> str:
    """How many answers are stored, and how many verdicts on them; nothing where none is."""
    counts = count_text(record.answers or 0, "answer"), count_text(record.verdicts or 0, "verdict")
    return " with ".join(counts) if record.answers else ""


def _size(record: Record) -> str:
    cut = f" ({count_text(record.cut, 'list was', 'lists were')} longer and cut)" if record.cut else ""
    size = f"{count_text(record.queries, 'question')}, ranks to {record.depth}{cut}"
    return "; ".join(filter(None, (size, answers_text(record))))


def _small_losses(candidate: Candidate, *, new_anchor: bool) -> list[str]:
    """What the acceptance notes of them."""
    if new_anchor:
        return ["small losses add up from this run on"]
    report = candidate.report
    return [f"noted: {given_up_text(loss, report)}" for loss in report.changes.given_up] if report else []


def _facts(candidate: Candidate) -> list[Block]:
    """What the gates say of it, and why they say nothing."""
    lines = _change_table(candidate)
    if traffic := candidate.packed.traffic:
        lines.append(f"and {count_text(traffic, 'traffic question')}, by ids and a digest of each text")
    if candidate.unusable:
        lines += f"what was accepted last could not be compared with: {candidate.unusable}".splitlines()
    report = candidate.report
    if report:
        warned = report.verdict is Verdict.WARN and report.conclusion.kind not in _OF_ACCEPTING
        return [*lines, f"{VERDICT_WORDS[report.verdict]}: {short_headline(report)}"] if warned else lines
    if candidate.record.gold is None:
        return [*lines, "no gold set was named, so the record does not say which one was current"]
    return [*lines, "there are no criteria, so the run was not judged"]


def _change_table(candidate: Candidate) -> list[Block]:
    """A table of each gate's value before and now, and of segments that do not pass; nothing where none was judged."""
    report = candidate.report
    if report is None or not report.gates:
        return []
    units = {gate.name: gate.unit for gate in report.gates}
    rows: list[tuple[str, ...]] = [("gate", "accepted", "this run", "verdict")]
    for each in changes_of(report):
        unit = units[each.gate]
        values = (NOTHING if value is None else value_text(value, unit) for value in (each.before, each.now))
        name = f"{each.gate}, {on_one_line(each.segment)}" if each.segment else each.gate
        rows.append((name, *values, VERDICT_WORDS[each.verdict]))
    return [Table(rows=rows, right=(1, 2))]
