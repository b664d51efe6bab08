"""A section of the comment is one row: the budget, the last line and GitHub's summary know of it."""

from __future__ import annotations

import pytest
from tests.renderers.reports import REPORT

from rankgate.model.report import Report
from rankgate.renderers import sections
from rankgate.renderers.fitting import usual_room
from rankgate.renderers.markdown import render_markdown, render_summary
from rankgate.renderers.sections import SECTIONS, Room, Section

COUNT = 400


def omens(report: Report, room: Room) -> str:
    del report
    return "\n".join(f"- omen {number} of the day" for number in range(room["omens"]))


ROW = Section("omens", 0, ("omen", None), lambda _: COUNT, omens, lambda _: "Omens")


@pytest.fixture
def one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "SECTIONS", (*SECTIONS, ROW))


@pytest.mark.usefixtures("one_row")
def test_one_row_is_all_that_a_section_takes() -> None:
    whole = render_markdown(REPORT)
    assert "<summary>Omens</summary>" in whole
    assert f"omen {COUNT - 1} of" in whole
    assert usual_room(REPORT)["omens"] == COUNT
    for cut in (render_markdown(REPORT, limit=len(whole) - 1), render_summary(REPORT, len(whole.encode()) - 1)):
        shown = cut.count("- omen ")
        assert 0 < shown < COUNT
        assert cut.endswith(f"Left out to fit: {COUNT - shown} of {COUNT} omens; they are in `report.json`.\n")


@pytest.mark.usefixtures("one_row")
def test_without_its_turn_no_other_section_is_cut() -> None:
    """Its rows go before all others, since its turn is 0."""
    without = "\n".join(render_markdown(REPORT).splitlines()[:3])
    cut = render_markdown(REPORT, limit=len(render_markdown(REPORT)) - 200)
    assert cut.startswith(without)
    assert "By tag" in cut
    assert cut.count("Left out to fit") == 1


def test_every_section_has_a_turn_of_its_own_and_sections_of_one_budget_are_counted_alike() -> None:
    assert len({section.goes for section in SECTIONS}) == len(SECTIONS)
    said: dict[str, object] = {}
    for section in SECTIONS:
        assert said.setdefault(section.key, section.said) == section.said
