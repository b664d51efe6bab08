"""The file of what people found of a judge: what no labels can say is refused, with file and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.judge.calibrated import TODAY, metric_found

from rankgate.errors import RankgateError
from rankgate.judge.calibration import read_calibration
from rankgate.model.calibration import Calibration

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
