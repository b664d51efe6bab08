"""How often the statistics are wrong, and what they can see: scripts/tables/verdicts.md, from a fixed seed.

    python scripts/simulate_verdicts.py [--quick] [--seed N]

Draws gold sets from populations whose truth is known and counts verdicts. Needs numpy (in the dev extra) for the
drawing and for many intervals at once; a few of each are computed again by rankgate itself, and must agree. Takes some
minutes, with --quick some seconds for numbers too rough to quote.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankgate.metrics.comparison import Pairs
from rankgate.metrics.names import parse_metric
from rankgate.statistics.binomial import Side, holm, share_level
from rankgate.statistics.clusters import clustered_mean_level
from rankgate.statistics.power import Sight, Spread, planning_spread
from rankgate.statistics.saddlepoint import difference_level, mean_level
from rankgate.statistics.sign_flips import cluster_flip_p
from simulating import grid, percent, quick_or_not, table

Floats = npt.NDArray[np.float64]

LEVEL = 0.025  # one-sided, at 95 % confidence
LIMIT = 0.03  # the regression_max of the tables that have one
SIZES = (50, 100, 200, 400, 1000, 3000, 10_000)
ALL_EVIDENCE = ("estimate", "proven_safe", "proven_harm")
SIDES: tuple[Side, ...] = ("below", "above")
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

    @property
    def fewer(self) -> int:
        """How often where a sample takes long."""
        return max(self.runs // 10, 20)

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

    sizes = SIZES[:-1]
    worst = [np.max([claims(people, size) for people in LOPSIDED], axis=0) for size in sizes]
    table(
        f"False harm, the worst of {len(LOPSIDED)} lopsided populations without a change of the mean (%)",
        ["appended", *map(str, sizes)],
        [[rule, *(percent(w[i]) for w in worst)] for i, rule in enumerate(rules)],
    )
    cases = [
        *((f"hits, {n} queries, drop 6 pp", moved(0.06), n) for n in (200, 1000)),
        *((f"reciprocal rank, {n} queries, drop 4 pp", reordered(0.04), n) for n in (100, 200, 400)),
        *((f"all move a little, {n} queries, drop 1 pp", small(0.01), n) for n in (100, 200, 400, 1000)),
    ]
    rows = [[name, *map(percent, claims(people, size))] for name, people, size in cases]
    table("Harm found (%)", ["", *rules], rows)


def misses(simulation: Simulation) -> None:
    """How often a bound is on the wrong side of the truth, the worse side of the two."""

    def worse(people: Population, size: int, level: Callable[..., Floats]) -> float:
        drawn = simulation.draw(people, size)
        wrong = [level(people, drawn, people.mean, below=below) < LEVEL for below in (True, False)]
        return max(float(side.mean()) for side in wrong)

    def row(people: Population, level: Callable[..., Floats]) -> list[str]:
        return [people.name, *(percent(worse(people, size, level)) for size in SIZES)]

    title = "One-sided misses of the interval of a {} (%); nominal 2.5, promised 4.0"
    head = ["population", *map(str, SIZES)]
    table(title.format("value"), head, [row(each, simulation.value_levels) for each in VALUES])
    worst = [max(worse(each, size, simulation.change_levels) for each in LOPSIDED) for size in SIZES]
    rows = [row(each, simulation.change_levels) for each in (*SYMMETRIC, ONE_WAY)]
    table(title.format("change"), head, [*rows[:-1], ["lopsided, the worst of all", *map(percent, worst)], rows[-1]])


def blocks(simulation: Simulation) -> None:
    """Verdicts by true drop: none is a false alarm, the others are what should be seen."""
    sizes = {f"N = {size}": size for size in (100, 200, 300, 400, 1400, 5000)}

    def blocked(evidence: str, people: Population, size: int) -> float:
        return float(simulation.violated(evidence, people, simulation.draw(people, size)).mean())

    def at_drop(row: tuple[str, Population], size: int) -> str:
        return percent(blocked(*row, size))

    for name, make in (("±1 and ±0.5 on 26 % of the queries", moved), ("all move a little, SD 0.05", small)):
        drops = (0.0, 0.01, 0.02, 0.03, 0.05) if make is small else (0.0, 0.01, 0.03, 0.05, 0.08, 0.12)
        rows = {f"drop {100 * drop:.0f} pp, `{each}`": (each, make(drop)) for drop in drops for each in ALL_EVIDENCE}
        grid(f"Blocked (%), limit 3 pp, {name}", "", sizes, rows, at_drop)

    def at_detectable(evidence: str, size: int) -> str:
        drop = 0.0
        for _ in range(20):  # the spread depends on the drop a little
            drop = Sight(moved(drop).spread, REACH).drop(evidence, size, LIMIT)
        return f"{100 * drop:.1f} pp: {100 * blocked(evidence, moved(drop), size):.0f} %"

    evidence = {f"`{each}`": each for each in ("estimate", "proven_harm")}
    title = "Blocked at the drop that is detectable by the formula (80 % expected)"
    grid(title, "", sizes, evidence, at_detectable)

    def of_conversations(size: int, count: int) -> str:
        drop = alone = 0.0
        for _ in range(20):
            apart, together = conversations(drop, count, size)
            found = Sight(together.value, together.cluster * REACH).drop("proven_harm", count * size, LIMIT)
            drop = (drop + found) / 2
            alone = Sight(apart.value, REACH).drop("proven_harm", count * size, LIMIT)
        shares = [100 * caught(simulation, each, count, size) for each in (drop, alone)]
        return f"{100 * drop:.1f} pp: {shares[0]:.0f} % ({100 * alone:.1f} pp: {shares[1]:.0f} %)"

    counts = {f"{count} clusters": count for count in (30, 60, 100, 300)}
    title = "The same over conversations that are lost or won as a whole, `proven_harm`"
    grid(title, "", counts, {f"of {size}": size for size in (3, 12)}, of_conversations)
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


def caught(simulation: Simulation, drop: float, count: int, size: int) -> float:
    """How often a drop of conversations as a whole is proven harm."""
    kinds, chances = steps(drop)
    labels, blocked, rounds = np.repeat(np.arange(count), size).tolist(), 0, max(simulation.fewer, 100)
    for _ in range(rounds):
        differences = np.repeat(simulation.source.choice(kinds, size=count, p=chances), size).tolist()
        level = clustered_mean_level(differences, labels, 0.0, side="below", low=-REACH, high=REACH)
        blocked += level is not None and level < LEVEL and -math.fsum(differences) / len(differences) > LIMIT
    return blocked / rounds


def segments(simulation: Simulation) -> None:
    """Three properties with ten values each make thirty segments that share their queries."""
    people, kinds, each = moved(), np.arange(3)[:, None], 10
    width, all_segments = len(people.values), len(kinds) * each
    rows = []
    for size in (500, 1500, 5000):
        batch = []
        for _ in range(simulation.fewer):
            changes = simulation.source.choice(width, size=size, p=people.chances)
            labels = simulation.source.integers(each, size=(len(kinds), size)) + each * kinds
            batch.append(np.bincount((labels * width + changes).ravel(), minlength=all_segments * width))
        drawn = np.concatenate(batch).reshape(-1, width).astype(float)
        over = (-(drawn @ people.values) / drawn.sum(axis=1) > LIMIT).reshape(-1, all_segments)
        found = simulation.change_levels(people, drawn, below=True).reshape(-1, all_segments)
        blocked = over, over & (found < LEVEL), over & [together(levels) for levels in found.tolist()]
        rows.append([f"N = {size}", *(percent(float(each.any(axis=1).mean())) for each in blocked)])
    head = ["", "`estimate`", "`proven_harm`, uncorrected", "`proven_harm` with Holm"]
    table("No change, 30 segments of about N / 10: at least one blocked (%), limit 3 pp", head, rows)


def together(levels: list[float]) -> list[bool]:
    """Which of these levels count together."""
    by_name: dict[str | None, float] = {str(place): level for place, level in enumerate(levels)}
    confidences = holm(by_name, 2 * LEVEL)
    return [level < (1 - confidences[name]) / 2 for name, level in by_name.items()]


def clusters(simulation: Simulation) -> None:
    """Hits that agree within their cluster: each cluster has a rate of its own, around a common one."""
    source = simulation.source

    def cell(row: tuple[list[int], float], count: int) -> str:
        sizes, rate = row
        clustered, alone = Counter[Side](), Counter[Side]()
        for _ in range(simulation.fewer):
            labels = np.repeat(np.arange(count), source.choice(sizes, size=count))
            own = source.beta(2 * rate, 2 * (1 - rate), size=count)
            values = (source.random(len(labels)) < own[labels]).astype(float).tolist()
            for side in SIDES:
                level = clustered_mean_level(values, labels.tolist(), rate, side=side, low=0, high=1)
                clustered[side] += level is not None and level < LEVEL
                level = mean_level(values, rate, side=side, low=0, high=1)
                alone[side] += level is not None and level < LEVEL
        most, most_alone = (percent(max(counts.values()) / simulation.fewer) for counts in (clustered, alone))
        return f"{most} ({most_alone})"

    kinds = {"5": [5], "1, 2, 3 or 10": [1, 2, 3, 10], "1, one in ten 20": [1] * 9 + [20]}
    rows = {f"of {name}, {100 * rate:.0f} %": (sizes, rate) for name, sizes in kinds.items() for rate in (0.7, 0.9)}
    title = "One-sided misses over clusters (%); in brackets, as if queries were independent"
    grid(title, "clusters and hits", {str(count): count for count in (12, 30, 100, 300)}, rows, cell)


def few_clusters(simulation: Simulation) -> None:
    """Drops in few clusters, by signs of their sums; and where these are not symmetric although nothing changed."""
    source, rounds, each = simulation.source, simulation.fewer, 20
    rare = 0.15  # of the clusters gain; the others lose as much in sum

    def cell(drop: float | None, count: int) -> str:
        shape = rounds, count
        if drop is None:
            sums = np.where(source.random(shape) < rare, 1.0, -rare / (1 - rare))
        else:
            sums = source.normal(0, 0.06, shape) + source.normal(-drop, 0.3 / math.sqrt(each), shape)
        proven = 0
        for changes in sums:
            found = cluster_flip_p(changes.tolist(), range(count), side="below")
            proven += found is not None and found[0] < LEVEL and float(changes.mean()) < -LIMIT
        return percent(proven / rounds)

    rows = {"no change": 0.0, "no change, few gain much": None, **{f"drop {pp} pp": pp / 100 for pp in (5, 10, 20)}}
    counts = {str(count): count for count in (5, 6, 9, 12, 20)}
    title = f"Proven harm by the signs of few clusters of {each} queries (%), limit 3 pp"
    grid(title, "clusters", counts, rows, cell)


def recorded_three_times(simulation: Simulation) -> None:
    """Whole runs that shift by chance: 3 points allowed, or twice the largest change between three recordings."""
    [source] = simulation.source.spawn(1)  # whatever was drawn before
    rounds, size, still, rows = simulation.fewer, 400, moved(share=0.04), []
    for shift, drop in product((0.0, 0.01, 0.02), (0.0, 0.05, 0.1)):
        people, blocked, allowed = moved(drop), Counter[tuple[int, bool]](), list[float]()
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
            for place, most in enumerate((LIMIT, allowed[-1])):
                fell = float(changes.mean()) < -most
                blocked[place, False] += fell
                blocked[place, True] += fell and high is not None and high < 0
        shares = [percent(blocked[place, proven] / rounds) for proven in (False, True) for place in (0, 1)]
        name = f"SD {100 * shift:.0f} pp, drop {100 * drop:.0f} pp"
        rows.append([name, f"{100 * float(np.median(allowed)):.1f}", *shares])
    title = f"Blocked where whole runs shift (%), {size} queries: 3 pp allowed, or twice the largest of three changes"
    allows = [f"{evidence}, {most}" for evidence in ("estimate", "proven_harm") for most in ("3 pp", "recorded")]
    table(title, ["", "median allowed, pp", *allows], rows)


def main() -> None:
    """Print every table."""
    seed, runs = quick_or_not(20_251_121, 200, 10_000)
    simulation = Simulation(np.random.default_rng(seed), runs)
    print(f"{runs} samples a cell, seed {seed}\n")
    for part in (choose, misses, blocks, segments, clusters, few_clusters, recorded_three_times):
        part(simulation)


if __name__ == "__main__":
    main()
