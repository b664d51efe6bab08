"""What people found of a judge: what `rankgate judge calibrate` writes, and gates read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

CALIBRATION_VERSION = 1


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An estimate with its 95 % interval, over `n` answers; the interval may be one-sided where nothing bounds it."""

    value: float
    low: float
    high: float
    n: int


class LabelledValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metric of the labelled run in people's units, by PPI++: the fields of `prediction_powered.Powered`."""

    value: float
    error: float
    tuning: float
    cumulant: float
    n: int
    df: int


class MetricCalibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One metric: how well the judge agrees with people, and the run that was labelled.

    `labels` are the answers with labels, `rarer` those of the class that fewer answers have. `slope` is J, the part of
    a true difference that the judge sees. `values` are the judge's own of the labelled run, by query; those that it
    leaves undefined are absent.
    """

    labels: int
    rarer: int
    sensitivity: Rate | None
    specificity: Rate | None
    slope: Rate | None
    kappa: float | None
    value: LabelledValue | None
    values: Mapping[str, float]


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What labels say of one judge, whose whole id it has, on one run.

    `date` is the ISO day on which it was made, `people` who labelled, `agreement` their kappa with each other, None
    where no two labelled the same. `segments` has the metrics of single segments, by tag, for people to read.
    """

    version: int = CALIBRATION_VERSION
    judge: str
    model: str
    date: str
    run: str
    people: tuple[str, ...]
    agreement: float | None
    metrics: Mapping[str, MetricCalibration]
    segments: Mapping[str, Mapping[str, MetricCalibration]] = {}
