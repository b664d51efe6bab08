"""What people would find in all answers of a run, from a judge's values of all and people's labels of some: PPI++.

The n labelled answers are a simple random draw. Of these y are the values by people and f those by the judge; of the N
others F are the judge's::

    value       lambda mean(F) + mean(r),  r = y - lambda f
    lambda      cov(y, f) / (var(f and F together) (1 + n / N)),  within 0 to 1; 0 where N < 10 or f never differs
    influence   (r - mean(r)) / n of a labelled answer, lambda (F - mean(F)) / N of another one
    error^2     the sum of the squares of influences, which are summed by cluster first

Value, lambda and error are those of ``ppi-python`` 0.2.3 (Angelopoulos, Duchi & Zrnic 2023). With a judge that cannot
tell lambda is 0, and people's labels alone remain.
"""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import msgspec

from rankgate.statistics.clusters import summed
from rankgate.statistics.quantiles import t_quantile
from rankgate.statistics.saddlepoint import unchanged_bound

MIN_LABELS = 10  # fewer labels, or fewer others, than that tell nothing of a spread
UNSEEN = 0.7  # of what one more answer that the judge gets wrong would change: errors too rare for these labels


class Labelled(NamedTuple):
    """An answer's value by people and by the judge."""

    people: float
    judge: float


class Powered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An estimate in people's units, its standard error, lambda, and the third cumulant of the error.

    `n` counts what was drawn independently: the labelled answers, or their clusters. `unseen` is what the judge's
    errors that are too rare for so many labels may change.
    """

    value: float
    error: float
    tuning: float
    cumulant: float
    unseen: float
    n: int

    def bounds(self, confidence: float = 0.95) -> tuple[float, float]:
        """The interval of Student's t with n - 1 degrees of freedom; it may reach beyond the metric's range.

        It reaches t hypot(error sqrt(n / (n - 1)), unseen) to either side. Both ends are moved by Johnson's skewness
        correction (1978), cumulant (1 + 2 t^2) / (6 error^2), but never towards the value. Labels without any error
        exclude no more than ``unchanged_bound`` of a range of 1.
        """
        if not self.error:
            reach = unchanged_bound(self.n, 1.0, confidence)
            return self.value - reach, self.value + reach
        t = t_quantile((1 + confidence) / 2, self.n - 1)
        reach = t * math.hypot(self.error * math.sqrt(self.n / (self.n - 1)), self.unseen)
        shift = self.cumulant * (1 + 2 * t * t) / (6 * self.error**2)
        return self.value - reach + min(shift, 0.0), self.value + reach + max(shift, 0.0)


def prediction_powered(
    labelled: Sequence[Labelled], others: Sequence[float], clusters: Sequence[Hashable] = ()
) -> Powered | None:
    """The run's mean as people would find it; None for fewer than two labelled answers, or clusters of these.

    Args:
        labelled: a simple random draw from the answers of the run.
        others: the judge's values of those that were not drawn.
        clusters: that of each labelled answer, then of each other one; none where answers do not come in clusters.
    """
    n = len(labelled)
    units = len({*clusters[:n]}) if clusters else n
    if units <= 1:
        return None
    people = [each.people for each in labelled]
    judge = [each.judge for each in labelled]
    tuning = _tuning(people, judge, others)
    residuals = [y - tuning * f for y, f in zip(people, judge, strict=True)]
    value = _mean(residuals)
    influences = [each / n for each in _centred(residuals)]
    if tuning:
        value += tuning * _mean(others)
        influences += [tuning * each / len(others) for each in _centred(others)]
    independent = summed(influences, clusters[: len(influences)])
    error = math.sqrt(math.fsum(each**2 for each in independent))
    cumulant = math.fsum(each**3 for each in independent)
    return Powered(value, error, tuning, cumulant, UNSEEN * tuning / units, units)


def _tuning(people: Sequence[float], judge: Sequence[float], others: Sequence[float]) -> float:
    """Lambda, of the least error."""
    everything = [*judge, *others]
    if len(others) < MIN_LABELS or len({*everything}) == 1:
        return 0.0
    variance = math.fsum(each**2 for each in _centred(everything)) / (len(everything) - 1)
    agreeing = math.fsum(y * f for y, f in zip(_centred(people), _centred(judge), strict=True)) / len(people)
    return min(max(agreeing / variance / (1 + len(people) / len(others)), 0.0), 1.0)


def _centred(values: Sequence[float]) -> list[float]:
    mean = _mean(values)
    return [value - mean for value in values]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
