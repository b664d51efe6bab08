"""What people found of a judge: what `rankgate judge calibrate` writes, and gates read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rankgate.model.answers import (
    MIN_ANSWERS,
    MIN_CLUSTERS,
    MIN_RARER,
    SEES_LITTLE,
    Advisory,
    GateJudge,
    JudgeMark,
    LabelCounts,
    Rate,
)
from rankgate.statistics.prediction_powered import Powered

CALIBRATION_VERSION = 1
CANNOT_TELL = 0.1  # of the lower bound of J


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

    @property
    def few_clusters(self) -> bool:
        """Whether the value rests on too few clusters for its interval to hold."""
        return self.clustered and (self.value is None or self.value.n < MIN_CLUSTERS)

    def advisory(self, *, drop: bool) -> Advisory | None:
        """Why a drop, or the floor of a run that was not labelled itself, only warns; None where it counts."""
        low = self.slope.low if self.slope else 0.0
        if not drop and self.few_clusters:
            return Advisory.CLUSTERS
        if self.labels < MIN_ANSWERS or self.rarer < MIN_RARER:
            return Advisory.LABELS
        if low <= CANNOT_TELL:
            return Advisory.CANNOT_TELL
        return Advisory.WEAK if drop and low <= SEES_LITTLE else None


class Trust(msgspec.Struct, frozen=True):
    """Why a floor and a drop by a judge only warn, None where they count, and what people's labels say of it."""

    floor: Advisory | None
    drop: Advisory | None
    labels: LabelCounts | None = None
    j: Rate | None = None

    @property
    def of_segments(self) -> Trust:
        """The same for segments, whose floors only warn: nobody has drawn labels for each of them."""
        return msgspec.structs.replace(self, floor=self.floor or Advisory.SEGMENT)

    def judge(self, *, floors: bool = True, drops: bool = True) -> GateJudge:
        """What a gate with limits of these kinds may do."""
        reasons: list[Advisory | None] = []
        if drops:
            reasons.append(self.drop)
        if floors:
            reasons.append(self.floor)
        reason = next(filter(None, reasons), None)
        return GateJudge(counts=None in reasons, reason=reason, labels=self.labels, j=self.j)


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

    def trust(self, judge: JudgeMark, metric: str, aged: Advisory | None = None) -> Trust:
        """How far to trust a judge in one metric; `aged` is why the file as a whole does not count."""
        known = self.metrics.get(metric)
        lack = aged if self.judge == judge.id else Advisory.JUDGE
        if known is None or lack:
            return without_labels(lack or Advisory.METRIC)
        labels = LabelCounts(known.labels, known.rarer, len(self.people), len(known.values))
        return Trust(known.advisory(drop=False), known.advisory(drop=True), labels, known.slope)


def without_labels(lack: Advisory) -> Trust:
    """The trust in a judge of whom people's labels say nothing."""
    return Trust(lack, lack)
