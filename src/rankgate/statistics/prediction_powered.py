"""What people would find in all answers, from a judge's values of all and people's labels of some: PPI++.

In a stratum w are the weights of the n labelled answers (sum 1), y their values by people, f by the judge, x_w is
sum w x, F the judge's mean over the stratum, N the answers without a label, W the stratum's share of all M answers::

    value   sum W (y_w + k (F - f_w))            k = lambda (N + n) / N, 0 where N < 10;  r = y - k N / (N + n) f
    error^2 sum W^2 (sum w^2 (r - r_w)^2 + lambda^2 var_N(f) / N)  +  sum W (value of the stratum - value)^2 / M
    lambda  sum W^2 sum w^2 (y - y_w)(f - f_w)  /  sum W^2 var(f) (sum w^2 + 1 / N),  within 0 to 1

With one stratum and equal weights value, lambda and error are those of ``ppi-python`` 0.2.3 (Angelopoulos, Duchi &
Zrnic 2023). One lambda, of the least error, serves all strata; with a judge that cannot tell it is 0, and people's
labels alone remain. Without its last term the error would be that for these answers, not for others like them.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import takewhile
from operator import mul
from typing import NamedTuple

import msgspec

from rankgate.statistics.quantiles import t_quantile
from rankgate.statistics.saddlepoint import unchanged_bound

MIN_LABELS = 10  # of a stratum; with fewer it is merged with another
UNSEEN = 0.7  # of what one more answer that the judge gets wrong would change: errors too rare for these labels


class Labelled(NamedTuple):
    """An answer's value by people and by the judge; the weight is proportional to 1 / its chance to be drawn."""

    people: float
    judge: float
    weight: float = 1.0


class Stratum(NamedTuple):
    """All answers of one kind; the key names it from the outside in, as ("supported", "lang:de")."""

    key: tuple[str, ...]
    labelled: Sequence[Labelled]
    unlabelled: Sequence[float]  # the judge's values


class Powered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An estimate in people's units, its standard error, lambda, the third cumulant of the error, and n - H."""

    value: float
    error: float
    tuning: float
    cumulant: float
    unseen: float
    n: int
    df: int

    def bounds(self, confidence: float = 0.95) -> tuple[float, float]:
        """The t interval, t hypot(error sqrt(n / df), unseen) to either side; it may reach beyond the metric's range.

        Both ends are moved by Johnson's skewness correction (1978), cumulant (1 + 2 t^2) / (6 error^2), but never
        towards the value. Labels without any error exclude no more than ``unchanged_bound`` of a range of 1.
        """
        if not self.error:
            reach = unchanged_bound(self.n, 1.0, confidence)
            return self.value - reach, self.value + reach
        t = t_quantile((1 + confidence) / 2, self.df)
        reach = t * math.hypot(self.error * math.sqrt(self.n / self.df), self.unseen)
        shift = self.cumulant * (1 + 2 * t * t) / (6 * self.error**2)
        return self.value - reach + min(shift, 0.0), self.value + reach + max(shift, 0.0)


def prediction_powered(strata: Iterable[Stratum]) -> Powered | None:
    """PPI++ over strata, those with fewer than 10 labels merged: see ``merged``. None for fewer than two labels."""
    strata = merged([stratum for stratum in strata if _size(stratum)])
    n, answers = sum(len(stratum.labelled) for stratum in strata), sum(map(_size, strata))
    if n <= len(strata):
        return None
    shares = [_size(stratum) / answers for stratum in strata]
    tuning, values, cumulant, variance, unseen = _tuning(strata, shares), list[float](), 0.0, 0.0, 0.0
    for share, stratum in zip(shares, strata, strict=True):
        (people, judge, weights), rest = _columns(stratum), stratum.unlabelled
        own = tuning if len(rest) >= MIN_LABELS else 0.0
        ahead = math.fsum([*rest, *judge]) / _size(stratum) - _dot(weights, judge)
        values.append(_dot(weights, people) + (own * ahead * _size(stratum) / len(rest) if own else 0.0))
        residuals = _centred([y - own * f for y, f in zip(people, judge, strict=True)], weights)
        errors = [share * weight * residual for weight, residual in zip(weights, residuals, strict=True)]
        errors += [share * own / len(rest) * x for x in _centred(rest)] if own else []
        variance, cumulant = variance + _dot(errors, errors), cumulant + math.fsum(x**3 for x in errors)
        unseen = math.hypot(unseen, UNSEEN * share * own * _dot(weights, weights))
    value = _dot(shares, values)
    between = _dot(shares, [(each - value) ** 2 for each in values])
    return Powered(value, math.sqrt(variance + between / answers), tuning, cumulant, unseen, n, n - len(strata))


def merged(strata: Sequence[Stratum]) -> list[Stratum]:
    """Strata of at least 10 labels each: the one with the fewest joins the one whose key agrees with its key longest.

    So what is named last in a key is given up first. The labelled answers keep the weight that their stratum had.
    """
    ranked = sorted(strata, key=lambda stratum: (-len(stratum.labelled), stratum.key))
    if not ranked[1:] or len(ranked[-1].labelled) >= MIN_LABELS:
        return ranked
    *others, few = ranked
    mate = max(others, key=lambda stratum: (len(_shared(stratum, few)), -len(stratum.labelled)))
    both = [
        answer._replace(weight=weight * _size(stratum))
        for stratum in (mate, few)
        for answer, weight in zip(stratum.labelled, _columns(stratum)[2], strict=True)
    ]
    together = Stratum(_shared(mate, few), both, [*mate.unlabelled, *few.unlabelled])
    return merged([*(stratum for stratum in others if stratum is not mate), together])


def _shared(one: Stratum, other: Stratum) -> tuple[str, ...]:
    return tuple(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.key, other.key, strict=False)))


def _size(stratum: Stratum) -> int:
    return len(stratum.labelled) + len(stratum.unlabelled)


def _columns(stratum: Stratum) -> tuple[list[float], list[float], list[float]]:
    people, judge, weights = ([each[i] for each in stratum.labelled] for i in range(3))
    total = math.fsum(weights)
    return people, judge, [weight / total for weight in weights]


def _tuning(strata: Sequence[Stratum], shares: Sequence[float]) -> float:
    agreeing = varying = 0.0
    for share, stratum in zip(shares, strata, strict=True):
        (people, judge, weights), rest = _columns(stratum), stratum.unlabelled
        if len(rest) >= MIN_LABELS and len({*rest, *judge}) > 1:
            off, squares = _centred([*rest, *judge]), map(mul, weights, _centred(people, weights))
            agreeing += share**2 * _dot(map(mul, weights, squares), _centred(judge, weights))
            varying += share**2 * _dot(off, off) / (len(off) - 1) * (_dot(weights, weights) + 1 / len(rest))
    return min(max(agreeing / varying, 0.0), 1.0) if varying > 0 else 0.0


def _centred(values: Sequence[float], weights: Sequence[float] = ()) -> list[float]:
    mean = _dot(weights, values) if weights else math.fsum(values) / len(values)
    return [value - mean for value in values]


def _dot(one: Iterable[float], other: Iterable[float]) -> float:
    return math.fsum(map(mul, one, other))
