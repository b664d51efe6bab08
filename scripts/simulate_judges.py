"""What a judge checked by people may decide: scripts/tables/judges.md, from a fixed seed.

    python scripts/simulate_judges.py [--quick] [--seed N]

Draws answers whose claims people know to be supported or not, lets judges of known errors read them, labels some, and
counts how often rankgate's intervals miss the truth and its gates block. Needs numpy (in the dev extra). Takes some
minutes, with --quick some seconds for numbers too rough to quote.
"""

import argparse
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankgate.gates.decision_rule import rule_on_drop
from rankgate.gates.judged import advisory, without_gain
from rankgate.model.answers import Rate
from rankgate.model.values import Direction, Evidence, Interval, Ruling
from rankgate.model.verdicts import MetricCalibration
from rankgate.statistics.calibration import (
    Change,
    Labelled,
    Measured,
    Powered,
    Quality,
    anchored,
    people_change,
    prediction_powered,
    quality,
    slope,
)
from rankgate.statistics.power import Sight
from rankgate.statistics.saddlepoint import difference_interval
from simulate_verdicts import percent, table

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Chance = np.random.Generator

LIMIT = 0.03  # the regression_max
ANSWERS = 1100  # of a run, where floors are concerned
LABELS = 200  # of the run that was labelled, where drops are concerned
MOST_CLAIMS = 12
LIKE_REAL = (0.9, 0.3)  # the beta distribution of an answer's share of supported claims: many all right, some all wrong
HIGH = (0.93, 0.07)  # another one, of mean 0.93
MEAN = 0.75  # of LIKE_REAL


class Answers(NamedTuple):
    """Claims of answers, one row an answer: whether there is a claim, whether people support it, and the language."""

    there: Bools
    claims: Bools
    language: npt.NDArray[np.int64]

    def values(self, verdicts: Bools) -> Floats:
        """The share of each answer's claims that the verdicts support."""
        shares: Floats = (verdicts & self.there).sum(axis=1) / self.there.sum(axis=1)
        return shares


class Judge(NamedTuple):
    """How often a judge recognises a supported claim (se) and an unsupported one (sp), and where it errs more."""

    se: float
    sp: float
    alike: float = 0.0  # the share of answers in which all claims share one error
    length: float = 0.0  # what each claim beyond the fourth costs both
    language: float = 0.0  # what every third language costs both

    @property
    def name(self) -> str:
        """As a row is called."""
        kinds = {"errors by answer": self.alike, "by length": self.length, "by language": self.language}
        return ", ".join([f"{self.se:g} / {self.sp:g}", *(kind for kind, found in kinds.items() if found)])

    def verdicts(self, chance: Chance, answers: Answers) -> Bools:
        """What it says of every claim."""
        rows, columns = answers.there.shape
        cost = self.length * np.maximum(answers.there.sum(axis=1) - 4, 0) + self.language * (answers.language == 0)
        se, sp = (np.maximum(rate - cost, 0.0)[:, None] for rate in (self.se, self.sp))
        luck = np.where(chance.random((rows, 1)) < self.alike, chance.random((rows, 1)), chance.random((rows, columns)))
        said: Bools = np.where(answers.claims, luck < se, luck >= sp) & answers.there
        return said


USELESS = Judge(0.5, 0.5)
PLAIN = [Judge(0.6, 0.5), Judge(0.6, 0.99), Judge(0.8, 0.7), Judge(0.9, 0.7), Judge(0.99, 0.5), Judge(0.99, 0.99)]
CROOKED = [
    Judge(0.9, 0.7, alike=1.0),
    Judge(0.99, 0.9, alike=1.0),
    Judge(0.95, 0.8, length=0.04),
    Judge(0.9, 0.8, language=0.3),
    Judge(0.99, 0.99, language=0.4),
]


def drawn(
    chance: Chance,
    size: int,
    least: int = 1,
    beta: tuple[float, float] = LIKE_REAL,
    shares: Floats | None = None,
) -> Answers:
    """Answers of ``least`` to 12 claims, each with a share of its own that is supported, unless shares are given."""
    shares = chance.beta(*beta, size=(size, 1)) if shares is None else shares[:, None]
    there = np.arange(MOST_CLAIMS) < chance.integers(least, MOST_CLAIMS + 1, size=(size, 1))
    claims = chance.random((size, MOST_CLAIMS)) < shares
    return Answers(there, claims & there, chance.integers(0, 3, size=size))


def rewritten(chance: Chance, old: Answers, share: float, drop: float) -> Answers:
    """The answers, a share of them written again with a quality of their own, so that the mean falls by ``drop``.

    For a drop supported claims of those written again lose their support, for a rise others gain it.
    """
    again = chance.random((len(old.claims), 1)) < share
    claims = chance.random(old.claims.shape) < chance.beta(*LIKE_REAL, size=again.shape)
    turning = abs(drop) / share / (MEAN if drop > 0 else 1 - MEAN)
    claims = np.where(chance.random(old.claims.shape) < turning, drop < 0, claims)
    return old._replace(claims=np.where(again, claims, old.claims) & old.there)


class Pair(NamedTuple):
    """Two runs over the same questions, by people and by the judge, and which answers were written again."""

    people: tuple[Floats, Floats]
    judge: tuple[Floats, Floats]
    rewritten: Bools

    @property
    def seen(self) -> Floats:
        """The judge's paired differences."""
        return self.judge[1] - self.judge[0]

    @property
    def true(self) -> Floats:
        """People's."""
        return self.people[1] - self.people[0]


def judged(chance: Chance, judge: Judge, old: Answers, new: Answers, lenient: Judge | None = None) -> Pair:
    """Both runs by one judge, ``lenient`` where answers were written again; equal answers get equal verdicts."""
    differs = (old.claims != new.claims).any(axis=1) | (old.there != new.there).any(axis=1)
    before, after = judge.verdicts(chance, old), (lenient or judge).verdicts(chance, new)
    after = np.where(differs[:, None], after, before)
    values = old.values(before), new.values(after)
    return Pair((old.values(old.claims), new.values(new.claims)), values, differs)


def labelled(people: Floats, judge: Floats) -> list[Labelled]:
    """Answers with both values."""
    return list(map(Labelled, people.tolist(), judge.tolist()))


def powered(people: Floats, judge: Floats, labels: int, clusters: npt.NDArray[np.int64] | None = None) -> Powered:
    """PPI++ where the first answers are labelled: they come in no order."""
    independent = () if clusters is None else clusters.tolist()
    found = prediction_powered(labelled(people[:labels], judge[:labels]), judge[labels:].tolist(), independent)
    if found is None:
        raise SystemExit("so many labels have an interval")
    return found


# --- floors


class Coverage:
    """How often an interval holds the truth, misses it on either side, and how wide it is."""

    def __init__(self) -> None:
        self.runs = self.above = self.below = 0
        self.width = 0.0

    def add(self, bounds: Interval, truth: float) -> None:
        """Count one interval; a bound that is lacking is the end of the range."""
        low, high = (end if bound is None else bound for bound, end in zip(bounds, (0.0, 1.0), strict=True))
        self.runs, self.width = self.runs + 1, self.width + high - low
        self.above, self.below = self.above + (low > truth), self.below + (high < truth)

    def cell(self) -> str:
        """As tables have it."""
        return f"{percent(1 - (self.above + self.below) / self.runs)} ({self.width / self.runs:.3f})"

    def sides(self) -> str:
        """How often the lower bound lies above the truth, and the upper one below it."""
        return f"{percent(self.above / self.runs)} / {percent(self.below / self.runs)}"


Pool = Callable[[], tuple[Floats, Floats]]
HEAD = ["judge alone", "labels alone", "PPI++", "width / labels alone", "low too high / high too low"]


def floors(runs: int, name: str, pool: Pool, truth: float, labels: int = 100) -> list[str]:
    """A row: intervals of a run's value by the judge alone, by labels alone, and by PPI++ with both."""
    alone, few, both = Coverage(), Coverage(), Coverage()
    for _ in range(runs):
        people, judge = pool()
        middle, reach = float(judge.mean()), 1.96 * float(judge.std()) / math.sqrt(len(judge))
        alone.add((middle - reach, middle + reach), truth)
        few.add(powered(people[:labels], judge[:labels], labels).bounds(), truth)
        both.add(powered(people, judge, labels).bounds(), truth)
    width = f"{both.width / few.width:.2f}"
    return [name, alone.cell(), few.cell(), both.cell(), width, both.sides()]


def pool_of(chance: Chance, judge: Judge, answers: Callable[[], Answers]) -> Pool:
    """Both values of answers that are drawn again each time."""

    def pool() -> tuple[Floats, Floats]:
        found = answers()
        return found.values(found.claims), found.values(judge.verdicts(chance, found))

    return pool


def drawn_floors(chance: Chance, runs: int) -> None:
    """Coverage of a floor's interval for the run that the labels were drawn from."""
    for labels in (50, 100, 150):
        rows = []
        for mean, beta in ((MEAN, LIKE_REAL), (0.93, HIGH)):
            for judge in (USELESS, *PLAIN, *CROOKED):
                pool = pool_of(chance, judge, partial(drawn, chance, ANSWERS, beta=beta))
                rows.append(floors(runs, f"{judge.name}, mean {mean:g}", pool, mean, labels))
        print(
            f"**Intervals at 95 % that hold the true value, {labels} labels, {ANSWERS - labels:,} others (%; width)**\n"
        )
        table(["judge (Se / Sp)", *HEAD], rows)


def clustered_floors(chance: Chance, runs: int) -> None:
    """The same where the answers of a cluster share what they are worth, with and without knowing of clusters."""
    rows = []
    for mean, beta in ((MEAN, LIKE_REAL), (0.93, HIGH)):
        for size, labels, clusters in ((4, 100, 250), (10, 200, 60), (10, 200, 40), (20, 300, 40), (20, 300, 30)):
            for judge in (USELESS, PLAIN[3], PLAIN[5]):
                known, unknown = Coverage(), Coverage()
                for _ in range(runs // 2):
                    order = chance.permutation(size * clusters)
                    members = np.repeat(np.arange(clusters), size)[order]
                    shares = chance.beta(*beta, size=clusters)[members]
                    answers = drawn(chance, len(order), shares=shares)
                    people, judge_values = (
                        answers.values(answers.claims),
                        answers.values(judge.verdicts(chance, answers)),
                    )
                    known.add(powered(people, judge_values, labels, members).bounds(), mean)
                    unknown.add(powered(people, judge_values, labels).bounds(), mean)
                name = f"{judge.name}, mean {mean:g}: {clusters} clusters of {size}, {labels} labels"
                rows.append([name, known.cell(), unknown.cell()])
    print("**Answers in clusters: intervals at 95 % that hold the true value (%; width)**\n")
    table(["judge (Se / Sp)", "by cluster", "as if independent"], rows)


def anchored_floors(chance: Chance, runs: int) -> None:
    """Coverage for a run of which no answer is labelled, from 100 labels of an earlier one."""
    rows = []
    for judge in (*PLAIN[2:], *CROOKED):
        cells: list[str] = []
        for share, drop in ((0.5, -0.05), (0.3, 0.0), (0.5, 0.05), (0.8, 0.2)):
            pair = partial(two_runs, chance, judge, ANSWERS, share, drop)
            cells += anchored_cells(runs, pair, MEAN - drop)[: 2 if drop > LIMIT * 2 else 1]
        rows.append([judge.name, *cells])
    print("**Floors of a run without labels, from 100 labels of an earlier one: intervals that hold its value (%)**\n")
    sizes = ("5 pp better", "same", "5 pp worse", "20 pp worse", "20 pp worse, old labels not anchored")
    table(["judge (Se / Sp)", *sizes], rows)


def two_runs(chance: Chance, judge: Judge, size: int, share: float, drop: float, least: int = 1) -> Pair:
    """A run and one in which a share of the answers was written again."""
    old = drawn(chance, size, least)
    return judged(chance, judge, old, rewritten(chance, old, share, drop))


def anchored_cells(runs: int, pairs: Callable[[], Pair], truth: float) -> list[str]:
    """Coverage of the anchored interval, and of PPI++ with the old run's labels and the new run's verdicts."""
    found, naive = Coverage(), Coverage()
    for _ in range(runs):
        pair = pairs()
        found.add(anchored_at(pair).ci, truth)
        mixed = prediction_powered(labelled(pair.people[0][:100], pair.judge[0][:100]), pair.judge[1][100:].tolist())
        naive.add(mixed.bounds() if mixed else (None, None), truth)
    return [found.cell(), naive.cell()]


def anchored_at(pair: Pair, labels: int = 100, confidence: float = 0.95) -> Change:
    """The new run's value, from labels of the old one."""
    known = powered(pair.people[0], pair.judge[0], labels)
    seen = slope(labelled(pair.people[0][:labels], pair.judge[0][:labels]))
    return anchored(known.value, known.bounds(confidence), change_of(pair, seen))


def foreign_floors(chance: Chance, runs: int) -> None:
    """How often a run without labels of its own is found below a floor that it just holds, by the gate's own rule."""
    rows = []
    for judge in (*PLAIN[2:], *CROOKED):
        cells: list[str] = []
        for share, drop in ((0.3, 0.0), (0.6, 0.0), (0.6, 0.05), (0.6, -0.05)):
            below = 0
            for _ in range(runs):
                pair = two_runs(chance, judge, ANSWERS, share, drop)
                found = anchored_at(pair)
                since = change_of(pair, slope(labelled(pair.people[0][:100], pair.judge[0][:100])))
                high = without_gain(found, since, Direction.HIGHER).ci[1]
                below += high is not None and high < MEAN - max(drop, 0.0)
            cells.append(percent(below / runs))
        rows.append([judge.name, *cells])
    print("**Floors of a run without labels: found below a floor that it holds exactly (%), 100 labels**\n")
    table(["judge (Se / Sp)", "same, 30 % changed", "same, 60 %", "5 pp worse, 60 %", "5 pp better, 60 %"], rows)


# --- drops


def change_of(pair: Pair, seen: Measured | None) -> Change:
    """The change as people would have it, if the judge errs alike on both runs."""
    interval = difference_interval(pair.seen.tolist(), widest=1.0)
    return people_change(float(pair.seen.mean()), interval or (None, None), seen)


def of_labels(chance: Chance, judge: Judge, least: int, labels: int = LABELS) -> Quality:
    """The judge's quality on a labelled run of its own."""
    answers = drawn(chance, labels, least)
    verdicts = judge.verdicts(chance, answers)
    claims = [
        list(zip(claims[there].tolist(), said[there].tolist(), strict=True))
        for claims, said, there in zip(answers.claims, verdicts, answers.there, strict=True)
    ]
    return quality(labelled(answers.values(answers.claims), answers.values(verdicts)), claims)


def counts(checked: Quality) -> bool:
    """Whether a drop may block by what labels say of the judge."""
    unused: dict[str, Any] = {"sensitivity": None, "specificity": None, "kappa": None, "value": None}
    slope = checked.slope and Rate(*checked.slope)
    known = MetricCalibration(labels=checked.n, rarer=checked.rarer, slope=slope, **unused)
    return advisory(known, drop=True) is None


def blocked(pair: Pair, checked: Quality) -> bool:
    """Whether a gate with an allowed drop of 3 points and ``proven_harm`` fails the run."""
    if not counts(checked):
        return False
    change = change_of(pair, checked.slope)
    return change.value is not None and harmful(change.value, change.ci)


def harmful(value: float, ci: tuple[float | None, float | None]) -> bool:
    """By the decision rule itself."""
    return rule_on_drop(Evidence.PROVEN_HARM, value, ci, LIMIT, Direction.HIGHER).ruling is Ruling.VIOLATED


def drops(chance: Chance, runs: int) -> None:
    """False blocks, and what a useless judge does."""
    rows = []
    for judge in (USELESS, *PLAIN, *CROOKED):
        checked = [of_labels(chance, judge, 1) for _ in range(50)]
        states = [counts(each) for each in checked]
        cells = []
        for size, drop in ((100, 0.0), (400, 0.0), (800, 0.0), (400, 0.06), (400, 0.2)):
            found = [blocked(two_runs(chance, judge, size, 0.6, drop), checked[i % 50]) for i in range(runs)]
            cells.append(percent(float(np.mean(found))))
        rows.append([judge.name, percent(sum(states) / len(states)), *cells])
    print(f"**Blocked by `proven_harm`, 3 pp allowed, {LABELS} labels, 60 % of the answers changed (%)**\n")
    head = ["no change, N = 100", "N = 400", "N = 800", "drop 6 pp, N = 400", "drop 20 pp, N = 400"]
    table(["judge (Se / Sp)", "calibrated", *head], rows)


def power(chance: Chance, runs: int) -> None:
    """A true drop found by people's labels of everything, and by a judge."""
    rows = []
    for judge, least, share, size, drop in (
        (PLAIN[3], 4, 0.3, 800, 0.06),
        (PLAIN[3], 4, 0.6, 800, 0.06),
        (PLAIN[3], 4, 1.0, 800, 0.06),
        (PLAIN[3], 1, 0.6, 800, 0.06),
        (PLAIN[3], 4, 0.6, 300, 0.06),
        (PLAIN[3], 1, 1.0, 300, 0.1),
        (Judge(0.99, 0.9), 1, 0.6, 300, 0.06),
        (Judge(0.95, 0.9, alike=1.0), 1, 0.6, 800, 0.06),
    ):
        checked = [of_labels(chance, judge, least) for _ in range(50)]
        people, found, expected = list[bool](), list[bool](), list[float]()
        for i in range(runs):
            pair, known = two_runs(chance, judge, size, share, drop, least), checked[i % 50]
            interval = difference_interval(pair.true.tolist(), widest=1.0)
            people.append(harmful(float(pair.true.mean()), interval or (None, None)))
            found.append(blocked(pair, known))
            expected.append(predicted(pair, known, drop))
        claims = f"{least} claims or more" if least > 1 else "1 claim or more"
        name = f"{judge.name}; {claims}, {100 * share:.0f} % changed, N = {size}, drop {100 * drop:.0f} pp"
        rows.append([name, *(percent(float(np.mean(each))) for each in (people, found, expected))])
    print(f"**A true drop that is found (%), `proven_harm`, 3 pp allowed, {LABELS} labels**\n")
    table(["judge (Se / Sp)", "by people", "by the judge", "predicted"], rows)


def predicted(pair: Pair, checked: Quality, drop: float) -> float:
    """The chance that the gate finds the drop, by the formula of ``Sight`` in people's units."""
    if checked.slope is None or not counts(checked):
        return 0.0
    size, seen = len(pair.seen), checked.slope.value
    sight = Sight(float(pair.seen.std()), 1.0, slope=seen)
    error = sight.spread / seen / math.sqrt(size)
    return math.erfc((max(LIMIT, sight.reach(size)) - drop) / error / math.sqrt(2)) / 2


def pleased(chance: Chance, runs: int) -> None:
    """A change that pleases the judge, or displeases it: its new errors, which labels of the old run do not show."""
    rows = []
    usual, lenient, harsh = Judge(0.9, 0.85), Judge(0.99, 0.15), Judge(0.69, 0.85)
    checked = [of_labels(chance, usual, 1) for _ in range(50)]
    please = [(lenient, drop, size) for drop, size in ((-0.05, 800), (0.0, 800), (0.05, 800), (0.1, 800), (0.1, 300))]
    displease = [(harsh, drop, size) for drop, size in ((0.0, 800), (0.0, 300), (-0.05, 800), (0.1, 800))]
    for other, drop, size in (*please, *displease):
        seen, found, block = list[float](), Coverage(), 0
        for i in range(runs):
            old, known = drawn(chance, size), checked[i % 50]
            pair = judged(chance, usual, old, rewritten(chance, old, 0.6, drop), other)
            seen.append(float(pair.seen.mean()))
            change = change_of(pair, known.slope)
            calibrated = change.value is not None and counts(known)
            block += calibrated and harmful(change.value or 0.0, change.ci)
            found.add(change.ci, -drop)
        name = f"true {0.0 - 100 * drop:+.0f} pp, judge {100 * np.mean(seen):+.1f}, N = {size}"
        rows.append([name, percent(block / runs), found.cell(), percent(found.above / runs)])
    print(
        "**A change that pleases or displeases the judge, 60 % of the answers changed (%; mean width in brackets)**\n"
    )
    table(["", "blocked", "interval holds the truth", "lies above it"], rows)


def drifting(chance: Chance, runs: int) -> None:
    """A service whose judge became harsher after the baseline was judged, under the same name: unchanged answers."""
    rows = []
    for judge in (PLAIN[3], Judge(0.9, 0.85), Judge(0.95, 0.95)):
        checked = [of_labels(chance, judge, 1) for _ in range(50)]
        for drift in (0.0, 0.05, 0.1):
            harsher = judge._replace(se=judge.se - drift)
            cells = []
            for share, size in ((0.3, 400), (0.6, 400), (1.0, 400), (1.0, 800)):
                blocks = 0
                for i in range(runs):
                    old = drawn(chance, size)
                    pair = judged(chance, judge, old, rewritten(chance, old, share, 0.0), harsher)
                    blocks += blocked(pair, checked[i % 50])
                cells.append(percent(blocks / runs))
            rows.append([f"{judge.name}, recognises {100 * drift:.0f} pp fewer", *cells])
    print(f"**A judge that drifts unseen: no change of quality, falsely blocked (%), 3 pp allowed, {LABELS} labels**\n")
    table(["judge (Se / Sp)", "30 % changed, N = 400", "60 %", "100 %", "100 %, N = 800"], rows)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description="Coverage, false alarms and power of judges, by simulation.")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes, and rough")
    parser.add_argument("--seed", type=int, default=20_261_123)
    options = parser.parse_args()
    runs = 20 if options.quick else 1000
    print(f"{runs} samples a cell, half as many for floors of other runs and for drops, seed {options.seed}\n")
    parts = (
        (0, drawn_floors, runs),
        (1, clustered_floors, runs // 2),
        (2, anchored_floors, runs // 2),
        (6, foreign_floors, runs // 2),
        (3, drops, runs // 2),
        (4, power, runs // 2),
        (5, pleased, runs // 2),
        (7, drifting, runs // 2),
    )
    for place, part, size in parts:  # each with a chance of its own, so that one can change without the others
        part(np.random.default_rng([options.seed, place]), size)


if __name__ == "__main__":
    main()
