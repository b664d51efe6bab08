"""What people found of a judge: what `rankgate judge calibrate` writes, and gates read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rankgate.model.answers import (
    Rate,
)
from rankgate.statistics.prediction_powered import Powered

CALIBRATION_VERSION = 1


class MetricCalibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One metric: how well the judge agrees with people, and the run that was labelled.

    `labels` are the answers with labels, `rarer` those of the verdict that fewer answers have. `slope` is J. `value` is
    that of the labelled run by PPI++, and `values` the judge's own of it by query, without those it leaves undefined.
    Where answers come in clusters (`clustered`), intervals are of these. `criterion` is the text that a rubric had.
    """

    labels: int
    rarer: int
    sensitivity: Rate | None
    specificity: Rate | None
    slope: Rate | None
    kappa: float | None
    value: Powered | None
    values: Mapping[str, float] = {}
    clustered: bool = False
    criterion: str | None = None


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What labels say of one judge, whose whole id it has, on one run.

    `date` is the ISO day on which it was made, `people` who labelled, `agreement` their kappa with each other, None
    where no two labelled the same. `answers` is the SHA-256 of the run's answers (`judge.sample.answers_key`).
    `segments` has the metrics of single segments, by tag, for people to read.
    """

    version: int = CALIBRATION_VERSION
    judge: str
    model: str
    date: str
    run: str
    answers: str = ""
    people: tuple[str, ...]
    agreement: float | None
    metrics: Mapping[str, MetricCalibration]
    segments: Mapping[str, Mapping[str, MetricCalibration]] = {}
