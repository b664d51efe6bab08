"""On which days a waiver was in force, by the versions of its file."""

from __future__ import annotations

import pytest

from rankgate.criteria.waivers import Waiver
from rankgate.model.values import Unit
from rankgate.renderers.dashboards.build import Version, spans_of
from rankgate.renderers.dashboards.values import place_of


def waiver(expires: str = "2026-02-28", *, gate: str = "recall@5", line: int | None = None) -> Waiver:
    issue = "https://example.org/1"
    return Waiver(gate=gate, segment=None, up_to=0.1, expires=expires, issue=issue, reason="soon", by="ana", line=line)


def days(*versions: tuple[str | None, tuple[Waiver, ...]]) -> list[tuple[str | None, str]]:
    found = spans_of([Version(day=day, waivers=waivers) for day, waivers in versions], {"recall@5": Unit.SHARE})
    return [(span.since, span.until) for span in found]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        pytest.param([], [], id="no file"),
        pytest.param([(None, (waiver(),))], [(None, "2026-02-28")], id="without git nobody knows since when"),
        pytest.param([("2026-01-05", (waiver(),))], [("2026-01-05", "2026-02-28")], id="until its last day"),
        pytest.param(
            [("2026-01-05", (waiver(),)), ("2026-01-20", ())], [("2026-01-05", "2026-01-19")], id="or until taken out"
        ),
        pytest.param(
            [("2026-01-05", (waiver(),)), ("2026-04-01", ())], [("2026-01-05", "2026-02-28")], id="whichever is first"
        ),
        pytest.param(
            [("2026-01-05", (waiver(),)), ("2026-01-20", (waiver(line=9),)), (None, (waiver(line=3),))],
            [("2026-01-05", "2026-02-28")],
            id="on another line it is the same one",
        ),
        pytest.param(
            [("2026-01-05", (waiver(),)), ("2026-02-20", (waiver("2026-03-31"),))],
            [("2026-01-05", "2026-02-19"), ("2026-02-20", "2026-03-31")],
            id="longer: one after the other",
        ),
        pytest.param([("2026-03-05", (waiver(),))], [], id="expired before it was there"),
        pytest.param(
            [("2026-01-05", (waiver(),)), (None, ())], [("2026-01-05", "2026-02-28")], id="taken out, not committed yet"
        ),
    ],
)
def test_a_waiver_counts(
    versions: list[tuple[str | None, tuple[Waiver, ...]]], expected: list[tuple[str, str]]
) -> None:
    assert days(*versions) == expected


def test_a_span_lies_from_the_begin_of_its_first_day_to_the_end_of_its_last() -> None:
    [span] = spans_of([Version(day="2026-01-05", waivers=(waiver(),))], {"recall@5": Unit.SHARE})
    assert (span.first, span.last) == (place_of("2026-01-05"), place_of("2026-03-01"))
    assert span.unit is Unit.SHARE


def test_of_a_gate_that_is_no_more_the_unit_is_unknown() -> None:
    [span] = spans_of([Version(day=None, waivers=(waiver(gate="gone"),))], {"recall@5": Unit.SHARE})
    assert (span.unit, span.first) == (Unit.NUMBER, None)
