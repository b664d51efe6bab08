"""How far to trust a judge in a metric: whether what it says may block, by what people's labels say of it."""

from __future__ import annotations

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
from rankgate.model.verdicts import Calibration, MetricCalibration

CANNOT_TELL = 0.1  # of the lower bound of J


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


def trust_of(calibration: Calibration, judge: JudgeMark, metric: str, aged: Advisory | None = None) -> Trust:
    """How far to trust a judge in one metric; `aged` is why the file as a whole does not count."""
    known = calibration.metrics.get(metric)
    lack = aged if calibration.judge == judge.id else Advisory.JUDGE
    if known is None or lack:
        return without_labels(lack or Advisory.METRIC)
    labels = LabelCounts(known.labels, known.rarer, len(calibration.people), len(known.values))
    return Trust(advisory(known, drop=False), advisory(known, drop=True), labels, known.slope)


def without_labels(lack: Advisory) -> Trust:
    """The trust in a judge of whom people's labels say nothing."""
    return Trust(lack, lack)


def advisory(known: MetricCalibration, *, drop: bool) -> Advisory | None:
    """Why a drop, or the floor of a run that was not labelled itself, only warns; None where it counts."""
    low = known.slope.low if known.slope else 0.0
    if not drop and few_clusters(known):
        return Advisory.CLUSTERS
    if known.labels < MIN_ANSWERS or known.rarer < MIN_RARER:
        return Advisory.LABELS
    if low <= CANNOT_TELL:
        return Advisory.CANNOT_TELL
    return Advisory.WEAK if drop and low <= SEES_LITTLE else None


def few_clusters(known: MetricCalibration) -> bool:
    """Whether the value rests on too few clusters for its interval to hold."""
    return known.clustered and (known.value is None or known.value.n < MIN_CLUSTERS)
