"""How often accepted runs that changed nothing seem to have lost, and three small losses in a row are found.

    python scripts/simulate_steps.py [--histories N] [--seed N] [--collections DIR]

A history is 101 draws of one noisy system of simulate_parts.py, each accepted, the first of them the anchor. What
decides is rankgate's own; beside it stand two rules that are not in use. Prints scripts/tables/steps.md.
"""

import numpy as np

from rankgate.gates.anchor import TIMES, ScoredAnchor, given_up
from rankgate.model.lineage import AnchorMark
from simulate_parts import GATED, GATES, MOVING, Floats, System, gold_of, made, real, scores_of
from simulate_verdicts import LIMIT
from simulating import grid, noisy_systems, percent

ACCEPTED, LAST = 100, 10  # acceptances of a history; of which the best is compared with by another rule
STEP, STEPS = 0.021, 3  # points lost at once, and how often
RULES = ("in use", "twice the limit", "the best of the last ten")
Runs = list[dict[str, Floats]]


def drop(runs: Runs, before: int = 0) -> float:
    """The largest of the metrics' losses, from one of the runs to the last."""
    return max(float((runs[before][name] - runs[-1][name]).mean()) for name in GATED)


def warns(rule: str, system: System, runs: Runs) -> bool:
    """Whether the last run is said to have lost: rankgate is asked where the loss is large enough."""
    if rule == "twice the limit":
        return drop(runs) > 2 * LIMIT
    if rule != "in use":
        return max(drop(runs, before) for before in range(max(len(runs) - 1 - LAST, 0), len(runs) - 1)) > LIMIT
    if drop(runs) <= TIMES * LIMIT:
        return False
    gold = gold_of(system)
    anchor = ScoredAnchor(mark=AnchorMark(id="", date=""), scores=scores_of(gold, runs[0]))
    return bool(given_up(GATES.gates, scores_of(gold, runs[-1]), anchor))


def history(source: np.random.Generator, system: System, moving: float, length: int, lost: float = 0.0) -> Runs:
    """Draws of one system, of which each but the first loses so many points more for good."""
    lists, size = system.values[GATED[0]].shape
    common, columns, gone = source.integers(lists, size=size), np.arange(size), np.zeros(size, dtype=bool)
    chance, runs = lost / float(system.values[GATED[0]].mean()), Runs()
    for number in range(length):
        gone |= source.random(size) < (chance / (1 - (number - 1) * chance) if number else 0.0)
        choice = np.where(source.random(size) < moving, source.integers(lists, size=size), common)
        runs.append({name: np.where(gone, 0.0, rows[choice, columns]) for name, rows in system.values.items()})
    return runs


def main() -> None:
    """Print the table."""
    options = noisy_systems(20_261_127, "histories", 300)
    source, count = np.random.default_rng(options.seed), options.histories
    systems = {f"N = {size:,}": made(source, size) for size in (100, 300, 1000)}
    for gold in sorted(options.collections.glob("*/gold.jsonl")) if options.collections else ():
        systems[f"`{gold.parent.name}`, N = 225"] = real(gold.parent, source, 225)

    def cell(row: tuple[System, str], moving: float) -> str:
        system, rule = row
        warned = found = 0
        for _ in range(count):
            still = history(source, system, moving, ACCEPTED + 1)
            warned += any(warns(rule, system, still[:end]) for end in range(2, ACCEPTED + 2))
            found += warns(rule, system, history(source, system, moving, STEPS + 1, STEP))
        return f"{percent(warned / count)} / {percent(found / count)}"

    title = f"Said within {ACCEPTED} acceptances that change nothing / of {STEPS} steps of 2.1 points (%)"
    columns = {f"{share:.0%} drawn anew": share for share in MOVING}
    rows = {f"{name}, {rule}": (system, rule) for name, system in systems.items() for rule in RULES}
    grid(title, "three gates that block at 3 points", columns, rows, cell)


if __name__ == "__main__":
    main()
