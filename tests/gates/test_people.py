"""What a judged gate may do: by what people found of its judge, whatever its limits ask for."""

from __future__ import annotations

from dataclasses import replace as replace_field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gates.deciding import decide
from tests.gates.test_decide import gate, scores
from tests.judge.calibrated import TODAY, calibrated, metric_found
from tests.rows import each_row

from rankgate.criteria import Gate, SegmentRule, load_criteria
from rankgate.gates.judged import Judge, PeopleUnits, Trust, filtered, judges_by_metric, trust_of, without_labels
from rankgate.gates.segments import with_hard_checks
from rankgate.judge.sample import answers_key
from rankgate.model.answers import Advisory, JudgeMark, UnjudgedKind
from rankgate.model.gate_result import GateResult
from rankgate.model.scores import KeptQueries, MatchedQuery, Scores
from rankgate.model.values import Details, Evidence, Gold, ReasonKind, Sample, Verdict
from rankgate.model.verdicts import AnswerVerdicts, Calibration, MetricCalibration, Unjudged
from rankgate.statistics.calibration import Powered

COUNT, METRIC = 200, "faithfulness"
CUT = Unjudged(UnjudgedKind.LENGTH)
LABELLED = {f"q{n}": 1.0 for n in range(COUNT)}
STATES = {
    "uncalibrated": None,
    "uninformative": metric_found(LABELLED, j=0.2, reach=0.1),
    "weak": metric_found(LABELLED, j=0.5, reach=0.1),
    "few labels": metric_found(LABELLED, labels=99, sensitivity=None, specificity=None, value=None),
    "calibrated": metric_found(LABELLED),
}
LIMITS = ["threshold", "regression_max", "must_pass", "max_lost_queries"]


def people(found: MetricCalibration | None) -> PeopleUnits:
    if found is None:
        return PeopleUnits(without_labels(Advisory.FILE))
    known = Calibration(
        judge="a" * 64, model="m", date="2026-01-31", run="r", people=("ana",), agreement=None, metrics={METRIC: found}
    )
    return PeopleUnits(trust_of(known, JudgeMark("a" * 64, "m"), METRIC), found)


def by_people(made: Gate, now: Scores, before: Scores | None, units: PeopleUnits) -> GateResult:
    """The gate's own row, as far as its judge counts."""
    samples = {each: Sample(query_id=each, gains={}) for each in now.query_ids}
    gold = Gold(samples=samples, name="g", format="jsonl")
    result = with_hard_checks(decide(made, now, before, units), made, gold, now, before)
    (filtered_result,) = filtered(made, Judge(None, units), [result], [], now, before)
    return filtered_result


def decided(limit: str, evidence: Evidence, severity: str, units: PeopleUnits) -> GateResult:
    """A run of which a quarter is wrong, where nothing was before."""
    now, before = scores([0.0] * 50 + [1.0] * 150, METRIC), scores([1.0] * COUNT, METRIC)
    value = {"threshold": 0.95, "must_pass": ("q0",), "max_lost_queries": 3}.get(limit, 0.03)
    known = {"evidence": evidence, "severity": severity, "threshold": None, "regression_max": None}
    made = gate(METRIC, floor=0.5).model_copy(update={**known, limit: value})
    return by_people(made, now, before, units)


@pytest.mark.full
@each_row("evidence", list(Evidence))
@each_row("severity", ["error", "warning"])
@each_row("limit", LIMITS)
@each_row("state", STATES)
def test_what_blocks(state: str, limit: str, severity: str, evidence: Evidence) -> None:
    result = decided(limit, evidence, severity, people(STATES[state]))
    counts = state == "calibrated" or (state == "weak" and limit == "threshold")
    assert result.verdict is (Verdict.FAIL if counts and severity == "error" else Verdict.WARN)
    advisory = any(reason.kind is ReasonKind.ADVISORY for reason in result.decision.reasons)
    assert advisory is (not counts and severity == "error")


@pytest.mark.parametrize("evidence", list(Evidence))
@pytest.mark.parametrize("limit", ["regression_max", "must_pass", "max_lost_queries"])
def test_a_judge_who_is_always_right_changes_no_ruling(limit: str, evidence: Evidence) -> None:
    trusted = PeopleUnits(Trust(None, None))
    raw, found = (decided(limit, evidence, "error", each) for each in (trusted, people(STATES["calibrated"])))
    assert (raw.verdict, raw.decision.reasons) == (found.verdict, found.decision.reasons)
    assert (raw.measured.value, raw.change.delta) == pytest.approx((found.measured.value, found.change.delta))
    assert raw.change.delta_ci == pytest.approx(found.change.delta_ci)


VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=COUNT, max_size=COUNT)
CHECKED = st.tuples(st.floats(0.3, 1.0), st.floats(0.0, 0.4), st.integers(50, 400))


@given(VALUES, VALUES, VALUES, CHECKED, st.sampled_from(Evidence))
@pytest.mark.full
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
        return by_people(made, *sides, people(metric_found(queries, j=j, reach=wide, labels=number, **shares)))

    found, known_less = by(reach / 2, labels * 2), by(reach, labels)
    for each in (found, known_less):
        assert None not in (each.change.paired_value, each.change.baseline, each.change.delta)
        assert (each.change.paired_value or 0) - (each.change.baseline or 0) == pytest.approx(each.change.delta)
        assert each.measured.value == pytest.approx(each.change.paired_value, abs=0.5)
    counted = found.measured.counted.value if found.measured.counted else found.measured.value
    if people(metric_found(queries, j=j, reach=reach / 2, labels=labels * 2)).trust.floor is None:
        assert value is not None
        assert counted is not None
        assert counted <= value.value + 1e-9
    if evidence is not Evidence.PROVEN_SAFE and known_less.verdict is Verdict.FAIL:
        assert found.verdict is Verdict.FAIL
    assert by_people(made, *sides, people(None)).verdict in (Verdict.PASS, Verdict.WARN)


@each_row("own", [0.0, 0.5, 1.0])  # of the labelled run
@each_row("before", [0.0, 0.75, 1.0])
@each_row("now", [0.0, 0.25, 1.0])
def test_what_people_would_find_of_either_run_is_a_share(now: float, before: float, own: float) -> None:
    units = people(metric_found(dict.fromkeys(LABELLED, own), j=0.45, reach=0.02))
    sides = [scores([each] * 199 + [0.5], METRIC) for each in (now, before)]
    made = gate(METRIC, floor=0.5, drop=0.03).model_copy(update={"evidence": Evidence.PROVEN_HARM})
    change = by_people(made, sides[0], sides[1], units).change
    assert change.paired_value is not None
    assert change.baseline is not None
    assert change.delta is not None
    low, high = (end or 0.0 for end in change.delta_ci or ())
    assert 0 <= change.paired_value <= 1
    assert 0 <= change.baseline <= 1
    assert -1 <= low <= change.delta <= high <= 1
    assert change.delta == pytest.approx(min(max((now - before) * 199 / 200 / 0.45, -1), 1))
    assert change.paired_value - change.baseline == pytest.approx(change.delta)


# The labelled run itself


@each_row("evidence", list(Evidence))
@each_row(("floor", "drop"), [(0.95, None), (None, 0.03), (0.95, 0.03)], ids=["floor", "drop", "both"])
@each_row("state", ["uninformative", "weak", "calibrated"])
def test_a_floor_of_the_labelled_run_needs_no_judge(
    state: str, floor: float | None, drop: float | None, evidence: Evidence
) -> None:
    """Also by an uninformative judge it blocks, by PPI++; a drop blocks by a calibrated one alone."""
    own, before = [0.0] * 50 + [1.0] * 150, scores([1.0] * COUNT, METRIC)
    powered = Powered(value=0.8, error=0.02, tuning=0.5, cumulant=0.0, unseen=0.0, n=COUNT)
    found = metric_found(
        dict(zip(LABELLED, own, strict=True)), j={"uninformative": 0.05, "weak": 0.3}.get(state, 0.9), value=powered
    )
    made = gate(METRIC, floor=floor, drop=drop).model_copy(update={"evidence": evidence})
    other, known = people(found), replace_field(people(found), itself=True)
    counts = state != "uninformative"
    if not counts:  # as `judges_by_metric` does
        assert by_people(made, scores(own, METRIC), before, other).verdict is Verdict.WARN
        known = replace_field(known, trust=replace(known.trust, floor=None))
    result = by_people(made, scores(own, METRIC), before, known)
    assert result.verdict is (Verdict.FAIL if floor or state == "calibrated" else Verdict.WARN)
    assert result.measured.value == pytest.approx(0.8)
    assert result.measured.ci == pytest.approx(powered.bounds())


@pytest.mark.parametrize("value", [0.01, 0.99])
def test_a_value_in_people_s_units_stays_in_the_range(value: float) -> None:
    powered = Powered(value=value, error=0.02, tuning=0.5, cumulant=0.0, unseen=0.0, n=COUNT)
    known = replace_field(people(metric_found(LABELLED, value=powered)), itself=True)
    result = decide(gate(METRIC, floor=0.5), scores([1.0] * COUNT, METRIC), None, known)
    low, high = powered.bounds()
    assert (low < 0, high > 1) == (value < 0.5, value > 0.5)
    assert result.measured.ci == pytest.approx((max(low, 0.0), min(high, 1.0)))


@pytest.mark.parametrize("evidence", Evidence)
def test_a_drop_in_people_s_units_assumes_that_the_judge_errs_alike(evidence: Evidence) -> None:
    """Under `estimate` the drop is as the judge saw it, and the value alone rests on that."""
    drop = gate(METRIC, drop=0.03).model_copy(update={"evidence": evidence})
    now, before = scores([0.0] * 12 + [1.0] * 188, METRIC), scores([1.0] * COUNT, METRIC)
    known = people(metric_found(LABELLED, j=0.6, reach=0.1))
    assert decide(drop, now, before, known).change.assumption == "alike"
    segment = decide(drop, now, before, known.of_segments)
    assert segment.change.assumption == (None if evidence is Evidence.ESTIMATE else "alike")


# Which runs they are of


def judged_run(values: list[float], texts: list[str]) -> Scores:
    """A run whose answers have these keys."""
    found = scores(values, METRIC)
    queries = zip(found.query_ids, texts, strict=True)
    return replace(found, kept=KeptQueries(matched={query: answered(query, text) for query, text in queries}))


def answered(query: str, key: str) -> MatchedQuery:
    said = AnswerVerdicts(query_id=query, context=(), citations=(), no_answer=False, key=key)
    known: dict[str, Any] = {"hits": (), "found": (), "ideal": (), "retrieved": 0, "k": 5}
    return MatchedQuery(query_id=query, **known, details=Details(verdicts=(said,)))


def test_what_the_judge_failed_at_stands_at_the_gate_alone() -> None:
    """Not at its segments, which would repeat it, nor where nobody is known to have judged."""
    cut = AnswerVerdicts(query_id="q0", context=(), citations=(), no_answer=False, support=CUT, state=CUT)
    query = replace(answered("q0", "a"), details=Details(verdicts=(cut,)))
    now = replace(scores([None, 1.0, 1.0], METRIC), kept=KeptQueries(matched={"q0": query}))
    row = decide(gate(METRIC, floor=0.1), now, None)

    def failures(mark: JudgeMark | None) -> list[int | None]:
        rows = [row, replace(row, segment="lang:th")]
        found = filtered(gate(METRIC, floor=0.1), Judge(mark, people(None)), rows, [], now, None)
        return [each.no_verdicts.count if each.no_verdicts else None for each in found]

    assert failures(JudgeMark("a" * 64, "m")) == [1, None]
    assert failures(None) == [None, None]


KEYS = ["a"] * 100 + ["b"] * 100


@pytest.mark.parametrize(
    ("run", "itself"),
    [
        pytest.param(judged_run([1.0] * COUNT, KEYS), True, id="the labelled run"),
        pytest.param(judged_run([1.0] * COUNT, [*KEYS[:-1], "c"]), False, id="another answer"),
        pytest.param(scores([1.0] * COUNT, METRIC), False, id="no answers"),
    ],
)
def test_the_floor_of_the_labelled_run_itself_needs_no_judge(run: Scores, tmp_path: Path, *, itself: bool) -> None:
    criteria = tmp_path / "ship-criteria.yaml"
    block = "judge: {endpoint: http://x.example/v1, model: m-1, structured: json_schema, calibration: {file: c.json}}"
    criteria.write_text(f"{block}\ngates: [{{name: faithfulness, regression_max: 0.03}}]\n")
    useless = {METRIC: metric_found(LABELLED, j=0.05)}
    answers = answers_key({f"q{n}": key for n, key in enumerate(KEYS)})
    calibrated(criteria, useless, tmp_path / "c.json", answers=answers)
    found = judges_by_metric(load_criteria(str(criteria)), None, TODAY, run)[METRIC].units.trust
    assert found.floor is (None if itself else Advisory.CANNOT_TELL)
    assert found.drop is Advisory.CANNOT_TELL


def test_a_gate_may_block_where_one_of_its_segments_does_and_the_judge_counts() -> None:
    rule = SegmentRule(by=("lang",), regression_max=0.1, severity="error")
    of_segments = gate(METRIC, drop=0.1, severity="warning").model_copy(update={"segments": (rule,)})
    for units, may_block in ((PeopleUnits(Trust(None, None)), True), (people(None), False)):
        assert units.may_block(of_segments) is may_block
        assert not units.may_block(gate(METRIC, drop=0.1, severity="warning"))
