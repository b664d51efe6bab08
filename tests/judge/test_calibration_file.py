"""The file of what people found of a judge: what no labels can say is refused, with file and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.judge.calibrated import TODAY, metric_found

from rankgate.errors import RankgateError
from rankgate.gates.judged import trust_of
from rankgate.judge.calibration import read_calibration
from rankgate.model.answers import Advisory, GateJudge, JudgeMark, LabelCounts, Rate
from rankgate.model.judge_words import labels_text
from rankgate.model.verdicts import Calibration

GOOD = Calibration(
    judge="a" * 64,
    model="m",
    date=TODAY,
    run="r",
    people=("ana",),
    agreement=None,
    metrics={"faithfulness": metric_found({f"q{n}": n % 2 for n in range(200)})},
)


def written(path: Path, keys: str, value: Any) -> str:
    document = msgspec.to_builtins(GOOD)
    *outer, last = keys.split(".")
    place = document
    for key in outer:
        place = place[key]
    place[last] = value
    path.write_text(json.dumps(document))
    return str(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read_calibration(written(tmp_path / "c.json", "date", TODAY)) == GOOD
    assert read_calibration(str(tmp_path / "none.json")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("version", 2),
        ("date", "31.1.2026"),
        ("judge", "abc"),
        ("judge", ""),
        ("metrics.faithfulness.slope.low", 1.5),
        ("metrics.faithfulness.slope.value", float("nan")),
        ("metrics.faithfulness.slope.n", -1),
        ("metrics.faithfulness.slope", {"value": 2.0, "low": 1.9, "high": 2.1, "n": 200}),
        ("metrics.faithfulness.slope", {"value": 1e9, "low": 1e9, "high": 1e9, "n": 200}),
        ("metrics.faithfulness.slope.high", 1e308),
        ("metrics.faithfulness.value.value", 2.0),
        ("metrics.faithfulness.value.value", -3.0),
        ("metrics.faithfulness.value.error", 1e300),
        ("metrics.faithfulness.values", {"q1": 5.0}),
        ("metrics.faithfulness.sensitivity.high", 1.2),
        ("metrics.faithfulness.rarer", 5_000),
        ("metrics.faithfulness.labels", -5),
        ("metrics.faithfulness.kappa", 3),
        ("metrics.faithfulness.value.error", -0.1),
        ("metrics.faithfulness.value.df", 0),
        ("metrics.faithfulness.value.tuning", 2),
        ("metrics.faithfulness.values", {"q1": 1e999}),
        ("metrics.faithfulness.unknown", 1),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", key, value)
    with pytest.raises(RankgateError) as refused:
        read_calibration(path)
    assert refused.value.problems[0].file == path


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_that_never_ends_is_not_read(device: str) -> None:
    if not Path(device).exists():
        pytest.skip("no such device")
    with pytest.raises(RankgateError, match="is a device, not a file"):
        read_calibration(device)


def test_a_judge_is_known_by_the_whole_id_and_more_labels_are_asked_for_where_they_may_help() -> None:
    assert trust_of(GOOD, JudgeMark("a" * 64, "m"), "faithfulness").floor is None
    assert trust_of(GOOD, JudgeMark("a" * 8, "m"), "faithfulness").floor is Advisory.JUDGE

    def told(low: float, value: float, high: float, **more: int) -> str:
        counts = LabelCounts(**{"answers": 200, "rarer": 60, "people": 2, "among": 5_000, **more})
        few = counts.answers < 100
        reason = Advisory.LABELS if few else Advisory.CANNOT_TELL
        return labels_text("faithfulness", GateJudge(reason=reason, labels=counts, j=Rate(value, low, high, 200)))

    assert "cannot tell right from wrong" in told(-0.1, 0.1, 0.3)
    assert "More labels will not help: fix the rule" in told(-0.1, 0.1, 0.3)
    assert "may not tell right from wrong" in told(0.01, 0.38, 0.75)
    assert "More labels may not help: fix the rule" in told(0.01, 0.38, 0.75)
    assert told(0.05, 0.6, 1.1, answers=12, rarer=3).endswith(
        "answers, of which 3 have the rarer verdict; 100 and 30 are needed. About 120 labelled answers would do"
    )
    assert "; this run has 12 answers, so that it takes a larger one" in told(
        0.05, 0.6, 1.1, answers=12, rarer=3, among=12
    )
    assert "Draw a larger sample; this run has 1 answer, so" in told(0.05, 0.6, 1.1, answers=1, rarer=0, among=1)
