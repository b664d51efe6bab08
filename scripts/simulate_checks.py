"""How often a first gate set fails or warns, and what else would: scripts/tables/checks.md.

    python scripts/simulate_checks.py [--checks N] [--seed N] [--collections DIR]

Systems, draws and collections are those of simulate_parts.py; criteria are as `rankgate init` writes them, and rankgate
itself decides. Beside it: a plain threshold at the same limit, and one-sided tests of any loss at 2.5 %.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from rankgate.criteria.model import Criteria, parse_criteria
from rankgate.criteria.starter import FEW_QUESTIONS, LARGE_DROP, SEGMENT_DROP, SEGMENT_QUESTIONS, SMALL_DROP
from rankgate.gates.judging import judge_scores
from rankgate.gates.lost_parts import unnamed_losses
from rankgate.model.values import Verdict
from rankgate.statistics.sign_flips import flip_p
from simulate_parts import GATED, Floats, System, gold_of, made, real, scores_of
from simulate_verdicts import percent, table

SIZES = (50, 100, 250, 1000)
MOVING = (0.02, 0.05, 0.1, 0.3)
T_LEVEL = 1.96  # of many questions
LEVEL = 0.025
PART = "lang:1"


def limit_of(size: int) -> float:
    """What `init` lets a metric lose."""
    return LARGE_DROP if size < FEW_QUESTIONS else SMALL_DROP


def criteria_of(size: int, *, tagged: bool) -> Criteria:
    """As `init` writes them: the first gate blocks, also by language, and two only warn."""
    gates: list[dict[str, Any]] = [
        {"name": name, "regression_max": limit_of(size), "severity": "error" if name == GATED[0] else "warning"}
        for name in GATED
    ]
    if tagged:
        rule = {"by": "lang", "regression_max": SEGMENT_DROP, "min_queries": SEGMENT_QUESTIONS}
        gates[0]["segments"] = rule
    return parse_criteria({"evidence": "proven_harm", "gates": gates})


def judged(criteria: Criteria, system: System, before: dict[str, Floats], now: dict[str, Floats]) -> str:
    """`fail`, `warn` or `pass` of a check, without what its files say."""
    gold, old, new = gold_of(system), scores_of(gold_of(system), before), scores_of(gold_of(system), now)
    verdicts = {gate.verdict for gate in judge_scores(criteria, gold, new, old)}
    if Verdict.FAIL in verdicts:
        return "fail"
    warns = Verdict.WARN in verdicts or unnamed_losses(criteria, gold, new, old)
    return "warn" if warns else "pass"


def counted(source: np.random.Generator, checks: int, system: System, moving: float, lost: Floats) -> Counter[str]:
    """Of so many checks what became of them, and how many the others would have stopped."""
    size = len(system.tags)
    criteria, found = criteria_of(size, tagged=any(system.tags)), Counter[str]()
    for _ in range(checks):
        before, now = system.pair(source, moving)
        gone = source.random(size) < lost
        now = {name: np.where(gone, 0.0, column) for name, column in now.items()}
        found[judged(criteria, system, before, now)] += 1
        changes = now[GATED[0]] - before[GATED[0]]
        error = changes.std(ddof=1) / np.sqrt(size)
        found["threshold"] += bool(changes.mean() < -limit_of(size))
        found["t"] += bool(error > 0 and changes.mean() / error < -T_LEVEL)
        found["random"] += bool(changes.any() and flip_p(changes.tolist()) < LEVEL)
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How often a first gate set fails or warns, and what else would.")
    parser.add_argument("--checks", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20_261_126)
    parser.add_argument("--collections", type=Path)
    options = parser.parse_args()
    source, checks = np.random.default_rng(options.seed), options.checks
    systems = {f"twelve languages, N = {size}": made(source, size) for size in SIZES}
    for folder in sorted(options.collections.iterdir()) if options.collections else ():
        if (folder / "gold.jsonl").is_file() and b'"tags"' in (folder / "gold.jsonl").read_bytes():
            systems |= {f"`{folder.name}`, N = {size}": real(folder, source, size) for size in (100, 1000)}
    rows: list[list[str]] = []
    for name, system in systems.items():
        cells = [counted(source, checks, system, share, np.zeros(len(system.tags))) for share in MOVING]
        rows.append([name, *(f"{percent(each['fail'] / checks)}, {percent(each['warn'] / checks)}" for each in cells)])
    print("**Nothing changed: fail, warn (%)**\n")
    table(["criteria of `init`", *(f"{share:.0%} drawn anew" for share in MOVING)], rows)
    rows = []
    for size in SIZES:
        system = made(source, size)
        inside = np.array([PART in tags for tags in system.tags])
        losses = {f"all lose {share:.0%}": np.full(size, share) for share in (0.03, 0.05, 0.1, 0.2)}
        losses |= {f"one of twelve loses {share:.0%}": inside * share for share in (0.1, 0.2, 0.36)}
        for name, lost in losses.items():
            found = counted(source, checks, system, 0.1, lost)
            kinds = ("fail", "warn", "threshold", "t", "random")
            rows.append([f"{name}, N = {size}", *(percent(found[kind] / checks) for kind in kinds)])
    print("\n**A loss is caught (%), 10% drawn anew**\n")
    table(["twelve languages", "fail", "warn", "plain threshold", "t-test", "randomisation"], rows)


if __name__ == "__main__":
    main()
