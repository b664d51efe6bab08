"""`rankgate.check(...)` and `rankgate.compare(...)`: the commands, from files or from what Python has in memory."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rankgate.check import check as judge
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs, PullInputs
from rankgate.criteria.model import parse_criteria
from rankgate.criteria.runs import NamedRun, deepest_cutoff
from rankgate.errors import bad_input, from_python, shown
from rankgate.forges.runner import base_branch
from rankgate.metrics import evaluation, held
from rankgate.metrics.held import File, GoldLike, RunLike
from rankgate.metrics.matching import Matching
from rankgate.metrics.names import COMPARED_METRICS
from rankgate.metrics.plan import Plan
from rankgate.metrics.scored_baseline import scored_pair
from rankgate.model import report as model
from rankgate.model.report_text import encode_report, with_texts
from rankgate.model.wording import VERDICT_WORDS
from rankgate.readers.base import RunSource
from rankgate.readers.dates import iso_day
from rankgate.readers.formats import named_file
from rankgate.readers.results import listed
from rankgate.renderers.phrases import queries_line
from rankgate.renderers.view.numbers import HEADINGS, all_rows, cells_of

MAX_PROBLEMS = 3  # of a representation


class Report(evaluation.Shown, model.Report, frozen=True, kw_only=True):
    """What a check found, all of report.json: `verdict`, `summary`, `gates` and the rest (docs/python.md).

    `verdict` equals "pass", "warn", "fail" or "not_judged", and so does that of each gate, whose `decision`
    has the reasons with their `text`. A report by itself is neither true nor false.
    """

    def __bool__(self) -> bool:
        raise TypeError("a report is neither true nor false; compare report.verdict with 'pass'")

    def to_dict(self) -> dict[str, Any]:
        """What `rankgate check --format json` prints."""
        return dict(msgspec.json.decode(encode_report(self)))

    def table(self) -> tuple[str, Sequence[Sequence[str]]]:
        """The summary, and the gates, those that decide first."""
        rows = [HEADINGS, *map(cells_of, all_rows(self, len(self.gates)).rows)]
        more = filter(None, (queries_line(self), *map(str, self.problems[:MAX_PROBLEMS])))
        return " ".join([f"{VERDICT_WORDS[self.verdict]}.", self.summary, *more]), rows


@from_python
def check(
    gold: GoldLike | None = None,
    run: RunLike | None = None,
    *,
    baseline: RunLike | None = None,
    criteria: File | Mapping[str, Any] | None = None,
    base: str | None = None,
    date: str | dt.date | None = None,
) -> Report:
    """Judge a run as `rankgate check` does, from files or from what Python has in memory.

    >>> import rankgate
    >>> criteria = {"gates": [{"name": "recall@1", "threshold": 0.75}]}
    >>> rankgate.check(gold={"q": ["a"]}, run={"q": ["b", "a"]}, criteria=criteria).verdict == "fail"
    True

    Gold set, run and baseline are files, or what `rankgate.score` takes, by default what `inputs:` in the criteria
    name; a baseline may be a store, too. Criteria are a file, by default the one that the command finds, or a mapping
    of the same keys, whose paths are relative to the working directory. Waivers are those that the criteria name, else
    those beside them. `base` is the commit that a pull request is to be merged into, which judges as well; then all
    else has to be files. `date` is the day to judge by, such as "2026-01-31", by default today, UTC.

    A report comes back also where a gate fails: look at its `verdict`, "not_judged" where a gate has none.

    Raises:
        RankgateError: nothing can be judged, where the command exits with 2; it has every problem.
    """
    gold, run, baseline = map(listed, (gold, run, baseline))
    held.refuse_unequal(gold, run)
    held.refuse_unequal(gold, baseline, "baseline")
    inputs = Inputs(date=_day(date), gold=_file(gold, "gold"), run=_file(run, "run"), base=base)
    inputs = replace(
        inputs, baseline=_file(baseline, "baseline"), pull=PullInputs(branch=base and base_branch(os.environ))
    )
    if isinstance(criteria, Mapping):
        inputs = replace(inputs, parsed_criteria=parse_criteria(criteria))
    elif criteria is not None:
        if not (named := _file(criteria, "criteria")) or not named.is_file:
            raise bad_input(f"criteria={shown(criteria)} is neither a file nor a mapping")
        inputs = replace(inputs, criteria=named.path)
    if base is not None and (inputs.parsed_criteria or inputs.in_memory):
        raise bad_input("base= judges by files of that commit as well; give criteria, gold, run and baseline as files")
    report = with_texts(judge(inputs))
    return Report(**{name: getattr(report, name) for name in report.__struct_fields__})


@from_python
def compare(
    gold: GoldLike,
    a: RunLike,
    b: RunLike,
    *,
    metrics: str | Sequence[str] = COMPARED_METRICS,
    match: str | Matching = "chunk",
) -> evaluation.RunComparison:
    """Compare two runs query by query, as `rankgate compare` does; `a` is the one before, `b` the one after.

    >>> import rankgate
    >>> gold = {"q1": ["x"], "q2": ["y"]}
    >>> rankgate.compare(gold, {"q1": ["x"], "q2": []}, {"q1": ["x"], "q2": ["y"]}, metrics="mrr")["mrr"].delta
    0.5

    The arguments are those of `rankgate.score`; a run may be a store of `rankgate baseline`, too. No criteria are read.

    Raises:
        RankgateError: what cannot be scored, with file, line and query where there are any.
    """
    gold, a, b = map(listed, (gold, a, b))
    plan = Plan(metrics=evaluation.metrics_of(metrics), how=evaluation.matching_of(match))
    judged = held.held_gold(gold)
    sources: list[RunSource] = []
    for name, run in (("a", a), ("b", b)):
        held.refuse_unequal(gold, run, name)
        file = _file(run, name)
        if file and file.is_file:
            sources.append(NamedRun(file, deepest_cutoff(plan, judged)))
        else:
            sources.append(held.HeldRun(run, plan.how, name))
    runs, compared = scored_pair(judged, sources, plan)
    missing = (len(each.scores.missing) for each in runs)
    by_name = {metric.name: pairs for metric, pairs in compared.items()}
    return evaluation.RunComparison(by_name, len(judged.samples), *missing)


def _file(given: Any, name: str) -> InputFile | None:
    if given is None:
        return None
    if not isinstance(given, str | os.PathLike):
        return InputFile(name, held=given)
    if not os.fspath(given):
        raise bad_input(f"{name}= is empty; name a file")
    form, path = named_file(given)
    return InputFile(path, form)


def _day(date: str | dt.date | None) -> str:
    text = dt.datetime.now(dt.UTC).date().isoformat() if date is None else str(date)
    if iso_day(text) != text:
        raise bad_input(f"date={shown(date)} is not a date; write it as 2026-01-31")
    return text
