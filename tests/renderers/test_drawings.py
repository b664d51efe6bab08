"""What the comment shows beside numbers: the interval of a change by tag, and the trend of the last runs."""

import pytest
from msgspec.structs import replace
from tests.renderers.page import Page
from tests.renderers.reports import ENGLISH, IN_SEGMENT, RECALL, REPORT

from rankgate.model.report import Report, TrendPoint
from rankgate.model.values import Evidence, Reason, ReasonKind
from rankgate.renderers.markdown import render_markdown
from rankgate.renderers.sections import spark, trend_head, trend_rows


def test_the_table_by_tag_has_the_interval_of_a_change_in_small_letters() -> None:
    segment = replace(ENGLISH, metrics={"recall@5": replace(IN_SEGMENT, delta_ci=(-0.3, -0.1))})
    lines = render_markdown(replace(REPORT, segments=[segment])).splitlines()
    assert "| Tag | Questions | recall@5 |" in lines
    interval = "<sub>95%:&nbsp;−30.0&nbsp;to&nbsp;−10.0&nbsp;pp</sub>"
    assert f"| `lang:en` | 20 | 70.0% (−20.0 pp) {interval} |" in lines
    assert "| `lang:en` | 20 | 70.0% (−20.0 pp) |" in render_markdown(REPORT).splitlines()


def test_where_gates_correct_for_many_segments_the_table_by_tag_has_their_intervals_and_no_plain_ones() -> None:
    """A plain 95% interval that excludes zero would contradict a gate that says within noise."""
    plain = replace(IN_SEGMENT, delta_ci=(-0.3, -0.1))
    others = [replace(ENGLISH, value=name, metrics={"recall@5": plain}) for name in ("es", "pt", "en")]
    judged = replace(RECALL, segment="lang:es", evidence=Evidence.PROVEN_HARM, confidence=0.9983, delta_ci=(-0.4, 0.1))
    judged = replace(judged, reasons=[Reason(ReasonKind.REGRESSION, corrected_for=3)])
    small = replace(judged, segment="lang:pt", too_small=True)
    lines = render_markdown(replace(REPORT, segments=others, gates=[*REPORT.gates, judged, small])).splitlines()
    interval = "<sub>for&nbsp;3&nbsp;parts&nbsp;at&nbsp;once:&nbsp;−40.0&nbsp;to&nbsp;+10.0&nbsp;pp</sub>"
    assert f"| `lang:es` | 20 | 70.0% (−20.0 pp) {interval} |" in lines
    assert "| `lang:pt` | 20 | 70.0% (−20.0 pp) |" in lines
    assert "| `lang:en` | 20 | 70.0% (−20.0 pp) |" in lines


# The trend


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        pytest.param([0.0, 0.5, 1.0], "▁▅█", id="rising"),
        pytest.param([0.8, 0.8], "▄▄", id="flat"),
        pytest.param([None, 0.1, 0.2], "·▁█", id="one run without a value"),
        pytest.param([None], "·", id="none"),
    ],
)
def test_a_spark(values: list[float | None], drawn: str) -> None:
    assert spark(values) == drawn


def with_trend(*values: float | None) -> Report:
    points = [TrendPoint(date=f"2026-01-{day:02}", scores={"recall@5": value}) for day, value in enumerate(values, 1)]
    return replace(REPORT, trend=points)


def test_the_trend_is_a_folded_table() -> None:
    found = Page(render_markdown(with_trend(0.9, 0.85, 0.95)))
    assert "The last 3 runs of the main branch, 2026-01-01 to 2026-01-03" in found.plain
    assert ["Metric", "Trend", "Lowest", "Highest", "Newest", "This run"] in found.rows
    assert ["recall@5", "▅▁█", "85.0%", "95.0%", "95.0%", "80.0%"] in found.rows


def test_one_run_is_a_trend_of_one_day() -> None:
    assert trend_head(with_trend(0.9)) == "The last run of the main branch, 2026-01-01"


def test_a_metric_that_no_run_recorded_has_no_row() -> None:
    assert trend_rows(with_trend(None, None)) == []
    assert "main branch" not in render_markdown(with_trend(None, None))


def test_without_a_history_there_is_no_trend() -> None:
    assert trend_head(REPORT) == ""
    assert "Trend" not in render_markdown(REPORT)
