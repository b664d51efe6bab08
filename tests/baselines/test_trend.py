"""How it went before: what a report says of the recorded runs, and where it says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.renderers.dashboards.memories import CRITERIA, GOLD, made, record
from tests.repositories import commit, git

from rankgate.baselines.directory import directory_store
from rankgate.baselines.records import MAX_POINTS, trend_of
from rankgate.check import check
from rankgate.criteria import InputFile
from rankgate.criteria.inputs import Inputs
from rankgate.model.report import Report, TrendPoint
from rankgate.model.values import Verdict


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("STORE", "baseline"), encoding="utf-8")
    Path("gold.yaml").write_text(GOLD, encoding="utf-8")
    lines = "".join(f'{{"query_id": "q{n}", "retrieved": ["d{n}"]}}\n' for n in range(10))
    Path("run.jsonl").write_text(lines, encoding="utf-8")


def remember(*days: str, accept: str | None = None) -> None:
    memory = directory_store("baseline").memory
    for day in days:
        memory.add("history", *made(day))
    if accept:
        memory.add("accepted", *made(accept))


def judged(date: str = "2026-02-01", **more: Any) -> Report:
    return check(Inputs(date=date, run=InputFile("run.jsonl"), **more))


def test_a_point_is_what_was_recorded() -> None:
    one, two = record("2026-01-01", 5), record("2026-01-02", 9)
    assert trend_of([one, two], [two]) == [
        TrendPoint(date=one.date, commit=one.commit, verdict=Verdict.FAIL, scores={"recall@1": 0.5}),
        TrendPoint(date=two.date, commit=two.commit, verdict=Verdict.PASS, accepted=True, scores={"recall@1": 0.9}),
    ]


def test_the_report_has_the_last_runs_up_to_the_day_of_the_check() -> None:
    days = [f"2026-01-{number:02}" for number in range(1, 21)]
    remember(*days, "2026-03-01", accept=days[17])
    trend = judged().measured.trend
    assert [point.date for point in trend] == days[-MAX_POINTS:]
    assert [point.date for point in trend if point.accepted] == [days[17]]
    assert [point.date for point in judged("2026-01-02").measured.trend] == days[:2]


def test_a_run_that_has_nothing_to_be_compared_with_has_a_trend_too() -> None:
    remember("2026-01-01")
    report = judged()
    assert (len(report.measured.trend), report.provenance.baseline) == (1, None)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"without_baseline": True}, id="compared with nothing"),
        pytest.param({"baseline": InputFile("run.jsonl")}, id="compared with a run file"),
    ],
)
def test_without_a_store_there_is_no_trend(more: dict[str, Any]) -> None:
    remember("2026-01-01", accept="2026-01-01")
    assert judged(**more).measured.trend == []


def test_a_strangers_run_is_told_the_history_of_the_store_as_well() -> None:
    remember("2026-01-01", accept="2026-01-01")
    assert [point.date for point in judged(untrusted_run=True).measured.trend] == ["2026-01-01"]


def test_a_history_that_cannot_be_read_decides_nothing() -> None:
    remember("2026-01-01", accept="2026-01-01")
    Path("baseline/history/00000001.json").write_text("{\n", encoding="utf-8")
    report = judged()
    assert (report.verdict, report.measured.trend) == (Verdict.PASS, [])


def test_with_a_base_the_history_is_that_of_the_base() -> None:
    git("init", "-q", "-b", "main")
    remember("2026-01-01", accept="2026-01-01")
    commit()
    git("switch", "-q", "-c", "topic")
    remember("2026-01-15", accept="2026-01-15")
    commit()
    assert [point.date for point in judged().measured.trend] == ["2026-01-01", "2026-01-15"]
    report = judged(base="main")
    assert [(point.date, point.accepted) for point in report.measured.trend] == [("2026-01-01", True)]
    assert report.base is not None
    assert report.base.baseline_changed == "replaced"
