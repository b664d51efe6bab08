"""How often a first gate set fails or warns, and what else would: scripts/tables/checks.md.

    python scripts/simulate_checks.py [--checks N] [--seed N] [--collections DIR]

Systems, draws and collections are those of simulate_parts.py; criteria are as `rankgate init` writes them, and rankgate
itself decides. Beside it: a plain threshold at the same limit, and one-sided tests of any loss at 2.5 %.

Conversations of two to six turns are found or lost as a whole. Beside what rankgate decides stand rules that could tell
their noise: docs/decisions/0011-few-clusters.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from rankgate.criteria.model import Criteria, parse_criteria
from rankgate.criteria.starter import FEW_QUESTIONS, LARGE_DROP, SEGMENT_DROP, SEGMENT_QUESTIONS, SMALL_DROP
from rankgate.gates.judging import judge_scores
from rankgate.gates.lost_parts import unnamed_losses
from rankgate.model.gate_result import GateResult
from rankgate.model.values import Verdict
from rankgate.statistics.clusters import summed
from rankgate.statistics.sign_flips import MIN_CLUSTERS, flip_p
from simulate_parts import GATED, MOVING, Floats, System, gold_of, made, real, scores_of, tagged_collections
from simulating import grid, noisy_systems, percent, table

SIZES = (50, 100, 250, 1000)
T_LEVEL = 1.96  # of many questions
LEVEL = 0.025
PART, PART_0 = "lang:1", "lang:0"
QUARTER = 0.25


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
        before, now = system.pair(source, moving, lost)
        found[judged(criteria, system, before, now)] += 1
        changes = now[GATED[0]] - before[GATED[0]]
        error = changes.std(ddof=1) / np.sqrt(size)
        found["threshold"] += bool(changes.mean() < -limit_of(size))
        found["t"] += bool(error > 0 and changes.mean() / error < -T_LEVEL)
        found["random"] += bool(changes.any() and flip_p(changes.tolist()) < LEVEL)
    return found


class Part(NamedTuple):
    """A language with few conversations: what rankgate says of it, and what other rules go by.

    `p` is that of the signs of its conversations' changes, `least` what it could have been, `loss` the mean drop.
    """

    result: GateResult
    conversations: int
    p: float
    least: float
    loss: float

    @property
    def open(self) -> bool:
        """Whether it lost more than is allowed, and that is not proven."""
        return self.loss > SEGMENT_DROP + 1e-9 and self.result.verdict is not Verdict.FAIL

    @property
    def unprovable(self) -> bool:
        """Whether no signs could have proven it: until decision 11 this warned."""
        level = (1 - self.result.limits.confidence) / 2
        return self.open and (self.conversations < MIN_CLUSTERS or self.least >= level)


def shared_out(parts: Sequence[Part]) -> float:
    """A quarter among the languages that can have so small a p (Tarone 1990)."""
    share = 1
    while sum(part.least <= QUARTER / share for part in parts) > share:
        share += 1
    return QUARTER / share


RULES: dict[str, Callable[[Part, Sequence[Part]], bool]] = {
    "what nothing could prove": lambda part, _: part.unprovable,
    "p ≤ 1/4": lambda part, _: part.open and part.p <= QUARTER,
    "p ≤ 1/8": lambda part, _: part.open and part.p <= QUARTER / 2,
    "20 points": lambda part, _: part.open and part.loss >= 2 * SEGMENT_DROP,
    "1/4 shared out": lambda part, parts: part.open and part.p <= shared_out(parts),
    "decided": lambda part, _: part.result.verdict is Verdict.WARN,
}
EARLIER, *_, NOW = RULES


class Talks(NamedTuple):
    """So many conversations of two to six turns in so many languages; what the first language loses of them.

    Of its questions a share, or so many conversations as a whole, which had been found.
    """

    number: int
    languages: int
    lost: float = 0.0
    whole: int = 0

    def parts(self, source: np.random.Generator, moving: float, metric: str) -> list[Part]:
        """The languages of one check."""
        sizes = source.integers(2, 7, size=self.number)
        talk = np.repeat(np.arange(self.number), sizes)
        languages = talk % self.languages
        pair = made(source, self.number).pair(source, moving)
        before, now = ({name: column[talk] for name, column in values.items()} for values in pair)
        taken = source.choice(-(-self.number // self.languages), size=self.whole, replace=False) * self.languages
        gone = (languages == 0) & (np.isin(talk, taken) | (source.random(len(talk)) < self.lost))
        before = {
            name: np.where(np.isin(talk, taken), np.maximum(column, 1.0), column) for name, column in before.items()
        }
        now = {name: np.where(gone, 0.0, column) for name, column in now.items()}
        gold = gold_of(System(before, [(f"lang:{number}",) for number in languages]))
        named = tuple(f"talk {number}" for number in talk)
        old, new = (replace(scores_of(gold, values), clusters=named) for values in (before, now))
        rule = {"by": "lang", "regression_max": SEGMENT_DROP, "min_queries": SEGMENT_QUESTIONS}
        gate = {"name": metric, "regression_max": limit_of(len(talk)), "segments": rule}
        criteria = parse_criteria({"evidence": "proven_harm", "gates": [gate]})
        found = {result.segment: result for result in judge_scores(criteria, gold, new, old)}
        changes, parts = now[metric] - before[metric], list[Part]()
        for number in range(self.languages):
            own, result = languages == number, found[f"lang:{number}"]
            sums = summed(changes[own].tolist(), talk[own].tolist())
            least = math.ldexp(1.0, -sum(each != 0 for each in sums))
            if not result.evidence.too_small:
                parts.append(Part(result, len(sums), flip_p(sums), least, -float(changes[own].mean())))
        return parts


def warned(source: np.random.Generator, checks: int, talks: Talks, moving: float, metric: str) -> Counter[str]:
    """In how many of so many checks each rule warns or rankgate fails: of the first language if it loses, or of any."""
    found, loses = Counter[str](), talks.lost or talks.whole
    for _ in range(checks):
        parts = talks.parts(source, moving, metric)
        asked = [part for part in parts if part.result.segment == PART_0] if loses else parts
        failed = any(part.result.verdict is Verdict.FAIL for part in asked)
        for name, rule in RULES.items():
            found[name] += failed or any(rule(part, parts) for part in asked)
    return found


def conversations(source: np.random.Generator, checks: int) -> None:
    """Print how often a language of few conversations warns: by the rule before decision 11, and by rankgate's."""
    noise, losses, tried = source.spawn(3)

    def unchanged(row: tuple[int, int], column: tuple[str, float]) -> str:
        metric, moving = column
        found = warned(noise, checks, Talks(*row), moving, metric)
        return f"{percent(found[EARLIER] / checks)} → {percent(found[NOW] / checks)}"

    sizes = [(talks, languages) for languages in (2, 5, 12) for talks in (40, 60, 100, 200) if talks < 30 * languages]
    columns = {f"{metric}, {moving:.0%}": (metric, moving) for metric in GATED[:2] for moving in MOVING[:3]}
    rows = {f"{talks} in {languages}": (talks, languages) for talks, languages in [(10, 2), *sizes]}
    title = "Nothing changed: a language warns (%), before decision 11 → now"
    grid(title, "conversations", columns, rows, unchanged)

    def losing(row: tuple[int, int, str], loss: tuple[float, int]) -> str:
        talks, languages, metric = row
        found = warned(losses, checks, Talks(talks, languages, *loss), 0.05, metric)
        return f"{percent(found[EARLIER] / checks)} → {percent(found[NOW] / checks)}"

    kinds = {f"{lost:.0%} of its questions": (lost, 0) for lost in (0.1, 0.2, 0.36)}
    kinds |= {f"{whole} whole": (0.0, whole) for whole in (1, 2, 3)}
    few = [(*size, metric) for metric in GATED[:2] for size in ((40, 5), (60, 5), (100, 5), (40, 12), (100, 12))]
    title = "A language loses: it warns or fails (%), before decision 11 → now, 5% drawn anew"
    grid(title, "conversations", kinds, {f"{row[0]} in {row[1]}, {row[2]}": row for row in few}, losing)

    cases = {f"nothing lost, {metric}": (Talks(40, 5), metric) for metric in GATED[:2]}
    cases |= {f"nothing lost, 100 in twelve, {metric}": (Talks(100, 12), metric) for metric in GATED[:2]}
    cases |= {f"one loses {lost:.0%} of its questions": (Talks(40, 5, lost), GATED[0]) for lost in (0.2, 0.36)}
    cases |= {f"one loses {whole} whole": (Talks(40, 5, 0.0, whole), GATED[0]) for whole in (1, 2, 3)}
    by_rule = []
    for name, (talks, metric) in cases.items():
        found = warned(tried, checks, talks, 0.1, metric)
        by_rule.append([name, *(percent(found[rule] / checks) for rule in RULES)])
    title = "Rules that were tried: a language warns or fails (%), 40 conversations in five, 10% drawn anew"
    table(title, ["", *RULES], by_rule)


def main() -> None:
    """Print the tables."""
    options = noisy_systems(20_261_126, "checks", 300)
    source, checks = np.random.default_rng(options.seed), options.checks
    systems = {f"twelve languages, N = {size}": made(source, size) for size in SIZES}
    for folder in tagged_collections(options.collections):
        systems |= {f"`{folder.name}`, N = {size}": real(folder, source, size) for size in (100, 1000)}

    def unchanged(system: System, moving: float) -> str:
        found = counted(source, checks, system, moving, np.zeros(len(system.tags)))
        return f"{percent(found['fail'] / checks)}, {percent(found['warn'] / checks)}"

    columns = {f"{share:.0%} drawn anew": share for share in MOVING}
    grid("Nothing changed: fail, warn (%)", "criteria of `init`", columns, systems, unchanged)
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
    head = ["twelve languages", "fail", "warn", "plain threshold", "t-test", "randomisation"]
    table("A loss is caught (%), 10% drawn anew", head, rows)
    conversations(source, checks)


if __name__ == "__main__":
    main()
