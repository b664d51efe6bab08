"""The panel as text, and which changes it calls better or worse."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.renderers.pages.exhibits import LATENCY, RECALL, details_of, value_of
from tests.renderers.reports import REPORT

from rankgate.model.details import Measure, PanelRow
from rankgate.model.values import Direction
from rankgate.renderers.pages.report import render_report
from rankgate.renderers.pages.segments import MAX_DRAWN, changes_chart, way_of


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
    assert way_of(value_of(-0.1, ci), direction) == expected


OWN = '<span class="interval">40.0 to 60.0%</span>'


@pytest.mark.parametrize(
    ("measure", "delta", "ci", "expected"),
    [
        pytest.param(
            RECALL,
            -0.15,
            (-0.2, -0.1),
            f'50.0%{OWN}<span class="delta worse">worse −15.0 pp</span><span class="interval">−20.0 to −10.0 pp</span>',
            id="fell",
        ),
        pytest.param(
            RECALL,
            0.0,
            (0.0, 0.0),
            f'50.0%{OWN}<span class="delta unclear">±0.0 pp</span>',
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
    head = '<th scope="row"><bdi>lang:\\u202ept</bdi><span class="about">10 questions</span></th>'
    assert f'{head}\n<td class="number">{expected}</td>\n</tr>' in page


def rows(count: int) -> tuple[PanelRow, ...]:
    whole = PanelRow(tag=None, queries=10, values={"recall@5": value_of(-0.01)})
    tagged = (PanelRow(tag="same", queries=1, values={"recall@5": value_of(-0.02 * n)}) for n in range(count))
    return (whole, *tagged)


def test_segments_with_one_label_stay_rows_of_their_own_with_the_largest_loss_first() -> None:
    found = changes_chart(details_of(panel=rows(3)))
    assert found is not None
    picture, left_out = found
    texts = [part.partition("</text>")[0].rpartition(">")[2] for part in str(picture).split("<text")[1:]]
    assert texts.count("same") == 3
    assert [text for text in texts if "pp" in text] == ["−1.0 pp", "−4.0 pp", "−2.0 pp", "±0.0 pp"]
    assert left_out == 0


def test_of_many_segments_those_that_lost_least_are_counted_instead() -> None:
    found = changes_chart(details_of(panel=rows(MAX_DRAWN + 4)))
    assert found is not None
    assert found[1] == 5


def test_there_is_no_picture_of_one_row_nor_without_a_baseline() -> None:
    assert changes_chart(details_of(panel=rows(0))) is None
    bare = tuple(PanelRow(tag=tag, queries=1, values={"recall@5": value_of(None)}) for tag in (None, "a", "b"))
    assert changes_chart(details_of(panel=bare)) is None
