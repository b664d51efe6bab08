"""Criteria files and their stores are read, and become a dashboard.

The stored rankings are scored with today's gold set as far as they are kept: for metrics that no gate recorded, for
intervals, and to compare runs. From records to a page's values (`gate_set`) nothing is read, and the date is the only
clock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain, count

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from rankgate.baselines.base import open_record
from rankgate.baselines.memory import Memory, NotKeptError
from rankgate.baselines.records import Record
from rankgate.baselines.stores import store_for
from rankgate.criteria import Criteria, load_criteria
from rankgate.criteria.inputs import gold_of
from rankgate.criteria.runs import deepest_cutoff
from rankgate.errors import RankgateError, bad_input, redacted
from rankgate.files.git import GitError, run_git
from rankgate.metrics.base import Metric
from rankgate.metrics.comparison import paired_scores
from rankgate.metrics.estimates import attainable, estimate
from rankgate.metrics.names import parse_metrics
from rankgate.metrics.plan import Plan, require_fields, require_gold_queries
from rankgate.metrics.scoring import score
from rankgate.model.answers import JudgeMark
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, RunField, Unit
from rankgate.model.wording import count_text
from rankgate.readers.dates import days_after
from rankgate.renderers.dashboards.values import (
    MONTH,
    NOON,
    Acceptance,
    Curve,
    Dashboard,
    GateSet,
    Known,
    Point,
    Questions,
    ShownRun,
    Step,
    StepOutcome,
    Value,
    place_of,
    places_of,
)
from rankgate.renderers.escape import one_line

DEFAULT_CURVES = "recall@1,5,10,ndcg@10"  # curves beside those of the gates, where no others are named
_REMOTE = re.compile(
    r"(?:(?:https|ssh)://(?:[^@/\s]+@)?github\.com/|(?:[^@/\s]+@)?github\.com:)(?P<name>[\w-]+/[\w.-]+?)(?:\.git)?/?",
    re.ASCII,
)
MAX_RUNS = 500  # that a page lists, the newest
MAX_EMBEDDED = 3_000_000  # letters of values question by question in a page

Placed = Sequence[tuple[Record, float]]  # records with their places on the axis of time


class DashboardRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller names: criteria files, a store in place of theirs, and further metrics."""

    date: str
    criteria: Sequence[str]
    baseline: str | None = None
    metrics: Sequence[Metric] = ()
    repository: str | None = None


def collect(request: DashboardRequest) -> Dashboard:
    """Read everything; a criteria file that names no store is an error, as is whatever cannot be read."""
    compared = next((metric.name for metric in request.metrics if RunField.BASELINE in metric.needs), None)
    if compared:
        raise bad_input(f"{compared} compares with a baseline, which a run alone has none of", key="--metrics")
    pages = page_names(request.criteria)
    sets = tuple(_collected(path, page, request) for path, page in zip(request.criteria, pages, strict=True))
    return Dashboard(date=request.date, repository=request.repository or web_address(), sets=sets)


def page_names(paths: Sequence[str]) -> list[str]:
    """A file name for each criteria file, all different, none of them index.html."""
    names: list[str] = []
    for path in paths:
        stem = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\.ya?ml$", "", path.lower())).strip("-") or "gates"
        stem = "gates" if stem == "index" else stem[:80]
        wanted = chain([f"{stem}.html"], (f"{stem}-{number}.html" for number in count(2)))
        names.append(next(name for name in wanted if name not in names))
    return names


def _collected(path: str, page: str, request: DashboardRequest) -> GateSet:
    criteria = load_criteria(path)
    place, memory = _memory(criteria, request)
    logs = Remembered(history=memory.read("history"), accepted=memory.read("accepted"))
    remembered = logs.until(request.date)
    limits: dict[str, list[float]] = {metric.name: [] for metric in criteria.metrics()}
    for gate in criteria.gates:
        limits[gate.metric.name] += [] if gate.threshold is None else [gate.threshold]
    default_metrics = [] if request.metrics else parse_metrics(DEFAULT_CURVES)
    metrics = list(
        {metric.name: metric for metric in (*criteria.metrics(), *request.metrics, *default_metrics)}.values()
    )
    records = remembered.runs()[-MAX_RUNS:]
    plan = replace(criteria.plan(), metrics=[metric for metric in metrics if RunField.BASELINE not in metric.needs])
    inputs = CurveInputs(metrics=metrics, limits=limits, date=request.date, limit=MAX_RUNS)
    questions = None
    try:
        stored = Rankings(memory, gold_of(None, criteria), replace(plan, keep_matched=False))
        stored.read(records)
        inputs = replace(inputs, estimates=stored.estimates, paired=stored.paired)
        unscored = stored.reasons()
        questions = stored.questions(records)
    except RankgateError as error:
        if request.metrics:
            raise
        unscored = [f"Runs could not be compared: {error}"]
    built = gate_set(criteria.name, page, redacted(place), remembered, inputs)
    named = {*limits, *(metric.name for metric in request.metrics)}
    curves = tuple(curve for curve in built.curves if curve.metric in named or curve.points[1:])
    return replace(built, curves=curves, unscored=unscored, questions=questions)


def web_address() -> str | None:
    """The address of the repository on github.com; None where its remote `origin` lies elsewhere or there is none."""
    try:
        printed = run_git(".", "remote", "get-url", "origin")
    except GitError:
        return None
    match = _REMOTE.fullmatch(printed.stdout.decode("utf-8", "replace").strip())
    return f"https://github.com/{match['name']}" if match and not printed.returncode else None


def _memory(criteria: Criteria, request: DashboardRequest) -> tuple[str, Memory]:
    place = request.baseline or (criteria.inputs.baseline.path if criteria.inputs.baseline else None)
    if place is None:
        raise bad_input("names no baseline store; add inputs.baseline, or name one with --baseline", file=criteria.name)
    memory = store_for(place).memory
    if memory is None:
        raise bad_input("is a run file, which remembers nothing; a dashboard needs a store", file=place)
    return place, memory


class Rankings:
    """The stored rankings of a memory, scored with today's gold set; one that is read in order is read once.

    `estimates` are the values by record and metric. Two runs end where the shorter does.
    """

    def __init__(self, memory: Memory, gold: Gold, plan: Plan) -> None:
        self.memory, self.gold, self.plan = memory, gold, plan
        self.estimates: dict[str, dict[str, Known]] = {}
        self._columns: dict[str, dict[str, str]] = {}
        self._held: dict[tuple[str, int], dict[str, Scores]] = {}
        self._pairs: dict[tuple[str, str], dict[str, Known]] = {}
        self._others: Counter[str] = Counter()
        self._not_kept: set[str] = set()

    def read(self, records: Sequence[Record]) -> None:
        """Score all of them, and compare each with the one before."""
        for before, record in zip([None, *records], records, strict=False):
            self._scores(record, record.depth)
            if before:
                self.paired(before, record)

    def paired(self, before: Record, after: Record) -> Mapping[str, Known]:
        """By metric the change from the first to the second. A judge's verdicts do not compare: gates correct them."""
        if (names := (before.sha256, after.sha256)) not in self._pairs:
            changes = ((metric.name, self._change(metric, before, after)) for metric in self.plan.metrics)
            self._pairs[names] = {name: change for name, change in changes if change}
        return self._pairs[names]

    def questions(self, records: Sequence[Record]) -> Questions:
        """The values question by question of shares and scores that nobody judged, of the newest runs that fit."""
        stored = [record for record in reversed(records) if record.id in self._columns]
        sizes = accumulate(sum(map(len, self._columns[record.id].values())) for record in stored)
        kept = [record for record, size in zip(stored, sizes, strict=True) if size <= MAX_EMBEDDED]
        return Questions(
            ids=[one_line(query_id, 120) for query_id in self.gold.samples],
            columns={record.id: self._columns[record.id] for record in kept},
            depths={record.id: record.depth for record in kept},
            more=len(stored) - len(kept),
        )

    def reasons(self) -> list[str]:
        """Sentences on what could not be scored."""
        kept = "this store keeps the rankings of what is accepted now, and of all others the numbers alone"
        lead = f"{count_text(len(self._not_kept), 'run')} could not be rescored or compared: {kept}."
        counts = sorted(self._others.items())
        reasons = [f"{count_text(count, 'value')} could not be rescored: {why}" for why, count in counts]
        return [lead, *reasons] if self._not_kept else reasons

    def _change(self, metric: Metric, before: Record, after: Record) -> Known | None:
        if RunField.VERDICTS in metric.needs:
            return None
        if before.sha256 == after.sha256:
            return Known(0.0, (0.0, 0.0))
        depth = min(before.depth, after.depth)
        old = self._scores(before, depth).get(metric.name)
        new = self._scores(after, depth).get(metric.name)
        pairs = paired_scores(metric, new, old) if new and old else None
        if not pairs:
            return None
        change = pairs.compared()
        return Known(change.delta, change.ci)

    def _scores(self, record: Record, depth: int) -> Mapping[str, Scores]:
        """By metric the scores with its column; none where the rankings are not kept or cannot be scored."""
        key = (record.sha256, depth)
        if key not in self._held:
            self._held = dict([*self._held.items()][-3:])  # neighbours, a month ago, what is accepted
            others = Counter[str]() if record.id in self.estimates else self._others
            self._held[key] = {}
            try:
                self._held[key] = self._as_far_as_possible(record, replace(self.plan, depth=depth), others)
            except NotKeptError:
                self._not_kept.add(record.id)
        if depth == record.depth and record.id not in self.estimates:
            values: dict[str, Known] = {}
            self.estimates[record.id] = values
            for metric in (each for each in self.plan.metrics if each.name in self._held[key]):
                scores = self._held[key][metric.name]
                column = scores.values[metric.name]
                ends = attainable(metric, scores, column)
                if value := estimate(column, metric, scores.clusters, ends=ends):
                    values[metric.name] = Known(value.value, value.ci)
                if metric.unit in (Unit.SHARE, Unit.SCORE) and RunField.VERDICTS not in metric.needs:
                    self._columns.setdefault(record.id, {})[metric.name] = "".join(
                        "---" if value is None else f"{round(1000 * value):03x}" for value in column
                    )
        return self._held[key]

    def _as_far_as_possible(self, record: Record, plan: Plan, others: Counter[str]) -> dict[str, Scores]:
        """All metrics at once; where one of them cannot be scored, each by itself. `others` counts why some cannot."""
        try:
            run = open_record(self.memory, record, plan.needs, deepest=deepest_cutoff(plan, self.gold))
            scores = score(self.gold, run.rankings, plan)
            require_gold_queries(scores, run.name, self.gold)
            require_fields(scores, plan, run.name)
            return {each.name: scores for each in plan.metrics}
        except NotKeptError:
            raise
        except RankgateError as error:
            if len(plan.metrics) == 1:
                others[str(error)] += 1
                return {}
        parts = (self._as_far_as_possible(record, replace(plan, metrics=[each]), others) for each in plan.metrics)
        return {name: value for part in parts for name, value in part.items()}


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a store remembers, each log oldest first."""

    history: Sequence[Record]
    accepted: Sequence[Record] = ()

    def until(self, date: str) -> Remembered:
        """Without what is dated later."""
        history = [each for each in self.history if each.date <= date]
        accepted = [each for each in self.accepted if each.date <= date]
        return Remembered(history=history, accepted=accepted)

    def runs(self) -> list[Record]:
        """Every run once, by its day: what was accepted without being recorded, and then those of the history.

        A pull request's run is accepted before its merge is recorded, so the last recorded run is the last of its day.
        """
        recorded = {record.id for record in self.history}
        only_accepted = {record.id: record for record in self.accepted if record.id not in recorded}
        return sorted([*only_accepted.values(), *self.history], key=lambda record: record.date)


class CurveInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What a page is asked to show: metrics in their order, those that are gated with their thresholds."""

    metrics: Sequence[Metric]
    limits: Mapping[str, Sequence[float]]
    date: str
    limit: int
    estimates: Mapping[str, Mapping[str, Known]] = {}  # by record, of its stored rankings; for what was not recorded
    paired: Callable[[Record, Record], Mapping[str, Known]] | None = None  # the changes between two of them


def gate_set(
    name: str,
    page: str,
    place: str,
    remembered: Remembered,
    inputs: CurveInputs,
) -> GateSet:
    """The values of one page: its criteria's name, the file that it is written to, and its store without secrets.

    `remembered` is what the store holds up to today.
    """
    records = remembered.runs()
    listed = records[max(0, len(records) - inputs.limit) :]
    placed = list(zip(listed, places_of([record.date for record in listed]), strict=True))
    runs = _runs(placed, remembered, inputs)
    acceptances = _acceptances(remembered.accepted, {run.record.id: run for run in runs}, inputs)
    return GateSet(
        name=name,
        page=page,
        place=place,
        today=place_of(inputs.date) + 1,
        runs=runs,
        older=records[: len(records) - len(listed)],
        curves=tuple(_curve(metric, runs, acceptances, inputs) for metric in inputs.metrics),
        acceptances=acceptances,
    )


def _runs(placed: Placed, remembered: Remembered, inputs: CurveInputs) -> tuple[ShownRun, ...]:
    accepted = {record.id for record in remembered.accepted}
    golds = [record.gold.fingerprint if record.gold else None for record, _ in placed]
    judges: list[JudgeMark | None] = []
    for record, _ in placed:
        judges.append(record.judge or next(reversed(judges), None))
    changed = [None not in pair and pair[0] != pair[1] for pair in zip(judges, [None, *judges], strict=False)]
    return tuple(
        ShownRun(
            record=record,
            at=at,
            accepted=record.id in accepted,
            new_gold=None not in (gold, before) and gold != before,
            judges=judges_so_far,
            new_judge=new_judge,
            values=_values(record, inputs),
        )
        for (record, at), gold, before, judges_so_far, new_judge in zip(
            placed, golds, [None, *golds], accumulate(changed), changed, strict=False
        )
    )


def _values(record: Record, inputs: CurveInputs) -> dict[str, Value]:
    stored = inputs.estimates.get(record.id, {})
    values = {name: Value(value=known.value, rescored=True) for name, known in stored.items()}
    values |= {name: Value(value=value) for name, value in record.scores.items()}
    return {metric.name: values[metric.name] for metric in inputs.metrics if metric.name in values}


def _acceptances(
    accepted: Sequence[Record], runs: Mapping[str, ShownRun], inputs: CurveInputs
) -> tuple[Acceptance, ...]:
    """Those since the first run that is shown, and the one that was accepted when it came."""
    first = min((run.record.date for run in runs.values()), default="")
    earlier = [record for record in accepted if record.date < first]
    listed = [*earlier[-1:], *(record for record in accepted if record.date >= first)]
    # What the log has later lies no earlier: who goes back to a run of the same day does so after it.
    places = accumulate((_accepted_at(record, runs.get(record.id)) for record in listed), max)
    return tuple(
        Acceptance(record=record, at=at, shown=record.id in runs, values=_values(record, inputs))
        for record, at in zip(listed, places, strict=True)
    )


def _accepted_at(record: Record, run: ShownRun | None) -> float:
    """The place of the run if it was accepted on its own day, else the noon of the day of the acceptance."""
    return run.at if run is not None and run.record.date == record.date else place_of(record.date) + NOON


def _step(
    metric: Metric, earlier: Record, before: float | None, run: ShownRun | None, inputs: CurveInputs
) -> Step | None:
    """From an earlier record, which had this value, to a run; None where either has none."""
    now = run.values[metric.name].value if run else None
    if run is None or now is None or before is None:
        return None
    paired = inputs.paired(earlier, run.record).get(metric.name) if inputs.paired else None
    size = paired.value if paired else now - before
    return Step(before=before, size=size, direction=metric.direction, unit=metric.unit, paired=paired)


def _curve(metric: Metric, runs: Sequence[ShownRun], acceptances: Sequence[Acceptance], inputs: CurveInputs) -> Curve:
    judged = RunField.VERDICTS in metric.needs
    points: list[Point] = []
    for run in runs:
        value = run.values.get(metric.name)
        if value is not None and value.value is not None:
            span = run.judges if judged else 0
            old = points[-1] if points and points[-1].span == span else None
            step = _step(metric, old.run.record, old.value, run, inputs) if old else None
            today = inputs.estimates.get(run.record.id, {}).get(metric.name)
            points.append(Point(run=run, value=value.value, rescored=value.rescored, step=step, today=today, span=span))
    last = points[-1].run if points else None
    day = days_after(inputs.date, -MONTH)
    month = [point for point in points if point.run.record.date <= day and point.span == points[-1].span]
    values = [(each.at, each.values[metric.name].value) for each in acceptances if metric.name in each.values]
    # What is accepted now is the last acceptance, whether or not it has a value.
    accepted = acceptances[-1].values.get(metric.name) if acceptances else None
    newest = next((run.record.judge for run in reversed(runs) if run.record.judge), None)
    if judged and newest and acceptances and acceptances[-1].record.judge not in (newest, UNSET):
        accepted = None  # what another judge gave
    largest: dict[StepOutcome, Point] = {}  # the last of several
    sizes: dict[StepOutcome, float] = {}
    for point in points:
        if point.step and abs(point.step.size) >= sizes.get(point.step.outcome, 0.0):
            sizes[point.step.outcome] = abs(point.step.size)
            largest[point.step.outcome] = point
    return Curve(
        metric=metric.name,
        meaning=metric.meaning,
        unit=metric.unit,
        direction=metric.direction,
        gated=metric.name in inputs.limits,
        limits=tuple(sorted(set(inputs.limits.get(metric.name, ())))),
        points=tuple(points),
        steps=tuple((at, value) for at, value in values if value is not None),
        month=_step(metric, month[-1].run.record, month[-1].value, last, inputs) if month else None,
        accepted=_step(metric, acceptances[-1].record, accepted.value, last, inputs) if accepted else None,
        worse=largest.get("worse"),
        better=largest.get("better"),
        missing=len(runs) - len(points),
    )
