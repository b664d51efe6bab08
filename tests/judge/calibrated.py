"""The file of a judge whom people have checked: of one who is always right, unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rankgate.criteria import load_criteria
from rankgate.judge.identity import judge_of
from rankgate.model.answers import Rate
from rankgate.model.verdicts import Calibration, MetricCalibration
from rankgate.statistics.calibration import Powered

TODAY = "2026-01-31"


def metric_found(values: Mapping[str, float], *, j: float = 1.0, reach: float = 0.0, **other: Any) -> MetricCalibration:
    """What labels on the answers with these values say, where all of them were labelled."""
    n, mean = len(values), sum(values.values()) / len(values)
    labels = other.pop("labels", max(n, 200))
    rate, right = Rate(j, j - reach, j + reach, labels), Rate(1.0, 1.0, 1.0, labels)
    known = {"sensitivity": right, "specificity": right, "kappa": 1.0}
    value = Powered(value=mean, error=0.0, tuning=1.0, cumulant=0.0, unseen=0.0, n=labels)
    return MetricCalibration(
        **{**known, "labels": labels, "rarer": labels // 3, "slope": rate, "value": value, "values": values, **other}
    )


def calibrated(criteria: str | Path, metrics: Mapping[str, MetricCalibration], to: str | Path, **other: Any) -> None:
    """Write the calibration of the judge that criteria name, who takes a JSON schema."""
    block = load_criteria(str(criteria)).judge
    assert block is not None
    known = {"judge": judge_of(block, "json_schema").id, "model": block.model, "date": TODAY, "run": "0" * 64}
    found = Calibration(**{**known, "people": ("ana", "ben"), "agreement": 0.9, "metrics": metrics, **other})
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    Path(to).write_bytes(msgspec.json.encode(found))


def always(value: float, count: int, metrics: tuple[str, ...] = ("faithfulness", "answered_rate")) -> Any:
    """Of a labelled run whose answers q0, q1, ... all have this value."""
    return {metric: metric_found({f"q{n}": value for n in range(count)}) for metric in metrics}
