"""What `rankgate init` writes as ship criteria, with floors from a run. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from rankgate.criteria import Gate
from rankgate.detectable import detectable
from rankgate.estimates import Estimate
from rankgate.metrics.base import Metric, Unit
from rankgate.model import Evidence
from rankgate.quoting import quoted
from rankgate.wording import value_text

# The metrics of a first gate set, each with the drop that a first gate allows and whether it blocks.
FIRST_GATES: tuple[tuple[str, float, bool], ...] = (
    ("recall@5", 0.03, True),
    ("mrr", 0.05, False),
    ("ndcg@10", 0.03, False),
)


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when criteria are written for the first time; paths are relative to the criteria file.

    `questions` are those with a relevant document.
    """

    gold: str
    run: str
    baseline: str
    measured: Sequence[tuple[Metric, Estimate | None]]
    measured_run: str | None
    questions: int


def criteria_text(start: Start) -> str:
    """A commented `ship-criteria.yaml`.

    A floor is the lower end of the measured value's 95 % interval, rounded down to two decimals: below it, chance
    alone no longer explains the difference. Without a run there is nothing to derive floors from, and none is written.
    The evidence is what so many questions can carry (see `evidence_lines`).
    """
    lines = [
        "# What a change to the retriever must hold before it may be merged. `rankgate validate` checks this file,",
        "# `rankgate check` judges by it, `rankgate metrics` lists what can be gated.",
    ]
    if start.measured_run:
        lines.append(f"# Floors come from {quoted(start.measured_run)}; raise them as the retriever improves.")
    else:
        lines.append("# There are no floors yet: `rankgate init --run RUN --force` derives them from a run.")
    lines += [*evidence_lines(start.questions, [metric for metric, _ in start.measured]), "", "gates:"]
    for (name, drop, blocks), (metric, found) in zip(FIRST_GATES, start.measured, strict=True):
        lines.append(f"  - name: {name}")
        if found is not None and found.ci is not None and found.ci[0] is not None:
            floor = max(0.0, math.floor(found.ci[0] * 100 + 1e-9) / 100)
            low, high = (value_text(bound, metric.unit) for bound in found.ci if bound is not None)
            lines += [
                f"    # {value_text(found.value, metric.unit)} over {found.n} questions, 95% interval {low} to {high}:",
                "    # the floor is its lower end, rounded down",
                f"    threshold: {floor:.2f}",
            ]
        allowed = f"{100 * drop:g} percentage points" if metric.unit is Unit.SHARE else f"{drop:g}"
        lines += [
            f"    regression_max: {drop:g}  # at most {allowed} below the accepted baseline, on the same questions",
            f"    severity: {'error' if blocks else 'warning'}  # {'blocks the merge' if blocks else 'only comments'}",
        ]
    lines += [
        "",
        "inputs:  # relative to this file; flags of the command line win",
        f"  gold: {quoted(start.gold)}",
        f"  run: {quoted(start.run)}",
        f"  baseline: {quoted(start.baseline)}  # made by `rankgate baseline accept`",
    ]
    return "\n".join(lines) + "\n"


def evidence_lines(questions: int, metrics: Sequence[Metric]) -> list[str]:
    """`evidence:` and why: the estimate where the questions tell every allowed drop from noise, else proven harm.

    Nothing has been compared yet, so how much changes spread is assumed.
    """
    gates = [
        Gate(name=name, metric=metric, threshold=None, regression_max=drop, blocks=blocks, line=None)
        for (name, drop, blocks), metric in zip(FIRST_GATES, metrics, strict=True)
    ]
    noisy = [msgspec.structs.replace(gate, evidence=Evidence.PROVEN_SAFE) for gate in gates]
    found = [seen for gate in noisy if (seen := detectable(gate, queries=1))]
    needed = max(seen.queries_needed or 0 for seen in found)
    asked = f"which takes about {needed:,} (by usual spreads;"
    if questions >= needed:
        return [
            f"# Many questions: {questions:,} tell the drops allowed below from noise, {asked}",
            "# `rankgate noise` measures it). So the measured drop decides by itself.",
            "evidence: estimate  # proven_harm: only a proven drop blocks",
        ]
    return [
        f"# Few questions: {questions:,} cannot tell the drops allowed below from noise, {asked}",
        "# `rankgate noise` measures it). So only a proven drop blocks, and what is within noise warns.",
        "evidence: proven_harm  # estimate: the measured drop decides by itself",
    ]
