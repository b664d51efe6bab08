"""Segments on the page: the parts of the view, and the other metrics behind them, at one level of confidence."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from tests.gate_rows import changed
from tests.renderers.pages.exhibits import LATENCY, RECALL, details_of, value_of
from tests.renderers.reports import RECALL as GATE
from tests.renderers.reports import REPORT
from tests.report_keys import with_keys

from rankgate.model.details import Measure, PanelRow
from rankgate.model.report import Report
from rankgate.model.values import Direction, Evidence, Reason, ReasonKind, Unit
from rankgate.renderers.pages.report import render_report

MRR = Measure(name="mrr", meaning="first", unit=Unit.SCORE, direction=Direction.HIGHER)
OWN = ' <span class="interval">0.400 to 0.600</span>'


def page_of(report: Report, measure: Measure, delta: float | None, tag: str | None = "lang:\u202ept") -> str:
    row = PanelRow(tag=tag, queries=10, values={measure.name: value_of(delta)})
    return render_report(with_keys(report, details=details_of(panel=(row,), measure=measure)))


@pytest.mark.parametrize(
    ("measure", "delta", "expected"),
    [
        pytest.param(MRR, -0.15, f'0.500 <span class="delta">−0.150</span>{OWN}', id="fell"),
        pytest.param(MRR, 0.0, f'0.500 <span class="delta">±0.000</span>{OWN}', id="stayed"),
        pytest.param(LATENCY, None, '0.5 ms <span class="interval">0.4 to 0.6 ms</span>', id="no baseline"),
    ],
)
def test_a_cell_says_the_value_and_what_changed(measure: Measure, delta: float | None, expected: str) -> None:
    head = '<th scope="row"><bdi>lang:<wbr>\\u202ept</bdi><span class="about">10 questions</span></th>'
    cell = f'<td class="number" data-label="{measure.name}">{expected}</td>'
    assert f"{head}\n{cell}\n</tr>" in page_of(REPORT, measure, delta)


def corrected(parts: int) -> Report:
    """A gate on a part, whose interval holds for so many at once."""
    reasons = [Reason(ReasonKind.REGRESSION, corrected_for=parts)]
    part = changed(GATE, segment="lang:en", evidence=Evidence.PROVEN_HARM, confidence=0.99, reasons=reasons)
    return replace(REPORT, gates=[GATE, part])


def test_where_gates_judge_parts_at_their_own_level_no_other_interval_stands_beside_theirs() -> None:
    page = page_of(corrected(12), MRR, -0.15)
    segments = page[page.index('<h2 id="segments">') :]
    assert "for 12 languages at once: −12.0 to −8.0 pp" in segments
    assert "0.400 to 0.600" not in page
    assert "95%" not in segments.partition("</section>")[0]


def test_the_metrics_of_the_gates_stand_before_the_others_which_are_folded() -> None:
    page = page_of(REPORT, MRR, -0.15)
    parts, panel = page.index('class="parts stack"'), page.index('class="panel stack"')
    assert parts < page.index("<summary>Other metrics, over all questions") < panel
    assert "recall@5" not in page[panel:].partition("</table>")[0]
    assert 'data-label="recall@5"' not in page_of(REPORT, RECALL, -0.1).partition('class="panel')[2]


def test_names_break_after_separators_and_lack_their_middle_where_they_are_long() -> None:
    page = page_of(REPORT, MRR, -0.1, "team/search:locale_pt-BR.0.95." + "x" * 80 + ".end")
    assert "<bdi>team/<wbr>search:<wbr>locale_<wbr>pt-<wbr>BR.0.95.<wbr>…" in page
    assert re.search(r"…x+\.<wbr>end</bdi>", page)


def test_rows_without_room_are_counted() -> None:
    details = replace(details_of(panel=(PanelRow(tag="a", queries=1, values={"mrr": value_of(-0.1)}),), measure=MRR))
    page = render_report(with_keys(REPORT, details=replace(details, left_out=20)))
    assert "<p>20 more segments are left out, none of which lost more" in page
