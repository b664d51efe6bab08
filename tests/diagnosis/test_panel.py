"""The panel's changes by tag: whose interval they have, corrected for how many tags, and which tags have a row."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace
from tests.diagnosis.runs import gold_of, scores_of
from tests.renderers.reports import RECALL

from rankgate.diagnosis.details import MAX_TAGS, details_of
from rankgate.diagnosis.movements import by_tag
from rankgate.metrics.names import parse_metric
from rankgate.model.details import PanelValue, ReportDetails
from rankgate.model.report import GateResult
from rankgate.model.values import Direction, Evidence, EvidenceState, Gold, Unit
from rankgate.statistics.chance import holm

METRIC = parse_metric("recall@5")
HARM = replace(
    RECALL, evidence=Evidence.PROVEN_HARM, confidence=0.975, delta=-0.5, delta_ci=(-0.7, -0.2), regression_max=0.02
)


def details_with(
    tags: Mapping[str, Sequence[str]],
    lost: Sequence[str],
    gates: Sequence[GateResult] = (),
    won: Sequence[str] = (),
    metric: str = "recall@5",
) -> ReportDetails:
    """Each question has one relevant document, found in both runs but where it was lost or won."""
    gold: Gold = gold_of(dict.fromkeys(tags, "a"), tags)
    before = {query: "x" if query in won else "a x" for query in tags}
    after = {query: "x" if query in lost else "a x" for query in tags}
    old, new = (scores_of(gold, lists, metric) for lists in (before, after))
    leading = parse_metric(metric)
    segments = by_tag(gold, [leading], new, old, leading)
    return details_of(gold, [leading], leading, segments, new, old, depth=2, gates=gates)


def cell(details: ReportDetails, tag: str | None, metric: str = "recall@5") -> PanelValue:
    return next(row for row in details.panel if row.tag == tag).values[metric]


def way(value: PanelValue) -> str:
    return value.way(Direction.HIGHER, Unit.SHARE)


def parts(count: int, each: int) -> dict[str, list[str]]:
    return {f"q{part:02}-{number:02}": [f"part:{part:02}"] for part in range(count) for number in range(each)}


@pytest.mark.parametrize(
    ("levels", "among", "expected"),
    [
        pytest.param({"a": 0.001}, 1, {"a": 0.95}, id="one test is as it was"),
        pytest.param({"a": 0.02, "b": 0.03}, 2, {"a": 0.975, "b": 0.975}, id="the first is not proven: none is"),
        pytest.param({"b": 0.02, "a": 0.01}, 2, {"a": 0.975, "b": 0.95}, id="after the first, one fewer"),
        pytest.param({"a": 0.01, "b": 0.02}, 4, {"a": 0.9875, "b": 0.9875}, id="others that are not given count"),
        pytest.param({}, 3, {}, id="none"),
    ],
)
def test_holm_as_worked_by_hand(levels: dict[str | None, float], among: int, expected: dict[str, float]) -> None:
    assert holm(levels, 0.05, among) == pytest.approx(expected)


def test_a_segment_alone_has_the_plain_interval_and_among_thirty_it_is_corrected() -> None:
    """Six lost of forty are proof for one tag, as the sign test has it, and none among thirty."""
    lost = [f"q00-{number:02}" for number in range(6)]
    one, many = (cell(details_with(parts(count, 40), lost), "part:00") for count in (1, 30))
    assert (way(one), one.confidence) == ("worse", 0.95)
    assert way(many) == "unclear"
    assert many.confidence == pytest.approx(1 - 0.05 / 30)
    assert one.delta_ci is not None
    assert many.delta_ci is not None
    (_, high), (_, wide) = one.delta_ci, many.delta_ci
    assert (high or 0.0) < 0 < (wide or 0.0)


def test_gains_are_corrected_as_losses_are() -> None:
    won = [f"q00-{number:02}" for number in range(6)]
    assert way(cell(details_with(parts(1, 40), [], won=won), "part:00")) == "better"
    assert way(cell(details_with(parts(30, 40), [], won=won), "part:00")) == "unclear"


def test_what_a_gate_judged_in_a_segment_is_the_gates_and_takes_no_share_of_the_correction() -> None:
    gate = replace(HARM, segment="part:00")
    lost = [f"q01-{number:02}" for number in range(6)]
    details = details_with(parts(2, 40), lost, [gate])
    judged, other = cell(details, "part:00"), cell(details, "part:01")
    assert (judged.delta, judged.delta_ci, judged.confidence, judged.limit) == (-0.5, (-0.7, -0.2), 0.975, -0.02)
    assert (other.confidence, way(other), other.limit) == (0.95, "worse", None)


@pytest.mark.parametrize(
    "gate",
    [
        pytest.param(replace(HARM, segment="part:00", evidence=Evidence.ESTIMATE), id="no correction: by the estimate"),
        pytest.param(replace(HARM, segment="part:00", evidence=Evidence.PROVEN_SAFE), id="no correction: proven safe"),
        pytest.param(replace(HARM, segment="part:00", too_small=True), id="not judged: too small"),
        pytest.param(replace(HARM, segment="part:00", regression_max=None), id="a floor alone"),
        pytest.param(replace(HARM, segment="part:00", metric="mrr"), id="another metric"),
        pytest.param(replace(HARM, segment="part:00 × lang:en"), id="crossed with another tag"),
    ],
)
def test_a_gate_that_corrects_nothing_leaves_the_correction_to_the_panel(gate: GateResult) -> None:
    value = cell(details_with(parts(2, 40), ["q00-00"], [gate]), "part:00")
    assert value.delta == pytest.approx(-1 / 40)
    assert value.confidence == 0.975


def test_over_all_questions_the_gate_has_the_word_and_of_two_the_first() -> None:
    gates = [replace(HARM, confidence=0.99), replace(HARM, delta=0.5)]
    value = cell(details_with(parts(2, 40), [], gates), None)
    assert (value.delta, value.delta_ci, value.confidence, value.limit) == (-0.5, (-0.7, -0.2), 0.99, -0.02)


def test_values_of_two_judges_have_no_change_in_any_row() -> None:
    gate = replace(HARM, delta=None, delta_ci=None, evidence_state=EvidenceState.NOT_COMPARABLE)
    details = details_with(parts(2, 40), ["q00-00"], [gate])
    assert [row.values["recall@5"].delta for row in details.panel] == [None] * 3


def test_in_peoples_units_value_and_change_are_the_gates() -> None:
    gate = replace(HARM, value=0.4, value_raw=0.6, confidence=0.95)
    value = cell(details_with(parts(2, 40), [], [gate]), None)
    assert (value.value, value.ci, value.delta) == (0.4, gate.ci, -0.5)


@pytest.mark.parametrize("count", [1, 12, 60])
def test_the_worst_segment_comes_first_and_is_never_cut(count: int) -> None:
    """The last of them is small and loses most; the first are large and lose nothing."""
    tags = {
        f"q{part:02}-{number}": [f"part:{part:02}"] for part in range(count) for number in range(2 if part else 4)
    } | {f"w{number}": ["worst"] for number in range(3)}
    lost = [f"q{part:02}-0" for part in range(count) if part % 2] + ["w0", "w1", "w2"]
    details = details_with(tags, lost)
    shown = [row.tag for row in details.panel]
    changes = [row.values["recall@5"].delta or 0.0 for row in details.panel[1:]]
    assert shown[:2] == [None, "worst"]
    assert changes == sorted(changes)
    assert len(shown) - 1 == min(count + 1, MAX_TAGS)
    assert details.left_out == count + 1 - (len(shown) - 1)


def test_a_loss_that_is_proven_has_a_row_though_many_tiny_segments_lost_more() -> None:
    tiny = {f"t{number}": [f"tiny:{number}"] for number in range(3 * MAX_TAGS)}
    large = {f"l{number:03}": ["large"] for number in range(200)}
    details = details_with(tiny | large, [*tiny, *list(large)[:60]])
    assert way(cell(details, "large")) == "worse"
    assert details.panel[-1].tag == "large"
    assert details.left_out == 2 * MAX_TAGS + 1


def test_where_lower_is_better_the_largest_rise_is_the_worst() -> None:
    gold = gold_of(dict.fromkeys(("a", "b", "c"), "x"), {"a": ["fast"], "b": ["slow"], "c": ["slower"]})
    lists = dict.fromkeys(gold.samples, "x")
    old = scores_of(gold, lists, "latency", {"a": 9.0, "b": 9.0, "c": 9.0})
    new = scores_of(gold, lists, "latency", {"a": 2.0, "b": 20.0, "c": 30.0})
    leading = parse_metric("latency")
    details = details_of(gold, [leading], leading, by_tag(gold, [leading], new, old, leading), new, old, depth=1)
    assert [row.tag for row in details.panel] == [None, "slower", "slow", "fast"]


@pytest.mark.parametrize("count", [2, 30])
def test_of_unchanged_segments_a_run_in_twenty_at_most_calls_any_better_or_worse(count: int) -> None:
    """Each question loses and wins alike; docs/statistics.md has the number of many more runs."""
    source, tags, alarms = random.Random(7), parts(count, 20), 0  # noqa: S311 -- a simulation
    for _ in range(60):
        moves = {query: source.choice((-1, 0, 0, 1)) for query in tags}
        lost, won = ([query for query, move in moves.items() if move == sign] for sign in (-1, 1))
        details = details_with(tags, lost, won=won)
        alarms += any(way(row.values["recall@5"]) in ("better", "worse") for row in details.panel if row.tag)
    assert alarms <= 6  # of 3 expected at most; the chance of more is below 3.1 %, and the seed is fixed
