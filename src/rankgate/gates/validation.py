"""Criteria, gold, run and baseline looked at together: every problem, and every suspicious fact, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

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
from rankgate.model.scores import Scores
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


class _Accepted(NamedTuple):
    """The accepted run and its lists."""

    run: Run
    lists: Lists

    def scores(self, gold: Gold, plan: Plan) -> Scores:
        """What a check compares with."""
        scores = score(gold, filter(partial(answers_question, gold=gold), self.lists), plan)
        unasked = scores.missing & {ranking.query_id for ranking in self.lists}  # a line of another text
        return as_baseline(gold, self.run, msgspec.structs.replace(scores, unasked=unasked))

    def covered(self, gold: Gold, plan: Plan) -> int:
        """How many questions it compares on."""
        return len(gold.samples) - len(self.scores(gold, msgspec.structs.replace(plan, metrics=[])).new_queries)


class _ToJudge(NamedTuple):
    """The run to judge: its path, its lists, what else its file states; and the day."""

    path: str
    rankings: list[Ranking]
    run: Run
    today: str


def validate(inputs: Inputs) -> Findings:
    """Read all that is named, going on after a problem, and look at it together."""
    problems: list[Problem] = []
    criteria = _attempt(problems, load_criteria, inputs.criteria) if inputs.criteria else None
    gold_file = inputs.gold or (criteria.inputs.gold if criteria else None)
    run_file = inputs.run or (criteria.inputs.run if criteria else None)
    to_record = not_recorded(criteria) if criteria and not inputs.run else None
    waivers = _attempt(problems, waivers_of, criteria) if criteria else None
    plan = criteria.plan() if criteria else Plan(metrics=[])

    rankings = opened_run = None
    scored = frozenset[str]()
    gold = None
    if gold_file:
        gold = _attempt(
            problems, read_gold, gold_file.path, gold_file.format, gold_file.map, most_problems=MAX_PROBLEMS
        )
    candidate, stored = _sources(inputs, criteria, gold, plan)
    verdicts = _verdicts(problems, inputs, criteria, gold, plan, stored) if candidate else None
    if candidate and not to_record:
        opened_run = _opened(problems, candidate, plan, verdicts)
        rankings = _attempt(problems, list[Ranking], opened_run.rankings) if opened_run else None
        scored = opened_run.scored if opened_run else scored
    opened = _opened(problems, stored, plan, verdicts)
    lists = _attempt(problems, list[Ranking], opened.rankings) if opened else None
    accepted = _Accepted(opened, lists) if opened and lists is not None else None

    if criteria and gold:
        _attempt(problems, refuse_misfits, criteria, gold)
        covered = accepted.covered(gold, plan) if accepted else None
        _attempt(problems, refuse_lacking, criteria, len(gold.samples), covered)
    noted: list[Fact] = [facts.NotRecorded(to_record)] if to_record else []
    if gold:
        noted += _gold_facts(criteria, gold, plan, rankings, lists, scored)
    if criteria and opened_run and (code := code_of(opened_run.provenance, {}, inputs, criteria)):
        noted.append(facts.OldRun(code))
    if criteria:
        noted += [*facts.rubric_facts(criteria), *_inputs_facts(problems, criteria, gold)]
    results: list[GateResult] = []
    if gold and opened_run and rankings is not None and run_file:
        plan = msgspec.structs.replace(plan, depth=opened.depth if opened else None)
        to_judge = _ToJudge(run_file.path, rankings, opened_run, inputs.date)
        results = _attempt(problems, _judged, criteria, gold, to_judge, accepted, plan) or []
        problems += problems_of(overall_results(results), criteria.name) if criteria else []
        problems += _alone(criteria, results) if criteria else []
    if criteria and gold:
        noted += [*sights.power_facts(criteria, gold, results), *sights.proof_facts(criteria, gold)]
    noted += [facts.NotWaivable(each.name) for each in results if each.decision.hard_check_failed]
    valid = waivers if waivers and waivers.entries else None
    read = {"criteria": criteria, "gold": gold, "run": rankings, "baseline": accepted, "waivers": valid}
    entries = [entry(result, inputs.date) for result in results if not _covered(result, waivers, inputs.date)]
    notes = _judging(problems, criteria, gold, rankings, results, inputs.date) if criteria and gold else []
    notes += sights.sight_facts(criteria, gold, results) if criteria and gold else []
    return Findings(problems, noted, [name for name, value in read.items() if value is not None], entries, notes)


def _gold_facts(
    criteria: Criteria | None,
    gold: Gold,
    plan: Plan,
    rankings: Lists | None,
    accepted: Lists | None,
    scored: frozenset[str],
) -> Iterator[Fact]:
    """What is odd about the gold set, by itself, beside the run and the accepted run, and for the gates."""
    yield from facts.gold_facts(gold)
    if rankings is not None:
        yield from facts.run_facts(gold, rankings, scored)
    yield from facts.unseen_facts(gold, [each for each in (rankings, accepted) if each], plan.how)
    if criteria:
        yield from facts.gate_facts(criteria, gold, rankings or [])


def _sources(
    inputs: Inputs, criteria: Criteria | None, gold: Gold | None, plan: Plan
) -> tuple[RunSource | None, RunSource]:
    """Where the run and the accepted run come from."""
    run_file = inputs.run or (criteria.inputs.run if criteria else None)
    baseline_file = inputs.baseline or (criteria.inputs.baseline if criteria else None)
    accepted = AcceptedRun(
        file=baseline_file,
        criteria=criteria,
        required=inputs.baseline is not None,
        deepest=deepest_cutoff(plan, gold) if gold else 0,
    )
    if run_file is None:
        return None, accepted
    return RunFile(file=run_file, criteria=criteria, most_problems=MAX_PROBLEMS, gold=gold), accepted


def _opened(problems: list[Problem], source: RunSource, plan: Plan, verdicts: RunVerdicts | None) -> Run | None:
    """The run, with a judge's verdicts where a gate reads them."""
    run = _attempt(problems, source.open, verdicts.reads(plan) if verdicts else plan.needs)
    return verdicts.on(run) if verdicts and run else run


def _verdicts(
    problems: list[Problem],
    inputs: Inputs,
    criteria: Criteria | None,
    gold: Gold | None,
    plan: Plan,
    accepted: RunSource,
) -> RunVerdicts | None:
    """A judge's verdicts where a gate reads them."""
    if gold is None or criteria is None or RunField.VERDICTS not in plan.needs:
        return None
    from rankgate.judge.runs import run_verdicts  # noqa: PLC0415 -- paid only where answers are judged

    return _attempt(problems, run_verdicts, inputs, criteria, gold, plan, accepted)


def _inputs_facts(problems: list[Problem], criteria: Criteria, gold: Gold | None) -> list[facts.InputFact]:
    """What the criteria do not name, and what of the traffic the gold set has already."""
    files = _attempt(problems, traffic_files, criteria)
    in_gold = repeated(files.questions, gold) if files and gold else []
    unnamed = facts.input_facts(criteria, missing_inputs(criteria))
    return [*unnamed, facts.TrafficInGold(tuple(in_gold))] if in_gold else unnamed


def _judging(
    problems: list[Problem], criteria: Criteria, gold: Gold, lists: Lists | None, results: list[GateResult], today: str
) -> list[Fact]:
    """What judging the run's answers takes where none is judged yet, and what the gates on them can see."""
    block = criteria.judge
    plan = criteria.plan()
    if block is None or RunField.VERDICTS not in plan.needs:
        return []
    from rankgate.gates.judged import people_of  # noqa: PLC0415 -- paid only where answers are judged
    from rankgate.judge.runs import plan_of  # noqa: PLC0415 -- as above

    people = _attempt(problems, people_of, criteria, None, today) or {}
    seen: list[Fact] = [*sights.judged_facts(criteria, gold, results, people)]
    if not lists:
        return seen
    judging = _attempt(problems, plan_of, block, gold, plan.metrics, lists)
    if judging is None or not judging.answers:
        return seen
    calls, limits = judging.every_call, block.budget
    used = {"calls": (calls, limits.calls), "tokens": (judging.tokens, limits.tokens)}
    over = [name for name, (count, most) in used.items() if most is not None and count > most]
    return [facts.JudgingCost(judging.answers, calls, judging.tokens, over[0] if over else None), *seen]


def _alone(criteria: Criteria, results: list[GateResult]) -> list[Problem]:
    """Gates on faithfulness that can block beside none on `answered_rate`: who refuses what is hard would pass."""
    errors = {gate.metric.name for gate in criteria.gates if gate.blocks}
    text = "faithfulness leaves out answers that assert nothing; add a gate on answered_rate with severity: error"
    faithful = [each for each in results if each.is_main and each.metric == "faithfulness" and each.severity == "error"]
    blocks = [each for each in faithful if each.judge and each.judge.counts and "answered_rate" not in errors]
    return [Problem(text, criteria.name, each.line, f"gate {each.name}") for each in blocks]


def _covered(result: GateResult, waivers: Waivers | None, date: str) -> bool:
    """Whether there is nothing that a waiver could let pass, or one does."""
    waiver = waivers.of(result.name, result.segment) if waivers else None
    return not waivable(result) or (waiver is not None and waiver.covers(result.decision.violation or 0.0, date))


def _judged(
    criteria: Criteria | None,
    gold: Gold,
    to_judge: _ToJudge,
    accepted: _Accepted | None,
    plan: Plan,
) -> list[GateResult]:
    """What `check` would judge, and what it would not."""
    plan = msgspec.structs.replace(plan, compared=accepted is not None)
    baseline = accepted.scores(gold, plan) if accepted else None
    if baseline:
        plan = msgspec.structs.replace(plan, baseline_ids=ids_of(baseline, plan))
    candidate = score(gold, to_judge.rankings, plan)
    if baseline and accepted:
        baseline = with_foreign(gold, plan, ScoredRun(accepted.run, baseline, kept=accepted.lists)).scores
    require_gold_queries(candidate, to_judge.path, gold)
    require_fields(candidate, plan, to_judge.path)
    if criteria is None:
        return []
    refuse_stale(gold, plan, ScoredRun(to_judge.run, candidate, kept=to_judge.rankings))
    judges: Mapping[str, Judge] = {}
    if RunField.VERDICTS in plan.needs:
        from rankgate.gates.judged import people_of  # noqa: PLC0415 -- paid only where answers are judged

        run = to_judge.run
        judges = people_of(criteria, run.judge, to_judge.today, candidate, run.judges)
    return judge_scores(criteria, gold, candidate, baseline, judges=judges)


def _attempt(problems: list[Problem], read: Callable[..., T], *arguments: object, **options: object) -> T | None:
    """The value, or None after noting the problems of reading it."""
    try:
        return read(*arguments, **options)
    except RankgateError as error:
        problems += (problem for problem in error.problems if problem not in problems)
        return None
