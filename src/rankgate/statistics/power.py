"""What a gold set can see: the drop that a gate catches in four of five runs, and how many queries another would take.

The mean of N paired differences with standard deviation s has the standard error s / sqrt(N). Their interval reaches P
to either side, and 0.84 standard errors more let it do so in 80 % of the runs::

    P                 1.5 a / N + z sqrt(s^2 / N + a^2 / N^2)
    detectable drop   L + 0.84 s / sqrt(N)
    estimate          L = regression_max
    proven_harm       L = max(regression_max, P)
    proven_safe       L = max(regression_max - P, 0)
    provable margin   P + 0.84 s / sqrt(N)

where z is the quantile of the normal distribution at 1 - (1 - confidence) / 2, 1.96 at 95 %, and a is what intervals
append before a bound: the width of the metric's range times the size of a query's cluster. Its factor 1.5 is empirical
(``scripts/simulate_verdicts.py``): it covers few queries that all move a little.

``proven_safe`` catches drops below its limit as well, and for want of proof many that are none: there the question is
the margin, the smallest regression_max under which a change without any effect passes in 80 % of the runs.
"""

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rankgate.statistics.binomial import share_interval
from rankgate.statistics.clusters import summed
from rankgate.statistics.quantiles import normal_quantile

MAX_QUERIES = 10**9  # nobody has more, and the arithmetic stays exact
_POWER = 0.8416  # of 80 % in one direction
_DIGITS = 4  # of both, as tables have them
_ENOUGH_CHANGED = 10
_RISK = 0.05  # that more moves than the upper bound of the share


class Spread(NamedTuple):
    """A standard deviation s of paired differences, of as many independent queries where there are clusters.

    It may be assumed for want of data; ``cluster`` is the mean size of the one in which a query finds itself.
    """

    value: float
    assumed: bool
    cluster: float = 1.0


def planning_spread(
    differences: Sequence[float],
    clusters: Sequence[Hashable] = (),
    *,
    planned: float | None,
    queries: int = 1,
) -> Spread | None:
    """The spread to plan with: the measured one if at least 10 clusters (queries, without any) moved.

    With fewer, of a metric whose differences lie between -1 and 1, the root of the largest share of clusters that may
    move (Clopper-Pearson, 95 %); with no difference at all ``planned``, the usual standard deviation of such a metric,
    and None for metrics without one. Both as if a cluster moved as a whole. ``differences`` are one a query, and
    ``clusters`` those of these queries, or of all that will be compared: ``queries``, where there are none.
    """
    known = differences or [0.0] * (len(clusters) or queries)
    moves = summed(list(map(abs, known)), clusters)
    sizes = summed([1.0] * len(known), clusters)
    size = math.fsum([each * each for each in sizes]) / len(known)
    count = len(sizes)
    moved = len(moves) - list(moves).count(0)
    if moved >= _ENOUGH_CHANGED:
        sums = summed(known, clusters)
        mean = math.fsum(sums) / len(known)
        squares = math.fsum([(total - mean * each) ** 2 for total, each in zip(sums, sizes, strict=True)])
        return Spread(math.sqrt(squares / len(known) * count / (count - 1)), assumed=False, cluster=size)
    if planned is None:
        return None
    assumed_spread = planned
    if differences:
        _, most_moved = share_interval(moved, count, confidence=1 - 2 * _RISK)
        assumed_spread = math.sqrt(most_moved)
    return Spread(assumed_spread * math.sqrt(size), assumed=True, cluster=size)


class Sight(NamedTuple):
    """What a gate can see, from s, a and its confidence."""

    spread: float
    appended: float = 0.0
    confidence: float = 0.95
    slope: float = 1.0  # J, where a judge measures: s and a are its own, what is seen is people's

    def reach(self, queries: int) -> float:
        """P: how far the interval reaches to either side."""
        z = round(-normal_quantile((1 - self.confidence) / 2), _DIGITS)
        one = self.appended / queries
        return 1.5 * one / self.slope + z * math.hypot(self._error(queries), one / self.slope)

    def _error(self, queries: int) -> float:
        return self.spread / math.sqrt(queries) / self.slope

    def margin(self, queries: int) -> float:
        """The smallest ``regression_max`` under which ``proven_safe`` passes a change without effect in 80 %."""
        return self.reach(queries) + _POWER * self._error(queries)

    def drop(self, evidence: str, queries: int, regression_max: float) -> float:
        """The true drop for which the gate is violated in 80 % of the runs."""
        reach = 0.0 if evidence == "estimate" else self.reach(queries)
        allowed = regression_max / self.slope if evidence == "estimate" else regression_max  # it judges what was seen
        limit = max(allowed - reach, 0.0) if evidence == "proven_safe" else max(allowed, reach)
        return limit + _POWER * self._error(queries)

    def sees(self, evidence: str, queries: int, regression_max: float) -> bool:
        """Whether twice the drop that is allowed is detected; of ``proven_safe``, whether no change passes."""
        if evidence == "proven_safe":
            return self.margin(queries) <= regression_max
        return self.drop(evidence, queries, regression_max) <= 2 * regression_max

    def needed(self, evidence: str, regression_max: float) -> int | None:
        """The fewest queries that see; None where more than a billion would be needed, as with nothing allowed."""
        if not (regression_max and self.sees(evidence, MAX_QUERIES, regression_max)):
            return None
        # What is compared falls as queries are added.
        return 1 + bisect_left(range(1, MAX_QUERIES), 1, key=lambda n: self.sees(evidence, n, regression_max))
