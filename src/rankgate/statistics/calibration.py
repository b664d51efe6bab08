"""How well a judge agrees with people, what a drop that it saw is in people's units, and what they would find in a run.

The unit is the answer, as claims of one answer are not independent, or the cluster where answers come in clusters. A
share R = sum hits / sum among has the variance n / (n - 1) sum (hits - R among)^2 / (sum among)^2 over n units, and
Wilson's interval of as many independent answers. The slope J = cov(f, y) / var(y) of the judge's value f on people's y
is the part of a true difference that the judge sees, if it errs alike on both runs; of values 0 and 1 it is
sensitivity + specificity - 1. Its variance is that of HC3, with the errors summed by cluster. All intervals are at
95 %.

The value of all answers of a run, from a judge's values of all and people's labels of some, is that of PPI++. The n
labelled answers are a simple random draw. Of these y are the values by people and f those by the judge; of the N
others F are the judge's::

    value       lambda mean(F) + mean(r),  r = y - lambda f
    lambda      cov(y, f) / (var(f and F together) (1 + n / N)),  within 0 to 1; 0 where N < 10 or f never differs
    influence   (r - mean(r)) / n of a labelled answer, lambda (F - mean(F)) / N of another one
    error^2     the sum of the squares of influences, which are summed by cluster first

Value, lambda and error are those of ``ppi-python`` 0.2.3 (Angelopoulos, Duchi & Zrnic 2023). With a judge that cannot
tell lambda is 0, and people's labels alone remain.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import msgspec

from rankgate.statistics.clusters import summed
from rankgate.statistics.quantiles import Bounds, square_and_add, t_quantile
from rankgate.statistics.saddlepoint import unchanged_bound

_BOUND = 0.975  # the quantile for both bounds at 95 %
_ROUNDING = 1e-12  # a variance up to this is rounding

MIN_LABELS = 10  # fewer labels, or fewer others, than that tell nothing of a spread
UNSEEN = 0.7  # of what one more answer that the judge gets wrong would change: errors too rare for these labels


class Labelled(NamedTuple):
    """An answer's value by people and by the judge."""

    people: float
    judge: float


class Measured(NamedTuple):
    """An estimate, its interval, and over how many answers."""

    value: float
    low: float
    high: float
    n: int


class Change(NamedTuple):
    """A change, or a run's value, in people's units; None where the judge's slope does not tell it."""

    value: float | None
    ci: Bounds


class Quality(NamedTuple):
    """A judge beside people; ``rarer`` is the number of answers with a claim of the class that fewer answers have."""

    n: int
    rarer: int
    sensitivity: Measured | None
    specificity: Measured | None
    slope: Measured | None
    kappa: float | None


def quality(
    values: Sequence[Labelled], claims: Sequence[Sequence[tuple[bool, bool]]], clusters: Sequence[Hashable] = ()
) -> Quality:
    """J over a metric's values, one an answer; the rest over whether people and the judge find its claims supported.

    `claims` has for each answer whether (people, the judge) find a claim supported, `clusters` the cluster of each
    answer, or nothing. What no answer tells is None.
    """
    supported = _counts(claims, clusters, kind=True)
    absent = _counts(claims, clusters, kind=False)
    return Quality(
        len(values),
        min(_answers_with(claims, kind=True), _answers_with(claims, kind=False)),
        _share(supported),
        _share(absent),
        slope(values, clusters),
        kappa([pair for answer in claims for pair in answer]),
    )


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


def _answers_with(claims: Sequence[Sequence[tuple[bool, bool]]], *, kind: bool) -> int:
    return sum(any(people is kind for people, _ in answer) for answer in claims)


def _counts(
    claims: Sequence[Sequence[tuple[bool, bool]]], clusters: Sequence[Hashable], *, kind: bool
) -> list[tuple[float, float]]:
    """Of the claims that are of this kind by people: hits of the judge and how many there are, by unit."""
    hits = summed([float(answer.count((kind, kind))) for answer in claims], clusters)
    among = summed([float(sum(y is kind for y, _ in answer)) for answer in claims], clusters)
    return [unit for unit in zip(hits, among, strict=True) if unit[1]]


def _share(counts: Sequence[tuple[float, float]]) -> Measured | None:
    """A share R of claims, from 0 to 1, by (hits, among) of each of n units; None without any.

    Wilson's interval has the centre (R + c / 2) / (1 + c) and the half width sqrt(c R (1 - R) + c^2 / 4) / (1 + c),
    where c = t^2 / m. t is the quantile with n - 1 degrees of freedom, and m = R (1 - R) / variance(R) is how many
    independent answers would have that variance: n, where it is zero.
    """
    if not counts:
        return None
    n = len(counts)
    total = math.fsum(among for _, among in counts)
    share = math.fsum(hits for hits, _ in counts) / total
    squares = math.fsum(((hits - share * among) / total) ** 2 for hits, among in counts)
    independent = float(n)
    if squares > _ROUNDING and n > 1:
        independent = share * (1 - share) / squares * (n - 1) / n
    c = t_quantile(_BOUND, max(n - 1, 1)) ** 2 / independent
    centre = (share + c / 2) / (1 + c)
    half = math.sqrt(c * share * (1 - share) + c * c / 4) / (1 + c)
    low = max(centre - half, 0.0)
    high = min(centre + half, 1.0)
    return Measured(share, min(share, low), max(share, high), n)


def slope(values: Sequence[Labelled], clusters: Sequence[Hashable] = ()) -> Measured | None:
    """J with its t interval; None for fewer than three units, or where people's values do not differ.

    It is widened, by the root of the sum of squares, by twice what one more answer that the judge gets wrong would
    change at most (times `UNSEEN`): a few labels hardly show how often a judge errs that seldom errs.
    """
    n = len(values)
    units = len({*clusters}) if clusters else n
    if units <= 2 or len({each.people for each in values}) == 1:  # noqa: PLR2004 - degrees of freedom
        return None
    people = math.fsum(each.people for each in values) / n
    judge = math.fsum(each.judge for each in values) / n
    off = [(each.people - people, each.judge - judge) for each in values]
    squares = math.fsum(y * y for y, _ in off)
    estimate = math.fsum(y * f for y, f in off) / squares
    errors = [y * (f - estimate * y) / squares / max(1 - 1 / n - y * y / squares, 1e-4) for y, f in off]
    variance = math.fsum(each**2 for each in summed(errors, clusters))
    unseen = 2 * UNSEEN * max(abs(y) for y, _ in off) / squares
    reach = math.hypot(t_quantile(_BOUND, units - 2) * math.sqrt(variance), unseen)
    return Measured(estimate, estimate - reach, estimate + reach, n)


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa of (one's verdict, the other's); None where both always gave the same one, or no pairs."""
    total = len(pairs)
    agreed = sum(a == b for a, b in pairs)
    others = Counter(b for _, b in pairs)
    chance = sum(count * others[verdict] for verdict, count in Counter(a for a, _ in pairs).items())
    return (agreed * total - chance) / (total**2 - chance) if total**2 > chance else None


def people_change(delta: float, ci: Bounds, slope: Measured | None) -> Change:
    """The judge's mean paired difference in people's units, ``delta`` / J, if the judge errs alike on both runs.

    The interval holds every r for which 0 lies in the square-and-add (MOVER) interval of delta - r J, so that it
    excludes zero exactly where the interval of ``delta`` does. It is (None, None) where J's interval reaches 0; a bound
    that ``ci`` lacks is lacking, and [0, 0] stays.
    """
    if ci == (0.0, 0.0) and delta == 0:
        return Change(0.0, ci)
    if slope is None or slope.value <= 0:
        return Change(None, (None, None))
    value = delta / slope.value
    if slope.low <= 0:
        return Change(value, (None, None))
    low, high = ci
    least = None if low is None else -_greatest(-delta, -low, slope)
    greatest = None if high is None else _greatest(delta, high, slope)
    return Change(value, (least, greatest))


def _greatest(delta: float, high: float, slope: Measured) -> float:
    """The r at which the upper bound of delta - r J is zero: (r J - delta)^2 = (high - delta)^2 + (r b)^2.

    b reaches from J to its bound, the one nearer to zero for a positive r and the other for a negative one.
    """
    if high == 0:
        return 0.0
    j = slope.value
    b = j - slope.low if high > 0 else slope.high - j
    # a r^2 - 2 delta J r + c = 0
    a = j**2 - b**2
    c = delta**2 - (high - delta) ** 2
    root = math.sqrt(max((delta * j) ** 2 - a * c, 0.0))
    return (delta * j + root) / a if high > 0 else c / (delta * j - root)


def anchored(value: float, ci: tuple[float, float], change: Change) -> Change:
    """The value of a run from that of the labelled one and the change since, by square-and-add.

    It errs to the wide side: an answer that by chance came out low in the labelled run tends to rise.
    """
    if change.value is None:
        return change
    low, high = change.ci
    negated = (None if high is None else -high, None if low is None else -low)
    return Change(value + change.value, square_and_add(value, ci, -change.value, negated))


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
