"""The panel's changes by tag: over which questions, and which tags have a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.diagnosis.runs import gold_of, scores_of
from tests.gate_rows import changed
from tests.renderers.reports import RECALL

from rankgate.diagnosis.details import MAX_TAGS, details_of
from rankgate.diagnosis.movements import by_tag
from rankgate.metrics.names import parse_metric
from rankgate.model.details import PanelValue, ReportDetails
from rankgate.model.gate_result import GateResult
from rankgate.model.values import Evidence, EvidenceState, Gold
from rankgate.statistics.binomial import holm

METRIC = parse_metric("recall@5")
HARM = changed(
    RECALL, evidence=Evidence.PROVEN_HARM, confidence=0.975, delta=-0.5, delta_ci=(-0.7, -0.2), regression_max=0.02
)


def details_with(
    tags: Mapping[str, Sequence[str]],
    lost: Sequence[str],
    gates: Sequence[GateResult] = (),
    metric: str = "recall@5",
) -> ReportDetails:
    """Each question has one relevant document, found in both runs but where it was lost."""
    gold: Gold = gold_of(dict.fromkeys(tags, "a"), tags)
    before = dict.fromkeys(tags, "a x")
    after = {query: "x" if query in lost else "a x" for query in tags}
    old, new = (scores_of(gold, lists, metric) for lists in (before, after))
    leading = parse_metric(metric)
    segments = by_tag(gold, [leading], new, old, leading)
    return details_of(gold, [leading], leading, segments, new, old, depth=2, gates=gates)


def cell(details: ReportDetails, tag: str | None, metric: str = "recall@5") -> PanelValue:
    return next(row for row in details.panel if row.tag == tag).values[metric]


def parts(count: int, each: int) -> dict[str, list[str]]:
    return {f"q{part:02}-{number:02}": [f"part:{part:02}"] for part in range(count) for number in range(each)}


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        pytest.param({"a": 0.001}, {"a": 0.95}, id="one test is as it was"),
        pytest.param({"a": 0.02, "b": 0.03}, {"a": 0.975, "b": 0.975}, id="the first is not proven: none is"),
        pytest.param({"b": 0.02, "a": 0.01}, {"a": 0.975, "b": 0.95}, id="after the first, one fewer"),
        pytest.param({}, {}, id="none"),
    ],
)
def test_holm_as_worked_by_hand(levels: dict[str | None, float], expected: dict[str, float]) -> None:
    assert holm(levels, 0.05) == pytest.approx(expected)


def test_values_of_two_judges_have_no_change_in_any_row() -> None:
    gate = changed(HARM, delta=None, delta_ci=None, evidence_state=EvidenceState.NOT_COMPARABLE)
    details = details_with(parts(2, 40), ["q00-00"], [gate])
    assert [row.values["recall@5"].delta for row in details.panel] == [None] * 3


def test_in_peoples_units_value_and_change_are_the_gates() -> None:
    gate = changed(HARM, value=0.4, value_raw=0.6, confidence=0.95)
    value = cell(details_with(parts(2, 40), [], [gate]), None)
    assert (value.value, value.ci, value.delta) == (0.4, gate.measured.ci, -0.5)


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


def test_what_lost_most_questions_has_a_row_though_many_tiny_segments_lost_more() -> None:
    tiny = {f"t{number}": [f"tiny:{number}"] for number in range(3 * MAX_TAGS)}
    large = {f"l{number:03}": ["large"] for number in range(200)}
    details = details_with(tiny | large, [*tiny, *list(large)[:60]])
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
