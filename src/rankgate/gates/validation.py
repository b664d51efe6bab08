"""Criteria, gold, run and baseline looked at together: every problem, and every suspicious fact, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from rankgate.criteria import Criteria, load_criteria
from rankgate.criteria.inputs import Inputs, missing_inputs, not_recorded, waivers_of
from rankgate.criteria.run_code import code_of
from rankgate.criteria.runs import AcceptedRun, RunFile, deepest_cutoff
from rankgate.criteria.traffic import traffic_files
from rankgate.criteria.waivers import Waivers, entry
from rankgate.diagnosis.gold_set import refuse_stale, with_foreign
from rankgate.errors import Problem, RankgateError
from rankgate.gates import sights
from rankgate.gates import warnings as facts
from rankgate.gates.apply_waivers import waivable
from rankgate.gates.evaluation import refuse_lacking, refuse_misfits
from rankgate.gates.judging import judge_scores, overall_results
from rankgate.gates.traffic import repeated
from rankgate.metrics.plan import Plan, require_fields, require_gold_queries
from rankgate.metrics.scored_baseline import as_baseline, ids_of
from rankgate.metrics.scored_run import ScoredRun
from rankgate.metrics.scoring import score
from rankgate.model.gate_result import GateResult
from rankgate.model.reasons import problems_of
from rankgate.model.values import Gold, Ranking, RunField
from rankgate.readers.base import Run, RunSource, answers_question
from rankgate.readers.formats import read_gold

if TYPE_CHECKING:
    from rankgate.gates.judged import Judge
    from rankgate.judge.runs import RunVerdicts

T = TypeVar("T")
Fact = facts.InputFact | sights.SightFact
Lists = list[Ranking]
MAX_PROBLEMS = 1000


class Findings(msgspec.Struct, frozen=True):
    """Problems, which keep `check` from judging; facts, which are worth a look; and the inputs that could be read.

    `entries` are waivers to copy, one for each violation that none covers. `notes` say what judging
    the run's answers costs and can show, and what other numbers of questions would.
    """

    problems: list[Problem]
    facts: list[Fact]
    read: list[str]
    entries: list[str] = []
    notes: list[Fact] = []


class _Reading:
    """The inputs, as far as they can be read; `problems` say why the rest cannot be."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs
        self.problems: list[Problem] = []
        criteria = self.attempt(load_criteria, inputs.criteria) if inputs.criteria else None
        self.criteria = criteria
        self.to_record = not_recorded(criteria) if criteria and not inputs.run else None
        self.waivers = self.attempt(waivers_of, criteria) if criteria else None
        self.plan = criteria.plan() if criteria else Plan(metrics=[])
        self.gold: Gold | None = None
        if named := inputs.gold or (criteria.inputs.gold if criteria else None):
            self.gold = self.attempt(read_gold, named.path, named.format, named.map, most_problems=MAX_PROBLEMS)
        self.run_file = inputs.run or (criteria.inputs.run if criteria else None)
        accepted = AcceptedRun(
            file=inputs.baseline or (criteria.inputs.baseline if criteria else None),
            criteria=criteria,
            required=inputs.baseline is not None,
            deepest=deepest_cutoff(self.plan, self.gold) if self.gold else 0,
        )
        self._verdicts: RunVerdicts | None = None
        if self.run_file and self.gold and criteria and RunField.VERDICTS in self.plan.needs:
            from rankgate.judge.runs import run_verdicts  # noqa: PLC0415 -- paid only where answers are judged

            self._verdicts = self.attempt(run_verdicts, inputs, criteria, self.gold, self.plan, accepted)
        self.run: Run | None = None
        self.lists: Lists | None = None
        if self.run_file and not self.to_record:
            source = RunFile(file=self.run_file, criteria=criteria, most_problems=MAX_PROBLEMS, gold=self.gold)
            self.run, self.lists = self._opened(source)
        self.baseline, self.baseline_lists = self._opened(accepted)

    def attempt(self, read: Callable[..., T], *arguments: object, **options: object) -> T | None:
        """The value, or None after noting the problems of reading it."""
        try:
            return read(*arguments, **options)
        except RankgateError as error:
            self.problems += (problem for problem in error.problems if problem not in self.problems)
            return None

    def _opened(self, source: RunSource) -> tuple[Run | None, Lists | None]:
        """The run, with a judge's verdicts where a gate reads them, and its lists."""
        verdicts = self._verdicts
        run = self.attempt(source.open, verdicts.reads(self.plan) if verdicts else self.plan.needs)
        run = verdicts.on(run) if verdicts and run else run
        return run, self.attempt(list[Ranking], run.rankings) if run else None

    def baseline_scores(self, gold: Gold, plan: Plan) -> ScoredRun | None:
        """What a check compares with."""
        run, lists = self.baseline, self.baseline_lists
        if run is None or lists is None:
            return None
        scores = score(gold, filter(partial(answers_question, gold=gold), lists), plan)
        unasked = scores.missing & {ranking.query_id for ranking in lists}  # a line of another text
        return ScoredRun(run, as_baseline(gold, run, replace(scores, unasked=unasked)), kept=lists)


def validate(inputs: Inputs) -> Findings:
    """Read all that is named, going on after a problem, and look at it together."""
    reading = _Reading(inputs)
    criteria, gold, problems = reading.criteria, reading.gold, reading.problems
    if criteria and gold:
        reading.attempt(refuse_misfits, criteria, gold)
        baseline = reading.baseline_scores(gold, replace(reading.plan, metrics=[]))
        reading.attempt(refuse_lacking, criteria, len(gold.samples), baseline.covered if baseline else None)
    noted: list[Fact] = [facts.NotRecorded(reading.to_record)] if reading.to_record else []
    if gold:
        noted += _facts(reading, gold)
    run = reading.run
    if criteria and run and (code := code_of(run.provenance, {}, inputs, criteria)):
        noted.append(facts.OldRun(code))
    if criteria:
        noted += [*facts.rubric_facts(criteria), *_inputs_facts(reading, criteria)]
    results: list[GateResult] = []
    if gold and reading.run_file and run and reading.lists is not None:
        results = reading.attempt(_judged, reading, gold, run, reading.lists, reading.run_file.path) or []
        problems += problems_of(overall_results(results), criteria.name) if criteria else []
        problems += _alone(criteria, results) if criteria else []
    notes: list[Fact] = []
    if criteria and gold:
        noted += [*sights.power_facts(criteria, gold, results), *sights.proof_facts(criteria, gold)]
        notes = [*_judging(reading, criteria, gold, results), *sights.sight_facts(criteria, gold, results)]
    noted += [facts.NotWaivable(each.name) for each in results if each.decision.hard_check_failed]
    waivers = reading.waivers if reading.waivers and reading.waivers.entries else None
    read = {
        "criteria": criteria,
        "gold": gold,
        "run": reading.lists,
        "baseline": reading.baseline_lists,
        "waivers": waivers,
    }
    entries = [entry(each, inputs.date) for each in results if not _covered(each, waivers, inputs.date)]
    return Findings(problems, noted, [name for name, value in read.items() if value is not None], entries, notes)


def _facts(reading: _Reading, gold: Gold) -> Iterator[Fact]:
    """What is odd about the gold set, by itself, beside the run and the accepted run, and for the gates."""
    lists = reading.lists
    yield from facts.gold_facts(gold)
    if lists is not None:
        yield from facts.run_facts(gold, lists, reading.run.scored if reading.run else frozenset())
    read = [each for each in (lists, reading.baseline_lists) if each]
    yield from facts.unseen_facts(gold, read, reading.plan.how)
    if reading.criteria:
        yield from facts.gate_facts(reading.criteria, gold, lists or [])


def _inputs_facts(reading: _Reading, criteria: Criteria) -> list[facts.InputFact]:
    """What the criteria do not name, and what of the traffic the gold set has already."""
    files = reading.attempt(traffic_files, criteria)
    in_gold = repeated(files.questions, reading.gold) if files and reading.gold else []
    unnamed = missing_inputs(criteria) if criteria.retriever else {}
    noted: list[facts.InputFact] = [facts.UnnamedInputs(criteria.name, unnamed)] if unnamed else []
    return [*noted, facts.TrafficInGold(tuple(in_gold))] if in_gold else noted


def _judging(reading: _Reading, criteria: Criteria, gold: Gold, results: list[GateResult]) -> list[Fact]:
    """What judging the run's answers takes where none is judged yet, and what the gates on them can see."""
    block = criteria.judge
    plan = criteria.plan()
    if block is None or RunField.VERDICTS not in plan.needs:
        return []
    from rankgate.gates.judged import judges_by_metric  # noqa: PLC0415 -- paid only where answers are judged
    from rankgate.judge.runs import plan_of  # noqa: PLC0415 -- as above

    people = reading.attempt(judges_by_metric, criteria, None, reading.inputs.date) or {}
    seen: list[Fact] = [*sights.judged_facts(criteria, gold, results, people)]
    if not reading.lists:
        return seen
    judging = reading.attempt(plan_of, block, gold, plan.metrics, reading.lists)
    if judging is None or not judging.answers:
        return seen
    calls, limits = judging.every_call, block.budget
    used = {"calls": (calls, limits.calls), "tokens": (judging.tokens, limits.tokens)}
    over = [name for name, (count, most) in used.items() if most is not None and count > most]
    return [facts.JudgingCost(judging.answers, calls, judging.tokens, over[0] if over else None), *seen]


def _judged(reading: _Reading, gold: Gold, run: Run, lists: Lists, path: str) -> list[GateResult]:
    """The gates as `check` would decide them, none without criteria; what it refuses is refused."""
    stored = reading.baseline
    compared = stored is not None and reading.baseline_lists is not None
    plan = replace(reading.plan, depth=stored.depth if stored else None, compared=compared)
    baseline = reading.baseline_scores(gold, plan)
    if baseline:
        plan = replace(plan, baseline_ids=ids_of(baseline.scores, plan))
    candidate = score(gold, lists, plan)
    if baseline:
        baseline = with_foreign(gold, plan, baseline)
    require_gold_queries(candidate, path, gold)
    require_fields(candidate, plan, path)
    criteria = reading.criteria
    if criteria is None:
        return []
    refuse_stale(gold, plan, ScoredRun(run, candidate, kept=lists), baseline.scores if baseline else None)
    judges: Mapping[str, Judge] = {}
    if RunField.VERDICTS in plan.needs:
        from rankgate.gates.judged import judges_by_metric  # noqa: PLC0415 -- paid only where answers are judged

        judges = judges_by_metric(criteria, run.judge, reading.inputs.date, candidate, run.judges)
    return judge_scores(criteria, gold, candidate, baseline.scores if baseline else None, judges=judges)


def _alone(criteria: Criteria, results: list[GateResult]) -> list[Problem]:
    """Gates on faithful answers that can block beside none on `answered_rate`: who refuses what is hard would pass."""
    if any(gate.blocks and gate.metric.name == "answered_rate" for gate in criteria.gates):
        return []
    text = "leaves out answers that assert nothing; add a gate on answered_rate with severity: error"
    faithful = [each for each in results if each.is_main and each.metric in ("faithfulness", "unfaithful_rate")]
    blocking = [each for each in faithful if each.severity == "error" and each.judge and each.judge.counts]
    return [Problem(f"{each.metric} {text}", criteria.name, each.line, f"gate {each.name}") for each in blocking]


def _covered(result: GateResult, waivers: Waivers | None, date: str) -> bool:
    """Whether there is nothing that a waiver could let pass, or one does."""
    waiver = waivers.of(result.name, result.segment) if waivers else None
    return not waivable(result) or (waiver is not None and waiver.covers(result.decision.violation or 0.0, date))
