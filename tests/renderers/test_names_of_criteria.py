"""Names that criteria may hold, as of a score or a source, are shown as code; GitHub links the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.renderers.page import Page

from rankgate.check import check
from rankgate.cli import main
from rankgate.criteria.inputs import Inputs
from rankgate.metrics.names import parse_metric
from rankgate.model.report import Report
from rankgate.renderers.markdown import render_markdown

NAME = "www.e.example"
CRITERIA = f"""\
gates:
  - {{name: own, metric: score({NAME}), direction: higher, threshold: 0.9}}
  - {{name: share, metric: source_share({NAME}), threshold: 0.9}}
  - {{name: part, metric: recall(source={NAME})@5, threshold: 0.9}}
inputs: {{gold: gold.jsonl, run: run.jsonl, baseline: baseline}}
"""


def write_run(*found: str) -> None:
    lines = (
        {"query_id": f"q{n}", "retrieved": [doc], "scores": {NAME: 0.5}, "source": NAME if n else "other"}
        for n, doc in enumerate(found)
    )
    Path("run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Criteria that name what GitHub would link, and a run that finds two of three."""
    monkeypatch.chdir(tmp_path)
    samples = ({"id": f"q{n}", "expected_output": [f"d{n}"], "metadata": {"source": NAME}} for n in range(3))
    Path("gold.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    Path("ship-criteria.yaml").write_text(CRITERIA)
    write_run("d0", "d1", "d2")
    accept = ["baseline", "accept", "--date", "2026-01-01", "--reason", "the first"]
    assert main(accept) == 0
    return tmp_path


def judged(*found: str) -> Report:
    write_run(*found)
    return check(Inputs(date="2026-01-31"))


def shown(report: Report) -> Page:
    return Page(render_markdown(report))


def test_neither_a_score_nor_a_source_becomes_a_link(place: Path) -> None:
    report = judged("d0", "d1", "x")
    page = shown(report)
    assert page.count("a") == 0
    assert NAME not in page.plain
    assert f"score({NAME})" in page.code
    assert {gate.metric for gate in report.gates} >= {f"score({NAME})", f"source_share({NAME})"}


@pytest.mark.parametrize("name", [f"score({NAME})", f"source_share({NAME})", f"recall(source={NAME})@5"])
def test_what_a_metric_means_holds_no_text_of_its_name(name: str) -> None:
    metric = parse_metric(name)
    assert NAME in metric.name
    assert NAME not in metric.meaning
