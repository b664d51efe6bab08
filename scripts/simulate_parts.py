"""How often a part of the questions is named that lost, and one that did not: scripts/tables/parts.md.

    python scripts/simulate_parts.py [--checks N] [--seed N] [--collections DIR]

A check is a pair of draws of one noisy system: with a set chance a question's list is drawn anew, by either run. Lists
are made, or those of real runs (--collections: a folder each with gold.jsonl and runs/*.jsonl), of which a question
that is drawn anew takes another's. What decides is rankgate's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import rankgate
from rankgate.criteria.model import parse_criteria
from rankgate.gates.lost_parts import unnamed_losses
from rankgate.model.scores import Scores
from rankgate.model.values import Gold, Sample
from rankgate.readers.formats import read_gold
from simulating import noisy_systems, percent, table

Floats = npt.NDArray[np.float64]
LANGUAGES = 12
MOVING = (0.02, 0.05, 0.1, 0.3)
SIZES = (100, 300, 1000)
GATED = ("recall@5", "mrr", "ndcg@10")
GATES = parse_criteria({"gates": [{"name": name, "regression_max": 0.03} for name in GATED]})


class System(NamedTuple):
    """Lists that a noisy system may return: by metric a row of values a list, a column a question; and its tags."""

    values: dict[str, Floats]
    tags: list[tuple[str, ...]]

    def pair(
        self, source: np.random.Generator, moving: Floats | float, lost: Floats | None = None
    ) -> list[dict[str, Floats]]:
        """Baseline and run: two draws, of which the run loses each question's document with the chance ``lost``."""
        lists, size = self.values[GATED[0]].shape
        common, columns = source.integers(lists, size=size), np.arange(size)
        chosen = [np.where(source.random(size) < moving, source.integers(lists, size=size), common) for _ in range(2)]
        before, now = ({name: rows[choice, columns] for name, rows in self.values.items()} for choice in chosen)
        if lost is not None:
            gone = source.random(size) < lost
            now = {name: np.where(gone, 0.0, column) for name, column in now.items()}
        return [before, now]


def made(source: np.random.Generator, size: int, lists: int = 60, *, zipf: bool = False) -> System:
    """One relevant document a question, at a geometric rank, nowhere in an eighth of the lists; twelve languages."""
    chances = 1 / np.arange(1, LANGUAGES + 1)
    languages = source.choice(LANGUAGES, size=size, p=chances / chances.sum()) if zipf else np.arange(size) % LANGUAGES
    ranks = source.geometric(0.45, size=(lists, size)).astype(float)
    ranks[source.random((lists, size)) < 1 / 8] = np.inf
    values = {"recall@5": (ranks <= 5) * 1.0, "mrr": 1 / ranks, "ndcg@10": (ranks <= 10) / np.log2(ranks + 1)}  # noqa: PLR2004
    return System(values, [(f"lang:{number}",) for number in languages])


def real(folder: Path, source: np.random.Generator, size: int) -> System:
    """The runs of a collection as lists; if it has fewer questions, some stand more than once."""
    samples = list(read_gold(str(folder / "gold.jsonl")).samples.values())
    runs = [rankgate.score(str(folder / "gold.jsonl"), str(run), metrics=GATED) for run in folder.glob("runs/*.jsonl")]
    columns = {name: np.array([run.columns[name] for run in runs], dtype=float) for name in GATED}
    drawn = source.choice(len(samples), size=size, replace=size > len(samples))
    return System({name: rows[:, drawn] for name, rows in columns.items()}, [samples[row].tags for row in drawn])


def tagged_collections(folder: Path | None) -> Iterator[Path]:
    """The collections of a folder whose questions have tags."""
    for gold in sorted(folder.glob("*/gold.jsonl")) if folder else ():
        if b'"tags"' in gold.read_bytes():
            yield gold.parent


def scores_of(gold: Gold, values: dict[str, Floats]) -> Scores:
    """Values as those of a run whose lists are not known."""
    return Scores(
        query_ids=tuple(gold.samples),
        values={name: column.tolist() for name, column in values.items()},
        missing=frozenset(),
        unknown_queries=(),
        duplicates=0,
        cut=0,
        samples=gold.samples,
    )


def gold_of(system: System) -> Gold:
    """A gold set with these tags."""
    samples = {
        f"q{row}": Sample(query_id=f"q{row}", gains={"d": 1.0}, tags=tags) for row, tags in enumerate(system.tags)
    }
    return Gold(samples=samples, name="made", format="made")


def named(
    source: np.random.Generator,
    checks: int,
    system: System,
    moving: Floats | float,
    *,
    lost: float = 0.0,
    part: str = "",
) -> str:
    """How often a part is named where the run loses each document with the chance `lost`, in a part or everywhere."""
    gold, count = gold_of(system), 0
    chances = np.array([lost if not part or part in tags else 0.0 for tags in system.tags])
    for _ in range(checks):
        before, now = system.pair(source, moving, chances)
        found = unnamed_losses(GATES, gold, scores_of(gold, now), scores_of(gold, before))
        names = [each.segment for each in found]
        count += part in names if part else bool(names)
    return percent(count / checks)


def main() -> None:
    """Print the table."""
    options = noisy_systems(20_261_126, "checks", 1000)
    source, checks = np.random.default_rng(options.seed), options.checks
    rows: list[list[str]] = []

    def row(name: str, system: System, scale: Floats | float = 1.0, *, lost: float = 0.0, part: str = "") -> None:
        shares = [np.minimum(share * scale, 1.0) for share in MOVING]
        rows.append([name, *(named(source, checks, system, share, lost=lost, part=part) for share in shares)])

    for size in SIZES:
        row(f"nothing lost, N = {size}", made(source, size))
        row(f"nothing lost, twelve by Zipf, N = {size}", made(source, size, zipf=True))
        often = np.where(np.arange(size) % 2 == 0, 5.0, 1.0)  # every other language
        row(f"nothing lost, half of them five times as volatile, N = {size}", made(source, size), often)
    for folder in tagged_collections(options.collections):
        row(f"nothing lost, `{folder.name}`, N = 225", real(folder, source, 225))
    for size in SIZES:
        for lost in (0.05, 0.1):
            row(f"all lose {lost:.0%}, N = {size}", made(source, size), lost=lost)
    for size, lost in ((300, 0.2), (300, 0.36), (300, 0.6), (1000, 0.1), (1000, 0.2)):
        row(f"one of twelve loses {lost:.0%}, N = {size}", made(source, size), lost=lost, part="lang:1")
    table("A part is named (%)", ["three gates that block", *(f"{share:.0%} drawn anew" for share in MOVING)], rows)


if __name__ == "__main__":
    main()
