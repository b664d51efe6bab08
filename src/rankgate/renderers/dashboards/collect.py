"""Criteria files and their stores are read, and become a dashboard.

The stored rankings are scored with today's gold set as far as they are kept: for metrics that no gate recorded, for
intervals, and to compare runs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, count

import msgspec
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
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, RunField, Unit
from rankgate.model.wording import count_text
from rankgate.renderers.dashboards.build import Remembered, Shown, gate_set
from rankgate.renderers.dashboards.values import Dashboard, GateSet, Known, Questions
from rankgate.renderers.escape import one_line

USUAL = "recall@1,5,10,ndcg@10"  # curves beside those of the gates, where no others are named
_REMOTE = re.compile(
    r"(?:(?:https|ssh)://(?:[^@/\s]+@)?github\.com/|(?:[^@/\s]+@)?github\.com:)(?P<name>[\w-]+/[\w.-]+?)(?:\.git)?/?",
    re.ASCII,
)
MAX_RUNS = 500  # that a page lists, the newest
MAX_EMBEDDED = 3_000_000  # letters of values question by question in a page


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller names: criteria files, a store in place of theirs, and further metrics."""

    date: str
    criteria: Sequence[str]
    baseline: str | None = None
    metrics: Sequence[Metric] = ()
    repository: str | None = None


def collect(request: Request) -> Dashboard:
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


def _collected(path: str, page: str, request: Request) -> GateSet:
    criteria = load_criteria(path)
    place, memory = _memory(criteria, request)
    logs = Remembered(history=memory.read("history"), accepted=memory.read("accepted"))
    remembered = logs.until(request.date)
    limits: dict[str, list[float]] = {metric.name: [] for metric in criteria.metrics()}
    for gate in criteria.gates:
        limits[gate.metric.name] += [] if gate.threshold is None else [gate.threshold]
    usual = [] if request.metrics else parse_metrics(USUAL)
    metrics = list({metric.name: metric for metric in (*criteria.metrics(), *request.metrics, *usual)}.values())
    records = remembered.runs()[-MAX_RUNS:]
    plan = replace(criteria.plan(), metrics=[metric for metric in metrics if RunField.BASELINE not in metric.needs])
    shown = Shown(metrics=metrics, limits=limits, date=request.date, limit=MAX_RUNS)
    questions = None
    try:
        stored = Rankings(memory, gold_of(None, criteria), replace(plan, keep_matched=False))
        stored.read(records)
        shown = replace(shown, estimates=stored.estimates, paired=stored.paired)
        unscored = stored.reasons()
        questions = stored.questions(records)
    except RankgateError as error:
        if request.metrics:
            raise
        unscored = [f"Runs could not be compared: {error}"]
    built = gate_set(criteria.name, page, redacted(place), remembered, shown)
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


def _memory(criteria: Criteria, request: Request) -> tuple[str, Memory]:
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
            self.estimates[record.id] = values = dict[str, Known]()
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
