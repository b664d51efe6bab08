"""How often the statistics are wrong, and what they can see: scripts/tables/verdicts.md, from a fixed seed.

    python scripts/simulate_verdicts.py [--quick] [--seed N]

Draws gold sets from populations whose truth is known and counts verdicts. Needs numpy (in the dev extra) for the
drawing and for many intervals at once; a few of each are computed again by rankgate itself, and must agree. Takes some
minutes, with --quick some seconds for numbers too rough to quote.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankgate.metrics.comparison import Pairs
from rankgate.metrics.names import parse_metric
from rankgate.statistics.binomial import Side, share_level
from rankgate.statistics.clusters import clustered_mean_level
from rankgate.statistics.power import Sight, Spread, planning_spread
from rankgate.statistics.quantiles import quantile, quantile_interval
from rankgate.statistics.saddlepoint import difference_level, mean_level
from rankgate.statistics.sign_flips import cluster_flip_p

Floats = npt.NDArray[np.float64]

LEVEL = 0.025  # one-sided, at 95 % confidence
LIMIT = 0.03  # the regression_max of the tables that have one
SIZES = (50, 100, 200, 400, 1000, 3000, 10_000)
ALL_EVIDENCE = ("estimate", "proven_safe", "proven_harm")
SIDES: tuple[Side, ...] = ("below", "above")
MOVING = 0.3  # of the questions, where every one of them may come out otherwise
AGAIN = 3  # of the samples of each kind are computed a second time, by rankgate
RECALL = parse_metric("recall@5")
REACH = 1.0  # all metrics here go from 0 to 1


class Population(NamedTuple):
    """Values and how likely each is."""

    name: str
    values: Floats
    chances: Floats

    @property
    def mean(self) -> float:
        """The truth."""
        return float(self.values @ self.chances)

    @property
    def spread(self) -> float:
        """Its standard deviation."""
        return math.sqrt(float(self.values**2 @ self.chances) - self.mean**2)


def holm(levels: list[float], level: float) -> list[bool]:
    """Which levels count by Holm: the k-th of n, from 0, if it and all before it are below level / (n − k)."""
    counts = [False] * len(levels)
    for rank, place in enumerate(sorted(range(len(levels)), key=levels.__getitem__)):
        if not levels[place] * (len(levels) - rank) < level:
            break
        counts[place] = True
    return counts


def population(name: str, chances: Iterable[tuple[float, float]]) -> Population:
    """From pairs of a value and a weight."""
    values, weights = np.array(sorted(chances), dtype=float).T
    return Population(name, values, weights / weights.sum())


# --- values


def hits(rate: float) -> Population:
    """One where the answer was found."""
    return population(f"hit, {100 * rate:.0f} %", [(0.0, 1 - rate), (1.0, rate)])


RECIPROCAL = population("reciprocal rank", [(0.0, 0.15), *((1 / rank, 0.6**rank) for rank in range(1, 11))])
GRADED = population(
    "graded, as nDCG", [(0.0, 0.05), (1.0, 0.2), *((x, 0.75 * x**3 / 11) for x in np.arange(0.02, 1, 0.02))]
)
VALUES = (*map(hits, (0.02, 0.05, 0.2, 0.5, 0.8, 0.95, 0.98)), RECIPROCAL, GRADED)

# --- changes


def flips(share: float) -> Population:
    """Hits lost as often as won."""
    return population(f"±1 on {100 * share:.0f} %", [(-1.0, share / 2), (0.0, 1 - share), (1.0, share / 2)])


def moved(drop: float = 0.0, share: float = 0.26) -> Population:
    """Half of what moves does so by 1, half by one of two documents; losses outweigh wins by ``drop``."""
    down, up = share / 2 + drop / 1.5, share / 2 - drop / 1.5
    steps = [(-1.0, down / 2), (-0.5, down / 2), (0.0, 1 - share), (0.5, up / 2), (1.0, up / 2)]
    return population(f"±1 and ±0.5 on {100 * share:.0f} %", steps)


def small(drop: float = 0.0, spread: float = 0.05) -> Population:
    """Every query moves a little."""
    grid = np.arange(-4, 4.01, 0.2)
    return population(
        f"all move a little, SD {spread}", [(float(spread * x - drop), math.exp(-x * x / 2)) for x in grid]
    )


def reordered(drop: float = 0.0, share: float = 0.3) -> Population:
    """Reciprocal ranks drawn anew; for a drop, some first results that become second ones besides."""
    pairs = zip(RECIPROCAL.values, RECIPROCAL.chances, strict=True)
    new = [(float(x), float(p)) for x, p in pairs]
    second = 2 * drop
    chances: dict[float, float] = {0.0: 1 - share - second, -0.5: second}
    for x, p in new:
        for y, q in new:
            chances[round(x - y, 9)] = chances.get(round(x - y, 9), 0.0) + share * p * q
    return population(f"reciprocal rank, {100 * share:.0f} % reordered", chances.items())


def lopsided(rare: float, step: float) -> Population:
    """Rare wins of a whole hit, frequent small losses, as much of one as of the other."""
    frequent = rare / step
    steps = [(-step, frequent), (0.0, max(1 - rare - frequent, 0.0)), (1.0, rare)]
    return population(f"+1 on {100 * rare:g} %, −{step:g} on {100 * frequent:.3g} %", steps)


LOPSIDED = [
    lopsided(rare, step)
    for rare in (0.005, 0.01, 0.02, 0.03, 0.035, 0.05, 0.07, 0.1)
    for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    if rare + rare / step <= 1
]
SYMMETRIC = (flips(0.01), flips(0.05), moved(), reordered(), small())
ONE_WAY = population("−1 on 3 %, nothing won", [(-1.0, 0.03), (0.0, 0.97)])

# --- many levels at once


def levels(people: Population, drawn: Floats, end: Floats | float, truth: float, *, below: bool) -> Floats:
    """The levels of rankgate.statistics.saddlepoint for many samples of one population, one a row of counts.

    r* is taken where the tilted mean is the truth, without looking for an earlier summit.
    """
    values, counts = (people.values, drawn) if below else (-people.values[::-1], drawn[:, ::-1])
    target = truth if below else -truth
    ends = np.broadcast_to(np.asarray(end, dtype=float), (len(counts),))
    width = np.maximum(ends - values[0], 1e-300)
    gaps, goal, n = (values - ends[:, None]) / width[:, None], (target - ends) / width, counts.sum(axis=1) + 1

    def cumulants(t: Floats) -> tuple[Floats, Floats, Floats]:
        masses = counts * np.exp(np.minimum(t[:, None] * gaps, 0.0))
        total = masses.sum(axis=1) + 1
        mean = (masses * gaps).sum(axis=1) / total
        return np.log(total / n), mean, np.maximum((masses * gaps**2).sum(axis=1) / total - mean**2, 1e-300)

    _, mean, variance = cumulants(np.zeros(len(counts)))
    open_rows = (goal > mean) & (goal < 0)
    low, high = np.zeros(len(counts)), np.full(len(counts), np.inf)
    t = np.where(open_rows, (goal - mean) / variance, 1.0)
    for _ in range(100):
        _, mean, variance = cumulants(t)
        low, high = np.where(mean < goal, t, low), np.where(mean < goal, high, t)
        newton, rest = t + (goal - mean) / variance, np.where(np.isinf(high), 2 * t, (low + high) / 2)
        following = np.where((newton > low) & (newton < np.minimum(high, 2 * t)), newton, rest)
        if np.max(np.abs(np.where(open_rows, following / t - 1, 0.0))) < 1e-9:  # noqa: PLR2004 - rounding
            break
        t = np.where(open_rows, following, t)
    cumulant, mean, variance = cumulants(t)
    w = np.sqrt(np.maximum(2 * n * (t * mean - cumulant), 1e-12))
    r = w + np.log(t * np.sqrt(n * variance) / w) / w
    tail = np.array([math.erfc(x / math.sqrt(2)) / 2 for x in r])
    return np.where(open_rows, tail, np.where(goal > 0, 0.0, 1.0))


class Simulation(NamedTuple):
    """A source of chance and how often to ask it."""

    source: np.random.Generator
    runs: int

    def draw(self, people: Population, size: int) -> Floats:
        """Samples as rows of counts, one column a value."""
        return self.source.multinomial(size, people.chances, size=self.runs).astype(float)

    def value_levels(self, people: Population, drawn: Floats, truth: float, *, below: bool) -> Floats:
        """As ``mean_level``."""
        side: Side = "below" if below else "above"
        if len(people.values) == 2:  # noqa: PLR2004 - hits and misses
            shares = {hits: share_level(int(hits), int(drawn[0].sum()), truth, side=side) for hits in set(drawn[:, 1])}
            return np.array([shares[hits] for hits in drawn[:, 1]])
        found = levels(people, drawn, 1.0 if below else 0.0, truth, below=below)
        for row in range(AGAIN):
            again = mean_level(sample(people, drawn[row]), truth, side=side, low=0, high=1)
            same(found[row], again)
        return found

    def change_levels(self, people: Population, drawn: Floats, truth: float = 0.0, *, below: bool) -> Floats:
        """As ``difference_level``; where nothing moved, of two runs with other lists: see ``unchanged_bound``."""
        found = levels(people, drawn, REACH, truth, below=below)
        still = drawn[:, people.values != 0].sum(axis=1) == 0
        gap = min(max(truth if below else -truth, 0.0), REACH)
        found[still] = (1 - gap / REACH) ** drawn[0].sum()
        side: Side = "below" if below else "above"
        for row in np.flatnonzero(~still)[:AGAIN]:
            same(found[row], difference_level(sample(people, drawn[row]), truth, side=side, widest=REACH))
        return found

    def violated(self, evidence: str, people: Population, drawn: Floats) -> npt.NDArray[np.bool_]:
        """Which samples the gate of ``evidence`` would block."""
        drop = -(drawn @ people.values) / drawn.sum(axis=1)
        over: npt.NDArray[np.bool_] = drop > LIMIT + 1e-9
        if evidence == "estimate":
            return over
        if evidence == "proven_harm":
            return over & (self.change_levels(people, drawn, below=True) < LEVEL)
        return ~(self.change_levels(people, drawn, -LIMIT, below=False) < LEVEL)


def sample(people: Population, counts: Floats) -> list[float]:
    """The values that a row of counts stands for."""
    return [float(x) for x, size in zip(people.values, counts, strict=True) for _ in range(int(size))]


def same(found: float, again: float | None) -> None:
    """Refuse a simulation of something else than rankgate; near one half rounding may decide between two sides."""
    far = again is not None and min(found, again) > 10 * LEVEL
    if again is None or not (far or math.isclose(found, again, rel_tol=1e-3, abs_tol=1e-9)):
        raise SystemExit(f"rankgate has the level {again}, the simulation {found}")


# --- tables


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print as Markdown, the first column to the left and the others to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    for line in (lines[0], rule, *lines[1:]):
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        print("|", " | ".join([first, *others]), "|", flush=True)
    print()


def percent(share: float) -> str:
    """To a tenth, as the chance of the simulation itself allows."""
    return f"{100 * share:.1f}"


def choose(simulation: Simulation) -> None:
    """What to append: the worst false claim, and what each choice sees."""
    rules: dict[str, Callable[[Floats], Floats]] = {
        "max abs(d)": lambda farthest: farthest,
        "√(max abs(d) · width)": np.sqrt,
        "half the width": lambda farthest: np.maximum(farthest, 0.5),
        "0.8 of the width": lambda farthest: np.maximum(farthest, 0.8),
        "the width": np.ones_like,
    }

    def claims(people: Population, size: int) -> list[float]:
        drawn = simulation.draw(people, size)
        drawn = drawn[drawn[:, people.values != 0].sum(axis=1) > 0]
        farthest = np.where(drawn > 0, np.abs(people.values), 0.0).max(axis=1)
        found = [levels(people, drawn, rule(farthest), 0.0, below=True) < LEVEL for rule in rules.values()]
        return [float(claim.sum()) / simulation.runs for claim in found]

    print(f"**False harm, the worst of {len(LOPSIDED)} lopsided populations without a change of the mean (%)**\n")
    sizes = SIZES[:-1]
    worst = [np.max([claims(people, size) for people in LOPSIDED], axis=0) for size in sizes]
    table(["appended", *map(str, sizes)], [[rule, *(percent(w[i]) for w in worst)] for i, rule in enumerate(rules)])

    print("**Harm found (%)**\n")
    cases = [
        *((f"hits, {n} queries, drop 6 pp", moved(0.06), n) for n in (200, 1000)),
        *((f"reciprocal rank, {n} queries, drop 4 pp", reordered(0.04), n) for n in (100, 200, 400)),
        *((f"all move a little, {n} queries, drop 1 pp", small(0.01), n) for n in (100, 200, 400, 1000)),
    ]
    found = [claims(people, size) for _, people, size in cases]
    table(["", *rules], [[name, *map(percent, shares)] for (name, *_), shares in zip(cases, found, strict=True)])


def misses(simulation: Simulation) -> None:
    """How often a bound is on the wrong side of the truth, the worse side of the two."""

    def worse(people: Population, size: int, level: Callable[..., Floats]) -> float:
        drawn = simulation.draw(people, size)
        wrong = [level(people, drawn, people.mean, below=below) < LEVEL for below in (True, False)]
        return max(float(side.mean()) for side in wrong)

    print("**One-sided misses of the interval of a value (%); nominal 2.5, promised 4.0**\n")
    head = ["population", *map(str, SIZES)]
    table(
        head,
        [[p.name, *(percent(worse(p, size, simulation.value_levels)) for size in SIZES)] for p in VALUES],
    )
    print("**One-sided misses of the interval of a change (%); nominal 2.5, promised 4.0**\n")
    worst = [max(worse(p, size, simulation.change_levels) for p in LOPSIDED) for size in SIZES]
    table(
        head,
        [
            *([p.name, *(percent(worse(p, size, simulation.change_levels)) for size in SIZES)] for p in SYMMETRIC),
            ["lopsided, the worst of all", *map(percent, worst)],
            [ONE_WAY.name, *(percent(worse(ONE_WAY, size, simulation.change_levels)) for size in SIZES)],
        ],
    )


def blocks(simulation: Simulation) -> None:
    """Verdicts by true drop: none is a false alarm, the others are what should be seen."""
    sizes = (100, 200, 300, 400, 1400, 5000)
    for name, make in (("±1 and ±0.5 on 26 % of the queries", moved), ("all move a little, SD 0.05", small)):
        print(f"**Blocked (%), limit 3 pp, {name}**\n")
        rows = []
        for drop in (0.0, 0.01, 0.02, 0.03, 0.05) if make is small else (0.0, 0.01, 0.03, 0.05, 0.08, 0.12):
            for evidence in ALL_EVIDENCE:
                people = make(drop)
                shares = [simulation.violated(evidence, people, simulation.draw(people, n)).mean() for n in sizes]
                rows.append([f"drop {100 * drop:.0f} pp, `{evidence}`", *map(percent, shares)])
        table(["", *(f"N = {size}" for size in sizes)], rows)

    print("**Blocked at the drop that is detectable by the formula (80 % expected)**\n")
    rows = []
    for evidence in ("estimate", "proven_harm"):
        cells = []
        for size in sizes:
            drop = 0.0
            for _ in range(20):  # the spread depends on the drop a little
                drop = Sight(moved(drop).spread, REACH).drop(evidence, size, LIMIT)
            people = moved(drop)
            blocked = simulation.violated(evidence, people, simulation.draw(people, size)).mean()
            cells.append(f"{100 * drop:.1f} pp: {100 * blocked:.0f} %")
        rows.append([f"`{evidence}`", *cells])
    table(["", *(f"N = {size}" for size in sizes)], rows)

    print("**The same over conversations that are lost or won as a whole, `proven_harm`**\n")
    counts, rounds = (30, 60, 100, 300), max(simulation.runs // 10, 100)
    rows = []
    for size in (3, 12):
        cells = []
        for count in counts:
            drop = alone = 0.0
            for _ in range(20):
                apart, together = conversations(drop, count, size)
                drop = (
                    drop + Sight(together.value, together.cluster * REACH).drop("proven_harm", count * size, LIMIT)
                ) / 2
                alone = Sight(apart.value, REACH).drop("proven_harm", count * size, LIMIT)
            blocked = [caught(simulation, each, count, size, rounds) for each in (drop, alone)]
            cells.append(
                f"{100 * drop:.1f} pp: {100 * blocked[0]:.0f} % ({100 * alone:.1f} pp: {100 * blocked[1]:.0f} %)"
            )
        rows.append([f"of {size}", *cells])
    table(["", *(f"{count} clusters" for count in counts)], rows)
    print("In brackets what a formula would say that took the questions for independent.\n")


def steps(drop: float) -> tuple[Floats, Floats]:
    """What becomes of a conversation, and how likely that is."""
    return np.array([-1.0, 0.0, 1.0]), np.array([0.15 + drop / 2, 0.7, 0.15 - drop / 2])


def conversations(drop: float, count: int, size: int) -> tuple[Spread, Spread]:
    """The spread of so many conversations as they are expected to turn out, as if independent and by cluster."""
    kinds, chances = steps(drop)
    whole = np.repeat(kinds, np.round(chances * count * 1000).astype(int))[:: 1000 // 10]
    differences, labels = np.repeat(whole, size).tolist(), np.repeat(np.arange(len(whole)), size).tolist()
    found = planning_spread(differences, planned=None), planning_spread(differences, labels, planned=None)
    if found[0] is None or found[1] is None:
        raise SystemExit("ten conversations have to move")
    return found[0], found[1]


def caught(simulation: Simulation, drop: float, count: int, size: int, rounds: int) -> float:
    """How often a drop of conversations as a whole is proven harm."""
    kinds, chances = steps(drop)
    labels, blocked = np.repeat(np.arange(count), size).tolist(), 0
    for _ in range(rounds):
        differences = np.repeat(simulation.source.choice(kinds, size=count, p=chances), size).tolist()
        level = clustered_mean_level(differences, labels, 0.0, side="below", low=-REACH, high=REACH)
        blocked += level is not None and level < LEVEL and -math.fsum(differences) / len(differences) > LIMIT
    return blocked / rounds


def segments(simulation: Simulation) -> None:
    """Three properties with ten values each make thirty segments that share their queries."""
    people, kinds, each = moved(), 3, 10
    rows, panel = [], []
    for size in (500, 1500, 5000):
        alone = together = 0
        called = np.zeros(4)  # runs with a segment called worse, and either way: uncorrected, and by Holm
        rounds = max(simulation.runs // 10, 20)
        batch = []
        for _ in range(rounds):
            changes = simulation.source.choice(len(people.values), size=size, p=people.chances)
            labels = simulation.source.integers(each, size=(kinds, size))
            batch += [segment_counts(kind, changes, each, people) for kind in labels]
        drawn = np.concatenate(batch)
        drop = -(drawn @ people.values) / drawn.sum(axis=1)
        found = simulation.change_levels(people, drawn, below=True)
        gained = simulation.change_levels(people, drawn, below=False)
        for start in range(0, len(drawn), kinds * each):
            part = slice(start, start + kinds * each)
            either = np.minimum(found[part], gained[part])
            sure, worse = np.array(holm(either.tolist(), LEVEL)), found[part] <= gained[part]
            called += [(found[part] < LEVEL).any(), (either < LEVEL).any(), (sure & worse).any(), sure.any()]
            over = drop[part] > LIMIT
            alone += bool((over & (found[part] < LEVEL)).any())
            together += bool((over & np.array(holm(found[part].tolist(), LEVEL))).any())
        estimate = (drop > LIMIT).reshape(rounds, -1).any(axis=1).mean()
        rows.append([f"N = {size}", *map(percent, (float(estimate), alone / rounds, together / rounds))])
        panel.append([f"N = {size}", *map(percent, (called / rounds).tolist())])
    print("**No change, 30 segments of about N / 10: at least one blocked (%), limit 3 pp**\n")
    table(["", "`estimate`", "`proven_harm`, uncorrected", "`proven_harm` with Holm"], rows)
    print("**No change, 30 segments of about N / 10: at least one shown as worse, or as better or worse (%)**\n")
    table(["", "worse, each at 95 %", "either, each at 95 %", "worse, with Holm", "either, with Holm"], panel)


def segment_counts(
    labels: npt.NDArray[np.int64], changes: npt.NDArray[np.int64], each: int, people: Population
) -> Floats:
    """Counts of each value in each segment, one row a segment."""
    width = len(people.values)
    counts = np.bincount(labels * width + changes, minlength=each * width)
    return counts.reshape(each, width).astype(float)


def clusters(simulation: Simulation) -> None:
    """Hits that agree within their cluster: each cluster has a rate of its own, around a common one."""
    source, rounds = simulation.source, max(simulation.runs // 10, 20)
    kinds = {"5": [5], "1, 2, 3 or 10": [1, 2, 3, 10], "1, one in ten 20": [1] * 9 + [20]}
    rows = []
    for name, sizes in kinds.items():
        for rate in (0.7, 0.9):
            cells = []
            for count in (12, 30, 100, 300):
                clustered, alone = [0, 0], [0, 0]
                for _ in range(rounds):
                    labels = np.repeat(np.arange(count), source.choice(sizes, size=count))
                    own = source.beta(2 * rate, 2 * (1 - rate), size=count)
                    values = (source.random(len(labels)) < own[labels]).astype(float).tolist()
                    names = labels.tolist()
                    for i, side in enumerate(SIDES):
                        level = clustered_mean_level(values, names, rate, side=side, low=0, high=1)
                        clustered[i] += level is not None and level < LEVEL
                        level = mean_level(values, rate, side=side, low=0, high=1)
                        alone[i] += level is not None and level < LEVEL
                cells.append(f"{percent(max(clustered) / rounds)} ({percent(max(alone) / rounds)})")
            rows.append([f"of {name}, {100 * rate:.0f} %", *cells])
    print("**One-sided misses over clusters (%); in brackets, as if queries were independent**\n")
    table(["clusters and hits", "12", "30", "100", "300"], rows)


def few_clusters(simulation: Simulation) -> None:
    """Drops in few clusters, by signs of their sums; and where these are not symmetric although nothing changed."""
    source, rounds, each = simulation.source, max(simulation.runs // 10, 20), 20
    rare = 0.15  # of the clusters gain; the others lose as much in sum

    def sums(count: int, kind: str, drop: float) -> Floats:
        if kind == "lopsided":
            return np.where(source.random((rounds, count)) < rare, 1.0, -rare / (1 - rare))
        return source.normal(0, 0.06, (rounds, count)) + source.normal(-drop, 0.3 / math.sqrt(each), (rounds, count))

    kinds = {
        "no change": ("alike", 0.0),
        "no change, few gain much": ("lopsided", 0.0),
        "drop 5 pp": ("alike", 0.05),
        "drop 10 pp": ("alike", 0.1),
        "drop 20 pp": ("alike", 0.2),
    }
    rows, counts = [], (5, 6, 9, 12, 20)
    for name, (kind, drop) in kinds.items():
        cells = []
        for count in counts:
            proven = 0
            for changes in sums(count, kind, drop):
                found = cluster_flip_p(changes.tolist(), range(count), side="below")
                proven += found is not None and found[0] < LEVEL and float(changes.mean()) < -LIMIT
            cells.append(percent(proven / rounds))
        rows.append([name, *cells])
    print(f"**Proven harm by the signs of few clusters of {each} queries (%), limit 3 pp**\n")
    table(["clusters", *map(str, counts)], rows)


def slowest(simulation: Simulation) -> None:
    """Quantiles of paired latencies, some of which are a hundred times slower."""
    source, rounds = simulation.source, max(simulation.runs // 10, 20)
    rows, quantiles = [], ((0.99, 100), (0.99, 270), (0.99, 1000), (0.9, 30), (0.9, 270))
    for share in (0.0, None, 0.01, 0.03, 0.06, 0.2, 0.6):
        name = "the faster half as slow as the median" if share is None else f"{share:.0%} a hundred times slower"
        cells = []
        for q, size in quantiles:
            proven = 0
            for _ in range(rounds):
                common = source.normal(3, 0.8, size)
                before, now = (np.exp(common + source.normal(0, 0.4, size)) for _ in range(2))
                slower = now * np.where(source.random(size) < (share or 0.0), 100, 1)
                after = (np.maximum(now, math.exp(3)) if share is None else slower).tolist()
                rose = quantile(after, q) > quantile(before.tolist(), q) * 1.1
                pairs = Pairs(metric=parse_metric(f"latency(quantile={q})"), new=after, old=before.tolist())
                proven += rose and pairs.proven(LEVEL)
            cells.append(percent(proven / rounds))
        rows.append([name, *cells])
    print("**Proven rise of a quantile (%), limit a tenth of it; by the swap test where N gives no bound ¹**\n")
    bare = [quantile_interval([0.0] * size, q)[1] is None for q, size in quantiles]
    head = [f"p{100 * q:.0f}, N = {size}{' ¹' * none}" for (q, size), none in zip(quantiles, bare, strict=True)]
    table(["", *head], rows)


def ends(simulation: Simulation) -> None:
    """Recall@5 where questions have up to 50 relevant documents: the range, or what each can reach, is appended."""
    source, rounds, sizes = simulation.source, max(simulation.runs // 10, 20), (50, 100, 150, 400)
    rows = []
    relevant_kinds, rare = np.array([4, 15, 20, 30, 50]), 0.02
    reach = np.minimum(relevant_kinds, 5) / relevant_kinds
    often = rare * reach.mean() / (1 / relevant_kinds).mean()  # one lost as often as balances the rare gains of all
    cases: tuple[tuple[str, float | None], ...]
    cases = (("no change", 0.0), ("no change, rare gains", None), ("a fifth lost", 0.2))
    for name, drop in cases:
        cells = []
        for size in sizes:
            by_range = by_ends = 0
            for _ in range(rounds):
                relevant = source.choice(relevant_kinds, size=size)
                most, chance = np.minimum(relevant, 5), source.random(size)
                if drop is None:
                    changes = np.where(chance < rare, most, np.where(chance > 1 - often, -1, 0)) / relevant
                else:
                    before = source.binomial(most, 0.6)
                    after = np.where(chance < MOVING, source.binomial(most, 0.6), before)
                    changes = (after - source.binomial(after, drop) - before) / relevant
                listed = changes.tolist()
                for which in (0, 1):
                    level = difference_level(listed, side="below", widest=(most / relevant).tolist() if which else 1.0)
                    harm = level is not None and level < LEVEL
                    by_range, by_ends = by_range + (harm and not which), by_ends + (harm and bool(which))
            cells.append(f"{percent(by_range / rounds)} → {percent(by_ends / rounds)}")
        rows.append([name, *cells])
    ceiling = f"{100 * reach.mean():.0f} %"
    print(f"**Proven harm in a recall@5 of at most {ceiling} (%): appended ±1 → what each query can reach**\n")
    table(["", *(f"N = {size}" for size in sizes)], rows)


def recorded_three_times(simulation: Simulation) -> None:
    """Whole runs that shift by chance: 3 points allowed, or twice the largest change between three recordings."""
    [source] = simulation.source.spawn(1)  # whatever was drawn before
    rounds, size, still, rows = max(simulation.runs // 10, 20), 400, moved(share=0.04), []
    for shift in (0.0, 0.01, 0.02):
        for drop in (0.0, 0.05, 0.1):
            people, blocked, allowed = moved(drop), [0, 0, 0, 0], list[float]()
            for _ in range(rounds):
                means = [
                    source.normal(0, shift)
                    + float(source.choice(still.values, size=size, p=still.chances).mean()) / math.sqrt(2)
                    for _ in range(3)
                ]
                allowed.append(max(LIMIT, 2 * (max(means) - min(means))))
                changes = source.choice(people.values, size=size, p=people.chances)
                changes = changes + source.normal(0, shift * math.sqrt(2))
                pairs = Pairs(metric=RECALL, new=changes.tolist(), old=[0.0] * size)
                _, high = pairs.interval(1 - 2 * LEVEL) or (None, None)
                proven = high is not None and high < 0
                for place, most in enumerate((LIMIT, allowed[-1])):
                    fell = float(changes.mean()) < -most
                    blocked[place] += fell
                    blocked[2 + place] += fell and proven
            cells = [f"{100 * float(np.median(allowed)):.1f}", *(percent(each / rounds) for each in blocked)]
            rows.append([f"SD {100 * shift:.0f} pp, drop {100 * drop:.0f} pp", *cells])
    print(
        f"**Blocked where whole runs shift (%), {size} queries: 3 pp allowed, or twice the largest of three changes**\n"
    )
    allows = [f"{evidence}, {most}" for evidence in ("estimate", "proven_harm") for most in ("3 pp", "recorded")]
    table(["", "median allowed, pp", *allows], rows)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description="Coverage, false alarms and power by simulation.")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes, and rough")
    parser.add_argument("--seed", type=int, default=20_251_121)
    options = parser.parse_args()
    simulation = Simulation(np.random.default_rng(options.seed), 200 if options.quick else 10_000)
    print(f"{simulation.runs} samples a cell, seed {options.seed}\n")
    for part in (choose, misses, blocks, segments, clusters, few_clusters, slowest, ends, recorded_three_times):
        part(simulation)


if __name__ == "__main__":
    main()
