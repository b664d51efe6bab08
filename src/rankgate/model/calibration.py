"""What people found of a judge: what `rankgate judge calibrate` writes, and gates read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rankgate.model.answers import JudgeMark, JudgeState, Lack, Rate, Standing

CALIBRATION_VERSION = 1
MIN_ANSWERS, MIN_RARER = 100, 30
CANNOT_TELL, SEES_LITTLE = 0.1, 0.4  # of the lower bound of J


class LabelledValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metric of the labelled run in people's units: the fields of `prediction_powered.Powered`."""

    value: float
    error: float
    tuning: float
    cumulant: float
    unseen: float
    n: int
    df: int


class MetricCalibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One metric: how well the judge agrees with people, and the run that was labelled.

    `labels` are the answers with labels, `rarer` those of the verdict that fewer answers have. `slope` is J. `value` is
    that of the labelled run by PPI++, and `values` the judge's own of it by query, without those it leaves undefined.
    """

    labels: int
    rarer: int
    sensitivity: Rate | None
    specificity: Rate | None
    slope: Rate | None
    kappa: float | None
    value: LabelledValue | None
    values: Mapping[str, float] = {}

    def state(self, *, drop: bool) -> JudgeState:
        """What a drop, or the floor of a run that was not labelled itself, may rest on."""
        low = self.slope.low if self.slope else 0.0
        if self.labels < MIN_ANSWERS or self.rarer < MIN_RARER:
            return JudgeState.WEAK
        if low <= CANNOT_TELL:
            return JudgeState.UNINFORMATIVE
        return JudgeState.WEAK if drop and low <= SEES_LITTLE else JudgeState.CALIBRATED


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

    def standing(self, judge: JudgeMark, metric: str, aged: Lack | None = None) -> Standing:
        """The standing of a judge in one metric; `aged` is why the file as a whole does not count."""
        found = self.metrics.get(metric)
        lack = aged if self.judge.startswith(judge.id) else Lack.JUDGE
        if found is None or lack:
            return without_labels(lack or Lack.METRIC)
        return Standing(
            floor=found.state(drop=False),
            drop=found.state(drop=True),
            labels=found.labels,
            rarer=found.rarer,
            people=len(self.people),
            sensitivity=found.sensitivity,
            specificity=found.specificity,
            slope=found.slope,
        )


def without_labels(lack: Lack) -> Standing:
    """The standing of a judge of whom people's labels say nothing."""
    return Standing(floor=JudgeState.UNCALIBRATED, drop=JudgeState.UNCALIBRATED, lack=lack)
