"""The table of gates: what a row says, and where the bar's marks lie."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from tests.renderers.pages.exhibits import details_of, value_of
from tests.renderers.reports import HOLDS, LATENCY, RECALL, REPORT

from rankgate.model.details import PanelRow
from rankgate.model.report import GateResult, Provenance, Report
from rankgate.model.values import Direction, Unit, Verdict
from rankgate.model.waiver_use import Waived
from rankgate.renderers.pages.report import MAX_GATES, about_of, render_report


def bars(html: str) -> list[dict[str, float]]:
    """Where the marks of each bar lie, from 6 to 194, and where its line ends."""
    found = []
    for bar in re.findall(r'<svg class="bar".*?</svg>', html, re.DOTALL):
        marks = dict(re.findall(r'<line class="(zero|limit)" x1="([-0-9.]+)"', bar))
        ((low, high),) = re.findall(r'class="reach" x1="([-0-9.]+)" x2="([-0-9.]+)"', bar)
        (change,) = re.findall(r'<circle cx="([-0-9.]+)"', bar)
        found.append({name: float(at) for name, at in {**marks, "low": low, "high": high, "change": change}.items()})
    return found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # 188 points from 6 to 194 for −0.12 to 0: 1566.7 a unit
        pytest.param(
            {},
            {"zero": 194.0, "change": 37.3, "low": 6.0, "high": 68.7, "limit": 147.0},
            id="fell beyond its limit",
        ),
        pytest.param(
            {"delta_ci": None},
            {"zero": 194.0, "change": 6.0, "low": 6.0, "high": 6.0, "limit": 137.6},
            id="no interval: a dot",
        ),
        pytest.param(
            {"delta_ci": (None, -0.08)},
            {"zero": 194.0, "change": 6.0, "low": 0.0, "high": 43.6, "limit": 137.6},
            id="an unknown bound lies at the edge",
        ),
        pytest.param(
            {"direction": Direction.LOWER, "delta": 0.1, "delta_ci": (0.0, 0.2), "regression_max": 0.1},
            {"zero": 6.0, "change": 100.0, "low": 6.0, "high": 194.0, "limit": 100.0},
            id="where lower is better the limit lies above",
        ),
        pytest.param(
            {"delta": 0.0, "delta_ci": (0.0, 0.0), "regression_max": None},
            {"zero": 100.0, "change": 100.0, "low": 100.0, "high": 100.0},
            id="nothing changed and nothing is forbidden",
        ),
    ],
)
def test_a_bar_holds_change_interval_and_limit_beside_zero(
    change: dict[str, object], expected: dict[str, float]
) -> None:
    assert bars(page(replace(RECALL, **change))) == [expected]


def test_there_is_no_bar_of_what_has_nothing_to_compare_with() -> None:
    assert bars(page(replace(RECALL, delta=None, delta_ci=None))) == []


def test_gates_of_one_metric_share_a_scale_with_each_other_and_with_the_segments_and_its_ends_are_stated() -> None:
    """The gate goes from −12 to 0, its segment to +2, and the panel from −40 to +10: all are drawn from −40 to +10."""
    part = replace(RECALL, segment="lang:es", delta=0.01, delta_ci=(0.0, 0.02))
    looser = replace(RECALL, name="looser", regression_max=0.25)
    other = replace(RECALL, metric="mrr", unit=Unit.SCORE)
    rows = (PanelRow(tag=tag, queries=9, values={"recall@5": value_of(-0.1, (-0.4, 0.1))}) for tag in (None, "a"))
    html = render_report(replace(report(RECALL, part, looser, other), details=details_of(panel=tuple(rows))))
    whole, segment, wide, own = bars(html)
    assert len({each["zero"] for each in (whole, segment, wide)}) == 1
    assert whole["limit"] == segment["limit"] > wide["limit"]
    assert own["zero"] == 194.0
    ends = re.findall(r'<span class="ends" aria-hidden="true"><span>(.*?)</span><span>(.*?)</span>', html)
    assert ends == [*[("−40.0 pp", "+10.0 pp")] * 3, ("−0.120", "±0.000")]
    assert "The scale, from −40.0 pp to +10.0 pp, is that of the metric's gates." in html
    assert "The scale goes from −40.0 pp to +10.0 pp.</desc>" in html


def report(*gates: GateResult) -> Report:
    return Report(
        verdict=Verdict.FAIL, summary="", gates=list(gates), provenance=Provenance(rankgate="0", date="2026-01-31")
    )


def page(*gates: GateResult) -> str:
    return render_report(report(*gates))


def rows(html: str) -> list[str]:
    """The rows of the table of gates, as text."""
    table = html.partition('<caption class="unseen">Gates</caption>')[2].partition("</table>")[0]
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in table.split("<tr>")[2:]]


def test_a_row_says_what_the_comment_says() -> None:
    (row,) = rows(page(RECALL))
    assert row == (
        "recall@5 share of the relevant documents found in the first 5 results ✕ fail −10.0 pp −12.0 pp ±0.0 pp "
        "95%: −12.0 to −8.0 pp "
        "90.0% 80.0% 95%: 75.0 to 85.0% ≥ 85.0%, −3.0 pp"
    )


@pytest.mark.parametrize(
    ("gates", "about"),
    [
        pytest.param([RECALL, LATENCY], [[], []], id="one gate a metric"),
        pytest.param(
            [RECALL, replace(RECALL, name="other")],
            [[("gate", "retrieval_recall_at_5")], [("gate", "other")]],
            id="several gates of a metric",
        ),
        pytest.param(
            [RECALL, replace(RECALL, segment="lang:\u2066es")],
            [[], [("only", "lang:\\u2066es")]],
            id="a segment alone does not make a gate need its name",
        ),
    ],
)
def test_a_row_says_what_it_is_about(gates: list[GateResult], about: list[list[tuple[str, str]]]) -> None:
    assert [about_of(gate, report(*gates)) for gate in gates] == about


def test_a_segment_that_holds_has_no_row() -> None:
    assert len(rows(page(RECALL, replace(HOLDS, segment="lang:en")))) == 1


def test_questions_of_a_hard_check_and_who_waived_it_are_named_within_bounds() -> None:
    waived = Waived(by="ana", reason="new\nindex", issue="https://example.org/1", expires="2026-12-31", up_to=0.1)
    html = page(replace(RECALL, queries=[f"q{n}" for n in range(12)], waived=waived))
    assert '<code><bdi><span class="id"><span></span>q9</span></bdi></code> and 2 more.' in html
    assert "Waived by <bdi>ana, new index, https://example.org/1</bdi>." in html
    assert "</span> waived</span>" in html


@pytest.mark.parametrize(("gates", "more"), [(1, 0), (MAX_GATES, 0), (MAX_GATES + 3, 3)])
def test_gates_without_a_row_are_counted(gates: int, more: int) -> None:
    html = page(*[RECALL] * gates)
    assert html.count('<th scope="row"><span class="name">') == gates - more
    assert (f"{more} more gates are left out" in html) is bool(more)


def test_of_sixty_failing_segments_the_worst_stand_open_and_the_others_are_folded_and_counted() -> None:
    """None is lost, and paper and pages without scripts can unfold them."""
    parts = [
        replace(RECALL, segment=f"lang:{number:02}", verdict=Verdict.FAIL, violation=number / 100)
        for number in range(60)
    ]
    page = render_report(replace(REPORT, verdict=Verdict.FAIL, gates=[replace(RECALL, verdict=Verdict.FAIL), *parts]))
    start, end = page.index('<h2 id="gates">'), page.index("</section>", page.index('<h2 id="gates">'))
    opened, folded, *_ = page[start:end].split('<details class="more">')
    in_rows = [re.findall(r"<bdi>lang:<wbr>(\d\d)</bdi>", each) for each in (opened, folded)]
    assert in_rows == [[f"{number:02}" for number in numbers] for numbers in (range(49, 60), range(49))]
    assert "<summary>49 more rows, none of which says more about the verdict</summary>" in folded
    assert "<summary>Why 49 more rows did not pass</summary>" in page
    assert len(re.findall(r"<bdi>lang:\d\d</bdi>: ", page[start:end])) == 60
