"""The change of a metric over all traffic, from labels of a sample of the questions whose lists changed.

Where both runs return the same, the change is exactly zero without a label. So only changed questions are drawn, with
chances in proportion to how often each is asked (its count), and the change over all traffic is their weighted mean
times their share. The draw has no seed: u is a hash, so that everybody draws the same questions.

Sources: Horvitz & Thompson, A generalization of sampling without replacement from a finite universe, JASA 47 (1952),
for the estimate; Ohlsson, Sequential Poisson sampling, Journal of Official Statistics 14 (1998), for the draw; Cochran,
Sampling Techniques (1977), section 2.6, for finite populations; Carterette & Allan, Minimal test collections, SIGIR
2006, and Sawade et al., Active comparison of prediction models, NIPS 2012, for labelling only where systems differ.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence

import msgspec

from rankgate.statistics.saddlepoint import difference_interval

_DIGEST_BYTES = 8
_DIGESTS = 2.0**64
_JUST_BELOW = 1 - 1e-12  # so that rounding leaves no question out of all of them
_WIDEST = 1.0  # how far the value of a question can move


class Draw(msgspec.Struct, frozen=True, kw_only=True):
    """Which changed questions to label.

    `certain` are drawn whatever the hash says, `sampled` by chance, in the order of the draw; `chances` are the
    inclusion probabilities of the latter. `rest` is the share of all traffic of every changed question that is not
    certain. `weights` are the shares of all traffic of the certain ones.
    """

    certain: tuple[str, ...]
    weights: tuple[float, ...]
    sampled: tuple[str, ...]
    chances: tuple[float, ...]
    rest: float

    @property
    def questions(self) -> tuple[str, ...]:
        """All that were drawn."""
        return self.certain + self.sampled


class TrafficEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The change over all traffic, its interval, and how many of the drawn questions have all labels they need."""

    delta: float
    ci: tuple[float, float]
    drawn: int
    labelled: int


def draw_questions(counts: Mapping[str, float], total: float, key: str, n: int) -> Draw:
    """Draw n of the changed questions, by how often each is asked, without a seed.

    Certain are those with n c / C >= 1, for C the sum of the counts c; with them taken out of n and C, until no further
    one is. The rest stand in ascending order of u / c, with u in (0, 1) the hash of ``key`` and the question's id, and
    the first are drawn: sequential Poisson sampling (Ohlsson 1998), with inclusion probabilities of nearly n c / C. As
    u and c depend on no n, a larger draw continues a smaller one (but for a few where questions become certain).

    Args:
        counts: of every changed question.
        total: the count of all traffic, changed or not.
        key: what the draw is for, such as the digest of the accepted run.
        n: how many; all of them where there are fewer.
    """
    n = max(0, min(n, len(counts)))
    certain: list[str] = []
    rest = dict(counts)
    mass = math.fsum(rest.values())
    while sure := [question for question, count in rest.items() if (n - len(certain)) * count >= mass * _JUST_BELOW]:
        certain += sure
        for question in sure:
            del rest[question]
        mass = math.fsum(rest.values())
    certain.sort(key=lambda question: (-counts[question], question))
    ordered = sorted(rest, key=lambda question: (_hashed(key, question) / rest[question], question))
    sampled = ordered[: n - len(certain)]
    return Draw(
        certain=tuple(certain),
        weights=tuple(counts[question] / total for question in certain),
        sampled=tuple(sampled),
        chances=tuple(len(sampled) * rest[question] / mass for question in sampled),
        rest=mass / total,
    )


def estimate_change(
    draw: Draw, changes: Mapping[str, tuple[float, float]], *, confidence: float = 0.95
) -> TrafficEstimate:
    """The change over all traffic by Horvitz and Thompson (1952), with the interval of its sampled part.

    The sum over the certain questions of w d, for w the share of all traffic, plus r times the plain mean of d over the
    sampled ones, for r the share of the rest: with chances n c / C this mean is the estimator itself. Around that mean
    lies the interval of ``saddlepoint.difference_interval`` (with +-1 appended), its distances times sqrt(1 - f) for f
    the mean of the chances, the finite population correction, and times r.

    A question that lacks labels has the least and the greatest d that its known labels leave: the lower bound takes
    every least one, the upper bound every greatest. The estimate takes their middle.

    Args:
        draw: the questions; every one of them counts, labelled or not.
        changes: the least and the greatest d of each, from -1 to 1; one that is not there is between these.
        confidence: of the interval.
    """
    ends = [changes.get(question, (-_WIDEST, _WIDEST)) for question in draw.questions]
    least = [low for low, _ in ends]
    greatest = [high for _, high in ends]
    lower_mean, lower = _end(draw, least, 0, confidence)
    upper_mean, upper = _end(draw, greatest, 1, confidence)
    return TrafficEstimate(
        delta=(lower_mean + upper_mean) / 2,
        ci=(lower, upper),
        drawn=len(ends),
        labelled=sum(low == high for low, high in ends),
    )


def _end(draw: Draw, changes: Sequence[float], end: int, confidence: float) -> tuple[float, float]:
    """The estimate, and its lower (0) or upper (1) bound, where these are the changes of the drawn questions."""
    known = math.fsum(weight * change for weight, change in zip(draw.weights, changes, strict=False))
    sampled = changes[len(draw.certain) :]
    if not sampled:
        widest = draw.rest * _WIDEST
        return known, known + (widest if end else -widest)
    mean = math.fsum(sampled) / len(sampled)
    interval = difference_interval(sampled, widest=_WIDEST, confidence=confidence) or (-_WIDEST, _WIDEST)
    correction = math.sqrt(max(0.0, 1 - math.fsum(draw.chances) / len(sampled)))
    distance = (interval[end] - mean) * correction
    return known + draw.rest * mean, known + draw.rest * (mean + distance)


def _hashed(key: str, question: str) -> float:
    """A number between 0 and 1 that is as good as chance, and the same for everybody."""
    digest = hashlib.sha256(f"{key}\0{question}".encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]
    return (int.from_bytes(digest) + 0.5) / _DIGESTS
