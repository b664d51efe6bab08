"""What a judged gate may do: by what people found of its judge, whatever its limits ask for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gates.test_decide import gate, scores
from tests.judge.calibrated import metric_found

from rankgate.gates.decide import decide, decide_drift
from rankgate.gates.people import People
from rankgate.gates.segments import with_hard_checks
from rankgate.model.answers import JudgeMark, Lack
from rankgate.model.calibration import Calibration, MetricCalibration, without_labels
from rankgate.model.report import GateResult
from rankgate.model.values import Evidence, Gold, ReasonKind, Sample, Verdict

COUNT, METRIC = 200, "faithfulness"
LABELLED = {f"q{n}": 1.0 for n in range(COUNT)}
STATES = {
    "uncalibrated": None,
    "uninformative": metric_found(LABELLED, j=0.2, reach=0.1),
    "weak": metric_found(LABELLED, j=0.5, reach=0.1),
    "few labels": metric_found(LABELLED, labels=99, sensitivity=None, specificity=None, value=None),
    "calibrated": metric_found(LABELLED),
}
LIMITS = ["threshold", "regression_max", "drift_max", "must_pass", "max_lost_queries"]


def people(found: MetricCalibration | None) -> People:
    if found is None:
        return People(without_labels(Lack.FILE))
    known = Calibration(
        judge="a" * 64, model="m", date="2026-01-31", run="r", people=("ana",), agreement=None, metrics={METRIC: found}
    )
    return People(known.standing(JudgeMark("a" * 8, "m"), METRIC), found)


def decided(limit: str, evidence: Evidence, severity: str, found: People | None) -> GateResult:
    """A run of which a quarter is wrong, where nothing was before."""
    now, before = scores([0.0] * 50 + [1.0] * 150, METRIC), scores([1.0] * COUNT, METRIC)
    value = {"threshold": 0.95, "must_pass": ("q0",), "max_lost_queries": 3}.get(limit, 0.03)
    known = {"evidence": evidence, "severity": severity, "threshold": None, "regression_max": None}
    made = gate(METRIC, floor=0.5).model_copy(update={**known, limit: value})
    if limit == "drift_max":
        drift = decide_drift(made, "launch", now, before, found)
        assert drift is not None
        return drift
    result = decide(made, now, before, found)
    samples = {each: Sample(query_id=each, gains={}) for each in now.query_ids}
    return with_hard_checks(result, made, Gold(samples=samples, name="g", format="jsonl"), now, before)


@pytest.mark.parametrize("evidence", list(Evidence))
@pytest.mark.parametrize("severity", ["error", "warning"])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("state", STATES)
def test_what_blocks(state: str, limit: str, severity: str, evidence: Evidence) -> None:
    result = decided(limit, evidence, severity, people(STATES[state]))
    counts = state == "calibrated" or (state == "weak" and limit == "threshold")
    assert result.verdict is (Verdict.FAIL if counts and severity == "error" else Verdict.WARN)
    advisory = any(reason.kind is ReasonKind.ADVISORY for reason in result.reasons)
    assert advisory is (not counts and severity == "error")


@pytest.mark.parametrize("evidence", list(Evidence))
@pytest.mark.parametrize("limit", ["regression_max", "drift_max", "must_pass", "max_lost_queries"])
def test_a_judge_who_is_always_right_changes_no_ruling(limit: str, evidence: Evidence) -> None:
    raw, found = (decided(limit, evidence, "error", each) for each in (None, people(STATES["calibrated"])))
    assert (raw.verdict, raw.reasons) == (found.verdict, found.reasons)
    assert (raw.value, raw.delta) == pytest.approx((found.value, found.delta))
    assert raw.delta_ci == pytest.approx(found.delta_ci)


VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=COUNT, max_size=COUNT)
CHECKED = st.tuples(st.floats(0.3, 1.0), st.floats(0.0, 0.4), st.integers(50, 400))


@settings(max_examples=60, deadline=None)
@given(VALUES, VALUES, VALUES, CHECKED, st.sampled_from(Evidence))
def test_nothing_loosens(
    now: list[float], before: list[float], labelled: list[float], checked: tuple[float, float, int], evidence: Evidence
) -> None:
    """The value less the baseline is the change; no floor counts a gain; less that is known never blocks more."""
    j, reach, labels = checked
    queries = dict(zip(LABELLED, labelled, strict=True))
    value = metric_found(queries).value
    sides = scores(now, METRIC), scores(before, METRIC)
    made = gate(METRIC, floor=0.6, drop=0.05).model_copy(update={"evidence": evidence})

    def by(wide: float, number: int) -> GateResult:
        shares = {"sensitivity": None, "specificity": None, "value": value}
        return decide(made, *sides, people(metric_found(queries, j=j, reach=wide, labels=number, **shares)))

    found, known_less = by(reach / 2, labels * 2), by(reach, labels)
    for each in (found, known_less):
        assert None not in (each.paired_value, each.baseline, each.delta)
        assert (each.paired_value or 0) - (each.baseline or 0) == pytest.approx(each.delta)
        assert each.value == pytest.approx(each.paired_value, abs=0.5)
    counted = found.counted.value if found.counted else found.value
    if found.standing and found.standing.floor.value == "calibrated":
        assert value is not None
        assert counted is not None
        assert counted <= value.value + 1e-9
    if evidence is not Evidence.PROVEN_SAFE and known_less.verdict is Verdict.FAIL:
        assert found.verdict is Verdict.FAIL
    assert decide(made, *sides, people(None)).verdict in (Verdict.PASS, Verdict.WARN)
