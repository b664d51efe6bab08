"""The traffic that criteria name: its questions and labels, and what both runs have of them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rankgate.collecting.traffic import compared_lists, sees_order
from rankgate.criteria.model import Criteria, Gate
from rankgate.metrics.matching import By, Matching
from rankgate.metrics.scored_run import rankings_again
from rankgate.model.traffic import TrafficFiles, TrafficLists
from rankgate.model.values import Need, Ranking
from rankgate.readers.base import Run
from rankgate.readers.traffic import read_traffic, read_traffic_labels


class TrafficRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The questions with their labels, and the lines that the run and the accepted run have of traffic."""

    files: TrafficFiles
    now: tuple[Ranking, ...]
    before: tuple[Ranking, ...]
    how: Matching

    def lists(self, k: int, *, by_order: bool = False) -> TrafficLists:
        """What both return among the first k."""
        return compared_lists(self.files.questions, self.now, self.before, k=k, by_order=by_order, how=self.how)


def traffic_files(criteria: Criteria) -> TrafficFiles | None:
    """What the criteria name, read; None where they name no traffic.

    Raises:
        RankgateError: a file is malformed, or that of the questions is not there.
    """
    path, labels = criteria.inputs.traffic, criteria.inputs.traffic_labels
    if path is None:
        return None
    return TrafficFiles(questions=read_traffic(path), labels=read_traffic_labels(labels) if labels else ())


def traffic_runs(
    files: TrafficFiles, how: Matching, open_run: Callable[..., Run | None], open_baseline: Callable[..., Run | None]
) -> TrafficRuns:
    """What both runs have of the traffic; each opener takes as `needs` what is read."""
    needs = frozenset({Need.TRAFFIC} | ({Need.DOCS} if how.by is By.DOC else set()))
    now, before = (_lines(opener, needs) for opener in (open_run, open_baseline))
    return TrafficRuns(files=files, now=now, before=before, how=how)


def _lines(opener: Callable[..., Run | None], needs: frozenset[Need]) -> tuple[Ranking, ...]:
    return tuple(ranking for ranking in rankings_again(opener, needs) if ranking.traffic)


def traffic_gate(criteria: Criteria) -> Gate | None:
    """The gate that says how far down lists are compared: the first that blocks and whose metric has a cut-off."""
    return next((gate for gate in criteria.gates if gate.blocks and isinstance(gate.metric.cutoff, int)), None)


def compared_as(criteria: Criteria) -> tuple[int, bool]:
    """How many results of a list count, and whether their order does."""
    gate = traffic_gate(criteria)
    if gate is None or not isinstance(gate.metric.cutoff, int):
        return criteria.default_k, False
    return gate.metric.cutoff, sees_order(gate.metric)
