"""What a judged gate may do: by what people found of its judge, whatever its limits ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.gates.test_decide import gate, scores
from tests.judge.calibrated import TODAY, calibrated, metric_found

from rankgate.criteria import load_criteria
from rankgate.gates.decide import decide, decide_drift
from rankgate.gates.people import People, _keys, people_of
from rankgate.gates.segments import with_hard_checks
from rankgate.judge.sample import pair_key
from rankgate.metrics.comparison import paired
from rankgate.metrics.names import parse_metric
from rankgate.model.answers import AnswerVerdicts, JudgeMark, JudgeState, Lack
from rankgate.model.calibration import Calibration, LabelledChange, MetricCalibration, without_labels
from rankgate.model.report import GateResult
from rankgate.model.values import Details, Evidence, Gold, MatchedQuery, ReasonKind, Sample, Scores, Verdict
from rankgate.statistics.prediction_powered import Powered

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
    return People(known.standing(JudgeMark("a" * 64, "m"), METRIC), found)


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


# The labelled run itself


@pytest.mark.parametrize("evidence", list(Evidence))
@pytest.mark.parametrize(("floor", "drop"), [(0.95, None), (None, 0.03), (0.95, 0.03)], ids=["floor", "drop", "both"])
@pytest.mark.parametrize("state", ["uninformative", "weak", "calibrated"])
def test_a_floor_of_the_labelled_run_needs_no_judge(
    state: str, floor: float | None, drop: float | None, evidence: Evidence
) -> None:
    """Also by an uninformative judge it blocks, by PPI++; a drop blocks by a calibrated one alone."""
    own, before = [0.0] * 50 + [1.0] * 150, scores([1.0] * COUNT, METRIC)
    powered = Powered(value=0.8, error=0.02, tuning=0.5, cumulant=0.0, unseen=0.0, n=COUNT, df=COUNT - 2)
    found = metric_found(
        dict(zip(LABELLED, own, strict=True)), j={"uninformative": 0.05, "weak": 0.3}.get(state, 0.9), value=powered
    )
    made = gate(METRIC, floor=floor, drop=drop).model_copy(update={"evidence": evidence})
    other, known = people(found), people(found)._replace(itself=True)
    counts = state != "uninformative"
    if not counts:  # as `people_of` does
        assert decide(made, scores(own, METRIC), before, other).verdict is Verdict.WARN
        known = known._replace(standing=replace(known.standing, floor=JudgeState.CALIBRATED))
    result = decide(made, scores(own, METRIC), before, known)
    assert result.verdict is (Verdict.FAIL if floor or state == "calibrated" else Verdict.WARN)
    assert result.value == pytest.approx(0.8)
    assert result.ci == pytest.approx(powered.bounds())


# Labels of what changed

HARM = gate(METRIC, drop=0.03).model_copy(update={"evidence": Evidence.PROVEN_HARM})
LIKE = metric_found(LABELLED, j=0.6, reach=0.1)


def labelled(value: float, error: float, judge: float, pairs: int = COUNT) -> LabelledChange:
    return LabelledChange(Powered(value, error, 0.5, 0.0, 0.0, 60, 58), judge, pairs)


@pytest.mark.parametrize(
    ("fell", "people_say", "evidence", "blocks", "assumption"),
    [
        pytest.param(-0.06, None, Evidence.PROVEN_HARM, True, "alike", id="as-the-judge-says"),
        pytest.param(-0.06, 0.0, Evidence.PROVEN_HARM, False, "labelled", id="displeasing"),
        pytest.param(0.14, -0.08, Evidence.PROVEN_HARM, True, "labelled", id="pleasing-and-worse"),
        pytest.param(0.14, 0.05, Evidence.PROVEN_HARM, False, "labelled", id="pleasing-and-better"),
        pytest.param(-0.06, 0.0, Evidence.PROVEN_SAFE, False, "labelled", id="proven-safe"),
        pytest.param(0.14, -0.02, Evidence.PROVEN_SAFE, True, "labelled", id="not-proven-safe"),
        pytest.param(-0.06, 0.0, Evidence.ESTIMATE, True, "alike", id="estimate-judges-what-the-judge-saw"),
    ],
)
def test_labels_of_what_changed_stand_in_for_the_assumption(
    fell: float, people_say: float | None, evidence: Evidence, assumption: str | None, *, blocks: bool
) -> None:
    moved = round(abs(fell) * COUNT)
    changed = [0.0] * moved + [1.0] * (COUNT - moved)
    sides = (changed, [1.0] * COUNT) if fell < 0 else ([1.0] * COUNT, changed)
    made = gate(METRIC, drop=0.03).model_copy(update={"evidence": evidence})
    change = None if people_say is None else labelled(people_say, 0.01, fell)
    now, before = (scores(side, METRIC) for side in sides)
    result = decide(made, now, before, people(LIKE)._replace(change=change))
    assert (result.verdict is Verdict.FAIL, result.assumption) == (blocks, assumption)
    if assumption == "labelled" and change:
        assert result.delta == pytest.approx(people_say)
        assert result.delta_raw == pytest.approx(fell)
        assert result.delta_ci == pytest.approx(change.people.bounds())
        assert (result.paired_value or 0) - (result.baseline or 0) == pytest.approx(people_say)
    segment = decide(made, now, before, people(LIKE)._replace(change=change).of_segments)
    assert segment.assumption == (None if evidence is Evidence.ESTIMATE else "alike")


@given(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5]), min_size=2, max_size=50),
    st.lists(st.sampled_from([-1.0, 0.0]), max_size=5),
    st.floats(-0.5, 0.5),
    st.floats(0.001, 0.1),
)
def test_answers_that_nobody_judged_count_beside_the_labels_as_they_are_filled(
    own: list[float], gaps: list[float], people_say: float, error: float
) -> None:
    """The mean over all pairs, of which people tell that over the labelled ones: by hand, and no narrower."""
    change = labelled(people_say, error, sum(own) / len(own), len(own))
    every = [*own, *gaps]
    pairs = paired(parse_metric(METRIC), [1 + each for each in every], [1.0] * len(every))
    assert pairs is not None
    found = people(LIKE)._replace(change=change).drop(HARM, pairs.compared())
    assert found.delta == pytest.approx((len(own) * people_say + sum(gaps)) / len(every))
    low, high = change.people.bounds()
    assert found.ci == pytest.approx(
        tuple(found.delta + (end - people_say) * len(own) / len(every) for end in (low, high))
    )


def test_noise_of_whole_runs_widens_labels_too() -> None:
    change, sides = labelled(-0.05, 0.01, 0.0), (scores([1.0] * COUNT, METRIC), scores([1.0] * COUNT, METRIC))
    known = people(LIKE)._replace(change=change)
    quiet, noisy = (decide(HARM.model_copy(update={"noise": each}), *sides, known) for each in (0.0, 0.02))
    assert (quiet.verdict, noisy.verdict) == (Verdict.FAIL, Verdict.WARN)


# Which runs they are of


def judged_run(values: list[float], texts: list[str], *, clusters: tuple[str, ...] = ()) -> Scores:
    """A run whose answers have these keys."""
    found = scores(values, METRIC)
    queries = zip(found.query_ids, texts, strict=True)
    return replace(found, clusters=clusters, matched={query: answered(query, text) for query, text in queries})


def answered(query: str, key: str) -> MatchedQuery:
    said = AnswerVerdicts(query_id=query, context=(), citations=(), no_answer=False, key=key)
    known: dict[str, Any] = {"hits": (), "found": (), "ideal": (), "retrieved": 0, "k": 5}
    return MatchedQuery(query_id=query, **known, details=Details(verdicts=(said,)))


OLD, NEW = ["a"] * COUNT, ["a"] * 100 + ["b"] * 100
BEFORE, NOW = [1.0] * COUNT, [1.0] * 190 + [0.0] * 10
MANY = tuple(f"c{n // 2}" for n in range(COUNT))


@pytest.mark.parametrize(
    ("now", "before", "labelled_now"),
    [
        pytest.param(judged_run(NOW, NEW), judged_run(BEFORE, OLD), True, id="the-pair"),
        pytest.param(judged_run(NOW, [*NEW[:-1], "c"]), judged_run(BEFORE, OLD), False, id="another-answer"),
        pytest.param(judged_run(NOW, NEW), judged_run(BEFORE, ["x", *OLD[1:]]), False, id="another-baseline"),
        pytest.param(judged_run([*NOW[:-1], 1.0], NEW), judged_run(BEFORE, OLD), False, id="other-verdicts"),
        pytest.param(judged_run(BEFORE, OLD), judged_run(NOW, NEW), False, id="the-other-way-round"),
        pytest.param(judged_run(NOW, NEW), None, False, id="no-baseline"),
        pytest.param(judged_run(NOW, NEW, clusters=MANY), judged_run(BEFORE, OLD), False, id="clusters"),
        pytest.param(scores(NOW, METRIC), scores(BEFORE, METRIC), False, id="no-answers"),
    ],
)
def test_labels_count_for_exactly_these_two_runs(
    now: Scores, before: Scores | None, tmp_path: Path, *, labelled_now: bool
) -> None:
    criteria = tmp_path / "ship-criteria.yaml"
    block = "judge: {endpoint: http://x.example/v1, model: m-1, structured: json_schema, calibration: {file: c.json}}"
    criteria.write_text(f"{block}\ngates: [{{name: faithfulness, regression_max: 0.03}}]\n")
    keys = [{f"q{n}": text for n, text in enumerate(texts)} for texts in (NEW, OLD)]
    changes = {pair_key(keys[0], keys[1]): {METRIC: labelled(0.0, 0.01, -0.05)}}
    useless = {METRIC: metric_found(LABELLED, j=0.05)}
    calibrated(criteria, useless, tmp_path / "c.json", changes=changes, answers=pair_key(keys[0], {}))
    found = people_of(load_criteria(str(criteria)), None, TODAY, now, before)[METRIC]
    assert (found.change is not None) is labelled_now
    itself = _keys(now) == keys[0]
    assert found.standing.floor is (JudgeState.CALIBRATED if itself else JudgeState.UNINFORMATIVE)
    assert found.standing.drop is JudgeState.UNINFORMATIVE
