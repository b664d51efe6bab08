"""The traffic that criteria name: its questions and labels, and what both runs have of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rankgate.collecting.traffic import compared_lists, sees_order
from rankgate.criteria.runs import traffic_of
from rankgate.metrics.matching import Matching
from rankgate.metrics.scored_run import ScoredRun
from rankgate.model.traffic_lists import TrafficFiles, TrafficLists
from rankgate.model.values import Ranking
from rankgate.readers.traffic import read_traffic, read_traffic_labels, read_traffic_sheets

if TYPE_CHECKING:
    from rankgate.criteria.gate import Gate
    from rankgate.criteria.model import Criteria


class TrafficRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The questions with their labels, and the lines that the run and the accepted run have of traffic."""

    files: TrafficFiles
    now: tuple[Ranking, ...]
    before: tuple[Ranking, ...]
    how: Matching

    def lists(self, k: int, *, by_order: bool = False) -> TrafficLists:
        """What both return among the first k."""
        return compared_lists(self.files.questions, self.now, self.before, k=k, by_order=by_order, how=self.how)


def traffic_files(criteria: Criteria, *, may_lack: bool = False) -> TrafficFiles | None:
    """What the criteria name, read; None where they name no traffic.

    So it is where the file of the questions `may_lack` and does: a job that judges forks may not have what users ask.
    """
    path, labels = criteria.inputs.traffic, criteria.inputs.traffic_labels
    if path is None or (may_lack and not Path(path).is_file()):
        return None
    if labels is None:
        return TrafficFiles(questions=read_traffic(path))
    given = read_traffic_labels(labels)
    return TrafficFiles(questions=read_traffic(path), labels=given, sheets=read_traffic_sheets(labels))


def traffic_runs(files: TrafficFiles, how: Matching, now: ScoredRun, baseline: ScoredRun | None) -> TrafficRuns:
    """What both runs have of the traffic."""
    stored = _traffic_in(baseline, how) if baseline else ()
    return TrafficRuns(files=files, now=_traffic_in(now, how), before=stored, how=how)


def _traffic_in(run: ScoredRun, how: Matching) -> tuple[Ranking, ...]:
    return tuple(ranking for ranking in traffic_of(run, how) if ranking.traffic)


def traffic_gate(criteria: Criteria) -> Gate | None:
    """The gate that says how far down lists are compared: one over traffic, or the first that blocks with a cut-off."""
    if criteria.traffic_gates:
        return criteria.traffic_gates[0]
    return next((gate for gate in criteria.gates if gate.blocks and isinstance(gate.metric.cutoff, int)), None)


def compared_as(criteria: Criteria) -> tuple[int, bool]:
    """How many results of a list count, and whether their order does."""
    gate = traffic_gate(criteria)
    if gate is None or not isinstance(gate.metric.cutoff, int):
        return criteria.default_k, False
    return gate.metric.cutoff, sees_order(gate.metric)
