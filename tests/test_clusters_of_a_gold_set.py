"""`metadata.cluster`: queries that belong together are one observation, in every interval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankgate.cli import main

GATES = """\
evidence: proven_harm
gates:
  - name: recall@5
    threshold: 0
    regression_max: 0.02
    segments: {by: lang, regression_max: 0.02, min_queries: 10}
inputs: {gold: gold.jsonl, run: run.jsonl, baseline: accepted.jsonl}
"""


def judged(folder: Path, monkeypatch: pytest.MonkeyPatch, clusters: list[str | None]) -> list[dict[str, Any]]:
    """Sixty questions of which the first eight are lost, in these clusters."""
    monkeypatch.chdir(folder)
    gold, accepted, run = [], [], []
    for row, cluster in enumerate(clusters):
        metadata = {"tags": ["lang:en"], **({"cluster": cluster} if cluster else {})}
        gold.append({"id": f"q{row}", "expected_output": ["a"], "metadata": metadata})
        accepted.append({"query_id": f"q{row}", "topk": ["a"]})
        run.append({"query_id": f"q{row}", "topk": ["b" if row < 8 else "a"]})
    for name, entries in (("gold", gold), ("accepted", accepted), ("run", run)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    Path("ship-criteria.yaml").write_text(GATES)
    main(["check", "-o", "report.json", "--date", "2026-01-31"])
    found: list[dict[str, Any]] = json.loads(Path("report.json").read_text())["gates"]
    return found


@pytest.mark.parametrize(
    ("clusters", "verdict", "state", "segment"),
    [
        pytest.param([None] * 60, "fail", "clear", "fail", id="each question for itself: harm is proven"),
        pytest.param(
            ["talk"] * 8 + [f"c{row // 2}" for row in range(52)],
            *("warn", "no_interval", "pass"),
            id="the eight were one conversation: one observation proves nothing",
        ),
        pytest.param(
            [f"c{row // 10}" for row in range(60)],
            *("warn", "no_interval", "pass"),
            id="six clusters, one of them lost",
        ),
        pytest.param([f"c{row}" for row in range(60)], "fail", "clear", "fail", id="clusters of one are no clusters"),
    ],
)
def test_what_belongs_together_counts_once(
    clusters: list[str | None],
    verdict: str,
    state: str,
    segment: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, part = judged(tmp_path, monkeypatch, clusters)
    assert (whole["verdict"], whole["evidence_state"]) == (verdict, state)
    assert part["verdict"] == segment
    assert whole["delta"] == pytest.approx(-8 / 60)
