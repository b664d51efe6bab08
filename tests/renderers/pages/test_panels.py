"""The panel as text, and which changes it calls better or worse."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from tests.renderers.pages.exhibits import LATENCY, RECALL, details_of, value_of
from tests.renderers.reports import REPORT

from rankgate.model.details import Measure, PanelRow, ReportDetails
from rankgate.model.report import Report
from rankgate.model.values import Direction, Exact, Unit
from rankgate.renderers.pages.charts import Chart, width_of
from rankgate.renderers.pages.report import render_report
from rankgate.renderers.pages.segments import MAX_DRAWN, changes_charts, scales_of


@pytest.mark.parametrize(
    ("ci", "direction", "expected"),
    [
        pytest.param((-0.2, -0.1), Direction.HIGHER, "worse", id="fell for certain"),
        pytest.param((0.1, 0.2), Direction.HIGHER, "better", id="rose for certain"),
        pytest.param((0.1, 0.2), Direction.LOWER, "worse", id="a latency that rose"),
        pytest.param((-0.2, -0.1), Direction.LOWER, "better", id="a latency that fell"),
        pytest.param((-0.2, 0.1), Direction.HIGHER, "unclear", id="both are possible"),
        pytest.param((-0.2, 0.0), Direction.HIGHER, "unclear", id="nothing may have changed"),
        pytest.param((None, -0.1), Direction.HIGHER, "worse", id="the bound that counts is known"),
        pytest.param((-0.2, None), Direction.HIGHER, "unclear", id="the bound that counts is not"),
        pytest.param(None, Direction.HIGHER, "unclear", id="no interval"),
    ],
)
def test_a_change_has_a_way_where_its_interval_excludes_zero(
    ci: tuple[float | None, float | None] | None, direction: Direction, expected: str
) -> None:
    assert value_of(-0.1, ci).way(direction, Unit.SHARE) == expected


@pytest.mark.parametrize("delta", [0.0, -0.0, 0.0004, -0.0004])
@pytest.mark.parametrize("direction", Direction)
def test_what_reads_as_no_change_is_neither_better_nor_worse(delta: float, direction: Direction) -> None:
    """±0.0 pp, however certain the rest behind the rounding is."""
    for ci in (None, (0.0, 0.0), (-0.0006, -0.0002), (0.0002, 0.0006)):
        assert value_of(delta, ci).way(direction, Unit.SHARE) == "same"


@pytest.mark.parametrize(("p", "way"), [(0.004, "worse"), (0.006, "unclear"), (0.02, "unclear")])
def test_an_exact_test_proves_harm_beside_an_interval_at_the_same_confidence(p: float, way: str) -> None:
    value = replace(value_of(-0.1, (-0.3, 0.1)), confidence=0.99, exact=Exact(p, 0.001))
    assert value.way(Direction.HIGHER, Unit.SHARE) == way


OWN = '<span class="interval">40.0 to 60.0%</span>'


@pytest.mark.parametrize(
    ("measure", "delta", "ci", "expected"),
    [
        pytest.param(
            RECALL,
            -0.15,
            (-0.2, -0.1),
            f'50.0%{OWN}<span class="delta worse">worse −15.0 pp</span>'
            '<span class="interval">95%: −20.0 to −10.0 pp</span>',
            id="fell",
        ),
        pytest.param(
            RECALL,
            0.0,
            (0.0, 0.0),
            f'50.0%{OWN}<span class="delta same">no change ±0.0 pp</span>',
            id="stayed: no interval of nothing",
        ),
        pytest.param(LATENCY, None, None, '0.5 ms<span class="interval">0.4 to 0.6 ms</span>', id="no baseline"),
    ],
)
def test_a_cell_says_the_value_and_what_changed(
    measure: Measure, delta: float | None, ci: tuple[float, float] | None, expected: str
) -> None:
    row = PanelRow(tag="lang:\u202ept", queries=10, values={measure.name: value_of(delta, ci)})
    page = render_report(replace(REPORT, details=details_of(panel=(row,), measure=measure)))
    head = '<th scope="row"><bdi>lang:<wbr>\\u202ept</bdi><span class="about">10 questions</span></th>'
    assert f'{head}\n<td class="number">{expected}</td>\n</tr>' in page


@pytest.mark.parametrize(
    ("confidence", "said"), [(0.95, "95%"), (0.975, "97.5%"), (1 - 0.05 / 30, "99.83%"), (1 - 1e-7, "99.99%")]
)
def test_an_interval_says_its_confidence_and_never_more(confidence: float, said: str) -> None:
    value = replace(value_of(-0.15, (-0.2, -0.1)), confidence=confidence)
    row = PanelRow(tag="a", queries=1, values={"recall@5": value})
    page = render_report(replace(REPORT, details=details_of(panel=(row,))))
    assert f'<span class="interval">{said}: −20.0 to −10.0 pp</span>' in page


def rows(count: int) -> tuple[PanelRow, ...]:
    """All questions, then so many segments, the worst first."""
    whole = PanelRow(tag=None, queries=10, values={"recall@5": value_of(-0.01)})
    tagged = (PanelRow(tag="same", queries=1, values={"recall@5": value_of(-0.02 * n)}) for n in range(count)[::-1])
    return (whole, *tagged)


def drawn(details: ReportDetails, report: Report = REPORT) -> tuple[Chart, int] | None:
    """The wide chart."""
    found = changes_charts(details, scales_of(report, details))
    return found and (found[0][0], found[1])


def test_segments_with_one_label_stay_rows_of_their_own_in_the_order_of_the_panel() -> None:
    found = drawn(details_of(panel=rows(3)))
    assert found is not None
    plot, left_out = found[0].panes[0], found[1]
    assert list(plot.y.ticks) == [(3.5, "all questions"), (2.5, "same"), (1.5, "same"), (0.5, "same")]
    assert list(plot.right) == [(3.5, "−1.0 pp"), (2.5, "−4.0 pp"), (1.5, "−2.0 pp"), (0.5, "±0.0 pp")]
    assert left_out == 0


def test_of_many_segments_the_last_are_counted_with_those_that_have_no_row() -> None:
    found = drawn(replace(details_of(panel=rows(MAX_DRAWN + 4)), left_out=20))
    assert found is not None
    assert found[1] == 25
    page = render_report(replace(REPORT, details=replace(details_of(panel=rows(MAX_DRAWN + 4)), left_out=20)))
    assert "without 25 more segments, none of which changed for the worse by more" in page
    assert "<p>20 more segments are left out" in page


@pytest.mark.parametrize("limits", [(None, None), (-0.03, None), (-0.03, -0.1)])
def test_each_limit_is_drawn_on_the_row_that_it_is_for_and_said(limits: tuple[float | None, ...]) -> None:
    panel = tuple(
        PanelRow(tag=tag, queries=9, values={"recall@5": value_of(-0.05, (-0.2, 0.1), limit=limit)})
        for tag, limit in zip((None, "lang:es"), limits, strict=True)
    )
    found = drawn(details_of(panel=panel))
    assert found is not None
    known = [limit for limit in limits if limit is not None]
    drawn_limits = [line.points for line in found[0].panes[0].lines if line.dash]
    assert drawn_limits == [[(limit, 2 - row), (limit, 1 - row)][::-1] for row, limit in enumerate(known)]
    assert found[0].title == f"Change of recall@5 by segment{', with limits' if known else ''}"
    said = ["−3.0 pp for all questions", "−10.0 pp for lang:es"][: len(known)]
    assert (f"Limits: {', '.join(said)}." in found[0].description) is bool(known)
    page = render_report(replace(REPORT, details=details_of(panel=panel)))
    assert ("the most that a gate lets it change for the worse" in page) is bool(known)


def test_a_bound_that_is_not_known_reaches_the_edge_of_the_scale() -> None:
    values = [value_of(-0.3, (-0.5, -0.1)), value_of(-0.1, (None, 0.2)), value_of(-0.1, None)]
    panel = tuple(
        PanelRow(tag=tag, queries=9, values={"recall@5": each})
        for tag, each in zip((None, "a", "b"), values, strict=True)
    )
    found = drawn(details_of(panel=panel), replace(REPORT, gates=[]))
    assert found is not None
    plot = found[0].panes[0]
    intervals = [[x for x, _ in line.points] for line in plot.lines if line.width == 2]
    assert (plot.x.low, plot.x.high) == (-0.5, 0.2)
    assert intervals == [[-0.5, -0.1], [-0.5, 0.2], [-0.1, -0.1]]


def test_names_break_after_separators_and_lack_their_middle_where_they_are_long() -> None:
    tag = "team/search:locale_pt-BR.0.95." + "x" * 80 + ".end"
    page = render_report(
        replace(REPORT, details=details_of(panel=(PanelRow(tag=tag, queries=1, values={"recall@5": value_of(-0.1)}),)))
    )
    assert "<bdi>team/<wbr>search:<wbr>locale_<wbr>pt-<wbr>BR.0.95.<wbr>…" in page
    assert re.search(r"…x+\.<wbr>end</bdi>", page)


def test_there_is_no_picture_of_one_row_nor_without_a_baseline() -> None:
    assert drawn(details_of(panel=rows(0))) is None
    bare = tuple(PanelRow(tag=tag, queries=1, values={"recall@5": value_of(None)}) for tag in (None, "a", "b"))
    assert drawn(details_of(panel=bare)) is None


@pytest.mark.parametrize("tag", ["W" * 300, "漢" * 300, "team/search:a_long-segment.name_07", "x"])
def test_a_name_is_cut_to_the_room_that_it_has(tag: str) -> None:
    panel = tuple(PanelRow(tag=each, queries=1, values={"recall@5": value_of(-0.1)}) for each in (None, tag))
    for chart in changes_charts(details_of(panel=panel), {"recall@5": (-0.1, 0.0)})[0]:  # type: ignore[index]
        [(_, _), (_, name)] = chart.panes[0].y.ticks
        assert width_of(name) <= chart.width / 3
        assert (name[0], name[-1]) == (tag[0], tag[-1])
        assert ("…" in name) is (width_of(tag) > chart.width / 3)
