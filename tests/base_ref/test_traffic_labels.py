"""A pair of runs is labelled on the pull request alone: its labels may block, and are shown where the base decides."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.reports import RECALL
from tests.report_keys import report_from

from rankgate.base_ref.worst import worst_of
from rankgate.model.base_ref import BaseSide
from rankgate.model.conclusion import Traffic
from rankgate.model.gate_result import GateResult
from rankgate.model.report import Provenance, Report
from rankgate.model.values import EvidenceState, Reason, ReasonKind, Verdict

ABOUT = BaseSide(ref="main", sha="1a2b3c4", head_verdict=Verdict.PASS)
MEASURED = changed(
    RECALL,
    name="precision@5",
    metric="precision@5 over traffic",
    value=None,
    ci=None,
    threshold=None,
    baseline=None,
    paired_value=None,
    delta=0.01,
    delta_ci=(-0.01, 0.03),
    verdict=Verdict.PASS,
    reasons=[Reason(ReasonKind.TRAFFIC, state=EvidenceState.CLEAR, count=40, among=40)],
    n=500,
    n_pairs=0,
)
UNLABELLED = changed(
    MEASURED,
    delta=None,
    delta_ci=None,
    evidence_state=EvidenceState.NO_INTERVAL,
    reasons=[Reason(ReasonKind.TRAFFIC, state=EvidenceState.NO_INTERVAL, count=30, limit=30)],
)
TRAFFIC = Traffic(named=500, asked=500, changed=60, share=0.12, labelled=0)


def report(gate: GateResult, traffic: Traffic) -> Report:
    return report_from(
        verdict=gate.verdict,
        summary="",
        gates=[gate],
        traffic=traffic,
        provenance=Provenance(rankgate="0", date="2026-01-31"),
    )


def test_a_pass_by_the_heads_labels_is_shown() -> None:
    base = report(UNLABELLED, TRAFFIC)
    head = report(MEASURED, replace(TRAFFIC, labelled=40, measured=True))
    worst = worst_of(base, head, ABOUT)
    assert worst.base is not None
    assert (worst.verdict, worst.base.decides) == (Verdict.PASS, "base")
    assert [gate.change.delta for gate in worst.gates] == [0.01]
    assert worst.measured.traffic == head.measured.traffic


def test_labels_may_only_make_it_worse() -> None:
    failed = changed(MEASURED, verdict=Verdict.FAIL, delta=-0.1, delta_ci=(-0.2, -0.05), violation=0.07)
    worst = worst_of(report(UNLABELLED, TRAFFIC), report(failed, TRAFFIC), ABOUT)
    assert worst.base is not None
    assert (worst.verdict, worst.base.decides) == (Verdict.FAIL, "head")


@pytest.mark.parametrize("changed", [{"asked": 400}, {"share": 0.01}, {"changed": 5}])
def test_another_traffic_is_not_the_bases(changed: dict[str, float]) -> None:
    head = report(MEASURED, replace(TRAFFIC, **changed))
    worst = worst_of(report(UNLABELLED, TRAFFIC), head, ABOUT)
    assert [gate.change.delta for gate in worst.gates] == [None]
    assert worst.measured.traffic == TRAFFIC


def test_what_the_bases_labels_measure_stays() -> None:
    base = report(changed(MEASURED, delta=-0.005), TRAFFIC)
    assert [gate.change.delta for gate in worst_of(base, report(MEASURED, TRAFFIC), ABOUT).gates] == [-0.005]
