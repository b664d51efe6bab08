"""What a judge checked by people may decide: scripts/tables/judges.md, from a fixed seed.

    python scripts/simulate_judges.py [--quick] [--seed N]

Draws answers whose claims people know to be supported or not, lets judges of known errors read them, labels some, and
counts how often rankgate's intervals miss the truth and its gates block. Needs numpy (in the dev extra). Takes some
minutes, with --quick some seconds for numbers too rough to quote.
"""

import math
from itertools import cycle, islice, product
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
from rankgate.statistics.saddlepoint import difference_interval
from simulating import grid, percent, quick_or_not, table

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Chance = np.random.Generator

LIMIT = 0.03  # the regression_max
ANSWERS = 1100  # of a run, where floors are concerned
FLOOR_LABELS = 100  # of an earlier run, for the floor of one without labels
LABELS = 200  # of the run that was labelled, where drops are concerned
LABELLED_RUNS = 50  # by which a judge is known
MOST_CLAIMS = 12
LIKE_REAL = (0.9, 0.3)  # the beta distribution of an answer's share of supported claims: many all right, some all wrong
HIGH = (0.93, 0.07)  # another one, of mean 0.93
MEAN = 0.75  # of LIKE_REAL
MEANS = ((MEAN, LIKE_REAL), (0.93, HIGH))


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


def drawn(chance: Chance, size: int, beta: tuple[float, float] = LIKE_REAL, shares: Floats | None = None) -> Answers:
    """Answers of one to 12 claims, each with a share of its own that is supported, unless shares are given."""
    shares = chance.beta(*beta, size=(size, 1)) if shares is None else shares[:, None]
    there = np.arange(MOST_CLAIMS) < chance.integers(1, MOST_CLAIMS + 1, size=(size, 1))
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


def two_runs(chance: Chance, judge: Judge, size: int, share: float, drop: float, lenient: Judge | None = None) -> Pair:
    """A run and one in which a share of the answers was written again, which ``lenient`` reads if there is one."""
    old = drawn(chance, size)
    new = rewritten(chance, old, share, drop)
    differs = (old.claims != new.claims).any(axis=1) | (old.there != new.there).any(axis=1)
    before, after = judge.verdicts(chance, old), (lenient or judge).verdicts(chance, new)
    after = np.where(differs[:, None], after, before)  # equal answers get equal verdicts
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


def drawn_floors(chance: Chance, runs: int) -> None:
    """Intervals of a run that labels were drawn from: by the judge alone, by labels alone, and by PPI++ with both."""
    head = ["judge (Se / Sp)", "judge alone", "labels alone", "PPI++"]
    head += ["width / labels alone", "low too high / high too low"]
    for labels in (50, 100, 150):
        rows = []
        for (mean, beta), by in product(MEANS, (USELESS, *PLAIN, *CROOKED)):
            alone, few, both = Coverage(), Coverage(), Coverage()
            for _ in range(runs):
                answers = drawn(chance, ANSWERS, beta)
                people, judge = answers.values(answers.claims), answers.values(by.verdicts(chance, answers))
                middle, reach = float(judge.mean()), 1.96 * float(judge.std()) / math.sqrt(len(judge))
                alone.add((middle - reach, middle + reach), mean)
                few.add(powered(people[:labels], judge[:labels], labels).bounds(), mean)
                both.add(powered(people, judge, labels).bounds(), mean)
            width = f"{both.width / few.width:.2f}"
            cells = [alone.cell(), few.cell(), both.cell(), width, both.sides()]
            rows.append([f"{by.name}, mean {mean:g}", *cells])
        others = f"{labels} labels, {ANSWERS - labels:,} others"
        table(f"Intervals at 95 % that hold the true value, {others} (%; width)", head, rows)


def clustered_floors(chance: Chance, runs: int) -> None:
    """The same where the answers of a cluster share what they are worth, with and without knowing of clusters."""
    rows = []
    kinds = ((4, 100, 250), (10, 200, 60), (10, 200, 40), (20, 300, 40), (20, 300, 30))
    for (mean, beta), (size, labels, clusters), judge in product(MEANS, kinds, (USELESS, PLAIN[3], PLAIN[5])):
        known, unknown = Coverage(), Coverage()
        for _ in range(runs // 2):
            order = chance.permutation(size * clusters)
            members = np.repeat(np.arange(clusters), size)[order]
            answers = drawn(chance, len(order), shares=chance.beta(*beta, size=clusters)[members])
            values = answers.values(answers.claims), answers.values(judge.verdicts(chance, answers))
            known.add(powered(*values, labels, members).bounds(), mean)
            unknown.add(powered(*values, labels).bounds(), mean)
        name = f"{judge.name}, mean {mean:g}: {clusters} clusters of {size}, {labels} labels"
        rows.append([name, known.cell(), unknown.cell()])
    title = "Answers in clusters: intervals at 95 % that hold the true value (%; width)"
    table(title, ["judge (Se / Sp)", "by cluster", "as if independent"], rows)


def foreign_floors(chance: Chance, runs: int) -> None:
    """How often a run without labels of its own is found below a floor that it just holds, by the gate's own rule."""

    def cell(judge: Judge, change: tuple[float, float]) -> str:
        share, drop = change
        below = 0
        for _ in range(runs):
            pair = two_runs(chance, judge, ANSWERS, share, drop)
            known = powered(pair.people[0], pair.judge[0], FLOOR_LABELS)
            labels = labelled(pair.people[0][:FLOOR_LABELS], pair.judge[0][:FLOOR_LABELS])
            since = change_of(pair, slope(labels))
            found = anchored(known.value, known.bounds(0.95), since)
            high = without_gain(found, since, Direction.HIGHER).ci[1]
            below += high is not None and high < MEAN - max(drop, 0.0)
        return percent(below / runs)

    changes = {"same, 30 % changed": (0.3, 0.0), "same, 60 %": (0.6, 0.0)}
    changes |= {"5 pp worse, 60 %": (0.6, 0.05), "5 pp better, 60 %": (0.6, -0.05)}
    title = f"Floors of a run without labels: found below a floor that it holds exactly (%), {FLOOR_LABELS} labels"
    grid(title, "judge (Se / Sp)", changes, {judge.name: judge for judge in (*PLAIN[2:], *CROOKED)}, cell)


# --- drops


def change_of(pair: Pair, seen: Measured | None) -> Change:
    """The change as people would have it, if the judge errs alike on both runs."""
    interval = difference_interval(pair.seen.tolist(), widest=1.0)
    return people_change(float(pair.seen.mean()), interval or (None, None), seen)


def of_labels(chance: Chance, judge: Judge) -> list[Quality]:
    """The judge's quality on each of some labelled runs."""
    return [_of_labels(chance, judge) for _ in range(LABELLED_RUNS)]


def _of_labels(chance: Chance, judge: Judge) -> Quality:
    answers = drawn(chance, LABELS)
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


def blocked(change: Change, checked: Quality) -> bool:
    """Whether a gate with an allowed drop of 3 points and ``proven_harm`` fails the run."""
    if change.value is None or not counts(checked):
        return False
    rule = rule_on_drop(Evidence.PROVEN_HARM, change.value, change.ci, LIMIT, Direction.HIGHER)
    return rule.ruling is Ruling.VIOLATED


def drops(chance: Chance, runs: int) -> None:
    """False blocks, and what a useless judge does."""
    kinds = {"no change, N = 100": (100, 0.0), "N = 400": (400, 0.0), "N = 800": (800, 0.0)}
    kinds |= {"drop 6 pp, N = 400": (400, 0.06), "drop 20 pp, N = 400": (400, 0.2)}
    rows = []
    for judge in (USELESS, *PLAIN, *CROOKED):
        checked = of_labels(chance, judge)
        cells = [percent(sum(map(counts, checked)) / LABELLED_RUNS)]
        for size, drop in kinds.values():
            blocks = 0
            for known in islice(cycle(checked), runs):
                blocks += blocked(change_of(two_runs(chance, judge, size, 0.6, drop), known.slope), known)
            cells.append(percent(blocks / runs))
        rows.append([judge.name, *cells])
    title = f"Blocked by `proven_harm`, 3 pp allowed, {LABELS} labels, 60 % of the answers changed (%)"
    table(title, ["judge (Se / Sp)", "calibrated", *kinds], rows)


def pleased(chance: Chance, runs: int) -> None:
    """A change that pleases the judge, or displeases it: its new errors, which labels of the old run do not show."""
    rows = []
    usual, lenient, harsh = Judge(0.9, 0.85), Judge(0.99, 0.15), Judge(0.69, 0.85)
    checked = of_labels(chance, usual)
    please = [(lenient, drop, size) for drop, size in ((-0.05, 800), (0.0, 800), (0.05, 800), (0.1, 800), (0.1, 300))]
    displease = [(harsh, drop, size) for drop, size in ((0.0, 800), (0.0, 300), (-0.05, 800), (0.1, 800))]
    for other, drop, size in (*please, *displease):
        seen, found, blocks = list[float](), Coverage(), 0
        for known in islice(cycle(checked), runs):
            pair = two_runs(chance, usual, size, 0.6, drop, other)
            change = change_of(pair, known.slope)
            seen.append(float(pair.seen.mean()))
            blocks += blocked(change, known)
            found.add(change.ci, -drop)
        name = f"true {0.0 - 100 * drop:+.0f} pp, judge {100 * np.mean(seen):+.1f}, N = {size}"
        rows.append([name, percent(blocks / runs), found.cell(), percent(found.above / runs)])
    title = "A change that pleases or displeases the judge, 60 % of the answers changed (%; mean width in brackets)"
    table(title, ["", "blocked", "interval holds the truth", "lies above it"], rows)


def drifting(chance: Chance, runs: int) -> None:
    """A service whose judge became harsher after the baseline was judged, under the same name: unchanged answers."""
    kinds = {"30 % changed, N = 400": (0.3, 400), "60 %": (0.6, 400), "100 %": (1.0, 400), "100 %, N = 800": (1.0, 800)}
    rows = []
    for judge in (PLAIN[3], Judge(0.9, 0.85), Judge(0.95, 0.95)):
        checked = of_labels(chance, judge)
        for drift in (0.0, 0.05, 0.1):
            harsher = judge._replace(se=judge.se - drift)
            rows.append([f"{judge.name}, recognises {100 * drift:.0f} pp fewer"])
            for share, size in kinds.values():
                blocks = 0
                for known in islice(cycle(checked), runs):
                    change = change_of(two_runs(chance, judge, size, share, 0.0, harsher), known.slope)
                    blocks += blocked(change, known)
                rows[-1].append(percent(blocks / runs))
    title = f"A judge that drifts unseen: no change of quality, falsely blocked (%), 3 pp allowed, {LABELS} labels"
    table(title, ["judge (Se / Sp)", *kinds], rows)


def main() -> None:
    """Print every table."""
    seed, runs = quick_or_not(20_261_123, 20, 1000)
    print(f"{runs} samples a cell, half as many for floors of other runs and for drops, seed {seed}\n")
    parts = {0: drawn_floors, 1: clustered_floors, 6: foreign_floors, 3: drops, 5: pleased, 7: drifting}
    for place, part in parts.items():  # each with a chance of its own, so that one can change without the others
        part(np.random.default_rng([seed, place]), runs if part is drawn_floors else runs // 2)


if __name__ == "__main__":
    main()
