"""What people found of a judge: what `rankgate judge calibrate` writes, and gates read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rankgate.model.answers import (
    MIN_ANSWERS,
    MIN_CLUSTERS,
    MIN_RARER,
    SEES_LITTLE,
    JudgeMark,
    JudgeState,
    Lack,
    Rate,
    Standing,
)
from rankgate.statistics.prediction_powered import Powered

CALIBRATION_VERSION = 1
CANNOT_TELL = 0.1  # of the lower bound of J


class MetricCalibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One metric: how well the judge agrees with people, and the run that was labelled.

    `labels` are the answers with labels, `rarer` those of the verdict that fewer answers have. `slope` is J. `value` is
    that of the labelled run by PPI++, and `values` the judge's own of it by query, without those it leaves undefined.
    Where answers come in clusters (`clustered`), intervals are of these.
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

    @property
    def few_clusters(self) -> bool:
        """Whether the value rests on too few clusters for its interval to hold."""
        return self.clustered and (self.value is None or self.value.n < MIN_CLUSTERS)

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

    def standing(self, judge: JudgeMark, metric: str, aged: Lack | None = None) -> Standing:
        """The standing of a judge in one metric; `aged` is why the file as a whole does not count."""
        found = self.metrics.get(metric)
        lack = aged if self.judge == judge.id else Lack.JUDGE
        if found is None or lack:
            return without_labels(lack or Lack.METRIC)
        own = {key: getattr(found, key) for key in ("labels", "rarer", "sensitivity", "specificity", "slope")}
        own |= {"people": len(self.people), "answers": len(found.values)}
        drop = found.state(drop=True)
        if found.few_clusters:
            return Standing(floor=JudgeState.UNCALIBRATED, drop=drop, lack=Lack.CLUSTERS, **own)
        return Standing(floor=found.state(drop=False), drop=drop, **own)


def without_labels(lack: Lack) -> Standing:
    """The standing of a judge of whom people's labels say nothing."""
    return Standing(floor=JudgeState.UNCALIBRATED, drop=JudgeState.UNCALIBRATED, lack=lack)
